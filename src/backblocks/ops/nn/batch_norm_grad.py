"""The gradient of fused batch normalization, and the gradient of that."""

import functools
import math
from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import FLOATS
from backblocks.ops._access_maps import AccessMap
from backblocks.ops._inputs import Array
from backblocks.ops._op import Op, Value, op
from backblocks.ops._spec import Shape, Spec, agreed
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
    total_of,
)
from backblocks.ops.nn._windows import from_channels_last, to_channels_last


def _images_back(
    *, epsilon: Float = 0.0001, data_format: ImageLayout = "NHWC", is_training: Flag = True
) -> None:
    """The attributes of the gradient ops on images."""


def _images_or_volumes_back(
    *, epsilon: Float = 0.0001, data_format: AnyLayout = "NHWC", is_training: Flag = True
) -> None:
    """The attributes of the gradient ops on images or volumes."""


# -- what all versions have -----------------------------------------------------------------------


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
    dy, cells = (to_channels_last(a, data_format).astype(np.float64) for a in (y_backprop, x))
    axes = tuple(range(dy.ndim - 1))
    r = 1 / np.sqrt(v.astype(np.float64) + epsilon)
    c = cells - m
    d_offset = dy.sum(axes)
    d_scale = r * (dy * c).sum(axes)
    dx = dy
    if is_training:  # mean and variance depend on x, too
        dx = dy - (d_offset + c * r * d_scale) / max(1, math.prod(dy.shape[:-1]))
    nothing = np.zeros(0)
    return from_channels_last(dx * r * scale, data_format), d_scale, d_offset, nothing, nothing


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
    shape, channels = channels_of(x, data_format, vectors)
    hint = "Pass the gradient of the forward op's y."
    shape = agreed("y_backprop", y_backprop, shape, "the shape of x", hint)
    return shape, (channels,), (channels,), (0,), (0,)


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
    h, d_scale, d_offset, *_ = filled(d, out)
    to_g, h_c, h_sum, *_ = back(h, x, scale, m, v, *unused, **how)
    g_c, g_sum = out.scale_backprop, out.offset_backprop
    r = ops.rsqrt(add(v, how["epsilon"]))
    share = share_of(x, scale) if how["is_training"] else 0.0

    def spread(vector: Value) -> Value:
        return spread_out(vector, layout)

    g, h, cells = (to_dtype(v.dtype, z) for z in (y_backprop, h, x))
    both = mul(mul(g_c, h_c), share)
    e = sub(sub(total_of(mul(g, h), layout), both), mul(mul(g_sum, h_sum), share))
    by_scale = spread(mul(d_scale, r))
    to_g = add(to_g, to_dtype(x.dtype, add(mul(by_scale, sub(cells, spread(m))), spread(d_offset))))
    bend = spread(mul(mul(scale, share), mul(r, r)))
    to_c = sub(mul(by_scale, g), mul(bend, add(mul(spread(g_c), h), mul(spread(h_c), g))))
    to_r = add(mul(mul(scale, r), sub(e, mul(both, 2))), mul(d_scale, g_c))
    to_v = mul(mul(to_r, -0.5), mul(r, r))
    to_m = ops.neg(total_of(to_c, layout))
    return [to_g, to_dtype(x.dtype, to_c), mul(r, e), to_m, to_v, *(None for _ in unused)]


def _backward_cells(
    y: Any,
    y_backprop: Spec,
    x: Spec,
    *vectors: Spec,
    data_format: str,
    is_training: bool,
    **how: Any,
) -> list[AccessMap]:
    access = functools.partial(channel_access, x=x, data_format=data_format)
    both, mean, variance = ("y_backprop", "x"), "reserve_space_1", "reserve_space_2"
    to_x: Any = {"own": ("y_backprop",), "vectors": ("scale", variance)}
    if is_training:
        to_x = {"whole": both, "vectors": ("scale", mean, variance)}
    return [
        access("apply", output="x_backprop", cell=True, **to_x),
        access("apply", output="scale_backprop", whole=both, vectors=(mean, variance)),
        access("sum", output="offset_backprop", whole=("y_backprop",)),
    ]


# -- the versions ---------------------------------------------------------------------------------


_BACKPROPS = "x_backprop: T, scale_backprop: {0}, offset_backprop: {0}"


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
    """The gradient of FusedBatchNormV2; see FusedBatchNormGrad."""
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
    """The gradient of FusedBatchNormV3; see FusedBatchNormGrad. `reserve_space_3` is not read."""
    return _backward(y_backprop, x, scale, reserve_space_1, reserve_space_2, **how)


_VERSIONS = (fused_batch_norm_grad, fused_batch_norm_grad_v2, fused_batch_norm_grad_v3)
fused_batch_norm_grad_v2.same_formula(fused_batch_norm_grad)
fused_batch_norm_grad_v3.same_formula(
    fused_batch_norm_grad,
    reserve_space_4="reserve_space_5",
    reserve_space_3="reserve_space_4",
    NCHW="NCHW and NCDHW",
)
for _back in _VERSIONS:
    _back.shape(_shape_back)
    _back.grad(functools.partial(_backward_grad, _back))
    _back.cells(_backward_cells)


# -- cases, refusals, differences -----------------------------------------------------------------

_empty = np.zeros(0)
# One channel; r is 1/3, so that scale * r is 1.
_line, _dy = np.array([0.0, 3, 6]).reshape(1, 1, 3, 1), np.array([1.0, 2, 6]).reshape(1, 1, 3, 1)
_of_one: dict[str, Any] = {"scale": np.array([3.0]), "epsilon": 3}
for _back in _VERSIONS:
    _used = {"reserve_space_1": np.array([3.0]), "reserve_space_2": np.array([6.0])}
    _unread = {} if _back.inputs[-1].name in _used else {"reserve_space_3": np.zeros(())}
    _used |= _unread
    _sums = np.array([5.0]), np.array([9.0])
    _dx = np.array([-1 / 3, -1, 4 / 3]).reshape(1, 1, 3, 1)
    _back.case(
        "training", y_backprop=_dy, x=_line, **_of_one, **_used, out=(_dx, *_sums, _empty, _empty)
    )
    _back.case(
        "channels first", y_backprop=_dy.transpose(0, 3, 1, 2), x=_line.transpose(0, 3, 1, 2),
        **_of_one, **_used, data_format="NCHW",
        out=(_dx.transpose(0, 3, 1, 2), *_sums, _empty, _empty),
    )  # fmt: skip
    _back.case(
        "not training", y_backprop=_dy, x=_line, **_of_one, **_used, is_training=False,
        out=(_dy, *_sums, _empty, _empty),
    )  # fmt: skip
    _back.case(
        "an empty batch", y_backprop=_dy[:0], x=_line[:0], **_of_one, **_used,
        out=(_dx[:0], np.zeros(1), np.zeros(1), _empty, _empty),
    )  # fmt: skip
    _back.fails(
        "gradient of another shape", y_backprop=_dy[:, :, :2], x=_line, **_of_one, **_used,
        error="the shape of x",
    )  # fmt: skip
    _back.fails(
        "variance of other channels", y_backprop=_dy, x=_line, **_of_one,
        **_used | {"reserve_space_2": np.ones(2)}, error="one entry a channel",
    )  # fmt: skip
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
