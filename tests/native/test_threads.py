"""The compiled kernels on several threads: the same bits, from any thread, and after a fork."""

import os
import signal
import subprocess
import sys
import time
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


IMAGES, VOLUMES = (4, 28, 30, 32), (1, 8, 14, 14, 32)
ONES = {2: [1] * 4, 3: [1] * 5}


def results_of_all_families(seed):
    """A result of pools, convolutions, depthwise convolutions and dilations."""
    rng = np.random.default_rng(seed)
    raw, same = bb.raw_ops, {"padding": "SAME"}
    x, volume = (rng.standard_normal(shape).astype(np.float32) for shape in (IMAGES, VOLUMES))
    f, each = (rng.standard_normal(n).astype(np.float32) for n in ((3, 3, 32, 32), (3, 3, 32, 1)))
    flat, deep = {**same, "strides": ONES[2]}, {**same, "strides": ONES[3]}
    pool = {**deep, "ksize": [1, 3, 3, 3, 1]}
    y = raw.MaxPool3D(input=volume, **pool)
    return [
        y,
        raw.MaxPool3DGrad(orig_input=volume, orig_output=y, grad=volume, **pool),
        raw.AvgPool3DGrad(orig_input_shape=volume.shape, grad=volume, **pool),
        raw.Conv2D(input=x, filter=f, **flat),
        raw.Conv2DBackpropInput(input_sizes=x.shape, filter=f, out_backprop=x, **flat),
        raw.Conv2DBackpropFilter(input=x, filter_sizes=f.shape, out_backprop=x, **flat),
        raw.Conv3D(input=volume, filter=f[:, None], **deep),
        raw.DepthwiseConv2dNative(input=x, filter=each, **flat),
        raw.DepthwiseConv2dNativeBackpropFilter(
            input=x, filter_sizes=each.shape, out_backprop=x, **flat
        ),
        raw.Dilation2D(input=x, filter=each[..., 0], rates=ONES[2], **flat),
        raw.Dilation2DBackpropInput(
            input=x, filter=each[..., 0], out_backprop=x, rates=ONES[2], **flat
        ),
    ]


