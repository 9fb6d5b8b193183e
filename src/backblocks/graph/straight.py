"""The steps of a program written out as one Python function, two lines a step.

Taking steps from a list costs as much as computing a few numbers, and pages that learn run their steps
thousands of times. Only numbers of slots and names made here get into the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from traceback import walk_tb
from types import TracebackType
from typing import Any

from backblocks.graph.events import Cancelled
from backblocks.graph.program import Step
from backblocks.ops._inputs import Array
from backblocks.ops._op import Fill

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

    def __init__(self, todo: Todo) -> None:
        self._steps = [step for step, _ in todo]
        names: dict[str, Any] = {"Cancelled": Cancelled}
        lines = ["def run(s, cancelled):"]
        for i, (step, compute) in enumerate(todo):
            lines.append("    if cancelled(): raise Cancelled('the run was cancelled')")
            lines.append("    " + "; ".join([*_work(i, compute, names), *_drops(step)]))
        lines.append("    return")  # which a program without steps needs
        exec(compile("\n".join(lines), _FILE, "exec"), names)  # noqa: S102 - nothing from outside is in it
        self.run: Callable[[list[Any], Callable[[], bool]], None] = names["run"]

    def failed(self, trace: TracebackType | None) -> Step:
        """The step in which an error was raised."""
        (line,) = (number for frame, number in walk_tb(trace) if frame.f_code.co_filename == _FILE)
        return self._steps[(line - 2) // 2]


def _work(i: int, compute: Compute, names: dict[str, Any]) -> list[str]:
    if not isinstance(compute, ByKernel):
        names[f"compute{i}"] = compute
        return [f"compute{i}(s)"]
    names[f"make{i}"], names[f"fill{i}"] = compute.make, compute.fill
    inputs = ", ".join(f"s[{slot}]" for slot in compute.takes)
    return [f"s[{compute.give}] = out = make{i}()", f"fill{i}({inputs}, out)"]


def _drops(step: Step) -> list[str]:
    return [f"s[{slot}] = None" for slot in step.drops]
