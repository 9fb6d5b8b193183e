"""Edits change documents, and can be taken back."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from backblocks.studio.document import EditError, apply, diff
from backblocks.studio.messages import Edit

KEYS = st.sampled_from("abcdef")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)


def text(document):
    """With the order of keys, which counts."""
    return json.dumps(document)


@st.composite
def changes(draw):
    """A document, and edits of which each fits what the ones before it left."""
    document = now = draw(DOCUMENTS)
    edits = []
    for _ in range(draw(st.integers(1, 8))):
        edit = draw(fitting(now))
        now, _ = apply(now, [edit])
        edits.append(edit)
    return document, edits


@st.composite
def fitting(draw, document):
    """An edit somewhere in the document: a value put in, in place of another, or taken away."""
    path, holder = [], document
    while True:
        inside = [
            key
            for key in (holder if isinstance(holder, dict) else range(len(holder)))
            if isinstance(holder[key], dict | list)
        ]
        if not inside or draw(st.booleans()):
            break
        path.append(draw(st.sampled_from(inside)))
        holder = holder[path[-1]]
    if holder and draw(st.booleans()):
        last = list(holder) if isinstance(holder, dict) else range(len(holder))
        return Edit([*path, draw(st.sampled_from(list(last)))])
    if isinstance(holder, list):
        return Edit([*path, draw(st.integers(0, len(holder)))], draw(VALUES))
    before = draw(st.sampled_from([UNSET, *holder]))
    return Edit([*path, draw(KEYS)], draw(VALUES), before)


@given(changes())
def test_the_inverse_gives_the_document_back_with_the_order_of_its_keys(change):
    document, edits = change
    after, inverse = apply(document, edits)
    back, again = apply(after, inverse)
    assert text(back) == text(document)
    assert text(apply(back, again)[0]) == text(after)


@given(changes())
def test_a_document_that_somebody_holds_does_not_change(change):
    document, edits = change
    held = text(document)
    after, inverse = apply(document, edits)
    middle = text(after)
    apply(after, inverse)
    assert (text(document), text(after)) == (held, middle)


@given(changes())
def test_all_edits_at_once_do_what_they_do_one_by_one(change):
    document, edits = change
    one_by_one = document
    for edit in edits:
        one_by_one, _ = apply(one_by_one, [edit])
    assert text(apply(document, edits)[0]) == text(one_by_one)


@given(DOCUMENTS, DOCUMENTS)
def test_edits_between_two_documents_make_one_of_the_other(before, after):
    found, _ = apply(before, diff(before, after))
    assert found == after
    assert [text(found[key]) for key in found] == [text(after[key]) for key in found]


def test_a_change_is_made_whole_or_not_at_all():
    document = {"a": {"x": 1}}
    with pytest.raises(EditError):
        apply(document, [Edit(["a", "x"], 2), Edit(["b", "x"], 3)])
    assert document == {"a": {"x": 1}}


# -- conformance: the browser runs the same cases in web/src/model/conformance.test.ts ---------------------

CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance"


def cases(section):
    """The cases of both files, by file and name."""
    return [
        pytest.param(case, id=f"{file}: {case['name']}")
        for file in ("edits", "random_edits")
        for case in json.loads((CONFORMANCE / f"{file}.json").read_text())[section]
    ]


def read(edits):
    return msgspec.convert(edits, list[Edit])


@pytest.mark.parametrize("case", cases("edits"))
def test_edits_give_what_the_browser_gives(case):
    document, edits = case["document"], read(case["edits"])
    before = text(document)
    if "refused" in case:
        with pytest.raises(EditError) as refused:
            apply(document, edits)
        assert str(refused.value) == case["refused"]
    else:
        result, inverse = apply(document, edits)
        assert text(result) == text(case["result"])
        assert text(msgspec.to_builtins(inverse)) == text(case["inverse"])
        assert text(apply(result, inverse)[0]) == before
    assert text(document) == before


@pytest.mark.parametrize("case", cases("diffs"))
def test_diffs_are_those_of_the_browser(case):
    edits = diff(case["before"], case["after"])
    assert text(msgspec.to_builtins(edits)) == text(case["edits"])
    assert apply(case["before"], edits)[0] == case["after"]
