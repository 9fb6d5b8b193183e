"""Convolution of images or of volumes, with any number of batch axes in front."""

import math
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import FLOATS
from backblocks.errors import OpError, described
from backblocks.ops import _kernels
from backblocks.ops._access_maps import AccessMap, loop
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Value, op
from backblocks.ops._spec import MAX_RANK, Shape, Size, Spec, is_known, ranked, shape_text
from backblocks.ops.array.shapes import shape_of
from backblocks.ops.attrs import Dilations, Int, Padding, Pads, Strides, choice
from backblocks.ops.nn._convolution import conv_access, convolved, native_conv
from backblocks.ops.nn._windows import channels_last
from backblocks.ops.nn.conv import (
    conv_2d_backprop_filter,
    conv_2d_backprop_input,
    conv_3d_backprop_filter_v2,
    conv_3d_backprop_input_v2,
    convolve,
)

ChannelLayout = Annotated[
    str,
    choice(
        "Channels stand last, or first of the axes behind the batch.",
        "CHANNELS_LAST",
        "CHANNELS_FIRST",
    ),
]
_LAYOUTS = {
    ("CHANNELS_LAST", 4): "NHWC",
    ("CHANNELS_FIRST", 4): "NCHW",
    ("CHANNELS_LAST", 5): "NDHWC",
    ("CHANNELS_FIRST", 5): "NCDHW",
}


def _windows(
    *, strides: tuple[int, ...], dilations: tuple[int, ...], data_format: str, **more: Any
) -> dict[str, Any]:
    """The attributes of Conv2D, or of Conv3D, that say the same. Strides tell which of both it is."""
    rank = len(strides)
    if (data_format, rank) not in _LAYOUTS:
        raise OpError(
            "must have 4 entries for images, 5 for volumes",
            arg="strides",
            got=strides,
            hint="Count one batch axis, the axes of space and the channels.",
        )
    return {
        "strides": strides,
        "dilations": dilations or (1,) * rank,
        "data_format": _LAYOUTS[data_format, rank],
        "padding": more["padding"],
        "explicit_paddings": more["explicit_paddings"],
    }


def _one_batch(shape: tuple[Any, ...], batch_dims: int) -> tuple[Any, ...]:
    """A shape with all batch axes as one."""
    batch = shape[:batch_dims]
    return (None if None in batch else math.prod(batch), *shape[batch_dims:])


def _joined(x: Value, batch_dims: int) -> Value:
    """`x` with all batch axes as one."""
    if batch_dims == 1:
        return x
    if is_known(x.shape):
        return ops.reshape(x, np.array(_one_batch(x.shape, batch_dims), np.int64))
    sizes = shape_of(x, "int64")
    count = ops.prod(ops.slice(sizes, [0], [batch_dims]), [0], keep_dims=True)
    return ops.reshape(x, ops.concat_v2([count, ops.slice(sizes, [batch_dims], [-1])], 0))


@op(
    "Conv",
    "T, T -> T",
    aliases=("convolution", "cross-correlation", "nn.Conv2d", "nn.Conv3d", "conv_general_dilated"),
    T=(*FLOATS, "int32"),
)
def conv(
    input: Array,
    filter: Array,
    *,
    strides: Strides,
    padding: Padding,
    explicit_paddings: Pads = (),
    data_format: ChannelLayout = "CHANNELS_LAST",
    dilations: Dilations = (),
    batch_dims: Int = 1,
    groups: Int = 1,
) -> Array:
    """Slides a filter over images or volumes and sums the products (cross-correlation).

    output[n, o, k] = Σ over j, c of input[n, o·strides - p + j·dilations, c] · filter[j, c, k]
    where n stands for the first batch_dims axes, o and j for those of space; cells outside add nothing
    where p is the padding before: with SAME, for an axis of this size with so many taps on it,
        ⌊max((⌈size / strides⌉ - 1) · strides + (taps - 1) · dilations + 1 - size, 0) / 2⌋
    with channels first they stand behind the batch: output[n, k, o]
    with groups the channels of input and the k fall into so many groups, each on its own

    `filter` is (*window, in channels, out channels), with a window of 2 or 3 axes. `strides`, `dilations`
    and `explicit_paddings` are those of Conv2D or Conv3D: they count the batch as one axis, whatever
    `batch_dims` is. Without `dilations` taps read neighbours.
    """
    windows = _windows(
        strides=strides,
        dilations=dilations,
        data_format=data_format,
        padding=padding,
        explicit_paddings=explicit_paddings,
    )
    y = convolve(input.reshape(_one_batch(input.shape, batch_dims)), filter, **windows)
    return y.reshape(*input.shape[:batch_dims], *y.shape[1:])


