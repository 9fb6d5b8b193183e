"""What is shown on a terminal and nowhere else: colours and progress."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

STOPPED = 130
"""The exit code after Ctrl-C."""

_CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}
_WIDTH = 30
_EVERY = 0.1
_AFTER = 0.5
"""Seconds: work that is done sooner needs no bar."""


def painter(stream: TextIO) -> Callable[[str, str], str]:
    """A function that gives text its colour, if the stream is a terminal and NO_COLOR is not set."""
    plain = not stream.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"

    def paint(text: str, colour: str) -> str:
        return text if plain else f"\x1b[{_CODES[colour]}m{text}\x1b[0m"

    return paint


class Progress:
    """A bar on stderr, if that is a terminal, for work of more than half a second."""

    def __init__(self, total: int | None) -> None:
        self.total = total
        self.shown = False
        self._begun = time.monotonic()
        self._next = self._begun + _AFTER if sys.stderr.isatty() else float("inf")

    def at(self, done: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next, self.shown = now + _EVERY, True
        sys.stderr.write(f"\r\x1b[K{self._text(done, now - self._begun)}")
        sys.stderr.flush()

    def _text(self, done: int, seconds: float) -> str:
        if self.total is None:
            return f"step {done}, {seconds:.0f} s"
        filled = round(_WIDTH * done / self.total)
        left = seconds / max(done, 1) * (self.total - done)
        bar = "━" * filled + " " * (_WIDTH - filled)
        return f"step {done} of {self.total} ┃{bar}┃ {left:.0f} s left"

    def end(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
