"""Run by test_allocations.py in a process of its own: calls, each of whose allocations fails once."""

import ctypes
import os
import sys

import numpy as np

import backblocks as bb

allocator = ctypes.CDLL(sys.argv[1])
allocator.fail_at.argtypes = [ctypes.c_long]
allocator.asked_for.restype = allocator.live_bytes.restype = ctypes.c_long
raw, same = bb.raw_ops, {"padding": "SAME"}
rng = np.random.default_rng(0)


def array(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


images, volumes = array(2, 30, 30, 32), array(1, 8, 14, 14, 32)
halves = images.astype(np.float16)
filters, each = array(3, 3, 32, 32), array(3, 3, 32, 1)
a, b = array(700, 900), array(900, 800)
flat, deep = {**same, "strides": [1] * 4}, {**same, "strides": [1] * 5}
pool = {**deep, "ksize": [1, 3, 3, 3, 1]}
pooled = raw.MaxPool3D(input=volumes, **pool)
CALLS = {
    "MaxPool3D": dict(input=volumes, **pool),
    "MaxPool3DGrad": dict(orig_input=volumes, orig_output=pooled, grad=volumes, **pool),
    "AvgPool3DGrad": dict(orig_input_shape=volumes.shape, grad=volumes, **pool),
    "MaxPoolWithArgmax": dict(input=images, ksize=[1, 2, 2, 1], **flat),
    "Conv2D": dict(input=images, filter=filters, **flat),
    "Conv2DBackpropInput": dict(
        input_sizes=images.shape, filter=filters, out_backprop=images, **flat
    ),
    "Conv2DBackpropFilter": dict(
        input=images, filter_sizes=filters.shape, out_backprop=images, **flat
    ),
    "Conv3D": dict(input=volumes, filter=filters[:, None], **deep),
    "DepthwiseConv2dNative": dict(input=images, filter=each, **flat),
    "DepthwiseConv2dNativeBackpropFilter": dict(
        input=images, filter_sizes=each.shape, out_backprop=images, **flat
    ),
    "Dilation2D": dict(input=images, filter=each[..., 0], rates=[1] * 4, **flat),
    "MatMul": {"a": a, "b": b},
    "BatchMatMulV2": {"x": array(40, 30, 20), "y": array(20, 9), "adj_y": False},
    "Exp": {"x": a},
    "ReluGrad": {"gradients": halves, "features": halves},
}


def outcome(name):
    """The bits of all results, or nothing if memory was short."""
    try:
        results = getattr(raw, name)(**CALLS[name])
    except bb.errors.OpMemoryError:
        return None
    return [r.tobytes() for r in (results if isinstance(results, tuple) else (results,))]


def fails_everywhere(name, right, fresh):
    """Fails each allocation of a call in turn, of the first one and of one like it. Gives how many."""
    for n in range(1, 10_000):
        if fresh:
            bb.ops.REGISTRY[name].call_cache.clear()
        bb.memory.trim()
        allocator.fail_at(n)
        found = outcome(name)
        asked = allocator.asked_for()
        allocator.fail_at(0)
        assert found is None or found == right, f"{name} is wrong after allocation {n} failed"
        assert outcome(name) == right, f"{name} is wrong once allocation {n} has failed"
        if asked < n:
            return n - 1
    raise AssertionError(f"{name} never ends")


bb.set_num_threads(2)
expected = {name: outcome(name) for name in CALLS}
failed = live = 0
for turn in range(3):
    failed = 0
    for name, right in expected.items():
        failed += fails_everywhere(name, right, True) + fails_everywhere(name, right, False)
    bb.memory.trim()
    if turn == 1:
        live = allocator.live_bytes()
grown = allocator.live_bytes() - live
assert grown < 1 << 16, f"{grown} bytes more are held after each allocation failed once again"
print(failed, flush=True)
os._exit(0)
