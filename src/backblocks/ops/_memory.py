"""Memory for results: allocators, the memory that is available, and the budget of a session.

A result that cannot fit is refused before it is allocated.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from backblocks.dtypes import DType
from backblocks.errors import OpMemoryError, described
from backblocks.ops import _kernels

SMALL = 1 << 26
"""Allocations of fewer bytes are not checked: a check costs more than it saves."""

_FROM_NUMPY = 1 << 14
"""Results of fewer bytes come from NumPy, which is quicker than we are at small ones."""


def allocator(shape: tuple[int, ...], dtype: DType) -> Callable[[], np.ndarray[Any, Any]]:
    """A function that makes a new array of this kind, uninitialised.

    A large one begins a cache line and has the memory of an earlier result that is no longer used.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < _FROM_NUMPY:
        return _kernels.OutputAllocator(np.empty(shape, dtype))
    return lambda: np.ndarray(shape, dtype, memoryview(_kernels.Buffer(size)))


def available_bytes() -> int:
    """The least of what the machine, its container and the process's own limit still allow."""
    return min(_machine(), _container(), _process())


class MemoryBudget:
    """The bytes that a session with a memory limit may still take, also for what it keeps from run to run."""

    def __init__(self, limit: int, left: int) -> None:
        self.limit, self.left = limit, left


memory_budget: ContextVar[MemoryBudget | None] = ContextVar("room", default=None)
"""The budget of the session that is running; None if it has no memory limit."""
_unchecked = 0
"""Bytes that were reserved since the available memory was last checked."""


def reserve(size: int) -> None:
    """Reserves bytes for what is kept from run to run, or refuses them; a negative number releases some."""
    global _unchecked
    given = memory_budget.get()
    if given is not None:
        if size > given.left:
            raise OpMemoryError(
                f"would keep {_mib(size)} more than the {_mib(given.left)} that are left of "
                f"{_mib(given.limit)}",
                hint="Keep less from run to run, or raise memory_limit.",
            )
        given.left -= size
    _unchecked = max(0, _unchecked + size)
    if _unchecked > SMALL:
        if not _machine_has(max(size, SMALL)):
            hint = "Keep less from run to run."
            raise OpMemoryError(f"would keep {_mib(size)}, and no memory is left", hint=hint)
        _unchecked = 0


def _mib(size: int) -> str:
    return f"{max(size, 0) / 2**20:,.1f} MiB"


def retained_bytes(array: np.ndarray[Any, Any]) -> int:
    """The bytes of an array that is kept, with its object and the texts in it."""
    texts = sum(map(_size_of_text, array.flat)) if array.dtype.kind == "O" else 0
    return array.nbytes + texts + BYTES_OF_ARRAY


BYTES_OF_ARRAY = 200
"""Bytes that an array takes besides its cells, with its place in a queue."""


def _size_of_text(text: Any) -> int:
    return 33 + len(text)


def is_available(size: int) -> bool:
    """Whether `size` bytes are available, if need be after trimming the allocator's free blocks."""
    given = memory_budget.get()
    if given is not None and size > given.limit:
        return False
    return _machine_has(size)


def _machine_has(size: int) -> bool:
    return size <= available_bytes() or (_kernels.trim_memory() > 0 and size <= available_bytes())


def refuse_bytes(size: int, rule: str, got: str, arg: str = "") -> None:
    """Refuses what needs more memory than there is, before it is allocated. `rule` says what needs it."""
    if size > SMALL and not is_available(size):
        raise OpMemoryError(
            f"{rule} {size / 2**30:,.1f} GiB and only {available_bytes() / 2**30:,.1f} GiB are free",
            arg=arg,
            got=described(got),
            hint="Use smaller tensors or a smaller type.",
        )


_NO_LIMIT = 1 << 63


def _machine() -> int:
    try:
        for line in _text("/proc/meminfo").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass  # not Linux
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return _NO_LIMIT


def _container() -> int:
    try:
        limit = _text("/sys/fs/cgroup/memory.max").strip()
        used = int(_text("/sys/fs/cgroup/memory.current"))
        return _NO_LIMIT if limit == "max" else max(int(limit) - used, 0)
    except (OSError, ValueError):
        return _NO_LIMIT


def _process() -> int:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int(_text("/proc/self/statm").split()[0])
        used = pages * os.sysconf("SC_PAGE_SIZE")
        return _NO_LIMIT if limit == resource.RLIM_INFINITY else max(limit - used, 0)
    except (ImportError, OSError, ValueError):
        return _NO_LIMIT


def _text(path: str) -> str:
    with open(path) as file:  # pathlib would take a tenth of the time of importing this package
        return file.read()
