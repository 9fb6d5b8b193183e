"""Average pooling and its gradient, for images and for volumes."""

from typing import Any

import numpy as np

from backblocks.dtypes import FLOATS, wide
from backblocks.ops import _kernels
from backblocks.ops._access_maps import AccessMap
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Op, Value, op
from backblocks.ops._spec import Shape, Size, Spec, sizes_from
from backblocks.ops.array.shapes import shape_of
from backblocks.ops.nn._pooling import (
    agreed_with_pooling,
    image_pooling,
    native_pool,
    pool_access,
    pool_axes,
    pooled,
    volume_pooling,
)
from backblocks.ops.nn._windows import (
    OF_VOLUMES,
    channels_last,
    counts,
    from_channels_last,
    taps,
    to_channels_last,
    window_shape,
)


def _pool(x: Array, *, data_format: str, **windows: Any) -> Array:
    """The sum of each window's real cells, divided by how many they are."""
    x = to_channels_last(x, data_format)
    axes = pool_axes(x, data_format=data_format, **windows)
    total = np.zeros(window_shape(x, axes), wide(x.dtype))
    for _, cells, outputs in taps(axes, x):
        total[outputs] += x[cells]
    return from_channels_last(
        (total / counts(axes, total.dtype)).astype(x.dtype, copy=False), data_format
    )


def _pool_grad(shape: tuple[int, ...], dy: Array, *, data_format: str, **windows: Any) -> Array:
    """Each window's gradient, spread evenly over its real cells."""
    dx = np.zeros(channels_last(shape, data_format), wide(dy.dtype))
    axes = pool_axes(dx, data_format=data_format, **windows)
    share = to_channels_last(dy, data_format).astype(dx.dtype, copy=False) / counts(axes, dx.dtype)
    for _, cells, outputs in taps(axes, dx, dy):
        dx[cells] += share[outputs]
    return from_channels_last(dx.astype(dy.dtype, copy=False), data_format)


@op(
    "AvgPool",
    "T -> T",
    aliases=("avg_pool2d", "AveragePooling2D", "nn.AvgPool2d"),
    attrs=image_pooling,
    beyond=("explicit_paddings",),
    T=FLOATS,
)
def avg_pool(value: Array, **windows: Any) -> Array:
    """The mean of each window of an image.

    output[n, o, c] = (Σ over j of value[n, o·strides - p + j, c]) / cells
    where o and j stand for height and width, 0 ≤ j < ksize
    where cells is how many of these cells are inside; padding does not count
    where p is the padding before:
        with SAME ⌊max((⌈size / strides⌉ - 1) · strides + ksize - size, 0) / 2⌋ for an axis of this size
    with NCHW the channels stand second: output[n, c, o]

    Padding does not count: a window at the border is divided by the number of its real cells. `ksize`
    and `strides` have one entry for each dimension, in the order of `data_format`.
    """
    return _pool(value, **windows)


@op("AvgPoolGrad", "int32, T -> T", attrs=image_pooling, beyond=("explicit_paddings",), T=FLOATS)
def avg_pool_grad(orig_input_shape: Array, grad: Array, **windows: Any) -> Array:
    """Spreads each window's gradient evenly over its real cells, and adds up where windows overlap.

    output[n, i, c] = Σ over the windows o that cell i is in of grad[n, o, c] / cells[o]
    where window o has the cells o·strides - p + j along height and width, as in AvgPool
    where cells[o] is how many of them are inside; padding does not count
    with NCHW the channels stand second: output[n, c, i]
    """
    return _pool_grad(tuple(orig_input_shape.tolist()), grad, **windows)


@op(
    "AvgPool3D",
    "T -> T",
    aliases=("avg_pool3d", "AveragePooling3D", "nn.AvgPool3d"),
    attrs=volume_pooling,
    beyond=("explicit_paddings",),
    T=FLOATS,
)
def avg_pool_3d(input: Array, **windows: Any) -> Array:
    """The mean of each window of a volume.

    Padding does not count: a window at the border is divided by the number of its real cells. `ksize`
    and `strides` have one entry for each dimension, in the order of `data_format`.
    """
    return _pool(input, **windows)


