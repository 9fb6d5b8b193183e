"""Cells in another order: axes swapped, tensors stacked, cells picked and placed by index."""

from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import ALL, NUMBERS, wide
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, nothing, op
from backblocks.ops._spec import (
    Shape,
    Spec,
    agreed,
    broadcast,
    known_value,
    ranked,
    shape_text,
    sizes_from,
)
from backblocks.ops.array.broadcasting import fit
from backblocks.ops.array.shapes import INDEX, shape_of
from backblocks.ops.attrs import Int


@op("Transpose", "T, Tperm -> y: T", T=ALL, Tperm=INDEX)
def transpose(x: Array, perm: Array) -> Array:
    """`x` with its axes in the order of `perm`: axis i of the result is axis perm[i] of `x`."""
    return x.transpose(perm.tolist())


@transpose.shape
def _(x: Spec, perm: Spec) -> Shape:
    (rank,) = ranked("perm", perm, 1)
    if rank is None:
        return None if x.shape is None else (None,) * len(x.shape)
    sizes = ranked("x", x, rank)
    if perm.value is None:
        return (None,) * rank
    order = _checked_order("perm", perm.value)
    return tuple(sizes[axis] for axis in order)


def _checked_order(arg: str, perm: Array) -> list[int]:
    order: list[int] = perm.tolist()
    if sorted(order) != list(range(len(order))):
        raise OpError(f"must hold each of 0 to {len(order) - 1} once", arg=arg, got=order)
    return order


@transpose.grad
def _(dy: Value, y: Value, x: Value, perm: Value) -> list[Value]:
    order = known_value(perm)
    back = invert_permutation(perm if order is None else order)
    return [transpose(dy, back), None]


transpose.case(
    "rows become columns",
    x=np.array([[1.0, 2], [3, 4]]),
    perm=np.array([1, 0]),
    out=np.array([[1.0, 3], [2, 4]]),
)
transpose.fails(
    "CVE-2021-41216: negative axis", x=np.zeros((1, 2)), perm=[0, -1], error="each of 0 to 1"
)


@op("InvertPermutation", "T -> y: T", T=INDEX)
def invert_permutation(x: Array) -> Array:
    """The order that undoes the order `x`."""
    return np.argsort(x)


@invert_permutation.shape
def _(x: Spec) -> Shape:
    shape = ranked("x", x, 1)
    if x.value is not None:
        _checked_order("x", x.value)
    return shape


invert_permutation.grad(nothing)
invert_permutation.case("three", x=np.array([2, 0, 1]), out=np.array([1, 2, 0]))
invert_permutation.fails("one twice", x=[0, 0], error="once")


@op("Pack", "T* -> T", T=ALL)
def pack(values: tuple[Array, ...], *, axis: Int = 0) -> Array:
    """Tensors of one shape, stacked along a new axis."""
    return np.stack(values, axis)


@pack.shape
def _(values: tuple[Spec, ...], *, axis: int) -> Shape:
    if not values:
        raise OpError("must have at least one tensor", arg="values")
    shape = values[0].shape
    for spec in values[1:]:
        shape = agreed("values", spec, shape, "the shape of the first")
    if shape is None:
        return None
    rank = len(shape) + 1
    if not -rank <= axis < rank:
        raise OpError(f"must lie in [{-rank}, {rank})", arg="axis", got=axis)
    sizes = list(shape)
    sizes.insert(axis % rank, len(values))
    return tuple(sizes)


@pack.grad
def _(dy: Value, y: Value, values: Any, *, axis: int) -> list[Value]:
    return [unpack(dy, num=len(values), axis=axis)]


pack.case(
    "two rows", values=[np.array([1.0, 2]), np.array([3.0, 4])], out=np.array([[1.0, 2], [3, 4]])
)
pack.fails("nothing to stack", values=[], error="at least one")


@op("Unpack", "T -> output: T*", T=ALL)
def unpack(value: Array, *, num: Int, axis: Int = 0) -> tuple[Array, ...]:
    """The slices of `value` along `axis`, each with one axis less."""
    return tuple(np.moveaxis(value, axis, 0))


@unpack.shape
def _(value: Spec, *, num: int, axis: int) -> tuple[Shape, ...]:
    if num < 0:
        raise OpError("must not be negative", arg="num", got=num)
    if value.shape is None:
        return (None,) * num
    rank = len(value.shape)
    if not -rank <= axis < rank:
        raise OpError(f"must lie in [{-rank}, {rank})", arg="axis", got=axis)
    size = value.shape[axis]
    if size not in (None, num):
        raise OpError(f"must be the size of axis {axis}, {size}", arg="num", got=num)
    rest = list(value.shape)
    del rest[axis]
    return (tuple(rest),) * num


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
unpack.fails("another number", value=np.zeros((3, 2)), num=2, error="size of axis 0, 3")


