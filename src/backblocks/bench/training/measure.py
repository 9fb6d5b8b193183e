"""Measures training steps per second of each network, and the overhead of blocks and pages."""

from __future__ import annotations

import importlib
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import backblocks as bb
from backblocks.bench.contender import Contender
from backblocks.bench.results import PageCosts, Timing, TrainingResult
from backblocks.bench.timing import TimingBudget, time_interleaved, verify_contenders
from backblocks.bench.training.network import Network, networks

LIBRARIES = {"backblocks": "ours", "tensorflow": "with_tensorflow", "torch": "with_torch"}
STEPS = 5
"""Losses of so many steps must agree among libraries."""


def measure_training(libraries: Sequence[str], budget: TimingBudget) -> list[TrainingResult]:
    """The training result of each network in the libraries that can be imported."""
    return [_measure_network(network, libraries, budget) for network in networks()]


def _measure_network(
    network: Network, libraries: Sequence[str], budget: TimingBudget
) -> TrainingResult:
    contenders = []
    for name in libraries:
        if name in LIBRARIES:
            module = importlib.import_module(f"backblocks.bench.training.{LIBRARIES[name]}")
            for way, step in module.steps(network).items():
                contenders.append(Contender(way, name, step, _first_losses(step)))
    admitted, refused = verify_contenders(contenders, "f32", budget)
    times = time_interleaved(admitted, budget)
    record = TrainingResult(network.name, network.about, refused=refused)
    for contender in admitted:
        took = times[contender.name]
        record.times[contender.name] = Timing(
            contender.peer, contender.job, took.median, took.least, len(took.samples)
        )
    return record


def _first_losses(step: Callable[[], Any]) -> Callable[[Any], Any]:
    return lambda first: np.array([first, *(step() for _ in range(STEPS))], np.float32)


def page_costs() -> PageCosts:
    """Measures the overhead of a block in a run, opening a large page, and memory growth over many steps."""
    return PageCosts(_block_seconds(), _opening_seconds(), _growth_of_many_steps())


def _median_seconds(call: Callable[[], Any], times: int) -> float:
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        found.append(time.perf_counter() - begun)
    return float(np.median(found))


def _block_seconds(length: int = 1000) -> float:
    """Overhead per block in a long chain, beyond the time of NumPy for the same arithmetic."""
    start = np.ones(4, np.float32)
    with bb.Scope() as page:
        x = bb.variable(start, name="x")
        y = x
        for _ in range(length):
            y = bb.ops.neg(y)
        step = bb.ops.assign(x, y)
    session = bb.Session(page)

    def by_hand() -> None:
        y = start
        for _ in range(length):
            y = np.negative(y)

    for _ in range(5):
        session.run(step)
    ours = _median_seconds(lambda: session.run([], targets=[step]), 30)
    return (ours - _median_seconds(by_hand, 30)) / length


def _opening_seconds(blocks: int = 5000) -> float:
    with bb.Scope() as scope:
        x = bb.placeholder([8, 16, 16, 3], name="x")
        for _ in range(blocks // 2 - 1):
            x = bb.ops.relu(bb.ops.add_v2(x, x))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.page.json")
        bb.save_page(scope, path)
        return _median_seconds(lambda: bb.open_page(path).check(), 5)


def _growth_of_many_steps(steps: int = 1000) -> int:
    """Bytes by which the process grows from the hundredth step on."""
    from backblocks.bench.training import ours

    step = ours.steps(networks()[-1])["backblocks"]
    for _ in range(100):
        step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(steps):
        step()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
