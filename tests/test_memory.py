"""Memory of results: kept when they die, used again, and given back when asked for."""

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

import backblocks as bb

MIB = 2**20
HOW = {"ksize": [1, 1, 1, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}


@pytest.fixture(autouse=True)
def _nothing_kept():
    before = bb.memory.limit()
    gc.collect()
    bb.memory.trim()
    yield
    bb.memory.set_limit(before)


def result(mib=4, fill=1, dtype=np.float32):
    x = np.full((1, mib, 2**10, 2**10 // np.dtype(dtype).itemsize), fill, dtype)
    return bb.raw_ops.MaxPool(input=x, **HOW)


def address(array):
    return array.ctypes.data


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_a_large_result_begins_a_cache_line_and_can_be_written(dtype):
    y = result(dtype=dtype)
    assert address(y) % 64 == 0
    assert y.flags.writeable
    assert y.flags.c_contiguous
    assert (y == 1).all()
    y += 1
    assert (y == 2).all()


def test_the_next_result_has_the_memory_of_one_that_died():
    y = result()
    place = address(y)
    assert bb.memory.kept() == 0
    del y
    assert bb.memory.kept() == 4 * MIB
    again = result(fill=2)
    assert address(again) == place
    assert (again == 2).all()
    assert bb.memory.kept() == 0


def test_a_view_keeps_the_memory():
    y = result()
    corner = y[0, 0, 0]
    del y
    others = [result(fill=7) for _ in range(3)]
    assert (corner == 1).all()
    assert all(not np.shares_memory(corner, other) for other in others)


def test_a_much_larger_block_waits_for_its_own_size():
    large = result(16)
    place = address(large)
    del large
    assert address(result(4)) != place
    assert address(result(16)) == place


def test_of_several_the_one_that_died_last_is_used_again():
    first, last = result(), result()
    place = address(last)
    del first, last
    assert address(result()) == place
    assert address(result()) == place


def test_the_oldest_make_room_for_a_result_that_dies():
    bb.memory.set_limit(10 * MIB)
    oldest, second, newest = result(6), result(2), result(4)
    places = address(second), address(newest)
    del oldest, second, newest
    assert bb.memory.kept() == 6 * MIB
    assert (address(result(2)), address(result(4))) == places
    del_me = result(16)
    del del_me
    assert bb.memory.kept() == 6 * MIB


def test_of_several_of_a_size_the_oldest_goes():
    bb.memory.set_limit(14 * MIB)
    first, second, third = result(), result(), result(2)
    places = address(second), address(third)
    del first, second, third
    del_me = result(6)
    del del_me
    assert bb.memory.kept() == 12 * MIB
    assert (address(result(4)), address(result(2))) == places


def test_trim_gives_everything_back_and_says_how_much():
    del_me = [result(), result(2)]
    del del_me
    assert bb.memory.trim() == 6 * MIB
    assert bb.memory.kept() == 0
    assert bb.memory.trim() == 0


def test_no_more_is_kept_than_the_limit():
    bb.memory.set_limit(5 * MIB)
    assert bb.memory.limit() == 5 * MIB
    results = [result() for _ in range(3)]
    del results
    assert bb.memory.kept() == 4 * MIB
    bb.memory.set_limit(0)
    assert bb.memory.kept() == 0
    result()
    assert bb.memory.kept() == 0


def test_a_long_row_of_windows_takes_little_beside_its_result():
    x = np.zeros((1, 5, 2**22, 1), np.float32)
    how = {"ksize": [1, 5, 5, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}
    y = bb.raw_ops.MaxPool(input=x, **how)
    assert bb.memory.kept() < MIB
    assert y.shape == x.shape


@pytest.mark.parametrize("size", [-1, 2**63])
def test_a_limit_that_cannot_be_is_refused(size):
    with pytest.raises(ValueError, match="limit must be"):
        bb.memory.set_limit(size)
    with pytest.raises(TypeError):
        bb.memory.set_limit(0.5)


def test_results_made_on_many_threads_are_apart():
    def work(seed):
        kept = [result(2, fill=seed) for _ in range(4)]
        return all((y == seed).all() for y in kept)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(1, 33)))


FORK = """
import os, threading
import numpy as np
import backblocks as bb

def result():
    how = dict(ksize=[1, 1, 1, 1], strides=[1, 1, 1, 1], padding="VALID")
    return bb.raw_ops.MaxPool(input=np.ones((1, 1, 2**10, 2**8), np.float32), **how)

stop = threading.Event()
def busy():
    while not stop.is_set():
        result()
thread = threading.Thread(target=busy)
thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        bb.set_num_threads(1)
        os._exit(0 if (result() == 1).all() and bb.memory.trim() >= 0 else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_forked_while_others_allocate_finds_the_memory_whole():
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    subprocess.run(command, check=True, timeout=60)  # noqa: S603
