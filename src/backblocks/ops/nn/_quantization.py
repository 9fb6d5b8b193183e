"""Real numbers as small integers: the arithmetic that the quantized ops share.

A quantized tensor is an array of integers, its codes, and a range given by two float32 scalars. The
lowest code of the type stands for the low end of the range, the highest for the high end, and the
others lie evenly between. How it is rounded, and in which precision, is TensorFlow's, to the last bit.
"""

from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import QUANTIZED, DType
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.ops._spec import Spec, scalar_value
from backblocks.ops.attrs import dtype_of

CODES = tuple(QUANTIZED.values())
CodeType = Annotated[Any, dtype_of(*QUANTIZED)]

NARROWEST = 1e-28
"""The least width of a range: 2**32 codes in less would be closer together than float32 can tell."""

INTEGERS_ONLY = (
    "Its integers do not change with small changes of what they stand for. "
    "Train with the op on real numbers, and quantize afterwards."
)


def check_range(low_arg: str, low: Spec, high_arg: str, high: Spec) -> None:
    """Refuses a range whose ends are not two finite scalars, the lower one first."""
    ends = scalar_value(low_arg, low), scalar_value(high_arg, high)
    for arg, end in zip((low_arg, high_arg), ends, strict=True):
        if end is not None and not np.isfinite(end):
            raise OpError(
                "must be finite", arg=arg, got=end, hint="Use the least and greatest of the values."
            )
    if None in ends:
        return
    if ends[1] < ends[0]:
        raise OpError(
            f"must not be below {low_arg}, {ends[0]}",
            arg=high_arg,
            got=ends[1],
            hint="Swap the two.",
        )
    width = ends[1] - ends[0]
    if width > float(np.finfo(np.float32).max):
        raise OpError(
            f"lies too far from {low_arg}, {ends[0]}, for float32",
            arg=high_arg,
            got=ends[1],
            hint="Scale the values down.",
        )
    if 0 < width < NARROWEST:
        raise OpError(
            f"must be {low_arg}, {ends[0]}, or at least {NARROWEST} above it",
            arg=high_arg,
            got=ends[1],
            hint="Scale the values up.",
        )


def limits(dtype: DType) -> tuple[int, int]:
    """The lowest and the highest code."""
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def nearest(x: Any) -> Any:
    """Rounds to whole numbers, halves away from zero; NumPy's own rounding sends them to even."""
    whole = np.trunc(x)
    return whole + np.trunc(2 * (x - whole))


def step(low: Any, high: Any, dtype: DType) -> np.float32:
    """How far apart two neighbouring codes are, in float32."""
    lowest, highest = limits(dtype)
    return np.float32(np.float32(high - low) / np.float32(highest - lowest))


def unclamped(x: Any, low: Any, high: Any, dtype: DType) -> Array:
    """The codes of real numbers as float64, on beyond the codes that the type has."""
    lowest, highest = limits(dtype)
    x = np.asarray(x, np.float64)
    if low == high:
        return np.full(x.shape, lowest, np.float64)
    count = highest - lowest + 1
    scale = count / (float(high - low) * (count / (count - 1.0)))
    return np.asarray(nearest(x * scale) - nearest(float(low) * scale) + lowest)


def quantized(x: Any, low: Any, high: Any, dtype: DType) -> Array:
    """The codes of real numbers; beyond the range, and where there is no number, an end of it."""
    lowest, highest = limits(dtype)
    codes = np.fmin(np.fmax(unclamped(x, low, high, dtype), lowest), highest)
    return codes.astype(dtype)


def dequantized(codes: Array, low: Any, high: Any) -> Array:
    """The real numbers, in float32, that codes stand for.

    The low end is first moved to a multiple of the step, so that 0 has a code that stands for exactly 0.
    """
    if low == high:
        return np.full(codes.shape, low, np.float32)
    lowest, highest = limits(codes.dtype)
    count = highest - lowest + 1
    each = float(high - low) * (count / (count - 1.0)) / count
    start = np.float32(nearest(np.float32(low / np.float32(each)))) * np.float32(each)
    return (float(start) + (codes.astype(np.float64) - lowest) * each).astype(np.float32)


def recoded(codes: Array, low: Any, high: Any, dtype: DType) -> Array:
    """The same numbers in the same range, as codes of another type."""
    return (
        codes
        if codes.dtype == dtype
        else quantized(dequantized(codes, low, high), low, high, dtype)
    )


def narrowed(codes: Array, high: Any, dtype: DType) -> tuple[Array, Any, Any]:
    """Codes of 32 bits in the range from -high to high, as a type and its range.

    Only 32 bits are fine enough for a range that is far wider than its values. For fewer, the range is
    what the values and 0 need, to which end TensorFlow puts QuantizeDownAndShrinkRange behind an op.
    """
    if dtype == codes.dtype:
        return codes, -high, high
    x = (codes * (float(high) / 2**31)).astype(np.float32)
    low, high = x.min(initial=0), x.max(initial=0)
    return quantized(x, low, high, dtype), low, high
