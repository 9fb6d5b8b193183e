"""Statistics of tensors: range, mean, percentiles, histogram, NaN and infinities, largest mismatches.

All of it is computed chunk by chunk. The functions are generators that yield after each chunk, so that
whoever runs them can interleave other work, or cancel what nobody waits for any longer.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Generator, Iterator
from typing import Any, TypeVar

import numpy as np

from backblocks.dtypes import is_float
from backblocks.ops._inputs import Array
from backblocks.studio.chunks import (
    ChunkedTensor,
    compare,
    element_texts,
    floats_of_ordered,
    mismatches,
    normalized,
    ordered_ints,
)
from backblocks.studio.messages import Mismatch, Statistics

_BINS = 64
_WORST = 10
_DIGIT = 16
"""Bits of a digit of the radix selection."""

Result = TypeVar("Result")
ChunkedWork = Generator[int, None, Result]
"""A generator that yields the number of elements of each chunk, and returns its result."""


def run_to_end(work: ChunkedWork[Result]) -> Result:
    while True:
        try:
            next(work)
        except StopIteration as over:
            result: Result = over.value
            return result


def elements_read(tensor: ChunkedTensor) -> int:
    """How many elements `compute_statistics` reads, over all its passes."""
    passes = 2 + _bits(next(tensor.chunks()).dtype) // _DIGIT if tensor.size else 0
    return tensor.size * (passes + (tensor.second is not None))


def compute_statistics(
    tensor: ChunkedTensor, into: Statistics, places: Array | None = None
) -> ChunkedWork[Statistics]:
    """Fills in the statistics. For a sample, `places` are the flat indices of its elements."""
    total, whole = 0.0, True
    for cells in tensor.chunks():
        finite = _finite(cells)
        whole = whole and (not is_float(cells.dtype) or bool((finite == np.rint(finite)).all()))
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
    count = tensor.size - into.nans - into.infinities
    if into.low is not None and into.high is not None:
        into.whole = whole and into.high - into.low < _BINS
        yield from _spread(tensor, into, total / count, into.low, into.high)
        out = (count - 1) // 100
        edges = yield from _at_ranks(tensor, [out, count - 1 - out])
        into.first_percent, into.last_percent = edges
    if tensor.second is not None:
        yield from _compare(tensor, into, places)
    return into


def _finite(cells: Array) -> Array:
    if not is_float(cells.dtype):
        return cells
    finite = np.isfinite(cells)
    return cells if finite.all() else cells[finite]


def _spread(
    tensor: ChunkedTensor, into: Statistics, mean: float, low: float, high: float
) -> ChunkedWork[None]:
    """The deviation from the mean, and the histogram."""
    bins = int(high - low) + 1 if into.whole else _BINS
    counts = np.zeros(bins, np.int64)
    squares = 0.0
    for cells in tensor.chunks():
        finite = _finite(cells)
        with np.errstate(all="ignore"):
            off = finite - np.float64(mean)
            squares += float(np.square(off, out=off).sum())
        if into.whole:
            own = (finite - np.float64(low)).astype(np.intp)
        else:
            own = np.minimum((normalized(finite, low, high) * bins).astype(np.intp), bins - 1)
        counts += np.bincount(own, minlength=bins)
        yield cells.size
    into.counts = counts.tolist()
    into.mean = _if_finite(mean)
    into.deviation = _if_finite(math.sqrt(squares / sum(into.counts)))


def _if_finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _at_ranks(tensor: ChunkedTensor, ranks: list[int]) -> ChunkedWork[list[float]]:
    """The finite numbers at these ranks in ascending order, by radix selection.

    Each pass over the chunks finds one more digit, the highest first, of the integer that has the same place
    in the order. So nothing is sorted or copied, and the result is exact.
    """
    dtype = next(tensor.chunks()).dtype
    bits = _bits(dtype)
    found = [0] * len(ranks)
    left = list(ranks)
    for shift in range(bits - _DIGIT, -1, -_DIGIT):
        counts = np.zeros((len(ranks), 1 << _DIGIT), np.int64)
        for cells in tensor.chunks():
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
    """Unsigned integers in the order of the elements."""
    if cells.dtype.kind == "u":
        return cells.astype(f"u{bits // 8}")
    whole = ordered_ints(cells) if cells.dtype.kind == "f" else cells.astype(f"i{bits // 8}")
    keys: Array = whole.view(f"u{bits // 8}") ^ np.array(1 << (bits - 1), f"u{bits // 8}")
    return keys


def _of_key(key: int, dtype: np.dtype[Any], bits: int) -> float:
    if dtype.kind == "u":
        return float(key)
    whole = key - (1 << (bits - 1))
    if dtype.kind != "f":
        return float(whole)
    return float(floats_of_ordered(np.array([whole], f"i{bits // 8}"), dtype)[0])


# -- two values -----------------------------------------------------------------------------------


def _compare(tensor: ChunkedTensor, into: Statistics, places: Array | None) -> ChunkedWork[None]:
    """The number of mismatches, and the largest; a NaN in one of two is larger than all."""
    into.mismatches = 0
    worst: list[tuple[float, int]] = []
    start = 0
    for first, second in tensor.pairs():
        cells = compare(first, second, tensor.comparison)
        unlike = mismatches(first, second)
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
    into.worst = [_mismatch_at(tensor, -negative, into.shape, places) for _, negative in worst]


def _mismatch_at(
    tensor: ChunkedTensor, place: int, shape: list[int], places: Array | None
) -> Mismatch:
    first, second = next(tensor.pairs(place))
    own = place if places is None else int(places[place])
    return Mismatch(
        [int(i) for i in np.unravel_index(own, shape)],
        element_texts(first, 0, 1)[0],
        element_texts(second, 0, 1)[0],
        element_texts(compare(first[:1], second[:1], tensor.comparison), 0, 1)[0],
    )


# -- NaN and infinities ---------------------------------------------------------------------------


def next_non_finite(array: Array, start: int) -> ChunkedWork[int | None]:
    """The flat index of the first NaN or infinity from `start` on, wrapping around at the end."""
    if not can_be_non_finite(array):
        return None
    for begin, end in ((start, array.size), (0, start)):
        place = begin
        for cells in _between(ChunkedTensor(array), begin, end):
            bad = ~np.isfinite(cells)
            if bad.any():
                return place + int(bad.argmax())
            place += cells.size
            yield cells.size
    return None


def can_be_non_finite(array: Array) -> bool:
    return is_float(array.dtype) or array.dtype.kind == "c"


def _between(tensor: ChunkedTensor, begin: int, end: int) -> Iterator[Array]:
    for cells, _ in tensor.pairs(begin):
        if begin >= end:
            return
        yield cells[: end - begin]
        begin += cells.size
