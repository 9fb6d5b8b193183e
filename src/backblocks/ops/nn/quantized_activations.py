"""Activations of quantized tensors, on their codes: the range stays as it is."""

from typing import Any

import numpy as np

from backblocks.errors import OpError
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import op
from backblocks.ops._spec import Shape, Spec, scalar_value
from backblocks.ops.nn._quantization import (
    CODES,
    INTEGERS_ONLY,
    CodeType,
    check_range,
    quantized,
    recoded,
)

_OUTPUTS = "activations: out_type, min_activations: float32, max_activations: float32"


_ENDS = ("min_features", "max_features")


def _cells_of(features: Spec, *more: str) -> list[AccessMap]:
    """A code from the one before it and the range, in which the bounds have their codes."""
    loops, at = over(features.sizes)
    taken = {"features": Cells(at)} | {pin: Cells(()) for pin in (*more, *_ENDS)}
    return [
        AccessMap("apply", tuple(taken), loops, taken | {"activations": Cells(at)}),
        *(
            AccessMap("copy", (end,), {}, {end: Cells(()), end[:4] + "activations": Cells(())})
            for end in _ENDS
        ),
    ]


def _range_of(
    features: Spec, min_features: Spec, max_features: Spec, **attrs: Any
) -> tuple[Shape, ...]:
    check_range("min_features", min_features, "max_features", max_features)
    return features.shape, (), ()


@op("QuantizedRelu", f"Tinput, float32, float32 -> {_OUTPUTS}", Tinput=CODES)
def quantized_relu(
    features: Array, min_features: Array, max_features: Array, *, out_type: CodeType = "quint8"
) -> tuple[Array, Array, Array]:
    """Codes below that of 0 become the code of 0.

    activations = max(features, code(0))
    min_activations = min_features
    max_activations = max_features
    where code(x) = round(x · s) - round(min_features · s) + lowest, kept among the codes of the type
    where s = (highest - lowest) / (max_features - min_features), by the lowest and highest code
    with out_type of another type the same numbers are coded in it

    The range is handed on as it came. If 0 lies outside of it, the end next to 0 stands for 0.
    """
    zero = quantized(0, min_features, max_features, features.dtype)
    codes = np.maximum(features, zero)
    codes = recoded(codes, min_features, max_features, out_type)
    return codes, min_features.copy(), max_features.copy()


quantized_relu.shape(_range_of)


@quantized_relu.cells
def _(y: Any, features: Spec, *ends: Spec, **attrs: Any) -> list[AccessMap]:
    return _cells_of(features)


@op("QuantizedRelu6", f"Tinput, float32, float32 -> {_OUTPUTS}", Tinput=CODES)
def quantized_relu6(
    features: Array, min_features: Array, max_features: Array, *, out_type: CodeType = "quint8"
) -> tuple[Array, Array, Array]:
    """Codes below that of 0 become the code of 0, those above that of 6 the code of 6.

    activations = min(max(features, code(0)), code(6))
    min_activations = min_features
    max_activations = max_features
    where code(x) = round(x · s) - round(min_features · s) + lowest, kept among the codes of the type
    where s = (highest - lowest) / (max_features - min_features), by the lowest and highest code
    with out_type of another type the same numbers are coded in it

    The range is handed on as it came. A bound outside of it is replaced by the end next to it.
    """
    return _between(features, 6, min_features, max_features, out_type)


quantized_relu6.shape(_range_of)


@quantized_relu6.cells
def _(y: Any, features: Spec, *ends: Spec, **attrs: Any) -> list[AccessMap]:
    return _cells_of(features)


@op("QuantizedReluX", f"Tinput, float32, float32, float32 -> {_OUTPUTS}", Tinput=CODES)
def quantized_relu_x(
    features: Array,
    max_value: Array,
    min_features: Array,
    max_features: Array,
    *,
    out_type: CodeType = "quint8",
) -> tuple[Array, Array, Array]:
    """Codes below that of 0 become the code of 0, those above that of `max_value` its code.

    activations = min(max(features, code(0)), code(max_value))
    min_activations = min_features
    max_activations = max_features
    where code(x) = round(x · s) - round(min_features · s) + lowest, kept among the codes of the type
    where s = (highest - lowest) / (max_features - min_features), by the lowest and highest code
    with out_type of another type the same numbers are coded in it

    The range is handed on as it came. A bound outside of it is replaced by the end next to it.
    """
    return _between(features, max_value, min_features, max_features, out_type)


@quantized_relu_x.shape
def _(features: Spec, max_value: Spec, *min_max: Spec, **attrs: Any) -> tuple[Shape, ...]:
    bound = scalar_value("max_value", max_value)
    if bound is not None and not np.isfinite(bound):
        raise OpError(
            "must be finite", arg="max_value", got=bound, hint="Use QuantizedRelu for no bound."
        )
    return _range_of(features, *min_max)


