"""Tensors by name in one file, in the format safetensors (https://github.com/huggingface/safetensors).

The file is the length of a header (8 bytes, least first), the header (JSON), and the numbers of all tensors,
one after the other. Reading one tensor reads nothing else, and nothing in a file is ever run. The format has
no text and no complex numbers. We keep text as its lengths (int64) and letters (uint8), complex numbers as
pairs, and say so in the header's `__metadata__`; whoever does not know that reads plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from backblocks.dtypes import BY_NAME, DType
from backblocks.errors import OpError
from backblocks.ops import _files
from backblocks.ops._inputs import Array
from backblocks.ops._spec import check_shape

_CODES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
}
_OF_NAME = {name: code for code, name in _CODES.items()}
_PAIRS = {"complex64": "float32", "complex128": "float64"}
_KINDS = "backblocks"
"""The entry of the metadata that says what numbers stand for."""
_LONGEST_HEADER = 100_000_000  # as the reference reader has it


class Broken(Exception):
    """A file is not what it should be; the text says how."""


def write(file: BinaryIO, tensors: Mapping[str, Array]) -> None:
    import json  # only who reads or writes files pays for it

    kinds: dict[str, list[Any]] = {}
    stored = {name: _as_numbers(name, array, kinds) for name, array in tensors.items()}
    header: dict[str, Any] = {"__metadata__": {_KINDS: json.dumps(kinds)}} if kinds else {}
    end = 0
    for name, array in stored.items():
        start, end = end, end + array.nbytes
        code = _OF_NAME[_name(array.dtype)]
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers begin at a multiple of 8
    file.write(len(text).to_bytes(8, "little") + text)
    for array in stored.values():
        file.write(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())


def _name(dtype: DType) -> str:
    return next(name for name, known in BY_NAME.items() if known == dtype)


def _as_numbers(name: str, array: Array, kinds: dict[str, list[Any]]) -> Array:
    kind = _name(array.dtype)
    if kind == "string":
        kinds[name] = ["string", list(array.shape)]
        cells = list(array.flat)
        lengths = np.array([len(cell) for cell in cells], "<i8")
        return np.frombuffer(lengths.tobytes() + b"".join(cells), np.uint8)
    if kind in _PAIRS:
        kinds[name] = [kind, list(array.shape)]
        return np.ascontiguousarray(array).reshape(-1).view(_PAIRS[kind])
    return array


class Safetensors:
    """The tensors of an open file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        import json

        self._file = file
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise Broken("its header is longer than the file")
        try:
            text = file.read(length)
            header = json.loads(text, object_pairs_hook=_without_twins)
            if b"\\u" in text:
                json.dumps(header, ensure_ascii=False).encode()  # half a character is no name
            kinds = json.loads(_metadata(header).get(_KINDS, "{}"))
        except (ValueError, TypeError, RecursionError):
            raise Broken("its header is no JSON") from None
        if not isinstance(header, dict) or not isinstance(kinds, dict):
            raise Broken("its header is no table")
        self._start, self._room = 8 + length, size - 8 - length
        self._kinds = kinds
        self._places = {name: self._place(name, entry) for name, entry in header.items()
                        if name != "__metadata__"}  # fmt: skip

    def _place(self, name: str, entry: Any) -> tuple[DType, tuple[int, ...], int, int]:
        try:
            dtype = BY_NAME[_CODES[entry["dtype"]]]
            shape, (start, end) = tuple(entry["shape"]), entry["data_offsets"]
        except (KeyError, TypeError, ValueError):
            raise Broken(f"it does not say what {name!r} is") from None
        if not all(type(n) is int and n >= 0 for n in (start, end)):
            raise Broken(f"{name!r} has sizes that are no whole numbers from 0")
        possible(name, shape, dtype.itemsize)
        if not start <= end <= self._room or end - start != math.prod(shape) * dtype.itemsize:
            raise Broken(f"{name!r} does not lie in the file as its shape says")
        return dtype, shape, start, end

    def names(self) -> list[str]:
        return list(self._places)

    def read(self, arg: str, name: str) -> Array:
        dtype, shape, start, end = self._places[name]
        self._file.seek(self._start + start)
        data = _files.read(arg, self._file, end - start)
        if len(data) != end - start:
            raise Broken("it became shorter while it was read")
        array = np.frombuffer(data, dtype.newbyteorder("<")).reshape(shape).astype(dtype)
        return self._as_kind(name, array) if name in self._kinds else array

    def _as_kind(self, name: str, array: Array) -> Array:
        try:
            kind, shape = self._kinds[name]
            possible(name, shape, 16)
            if kind in _PAIRS:
                pairs: Array = array.reshape(-1).view(kind).reshape(shape)
                return pairs
            count = math.prod(shape)
            ends = np.cumsum(np.frombuffer(array, "<i8", count))
            letters = array[8 * count :].tobytes()
            if kind != "string" or array.ndim != 1 or (count and ends[-1] != len(letters)):
                raise ValueError(kind)
            cells = np.empty(count, object)
            starts = np.concatenate([[0], ends[:-1]]) if count else ends
            for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
                if not 0 <= start <= end:
                    raise ValueError(start)
                cells[i] = letters[start:end]
            return cells.reshape(shape)
        except (OverflowError, TypeError, ValueError):
            raise Broken(f"{name!r} is not what the header says it is") from None


def possible(name: str, shape: Any, itemsize: int) -> None:
    """Refuses a shape that no array has."""
    if type(shape) not in (list, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        raise Broken(f"{name!r} has sizes that are no whole numbers from 0")
    try:
        check_shape(shape, itemsize)
    except OpError as error:
        raise Broken(f"{name!r} {error.problem}") from None


def _metadata(header: Any) -> dict[str, Any]:
    found = header.get("__metadata__", {}) if isinstance(header, dict) else {}
    return found if isinstance(found, dict) else {}


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)