@op("SelectV2", "bool, T, T -> T", T=ALL)
def select_v2(condition: Array, t: Array, e: Array) -> Array:
    """Where `condition` holds, the cell of `t`; elsewhere that of `e`. All three broadcast."""
    return np.where(condition, t, e)


@select_v2.shape
def _(condition: Spec, t: Spec, e: Spec) -> Shape:
    return broadcast("e", broadcast("t", condition.shape, t.shape), e.shape)


@select_v2.grad
def _(dy: Value, y: Value, condition: Value, t: Value, e: Value) -> list[Value]:
    return [None, fit(select_v2(condition, dy, 0), t), fit(select_v2(condition, 0, dy), e)]


select_v2.case(
    "the larger",
    condition=np.array([True, False]),
    t=np.array([1.0, 2]),
    e=np.array([3.0]),
    out=np.array([1.0, 3]),
)


def _check_indices(indices: Spec, sizes: Shape, depth: int) -> None:
    """Every index vector must name a cell of a tensor that begins with these sizes."""
    if indices.value is None or sizes is None or None in sizes[:depth] or not indices.value.size:
        return
    inside = (indices.value >= 0) & (indices.value < np.array(sizes[:depth], np.int64))
    if not inside.all():
        bad = indices.value.reshape(-1, depth)[~inside.reshape(-1, depth).all(-1)][0]
        raise OpError(
            f"every index must lie inside {shape_text(sizes)}", arg="indices", got=bad.tolist()
        )


@op("GatherNd", "Tparams, Tindices -> Tparams", Tparams=ALL, Tindices=INDEX)
def gather_nd(params: Array, indices: Array) -> Array:
    """The cells or slices of `params` that the index vectors (the last axis of `indices`) name."""
    return (
        params[tuple(np.moveaxis(indices, -1, 0))]
        if indices.shape[-1]
        else np.broadcast_to(params, indices.shape[:-1] + params.shape)
    )


@gather_nd.shape
def _(params: Spec, indices: Spec) -> Shape:
    if indices.shape is None or params.shape is None:
        return None
    if not indices.shape:
        raise OpError("must have at least one dimension", arg="indices", got=indices.shape)
    depth = indices.shape[-1]
    if depth is None:
        return None
    if depth > len(params.shape):
        raise OpError(
            f"index vectors must have at most {len(params.shape)} entries", arg="indices", got=depth
        )
    _check_indices(indices, params.shape, depth)
    return indices.shape[:-1] + params.shape[depth:]


@gather_nd.grad
def _(dy: Value, y: Value, params: Value, indices: Value) -> list[Value]:
    return [scatter_nd(indices, dy, ops.cast(shape_of(params), DstT=indices.dtype)), None]


gather_nd.case(
    "one cell", params=np.array([[1.0, 2], [3, 4]]), indices=np.array([[1, 0]]), out=np.array([3.0])
)
gather_nd.fails("outside", params=np.zeros((2, 2)), indices=[[2, 0]], error="inside")


@op("ScatterNd", "Tindices, T, Tindices -> T", T=NUMBERS, Tindices=INDEX)
def scatter_nd(indices: Array, updates: Array, shape: Array) -> Array:
    """Zeros of this shape, with each update added at the cell or slice that its index vector names."""
    out = np.zeros(shape.tolist(), wide(updates.dtype))
    np.add.at(out, tuple(np.moveaxis(indices, -1, 0)), updates)
    return out


@scatter_nd.shape
def _(indices: Spec, updates: Spec, shape: Spec) -> Shape:
    (rank,) = ranked("shape", shape, 1)
    if rank is None:
        return None
    sizes = sizes_from("shape", shape, [rank])
    if indices.shape is None:
        return sizes
    if not indices.shape:
        raise OpError("must have at least one dimension", arg="indices", got=indices.shape)
    depth = indices.shape[-1]
    if depth is None:
        return sizes
    if depth > rank:
        raise OpError(f"index vectors must have at most {rank} entries", arg="indices", got=depth)
    agreed("updates", updates, indices.shape[:-1] + sizes[depth:], "one update for each index")
    _check_indices(indices, sizes, depth)
    return sizes


@scatter_nd.grad
def _(dy: Value, y: Value, indices: Value, updates: Value, shape: Value) -> list[Value]:
    return [None, gather_nd(dy, indices), None]


scatter_nd.case(
    "two at one cell add up",
    indices=np.array([[1], [1], [0]]),
    updates=np.array([1.0, 2, 4]),
    shape=np.array([3]),
    out=np.array([4.0, 3, 0]),
)
scatter_nd.fails("outside", indices=[[3]], updates=[1.0], shape=[3], error="inside")
