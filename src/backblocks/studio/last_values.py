"""The last values of a page's outputs, and of its blocks' inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backblocks.errors import OpError
from backblocks.graph.symbol import Block, Symbol, blocks_behind
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value
from backblocks.ops._pins import Pin
from backblocks.ops._values import flat
from backblocks.pages.builder import PageGraph
from backblocks.pages.model import GRADIENTS, PAGE
from backblocks.studio.run_plan import RunPlan


class LastValues:
    """The last values by "block:pin", of an output or of an input; "block:pin[2]" of a list."""

    def __init__(self) -> None:
        self.outputs: dict[str, tuple[Array, int]] = {}
        """Each with the step that gave it."""
        self.graph = PageGraph()
        self._kinds: dict[str, str] = {}
        self._pins: dict[int, str] = {}
        self._step = 0

    def configure(self, plan: RunPlan, step: int) -> None:
        """Takes over the graph of a run; values of outputs that it does not have are dropped."""
        graph = plan.graph
        for wire in [wire for wire in self.outputs if wire not in graph.wires]:
            del self.outputs[wire]
        self.outputs |= {wire: (array, step) for wire, array in plan.constants.items()}
        pins: dict[int, str] = {}
        for wire, symbol in graph.wires.items():
            if ":" in wire:
                pins.setdefault(id(symbol), wire)
        for name, block in plan.page.blocks.items():
            if name in graph.expansions and block.op not in _COMPOSITE:
                made = graph.expansions[name][0]
                for pin, symbol in _flat_pins(made.op.inputs, made.inputs):
                    pins.setdefault(id(symbol), f"{name}:{pin}")
        self._kinds = {name: block.op for name, block in plan.page.blocks.items()}
        self.graph, self._pins, self._step = graph, pins, step

    def pin(self, symbol: Symbol) -> str:
        """The pin of a symbol: the output that it comes from, or the input that it is typed into."""
        return self._pins.get(id(symbol), "")

    def value(self, pin: str) -> tuple[Array, int]:
        """The value, and the step that gave it."""
        if pin in self.outputs:
            return self.outputs[pin]
        symbol = self._input(pin)
        if symbol is not None:
            if (found := self.outputs.get(self.pin(symbol))) is not None:
                return found
            if symbol.value is not None:
                return symbol.value, self._step
        raise OpError("has no value yet", op=pin, hint="Run the page, or to this block.")

    def block(self, name: str) -> Block:
        """The graph's block of a block of the page, which must be an op."""
        kind = self._kinds.get(name, "")
        if kind in _COMPOSITE:
            raise OpError("must be an op", op=name, got=kind, hint=_COMPOSITE[kind])
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

    def upstream(self, pin: str) -> Iterator[tuple[str, Array]]:
        """The values that a value was computed from, in topological order, and itself the last."""
        symbol = self.graph.wires.get(pin, self._input(pin))
        blocks = [] if symbol is None else blocks_behind([symbol])
        for block in sorted(blocks, key=lambda block: block.number):
            for each in flat(block.outputs):
                name = self.pin(each)
                if name and name != pin and (found := self._value_or_none(name)) is not None:
                    yield name, found
        if (found := self._value_or_none(pin)) is not None:
            yield pin, found

    def _value_or_none(self, pin: str) -> Array | None:
        try:
            return self.value(pin)[0]
        except OpError:
            return None

    def _input(self, pin: str) -> Symbol | None:
        """The symbol that is wired to an input, or typed into it as a constant."""
        name, _, own = pin.partition(":")
        if name not in self.graph.expansions or self._kinds.get(name) in _COMPOSITE:
            return None
        block = self.graph.expansions[name][0]
        return dict(_flat_pins(block.op.inputs, block.inputs)).get(own)


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
