"""Reductions over some of the axes, cumulative sums and products, argmax, and ranges of numbers."""

import functools
import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import (
    FLOATS,
    NAMES,
    NUMBERS,
    REALS,
    highest,
    is_float,
    is_half,
    lowest,
    lowest_finite,
    wide,
)
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, Coordinate, over
from backblocks.ops._chunks import ELEMENT_COST, MAX_CHUNK_COST, chunks
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Value, op, zero_gradient
from backblocks.ops._spec import (
    COUNT_AXES,
    Shape,
    Spec,
    check_axis,
    known_value,
    scalar_value,
)
from backblocks.ops.array.shapes import INDEX, shape_of
from backblocks.ops.attrs import Flag, dtype_of
from backblocks.ops.math.arithmetic import conjugate


def _axes(axis: Array) -> tuple[int, ...]:
    return tuple(axis.reshape(-1).tolist())


def _reduced(input: Spec, axis: Spec, *, keep_dims: bool) -> Shape:
    if input.shape is None:
        return None
    rank = len(input.shape)
    if axis.value is None:
        return (None,) * rank if keep_dims else None
    axes = _axes(axis.value.reshape(-1)[: rank + 1])  # with more, some are named twice
    if any(not -rank <= a < rank for a in axes):
        raise OpError(
            f"every axis must lie in [{-rank}, {rank})", arg="axis", got=axes, hint=COUNT_AXES
        )
    chosen = {a % rank for a in axes}
    if len(chosen) < len(axes):
        raise OpError(
            "an axis is named twice", arg="axis", got=axes, hint="Name it once, from either end."
        )
    sizes = [1 if i in chosen else n for i, n in enumerate(input.shape)]
    return tuple(n for i, n in enumerate(sizes) if keep_dims or i not in chosen)


def _spread(d: Value, input: Value, axis: Value, keep_dims: bool) -> Value:
    """`d`, which has the shape of a result, repeated over the axes of `input` that were reduced."""
    axes = known_value(axis)
    if not keep_dims and axes is not None and input.shape is not None:
        for a in sorted(a % len(input.shape) for a in _axes(axes)):
            d = ops.expand_dims(d, a)
    elif not keep_dims:
        d = ops.reshape(d, ops.select_v2(_is_reduced(input, axis), 1, shape_of(input)))
    return ops.broadcast_to(d, shape_of(input))


def _is_reduced(input: Value, axis: Value) -> Value:
    """For each axis of `input`, whether it is one of those in `axis`."""
    axes = known_value(axis)
    numbers = ops.cast(axis if axes is None else axes, DstT="int32")
    rank = ops.size(shape_of(input))
    numbers = ops.reshape(ops.floor_mod(numbers, rank), [-1, 1])
    ones = ops.reshape(ops.ones_like(numbers), [-1])
    return ops.greater(ops.scatter_nd(numbers, ones, ops.reshape(rank, [1])), 0)


def _product_of_others(input: Value, axis: Value) -> Value:
    """For each cell, the product of all other cells that it is multiplied with; a 0 does no harm."""
    reduced, sizes = _is_reduced(input, axis), shape_of(input)
    rank = ops.size(sizes)
    # Axes that are reduced come first, which sorting them by that does.
    order = ops.top_k_v2(ops.cast(reduced, DstT="int32"), rank).indices
    moved = ops.transpose(input, order)
    count = ops.prod(ops.select_v2(reduced, sizes, 1), [0])
    rest = ops.prod(ops.select_v2(reduced, 1, sizes), [0])
    table = ops.reshape(moved, ops.pack([count, rest]))
    before = ops.cumprod(table, 0, exclusive=True)
    after = ops.cumprod(table, 0, exclusive=True, reverse=True)
    others = ops.reshape(ops.mul(before, after), shape_of(moved))
    return ops.transpose(others, ops.invert_permutation(order))