@op("AvgPool3DGrad", "int32, T -> T", attrs=volume_pooling, beyond=("explicit_paddings",), T=FLOATS)
def avg_pool_3d_grad(orig_input_shape: Array, grad: Array, **windows: Any) -> Array:
    """Spreads each window's gradient evenly over its real cells, and adds up where windows overlap."""
    return _pool_grad(tuple(orig_input_shape.tolist()), grad, **windows)


def _complete(pool: Op, pool_grad: Op) -> None:
    """Gives an average pooling and its gradient their rules and kernels; they are adjoint."""
    (pin,) = (pin.name for pin in pool.inputs)

    @pool.shape
    def _(input: Spec, **windows: Any) -> Shape:
        return pooled(pin, input, **windows)

    @pool.cells
    def _(y: Spec, input: Spec, **windows: Any) -> list[AccessMap]:
        return pool_access("mean", (pin,), input, cells=(pin,), windows=("output",), **windows)

    @pool.kernel("native")
    def _(input: Spec, **windows: Any) -> KernelFunction | None:
        return native_pool(_kernels.avg_pool, input.shape, input.dtype, **windows)

    @pool.grad
    def _(dy: Value, y: Value, input: Value, **windows: Any) -> list[Value]:
        return [pool_grad(shape_of(input), dy, **windows)]

    @pool_grad.shape
    def _(orig_input_shape: Spec, grad: Spec, **windows: Any) -> Shape:
        sizes = _sizes_from(orig_input_shape, windows)
        out = pooled("orig_input_shape", Spec(sizes, grad.dtype), **windows)
        agreed_with_pooling("grad", grad, out)
        return sizes

    @pool_grad.cells
    def _(y: Spec, orig_input_shape: Spec, grad: Spec, **windows: Any) -> list[AccessMap]:
        return pool_access("shares", ("grad",), y, cells=("output",), windows=("grad",), **windows)

    @pool_grad.kernel("native")
    def _(orig_input_shape: Spec, grad: Spec, **windows: Any) -> KernelFunction | None:
        cells = _sizes_from(orig_input_shape, windows)
        kernel = native_pool(_kernels.avg_pool_grad, cells, grad.dtype, **windows)
        return kernel and kernel.taking(1, 2)

    @pool_grad.grad
    def _(ddx: Value, dx: Value, shape: Value, grad: Value, **windows: Any) -> list[Value]:
        return [None, pool(ddx, **windows)]


def _sizes_from(orig_input_shape: Spec, windows: dict[str, Any]) -> tuple[Size, ...]:
    return sizes_from("orig_input_shape", orig_input_shape, [len(windows["data_format"])])


_complete(avg_pool, avg_pool_grad)
_complete(avg_pool_3d, avg_pool_3d_grad)
avg_pool_3d.same_formula(avg_pool, **OF_VOLUMES, value="input")
avg_pool_3d_grad.same_formula(avg_pool_grad, **OF_VOLUMES, AvgPool="AvgPool3D")

# -- differences from TensorFlow ------------------------------------------------------------------

for _each in (avg_pool, avg_pool_grad, avg_pool_3d, avg_pool_3d_grad):
    _each.differs(
        "half sums",
        at="half",
        tensorflow="Sums of half types are kept in the half type, and are off in long windows.",
        ours="Sums are kept in float32 and rounded once.",
    )
for _each in (avg_pool, avg_pool_grad):
    _each.differs(
        "formats",
        at="layout",
        tensorflow="NHWC only on the CPU; no explicit padding.",
        ours="NHWC and NCHW, explicit padding.",
    )
for _each in (avg_pool_3d, avg_pool_3d_grad):
    _each.differs(
        "formats",
        at="layout",
        tensorflow="NDHWC, bfloat16 and float32 only on the CPU; no explicit padding.",
        ours="NDHWC and NCDHW, every float type, explicit padding.",
    )
