"""The server's side of running: processes that run pages, one for each page, and what becomes of them."""

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

from backblocks.studio import pipe
from backblocks.studio.messages import (
    BlockState,
    BlockStates,
    Message,
    Messages,
    Monitored,
    Problem,
    Results,
    RunState,
    Summary,
)
from backblocks.studio.processes import Process, why_ended

PATIENCE = 0.8
"""Seconds that a process has to stop before it is killed."""

_decode = msgspec.json.Decoder(Messages).decode


class Child(Process):
    """A process that runs a page, started ahead so that it has imported the library when it is needed."""

    def __init__(self, memory: int) -> None:
        with tempfile.TemporaryFile() as file:
            file.truncate(pipe.MARK_BYTES)
            self._mark = mmap.mmap(file.fileno(), pipe.MARK_BYTES)
            self._mark[:] = pipe.NO_BLOCK.to_bytes(pipe.MARK_BYTES, sys.byteorder, signed=True)
            super().__init__("backblocks.studio.worker", [str(memory)], file.fileno())
        self.ready = asyncio.Event()
        self.names: dict[int, str] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._unsent: list[bytes] = []

    def send(self, order: pipe.Orders) -> None:
        data = pipe.encode(order)
        frame = len(data).to_bytes(4, "little") + data
        if self._writer is None:
            self._unsent.append(frame)
        else:
            self._writer.write(frame)

    async def read(self, got: Callable[[int, int, bytes], None]) -> int:
        """Hands on what comes from the process until it ends, and gives its exit code."""
        self.socket.setblocking(False)
        reader, self._writer = await asyncio.open_connection(sock=self.socket)
        for frame in self._unsent:
            self._writer.write(frame)
        self._unsent.clear()
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                size, tab, kind = pipe.HEAD.unpack(await reader.readexactly(pipe.HEAD.size))
                data = await reader.readexactly(size)
                self.ready.set()
                got(kind, tab, data)
        self._writer.close()
        return await asyncio.to_thread(self.process.wait)

    def last_started(self) -> str:
        """The block that the process was in."""
        number = int.from_bytes(self._mark[:], sys.byteorder, signed=True)
        return self.names.get(number, "")


class Children:
    """Starts processes, and holds one ready."""

    def __init__(self, memory: int = 0) -> None:
        self._memory = memory
        self._spare: Child | None = None

    def prepare(self) -> None:
        self._spare = self._spare or Child(self._memory)

    def take(self) -> Child:
        child, self._spare = self._spare or Child(self._memory), None
        return child

    def end(self) -> None:
        if self._spare is not None:
            self._spare.kill()
            self._spare.process.wait()


