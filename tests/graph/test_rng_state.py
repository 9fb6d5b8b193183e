"""Random blocks in sessions: which numbers they draw, and when they draw the same."""

import threading

import numpy as np
import pytest

import backblocks as bb
from backblocks.graph.events import Cancelled

ops = bb.ops


@pytest.fixture
def page():
    with bb.Scope() as page:
        ops.random_uniform([3], dtype="float32", seed=1, seed2=2, name="seeded")
        ops.random_uniform([3], dtype="float32", name="a")
        ops.random_uniform([3], dtype="float32", name="b")
    return page


def test_runs_draw_on_as_they_do_in_tensorflow():
    with bb.Scope() as page:
        seeds = {"seed": 1, "seed2": 2}
        blocks = [
            ops.random_uniform([3], dtype="float32", **seeds),
            ops.truncated_normal([3], dtype="float32", **seeds),
            ops.random_shuffle(np.arange(6), **seeds),
            ops.multinomial(np.zeros((1, 3), np.float32), 5, **seeds),
            ops.random_uniform_int([4], 0, 100, **seeds),
        ]
    # What a session of TensorFlow 2.21 gives in three runs.
    tensorflow = [
        [
            [0.406396746635437, 0.8575996160507202, 0.05539584159851074],
            [-1.0467792749404907, 0.8397045731544495, 1.235836386680603],
            [5, 1, 4, 0, 3, 2],
            [[0, 1, 0, 0, 2]],
            [99, 15, 2, 9],
        ],
        [
            [0.16840732097625732, 0.8891061544418335, 0.5354969501495361],
            [-1.2113008499145508, 1.4475805759429932, 0.025218026712536812],
            [5, 1, 4, 0, 2, 3],
            [[0, 1, 0, 1, 1]],
            [79, 30, 49, 65],
        ],
        [
            [0.49945497512817383, 0.06284701824188232, 0.4600658416748047],
            [0.453302264213562, 1.087654709815979, 1.1917062997817993],
            [0, 3, 5, 1, 2, 4],
            [[1, 0, 0, 0, 2]],
            [45, 48, 26, 54],
        ],
    ]
    session = bb.Session(page)
    assert [[x.tolist() for x in session.run(blocks)] for _ in range(3)] == tensorflow
    session.reset()
    assert [x.tolist() for x in session.run(blocks)] == tensorflow[0]


def test_the_same_seed_gives_the_same_bits(page):
    def three_runs(seed):
        session = bb.Session(page, seed=seed)
        return [[x.tolist() for x in session.run(["seeded", "a", "b"])] for _ in range(3)]

    first = three_runs(1)
    assert three_runs(1) == first
    other = three_runs(2)
    for run, again in zip(first, other, strict=True):
        assert run[0] == again[0], "a block with a seed of its own does not care"
        assert run[1] != again[1]
    drawn = [tuple(x) for run in first for x in run]
    assert len(set(drawn)) == 9, "no two blocks and no two runs draw the same"


def test_what_else_runs_does_not_matter(page):
    alone, together = bb.Session(page, seed=7), bb.Session(page, seed=7)
    for _ in range(3):
        a = together.run(["a", "b"])[0].tolist()
        assert alone.run("a").tolist() == a


def test_numbers_follow_from_the_name_alone():
    def drawn(*names):
        with bb.Scope() as page:
            for name in names:
                ops.random_uniform([3], dtype="float32", name=name)
        return bb.Session(page, seed=3).run("a").tolist()

    assert drawn("a") == drawn("b", "a")


def test_without_a_seed_nobody_knows(page):
    assert bb.Session(page).run("a").tolist() != bb.Session(page).run("a").tolist()
    session = bb.Session(page)
    first = session.run("a").tolist()
    session.reset()
    assert session.run("a").tolist() != first


def test_one_run_draws_once(page):
    a = page.graph.symbol("a")
    with page:
        twice = ops.add_v2(a, a)
    got, drawn = bb.Session(page).run([twice, a])
    np.testing.assert_array_equal(got, drawn * 2)


def test_a_run_that_fails_draws_nothing(page):
    with page:
        good = bb.placeholder([], "bool", name="good")
        with page.running_after(page.graph["a"]):
            bb.raw_ops.Assert(condition=good, data=["stop"], name="check")
    session, other = bb.Session(page, seed=1), bb.Session(page, seed=1)
    for _ in range(2):
        with pytest.raises(bb.OpError, match="must hold"):
            session.run("a", {good: False}, targets=["check"])
    assert session.run("a").tolist() == other.run("a").tolist()
    session.subscribe(lambda event: session.cancel())
    with pytest.raises(Cancelled):
        session.run(["a", "b"])
    session._listeners.clear()
    assert session.run("a").tolist() == other.run("a").tolist()


