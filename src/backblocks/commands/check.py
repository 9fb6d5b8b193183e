"""`backblocks check`: the problems of a page, the types of its outputs, and the memory of a run."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from backblocks.commands.error_reporting import as_json
from backblocks.commands.formatting import format_bytes, pluralize
from backblocks.commands.page_options import open_page_argument
from backblocks.commands.terminal import colorizer
from backblocks.dtypes import NAMES
from backblocks.errors import OpError, visible
from backblocks.graph.compile import MemoryEstimate
from backblocks.graph.session import Session
from backblocks.ops._handles import RESOURCE
from backblocks.ops._spec import Spec
from backblocks.pages.build import BuildResult, build
from backblocks.pages.builder import PageGraph
from backblocks.pages.constants import parse_constant
from backblocks.pages.dependency_order import dependencies
from backblocks.pages.folder import Folder
from backblocks.pages.page import Page


def main(args: argparse.Namespace) -> int:
    page = open_page_argument(args.page)
    built = build(page)
    problems = [error for _, error in built.problems]
    estimate = None
    try:
        estimate = _estimate(page, built)
    except (
        OpError
    ) as problem:  # found only by planning a run, such as two blocks that write in a cycle
        problems.append(problem)
    if args.as_json:
        print(_document(args.page, page, built, problems, estimate))
    else:
        _print(args.page, page, built, problems, estimate)
    return 1 if problems else 0


def _estimate(page: Page, built: BuildResult) -> MemoryEstimate | None:
    """The memory of a run of the blocks without problems, by the page's settings; None if there are none."""
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
    """The values that the page feeds, without those that have a problem."""
    wrong = {error.arg for _, error in built.problems if error.op == "Page"}
    folder = Folder.of(page.path)
    return {
        wire: parse_constant(value, folder)
        for wire, value in page.run.feeds.items()
        if wire in built.graph.wires and f"run.feeds.{wire}" not in wrong
    }


def _types(graph: PageGraph) -> dict[str, Spec]:
    """The Spec of every output of a block on the page."""
    lists = {wire.partition("[")[0] for wire in graph.wires if wire.endswith("]")}
    return {
        wire: symbol.spec
        for wire, symbol in graph.wires.items()
        if ":" in wire and wire not in lists
    }


def _print(
    path: str,
    page: Page,
    built: BuildResult,
    problems: list[OpError],
    estimate: MemoryEstimate | None,
) -> None:
    paint = colorizer(sys.stdout)
    wires = sum(len(dependencies(block)) for block in page.blocks.values())
    about = f"{visible(path)}: {pluralize(len(page.blocks), 'block')}, {pluralize(wires, 'wire')}"
    count = pluralize(len(problems), "problem") if problems else "no problems"
    print(f"{about}, {paint(count, 'red' if problems else 'green')}")
    for each in problems:
        print(f"  {each}")
        if each.fixes:
            print(visible(f"    Fix: {'; or '.join(map(str, each.fixes))}."))
    types = _types(built.graph)
    wide = max(map(len, types), default=0)
    for wire, spec in types.items():
        print(f"  {wire:<{wide}}  {paint(str(spec), 'dim')}")
    touching = [f"{name} {how}" for name, how in built.touches().items()]
    if touching:
        print(f"touches files, which needs --allow-files: {', '.join(touching)}")
    if estimate is not None:
        what = "what can run" if problems else "a run"
        least = "" if estimate.complete and not problems else "at least "
        text = f"memory of {what}: {least}{format_bytes(estimate.peak)} at one time"
        if estimate.largest is not None:
            text += f", most for {estimate.largest.label}: {format_bytes(estimate.largest_bytes)}"
        print(text)


def _document(
    path: str,
    page: Page,
    built: BuildResult,
    problems: list[OpError],
    estimate: MemoryEstimate | None,
) -> str:
    memory: dict[str, Any] | None = None
    if estimate is not None:
        memory = {
            "peak_bytes": estimate.peak,
            "held_bytes": estimate.resident,
            "whole": estimate.complete and not problems,
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
