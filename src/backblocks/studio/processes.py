"""Child processes of the server: each has a socket to it and a memory limit, and ends with the server."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys

from backblocks.studio.messages import Problem


class ChildProcess:
    """Runs a module of the studio with the file descriptors that it shares and then `arguments`."""

    def __init__(self, module: str, arguments: list[str], *shared: int) -> None:
        self.socket, theirs = socket.socketpair()
        handles = (theirs.fileno(), *shared)
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", module, *map(str, handles), *arguments],
                stdin=subprocess.DEVNULL,
                pass_fds=handles,
                start_new_session=True,
            )

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


def exit_reason(code: int) -> Problem:
    """The problem that an exit code stands for, in words that follow the name of the process."""
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
"""The exit code of a process that ran out of memory."""


# -- in the process -------------------------------------------------------------------------------


def enter_child_process(memory: int) -> None:
    """Called first in a child process: Ctrl-C is left to the server, and memory has a limit."""
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
