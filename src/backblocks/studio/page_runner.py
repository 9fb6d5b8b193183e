"""The server's side of runs: a process for each page that runs, its commands, messages and end."""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from backblocks.studio import ipc
from backblocks.studio.messages import (
    BlockState,
    BlockStates,
    Monitored,
    Problem,
    RunState,
    ServerMessage,
    ServerMessages,
    Summaries,
    Summary,
)
from backblocks.studio.processes import ChildProcess, exit_reason
from backblocks.studio.run_records import RunRecords

STOP_TIMEOUT = 0.8
"""Seconds that a process has to stop before it is killed."""

_decode = msgspec.json.Decoder(ServerMessages).decode


class RunProcess(ChildProcess):
    """A process that runs a page, started ahead of time: it has imported the library when it is needed."""

    def __init__(self, memory: int) -> None:
        with tempfile.TemporaryFile() as file:
            file.truncate(ipc.MARKER_BYTES)
            self._crash_marker = mmap.mmap(file.fileno(), ipc.MARKER_BYTES)
            self._crash_marker[:] = ipc.NO_BLOCK.to_bytes(
                ipc.MARKER_BYTES, sys.byteorder, signed=True
            )
            super().__init__("backblocks.studio.run_worker", [str(memory)], file.fileno())
        self.ready = asyncio.Event()
        self.names: dict[int, str] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._unsent: list[bytes] = []

    def send(self, command: ipc.WorkerCommands) -> None:
        data = ipc.encode(command)
        frame = len(data).to_bytes(4, "little") + data
        if self._writer is None:
            self._unsent.append(frame)
        else:
            self._writer.write(frame)

    async def read(self, listener: Callable[[int, int, bytes], None]) -> int:
        """Passes what the process sends to the listener until it ends, and gives its exit code."""
        self.socket.setblocking(False)
        reader, self._writer = await asyncio.open_connection(sock=self.socket)
        for frame in self._unsent:
            self._writer.write(frame)
        self._unsent.clear()
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                size, tab, kind = ipc.HEAD.unpack(await reader.readexactly(ipc.HEAD.size))
                data = await reader.readexactly(size)
                self.ready.set()
                listener(kind, tab, data)
        self._writer.close()
        return await asyncio.to_thread(self.process.wait)

    def last_started(self) -> str:
        """The block that the process was in, by the crash marker."""
        number = int.from_bytes(self._crash_marker[:], sys.byteorder, signed=True)
        return self.names.get(number, "")


class RunProcesses:
    """Starts processes, and keeps a spare one ready."""

    def __init__(self, memory: int = 0) -> None:
        self._memory = memory
        self._spare: RunProcess | None = None

    def prepare(self) -> None:
        self._spare = self._spare or RunProcess(self._memory)

    def take(self) -> RunProcess:
        process, self._spare = self._spare or RunProcess(self._memory), None
        return process

    def end(self) -> None:
        if self._spare is not None:
            self._spare.kill()
            self._spare.process.wait()


