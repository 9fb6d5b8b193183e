"""Grey-scale dilation of images and its gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np

from backblocks.dtypes import REALS, lowest, wide
from backblocks.errors import OpError, described
from backblocks.ops import _kernels
from backblocks.ops._access_maps import AccessMap, Cells, loop
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Value, op
from backblocks.ops._spec import Shape, Size, Spec, agreed, ranked, shape_text
from backblocks.ops.attrs import Dilations, Padding, Pads, Strides
from backblocks.ops.nn._convolution import native_by_channel
from backblocks.ops.nn._windows import (
    Axis,
    Sliding,
    explicit_pads,
    space_of,
    taps,
    window_loops,
    window_shape,
    winners,
)


def _windows(
    *, strides: Strides, rates: Dilations, padding: Padding, explicit_paddings: Pads = ()
) -> None:
    """The attributes of all three ops."""


def _sliding(
    k: tuple[Size, ...],
    *,
    strides: tuple[int, ...],
    rates: tuple[int, ...],
    padding: str,
    explicit_paddings: tuple[int, ...],
) -> Sliding:
    """How a filter of this height and width slides over images."""
    s = space_of("strides", strides, 4, "NHWC")
    d = space_of("rates", rates, 4, "NHWC")
    return Sliding(k, s, d, padding, explicit_pads(padding, explicit_paddings, 4, "NHWC"), "filter")


def _axes(x: Array, f: Array, **windows: Any) -> list[Axis]:
    return _sliding(f.shape[:2], **windows).axes(x.shape[1:3])


def _winners(x: Array, f: Array, axes: list[Axis]) -> Array:
    """Which tap wins each window: its first NaN, else its first maximum.

    Taps are counted as `taps` gives them. A window that has no real cell has -1.
    """
    return winners(x, axes, lambda number, tap, cells: (x[cells] + f[tap], number))[1]


def _dilated(input: Spec, filter: Spec, **windows: Any) -> tuple[Size, ...]:
    """The shape that comes out of dilating `input`."""
    batch, *space, channels = ranked("input", input, 4, "as in NHWC")
    *k, depth = ranked("filter", filter, 3, "height, width and channels")
    why, hint = "a height, a width and the channels of input", "Give each channel a plane."
    agreed("filter", filter, (*k, channels), why, hint)
    if 0 in k:
        raise OpError(
            "must be at least 1 high and 1 wide",
            arg="filter",
            got=described(f"shape {shape_text(filter.shape)}"),
            hint="Use a single 0 for each channel to leave the image as it is.",
        )
    sizes = _sliding(tuple(k), **windows).out_sizes(space)
    return (batch, *sizes, depth if channels is None else channels)


def _check_backprop(input: Spec, filter: Spec, out_backprop: Spec, **windows: Any) -> None:
    out = _dilated(input, filter, **windows)
    hint = "Use the input, strides, rates and padding of the forward op."
    agreed("out_backprop", out_backprop, out, "the shape that dilation gives", hint)


@op(
    "Dilation2D",
    "T, T -> T",
    aliases=("grayscale dilation", "morphology"),
    attrs=_windows,
    beyond=("explicit_paddings",),
    T=REALS,
)
def dilation_2d(input: Array, filter: Array, **windows: Any) -> Array:
    """The largest sum of a cell and its filter value, over each window of an image.

    output[n, o, c] = max over j of input[n, o·strides - p + j·rates, c] + filter[j, c]
    where o and j stand for height and width; padding takes no part
    where p is the padding before: with SAME, for an axis of this size with so many taps on it,
        ⌊max((⌈size / strides⌉ - 1) · strides + (taps - 1) · rates + 1 - size, 0) / 2⌋

    `filter` is (height, width, channels): each channel of the image has its own. `rates` is the
    step between the cells of a window. Padding never wins a window; a sum that is NaN does. Sums of
    integers wrap around. A window without any real cell gives the lowest value of the type.
    """
    axes = _axes(input, filter, **windows)
    y = np.full(window_shape(input, axes), lowest(input.dtype), input.dtype)
    for tap, cells, outputs in taps(axes, input):
        y[outputs] = np.maximum(y[outputs], input[cells] + filter[tap])
    return y


dilation_2d.shape(_dilated)


@dilation_2d.grad
def _(dy: Value, y: Value, input: Value, filter: Value, **windows: Any) -> list[Value]:
    return [
        dilation_2d_backprop_input(input, filter, dy, **windows),
        dilation_2d_backprop_filter(input, filter, dy, **windows),
    ]


@op(
    "Dilation2DBackpropInput",
    "T, T, T -> in_backprop: T",
    attrs=_windows,
    beyond=("explicit_paddings",),
    T=REALS,
)
def dilation_2d_backprop_input(
    input: Array, filter: Array, out_backprop: Array, **windows: Any
) -> Array:
    """Sends each window's gradient back to the cell that won it; of equals, the first.

    in_backprop[n, i, c] = Σ over the windows o that cell i has won of out_backprop[n, o, c]
    where the winner of a window is the first with the largest sum, or its first NaN; see Dilation2D
    """
    axes = _axes(input, filter, **windows)
    winner = _winners(input, filter, axes)
    dx = np.zeros(input.shape, wide(input.dtype))
    for number, (_, cells, outputs) in enumerate(taps(axes, input)):
        dx[cells] += np.where(winner[outputs] == number, out_backprop[outputs], 0)
    return dx


@dilation_2d_backprop_input.shape
def _(input: Spec, filter: Spec, out_backprop: Spec, **windows: Any) -> Shape:
    _check_backprop(input, filter, out_backprop, **windows)
    return ranked("input", input, 4)


@op(
    "Dilation2DBackpropFilter",
    "T, T, T -> filter_backprop: T",
    attrs=_windows,
    beyond=("explicit_paddings",),
    T=REALS,
)
def dilation_2d_backprop_filter(
    input: Array, filter: Array, out_backprop: Array, **windows: Any
) -> Array:
    """For each filter value, the gradients of the windows it won added up; of equals, the first.

    filter_backprop[j, c] = Σ over the n and o whose window tap j has won of out_backprop[n, o, c]
    where the winner of a window is the first with the largest sum, or its first NaN; see Dilation2D
    """
    axes = _axes(input, filter, **windows)
    winner = _winners(input, filter, axes)
    df = np.zeros(filter.shape, wide(filter.dtype))
    for number, (tap, _, outputs) in enumerate(taps(axes, input)):
        won = np.where(winner[outputs] == number, out_backprop[outputs], 0)
        df[tap] = won.sum((0, 1, 2), df.dtype)
    return df


@dilation_2d_backprop_filter.shape
def _(input: Spec, filter: Spec, out_backprop: Spec, **windows: Any) -> Shape:
    _check_backprop(input, filter, out_backprop, **windows)
    return ranked("filter", filter, 3)


for _each in (dilation_2d_backprop_input, dilation_2d_backprop_filter):
    _each.no_gradient(
        "It would pick the value at each window's winner, and TensorFlow has no op that does so: "
        "Dilation2D can be differentiated once."
    )


# -- which cells belong together ------------------------------------------------------------------


def _way(
    rule: str, of: tuple[str, ...], input: Spec, filter: Spec, window: str, own: str, **windows: Any
) -> list[AccessMap]:
    """`window` is the pin of what comes out of dilation; `own` that of a gradient, if there is one.

    At a cell of a window, input and filter run through all of that window.
    """
    batch, *space, channels = input.sizes
    axes = _sliding(filter.sizes[:2], **windows).axes(tuple(space))
    over, owned = window_loops(axes, "hw", "j" if own else "k"), window_loops(axes, "hw")
    n, c = loop("n"), loop("c")
    cells = {
        "input": Cells((n, *over.read, c), axes="NHWC"),
        "filter": Cells((*over.taps, c), axes="HWC"),
        window: Cells((n, *over.space, c), axes="NHWC"),
    }
    inside: tuple[Cells, ...] = ()
    if own == "in_backprop":
        cells[own] = Cells((n, *owned.read, c), axes="NHWC")
    elif own:
        cells[own] = Cells((*owned.taps, c), axes="HWC")
        inside = (Cells((n, *owned.read, c), input.sizes),)  # a tap on padding never wins
    loops = {"n": batch} | (owned.loops if own else {}) | over.loops | {"c": channels}
    return [AccessMap(rule, of, loops, cells, inside=inside)]


@dilation_2d.cells
def _(y: Spec, input: Spec, filter: Spec, **windows: Any) -> list[AccessMap]:
    return _way("max", ("input", "filter"), input, filter, "output", "", **windows)


@dilation_2d_backprop_input.cells
def _(y: Spec, input: Spec, filter: Spec, out_backprop: Spec, **windows: Any) -> list[AccessMap]:
    of = ("out_backprop", "input", "filter")
    return _way("winners", of, input, filter, "out_backprop", "in_backprop", **windows)


@dilation_2d_backprop_filter.cells
def _(y: Spec, input: Spec, filter: Spec, out_backprop: Spec, **windows: Any) -> list[AccessMap]:
    of = ("out_backprop", "filter", "input")
    return _way("winners", of, input, filter, "out_backprop", "filter_backprop", **windows)


# -- the compiled kernels -------------------------------------------------------------------------


def _native(
    kernel: Callable[..., _kernels.Prepared],
    input: Spec,
    filter: Spec,
    *,
    rates: tuple[int, ...],
    **windows: Any,
) -> KernelFunction | None:
    """The compiled kernel for arrays of these shapes: they are those of a depthwise convolution."""
    shape = (*(filter.shape or ()), 1)
    windows |= {"dilations": rates, "data_format": "NHWC"}
    return native_by_channel(kernel, input.shape, shape, input.dtype, **windows)


@dilation_2d.kernel("native")
def _(input: Spec, filter: Spec, **windows: Any) -> KernelFunction | None:
    return _native(_kernels.dilation, input, filter, **windows)


@dilation_2d_backprop_input.kernel("native")
def _(input: Spec, filter: Spec, out_backprop: Spec, **windows: Any) -> KernelFunction | None:
    return _native(_kernels.dilation_input_grad, input, filter, **windows)


@dilation_2d_backprop_filter.kernel("native")
def _(input: Spec, filter: Spec, out_backprop: Spec, **windows: Any) -> KernelFunction | None:
    return _native(_kernels.dilation_filter_grad, input, filter, **windows)


# -- cases -----------------------------------------------------------------------------------------

_ramp = np.arange(9.0).reshape(1, 3, 3, 1)
_row = np.array([1.0, 5, 2, 3, 4]).reshape(1, 1, 5, 1)
_flat, _tent = np.zeros((2, 2, 1)), np.array([0.0, 10]).reshape(1, 2, 1)
_plain: dict[str, Any] = {"strides": (1, 1, 1, 1), "rates": (1, 1, 1, 1), "padding": "VALID"}
_same: dict[str, Any] = _plain | {"padding": "SAME"}
_apart: dict[str, Any] = _plain | {"rates": (1, 1, 3, 1)}
_shifted: dict[str, Any] = _plain | {
    "padding": "EXPLICIT",
    "explicit_paddings": (0, 0, 0, 0, 1, 0, 0, 0),
}
_ties, _ones = np.ones((1, 2, 3, 1)), np.ones((1, 1, 2, 1))
_with_nan = np.array([np.nan, 9, 1, np.nan, np.nan, 2]).reshape(1, 1, 6, 1)
_empty, _bottomless = np.zeros((0, 3, 3, 1)), np.full((1, 1, 2, 1), -np.inf)
_pixel = np.full((1, 1, 1, 1), 7.0)

dilation_2d.case(
    "a flat filter is a max pool", input=_ramp, filter=_flat, **_plain, out=_ramp[:, 1:, 1:]
)
dilation_2d.case(
    "the filter is added before the largest is taken",
    input=_row,
    filter=_tent,
    **_same,
    out=np.array([15.0, 12, 13, 14, 4]).reshape(1, 1, 5, 1),
)
dilation_2d.case(
    "cells three apart",
    input=_row,
    filter=_tent,
    **_apart,
    out=np.array([13.0, 14]).reshape(1, 1, 2, 1),
)
dilation_2d.case(
    "padding before only",
    input=_row,
    filter=_tent,
    **_shifted,
    out=np.array([11.0, 15, 12, 13, 14]).reshape(1, 1, 5, 1),
)
dilation_2d.case(
    "a NaN wins its window",
    input=_with_nan,
    filter=np.zeros((1, 2, 1)),
    **_plain,
    out=np.array([np.nan, 9, np.nan, np.nan, np.nan]).reshape(1, 1, 5, 1),
)
dilation_2d.case(
    "nothing but minus infinity",
    input=_bottomless,
    filter=_tent,
    **_plain,
    out=np.full((1, 1, 1, 1), -np.inf),
)
dilation_2d.case(
    "sums of integers wrap around",
    input=np.array([200, 5], np.uint8).reshape(1, 1, 2, 1),
    filter=np.array([100], np.uint8).reshape(1, 1, 1),
    **_plain,
    out=np.array([44, 105], np.uint8).reshape(1, 1, 2, 1),
)
dilation_2d.case(
    "a window between the cells",
    input=_pixel.astype(np.int8),
    filter=_tent.astype(np.int8),
    **_same | {"rates": (1, 1, 2, 1)},
    out=np.full((1, 1, 1, 1), -128, np.int8),
)
dilation_2d.case("an empty batch", input=_empty, filter=_flat, **_plain, out=np.zeros((0, 2, 2, 1)))

dilation_2d_backprop_input.case(
    "the last of a ramp wins",
    input=_ramp,
    filter=_flat,
    out_backprop=_ramp[:, 1:, 1:],
    **_plain,
    out=np.pad(_ramp[:, 1:, 1:], ((0, 0), (1, 0), (1, 0), (0, 0))),
)
dilation_2d_backprop_input.case(
    "of equals, the first",
    input=_ties,
    filter=_flat,
    out_backprop=_ones,
    **_plain,
    out=np.array([1.0, 1, 0, 0, 0, 0]).reshape(1, 2, 3, 1),
)
dilation_2d_backprop_input.case(
    "the first NaN wins",
    input=_with_nan,
    filter=np.zeros((1, 2, 1)),
    out_backprop=np.arange(1.0, 6).reshape(1, 1, 5, 1),
    **_plain,
    out=np.array([1.0, 2, 0, 3 + 4, 5, 0]).reshape(1, 1, 6, 1),
)
dilation_2d_backprop_input.case(
    "a window between the cells sends nothing back",
    input=_pixel,
    filter=_tent,
    out_backprop=_pixel,
    **_same | {"rates": (1, 1, 2, 1)},
    out=np.zeros((1, 1, 1, 1)),
)
dilation_2d_backprop_input.case(
    "no windows",
    input=_row[:, :, :1],
    filter=_tent,
    out_backprop=_row[:, :, :0],
    **_plain,
    out=0 * _pixel,
)

dilation_2d_backprop_filter.case(
    "the last of a ramp wins",
    input=_ramp,
    filter=_flat,
    out_backprop=_ramp[:, 1:, 1:],
    **_plain,
    out=np.array([[[0.0], [0]], [[0], [4 + 5 + 7 + 8]]]),
)
dilation_2d_backprop_filter.case(
    "of equals, the first",
    input=_ties,
    filter=_flat,
    out_backprop=_ones,
    **_plain,
    out=np.array([[[2.0], [0]], [[0], [0]]]),
)
dilation_2d_backprop_filter.case(
    "minus infinity: the first",
    input=_bottomless,
    filter=_tent,
    out_backprop=_pixel,
    **_plain,
    out=np.array([7.0, 0]).reshape(1, 2, 1),
)
dilation_2d_backprop_filter.case(
    "an empty batch",
    input=_empty,
    filter=_flat,
    out_backprop=_empty[:, 1:, 1:],
    **_plain,
    out=0 * _flat,
)

_bad: dict[str, Any] = {"input": _ramp, "filter": _flat}
dilation_2d.fails("a rate of 0", **_bad, **_plain | {"rates": (1, 0, 1, 1)}, error="at least 1")
dilation_2d.fails(
    "a negative rate", **_bad, **_plain | {"rates": (1, 1, -1, 1)}, error="at least 1"
)
dilation_2d.fails("no stride", **_bad, **_plain | {"strides": (1, 0, 1, 1)}, error="at least 1")
dilation_2d.fails(
    "a stride over channels", **_bad, **_plain | {"strides": (1, 1, 1, 2)}, error="must be 1"
)
dilation_2d.fails("an image too few", input=_ramp[0], filter=_flat, **_plain, error="4 dimensions")
dilation_2d.fails(
    "other channels", input=_ramp, filter=np.zeros((2, 2, 2)), **_plain, error="channels of"
)
dilation_2d.fails(
    "a filter of no size",
    input=_ramp,
    filter=np.zeros((0, 2, 1)),
    **_plain,
    error="at least 1 high",
)
dilation_2d.fails(
    "a filter too large", input=_ramp, filter=np.zeros((5, 1, 1)), **_plain, error="not fit"
)
for _each in (dilation_2d_backprop_input, dilation_2d_backprop_filter):
    _each.fails(
        "another gradient", **_bad, out_backprop=_ramp, **_plain, error="that dilation gives"
    )
    _each.fails(
        "a flat gradient", **_bad, out_backprop=np.ones(4), **_plain, error="that dilation gives"
    )
    _each.fails(
        "CVE-2021-29566: a gradient larger than the output, and a filter of no size",
        input=np.ones((3, 3, 3, 3)),
        filter=np.zeros((0, 0, 3)),
        out_backprop=np.ones((3, 2, 59, 3)),
        strides=(1, 40, 1, 1),
        rates=(1, 56, 56, 1),
        padding="VALID",
        error="at least 1 high",
    )

for _each in (dilation_2d, dilation_2d_backprop_input, dilation_2d_backprop_filter):
    _each.differs(
        "nan",
        at="nan",
        tensorflow="A NaN never wins; a window of nothing else gives the lowest finite value.",
        ours="The first NaN wins and gets the gradient.",
    )
    _each.differs(
        "inf",
        at="-inf",
        tensorflow="A window of minus infinity alone gives the lowest finite value.",
        ours="It gives minus infinity.",
    )
    _each.differs(
        "rates and filters of no size",
        tensorflow="A rate of 0, a negative rate and a filter without cells are accepted.",
        ours="They are refused.",
    )
dilation_2d.differs(
    "a window without a real cell",
    at="no cell",
    tensorflow="Gives the lowest finite value.",
    ours="Gives the lowest value of the type: minus infinity, for floats.",
)
for _each in (dilation_2d_backprop_input, dilation_2d_backprop_filter):
    _each.differs(
        "a window with no sum above the lowest value",
        at="-inf",
        tensorflow="The cell where the window starts, moved into the image, and the first value of "
        "the filter get the gradient, even if they do not meet. For unsigned types the lowest is 0.",
        ours="The first real cell of the window and its filter value get the gradient; if there is "
        "no real cell, nothing does.",
    )
    _each.differs(
        "half sums",
        at="half",
        tensorflow="Gradients are added up in the half type: in bfloat16 ones stop at 256.",
        ours="Gradients are added up in float32.",
    )
