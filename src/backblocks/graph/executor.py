"""Runs the steps of a program, one after another, and tells whoever watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from backblocks.errors import BackblocksError, OpError
from backblocks.graph.events import DEAD, Cancelled, Event, before_block
from backblocks.graph.program import CompiledSteps, Step, StepFunction, is_dead, looked_at
from backblocks.graph.symbol import Block
from backblocks.ops._kernels import Stop, Stopped
from backblocks.ops._values import each_value, flat


class Execution:
    """What one run knows while it goes on."""

    def __init__(
        self,
        slots: list[Any],
        tell: Callable[[Event], None] | None,
        stop: Stop,
        known: int,
        total: int,
    ) -> None:
        self.slots = slots
        self.executed: list[Step] = []  # whose append no other thread can come between
        self._skipped: list[Step] = []
        self._tell = tell
        self.stop = stop
        self._known = known
        self._total = total
        self._before_block = before_block.get()
        self._dead: set[Block] = set()

    def one_by_one(self, todo: CompiledSteps, held: int) -> int:
        """Gives the most bytes that values had at a time, from `held` on."""
        slots, live = self.slots, Live(held)
        for step, compute in todo:
            self.one(step, compute)
            live.add(slots, step.gives)
            live.drop(slots, step.drops)
        return live.peak

    def one(self, step: Step, compute: StepFunction) -> None:
        """Runs a step, or skips it if it is dead."""
        if self.stop.is_set():
            raise Cancelled("the run was cancelled")
        if step.may_die and _dies(step, self.slots, self._dead):
            self._skipped.append(step)
            self._say("skipped", step)
            return
        if self._before_block is not None:
            self._before_block(step.block.number)
        if self._tell is None:
            self._compute(step, compute)
            self.executed.append(step)
        else:
            self._watched(step, compute)

    def _compute(self, step: Step, compute: StepFunction) -> None:
        try:
            compute(self.slots)
        except Exception as error:
            raise_named(error, step, self.slots)

    def _watched(self, step: Step, compute: StepFunction) -> None:
        self._say("started", step)
        begun = time.perf_counter()
        try:
            self._compute(step, compute)
        except BaseException:
            self._say("failed", step, time.perf_counter() - begun)
            raise
        size = sum(self.slots[slot].nbytes for slot in step.gives)
        self.executed.append(step)
        self._say("finished", step, time.perf_counter() - begun, size)

    def _say(self, kind: str, step: Step, seconds: float = 0.0, size: int = 0) -> None:
        if self._tell is not None:
            done = self._known + len(self.executed) + len(self._skipped)
            self._tell(Event(kind, step.block, seconds, size, done, self._total))


def raise_named(error: Exception, step: Step, slots: list[Any]) -> NoReturn:
    """Raises what whoever runs a session gets for an exception out of a step, with the block's name."""
    if isinstance(error, Cancelled):
        raise error
    if isinstance(error, Stopped):
        raise Cancelled("the run was cancelled") from error
    block = step.block
    try:
        if isinstance(error, BackblocksError):
            raise error
        block.op.rethrow(error, each_value(slots.__getitem__, step.takes), block.attrs)
    except BackblocksError as ours:
        ours.op = ours.op or block.op.name
        ours.block = ours.block or block.name
        raise


class Live:
    """How many bytes the values in the slots have, and had at most."""

    def __init__(self, held: int) -> None:
        self._now = self.peak = held
        self._sizes: dict[int, int] = {}

    def expect(self, sizes: Mapping[int, int]) -> None:
        """Counts values that are being made with the sizes that they are to have."""
        for slot, size in sizes.items():
            self._now += size - self._sizes.get(slot, 0)
            self._sizes[slot] = size
        self.peak = max(self.peak, self._now)

    def add(self, slots: list[Any], new: Iterable[int]) -> None:
        self.expect({slot: getattr(slots[slot], "nbytes", 0) for slot in new})

    def drop(self, slots: list[Any], old: Sequence[int]) -> None:
        for slot in old:
            self._now -= self._sizes.pop(slot, 0)
            slots[slot] = None


def _dies(step: Step, slots: list[Any], dead: set[Block]) -> bool:
    """Whether a step lies in a branch that was not taken; then so does all it gives."""
    dies = is_dead(step.block, [slots[slot] is DEAD for slot in flat(step.takes)], dead)
    if not dies and any(slots[slot] is None for slot in looked_at(step)):
        raise OpError(
            "reads a variable that has no value: the block that assigns it was not run",
            hint="Give the variable an initial value.",
        )
    if dies:
        dead.add(step.block)
        for slot in step.gives:
            slots[slot] = DEAD
        for change in step.changes:
            slots[change.after] = slots[change.before]
    return dies
