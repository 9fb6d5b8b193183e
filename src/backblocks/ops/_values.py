"""Inputs and outputs of a call: nested values, row-major layout, and arrays given as `out`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from backblocks.dtypes import DType
from backblocks.errors import OpMemoryError, described
from backblocks.ops import _memory
from backblocks.ops._chunks import contiguous_copy
from backblocks.ops._inputs import Array
from backblocks.ops._interruptible import owns_memory
from backblocks.ops._spec import Shape, Spec, shape_text

Value = Any
"""An array, a Spec or a symbol; a tuple of them for a list pin; None for one that was left out."""


def flat(values: Sequence[Value]) -> Iterator[Any]:
    """Every single value, with lists opened and those that were left out passed over."""
    for value in values:
        if isinstance(value, tuple):
            yield from value
        elif value is not None:
            yield value


def each_value(function: Callable[[Any], Any], values: Sequence[Value]) -> list[Value]:
    return [
        None if v is None else tuple(map(function, v)) if isinstance(v, tuple) else function(v)
        for v in values
    ]


def owned(result: Any, dtype: DType, others: Iterable[Value]) -> Array:
    """The result as an array in row-major order that is no part of another and none of `others`."""
    array: Array = result if type(result) is np.ndarray else np.asarray(result, dtype)
    if array.dtype == dtype and array.flags.c_contiguous and owns_memory(array):
        for other in others:
            if other is array:
                break
        else:
            return array
    return contiguous_copy(array, dtype)


def owned_each(
    results: Sequence[Any], specs: Sequence[Value], inputs: Sequence[Value]
) -> list[Value]:
    """The results as arrays that share no memory with an input or each other; lists as tuples."""
    others = list(flat(inputs))

    def own(result: Any, spec: Spec) -> Array:
        array = owned(result, spec.dtype, others)
        others.append(array)
        return array

    return [
        tuple(map(own, result, spec)) if isinstance(spec, tuple) else own(result, spec)
        for result, spec in zip(results, specs, strict=False)
    ]


def bytes_of(spec: Spec) -> int:
    return math.prod(spec.sizes) * spec.dtype.itemsize


def why_not_out(array: Any, spec: Spec, others: Sequence[Array]) -> str:
    """The rule that keeps an output from being computed into an array; empty if none does."""
    if type(array) not in (np.ndarray, np.memmap):  # a matrix, say, has ways of its own
        return "must be a NumPy array"
    if array.dtype != spec.dtype or not can_be(array.shape, spec.shape):
        return f"must be {spec}"
    if not array.flags.carray:
        return "must be in row-major order, aligned and writeable"
    if any(np.may_share_memory(array, other) for other in others):
        return "must share no memory with an input or another output"
    return ""


def is_row_major(array: Array) -> bool:
    """Whether an array is C-contiguous and aligned."""
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned):
        return False
    # NumPy counts a single cell as in order whatever its stride, and looks at the stride all the same.
    return array.size != 1 or all(step >= 0 for step in array.strides)


def as_row_major(array: Array) -> Array:
    """The array as a C-contiguous and aligned one: a copy if it is laid out otherwise.

    The order in which NumPy adds up, and for some functions the last bit, depends on strides.
    """
    if is_row_major(array):
        return array
    if array.nbytes > _memory.SMALL and not _memory.is_available(array.nbytes):
        raise MemoryError  # a broadcast view may have more cells than the machine
    return contiguous_copy(array, array.dtype)


def floats_as_row_major(array: Array) -> Array:
    """The same for floats; integers are exact in any order, and are left as they are."""
    return array if array.dtype.kind in _EXACT else as_row_major(array)


_EXACT = frozenset("biuO")


def can_be(shape: tuple[int, ...], known: Shape) -> bool:
    """Whether a tensor of which this much is known can have this shape."""
    return known is None or (
        len(shape) == len(known) and all(n in (None, m) for m, n in zip(shape, known, strict=True))
    )


def refuse_what_cannot_fit(arg: str, specs: Sequence[Spec]) -> None:
    total = 0
    for spec in specs:
        if spec.shape is None:
            continue
        count = math.prod(n for n in spec.shape if n is not None)
        if math.prod(n for n in spec.shape if n) >= 2**63 // spec.dtype.itemsize:
            raise OpMemoryError(
                "the result has more elements than can be counted",
                arg=arg,
                got=described(shape_text(spec.shape)),
                hint="Use smaller sizes.",
            )
        total += count * spec.dtype.itemsize
    if total > _memory.SMALL:
        _memory.refuse_bytes(total, "the result needs", ", ".join(map(str, specs)), arg)
