"""The plan of a run: which blocks of a page run, what each step fetches, what monitors show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backblocks.errors import OpError
from backblocks.ops._handles import RESOURCE
from backblocks.ops._inputs import Array
from backblocks.pages.build import build
from backblocks.pages.builder import PageGraph
from backblocks.pages.dataclass_json import from_json
from backblocks.pages.migrations import upgrade_to_current
from backblocks.pages.model import Monitor
from backblocks.pages.page import Page
from backblocks.studio.ipc import StartRun


@dataclass
class RunPlan:
    """What a run computes, fetches and shows."""

    command: StartRun
    page: Page
    graph: PageGraph
    blocks: list[str]
    """Blocks of the page that run."""
    monitors: dict[str, Monitor]
    fetched: list[str]
    """Outputs that each step fetches."""
    all_outputs: list[str]
    """Outputs of all blocks that run, but constants."""
    constants: dict[str, Array]
    targets: list[str]
    until: str
    feeds: dict[str, Any]
    files: dict[str, str]
    """Blocks that touch files."""
    prints: bool
    """Whether blocks of it write to the terminal."""
    asked: int
    """How many blocks were to run: those that cannot because of a problem count."""
    problems: int
    """How many problems keep blocks from running."""


def page_from_document(document: dict[str, Any], path: Path) -> Page:
    """The page of a document, beside whose path other files are looked for."""
    page = from_json(Page, upgrade_to_current(document))
    page.path = path
    return page


def plan_run(command: StartRun) -> RunPlan:
    """The plan of a run. Raises PageError if something is wrong with a block that is needed."""
    page = page_from_document(command.document, Path(command.path))
    run = page.run
    asked = command.to or [*run.fetch, *run.targets]
    until = _until(page) if command.mode == "until" else ""
    problems = 0
    if asked:
        monitors = _monitors(page, page.needed_for(asked) if command.to else page.blocks)
        wanted = [*asked, *_pins(monitors), *([until] if until else [])]
        graph = page.graph(only=wanted)
        needed = page.needed_for(wanted)
        targets = [name for name in wanted if ":" not in name and not _is_fed(graph, name)]
    else:  # all that is sound
        built = build(page)
        graph, problems = built.graph, len(built.problems)
        if until and until not in graph.wires:
            graph = page.graph(only=[until])  # says what is wrong with it
        monitors = _monitors(page, graph.expansions)
        needed = set(graph.expansions)
        targets = [name for name in graph.expansions if not _is_fed(graph, name)]
    pins = [pin for pin in _pins(monitors) if pin in graph.wires]
    wires = _wires(graph)
    every = [wire for name in page.blocks if name in needed for wire in wires[name]]
    constants = {
        wire: value
        for wire in every
        if (symbol := graph.symbol(wire)).block.op.name == "Const"
        and (value := symbol.value) is not None
    }
    return RunPlan(
        command=command,
        page=page,
        graph=graph,
        blocks=[name for name in page.blocks if name in needed],
        monitors=monitors,
        fetched=list(dict.fromkeys([*(wire for wire in asked if ":" in wire), *pins])),
        all_outputs=list(
            dict.fromkeys([*pins, *(wire for wire in every if wire not in constants)])
        ),
        constants=constants,
        targets=targets,
        until=until,
        feeds=page.feeds(),
        files={
            graph.page_block_of[block.name]: block.op.files
            for block in graph.touching_files()
            if graph.page_block_of[block.name] in needed
        },
        prints=any(block.op.name in ("Print", "PrintV2") for block in graph),
        asked=len(needed) if asked else len(page.blocks),
        problems=problems,
    )


def _until(page: Page) -> str:
    if not page.run.until:
        hint = "Name an output of one truth value in the page's run settings."
        raise OpError("must be given", op="Page", arg="run.until", hint=hint)
    return page.run.until


def _monitors(page: Page, blocks: Container[str]) -> dict[str, Monitor]:
    """The monitors that show outputs of these blocks only."""
    return {
        name: monitor
        for name, monitor in page.monitors.items()
        if all(shown.pin.partition(":")[0] in blocks for shown in monitor.shows)
    }


def _pins(monitors: dict[str, Monitor]) -> list[str]:
    return [shown.pin for monitor in monitors.values() for shown in monitor.shows]


def _is_fed(graph: PageGraph, name: str) -> bool:
    """Whether it is a placeholder, which nothing computes."""
    return name in graph and graph[name].op.fed


def _wires(graph: PageGraph) -> defaultdict[str, list[str]]:
    """By block, its outputs that can be fetched, each once."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    lists = {wire.rpartition("[")[0] for wire in graph.wires if wire.endswith("]")}
    for wire, symbol in graph.wires.items():
        block, colon, _ = wire.partition(":")
        if colon and wire not in lists and symbol.dtype != RESOURCE:
            found[block].append(wire)
    return found
