"""What tabs ask of values while a page is open: parts as shades, statistics, bad cells, comparisons."""

import time

import numpy as np
import pytest
from asking import Asker
from conftest import opened_frame, page_file

CHAIN = {
    "blocks": {
        "x": {
            "op": "Const",
            "attrs": {"value": {"dtype": "float32", "value": [[1, -2, 0], [3, "nan", "inf"]]}},
        },
        "twice": {"op": "Mul", "in": {"x": "x:output", "y": 2.0}},
        "log": {"op": "Log", "in": {"x": "twice:z"}},
        "both": {"op": "Pack", "in": {"values": ["x:output", "log:y"]}},
        "names": {"op": "Const", "attrs": {"value": {"dtype": "string", "value": ["a", "b"]}}},
    }
}


@pytest.fixture(scope="module")
def chain(shared):
    """Asks of the values of CHAIN, which has run."""
    page_file(shared.folder, "chain", CHAIN)
    tab = shared.tab()
    return Asker(tab, tab.open(path="chain.page.json")["page"])


@pytest.fixture
def ran(opened):
    """Opens a page, runs it, and gives what asks of its values."""
    return lambda content: Asker(*opened(content))


# -- parts ------------------------------------------------------------------------------------------


def test_a_part_comes_as_shades(chain):
    head, found = chain.look("x:output", index=[[0, 2, 1]], shades=[-1, 3])
    assert (head["dtype"], head["shape"], head["pin"]) == ("uint8", [2, 3], "x:output")
    assert found.tolist() == [[131, 4, 3], [255, 0, 2]]


def test_inputs_and_what_is_typed_into_blocks_are_looked_at_too(chain):
    head, found = chain.look("twice:y")
    assert (head["shape"], found.tolist()) == ([], 2.0)
    for pin in ("twice:x", "both:values[0]"):
        np.testing.assert_array_equal(chain.look(pin)[1], [[1, -2, 0], [3, np.nan, np.inf]])
    assert chain.look("both:values[1]", index=[0])[1][0] == pytest.approx(np.log(2))


def test_a_part_comes_compared_with_another_output(chain):
    head, found = chain.look("twice:z", against="x:output", index=[0])
    assert (head["dtype"], found.tolist()) == ("float64", [1.0, -2.0, 0.0])
    found = chain.look("twice:z", against="x:output", comparison="relative", index=[0])[1]
    assert found.tolist() == [0.5, -0.5, 0.0]
    found = chain.look("twice:z", against="x:output", comparison="ulp", shades=[0, 2.0**23])[1]
    assert found.tolist() == [[255, 255, 3], [255, 3, 3]]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"pin": "no:y"}, "no:y: has no value yet. Run the page, or to this block."),
        ({"pin": "x:no"}, "x:no: has no value yet"),
        ({"pin": "both:values[7]"}, "both:values[7]: has no value yet"),
        ({"pin": "names:output"}, "names:output: has no numbers. Ask for its elements."),
        ({"pin": "x:output", "index": [0, 0, 0]}, "x:output: must have at most 2 places"),
        ({"pin": "x:output", "index": [2]}, "must lie in an axis of 2; got 2"),
        ({"pin": "x:output", "index": [[0, 2, -1]]}, "must be a place, or first, end and step"),
        ({"pin": "x:output", "index": [[0, 1 << 62, 1 << 62], -4]}, "must lie in an axis of 3"),
        ({"pin": "x:output", "shades": []}, "x:output.shades: must be two numbers"),
        ({"pin": "x:output", "shades": [1, 0]}, "the lower one first; got [1.0, 0.0]. Ask how"),
        ({"pin": "x:output", "shades": [1, 2, 3]}, "must be two numbers"),
        ({"pin": "x:output", "against": "both:output"}, "must have the shape [2, 3] of x:output"),
        ({"pin": "x:output", "against": "names:output"}, "names:output: has no numbers"),
        ({"pin": "x:output", "against": "no:y"}, "no:y: has no value yet"),
    ],
)
def test_wrong_questions_for_parts_are_refused_in_words(chain, how, words):
    assert words in chain.refused("read slice", **how)


