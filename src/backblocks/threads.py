"""How many threads the compiled kernels may use."""

import operator

from backblocks.ops import _kernels

_MOST = 1024


def get_num_threads() -> int:
    """How many threads one call may use, the calling one included. At first, one for each core."""
    return _kernels.num_threads()


def set_num_threads(count: int) -> None:
    """Lets each call use `count` threads. Results are the same, bit for bit, for any number."""
    count = operator.index(count)
    if not 1 <= count <= _MOST:
        raise ValueError(f"the number of threads must be 1 to {_MOST}, not {count}")
    _kernels.set_num_threads(count)