def _sum_grad(dy: Value, y: Value, input: Value, axis: Value, *, keep_dims: bool) -> list[Value]:
    return [_spread(dy, input, axis, keep_dims), None]


def _mean_grad(dy: Value, y: Value, input: Value, axis: Value, *, keep_dims: bool) -> list[Value]:
    counts = (ops.cast(ops.size(x), DstT=y.dtype) for x in (y, input))
    share = ops.div_no_nan(*counts)  # of nothing there is no share
    return [_spread(ops.mul(dy, share), input, axis, keep_dims), None]


def _prod_grad(dy: Value, y: Value, input: Value, axis: Value, *, keep_dims: bool) -> list[Value]:
    others = _product_of_others(conjugate(input), axis)
    return [ops.mul(_spread(dy, input, axis, keep_dims), others), None]


def _extreme_grad(
    dy: Value, y: Value, input: Value, axis: Value, *, keep_dims: bool
) -> list[Value]:
    """Goes to the cells that are the extreme; several share it."""
    chosen = ops.equal(input, _spread(y, input, axis, keep_dims))
    marks = ops.cast(chosen, DstT=input.dtype)
    share = ops.div_no_nan(dy, ops.sum(marks, axis, keep_dims=keep_dims))
    return [ops.select_v2(chosen, _spread(share, input, axis, keep_dims), 0), None]


def _norm_grad(dy: Value, y: Value, input: Value, axis: Value, *, keep_dims: bool) -> list[Value]:
    # Of a complex norm, which is real, only the real part of the gradient counts.
    real = ops.mul(ops.add_v2(dy, conjugate(dy)), 0.5)
    share = ops.div_no_nan(real, y)
    return [ops.mul(_spread(share, input, axis, keep_dims), input), None]


@op("Sum", "T, Tidx -> T", aliases=("reduce_sum", "np.sum", "total"), T=NUMBERS, Tidx=INDEX)
def sum_(input: Array, axis: Array, *, keep_dims: Flag = False) -> Any:
    """The sum over the named axes.

    output[k] = Σ over r of input[k, r]
    where r runs over the axes that axis names, k over the others
    """
    return input.sum(_axes(axis), dtype=wide(input.dtype), keepdims=keep_dims)


