"""The shape of a tensor as a value, and reshaping: the same cells in another shape."""

import math
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import ALL_BUT_RESOURCE, NAMES, NUMBERS_AND_BOOL, VALUES, zeros
from backblocks.errors import OpError, described, set_to
from backblocks.ops._access_maps import AccessMap, in_row_major_order, no_cells
from backblocks.ops._elementwise import cell_to_cell
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Value, op, zero_gradient
from backblocks.ops._plan import CopyKernel
from backblocks.ops._spec import (
    MAX_RANK,
    Shape,
    Size,
    Spec,
    as_vector,
    by_axis,
    check_axis,
    is_known,
    scalar_value,
    shape_text,
)
from backblocks.ops.attrs import Axes, dtype_of

INDEX = ("int32", "int64")
IndexType = Annotated[Any, dtype_of(*INDEX)]


def shape_of(x: Value, out_type: str = "int32") -> Value:
    """The shape of `x`: a plain array when it is known, else a symbol that will be."""
    known = x.shape is not None and None not in x.shape
    if known and max(x.shape, default=0) <= np.iinfo(out_type).max:
        return np.array(x.shape, out_type)
    return ops.shape(x, out_type=out_type)


@op("Shape", "T -> output: out_type", aliases=("size", "x.shape"), T=ALL_BUT_RESOURCE)
def shape(input: Array, *, out_type: IndexType = "int32") -> Array:
    """The sizes of `input`, as a vector.

    output[a] = the size of input along axis a
    """
    return np.array(input.shape, out_type)


def _check_counts(counts: Iterable[Size], out_type: Any) -> None:
    largest = max((n for n in counts if n is not None), default=0)
    if largest > np.iinfo(out_type).max:
        raise OpError(
            f"sizes must fit in {NAMES[out_type]}",
            arg="input",
            got=largest,
            hint='Use out_type="int64".',
        )


@shape.shape
def _(input: Spec, *, out_type: Any) -> Shape:
    _check_counts(input.shape or (), out_type)
    return (None if input.shape is None else len(input.shape),)


@shape.static_value
def _(input: Spec, *, out_type: Any) -> Any:
    return np.array(input.shape, out_type) if is_known(input.shape) else None


shape.grad(zero_gradient)
shape.case("of a matrix", input=np.zeros((2, 3)), out=np.array([2, 3], np.int32))


@op("Size", "T -> output: out_type", T=ALL_BUT_RESOURCE)
def size(input: Array, *, out_type: IndexType = "int32") -> Array:
    """How many cells `input` has.

    output = ∏ over a of the size of input along axis a
    """
    return np.array(input.size, out_type)


@size.shape
def _(input: Spec, *, out_type: Any) -> Shape:
    if input.shape is not None and None not in input.shape:
        _check_counts([math.prod(n for n in input.shape if n is not None)], out_type)
    return ()


@size.static_value
def _(input: Spec, *, out_type: Any) -> Any:
    if input.shape is None or None in input.shape:
        return None
    return np.array(math.prod(n for n in input.shape if n is not None), out_type)


size.grad(zero_gradient)
size.case("of a matrix", input=np.zeros((2, 3)), out=np.array(6, np.int32))
for _each in (shape, size):
    _each.fails(
        "more cells than int32 can count",
        input=np.broadcast_to(np.int8(0), (2**31,)),
        error="must fit in int32",
    )


@op("ShapeN", "T* -> output: out_type*", T=ALL_BUT_RESOURCE)
def shape_n(input: tuple[Array, ...], *, out_type: IndexType = "int32") -> tuple[Array, ...]:
    """The sizes of each of several tensors.

    output[m][a] = the size of input[m] along axis a
    """
    return tuple(np.array(x.shape, out_type) for x in input)


@shape_n.shape
def _(input: tuple[Spec, ...], *, out_type: Any) -> tuple[Shape, ...]:
    if not input:
        hint = "Pass a list: [x, y]."
        raise OpError("must have at least one tensor", arg="input", got=input, hint=hint)
    for spec in input:
        _check_counts(spec.shape or (), out_type)
    return tuple((None if spec.shape is None else len(spec.shape),) for spec in input)


shape_n.grad(zero_gradient)
shape_n.case(
    "of a matrix and a scalar",
    input=[np.zeros((2, 3)), np.zeros(())],
    out=(np.array([2, 3], np.int32), np.zeros(0, np.int32)),
)
shape_n.case("of one", input=[np.zeros(4)], out_type="int64", out=(np.array([4]),))
shape_n.fails("of none", input=[], error="at least one")
shape_n.fails(
    "more cells than int32 can count",
    input=[np.broadcast_to(np.int8(0), (2**31,))],
    error="must fit in int32",
)


@op("Rank", "T -> output: int32", T=ALL_BUT_RESOURCE)
def rank(input: Array) -> Array:
    """How many dimensions `input` has.

    output = how many axes input has
    """
    return np.array(input.ndim, np.int32)


