"""Draws arrays: every element type that NumPy has, any shape, any memory layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import as_strided

from backblocks.dtypes import BY_NAME

Rng = np.random.Generator
Array = np.ndarray[Any, Any]

GUARD = 64
VIRTUAL = 2**26
"""Arrays of more elements are views of one: nobody may look at each of them."""

OURS = [dtype for dtype in BY_NAME.values() if not dtype.hasobject]
FOREIGN = [
    *(np.dtype(code) for code in (">f4", ">f8", ">i4", ">i8", ">u2", ">c8", ">f2")),
    *(np.dtype(code) for code in ("g", "G", "M8[s]", "m8[D]", "S5", "U3", "V3", "O")),
    np.dtype([("a", "f4"), ("b", "i8")]),
    np.dtype([("qint8", "i1")]),
    np.dtype([("pair", "f4", 2)]),
    np.dtypes.StringDType(),
    *(
        np.dtype(getattr(ml_dtypes, name))
        for name in ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn")
        + ("float6_e2m3fn", "int4", "uint4", "int2", "uint2")
        if hasattr(ml_dtypes, name)
    ),
]


# -- values ---------------------------------------------------------------------------------------

ODD = [np.nan, np.inf, -np.inf, -np.inf, -0.0, 0, 1, 1, 2, 2]
VALUES: dict[str, Callable[[Rng, Any, Any], Any]] = {
    "whole": lambda rng, shape, dtype: rng.integers(-3, 4, shape),
    "normal": lambda rng, shape, dtype: rng.standard_normal(shape),
    "tiny": lambda rng, shape, dtype: rng.standard_normal(shape) * 4 * info(dtype).tiny,
    "odd": lambda rng, shape, dtype: rng.choice(ODD, shape),
    "some odd": lambda rng, shape, dtype: np.where(
        rng.random(shape) < 0.01, rng.choice(ODD[:4]), rng.standard_normal(shape)
    ),
    "bottomless": lambda rng, shape, dtype: rng.choice([-np.inf, -np.inf, 1], shape),
}
"""Kinds of numbers for float arrays."""

TEXTS = [
    b"",
    b"a",
    b"0",
    b"-1.5",
    b"\0",
    b"\xff\xfe",
    "ü€😀".encode(),
    b"1,2,3",
    b"nan",
    b"a" * 300,
]


def info(dtype: Any) -> Any:
    return ml_dtypes.finfo(dtype)


def cells(rng: Rng, shape: tuple[int, ...], dtype: Any) -> Array:
    """An array of one of our element types, or of strings."""
    if dtype == BY_NAME["string"]:
        drawn = np.empty(int(np.prod(shape)), object)
        for i in range(drawn.size):
            drawn[i] = TEXTS[rng.integers(len(TEXTS))]
        return drawn.reshape(shape)
    kind = str(rng.choice(list(VALUES)))
    if dtype.kind in "iub":
        kind = "whole"
    with np.errstate(all="ignore"):
        return np.asarray(VALUES[kind](rng, shape, np.float32)).astype(dtype)


def extremes(dtype: Any) -> list[Any]:
    """Numbers at the ends of an element type, and those that often are indices or sizes."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        wanted = [0, 1, -1, limits.min, limits.max, limits.max - 1, 2**31 - 1, 2**31, 2**40, 2**62]
        return [n for n in wanted if limits.min <= n <= limits.max]
    if dtype.kind == "b":
        return [False, True]
    if dtype == BY_NAME["string"]:
        return TEXTS
    return [np.nan, np.inf, -np.inf, -0.0, 3e38, -3e38, 1e-45, 2**31, -1, 1e-300]


def cast(array: Array, dtype: Any) -> Array | None:
    """The array in another element type, where there is a way to it."""
    with np.errstate(all="ignore"):
        try:
            return array.astype(dtype)
        except Exception:  # NumPy and ml_dtypes tell in many ways that there is none
            return None


# -- shapes ---------------------------------------------------------------------------------------


def shape(rng: Rng, most_rank: int = 5) -> tuple[int, ...]:
    """Mostly small; now and then with a size of 0, or of many axes."""
    rank = int(rng.integers(6, 41)) if rng.random() < 0.05 else int(rng.integers(most_rank + 1))
    if rank > 5:
        return tuple(int(n) for n in rng.choice([1, 1, 1, 1, 1, 1, 2], rank))
    return tuple(int(n) for n in rng.choice([0, 1, 1, 2, 2, 3, 4, 7], rank))


