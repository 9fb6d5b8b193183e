"""Fused batch normalization."""

import functools
import math
from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import FLOATS
from backblocks.ops._access_maps import AccessMap
from backblocks.ops._inputs import Array
from backblocks.ops._op import Op, Value, op
from backblocks.ops._spec import Shape, Spec, ranked
from backblocks.ops.attrs import Flag, Float, ImageLayout
from backblocks.ops.nn._batch_norm import (
    POSITIVE,
    STATISTICS,
    AnyLayout,
    channel_access,
    channels_of,
    filled,
    share_of,
    spread_out,
    to_dtype,
)
from backblocks.ops.nn._windows import from_channels_last, to_channels_last
from backblocks.ops.nn.batch_norm_grad import (
    fused_batch_norm_grad,
    fused_batch_norm_grad_v2,
    fused_batch_norm_grad_v3,
)


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


# -- what all versions have -----------------------------------------------------------------------


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
        a.astype(np.float64) for a in (to_channels_last(x, data_format), mean, variance)
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
    return from_channels_last(y, data_format), running_m, running_v, m, v


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
    shape, channels = channels_of(x, data_format, vectors)
    return shape, (channels,), (channels,), (channels,), (channels,)


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
    d_y, d_running_m, d_running_v, d_m, d_v, *_ = filled(dy, y)
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
        share = share_of(x, scale)
        unbiased = ops.select_v2(ops.less(share, 1), ops.real_div(1, ops.sub(1, share)), 1)
        to_m = ops.add_v2(ops.mul(d_running_m, f), d_m)
        to_v = ops.add_v2(ops.mul(d_running_v, ops.mul(unbiased, f)), d_v)
        c = ops.sub(to_dtype(v.dtype, x), spread_out(m, layout))
        by_v = ops.mul(c, spread_out(ops.mul(to_v, ops.mul(share, 2)), layout))
        by_both = ops.add_v2(by_v, spread_out(ops.mul(to_m, share), layout))
        d_x = ops.add_v2(d_x, to_dtype(x.dtype, by_both))
    if f == 1:
        return [d_x, d_scale, d_offset, None, None]
    return [d_x, d_scale, d_offset, *(ops.mul(d, 1 - f) for d in (d_running_m, d_running_v))]


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
) -> list[AccessMap]:
    access = functools.partial(channel_access, x=x, data_format=data_format)
    given, affine = ("mean", "variance"), ("scale", "offset")
    if not is_training:
        copies = [("batch_", given), ("reserve_space_", ("1", "2"))]
        return [
            access("apply", output="y", cell=True, own=("x",), vectors=(*affine, *given)),
            *(
                access("copy", output=kind + end, vectors=(pin,))
                for kind, ends in copies
                for end, pin in zip(ends, given, strict=True)
            ),
        ]
    blended = exponential_avg_factor != 1
    return [
        access("apply", output="y", cell=True, whole=("x",), vectors=affine),
        access("mean", output="reserve_space_1", whole=("x",)),
        access("apply", output="reserve_space_2", whole=("x",)),
        *(
            access(
                "mean" if pin == "mean" and not blended else "apply",
                output=f"batch_{pin}",
                whole=("x",),
                vectors=(pin,) if blended else (),
            )
            for pin in given
        ),
    ]


# -- the versions ---------------------------------------------------------------------------------


_STATISTICS = "batch_mean: {0}, batch_variance: {0}, reserve_space_1: {0}, reserve_space_2: {0}"


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
    """FusedBatchNorm whose channel vectors have a type of their own, so that `x` can be of half type."""
    return _forward(x, scale, offset, mean, variance, **how)


