"""Calls of the ops that read or change shapes, transpose, broadcast, pack, gather and scatter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from vectors.data import (
    ALL_BUT_RESOURCE,
    COMPLEX,
    INDEX,
    NUMBERS,
    REALS,
    Array,
    Call,
    Source,
    is_float,
    is_half,
    numpy_dtype,
    ones,
    scalar,
    sizes,
)

Calls = Callable[[str, str], Iterator[Call]]
SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (5,), (2, 3), (3, 1, 2), (0,), (2, 0, 3))


def tags(*shapes: tuple[int, ...]) -> list[str]:
    return ["empty"] if any(0 in shape for shape in shapes) else []


def each_shape(arg: str, *attrs: dict[str, Any]) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for shape in SHAPES:
            for each in attrs or ({},):
                yield Call({arg: source.whole(shape, dtype)}, each, tags(shape))
        if is_float(dtype):
            x = source.sprinkled(source.real((9,), dtype), 0.5, np.nan, np.inf, -0.0)
            yield Call({arg: x}, {}, ["nan", "inf"])

    return calls


def either(i: int, values: Any) -> Array:
    """Indices, in turn of either type."""
    return np.array(values, INDEX[i % 2])


def reshape(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[tuple[tuple[int, ...], Any]] = [
        ((6,), (2, 3)),
        ((2, 3), 6),
        ((2, 3), -1),
        ((2, 3), (-1,)),
        ((2, 3), (3, -1, 1)),
        ((), (1, 1)),
        ((1,), ()),
        ((0, 3), (3, 0)),
        ((0, 2), (-1, 2)),
    ]
    # Beside a size of 0, -1 is what the other sizes leave over, rounded down.
    table += [
        ((0, 6), (0, -1, 3)),
        ((2, 0), (-1, 0)),
        ((0,), (-1, 0)),
        ((0, 3), (-1, 0, 2)),
        ((4, 0), (0, 5, -1)),
        ((0, 5), (2, -1)),
        ((3, 0, 2), (-1, 0, 0)),
        ((0, 0), (0, -1)),
    ]
    for i, (a, b) in enumerate(table):
        yield Call({"tensor": source.whole(a, dtype), "shape": either(i, b)}, {}, tags(a))


def expand_dims(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, (shape, axis) in enumerate(
        [
            ((), 0),
            ((), -1),
            ((3,), [0]),
            ((3,), [[-1]]),
            ((3,), 0),
            ((3,), 1),
            ((3,), -2),
            ((2, 3), 1),
            ((2, 0), -1),
        ]
    ):
        yield Call({"input": source.whole(shape, dtype), "axis": either(i, axis)}, {}, tags(shape))


def broadcast_to(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table = [
        ((), (3,)),
        ((), ()),
        ((1,), (4,)),
        ((3,), (2, 3)),
        ((2, 1), (2, 3)),
        ((1, 3, 1), (2, 2, 3, 5)),
        ((1,), (0,)),
        ((0, 1), (0, 2)),
    ]
    for i, (a, b) in enumerate(table):
        yield Call({"input": source.whole(a, dtype), "shape": either(i, b)}, {}, tags(a, b))


def broadcast_gradient_args(op: str, dtype: str) -> Iterator[Call]:
    table = [
        ([], []),
        ([], [3]),
        ([3], [3]),
        ([1], [3]),
        ([1], [1]),
        ([2, 3], [3]),
        ([2, 1], [2, 3]),
        ([2, 1, 5], [3, 1]),
    ]
    table += [
        ([1, 1], [1]),
        ([1, 3], [2, 1]),
        ([2, 1, 3], [2, 1, 3]),
        ([4, 1, 1], [1, 1, 3]),
        ([0], [1]),
        ([0, 3], [3]),
        ([1, 1, 2], [2]),
        ([2, 1, 1], [1, 1]),
    ]
    for a, b in table:
        for s0, s1 in ((a, b), (b, a)):
            yield Call({"s0": np.array(s0, dtype), "s1": np.array(s1, dtype)}, {}, [])


def transpose(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table = [
        ((), ()),
        ((3,), (0,)),
        ((2, 3), (1, 0)),
        ((2, 3), (0, 1)),
        ((2, 3, 5), (2, 0, 1)),
        ((1, 2, 3, 2), (0, 3, 1, 2)),
        ((2, 1, 3, 1, 2), (4, 2, 0, 1, 3)),
        ((2, 3), (-1, -2)),
        ((2, 3, 5), (-1, 0, -2)),
        ((0, 3), (1, 0)),
    ]
    for i, (shape, order) in enumerate(table):
        yield Call({"x": source.whole(shape, dtype), "perm": either(i, order)}, {}, tags(shape))


def invert_permutation(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for count in (0, 1, 2, 3, 7):
        yield Call(
            {"x": source.rng.permutation(count).astype(dtype)}, {}, ["empty"] if not count else []
        )


def pack(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape, axes in (
        ((), (0, -1)),
        ((3,), (0, 1, -1)),
        ((2, 3), (0, 1, 2, -2)),
        ((0, 2), (0, 1)),
    ):
        for axis in axes:
            values = [source.whole(shape, dtype) for _ in range(1 + len(shape))]
            yield Call({"values": values}, {"axis": axis}, tags(shape))


def unpack(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape, axes in (
        ((3,), (0, -1)),
        ((2, 3), (0, 1, -2)),
        ((2, 1, 3), (0, 1, 2)),
        ((2, 0), (0, 1)),
    ):
        for axis in axes:
            x = source.whole(shape, dtype)
            yield Call({"value": x}, {"num": shape[axis], "axis": axis}, tags(shape))


MIRRORS = (
    ((3,), ((1, 2),)),
    ((2, 3), ((1, 0), (1, 2))),
    ((3, 1, 2), ((2, 1), (0, 0), (1, 1))),
    ((5, 2), ((0, 0), (0, 0))),
)


def mirror_pad(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, (shape, pads) in enumerate(MIRRORS):
        for mode in ("REFLECT", "SYMMETRIC"):
            padded = tuple(n + sum(p) for n, p in zip(shape, pads, strict=True))
            x = source.whole(padded if op == "MirrorPadGrad" else shape, dtype)
            yield Call({"input": x, "paddings": either(i, pads)}, {"mode": mode}, [])
    for mode in ("REFLECT", "SYMMETRIC"):
        x = source.whole((0, 2), dtype)
        paddings = sizes(0, 0, 0, 0).reshape(2, 2)
        yield Call({"input": x, "paddings": paddings}, {"mode": mode}, ["empty"])


def gather_nd(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table = [
        ((5,), (3, 1)),
        ((3, 4), (2, 2)),
        ((3, 4), (2, 1)),
        ((2, 3, 2), (2, 2, 2)),
        ((2, 3, 2), (4, 3)),
        ((3,), (1,)),
        ((2, 3), (2, 0)),
        ((3,), (0, 1)),
    ]
    for i, (shape, index) in enumerate(table):
        where = (
            np.stack(
                [source.rng.integers(0, n, index[:-1]) for n in shape[: index[-1]]]
                or [np.zeros((*index[:-1], 0))],
                -1,
            )
            if index[-1]
            else np.zeros(index)
        )
        yield Call(
            {"params": source.whole(shape, dtype), "indices": either(i, where.astype(np.int64))},
            {},
            tags(shape, index),
        )


def scatter_nd(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, (shape, index) in enumerate(
        [
            ((5,), (3, 1)),
            ((3, 4), (6, 2)),
            ((3, 4), (2, 1)),
            ((2, 3, 2), (2, 2, 2)),
            ((4,), (9, 1)),
            ((3,), (0, 1)),
        ]
    ):
        where = np.stack([source.rng.integers(0, n, index[:-1]) for n in shape[: index[-1]]], -1)
        updates = source.whole((*index[:-1], *shape[index[-1] :]), dtype)
        yield Call(
            {"indices": either(i, where), "updates": updates, "shape": either(i, shape)},
            {},
            tags(index),
        )
    if is_half(dtype):
        yield Call(
            {
                "indices": np.zeros((600, 1), np.int32),
                "updates": ones((600,), dtype),
                "shape": sizes(2),
            },
            {},
            ["half sums"],
        )


def scatter_into(op: str, dtype: str) -> Iterator[Call]:
    source, name = Source(op, dtype), "ref" if op.startswith("ScatterNd") else "tensor"
    table = [((5,), (3, 1)), ((3, 4), (6, 2)), ((3, 4), (2, 1)), ((2, 3, 2), (2, 2, 2))]
    for i, (shape, index) in enumerate([*table, ((4,), (9, 1)), ((3,), (0, 1))]):
        where = np.stack([source.rng.integers(0, n, index[:-1]) for n in shape[: index[-1]]], -1)
        inputs = {
            name: source.whole(shape, dtype),
            "indices": either(i, where),
            "updates": source.whole((*index[:-1], *shape[index[-1] :]), dtype),
        }
        yield Call(inputs, {}, tags(index))
    if is_half(dtype) and not op.endswith("Update"):
        inputs = {
            name: ones((2,), dtype),
            "indices": np.zeros((3000, 1), np.int32),
            "updates": ones((3000,), dtype),
        }
        yield Call(inputs, {}, ["half sums"])


def reduction(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[tuple[tuple[int, ...], Any]] = [
        *(
            ((), []),
            ((5,), 0),
            ((5,), [0]),
            ((5,), []),
            ((2, 3), [0]),
            ((2, 3), [1]),
            ((2, 3), [-1]),
        ),
        *(((2, 3), [[0]]), ((2, 3), [[0], [-1]])),
        *(((2, 3), [0, 1]), ((2, 3, 5), [0, 2]), ((2, 3, 5), [1]), ((2, 1, 3, 2), [-1, 0, 2])),
        *(((0,), [0]), ((0, 3), [0]), ((0, 3), [1]), ((3, 0), [1])),
    ]
    for i, (shape, axis) in enumerate(table):
        for keep in (False, True):
            yield Call(
                {"input": source.whole(shape, dtype), "axis": either(i, axis)},
                {"keep_dims": keep},
                [*tags(shape), *["no complex numbers"] * (dtype in COMPLEX and 0 in shape)],
            )
        if is_float(dtype) and 0 not in shape:
            yield Call({"input": source.real(shape, dtype), "axis": either(i, axis)}, {}, [])
    if is_float(dtype):
        for tag, special in (("nan", [np.nan]), ("inf", [np.inf, -np.inf])):
            yield Call(
                {
                    "input": source.sprinkled(source.whole((5, 3), dtype), 0.3, *special),
                    "axis": sizes(0),
                },
                {},
                [tag],
            )
    if is_half(dtype) and op in ("Sum", "Mean", "EuclideanNorm"):
        for shape, axis in (((4096,), 0), ((4096, 2), 0), ((2, 4096), 1)):
            x = np.full(shape, 1 if op == "Sum" else 100).astype(numpy_dtype(dtype))
            yield Call({"input": x, "axis": sizes(axis)}, {}, ["half sums"])


def range_(op: str, dtype: str) -> Iterator[Call]:
    table: list[tuple[float, float, float]] = [
        (0, 5, 1),
        (1, 6, 2),
        (5, 0, -2),
        (0, 0, 1),
        (3, 3, -1),
        (-3, 4, 3),
    ]
    if is_float(dtype):
        table += [(0, 1, 0.25), (0.5, -1, -0.5), (0, 1, 0.1), (0.1, 0.7, 0.2)]
    for start, limit, delta in table:
        inputs = {
            "start": scalar(start, dtype),
            "limit": scalar(limit, dtype),
            "delta": scalar(delta, dtype),
        }
        yield Call(inputs, {}, ["empty"] if start == limit else [])
        brackets = {arg: x.reshape(1) for arg, x in inputs.items()}
        for arg in inputs:
            yield Call({**inputs, arg: brackets[arg]}, {}, ["empty"] if start == limit else [])
        yield Call(brackets, {}, ["empty"] if start == limit else [])


INDEX_TYPES: tuple[dict[str, Any], ...] = ({}, {"out_type": "int32"}, {"out_type": "int64"})
TABLE = {
    "Shape": (ALL_BUT_RESOURCE, each_shape("input", *INDEX_TYPES)),
    "Size": (ALL_BUT_RESOURCE, each_shape("input", *INDEX_TYPES)),
    "Identity": (ALL_BUT_RESOURCE, each_shape("input")),
    "ZerosLike": (ALL_BUT_RESOURCE, each_shape("x")),
    "OnesLike": (ALL_BUT_RESOURCE, each_shape("x")),
    "Reshape": (ALL_BUT_RESOURCE, reshape),
    "ExpandDims": (ALL_BUT_RESOURCE, expand_dims),
    "BroadcastTo": (ALL_BUT_RESOURCE, broadcast_to),
    "BroadcastGradientArgs": (INDEX, broadcast_gradient_args),
    "BroadcastArgs": (INDEX, broadcast_gradient_args),
    "Transpose": (ALL_BUT_RESOURCE, transpose),
    "InvertPermutation": (INDEX, invert_permutation),
    "MirrorPad": (ALL_BUT_RESOURCE, mirror_pad),
    "MirrorPadGrad": (NUMBERS, mirror_pad),
    "Pack": (ALL_BUT_RESOURCE, pack),
    "Unpack": (ALL_BUT_RESOURCE, unpack),
    "GatherNd": (ALL_BUT_RESOURCE, gather_nd),
    "ScatterNd": (ALL_BUT_RESOURCE, scatter_nd),
    **dict.fromkeys(("TensorScatterUpdate", "ScatterNdUpdate"), (ALL_BUT_RESOURCE, scatter_into)),
    **dict.fromkeys(("TensorScatterAdd", "TensorScatterSub"), (NUMBERS, scatter_into)),
    **dict.fromkeys(("ScatterNdAdd", "ScatterNdSub"), (NUMBERS, scatter_into)),
    **dict.fromkeys(("Sum", "Mean", "Prod", "EuclideanNorm"), (NUMBERS, reduction)),
    **dict.fromkeys(("Max", "Min"), (REALS, reduction)),
    **dict.fromkeys(("All", "Any"), (("bool",), reduction)),
    "Range": (("int32", "int64", "float32", "float64"), range_),
}
