"""Sums and means over some of the axes, and ranges of numbers."""

from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import FLOATS, NUMBERS, wide
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, nothing, op
from backblocks.ops._spec import COUNT_AXES, Shape, Spec, known_value, scalar_value, shape_text
from backblocks.ops.array.shapes import INDEX, shape_of
from backblocks.ops.attrs import Flag


def _axes(axis: Array) -> tuple[int, ...]:
    return tuple(axis.reshape(-1).tolist())


def _reduced(input: Spec, axis: Spec, *, keep_dims: bool) -> Shape:
    if axis.shape is not None and len(axis.shape) > 1:
        raise OpError(
            "must be a number or a list of numbers",
            arg="axis",
            got=described(f"shape {shape_text(axis.shape)}"),
            hint="Flatten it: x.reshape(-1).",
        )
    if input.shape is None:
        return None
    rank = len(input.shape)
    if axis.value is None:
        return (None,) * rank if keep_dims else None
    axes = _axes(axis.value)
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


def _spread(op: str, dy: Value, input: Value, axis: Value, keep_dims: bool) -> Value:
    """The gradient of a sum: `dy` repeated over the axes that were summed."""
    if not keep_dims:
        axes = known_value(axis)
        if axes is None or input.shape is None:
            raise OpError(
                "must be known to differentiate, and so must the rank of input",
                op=op,
                arg="axis",
                hint="Use a constant axis and an input with a shape, or keep_dims=True.",
            )
        for a in sorted(a % len(input.shape) for a in _axes(axes)):
            dy = ops.expand_dims(dy, a)
    return ops.broadcast_to(dy, shape_of(input))


@op("Sum", "T, Tidx -> T", T=NUMBERS, Tidx=INDEX)
def sum_(input: Array, axis: Array, *, keep_dims: Flag = False) -> Any:
    """The sum over the named axes."""
    return input.sum(_axes(axis), dtype=wide(input.dtype), keepdims=keep_dims)


@sum_.grad
def _(dy: Value, y: Value, input: Value, axis: Value, *, keep_dims: bool) -> list[Value]:
    return [_spread("Sum", dy, input, axis, keep_dims), None]


@op("Mean", "T, Tidx -> T", T=FLOATS, Tidx=INDEX)
def mean(input: Array, axis: Array, *, keep_dims: Flag = False) -> Any:
    """The mean over the named axes."""
    total = input.sum(_axes(axis), dtype=wide(input.dtype), keepdims=keep_dims)
    return total / (input.size / total.size)


@mean.grad
def _(dy: Value, y: Value, input: Value, axis: Value, *, keep_dims: bool) -> list[Value]:
    share = ops.real_div(
        ops.cast(ops.size(y), DstT=y.dtype), ops.cast(ops.size(input), DstT=y.dtype)
    )
    return [_spread("Mean", ops.mul(dy, share), input, axis, keep_dims), None]


table = np.array([[1.0, 2], [3, 6]])
for each in (sum_, mean):
    each.shape(_reduced)
    each.fails("an axis too far", input=table, axis=[2], error="must lie in")
    each.fails("an axis twice", input=table, axis=[0, -2], error="twice")
    each.differs(
        "half sums",
        tensorflow="Sums of half types are kept in the half type.",
        ours="Sums are kept in float32 and rounded once.",
    )
sum_.case("down the columns", input=table, axis=np.array([0]), out=np.array([4.0, 8]))
sum_.case(
    "over everything", input=table, axis=np.array([0, 1]), keep_dims=True, out=np.array([[12.0]])
)
sum_.case(
    "the axis kept", input=table, axis=np.array([1]), keep_dims=True, out=np.array([[3.0], [9]])
)
mean.case(
    "the axis kept", input=table, axis=np.array([1]), keep_dims=True, out=np.array([[1.5], [4.5]])
)
mean.case("along the rows", input=table, axis=np.array([-1]), out=np.array([1.5, 4.5]))


@op("Range", "Tidx, Tidx, Tidx -> Tidx", Tidx=("int32", "int64", "float32", "float64"))
def range_(start: Array, limit: Array, delta: Array) -> Array:
    """Numbers from `start` in steps of `delta`, up to but without `limit`."""
    first, last, step = start.item(), limit.item(), delta.item()
    return np.asarray(first + np.arange(int(_steps(first, last, step))) * step)


def _steps(first: Any, last: Any, step: Any) -> Any:
    """How many numbers there are; whole ones are counted exactly."""
    if isinstance(first, int):
        return -((first - last) // step)
    return np.ceil((last - first) / step)


@range_.shape
def _(start: Spec, limit: Spec, delta: Spec) -> Shape:
    first = scalar_value("start", start)
    last = scalar_value("limit", limit)
    step = scalar_value("delta", delta)
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


range_.grad(nothing)
range_.case(
    "further than float64 can count",
    start=np.int64(0),
    limit=np.int64(2**53 + 1),
    delta=np.int64(2**53),
    out=np.array([0, 2**53]),
)
range_.case("by twos", start=1, limit=6, delta=2, out=np.array([1, 3, 5], np.int32))
range_.fails("CVE-2021-41202: a step of nothing", start=0, limit=3, delta=0, error="not be 0")
range_.fails("the wrong way", start=0, limit=3, delta=-1, error="cannot be reached")
