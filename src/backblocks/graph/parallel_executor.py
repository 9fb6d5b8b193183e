"""Runs steps that do not wait for each other at once.

Which value a step sees does not depend on the order, since every version of a variable has a slot of its
own. How much memory they take does: one by one they take so much at most. When the steps up to some place
in that order are done, they take no more than that and what was given by steps behind the place, which
began ahead of their turn. So whoever says how many bytes may be given ahead knows the peak.
"""

from __future__ import annotations

import contextvars
import heapq
import queue
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from backblocks.graph.executor import Execution, Live
from backblocks.graph.program import CompiledSteps, Program, Step, followers_of
from backblocks.threads import get_num_threads


class ParallelExecutor:
    """Runs heavy steps on threads of their own, beside each other and all the light ones."""

    def __init__(
        self,
        run: Execution,
        todo: CompiledSteps,
        plan: Program,
        heavy: set[Step],
        sizes: Mapping[int, int],
        most_ahead: int,
    ) -> None:
        """`sizes` are the bytes of slots as far as they are known; `most_ahead` may be given ahead."""
        self._run = run
        self._heavy = heavy
        self._sizes = sizes
        self._most_ahead = most_ahead
        self._computes = dict(todo)
        self._waiting, self._followers = followers_of(list(self._computes))
        self._readers = Counter(slot for step in self._computes for slot in _touched(step))
        self._kept = {*plan.fetched, *plan.written.values()}
        self._steps = list(self._computes)
        self._turn = {step: i for i, step in enumerate(self._steps)}
        self._place = 0
        """All steps before it are done."""
        self._done: set[Step] = set()
        self._ahead: dict[int, int] = {}
        """Bytes of the slots that steps behind the place give."""
        self._light: list[tuple[int, Step]] = []
        self._large: list[tuple[int, Step]] = []
        """Steps that can begin, the first of the order first."""
        self._finished: queue.SimpleQueue[tuple[Step, BaseException | None]] = queue.SimpleQueue()

    def run(self, held: int) -> int:
        """Gives the most bytes that values had at a time, from `held` on."""
        self._live = Live(held)
        self._make_ready(step for step in self._steps if not self._waiting[step])
        running, most = 0, max(get_num_threads(), 2)
        # Leaving the block waits for the threads: none is left behind when a run fails.
        with ThreadPoolExecutor(most, "block") as threads:
            try:
                while self._light or self._large or running:
                    while running < most and (step := self._next(self._large)):
                        context = contextvars.copy_context()
                        threads.submit(context.run, self._run.stop.during, self._work, step)
                        running += 1
                    if step := self._next(self._light):
                        self._run.one(step, self._computes[step])
                        self._finish(step)
                    if running and (step is None or not self._finished.empty()):
                        step, error = self._finished.get()
                        running -= 1
                        if error is not None:
                            raise error
                        self._finish(step)
            except BaseException:
                self._run.stop.set()  # nobody wants what the others compute
                raise
        return self._live.peak

    def _make_ready(self, steps: Iterable[Step]) -> None:
        for step in steps:
            heap = self._large if step in self._heavy else self._light
            heapq.heappush(heap, (self._turn[step], step))

    def _next(self, heap: list[tuple[int, Step]]) -> Step | None:
        """Takes the first step out, if it is its turn or there is room for what it gives ahead."""
        if not heap:
            return None
        turn, step = heap[0]
        gives = {slot: self._sizes.get(slot, 0) for slot in step.gives}
        if turn > self._place:
            if sum(self._ahead.values()) + sum(gives.values()) > self._most_ahead:
                return None
            self._ahead |= gives
        heapq.heappop(heap)
        self._live.expect(gives)
        return step

    def _work(self, step: Step) -> None:
        try:
            self._run.one(step, self._computes[step])
        except BaseException as error:  # told to the thread that waits for it
            self._finished.put((step, error))
        else:
            self._finished.put((step, None))

    def _finish(self, step: Step) -> None:
        slots, readers = self._run.slots, self._readers
        self._live.add(slots, step.gives)
        readers.subtract(touched := _touched(step))
        old = [slot for slot in touched if readers[slot] == 0 and slot not in self._kept]
        self._live.drop(slots, old)
        for slot in old:
            self._ahead.pop(slot, None)
        self._go_on_from(step)
        for follower in self._followers.get(step, ()):
            self._waiting[follower] -= 1
        self._make_ready(f for f in self._followers.get(step, ()) if not self._waiting[f])

    def _go_on_from(self, step: Step) -> None:
        """Moves the place behind all that is done; what the step there gives is no longer ahead."""
        self._done.add(step)
        while self._place < len(self._steps):
            for slot in self._steps[self._place].gives:
                self._ahead.pop(slot, None)
            if self._steps[self._place] not in self._done:
                return
            self._place += 1


def _touched(step: Step) -> set[int]:
    return {*step.uses, *step.gives}
