"""Plain NumPy that can be ended: what a reference implementation computes on large arrays, in pieces.

    stoppable(reference)(*arrays, **attrs)

The reference implementation gets its inputs as arrays of a class of their own, and so are the arrays that
follow from them.
Before every function of NumPy's they look whether the work is to stop, and what they compute cell by cell,
pick, add at places or sort is done in pieces. The results are the same to the bit.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from backblocks.ops._inputs import Array
from backblocks.ops._memory import refuse_bytes
from backblocks.ops._stopping import (
    CELL,
    MOST,
    alone,
    cell_by_cell,
    copied,
    copy_cells,
    extreme,
    look,
    pieces,
    sorted_order,
)


def stoppable(reference: Callable[..., Any]) -> Callable[..., Any]:
    """An interruptible reference implementation: it ends soon after it is told to, on arrays of any size."""

    def in_pieces(*arrays: Any, **attrs: Any) -> Any:
        return plain(reference(*_each(_patient, arrays), **attrs))

    return in_pieces


def interruptible(array: Array) -> Array:
    """The array itself; if it is large, as one that is read in pieces."""
    large = type(array) is np.ndarray and array.size * CELL > MOST
    return _patient(array) if large else array


def is_whole(array: Array) -> bool:
    """Whether it has memory of its own and is no part of another array."""
    base = array.base
    return base is None or (type(base) is _Patient and base.base is None)


class _Patient(np.ndarray[Any, Any]):
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        look()
        inputs = [plain(x) for x in args]
        options = {name: plain(value) for name, value in kwargs.items()}
        if method == "at":
            return _at(ufunc.at, *inputs)
        if method == "accumulate" and options.get("axis", 0) == 0 and "out" not in options:
            return _patient(_running(ufunc, inputs[0], options.get("dtype")))
        if method == "reduce" and "out" not in options:
            return _patient(_reduced(ufunc, inputs[0], options))
        by_cell = ufunc.nout == 1 and ufunc.signature is None and options.keys() <= {"out"}
        if method == "__call__" and by_cell:
            return _patient(_cells(ufunc, inputs, *options.get("out", ())))
        result = getattr(ufunc, method)(*inputs, **options)
        return tuple(map(_patient, result)) if isinstance(result, tuple) else _patient(result)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        look()
        if function is np.where and len(args) == 3:
            return _patient(_cells(np.where, [plain(x) for x in args]))
        if function is np.searchsorted and not kwargs:
            ordered, cells, *side = plain(args)
            return _patient(_cells(lambda part: np.searchsorted(ordered, part, *side), [cells]))
        if function is np.stack and len(args) == 2 and not kwargs:
            return np.concatenate([np.expand_dims(x, args[1]) for x in args[0]], args[1])
        if function is np.concatenate and len(args) < 3 and kwargs.keys() <= {"axis", "out"}:
            axis = args[1] if len(args) == 2 else kwargs.get("axis", 0)
            return _patient(_joined(plain(list(args[0])), axis, plain(kwargs.get("out"))))
        if function is np.bincount and len(args) == 1 and kwargs.keys() <= {"minlength"}:
            return _patient(_counted(plain(args[0]), **kwargs))
        if function in (np.nonzero, np.argwhere) and not kwargs and args[0].ndim:
            places = _nonzero_places(plain(args[0]))
            return _patient(places) if function is np.argwhere else tuple(map(_patient, places.T))
        if function is np.argsort:
            return args[0].argsort(*args[1:], **kwargs)
        if function is np.copyto and len(args) == 2 and not kwargs:
            return cell_by_cell(copy_cells, plain(args[1]), plain(args[0]))
        return _patient(super().__array_function__(function, types, args, kwargs))

    def __getitem__(self, index: Any) -> Any:
        return _patient(_picked(plain(self), plain(index)))

    def __setitem__(self, index: Any, value: Any) -> None:
        _put(plain(self), plain(index), plain(value))

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        (dtype,) = args
        if kwargs == {"copy": False} and self.dtype == dtype:
            return self
        out = np.empty_like(plain(self), dtype)
        cell_by_cell(copy_cells, plain(self), out)
        return _patient(out)

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        return _patient(copied(plain(self), self.dtype))

    def reshape(self, *args: Any, **kwargs: Any) -> Any:
        # NumPy would copy what lies in another order too, but all of it at once.
        whole = self if self.flags.c_contiguous else self.copy()
        return _patient(plain(whole).reshape(*args, **kwargs))

    def take(self, *args: Any, **kwargs: Any) -> Any:
        look()
        x, (places, *rest) = plain(self), plain(args)
        if rest == [0] and not kwargs:
            return self[np.asarray(places)]
        if len(rest) != 1 or rest[0] < 0 or kwargs:
            return _patient(x.take(places, *rest, **kwargs))
        return _patient(_taken(x, np.asarray(places), rest[0]))

    def tolist(self) -> Any:
        whole = plain(self)
        parts = pieces(len(whole), whole.size * CELL)
        return [entry for part in parts for entry in whole[part].tolist()]

    def argsort(self, *args: Any, **kwargs: Any) -> Any:
        look()
        if self.ndim == 1:  # whatever kind is asked for, one that keeps equals in order will do
            return _patient(sorted_order(plain(self)))
        return _patient(plain(self).argsort(*args, **kwargs))


def _patient(value: Any) -> Any:
    """An array as one of these; everything else as it is, and so are texts, which NumPy cannot cut."""
    numbers = type(value) is np.ndarray and not value.dtype.hasobject
    return value.view(_Patient) if numbers else value


def plain(value: Any) -> Any:
    """An array of NumPy's own class, without copying it; the one that it was made of if that is all of it."""
    if isinstance(value, tuple | list):
        return type(value)(map(plain, value))
    if type(value) is not _Patient:
        return value
    base = value.base
    layout = (value.shape, value.strides, value.dtype)
    if type(base) is np.ndarray and (base.shape, base.strides, base.dtype) == layout:
        return base
    return value.view(np.ndarray)


