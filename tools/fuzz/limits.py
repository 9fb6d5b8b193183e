"""How much time and memory a try may take."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fuzz.findings import Finding

# Seconds of CPU time: on a busy machine nothing is slow that would not be on an idle one.
SECONDS = 3.0
"""The time that a call may take. Legal ones of large sizes may take longer: they are interrupted, counted."""
DEAF = 3.0
"""After which an interrupted call must have ended."""
HANGS = 15.0
"""After which a try is ended by force."""
SPARE_BYTES = 2 << 30
"""Memory that a try may take beyond what the process has at its start."""
WAITS = 20.0
"""Seconds of wall time that count as one of CPU time, since a deadlock takes none."""
ANSWERS = 8.0
"""After which a server that has not answered never will."""


class Stopwatch:
    """CPU time of this process since it was made, or a fraction of the wall time where that is more."""

    def __init__(self) -> None:
        self._began, self._cpu = time.monotonic(), time.process_time()

    def spent(self) -> float:
        return max(time.process_time() - self._cpu, (time.monotonic() - self._began) / WAITS)


class Slow(KeyboardInterrupt):
    """The time of a call is over: what Ctrl-C raises."""


@contextmanager
def in_time() -> Iterator[None]:
    """Interrupts what takes too long, as Ctrl-C does."""

    interrupted = False

    def interrupt(*_: Any) -> None:
        nonlocal interrupted
        if not interrupted:  # once: the second would come while the first is dealt with
            interrupted = True
            raise Slow

    timers = {
        signal.ITIMER_PROF: (signal.SIGPROF, SECONDS),
        signal.ITIMER_REAL: (signal.SIGALRM, SECONDS * WAITS),
    }
    watch = Stopwatch()
    before = {number: signal.signal(number, interrupt) for number, _ in timers.values()}
    for timer, (_, seconds) in timers.items():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, (number, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])
        deaf = watch.spent() - SECONDS
        if deaf > DEAF:
            raise Finding(f"heard Ctrl-C only after {deaf:.1f} s", "deaf to Ctrl-C")


def limit_memory() -> None:
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (in_use + SPARE_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
