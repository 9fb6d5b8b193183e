"""What blocks write to the terminal, so that tabs show it too."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TextIO

from backblocks.studio.messages import Said

_MOST_TEXTS = 200
"""Between two messages; of more the last are told."""
_LONGEST = 10_000


class Terminal:
    """Hears what is written in the threads that blocks run in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._here = threading.local()
        self._texts: list[Said] = []

    def listen(self) -> None:
        """From now on. All that is written still goes where it went."""
        sys.stdout = _Overheard(sys.stdout, self._hear)
        sys.stderr = _Overheard(sys.stderr, self._hear)

    def enter(self, block: str) -> None:
        """A block begins to run in this thread."""
        self._here.block = block

    def leave(self) -> None:
        self._here.block = ""

    def new(self) -> list[Said]:
        """What was not told yet."""
        with self._lock:
            found, self._texts = self._texts, []
            return found

    def _hear(self, text: str) -> None:
        if block := getattr(self._here, "block", ""):
            with self._lock:
                self._texts = [*self._texts[1 - _MOST_TEXTS :], Said(block, text[:_LONGEST])]


class _Overheard:
    """A stream that somebody listens to."""

    def __init__(self, stream: TextIO, hear: Callable[[str], None]) -> None:
        self._stream, self._hear = stream, hear

    def write(self, text: str) -> int:
        self._hear(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
