"""What batch normalization and its gradient share.

For each channel, with m its mean, v its variance and n its number of cells:

    r = 1 / sqrt(v + epsilon)
    c = x - m
    y = c * r * scale + offset

Reference implementations compute in float64 and round once.
"""

from typing import Annotated

import numpy as np

from backblocks import ops
from backblocks.dtypes import DType
from backblocks.ops._access_maps import AccessMap, Cells, loop
from backblocks.ops._op import Value
from backblocks.ops._spec import Shape, Size, Spec, agreed, ranked
from backblocks.ops.attrs import choice
from backblocks.ops.nn._windows import channels_last, in_layout

_ABOUT_LAYOUT = "Channels stand last in NHWC and NDHWC, second in NCHW and NCDHW."
AnyLayout = Annotated[str, choice(_ABOUT_LAYOUT, "NHWC", "NCHW", "NDHWC", "NCDHW")]
STATISTICS = ("float32", "bfloat16", "float64")
POSITIVE = (0.5, 3.0)

_AVERAGES = "Pass one for each; only training with exponential_avg_factor=1 takes it empty."
_RESERVED = "Pass it as the forward op gave it."
_VECTOR_HINTS = {
    "mean": _AVERAGES,
    "variance": _AVERAGES,
    "reserve_space_1": _RESERVED,
    "reserve_space_2": _RESERVED,
}


def channels_of(x: Spec, data_format: str, vectors: dict[str, Spec]) -> tuple[Shape, Size]:
    """The shape of x, and how many channels it has, from all that must agree on it."""
    *others, channels = channels_last(
        ranked("x", x, len(data_format), f"as in {data_format}"), data_format
    )
    for name, vector in vectors.items():
        hint = _VECTOR_HINTS.get(name, "Use data_format to say where the channels of x stand.")
        (channels,) = agreed(name, vector, (channels,), "one entry a channel", hint) or (None,)
    return in_layout((*others, channels), data_format), channels


# -- for gradients, written with ops --------------------------------------------------------------


def to_dtype(dtype: DType, v: Value) -> Value:
    return v if v.dtype == dtype else ops.cast(v, DstT=dtype)


def spread_out(v: Value, data_format: str) -> Value:
    """A vector shaped so that it broadcasts along the channels."""
    return ops.reshape(v, np.array([-1 if axis == "C" else 1 for axis in data_format], np.int32))


def total_of(z: Value, data_format: str) -> Value:
    """The sum of each channel."""
    axes = np.array([i for i, axis in enumerate(data_format) if axis != "C"], np.int32)
    return ops.reshape(ops.sum(z, axes, keep_dims=True), np.array([-1], np.int32))


def share_of(x: Value, v: Value) -> Value:
    """One divided by n; n counts as 1 in an empty batch."""
    n = ops.real_div(ops.cast(ops.size(x), DstT=v.dtype), ops.cast(ops.size(v), DstT=v.dtype))
    return ops.real_div(1, ops.select_v2(ops.greater(n, 1), n, 1))


def filled(d: Value, outputs: Value) -> list[Value]:
    """What flows back to each output: zeros where nothing does."""
    return [ops.zeros_like(y) if dy is None else dy for dy, y in zip(d, outputs, strict=True)]


# -- which cells belong together ------------------------------------------------------------------


def channel_access(
    rule: str,
    x: Spec,
    data_format: str,
    output: str,
    *,
    own: tuple[str, ...] = (),
    whole: tuple[str, ...] = (),
    vectors: tuple[str, ...] = (),
    cell: bool = False,
) -> AccessMap:
    """One output, and what it comes from: cells at its place, whole channels, entries of vectors.

    The output has an entry for each channel, or if `cell` is set a cell for each of x.
    """
    *sizes, channels = channels_last(x.sizes, data_format)
    letters = channels_last(data_format, data_format)[:-1]
    loops = {"c": channels}
    places: dict[str, Cells] = {}
    for marks, pins in (("", own), ("k", whole)):
        named = [marks + letter.lower() for letter in letters]
        at = in_layout((*map(loop, named), loop("c")), data_format)
        places |= dict.fromkeys(pins, Cells(at, axes=data_format))
        if pins or (cell and not marks):
            loops |= zip(named, sizes, strict=True)
        if cell and not marks:
            places[output] = Cells(at, axes=data_format)
    vector = Cells((loop("c"),), axes="C")
    places |= dict.fromkeys(vectors if cell else (*vectors, output), vector)
    return AccessMap(rule, (*own, *whole, *vectors), loops, places)
