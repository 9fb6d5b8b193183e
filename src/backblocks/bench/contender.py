"""What takes part in the benchmark, and what is known to set some of it apart.

To add a peer, write a file like those in `peers/` and list it in `peers/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from backblocks.bench.problem import Problem
from backblocks.ops._inputs import Array


@dataclass(frozen=True)
class Difference:
    """Why a contender is no equal: it is shown beside its time.

    `job` is "same work" when it does as much but its answer is another (which is then not checked),
    "part" when it does less, and "yardstick" when it is no rival at all. Only those that do the whole
    job or the same work count in ratios to a peer.
    """

    job: str
    why: str


# Every difference there is.
SYMMETRIC_PADDING = Difference(
    "same work", "pads both sides alike, so that its windows stand one cell before TensorFlow's"
)
SAVED_INDICES = Difference(
    "part", "is handed the places of the maxima, found before the clock starts"
)
OTHER_TYPE = Difference("yardstick", "the same problem in f32")
OTHER_FORMAT = Difference("yardstick", "the same problem with the channels last")
STREAM = Difference("yardstick", "reads what is needed once and writes the result once")


@dataclass(frozen=True)
class Contender:
    """One way to solve a problem, ready to be called again and again."""

    name: str
    peer: str
    call: Callable[[], Any]
    answer: Callable[[Any], Array] = lambda result: result  # NumPy's, in the problem's format
    difference: Difference | None = None
    known_seconds: float = 0.0  # of one call, when it is too long to find out each time

    @property
    def job(self) -> str:
        return self.difference.job if self.difference else "whole"

    @property
    def same_answer(self) -> bool:
        return self.job in ("whole", "part")


class Peer(Protocol):
    """What a file in `peers/` has. Importing it imports the library."""

    NAME: str

    def version(self) -> str: ...

    def set_threads(self, count: int) -> None: ...

    def make(self, problem: Problem, inputs: dict[str, Array]) -> Sequence[Contender] | str:
        """Contenders for a problem, or why there are none."""
