"""The process that runs a page, so that whatever a page does, the studio lives on.

One thread receives commands, one runs, one sends tabs what changed, at most 20 times a second, and one works
on queries that take long.
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
from backblocks.studio import ipc
from backblocks.studio.block_states import BlockStateTracker
from backblocks.studio.chunks import LARGE
from backblocks.studio.console import ConsoleCapture
from backblocks.studio.last_values import LastValues
from backblocks.studio.messages import (
    BlockStates,
    ConsoleOutput,
    KeptVariables,
    Monitored,
    Problem,
    Refused,
    RunState,
    ServerMessage,
    State,
    Statistics,
    Summaries,
    Summary,
)
from backblocks.studio.monitors import Monitors
from backblocks.studio.problems import own_block, problem
from backblocks.studio.processes import enter_child_process, machine_bytes
from backblocks.studio.query_handlers import QueryHandlers
from backblocks.studio.run_plan import RunPlan, plan_run
from backblocks.studio.snapshots import variable_pins
from backblocks.studio.summaries import summary

_TICK = 0.05
_SUMMARY_INTERVAL = 0.2
_SLOW = 0.02
"""Seconds of a step above which the progress of its blocks is shown."""
_SMALL = 1 << 20
"""Bytes of all outputs up to which each step fetches all of them, and not only those that must be fetched."""


class Worker:
    """Runs a page in a session, by commands of the server."""

    def __init__(self, connection: socket.socket, marker: mmap.mmap, memory: int) -> None:
        self._connection = connection
        self._crash_marker = memoryview(marker).cast("q")
        """The number of the block that runs, in memory that outlives this process."""
        self._names: dict[int, str] = {}
        self._memory = memory
        self._sending = threading.Lock()
        self._reporting = threading.RLock()
        """Held from reading a state until it is sent, so that nothing old is sent last."""
        self._session: Session | None = None
        self._plan: RunPlan | None = None
        self._runs: queue.SimpleQueue[ipc.StartRun] = queue.SimpleQueue()
        self._controlled = threading.Condition()
        self._requested = self._started = self._stopped = 0
        """How many runs were requested, how many have started, and the last that is to stop."""
        self._stop = Stop()
        self._paused = False
        self._singles = 0
        self._edited: ipc.UpdateDocument | None = None
        self._snapshot_changes: list[ipc.ChangeSnapshot] = []
        """What is to be done with snapshots, between two steps."""
        self._run_number = self._variables_of = 0
        """The run, and the one that gave the variables; 0 if that are their initial values."""
        self._first_step = 0
        """Steps before the run."""
        self._subscribed: list[str] = []
        self._axes: dict[str, list[int]] = {}
        """Rows and columns of pictures, as tabs name them."""
        self._values = LastValues()
        self._queries = QueryHandlers(self._values, self._send_answer)
        self._unsent: set[str] = set()
        self._states = BlockStateTracker()
        self._monitors = Monitors()
        self._console = ConsoleCapture()
        self._state: State = "idle"
        self._step = self._last_step = 0
        self._since = 0.0

    def run(self) -> None:
        self._console.install()
        before_block.set(partial(self._crash_marker.__setitem__, 0))
        for work in (self._receive, self._report_forever, self._queries.work_forever):
            threading.Thread(target=self._or_end, args=(work,), daemon=True).start()
        self._send_to_server(ipc.ValueWritten(0))
        while True:
            self._run(self._runs.get())
            self._change_snapshots()

    def _or_end(self, work: Any) -> None:
        """Ends the process if a thread fails: else the server would wait for ever."""
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    # -- the socket -----------------------------------------------------------------------

    def _receive(self) -> None:
        with self._connection.makefile("rb") as incoming:
            while len(head := incoming.read(4)) == 4:
                self._handle(ipc.decode(incoming.read(int.from_bytes(head, "little"))))
        os._exit(0)  # the studio has ended

    def _send(self, kind: int, tab: int, data: bytes) -> None:
        with self._sending, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._connection.sendall(ipc.HEAD.pack(len(data), tab, kind) + data)

    def _send_message(self, message: ServerMessage, tab: int = 0) -> None:
        self._send(ipc.TEXT, tab, msgspec.json.encode(message))

    def _send_to_server(self, message: ipc.WorkerMessage) -> None:
        self._send(ipc.BINARY, 0, ipc.encode_worker_message(message))

    def _handle(self, command: ipc.WorkerCommands) -> None:
        match command:
            case ipc.StartRun():
                with self._controlled:
                    self._requested += 1
                self._runs.put(command)
            case ipc.UpdateDocument():
                self._edited = command
            case ipc.Control():
                self._control(command.what)
            case ipc.ChangeSnapshot():
                with self._controlled:
                    self._snapshot_changes.append(command)
                    self._controlled.notify_all()
                self._runs.put(_WAKE)
            case ipc.Subscribe():
                known, axes = set(self._subscribed), self._axes
                self._subscribed, self._axes = command.pins, command.axes
                self._monitors.name_axes(command.axes)
                self._send_summaries(
                    [
                        pin
                        for pin in command.pins
                        if pin not in known or axes.get(pin) != command.axes.get(pin)
                    ]
                )
            case ipc.TabQuery():
                self._queries.handle(command.tab, command.query)
            case ipc.WriteValue():
                self._write(command)
            case ipc.ResendMonitors():
                if self._plan is not None:
                    page = self._plan.command.page
                    self._send_message(
                        Monitored(page, self._monitors.all(), fresh=True), command.tab
                    )

    # -- control -------------------------------------------------------------------------

    def _control(self, what: str) -> None:
        with self._controlled:
            if what in ("stop", "reset"):
                self._stopped, self._paused = self._requested, False
            elif what == "step":
                self._singles += self._paused
            else:
                self._paused = what == "pause" and self._started > self._stopped
            self._controlled.notify_all()
        if what in ("stop", "reset"):
            self._stop.set()
        if what == "reset":
            self._runs.put(_RESET)

    def _may_go_on(self, shown: bool) -> bool:
        """Whether another step is to run; waits while paused, once the last step is `shown`."""
        self._change_snapshots()
        with self._controlled:
            holds = self._paused and shown and not self._singles
            if holds and self._started > self._stopped:
                self._send_state("paused")
            while self._paused and shown and not self._singles and self._started > self._stopped:
                self._controlled.wait()
                self._change_snapshots()
            if self._paused and self._singles:
                self._singles -= 1
            if self._started > self._stopped and not self._paused:
                self._state = "running"
            return self._started > self._stopped

    # -- running --------------------------------------------------------------------------

    def _run(self, command: ipc.StartRun) -> None:
        if command is _WAKE:
            return
        if command is _RESET:
            self._reset()
            return
        with self._controlled:
            self._started += 1
            self._paused, self._singles, self._edited = False, 0, None
            self._stop = Stop()
        self._state, self._since = "running", time.perf_counter()
        self._run_number, self._first_step = command.run, self._step
        self._crash_marker[0] = ipc.NO_BLOCK
        self._states.start(())
        plan: RunPlan | None = None
        problems = 0
        wrong: Problem | None = None
        needs: dict[str, str] = {}
        before: set[str] = set()
        stopped = False
        try:
            plan = self._plan = plan_run(command)
            problems = plan.problems
            needs = {} if command.allow_files else plan.files
            if not needs:
                session = self._use(plan)
                self._states.start(plan.blocks)
                self._send_state()
                self._repeat(session, plan)
        except Cancelled:
            stopped = True
        except PageError as error:
            first = error.problems[0]
            problems = len(error.problems) - 1
            wrong = problem(first, own_block(first.block, command.document.get("blocks", {})))
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
        except Exception as error:  # an internal error, which is reported rather than hidden
            traceback.print_exc()
            wrong = Problem(f"The studio failed: {error!r}.", self._last_started())
        self._states.end(wrong.block if wrong else "", before, stopped)
        asked = plan.asked if plan else len(command.document.get("blocks", {}))
        self._send_measured()
        self._send_changes(over=True)
        self._send_summaries(self._subscribed)
        self._send_state(
            "idle",
            problem=wrong,
            needs_files=needs,
            page=command.page,
            stopped=self._started <= self._stopped,
            ran=self._states.ran(),
            of=asked,
            problems=problems + (wrong is not None),
        )

    def _send_measured(self) -> None:
        """Tells the server what the run leaves, for its list of runs."""
        steps, costs = self._states.costs()
        curves = self._monitors.curves(self._first_step)
        self._send_to_server(
            ipc.RunMeasured(self._run_number, self._first_step, curves, steps, costs)
        )

    def _computed_before(self, error: OpError, block: str) -> set[str]:
        """The blocks upstream of one that failed; none where memory was refused before anything ran."""
        if self._plan is None or isinstance(error, OpMemoryError) or block not in self._plan.blocks:
            return set()
        return set(self._plan.page.needed_for([block]))

    def _use(self, plan: RunPlan) -> Session:
        """The session, with the page as it is now."""
        folder = os.path.dirname(plan.command.path)
        if self._session is None:
            self._session = Session(plan.graph, memory_limit=self._memory or None, folder=folder)
        else:
            self._session.use(plan.graph)
        self._names = {block.number: self._block_of(block.name) for block in plan.graph}
        self._send_to_server(ipc.BlockNames(self._names))
        self._session.folder = folder
        self._session.seed = plan.page.run.seed
        self._session.allow_files = plan.command.allow_files
        self._monitors.configure(plan.monitors)
        self._values.configure(plan, self._step)
        self._unsent |= plan.constants.keys()
        return self._session

    def _repeat(self, session: Session, plan: RunPlan) -> None:
        left = {"once": 1, "steps": plan.command.steps}.get(plan.command.mode)
        self._last_step = self._step + (left or 0)
        pictured, small, shown, slow = 0.0, True, True, True
        while (left is None or left > 0) and self._may_go_on(shown):
            plan = self._with_edits(plan)
            now = time.perf_counter()
            due = now - pictured >= _SUMMARY_INTERVAL or left == 1 or self._paused
            # Events of each block cost as much as a small block, so of quick steps only some have them.
            listens = due or slow or plan.prints
            with self._listening(session) if listens else contextlib.nullcontext():
                over = self._step_once(session, plan, everything=due or small)
            if listens:
                self._states.step_timed()
            slow = time.perf_counter() - now > _SLOW
            left = None if left is None else left - 1
            shown = due or small
            if due:
                pictured = now
                small = sum(array.nbytes for array, _ in self._values.outputs.values()) <= _SMALL
                self._send_summaries(self._subscribed)
            if over:
                break

    @contextlib.contextmanager
    def _listening(self, session: Session) -> Iterator[None]:
        end = session.subscribe(self._handle_event)
        try:
            yield
        finally:
            end()

    def _step_once(self, session: Session, plan: RunPlan, everything: bool) -> bool:
        """Runs a step, and says whether the condition of the run holds after it."""
        wires = plan.all_outputs if everything else plan.fetched
        wanted = [*wires, *([plan.until] if plan.until else [])]
        try:
            values = session.run(
                wanted, plan.feeds, plan.targets, stop=self._stop, missing=True, borrow=True
            )
        except OpMemoryError:
            if wires == plan.fetched:
                raise
            plan.all_outputs = plan.fetched  # without what is only looked at it may fit
            return self._step_once(session, plan, everything=False)
        self._crash_marker[0] = ipc.NO_BLOCK
        until = values.pop() if plan.until else None
        self._step += 1
        self._variables_of = self._run_number
        got = dict(zip(wires, values, strict=True))
        for wire, value in got.items():
            if value is None:
                self._values.outputs.pop(wire, None)
            else:
                self._values.outputs[wire] = value, self._step
        self._unsent.update(wires)
        self._monitors.record(self._step, got)
        return until is not None and bool(until.all())

    def _with_edits(self, plan: RunPlan) -> RunPlan:
        """The plan of the same run for the edited page, if that can run."""
        edited, self._edited = self._edited, None
        if edited is None:
            return plan
        command = msgspec.structs.replace(
            plan.command, document=edited.document, revision=edited.revision
        )
        try:
            new = plan_run(command)
        except OpError:
            return plan  # the check of the page says what is wrong with it
        if new.files and not command.allow_files:
            return plan
        self._plan = new
        self._use(new)
        self._states.start(new.blocks)
        return new

    def _reset(self) -> None:
        if self._session is not None:
            self._session.reset()
        self._variables_of = 0
        self._begin_at(0)

    def _begin_at(self, step: int) -> None:
        """Counts steps from there on, and tells tabs that monitors begin anew."""
        self._step = step
        self._monitors.clear()
        if self._plan is not None:
            page = self._plan.command.page
            self._send_message(Monitored(page, self._monitors.all(), fresh=True))
            self._send_message(RunState(page, self._state, step, run=self._run_number))

    # -- snapshots ------------------------------------------------------------------------

    def _change_snapshots(self) -> None:
        """Does what is to be done with snapshots; only the thread that runs may, between two steps."""
        while self._snapshot_changes:
            change = self._snapshot_changes.pop(0)
            try:
                self._send_to_server(self._change_snapshot(change))
            except (OpError, MemoryError) as error:
                text = str(error) or "There is not enough memory for it."
                self._send_message(Refused(text, page=change.page), change.tab)

    def _change_snapshot(self, change: ipc.ChangeSnapshot) -> ipc.SnapshotChanged:
        session, plan, run = self._session, self._plan, change.run
        if change.what == "delete":
            self._values.snapshots.delete(run)
            return ipc.SnapshotChanged(run, None)
        if session is None or plan is None or (change.what == "keep" and not self._variables_of):
            hint = "Run the page first."
            raise OpError("needs variables that a run has given", op="Snapshots", hint=hint)
        pins = variable_pins(plan.graph)
        if change.what == "keep":
            run, step = self._variables_of, self._step
            bytes_kept = self._values.snapshots.keep(session, run, step)
            return ipc.SnapshotChanged(run, KeptVariables(step, bytes_kept, pins))
        step = self._values.snapshots.restore(session, run)
        self._variables_of = run
        self._begin_at(step)
        for pin in pins:
            self._values.outputs[pin] = self._values.value(f"{pin}@{run}")
        self._unsent.update(pins)
        self._send_summaries(self._subscribed)
        return ipc.SnapshotChanged(run, None, restored=True)

    # -- reporting --------------------------------------------------------------------------

    def _handle_event(self, event: Event) -> None:
        name = self._block_of(event.block.name)
        if event.kind == "started":
            self._console.enter_block(name)
        elif event.kind in ("finished", "failed"):
            self._console.leave_block()
        self._states.handle(name, event)

    def _last_started(self) -> str:
        return self._names.get(self._crash_marker[0], "")

    def _block_of(self, name: str) -> str:
        if self._plan is None:
            return name
        return self._plan.graph.page_block_of.get(name) or own_block(name, self._plan.page.blocks)

    def _report_forever(self) -> None:
        ticks = 0
        while True:
            time.sleep(_TICK)
            ticks += 1
            with self._reporting:
                if self._state != "idle":
                    self._send_changes()
                if ticks % 2 == 0 and self._state == "running" and self._plan is not None:
                    self._send_state()

    def _send_changes(self, over: bool = False) -> None:
        plan = self._plan
        if plan is None:
            return
        command = plan.command
        with self._reporting:
            if states := self._states.take_changed():
                self._send_message(
                    BlockStates(command.page, command.revision, states, self._states.progress)
                )
            if series := self._monitors.take_rest() if over else self._monitors.take_new():
                self._send_message(Monitored(command.page, series))
            if lines := self._console.take_new():
                self._send_message(ConsoleOutput(command.page, lines))

    def _send_state(
        self,
        state: State | None = None,
        *,
        problem: Problem | None = None,
        needs_files: dict[str, str] | None = None,
        page: int = 0,
        stopped: bool = False,
        ran: int = 0,
        of: int = 0,
        problems: int = 0,
    ) -> None:
        command = self._plan.command if self._plan else None
        report = self._session.report if self._session else Report()
        with self._reporting:
            self._state = state or self._state
            self._send_message(
                RunState(
                    page=page or (command.page if command else 0),
                    state=self._state,
                    step=self._step,
                    steps=self._last_step if command and command.mode == "steps" else None,
                    seconds=time.perf_counter() - self._since,
                    executed=report.executed,
                    cached=report.cached,
                    peak_bytes=report.peak_bytes,
                    problem=problem,
                    needs_files=needs_files or {},
                    stopped=stopped,
                    run=self._run_number,
                    ran=ran,
                    of=of,
                    problems=problems,
                )
            )

    # -- values ---------------------------------------------------------------------------

    def _send_summaries(self, pins: list[str]) -> None:
        """Sends the summaries of these outputs, as far as they have changed."""
        plan = self._plan
        if plan is None:
            return
        new = pins
        if pins is self._subscribed:
            new = [pin for pin in pins if pin in self._unsent]
            self._unsent.clear()
        found = {
            pin: self._summary(pin, *value, plan)
            for pin in new
            if (value := self._values.outputs.get(pin)) is not None
        }
        if found:
            self._send_message(
                Summaries(plan.command.page, plan.command.revision, self._step, found)
            )

    def _summary(self, pin: str, array: Array, step: int, plan: RunPlan) -> Summary:
        """The summary of an output; of a large one that of a sample, until the exact one is sent."""

        def send(measured: Statistics) -> None:
            found = {pin: summary(array, self._axes.get(pin, ()), measured)}
            self._send_message(Summaries(plan.command.page, plan.command.revision, step, found))

        is_large = array.size > LARGE and not array.dtype.hasobject
        measured = self._queries.statistics_of(pin, send) if is_large else None
        return summary(array, self._axes.get(pin, ()), measured)

    def _send_answer(self, tab: int, answer: ServerMessage | bytes) -> None:
        if isinstance(answer, bytes):
            self._send(ipc.BINARY, tab, answer)
        else:
            self._send_message(answer, tab)

    def _write(self, command: ipc.WriteValue) -> None:
        answer = ipc.ValueWritten(command.request)
        try:
            array, _ = self._values.value(command.pin)
            if array.dtype.hasobject:
                raise OpError("is text, which npy files have no place for", op=command.pin)
            with open(command.file, "wb") as file:
                write_array(file, array)
        except (OpError, OSError) as error:
            answer.problem = str(error)
        self._send_to_server(answer)


_RESET = ipc.StartRun(0, 0, {}, "", "once")
_WAKE = ipc.StartRun(0, 0, {}, "", "once")


def main() -> None:
    _, handle, marker, memory = sys.argv
    limit = int(memory)
    enter_child_process(limit + (1 << 30) if limit else machine_bytes() * 9 // 10)
    shared = mmap.mmap(int(marker), ipc.MARKER_BYTES)
    Worker(socket.socket(fileno=int(handle)), shared, limit).run()


if __name__ == "__main__":
    main()
