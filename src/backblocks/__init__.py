"""Tensor computation in which every op is a block: TensorFlow's ops on NumPy arrays, without TensorFlow."""

from typing import TYPE_CHECKING, Any

from backblocks import memory, ops, raw_ops
from backblocks.errors import OpError, PageError
from backblocks.graph.events import Cancelled, Event
from backblocks.graph.gradients import gradients
from backblocks.graph.runner import Runner
from backblocks.graph.scope import Graph, Scope
from backblocks.graph.session import Session, evaluate
from backblocks.graph.symbol import Symbol, constant, placeholder, variable
from backblocks.graph.symbol import placeholder as Placeholder
from backblocks.threads import get_num_threads, set_num_threads

if TYPE_CHECKING:
    from backblocks.pages.page import Page, open_page, save_page

__version__ = "0.1.0"
__all__ = [
    "Cancelled",
    "Event",
    "Graph",
    "OpError",
    "Page",
    "PageError",
    "Placeholder",
    "Runner",
    "Scope",
    "Session",
    "Symbol",
    "constant",
    "evaluate",
    "get_num_threads",
    "gradients",
    "memory",
    "open_page",
    "ops",
    "placeholder",
    "raw_ops",
    "save_page",
    "set_num_threads",
    "variable",
]


def __getattr__(name: str) -> Any:
    """Imports what is for pages when it is first asked for."""
    if name not in ("Page", "open_page", "save_page"):
        raise AttributeError(f"module 'backblocks' has no attribute {name!r}")
    from backblocks.pages import page

    return getattr(page, name)
