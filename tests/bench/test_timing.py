"""Who is admitted, how times are taken, and what memory is counted."""

import sys
import time

import numpy as np
import pytest

from backblocks.bench import extra_memory
from backblocks.bench.contender import STREAM, SYMMETRIC_PADDING, Contender
from backblocks.bench.inputs import make_inputs
from backblocks.bench.peers import OTHERS, ours
from backblocks.bench.problem import parse
from backblocks.bench.roofline import machine, measure_roofline
from backblocks.bench.run import measure_problem
from backblocks.bench.timing import (
    TOLERANCES,
    Samples,
    TimingBudget,
    relative_error,
    time_interleaved,
    verify_contenders,
)

HASTY = TimingBudget(0.01, 3, 3, pause=0.0, warmup_seconds=0.0, sample_seconds=1e-6, patience=0.5)
SMALL = parse("AvgPool3DGrad f32 ndhwc 1x4x4x4x2 k2 s2 VALID")
ANSWER = np.arange(8, dtype=np.float32)


def fake(name, answer=ANSWER, **more):
    return Contender(name, name, lambda: answer, **more)


@pytest.mark.parametrize("type", TOLERANCES)
def test_a_contender_with_another_answer_is_not_timed(type):
    wrong = ANSWER.astype(np.float64)
    wrong[3] += 8 * TOLERANCES[type]
    admitted, refused = verify_contenders(
        [fake("right"), fake("wrong", wrong), fake("also right")], type, HASTY
    )
    assert [c.name for c in admitted] == ["right", "also right"]
    assert "another answer" in refused["wrong"]


@pytest.mark.parametrize(
    "answer", [ANSWER[:4], ANSWER.reshape(2, 4), np.full(8, np.nan, np.float32), -ANSWER]
)
def test_shapes_nan_and_signs_count_as_answers(answer):
    assert verify_contenders([fake("right"), fake("wrong", answer)], "bf16", HASTY)[1]


def test_rounding_is_no_other_answer():
    assert relative_error(ANSWER * np.float32(1 + 1e-7), ANSWER) < TOLERANCES["f32"]
    assert not verify_contenders([fake("a"), fake("b", ANSWER.astype(np.float64))], "f32", HASTY)[1]


def test_a_declared_difference_is_let_through_and_shown():
    other = fake("torch", -ANSWER, caveat=SYMMETRIC_PADDING)
    admitted, refused = verify_contenders([fake("ours"), other], "f32", HASTY)
    assert not refused
    assert admitted[1].job == "same work"


def test_failures_and_slow_calls_are_reasons():
    def fail():
        raise RuntimeError("no\nkernel")

    slow = Contender("slow", "slow", lambda: time.sleep(0.015) or ANSWER)
    known = fake("known", expected_seconds=60)
    broken = Contender("broken", "broken", fail)
    budget = TimingBudget(patience=0.01)
    admitted, refused = verify_contenders([fake("ours"), broken, slow, known], "f32", budget)
    assert [c.name for c in admitted] == ["ours"]
    assert refused["broken"] == "cannot: no kernel"
    assert refused["slow"].startswith("too slow to wait for: 0.0")
    assert refused["known"] == "too slow to wait for: about 60 s a call"


def test_a_peer_with_a_hopeless_way_is_not_waited_for_again():
    calls = []

    def way(name):
        return Contender(name, "peer", lambda: calls.append(name) or time.sleep(0.05) or ANSWER)

    yardstick = Contender("yardstick", "peer", lambda: None, caveat=STREAM)
    ways = [way("first"), way("second"), yardstick]
    admitted, refused = verify_contenders(ways, "f32", TimingBudget(patience=0.01))
    assert calls == ["first"]
    assert refused["second"] == "too slow to wait for, as first"
    assert admitted == [yardstick]


def test_rounds_are_interleaved_and_their_order_changes():
    order = []
    contenders = [Contender(n, n, lambda n=n: order.append(n)) for n in "abcd"]
    budget = TimingBudget(0, 12, 12, pause=0.0, warmup_seconds=0.0, sample_seconds=0.0)
    times = time_interleaved(contenders, budget)
    timed = order[-4 * 12 :]
    rounds = ["".join(timed[i : i + 4]) for i in range(0, len(timed), 4)]
    assert all(sorted(each) == list("abcd") for each in rounds)
    assert len(set(rounds)) > 3
    assert {len(t.samples) for t in times.values()} == {12}


