"""Numbers read from text, as TensorFlow reads them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from backblocks.dtypes import DType

_WHOLE = re.compile(rb"[+-]?\d+")
_DECIMAL = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_HEX = re.compile(rb"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?")
_SPECIAL = re.compile(rb"([+-]?)(inf|infinity|nan)(?:\(\w*\))?", re.IGNORECASE)


def number(text: bytes, dtype: DType) -> Any:
    """The number that a text is in this type, or None if it is none. Blanks around it do not count."""
    text = text.strip()
    return _fraction(text, dtype) if dtype.kind == "f" else _whole(text, dtype)


def _whole(text: bytes, dtype: DType) -> int | None:
    if not _WHOLE.fullmatch(text) or (dtype.kind == "u" and text[:1] == b"-"):
        return None
    digits = text.lstrip(b"+-").lstrip(b"0") or b"0"
    if len(digits) > 20:
        return None
    value = -int(digits) if text[:1] == b"-" else int(digits)
    limits = np.iinfo(dtype)
    return value if limits.min <= value <= limits.max else None


def _fraction(text: bytes, dtype: DType) -> Any:
    if special := _SPECIAL.fullmatch(text):
        return float(special[1] + special[2])
    if _HEX.fullmatch(text):
        try:
            return float.fromhex(text.decode())
        except OverflowError:
            return -np.inf if text[:1] == b"-" else np.inf
    if not _DECIMAL.fullmatch(text):
        return None
    value = float(text)
    return value if dtype.itemsize == 8 else _rounded_once(text, value)


def _as_far(number: Any) -> float:
    """A float32 as far from 0 as rounding takes it to be: infinity is where the next one would be."""
    return float(np.clip(np.float64(number), -(2.0**128), 2.0**128))


def _rounded_once(text: bytes, value: float) -> Any:
    """The float32 next to a decimal number.

    Rounded to float64 on the way, a number near the middle between two of them may fall on it and be
    rounded to the wrong one.
    """
    with np.errstate(over="ignore"):
        nearest = np.float32(value)
    if not np.isfinite(value) or float(nearest) == value:
        return nearest
    other = np.nextafter(
        nearest, np.float32(0 if np.isinf(nearest) else np.copysign(np.inf, value - float(nearest)))
    )
    if value - _as_far(nearest) != _as_far(other) - value:
        return nearest
    from fractions import Fraction  # one number in millions comes so far

    exact = Fraction(text.decode())
    if exact == Fraction(value):
        return nearest
    return max(nearest, other) if exact > Fraction(value) else min(nearest, other)
