"""What `ops.json` says of ops is what they do."""

import re
import runpy
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import pytest

import backblocks as bb
from backblocks.dtypes import ALL_BUT_RESOURCE
from backblocks.graph.gradient_ops import worked_calls
from backblocks.ops import REGISTRY
from backblocks.ops._declaration import Affects
from backblocks.ops._values import flat
from backblocks.pages.dataclass_json import from_json
from backblocks.pages.page import Page
from backblocks.studio.palette import Palette

TOOL = Path(__file__).resolve().parents[2] / "tools" / "palette.py"


@pytest.fixture(scope="module")
def tool():
    return runpy.run_path(str(TOOL))


@pytest.fixture(scope="module")
def palette(tool):
    """As a browser reads it."""
    data = msgspec.json.encode(tool["palette"]())
    assert len(data) < 2_000_000
    return {op.name: op for op in msgspec.json.decode(data, type=Palette).ops}


def test_every_op_is_there_with_its_pins_and_attributes(palette):
    assert set(palette) == set(REGISTRY)
    for name, op in REGISTRY.items():
        info = palette[name]
        assert [pin.name for pin in info.inputs] == [pin.name for pin in op.inputs]
        assert [pin.name for pin in info.outputs] == [pin.name for pin in op.outputs]
        assert [attr.name for attr in info.attrs] == list(op.attrs)
        assert info.summary
        assert info.formula == op.formula
        assert set(op.aliases) <= set(info.aliases)
        for pin in (*info.inputs, *info.outputs):
            assert set(pin.dtypes) <= {*ALL_BUT_RESOURCE, "resource"}, (name, pin)
            assert pin.dtypes
        for attr in info.attrs:
            assert attr.required == (attr.default is msgspec.UNSET)


def test_defaults_are_read_by_pages_as_they_stand(palette):
    for name, op in REGISTRY.items():
        for attr in palette[name].attrs:
            if not attr.required:
                kind, own = op.attrs[attr.name].kind, op.attrs[attr.name].default
                assert kind.parse(attr.default) == kind.parse(own), (name, attr.name)


@pytest.mark.parametrize(
    ("op", "pin", "ranks"),
    [
        ("MaxPool3D", "input", [5]),
        ("MaxPool3DGrad", "grad", [5]),
        ("Conv2D", "filter", [4]),
        ("MatMul", "a", [2]),
        ("AddV2", "x", None),
        ("Relu", "features", None),
        ("ReluGrad", "gradients", None),
        ("BiasAdd", "bias", [1]),
    ],
)
def test_ranks_are_those_that_the_shape_rules_take(palette, op, pin, ranks):
    (found,) = [each.ranks for each in palette[op].inputs if each.name == pin]
    assert found == ranks


@pytest.mark.parametrize(
    ("op", "ranks"),
    [("MaxPool3D", [5]), ("Range", [1]), ("Const", None), ("Fill", None), ("Relu", None)],
)
def test_an_output_has_ranks_where_inputs_alone_decide_them(palette, op, ranks):
    assert palette[op].outputs[0].ranks == ranks


def test_cases_are_pages_that_give_the_numbers_of_the_op(palette):
    count = 0
    for name, info in palette.items():
        for case in info.cases:
            page = from_json(Page, msgspec.json.decode(msgspec.json.encode(case.page)))
            block = list(page.blocks)[-1]
            op = REGISTRY[name]
            if op.stateful or not op.outputs or any(pin.is_list for pin in op.outputs):
                assert not page.check()
                continue
            wires = [f"{block}:{pin.name}" for pin in op.outputs]
            found = bb.Session(page.graph()).run(wires)
            (own,) = [each for each in op.cases if page.title == f"{name}: {each.about}"][:1]
            wanted = op(**own.args)
            for one, other in zip(
                found, flat([wanted] if len(wires) == 1 else wanted), strict=True
            ):
                np.testing.assert_array_equal(one, other, err_msg=page.title)
            count += 1
    assert count > 400


def test_gradient_blocks_give_the_gradient(palette):
    """The one op that is named, wired as it says, gives what differentiating gives."""
    count = 0
    for name, info in palette.items():
        for entry in info.gradients:
            for inputs, attrs in worked_calls(REGISTRY[name]):
                count += _agree(REGISTRY[name], entry, inputs, attrs)
    assert count > 150


