"""Max pooling of images and of volumes: what their ops compute, and all rules and kernels of it."""

import math
from typing import Any

import numpy as np

from backblocks.dtypes import is_float, lowest, wide
from backblocks.errors import OpError
from backblocks.ops import _kernels
from backblocks.ops._access_maps import AccessMap
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Op, Value
from backblocks.ops._spec import Shape, Spec, agreed
from backblocks.ops.nn._pooling import (
    agreed_with_pooling,
    native_pool,
    one_in_channels,
    pool_access,
    pool_axes,
    pooled,
)
from backblocks.ops.nn._windows import (
    Axis,
    channels_last,
    from_channels_last,
    in_layout,
    sizes_channels_last,
    taps,
    to_channels_last,
    window_shape,
    winners,
)

FOR_EACH_CELL = "Pass a value for each cell of the input, not for each window."

# Differences from TensorFlow that gradients have in common, and second gradients.
HALF_SUMS: dict[str, Any] = {
    "topic": "half sums",
    "at": "half",
    "tensorflow": "Overlapping windows are added in the half type and saturate.",
    "ours": "Sums are kept in float32 and rounded once.",
}
NAN_WINDOWS: dict[str, Any] = {
    "topic": "nan",
    "at": "nan",
    "tensorflow": "The winner is the first cell equal to orig_output, so a NaN window gives 0.",
    "ours": "The winner is found in orig_input, and a NaN wins: the adjoint of the gradient op.",
}
OUTPUT_COMPARED: dict[str, Any] = {
    "topic": "orig_output",
    "at": "orig_output",
    "tensorflow": "The values of orig_output are compared with, so a wrong one gives 0.",
    "ours": "Only its shape is used.",
}


def complete(forward: Op, grad: Op, grad_grad: Op) -> None:
    """Gives a max pooling, its gradient and its second gradient their rules and kernels.

    Each of the three is the gradient of the one before it, and the last of the second: they are adjoint.
    """

    @forward.grad
    def _(dy: Value, y: Value, input: Value, **windows: Any) -> list[Value]:
        return [grad(input, y, dy, **windows)]

    @grad.grad
    def _(
        ddx: Value, dx: Value, x: Value, y: Value, dy: Value, ties: str = "first", **windows: Any
    ) -> list[Value]:
        if ties != "first":
            raise OpError(
                "a gradient that counts ties more than once has no gradient of its own",
                op=grad.name,
                arg="ties",
                got=ties,
                hint='Use ties="first".',
            )
        return [None, None, grad_grad(x, y, ddx, **windows)]

    @grad_grad.grad
    def _(d: Value, out: Value, x: Value, y: Value, ddx: Value, **windows: Any) -> list[Value]:
        return [None, None, grad(x, y, d, **windows)]

    for op, shape, cells, kernel in (
        (forward, _pool_shape, _pool_cells, _native_max),
        (grad, _grad_shape, _grad_cells, _native_grad),
        (grad_grad, _grad_grad_shape, _grad_grad_cells, _native_grad_grad),
    ):
        op.shape(shape)
        op.cells(cells)
        op.kernel("native")(kernel)


# -- the largest value of each window -------------------------------------------------------------


def pool(x: Array, **windows: Any) -> Array:
    """The largest value of each window; a NaN in the window wins."""
    over = _Folding(windows)
    x = over.fold(x, over.group)
    axes = over.axes(x)
    y = np.full(window_shape(x, axes), lowest(x.dtype), x.dtype)
    for _, cells, outputs in taps(axes, x):
        y[outputs] = np.maximum(y[outputs], x[cells])
    return over.unfold(y)


def _pool_shape(input: Spec, **windows: Any) -> Shape:
    return _pooled("input", input, **windows)


def _pool_cells(y: Spec, input: Spec, **windows: Any) -> list[AccessMap]:
    return pool_access("max", ("input",), input, cells=("input",), windows=("output",), **windows)


def _native_max(input: Spec, **windows: Any) -> KernelFunction | None:
    return native_pool(_kernels.max_pool, input.shape, input.dtype, **windows)


