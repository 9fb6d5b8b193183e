"""Tensors chunk by chunk in row-major order, so that one of any size is read without a copy of it.

Also what is computed of each chunk: comparisons of two tensors, and bytes for pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from backblocks.dtypes import NAMES, is_float, wider
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.studio.messages import Comparison

_CHUNK = 1 << 16
"""Elements of a chunk: few enough for a processor's cache."""
LARGE = 1 << 21
"""Elements above which a sample is read first, since all of them take a while."""
_SAMPLE = 1 << 17
"""Elements of a sample."""


@dataclass(frozen=True)
class ChunkedTensor:
    """The numbers of a tensor, or of its comparison with a second one of the same shape."""

    first: Array
    second: Array | None = None
    comparison: Comparison = "difference"

    @property
    def size(self) -> int:
        return self.first.size

    @property
    def values(self) -> list[Array]:
        return [self.first] if self.second is None else [self.first, self.second]

    def chunks(self, start: int = 0) -> Iterator[Array]:
        """Real numbers from this flat index on. A chunk is valid until the next one is taken."""
        for first, second in self.pairs(start):
            yield as_real(first) if self.second is None else compare(first, second, self.comparison)

    def pairs(self, start: int = 0) -> Iterator[tuple[Array, Array]]:
        """Chunks of both tensors as they are; of the first one twice if there is no second."""
        arrays = (self.first, self.first if self.second is None else self.second)
        if start >= self.size:
            return
        with np.nditer(
            arrays,
            flags=["external_loop", "buffered", "ranged"],
            op_flags=[["readonly"], ["readonly"]],
            order="C",
            buffersize=_CHUNK,
        ) as cells:
            cells.iterrange = (start, self.size)  # type: ignore[misc]
            yield from cells

    def at(self, index: tuple[Any, ...]) -> ChunkedTensor:
        second = None if self.second is None else self.second[index]
        return ChunkedTensor(self.first[index], second, self.comparison)

    def sample(self) -> tuple[ChunkedTensor, Array]:
        """A stratified random sample, and the flat indices of its elements.

        One element is drawn from each of equal ranges: a fixed stride would meet one channel only.
        """
        edges = np.linspace(0, self.size, _SAMPLE + 1).astype(np.int64)
        places = np.random.default_rng(0).integers(edges[:-1], edges[1:])
        index = np.unravel_index(places, self.first.shape)
        return self.at(index), places


def chunked(
    pin: str, array: Array, *against: tuple[str, Array], comparison: Comparison
) -> ChunkedTensor:
    """An output, or its comparison with another one. Refuses what has no numbers."""
    for name, each in ((pin, array), *against):
        if each.dtype.hasobject:
            raise OpError("has no numbers", op=name, hint="Ask for its elements.")
    for name, other in against:
        if other.shape != array.shape:
            raise OpError(
                f"must have the shape {list(array.shape)} of {pin}",
                op=name,
                got=list(other.shape),
                hint="Compare outputs of one shape.",
            )
        if comparison == "ulp" and (other.dtype != array.dtype or array.dtype.kind == "c"):
            raise OpError(
                f"must hold real numbers of the type of {pin}, {NAMES[array.dtype]}",
                op=name,
                got=described(NAMES[other.dtype]),
                hint="Take their difference.",
            )
        return ChunkedTensor(array, other, comparison)
    return ChunkedTensor(array)


def check_index(pin: str, cell: list[int], shape: tuple[int, ...]) -> None:
    """Refuses a cell that lies outside of a tensor of this shape."""
    if len(cell) != len(shape) or not all(0 <= i < n for i, n in zip(cell, shape, strict=True)):
        hint = f"Name one of {list(shape)}."
        raise OpError("must have such a cell", op=pin, got=cell, hint=hint)


def as_real(cells: Array) -> Array:
    """Elements as real numbers: of complex ones the magnitudes."""
    if cells.dtype.kind == "c":
        sizes: Array = np.abs(cells)
        return sizes
    return cells.astype(np.uint8 if cells.dtype.kind == "b" else wider(cells.dtype), copy=False)


