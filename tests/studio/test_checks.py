"""What tabs are told of a document before it runs: types on wires, open sizes, and all that is wrong."""

import time

import pytest
from conftest import page_file

from backblocks.studio.memory_estimate import peak_bytes
from backblocks.studio.page_check import check_page


def placeholder(*shape):
    return {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": list(shape)}}


def check(tmp_path, blocks, **more):
    return check_page(1, 0, {"format": 1, "blocks": blocks, **more}, tmp_path / "p.page.json")


def shapes(found):
    return {pin: spec.shape for pin, spec in found.pins.items()}


def large(count):
    """A page of so many blocks of several kinds, all in one chain."""
    kinds = [
        ("MatMul", "product", {"a": None, "b": {"dtype": "float32", "value": [[0.5] * 16] * 16}}),
        ("AddV2", "z", {"x": None, "y": 0.5}),
        ("Tanh", "y", {"x": None}),
        ("Mul", "z", {"x": None, "y": 2.0}),
    ]
    blocks, last = {"x": placeholder(None, 16)}, "x:output"
    for n in range(count - 1):
        op, pin, inputs = kinds[n % 4]
        wired = {name: last if value is None else value for name, value in inputs.items()}
        blocks[f"b{n}"], last = {"op": op, "in": wired}, f"b{n}:{pin}"
    return blocks


# -- types ----------------------------------------------------------------------------------------


def test_every_output_has_a_type(tmp_path):
    blocks = {
        "x": {"op": "Const", "attrs": {"value": {"dtype": "int8", "value": [1, 2]}}},
        "parts": {"op": "Split", "in": {"axis": 0, "value": "x:output"}, "attrs": {"num_split": 2}},
    }
    found = check(tmp_path, blocks)
    assert not found.problems
    assert {pin: spec.dtype for pin, spec in found.pins.items()} == {
        "x:output": "int8",
        "parts:output[0]": "int8",
        "parts:output[1]": "int8",
    }


def test_open_sizes_that_are_one_have_one_name(tmp_path):
    found = check(
        tmp_path,
        {
            "x": placeholder(None, 4),
            "y": placeholder(None, 4),
            "other": placeholder(None, None),
            "w": placeholder(4, 3),
            "product": {"op": "MatMul", "in": {"a": "x:output", "b": "w:output"}},
            "turned": {"op": "MatMul", "in": {"a": "other:output", "b": "x:output"}},
            "halves": {
                "op": "MaxPool",
                "in": {"input": "image:output"},
                "attrs": {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
            },
            "image": placeholder(None, None, 8, 1),
            "half_again": {"op": "Neg", "in": {"x": "halves:output"}},
        },
    )
    assert not found.problems
    named = shapes(found)
    (n, four), (m, _) = named["x:output"], named["y:output"]
    assert four == 4
    assert n != m
    assert named["product:product"] == [n, 3]
    assert named["turned:product"][1] == 4
    assert named["other:output"][1] == n  # a product wants them to be equal
    assert named["turned:product"][0] == named["other:output"][0] not in (n, m)
    batch, height, _, _ = named["image:output"]
    assert named["halves:output"] == [batch, named["half_again:y"][1], 4, 1]
    assert named["half_again:y"][1] not in (height, batch)


def test_sizes_that_only_a_run_finds_are_open(tmp_path):
    found = check(
        tmp_path,
        {
            "x": {"op": "Const", "attrs": {"value": {"dtype": "bool", "value": [True, False]}}},
            "where": {"op": "Where", "in": {"condition": "x:output"}},
            "any": {"op": "Placeholder", "attrs": {"dtype": "float32"}},
        },
    )
    named = shapes(found)
    assert isinstance(named["where:index"][0], str)
    assert named["where:index"][1] == 1
    assert named["any:output"] is None


def test_many_open_sizes_have_names_too(tmp_path):
    blocks = {"x": placeholder(*[None] * 5), "y": {"op": "Neg", "in": {"x": "x:output"}}}
    named = shapes(check(tmp_path, blocks))
    assert len(set(named["x:output"])) == 5
    assert named["y:y"] == named["x:output"]


def test_pages_used_as_blocks_say_their_inputs(tmp_path):
    inner = {
        "blocks": {"in": placeholder(2), "out": {"op": "Neg", "in": {"x": "in:output"}}},
        "ports": {
            "inputs": {"given": {"pin": "in:output", "dtype": "float32"}},
            "outputs": {"taken": {"pin": "out:y", "dtype": "float32"}},
        },
    }
    page_file(tmp_path, "inner", inner)
    found = check(
        tmp_path,
        {
            "x": placeholder(2),
            "part": {"op": "page", "attrs": {"page": "inner.page.json"}, "in": {"given": "x"}},
        },
    )
    assert not found.problems
    assert found.inputs == {"part": ["given"]}
    assert found.pins["part:taken"].shape == [2]


# -- problems -------------------------------------------------------------------------------------


def test_a_conflict_is_told_at_block_pin_and_axis_with_the_fix(tmp_path):
    blocks = {
        "a": placeholder(2, 3),
        "b": placeholder(2, 4),
        "sum": {"op": "AddV2", "in": {"x": "a:output", "y": "b:output"}},
        "product": {"op": "MatMul", "in": {"a": "a:output", "b": "b:output"}},
    }
    first, second = check(tmp_path, blocks).problems
    assert (first.block, first.arg, first.axis) == ("sum", "y", 1)
    assert first.text == "AddV2.y: must broadcast with [2, 3]; got [2, 4] (axis 1)."
    assert first.hint.startswith("Make each pair of sizes equal")
    assert (second.block, second.arg, second.axis) == ("product", "b", 0)


def test_problems_stand_in_the_order_of_blocks_and_those_of_the_page_last(tmp_path):
    blocks = {
        "z": {"op": "Neg", "in": {"x": "a:y"}},
        "a": {"op": "Neg"},
        "c": {"op": "NoSuchOp"},
        "b": {"op": "Neg", "in": {"x": "nowhere"}},
    }
    found = check(tmp_path, blocks, run={"fetch": ["gone:y"]})
    assert [problem.block for problem in found.problems] == ["a", "c", "b", ""]


@pytest.mark.parametrize(
    "document",
    [{}, {"format": 99}, {"format": 1, "blocks": []}, {"format": 1, "blocks": {"a": {"op": 1}}}],
)
def test_what_is_no_page_is_a_problem_and_not_a_crash(tmp_path, document):
    (problem,) = check_page(1, 0, document, tmp_path / "p.page.json").problems
    assert problem.text


def test_what_a_run_takes_is_foreseen(tmp_path):
    blocks = {"x": {"op": "Fill", "in": {"dims": [1000, 1000], "value": 1.0}}}
    assert peak_bytes({"format": 1, "blocks": blocks}, tmp_path / "p") >= 4_000_000
    assert peak_bytes({"format": 1, "blocks": {"x": {"op": "Neg"}}}, tmp_path / "p") is None


# -- while somebody edits -------------------------------------------------------------------------


def test_a_page_of_a_thousand_blocks_is_checked_in_a_fifth_of_a_second(tmp_path):
    document = {"format": 1, "blocks": large(1000)}
    times = []
    for _ in range(5):
        begun = time.process_time()  # what others do on this machine does not count
        found = check_page(1, 0, document, tmp_path / "p.page.json")
        times.append(time.process_time() - begun)
    assert len(found.pins) == 1000
    assert not found.problems
    assert min(times) < 0.2


def test_each_change_is_checked_and_a_burst_once_at_the_end(studio):
    page_file(studio.folder, "p", {"blocks": {"a": placeholder(2), "b": {"op": "Neg"}}})
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    assert tab.hear("checked", revision=0)["problems"][0]["block"] == "b"
    wire = {"path": ["blocks", "b", "in"], "value": {"x": "a:output"}}
    begun = time.monotonic()
    tab.change(page, wire)
    assert tab.hear("checked", revision=1)["problems"] == []
    assert time.monotonic() - begun < 0.5
    for number in range(100):
        tab.send_change(page, {"path": ["title"], "value": str(number)})
    heard = len(tab.heard)
    tab.hear("checked", revision=101)
    told = [each for each in tab.heard[heard:] if each["kind"] == "checked"]
    assert len(told) < 50
    assert tab.hear("checked", revision=101)["peak_bytes"] >= 0
