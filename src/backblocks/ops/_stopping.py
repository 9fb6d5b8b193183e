"""Long work on arrays in pieces, so that whoever began it can end it within a moment.

    for rows in pieces(len(a), cost):
        np.matmul(a[rows], b, out[rows])

Compiled kernels ask by themselves whether they are to stop. NumPy's functions do not, and Ctrl-C too has
to wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from backblocks.dtypes import DType
from backblocks.ops._kernels import Stop, Stopped

Array = np.ndarray[Any, Any]

MOST = 1 << 32
"""What a piece costs at most, in products of float32 that are added up: a quarter of a second."""
SORTED = 1 << 11
"""What it costs to sort an entry: a piece has at most two million."""
CELL = 1 << 11
"""What it costs at most to compute a cell from others, such as its erf."""

_ITEMS = 1 << 14
"""Items that Python works on before it asks again whether it is to stop."""

_stop: ContextVar[Stop | None] = ContextVar("stop", default=None)


def during(stop: Stop, function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function, which ends when the stop is set: in its kernels, or between two pieces."""
    before = _stop.set(stop)
    try:
        return stop.during(function, *args)
    finally:
        _stop.reset(before)


def look() -> None:
    """Ends the work here if it is to stop."""
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise Stopped("the work was told to stop")


def pieces(count: int, cost: int) -> Iterator[slice]:
    """Cuts `count` rows, which cost so much together."""
    each = count if cost <= MOST else max(count * MOST // cost, 1)
    for begin in range(0, count, max(each, 1)):
        look()
        yield slice(begin, min(begin + each, count))


def one_by_one(items: Iterable[Any]) -> Iterator[Any]:
    """The items, for work in Python on each of them."""
    for number, item in enumerate(items):
        if number % _ITEMS == 0:
            look()
        yield item


def cell_by_cell(fill: Callable[..., Any], *arrays: Array) -> None:
    """Has `fill` compute the last array, whose cells follow each from those at its place in the others."""
    *inputs, out = arrays
    cost = out.size * CELL
    if cost <= MOST:
        fill(*inputs, out)
        return
    wide = [np.broadcast_to(x, out.shape) for x in inputs]
    for part in pieces(len(out), cost):
        one = alone(part, out)
        cell_by_cell(fill, *(x[one] for x in wide), out[one])


def extreme(ufunc: np.ufunc, x: Array, **options: Any) -> Any:
    """ufunc.reduce over all cells, for a ufunc to which their order does not matter, such as np.minimum."""
    if x.size * CELL <= MOST:
        return ufunc.reduce(x, axis=None, **options)
    found = [extreme(ufunc, x[alone(part, x)], **options) for part in pieces(len(x), x.size * CELL)]
    return ufunc.reduce(np.array(found), axis=None, **options)


def alone(part: slice, x: Array) -> slice | int:
    """A part of one row as that row, which is cut in turn."""
    return part.start if x.ndim > 1 and part.stop == part.start + 1 else part


def copied(x: Array, dtype: DType) -> Array:
    """A copy in row-major order, of another type if need be."""
    if x.size * CELL <= MOST:
        return np.array(x, dtype, order="C")
    out = np.empty(x.shape, dtype)
    cell_by_cell(copy_cells, x, out)
    return out


def copy_cells(source: Array, out: Array) -> None:
    np.copyto(out, source, "unsafe")


def sorted_order(x: Array) -> Array:
    """np.argsort(x, kind="stable") of a row; if it is long, in groups of cells with values that are near."""
    if x.size * SORTED <= MOST:
        return np.argsort(x, kind="stable")
    count = 2 * x.size * SORTED // MOST
    values = np.unique(np.sort(x[:: x.size // (16 * count) + 1])[::16])
    groups: list[list[Array]] = [[] for _ in range(2 * len(values) + 1)]
    for part in pieces(x.size, x.size * SORTED):
        # Those equal to one of the values have odd numbers, those between two of them even ones.
        found = [np.searchsorted(values, x[part], side) for side in ("left", "right")]
        group = (found[0] + found[1]).astype(np.uint16)
        ends = np.cumsum(np.bincount(group, minlength=len(groups)))
        order = np.argsort(group, kind="stable") + part.start
        for cells, some in zip(groups, np.split(order, ends[:-1]), strict=True):
            cells.append(some)
    for number, some in enumerate(map(np.concatenate, groups)):
        look()
        groups[number] = [some if number % 2 else some[sorted_order(x[some])]]
    return np.concatenate([some for (some,) in groups])


def weight(dtype: DType) -> int:
    """What a product costs: NumPy has none of its fast ways for whole numbers."""
    return dtype.itemsize // 4 if dtype.kind in "fc" else 16
