"""Edits change documents, and can be taken back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from backblocks.studio.document import BadEdit, applied, between
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
        now, _ = applied(now, [edit])
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
    after, inverse = applied(document, edits)
    back, again = applied(after, inverse)
    assert text(back) == text(document)
    assert text(applied(back, again)[0]) == text(after)


@given(changes())
def test_a_document_that_somebody_holds_does_not_change(change):
    document, edits = change
    held = text(document)
    after, inverse = applied(document, edits)
    middle = text(after)
    applied(after, inverse)
    assert (text(document), text(after)) == (held, middle)


@given(changes())
def test_all_edits_at_once_do_what_they_do_one_by_one(change):
    document, edits = change
    one_by_one = document
    for edit in edits:
        one_by_one, _ = applied(one_by_one, [edit])
    assert text(applied(document, edits)[0]) == text(one_by_one)


@given(DOCUMENTS, DOCUMENTS)
def test_edits_between_two_documents_make_one_of_the_other(before, after):
    found, _ = applied(before, between(before, after))
    assert found == after
    assert [text(found[key]) for key in found] == [text(after[key]) for key in found]


def test_a_new_key_comes_before_the_one_that_is_named_or_last():
    document = {"blocks": {"a": 1, "b": 2}}
    edits = [Edit(["blocks", "c"], 3, "b"), Edit(["blocks", "d"], 4)]
    assert text(applied(document, edits)[0]["blocks"]) == '{"a": 1, "c": 3, "b": 2, "d": 4}'


def test_a_value_in_a_list_is_a_new_item():
    assert applied({"l": [1, 2]}, [Edit(["l", 1], 9)])[0] == {"l": [1, 9, 2]}
    assert applied({"l": [1, 2]}, [Edit(["l", 0])])[0] == {"l": [2]}


@pytest.mark.parametrize(
    "path",
    [[], ["nothing", "x"], ["gone"], ["l", 2], ["l", -1], ["l", "x"], ["l", 0, "x"], [0], ["o", 1]],
)
def test_edits_that_lead_nowhere_are_refused(path):
    with pytest.raises(BadEdit):
        applied({"l": [1, 2], "o": {}}, [Edit(path)])


def test_a_change_is_made_whole_or_not_at_all():
    document = {"a": {"x": 1}}
    with pytest.raises(BadEdit):
        applied(document, [Edit(["a", "x"], 2), Edit(["b", "x"], 3)])
    assert document == {"a": {"x": 1}}
