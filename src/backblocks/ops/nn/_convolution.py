"""Convolutions: their attributes, shape rules, gradients, cells and kernels."""

import functools
import math
from collections.abc import Callable
from typing import Any

from backblocks.dtypes import NAMES, DType
from backblocks.errors import OpError, described
from backblocks.ops import _kernels
from backblocks.ops._access_maps import AccessMap, Cells, Coordinate, loop
from backblocks.ops._op import KernelFunction, Op, Value
from backblocks.ops._pins import Pin
from backblocks.ops._spec import Shape, Size, Spec, agreed, ranked, shape_text, sizes_from
from backblocks.ops.array.shapes import shape_of
from backblocks.ops.attrs import Dilations, Flag, ImageLayout, Padding, Pads, Strides, VolumeLayout
from backblocks.ops.nn._windows import (
    NATIVE,
    Axis,
    Sliding,
    channels_first,
    channels_last,
    explicit_pads,
    in_layout,
    sizes_channels_last,
    space_letters,
    space_of,
    window_loops,
)


def image_convolution(
    *,
    strides: Strides,
    padding: Padding,
    use_cudnn_on_gpu: Flag = True,
    explicit_paddings: Pads = (),
    data_format: ImageLayout = "NHWC",
    dilations: Dilations = (1, 1, 1, 1),
) -> None:
    """The attributes of the ops that convolve images."""


def volume_convolution(
    *,
    strides: Strides,
    padding: Padding,
    data_format: VolumeLayout = "NDHWC",
    dilations: Dilations = (1, 1, 1, 1, 1),
    explicit_paddings: Pads = (),
) -> None:
    """The attributes of the ops that convolve volumes."""


Kernels = tuple[Callable[..., _kernels.Prepared], ...]
"""The compiled kernels of a convolution, and of its gradients in input and filter."""


@functools.lru_cache(256)  # shape rules ask, and then kernels
def sliding(
    k: tuple[Size, ...],
    filter_arg: str = "filter",
    *,
    strides: tuple[int, ...],
    padding: str,
    data_format: str,
    dilations: tuple[int, ...],
    explicit_paddings: tuple[int, ...],
    use_cudnn_on_gpu: bool = False,
) -> Sliding:
    """How a filter of size `k` slides."""
    rank = len(data_format)
    s = space_of("strides", strides, rank, data_format)
    d = space_of("dilations", dilations, rank, data_format)
    pads = explicit_pads(padding, explicit_paddings, rank, data_format)
    return Sliding(k, s, d, padding, pads, filter_arg)


def conv_axes(space: tuple[int, ...], k: tuple[int, ...], windows: dict[str, Any]) -> list[Axis]:
    """The axes along which a filter of size `k` slides over this space."""
    return sliding(k, **windows).axes(space)


def convolved(
    input_arg: str,
    input: Spec,
    filter_arg: str,
    filter: Spec,
    *,
    depthwise: bool = False,
    **windows: Any,
) -> tuple[Size, ...]:
    """The shape that comes out when `filter` slides over `input`."""
    data_format = windows["data_format"]
    rank = len(data_format)
    batch, *space, channels = sizes_channels_last(input_arg, input, data_format)
    kinds = "channels, multiplier" if depthwise else "in channels, out channels"
    *k, c_in, c_out = ranked(filter_arg, filter, rank, f"window, {kinds}")
    if 0 in (*k, c_in):
        raise OpError(
            "must have no empty axis but the last",
            arg=filter_arg,
            got=described(shape_text(filter.shape)),
            hint="Give it at least one tap on every axis of space, and one input channel.",
        )
    if depthwise:
        if c_in is not None and channels is not None and c_in != channels:
            raise OpError(
                f"must have the {channels} channels of {input_arg}",
                arg=filter_arg,
                axis=rank - 2,
                got=c_in,
                hint="Check that its last axes are (channels, multiplier), and where the input's stand.",
            )
        c_out = None if c_in is None or c_out is None else c_in * c_out
    elif c_in is not None and channels is not None:
        _check_groups(filter_arg, rank, channels, c_in, c_out)
    out = sliding(tuple(k), filter_arg, **windows).out_sizes(space)
    return in_layout((batch, *out, c_out), data_format)


def _check_groups(arg: str, rank: int, channels: int, c_in: int, c_out: Size) -> None:
    """Input channels may come in groups, each with its own share of the filters."""
    if channels % c_in or not channels:
        raise OpError(
            f"input channels must divide the {channels} channels it meets",
            arg=arg,
            axis=rank - 2,
            got=c_in,
            hint="Check that its last axes are (in, out) channels, and where the input's stand.",
        )
    groups = channels // c_in
    if c_out is not None and c_out % groups:
        raise OpError(
            f"output channels must be a multiple of the {groups} groups",
            arg=arg,
            axis=rank - 1,
            got=c_out,
            hint=f"Use {c_out + -c_out % groups}, so that each group has as many.",
        )


