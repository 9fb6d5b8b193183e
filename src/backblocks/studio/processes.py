"""Processes that the server starts: each has a socket to it, a limit of memory, and ends with the server."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys

from backblocks.studio.messages import Problem


class Process:
    """A process of a module of ours. Its arguments are the handles that it shares, then `words`."""

    def __init__(self, module: str, words: list[str], *shared: int) -> None:
        self.socket, theirs = socket.socketpair()
        handles = (theirs.fileno(), *shared)
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", module, *map(str, handles), *words],
                stdin=subprocess.DEVNULL,
                pass_fds=handles,
                start_new_session=True,
            )

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


def why_ended(code: int) -> Problem:
    """What an exit code says of the end of a process, in words that follow its name."""
    if code == OUT_OF_MEMORY:
        return Problem("ran out of memory", reason="memory")
    if code == -signal.SIGKILL:
        text = "was ended by the system, most likely because memory ran out"
        return Problem(text, reason="killed")
    if code < 0:
        name = signal.Signals(-code).name
        return Problem(f"crashed ({name})", reason="crashed", detail=name)
    return Problem(f"ended (exit code {code})", reason="ended", detail=str(code))


OUT_OF_MEMORY = 17
"""The exit code of a process that could not go on for want of memory."""


# -- in the process -------------------------------------------------------------------------------


def begin(memory: int) -> None:
    """What a process does first: Ctrl-C is for the server, and memory has a limit."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_the_server()
    _limit_memory(memory)


def _end_with_the_server() -> None:
    """Has the system kill this process when the server is gone, even if it hangs in a kernel."""
    import ctypes

    if sys.platform == "linux":
        parent_death_signal = 1
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL, 0, 0, 0)


def _limit_memory(most: int) -> None:
    """Makes memory run out for this process rather than for the machine."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # if the machine's memory runs out all the same, this is what goes


def machine_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
