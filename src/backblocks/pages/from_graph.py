"""Graphs built in Python, converted to the blocks of a page."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from backblocks.graph.scope import Graph
from backblocks.graph.symbol import Block, Symbol
from backblocks.ops._values import flat
from backblocks.pages.constants import array_to_json, attribute_to_json
from backblocks.pages.dataclass_json import Json
from backblocks.pages.model import PageBlock

_DEFAULT_NAME = re.compile(r"(.*/)?Const(_\d+)?")


def page_blocks(graph: Graph) -> dict[str, PageBlock]:
    """The blocks of a page for a graph, in the order in which the graph's blocks were created.

    A constant with one reader and a default name is inlined at the input that reads it.
    """
    readers = Counter(
        symbol.block
        for block in graph
        for symbol in (*flat(block.inputs), *([block.initial] if block.initial is not None else []))
    )
    waited_for = {first for block in graph for first in block.after}
    inline = {
        block
        for block in graph
        if block.op.name == "Const" and readers[block] == 1 and block not in waited_for
        if _DEFAULT_NAME.fullmatch(block.name) or _is_named_after_reader(block.name, graph)
    }
    return {block.name: _page_block(block, inline) for block in graph if block not in inline}


def _is_named_after_reader(name: str, graph: Graph) -> bool:
    """Whether this is the default name of a constant at an input, which `PageBuilder.as_symbol` gives it."""
    reader, _, pin = name.rpartition("/")
    if reader not in graph:
        return False
    pins = {each.name for each in graph[reader].op.inputs} | {"initial"}
    return pin in pins or pin.rpartition("_")[0] in pins


def _page_block(block: Block, inline: set[Block]) -> PageBlock:
    op = block.op
    inputs = {}
    for pin, value in zip(op.inputs, block.inputs, strict=True):
        if isinstance(value, tuple):
            inputs[pin.name] = [_input_json(symbol, inline) for symbol in value]
        elif value is not None:
            inputs[pin.name] = _input_json(value, inline)
    return PageBlock(
        op.name,
        op.version,
        inputs=inputs,
        initial=None if block.initial is None else _input_json(block.initial, inline),
        attrs=_attrs(block),
        after=[first.name for first in block.after],
    )


def _input_json(symbol: Symbol, inline: set[Block]) -> Json:
    if symbol.block in inline:
        return array_to_json(symbol.block.attrs["value"])
    return wire_to(symbol)


def wire_to(symbol: Symbol) -> str:
    """The text of a wire from this output."""
    for output in symbol.block.outputs:
        if isinstance(output, tuple) and any(each is symbol for each in output):
            return f"{symbol.name}[{[each is symbol for each in output].index(True)}]"
    return symbol.name


def _attrs(block: Block) -> dict[str, Json]:
    if block.op.name == "Const":
        return {"value": array_to_json(block.attrs["value"])}
    own = {name: attribute_to_json(value) for name, value in non_default_attrs(block).items()}
    if block.initial is not None:
        start = block.initial
        if block.attrs["shape"] == start.shape and block.attrs["dtype"] == start.dtype:
            del own["shape"], own["dtype"]
    return own


def non_default_attrs(block: Block) -> dict[str, Any]:
    """The attributes that differ from their defaults, and those without a default."""
    return {
        attr.name: block.attrs[attr.name]
        for attr in block.op.attrs.values()
        if attr.required or not _same(block.attrs[attr.name], attr.kind.parse(attr.default))
    }


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return type(a) is type(b) and bool(a == b)
