"""The kernels that measure the roofline really read, write and compute what they say."""

import numpy as np
import pytest

from backblocks import _native


@pytest.mark.parametrize("around_cache", [False, True])
@pytest.mark.parametrize("size", [0, 1, 63, 64, 130, 5000, 3_000_000])
@pytest.mark.parametrize("offset", [0, 1, 16])
def test_the_stream_overwrites_its_output_and_nothing_beside_it(size, offset, around_cache):
    around = np.zeros(offset + size + 64, np.uint8)
    output = around[offset : offset + size]
    inputs = [np.full(size // 2, 7, np.uint8), np.full(10_000, 7, np.uint8)]
    _native.stream(inputs, output, around_cache)
    assert not around[:offset].any()
    assert not around[offset + size :].any()
    lines = len(output) // 64
    assert np.count_nonzero(output) >= (lines - 1) * 64 // 8
    assert (output > 0).sum() == 0 or set(np.unique(output)) <= {0, 1, 7}


def test_the_stream_takes_bytes_only():
    with pytest.raises(TypeError):
        _native.stream([], np.zeros(4, np.float32), False)
    with pytest.raises(TypeError):
        _native.stream([], np.zeros((4, 4), np.uint8), False)


@pytest.mark.parametrize("doubles", [False, True])
def test_operations_are_counted(doubles):
    once, twice = (_native.multiply_add(doubles, steps) for steps in (100, 200))
    assert once > 0
    assert twice == 2 * once
