"""Segment reductions: sums, means, products and extremes of the rows of a segment."""

from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import (
    FLOATS,
    NUMBERS,
    REALS,
    highest,
    highest_finite,
    is_float,
    lowest,
    lowest_finite,
    wide,
)
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, held, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import Op, Value, op
from backblocks.ops._spec import Shape, Spec, check_rows, ranked, scalar_value, shape_text
from backblocks.ops.array.shapes import INDEX
from backblocks.ops.attrs import Flag
from backblocks.ops.math.arithmetic import conjugate


def _gathered(table: Value, ids: Value) -> Value:
    """The row of `table` that each id names; zeros for an id below 0."""
    return ops.gather_nd(table, ops.expand_dims(ids, -1), bad_indices_policy="IGNORE")


# -- rows in order -----------------------------------------------------------------------------------


def _segments(data: Spec, segment_ids: Spec) -> Shape:
    (count,) = ranked("segment_ids", segment_ids, 1)
    if data.shape == ():
        hint = "Put it in brackets: [x]."
        raise OpError("must have rows", arg="data", got=described("a scalar"), hint=hint)
    rows = None if data.shape is None else data.shape[0]
    if count is not None and rows is not None and count != rows:
        raise OpError(
            f"must have one entry for each of the {rows} rows of data",
            arg="segment_ids",
            got=count,
            hint="Say of every row to which segment it belongs.",
        )
    ids = segment_ids.value
    if ids is not None and ids.size and (ids[0] < 0 or (ids[1:] < ids[:-1]).any()):
        raise OpError(
            "must not be negative and must not go down",
            arg="segment_ids",
            got=ids,
            hint="Use UnsortedSegmentSum and its kin for rows in any order.",
        )
    if data.shape is None:
        return None
    segments = None if ids is None else int(ids[-1]) + 1 if ids.size else 0
    return (segments, *data.shape[1:])


def _by_segment(ufunc: np.ufunc, start: Any, data: Array, ids: Array, count: int) -> Array:
    """For each segment the total of its rows; `start` where there is none."""
    out = np.full((count, *data.shape[ids.ndim :]), start, wide(data.dtype))
    inside = ids >= 0
    ufunc.at(out, ids[inside], data[inside].astype(out.dtype, copy=False))
    return out


def _count_of(ids: Array) -> int:
    return int(ids[-1]) + 1 if ids.size else 0


@op("SegmentSum", "T, Tindices -> T", T=NUMBERS, Tindices=INDEX)
def segment_sum(data: Array, segment_ids: Array) -> Array:
    """The sum of the rows of each segment. A segment without rows is 0.

    output[s, …] = Σ over the i with segment_ids[i] = s of data[i, …]
    """
    return _by_segment(np.add, 0, data, segment_ids, _count_of(segment_ids))


@op("SegmentMean", "T, Tindices -> T", T=NUMBERS, Tindices=INDEX)
def segment_mean(data: Array, segment_ids: Array) -> Array:
    """The mean of the rows of each segment; of whole numbers it loses the fraction.

    output[s, …] = (Σ over the i with segment_ids[i] = s of data[i, …]) / n
    where n is how many such i there are, at least 1
    with whole numbers the quotient is cut toward 0

    A segment without rows is 0.
    """
    total = segment_sum.reference(data, segment_ids)
    rows = np.maximum(np.bincount(segment_ids, minlength=len(total)), 1)
    rows = rows.reshape(-1, *[1] * (data.ndim - 1)).astype(total.dtype)
    return np.asarray(ops.truncate_div(total, rows) if total.dtype.kind in "iu" else total / rows)


@op("SegmentProd", "T, Tindices -> T", T=NUMBERS, Tindices=INDEX)
def segment_prod(data: Array, segment_ids: Array) -> Array:
    """The product of the rows of each segment. A segment without rows is 1.

    output[s, …] = ∏ over the i with segment_ids[i] = s of data[i, …]
    """
    return _by_segment(np.multiply, 1, data, segment_ids, _count_of(segment_ids))


@op("SegmentMax", "T, Tindices -> T", T=REALS, Tindices=INDEX)
def segment_max(data: Array, segment_ids: Array) -> Array:
    """The largest of the rows of each segment, cell by cell; NaN wins. A segment without rows is 0.

    output[s, …] = max over the i with segment_ids[i] = s of data[i, …]
    """
    return _zeros_between(np.maximum, lowest(data.dtype), data, segment_ids)


