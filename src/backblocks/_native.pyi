from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Arrays are C-contiguous (images, depth, height, width, channels) and of one dtype: float16, float32,
# float64, or uint16 for the bits of bfloat16.
# window, strides and pads hold three numbers; pads counts the padding before each axis.
# The last array is overwritten. A wrong array is a TypeError, wrong geometry a ValueError.

_Array = NDArray[Any]
_Triple = Sequence[int]

def max_pool(x: _Array, y: _Array, window: _Triple, strides: _Triple, pads: _Triple) -> None: ...
def max_pool_grad(
    x: _Array, dy: _Array, dx: _Array, window: _Triple, strides: _Triple, pads: _Triple
) -> None: ...
def max_pool_grad_grad(
    x: _Array, ddx: _Array, ddy: _Array, window: _Triple, strides: _Triple, pads: _Triple
) -> None: ...
def avg_pool(x: _Array, y: _Array, window: _Triple, strides: _Triple, pads: _Triple) -> None: ...
def avg_pool_grad(
    dy: _Array, dx: _Array, window: _Triple, strides: _Triple, pads: _Triple
) -> None: ...

# The bits of a bfloat16 array of another library, which NumPy cannot read through DLPack.
def bfloat16_bits(array: Any) -> NDArray[np.uint16]: ...

# How many threads a kernel may use, the calling one included.
def num_threads() -> int: ...
def set_num_threads(count: int) -> None: ...

# The instruction set in use, and all that this machine has, the least first.
def isa() -> str: ...
def isas() -> list[str]: ...
