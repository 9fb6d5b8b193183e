"""Makes hostile calls of every op, and reports each on a line of its own.

    python hostile_child.py KIND FIRST

It runs in a process of its own, with little memory and little time, so that a call that ends the process, or
does not end, is known by the line that is missing.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from backblocks import OpError, raw_ops
from backblocks.ops import REGISTRY
from backblocks.ops._spec import MAX_RANK

SPARE_BYTES = 4 << 30
SECONDS = 5
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


KINDS: dict[str, Callable[[], Iterator[Call]]] = {
    "rank 33": lambda: of_rank(MAX_RANK + 1),
    "rank 64": lambda: of_rank(64),
    "rank 32": lambda: of_rank(MAX_RANK),
}


def report(call: Call) -> dict[str, Any]:
    name, _, args = call
    try:
        getattr(raw_ops, name)(**args)
    except OpError as error:
        return {"refusal": str(error), "op": error.op, "arg": error.arg, "hint": error.hint}
    except Exception as error:  # whatever it is, the parent tells of it
        return {"exception": f"{type(error).__name__}: {error}"}
    return {"answer": True}


def main(kind: str, first: int) -> None:
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (in_use + SPARE_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, call in enumerate(KINDS[kind]()):
        if number < first:
            continue
        print(json.dumps({"op": call[0], "about": call[1]}), flush=True)
        signal.alarm(SECONDS)  # nobody handles the signal: it ends the process, whatever runs
        found = report(call)
        signal.alarm(0)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:  # some ops write files
        os.chdir(folder)
        main(sys.argv[1], int(sys.argv[2]))