@op("Mean", "T, Tidx -> T", aliases=("reduce_mean", "average", "np.mean"), T=NUMBERS, Tidx=INDEX)
def mean(input: Array, axis: Array, *, keep_dims: Flag = False) -> Any:
    """The mean over the named axes. Of whole numbers it loses the fraction.

    output[k] = (Σ over r of input[k, r]) / n
    where r runs over the axes that axis names, k over the others
    where n is how many cells r has
    with whole numbers the quotient is cut toward 0
    """
    if input.dtype.kind in "iu":
        total = input.sum(_axes(axis), keepdims=keep_dims)  # in 64 bits
        count = max(input.size // max(total.size, 1), 1)
        return (
            np.sign(total) * (np.abs(total) // count) if total.dtype.kind == "i" else total // count
        )
    total = input.sum(_axes(axis), dtype=wide(input.dtype), keepdims=keep_dims)
    return total / (input.size / total.size)


@op("Prod", "T, Tidx -> T", aliases=("reduce_prod", "np.prod"), T=NUMBERS, Tidx=INDEX)
def prod(input: Array, axis: Array, *, keep_dims: Flag = False) -> Any:
    """The product over the named axes.

    output[k] = ∏ over r of input[k, r]
    where r runs over the axes that axis names, k over the others
    """
    return input.prod(_axes(axis), dtype=wide(input.dtype), keepdims=keep_dims)


@op("Max", "T, Tidx -> T", aliases=("reduce_max", "amax", "np.max"), T=REALS, Tidx=INDEX)
def max_(input: Array, axis: Array, *, keep_dims: Flag = False) -> Any:
    """The largest over the named axes; NaN if one of them is. Of nothing it is the lowest there is.

    output[k] = max over r of input[k, r]
    where r runs over the axes that axis names, k over the others
    """
    return np.max(_ordered(input), _axes(axis), keepdims=keep_dims, initial=lowest(input.dtype))


@op("Min", "T, Tidx -> T", aliases=("reduce_min", "amin", "np.min"), T=REALS, Tidx=INDEX)
def min_(input: Array, axis: Array, *, keep_dims: Flag = False) -> Any:
    """The smallest over the named axes; NaN if one of them is. Of nothing it is the highest there is.

    output[k] = min over r of input[k, r]
    where r runs over the axes that axis names, k over the others
    """
    return np.min(_ordered(input), _axes(axis), keepdims=keep_dims, initial=highest(input.dtype))


def _ordered(x: Array) -> Array:
    """bfloat16 as float32, in which NumPy knows how to order NaN."""
    return x.astype(wide(x.dtype), copy=False)


@op("All", "bool, Tidx -> bool", aliases=("reduce_all", "np.all"), Tidx=INDEX)
def all_(input: Array, axis: Array, *, keep_dims: Flag = False) -> Any:
    """Whether all hold over the named axes.

    output[k] = input[k, r] for all r
    where r runs over the axes that axis names, k over the others
    """
    return input.all(_axes(axis), keepdims=keep_dims)


@op("Any", "bool, Tidx -> bool", aliases=("reduce_any", "np.any"), Tidx=INDEX)
def any_(input: Array, axis: Array, *, keep_dims: Flag = False) -> Any:
    """Whether one at least holds over the named axes.

    output[k] = input[k, r] for any r
    where r runs over the axes that axis names, k over the others
    """
    return input.any(_axes(axis), keepdims=keep_dims)


@op("EuclideanNorm", "T, Tidx -> T", T=NUMBERS, Tidx=INDEX)
def euclidean_norm(input: Array, axis: Array, *, keep_dims: Flag = False) -> Any:
    """The root of the sum of squares over the named axes. Of whole numbers it loses the fraction.

    output[k] = √(Σ over r of |input[k, r]|²)
    where r runs over the axes that axis names, k over the others
    """
    x = input.astype(wide(input.dtype), copy=False)
    total = (x * np.conjugate(x)).sum(_axes(axis), dtype=x.dtype, keepdims=keep_dims)
    return np.sqrt(total).astype(x.dtype)


def _reduction_cells(rule: str, whole: str) -> Any:
    """Declares a reduction; of whole numbers, and of nothing, the rule may be another one."""

    def cells(y: Spec, input: Spec, axis: Spec, *, keep_dims: bool) -> list[AccessMap]:
        loops, at = over(input.sizes)
        gone = {a % len(at) for a in _axes(axis.contents)}
        kept = [
            Coordinate() if i in gone else place
            for i, place in enumerate(at)
            if keep_dims or i not in gone
        ]
        plain = is_float(input.dtype) and 0 not in input.sizes
        places = {"input": Cells(at), "output": Cells(tuple(kept))}
        return [AccessMap(rule if plain else whole, ("input",), loops, places)]

    return cells


for each, _rule, _whole in (
    (sum_, "sum", "sum"),
    (mean, "mean", "apply"),
    (prod, "product", "product"),
    (max_, "max", "max"),
    (min_, "min", "min"),
    (all_, "min", "min"),
    (any_, "max", "max"),
    (euclidean_norm, "apply", "apply"),
):
    each.cells(_reduction_cells(_rule, _whole))


def _in_place(
    ufunc: np.ufunc, start: Any, mean: bool, input: Spec, axis: Spec, *, keep_dims: bool
) -> KernelFunction | None:
    """NumPy's own reduction, which writes straight into the result."""
    dtype = input.dtype
    if is_half(dtype) or axis.value is None or (mean and dtype.kind in "iu"):
        return None
    axes, first = _axes(axis.value), start(dtype)
    reduce: Any = ufunc.reduce
    shape: Any = input.shape
    count = np.array(math.prod(shape[a] for a in axes)).astype(dtype)
    cost = math.prod(shape) * ELEMENT_COST
    leading = 0 in axes or -len(shape) in axes
    at_once = cost <= MAX_CHUNK_COST or leading
    # Sums of floats would have other bits in pieces.
    exact = dtype.kind in "iub" or ufunc in (np.minimum, np.maximum)

    def fill(input: Array, axis: Array, out: Array) -> None:
        if cost > MAX_CHUNK_COST and leading and exact:
            for rows in chunks(len(input), cost):
                part = reduce(input[rows], axes, dtype, None, keep_dims, first)
                ufunc(out, part, out=out) if rows.start else np.copyto(out, part)
        elif at_once:
            reduce(input, axes, dtype, out, keep_dims, first)
        else:
            for rows in chunks(len(input), cost):
                reduce(input[rows], axes, dtype, out[rows], keep_dims, first)
        if mean:
            np.divide(out, count, out)

    return fill


table = np.array([[1.0, 2], [3, 6]])
truths = np.array([[True, False], [True, True]])
_nothing_in = np.zeros((2, 0))
_REDUCTIONS: tuple[tuple[Any, Any, Any, list[Any], list[Any], Any], ...] = (
    # op, gradient, table, down the columns, along the rows, of nothing
    (sum_, _sum_grad, table, [4.0, 8], [3.0, 9], 0.0),
    (mean, _mean_grad, table, [2.0, 4], [1.5, 4.5], np.nan),
    (prod, _prod_grad, table, [3.0, 12], [2.0, 18], 1.0),
    (max_, _extreme_grad, table, [3.0, 6], [2.0, 6], -np.inf),
    (min_, _extreme_grad, table, [1.0, 2], [1.0, 3], np.inf),
    (all_, zero_gradient, truths, [True, False], [False, True], True),
    (any_, zero_gradient, truths, [True, True], [True, True], False),
    (euclidean_norm, _norm_grad, table, [10**0.5, 40**0.5], [5**0.5, 45**0.5], 0.0),
)
for each, _grad, _table, _down, _along, _empty in _REDUCTIONS:
    each.shape(_reduced)
    each.grad(_grad)
    each.case("down the columns", input=_table, axis=np.array([0]), out=np.array(_down))
    each.case(
        "the axis kept",
        input=_table,
        axis=np.array([-1]),
        keep_dims=True,
        out=np.array(_along)[:, None],
    )
    each.case(
        "of nothing",
        input=_nothing_in.astype(_table.dtype),
        axis=np.array(1),
        out=np.array([_empty, _empty]),
    )
    each.case("an axis in a table", input=_table, axis=np.array([[0]]), out=np.array(_down))
    each.fails("an axis too far", input=_table, axis=[2], error="must lie in")
    each.fails("an axis twice", input=_table, axis=[0, -2], error="twice")
for each, _ufunc, _start in (
    (sum_, np.add, lambda dtype: 0),
    (mean, np.add, lambda dtype: 0),
    (prod, np.multiply, lambda dtype: 1),
    (max_, np.maximum, lowest),
    (min_, np.minimum, highest),
    (all_, np.logical_and, lambda dtype: True),
    (any_, np.logical_or, lambda dtype: False),
):
    _plan = functools.partial(_in_place, _ufunc, _start, each is mean)
    each.kernel("in place", warns=True)(_plan)
for each in (sum_, mean, prod, euclidean_norm):
    each.differs(
        "half sums",
        at="half",
        tensorflow="Sums and products of half types are kept in the half type.",
        ours="They are kept in float32 and rounded once.",
    )
sum_.case(
    "over everything", input=table, axis=np.array([0, 1]), keep_dims=True, out=np.array([[12.0]])
)
mean.differs(
    "no complex numbers",
    tensorflow="The mean of no complex numbers is 0.",
    ours="It is NaN, as it is of real numbers.",
)
mean.case(
    "whole numbers, toward 0",
    input=np.array([[-3, -4], [3, 4]]),
    axis=np.array([1]),
    out=np.array([-3, 3]),
)
prod.case(
    "a 0 among others", input=np.array([[2.0, 0], [3, 4]]), axis=np.array([0, 1]), out=np.array(0.0)
)
max_.case(
    "NaN and ties",
    input=np.array([[1.0, np.nan], [3, 3]]),
    axis=np.array([1]),
    out=np.array([np.nan, 3]),
)
euclidean_norm.case(
    "complex", input=np.array([3 + 4j, 12]), axis=np.array([0]), out=np.array(13 + 0j)
)


# -- where the extreme is ------------------------------------------------------------------------------

_ORDERED = (*REALS, "bool")


def _index_shape(input: Spec, dimension: Spec, *, output_type: Any) -> Shape:
    axis = scalar_value("dimension", dimension)
    if input.shape is None:
        return None
    rank = len(input.shape)
    if axis is None:
        return (None,) * (rank - 1) if rank else None
    check_axis("dimension", axis, rank)
    size = input.shape[axis]
    if size == 0:
        raise OpError(
            "an axis of no cells has no largest and no smallest",
            arg="dimension",
            got=axis,
            hint="Reduce another axis, or leave this input out.",
        )
    if size is not None and size - 1 > np.iinfo(output_type).max:
        raise OpError(
            f"must have room for {size - 1}, the last index",
            arg="output_type",
            got=described(NAMES[output_type]),
            hint='Use output_type="int64".',
        )
    sizes = list(input.shape)
    del sizes[axis]
    return tuple(sizes)


@op(
    "ArgMax",
    "T, Tidx -> output: output_type",
    aliases=("np.argmax",),
    T=_ORDERED,
    Tidx=("int16", *INDEX),
)
def arg_max(
    input: Array,
    dimension: Array,
    *,
    output_type: Annotated[Any, dtype_of("int16", "uint16", *INDEX)] = "int64",
) -> Any:
    """The index of the largest cell along an axis, of several the first. NaN is passed over.

    output[k] = the first r with the largest input[k, r]
    where r runs along dimension, k over the other axes
    """
    x = _ordered(input)
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), -np.inf, x)
    return np.argmax(x, dimension.item())


