"""Handles: scalars that stand for something which changes, such as a queue.

In TensorFlow a handle has the type `resource`. Here its one cell is the object itself, a State. Ops that
are called on arrays change it where it is, as eager TensorFlow does. A session keeps states as it keeps
variables: it gives every op that changes one a copy, so that a run which fails leaves the old one.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Self, TypeVar

import numpy as np

from backblocks.dtypes import BY_NAME
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.ops._memory import reserve
from backblocks.ops._spec import Spec

RESOURCE = BY_NAME["resource"]

gradient_call: ContextVar[str] = ContextVar("gradient_call", default="gradients")
"""Tells gradients that were asked for in one go from others: what belongs together is added up."""


class State:
    """What a handle stands for. Its repr says in a line what it holds; worked cases are checked by it."""

    kind = "state"
    nbytes = 0
    """What it keeps, counted where it changes."""

    def grow(self, size: int) -> None:
        """Counts bytes that it is to keep, before it does; less than 0 for those that it gives up."""
        reserve(size)
        self.nbytes += size

    def copy(self) -> Self:
        """Another of the same content, which can be changed without changing this one."""
        raise NotImplementedError


def handle(state: State) -> Array:
    array = np.empty((), RESOURCE)
    array["resource"][()] = state
    return array


def state_in(array: Array) -> Any:
    return array["resource"].item()


def fresh(value: Any) -> Any:
    """A handle of a copy of the state. Any other value is given back as it is."""
    if isinstance(value, np.ndarray) and value.dtype == RESOURCE:
        return handle(state_in(value).copy())
    return value


S = TypeVar("S", bound=State)


def declared(arg: str, spec: Spec, kind: type[S]) -> S | None:
    """What a handle stands for, or None if that is not known yet. Refuses a handle of another kind.

    In a graph this is a state as it was declared, so rules must not look at what it holds.
    """
    if spec.shape not in (None, ()):
        hint = "Pass one handle, as the block gives it."
        raise OpError("must be one handle", arg=arg, got=described(str(spec)), hint=hint)
    if spec.value is None:
        return None
    state = state_in(spec.value)
    if not isinstance(state, kind):
        raise OpError(
            f"must be the handle of a {kind.kind}",
            arg=arg,
            got=described(repr(state)),
            hint=f"Wire it to a block that holds a {kind.kind}.",
        )
    return state
