"""The executors: serial and parallel, within a memory limit, with listeners."""

import threading
import time
import tracemalloc

import numpy as np
import pytest

import backblocks as bb
from backblocks.errors import OpMemoryError
from backblocks.graph.compile import _parallel_steps
from backblocks.graph.events import Cancelled, before_block
from backblocks.graph.program import build_program
from backblocks.ops._op import REGISTRY, op

ops = bb.ops
LARGE = 1 << 19
"""Numbers of a tensor that is worth a thread of its own."""


@pytest.fixture
def two_threads():
    before = bb.get_num_threads()
    bb.set_num_threads(2)
    yield
    bb.set_num_threads(before)


def wide_page(width=4):
    with bb.Scope() as page:
        x = bb.placeholder([LARGE], name="x")
        branches = [ops.reverse_v2(x + float(k), [0]) for k in range(width)]
        ops.add_n(branches, name="sum")
    return page


def slowed(monkeypatch, op, meet):
    """Has every call of an op's reference implementation wait at `meet` first."""
    reference = op.reference

    def waiting(*args, **attrs):
        meet()
        return reference(*args, **attrs)

    monkeypatch.setattr(op, "reference", waiting)


def test_blocks_that_do_not_wait_for_each_other_run_at_once(monkeypatch, two_threads):
    barrier = threading.Barrier(2, timeout=20)  # breaks unless two calls are inside together
    met = []
    slowed(monkeypatch, REGISTRY["ReverseV2"], lambda: met.append(barrier.wait()))
    session = bb.Session(wide_page(4))
    total = session.run("sum", {"x": np.ones(LARGE, np.float32)})
    np.testing.assert_array_equal(total, np.full(LARGE, 1 + 2 + 3 + 4, np.float32))
    assert len(met) == 4


def test_one_thread_runs_one_after_another(monkeypatch):
    inside, most, lock = 0, 0, threading.Lock()

    def meet():
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.01)
        with lock:
            inside -= 1

    slowed(monkeypatch, REGISTRY["ReverseV2"], meet)
    bb.set_num_threads(1)
    try:
        bb.Session(wide_page(4)).run("sum", {"x": np.ones(LARGE, np.float32)})
    finally:
        bb.set_num_threads(2)
    assert most == 1


def test_side_by_side_gives_the_same_numbers_and_versions(two_threads):
    rng = np.random.default_rng(0)
    with bb.Scope() as page:
        v = bb.variable(rng.normal(size=LARGE).astype(np.float32), name="v")
        a = ops.tanh(v) * 2.0
        b = ops.exp(ops.neg(ops.square(v)))
        grown = ops.assign_add(v, ops.mul(a, b), name="grow")
        c = ops.sin(grown)
        ops.add_n([a, b, c], name="y")
    sessions = bb.Session(page), bb.Session(page)
    for _ in range(3):
        bb.set_num_threads(2)
        together = sessions[0].run("y")
        bb.set_num_threads(1)
        alone = sessions[1].run("y")
        np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(sessions[0].value("v"), sessions[1].value("v"))


def test_an_error_beside_others_names_its_block_and_leaves_no_thread(two_threads):
    with bb.Scope() as page:
        x = bb.placeholder([None], name="x")
        good = ops.sqrt(x)
        bad = ops.reshape(x, bb.placeholder([2], "int32", name="sizes"), name="bad")
        ops.mul(good, ops.reshape(bad, [-1]), name="y")
    session = bb.Session(page)
    before = threading.active_count()
    with pytest.raises(bb.OpError) as caught:
        session.run("y", {"x": np.ones(LARGE, np.float32), "sizes": [3, 7]})
    assert caught.value.block == "bad"
    assert threading.active_count() == before


def test_cancel_ends_blocks_that_run_side_by_side(monkeypatch, two_threads):
    session = bb.Session(wide_page(8))
    slowed(monkeypatch, REGISTRY["ReverseV2"], session.cancel)
    with pytest.raises(Cancelled):
        session.run("sum", {"x": np.ones(LARGE, np.float32)})


# -- memory -------------------------------------------------------------------------------------


def chain(length, size=1000):
    with bb.Scope() as page:
        x = bb.placeholder([size], name="x")
        for k in range(length):
            x = ops.neg(x, name=f"n{k}")
    return page


def test_the_peak_is_known_before_the_run_and_reported_after_it():
    session = bb.Session(chain(10), cache_bytes=0)
    session.run("n9", {"x": np.ones(1000, np.float32)})
    assert session.report.peak_bytes == 3 * 4000, "what is fed, one input and one output"


def test_sizes_that_are_not_known_are_measured():
    with bb.Scope() as page:
        x = bb.placeholder([4000], "bool", name="x")
        ops.cast(ops.where(x), DstT="float64", name="y")
    session = bb.Session(page, cache_bytes=0)
    session.run("y", {"x": np.ones(4000, bool)})
    assert session.report.peak_bytes == 4000 + 2 * 32000


