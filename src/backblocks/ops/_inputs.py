"""Conversion of inputs to NumPy arrays: lists, numbers, text, and arrays of other libraries by DLPack."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from backblocks.dtypes import BY_NAME, NAMES, DType, is_integer, limits, wider
from backblocks.errors import OpError, described
from backblocks.ops import _kernels
from backblocks.ops._chunks import Array as Array
from backblocks.ops._chunks import checked_items, contiguous_copy, reduce_all
from backblocks.ops._memory import SMALL, refuse_bytes
from backblocks.ops._spec import MAX_RANK, check_rank

_MOST_CELLS = 2**63 // max(dtype.itemsize for dtype in NAMES)
"""Most elements of an array whatever its dtype, as NumPy counts: without regard to sizes of 0."""
_LISTS = (list, tuple)
_NUMBERS = (bool, int, float, complex)
_CELLS = frozenset(dtype for dtype in NAMES if not dtype.hasobject)


def is_weak(value: Any) -> bool:
    """A Python number, or nested lists of them, has no dtype of its own and takes its neighbours'."""
    if isinstance(value, _LISTS):
        return _all_numbers(value, set(), 0)
    return type(value) in _NUMBERS


def _all_numbers(values: Any, seen: set[int], depth: int) -> bool:
    """Whether nested lists have only Python's numbers in them. A list that they hold twice is read once."""
    for each in values:
        if type(each) in _NUMBERS:
            continue
        if not isinstance(each, _LISTS) or depth == MAX_RANK:
            return False
        if id(each) not in seen:
            if not _all_numbers(each, seen, depth + 1):
                return False
            seen.add(id(each))
    return True


def _count(values: Any, counts: dict[int, int], depth: int = 1) -> int:
    """How many cells nested lists have, which may hold one list many times, or contain themselves."""
    if depth > MAX_RANK:
        check_rank(depth)
    total = 0
    for each in values:
        if isinstance(each, _LISTS):
            known = counts.get(id(each))
            total += _count(each, counts, depth + 1) if known is None else known
        else:
            total += 1
    counts[id(values)] = total
    return total


