"""Padding with the mirror image of a tensor (reflect and symmetric), and its gradient."""

from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import NUMBERS, VALUES, wide
from backblocks.errors import OpError
from backblocks.ops._access_maps import AccessMap, Cells, Coordinate, held, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec
from backblocks.ops.array.pad import pad_pairs
from backblocks.ops.array.shapes import INDEX
from backblocks.ops.attrs import choice

Mirror = Annotated[
    str,
    choice("REFLECT leaves out the border cell, SYMMETRIC repeats it.", "REFLECT", "SYMMETRIC"),
]


def mirrored(x: Array, paddings: Array, mode: str) -> Array:
    """`x` with its mirror image before and after each axis."""
    edge = 1 if mode == "REFLECT" else 0  # REFLECT does not repeat the cell at the border
    for axis, (before, after) in enumerate(paddings.tolist()):
        rows, end = np.moveaxis(x, axis, 0), x.shape[axis] - edge
        sides = rows[edge : edge + before][::-1], rows[end - after : end][::-1]
        front, back = (np.moveaxis(side, 0, axis) for side in sides)
        shape = [*x.shape]
        shape[axis] += before + after
        # In row-major order whatever the order of `x`: kernels read it.
        x = np.concatenate([front, x, back], axis=axis, out=np.empty(shape, x.dtype))
    return x


def mirror_places(n: int, pads: list[int], mode: str) -> Array:
    """Which of `n` cells stands at each place of a padded axis."""
    return np.pad(np.arange(n), pads, mode="reflect" if mode == "REFLECT" else "symmetric")


def mirrored_shape(input: Shape, paddings: Spec, mode: str) -> Shape:
    """The shape of a tensor with its mirror image around it; refused if the mirror would not reach."""
    rank, pairs = pad_pairs(input, paddings)
    if rank is None:
        return None
    if input is None or pairs is None:
        return (None,) * rank
    hint = "Pad in two steps to pad more; slice to cut cells off."
    return tuple(
        None if n is None else n + _checked(n, pads, mode, hint)
        for n, pads in zip(input, pairs, strict=True)
    )


def _checked(n: int, pads: list[int], mode: str, hint: str) -> int:
    """The padding before and after together, which the mirror image of `n` cells must be able to fill."""
    most = max(n - 1, 0) if mode == "REFLECT" else n
    if min(pads) < 0 or max(pads) > most:
        raise OpError(
            f"must lie between 0 and {most} for mode {mode} and size {n}",
            arg="paddings",
            got=pads,
            hint=hint,
        )
    return sum(pads)


@op(
    "MirrorPad",
    "T, Tpaddings -> T",
    aliases=("reflection padding", "symmetric padding"),
    T=VALUES,
    Tpaddings=INDEX,
)
def mirror_pad(input: Array, paddings: Array, *, mode: Mirror) -> Array:
    """`input` continued over its borders by its mirror image.

    output[…, i, …] = input[…, mirror[i - p], …] along every axis
    where p is paddings[a, 0] for axis a, n is its size in input, and mirror[k] is k from 0 to n - 1
    with REFLECT mirror[k] = -k below that, 2 · n - 2 - k above
    with SYMMETRIC mirror[k] = -k - 1 below that, 2 · n - 1 - k above

    A row of `paddings` says how many cells to add before and after an axis. REFLECT mirrors about the
    border cell, SYMMETRIC about its outer edge, so that the border cell comes twice.
    """
    return mirrored(input.copy(), paddings, mode)


@mirror_pad.shape
def _(input: Spec, paddings: Spec, *, mode: str) -> Shape:
    return mirrored_shape(input.shape, paddings, mode)


def mirror_cells(
    padded: tuple[Coordinate, ...], sizes: tuple[int, ...], paddings: Spec, mode: str
) -> tuple[tuple[Coordinate, ...], dict[str, tuple[int, ...]]]:
    """The cell of these sizes that each place of the padded tensor shows, and the tables for it."""
    cells, tables = [], {}
    for axis, pads in enumerate(paddings.contents.tolist()):
        cells.append(padded[axis])
        if any(pads):
            name = f"mirror along axis {axis}"
            tables[name] = tuple(mirror_places(sizes[axis], pads, mode).tolist())
            cells[axis] = held(name, padded[axis])
    return tuple(cells), tables


def _mirror_ways(
    rule: str, of: str, inner: tuple[str, Spec], outer: tuple[str, Spec], **how: Any
) -> list[AccessMap]:
    loops, at = over(outer[1].sizes)
    shown, tables = mirror_cells(at, inner[1].sizes, **how)
    return [AccessMap(rule, (of,), loops, {inner[0]: Cells(shown), outer[0]: Cells(at)}, tables)]


@mirror_pad.cells
def _(y: Spec, input: Spec, paddings: Spec, *, mode: str) -> list[AccessMap]:
    small, large = ("input", input), ("output", y)
    return _mirror_ways("copy", "input", small, large, paddings=paddings, mode=mode)


