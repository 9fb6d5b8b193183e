"""Memory of results that are no longer used is kept for the next, which saves most of their cost."""

import operator

from backblocks.ops import _kernels


def kept() -> int:
    """How many bytes are kept for results to come. Arrays that are in use do not count."""
    return _kernels.kept_bytes()


def limit() -> int:
    """How many bytes may be kept: at first an eighth of the machine's memory, and at most 1 GiB.

    Beyond that, what was kept longest goes back to the system.
    """
    return _kernels.most_kept_bytes()


def set_limit(size: int) -> None:
    """Lets up to `size` bytes be kept, and gives back what is kept beyond them. With 0 nothing is."""
    size = operator.index(size)
    if not 0 <= size < 2**63:
        raise ValueError(f"the limit must be 0 to {2**63 - 1} bytes, not {size}")
    _kernels.set_most_kept_bytes(size)


def trim() -> int:
    """Gives all that is kept back to the system, and says how many bytes that were."""
    return _kernels.trim_memory()
