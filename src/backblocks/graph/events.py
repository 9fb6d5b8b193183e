"""Events of a run for its listeners, the report after it, and cancellation."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

from backblocks.graph.symbol import Block


class Cancelled(Exception):
    """A run was cancelled. Variables are as they were before it."""


@dataclass(frozen=True)
class Event:
    """An event of a block: "started", "finished", "cached", "failed" or "skipped".

    "cached" is a block whose value is known from an earlier run, "skipped" one in a branch that was not
    taken. `done` of `total` blocks are through with this run.
    """

    kind: str
    block: Block
    seconds: float = 0.0
    bytes: int = 0
    done: int = 0
    total: int = 0


before_block: ContextVar[Callable[[int], object] | None] = ContextVar("before_block", default=None)
"""Listener that is called with the number of each block before it is computed, also while programs compile.

A process that notes it in memory shared with another one can be told afterwards where it has crashed.
"""


class Report(NamedTuple):
    """Figures of the last run."""

    executed: int = 0
    """Blocks that were computed."""
    cached: int = 0
    """Blocks whose values were in the result cache."""
    seconds: float = 0.0
    peak_bytes: int = 0
    """The peak of live bytes: feeds, constants and variables too."""
    cached_bytes: int = 0
    """Bytes in the result cache."""


class _Dead:
    """The value of a branch that was not taken."""

    nbytes = 0

    def __repr__(self) -> str:
        return "<dead>"


DEAD: Any = _Dead()
