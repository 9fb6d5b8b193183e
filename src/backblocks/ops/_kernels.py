"""The compiled module `backblocks._native`, for the ops. The only file that imports it.

Kernels have the names of native/kernels.def. Each is prepared for one geometry, which is checked then, and
gives a function of the arrays:

    prepared = max_pool("float32", cells, windows, window, strides, pads)
    prepared(x, y)
"""

from backblocks._native import *  # noqa: F403
