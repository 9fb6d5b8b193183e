"""Numbers of values, piece by piece in row-major order: a value of any size is looked at and never copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from backblocks.dtypes import NAMES, is_float, wider
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.studio.messages import Comparison

_PIECE = 1 << 16
"""Cells that are looked at together: few enough for a processor's cache."""
MANY = 1 << 21
"""Cells of which some are looked at first, since all take a while."""
_SAMPLE = 1 << 17
"""Cells that stand for all."""


@dataclass(frozen=True)
class Numbers:
    """The numbers of a value, or what comes of comparing it with another one of its shape."""

    first: Array
    second: Array | None = None
    comparison: Comparison = "difference"

    @property
    def size(self) -> int:
        return self.first.size

    @property
    def values(self) -> list[Array]:
        return [self.first] if self.second is None else [self.first, self.second]

    def pieces(self, start: int = 0) -> Iterator[Array]:
        """Real numbers from the cell of this place on; they are to be used before the next are taken."""
        for first, second in self.cells(start):
            yield real(first) if self.second is None else compared(first, second, self.comparison)

    def cells(self, start: int = 0) -> Iterator[tuple[Array, Array]]:
        """The cells themselves, of both values; twice those of the one if it is compared with none."""
        arrays = (self.first, self.first if self.second is None else self.second)
        if start >= self.size:
            return
        with np.nditer(
            arrays,
            flags=["external_loop", "buffered", "ranged"],
            op_flags=[["readonly"], ["readonly"]],
            order="C",
            buffersize=_PIECE,
        ) as cells:
            cells.iterrange = (start, self.size)  # type: ignore[misc]
            yield from cells

    def part(self, index: tuple[Any, ...]) -> Numbers:
        second = None if self.second is None else self.second[index]
        return Numbers(self.first[index], second, self.comparison)

    def sample(self) -> tuple[Numbers, Array]:
        """Cells spread evenly over all, and their places.

        One is drawn from each of equal ranges: each at the same place would meet one channel only.
        """
        edges = np.linspace(0, self.size, _SAMPLE + 1).astype(np.int64)
        places = np.random.default_rng(0).integers(edges[:-1], edges[1:])
        index = np.unravel_index(places, self.first.shape)
        return self.part(index), places


def of(pin: str, array: Array, *against: tuple[str, Array], comparison: Comparison) -> Numbers:
    """The numbers of an output, or of its comparison with another. Refuses what has none."""
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
        return Numbers(array, other, comparison)
    return Numbers(array)


def refuse_other_cells(pin: str, cell: list[int], shape: tuple[int, ...]) -> None:
    """Refuses a cell that a tensor of this shape has not."""
    if len(cell) != len(shape) or not all(0 <= i < n for i, n in zip(cell, shape, strict=True)):
        hint = f"Name one of {list(shape)}."
        raise OpError("must have such a cell", op=pin, got=cell, hint=hint)


def real(cells: Array) -> Array:
    """As numbers that can be ordered: of complex ones the sizes."""
    if cells.dtype.kind == "c":
        sizes: Array = np.abs(cells)
        return sizes
    return cells.astype(np.uint8 if cells.dtype.kind == "b" else wider(cells.dtype), copy=False)


def texts(array: Array, first: int, count: int, *, python: bool = False) -> list[str]:
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


def differ(first: Array, second: Array) -> Array:
    """Where two differ. One NaN is as good as another."""
    found: Array = (first != second) & ~((first != first) & (second != second))
    return found


def compared(first: Array, second: Array, comparison: Comparison) -> Array:
    """Of each pair the comparison, in float64; 0 where they do not differ."""
    with np.errstate(all="ignore"):
        if comparison == "ulp":
            found = _steps_between(first, second)
        else:
            found = _difference(first, second)
            if comparison == "relative":
                largest = np.maximum(*(np.abs(_wide(each)) for each in (first, second)))
                found = np.where(np.isinf(found), found, found / largest)
    found[~differ(first, second)] = 0.0
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
    """Of whole numbers, exact: the difference of two may be larger than any number of their type."""
    high, low = (part(first, second).astype(np.uint64) for part in (np.maximum, np.minimum))
    return (high - low).astype(np.float64)


def _steps_between(first: Array, second: Array) -> Array:
    """How many steps to the next number of the type lead from one to the other."""
    if not is_float(first.dtype):
        return _distance(real(first), real(second))
    found = _distance(in_order(first), in_order(second))
    found[(first != first) | (second != second)] = np.nan
    return found


def in_order(cells: Array) -> Array:
    """Whole numbers that are ordered as these floating-point ones are, with no gap between neighbours."""
    bits = cells.view(f"i{cells.dtype.itemsize}")
    sign = bits >> (8 * cells.dtype.itemsize - 1)  # -1 or 0
    whole: Array = ((bits & np.iinfo(bits.dtype).max) ^ sign) - sign
    return whole


def back_in_floats(whole: Array, dtype: np.dtype[Any]) -> Array:
    """What `in_order` was given."""
    bits = np.where(whole < 0, np.iinfo(whole.dtype).min - whole, whole)
    floats: Array = bits.view(dtype)
    return floats


# -- shades ---------------------------------------------------------------------------------------

NAN, MINUS_INFINITY, INFINITY, ZERO, BELOW, ABOVE, FIRST = range(7)
"""What the bytes of shades mean; from FIRST to 255 they go from low to high."""


def shades(numbers: Numbers, low: float, high: float) -> Array:
    """One byte a cell, for a picture."""
    found = np.empty(numbers.size, np.uint8)
    place = 0
    for cells in numbers.pieces():
        found[place : place + cells.size] = _shades(cells, low, high)
        place += cells.size
    return found.reshape(numbers.first.shape)


def _shades(cells: Array, low: float, high: float) -> Array:
    with np.errstate(all="ignore"):  # a bound may be none of the cells' type
        levels = share(cells, low, high) * (255 - FIRST) + (FIRST + 0.5)
        found = levels.astype(np.uint8)
        found[cells < low] = BELOW
        found[cells > high] = ABOVE
    found[cells == 0] = ZERO
    if is_float(cells.dtype):
        found[cells == np.inf] = INFINITY
        found[cells == -np.inf] = MINUS_INFINITY
        found[cells != cells] = NAN
    return found


def share(cells: Array, low: float, high: float) -> Array:
    """Where each lies between low and high, from 0 to 1; 0.5 if those are one."""
    if low == high:
        return np.full(cells.shape, 0.5)
    wide = cells.astype(np.float64)
    if np.isfinite(high - low):
        return (wide - low) / (high - low)
    return (wide / 2 - low / 2) / (high / 2 - low / 2)