@op("SegmentMin", "T, Tindices -> T", T=REALS, Tindices=INDEX)
def segment_min(data: Array, segment_ids: Array) -> Array:
    """The smallest of the rows of each segment, cell by cell; NaN wins. A segment without rows is 0.

    output[s, …] = min over the i with segment_ids[i] = s of data[i, …]
    """
    return _zeros_between(np.minimum, highest(data.dtype), data, segment_ids)


def _zeros_between(ufunc: np.ufunc, start: Any, data: Array, ids: Array) -> Array:
    out = _by_segment(ufunc, start, data, ids, _count_of(ids))
    out[np.bincount(ids, minlength=len(out)) == 0] = 0
    return out


# -- rows in any order -------------------------------------------------------------------------------


def _unsorted_segments(data: Spec, segment_ids: Spec, num_segments: Spec) -> Shape:
    count = scalar_value("num_segments", num_segments)
    if count is not None and count < 0:
        hint = "Use one more than the largest id."
        raise OpError("must not be negative", arg="num_segments", got=count, hint=hint)
    ids = segment_ids.value
    if count is not None and ids is not None and (ids >= count).any():
        raise OpError(
            f"must be below num_segments, {count}",
            arg="segment_ids",
            got=ids.max(),
            hint="Use -1 for rows that are to be left out.",
        )
    if data.shape is None or segment_ids.shape is None:
        return None
    rank = len(segment_ids.shape)
    front = data.shape[:rank]
    if len(front) < rank or any(
        m is not None and n is not None and m != n
        for m, n in zip(front, segment_ids.shape, strict=True)
    ):
        raise OpError(
            f"must begin with the shape of segment_ids, {shape_text(segment_ids.shape)}",
            arg="data",
            got=described(shape_text(data.shape)),
            hint="Say of every row to which segment it belongs.",
        )
    return (count, *data.shape[rank:])


SEGMENT_INDEX = ("int16", *INDEX)
_UNSORTED: dict[str, Any] = {"Tindices": SEGMENT_INDEX, "Tnumsegments": INDEX}
_SIGNATURE = "T, Tindices, Tnumsegments -> T"


@op("UnsortedSegmentSum", _SIGNATURE, T=NUMBERS, **_UNSORTED)
def unsorted_segment_sum(data: Array, segment_ids: Array, num_segments: Array) -> Array:
    """The sum of the rows of each segment. One without rows is 0, and rows of no segment are below 0.

    output[s, …] = Σ over the i with segment_ids[i] = s of data[i, …]
    where i stands for all axes of segment_ids, and 0 ≤ s < num_segments

    `segment_ids` may have several axes, the first ones of `data`.
    """
    return _by_segment(np.add, 0, data, segment_ids, num_segments.item())


@op("UnsortedSegmentProd", _SIGNATURE, T=NUMBERS, **_UNSORTED)
def unsorted_segment_prod(data: Array, segment_ids: Array, num_segments: Array) -> Array:
    """The product of the rows of each segment. One without rows is 1, and rows of no segment are below 0.

    output[s, …] = ∏ over the i with segment_ids[i] = s of data[i, …]
    where i stands for all axes of segment_ids, and 0 ≤ s < num_segments

    `segment_ids` may have several axes, the first ones of `data`.
    """
    return _by_segment(np.multiply, 1, data, segment_ids, num_segments.item())


@op("UnsortedSegmentMax", _SIGNATURE, T=REALS, **_UNSORTED)
def unsorted_segment_max(data: Array, segment_ids: Array, num_segments: Array) -> Array:
    """The largest of the rows of each segment, cell by cell; NaN wins.

    output[s, …] = max over the i with segment_ids[i] = s of data[i, …]
    where i stands for all axes of segment_ids, and 0 ≤ s < num_segments

    A segment without rows has the smallest finite number, and rows of no segment are below 0.
    `segment_ids` may have several axes, the first ones of `data`.
    """
    start = lowest_finite(data.dtype)
    return _by_segment(np.maximum, start, data, segment_ids, num_segments.item())


@op("UnsortedSegmentMin", _SIGNATURE, T=REALS, **_UNSORTED)
def unsorted_segment_min(data: Array, segment_ids: Array, num_segments: Array) -> Array:
    """The smallest of the rows of each segment, cell by cell; NaN wins.

    output[s, …] = min over the i with segment_ids[i] = s of data[i, …]
    where i stands for all axes of segment_ids, and 0 ≤ s < num_segments

    A segment without rows has the largest finite number, and rows of no segment are below 0.
    `segment_ids` may have several axes, the first ones of `data`.
    """
    start = highest_finite(data.dtype)
    return _by_segment(np.minimum, start, data, segment_ids, num_segments.item())