class Running:
    """Runs of one page. `tell` hands messages to one tab (its number) or to all that show the page (0)."""

    def __init__(
        self, page: int, children: Children, tell: Callable[[int, Message | bytes], None]
    ) -> None:
        self.page = page
        self.state = RunState(page, "idle")
        self.blocks: dict[str, BlockState] = {}
        self.results: dict[str, Summary] = {}
        self._results_at = Results(page, 0, 0, {})
        self._children = children
        self._tell = tell
        self._child: Child | None = None
        self._following: asyncio.Task[None] | None = None
        self._watched: list[str] = []
        self._killing: asyncio.Task[None] | None = None
        self._stopped = False
        self._written: dict[int, asyncio.Future[str]] = {}

    # -- orders ---------------------------------------------------------------------------

    def prepare(self) -> Child:
        """Has a process import the library while somebody looks at the page."""
        if self._child is None:
            self._child = self._children.take()
            self._following = asyncio.create_task(self._follow(self._child))
            self._child.send(pipe.WatchPins(self._watched))
        return self._child

    def send(self, order: pipe.Orders) -> None:
        self.prepare().send(order)

    def start(self, order: pipe.Start) -> None:
        self.prepare()
        if self.state.state != "idle":
            self.steer("stop")
        self._stopped = False
        self._set(RunState(self.page, "starting"))
        self.send(order)

    def steer(self, what: str) -> None:
        if self._child is None:
            return
        self._child.send(pipe.Steer(what))  # type: ignore[arg-type]
        if what in ("stop", "reset") and self.state.state != "idle" and self._killing is None:
            self._killing = asyncio.create_task(self._kill_if_it_goes_on(self._child))

    def edited(self, revision: int, document: dict[str, object]) -> None:
        """What runs takes part in the change."""
        if self._child is not None and self.state.state in ("running", "paused"):
            self._child.send(pipe.Edited(revision, document))

    def watch(self, pins: list[str]) -> None:
        if pins != self._watched:
            self._watched = pins
            self.results = {pin: self.results[pin] for pin in pins if pin in self.results}
            if self._child is not None:
                self._child.send(pipe.WatchPins(pins))

    async def write(self, pin: str, file: Path) -> str:
        """Has the value of an output written, and gives what is wrong, if something is."""
        request = max(self._written, default=0) + 1
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._written[request] = done
        try:
            self.send(pipe.Write(request, pin, str(file)))
            return await done
        finally:
            del self._written[request]

    def resend(self, tab: int) -> None:
        """Tells a tab that has just opened the page how things stand."""
        self._tell(tab, self.state)
        if self.blocks:
            self._tell(tab, BlockStates(self.page, 0, list(self.blocks.values())))
        if self.results:
            at = self._results_at
            self._tell(tab, Results(self.page, at.revision, at.step, self.results))
        if self._child is not None:
            self._child.send(pipe.Again(tab))

    async def end(self) -> None:
        child, self._child = self._child, None
        if child is not None and self._following is not None:
            child.kill()
            await self._following

    # -- what comes back ------------------------------------------------------------------

    async def _follow(self, child: Child) -> None:
        code = await child.read(partial(self._got, child))
        for done in self._written.values():
            done.set_result("The process that runs the page has ended.")
        if self._child is child:
            self._child = None
            self._ended(child, code)

    def _got(self, child: Child, kind: int, tab: int, data: bytes) -> None:
        if kind == pipe.BINARY and tab == 0:
            answer = pipe.decode_for_server(data)
            if isinstance(answer, pipe.Named):
                child.names = answer.names
            elif (done := self._written.get(answer.request)) is not None:
                done.set_result(answer.problem)
            return
        if kind == pipe.BINARY:
            self._tell(tab, data)
            return
        message = _decode(data)
        match message:
            case RunState():
                self._set(message)
                return
            case BlockStates():
                self.blocks |= {state.block: state for state in message.blocks}
            case Results():
                self.results |= message.pins
                self._results_at = message
        self._tell(tab, message)

    def _set(self, state: RunState) -> None:
        if state.state == "starting":
            self.blocks = {}
        if state.state == "idle":
            self._end_killing()
        self.state = state
        self._tell(0, state)

    def _end_killing(self) -> None:
        if self._killing is not None:
            self._killing.cancel()
            self._killing = None

    async def _kill_if_it_goes_on(self, child: Child) -> None:
        await child.ready.wait()
        await asyncio.sleep(PATIENCE)
        self._stopped = True
        child.kill()

    def _ended(self, child: Child, code: int) -> None:
        """The process is gone: says why, at the block that it was in, and starts another."""
        was_running = self.state.state != "idle"
        block = child.last_started()
        self._end_killing()
        self._child = None
        if was_running or not self._stopped:
            self._tell(0, Monitored(self.page, {}, fresh=True))
            wrong = _end_of(code, self._stopped)
            wrong.block, wrong.hint = block if was_running else "", _HINT
            if states := self._left_over("" if self._stopped else block):
                self._tell(0, BlockStates(self.page, 0, states))
            self._set(RunState(self.page, "idle", problem=wrong))
        self.prepare()

    def _left_over(self, failed: str) -> list[BlockState]:
        """The states of blocks that will never come to their end, and of the one that failed."""
        left = [n for n, state in self.blocks.items() if state.state in ("waiting", "running")]
        names = dict.fromkeys([*left, failed] if failed else left)
        states = [BlockState(name, "failed" if name == failed else "skipped") for name in names]
        self.blocks |= {state.block: state for state in states}
        return states


_HINT = "Another process was started; variables begin again."


def _end_of(code: int, stopped: bool) -> Problem:
    if stopped:
        text = "It did not stop within a second, so its process was ended."
        return Problem(text, reason="not stopped")
    why = why_ended(code)
    why.text = f"Its process {why.text}."
    return why