# -- back to the cells that won -------------------------------------------------------------------


def winning_cells(x: Array, axes: list[Axis]) -> tuple[Array, Array]:
    """The value that wins each window, its first NaN or else its first maximum, and its cell."""
    cell = np.arange(math.prod(x.shape[1:-1])).reshape(1, *x.shape[1:-1], 1)
    return winners(x, axes, lambda number, tap, cells: (x[cells], cell[cells]))


def pool_grad(x: Array, y: Array, dy: Array, *, ties: str = "first", **windows: Any) -> Array:
    """Adds each window's gradient to the cell that won it, or to every cell that nearly did."""
    if ties != "first":
        return _to_all_winners(x, y, dy, **windows)
    over = _Folding(windows)
    x, dy = over.fold(x, over.group), over.fold(dy, 1)
    _, winner = winning_cells(x, over.axes(x))
    batch, *space, channels = x.shape
    dx = np.zeros((batch, math.prod(space), channels), wide(dy.dtype))
    np.add.at(dx, _at(winner), dy.reshape(batch, -1, channels))
    return over.unfold(dx.reshape(x.shape).astype(dy.dtype, copy=False))


def _to_all_winners(x: Array, y: Array, dy: Array, **windows: Any) -> Array:
    """Adds each window's gradient to all of its cells that are within 1e-5 of the result `y`."""
    layout = windows["data_format"]
    x, y, dy = (to_channels_last(each, layout) for each in (x, y, dy))
    dx = np.zeros(x.shape, wide(dy.dtype))
    for _, cells, outputs in taps(pool_axes(x, **windows), x):
        new, top = x[cells], y[outputs]
        near = np.abs(new - top) < np.asarray(1e-5, x.dtype) if is_float(x.dtype) else new == top
        dx[cells] += np.where(near, dy[outputs], 0)
    return from_channels_last(dx.astype(dy.dtype, copy=False), layout)


def _grad_shape(
    orig_input: Spec, orig_output: Spec, grad: Spec, ties: str = "first", **windows: Any
) -> Shape:
    out = _pooled("orig_input", orig_input, **windows)
    out = agreed_with_pooling("orig_output", orig_output, out)
    agreed_with_pooling("grad", grad, out)
    return orig_input.shape


def _grad_cells(
    y: Spec, orig_input: Spec, orig_output: Spec, grad: Spec, ties: str = "first", **windows: Any
) -> list[AccessMap]:
    if ties != "first":
        return pool_access(
            "close",
            ("grad", "orig_input", "orig_output"),
            orig_input,
            cells=("orig_input", "output"),
            windows=("orig_output", "grad"),
            **windows,
        )
    return pool_access(
        "winners",
        ("grad", "orig_input"),
        orig_input,
        cells=("output",),
        windows=("orig_output", "grad"),
        candidates="orig_input",
        **windows,
    )


def _native_grad(
    orig_input: Spec, orig_output: Spec, grad: Spec, ties: str = "first", **windows: Any
) -> KernelFunction | None:
    if ties != "first":
        return None
    fill = native_pool(_kernels.max_pool_grad, orig_input.shape, grad.dtype, **windows)
    return fill and fill.taking(0, 2, 3)


# -- and from them again, the adjoint -------------------------------------------------------------


def pool_grad_grad(x: Array, ddx: Array, **windows: Any) -> Array:
    """For each window, the value at the cell that won it."""
    over = _Folding(windows)
    x, ddx = over.fold(x, over.group), over.fold(ddx, over.group)
    _, winner = winning_cells(x, over.axes(x))
    if not ddx.size:
        return over.unfold(np.zeros(winner.shape, ddx.dtype))
    batch, *_, channels = ddx.shape
    picked = ddx.reshape(batch, -1, channels)[_at(winner)]
    return over.unfold(picked.reshape(winner.shape))


