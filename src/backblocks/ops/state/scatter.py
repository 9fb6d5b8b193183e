"""Scatter updates of some rows of a variable, and whether a variable is initialized."""

from typing import Any

import numpy as np

from backblocks.dtypes import NUMBERS, REALS, VALUES, wide
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.ops._op import op
from backblocks.ops._spec import Shape, Spec, check_rows, shape_text
from backblocks.ops.array.gather_nd_and_scatter_nd import BadIndices, scattered, scattered_shape
from backblocks.ops.array.shapes import INDEX
from backblocks.ops.attrs import Flag

_SIGNATURE = "T, Tindices, T -> output_ref: T"


def _rows(ref: Spec, indices: Spec, updates: Spec, **attrs: Any) -> Shape:
    if ref.shape == ():
        hint = "Use a variable with rows, or Assign."
        raise OpError("must have rows", arg="ref", got=described("a scalar"), hint=hint)
    rows = None if ref.shape is None else ref.shape[0]
    check_rows("indices", indices, rows, "They count the rows of the variable from 0.")
    if None in (ref.shape, indices.shape, updates.shape) or updates.shape == ():
        return ref.shape
    wanted = (*(indices.shape or ()), *(ref.shape or ())[1:])
    if len(wanted) != len(updates.shape or ()) or any(
        None not in (m, n) and m != n for m, n in zip(wanted, updates.shape or (), strict=True)
    ):
        raise OpError(
            f"must have a row for each index, {shape_text(wanted)}",
            arg="updates",
            got=described(shape_text(updates.shape)),
            hint="One number alone counts for every row.",
        )
    return ref.shape


def _applied(ufunc: np.ufunc, ref: Array, indices: Array, updates: Array) -> Array:
    """Rows that are named several times change several times."""
    out = ref.astype(wide(ref.dtype))
    new = updates.astype(out.dtype, copy=False)
    rows = indices.reshape(-1)  # ufunc.at crashes where axes of indices and rows are more than 32
    ufunc.at(out, rows, new.reshape(len(rows), *ref.shape[1:]) if new.ndim else new)
    return out


@op("ScatterUpdate", _SIGNATURE, writes=("ref",), T=VALUES, Tindices=INDEX)
def scatter_update(
    ref: Array, indices: Array, updates: Array, *, use_locking: Flag = True
) -> Array:
    """Gives the rows of a variable that `indices` names new values; of several for a row the last.

    ref[indices[i], …] ← updates[i, …]
    where i runs over all cells of indices, in order; updates of one number is the same for all
    """
    out = ref.copy()
    # NumPy leaves open which of several counts, so the last one is found first.
    rows = indices.reshape(-1)
    new = np.broadcast_to(updates, (*indices.shape, *ref.shape[1:]))
    last = len(rows) - 1 - np.unique(rows[::-1], return_index=True)[1]
    out[rows[last]] = new.reshape(len(rows), *ref.shape[1:])[last]
    return out


@op("ScatterAdd", _SIGNATURE, writes=("ref",), T=NUMBERS, Tindices=INDEX)
def scatter_add(ref: Array, indices: Array, updates: Array, *, use_locking: Flag = False) -> Array:
    """Adds to the rows of a variable that `indices` names.

    ref[indices[i], …] ← ref[indices[i], …] + updates[i, …]
    where i runs over all cells of indices, in order; updates of one number is the same for all
    """
    return _applied(np.add, ref, indices, updates)


@op("ScatterSub", _SIGNATURE, writes=("ref",), T=NUMBERS, Tindices=INDEX)
def scatter_sub(ref: Array, indices: Array, updates: Array, *, use_locking: Flag = False) -> Array:
    """Subtracts from the rows of a variable that `indices` names.

    ref[indices[i], …] ← ref[indices[i], …] - updates[i, …]
    where i runs over all cells of indices, in order; updates of one number is the same for all
    """
    return _applied(np.subtract, ref, indices, updates)


