"""Gather and scatter of the cells or slices that index vectors name."""

import math
from dataclasses import replace
from typing import Annotated

import numpy as np

from backblocks import ops
from backblocks.dtypes import NUMBERS, REARRANGED, VALUES, wide, zeros
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import (
    MINUS,
    AccessMap,
    Cells,
    Coordinate,
    held,
    over,
    slice_by_slice,
)
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Size, Spec, agreed, ranked, shape_text, sizes_from
from backblocks.ops.array.shapes import INDEX, shape_of
from backblocks.ops.attrs import choice

INDEX_TYPES = ("int16", *INDEX)
_ABOUT_OUTSIDE = "IGNORE passes over indices outside, the others refuse them."
BadIndices = Annotated[str, choice(_ABOUT_OUTSIDE, "", "DEFAULT", "ERROR", "IGNORE")]


def _inside(indices: Array, sizes: Shape) -> Array:
    """Which index vectors name a cell of a tensor that begins with these sizes."""
    limits = np.array((sizes or ())[: indices.shape[-1]], np.int64)
    return np.asarray(((indices >= 0) & (indices < limits)).all(-1))


def _cells(indices: Array) -> tuple[Array, ...]:
    """Index vectors as NumPy takes them, for a tensor with one more axis in front.

    The axis makes index vectors of no entries, which name the whole tensor, like all others.
    """
    return (np.zeros(len(indices), np.int64), *indices.T)


def _check_indices(indices: Spec, sizes: Shape, depth: int, policy: str) -> None:
    if policy == "IGNORE" or indices.value is None or sizes is None or None in sizes[:depth]:
        return
    outside = indices.value[~_inside(indices.value, sizes)]
    if outside.size:
        raise OpError(
            f"every index must lie inside {shape_text(sizes)}",
            arg="indices",
            got=outside[0].tolist(),
            hint='Use bad_indices_policy="IGNORE" to pass over those outside.',
        )


def _index_depth(indices: Spec, rank: int) -> Size:
    """The length of the index vectors, which stand along the last axis."""
    if indices.shape is None:
        return None
    if not indices.shape:
        raise OpError(
            "must have at least 1 dimension",
            arg="indices",
            got=described("a scalar"),
            hint="Make it an index vector: [i].",
        )
    depth = indices.shape[-1]
    if depth is not None and depth > rank:
        raise OpError(
            f"index vectors must have at most {rank} entries",
            arg="indices",
            got=depth,
            hint="Put each on the last axis: x[:, None] does so for plain numbers.",
        )
    return depth


@op(
    "GatherNd",
    "Tparams, Tindices -> Tparams",
    aliases=("index", "x[i, j]"),
    Tparams=REARRANGED,
    Tindices=INDEX_TYPES,
)
def gather_nd(params: Array, indices: Array, *, bad_indices_policy: BadIndices = "") -> Array:
    """The cells or slices of `params` that the index vectors (the last axis of `indices`) name.

    output[i, …] = params[indices[i, :], …]
    where i stands for all axes of indices but the last, along which index vectors stand

    With `bad_indices_policy="IGNORE"` an index outside gives zeros; otherwise it is refused.
    """
    inside = _inside(indices, params.shape)
    out = zeros(indices.shape[:-1] + params.shape[indices.shape[-1] :], params.dtype)
    out[inside] = params[None][_cells(indices[inside])]
    return out


@gather_nd.shape
def _(params: Spec, indices: Spec, *, bad_indices_policy: str) -> Shape:
    if params.shape is None:
        return None
    depth = _index_depth(indices, len(params.shape))
    if indices.shape is None or depth is None:
        return None
    _check_indices(indices, params.shape, depth, bad_indices_policy)
    return indices.shape[:-1] + params.shape[depth:]


def named_cells(indices: Spec, rest: tuple[int, ...]) -> tuple[dict[str, int], Cells, Cells]:
    """Loops over index vectors and the slices that they name; the cell of a slice, and the named one."""
    *vectors, depth = indices.sizes
    loops, at = over((*vectors, *rest))
    vector, cell = at[: len(vectors)], at[len(vectors) :]
    named = (held("indices", *vector, Coordinate(i)) for i in range(depth))
    return loops, Cells(at), Cells((*named, *cell))


