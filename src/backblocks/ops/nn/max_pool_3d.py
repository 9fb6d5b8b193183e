"""Max pooling of volumes, with its first and second gradients."""

from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import REALS
from backblocks.ops._inputs import Array
from backblocks.ops._op import op
from backblocks.ops.attrs import choice
from backblocks.ops.nn._max_pool import (
    HALF_SUMS,
    NAN_WINDOWS,
    OUTPUT_COMPARED,
    complete,
    pool,
    pool_grad,
    pool_grad_grad,
)
from backblocks.ops.nn._pooling import volume_pooling
from backblocks.ops.nn._windows import OF_VOLUMES
from backblocks.ops.nn.max_pool import max_pool, max_pool_grad, max_pool_grad_grad

_ABOUT_TIES = "Of equals the first gets a window's gradient, or each as in TensorFlow's CPU kernel."
Ties = Annotated[str, choice(_ABOUT_TIES, "first", "tensorflow-cpu")]

# -- the largest value of each window -------------------------------------------------------------


@op(
    "MaxPool3D",
    "T -> T",
    aliases=("max_pool3d", "MaxPooling3D", "nn.MaxPool3d", "downsampling"),
    attrs=volume_pooling,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_3d(input: Array, **windows: Any) -> Array:
    """The largest value of each window of a volume.

    `ksize` and `strides` have one entry for each dimension, in the order of `data_format`. Padding
    never wins a window; a NaN does.
    """
    return pool(input, **windows)


_FORMATS: dict[str, Any] = {
    "topic": "formats",
    "at": "layout",
    "tensorflow": "NDHWC, bfloat16 and float32 only on the CPU; no explicit padding.",
    "ours": "NDHWC and NCDHW, every dtype, explicit padding.",
}

max_pool_3d.differs(
    "nan",
    at="nan",
    tensorflow="Whether a NaN wins depends on its place, the window and the channel.",
    ours="A NaN in the window wins it.",
)
max_pool_3d.differs(
    "inf",
    at="padded -inf",
    tensorflow="A padded window of minus infinity alone gives the lowest finite number.",
    ours="It gives minus infinity.",
)
max_pool_3d.differs(
    "SAME with stride > window",
    at="apart",
    tensorflow="Padding becomes negative and shifts every window.",
    ours="Padding is never negative, as documented and as in 2-D.",
)
max_pool_3d.differs(**_FORMATS)

_box = np.arange(64.0).reshape(1, 4, 4, 4, 1)
_far_corners = _box[:, 1::2, 1::2, 1::2]
_pair = np.arange(1.0, 33).reshape(2, 2, 2, 2, 2)
_dented = np.where(_pair == 3, 1.0, _pair)
_cube: dict[str, Any] = {"ksize": (1, 2, 2, 2, 1), "strides": (1, 2, 2, 2, 1), "padding": "VALID"}
_step: dict[str, Any] = {"ksize": (1, 2, 2, 2, 1), "strides": (1, 4, 3, 2, 1), "padding": "SAME"}
_large: dict[str, Any] = {"ksize": (1, 4, 3, 2, 1), "strides": (1, 4, 3, 2, 1), "padding": "SAME"}


def _volume(*values: float) -> Array:
    side = round(len(values) ** (1 / 3))
    return np.array(values, float).reshape(1, side, side, side, 1)


max_pool_3d.case("2 x 2 x 2 windows of a ramp", input=_box, **_cube, out=_far_corners)
max_pool_3d.case("strides larger than the volume", input=_pair, **_step, out=_pair[:, 1:, 1:, 1:])
max_pool_3d.case(
    "stride larger than window, SAME", input=np.arange(6.0).reshape(1, 6, 1, 1, 1),
    ksize=(1, 1, 1, 1, 1), strides=(1, 3, 1, 1, 1), padding="SAME",
    out=np.array([0.0, 3]).reshape(1, 2, 1, 1, 1),
)  # fmt: skip
max_pool_3d.case(
    "channels first", input=_box.reshape(1, 1, 4, 4, 4), data_format="NCDHW",
    ksize=(1, 1, 2, 2, 2), strides=(1, 1, 2, 2, 2), padding="VALID",
    out=_far_corners.reshape(1, 1, 2, 2, 2),
)  # fmt: skip
max_pool_3d.fails(
    "an image", input=np.arange(16.0).reshape(1, 4, 4, 1), **_cube, error="must have 5 dimensions"
)
max_pool_3d.fails(
    "a format of images", input=_box, **_cube, data_format="NHWC", error="NDHWC or NCDHW"
)


# -- its gradient ---------------------------------------------------------------------------------


@op(
    "MaxPool3DGrad",
    "T, T, T -> T",
    attrs=volume_pooling,
    beyond=("explicit_paddings", "ties"),
    T=REALS,
)
def max_pool_3d_grad(
    orig_input: Array, orig_output: Array, grad: Array, *, ties: Ties = "first", **windows: Any
) -> Array:
    """Sends each window's gradient back to the cell that won it; of equals, the first.

    The winner is found in `orig_input`; of `orig_output` only the shape is used. That makes it the
    adjoint of MaxPool3D. With `ties="tensorflow-cpu"` every cell within 1e-5 of `orig_output` gets the
    whole gradient, so that a sum over a tie counts it more than once.
    """
    return pool_grad(orig_input, orig_output, grad, ties=ties, **windows)


max_pool_3d_grad.differs(
    "ties",
    at="tie",
    tensorflow="Every cell within 1e-5 of the maximum gets the whole gradient.",
    ours="The first maximum gets it, as in 2-D, so that the op is the adjoint of MaxPool3D.",
    agree='ties="tensorflow-cpu"',
)
max_pool_3d_grad.differs(
    "inf",
    at="inf wins",
    tensorflow="An infinite maximum gets no gradient.",
    ours="It gets the gradient like any other.",
    agree='ties="tensorflow-cpu"',
)
max_pool_3d_grad.differs(
    "nan",
    at="nan wins",
    tensorflow="A window with a NaN maximum gets no gradient.",
    ours="Its first NaN gets it.",
    agree='ties="tensorflow-cpu"',
)
max_pool_3d_grad.differs(**HALF_SUMS)
max_pool_3d_grad.differs(**_FORMATS)

max_pool_3d_grad.case(
    "the winner of the only window", orig_input=_pair[:1], orig_output=_pair[:1, 1:, 1:, 1:],
    grad=np.array([3.0, 4]).reshape(1, 1, 1, 1, 2), **_step,
    out=np.array([0.0] * 14 + [3, 4]).reshape(1, 2, 2, 2, 2),
)  # fmt: skip
max_pool_3d_grad.case(
    "of equals the first", orig_input=np.ones((1, 2, 2, 2, 1)), orig_output=_volume(1),
    grad=_volume(5), **_cube, out=_volume(5, 0, 0, 0, 0, 0, 0, 0),
)  # fmt: skip
max_pool_3d_grad.case(
    "every near-tie, as TensorFlow's CPU kernel", orig_output=_volume(1),
    orig_input=_volume(1, 0.999995, 0, 0, 0, 0, 0, 0.99), grad=_volume(5), **_cube,
    ties="tensorflow-cpu", out=_volume(5, 5, 0, 0, 0, 0, 0, 0),
)  # fmt: skip
max_pool_3d_grad.case(
    "equal integers, as TensorFlow's CPU kernel would count them",
    orig_input=_volume(9, 0, 0, 9, 0, 0, 0, 8).astype(np.uint8),
    orig_output=_volume(9).astype(np.uint8), grad=_volume(5).astype(np.uint8), **_cube,
    ties="tensorflow-cpu", out=_volume(5, 0, 0, 5, 0, 0, 0, 0).astype(np.uint8),
)  # fmt: skip
max_pool_3d_grad.case(
    "two volumes of two channels", orig_input=_dented, orig_output=_dented[:, 1:, 1:, 1:],
    grad=np.array([3.0, 4, 5, 6]).reshape(2, 1, 1, 1, 2), **_step,
    out=np.array([0.0] * 14 + [3, 4] + [0] * 14 + [5, 6]).reshape(2, 2, 2, 2, 2),
)  # fmt: skip
max_pool_3d_grad.fails(
    "an output of the shape of the input", orig_input=_dented,
    orig_output=np.ones_like(_dented), grad=np.array([3.0, 4, 5, 6]).reshape(2, 1, 1, 1, 2),
    **_step, error="the shape that pooling gives",
)  # fmt: skip
max_pool_3d_grad.fails(
    "types differ", orig_input=_pair, orig_output=_pair[:, 1:, 1:, 1:],
    grad=_pair[:, 1:, 1:, 1:].astype(np.float32), **_step,
    error="dtype of the other T inputs, float64",
)  # fmt: skip


# -- its second gradient --------------------------------------------------------------------------


@op(
    "MaxPool3DGradGrad",
    "T, T, T -> T",
    attrs=volume_pooling,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_3d_grad_grad(
    orig_input: Array, orig_output: Array, grad: Array, **windows: Any
) -> Array:
    """For each window, the value of `grad` at the cell that won it.

    It is the adjoint of MaxPool3DGrad, and so the second gradient of MaxPool3D.
    """
    return pool_grad_grad(orig_input, grad, **windows)


complete(max_pool_3d, max_pool_3d_grad, max_pool_3d_grad_grad)
for _each, _of_images in (
    (max_pool_3d, max_pool),
    (max_pool_3d_grad, max_pool_grad),
    (max_pool_3d_grad_grad, max_pool_grad_grad),
):
    _each.same_formula(_of_images, **OF_VOLUMES, MaxPool="MaxPool3D")

max_pool_3d_grad_grad.differs(**NAN_WINDOWS)
max_pool_3d_grad_grad.differs(**OUTPUT_COMPARED)
max_pool_3d_grad_grad.differs(
    "empty", tensorflow="An empty input is refused.", ours="It gives an empty result."
)
max_pool_3d_grad_grad.differs(**_FORMATS)

max_pool_3d_grad_grad.case(
    "one window a volume", orig_input=_dented, orig_output=_dented[:, 1:, 1:, 1:],
    grad=_pair, **_large, out=_pair[:, 1:, 1:, 1:],
)  # fmt: skip
max_pool_3d_grad_grad.case(
    "picks at the winners", orig_input=_box, orig_output=_far_corners, grad=_box * 10, **_cube,
    out=_far_corners * 10,
)  # fmt: skip
max_pool_3d_grad_grad.fails(
    "CVE-2021-29574: a gradient of the pooled shape", orig_input=_dented,
    orig_output=np.array([1.0, 2, 3, 4]).reshape(2, 1, 1, 1, 2),
    grad=np.full((2, 1, 1, 1, 2), 2.0), **_large, error="the shape of orig_input",
)  # fmt: skip
