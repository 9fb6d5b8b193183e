"""TensorFlow: a graph in a session as its first version had it, and a compiled function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from backblocks.bench.training.network import Network

Values = dict[str, Any]
OLD = tf.compat.v1


def steps(network: Network) -> dict[str, Callable[[], Any]]:
    return {
        "tensorflow, session": _in_a_session(network),
        "tensorflow, function": _in_a_function(network),
    }


def _in_a_session(network: Network) -> Callable[[], Any]:
    graph = tf.Graph()
    with graph.as_default():
        data = {name: tf.constant(value) for name, value in network.data.items()}
        variables = {
            name: OLD.get_variable(name, initializer=value, use_resource=True)
            for name, value in network.parameters.items()
        }
        loss = LOSSES[network.name](data, variables)
        train = OLD.train.GradientDescentOptimizer(network.rate).minimize(loss)
        start = OLD.global_variables_initializer()
    session = OLD.Session(graph=graph)
    session.run(start)
    # A callable that is made once is quicker than run with a list.
    step = session.make_callable([loss, train])
    return lambda: step()[0]


def _in_a_function(network: Network) -> Callable[[], Any]:
    data = {name: tf.constant(value) for name, value in network.data.items()}
    variables = {name: tf.Variable(value) for name, value in network.parameters.items()}

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = LOSSES[network.name](data, variables)
        slopes = tape.gradient(loss, list(variables.values()))
        for variable, slope in zip(variables.values(), slopes, strict=True):
            variable.assign_sub(network.rate * slope)
        return loss

    compiled = tf.function(step)
    return lambda: compiled().numpy()


def _regression(data: Values, p: Values) -> Any:
    return tf.reduce_mean(tf.square(tf.matmul(data["x"], p["w"]) + p["b"] - data["y"]))


def _xor(data: Values, p: Values) -> Any:
    hidden = tf.sigmoid(tf.matmul(data["x"], p["w1"]) + p["b1"])
    out = tf.sigmoid(tf.matmul(hidden, p["w2"]) + p["b2"])
    return tf.reduce_mean(tf.square(out - data["y"]))


def _spheres(data: Values, p: Values) -> Any:
    x = data["x"]
    for name in ("w1", "w2"):
        x = tf.nn.relu(tf.nn.conv3d(x, p[name], [1] * 5, "SAME"))
        x = tf.nn.max_pool3d(x, 2, 2, "VALID")
    logits = tf.matmul(tf.reshape(x, [-1, 4 * 4 * 4 * 16]), p["w3"])
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(data["y"], logits))


LOSSES = {"regression": _regression, "xor": _xor, "spheres": _spheres}
