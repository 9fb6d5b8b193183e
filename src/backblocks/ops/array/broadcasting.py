"""Broadcasting and tiling: cells repeated to fill a larger shape, and summed back."""

import numpy as np

from backblocks import ops
from backblocks.dtypes import ALL_BUT_RESOURCE, FILLED, NAMES, REARRANGED
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, Coordinate, over
from backblocks.ops._elementwise import broadcast_cells
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op, zero_gradient
from backblocks.ops._spec import (
    Shape,
    Size,
    Spec,
    agreed,
    as_vector,
    broadcast,
    by_axis,
    known_value,
    ranked,
    scalar_value,
    shape_text,
    sizes_from,
)
from backblocks.ops.array.shapes import INDEX, shape_of


def unbroadcast(d: Value, x: Value) -> Value:
    """Undoes broadcasting: sums the gradient `d` down to the shape of the input `x` it belongs to."""
    if x.shape is not None and None not in x.shape and d.shape == x.shape:
        return d
    axes = broadcast_gradient_args(shape_of(x), shape_of(d)).r0
    return ops.reshape(ops.sum(d, axes, keep_dims=True), shape_of(x))


@op("BroadcastTo", "T, Tidx -> T", aliases=("expand", "np.broadcast_to"), T=REARRANGED, Tidx=INDEX)
def broadcast_to(input: Array, shape: Array) -> Array:
    """`input` repeated along axes of size 1, and along new ones in front, to fill `shape`.

    output[…, i] = input[j]
    where i are the last axes, which input has, and j is i, but 0 along axes of size 1
    """
    return np.broadcast_to(input, tuple(shape.tolist())).copy()


@broadcast_to.shape
def _(input: Spec, shape: Spec) -> Shape:
    (rank,) = ranked("shape", shape, 1)
    if shape.value is None or rank is None:
        return None if rank is None else (None,) * rank
    sizes = sizes_from("shape", shape, [rank])
    if input.shape is not None and not _reaches(input.shape, sizes):
        raise OpError(
            f"cannot be reached from {shape_text(input.shape)} by repeating axes of size 1",
            arg="shape",
            got=described(shape_text(sizes)),
            hint="Keep the sizes of input, but for those that are 1.",
        )
    return sizes


def _reaches(small: tuple[Size, ...], large: tuple[Size, ...]) -> bool:
    """Whether repeating axes of size 1 can make one shape of the other; unknown sizes may fit."""
    together = broadcast("shape", small, large) or ()
    return len(small) <= len(large) and all(
        a in (None, b) for a, b in zip(together, large, strict=True)
    )


@broadcast_to.cells
def _(y: Spec, input: Spec, shape: Spec) -> list[AccessMap]:
    loops, at = over(y.sizes)
    cells = {"input": broadcast_cells(input.sizes, at), "output": Cells(at)}
    return [AccessMap("copy", ("input",), loops, cells)]


@broadcast_to.grad
def _(dy: Value, y: Value, input: Value, shape: Value) -> list[Value]:
    return [unbroadcast(dy, input), None]


broadcast_to.case(
    "a row, twice",
    input=np.array([1.0, 2]),
    shape=np.array([2, 2]),
    out=np.array([[1.0, 2], [1, 2]]),
)
broadcast_to.fails("fewer axes", input=np.zeros((1, 2)), shape=[2], error="cannot be reached")
broadcast_to.fails("sizes differ", input=np.zeros(2), shape=[3], error="must broadcast")


@op("BroadcastGradientArgs", "T, T -> r0: T, r1: T", T=INDEX)
def broadcast_gradient_args(s0: Array, s1: Array) -> tuple[Array, Array]:
    """Which axes were repeated when tensors of shapes `s0` and `s1` were broadcast together.

    r0 = all a with s0[a] = 1
    r1 = all a with s1[a] = 1
    where the shorter of both gets ones in front; nothing is in r0 and r1 if s0 = s1

    Summing a gradient over `r0` and reshaping it to `s0` gives the gradient of the first tensor.
    """
    rank = max(len(s0), len(s1))
    a, b = ((1,) * (rank - len(s)) + tuple(s.tolist()) for s in (s0, s1))
    # Where both sizes are 1 the axis is listed on both sides: summing it changes nothing.
    r0 = [i for i in range(rank) if a[i] == 1]
    r1 = [i for i in range(rank) if b[i] == 1]
    if np.array_equal(s0, s1):
        r0 = r1 = []
    return np.array(r0, s0.dtype), np.array(r1, s0.dtype)


