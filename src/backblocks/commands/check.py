"""`backblocks check`: what is wrong with a page, what its blocks give, and what it takes to run it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from backblocks.commands.given import opened
from backblocks.commands.mistakes import as_json
from backblocks.commands.terminal import painter
from backblocks.commands.values import counted, size
from backblocks.dtypes import NAMES
from backblocks.errors import OpError, visible
from backblocks.graph.ready import Estimate
from backblocks.graph.session import Session
from backblocks.ops._handles import RESOURCE
from backblocks.ops._spec import Spec
from backblocks.pages.build import BuildResult, build
from backblocks.pages.builder import PageGraph
from backblocks.pages.constants import parse_constant
from backblocks.pages.dependency_order import dependencies
from backblocks.pages.folder import Folder
from backblocks.pages.page import Page


def main(given: argparse.Namespace) -> int:
    page = opened(given.page)
    built = build(page)
    problems = [error for _, error in built.problems]
    estimate = None
    try:
        estimate = _estimate(page, built)
    except OpError as problem:  # only a run shows it: two blocks that write in a circle, say
        problems.append(problem)
    if given.as_json:
        print(_document(given.page, page, built, problems, estimate))
    else:
        _print(given.page, page, built, problems, estimate)
    return 1 if problems else 0


def _estimate(page: Page, built: BuildResult) -> Estimate | None:
    """Of a run as the page says, as far as its blocks are sound; nothing if that is nowhere."""
    run, graph = page.run, built.graph
    shown = [shown.pin for monitor in page.monitors.values() for shown in monitor.shows]
    wanted = [*run.fetch, *shown, *([run.until] if run.until else [])]
    if not (wanted or run.targets):
        wanted = graph.unread_outputs()
    there = [wire for wire in wanted if wire in graph.wires]
    values = [wire for wire in there if graph.symbol(wire).dtype != RESOURCE]
    targets = [name for name in run.targets if name in graph.expansions]
    if not (values or targets):
        return None
    return Session(graph).estimate(values, _feeds(page, built), targets)


def _feeds(page: Page, built: BuildResult) -> dict[str, Any]:
    """What the page feeds, without what is wrong with it."""
    wrong = {error.arg for _, error in built.problems if error.op == "Page"}
    folder = Folder.of(page.path)
    return {
        wire: parse_constant(value, folder)
        for wire, value in page.run.feeds.items()
        if wire in built.graph.wires and f"run.feeds.{wire}" not in wrong
    }


def _types(graph: PageGraph) -> dict[str, Spec]:
    """Of every output of a block on the page."""
    lists = {wire.partition("[")[0] for wire in graph.wires if wire.endswith("]")}
    return {
        wire: symbol.spec
        for wire, symbol in graph.wires.items()
        if ":" in wire and wire not in lists
    }


def _print(
    path: str, page: Page, built: BuildResult, problems: list[OpError], estimate: Estimate | None
) -> None:
    paint = painter(sys.stdout)
    wires = sum(len(dependencies(block)) for block in page.blocks.values())
    about = f"{visible(path)}: {counted(len(page.blocks), 'block')}, {counted(wires, 'wire')}"
    count = counted(len(problems), "problem") if problems else "no problems"
    print(f"{about}, {paint(count, 'red' if problems else 'green')}")
    for each in problems:
        print(f"  {each}")
    types = _types(built.graph)
    wide = max(map(len, types), default=0)
    for wire, spec in types.items():
        print(f"  {wire:<{wide}}  {paint(str(spec), 'dim')}")
    touching = [f"{name} {how}" for name, how in built.touches().items()]
    if touching:
        print(f"touches files, which needs --allow-files: {', '.join(touching)}")
    if estimate is not None:
        what = "what can run" if problems else "a run"
        least = "" if estimate.whole and not problems else "at least "
        text = f"memory of {what}: {least}{size(estimate.peak)} at one time"
        if estimate.largest is not None:
            text += f", most for {estimate.largest.label}: {size(estimate.largest_bytes)}"
        print(text)


def _document(
    path: str, page: Page, built: BuildResult, problems: list[OpError], estimate: Estimate | None
) -> str:
    memory: dict[str, Any] | None = None
    if estimate is not None:
        memory = {
            "peak_bytes": estimate.peak,
            "held_bytes": estimate.held,
            "whole": estimate.whole and not problems,
            "largest_block": estimate.largest.label if estimate.largest else None,
            "largest_bytes": estimate.largest_bytes,
        }
    return json.dumps(
        {
            "page": path,
            "blocks": len(page.blocks),
            "problems": [each for problem in problems for each in as_json(problem)],
            "outputs": {
                wire: {"dtype": NAMES[spec.dtype], "shape": spec.shape}
                for wire, spec in _types(built.graph).items()
            },
            "memory": memory,
            "touches": built.touches(),
        },
        ensure_ascii=False,
    )
