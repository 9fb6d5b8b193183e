"""The process that runs a page, so that whatever a page does, the studio lives on.

One thread takes orders, one runs, one tells tabs what changed, at most 20 times a second, and one finds out
what takes long to know of values.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import queue
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from backblocks.errors import InternalError, OpError, OpMemoryError, PageError
from backblocks.graph.events import Cancelled, Event, Report, before_block
from backblocks.graph.session import Session
from backblocks.ops._inputs import Array
from backblocks.ops._kernels import Stop
from backblocks.pages.npy import write_array
from backblocks.studio import pipe
from backblocks.studio.answers import Answers
from backblocks.studio.block_states import BlockLog
from backblocks.studio.held import Held
from backblocks.studio.job import Job, job_of
from backblocks.studio.messages import (
    BlockStates,
    Measured,
    Message,
    Monitored,
    Printed,
    Problem,
    Results,
    RunState,
    State,
    Summary,
)
from backblocks.studio.numbers import MANY
from backblocks.studio.problems import own_block, problem
from backblocks.studio.processes import begin, machine_bytes
from backblocks.studio.shows import Shows
from backblocks.studio.summaries import summary
from backblocks.studio.terminal import Terminal

_TICK = 0.05
_BETWEEN_PICTURES = 0.2
_SLOW = 0.02
"""Seconds of a step whose blocks are to be seen at work."""
_SMALL = 1 << 20
"""Bytes that all outputs may come to for each step to fetch them, and not only those shown."""


class Worker:
    def __init__(self, connection: socket.socket, mark: mmap.mmap, memory: int) -> None:
        self._connection = connection
        self._crash_marker = memoryview(mark).cast("q")
        """The number of the block that runs, which outlives this process."""
        self._names: dict[int, str] = {}
        self._memory = memory
        self._sending = threading.Lock()
        self._saying = threading.RLock()
        """Held from finding out how things stand until that is sent, so that nothing old is sent last."""
        self._session: Session | None = None
        self._job: Job | None = None
        self._jobs: queue.SimpleQueue[pipe.Start] = queue.SimpleQueue()
        self._told = threading.Condition()
        self._ordered = self._begun = self._stopped = 0
        """How many runs were ordered, how many have begun, and the last that is to stop."""
        self._stop = Stop()
        self._paused = False
        self._singles = 0
        self._edited: pipe.Edited | None = None
        self._watched: list[str] = []
        self._held = Held()
        self._answers = Answers(self._held, self._answer)
        self._unseen: set[str] = set()
        self._log = BlockLog()
        self._shows = Shows()
        self._terminal = Terminal()
        self._state: State = "idle"
        self._step = self._last_step = 0
        self._since = 0.0

    def run(self) -> None:
        self._terminal.listen()
        before_block.set(partial(self._crash_marker.__setitem__, 0))
        for work in (self._take_orders, self._keep_telling, self._answers.keep_finding):
            threading.Thread(target=self._or_end, args=(work,), daemon=True).start()
        self._tell_server(pipe.Written(0))
        while True:
            self._do(self._jobs.get())

    def _or_end(self, work: Any) -> None:
        """A thread that fails would leave the studio waiting for ever."""
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    # -- the socket -----------------------------------------------------------------------

    def _take_orders(self) -> None:
        with self._connection.makefile("rb") as incoming:
            while len(head := incoming.read(4)) == 4:
                self._take(pipe.decode(incoming.read(int.from_bytes(head, "little"))))
        os._exit(0)  # the studio has ended

    def _send(self, kind: int, tab: int, data: bytes) -> None:
        with self._sending, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._connection.sendall(pipe.HEAD.pack(len(data), tab, kind) + data)

    def _tell(self, message: Message, tab: int = 0) -> None:
        self._send(pipe.TEXT, tab, msgspec.json.encode(message))

    def _tell_server(self, message: pipe.ForServer) -> None:
        self._send(pipe.BINARY, 0, pipe.encode_for_server(message))

    def _take(self, order: pipe.Orders) -> None:
        match order:
            case pipe.Start():
                with self._told:
                    self._ordered += 1
                self._jobs.put(order)
            case pipe.Edited():
                self._edited = order
            case pipe.Steer():
                self._steer(order.what)
            case pipe.WatchPins():
                new = [pin for pin in order.pins if pin not in self._watched]
                self._watched = order.pins
                self._show(new)
            case pipe.Asked():
                self._answers.take(order.tab, order.command)
            case pipe.Write():
                self._write(order)
            case pipe.Again():
                if self._job is not None:
                    page = self._job.order.page
                    self._tell(Monitored(page, self._shows.all(), fresh=True), order.tab)

    # -- steering -------------------------------------------------------------------------

    def _steer(self, what: str) -> None:
        with self._told:
            if what in ("stop", "reset"):
                self._stopped, self._paused = self._ordered, False
            elif what == "step":
                self._singles += self._paused
            else:
                self._paused = what == "pause" and self._begun > self._stopped
            self._told.notify_all()
        if what in ("stop", "reset"):
            self._stop.set()
        if what == "reset":
            self._jobs.put(_RESET)

    def _may_go_on(self, shown: bool) -> bool:
        """Whether another step is to be made; waits while paused, once the last step is `shown`."""
        with self._told:
            holds = self._paused and shown and not self._singles
            if holds and self._begun > self._stopped:
                self._tell_state("paused")
            while self._paused and shown and not self._singles and self._begun > self._stopped:
                self._told.wait()
            if self._paused and self._singles:
                self._singles -= 1
            if self._begun > self._stopped and not self._paused:
                self._state = "running"
            return self._begun > self._stopped

    # -- running --------------------------------------------------------------------------

    def _do(self, order: pipe.Start) -> None:
        if order is _RESET:
            self._reset()
            return
        with self._told:
            self._begun += 1
            self._paused, self._singles, self._edited = False, 0, None
            self._stop = Stop()
        self._state, self._since = "running", time.perf_counter()
        self._crash_marker[0] = pipe.NO_BLOCK
        wrong: Problem | None = None
        needs: dict[str, str] = {}
        before: set[str] = set()
        stopped = False
        try:
            job = self._job = job_of(order)
            needs = {} if order.allow_files else job.files
            if not needs:
                session = self._use(job)
                self._log.begin(job.blocks)
                self._tell_state()
                self._repeat(session, job)
        except Cancelled:
            stopped = True
        except PageError as error:
            first = error.problems[0]
            wrong = problem(first, own_block(first.block, order.document.get("blocks", {})))
        except OpError as error:
            wrong = problem(error, self._block_of(error.block))
            before = self._computed_before(error, wrong.block)
        except InternalError as error:
            traceback.print_exc()
            wrong = problem(error, self._block_of(error.block))
        except MemoryError:
            text = "There is not enough memory for it."
            hint = "Make its inputs smaller."
            wrong = Problem(text, self._last_started(), hint=hint, reason="memory")
        except Exception as error:  # a fault of ours, which is said rather than hidden
            traceback.print_exc()
            wrong = Problem(f"The studio failed: {error!r}.", self._last_started())
        self._log.end(wrong.block if wrong else "", before, stopped)
        self._end(order, wrong, needs, self._begun <= self._stopped)

    def _computed_before(self, error: OpError, block: str) -> set[str]:
        """What a block that failed was computed from. Nothing was, where memory was refused beforehand."""
        if self._job is None or isinstance(error, OpMemoryError) or block not in self._job.blocks:
            return set()
        return set(self._job.page.needed_for([block]))

    def _use(self, job: Job) -> Session:
        """The session, with the page as it is now."""
        folder = os.path.dirname(job.order.path)
        if self._session is None:
            self._session = Session(job.graph, memory_limit=self._memory or None, folder=folder)
        else:
            self._session.use(job.graph)
        self._names = {block.number: self._block_of(block.name) for block in job.graph}
        self._tell_server(pipe.Named(self._names))
        self._session.folder = folder
        self._session.seed = job.page.run.seed
        self._session.allow_files = job.order.allow_files
        self._shows.use(job.monitors)
        self._held.use(job, self._step)
        self._unseen |= job.constants.keys()
        return self._session

    def _repeat(self, session: Session, job: Job) -> None:
        left = {"once": 1, "steps": job.order.steps}.get(job.order.mode)
        self._last_step = self._step + (left or 0)
        pictured, small, shown, slow = 0.0, True, True, True
        while (left is None or left > 0) and self._may_go_on(shown):
            job = self._with_edits(job)
            now = time.perf_counter()
            due = now - pictured >= _BETWEEN_PICTURES or left == 1 or self._paused
            # To follow each block costs as much as a small block, so quick steps are followed now and then.
            follows = due or slow or job.speaks
            with self._following(session) if follows else contextlib.nullcontext():
                over = self._one(session, job, everything=due or small)
            slow = time.perf_counter() - now > _SLOW
            left = None if left is None else left - 1
            shown = due or small
            if due:
                pictured = now
                small = sum(array.nbytes for array, _ in self._held.outputs.values()) <= _SMALL
                self._show(self._watched)
            if over:
                break

    @contextlib.contextmanager
    def _following(self, session: Session) -> Iterator[None]:
        end = session.watch(self._see)
        try:
            yield
        finally:
            end()

    def _one(self, session: Session, job: Job, everything: bool) -> bool:
        """Makes a step, and says whether it is the last."""
        wires = job.every if everything else job.must
        wanted = [*wires, *([job.until] if job.until else [])]
        try:
            values = session.run(
                wanted, job.feeds, job.targets, stop=self._stop, missing=True, borrow=True
            )
        except OpMemoryError:
            if wires == job.must:
                raise
            job.every = job.must  # without what is only looked at it may fit
            return self._one(session, job, everything=False)
        self._crash_marker[0] = pipe.NO_BLOCK
        until = values.pop() if job.until else None
        self._step += 1
        got = dict(zip(wires, values, strict=True))
        for wire, value in got.items():
            if value is None:
                self._held.outputs.pop(wire, None)
            else:
                self._held.outputs[wire] = value, self._step
        self._unseen.update(wires)
        self._shows.see(self._step, got)
        return until is not None and bool(until.all())

    def _with_edits(self, job: Job) -> Job:
        """The same run of the page as it was edited meanwhile, if that can run."""
        edited, self._edited = self._edited, None
        if edited is None:
            return job
        order = msgspec.structs.replace(
            job.order, document=edited.document, revision=edited.revision
        )
        try:
            new = job_of(order)
        except OpError:
            return job  # the check of the page says what is wrong with it
        if new.files and not order.allow_files:
            return job
        self._job = new
        self._use(new)
        self._log.begin(new.blocks)
        return new

    def _end(
        self, order: pipe.Start, wrong: Problem | None, needs: dict[str, str], stopped: bool
    ) -> None:
        self._tell_changes(over=True)
        self._show(self._watched)
        self._tell_state("idle", problem=wrong, needs_files=needs, page=order.page, stopped=stopped)

    def _reset(self) -> None:
        if self._session is not None:
            self._session.reset()
        self._step = 0
        self._shows.clear()
        if self._job is not None:
            page = self._job.order.page
            self._tell(Monitored(page, self._shows.all(), fresh=True))
            self._tell(RunState(page, self._state))

    # -- telling --------------------------------------------------------------------------

    def _see(self, event: Event) -> None:
        name = self._block_of(event.block.name)
        if event.kind == "started":
            self._terminal.enter(name)
        elif event.kind in ("finished", "failed"):
            self._terminal.leave()
        self._log.see(name, event)

    def _last_started(self) -> str:
        return self._names.get(self._crash_marker[0], "")

    def _block_of(self, name: str) -> str:
        if self._job is None:
            return name
        return self._job.graph.page_block_of.get(name) or own_block(name, self._job.page.blocks)

    def _keep_telling(self) -> None:
        ticks = 0
        while True:
            time.sleep(_TICK)
            ticks += 1
            with self._saying:
                if self._state != "idle":
                    self._tell_changes()
                if ticks % 2 == 0 and self._state == "running" and self._job is not None:
                    self._tell_state()

    def _tell_changes(self, over: bool = False) -> None:
        job = self._job
        if job is None:
            return
        order = job.order
        with self._saying:
            if states := self._log.changed():
                self._tell(BlockStates(order.page, order.revision, states, self._log.progress))
            if series := self._shows.rest() if over else self._shows.new():
                self._tell(Monitored(order.page, series))
            if texts := self._terminal.new():
                self._tell(Printed(order.page, texts))

    def _tell_state(
        self,
        state: State | None = None,
        *,
        problem: Problem | None = None,
        needs_files: dict[str, str] | None = None,
        page: int = 0,
        stopped: bool = False,
    ) -> None:
        order = self._job.order if self._job else None
        report = self._session.report if self._session else Report()
        with self._saying:
            self._state = state or self._state
            self._tell(
                RunState(
                    page=page or (order.page if order else 0),
                    state=self._state,
                    step=self._step,
                    steps=self._last_step if order and order.mode == "steps" else None,
                    seconds=time.perf_counter() - self._since,
                    executed=report.executed,
                    cached=report.cached,
                    peak_bytes=report.peak_bytes,
                    problem=problem,
                    needs_files=needs_files or {},
                    stopped=stopped,
                )
            )

    # -- values ---------------------------------------------------------------------------

    def _show(self, pins: list[str]) -> None:
        """Tells what these outputs hold, of those that changed."""
        job = self._job
        if job is None:
            return
        new = pins
        if pins is self._watched:
            new = [pin for pin in pins if pin in self._unseen]
            self._unseen.clear()
        found = {
            pin: self._summary(pin, *value, job)
            for pin in new
            if (value := self._held.outputs.get(pin)) is not None
        }
        if found:
            self._tell(Results(job.order.page, job.order.revision, self._step, found))

    def _summary(self, pin: str, array: Array, step: int, job: Job) -> Summary:
        """What an output holds; of a large one, what some of its cells say until all were looked at."""

        def tell(measured: Measured) -> None:
            found = {pin: summary(array, measured)}
            self._tell(Results(job.order.page, job.order.revision, step, found))

        is_large = array.size > MANY and not array.dtype.hasobject
        return summary(array, self._answers.follow(pin, tell) if is_large else None)

    def _answer(self, tab: int, answer: Message | bytes) -> None:
        if isinstance(answer, bytes):
            self._send(pipe.BINARY, tab, answer)
        else:
            self._tell(answer, tab)

    def _write(self, order: pipe.Write) -> None:
        answer = pipe.Written(order.request)
        try:
            array, _ = self._held.value(order.pin)
            if array.dtype.hasobject:
                raise OpError("is text, which npy files have no place for", op=order.pin)
            with open(order.file, "wb") as file:
                write_array(file, array)
        except (OpError, OSError) as error:
            answer.problem = str(error)
        self._tell_server(answer)


_RESET = pipe.Start(0, 0, {}, "", "once")


def main() -> None:
    _, handle, mark, memory = sys.argv
    limit = int(memory)
    begin(limit + (1 << 30) if limit else machine_bytes() * 9 // 10)
    shared = mmap.mmap(int(mark), pipe.MARK_BYTES)
    Worker(socket.socket(fileno=int(handle)), shared, limit).run()


if __name__ == "__main__":
    main()
