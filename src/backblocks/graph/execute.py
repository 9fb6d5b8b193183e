"""Runs the steps of a program: one after another, or those that do not wait for each other at once."""

from __future__ import annotations

import contextvars
import heapq
import queue
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from backblocks.errors import OpError
from backblocks.graph.events import DEAD, Cancelled, Event
from backblocks.graph.program import Program, Step, followers_of, is_dead, looked_at
from backblocks.graph.straight import Compute, Todo
from backblocks.graph.symbol import Block
from backblocks.ops._kernels import Stop, Stopped
from backblocks.ops._op import flat
from backblocks.threads import get_num_threads


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
        self._stop = stop
        self._known = known
        self._total = total
        self._dead: set[Block] = set()

    def one_by_one(self, todo: Todo, held: int) -> int:
        """Gives the most bytes that values had at a time, from `held` on."""
        slots, live = self.slots, _Live(held)
        for step, compute in todo:
            self._one(step, compute)
            live.add(slots, flat(step.gives))
            live.drop(slots, step.drops)
        return live.peak

    def side_by_side(self, todo: Todo, plan: Program, heavy: set[Step], held: int) -> int:
        """Runs heavy steps on threads of their own, beside each other and all the light ones.

        Which value a step sees does not depend on the order, since every version of a variable has a
        slot of its own. Gives the most bytes that values had at a time, from `held` on.
        """
        computes = dict(todo)
        waiting, followers = followers_of(list(computes))
        readers = Counter(slot for step in computes for slot in _touched(step))
        kept = {*plan.fetched, *plan.written.values()}
        order = {step: i for i, step in enumerate(computes)}
        light: list[tuple[int, Step]] = []
        large: list[tuple[int, Step]] = []
        live = _Live(held)
        finished: queue.SimpleQueue[tuple[Step, BaseException | None]] = queue.SimpleQueue()

        def make_ready(step: Step) -> None:
            heapq.heappush(large if step in heavy else light, (order[step], step))

        def finish(step: Step) -> None:
            live.add(self.slots, flat(step.gives))
            readers.subtract(touched := _touched(step))
            live.drop(self.slots, [s for s in touched if readers[s] == 0 and s not in kept])
            for follower in followers.get(step, ()):
                waiting[follower] -= 1
                if not waiting[follower]:
                    make_ready(follower)

        def work(step: Step) -> None:
            try:
                self._one(step, computes[step])
            except BaseException as error:  # told to the thread that waits for it
                finished.put((step, error))
            else:
                finished.put((step, None))

        for step in computes:
            if not waiting[step]:
                make_ready(step)
        running, most = 0, max(get_num_threads(), 2)
        # Leaving the block waits for the threads: none is left behind when a run fails.
        with ThreadPoolExecutor(most, "block") as threads:
            try:
                while light or large or running:
                    while large and running < most:
                        _, step = heapq.heappop(large)
                        context = contextvars.copy_context()
                        threads.submit(context.run, self._stop.during, work, step)
                        running += 1
                    if light:
                        _, step = heapq.heappop(light)
                        self._one(step, computes[step])
                        finish(step)
                    if running and (not light or not finished.empty()):
                        step, error = finished.get()
                        running -= 1
                        if error is not None:
                            raise error
                        finish(step)
            except BaseException:
                self._stop.set()  # nobody wants what the others compute
                raise
        return live.peak

    def _one(self, step: Step, compute: Compute) -> None:
        if self._stop.is_set():
            raise Cancelled("the run was cancelled")
        if step.may_die and _dies(step, self.slots, self._dead):
            self._skipped.append(step)
            self._say("skipped", step)
            return
        try:
            if self._tell is None:
                compute(self.slots)
                self.executed.append(step)
            else:
                self._watched(step, compute)
        except OpError as error:
            name_block(error, step)
            raise
        except Stopped as error:
            raise Cancelled("the run was cancelled") from error

    def _watched(self, step: Step, compute: Compute) -> None:
        self._say("started", step)
        begun = time.perf_counter()
        try:
            compute(self.slots)
        except BaseException:
            self._say("failed", step, time.perf_counter() - begun)
            raise
        size = sum(self.slots[slot].nbytes for slot in flat(step.gives))
        self.executed.append(step)
        self._say("finished", step, time.perf_counter() - begun, size)

    def _say(self, kind: str, step: Step, seconds: float = 0.0, size: int = 0) -> None:
        if self._tell is not None:
            done = self._known + len(self.executed) + len(self._skipped)
            self._tell(Event(kind, step.block, seconds, size, done, self._total))


def name_block(error: OpError, step: Step) -> None:
    error.op = error.op or step.block.op.name
    error.block = error.block or step.block.name


class _Live:
    """How many bytes the values in the slots have, and had at most."""

    def __init__(self, held: int) -> None:
        self._now = self.peak = held
        self._sizes: dict[int, int] = {}

    def add(self, slots: list[Any], new: Any) -> None:
        for slot in new:
            size = getattr(slots[slot], "nbytes", 0)
            self._now += size - self._sizes.get(slot, 0)
            self._sizes[slot] = size
        self.peak = max(self.peak, self._now)

    def drop(self, slots: list[Any], old: Sequence[int]) -> None:
        for slot in old:
            self._now -= self._sizes.pop(slot, 0)
            slots[slot] = None


def _touched(step: Step) -> set[int]:
    return {*flat(step.takes), *flat(step.gives), *step.before}


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
        for slot in flat(step.gives):
            slots[slot] = DEAD
        for slot, before in zip(reversed(step.gives), reversed(step.before), strict=False):
            slots[slot] = slots[before]
    return dies
