"""Makes the calls of one op and reports each on a line of its own.

    python child.py OP FIRST

It runs in a process of its own, with little memory and little time, so that a call that brings the
process down is known by the line that is missing.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from bad_calls import facts

from backblocks import OpError, raw_ops
from backblocks.dtypes import BY_NAME, NAMES

SPARE_BYTES = 2 << 30
SECONDS = 10
MOST_VALUES = 10_000
AS_TENSORFLOW = {"MaxPool3DGrad": {"ties": "tensorflow-cpu"}}
"""What makes an op that answers otherwise than TensorFlow agree with it."""


def calls(op: str) -> list[facts.Call]:
    """All calls of an op, and the legal one once more: a refusal leaves nothing behind."""
    known = facts.read(op)
    return [*known, known[0]]


def array(tensor: facts.Tensor) -> np.ndarray[Any, Any]:
    dtype = BY_NAME[tensor["dtype"]]
    if "fill" in tensor:
        return np.full(tensor["shape"], tensor["fill"], dtype)
    return np.array(tensor["values"], dtype).reshape(tensor["shape"])


def output(result: np.ndarray[Any, Any]) -> facts.Tensor:
    """A result as facts have it; too many values are left out."""
    values = result.reshape(-1).astype(float if result.dtype.kind in "fV" else int).tolist()
    about = {"dtype": NAMES[result.dtype], "shape": list(result.shape)}
    return about | ({"values": values} if result.size <= MOST_VALUES else {})


def held(args: dict[str, Any]) -> list[Any]:
    """Everything a call could have changed in its arguments."""
    return [
        (v.tobytes(), v.shape, v.dtype, v.strides) if isinstance(v, np.ndarray) else repr(v)
        for v in args.values()
    ]


def report(call: facts.Call) -> dict[str, Any]:
    args = {k: array(v["tensor"]) if isinstance(v, dict) else v for k, v in call.args.items()}
    before = held(args)
    tracemalloc.start()  # NumPy tells it of memory that nobody has touched yet, too
    found: dict[str, Any]
    try:
        found = {"result": answer(call.op, args)}
    except OpError as error:
        found = {"refusal": str(error), "op": error.op, "arg": error.arg, "hint": error.hint}
    except Exception as error:  # whatever it is, the parent tells of it
        found = {"exception": f"{type(error).__name__}: {error}"}
    found["mib"] = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    if "result" in found and call.op in AS_TENSORFLOW:
        found["as TensorFlow"] = answer(call.op, args | AS_TENSORFLOW[call.op])
    found["inputs unchanged"] = held(args) == before
    return found


def answer(op: str, args: dict[str, Any]) -> list[facts.Tensor]:
    results = getattr(raw_ops, op)(**args)
    return [output(r) for r in (results if isinstance(results, tuple) else (results,))]


def main(op: str, first: int) -> None:
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (in_use + SPARE_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, call in enumerate(calls(op)[first:], first):
        print(json.dumps({"start": number}), flush=True)
        signal.alarm(SECONDS)  # nobody handles the signal: it ends the process, whatever runs
        found = report(call)
        signal.alarm(0)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
