"""Execution of single steps in Python: branches, events and errors. It runs what native code alone cannot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from backblocks.errors import BackblocksError, OpError
from backblocks.graph.events import DEAD, Cancelled, Event, before_block
from backblocks.graph.program import CompiledSteps, Step, StepFunction, is_dead, slots_read
from backblocks.graph.symbol import Block
from backblocks.ops._kernels import Stop, Stopped
from backblocks.ops._values import each_value, flat


class StepRunner:
    """Runs steps on the slots of one run, skips dead ones, and notifies listeners of each."""

    def __init__(
        self,
        slots: list[Any],
        notify: Callable[[Event], None] | None,
        stop: Stop,
        known: int,
        total: int,
    ) -> None:
        self.slots = slots
        self.executed: list[Step] = []  # whose append no other thread can come between
        self._skipped: list[Step] = []
        self._notify = notify
        self.stop = stop
        self._known = known
        self._total = total
        self._before_block = before_block.get()
        self._dead: set[Block] = set()

    def run_serially(self, steps: CompiledSteps, held: int) -> int:
        """Runs the steps in order; gives the peak of live bytes, from `held` on."""
        slots, live = self.slots, LiveBytes(held)
        for step, compute in steps:
            self.run_step(step, compute)
            live.add(slots, step.defs)
            live.drop(slots, step.drops)
        return live.peak

    def run_step(self, step: Step, compute: StepFunction) -> None:
        """Runs a step, or skips it if it lies in a branch that was not taken."""
        if self.stop.is_set():
            raise Cancelled("the run was cancelled")
        if step.may_be_dead and _is_skipped(step, self.slots, self._dead):
            self._skipped.append(step)
            self._emit("skipped", step)
            return
        if self._before_block is not None:
            self._before_block(step.block.number)
        if self._notify is None:
            self._compute(step, compute)
            self.executed.append(step)
        else:
            self._compute_and_notify(step, compute)

    def _compute(self, step: Step, compute: StepFunction) -> None:
        try:
            compute(self.slots)
        except Exception as error:
            raise_named(error, step, self.slots)

    def _compute_and_notify(self, step: Step, compute: StepFunction) -> None:
        self._emit("started", step)
        begun = time.perf_counter()
        try:
            self._compute(step, compute)
        except BaseException:
            self._emit("failed", step, time.perf_counter() - begun)
            raise
        size = sum(self.slots[slot].nbytes for slot in step.defs)
        self.executed.append(step)
        self._emit("finished", step, time.perf_counter() - begun, size)

    def _emit(self, kind: str, step: Step, seconds: float = 0.0, size: int = 0) -> None:
        if self._notify is not None:
            done = self._known + len(self.executed) + len(self._skipped)
            self._notify(Event(kind, step.block, seconds, size, done, self._total))


def raise_named(error: Exception, step: Step, slots: list[Any]) -> NoReturn:
    """Raises the error that a run gives for an exception out of a step, with the names of op and block."""
    if isinstance(error, Cancelled):
        raise error
    if isinstance(error, Stopped):
        raise Cancelled("the run was cancelled") from error
    block = step.block
    try:
        if isinstance(error, BackblocksError):
            raise error
        block.op.rethrow(error, each_value(slots.__getitem__, step.inputs), block.attrs)
    except BackblocksError as ours:
        ours.op = ours.op or block.op.name
        ours.block = ours.block or block.name
        raise


class LiveBytes:
    """The bytes of the values that are live in the slots, and their peak."""

    def __init__(self, held: int) -> None:
        self._now = self.peak = held
        self._sizes: dict[int, int] = {}

    def expect(self, sizes: Mapping[int, int]) -> None:
        """Counts values that are being computed with the sizes that they will have."""
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


def _is_skipped(step: Step, slots: list[Any], dead: set[Block]) -> bool:
    """Whether a step lies in a branch that was not taken; then its outputs become dead values."""
    skipped = is_dead(step.block, [slots[slot] is DEAD for slot in flat(step.inputs)], dead)
    if not skipped and any(slots[slot] is None for slot in slots_read(step)):
        raise OpError(
            "reads a variable that has no value: the block that assigns it was not run",
            hint="Give the variable an initial value.",
        )
    if skipped:
        dead.add(step.block)
        for slot in step.defs:
            slots[slot] = DEAD
        for update in step.updates:
            slots[update.after] = slots[update.before]
    return skipped
