"""Depthwise convolution: every channel has filters of its own, and channels are never mixed."""

from typing import Any

import numpy as np

from backblocks.dtypes import FLOATS, wide
from backblocks.ops import _kernels
from backblocks.ops._inputs import Array
from backblocks.ops._op import op
from backblocks.ops.attrs import Dilations, ImageLayout, Padding, Pads, Strides
from backblocks.ops.nn._convolution import complete, conv_axes
from backblocks.ops.nn._windows import channels_last, from_channels_last, taps, to_channels_last


def _depthwise(
    *,
    strides: Strides,
    padding: Padding,
    explicit_paddings: Pads = (),
    data_format: ImageLayout = "NHWC",
    dilations: Dilations = (1, 1, 1, 1),
) -> None:
    """The attributes of the depthwise ops."""


def _by_channel(y: Array, filter_shape: tuple[int, ...]) -> Array:
    """A view of (batch, height, width, channels * multiplier) with the last axis taken apart."""
    return y.reshape(*y.shape[:-1], *filter_shape[-2:])


@op(
    "DepthwiseConv2dNative",
    "T, T -> T",
    aliases=("depthwise convolution", "DepthwiseConv2D", "grouped convolution"),
    attrs=_depthwise,
    T=FLOATS,
)
def depthwise_conv_2d_native(input: Array, filter: Array, **windows: Any) -> Array:
    """Slides filters over each channel by itself.

    output[n, o, c·d + m] = Σ over j of input[n, o·strides - p + j·dilations, c] · filter[j, c, m]
    where o and j stand for height and width, with p as in Conv2D; cells outside add nothing
    where 0 ≤ m < d, and d is the last size of filter
    with NCHW the channels stand second: input[n, c, i]

    `filter` is (height, width, channels, multiplier); output channel `c * multiplier + m` is input
    channel `c` seen through its filter `m`.
    """
    layout = windows["data_format"]
    dtype = wide(input.dtype)
    x, f = (each.astype(dtype, copy=False) for each in (to_channels_last(input, layout), filter))
    axes = conv_axes(x.shape[1:-1], f.shape[:-2], windows)
    y = np.zeros((x.shape[0], *(a.out for a in axes), f.shape[2] * f.shape[3]), x.dtype)
    parts = _by_channel(y, f.shape)
    for tap, cells, outputs in taps(axes, x, f):
        parts[outputs] += x[cells][..., None] * f[tap]
    return from_channels_last(y, layout)


@op("DepthwiseConv2dNativeBackpropInput", "int32, T, T -> T", attrs=_depthwise, T=FLOATS)
def depthwise_conv_2d_native_backprop_input(
    input_sizes: Array, filter: Array, out_backprop: Array, **windows: Any
) -> Array:
    """The gradient of DepthwiseConv2dNative with respect to its input.

    output[n, i, c] = Σ over o, j, m of out_backprop[n, o, c·d + m] · filter[j, c, m]
    where i = o·strides - p + j·dilations along height and width, with p as in Conv2D
    where 0 ≤ m < d, and d is the last size of filter
    with NCHW the channels stand second: output[n, c, i]
    """
    layout = windows["data_format"]
    dtype = wide(filter.dtype)
    dy, f = (
        each.astype(dtype, copy=False) for each in (to_channels_last(out_backprop, layout), filter)
    )
    dx = np.zeros(channels_last(input_sizes.tolist(), layout), f.dtype)
    parts = _by_channel(dy, f.shape)
    for tap, cells, outputs in taps(conv_axes(dx.shape[1:-1], f.shape[:-2], windows), dy):
        dx[cells] += (parts[outputs] * f[tap]).sum(-1)
    return from_channels_last(dx, layout)