rank.shape(lambda input: ())
rank.grad(zero_gradient)
rank.case("of a matrix", input=np.zeros((2, 3)), out=np.array(2, np.int32))
rank.case("of a scalar", input=np.array(7.0), out=np.array(0, np.int32))


@op("Reshape", "T, Tshape -> T", aliases=("view", "np.reshape"), T=ALL_BUT_RESOURCE, Tshape=INDEX)
def reshape(tensor: Array, shape: Array) -> Array:
    """The same cells, in row-major order, in another shape. One size may be -1: what is left over.

    output[i] = tensor[j]
    where i and j are index vectors with the same number in row-major order
    """
    return tensor.reshape(_filled(tensor.shape, tuple(shape.reshape(-1).tolist())))


@reshape.shape
def _(tensor: Spec, shape: Spec) -> Shape:
    shape = as_vector(shape)
    rank = by_axis("shape", shape)
    if shape.value is None:
        return None if rank is None else (None,) * rank
    sizes = tuple(shape.value.tolist())
    if any(n < -1 for n in sizes) or sizes.count(-1) > 1:
        raise OpError(
            "sizes must not be negative, but for one -1",
            arg="shape",
            got=sizes,
            hint="Use -1 for the one size to be worked out.",
        )
    if tensor.shape is None or None in tensor.shape:
        return tuple(None if n == -1 else n for n in sizes)
    known = tuple(n for n in tensor.shape if n is not None)
    total, filled = math.prod(known), _filled(known, sizes)
    if math.prod(filled) != total:
        raise OpError(
            f"must have room for the {total} cells of {shape_text(tensor.shape)}",
            arg="shape",
            got=described(shape_text(sizes)),
            hint="Use -1 for one size to have it worked out.",
            fixes=[
                set_to(shape=[-1 if i == axis else n for i, n in enumerate(sizes)])
                for axis in reversed(range(len(sizes)))
            ],
        )
    return filled