@gather_nd.cells
def _(y: Spec, params: Spec, indices: Spec, *, bad_indices_policy: str) -> list[AccessMap]:
    loops, at, named = named_cells(indices, params.sizes[indices.sizes[-1] :])
    return [AccessMap("copy", ("params",), loops, {"params": named, "output": at})]


@gather_nd.grad
def _(dy: Value, y: Value, params: Value, indices: Value, **policy: str) -> list[Value]:
    sizes = ops.cast(shape_of(params), DstT=indices.dtype)
    return [scatter_nd(indices, dy, sizes, **policy), None]


gather_nd.case(
    "one cell", params=np.array([[1.0, 2], [3, 4]]), indices=np.array([[1, 0]]), out=np.array([3.0])
)
gather_nd.case(
    "a row and one that is not there",
    params=np.array([[1.0, 2], [3, 4]]),
    indices=np.array([[1], [2]]),
    bad_indices_policy="IGNORE",
    out=np.array([[3.0, 4], [0, 0]]),
)
gather_nd.case(
    "index vectors of no entries name the whole",
    params=np.array([1.0, 2]),
    indices=np.zeros((2, 0), np.int64),
    out=np.array([[1.0, 2], [1, 2]]),
)
gather_nd.fails("outside", params=np.zeros((2, 2)), indices=[[2, 0]], error="inside")
gather_nd.fails("too long", params=np.zeros(2), indices=[[0, 0]], error="at most 1")


@op("ScatterNd", "Tindices, T, Tindices -> T", aliases=("scatter",), T=VALUES, Tindices=INDEX_TYPES)
def scatter_nd(
    indices: Array, updates: Array, shape: Array, *, bad_indices_policy: BadIndices = ""
) -> Array:
    """Zeros of this shape, with each update added at the cell or slice that its index vector names.

    output[v, …] = Σ over the i with indices[i, :] = v of updates[i, …]
    where i stands for all axes of indices but the last, along which index vectors stand

    With `bad_indices_policy="IGNORE"` an update outside is dropped; otherwise it is refused.
    """
    sizes = tuple(shape.tolist())
    out = zeros(sizes, wide(updates.dtype))
    inside = _inside(indices, sizes)
    np.add.at(out[None], _cells(indices[inside]), updates[inside])
    return out


@scatter_nd.shape
def _(indices: Spec, updates: Spec, shape: Spec, *, bad_indices_policy: str) -> Shape:
    (rank,) = ranked("shape", shape, 1)
    if rank is None:
        return None
    sizes = sizes_from("shape", shape, [rank])
    depth = _index_depth(indices, rank)
    if indices.shape is None or depth is None:
        return sizes
    hint = "Use broadcast_to where one update is for all."
    expected = indices.shape[:-1] + sizes[depth:]
    agreed("updates", updates, expected, "one update for each index", hint)
    _check_indices(indices, sizes, depth, bad_indices_policy)
    return sizes


@scatter_nd.cells
def _(
    y: Spec, indices: Spec, updates: Spec, shape: Spec, *, bad_indices_policy: str
) -> list[AccessMap]:
    loops, at, named = named_cells(indices, y.sizes[indices.sizes[-1] :])
    return [AccessMap("sum", ("updates",), loops, {"updates": at, "output": named})]


@scatter_nd.grad
def _(
    dy: Value, y: Value, indices: Value, updates: Value, shape: Value, **policy: str
) -> list[Value]:
    return [None, gather_nd(dy, indices, **policy), None]


scatter_nd.case(
    "two at one cell add up",
    indices=np.array([[1], [1], [0]]),
    updates=np.array([1.0, 2, 4]),
    shape=np.array([3]),
    out=np.array([4.0, 3, 0]),
)
scatter_nd.case(
    "one that falls outside is dropped",
    indices=np.array([[1], [3]]),
    updates=np.array([1.0, 2]),
    shape=np.array([3]),
    bad_indices_policy="IGNORE",
    out=np.array([0.0, 1, 0]),
)
scatter_nd.case(
    "index vectors of no entries name the whole",
    indices=np.zeros((2, 0), np.int64),
    updates=np.array([[1.0, 2], [3, 4]]),
    shape=np.array([2]),
    out=np.array([4.0, 6]),
)
scatter_nd.fails("outside", indices=[[3]], updates=[1.0], shape=[3], error="inside")
scatter_nd.fails("a size below zero", indices=[[0]], updates=[1.0], shape=[-3], error="negative")
scatter_nd.differs(
    "half sums",
    at="half",
    tensorflow="Updates of one cell are added in the half type.",
    ours="Sums are kept in float32 and rounded once.",
)


