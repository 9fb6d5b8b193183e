"""Sparse to dense: a tensor of a default value but for some cells."""

from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import VALUES
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import (
    Shape,
    Size,
    Spec,
    agreed,
    ranked,
    scalar_value,
    shape_text,
    sizes_from,
)
from backblocks.ops.array.broadcasting import unbroadcast
from backblocks.ops.array.shapes import INDEX
from backblocks.ops.attrs import Flag


@op("SparseToDense", "Tindices, Tindices, T, T -> dense: T", T=VALUES, Tindices=INDEX)
def sparse_to_dense(
    sparse_indices: Array,
    output_shape: Array,
    sparse_values: Array,
    default_value: Array,
    *,
    validate_indices: Flag = True,
) -> Array:
    """A tensor of this shape with `sparse_values` in the cells that `sparse_indices` name.

    dense[sparse_indices[i, :]] = sparse_values[i]
    where all other cells are default_value, and sparse_values of one number is the same for all

    All other cells hold `default_value`. An index vector is a row of `sparse_indices`; for a tensor of
    one axis a list of numbers will do, or one number. Values are one a cell, or one for all. With
    `validate_indices` the indices must be in order, each once; without, the last of equals counts.
    """
    out = np.full(output_shape.tolist(), default_value)
    rows = (
        sparse_indices.reshape(-1, out.ndim)
        if out.ndim
        else np.zeros((len(sparse_indices), 0), int)
    )
    out[None][(np.zeros(len(rows), int), *rows.T)] = sparse_values
    return out


@sparse_to_dense.shape
def _(
    sparse_indices: Spec,
    output_shape: Spec,
    sparse_values: Spec,
    default_value: Spec,
    *,
    validate_indices: bool,
) -> Shape:
    (rank,) = ranked("output_shape", output_shape, 1)
    scalar_value("default_value", Spec(default_value.shape, default_value.dtype))
    count, depth = _table(sparse_indices)
    if depth is not None:
        why = "an entry for each entry of an index"
        agreed("output_shape", output_shape, (depth,), why, "Write each index as a row.")
    rank = depth if rank is None else rank
    if sparse_values.shape:
        why, hint = "a value for each index", "Use one number for all."
        agreed("sparse_values", sparse_values, (count,), why, hint)
    sizes = None if rank is None else sizes_from("output_shape", output_shape, [rank])
    if sparse_indices.value is not None and sizes is not None and None not in sizes:
        rows = sparse_indices.value.reshape(count or 0, len(sizes))
        _check(rows, sizes, validate_indices)
    return sizes


def _table(indices: Spec) -> tuple[Size, Size]:
    """How many indices there are, and how many entries each has."""
    if indices.shape is None:
        return None, None
    if len(indices.shape) > 2:
        raise OpError(
            "must be a number, a list of them, or a table with a row for each cell",
            arg="sparse_indices",
            got=described(f"shape {shape_text(indices.shape)}"),
            hint="Make each index vector a row: x.reshape(-1, x.shape[-1]).",
        )
    count, depth, *_ = (*indices.shape, 1, 1)
    return count, depth


def _check(rows: Array, sizes: tuple[Size, ...], in_order: bool) -> None:
    """Refuses indices outside, and those that are not in order if they must be."""
    outside = ((rows < 0) | (rows >= np.array(sizes))).any(1)
    if outside.any():
        raise OpError(
            f"every index must lie inside {shape_text(sizes)}",
            arg="sparse_indices",
            got=rows[outside][0].tolist(),
            hint="Count cells from 0 at the front.",
        )
    steps = np.pad(np.diff(rows, axis=0), ((0, 0), (0, 1)))
    first = (steps != 0).argmax(1, keepdims=True)  # what decides the order of two index vectors
    wrong = np.take_along_axis(steps, first, 1)[:, 0] <= 0
    if in_order and wrong.any():
        raise OpError(
            "must be in row-major order, each once",
            arg="sparse_indices",
            got=rows[1:][wrong][0].tolist(),
            hint="Sort them, or use validate_indices=False.",
        )


@sparse_to_dense.grad
def _(
    dy: Value,
    y: Value,
    sparse_indices: Value,
    output_shape: Value,
    sparse_values: Value,
    default_value: Value,
    **how: Any,
) -> list[Value]:
    if sparse_indices.shape is None:
        raise OpError(
            "must have a known rank to differentiate",
            op="SparseToDense",
            arg="sparse_indices",
            hint="Feed it through EnsureShape.",
        )
    rows = sparse_indices
    for _ in range(2 - len(rows.shape)):
        rows = ops.expand_dims(rows, -1)
    taken = ops.gather_nd(dy, rows)
    rest = ops.sub(unbroadcast(dy, default_value), unbroadcast(taken, default_value))
    return [None, None, unbroadcast(taken, sparse_values), rest]


_shape = np.array([2, 3])
sparse_to_dense.case(
    "two cells of a matrix",
    sparse_indices=np.array([[0, 1], [1, 2]]),
    output_shape=_shape,
    sparse_values=np.array([5.0, 7]),
    default_value=np.array(0.0),
    out=np.array([[0.0, 5, 0], [0, 0, 7]]),
)
sparse_to_dense.case(
    "one value for all, in a row",
    sparse_indices=np.array([0, 3], np.int32),
    output_shape=np.array([4], np.int32),
    sparse_values=np.array(1.0),
    default_value=np.array(-1.0),
    out=np.array([1.0, -1, -1, 1]),
)
sparse_to_dense.case(
    "out of order, when that is allowed",
    sparse_indices=np.array([3, 1]),
    output_shape=np.array([4]),
    sparse_values=np.array([8.0, 9]),
    default_value=np.array(0.0),
    validate_indices=False,
    out=np.array([0.0, 9, 0, 8]),
)
sparse_to_dense.case(
    "one number as the index",
    sparse_indices=np.array(1),
    output_shape=np.array([2]),
    sparse_values=np.array([4.0]),
    default_value=np.array(0.0),
    out=np.array([0.0, 4]),
)
sparse_to_dense.case(
    "no cells",
    sparse_indices=np.zeros((0, 2), np.int64),
    output_shape=_shape,
    sparse_values=np.zeros(0),
    default_value=np.array(3.0),
    out=np.full((2, 3), 3.0),
)
_how: dict[str, Any] = {"output_shape": [4], "default_value": 0.0}
sparse_to_dense.fails(
    "out of order", sparse_indices=[3, 1], sparse_values=1.0, **_how, error="order"
)
sparse_to_dense.fails(
    "one twice", sparse_indices=[1, 1], sparse_values=1.0, **_how, error="each once"
)
sparse_to_dense.fails(
    "outside", sparse_indices=[4], sparse_values=1.0, validate_indices=False, **_how, error="inside"
)
sparse_to_dense.fails("before", sparse_indices=[-1], sparse_values=1.0, **_how, error="inside")
sparse_to_dense.fails(
    "a value missing", sparse_indices=[1, 2], sparse_values=[1.0], **_how, error="for each index"
)
sparse_to_dense.fails(
    "rows of two for one axis",
    sparse_indices=[[1, 2]],
    sparse_values=1.0,
    **_how,
    error="each entry",
)
sparse_to_dense.fails(
    "tables of tables",
    sparse_indices=[[[1]]],
    sparse_values=1.0,
    **_how,
    error="a row for each cell",
)
sparse_to_dense.fails(
    "several defaults",
    sparse_indices=[1],
    output_shape=[4],
    sparse_values=1.0,
    default_value=[0.0, 1.0],
    error="must be a scalar",
)