@op("ArgMin", "T, Tidx -> output: output_type", aliases=("np.argmin",), T=_ORDERED, Tidx=INDEX)
def arg_min(
    input: Array, dimension: Array, *, output_type: Annotated[Any, dtype_of(*INDEX)] = "int64"
) -> Any:
    """The index of the smallest cell along an axis, of several the first. NaN is passed over.

    output[k] = the first r with the smallest input[k, r]
    where r runs along dimension, k over the other axes
    """
    x = _ordered(input)
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), np.inf, x)
    return np.argmin(x, dimension.item())


def _index_cells(rule: str) -> Callable[..., list[AccessMap]]:
    def cells_of(y: Spec, input: Spec, dimension: Spec, *, output_type: Any) -> list[AccessMap]:
        loops, at = over(input.sizes)
        axis = int(dimension.contents.item()) % len(at)
        if input.sizes[axis] == 1:
            return []  # the answer is 0, whatever it holds
        cells = {"input": Cells(at), "output": Cells(at[:axis] + at[axis + 1 :])}
        ordered = "apply" if input.dtype.kind == "c" else rule
        return [AccessMap(ordered, ("input",), loops, cells, counts=(axis,))]

    return cells_of


arg_max.cells(_index_cells("largest at"))
arg_min.cells(_index_cells("smallest at"))
for each, _out in ((arg_max, [1, 1]), (arg_min, [0, 0])):
    each.shape(_index_shape)
    each.grad(zero_gradient)
    each.case("along the rows", input=table, dimension=np.array(-1), out=np.array(_out))
    each.case(
        "ties, and NaN",
        input=np.array([np.nan, 2.0, 2.0]),
        dimension=np.array(0),
        output_type="int32",
        out=np.array(1, np.int32),
    )
    each.fails("nothing to choose from", input=_nothing_in, dimension=1, error="no cells")
    each.fails("an axis too far", input=table, dimension=2, error="must lie in")
    each.fails("two axes", input=table, dimension=[0, 1], error="must be a scalar")
