"""The last values of a page's outputs, and of its blocks' inputs."""

from __future__ import annotations

from collections.abc import Iterator

from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.pages.builder import PageGraph
from backblocks.studio.pin_lookup import PinLookup
from backblocks.studio.run_plan import RunPlan
from backblocks.studio.snapshots import Snapshots


class LastValues:
    """The last values by "block:pin", of an output or of an input; "block:pin[2]" of a list, and
    "block:pin@3" of a variable in the snapshot of run 3.
    """

    def __init__(self) -> None:
        self.outputs: dict[str, tuple[Array, int]] = {}
        """Each output with the step that gave it."""
        self.snapshots = Snapshots()
        self.lookup = PinLookup(PageGraph(), {})
        self._step = 0

    def configure(self, plan: RunPlan, step: int) -> None:
        """Takes over the graph of a run; values of outputs that it does not have are dropped."""
        for wire in [wire for wire in self.outputs if wire not in plan.graph.wires]:
            del self.outputs[wire]
        self.outputs |= {wire: (array, step) for wire, array in plan.constants.items()}
        self.lookup, self._step = PinLookup(plan.graph, plan.page.blocks), step

    def value(self, pin: str) -> tuple[Array, int]:
        """The value, and the step that gave it."""
        if pin in self.outputs:
            return self.outputs[pin]
        wire, _, run = pin.rpartition("@")
        if wire and run.isdecimal():
            return self.snapshots.value(wire, int(run), self.lookup.graph)
        symbol = self.lookup.input(pin)
        if symbol is not None:
            if (found := self.outputs.get(self.lookup.pin(symbol))) is not None:
                return found
            if symbol.value is not None:
                return symbol.value, self._step
        raise OpError("has no value yet", op=pin, hint="Run the page, or to this block.")

    def upstream(self, pin: str) -> Iterator[tuple[str, Array]]:
        """The values that a value was computed from, in topological order, and itself the last."""
        for each in self.lookup.upstream(pin):
            try:
                array, _ = self.value(each)
            except OpError:  # it has none
                continue
            yield each, array
