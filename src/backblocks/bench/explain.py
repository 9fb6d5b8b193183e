"""Which algorithm a problem's kernel runs, as `backblocks bench --explain` prints it.

The kernel's own chooser is asked: nothing here knows a threshold.
"""

from __future__ import annotations

import numpy as np

from backblocks.bench.problem import Problem
from backblocks.ops._kernels import Choice, Prepared
from backblocks.ops._op import REGISTRY
from backblocks.ops._spec import Spec


def explain(problem: Problem) -> list[str]:
    """The lines that describe what computes a problem."""
    choice = _choice(problem)
    if choice is None:
        return [str(problem), _line("algorithm", "reference implementation in NumPy")]
    chunks = f" ({choice.chunks} chunks)" if choice.threads > 1 else ""
    return [
        str(problem),
        _line("algorithm", choice.algorithm),
        _line("because", choice.reason),
        *(_line(name, value) for name, value in choice.details),
        _line("threads", f"{choice.threads}{chunks}"),
        _line("instruction set", choice.isa),
    ]


def _choice(problem: Problem) -> Choice | None:
    """What the kernel for a problem chooses, planned from shapes alone; None if there is no kernel."""
    op = REGISTRY[problem.op]
    tensors = {
        tensor: Spec(problem.sizes(tensor), problem.dtype)
        for tensor in problem.kind.arguments.values()
        if not tensor.startswith("#")
    }
    inputs, attrs, _ = op.bind((), problem.arguments(tensors))
    specs = [
        value if isinstance(value, Spec) else Spec.of(np.array(value, np.int32)) for value in inputs
    ]
    kernel = op.plan(specs, attrs).kernel
    return kernel.explain() if isinstance(kernel, Prepared) else None


def _line(name: str, value: str) -> str:
    return f"  {name:<40}{value}"
