"""Work that is done in chunks because it is long gives what it gives at once."""

import sys

import numpy as np
import pytest

import backblocks as bb
from backblocks.ops import _chunks, _interruptible
from backblocks.ops._op import REGISTRY
from backblocks.ops._values import flat

raw = bb.raw_ops
rng = np.random.default_rng(0)
stack = rng.random((5, 1, 30, 20)).astype(np.float32)
table = rng.random((3, 20, 40)).astype(np.float32)
# Products of float types are done by a kernel, which asks by itself whether it is to stop.
counts, others = (stack * 100).astype(np.int64), (table * 100).astype(np.int64)
rows = rng.integers(0, 50, (7, 1000)).astype(np.float32)
rows[3, 5] = np.nan
words = np.array([b"%d" % i for i in range(90)], object)

CALLS = {
    "a product": lambda: raw.MatMul(a=counts[0, 0], b=others[0]),
    "a product of whole numbers": lambda: raw.MatMul(
        a=rows[:3].astype(int), b=rows[:3].astype(int), transpose_b=True
    ),
    "a product turned over": lambda: raw.MatMul(
        a=others[0], b=counts[0, 0], transpose_a=True, transpose_b=True
    ),
    "many products": lambda: raw.BatchMatMulV2(x=counts, y=others),
    "dots": lambda: raw.Einsum(inputs=[counts, others], equation="...ij,...jk->...ik"),
    "labels": lambda: raw.Einsum(inputs=[counts, others], equation="bxij,cjk->kib"),
    "one sum": lambda: raw.Einsum(inputs=[counts, others], equation="bxij,cjk->"),
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
    chunks = _chunks.chunks

    def counted(count, cost):
        cut.append(list(chunks(count, cost)))
        return iter(cut[-1])

    for module in [m for n, m in sys.modules.items() if n.startswith("backblocks.ops.")]:
        if getattr(module, "chunks", None) is chunks:
            monkeypatch.setattr(module, "chunks", counted)
        if hasattr(module, "MAX_CHUNK_COST"):
            monkeypatch.setattr(module, "MAX_CHUNK_COST", 2100)
    monkeypatch.setattr("backblocks.ops.math.matmul._FEW", 0)
    for op in (bb.ops.mat_mul, bb.ops.tanh, bb.ops.maximum):
        op.call_cache.clear()
    parts = CALLS[name]()
    assert max(map(len, cut)) > 1 or name == "one sum"
    both = zip(whole, parts, strict=True) if isinstance(whole, tuple) else [(whole, parts)]
    for one, other in both:
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-3 if one.dtype.itemsize == 2 else 1e-5)


def given(op, case, kernel="reference"):
    inputs, attrs, _ = op.bind((), case.args)
    if op.gives_back:
        return op.new_values(case.args)
    return flat(op.run(op.arrays(inputs), attrs, kernel=kernel))


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if op.cases], ids=lambda op: op.name)
def test_every_op_gives_the_same_bits_in_chunks(monkeypatch, op, tmp_path):
    """Here one element costs a chunk, so that every reference implementation and kernel is done in chunks."""
    monkeypatch.chdir(tmp_path)
    calls = [(case, k) for case in op.cases if not op.files for k in ("reference", "")]
    at_once = [list(given(op, *call)) for call in calls]
    for module in [m for n, m in sys.modules.items() if n.startswith("backblocks.ops.")]:
        if hasattr(module, "MAX_CHUNK_COST"):
            monkeypatch.setattr(module, "MAX_CHUNK_COST", _chunks.ELEMENT_COST)
    for call, whole in zip(calls, at_once, strict=True):
        for one, other in zip(whole, given(op, *call), strict=True):
            assert (one.dtype, one.shape, type(other)) == (other.dtype, other.shape, np.ndarray)
            assert str(one.tolist()) == str(other.tolist())


@pytest.fixture
def small_pieces(monkeypatch):
    for module in [m for n, m in sys.modules.items() if n.startswith("backblocks.ops.")]:
        if hasattr(module, "MAX_CHUNK_COST"):
            monkeypatch.setattr(module, "MAX_CHUNK_COST", 16 * _chunks.ELEMENT_COST)