@conv.shape
def _(input: Spec, filter: Spec, *, batch_dims: int, groups: int, **attrs: Any) -> Shape:
    windows = _windows(**attrs)
    rank = len(windows["strides"])
    if not 0 <= batch_dims <= MAX_RANK - rank + 1:
        rule = f"must lie between 0 and {MAX_RANK - rank + 1}"
        raise OpError(rule, arg="batch_dims", got=batch_dims, hint="Use 1 for one batch axis.")
    if groups < 1:
        raise OpError("must be at least 1", arg="groups", got=groups, hint="Use 1 for no groups.")
    axes = f"{batch_dims} of the batch, {rank - 2} of space, channels"
    shape = ranked("input", input, batch_dims + rank - 1, axes)
    images = _one_batch(shape, batch_dims)
    _check_channels(channels_last(images, windows["data_format"])[-1], filter, rank, groups)
    out = convolved("input", Spec(images, input.dtype), "filter", filter, **windows)
    return (*shape[:batch_dims], *out[1:])


def _check_channels(channels: Size, filter: Spec, rank: int, groups: int) -> None:
    c_in = ranked("filter", filter, rank)[-2]
    if channels is None or c_in is None or channels == groups * c_in:
        return
    got = described(f"{c_in} in {shape_text(filter.shape)}")
    raise OpError(
        f"input channels times groups, {groups}, must be the {channels} channels of input",
        arg="filter",
        axis=rank - 2,
        got=got,
        hint="Set groups, or check where the channels of input stand.",
    )


@conv.cells
def _(
    y: Spec, input: Spec, filter: Spec, *, batch_dims: int, groups: int, **attrs: Any
) -> list[AccessMap]:
    images = Spec(_one_batch(input.sizes, batch_dims), input.dtype)
    pins = ("input", images), ("filter", filter)
    (access,) = conv_access(*pins, "output", ("input", "filter"), **_windows(**attrs))
    if batch_dims == 1:
        return [access]
    batch = {f"n{axis}": size for axis, size in enumerate(input.sizes[:batch_dims])}
    cells = {
        pin: each
        if pin == "filter"
        else replace(each, at=(*map(loop, batch), *each.at[1:]), axes="")
        for pin, each in access.cells.items()
    }
    rest = {name: size for name, size in access.loops.items() if name != "n"}
    return [replace(access, loops=batch | rest, cells=cells)]


@conv.grad
def _(
    dy: Value,
    y: Value,
    input: Value,
    filter: Value,
    *,
    batch_dims: int,
    groups: int,
    **attrs: Any,
) -> list[Value]:
    windows = _windows(**attrs)
    images = len(windows["strides"]) == 4
    to_input = conv_2d_backprop_input if images else conv_3d_backprop_input_v2
    to_filter = conv_2d_backprop_filter if images else conv_3d_backprop_filter_v2
    x, dy = _joined(input, batch_dims), _joined(dy, batch_dims)
    dx = to_input(shape_of(x), filter, dy, **windows)
    return [
        dx if batch_dims == 1 else ops.reshape(dx, shape_of(input)),
        to_filter(x, shape_of(filter), dy, **windows),
    ]


@conv.kernel("native")
def _(
    input: Spec, filter: Spec, *, batch_dims: int, groups: int, **attrs: Any
) -> KernelFunction | None:
    images = _one_batch(input.sizes, batch_dims)
    kernel = native_conv(_kernels.conv, images, filter.shape, input.dtype, **_windows(**attrs))
    if kernel is None or batch_dims == 1:
        return kernel

    def fill(input: Array, filter: Array, output: Array) -> None:
        outputs = output.reshape(_one_batch(output.shape, batch_dims))
        kernel(input.reshape(images), filter, outputs)

    return fill