def test_a_dead_block_draws_nothing():
    with bb.Scope() as page:
        pred = bb.placeholder([], "bool")
        way = ops.switch(np.array([2]), pred)
        x = ops.random_uniform(way.output_true, dtype="float32", name="x")
    session, other = bb.Session(page, seed=1), bb.Session(page, seed=1)
    first = session.run(x, {pred: True}).tolist()
    session.run([], {pred: False}, targets=["x"])
    assert first == other.run(x, {pred: True}).tolist()
    assert session.run(x, {pred: True}).tolist() == other.run(x, {pred: True}).tolist()


def test_variables_can_start_from_chance():
    with bb.Scope() as page:
        v = bb.variable(ops.truncated_normal([4], dtype="float32", name="start"))
        step = ops.assign_add(v, ops.ones_like(v))
    one, two = bb.Session(page, seed=5), bb.Session(page, seed=5)
    start = one.value(v)
    np.testing.assert_array_equal(one.run(step), start + 1)
    np.testing.assert_array_equal(two.value(v), start)
    assert not np.array_equal(bb.Session(page, seed=6).value(v), start)


@pytest.mark.parametrize("seed", [None, 5])
def test_variables_that_start_from_the_same_chance_start_alike(seed):
    with bb.Scope() as page:
        drawn = ops.random_standard_normal([4], dtype="float32")
        first, second = bb.variable(drawn, name="first"), bb.variable(drawn, name="second")
        copy = bb.variable(first, name="copy")
        both = bb.variable(copy + second, name="both")
        ops.assign_add(first, ops.ones_like(first), name="step")
    session = bb.Session(page, seed=seed)
    session.run([], targets=["step"])
    start = session.value("first") - 1
    np.testing.assert_allclose(session.value(second), start, atol=1e-6)
    np.testing.assert_array_equal(session.value(copy), session.value(second))
    np.testing.assert_array_equal(session.value(both), 2 * session.value(second))
    before = session.value(second)
    session.reset()
    assert np.array_equal(session.value(second), before) == (seed is not None)


def test_a_long_row_of_variables_that_start_from_each_other():
    with bb.Scope() as page:
        first, second = bb.variable(np.int64(0)), bb.variable(np.int64(1))
        for _ in range(60):
            first, second = second, bb.variable(first + second)
    assert bb.Session(page).value(second) == 2504730781961


def test_sizes_may_be_known_only_in_the_run():
    with bb.Scope() as page:
        sizes = bb.placeholder([None], "int32")
        x = ops.random_standard_normal(sizes, dtype="float64", seed=4)
    session = bb.Session(page)
    assert session.run(x, {sizes: [2, 3]}).shape == (2, 3)
    assert session.run(x, {sizes: [5]}).shape == (5,)


def test_side_by_side_they_draw_what_they_draw_alone():
    def drawn(threads):
        before = bb.get_num_threads()
        bb.set_num_threads(threads)
        try:
            with bb.Scope() as page:
                parts = [ops.random_uniform([300_000], dtype="float32") for _ in range(4)]
            session = bb.Session(page, seed=1)
            session.run(parts)
            return session.run(parts)
        finally:
            bb.set_num_threads(before)

    for a, b in zip(drawn(1), drawn(4), strict=True):
        np.testing.assert_array_equal(a, b)


def test_sessions_in_several_threads_do_not_meet(page):
    want = [bb.Session(page, seed=i).run("a").tolist() for i in range(4)]
    got = [None] * 4

    def work(i):
        session = bb.Session(page, seed=i)
        got[i] = session.run("a").tolist()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == want


def test_calls_without_a_session_draw_the_first_numbers():
    for _ in range(2):
        x = bb.raw_ops.RandomUniform(shape=[2], dtype="float32", seed=1, seed2=2)
        assert x.tolist() == [0.406396746635437, 0.8575996160507202]
    unseeded = [bb.raw_ops.RandomUniform(shape=[2], dtype="float32").tolist() for _ in range(2)]
    assert unseeded[0] != unseeded[1]


def test_random_blocks_are_never_remembered(page):
    session = bb.Session(page, seed=1)
    session.run(["a"])
    session.run(["a"])
    assert session.report.cached == 0
    assert session.report.executed == 1


@pytest.mark.parametrize("deterministic", [False, True])
def test_windows_of_random_sizes_follow_from_the_seed_too(deterministic):
    with bb.Scope() as page:
        pool = ops.fractional_max_pool(
            np.arange(400.0).reshape(1, 20, 20, 1),
            pooling_ratio=[1.0, 1.7, 1.7, 1.0],
            deterministic=deterministic,
        )

    def three_runs(seed):
        session = bb.Session(page, seed=seed)
        return [session.run(pool.row_pooling_sequence).tolist() for _ in range(3)]

    first = three_runs(1)
    assert three_runs(1) == first
    assert three_runs(2) != first
    assert (first[0] == first[1] == first[2]) == deterministic