def test_the_peak_of_blocks_side_by_side_is_measured(two_threads):
    session = bb.Session(wide_page(3), cache_bytes=0)
    session.run("sum", {"x": np.ones(LARGE, np.float32)})
    assert 4 * 4 * LARGE <= session.report.peak_bytes <= 12 * 4 * LARGE


def random_page(seed):
    """Large blocks of one to three inputs, some far back, so that much can be computed ahead."""
    rng = np.random.default_rng(seed)
    with bb.Scope() as page:
        values = [bb.placeholder([LARGE], name="x")]
        for _ in range(20):
            chosen = [values[i] for i in rng.integers(0, len(values), rng.integers(1, 4))]
            values.append(ops.add_n([ops.reverse_v2(value, [0]) for value in chosen]))
        ops.add_n(values[-4:], name="y")
    return page


@pytest.mark.parametrize("seed", range(6))
def test_side_by_side_keeps_to_the_estimate_and_to_the_limit(two_threads, seed):
    page, feeds = random_page(seed), {"x": np.arange(LARGE, dtype=np.float32) % 7}
    bb.set_num_threads(1)
    alone = bb.Session(page, cache_bytes=0)
    expected = alone.run("y", feeds)
    bb.set_num_threads(4)
    session = bb.Session(page, cache_bytes=0)
    estimate = session.estimate(["y"], feeds)
    assert alone.report.peak_bytes == estimate.serial_peak <= estimate.peak
    np.testing.assert_array_equal(session.run("y", feeds), expected)
    assert session.report.peak_bytes <= estimate.peak
    session.memory_limit = estimate.serial_peak + 4 * LARGE
    np.testing.assert_array_equal(session.run("y", feeds), expected)
    assert session.report.peak_bytes <= session.memory_limit
    session.memory_limit = estimate.serial_peak
    np.testing.assert_array_equal(session.run("y", feeds), expected)
    assert session.report.peak_bytes <= session.memory_limit
    session.memory_limit -= 1
    with pytest.raises(OpMemoryError) as caught:
        session.run("y", feeds)
    assert caught.value.block == estimate.largest.name


def test_what_blocks_that_run_will_give_counts_before_they_have_given_it(monkeypatch, two_threads):
    barrier = threading.Barrier(2, timeout=20)
    slowed(monkeypatch, REGISTRY["ReverseV2"], barrier.wait)
    session = bb.Session(wide_page(2), cache_bytes=0)
    session.run("sum", {"x": np.ones(LARGE, np.float32)})
    assert session.report.peak_bytes >= 4 * LARGE * (1 + 2 + 2), "two inputs and two outputs"


def test_initial_values_keep_to_the_limit():
    with bb.Scope() as page:
        wide = ops.broadcast_to(np.float32(1), [1024, 1024], name="wide")
        bb.variable(ops.sum(wide, [0, 1]), name="v")
    with pytest.raises(OpMemoryError) as caught:
        bb.Session(page, memory_limit=1 << 20).run("v")
    assert caught.value.block == "wide"


def test_a_run_beyond_the_limit_is_refused_before_it_starts():
    with bb.Scope() as page:
        x = bb.placeholder([1024, 1], name="x")
        wide = ops.broadcast_to(x, [1024, 1024], name="wide")
        ops.sum(wide, [0, 1], name="y")
    events = []
    session = bb.Session(page, memory_limit=1 << 20)
    session.subscribe(events.append)
    with pytest.raises(OpMemoryError, match=r"4 MiB.*1 MiB may be used") as caught:
        session.run("y", {"x": np.ones([1024, 1], np.float32)})
    assert caught.value.block == "wide"
    assert not events
    session.memory_limit = 8 << 20
    assert session.run("y", {"x": np.ones([1024, 1], np.float32)}) == 1024 * 1024


def test_more_than_the_machine_has_is_refused():
    with bb.Scope() as page:
        x = bb.placeholder([1 << 20], "int8", name="x")
        parts = [ops.broadcast_to(x, [1 << 13, 1 << 20]) for _ in range(200)]
        ops.add_n(parts, name="y")
    with pytest.raises(OpMemoryError, match="may be used"):
        bb.Session(page).run("y", {"x": np.zeros(1 << 20, np.int8)})


# -- events -------------------------------------------------------------------------------------


def test_listeners_see_every_block_and_how_far_the_run_is():
    events = []
    session = bb.Session(chain(3))
    session.subscribe(events.append)
    session.run("n2", {"x": np.ones(1000, np.float32)})
    told = [(e.kind, e.block.name, e.done, e.total) for e in events]
    assert told == [
        ("started", "n0", 0, 3), ("finished", "n0", 1, 3),
        ("started", "n1", 1, 3), ("finished", "n1", 2, 3),
        ("started", "n2", 2, 3), ("finished", "n2", 3, 3),
    ]  # fmt: skip
    assert all(e.bytes == 4000 and e.seconds > 0 for e in events if e.kind == "finished")
    events.clear()
    session.run("n2", {"x": np.ones(1000, np.float32)})
    assert [(e.kind, e.done) for e in events] == [("cached", 1), ("cached", 2), ("cached", 3)]


