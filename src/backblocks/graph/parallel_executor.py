"""Parallel executor: runs steps that do not depend on each other on several threads, within a memory limit.

Values do not depend on the order of execution, since every version of a variable has a slot of its own. The
peak of memory does. In serial order it is known. The frontier is the first step of that order that is not
done: live values then take no more than the serial peak and the outputs of steps behind the frontier, which
ran ahead of their turn. So a limit on the bytes computed ahead is a limit on the peak.
"""

from __future__ import annotations

import contextvars
import heapq
import queue
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from backblocks.graph.executor import LiveBytes, StepRunner
from backblocks.graph.program import CompiledSteps, Program, Step, dependents_of
from backblocks.threads import get_num_threads


class ParallelExecutor:
    """Runs heavy steps on a pool of threads, and light ones on the calling thread."""

    def __init__(
        self,
        run: StepRunner,
        steps: CompiledSteps,
        program: Program,
        heavy: set[Step],
        sizes: Mapping[int, int],
        most_ahead: int,
    ) -> None:
        """`sizes` are the bytes of slots as far as they are known; `most_ahead` may be computed ahead."""
        self._run = run
        self._heavy = heavy
        self._sizes = sizes
        self._most_ahead = most_ahead
        self._computes = dict(steps)
        self._waiting, self._dependents = dependents_of(list(self._computes))
        self._readers = Counter(slot for step in self._computes for slot in _touched(step))
        self._kept = {*program.fetched, *program.written.values()}
        self._steps = list(self._computes)
        self._order = {step: i for i, step in enumerate(self._steps)}
        self._frontier = 0
        """Place of the first step that is not done."""
        self._done: set[Step] = set()
        self._ahead: dict[int, int] = {}
        """Bytes of the outputs of steps behind the frontier."""
        self._light: list[tuple[int, Step]] = []
        self._large: list[tuple[int, Step]] = []
        """Heaps of steps whose inputs are there, in serial order."""
        self._finished: queue.SimpleQueue[tuple[Step, BaseException | None]] = queue.SimpleQueue()

    def run(self, held: int) -> int:
        """Runs all steps; gives the peak of live bytes, from `held` on."""
        self._live = LiveBytes(held)
        self._push_ready(step for step in self._steps if not self._waiting[step])
        running, most = 0, max(get_num_threads(), 2)
        # Leaving the block waits for the threads: none is left behind when a run fails.
        with ThreadPoolExecutor(most, "block") as threads:
            try:
                while self._light or self._large or running:
                    while running < most and (step := self._next(self._large)):
                        context = contextvars.copy_context()
                        threads.submit(
                            context.run, self._run.stop.during, self._run_on_thread, step
                        )
                        running += 1
                    if step := self._next(self._light):
                        self._run.run_step(step, self._computes[step])
                        self._finish(step)
                    if running and (step is None or not self._finished.empty()):
                        step, error = self._finished.get()
                        running -= 1
                        if error is not None:
                            raise error
                        self._finish(step)
            except BaseException:
                self._run.stop.set()  # the other threads compute for nothing
                raise
        return self._live.peak

    def _push_ready(self, steps: Iterable[Step]) -> None:
        for step in steps:
            heap = self._large if step in self._heavy else self._light
            heapq.heappush(heap, (self._order[step], step))

    def _next(self, heap: list[tuple[int, Step]]) -> Step | None:
        """Pops the first step, if it is at the frontier or its outputs may be computed ahead."""
        if not heap:
            return None
        turn, step = heap[0]
        outputs = {slot: self._sizes.get(slot, 0) for slot in step.defs}
        if turn > self._frontier:
            if sum(self._ahead.values()) + sum(outputs.values()) > self._most_ahead:
                return None
            self._ahead |= outputs
        heapq.heappop(heap)
        self._live.expect(outputs)
        return step

    def _run_on_thread(self, step: Step) -> None:
        try:
            self._run.run_step(step, self._computes[step])
        except BaseException as error:  # raised in the thread that waits for it
            self._finished.put((step, error))
        else:
            self._finished.put((step, None))

    def _finish(self, step: Step) -> None:
        slots, readers = self._run.slots, self._readers
        self._live.add(slots, step.defs)
        readers.subtract(touched := _touched(step))
        old = [slot for slot in touched if readers[slot] == 0 and slot not in self._kept]
        self._live.drop(slots, old)
        for slot in old:
            self._ahead.pop(slot, None)
        self._advance_frontier(step)
        for dependent in self._dependents.get(step, ()):
            self._waiting[dependent] -= 1
        self._push_ready(f for f in self._dependents.get(step, ()) if not self._waiting[f])

    def _advance_frontier(self, step: Step) -> None:
        """Moves the frontier past all that is done; outputs of the step there are no longer ahead."""
        self._done.add(step)
        while self._frontier < len(self._steps):
            for slot in self._steps[self._frontier].defs:
                self._ahead.pop(slot, None)
            if self._steps[self._frontier] not in self._done:
                return
            self._frontier += 1


def _touched(step: Step) -> set[int]:
    return {*step.uses, *step.defs}