def test_many_python_threads_at_once():
    bb.set_num_threads(2)
    expected = [[r.tobytes() for r in results_of_all_families(seed)] for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            found = pool.map(results_of_all_families, range(8))
            assert [[r.tobytes() for r in results] for results in found] == expected


def test_a_call_while_another_runs():
    x, f = np.ones((8, 128, 128, 64), np.float32), np.ones((5, 5, 64, 64), np.float32)
    expected, during = gradient(), 0
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(bb.raw_ops.Conv2D, input=x, filter=f, strides=ONES[2], padding="VALID")
        while not long.done():
            assert (gradient() == expected).all()
            during += not long.done()
    assert during > 0
    assert (long.result() == 5 * 5 * 64).all()


FORKS = """
import os, sys, threading
import numpy as np
import backblocks as bb

def pool():
    dx = bb.raw_ops.AvgPool3DGrad(
        orig_input_shape=[1, 32, 32, 32, 64], grad=np.ones((1, 16, 16, 16, 64), np.float32),
        ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID",
    )
    return (dx == 1 / 8).all()

def conv(size=64):
    y = bb.raw_ops.Conv2D(
        input=np.ones((2, size, 64, 32), np.float32), filter=np.ones((3, 3, 32, 32), np.float32),
        strides=[1] * 4, padding="VALID",
    )
    return (y == 3 * 3 * 32).all()

def both():
    return pool() and conv()

def again_and_again():
    for i in range(10**9):
        assert conv(20 + i % 1000)  # each size is planned anew

bb.set_num_threads(2)
if sys.argv[1] != "unused":
    both()  # the threads are there before the fork
if sys.argv[1] == "in a kernel":
    threading.Thread(target=again_and_again, daemon=True).start()
for i in range(12 if sys.argv[1] == "in a kernel" else 3):
    child = os.fork()
    if child == 0:
        os._exit(0 if both() and conv(20 + i) else 1)
    assert os.waitpid(child, 0)[1] == 0
assert both()
os._exit(0)  # without waiting for the thread
"""


@pytest.mark.parametrize("threads", ["used", "unused", "in a kernel"])
def test_a_forked_child_can_call(threads):
    # -W: Python itself warns of forks in a process with threads.
    command = [sys.executable, "-W", "ignore", "-c", FORKS, threads]
    subprocess.run(command, check=True, timeout=60)  # noqa: S603


FORKS_IN_PRODUCTS = """
import os, threading
import numpy as np
import backblocks as bb

bb.set_num_threads(2)
a = np.ones((400, 400), np.float32)


def product():
    return (bb.raw_ops.MatMul(a=a, b=a) == 400).all()


def again_and_again():
    while product():
        pass


for _ in range(4):
    threading.Thread(target=again_and_again, daemon=True).start()
for _ in range(30):
    child = os.fork()
    if child == 0:
        os._exit(0 if product() else 1)
    assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""


def test_products_in_threads_do_not_keep_a_process_from_forking():
    command = [sys.executable, "-W", "ignore", "-c", FORKS_IN_PRODUCTS]
    subprocess.run(command, check=True, timeout=100)  # noqa: S603


FIRST_FORK = """
import os, sys
import backblocks

child = os.fork()
if child == 0:
    os._exit(0 if backblocks.ops.relu([-1.0, 2.0]).tolist() == [0, 2] else 1)
sys.exit(os.waitpid(child, 0)[1])
"""


def test_the_first_fork_prints_nothing():
    command = [sys.executable, "-c", FIRST_FORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)  # noqa: S603
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


EXITS = """
import sys, threading, time
import numpy as np
import backblocks as bb

x, f = np.ones((4, 32, 32, 32), np.float32), np.ones((3, 3, 32, 32), np.float32)
a = np.ones((300, 300), np.float32)
y = bb.raw_ops.Conv2D(input=bb.constant(x), filter=bb.constant(f), strides=[1] * 4, padding="SAME")
bb.set_num_threads(2)


def conv():
    bb.raw_ops.Conv2D(input=x, filter=f, strides=[1] * 4, padding="SAME")


def pool():
    bb.raw_ops.MaxPool(input=x, ksize=[1, 2, 2, 1], strides=[1] * 4, padding="SAME")


def tiny():
    bb.raw_ops.MaxPool(input=x[:1, :4, :4, :8], ksize=[1, 2, 2, 1], strides=[1] * 4, padding="SAME")


def product():
    bb.raw_ops.MatMul(a=a, b=a)


def session():
    bb.Session(cache_bytes=0).run(y)


def again_and_again(call):
    while True:
        call()


call = globals()[sys.argv[1]]
call()
for _ in range(3):
    threading.Thread(target=again_and_again, args=[call], daemon=True).start()
time.sleep(float(sys.argv[2]))
sys.stdout.write("not flushed")
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", ["conv", "pool", "tiny", "product", "session"])
def test_python_exits_while_kernels_run_in_daemon_threads(kind):
    for delay in range(6):
        command = [sys.executable, "-c", EXITS, kind, str(delay / 100)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)  # noqa: S603
        assert (done.returncode, done.stdout, done.stderr) == (0, "not flushed", "")


INTERRUPTED = """
import numpy as np
import backblocks as bb

x, f = np.ones((4, 64, 64, 64), np.float32), np.ones((3, 3, 64, 64), np.float32)

def conv():
    return bb.raw_ops.Conv2D(input=x, filter=f, strides=[1] * 4, padding="VALID")

conv()
try:
    print("running", flush=True)
    while True:
        conv()
except KeyboardInterrupt:
    print("interrupted", flush=True)
assert (conv() == 3 * 3 * 64).all()
print("works", flush=True)
"""


def test_an_interrupt_ends_a_run_of_kernels_and_harms_nothing():
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout.readline() == "running\n"
        time.sleep(0.3)  # into the loop
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - sent < 5  # a call takes some hundredths of a second
        assert process.stdout.read() == "works\n"
    assert process.returncode == 0


INTERRUPTED_INSIDE = """
import signal
import time
import numpy as np
import backblocks as bb

bb.set_num_threads(1)
signal.signal(signal.SIGALRM, signal.default_int_handler)
whole, images = 0.0, 1
while whole < 0.4:  # long enough to be looked at
    images *= 2
    x = np.ones((images, 28, 28, 128), np.float32)
    dw = np.empty((3, 3, 128, 128), np.float32)
    began = time.perf_counter()
    how = {"filter_sizes": dw.shape, "strides": [1] * 4, "padding": "SAME", "out": dw}
    bb.raw_ops.Conv2DBackpropFilter(input=x, out_backprop=x, **how)
    whole = time.perf_counter() - began
dw.fill(7)
signal.setitimer(signal.ITIMER_REAL, whole / 10)
try:
    bb.raw_ops.Conv2DBackpropFilter(input=x, out_backprop=x, **how)
except KeyboardInterrupt:
    assert (dw == 7).all(), "it went on to the end"
    print("interrupted", flush=True)
"""


def test_an_interrupt_ends_a_kernel_that_is_made_of_short_loops():
    command = [sys.executable, "-c", INTERRUPTED_INSIDE]
    done = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)  # noqa: S603
    assert done.stdout == "interrupted\n"


INTERRUPTED_PRODUCT = """
import signal, time
import numpy as np
import backblocks as bb

signal.signal(signal.SIGALRM, signal.default_int_handler)
bb.set_num_threads(1)
a, b = np.ones((30000, 3000), np.float32), np.ones((3000, 30000), np.float32)
signal.setitimer(signal.ITIMER_REAL, 1)
began = time.perf_counter()
try:
    bb.raw_ops.MatMul(a=a, b=b)  # a minute
except KeyboardInterrupt:
    assert time.perf_counter() - began < 6  # the signal comes after one
    print("interrupted", flush=True)
"""


def test_an_interrupt_ends_a_long_product():
    command = [sys.executable, "-c", INTERRUPTED_PRODUCT]
    done = subprocess.run(command, check=True, timeout=200, capture_output=True, text=True)  # noqa: S603
    assert done.stdout == "interrupted\n"
