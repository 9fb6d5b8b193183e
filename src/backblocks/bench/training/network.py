"""The networks to train: data, initial parameters and learning rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from backblocks.ops._inputs import Array


@dataclass(frozen=True)
class Network:
    """One network. The module of every library has a loss function of this name."""

    name: str
    about: str
    data: dict[str, Array]
    parameters: dict[str, Array]
    rate: float


def _floats(numbers: object) -> Array:
    return np.array(numbers, np.float32)


def networks() -> list[Network]:
    return [_regression(), _xor(), _spheres()]


def _regression() -> Network:
    x = [[1, 5, 21], [15, 12, 22], [35, 13, 23], [4, 45, 24]]
    x += [[5, 15, 53], [6, 44, 7], [12, 17, 27], [6, 20, 28]]
    y = [79, 110, 135, 171, 199, 120, 132, 135]
    return Network(
        "regression",
        "a plane through 8 points, by gradient descent",
        {"x": _floats(x), "y": _floats(y)[:, None]},
        {"w": np.zeros((3, 1), np.float32), "b": np.zeros(1, np.float32)},
        1e-4,
    )


def _xor() -> Network:
    rng = np.random.default_rng(1)
    return Network(
        "xor",
        "two layers of sigmoids that learn to tell two bits apart",
        {"x": _floats([[0, 0], [0, 1], [1, 0], [1, 1]]), "y": _floats([[0], [1], [1], [0]])},
        {
            "w1": rng.normal(size=(2, 4)).astype(np.float32),
            "b1": np.zeros(4, np.float32),
            "w2": rng.normal(size=(4, 1)).astype(np.float32),
            "b2": np.zeros(1, np.float32),
        },
        1.0,
    )


def _spheres(count: int = 16, side: int = 16) -> Network:
    """Half the volumes hold a ball, the others a box, each of a random size at a random place."""
    rng = np.random.default_rng(2)
    place = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1)
    volumes, labels = [], []
    for i in range(count):
        radius = rng.uniform(3, 6)
        apart = np.abs(place - rng.uniform(radius, side - 1 - radius, 3))
        reach = np.sqrt((apart**2).sum(-1)) if i % 2 else apart.max(-1) * 1.24
        volumes.append(reach <= radius)
        labels.append(np.eye(2)[i % 2])

    def start(*shape: int) -> Array:
        scale = np.sqrt(2 / np.prod(shape[:-1]))
        return _floats(rng.normal(size=shape) * scale)

    return Network(
        "spheres",
        "two convolutions with max pooling over volumes of 16 a side, a batch of 16",
        {"x": _floats(volumes)[..., None], "y": _floats(labels)},
        {
            "w1": start(3, 3, 3, 1, 8),
            "w2": start(3, 3, 3, 8, 16),
            "w3": start(4 * 4 * 4 * 16, 2),
        },
        0.01,
    )
