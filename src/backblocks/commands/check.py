"""`backblocks check`: everything that is wrong with a page, and what it takes to run it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from backblocks.commands.given import opened
from backblocks.commands.mistakes import as_json
from backblocks.commands.terminal import painter
from backblocks.commands.values import counted, size
from backblocks.errors import OpError
from backblocks.graph.ready import Estimate
from backblocks.graph.session import Session
from backblocks.pages.build import Built, build
from backblocks.pages.order import needed_by
from backblocks.pages.page import Page


def main(given: argparse.Namespace) -> int:
    page = opened(given.page)
    built = build(page)
    problems = [error for _, error in built.problems]
    estimate = None
    if not problems:
        try:
            estimate = _estimate(page, built)
        except OpError as problem:  # only a run shows it: two blocks that write in a circle, say
            problems = [problem]
    if given.as_json:
        print(_document(given.page, page, built, problems, estimate))
    else:
        _print(given.page, page, built, problems, estimate)
    return 1 if problems else 0


def _estimate(page: Page, built: Built) -> Estimate:
    """Of a run as the page says."""
    run = page.run
    shown = [shown.pin for monitor in page.monitors.values() for shown in monitor.shows]
    wanted = [*run.fetch, *shown, *([run.until] if run.until else [])]
    targets = run.targets if wanted or run.targets else list(built.graph.blocks)
    return Session(built.graph).estimate(wanted, page.feeds(), targets)


def _print(
    path: str, page: Page, built: Built, problems: list[OpError], estimate: Estimate | None
) -> None:
    paint = painter(sys.stdout)
    wires = sum(len(needed_by(block)) for block in page.blocks.values())
    about = f"{path}: {counted(len(page.blocks), 'block')}, {counted(wires, 'wire')}"
    count = counted(len(problems), "problem") if problems else "no problems"
    print(f"{about}, {paint(count, 'red' if problems else 'green')}")
    for each in problems:
        print(f"  {each}")
    touching = [f"{name} {how}" for name, how in built.touches().items()]
    if touching:
        print(f"touches files, which needs --allow-files: {', '.join(touching)}")
    if estimate is not None:
        least = "" if estimate.whole else "at least "
        text = f"memory of a run: {least}{size(estimate.peak)} at one time"
        if estimate.largest is not None:
            text += f", most for {estimate.largest.label}: {size(estimate.largest_bytes)}"
        print(text)


def _document(
    path: str, page: Page, built: Built, problems: list[OpError], estimate: Estimate | None
) -> str:
    memory: dict[str, Any] | None = None
    if estimate is not None:
        memory = {
            "peak_bytes": estimate.peak,
            "held_bytes": estimate.held,
            "whole": estimate.whole,
            "largest_block": estimate.largest.label if estimate.largest else None,
            "largest_bytes": estimate.largest_bytes,
        }
    return json.dumps(
        {
            "page": path,
            "blocks": len(page.blocks),
            "problems": [each for problem in problems for each in as_json(problem)],
            "memory": memory,
            "touches": built.touches(),
        },
        ensure_ascii=False,
    )
