"""`backblocks bench`: chooses the problems, runs them, and says and writes what came out."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path

from backblocks.bench import chart, report
from backblocks.bench.learning.network import networks
from backblocks.bench.measure import QUICK, Effort
from backblocks.bench.problem import Problem, parse
from backblocks.bench.results import Result, Run
from backblocks.bench.run import run, workloads
from backblocks.errors import OpError


def bench(given: argparse.Namespace) -> int:
    problems = [] if given.pages else _problems(given)
    if given.list:
        pages = [f"{each.name}: {each.about}" for each in networks()]
        print(*(pages if given.pages else problems), sep="\n")
        return 0
    alone = len(problems) == 1

    def tell(result: Result) -> None:
        print("\n".join(report.in_full(result)) if alone else report.one_line(result), flush=True)

    done = run(problems, _effort(given), _threads(given), tell, given.memory, _with_pages(given))
    _print(done, alone)
    _write(done, given)
    return 0


def _problems(given: argparse.Namespace) -> list[Problem]:
    problems = [parse(line) for line in given.problem] or workloads(given.quick)
    problems = [problem for problem in problems if given.only in str(problem)]
    if not problems:
        raise OpError(
            "must be part of some problem's line",
            arg="--only",
            got=given.only,
            hint="See backblocks bench --list.",
        )
    return problems


def _with_pages(given: argparse.Namespace) -> bool:
    """Whether whole pages are timed: when asked for, and when everything is."""
    return given.pages or not (given.problem or given.only)


def _effort(given: argparse.Namespace) -> Effort:
    effort = QUICK if given.quick else Effort()
    if given.rounds:
        effort = replace(effort, least_rounds=given.rounds, most_rounds=given.rounds)
    return replace(effort, patience=given.patience) if given.patience else effort


def _threads(given: argparse.Namespace) -> int:
    cores = len(os.sched_getaffinity(0))
    if given.threads and given.threads > cores:
        raise OpError(
            f"must be at most the {cores} cores there are",
            arg="--threads",
            got=given.threads,
            hint=f"Write --threads {cores}.",
        )
    return given.threads or cores


def _print(done: Run, alone: bool) -> None:
    print()
    print(*report.head(done), sep="\n")
    if not alone:
        print(*report.ending(done), sep="\n")


def _write(done: Run, given: argparse.Namespace) -> None:
    for path, text in (
        (given.json, json.dumps(done.as_json(), indent=1) + "\n"),
        (given.svg, chart.svg(done)),
    ):
        if path:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)
