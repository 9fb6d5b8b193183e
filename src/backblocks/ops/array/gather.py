"""Gather: slices of a tensor picked by index."""

from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import NAMES, REARRANGED
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, held, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec, agreed, check_axis, known_value, scalar_value
from backblocks.ops.array.gather_nd_and_scatter_nd import INDEX_TYPES
from backblocks.ops.array.shapes import INDEX, shape_of
from backblocks.ops.attrs import Flag, Int


def _gathered(params: Array, indices: Array, axis: int, batch: int) -> Array:
    """Slices along `axis`; the first `batch` axes of both count the pairs of them, one by one."""
    axis %= params.ndim
    batch = _counted_from_front(batch, indices.ndim)
    if not batch:
        # One text alone comes as bytes, which NumPy would cut at their zero bytes.
        return np.asanyarray(params.take(indices, axis), params.dtype)
    # With the gathered axis right after the batch, all slices of all pairs are rows of one table.
    table = np.moveaxis(params, axis, batch)
    pairs, n = indices.shape[:batch], table.shape[batch]
    table = table.reshape(int(np.prod(pairs, dtype=int)) * n, *table.shape[batch + 1 :])
    starts = np.arange(0, len(table), n).reshape(pairs + (1,) * (indices.ndim - batch))
    picked = table.take(indices + starts, 0)
    last = range(batch, indices.ndim)
    return np.moveaxis(picked, last, range(axis, axis + len(last)))


def _counted_from_front(batch: int, rank: int) -> int:
    """`batch_dims` of indices of this rank; below 0 it leaves so many of their axes out."""
    return batch + rank if batch < 0 else batch


def _gathered_shape(params: Spec, indices: Spec, axis: int | None, batch: int) -> Shape:
    deep = None if indices.shape is None else len(indices.shape)
    if deep is not None and not -deep <= batch <= deep:
        rule, hint = f"must lie in [{-deep}, {deep}]", "Use 0 to pick from the whole."
        raise OpError(rule, arg="batch_dims", got=batch, hint=hint)
    if params.shape is None:
        return None
    rank = len(params.shape)
    if rank == 0:
        raise OpError(
            "must have at least 1 dimension",
            arg="params",
            got=described("a scalar"),
            hint="Make it a row of one: [x].",
        )
    if axis is not None:
        check_axis("axis", axis, rank)
    if indices.shape is None or deep is None:
        return None
    batch = _counted_from_front(batch, deep)
    if axis is None:
        return (None,) * (rank - 1 + deep - batch)
    axis %= rank
    if batch > axis:
        hint = "The axis to pick along comes after those that are counted."
        raise OpError(f"must be at most axis, {axis}", arg="batch_dims", got=batch, hint=hint)
    pairs = agreed(
        "indices",
        Spec(indices.shape[:batch], indices.dtype),
        params.shape[:batch],
        f"the first {batch} sizes of params",
        "Use batch_dims=0 to pick from the whole.",
    )
    _check_inside(indices, params.shape[axis])
    return (
        *(pairs or ()),
        *params.shape[batch:axis],
        *indices.shape[batch:],
        *params.shape[axis + 1 :],
    )


def _check_inside(indices: Spec, n: int | None) -> None:
    if n is None or indices.value is None:
        return
    outside = indices.value[(indices.value < 0) | (indices.value >= n)]
    if outside.size:
        hint = "Count slices from 0 at the front."
        raise OpError(f"must lie in [0, {n})", arg="indices", got=outside[0].item(), hint=hint)


def _spread(dy: Value, params: Value, indices: Value, axis: Value, batch: int) -> Value:
    """Adds every slice of `dy` to the slice of params that it was."""
    at = known_value(axis)
    if at is None or params.shape is None or indices.shape is None:
        raise OpError(
            "must be known to differentiate, and so must the ranks of params and indices",
            op="GatherV2",
            arg="axis",
            hint="Use a constant axis, and inputs with shapes.",
        )
    rank, deep = len(params.shape), len(indices.shape)
    first, batch = int(at) % rank, _counted_from_front(batch, deep)
    # The axes of dy that came from indices go in front, behind those of the batch.
    picked = range(first, first + deep - batch)
    others = [a for a in range(batch, rank - 1 + deep - batch) if a not in picked]
    updates = ops.transpose(dy, np.array([*range(batch), *picked, *others], np.int32))
    order = np.array(
        [*range(batch), first, *(a for a in range(batch, rank) if a != first)], np.int32
    )
    index_type = "int64" if indices.dtype == np.int64 else "int32"
    sizes = gather_v2(shape_of(params, index_type), order, 0)
    rows = indices if NAMES[indices.dtype] == index_type else ops.cast(indices, DstT=index_type)
    places = [_counted(rows, a, deep, index_type) for a in range(batch)]
    moved = ops.scatter_nd(ops.pack([*places, rows], axis=-1), updates, sizes)
    return ops.transpose(moved, np.argsort(order).astype(np.int32))


def _counted(indices: Value, axis: int, rank: int, index_type: str) -> Value:
    """The number of each cell of `indices` along one of its axes."""
    sizes = shape_of(indices, index_type)
    n = ops.reshape(ops.slice(sizes, [axis], [1]), np.zeros(0, np.int32))
    zero, one = (np.array(i, index_type) for i in (0, 1))
    column = np.ones(rank, np.int32)
    column[axis] = -1
    return ops.broadcast_to(ops.reshape(ops.range(zero, n, one), column), sizes)


