"""TensorFlow's own checkpoints, read without TensorFlow.

Both versions are tables of LevelDB (sorted keys with values, in blocks) whose values are messages of
protocol buffers. In version 1 the numbers are in the messages. In version 2, the bundle, the messages say
where the numbers lie in files beside the table.

Every length in a file is checked against the bytes that are there. Checksums are not.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np

from backblocks.dtypes import BY_NAME, DType
from backblocks.ops import _files
from backblocks.ops._inputs import Array
from backblocks.ops.io._safetensors import Broken, possible

MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
_FOOTER = 48
_LONGEST_KEY = 4096
"""Bytes of a key: each repeats what it shares with the one before, so that long ones multiply."""

# The numbers of TensorFlow's types in messages.
_TYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 11: "int8", 12: "uint8", 13: "int32", 14: "bfloat16",
    15: "int16", 16: "uint16", 17: "uint16", 18: "complex128", 19: "float16", 22: "uint32",
    23: "uint64",
}  # fmt: skip


# -- tables ---------------------------------------------------------------------------------------


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value & (2**64 - 1), at
    raise Broken("a number in it has no end")


def table(file: BinaryIO, size: int) -> dict[bytes, bytes]:
    """All keys and values of a table."""
    if size < _FOOTER:
        raise Broken("it is too short for a table")
    file.seek(size - _FOOTER)
    footer = file.read(_FOOTER)
    if footer[-8:] != MAGIC:
        raise Broken("it does not end as a table does")
    _, at = _handle(footer, 0)
    (where, _) = _handle(footer, at)
    found: dict[bytes, bytes] = {}
    total = 0
    for _, place in _entries(_block(file, size, *where)):
        block, _ = _handle(place, 0)
        total += block[1]
        if total > size:
            raise Broken("its blocks lie on top of each other")
        found.update(_entries(_block(file, size, *block)))
    return found


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    """Where a block lies, and how long it is."""
    start, at = _varint(data, at)
    length, at = _varint(data, at)
    return (start, length), at


def _block(file: BinaryIO, size: int, start: int, length: int) -> bytes:
    if start + length + 5 > size:
        raise Broken("a block lies outside it")
    file.seek(start)
    data = file.read(length + 1)
    if len(data) != length + 1:
        raise Broken("it became shorter while it was read")
    if data[-1]:
        raise Broken("its blocks are compressed, which checkpoints are not")
    return data[:-1]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values; a key has only what differs from the one before."""
    if len(block) < 4:
        raise Broken("a block is too short")
    end = len(block) - 4 - 4 * int.from_bytes(block[-4:], "little")
    if end < 0:
        raise Broken("a block is too short")
    key, at = b"", 0
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        if shared > len(key) or at + own + length > end:
            raise Broken("an entry does not fit in its block")
        key = key[:shared] + block[at : at + own]
        if len(key) > _LONGEST_KEY:
            raise Broken("a name in it is too long")
        yield key, block[at + own : at + own + length]
        at += own + length


# -- messages -------------------------------------------------------------------------------------


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The number of each field and its value: bytes, or a whole number."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire not in (1, 2, 5):
            raise Broken("a message in it has a field of no kind")
        length = {1: 8, 5: 4}.get(wire, 0)
        if wire == 2:
            length, at = _varint(message, at)
        if at + length > len(message):
            raise Broken("a message in it ends too early")
        yield number, message[at : at + length]
        at += length


def _message(message: Any) -> dict[int, list[Any]]:
    if not isinstance(message, bytes):
        raise Broken("a number stands in place of a message")
    found: dict[int, list[Any]] = {}
    for number, value in _fields(message):
        found.setdefault(number, []).append(value)
    return found


def _last(fields: dict[int, list[Any]], number: int, kind: type, default: Any) -> Any:
    value = fields.get(number, [default])[-1]
    if not isinstance(value, kind):
        raise Broken("a message in it has a field of the wrong kind")
    return value


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def _shape(message: bytes) -> tuple[int, ...]:
    sizes = []
    for size in _message(message).get(2, []):
        n = _signed(_last(_message(size), 1, int, 0))
        if n < 0:
            raise Broken("a tensor has a size that is not known")
        sizes.append(n)
    possible("a tensor", tuple(sizes), 16)
    return tuple(sizes)


def _dtype(code: int) -> DType:
    if code not in _TYPES:
        raise Broken(f"a tensor has type {code} of TensorFlow, which is not known here")
    return BY_NAME[_TYPES[code]]


# -- version 2 ------------------------------------------------------------------------------------


