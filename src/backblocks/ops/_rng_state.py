"""RNG state of a block: the key and the counter with which its random numbers continue in the next run.

A session sets it while the op computes, and keeps what the op leaves there when the run is over. So a run
that fails leaves the state as it was, and blocks that run in parallel do not share one. Without a session
every call is the first. `Print` counts in the same words how often it has printed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from backblocks.dtypes import BY_NAME
from backblocks.ops._inputs import Array
from backblocks.ops._spec import Spec

RNG_STATE = Spec((3,), BY_NAME["uint64"])


@dataclass
class RngState:
    """Three words in an array that is replaced and never written to: the session may need the old one."""

    words: Array


_current: ContextVar[RngState | None] = ContextVar("rng_state", default=None)


@contextmanager
def using_rng_state(words: Array) -> Iterator[RngState]:
    """Sets the RNG state of the op that is computed inside, which replaces its words."""
    state = RngState(words)
    token = _current.set(state)
    try:
        yield state
    finally:
        _current.reset(token)


def current_rng_state() -> RngState | None:
    """The RNG state of the block that is computed; None for a call without a session."""
    return _current.get()


def state_words(*words: int) -> Array:
    return np.array([word % 2**64 for word in words], np.uint64)


def seed_words(seed: int | None = None, name: str = "") -> tuple[int, int]:
    """Two words derived from a seed and a name; from the system's entropy without a seed."""
    source = os.urandom(16) if seed is None else hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(source[:8], "little"), int.from_bytes(source[8:16], "little")
