"""Cancellation of long NumPy work: it is done in chunks, with a check for cancellation between two.

    for rows in chunks(len(a), cost):
        np.matmul(a[rows], b, out[rows])

Native kernels check by themselves. NumPy's functions do not, and Ctrl-C too has to wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from backblocks.dtypes import DType
from backblocks.ops._kernels import Stop, Stopped

Array = np.ndarray[Any, Any]

MAX_CHUNK_COST = 1 << 32
"""Most that a chunk may cost, in multiply-adds of float32: a quarter of a second."""
SORT_COST = 1 << 11
"""Cost of sorting an element: a chunk has at most two million."""
ELEMENT_COST = 1 << 11
"""Cost of computing an element from others, at most: such as its erf."""

_ITEMS_PER_CHECK = 1 << 14
"""Items that a Python loop works on between two checks for cancellation."""

_stop: ContextVar[Stop | None] = ContextVar("stop", default=None)


def run_cancellable(stop: Stop, function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function that setting `stop` cancels: in its kernels, or between two chunks."""
    before = _stop.set(stop)
    try:
        return stop.during(function, *args)
    finally:
        _stop.reset(before)


def check_cancelled() -> None:
    """Raises Stopped if the work was cancelled."""
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise Stopped("the work was told to stop")


def chunks(count: int, cost: int) -> Iterator[slice]:
    """Slices that cut `count` rows, which cost so much together, into chunks; checks before each."""
    each = count if cost <= MAX_CHUNK_COST else max(count * MAX_CHUNK_COST // cost, 1)
    for begin in range(0, count, max(each, 1)):
        check_cancelled()
        yield slice(begin, min(begin + each, count))


def checked_items(items: Iterable[Any]) -> Iterator[Any]:
    """The items, with a check for cancellation now and then: for Python loops."""
    for number, item in enumerate(items):
        if number % _ITEMS_PER_CHECK == 0:
            check_cancelled()
        yield item


def elementwise(fill: Callable[..., Any], *arrays: Array) -> None:
    """Has `fill` compute the last array in chunks: an elementwise function of the others, broadcast to it."""
    *inputs, out = arrays
    cost = out.size * ELEMENT_COST
    if cost <= MAX_CHUNK_COST:
        fill(*inputs, out)
        return
    wide = [np.broadcast_to(x, out.shape) for x in inputs]
    for part in chunks(len(out), cost):
        one = row_or_rows(part, out)
        elementwise(fill, *(x[one] for x in wide), out[one])


def reduce_all(ufunc: np.ufunc, x: Array, **options: Any) -> Any:
    """ufunc.reduce over all axes in chunks, for a ufunc that ignores order, such as np.minimum."""
    if x.size * ELEMENT_COST <= MAX_CHUNK_COST:
        return ufunc.reduce(x, axis=None, **options)
    found = [
        reduce_all(ufunc, x[row_or_rows(part, x)], **options)
        for part in chunks(len(x), x.size * ELEMENT_COST)
    ]
    return ufunc.reduce(np.array(found), axis=None, **options)


def row_or_rows(part: slice, x: Array) -> slice | int:
    """A chunk of rows; one of a single row is that row, which is cut in turn."""
    return part.start if x.ndim > 1 and part.stop == part.start + 1 else part


def contiguous_copy(x: Array, dtype: DType) -> Array:
    """A copy in row-major order, converted to `dtype`, made in chunks."""
    if x.size * ELEMENT_COST <= MAX_CHUNK_COST:
        return np.array(x, dtype, order="C")
    out = np.empty(x.shape, dtype)
    elementwise(copy_elements, x, out)
    return out


def copy_elements(source: Array, out: Array) -> None:
    np.copyto(out, source, "unsafe")


def stable_argsort(x: Array) -> Array:
    """np.argsort(x, kind="stable") of a vector; a long one is partitioned by value first: a bucket sort."""
    if x.size * SORT_COST <= MAX_CHUNK_COST:
        return np.argsort(x, kind="stable")
    count = 2 * x.size * SORT_COST // MAX_CHUNK_COST
    values = np.unique(np.sort(x[:: x.size // (16 * count) + 1])[::16])
    groups: list[list[Array]] = [[] for _ in range(2 * len(values) + 1)]
    for part in chunks(x.size, x.size * SORT_COST):
        # Those equal to one of the values have odd numbers, those between two of them even ones.
        found = [np.searchsorted(values, x[part], side) for side in ("left", "right")]
        group = (found[0] + found[1]).astype(np.uint16)
        ends = np.cumsum(np.bincount(group, minlength=len(groups)))
        order = np.argsort(group, kind="stable") + part.start
        for cells, some in zip(groups, np.split(order, ends[:-1]), strict=True):
            cells.append(some)
    for number, some in enumerate(map(np.concatenate, groups)):
        check_cancelled()
        groups[number] = [some if number % 2 else some[stable_argsort(x[some])]]
    return np.concatenate([some for (some,) in groups])


def multiply_cost(dtype: DType) -> int:
    """Cost of a multiply-add: NumPy calls no BLAS for integers."""
    return dtype.itemsize // 4 if dtype.kind in "fc" else 16
