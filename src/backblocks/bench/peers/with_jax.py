"""JAX: its functions and what it derives from them, compiled."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from backblocks.bench.contender import Contender
from backblocks.bench.problem import Problem
from backblocks.ops._inputs import Array
from backblocks.ops.nn._windows import in_layout

NAME = "jax"
jax.config.update("jax_enable_x64", True)


def version() -> str:
    return str(jax.__version__)


def set_threads(count: int) -> None:
    """XLA takes as many threads as there are cores that the process may use."""
    if len(os.sched_getaffinity(0)) != count:
        raise RuntimeError(f"cannot be held to {count} threads")


def make(problem: Problem, inputs: dict[str, Array]) -> list[Contender] | str:
    if problem.kind.family == "dilation":
        return "it has no dilation"
    given = {name: jnp.asarray(value) for name, value in inputs.items() if name != "y"}
    compiled = jax.jit(_function(problem))
    call = lambda: compiled(**given).block_until_ready()  # noqa: E731
    return [Contender("jax", NAME, call, np.asarray, expected_seconds=_expected_seconds(problem))]


def _function(problem: Problem) -> Callable[..., Any]:
    """The function to compile, of tensors by the names of OpKind."""
    forward = _pool(problem) if problem.is_pool else _convolution(problem)
    if problem.kind.result == "y":
        return forward
    if problem.kind.result == "ddy":
        return lambda x, ddx: jax.jvp(forward, (x,), (ddx,))[1]

    def back(dy: Any, **given: Any) -> Any:
        # Gradients of linear functions do not depend on where they are taken, but need a place.
        wanted = problem.kind.result[1:]
        place = given.pop(wanted, None)
        place = jnp.zeros(problem.sizes(wanted), problem.dtype) if place is None else place
        return jax.vjp(lambda at: forward(**{wanted: at}, **given), place)[1](dy)[0]

    return back


def _pool(problem: Problem) -> Callable[..., Any]:
    k, s = (in_layout((1, *each, 1), problem.data_format) for each in (problem.k, problem.s))

    def over_windows(x: Any, start: float, how: Any) -> Any:
        return jax.lax.reduce_window(x, np.array(start, x.dtype), how, k, s, problem.padding)

    if problem.kind.family == "max":
        return lambda x: over_windows(x, -np.inf, jax.lax.max)
    ones = in_layout((1, *problem.last[1:-1], 1), problem.data_format)
    return lambda x: (
        over_windows(x, 0, jax.lax.add) / over_windows(jnp.ones(ones, x.dtype), 0, jax.lax.add)
    )


def _convolution(problem: Problem) -> Callable[..., Any]:
    space = "DHW"[-problem.kind.space :]
    layout = problem.data_format
    groups = problem.last[-1] if problem.kind.family == "depthwise" else problem.groups

    def convolve(x: Any, f: Any) -> Any:
        if problem.kind.family == "depthwise":  # the multiplier stands with the output channels
            f = f.reshape(*f.shape[:-2], 1, -1)
        return jax.lax.conv_general_dilated(
            x,
            f,
            problem.s,
            problem.padding,
            rhs_dilation=problem.dilations,
            dimension_numbers=(layout, f"{space}IO", layout),
            feature_group_count=groups,
        )

    return convolve


def _expected_seconds(problem: Problem) -> float:
    """XLA makes plain loops of the input gradient of a strided convolution over volumes.

    With few channels they stay scalar: the I3D stem took 56 s at 13e9 products, zeros included.
    """
    few = problem.last[-1] <= 4 and problem.kind.space == 3 and max(problem.s) > 1
    if problem.is_pool or problem.kind.result != "dx" or not few:
        return 0.0
    products = math.prod(problem.sizes("x")) * math.prod(problem.k) * (problem.out_channels or 1)
    return products / 2.4e8
