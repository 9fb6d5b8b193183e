"""A pool of processes for tasks that a page could make crash or hang: checks, exports, saves, array imports.

They are apart from those that run pages: a run may keep its process busy for hours while errors are to appear
within a tenth of a second of an edit, and a check that crashes must not take the variables of a run with it.
A process of the pool keeps nothing between tasks, so any of them can take any page's. One is held ready. When
all are busy for longer than a usual check takes, another one is started: a page whose check hangs does not
hold up the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec

from backblocks import __version__
from backblocks.studio import ipc
from backblocks.studio.messages import Problem
from backblocks.studio.processes import ChildProcess, exit_reason, machine_bytes

MAX_PROCESSES = 4
_START_DELAY = 0.25
"""Seconds that a task waits for a busy process before another one is started."""
_MAX_IDLE = 2
"""Processes that are kept for tasks to come."""
_GRACE = 1.0
"""Seconds from its start that a task has though its caller waits no longer: most are done by then, and a new
process would cost more."""
_LEAST_MEMORY = 1 << 31


class TaskError(Exception):
    """A task without a result, with the problem that the tab shows."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.text} {problem.hint}".strip())
        self.problem = problem


class _PoolProcess(ChildProcess):
    def __init__(self, memory: int) -> None:
        super().__init__("backblocks.studio.pool_worker", [str(memory)])
        self.socket.setblocking(False)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def answer(self, task: bytes) -> tuple[int, bytes]:
        """Raises IncompleteReadError or ConnectionError if the process ends first."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(sock=self.socket)
        reader, writer = self._streams
        writer.write(len(task).to_bytes(4, "little") + task)
        size, kind = ipc.ANSWER.unpack(await reader.readexactly(ipc.ANSWER.size))
        return kind, await reader.readexactly(size)

    async def end(self) -> int:
        """Ends it, if it has not ended, and gives its exit code."""
        if self._streams is None:
            self.socket.close()
        else:
            self._streams[1].close()
        self.kill()
        return await asyncio.to_thread(self.process.wait)


class ProcessPool:
    """Runs tasks in processes. `memory` is the limit of a run, if there is one: no task gets more."""

    def __init__(self, memory: int = 0) -> None:
        most = max(_LEAST_MEMORY, machine_bytes() // 2)
        self._memory = min(most, memory + (1 << 30)) if memory else most
        self._idle: asyncio.LifoQueue[_PoolProcess] = asyncio.LifoQueue()
        self._all: set[_PoolProcess] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    def prepare(self) -> None:
        """Starts a process, which imports the library before it is needed."""
        if not self._all:
            self._start()

    def _start(self) -> None:
        process = _PoolProcess(self._memory)
        self._all.add(process)
        self._idle.put_nowait(process)

    async def run(self, task: ipc.Tasks) -> Any:
        """The task's result. Raises TaskError. If the caller is cancelled, so is a task that takes long."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _GRACE
        work = self._started(self._run(task))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            loop.call_at(end, work.cancel)
            raise

    def _started(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def _run(self, task: ipc.Tasks) -> Any:
        order = ipc.encode(task)
        process = await self._take()
        try:
            async with asyncio.timeout(task.seconds):
                kind, data = await process.answer(order)
        except TimeoutError:
            await self._replace(process)
            why = f"it took longer than {task.seconds:g} s"
            raise TaskError(_problem(task, why)) from None
        except (asyncio.IncompleteReadError, ConnectionError):
            code = await self._replace(process)
            ended = exit_reason(code)
            raise TaskError(
                _problem(task, f"its process {ended.text}", ended.reason, ended.detail)
            ) from None
        except asyncio.CancelledError:
            await self._end(process)
            raise
        self._give_back(process)
        if kind == ipc.RESULT:
            return msgspec.json.decode(data, type=task.result)
        text = data.decode(errors="replace")
        raise TaskError(
            Problem(text) if kind == ipc.REFUSED else internal_error(f"could not {task.name}", text)
        )

    async def _take(self) -> _PoolProcess:
        while True:
            if not self._all:
                self._start()
            may_start = len(self._all) < MAX_PROCESSES
            try:
                async with asyncio.timeout(_START_DELAY if may_start else None):
                    return await self._idle.get()
            except TimeoutError:
                if len(self._all) < MAX_PROCESSES:
                    self._start()

    def _give_back(self, process: _PoolProcess) -> None:
        if self._idle.qsize() < _MAX_IDLE:
            self._idle.put_nowait(process)
        else:
            self._started(self._end(process))

    async def _replace(self, process: _PoolProcess) -> int:
        """Ends a process that crashed or hangs; the next task finds a new one ready."""
        code = await self._end(process)
        self.prepare()
        return code

    async def _end(self, process: _PoolProcess) -> int:
        self._all.discard(process)
        return await process.end()

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for process in list(self._all):
            await self._end(process)


def _problem(task: ipc.Tasks, why: str, reason: Any = "", detail: str = "") -> Problem:
    hint = (
        "Undo the last change, or take out what is very large; the next change is checked by a new process."
        if isinstance(task, ipc.CheckPage)
        else "Make what it works on smaller, and try again; the studio and its other pages go on."
    )
    return Problem(
        f"The studio could not {task.name}: {why}.", hint=hint, reason=reason, detail=detail
    )


def internal_error(what: str, error: str) -> Problem:
    """An unexpected exception as a problem, with the request to report it."""
    text = f"The studio {what}: {error[:1000]}. This is a fault of backblocks {__version__}."
    hint = "Please report it: send this text, the page and what the terminal shows."
    return Problem(text, hint=hint)
