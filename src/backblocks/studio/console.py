"""Captures what blocks print to stdout and stderr, so that the console of tabs shows it too."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TextIO

from backblocks.studio.messages import LogLine

_MAX_LINES = 200
"""Between two messages; of more the last are kept."""
_MAX_LENGTH = 10_000


class ConsoleCapture:
    """Log lines by block, captured in the threads that blocks run in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._here = threading.local()
        self._lines: list[LogLine] = []

    def install(self) -> None:
        """Replaces the streams by ones that also capture; all that is written still goes where it went."""
        sys.stdout = _TeeStream(sys.stdout, self._capture)
        sys.stderr = _TeeStream(sys.stderr, self._capture)

    def enter_block(self, block: str) -> None:
        """Lines of this thread are of this block from here on."""
        self._here.block = block

    def leave_block(self) -> None:
        self._here.block = ""

    def take_new(self) -> list[LogLine]:
        """Lines that were not sent yet."""
        with self._lock:
            found, self._lines = self._lines, []
            return found

    def _capture(self, text: str) -> None:
        if block := getattr(self._here, "block", ""):
            with self._lock:
                self._lines = [*self._lines[1 - _MAX_LINES :], LogLine(block, text[:_MAX_LENGTH])]


class _TeeStream:
    """A stream that passes on what is written to it, and hands a copy to a listener."""

    def __init__(self, stream: TextIO, listener: Callable[[str], None]) -> None:
        self._stream, self._listener = stream, listener

    def write(self, text: str) -> int:
        self._listener(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