@mirror_pad.grad
def _(dy: Value, y: Value, input: Value, paddings: Value, *, mode: str) -> list[Value]:
    return [mirror_pad_grad(dy, paddings, mode=mode), None]


@op("MirrorPadGrad", "T, Tpaddings -> T", T=NUMBERS, Tpaddings=INDEX)
def mirror_pad_grad(input: Array, paddings: Array, *, mode: Mirror) -> Array:
    """The gradient of MirrorPad: adds every cell of the mirror image to the cell that it shows.

    output[…, j, …] = Σ over the i with mirror[i - p] = j of input[…, i, …] along every axis
    where p is paddings[a, 0] for axis a, n is its size in output, and mirror[k] is k from 0 to n - 1
    with REFLECT mirror[k] = -k below that, 2 · n - 2 - k above
    with SYMMETRIC mirror[k] = -k - 1 below that, 2 · n - 1 - k above
    """
    x = input.astype(wide(input.dtype))
    edge = 1 if mode == "REFLECT" else 0  # REFLECT does not repeat the cell at the border
    for axis, (before, after) in enumerate(paddings.tolist()):
        x = np.moveaxis(x, axis, 0)
        n = len(x) - before - after
        folded = x[before : before + n] + x.dtype.type(0)  # a sum of one: -0 becomes 0
        folded[edge : edge + before] += x[:before][::-1]
        folded[n - edge - after : n - edge] += x[before + n :][::-1]
        x = np.moveaxis(folded, 0, axis)
    return x


@mirror_pad_grad.shape
def _(input: Spec, paddings: Spec, *, mode: str) -> Shape:
    rank, pairs = pad_pairs(input.shape, paddings)
    if rank is None:
        return None
    if input.shape is None or pairs is None:
        return (None,) * rank
    sizes = [None if n is None else n - sum(p) for n, p in zip(input.shape, pairs, strict=True)]
    hint = "Use the paddings and the mode of MirrorPad."
    for n, size, pads in zip(input.shape, sizes, pairs, strict=True):
        if size is not None:
            if size < 0:
                raise OpError(
                    f"must leave something of size {n}", arg="paddings", got=pads, hint=hint
                )
            _checked(size, pads, mode, hint)
    return tuple(sizes)


@mirror_pad_grad.cells
def _(y: Spec, input: Spec, paddings: Spec, *, mode: str) -> list[AccessMap]:
    small, large = ("output", y), ("input", input)
    return _mirror_ways("sum", "input", small, large, paddings=paddings, mode=mode)


@mirror_pad_grad.grad
def _(ddx: Value, dx: Value, input: Value, paddings: Value, *, mode: str) -> list[Value]:
    return [mirror_pad(ddx, paddings, mode=mode), None]


# -- cases ---------------------------------------------------------------------------------------

_line = np.array([1.0, 2, 3])

mirror_pad.case(
    "about the border cell",
    input=_line,
    paddings=[[2, 1]],
    mode="REFLECT",
    out=np.array([3.0, 2, 1, 2, 3, 2]),
)
mirror_pad.case(
    "about the outer edge",
    input=_line,
    paddings=[[2, 3]],
    mode="SYMMETRIC",
    out=np.array([2.0, 1, 1, 2, 3, 3, 2, 1]),
)
mirror_pad.case(
    "rows and columns",
    input=np.array([[1.0, 2], [3, 4]]),
    paddings=[[1, 0], [0, 1]],
    mode="REFLECT",
    out=np.array([[3.0, 4, 3], [1, 2, 1], [3, 4, 3]]),
)
mirror_pad.case(
    "a scalar has no border",
    input=np.array(5.0),
    mode="REFLECT",
    paddings=np.zeros((0, 2), np.int32),
    out=np.array(5.0),
)
mirror_pad_grad.case(
    "cells shown twice get both",
    input=np.array([1.0, 2, 4, 8, 16, 32]),
    paddings=[[2, 1]],
    mode="REFLECT",
    out=np.array([4.0, 42, 17]),
)
mirror_pad_grad.case(
    "about the outer edge",
    input=np.array([1.0, 2, 4, 8]),
    paddings=[[1, 0]],
    mode="SYMMETRIC",
    out=np.array([3.0, 4, 8]),
)
mirror_pad_grad.fails(
    "CVE-2022-41895: nothing left",
    input=[1.0],
    mode="REFLECT",
    paddings=[[0x77F00000, 0x0A000000]],
    error="leave something",
)
for _each in (mirror_pad, mirror_pad_grad):
    _each.fails(
        "further than the mirror reaches",
        input=_line,
        paddings=[[3, 0]],
        mode="REFLECT",
        error="between 0 and",
    )
    _each.fails(
        "cutting instead",
        input=_line,
        paddings=[[-1, 0]],
        mode="REFLECT",
        error="between 0 and",
    )
    _each.fails(
        "a row too many",
        input=_line,
        paddings=[[0, 0], [0, 0]],
        mode="REFLECT",
        error="a row of 2 entries",
    )
    _each.differs(
        "empty",
        tensorflow="An empty axis is refused, even without padding.",
        ours="It stays empty.",
    )
