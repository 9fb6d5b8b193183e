"""One-hot encoding of class numbers."""

import numpy as np

from backblocks.dtypes import VALUES
from backblocks.errors import OpError
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import op, zero_gradient
from backblocks.ops._spec import Shape, Spec, scalar_value
from backblocks.ops.attrs import Int


@op(
    "OneHot",
    "TI, int32, T, T -> T",
    aliases=("one-hot", "np.eye"),
    T=VALUES,
    TI=("uint8", "int8", "int32", "int64"),
)
def one_hot(
    indices: Array, depth: Array, on_value: Array, off_value: Array, *, axis: Int = -1
) -> Array:
    """A new axis of size `depth`: `on_value` at the place that the index names, `off_value` elsewhere.

    output[…, d, …] = on_value if indices[…] = d else off_value
    where d stands at axis, and 0 ≤ d < depth

    An index outside names no place.
    """
    at = axis % (indices.ndim + 1)
    places = np.arange(int(depth.item())).reshape(-1, *[1] * (indices.ndim - at))
    return np.where(np.expand_dims(indices, at) == places, on_value, off_value)


@one_hot.shape
def _(indices: Spec, depth: Spec, on_value: Spec, off_value: Spec, *, axis: int) -> Shape:
    size = scalar_value("depth", depth)
    if size is not None and size < 0:
        raise OpError("must not be negative", arg="depth", got=size, hint="Use 0 for no classes.")
    for arg, spec in (("on_value", on_value), ("off_value", off_value)):
        scalar_value(arg, Spec(spec.shape, spec.dtype))
    if axis < -1:
        hint = "Use -1 to have the new axis last."
        raise OpError("must be -1 or at least 0", arg="axis", got=axis, hint=hint)
    if indices.shape is None:
        return None
    rank = len(indices.shape)
    if axis > rank:
        hint = "Use -1 to have the new axis last."
        raise OpError(f"must be at most {rank}", arg="axis", got=axis, hint=hint)
    at = rank if axis == -1 else axis
    return (*indices.shape[:at], size, *indices.shape[at:])


@one_hot.cells
def _(
    y: Spec, indices: Spec, depth: Spec, on_value: Spec, off_value: Spec, *, axis: int
) -> list[AccessMap]:
    loops, at = over(y.sizes)
    new = axis % len(at)
    cells = {
        "indices": Cells(at[:new] + at[new + 1 :]),
        "on_value": Cells(()),
        "off_value": Cells(()),
        "output": Cells(at),
    }
    return [AccessMap("apply", ("indices", "on_value", "off_value"), loops, cells)]


one_hot.grad(zero_gradient)
_on, _off = np.array(1.0), np.array(0.0)
one_hot.case(
    "three classes; a class that is not there",
    indices=np.array([2, 0, 5, -1]),
    depth=np.array(3, np.int32),
    on_value=_on,
    off_value=_off,
    out=np.array([[0.0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]]),
)
one_hot.case(
    "the classes first",
    indices=np.array([1, 0, 1]),
    depth=np.array(2, np.int32),
    on_value=np.array(5.0),
    off_value=np.array(-1.0),
    axis=0,
    out=np.array([[-1.0, 5, -1], [5, -1, 5]]),
)
one_hot.case(
    "one number",
    indices=np.array(1),
    depth=np.array(2, np.int32),
    on_value=_on,
    off_value=_off,
    out=np.array([0.0, 1]),
)
one_hot.fails(
    "fewer than no classes",
    indices=[0],
    depth=-1,
    on_value=1.0,
    off_value=0.0,
    error="not be negative",
)
one_hot.fails(
    "a value for each", indices=[0], depth=2, on_value=[1.0, 2.0], off_value=0.0, error="scalar"
)
one_hot.fails(
    "an axis too far", indices=[0], depth=2, on_value=1.0, off_value=0.0, axis=2, error="at most 1"
)
one_hot.fails(
    "counted from the end",
    indices=[0],
    depth=2,
    on_value=1.0,
    off_value=0.0,
    axis=-2,
    error="-1 or",
)
