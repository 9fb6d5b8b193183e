"""Steps a second of each network, and what blocks and pages cost."""

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
from backblocks.bench.learning.network import Network, networks
from backblocks.bench.measure import Effort, admit, interleave
from backblocks.bench.results import Learning, PageCosts, Time

LIBRARIES = {"backblocks": "ours", "tensorflow": "with_tensorflow", "torch": "with_torch"}
STEPS = 5
"""After so many steps all must have the same loss."""


def learn(libraries: Sequence[str], effort: Effort) -> list[Learning]:
    """The record of each network in the libraries that can be had."""
    return [_learn(network, libraries, effort) for network in networks()]


def _learn(network: Network, libraries: Sequence[str], effort: Effort) -> Learning:
    contenders = []
    for name in libraries:
        if name in LIBRARIES:
            module = importlib.import_module(f"backblocks.bench.learning.{LIBRARIES[name]}")
            for way, step in module.steps(network).items():
                contenders.append(Contender(way, name, step, _loss_later(step)))
    admitted, refused = admit(contenders, "f32", effort)
    times = interleave(admitted, effort)
    record = Learning(network.name, network.about, refused=refused)
    for contender in admitted:
        took = times[contender.name]
        record.times[contender.name] = Time(
            contender.peer, contender.job, took.median, took.least, len(took.samples)
        )
    return record


def _loss_later(step: Callable[[], Any]) -> Callable[[Any], Any]:
    return lambda first: np.array([first, *(step() for _ in range(STEPS))], np.float32)


def page_costs() -> PageCosts:
    """What a small block costs in a run, opening and checking a large page, and many steps in memory."""
    return PageCosts(_block_seconds(), _opening_seconds(), _growth_of_many_steps())


def _best(call: Callable[[], Any], times: int) -> float:
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        found.append(time.perf_counter() - begun)
    return float(np.median(found))


def _block_seconds(length: int = 1000) -> float:
    """Of a block in a long row of them, beyond what NumPy takes for the same numbers."""
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
    ours = _best(lambda: session.run([], targets=[step]), 30)
    return (ours - _best(by_hand, 30)) / length


def _opening_seconds(blocks: int = 5000) -> float:
    with bb.Scope() as scope:
        x = bb.placeholder([8, 16, 16, 3], name="x")
        for _ in range(blocks // 2 - 1):
            x = bb.ops.relu(bb.ops.add_v2(x, x))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.page.json")
        bb.save_page(scope, path)
        return _best(lambda: bb.open_page(path).check(), 5)


def _growth_of_many_steps(steps: int = 1000) -> int:
    """Bytes by which the process grows from the hundredth step on."""
    from backblocks.bench.learning import ours

    step = ours.steps(networks()[-1])["backblocks"]
    for _ in range(100):
        step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(steps):
        step()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
