"""backblocks itself, and yardsticks: a stream of the same bytes, and variants of the problem."""

from __future__ import annotations

import dataclasses
import inspect
import statistics
import time
from typing import Any

import numpy as np

import backblocks as bb
from backblocks.bench.contender import OTHER_FORMAT, OTHER_TYPE, STREAM, Caveat, Contender
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
    contenders = [_allocating_call("backblocks", problem, inputs), *_out_call(problem, inputs)]
    contenders += _streams(problem, inputs)
    if problem.channels_first:
        contenders.append(_variant(problem.with_channels_last(), OTHER_FORMAT))
    elif problem.is_pool and problem.type != "f32":
        contenders.append(_variant(problem.with_type("f32"), OTHER_TYPE))
    return contenders


def _allocating_call(
    name: str, problem: Problem, inputs: dict[str, Array], caveat: Caveat | None = None
) -> Contender:
    """A call that allocates its result, as users write it."""
    op, arguments = getattr(bb.raw_ops, problem.op), problem.arguments(inputs)
    return Contender(name, NAME, lambda: op(**arguments), caveat=caveat)


def _out_call(problem: Problem, inputs: dict[str, Array]) -> list[Contender]:
    """The call with `out=`, which reuses a buffer."""
    op, arguments = getattr(bb.raw_ops, problem.op), problem.arguments(inputs)
    if "out" not in inspect.signature(op).parameters:
        return []
    out = np.empty(problem.sizes(problem.kind.result), problem.dtype)
    return [Contender("backblocks, out=", NAME, lambda: op(**arguments, out=out))]


def first_call_seconds(problem: Problem, calls: int = 15) -> float:
    """Median seconds of a first call: each call has one image more, a shape that no plan exists for."""
    op, found = getattr(bb.raw_ops, problem.op), []
    images, *others = problem.shape
    for more in range(1, calls + 1):
        new = dataclasses.replace(problem, shape=(images + more, *others))
        arguments = new.arguments(make_inputs(new))
        begun = time.perf_counter()
        op(**arguments)
        found.append(time.perf_counter() - begun)
    return statistics.median(found)


def _variant(variant: Problem, caveat: Caveat) -> Contender:
    return _allocating_call(
        f"backblocks, {variant.type} {variant.format}", variant, make_inputs(variant), caveat
    )


def _streams(problem: Problem, inputs: dict[str, Array]) -> list[Contender]:
    """Plain streams of the bytes of this problem, with regular and with non-temporal stores."""
    read = [inputs[name].reshape(-1).view(np.uint8) for name in problem.read]
    out = np.ones(problem.nbytes(problem.kind.result), np.uint8)

    def stream(non_temporal: bool) -> Any:
        return lambda: _kernels.stream(read, out, non_temporal)

    return [
        Contender("stream, around the cache", NAME, stream(True), caveat=STREAM),
        Contender("stream, through the cache", NAME, stream(False), caveat=STREAM),
    ]