@quantized_relu_x.cells
def _(y: Any, features: Spec, *others: Spec, **attrs: Any) -> list[AccessMap]:
    return _cells_of(features, "max_value")


def _between(
    features: Array, top: Any, low: Array, high: Array, out_type: Any
) -> tuple[Array, Array, Array]:
    zero, last = (quantized(x, low, high, features.dtype) for x in (0, top))
    codes = np.minimum(np.maximum(features, zero), last)
    return recoded(codes, low, high, out_type), low.copy(), high.copy()


# -- cases: from -5 to 250 in steps of 1, or from -8 to 247 as signed codes -------------------------

_bytes: dict[str, Any] = {
    "features": np.array([0, 4, 5, 6, 11, 12, 255], np.uint8),
    "min_features": np.float32(-5),
    "max_features": np.float32(250),
}
_signed: dict[str, Any] = {
    "features": np.array([[-128, -120, -113, 127]], np.int8),
    "min_features": np.float32(-8),
    "max_features": np.float32(247),
    "out_type": "qint8",
}
_above = {"min_features": np.float32(1), "max_features": np.float32(2)}
_below = {"min_features": np.float32(-2), "max_features": np.float32(-1)}
_point = {"min_features": np.float32(3), "max_features": np.float32(3)}

quantized_relu.case("0 has code 5", **_bytes, out=(np.array([5, 5, 5, 6, 11, 12, 255]), -5, 250))
quantized_relu.case("signed codes", **_signed, out=(np.array([[-120, -120, -113, 127]]), -8, 247))
quantized_relu.case("all above 0", **_bytes | _above, out=(_bytes["features"], 1, 2))
quantized_relu.case("all below 0", **_bytes | _below, out=(np.full(7, 255), -2, -1))
quantized_relu.case("a range of one number", **_bytes | _point, out=(_bytes["features"], 3, 3))
quantized_relu.case(
    "in another type of the same range",
    **_signed | {"out_type": "quint8"},
    out=(np.array([[8, 8, 15, 255]]), -8, 247),
)
quantized_relu6.case("6 has code 11", **_bytes, out=(np.array([5, 5, 5, 6, 11, 11, 11]), -5, 250))
quantized_relu6.case("signed codes", **_signed, out=(np.array([[-120, -120, -114, -114]]), -8, 247))
quantized_relu6.case("6 is beyond the range", **_bytes | _above, out=(_bytes["features"], 1, 2))
quantized_relu6.case("a range of one number", **_bytes | _point, out=(np.zeros(7), 3, 3))
quantized_relu_x.case(
    "1 has code 6",
    **_bytes,
    max_value=np.float32(1),
    out=(np.array([5, 5, 5, 6, 6, 6, 6]), -5, 250),
)
quantized_relu_x.case(
    "7 has code -113",
    **_signed,
    max_value=np.float32(7),
    out=(np.array([[-120, -120, -113, -113]]), -8, 247),
)

for _each in (quantized_relu, quantized_relu6, quantized_relu_x):
    _each.no_gradient(INTEGERS_ONLY)
    _bad: dict[str, Any] = _bytes | (
        {"max_value": np.float32(6)} if _each is quantized_relu_x else {}
    )
    _each.case(
        "empty features keep their range",
        **_bad | {"features": np.zeros((0, 2), np.uint8)},
        out=(np.zeros((0, 2)), -5, 250),
    )
    _each.fails("an empty range", **_bad | {"min_features": np.zeros(0, "f4")}, error="a scalar")
    _each.fails(
        "a range upside down",
        **_bad | {"max_features": np.float32(-6)},
        error="not be below min_features",
    )
    _each.fails(
        "a range without an end", **_bad | {"max_features": np.float32(np.inf)}, error="finite"
    )
    _each.fails(
        "a range wider than float32",
        **_bad | {"min_features": np.float32(-3e38), "max_features": np.float32(3e38)},
        error="too far",
    )
    _each.fails(
        "a range narrower than float32",
        **_bad | {"min_features": np.float32(0), "max_features": np.float32(1e-40)},
        error="at least 1e-28",
    )
    _each.differs(
        "ranges",
        tensorflow="Accepts any range: upside down, infinite, NaN, or too narrow for float32.",
        ours="Refuses those.",
    )
for _each in (quantized_relu, quantized_relu6):
    _each.fails(
        "CVE-2022-35979: a range of vectors",
        **_bytes | {"max_features": np.ones(2, "f4")},
        error="a scalar",
    )
    _each.differs(
        "types",
        tensorflow="Has kernels for quint8 to quint8 and qint32 to qint32 only.",
        ours="Takes every quantized type, and gives any: the same numbers in the same range.",
    )
quantized_relu_x.fails("no bound", **_bytes, max_value=np.float32(np.inf), error="must be finite")
quantized_relu_x.differs(
    "kernels",
    tensorflow="Has none on the CPU.",
    ours="QuantizedRelu6's rule, with max_value for 6.",
)
