"""Tensor computation in which every op is a block: TensorFlow's ops on NumPy arrays, without TensorFlow."""

from backblocks import memory, ops, raw_ops
from backblocks.errors import OpError
from backblocks.graph.events import Cancelled, Event
from backblocks.graph.gradients import gradients
from backblocks.graph.runner import Runner
from backblocks.graph.scope import Graph, Scope
from backblocks.graph.session import Session, evaluate
from backblocks.graph.symbol import Symbol, constant, placeholder, variable
from backblocks.graph.symbol import placeholder as Placeholder
from backblocks.threads import get_num_threads, set_num_threads

__version__ = "0.1.0"
__all__ = [
    "Cancelled",
    "Event",
    "Graph",
    "OpError",
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
    "ops",
    "placeholder",
    "raw_ops",
    "set_num_threads",
    "variable",
]