def test_fast_calls_are_timed_many_at_once_and_slow_ones_seldom():
    count = [0]

    def quick():
        count[0] += 1

    slow = Contender("slow", "s", lambda: time.sleep(0.25))
    budget = TimingBudget(
        0, 4, 4, pause=0.0, warmup_seconds=0.0, sample_seconds=1e-3, max_contender_seconds=0.3
    )
    times = time_interleaved([Contender("quick", "q", quick), slow], budget)
    assert count[0] > 100
    assert times["quick"].median < 1e-4
    assert len(times["slow"].samples) == 2
    assert 0.25 <= times["slow"].least < 1


def test_waking_up_after_the_pause_is_not_timed():
    last = [time.perf_counter()]

    def sleepy():
        if time.perf_counter() - last[0] > 0.1:
            time.sleep(0.05)
        last[0] = time.perf_counter()

    budget = TimingBudget(0, 5, 5, pause=0.2, warmup_seconds=1e-3, sample_seconds=1e-5)
    times = time_interleaved([Contender("sleepy", "s", sleepy)], budget)
    assert times["sleepy"].median < 1e-3


def test_medians_are_not_led_astray_by_one_sample():
    times = Samples([1.0, 50.0, 2.0])
    assert (times.median, times.least) == (2.0, 1.0)


def test_a_problem_is_solved_and_held_against_the_limit():
    limits = {"f32 flop/s": 1e9, "f64 flop/s": 1e9}
    result = measure_problem(SMALL, [ours], HASTY, limits)
    assert result.ours is not None
    assert result.stream > 0
    assert result.limit == result.stream
    conv = parse("Conv3D f64 ndhwc 1x4x4x4x2 -> 2 k3 s1 SAME")
    result = measure_problem(conv, [ours], HASTY, {"f32 flop/s": 1e9, "f64 flop/s": 1.0})
    assert result.limit == conv.flops


def test_a_peer_that_cannot_is_noted_and_the_others_go_on():
    class Cannot:
        NAME = "cannot"

        def make(self, problem, inputs):
            raise ImportError("half of it is missing")

    class WillNot:
        NAME = "will not"

        def make(self, problem, inputs):
            return "has no such kernel"

    result = measure_problem(SMALL, [ours, Cannot(), WillNot()], HASTY, {})
    assert result.ours is not None
    assert result.refused == {
        "cannot": "cannot: half of it is missing",
        "will not": "has no such kernel",
    }


@pytest.mark.parametrize(
    ("line", "twin"),
    [
        ("MaxPool bf16 nhwc 1x4x4x2 k2 s2 SAME", "backblocks, f32 nhwc"),
        ("Conv2D f32 nchw 1x2x4x4 -> 2 k3 s1 SAME", "backblocks, f32 nhwc"),
        ("AvgPoolGrad f16 nchw 1x2x4x4 k2 s2 SAME", "backblocks, f16 nhwc"),
    ],
)
def test_other_types_and_formats_are_timed_beside_their_twins(line, twin):
    problem = parse(line)
    names = [c.name for c in ours.make(problem, make_inputs(problem))]
    assert twin in names


def test_the_limits_of_this_machine_are_plausible():
    for found in measure_roofline(2).values():
        assert all(1e8 < rate < 1e13 for rate in found.values())
    assert machine()["processor"]


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the peak")
def test_extra_memory_is_seen():
    small = parse("AvgPool3D f32 ndhwc 1x32x32x32x64 k2 s2 VALID")
    size = 16 << 20

    class Hungry:
        NAME = "hungry"

        def make(self, problem, inputs):
            result = problem.nbytes(problem.kind.result)
            frugal = Contender("frugal", "hungry", lambda: np.ones(result, np.uint8))
            greedy = Contender(
                "greedy", "hungry", lambda: (np.ones(size, np.uint8), np.ones(result, np.uint8))[1]
            )
            return [frugal, greedy]

    needs = extra_memory.measure(Hungry(), small)
    assert needs["frugal"] < size / 4
    assert size * 0.9 < needs["greedy"] < size * 1.5


def test_extra_memory_of_ours_is_measured_in_a_process_of_its_own():
    (needs,) = extra_memory.extra_bytes("backblocks", [SMALL], 1)
    assert 0 <= needs["backblocks"] < 16 << 20


def test_extra_memory_of_a_peer_that_cannot_be_had_is_unknown():
    assert list(extra_memory.extra_bytes("no such peer", [SMALL, SMALL], 1)) == [{}, {}]


def test_peers_are_imported_only_when_asked_for():
    assert not [name for name in OTHERS if name in sys.modules]
