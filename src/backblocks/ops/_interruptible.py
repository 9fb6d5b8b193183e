"""Interruptible arrays: plain NumPy code that can be cancelled, however large its arrays are.

    interruptible_function(reference)(*arrays, **attrs)

The function gets its inputs as `InterruptibleArray`, an ndarray subclass, and so are the arrays computed from
them. They check for cancellation before every NumPy function, and do elementwise functions, indexing,
`ufunc.at`, reductions and sorting in chunks. The results are the same to the bit.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from backblocks.ops._chunks import (
    ELEMENT_COST,
    MAX_CHUNK_COST,
    check_cancelled,
    chunks,
    contiguous_copy,
    copy_elements,
    elementwise,
    reduce_all,
    row_or_rows,
    stable_argsort,
)
from backblocks.ops._inputs import Array
from backblocks.ops._memory import refuse_bytes


def interruptible_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, on interruptible arrays: cancelling it takes effect within a moment."""

    def on_interruptible_arrays(*arrays: Any, **attrs: Any) -> Any:
        return as_plain(function(*_each(_wrapped, arrays), **attrs))

    return on_interruptible_arrays


def as_interruptible(array: Array) -> Array:
    """The array itself; a large one as an interruptible array that shares its memory."""
    large = type(array) is np.ndarray and array.size * ELEMENT_COST > MAX_CHUNK_COST
    return _wrapped(array) if large else array


def owns_memory(array: Array) -> bool:
    """Whether the array has memory of its own and is no view of another."""
    base = array.base
    return base is None or (type(base) is InterruptibleArray and base.base is None)


class InterruptibleArray(np.ndarray[Any, Any]):
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        check_cancelled()
        inputs = [as_plain(x) for x in args]
        options = {name: as_plain(value) for name, value in kwargs.items()}
        if method == "at":
            return _at(ufunc.at, *inputs)
        if method == "accumulate" and options.get("axis", 0) == 0 and "out" not in options:
            return _wrapped(_running(ufunc, inputs[0], options.get("dtype")))
        if method == "reduce" and "out" not in options:
            return _wrapped(_reduced(ufunc, inputs[0], options))
        by_cell = ufunc.nout == 1 and ufunc.signature is None and options.keys() <= {"out"}
        if method == "__call__" and by_cell:
            return _wrapped(_cells(ufunc, inputs, *options.get("out", ())))
        result = getattr(ufunc, method)(*inputs, **options)
        return tuple(map(_wrapped, result)) if isinstance(result, tuple) else _wrapped(result)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        check_cancelled()
        if function is np.where and len(args) == 3:
            return _wrapped(_cells(np.where, [as_plain(x) for x in args]))
        if function is np.searchsorted and not kwargs:
            ordered, cells, *side = as_plain(args)
            return _wrapped(_cells(lambda part: np.searchsorted(ordered, part, *side), [cells]))
        if function is np.stack and len(args) == 2 and not kwargs:
            return np.concatenate([np.expand_dims(x, args[1]) for x in args[0]], args[1])
        if function is np.concatenate and len(args) < 3 and kwargs.keys() <= {"axis", "out"}:
            axis = args[1] if len(args) == 2 else kwargs.get("axis", 0)
            return _wrapped(_joined(as_plain(list(args[0])), axis, as_plain(kwargs.get("out"))))
        if function is np.bincount and len(args) == 1 and kwargs.keys() <= {"minlength"}:
            return _wrapped(_counted(as_plain(args[0]), **kwargs))
        if function in (np.nonzero, np.argwhere) and not kwargs and args[0].ndim:
            places = _nonzero_places(as_plain(args[0]))
            return _wrapped(places) if function is np.argwhere else tuple(map(_wrapped, places.T))
        if function is np.argsort:
            return args[0].argsort(*args[1:], **kwargs)
        if function is np.copyto and len(args) == 2 and not kwargs:
            return elementwise(copy_elements, as_plain(args[1]), as_plain(args[0]))
        return _wrapped(super().__array_function__(function, types, args, kwargs))

    def __getitem__(self, index: Any) -> Any:
        return _wrapped(_picked(as_plain(self), as_plain(index)))

    def __setitem__(self, index: Any, value: Any) -> None:
        _put(as_plain(self), as_plain(index), as_plain(value))

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        (dtype,) = args
        if kwargs == {"copy": False} and self.dtype == dtype:
            return self
        out = np.empty_like(as_plain(self), dtype)
        elementwise(copy_elements, as_plain(self), out)
        return _wrapped(out)

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        return _wrapped(contiguous_copy(as_plain(self), self.dtype))

    def reshape(self, *args: Any, **kwargs: Any) -> Any:
        # NumPy would copy what lies in another order too, but all of it at once.
        whole = self if self.flags.c_contiguous else self.copy()
        return _wrapped(as_plain(whole).reshape(*args, **kwargs))

    def take(self, *args: Any, **kwargs: Any) -> Any:
        check_cancelled()
        x, (places, *rest) = as_plain(self), as_plain(args)
        if rest == [0] and not kwargs:
            return self[np.asarray(places)]
        if len(rest) != 1 or rest[0] < 0 or kwargs:
            return _wrapped(x.take(places, *rest, **kwargs))
        return _wrapped(_taken(x, np.asarray(places), rest[0]))

    def tolist(self) -> Any:
        whole = as_plain(self)
        parts = chunks(len(whole), whole.size * ELEMENT_COST)
        return [entry for part in parts for entry in whole[part].tolist()]

    def argsort(self, *args: Any, **kwargs: Any) -> Any:
        check_cancelled()
        if self.ndim == 1:  # whatever kind is asked for, one that keeps equals in order will do
            return _wrapped(stable_argsort(as_plain(self)))
        return _wrapped(as_plain(self).argsort(*args, **kwargs))


