"""Timing of contenders: answers checked against the first one, then interleaved rounds of samples."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from backblocks.bench.contender import Contender
from backblocks.dtypes import wide
from backblocks.ops._inputs import Array

# How far an answer may be off, as a share of the largest number in it. Half types keep 11 and 8 bits,
# and some peers add up in them.
TOLERANCES = {"f16": 1e-2, "bf16": 5e-2, "f32": 5e-5, "f64": 1e-12}


@dataclass(frozen=True)
class TimingBudget:
    """How many rounds and seconds of timing a problem gets."""

    seconds: float = 2.0  # for the rounds of one problem
    min_rounds: int = 5
    max_rounds: int = 31
    pause: float = 0.004  # before each sample, in which a peer's threads go to sleep
    warmup_seconds: float = 0.03  # untimed calls before each sample, as the cores slept too
    sample_seconds: float = 0.002  # short calls are repeated to fill a sample
    max_contender_seconds: float = 2.0  # after so many seconds a contender sits out
    patience: float = 5.0  # longer calls are not timed at all


QUICK = TimingBudget(
    seconds=0.5, min_rounds=3, max_rounds=9, max_contender_seconds=0.5, patience=2.0
)


@dataclass
class Samples:
    """Seconds per call, of each sample."""

    samples: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def least(self) -> float:
        return min(self.samples)


def relative_error(answer: Array, reference: Array) -> float:
    """The largest error relative to the reference's largest number; infinite if shapes differ."""
    if answer.shape != reference.shape:
        return float("inf")
    both = np.result_type(wide(answer.dtype), wide(reference.dtype))
    a, b = answer.astype(both, copy=False), reference.astype(both, copy=False)
    with np.errstate(invalid="ignore"):
        off = float(np.abs(a - b).max(initial=0.0))
    scale = float(np.abs(b).max(initial=0.0))
    return float("inf") if np.isnan(off) else off / (scale or 1.0)


def verify_contenders(
    contenders: Sequence[Contender], type: str, budget: TimingBudget
) -> tuple[list[Contender], dict[str, str]]:
    """The contenders to time, and why the others are not: they fail, are too slow, or give another answer.

    The first contender's answer is the reference.
    """
    admitted: list[Contender] = []
    refused: dict[str, str] = {}
    too_slow: dict[str, str] = {}
    reference: Array | None = None
    for contender in contenders:
        if contender.peer in too_slow and contender.job != "yardstick":
            refused[contender.name] = f"too slow to wait for, as {too_slow[contender.peer]}"
            continue
        if contender.expected_seconds > budget.patience:
            about = f"{contender.expected_seconds:.2g}"
            refused[contender.name] = f"too slow to wait for: about {about} s a call"
            continue
        try:
            start = time.perf_counter()
            result = contender.call()
            seconds = time.perf_counter() - start
            # A first call may have to compile something, but not for this long.
            if budget.patience < seconds < 2 * budget.patience:
                seconds = _seconds(contender.call)
        except Exception as error:
            refused[contender.name] = f"cannot: {_first_words(error)}"
            continue
        if seconds > budget.patience:
            refused[contender.name] = f"too slow to wait for: {seconds:.1f} s a call"
            if seconds > 2 * budget.patience:  # its other contenders are skipped
                too_slow[contender.peer] = contender.name
            continue
        if contender.same_answer:
            answer = contender.answer(result)
            reference = answer if reference is None else reference
            off = relative_error(answer, reference)
            if not off <= TOLERANCES[type]:
                refused[contender.name] = f"another answer: off by {off:.1g} of the largest number"
                continue
        admitted.append(contender)
    return admitted, refused


def time_interleaved(
    contenders: Sequence[Contender], budget: TimingBudget, seed: int = 0
) -> dict[str, Samples]:
    """Times all contenders in rounds, in a random order each round, so that drift hits all alike."""
    rng = random.Random(seed)  # noqa: S311
    times = {contender.name: Samples() for contender in contenders}
    warmup_calls, calls = {}, {}
    for contender in contenders:
        once = _seconds(contender.call)
        if once < budget.sample_seconds:  # short enough for a hiccup to matter
            once = min(once, _seconds(contender.call))
        once = max(once, 1e-7)
        warmup_calls[contender.name] = int(budget.warmup_seconds / once)
        calls[contender.name] = max(1, int(budget.sample_seconds / once))
    spent = dict.fromkeys(times, 0.0)
    end = time.perf_counter() + budget.seconds
    collecting = gc.isenabled()
    gc.disable()
    try:
        for round in range(budget.max_rounds):
            if round >= budget.min_rounds and time.perf_counter() > end:
                break
            taking_part = [c for c in contenders if spent[c.name] < budget.max_contender_seconds]
            rng.shuffle(taking_part)
            for contender in taking_part:
                time.sleep(budget.pause)
                _seconds(contender.call, warmup_calls[contender.name])
                count = calls[contender.name]
                seconds = _seconds(contender.call, count)
                spent[contender.name] += seconds
                times[contender.name].samples.append(seconds / count)
    finally:
        if collecting:
            gc.enable()
    return times


def _seconds(call: Callable[[], object], count: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


def _first_words(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 100 else text[:97] + "..."
