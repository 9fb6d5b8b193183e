"""The steps of a program written out as one Python function, two lines a step.

Taking steps from a list costs as much as computing a few numbers, and pages that learn run their steps
thousands of times. Only numbers of slots and names made here get into the text.

Small values that only kernels see have a place of their own, which every run fills anew. One that has
the same cells as another is a view of its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from traceback import walk_tb
from types import TracebackType
from typing import Any

from backblocks.graph.events import Began, Cancelled
from backblocks.graph.program import Step
from backblocks.ops._inputs import Array
from backblocks.ops._op import Fill
from backblocks.ops.array.shapes import SameCells

Compute = Callable[[list[Any]], None]
"""Computes a step in the slots."""
Todo = Sequence[tuple[Step, Compute]]


@dataclass(frozen=True, slots=True)
class ByKernel:
    """Computes a step of one output by a kernel."""

    make: Callable[[], Array]
    fill: Fill
    takes: list[Any]
    give: int

    def __call__(self, slots: list[Any]) -> None:
        out = slots[self.give] = self.make()
        self.fill(*[slots[slot] for slot in self.takes], out)


_FILE = "<the steps of a program>"


class Straight:
    """Runs steps one after another on the slots of a run."""

    def __init__(self, todo: Todo, began: Began | None = None) -> None:
        self._steps = [step for step, _ in todo]
        places = _places(todo)
        names: dict[str, Any] = {"Cancelled": Cancelled, "began": began}
        names |= {f"place{slot}": array for slot, array in places.items()}
        lines = ["def run(s, cancelled):"]
        for i, (step, compute) in enumerate(todo):
            lines.append("    if cancelled(): raise Cancelled('the run was cancelled')")
            says = [] if began is None else [f"began[0] = {step.block.number}"]
            work = [*says, *_work(i, compute, names, places), *_drops(step, places)]
            lines.append("    " + ("; ".join(work) or "pass"))
        lines.append("    return")  # which a program without steps needs
        exec(compile("\n".join(lines), _FILE, "exec"), names)  # noqa: S102 - nothing from outside is in it
        self.run: Callable[[list[Any], Callable[[], bool]], None] = names["run"]

    def failed(self, trace: TracebackType | None) -> Step:
        """The step in which an error was raised."""
        (line,) = (number for frame, number in walk_tb(trace) if frame.f_code.co_filename == _FILE)
        return self._steps[(line - 2) // 2]


def _work(i: int, compute: Compute, names: dict[str, Any], places: dict[int, Array]) -> list[str]:
    if not isinstance(compute, ByKernel):
        names[f"compute{i}"] = compute
        return [f"compute{i}(s)"]
    if _same_place(compute, places):
        return []
    names[f"fill{i}"] = compute.fill
    inputs = ", ".join(_value(slot, names) for slot in compute.takes)
    if f"place{compute.give}" in names:
        return [f"fill{i}({inputs}, place{compute.give})"]
    names[f"make{i}"] = compute.make
    return [f"s[{compute.give}] = out = make{i}()", f"fill{i}({inputs}, out)"]


def _value(slot: int, names: dict[str, Any]) -> str:
    return f"place{slot}" if f"place{slot}" in names else f"s[{slot}]"


def _drops(step: Step, places: dict[int, Array]) -> list[str]:
    return [f"s[{slot}] = None" for slot in step.drops if slot not in places]


def _same_place(compute: ByKernel, places: dict[int, Array]) -> bool:
    """Whether the cells are already where they are wanted."""
    same = isinstance(compute.fill, SameCells) and compute.takes[0] in places
    return same and compute.give in places


_SMALL = 1 << 14
"""Larger values take longer to compute than their memory takes to be had."""


def _places(todo: Todo) -> dict[int, Array]:
    """An array for each small value that kernels give, and nobody but kernels takes."""
    dropped = {slot for step, _ in todo for slot in step.drops}
    others = (step for step, compute in todo if not isinstance(compute, ByKernel))
    seen = {slot for step in others for slot in (*step.uses, *step.gives)}
    kernels = [compute for _, compute in todo if isinstance(compute, ByKernel)]
    places: dict[int, Array] = {}
    for each in kernels:
        if each.give in dropped - seen and (array := each.make()).nbytes <= _SMALL:
            places[each.give] = array
            if _same_place(each, places):
                places[each.give] = places[each.takes[0]].reshape(array.shape)
    return places
