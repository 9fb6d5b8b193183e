"""Where, unique values, set difference of lists, and flat indices unravelled."""

import math
from typing import Any

import numpy as np

from backblocks.dtypes import NAMES, NUMBERS_AND_BOOL, VALUES, wide
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.ops._op import op, zero_gradient
from backblocks.ops._spec import Shape, Spec, ranked, shape_text, sizes_from
from backblocks.ops.array.shapes import INDEX, IndexType


@op(
    "Where",
    "T -> index: int64",
    aliases=("nonzero", "np.argwhere"),
    T=NUMBERS_AND_BOOL,
    data_dependent_shape=True,
)
def where(condition: Array) -> Array:
    """The indices of all cells that are true, or not 0, in row-major order: one row for each cell.

    index = all index vectors i with condition[i] ≠ 0, in row-major order
    """
    return np.argwhere(condition.astype(wide(condition.dtype), copy=False))


@where.shape
def _(condition: Spec) -> Shape:
    return None, None if condition.shape is None else len(condition.shape)


where.grad(zero_gradient)
where.case(
    "in a matrix",
    condition=np.array([[False, True], [True, False], [True, True]]),
    out=np.array([[0, 1], [1, 0], [2, 0], [2, 1]]),
)
where.case("nan is not 0, and -0 is", condition=np.array([0.0, np.nan, -0.0]), out=np.array([[1]]))
where.case("none", condition=np.array([0, 0]), out=np.zeros((0, 1), np.int64))
where.case("a true scalar", condition=np.array(True), out=np.zeros((1, 0), np.int64))
where.differs(
    "scalar",
    tensorflow="A scalar is refused.",
    ours="It has one index, of no entries, if it is true.",
)


# -- values, each once ----------------------------------------------------------------------------


def _unique(x: Array) -> tuple[Array, Array, Array]:
    """The values of `x`, each once, in the order of their first places.

    Also the number that each cell's value has among them, and how often each comes.
    """
    cells = x.astype(wide(x.dtype), copy=False)
    _, first, number, count = np.unique(cells, True, True, True, equal_nan=False)
    order = np.argsort(first)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return x[first[order]], places[number], count[order]


def _row(x: Spec, out_idx: Any) -> Shape:
    """The shape of `x`, which must be a row that the index type can count."""
    (n,) = shape = ranked("x", x, 1)
    if n is not None and n > np.iinfo(out_idx).max:
        hint = 'Use out_idx="int64".'
        raise OpError(f"must fit in {NAMES[out_idx]} with its size", arg="x", got=n, hint=hint)
    return shape


@op("ListDiff", "T, T -> out: T, idx: out_idx", T=VALUES, data_dependent_shape=True)
def list_diff(x: Array, y: Array, *, out_idx: IndexType = "int32") -> tuple[Array, Array]:
    """The cells of the row `x` whose values are not in the row `y`, and their places in `x`.

    out[j] = x[idx[j]]
    idx = all i, in order, with x[i] ≠ y[k] for every k
    """
    left, right = (row.astype(wide(row.dtype), copy=False) for row in (x, y))
    if not right.size:
        return x, np.arange(len(x))
    ordered = right[np.argsort(right, kind="stable")]
    places = np.minimum(np.searchsorted(ordered, left), len(ordered) - 1)
    (idx,) = np.nonzero(ordered[places] != left)
    return x[idx], idx


@list_diff.shape
def _(x: Spec, y: Spec, *, out_idx: Any) -> tuple[Shape, Shape]:
    _row(x, out_idx)
    ranked("y", y, 1)
    return (None,), (None,)


list_diff.no_gradient("TensorFlow has none. Gather with idx instead.")
list_diff.case(
    "zero and the odd ones",
    x=np.array([1.0, 2, 3, 4, 3, 0]),
    y=np.array([2.0, 4, 8]),
    out=(np.array([1.0, 3, 3, 0]), np.array([0, 2, 4, 5])),
)
list_diff.case(
    "nan is not nan",
    x=np.array([np.nan, 0.0]),
    y=np.array([np.nan, -0.0]),
    out=(np.array([np.nan]), np.array([0])),
)
list_diff.case(
    "none are left out", x=np.zeros(0), y=np.ones(2), out=(np.zeros(0), np.zeros(0, np.int32))
)
list_diff.differs(
    "negative zero",
    tensorflow="In half types 0 and -0 are two values.",
    ours="They are one, as in other types.",
)
list_diff.fails("a matrix", x=np.zeros((1, 2)), y=np.zeros(2), error="1 dimension")


@op("Unique", "T -> y: T, idx: out_idx", T=VALUES, data_dependent_shape=True)
def unique(x: Array, *, out_idx: IndexType = "int32") -> tuple[Array, Array]:
    """The values of the row `x`, each once, in the order in which they come.

    y = the values x[i], each once, in the order of i
    idx[i] = the k with y[k] = x[i]

    `idx` says for each cell which of them it is: y[idx] is `x`. Every NaN is a value of its own.
    """
    return _unique(x)[:2]


