"""Max pooling with its first and second gradients, for images and for volumes."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import REALS, is_float, lowest, wide
from backblocks.errors import OpError, described
from backblocks.ops import _kernels
from backblocks.ops._cells import Cells, Way, held, loop
from backblocks.ops._inputs import Array
from backblocks.ops._op import Fill, Op, Value, op
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
    agreed_with_pooling,
    image_pooling,
    native_pool,
    one_in_channels,
    pool_axes,
    pool_way,
    pooled,
    volume_pooling,
)
from backblocks.ops.nn._windows import (
    Axis,
    first,
    from_last,
    last,
    sizes_last,
    taps,
    to_last,
    window_shape,
    winners,
)

ArgmaxType = Annotated[Any, dtype_of("int32", "int64")]
_ABOUT_TIES = "Of equals the first gets a window's gradient, or each as in TensorFlow's CPU kernel."
Ties = Annotated[str, choice(_ABOUT_TIES, "first", "tensorflow-cpu")]


# -- what the ops are made of; arrays are (batch, *space, channels) -------------------------------


def _maximum(x: Array, axes: list[Axis]) -> Array:
    """The largest value of each window; a NaN in the window wins."""
    y = np.full(window_shape(x, axes), lowest(x.dtype), x.dtype)
    for _, cells, outputs in taps(axes, x):
        y[outputs] = np.maximum(y[outputs], x[cells])
    return y


def _winners(x: Array, axes: list[Axis]) -> tuple[Array, Array]:
    """The value that wins each window, its first NaN or else its first maximum, and its cell."""
    cell = np.arange(math.prod(x.shape[1:-1])).reshape(1, *x.shape[1:-1], 1)
    return winners(x, axes, lambda number, tap, cells: (x[cells], cell[cells]))


def _send_back(dy: Array, winner: Array, space: tuple[int, ...]) -> Array:
    """Adds each window's gradient to the cell that won it."""
    batch, *_, channels = dy.shape
    dx = np.zeros((batch, math.prod(space), channels), wide(dy.dtype))
    np.add.at(dx, _cells(winner), dy.reshape(batch, -1, channels))
    return dx.reshape(batch, *space, channels).astype(dy.dtype, copy=False)


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


def _pool(x: Array, *, data_format: str, **windows: Any) -> Array:
    x = to_last(x, data_format)
    return from_last(_maximum(x, pool_axes(x, data_format=data_format, **windows)), data_format)


def _pool_grad(x: Array, dy: Array, *, data_format: str, **windows: Any) -> Array:
    x, dy = to_last(x, data_format), to_last(dy, data_format)
    _, winner = _winners(x, pool_axes(x, data_format=data_format, **windows))
    return from_last(_send_back(dy, winner, x.shape[1:-1]), data_format)


def _pool_grad_grad(x: Array, ddx: Array, *, data_format: str, **windows: Any) -> Array:
    x, ddx = to_last(x, data_format), to_last(ddx, data_format)
    _, winner = _winners(x, pool_axes(x, data_format=data_format, **windows))
    return from_last(_pick(ddx, winner), data_format)


