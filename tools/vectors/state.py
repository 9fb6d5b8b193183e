"""Calls of the ops that change variables. What is behind a handle is tested by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from vectors.data import (
    ALL_BUT_RESOURCE,
    FLOATS,
    INDEX,
    NUMBERS,
    REALS,
    Call,
    Source,
    is_float,
    is_half,
    numpy_dtype,
    ones,
    scalar,
)

HANDLES = """
    FIFOQueueV2 QueueEnqueueV2 QueueEnqueueManyV2 QueueDequeueV2 QueueDequeueManyV2 QueueDequeueUpToV2
    QueueSizeV2 QueueIsClosedV2 QueueCloseV2
    TensorArrayV3 TensorArrayWriteV3 TensorArrayReadV3 TensorArrayGatherV3 TensorArrayScatterV3
    FixedLengthRecordReaderV2 TextLineReaderV2 WholeFileReaderV2 IdentityReaderV2
    ReaderReadV2 ReaderReadUpToV2 ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompletedV2 ReaderResetV2
    TensorArrayConcatV3 TensorArraySplitV3 TensorArraySizeV3 TensorArrayCloseV3 TensorArrayGradV3
""".split()  # noqa: SIM905
FILES = """
    ReadFile WriteFile MatchingFiles Save SaveV2 Restore RestoreV2 RestoreSlice
