"""What an op needs in passing is declared in `ops/_workspace.py`, and measured here."""

import itertools
import tracemalloc
import warnings

import numpy as np
import pytest

import backblocks as bb
from backblocks.dtypes import BY_NAME
from backblocks.errors import OpMemoryError
from backblocks.ops import REGISTRY, _memory
from backblocks.ops._spec import Spec, is_known
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
    inputs = each_value(Spec.of, arrays)
    try:
        specs = op.infer(inputs, attrs)
    except bb.OpError:
        return None
    known = [spec for spec in flat((*inputs, *specs)) if is_known(spec.shape)]
    if not SPARE < sum(map(bytes_of, known)) < 2**25:
        return None
    tracemalloc.start()
    try:
        outputs = op.run(arrays, attrs, kernel="reference")
        peak = tracemalloc.get_traced_memory()[1]
    except bb.OpError:
        return None
    finally:
        tracemalloc.stop()
    results = sum(x.nbytes for x in flat(outputs))
    if not all(is_known(spec.shape) for spec in flat(specs)):
        results *= 2  # one whose size the call tells is made in parts, and put together
    return peak - results, temporary_bytes(op, inputs, specs)


def typed_calls(op):
    """The arrays of the first worked case, also in types of each width that the op takes."""
    inputs, attrs, _ = op.bind((), op.cases[0].args)
    arrays = op.arrays(inputs)
    yield arrays, attrs
    for var, names in op.dtypes.items():
        for name in {"bool", "int8", "float16", "float32", "complex64"} & set(names):
            dtype = BY_NAME[name]

            def converted(pin, x, var=var, dtype=dtype):
                same = pin.dtype != var or x.dtype.hasobject
                return x if same else np.nan_to_num(x).astype(dtype)

            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the values of numbers do not matter
                yield (
                    [
                        each_value(lambda x, pin=pin: converted(pin, x), (value,))[0]
                        for pin, value in zip(op.inputs, arrays, strict=True)
                    ],
                    attrs,
                )


@pytest.mark.parametrize(
    "op", [op for op in REGISTRY.values() if op.cases and not op.files], ids=str
)
def test_an_op_needs_no_more_than_it_declares(op, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for start, attrs in typed_calls(op):
        # One axis is both the first and the last, and one input both all of them and each alone.
        different = {
            tuple(x.shape for x in flat(arrays)): arrays
            for arrays in itertools.islice(variants(start), 8)
        }
        for arrays in different.values():
            found = measured(op, arrays, attrs)
            if found is not None:
                taken, declared = found
                assert taken <= declared + SPARE, [str(Spec.of(x)) for x in flat(arrays)]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Gather", {"params": "large", "indices": [0]}),
        ("GatherV2", {"params": "large", "indices": [0], "axis": 0}),
        ("GatherNd", {"params": "large", "indices": [[0]]}),
        ("SparseSegmentSum", {"data": "large", "indices": [0, 1], "segment_ids": [0, 0]}),
        ("TensorScatterUpdate", {"tensor": "large", "indices": [[0]], "updates": [1.0]}),
        ("Where", {"condition": "large"}),
    ],
)
def test_a_large_tensor_of_which_little_is_used_needs_little(name, given, monkeypatch):
    large = np.zeros(2**25, np.float32)
    monkeypatch.setattr(_memory, "available_bytes", lambda: 2 * large.nbytes)
    getattr(bb.raw_ops, name)(**{k: large if v == "large" else v for k, v in given.items()})


@pytest.mark.parametrize("name", ["ListDiff", "Where"])
def test_results_of_unknown_size_are_refused_before_there_is_no_memory(name, monkeypatch):
    op = REGISTRY[name]
    x = np.ones(2**24, np.int8)
    monkeypatch.setattr(_memory, "available_bytes", lambda: 2**26)
    with pytest.raises(OpMemoryError, match=r"needs? \d\.\d GiB"):
        getattr(bb.raw_ops, name)(**{pin.name: x for pin in op.inputs})


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
        op.run([x], attrs, kernel="reference")
    monkeypatch.setattr(_memory, "available_bytes", lambda: 2**40)
    monkeypatch.setattr(op, "reference", lambda *a, **k: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(OpMemoryError, match="needs more memory than there is"):
        op.run([x], attrs, kernel="reference")
