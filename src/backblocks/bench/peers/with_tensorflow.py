"""TensorFlow: its raw ops, called eagerly, in a graph, and compiled by XLA."""

from __future__ import annotations

import os
from typing import Any

# By itself it uses oneDNN only on processors with AVX-512; on others oneDNN is several times faster too.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # it would speak of its plug-ins

import tensorflow as tf

from backblocks.bench.contender import Contender
from backblocks.bench.problem import Problem
from backblocks.ops._inputs import Array

NAME = "tensorflow"
tf.get_logger().setLevel("ERROR")  # it would warn that each problem makes a function of its own


def version() -> str:
    return str(tf.__version__)


def set_threads(count: int) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(count)
    tf.config.threading.set_inter_op_parallelism_threads(count)


def make(problem: Problem, inputs: dict[str, Array]) -> list[Contender]:
    op = getattr(tf.raw_ops, problem.op)
    tensors = {name: tf.constant(value) for name, value in inputs.items()}
    arguments = problem.arguments(tensors)
    if problem.kind.family == "depthwise":
        arguments["explicit_paddings"] = []
    given = {name: arguments.pop(name) for name in problem.kind.arguments}
    sizes = {n: tf.constant(v, tf.int32) for n, v in given.items() if isinstance(v, list)}
    given = {n: v for n, v in given.items() if n not in sizes}

    def eager(**tensors: Any) -> Any:
        return op(**tensors, **sizes, **arguments)

    ways = [
        ("tensorflow", NAME, eager),
        ("tensorflow, tf.function", NAME, tf.function(eager)),
    ]
    # XLA is another compiler with kernels of its own, for those who ask for it: a peer apart. Of
    # convolutions it makes the same as for JAX, which takes part itself.
    if problem.is_pool:
        ways.append(("tensorflow, XLA", "xla", tf.function(eager, jit_compile=True)))
    return [
        Contender(name, peer, lambda call=call: call(**given), lambda result: result.numpy())  # type: ignore[misc]
        for name, peer, call in ways
    ]
