"""Builds the graph of a page, and collects every problem of the page on the way.

A block with a problem does not stop the others: blocks that depend on it are skipped without a problem of
their own. Nothing runs, and no file is opened but the constants and pages that the page names, in its own
folder.
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
from backblocks.pages.builder import (
    BuildAborted,
    DependencyFailed,
    PageBuilder,
    PageGraph,
    as_typed_array,
    check_type,
)
from backblocks.pages.dataclass_json import Json
from backblocks.pages.dependency_order import dependencies, find_cycles, topological_order
from backblocks.pages.folder import Folder
from backblocks.pages.gradient_blocks import add_gradients
from backblocks.pages.model import GRADIENTS, PAGE, PageBlock, PageFile, Port
from backblocks.pages.op_blocks import add_op
from backblocks.pages.serialization import parse, read_file
from backblocks.pages.settings_validation import check_settings, port_symbol, port_type

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*(/[A-Za-z0-9][A-Za-z0-9_.\-]*)*")


@dataclass
class BuildResult:
    """The graph of a page, as far as it could be built, and the problems of the page."""

    graph: PageGraph
    """The blocks without problems."""
    problems: list[tuple[str, OpError]]
    """Each with the block of the page that it belongs to, or ""."""

    def touches(self) -> dict[str, str]:
        """Blocks that access files when they run, and whether each "reads" or "writes" them."""
        return {block.name: block.op.files for block in self.graph.touching_files()}


def build(page: PageFile) -> BuildResult:
    """Builds all blocks that have no problem and depend on none that has one."""
    builder = PageBuilder(PageGraph(), page, Folder.of(page.path))
    graph = builder.graph
    try:
        _add_blocks(builder)
        check_settings(builder)
    except BuildAborted as end:
        return BuildResult(PageGraph(), [*builder.problems, ("", end.problem)])
    graph.wires, graph.expansions = builder.wires, builder.expansions
    return BuildResult(graph, builder.problems)


def _add_blocks(builder: PageBuilder) -> None:
    blocks = builder.page.blocks
    for name in blocks:
        if len(name) > problems.MAX_NAME_LENGTH or not _NAME.fullmatch(name):
            builder.add_problem(problems.bad_name(name), name)
        elif name in builder.ports:
            continue
        elif builder.graph.unique_name(builder.prefix + name) != builder.prefix + name:
            builder.add_problem(problems.taken_name(name), name)
    needs = {name: dependencies(block) for name, block in blocks.items()}
    ordered = topological_order(needs)
    for name in ordered:
        if name not in builder.skipped:
            _add(builder, name, blocks[name])
    if len(ordered) < len(blocks):
        cyclic = [name for name in blocks if name not in set(ordered)]
        for cycle in find_cycles(cyclic, needs):
            builder.add_problem(problems.cycle(cycle), cycle[0])
        # None of these can be added, but their other problems are reported.
        builder.skipped.update(cyclic)
        for name in cyclic:
            _add(builder, name, blocks[name])


def _add(builder: PageBuilder, name: str, block: PageBlock) -> None:
    add = {GRADIENTS: add_gradients, PAGE: _add_page}.get(block.op, add_op)
    builder.graph.charge(1 + len(builder.prefix) // 256)
    try:
        add(builder, name, block)
    except DependencyFailed:
        builder.skipped.add(name)
    except OpError as error:
        builder.add_problem(error, name)


# -- nested pages: pages that are blocks of others --------------------------------------------------


def _add_page(builder: PageBuilder, name: str, block: PageBlock) -> None:
    """Adds the blocks of a nested page, in a scope of the block's name."""
    builder.reject_unknown(name, "attribute", block.attrs, ("page",))
    nested = builder.attempt(name, "page", _nested_page, builder, block.attrs.get("page"))
    if nested is None:
        return
    page, folder = nested
    known = page.ports.inputs
    builder.reject_unknown(name, "input", block.inputs, list(known))
    before = len(builder.graph)
    ports = {
        port.pin.partition(":")[0]: symbol
        for pin, port in known.items()
        if (symbol := _input_port(builder, name, pin, port, block, page)) is not None
    }
    after = builder.attempt(name, "after", builder.control_dependencies, block)
    if name in builder.skipped:
        return
    inner = PageBuilder(
        builder.graph,
        page,
        folder,
        f"{builder.prefix}{name}/",
        builder.owner or name,
        ports,
        (*builder.enclosing_files, _own_file(builder)),
        builder.cache,
        problems=builder.problems,
    )
    before_inner = len(builder.problems)
    _add_blocks(inner)
    if len(builder.problems) > before_inner:
        raise DependencyFailed
    builder.set_expansion(name, builder.blocks_added_since(before), after)
    for pin, port in page.ports.outputs.items():
        symbol = builder.attempt(name, pin, _output_of_port, inner, port, block)
        if symbol is not None:
            builder.wires[f"{name}:{pin}"] = symbol
            builder.wires.setdefault(name, symbol)


