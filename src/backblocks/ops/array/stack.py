"""Stack and unstack along a new axis: Pack and Unpack."""

from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import REARRANGED
from backblocks.errors import OpError
from backblocks.ops._access_maps import AccessMap, Cells, Coordinate, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec, agreed, check_axis
from backblocks.ops.attrs import Int


@op("Pack", "T* -> T", aliases=("stack", "np.stack"), T=REARRANGED)
def pack(values: tuple[Array, ...], *, axis: Int = 0) -> Array:
    """Tensors of one shape, stacked along a new axis.

    output[…, m, …] = values[m][…]
    where m stands at axis
    """
    return np.stack(values, axis)


@pack.shape
def _(values: tuple[Spec, ...], *, axis: int) -> Shape:
    if not values:
        raise OpError(
            "must have at least one tensor", arg="values", got=values, hint="Pass a list: [x, y]."
        )
    shape = values[0].shape
    hint = "Bring them to one shape, with reshape or broadcast_to."
    for i, spec in enumerate(values[1:], 1):
        shape = agreed("values", spec, shape, "the shape of the first", hint, i)
    if shape is None:
        return None
    rank = len(shape) + 1
    check_axis("axis", axis, rank)
    sizes = list(shape)
    sizes.insert(axis % rank, len(values))
    return tuple(sizes)


@pack.cells
def _(y: Spec, values: tuple[Spec, ...], *, axis: int) -> list[AccessMap]:
    loops, at = over(values[0].sizes)
    names = [f"values[{i}]" for i in range(len(values))]
    return [
        AccessMap("copy", (x,), loops, {x: Cells(at), "output": Cells(_stacked(at, axis, i))})
        for i, x in enumerate(names)
    ]


def _stacked(at: tuple[Coordinate, ...], axis: int, number: int) -> tuple[Coordinate, ...]:
    """The place of a cell of the tensor of this number, when tensors are stacked along an axis."""
    place = list(at)
    place.insert(axis % (len(at) + 1), Coordinate(number))
    return tuple(place)


@pack.grad
def _(dy: Value, y: Value, values: Any, *, axis: int) -> list[Value]:
    return [unpack(dy, num=len(values), axis=axis)]


pack.case(
    "two rows", values=[np.array([1.0, 2]), np.array([3.0, 4])], out=np.array([[1.0, 2], [3, 4]])
)
pack.fails("nothing to stack", values=[], error="at least one")


MOST_PARTS = 2**16
"""More tensors than anybody can wire, and few enough to make at once."""


@op("Unpack", "T -> output: T*", aliases=("unstack", "unbind"), T=REARRANGED)
def unpack(value: Array, *, num: Int, axis: Int = 0) -> tuple[Array, ...]:
    """The slices of `value` along `axis`, each with one axis less.

    output[m][…] = value[…, m, …]
    where m stands at axis, and 0 ≤ m < num
    """
    return tuple(np.moveaxis(value, axis, 0))


@unpack.shape
def _(value: Spec, *, num: int, axis: int) -> tuple[Shape, ...]:
    if num < 0:
        hint = "Use the size of the axis: value.shape[axis]."
        raise OpError("must not be negative", arg="num", got=num, hint=hint)
    if num > MOST_PARTS:
        hint = "Use GatherNd for the parts you need."
        raise OpError(f"must be at most {MOST_PARTS}", arg="num", got=num, hint=hint)
    if value.shape is None:
        return (None,) * num
    rank = len(value.shape)
    check_axis("axis", axis, rank)
    size = value.shape[axis]
    if size not in (None, num):
        raise OpError(
            f"must be the size of axis {axis}, {size}",
            arg="num",
            got=num,
            hint="Slice value first to unpack only some of it.",
        )
    rest = list(value.shape)
    del rest[axis]
    return (tuple(rest),) * num


@unpack.cells
def _(y: tuple[Spec, ...], value: Spec, *, num: int, axis: int) -> list[AccessMap]:
    maps = []
    for i in range(num):
        loops, at = over(y[i].sizes)
        cells = {"value": Cells(_stacked(at, axis, i)), f"output[{i}]": Cells(at)}
        maps.append(AccessMap("copy", ("value",), loops, cells))
    return maps


@unpack.grad
def _(dy: Value, y: Value, value: Value, *, num: int, axis: int) -> list[Value]:
    filled = [ops.zeros_like(out) if d is None else d for d, out in zip(dy, y, strict=True)]
    return [pack(filled, axis=axis)]


unpack.case(
    "two rows",
    value=np.array([[1.0, 2], [3, 4]]),
    num=2,
    out=(np.array([1.0, 2]), np.array([3.0, 4])),
)
unpack.fails("a billion parts", value=np.zeros((3, 2)), num=10**9, error="at most 65536")
unpack.fails("another number", value=np.zeros((3, 2)), num=2, error="size of axis 0, 3")
