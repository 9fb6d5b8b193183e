"""Convolution of quantized images, and what follows it: adding a bias, and normalizing.

The results are codes of 32 bits in a range far wider than the values, so that sums have room.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from backblocks.dtypes import DType
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, Coordinate, loop, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import op
from backblocks.ops._spec import Shape, Spec, agreed, ranked, shape_text
from backblocks.ops.attrs import Dilations, Flag, Float, SamePadding, Strides
from backblocks.ops.nn._convolution import conv_access, convolved
from backblocks.ops.nn._quantization import (
    CODES,
    INTEGERS_ONLY,
    CodeType,
    check_range,
    dequantized,
    limits,
    narrowed,
    nearest,
    quantized,
    step,
    unclamped,
)
from backblocks.ops.nn._windows import PLAIN
from backblocks.ops.nn.conv import convolve

_INT32 = np.dtype(np.int32)


# -- convolution ---------------------------------------------------------------------------------


@op(
    "QuantizedConv2D",
    "Tinput, Tfilter, float32, float32, float32, float32"
    " -> output: out_type, min_output: float32, max_output: float32",
    Tinput=CODES,
    Tfilter=CODES,
)
def quantized_conv_2d(
    input: Array,
    filter: Array,
    min_input: Array,
    max_input: Array,
    min_filter: Array,
    max_filter: Array,
    *,
    strides: Strides,
    padding: SamePadding,
    out_type: CodeType = "qint32",
    dilations: Dilations = (1, 1, 1, 1),
) -> tuple[Array, Any, Any]:
    """Slides a quantized filter over a quantized image and sums the products.

    output[n, o, k] = Σ over j, c of (input[n, i, c] - a) · (filter[j, c, k] - b)
    min_output = -max_output
    max_output = 2^31 · step(input) · step(filter)
    where i = o·strides - p + j·dilations along height and width, with p as in Conv2D
    where a and b are the codes of 0, and step is (max - min) / (highest code - lowest code)
    with out_type of fewer bits they are coded anew, in the range that they and 0 need

    Codes are counted from the code of 0, so padding adds nothing. `filter` is (height, width, in
    channels, out channels). Sums wrap around in 32 bits. An `out_type` of fewer bits gets the range
    that its values need.
    """
    x = input.astype(np.int64) - _zero(min_input, max_input, input)
    f = filter.astype(np.int64) - _zero(min_filter, max_filter, filter)
    y = convolve(x, f, strides=strides, padding=padding, dilations=dilations, **PLAIN)
    each = step(min_input, max_input, input.dtype) * step(min_filter, max_filter, filter.dtype)
    return narrowed(y.astype(_INT32), each * np.float32(2**31), out_type)


def _zero(low: Array, high: Array, codes: Array) -> int:
    """The code of 0, even where 0 lies outside the range and no code of the type stands for it."""
    return int(unclamped(0, low, high, codes.dtype))


@quantized_conv_2d.shape
def _(
    input: Spec,
    filter: Spec,
    min_input: Spec,
    max_input: Spec,
    min_filter: Spec,
    max_filter: Spec,
    *,
    out_type: Any,
    **windows: Any,
) -> tuple[Shape, ...]:
    check_range("min_input", min_input, "max_input", max_input)
    check_range("min_filter", min_filter, "max_filter", max_filter)
    return convolved("input", input, "filter", filter, **windows, **PLAIN), (), ()


@quantized_conv_2d.cells
def _(
    y: Any, input: Spec, filter: Spec, *ranges: Spec, out_type: DType, **windows: Any
) -> list[AccessMap]:
    """The ends of the result's range follow from those given; of fewer bits than 32, from all values."""
    x, f = ("input", input), ("filter", filter)
    (access,) = conv_access(x, f, "output", ("input", "filter"), **windows, **PLAIN)
    codes = {pin: (f"min_{pin}", f"max_{pin}") for pin in ("input", "filter", "output")}
    ends = {end: Cells(()) for pin in access.of for end in codes[pin]}
    taken = ends if out_type == _INT32 else {pin: access.cells[pin] for pin in access.of} | ends
    loops = {} if out_type == _INT32 else access.loops
    return [
        replace(access, cells={**access.cells, **ends}, codes=codes),
        *(
            AccessMap("apply", tuple(taken), loops, taken | {end: Cells(())})
            for end in codes["output"]
        ),
    ]