_ORDERLESS = (np.minimum, np.maximum, np.logical_or, np.logical_and)
"""Functions whose reduction gives the same in every order of the cells."""


def _each(function: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    return [tuple(map(function, v)) if isinstance(v, tuple) else function(v) for v in values]


# -- what is done in pieces ----------------------------------------------------------------------------


def _cells(function: Callable[..., Any], inputs: list[Any], out: Array | None = None) -> Any:
    """A function of cells that lie at the same place."""
    shape = np.broadcast_shapes(*(np.shape(x) for x in inputs))
    if int(np.prod(shape, dtype=int)) * CELL <= MOST:
        return function(*inputs) if out is None else function(*inputs, out=out)
    if out is None:
        few = function(*(x[(slice(1),) * x.ndim] if np.ndim(x) else x for x in inputs))
        like = next((x for x in inputs if np.shape(x) == shape), None)
        out = np.empty(shape, few.dtype) if like is None else np.empty_like(like, few.dtype)
    numbers = {i: x for i, x in enumerate(inputs) if not isinstance(x, np.ndarray)}
    arrays = [x for x in inputs if isinstance(x, np.ndarray)]

    def fill(*parts: Array) -> None:
        left = iter(parts[:-1])
        given = [numbers[i] if i in numbers else next(left) for i in range(len(inputs))]
        if isinstance(function, np.ufunc):
            function(*given, out=parts[-1])
        else:
            parts[-1][...] = function(*given)

    cell_by_cell(fill, *arrays, out)
    return out


def _running(ufunc: np.ufunc, x: Array, dtype: Any) -> Array:
    """Totals along the first axis; each piece goes on from the last of the one before."""
    if x.size * CELL <= MOST:
        return ufunc.accumulate(x, 0, dtype)
    out = np.empty_like(x, dtype)
    for part in pieces(len(x), x.size * CELL):
        rows = x[part].astype(out.dtype)
        if part.start:
            rows[0] = ufunc(out[part.start - 1], rows[0])
        ufunc.accumulate(rows, 0, out=out[part])
    return out


def _reduced(ufunc: np.ufunc, x: Array, options: dict[str, Any]) -> Any:
    """ufunc.reduce, some rows after the others where rows are not reduced to one."""
    axis = options.get("axis", 0)
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis) % max(x.ndim, 1)
    if x.size * CELL <= MOST:
        return ufunc.reduce(x, **options)
    used = {name for name, value in options.items() if value not in (None, False, np._NoValue)}
    if ufunc in _ORDERLESS and len(axes) == x.ndim and used <= {"axis"}:
        return extreme(ufunc, x)
    if 0 in axes:
        return ufunc.reduce(x, **options)
    parts = pieces(len(x), x.size * CELL)
    return np.concatenate([ufunc.reduce(x[part], **options) for part in parts])


