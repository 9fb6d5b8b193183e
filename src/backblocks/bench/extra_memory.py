"""Extra memory of a call, beyond inputs and result: peak resident size, measured in a subprocess.

    python -m backblocks.bench.extra_memory PEER THREADS

reads problems, a line each, and answers each with a line of JSON: bytes by contender.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from backblocks.bench import peers
from backblocks.bench.contender import Peer
from backblocks.bench.inputs import make_inputs
from backblocks.bench.problem import Problem, parse

_WARM_UP = "MaxPool f32 nhwc 2x4x4x2 k2 s2 VALID"


def extra_bytes(peer: str, problems: Sequence[Problem], threads: int) -> list[dict[str, int]]:
    """For each problem, the extra bytes of each contender of a peer. Empty where it cannot be measured."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", __name__, peer, str(threads)],
        input="\n".join(map(str, problems)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
        # Every large block is then asked of the system and given back, so that the peak shows it.
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"},
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return answers + [{} for _ in problems[len(answers) :]]


def measure(peer: Peer, problem: Problem) -> dict[str, int]:
    inputs = make_inputs(problem)
    contenders = peer.make(problem, inputs)
    if isinstance(contenders, str):
        return {}
    needs = {}
    for contender in contenders:
        if (
            contender.job != "yardstick"
            and contender.expected_seconds < 5
            and "out=" not in contender.name
        ):
            try:
                needs[contender.name] = _extra(contender.call, problem.nbytes(problem.kind.result))
            except Exception:  # noqa: S112  the timing says why
                continue
    return needs


def _extra(call: Callable[[], object], result_bytes: int) -> int:
    """Peak resident size of the second call, less that before the first, less the result."""
    _settle()
    before = _kilobytes("VmRSS")
    call()
    _settle()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins anew
    result = call()
    peak = _kilobytes("VmHWM")
    del result
    return max(0, (peak - before) * 1024 - result_bytes)


def _settle() -> None:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def _kilobytes(name: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))


def main() -> None:
    name, threads = sys.argv[1:]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(threads)])
    peer = peers.load(name)
    peer.set_threads(int(threads))
    measure(peer, parse(_WARM_UP))
    for line in sys.stdin:
        print(json.dumps(measure(peer, parse(line))), flush=True)


if __name__ == "__main__":
    main()