conv.differs(
    "formats",
    at="layout",
    tensorflow="CHANNELS_LAST only on the CPU.",
    ours="CHANNELS_LAST and CHANNELS_FIRST, every dtype.",
)
conv.differs(
    "dilations and groups",
    at="dilated",
    tensorflow="Groups are not supported, nor are dilations of volumes on the CPU.",
    ours="Both work, forward and backward.",
)
conv.differs(
    "explicit padding of volumes",
    tensorflow="The process is ended.",
    ours="It works as for images.",
)
conv.differs(
    "gradient",
    tensorflow="There is none.",
    ours="Those of Conv2D and Conv3D, which can be differentiated again.",
)
conv.differs(
    "half sums",
    at="half",
    tensorflow="For volumes bfloat16 sums are kept in bfloat16 and are off when they are long.",
    ours="Sums are kept in float32 and rounded once.",
)
for _topic in ("nan", "inf"):
    conv.differs(
        _topic,
        at="padding",
        tensorflow="Cells that are not there count as 0, and 0 times NaN or infinity is NaN.",
        ours="Cells that are not there take no part.",
    )
conv.differs(
    "SAME with stride > window",
    at="apart",
    tensorflow="For volumes padding becomes negative and shifts every window.",
    ours="Padding is never negative, as documented and as for images.",
)
conv.differs(
    "empty batches of several axes",
    tensorflow="The result has one batch axis of size 0, whatever `batch_dims` is.",
    ours="It has the batch axes of `input`.",
)

_row = np.array([1.0, 4, 9, 16]).reshape(1, 1, 4, 1)
_rise = np.array([-1.0, 1]).reshape(1, 2, 1, 1)
_slide: dict[str, Any] = {"strides": (1, 1, 1, 1), "padding": "VALID"}
conv.case(
    "a difference of neighbours",
    input=_row,
    filter=_rise,
    **_slide,
    out=np.array([3.0, 5, 7]).reshape(1, 1, 3, 1),
)
conv.case(
    "no batch axis, every other cell",
    input=_row[0],
    filter=_rise,
    **_slide,
    dilations=(1, 1, 2, 1),
    batch_dims=0,
    out=np.array([8.0, 12]).reshape(1, 2, 1),
)
conv.case(
    "two batch axes, channels first",
    input=np.stack([_row, 2 * _row]).reshape(2, 1, 1, 1, 4),
    filter=_rise,
    **_slide,
    data_format="CHANNELS_FIRST",
    batch_dims=2,
    out=np.array([3.0, 5, 7, 6, 10, 14]).reshape(2, 1, 1, 1, 3),
)
conv.case(
    "two groups",
    input=np.array([[[[1.0, 10]]]]),
    filter=np.array([[[[2.0, 3]]]]),
    **_slide,
    groups=2,
    out=np.array([[[[2.0, 30]]]]),
)
conv.case(
    "a volume, with a cell of padding before",
    input=_row[None],
    filter=_rise[None],
    strides=(1, 1, 1, 1, 1),
    padding="EXPLICIT",
    explicit_paddings=(0, 0, 0, 0, 0, 0, 1, 0, 0, 0),
    out=np.array([1.0, 3, 5, 7]).reshape(1, 1, 1, 4, 1),
)
conv.case(
    "an empty batch of two axes",
    input=np.zeros((2, 0, 1, 4, 1)),
    filter=_rise,
    **_slide,
    batch_dims=2,
    out=np.zeros((2, 0, 1, 3, 1)),
)
for _about, _change, _error in (
    ("groups that are not there", {"groups": 2}, "times groups, 2, must be the 1 channels"),
    ("groups that nobody asked for", {"input": np.zeros((1, 1, 4, 2))}, "must be the 2 channels"),
    ("no groups", {"groups": 0}, "at least 1"),
    ("one axis of space", {"strides": (1, 1, 1)}, "4 entries for images"),
    ("batch axes of another number", {"batch_dims": 2}, "must have 5 dimensions"),
    ("fewer batch axes than none", {"batch_dims": -1}, "between 0 and 29"),
    ("a filter for volumes", {"filter": np.zeros((1, 1, 2, 1, 1))}, "must have 4 dimensions"),
    ("a stride over channels", {"strides": (1, 1, 1, 2)}, "1 for batch and channels"),
    ("layouts by letters", {"data_format": "NHWC"}, "CHANNELS_LAST or CHANNELS_FIRST"),
    ("a filter of no size", {"filter": np.zeros((0, 2, 1, 1))}, "no empty axis"),
):
    _call: dict[str, Any] = {"input": _row, "filter": _rise, **_slide, **_change}
    conv.fails(_about, **_call, error=_error)