class PageRunner:
    """The runs of one page. `send` sends a message to one tab, or with 0 to all that have the page open."""

    def __init__(
        self, page: int, processes: RunProcesses, send: Callable[[int, ServerMessage | bytes], None]
    ) -> None:
        self.page = page
        self.state = RunState(page, "idle")
        self.blocks: dict[str, BlockState] = {}
        self.results: dict[str, Summary] = {}
        self._results_at = Summaries(page, 0, 0, {})
        self._processes = processes
        self._send = send
        self._process: RunProcess | None = None
        self._reading: asyncio.Task[None] | None = None
        self._subscribed = ipc.Subscribe([], {})
        self._killing: asyncio.Task[None] | None = None
        self._stopped = False
        self.records = RunRecords(page)
        self._written: dict[int, asyncio.Future[str]] = {}

    # -- commands ---------------------------------------------------------------------------

    def prepare(self) -> RunProcess:
        """Starts a process, which imports the library while somebody looks at the page."""
        if self._process is None:
            self._process = self._processes.take()
            self._reading = asyncio.create_task(self._read_until_end(self._process))
            self._process.send(self._subscribed)
        return self._process

    def send(self, command: ipc.WorkerCommands) -> None:
        self.prepare().send(command)

    def start(self, command: ipc.StartRun, automatic: bool = False) -> None:
        self.prepare()
        if self.state.state != "idle":
            self.control("stop")
        self._stopped = False
        command.run, runs = self.records.start(command, automatic)
        self._set_state(RunState(self.page, "starting", run=command.run))
        self._send(0, runs)
        self.send(command)

    def control(self, what: str) -> None:
        if self._process is None:
            return
        self._process.send(ipc.Control(what))  # type: ignore[arg-type]
        if what == "reset":
            self.records.variables_began_anew()
        if what in ("stop", "reset") and self.state.state != "idle" and self._killing is None:
            self._killing = asyncio.create_task(self._kill_after_timeout(self._process))

    def update_document(self, revision: int, document: dict[str, object]) -> None:
        """A run that is going on continues with the edited document."""
        if self._process is not None and self.state.state in ("running", "paused"):
            self._process.send(ipc.UpdateDocument(revision, document))
            self.records.edited(self.state.run)

    def subscribe(self, pins: list[str], axes: dict[str, list[int]]) -> None:
        wanted = ipc.Subscribe(pins, axes)
        if wanted != self._subscribed:
            self._subscribed = wanted
            self.results = {pin: self.results[pin] for pin in pins if pin in self.results}
            if self._process is not None:
                self._process.send(wanted)

    async def write_value(self, pin: str, file: Path) -> str:
        """Writes the value of an output to a file, and gives what is wrong, if something is."""
        request = max(self._written, default=0) + 1
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._written[request] = done
        try:
            self.send(ipc.WriteValue(request, pin, str(file)))
            return await done
        finally:
            del self._written[request]

    def resend(self, tab: int) -> None:
        """Sends the state of the last run to a tab that has just opened the page."""
        self._send(tab, self.state)
        self._send(tab, self.records.all())
        if self.blocks:
            self._send(tab, BlockStates(self.page, 0, list(self.blocks.values())))
        if self.results:
            at = self._results_at
            self._send(tab, Summaries(self.page, at.revision, at.step, self.results))
        if self._process is not None:
            self._process.send(ipc.ResendMonitors(tab))

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None and self._reading is not None:
            process.kill()
            await self._reading

    # -- messages ------------------------------------------------------------------

    async def _read_until_end(self, process: RunProcess) -> None:
        code = await process.read(partial(self._receive, process))
        for done in self._written.values():
            done.set_result("The process that runs the page has ended.")
        if self._process is process:
            self._process = None
            self._ended(process, code)

    def _receive(self, process: RunProcess, kind: int, tab: int, data: bytes) -> None:
        if kind == ipc.BINARY and tab == 0:
            answer = ipc.decode_worker_message(data)
            match answer:
                case ipc.BlockNames():
                    process.names = answer.names
                case ipc.RunMeasured():
                    self.records.measured(answer)
                case ipc.SnapshotChanged():
                    self._send(0, self.records.snapshot_changed(answer))
                case ipc.ValueWritten():
                    if (done := self._written.get(answer.request)) is not None:
                        done.set_result(answer.problem)
            return
        if kind == ipc.BINARY:
            self._send(tab, data)
            return
        message = _decode(data)
        match message:
            case RunState():
                self._set_state(message)
                return
            case BlockStates():
                self.blocks |= {state.block: state for state in message.blocks}
            case Summaries():
                self.results |= message.pins
                self._results_at = message
        self._send(tab, message)

    def _set_state(self, state: RunState) -> None:
        if state.state == "starting":
            self.blocks = {}
        if state.state == "idle":
            self._cancel_kill()
        self.state = state
        self._send(0, state)
        if state.state == "idle" and (runs := self.records.ended(state)) is not None:
            self._send(0, runs)

    def _cancel_kill(self) -> None:
        if self._killing is not None:
            self._killing.cancel()
            self._killing = None

    async def _kill_after_timeout(self, process: RunProcess) -> None:
        await process.ready.wait()
        await asyncio.sleep(STOP_TIMEOUT)
        self._stopped = True
        process.kill()

    def _ended(self, process: RunProcess, code: int) -> None:
        """The process has ended: reports why, at the block that it was in, and starts another."""
        was_running = self.state.state != "idle"
        block = process.last_started()
        self._cancel_kill()
        self._process = None
        if was_running or not self._stopped:
            self._send(0, Monitored(self.page, {}, fresh=True))
            wrong = _exit_problem(code, self._stopped)
            wrong.block, wrong.hint = block if was_running else "", _HINT
            if states := self._unfinished("" if self._stopped else block):
                self._send(0, BlockStates(self.page, 0, states))
            state = RunState(self.page, "idle", problem=wrong, run=self.state.run, problems=1)
            if was_running:
                done = [each.state in ("done", "cached") for each in self.blocks.values()]
                state.ran, state.of = sum(done), len(done)
            self._set_state(state)
            self._send(0, self.records.process_ended())
        self.prepare()

    def _unfinished(self, failed: str) -> list[BlockState]:
        """The states of blocks that did not finish, and of the one that failed."""
        left = [n for n, state in self.blocks.items() if state.state in ("waiting", "running")]
        names = dict.fromkeys([*left, failed] if failed else left)
        states = [BlockState(name, "failed" if name == failed else "skipped") for name in names]
        self.blocks |= {state.block: state for state in states}
        return states


_HINT = "Another process was started; variables begin again, and snapshots are lost."


def _exit_problem(code: int, stopped: bool) -> Problem:
    if stopped:
        text = "It did not stop within a second, so its process was ended."
        return Problem(text, reason="not stopped")
    why = exit_reason(code)
    why.text = f"Its process {why.text}."
    return why