@op("DepthwiseConv2dNativeBackpropFilter", "T, int32, T -> T", attrs=_depthwise, T=FLOATS)
def depthwise_conv_2d_native_backprop_filter(
    input: Array, filter_sizes: Array, out_backprop: Array, **windows: Any
) -> Array:
    """The gradient of DepthwiseConv2dNative with respect to its filter.

    output[j, c, m] = Σ over n, o of input[n, i, c] · out_backprop[n, o, c·d + m]
    where i = o·strides - p + j·dilations along height and width, with p as in Conv2D
    where 0 ≤ m < d, and d is the last of filter_sizes; cells outside add nothing
    with NCHW the channels stand second: input[n, c, i]
    """
    layout = windows["data_format"]
    dtype = wide(input.dtype)
    x, dy = (
        to_channels_last(each, layout).astype(dtype, copy=False) for each in (input, out_backprop)
    )
    df = np.zeros(filter_sizes.tolist(), x.dtype)
    parts = _by_channel(dy, df.shape)
    for tap, cells, outputs in taps(conv_axes(x.shape[1:-1], df.shape[:-2], windows), dy):
        df[tap] = (x[cells][..., None] * parts[outputs]).sum((0, 1, 2))
    return df


complete(
    depthwise_conv_2d_native,
    depthwise_conv_2d_native_backprop_input,
    depthwise_conv_2d_native_backprop_filter,
    (
        _kernels.depthwise_conv,
        _kernels.depthwise_conv_input_grad,
        _kernels.depthwise_conv_filter_grad,
    ),
    depthwise=True,
)


# -- differences from TensorFlow ------------------------------------------------------------------

for _each in (
    depthwise_conv_2d_native,
    depthwise_conv_2d_native_backprop_input,
    depthwise_conv_2d_native_backprop_filter,
):
    _each.differs(
        "formats",
        at="layout",
        tensorflow="NHWC and equal strides only on the CPU.",
        ours="NHWC and NCHW, any strides.",
    )
    _each.differs(
        "half sums",
        at="half",
        tensorflow="Sums of half types are kept in the half type and saturate.",
        ours="Sums are kept in float32 and rounded once.",
    )
    for _topic in ("nan", "inf"):
        _each.differs(
            _topic,
            at="padding",
            tensorflow="Cells that are not there count as 0, and 0 times NaN or infinity is NaN.",
            ours="Cells that are not there take no part.",
        )
depthwise_conv_2d_native.differs(
    "dilations",
    at="dilated",
    tensorflow="Refused on the CPU.",
    ours="Supported, forward and backward.",
)
for _each in (
    depthwise_conv_2d_native_backprop_input,
    depthwise_conv_2d_native_backprop_filter,
):
    _each.differs(
        "dilations",
        at="dilated",
        tensorflow="Accepted and ignored: with SAME padding the gradient is wrong.",
        ours="The gradient of the dilated convolution.",
    )
depthwise_conv_2d_native.differs(
    "checks",
    tensorflow="A filter without rows or columns, and a list of dilations of another length, are "
    "accepted.",
    ours="Both are refused.",
)
for _each in (
    depthwise_conv_2d_native_backprop_input,
    depthwise_conv_2d_native_backprop_filter,
):
    _each.differs(
        "checks",
        tensorflow="Dilations below 1, over batch or channels, and in a list of another length, are "
        "accepted.",
        ours="They are refused.",
        agree="Use dilations of 1.",
    )
depthwise_conv_2d_native_backprop_filter.differs(
    "empty",
    tensorflow="When batch or forward result is empty the gradient is whatever was in memory.",
    ours="It is zero.",
)


# -- cases ----------------------------------------------------------------------------------------

_image = np.arange(1.0, 9).reshape(1, 2, 2, 2)
_filter = np.array([1.0, 10, 100, 1000]).reshape(1, 1, 2, 2)
_slide: dict[str, Any] = {"strides": (1, 1, 1, 1), "padding": "VALID"}
_seen = np.array([1.0, 10, 200, 2000, 3, 30, 400, 4000, 5, 50, 600, 6000, 7, 70, 800, 8000])
_seen = _seen.reshape(1, 2, 2, 4)

