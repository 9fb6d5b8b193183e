"""The compiled kernels on several threads: the same bits, from any thread, and after a fork."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

import backblocks as bb

SHAPE = (2, 16, 16, 16, 128)
"""Large enough that the work is shared out."""


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = bb.get_num_threads()
    yield
    bb.set_num_threads(before)


def gradient(seed=0):
    dy = np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)
    return bb.raw_ops.AvgPool3DGrad(
        orig_input_shape=SHAPE, grad=dy, ksize=[1, 3, 3, 3, 1], strides=[1] * 5, padding="SAME"
    )


def test_one_thread_for_each_core_until_told_otherwise():
    code = "import backblocks as bb; print(bb.get_num_threads())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)  # noqa: S603
    assert int(done.stdout) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("format", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(dtype, format):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 9, 32, 31, 40) if format == "NDHWC" else (2, 40, 9, 32, 31))
    x = x.astype(dtype)
    space = slice(1, 4) if format == "NDHWC" else slice(2, 5)
    ksize, strides = np.ones((2, 5), int)
    ksize[space], strides[space] = 3, (1, 2, 2)
    how = {"ksize": ksize, "strides": strides, "padding": "SAME", "data_format": format}

    def results():
        y = bb.raw_ops.MaxPool3D(input=x, **how)
        return [
            y,
            bb.raw_ops.MaxPool3DGrad(orig_input=x, orig_output=y, grad=y, **how),
            bb.raw_ops.MaxPool3DGradGrad(orig_input=x, orig_output=y, grad=x, **how),
            bb.raw_ops.AvgPool3D(input=x, **how),
            bb.raw_ops.AvgPool3DGrad(orig_input_shape=x.shape, grad=y, **how),
        ]

    found = set()
    for count in (1, 2, 5):
        bb.set_num_threads(count)
        assert bb.get_num_threads() == count
        found.add(tuple(result.tobytes() for result in results()))
    assert len(found) == 1


@pytest.mark.parametrize("count", [0, -1, 2000])
def test_a_number_of_threads_that_cannot_be_is_refused(count):
    with pytest.raises(ValueError, match="number of threads"):
        bb.set_num_threads(count)
    with pytest.raises(TypeError):
        bb.set_num_threads(1.5)


def test_many_python_threads_at_once():
    bb.set_num_threads(2)
    expected = [gradient(seed).tobytes() for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert [r.tobytes() for r in pool.map(gradient, range(8))] == expected


FORKS = """
import os, sys
import numpy as np
import backblocks as bb

def gradient():
    return bb.raw_ops.AvgPool3DGrad(
        orig_input_shape=[1, 32, 32, 32, 64], grad=np.ones((1, 16, 16, 16, 64), np.float32),
        ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID",
    )

bb.set_num_threads(2)
if sys.argv[1] == "used":
    gradient()  # the threads are there before the fork
for _ in range(3):
    child = os.fork()
    if child == 0:
        os._exit(0 if (gradient() == 1 / 8).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
assert (gradient() == 1 / 8).all()
"""


@pytest.mark.parametrize("threads", ["used", "unused"])
def test_a_forked_child_can_call(threads):
    # -W: Python itself warns of forks in a process with threads.
    command = [sys.executable, "-W", "ignore", "-c", FORKS, threads]
    subprocess.run(command, check=True, timeout=60)  # noqa: S603
