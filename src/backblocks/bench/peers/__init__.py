"""Peers: a module for each library that is benchmarked, imported on demand."""

from __future__ import annotations

import importlib
from typing import cast

from backblocks.bench.contender import Peer

OURS = "backblocks"
OTHERS = ("tensorflow", "torch", "jax")


def load(name: str) -> Peer:
    """The peer, or an exception if its library cannot be imported here."""
    file = "ours" if name == OURS else f"with_{name}"
    return cast(Peer, importlib.import_module(f"{__name__}.{file}"))