# -- bias ----------------------------------------------------------------------------------------


@op(
    "QuantizedBiasAdd",
    "T1, T2, float32, float32, float32, float32"
    " -> output: out_type, min_out: float32, max_out: float32",
    T1=CODES,
    T2=CODES,
)
def quantized_bias_add(
    input: Array,
    bias: Array,
    min_input: Array,
    max_input: Array,
    min_bias: Array,
    max_bias: Array,
    *,
    out_type: CodeType,
) -> tuple[Array, Any, Any]:
    """Adds a bias to each channel, the last dimension, of a quantized tensor.

    output[…, c] = code(real(input[…, c]) + real(bias[c]))
    min_out = -max_out
    max_out = 2^17 · max(|min_input|, |max_input|, |min_bias|, |max_bias|)
    where real(q) is the number that code q stands for, and code(x) the code nearest to x
    with out_type of fewer bits they are coded anew, in the range that they and 0 need

    The range of the result is 2**17 times the largest end of both ranges, on either side of 0. An
    `out_type` of fewer bits gets the range that its values need. Rounding may put the result too low,
    by up to 1/64 of that largest end: it is TensorFlow's, to the last bit.
    """
    ends: Any = min_input, max_input, min_bias, max_bias
    high = max(map(abs, ends)) * np.float32(2**17)
    codes = quantized(0, -high, high, _INT32).astype(np.int64)
    if high:
        codes = codes + _widened(input, min_input, max_input, high)
        codes = codes + _widened(bias, min_bias, max_bias, high)
    codes = np.broadcast_to(codes, input.shape).astype(_INT32)
    return narrowed(codes, high, out_type)


def _widened(codes: Array, low: Array, high: Array, end: Any) -> Array:
    """The same numbers as codes of 32 bits, counted from 0, in the range from -end to end.

    Like `dequantized` and `quantized`, but in float32 throughout. There 2**31 is so coarse that the low
    end may miss its code by 128, and all others with it.
    """
    each = step(low, high, codes.dtype)
    start = low if low == high else nearest(low / each) * each
    x = np.float32(start - limits(codes.dtype)[0] * each) + codes.astype(np.float32) * each
    scale = np.float32((2**32 - 1) / float(2 * end))
    missed = nearest(-end * scale) + np.float32(2**31)
    return np.asarray(nearest(x * scale) - missed).astype(np.int64)


@quantized_bias_add.shape
def _(
    input: Spec,
    bias: Spec,
    min_input: Spec,
    max_input: Spec,
    min_bias: Spec,
    max_bias: Spec,
    *,
    out_type: Any,
) -> tuple[Shape, ...]:
    check_range("min_input", min_input, "max_input", max_input)
    check_range("min_bias", min_bias, "max_bias", max_bias)
    ends = {
        "min_input": min_input,
        "max_input": max_input,
        "min_bias": min_bias,
        "max_bias": max_bias,
    }
    for arg, end in ends.items():
        if end.value is not None and end.value and not 1e-30 < abs(end.value) < 1e30:
            raise OpError(
                "must be 0, or between 1e-30 and 1e30 in size",
                arg=arg,
                got=end.value.item(),
                hint="Scale the values, or use 0 for what is smaller.",
            )
    (channels,) = ranked("bias", bias, 1)
    if input.shape is None:
        return None, (), ()
    if len(input.shape) < 2:
        raise OpError(
            "must have at least 2 dimensions (batch, channels)",
            arg="input",
            got=described(f"shape {shape_text(input.shape)}"),
            hint="Make it a batch of one: x[None].",
        )
    hint = "Transpose input if its channels are not last."
    agreed("bias", bias, input.shape[-1:], "one entry for each channel of input", hint)
    return (*input.shape[:-1], channels if input.shape[-1] is None else input.shape[-1]), (), ()


