"""Which cells of a block belong together, and gradients beside finite differences."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from asking import Asker
from conftest import page_file

from backblocks.graph.session import Session
from backblocks.ops import REGISTRY
from backblocks.studio.explain import explain
from backblocks.studio.gradient_check import check_gradient
from backblocks.studio.ipc import StartRun
from backblocks.studio.last_values import LastValues
from backblocks.studio.messages import CheckGradient, Explain
from backblocks.studio.run_plan import plan_run
from backblocks.studio.statistics import run_to_end

RNG = np.random.default_rng(3)
WINDOW = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "VALID"}
STEPS = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}


def const(shape, dtype="float32"):
    cells = np.round(RNG.standard_normal(shape), 2)
    return {"op": "Const", "attrs": {"value": {"dtype": dtype, "value": cells.tolist()}}}


TIES = np.ones((1, 4, 4, 4, 1))
TIES[0, 0, 0, 0, 0] = 5
BLOCKS = {
    "x": const((1, 4, 4, 4, 1)),
    "ties": {"op": "Const", "attrs": {"value": TIES.tolist()}},
    "dy": const((1, 2, 2, 2, 1)),
    "ddx": const((1, 4, 4, 4, 1)),
    "pool": {"op": "MaxPool3D", "in": {"input": "x:output"}, "attrs": WINDOW},
    "grad": {
        "op": "MaxPool3DGrad",
        "in": {"orig_input": "x:output", "orig_output": "pool:output", "grad": "dy:output"},
        "attrs": WINDOW,
    },
    "second": {
        "op": "MaxPool3DGradGrad",
        "in": {"orig_input": "x:output", "orig_output": "pool:output", "grad": "ddx:output"},
        "attrs": WINDOW,
    },
    "tied": {"op": "MaxPool3D", "in": {"input": "ties:output"}, "attrs": WINDOW},
    "tied_grad": {
        "op": "MaxPool3DGrad",
        "in": {"orig_input": "ties:output", "orig_output": "tied:output", "grad": "dy:output"},
        "attrs": WINDOW,
    },
    "mean": {
        "op": "AvgPool3DGrad",
        "in": {"orig_input_shape": [1, 4, 4, 4, 1], "grad": "dy:output"},
        "attrs": WINDOW,
    },
    "w": const((2, 2, 2, 1, 3)),
    "dz": const((1, 4, 4, 4, 3)),
    "conv": {"op": "Conv3D", "in": {"input": "x:output", "filter": "w:output"}, "attrs": STEPS},
    "conv_dx": {
        "op": "Conv3DBackpropInputV2",
        "in": {
            "input_sizes": [1, 4, 4, 4, 1],
            "filter": "w:output",
            "out_backprop": "dz:output",
        },
        "attrs": STEPS,
    },
    "conv_dw": {
        "op": "Conv3DBackpropFilterV2",
        "in": {
            "input": "x:output",
            "filter_sizes": [2, 2, 2, 1, 3],
            "out_backprop": "dz:output",
        },
        "attrs": STEPS,
    },
    "image": const((1, 4, 4, 2)),
    "dimage": const((1, 2, 2, 2)),
    "flat_dx": {
        "op": "AvgPoolGrad",
        "in": {"orig_input_shape": [1, 4, 4, 2], "grad": "dimage:output"},
        "attrs": {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"},
    },
    "wrong": {
        "op": "LRNGrad",
        "in": {
            "input_grads": "image:output",
            "input_image": "image:output",
            "output_image": "image:output",
        },
        "attrs": {"alpha": 1.0},
    },
    "draw": {
        "op": "FractionalMaxPool",
        "in": {"value": "image:output"},
        "attrs": {"pooling_ratio": [1.0, 1.5, 1.5, 1.0]},
    },
    "drawn": {
        "op": "FractionalMaxPoolGrad",
        "in": {
            "orig_input": "image:output",
            "orig_output": "draw:output",
            "out_backprop": "draw:output",
            "row_pooling_sequence": "draw:row_pooling_sequence",
            "col_pooling_sequence": "draw:col_pooling_sequence",
        },
    },
    "sigmoid": {"op": "Sigmoid", "in": {"x": "dy:output"}},
    "slope": {"op": "SigmoidGrad", "in": {"y": "sigmoid:y", "dy": "dy:output"}},
    "lonely": {"op": "SigmoidGrad", "in": {"y": "dy:output", "dy": "dy:output"}},
    "relu": {"op": "ReluGrad", "in": {"gradients": "dy:output", "features": "dy:output"}},
    "bias": {"op": "BiasAddGrad", "in": {"out_backprop": "image:output"}},
    "unique": {"op": "Unique", "in": {"x": [3, 3, 4]}},
    "whole": {"op": "Const", "attrs": {"value": [[[[1], [2]], [[3], [4]]]]}},
    "whole_grad": {
        "op": "MaxPoolGrad",
        "in": {
            "orig_input": "whole:output",
            "orig_output": {"dtype": "int32", "value": [[[[4]]]]},
            "grad": {"dtype": "int32", "value": [[[[1]]]]},
        },
        "attrs": {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"},
    },
    "odd_grad": {
        "op": "MaxPoolGrad",
        "in": {
            "orig_input": {"dtype": "float32", "value": [[[["nan"], [2]], [[3], [4]]]]},
            "orig_output": {"dtype": "float32", "value": [[[["nan"]]]]},
            "grad": {"dtype": "float32", "value": [[[["inf"]]]]},
        },
        "attrs": {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"},
    },
    "grads": {"op": "gradients", "in": {"ys": ["pool:output"], "xs": ["x:output"]}},
}


@pytest.fixture(scope="module")
def asker(shared):
    page_file(shared.folder, "explained", {"blocks": BLOCKS})
    tab = shared.tab()
    return Asker(tab, tab.open(path="explained.page.json")["page"])


# -- which cells ------------------------------------------------------------------------------------


def test_tensors_of_a_block_are_named_as_look_takes_them(asker):
    found = asker.answer("explain", block="grad")
    assert (found["op"], found["step"], found["outputs"]) == ("MaxPool3DGrad", 1, ["output"])
    assert {name: each["pin"] for name, each in found["tensors"].items()} == {
        "orig_input": "x:output",
        "orig_output": "pool:output",
        "grad": "dy:output",
        "output": "grad:output",
    }
    assert list(found["tensors"]) == ["orig_input", "orig_output", "grad", "output"]
    x = found["tensors"]["orig_input"]
    assert (x["dtype"], x["shape"], x["constant"]) == ("float32", [1, 4, 4, 4, 1], True)
    assert "constant" not in found["tensors"]["output"]
    for each in found["tensors"].values():
        assert asker.look(each["pin"])[1].shape == tuple(each["shape"])


def test_the_ways_are_those_that_the_op_declares(asker):
    found = asker.answer("explain", block="conv")
    (way,) = found["access_maps"]
    assert (way["rule"], way["of"]) == ("sum", ["input", "filter"])
    assert way["cells"].keys() == {"input", "filter", "output"}


def test_what_is_typed_into_a_block_is_named_by_its_input(asker):
    sizes = asker.answer("explain", block="conv_dx")["tensors"]["input_sizes"]
    assert (sizes["pin"], sizes["constant"]) == ("conv_dx:input_sizes", True)
    assert asker.look("conv_dx:input_sizes")[1].tolist() == [1, 4, 4, 4, 1]


@pytest.mark.parametrize(
    ("block", "forward"),
    [
        ("grad", "pool"),
        ("tied_grad", "tied"),
        ("second", "grad"),
        ("conv_dx", "conv"),
        ("conv_dw", "conv"),
        ("slope", "sigmoid"),
        ("lonely", None),
        ("mean", None),
        ("pool", None),
        ("conv", None),
        ("x", None),
    ],
)
def test_a_gradient_block_knows_the_block_whose_gradient_it_is(asker, block, forward):
    assert asker.answer("explain", block=block).get("forward") == forward


def test_an_op_that_declares_nothing_shows_its_tensors(asker):
    found = asker.answer("explain", block="unique")
    assert (found["access_maps"], list(found["tensors"])) == ([], ["x", "y", "idx"])
    assert found["declared"] is False
    alone = asker.answer("explain", block="x")
    assert (alone["access_maps"], alone.get("declared", True)) == ([], True)


@pytest.mark.parametrize("kind", ["explain", "check gradient"])
@pytest.mark.parametrize(
    ("block", "words"),
    [
        ("nothing", "nothing: must be a block that has run. Run the page, or to this block."),
        ("", "must be a block that has run"),
        (
            "grads",
            "grads: must be an op; got 'gradients'. Add the gradient block of an op, and choose that.",
        ),
    ],
)
def test_what_is_no_op_is_refused(asker, kind, block, words):
    fields = {"cell": [0]} if kind == "check gradient" else {}
    assert words in asker.refused(kind, block=block, **fields)


# -- gradients at a cell ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "block",
    ["grad", "second", "mean", "conv_dx", "conv_dw", "flat_dx", "slope", "relu", "bias", "drawn"],
)
def test_gradients_agree_with_finite_differences_at_every_cell(asker, block):
    _, gradient = asker.look(f"{block}:{asker.answer('explain', block=block)['outputs'][0]}")
    cells = [[int(i) for i in cell] for cell in np.ndindex(gradient.shape)]
    for cell in cells[:: max(1, len(cells) // 12)]:
        found = asker.answer("check gradient", block=block, cell=cell)
        assert (found.get("why", ""), found.get("agrees")) == ("", True), found
        given, slope = float(found["given"]), float(found["slope"])
        assert given == pytest.approx(float(gradient[tuple(cell)]), rel=1e-6)
        assert slope == pytest.approx(given, rel=1e-3, abs=1e-4)


def test_a_tie_has_no_slope_and_the_answer_says_so(asker):
    found = asker.answer("check gradient", block="tied_grad", cell=[0, 2, 2, 2, 0])
    assert found["why"] == "two slopes"
    assert found["below"] != found["above"]
    clear = asker.answer("check gradient", block="tied_grad", cell=[0, 0, 0, 0, 0])
    assert (clear.get("why", ""), clear["agrees"]) == ("", True)


def test_a_number_that_is_no_gradient_does_not_agree(asker):
    """What it was given as the output of the op is its input."""
    found = asker.answer("check gradient", block="wrong", cell=[0, 0, 0, 0])
    assert (found.get("why", ""), found.get("agrees", False)) == ("", False)


@pytest.mark.parametrize(
    ("block", "cell", "words"),
    [
        ("grad", [0, 0, 0, 0], "grad: must have such a cell; got [0, 0, 0, 0]. Name one of [1, 4"),
        ("grad", [0, 4, 0, 0, 0], "must have such a cell"),
        ("grad", [0, -1, 0, 0, 0], "must have such a cell"),
        ("grad", [1 << 62, 0, 0, 0, 0], "must have such a cell"),
        ("pool", [0, 0, 0, 0, 0], "must be the gradient of an op; got 'MaxPool3D'. Choose a"),
        ("x", [0, 0, 0, 0, 0], "must be the gradient of an op; got 'Const'"),
        ("conv", [0, 0, 0, 0, 0], "must be the gradient of an op; got 'Conv3D'"),
    ],
)
def test_what_is_no_cell_of_a_gradient_is_refused_in_words(asker, block, cell, words):
    assert words in asker.refused("check gradient", block=block, cell=cell)


@pytest.mark.parametrize(
    ("block", "cell", "why", "about"),
    [
        ("lonely", [0, 0, 0, 0, 0], "unknown input", ["Sigmoid", "x"]),
        ("whole_grad", [0, 1, 1, 0], "integers", ["MaxPool"]),
        ("odd_grad", [0, 0, 0, 0], "not finite", []),
        ("odd_grad", [0, 0, 1, 0], "non-finite result", []),
    ],
)
def test_where_there_is_no_slope_the_answer_says_why(asker, block, cell, why, about):
    found = asker.answer("check gradient", block=block, cell=cell)
    assert (found["why"], found.get("about", []), found.get("agrees", False)) == (why, about, False)


# -- every gradient of pooling and convolution ------------------------------------------------------

PALETTE = Path(__file__).resolve().parents[2] / "tools" / "palette.py"
WINDOWED = [
    name
    for name in REGISTRY
    if re.fullmatch(r"(Max|Avg)Pool.*Grad.*|.*(Conv|Dilation).*Backprop.*", name)
]


@pytest.fixture(scope="module")
def cases_of():
    return runpy.run_path(str(PALETTE))["op_info"]


def values_after(page):
    """The values of a page that has run here."""
    plan = plan_run(StartRun(1, 1, page, "/nowhere.page.json", "once"))
    values = Session(plan.graph).run(plan.all_outputs, plan.feeds, plan.targets, borrow=True)
    last_values = LastValues()
    last_values.configure(plan, 1)
    last_values.outputs |= {
        wire: (value, 1) for wire, value in zip(plan.all_outputs, values, strict=True)
    }
    return last_values


@pytest.mark.parametrize("name", WINDOWED)
def test_gradients_of_worked_cases_are_explained_and_agree_where_there_is_a_slope(name, cases_of):
    checked = 0
    for case in cases_of(REGISTRY[name]).cases:
        last_values = values_after(case.page)
        block = next(key for key, each in case.page["blocks"].items() if each["op"] == name)
        found = explain(Explain(1, 1, block), last_values)
        assert found.access_maps
        gradient, _ = last_values.value(f"{block}:{found.outputs[0]}")
        if gradient.dtype.kind in "iu":
            continue
        for cell in [*np.ndindex(gradient.shape)][:8]:
            answer = run_to_end(check_gradient(CheckGradient(1, 1, block, list(cell)), last_values))
            assert answer.agrees or answer.why, (case.about, cell, answer)
            checked += not answer.why
    assert checked
