"""Calls every op with what `calls` draws. A call ends in a right answer or in a refusal.

A right answer has the element type and shape that the op's rule says, leaves its inputs alone, shares no
memory with them, warns of nothing, and is the same as for plain contiguous copies of the inputs, and as in
a graph. A refusal is an OpError that names op and rule and says what to do. Calls are made in a process
with little memory and little time: `children` tells which of them brought it down.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import tracemalloc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import backblocks as bb
from backblocks.dtypes import BY_NAME
from backblocks.errors import OpError
from backblocks.ops import REGISTRY, _files
from backblocks.ops._handles import RESOURCE
from backblocks.ops._op import Op
from backblocks.ops._spec import Spec
from backblocks.ops._values import can_be, flat
from fuzz import arrays
from fuzz.calls import Call, draw, outputs_of
from fuzz.findings import Finding, of_error, words_of_refusal
from fuzz.limits import Slow, in_time

IN_GRAPHS, FOR_LEAKS = 0.2, 0.01
"""The parts of the calls that are made in a graph too, and again and again."""
REPEATS = 30
LEAKED = 1 << 12
"""Bytes a call may leave behind at most."""


@contextmanager
def in_a_folder() -> Iterator[None]:
    """Lets ops write files into a folder that is removed, and nowhere else. What they print is dropped."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        (Path(folder) / "f").write_bytes(b"a few bytes\n1,2,3\n")
        before = _files.file_root.set(_files.FileRoot(folder, closed=True))
        streams = sys.stdout, sys.stderr
        try:
            with open(os.devnull, "w") as sys.stdout:
                sys.stderr = sys.stdout
                yield
        finally:
            sys.stdout, sys.stderr = streams
            _files.file_root.reset(before)


def check(op: Op, seed: int) -> str:
    """Makes the call of a seed. Gives what became of it; raises Finding."""
    call, rng = draw(op, seed)
    in_graph, again_and_again = rng.random() < IN_GRAPHS, rng.random() < FOR_LEAKS
    is_virtual = any(map(arrays.is_virtual, _arrays(call.args)))
    try:
        outcome = _called(call)
        if is_virtual or (isinstance(outcome, OpError) and isinstance(outcome, MemoryError)):
            return _words(outcome)
        if "out" in call.args and isinstance(outcome, OpError):
            return _words(outcome)
        if "out" in call.args or not all(map(_is_plain, _arrays(call.args))):
            twin, _ = draw(op, seed)
            twin.args = {k: arrays.plain(v) for k, v in twin.args.items() if k != "out"}
            _compare(outcome, _called(twin), op, "contiguous copies")
        if in_graph and _is_pure(op) and not {"out", "name"} & {*call.args}:
            answer = _in_graph(call, rng)
            if answer is not None:
                _compare(outcome, answer, op, "a graph")
        if again_and_again and not op.files:
            _find_leaks(op, seed)
        return _words(outcome)
    except Slow:
        if is_virtual:
            raise Finding(
                "looked at the values of a view of one element", "values before shapes"
            ) from None
        return "interrupted"


def _is_pure(op: Op) -> bool:
    return not (op.stateful or op.writes or op.holds or op.fed)


def _words(outcome: Any) -> str:
    return "refused" if isinstance(outcome, OpError) else "answered"


def _called(call: Call) -> Any:
    """The answer, as a flat list, or the refusal; all that can be told of either is checked."""
    before, state = _held(call.args), _state()
    specs = None if any(map(arrays.is_virtual, _arrays(call.args))) else outputs_of(call)
    try:
        with in_time(), warnings.catch_warnings():
            warnings.simplefilter("error")
            answer = call()
    except (Slow, Finding):
        raise
    except OpError as refusal:
        if wrong := words_of_refusal(refusal, call.op.name):
            raise Finding(wrong) from refusal
        if _held(call.args) != before:
            raise Finding("a refused call changed its arguments") from None
        return refusal
    except BaseException as error:
        raise of_error(error) from error
    finally:
        _check_state(state)
    after = _held(call.args)
    if any(after[name] != before[name] for name in before if name != "out"):
        raise Finding("changed its inputs")
    results = _flat(answer)
    _check_results(call, results, specs)
    return results


