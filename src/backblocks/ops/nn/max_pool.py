"""Max pooling with its first and second gradients, for images and for volumes."""

import math
from typing import Annotated, Any

import numpy as np

from backblocks import _native
from backblocks.dtypes import REALS, lowest, wide
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.ops._op import Op, Value, op
from backblocks.ops._spec import Shape, Spec, agreed, ranked
from backblocks.ops.attrs import (
    Flag,
    ImageLayout,
    Padding,
    Pads,
    Strides,
    Window,
    check_window,
    choice,
    dtype_of,
)
from backblocks.ops.nn._pooling import (
    NATIVE_DTYPES,
    image_pooling,
    native_geometry,
    pool_axes,
    pooled,
    volume_pooling,
)
from backblocks.ops.nn._windows import Axis, from_last, taps, to_last

ArgmaxType = Annotated[Any, dtype_of("int32", "int64")]
Ties = Annotated[str, choice("Who gets a window's gradient.", "first", "tensorflow-cpu")]


# -- what the ops are made of; arrays are (batch, *space, channels) -------------------------------


def _maximum(x: Array, axes: list[Axis]) -> Array:
    """The largest value of each window; a NaN in the window wins."""
    y = np.full(_window_shape(x, axes), lowest(x.dtype), x.dtype)
    for _, cells, outputs in taps(axes):
        y[outputs] = np.maximum(y[outputs], x[cells])
    return y


def _winners(x: Array, axes: list[Axis]) -> Array:
    """Which cell of space wins each window: its first NaN, else its first maximum."""
    best = np.full(_window_shape(x, axes), lowest(x.dtype), x.dtype)
    winner = np.full(best.shape, -1)
    cell = np.arange(math.prod(x.shape[1:-1])).reshape(1, *x.shape[1:-1], 1)
    for _, cells, outputs in taps(axes):
        new, old = x[cells], best[outputs]
        better = (new > old) | ((new != new) & (old == old)) | (winner[outputs] < 0)
        best[outputs] = np.where(better, new, old)
        winner[outputs] = np.where(better, cell[cells], winner[outputs])
    return winner


def _send_back(dy: Array, winner: Array, space: tuple[int, ...]) -> Array:
    """Adds each window's gradient to the cell that won it."""
    batch, *_, channels = dy.shape
    dx = np.zeros((batch, math.prod(space), channels), wide(dy.dtype))
    np.add.at(dx, _cells(winner), dy.reshape(batch, -1, channels))
    return dx.reshape(batch, *space, channels).astype(dy.dtype)


def _pick(ddx: Array, winner: Array) -> Array:
    """For each window, the value at the cell that won it: the adjoint of `_send_back`."""
    if not ddx.size:
        return np.zeros(winner.shape, ddx.dtype)
    batch, *_, channels = ddx.shape
    return ddx.reshape(batch, -1, channels)[_cells(winner)].reshape(winner.shape)


def _cells(winner: Array) -> tuple[Array, Array, Array]:
    batch, *_, channels = winner.shape
    flat = winner.reshape(batch, -1, channels)
    return np.arange(batch)[:, None, None], flat, np.arange(channels)


def _window_shape(x: Array, axes: list[Axis]) -> tuple[int, ...]:
    return (x.shape[0], *(axis.out for axis in axes), x.shape[-1])


def _pool(x: Array, *, data_format: str, **windows: Any) -> Array:
    x = to_last(x, data_format)
    return from_last(_maximum(x, pool_axes(x, data_format=data_format, **windows)), data_format)


def _pool_grad(x: Array, dy: Array, *, data_format: str, **windows: Any) -> Array:
    x, dy = to_last(x, data_format), to_last(dy, data_format)
    winner = _winners(x, pool_axes(x, data_format=data_format, **windows))
    return from_last(_send_back(dy, winner, x.shape[1:-1]), data_format)


def _pool_grad_grad(x: Array, ddx: Array, *, data_format: str, **windows: Any) -> Array:
    x, ddx = to_last(x, data_format), to_last(ddx, data_format)
    winner = _winners(x, pool_axes(x, data_format=data_format, **windows))
    return from_last(_pick(ddx, winner), data_format)


def _grad_shape(orig_input: Spec, orig_output: Spec, grad: Spec, **windows: Any) -> Shape:
    out = pooled("orig_input", orig_input, **windows)
    out = agreed("orig_output", orig_output, out, "the shape that pooling gives")
    agreed("grad", grad, out, "the shape that pooling gives")
    return orig_input.shape


