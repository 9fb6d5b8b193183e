"""Fixes of problems: what rules propose, offered where the page can be edited so that the rule passes."""

import json

import numpy as np
import pytest

from backblocks.errors import Fix
from backblocks.pages.build import build
from backblocks.pages.dataclass_json import from_json
from backblocks.pages.model import PageFile

WINDOW = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
OTHER = {"ksize": [1, 3, 3, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}


def const(*shape, dtype="float32"):
    value = np.arange(np.prod(shape, dtype=int)).reshape(shape).tolist()
    return {"op": "Const", "attrs": {"value": {"dtype": dtype, "value": value}}}


def fixes(blocks, at=-1):
    problems = build(from_json(PageFile, {"format": 1, "blocks": blocks})).problems
    return [str(fix) for fix in problems[at][1].fixes]


def block(op, attrs=None, **inputs):
    return {"op": op, "in": inputs, **({"attrs": attrs} if attrs else {})}


PAGES = {
    "a constant of another dtype": (
        {"a": const(2), "b": const(2, dtype="int32"), "s": block("AddV2", x="a", y="b")},
        ["give the constant at y dtype=float32", "insert Cast(DstT=float32) before y"],
    ),
    "a result of another dtype": (
        {
            "a": const(2),
            "c": block("Shape", input="a"),
            "s": block("AddV2", x="a", y="c"),
        },
        ["insert Cast(DstT=float32) before y"],
    ),
    "a constant typed into the block": (
        {"a": const(2), "s": block("AddV2", x="a", y={"dtype": "int32", "value": [1, 2]})},
        ["give the constant at y dtype=float32"],
    ),
    "one of a list": (
        {"a": const(2), "b": const(2, dtype="int32"), "s": block("AddN", inputs=["a", "b"])},
        [
            "give the constant at inputs[1] dtype=float32",
            "insert Cast(DstT=float32) before inputs[1]",
        ],
    ),
    "matrices that meet transposed": (
        {"a": const(2, 3), "b": const(4, 3), "m": block("MatMul", a="a", b="b")},
        ["set transpose_b=True"],
    ),
    "matrices that meet swapped": (
        {"a": const(3, 4), "b": const(2, 3), "m": block("MatMul", a="a", b="b")},
        ["swap a and b"],
    ),
    "batches of matrices": (
        {"a": const(5, 2, 3), "b": const(5, 4, 3), "m": block("BatchMatMulV2", x="a", y="b")},
        ["set adj_y=True"],
    ),
    "matrices that never meet": (
        {"a": const(2, 3), "b": const(5, 7), "m": block("MatMul", a="a", b="b")},
        [],
    ),
    "axes in another order": (
        {
            "a": const(2, 3),
            "b": block("Neg", x="c"),
            "c": const(3, 2),
            "s": block("AddV2", x="a", y="b"),
        },
        ["insert Transpose(perm=[1, 0]) before y"],
    ),
    "a vector with an entry for each row": (
        {
            "a": const(2, 3),
            "b": block("Neg", x="c"),
            "c": const(2),
            "s": block("AddV2", x="a", y="b"),
        },
        ["insert ExpandDims(axis=-1) before y"],
    ),
    "a window that does not fit": (
        {
            "x": const(1, 2, 2, 1),
            "p": block("MaxPool", {**WINDOW, "ksize": [1, 9, 9, 1]}, input="x"),
        },
        ["set padding=SAME"],
    ),
    "a misspelt option": (
        {"x": const(1, 2, 2, 1), "p": block("MaxPool", {**WINDOW, "padding": "vald"}, input="x")},
        ["set padding=VALID"],
    ),
    "an image without its batch": (
        {"x": const(4, 4, 1), "p": block("MaxPool", WINDOW, input="x")},
        ["insert ExpandDims(axis=0) before input", "insert ExpandDims(axis=-1) before input"],
    ),
    "sizes with too little room": (
        {"x": const(2, 3), "r": block("Reshape", tensor="x", shape=[4, 2])},
        ["set shape=[-1, 2]"],
    ),
    "a bias of another size": (
        {"x": const(1, 4, 4, 3), "b": const(2), "s": block("BiasAdd", value="x", bias="b")},
        ["give the constant at bias shape=[3]"],
    ),
    "a bias of another size that is computed": (
        {
            "x": const(1, 4, 4, 3),
            "b": block("Neg", x="c"),
            "c": const(2),
            "s": block("BiasAdd", value="x", bias="b"),
        },
        [],
    ),
    "a Const with two dtypes": (
        {
            "c": {
                "op": "Const",
                "attrs": {"value": {"dtype": "int32", "value": 1}, "dtype": "float32"},
            }
        },
        ["set dtype=int32"],
    ),
}


@pytest.mark.parametrize(("blocks", "wanted"), PAGES.values(), ids=PAGES)
def test_fixes_are_those_with_which_the_rule_passes(blocks, wanted):
    assert fixes(blocks) == wanted


def test_a_missing_choice_has_a_fix_for_each_option():
    attrs = {key: WINDOW[key] for key in ("ksize", "strides")}
    blocks = {"x": const(1, 2, 2, 1), "p": block("MaxPool", attrs, input="x")}
    assert fixes(blocks) == ["set padding=SAME", "set padding=VALID"]


GRADIENTS = {
    "by its output": {
        "p": block("MaxPool", WINDOW, input="x"),
        "ones": block("OnesLike", x="p"),
        "g": block("MaxPoolGrad", OTHER, orig_input="x", orig_output="p", grad="ones"),
    },
    "by the shape of its input": {
        "p": block("AvgPool", WINDOW, value="x"),
        "ones": block("OnesLike", x="p"),
        "shape": block("Shape", input="x"),
        "g": block("AvgPoolGrad", OTHER, orig_input_shape="shape", grad="ones"),
    },
    "with a typed shape": {
        "p": block("AvgPool", WINDOW, value="x"),
        "ones": block("OnesLike", x="p"),
        "g": block("AvgPoolGrad", OTHER, orig_input_shape=[1, 4, 4, 1], grad="ones"),
    },
}


@pytest.mark.parametrize("blocks", GRADIENTS.values(), ids=GRADIENTS)
def test_a_gradient_block_gets_the_attributes_of_its_forward_block(blocks):
    result = build(from_json(PageFile, {"format": 1, "blocks": {"x": const(1, 4, 4, 1), **blocks}}))
    ((_, error),) = result.problems
    assert error.fixes[0] == Fix("set", tuple(WINDOW), WINDOW, like="p")


def test_a_block_that_is_no_gradient_of_it_is_not_matched():
    blocks = {"x": const(1, 4, 4, 1), "y": const(1, 6, 6, 1), **GRADIENTS["by its output"]}
    blocks["g"] = block("MaxPoolGrad", OTHER, orig_input="y", orig_output="p", grad="ones")
    assert not [fix for fix in fixes(blocks) if "as p has" in fix]


def test_missing_attributes_of_a_gradient_block_are_those_of_its_forward_block():
    blocks = {"x": const(1, 4, 4, 1), **GRADIENTS["by its output"]}
    blocks["g"] = {**blocks["g"], "attrs": {"padding": "VALID"}}
    problems = build(from_json(PageFile, {"format": 1, "blocks": blocks})).problems
    for _, error in problems:
        assert error.fixes[0].values == {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1]}


def test_an_attribute_that_cannot_be_read_beside_a_typed_shape_has_its_problem():
    blocks = {"x": const(1, 4, 4, 1), **GRADIENTS["with a typed shape"]}
    blocks["g"] = {**blocks["g"], "attrs": {**WINDOW, "strides": [1, "SAME", 1, 1]}}
    ((_, error),) = build(from_json(PageFile, {"format": 1, "blocks": blocks})).problems
    assert error.arg == "strides"


def test_blocks_of_nested_pages_have_no_fixes_here(tmp_path):
    inner = {"format": 1, "blocks": PAGES["matrices that meet swapped"][0]}
    (tmp_path / "inner.page.json").write_text(json.dumps(inner))
    page = from_json(
        PageFile,
        {"format": 1, "blocks": {"part": {"op": "page", "attrs": {"page": "inner.page.json"}}}},
    )
    page.path = tmp_path / "outer.page.json"
    ((name, error),) = build(page).problems
    assert (name, error.fixes) == ("part", [])
