"""Calls of the ops along rows or channels: softmax, losses, top-k, LRN and batch normalisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from vectors.data import (
    FLOATS,
    INDEX,
    REALS,
    Array,
    Call,
    Source,
    is_float,
    is_half,
    numpy_dtype,
    ones,
    scalar,
)

Calls = Callable[[str, str], Iterator[Call]]
SPECIAL = {"nan": [np.nan], "inf": [np.inf, -np.inf], "minus infinity": [-np.inf]}


# -- softmax and losses ----------------------------------------------------------------------------------


def softmax(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in ((1,), (5,), (1, 1), (3, 4), (2, 3, 9), (1, 2, 1, 7), (0, 3), (3, 0), (0,)):
        tags = ["empty"] if 0 in shape else []
        yield Call({"logits": source.whole(shape, dtype)}, {}, tags)
        yield Call({"logits": source.real(shape, dtype)}, {}, tags)
        yield Call(
            {"logits": (source.real(shape, dtype) * 50).astype(numpy_dtype(dtype))}, {}, tags
        )
    for tag, special in SPECIAL.items():
        yield Call(
            {"logits": source.sprinkled(source.real((5, 4), dtype), 0.3, *special)}, {}, [tag]
        )
    yield Call(
        {"logits": np.full((2, 3), -np.inf).astype(numpy_dtype(dtype))}, {}, ["minus infinity"]
    )
    if dtype == "float16":
        yield Call({"logits": np.zeros((1, 70000), np.float16)}, {}, ["many classes in float16"])


def dense_cross_entropy(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    shapes = [
        ((1, 1), (1, 1)),
        ((3, 4), (3, 4)),
        ((2, 9), (2, 9)),
        ((2, 3), (1, 3)),
        ((2, 3), (3,)),
        ((1, 3), (4, 3)),
        ((2, 3), (2, 1)),
        ((2, 3), ()),
        ((3,), (2, 3)),
        ((0, 3), (0, 3)),
        ((3, 0), (3, 0)),
    ]
    for a, b in shapes:
        tags = ["empty"] if 0 in a else []
        weights = source.whole(b, dtype, 0, 4)
        labels = (
            (weights / np.maximum(weights.sum(-1, keepdims=True), 1)).astype(numpy_dtype(dtype))
            if b
            else weights
        )
        yield Call({"features": source.real(a, dtype), "labels": labels}, {}, tags)
        yield Call({"features": source.whole(a, dtype), "labels": source.whole(b, dtype)}, {}, tags)
    for tag, special in (("nan", [np.nan]), ("inf", [np.inf])):
        x = source.sprinkled(source.real((5, 4), dtype), 0.2, *special)
        yield Call({"features": x, "labels": source.whole((5, 4), dtype, 0, 4)}, {}, [tag])
    x = source.sprinkled(source.real((5, 4), dtype), 0.2, -np.inf)
    labels = source.whole((5, 4), dtype, 0, 1)
    labels[np.isneginf(x.astype(np.float64))] = 0
    yield Call({"features": x, "labels": labels}, {}, ["a label of 0 for a logit of -inf"])


def sparse_cross_entropy(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for labels in INDEX:
        for batch, classes in ((1, 1), (3, 4), (2, 9), (5, 2), (0, 3), (0, 0)):
            tags = ["empty"] if not batch else []
            where = source.rng.integers(0, max(classes, 1), batch).astype(labels)
            for x in (source.whole((batch, classes), dtype), source.real((batch, classes), dtype)):
                yield Call({"features": x, "labels": where}, {}, tags)
        for tag, special in SPECIAL.items():
            x = source.sprinkled(source.real((5, 4), dtype), 0.2, *special)
            yield Call({"features": x, "labels": np.array([0, 1, 2, 3, 0], labels)}, {}, [tag])


def l2_loss(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in ((), (1,), (9,), (3, 5), (2, 3, 5, 1), (0,), (2, 0)):
        tags = ["empty"] if 0 in shape else []
        yield Call({"t": source.whole(shape, dtype)}, {}, tags)
        yield Call({"t": source.real(shape, dtype)}, {}, tags)
    for tag, special in SPECIAL.items():
        yield Call({"t": source.sprinkled(source.whole((9,), dtype), 0.2, *special)}, {}, [tag])
    if is_half(dtype):
        yield Call({"t": ones((8192,), dtype)}, {}, ["half sums"])
    if dtype == "float16":
        yield Call({"t": np.array([300.0], np.float16)}, {}, ["squares of half types"])


# -- top-k -------------------------------------------------------------------------------------------------


def in_top_k(k_is_tensor: bool) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)

        def call(x: Array, targets: Array, k: int, *tags: str) -> Call:
            inputs = {"predictions": x, "targets": targets.astype(dtype)}
            return (
                Call(inputs | {"k": scalar(k, dtype)}, {}, tags)
                if k_is_tensor
                else Call(inputs, {"k": k}, tags)
            )

        for batch, classes in ((1, 1), (3, 4), (9, 5), (0, 3), (2, 0)):
            for k in (-1, 0, 1, 2, 3, 7):
                targets = source.rng.integers(-1, classes + 1, batch)
                empty = ["empty"] if 0 in (batch, classes) else []
                yield call(source.whole((batch, classes), "float32"), targets, k, "ties", *empty)
                yield call(source.distinct((batch, classes), "float32"), targets, k, *empty)
        for tag, special in SPECIAL.items():
            x = source.sprinkled(source.distinct((12, 4), "float32"), 0.1, *special)
            yield call(x, source.rng.integers(0, 4, 12), 2, tag)

    return calls


def top_k(k_is_tensor: bool) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)

        def call(i: int, x: Array, k: int, *tags: str) -> Call:
            if not k_is_tensor:
                return Call({"input": x}, {"k": k, "sorted": True}, tags)
            kinds = ("int32", "int64", "int16")
            # Unsorted, TensorFlow's order is that of a heap: any order would be right.
            how = {"sorted": True} if i % 2 else {}
            if i % 3:
                how["index_type"] = kinds[i % 3]
            return Call({"input": x, "k": scalar(k, kinds[i % 2])}, how, tags)

        i = 0
        for shape in ((1,), (7,), (3, 5), (2, 3, 4), (1, 9), (0, 3), (2, 0)):
            for k in range(shape[-1] + 1):
                empty = ["empty"] if 0 in shape else []
                yield call(i, source.whole(shape, dtype), k, "ties", *empty)
                if is_float(dtype):
                    yield call(i, source.distinct(shape, dtype), k, *empty)
                i += 1
        if is_float(dtype):
            x = source.distinct((4, 9), dtype)
            for k in (1, 3, 9):
                yield call(i, source.sprinkled(x, 0.3, np.nan), k, "nan")
                yield call(i, source.sprinkled(x, 0.3, np.inf, -np.inf), k, "inf")
                yield call(i, source.sprinkled(x, 0.5, 0.0, -0.0), k, "ties", "negative zero")

    return calls


# -- normalisation -----------------------------------------------------------------------------------------


LRNS: tuple[dict[str, Any], ...] = (
    {},
    {"depth_radius": 1},
    {"depth_radius": 0, "bias": 2.0},
    {"depth_radius": 2, "bias": 0.5, "alpha": 0.25, "beta": 0.75},
    {"depth_radius": 30, "alpha": 2.0, "beta": 1.0},
    {"depth_radius": 2, "beta": 0.0},
)


def _lrn_images(source: Source, dtype: str) -> Iterator[tuple[Array, dict[str, Any], list[str]]]:
    for attrs in LRNS:
        for shape in ((1, 1, 1, 1), (2, 3, 1, 5), (1, 2, 3, 9), (2, 1, 2, 3)):
            yield source.whole(shape, dtype), attrs, []
            yield source.real(shape, dtype), attrs, []
        for tag, special in (("nan", [np.nan]), ("inf", [np.inf, -np.inf])):
            yield source.sprinkled(source.whole((1, 2, 2, 9), dtype), 0.08, *special), attrs, [tag]
        for shape in ((0, 2, 2, 3), (2, 2, 2, 0)):
            yield source.whole(shape, dtype), attrs, ["empty"]
    if is_half(dtype):
        yield ones((1, 1, 1, 5000), dtype), {"depth_radius": 5000}, ["half sums"]


def lrn(op: str, dtype: str) -> Iterator[Call]:
    for x, attrs, tags in _lrn_images(Source(op, dtype), dtype):
        yield Call({"input": x}, attrs, tags)


def lrn_grad(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for x, attrs, tags in _lrn_images(source, dtype):
        if "half sums" not in tags:
            wide = tf.constant(x.astype(np.float32))
            y = tf.raw_ops.LRN(input=wide, **attrs).numpy().astype(x.dtype)
            inputs = {
                "input_grads": source.whole(x.shape, dtype),
                "input_image": x,
                "output_image": y,
            }
            yield Call(inputs, attrs, tags)


def _layouts(version: int) -> tuple[str, ...]:
    return ("NHWC", "NCHW") if version < 3 else ("NHWC", "NCHW", "NDHWC", "NCDHW")


def _in_layout(x: Array, layout: str) -> Array:
    return np.moveaxis(x, -1, 1) if layout[1] == "C" else x


BATCH_NORMS: tuple[dict[str, Any], ...] = (
    {},
    {"epsilon": 0.125},
    {"exponential_avg_factor": 0.25},
    {"is_training": False},
    {"is_training": False, "epsilon": 0.5, "exponential_avg_factor": 0.5},
)


def _batch_norm_images(
    source: Source, dtype: str, version: int
) -> Iterator[tuple[Array, str, list[str]]]:
    for layout in _layouts(version):
        volume = (2,) if "D" in layout else ()
        for shape in (
            (1, *volume, 1, 1, 1),
            (2, *volume, 3, 2, 3),
            (3, *volume, 1, 5, 5),
            (1, *volume, 2, 2, 9),
        ):
            yield source.whole(shape, dtype), layout, []
            if dtype == "float32":
                yield source.real(shape, dtype), layout, []
        for shape in ((0, *volume, 2, 2, 3), (2, *volume, 2, 2, 0)):
            yield source.whole(shape, dtype), layout, ["empty"]
    for tag, special in (("nan", [np.nan]), ("inf", [np.inf])):
        yield source.sprinkled(source.whole((2, 2, 2, 3), dtype), 0.05, *special), "NHWC", [tag]


def batch_norm(version: int) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for x, layout, tags in _batch_norm_images(source, dtype, version):
            for attrs in BATCH_NORMS:
                channels = x.shape[-1:]
                inputs = {
                    "x": _in_layout(x, layout),
                    "scale": source.whole(channels, "float32"),
                    "offset": source.whole(channels, "float32"),
                    "mean": source.real(channels, "float32"),
                    "variance": np.abs(source.real(channels, "float32")),
                }
                inference = ["inference"] if "is_training" in attrs else []
                unwritten = (3, 4) if inference or "empty" in tags else ()
                every = attrs | {"data_format": layout}
                yield Call(inputs, every, [*tags, *inference], unwritten)

    return calls


def batch_norm_grad(version: int) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for x, layout, tags in _batch_norm_images(source, dtype, version):
            channels = x.shape[-1:]
            # Of two numbers per channel the gradient is 0, but for what rounding leaves.
            training = () if x.size == 2 * x.shape[-1] else BATCH_NORMS[:2]
            for attrs in (*training, BATCH_NORMS[3]):
                wide, others = x.astype(np.float64), tuple(range(x.ndim - 1))
                known = not tags
                inputs = {
                    "y_backprop": _in_layout(source.whole(x.shape, dtype), layout),
                    "x": _in_layout(x, layout),
                    "scale": source.whole(channels, "float32"),
                    "reserve_space_1": (wide.mean(others) if known else np.ones(channels)).astype(
                        np.float32
                    ),
                    "reserve_space_2": (wide.var(others) if known else np.ones(channels)).astype(
                        np.float32
                    ),
                }
                if version == 3:
                    inputs["reserve_space_3"] = np.zeros((), np.float32)
                inference = ["inference"] if "is_training" in attrs else []
                yield Call(inputs, attrs | {"data_format": layout}, [*tags, *inference])

    return calls


HALF_OR_SINGLE = ("float32", "float16", "bfloat16")
TABLE = {
    "Softmax": (FLOATS, softmax),
    "LogSoftmax": (FLOATS, softmax),
    "SoftmaxCrossEntropyWithLogits": (FLOATS, dense_cross_entropy),
    "SparseSoftmaxCrossEntropyWithLogits": (FLOATS, sparse_cross_entropy),
    "L2Loss": (FLOATS, l2_loss),
    "InTopK": (INDEX, in_top_k(k_is_tensor=False)),
    "InTopKV2": (INDEX, in_top_k(k_is_tensor=True)),
    "TopK": (REALS, top_k(k_is_tensor=False)),
    "TopKV2": (REALS, top_k(k_is_tensor=True)),
    "LRN": (HALF_OR_SINGLE, lrn),
    "LRNGrad": (HALF_OR_SINGLE, lrn_grad),
    "FusedBatchNorm": (("float32",), batch_norm(1)),
    "FusedBatchNormV2": (HALF_OR_SINGLE, batch_norm(2)),
    "FusedBatchNormV3": (HALF_OR_SINGLE, batch_norm(3)),
    "FusedBatchNormGrad": (("float32",), batch_norm_grad(1)),
    "FusedBatchNormGradV2": (HALF_OR_SINGLE, batch_norm_grad(2)),
    "FusedBatchNormGradV3": (HALF_OR_SINGLE, batch_norm_grad(3)),
}
