"""The page of a graph that was made in Python."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from backblocks.graph.scope import Graph
from backblocks.graph.symbol import Block, Symbol
from backblocks.ops._values import flat
from backblocks.pages.constants import attribute_in_words, in_words
from backblocks.pages.fields import Json
from backblocks.pages.model import PageBlock

_NAMED_BY_NOBODY = re.compile(r"(.*/)?Const(_\d+)?")


def blocks_of(graph: Graph) -> dict[str, PageBlock]:
    """What a page says of each block, in the order in which they were made.

    A constant that has one reader and no name that somebody gave it is written where it is read.
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
        if _NAMED_BY_NOBODY.fullmatch(block.name) or _is_named_after_reader(block.name, graph)
    }
    return {block.name: _page_block(block, inline) for block in graph if block not in inline}


def _is_named_after_reader(name: str, graph: Graph) -> bool:
    """Whether it has the name that a constant at an input of a block gets when a page is built."""
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
            inputs[pin.name] = [_source(symbol, inline) for symbol in value]
        elif value is not None:
            inputs[pin.name] = _source(value, inline)
    return PageBlock(
        op.name,
        op.version,
        inputs=inputs,
        initial=None if block.initial is None else _source(block.initial, inline),
        attrs=_attrs(block),
        after=[first.name for first in block.after],
    )


def _source(symbol: Symbol, inline: set[Block]) -> Json:
    if symbol.block in inline:
        return in_words(symbol.block.attrs["value"])
    return wire_of(symbol)


def wire_of(symbol: Symbol) -> str:
    """How a page writes a wire from this output."""
    for output in symbol.block.outputs:
        if isinstance(output, tuple) and any(each is symbol for each in output):
            return f"{symbol.name}[{[each is symbol for each in output].index(True)}]"
    return symbol.name


def _attrs(block: Block) -> dict[str, Json]:
    if block.op.name == "Const":
        return {"value": in_words(block.attrs["value"])}
    own = {name: attribute_in_words(value) for name, value in differing_attrs(block).items()}
    if block.initial is not None:
        start = block.initial
        if block.attrs["shape"] == start.shape and block.attrs["dtype"] == start.dtype:
            del own["shape"], own["dtype"]
    return own


def differing_attrs(block: Block) -> dict[str, Any]:
    """The attributes that are not what they are anyway."""
    return {
        attr.name: block.attrs[attr.name]
        for attr in block.op.attrs.values()
        if attr.required or not _same(block.attrs[attr.name], attr.kind.parse(attr.default))
    }


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return type(a) is type(b) and bool(a == b)
