"""The element types of tensors: their names, the sets ops speak of, and how to read one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

DType = np.dtype[Any]

HALVES = ("bfloat16", "float16")
FLOATS = (*HALVES, "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = (*SIGNED, *UNSIGNED)
REALS = (*FLOATS, *INTS)
COMPLEX = ("complex64", "complex128")
NUMBERS = (*REALS, *COMPLEX)
DIFFERENTIABLE = (*FLOATS, *COMPLEX)
NUMBERS_AND_BOOL = (*NUMBERS, "bool")

# The small types of ml_dtypes: arrays hold them, a byte an element, and ops move them about.
FLOAT8 = ("float8_e5m2", "float8_e4m3fn")
FLOAT8_FNUZ = ("float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz")
INT4 = ("int4", "uint4")
INT2 = ("int2", "uint2")
SMALL = (*FLOAT8, *FLOAT8_FNUZ, *INT4, *INT2)

# What ops take that compute nothing. TensorFlow's CPU kernels draw the lines between them.
VALUES = (*NUMBERS_AND_BOOL, "string")  # ops that make, choose, compare or keep elements
FILLED = (*NUMBERS_AND_BOOL, *INT4, "string")  # ops that repeat one element
CONVERTED = (*NUMBERS_AND_BOOL, *SMALL)  # ops that convert one type to another
REARRANGED = (*NUMBERS_AND_BOOL, *FLOAT8, "string")  # ops that put elements in other places
SPLIT = (*NUMBERS_AND_BOOL, *FLOAT8, *INT4, "string")  # ops that cut tensors apart
ALL_BUT_RESOURCE = (*NUMBERS_AND_BOOL, *SMALL, "string")  # ops that forward tensors, or read shapes

# TensorFlow tells a quantized integer from a plain one by its type. NumPy has no such types: here the
# op says that its integers are quantized, and the array is the plain integer of the same width.
QUANTIZED = {
    "qint8": "int8",
    "quint8": "uint8",
    "qint16": "int16",
    "quint16": "uint16",
    "qint32": "int32",
}

FROM_ML_DTYPES = ("bfloat16", *SMALL)
"""The types that NumPy knows only when ml_dtypes is there."""

BY_NAME: dict[str, DType] = {
    name: np.dtype(name) for name in NUMBERS_AND_BOOL if name != "bfloat16"
}
BY_NAME |= {name: np.dtype(getattr(ml_dtypes, name)) for name in FROM_ML_DTYPES}
BY_NAME["string"] = np.dtype(object)  # whose cells are Python bytes, as TensorFlow hands them over
# What a handle stands for, a queue say, is an object: no number, and no text either.
BY_NAME["resource"] = np.dtype([("resource", object)])
NAMES: dict[DType, str] = {dtype: name for name, dtype in BY_NAME.items()}

_TENSORFLOW_CODES = {
    "DT_FLOAT": "float32",
    "DT_DOUBLE": "float64",
    "DT_HALF": "float16",
} | {f"DT_{name.upper()}": name for name in (*ALL_BUT_RESOURCE, *QUANTIZED, "resource")}


def as_dtype(value: Any) -> DType:
    """Reads a dtype given as a name (`"float32"`, `"quint8"`, `"DT_INT64"`), a type or a dtype object."""
    if isinstance(value, str):
        name = _TENSORFLOW_CODES.get(value, value)
        return BY_NAME[QUANTIZED.get(name, name)]
    if hasattr(type(value), "as_numpy_dtype") and isinstance(value.name, str):
        return as_dtype(value.name)  # TensorFlow's own dtype objects
    if not isinstance(value, np.dtype | type):
        # NumPy would take None for float64, and lists for records, however deep they are.
        raise TypeError(f"a {type(value).__name__} is no element type")
    dtype: DType = np.dtype(value)
    if dtype not in NAMES:
        raise KeyError(value)
    return dtype


def wide(dtype: DType) -> DType:
    """The type sums are kept in: half types lose too much, so theirs is float32."""
    return BY_NAME["float32"] if is_half(dtype) else dtype


def wider(dtype: DType) -> DType:
    """A type of NumPy's own that has all numbers of bfloat16 or a small type; other types as they are."""
    return _WIDER.get(dtype, dtype)


def is_half(dtype: DType) -> bool:
    return dtype.itemsize == 2 and dtype.kind in "fV"


def is_float(dtype: DType) -> bool:
    """Whether it has fractions; float8 too, which no op computes with."""
    return dtype.kind == "f" or dtype in _MORE_FLOATS


def is_integer(dtype: DType) -> bool:
    return dtype.kind in "iu" or dtype in _MORE_INTS


def is_differentiable(dtype: DType) -> bool:
    """Whether its numbers can change a little, so that there are slopes. As in TensorFlow float8 has none."""
    return dtype in _DIFFERENTIABLE


def limits(dtype: DType) -> Any:
    """`min`, `max` and what else NumPy tells of the numbers that a type has."""
    return (ml_dtypes.finfo if is_float(dtype) else ml_dtypes.iinfo)(dtype)


def zeros(shape: Sequence[int], dtype: DType) -> np.ndarray[Any, Any]:
    """An array of zeros, or of empty strings."""
    return np.full(shape, b"", object) if dtype.kind == "O" else np.zeros(shape, dtype)


_MORE_FLOATS = frozenset(BY_NAME[name] for name in ("bfloat16", *FLOAT8, *FLOAT8_FNUZ))
_MORE_INTS = frozenset(BY_NAME[name] for name in (*INT4, *INT2))
_WIDER = dict.fromkeys(_MORE_FLOATS, BY_NAME["float32"]) | dict.fromkeys(
    _MORE_INTS, BY_NAME["int8"]
)
_DIFFERENTIABLE = frozenset(BY_NAME[name] for name in DIFFERENTIABLE)


def lowest(dtype: DType) -> Any:
    """What every other value of the type is at least: where a maximum starts from."""
    return -np.inf if is_float(dtype) else np.iinfo(dtype).min


def highest(dtype: DType) -> Any:
    """What every other value of the type is at most: where a minimum starts from."""
    return np.inf if is_float(dtype) else np.iinfo(dtype).max


def lowest_finite(dtype: DType) -> Any:
    """The lowest of its numbers that is no infinity."""
    return limits(dtype).min


def highest_finite(dtype: DType) -> Any:
    """The highest of its numbers that is no infinity."""
    return limits(dtype).max