ROWS = {
    "distinct": rng.permutation(300),
    "a few values": rng.integers(0, 3, 300),
    "one value": np.ones(300),
    "nan among them": np.where(rng.random(300) < 0.5, np.nan, rng.random(300)),
    "nothing but nan": np.full(300, np.nan),
    "mostly one": np.where(rng.random(300) < 0.95, 0, rng.random(300)),
    "in order": np.arange(300),
    "complex": rng.integers(0, 3, 300) + 1j * rng.random(300),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_sorted_in_groups_keeps_equals_in_order(small_pieces, name):
    order = _chunks.stable_argsort(ROWS[name])
    np.testing.assert_array_equal(order, np.argsort(ROWS[name], kind="stable"))


def test_sorting_looks_whether_it_is_to_stop_for_every_group(monkeypatch, small_pieces):
    looks = []
    monkeypatch.setattr(_chunks, "check_cancelled", lambda: looks.append(0))
    _chunks.stable_argsort(ROWS["distinct"])
    cut = -(-300 // 16)
    assert len(looks) > 2 * cut


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["Uniform", "StandardNormal", "TruncatedNormal"])
def test_numbers_drawn_in_parts_are_those_drawn_at_once(monkeypatch, name, dtype):
    draw = getattr(raw, name if name == "TruncatedNormal" else f"Random{name}")
    at_once = draw(shape=[1003], dtype=dtype, seed=1, seed2=2)
    monkeypatch.setattr("backblocks.ops.random._sampling._IN_CACHE", 16)
    in_parts = draw(shape=[1003], dtype=dtype, seed=1, seed2=2)
    assert in_parts.tobytes() == at_once.tobytes()


LONG = {
    "cells": lambda: raw.Softmax(logits=rows),
    "picked": lambda: raw.Gather(params=rows, indices=np.arange(7).repeat(9)),
    "picked one by one": lambda: raw.GatherNd(params=rows, indices=np.ones((90, 2), int)),
    "added at places": lambda: raw.SegmentSum(data=rows, segment_ids=np.arange(7)),
    "put at places": lambda: raw.InvertPermutation(x=np.arange(90)),
    "turned over": lambda: raw.Transpose(x=rows, perm=[1, 0]),
    "repeated": lambda: raw.BroadcastTo(input=rows[0], shape=[9, 1000]),
    "taken apart": lambda: raw.DepthToSpace(input=rows.reshape(1, 1, 7, -1)[..., :4], block_size=2),
    "mirrored": lambda: raw.MirrorPad(input=rows, paddings=[[0, 0], [1, 1]], mode="REFLECT"),
    "framed": lambda: raw.Pad(input=rows, paddings=[[1, 1], [1, 1]]),
    "running totals": lambda: raw.Cumsum(x=rows[0], axis=0),
    "rows added up": lambda: raw.Sum(input=rows, axis=[1]),
    "buckets": lambda: raw.Bucketize(input=rows, boundaries=[1.0, 2.0]),
    "texts": lambda: raw.StringJoin(inputs=[words, words]),
    "texts of numbers": lambda: raw.AsString(input=rows[0]),
    "numbers of texts": lambda: raw.StringToNumber(string_tensor=words),
    "lengths of texts": lambda: raw.StringLength(input=words),
    "texts cut": lambda: raw.StringSplitV2(input=words, sep=" "),
    "values each once": lambda: raw.Unique(x=rows[0]),
    "values that are not there": lambda: raw.ListDiff(x=rows[0], y=rows[1]),
    "rows in another order": lambda: raw.RandomShuffle(value=rows[0], seed=1),
    "chance": lambda: raw.RandomStandardNormal(shape=[90], dtype="float32"),
    "choices": lambda: raw.Multinomial(logits=rows[:2], num_samples=90),
    "a new value": lambda: bb.ops.scatter_add.new_values(
        {"ref": rows, "indices": np.arange(7), "updates": rows}
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_long_work_looks_many_times_whether_it_is_to_stop(monkeypatch, small_pieces, name):
    monkeypatch.setattr("backblocks.ops.random._sampling._IN_CACHE", 16)
    monkeypatch.setattr(_chunks, "_ITEMS_PER_CHECK", 16)
    for op in REGISTRY.values():
        op.call_cache.clear()

    class Counting(_chunks.Stop):
        looks = 0

        def is_set(self):
            self.looks += 1
            return self.looks == 5

    stop = Counting()
    before = _chunks._stop.set(stop)
    try:
        with pytest.raises(_chunks.Stopped):
            LONG[name]()
    finally:
        _chunks._stop.reset(before)
        for op in REGISTRY.values():
            op.call_cache.clear()
    assert stop.looks == 5


@pytest.mark.parametrize("name", ["Max", "Min", "All", "Any", "Sum", "Prod"])
def test_exact_reductions_over_the_first_axis_are_done_in_pieces(small_pieces, name):
    x = rng.integers(0, 2, (50, 3)).astype(bool if name in ("All", "Any") else np.int64)
    how = {
        "Max": np.max,
        "Min": np.min,
        "All": np.all,
        "Any": np.any,
        "Sum": np.sum,
        "Prod": np.prod,
    }
    for axis in ([0], [0, 1], [-2]):
        y = getattr(raw, name)(input=x, axis=axis)
        np.testing.assert_array_equal(y, how[name](x, tuple(axis)))
    if name in ("Max", "Min"):
        odd = np.where(rng.random((50, 3)) < 0.1, np.nan, rng.random((50, 3)))
        np.testing.assert_array_equal(getattr(raw, name)(input=odd, axis=[0]), how[name](odd, 0))


def test_arrays_that_work_in_pieces_do_as_numpy_does(small_pieces):
    x = rng.integers(0, 5, (40, 3))
    long = _interruptible.as_interruptible(x)
    assert type(long) is not np.ndarray
    assert long.tolist() == x.tolist()
    np.testing.assert_array_equal(np.concatenate([long, x]), np.concatenate([x, x]))
    np.testing.assert_array_equal(np.concatenate([long, x], axis=1), np.concatenate([x, x], 1))
    np.testing.assert_array_equal(
        np.bincount(long[:, 0], minlength=9), np.bincount(x[:, 0], minlength=9)
    )
    np.testing.assert_array_equal(long[long > 2], x[x > 2])
    np.testing.assert_array_equal(long[long[:, 0] > 2], x[x[:, 0] > 2])
    assert (long.min(), long.max(), (long < 5).all(), (long > 4).any()) == (0, 4, True, False)
    wide = _interruptible.as_interruptible(x.reshape(1, -1))
    np.testing.assert_array_equal(wide[np.array([True])], x.reshape(1, -1))
