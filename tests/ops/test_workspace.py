"""What an op needs in passing is declared in `ops/_workspace.py`, and measured here."""

import itertools
import tracemalloc

import numpy as np
import pytest

import backblocks as bb
from backblocks.errors import OpMemoryError
from backblocks.ops import REGISTRY, _memory
from backblocks.ops._spec import Spec
from backblocks.ops._values import bytes_of, each_value, flat
from backblocks.ops._workspace import temporary_bytes

CELLS = 2**15
SPARE = 2**16
"""Bytes of small objects, and of what is made once."""


def longer(x, axis):
    """The array repeated along an axis until it has as many cells as a measured one."""
    if not x.size or not x.ndim or x.dtype.names:
        return x
    rest = x.size // x.shape[axis]
    return np.ascontiguousarray(x.take(np.arange(max(CELLS // rest, 1)) % x.shape[axis], axis))


def variants(arrays):
    """Calls with longer inputs: all of them, and each alone."""
    for axis in (0, -1):
        yield each_value(lambda x, axis=axis: longer(x, axis), arrays)
        for i, value in enumerate(arrays):
            if value is not None:
                one = each_value(lambda x, axis=axis: longer(x, axis), (value,))
                yield [*arrays[:i], *one, *arrays[i + 1 :]]


def measured(op, arrays, attrs):
    """Bytes that were taken besides the results, and those that were declared; None if it is no call."""
    try:
        specs = list(flat(op.infer(each_value(Spec.of, arrays), attrs)))
        results = sum(map(bytes_of, specs))
    except (bb.OpError, TypeError):  # refused, or of sizes that only the call tells
        return None
    if not SPARE < results + sum(x.nbytes for x in flat(arrays)) < 2**25:
        return None
    tracemalloc.start()
    try:
        op.run(arrays, attrs, kernel="meaning")
        peak = tracemalloc.get_traced_memory()[1]
    except bb.OpError:
        return None
    finally:
        tracemalloc.stop()
    return peak - results, temporary_bytes(op.name, [*map(Spec.of, flat(arrays)), *specs])


@pytest.mark.parametrize(
    "op", [op for op in REGISTRY.values() if op.cases and not op.files], ids=str
)
def test_an_op_needs_no_more_than_it_declares(op, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inputs, attrs, _ = op.bind((), op.cases[0].args)
    for arrays in itertools.islice(variants(op.arrays(inputs)), 8):
        found = measured(op, arrays, attrs)
        if found is not None:
            taken, declared = found
            assert taken <= declared + SPARE, [str(Spec.of(x)) for x in flat(arrays)]


def test_temporaries_count_where_memory_is_short(monkeypatch):
    x = np.zeros((1, 2**12, 2**12, 1), np.int8)
    how = {"ksize": (1, 2, 2, 1), "strides": (1, 1, 1, 1), "padding": "SAME"}
    op = REGISTRY["MaxPoolWithArgmax"]
    _, attrs, _ = op.bind((), {"input": x, **how})
    results = sum(bytes_of(spec) for spec in op.infer([Spec.of(x)], attrs))
    monkeypatch.setattr(_memory, "available_bytes", lambda: results + 2**20)
    with pytest.raises(
        OpMemoryError, match="the result and what is computed on the way to it need"
    ):
        op.run([x], attrs, kernel="meaning")
    monkeypatch.setattr(_memory, "available_bytes", lambda: 2**40)
    monkeypatch.setattr(op, "meaning", lambda *a, **k: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(OpMemoryError, match="needs more memory than there is"):
        op.run([x], attrs, kernel="meaning")
