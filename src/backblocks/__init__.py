"""Tensor computation in which every op is a block: TensorFlow's ops on NumPy arrays, without TensorFlow."""

import concurrent.futures.thread  # noqa: F401 (its hooks of os.fork come before ours: see below)
import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backblocks import memory, ops, raw_ops
    from backblocks.errors import BackblocksError, InternalError, OpError, PageError
    from backblocks.graph.events import Cancelled, Event
    from backblocks.graph.gradients import gradients
    from backblocks.graph.runner import Runner
    from backblocks.graph.scope import Graph, Scope
    from backblocks.graph.session import Session, evaluate
    from backblocks.graph.symbol import Symbol, constant, placeholder, variable
    from backblocks.graph.symbol import placeholder as Placeholder
    from backblocks.pages.page import Page, open_page, save_page
    from backblocks.threads import get_num_threads, set_num_threads

__version__ = "0.1.0"
__all__ = [
    "BackblocksError",
    "Cancelled",
    "Event",
    "Graph",
    "InternalError",
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

_HOME = {
    "errors": "BackblocksError InternalError OpError PageError",
    "graph.events": "Cancelled Event",
    "graph.gradients": "gradients",
    "graph.runner": "Runner",
    "graph.scope": "Graph Scope",
    "graph.session": "Session evaluate",
    "graph.symbol": "Symbol constant placeholder variable",
    "pages.page": "Page open_page save_page",
    "threads": "get_num_threads set_num_threads",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Imports what stands behind a name when it is first used: `backblocks --help` needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module 'backblocks' has no attribute {name!r}")
    if name == "Placeholder":
        found = __getattr__("placeholder")
    elif name in _MODULE_OF:
        found = getattr(importlib.import_module(f"backblocks.{_MODULE_OF[name]}"), name)
    else:
        found = importlib.import_module(f"backblocks.{name}")
    globals()[name] = found
    return found


def _import_all() -> None:
    for name in __all__:
        globals().get(name) or __getattr__(name)


# A child that is forked while another thread imports would wait for that thread, which it has not. Modules
# that add hooks of their own while these run would have theirs called after the fork, and not before it, to
# release a lock that was not acquired: concurrent.futures.thread and logging, which it imports.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_import_all)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