def _wrapped(value: Any) -> Any:
    """An array of numbers as an InterruptibleArray that shares its memory; everything else as it is."""
    numbers = type(value) is np.ndarray and not value.dtype.hasobject
    return value.view(InterruptibleArray) if numbers else value


def as_plain(value: Any) -> Any:
    """The plain ndarray behind an InterruptibleArray, without a copy; everything else as it is."""
    if isinstance(value, tuple | list):
        return type(value)(map(as_plain, value))
    if type(value) is not InterruptibleArray:
        return value
    base = value.base
    layout = (value.shape, value.strides, value.dtype)
    if type(base) is np.ndarray and (base.shape, base.strides, base.dtype) == layout:
        return base
    return value.view(np.ndarray)


_ORDERLESS = (np.minimum, np.maximum, np.logical_or, np.logical_and)
"""Functions whose reduction ignores the order of the elements."""


def _each(function: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    return [tuple(map(function, v)) if isinstance(v, tuple) else function(v) for v in values]


# -- NumPy functions in chunks ---------------------------------------------------------------------------


def _cells(function: Callable[..., Any], inputs: list[Any], out: Array | None = None) -> Any:
    """An elementwise function, with broadcasting."""
    shape = np.broadcast_shapes(*(np.shape(x) for x in inputs))
    if int(np.prod(shape, dtype=int)) * ELEMENT_COST <= MAX_CHUNK_COST:
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

    elementwise(fill, *arrays, out)
    return out


def _running(ufunc: np.ufunc, x: Array, dtype: Any) -> Array:
    """ufunc.accumulate along the first axis; each chunk continues from the last row of the one before."""
    if x.size * ELEMENT_COST <= MAX_CHUNK_COST:
        return ufunc.accumulate(x, 0, dtype)
    out = np.empty_like(x, dtype)
    for part in chunks(len(x), x.size * ELEMENT_COST):
        rows = x[part].astype(out.dtype)
        if part.start:
            rows[0] = ufunc(out[part.start - 1], rows[0])
        ufunc.accumulate(rows, 0, out=out[part])
    return out


def _reduced(ufunc: np.ufunc, x: Array, options: dict[str, Any]) -> Any:
    """ufunc.reduce, by chunks of rows where the first axis is not reduced."""
    axis = options.get("axis", 0)
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis) % max(x.ndim, 1)
    if x.size * ELEMENT_COST <= MAX_CHUNK_COST:
        return ufunc.reduce(x, **options)
    used = {name for name, value in options.items() if value not in (None, False, np._NoValue)}
    if ufunc in _ORDERLESS and len(axes) == x.ndim and used <= {"axis"}:
        return reduce_all(ufunc, x)
    if 0 in axes:
        return ufunc.reduce(x, **options)
    parts = chunks(len(x), x.size * ELEMENT_COST)
    return np.concatenate([ufunc.reduce(x[part], **options) for part in parts])


def _taken(x: Array, places: Array, axis: int) -> Array:
    """x.take(places, axis), by chunks of `places` or of rows of `x`, whichever are more."""
    rows, after = x.shape[:axis], x.shape[axis + 1 :]
    out = np.empty((*rows, places.size, *after), x.dtype)
    by_place, flat_places = places.size >= len(x), places.reshape(-1)
    for part in chunks(places.size if by_place else len(x), out.size * ELEMENT_COST):
        if by_place:
            out[(slice(None),) * axis + (part,)] = x.take(flat_places[part], axis)
        else:
            out[part] = x[part].take(flat_places, axis)
    return out.reshape(*rows, *places.shape, *after)


