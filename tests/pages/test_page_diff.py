"""What changed between two pages, in logic and not in layout."""

import copy
import json

import numpy as np
import page_strategies
from hypothesis import given
from hypothesis import strategies as st

import backblocks as bb
from backblocks.pages.diff import DiffEntry, diff
from backblocks.pages.model import PageBlock
from backblocks.pages.page import Page
from backblocks.pages.serialization import parse


def page_of(blocks, **sections):
    return parse(json.dumps({"format": 1, "blocks": blocks, **sections}).encode(), Page)


BEFORE = {
    "x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [1, 4, 4, 1]}},
    "pool": {
        "op": "MaxPool",
        "in": {"input": "x:output"},
        "attrs": {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
    },
    "w": {"op": "Const", "attrs": {"value": {"dtype": "float32", "value": [1, 2, 3]}}},
    "y": {"op": "Mul", "in": {"x": "pool:output", "y": 2}},
    "z": {"op": "Tanh", "in": {"x": "y:z"}},
}


def changes(edit, **sections):
    after = copy.deepcopy(BEFORE)
    edit(after)
    return [str(change) for change in diff(page_of(BEFORE), page_of(after, **sections))]


def test_each_kind_of_change_is_told_in_a_line():
    def edit(blocks):
        blocks["pool"]["attrs"]["strides"] = [1, 1, 1, 1]
        blocks["w"]["attrs"]["value"]["value"] = [1, 2.5, 3]
        blocks["y"]["in"] = {"x": "pool:output", "y": "w"}
        blocks["r"] = {"op": "Relu", "in": {"features": "y"}}
        blocks["z"]["after"] = ["w"]
        del blocks["x"]

    assert changes(edit, run={"steps": 5, "fetch": ["z:y"]}) == [
        "- x: Placeholder",
        "~ pool.strides: [1, 2, 2, 1] -> [1, 1, 1, 1]",
        "~ w.value: float32 [1, 2, 3] -> float32 [1, 2.5, 3] (1 of 3 elements)",
        "~ y.y: 2 -> w:output",
        '~ z.after: [] -> ["w"]',
        "+ r: Relu",
        '+ run.fetch: ["z:y"]',
        "+ run.steps: 5",
    ]


def test_other_ways_of_writing_the_same_are_no_change():
    def edit(blocks):
        blocks["pool"]["in"]["input"] = "x"
        blocks["pool"]["attrs"]["data_format"] = "NHWC"
        blocks["w"]["attrs"]["value"] = {"dtype": "float32", "shape": [3], "value": [1.0, 2e0, 3]}

    assert changes(edit, layout={"blocks": {"x": [5, 5]}}, notes={"n": {"text": "hello"}}) == []


def test_a_renamed_block_is_no_other_block():
    def edit(blocks):
        blocks["times"] = blocks.pop("y")
        blocks["times"]["in"]["x"] = "largest:output"
        blocks["z"]["in"]["x"] = "times:z"
        blocks["largest"] = blocks.pop("pool")
        blocks["largest"]["attrs"]["padding"] = "VALID"

    assert changes(edit) == [
        "= y is now times",
        "= pool is now largest",
        "~ largest.padding: SAME -> VALID",
    ]


def test_large_arrays_and_files_are_compared_by_what_they_hold(tmp_path):
    page = Page(blocks={"w": PageBlock("Const", attrs={"value": np.zeros(1000, np.float32)})})
    bb.save_page(page, tmp_path / "a.page.json")
    same = bb.open_page(tmp_path / "a.page.json")
    assert diff(page, same) == []
    same.blocks["w"].attrs["value"] = np.eye(1, 1000, dtype=np.float32)[0]
    assert [str(c) for c in diff(page, same)] == [
        "~ w.value: float32 [1000] -> float32 [1000] (1 of 1000 elements)"
    ]


def test_the_order_of_blocks_counts_where_they_change_variables():
    blocks = {
        "v": {"op": "VariableV2", "initial": 1.0},
        "a": {"op": "AssignAdd", "in": {"ref": "v", "value": 1}},
        "b": {"op": "AssignSub", "in": {"ref": "v", "value": 1}},
    }
    other = {name: blocks[name] for name in ("b", "a", "v")}
    assert diff(page_of(blocks), page_of(other)) == [
        DiffEntry("changed", "", "order", ["a", "b"], ["b", "a"])
    ]


@page_strategies.unhurried
@given(page_strategies.pages())
def test_a_page_does_not_differ_from_itself(page):
    assert diff(page, copy.deepcopy(page)) == []


@page_strategies.unhurried
@given(page_strategies.pages(), st.data())
def test_what_is_added_one_way_is_removed_the_other(page, data):
    other = copy.deepcopy(page)
    name = data.draw(page_strategies.names.filter(lambda name: name not in page.blocks))
    other.blocks[name] = PageBlock("Brand new")
    assert [str(change) for change in diff(page, other)] == [f"+ {name}: Brand new"]
    assert [str(change) for change in diff(other, page)] == [f"- {name}: Brand new"]