avg_pool_3d_grad.differs(
    "checks",
    tensorflow="Some gradients of a shape that pooling cannot give are accepted.",
    ours="They are refused.",
)
avg_pool.differs(
    "checks",
    tensorflow="A stride over channels is accepted and ignored.",
    ours="It is refused.",
    agree="Use a stride of 1 for channels.",
)
avg_pool_grad.differs(
    "checks",
    tensorflow="Windows of no size and gradients of another shape are accepted; a stride over "
    "channels is ignored.",
    ours="They are refused.",
)
avg_pool_3d.differs(
    "nan",
    at="nan",
    tensorflow="In float32, channels that come in eights leave a NaN out of sum and count.",
    ours="A NaN in the window gives NaN.",
)
avg_pool_3d.differs(
    "SAME with stride > window",
    at="apart",
    tensorflow="Padding becomes negative and shifts every window.",
    ours="Padding is never negative, as documented and as in 2-D.",
)


# -- cases ----------------------------------------------------------------------------------------

_pair = np.arange(1.0, 17).reshape(2, 2, 2, 2)
_pair_3d = np.arange(1.0, 33).reshape(2, 2, 2, 2, 2)
_wide: dict[str, Any] = {"ksize": (1, 3, 2, 1), "strides": (1, 3, 2, 1), "padding": "SAME"}
_large: dict[str, Any] = {
    "ksize": (1, 4, 3, 2, 1),
    "strides": (1, 4, 3, 2, 1),
    "padding": "SAME",
}
_row: dict[str, Any] = {"ksize": (1, 1, 2, 1), "strides": (1, 1, 2, 1), "padding": "SAME"}


def _line(*values: float) -> Array:
    return np.array(values, float).reshape(1, 1, -1, 1)


_two_cells: dict[str, Any] = {"orig_input_shape": [1, 1, 2, 1], "grad": _line(2)}

avg_pool.case(
    "padding does not count", value=_pair, **_wide,
    out=np.array([4.0, 5, 12, 13]).reshape(2, 1, 1, 2),
)  # fmt: skip
avg_pool.case("the last window has one cell", value=_line(1, 3, 8), **_row, out=_line(2, 8))
avg_pool.case(
    "channels first", value=np.array([1.0, 3, 8]).reshape(1, 1, 1, 3), ksize=(1, 1, 1, 2),
    strides=(1, 1, 1, 2), padding="SAME", data_format="NCHW",
    out=np.array([2.0, 8]).reshape(1, 1, 1, 2),
)  # fmt: skip
avg_pool.case(
    "explicit padding", value=_line(1, 3), **_row | {"padding": "EXPLICIT"},
    explicit_paddings=(0, 0, 0, 0, 1, 1, 0, 0), out=_line(1, 3),
)  # fmt: skip
avg_pool.case(
    "a window without a cell", value=np.zeros((1, 0, 2, 1)), ksize=(1, 2, 2, 1),
    strides=(1, 1, 1, 1), padding="EXPLICIT", explicit_paddings=(0, 0, 1, 1, 0, 0, 0, 0),
    out=np.zeros((1, 1, 1, 1)),
)  # fmt: skip
avg_pool.case("an empty batch", value=_pair[:0], **_wide, out=_pair[:0, :1, :1])
avg_pool.fails(
    "a window of no size", value=_pair, **_wide | {"ksize": (1, 0, 2, 1)}, error="at least 1"
)
avg_pool.fails("whole numbers", value=_pair.astype(int), **_wide, error="must be bfloat16")
avg_pool.fails(
    "a window over channels", value=_pair, **_wide | {"ksize": (1, 1, 1, 2)},
    error="1 for batch and channels",
)  # fmt: skip

for _each, _sizes in ((avg_pool, {"value": _line(1, 3)}), (avg_pool_grad, _two_cells)):
    _each.fails(
        "a stride over channels", **_sizes, **_row | {"strides": (1, 1, 2, 2)},
        error="1 for batch and channels",
    )  # fmt: skip

