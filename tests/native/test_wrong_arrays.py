"""Arrays that are not what a kernel was prepared for never reach it."""

import numpy as np
import pytest
from slides import SAFE, a_byte_off, assert_untouched, guarded

from backblocks import _native

CELLS, WINDOWS = (1, 2, 2, 2, 2), (1, 1, 1, 1, 2)
POOL = {"dtype": "float32", "input_shape": CELLS, "output_shape": WINDOWS}
POOL |= {"window": (2, 2, 2), "strides": (2, 2, 2), "pads": (0, 0, 0)}
ARGMAX = {**POOL, "index": "int32", "of_batch": False}
IMAGE = {**SAFE, "input_shape": (1, 1, 2, 2, 2), "output_shape": (1, 1, 1, 1, 2), "taps": (1, 2, 2)}
MATMUL = {"dtype": "float32", "rows": 4, "inner": 2, "columns": 8, "batch": []}
MATMUL |= {"a_transposed": False, "b_transposed": False}
MATMUL_SIZES = {"a": 8, "b": 16, "p": 32}
SIZES = {"c": 16, "w": 2, "i": 2, "f": 32, "o": 4}
IMAGE_SIZES = {"c": 8, "f": 8, "o": 2}

# Each kernel, a geometry, the arrays that it takes and how many of them are results.
KERNELS = {
    "max_pool": (POOL, "cw", 1),
    "max_pool_grad": (POOL, "cwc", 1),
    "max_pool_grad_grad": (POOL, "ccw", 1),
    "avg_pool": (POOL, "cw", 1),
    "avg_pool_grad": (POOL, "wc", 1),
    "max_pool_with_argmax": (ARGMAX, "cwi", 2),
    "max_pool_grad_with_argmax": (ARGMAX, "wic", 1),
    "max_pool_grad_grad_with_argmax": (ARGMAX, "ciw", 1),
    "conv": (SAFE, "cfo", 1),
    "conv_input_grad": (SAFE, "foc", 1),
    "conv_filter_grad": (SAFE, "cof", 1),
    "depthwise_conv": (SAFE, "cfo", 1),
    "depthwise_conv_input_grad": (SAFE, "foc", 1),
    "depthwise_conv_filter_grad": (SAFE, "cof", 1),
    "dilation": (IMAGE, "cfo", 1),
    "dilation_input_grad": (IMAGE, "cfoc", 1),
    "dilation_filter_grad": (IMAGE, "cfof", 1),
    "matmul": (MATMUL, "abp", 1),
}
OTHERS = {
    "all_row_major", "bfloat16_bits", "cache_bytes", "isa", "isas", "kept_bytes", "most_kept_bytes",
    "multiply_add", "num_threads", "set_cache_bytes", "set_most_kept_bytes", "set_num_threads", "stream",
    "trim_memory",
}  # fmt: skip


def test_all_kernels_are_here():
    functions = {name for name in dir(_native) if "func" in type(getattr(_native, name)).__name__}
    assert functions == _native.KERNELS.keys() | OTHERS
    assert KERNELS.keys() <= _native.KERNELS.keys()


def prepared(name):
    """A kernel, arrays that are right for it, and how many of them are results."""
    geometry, arrays, results = KERNELS[name]
    sizes = IMAGE_SIZES if geometry is IMAGE else MATMUL_SIZES if geometry is MATMUL else SIZES
    right = [np.ones(sizes[each], np.int32 if each == "i" else np.float32) for each in arrays]
    return getattr(_native, name)(**geometry), right, results


@pytest.mark.parametrize("name", KERNELS)
def test_right_arrays_do(name):
    kernel, right, results = prepared(name)
    for place in range(len(right) - results, len(right)):
        right[place], guards = guarded(right[place].shape, right[place].dtype)
        kernel(*right)
        assert_untouched(guards)


