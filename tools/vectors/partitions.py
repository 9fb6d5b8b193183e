"""Calls of the ops that partition slices dynamically and stitch them together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vectors.data import ALL_BUT_RESOURCE, Call, Source


def partition(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
        ((7,), (7,), 3),
        ((4, 2), (4,), 2),
        ((2, 3), (2, 3), 4),
        ((3,), (), 2),
        ((5,), (5,), 1),
        ((0, 2), (0,), 2),
        ((3, 0), (3,), 2),
    ]
    for shape, numbers, parts in table:
        tags = ["empty"] if 0 in shape else []
        x, where = source.whole(shape, dtype), source.rng.integers(0, parts, numbers)
        inputs = {"data": x, "partitions": np.asarray(where, np.int32)}
        yield Call(inputs, {"num_partitions": parts}, tags)
    for wrong in (-1, 2):
        inputs = {"data": source.whole((2,), dtype), "partitions": np.array([0, wrong], np.int32)}
        yield Call(inputs, {"num_partitions": 2}, ["empty"])


def stitch(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table = [
        ([[0, 2], [1, 3]], ()),
        ([[3, 1, 2, 0]], (2,)),
        ([0, [2, 1]], (3,)),
        ([[[0, 1], [2, 3]], 4], ()),
        ([[0, 1, 0], [1]], (2,)),
        ([[0, 0, 0]], ()),
        ([[1, 4]], (2,)),
        ([[]], (2,)),
        ([[0, 1], []], ()),
        ([[0, 1]], (0,)),
    ]
    for places, rest in table:
        indices = [np.array(each, np.int32) for each in places]
        values = [source.whole((*each.shape, *rest), dtype) for each in indices]
        empty = any(not value.size for value in values)
        yield Call({"indices": indices, "data": values}, {}, ["empty"] if empty else [])


TABLE = {
    "DynamicPartition": (ALL_BUT_RESOURCE, partition),
    "DynamicStitch": (ALL_BUT_RESOURCE, stitch),
}