@op(
    "GatherV2",
    "Tparams, Tindices, Taxis -> Tparams",
    aliases=("gather", "take", "index_select", "np.take", "embedding"),
    Tparams=REARRANGED,
    Tindices=INDEX_TYPES,
    Taxis=INDEX,
)
def gather_v2(params: Array, indices: Array, axis: Array, *, batch_dims: Int = 0) -> Array:
    """The slices of `params` along `axis` that `indices` number, in the shape of `indices`.

    output[b, a, i, …] = params[b, a, indices[b, i], …]
    where b stands for the first batch_dims axes, a for those up to axis, i for the rest of indices

    The first `batch_dims` axes of both belong together: each part of `indices` picks from its own
    part of `params`.
    """
    return _gathered(params, indices, int(axis.item()), batch_dims)


@gather_v2.shape
def _(params: Spec, indices: Spec, axis: Spec, *, batch_dims: int) -> Shape:
    return _gathered_shape(params, indices, scalar_value("axis", axis), batch_dims)


def _gather_cells(y: Spec, params: Spec, indices: Spec, axis: int, batch: int) -> list[AccessMap]:
    axis %= len(params.sizes)
    batch = _counted_from_front(batch, len(indices.sizes))
    loops, at = over(y.sizes)
    behind = axis + len(indices.sizes) - batch
    named = held("indices", *at[:batch], *at[axis:behind])
    cells = {"params": Cells((*at[:axis], named, *at[behind:])), "output": Cells(at)}
    return [AccessMap("copy", ("params",), loops, cells)]


@gather_v2.cells
def _(y: Spec, params: Spec, indices: Spec, axis: Spec, *, batch_dims: int) -> list[AccessMap]:
    return _gather_cells(y, params, indices, int(axis.contents.item()), batch_dims)


@gather_v2.grad
def _(
    dy: Value, y: Value, params: Value, indices: Value, axis: Value, *, batch_dims: int
) -> list[Value]:
    return [_spread(dy, params, indices, axis, batch_dims), None, None]


@op("Gather", "Tparams, Tindices -> Tparams", Tparams=REARRANGED, Tindices=INDEX)
def gather(params: Array, indices: Array, *, validate_indices: Flag = True) -> Array:
    """GatherV2 along the first axis.

    output[i, …] = params[indices[i], …]
    where i stands for all axes of indices
    """
    return _gathered(params, indices, 0, 0)


@gather.shape
def _(params: Spec, indices: Spec, *, validate_indices: bool) -> Shape:
    return _gathered_shape(params, indices, 0, 0)


@gather.cells
def _(y: Spec, params: Spec, indices: Spec, *, validate_indices: bool) -> list[AccessMap]:
    return _gather_cells(y, params, indices, 0, 0)


@gather.grad
def _(dy: Value, y: Value, params: Value, indices: Value, **how: Any) -> list[Value]:
    return [_spread(dy, params, indices, np.array(0, np.int32), 0), None]


_table = np.array([[1.0, 2, 3], [4, 5, 6]])
gather_v2.case(
    "columns, one twice",
    params=_table,
    indices=np.array([2, 0, 2]),
    axis=np.array(-1, np.int32),
    out=np.array([[3.0, 1, 3], [6, 4, 6]]),
)
gather_v2.case(
    "rows, in the shape of the indices",
    params=_table,
    indices=np.array([[1], [0]], np.int32),
    axis=np.array(0),
    out=np.array([[[4.0, 5, 6]], [[1, 2, 3]]]),
)
gather_v2.case(
    "each from its own row",
    params=_table,
    indices=np.array([[0, 0], [2, 1]]),
    axis=np.array(1),
    batch_dims=1,
    out=np.array([[1.0, 1], [6, 5]]),
)
gather_v2.case(
    "each from its own row, of pairs",
    params=np.arange(12.0).reshape(2, 2, 3),
    indices=np.array([[2], [0]], np.int16),
    axis=np.array(2),
    batch_dims=-1,
    out=np.array([[[2.0], [5]], [[6], [9]]]),
)
gather_v2.case(
    "a lone index drops the axis",
    params=_table,
    indices=np.array(1),
    axis=np.array(0),
    out=np.array([4.0, 5, 6]),
)
gather.case(
    "rows, one twice",
    params=_table,
    indices=np.array([1, 0, 1]),
    out=np.array([[4.0, 5, 6], [1, 2, 3], [4, 5, 6]]),
)
gather.case("none", params=_table, indices=np.zeros((0, 2), np.int32), out=np.zeros((0, 2, 3)))
gather_v2.fails("an axis too far", params=_table, indices=[0], axis=2, error="must lie in")
gather_v2.fails(
    "more counted than there are", params=_table, indices=[0], axis=1, batch_dims=2, error="lie in"
)
gather_v2.fails(
    "counted beyond the axis",
    params=_table,
    indices=[[0], [0]],
    axis=0,
    batch_dims=1,
    error="at most axis",
)
gather_v2.fails(
    "other batches", params=_table, indices=[[0]], axis=1, batch_dims=1, error="first 1 sizes"
)
for _op, _more in ((gather_v2, {"axis": 0}), (gather, {})):
    _op.fails("outside", params=_table, indices=[0, 2], **_more, error=r"must lie in \[0, 2\)")
    _op.fails("before the first", params=_table, indices=[-1], **_more, error="must lie in")
    _op.fails("from a scalar", params=1.0, indices=[0], **_more, error="at least 1 dimension")
