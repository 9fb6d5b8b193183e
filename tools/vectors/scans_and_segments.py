"""Calls of the ops that find extremes, scan cumulatively, sum segments, or count into bins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vectors.data import (
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
    sizes,
)
from vectors.shapes import either, tags


def arg_extreme(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    kinds = ("int32", "int64", "int16", "uint16") if op == "ArgMax" else INDEX
    table = [((5,), 0), ((2, 3), 0), ((2, 3), -1), ((2, 1, 3), 1), ((2, 3, 5), 2), ((0, 3), 1)]
    for i, (shape, axis) in enumerate(table):
        inputs = {"input": source.whole(shape, dtype), "dimension": either(i, axis)}
        yield Call(inputs, {}, [*tags(shape), "ties"])
        yield Call(inputs, {"output_type": kinds[i % len(kinds)]}, [*tags(shape), "ties"])
    if is_float(dtype):
        for tag, special in (("nan", [np.nan]), ("inf", [np.inf, -np.inf])):
            x = source.sprinkled(source.whole((5, 4), dtype), 0.4, *special)
            yield Call({"input": x, "dimension": sizes(1)[0]}, {}, [tag])


def scan(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    table = [((5,), 0), ((2, 3), 0), ((2, 3), -1), ((2, 1, 3), 1), ((2, 3, 5), 2), ((0, 3), 1)]
    for i, (shape, axis) in enumerate(table):
        for exclusive, reverse in ((False, False), (True, False), (False, True), (True, True)):
            how = {"exclusive": exclusive, "reverse": reverse}
            x = source.whole(shape, dtype, -2, 2)
            yield Call({"x": x, "axis": either(i, axis)}, how, tags(shape))
    if is_float(dtype):
        for tag, special in (("nan", [np.nan]), ("inf", [np.inf, -np.inf])):
            x = source.sprinkled(source.whole((5, 4), dtype), 0.2, *special)
            yield Call({"x": x, "axis": sizes(0)[0]}, {}, [tag])
    if is_half(dtype):
        # Steps that a half type rounds away, or the smallest that it has.
        least = 2.0**-7 if dtype == "bfloat16" else 2.0**-10
        x = np.full(4096 if op == "Cumsum" else 200, 1 if op == "Cumsum" else 1 + least)
        x = x.astype(numpy_dtype(dtype))
        yield Call({"x": x, "axis": sizes(0)[0]}, {}, ["half sums"])


def segments(op: str, dtype: str) -> Iterator[Call]:
    source, unsorted = Source(op, dtype), op.startswith("Unsorted")
    for i, (rows, rest) in enumerate((((1), ()), (5, ()), (4, (2,)), (6, (1, 3)), (0, (2,)))):
        ids = source.rng.integers(-1 if unsorted else 0, 5, rows)
        inputs = {
            "data": source.whole((rows, *rest), dtype),
            "segment_ids": either(i, ids if unsorted else np.sort(ids)),
        }
        if unsorted:
            inputs["num_segments"] = either(i + 1, 6)
        yield Call(inputs, {}, ["empty"] if not rows else [])
    more = {"num_segments": either(0, 2)} if unsorted else {}
    if is_float(dtype):
        x = source.sprinkled(source.whole((9, 3), dtype), 0.3, np.nan)
        ids = either(0, [0, 0, 0, 0, 1, 1, 1, 1, 1])
        yield Call({"data": x, "segment_ids": ids, **more}, {}, ["nan"])
    if is_half(dtype):
        for x in (source.real((300,), dtype), ones((4096,), dtype)):
            ids = either(0, [0] * len(x))
            yield Call({"data": x, "segment_ids": ids, **more}, {}, ["half sums"])


def chosen_segments(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, (rows, rest) in enumerate(((1, ()), (5, ()), (4, (2,)), (6, (1, 3)), (0, (2,)))):
        inputs = {
            "data": source.whole((4, *rest), dtype),
            "indices": either(i, source.rng.integers(0, 4, rows)),
            "segment_ids": either(i // 2, np.sort(source.rng.integers(0, 5, rows))),
        }
        yield Call(inputs, {}, ["empty"] if not rows else [])


def bincount(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    cells, size = ("arr", "size") if op == "Bincount" else ("input", "size")
    for i, shape in enumerate(((5,), (2, 3), (0,))):
        kind = "int32" if op == "Bincount" else INDEX[i % 2]
        x = source.rng.integers(0, 7, shape).astype(kind)
        for weights in (source.whole((0,), dtype), source.whole(shape, dtype)):
            for binary in (False, True) if op == "DenseBincount" else (None,):
                how = {} if binary is None else {"binary_output": binary}
                inputs = {cells: x, size: np.array(5, kind), "weights": weights}
                yield Call(inputs, how, tags(shape))


def histogram(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, shape in enumerate(((), (30,), (4, 5), (0,))):
        for low, high, count in ((0, 5, 5), (-3, 4, 3), (-1, 1, 7)):
            x = source.real(shape, dtype) if is_float(dtype) else source.whole(shape, dtype)
            ends = np.array([low, high], x.dtype)
            inputs = {"values": x, "value_range": ends, "nbins": scalar(count, "int32")}
            yield Call(inputs, {"dtype": INDEX[i % 2]}, tags(shape))
    # Differences that do not fit in the type, and values at the ends of parts.
    limits = np.finfo(dtype) if is_float(dtype) else np.iinfo(dtype)
    low, high = np.array([limits.min, limits.max], dtype)
    for first, last in (
        (low, high),
        (low, high // 8),
        (low // 3, high),
        (np.array(5, dtype), high),
    ):
        for count in (1, 2, 3, 7):
            ends = np.array([first, last], dtype)
            x = np.array([low, low // 2, 0, 5, high // 3, high], dtype)
            inputs = {"values": x, "value_range": ends, "nbins": scalar(count, "int32")}
            yield Call(inputs, {}, [])
    for count in (3, 7, 10):
        ends = np.array([-0.7, 1.1] if is_float(dtype) else [-71, 113], dtype)
        x = np.linspace(*ends.tolist(), count + 1).astype(dtype)
        inputs = {"values": x, "value_range": ends, "nbins": scalar(count, "int32")}
        yield Call(inputs, {}, [])


def lin_space(op: str, dtype: str) -> Iterator[Call]:
    for i, (start, stop, num) in enumerate(
        ((0, 1, 5), (0.1, 0.7, 7), (2, -2, 3), (3, 1, 1), (0, 1, 2))
    ):
        inputs = {"start": scalar(start, dtype), "stop": scalar(stop, dtype), "num": either(i, num)}
        yield Call(inputs, {}, [])


def bucketize(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for bounds in ([], [0.0], [-2.0, 0.5, 0.5, 3.0], [0.1, 0.2]):
        for shape in ((), (20,), (2, 3), (0,)):
            yield Call({"input": source.whole(shape, dtype)}, {"boundaries": bounds}, tags(shape))
    if is_float(dtype):
        x = source.sprinkled(source.real((9,), dtype), 0.5, np.nan, np.inf, -np.inf, 0.1)
        yield Call({"input": x}, {"boundaries": [0.1, 1.5]}, ["nan"])


COUNTED = ("int32", "int64", "float32", "float64")
TABLE = {
    **dict.fromkeys(("ArgMax", "ArgMin"), ((*REALS, "bool"), arg_extreme)),
    **dict.fromkeys(("Cumsum", "Cumprod"), (NUMBERS, scan)),
    "CumulativeLogsumexp": (FLOATS, scan),
    **{
        f"{kind}Segment{op}": (NUMBERS, segments)
        for op in ("Sum", "Prod")
        for kind in ("", "Unsorted")
    },
    **{
        f"{kind}Segment{op}": (REALS, segments)
        for op in ("Max", "Min")
        for kind in ("", "Unsorted")
    },
    "SegmentMean": (NUMBERS, segments),
    "SparseSegmentSum": (REALS, chosen_segments),
    **dict.fromkeys(("SparseSegmentMean", "SparseSegmentSqrtN"), (FLOATS, chosen_segments)),
    **dict.fromkeys(("Bincount", "DenseBincount"), (COUNTED, bincount)),
    "HistogramFixedWidth": (COUNTED, histogram),
    "Bucketize": (COUNTED, bucketize),
    "LinSpace": (FLOATS, lin_space),
}
