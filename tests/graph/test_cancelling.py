"""What ends a run before its time: cancel and Ctrl-C, between blocks and inside long kernels."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import backblocks as bb

ops = bb.ops


def long_page():
    """A page of one convolution that takes many seconds, and a variable that it would change."""
    with bb.Scope() as page:
        v = bb.variable(np.float32(0), name="v")
        x = bb.placeholder([4, 24, 96, 96, 64], name="x")
        y = ops.conv_3d(x, np.ones([7, 7, 7, 64, 64], np.float32), strides=[1] * 5, padding="SAME")
        ops.assign_add(v, ops.sum(y, [0, 1, 2, 3, 4]), name="add")
    return page


FED = np.zeros([4, 24, 96, 96, 64], np.float32)


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize("threads", [1, 2])
def test_cancel_ends_a_long_kernel(threads):
    before = bb.get_num_threads()
    bb.set_num_threads(threads)
    session, errors, begun = bb.Session(long_page()), [], threading.Event()
    session.watch(lambda event: begun.set() if event.block.op.name == "Conv3D" else None)

    def run():
        try:
            session.run([], {"x": FED}, ["add"])
        except bb.Cancelled as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(30)
    time.sleep(0.3)  # now it is inside
    assert thread.is_alive(), "the kernel must be longer than this test waits"
    told = time.perf_counter()
    session.cancel()
    thread.join(30)
    bb.set_num_threads(before)
    assert len(errors) == 1
    assert time.perf_counter() - told < 5, "of a kernel that takes much longer"
    assert session.value("v") == 0
    assert session.run("v") == 0, "and the session goes on"


CTRL_C = """
import os, signal, threading, time
import numpy as np
import backblocks as bb
from tests.graph.test_cancelling import FED, long_page

session = bb.Session(long_page())
threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
begun = time.perf_counter()
try:
    session.run([], {"x": FED}, ["add"])
except KeyboardInterrupt:
    print("interrupted after", time.perf_counter() - begun)
print("v", session.value("v"), "and", session.run("v"))
print("sum", bb.raw_ops.MaxPool(input=np.ones([1, 64, 64, 64], np.float32), ksize=[1, 2, 2, 1],
                               strides=[1, 2, 2, 1], padding="VALID").sum())
"""


def test_ctrl_c_ends_a_long_kernel_and_leaves_the_variables_whole():
    done = subprocess.run(  # noqa: S603 - our own text
        [sys.executable, "-c", CTRL_C], capture_output=True, text=True, timeout=60, check=True
    )
    first, *rest = done.stdout.splitlines()
    assert first.startswith("interrupted after")
    assert float(first.split()[-1]) < 6
    assert rest == ["v 0.0 and 0.0", "sum 65536.0"]
