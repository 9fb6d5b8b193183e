"""Makes the graph of a page, and finds everything that is wrong with it.

A block that is wrong does not stop the others: all problems are collected, and blocks that depend on a
wrong one are left out without a word. Nothing runs, and no file is opened but the constants and pages that
the page names, in its own folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backblocks.errors import OpError
from backblocks.graph.symbol import Symbol
from backblocks.ops._pins import Pin
from backblocks.pages import problems
from backblocks.pages.fields import Json
from backblocks.pages.folder import Folder
from backblocks.pages.gradient_blocks import add_gradients
from backblocks.pages.making import Making, PageGraph, TooMuch, Waiting, agrees, typed
from backblocks.pages.model import GRADIENTS, PAGE, PageBlock, PageFile, Port
from backblocks.pages.op_blocks import add_op
from backblocks.pages.order import in_order, needed_by, rings
from backblocks.pages.settings import check_settings, given_by, port_type
from backblocks.pages.text import parse, read_file

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*(/[A-Za-z0-9][A-Za-z0-9_.\-]*)*")


@dataclass
class Built:
    """What became of a page."""

    graph: PageGraph
    """Of its sound blocks."""
    problems: list[tuple[str, OpError]]
    """All that is wrong, each with the block of the page that it belongs to, if to one."""

    def touches(self) -> dict[str, str]:
        """Blocks that touch files if they run, and whether each "reads" or "writes" them."""
        return {block.name: block.op.files for block in self.graph.touching_files()}


def build(page: PageFile) -> Built:
    """Builds all that can be built."""
    making = Making(PageGraph(), page, Folder.of(page.path))
    graph = making.graph
    try:
        _add_blocks(making)
        check_settings(making)
    except TooMuch as end:
        return Built(PageGraph(), [*making.problems, ("", end.problem)])
    graph.wires, graph.parts = making.wires, making.made
    return Built(graph, making.problems)


def _add_blocks(making: Making) -> None:
    blocks = making.page.blocks
    for name in blocks:
        if len(name) > problems.LONGEST_NAME or not _NAME.fullmatch(name):
            making.problem(problems.bad_name(name), name)
        elif name in making.ports:
            continue
        elif making.graph.unique_name(making.prefix + name) != making.prefix + name:
            making.problem(problems.taken_name(name), name)
    needs = {name: needed_by(block) for name, block in blocks.items()}
    ordered = in_order(needs)
    for name in ordered:
        if name not in making.left_out:
            _add(making, name, blocks[name])
    if len(ordered) < len(blocks):
        left = [name for name in blocks if name not in set(ordered)]
        for ring in rings(left, needs):
            making.problem(problems.circle(ring), ring[0])
        # None of these can be added, but what else is wrong with them is told.
        making.left_out.update(left)
        for name in left:
            _add(making, name, blocks[name])


def _add(making: Making, name: str, block: PageBlock) -> None:
    add = {GRADIENTS: add_gradients, PAGE: _add_page}.get(block.op, add_op)
    making.graph.count(1 + len(making.prefix) // 256)
    try:
        add(making, name, block)
    except Waiting:
        making.left_out.add(name)
    except OpError as error:
        making.problem(error, name)


# -- pages that are blocks of others --------------------------------------------------------------


def _add_page(making: Making, name: str, block: PageBlock) -> None:
    """Adds the blocks of the other page, in a scope of the block's name."""
    making.refuse_unknown(name, "attribute", block.attrs, ("page",))
    part = making.collect(name, "page", _part, making, block.attrs.get("page"))
    if part is None:
        return
    page, folder = part
    known = page.ports.inputs
    making.refuse_unknown(name, "input", block.inputs, list(known))
    before = len(making.graph)
    ports = {
        port.pin.partition(":")[0]: symbol
        for pin, port in known.items()
        if (symbol := _port(making, name, pin, port, block, page)) is not None
    }
    after = making.collect(name, "after", making.after, block)
    if name in making.left_out:
        return
    inner = Making(
        making.graph,
        page,
        folder,
        f"{making.prefix}{name}/",
        making.owner or name,
        ports,
        (*making.inside, _own_file(making)),
        making.alike,
        problems=making.problems,
    )
    told = len(making.problems)
    _add_blocks(inner)
    if len(making.problems) > told:
        raise Waiting
    making.make_of(name, making.joined_since(before), after)
    for pin, port in page.ports.outputs.items():
        symbol = making.collect(name, pin, _out_of_port, inner, port, block)
        if symbol is not None:
            making.wires[f"{name}:{pin}"] = symbol
            making.wires.setdefault(name, symbol)


def _own_file(making: Making) -> Any:
    path = making.page.path
    return path if making.inside or path is None else path.resolve()  # those inside are resolved


def _part(making: Making, name: Json) -> tuple[PageFile, Folder]:
    pages, key = making.alike.pages, (making.folder.here, name if type(name) is str else None)
    if key not in pages:
        file = making.folder.file(name)
        _refuse_itself(making, file, name)
        data = read_file(file)
        making.graph.count(len(data) >> 10)
        try:
            page = parse(data, PageFile)
        except OpError as error:
            error.op, error.problem = "", f"{error.arg} of {name} {error.problem}"
            raise
        page.path = file
        pages[key] = page, making.folder.of_part(file), len(data)
    page, folder, size = pages[key]
    _refuse_itself(making, page.path, name)
    making.graph.count(size >> 10)  # its constants are read each time
    return page, folder


def _refuse_itself(making: Making, file: Path | None, name: str) -> None:
    if file in (*making.inside, _own_file(making)):
        hint = "A page cannot stand on itself, nor on one that uses it."
        raise OpError("must be another page", got=name, hint=hint)
    if len(making.inside) >= problems.DEEPEST_PAGES:
        raise problems.nested()


def _port(
    making: Making, name: str, pin: str, port: Port, block: PageBlock, page: PageFile
) -> Symbol | None:
    inner = page.blocks.get(port.pin.partition(":")[0])
    if inner is None or inner.op not in ("Placeholder", "PlaceholderWithDefault"):
        hint = _correct_ports(block)
        error = OpError("must stand for a placeholder", arg=pin, got=port.pin, hint=hint)
        making.problem(error, name)
        return None
    if block.inputs.get(pin) is None and inner.op == "PlaceholderWithDefault":
        return None
    symbol: Symbol | None = making.collect(name, pin, _into_port, making, name, pin, port, block)
    return symbol


def _into_port(making: Making, name: str, pin: str, port: Port, block: PageBlock) -> Symbol:
    with _ports_at_fault(block):
        wanted = port_type(port)
    value = making.input(block.inputs.get(pin), Pin(pin, port.dtype))
    if type(value) is not Symbol:
        value = typed(value, port.dtype)
    symbol = making.held(f"{name}/{port.pin.partition(':')[0]}", value, name)
    agrees(pin, symbol, *wanted, "the port")
    return symbol


def _out_of_port(inner: Making, port: Port, block: PageBlock) -> Symbol:
    with _ports_at_fault(block):
        return given_by(inner, port)


@contextmanager
def _ports_at_fault(block: PageBlock) -> Iterator[None]:
    """Says in which file ports are wrong that this page cannot correct."""
    try:
        yield
    except OpError as error:
        error.hint = f"{_correct_ports(block)} {error.hint}"
        raise


def _correct_ports(block: PageBlock) -> str:
    return f"Correct the ports of {block.attrs['page']}."