depthwise_conv_2d_native.case(
    "two filters a channel", input=_image, filter=_filter, **_slide, out=_seen
)
depthwise_conv_2d_native.case(
    "every other cell", input=np.array([1.0, 2, 4]).reshape(1, 1, 3, 1),
    filter=np.array([-1.0, 1]).reshape(1, 2, 1, 1), **_slide, dilations=(1, 1, 2, 1),
    out=np.full((1, 1, 1, 1), 3.0),
)  # fmt: skip
depthwise_conv_2d_native.case(
    "channels first, unequal strides", input=np.array([1.0, 2, 4, 8]).reshape(1, 2, 1, 2),
    filter=np.array([1.0, 10]).reshape(1, 1, 2, 1), strides=(1, 1, 1, 2), padding="SAME",
    data_format="NCHW", out=np.array([1.0, 40]).reshape(1, 2, 1, 1),
)  # fmt: skip
depthwise_conv_2d_native.case(
    "an empty batch", input=_image[:0], filter=_filter, **_slide, out=_seen[:0]
)
depthwise_conv_2d_native.fails(
    "another number of channels", input=_image, filter=np.ones((1, 1, 3, 1)), **_slide,
    error="the 2 channels of input",
)  # fmt: skip
depthwise_conv_2d_native.fails(
    "a filter of no size", input=_image, filter=np.ones((1, 0, 2, 1)), **_slide,
    error="no empty axis",
)  # fmt: skip
depthwise_conv_2d_native.fails(
    "three dilations", input=_image, filter=_filter, **_slide, dilations=(1, 1, 1),
    error="must have 4 entries",
)  # fmt: skip
depthwise_conv_2d_native_backprop_input.fails(
    "a dilation over channels", input_sizes=[1, 1, 1, 2], filter=_filter,
    out_backprop=np.ones((1, 1, 1, 4)), **_slide, dilations=(1, 1, 1, 2),
    error="1 for batch and channels",
)  # fmt: skip
depthwise_conv_2d_native_backprop_filter.fails(
    "a dilation below 1", input=_image, filter_sizes=[1, 1, 2, 2],
    out_backprop=np.ones((1, 2, 2, 4)), **_slide, dilations=(1, 0, 1, 1), error="at least 1",
)  # fmt: skip
depthwise_conv_2d_native_backprop_input.case(
    "what each cell gave", input_sizes=[1, 1, 1, 2], filter=_filter,
    out_backprop=np.ones((1, 1, 1, 4)), **_slide, out=np.array([11.0, 1100]).reshape(1, 1, 1, 2),
)  # fmt: skip
depthwise_conv_2d_native_backprop_filter.case(
    "what each tap gave", input=_image, filter_sizes=[1, 1, 2, 2],
    out_backprop=np.ones((1, 2, 2, 4)), **_slide,
    out=np.array([16.0, 16, 20, 20]).reshape(1, 1, 2, 2),
)  # fmt: skip
depthwise_conv_2d_native_backprop_filter.case(
    "an empty batch", input=_image[:0], filter_sizes=[1, 1, 2, 2],
    out_backprop=np.ones((0, 2, 2, 4)), **_slide, out=np.zeros((1, 1, 2, 2)),
)  # fmt: skip
depthwise_conv_2d_native_backprop_input.fails(
    "a gradient of another shape", input_sizes=[1, 2, 2, 2], filter=_filter,
    out_backprop=np.ones((1, 1, 1, 4)), **_slide, error="the shape that convolving gives",
)  # fmt: skip
depthwise_conv_2d_native_backprop_filter.fails(
    "a gradient of another shape", input=_image, filter_sizes=[1, 1, 2, 2],
    out_backprop=np.ones((1, 1, 1, 4)), **_slide, error="the shape that convolving gives",
)  # fmt: skip