@pytest.fixture
def noted():
    """The numbers of blocks that were about to be computed, as the listener before_block gets them."""
    numbers = []
    token = before_block.set(numbers.append)
    yield numbers
    before_block.reset(token)


@pytest.mark.parametrize("how", ["native", "with a listener", "parallel", "with a branch"])
def test_every_executor_calls_the_listener_before_each_block(noted, two_threads, how):
    size = LARGE if how == "parallel" else 4
    with bb.Scope() as page:
        x = bb.placeholder([size], name="x")
        taken = ops.switch(x, bb.placeholder([], "bool", name="p"))[1] if "branch" in how else x
        ops.add_n([ops.reverse_v2(taken + 1.0, [0]), ops.reverse_v2(taken + 2.0, [0])], name="y")
    session = bb.Session(page, cache_bytes=0)
    if how == "with a listener":
        session.subscribe(lambda event: None)
    feeds = {"x": np.ones(size, np.float32)} | ({"p": True} if "branch" in how else {})
    session.run("y", feeds)  # which compiles too
    noted.clear()
    session.run("y", feeds)
    steps = [b.number for b in page.graph if b.op.name not in ("Placeholder", "Const")]
    assert sorted(noted) == steps
    assert noted[-1] == page.graph["y"].number


def test_the_listener_is_called_before_blocks_that_are_folded(noted):
    with bb.Scope() as page:
        folded = ops.neg(np.ones(3, np.float32), name="folded")
    bb.Session(page).run(folded)
    assert noted == [page.graph["folded"].number]


def test_buffers_are_not_seen_by_reference_implementations_or_callers():
    """A small chain whose middle goes through an op without a kernel, and whose end is fetched."""
    with bb.Scope() as page:
        x = bb.variable(np.arange(4, dtype=np.float32), name="x")
        doubled = ops.add_v2(x, x)
        pinned = ops.reverse_v2(ops.neg(doubled), [0])
        end = ops.mul(pinned, ops.square(doubled))
        more = ops.assign_add(x, np.ones(4, np.float32)).block
    session = bb.Session(page)
    runs = [session.run([end, pinned], targets=[more]) for _ in range(4)]
    for k, (product, reverse) in enumerate(runs):
        now = np.arange(4, dtype=np.float32) + k
        np.testing.assert_array_equal(reverse, -2 * now[::-1])
        np.testing.assert_array_equal(product, -2 * now[::-1] * (2 * now) ** 2)


def test_an_op_may_keep_the_arrays_that_it_gets():
    kept = []

    @op("Keeper", "float32 -> float32", stateful=True)
    def keeper(x):
        kept.append(x)
        return x + 1

    keeper.shape(lambda x: x.shape)
    try:
        with bb.Scope() as page:
            x = bb.variable(np.zeros(3, np.float32), name="x")
            keeper(ops.neg(ops.add_v2(x, x)), name="keeper")
            more = ops.assign_add(x, np.ones(3, np.float32)).block
        session = bb.Session(page)
        for _ in range(4):
            session.run("keeper", targets=[more])
    finally:
        del REGISTRY["Keeper"]
    assert [array[0] for array in kept] == [0, -2, -4, -6], "they were no buffers"


def test_values_that_share_their_place_with_another_are_those_of_the_run():
    start = np.arange(6, dtype=np.float32).reshape(2, 3)
    with bb.Scope() as page:
        x = bb.variable(start, name="x")
        row = ops.reshape(ops.square(x), [6])
        again = ops.expand_dims(ops.reshape(row, [3, 2]), 0)
        fetched = ops.reshape(ops.neg(x), [6])
        total = ops.sum(row, [0]) + ops.sum(ops.mul(again, again), [0, 1, 2])
        more = ops.assign_add(x, np.ones((2, 3), np.float32)).block
    session = bb.Session(page)
    kept = [session.run([total, fetched], targets=[more]) for _ in range(6)]
    for k, (sums, negative) in enumerate(kept):  # the last ones were written out
        now = start + k
        np.testing.assert_allclose(sums, np.sum(now**2) + np.sum(now**4), rtol=1e-6)
        np.testing.assert_array_equal(negative, -now.ravel())


def test_to_see_what_can_run_side_by_side_takes_memory_in_proportion():
    with bb.Scope():
        x = y = bb.placeholder([1 << 18])
        for _ in range(5000):
            y = bb.ops.neg(y)
    steps = build_program([y], [x], []).steps
    sizes = dict.fromkeys(range(10_000), 1 << 20)
    tracemalloc.start()
    try:
        assert _parallel_steps(steps, sizes) == set()
        assert tracemalloc.get_traced_memory()[1] < 3 << 20
    finally:
        tracemalloc.stop()
