"""Small calls with what belongs to some of their cells: the browser must find the same as Python does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from backblocks.dtypes import NAMES
from backblocks.ops import REGISTRY
from backblocks.ops._access_maps import pin_names
from backblocks.ops._access_points import linked, value
from backblocks.ops._spec import Spec
from backblocks.ops._values import each_value, flat
from backblocks.studio import messages

CELLS = 4
"""How many cells of each pin are asked about."""


def text() -> str:
    """The whole file: one call a line. Numbers are whole, so that sums are exact, or "NaN"."""
    lines = (json.dumps(_asked(*call), separators=(",", ":")) for call in _calls())
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _calls() -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    rng = np.random.default_rng(6)

    def draw(*shape: int) -> Any:
        return rng.integers(-3, 4, shape).astype(float)

    pool = {"ksize": (1, 3, 2, 1), "strides": (1, 2, 1, 1), "padding": "SAME"}
    x, y = draw(1, 4, 3, 2), draw(1, 2, 3, 2)
    odd = x.copy()
    odd[0, 1, 1] = np.nan
    yield "MaxPool", [odd], pool
    yield "MaxPoolGrad", [odd, y, y], pool
    yield "MaxPoolGradGrad", [odd, y, x], pool
    yield "MaxPool", [x], {"ksize": (1, 1, 1, 2), "strides": (1, 2, 1, 2), "padding": "VALID"}
    yield "MaxPoolWithArgmax", [x], pool
    places = rng.integers(0, 24, (1, 2, 3, 2))
    yield "MaxPoolGradWithArgmax", [x, y, places], pool
    yield "MaxPoolGradGradWithArgmax", [x, x, places], pool
    yield "AvgPool", [x], pool
    yield "AvgPoolGrad", [np.array(x.shape), y], pool
    volumes = {
        "ksize": (1, 1, 2, 2, 1),
        "strides": (1, 1, 1, 2, 1),
        "padding": "SAME",
        "data_format": "NCDHW",
    }
    v, u = draw(1, 2, 2, 3, 2), draw(1, 2, 2, 2, 2)
    yield "MaxPool3D", [v], volumes
    yield "MaxPool3DGrad", [v, u, u], volumes
    yield "MaxPool3DGrad", [v, u, u], volumes | {"ties": "tensorflow-cpu"}
    yield "AvgPool3DGrad", [np.array(v.shape), u], volumes
    conv = {"strides": (1, 2, 1, 1), "padding": "SAME", "dilations": (1, 1, 2, 1)}
    f, z = draw(3, 2, 2, 2), draw(1, 2, 3, 2)
    yield "Conv2D", [x, f], conv
    yield "Conv2DBackpropInput", [np.array(x.shape), f, z], conv
    yield "Conv2DBackpropFilter", [x, np.array(f.shape), z], conv
    yield "Conv2D", [x, f[:, :, :1]], conv
    yield "DepthwiseConv2dNative", [x, f], conv
    three: dict[str, Any] = {"strides": (1, 1, 1, 2, 1), "padding": "VALID"}
    yield "Conv3D", [draw(1, 2, 3, 3, 1), draw(2, 1, 2, 1, 2)], three
    spread = {"strides": (1, 1, 2, 1), "rates": (1, 2, 1, 1), "padding": "SAME"}
    w, t = draw(2, 2, 2), draw(1, 4, 2, 2)
    yield "Dilation2D", [x, w], spread
    yield "Dilation2DBackpropInput", [x, w, t], spread
    yield "Dilation2DBackpropFilter", [x, w, t], spread
    mirror = np.array([[0, 0], [1, 2], [0, 1], [0, 0]])
    slide: dict[str, Any] = {"strides": (1, 2, 1, 1), "padding": "SAME"}
    yield "FusedPadConv2D", [x, mirror, f], {**slide, "mode": "REFLECT"}
    resize = {**slide, "mode": "SYMMETRIC", "resize_align_corners": True}
    yield "FusedResizeAndPadConv2D", [x, [5, 4], mirror, f], resize
    codes = rng.integers(0, 256, (1, 4, 3, 2)).astype(np.uint8)
    ends = [np.float32(end) for end in (-1, 1, -2, 2)]
    coded = {**conv, "out_type": "qint32"}
    yield "QuantizedConv2D", [codes, codes[0, :3, :2, :, None], *ends], coded
    yield "QuantizedMaxPool", [codes, *ends[:2]], pool
    yield "QuantizedAvgPool", [codes.astype(np.int8), *ends[:2]], pool
    yield "FractionalAvgPoolGrad", [np.array(x.shape), y[:, :, :2], [0, 3, 4], [0, 1, 3]], {}
    yield (
        "FractionalMaxPoolGrad",
        [x, y[:, :, :2], y[:, :, :2], [0, 3, 4], [0, 1, 3]],
        {"overlapping": True},
    )
    yield "AddV2", [draw(2, 1, 3), draw(4, 1)], {}
    yield "Relu", [draw(4)], {}
    yield "Sub", [draw(3), draw(3)], {}
    yield "Neg", [draw(3)], {}
    named = [[2, 1], [0, 0], [2, 1]]
    yield "TensorScatterUpdate", [draw(3, 2), named, draw(3)], {}
    yield "DynamicStitch", [[[0, 2], [2]], [draw(2, 2), draw(1, 2)]], {}
    yield "BiasAddGrad", [x], {"data_format": "NCHW"}
    for name in ("Sum", "Mean", "Max", "Min", "Prod"):
        yield name, [draw(2, 3, 2), [1]], {"keep_dims": name == "Max"}
    yield "Cumsum", [draw(4, 2), 0], {"exclusive": True, "reverse": True}
    untold = draw(3, 4)
    untold[1, :2] = np.nan
    yield "ArgMax", [untold, 1], {}
    yield "ArgMin", [untold, 0], {}
    yield "MatMul", [draw(2, 3), draw(4, 3)], {"transpose_b": True}
    yield "Einsum", [[draw(2, 3, 3)]], {"equation": "ijj->ij"}
    yield "Transpose", [draw(2, 3, 2), [2, 0, 1]], {}
    yield "Reshape", [draw(2, 3, 2), [4, 3]], {}
    yield "StridedSlice", [draw(5, 4), [4, 1], [0, 4], [-2, 2]], {}
    yield "PadV2", [draw(2, 2), [[1, 0], [0, 2]], 7.0], {}
    yield "MirrorPad", [draw(3, 3), [[1, 2], [0, 0]]], {"mode": "SYMMETRIC"}
    yield "ConcatV2", [[draw(2, 1), draw(2, 3)], 1], {}
    yield "GatherV2", [draw(2, 4), [[3, 0], [1, 1]], 1], {}
    yield "GatherNd", [draw(3, 2), [[2, 1], [0, 0]]], {}
    yield "UnsortedSegmentSum", [draw(4, 2), [1, 0, -1, 1], 2], {}
    yield "Softmax", [draw(2, 3)], {}


def _asked(name: str, arrays: list[Any], given: dict[str, Any]) -> dict[str, Any]:
    op = REGISTRY[name]
    inputs, attrs, _ = op.bind(arrays, given)
    inputs = op.arrays(inputs)
    outputs = op.run(inputs, attrs)
    access_maps = op.access_maps(each_value(Spec.of, inputs), attrs, each_value(Spec.of, outputs))
    ins, outs = _named(op.inputs, inputs), _named(op.outputs, outputs)
    shapes = {pin: array.shape for pin, array in (ins | outs).items()}
    asked = [(pin, cell) for pin, shape in shapes.items() for cell in _some(shape)]
    return {
        "op": name,
        "shapes": shapes,
        "types": {pin: NAMES[array.dtype] for pin, array in (ins | outs).items()},
        "outputs": list(outs),
        "held": {pin: _plain(array) for pin, array in ins.items()},
        "access_maps": msgspec.to_builtins(
            msgspec.convert(access_maps, list[messages.AccessMap], from_attributes=True)
        ),
        "linked": [[pin, cell, linked(access_maps, shapes, pin, cell, ins)] for pin, cell in asked],
        "values": [
            [pin, cell, _plain(value(access_maps, shapes, pin, cell, ins))]
            for pin, cell in asked
            if pin in outs
        ],
    }


def _named(pins: Any, values: Any) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for pin, each in zip(pins, values, strict=True):
        named |= zip(pin_names(pin.name, each), flat((each,)), strict=True)
    return named


def _some(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The first cell, the last, and some between."""
    count = int(np.prod(shape))
    numbers = sorted({int(n) for n in np.linspace(0, count - 1, CELLS)}) if count else []
    return [tuple(map(int, np.unravel_index(n, shape))) for n in numbers]


def _plain(numbers: Any) -> Any:
    """As JSON has them: row after row, whole where they are."""
    if numbers is None:
        return None
    flat = [_number(float(n)) for n in np.ravel(numbers)]
    return flat if isinstance(numbers, np.ndarray) else flat[0]


def _number(n: float) -> float | int | str:
    return "NaN" if n != n else int(n) if n.is_integer() else n
