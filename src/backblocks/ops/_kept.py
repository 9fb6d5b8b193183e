"""What a block keeps from one run to the next: where its random numbers go on, how often it has spoken.

A session gives it to the op while that computes, and takes what the op leaves when the run is over. So a
run that fails leaves it as it was, and blocks that run side by side do not meet. Without a session every
call is the first.
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

KEPT = Spec((3,), BY_NAME["uint64"])


@dataclass
class Kept:
    """Three words, which are replaced and never written to: the session may need the old ones."""

    words: Array


_kept: ContextVar[Kept | None] = ContextVar("kept", default=None)


@contextmanager
def keeping(words: Array) -> Iterator[Kept]:
    """While this lasts, the op that runs finds the words, and leaves others."""
    kept = Kept(words)
    token = _kept.set(kept)
    try:
        yield kept
    finally:
        _kept.reset(token)


def kept() -> Kept | None:
    """What the block that runs keeps; None for a call without a session."""
    return _kept.get()


def three_words(*words: int) -> Array:
    return np.array([word % 2**64 for word in words], np.uint64)


def chance(seed: int | None = None, name: str = "") -> tuple[int, int]:
    """Two words that follow from a seed and a name; without a seed nobody can foretell them."""
    source = os.urandom(16) if seed is None else hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(source[:8], "little"), int.from_bytes(source[8:16], "little")
