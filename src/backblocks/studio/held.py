"""The last values of a page's outputs, and of what its blocks take."""

from __future__ import annotations

from collections.abc import Iterator

from backblocks.errors import OpError
from backblocks.graph.symbol import Block, Symbol, blocks_behind
from backblocks.ops._inputs import Array
from backblocks.ops._op import flat
from backblocks.pages.making import PageGraph
from backblocks.studio.job import Job


class Held:
    """Values by "block:pin", of an output or of an input; "block:pin[2]" of a list."""

    def __init__(self) -> None:
        self.outputs: dict[str, tuple[Array, int]] = {}
        """Each with the step that gave it."""
        self.graph = PageGraph()
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
        for name, parts in graph.parts.items():
            if [part.name for part in parts] == [name]:
                for pin, taken in _inputs(name, parts[0]):
                    pins.setdefault(id(taken), pin)
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
        """The block of the graph that a block of the page is. Others are made of many, or of none."""
        parts = self.graph.parts.get(name)
        if parts is None:
            hint = "Choose a block of the page that can run, and run it."
            raise OpError("must be a block that has run", op=name, hint=hint)
        if [part.name for part in parts] != [name]:
            hint = "Choose one of the ops that it is made of, on a page of its own."
            raise OpError("is no op but made of several blocks", op=name, hint=hint)
        return parts[0]

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
        name = pin.partition(":")[0]
        parts = self.graph.parts.get(name, ())
        if [part.name for part in parts] != [name]:
            return None
        return dict(_inputs(name, parts[0])).get(pin)


def _inputs(name: str, block: Block) -> Iterator[tuple[str, Symbol]]:
    for pin, value in zip(block.op.inputs, block.inputs, strict=False):
        if isinstance(value, tuple):
            yield from ((f"{name}:{pin.name}[{i}]", each) for i, each in enumerate(value))
        elif value is not None:
            yield f"{name}:{pin.name}", value
