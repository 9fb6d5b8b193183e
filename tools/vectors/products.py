"""Calls of the products of matrices and tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from vectors.data import FLOATS, NUMBERS, Call, Source, is_float, is_half, ones

Calls = Callable[[str, str], Iterator[Call]]
Sizes = tuple[int, ...]
SPECIAL = {"nan": [np.nan], "inf": [np.inf]}


def _turned(shape: Sizes, turn: bool) -> Sizes:
    return (*shape[:-2], shape[-1], shape[-2]) if turn else shape


def _pairs(
    source: Source,
    dtype: str,
    shapes: list[tuple[Sizes, Sizes]],
    names: list[str],
    turns: list[str],
) -> Iterator[Call]:
    for a, b in shapes:
        tags = ["empty"] if 0 in (*a, *b) else []
        for turn_a, turn_b in ((False, False), (False, True), (True, False), (True, True)):
            attrs = {turns[0]: turn_a, turns[1]: turn_b}
            both = _turned(a, turn_a), _turned(b, turn_b)
            inputs = [source.whole(shape, dtype) for shape in both]
            yield Call(dict(zip(names, inputs, strict=True)), attrs, tags)
        if is_float(dtype) or dtype.startswith("complex"):
            inputs = [source.real(shape, dtype) for shape in (a, b)]
            yield Call(dict(zip(names, inputs, strict=True)), {}, tags)
    if is_float(dtype):
        for tag, special in SPECIAL.items():
            inputs = [source.sprinkled(source.whole((4, 4), dtype), 0.1, *special) for _ in "ab"]
            yield Call(dict(zip(names, inputs, strict=True)), {}, [tag])
    if is_half(dtype):
        inputs = [ones((2, 4096), dtype), ones((4096, 1), dtype)]
        yield Call(dict(zip(names, inputs, strict=True)), {}, ["half sums"])


def mat_mul(op: str, dtype: str) -> Iterator[Call]:
    shapes: list[tuple[Sizes, Sizes]] = [
        *(
            ((1, 1), (1, 1)),
            ((2, 3), (3, 4)),
            ((5, 1), (1, 7)),
            ((1, 9), (9, 1)),
            ((8, 17), (17, 3)),
        ),
        *(((0, 2), (2, 3)), ((2, 0), (0, 3)), ((2, 3), (3, 0))),
    ]
    yield from _pairs(Source(op, dtype), dtype, shapes, ["a", "b"], ["transpose_a", "transpose_b"])


def batch_mat_mul(broadcasts: bool, **typed: Any) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        shapes: list[tuple[Sizes, Sizes]] = [
            *(((2, 3), (3, 4)), ((2, 2, 3), (2, 3, 1)), ((3, 1, 2, 2), (3, 1, 2, 5))),
            *(((0, 2, 3), (0, 3, 1)), ((2, 2, 0), (2, 0, 3))),
        ]
        if broadcasts:
            shapes += [((5, 2, 3), (3, 4)), ((1, 2, 3), (5, 3, 2)), ((2, 1, 1, 3), (4, 3, 2))]
        for call in _pairs(Source(op, dtype), dtype, shapes, ["x", "y"], ["adj_x", "adj_y"]):
            yield Call(call.inputs, call.attrs | ({"Tout": dtype} if typed else {}), call.tags)

    return calls


def batch_mat_mul_v3(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, "mixed", dtype)
    if dtype in ("int8", "uint8"):
        for other, result in (("int8", "int32"), ("uint8", "int32"), ("bfloat16", "bfloat16")):
            for a, b in ((dtype, other), (other, dtype)):
                x, y = source.whole((2, 3), a, -100, 100), source.whole((5, 3, 2), b, -20, 27)
                yield Call({"x": x, "y": y}, {"Tout": result}, [])
    else:
        yield from batch_mat_mul(True, Tout=True)(op, dtype)


EQUATIONS: list[tuple[str, list[Sizes]]] = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk->ki", [(2, 3), (3, 4)]),
    ("ij,kj->ik", [(2, 3), (4, 3)]),
    ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]),
    ("ij->ji", [(2, 3)]),
    ("ij->i", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ii->", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("i->ii", [(3,)]),
    ("ij->jij", [(2, 3)]),
    ("iij,jj->iij", [(2, 2, 3), (3, 3)]),
    ("i,i->ii", [(3,), (3,)]),
    ("i,i->", [(3,), (3,)]),
    ("i,j->ij", [(2,), (3,)]),
    ("ij,k->k", [(2, 3), (4,)]),
    ("ij,ik->", [(2, 3), (2, 4)]),
    ("iI,Ij->ij", [(2, 3), (3, 2)]),
    ("->", [()]),
    (",->", [(), ()]),
    (",i->i", [(), (3,)]),
    ("...->...", [(2, 3)]),
    ("...i->i...", [(2, 3)]),
    ("...i,i->...", [(2, 3), (3,)]),
    ("...ij,...jk->...ik", [(5, 2, 3), (4, 1, 3, 2)]),
    ("i...j,...->j...i", [(2, 5, 3), (4, 1)]),
    ("ab...,b...->...a", [(2, 3, 4), (3, 5, 1)]),
    ("i...i->i...", [(2, 3, 2)]),
    ("i...->i...i", [(2, 3)]),
    ("ij->...ij", [(2, 3)]),
    ("ij...->ij", [(2, 3)]),
    ("ij,jk->ik", [(0, 3), (3, 4)]),
    ("ij,jk->ik", [(2, 0), (0, 4)]),
    ("i->", [(0,)]),
    ("i->ii", [(0,)]),
]


def einsum(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for equation, shapes in EQUATIONS:
        tags = ["empty"] if any(0 in shape for shape in shapes) else []
        attrs = {"equation": equation}
        yield Call({"inputs": [source.whole(shape, dtype) for shape in shapes]}, attrs, tags)
        if is_float(dtype):
            half = ["half sums"] if is_half(dtype) else []
            inputs = [source.real(shape, dtype) for shape in shapes]
            yield Call({"inputs": inputs}, attrs, [*tags, *half])
    if is_half(dtype):
        inputs = [ones((2, 4096), dtype), ones((4096, 1), dtype)]
        yield Call({"inputs": inputs}, {"equation": "ij,jk->ik"}, ["half sums"])
        yield Call({"inputs": inputs[:1]}, {"equation": "ij->i"}, ["half sums"])


MATRIX_TYPES = tuple(name for name in NUMBERS if name not in ("int8", "int16"))
TABLE = {
    "MatMul": (MATRIX_TYPES, mat_mul),
    "BatchMatMul": ((*FLOATS, "int32", "int64", "complex64", "complex128"), batch_mat_mul(False)),
    "BatchMatMulV2": (NUMBERS, batch_mat_mul(True)),
    "BatchMatMulV3": (NUMBERS, batch_mat_mul_v3),
    "Einsum": (NUMBERS, einsum),
}
