"""Max pooling of images that hands on where the winners are, with its first and second gradients."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import REALS, wide
from backblocks.errors import OpError, described
from backblocks.ops import _kernels
from backblocks.ops._access_maps import AccessMap, Cells, held, loop
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Value, op
from backblocks.ops._spec import Shape, Spec, agreed
from backblocks.ops.attrs import Flag, Padding, Pads, Strides, Window, dtype_of
from backblocks.ops.nn._max_pool import FOR_EACH_CELL, HALF_SUMS, winning_cells
from backblocks.ops.nn._pooling import (
    agreed_with_pooling,
    native_pool,
    pool_access,
    pool_axes,
    pooled,
)

ArgmaxType = Annotated[Any, dtype_of("int32", "int64")]


def _argmax_windows(
    *, ksize: Window, strides: Strides, padding: Padding, explicit_paddings: Pads = ()
) -> None:
    """The attributes of the ops that keep or take the index of each window's winner."""


# -- the largest value of each window, and where it was -------------------------------------------


@op(
    "MaxPoolWithArgmax",
    "T -> output: T, argmax: Targmax",
    aliases=("max_pool2d with indices", "nn.MaxPool2d return_indices"),
    attrs=_argmax_windows,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_with_argmax(
    input: Array,
    *,
    Targmax: ArgmaxType = "int64",
    include_batch_in_index: Flag = False,
    **windows: Any,
) -> tuple[Array, Array]:
    """The largest value of each window, and where it was.

    output[n, o, c] = max over j of input[n, o·strides - p + j, c]
    argmax[n, o, c] = (y · width + x) · channels + c of the first cell (y, x) that has it
    where o and j stand for height and width, 0 ≤ j < ksize; padding takes no part
    where p is the padding before:
        with SAME ⌊max((⌈size / strides⌉ - 1) · strides + ksize - size, 0) / 2⌋ for an axis of this size
    with include_batch_in_index n · height · width · channels is added to argmax

    The index counts through `(height, width, channels)` of its own image, or through the whole input
    when `include_batch_in_index` is set. Of equals the first is taken; a NaN wins its window. The index
    of a window without any real cell is 0.
    """
    best, winner = winning_cells(input, pool_axes(input, **windows))
    channels = input.shape[-1]
    argmax = winner * channels
    argmax += np.arange(channels)
    if include_batch_in_index:
        argmax += np.arange(len(input)).reshape(-1, 1, 1, 1) * math.prod(input.shape[1:])
    argmax[winner < 0] = 0
    return best, argmax.astype(Targmax, copy=False)


@max_pool_with_argmax.shape
def _(
    input: Spec, *, Targmax: Any, include_batch_in_index: bool, **windows: Any
) -> tuple[Shape, Shape]:
    out = pooled("input", input, **windows)
    sizes = (input.shape or ())[0 if include_batch_in_index else 1 :]
    cells = math.prod(n for n in sizes if n is not None)
    if Targmax.itemsize == 4 and cells >= 2**31:
        raise OpError(
            f"cannot count the {cells} cells of input",
            arg="Targmax",
            got=described(Targmax.name),
            hint="Use int64.",
        )
    return out, out


@max_pool_with_argmax.grad
def _(dy: Value, y: Value, input: Value, *, Targmax: Any, **windows: Any) -> list[Value]:
    if dy.output is None:
        return [None]
    return [max_pool_grad_with_argmax(input, dy.output, y.argmax, **windows)]


@max_pool_with_argmax.cells
def _(
    y: Any, input: Spec, *, Targmax: Any, include_batch_in_index: bool, **windows: Any
) -> list[AccessMap]:
    taken: dict[str, Any] = {"of": ("input",), "input": input, "cells": ("input",)}
    (place,) = pool_access("argmax", windows=("argmax",), **taken, **windows)
    counts = (0, 1, 2, 3) if include_batch_in_index else (1, 2, 3)
    return [
        *pool_access("max", windows=("output",), **taken, **windows),
        replace(place, counts=counts),
    ]


def _native_argmax(
    kernel: Callable[..., _kernels.Prepared],
    input: Spec,
    index: Any,
    include_batch_in_index: bool,
    **windows: Any,
) -> _kernels.Prepared | None:
    """The compiled kernel for pooling with argmax, or None if that is not for it."""
    if input.shape is None or math.prod(n or 0 for n in input.shape[1:3]) >= 2**29:
        return None  # it numbers the cells of an image with 30 bits, padding included

    def prepare(dtype: str, *geometry: Any) -> _kernels.Prepared:
        return kernel(dtype, index.name, *geometry, include_batch_in_index)

    return native_pool(prepare, input.shape, input.dtype, data_format="NHWC", **windows)


@max_pool_with_argmax.kernel("native")
def _(input: Spec, *, Targmax: Any, **how: Any) -> KernelFunction | None:
    return _native_argmax(_kernels.max_pool_with_argmax, input, Targmax, **how)


_OPTIONS: dict[str, Any] = {
    "topic": "options",
    "tensorflow": "No explicit padding; some dtypes of input or index have no CPU kernel.",
    "ours": "Explicit padding, every dtype, int32 and int64 indices.",
}

max_pool_with_argmax.differs(**_OPTIONS)
max_pool_with_argmax.differs(
    "nan",
    at="later nan",
    tensorflow="A NaN wins only when it is the first cell of its window.",
    ours="The first NaN of a window wins.",
)
max_pool_with_argmax.differs(
    "checks",
    tensorflow="A stride over channels is accepted and ignored.",
    ours="It is refused.",
    agree="Use a stride of 1 for channels.",
)
max_pool_with_argmax.differs(
    "empty", tensorflow="An empty input is refused.", ours="It gives an empty result."
)

_pair = np.arange(1.0, 17).reshape(2, 2, 2, 2)
_three: dict[str, Any] = {"ksize": (1, 3, 2, 1), "strides": (1, 3, 2, 1), "padding": "SAME"}
_no_rows: dict[str, Any] = {
    "input": np.zeros((1, 0, 2, 2)),
    "ksize": (1, 2, 2, 1),
    "strides": (1, 2, 2, 1),
    "padding": "EXPLICIT",
    "explicit_paddings": (0, 0, 1, 1, 0, 0, 0, 0),
}


def _two_images(*values: float) -> Array:
    """One window of two channels in each."""
    return np.array(values).reshape(2, 1, 1, 2)


max_pool_with_argmax.case(
    "the index counts within its own image", input=_pair, **_three,
    out=(_pair[:, 1:, 1:], _two_images(6, 7, 6, 7)),
)  # fmt: skip
max_pool_with_argmax.case(
    "the index counts through the batch", input=_pair, **_three, include_batch_in_index=True,
    Targmax="int32", out=(_pair[:, 1:, 1:], _two_images(6, 7, 14, 15).astype(np.int32)),
)  # fmt: skip
max_pool_with_argmax.case(
    "a window without a cell", **_no_rows,
    out=(np.full((1, 1, 1, 2), -np.inf), np.zeros((1, 1, 1, 2))),
)  # fmt: skip
max_pool_with_argmax.fails(
    "a stride over channels", input=_pair, **_three | {"strides": (1, 3, 2, 2)},
    error="1 for batch and channels",
)  # fmt: skip
max_pool_with_argmax.fails(
    "unknown index type", input=_pair, **_three, Targmax="int8", error="int32"
)


# -- what both gradients read of the winners ------------------------------------------------------


def _named_shape(
    input: Spec, argmax: Spec, *, include_batch_in_index: bool, **windows: Any
) -> Shape:
    """The shape that pooling gives, of which `argmax` is too; its indices must be of cells."""
    out = pooled("input", input, **windows)
    agreed_with_pooling("argmax", argmax, out)
    sizes = input.shape if include_batch_in_index or input.shape is None else input.shape[1:]
    if argmax.value is not None and argmax.value.size and sizes is not None and None not in sizes:
        # In an image without cells, the windows have the index 0 all the same.
        limit = max(1, math.prod(n for n in sizes if n is not None))
        low, high = argmax.value.min(), argmax.value.max()
        if low < 0 or high >= limit:
            raise OpError(
                f"every index must be at least 0 and below {limit}",
                arg="argmax",
                got=int(low if low < 0 else high),
                hint="Pass it as MaxPoolWithArgmax gave it, with its include_batch_in_index.",
            )
    return out


def _flat_index(argmax: Array, include_batch_in_index: bool, image_size: int) -> Array:
    """Indices into the whole input, flattened."""
    index = argmax.astype(np.int64)
    if not include_batch_in_index:
        index += np.arange(len(argmax)).reshape(-1, 1, 1, 1) * image_size
    return index


def _argmax_access(
    rule: str, input: Spec, argmax: Spec, cells: str, windows: str, include_batch_in_index: bool
) -> list[AccessMap]:
    """Each window of `windows` belongs to the cell of `cells` that `argmax` names."""
    images, *sizes = input.sizes
    loops = dict(zip("nhwc", argmax.sizes, strict=True))
    window = tuple(map(loop, loops))
    named = (held("argmax", *window),)
    if include_batch_in_index:
        cell = Cells(named, (images * math.prod(sizes),), "NHWC")
    else:
        cell = Cells((loop("n"), *named), (images, math.prod(sizes)), "NHWC")
    return [AccessMap(rule, ("grad",), loops, {cells: cell, windows: Cells(window, axes="NHWC")})]


# -- the gradient ---------------------------------------------------------------------------------


@op(
    "MaxPoolGradWithArgmax",
    "T, T, Targmax -> T",
    attrs=_argmax_windows,
    beyond=("explicit_paddings",),
    T=REALS,
    Targmax=("int32", "int64"),
)
def max_pool_grad_with_argmax(
    input: Array,
    grad: Array,
    argmax: Array,
    *,
    include_batch_in_index: Flag = False,
    **windows: Any,
) -> Array:
    """Adds each window's gradient to the cell that `argmax` names.

    output[n, i] = Σ over the o and c with argmax[n, o, c] = i of grad[n, o, c]
    where o stands for height and width, and i is the number of a cell of its image, row by row
    with include_batch_in_index i is its number in the whole input, and n is summed over too
    """
    dx = np.zeros(input.size, wide(grad.dtype))
    np.add.at(dx, _flat_index(argmax, include_batch_in_index, math.prod(input.shape[1:])), grad)
    return dx.reshape(input.shape)


@max_pool_grad_with_argmax.shape
def _(input: Spec, grad: Spec, argmax: Spec, **windows: Any) -> Shape:
    out = _named_shape(input, argmax, **windows)
    agreed_with_pooling("grad", grad, out)
    return input.shape


@max_pool_grad_with_argmax.grad
def _(
    ddx: Value, dx: Value, input: Value, grad: Value, argmax: Value, **windows: Any
) -> list[Value]:
    return [None, max_pool_grad_grad_with_argmax(input, ddx, argmax, **windows), None]


@max_pool_grad_with_argmax.cells
def _(
    y: Spec, input: Spec, grad: Spec, argmax: Spec, *, include_batch_in_index: bool, **windows: Any
) -> list[AccessMap]:
    return _argmax_access("sum", input, argmax, "output", "grad", include_batch_in_index)


@max_pool_grad_with_argmax.kernel("native")
def _(input: Spec, grad: Spec, argmax: Spec, **how: Any) -> KernelFunction | None:
    fill = _native_argmax(_kernels.max_pool_grad_with_argmax, input, argmax.dtype, **how)
    return fill and fill.taking(1, 2, 3)


max_pool_grad_with_argmax.differs(**_OPTIONS)
max_pool_grad_with_argmax.differs(
    "checks",
    tensorflow="Indices outside the image are not always noticed; a stride over channels is ignored.",
    ours="Every index is checked before anything is written; such a stride is refused.",
)
max_pool_grad_with_argmax.differs(**HALF_SUMS)

max_pool_grad_with_argmax.case(
    "back to the named cells", input=_pair, grad=_pair[:, :1, :1], **_three,
    argmax=_two_images(6, 7, 0, 0),
    out=np.array([0, 0, 0, 0, 0, 0, 1.0, 2, 19, 0, 0, 0, 0, 0, 0, 0]).reshape(2, 2, 2, 2),
)  # fmt: skip
max_pool_grad_with_argmax.case(
    "no cell to give it to", **_no_rows, grad=np.ones((1, 1, 1, 2)),
    argmax=np.zeros((1, 1, 1, 2), int), out=np.zeros((1, 0, 2, 2)),
)  # fmt: skip
max_pool_grad_with_argmax.fails(
    "CVE-2021-29570: an index outside the image", input=_pair, grad=_pair[:, :1, :1], **_three,
    argmax=_two_images(6, 8, 0, 0), error="below 8",
)  # fmt: skip
max_pool_grad_with_argmax.fails(
    "a stride over channels", input=_pair, grad=_pair[:, :1, :1],
    **_three | {"strides": (1, 3, 2, 2)}, argmax=np.zeros((2, 1, 1, 2), int),
    error="1 for batch and channels",
)  # fmt: skip


# -- the second gradient --------------------------------------------------------------------------


@op(
    "MaxPoolGradGradWithArgmax",
    "T, T, Targmax -> T",
    attrs=_argmax_windows,
    beyond=("explicit_paddings",),
    T=REALS,
    Targmax=("int32", "int64"),
)
def max_pool_grad_grad_with_argmax(
    input: Array,
    grad: Array,
    argmax: Array,
    *,
    include_batch_in_index: Flag = False,
    **windows: Any,
) -> Array:
    """For each window, the value of `grad` at the cell that `argmax` names.

    output[n, o, c] = grad[n, argmax[n, o, c]]
    where o stands for height and width, and argmax is the number of a cell of its image, row by row
    with include_batch_in_index it is its number in all of grad
    """
    if not grad.size:
        return np.zeros(argmax.shape, grad.dtype)
    index = _flat_index(argmax, include_batch_in_index, math.prod(input.shape[1:]))
    return grad.reshape(-1)[index]


@max_pool_grad_grad_with_argmax.shape
def _(input: Spec, grad: Spec, argmax: Spec, **windows: Any) -> Shape:
    agreed("grad", grad, input.shape, "the shape of input", FOR_EACH_CELL)
    return _named_shape(input, argmax, **windows)


@max_pool_grad_grad_with_argmax.grad
def _(d: Value, y: Value, input: Value, grad: Value, argmax: Value, **windows: Any) -> list[Value]:
    return [None, max_pool_grad_with_argmax(input, d, argmax, **windows), None]


@max_pool_grad_grad_with_argmax.cells
def _(
    y: Spec, input: Spec, grad: Spec, argmax: Spec, *, include_batch_in_index: bool, **windows: Any
) -> list[AccessMap]:
    return _argmax_access("copy", input, argmax, "grad", "output", include_batch_in_index)


@max_pool_grad_grad_with_argmax.kernel("native")
def _(input: Spec, grad: Spec, argmax: Spec, **how: Any) -> KernelFunction | None:
    fill = _native_argmax(_kernels.max_pool_grad_grad_with_argmax, input, argmax.dtype, **how)
    return fill and fill.taking(1, 2, 3)


max_pool_grad_grad_with_argmax.differs(**_OPTIONS)
max_pool_grad_grad_with_argmax.differs(
    "kernels", tensorflow="There is no CPU kernel.", ours="Works as the others do."
)

max_pool_grad_grad_with_argmax.case(
    "from the named cells", input=_pair, grad=_pair, **_three,
    argmax=_two_images(1, 2, 3, 4), out=_two_images(2.0, 3, 12, 13),
)  # fmt: skip
max_pool_grad_grad_with_argmax.case(
    "no cell to take it from", **_no_rows, grad=np.ones((1, 0, 2, 2)),
    argmax=np.zeros((1, 1, 1, 2), int), out=np.zeros((1, 1, 1, 2)),
)  # fmt: skip
max_pool_grad_grad_with_argmax.fails(
    "indices in one row", input=_pair, grad=_pair, argmax=np.array([1, 2, 3, 4]), **_three,
    error="the shape that pooling gives",
)  # fmt: skip