def test_numbers_that_are_none_are_no_shades(chain):
    for text in ("[NaN, 1]", "[1e999, 1]", '["a", 1]'):
        chain.tab.socket.send(
            f'{{"kind": "read slice", "page": {chain.page}, "request": 9, '
            f'"pin": "x:output", "shades": {text}}}'
        )
        assert chain.tab.hear("refused")
    assert chain.look("x:output", shades=[0, 1])


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("bfloat16", [0.5, 2]),
        ("float16", [0.5, 2]),
        ("float8_e5m2", [0.5, 2]),
        ("float8_e4m3fnuz", [0.5, 2]),
        ("int4", [-8, 7]),
        ("uint2", [3, 0]),
        ("complex64", ["1-2j", "0j"]),
        ("bool", [True, False]),
        ("int64", ["9007199254740993", "0"]),
        ("uint8", [255, 0]),
        ("float64", 7),
        ("float32", []),
        ("int32", [[[[[[[[3]]]]]]]]),
    ],
)
def test_values_of_every_type_and_rank_are_looked_at_measured_and_searched(ran, dtype, value):
    value = {"dtype": dtype, "value": value}
    asker = ran({"blocks": {"c": {"op": "Const", "attrs": {"value": value}}}})
    head, plain = asker.look("c:output")
    small = {
        "float8_e5m2": "float32",
        "float8_e4m3fnuz": "float32",
        "int4": "int8",
        "uint2": "int8",
    }
    assert (head["dtype"], head["shape"]) == (small.get(dtype, dtype), list(plain.shape))
    if dtype in small:
        assert plain.tolist() == value["value"]
    shaded = asker.look("c:output", shades=[0, 1e16])[1]
    assert (shaded.dtype, shaded.shape) == (np.uint8, plain.shape)
    assert asker.look("c:output", against="c:output")[1].tolist() == np.zeros(plain.shape).tolist()
    found = asker.measure("c:output")
    assert (found["dtype"], found["shape"]) == (dtype, list(plain.shape))
    assert sum(found.get("counts", [])) == plain.size
    assert asker.measure("c:output", against="c:output")["mismatches"] == 0
    assert asker.answer("find non-finite", pin="c:output")["cell"] is None


# -- statistics -------------------------------------------------------------------------------------


def test_an_output_is_measured(chain):
    found = chain.measure("x:output")
    assert found["kind"] == "statistics"
    names = ("low", "high", "mean", "zeros", "nans", "infinities", "first_percent", "last_percent")
    assert [found[name] for name in names] == [-2, 3, 0.5, 1, 1, 1, -2, 3]
    assert (sum(found["counts"]), found["counts"][0], found["counts"][-1]) == (4, 1, 1)


def test_two_outputs_are_measured_against_each_other(chain):
    found = chain.measure("twice:z", against="x:output")
    assert (found["mismatches"], found["zeros"], found["low"], found["high"]) == (3, 3, -2, 3)
    assert found["worst"] == [
        {"cell": [1, 0], "first": "6.0", "second": "3.0", "difference": "3.0"},
        {"cell": [0, 1], "first": "-4.0", "second": "-2.0", "difference": "-2.0"},
        {"cell": [0, 0], "first": "2.0", "second": "1.0", "difference": "1.0"},
    ]


def test_text_has_no_statistics(chain):
    assert "has no numbers" in chain.refused("compute statistics", pin="names:output")
    assert "has no numbers" in chain.refused("find non-finite", pin="names:output")


def large(*sizes):
    """A ramp that is a large value, and another with a NaN made of it."""
    count = int(np.prod(sizes))
    return {
        "blocks": {
            "ramp": {"op": "Range", "in": {"start": 0.0, "limit": float(count), "delta": 1.0}},
            "x": {"op": "Reshape", "in": {"tensor": "ramp:output", "shape": list(sizes)}},
            "y": {"op": "Sqrt", "in": {"x": "x:output"}},
        }
    }


