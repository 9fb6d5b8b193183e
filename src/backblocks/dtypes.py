"""The element types of tensors: their names, the sets ops speak of, and how to read one."""

from __future__ import annotations

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
SMOOTH = (*FLOATS, *COMPLEX)
ALL = (*NUMBERS, "bool")

# TensorFlow tells a quantized integer from a plain one by its type. NumPy has no such types: here the
# op says that its integers are quantized, and the array is the plain integer of the same width.
QUANTIZED = {
    "qint8": "int8",
    "quint8": "uint8",
    "qint16": "int16",
    "quint16": "uint16",
    "qint32": "int32",
}

BY_NAME: dict[str, DType] = {name: np.dtype(name) for name in ALL if name != "bfloat16"}
BY_NAME["bfloat16"] = np.dtype(ml_dtypes.bfloat16)
BY_NAME["string"] = np.dtype(object)  # whose cells are Python bytes, as TensorFlow hands them over
# What a handle stands for, a queue say, is an object: no number, and no text either.
BY_NAME["resource"] = np.dtype([("resource", object)])
NAMES: dict[DType, str] = {dtype: name for name, dtype in BY_NAME.items()}

_TENSORFLOW_CODES = {
    "DT_FLOAT": "float32",
    "DT_DOUBLE": "float64",
    "DT_HALF": "float16",
} | {f"DT_{name.upper()}": name for name in (*ALL, *QUANTIZED, "string", "resource")}


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


def is_half(dtype: DType) -> bool:
    return dtype.itemsize == 2 and dtype.kind in "fV"


def is_float(dtype: DType) -> bool:
    return dtype.kind == "f" or dtype == BY_NAME["bfloat16"]


def is_smooth(dtype: DType) -> bool:
    """Whether its numbers can change a little, so that there are slopes."""
    return is_float(dtype) or dtype.kind == "c"


def lowest(dtype: DType) -> Any:
    """What every other value of the type is at least: where a maximum starts from."""
    return -np.inf if is_float(dtype) else np.iinfo(dtype).min


def highest(dtype: DType) -> Any:
    """What every other value of the type is at most: where a minimum starts from."""
    return np.inf if is_float(dtype) else np.iinfo(dtype).max


def lowest_finite(dtype: DType) -> Any:
    """The lowest of its numbers that is no infinity."""
    limits: Any = ml_dtypes.finfo if is_float(dtype) else np.iinfo
    return limits(dtype).min


def highest_finite(dtype: DType) -> Any:
    """The highest of its numbers that is no infinity."""
    limits: Any = ml_dtypes.finfo if is_float(dtype) else np.iinfo
    return limits(dtype).max