@unique.shape
def _(x: Spec, *, out_idx: Any) -> tuple[Shape, Shape]:
    return (None,), _row(x, out_idx)


@op(
    "UniqueWithCounts",
    "T -> y: T, idx: out_idx, count: out_idx",
    T=VALUES,
    data_dependent_shape=True,
)
def unique_with_counts(x: Array, *, out_idx: IndexType = "int32") -> tuple[Array, Array, Array]:
    """Unique, and how often each value comes.

    y = the values x[i], each once, in the order of i
    idx[i] = the k with y[k] = x[i]
    count[k] = how many i have idx[i] = k
    """
    return _unique(x)


@unique_with_counts.shape
def _(x: Spec, *, out_idx: Any) -> tuple[Shape, Shape, Shape]:
    return (None,), _row(x, out_idx), (None,)


for _op, _more in ((unique, ()), (unique_with_counts, (np.array([2, 1, 3]),))):
    _op.no_gradient("Which cell a value comes from is not one place; gather with idx instead.")
    _op.case(
        "in their order",
        x=np.array([5.0, 1, 7, 7, 5, 7]),
        out=(np.array([5.0, 1, 7]), np.array([0, 1, 2, 2, 0, 2]), *_more),
    )
    _op.case(
        "nan is not nan, and 0 is -0",
        x=np.array([np.nan, 0, np.nan, -0.0]),
        out=(
            np.array([np.nan, 0, np.nan]),
            np.array([0, 1, 2, 1]),
            *[np.array([1, 2, 1])] * len(_more),
        ),
    )
    _op.case("none", x=np.zeros(0), out=(np.zeros(0),) * (2 + len(_more)))
    _op.fails("a matrix", x=np.zeros((2, 2)), error="1 dimension")
    _op.differs(
        "negative zero",
        tensorflow="In half types 0 and -0 are mostly two values.",
        ours="They are one value, as in the other types.",
    )


# -- numbers of cells ------------------------------------------------------------------------------


@op("UnravelIndex", "Tidx, Tidx -> Tidx", Tidx=INDEX)
def unravel_index(indices: Array, dims: Array) -> Array:
    """The index vector of each cell of a tensor of shape `dims` that `indices` number in row-major order.

    output[a, …] = ⌊indices[…] / s⌋ mod dims[a]
    where s = ∏ over b > a of dims[b]

    Each vector is a column.
    """
    sizes = dims.tolist()
    most = np.iinfo(dims.dtype).max
    steps = [min(math.prod(sizes[i + 1 :]), most) for i in range(len(sizes))]
    across = (-1, *[1] * indices.ndim)
    return np.asarray(indices // np.reshape(steps, across).astype(int) % dims.reshape(across))


@unravel_index.shape
def _(indices: Spec, dims: Spec) -> Shape:
    (rank,) = ranked("dims", dims, 1)
    sizes = () if rank is None else sizes_from("dims", dims, [rank])
    if indices.shape is None:
        return None
    if len(indices.shape) > 1:
        raise OpError(
            "must be a number or a list of numbers",
            arg="indices",
            got=described(f"shape {shape_text(indices.shape)}"),
            hint="Flatten it: x.reshape(-1).",
        )
    if indices.value is not None and dims.value is not None:
        cells = math.prod(n for n in sizes if n is not None)
        outside = indices.value[(indices.value < 0) | (indices.value >= cells)]
        if outside.size:
            rule, hint = f"must lie in [0, {cells})", "Count cells from 0 at the front."
            raise OpError(rule, arg="indices", got=outside[0].item(), hint=hint)
    return (rank, *indices.shape)


unravel_index.grad(zero_gradient)
unravel_index.case(
    "cells of a matrix",
    indices=np.array([5, 1, 0]),
    dims=np.array([2, 3]),
    out=np.array([[1, 0, 0], [2, 1, 0]]),
)
unravel_index.case("one cell", indices=np.array(4), dims=np.array([2, 3]), out=np.array([1, 1]))
unravel_index.case(
    "none of none", indices=np.zeros(0, int), dims=np.array([2, 0]), out=np.zeros((2, 0), int)
)
unravel_index.fails("too far", indices=[6], dims=[2, 3], error=r"must lie in \[0, 6\)")
unravel_index.fails("before the first", indices=[-1], dims=[2, 3], error="must lie in")
unravel_index.fails("a table of them", indices=[[1]], dims=[2, 3], error="a list of numbers")
unravel_index.fails("a negative size", indices=[0], dims=[-2, -3], error="negative")
unravel_index.differs(
    "empty", tensorflow="No indices are refused.", ours="They give no index vectors."
)
unravel_index.differs(
    "negative",
    tensorflow="A negative index gives cells outside.",
    ours="It is refused.",
)
