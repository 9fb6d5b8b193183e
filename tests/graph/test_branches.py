"""Switch and Merge: which blocks run, what is dead, and how gradients find their way back."""

import numpy as np
import pytest

import backblocks as bb

ops = bb.ops


def both_ways(session, fetch, pred, feeds=None):
    return [float(session.run(fetch, {pred: way, **(feeds or {})})) for way in (True, False)]


def events_of(session):
    seen = []
    session.subscribe(lambda event: seen.append((event.kind, event.block.name)))
    return seen


def test_one_way_runs_and_the_other_does_not():
    with bb.Scope() as page:
        pred, x = bb.placeholder([], "bool"), bb.placeholder([], name="x")
        way = ops.switch(x, pred)
        merged = ops.merge([ops.neg(way.output_false, name="no"), ops.exp(way.output_true)])
    session = bb.Session(page)
    assert both_ways(session, merged.output, pred, {x: 0.0}) == [1, 0]
    assert both_ways(session, merged.value_index, pred, {x: 0.0}) == [1, 0]
    seen = events_of(session)
    session.run(merged.output, {pred: True, x: 0.0})
    assert ("skipped", "no") in seen
    assert ("finished", "Exp") in seen
    assert session.report.executed == 3


def test_dead_values_cannot_be_fetched_and_dead_targets_are_skipped():
    with bb.Scope() as page:
        pred = bb.placeholder([], "bool")
        way = ops.switch(1.0, pred)
        no, yes = ops.neg(way.output_false), ops.neg(way.output_true)
    session = bb.Session(page)
    for dead in (way.output_false, no):
        with pytest.raises(bb.OpError, match="a branch that was not taken") as caught:
            session.run(dead, {pred: True})
        assert (caught.value.block, caught.value.arg) == (dead.block.name, dead.pin)
    assert session.run(yes, {pred: True}, targets=[no]) == -1
    assert session.run([], {pred: True}, targets=[no]) == []


def test_merge_of_dead_values_is_dead_and_of_several_takes_the_first():
    with bb.Scope() as page:
        pred = bb.placeholder([], "bool")
        way = ops.switch(1.0, pred)
        inner = ops.switch(ops.neg(way.output_true), pred)
        none = ops.merge([way.output_false, inner.output_false])
        several = ops.merge([way.output_false, inner.output_true, ops.neg(5.0)])
    session = bb.Session(page)
    with pytest.raises(bb.OpError, match="not taken"):
        session.run(none.output, {pred: True})
    assert session.run(none.output, {pred: False}) == 1
    assert session.run([several.output, several.value_index], {pred: True}) == [-1, 1]


def test_a_block_after_a_dead_one_is_dead_even_a_constant():
    with bb.Scope() as page:
        pred = bb.placeholder([], "bool")
        way = ops.switch(1.0, pred)
        ends = []
        for out, value in ((way.output_false, 10.0), (way.output_true, 20.0)):
            pivot = ops.identity(out)
            with page.running_after(pivot):
                ends.append(bb.constant(value))
        chosen = ops.merge(ends).output
    session = bb.Session(page)
    assert both_ways(session, chosen, pred) == [20, 10]
    with pytest.raises(bb.OpError, match="not taken"):
        session.run(ends[0], {pred: True})


def test_what_is_known_of_a_dead_value_does_not_bring_it_to_life():
    with bb.Scope() as page:
        pred = bb.placeholder([], "bool")
        way = ops.switch(np.zeros((2, 3)), pred)
        sizes = [ops.size(way.output_false), ops.add_v2(ops.size(way.output_true), 1)]
        size = ops.merge(sizes).output
    assert both_ways(bb.Session(page), size, pred) == [7, 6]


def test_a_merge_does_not_die_of_what_it_runs_after():
    with bb.Scope() as page:
        pred = bb.placeholder([], "bool")
        way = ops.switch(1.0, pred)
        with page.running_after(ops.neg(way.output_false)):
            merged = ops.merge([way.output_true]).output
            copy = ops.identity(1.0)
    session = bb.Session(page)
    assert session.run(merged, {pred: True}) == 1
    with pytest.raises(bb.OpError, match="not taken"):
        session.run(copy, {pred: True})


# -- variables ------------------------------------------------------------------------------------


def test_a_dead_assignment_leaves_the_variable():
    with bb.Scope() as page:
        pred, x = bb.placeholder([], "bool"), bb.placeholder([], name="x")
        v = bb.variable(5.0)
        load = ops.assign(v, ops.switch(x, pred).output_true)
        y = ops.mul(v, 2.0)
    session = bb.Session(page)
    run = [session.run(y, {pred: way, x: 7.0}, targets=[load]) for way in (False, True, False)]
    assert run == [10, 14, 14]
    assert session.value(v) == 7
    with pytest.raises(bb.OpError, match="not taken"):
        session.run(load, {pred: False, x: 7.0})
    assert session.run(load, {pred: True, x: 8.0}) == 8