# -- gradients -----------------------------------------------------------------------------------------


def _sum_grad(dy: Value, y: Value, data: Value, ids: Value, *num: Value) -> list[Value]:
    return [_gathered(dy, ids), None, *[None for _ in num]]


def _extreme_grad(total: Op) -> Any:
    """Goes to the cells that are the extreme of their segment; several share it."""

    def grad(dy: Value, y: Value, data: Value, ids: Value, *num: Value) -> list[Value]:
        chosen = ops.equal(data, _gathered(y, ids))
        found = total(ops.cast(chosen, DstT=data.dtype), ids, *num)
        share = _gathered(ops.div_no_nan(dy, found), ids)
        return [ops.select_v2(chosen, share, 0), None, *[None for _ in num]]

    return grad


def _prod_grad(total: Op, product: Op) -> Any:
    """The product of the others: with one 0 only it has a gradient, with two nothing has."""

    def grad(dy: Value, y: Value, data: Value, ids: Value, *num: Value) -> list[Value]:
        x = conjugate(data)
        zero = ops.equal(x, 0)
        zeros = total(ops.cast(zero, DstT="int32"), ids, *num)
        dy = ops.select_v2(ops.greater(zeros, 1), 0, dy)
        without = product(ops.select_v2(zero, 1, x), ids, *num)
        others = ops.real_div(_gathered(conjugate(y), ids), ops.select_v2(zero, 1, x))
        others = ops.select_v2(zero, _gathered(without, ids), others)
        return [ops.mul(_gathered(dy, ids), others), None, *[None for _ in num]]

    return grad


@segment_mean.grad
def _(dy: Value, y: Value, data: Value, ids: Value) -> list[Value]:
    rows = segment_sum(ops.ones_like(data), ids)
    return [_gathered(ops.div_no_nan(dy, rows), ids), None]


segment_sum.grad(_sum_grad)
segment_prod.grad(_prod_grad(segment_sum, segment_prod))
unsorted_segment_sum.grad(_sum_grad)
unsorted_segment_prod.grad(_prod_grad(unsorted_segment_sum, unsorted_segment_prod))
for _each in (segment_max, segment_min):
    _each.grad(_extreme_grad(segment_sum))
for _each in (unsorted_segment_max, unsorted_segment_min):
    _each.grad(_extreme_grad(unsorted_segment_sum))


# -- which cells belong together ------------------------------------------------------------------------


def _segment_access(
    rule: str, y: Spec, data: Spec, ids: Spec, chosen: bool = False
) -> list[AccessMap]:
    """Each row belongs to the segment that its id names; `indices` names the rows, if they are chosen."""
    if rule in ("max", "min") and len(np.unique(ids.contents[ids.contents >= 0])) < y.sizes[0]:
        rule = "apply"  # the ops differ in what they give for a segment without rows
    count = len(ids.sizes)
    loops, at = over((*ids.sizes, *data.sizes[count:]))
    rows, rest = at[:count], at[count:]
    named = (held("indices", *rows),) if chosen else rows
    cells = {
        "data": Cells((*named, *rest)),
        "output": Cells((held("segment_ids", *rows), *rest)),
    }
    return [AccessMap(rule, ("data",), loops, cells)]


for _each, _rule in (
    (segment_sum, "sum"),
    (segment_prod, "product"),
    (segment_max, "max"),
    (segment_min, "min"),
    (unsorted_segment_sum, "sum"),
    (unsorted_segment_prod, "product"),
    (unsorted_segment_max, "max"),
    (unsorted_segment_min, "min"),
):
    _each.cells(lambda y, data, ids, *num, _rule=_rule: _segment_access(_rule, y, data, ids))


@segment_mean.cells
def _(y: Spec, data: Spec, segment_ids: Spec) -> list[AccessMap]:
    return _segment_access("mean" if is_float(data.dtype) else "apply", y, data, segment_ids)


# -- cases, refusals, differences ----------------------------------------------------------------------

