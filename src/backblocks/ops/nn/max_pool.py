"""Max pooling of images, with its first and second gradients."""

import math
from typing import Any

import numpy as np

from backblocks.dtypes import REALS
from backblocks.ops._inputs import Array
from backblocks.ops._op import op
from backblocks.ops.nn._max_pool import (
    HALF_SUMS,
    NAN_WINDOWS,
    OUTPUT_COMPARED,
    complete,
    pool,
    pool_grad,
    pool_grad_grad,
)
from backblocks.ops.nn._pooling import image_pooling

# -- the largest value of each window -------------------------------------------------------------


@op(
    "MaxPool",
    "T -> T",
    aliases=("max_pool2d", "MaxPooling2D", "nn.MaxPool2d", "downsampling"),
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
    return pool(input, **windows)


_FORMATS: dict[str, Any] = {
    "topic": "formats",
    "at": "layout",
    "tensorflow": "NHWC only on the CPU.",
    "ours": "NHWC and NCHW, every dtype.",
}

max_pool.differs(
    "nan",
    at="nan",
    tensorflow="A NaN is passed over; a window of nothing else gives the lowest finite number.",
    ours="A NaN in the window wins it.",
)
max_pool.differs(
    "inf",
    at="-inf",
    tensorflow="A window of minus infinity alone gives the lowest finite number.",
    ours="It gives minus infinity.",
)
max_pool.differs(
    "channel windows",
    at="channel windows",
    tensorflow="Strides in space are ignored when the window lies over channels.",
    ours="They are followed, as the shape that TensorFlow foretells says.",
)
max_pool.differs(
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
max_pool.differs(**_FORMATS)

_ramp = np.arange(16.0).reshape(1, 4, 4, 1)
_corners = _ramp[:, 1::2, 1::2]
_pair = np.arange(1.0, 17).reshape(2, 2, 2, 2)
_nan = np.array([1.0, np.nan, 3, np.nan]).reshape(1, 2, 2, 1)
_two: dict[str, Any] = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"}
_three: dict[str, Any] = {"ksize": (1, 3, 2, 1), "strides": (1, 3, 2, 1), "padding": "SAME"}


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
max_pool.fails(
    "a volume", input=np.arange(64.0).reshape(1, 4, 4, 4, 1), **_two,
    error="must have 4 dimensions",
)  # fmt: skip
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


# -- its gradient ---------------------------------------------------------------------------------


@op("MaxPoolGrad", "T, T, T -> T", attrs=image_pooling, T=REALS)
def max_pool_grad(orig_input: Array, orig_output: Array, grad: Array, **windows: Any) -> Array:
    """Sends each window's gradient back to the cell that won it; of equals, the first.

    output[n, i, c] = Σ over the windows o that cell i has won of grad[n, o, c]
    where window o has the cells o·strides - p + j along height and width, as in MaxPool
    where its winner is the first NaN of orig_input, or else the first maximum, in row-major order
    with NCHW the channels stand second: output[n, c, i]

    The winner is found in `orig_input`; of `orig_output` only the shape is used.
    """
    return pool_grad(orig_input, orig_output, grad, **windows)


max_pool_grad.differs(
    "nan",
    at="later nan",
    tensorflow="A NaN gets the gradient only when it is the first cell of its window.",
    ours="The first NaN of a window gets its gradient.",
)
max_pool_grad.differs(**HALF_SUMS)
max_pool_grad.differs(**_FORMATS)

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


# -- its second gradient --------------------------------------------------------------------------


@op("MaxPoolGradGrad", "T, T, T -> T", attrs=image_pooling, beyond=("explicit_paddings",), T=REALS)
def max_pool_grad_grad(orig_input: Array, orig_output: Array, grad: Array, **windows: Any) -> Array:
    """For each window, the value of `grad` at the cell that won it.

    output[n, o, c] = grad[n, i, c] at the cell i that has won window o
    where window o has the cells o·strides - p + j along height and width, as in MaxPool
    where its winner is the first NaN of orig_input, or else the first maximum, in row-major order
    with NCHW the channels stand second: output[n, c, o]

    It is the adjoint of MaxPoolGrad, and so the second gradient of MaxPool.
    """
    return pool_grad_grad(orig_input, grad, **windows)


complete(max_pool, max_pool_grad, max_pool_grad_grad)

max_pool_grad_grad.differs(**NAN_WINDOWS)
max_pool_grad_grad.differs(**OUTPUT_COMPARED)
max_pool_grad_grad.differs(**_FORMATS)

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
