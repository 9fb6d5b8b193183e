"""The machine's roofline: measured memory bandwidth and peak multiply-add rate, and what machine it is."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable

import numpy as np

import backblocks as bb
from backblocks.bench.problem import Problem
from backblocks.ops import _kernels
from backblocks.ops._inputs import Array

_BYTES = 1 << 27  # several times the largest cache


def measure_roofline(threads: int) -> dict[str, dict[str, float]]:
    """Bytes and operations per second, on one thread and on all."""
    arrays = [np.ones(_BYTES, np.uint8) for _ in range(3)]
    limits = {}
    before = bb.get_num_threads()
    for count in sorted({1, threads}):
        bb.set_num_threads(count)
        limits[str(count)] = _bandwidths(*arrays) | _peaks()
    bb.set_num_threads(before)
    return limits


def _bandwidths(a: Array, b: Array, c: Array) -> dict[str, float]:
    mixes = {"copy": ([a], c), "add": ([a, b], c), "read": ([a, b], c[:64]), "write": ([], c)}
    return {
        f"{name} bytes/s": max(
            (sum(x.nbytes for x in inputs) + out.nbytes)
            / _median_seconds(lambda i=inputs, o=out, s=store: _kernels.stream(i, o, s))  # type: ignore[misc]
            for store in (True, False)
        )
        for name, (inputs, out) in mixes.items()
    }


def _peaks() -> dict[str, float]:
    peaks, steps = {}, 20_000
    for name, doubles in (("f32 flop/s", False), ("f64 flop/s", True)):
        count = _kernels.multiply_add(doubles, steps)
        peaks[name] = count / _median_seconds(lambda d=doubles: _kernels.multiply_add(d, steps))  # type: ignore[misc]
    return peaks


def _median_seconds(call: Callable[[], object], count: int = 7) -> float:
    samples = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


def peak_flops(problem: Problem, limits: dict[str, float]) -> float:
    """Peak operations per second in the dtype of accumulation: half types accumulate in f32."""
    return limits["f64 flop/s" if problem.type == "f64" else "f32 flop/s"]


def machine() -> dict[str, object]:
    """Processor, cores, instruction set and versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "instructions": _kernels.isa(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()
