"""Contenders of the benchmark: one way to compute a problem with one library, and its caveats.

To add a peer, write a file like those in `peers/` and list it in `peers/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from backblocks.bench.problem import Problem
from backblocks.ops._inputs import Array


@dataclass(frozen=True)
class Caveat:
    """Why a contender's time is not directly comparable; shown beside it.

    `job` is "same work" when it does as much but its answer is another (which is then not checked),
    "part" when it does less, and "yardstick" when it is no rival at all. Only those that do the whole
    job or the same work count in ratios to a peer.
    """

    job: str
    why: str


# Every caveat there is.
SYMMETRIC_PADDING = Caveat(
    "same work", "pads symmetrically, so that its windows are one element before TensorFlow's"
)
SAVED_INDICES = Caveat("part", "gets the argmax indices, computed before timing")
OTHER_TYPE = Caveat("yardstick", "the same problem in f32")
OTHER_FORMAT = Caveat("yardstick", "the same problem with the channels last")
STREAM = Caveat("yardstick", "reads what is needed once and writes the result once")


@dataclass(frozen=True)
class Contender:
    """One way to compute a problem with one library, prepared to be called repeatedly."""

    name: str
    peer: str
    call: Callable[[], Any]
    answer: Callable[[Any], Array] = lambda result: result  # NumPy's, in the problem's format
    caveat: Caveat | None = None
    expected_seconds: float = 0.0  # of one call, where it would be too long to measure

    @property
    def job(self) -> str:
        return self.caveat.job if self.caveat else "whole"

    @property
    def same_answer(self) -> bool:
        return self.job in ("whole", "part")


class Peer(Protocol):
    """The interface of a module in `peers/`. Importing it imports the library."""

    NAME: str

    def version(self) -> str: ...

    def set_threads(self, count: int) -> None: ...

    def make(self, problem: Problem, inputs: dict[str, Array]) -> Sequence[Contender] | str:
        """Contenders for a problem, or why there are none."""
