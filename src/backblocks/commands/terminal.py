"""Terminal output: control characters escaped, colours, and a progress bar."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from backblocks.errors import visible

INTERRUPTED_EXIT = 130
"""The exit code after Ctrl-C."""

_CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}
_WIDTH = 30
_EVERY = 0.1
_AFTER = 0.5
"""Seconds before the bar appears: shorter work needs none."""


def colorizer(stream: TextIO) -> Callable[[str, str], str]:
    """A function that colours text, if the stream is a terminal and NO_COLOR is not set."""
    plain = not stream.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    escape = getattr(stream, "escape", "\x1b")

    def paint(text: str, colour: str) -> str:
        return text if plain else f"{escape}[{_CODES[colour]}m{text}{escape}[0m"

    return paint


class EscapingStream:
    """A stream that escapes control characters: names, titles and values of pages may hold any.

    Our own colours pass by a marker in place of the escape character. It is random in every process, so that
    no page can contain it.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.escape = f"\ue000{os.urandom(8).hex()}"

    def write(self, text: str) -> int:
        self.stream.write(visible(text, lines=True).replace(self.escape, "\x1b"))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def escaped_output() -> Iterator[None]:
    """Sends stdout and stderr through `EscapingStream`."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, EscapingStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class ProgressBar:
    """A progress bar on stderr, if that is a terminal, for work of more than half a second."""

    def __init__(self, total: int | None) -> None:
        self.total = total
        self.shown = False
        self._begun = time.monotonic()
        self._next = self._begun + _AFTER if sys.stderr.isatty() else float("inf")

    def update(self, done: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next, self.shown = now + _EVERY, True
        self._write(f"\r\x1b[K{self._text(done, now - self._begun)}")

    def _write(self, text: str) -> None:
        stream = getattr(sys.stderr, "stream", sys.stderr)
        stream.write(text)
        stream.flush()

    def _text(self, done: int, seconds: float) -> str:
        if self.total is None:
            return f"step {done}, {seconds:.0f} s"
        filled = round(_WIDTH * done / self.total)
        left = seconds / max(done, 1) * (self.total - done)
        bar = "━" * filled + " " * (_WIDTH - filled)
        return f"step {done} of {self.total} ┃{bar}┃ {left:.0f} s left"

    def end(self) -> None:
        if self.shown:
            self._write("\r\x1b[K")