def _state() -> Any:
    return np.geterr(), np.geterrcall(), os.getcwd(), sys.getrecursionlimit()


def _check_state(before: Any) -> None:
    if _state() != before:
        raise Finding("changed settings of the process")


def _flat(answer: Any) -> list[Any]:
    if answer is None:
        return []
    if not isinstance(answer, list | tuple):
        return [answer]
    return [x for each in answer for x in (each if isinstance(each, list | tuple) else [each])]


def _arrays(args: dict[str, Any]) -> Iterator[Any]:
    for value in args.values():
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, np.ndarray):
                yield each


def _is_plain(array: Any) -> bool:
    native = array.dtype.isnative
    return type(array) is np.ndarray and array.flags.carray and native


def _held(args: dict[str, Any]) -> dict[str, Any]:
    """What a call could change: the arrays, but for what handles stand for."""

    def held(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return len(value), [held(x) for x in value if isinstance(x, np.ndarray)]
        if not isinstance(value, np.ndarray) or value.dtype == RESOURCE:
            return type(value)
        about = value.shape, value.strides, value.dtype, value.flags.writeable
        if arrays.is_virtual(value):
            return about
        cells = np.asarray(value)
        if cells.dtype.hasobject or isinstance(cells.dtype, np.dtypes.StringDType):
            cells = cells.reshape(-1)
            return about, [x if isinstance(x, bytes | str) else id(x) for x in cells]
        return about, cells.tobytes()

    return {name: held(value) for name, value in args.items()}


def _check_results(call: Call, results: list[Any], specs: list[Spec] | None) -> None:
    if specs is None and not any(map(arrays.is_virtual, _arrays(call.args))):
        raise Finding("answered a call that its rule refuses")
    if specs is None:  # to ask the rule may take for ever
        specs = [Spec(result.shape, result.dtype) for result in results]
    out = call.args.get("out")
    if out is not None and not results:
        raise Finding("took an out without having an output")
    if len(specs) != len(results):
        raise Finding(f"{len(results)} results instead of {len(specs)}")
    if out is not None:
        given = [out] if isinstance(out, np.ndarray) else list(flat(tuple(out)))
        if any(a is not b for a, b in zip(given, results, strict=True)):
            raise Finding("other results than the arrays given as out")
    for spec, result in zip(specs, results, strict=True):
        if not isinstance(result, np.ndarray):
            raise Finding(f"a result that is a {type(result).__name__}")
        if result.dtype != spec.dtype or not can_be(result.shape, spec.shape):
            raise Finding(
                f"{result.dtype} {result.shape} where the rule says {spec}", "not as the rule says"
            )
        if type(result) is not np.ndarray and out is None:
            raise Finding(f"a result of class {type(result).__name__}")
        if not result.flags.c_contiguous:
            raise Finding("a result that is not contiguous")
        if result.dtype != RESOURCE and any(
            np.may_share_memory(result, x) for x in _arrays({**call.args, "out": None})
        ):
            raise Finding("a result in the memory of an input")


def _compare(outcome: Any, other: Any, op: Op, what: str) -> None:
    if isinstance(outcome, OpError) or isinstance(other, OpError):
        if isinstance(outcome, MemoryError) or isinstance(other, MemoryError):
            return
        if isinstance(outcome, OpError) != isinstance(other, OpError):
            refused, by = (
                (outcome, "these arrays") if isinstance(outcome, OpError) else (other, what)
            )
            raise Finding(
                f"refused for {by} and not for {what if by != what else 'these arrays'}: {refused}"[
                    :300
                ],
                f"refused or not, against {what}: {refused.arg} {refused.problem[:40]}",
            )
        return
    if op.stateful:
        return
    for a, b in zip(outcome, other, strict=True):
        if not _same(a, b):
            raise Finding(
                f"another answer than for {what}{_where(a, b)}", f"another answer: {what}"
            )


def _same(a: Any, b: Any) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.hasobject:
        return a.dtype == RESOURCE or a.tolist() == b.tolist()
    if a.tobytes() == b.tobytes():
        return True
    with np.errstate(all="ignore"):
        same = (a == b) | ((a != a) & (b != b))
    return bool(np.all(same))


def _where(a: Any, b: Any) -> str:
    if a.shape != b.shape or a.dtype != b.dtype:
        return f": {a.dtype} {a.shape}, {b.dtype} {b.shape}"
    wrong = np.flatnonzero((a != b) & ((a == a) | (b == b)))
    return (
        f": {a.reshape(-1)[wrong[0]]!r}, {b.reshape(-1)[wrong[0]]!r} at {wrong[0]}"
        if wrong.size
        else ""
    )


def _in_graph(call: Call, rng: Any) -> Any:
    """The answer of the same call in a graph whose inputs are constants, or fed."""
    op = call.op
    unknown = str(rng.choice(["constants", "values", "sizes", "rank"]))
    feeds: dict[Any, Any] = {}
    allowed: list[Any] = []

    def symbol(value: Any) -> Any:
        if type(value) is not np.ndarray or value.dtype not in allowed:
            return value
        if unknown == "constants" or value.dtype.hasobject:
            return bb.constant(value)
        shape = {"values": value.shape, "sizes": (None,) * value.ndim}.get(unknown)
        made = bb.placeholder(shape, value.dtype)
        feeds[made] = value
        return made

    try:
        with in_time(), warnings.catch_warnings():
            warnings.simplefilter("error")
            with bb.Scope():
                args = dict(call.args)
                for pin in op.inputs:
                    value = args.get(pin.name)
                    allowed = [BY_NAME[n] for n in op.dtypes.get(pin.dtype, (pin.dtype,))]
                    if pin.name in args:
                        listed = pin.is_list and isinstance(value, list | tuple)
                        args[pin.name] = [*map(symbol, value)] if listed else symbol(value)
                built = _flat(Call(op, args)())
            if not built:
                return None  # a list of no tensors: there is no block to run
            session = bb.Session(cache_bytes=0)
            return session.run(built, feeds) if op.outputs else session.run([], feeds, built)
    except (Slow, Finding):
        raise
    except OpError as refusal:
        if wrong := words_of_refusal(refusal):
            raise Finding(f"in a graph: {wrong}", f"in a graph: {wrong}") from refusal
        return refusal
    except BaseException as error:
        found = of_error(error)
        raise Finding(f"in a graph: {found.what}", f"in a graph: {found.cause}") from error


def _find_leaks(op: Op, seed: int) -> None:
    """Makes the call again and again, and looks whether that leaves anything behind."""

    def once() -> None:
        call, _ = draw(op, seed)
        try:
            with in_time():
                call()
        except OpError:
            pass

    for _ in range(3):
        once()
    gc.freeze()  # to look through all that is there takes long
    tracemalloc.start()
    try:
        once()
        gc.collect()
        before, resident = tracemalloc.get_traced_memory()[0], _resident()
        for _ in range(REPEATS):
            once()
        gc.collect()
        left = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    if left > REPEATS * LEAKED or _resident() - resident > 64 << 20:
        raise Finding(f"{left} bytes are left behind by {REPEATS} calls", "leaves memory behind")


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def check_apart(name: str, seed: int) -> str:
    """As `check`, by the op's name and in a folder of its own."""
    with in_a_folder():
        return check(OPS[name], seed)


def describe(name: str, seed: int) -> str:
    return str(draw(OPS[name], seed)[0])


OPS = REGISTRY