def _own_file(builder: PageBuilder) -> Any:
    path = builder.page.path
    return (
        path if builder.enclosing_files or path is None else path.resolve()
    )  # nested ones are resolved


def _nested_page(builder: PageBuilder, name: Json) -> tuple[PageFile, Folder]:
    pages, key = builder.cache.pages, (builder.folder.here, name if type(name) is str else None)
    if key not in pages:
        file = builder.folder.file(name)
        _reject_recursion(builder, file, name)
        data = read_file(file)
        builder.graph.charge(len(data) >> 10)
        try:
            page = parse(data, PageFile)
        except OpError as error:
            error.op, error.problem = "", f"{error.arg} of {name} {error.problem}"
            raise
        page.path = file
        pages[key] = page, builder.folder.of_nested(file), len(data)
    page, folder, size = pages[key]
    _reject_recursion(builder, page.path, name)
    builder.graph.charge(size >> 10)  # its constants are read each time
    return page, folder


def _reject_recursion(builder: PageBuilder, file: Path | None, name: str) -> None:
    if file in (*builder.enclosing_files, _own_file(builder)):
        hint = "A page cannot contain itself, nor a page that contains it."
        raise OpError("must be another page", got=name, hint=hint)
    if len(builder.enclosing_files) >= problems.MAX_PAGE_DEPTH:
        raise problems.nested_too_deeply()


def _input_port(
    builder: PageBuilder, name: str, pin: str, port: Port, block: PageBlock, page: PageFile
) -> Symbol | None:
    inner = page.blocks.get(port.pin.partition(":")[0])
    if inner is None or inner.op not in ("Placeholder", "PlaceholderWithDefault"):
        hint = _ports_hint(block)
        error = OpError("must stand for a placeholder", arg=pin, got=port.pin, hint=hint)
        builder.add_problem(error, name)
        return None
    if block.inputs.get(pin) is None and inner.op == "PlaceholderWithDefault":
        return None
    symbol: Symbol | None = builder.attempt(
        name, pin, _input_of_port, builder, name, pin, port, block
    )
    return symbol


def _input_of_port(
    builder: PageBuilder, name: str, pin: str, port: Port, block: PageBlock
) -> Symbol:
    with _blame_ports(block):
        wanted = port_type(port)
    value = builder.read_input(block.inputs.get(pin), Pin(pin, port.dtype))
    if type(value) is not Symbol:
        value = as_typed_array(value, port.dtype)
    symbol = builder.as_symbol(f"{name}/{port.pin.partition(':')[0]}", value, name)
    check_type(pin, symbol, *wanted, "the port")
    return symbol


def _output_of_port(inner: PageBuilder, port: Port, block: PageBlock) -> Symbol:
    with _blame_ports(block):
        return port_symbol(inner, port)


@contextmanager
def _blame_ports(block: PageBlock) -> Iterator[None]:
    """Adds to errors that the ports of another file are to be corrected, not this page."""
    try:
        yield
    except OpError as error:
        error.hint = f"{_ports_hint(block)} {error.hint}"
        raise


def _ports_hint(block: PageBlock) -> str:
    return f"Correct the ports of {block.attrs['page']}."
