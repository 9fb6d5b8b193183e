"""backblocks itself, and the yardsticks it is held against."""

from __future__ import annotations

import dataclasses
import inspect
import statistics
import time
from typing import Any

import numpy as np

import backblocks as bb
from backblocks.bench.contender import OTHER_FORMAT, OTHER_TYPE, STREAM, Contender, Difference
from backblocks.bench.inputs import make_inputs
from backblocks.bench.problem import Problem
from backblocks.ops import _kernels
from backblocks.ops._inputs import Array

NAME = "backblocks"


def version() -> str:
    return bb.__version__


def set_threads(count: int) -> None:
    bb.set_num_threads(count)


def make(problem: Problem, inputs: dict[str, Array]) -> list[Contender]:
    contenders = [_fresh("backblocks", problem, inputs), *_into(problem, inputs)]
    contenders += _streams(problem, inputs)
    if problem.channels_first:
        contenders.append(_twin(problem.with_channels_last(), OTHER_FORMAT))
    elif problem.is_pool and problem.type != "f32":
        contenders.append(_twin(problem.with_type("f32"), OTHER_TYPE))
    return contenders


def _fresh(
    name: str, problem: Problem, inputs: dict[str, Array], difference: Difference | None = None
) -> Contender:
    """A call as users write it: a new array each time."""
    op, arguments = getattr(bb.raw_ops, problem.op), problem.arguments(inputs)
    return Contender(name, NAME, lambda: op(**arguments), difference=difference)


def _into(problem: Problem, inputs: dict[str, Array]) -> list[Contender]:
    """The call that writes to an array of the user's."""
    op, arguments = getattr(bb.raw_ops, problem.op), problem.arguments(inputs)
    if "out" not in inspect.signature(op).parameters:
        return []
    out = np.empty(problem.sizes(problem.kind.result), problem.dtype)
    return [Contender("backblocks, out=", NAME, lambda: op(**arguments, out=out))]


def first_call_seconds(problem: Problem, calls: int = 15) -> float:
    """Of a call on a shape that was never seen before: each time there is an image more."""
    op, found = getattr(bb.raw_ops, problem.op), []
    images, *others = problem.shape
    for more in range(1, calls + 1):
        new = dataclasses.replace(problem, shape=(images + more, *others))
        arguments = new.arguments(make_inputs(new))
        begun = time.perf_counter()
        op(**arguments)
        found.append(time.perf_counter() - begun)
    return statistics.median(found)


def _twin(twin: Problem, difference: Difference) -> Contender:
    return _fresh(f"backblocks, {twin.type} {twin.format}", twin, make_inputs(twin), difference)


def _streams(problem: Problem, inputs: dict[str, Array]) -> list[Contender]:
    """The memory's own speed on the bytes of this problem, with both kinds of store."""
    read = [inputs[name].reshape(-1).view(np.uint8) for name in problem.read]
    out = np.ones(problem.nbytes(problem.kind.result), np.uint8)

    def stream(around_cache: bool) -> Any:
        return lambda: _kernels.stream(read, out, around_cache)

    return [
        Contender("stream, around the cache", NAME, stream(True), difference=STREAM),
        Contender("stream, through the cache", NAME, stream(False), difference=STREAM),
    ]