WRONG = {
    "another type": lambda a: a.astype(np.float64),
    "whole numbers as wide": lambda a: a.astype(np.uint32),
    "numbers half as wide": lambda a: a.astype(np.float16),
    "complex numbers": lambda a: a.astype(np.complex64),
    "another byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "a number less": lambda a: a[1:],
    "a number more": lambda a: np.append(a, a[:1]),
    "every other number": lambda a: np.repeat(a, 2)[::2],
    "backwards": lambda a: a.copy()[::-1],
    "columns first": lambda a: np.asfortranarray(a.reshape(2, -1)) if a.size > 2 else a[:1],
    "one number for all": lambda a: np.broadcast_to(a[:1], a.shape),
    "a byte off": lambda a: a_byte_off(a),
    "a list": lambda a: a.tolist(),
    "bytes": lambda a: a.tobytes(),
    "nothing": lambda a: None,
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", KERNELS)
def test_wrong_arrays_do_not_reach_a_kernel(name, wrong):
    kernel, right, _ = prepared(name)
    for place in range(len(right)):
        mixed = [*right]
        mixed[place] = WRONG[wrong](right[place])
        with pytest.raises(TypeError, match=f"array {place + 1} is not of the type"):
            kernel(*mixed)


@pytest.mark.parametrize("name", KERNELS)
def test_results_that_cannot_be_written_do_not_reach_a_kernel(name):
    kernel, right, results = prepared(name)
    for place, array in enumerate(right):
        array.flags.writeable = False
        if place >= len(right) - results:
            with pytest.raises(TypeError, match=f"array {place + 1} is not of the type"):
                kernel(*right)
            array.flags.writeable = True
    kernel(*right)  # inputs need not be written


@pytest.mark.parametrize("name", KERNELS)
def test_results_share_no_memory(name):
    kernel, right, results = prepared(name)
    for place in range(len(right) - results, len(right)):
        for other in range(place):
            a, b = right[other], right[place]
            both = np.ones(a.size + b.size - 1, np.float32)  # they share a number
            mixed = [*right]
            mixed[other] = both[: a.size].view(a.dtype)
            mixed[place] = both[a.size - 1 :].view(b.dtype)
            with pytest.raises(ValueError, match="share no memory"):
                kernel(*mixed)


@pytest.mark.parametrize("name", KERNELS)
def test_arrays_too_few_or_too_many_are_refused(name):
    kernel, right, _ = prepared(name)
    for arrays in ([], right[:-1], [*right, right[0]], right * 30):
        with pytest.raises(TypeError, match=f"takes {len(right)} arrays"):
            kernel(*arrays)


def test_a_kernel_may_take_some_of_the_arrays_only():
    kernel, (x, y), _ = prepared("max_pool")
    some = kernel.taking(1, 2)
    some(None, x, y)
    with pytest.raises(TypeError, match="array 2 is not of the type"):
        some(x, None, y)
    with pytest.raises(TypeError, match="takes 3 arrays"):
        some(x, y)
    kernel.taking(0, 30)(x, *[None] * 29, y)
    for places in ((), (1,), (2, 1), (1, 1), (-1, 0), (0, 2**10), (0, 2**64 - 1), (0, "1")):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            kernel.taking(*places)


def test_a_kernel_that_was_never_prepared_does_nothing():
    kernel, (x, y), _ = prepared("max_pool")
    with pytest.raises(TypeError, match="by position"):
        kernel(x, y, out=y)
    with pytest.raises(TypeError, match="by position"):
        _native.Prepared.__new__(_native.Prepared)(x, y)


def test_an_output_allocator_takes_arrays_only():
    like = np.ones((2, 3), np.float32, order="F")
    made = _native.OutputAllocator(like)()
    assert (made.shape, made.dtype, made.flags.c_contiguous) == ((2, 3), np.float32, True)
    assert made is not like
    for wrong in ([1.0], like.view(np.matrix), None):
        with pytest.raises(TypeError):
            _native.OutputAllocator(wrong)
    with pytest.raises(TypeError, match="no prototype"):
        _native.OutputAllocator.__new__(_native.OutputAllocator)()