arg_max.fails(
    "an index too large",
    input=np.broadcast_to(np.int8(0), 2**15 + 1),
    dimension=0,
    output_type="int16",
    error="room for 32768",
)


# -- running totals ------------------------------------------------------------------------------------


def _scan_attrs(*, exclusive: Flag = False, reverse: Flag = False) -> None:
    """Whether each total leaves out its own cell, and whether totals run from the end."""


def _scanned(
    ufunc: np.ufunc, start: float, x: Array, axis: Array, *, exclusive: bool, reverse: bool
) -> Array:
    cells = np.moveaxis(x.astype(wide(x.dtype), copy=False), axis.item(), 0)
    cells = cells[::-1] if reverse else cells
    totals = ufunc.accumulate(cells, 0, dtype=cells.dtype)
    if exclusive:
        totals = np.concatenate([np.full_like(totals[:1], start), totals[:-1]])
    return np.moveaxis(totals[::-1] if reverse else totals, 0, axis.item())


def _scan_shape(x: Spec, axis: Spec, **how: bool) -> Shape:
    at = scalar_value("axis", axis)
    if x.shape is not None and at is not None:
        check_axis("axis", at, len(x.shape))
    return x.shape


@op("Cumsum", "T, Tidx -> out: T", aliases=("np.cumsum",), attrs=_scan_attrs, T=NUMBERS, Tidx=INDEX)
def cumsum(x: Array, axis: Array, **how: bool) -> Any:
    """The sums of all cells up to each one along an axis.

    out[…, i, …] = Σ over j ≤ i of x[…, j, …]
    where i and j run along axis
    with exclusive j < i, with reverse j ≥ i, with both j > i

    `exclusive` leaves out the cell itself; `reverse` runs from the end.
    """
    return _scanned(np.add, 0, x, axis, **how)