def _joined(arrays: list[Array], axis: int, out: Array | None = None) -> Array:
    """np.concatenate(arrays, axis, out)."""
    if axis < 0 or sum(x.size for x in arrays) * ELEMENT_COST <= MAX_CHUNK_COST:
        return np.concatenate(arrays, axis, out)
    shape = list(arrays[0].shape)
    shape[axis] = sum(x.shape[axis] for x in arrays)
    out = np.empty(shape, np.result_type(*arrays)) if out is None else out
    begin = 0
    for x in arrays:
        end = begin + x.shape[axis]
        elementwise(copy_elements, x, out[(slice(None),) * axis + (slice(begin, end),)])
        begin = end
    return out


def _counted(x: Array, minlength: int = 0) -> Array:
    """np.bincount(x, minlength=minlength)."""
    length = max(minlength, int(reduce_all(np.maximum, x)) + 1 if x.size else 0)
    counts = np.zeros(length, np.intp)
    for part in chunks(x.size, x.size * ELEMENT_COST):
        counts += np.bincount(x[part], minlength=length)
    return counts


def _nonzero_places(x: Array) -> Array:
    """np.argwhere(x), whose size is counted first: it may have more bytes than there is memory."""
    cells = as_plain(_wrapped(x).reshape(-1))
    cost = x.size * ELEMENT_COST * (1 + x.ndim)
    counts = [int(np.count_nonzero(cells[part])) for part in chunks(x.size, cost)]
    shape = sum(counts), x.ndim
    refuse_bytes(8 * math.prod(shape), "the result needs", f"int64 {list(shape)}")
    out = np.empty(shape, np.int64)
    begin = 0
    for part, count in zip(chunks(x.size, cost), counts, strict=True):
        found = np.flatnonzero(cells[part]) + part.start
        out[begin : begin + count] = np.stack(np.unravel_index(found, x.shape), -1)
        begin += count
    return out


def _picked(x: Array, index: Any) -> Any:
    """x[index]."""
    if isinstance(index, np.ndarray) and index.dtype == bool and index.ndim:
        whole_rows = index.ndim == 1 and len(x) == 1
        if (
            x.size * ELEMENT_COST <= MAX_CHUNK_COST
            or index.shape != x.shape[: index.ndim]
            or whole_rows
        ):
            return x[index]
        parts = [row_or_rows(part, index) for part in chunks(len(x), x.size * ELEMENT_COST)]
        return _joined([_picked(x[part], index[part]) for part in parts], 0)
    places = _places(index)
    if places is None:
        return x[index]
    shape = places[0].shape + x.shape[len(places) :]
    cost = int(np.prod(shape, dtype=int)) * ELEMENT_COST
    if places[0].size == 1 or cost <= MAX_CHUNK_COST:
        return x[places]
    out = np.empty(shape, x.dtype)
    for part in chunks(len(out), cost):
        one = row_or_rows(part, places[0])
        out[one] = _picked(x, tuple(place[one] for place in places))
    return out


def _put(x: Array, index: Any, value: Any) -> None:
    """x[index] = value."""
    if _places(index) is not None:
        _at(operator.setitem, x, index, value)
    elif x.size * ELEMENT_COST <= MAX_CHUNK_COST or not np.may_share_memory(
        cells := np.asarray(x[index]), x
    ):
        x[index] = value
    else:
        elementwise(copy_elements, np.asarray(value), cells)


def _at(change: Callable[..., Any], x: Array, index: Any, value: Any) -> None:
    """Changes the elements or rows of `x` at these indices by values, in the order of the indices."""
    places = _places(index)
    shape = () if places is None else places[0].shape + x.shape[len(places) :]
    cost = int(np.prod(shape, dtype=int)) * ELEMENT_COST
    if places is None or places[0].size == 1 or cost <= MAX_CHUNK_COST:
        change(x, index, value)
        return
    values = np.broadcast_to(value, shape)
    for part in chunks(len(values), cost):
        one = row_or_rows(part, places[0])
        _at(change, x, tuple(place[one] for place in places), values[one])


def _places(index: Any) -> tuple[Array, ...] | None:
    """The integer arrays of an index, one for each of the first axes; None for other kinds of index."""
    parts = index if isinstance(index, tuple) else (index,)
    whole = all(isinstance(i, np.ndarray) and i.dtype.kind in "iu" for i in parts)
    if not whole or not parts or not any(i.ndim for i in parts):
        return None
    return tuple(np.broadcast_arrays(*parts)) if len(parts) > 1 else parts
