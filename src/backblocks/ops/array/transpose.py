"""Transpose, and the inverse of a permutation of axes."""

import numpy as np

from backblocks import ops
from backblocks.dtypes import REARRANGED
from backblocks.errors import OpError
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._chunks import ELEMENT_COST, chunks
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op, zero_gradient
from backblocks.ops._spec import Shape, Spec, known_value, ranked
from backblocks.ops.array.shapes import INDEX


@op(
    "Transpose",
    "T, Tperm -> y: T",
    aliases=("permute", "np.transpose", "swap axes"),
    T=REARRANGED,
    Tperm=INDEX,
)
def transpose(x: Array, perm: Array) -> Array:
    """`x` with its axes in the order of `perm`: axis i of the result is axis perm[i] of `x`.

    y[i] = x[j]
    where i and j are index vectors, and i[a] = j[perm[a]] for every axis a
    """
    return x.transpose(perm.tolist())


@transpose.shape
def _(x: Spec, perm: Spec) -> Shape:
    (rank,) = ranked("perm", perm, 1)
    if rank is None:
        return None if x.shape is None else (None,) * len(x.shape)
    sizes = ranked("x", x, rank, hint="Give perm one entry for each dimension of x.")
    if perm.value is None:
        return (None,) * rank
    order = _from_front(perm.value)
    _check_order("perm", perm.value, order)
    return tuple(sizes[axis] for axis in order.tolist())


def _from_front(perm: Array) -> Array:
    """Axes counted from 0 at the front, also those that are counted from -1 at the end."""
    return np.where(perm < 0, perm + len(perm), perm)


def _check_order(arg: str, given: Array, order: Array) -> None:
    if not _is_order(order):
        raise OpError(
            f"must hold each of 0 to {len(order) - 1} once",
            arg=arg,
            got=given.tolist(),
            hint="Write the axes in their new order, counted from 0 at the front.",
        )


@transpose.cells
def _(y: Spec, x: Spec, perm: Spec) -> list[AccessMap]:
    loops, at = over(x.sizes)
    moved = tuple(at[axis] for axis in _from_front(perm.contents).tolist())
    return [AccessMap("copy", ("x",), loops, {"x": Cells(at), "y": Cells(moved)})]


@transpose.grad
def _(dy: Value, y: Value, x: Value, perm: Value) -> list[Value]:
    order = known_value(perm)
    axes = ops.floor_mod(perm, ops.size(perm, out_type=perm.dtype)) if order is None else order
    back = invert_permutation(axes if order is None else _from_front(order))
    return [transpose(dy, back), None]


transpose.case(
    "rows become columns",
    x=np.array([[1.0, 2], [3, 4]]),
    perm=np.array([1, 0]),
    out=np.array([[1.0, 3], [2, 4]]),
)
transpose.case(
    "axes counted from the end",
    x=np.arange(6.0).reshape(1, 2, 3),
    perm=np.array([-1, 0, -2]),
    out=np.arange(6.0).reshape(1, 2, 3).transpose(2, 0, 1),
)
transpose.fails("one axis twice", x=np.zeros((1, 2)), perm=[0, -2], error="each of 0 to 1")
transpose.fails(
    "CVE-2021-41216: an axis before the first", x=np.zeros((1, 2)), perm=[0, -3], error="each of 0"
)


@op("InvertPermutation", "T -> y: T", T=INDEX)
def invert_permutation(x: Array) -> Array:
    """The order that undoes the order `x`.

    y[x[i]] = i
    """
    out = np.empty_like(x)
    out[x] = np.arange(len(x))
    return out


@invert_permutation.shape
def _(x: Spec) -> Shape:
    shape = ranked("x", x, 1)
    if x.value is not None:
        _check_order("x", x.value, x.value)
    return shape


def _is_order(x: Array) -> bool:
    """Without sorting it, which takes long if there are millions."""
    found = np.zeros(len(x), bool)
    for part in chunks(len(x), len(x) * ELEMENT_COST):
        places = x[part]
        found[places[(places >= 0) & (places < len(x))]] = True
    return bool(found.all())


invert_permutation.grad(zero_gradient)
invert_permutation.case("three", x=np.array([2, 0, 1]), out=np.array([1, 2, 0]))
invert_permutation.fails("one twice", x=[0, 0], error="once")
