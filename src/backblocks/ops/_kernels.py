"""The compiled kernels, for the ops. The only file that imports them."""

from backblocks._native import (
    avg_pool_3d_grad,
    bfloat16_bits,
    max_pool_3d_grad,
    num_threads,
    set_num_threads,
)

__all__ = [
    "avg_pool_3d_grad",
    "bfloat16_bits",
    "max_pool_3d_grad",
    "num_threads",
    "set_num_threads",
]
