"""The compiled kernels by themselves: they write where they should, and refuse what would be unsafe."""

import numpy as np
import pytest

from backblocks import _native

ONES = (1, 1, 1)
TWOS = (2, 2, 2)


def volume(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def guarded(shape, dtype):
    """An array to be overwritten, and the bytes around it that must stay as they are."""
    size, guard = int(np.prod(shape)), 64
    around = np.full(size + 2 * guard, 7, dtype)
    return around[guard : guard + size].reshape(shape), (around[:guard], around[guard + size :])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("channels", [1, 3, 64, 65])
def test_nothing_is_written_beyond_the_result(dtype, channels):
    x, dy = volume(2, 5, 4, 3, channels, dtype=dtype), volume(2, 5, 4, 3, channels, dtype=dtype)
    for kernel, inputs in (
        (_native.max_pool_3d_grad, (x, dy)),
        (_native.avg_pool_3d_grad, (dy,)),
    ):
        dx, guards = guarded(x.shape, dtype)
        kernel(*inputs, dx, (3, 2, 3), ONES, (1, 0, 1))
        assert all((guard == 7).all() for guard in guards)
        assert not (dx == 7).all()


WRONG_ARRAYS = {
    "another type": volume(1, 2, 2, 2, 1, dtype=np.float64),
    "whole numbers": volume(1, 2, 2, 2, 1, dtype=np.int32),
    "four dimensions": volume(2, 2, 2, 1),
    "every other cell": volume(1, 2, 2, 4, 1)[:, :, :, ::2],
    "not an array": [[[[[1.0]]]]],
}


@pytest.mark.parametrize("wrong", WRONG_ARRAYS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_wrong_arrays_do_not_reach_a_kernel(place, wrong):
    arrays = [volume(1, 2, 2, 2, 1), volume(1, 1, 1, 1, 1), volume(1, 2, 2, 2, 1)]
    arrays[place] = WRONG_ARRAYS[wrong]
    with pytest.raises(TypeError):
        _native.max_pool_3d_grad(*arrays, TWOS, TWOS, (0, 0, 0))


def test_a_result_that_cannot_be_written_is_refused():
    dx = volume(1, 2, 2, 2, 1)
    dx.flags.writeable = False
    with pytest.raises(TypeError):
        _native.avg_pool_3d_grad(volume(1, 1, 1, 1, 1), dx, TWOS, TWOS, (0, 0, 0))


@pytest.mark.parametrize(
    ("dy", "window", "strides", "pads", "rule"),
    [
        (volume(2, 1, 1, 1, 1), TWOS, TWOS, (0, 0, 0), "batch"),
        (volume(1, 1, 1, 1, 2), TWOS, TWOS, (0, 0, 0), "channels"),
        (volume(1, 1, 1, 1, 1), (0, 2, 2), TWOS, (0, 0, 0), "window"),
        (volume(1, 1, 1, 1, 1), TWOS, (2, 0, 2), (0, 0, 0), "strides"),
        (volume(1, 1, 1, 1, 1), TWOS, TWOS, (0, 0, -1), "pads"),
        (volume(1, 1, 1, 2, 1), TWOS, (2, 2, 2**61), (0, 0, 0), "too large"),
    ],
)
def test_geometry_that_would_be_unsafe_is_refused(dy, window, strides, pads, rule):
    dx = np.zeros((1, 2, 2, 2, 1), np.float32)
    with pytest.raises(ValueError, match=rule):
        _native.avg_pool_3d_grad(dy, dx, window, strides, pads)


def test_input_and_result_must_not_share_memory():
    x = volume(1, 2, 2, 2, 1)
    with pytest.raises(ValueError, match="share memory"):
        _native.max_pool_3d_grad(x, volume(1, 1, 1, 1, 1), x, TWOS, TWOS, (0, 0, 0))


def test_windows_far_wider_than_the_volume_take_no_time():
    dx = np.zeros((1, 2, 2, 2, 1), np.float32)
    wide = (2**59,) * 3
    _native.avg_pool_3d_grad(volume(1, 1, 1, 1, 1) * 8, dx, wide, ONES, (2**58,) * 3)
    assert (dx == 1).all()