@broadcast_gradient_args.shape
def _(s0: Spec, s1: Spec) -> tuple[Shape, Shape]:
    by_axis("s0", s0)
    by_axis("s1", s1)
    if s0.value is None or s1.value is None:
        return (None,), (None,)
    broadcast("s1", tuple(s0.value.tolist()), tuple(s1.value.tolist()))
    r0, r1 = broadcast_gradient_args.reference(s0.value, s1.value)
    return r0.shape, r1.shape


broadcast_gradient_args.grad(zero_gradient)
broadcast_gradient_args.case(
    "a row against a matrix",
    s0=np.array([3], np.int32),
    s1=np.array([2, 3], np.int32),
    out=(np.array([0], np.int32), np.array([], np.int32)),
)


@op("BroadcastArgs", "T, T -> r0: T", T=INDEX)
def broadcast_args(s0: Array, s1: Array) -> Array:
    """The shape that tensors of shapes `s0` and `s1` have together.

    r0[a] = s1[a] if s0[a] = 1 else s0[a]
    where the shorter of both gets ones in front
    """
    return np.array(broadcast("s1", tuple(s0.tolist()), tuple(s1.tolist())), s0.dtype)


@broadcast_args.shape
def _(s0: Spec, s1: Spec) -> Shape:
    m, n = by_axis("s0", s0), by_axis("s1", s1)
    if s0.value is not None and s1.value is not None:
        for arg, sizes in (("s0", s0.value), ("s1", s1.value)):
            if sizes.size and sizes.min() < 0:
                hint = "Write every size out, or take it from x.shape."
                raise OpError("sizes must not be negative", arg=arg, got=sizes, hint=hint)
        broadcast("s1", tuple(s0.value.tolist()), tuple(s1.value.tolist()))
    return (None if m is None or n is None else max(m, n),)


broadcast_args.grad(zero_gradient)
broadcast_args.case(
    "a row against a matrix", s0=np.array([3]), s1=np.array([2, 1]), out=np.array([2, 3])
)
broadcast_args.case("a scalar", s0=np.zeros(0, np.int64), s1=np.array([0]), out=np.array([0]))
broadcast_args.case(
    "sizes of no array", s0=np.array([2**62]), s1=np.array([2**62, 1]), out=np.array([2**62, 2**62])
)
broadcast_args.fails("apart", s0=[2, 3], s1=[2, 2], error="must broadcast")
broadcast_args.fails("a size below 0", s0=[-1], s1=[1], error="not be negative")


@op("Fill", "index_type, T -> T", aliases=("full", "np.full"), T=FILLED, index_type=INDEX)
def fill(dims: Array, value: Array) -> Array:
    """A tensor of this shape with `value` in every cell.

    output[…] = value
    """
    return np.full(dims.reshape(-1).tolist(), value, value.dtype)


@fill.shape
def _(dims: Spec, value: Spec) -> Shape:
    scalar_value("value", Spec(value.shape, value.dtype), rank=1)
    dims = as_vector(dims)
    (rank,) = ranked("dims", dims, 1)
    return None if rank is None else sizes_from("dims", dims, [rank])


@fill.cells
def _(y: Spec, dims: Spec, value: Spec) -> list[AccessMap]:
    loops, at = over(y.sizes)
    only = Cells((Coordinate(0),) * len(value.sizes))
    return [AccessMap("copy", ("value",), loops, {"value": only, "output": Cells(at)})]


