"""`backblocks bench`: selects problems, runs them, and prints and writes the results."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path

from backblocks.bench import chart, report
from backblocks.bench.explain import explain
from backblocks.bench.problem import Problem, parse
from backblocks.bench.results import BenchmarkRun, Result
from backblocks.bench.run import run, workloads
from backblocks.bench.timing import QUICK, TimingBudget
from backblocks.bench.training.network import networks
from backblocks.errors import OpError
from backblocks.ops._kernels import num_threads, set_num_threads


def bench(args: argparse.Namespace) -> int:
    problems = [] if args.pages else _problems(args)
    if args.list:
        pages = [f"{each.name}: {each.about}" for each in networks()]
        print(*(pages if args.pages else problems), sep="\n")
        return 0
    if args.explain:
        return _explain(problems, args)
    alone = len(problems) == 1

    def on_result(result: Result) -> None:
        print(
            "\n".join(report.result_details(result)) if alone else report.result_line(result),
            flush=True,
        )

    done = run(
        problems, _timing_budget(args), _threads(args), on_result, args.memory, _with_pages(args)
    )
    _print(done, alone)
    _write(done, args)
    return 0


def _explain(problems: list[Problem], args: argparse.Namespace) -> int:
    if args.pages:
        raise OpError(
            "is for problems, and pages have many kernels",
            arg="--explain",
            hint="Leave out --pages, or write a problem.",
        )
    before = num_threads()
    set_num_threads(_threads(args))
    try:
        print("\n\n".join("\n".join(explain(problem)) for problem in problems))
    finally:
        set_num_threads(before)
    return 0


def _problems(args: argparse.Namespace) -> list[Problem]:
    problems = [parse(line) for line in args.problem] or workloads(args.quick)
    problems = [problem for problem in problems if args.only in str(problem)]
    if not problems:
        raise OpError(
            "must be part of some problem's line",
            arg="--only",
            got=args.only,
            hint="See backblocks bench --list.",
        )
    return problems


def _with_pages(args: argparse.Namespace) -> bool:
    """Whether whole pages are timed: when asked for, and when everything is."""
    return args.pages or not (args.problem or args.only)


def _timing_budget(args: argparse.Namespace) -> TimingBudget:
    budget = QUICK if args.quick else TimingBudget()
    if args.rounds:
        budget = replace(budget, min_rounds=args.rounds, max_rounds=args.rounds)
    return replace(budget, patience=args.patience) if args.patience else budget


def _threads(args: argparse.Namespace) -> int:
    cores = len(os.sched_getaffinity(0))
    if args.threads and args.threads > cores:
        raise OpError(
            f"must be at most the {cores} cores there are",
            arg="--threads",
            got=args.threads,
            hint=f"Write --threads {cores}.",
        )
    return args.threads or cores


def _print(done: BenchmarkRun, alone: bool) -> None:
    print()
    print(*report.head(done), sep="\n")
    if not alone:
        print(*report.summary_lines(done), sep="\n")


def _write(done: BenchmarkRun, args: argparse.Namespace) -> None:
    for path, text in (
        (args.json, json.dumps(done.as_json(), indent=1) + "\n"),
        (args.svg, chart.svg(done)),
    ):
        if path:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)
