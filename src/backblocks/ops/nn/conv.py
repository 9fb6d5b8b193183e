"""Convolution and its gradients with respect to input and filter, for images and for volumes.

Filters are (*window, in channels, out channels). When the input has g times the filter's in channels,
channels and filters fall into g groups that do not see each other.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from backblocks.dtypes import FLOATS, wide
from backblocks.ops import _kernels
from backblocks.ops._inputs import Array
from backblocks.ops._op import op
from backblocks.ops._pins import Pin
from backblocks.ops._spec import Spec, ranked, sizes_from
from backblocks.ops.array.shapes import INDEX
from backblocks.ops.attrs import Dilations, Padding, Pads, Strides
from backblocks.ops.nn._convolution import (
    complete,
    complete_gradients,
    conv_axes,
    image_convolution,
    volume_convolution,
)
from backblocks.ops.nn._windows import (
    OF_VOLUMES,
    channels_last,
    from_channels_last,
    in_layout,
    taps,
    to_channels_last,
)


def convolve(x: Array, filter: Array, **windows: Any) -> Array:
    """Each output is the sum, over the taps of its window, of the cells there times the filter there."""
    layout = windows["data_format"]
    dtype = wide(x.dtype)
    x, f = to_channels_last(x, layout).astype(dtype, copy=False), filter.astype(dtype, copy=False)
    axes = conv_axes(x.shape[1:-1], f.shape[:-2], windows)
    y = np.zeros((x.shape[0], *(a.out for a in axes), f.shape[-1]), x.dtype)
    for tap, cells, outputs in taps(axes, x, f):
        for ins, outs in _groups(x.shape[-1], f):
            y[outputs][..., outs] += x[cells][..., ins] @ f[tap][:, outs]
    return from_channels_last(y, layout)


def _to_input(shape: tuple[int, ...], filter: Array, dy: Array, **windows: Any) -> Array:
    """The adjoint of `convolve` in its input: every cell gets back what it gave."""
    layout = windows["data_format"]
    dtype = wide(dy.dtype)
    dy, f = to_channels_last(dy, layout).astype(dtype, copy=False), filter.astype(dtype, copy=False)
    dx = np.zeros(channels_last(shape, layout), dy.dtype)
    for tap, cells, outputs in taps(conv_axes(dx.shape[1:-1], f.shape[:-2], windows), dy):
        for ins, outs in _groups(dx.shape[-1], f):
            dx[cells][..., ins] += dy[outputs][..., outs] @ f[tap][:, outs].T
    return from_channels_last(dx, layout)


def _to_filter(x: Array, shape: tuple[int, ...], dy: Array, **windows: Any) -> Array:
    """The adjoint of `convolve` in its filter: every tap gets back what it gave."""
    layout = windows["data_format"]
    dtype = wide(dy.dtype)
    x, dy = (to_channels_last(each, layout).astype(dtype, copy=False) for each in (x, dy))
    df = np.zeros(shape, dy.dtype)
    for tap, cells, outputs in taps(conv_axes(x.shape[1:-1], shape[:-2], windows), dy):
        for ins, outs in _groups(x.shape[-1], df):
            a, b = x[cells][..., ins], dy[outputs][..., outs]
            df[tap][:, outs] = a.reshape(-1, a.shape[-1]).T @ b.reshape(-1, b.shape[-1])
    return df


def _groups(channels: int, filter: Array) -> Iterator[tuple[slice, slice]]:
    """For each group, its channels of the input and of the output."""
    c_in, c_out = filter.shape[-2:]
    groups = channels // c_in
    for g in range(groups):
        share = c_out // groups
        yield slice(g * c_in, (g + 1) * c_in), slice(g * share, (g + 1) * share)


# -- images ------------------------------------------------------------------------------------


@op(
    "Conv2D",
    "T, T -> T",
    aliases=("conv2d", "convolution", "nn.Conv2d", "cross-correlation"),
    attrs=image_convolution,
    T=(*FLOATS, "int32"),
)
def conv_2d(input: Array, filter: Array, **windows: Any) -> Array:
    """Slides a filter over an image and sums the products (cross-correlation).

    output[n, o, k] = Σ over j, c of input[n, o·strides - p + j·dilations, c] · filter[j, c, k]
    where o and j stand for height and width; cells outside add nothing
    where p is the padding before: with SAME, for an axis of this size with so many taps on it,
        ⌊max((⌈size / strides⌉ - 1) · strides + (taps - 1) · dilations + 1 - size, 0) / 2⌋
    with NCHW the channels stand second: output[n, k, o]
    with g times the filter's channels in input, they and the k fall into g groups, each on its own

    `filter` is (height, width, in channels, out channels). `strides` and `dilations` have one entry for
    each dimension of `input`, in the order of `data_format`.
    """
    return convolve(input, filter, **windows)


@op("Conv2DBackpropInput", "int32, T, T -> T", attrs=image_convolution, T=(*FLOATS, "int32"))
def conv_2d_backprop_input(
    input_sizes: Array, filter: Array, out_backprop: Array, **windows: Any
) -> Array:
    """The gradient of Conv2D with respect to its input: what each cell gave, it gets back.

    output[n, i, c] = Σ over o, j, k of out_backprop[n, o, k] · filter[j, c, k]
    where i = o·strides - p + j·dilations along height and width, with p as in Conv2D
    with NCHW the channels stand second: output[n, c, i]
    with g times the filter's channels in output, they and the k fall into g groups, each on its own

    `input_sizes` is the shape of the input, or just its height and width.
    """
    specs = Spec.of(input_sizes), Spec.of(filter), Spec.of(out_backprop)
    sizes = _image_shape(conv_2d_backprop_input.inputs[0], *specs, windows)
    return _to_input(tuple(n for n in sizes if n is not None), filter, out_backprop, **windows)


def _image_shape(
    pin: Pin, sizes: Spec, filter: Spec, out_backprop: Spec, windows: dict[str, Any]
) -> tuple[int | None, ...]:
    """The shape of the input of Conv2D, of which the height and width will do."""
    *_, channels, _ = ranked("filter", filter, 4)
    batch, *_ = ranked("out_backprop", out_backprop, 4)
    space = sizes_from(pin.name, sizes, [4, 2])
    if len(space) == 4:
        return space
    return in_layout((batch, *space, channels), windows["data_format"])


@op("Conv2DBackpropFilter", "T, int32, T -> T", attrs=image_convolution, T=FLOATS)
def conv_2d_backprop_filter(
    input: Array, filter_sizes: Array, out_backprop: Array, **windows: Any
) -> Array:
    """The gradient of Conv2D with respect to its filter: what each tap gave, it gets back.

    output[j, c, k] = Σ over n, o of input[n, o·strides - p + j·dilations, c] · out_backprop[n, o, k]
    where o and j stand for height and width, with p as in Conv2D; cells outside add nothing
    with NCHW the channels stand second: input[n, c, i]
    with g times the filter's channels in input, they and the k fall into g groups, each on its own
    """
    return _to_filter(input, tuple(filter_sizes.tolist()), out_backprop, **windows)


# -- volumes -----------------------------------------------------------------------------------


@op(
    "Conv3D",
    "T, T -> T",
    aliases=("conv3d", "convolution", "nn.Conv3d", "cross-correlation"),
    attrs=volume_convolution,
    beyond=("explicit_paddings",),
    T=FLOATS,
)
def conv_3d(input: Array, filter: Array, **windows: Any) -> Array:
    """Slides a filter over a volume and sums the products (cross-correlation).

    `filter` is (depth, height, width, in channels, out channels). `strides` and `dilations` have one
    entry for each dimension of `input`, in the order of `data_format`.
    """
    return convolve(input, filter, **windows)


@op(
    "Conv3DBackpropInputV2",
    "Tshape, T, T -> T",
    attrs=volume_convolution,
    beyond=("explicit_paddings",),
    T=FLOATS,
    Tshape=INDEX,
)
def conv_3d_backprop_input_v2(
    input_sizes: Array, filter: Array, out_backprop: Array, **windows: Any
) -> Array:
    """The gradient of Conv3D with respect to its input: what each cell gave, it gets back."""
    return _to_input(tuple(input_sizes.tolist()), filter, out_backprop, **windows)


@op(
    "Conv3DBackpropFilterV2",
    "T, int32, T -> T",
    attrs=volume_convolution,
    beyond=("explicit_paddings",),
    T=FLOATS,
)
def conv_3d_backprop_filter_v2(
    input: Array, filter_sizes: Array, out_backprop: Array, **windows: Any
) -> Array:
    """The gradient of Conv3D with respect to its filter: what each tap gave, it gets back."""
    return _to_filter(input, tuple(filter_sizes.tolist()), out_backprop, **windows)


# -- volumes, in the first form: a tensor stands for its shape ------------------------------------


def _first_form(
    *,
    strides: Strides,
    padding: Padding,
    dilations: Dilations = (1, 1, 1, 1, 1),
    explicit_paddings: Pads = (),
) -> None:
    """The attributes of the ops that know only channels-last volumes."""


@op(
    "Conv3DBackpropInput",
    "T, T, T -> T",
    attrs=_first_form,
    beyond=("explicit_paddings",),
    T=FLOATS,
)
def conv_3d_backprop_input(
    input: Array, filter: Array, out_backprop: Array, **windows: Any
) -> Array:
    """Conv3DBackpropInputV2 for an input of the shape of `input`, whose values are not used.

    output[n, i, c] = Σ over o, j, k of out_backprop[n, o, k] · filter[j, c, k]
    where i = o·strides - p + j·dilations along depth, height and width, with p as in Conv3D
    with g times the filter's channels in output, they and the k fall into g groups, each on its own
    """
    return _to_input(input.shape, filter, out_backprop, data_format="NDHWC", **windows)


@op(
    "Conv3DBackpropFilter",
    "T, T, T -> T",
    attrs=_first_form,
    beyond=("explicit_paddings",),
    T=FLOATS,
)
def conv_3d_backprop_filter(
    input: Array, filter: Array, out_backprop: Array, **windows: Any
) -> Array:
    """Conv3DBackpropFilterV2 for a filter of the shape of `filter`, whose values are not used.

    output[j, c, k] = Σ over n, o of input[n, o·strides - p + j·dilations, c] · out_backprop[n, o, k]
    where o and j stand for depth, height and width, with p as in Conv3D; cells outside add nothing
    with g times the filter's channels in input, they and the k fall into g groups, each on its own
    """
    return _to_filter(input, filter.shape, out_backprop, data_format="NDHWC", **windows)


# -- their rules and kernels ----------------------------------------------------------------------

_NATIVE = (_kernels.conv, _kernels.conv_input_grad, _kernels.conv_filter_grad)
complete(
    conv_2d,
    conv_2d_backprop_input,
    conv_2d_backprop_filter,
    _NATIVE,
    input_shape=_image_shape,
)
complete(conv_3d, conv_3d_backprop_input_v2, conv_3d_backprop_filter_v2, _NATIVE)
complete_gradients(conv_3d, conv_3d_backprop_input, conv_3d_backprop_filter, _NATIVE)
for _each, _of_images in (
    (conv_3d, conv_2d),
    (conv_3d_backprop_input_v2, conv_2d_backprop_input),
    (conv_3d_backprop_filter_v2, conv_2d_backprop_filter),
):
    _each.same_formula(_of_images, **OF_VOLUMES, Conv2D="Conv3D")


# -- differences from TensorFlow ------------------------------------------------------------------

for _each in (conv_2d, conv_2d_backprop_input, conv_2d_backprop_filter):
    _each.differs(
        "formats",
        at="layout",
        tensorflow="NHWC only on the CPU.",
        ours="NHWC and NCHW, every dtype.",
    )
for _each in (conv_3d, conv_3d_backprop_input_v2, conv_3d_backprop_filter_v2):
    _each.differs(
        "formats",
        at="layout",
        tensorflow="NDHWC only on the CPU; no explicit padding.",
        ours="NDHWC and NCDHW, every float type, explicit padding.",
    )
    _each.differs(
        "half sums",
        at="half",
        tensorflow="bfloat16 sums are kept in bfloat16 and are off when they are long.",
        ours="Sums are kept in float32 and rounded once.",
    )
for _each in (
    conv_2d_backprop_input,
    conv_2d_backprop_filter,
    conv_3d,
    conv_3d_backprop_input_v2,
    conv_3d_backprop_filter_v2,
):
    _each.differs(
        "dilations and groups",
        at="dilated",
        tensorflow="Neither is supported on the CPU.",
        ours="Both work, forward and backward.",
    )
for _each in (conv_2d_backprop_input, conv_2d_backprop_filter):
    _each.differs(
        "half sums",
        at="half",
        tensorflow="bfloat16 sums are kept in bfloat16 and are off when they are long.",
        ours="Sums are kept in float32 and rounded once.",
    )
for _each in (conv_2d, conv_2d_backprop_filter, conv_3d_backprop_filter_v2):
    for _topic in ("nan", "inf"):
        _each.differs(
            _topic,
            at="padding",
            tensorflow="Cells that are not there count as 0, and 0 times NaN or infinity is NaN.",
            ours="Cells that are not there take no part.",
        )
for _each in (conv_2d_backprop_filter, conv_3d_backprop_filter_v2):
    _each.differs(
        "empty",
        tensorflow="When the forward result is empty the gradient is whatever was in memory.",
        ours="It is zero.",
    )
for _each in (conv_3d_backprop_input, conv_3d_backprop_filter):
    _each.differs(
        "kernels",
        tensorflow="The op can no longer be called.",
        ours="Works as its second version does.",
    )
conv_2d.differs(
    "checks",
    tensorflow="An input without channels is accepted with a filter that has some.",
    ours="It is refused: channels do not meet.",
)
conv_3d.differs(
    "no output channels",
    tensorflow="A filter that has none is refused.",
    ours="It gives an empty result, as in Conv2D.",
)
conv_3d.differs(
    "SAME with stride > window",
    at="apart",
    tensorflow="Padding becomes negative and shifts every window.",
    ours="Padding is never negative, as documented and as in 2-D.",
)


# -- cases ----------------------------------------------------------------------------------------

_pair = np.arange(1.0, 17).reshape(2, 2, 2, 2)
_pair_3d = np.arange(1.0, 33).reshape(2, 2, 2, 2, 2)
_apart: dict[str, Any] = {"strides": (1, 3, 2, 1), "padding": "SAME"}
_apart_3d: dict[str, Any] = {"strides": (1, 4, 3, 2, 1), "padding": "SAME"}
_slide: dict[str, Any] = {"strides": (1, 1, 1, 1), "padding": "VALID"}
_pair_out = np.array([372.0, 408, 884, 984]).reshape(2, 1, 1, 2)
_pair_3d_out = np.array([2856.0, 2992, 6952, 7344]).reshape(2, 1, 1, 1, 2)


def _line(*values: float) -> Array:
    return np.array(values, float).reshape(1, 1, -1, 1)


conv_2d.case("one window an image", input=_pair, filter=_pair, **_apart, out=_pair_out)
conv_2d.case(
    "a difference of neighbours", input=_line(1, 4, 9, 16), filter=_line(-1, 1).reshape(1, 2, 1, 1),
    **_slide, out=_line(3, 5, 7),
)  # fmt: skip
conv_2d.case(
    "every other cell", input=_line(1, 4, 9, 16), filter=_line(-1, 1).reshape(1, 2, 1, 1),
    **_slide, dilations=(1, 1, 2, 1), out=_line(8, 12),
)  # fmt: skip
conv_2d.case(
    "two groups", input=np.array([[[[1.0, 10]]]]), filter=np.array([[[[2.0, 3]]]]), **_slide,
    out=np.array([[[[2.0, 30]]]]),
)  # fmt: skip
conv_2d.case(
    "channels first", input=np.array([1.0, 4, 9]).reshape(1, 1, 1, 3), data_format="NCHW",
    filter=np.array([-1.0, 1]).reshape(1, 2, 1, 1), strides=(1, 1, 1, 1), padding="VALID",
    out=np.array([3.0, 5]).reshape(1, 1, 1, 2),
)  # fmt: skip
conv_2d.case(
    "explicit padding", input=_line(1, 2), filter=_line(1, 1, 1).reshape(1, 3, 1, 1),
    strides=(1, 1, 1, 1), padding="EXPLICIT", explicit_paddings=(0, 0, 0, 0, 2, 0, 0, 0),
    out=_line(1, 3),
)  # fmt: skip
conv_2d.case("an empty batch", input=_pair[:0], filter=_pair, **_apart, out=_pair_out[:0])
conv_2d.fails(
    "CVE-2021-29526: a filter of no size", input=_pair, filter=np.zeros((0, 0, 0, 0)), **_apart,
    error="no empty axis",
)  # fmt: skip
conv_2d.fails(
    "channels that do not meet", input=_pair, filter=np.zeros((1, 1, 3, 1)), **_slide,
    error="divide the 2 channels",
)  # fmt: skip
conv_2d.fails(
    "an input without channels", input=_pair[..., :0], filter=_pair, **_slide,
    error="divide the 0 channels",
)  # fmt: skip
conv_2d.fails(
    "groups that do not share evenly", input=_pair, filter=np.zeros((1, 1, 1, 3)), **_slide,
    error="multiple of the 2 groups",
)  # fmt: skip
conv_2d.fails(
    "a stride over channels", input=_pair, filter=_pair, strides=(1, 1, 1, 2), padding="SAME",
    error="1 for batch and channels",
)  # fmt: skip
conv_2d.fails(
    "paddings that would not be used", input=_pair, filter=_pair, **_slide,
    explicit_paddings=(0,) * 8, error='only for padding="EXPLICIT"',
)  # fmt: skip
conv_2d.fails(
    "dilation 0", input=_pair, filter=_pair, **_slide, dilations=(1, 0, 1, 1), error="at least 1"
)

conv_2d_backprop_input.case(
    "what each cell gave", input_sizes=[2, 2, 2, 2], filter=_pair, out_backprop=_pair_out, **_apart,
    out=np.array(
        [1188.0, 2748, 4308, 5868, 7428, 8988, 10548, 12108]
        + [2852, 6588, 10324, 14060, 17796, 21532, 25268, 29004]
    ).reshape(2, 2, 2, 2),
)  # fmt: skip
conv_2d_backprop_input.case(
    "height and width will do", input_sizes=[1, 3], filter=_line(-1, 1).reshape(1, 2, 1, 1),
    out_backprop=_line(10, 100), **_slide, out=_line(-10, -90, 100),
)  # fmt: skip
conv_2d_backprop_input.fails(
    "CVE-2021-29525: a filter of no size", input_sizes=[2, 2, 2, 2],
    filter=np.zeros((0, 1, 5, 0)), out_backprop=_pair_out, **_apart, error="no empty axis",
)  # fmt: skip
conv_2d_backprop_input.fails(
    "an output of another shape", input_sizes=[2, 2, 2, 2], filter=_pair, out_backprop=_pair,
    **_apart, error="the shape that convolving gives",
)  # fmt: skip
conv_2d_backprop_input.fails(
    "a size below zero", input_sizes=[2, -2, 2, 2], filter=_pair, out_backprop=_pair_out, **_apart,
    error="not be negative",
)  # fmt: skip

conv_2d_backprop_filter.case(
    "what each tap gave", input=_pair, filter_sizes=[2, 2, 2, 2], out_backprop=_pair_out, **_apart,
    out=np.array(
        [8328.0, 9264, 9584, 10656, 10840, 12048, 12096, 13440]
        + [13352, 14832, 14608, 16224, 15864, 17616, 17120, 19008]
    ).reshape(2, 2, 2, 2),
)  # fmt: skip
conv_2d_backprop_filter.case(
    "an empty batch", input=_pair[:0], filter_sizes=[2, 2, 2, 2], out_backprop=_pair_out[:0],
    **_apart, out=np.zeros((2, 2, 2, 2)),
)  # fmt: skip
conv_2d_backprop_filter.fails(
    "CVE-2021-29538: a filter without channels", input=_pair, filter_sizes=[2, 2, 0, 2],
    out_backprop=_pair_out, **_apart, error="no empty axis",
)  # fmt: skip
conv_2d_backprop_filter.fails(
    "an output of another shape", input=_pair, filter_sizes=[2, 2, 2, 2], out_backprop=_pair,
    **_apart, error="the shape that convolving gives",
)  # fmt: skip

conv_3d.case("one window a volume", input=_pair_3d, filter=_pair_3d, **_apart_3d, out=_pair_3d_out)
conv_3d.case(
    "stride larger than window, SAME", input=np.arange(6.0).reshape(1, 6, 1, 1, 1),
    filter=np.ones((1, 1, 1, 1, 1)), strides=(1, 3, 1, 1, 1), padding="SAME",
    out=np.array([0.0, 3]).reshape(1, 2, 1, 1, 1),
)  # fmt: skip
conv_3d.case(
    "every other cell, channels first", input=np.array([1.0, 4, 9]).reshape(1, 1, 3, 1, 1),
    filter=np.array([-1.0, 1]).reshape(2, 1, 1, 1, 1), strides=(1, 1, 1, 1, 1), padding="VALID",
    data_format="NCDHW", dilations=(1, 1, 2, 1, 1), out=np.full((1, 1, 1, 1, 1), 8.0),
)  # fmt: skip
conv_3d.case(
    "no output channels", input=_pair_3d, filter=_pair_3d[..., :0], **_apart_3d,
    out=_pair_3d_out[..., :0],
)  # fmt: skip
conv_3d.fails("an image", input=_pair, filter=_pair_3d, **_apart_3d, error="must have 5 dimensions")

_to_input_3d = np.array(
    [8840.0, 20536, 32232, 43928, 55624, 67320, 79016, 90712]
    + [102408, 114104, 125800, 137496, 149192, 160888, 172584, 184280]
    + [21640, 50232, 78824, 107416, 136008, 164600, 193192, 221784]
    + [250376, 278968, 307560, 336152, 364744, 393336, 421928, 450520]
).reshape(2, 2, 2, 2, 2)
_to_filter_3d = np.array(
    [121040.0, 127840, 130848, 138176, 140656, 148512, 150464, 158848]
    + [160272, 169184, 170080, 179520, 179888, 189856, 189696, 200192]
    + [199504, 210528, 209312, 220864, 219120, 231200, 228928, 241536]
    + [238736, 251872, 248544, 262208, 258352, 272544, 268160, 282880]
).reshape(2, 2, 2, 2, 2)

conv_3d_backprop_input_v2.case(
    "what each cell gave", input_sizes=[2, 2, 2, 2, 2], filter=_pair_3d, out_backprop=_pair_3d_out,
    **_apart_3d, out=_to_input_3d,
)  # fmt: skip
conv_3d_backprop_input_v2.fails(
    "CVE-2021-29522: everything empty", input_sizes=[0, 0, 0, 0, 0],
    filter=np.zeros((0, 0, 0, 1, 0)), out_backprop=np.zeros((0, 0, 0, 0, 0)), **_apart_3d,
    error="no empty axis",
)  # fmt: skip
conv_3d_backprop_input_v2.fails(
    "four sizes", input_sizes=[2, 2, 2, 2], filter=_pair_3d, out_backprop=_pair_3d_out,
    **_apart_3d, error="must have 5 entries",
)  # fmt: skip
conv_3d_backprop_filter_v2.case(
    "what each tap gave", input=_pair_3d, filter_sizes=[2, 2, 2, 2, 2], out_backprop=_pair_3d_out,
    **_apart_3d, out=_to_filter_3d,
)  # fmt: skip
conv_3d_backprop_filter_v2.fails(
    "CVE-2021-29520: a gradient of another shape", input=_pair_3d, filter_sizes=[2, 2, 2, 2, 2],
    out_backprop=_pair_3d, **_apart_3d, error="the shape that convolving gives",
)  # fmt: skip
conv_3d_backprop_input.case(
    "what each cell gave", input=np.zeros_like(_pair_3d), filter=_pair_3d,
    out_backprop=_pair_3d_out, **_apart_3d, out=_to_input_3d,
)  # fmt: skip
conv_3d_backprop_filter.case(
    "what each tap gave", input=_pair_3d, filter=np.zeros_like(_pair_3d),
    out_backprop=_pair_3d_out, **_apart_3d, out=_to_filter_3d,
)  # fmt: skip
for _each in (conv_3d_backprop_input, conv_3d_backprop_filter):
    _each.fails(
        "a gradient of another shape", input=_pair_3d, filter=_pair_3d, out_backprop=_pair_3d,
        **_apart_3d, error="the shape that convolving gives",
    )  # fmt: skip
