"""Lookup of pins of a page in the graph built from it: "block:pin" to symbols and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from backblocks.errors import OpError
from backblocks.graph.symbol import Block, Symbol, blocks_behind
from backblocks.ops._op import Value
from backblocks.ops._pins import Pin
from backblocks.ops._values import flat
from backblocks.pages.builder import PageGraph
from backblocks.pages.model import GRADIENTS, PAGE, PageBlock


class PinLookup:
    """Symbols of a page's graph by "block:pin", of an output or of an input; "block:pin[2]" of a list."""

    def __init__(self, graph: PageGraph, blocks: Mapping[str, PageBlock]) -> None:
        self.graph = graph
        self._ops = {name: block.op for name, block in blocks.items()}
        self._pins: dict[int, str] = {}
        for wire, symbol in graph.wires.items():
            if ":" in wire:
                self._pins.setdefault(id(symbol), wire)
        for name, op in self._ops.items():
            if name in graph.expansions and op not in _COMPOSITE:
                made = graph.expansions[name][0]
                for pin, symbol in _flat_pins(made.op.inputs, made.inputs):
                    self._pins.setdefault(id(symbol), f"{name}:{pin}")

    def pin(self, symbol: Symbol) -> str:
        """The pin of a symbol: the output that it comes from, or the input that it is typed into."""
        return self._pins.get(id(symbol), "")

    def input(self, pin: str) -> Symbol | None:
        """The symbol that is wired to an input, or typed into it as a constant."""
        name, _, own = pin.partition(":")
        if name not in self.graph.expansions or self._ops.get(name) in _COMPOSITE:
            return None
        block = self.graph.expansions[name][0]
        return dict(_flat_pins(block.op.inputs, block.inputs)).get(own)

    def block(self, name: str) -> Block:
        """The graph's block of a block of the page, which must be an op."""
        op = self._ops.get(name, "")
        if op in _COMPOSITE:
            raise OpError("must be an op", op=name, got=op, hint=_COMPOSITE[op])
        if name not in self.graph.expansions:
            hint = "Run the page, or to this block."
            raise OpError("must be a block that has run", op=name, hint=hint)
        return self.graph.expansions[name][0]

    def tensors(self, name: str) -> dict[str, Symbol]:
        """Inputs and then outputs of an op by pin; "values[1]" of a list."""
        block = self.block(name)
        pins = [*block.op.inputs, *block.op.outputs]
        values = [*block.inputs, *block.outputs]
        return dict(_flat_pins(pins, values))

    def upstream(self, pin: str) -> Iterator[str]:
        """The outputs that a pin is computed from, in topological order, and the pin itself as the last."""
        symbol = self.graph.wires.get(pin, self.input(pin))
        blocks = [] if symbol is None else blocks_behind([symbol])
        for block in sorted(blocks, key=lambda block: block.number):
            for each in flat(block.outputs):
                name = self.pin(each)
                if name and name != pin:
                    yield name
        yield pin


_COMPOSITE = {
    PAGE: "Open that page, and choose one of its blocks.",
    GRADIENTS: "Add the gradient block of an op, and choose that.",
}


def _flat_pins(pins: Sequence[Pin], values: Sequence[Value]) -> Iterator[tuple[str, Symbol]]:
    """Each tensor by pin, with lists flattened."""
    for pin, value in zip(pins, values, strict=False):  # a variable and a constant have no inputs
        if isinstance(value, tuple):
            yield from ((f"{pin.name}[{i}]", each) for i, each in enumerate(value))
        elif value is not None:
            yield pin.name, value