_rows = np.array([[1.0, 2], [3, 0], [5, 6]])
for _each, _first, _between in (
    (segment_sum, [4.0, 2], 0.0),
    (segment_mean, [2.0, 1], 0.0),
    (segment_prod, [3.0, 0], 1.0),
    (segment_max, [3.0, 2], 0.0),
    (segment_min, [1.0, 0], 0.0),
):
    _each.shape(_segments)
    _each.case(
        "two rows, none, and one",
        data=_rows,
        segment_ids=np.array([0, 0, 2]),
        out=np.array([_first, [_between] * 2, [5, 6]]),
    )
    _each.case(
        "no rows", data=np.zeros((0, 2)), segment_ids=np.zeros(0, np.int32), out=np.zeros((0, 2))
    )
    _each.fails("going down", data=_rows, segment_ids=[0, 2, 1], error="must not go down")
    _each.fails("below 0", data=_rows, segment_ids=[-1, 0, 1], error="must not be negative")
    _each.fails("too few", data=_rows, segment_ids=[0, 1], error="each of the 3 rows")
    _each.fails("a scalar", data=np.array(1.0), segment_ids=[0], error="must have rows")
segment_mean.case(
    "whole numbers, toward 0",
    data=np.array([-3, -4, 3, 4]),
    segment_ids=np.array([0, 0, 1, 1]),
    out=np.array([-3, 3]),
)
_int64 = np.iinfo(np.int64)
for _each, _second, _two_and_three, _none in (
    (unsorted_segment_sum, [6.0, 8], 5.0, 0),
    (unsorted_segment_prod, [5.0, 12], 6.0, 1),
    (unsorted_segment_max, [5.0, 6], 3.0, _int64.min),
    (unsorted_segment_min, [1.0, 2], 2.0, _int64.max),
):
    _each.shape(_unsorted_segments)
    _each.case(
        "rows in any order, one of no segment",
        data=_rows,
        segment_ids=np.array([0, -1, 0]),
        num_segments=np.array(1),
        out=np.array([_second]),
    )
    _each.case(
        "a segment without rows",
        data=np.array([7]),
        segment_ids=np.array([1]),
        num_segments=np.array(2),
        out=np.array([_none, 7]),
    )
    _each.case(
        "a segment for each cell",
        data=_rows,
        segment_ids=np.array([[0, 1], [1, 2], [-1, -1]]),
        num_segments=np.array(3),
        out=np.array([1.0, _two_and_three, 0]),
    )
    _each.fails(
        "beyond the last", data=_rows, segment_ids=[0, 1, 2], num_segments=2, error="be below"
    )
    _each.fails(
        "fewer than none",
        data=_rows,
        segment_ids=[0, 0, 0],
        num_segments=-1,
        error="not be negative",
    )
    _each.fails(
        "ids for other rows",
        data=_rows,
        segment_ids=[0, 0],
        num_segments=1,
        error="must begin with",
    )
for _each in (
    *(segment_sum, segment_mean, segment_prod, unsorted_segment_sum, unsorted_segment_prod),
):
    _each.differs(
        "half sums",
        at="half",
        tensorflow="Totals of half types are kept in the half type.",
        ours="They are kept in float32 and rounded once.",
    )
for _each in (segment_max, segment_min, unsorted_segment_max, unsorted_segment_min):
    _each.differs(
        "nan",
        tensorflow="Whether a NaN wins depends on which row comes first.",
        ours="A NaN wins, as in Max.",
    )


# -- rows that are chosen first ----------------------------------------------------------------------


def _chosen_segments(data: Spec, indices: Spec, segment_ids: Spec) -> Shape:
    (count,) = ranked("indices", indices, 1)
    if data.shape == ():
        hint = "Put it in brackets: [x]."
        raise OpError("must have rows", arg="data", got=described("a scalar"), hint=hint)
    rows = None if data.shape is None else data.shape[0]
    check_rows("indices", indices, rows, "They count the rows of data from 0.")
    (length,) = ranked("segment_ids", segment_ids, 1)
    if count is not None and length is not None and count != length:
        raise OpError(
            f"must have one entry for each of the {count} indices",
            arg="segment_ids",
            got=length,
            hint="Say of every row that is chosen to which segment it belongs.",
        )
    shape = None if data.shape is None else (None, *data.shape[1:])
    return _segments(Spec(shape, data.dtype), segment_ids)


def _divided(total: Array, ids: Array, root: bool) -> Array:
    """Totals by how many rows they are of, or by the root of that."""
    rows = np.maximum(np.bincount(ids, minlength=len(total)), 1).astype(total.dtype)
    rows = rows.reshape(-1, *[1] * (total.ndim - 1))
    return np.asarray(total / (np.sqrt(rows) if root else rows))