@fill.grad
def _(dy: Value, y: Value, dims: Value, value: Value) -> list[Value]:
    if value.shape == ():
        return [None, unbroadcast(dy, value)]
    # Dimensions of none at all are fewer than those of a value in brackets.
    return [None, ops.reshape(unbroadcast(dy, np.zeros((), dy.dtype)), shape_of(value))]


fill.case("a row of fives", dims=np.array([1, 2]), value=np.array(5.0), out=np.array([[5.0, 5]]))
fill.case("one size alone", dims=np.array(2), value=np.array(5.0), out=np.array([5.0, 5]))
fill.case(
    "a value in brackets", dims=np.zeros(0, np.int32), value=np.array([5.0]), out=np.array(5.0)
)
fill.case("nothing", dims=np.array([0, 2]), value=np.array(5.0), out=np.zeros((0, 2)))
fill.case("a scalar", dims=np.zeros(0, np.int32), value=np.array(5.0), out=np.array(5.0))
fill.fails("a size below zero", dims=[-1], value=5.0, error="negative")
fill.fails("several values", dims=[2], value=[5.0, 6.0], error="must have one entry")


@op(
    "Tile",
    "T, Tmultiples -> T",
    aliases=("repeat", "np.tile"),
    T=ALL_BUT_RESOURCE,
    Tmultiples=INDEX,
)
def tile(input: Array, multiples: Array) -> Array:
    """`input` laid side by side with itself, so many times along each axis.

    output[i] = input[i mod n]
    where i stands for all axes, n are the sizes of input, and 0 ≤ i < n · multiples
    """
    return np.tile(input, multiples.tolist())


@tile.shape
def _(input: Spec, multiples: Spec) -> Shape:
    (count,) = ranked("multiples", multiples, 1)
    rank = count if input.shape is None else len(input.shape)
    if rank is None:
        return None
    hint = "Use 1 for an axis that is to stay as it is."
    agreed("multiples", multiples, (rank,), "an entry for each dimension of input", hint)
    times = sizes_from("multiples", multiples, [rank])
    sizes = input.shape or (None,) * rank
    return tuple(
        0 if 0 in (m, n) else None if m is None or n is None else m * n
        for m, n in zip(times, sizes, strict=True)
    )


@tile.cells
def _(y: Spec, input: Spec, multiples: Spec) -> list[AccessMap]:
    sizes = input.sizes
    loops, at = over((*multiples.contents.tolist(), *sizes))
    pairs = zip(at[: len(sizes)], at[len(sizes) :], sizes, strict=True)
    laid = tuple(time * n + i for time, i, n in pairs)
    cells = {"input": Cells(at[len(sizes) :]), "output": Cells(laid)}
    return [AccessMap("copy", ("input",), loops, cells)]


@tile.grad
def _(dy: Value, y: Value, input: Value, multiples: Value) -> list[Value]:
    known = known_value(multiples)
    times = multiples if known is None else known
    sizes = shape_of(input, NAMES[times.dtype])
    # Each axis becomes two, the copies and the cells of one, and the copies are summed.
    apart = ops.reshape(ops.pack([times, sizes], axis=1), [-1])
    rank = None if input.shape is None else len(input.shape)
    copies = ops.range(0, ops.size(apart) if rank is None else 2 * rank, 2)
    return [ops.reshape(ops.sum(ops.reshape(dy, apart), copies), sizes), None]


tile.case(
    "twice down, three times across",
    input=np.array([[1.0, 2]]),
    multiples=np.array([2, 3]),
    out=np.array([[1.0, 2, 1, 2, 1, 2], [1, 2, 1, 2, 1, 2]]),
)
tile.case("not at all", input=np.array([1.0, 2]), multiples=np.array([0]), out=np.zeros(0))
tile.case(
    "a scalar has no axes",
    input=np.array(5.0),
    multiples=np.zeros(0, np.int32),
    out=np.array(5.0),
)
tile.fails("fewer than none", input=[1.0], multiples=[-1], error="negative")
tile.fails("an entry missing", input=np.zeros((2, 2)), multiples=[2], error="each dimension")
