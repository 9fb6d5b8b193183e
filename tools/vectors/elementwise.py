"""Calls of the elementwise ops: arithmetic, comparisons, activations, casts and biases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from vectors.data import (
    ALL_BUT_RESOURCE,
    COMPLEX,
    FEW_BITS,
    FLOAT8,
    FLOATS,
    INTS,
    NUMBERS,
    NUMBERS_AND_BOOL,
    REALS,
    SMALL,
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
            if op == "Round" and dtype in INTS:
                note = ["whole numbers"]
            for shape in SHAPES:
                x = values(source.whole(shape, dtype))
                pole = op == "Log1p" and dtype in COMPLEX and -1 in x
                yield Call({arg: x}, each, ["complex -1"] if pole else note)
                if is_float(dtype) or dtype.startswith("complex"):
                    yield Call({arg: values(source.real(shape, dtype))}, each, note)
            for shape in EMPTY:
                yield Call({arg: source.whole(shape, dtype)}, each, [*note, "empty"])
            if dtype in INTS:
                yield Call({arg: extremes(source, dtype)}, each, [*note, "overflow"])
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


def two(
    *args: str, positive: bool = False, not_zero: bool = False, attrs: dict[str, Any] | None = None
) -> Calls:
    """Both inputs broadcast. With `positive` the second is above 0, with `not_zero` not 0 if whole."""
    first, second = args or ("x", "y")

    def calls(op: str, dtype: str) -> Iterator[Call]:
        source, how = Source(op, dtype), attrs or {}
        for a, b in PAIRS:
            tags = ["empty"] if 0 in a else []
            for shapes in ((a, b), (b, a)):
                x, y = (source.whole(shape, dtype) for shape in shapes)
                if positive:
                    y = np.abs(y) + numpy_dtype(dtype).type(1)
                elif not_zero and dtype in INTS:
                    y = np.where(y == 0, 3, y)
                by_zero = op in ("Div", "Xdivy") and dtype in COMPLEX and 0 in y
                note = ["complex numbers divided by 0"] if by_zero else []
                yield Call({first: x, second: y.astype(x.dtype)}, how, [*tags, *note])
            if is_float(dtype) or dtype.startswith("complex"):
                x, y = source.real(a, dtype), source.real(b, dtype)
                rounded = op == "TruncateDiv" and is_half(dtype)
                note = ["quotients of half types"] if rounded else []
                yield Call({first: x, second: y}, how, [*tags, *note])
        if dtype in INTS and not positive:
            x, y = extremes(source, dtype), extremes(source, dtype)
            if not_zero:  # nor -1: the smallest number divided by it has no room in the type
                y = np.where((y == 0) | (y == np.array(-1).astype(y.dtype)), 3, y).astype(y.dtype)
            yield Call({first: x, second: y}, how, ["overflow"])
        if is_float(dtype):
            for tag, special in SPECIAL.items():
                x, y = (source.sprinkled(source.whole((29,), dtype), 0.5, *special) for _ in "xy")
                yield Call({first: x, second: y}, how, [tag])

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


def powers(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for a, b in PAIRS:
        tags = ["empty"] if 0 in a else []
        x, y = source.whole(a, dtype), source.whole(b, dtype, 0, 4)
        yield Call({"x": x, "y": y}, {}, tags)
        if is_float(dtype) or dtype.startswith("complex"):
            x, y = np.abs(source.real(a, dtype)), source.real(b, dtype)
            yield Call({"x": x.astype(y.dtype), "y": y}, {}, tags)
    if dtype in INTS:
        yield Call(
            {"x": extremes(source, dtype), "y": source.whole((8,), dtype, 0, 9)}, {}, ["overflow"]
        )
    if is_float(dtype):
        for tag, special in SPECIAL.items():
            x, y = (source.sprinkled(source.whole((29,), dtype), 0.5, *special) for _ in "xy")
            yield Call({"x": x, "y": y}, {}, [tag])


def shifts(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for a, b in PAIRS:
        x, y = source.whole(a, dtype), source.whole(b, dtype, -2, 70)
        yield Call({"x": x, "y": y}, {}, ["empty"] if 0 in a else [])
    yield Call(
        {"x": extremes(source, dtype), "y": source.whole((8,), dtype, -1, 9)}, {}, ["overflow"]
    )


def same_shapes(first: str, second: str, **attrs: Any) -> Calls:
    """Two inputs of one shape."""

    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for shape in (*SHAPES, *EMPTY):
            tags = ["empty"] if 0 in shape else []
            inputs = {first: source.whole(shape, dtype), second: source.whole(shape, dtype)}
            by_zero = op == "SqrtGrad" and dtype in COMPLEX and 0 in inputs[first]
            note = ["complex numbers divided by 0"] if by_zero else []
            yield Call(inputs, attrs, [*tags, *note])
            if is_float(dtype) or dtype.startswith("complex"):
                inputs = {first: source.real(shape, dtype), second: source.real(shape, dtype)}
                yield Call(inputs, attrs, tags)
        if is_float(dtype):
            for tag, special in SPECIAL.items():
                x, y = (source.sprinkled(source.whole((19,), dtype), 0.4, *special) for _ in "xy")
                yield Call({first: x, second: y}, attrs, [tag])

    return calls


def incompatible(op: str, dtype: str) -> Iterator[Call]:
    yield from two()(op, dtype)
    source = Source(op, "shapes", dtype)
    for a, b in (((2,), (3,)), ((2, 3), (2,)), ((2, 1), (3,)), ((0,), (2,))):
        x, y = source.whole(a, dtype), source.whole(b, dtype)
        yield Call({"x": x, "y": y}, {"incompatible_shape_error": False}, [])


def specials(arg: str = "x", low: float = -5, high: float = 5) -> Calls:
    """Numbers all over the stretch where a function is not yet what it is at infinity."""

    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for shape in (*SHAPES, (200,)):
            x = low + (high - low) * source.rng.random(shape)
            yield Call({arg: np.asarray(x).astype(numpy_dtype(dtype))}, {}, [])
        yield Call({arg: source.real((0,), dtype)}, {}, ["empty"])
        for tag, special in SPECIAL.items():
            x = np.abs(source.sprinkled(source.real((19,), dtype), 0.4, *special)) / 16
            yield Call({arg: x.astype(numpy_dtype(dtype))}, {}, [tag])

    return calls


def pairs_of_numbers(first: str, second: str, whole: bool) -> Calls:
    """Arguments of polygamma (the first a whole number) and zeta (it is above 1)."""

    def calls(op: str, dtype: str) -> Iterator[Call]:
        source, kind = Source(op, dtype), numpy_dtype(dtype)
        for a, b in PAIRS:
            x = source.rng.integers(0, 5, a) if whole else 1.1 + 5 * source.rng.random(a)
            y = 0.1 + 20 * source.rng.random(b)
            inputs = {first: np.asarray(x).astype(kind), second: np.asarray(y).astype(kind)}
            yield Call(inputs, {}, ["empty"] if 0 in a else [])
        x = np.array([0, 1, 2, 3, 1.5, -1, np.nan, 2, 2, 2, 2]).astype(kind)
        y = np.array([1, 0.0, 0, -1, -0.5, 1, 1, np.nan, np.inf, -0.5, -1.25]).astype(kind)
        yield Call({first: x, second: y}, {}, ["nan", "inf"])

    return calls


def parts(arg: str) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        width = {"Tout": "float32" if dtype == "complex64" else "float64"}
        for shape in (*SHAPES, *EMPTY):
            for x in (source.whole(shape, dtype), source.real(shape, dtype)):
                yield Call({arg: x}, width, ["empty"] if 0 in shape else [])

    return calls


def complex_(op: str, dtype: str) -> Iterator[Call]:
    width = {"Tout": "complex64" if dtype == "float32" else "complex128"}
    for call in two("real", "imag")(op, dtype):
        yield Call(call.inputs, width, call.tags)


def clip(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in ((), (5,), (2, 3), (0, 2)):
        for low, high in (((), ()), (shape, ()), ((), shape), (shape, shape)):
            t, a, b = (source.whole(s, dtype) for s in (shape, low, high))
            inputs = {"t": t, "clip_value_min": a, "clip_value_max": b}
            yield Call(inputs, {}, ["empty"] if 0 in shape else [])
    if is_float(dtype):
        t = source.sprinkled(source.whole((19,), dtype), 0.4, np.nan, np.inf)
        for a, b in ((-1, 2), (np.nan, 1), (0, np.nan), (3, 1)):
            bounds = [np.array(n).astype(t.dtype) for n in (a, b)]
            inputs = {"t": t, "clip_value_min": bounds[0], "clip_value_max": bounds[1]}
            yield Call(inputs, {}, ["nan"])


def cross(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in ((3,), (2, 3), (2, 1, 3), (0, 3)):
        a, b = source.whole(shape, dtype), source.whole(shape, dtype)
        yield Call({"a": a, "b": b}, {}, ["empty"] if 0 in shape else [])


def add_n(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for count in (1, 2, 3, 9, 12):
        for shape in ((), (5,), (2, 3), (0, 2)):
            tags = ["empty"] if 0 in shape else []
            attrs = {"shape": list(shape)} if op == "AccumulateNV2" else {}
            inputs = [source.whole(shape, dtype) for _ in range(count)]
            yield Call({"inputs": inputs}, attrs, tags)
    if is_half(dtype) and op == "AddN":
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
    for target in NUMERIC:
        unsigned = target.startswith("u")
        more = [] if converts(dtype, target) else ["small types"]
        x = source.whole((2, 7), dtype, 0 if unsigned else -4, 8)
        yield Call({"x": x}, {"DstT": target}, more)
        yield Call({"x": x[:0]}, {"DstT": target}, ["empty", *more])
        if dtype not in (*INTS, *FEW_BITS, "bool"):
            x = np.abs(source.real((9,), dtype)) if unsigned else source.real((9,), dtype)
            yield Call({"x": x.astype(numpy_dtype(dtype))}, {"DstT": target}, more)
            if target in (*FLOATS, *FLOAT8) and (is_float(dtype) or dtype in FLOAT8):
                for tag, special in SPECIAL.items():
                    yield Call(
                        {"x": source.sprinkled(x, 0.4, *special).astype(numpy_dtype(dtype))},
                        {"DstT": target},
                        [tag, *more],
                    )
        if dtype in FLOATS and target in FLOAT8:
            x = np.array([239, 240, 241, 448, 464, 465, 61440, 61441, 1e-3, 2**-9, 2**-17], float)
            yield Call({"x": np.append(x, -x).astype(numpy_dtype(dtype))}, {"DstT": target}, more)
        if dtype in INTS and target in (*INTS, *FEW_BITS):
            yield Call({"x": extremes(source, dtype)}, {"DstT": target}, ["overflow", *more])


def converts(dtype: str, target: str) -> bool:
    """Whether TensorFlow converts one type to another: small ones to few others."""
    floats, integers = (*FLOATS, *FLOAT8[:2]), (*INTS, *FEW_BITS[:2])
    return (
        dtype == target
        or {dtype, target} <= set(NUMBERS_AND_BOOL)
        or (dtype in floats and target in floats)
        or (dtype in FLOAT8[:2] and target in NUMBERS_AND_BOOL)
        or (dtype in integers and target in integers)
    )


NUMERIC = (*NUMBERS_AND_BOOL, *SMALL)


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
DIFFERENTIABLE = (*FLOATS, *COMPLEX)
TABLE = {
    **{op: (NUMBERS, two()) for op in ("Add", "AddV2", "Sub", "Mul", "SquaredDifference")},
    "RealDiv": (DIFFERENTIABLE, two(positive=True)),
    "Div": (NUMBERS, two(not_zero=True)),
    **{op: (DIFFERENTIABLE, two()) for op in ("DivNoNan", "MulNoNan", "Xdivy", "Xlogy", "Xlog1py")},
    **{
        op: (REALS, two(not_zero=True))
        for op in ("FloorDiv", "TruncateDiv", "Mod", "TruncateMod", "FloorMod")
    },
    **{
        op: (REALS, two())
        for op in ("Less", "LessEqual", "Greater", "GreaterEqual", "Maximum", "Minimum")
    },
    **dict.fromkeys(("Equal", "NotEqual"), (ALL_BUT_RESOURCE, incompatible)),
    "ApproximateEqual": (NUMBERS, same_shapes("x", "y", tolerance=1.5)),
    **{op: (("bool",), two()) for op in ("LogicalAnd", "LogicalOr")},
    "LogicalNot": (("bool",), one("x")),
    **{op: (INTS, two()) for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    **dict.fromkeys(("LeftShift", "RightShift"), (INTS, shifts)),
    **{op: (INTS, one("x")) for op in ("Invert", "PopulationCount")},
    "Pow": (WITH_SIGN, powers),
    "NextAfter": (("float32", "float64"), two("x1", "x2")),
    "Atan2": (FLOATS, two("y", "x")),
    "Neg": (WITH_SIGN, one("x")),
    "Square": (NUMBERS, one("x")),
    "Sign": ((*FLOATS, *SIGNED, *COMPLEX), one("x")),
    "Abs": ((*FLOATS, *SIGNED), one("x")),
    "Round": ((*FLOATS, *SIGNED), one("x")),
    **{op: (DIFFERENTIABLE, one("x", positive=True)) for op in ("Sqrt", "Rsqrt", "Log")},
    **{
        op: (DIFFERENTIABLE, one("x"))
        for op in (
            *("Exp", "Expm1", "Tanh", "Sigmoid", "Reciprocal", "Inv", "Log1p"),
            *(
                "Sin",
                "Cos",
                "Tan",
                "Asin",
                "Acos",
                "Atan",
                "Sinh",
                "Cosh",
                "Asinh",
                "Acosh",
                "Atanh",
            ),
        )
    },
    **{op: (FLOATS, one("x")) for op in ("Floor", "Ceil", "Rint", "IsNan", "IsInf", "IsFinite")},
    **{
        op: (DIFFERENTIABLE, same_shapes("y", "dy"))
        for op in ("ReciprocalGrad", "InvGrad", "SqrtGrad", "RsqrtGrad", "SigmoidGrad", "TanhGrad")
    },
    **{op: (FLOATS, specials()) for op in ("Erf", "Erfc")},
    "Erfinv": (FLOATS, specials(low=-1, high=1)),
    "Ndtri": (FLOATS, specials(low=0, high=1)),
    **{op: (FLOATS, specials(low=-3, high=40)) for op in ("Lgamma", "Digamma")},
    "Polygamma": (FLOATS, pairs_of_numbers("a", "x", whole=True)),
    "Zeta": (FLOATS, pairs_of_numbers("x", "q", whole=False)),
    "Conj": (COMPLEX, one("input")),
    **{op: (COMPLEX, parts("input")) for op in ("Real", "Imag", "Angle")},
    "ComplexAbs": (COMPLEX, parts("x")),
    "Complex": (("float32", "float64"), complex_),
    "ClipByValue": (REALS, clip),
    "Cross": (REALS, cross),
    "AccumulateNV2": (NUMBERS, add_n),
    "AddN": (NUMBERS, add_n),
    "SelectV2": (ALL_BUT_RESOURCE, select),
    "Cast": (NUMERIC, cast),
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