@cumsum.grad
def _(dy: Value, y: Value, x: Value, axis: Value, *, exclusive: bool, reverse: bool) -> list[Value]:
    return [cumsum(dy, axis, exclusive=exclusive, reverse=not reverse), None]


@op("Cumprod", "T, Tidx -> out: T", attrs=_scan_attrs, T=NUMBERS, Tidx=INDEX)
def cumprod(x: Array, axis: Array, **how: bool) -> Any:
    """The products of all cells up to each one along an axis.

    out[…, i, …] = ∏ over j ≤ i of x[…, j, …]
    where i and j run along axis
    with exclusive j < i, with reverse j ≥ i, with both j > i

    `exclusive` leaves out the cell itself; `reverse` runs from the end.
    """
    return _scanned(np.multiply, 1, x, axis, **how)


@cumprod.grad
def _(dy: Value, y: Value, x: Value, axis: Value, *, exclusive: bool, reverse: bool) -> list[Value]:
    # As in TensorFlow it is 0 where x is 0, which is wrong: products that leave one cell out for each
    # cell would need a table of all pairs. Prod has it right.
    back = cumsum(ops.mul(conjugate(y), dy), axis, exclusive=exclusive, reverse=not reverse)
    return [ops.div_no_nan(back, conjugate(x)), None]


@op("CumulativeLogsumexp", "T, Tidx -> out: T", attrs=_scan_attrs, T=FLOATS, Tidx=INDEX)
def cumulative_logsumexp(x: Array, axis: Array, **how: bool) -> Any:
    """The logarithms of the sums of exp(x) up to each cell along an axis, without overflow.

    out[…, i, …] = ln(Σ over j ≤ i of exp(x[…, j, …]))
    where i and j run along axis
    with exclusive j < i, with reverse j ≥ i, with both j > i

    `exclusive` leaves out the cell itself; `reverse` runs from the end.
    """
    return _scanned(np.logaddexp, -np.inf, x, axis, **how)


