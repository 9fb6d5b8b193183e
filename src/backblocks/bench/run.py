"""Runs problems: each peer's contenders side by side, and the limits of the machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from importlib import resources

from backblocks.bench import limits, memory, peers
from backblocks.bench.contender import STREAM, Contender, Peer
from backblocks.bench.goals import is_tiny
from backblocks.bench.inputs import make_inputs
from backblocks.bench.learning.measure import learn, page_costs
from backblocks.bench.measure import Effort, admit, interleave
from backblocks.bench.peers.ours import first_call_seconds
from backblocks.bench.problem import Problem, parse
from backblocks.bench.results import Result, Run, Time


def workloads(quick: bool = False) -> list[Problem]:
    """The problems of workloads.txt; for `quick`, those it marks so."""
    text = resources.files("backblocks.bench").joinpath("workloads.txt").read_text()
    lines = (line.partition("#") for line in text.splitlines())
    return [
        parse(line) for line, _, mark in lines if line.strip() and (not quick or "quick" in mark)
    ]


def run(
    problems: Sequence[Problem],
    effort: Effort,
    threads: int,
    tell: Callable[[Result], None],
    memory_of: str = "ours",
    pages: bool = False,
) -> Run:
    """Solves and times every problem; `tell` is given each result as it comes.

    Extra memory is measured of "ours", "all" or "none". With `pages`, whole pages are timed too.
    """
    start = time.perf_counter()
    taking_part, absent = _peers(threads)
    found = limits.machine_limits(threads)
    whose: dict[str, list[Peer]] = {"ours": taking_part[:1], "all": taking_part, "none": []}
    versions = {peer.NAME: peer.version() for peer in taking_part}
    whole = Run(limits.machine(), versions, absent, threads, 0.0, found)
    needs = _memory(whose[memory_of], problems, threads)
    for problem, extra in zip(problems, needs, strict=True):
        result = solve(problem, taking_part, effort, found[str(threads)])
        result.extra_bytes = extra
        whole.results.append(result)
        tell(result)
    if pages:
        whole.learning = learn([peer.NAME for peer in taking_part], effort)
        whole.page_costs = page_costs()
    whole.seconds = time.perf_counter() - start
    return whole


def solve(
    problem: Problem, taking_part: Sequence[Peer], effort: Effort, found: dict[str, float]
) -> Result:
    """One problem's record."""
    result = Result(str(problem), peak=limits.peak(problem, found) if problem.flops else 0.0)
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
    admitted, refused = admit(contenders, problem.type, effort)
    result.refused |= refused
    times = interleave(admitted, effort)
    for contender in admitted:
        sampled, why = (
            times[contender.name],
            contender.difference.why if contender.difference else "",
        )
        result.times[contender.name] = Time(
            contender.peer, contender.job, sampled.median, sampled.least, len(sampled.samples), why
        )
    if is_tiny(problem):
        result.first_call = first_call_seconds(problem)
    result.stream = min(t.median for t in result.times.values() if t.why == STREAM.why)
    return result


def _peers(threads: int) -> tuple[list[Peer], dict[str, str]]:
    """Ours and all others that can be had, all held to as many threads."""
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
        for need, more in zip(needs, memory.extra_bytes(peer.NAME, problems, threads), strict=True):
            need |= more
    return needs
