"""The compiled kernels, for the ops. The only file that imports them.

Each is made ready for one geometry, which is checked then, and gives a function of the arrays:

    prepared = max_pool("float32", cells, windows, window, strides, pads)
    prepared(x, y)
"""

from backblocks._native import (
    Block,
    CallKey,
    Prepared,
    avg_pool,
    avg_pool_grad,
    bfloat16_bits,
    conv,
    conv_filter_grad,
    conv_input_grad,
    depthwise_conv,
    depthwise_conv_filter_grad,
    depthwise_conv_input_grad,
    isa,
    kept_bytes,
    max_pool,
    max_pool_grad,
    max_pool_grad_grad,
    max_pool_grad_grad_with_argmax,
    max_pool_grad_with_argmax,
    max_pool_with_argmax,
    most_kept_bytes,
    multiply_add,
    num_threads,
    set_most_kept_bytes,
    set_num_threads,
    stream,
    trim_memory,
)

__all__ = [
    "Block",
    "CallKey",
    "Prepared",
    "avg_pool",
    "avg_pool_grad",
    "bfloat16_bits",
    "conv",
    "conv_filter_grad",
    "conv_input_grad",
    "depthwise_conv",
    "depthwise_conv_filter_grad",
    "depthwise_conv_input_grad",
    "isa",
    "kept_bytes",
    "max_pool",
    "max_pool_grad",
    "max_pool_grad_grad",
    "max_pool_grad_grad_with_argmax",
    "max_pool_grad_with_argmax",
    "max_pool_with_argmax",
    "most_kept_bytes",
    "multiply_add",
    "num_threads",
    "set_most_kept_bytes",
    "set_num_threads",
    "stream",
    "trim_memory",
]
