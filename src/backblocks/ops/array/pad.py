"""Padding with a constant value."""

from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import VALUES, zeros
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Size, Spec, known_value, ranked, scalar_value, shape_text
from backblocks.ops.array.broadcasting import unbroadcast
from backblocks.ops.array.shapes import INDEX, shape_of


def pad_pairs(shape: Shape, paddings: Spec) -> tuple[Size, list[list[int]] | None]:
    """The rank, and the padding before and after each axis; None for what is not known yet."""
    rows, columns = ranked("paddings", paddings, 2, "one row a dimension: before, after")
    rank = rows if shape is None else len(shape)
    if columns not in (None, 2) or rows not in (None, rank):
        wanted = "any" if rank is None else rank
        raise OpError(
            f"must have a row of 2 entries for each dimension of input ({wanted})",
            arg="paddings",
            got=described(f"shape {shape_text(paddings.shape)}"),
            hint="Use [0, 0] for a dimension that is to stay as it is.",
        )
    return rank, None if paddings.value is None else paddings.value.tolist()


def _padded(input: Array, paddings: Array, value: Array) -> Array:
    pads = paddings.tolist()
    sizes = [n + sum(pair) for n, pair in zip(input.shape, pads, strict=True)]
    out = np.full(sizes, value, input.dtype)
    inside: list[Any] = [
        slice(before, before + n) for n, (before, _) in zip(input.shape, pads, strict=True)
    ]
    np.copyto(out[(..., *inside)], input)
    return out


def _padded_shape(input: Spec, paddings: Spec) -> Shape:
    rank, pairs = pad_pairs(input.shape, paddings)
    for pads in pairs or ():
        if min(pads) < 0:
            hint = "Slice to cut cells off."
            raise OpError("must not be negative", arg="paddings", got=pads, hint=hint)
    if rank is None:
        return None
    if input.shape is None or pairs is None:
        return (None,) * rank
    return tuple(
        None if n is None else n + sum(pads) for n, pads in zip(input.shape, pairs, strict=True)
    )


def _inside(dy: Value, input: Value, paddings: Value) -> Value:
    """The part of `dy` that is not border."""
    known = known_value(paddings)
    first = ops.slice(paddings if known is None else known, [0, 0], [-1, 1])
    begin = ops.reshape(first, [-1])
    return ops.slice(dy, begin, shape_of(input, begin.dtype.name))


@op("Pad", "T, Tpaddings -> T", aliases=("zero padding", "np.pad"), T=VALUES, Tpaddings=INDEX)
def pad(input: Array, paddings: Array) -> Array:
    """`input` with zeros around it. A row of `paddings` says how many before and after an axis.

    output[i] = input[i - p], or 0 outside
    where i stands for all axes, and p is paddings[:, 0]
    """
    return _padded(input, paddings, zeros((), input.dtype))


@pad.shape
def _(input: Spec, paddings: Spec) -> Shape:
    return _padded_shape(input, paddings)


def _inner_access(input: Spec, paddings: Spec) -> AccessMap:
    loops, at = over(input.sizes)
    place = tuple(i + before for i, (before, _) in zip(at, paddings.contents.tolist(), strict=True))
    return AccessMap("copy", ("input",), loops, {"input": Cells(at), "output": Cells(place)})


@pad.cells
def _(y: Spec, input: Spec, paddings: Spec) -> list[AccessMap]:
    return [_inner_access(input, paddings)]


@pad.grad
def _(dy: Value, y: Value, input: Value, paddings: Value) -> list[Value]:
    return [_inside(dy, input, paddings), None]


@op("PadV2", "T, Tpaddings, T -> T", aliases=("constant padding",), T=VALUES, Tpaddings=INDEX)
def pad_v2(input: Array, paddings: Array, constant_values: Array) -> Array:
    """Pad with another value than zero around it.

    output[i] = input[i - p], or constant_values outside
    where i stands for all axes, and p is paddings[:, 0]
    """
    return _padded(input, paddings, constant_values)


@pad_v2.shape
def _(input: Spec, paddings: Spec, constant_values: Spec) -> Shape:
    if constant_values.shape not in (None, ()):
        scalar_value("constant_values", Spec(constant_values.shape, constant_values.dtype))
    return _padded_shape(input, paddings)


@pad_v2.cells
def _(y: Spec, input: Spec, paddings: Spec, constant_values: Spec) -> list[AccessMap]:
    """The border is in slabs before and after each axis; they run through all of the axes behind it."""
    maps = [_inner_access(input, paddings)]
    pairs = paddings.contents.tolist()
    for axis, (before, after) in enumerate(pairs):
        for first, size in ((0, before), (before + input.sizes[axis], after)):
            loops, at = over((*input.sizes[:axis], size, *y.sizes[axis + 1 :]))
            starts = (*(pair[0] for pair in pairs[:axis]), first)
            slab = tuple(i + b for i, b in zip(at, starts, strict=False)) + at[axis + 1 :]
            cells = {"constant_values": Cells(()), "output": Cells(slab)}
            maps += [AccessMap("copy", ("constant_values",), loops, cells)] if size else []
    return maps


@pad_v2.grad
def _(dy: Value, y: Value, input: Value, paddings: Value, constant_values: Value) -> list[Value]:
    inside = _inside(dy, input, paddings)
    border = ops.sub(unbroadcast(dy, constant_values), unbroadcast(inside, constant_values))
    return [inside, None, border]


_row = np.array([[1.0, 2]])
pad.case(
    "above, and on both sides",
    input=_row,
    paddings=np.array([[1, 0], [1, 2]]),
    out=np.array([[0.0, 0, 0, 0, 0], [0, 1, 2, 0, 0]]),
)
pad_v2.case(
    "above, and on both sides",
    input=_row,
    paddings=np.array([[1, 0], [1, 2]]),
    constant_values=np.array(9.0),
    out=np.array([[9.0, 9, 9, 9, 9], [9, 1, 2, 9, 9]]),
)
pad_v2.case(
    "nothing but border",
    input=np.zeros((0, 2)),
    paddings=np.array([[0, 1], [0, 0]], np.int32),
    constant_values=np.array(5.0),
    out=np.array([[5.0, 5]]),
)
for _op, _more in ((pad, {}), (pad_v2, {"constant_values": np.array(3.0)})):
    _op.case(
        "a scalar has no border",
        input=np.array(7.0),
        paddings=np.zeros((0, 2), np.int32),
        **_more,
        out=np.array(7.0),
    )
    _op.fails("cutting", input=_row, paddings=[[0, 0], [-1, 0]], **_more, error="not be negative")
    _op.fails("a row missing", input=_row, paddings=[[1, 0]], **_more, error="row of 2 entries")
pad_v2.fails(
    "a value for each cell",
    input=_row,
    paddings=[[0, 0], [0, 1]],
    constant_values=[1.0],
    error="must be a scalar",
)
pad_v2.differs(
    "gradient of the border",
    tensorflow="constant_values has no gradient.",
    ours="Its gradient is the sum over the border.",
)
