"""npy files: arrays written and read, the header checked before memory is allocated.

The types of ml_dtypes have no name in an npy header. They are stored as void bytes, as np.save does.
"""

from __future__ import annotations

import math
import os
from typing import Any, BinaryIO

import numpy as np

from backblocks.dtypes import BY_NAME, FROM_ML_DTYPES, NAMES, DType
from backblocks.errors import OpError, OpMemoryError, described
from backblocks.ops import _memory
from backblocks.ops._inputs import Array
from backblocks.ops._spec import check_shape

_STORED_AS: dict[DType, DType] = {
    BY_NAME[name]: np.dtype(f"V{BY_NAME[name].itemsize}") for name in FROM_ML_DTYPES
}
"""The void dtype that stands in the file for each type of ml_dtypes; np.load(f).view(dtype) reads it."""
_STORED_AS_BITS: dict[DType, DType] = {
    dtype: np.dtype(f"u{dtype.itemsize}") for dtype in _STORED_AS
}
"""The unsigned integers of the same size, which are read as the bits of those types too."""


def read_header(file: BinaryIO, name: str) -> tuple[tuple[int, ...], bool, DType]:
    """Shape, whether in Fortran order, and dtype, from the header of an npy file."""
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        found: tuple[tuple[int, ...], bool, DType] = read(file)
    except Exception:  # NumPy tells of a bad header in many ways
        hint = "Write it with np.save."
        raise OpError("must be a file of one array", got=name, hint=hint) from None
    return found


def checked_header(
    file: BinaryIO, name: str, dtype: DType, shape: tuple[int, ...] | None
) -> tuple[tuple[int, ...], bool, DType]:
    """As read_header, once dtype, shape and file size are checked against what the caller expects."""
    found, fortran_order, stored = read_header(file, name)
    known = (_STORED_AS.get(dtype, dtype), _STORED_AS_BITS.get(dtype, dtype))
    if stored not in known or shape not in (None, found):
        raise OpError(
            f"must hold {NAMES[dtype]}{'' if shape is None else f' {list(shape)}'}",
            got=described(f"{stored} {list(found)} in {name}"),
            hint="Correct the page, or write the array again.",
        )
    check_shape(found, stored.itemsize)
    size = math.prod(found) * stored.itemsize
    if size != os.fstat(file.fileno()).st_size - file.tell():
        hint = "It was cut off, or something else was written to it."
        raise OpError("must be a whole file of one array", got=name, hint=hint)
    return found, fortran_order, stored


def read_array(file: BinaryIO, name: str, dtype: DType, shape: tuple[int, ...] | None) -> Array:
    """The array in an npy file, read-only, with its header checked."""
    found, fortran_order, stored = checked_header(file, name, dtype, shape)
    if not _memory.is_available(math.prod(found) * stored.itemsize):
        hint = "Use smaller arrays."
        raise OpMemoryError("needs more memory than there is", got=name, hint=hint)
    array = np.fromfile(file, stored, math.prod(found))
    array.dtype = dtype  # type: ignore[misc]
    if fortran_order:
        array = np.array(array.reshape(found, order="F"), order="C")
    array.shape = found
    array.flags.writeable = False  # constants that name the same file share it
    return array


def write_array(file: Any, array: Array) -> None:
    """Writes an array in npy format, which holds numbers and no code."""
    plain = np.ascontiguousarray(array).reshape(array.shape)
    dtype: DType = array.dtype
    stored = _STORED_AS.get(dtype, dtype)
    np.lib.format.write_array(file, plain.view(stored), (1, 0), False)


def logical_dtype(stored: DType) -> DType:
    """The ml_dtypes type that is stored as this one, if only one is; else the stored dtype itself."""
    found = [dtype for dtype, other in _STORED_AS.items() if other == stored]
    return found[0] if len(found) == 1 else stored
