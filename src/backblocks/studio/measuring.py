"""What values hold: statistics, a histogram, the cells that are no numbers, where two differ most.

All of it is found piece by piece. The functions are generators that stop for a moment after each piece, so
that whoever runs them can do something else, or leave a large value whose answer nobody wants any longer.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Generator, Iterator
from typing import Any, TypeVar

import numpy as np

from backblocks.dtypes import is_float
from backblocks.ops._inputs import Array
from backblocks.studio.messages import Measured, Worst
from backblocks.studio.numbers import (
    Numbers,
    back_in_floats,
    compared,
    differ,
    in_order,
    share,
    texts,
)

_BINS = 64
_WORST = 10
_DIGIT = 16
"""Bits of a number that are looked at together, to find what stands at a rank."""

Found = TypeVar("Found")
Finding = Generator[int, None, Found]
"""Stops after each piece, and says how many cells that had; gives what it found at the end."""


def at_once(finding: Finding[Found]) -> Found:
    while True:
        try:
            next(finding)
        except StopIteration as over:
            found: Found = over.value
            return found


def work(numbers: Numbers) -> int:
    """How many cells `measure` looks at, counted each time."""
    passes = 2 + _bits(next(numbers.pieces()).dtype) // _DIGIT if numbers.size else 0
    return numbers.size * (passes + (numbers.second is not None))


def measure(numbers: Numbers, into: Measured, places: Array | None = None) -> Finding[Measured]:
    """Fills in what the numbers are; `places` are those of cells that stand for all."""
    total = 0.0
    for cells in numbers.pieces():
        finite = _finite(cells)
        into.zeros += int(cells.size - np.count_nonzero(cells))
        if finite.size < cells.size:
            nans = int(np.count_nonzero(cells != cells))
            into.nans += nans
            into.infinities += int(cells.size - finite.size) - nans
        if finite.size:
            low, high = float(finite.min()), float(finite.max())
            into.low = low if into.low is None else min(into.low, low)
            into.high = high if into.high is None else max(into.high, high)
            with np.errstate(all="ignore"):
                total += float(finite.sum(dtype=np.float64))
        yield cells.size
    count = numbers.size - into.nans - into.infinities
    if into.low is not None and into.high is not None:
        yield from _spread(numbers, into, total / count, into.low, into.high)
        out = (count - 1) // 100
        edges = yield from _at_ranks(numbers, [out, count - 1 - out])
        into.first_percent, into.last_percent = edges
    if numbers.second is not None:
        yield from _compare(numbers, into, places)
    return into


def _finite(cells: Array) -> Array:
    if not is_float(cells.dtype):
        return cells
    finite = np.isfinite(cells)
    return cells if finite.all() else cells[finite]


def _spread(
    numbers: Numbers, into: Measured, mean: float, low: float, high: float
) -> Finding[None]:
    """The deviation from the mean, and the histogram."""
    counts = np.zeros(_BINS, np.int64)
    squares = 0.0
    for cells in numbers.pieces():
        finite = _finite(cells)
        with np.errstate(all="ignore"):
            off = finite - np.float64(mean)
            squares += float(np.square(off, out=off).sum())
        bins = (share(finite, low, high) * _BINS).astype(np.intp)
        counts += np.bincount(np.minimum(bins, _BINS - 1), minlength=_BINS)
        yield cells.size
    into.counts = counts.tolist()
    into.mean = _if_finite(mean)
    into.deviation = _if_finite(math.sqrt(squares / sum(into.counts)))


def _if_finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _at_ranks(numbers: Numbers, ranks: list[int]) -> Finding[list[float]]:
    """The finite numbers that would stand at these ranks in order of size.

    Each pass over the cells finds one more digit, the highest first, of the whole number that has the same
    place in the order. So nothing is sorted or copied, and the answer is exact.
    """
    dtype = next(numbers.pieces()).dtype
    bits = _bits(dtype)
    found = [0] * len(ranks)
    left = list(ranks)
    for shift in range(bits - _DIGIT, -1, -_DIGIT):
        counts = np.zeros((len(ranks), 1 << _DIGIT), np.int64)
        for cells in numbers.pieces():
            keys = _keys(_finite(cells), bits)
            digits = (keys >> shift).astype(np.int64) & ((1 << _DIGIT) - 1)
            for i, begin in enumerate(found):
                highest = shift + _DIGIT == bits
                fitting = digits if highest else digits[keys >> (shift + _DIGIT) == begin]
                counts[i] += np.bincount(fitting, minlength=1 << _DIGIT)
            yield cells.size
        for i, below in enumerate(np.cumsum(counts, axis=1)):
            digit = int(np.searchsorted(below, left[i], side="right"))
            left[i] -= int(below[digit - 1]) if digit else 0
            found[i] = found[i] << _DIGIT | digit
    return [_of_key(key, dtype, bits) for key in found]


def _bits(dtype: np.dtype[Any]) -> int:
    return max(_DIGIT, 8 * dtype.itemsize)


def _keys(cells: Array, bits: int) -> Array:
    """Whole numbers without a sign that are ordered as the cells are."""
    if cells.dtype.kind == "u":
        return cells.astype(f"u{bits // 8}")
    whole = in_order(cells) if cells.dtype.kind == "f" else cells.astype(f"i{bits // 8}")
    keys: Array = whole.view(f"u{bits // 8}") ^ np.array(1 << (bits - 1), f"u{bits // 8}")
    return keys


def _of_key(key: int, dtype: np.dtype[Any], bits: int) -> float:
    if dtype.kind == "u":
        return float(key)
    whole = key - (1 << (bits - 1))
    if dtype.kind != "f":
        return float(whole)
    return float(back_in_floats(np.array([whole], f"i{bits // 8}"), dtype)[0])


# -- two values -----------------------------------------------------------------------------------


def _compare(numbers: Numbers, into: Measured, places: Array | None) -> Finding[None]:
    """How many cells differ, and those that differ most; a NaN in one of two differs more than all."""
    into.mismatches = 0
    worst: list[tuple[float, int]] = []
    start = 0
    for first, second in numbers.cells():
        cells = compared(first, second, numbers.comparison)
        unlike = differ(first, second)
        count = int(np.count_nonzero(unlike))
        into.mismatches += count
        if count:
            sizes = np.where(cells != cells, np.inf, np.abs(cells))
            sizes[~unlike] = -1.0
            few = np.argpartition(-sizes, min(_WORST, sizes.size) - 1)[:_WORST]
            new = [(float(sizes[i]), -(start + int(i))) for i in few if unlike[i]]
            worst = heapq.nlargest(_WORST, [*worst, *new])
        start += cells.size
        yield cells.size
    into.worst = [_worst(numbers, -negative, into.shape, places) for _, negative in worst]


def _worst(numbers: Numbers, place: int, shape: list[int], places: Array | None) -> Worst:
    first, second = next(numbers.cells(place))
    own = place if places is None else int(places[place])
    return Worst(
        [int(i) for i in np.unravel_index(own, shape)],
        texts(first, 0, 1)[0],
        texts(second, 0, 1)[0],
        texts(compared(first[:1], second[:1], numbers.comparison), 0, 1)[0],
    )


# -- NaN and infinities ---------------------------------------------------------------------------


def next_bad(array: Array, start: int) -> Finding[int | None]:
    """The place of the first NaN or infinity from `start` on, going on from the first cell at the end."""
    if not can_be_bad(array):
        return None
    for begin, end in ((start, array.size), (0, start)):
        place = begin
        for cells in _until(Numbers(array), begin, end):
            bad = ~np.isfinite(cells)
            if bad.any():
                return place + int(bad.argmax())
            place += cells.size
            yield cells.size
    return None


def can_be_bad(array: Array) -> bool:
    return is_float(array.dtype) or array.dtype.kind == "c"


def _until(numbers: Numbers, begin: int, end: int) -> Iterator[Array]:
    for cells, _ in numbers.cells(begin):
        if begin >= end:
            return
        yield cells[: end - begin]
        begin += cells.size
