"""Work that is done in pieces because it is long gives what it gives at once."""

import sys

import numpy as np
import pytest

import backblocks as bb
from backblocks.ops import _stopping

raw = bb.raw_ops
rng = np.random.default_rng(0)
stack = rng.random((5, 1, 30, 20)).astype(np.float32)
table = rng.random((3, 20, 40)).astype(np.float32)
rows = rng.integers(0, 50, (7, 1000)).astype(np.float32)
rows[3, 5] = np.nan

CALLS = {
    "a product": lambda: raw.MatMul(a=stack[0, 0], b=table[0]),
    "a product of whole numbers": lambda: raw.MatMul(
        a=rows[:3].astype(int), b=rows[:3].astype(int), transpose_b=True
    ),
    "a product in half": lambda: raw.MatMul(
        a=stack[0, 0].astype(np.float16), b=table[0].astype(np.float16)
    ),
    "a product turned over": lambda: raw.MatMul(
        a=table[0], b=stack[0, 0], transpose_a=True, transpose_b=True
    ),
    "many products": lambda: raw.BatchMatMulV2(x=stack, y=table),
    "dots": lambda: raw.Einsum(inputs=[stack, table], equation="...ij,...jk->...ik"),
    "labels": lambda: raw.Einsum(inputs=[stack, table], equation="bxij,cjk->kib"),
    "one sum": lambda: raw.Einsum(inputs=[stack, table], equation="bxij,cjk->"),
    "a diagonal": lambda: raw.Einsum(inputs=[rows[:, :900].reshape(7, 30, 30)], equation="bii->ib"),
    "onto a diagonal": lambda: raw.Einsum(inputs=[table[0]], equation="ij->iji"),
    "cells": lambda: raw.Tanh(x=stack),
    "cells of tensors that broadcast": lambda: raw.Maximum(x=stack[:, :, :, :1], y=table[0, 0]),
    "cells in half": lambda: raw.Sigmoid(x=rows[0, :17].astype(np.float16)),
    "cells without a function of NumPy's own": lambda: raw.Lgamma(x=stack[:1]),
    "the largest": lambda: raw.TopKV2(input=rows, k=20),
    "all sorted": lambda: raw.TopKV2(input=rows, k=1000),
    "of one row": lambda: raw.TopKV2(input=rows[0], k=3),
}


@pytest.mark.parametrize("name", CALLS)
def test_pieces_give_what_is_given_at_once(monkeypatch, name):
    whole = CALLS[name]()
    cut = []
    pieces = _stopping.pieces

    def counted(count, cost):
        cut.append(list(pieces(count, cost)))
        return iter(cut[-1])

    for module in [m for n, m in sys.modules.items() if n.startswith("backblocks.ops.")]:
        if getattr(module, "pieces", None) is pieces:
            monkeypatch.setattr(module, "pieces", counted)
        if hasattr(module, "MOST"):
            monkeypatch.setattr(module, "MOST", 2100)
    monkeypatch.setattr("backblocks.ops.math.products._FEW", 0)
    for op in (bb.ops.mat_mul, bb.ops.tanh, bb.ops.maximum):
        op.plans.clear()
    parts = CALLS[name]()
    assert max(map(len, cut)) > 1 or name == "one sum"
    both = zip(whole, parts, strict=True) if isinstance(whole, tuple) else [(whole, parts)]
    for one, other in both:
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-3 if one.dtype.itemsize == 2 else 1e-5)