def _taken(x: Array, places: Array, axis: int) -> Array:
    """x.take(places, axis), for some places or some rows of `x` after the others, whichever are more."""
    rows, after = x.shape[:axis], x.shape[axis + 1 :]
    out = np.empty((*rows, places.size, *after), x.dtype)
    by_place, flat_places = places.size >= len(x), places.reshape(-1)
    for part in pieces(places.size if by_place else len(x), out.size * CELL):
        if by_place:
            out[(slice(None),) * axis + (part,)] = x.take(flat_places[part], axis)
        else:
            out[part] = x[part].take(flat_places, axis)
    return out.reshape(*rows, *places.shape, *after)


def _joined(arrays: list[Array], axis: int, out: Array | None = None) -> Array:
    """np.concatenate(arrays, axis, out)."""
    if axis < 0 or sum(x.size for x in arrays) * CELL <= MOST:
        return np.concatenate(arrays, axis, out)
    shape = list(arrays[0].shape)
    shape[axis] = sum(x.shape[axis] for x in arrays)
    out = np.empty(shape, np.result_type(*arrays)) if out is None else out
    begin = 0
    for x in arrays:
        end = begin + x.shape[axis]
        cell_by_cell(copy_cells, x, out[(slice(None),) * axis + (slice(begin, end),)])
        begin = end
    return out


def _counted(x: Array, minlength: int = 0) -> Array:
    """np.bincount(x, minlength=minlength)."""
    length = max(minlength, int(extreme(np.maximum, x)) + 1 if x.size else 0)
    counts = np.zeros(length, np.intp)
    for part in pieces(x.size, x.size * CELL):
        counts += np.bincount(x[part], minlength=length)
    return counts


def _nonzero_places(x: Array) -> Array:
    """np.argwhere(x), whose size is counted first: it may have more bytes than there is memory."""
    cells = plain(_patient(x).reshape(-1))
    cost = x.size * CELL * (1 + x.ndim)
    counts = [int(np.count_nonzero(cells[part])) for part in pieces(x.size, cost)]
    shape = sum(counts), x.ndim
    refuse_bytes(8 * math.prod(shape), "the result needs", f"int64 {list(shape)}")
    out = np.empty(shape, np.int64)
    begin = 0
    for part, count in zip(pieces(x.size, cost), counts, strict=True):
        found = np.flatnonzero(cells[part]) + part.start
        out[begin : begin + count] = np.stack(np.unravel_index(found, x.shape), -1)
        begin += count
    return out


def _picked(x: Array, index: Any) -> Any:
    """x[index]."""
    if isinstance(index, np.ndarray) and index.dtype == bool and index.ndim:
        whole_rows = index.ndim == 1 and len(x) == 1
        if x.size * CELL <= MOST or index.shape != x.shape[: index.ndim] or whole_rows:
            return x[index]
        parts = [alone(part, index) for part in pieces(len(x), x.size * CELL)]
        return _joined([_picked(x[part], index[part]) for part in parts], 0)
    places = _places(index)
    if places is None:
        return x[index]
    shape = places[0].shape + x.shape[len(places) :]
    cost = int(np.prod(shape, dtype=int)) * CELL
    if places[0].size == 1 or cost <= MOST:
        return x[places]
    out = np.empty(shape, x.dtype)
    for part in pieces(len(out), cost):
        one = alone(part, places[0])
        out[one] = _picked(x, tuple(place[one] for place in places))
    return out


def _put(x: Array, index: Any, value: Any) -> None:
    """x[index] = value."""
    if _places(index) is not None:
        _at(operator.setitem, x, index, value)
    elif x.size * CELL <= MOST or not np.may_share_memory(cells := np.asarray(x[index]), x):
        x[index] = value
    else:
        cell_by_cell(copy_cells, np.asarray(value), cells)


def _at(change: Callable[..., Any], x: Array, index: Any, value: Any) -> None:
    """Changes the cells or rows of `x` at these places by values, one place after the other."""
    places = _places(index)
    shape = () if places is None else places[0].shape + x.shape[len(places) :]
    cost = int(np.prod(shape, dtype=int)) * CELL
    if places is None or places[0].size == 1 or cost <= MOST:
        change(x, index, value)
        return
    values = np.broadcast_to(value, shape)
    for part in pieces(len(values), cost):
        one = alone(part, places[0])
        _at(change, x, tuple(place[one] for place in places), values[one])


def _places(index: Any) -> tuple[Array, ...] | None:
    """The numbers of cells along each of the first axes; None if an index is of another kind."""
    parts = index if isinstance(index, tuple) else (index,)
    whole = all(isinstance(i, np.ndarray) and i.dtype.kind in "iu" for i in parts)
    if not whole or not parts or not any(i.ndim for i in parts):
        return None
    return tuple(np.broadcast_arrays(*parts)) if len(parts) > 1 else parts