def element_texts(array: Array, first: int, count: int, *, python: bool = False) -> list[str]:
    """Elements in row-major order as texts that say them exactly; of strings only in Python's way."""
    if array.dtype.names:
        return []
    cells = array.flat[first : first + count]
    if python:
        return [repr(cell) for cell in cells.tolist()]
    if array.dtype.kind == "O":
        return [cell.decode(errors="replace") for cell in cells]
    if array.dtype.kind == "b":
        return ["true" if cell else "false" for cell in cells]
    if array.dtype.kind == "c":
        return [str(cell).strip("()") for cell in cells]
    return [str(cell) for cell in cells]


# -- comparing ------------------------------------------------------------------------------------


def mismatches(first: Array, second: Array) -> Array:
    """A mask of where two differ. A NaN equals a NaN."""
    found: Array = (first != second) & ~((first != first) & (second != second))
    return found


def compare(first: Array, second: Array, comparison: Comparison) -> Array:
    """The comparison of each pair, in float64; 0 where they do not differ."""
    with np.errstate(all="ignore"):
        if comparison == "ulp":
            found = _ulp_distance(first, second)
        else:
            found = _difference(first, second)
            if comparison == "relative":
                largest = np.maximum(*(np.abs(_wide(each)) for each in (first, second)))
                found = np.where(np.isinf(found), found, found / largest)
    found[~mismatches(first, second)] = 0.0
    return found


def _wide(cells: Array) -> Array:
    return cells.astype(np.complex128 if cells.dtype.kind == "c" else np.float64)


def _difference(first: Array, second: Array) -> Array:
    if first.dtype == second.dtype and first.dtype.kind in "iu":
        size = _distance(first, second)
        return np.where(first >= second, size, -size)
    found = _wide(first) - _wide(second)
    return np.abs(found) if found.dtype.kind == "c" else found


def _distance(first: Array, second: Array) -> Array:
    """The exact distance of integers, which may overflow their own type."""
    high, low = (part(first, second).astype(np.uint64) for part in (np.maximum, np.minimum))
    return (high - low).astype(np.float64)


def _ulp_distance(first: Array, second: Array) -> Array:
    """The distance in units in the last place (ulp)."""
    if not is_float(first.dtype):
        return _distance(as_real(first), as_real(second))
    found = _distance(ordered_ints(first), ordered_ints(second))
    found[(first != first) | (second != second)] = np.nan
    return found


def ordered_ints(cells: Array) -> Array:
    """Integers in the order of these floats, with neighbouring floats one apart."""
    bits = cells.view(f"i{cells.dtype.itemsize}")
    sign = bits >> (8 * cells.dtype.itemsize - 1)  # -1 or 0
    whole: Array = ((bits & np.iinfo(bits.dtype).max) ^ sign) - sign
    return whole


def floats_of_ordered(whole: Array, dtype: np.dtype[Any]) -> Array:
    """The inverse of `ordered_ints`."""
    bits = np.where(whole < 0, np.iinfo(whole.dtype).min - whole, whole)
    floats: Array = bits.view(dtype)
    return floats


# -- bytes for pictures -------------------------------------------------------------------------

NAN, MINUS_INFINITY, INFINITY, ZERO, BELOW, ABOVE, FIRST = range(7)
"""What the bytes of a quantised tensor mean; from FIRST to 255 they go from low to high."""


def quantized(tensor: ChunkedTensor, low: float, high: float) -> Array:
    """One byte for each element, for a picture."""
    found = np.empty(tensor.size, np.uint8)
    place = 0
    for cells in tensor.chunks():
        found[place : place + cells.size] = _quantized(cells, low, high)
        place += cells.size
    return found.reshape(tensor.first.shape)


def _quantized(cells: Array, low: float, high: float) -> Array:
    with np.errstate(all="ignore"):  # a bound may be none of the cells' type
        levels = normalized(cells, low, high) * (255 - FIRST) + (FIRST + 0.5)
        found = levels.astype(np.uint8)
        found[cells < low] = BELOW
        found[cells > high] = ABOVE
    found[cells == 0] = ZERO
    if is_float(cells.dtype):
        found[cells == np.inf] = INFINITY
        found[cells == -np.inf] = MINUS_INFINITY
        found[cells != cells] = NAN
    return found


def normalized(cells: Array, low: float, high: float) -> Array:
    """Scaled so that low is 0 and high is 1; 0.5 if low equals high."""
    if low == high:
        return np.full(cells.shape, 0.5)
    wide = cells.astype(np.float64)
    if np.isfinite(high - low):
        return (wide - low) / (high - low)
    return (wide / 2 - low / 2) / (high / 2 - low / 2)
