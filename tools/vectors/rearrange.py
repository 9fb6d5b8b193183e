"""Calls of ops that rearrange elements: reversal, diagonals, space to batch and depth, sparse to dense."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from vectors.data import ALL_BUT_RESOURCE, COMPLEX, FLOATS, Call, Source
from vectors.shapes import either, tags


def reverse(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[Any] = [
        ((), []),
        ((5,), [0]),
        ((5,), [-1]),
        ((2, 3), []),
        ((2, 3), [1]),
        ((2, 3), [1, 0]),
        ((2, 3, 4), [-1, 0]),
        ((2, 1, 3, 2), [2, 1]),
        ((0, 3), [1]),
    ]
    for i, (shape, axes) in enumerate(table):
        inputs = {"tensor": source.whole(shape, dtype), "axis": either(i, axes)}
        yield Call(inputs, {}, tags(shape))


def reverse_sequence(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[Any] = [
        ((2, 3), 1, 0),
        ((3, 2), 0, 1),
        ((2, 4, 3), 1, 0),
        ((2, 4, 3), 1, 2),
        ((2, 3, 2, 2), 3, 1),
        ((2, 0), 1, 0),
        ((0, 2), 1, 0),
    ]
    for i, (shape, seq, batch) in enumerate(table):
        lengths = source.rng.integers(0, shape[seq] + 1, shape[batch])
        inputs = {"input": source.whole(shape, dtype), "seq_lengths": either(i, lengths)}
        yield Call(inputs, {"seq_dim": seq, "batch_dim": batch}, tags(shape))


def diagonal(arg: str, *shapes: tuple[int, ...]) -> Any:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for shape in shapes:
            yield Call({arg: source.whole(shape, dtype)}, {}, tags(shape))

    return calls


def matrix_set_diag(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in ((2, 2), (2, 3), (3, 2), (2, 3, 3), (2, 1, 3, 2), (0, 2), (0, 2, 2)):
        inputs = {
            "input": source.whole(shape, dtype),
            "diagonal": source.whole((*shape[:-2], min(shape[-2:])), dtype),
        }
        yield Call(inputs, {}, tags(shape))


def matrix_band_part(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, (shape, lower, upper) in enumerate(
        [
            ((3, 3), 0, 0),
            ((3, 3), 1, -1),
            ((3, 4), -1, 1),
            ((4, 3), 2, 0),
            ((2, 3, 3), 1, 1),
            ((2, 2), -3, -1),
            ((2, 2), 2, 2),
            ((0, 2), 0, 1),
        ]
    ):
        inputs = {
            "input": source.whole(shape, dtype),
            "num_lower": either(i, lower),
            "num_upper": either(i, upper),
        }
        yield Call(inputs, {}, tags(shape))


# Shape of the image, block sizes, padding.
BLOCKS: list[Any] = [
    ((2, 4), [2], [[0, 0]]),
    ((1, 3), [2], [[1, 0]]),
    ((2, 4, 6, 3), [2, 3], [[0, 0], [0, 0]]),
    ((1, 3, 5, 2), [2, 2], [[1, 0], [0, 1]]),
    ((2, 4, 3), [1, 3], [[0, 0], [2, 1]]),
    ((1, 2, 2, 4, 1), [2, 1, 2], [[0, 0], [1, 1], [0, 0]]),
    ((2, 3), [], []),
    ((0, 4), [2], [[0, 0]]),
    ((2, 0, 2), [2], [[2, 0]]),
]


def to_batch(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, (shape, blocks, pads) in enumerate(BLOCKS):
        pairs = np.reshape(pads, (len(blocks), 2)).astype(int)
        other, name = shape, "paddings"
        if op == "BatchToSpaceND":
            name, count = "crops", len(blocks)
            sizes = (np.array(shape[1 : count + 1], int) + pairs.sum(1)) // blocks
            other = (shape[0] * int(np.prod(blocks)), *sizes.tolist(), *shape[count + 1 :])
        inputs = {
            "input": source.whole(other, dtype),
            "block_shape": either(i, np.array(blocks, int)),
            name: either(i + 1, pairs),
        }
        yield Call(inputs, {}, tags(shape))


def to_batch_in_squares(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: tuple[tuple[tuple[int, ...], int, Any], ...] = (
        ((1, 2, 4, 1), 2, [[0, 0], [0, 0]]),
        ((2, 3, 3, 2), 2, [[1, 0], [0, 1]]),
        ((1, 4, 5, 3), 3, [[2, 0], [0, 1]]),
        ((0, 2, 2, 1), 2, [[0, 0], [0, 0]]),
    )
    for i, (shape, block, pads) in enumerate(table):
        other, name = shape, "paddings"
        if op == "BatchToSpace":
            name, (a, b) = "crops", np.sum(pads, 1)
            height, width = (shape[1] + int(a)) // block, (shape[2] + int(b)) // block
            other = (shape[0] * block * block, height, width, shape[3])
        inputs = {"input": source.whole(other, dtype), name: either(i, pads)}
        yield Call(inputs, {"block_size": block}, tags(shape))


def to_depth(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape, block in (
        ((1, 2, 2, 4), 2),
        ((2, 4, 6, 4), 2),
        ((1, 3, 6, 9), 3),
        ((0, 2, 2, 4), 2),
    ):
        for layout in ("NHWC", "NCHW"):
            x = source.whole(shape, dtype)
            x = x if layout == "NHWC" else np.moveaxis(x, 3, 1).copy()
            yield Call({"input": x}, {"block_size": block, "data_format": layout}, tags(shape))


def sparse_to_dense(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: list[Any] = [
        (3, [5], ()),
        (3, [5], (1,)),
        ([0, 2, 4], [5], (3,)),
        ([0, 2, 4], [5], ()),
        ([[0, 1], [1, 0], [1, 2]], [2, 3], (3,)),
        ([[0, 1, 0], [1, 0, 1]], [2, 2, 2], ()),
        (np.zeros((0, 2)), [2, 2], (0,)),
        (np.zeros((1, 0)), [], (1,)),
    ]
    for i, (indices, shape, values) in enumerate(table):
        inputs = {
            "sparse_indices": either(i, indices),
            "output_shape": either(i, shape),
            "sparse_values": source.whole(values, dtype),
            "default_value": source.whole((), dtype),
        }
        yield Call(inputs, {}, [])
    inputs = {
        "sparse_indices": either(0, [[1, 1], [0, 2], [1, 1], [0, 0]]),
        "output_shape": either(0, [2, 3]),
        "sparse_values": source.whole((4,), dtype),
        "default_value": source.whole((), dtype),
    }
    yield Call(inputs, {"validate_indices": False}, [])


SQUARES = ((3,), (1,), (2, 3), (2, 1, 3), (0,), (2, 0))
TWICE = ((3, 3), (2, 3, 2, 3), (1, 2, 1, 1, 2, 1), (0, 0))
MATRICES = ((3, 3), (2, 3), (3, 2), (2, 3, 3), (2, 1, 3, 2), (0, 2), (0, 2, 2))
ON_DIAGONAL = (*FLOATS, "int32", "int64", *COMPLEX)
TABLE = {
    "ReverseV2": (ALL_BUT_RESOURCE, reverse),
    "ReverseSequence": (ALL_BUT_RESOURCE, reverse_sequence),
    "Diag": (ON_DIAGONAL, diagonal("diagonal", *SQUARES)),
    "DiagPart": (ON_DIAGONAL, diagonal("input", *TWICE)),
    "MatrixDiag": (ALL_BUT_RESOURCE, diagonal("diagonal", *SQUARES)),
    "MatrixDiagPart": (ALL_BUT_RESOURCE, diagonal("input", *MATRICES)),
    "MatrixSetDiag": (ALL_BUT_RESOURCE, matrix_set_diag),
    "MatrixBandPart": (ALL_BUT_RESOURCE, matrix_band_part),
    "SpaceToBatchND": (ALL_BUT_RESOURCE, to_batch),
    **dict.fromkeys(("SpaceToBatch", "BatchToSpace"), (ALL_BUT_RESOURCE, to_batch_in_squares)),
    "BatchToSpaceND": (ALL_BUT_RESOURCE, to_batch),
    "SpaceToDepth": (ALL_BUT_RESOURCE, to_depth),
    "DepthToSpace": (ALL_BUT_RESOURCE, to_depth),
    "SparseToDense": (ALL_BUT_RESOURCE, sparse_to_dense),
}