avg_pool_grad.case(
    "spread over real cells", orig_input_shape=[1, 1, 3, 1], grad=_line(2, 8), **_row,
    out=_line(1, 1, 8),
)  # fmt: skip
avg_pool_grad.fails(
    "CVE-2022-21725: sizes below zero", orig_input_shape=[1, 1, -3, 1], grad=_line(2, 8), **_row,
    error="not be negative",
)  # fmt: skip
avg_pool_grad.fails(
    "a size of -1, and an empty gradient",
    orig_input_shape=[1, 1, -1, 1],
    grad=_line(),
    **_row,
    error="not be negative",
)
avg_pool_grad.fails(
    "a gradient of another shape", orig_input_shape=[1, 1, 3, 1], grad=_line(2, 8, 9), **_row,
    error="the shape that pooling gives",
)  # fmt: skip
avg_pool_grad.fails(
    "sizes that are not whole", orig_input_shape=[1, 1, 3.5, 1], grad=_line(2, 8), **_row,
    error="int32",
)  # fmt: skip
avg_pool_grad.fails(
    "more cells than can be counted", orig_input_shape=[2**31 - 1] * 4,
    grad=np.zeros((0, 1, 1, 1)), **_row, error="the shape that pooling gives",
)  # fmt: skip

avg_pool_3d.case(
    "padding does not count", input=_pair_3d, **_large,
    out=np.array([8.0, 9, 24, 25]).reshape(2, 1, 1, 1, 2),
)  # fmt: skip
avg_pool_3d.case(
    "channels first", input=np.arange(8.0).reshape(1, 1, 2, 2, 2), data_format="NCDHW",
    ksize=(1, 1, 2, 2, 2), strides=(1, 1, 2, 2, 2), padding="VALID",
    out=np.full((1, 1, 1, 1, 1), 3.5),
)  # fmt: skip
avg_pool_3d.case(
    "a window without a cell", input=np.zeros((1, 0, 2, 2, 1)), ksize=(1, 2, 2, 2, 1),
    strides=(1, 1, 1, 1, 1), padding="EXPLICIT", explicit_paddings=(0, 0, 1, 1, 0, 0, 0, 0, 0, 0),
    out=np.zeros((1, 1, 1, 1, 1)),
)  # fmt: skip
avg_pool_3d.fails("an image", input=_pair, **_large, error="must have 5 dimensions")

avg_pool_3d_grad.case(
    "one window over eight cells", orig_input_shape=[1, 2, 2, 2, 1],
    grad=np.full((1, 1, 1, 1, 1), 8.0), **_large, out=np.ones((1, 2, 2, 2, 1)),
)  # fmt: skip
avg_pool_3d_grad.case(
    "one window a volume", orig_input_shape=[2, 2, 2, 2, 2],
    grad=np.array([1.0, 2, 3, 4]).reshape(2, 1, 1, 1, 2), **_large,
    out=np.array([0.125, 0.25] * 8 + [0.375, 0.5] * 8).reshape(2, 2, 2, 2, 2),
)  # fmt: skip
avg_pool_3d_grad.case(
    "overlapping windows add up", orig_input_shape=[1, 3, 1, 1, 1],
    grad=np.array([2.0, 4]).reshape(1, 2, 1, 1, 1), ksize=(1, 2, 1, 1, 1),
    strides=(1, 1, 1, 1, 1), padding="VALID", out=np.array([1.0, 3, 2]).reshape(1, 3, 1, 1, 1),
)  # fmt: skip
avg_pool_3d_grad.fails(
    "a gradient larger than pooling gives", orig_input_shape=[2, 1, 1, 1, 2], grad=_pair_3d,
    **_large, error="the shape that pooling gives",
)  # fmt: skip
avg_pool_3d_grad.fails(
    "CVE-2021-29577: too few sizes", orig_input_shape=[2, 1, 1, 1], grad=_pair_3d, **_large,
    error="must have 5 entries",
)  # fmt: skip
