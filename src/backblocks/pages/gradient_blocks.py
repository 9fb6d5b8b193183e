"""Adds the blocks of a page that stand for gradients."""

from __future__ import annotations

from typing import Any

from backblocks.errors import OpError, described
from backblocks.graph.gradients import gradients
from backblocks.graph.scope import Scope
from backblocks.graph.symbol import Symbol, blocks_behind
from backblocks.ops._values import flat
from backblocks.pages.fields import Json
from backblocks.pages.making import Making
from backblocks.pages.model import PageBlock

_PINS = ("ys", "xs", "grad_ys")


def add_gradients(making: Making, name: str, block: PageBlock) -> None:
    """Adds the blocks that compute them, in a scope of the block's name."""
    making.refuse_unknown(name, "input", block.inputs, _PINS)
    making.refuse_unknown(name, "attribute", block.attrs, ())
    ys, xs = (
        making.collect(name, pin, _symbols, making, block.inputs.get(pin)) for pin in ("ys", "xs")
    )
    weights = block.inputs.get("grad_ys")
    if weights is not None:
        weights = making.collect(name, "grad_ys", _weights, making, weights)
    after = making.collect(name, "after", making.after, block)
    if name in making.left_out:
        return
    graph = making.graph
    before = len(graph)
    graph.count(sum(1 + len([*flat(each.inputs)]) for each in blocks_behind(ys)) // 16)
    with Scope(graph, making.prefix + name):
        found = gradients(ys, xs, weights)
    added = making.joined_since(before)
    for each in added:
        graph.made_for[each.name] = making.owner or name
    making.make_of(name, added, after)
    making.wire_list(name, "dx", found)
    for i, (x, dx) in enumerate(zip(block.inputs["xs"], found, strict=True)):
        if dx is None:
            making.without[f"{name}:dx[{i}]"] = f"has no value, as ys do not depend on {x}"


def _symbols(making: Making, wires: Json) -> list[Symbol]:
    if type(wires) is not list or not wires or any(type(wire) is not str for wire in wires):
        hint = 'Write such as ["loss:output"].'
        raise OpError(
            "must be a list of wires",
            got=described("none") if wires is None else wires,
            hint=hint,
        )
    return [making.symbol(wire) for wire in wires]


def _weights(making: Making, given: Json) -> list[Any]:
    if type(given) is not list:
        hint = "Write null for ones."
        raise OpError("must be a list, one for each of ys", got=given, hint=hint)
    return [None if each is None else making.value(each) for each in given]
