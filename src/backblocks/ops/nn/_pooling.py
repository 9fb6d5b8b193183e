"""Windows of all pooling ops: their attributes, the shape that pooling gives, access maps and kernels."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from backblocks.dtypes import NAMES, DType
from backblocks.errors import OpError
from backblocks.ops import _kernels
from backblocks.ops._access_maps import AccessMap, Cells, loop
from backblocks.ops._inputs import Array
from backblocks.ops._spec import Shape, Size, Spec, agreed
from backblocks.ops.attrs import ImageLayout, Padding, Pads, Strides, VolumeLayout, Window
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


@functools.lru_cache(256)  # shape rules ask, and then kernels
def image_pooling(
    *,
    ksize: Window,
    strides: Strides,
    padding: Padding,
    explicit_paddings: Pads = (),
    data_format: ImageLayout = "NHWC",
) -> Sliding:
    """How the windows of a pooling op slide over images or, by their format, over volumes."""
    rank = len(data_format)
    k = space_of("ksize", ksize, rank, data_format)
    s = space_of("strides", strides, rank, data_format)
    pads = explicit_pads(padding, explicit_paddings, rank, data_format)
    if any(max(pair) >= size for pair, size in zip(pads, k, strict=True)):
        raise OpError(
            f"padding must be smaller than the window {k}",
            arg="explicit_paddings",
            got=explicit_paddings,
            hint="Pad less or use a larger window: one that saw only padding would have no value.",
        )
    return Sliding(k, s, (1,) * len(k), padding, pads, "ksize")


def volume_pooling(
    *,
    ksize: Window,
    strides: Strides,
    padding: Padding,
    data_format: VolumeLayout = "NDHWC",
    explicit_paddings: Pads = (),
) -> Sliding:
    """How the windows of a pooling op slide over volumes."""
    return image_pooling(
        ksize=ksize,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit_paddings,
        data_format=data_format,
    )


def pooled(arg: str, input: Spec, *, data_format: str = "NHWC", **windows: Any) -> tuple[Size, ...]:
    """The shape that comes out of pooling `input`."""
    sliding = image_pooling(data_format=data_format, **windows)
    batch, *space, channels = sizes_channels_last(arg, input, data_format)
    return in_layout((batch, *sliding.out_sizes(space), channels), data_format)


def agreed_with_pooling(arg: str, spec: Spec, out: Shape) -> Shape:
    """The shape of what came out of pooling, or of its gradient."""
    hint = "Use the input, ksize, strides and padding of the forward op."
    return agreed(arg, spec, out, "the shape that pooling gives", hint)


def pool_axes(x: Array, **windows: Any) -> list[Axis]:
    """The axes along which windows slide over an array whose channels are last."""
    return image_pooling(**windows).axes(x.shape[1:-1])


def pool_access(
    rule: str,
    of: tuple[str, ...],
    input: Spec,
    *,
    cells: tuple[str, ...],
    windows: tuple[str, ...],
    candidates: str = "",
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    data_format: str = "NHWC",
    **padding: Any,
) -> list[AccessMap]:
    """Which cells belong together when windows slide over `input`.

    `cells` names the pins that have a value for each cell, `windows` those that have one for each window.
    At a cell of a window, `candidates` runs through all cells of that window.
    """
    batch, *space, channels = channels_last(input.sizes, data_format)
    group = ksize[data_format.index("C")]
    axes = image_pooling(
        ksize=one_in_channels(ksize, data_format),
        strides=one_in_channels(strides, data_format),
        data_format=data_format,
        **padding,
    ).axes(space)
    axes.append(Axis(channels, group, group, 1, 0, channels // group))
    letters = space_letters(data_format) + "c"
    over = window_loops(axes, letters)
    loops = {"n": batch} | over.loops
    at = dict.fromkeys(windows, over.space) | dict.fromkeys(cells, over.read)
    if candidates:
        among = window_loops(axes, letters, "j")
        loops |= among.loops
        at[candidates] = among.read
    each = {
        pin: Cells(in_layout((loop("n"), *place), data_format), axes=data_format)
        for pin, place in at.items()
    }
    return [AccessMap(rule, of, loops, each)]


def one_in_channels(values: tuple[int, ...], layout: str) -> tuple[int, ...]:
    return tuple(1 if axis == "C" else v for axis, v in zip(layout, values, strict=True))


# -- the compiled kernels -------------------------------------------------------------------------


def native_pool(
    kernel: Callable[..., _kernels.Prepared],
    cells: Shape,
    dtype: DType,
    *,
    data_format: str,
    **windows: Any,
) -> _kernels.Prepared | None:
    """The compiled kernel for pooling an array of this shape, or None if that is not for it."""
    window = windows["ksize"]
    if (
        cells is None
        or dtype not in NATIVE
        or window[data_format.index("C")] != 1
        or math.prod(window) >= 2**30  # it numbers a window's cells with 30 bits
    ):
        return None
    batch, *space, channels = channels_last(cells, data_format)
    sliding = image_pooling(data_format=data_format, **windows)
    pooled = (batch, *sliding.out_sizes(space), channels)
    if 0 in (*cells, *pooled):
        return None
    reach = (pooled[-2] - 1) * sliding.s[-1] + channels_last(window, data_format)[-2]
    if reach > 4 * space[-1] + 256:  # so far into padding that the kernels have no room for it
        return None
    flat = 3 - len(space)  # an image is a volume of depth 1
    first_channels = channels_first(data_format)
    return kernel(
        NAMES[dtype],
        _as_volumes((batch, *space, channels), first_channels),
        _as_volumes(pooled, first_channels),
        (1,) * flat + sliding.k,
        (1,) * flat + sliding.s,
        (0,) * flat + sliding.before(space),
    )


def _as_volumes(shape: Sequence[int], first_channels: bool) -> tuple[int, ...]:
    """(images, depth, height, width, channels): with channels first, each is an image of its own."""
    batch, *space, channels = shape
    if first_channels:
        batch, channels = batch * channels, 1
    return (batch, *(1,) * (3 - len(space)), *space, channels)
