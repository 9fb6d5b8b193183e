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
from backblocks.studio.messages import Plane, Statistics, Summary
from backblocks.studio.statistics import compute_statistics, run_to_end

_SIDE = 32
"""The largest width and height of the picture of an output."""
_MAX_PLANES = 1 << 12
"""Slices of a tensor that are looked at for one that is not all zeros."""
_FIRST_ELEMENTS = 12
"""Elements that a summary writes out."""


def summary(array: Array, axes: Sequence[int] = (), measured: Statistics | None = None) -> Summary:
    """The summary of an output, with a picture along two axes: of a large one, that of a sample until all
    of it was `measured`.
    """
    shown = Summary(NAMES[array.dtype], list(array.shape), short_text(array))
    if array.dtype.hasobject or not array.size:
        return shown
    if array.size > LARGE:
        _copy(measured or _sampled(array), shown)
    else:
        _fill_exactly(array, shown)
    picture, shown.plane = picture_of(array, axes, _SIDE, quick=measured is None)
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


def picture_of(
    array: Array, axes: Sequence[int], side: int, *, quick: bool = False
) -> tuple[Array, Plane]:
    """A 2-D slice of at most `side` rows and columns: along two axes, by default the last two that are
    not of size 1, at the first indices where it is not all zeros.

    A cell that stands for an area has its number that is farthest from zero, or NaN if there is one. A quick
    picture of a large slice takes the first of each area instead.
    """
    at: list[int | None] = []
    if array.ndim < 2:
        plane = array.reshape(1, -1)
    else:
        chosen = _picture_axes(array.shape, axes)
        planes = np.moveaxis(array, chosen, (-2, -1))
        place = _first_with_numbers(planes)
        plane, left = planes[place], list(place)
        at = [None if axis in chosen else left.pop(0) for axis in range(array.ndim)]
    found = Plane(at if array.ndim > 2 else [])
    area = [max(1, -(-size // side)) for size in plane.shape]
    if area == [1, 1]:
        return as_real(plane), found
    found.area = area
    if quick and plane.size > LARGE:
        found.sampled = True
        return as_real(plane[:: area[0], :: area[1]]), found
    return _farthest_from_zero(plane, *area), found


def _picture_axes(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[int, int]:
    """The axes that are rows and columns of a picture: the given ones, or the last two longer than 1."""
    rank = len(shape)
    given = [axis % rank for axis in axes if -rank <= axis < rank]
    if len(set(given)) == 2:
        return given[0], given[1]
    long = [axis for axis in range(rank) if shape[axis] != 1]
    if rank > 2 and len(long) > 1:
        return long[-2], long[-1]
    # A single axis is a row only if it is the last one.
    return min(long[0] if long else rank, rank - 2), rank - 1


def _first_with_numbers(planes: Array) -> tuple[int, ...]:
    """The index of the first plane that is not all zeros, or else of the first; of many, among the first."""
    size = math.prod(planes.shape[-2:])
    for count, place in enumerate(np.ndindex(planes.shape[:-2])):
        if count * size > LARGE or count > _MAX_PLANES:
            break
        if np.count_nonzero(planes[place]):
            return place
    return (0,) * (planes.ndim - 2)


def _farthest_from_zero(plane: Array, rows: int, columns: int) -> Array:
    """For each area its number of the largest magnitude, or NaN."""
    starts = np.arange(0, plane.shape[1], columns)
    found = []
    for top in range(0, plane.shape[0], rows):
        band = as_real(plane[top : top + rows])  # one at a time, since the types of some are wider
        most, least = (
            each.reduceat(each.reduce(band, axis=0), starts) for each in (np.maximum, np.minimum)
        )
        with np.errstate(invalid="ignore"):
            found.append(
                np.where(most.astype(np.float64) >= -least.astype(np.float64), most, least)
            )
    return np.stack(found)


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