@op("ScatterMul", _SIGNATURE, writes=("ref",), T=NUMBERS, Tindices=INDEX)
def scatter_mul(ref: Array, indices: Array, updates: Array, *, use_locking: Flag = False) -> Array:
    """Multiplies the rows of a variable that `indices` names.

    ref[indices[i], …] ← ref[indices[i], …] · updates[i, …]
    where i runs over all cells of indices, in order; updates of one number is the same for all
    """
    return _applied(np.multiply, ref, indices, updates)


@op("ScatterMax", _SIGNATURE, writes=("ref",), T=REALS, Tindices=INDEX)
def scatter_max(ref: Array, indices: Array, updates: Array, *, use_locking: Flag = False) -> Array:
    """Raises the rows of a variable that `indices` names to `updates`, where they are below; NaN wins.

    ref[indices[i], …] ← max(ref[indices[i], …], updates[i, …])
    where i runs over all cells of indices, in order; updates of one number is the same for all
    """
    return _applied(np.maximum, ref, indices, updates)


@op("ScatterMin", _SIGNATURE, writes=("ref",), T=REALS, Tindices=INDEX)
def scatter_min(ref: Array, indices: Array, updates: Array, *, use_locking: Flag = False) -> Array:
    """Lowers the rows of a variable that `indices` names to `updates`, where they are above; NaN wins.

    ref[indices[i], …] ← min(ref[indices[i], …], updates[i, …])
    where i runs over all cells of indices, in order; updates of one number is the same for all
    """
    return _applied(np.minimum, ref, indices, updates)


_table = np.array([[1.0, 2], [3, 4], [5, 6]])
_new = np.array([[7.0, 2], [1, 8]])
for _each, _twice, _all in (
    # rows 2 and 2 again by `_new`, and rows 0 and 1 by 2
    (scatter_update, [1.0, 8], [[2.0, 2], [2, 2]]),
    (scatter_add, [13.0, 16], [[3.0, 4], [5, 6]]),
    (scatter_sub, [-3.0, -4], [[-1.0, 0], [1, 2]]),
    (scatter_mul, [35.0, 96], [[2.0, 4], [6, 8]]),
    (scatter_max, [7.0, 8], [[2.0, 2], [3, 4]]),
    (scatter_min, [1.0, 2], [[1.0, 2], [2, 2]]),
):
    _each.shape(_rows)
    _each.no_gradient("It changes a variable. Differentiate what is assigned, not the assignment.")
    _each.case(
        "a row twice",
        ref=_table,
        indices=np.array([2, 2]),
        updates=_new,
        out=np.array([*_table[:2].tolist(), _twice]),
    )
    _each.case(
        "one number for all",
        ref=_table,
        indices=np.array([[0], [1]]),
        updates=np.array(2.0),
        out=np.array([*_all, [5.0, 6]]),
    )
    _each.case(
        "no rows",
        ref=_table,
        indices=np.zeros(0, np.int64),
        updates=np.zeros((0, 2)),
        out=_table,
    )
    _each.fails("beyond the last", ref=_table, indices=[3], updates=[[1.0, 2]], error="must lie in")
    _each.fails("below 0", ref=_table, indices=[-1], updates=[[1.0, 2]], error="must lie in")
    _each.fails("too few", ref=_table, indices=[0, 1], updates=[[1.0, 2]], error="for each index")
    _each.fails("no rows at all", ref=1.0, indices=[0], updates=[1.0], error="must have rows")
for _each in (scatter_add, scatter_sub, scatter_mul):
    _each.differs(
        "half sums",
        at="half",
        tensorflow="Rows of half types are rounded after every change.",
        ours="They are changed in float32 and rounded once.",
    )
for _each in (scatter_max, scatter_min):
    _each.differs(
        "nan",
        tensorflow="A NaN in `updates` or in the variable may be lost.",
        ours="A NaN wins, as in Maximum.",
    )


# -- cells and slices by index vectors ------------------------------------------------------------------