def test_what_a_dead_assignment_gives_is_dead():
    with bb.Scope() as page:
        pred = bb.placeholder([], "bool")
        v = bb.variable(5.0)
        way = ops.switch(1.0, pred)
        add = ops.assign_add(v, way.output_true)
        sub = ops.assign_sub(v, way.output_false)
        last = ops.merge([ops.identity(add), sub])
    session = bb.Session(page)
    assert session.run([last.output, last.value_index], {pred: False}) == [4, 1]
    assert session.run([last.output, last.value_index], {pred: True}) == [5, 0]
    fetched = session.run(add, {pred: True})
    fetched += 100
    assert session.value(v) == 6


def test_a_variable_that_got_no_value_is_named():
    with bb.Scope() as page:
        pred = bb.placeholder([], "bool")
        v = ops.variable_v2(shape=[], dtype="float32", name="v")
        load = ops.assign(v, ops.switch(1.0, pred).output_true)
        y = ops.neg(v)
    session = bb.Session(page)
    with pytest.raises(bb.OpError, match="no value"):
        session.run(y, {pred: False}, targets=[load])
    with pytest.raises(bb.OpError, match=r'block "v": .* has no value yet'):
        session.run(v, {pred: False}, targets=[load])
    session.run([], {pred: False}, targets=[load])
    assert session.run(y, {pred: True}, targets=[load]) == -1
    assert session.run(y, {pred: False}, targets=[load]) == -1


def test_a_replaced_shape_may_be_either():
    with bb.Scope() as page:
        pred = bb.placeholder([], "bool")
        v = bb.variable([5.0])
        new = ops.switch([1.0, 2.0], pred).output_true
        load = ops.assign(v, new, validate_shape=False)
        y = ops.neg(v)
    session = bb.Session(page)
    feeds = {"targets": [load]}
    assert session.run(y, {pred: False}, **feeds).tolist() == [-5]
    assert session.run(y, {pred: True}, **feeds).tolist() == [-1, -2]
    assert session.run(y, {pred: False}, **feeds).tolist() == [-1, -2]


# -- gradients ------------------------------------------------------------------------------------


def test_gradients_come_back_the_way_that_was_taken():
    with bb.Scope() as page:
        pred, x = bb.placeholder([], "bool"), bb.placeholder([], name="x")
        way = ops.switch(x, pred)
        y = ops.merge([ops.square(way.output_false), ops.exp(way.output_true)]).output
        (slope,) = bb.gradients([y], [x])
        (second,) = bb.gradients([slope], [x])
    session = bb.Session(page)
    np.testing.assert_allclose(both_ways(session, slope, pred, {x: 3.0}), [np.exp(3), 6], 1e-6)
    np.testing.assert_allclose(both_ways(session, second, pred, {x: 3.0}), [np.exp(3), 2], 1e-6)


def test_a_way_that_leads_nowhere_gives_zeros():
    with bb.Scope() as page:
        pred, x = bb.placeholder([], "bool"), bb.placeholder([2], name="x")
        way = ops.switch(x, pred)
        y = ops.merge([ops.square(way.output_true), ops.zeros_like(way.output_false)]).output
        slopes = bb.gradients([y], [x], [[1.0, 10.0]])
    session = bb.Session(page)
    for taken, slope in ((True, [6, 80]), (False, [0, 0])):
        got = session.run(slopes[0], {pred: taken, x: [3.0, 4.0]})
        np.testing.assert_array_equal(got, slope)


def test_a_weight_that_is_always_alive_goes_the_way_that_was_taken():
    with bb.Scope() as page:
        pred, x = bb.placeholder([], "bool"), bb.placeholder([], name="x")
        way = ops.switch(x, pred)
        ys = [ops.mul(way.output_false, 2.0), ops.mul(way.output_true, 3.0)]
        (slope,) = bb.gradients(ys, [x], [10.0, 10.0])
    assert both_ways(bb.Session(page), slope, pred, {x: 1.0}) == [30, 20]


# -- what is fed ----------------------------------------------------------------------------------


def test_an_output_that_is_fed_keeps_what_was_fed():
    with bb.Scope() as page:
        x = bb.placeholder([1, 3])
        top = ops.top_k_v2(x, 1)
        y = ops.neg(top.values)
    feeds = {x: [[1.0, 3, 2]], top.values: [[7.0]]}
    y_now, values, indices = bb.Session(page).run([y, top.values, top.indices], feeds)
    assert (y_now, values, indices) == (-7, 7, 1)


def test_a_session_with_memory_takes_the_way_of_this_run():
    with bb.Scope() as page:
        pred, x = bb.placeholder([], "bool"), bb.placeholder([], name="x")
        way = ops.switch(ops.exp(x), pred)
        y = ops.neg(ops.merge([way.output_false, ops.square(way.output_true)]).output)
    session = bb.Session(page)
    for _ in range(2):
        assert both_ways(session, y, pred, {x: 0.0}) == [-1, -1]
        np.testing.assert_allclose(both_ways(session, y, pred, {x: 1.0}), [-(np.e**2), -np.e], 1e-6)


def test_nothing_stands_for_what_it_runs_after():
    with bb.Scope() as page:
        v, w = bb.variable(1.0), bb.variable(2.0)
        with page.running_after(ops.assign_add(v, 1.0), ops.assign_add(w, 1.0)):
            both = ops.no_op(name="both")
    session = bb.Session(page)
    session.run([], targets=["both"])
    assert both.op.name == "NoOp"
    assert (session.value(v), session.value(w)) == (2, 3)
