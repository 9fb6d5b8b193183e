"""Runs a benchmark: all contenders of each problem timed side by side, beside the machine's roofline."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from importlib import resources

from backblocks.bench import extra_memory, peers, roofline
from backblocks.bench.contender import STREAM, Contender, Peer
from backblocks.bench.goals import is_tiny
from backblocks.bench.inputs import make_inputs
from backblocks.bench.peers.ours import first_call_seconds
from backblocks.bench.problem import Problem, parse
from backblocks.bench.results import BenchmarkRun, Result, Timing
from backblocks.bench.timing import TimingBudget, time_interleaved, verify_contenders
from backblocks.bench.training.measure import measure_training, page_costs


def workloads(quick: bool = False) -> list[Problem]:
    """The problems of workloads.txt; for `quick`, those it marks so."""
    text = resources.files("backblocks.bench").joinpath("workloads.txt").read_text()
    lines = (line.partition("#") for line in text.splitlines())
    return [
        parse(line) for line, _, mark in lines if line.strip() and (not quick or "quick" in mark)
    ]


def run(
    problems: Sequence[Problem],
    budget: TimingBudget,
    threads: int,
    on_result: Callable[[Result], None],
    memory_of: str = "ours",
    pages: bool = False,
) -> BenchmarkRun:
    """Checks and times every problem; `on_result` is called with each result as it comes.

    Extra memory is measured of "ours", "all" or "none". With `pages`, whole pages are timed too.
    """
    start = time.perf_counter()
    taking_part, absent = _peers(threads)
    limits = roofline.measure_roofline(threads)
    whose: dict[str, list[Peer]] = {"ours": taking_part[:1], "all": taking_part, "none": []}
    versions = {peer.NAME: peer.version() for peer in taking_part}
    whole = BenchmarkRun(roofline.machine(), versions, absent, threads, 0.0, limits)
    needs = _memory(whose[memory_of], problems, threads)
    for problem, extra in zip(problems, needs, strict=True):
        result = measure_problem(problem, taking_part, budget, limits[str(threads)])
        result.extra_bytes = extra
        whole.results.append(result)
        on_result(result)
    if pages:
        whole.training = measure_training([peer.NAME for peer in taking_part], budget)
        whole.page_costs = page_costs()
    whole.seconds = time.perf_counter() - start
    return whole


def measure_problem(
    problem: Problem, taking_part: Sequence[Peer], budget: TimingBudget, limits: dict[str, float]
) -> Result:
    """Checks and times the contenders of one problem."""
    result = Result(
        str(problem), peak=roofline.peak_flops(problem, limits) if problem.flops else 0.0
    )
    inputs = make_inputs(problem)
    contenders: list[Contender] = []
    for peer in taking_part:
        try:
            made = peer.make(problem, inputs)
        except Exception as error:
            made = f"cannot: {error}"
        if isinstance(made, str):
            result.refused[peer.NAME] = made
        else:
            contenders += made
    admitted, refused = verify_contenders(contenders, problem.type, budget)
    result.refused |= refused
    times = time_interleaved(admitted, budget)
    for contender in admitted:
        sampled, why = (
            times[contender.name],
            contender.caveat.why if contender.caveat else "",
        )
        result.times[contender.name] = Timing(
            contender.peer, contender.job, sampled.median, sampled.least, len(sampled.samples), why
        )
    if is_tiny(problem):
        result.first_call = first_call_seconds(problem)
    result.stream = min(t.median for t in result.times.values() if t.why == STREAM.why)
    return result


def _peers(threads: int) -> tuple[list[Peer], dict[str, str]]:
    """backblocks and all peers that can be imported, with their number of threads set."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    found, absent = [], {}
    for name in (peers.OURS, *peers.OTHERS):
        try:
            peer = peers.load(name)
            peer.set_threads(threads)
        except Exception as error:  # a library that is there may still fail in many ways
            absent[name] = f"{type(error).__name__}: {error}"
        else:
            found.append(peer)
    return found, absent


def _memory(
    taking_part: Sequence[Peer], problems: Sequence[Problem], threads: int
) -> list[dict[str, int]]:
    needs: list[dict[str, int]] = [{} for _ in problems]
    for peer in taking_part:
        for need, more in zip(
            needs, extra_memory.extra_bytes(peer.NAME, problems, threads), strict=True
        ):
            need |= more
    return needs