@op(
    "FusedBatchNormV3",
    f"T, U, U, U, U -> y: T, {_STATISTICS.format('U')}, reserve_space_3: U",
    aliases=("batch_norm", "BatchNormalization", "nn.BatchNorm2d"),
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


_BACKWARD = {
    fused_batch_norm: fused_batch_norm_grad,
    fused_batch_norm_v2: fused_batch_norm_grad_v2,
    fused_batch_norm_v3: fused_batch_norm_grad_v3,
}
fused_batch_norm_v2.same_formula(fused_batch_norm)
for _norm, _back in _BACKWARD.items():
    _norm.shape(_shape)
    _norm.grad(functools.partial(_forward_grad, _back))
    _norm.cells(_forward_cells)


@fused_batch_norm_v3.shape
def _(*inputs: Spec, **how: Any) -> tuple[Shape, ...]:
    return *_shape(*inputs, **how), ()


# -- cases, refusals, differences -----------------------------------------------------------------

# One row of three pixels; each of the two channels has variance 6, and sqrt(6 + 3) is 3.
_pixels = np.array([[[[0.0, 9], [3, 3], [6, 6]]]])
_pixel = np.array([[[[5.0, 7]]]])
_unit = np.array([[[[-1.0, 1], [0, -1], [1, 0]]]])
_scale, _offset = np.array([10.0, 20]), np.array([1.0, 2])
_of_two: dict[str, Any] = {"scale": _scale, "offset": _offset, "epsilon": 3}
_empty, _zeros = np.zeros(0), np.zeros(2)
_known = {"mean": np.array([1.0, 2]), "variance": np.array([1.0, 6])}
_m, _v = np.array([3.0, 6]), np.array([6.0, 6])


def _answer(forward: Op, *outputs: Array) -> tuple[Array, ...]:
    return outputs if len(forward.outputs) == 5 else (*outputs, np.zeros(()))


for _norm in _BACKWARD:
    _y = _unit * _scale + _offset
    _norm.case(
        "training", x=_pixels, mean=_empty, variance=_empty, **_of_two,
        out=_answer(_norm, _y, _m, _v * 3 / 2, _m, _v),
    )  # fmt: skip
    _norm.case(
        "training, with a running mean", x=_pixels, **_known, **_of_two, exponential_avg_factor=0.5,
        out=_answer(_norm, _y, np.array([2.0, 4]), np.array([5, 7.5]), _m, _v),
    )  # fmt: skip
    _norm.case(
        "channels first", x=_pixels.transpose(0, 3, 1, 2), data_format="NCHW", mean=_empty,
        variance=_empty, **_of_two,
        out=_answer(_norm, _y.transpose(0, 3, 1, 2), _m, _v * 3 / 2, _m, _v),
    )  # fmt: skip
    _norm.case(
        "not training", x=_pixels, **_known, **_of_two, is_training=False,
        out=_answer(
            _norm, (_pixels - _known["mean"]) / np.array([2, 3]) * _scale + _offset,
            *_known.values(), *_known.values(),
        ),
    )  # fmt: skip
    _norm.case(
        "an empty batch", x=_pixels[:0], mean=_empty, variance=_empty, **_of_two,
        out=_answer(_norm, _pixels[:0], _zeros, _zeros, _zeros, _zeros),
    )  # fmt: skip
    _norm.case(
        "one pixel has no variance", x=_pixel, mean=_empty, variance=_empty, **_of_two,
        out=_answer(
            _norm, _offset.reshape(1, 1, 1, 2), _pixel.ravel(), _zeros, _pixel.ravel(), _zeros
        ),
    )  # fmt: skip
    _norm.fails("no image", x=np.zeros((2, 2)), mean=_m, variance=_v, **_of_two, error="NHWC")
    _norm.fails(
        "scale of other channels", x=_pixels, scale=np.ones(3), offset=_offset, mean=_m,
        variance=_v, error="one entry a channel",
    )  # fmt: skip
    _norm.fails("a scalar mean", x=_pixels, mean=1.0, variance=_v, **_of_two, error="1 dimension")
    _norm.fails(
        "no mean although it is needed", x=_pixels, mean=_empty, variance=_v, **_of_two,
        is_training=False, error="one entry a channel",
    )  # fmt: skip
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
    "a volume", x=_pixels[None], mean=_empty, variance=_empty, **_of_two, data_format="NDHWC",
    out=((_unit * _scale + _offset)[None], _m, _v * 3 / 2, _m, _v, np.zeros(())),
)  # fmt: skip
fused_batch_norm_v3.case(
    "no channels", x=_pixels[..., :0], scale=_empty, offset=_empty, mean=_empty, variance=_empty,
    out=(_pixels[..., :0], _empty, _empty, _empty, _empty, np.zeros(())),
)  # fmt: skip