@cumulative_logsumexp.grad
def _(dy: Value, y: Value, x: Value, axis: Value, *, exclusive: bool, reverse: bool) -> list[Value]:
    how = {"exclusive": exclusive, "reverse": not reverse}
    least = lowest_finite(x.dtype)  # infinity less infinity would be NaN
    parts = []
    for d in (dy, ops.neg(dy)):  # logarithms are of positive numbers, and of negative ones apart
        counts = ops.logical_and(ops.greater(d, 0), ops.is_finite(y))
        log = ops.sub(ops.log(ops.select_v2(counts, d, 1)), y)
        total = cumulative_logsumexp(ops.select_v2(counts, log, least), axis, **how)
        parts.append(ops.exp(ops.add_v2(total, x)))
    return [ops.sub(*parts), None]


def _scan_cells(rule: str) -> Any:
    def cells(y: Spec, x: Spec, axis: Spec, *, exclusive: bool, reverse: bool) -> list[AccessMap]:
        along = int(axis.contents.item()) % len(x.sizes)
        loops, at = over((*x.sizes, x.sizes[along]))
        *place, back = at
        taken = list(place)
        taken[along] = place[along] + (back + exclusive) * (1 if reverse else -1)
        return [
            AccessMap(rule, ("x",), loops, {"x": Cells(tuple(taken)), "out": Cells(tuple(place))})
        ]

    return cells


cumsum.cells(_scan_cells("sum"))
cumprod.cells(_scan_cells("product"))
cumulative_logsumexp.cells(_scan_cells("apply"))

_half, _third = np.log(2), np.log(3)
_line: tuple[tuple[Any, Any, Any, Any, Any], ...] = (
    # op, numbers, running totals, exclusive, exclusive from the end
    (cumsum, [1.0, 2, 3], [1.0, 3, 6], [0.0, 1, 3], [5.0, 3, 0]),
    (cumprod, [2.0, 3, 4], [2.0, 6, 24], [1.0, 2, 6], [12.0, 4, 1]),
    (
        cumulative_logsumexp,
        [0.0, 0, 0],
        [0.0, _half, _third],
        [-np.inf, 0, _half],
        [_half, 0, -np.inf],
    ),
)
for each, _numbers, _totals, _without, _from_end in _line:
    each.shape(_scan_shape)
    each.case("a line", x=np.array(_numbers), axis=np.array(0), out=np.array(_totals))
    each.case(
        "along the rows, exclusive",
        x=np.array([_numbers, _numbers]),
        axis=np.array(-1),
        exclusive=True,
        out=np.array([_without, _without]),
    )
    each.case(
        "exclusive from the end",
        x=np.array(_numbers),
        axis=np.array(0),
        exclusive=True,
        reverse=True,
        out=np.array(_from_end),
    )
    each.case("of nothing", x=_nothing_in, axis=np.array(1), out=_nothing_in)
    each.fails("an axis too far", x=table, axis=2, error="must lie in")
    each.fails("two axes", x=table, axis=[0, 1], error="must be a scalar")
    each.differs(
        "half sums",
        at="half",
        tensorflow="Totals of half types are kept in the half type.",
        ours="They are kept in float32 and rounded once.",
    )


cumulative_logsumexp.differs(
    "nan",
    tensorflow="A NaN is passed over, or counts for another number.",
    ours="What has a NaN before it is NaN.",
)


# -- evenly spaced numbers -------------------------------------------------------------------------------


@op(
    "Range",
    "Tidx, Tidx, Tidx -> Tidx",
    aliases=("arange", "np.arange"),
    Tidx=("int32", "int64", "float32", "float64"),
)
def range_(start: Array, limit: Array, delta: Array) -> Array:
    """Numbers from `start` in steps of `delta`, up to but without `limit`.

    output[i] = start + i · delta
    where 0 ≤ i < (limit - start) / delta
    """
    first, last, step = start.item(), limit.item(), delta.item()
    return np.asarray(first + np.arange(int(_steps(first, last, step))) * step)


