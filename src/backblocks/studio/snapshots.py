"""Snapshots of a page's variables, each kept under the number of the run that gave them."""

from __future__ import annotations

from backblocks.errors import OpError
from backblocks.graph.session import Session, Snapshot
from backblocks.graph.symbol import holds_state
from backblocks.ops._handles import RESOURCE
from backblocks.ops._inputs import Array
from backblocks.pages.builder import PageGraph
from backblocks.studio.run_records import MAX_SNAPSHOTS

MAX_BYTES = 1 << 29
"""Bytes of all snapshots, which come on top of the memory that runs may use."""


class Snapshots:
    """The snapshots of a page by run, each with the step that it was taken after."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Snapshot, int]] = {}

    def keep(self, session: Session, run: int, step: int) -> int:
        """Keeps the variables, in place of an earlier snapshot of this run; gives their bytes."""
        others = {number: kept for number, kept in self._kept.items() if number != run}
        hint = "Delete one of them, in the list of runs."
        if len(others) >= MAX_SNAPSHOTS:
            rule = f"must be at most {MAX_SNAPSHOTS}"
            raise OpError(rule, op="Snapshots", got=len(others) + 1, hint=hint)
        new = session.snapshot()
        total = sum(kept.bytes for kept, _ in others.values()) + new.bytes
        if total > MAX_BYTES:
            rule = f"must have at most {MAX_BYTES >> 20} MiB in all"
            got = f"{total / 2**20:,.0f} MiB"
            raise OpError(rule, op="Snapshots", got=got, hint=hint)
        self._kept = others | {run: (new, step)}
        return new.bytes

    def restore(self, session: Session, run: int) -> int:
        """Restores the variables of a snapshot; gives the step that it was taken after."""
        kept, step = self._found(run)
        session.restore(kept)
        return step

    def delete(self, run: int) -> None:
        self._found(run)
        del self._kept[run]

    def value(self, pin: str, run: int, graph: PageGraph) -> tuple[Array, int]:
        """The value of a variable in a snapshot, by its output, and the step."""
        kept, step = self._found(run)
        symbol = graph.wires.get(pin)
        name = pin.partition(":")[0] if symbol is None else symbol.block.name
        if name not in kept.values:
            hint = "Choose a variable."
            raise OpError(f"is not in the snapshot of run {run}", op=pin, hint=hint)
        return kept.values[name], step

    def _found(self, run: int) -> tuple[Snapshot, int]:
        if run not in self._kept:
            hint = "Snapshots end with the process of the page. Take one of a later run."
            raise OpError("has no snapshot", op=f"Run {run}", hint=hint)
        return self._kept[run]


def variable_pins(graph: PageGraph) -> list[str]:
    """The outputs of a page that are variables."""
    return [
        wire
        for wire, symbol in graph.wires.items()
        if ":" in wire and holds_state(symbol.block) and symbol.dtype != RESOURCE
    ]
