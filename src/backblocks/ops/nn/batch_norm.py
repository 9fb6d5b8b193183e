"""Fused batch normalization with its first and second gradients.

For each channel, with m its mean, v its variance and n its number of cells:

    r = 1 / sqrt(v + epsilon)
    c = x - m
    y = c * r * scale + offset
"""

import functools
import math
from typing import Annotated, Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import FLOATS, DType
from backblocks.ops._cells import Cells, Way, loop
from backblocks.ops._inputs import Array
from backblocks.ops._op import Op, Value, op
from backblocks.ops._spec import Shape, Size, Spec, agreed, ranked
from backblocks.ops.attrs import Flag, Float, ImageLayout, choice
from backblocks.ops.nn._windows import first, from_last, last, to_last

_ABOUT_LAYOUT = "Channels stand last in NHWC and NDHWC, second in NCHW and NCDHW."
AnyLayout = Annotated[str, choice(_ABOUT_LAYOUT, "NHWC", "NCHW", "NDHWC", "NCDHW")]
STATISTICS = ("float32", "bfloat16", "float64")
POSITIVE = (0.5, 3.0)


def _images(
    *,
    epsilon: Float = 0.0001,
    exponential_avg_factor: Float = 1.0,
    data_format: ImageLayout = "NHWC",
    is_training: Flag = True,
) -> None:
    """The attributes of the ops on images."""


def _images_or_volumes(
    *,
    epsilon: Float = 0.0001,
    exponential_avg_factor: Float = 1.0,
    data_format: AnyLayout = "NHWC",
    is_training: Flag = True,
) -> None:
    """The attributes of the ops on images or volumes."""


def _images_back(
    *, epsilon: Float = 0.0001, data_format: ImageLayout = "NHWC", is_training: Flag = True
) -> None:
    """The attributes of the gradient ops on images."""


def _images_or_volumes_back(
    *, epsilon: Float = 0.0001, data_format: AnyLayout = "NHWC", is_training: Flag = True
) -> None:
    """The attributes of the gradient ops on images or volumes."""


# -- what the ops are made of; all of it in float64, rounded once ----------------------------------


def _forward(
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, ...]:
    cells, mean, variance = (
        a.astype(np.float64) for a in (to_last(x, data_format), mean, variance)
    )
    m, v = running_m, running_v = mean, variance
    if is_training:
        n = max(1, math.prod(cells.shape[:-1]))
        axes = tuple(range(cells.ndim - 1))
        m = cells.sum(axes) / n
        v = np.square(cells - m).sum(axes) / n
        running_m, running_v = m, v * n / max(1, n - 1)
        f = exponential_avg_factor
        if f != 1:
            running_m = (1 - f) * mean + f * running_m
            running_v = (1 - f) * variance + f * running_v
    y = (cells - m) / np.sqrt(v + epsilon) * scale + offset
    return from_last(y, data_format), running_m, running_v, m, v


