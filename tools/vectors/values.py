"""Calls of the ops that give constants, pass values on, select among them or search them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from vectors.data import (
    ALL_BUT_RESOURCE,
    FLOATS,
    INDEX,
    NUMBERS,
    NUMBERS_AND_BOOL,
    Call,
    Source,
    is_float,
    numpy_dtype,
    scalar,
    zeros,
)
from vectors.shapes import Calls, each_shape, tags


def const(op: str, dtype: str) -> Iterator[Call]:
    values: list[Any] = [1, [0, 1, 1], [[1, 0], [0, 1]], []]
    for value in values:
        given = np.array(value, bool).tolist() if dtype == "bool" else value
        if dtype == "string":
            given = np.array(value, "U1").tolist()
        yield Call({}, {"value": given, "dtype": dtype}, [] if value else ["empty"])


def placeholder(op: str, dtype: str) -> Iterator[Call]:
    yield Call({}, {"dtype": dtype, "shape": [2]}, [])


def with_shape(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[Any] = [((), []), ((3,), [3]), ((2, 3), [2, -1]), ((0, 2), [-1, -1])]
    for shape, known in table:
        yield Call({"input": source.whole(shape, dtype)}, {"shape": known}, tags(shape))


def check_numerics(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in ((), (5,), (2, 3), (0, 2)):
        yield Call({"tensor": source.real(shape, dtype)}, {"message": "a message"}, tags(shape))
    for tag, value in (("nan", np.nan), ("inf", -np.inf)):
        x = source.sprinkled(source.real((2, 3), dtype), 0.3, value)
        yield Call({"tensor": x}, {"message": ""}, [tag])


def bitcast(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for other in NUMBERS:
        have, want = numpy_dtype(dtype).itemsize, numpy_dtype(other).itemsize
        last = (want // have,) if want > have else ()
        for shape in ((), (3,), (2, 0)):
            x = source.whole((*shape, *last), dtype)
            yield Call({"input": x}, {"type": other}, tags(shape))


def where(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in ((1,), (7,), (3, 4), (2, 1, 5), (1, 2, 3, 2), (0,), (2, 0)):
        x = source.whole(shape, dtype, -1, 1)
        yield Call({"condition": x}, {}, tags(shape))
    yield Call({"condition": zeros((2, 3), dtype)}, {}, ["nothing"])
    if is_float(dtype):
        x = source.sprinkled(np.zeros(9, numpy_dtype(dtype)), 0.5, np.nan, np.inf, -0.0)
        yield Call({"condition": x}, {}, ["nan", "inf"])


def unique(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for n in (0, 1, 2, 20):
        for out_idx in INDEX:
            x = source.whole((n,), dtype)
            yield Call({"x": x}, {"out_idx": out_idx}, tags((n,)))
    if is_float(dtype):
        for tag, special in (("nan", [np.nan, np.inf]), ("negative zero", [0.0, -0.0])):
            x = source.sprinkled(source.distinct((20,), dtype), 0.5, *special)
            yield Call({"x": x}, {}, [tag])


def list_diff(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for m, n in ((0, 2), (5, 0), (7, 3), (20, 5)):
        inputs = {"x": source.whole((m,), dtype), "y": source.whole((n,), dtype)}
        yield Call(inputs, {"out_idx": INDEX[m % 2]}, tags((m,)))
    if is_float(dtype):
        table = (("nan", [np.nan, 0], [np.nan]), ("negative zero", [0.0, 1], [-0.0]))
        for tag, *rows in table:
            x, y = (np.array(row, numpy_dtype(dtype)) for row in rows)
            yield Call({"x": x, "y": y}, {}, [tag])


def one_hot(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[Any] = [((), -1), ((5,), -1), ((5,), 0), ((5,), 1), ((2, 3), 1), ((0, 2), -1)]
    for i, (shape, axis) in enumerate(table):
        index = ("uint8", "int8", "int32", "int64")[i % 4]
        inputs = {
            "indices": source.whole(shape, index, -2, 5),
            "depth": np.array(0 if i == 5 else 4, np.int32),
            "on_value": scalar(1, dtype),
            "off_value": scalar(0, dtype),
        }
        yield Call(inputs, {"axis": axis}, tags(shape))


def select(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[Any] = [
        ((), ()),
        ((), (2, 3)),
        ((4,), (4,)),
        ((2,), (2, 3)),
        ((2, 3), (2, 3)),
        ((2,), (2, 3, 1)),
        ((0,), (0, 2)),
    ]
    for condition, shape in table:
        inputs = {
            "condition": source.whole(condition, "bool"),
            "x": source.whole(shape, dtype),
            "y": source.whole(shape, dtype),
        }
        yield Call(inputs, {}, tags(shape))


def unravel_index(op: str, dtype: str) -> Iterator[Call]:
    table: list[Any] = [
        (5, [2, 3], []),
        ([5, 0, 3], [2, 3], []),
        ([23, 7], [2, 3, 4], []),
        ([0, 6], [7], []),
        ([0], [], []),
        ([], [2, 3], ["empty"]),
        ([-1, 2], [2, 3], ["negative"]),
    ]
    for indices, dims, notes in table:
        inputs = {"indices": np.array(indices, dtype), "dims": np.array(dims, dtype)}
        yield Call(inputs, {}, notes)


def decode_raw(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape, count in (((), 3), ((2,), 2), ((2, 3), 1), ((2,), 0), ((0,), 2)):
        numbers = source.whole((*shape, count), dtype)
        rows = [row.tobytes() for row in numbers.reshape(-1, count)] if numbers.size else []
        rows = rows or [b""] * int(np.prod(shape))
        for little_endian in (True, False):
            strings = np.array(rows, object).reshape(shape)
            attrs = {"out_type": dtype, "little_endian": little_endian}
            yield Call({"bytes": strings}, attrs, tags((*shape, count)))


handed_on: Calls = each_shape("input")
# TensorFlow has no words for constants of the others, though its kernel would take them.
CONSTANT = tuple(name for name in ALL_BUT_RESOURCE if not name.endswith("fnuz"))
RAW = tuple(name for name in NUMBERS_AND_BOOL if name not in ("uint32", "uint64"))
TABLE = {
    "Const": (CONSTANT, const),
    "Placeholder": (ALL_BUT_RESOURCE, placeholder),
    "PlaceholderWithDefault": (ALL_BUT_RESOURCE, with_shape),
    "EnsureShape": (ALL_BUT_RESOURCE, with_shape),
    "StopGradient": (ALL_BUT_RESOURCE, handed_on),
    "PreventGradient": (ALL_BUT_RESOURCE, handed_on),
    "CheckNumerics": (FLOATS, check_numerics),
    "Bitcast": (NUMBERS, bitcast),
    "Where": (ALL_BUT_RESOURCE, where),
    "Unique": (ALL_BUT_RESOURCE, unique),
    "UniqueWithCounts": (ALL_BUT_RESOURCE, unique),
    "ListDiff": (ALL_BUT_RESOURCE, list_diff),
    "OneHot": (ALL_BUT_RESOURCE, one_hot),
    "Select": (ALL_BUT_RESOURCE, select),
    "DecodeRaw": (RAW, decode_raw),
    "UnravelIndex": (INDEX, unravel_index),
}
