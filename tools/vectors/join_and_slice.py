"""Calls of the ops that concatenate, split, slice, pad, gather and tile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from vectors.data import ALL_BUT_RESOURCE, INDEX, Call, Source, is_float, sizes
from vectors.shapes import each_shape, either, tags


def concat(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table = [
        ([(1,), (2,)], 0),
        ([(2, 3), (1, 3), (2, 3)], 0),
        ([(2, 3), (2, 1)], 1),
        ([(2, 3), (2, 1)], -1),
        ([(2, 1, 3), (2, 2, 3), (2, 1, 3)], -2),
        ([(0, 3), (2, 3)], 0),
        ([(2, 0), (2, 0)], 1),
    ]
    for i, (shapes, axis) in enumerate(table):
        values = [source.whole(shape, dtype) for shape in shapes]
        name, at = ("axis", either(i, axis)) if op == "ConcatV2" else ("concat_dim", sizes(axis)[0])
        yield Call({"values": values, name: np.asarray(at)}, {}, tags(*shapes))
        yield Call({"values": values, name: np.reshape(at, 1)}, {}, tags(*shapes))


def concat_offset(op: str, dtype: str) -> Iterator[Call]:
    table = [
        (0, [[2], [3], [0]]),
        (0, [[2, 3], [1, 3]]),
        (1, [[2, 3], [2, 4], [2, 5]]),
        (-1, [[2, 3], [2, 4], [2, 5]]),
        (-3, [[1, 2, 3], [4, 2, 3]]),
    ]
    for axis, shapes in table:
        shape = [np.array(s, dtype) for s in shapes]
        yield Call({"concat_dim": np.array(axis, np.int32), "shape": shape}, {}, [])


def split(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[tuple[tuple[int, ...], int, list[int]]] = [
        ((4,), 0, [2, 2]),
        ((2, 6), 1, [2, 2, 2]),
        ((2, 6), -1, [3, 3]),
        ((4, 3, 2), 0, [1, 1, 1, 1]),
        ((2, 3), -2, [2]),
        ((0, 4), 1, [2, 2]),
        ((0, 4), 0, [0, 0]),
    ]
    if op == "SplitV":
        table += [((5, 2), 0, [2, -1]), ((2, 5), -1, [0, 3, 2]), ((3, 2), 0, [-1, 3])]
    for i, (shape, axis, lengths) in enumerate(table):
        inputs: dict[str, Any] = {"value": source.whole(shape, dtype), "axis": np.int32(axis)}
        if op == "SplitV":
            inputs["size_splits"] = np.array(lengths, ("int8", *INDEX)[i % 3])
            inputs["axis"] = inputs["axis"].reshape((1,) * (i % 3))
        yield Call(inputs, {"num_split": len(lengths)}, tags(shape))


def slice_(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[Any] = [
        ((), (), ()),
        ((5,), (1,), (3,)),
        ((5,), (5,), (0,)),
        ((5,), (2,), (-1,)),
        ((3, 4), (1, 0), (2, 4)),
        ((3, 4), (0, 1), (-1, 2)),
        ((2, 3, 4), (1, 1, 1), (1, 2, -1)),
        ((2, 1, 3, 2), (0, 0, 1, 0), (2, 1, 1, 2)),
        ((0, 3), (0, 1), (0, 2)),
    ]
    for i, (shape, begin, size) in enumerate(table):
        inputs = {"input": source.whole(shape, dtype)}
        yield Call(
            {**inputs, "begin": either(i, begin), "size": either(i, size)},
            {},
            tags(shape) or (["empty"] if 0 in size else []),
        )


# Shape, begin, end, strides, masks, the shape of the slice.
SLICES: list[tuple[Any, ...]] = [
    ((5,), (1,), (4,), (2,), {}, (2,)),
    ((5,), (-2,), (9,), (1,), {}, (2,)),
    ((5,), (-9,), (-1,), (1,), {}, (4,)),
    ((5,), (4,), (0,), (-1,), {}, (4,)),
    ((5,), (9,), (-9,), (-2,), {}, (3,)),
    ((5,), (-1,), (-1,), (-1,), {"end_mask": 1}, (5,)),
    ((5,), (2,), (2,), (-1,), {"begin_mask": 1}, (2,)),
    ((5,), (3,), (1,), (1,), {}, (0,)),
    ((5,), (-1,), (0,), (1,), {"shrink_axis_mask": 1}, ()),
    ((5,), (3,), (0,), (2,), {"shrink_axis_mask": 1}, ()),
    ((5,), (3,), (0,), (1,), {"shrink_axis_mask": 1, "begin_mask": 1}, ()),
    ((), (), (), (), {}, ()),
    ((), (0,), (0,), (1,), {"new_axis_mask": 1}, (1,)),
    ((3, 4), (1,), (3,), (1,), {}, (2, 4)),
    ((3, 4), (0, 1), (3, 4), (2, 2), {}, (2, 2)),
    ((3, 4), (1, 1), (2, 3), (1, 1), {"begin_mask": 1, "end_mask": 2}, (2, 3)),
    ((3, 4), (0, 1), (0, 2), (1, 1), {"ellipsis_mask": 1}, (3, 1)),
    ((3, 4), (0, 1, 0), (0, 2, 0), (1, 1, 1), {"ellipsis_mask": 1, "new_axis_mask": 4}, (3, 1, 1)),
    ((3, 4), (0, 1, 0), (0, 2, 0), (1, 1, 1), {"ellipsis_mask": 4, "new_axis_mask": 1}, (1, 2, 4)),
    ((3, 4), (0, 1), (0, 2), (0, 1), {"ellipsis_mask": 1}, (3, 1)),
    ((3, 4), (0, 1), (0, 2), (0, 1), {"new_axis_mask": 1}, (1, 1, 4)),
    ((3, 4), (0, 2), (0, 2), (1, 1), {"new_axis_mask": 1, "shrink_axis_mask": 3}, (1, 4)),
    ((3, 4), (0, 2), (0, 2), (1, 1), {"ellipsis_mask": 1, "shrink_axis_mask": 3}, (3,)),
    ((3, 4), (0, 0), (2, 3), (1, 1), {"ellipsis_mask": 1, "new_axis_mask": 1}, (3, 3)),
    ((3, 4), (2, -1), (0, 0), (1, 1), {"shrink_axis_mask": 3}, ()),
    (
        (2, 3, 4),
        (0, 0, 1),
        (0, 0, 3),
        (1, 1, 1),
        {"shrink_axis_mask": 1, "ellipsis_mask": 2},
        (3, 2),
    ),
    ((2, 3, 4), (-1, -1, 0), (-3, -9, 9), (-1, -2, 3), {}, (2, 2, 2)),
    ((0, 3), (0, 1), (0, 3), (1, 1), {}, (0, 2)),
    ((0, 3), (0, 1), (0, 3), (1, 1), {"begin_mask": 1, "end_mask": 1}, (0, 2)),
]


def strided_slice(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, (shape, begin, end, strides, masks, out) in enumerate(SLICES):
        types = INDEX if op == "StridedSliceGrad" else ("int16", *INDEX)
        index = types[i % len(types)]
        box = {
            "begin": np.array(begin, index),
            "end": np.array(end, index),
            "strides": np.array(strides, index),
        }
        if op == "StridedSliceGrad":
            inputs = {"shape": np.array(shape, index), **box, "dy": source.whole(out, dtype)}
        else:
            inputs = {"input": source.whole(shape, dtype), **box}
        yield Call(inputs, masks, tags(shape, out))


PADS: list[Any] = [
    ((), ()),
    ((3,), ((1, 2),)),
    ((3,), ((0, 0),)),
    ((2, 3), ((1, 0), (0, 2))),
    ((2, 1, 3), ((0, 1), (2, 2), (1, 0))),
    ((1, 2, 1, 2), ((1, 1), (0, 0), (0, 1), (1, 0))),
    ((0, 2), ((0, 0), (1, 0))),
    ((0, 2), ((1, 1), (0, 0))),
]


def pad(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, (shape, pads) in enumerate(PADS):
        inputs = {
            "input": source.whole(shape, dtype),
            "paddings": either(i, np.reshape(pads, (len(shape), 2)).astype(int)),
        }
        if op == "PadV2":
            inputs["constant_values"] = source.whole((), dtype)
        yield Call(inputs, {}, tags(shape))


def gather(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[Any] = [
        ((5,), (3,), 0, 0),
        ((5,), (), 0, 0),
        ((3, 4), (2, 2), 0, 0),
        ((3, 2), (0,), 0, 0),
        ((3, 0), (2,), 0, 0),
    ]
    if op == "GatherV2":
        table += [
            ((3, 4), (5,), 1, 0),
            ((3, 4), (2, 2), -1, 0),
            ((2, 3, 4), (2, 5), 1, 0),
            ((2, 3, 4), (2, 2), 1, 1),
            ((2, 3, 4), (2, 2), 2, 1),
            ((2, 3, 4), (2, 3, 2), 2, 2),
            ((2, 3, 4), (2, 3), 2, -1),
            ((2, 3), (2,), 1, 1),
            ((2, 3, 2), (2, 0), 1, 1),
        ]
    for i, (shape, index, axis, batch) in enumerate(table):
        where = source.rng.integers(0, shape[axis], index)
        inputs: dict[str, Any] = {"params": source.whole(shape, dtype)}
        if op == "Gather":
            yield Call({**inputs, "indices": either(i, where)}, {}, tags(shape, index))
        else:
            indices = where.astype(("int16", *INDEX)[i % 3])
            inputs |= {"indices": indices, "axis": either(i, axis)}
            yield Call(inputs, {"batch_dims": batch}, tags(shape, index))


def tile(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[Any] = [
        ((), ()),
        ((3,), (2,)),
        ((3,), (1,)),
        ((3,), (0,)),
        ((2, 3), (1, 3)),
        ((2, 3), (3, 1)),
        ((2, 1, 3), (2, 3, 2)),
        ((0, 2), (3, 2)),
    ]
    for i, (shape, times) in enumerate(table):
        inputs = {"input": source.whole(shape, dtype), "multiples": either(i, times)}
        yield Call(inputs, {}, tags(shape, times))


def fill(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, shape in enumerate([(), (3,), (2, 3), (0,), (2, 0, 3)]):
        inputs = {"dims": either(i, shape), "value": source.whole((), dtype)}
        yield Call(inputs, {}, tags(shape))
        yield Call({**inputs, "value": inputs["value"].reshape(1)}, {}, tags(shape))
    for dims in (sizes(3)[0], sizes(0)[0]):
        yield Call({"dims": np.array(dims), "value": source.whole((), dtype)}, {}, [])
    if is_float(dtype):
        value = source.sprinkled(source.real((), dtype), 1, np.nan)
        yield Call({"dims": sizes(2), "value": value}, {}, ["nan"])


def squeeze(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[Any] = [
        ((), []),
        ((3,), []),
        ((1, 3, 1), []),
        ((1, 3, 1), [0]),
        ((1, 3, 1), [-1]),
        ((1, 3, 1), [2, 0]),
        ((1, 1), []),
        ((1, 0, 1), [0]),
    ]
    for shape, axis in table:
        yield Call({"input": source.whole(shape, dtype)}, {"axis": axis}, tags(shape))


def shape_n(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shapes in ([()], [(3,), (2, 3)], [(0, 2), (1,), ()]):
        for out_type in INDEX:
            inputs = {"input": [source.whole(shape, dtype) for shape in shapes]}
            yield Call(inputs, {"out_type": out_type}, tags(*shapes))


TABLE = {
    "ConcatV2": (ALL_BUT_RESOURCE, concat),
    "Concat": (ALL_BUT_RESOURCE, concat),
    "ConcatOffset": (INDEX, concat_offset),
    "Split": (ALL_BUT_RESOURCE, split),
    "SplitV": (ALL_BUT_RESOURCE, split),
    "Slice": (ALL_BUT_RESOURCE, slice_),
    "StridedSlice": (ALL_BUT_RESOURCE, strided_slice),
    "StridedSliceGrad": (ALL_BUT_RESOURCE, strided_slice),
    "Pad": (ALL_BUT_RESOURCE, pad),
    "PadV2": (ALL_BUT_RESOURCE, pad),
    "GatherV2": (ALL_BUT_RESOURCE, gather),
    "Gather": (ALL_BUT_RESOURCE, gather),
    "Tile": (ALL_BUT_RESOURCE, tile),
    "Fill": (ALL_BUT_RESOURCE, fill),
    "Squeeze": (ALL_BUT_RESOURCE, squeeze),
    "Rank": (ALL_BUT_RESOURCE, each_shape("input")),
    "ShapeN": (ALL_BUT_RESOURCE, shape_n),
}
