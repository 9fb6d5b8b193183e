"""Checks that contenders agree, then times them side by side."""

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
class Effort:
    """How long to try."""

    seconds: float = 2.0  # for the rounds of one problem
    least_rounds: int = 5
    most_rounds: int = 31
    pause: float = 0.004  # before each sample, in which a peer's threads go to sleep
    waking: float = 0.03  # of calls after it that do not count: both cores slept as well
    sample: float = 0.002  # a sample calls as often as takes this long
    most_each: float = 2.0  # a contender that has had so many seconds sits the other rounds out
    patience: float = 5.0  # a call longer than this is not timed at all


QUICK = Effort(seconds=0.5, least_rounds=3, most_rounds=9, most_each=0.5, patience=2.0)


@dataclass
class Times:
    """The seconds per call of each sample."""

    samples: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def least(self) -> float:
        return min(self.samples)


def disagreement(answer: Array, reference: Array) -> float:
    """The largest difference, as a share of the reference's largest number; infinite if shapes differ."""
    if answer.shape != reference.shape:
        return float("inf")
    both = np.result_type(wide(answer.dtype), wide(reference.dtype))
    a, b = answer.astype(both, copy=False), reference.astype(both, copy=False)
    with np.errstate(invalid="ignore"):
        off = float(np.abs(a - b).max(initial=0.0))
    scale = float(np.abs(b).max(initial=0.0))
    return float("inf") if np.isnan(off) else off / (scale or 1.0)


def admit(
    contenders: Sequence[Contender], type: str, effort: Effort
) -> tuple[list[Contender], dict[str, str]]:
    """Those to be timed, and why the others are not: they fail, take too long, or answer otherwise.

    The first contender's answer is what the others are held against.
    """
    admitted: list[Contender] = []
    refused: dict[str, str] = {}
    hopeless: dict[str, str] = {}
    reference: Array | None = None
    for contender in contenders:
        if contender.peer in hopeless and contender.job != "yardstick":
            refused[contender.name] = f"too slow to wait for, as {hopeless[contender.peer]}"
            continue
        if contender.known_seconds > effort.patience:
            about = f"{contender.known_seconds:.2g}"
            refused[contender.name] = f"too slow to wait for: about {about} s a call"
            continue
        try:
            start = time.perf_counter()
            result = contender.call()
            seconds = time.perf_counter() - start
            # A first call may have to compile something, but not for this long.
            if effort.patience < seconds < 2 * effort.patience:
                seconds = _seconds(contender.call)
        except Exception as error:
            refused[contender.name] = f"cannot: {_first_words(error)}"
            continue
        if seconds > effort.patience:
            refused[contender.name] = f"too slow to wait for: {seconds:.1f} s a call"
            if seconds > 2 * effort.patience:  # its other ways will hardly be quick
                hopeless[contender.peer] = contender.name
            continue
        if contender.same_answer:
            answer = contender.answer(result)
            reference = answer if reference is None else reference
            off = disagreement(answer, reference)
            if not off <= TOLERANCES[type]:
                refused[contender.name] = f"another answer: off by {off:.1g} of the largest number"
                continue
        admitted.append(contender)
    return admitted, refused


def interleave(contenders: Sequence[Contender], effort: Effort, seed: int = 0) -> dict[str, Times]:
    """Times all contenders in rounds, in another order each round."""
    rng = random.Random(seed)  # noqa: S311
    times = {contender.name: Times() for contender in contenders}
    waking, calls = {}, {}
    for contender in contenders:
        once = _seconds(contender.call)
        if once < effort.sample:  # short enough for a hiccup to matter
            once = min(once, _seconds(contender.call))
        once = max(once, 1e-7)
        waking[contender.name] = int(effort.waking / once)
        calls[contender.name] = max(1, int(effort.sample / once))
    spent = dict.fromkeys(times, 0.0)
    end = time.perf_counter() + effort.seconds
    collecting = gc.isenabled()
    gc.disable()
    try:
        for round in range(effort.most_rounds):
            if round >= effort.least_rounds and time.perf_counter() > end:
                break
            taking_part = [c for c in contenders if spent[c.name] < effort.most_each]
            rng.shuffle(taking_part)
            for contender in taking_part:
                time.sleep(effort.pause)
                _seconds(contender.call, waking[contender.name])
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