@quantized_bias_add.cells
def _(y: Any, input: Spec, bias: Spec, *ranges: Spec, out_type: DType) -> list[AccessMap]:
    """Codes of fewer bits than 32 rest on all numbers, as the range does that these need."""
    loops, at = over(input.sizes)
    ends = {f"{end}_{pin}": Cells(()) for pin in ("input", "bias") for end in ("min", "max")}
    taken = {"input": Cells(at), "bias": Cells(at[-1:])} | ends
    others = {f"other {name}": size for name, size in loops.items()}

    def applied(
        taken: dict[str, Cells], loops: dict[str, int], y: str, *at: Coordinate
    ) -> AccessMap:
        return AccessMap("apply", tuple(taken), loops, taken | {y: Cells(at)})

    if out_type == _INT32:
        access = applied(taken, loops, "output", *at)
        return [access, *(applied(ends, {}, end) for end in ("min_out", "max_out"))]
    access = applied(taken, loops | others, "output", *map(loop, others))
    return [access, *(applied(taken, loops, end) for end in ("min_out", "max_out"))]


# -- normalization -------------------------------------------------------------------------------


@op(
    "QuantizedBatchNormWithGlobalNormalization",
    ", ".join(["Tinput, float32, float32"] * 5)
    + " -> result: out_type, result_min: float32, result_max: float32",
    Tinput=CODES,
)
def quantized_batch_norm_with_global_normalization(
    t: Array,
    t_min: Array,
    t_max: Array,
    m: Array,
    m_min: Array,
    m_max: Array,
    v: Array,
    v_min: Array,
    v_max: Array,
    beta: Array,
    beta_min: Array,
    beta_max: Array,
    gamma: Array,
    gamma_min: Array,
    gamma_max: Array,
    *,
    out_type: CodeType,
    variance_epsilon: Float,
    scale_after_normalization: Flag,
) -> tuple[Array, Any, Any]:
    """Normalizes a quantized image by the mean `m` and variance `v` of each channel, and adds `beta`.

    result[…, c] = code(real(t[…, c]) · scale[c] + real(beta[c]) - real(m[c]) · scale[c])
    result_min = -2^20
    result_max = 2^20
    where scale[c] = real(gamma[c]) / √(real(v[c]) + variance_epsilon)
    where each factor and what is added are first rounded to codes of result
    with scale_after_normalization=False gamma counts as 1
    where real(q) is the number that code q stands for, and code(x) the code nearest to x
    with out_type of fewer bits they are coded anew, in the range that they and 0 need

    With `scale_after_normalization` it is multiplied by `gamma` before `beta` is added. The result has
    the range -2**20 to 2**20, in which a step is about 1/2048; an `out_type` of fewer bits gets the
    range that its values need.
    """
    low, high = np.float32(-(2**20)), np.float32(2**20)
    scale = np.float32(1) / np.sqrt(dequantized(v, v_min, v_max) + np.float32(variance_epsilon))
    if scale_after_normalization:
        scale = scale * dequantized(gamma, gamma_min, gamma_max)
    offset = dequantized(beta, beta_min, beta_max) - dequantized(m, m_min, m_max) * scale
    x, factor, shift, one = (
        quantized(real, low, high, _INT32).astype(np.int64)
        for real in (dequantized(t, t_min, t_max), scale, offset, 1)
    )
    product = x * factor
    # NumPy's // cuts toward minus infinity, TensorFlow cuts toward zero.
    codes = np.sign(product) * (np.abs(product) // one) + shift
    return narrowed(np.clip(codes, *limits(_INT32)).astype(_INT32), high, out_type)


@quantized_batch_norm_with_global_normalization.shape
def _(t: Spec, t_min: Spec, t_max: Spec, *rest: Spec, **attrs: Any) -> tuple[Shape, ...]:
    check_range("t_min", t_min, "t_max", t_max)
    *sizes, channels = ranked("t", t, 4, "batch, height, width, channels")
    for i, arg in enumerate(("m", "v", "beta", "gamma")):
        each, low, high = rest[3 * i : 3 * i + 3]
        check_range(f"{arg}_min", low, f"{arg}_max", high)
        why, hint = "one entry for each channel", "Transpose t if its channels are not last."
        (channels,) = agreed(arg, each, (channels,), why, hint) or (channels,)
    _check_variance(attrs["variance_epsilon"], *rest[3:6])
    return (*sizes, channels), (), ()


def _check_variance(epsilon: float, v: Spec, low: Spec, high: Spec) -> None:
    if v.value is None or low.value is None or high.value is None:
        return
    with np.errstate(over="ignore"):  # an epsilon beyond float32 is infinite there
        variance = dequantized(v.value, low.value, high.value) + np.float32(epsilon)
    if not (variance > 0).all():
        raise OpError(
            "the variance plus variance_epsilon must be above 0",
            arg="v",
            got=float(variance[~(variance > 0)][0]),
            hint="Use a larger variance_epsilon.",
        )


# -- cases: most ranges are -128 to 127, in which the codes of 8 bits are 1 apart -----------------------


def _row(*values: int) -> Array:
    return np.array(values).reshape(1, 1, -1, 1)


def _ends(*names: str) -> dict[str, Any]:
    """The range from -128 to 127 for each of the tensors."""
    ends = {"min": np.float32(-128), "max": np.float32(127)}
    return {name: ends["min" if "min" in name else "max"] for name in names}


_conv: dict[str, Any] = {
    "input": _row(1, 4, 9, 16).astype(np.int8),
    "filter": np.array([127, 129], np.uint8).reshape(1, 2, 1, 1),
    **_ends("min_input", "max_input", "min_filter", "max_filter"),
    "strides": (1, 1, 1, 1),
    "padding": "VALID",
}
_bias: dict[str, Any] = {
    "input": np.array([[0, 40], [1, 0]], np.int8),
    "bias": np.array([128, 139], np.uint8),
    **_ends("min_input", "max_input", "min_bias", "max_bias"),
    "out_type": "qint32",
}
_norm: dict[str, Any] = {
    "t": np.array([3, 5], np.int8).reshape(1, 1, 1, 2),
    "m": np.array([1, 1], np.int8),
    "v": np.array([4, 4], np.int8),
    "beta": np.array([10, 0], np.int8),
    "gamma": np.array([2, 4], np.int8),
    **_ends(*(f"{x}_{end}" for x in ("t", "m", "v", "beta", "gamma") for end in ("min", "max"))),
    "out_type": "qint32",
    "variance_epsilon": 0.0,
    "scale_after_normalization": True,
}
_room = float(2**31)
_zeros = dict.fromkeys(("min_input", "max_input", "min_bias", "max_bias"), np.float32(0))

_codes_of_bias = np.array([[0, 6528], [128, 1408]])

quantized_conv_2d.case("a difference of neighbours", **_conv, out=(_row(3, 5, 7), -_room, _room))
quantized_conv_2d.case(
    "every other cell", **_conv, dilations=(1, 1, 2, 1), out=(_row(8, 12), -_room, _room)
)
quantized_conv_2d.case(
    "padding stands for 0",
    **_conv | {"padding": "SAME", "min_input": np.float32(-120), "max_input": np.float32(135)},
    out=(_row(3, 5, 7, -24), -_room, _room),
)
quantized_conv_2d.case(
    "padding stands for 0 even where no code does",
    **_conv | {"padding": "SAME", "min_input": np.float32(-512), "max_input": np.float32(-257)},
    out=(_row(3, 5, 7, 368), -_room, _room),
)
quantized_conv_2d.case(
    "a range of one number counts codes from the lowest",
    **_conv | {"min_filter": np.float32(3), "max_filter": np.float32(3)},
    out=(_row(643, 1669, 3207), 0, 0),
)
quantized_conv_2d.case(
    "8 bits get the range they need",
    **_conv | {"input": _row(0, 51, 52).astype(np.int8), "out_type": "quint8"},
    out=(_row(255, 5), 0, 51),
)
quantized_conv_2d.case(
    "an empty batch",
    **_conv | {"input": np.zeros((0, 1, 4, 1), np.int8)},
    out=(np.zeros((0, 1, 3, 1)), -_room, _room),
)
quantized_conv_2d.fails(
    "CVE-2021-29527: a filter of no size",
    **_conv | {"filter": np.zeros((0, 2, 1, 1), np.uint8)},
    error="no empty axis",
)
quantized_conv_2d.fails(
    "CVE-2022-29201: empty ranges", **_conv | {"min_filter": np.zeros(0, "f4")}, error="a scalar"
)
quantized_conv_2d.fails(
    "a range upside down",
    **_conv | {"max_filter": np.float32(-129)},
    error="not be below min_filter",
)
quantized_conv_2d.fails(
    "a range of no number", **_conv | {"max_input": np.float32(np.nan)}, error="finite"
)
quantized_conv_2d.fails(
    "no rank 4", **_conv | {"input": np.zeros((1, 4, 1), np.int8)}, error="4 dimensions"
)
quantized_conv_2d.fails(
    "channels that do not meet",
    **_conv | {"filter": np.zeros((1, 2, 2, 1), np.uint8)},
    error="divide the 1",
)
quantized_conv_2d.fails(
    "a stride over channels", **_conv | {"strides": (1, 1, 1, 2)}, error="1 for batch and channels"
)
quantized_conv_2d.differs(
    "types",
    tensorflow="Has a kernel for quint8 and quint8 to qint32. For a qint8 filter it returns empty tensors.",
    ours="Takes every quantized type. A narrower out_type gets the range that its values need.",
)
quantized_conv_2d.differs(
    "strides, dilations and groups",
    at="dilated",
    tensorflow="Wants equal strides, and has neither dilations nor groups.",
    ours="Has all of them, as in Conv2D.",
)
quantized_conv_2d.differs(
    "unused cells and stride > window",
    at="apart",
    tensorflow="Padding becomes negative and shifts every window.",
    ours="As in Conv2D, padding is never negative.",
    agree="Use strides no larger than the filter, with at most 2 cells unused.",
)
quantized_conv_2d.differs(
    "padding of an image below 0",
    at="below 0",
    tensorflow="When max_input is so low that 0 has no code, padding wraps around and adds to the sums.",
    ours="Padding adds nothing.",
    agree="Use a range that has 0 in it.",
)
quantized_conv_2d.differs(
    "empty",
    tensorflow="Refuses an empty batch, and the process ends when the result is empty.",
    ours="Empty gives empty.",
)

quantized_bias_add.case("one entry a channel", **_bias, out=(_codes_of_bias, -(2.0**24), 2.0**24))
quantized_bias_add.case(
    "8 bits get the range they need",
    **_bias | {"out_type": "quint8"},
    out=(np.array([[0, 255], [5, 55]]), 0, 51),
)
quantized_bias_add.case(
    "a range of nothing but 0", **_bias | _zeros, out=(np.full((2, 2), -(2**31)), 0, 0)
)
quantized_bias_add.case(
    "an empty batch",
    **_bias | {"input": np.zeros((0, 3, 2), np.int8)},
    out=(np.zeros((0, 3, 2)), -(2.0**24), 2.0**24),
)
quantized_bias_add.fails(
    "an empty bias",
    **_bias | {"bias": np.zeros(0, np.uint8)},
    error="one entry for each channel",
)
quantized_bias_add.fails(
    "CVE-2022-35972: an empty range", **_bias | {"min_bias": np.zeros(0, "f4")}, error="a scalar"
)
quantized_bias_add.fails(
    "a range upside down", **_bias | {"max_bias": np.float32(-129)}, error="not be below min_bias"
)
quantized_bias_add.fails(
    "too large to be summed", **_bias | {"max_input": np.float32(1e38)}, error="1e30"
)
quantized_bias_add.fails(
    "too small to be told from 0", **_bias | {"max_input": np.float32(1e-40)}, error="1e-30"
)
quantized_bias_add.fails(
    "no channels", **_bias | {"input": np.zeros(2, np.int8)}, error="at least 2 dimensions"
)
quantized_bias_add.fails(
    "a bias of rank 2", **_bias | {"bias": np.zeros((1, 2), np.uint8)}, error="1 dimension"
)
quantized_bias_add.differs(
    "types",
    tensorflow="Has kernels for two quint8 or two qint8 to qint32 only.",
    ours="Takes every quantized type. A narrower out_type gets the range that its values need.",
)

quantized_bias_add.differs(
    "very large and very small ends",
    tensorflow="Accepts an end of any size, though the sum's range may not fit in float32.",
    ours="Refuses ends above 1e30, and below 1e-30 but for 0.",
)

quantized_batch_norm_with_global_normalization.case(
    "scaled", **_norm, out=(2048 * np.array([12, 8]).reshape(1, 1, 1, 2), -(2.0**20), 2.0**20)
)
quantized_batch_norm_with_global_normalization.case(
    "not scaled",
    **_norm | {"scale_after_normalization": False},
    out=(2048 * np.array([11, 2]).reshape(1, 1, 1, 2), -(2.0**20), 2.0**20),
)
quantized_batch_norm_with_global_normalization.case(
    "large products do not wrap around",
    **_norm
    | {
        "t": np.array([127, 101], np.int8).reshape(1, 1, 1, 2),
        "gamma": np.array([100, 100], np.int8),
    },
    out=(2048 * np.array([6310, 5000]).reshape(1, 1, 1, 2), -(2.0**20), 2.0**20),
)
quantized_batch_norm_with_global_normalization.case(
    "8 bits get the range they need",
    **_norm
    | {
        "t": np.array([33, 1], np.int8).reshape(1, 1, 1, 2),
        "beta": np.array([19, 1], np.int8),
        "out_type": "quint8",
    },
    out=(np.array([255, 5]).reshape(1, 1, 1, 2), 0, 51),
)
quantized_batch_norm_with_global_normalization.case(
    "an empty batch",
    **_norm | {"t": np.zeros((0, 1, 1, 2), np.int8)},
    out=(np.zeros((0, 1, 1, 2)), -(2.0**20), 2.0**20),
)
quantized_batch_norm_with_global_normalization.fails(
    "CVE-2021-29547: an empty range", **_norm | {"t_min": np.zeros(0, "f4")}, error="a scalar"
)
quantized_batch_norm_with_global_normalization.fails(
    "no variance", **_norm | {"v": np.zeros(2, np.int8)}, error="above 0"
)
quantized_batch_norm_with_global_normalization.fails(
    "a mean too many", **_norm | {"m": np.zeros(3, np.int8)}, error="one entry for each channel"
)
quantized_batch_norm_with_global_normalization.fails(
    "a range upside down", **_norm | {"gamma_max": np.float32(-129)}, error="not be below gamma_min"
)
quantized_batch_norm_with_global_normalization.fails(
    "no rank 4", **_norm | {"t": np.zeros((1, 2), np.int8)}, error="4 dimensions"
)
quantized_batch_norm_with_global_normalization.fails(
    "another type", **_norm | {"v": np.ones(2, np.uint8)}, error="dtype of the other"
)
quantized_batch_norm_with_global_normalization.differs(
    "types",
    tensorflow="Has a kernel for quint8 to qint32 only.",
    ours="Takes every quantized type. A narrower out_type gets the range that its values need.",
)
quantized_batch_norm_with_global_normalization.differs(
    "large products",
    tensorflow="Wraps around without a word once a value times its scale reaches 512.",
    ours="Does not wrap around; beyond the range it is an end of it.",
    agree="Keep values times scales below 512.",
)
quantized_batch_norm_with_global_normalization.differs(
    "a variance of 0 or less",
    tensorflow="Gives codes that mean nothing.",
    ours="Refuses it.",
)
quantized_batch_norm_with_global_normalization.differs(
    "one channel", tensorflow="Refuses it.", ours="Normalizes it like any other."
)
quantized_batch_norm_with_global_normalization.differs(
    "shape of ranges",
    tensorflow="Any shape with one element.",
    ours="Scalars, as in the other quantized ops.",
)

for _each in (
    quantized_conv_2d,
    quantized_bias_add,
    quantized_batch_norm_with_global_normalization,
):
    _each.no_gradient(INTEGERS_ONLY)
    _each.differs(
        "ranges",
        tensorflow="Accepts any range: upside down, infinite, NaN, or too narrow for float32.",
        ours="Refuses those.",
    )