def _grad_grad_shape(orig_input: Spec, orig_output: Spec, grad: Spec, **windows: Any) -> Shape:
    out = _pooled("orig_input", orig_input, **windows)
    agreed("grad", grad, orig_input.shape, "the shape of orig_input", FOR_EACH_CELL)
    return agreed_with_pooling("orig_output", orig_output, out)


def _grad_grad_cells(
    y: Spec, orig_input: Spec, orig_output: Spec, grad: Spec, **windows: Any
) -> list[AccessMap]:
    return pool_access(
        "winner's",
        ("grad", "orig_input"),
        orig_input,
        cells=("orig_input", "grad"),
        windows=("orig_output", "output"),
        **windows,
    )


def _native_grad_grad(
    orig_input: Spec, orig_output: Spec, grad: Spec, **windows: Any
) -> KernelFunction | None:
    fill = native_pool(_kernels.max_pool_grad_grad, orig_input.shape, grad.dtype, **windows)
    return fill and fill.taking(0, 2, 3)


def _at(winner: Array) -> tuple[Array, Array, Array]:
    """Where the winners are in an array of (batch, all cells, channels)."""
    batch, *_, channels = winner.shape
    flat = winner.reshape(batch, -1, channels)
    return np.arange(batch)[:, None, None], flat, np.arange(channels)


# -- windows over channels ------------------------------------------------------------------------


def _pooled(arg: str, input: Spec, **windows: Any) -> Shape:
    """The shape that pooling over space or over channels gives."""
    group = _channel_window(**windows)
    if group == 1:
        return pooled(arg, input, **windows)
    layout = windows["data_format"]
    batch, *space, channels = sizes_channels_last(arg, input, layout)
    if channels is not None and channels % group:
        raise OpError(
            f"must divide the {channels} channels",
            arg="ksize",
            got=group,
            hint="Use 1 to pool each channel by itself.",
        )
    kept = in_layout((batch, *space, None if channels is None else channels // group), layout)
    ones = {name: one_in_channels(windows[name], layout) for name in ("ksize", "strides")}
    return pooled(arg, Spec(kept, input.dtype), **windows | ones)


def _channel_window(
    *, ksize: tuple[int, ...], strides: tuple[int, ...], data_format: str, **rest: Any
) -> int:
    """How many channels a window pools together: mostly 1."""
    channels = data_format.index("C")
    group = ksize[channels] if len(ksize) == len(strides) == len(data_format) == 4 else 1
    if group > 1 and (math.prod(ksize) != group or strides[channels] != group):
        raise OpError(
            "a window over channels must be 1 in space and have a stride of its own size",
            arg="ksize",
            got=ksize,
            hint=f"Write ksize in the order of {data_format}; pool over space and channels in two calls.",
        )
    return group


class _Folding:
    """Views of arrays as (batch, *space, channels), and back.

    Where windows lie over groups of channels, each group becomes one more axis of space.
    """

    def __init__(self, windows: dict[str, Any]) -> None:
        self.group = _channel_window(**windows)
        self.layout = windows["data_format"]
        self.windows = windows
        if self.group > 1:
            self.windows = {
                "ksize": (1, 1, 1, self.group, 1),
                "strides": (*channels_last(windows["strides"], self.layout)[:3], self.group, 1),
                # Explicit padding of a window of 1 can only be none, which VALID says in any rank.
                "padding": "SAME" if windows["padding"] == "SAME" else "VALID",
                "explicit_paddings": (),
                "data_format": "NDHWC",
            }

    def axes(self, x: Array) -> list[Axis]:
        return pool_axes(x, **self.windows)

    def fold(self, x: Array, group: int) -> Array:
        """`group` is how many cells the axis of a group has: 1 for what has a value a window."""
        x = to_channels_last(x, self.layout)
        if self.group == 1:
            return x
        return x.reshape(*x.shape[:3], x.shape[3] // group, group).swapaxes(3, 4)

    def unfold(self, x: Array) -> Array:
        if self.group > 1:
            x = x.swapaxes(3, 4)
            x = x.reshape(*x.shape[:3], x.shape[3] * x.shape[4])
        return from_channels_last(x, self.layout)