def test_a_large_value_is_measured_by_a_sample_at_once_and_then_exactly(ran):
    asker = ran(large(1000, 40, 100))
    begun = time.perf_counter()
    asker.ask("compute statistics", pin="x:output")
    first = asker.hear()
    sampled_after = time.perf_counter() - begun
    exact = asker.hear()
    print(
        f"\n4 million cells: sample after {sampled_after * 1000:.0f} ms, "
        f"exact after {(time.perf_counter() - begun) * 1000:.0f} ms"
    )
    assert first["sampled"] is True
    assert first["mean"] == pytest.approx(2e6, rel=0.01)
    assert not exact.get("sampled")
    assert (exact["low"], exact["high"]) == (0, 4e6 - 1)
    assert (exact["first_percent"], exact["last_percent"]) == (39_999, 3_960_000)
    assert exact["counts"] == [62_500] * 64
    begun = time.perf_counter()
    again = asker.measure("x:output")
    print(f"again after {(time.perf_counter() - begun) * 1000:.0f} ms")
    assert again["counts"] == exact["counts"]
    assert asker.tab.heard[-2] is exact or not asker.tab.heard[-2].get("sampled")


def test_the_summary_of_a_large_value_is_made_of_some_cells_and_then_of_all(opened):
    content = large(1000, 40, 100)
    content["blocks"]["y"] = {"op": "Log", "in": {"x": "x:output"}}  # one cell is minus infinity
    tab, page = opened(content)
    tab.send("subscribe", page=page, pins=["y:y"])
    tab.run(page)

    def told():
        return [m["pins"]["y:y"] for m in tab.heard if m["kind"] == "summaries"][-1]

    while not told().get("infinities"):
        tab.next()
    found = told()
    assert (found["infinities"], found["low"]) == (1, 0)
    assert found["high"] == pytest.approx(np.log(4e6))


def path_of(tab):
    """The path of the page that a tab has opened."""
    return next(each["path"] for each in tab.heard if each["kind"] == "opened")


def test_two_tabs_that_ask_for_the_same_are_both_told(ran, shared):
    asker = ran(large(100, 400, 100))
    other = shared.tab()
    name = path_of(asker.tab)
    assert other.open(path=name)["page"] == asker.page
    asker.ask("compute statistics", pin="y:y", against="x:output")
    other.send("compute statistics", page=asker.page, request=77, pin="y:y", against="x:output")
    found = [asker.hear(), asker.hear()][-1]
    assert found["mismatches"] == 4_000_000 - 2
    other.hear("statistics", request=77, mismatches=found["mismatches"])


def test_what_takes_long_says_how_far_it_is_answers_others_meanwhile_and_can_be_left(ran):
    asker = ran(large(2000, 400, 100))  # 80 million cells
    asker.ask("compute statistics", pin="y:y")
    assert asker.hear()["sampled"] is True
    told = asker.tab.hear("progress", request=asker.requests)["part"]
    assert 0 < told < 1
    asker.ask("find non-finite", pin="y:y")
    looking = asker.requests
    begun = time.perf_counter()
    head, part = asker.look("y:y", index=[1999, [0, 400, 100], 0])
    print(
        f"\na part after {(time.perf_counter() - begun) * 1000:.0f} ms while two questions are open"
    )
    assert (head["shape"], part[1]) == ([4], pytest.approx((1999 * 40_000 + 10_000) ** 0.5))
    for request in (looking - 1, looking):
        asker.tab.send("cancel", page=asker.page, request=request)
        assert asker.tab.hear("refused", request=request)["text"] == "The request was cancelled."
    assert asker.tab.hears_nothing_of("progress", 1.0)


def test_one_of_two_tabs_leaves_and_the_other_is_told(ran, shared):
    asker = ran(large(100, 400, 100))
    other = shared.tab()
    other.open(path=path_of(asker.tab))
    asker.ask("compute statistics", pin="y:y")
    other.send("compute statistics", page=asker.page, request=77, pin="y:y")
    asker.tab.send("cancel", page=asker.page, request=asker.requests)
    while "high" not in (found := other.hear("statistics", request=77)) or found.get("sampled"):
        pass
    assert found["high"] == pytest.approx((4e6 - 1) ** 0.5)


def test_strings_are_told_byte_by_byte_as_python_writes_them(ran):
    cells = ["a", "é", {"base64": "/wAi"}]
    value = {"dtype": "string", "value": cells}
    asker = ran({"blocks": {"x": {"op": "Const", "attrs": {"value": value}}}})
    texts = asker.answer("read elements", pin="x:output", python=True)["texts"]
    assert [eval(text) for text in texts] == [b"a", "é".encode(), b'\xff\x00"']  # noqa: S307


