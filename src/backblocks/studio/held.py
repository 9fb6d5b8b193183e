"""The last values of a page's outputs, and of what its blocks take."""

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
from backblocks.studio.job import Job


class Held:
    """Values by "block:pin", of an output or of an input; "block:pin[2]" of a list."""

    def __init__(self) -> None:
        self.outputs: dict[str, tuple[Array, int]] = {}
        """Each with the step that gave it."""
        self.graph = PageGraph()
        self._kinds: dict[str, str] = {}
        self._pins: dict[int, str] = {}
        self._step = 0

    def use(self, job: Job, step: int) -> None:
        """Goes on with a page: what it has not any longer is forgotten."""
        graph = job.graph
        for wire in [wire for wire in self.outputs if wire not in graph.wires]:
            del self.outputs[wire]
        self.outputs |= {wire: (array, step) for wire, array in job.constants.items()}
        pins: dict[int, str] = {}
        for wire, symbol in graph.wires.items():
            if ":" in wire:
                pins.setdefault(id(symbol), wire)
        for name, block in job.page.blocks.items():
            if name in graph.expansions and block.op not in _MADE_OF_BLOCKS:
                made = graph.expansions[name][0]
                for pin, taken in _single(made.op.inputs, made.inputs):
                    pins.setdefault(id(taken), f"{name}:{pin}")
        self._kinds = {name: block.op for name, block in job.page.blocks.items()}
        self.graph, self._pins, self._step = graph, pins, step

    def pin(self, symbol: Symbol) -> str:
        """The name of a value: that of the output it comes from, or of the input it is typed into."""
        return self._pins.get(id(symbol), "")

    def value(self, pin: str) -> tuple[Array, int]:
        """The value, and the step that gave it."""
        if pin in self.outputs:
            return self.outputs[pin]
        symbol = self._taken(pin)
        if symbol is not None:
            if (found := self.outputs.get(self.pin(symbol))) is not None:
                return found
            if symbol.value is not None:
                return symbol.value, self._step
        raise OpError("has no value yet", op=pin, hint="Run the page, or to this block.")

    def block(self, name: str) -> Block:
        """The block of the graph that a block of the page is, if it is an op."""
        kind = self._kinds.get(name, "")
        if kind in _MADE_OF_BLOCKS:
            raise OpError("must be an op", op=name, got=kind, hint=_MADE_OF_BLOCKS[kind])
        if name not in self.graph.expansions:
            hint = "Run the page, or to this block."
            raise OpError("must be a block that has run", op=name, hint=hint)
        return self.graph.expansions[name][0]

    def tensors(self, name: str) -> dict[str, Symbol]:
        """By pin what an op takes and gives, inputs first; "values[1]" of a list."""
        block = self.block(name)
        pins = [*block.op.inputs, *block.op.outputs]
        values = [*block.inputs, *block.outputs]
        return dict(_single(pins, values))

    def behind(self, pin: str) -> Iterator[tuple[str, Array]]:
        """The values that a value was computed from, in the order of computing, and itself the last."""
        symbol = self.graph.wires.get(pin, self._taken(pin))
        blocks = [] if symbol is None else blocks_behind([symbol])
        for block in sorted(blocks, key=lambda block: block.number):
            for each in flat(block.outputs):
                name = self.pin(each)
                if name and name != pin and (found := self._now(name)) is not None:
                    yield name, found
        if (found := self._now(pin)) is not None:
            yield pin, found

    def _now(self, pin: str) -> Array | None:
        try:
            return self.value(pin)[0]
        except OpError:
            return None

    def _taken(self, pin: str) -> Symbol | None:
        """What is wired to an input, or typed into it."""
        name, _, own = pin.partition(":")
        if name not in self.graph.expansions or self._kinds.get(name) in _MADE_OF_BLOCKS:
            return None
        block = self.graph.expansions[name][0]
        return dict(_single(block.op.inputs, block.inputs)).get(own)


_MADE_OF_BLOCKS = {
    PAGE: "Open that page, and choose one of its blocks.",
    GRADIENTS: "Add the gradient block of an op, and choose that.",
}


def _single(pins: Sequence[Pin], values: Sequence[Value]) -> Iterator[tuple[str, Symbol]]:
    """Each tensor by name, with lists opened."""
    for pin, value in zip(pins, values, strict=False):  # a variable and a constant have no inputs
        if isinstance(value, tuple):
            yield from ((f"{pin.name}[{i}]", each) for i, each in enumerate(value))
        elif value is not None:
            yield pin.name, value