def _grad_grad_shape(orig_input: Spec, orig_output: Spec, grad: Spec, **windows: Any) -> Shape:
    out = pooled("orig_input", orig_input, **windows)
    agreed("grad", grad, orig_input.shape, "the shape of orig_input")
    return agreed("orig_output", orig_output, out, "the shape that pooling gives")


# -- images ------------------------------------------------------------------------------------


@op("MaxPool", "T -> T", attrs=image_pooling, T=REALS)
def max_pool(input: Array, **windows: Any) -> Array:
    """The largest value of each window of an image.

    `ksize` and `strides` have one entry for each dimension, in the order of `data_format`. Padding
    never wins a window; a NaN does. A window over channels instead of space (`ksize` 1 in space, and
    equal to `strides` in channels) keeps the largest of each group of channels.
    """
    group, windows = _split_channels(**windows)
    x = to_last(input, windows["data_format"])
    x = x.reshape(*x.shape[:-1], x.shape[-1] // group, group).max(-1)
    return _pool(from_last(x, windows["data_format"]), **windows)


@max_pool.shape
def _(input: Spec, **windows: Any) -> Shape:
    group, windows = _split_channels(**windows)
    out = list(pooled("input", input, **windows))
    channels = windows["data_format"].index("C")
    size = out[channels]
    if size is not None:
        if size % group:
            raise OpError(f"must divide the {size} channels", arg="ksize", got=group)
        out[channels] = size // group
    return tuple(out)


def _split_channels(
    *, ksize: tuple[int, ...], strides: tuple[int, ...], data_format: str, **rest: Any
) -> tuple[int, dict[str, Any]]:
    """How many channels a window pools together (mostly 1), and the windows over space."""
    channels = data_format.index("C")
    group = ksize[channels] if len(ksize) == len(strides) == 4 else 1
    if group > 1:
        if math.prod(ksize) != group or strides[channels] != group:
            raise OpError(
                "a window over channels must be 1 in space and have a stride of its own size",
                arg="ksize",
                got=ksize,
            )
        ksize, strides = (
            tuple(1 if axis == channels else v for axis, v in enumerate(values))
            for values in (ksize, strides)
        )
    return group, {"ksize": ksize, "strides": strides, "data_format": data_format, **rest}


@max_pool.grad
def _(dy: Value, y: Value, input: Value, **windows: Any) -> list[Value]:
    return [max_pool_grad(input, y, dy, **windows)]


@op("MaxPoolGrad", "T, T, T -> T", attrs=image_pooling, T=REALS)
def max_pool_grad(orig_input: Array, orig_output: Array, grad: Array, **windows: Any) -> Array:
    """Sends each window's gradient back to the cell that won it; of equals, the first.

    The winner is found in `orig_input`; of `orig_output` only the shape is used.
    """
    return _pool_grad(orig_input, grad, **windows)


max_pool_grad.shape(_grad_shape)


@max_pool_grad.grad
def _(ddx: Value, dx: Value, orig_input: Value, orig_output: Value, grad: Value, **windows: Any) -> list[Value]:
    return [None, None, max_pool_grad_grad(orig_input, orig_output, ddx, **windows)]


@op("MaxPoolGradGrad", "T, T, T -> T", attrs=image_pooling, beyond=("explicit_paddings",), T=REALS)
def max_pool_grad_grad(orig_input: Array, orig_output: Array, grad: Array, **windows: Any) -> Array:
    """For each window, the value of `grad` at the cell that won it.

    It is the adjoint of MaxPoolGrad, and so the second gradient of MaxPool.
    """
    return _pool_grad_grad(orig_input, grad, **windows)


max_pool_grad_grad.shape(_grad_grad_shape)


@max_pool_grad_grad.grad
def _(d: Value, y: Value, orig_input: Value, orig_output: Value, grad: Value, **windows: Any) -> list[Value]:
    return [None, None, max_pool_grad(orig_input, orig_output, d, **windows)]


# -- images: the window is a tensor -----------------------------------------------------------------


def _tensor_windows(
    *, padding: Padding, data_format: ImageLayout = "NHWC", explicit_paddings: Pads = ()
) -> None:
    """The attributes of the ops that take window and stride as tensors."""


def _windows_of(ksize: Array, strides: Array) -> dict[str, Any]:
    return {"ksize": check_window("ksize", ksize), "strides": check_window("strides", strides)}


def _delegate(v2: Op, v1: Op) -> None:
    """Gives `v2`, whose last two inputs are window and stride, the shape rule of `v1`."""

    def rule(*specs: Spec, data_format: str, **how: Any) -> Shape:
        *tensors, ksize, strides = specs
        for arg, spec in (("ksize", ksize), ("strides", strides)):
            (length,) = ranked(arg, spec, 1)
            if length not in (None, 4):
                raise OpError("must have 4 entries", arg=arg, got=length)
        if ksize.value is None or strides.value is None:
            return (None,) * 4
        assert v1.shape_rule is not None
        windows = _windows_of(ksize.value, strides.value)
        shape: Shape = v1.shape_rule(*tensors, data_format=data_format, **windows, **how)
        return shape

    v2.shape(rule)


@op("MaxPoolV2", "T, int32, int32 -> T", attrs=_tensor_windows, beyond=("explicit_paddings",), T=REALS)
def max_pool_v2(input: Array, ksize: Array, strides: Array, **how: Any) -> Any:
    """MaxPool whose window and stride are tensors."""
    return max_pool.meaning(input, **_windows_of(ksize, strides), **how)


_delegate(max_pool_v2, max_pool)


@max_pool_v2.grad
def _(dy: Value, y: Value, input: Value, ksize: Value, strides: Value, **how: Any) -> list[Value]:
    return [max_pool_grad_v2(input, y, dy, ksize, strides, **how), None, None]


@op(
    "MaxPoolGradV2",
    "T, T, T, int32, int32 -> T",
    attrs=_tensor_windows,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_grad_v2(
    orig_input: Array, orig_output: Array, grad: Array, ksize: Array, strides: Array, **how: Any
) -> Array:
    """MaxPoolGrad whose window and stride are tensors."""
    return _pool_grad(orig_input, grad, **_windows_of(ksize, strides), **how)


_delegate(max_pool_grad_v2, max_pool_grad)


@max_pool_grad_v2.grad
def _(ddx: Value, dx: Value, x: Value, y: Value, dy: Value, k: Value, s: Value, **how: Any) -> list[Value]:
    return [None, None, max_pool_grad_grad_v2(x, y, ddx, k, s, **how), None, None]


@op(
    "MaxPoolGradGradV2",
    "T, T, T, int32, int32 -> T",
    attrs=_tensor_windows,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_grad_grad_v2(
    orig_input: Array, orig_output: Array, grad: Array, ksize: Array, strides: Array, **how: Any
) -> Array:
    """MaxPoolGradGrad whose window and stride are tensors."""
    return _pool_grad_grad(orig_input, grad, **_windows_of(ksize, strides), **how)


_delegate(max_pool_grad_grad_v2, max_pool_grad_grad)


@max_pool_grad_grad_v2.grad
def _(d: Value, out: Value, x: Value, y: Value, ddx: Value, k: Value, s: Value, **how: Any) -> list[Value]:
    return [None, None, max_pool_grad_v2(x, y, d, k, s, **how), None, None]


# -- images: the winners are handed on ----------------------------------------------------------------


def _argmax_windows(
    *,
    ksize: Window,
    strides: Strides,
    padding: Padding,
    explicit_paddings: Pads = (),
) -> None:
    """The attributes of the ops that keep or take the index of each window's winner."""


def _argmax_grad_shape(
    input: Spec, grad: Spec, argmax: Spec, *, include_batch_in_index: bool, **windows: Any
) -> Shape:
    out = pooled("input", input, **windows)
    agreed("argmax", argmax, out, "the shape that pooling gives")
    sizes = input.shape if include_batch_in_index or input.shape is None else input.shape[1:]
    if argmax.value is not None and argmax.value.size and sizes is not None and None not in sizes:
        limit = math.prod(n for n in sizes if n is not None)
        low, high = argmax.value.min(), argmax.value.max()
        if low < 0 or high >= limit:
            raise OpError(
                f"every index must be at least 0 and below {limit}",
                arg="argmax",
                got=int(low if low < 0 else high),
            )
    return out


def _flat_index(argmax: Array, include_batch_in_index: bool, image_size: int) -> Array:
    """Indices into the whole input, flattened."""
    index = argmax.astype(np.int64)
    if not include_batch_in_index:
        index += np.arange(len(argmax)).reshape(-1, 1, 1, 1) * image_size
    return index


@op(
    "MaxPoolWithArgmax",
    "T -> output: T, argmax: Targmax",
    attrs=_argmax_windows,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_with_argmax(
    input: Array, *, Targmax: ArgmaxType = "int64", include_batch_in_index: Flag = False, **windows: Any
) -> tuple[Array, Array]:
    """The largest value of each window, and where it was.

    The index counts through `(height, width, channels)` of its own image, or through the whole input
    when `include_batch_in_index` is set. Of equals the first is taken; a NaN wins its window.
    """
    axes = pool_axes(input, **windows)
    winner = _winners(input, axes)
    channels = input.shape[-1]
    argmax = winner * channels + np.arange(channels)
    if include_batch_in_index:
        argmax += np.arange(len(input)).reshape(-1, 1, 1, 1) * math.prod(input.shape[1:])
    return _maximum(input, axes), argmax.astype(Targmax)


@max_pool_with_argmax.shape
def _(
    input: Spec, *, Targmax: Any, include_batch_in_index: bool, **windows: Any
) -> tuple[Shape, Shape]:
    out = pooled("input", input, **windows)
    sizes = input.shape or ()
    if Targmax.itemsize == 4 and math.prod(n for n in sizes if n is not None) >= 2**31:
        raise OpError("indices of this input do not fit in int32", arg="Targmax", hint="Use int64.")
    return out, out


@max_pool_with_argmax.grad
def _(dy: Value, y: Value, input: Value, *, Targmax: Any, **windows: Any) -> list[Value]:
    if dy.output is None:
        return [None]
    return [max_pool_grad_with_argmax(input, dy.output, y.argmax, **windows)]


@op(
    "MaxPoolGradWithArgmax",
    "T, T, Targmax -> T",
    attrs=_argmax_windows,
    beyond=("explicit_paddings",),
    T=REALS,
    Targmax=("int32", "int64"),
)
def max_pool_grad_with_argmax(
    input: Array, grad: Array, argmax: Array, *, include_batch_in_index: Flag = False, **windows: Any
) -> Array:
    """Adds each window's gradient to the cell that `argmax` names."""
    dx = np.zeros(input.size, wide(grad.dtype))
    np.add.at(dx, _flat_index(argmax, include_batch_in_index, math.prod(input.shape[1:])), grad)
    return dx.reshape(input.shape)


@max_pool_grad_with_argmax.shape
def _(input: Spec, grad: Spec, argmax: Spec, **windows: Any) -> Shape:
    out = _argmax_grad_shape(input, grad, argmax, **windows)
    agreed("grad", grad, out, "the shape that pooling gives")
    return input.shape


@max_pool_grad_with_argmax.grad
def _(ddx: Value, dx: Value, input: Value, grad: Value, argmax: Value, **windows: Any) -> list[Value]:
    return [None, max_pool_grad_grad_with_argmax(input, ddx, argmax, **windows), None]


@op(
    "MaxPoolGradGradWithArgmax",
    "T, T, Targmax -> T",
    attrs=_argmax_windows,
    beyond=("explicit_paddings",),
    T=REALS,
    Targmax=("int32", "int64"),
)
def max_pool_grad_grad_with_argmax(
    input: Array, grad: Array, argmax: Array, *, include_batch_in_index: Flag = False, **windows: Any
) -> Array:
    """For each window, the value of `grad` at the cell that `argmax` names."""
    if not grad.size:
        return np.zeros(argmax.shape, grad.dtype)
    index = _flat_index(argmax, include_batch_in_index, math.prod(input.shape[1:]))
    return grad.reshape(-1)[index]


@max_pool_grad_grad_with_argmax.shape
def _(input: Spec, grad: Spec, argmax: Spec, **windows: Any) -> Shape:
    agreed("grad", grad, input.shape, "the shape of input")
    return _argmax_grad_shape(input, grad, argmax, **windows)


@max_pool_grad_grad_with_argmax.grad
def _(d: Value, y: Value, input: Value, grad: Value, argmax: Value, **windows: Any) -> list[Value]:
    return [None, max_pool_grad_with_argmax(input, d, argmax, **windows), None]


# -- volumes ---------------------------------------------------------------------------------------


@op("MaxPool3D", "T -> T", attrs=volume_pooling, beyond=("explicit_paddings",), T=REALS)
def max_pool_3d(input: Array, **windows: Any) -> Array:
    """The largest value of each window of a volume.

    `ksize` and `strides` have one entry for each dimension, in the order of `data_format`. Padding
    never wins a window; a NaN does.
    """
    return _pool(input, **windows)


@max_pool_3d.shape
def _(input: Spec, **windows: Any) -> Shape:
    return pooled("input", input, **windows)


@max_pool_3d.grad
def _(dy: Value, y: Value, input: Value, **windows: Any) -> list[Value]:
    return [max_pool_3d_grad(input, y, dy, **windows)]


@op(
    "MaxPool3DGrad",
    "TInput, TInput, T -> T",
    attrs=volume_pooling,
    beyond=("explicit_paddings", "ties"),
    TInput=REALS,
    T=REALS,
)
def max_pool_3d_grad(
    orig_input: Array, orig_output: Array, grad: Array, *, ties: Ties = "first", **windows: Any
) -> Array:
    """Sends each window's gradient back to the cell that won it; of equals, the first.

    The winner is found in `orig_input`; of `orig_output` only the shape is used. That makes it the
    adjoint of MaxPool3D. With `ties="tensorflow-cpu"` every cell within 1e-5 of `orig_output` gets the
    whole gradient, so that a sum over a tie counts it more than once.
    """
    if ties == "first":
        return _pool_grad(orig_input, grad, **windows)
    layout = windows["data_format"]
    x, y, dy = to_last(orig_input, layout), to_last(orig_output, layout), to_last(grad, layout)
    dx = np.zeros(x.shape, wide(dy.dtype))
    for _, cells, outputs in taps(pool_axes(x, **windows)):
        near = np.abs(x[cells] - y[outputs]) < np.asarray(1e-5, x.dtype)
        dx[cells] += np.where(near, dy[outputs], 0)
    return from_last(dx.astype(dy.dtype), layout)


@max_pool_3d_grad.shape
def _(orig_input: Spec, orig_output: Spec, grad: Spec, *, ties: str, **windows: Any) -> Shape:
    return _grad_shape(orig_input, orig_output, grad, **windows)


@max_pool_3d_grad.grad
def _(
    ddx: Value, dx: Value, orig_input: Value, orig_output: Value, grad: Value, *, ties: str, **windows: Any
) -> list[Value]:
    if ties != "first":
        raise OpError(
            "a gradient that counts ties more than once has no gradient of its own",
            op="MaxPool3DGrad",
            arg="ties",
            got=ties,
            hint='Use ties="first".',
        )
    return [None, None, max_pool_3d_grad_grad(orig_input, orig_output, ddx, **windows)]


@max_pool_3d_grad.kernel(
    "native",
    lambda inputs, attrs: (
        attrs["ties"] == "first"
        and attrs["data_format"] == "NDHWC"
        and inputs[0].dtype == inputs[2].dtype
        and inputs[0].dtype in NATIVE_DTYPES
    ),
)
def _(orig_input: Array, orig_output: Array, grad: Array, *, ties: str, **windows: Any) -> Array:
    axes = pool_axes(orig_input, **windows)
    x, dy = np.ascontiguousarray(orig_input), np.ascontiguousarray(grad)
    dx = np.empty(x.shape, x.dtype)
    _native.max_pool_3d_grad(x, dy, dx, *native_geometry(axes))
    return dx


@op("MaxPool3DGradGrad", "T, T, T -> T", attrs=volume_pooling, beyond=("explicit_paddings",), T=REALS)
def max_pool_3d_grad_grad(orig_input: Array, orig_output: Array, grad: Array, **windows: Any) -> Array:
    """For each window, the value of `grad` at the cell that won it.

    It is the adjoint of MaxPool3DGrad, and so the second gradient of MaxPool3D.
    """
    return _pool_grad_grad(orig_input, grad, **windows)


max_pool_3d_grad_grad.shape(_grad_grad_shape)


@max_pool_3d_grad_grad.grad
def _(d: Value, y: Value, orig_input: Value, orig_output: Value, grad: Value, **windows: Any) -> list[Value]:
    return [None, None, max_pool_3d_grad(orig_input, orig_output, d, **windows)]


# -- cases -----------------------------------------------------------------------------------------

ramp = np.arange(16.0).reshape(1, 4, 4, 1)
box = np.arange(64.0).reshape(1, 4, 4, 4, 1)
twos: dict[str, Any] = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"}
cubes: dict[str, Any] = {"ksize": (1, 2, 2, 2, 1), "strides": (1, 2, 2, 2, 1), "padding": "VALID"}
flat_image, one = np.ones((1, 2, 2, 1)), np.ones((1, 1, 1, 1))


max_pool.case("2 x 2 windows of a ramp", input=ramp, **twos, out=ramp[:, 1::2, 1::2])
max_pool.case(
    "padding never wins",
    input=-1 - ramp[:, :3, :3],
    **twos | {"padding": "SAME"},
    out=-1 - ramp[:, :3:2, :3:2],
)