def test_a_million_cells_come_as_shades_in_at_most_a_megabyte(ran):
    asker = ran(large(1000, 1000))
    begun = time.perf_counter()
    asker.ask("read slice", pin="x:output", shades=[0, 999_999])
    frame = asker.hear()
    seconds = time.perf_counter() - begun
    print(f"\na million cells: {len(frame)} bytes after {seconds * 1000:.0f} ms")
    assert len(frame) <= 1 << 20
    shades = opened_frame(frame)[1].reshape(-1)
    assert (shades[0], shades[1], shades[-1]) == (3, 6, 255)
    assert (np.diff(shades[1:].astype(int)) >= 0).all()


def test_a_value_larger_than_what_may_be_sent_opens_by_parts(ran):
    asker = ran(large(300, 400, 200))
    text = asker.refused("read slice", pin="y:y")
    assert text == (
        "y:y: must be at most 67108864 bytes; got 96000000. Ask for fewer places, or for every second."
    )
    assert "16777216 cells" in asker.refused("read slice", pin="y:y", shades=[0, 1])
    head, part = asker.look("y:y", index=[299, [0, 400, 100], [0, 200, 50]])
    assert head["shape"] == [4, 4]
    assert part[1, 1] == pytest.approx((299 * 80_000 + 100 * 200 + 50) ** 0.5)


# -- NaN and infinities -----------------------------------------------------------------------------


def test_bad_cells_are_found_in_order_with_the_output_that_had_one_first(chain):
    first = chain.answer("find non-finite", pin="log:y")
    assert (first["cell"], first["first_pin"], first["first_cell"]) == ([0, 1], "x:output", [1, 1])
    assert chain.answer("find non-finite", pin="log:y", after=[0, 1])["cell"] == [0, 2]
    assert chain.answer("find non-finite", pin="log:y", after=[1, 2])["cell"] == [0, 1]
    assert chain.answer("find non-finite", pin="twice:y") == {
        "kind": "found non-finite", "request": chain.requests, "cell": None,
    }  # fmt: skip


def test_a_bad_cell_of_another_branch_is_not_blamed(ran):
    infinite = {"dtype": "float32", "value": "-inf"}
    blocks = {
        "other": {"op": "Const", "attrs": {"value": infinite}},
        "x": {"op": "Const", "attrs": {"value": [0.0, 1.0]}},
        "log": {"op": "Log", "in": {"x": "x:output"}},
        "sum": {"op": "Mul", "in": {"x": "log:y", "y": infinite}},
    }
    asker = ran({"blocks": blocks})
    assert asker.answer("find non-finite", pin="log:y")["first_pin"] == "log:y"
    found = asker.answer("find non-finite", pin="sum:z")
    assert (found["first_pin"], found["first_cell"]) == ("log:y", [0])


@pytest.mark.parametrize("after", [[0], [0, 3], [-1, 0], [2, 0], [0, 0, 0], [1 << 62, 0]])
def test_cells_that_are_not_there_are_refused(chain, after):
    text = chain.refused("find non-finite", pin="log:y", after=after)
    assert text.startswith("log:y: must have such a cell; got [")
    assert text.endswith("Name one of [2, 3].")


def test_every_question_has_an_answer_while_a_page_runs(ran):
    blocks = {
        "n": {"op": "VariableV2", "initial": {"dtype": "float32", "value": 0}},
        "more": {"op": "AssignAdd", "in": {"ref": "n:ref", "value": 1.0}},
        "x": {"op": "Fill", "in": {"dims": [3_000_000], "value": "more:output_ref"}},
    }
    asker = ran({"blocks": blocks})
    asker.tab.send("run", page=asker.page, mode="free")
    asker.tab.hear("run state", state="running")
    for _ in range(5):
        answer = asker.measure("x:output")
        assert (
            answer["kind"] == "statistics" or answer["text"] == "There is a newer value. Ask again."
        )
    asker.tab.send("control", page=asker.page, what="stop")
    asker.tab.hear("run state", state="idle")
    found = asker.measure("x:output")
    assert found["low"] == found["high"] == asker.tab.heard[-1]["step"]
