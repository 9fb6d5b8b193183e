"""backblocks: the network as a page, with its gradients added by a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import backblocks as bb
from backblocks.bench.training.network import Network

ops = bb.ops
Values = dict[str, Any]


def steps(network: Network) -> dict[str, Callable[[], Any]]:
    with bb.Scope() as page:
        data = {name: bb.constant(value, name=name) for name, value in network.data.items()}
        variables = {name: bb.variable(v, name=name) for name, v in network.parameters.items()}
        loss = LOSSES[network.name](data, variables)
        slopes = bb.gradients(loss, list(variables.values()))
        targets = [
            ops.apply_gradient_descent(variable, network.rate, slope).block
            for variable, slope in zip(variables.values(), slopes, strict=True)
            if slope is not None
        ]
    session = bb.Session(page)
    return {"backblocks": lambda: session.run(loss, targets=targets)}


def _regression(data: Values, p: Values) -> Any:
    off = ops.mat_mul(data["x"], p["w"]) + p["b"] - data["y"]
    return ops.mean(ops.square(off), [0, 1])


def _xor(data: Values, p: Values) -> Any:
    hidden = ops.sigmoid(ops.mat_mul(data["x"], p["w1"]) + p["b1"])
    out = ops.sigmoid(ops.mat_mul(hidden, p["w2"]) + p["b2"])
    return ops.mean(ops.square(out - data["y"]), [0, 1])


def _spheres(data: Values, p: Values) -> Any:
    x = data["x"]
    for name in ("w1", "w2"):
        x = ops.relu(ops.conv_3d(x, p[name], strides=[1] * 5, padding="SAME"))
        x = ops.max_pool_3d(x, ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID")
    flat = ops.reshape(x, [-1, 4 * 4 * 4 * 16])
    logits = ops.mat_mul(flat, p["w3"])
    each = ops.softmax_cross_entropy_with_logits(logits, data["y"])[0]
    return ops.mean(each, [0])


LOSSES = {"regression": _regression, "xor": _xor, "spheres": _spheres}
