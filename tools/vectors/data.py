"""Calls to record, and the numbers that fill their tensors."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

HALVES = ("bfloat16", "float16")
FLOATS = ("float32", "float64", *HALVES)
INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
REALS = (*FLOATS, *INTS)
COMPLEX = ("complex64", "complex128")
NUMBERS = (*REALS, *COMPLEX)
NUMBERS_AND_BOOL = (*NUMBERS, "bool")
FLOAT8 = (
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e4m3b11fnuz",
    "float8_e5m2fnuz",
)
FEW_BITS = ("int4", "uint4", "int2", "uint2")
SMALL = (*FLOAT8, *FEW_BITS)
ALL_BUT_RESOURCE = (*NUMBERS_AND_BOOL, *SMALL, "string")
INDEX = ("int32", "int64")
QUANTIZED = {
    "quint8": "uint8",
    "qint8": "int8",
    "qint32": "int32",
    "qint16": "int16",
    "quint16": "uint16",
}


class Codes(NamedTuple):
    """An array of plain integers that TensorFlow is to take as one of its quantized types."""

    array: Array
    dtype: str


@dataclass
class Call:
    """One call of an op. A tensor input is an array, Codes, or a list of arrays."""

    inputs: dict[str, Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    tags: Sequence[str] = ()
    unwritten: Sequence[int] = ()
    """The outputs that TensorFlow is known to leave uninitialised. Others are noticed, mostly."""


def numpy_dtype(name: str) -> np.dtype[Any]:
    name = QUANTIZED.get(name, name)
    if name == "string":
        return np.dtype(object)
    return np.dtype(getattr(ml_dtypes, name) if name in ("bfloat16", *SMALL) else name)


class Source:
    """Numbers that are the same in every run for the same words."""

    def __init__(self, *words: str) -> None:
        self.rng = np.random.default_rng(zlib.crc32(" ".join(words).encode()))

    def whole(self, shape: Sequence[int], dtype: str, low: int = -4, high: int = 4) -> Array:
        """Small whole numbers: sums of them are exact, and many are equal. Strings are their digits."""
        if dtype.startswith("u"):
            low, high = 0, high - low
        if dtype in FEW_BITS:
            limits = ml_dtypes.iinfo(numpy_dtype(dtype))
            low, high = max(low, limits.min), min(high, limits.max)
        x = self.rng.integers(low, high + 1, shape)
        if dtype.startswith("complex"):
            x = x + 1j * self.rng.integers(low, high + 1, shape)
        if dtype == "string":
            return text(x)
        return np.asarray(x % 2 == 1 if dtype == "bool" else x).astype(numpy_dtype(dtype))

    def real(self, shape: Sequence[int], dtype: str) -> Array:
        """Numbers with all their digits."""
        x = self.rng.standard_normal(shape) * 2
        if dtype.startswith("complex"):
            x = x + 1j * self.rng.standard_normal(shape)
        return np.asarray(x).astype(numpy_dtype(dtype))

    def distinct(self, shape: Sequence[int], dtype: str) -> Array:
        """Numbers of which no two are equal or near, in the order of a lottery.

        They are exact in bfloat16 as long as there are no more than 1792.
        """
        i = self.rng.permutation(int(np.prod(shape, dtype=int)))
        octave, step = np.divmod(i // 2, 128)
        x = np.where(i % 2, -1.0, 1.0) * 2.0**octave * (1 + step / 128)
        return x.reshape(shape).astype(numpy_dtype(dtype))

    def sprinkled(self, x: Array, share: float, *values: float) -> Array:
        """`x` with this share of its cells replaced by the values, and at least one."""
        x = x.copy()
        if x.size:
            hit = self.rng.random(x.shape) < share
            hit.flat[self.rng.integers(x.size)] = True
            x[hit] = self.rng.choice(np.array(values), int(hit.sum())).astype(x.dtype)
        return x

    def shuffled(self, values: Sequence[Any]) -> list[Any]:
        return [values[i] for i in self.rng.permutation(len(values))]


def text(numbers: Array) -> Array:
    """The digits of whole numbers, with a zero byte at the end of some; 0 is the empty string."""
    out = np.empty(np.shape(numbers), object)
    for at, number in np.ndenumerate(numbers):
        out[at] = f"{number}".encode() + b"\0" * int(number % 3 == 1) if number else b""
    return out


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def is_half(dtype: str) -> bool:
    return dtype in HALVES


def ones(shape: Sequence[int], dtype: str) -> Array:
    return np.ones(shape, numpy_dtype(dtype))


def zeros(shape: Sequence[int], dtype: str) -> Array:
    return text(np.zeros(shape, int)) if dtype == "string" else np.zeros(shape, numpy_dtype(dtype))


def sizes(*values: int) -> Array:
    return np.array(values, np.int32)


def scalar(value: float, dtype: str = "float32") -> Array:
    return text(np.array(value)) if dtype == "string" else np.array(value, numpy_dtype(dtype))
