"""The result cache of sessions: only what changed runs again, and answers are the same without it."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import backblocks as bb

ops = bb.ops


def computed(session, fetches, feeds=None, targets=()):
    """The names of the blocks that a run computes, and of those it has known."""
    events = []
    end = session.subscribe(events.append)
    session.run(fetches, feeds, targets)
    end()
    names = {
        kind: [e.block.name for e in events if e.kind == kind] for kind in ("finished", "cached")
    }
    assert session.report.executed == len(names["finished"])
    assert session.report.cached == len(names["cached"])
    return names["finished"], names["cached"]


@pytest.fixture
def page():
    with bb.Scope() as page:
        a = bb.placeholder([2], name="a")
        b = bb.placeholder([2], name="b")
        p = ops.square(a, name="p")
        q = ops.neg(b, name="q")
        ops.add_v2(p, q, name="sum")
    return page


def test_a_second_run_computes_only_what_changed(page):
    session = bb.Session(page)
    a, b = np.float32([1, 2]), np.float32([3, 4])
    assert computed(session, "sum", {"a": a, "b": b}) == (["p", "q", "sum"], [])
    assert computed(session, "sum", {"a": a, "b": b}) == ([], ["p", "q", "sum"])
    assert computed(session, "sum", {"a": a, "b": b + 1}) == (["q", "sum"], ["p"])
    assert computed(session, "sum", {"a": a, "b": b}) == ([], ["p", "q", "sum"]), "and back"
    assert computed(session, "p", {"a": a}) == ([], ["p"]), "also for another fetch"


def constant_page(number):
    with bb.Scope() as page:
        edited = ops.square(bb.constant(np.float32(number)), name="edited")
        other = ops.neg(bb.constant(np.float32(2)), name="other")
        x = bb.placeholder([None], name="x")
        ops.mul(x, ops.add_v2(edited, other, name="both"), name="y")
        ops.shape(x, name="sizes")
    return page


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_what_follows_from_constants_is_computed_once_after_each_change(cache_bytes):
    session = bb.Session(constant_page(3), cache_bytes=cache_bytes)
    constants = ["edited", "other", "both"]
    assert computed(session, ["both"]) == (constants, [])
    assert computed(session, ["both"]) == ([], constants)
    assert computed(session, ["other"]) == ([], ["other"]), "also for another fetch"
    session.use(constant_page(4))
    assert computed(session, ["both"]) == (["edited", "both"], ["other"])
    x = np.ones(3, np.float32)
    assert computed(session, ["y", "sizes"], {"x": x}) == (["sizes", "y"], constants)
    assert "sizes" in computed(session, ["y", "sizes"], {"x": x})[1]
    assert "sizes" in computed(session, ["y", "sizes"], {"x": x[:2]})[0]


def test_the_content_of_what_is_fed_counts_and_not_which_array_it_is(page):
    session = bb.Session(page)
    a, b = np.float32([1, 2]), np.float32([3, 4])
    session.run("sum", {"a": a, "b": b})
    assert computed(session, "sum", {"a": a.copy(), "b": b.copy()})[0] == []
    a[0] = 5
    assert computed(session, "sum", {"a": a, "b": b})[0] == ["p", "sum"]
    np.testing.assert_array_equal(session.run("sum", {"a": a, "b": b}), [22, 0])


def test_type_and_shape_belong_to_the_content():
    with bb.Scope() as page:
        x = bb.placeholder(None, name="x")
        n = bb.placeholder(None, "int32", name="n")
        ops.tanh(x, name="tanh")
        ops.neg(n, name="neg")
    session = bb.Session(page)
    one, two = np.zeros([2, 3], np.float32), np.zeros([3, 2], np.float32)
    assert session.run("tanh", {"x": one}).shape == (2, 3)
    assert session.run("tanh", {"x": two}).shape == (3, 2)
    with bb.Scope() as other:
        ops.neg(bb.placeholder(None, "float32", name="n"), name="neg")
    assert session.run("neg", {"n": np.int32([0])}).dtype == np.int32
    session.use(other)
    assert session.run("neg", {"n": np.float32([0])}).dtype == np.float32


def test_attributes_belong_to_the_key():
    x = np.float32([[1, 2], [3, 4]])
    session = bb.Session()
    for turned in (False, True, False):
        with bb.Scope() as page:
            ops.mat_mul(bb.placeholder([2, 2], name="x"), x, transpose_a=turned, name="y")
        session.use(page)
        expected = (x.T if turned else x) @ x
        np.testing.assert_array_equal(session.run("y", {"x": x}), expected)


def test_what_a_variable_holds_counts():
    with bb.Scope() as page:
        v = bb.variable(np.float32([1, 2]), name="v")
        ops.square(v, name="y")
        ops.assign(v, bb.placeholder([2], name="new"), name="set")
    session = bb.Session(page)
    assert computed(session, "y") == (["y"], [])
    assert computed(session, "y") == ([], ["y"])
    session.run([], {"new": [3, 4]}, ["set"])
    assert computed(session, "y") == (["y"], [])
    session.run([], {"new": [1, 2]}, ["set"])
    assert computed(session, "y") == ([], ["y"]), "the content it had before"


def test_what_depends_on_a_variable_that_the_run_changes_is_not_kept():
    with bb.Scope() as page:
        v = bb.variable(np.float32(0), name="v")
        step = ops.square(v, name="read")
        ops.assign_add(v, 1.0, name="count")
    session = bb.Session(page)
    for k in range(3):
        assert session.run([step], targets=["count"]) == [k * k]
    assert session.report.cached_bytes == 0


def test_the_caller_may_change_what_was_fetched(page):
    session = bb.Session(page)
    feeds = {"a": np.float32([1, 2]), "b": np.float32([0, 0])}
    session.run("sum", feeds)[:] = 7
    np.testing.assert_array_equal(session.run("sum", feeds), [1, 4])
    session.run("sum", feeds)[:] = 7
    np.testing.assert_array_equal(session.run("sum", feeds), [1, 4])


def test_what_is_only_borrowed_is_not_copied_and_stays_as_it_was(page):
    with page:
        n = bb.variable(np.zeros(2, np.float32), name="n")
        more = ops.assign_add(n, [1, 1], name="more")
    session = bb.Session(page)
    feeds = {"a": [1, 2], "b": [3, 4]}
    first = session.run(["p:y", more], feeds, borrow=True)
    second = session.run(["p:y", more], feeds, borrow=True)
    assert first[0] is second[0]
    assert (first[1].tolist(), second[1].tolist()) == ([1, 1], [2, 2])


def test_targets_run_until_they_are_known(page):
    session = bb.Session(page)
    feeds = {"a": np.float32([1, 2])}
    assert computed(session, [], feeds, ["p"]) == (["p"], [])
    assert computed(session, [], feeds, ["p"]) == ([], ["p"])


def test_no_more_is_kept_than_allowed():
    with bb.Scope() as page:
        ops.square(bb.placeholder([1000], name="x"), name="y")
    session = bb.Session(page, cache_bytes=10_000)
    for k in range(10):
        session.run("y", {"x": np.full(1000, k, np.float32)})
        assert session.report.cached_bytes <= 10_000
    assert computed(session, "y", {"x": np.full(1000, 9, np.float32)})[0] == []
    assert computed(session, "y", {"x": np.full(1000, 0, np.float32)})[0] == ["y"], "long gone"
    session.clear_cache()
    assert computed(session, "y", {"x": np.full(1000, 9, np.float32)})[0] == ["y"]


def test_without_remembering_everything_runs(page):
    session = bb.Session(page, cache_bytes=0)
    feeds = {"a": np.float32([1, 2]), "b": np.float32([3, 4])}
    for _ in range(2):
        assert computed(session, "sum", feeds) == (["p", "q", "sum"], [])


def test_an_edited_page_keeps_variables_and_what_is_known():
    def make(factor):
        with bb.Scope() as page:
            v = bb.variable(np.float32([1, 2]), name="v")
            x = ops.square(bb.placeholder([2], name="x"), name="slow")
            ops.mul(x, factor, name="y")
            ops.assign_add(v, [1.0, 1.0], name="count")
        return page

    session = bb.Session(make(2.0))
    feeds = {"x": np.float32([1, 3])}
    session.run("y", feeds, ["count"])
    session.use(make(5.0))
    assert computed(session, "y", feeds) == (["y"], ["slow"])
    np.testing.assert_array_equal(session.value("v"), [2, 3])


UNARY = [ops.square, ops.neg, ops.relu, ops.tanh]
BINARY = [ops.add_v2, ops.mul, ops.sub, ops.maximum]
NUMBERS = st.sampled_from([-2.0, 0.0, 1.0, 3.0])


class EditsAndRuns(RuleBasedStateMachine):
    """Random edits of a page and runs of it: a session that remembers answers as one that does not."""

    def __init__(self):
        super().__init__()
        self.page = bb.Scope()
        with self.page:
            self.symbols = [bb.placeholder([3], name="x")]
            self.variable = bb.variable(np.float32([1, 2, 3]), name="v")
            self.symbols.append(self.variable)
        self.fed = np.float32([1, -1, 2])
        self.writers = []
        self.sessions = bb.Session(self.page), bb.Session(self.page, cache_bytes=0)
        self.small = bb.Session(self.page, cache_bytes=200)

    def pick(self, n):
        return self.symbols[n % len(self.symbols)]

    @rule(op=st.sampled_from(UNARY), n=st.integers(0, 50))
    def add_unary(self, op, n):
        with self.page:
            self.symbols.append(op(self.pick(n)))

    @rule(op=st.sampled_from(BINARY), n=st.integers(0, 50), m=st.integers(0, 50))
    def add_binary(self, op, n, m):
        with self.page:
            self.symbols.append(op(self.pick(n), self.pick(m)))

    @rule(number=NUMBERS, n=st.integers(0, 50))
    def add_constant(self, number, n):
        with self.page:
            self.symbols.append(ops.add_v2(self.pick(n), number))

    @rule(op=st.sampled_from([ops.assign, ops.assign_add]), n=st.integers(0, 50))
    def add_writer(self, op, n):
        with self.page:
            written = op(self.variable, self.pick(n))
            self.symbols.append(written)
            self.writers.append(written.block)

    @rule(number=NUMBERS, place=st.integers(0, 2))
    def feed(self, number, place):
        self.fed[place] = number

    @precondition(lambda self: self.writers)
    @rule(n=st.integers(0, 50), m=st.integers(0, 50))
    def run_writing(self, n, m):
        self.compare([self.pick(n)], [self.writers[m % len(self.writers)]])

    @rule(n=st.integers(0, 50), m=st.integers(0, 50))
    def run(self, n, m):
        self.compare([self.pick(n), self.pick(m)], [])

    @rule()
    def reset(self):
        for session in (*self.sessions, self.small):
            session.reset()

    def compare(self, fetches, targets):
        feeds = {"x": self.fed}
        first, *others = (s.run(fetches, feeds, targets) for s in (*self.sessions, self.small))
        for other in others:
            for a, b in zip(first, other, strict=True):
                np.testing.assert_array_equal(a, b)

    @invariant()
    def variables_agree(self):
        first, *others = (s.value("v") for s in (*self.sessions, self.small))
        for other in others:
            np.testing.assert_array_equal(first, other)


TestEditsAndRuns = EditsAndRuns.TestCase
TestEditsAndRuns.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
