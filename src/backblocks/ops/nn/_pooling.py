"""What all pooling ops share: reading their attributes, and the shape that pooling gives."""

from typing import Any

from backblocks.dtypes import BY_NAME
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.ops._spec import Shape, Size, Spec, agreed
from backblocks.ops.attrs import ImageLayout, Padding, Pads, Strides, VolumeLayout, Window
from backblocks.ops.nn._windows import Axis, Sliding, explicit_pads, first, sizes_last, space_of


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
    batch, *space, channels = sizes_last(arg, input, data_format)
    return first((batch, *sliding.out_sizes(space), channels), data_format)


def agreed_with_pooling(arg: str, spec: Spec, out: Shape) -> Shape:
    """The shape of what came out of pooling, or of its gradient."""
    hint = "Use the input, ksize, strides and padding of the forward op."
    return agreed(arg, spec, out, "the shape that pooling gives", hint)


def pool_axes(x: Array, **windows: Any) -> list[Axis]:
    """The axes along which windows slide over an array whose channels are last."""
    return image_pooling(**windows).axes(x.shape[1:-1])


NATIVE_DTYPES = (BY_NAME["float32"], BY_NAME["float64"])
"""The types that the native gradient kernels are built for."""


def native_geometry(axes: list[Axis]) -> tuple[tuple[int, ...], ...]:
    """Window, strides and padding before, as the native kernels take them."""
    return (
        tuple(a.k for a in axes),
        tuple(a.s for a in axes),
        tuple(a.before for a in axes),
    )