# -- a tensor with some cells or slices changed ---------------------------------------------------------


def scattered(ufunc: np.ufunc | None, tensor: Array, indices: Array, updates: Array) -> Array:
    """`tensor` with updates applied where index vectors name a cell or slice; without ufunc, put there.

    Those outside are passed over. Of several that are put in one place the last one stays.
    """
    inside = _inside(indices, tensor.shape)
    at, new = _cells(indices[inside]), updates[inside]
    if ufunc is not None:
        out = tensor.astype(wide(tensor.dtype))
        ufunc.at(out[None], at, new.astype(out.dtype, copy=False))
        return out
    out = tensor.copy()
    # NumPy leaves open which of several stays, so the last one is found first.
    rows = indices[inside]
    depth = rows.shape[1]
    steps = [math.prod(tensor.shape[i + 1 : depth]) for i in range(depth)]
    places = rows @ np.array(steps, np.int64)
    last = len(rows) - 1 - np.unique(places[::-1], return_index=True)[1]
    out[None][_cells(rows[last])] = new[last]
    return out


def scattered_shape(arg: str, tensor: Spec, indices: Spec, updates: Spec, policy: str) -> Shape:
    """The rule of ops that change some cells or slices of `tensor`, which is called `arg`."""
    if tensor.shape is None:
        return None
    if not tensor.shape:
        hint = "Put it in brackets: [x]."
        raise OpError(
            "must have at least 1 dimension", arg=arg, got=described("a scalar"), hint=hint
        )
    depth = _index_depth(indices, len(tensor.shape))
    if indices.shape is None or depth is None:
        return tensor.shape
    hint = "Use broadcast_to where one update is for all."
    expected = indices.shape[:-1] + tensor.shape[depth:]
    agreed("updates", updates, expected, "one update for each index", hint)
    _check_indices(indices, tensor.shape, depth, policy)
    return tensor.shape


_TENSOR = "T, Tindices, T -> T"


@op("TensorScatterUpdate", _TENSOR, T=VALUES, Tindices=INDEX_TYPES)
def tensor_scatter_update(
    tensor: Array, indices: Array, updates: Array, *, bad_indices_policy: BadIndices = ""
) -> Array:
    """`tensor` with each update in the place that its index vector names; of several the last stays.

    output[v, …] = updates[i, …] of the last i with indices[i, :] = v, or else tensor[v, …]
    where i stands for all axes of indices but the last, along which index vectors stand
    """
    return scattered(None, tensor, indices, updates)


@op("TensorScatterAdd", _TENSOR, T=NUMBERS, Tindices=INDEX_TYPES)
def tensor_scatter_add(
    tensor: Array, indices: Array, updates: Array, *, bad_indices_policy: BadIndices = ""
) -> Array:
    """`tensor` with each update added at the cell or slice that its index vector names.

    output[v, …] = tensor[v, …] + Σ over the i with indices[i, :] = v of updates[i, …]
    where i stands for all axes of indices but the last, along which index vectors stand
    """
    return scattered(np.add, tensor, indices, updates)


@op("TensorScatterSub", _TENSOR, T=NUMBERS, Tindices=INDEX_TYPES)
def tensor_scatter_sub(
    tensor: Array, indices: Array, updates: Array, *, bad_indices_policy: BadIndices = ""
) -> Array:
    """`tensor` with each update subtracted from the cell or slice that its index vector names.

    output[v, …] = tensor[v, …] - Σ over the i with indices[i, :] = v of updates[i, …]
    where i stands for all axes of indices but the last, along which index vectors stand
    """
    return scattered(np.subtract, tensor, indices, updates)


def _added(y: Spec, indices: Spec) -> list[AccessMap]:
    loops, at, named = named_cells(indices, y.sizes[indices.sizes[-1] :])
    own, place = over(y.sizes)
    return [
        AccessMap("sum", ("tensor",), own, {"tensor": Cells(place), "output": Cells(place)}),
        AccessMap("sum", ("updates",), loops, {"updates": at, "output": named}),
    ]