""".split()  # noqa: SIM905
SHAPES = ((), (1,), (7,), (3, 5), (0,), (2, 0))


def assign(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in SHAPES:
        tags = ["empty"] if 0 in shape else []
        yield Call(
            {"ref": source.whole(shape, dtype), "value": source.whole(shape, dtype)}, {}, tags
        )
        if is_float(dtype):
            yield Call(
                {"ref": source.real(shape, dtype), "value": source.real(shape, dtype)}, {}, tags
            )


def descend(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in SHAPES:
        tags = ["empty"] if 0 in shape else []
        for numbers in (source.whole, source.real)[: 1 + is_float(dtype)]:
            yield Call(
                {
                    "var": numbers(shape, dtype),
                    "alpha": numbers((), dtype),
                    "delta": numbers(shape, dtype),
                },
                {},
                tags,
            )


def sharded(op: str, dtype: str) -> Iterator[Call]:
    for shard, count in ((0, 1), (3, 12), (99999, 100000), (123456, 1), (-1, 5)):
        base = np.array(b"run/state", object)
        numbers = {"shard": np.array(shard, np.int32), "num_shards": np.array(count, np.int32)}
        yield Call({"basename": base, **numbers})


def scatter(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
        ((5,), (3,)),
        ((3, 2), (4,)),
        ((3, 1, 2), (2, 2)),
        ((4, 2), ()),
        ((3, 2), (0,)),
        ((3, 0), (2,)),
    )
    for i, (shape, index) in enumerate(table):
        at = source.rng.integers(0, shape[0], index).astype(INDEX[i % 2])
        for updates in ((*index, *shape[1:]), ()):
            inputs = {
                "ref": source.whole(shape, dtype),
                "indices": at,
                "updates": source.whole(updates, dtype),
            }
            yield Call(inputs, {}, ["empty"] if 0 in (*shape, *index) else [])
    at = np.zeros(3000, np.int32)
    if is_float(dtype) and op in ("ScatterMax", "ScatterMin"):
        for ref, new in ((np.nan, 1), (1, np.nan)):
            cells = [np.full(3, x, numpy_dtype(dtype)) for x in (ref, new)]
            inputs = {"ref": cells[0], "indices": at[:3], "updates": cells[1]}
            yield Call(inputs, {}, ["nan"])
    if is_half(dtype) and op in ("ScatterAdd", "ScatterSub", "ScatterMul"):
        least = 1 + 2.0 ** (-7 if dtype == "bfloat16" else -10)
        count, each = (300, least) if op == "ScatterMul" else (3000, 1)
        inputs = {
            "ref": ones((2,), dtype),
            "indices": at[:count],
            "updates": np.full(count, each, numpy_dtype(dtype)),
        }
        yield Call(inputs, {}, ["half sums"])


def optimise(op: str, dtype: str) -> Iterator[Call]:
    """Steps of moderate size: squares and rates are positive, and rates of decay below 1."""
    source = Source(op, dtype)
    slots = {"ApplyMomentum": ("accum",), "ApplyAdagrad": ("accum",), "ApplyAdam": ("m", "v"),
             "ApplyRMSProp": ("ms", "mom"), "ApplyFtrl": ("accum", "linear"),
             "ApplyAdagradV2": ("accum",), "ApplyAdadelta": ("accum", "accum_update"),
             "ApplyCenteredRMSProp": ("mg", "ms", "mom"), "ApplyAdaMax": ("m", "v"),
             "ApplyProximalGradientDescent": (), "ApplyProximalAdagrad": ("accum",),
             "ApplyAdagradDA": ("gradient_accumulator", "gradient_squared_accumulator"),
    }[op]  # fmt: skip
    numbers = {
        "ApplyMomentum": {"lr": 0.1, "momentum": 0.9},
        "ApplyAdagrad": {"lr": 0.1},
        "ApplyAdam": {"beta1_power": 0.81, "beta2_power": 0.9801, "lr": 0.1, "beta1": 0.9,
                      "beta2": 0.99, "epsilon": 0.01},
        "ApplyRMSProp": {"lr": 0.1, "rho": 0.9, "momentum": 0.5, "epsilon": 0.01},
        "ApplyFtrl": {"lr": 0.1, "l1": 0.5, "l2": 0.25, "lr_power": -0.5},
        "ApplyAdagradV2": {"lr": 0.1, "epsilon": 0.01},
        "ApplyAdadelta": {"lr": 0.5, "rho": 0.9, "epsilon": 0.01},
        "ApplyCenteredRMSProp": {"lr": 0.1, "rho": 0.9, "momentum": 0.5, "epsilon": 8},
        "ApplyAdaMax": {"beta1_power": 0.81, "lr": 0.1, "beta1": 0.9, "beta2": 0.99,
                        "epsilon": 0.01},
        "ApplyProximalGradientDescent": {"alpha": 0.1, "l1": 0.5, "l2": 0.25},
        "ApplyProximalAdagrad": {"lr": 0.1, "l1": 0.5, "l2": 0.25},
        "ApplyAdagradDA": {"lr": 0.1, "l1": 0.5, "l2": 0.25},
    }[op]  # fmt: skip
    ways: dict[str, tuple[dict[str, Any], ...]] = {
        "ApplyMomentum": ({}, {"use_nesterov": True, "use_locking": True}),
        "ApplyAdam": ({}, {"use_nesterov": True}),
        "ApplyAdagrad": ({}, {"update_slots": False}),
        "ApplyAdagradV2": ({}, {"update_slots": False}),
        "ApplyFtrl": ({}, {"multiply_linear_by_lr": True}),
    }
    positive = ("v", "ms", "accum_update", "gradient_squared_accumulator")
    positive += ("accum",) if op != "ApplyMomentum" else ()
    for shape in SHAPES:
        for way in ways.get(op, ({},)):
            gradient = "delta" if op == "ApplyProximalGradientDescent" else "grad"
            inputs = {"var": source.real(shape, dtype), gradient: source.real(shape, dtype)}
            for slot in slots:
                x = source.real(shape, dtype)
                inputs[slot] = abs(x) + np.array(0.5, x.dtype) if slot in positive else x
            inputs |= {name: scalar(x, dtype) for name, x in numbers.items()}
            if op == "ApplyFtrl" and len(shape) == 2:
                inputs["lr_power"] = scalar(-0.25, dtype)
            if "l1" in inputs and op != "ApplyFtrl" and len(shape) == 1:
                inputs["l1"] = scalar(0, dtype)
            if op == "ApplyAdagradDA":
                inputs["global_step"] = np.array(3, np.int64)
            yield Call(inputs, way, ["empty"] if 0 in shape else [])


def asked(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for shape in SHAPES:
        yield Call({"ref": source.whole(shape, dtype)}, {}, ["empty"] if 0 in shape else [])


def none(op: str, dtype: str) -> Iterator[Call]:
    return iter(())


TABLE = {
    "Assign": (ALL_BUT_RESOURCE, assign),
    "AssignAdd": (NUMBERS, assign),
    "AssignSub": (NUMBERS, assign),
    "ApplyGradientDescent": (NUMBERS, descend),
    **dict.fromkeys(("ScatterAdd", "ScatterSub", "ScatterMul"), (NUMBERS, scatter)),
    **dict.fromkeys(("ScatterMax", "ScatterMin"), (REALS, scatter)),
    "ScatterUpdate": (ALL_BUT_RESOURCE, scatter),
    **dict.fromkeys(("ApplyMomentum", "ApplyAdam", "ApplyAdagrad"), (FLOATS, optimise)),
    **dict.fromkeys(("ApplyRMSProp", "ApplyFtrl", "ApplyAdagradV2"), (FLOATS, optimise)),
    **dict.fromkeys(("ApplyAdadelta", "ApplyCenteredRMSProp", "ApplyAdaMax"), (FLOATS, optimise)),
    **dict.fromkeys(("ApplyProximalGradientDescent", "ApplyProximalAdagrad"), (FLOATS, optimise)),
    "ApplyAdagradDA": (FLOATS, optimise),
    "IsVariableInitialized": (ALL_BUT_RESOURCE, asked),
    "VariableV2": ((), none),
    "ShardedFilename": (("string",), sharded),
    **dict.fromkeys([*HANDLES, *FILES], ((), none)),
}
