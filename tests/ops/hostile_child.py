"""Makes hostile calls of every op, and reports each on a line of its own.

    python hostile_child.py KIND FIRST

It runs in a process of its own, with little memory and little time, so that a call that ends the process, or
does not end, is known by the line that is missing.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from backblocks import OpError, raw_ops
from backblocks.ops import REGISTRY
from backblocks.ops._spec import MAX_RANK
from backblocks.ops._values import each_value

SPARE_BYTES = 4 << 30
SECONDS = 5
INTERRUPT_AFTER = 0.2
Array = np.ndarray[Any, Any]
Call = tuple[str, str, dict[str, Any]]
"""The op, what is hostile about the call, and its arguments."""


def changed(change: Callable[[Array], Array], about: str) -> Iterator[Call]:
    """A worked case of every op once for each of its inputs, which is changed."""
    for op in REGISTRY.values():
        for case in op.cases[:1]:
            inputs, _, _ = op.bind((), case.args)
            for pin, value in zip(op.inputs, op.arrays(inputs), strict=True):
                if value is None or (pin.is_list and not value) or pin.dtype == "resource":
                    continue
                given = dict(zip((p.name for p in op.inputs), op.arrays(inputs), strict=True))
                given[pin.name] = (change(value[0]), *value[1:]) if pin.is_list else change(value)
                attrs = {k: v for k, v in case.args.items() if k in op.attrs}
                yield op.name, f"{pin.name} {about}", {**given, **attrs}


def ones(shape: tuple[int, ...], like: Array) -> Array:
    """An array of one value of the type of another, which takes no memory however large it is."""
    value = like.reshape(-1)[:1] if like.size else np.array([b""] if like.dtype == object else [0])
    return np.broadcast_to(value.astype(like.dtype).reshape(()), shape)


def of_rank(rank: int) -> Iterator[Call]:
    return changed(lambda x: ones((1,) * rank, x).copy(), f"of rank {rank}")


class Raises:
    """An object that fails whatever it is asked for."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("repr")


class RaisesArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise KeyError("no")


class GivesText:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return "no array"


class Own(np.ndarray[Any, Any]):
    """A subclass of NumPy's array."""


