"""Calls of the ops that work cell by cell: arithmetic, comparisons, activations, types and biases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from vectors.data import (
    ALL,
    COMPLEX,
    FLOATS,
    INTS,
    NUMBERS,
    REALS,
    Array,
    Call,
    Source,
    is_float,
    is_half,
    numpy_dtype,
    ones,
)

Calls = Callable[[str, str], Iterator[Call]]

SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (9,), (3, 5), (2, 3, 5), (1, 2, 1, 7, 3))
EMPTY: tuple[tuple[int, ...], ...] = ((0,), (3, 0))
PAIRS = (
    ((), (3,)),
    ((5,), (5,)),
    ((1,), (7,)),
    ((3, 1), (5,)),
    ((2, 3), (2, 3)),
    ((2, 1, 3), (1, 5, 1)),
    ((2, 3, 5), (3, 1)),
    ((0,), (1,)),
    ((0, 3), (3,)),
)
SPECIAL = {"nan": [np.nan], "inf": [np.inf, -np.inf], "negative zero": [-0.0, 0.0]}


def extremes(source: Source, dtype: str) -> Array:
    """The largest and smallest of an integer type, so that sums and products go round."""
    info = np.iinfo(dtype)
    values = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, info.max // 2, 7]
    return np.array(source.shuffled(values), dtype)


# -- one input -----------------------------------------------------------------------------------------


def one(arg: str, *, positive: bool = False, attrs: tuple[dict[str, Any], ...] = ({},)) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)

        def values(x: Array) -> Array:
            return np.abs(x) + numpy_dtype(dtype).type(0.25) if positive else x

        for each in attrs:
            note = ["alpha in float64"] if op.startswith("Leaky") and dtype == "float64" else []
            for shape in SHAPES:
                yield Call({arg: values(source.whole(shape, dtype))}, each, note)
                if is_float(dtype) or dtype.startswith("complex"):
                    yield Call({arg: values(source.real(shape, dtype))}, each, note)
            for shape in EMPTY:
                yield Call({arg: source.whole(shape, dtype)}, each, [*note, "empty"])
            if dtype in INTS:
                yield Call({arg: extremes(source, dtype)}, each, ["overflow"])
            if is_float(dtype):
                for tag, special in SPECIAL.items():
                    yield Call(
                        {arg: source.sprinkled(source.real((19,), dtype), 0.4, *special)},
                        each,
                        [*note, tag],
                    )
                if not positive:
                    yield Call(
                        {arg: (source.real((19,), dtype) * 12).astype(numpy_dtype(dtype))},
                        each,
                        [*note, "large |x|"],
                    )
                    tiny = -np.logspace(-10, -5, 12)
                    yield Call(
                        {arg: tiny.astype(numpy_dtype(dtype))}, each, [*note, "small negative x"]
                    )

        if op == "Softplus":
            beyond = {"bfloat16": 2.859375, "float16": 7.05, "float32": 14.0, "float64": 34.1}[
                dtype
            ]
            x = np.array([beyond, beyond], numpy_dtype(dtype))
            yield Call({arg: x}, {}, ["large |x|"])
            yield Call({arg: -x}, {}, ["large |x|"])

    return calls


# -- two inputs ----------------------------------------------------------------------------------------


def two(*, positive: bool = False) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for a, b in PAIRS:
            tags = ["empty"] if 0 in a else []
            for shapes in ((a, b), (b, a)):
                x, y = (source.whole(shape, dtype) for shape in shapes)
                if positive:
                    y = np.abs(y) + numpy_dtype(dtype).type(1)
                yield Call({"x": x, "y": y.astype(x.dtype)}, {}, tags)
            if is_float(dtype) or dtype.startswith("complex"):
                yield Call({"x": source.real(a, dtype), "y": source.real(b, dtype)}, {}, tags)
        if dtype in INTS and not positive:
            yield Call(
                {"x": extremes(source, dtype), "y": extremes(source, dtype)}, {}, ["overflow"]
            )
        if is_float(dtype):
            for tag, special in SPECIAL.items():
                x, y = (source.sprinkled(source.whole((29,), dtype), 0.5, *special) for _ in "xy")
                yield Call({"x": x, "y": y}, {}, [tag])

    return calls


def slope(arg: str, *, attrs: tuple[dict[str, Any], ...] = ({},)) -> Calls:
    """Gradients of activations: what came back, and what went in or came out."""

    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for each in attrs:
            note = ["alpha in float64"] if op.startswith("Leaky") and dtype == "float64" else []
            for shape in (*SHAPES, *EMPTY):
                tags = [*note, *(["empty"] if 0 in shape else [])]
                yield Call(
                    {"gradients": source.whole(shape, dtype), arg: source.whole(shape, dtype)},
                    each,
                    tags,
                )
                if is_float(dtype):
                    yield Call(
                        {"gradients": source.real(shape, dtype), arg: source.real(shape, dtype)},
                        each,
                        tags,
                    )
            if op == "Relu6Grad":
                yield Call(
                    {
                        "gradients": source.whole((30,), dtype),
                        arg: source.whole((30,), dtype, 0, 8),
                    },
                    each,
                    [],
                )
            if is_float(dtype):
                for tag, special in SPECIAL.items():
                    g, x = source.whole((19,), dtype), source.whole((19,), dtype)
                    yield Call(
                        {"gradients": g, arg: source.sprinkled(x, 0.4, *special)},
                        each,
                        [*note, tag],
                    )
                    if tag != "negative zero":
                        g = source.sprinkled(g, 0.4, *special)
                        yield Call(
                            {"gradients": g, arg: x}, each, [*note, "gradients that are not finite"]
                        )

    return calls


# -- several inputs, other types ------------------------------------------------------------------------


def add_n(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for count in (1, 2, 3, 9, 12):
        for shape in ((), (5,), (2, 3), (0, 2)):
            tags = ["empty"] if 0 in shape else []
            yield Call({"inputs": [source.whole(shape, dtype) for _ in range(count)]}, {}, tags)
    if is_half(dtype):
        yield Call({"inputs": [ones((3,), dtype)] * 300}, {}, ["half sums"])


def select(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for c, t, e in (
        ((), (3,), (3,)),
        ((2, 1), (3,), ()),
        ((5,), (5,), (5,)),
        ((2, 3), (2, 3), (2, 3)),
        ((0,), (1,), (1,)),
    ):
        inputs = {
            "condition": source.whole(c, "bool"),
            "t": source.whole(t, dtype),
            "e": source.whole(e, dtype),
        }
        yield Call(inputs, {}, ["empty"] if 0 in c else [])
    if is_float(dtype):
        t = source.sprinkled(source.real((9,), dtype), 0.4, np.nan, np.inf)
        yield Call(
            {"condition": source.whole((9,), "bool"), "t": t, "e": source.real((9,), dtype)},
            {},
            ["nan", "inf"],
        )


def cast(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for target in ALL:
        unsigned = target.startswith("u")
        x = source.whole((2, 7), dtype, 0 if unsigned else -4, 8)
        yield Call({"x": x}, {"DstT": target})
        yield Call({"x": x[:0]}, {"DstT": target}, ["empty"])
        if dtype not in INTS and dtype != "bool":
            x = np.abs(source.real((9,), dtype)) if unsigned else source.real((9,), dtype)
            yield Call({"x": x.astype(numpy_dtype(dtype))}, {"DstT": target})
            if target in FLOATS and is_float(dtype):
                for tag, special in SPECIAL.items():
                    yield Call(
                        {"x": source.sprinkled(x, 0.4, *special).astype(numpy_dtype(dtype))},
                        {"DstT": target},
                        [tag],
                    )
        if dtype in INTS and target in INTS:
            yield Call({"x": extremes(source, dtype)}, {"DstT": target}, ["overflow"])


# -- biases -----------------------------------------------------------------------------------------------


def bias_add(layouts: bool) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for shape in ((2, 3), (1, 1), (2, 3, 5), (2, 1, 3, 9), (1, 2, 3, 2, 4), (0, 3), (2, 0)):
            tags = ["empty"] if 0 in shape else []
            inputs = {"value": source.whole(shape, dtype), "bias": source.whole(shape[-1:], dtype)}
            yield Call(inputs, {}, tags)
            if layouts:
                yield Call(inputs, {"data_format": "NHWC"}, tags)
                first = {"value": np.moveaxis(inputs["value"], -1, 1), "bias": inputs["bias"]}
                yield Call(first, {"data_format": "NCHW"}, tags)
        if is_float(dtype):
            for tag, special in SPECIAL.items():
                x = source.sprinkled(source.real((2, 3, 3), dtype), 0.3, *special)
                yield Call(
                    {"value": x, "bias": source.sprinkled(source.real((3,), dtype), 0.2, *special)},
                    {},
                    [tag],
                )
        elif dtype in INTS:
            x = extremes(source, dtype).reshape(2, 4)
            yield Call({"value": x, "bias": extremes(source, dtype)[:4]}, {}, ["overflow"])

    return calls


def bias_add_grad(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in ((2, 3), (1, 1), (2, 3, 5), (2, 1, 3, 9), (1, 2, 3, 2, 4), (0, 3), (2, 0)):
        tags = ["empty"] if 0 in shape else []
        for i, dy in enumerate((source.whole(shape, dtype), source.real(shape, dtype))):
            if i == 0 or dtype not in INTS:
                yield Call({"out_backprop": dy}, {"data_format": "NHWC"}, tags)
                yield Call({"out_backprop": np.moveaxis(dy, -1, 1)}, {"data_format": "NCHW"}, tags)
    if is_half(dtype):
        for layout in ("NHWC", "NCHW"):
            shape = (8192, 2) if layout == "NHWC" else (1, 2, 8192)
            yield Call({"out_backprop": ones(shape, dtype)}, {"data_format": layout}, ["half sums"])
    if is_float(dtype):
        for tag, special in SPECIAL.items():
            yield Call(
                {"out_backprop": source.sprinkled(source.whole((3, 5), dtype), 0.3, *special)},
                {},
                [tag],
            )


SIGNED = tuple(name for name in INTS if not name.startswith("u"))
WITH_SIGN = tuple(name for name in NUMBERS if not name.startswith("u"))
ALPHAS: tuple[dict[str, Any], ...] = (
    {},
    {"alpha": 0.5},
    {"alpha": 0.0},
    {"alpha": 1.5},
    {"alpha": 0.2},
    {"alpha": -1.0},
)
TABLE = {
    **{op: (NUMBERS, two()) for op in ("Add", "AddV2", "Sub", "Mul")},
    "RealDiv": (FLOATS, two(positive=True)),
    **{op: (REALS, two()) for op in ("Less", "LessEqual", "Greater", "GreaterEqual")},
    "Neg": (WITH_SIGN, one("x")),
    "Square": (NUMBERS, one("x")),
    "Sign": ((*FLOATS, *SIGNED), one("x")),
    **{op: (FLOATS, one("x", positive=True)) for op in ("Sqrt", "Rsqrt", "Log")},
    **{op: (FLOATS, one("x")) for op in ("Exp", "Tanh", "Sigmoid")},
    "Conj": (COMPLEX, one("input")),
    "AddN": (NUMBERS, add_n),
    "SelectV2": (ALL, select),
    "Cast": (ALL, cast),
    **{op: (REALS, one("features")) for op in ("Relu", "Relu6")},
    **{op: (FLOATS, one("features")) for op in ("Elu", "Selu", "Softplus", "Softsign")},
    "LeakyRelu": (FLOATS, one("features", attrs=ALPHAS)),
    **{op: (REALS, slope("features")) for op in ("ReluGrad", "Relu6Grad")},
    **{op: (FLOATS, slope("outputs")) for op in ("EluGrad", "SeluGrad")},
    **{op: (FLOATS, slope("features")) for op in ("SoftplusGrad", "SoftsignGrad")},
    "LeakyReluGrad": (FLOATS, slope("features", attrs=ALPHAS)),
    "BiasAdd": (NUMBERS, bias_add(layouts=True)),
    "BiasAddV1": (NUMBERS, bias_add(layouts=False)),
    "BiasAddGrad": (NUMBERS, bias_add_grad),
}