_CHOSEN: dict[str, Any] = {"Tidx": INDEX, "Tsegmentids": INDEX}
_OF_CHOSEN = "T, Tidx, Tsegmentids -> T"


def _sparse_attrs(*, sparse_gradient: Flag = False) -> None:
    """Whether TensorFlow keeps the gradient as the rows that are not 0; here it makes no difference."""


@op("SparseSegmentSum", _OF_CHOSEN, attrs=_sparse_attrs, T=REALS, **_CHOSEN)
def sparse_segment_sum(data: Array, indices: Array, segment_ids: Array, **how: bool) -> Array:
    """SegmentSum of the rows of `data` that `indices` names.

    output[s, …] = Σ over the i with segment_ids[i] = s of data[indices[i], …]
    """
    return np.asarray(segment_sum.reference(data[indices], segment_ids))


@op("SparseSegmentMean", _OF_CHOSEN, attrs=_sparse_attrs, T=FLOATS, **_CHOSEN)
def sparse_segment_mean(data: Array, indices: Array, segment_ids: Array, **how: bool) -> Array:
    """SegmentMean of the rows of `data` that `indices` names.

    output[s, …] = (Σ over the i with segment_ids[i] = s of data[indices[i], …]) / n
    where n is how many such i there are, at least 1
    """
    total = segment_sum.reference(data[indices], segment_ids)
    return _divided(total, segment_ids, root=False)


@op("SparseSegmentSqrtN", _OF_CHOSEN, attrs=_sparse_attrs, T=FLOATS, **_CHOSEN)
def sparse_segment_sqrt_n(data: Array, indices: Array, segment_ids: Array, **how: bool) -> Array:
    """SegmentSum of the rows of `data` that `indices` names, by the root of how many there are.

    output[s, …] = (Σ over the i with segment_ids[i] = s of data[indices[i], …]) / √n
    where n is how many such i there are, at least 1
    """
    total = segment_sum.reference(data[indices], segment_ids)
    return _divided(total, segment_ids, root=True)


def _chosen_grad(power: float) -> Any:
    def grad(
        dy: Value, y: Value, data: Value, indices: Value, segment_ids: Value, **how: bool
    ) -> list[Value]:
        back = _gathered(dy, segment_ids)
        if power:
            ones = ops.broadcast_to(np.ones((), dy.dtype), ops.shape(back))
            rows = _gathered(segment_sum(ones, segment_ids), segment_ids)
            back = ops.mul(back, ops.pow(rows, np.array(power, dy.dtype)))
        known = None if data.shape is None else data.shape[0]
        first = ops.slice(ops.shape(data), [0], [1]) if known is None else np.array([known])
        count = ops.reshape(first, np.zeros(0, np.int32))
        return [unsorted_segment_sum(back, indices, count), None, None]

    return grad


for _each, _rule in (
    (sparse_segment_sum, "sum"),
    (sparse_segment_mean, "mean"),
    (sparse_segment_sqrt_n, "apply"),
):
    _each.cells(
        lambda y, data, indices, ids, _rule=_rule, **how: _segment_access(_rule, y, data, ids, True)
    )

for _each, _power, _twice in (
    (sparse_segment_sum, 0, [4.0, 4]),
    (sparse_segment_mean, -1, [2.0, 2]),
    (sparse_segment_sqrt_n, -0.5, [8**0.5, 8**0.5]),
):
    _each.shape(
        lambda data, indices, segment_ids, **how: _chosen_segments(data, indices, segment_ids)
    )
    _each.grad(_chosen_grad(_power))
    _each.case(
        "a row twice, none, and one",
        data=np.array([[2.0, 2], [3, 0], [5, 6]]),
        indices=np.array([0, 0, 2]),
        segment_ids=np.array([0, 0, 2]),
        out=np.array([_twice, [0, 0], [5, 6]]),
    )
    _each.case(
        "no rows",
        data=np.zeros((3, 2)),
        indices=np.zeros(0, np.int32),
        segment_ids=np.zeros(0, np.int32),
        out=np.zeros((0, 2)),
    )
    _each.fails("beyond", data=_rows, indices=[3], segment_ids=[0], error="must lie in")
    _each.fails("too few", data=_rows, indices=[1, 2], segment_ids=[0], error="of the 2 indices")
    _each.fails("going down", data=_rows, indices=[1, 2], segment_ids=[1, 0], error="not go down")
    _each.fails("a scalar", data=1.0, indices=[0], segment_ids=[0], error="must have rows")