def nested(depth: int, value: Any = 1) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def odd_values() -> dict[str, Any]:
    """Values that are wrong almost everywhere, each with a name."""
    itself: list[Any] = []
    itself.append(itself)
    twice: list[Any] = [1]
    twice += [twice, twice]
    wide: Any = [1.0, 2.0]
    for _ in range(30):
        wide = [wide, wide]
    pair = np.zeros(2, [("a", "f4"), ("b", object)])
    numbers = [True, 0, -1, 2**31 - 1, 2**31, -(2**63), 2**64, 2**70, -(2**70), 10**400, 0.5, 1e30]
    numbers += [float("nan"), float("inf"), 1j, np.float128(1), np.uint64(2**64 - 1), np.int8(-1)]
    lists: list[Any] = [
        [],
        [[]],
        [0],
        [-1],
        [None],
        [True],
        [2**31 - 1],
        [2**62],
        [2**70],
        [0.5],
        ["a"],
    ]
    lists += [
        [1, [2]],
        [[1], [1, 2]],
        [1] * 100,
        (),
        {},
        {1: 2},
        set(),
        [np.nan],
        [[0, 1]],
        [b"a", 1],
    ]
    texts = ["", "a", "\ud800", ["\ud800"], b"\xff", "float32", "SAME", "\0", ["a", True], "%", "é"]
    objects: list[Any] = [
        None,
        object(),
        len,
        int,
        Raises(),
        RaisesArray(),
        GivesText(),
        range(3),
        ...,
    ]
    objects += [
        np.dtype("f4"),
        np.dtype([("a", "f4")]),
        memoryview(b"abc"),
        bytearray(b"abc"),
        1 == 1,
    ]
    arrays = [
        np.zeros(0),
        np.zeros((0, 3), "i4"),
        np.zeros((3, 0, 2), "f4"),
        np.ones(3),
        np.ones((2, 2), "i8"),
    ]
    arrays += [
        np.array(2**40),
        np.array([2**63], "u8"),
        np.array([-(2**63)]),
        np.ones((2, 2, 2, 2, 2), "f4"),
    ]
    arrays += [
        np.full((1, 2, 2, 1), np.nan, "f4"),
        np.array([1 + 2j]),
        np.ones(2, ">f4"),
        np.ones(2, "g"),
    ]
    arrays += [
        np.ones((2, 3), "f4").view(Own),
        np.ma.masked_array([1.0], [True]),
        np.array(["a"]),
        pair,
    ]
    arrays += [
        np.array([None]),
        np.array(["\ud800"], object),
        np.array([b"a", 1], object),
        np.zeros(3, "M8[s]"),
    ]
    arrays += [
        np.array([], object),
        np.zeros(3, bool),
        np.array([2**70], object),
        np.zeros(2, "V3"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays += [np.matrix([[1.0, 2.0]])]
    found = {f"{type(v).__name__} number {n}": v for n, v in enumerate(numbers)}
    for about, values in (("list", lists), ("text", texts), ("object", objects), ("array", arrays)):
        found |= {f"{about} {n}": value for n, value in enumerate(values)}
    found |= {
        "nested 33 deep": nested(33),
        "nested 70 deep": nested(70),
        "nested far": nested(100_000),
    }
    return found | {
        "a list in itself": itself,
        "twice in itself": twice,
        "2**31 shared cells": wide,
    }


def odd_arguments(named: Callable[[Any], Iterator[str]]) -> Iterator[Call]:
    """A worked case of every op, in which each argument is each of the odd values."""
    values = odd_values()
    for op in REGISTRY.values():
        args = op.cases[0].args if op.cases else {}
        for name in named(op):
            for about, value in values.items():
                yield (
                    op.name,
                    f"{name} = {about}",
                    {**(op.cases[0].args if op.cases else args), name: value},
                )
                if name in (pin.name for pin in op.inputs if pin.is_list):
                    yield op.name, f"{name} = [{about}]", {**args, name: [value, value]}


def odd_outs() -> Iterator[Call]:
    """A worked case of every op, with each of the odd values as `out`."""
    for op in REGISTRY.values():
        for case in op.cases[:1]:
            for about, value in odd_values().items():
                yield op.name, f"out = {about}", {**case.args, "out": value}
                yield op.name, f"out = [{about}]", {**case.args, "out": [value] * len(op.outputs)}


def virtual() -> Iterator[Call]:
    """Inputs of 2**40 cells that are one cell in memory: along one axis, and along the last of the case."""
    yield from changed(lambda x: ones((2**40,), x), "of 2**40 cells")
    yield from changed(lambda x: ones((*x.shape[:-1], 2**40), x), "with a last axis of 2**40")
    yield from changed(lambda x: ones((2**40, *x.shape[1:]), x), "with a first axis of 2**40")


def long() -> Iterator[Call]:
    """Inputs of 2**26 cells that are one cell in memory: one after the other, and all together."""
    yield from changed(lambda x: ones((2**26,), x), "of 2**26 cells")
    for op in REGISTRY.values():
        for case in op.cases[:1]:
            inputs, _, _ = op.bind((), case.args)
            attrs = {k: v for k, v in case.args.items() if k in op.attrs}
            longer = each_value(lambda x: widened(x, 0), op.arrays(inputs))
            given = dict(zip((p.name for p in op.inputs), longer, strict=True))
            yield op.name, "all of 2**26 cells", {**given, **attrs}


def longer_by_one() -> Iterator[Call]:
    """The same along one axis, which takes longer to try."""
    yield from changed(lambda x: ones((*x.shape[:-1], 2**26), x), "with a last axis of 2**26")
    yield from changed(lambda x: ones((2**26, *x.shape[1:]), x), "with a first axis of 2**26")


def widened(x: Array, axis: int) -> Array:
    if not x.ndim or x.dtype.names:
        return x
    shape = [*x.shape]
    shape[axis] = 2**26 // max(x.size // max(x.shape[axis], 1), 1)
    return ones(tuple(shape), x)


KINDS: dict[str, Callable[[], Iterator[Call]]] = {
    "rank 33": lambda: of_rank(MAX_RANK + 1),
    "rank 64": lambda: of_rank(64),
    "rank 32": lambda: of_rank(MAX_RANK),
    "inputs": lambda: odd_arguments(lambda op: (pin.name for pin in op.inputs)),
    "attributes": lambda: odd_arguments(lambda op: (name for name in op.attrs)),
    "outs": odd_outs,
    "virtual": virtual,
    "interrupts": long,
    "interrupts along an axis": longer_by_one,
}


def report(call: Call, interrupt: bool) -> dict[str, Any]:
    name, _, args = call
    begun = time.process_time()
    if interrupt:  # by the time that is computed here: other processes compute too
        signal.setitimer(signal.ITIMER_PROF, INTERRUPT_AFTER)
    try:
        try:
            getattr(raw_ops, name)(**args)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except KeyboardInterrupt:
        return {"late": time.process_time() - begun - INTERRUPT_AFTER}
    except OpError as error:
        return {"refusal": str(error), "op": error.op, "arg": error.arg, "hint": error.hint}
    except Exception as error:  # whatever it is, the parent tells of it
        return {"exception": f"{type(error).__name__}: {error}"}
    return {"answer": True}


def main(kind: str, first: int) -> None:
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (in_use + SPARE_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.default_int_handler)  # as if it were Ctrl-C
    for number, call in enumerate(KINDS[kind]()):
        if number < first:
            continue
        print(json.dumps({"op": call[0], "about": call[1]}), flush=True)
        begun = time.perf_counter()
        if kind.startswith("interrupts"):
            faulthandler.dump_traceback_later(10 * SECONDS, exit=True)
        else:
            signal.alarm(SECONDS)  # nobody handles the signal: it ends the process, whatever runs
        found = report(call, kind.startswith("interrupts"))
        signal.alarm(0)
        found["seconds"] = time.perf_counter() - begun
        if "late" in found:
            gc.collect()  # the exception may hold arrays
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:  # some ops write files
        os.chdir(folder)
        main(sys.argv[1], int(sys.argv[2]))
