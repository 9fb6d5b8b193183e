"""What ends a run before its time: cancel and Ctrl-C, between blocks and inside long kernels."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import backblocks as bb
from backblocks.ops._kernels import Stop

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
    session.subscribe(lambda event: begun.set() if event.block.op.name == "Conv3D" else None)

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


def square(n, dtype, *front):
    return np.ones([*front, n, n], dtype)


LONG = {
    "mat_mul": lambda x: ops.mat_mul(x, square(2500, np.int64), transpose_b=True),
    "batch_mat_mul_v2": lambda x: ops.batch_mat_mul_v2(x, square(1200, np.int32)),
    "einsum": lambda x: ops.einsum([x, square(5000, np.float32)], equation="ij,jk->ik"),
    "erf": lambda x: ops.erf(x),
    "top_k_v2": lambda x: ops.top_k_v2(x, 9).values,
}
LONG_FED = {
    "mat_mul": lambda: square(2500, np.int64),
    "batch_mat_mul_v2": lambda: square(1200, np.int32, 4),
    "einsum": lambda: square(5000, np.float32),
    "erf": lambda: np.full(40_000_000, 0.5, np.float32),
    "top_k_v2": lambda: np.random.default_rng(0).random(30_000_000, np.float32),
}


@pytest.mark.parametrize("name", LONG)
def test_cancel_ends_what_numpy_computes(name):
    fed = LONG_FED[name]()
    with bb.Scope() as page:
        ops.identity(LONG[name](bb.placeholder(fed.shape, fed.dtype, name="x")), name="y")
    session, begun = bb.Session(page, cache_bytes=0), threading.Event()
    session.subscribe(lambda event: begun.set())
    thread, errors = in_a_thread(lambda: session.run("y", {"x": fed}))
    assert begun.wait(30)
    time.sleep(0.3)  # now it is inside
    assert thread.is_alive(), "it must be longer than this test waits"
    told = time.perf_counter()
    session.cancel()
    thread.join(60)
    assert time.perf_counter() - told < 1.5, "of what takes much longer"
    assert [type(error) for error in errors] == [bb.Cancelled]


CTRL_C = """
import os, signal, threading, time
import numpy as np
import backblocks as bb
from backblocks.ops._kernels import Stop
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


# -- cancelling is never lost -------------------------------------------------------------------


@pytest.fixture
def counting():
    with bb.Scope() as page:
        n = bb.variable(np.int32(0), name="n")
        ops.assign_add(n, 1, name="count")
    return bb.Session(page)


def in_a_thread(work):
    """What it raised, when it is over."""
    errors = []

    def guarded():
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    return thread, errors


def test_cancel_ends_a_run_that_waits_for_its_turn(counting):
    inside, go = threading.Event(), threading.Event()
    end = counting.subscribe(lambda event: (inside.set(), go.wait(20)))
    first, first_errors = in_a_thread(lambda: counting.run([], targets=["count"]))
    assert inside.wait(20)
    end()
    second, second_errors = in_a_thread(lambda: counting.run([], targets=["count"]))
    wait_for(lambda: len(counting._stops) == 2)
    assert counting.cancel()
    go.set()
    first.join(20)
    second.join(20)
    assert [type(e) for e in (*first_errors, *second_errors)] == [bb.Cancelled] * 2
    assert counting.value("n") == 0


def test_cancel_says_whether_there_was_a_run_and_leaves_the_next_alone(counting):
    assert not counting.cancel()
    counting.run([], targets=["count"])
    assert counting.value("n") == 1


def test_a_stop_that_is_set_first_ends_the_run_that_comes(counting):
    stop = Stop()
    stop.set()
    for _ in range(5):  # also when its steps are written out
        with pytest.raises(bb.Cancelled):
            counting.run([], targets=["count"], stop=stop)
    with pytest.raises(bb.Cancelled):
        counting.run("n", stop=stop)
    assert counting.run("n") == 0


def test_stopping_a_runner_now_ends_the_step_that_is_about_to_begin():
    asked, go = threading.Event(), threading.Event()

    def feeds(step):
        asked.set()
        go.wait(20)
        return {"x": FED}

    runner = bb.Runner(bb.Session(long_page()), targets=["add"], feeds=feeds)
    runner.start()
    assert asked.wait(20)
    stopping, errors = in_a_thread(lambda: runner.stop(now=True))
    wait_for(lambda: runner._stopping)
    told = time.perf_counter()
    go.set()
    stopping.join(30)
    assert not errors
    assert (runner.state, runner.count) == ("stopped", 0)
    assert time.perf_counter() - told < 5, "of a kernel that takes much longer"


def test_reset_waits_for_the_run_in_another_thread(counting):
    inside, go = threading.Event(), threading.Event()
    end = counting.subscribe(lambda event: (inside.set(), go.wait(20)))
    running, _ = in_a_thread(lambda: counting.run([], targets=["count"]))
    assert inside.wait(20)
    resetting, errors = in_a_thread(counting.reset)
    resetting.join(0.1)
    assert resetting.is_alive()
    go.set()
    running.join(20)
    resetting.join(20)
    end()
    assert not errors
    assert counting.value("n") == 0, "what the run left is gone"


@pytest.mark.parametrize("what", ["run", "reset", "save", "restore", "use"])
def test_what_would_wait_for_its_own_run_is_refused(counting, tmp_path, what):
    given = {"run": "n", "save": tmp_path / "n", "restore": tmp_path / "n", "use": counting.graph}
    arguments = [given[what]] if what in given else []
    counting.subscribe(lambda event: getattr(counting, what)(*arguments))
    with pytest.raises(bb.OpError, match=rf"Session\.{what}: cannot be called by a listener"):
        counting.run([], targets=["count"])
    assert counting.value("n") == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_listener_of_blocks_may_stop_the_runner(threads):
    before = bb.get_num_threads()
    bb.set_num_threads(threads)
    with bb.Scope() as page:
        n = bb.variable(np.int32(0), name="n")
        ops.assign_add(n, 1, name="count")
        x = bb.placeholder([1 << 20], name="x")
        for _ in range(2):
            ops.sqrt(x)
    runner = bb.Runner(bb.Session(page), targets=["count", "Sqrt", "Sqrt_1"])
    runner.feeds = lambda step: {"x": np.full(1 << 20, step, np.float32)}
    seen = []

    def listener(event):
        if event.block.op.name == "Sqrt" and runner.count == 2:
            seen.append(threading.get_ident())
            runner.stop(now=True)

    runner.session.subscribe(listener)
    running, errors = in_a_thread(lambda: runner.run(steps=100))
    running.join(20)
    bb.set_num_threads(before)
    assert not running.is_alive()
    assert not errors
    assert seen
    assert (runner.count, runner.session.value("n")) == (2, 2)


def test_an_initial_value_that_is_asked_for_late_does_not_undo_a_run(monkeypatch, counting):
    inside, go = threading.Event(), threading.Event()
    compute = bb.Session._initial_value

    def slowly(session, variable, stop):
        value = compute(session, variable, stop)
        if not inside.is_set():
            inside.set()
            go.wait(20)
        return value

    monkeypatch.setattr(bb.Session, "_initial_value", slowly)
    asking, errors = in_a_thread(lambda: counting.value("n"))
    assert inside.wait(20)
    counting.run([], targets=["count"])
    go.set()
    asking.join(20)
    assert not errors
    assert counting.value("n") == 1