def conv_access(
    input: tuple[str, Spec],
    filter: tuple[str, Spec],
    output: str,
    of: tuple[str, ...],
    depthwise: bool = False,
    **windows: Any,
) -> list[AccessMap]:
    """Which cells belong together when a filter slides over images or volumes, each with its pin.

    `output` is the pin of what comes out of sliding, and of its gradient; `of` are those multiplied.
    """
    layout = windows["data_format"]
    batch, *space, channels = channels_last(input[1].sizes, layout)
    *k, c_in, c_out = filter[1].sizes
    letters = space_letters(layout)
    over = window_loops(sliding(tuple(k), **windows).axes(space), letters)
    loops, x_channel, f_channels, y_channel = _channel_loops(channels, c_in, c_out, depthwise)
    at = {input[0]: (*over.read, x_channel), output: (*over.space, y_channel)}
    cells = {
        pin: Cells(in_layout((loop("n"), *place), layout), axes=layout) for pin, place in at.items()
    }
    axes = letters.upper() + ("CM" if depthwise else "IO")
    cells[filter[0]] = Cells((*over.taps, *f_channels), axes=axes)
    return [AccessMap("sum", of, {"n": batch} | over.loops | loops, cells)]


def _channel_loops(
    channels: int, c_in: int, c_out: int, depthwise: bool
) -> tuple[dict[str, int], Coordinate, tuple[Coordinate, Coordinate], Coordinate]:
    """Loops over channels; and where they stand in input, filter and output."""
    if depthwise:
        c, m = loop("c"), loop("m")
        return {"c": c_in, "m": c_out}, c, (c, m), c * c_out + m
    groups = channels // c_in
    ci, co = loop("ci"), loop("co")
    if groups == 1:
        return {"ci": c_in, "co": c_out}, ci, (ci, co), co
    share = c_out // groups
    out = loop("g") * share + co
    return {"g": groups, "ci": c_in, "co": share}, loop("g") * c_in + ci, (ci, out), out


# -- an op and its two gradients ------------------------------------------------------------------


def complete(forward: Op, to_input: Op, to_filter: Op, native: Kernels, **how: Any) -> None:
    """Gives a convolution and its gradient ops in input and filter their rules and kernels.

    `how` is as in `complete_gradients`.
    """
    depthwise = how.get("depthwise", False)

    @forward.shape
    def _(input: Spec, filter: Spec, **windows: Any) -> Shape:
        return convolved("input", input, "filter", filter, depthwise=depthwise, **windows)

    @forward.cells
    def _(y: Spec, input: Spec, filter: Spec, **windows: Any) -> list[AccessMap]:
        x, f, of = ("input", input), ("filter", filter), ("input", "filter")
        return conv_access(x, f, "output", of, depthwise=depthwise, **windows)

    @forward.kernel("native")
    def _(input: Spec, filter: Spec, **windows: Any) -> KernelFunction | None:
        prepared = native_by_channel if depthwise else native_conv
        return prepared(native[0], input.shape, filter.shape, input.dtype, **windows)

    @forward.grad
    def _(dy: Value, y: Value, input: Value, filter: Value, **windows: Any) -> list[Value]:
        return [
            to_input(shape_of(input), filter, dy, **windows),
            to_filter(input, shape_of(filter), dy, **windows),
        ]

    complete_gradients(forward, to_input, to_filter, native, **how)


