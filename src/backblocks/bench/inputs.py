"""Random input tensors of a problem: deterministic, and without ties for max pools."""

from __future__ import annotations

import math

import numpy as np

import backblocks as bb
from backblocks.bench.problem import Problem
from backblocks.ops._inputs import Array
from backblocks.ops.nn._windows import from_channels_last

# Whole numbers up to these are exact in each type.
_EXACT = {"f16": 1 << 11, "bf16": 1 << 8, "f32": 1 << 16, "f64": 1 << 16}


def make_inputs(problem: Problem) -> dict[str, Array]:
    """The input tensors of the op, by the names of OpKind."""
    tensors: dict[str, Array] = {}
    for seed, name in enumerate(problem.kind.arguments.values()):
        if name.startswith("#"):
            continue
        if name == "y":
            pool = getattr(bb.raw_ops, problem.op.removesuffix("Grad").removesuffix("Grad"))
            tensors["y"] = pool(input=tensors["x"], **problem.attributes)
        elif name == "x" and problem.kind.family == "max":
            tensors["x"] = _without_ties(problem, np.random.default_rng(seed))
        else:
            tensors[name] = _normal(problem, name, np.random.default_rng(seed))
    return tensors


def _normal(problem: Problem, name: str, rng: np.random.Generator) -> Array:
    """Scaled so that a convolution gives numbers of about 1, which no type rounds to infinity."""
    scale = 1.0
    if name == "f":
        scale = 1 / math.sqrt(math.prod(problem.sizes("f")[:-1]))
    elif name == "dy" and problem.kind.result == "df":
        scale = 1 / math.sqrt(math.prod(problem.sizes("dy")) / (problem.out_channels or 1))
    numbers = rng.standard_normal(problem.sizes(name), np.float32)
    numbers *= np.float32(scale)
    return numbers.astype(problem.dtype, copy=False)


def _without_ties(problem: Problem, rng: np.random.Generator) -> Array:
    """No two cells that a window can cover are equal, whatever is random about them.

    A cell's number is a random one times the cells of a window, plus the cell's place in a grid of
    windows: cells in one window have different places. TensorFlow's MaxPool3DGrad takes numbers less
    than 1e-5 apart for equal, so they are further apart than that. Windows of more than 128 cells
    have ties in bfloat16, which has no more numbers.
    """
    batch, *space, channels = problem.last
    place: Array = np.zeros(1, np.int32)
    for n, k in zip(space, problem.k, strict=True):
        cells = min(n, k)
        place = place[..., None] * cells + np.arange(n, dtype=np.int32) % cells
    within = math.prod(min(n, k) for n, k in zip(space, problem.k, strict=True))
    exact = max(_EXACT[problem.type], 2 * within)
    numbers = rng.integers(0, exact // within, (batch, *space, channels), np.int32)
    numbers *= within
    numbers += place.reshape(1, *space, 1)
    scaled = (numbers - exact // 2).astype(np.float32) * np.float32(4 / exact)
    layout = problem.data_format
    return np.ascontiguousarray(from_channels_last(scaled.astype(problem.dtype), layout))
