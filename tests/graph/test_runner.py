"""Runs that are repeated: steps, conditions, pauses, and what ends them."""

import threading
import time

import numpy as np
import pytest

import backblocks as bb

ops = bb.ops


@pytest.fixture
def runner():
    with bb.Scope() as page:
        n = bb.variable(np.int32(0), name="n")
        ops.assign_add(n, 1, name="count")
        ops.greater_equal(n, 6, name="enough")
        ops.identity(n, name="before")
    runner = bb.Runner(bb.Session(page), ["before"], targets=["count"])
    yield runner
    runner.stop(now=True)


def test_once_is_one_step(runner):
    assert runner.run() == [0]
    assert runner.run() == [1]
    assert (runner.count, runner.state) == (2, "stopped")


def test_as_many_steps_as_asked_for(runner):
    seen = []
    end = runner.subscribe(lambda step, values: seen.append((step, int(values[0]))))
    assert runner.run(steps=4) == [3]
    end()
    runner.run()
    assert seen == [(1, 0), (2, 1), (3, 2), (4, 3)]
    assert runner.run(steps=0) == []


def test_until_something_holds(runner):
    assert runner.run(until="enough") == [6]
    assert runner.session.value("n") == 7, "the step in which it holds is done to its end"
    runner.reset()
    assert runner.run(steps=3, until="enough") == [2], "whichever comes first"


@pytest.mark.parametrize("wrong", ["before", "both"])
def test_a_condition_is_one_truth_value(runner, wrong):
    with bb.Scope(runner.session.graph):
        ops.logical_not([True, False], name="both")
    with pytest.raises(bb.OpError, match=r"Runner\.until: must be one truth value"):
        runner.run(until=wrong)
    assert (runner.state, runner.count) == ("stopped", 0)
    assert runner.session.value("n") == 0, "found before anything ran"


def test_feeds_may_depend_on_the_step():
    with bb.Scope() as page:
        ops.square(bb.placeholder([], name="x"), name="y")
    seen = []
    runner = bb.Runner(bb.Session(page), ["y"], feeds=lambda step: {"x": step + 1})
    runner.subscribe(lambda step, values: seen.append(float(values[0])))
    runner.run(steps=3)
    assert seen == [1, 4, 9]


def until_count(runner, count):
    deadline = time.monotonic() + 20
    while runner.count < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_running_free_until_stopped(runner):
    runner.start()
    until_count(runner, 10)
    assert runner.state == "running"
    with pytest.raises(bb.OpError, match="is at work already"):
        runner.run()
    runner.stop()
    assert runner.state == "stopped"
    steps = runner.count
    assert runner.session.value("n") == steps
    assert runner.wait() == [steps - 1]


def test_pause_step_and_go_on(runner):
    held = threading.Event()
    runner.subscribe(lambda step, values: (runner.pause(), held.set()) if step == 3 else None)
    runner.start()
    assert held.wait(20)
    time.sleep(0.05)
    assert (runner.state, runner.count) == ("paused", 3)
    runner.step()
    assert (runner.state, runner.count) == ("paused", 4)
    time.sleep(0.05)
    assert (runner.state, runner.count) == ("paused", 4)
    runner.go_on()
    until_count(runner, 20)
    assert runner.state == "running"


def test_a_single_step_is_over_when_it_returns(runner):
    seen = []
    runner.subscribe(lambda step, values: (runner.pause(), time.sleep(0.02), seen.append(step)))
    runner.start()
    until_count(runner, 1)
    for count in (2, 3, 4):
        runner.step()
        assert (runner.count, runner.session.value("n"), seen[-1]) == (count, count, count)


def test_a_single_step_that_fails_or_is_stopped_holds_nobody_up(runner):
    runner.subscribe(lambda step, values: runner.pause() if step == 1 else 1 / 0)
    runner.start()
    until_count(runner, 1)
    runner.step()
    with pytest.raises(ZeroDivisionError):
        runner.wait(20)
    inside = threading.Event()
    runner.feeds = lambda step: inside.set() or time.sleep(0.2) or {}
    runner.start()
    assert inside.wait(20)
    runner.pause()
    stepping = threading.Thread(target=runner.step)
    stepping.start()
    runner.stop(now=True)
    stepping.join(20)
    assert not stepping.is_alive()


def test_a_listener_may_ask_for_a_single_step(runner):
    runner.subscribe(lambda step, values: (runner.pause(), runner.step()) if step < 3 else None)
    runner.start(steps=3)
    runner.wait(20)
    assert runner.count == 3


def test_stop_ends_what_is_paused(runner):
    runner.subscribe(lambda step, values: runner.pause())
    runner.start()
    until_count(runner, 1)
    runner.stop()
    assert (runner.state, runner.count) == ("stopped", 1)
    runner.step()
    assert runner.count == 2, "a step of what is stopped runs here"


def test_reset_starts_again(runner):
    runner.run(steps=5)
    runner.reset()
    assert runner.count == 0
    assert runner.run() == [0]


def test_after_a_reset_variables_can_be_looked_at_and_saved(runner, tmp_path):
    runner.run(steps=3)
    runner.reset()
    assert runner.session.value("n") == 0
    runner.run(steps=3)
    runner.reset()
    runner.session.save(tmp_path / "n")
    runner.session.restore(tmp_path / "n")
    assert runner.run() == [0]


def test_what_goes_wrong_in_the_background_is_raised_to_who_waits():
    with bb.Scope() as page:
        ops.reshape(np.zeros(4), bb.placeholder([1], "int32", name="size"), name="y")
    runner = bb.Runner(bb.Session(page), ["y"], feeds=lambda step: {"size": [4 + step // 3]})
    runner.start()
    with pytest.raises(bb.OpError) as caught:
        runner.wait(20)
    assert caught.value.block == "y"
    assert (runner.count, runner.state) == (3, "stopped")


def test_waiting_has_an_end(runner):
    runner.start()
    with pytest.raises(TimeoutError, match="still running"):
        runner.wait(0.02)


@pytest.mark.parametrize("steps", [-1, 1.5, "many"])
def test_steps_are_counted_in_whole_numbers(runner, steps):
    with pytest.raises(bb.OpError, match=r"Runner\.steps: must be a whole number from 0 on"):
        runner.run(steps=steps)
    assert (runner.state, runner.count) == ("stopped", 0)


def test_watching_can_be_ended_twice(runner):
    for watched in (runner, runner.session):
        end = watched.subscribe(lambda *what: 1 / 0)
        end()
        end()
    assert runner.run() == [0]