def _pooled(arg: str, input: Spec, **windows: Any) -> Shape:
    """The shape that pooling over space or over channels gives."""
    group, _ = _channel_window(**windows)
    if group == 1:
        return pooled(arg, input, **windows)
    layout = windows["data_format"]
    batch, *space, channels = sizes_last(arg, input, layout)
    if channels is not None and channels % group:
        raise OpError(
            f"must divide the {channels} channels",
            arg="ksize",
            got=group,
            hint="Use 1 to pool each channel by itself.",
        )
    kept = first((batch, *space, None if channels is None else channels // group), layout)
    ones = {name: one_in_channels(windows[name], layout) for name in ("ksize", "strides")}
    return pooled(arg, Spec(kept, input.dtype), **windows | ones)


def _channel_window(
    *, ksize: tuple[int, ...], strides: tuple[int, ...], data_format: str, **rest: Any
) -> tuple[int, int]:
    """How many channels a window pools together (mostly 1), and at which axis they stand."""
    channels = data_format.index("C")
    group = ksize[channels] if len(ksize) == len(strides) == len(data_format) == 4 else 1
    if group > 1 and (math.prod(ksize) != group or strides[channels] != group):
        raise OpError(
            "a window over channels must be 1 in space and have a stride of its own size",
            arg="ksize",
            got=ksize,
            hint=f"Write ksize in the order of {data_format}; pool over space and channels in two calls.",
        )
    return group, channels


class _ChannelsAsSpace:
    """Turns pooling over groups of channels into pooling over one more axis of space.

    With no such groups, as mostly, it leaves everything as it is.
    """

    def __init__(self, windows: dict[str, Any]) -> None:
        self.group, _ = _channel_window(**windows)
        self.layout = windows["data_format"]
        self.windows = windows
        if self.group > 1:
            self.windows = {
                "ksize": (1, 1, 1, self.group, 1),
                "strides": (*last(windows["strides"], self.layout)[:3], self.group, 1),
                # Explicit padding of a window of 1 can only be none, which VALID says in any rank.
                "padding": "SAME" if windows["padding"] == "SAME" else "VALID",
                "explicit_paddings": (),
                "data_format": "NDHWC",
            }

    def fold(self, x: Array, group: int) -> Array:
        """(batch, height, width, channels) as (batch, height, width, group, channels / group)."""
        if self.group == 1:
            return x
        x = to_last(x, self.layout)
        return x.reshape(*x.shape[:3], x.shape[3] // group, group).swapaxes(3, 4)

    def unfold(self, x: Array) -> Array:
        if self.group == 1:
            return x
        x = x.swapaxes(3, 4)
        return from_last(x.reshape(*x.shape[:3], x.shape[3] * x.shape[4]), self.layout)


def _grad_shape(orig_input: Spec, orig_output: Spec, grad: Spec, **windows: Any) -> Shape:
    out = _pooled("orig_input", orig_input, **windows)
    out = agreed_with_pooling("orig_output", orig_output, out)
    agreed_with_pooling("grad", grad, out)
    return orig_input.shape


_FOR_EACH_CELL = "Pass a value for each cell of the input, not for each window."


def _grad_grad_shape(orig_input: Spec, orig_output: Spec, grad: Spec, **windows: Any) -> Shape:
    out = _pooled("orig_input", orig_input, **windows)
    agreed("grad", grad, orig_input.shape, "the shape of orig_input", _FOR_EACH_CELL)
    return agreed_with_pooling("orig_output", orig_output, out)


def _pool_cells(y: Spec, input: Spec, **windows: Any) -> list[Way]:
    return pool_way("max", ("input",), input, cells=("input",), windows=("output",), **windows)


def _grad_cells(
    y: Spec, orig_input: Spec, orig_output: Spec, grad: Spec, **windows: Any
) -> list[Way]:
    return pool_way(
        "winners",
        ("grad", "orig_input"),
        orig_input,
        cells=("output",),
        windows=("orig_output", "grad"),
        candidates="orig_input",
        **windows,
    )


def _grad_grad_cells(
    y: Spec, orig_input: Spec, orig_output: Spec, grad: Spec, **windows: Any
) -> list[Way]:
    return pool_way(
        "winner's",
        ("grad", "orig_input"),
        orig_input,
        cells=("orig_input", "grad"),
        windows=("orig_output", "output"),
        **windows,
    )


# -- images ------------------------------------------------------------------------------------


@op(
    "MaxPool",
    "T -> T",
    also=("max_pool2d", "MaxPooling2D", "nn.MaxPool2d", "downsampling"),
    attrs=image_pooling,
    T=REALS,
)
def max_pool(input: Array, **windows: Any) -> Array:
    """The largest value of each window of an image.

    output[n, o, c] = max over j of input[n, o·strides - p + j, c]
    where o and j stand for height and width, 0 ≤ j < ksize; padding takes no part
    where p is the padding before:
        with SAME ⌊max((⌈size / strides⌉ - 1) · strides + ksize - size, 0) / 2⌋ for an axis of this size
    with NCHW the channels stand second: output[n, c, o]

    `ksize` and `strides` have one entry for each dimension, in the order of `data_format`. Padding
    never wins a window; a NaN does. A window over channels instead of space (`ksize` 1 in space, and
    equal to `strides` in channels) keeps the largest of each group of channels.
    """
    over = _ChannelsAsSpace(windows)
    return over.unfold(_pool(over.fold(input, over.group), **over.windows))


@max_pool.shape
def _(input: Spec, **windows: Any) -> Shape:
    return _pooled("input", input, **windows)


@max_pool.grad
def _(dy: Value, y: Value, input: Value, **windows: Any) -> list[Value]:
    return [max_pool_grad(input, y, dy, **windows)]


@op("MaxPoolGrad", "T, T, T -> T", attrs=image_pooling, T=REALS)
def max_pool_grad(orig_input: Array, orig_output: Array, grad: Array, **windows: Any) -> Array:
    """Sends each window's gradient back to the cell that won it; of equals, the first.

    output[n, i, c] = Σ over the windows o that cell i has won of grad[n, o, c]
    where window o has the cells o·strides - p + j along height and width, as in MaxPool
    where its winner is the first NaN of orig_input, or else the first maximum, in row-major order
    with NCHW the channels stand second: output[n, c, i]

    The winner is found in `orig_input`; of `orig_output` only the shape is used.
    """
    over = _ChannelsAsSpace(windows)
    x, dy = over.fold(orig_input, over.group), over.fold(grad, 1)
    return over.unfold(_pool_grad(x, dy, **over.windows))


max_pool_grad.shape(_grad_shape)


@max_pool_grad.grad
def _(
    ddx: Value, dx: Value, orig_input: Value, orig_output: Value, grad: Value, **windows: Any
) -> list[Value]:
    return [None, None, max_pool_grad_grad(orig_input, orig_output, ddx, **windows)]


@op("MaxPoolGradGrad", "T, T, T -> T", attrs=image_pooling, beyond=("explicit_paddings",), T=REALS)
def max_pool_grad_grad(orig_input: Array, orig_output: Array, grad: Array, **windows: Any) -> Array:
    """For each window, the value of `grad` at the cell that won it.

    output[n, o, c] = grad[n, i, c] at the cell i that has won window o
    where window o has the cells o·strides - p + j along height and width, as in MaxPool
    where its winner is the first NaN of orig_input, or else the first maximum, in row-major order
    with NCHW the channels stand second: output[n, c, o]

    It is the adjoint of MaxPoolGrad, and so the second gradient of MaxPool.
    """
    over = _ChannelsAsSpace(windows)
    x, ddx = over.fold(orig_input, over.group), over.fold(grad, over.group)
    return over.unfold(_pool_grad_grad(x, ddx, **over.windows))


max_pool_grad_grad.shape(_grad_grad_shape)


@max_pool_grad_grad.grad
def _(
    d: Value, y: Value, orig_input: Value, orig_output: Value, grad: Value, **windows: Any
) -> list[Value]:
    return [None, None, max_pool_grad(orig_input, orig_output, d, **windows)]


# -- images: the window is a tensor ---------------------------------------------------------------


def _tensor_windows(
    *, padding: Padding, data_format: ImageLayout = "NHWC", explicit_paddings: Pads = ()
) -> None:
    """The attributes of the ops that take window and stride as tensors."""


def _windows_of(ksize: Array, strides: Array) -> dict[str, Any]:
    return {"ksize": check_window("ksize", ksize), "strides": check_window("strides", strides)}


def _delegate(
    v2: Op, rule_of_v1: Callable[..., Shape], cells_of_v1: Callable[..., list[Way]]
) -> None:
    """Gives `v2`, whose last two inputs are window and stride, the rules of its first version."""

    def rule(*specs: Spec, data_format: str, **how: Any) -> Shape:
        *tensors, ksize, strides = specs
        for arg, spec in (("ksize", ksize), ("strides", strides)):
            (length,) = ranked(arg, spec, 1)
            if length not in (None, 4):
                hint = "Give one for each dimension, as in [1, 2, 2, 1]."
                raise OpError("must have 4 entries", arg=arg, got=length, hint=hint)
        if ksize.value is None or strides.value is None:
            return (None,) * 4
        windows = _windows_of(ksize.value, strides.value)
        shape: Shape = rule_of_v1(*tensors, data_format=data_format, **windows, **how)
        return shape

    @v2.cells
    def _(y: Spec, *specs: Spec, **how: Any) -> list[Way]:
        *tensors, ksize, strides = specs
        return cells_of_v1(y, *tensors, **_windows_of(ksize.contents, strides.contents), **how)

    v2.shape(rule)


@op(
    "MaxPoolV2",
    "T, int32, int32 -> T",
    also=("max_pool2d", "MaxPooling2D"),
    attrs=_tensor_windows,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_v2(input: Array, ksize: Array, strides: Array, **how: Any) -> Any:
    """MaxPool whose window and stride are tensors.

    output[n, o, c] = max over j of input[n, o·strides - p + j, c]
    where o and j stand for height and width, 0 ≤ j < ksize; padding takes no part
    where p is the padding before:
        with SAME ⌊max((⌈size / strides⌉ - 1) · strides + ksize - size, 0) / 2⌋ for an axis of this size
    with NCHW the channels stand second: output[n, c, o]
    """
    return max_pool.meaning(input, **_windows_of(ksize, strides), **how)


_delegate(max_pool_v2, lambda input, **windows: _pooled("input", input, **windows), _pool_cells)


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
) -> Any:
    """MaxPoolGrad whose window and stride are tensors.

    output[n, i, c] = Σ over the windows o that cell i has won of grad[n, o, c]
    where window o has the cells o·strides - p + j along height and width, as in MaxPool
    where its winner is the first NaN of orig_input, or else the first maximum, in row-major order
    with NCHW the channels stand second: output[n, c, i]
    """
    return max_pool_grad.meaning(
        orig_input, orig_output, grad, **_windows_of(ksize, strides), **how
    )


_delegate(max_pool_grad_v2, _grad_shape, _grad_cells)


@max_pool_grad_v2.grad
def _(
    ddx: Value, dx: Value, x: Value, y: Value, dy: Value, k: Value, s: Value, **how: Any
) -> list[Value]:
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
) -> Any:
    """MaxPoolGradGrad whose window and stride are tensors.

    output[n, o, c] = grad[n, i, c] at the cell i that has won window o
    where window o has the cells o·strides - p + j along height and width, as in MaxPool
    where its winner is the first NaN of orig_input, or else the first maximum, in row-major order
    with NCHW the channels stand second: output[n, c, o]
    """
    windows = _windows_of(ksize, strides)
    return max_pool_grad_grad.meaning(orig_input, orig_output, grad, **windows, **how)


_delegate(max_pool_grad_grad_v2, _grad_grad_shape, _grad_grad_cells)


@max_pool_grad_grad_v2.grad
def _(
    d: Value, out: Value, x: Value, y: Value, ddx: Value, k: Value, s: Value, **how: Any
) -> list[Value]:
    return [None, None, max_pool_grad_v2(x, y, d, k, s, **how), None, None]


# -- images: the winners are handed on ------------------------------------------------------------


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
    agreed_with_pooling("argmax", argmax, out)
    sizes = input.shape if include_batch_in_index or input.shape is None else input.shape[1:]
    if argmax.value is not None and argmax.value.size and sizes is not None and None not in sizes:
        # In an image without cells, the windows have the index 0 all the same.
        limit = max(1, math.prod(n for n in sizes if n is not None))
        low, high = argmax.value.min(), argmax.value.max()
        if low < 0 or high >= limit:
            raise OpError(
                f"every index must be at least 0 and below {limit}",
                arg="argmax",
                got=int(low if low < 0 else high),
                hint="Pass it as MaxPoolWithArgmax gave it, with its include_batch_in_index.",
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
    also=("max_pool2d with indices", "nn.MaxPool2d return_indices"),
    attrs=_argmax_windows,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_with_argmax(
    input: Array,
    *,
    Targmax: ArgmaxType = "int64",
    include_batch_in_index: Flag = False,
    **windows: Any,
) -> tuple[Array, Array]:
    """The largest value of each window, and where it was.

    output[n, o, c] = max over j of input[n, o·strides - p + j, c]
    argmax[n, o, c] = (y · width + x) · channels + c of the first cell (y, x) that has it
    where o and j stand for height and width, 0 ≤ j < ksize; padding takes no part
    where p is the padding before:
        with SAME ⌊max((⌈size / strides⌉ - 1) · strides + ksize - size, 0) / 2⌋ for an axis of this size
    with include_batch_in_index n · height · width · channels is added to argmax

    The index counts through `(height, width, channels)` of its own image, or through the whole input
    when `include_batch_in_index` is set. Of equals the first is taken; a NaN wins its window. The index
    of a window without any real cell is 0.
    """
    best, winner = _winners(input, pool_axes(input, **windows))
    channels = input.shape[-1]
    argmax = winner * channels + np.arange(channels)
    if include_batch_in_index:
        argmax += np.arange(len(input)).reshape(-1, 1, 1, 1) * math.prod(input.shape[1:])
    return best, np.where(winner < 0, 0, argmax).astype(Targmax)


@max_pool_with_argmax.shape
def _(
    input: Spec, *, Targmax: Any, include_batch_in_index: bool, **windows: Any
) -> tuple[Shape, Shape]:
    out = pooled("input", input, **windows)
    sizes = (input.shape or ())[0 if include_batch_in_index else 1 :]
    cells = math.prod(n for n in sizes if n is not None)
    if Targmax.itemsize == 4 and cells >= 2**31:
        raise OpError(
            f"cannot count the {cells} cells of input",
            arg="Targmax",
            got=described(Targmax.name),
            hint="Use int64.",
        )
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
    input: Array,
    grad: Array,
    argmax: Array,
    *,
    include_batch_in_index: Flag = False,
    **windows: Any,
) -> Array:
    """Adds each window's gradient to the cell that `argmax` names.

    output[n, i] = Σ over the o and c with argmax[n, o, c] = i of grad[n, o, c]
    where o stands for height and width, and i is the number of a cell of its image, row by row
    with include_batch_in_index i is its number in the whole input, and n is summed over too
    """
    dx = np.zeros(input.size, wide(grad.dtype))
    np.add.at(dx, _flat_index(argmax, include_batch_in_index, math.prod(input.shape[1:])), grad)
    return dx.reshape(input.shape)


@max_pool_grad_with_argmax.shape
def _(input: Spec, grad: Spec, argmax: Spec, **windows: Any) -> Shape:
    out = _argmax_grad_shape(input, grad, argmax, **windows)
    agreed_with_pooling("grad", grad, out)
    return input.shape


@max_pool_grad_with_argmax.grad
def _(
    ddx: Value, dx: Value, input: Value, grad: Value, argmax: Value, **windows: Any
) -> list[Value]:
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
    input: Array,
    grad: Array,
    argmax: Array,
    *,
    include_batch_in_index: Flag = False,
    **windows: Any,
) -> Array:
    """For each window, the value of `grad` at the cell that `argmax` names.

    output[n, o, c] = grad[n, argmax[n, o, c]]
    where o stands for height and width, and argmax is the number of a cell of its image, row by row
    with include_batch_in_index it is its number in all of grad
    """
    if not grad.size:
        return np.zeros(argmax.shape, grad.dtype)
    index = _flat_index(argmax, include_batch_in_index, math.prod(input.shape[1:]))
    return grad.reshape(-1)[index]


@max_pool_grad_grad_with_argmax.shape
def _(input: Spec, grad: Spec, argmax: Spec, **windows: Any) -> Shape:
    agreed("grad", grad, input.shape, "the shape of input", _FOR_EACH_CELL)
    return _argmax_grad_shape(input, grad, argmax, **windows)


@max_pool_grad_grad_with_argmax.grad
def _(d: Value, y: Value, input: Value, grad: Value, argmax: Value, **windows: Any) -> list[Value]:
    return [None, max_pool_grad_with_argmax(input, d, argmax, **windows), None]


# -- volumes --------------------------------------------------------------------------------------


@op(
    "MaxPool3D",
    "T -> T",
    also=("max_pool3d", "MaxPooling3D", "nn.MaxPool3d", "downsampling"),
    attrs=volume_pooling,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_3d(input: Array, **windows: Any) -> Array:
    """The largest value of each window of a volume.

    output[n, o, c] = max over j of input[n, o·strides - p + j, c]
    where o and j stand for depth, height and width, 0 ≤ j < ksize; padding takes no part
    where p is the padding before:
        with SAME ⌊max((⌈size / strides⌉ - 1) · strides + ksize - size, 0) / 2⌋ for an axis of this size
    with NCDHW the channels stand second: output[n, c, o]

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
    "T, T, T -> T",
    attrs=volume_pooling,
    beyond=("explicit_paddings", "ties"),
    T=REALS,
)
def max_pool_3d_grad(
    orig_input: Array, orig_output: Array, grad: Array, *, ties: Ties = "first", **windows: Any
) -> Array:
    """Sends each window's gradient back to the cell that won it; of equals, the first.

    output[n, i, c] = Σ over the windows o that cell i has won of grad[n, o, c]
    where window o has the cells o·strides - p + j along depth, height and width, as in MaxPool3D
    where its winner is the first NaN of orig_input, or else the first maximum, in row-major order
    with NCDHW the channels stand second: output[n, c, i]

    The winner is found in `orig_input`; of `orig_output` only the shape is used. That makes it the
    adjoint of MaxPool3D. With `ties="tensorflow-cpu"` every cell within 1e-5 of `orig_output` gets the
    whole gradient, so that a sum over a tie counts it more than once.
    """
    if ties == "first":
        return _pool_grad(orig_input, grad, **windows)
    layout = windows["data_format"]
    x, y, dy = to_last(orig_input, layout), to_last(orig_output, layout), to_last(grad, layout)
    dx = np.zeros(x.shape, wide(dy.dtype))
    for _, cells, outputs in taps(pool_axes(x, **windows), x):
        new, top = x[cells], y[outputs]
        near = np.abs(new - top) < np.asarray(1e-5, x.dtype) if is_float(x.dtype) else new == top
        dx[cells] += np.where(near, dy[outputs], 0)
    return from_last(dx.astype(dy.dtype, copy=False), layout)


@max_pool_3d_grad.shape
def _(orig_input: Spec, orig_output: Spec, grad: Spec, *, ties: str, **windows: Any) -> Shape:
    return _grad_shape(orig_input, orig_output, grad, **windows)


@max_pool_3d_grad.grad
def _(
    ddx: Value,
    dx: Value,
    orig_input: Value,
    orig_output: Value,
    grad: Value,
    *,
    ties: str,
    **windows: Any,
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


@op(
    "MaxPool3DGradGrad",
    "T, T, T -> T",
    attrs=volume_pooling,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_3d_grad_grad(
    orig_input: Array, orig_output: Array, grad: Array, **windows: Any
) -> Array:
    """For each window, the value of `grad` at the cell that won it.

    output[n, o, c] = grad[n, i, c] at the cell i that has won window o
    where window o has the cells o·strides - p + j along depth, height and width, as in MaxPool3D
    where its winner is the first NaN of orig_input, or else the first maximum, in row-major order
    with NCDHW the channels stand second: output[n, c, o]

    It is the adjoint of MaxPool3DGrad, and so the second gradient of MaxPool3D.
    """
    return _pool_grad_grad(orig_input, grad, **windows)


max_pool_3d_grad_grad.shape(_grad_grad_shape)


@max_pool_3d_grad_grad.grad
def _(
    d: Value, y: Value, orig_input: Value, orig_output: Value, grad: Value, **windows: Any
) -> list[Value]:
    return [None, None, max_pool_3d_grad(orig_input, orig_output, d, **windows)]


# -- which cells belong together ------------------------------------------------------------------

for _each, _rule in (
    (max_pool, _pool_cells),
    (max_pool_3d, _pool_cells),
    (max_pool_grad, _grad_cells),
    (max_pool_grad_grad, _grad_grad_cells),
    (max_pool_3d_grad_grad, _grad_grad_cells),
):
    _each.cells(_rule)


@max_pool_3d_grad.cells
def _(
    y: Spec, orig_input: Spec, orig_output: Spec, grad: Spec, *, ties: str, **windows: Any
) -> list[Way]:
    if ties == "first":
        return _grad_cells(y, orig_input, orig_output, grad, **windows)
    return pool_way(
        "close",
        ("grad", "orig_input", "orig_output"),
        orig_input,
        cells=("orig_input", "output"),
        windows=("orig_output", "grad"),
        **windows,
    )


@max_pool_with_argmax.cells
def _(
    y: Any, input: Spec, *, Targmax: Any, include_batch_in_index: bool, **windows: Any
) -> list[Way]:
    taken: dict[str, Any] = {"of": ("input",), "input": input, "cells": ("input",)}
    (place,) = pool_way("argmax", windows=("argmax",), **taken, **windows)
    counts = (0, 1, 2, 3) if include_batch_in_index else (1, 2, 3)
    return [
        *pool_way("max", windows=("output",), **taken, **windows),
        replace(place, counts=counts),
    ]


def _argmax_way(
    rule: str, input: Spec, argmax: Spec, cells: str, windows: str, include_batch_in_index: bool
) -> list[Way]:
    """Each window of `windows` belongs to the cell of `cells` that `argmax` names."""
    images, *sizes = input.sizes
    loops = dict(zip("nhwc", argmax.sizes, strict=True))
    window = tuple(map(loop, loops))
    named = (held("argmax", *window),)
    if include_batch_in_index:
        cell = Cells(named, (images * math.prod(sizes),), "NHWC")
    else:
        cell = Cells((loop("n"), *named), (images, math.prod(sizes)), "NHWC")
    return [Way(rule, ("grad",), loops, {cells: cell, windows: Cells(window, axes="NHWC")})]


@max_pool_grad_with_argmax.cells
def _(
    y: Spec, input: Spec, grad: Spec, argmax: Spec, *, include_batch_in_index: bool, **windows: Any
) -> list[Way]:
    return _argmax_way("sum", input, argmax, "output", "grad", include_batch_in_index)


@max_pool_grad_grad_with_argmax.cells
def _(
    y: Spec, input: Spec, grad: Spec, argmax: Spec, *, include_batch_in_index: bool, **windows: Any
) -> list[Way]:
    return _argmax_way("copy", input, argmax, "grad", "output", include_batch_in_index)


# -- kernels --------------------------------------------------------------------------------------


def _native_pool(input: Spec, **windows: Any) -> Fill | None:
    return native_pool(_kernels.max_pool, input.shape, input.dtype, **windows)


def _native_grad(orig_input: Spec, orig_output: Spec, grad: Spec, **windows: Any) -> Fill | None:
    pool = native_pool(_kernels.max_pool_grad, orig_input.shape, grad.dtype, **windows)
    return pool and pool.taking(0, 2, 3)


def _native_grad_grad(
    orig_input: Spec, orig_output: Spec, grad: Spec, **windows: Any
) -> Fill | None:
    pool = native_pool(_kernels.max_pool_grad_grad, orig_input.shape, grad.dtype, **windows)
    return pool and pool.taking(0, 2, 3)


for _each, _plan in (
    (max_pool, _native_pool),
    (max_pool_3d, _native_pool),
    (max_pool_grad, _native_grad),
    (max_pool_grad_grad, _native_grad_grad),
    (max_pool_3d_grad_grad, _native_grad_grad),
):
    _each.kernel("native")(_plan)


def _native_argmax(
    kernel: Callable[..., _kernels.Prepared],
    input: Spec,
    index: Any,
    include_batch_in_index: bool,
    **windows: Any,
) -> _kernels.Prepared | None:
    """The compiled kernel for pooling with argmax, or None if that is not for it."""
    if input.shape is None or math.prod(n or 0 for n in input.shape[1:3]) >= 2**29:
        return None  # it numbers the cells of an image with 30 bits, padding included

    def prepare(dtype: str, *geometry: Any) -> _kernels.Prepared:
        return kernel(dtype, index.name, *geometry, include_batch_in_index)

    return native_pool(prepare, input.shape, input.dtype, data_format="NHWC", **windows)


@max_pool_with_argmax.kernel("native")
def _(input: Spec, *, Targmax: Any, **how: Any) -> Fill | None:
    return _native_argmax(_kernels.max_pool_with_argmax, input, Targmax, **how)


@max_pool_grad_with_argmax.kernel("native")
def _(input: Spec, grad: Spec, argmax: Spec, **how: Any) -> Fill | None:
    fill = _native_argmax(_kernels.max_pool_grad_with_argmax, input, argmax.dtype, **how)
    return fill and fill.taking(1, 2, 3)


@max_pool_grad_grad_with_argmax.kernel("native")
def _(input: Spec, grad: Spec, argmax: Spec, **how: Any) -> Fill | None:
    fill = _native_argmax(_kernels.max_pool_grad_grad_with_argmax, input, argmax.dtype, **how)
    return fill and fill.taking(1, 2, 3)


@max_pool_3d_grad.kernel("native")
def _(*tensors: Spec, ties: str, **windows: Any) -> Fill | None:
    return _native_grad(*tensors, **windows) if ties == "first" else None


def _tensor_windows_natively(v2: Op, plan: Callable[..., Fill | None]) -> None:
    """The kernel of an op whose last two inputs are window and stride."""

    @v2.kernel("native")
    def _(*inputs: Spec, **how: Any) -> Fill | None:
        *tensors, ksize, strides = inputs
        if ksize.value is None or strides.value is None:
            return None
        fill = plan(*tensors, **_windows_of(ksize.value, strides.value), **how)
        return fill and (lambda *arrays: fill(*arrays[: len(tensors)], arrays[-1]))


_tensor_windows_natively(max_pool_v2, _native_pool)
_tensor_windows_natively(max_pool_grad_v2, _native_grad)
_tensor_windows_natively(max_pool_grad_grad_v2, _native_grad_grad)


# -- differences from TensorFlow ------------------------------------------------------------------

for _each in (max_pool, max_pool_v2):
    _each.differs(
        "nan",
        at="nan",
        tensorflow="A NaN is passed over; a window of nothing else gives the lowest finite number.",
        ours="A NaN in the window wins it.",
    )
    _each.differs(
        "inf",
        at="-inf",
        tensorflow="A window of minus infinity alone gives the lowest finite number.",
        ours="It gives minus infinity.",
    )
    _each.differs(
        "channel windows",
        at="channel windows",
        tensorflow="Strides in space are ignored when the window lies over channels.",
        ours="They are followed, as the shape that TensorFlow foretells says.",
    )
for _each in (max_pool_grad, max_pool_grad_v2):
    _each.differs(
        "nan",
        at="later nan",
        tensorflow="A NaN gets the gradient only when it is the first cell of its window.",
        ours="The first NaN of a window gets its gradient.",
    )
for _each in (max_pool_grad_grad, max_pool_grad_grad_v2, max_pool_3d_grad_grad):
    _each.differs(
        "nan",
        at="nan",
        tensorflow="The winner is the first cell equal to orig_output, so a NaN window gives 0.",
        ours="The winner is found in orig_input, and a NaN wins: the adjoint of the gradient op.",
    )
    _each.differs(
        "orig_output",
        at="orig_output",
        tensorflow="The values of orig_output are compared with, so a wrong one gives 0.",
        ours="Only its shape is used.",
    )
for _each in (max_pool_with_argmax, max_pool_grad_with_argmax, max_pool_grad_grad_with_argmax):
    _each.differs(
        "options",
        tensorflow="No explicit padding; some dtypes of input or index have no CPU kernel.",
        ours="Explicit padding, every dtype, int32 and int64 indices.",
    )
max_pool_with_argmax.differs(
    "nan",
    at="later nan",
    tensorflow="A NaN wins only when it is the first cell of its window.",
    ours="The first NaN of a window wins.",
)
for _each in (max_pool, max_pool_v2):
    _each.differs(
        "layout NCHW_VECT_C",
        tensorflow="Channels in groups of four are a data_format, for int8 on GPUs.",
        ours="NHWC and NCHW only.",
        agree="Transpose to NCHW.",
    )
max_pool.differs(
    "checks",
    tensorflow="Ignored without a word: a stride over channels when the window does not lie over "
    "them, and explicit_paddings when padding is not EXPLICIT.",
    ours="Both are refused.",
    agree="Use a stride of 1 for channels, and leave explicit_paddings out.",
)
max_pool_with_argmax.differs(
    "checks",
    tensorflow="A stride over channels is accepted and ignored.",
    ours="It is refused.",
    agree="Use a stride of 1 for channels.",
)
max_pool_v2.differs(
    "checks",
    tensorflow="A stride over channels is accepted and ignored; ksize and strides may have more "
    "than one dimension, and are read in a row.",
    ours="Both are refused.",
    agree="Use a stride of 1 for channels, and lists of 4.",
)
for _each in (max_pool_grad_v2, max_pool_grad_grad_v2):
    _each.differs(
        "checks",
        tensorflow="ksize and strides may have more than one dimension, and are read in a row.",
        ours="They are refused.",
        agree="Use lists of 4.",
    )
max_pool_with_argmax.differs(
    "empty", tensorflow="An empty input is refused.", ours="It gives an empty result."
)
max_pool_grad_with_argmax.differs(
    "checks",
    tensorflow="Indices outside the image are not always noticed; a stride over channels is ignored.",
    ours="Every index is checked before anything is written; such a stride is refused.",
)
max_pool_grad_grad_with_argmax.differs(
    "kernels", tensorflow="There is no CPU kernel.", ours="Works as the others do."
)
max_pool_3d.differs(
    "nan",
    at="nan",
    tensorflow="Whether a NaN wins depends on its place, the window and the channel.",
    ours="A NaN in the window wins it.",
)
max_pool_3d.differs(
    "inf",
    at="padded -inf",
    tensorflow="A padded window of minus infinity alone gives the lowest finite number.",
    ours="It gives minus infinity.",
)
max_pool_3d.differs(
    "SAME with stride > window",
    at="apart",
    tensorflow="Padding becomes negative and shifts every window.",
    ours="Padding is never negative, as documented and as in 2-D.",
)
max_pool_3d_grad.differs(
    "ties",
    at="tie",
    tensorflow="Every cell within 1e-5 of the maximum gets the whole gradient.",
    ours="The first maximum gets it, as in 2-D, so that the op is the adjoint of MaxPool3D.",
    agree='ties="tensorflow-cpu"',
)
max_pool_3d_grad.differs(
    "inf",
    at="inf wins",
    tensorflow="An infinite maximum gets no gradient.",
    ours="It gets the gradient like any other.",
    agree='ties="tensorflow-cpu"',
)
max_pool_3d_grad.differs(
    "nan",
    at="nan wins",
    tensorflow="A window with a NaN maximum gets no gradient.",
    ours="Its first NaN gets it.",
    agree='ties="tensorflow-cpu"',
)
max_pool_3d_grad_grad.differs(
    "empty", tensorflow="An empty input is refused.", ours="It gives an empty result."
)
for _each in (max_pool_grad, max_pool_grad_v2, max_pool_3d_grad, max_pool_grad_with_argmax):
    _each.differs(
        "half sums",
        at="half",
        tensorflow="Overlapping windows are added in the half type and saturate.",
        ours="Sums are kept in float32 and rounded once.",
    )
for _each in (max_pool, max_pool_v2, max_pool_grad, max_pool_grad_v2, max_pool_grad_grad):
    _each.differs(
        "formats",
        at="layout",
        tensorflow="NHWC only on the CPU.",
        ours="NHWC and NCHW, every dtype.",
    )
max_pool_grad_grad_v2.differs(
    "formats", at="layout", tensorflow="NHWC only on the CPU.", ours="NHWC and NCHW, every dtype."
)
for _each in (max_pool_3d, max_pool_3d_grad, max_pool_3d_grad_grad):
    _each.differs(
        "formats",
        at="layout",
        tensorflow="NDHWC, bfloat16 and float32 only on the CPU; no explicit padding.",
        ours="NDHWC and NCDHW, every dtype, explicit padding.",
    )


# -- cases ----------------------------------------------------------------------------------------

_ramp = np.arange(16.0).reshape(1, 4, 4, 1)
_box = np.arange(64.0).reshape(1, 4, 4, 4, 1)
_pair = np.arange(1.0, 17).reshape(2, 2, 2, 2)
_pair_3d = np.arange(1.0, 33).reshape(2, 2, 2, 2, 2)
_two: dict[str, Any] = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"}
_three: dict[str, Any] = {"ksize": (1, 3, 2, 1), "strides": (1, 3, 2, 1), "padding": "SAME"}
_cube: dict[str, Any] = {"ksize": (1, 2, 2, 2, 1), "strides": (1, 2, 2, 2, 1), "padding": "VALID"}
_step: dict[str, Any] = {"ksize": (1, 2, 2, 2, 1), "strides": (1, 4, 3, 2, 1), "padding": "SAME"}
_large: dict[str, Any] = {"ksize": (1, 4, 3, 2, 1), "strides": (1, 4, 3, 2, 1), "padding": "SAME"}
_dented_3d = np.where(_pair_3d == 3, 1.0, _pair_3d)
_no_rows: dict[str, Any] = _two | {
    "input": np.zeros((1, 0, 2, 2)),
    "padding": "EXPLICIT",
    "explicit_paddings": (0, 0, 1, 1, 0, 0, 0, 0),
}
_nan = np.array([1.0, np.nan, 3, np.nan]).reshape(1, 2, 2, 1)
_corners = _ramp[:, 1::2, 1::2]
_far_corners = _box[:, 1::2, 1::2, 1::2]


def _image(*values: float) -> Array:
    side = math.isqrt(len(values))
    return np.array(values, float).reshape(1, side, side, 1)


max_pool.case("2 x 2 windows of a ramp", input=_ramp, **_two, out=_corners)
max_pool.case(
    "stride larger than window", input=_pair, ksize=(1, 1, 1, 1), strides=(1, 3, 2, 1),
    padding="SAME", out=_pair[:, :1, :1],
)  # fmt: skip
max_pool.case(
    "padding never wins", input=-1 - _ramp[:, :3, :3], **_two | {"padding": "SAME"},
    out=-1 - _ramp[:, :3:2, :3:2],
)  # fmt: skip
max_pool.case(
    "channels first", input=_ramp.reshape(1, 1, 4, 4), data_format="NCHW", ksize=(1, 1, 2, 2),
    strides=(1, 1, 2, 2), padding="VALID", out=_corners.reshape(1, 1, 2, 2),
)  # fmt: skip
max_pool.case(
    "explicit padding", input=_image(1, 2, 3, 4), ksize=(1, 2, 2, 1), strides=(1, 1, 1, 1),
    padding="EXPLICIT", explicit_paddings=(0, 0, 1, 0, 1, 0, 0, 0), out=_image(1, 2, 3, 4),
)  # fmt: skip
max_pool.case(
    "over channels", input=_pair, ksize=(1, 1, 1, 2), strides=(1, 1, 1, 2), padding="VALID",
    out=_pair[..., 1:],
)  # fmt: skip
max_pool.case("a NaN wins", input=_nan, **_two, out=np.full((1, 1, 1, 1), np.nan))
max_pool.case("an empty batch", input=_ramp[:0], **_two, out=_corners[:0])
max_pool.fails(
    "CVE-2021-41196: a window of no size", input=_ramp, **_two | {"ksize": (1, 0, 2, 1)},
    error="at least 1",
)  # fmt: skip
max_pool.fails("stride 0", input=_ramp, **_two | {"strides": (1, 0, 1, 1)}, error="at least 1")
max_pool.fails(
    "a window larger than the image", input=_ramp, **_two | {"ksize": (1, 9, 9, 1)},
    error="does not fit in 4",
)  # fmt: skip
max_pool.fails("a volume", input=_box, **_two, error="must have 4 dimensions")
max_pool.fails(
    "a stride over the batch", input=_ramp, **_two | {"strides": (2, 2, 2, 1)},
    error="1 for batch and channels",
)  # fmt: skip
max_pool.fails(
    "padding as large as the window", input=_ramp, **_two | {"padding": "EXPLICIT"},
    explicit_paddings=(0, 0, 2, 0, 0, 0, 0, 0), error="smaller than the window",
)  # fmt: skip
max_pool.fails(
    "a stride over channels", input=_ramp, **_two | {"strides": (1, 2, 2, 2)},
    error="1 for batch and channels",
)  # fmt: skip
max_pool.fails(
    "channels in groups of four", input=_ramp, **_two, data_format="NCHW_VECT_C",
    error="NHWC or NCHW",
)  # fmt: skip
max_pool.fails(
    "paddings that would not be used", input=_ramp, **_two, explicit_paddings=[0],
    error='only for padding="EXPLICIT"',
)  # fmt: skip
max_pool.fails("a word", input=_ramp, **_two | {"padding": "same"}, error="SAME or VALID")
max_pool.fails("objects", input=np.array([None]), **_two, error="array of numbers")

max_pool_v2.case(
    "2 x 2 windows of a ramp", input=_ramp, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
    padding="VALID", out=_corners,
)  # fmt: skip
max_pool_v2.fails(
    "stride 0", input=_ramp, ksize=[1, 2, 2, 1], strides=[1, 0, 2, 1], padding="VALID",
    error="at least 1",
)  # fmt: skip
max_pool_v2.fails(
    "a stride over channels", input=_ramp, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 2],
    padding="VALID", error="1 for batch and channels",
)  # fmt: skip
max_pool_v2.fails(
    "a window of three entries", input=_ramp, ksize=[1, 2, 2], strides=[1, 2, 2, 1],
    padding="VALID", error="4 entries",
)  # fmt: skip

max_pool_grad.case(
    "each window's winner", orig_input=_ramp, orig_output=_corners, grad=_image(1, 2, 3, 4), **_two,
    out=_image(0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4),
)  # fmt: skip
max_pool_grad.case(
    "of equals the first", orig_input=np.ones((1, 2, 2, 1)), orig_output=np.ones((1, 1, 1, 1)),
    grad=_image(5), **_two, out=_image(5, 0, 0, 0),
)  # fmt: skip
max_pool_grad.case(
    "overlapping windows add up", orig_input=_image(0, 0, 0, 0, 9, 0, 0, 0, 0),
    orig_output=_image(9, 9, 9, 9), grad=_image(1, 2, 3, 4), **_two | {"strides": (1, 1, 1, 1)},
    out=_image(0, 0, 0, 0, 10, 0, 0, 0, 0),
)  # fmt: skip
max_pool_grad.case(
    "a NaN gets it", orig_input=_nan, orig_output=_image(np.nan), grad=_image(5), **_two,
    out=_image(0, 5, 0, 0),
)  # fmt: skip
max_pool_grad.fails(
    "CVE-2021-29579: a gradient of the wrong shape", orig_input=_ramp, orig_output=_corners,
    grad=_corners[:, :1, :1], **_two, error="the shape that pooling gives",
)  # fmt: skip
max_pool_grad.fails(
    "CVE-2021-37674: an output of the wrong shape", orig_input=_ramp, orig_output=_ramp,
    grad=_corners, **_two, error="the shape that pooling gives",
)  # fmt: skip
max_pool_grad.fails(
    "types differ", orig_input=_ramp, orig_output=_corners, grad=_corners.astype(np.float32),
    **_two, error="dtype of the other T inputs",
)  # fmt: skip

max_pool_grad_v2.case(
    "each window's winner", orig_input=_ramp, orig_output=_corners, grad=_image(1, 2, 3, 4),
    ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID",
    out=_image(0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4),
)  # fmt: skip
max_pool_grad_grad_v2.case(
    "picks at the winners", orig_input=_ramp, orig_output=_corners, grad=_ramp * 10,
    ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID", out=_corners * 10,
)  # fmt: skip
for _each in (max_pool_grad_v2, max_pool_grad_grad_v2):
    _each.fails(
        "a window of two dimensions", orig_input=_ramp, orig_output=_corners, grad=_corners,
        ksize=[[1, 2, 2, 1]], strides=[1, 2, 2, 1], padding="VALID", error="must have 1 dimension",
    )  # fmt: skip
    _each.fails(
        "a gradient of the wrong shape", orig_input=_ramp, orig_output=_corners,
        grad=_ramp[:, :3], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID",
        error="must have the shape",
    )  # fmt: skip

max_pool_grad_grad.case(
    "picks at the winners", orig_input=_ramp, orig_output=_corners, grad=_ramp * 10, **_two,
    out=_corners * 10,
)  # fmt: skip
max_pool_grad_grad.case(
    "channels first", orig_input=_ramp.reshape(1, 1, 4, 4), grad=_ramp.reshape(1, 1, 4, 4) * 10,
    orig_output=_corners.reshape(1, 1, 2, 2), data_format="NCHW", ksize=(1, 1, 2, 2),
    strides=(1, 1, 2, 2), padding="VALID", out=_corners.reshape(1, 1, 2, 2) * 10,
)  # fmt: skip
max_pool_grad_grad.case(
    "one window an image", orig_input=_pair, orig_output=_pair[:, 1:, 1:], grad=_pair, **_three,
    out=_pair[:, 1:, 1:],
)  # fmt: skip
max_pool_grad_grad.fails(
    "output and gradient swapped", orig_input=_pair, orig_output=_pair,
    grad=np.array([1.0, 2, 3, 4]).reshape(2, 1, 1, 2), **_three, error="the shape of orig_input",
)  # fmt: skip

max_pool_with_argmax.case(
    "the index counts within its own image", input=_pair, **_three,
    out=(_pair[:, 1:, 1:], np.array([6, 7, 6, 7]).reshape(2, 1, 1, 2)),
)  # fmt: skip
max_pool_with_argmax.case(
    "the index counts through the batch", input=_pair, **_three, include_batch_in_index=True,
    Targmax="int32",
    out=(_pair[:, 1:, 1:], np.array([6, 7, 14, 15], np.int32).reshape(2, 1, 1, 2)),
)  # fmt: skip
max_pool_with_argmax.case(
    "a window without a cell", **_no_rows,
    out=(np.full((1, 1, 1, 2), -np.inf), np.zeros((1, 1, 1, 2))),
)  # fmt: skip
max_pool_with_argmax.fails(
    "a stride over channels", input=_pair, **_three | {"strides": (1, 3, 2, 2)},
    error="1 for batch and channels",
)  # fmt: skip
max_pool_with_argmax.fails(
    "unknown index type", input=_pair, **_three, Targmax="int8", error="int32"
)
max_pool_grad_with_argmax.case(
    "back to the named cells", input=_pair, grad=_pair[:, :1, :1], **_three,
    argmax=np.array([6, 7, 0, 0]).reshape(2, 1, 1, 2),
    out=np.array([0, 0, 0, 0, 0, 0, 1.0, 2, 19, 0, 0, 0, 0, 0, 0, 0]).reshape(2, 2, 2, 2),
)  # fmt: skip
max_pool_grad_with_argmax.case(
    "no cell to give it to", **_no_rows, grad=np.ones((1, 1, 1, 2)),
    argmax=np.zeros((1, 1, 1, 2), int), out=np.zeros((1, 0, 2, 2)),
)  # fmt: skip
max_pool_grad_with_argmax.fails(
    "CVE-2021-29570: an index outside the image", input=_pair, grad=_pair[:, :1, :1], **_three,
    argmax=np.array([6, 8, 0, 0]).reshape(2, 1, 1, 2), error="below 8",
)  # fmt: skip
max_pool_grad_with_argmax.fails(
    "a stride over channels", input=_pair, grad=_pair[:, :1, :1],
    **_three | {"strides": (1, 3, 2, 2)}, argmax=np.zeros((2, 1, 1, 2), int),
    error="1 for batch and channels",
)  # fmt: skip
max_pool_grad_grad_with_argmax.case(
    "from the named cells", input=_pair, grad=_pair, **_three,
    argmax=np.array([1, 2, 3, 4]).reshape(2, 1, 1, 2),
    out=np.array([2.0, 3, 12, 13]).reshape(2, 1, 1, 2),
)  # fmt: skip
max_pool_grad_grad_with_argmax.case(
    "no cell to take it from", **_no_rows, grad=np.ones((1, 0, 2, 2)),
    argmax=np.zeros((1, 1, 1, 2), int), out=np.zeros((1, 1, 1, 2)),
)  # fmt: skip
max_pool_grad_grad_with_argmax.fails(
    "indices in one row", input=_pair, grad=_pair, argmax=np.array([1, 2, 3, 4]), **_three,
    error="the shape that pooling gives",
)  # fmt: skip

max_pool_3d.case("2 x 2 x 2 windows of a ramp", input=_box, **_cube, out=_far_corners)
max_pool_3d.case(
    "strides larger than the volume", input=_pair_3d, **_step, out=_pair_3d[:, 1:, 1:, 1:]
)
max_pool_3d.case(
    "stride larger than window, SAME", input=np.arange(6.0).reshape(1, 6, 1, 1, 1),
    ksize=(1, 1, 1, 1, 1), strides=(1, 3, 1, 1, 1), padding="SAME",
    out=np.array([0.0, 3]).reshape(1, 2, 1, 1, 1),
)  # fmt: skip
max_pool_3d.case(
    "channels first", input=_box.reshape(1, 1, 4, 4, 4), data_format="NCDHW",
    ksize=(1, 1, 2, 2, 2), strides=(1, 1, 2, 2, 2), padding="VALID",
    out=_far_corners.reshape(1, 1, 2, 2, 2),
)  # fmt: skip
max_pool_3d.fails("an image", input=_ramp, **_cube, error="must have 5 dimensions")
max_pool_3d.fails(
    "a format of images", input=_box, **_cube, data_format="NHWC", error="NDHWC or NCDHW"
)

max_pool_3d_grad.case(
    "the winner of the only window", orig_input=_pair_3d[:1], orig_output=_pair_3d[:1, 1:, 1:, 1:],
    grad=np.array([3.0, 4]).reshape(1, 1, 1, 1, 2), **_step,
    out=np.array([0.0] * 14 + [3, 4]).reshape(1, 2, 2, 2, 2),
)  # fmt: skip
max_pool_3d_grad.case(
    "of equals the first", orig_input=np.ones((1, 2, 2, 2, 1)),
    orig_output=np.ones((1, 1, 1, 1, 1)), grad=np.full((1, 1, 1, 1, 1), 5.0), **_cube,
    out=np.array([5.0, 0, 0, 0, 0, 0, 0, 0]).reshape(1, 2, 2, 2, 1),
)  # fmt: skip
max_pool_3d_grad.case(
    "every near-tie, as TensorFlow's CPU kernel", orig_output=np.ones((1, 1, 1, 1, 1)),
    orig_input=np.array([1.0, 0.999995, 0, 0, 0, 0, 0, 0.99]).reshape(1, 2, 2, 2, 1),
    grad=np.full((1, 1, 1, 1, 1), 5.0), **_cube, ties="tensorflow-cpu",
    out=np.array([5.0, 5, 0, 0, 0, 0, 0, 0]).reshape(1, 2, 2, 2, 1),
)  # fmt: skip
max_pool_3d_grad.case(
    "equal integers, as TensorFlow's CPU kernel would count them",
    orig_input=np.array([9, 0, 0, 9, 0, 0, 0, 8], np.uint8).reshape(1, 2, 2, 2, 1),
    orig_output=np.full((1, 1, 1, 1, 1), 9, np.uint8), grad=np.full((1, 1, 1, 1, 1), 5, np.uint8),
    **_cube, ties="tensorflow-cpu",
    out=np.array([5, 0, 0, 5, 0, 0, 0, 0], np.uint8).reshape(1, 2, 2, 2, 1),
)  # fmt: skip
max_pool_3d_grad.case(
    "two volumes of two channels", orig_input=_dented_3d, orig_output=_dented_3d[:, 1:, 1:, 1:],
    grad=np.array([3.0, 4, 5, 6]).reshape(2, 1, 1, 1, 2), **_step,
    out=np.array([0.0] * 14 + [3, 4] + [0] * 14 + [5, 6]).reshape(2, 2, 2, 2, 2),
)  # fmt: skip
max_pool_3d_grad.fails(
    "an output of the shape of the input", orig_input=_dented_3d,
    orig_output=np.ones_like(_dented_3d), grad=np.array([3.0, 4, 5, 6]).reshape(2, 1, 1, 1, 2),
    **_step, error="the shape that pooling gives",
)  # fmt: skip
max_pool_3d_grad.fails(
    "types differ", orig_input=_pair_3d, orig_output=_pair_3d[:, 1:, 1:, 1:],
    grad=_pair_3d[:, 1:, 1:, 1:].astype(np.float32), **_step,
    error="dtype of the other T inputs, float64",
)  # fmt: skip
max_pool_3d_grad_grad.case(
    "one window a volume", orig_input=_dented_3d, orig_output=_dented_3d[:, 1:, 1:, 1:],
    grad=_pair_3d, **_large, out=_pair_3d[:, 1:, 1:, 1:],
)  # fmt: skip
max_pool_3d_grad_grad.case(
    "picks at the winners", orig_input=_box, orig_output=_far_corners, grad=_box * 10, **_cube,
    out=_far_corners * 10,
)  # fmt: skip
max_pool_3d_grad_grad.fails(
    "CVE-2021-29574: a gradient of the pooled shape", orig_input=_dented_3d,
    orig_output=np.array([1.0, 2, 3, 4]).reshape(2, 1, 1, 1, 2),
    grad=np.full((2, 1, 1, 1, 2), 2.0), **_large,
    error="the shape of orig_input",
)  # fmt: skip
