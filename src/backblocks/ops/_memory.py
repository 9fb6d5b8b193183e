"""How much memory there is, so that a result that cannot fit is refused before it is allocated."""

from __future__ import annotations

import os

SMALL = 1 << 26
"""Below this many bytes nobody asks: looking costs more than it saves."""


def available_bytes() -> int:
    """The least of what the machine, its container and the process's own limit still allow."""
    return min(_machine(), _container(), _process())


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