@op("ScatterNdUpdate", _SIGNATURE, writes=("ref",), T=VALUES, Tindices=INDEX)
def scatter_nd_update(
    ref: Array,
    indices: Array,
    updates: Array,
    *,
    use_locking: Flag = True,
    bad_indices_policy: BadIndices = "",
) -> Array:
    """Puts each update in the place of a variable that its index vector names; of several the last.

    ref[indices[i, :], …] ← updates[i, …]
    where i runs over all index vectors, in order, which stand along the last axis of indices
    """
    return scattered(None, ref, indices, updates)


@op("ScatterNdAdd", _SIGNATURE, writes=("ref",), T=NUMBERS, Tindices=INDEX)
def scatter_nd_add(
    ref: Array,
    indices: Array,
    updates: Array,
    *,
    use_locking: Flag = False,
    bad_indices_policy: BadIndices = "",
) -> Array:
    """Adds each update at the cell or slice of a variable that its index vector names.

    ref[indices[i, :], …] ← ref[indices[i, :], …] + updates[i, …]
    where i runs over all index vectors, in order, which stand along the last axis of indices
    """
    return scattered(np.add, ref, indices, updates)


@op("ScatterNdSub", _SIGNATURE, writes=("ref",), T=NUMBERS, Tindices=INDEX)
def scatter_nd_sub(
    ref: Array,
    indices: Array,
    updates: Array,
    *,
    use_locking: Flag = False,
    bad_indices_policy: BadIndices = "",
) -> Array:
    """Subtracts each update from the cell or slice of a variable that its index vector names.

    ref[indices[i, :], …] ← ref[indices[i, :], …] - updates[i, …]
    where i runs over all index vectors, in order, which stand along the last axis of indices
    """
    return scattered(np.subtract, ref, indices, updates)


for _each, _cell, _row in (
    (scatter_nd_update, 7.0, [[1.0, 2], [3, 4], [7, 8]]),
    (scatter_nd_add, 10.0, [[1.0, 2], [3, 4], [12, 14]]),
    (scatter_nd_sub, -4.0, [[1.0, 2], [3, 4], [-2, -2]]),
):
    _each.shape(
        lambda ref, indices, updates, *, bad_indices_policy, **how: scattered_shape(
            "ref", ref, indices, updates, bad_indices_policy
        )
    )
    _each.no_gradient("It changes a variable. Differentiate what is assigned, not the assignment.")
    _each.case(
        "a cell",
        ref=_table,
        indices=np.array([[1, 0]]),
        updates=np.array([7.0]),
        out=np.array([[1.0, 2], [_cell, 4], [5, 6]]),
    )
    _each.case(
        "a row, and one that falls outside",
        ref=_table,
        indices=np.array([[2], [3]]),
        updates=np.array([[7.0, 8], [9, 9]]),
        bad_indices_policy="IGNORE",
        out=np.array(_row),
    )
    _each.fails("outside", ref=_table, indices=[[3, 0]], updates=[1.0], error="inside")
    _each.fails("too few", ref=_table, indices=[[0, 0]], updates=[[1.0]], error="for each index")
for _each in (scatter_nd_add, scatter_nd_sub):
    _each.differs(
        "half sums",
        at="half",
        tensorflow="Cells of half types are rounded after every update.",
        ours="They are changed in float32 and rounded once.",
    )


@op("IsVariableInitialized", "dtype -> is_initialized: bool", stateful=True, dtype=VALUES)
def is_variable_initialized(ref: Array | None) -> Array:
    """Whether a variable has a value: it starts from one, or one was assigned.

    is_initialized = ref has a value
    """
    return np.array(ref is not None)


@is_variable_initialized.shape
def _(ref: Spec | None) -> Shape:
    return ()


is_variable_initialized.no_gradient("It asks about a variable, not about its value.")
is_variable_initialized.case("what has a value", ref=np.array([1.0]), out=np.array(True))
is_variable_initialized.case("of no cells", ref=np.zeros((0, 2)), out=np.array(True))