def _filled(old: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """`sizes` with the -1 replaced by what is left over of the sizes `old`.

    Beside a size of 0, any size would fit: it is what the sizes other than 0 leave over.
    """
    others = [n for n in sizes if n != -1]
    if 0 in others:
        old, others = tuple(n for n in old if n), [n for n in others if n]
    return tuple(math.prod(old) // math.prod(others) if n == -1 else n for n in sizes)


@reshape.grad
def _(dy: Value, y: Value, tensor: Value, shape: Value) -> list[Value]:
    return [reshape(dy, shape_of(tensor)), None]


reshape.case(
    "what is left over",
    tensor=np.arange(6.0),
    shape=np.array([2, -1]),
    out=np.arange(6.0).reshape(2, 3),
)
reshape.case(
    "what is left over of the sizes other than 0",
    tensor=np.zeros((0, 6)),
    shape=np.array([0, -1, 3]),
    out=np.zeros((0, 2, 3)),
)
reshape.case(
    "no cells, and no 0 to leave out",
    tensor=np.zeros((0, 5)),
    shape=np.array([2, -1]),
    out=np.zeros((2, 0)),
)
reshape.case("a size alone", tensor=np.eye(2), shape=np.array(4), out=np.array([1.0, 0, 0, 1]))
reshape.fails("a table of sizes", tensor=np.zeros(6), shape=[[2, 3]], error="1 dimension")
reshape.fails("too few cells", tensor=np.zeros(6), shape=[4, 2], error="room for the 6 cells")
reshape.fails("two open sizes", tensor=np.zeros(6), shape=[-1, -1], error="one -1")


@op(
    "ExpandDims",
    "T, Tdim -> T",
    aliases=("unsqueeze", "np.expand_dims", "newaxis"),
    T=ALL_BUT_RESOURCE,
    Tdim=INDEX,
)
def expand_dims(input: Array, axis: Array) -> Array:
    """`input` with a new axis of size 1 at `axis`.

    output[…, 0, …] = input[…]
    where 0 stands at axis
    """
    return np.expand_dims(input, int(axis.item()))


@expand_dims.shape
def _(input: Spec, axis: Spec) -> Shape:
    at = scalar_value("axis", axis, MAX_RANK)
    if input.shape is None:
        return None
    rank = len(input.shape) + 1
    if at is None:
        return (None,) * rank
    check_axis("axis", at, rank)
    sizes = list(input.shape)
    sizes.insert(at % rank, 1)
    return tuple(sizes)


@expand_dims.grad
def _(dy: Value, y: Value, input: Value, axis: Value) -> list[Value]:
    return [reshape(dy, shape_of(input)), None]


expand_dims.case("at the end", input=np.zeros((2, 3)), axis=np.array(-1), out=np.zeros((2, 3, 1)))
expand_dims.case(
    "an axis in brackets", input=np.zeros(2), axis=np.array([[0]]), out=np.zeros((1, 2))
)
expand_dims.fails("two axes", input=np.zeros(2), axis=[0, 1], error="one entry")
expand_dims.fails("beyond the last", input=np.zeros(2), axis=3, error="must lie in")


@op("Squeeze", "T -> T", aliases=("np.squeeze",), T=ALL_BUT_RESOURCE)
def squeeze(input: Array, *, axis: Axes = ()) -> Array:
    """`input` without its axes of size 1: those that `axis` names, or all if it names none.

    output[…] = input[…, 0, …]
    where 0 stands at every axis that goes
    """
    return np.squeeze(input, tuple(axis) or None)


@squeeze.shape
def _(input: Spec, *, axis: tuple[int, ...]) -> Shape:
    if input.shape is None:
        return None
    rank = len(input.shape)
    for a in axis:
        check_axis("axis", a, rank)
        if input.shape[a] not in (None, 1):
            rule = f"must have size 1 to be dropped, and axis {a % rank} has {input.shape[a]}"
            hint = "Name axes of size 1, or none for all."
            raise OpError(rule, arg="axis", axis=a % rank, got=axis, hint=hint)
    if not axis and None in input.shape:
        return None
    gone = {a % rank for a in axis} if axis else {i for i, n in enumerate(input.shape) if n == 1}
    return tuple(n for i, n in enumerate(input.shape) if i not in gone)


@squeeze.grad
def _(dy: Value, y: Value, input: Value, *, axis: tuple[int, ...]) -> list[Value]:
    return [reshape(dy, shape_of(input))]


squeeze.case("all of size 1", input=np.array([[[1.0], [2]]]), out=np.array([1.0, 2]))
squeeze.case("the last", input=np.array([[[1.0], [2]]]), axis=[-1], out=np.array([[1.0, 2]]))
squeeze.case("an empty one stays", input=np.zeros((1, 0)), axis=[0], out=np.zeros(0))
squeeze.fails("of another size", input=np.zeros((1, 2)), axis=[1], error="must have size 1")
squeeze.fails("beyond the last", input=np.zeros((1, 2)), axis=[2], error="must lie in")


@op("Identity", "T -> T", aliases=("pass", "copy"), T=ALL_BUT_RESOURCE)
def identity(input: Array) -> Array:
    """`input` as it is.

    output = input
    """
    return input.copy()


@op("ZerosLike", "T -> y: T", aliases=("zeros", "np.zeros_like"), T=VALUES)
def zeros_like(x: Array) -> Array:
    """Zeros in the shape of `x`; of strings empty ones.

    y[…] = 0
    """
    return zeros(x.shape, x.dtype)


@op("OnesLike", "T -> y: T", aliases=("ones", "np.ones_like"), T=NUMBERS_AND_BOOL)
def ones_like(x: Array) -> Array:
    """Ones in the shape of `x`.

    y[…] = 1
    """
    return np.ones(x.shape, x.dtype)


FEW = 1 << 12
"""How many numbers may be written down before anything runs."""


def _few_alike(x: Spec, fill: Callable[..., Array]) -> Array | None:
    sizes = [n for n in x.shape or () if n is not None]
    return fill(sizes, x.dtype) if is_known(x.shape) and math.prod(sizes) <= FEW else None


for each in (identity, zeros_like, ones_like):
    each.shape(lambda x: x.shape)


def _same_cells(x: Spec, *others: Spec, **attrs: Any) -> KernelFunction | None:
    return None if x.dtype.hasobject else CopyKernel(x.sizes)


@reshape.cells
def _(y: Spec, tensor: Spec, shape: Spec) -> list[AccessMap]:
    return in_row_major_order("copy", "tensor", "output", math.prod(y.sizes))


@expand_dims.cells
@squeeze.cells
def _(y: Spec, input: Spec, *others: Spec, **how: Any) -> list[AccessMap]:
    return in_row_major_order("copy", "input", "output", math.prod(y.sizes))


cell_to_cell(identity, "copy")
for each in (shape, size, shape_n, rank, zeros_like, ones_like):
    each.cells(no_cells)
for each in (reshape, expand_dims, squeeze, identity):
    each.kernel("copy")(_same_cells)
zeros_like.static_value(lambda x: _few_alike(x, zeros))
ones_like.static_value(lambda x: _few_alike(x, np.ones))
identity.grad(lambda dy, y, input: [dy])
zeros_like.grad(zero_gradient)
ones_like.grad(zero_gradient)
identity.case("three numbers", input=np.array([1.0, 2, 3]), out=np.array([1.0, 2, 3]))
zeros_like.case("three numbers", x=np.array([1.0, 2, 3]), out=np.zeros(3))
ones_like.case("three numbers", x=np.array([1.0, 2, 3]), out=np.ones(3))
