"""Calls of the ops that change variables. What is behind a handle is tested by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vectors.data import ALL, NUMBERS, Call, Source, is_float

HANDLES = """
    FIFOQueueV2 QueueEnqueueV2 QueueEnqueueManyV2 QueueDequeueV2 QueueDequeueManyV2 QueueDequeueUpToV2
    QueueSizeV2 QueueIsClosedV2 QueueCloseV2
    TensorArrayV3 TensorArrayWriteV3 TensorArrayReadV3 TensorArrayGatherV3 TensorArrayScatterV3
    FixedLengthRecordReaderV2 TextLineReaderV2 WholeFileReaderV2 IdentityReaderV2
    ReaderReadV2 ReaderReadUpToV2 ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompletedV2 ReaderResetV2
    TensorArrayConcatV3 TensorArraySplitV3 TensorArraySizeV3 TensorArrayCloseV3 TensorArrayGradV3
""".split()  # noqa: SIM905
FILES = "ReadFile WriteFile MatchingFiles".split()  # noqa: SIM905
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


def none(op: str, dtype: str) -> Iterator[Call]:
    return iter(())


TABLE = {
    "Assign": (ALL, assign),
    "AssignAdd": (NUMBERS, assign),
    "AssignSub": (NUMBERS, assign),
    "ApplyGradientDescent": (NUMBERS, descend),
    "VariableV2": ((), none),
    "ShardedFilename": (("string",), sharded),
    **dict.fromkeys([*HANDLES, *FILES], ((), none)),
}