def _backward(
    y_backprop: Array,
    x: Array,
    scale: Array,
    m: Array,
    v: Array,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> tuple[Array, ...]:
    dy, cells = (to_last(a, data_format).astype(np.float64) for a in (y_backprop, x))
    axes = tuple(range(dy.ndim - 1))
    r = 1 / np.sqrt(v.astype(np.float64) + epsilon)
    c = cells - m
    d_offset = dy.sum(axes)
    d_scale = r * (dy * c).sum(axes)
    dx = dy
    if is_training:  # mean and variance depend on x, too
        dx = dy - (d_offset + c * r * d_scale) / max(1, math.prod(dy.shape[:-1]))
    nothing = np.zeros(0)
    return from_last(dx * r * scale, data_format), d_scale, d_offset, nothing, nothing


def _shape(
    x: Spec,
    scale: Spec,
    offset: Spec,
    mean: Spec,
    variance: Spec,
    *,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
    epsilon: float,
) -> tuple[Shape, ...]:
    vectors = {"scale": scale, "offset": offset}
    if is_training and exponential_avg_factor == 1:  # they are not read, and often left empty
        ranked("mean", mean, 1)
        ranked("variance", variance, 1)
    else:
        vectors |= {"mean": mean, "variance": variance}
    shape, channels = _channels(x, data_format, vectors)
    return shape, (channels,), (channels,), (channels,), (channels,)


def _shape_back(
    y_backprop: Spec,
    x: Spec,
    scale: Spec,
    reserve_space_1: Spec,
    reserve_space_2: Spec,
    *unused: Spec,
    data_format: str,
    **how: Any,
) -> tuple[Shape, ...]:
    vectors = {
        "scale": scale,
        "reserve_space_1": reserve_space_1,
        "reserve_space_2": reserve_space_2,
    }
    shape, channels = _channels(x, data_format, vectors)
    hint = "Pass the gradient of the forward op's y."
    shape = agreed("y_backprop", y_backprop, shape, "the shape of x", hint)
    return shape, (channels,), (channels,), (0,), (0,)


_AVERAGES = "Pass one for each; only training with exponential_avg_factor=1 takes it empty."
_RESERVED = "Pass it as the forward op gave it."
_VECTOR_HINTS = {
    "mean": _AVERAGES,
    "variance": _AVERAGES,
    "reserve_space_1": _RESERVED,
    "reserve_space_2": _RESERVED,
}


def _channels(x: Spec, data_format: str, vectors: dict[str, Spec]) -> tuple[Shape, Size]:
    """The shape of x, and how many channels it has, from all that must agree on it."""
    *others, channels = last(ranked("x", x, len(data_format), f"as in {data_format}"), data_format)
    for name, vector in vectors.items():
        hint = _VECTOR_HINTS.get(name, "Use data_format to say where the channels of x stand.")
        (channels,) = agreed(name, vector, (channels,), "one entry a channel", hint) or (None,)
    return first((*others, channels), data_format), channels


# -- gradients, written with ops -------------------------------------------------------------------


def _to(dtype: DType, v: Value) -> Value:
    return v if v.dtype == dtype else ops.cast(v, DstT=dtype)


def _spread(v: Value, data_format: str) -> Value:
    """A vector shaped so that it broadcasts along the channels."""
    return ops.reshape(v, np.array([-1 if axis == "C" else 1 for axis in data_format], np.int32))


def _total(z: Value, data_format: str) -> Value:
    """The sum of each channel."""
    axes = np.array([i for i, axis in enumerate(data_format) if axis != "C"], np.int32)
    return ops.reshape(ops.sum(z, axes, keep_dims=True), np.array([-1], np.int32))


def _share(x: Value, v: Value) -> Value:
    """One divided by n; n counts as 1 in an empty batch."""
    n = ops.real_div(ops.cast(ops.size(x), DstT=v.dtype), ops.cast(ops.size(v), DstT=v.dtype))
    return ops.real_div(1, ops.select_v2(ops.greater(n, 1), n, 1))


def _filled(d: Value, outputs: Value) -> list[Value]:
    """What flows back to each output: zeros where nothing does."""
    return [ops.zeros_like(y) if dy is None else dy for dy, y in zip(d, outputs, strict=True)]


def _forward_grad(
    back: Op,
    dy: Value,
    y: Value,
    x: Value,
    scale: Value,
    offset: Value,
    mean: Value,
    variance: Value,
    *,
    exponential_avg_factor: float,
    **how: Any,
) -> list[Value]:
    f, layout = exponential_avg_factor, how["data_format"]
    m, v = (y.reserve_space_1, y.reserve_space_2) if how["is_training"] else (mean, variance)
    d_y, d_running_m, d_running_v, d_m, d_v, *_ = _filled(dy, y)
    d_x, d_scale, d_offset, *_ = back(d_y, x, scale, m, v, *y[5:], **how)
    if not how["is_training"]:
        r = ops.rsqrt(ops.add_v2(variance, how["epsilon"]))
        slope = ops.mul(scale, r)
        by_m = ops.neg(ops.mul(slope, d_offset))
        by_v = ops.mul(ops.mul(slope, r), ops.mul(d_scale, -0.5))
        d_mean = ops.add_n([by_m, d_running_m, d_m])
        d_variance = ops.add_n([by_v, d_running_v, d_v])
        return [d_x, d_scale, d_offset, d_mean, d_variance]
    if any(d is not None for d in dy[1:5]):
        share = _share(x, scale)
        unbiased = ops.select_v2(ops.less(share, 1), ops.real_div(1, ops.sub(1, share)), 1)
        to_m = ops.add_v2(ops.mul(d_running_m, f), d_m)
        to_v = ops.add_v2(ops.mul(d_running_v, ops.mul(unbiased, f)), d_v)
        c = ops.sub(_to(v.dtype, x), _spread(m, layout))
        by_v = ops.mul(c, _spread(ops.mul(to_v, ops.mul(share, 2)), layout))
        by_both = ops.add_v2(by_v, _spread(ops.mul(to_m, share), layout))
        d_x = ops.add_v2(d_x, _to(x.dtype, by_both))
    if f == 1:
        return [d_x, d_scale, d_offset, None, None]
    return [d_x, d_scale, d_offset, *(ops.mul(d, 1 - f) for d in (d_running_m, d_running_v))]


def _backward_grad(
    back: Op,
    d: Value,
    out: Value,
    y_backprop: Value,
    x: Value,
    scale: Value,
    m: Value,
    v: Value,
    *unused: Value,
    **how: Any,
) -> list[Value]:
    """The gradient of the first gradient.

    With g = y_backprop, h = d.x_backprop and S the sum of a channel, what the first gradient gives is

        <h, dx> = scale * r * e    where e = S(g h) - (S(g) S(h) + S(g c) r S(h c) r) / n
        d_scale = S(g c) r
        d_offset = S(g)

    without the part that is divided by n when not training. `back` itself gives most of these sums.
    """
    mul, add, sub, layout = ops.mul, ops.add_v2, ops.sub, how["data_format"]
    h, d_scale, d_offset, *_ = _filled(d, out)
    to_g, h_c, h_sum, *_ = back(h, x, scale, m, v, *unused, **how)
    g_c, g_sum = out.scale_backprop, out.offset_backprop
    r = ops.rsqrt(add(v, how["epsilon"]))
    share = _share(x, scale) if how["is_training"] else 0.0

    def spread(vector: Value) -> Value:
        return _spread(vector, layout)

    g, h, cells = (_to(v.dtype, z) for z in (y_backprop, h, x))
    both = mul(mul(g_c, h_c), share)
    e = sub(sub(_total(mul(g, h), layout), both), mul(mul(g_sum, h_sum), share))
    by_scale = spread(mul(d_scale, r))
    to_g = add(to_g, _to(x.dtype, add(mul(by_scale, sub(cells, spread(m))), spread(d_offset))))
    bend = spread(mul(mul(scale, share), mul(r, r)))
    to_c = sub(mul(by_scale, g), mul(bend, add(mul(spread(g_c), h), mul(spread(h_c), g))))
    to_r = add(mul(mul(scale, r), sub(e, mul(both, 2))), mul(d_scale, g_c))
    to_v = mul(mul(to_r, -0.5), mul(r, r))
    to_m = ops.neg(_total(to_c, layout))
    return [to_g, _to(x.dtype, to_c), mul(r, e), to_m, to_v, *(None for _ in unused)]


# -- the ops ---------------------------------------------------------------------------------------

_STATISTICS = "batch_mean: {0}, batch_variance: {0}, reserve_space_1: {0}, reserve_space_2: {0}"
_BACKPROPS = "x_backprop: T, scale_backprop: {0}, offset_backprop: {0}"


@op(
    "FusedBatchNorm",
    f"T, T, T, T, T -> y: T, {_STATISTICS.format('T')}",
    attrs=_images,
    slope_range=POSITIVE,
    T=FLOATS,
)
def fused_batch_norm(
    x: Array, scale: Array, offset: Array, mean: Array, variance: Array, **how: Any
) -> tuple[Array, ...]:
    """Images shifted and scaled so that each channel has mean `offset` and deviation `scale`.

    y[…, c] = (x[…, c] - m[c]) / √(v[c] + epsilon) · scale[c] + offset[c]
    batch_mean[c] = (1 - f) · mean[c] + f · m[c]
    batch_variance[c] = (1 - f) · variance[c] + f · v[c] · n / max(n - 1, 1)
    reserve_space_1[c] = m[c]
    reserve_space_2[c] = v[c]
    where m[c] = Σ over … of x[…, c] / n
    where v[c] = Σ over … of (x[…, c] - m[c])² / n
    where f = exponential_avg_factor, and n is how many cells a channel has, at least 1
    with is_training=False m and v are mean and variance, which come out as they are
    with NCHW the channels stand second: x[n, c, …]

    When training, mean and variance are those of `x`. They come out as `batch_mean` and
    `batch_variance` (which has n - 1 in place of n), blended with the inputs `mean` and `variance` by
    `exponential_avg_factor`: 1 ignores the inputs, and then they may be empty. When not training, the
    inputs are used, and come out again. The reserve spaces are mean and variance as used.
    """
    return _forward(x, scale, offset, mean, variance, **how)


@op(
    "FusedBatchNormV2",
    f"T, U, U, U, U -> y: T, {_STATISTICS.format('U')}",
    attrs=_images,
    slope_range=POSITIVE,
    T=FLOATS,
    U=STATISTICS,
)
def fused_batch_norm_v2(
    x: Array, scale: Array, offset: Array, mean: Array, variance: Array, **how: Any
) -> tuple[Array, ...]:
    """FusedBatchNorm whose channel vectors have a type of their own, so that `x` can be of half type.

    y[…, c] = (x[…, c] - m[c]) / √(v[c] + epsilon) · scale[c] + offset[c]
    batch_mean[c] = (1 - f) · mean[c] + f · m[c]
    batch_variance[c] = (1 - f) · variance[c] + f · v[c] · n / max(n - 1, 1)
    reserve_space_1[c] = m[c]
    reserve_space_2[c] = v[c]
    where m[c] = Σ over … of x[…, c] / n
    where v[c] = Σ over … of (x[…, c] - m[c])² / n
    where f = exponential_avg_factor, and n is how many cells a channel has, at least 1
    with is_training=False m and v are mean and variance, which come out as they are
    with NCHW the channels stand second: x[n, c, …]
    """
    return _forward(x, scale, offset, mean, variance, **how)


@op(
    "FusedBatchNormV3",
    f"T, U, U, U, U -> y: T, {_STATISTICS.format('U')}, reserve_space_3: U",
    also=("batch_norm", "BatchNormalization", "nn.BatchNorm2d"),
    attrs=_images_or_volumes,
    slope_range=POSITIVE,
    T=FLOATS,
    U=STATISTICS,
)
def fused_batch_norm_v3(
    x: Array, scale: Array, offset: Array, mean: Array, variance: Array, **how: Any
) -> tuple[Array, ...]:
    """FusedBatchNormV2 for images and volumes. `reserve_space_3` is 0: only a GPU has a use for it.

    y[…, c] = (x[…, c] - m[c]) / √(v[c] + epsilon) · scale[c] + offset[c]
    batch_mean[c] = (1 - f) · mean[c] + f · m[c]
    batch_variance[c] = (1 - f) · variance[c] + f · v[c] · n / max(n - 1, 1)
    reserve_space_1[c] = m[c]
    reserve_space_2[c] = v[c]
    reserve_space_3 = 0
    where m[c] = Σ over … of x[…, c] / n
    where v[c] = Σ over … of (x[…, c] - m[c])² / n
    where f = exponential_avg_factor, and n is how many cells a channel has, at least 1
    with is_training=False m and v are mean and variance, which come out as they are
    with NCHW and NCDHW the channels stand second: x[n, c, …]
    """
    return *_forward(x, scale, offset, mean, variance, **how), np.zeros(())


@op(
    "FusedBatchNormGrad",
    f"T, T, T, T, T -> {_BACKPROPS.format('T')}, reserve_space_3: T, reserve_space_4: T",
    attrs=_images_back,
    slope_range=POSITIVE,
    T=FLOATS,
)
def fused_batch_norm_grad(
    y_backprop: Array,
    x: Array,
    scale: Array,
    reserve_space_1: Array,
    reserve_space_2: Array,
    **how: Any,
) -> tuple[Array, ...]:
    """The gradient of FusedBatchNorm.

    x_backprop[…, c] = scale[c] · r[c]
        · (y_backprop[…, c] - (offset_backprop[c] + d[…, c] · scale_backprop[c]) / n)
    scale_backprop[c] = Σ over … of y_backprop[…, c] · d[…, c]
    offset_backprop[c] = Σ over … of y_backprop[…, c]
    reserve_space_3, reserve_space_4 = nothing
    where d[…, c] = (x[…, c] - reserve_space_1[c]) · r[c]
    where r[c] = 1 / √(reserve_space_2[c] + epsilon)
    where n is how many cells a channel has, at least 1
    with is_training=False x_backprop[…, c] = scale[c] · r[c] · y_backprop[…, c]
    with NCHW the channels stand second: x[n, c, …]

    `reserve_space_1` and `reserve_space_2` are mean and variance as the forward op used them. The two
    that come out are empty.
    """
    return _backward(y_backprop, x, scale, reserve_space_1, reserve_space_2, **how)


@op(
    "FusedBatchNormGradV2",
    f"T, T, U, U, U -> {_BACKPROPS.format('U')}, reserve_space_3: U, reserve_space_4: U",
    attrs=_images_back,
    slope_range=POSITIVE,
    T=FLOATS,
    U=STATISTICS,
)
def fused_batch_norm_grad_v2(
    y_backprop: Array,
    x: Array,
    scale: Array,
    reserve_space_1: Array,
    reserve_space_2: Array,
    **how: Any,
) -> tuple[Array, ...]:
    """The gradient of FusedBatchNormV2; see FusedBatchNormGrad.

    x_backprop[…, c] = scale[c] · r[c]
        · (y_backprop[…, c] - (offset_backprop[c] + d[…, c] · scale_backprop[c]) / n)
    scale_backprop[c] = Σ over … of y_backprop[…, c] · d[…, c]
    offset_backprop[c] = Σ over … of y_backprop[…, c]
    reserve_space_3, reserve_space_4 = nothing
    where d[…, c] = (x[…, c] - reserve_space_1[c]) · r[c]
    where r[c] = 1 / √(reserve_space_2[c] + epsilon)
    where n is how many cells a channel has, at least 1
    with is_training=False x_backprop[…, c] = scale[c] · r[c] · y_backprop[…, c]
    with NCHW the channels stand second: x[n, c, …]
    """
    return _backward(y_backprop, x, scale, reserve_space_1, reserve_space_2, **how)


@op(
    "FusedBatchNormGradV3",
    f"T, T, U, U, U, U -> {_BACKPROPS.format('U')}, reserve_space_4: U, reserve_space_5: U",
    attrs=_images_or_volumes_back,
    slope_range=POSITIVE,
    T=FLOATS,
    U=STATISTICS,
)
def fused_batch_norm_grad_v3(
    y_backprop: Array,
    x: Array,
    scale: Array,
    reserve_space_1: Array,
    reserve_space_2: Array,
    reserve_space_3: Array,
    **how: Any,
) -> tuple[Array, ...]:
    """The gradient of FusedBatchNormV3; see FusedBatchNormGrad. `reserve_space_3` is not read.

    x_backprop[…, c] = scale[c] · r[c]
        · (y_backprop[…, c] - (offset_backprop[c] + d[…, c] · scale_backprop[c]) / n)
    scale_backprop[c] = Σ over … of y_backprop[…, c] · d[…, c]
    offset_backprop[c] = Σ over … of y_backprop[…, c]
    reserve_space_4, reserve_space_5 = nothing
    where d[…, c] = (x[…, c] - reserve_space_1[c]) · r[c]
    where r[c] = 1 / √(reserve_space_2[c] + epsilon)
    where n is how many cells a channel has, at least 1
    with is_training=False x_backprop[…, c] = scale[c] · r[c] · y_backprop[…, c]
    with NCHW and NCDHW the channels stand second: x[n, c, …]
    """
    return _backward(y_backprop, x, scale, reserve_space_1, reserve_space_2, **how)


FORWARD = (fused_batch_norm, fused_batch_norm_v2, fused_batch_norm_v3)
BACKWARD = (fused_batch_norm_grad, fused_batch_norm_grad_v2, fused_batch_norm_grad_v3)
for _norm, _back in zip(FORWARD, BACKWARD, strict=True):
    _norm.shape(_shape)
    _norm.grad(functools.partial(_forward_grad, _back))
    _back.shape(_shape_back)
    _back.grad(functools.partial(_backward_grad, _back))


# -- which cells belong together ------------------------------------------------------------------


def _way(
    rule: str,
    x: Spec,
    data_format: str,
    output: str,
    *,
    own: tuple[str, ...] = (),
    whole: tuple[str, ...] = (),
    vectors: tuple[str, ...] = (),
    cell: bool = False,
) -> Way:
    """One output, and what it comes from: cells at its place, whole channels, entries of vectors.

    The output has an entry for each channel, or if `cell` is set a cell for each of x.
    """
    *sizes, channels = last(x.sizes, data_format)
    letters = last(data_format, data_format)[:-1]
    loops = {"c": channels}
    places: dict[str, Cells] = {}
    for marks, pins in (("", own), ("k", whole)):
        named = [marks + letter.lower() for letter in letters]
        at = first((*map(loop, named), loop("c")), data_format)
        places |= dict.fromkeys(pins, Cells(at, axes=data_format))
        if pins or (cell and not marks):
            loops |= zip(named, sizes, strict=True)
        if cell and not marks:
            places[output] = Cells(at, axes=data_format)
    vector = Cells((loop("c"),), axes="C")
    places |= dict.fromkeys(vectors if cell else (*vectors, output), vector)
    return Way(rule, (*own, *whole, *vectors), loops, places)


def _forward_cells(
    y: Any,
    x: Spec,
    scale: Spec,
    offset: Spec,
    mean: Spec,
    variance: Spec,
    *,
    exponential_avg_factor: float,
    data_format: str,
    is_training: bool,
    epsilon: float,
) -> list[Way]:
    way = functools.partial(_way, x=x, data_format=data_format)
    given, affine = ("mean", "variance"), ("scale", "offset")
    if not is_training:
        copies = [("batch_", given), ("reserve_space_", ("1", "2"))]
        return [
            way("apply", output="y", cell=True, own=("x",), vectors=(*affine, *given)),
            *(
                way("copy", output=kind + end, vectors=(pin,))
                for kind, ends in copies
                for end, pin in zip(ends, given, strict=True)
            ),
        ]
    blended = exponential_avg_factor != 1
    return [
        way("apply", output="y", cell=True, whole=("x",), vectors=affine),
        way("mean", output="reserve_space_1", whole=("x",)),
        way("apply", output="reserve_space_2", whole=("x",)),
        *(
            way(
                "mean" if pin == "mean" and not blended else "apply",
                output=f"batch_{pin}",
                whole=("x",),
                vectors=(pin,) if blended else (),
            )
            for pin in given
        ),
    ]


def _backward_cells(
    y: Any,
    y_backprop: Spec,
    x: Spec,
    *vectors: Spec,
    data_format: str,
    is_training: bool,
    **how: Any,
) -> list[Way]:
    way = functools.partial(_way, x=x, data_format=data_format)
    both, mean, variance = ("y_backprop", "x"), "reserve_space_1", "reserve_space_2"
    to_x: Any = {"own": ("y_backprop",), "vectors": ("scale", variance)}
    if is_training:
        to_x = {"whole": both, "vectors": ("scale", mean, variance)}
    return [
        way("apply", output="x_backprop", cell=True, **to_x),
        way("apply", output="scale_backprop", whole=both, vectors=(mean, variance)),
        way("sum", output="offset_backprop", whole=("y_backprop",)),
    ]


for _norm, _back in zip(FORWARD, BACKWARD, strict=True):
    _norm.cells(_forward_cells)
    _back.cells(_backward_cells)


@fused_batch_norm_v3.shape
def _(*inputs: Spec, **how: Any) -> tuple[Shape, ...]:
    return *_shape(*inputs, **how), ()


# -- cases, refusals, differences ------------------------------------------------------------------

# One row of three pixels; each of the two channels has variance 6, and sqrt(6 + 3) is 3.
_pixels = np.array([[[[0.0, 9], [3, 3], [6, 6]]]])
_unit = np.array([[[[-1.0, 1], [0, -1], [1, 0]]]])
_scale, _offset = np.array([10.0, 20]), np.array([1.0, 2])
_of_two: dict[str, Any] = {"scale": _scale, "offset": _offset, "epsilon": 3}
_empty, _zeros = np.zeros(0), np.zeros(2)
_known = {"mean": np.array([1.0, 2]), "variance": np.array([1.0, 6])}
_m, _v = np.array([3.0, 6]), np.array([6.0, 6])


def _answer(forward: Op, *outputs: Array) -> tuple[Array, ...]:
    return outputs if len(forward.outputs) == 5 else (*outputs, np.zeros(()))


for _norm in FORWARD:
    _y = _unit * _scale + _offset
    _norm.case(
        "training",
        x=_pixels,
        mean=_empty,
        variance=_empty,
        **_of_two,
        out=_answer(_norm, _y, _m, _v * 3 / 2, _m, _v),
    )
    _norm.case(
        "training, with a running mean",
        x=_pixels,
        **_known,
        **_of_two,
        exponential_avg_factor=0.5,
        out=_answer(_norm, _y, np.array([2.0, 4]), np.array([5, 7.5]), _m, _v),
    )
    _norm.case(
        "channels first",
        x=_pixels.transpose(0, 3, 1, 2),
        data_format="NCHW",
        mean=_empty,
        variance=_empty,
        **_of_two,
        out=_answer(_norm, _y.transpose(0, 3, 1, 2), _m, _v * 3 / 2, _m, _v),
    )
    _norm.case(
        "not training",
        x=_pixels,
        **_known,
        **_of_two,
        is_training=False,
        out=_answer(
            _norm,
            (_pixels - _known["mean"]) / np.array([2, 3]) * _scale + _offset,
            _known["mean"],
            _known["variance"],
            _known["mean"],
            _known["variance"],
        ),
    )
    _norm.case(
        "an empty batch",
        x=_pixels[:0],
        mean=_empty,
        variance=_empty,
        **_of_two,
        out=_answer(_norm, _pixels[:0], _zeros, _zeros, _zeros, _zeros),
    )
    _norm.case(
        "one pixel has no variance",
        x=np.array([[[[5.0, 7]]]]),
        mean=_empty,
        variance=_empty,
        **_of_two,
        out=_answer(
            _norm,
            _offset.reshape(1, 1, 1, 2),
            np.array([5.0, 7]),
            _zeros,
            np.array([5.0, 7]),
            _zeros,
        ),
    )
    _norm.fails("no image", x=np.zeros((2, 2)), mean=_m, variance=_v, **_of_two, error="NHWC")
    _norm.fails(
        "scale of other channels",
        x=_pixels,
        scale=np.ones(3),
        offset=_offset,
        mean=_m,
        variance=_v,
        error="one entry a channel",
    )
    _norm.fails("a scalar mean", x=_pixels, mean=1.0, variance=_v, **_of_two, error="1 dimension")
    _norm.fails(
        "no mean although it is needed",
        x=_pixels,
        mean=_empty,
        variance=_v,
        **_of_two,
        is_training=False,
        error="one entry a channel",
    )
    _norm.differs(
        "empty",
        tensorflow="batch_mean and batch_variance are NaN, the reserve spaces are leftovers of memory.",
        ours="Zeros when training; mean and variance as given when not.",
    )
    _norm.differs(
        "reserve spaces when not training",
        tensorflow="Leftovers of memory.",
        ours="mean and variance as given.",
        agree="Do not read them.",
    )
    _norm.differs(
        "long sums",
        tensorflow="Running float32 sums: the mean of a million pixels of 3.3 is 3.2686.",
        ours="Sums in float64.",
        agree="Allow for the error of the sums, or compare up to ten thousand cells a channel.",
    )
    _norm.differs(
        "rank",
        tensorflow="Rank 4 or 5, whatever data_format says; channels are last unless it has them second.",
        ours="The rank of data_format.",
        agree="Give the data_format that belongs to x: NDHWC, with V3, for volumes.",
    )
    _norm.differs(
        "gradients of the statistics",
        tensorflow="What flows back to any output but y is dropped; mean and variance get nothing.",
        ours="It counts, and mean and variance get theirs where they are used.",
        agree="Let the loss depend on y alone.",
    )
fused_batch_norm_v3.case(
    "a volume",
    x=_pixels[None],
    mean=_empty,
    variance=_empty,
    **_of_two,
    data_format="NDHWC",
    out=((_unit * _scale + _offset)[None], _m, _v * 3 / 2, _m, _v, np.zeros(())),
)
fused_batch_norm_v3.case(
    "no channels",
    x=_pixels[..., :0],
    scale=_empty,
    offset=_empty,
    mean=_empty,
    variance=_empty,
    out=(_pixels[..., :0], _empty, _empty, _empty, _empty, np.zeros(())),
)

# One channel; r is 1/3, so that scale * r is 1.
_line, _dy = np.array([0.0, 3, 6]).reshape(1, 1, 3, 1), np.array([1.0, 2, 6]).reshape(1, 1, 3, 1)
_of_one: dict[str, Any] = {"scale": np.array([3.0]), "epsilon": 3}
for _back in BACKWARD:
    _used = {"reserve_space_1": np.array([3.0]), "reserve_space_2": np.array([6.0])}
    _unread = {} if _back.inputs[-1].name in _used else {"reserve_space_3": np.zeros(())}
    _used |= _unread
    _sums = np.array([5.0]), np.array([9.0])
    _dx = np.array([-1 / 3, -1, 4 / 3]).reshape(1, 1, 3, 1)
    _back.case(
        "training", y_backprop=_dy, x=_line, **_of_one, **_used, out=(_dx, *_sums, _empty, _empty)
    )
    _back.case(
        "channels first",
        y_backprop=_dy.transpose(0, 3, 1, 2),
        x=_line.transpose(0, 3, 1, 2),
        **_of_one,
        **_used,
        data_format="NCHW",
        out=(_dx.transpose(0, 3, 1, 2), *_sums, _empty, _empty),
    )
    _back.case(
        "not training",
        y_backprop=_dy,
        x=_line,
        **_of_one,
        **_used,
        is_training=False,
        out=(_dy, *_sums, _empty, _empty),
    )
    _back.case(
        "an empty batch",
        y_backprop=_dy[:0],
        x=_line[:0],
        **_of_one,
        **_used,
        out=(_dx[:0], np.zeros(1), np.zeros(1), _empty, _empty),
    )
    _back.fails(
        "gradient of another shape",
        y_backprop=_dy[:, :, :2],
        x=_line,
        **_of_one,
        **_used,
        error="the shape of x",
    )
    _back.fails(
        "variance of other channels",
        y_backprop=_dy,
        x=_line,
        **_of_one,
        **_used | {"reserve_space_2": np.ones(2)},
        error="one entry a channel",
    )
    _back.differs(
        "channels first when not training",
        tensorflow="Refused.",
        ours="Computed.",
        agree="Use NHWC or NDHWC.",
    )
    _back.differs(
        "second gradient when training",
        tensorflow="Mean and variance are computed anew from x; the reserve spaces get no gradient.",
        ours="The reserve spaces are inputs like any other, and hand their gradient on to the op "
        "they came from.",
        agree="Take the reserve spaces from the forward op: then the gradients of its inputs agree.",
    )
fused_batch_norm_grad_v3.differs(
    "empty",
    tensorflow="x_backprop of an empty volume has two of its axes merged: rank 4 in place of 5.",
    ours="It has the shape of x.",
)
