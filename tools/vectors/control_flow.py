"""Calls of the ops of control flow and of logging. Most of them have no output to record."""

from __future__ import annotations

from collections.abc import Iterator

from vectors.data import ALL_BUT_RESOURCE, Call, Source
from vectors.state import none


def merge(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shapes in (((2, 3),), ((3,), (3,)), ((), (2,), (0, 1)), ((0, 2), (2,))):
        tags = ["empty"] if 0 in shapes[0] else []
        yield Call({"inputs": [source.whole(shape, dtype) for shape in shapes]}, {}, tags)


def print_(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in ((), (2, 3), (0,)):
        inputs = {"input": source.whole(shape, dtype), "data": [source.whole((5,), "int32")]}
        yield Call(inputs, {"first_n": 0}, ["empty"] if 0 in shape else [])


TABLE = {
    "Merge": (ALL_BUT_RESOURCE, merge),
    "Print": (ALL_BUT_RESOURCE, print_),
    **dict.fromkeys(("Switch", "NoOp", "ControlTrigger", "Assert", "PrintV2"), ((), none)),
}