def _from_lists(values: Any, dtype: DType | None = None) -> Array:
    """np.asarray(values, dtype), in chunks of rows if they are many, so that Ctrl-C is not blocked."""
    cells = _count(values, {}) if isinstance(values, _LISTS) else 1
    if cells <= _AT_ONCE:
        return np.asarray(values, dtype)
    refuse_bytes(2 * 8 * cells, "an array of it needs", f"{cells:,} entries in lists")
    rows = max(_AT_ONCE * len(values) // cells, 1)
    parts = [values[i : i + rows] for i in range(0, len(values), rows)]
    return np.concatenate(
        [
            np.asarray(part, dtype) if len(part) > 1 else _from_lists(part[0], dtype)[None]
            for part in parts
        ]
    )


_AT_ONCE = 1 << 20
"""Entries of lists that NumPy reads at once: a tenth of a second."""


def as_array(value: Any, strings: bool = False) -> Array:
    """An array of one of our dtypes, sharing memory with `value` where that is possible.

    Text is refused unless `strings` are wanted.
    """
    if type(value) is np.ndarray and value.dtype in _CELLS and value.flags.aligned:
        if value.ndim > MAX_RANK or not 0 < value.nbytes <= SMALL:
            _check_size(value)
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise OpError(
            "must have a value in every cell",
            got=described("a masked array"),
            hint="Fill it first: x.filled(0).",
        )
    texts = strings and _has_text(value)
    array = _from_lists(value, BY_NAME["string"]) if texts else _read(value)
    _check_size(array)
    if strings and array.dtype.kind in "SUO":
        return _strings(value, array)
    if array.dtype.hasobject and array.dtype != BY_NAME["resource"]:
        raise _no_numbers(value, array)
    if array.dtype in NAMES:
        # Kernels read numbers where they stand.
        return array if array.flags.aligned else _copied(array, array.dtype)
    swapped = array.dtype.newbyteorder("=")
    if swapped in NAMES:  # a big-endian array, from a file say
        return _copied(array, swapped)
    if array.dtype.names and len(array.dtype.names) == 1:  # TensorFlow's quantized dtypes
        return as_array(array[array.dtype.names[0]])
    raise _no_numbers(value, array)


def _check_size(array: Array) -> None:
    """Refuses too many axes, sizes that other types could not have, and large views of few cells.

    Such a view shows cells many times, and more of them than memory can hold.
    """
    check_rank(array.ndim)
    if not array.size and math.prod(n for n in array.shape if n) >= _MOST_CELLS:
        raise OpError(
            "must have sizes that can be multiplied, even beside a 0",
            got=described(f"shape {list(array.shape)}"),
            hint="Use smaller sizes.",
        )
    if array.nbytes > SMALL:
        steps = zip(array.shape, array.strides, strict=True)
        extent = array.itemsize + sum((n - 1) * abs(step) for n, step in steps)
        if extent < array.nbytes:
            rule = "the cells of a view, if they were copied, need"
            refuse_bytes(array.nbytes, rule, f"{array.dtype} {list(array.shape)}")


def _copied(array: Array, dtype: DType) -> Array:
    refuse_bytes(array.nbytes, "a copy needs", f"{array.dtype} {list(array.shape)}")
    return contiguous_copy(array, dtype)


def _no_numbers(value: Any, array: Array) -> OpError:
    return OpError(
        "must be an array of numbers",
        got=described(f"{type(value).__name__} of dtype {array.dtype}"),
        hint="Use numbers only, in rows of one length.",
    )


def _has_text(value: Any, depth: int = 0) -> bool:
    """Text, or nested lists that begin with some: NumPy would cut zero bytes off its end."""
    if isinstance(value, list | tuple) and value and depth <= MAX_RANK:
        return _has_text(value[0], depth + 1)
    return isinstance(value, str | bytes)


def _strings(value: Any, array: Array) -> Array:
    """An array of bytes; text becomes UTF-8."""
    if array.dtype.kind == "O" and all(type(cell) is bytes for cell in checked_items(array.flat)):
        return array
    out = np.empty(array.shape, object)
    for i, cell in enumerate(checked_items(array.flat)):
        if not isinstance(cell, str | bytes):
            raise _no_numbers(value, array)
        out.flat[i] = as_utf8(cell) if isinstance(cell, str) else bytes(cell)
    return out


def as_utf8(text: str) -> bytes:
    """The bytes of a text; refused if it has half a character in it, which no bytes stand for."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        hint = 'Replace lone surrogates: x.encode("utf-8", "replace").'
        raise OpError("must be text that UTF-8 can write", got=text, hint=hint) from None


def _read(value: Any) -> Array:
    """Reads `value` by the first protocol that works; if none does, the error of the first is raised."""
    reason: Exception | None = None
    ways: list[Any] = [_from_lists if isinstance(value, _LISTS) else np.asarray]
    if not isinstance(value, np.ndarray | np.generic) and hasattr(type(value), "__dlpack__"):
        by_dlpack = [np.from_dlpack, _bfloat16_from_dlpack]
        ways = [np.asarray, *by_dlpack] if hasattr(type(value), "__array__") else by_dlpack
    for way in ways:
        try:
            return way(value)  # type: ignore[no-any-return]
        except OpError:
            raise
        except Exception as why:
            # Foreign array types fail in ways of their own; all of them mean the same to the caller.
            reason = reason or why
    words = " ".join(str(reason).split()).rstrip(".")
    raise OpError(
        "cannot be read as an array",
        got=described(type(value).__name__),
        hint=f"Make a NumPy array of it first; it says: {words}.",
    ) from reason


def _bfloat16_from_dlpack(value: Any) -> Array:
    return _kernels.bfloat16_bits(value).view(BY_NAME["bfloat16"])


def from_weak(value: Any, dtype: DType | None, allowed: Iterable[DType]) -> Array:
    """An array from Python numbers, in `dtype` if that is known, else in the first that suits.

    Numbers without a dtype become int32 or float32, as they do in TensorFlow.
    """
    array = as_array(value)
    if dtype is None:
        choices = {"b": ("bool",), "i": ("int32", "int64", "float32"), "f": ("float32",)}
        names = choices.get(array.dtype.kind, ("complex64",))
        names = names if array.size else ("float32", "int32")
        fitting = (d for d in map(BY_NAME.__getitem__, names) if d in allowed and _fits(array, d))
        dtype = next(fitting, None)
        return array if dtype is None else array.astype(dtype)
    if not _fits(array, dtype):
        raise OpError(f"must fit in {NAMES[dtype]}", got=value, hint=_what_fits(dtype))
    return array.astype(wider(array.dtype), copy=False).astype(dtype)


def as_constant(value: Any, dtype: DType | None = None) -> Array:
    """A copy that nobody can write to. Numbers without a dtype become `dtype`, or float32 or int32."""
    array = from_weak(value, dtype, NAMES) if is_weak(value) else as_array(value, True)
    if array.dtype == BY_NAME["resource"]:
        got, hint = described("a handle"), "Make the queue or reader inside the graph."
        raise OpError("must be a value that stays as it is", got=got, hint=hint)
    kept = array.astype(dtype or array.dtype, order="C")
    kept.flags.writeable = False
    return kept


def as_typed(value: Any, dtype: DType) -> Array:
    """`value` as an array; numbers without a dtype of their own become `dtype`."""
    return from_weak(value, dtype, (dtype,)) if is_weak(value) else as_array(value, dtype.hasobject)


def as_integers(array: Array, dtype: DType) -> Array:
    """An integer array of another width, as the width the op asks for."""
    if array.dtype.kind not in "iu" or dtype.kind not in "iu" or array.dtype == dtype:
        return array
    if not _fits(array, dtype):
        raise OpError(f"every entry must fit in {NAMES[dtype]}", got=array, hint=_what_fits(dtype))
    return _copied(array, dtype)


def _fits(array: Array, dtype: DType) -> bool:
    if array.dtype.kind == "c" and dtype.kind != "c":
        return False
    if array.size == 0 or (array.dtype.kind == "b" and not dtype.hasobject):
        return True
    if is_integer(dtype):
        low, high = _limits(dtype).min, _limits(dtype).max
        return (
            is_integer(array.dtype)
            and low <= int(reduce_all(np.minimum, array))
            and int(reduce_all(np.maximum, array)) <= high
        )
    if dtype.hasobject or dtype.kind == "b":
        return False
    with np.errstate(all="ignore"):
        new = array.astype(dtype)
        kept = (np.isfinite(new) == np.isfinite(array)) & (np.isnan(new) == np.isnan(array))
    return bool(kept.all())  # some float8 have NaN for infinity


_limits = functools.cache(limits)  # NumPy works them out again each time


def _what_fits(dtype: DType) -> str:
    if is_integer(dtype):
        return f"Use whole numbers from {_limits(dtype).min} to {_limits(dtype).max}."
    if dtype.kind == "O":
        return "Use text or bytes."
    if dtype.hasobject:
        return "Use a handle, as the block that holds the state gives it."
    return "Use True and False." if dtype.kind == "b" else "Use real numbers within its range."