def _agree(op, entry, inputs, attrs):
    chance = np.random.default_rng(3)
    names = [pin.name for pin in op.inputs]
    place = names.index(entry.input)
    symbols = [
        bb.placeholder(x.shape, x.dtype) if i == place else None if x is None else bb.constant(x)
        for i, x in enumerate(inputs)
    ]
    try:
        result = op(*symbols, **attrs)
        ys = list(result) if isinstance(result, list | tuple) else [result]
        smooth = [y.dtype.kind in "fcV" for y in ys]
        weights = [chance.standard_normal(y.shape).astype(y.dtype) for y in ys]
        (dx,) = bb.gradients(
            [y for y, s in zip(ys, smooth, strict=True) if s],
            [symbols[place]],
            [w for w, s in zip(weights, smooth, strict=True) if s],
        )
        values = bb.evaluate([dx, *ys], {symbols[place]: inputs[place]})
    except bb.OpError:  # a mode without a gradient
        return 0
    sources = {f"input {n}": x for n, x in zip(names, inputs, strict=True)}
    sources |= {
        f"shape {n}": np.array(np.shape(x), np.int32) for n, x in zip(names, inputs, strict=True)
    }
    for pin, weight, value in zip(op.outputs, weights, values[1:], strict=True):
        sources |= {f"gradient {pin.name}": weight, f"output {pin.name}": value}
    gradient = REGISTRY[entry.op]
    given = {name: sources[source] for name, source in entry.inputs.items()}
    found = gradient(**given, **{name: attrs[name] for name in entry.attrs})
    outputs = [pin.name for pin in gradient.outputs]
    if len(outputs) > 1:
        found = found[outputs.index(entry.gives)]
    np.testing.assert_array_equal(found, values[0], err_msg=f"{op.name} {entry.input}")
    return 1


def test_the_lesson_of_pools_is_wired_twice(palette):
    first = palette["MaxPool3D"].gradients[0]
    assert (first.op, first.gives) == ("MaxPool3DGrad", "output")
    assert first.inputs == {
        "orig_input": "input input",
        "orig_output": "output output",
        "grad": "gradient output",
    }
    assert {"ksize", "strides", "padding", "data_format"} <= set(first.attrs)
    (second,) = [each for each in palette["MaxPool3DGrad"].gradients if each.input == "grad"]
    assert second.op == "MaxPool3DGradGrad"
    assert second.inputs == {
        "orig_input": "input orig_input",
        "orig_output": "input orig_output",
        "grad": "gradient output",
    }


@pytest.mark.parametrize(
    ("words", "op"),
    [
        ("max_pool3d backward", "MaxPool3DGrad"),
        ("max_pool_3d_grad_grad", "MaxPool3DGradGrad"),
        ("nn.ReLU", "Relu"),
        ("np.concatenate", "ConcatV2"),
        ("conv_transpose", "Conv2DBackpropInput"),
    ],
)
def test_ops_are_found_by_the_names_of_other_libraries(palette, words, op):
    assert words in palette[op].aliases


@pytest.mark.parametrize(
    ("op", "axes"),
    [
        ("MaxPool3D", ["data_format", "data_format"]),
        ("Conv3D", ["data_format", "DHWIO", "data_format"]),
        ("Conv3DBackpropFilterV2", ["data_format", "", "data_format", "DHWIO"]),
        ("DepthwiseConv2dNative", ["data_format", "HWCM", "data_format"]),
        ("Dilation2D", ["NHWC", "HWC", "NHWC"]),
        ("MaxPoolGradWithArgmax", ["", "NHWC", "", "NHWC"]),
        ("MatMul", ["", "", ""]),
    ],
)
def test_axes_have_the_letters_that_the_cells_of_the_op_have(palette, op, axes):
    info = palette[op]
    assert [pin.axes for pin in (*info.inputs, *info.outputs)] == axes


WEB = Path(__file__).resolve().parents[2] / "web" / "src"


def test_the_browser_has_every_rule_by_which_a_difference_says_where_it_shows():
    rules = (WEB / "model" / "difference-rules.ts").read_text()
    for name in get_args(Affects):
        pattern = rf'^  "?{re.escape(name)}"?[:,]'
        assert not name or re.search(pattern, rules[rules.index("const RULES") :], re.M), name
        for language in ("en", "ko"):
            words = (WEB / "text" / f"explain.{language}.ts").read_text()
            assert not name or re.search(rf'^    "?{re.escape(name)}"?: ', words, re.M), name


def test_what_differences_are_about_is_said_in_korean():
    words = (WEB / "text" / "topics.ko.ts").read_text()
    topics = {each.topic for op in REGISTRY.values() for each in op.differences}
    assert not [
        topic for topic in topics if not re.search(rf'^  "?{re.escape(topic)}"?: ', words, re.M)
    ]
