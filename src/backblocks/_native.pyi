from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Float = TypeVar("_Float", np.float32, np.float64)

# Arrays are C-contiguous (batch, depth, height, width, channels) and of one dtype.
# window, strides and pads hold three numbers; pads counts the padding before each axis.
# dx is overwritten. A wrong array is a TypeError, wrong geometry a ValueError.

def max_pool_3d_grad(
    x: NDArray[_Float],
    dy: NDArray[_Float],
    dx: NDArray[_Float],
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
) -> None: ...
def avg_pool_3d_grad(
    dy: NDArray[_Float],
    dx: NDArray[_Float],
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
) -> None: ...

# The bits of a bfloat16 array of another library, which NumPy cannot read through DLPack.
def bfloat16_bits(array: Any) -> NDArray[np.uint16]: ...

# How many threads a kernel may use, the calling one included.
def num_threads() -> int: ...
def set_num_threads(count: int) -> None: ...