@tensor_scatter_add.cells
def _(y: Spec, tensor: Spec, indices: Spec, updates: Spec, **policy: str) -> list[AccessMap]:
    return _added(y, indices)


@tensor_scatter_sub.cells
def _(y: Spec, tensor: Spec, indices: Spec, updates: Spec, **policy: str) -> list[AccessMap]:
    own, taken = _added(y, indices)
    return [own, replace(taken, factors=MINUS)]


@tensor_scatter_update.cells
def _(y: Spec, tensor: Spec, indices: Spec, updates: Spec, **policy: str) -> list[AccessMap]:
    depth = indices.sizes[-1]
    named, rest = y.sizes[:depth], y.sizes[depth:]
    vectors = indices.contents.reshape(math.prod(indices.sizes[:-1]), depth)
    inside = _inside(vectors, named)
    update = np.full(named, -1)
    for number in np.flatnonzero(inside).tolist():  # the last one stays
        update[tuple(vectors[number])] = number
    rows = update.ravel()
    kept = np.where(rows < 0, np.arange(rows.size), -1)
    return [
        *slice_by_slice("tensor", "output", kept.tolist(), rows.size, rest),
        *slice_by_slice("updates", "output", rows.tolist(), len(vectors), rest),
    ]


for _each in (tensor_scatter_update, tensor_scatter_add, tensor_scatter_sub):
    _each.differs(
        "shape",
        tensorflow="Index vectors without an entry are refused.",
        ours="Each names the whole tensor.",
    )


@tensor_scatter_update.grad
def _(
    dy: Value, y: Value, tensor: Value, indices: Value, updates: Value, **policy: str
) -> list[Value]:
    # As in TensorFlow an update that another one replaced has a gradient too.
    without = tensor_scatter_update(dy, indices, ops.zeros_like(updates), **policy)
    return [without, None, gather_nd(dy, indices, **policy)]


@tensor_scatter_add.grad
def _(
    dy: Value, y: Value, tensor: Value, indices: Value, updates: Value, **policy: str
) -> list[Value]:
    return [ops.identity(dy), None, gather_nd(dy, indices, **policy)]


@tensor_scatter_sub.grad
def _(
    dy: Value, y: Value, tensor: Value, indices: Value, updates: Value, **policy: str
) -> list[Value]:
    return [ops.identity(dy), None, ops.neg(gather_nd(dy, indices, **policy))]


_three = np.array([1.0, 2, 3])
for _each, _result, _row in (
    (tensor_scatter_update, [5.0, 2, 4], [[1.0, 2], [7, 8]]),
    (tensor_scatter_add, [6.0, 2, 7], [[1.0, 2], [10, 12]]),
    (tensor_scatter_sub, [-4.0, 2, -1], [[1.0, 2], [-4, -4]]),
):
    _each.shape(
        lambda tensor, indices, updates, *, bad_indices_policy: scattered_shape(
            "tensor", tensor, indices, updates, bad_indices_policy
        )
    )
    _each.case(
        "two cells",
        tensor=_three,
        indices=np.array([[2], [0]]),
        updates=np.array([4.0, 5]),
        out=np.array(_result),
    )
    _each.case(
        "a row, and one that falls outside",
        tensor=np.array([[1.0, 2], [3, 4]]),
        indices=np.array([[1], [2]]),
        updates=np.array([[7.0, 8], [9, 9]]),
        bad_indices_policy="IGNORE",
        out=np.array(_row),
    )
    _each.case(
        "nothing",
        tensor=_three,
        indices=np.zeros((0, 1), np.int64),
        updates=np.zeros(0),
        out=_three,
    )
    _each.fails("outside", tensor=_three, indices=[[3]], updates=[1.0], error="inside")
    _each.fails("too few", tensor=_three, indices=[[0], [1]], updates=[1.0], error="for each index")
    _each.fails("a scalar", tensor=1.0, indices=[[0]], updates=[1.0], error="at least 1")
for _each in (tensor_scatter_add, tensor_scatter_sub):
    _each.differs(
        "half sums",
        at="half",
        tensorflow="Cells of half types are rounded after every update.",
        ours="They are changed in float32 and rounded once.",
    )