def complete_gradients(
    forward: Op,
    to_input: Op,
    to_filter: Op,
    native: Kernels,
    *,
    depthwise: bool = False,
    input_shape: Callable[..., Shape] | None = None,
) -> None:
    """Gives the gradient ops of a convolution their rules and kernels.

    All three are bilinear and each other's adjoints, so the gradient of each is made of the other two.
    The ops take the shape of input or filter as a vector of sizes, or a tensor that stands for its shape;
    `input_shape` reads it where it is something else. The filter of a depthwise convolution is
    (*window, channels, multiplier).
    """
    x_pin, f_pin = to_input.inputs[0], to_filter.inputs[1]
    prepared = native_by_channel if depthwise else native_conv

    def shape_of_input(given: Spec, filter: Spec, dy: Spec, windows: dict[str, Any]) -> Shape:
        return (input_shape or _given_shape)(x_pin, given, filter, dy, windows)

    @to_input.shape
    def _(given: Spec, filter: Spec, out_backprop: Spec, **windows: Any) -> Shape:
        windows = _VOLUMES | windows
        shape = shape_of_input(given, filter, out_backprop, windows)
        x = Spec(shape, filter.dtype)
        _check_backprop(x_pin.name, x, "filter", filter, out_backprop, depthwise, windows)
        return shape

    @to_filter.shape
    def _(input: Spec, given: Spec, out_backprop: Spec, **windows: Any) -> Shape:
        windows = _VOLUMES | windows
        shape = _given_shape(f_pin, given, input, out_backprop, windows)
        f = Spec(shape, input.dtype)
        _check_backprop("input", input, f_pin.name, f, out_backprop, depthwise, windows)
        return shape

    @to_input.cells
    def _(
        y: Spec, given: Spec, filter: Spec, out_backprop: Spec, **windows: Any
    ) -> list[AccessMap]:
        x, f, of = ("output", y), ("filter", filter), ("out_backprop", "filter")
        return conv_access(x, f, "out_backprop", of, depthwise, **_VOLUMES | windows)

    @to_filter.cells
    def _(y: Spec, input: Spec, given: Spec, out_backprop: Spec, **windows: Any) -> list[AccessMap]:
        x, f, of = ("input", input), ("output", y), ("input", "out_backprop")
        return conv_access(x, f, "out_backprop", of, depthwise, **_VOLUMES | windows)

    @to_input.kernel("native")
    def _(given: Spec, filter: Spec, out_backprop: Spec, **windows: Any) -> KernelFunction | None:
        windows = _VOLUMES | windows
        shape = shape_of_input(given, filter, out_backprop, windows)
        kernel = prepared(native[1], shape, filter.shape, filter.dtype, **windows)
        return kernel and kernel.taking(1, 2, 3)

    @to_filter.kernel("native")
    def _(input: Spec, given: Spec, out_backprop: Spec, **windows: Any) -> KernelFunction | None:
        windows = _VOLUMES | windows
        shape = _given_shape(f_pin, given, input, out_backprop, windows)
        kernel = prepared(native[2], input.shape, shape, input.dtype, **windows)
        return kernel and kernel.taking(0, 2, 3)

    @to_input.grad
    def _(
        ddx: Value, dx: Value, given: Value, filter: Value, dy: Value, **windows: Any
    ) -> list[Value]:
        f = filter if _is_tensor(f_pin) else shape_of(filter)
        return [None, to_filter(ddx, f, dy, **windows), forward(ddx, filter, **windows)]

    @to_filter.grad
    def _(
        ddf: Value, df: Value, input: Value, given: Value, dy: Value, **windows: Any
    ) -> list[Value]:
        x = input if _is_tensor(x_pin) else shape_of(input)
        return [to_input(x, ddf, dy, **windows), None, forward(input, ddf, **windows)]


_VOLUMES = {"data_format": "NDHWC"}
"""Ops without the attribute know only volumes with channels last."""


def _is_tensor(pin: Pin) -> bool:
    """Whether an input stands for its shape, and is no vector of sizes."""
    return pin.dtype == "T"


def _given_shape(pin: Pin, given: Spec, one: Spec, other: Spec, windows: dict[str, Any]) -> Shape:
    if _is_tensor(pin):
        return given.shape
    return sizes_from(pin.name, given, [len(windows["data_format"])])


def _check_backprop(
    input_arg: str,
    input: Spec,
    filter_arg: str,
    filter: Spec,
    out_backprop: Spec,
    depthwise: bool,
    windows: dict[str, Any],
) -> None:
    """Refuses an `out_backprop` that the forward op could not have had."""
    out = convolved(input_arg, input, filter_arg, filter, depthwise=depthwise, **windows)
    hint = "Use the sizes, strides, padding and dilations of the forward op."
    agreed("out_backprop", out_backprop, out, "the shape that convolving gives", hint)


# -- the compiled kernels -------------------------------------------------------------------------


def native_conv(
    kernel: Callable[..., _kernels.Prepared],
    input: Shape,
    filter: Shape,
    dtype: DType,
    **windows: Any,
) -> _kernels.Prepared | None:
    """The compiled kernel for arrays of these shapes, or None if they are not for it."""
    if input is None or filter is None or dtype not in NATIVE:
        return None
    batch, *space, channels = channels_last(input, windows["data_format"])
    *k, c_in, c_out = filter
    slides = sliding(tuple(k), **windows)
    outputs = (batch, *slides.out_sizes(space), c_out)
    if 0 in (*input, *filter, *outputs):
        return None
    flat = 3 - len(space)  # an image is a volume of depth 1
    return kernel(
        NAMES[dtype],
        (batch, *(1,) * flat, *space, channels),
        (batch, *(1,) * flat, *outputs[1:]),
        (1,) * flat + slides.k,
        (1,) * flat + slides.s,
        (1,) * flat + slides.d,
        (0,) * flat + slides.before(space),
        channels // c_in,
        channels_first(windows["data_format"]),
    )


_MOST_SPANNED = 2**16
"""The most cells that a dilated window may span for the kernels, from its first tap to its last."""


def native_by_channel(
    kernel: Callable[..., _kernels.Prepared],
    input: Shape,
    filter: Shape,
    dtype: DType,
    **windows: Any,
) -> _kernels.Prepared | None:
    """The same for a filter of (*window, channels, multiplier): each channel is a group of its own."""
    sizes = [n for n in filter or () if n is not None]
    if not sizes:
        return None
    *k, channels, multiplier = sizes
    _, *d, _ = channels_last(windows["dilations"], windows["data_format"])
    if math.prod((n - 1) * step + 1 for n, step in zip(k, d, strict=True)) > _MOST_SPANNED:
        return None
    return native_conv(kernel, input, (*k, 1, channels * multiplier), dtype, **windows)