def reshaped(rng: Rng, array: Array) -> Array:
    """The array with another shape, of up to 40 axes."""
    match int(rng.integers(7)):
        case 0:
            rank = int(rng.choice([*range(41), 31, 32, 32, 32, 33]))  # MAX_RANK and its neighbours
            added = max(0, rank - array.ndim)
            return array.reshape((1,) * added + array.shape)
        case 1 if array.ndim < 40:
            return array.reshape(array.shape + (1,))
        case 2 if array.ndim:
            return array[0] if len(array) else array.reshape(-1)
        case 3 if array.ndim:
            axis = int(rng.integers(array.ndim))
            return np.take(array, np.arange(int(rng.integers(0, array.shape[axis] + 1))), axis)
        case 4 if array.ndim:
            axis = int(rng.integers(array.ndim))
            return np.repeat(array, 2, axis) if array.size < 10_000 else array
        case 5:
            return array.reshape(-1)
    return np.empty((0, *array.shape[1:]), array.dtype)


def virtual(rng: Rng, dtype: Any) -> Array:
    """A view of one element with the shape of an array that no memory could hold."""
    shapes = [(2**40,), (2**20, 2**20), (1, 2**40), (2**40, 1), (2**13, 2**13, 2**14), (2**10,) * 4]
    shapes += [(0, 2**40), (2**40, 2, 2, 3), (1, 2**20, 2**20, 1), (1, 2**20, 2**20, 2, 1)]
    one = np.ones((), dtype) if not dtype.hasobject else np.array(b"a", object)
    return np.broadcast_to(one, shapes[rng.integers(len(shapes))])


def is_virtual(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.size > VIRTUAL


# -- memory layouts -------------------------------------------------------------------------------


def between(array: Array, before: int, spoiling: Any) -> Array:
    """The same inside of a longer array of other values, `before` of which precede it."""
    around = np.full(array.size + before + GUARD, spoiling, array.dtype)
    around[before : before + array.size] = array.ravel()
    return around[before : before + array.size].reshape(array.shape)


def _unaligned(rng: Rng, array: Array) -> Array:
    if array.dtype.hasobject or array.dtype.itemsize < 2:
        return array
    buffer = np.zeros(array.nbytes + 1, np.uint8)
    moved = buffer[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def _backwards(rng: Rng, array: Array) -> Array:
    if not array.ndim:
        return array
    axes = tuple(slice(None, None, -1 if rng.integers(2) else 1) for _ in array.shape)
    return np.ascontiguousarray(array[axes])[axes]


def _overlapping(rng: Rng, array: Array) -> Array:
    """Windows of one row, each a step of one element behind the last."""
    if array.ndim < 2 or array.size < 2:
        return array
    flat = np.ascontiguousarray(array).reshape(-1)
    return as_strided(flat, array.shape, (array.itemsize,) * array.ndim) if _fits(array) else array


def _fits(array: Array) -> bool:
    return sum(n - 1 for n in array.shape) < array.size


def _read_only(rng: Rng, array: Array) -> Array:
    view = array.copy()
    view.flags.writeable = False
    return view


LAYOUTS: dict[str, Callable[[Rng, Array], Array]] = {
    "backwards": _backwards,
    "columns first": lambda rng, x: x.copy(order="F"),
    "every other": lambda rng, x: np.repeat(x[..., None], 2, -1)[..., 0],
    "transposed": lambda rng, x: np.ascontiguousarray(x.T).T,
    "repeated by strides of 0": lambda rng, x: (
        np.broadcast_to(x[:1], x.shape) if x.ndim and len(x) else x
    ),
    "unaligned": _unaligned,
    "read-only": _read_only,
    "overlapping": _overlapping,
    "in a longer array": lambda rng, x: (
        between(x, int(rng.integers(1, GUARD)), x.reshape(-1)[0]) if x.size else x
    ),
}


class Subclass(np.ndarray):
    """An array of another class, whose shape is its own affair."""


SUBCLASSES: dict[str, Callable[[Array], Any]] = {
    "np.matrix": lambda x: x.view(np.matrix) if x.ndim == 2 else x.view(Subclass),
    "a subclass": lambda x: x.view(Subclass),
    "np.recarray": lambda x: x.view(np.recarray),
    "masked": lambda x: np.ma.masked_array(x, mask=False),
    "memmap": lambda x: x.view(np.memmap),
}


def plain(value: Any) -> Any:
    """Arrays, alone or in lists, as copies of their own in row-major order and the machine's byte order."""
    if isinstance(value, list | tuple) and any(isinstance(x, np.ndarray) for x in value):
        return type(value)(plain(x) for x in value)
    if type(value) not in (np.ndarray, Subclass) or is_virtual(value):
        return value
    native = value.dtype if value.dtype.isnative else value.dtype.newbyteorder("=")
    return np.array(value.view(np.ndarray), native, order="C")
