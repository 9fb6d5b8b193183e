"""Average pooling and its gradient, for images and for volumes."""

from typing import Any

import numpy as np

from backblocks import _native
from backblocks.dtypes import FLOATS, wide
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec, agreed, sizes_from
from backblocks.ops.array.shapes import shape_of
from backblocks.ops.nn._pooling import (
    NATIVE_DTYPES,
    image_pooling,
    native_geometry,
    pool_axes,
    pooled,
    volume_pooling,
)
from backblocks.ops.nn._windows import counts, from_last, last, taps, to_last


def _pool(x: Array, *, data_format: str, **windows: Any) -> Array:
    """The sum of each window's real cells, divided by how many they are."""
    x = to_last(x, data_format)
    axes = pool_axes(x, data_format=data_format, **windows)
    total = np.zeros((x.shape[0], *(a.out for a in axes), x.shape[-1]), wide(x.dtype))
    for _, cells, outputs in taps(axes):
        total[outputs] += x[cells]
    return from_last((total / counts(axes, total.dtype)).astype(x.dtype), data_format)


def _pool_grad(shape: tuple[int, ...], dy: Array, *, data_format: str, **windows: Any) -> Array:
    """Each window's gradient, spread evenly over its real cells."""
    dx = np.zeros(last(shape, data_format), wide(dy.dtype))
    axes = pool_axes(dx, data_format=data_format, **windows)
    share = to_last(dy, data_format).astype(dx.dtype) / counts(axes, dx.dtype)
    for _, cells, outputs in taps(axes):
        dx[cells] += share[outputs]
    return from_last(dx.astype(dy.dtype), data_format)


def _grad_shape(orig_input_shape: Spec, grad: Spec, *, data_format: str, **windows: Any) -> Shape:
    sizes = sizes_from("orig_input_shape", orig_input_shape, [len(data_format)])
    out = pooled("orig_input_shape", Spec(sizes, grad.dtype), data_format=data_format, **windows)
    agreed("grad", grad, out, "the shape that pooling gives")
    return sizes


@op("AvgPool", "T -> T", attrs=image_pooling, beyond=("explicit_paddings",), T=FLOATS)
def avg_pool(value: Array, **windows: Any) -> Array:
    """The mean of each window of an image.

    Padding does not count: a window at the border is divided by the number of its real cells. `ksize`
    and `strides` have one entry for each dimension, in the order of `data_format`.
    """
    return _pool(value, **windows)


@avg_pool.shape
def _(value: Spec, **windows: Any) -> Shape:
    return pooled("value", value, **windows)


@avg_pool.grad
def _(dy: Value, y: Value, value: Value, **windows: Any) -> list[Value]:
    return [avg_pool_grad(shape_of(value), dy, **windows)]


@op("AvgPoolGrad", "int32, T -> T", attrs=image_pooling, beyond=("explicit_paddings",), T=FLOATS)
def avg_pool_grad(orig_input_shape: Array, grad: Array, **windows: Any) -> Array:
    """Spreads each window's gradient evenly over its real cells, and adds up where windows overlap."""
    return _pool_grad(tuple(orig_input_shape.tolist()), grad, **windows)


avg_pool_grad.shape(_grad_shape)


@avg_pool_grad.grad
def _(ddx: Value, dx: Value, orig_input_shape: Value, grad: Value, **windows: Any) -> list[Value]:
    return [None, avg_pool(ddx, **windows)]


@op("AvgPool3D", "T -> T", attrs=volume_pooling, beyond=("explicit_paddings",), T=FLOATS)
def avg_pool_3d(input: Array, **windows: Any) -> Array:
    """The mean of each window of a volume.

    Padding does not count: a window at the border is divided by the number of its real cells. `ksize`
    and `strides` have one entry for each dimension, in the order of `data_format`.
    """
    return _pool(input, **windows)


@avg_pool_3d.shape
def _(input: Spec, **windows: Any) -> Shape:
    return pooled("input", input, **windows)


@avg_pool_3d.grad
def _(dy: Value, y: Value, input: Value, **windows: Any) -> list[Value]:
    return [avg_pool_3d_grad(shape_of(input), dy, **windows)]


@op("AvgPool3DGrad", "int32, T -> T", attrs=volume_pooling, beyond=("explicit_paddings",), T=FLOATS)
def avg_pool_3d_grad(orig_input_shape: Array, grad: Array, **windows: Any) -> Array:
    """Spreads each window's gradient evenly over its real cells, and adds up where windows overlap."""
    return _pool_grad(tuple(orig_input_shape.tolist()), grad, **windows)


avg_pool_3d_grad.shape(_grad_shape)


@avg_pool_3d_grad.grad
def _(ddx: Value, dx: Value, orig_input_shape: Value, grad: Value, **windows: Any) -> list[Value]:
    return [None, avg_pool_3d(ddx, **windows)]


@avg_pool_3d_grad.kernel(
    "native",
    lambda inputs, attrs: attrs["data_format"] == "NDHWC" and inputs[1].dtype in NATIVE_DTYPES,
)
def _(orig_input_shape: Array, grad: Array, **windows: Any) -> Array:
    dx = np.empty(orig_input_shape.tolist(), grad.dtype)
    _native.avg_pool_3d_grad(np.ascontiguousarray(grad), dx, *native_geometry(pool_axes(dx, **windows)))
    return dx