class Bundle:
    """Version 2: a table `prefix.index`, and files `prefix.data-00000-of-00001` with the numbers."""

    def __init__(self, prefix: bytes, file: BinaryIO, size: int) -> None:
        self._prefix = prefix
        entries = table(file, size)
        header = _message(entries.pop(b"", b""))
        self._shards = _last(header, 1, int, 0)
        if _last(header, 2, int, 0):
            raise Broken("its numbers have their most important byte first")
        self._entries = {key.decode(errors="replace"): value for key, value in entries.items()}

    def names(self) -> list[str]:
        return list(self._entries)

    def read(self, arg: str, name: str) -> Array:
        entry = _message(self._entries[name])
        if 7 in entry:
            raise Broken(f"{name!r} is kept in slices, which are not read here")
        dtype, shape = _dtype(_last(entry, 1, int, 0)), _shape(_last(entry, 2, bytes, b""))
        shard, start, length = (_last(entry, number, int, 0) for number in (3, 4, 5))
        if not dtype.hasobject and length != math.prod(shape) * dtype.itemsize:
            raise Broken(f"{name!r} has not as many bytes as its shape says")
        path = self._prefix + b".data-%05d-of-%05d" % (shard, self._shards)
        with _files.open_for_reading(arg, path) as file:
            if start + length > _files.size_of(file):
                raise Broken(f"{name!r} lies outside its file")
            file.seek(start)
            data = _files.read(arg, file, length)
        if dtype.hasobject:
            return _strings(data, shape)
        return np.frombuffer(data, dtype.newbyteorder("<")).reshape(shape).astype(dtype)


def _strings(data: bytes, shape: tuple[int, ...]) -> Array:
    """Text: the length of each, a checksum, then all letters."""
    count = math.prod(shape)
    if count > len(data):
        raise Broken("text is longer than its bytes")
    lengths, at = [], 0
    for _ in range(count):
        length, at = _varint(data, at)
        lengths.append(length)
    at += 4
    if at + sum(lengths) != len(data):
        raise Broken("text is not as long as it says")
    cells = np.empty(count, object)
    for i, length in enumerate(lengths):
        cells[i] = data[at : at + length]
        at += length
    return cells.reshape(shape)


# -- version 1 ------------------------------------------------------------------------------------


def _packed(layout: str) -> Callable[[list[Any]], list[Any]]:
    """Reads numbers of fixed width: each in a field of its own, or all of them in one."""

    def read(values: list[Any]) -> list[Any]:
        data = b"".join(v for v in values if isinstance(v, bytes))
        width = struct.calcsize(layout)
        if len(data) % width:
            raise Broken("a number is cut off")
        return list(np.frombuffer(data, f"<{layout}").tolist())

    return read


def _whole(values: list[Any]) -> list[Any]:
    found = []
    for value in values:
        if isinstance(value, int):
            found.append(_signed(value))
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            found.append(_signed(number))
    return found


def _pairs(read: Callable[[list[Any]], list[Any]]) -> Callable[[list[Any]], list[Any]]:
    def join(values: list[Any]) -> list[Any]:
        parts = read(values)
        if len(parts) % 2:
            raise Broken("a complex number is cut off")
        return [complex(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]

    return join


def _text(values: list[Any]) -> list[Any]:
    if not all(isinstance(value, bytes) for value in values):
        raise Broken("a number stands in place of a text")
    return values


# For each type, the field of a tensor's message that has its numbers, and how to read them.
_VALUES: dict[str, tuple[int, Callable[[list[Any]], list[Any]]]] = {
    "float32": (5, _packed("f")),
    "float64": (6, _packed("d")),
    "string": (8, _text),
    "complex64": (9, _pairs(_packed("f"))),
    "int64": (10, _whole),
    "bool": (11, _whole),
    "complex128": (12, _pairs(_packed("d"))),
    "float16": (13, _whole),
    "bfloat16": (13, _whole),
    "uint32": (16, _whole),
    "uint64": (17, _whole),
    **dict.fromkeys(("int32", "int16", "int8", "uint8", "uint16"), (7, _whole)),
}


class Slices:
    """Version 1: one table that has everything."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        entries = table(file, size)
        meta = _message(_last(_message(entries.pop(b"", b"")), 1, bytes, b""))
        self._tensors: dict[str, tuple[DType, tuple[int, ...]]] = {}
        for each in map(_message, meta.get(1, [])):
            name = _last(each, 1, bytes, b"").decode(errors="replace")
            shape = _shape(_last(each, 2, bytes, b""))
            self._tensors[name] = _dtype(_last(each, 3, int, 0)), shape
        self._data: dict[str, list[bytes]] = {}
        for entry in entries.values():
            data = _message(_last(_message(entry), 2, bytes, b""))
            name = _last(data, 1, bytes, b"").decode(errors="replace")
            self._data.setdefault(name, []).append(_last(data, 3, bytes, b""))

    def names(self) -> list[str]:
        return list(self._tensors)

    def read(self, arg: str, name: str) -> Array:
        dtype, shape = self._tensors[name]
        parts = self._data.get(name, [])
        if len(parts) != 1:
            raise Broken(f"{name!r} is kept in {len(parts)} slices, and only one can be read here")
        number, read = _VALUES[next(n for n, d in BY_NAME.items() if d == dtype)]
        values = read(_message(parts[0]).get(number, []))
        if len(values) != math.prod(shape):
            raise Broken(f"{name!r} has not as many numbers as its shape says")
        if dtype.hasobject:
            cells = np.empty(len(values), object)
            cells[:] = values
            return cells.reshape(shape)
        if number == 13:  # the bits of halves
            if not all(0 <= value < 2**16 for value in values):
                raise Broken(f"{name!r} has numbers that are no halves")
            return np.array(values, np.uint16).view(dtype).reshape(shape)
        return np.array(values).astype(dtype).reshape(shape)
