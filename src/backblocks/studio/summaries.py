"""Summaries of outputs, as the canvas shows them: statistics, first elements, a small picture."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from backblocks.dtypes import NAMES, is_float
from backblocks.ops._inputs import Array
from backblocks.studio.chunks import LARGE, ChunkedTensor, as_real, element_texts
from backblocks.studio.messages import Statistics, Summary
from backblocks.studio.statistics import compute_statistics, run_to_end

_SIDE = 32
"""The largest width and height of the picture of an output."""
_FIRST_ELEMENTS = 12
"""Elements that a summary writes out."""


def summary(array: Array, measured: Statistics | None = None) -> Summary:
    """The summary of an output: of a large one, that of a sample until all of it was `measured`."""
    shown = Summary(NAMES[array.dtype], list(array.shape), short_text(array))
    if array.dtype.hasobject or not array.size:
        return shown
    if array.size > LARGE:
        _copy(measured or _sampled(array), shown)
    else:
        _fill_exactly(array, shown)
    picture = plane(array, (), _SIDE)
    shown.picture = base64.b64encode(_levels(picture, shown.low, shown.high).tobytes()).decode()
    shown.picture_shape = list(picture.shape)
    return shown


def _sampled(array: Array) -> Statistics:
    some, _ = ChunkedTensor(array).sample()
    return run_to_end(
        compute_statistics(some, Statistics(0, "", NAMES[array.dtype], list(array.shape), 0))
    )


def _copy(measured: Statistics, shown: Summary) -> None:
    for name in ("low", "high", "mean", "deviation", "zeros", "nans", "infinities"):
        setattr(shown, name, getattr(measured, name))


def _fill_exactly(array: Array, shown: Summary) -> None:
    numbers = as_real(array)
    # NaN and infinities are found by what they do to a sum, which is quicker than looking for them.
    with np.errstate(all="ignore"):
        bad = is_float(numbers.dtype) and not math.isfinite(float(numbers.sum(dtype=np.float64)))
    if bad:
        shown.nans = int(np.isnan(numbers).sum())
        shown.infinities = int(np.isinf(numbers).sum())
        finite = numbers[np.isfinite(numbers)]
    else:
        finite = numbers
    shown.zeros = int(numbers.size - np.count_nonzero(numbers))
    if finite.size:
        shown.low, shown.high = float(finite.min()), float(finite.max())
        with np.errstate(all="ignore"):  # numbers whose sum or squares are too large have neither
            shown.mean = if_finite(finite.mean(dtype=np.float64))
            shown.deviation = if_finite(finite.std(dtype=np.float64))


def if_finite(number: Any) -> float | None:
    return float(number) if math.isfinite(number) else None


def plane(array: Array, axes: Sequence[int], side: int) -> Array:
    """A 2-D slice of an array, thinned to at most `side` rows and columns: along `axes`, or its two longest;
    at the first index of all others.
    """
    if array.ndim < 2:
        plane = array.reshape(1, -1)
    else:
        usual = sorted(sorted(range(array.ndim), key=lambda axis: -array.shape[axis])[:2])
        chosen = [axis % array.ndim for axis in axes] if len(axes) == 2 else usual
        plane = np.moveaxis(array, chosen if len(set(chosen)) == 2 else usual, (-2, -1))
        plane = plane[(0,) * (plane.ndim - 2)]
    rows, columns = (max(1, -(-size // side)) for size in plane.shape)
    thinned: Array = plane[::rows, ::columns]
    return thinned


def _levels(plane: Array, low: float | None, high: float | None) -> Array:
    """For each cell 1 to 255 from low to high, and 0 for NaN."""
    cells = as_real(plane).astype(np.float64)
    missing = np.isnan(cells)
    if low is None or high is None or not high > low:
        levels: Array = np.full(cells.shape, 128.0)
    else:
        with np.errstate(all="ignore"):
            levels = 1 + 254 * ((cells / 2 - low / 2) / (high / 2 - low / 2))
    levels = np.nan_to_num(np.clip(levels, 1, 255), nan=1.0).round()
    levels[missing] = 0
    return levels.astype(np.uint8)


def short_text(array: Array) -> str:
    """The value if it is short, else its first elements."""
    if array.dtype.names:
        return "a handle"
    words = element_texts(array, 0, _FIRST_ELEMENTS)
    more = " …" if array.size > _FIRST_ELEMENTS else ""
    return words[0] if array.ndim == 0 else f"[{' '.join(words)}{more}]"
