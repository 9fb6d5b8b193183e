"""Select: cells of one tensor or another, by a condition."""

import numpy as np

from backblocks import ops
from backblocks.dtypes import VALUES
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._elementwise import cell_to_cell
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec, agreed, broadcast, shape_text
from backblocks.ops.array.broadcasting import unbroadcast


@op("SelectV2", "bool, T, T -> T", aliases=("where", "np.where", "if"), T=VALUES)
def select_v2(condition: Array, t: Array, e: Array) -> Array:
    """Where `condition` holds, the cell of `t`; elsewhere that of `e`. All three broadcast.

    output = t if condition else e
    """
    return np.where(condition, t, e)


@select_v2.shape
def _(condition: Spec, t: Spec, e: Spec) -> Shape:
    return broadcast("e", broadcast("t", condition.shape, t.shape), e.shape)


@select_v2.grad
def _(dy: Value, y: Value, condition: Value, t: Value, e: Value) -> list[Value]:
    return [
        None,
        unbroadcast(select_v2(condition, dy, 0), t),
        unbroadcast(select_v2(condition, 0, dy), e),
    ]


select_v2.case(
    "the larger",
    condition=np.array([True, False]),
    t=np.array([1.0, 2]),
    e=np.array([3.0]),
    out=np.array([1.0, 3]),
)


@op("Select", "bool, T, T -> T", aliases=("where", "np.where", "if"), T=VALUES)
def select(condition: Array, x: Array, y: Array) -> Array:
    """Where `condition` holds, the cell of `x`; elsewhere that of `y`.

    output[i, …] = x[i, …] if condition[i] else y[i, …]
    where i stands for all axes of condition

    `condition` has their shape, or an entry for each of their rows, or is one for all.
    """
    rows = condition.reshape(condition.shape + (1,) * (x.ndim - condition.ndim))
    return np.where(rows, x, y)


@select.shape
def _(condition: Spec, x: Spec, y: Spec) -> Shape:
    why, hint = "the shape of x", "Use SelectV2, which broadcasts."
    shape = agreed("y", y, x.shape, why, hint)
    if shape is None or condition.shape is None:
        return shape
    if condition.shape and len(condition.shape) != len(shape) and len(condition.shape) != 1:
        rule = f"must have the shape of x, {shape_text(shape)}, or an entry for each row, or be one"
        got = described(shape_text(condition.shape))
        raise OpError(rule, arg="condition", got=got, hint=hint)
    if not shape and condition.shape:
        got = described(shape_text(condition.shape))
        raise OpError("must be a scalar, as x is", arg="condition", got=got, hint=hint)
    begin = shape[: len(condition.shape)]
    agreed("condition", condition, begin, "the shape of x or its rows", hint)
    return shape


@select.cells
def _(z: Spec, condition: Spec, x: Spec, y: Spec) -> list[AccessMap]:
    loops, at = over(z.sizes)
    cells = dict.fromkeys(("x", "y", "output"), Cells(at))
    cells["condition"] = Cells(at[: len(condition.sizes)])
    return [AccessMap("apply", ("condition", "x", "y"), loops, cells)]


@select.grad
def _(dz: Value, z: Value, condition: Value, x: Value, y: Value) -> list[Value]:
    zeros = ops.zeros_like(dz)
    return [None, select(condition, dz, zeros), select(condition, zeros, dz)]


_ones, _twos = np.ones((2, 2)), np.full((2, 2), 2.0)
select.case(
    "cell by cell",
    condition=np.array([[True, False], [False, True]]),
    x=_ones,
    y=_twos,
    out=np.array([[1.0, 2], [2, 1]]),
)
select.case(
    "row by row",
    condition=np.array([False, True]),
    x=_ones,
    y=_twos,
    out=np.array([[2.0, 2], [1, 1]]),
)
select.case("all at once", condition=np.array(True), x=_ones, y=_twos, out=_ones)
select.fails("another shape", condition=True, x=_ones, y=np.zeros(2), error="shape of x")
select.fails("a row too many", condition=[True] * 3, x=_ones, y=_twos, error="or its rows")
select.fails("a matrix for a row", condition=[[True]], x=[1.0], y=[2.0], error="or an entry")
select.fails("a row for a scalar", condition=[True], x=1.0, y=2.0, error="must be a scalar")

cell_to_cell(select_v2)
