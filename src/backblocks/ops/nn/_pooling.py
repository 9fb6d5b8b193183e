"""What all pooling ops share: reading their attributes, and the shape that pooling gives."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from backblocks.dtypes import BY_NAME, FLOATS
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.ops._spec import Shape, Size, Spec, agreed
from backblocks.ops.attrs import ImageLayout, Padding, Pads, Strides, VolumeLayout, Window
from backblocks.ops.nn._windows import (
    Axis,
    Sliding,
    channels_first,
    explicit_pads,
    first,
    last,
    sizes_last,
    space_of,
)


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


# -- the compiled kernels -------------------------------------------------------------------------

_NATIVE = tuple(BY_NAME[name] for name in FLOATS)
_BFLOAT16 = BY_NAME["bfloat16"]


def native_accepts(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> bool:
    """Whether the compiled kernels can pool the last input, or send it back."""
    window = attrs["ksize"]
    return (
        inputs[-1].dtype in _NATIVE
        and inputs[-1].size > 0
        and window[attrs["data_format"].index("C")] == 1
        and math.prod(window) < 2**31  # they number a window's cells with 31 bits
    )


def native_pool(
    kernel: Callable[..., None], *inputs: Array, data_format: str, **windows: Any
) -> Array:
    """What a kernel gives for each window of inputs that have a number for each cell."""
    batch, *space, channels = last(inputs[0].shape, data_format)
    axes = image_pooling(data_format=data_format, **windows).axes(space)
    shape = first((batch, *(axis.out for axis in axes), channels), data_format)
    return _run(kernel, inputs, np.empty(shape, inputs[0].dtype), axes, data_format)


def native_pool_grad(
    kernel: Callable[..., None],
    *inputs: Array,
    shape: Sequence[int],
    data_format: str,
    **windows: Any,
) -> Array:
    """What a kernel gives for each cell of an array of the given shape."""
    _, *space, _ = last(shape, data_format)
    axes = image_pooling(data_format=data_format, **windows).axes(space)
    return _run(kernel, inputs, np.empty(shape, inputs[-1].dtype), axes, data_format)


def _run(
    kernel: Callable[..., None],
    inputs: Sequence[Array],
    result: Array,
    axes: Sequence[Axis],
    data_format: str,
) -> Array:
    flat = 3 - len(axes)  # an image is a volume of depth 1
    kernel(
        *(_as_volumes(np.ascontiguousarray(x), data_format) for x in (*inputs, result)),
        (1,) * flat + tuple(axis.k for axis in axes),
        (1,) * flat + tuple(axis.s for axis in axes),
        (0,) * flat + tuple(axis.before for axis in axes),
    )
    return result


def _as_volumes(x: Array, data_format: str) -> Array:
    """A view of `x` as (images, depth, height, width, channels), without moving a number.

    With channels first, each channel is an image of its own. bfloat16, which NumPy does not know,
    goes as its bits.
    """
    batch, *space, channels = last(x.shape, data_format)
    if channels_first(data_format):
        batch, channels = batch * channels, 1
    x = x.reshape(batch, *(1,) * (3 - len(space)), *space, channels)
    return x.view(np.uint16) if x.dtype == _BFLOAT16 else x
