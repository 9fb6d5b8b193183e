"""Builds `gradients` blocks: each expands to the blocks that compute the gradients."""

from __future__ import annotations

from typing import Any

from backblocks.errors import OpError, described
from backblocks.graph.gradients import gradients
from backblocks.graph.scope import Scope
from backblocks.graph.symbol import Symbol, blocks_behind
from backblocks.ops._values import flat
from backblocks.pages.builder import PageBuilder
from backblocks.pages.dataclass_json import Json
from backblocks.pages.model import PageBlock

_PINS = ("ys", "xs", "grad_ys")


def add_gradients(builder: PageBuilder, name: str, block: PageBlock) -> None:
    """Adds the blocks that compute the gradients, in a scope of the block's name."""
    builder.reject_unknown(name, "input", block.inputs, _PINS)
    builder.reject_unknown(name, "attribute", block.attrs, ())
    ys, xs = (
        builder.attempt(name, pin, _symbols, builder, block.inputs.get(pin)) for pin in ("ys", "xs")
    )
    weights = block.inputs.get("grad_ys")
    if weights is not None:
        weights = builder.attempt(name, "grad_ys", _weights, builder, weights)
    after = builder.attempt(name, "after", builder.control_dependencies, block)
    if name in builder.skipped:
        return
    graph = builder.graph
    before = len(graph)
    graph.charge(sum(1 + len([*flat(each.inputs)]) for each in blocks_behind(ys)) // 16)
    with Scope(graph, builder.prefix + name):
        found = gradients(ys, xs, weights)
    added = builder.blocks_added_since(before)
    for each in added:
        graph.page_block_of[each.name] = builder.owner or name
    builder.set_expansion(name, added, after)
    builder.add_wire_list(name, "dx", found)
    for i, (x, dx) in enumerate(zip(block.inputs["xs"], found, strict=True)):
        if dx is None:
            builder.missing_outputs[f"{name}:dx[{i}]"] = f"has no value, as ys do not depend on {x}"


def _symbols(builder: PageBuilder, wires: Json) -> list[Symbol]:
    if type(wires) is not list or not wires or any(type(wire) is not str for wire in wires):
        hint = 'Write such as ["loss:output"].'
        raise OpError(
            "must be a list of wires",
            got=described("none") if wires is None else wires,
            hint=hint,
        )
    return [builder.symbol(wire) for wire in wires]


def _weights(builder: PageBuilder, weights: Json) -> list[Any]:
    if type(weights) is not list:
        hint = "Write null for ones."
        raise OpError("must be a list, one for each of ys", got=weights, hint=hint)
    return [None if each is None else builder.read_value(each) for each in weights]