def _steps(first: Any, last: Any, step: Any) -> Any:
    """How many numbers there are; whole ones are counted exactly."""
    if isinstance(first, int):
        return -((first - last) // step)
    return np.ceil((last - first) / step)


@range_.shape
def _(start: Spec, limit: Spec, delta: Spec) -> Shape:
    first = scalar_value("start", start, rank=1)
    last = scalar_value("limit", limit, rank=1)
    step = scalar_value("delta", delta, rank=1)
    if step is not None and (step == 0 or step != step):
        raise OpError(
            "must not be 0 or nan",
            arg="delta",
            got=step,
            hint="Use 1 to count up, -1 to count down.",
        )
    if first is None or last is None or step is None:
        return (None,)
    count = _steps(first, last, step)
    if count < 0 or not np.isfinite(count):
        raise OpError(
            f"cannot be reached from {first} in steps of {step}",
            arg="limit",
            got=last,
            hint="Turn the sign of delta, or swap start and limit.",
        )
    return (int(count),)


range_.grad(zero_gradient)
range_.case(
    "further than float64 can count",
    start=np.int64(0),
    limit=np.int64(2**53 + 1),
    delta=np.int64(2**53),
    out=np.array([0, 2**53]),
)
range_.case("by twos", start=1, limit=6, delta=2, out=np.array([1, 3, 5], np.int32))
range_.case(
    "ends in brackets", start=[1.0], limit=[4.0], delta=[1.5], out=np.array([1.0, 2.5], np.float32)
)
range_.fails("two starts", start=[0, 1], limit=3, delta=1, error="one entry")
range_.fails("CVE-2021-41202: a step of nothing", start=0, limit=3, delta=0, error="not be 0")
range_.fails("the wrong way", start=0, limit=3, delta=-1, error="cannot be reached")


@op("LinSpace", "T, T, Tidx -> T", aliases=("linspace", "np.linspace"), T=FLOATS, Tidx=INDEX)
def lin_space(start: Array, stop: Array, num: Array) -> Array:
    """`num` numbers at equal distances from `start` to `stop`; one alone is `start`.

    output[i] = start + i · (stop - start) / max(num - 1, 1)
    where 0 ≤ i < num
    """
    count = num.item()
    first, last = (x.astype(wide(x.dtype), copy=False) for x in (start, stop))
    numbers = first + np.arange(count, dtype=first.dtype) * ((last - first) / max(count - 1, 1))
    numbers[1:][-1:] = last
    return np.asarray(numbers)


@lin_space.shape
def _(start: Spec, stop: Spec, num: Spec) -> Shape:
    scalar_value("start", start)
    scalar_value("stop", stop)
    count = scalar_value("num", num)
    if count is not None and count < 1:
        raise OpError(
            "must be at least 1", arg="num", got=count, hint="Ask for one number or more."
        )
    return (count,)


@lin_space.grad
def _(dy: Value, y: Value, start: Value, stop: Value, num: Value) -> list[Value]:
    one = np.ones((), y.dtype)
    far = lin_space(np.zeros((), y.dtype), one, num)
    return [ops.sum(ops.mul(dy, ops.sub(one, far)), [0]), ops.sum(ops.mul(dy, far), [0]), None]


lin_space.case("quarters", start=0.0, stop=1.0, num=5, out=np.array([0.0, 0.25, 0.5, 0.75, 1]))
lin_space.case("one alone", start=2.0, stop=1.0, num=1, out=np.array([2.0]))
lin_space.case("downward", start=2.0, stop=-2.0, num=np.int64(3), out=np.array([2.0, 0, -2]))
lin_space.fails("no numbers", start=0.0, stop=1.0, num=0, error="at least 1")
lin_space.fails("a list", start=[0.0], stop=1.0, num=2, error="must be a scalar")
