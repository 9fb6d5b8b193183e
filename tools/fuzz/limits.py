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

from bad_calls.child import SPARE_BYTES

from fuzz.findings import Finding

SECONDS = 3.0
"""That a call may take. Legal ones of large sizes may take longer: those are interrupted, and counted."""
DEAF = 3.0
"""Seconds after which an interrupted call must have ended."""
HANGS = 15.0
"""Seconds after which a try is ended by force."""


class Slow(KeyboardInterrupt):
    """The time of a call is over: what Ctrl-C raises."""


@contextmanager
def in_time() -> Iterator[None]:
    """Interrupts what takes too long, as Ctrl-C does."""

    def interrupt(*_: Any) -> None:
        raise Slow

    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        deaf = time.monotonic() - began - SECONDS
        if deaf > DEAF:
            raise Finding(f"heard Ctrl-C only after {deaf:.1f} s", "deaf to Ctrl-C")


def limit_memory() -> None:
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (in_use + SPARE_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
