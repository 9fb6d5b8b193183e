"""The compiled kernels, for the ops. The only file that imports them."""

from backblocks._native import (
    avg_pool,
    avg_pool_grad,
    bfloat16_bits,
    max_pool,
    max_pool_grad,
    max_pool_grad_grad,
    num_threads,
    set_num_threads,
)

__all__ = [
    "avg_pool",
    "avg_pool_grad",
    "bfloat16_bits",
    "max_pool",
    "max_pool_grad",
    "max_pool_grad_grad",
    "num_threads",
    "set_num_threads",
]
