"""Calls of the ops that draw random numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vectors.data import ALL_BUT_RESOURCE, FLOATS, INDEX, REALS, Call, Source, is_float
from vectors.shapes import either, tags

SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (5,), (2, 3), (101,), (0,), (2, 0))
SEEDS = ({"seed": 1, "seed2": 2}, {"seed": 0, "seed2": 5}, {"seed": -7, "seed2": 2**62 + 3})


def drawing(op: str, dtype: str) -> Iterator[Call]:
    for i, shape in enumerate(SHAPES):
        for seeds in SEEDS:
            yield Call({"shape": either(i, shape)}, {"dtype": dtype, **seeds}, tags(shape))


def stateless(op: str, dtype: str) -> Iterator[Call]:
    for i, shape in enumerate(SHAPES):
        for seed in ([1, 2], [0, 0], [-7, 3]):
            inputs = {"shape": either(i, shape), "seed": either(i + 1, seed)}
            yield Call(inputs, {"dtype": dtype}, tags(shape))


def whole(op: str, dtype: str) -> Iterator[Call]:
    limits = np.iinfo(dtype)
    for i, shape in enumerate(SHAPES):
        nothing_between = [(5, 5), (6, 5)] if 0 in shape else []
        for low, high in ((0, 100), (-3, 4), (5, 6), (limits.min, limits.max), *nothing_between):
            inputs = {
                "shape": either(i, shape),
                "minval": np.array(low, dtype),
                "maxval": np.array(high, dtype),
            }
            if op == "RandomUniformInt":
                yield Call(inputs, dict(SEEDS[i % 3]), tags(shape))
            else:
                yield Call({**inputs, "seed": either(i, [i, 3])}, {}, tags(shape))


def shuffle(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in ((), (1,), (2,), (50,), (5, 2), (1, 3), (0, 2), (3, 0)):
        for seeds in SEEDS:
            yield Call({"value": source.whole(shape, dtype)}, dict(seeds), tags(shape))


def multinomial(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, (shape, count) in enumerate([((1, 3), 5), ((3, 4), 7), ((2, 1), 3), ((2, 3), 0)]):
        for seeds in SEEDS:
            inputs = {
                "logits": source.whole(shape, dtype),
                "num_samples": np.array(count, np.int32),
            }
            yield Call(inputs, {**seeds, "output_dtype": INDEX[i % 2]}, ["empty"] * (count == 0))
    if is_float(dtype):
        x = source.sprinkled(source.real((4, 6), dtype), 0.4, np.nan, np.inf, -np.inf)
        x[:, 2] = 1
        yield Call({"logits": x, "num_samples": np.array(30, np.int32)}, dict(SEEDS[0]), ["nan"])


TABLE = {
    **dict.fromkeys(
        ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"), (FLOATS, drawing)
    ),
    **dict.fromkeys(
        ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"),
        (FLOATS, stateless),
    ),
    "RandomUniformInt": (INDEX, whole),
    "StatelessRandomUniformInt": (INDEX, whole),
    "RandomShuffle": (ALL_BUT_RESOURCE, shuffle),
    "Multinomial": (REALS, multinomial),
}
