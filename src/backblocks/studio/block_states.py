"""Tracks the states of blocks during a run, and which of them have changed since they were last sent."""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable

from backblocks.graph.events import Event
from backblocks.studio.messages import BlockCost, BlockState

_NOTABLE = 0.001
"""Seconds by which a block's time must differ to be sent again."""


class BlockStateTracker:
    """The states of a page's blocks. A block that is several in the graph, such as `gradients`, adds up their
    times.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now: dict[str, BlockState] = {}
        self._sent: dict[str, BlockState] = {}
        self._fresh: set[str] = set()
        """Blocks that have started in this step."""
        self._done = 0
        """How many blocks had finished the step at the last event."""
        self.progress = 0.0
        self._seconds: dict[str, float] = {}
        """What each block took in all steps that were timed, but the first."""
        self._first_seconds: dict[str, float] = {}
        self._timed_steps = 0

    def start(self, blocks: Iterable[str]) -> None:
        """A run of these blocks starts."""
        with self._lock:
            self._now = {name: BlockState(name, "waiting") for name in blocks}
            self._sent = {}
            self._fresh = set()
            self._done = 0
            self.progress = 0.0
            self._seconds, self._first_seconds = {}, {}
            self._timed_steps = 0

    def step_timed(self) -> None:
        """A step has ended whose events were handled."""
        with self._lock:
            self._timed_steps += 1
            if self._timed_steps == 1:
                self._seconds, self._first_seconds = {}, self._seconds

    def costs(self) -> tuple[int, list[BlockCost]]:
        """In how many steps blocks were timed, the mean time of each, and the bytes of its outputs.

        The first step also allocates memory and fills caches, so it counts only if it is the only one.
        """
        with self._lock:
            steps = max(1, self._timed_steps - 1)
            seconds = self._first_seconds if self._timed_steps == 1 else self._seconds
            return steps, [
                BlockCost(name, seconds.get(name, 0.0) / steps, state.bytes)
                for name, state in self._now.items()
            ]

    def ran(self) -> int:
        """How many blocks have run; their results may have been cached."""
        with self._lock:
            return sum(state.state in ("done", "cached") for state in self._now.values())

    def handle(self, name: str, event: Event) -> None:
        """Takes an event of the graph that concerns this block of the page."""
        with self._lock:
            state = self._now.get(name)
            if state is None:
                return
            if event.total:
                self.progress = event.done / event.total
                if event.done < self._done:
                    self._finish_waiting()
                self._done = event.done
                if event.done <= 1:
                    self._fresh.clear()  # another step has begun
            match event.kind:
                case "started":
                    if name not in self._fresh:
                        state.seconds, state.bytes = 0.0, 0
                        self._fresh.add(name)
                    state.state = "running"
                case "finished":
                    state.state = "done"
                    state.seconds += event.seconds
                    self._seconds[name] = self._seconds.get(name, 0.0) + event.seconds
                    state.bytes += event.bytes
                case "failed":
                    state.state = "failed"
                case "cached" if name not in self._fresh:
                    state.state = "cached"
                case "skipped" if name not in self._fresh:
                    state.state = "skipped"

    def end(self, failed: str = "", before: Container[str] = (), stopped: bool = False) -> None:
        """The run is over. Blocks that had nothing to do, such as constants, are done with it.

        Where it failed or was stopped, that is so only for those that come `before` the one that failed.
        A block that was stopped has not failed.
        """
        with self._lock:
            for name, state in self._now.items():
                if name == failed:
                    state.state = "failed"
                elif state.state == "running" or (stopped and state.state == "failed"):
                    state.state = "skipped"
                elif state.state == "waiting":
                    over = not (failed or stopped) or name in before
                    state.state = "done" if over else "skipped"

    def _finish_waiting(self) -> None:
        """Blocks that had nothing to do in a step, such as variables, do not wait in the next one."""
        for state in self._now.values():
            if state.state == "waiting":
                state.state = "done"

    def take_changed(self) -> list[BlockState]:
        with self._lock:
            new = [
                state
                for name, state in self._now.items()
                if self._differs(state, self._sent.get(name))
            ]
            for state in new:
                self._sent[state.block] = BlockState(
                    state.block, state.state, state.seconds, state.bytes
                )
            return [self._sent[state.block] for state in new]

    def _differs(self, state: BlockState, sent: BlockState | None) -> bool:
        return (
            sent is None
            or sent.state != state.state
            or abs(sent.seconds - state.seconds) > max(_NOTABLE, sent.seconds / 4)
        )
