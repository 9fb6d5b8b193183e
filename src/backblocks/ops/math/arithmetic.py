"""Elementwise arithmetic with broadcasting: sums, products, quotients, powers, rounding and clipping."""

from dataclasses import replace
from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import COMPLEX, DIFFERENTIABLE, FLOATS, NUMBERS, REALS, SIGNED, wide
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import MINUS, AccessMap, Cells, Coordinate, over
from backblocks.ops._elementwise import (
    activation_gradient,
    binary,
    cell_to_cell,
    rounded_once,
    unary,
)
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op, zero_gradient
from backblocks.ops._spec import Shape, Spec, agreed, shape_text
from backblocks.ops.array.broadcasting import unbroadcast
from backblocks.ops.attrs import PartialShape

WITH_SIGN = tuple(name for name in NUMBERS if not name.startswith("u"))
POSITIVE = (0.5, 3.0)


def conjugate(x: Value) -> Value:
    """The conjugate of a complex `x`, which gradients are multiplied by; any other as it is."""
    return ops.conj(x) if x.dtype.kind == "c" else x


def _refuse_zero(x: Spec, y: Spec) -> None:
    if y.dtype.kind not in "iu" or 0 in (
        x.shape or ()
    ):  # nothing is divided where there is nothing
        return
    if y.value is not None and not y.value.all():
        raise OpError(
            "whole numbers cannot be divided by 0",
            arg="y",
            got=y.value.reshape(-1),
            hint="Put another number in place of each 0, or divide in a float type.",
        )


def _refuse_negative_powers(x: Spec, y: Spec) -> None:
    if y.dtype.kind == "i" and y.value is not None and (y.value < 0).any():
        raise OpError(
            "whole numbers cannot be raised to negative powers",
            arg="y",
            got=y.value.reshape(-1),
            hint="Convert both to a float type.",
        )


def _truncated(x: Array, y: Array) -> Array:
    """x divided by y, without the fraction."""
    if x.dtype.kind == "f":
        return np.trunc(x / y)
    quotient = x // y
    return np.asarray(quotient + ((quotient * y != x) & ((x < 0) != (y < 0))), x.dtype)


def _divided(x: Array, y: Array) -> Array:
    return _truncated(x, y) if x.dtype.kind in "iu" else x / y


def _add_grad(dz: Value, z: Value, x: Value, y: Value) -> list[Value]:
    return [unbroadcast(dz, x), unbroadcast(dz, y)]


def _div_grad(dz: Value, z: Value, x: Value, y: Value) -> list[Value]:
    y_, z_ = conjugate(y), conjugate(z)
    dx = ops.real_div(dz, y_)
    return [unbroadcast(dx, x), unbroadcast(ops.neg(ops.mul(dx, z_)), y)]


def _div_no_nan_grad(dz: Value, z: Value, x: Value, y: Value) -> list[Value]:
    dx = ops.div_no_nan(dz, conjugate(y))
    return [unbroadcast(dx, x), unbroadcast(ops.neg(ops.mul(dx, conjugate(z))), y)]


def _mod_grad(division: str) -> Any:
    """The gradient of what `division` leaves over: x less y times a quotient that is constant."""

    def grad(dz: Value, z: Value, x: Value, y: Value) -> list[Value]:
        quotient = getattr(ops, division)(x, y)
        return [unbroadcast(dz, x), unbroadcast(ops.neg(ops.mul(dz, quotient)), y)]

    return grad


def _choice_grad(wins: str) -> Any:
    """The gradient of the larger or smaller of two; of two that are equal it goes to x."""

    def grad(dz: Value, z: Value, x: Value, y: Value) -> list[Value]:
        first = getattr(ops, wins)(x, y)
        return [
            unbroadcast(ops.select_v2(first, dz, 0), x),
            unbroadcast(ops.select_v2(first, 0, dz), y),
        ]

    return grad


def _pow_grad(dz: Value, z: Value, x: Value, y: Value) -> list[Value]:
    x_, y_, z_ = conjugate(x), conjugate(y), conjugate(z)
    # To the power of 0 all x give 1, also 0 itself, whose power of -1 would make it NaN.
    lower = ops.select_v2(ops.equal(y_, 0), 1, ops.sub(y_, 1))
    dx = ops.mul(dz, ops.mul(y_, ops.pow(x_, lower)))
    has_log = ops.not_equal(x_, 0) if x.dtype.kind == "c" else ops.greater(x_, 0)
    log = ops.select_v2(has_log, ops.log(ops.select_v2(has_log, x_, 1)), 0)
    return [unbroadcast(dx, x), unbroadcast(ops.mul(dz, ops.mul(z_, log)), y)]


def _squared_difference_grad(dz: Value, z: Value, x: Value, y: Value) -> list[Value]:
    # The result is real, and so is what counts of its gradient.
    dx = ops.mul(ops.add_v2(dz, conjugate(dz)), ops.sub(x, y))
    return [unbroadcast(dx, x), unbroadcast(ops.neg(dx), y)]


def _xdivy_grad(dz: Value, z: Value, x: Value, y: Value) -> list[Value]:
    x_, y_ = conjugate(x), conjugate(y)
    dx, dy = ops.xdivy(_where_not_zero(x_), y_), ops.xdivy(ops.neg(x_), ops.square(y_))
    return [unbroadcast(ops.mul(dz, dx), x), unbroadcast(ops.mul(dz, dy), y)]


def _xlogy_grad(dz: Value, z: Value, x: Value, y: Value) -> list[Value]:
    x_, y_ = conjugate(x), conjugate(y)
    dx, dy = ops.xlogy(_where_not_zero(x_), y_), ops.xdivy(x_, y_)
    return [unbroadcast(ops.mul(dz, dx), x), unbroadcast(ops.mul(dz, dy), y)]


def _xlog1py_grad(dz: Value, z: Value, x: Value, y: Value) -> list[Value]:
    x_, y_ = conjugate(x), conjugate(y)
    dx, dy = ops.xlog1py(_where_not_zero(x_), y_), ops.xdivy(x_, ops.add_v2(y_, 1))
    return [unbroadcast(ops.mul(dz, dx), x), unbroadcast(ops.mul(dz, dy), y)]


def _where_not_zero(x: Value) -> Value:
    """1 where x is not 0, and 0 where it is."""
    return ops.cast(ops.not_equal(x, 0), DstT=x.dtype)


def _minus_square(y: Array, dy: Array) -> Array:
    """Minus dy times y squared. Where nothing came back it is 0, whatever came out."""
    return np.where(dy == 0, 0, -dy * np.conjugate(y) ** 2)


def _reciprocal_grad_grad(h: Value, z: Value, y: Value, dy: Value) -> list[Value]:
    back = ops.mul(ops.mul(conjugate(h), -2), ops.mul(dy, conjugate(y)))
    return [back, ops.reciprocal_grad(conjugate(y), h)]


_nan, _inf = np.nan, np.inf
_NO_FRACTION = ([7, -7, 7, -7], [2, 2, -2, -2])

# fmt: off
add = binary(
    "Add", np.add, NUMBERS, "x plus y.",
    "z = x + y",
    ([1.0, 2.0], [3.0], [4.0, 5.0]), _add_grad,
    aliases=("plus", "+"))
add_v2 = binary(
    "AddV2", np.add, NUMBERS, "x plus y.",
    "z = x + y",
    ([1.0, 2.0], [3.0], [4.0, 5.0]), _add_grad,
    aliases=("add", "plus", "sum of two", "np.add", "+"))
sub = binary(
    "Sub", np.subtract, NUMBERS, "x minus y.",
    "z = x - y",
    ([1.0, 4.0], [3.0], [-2.0, 1.0]),
    lambda dz, z, x, y: [unbroadcast(dz, x), unbroadcast(ops.neg(dz), y)],
    aliases=("subtract", "minus", "np.subtract", "-"))
mul = binary(
    "Mul", np.multiply, NUMBERS, "x times y.",
    "z = x · y",
    ([1.0, 2.0], [3.0], [3.0, 6.0]),
    lambda dz, z, x, y: [
        unbroadcast(ops.mul(dz, conjugate(y)), x), unbroadcast(ops.mul(dz, conjugate(x)), y)],
    aliases=("multiply", "times", "product", "np.multiply", "*"))
mul_no_nan = binary(
    "MulNoNan", lambda x, y: np.where(y == 0, 0, x * y), DIFFERENTIABLE,
    "x times y, or 0 where y is 0, whatever x is.",
    "z = 0 if y = 0 else x · y",
    ([2.0, _nan, _inf], [3.0, 0.0, 0.0], [6.0, 0.0, 0.0]),
    lambda dz, z, x, y: [
        unbroadcast(ops.mul_no_nan(dz, conjugate(y)), x), unbroadcast(ops.mul_no_nan(conjugate(x), dz), y)])
real_div = binary(
    "RealDiv", np.true_divide, DIFFERENTIABLE, "x divided by y.",
    "z = x / y",
    ([1.0, 3.0], [2.0], [0.5, 1.5]), _div_grad,
    corners={"complex": (2j, 1 + 1j, 1 + 1j)}, slope_range=POSITIVE,
    aliases=("divide", "true_divide", "np.divide", "/"))
div = binary(
    "Div", _divided, NUMBERS, "x divided by y. Whole numbers lose the fraction.",
    "z = x / y\n"
    "with whole numbers z = trunc(x / y)",
    ([1.0, 4.0], [2.0], [0.5, 2.0]), _div_grad,
    corners={"whole numbers, toward 0": (*_NO_FRACTION, [3, -3, -3, 3])},
    check=_refuse_zero, fast=np.true_divide, slope_range=POSITIVE,
    aliases=("divide", "/"))
div_no_nan = binary(
    "DivNoNan", lambda x, y: np.where(y == 0, 0, x / np.where(y == 0, 1, y)), DIFFERENTIABLE,
    "x divided by y, or 0 where y is 0.",
    "z = 0 if y = 0 else x / y",
    ([1.0, 3.0, 0.0], [2.0, 0.0, 0.0], [0.5, 0.0, 0.0]),
    _div_no_nan_grad, slope_range=POSITIVE)
floor_div = binary(
    "FloorDiv", lambda x, y: np.floor(x / y) if x.dtype.kind == "f" else x // y, REALS,
    "x divided by y, rounded down to a whole number.",
    "z = ⌊x / y⌋",
    ([7.5, -7.5, 1.0], [2.0, 2.0, _inf], [3.0, -4.0, 0.0]), zero_gradient,
    corners={"whole numbers, downward": (*_NO_FRACTION, [3, -4, -4, 3])}, check=_refuse_zero,
    aliases=("//", "floor_divide"))
truncate_div = binary(
    "TruncateDiv", _truncated, REALS, "x divided by y, without the fraction.",
    "z = trunc(x / y)",
    ([7.5, -7.5, 1.0], [2.0, 2.0, 0.0], [3.0, -3.0, _inf]), zero_gradient,
    corners={"whole numbers, toward 0": (*_NO_FRACTION, [3, -3, -3, 3])}, check=_refuse_zero)
mod = binary(
    "Mod", np.fmod, REALS, "What x divided by y without fraction leaves over; it has the sign of x.",
    "z = x - y · trunc(x / y)",
    ([7.5, -7.5, 1.0], [2.0, 2.0, 0.0], [1.5, -1.5, _nan]), _mod_grad("truncate_div"),
    corners={"whole numbers": (*_NO_FRACTION, [1, -1, 1, -1])}, check=_refuse_zero, slope_range=POSITIVE)
truncate_mod = binary(
    "TruncateMod", np.fmod, REALS,
    "What x divided by y without fraction leaves over; it has the sign of x.",
    "z = x - y · trunc(x / y)",
    ([7.5, -7.5, 1.0], [2.0, 2.0, 0.0], [1.5, -1.5, _nan]), _mod_grad("truncate_div"),
    corners={"whole numbers": (*_NO_FRACTION, [1, -1, 1, -1])}, check=_refuse_zero, slope_range=POSITIVE)
floor_mod = binary(
    "FloorMod", np.mod, REALS, "What x divided by y and rounded down leaves over; it has the sign of y.",
    "z = x - y · ⌊x / y⌋",
    ([7.5, -7.5, 1.0], [2.0, 2.0, 0.0], [1.5, 0.5, _nan]), _mod_grad("floor_div"),
    corners={"whole numbers": (*_NO_FRACTION, [1, 1, -1, -1])}, check=_refuse_zero, slope_range=POSITIVE,
    aliases=("mod", "modulo", "remainder", "%"))
maximum = binary(
    "Maximum", np.maximum, REALS, "The larger of x and y; NaN if one of them is.",
    "z = max(x, y)",
    ([1.0, 2.0, _nan], [2.0, 2.0, 1.0], [2.0, 2.0, _nan]), _choice_grad("greater_equal"),
    aliases=("larger of two", "np.maximum"))
minimum = binary(
    "Minimum", np.minimum, REALS, "The smaller of x and y; NaN if one of them is.",
    "z = min(x, y)",
    ([1.0, 2.0, _nan], [2.0, 2.0, 1.0], [1.0, 2.0, _nan]), _choice_grad("less_equal"),
    aliases=("smaller of two", "np.minimum"))
pow_ = binary(
    "Pow", np.power, WITH_SIGN, "x to the power of y.",
    "z = x^y",
    ([2.0, 9.0, 0.0, -1.0], [3.0, 0.5, 0.0, 0.5], [8.0, 3.0, 1.0, _nan]), _pow_grad,
    corners={"whole numbers": ([2, -3, 0], [3, 2, 0], [8, 9, 1])},
    check=_refuse_negative_powers, slope_range=POSITIVE,
    aliases=("power", "**"))
squared_difference = binary(
    "SquaredDifference", lambda x, y: (x - y) * np.conjugate(x - y), NUMBERS,
    "The square of x - y; of a complex number, of its distance from 0.",
    "z = |x - y|²",
    ([1.0, 5.0], [3.0], [4.0, 4.0]), _squared_difference_grad,
    corners={"complex": (3 + 4j, 0j, 25 + 0j)},
    aliases=("squared error", "mse"))
xdivy = binary(
    "Xdivy", lambda x, y: np.where(x == 0, 0, x / y), DIFFERENTIABLE, "x divided by y, or 0 where x is 0.",
    "z = 0 if x = 0 else x / y",
    ([1.0, 0.0, 0.0], [2.0, 0.0, _nan], [0.5, 0.0, 0.0]), _xdivy_grad, slope_range=POSITIVE)
xlogy = binary(
    "Xlogy", lambda x, y: np.where(x == 0, 0, x * np.log(y)), DIFFERENTIABLE,
    "x times the logarithm of y, or 0 where x is 0.",
    "z = 0 if x = 0 else x · ln(y)",
    ([2.0, 0.0, 0.0], [np.e, 0.0, _nan], [2.0, 0.0, 0.0]), _xlogy_grad, slope_range=POSITIVE)
xlog1py = binary(
    "Xlog1py", lambda x, y: np.where(x == 0, 0, x * np.log1p(y)), DIFFERENTIABLE,
    "x times the logarithm of 1 + y, or 0 where x is 0.",
    "z = 0 if x = 0 else x · ln(1 + y)",
    ([2.0, 0.0, 0.0], [np.e - 1, -1.0, _nan], [2.0, 0.0, 0.0]), _xlog1py_grad, slope_range=POSITIVE)
neg = unary(
    "Neg", np.negative, WITH_SIGN, "Minus x.",
    "y = -x",
    ([1.0, -2.0], [-1.0, 2.0]),
    lambda dy, y, x: [ops.neg(dy)],
    aliases=("negative", "minus"))
sign = unary(
    "Sign", np.sign, (*FLOATS, *SIGNED, *COMPLEX),
    "-1, 0 or 1, as x is below, at or above 0; of a complex number, x divided by its distance from 0.",
    "y = 0 if x = 0 else x / |x|",
    ([-3.0, 0.0, 2.0], [-1.0, 0.0, 1.0]), zero_gradient,
    corners={"complex": ([3 + 4j, 0], [0.6 + 0.8j, 0])})
abs_ = unary(
    "Abs", np.abs, (*FLOATS, *SIGNED), "x without its sign.",
    "y = |x|",
    ([-3.0, 0.0, 2.0], [3.0, 0.0, 2.0]),
    lambda dy, y, x: [ops.mul(dy, ops.sign(x))],
    corners={"the smallest has no opposite": (np.array([-128, 5], np.int8), np.array([-128, 5], np.int8))},
    aliases=("absolute", "magnitude"))
square = unary(
    "Square", np.square, NUMBERS, "x times x.",
    "y = x²",
    ([3.0], [9.0]),
    lambda dy, y, x: [ops.mul(dy, ops.mul(conjugate(x), 2))],
    aliases=("x squared",))
reciprocal = unary(
    "Reciprocal", np.reciprocal, DIFFERENTIABLE, "1 divided by x.",
    "y = 1 / x",
    ([4.0, 0.0], [0.25, _inf]),
    lambda dy, y, x: [ops.reciprocal_grad(y, dy)], slope_range=POSITIVE)
inv = unary(
    "Inv", np.reciprocal, DIFFERENTIABLE, "1 divided by x.",
    "y = 1 / x",
    ([4.0, 0.0], [0.25, _inf]),
    lambda dy, y, x: [ops.reciprocal_grad(y, dy)], slope_range=POSITIVE)
reciprocal_grad = activation_gradient(
    "ReciprocalGrad", _minus_square, DIFFERENTIABLE,
    "The gradient of Reciprocal: minus what came back, times the square of what came out.",
    "z = 0 if dy = 0 else -dy · conj(y)²",
    ([0.5, 2.0], [4.0, 1.0], [-1.0, -4.0]), _reciprocal_grad_grad, out="z: T")
inv_grad = activation_gradient(
    "InvGrad", _minus_square, DIFFERENTIABLE,
    "The gradient of Inv: minus what came back, times the square of what came out.",
    "z = 0 if dy = 0 else -dy · conj(y)²",
    ([0.5, 2.0], [4.0, 1.0], [-1.0, -4.0]), _reciprocal_grad_grad, out="z: T")
floor = unary(
    "Floor", np.floor, FLOATS, "x rounded down to a whole number.",
    "y = ⌊x⌋",
    ([1.5, -1.5, _inf], [1.0, -2.0, _inf]), zero_gradient)
ceil = unary(
    "Ceil", np.ceil, FLOATS, "x rounded up to a whole number.",
    "y = ⌈x⌉",
    ([1.5, -1.5, _inf], [2.0, -1.0, _inf]), zero_gradient)
rint = unary(
    "Rint", np.rint, FLOATS, "x rounded to the nearest whole number, halves to the even one.",
    "y = the whole number nearest to x; of two the even one",
    ([0.5, 1.5, -2.5, 2.6], [0.0, 2.0, -2.0, 3.0]), zero_gradient)
round_ = unary(
    "Round", lambda x: np.rint(x) if x.dtype.kind == "f" else x, (*FLOATS, *SIGNED),
    "x rounded to the nearest whole number, halves to the even one.",
    "y = the whole number nearest to x; of two the even one",
    ([0.5, 1.5, -2.5, 2.6], [0.0, 2.0, -2.0, 3.0]), zero_gradient, corners={"whole numbers": ([3], [3])})
next_after = binary(
    "NextAfter", lambda x1, x2: np.nextafter(x1, x2), ("float32", "float64"),
    "The number of its type that follows x1 on the way to x2.",
    "output = the number of the type next to x1 on the way to x2; x1 if x1 = x2",
    ([1.0, 0.0, 2.0], [1.0, 0.0, 2.0], [1.0, 0.0, 2.0]),
    lambda dz, z, x1, x2: [unbroadcast(dz, x1), None], out="output: T")
# fmt: on

next_after.case(
    "one step up, and one down",
    x1=np.array([1.0, np.inf]),
    x2=np.array([2.0, 0.0]),
    out=np.array([1 + 2.0**-52, np.finfo(np.float64).max]),
)
for each in (div, xdivy):
    each.differs(
        "complex numbers divided by 0",
        tensorflow="Both parts are NaN.",
        ours="The parts are infinite, as those of RealDiv.",
    )
rounded_once(squared_difference, xlogy, xlog1py, reciprocal_grad, inv_grad)
truncate_div.differs(
    "quotients of half types",
    tensorflow="float16 and bfloat16 quotients are rounded before the fraction is cut off.",
    ours="They are computed in float32.",
)
round_.differs(
    "whole numbers",
    tensorflow="int32 and int64 come out as 0.",
    ours="Whole numbers are what they are.",
)
for each in (div, floor_div, truncate_div, mod, truncate_mod, floor_mod):
    each.fails("nothing to divide by", x=np.array([1, 2]), y=np.array([1, 0]), error="divided by 0")
    each.differs(
        "the smallest number divided by -1",
        tensorflow="The processor stops the process.",
        ours="The quotient has no room in the type and goes round to the smallest number; nothing is "
        "left over.",
    )
pow_.fails("one over a whole number", x=np.array([2]), y=np.array([-1]), error="negative powers")
reciprocal_grad.fails("another shape", y=np.zeros(2), dy=np.zeros(3), error="the shape of y")


# -- more than two inputs --------------------------------------------------------------------------------


@op("AddN", "T* -> sum: T", T=NUMBERS)
def add_n(inputs: tuple[Array, ...]) -> Any:
    """The sum of all inputs, which have one shape.

    sum = Σ over m of inputs[m]
    """
    return sum(inputs[1:], start=inputs[0].astype(wide(inputs[0].dtype)))


def _same_shapes(inputs: tuple[Spec, ...], shape: Shape = None) -> Shape:
    if not inputs:
        raise OpError(
            "must have at least one tensor",
            arg="inputs",
            got=inputs,
            hint="Use zeros for a sum of nothing.",
        )
    shape = agreed("inputs", inputs[0], shape, "the shape that is asked for", "Reshape it first.")
    hint = "Use Add, which broadcasts, for two of different shapes."
    for i, spec in enumerate(inputs[1:], 1):
        shape = agreed("inputs", spec, shape, "the shape of the first", hint, i)
    return shape


@add_n.shape
def _(inputs: tuple[Spec, ...]) -> Shape:
    return _same_shapes(inputs)


@op("AccumulateNV2", "T* -> sum: T", T=NUMBERS)
def accumulate_nv2(inputs: tuple[Array, ...], *, shape: PartialShape) -> Any:
    """The sum of all inputs, which have this shape.

    sum = Σ over m of inputs[m]
    """
    return add_n.reference(inputs)


@accumulate_nv2.shape
def _(inputs: tuple[Spec, ...], *, shape: Shape) -> Shape:
    return _same_shapes(inputs, shape)


@add_n.grad
@accumulate_nv2.grad
def _(dsum: Value, total: Value, inputs: Any, **attrs: Any) -> list[Value]:
    return [[dsum] * len(inputs)]


_three = [np.array([1.0, 2]), np.array([3.0, 4]), np.array([5.0, 6])]
_nine = np.array([9.0, 12])
add_n.case("three at once", inputs=_three, out=_nine)
accumulate_nv2.case("three at once", inputs=_three, shape=[2], out=_nine)
accumulate_nv2.case("a shape that is not known", inputs=_three, shape=[None], out=_nine)
add_n.fails("no inputs", inputs=[], error="at least one")
add_n.fails("another shape", inputs=[np.zeros(2), np.zeros(3)], error="shape of the first")
accumulate_nv2.fails("another shape", inputs=_three, shape=[3], error="shape that is asked for")


@op("ClipByValue", "T, T, T -> T", aliases=("clamp", "np.clip"), T=REALS)
def clip_by_value(t: Array, clip_value_min: Array, clip_value_max: Array) -> Array:
    """`t`, kept between two bounds, each of which is one number or has the shape of `t`.

    output = max(min(t, clip_value_max), clip_value_min)

    Where the lower bound is above the upper one it is the lower one that counts. A bound that is NaN
    counts for nothing.
    """
    t = np.where(t > clip_value_max, clip_value_max, t)
    return np.where(t < clip_value_min, clip_value_min, t)


@clip_by_value.shape
def _(t: Spec, clip_value_min: Spec, clip_value_max: Spec) -> Shape:
    shape = t.shape
    for arg, bound in (("clip_value_min", clip_value_min), ("clip_value_max", clip_value_max)):
        if bound.shape != ():
            hint = "Use one number for all cells, or broadcast_to."
            agreed(arg, bound, t.shape, "the shape of t", hint)
    return shape


@clip_by_value.grad
def _(dy: Value, y: Value, t: Value, clip_value_min: Value, clip_value_max: Value) -> list[Value]:
    above = ops.greater(t, clip_value_max)
    # As in the reference implementation: what the upper bound gives is still held up to the lower one.
    below = ops.less(ops.select_v2(above, clip_value_max, t), clip_value_min)
    inside = ops.logical_not(ops.logical_or(above, below))
    lowered = ops.logical_and(above, ops.logical_not(below))
    parts = ((inside, t), (below, clip_value_min), (lowered, clip_value_max))
    return [unbroadcast(ops.select_v2(where, dy, 0), x) for where, x in parts]


clip_by_value.case(
    "between 2 and 4",
    t=np.array([1.0, 3, 5, np.nan]),
    clip_value_min=2.0,
    clip_value_max=4.0,
    out=np.array([2.0, 3, 4, np.nan]),
)
clip_by_value.case(
    "bounds of their own, one pair crossed",
    t=np.array([1.0, 3, 5]),
    clip_value_min=np.array([0.0, 6, np.nan]),
    clip_value_max=np.array([0.5, 4, 4]),
    out=np.array([0.5, 6, 4]),
)
clip_by_value.fails(
    "a bound for each column",
    t=np.zeros((2, 3)),
    clip_value_min=np.zeros(3),
    clip_value_max=1.0,
    error="the shape of t",
)


clip_by_value.differs(
    "complex numbers",
    tensorflow="Real and imaginary parts are clipped, each by itself.",
    ours="They are refused: complex numbers have no order.",
    agree="Clip both parts: ClipByValue of Real and of Imag, joined by Complex.",
)


for _each in (add, add_v2, add_n, accumulate_nv2):
    cell_to_cell(_each, "added")
cell_to_cell(mul, "sum")
_negated = cell_to_cell(neg, "sum")
_subtracted = cell_to_cell(sub, "sum")


@neg.cells
def _(y: Spec, x: Spec) -> list[AccessMap]:
    (access,) = _negated(y, x)
    return [replace(access, factors=MINUS)]


@sub.cells
def _(z: Spec, x: Spec, y: Spec) -> list[AccessMap]:
    """What is added, and what is taken away."""
    (access,) = _subtracted(z, x, y)
    each = [
        replace(access, of=(pin,), cells={pin: access.cells[pin], "z": access.cells["z"]})
        for pin in "xy"
    ]
    return [each[0], replace(each[1], factors=MINUS)]


cell_to_cell(clip_by_value)


@op("Cross", "T, T -> product: T", T=REALS)
def cross(a: Array, b: Array) -> Array:
    """The cross products of the vectors of three numbers on the last axes of `a` and `b`.

    product[…, i] = a[…, i + 1] · b[…, i + 2] - a[…, i + 2] · b[…, i + 1]
    where i + 1 and i + 2 count on from 0 after 2
    """
    a, b = (np.moveaxis(x.astype(wide(x.dtype), copy=False), -1, 0) for x in (a, b))
    return np.stack([a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)], -1)


@cross.shape
def _(a: Spec, b: Spec) -> Shape:
    shape = agreed("b", b, a.shape, "the shape of a", "Bring both to one shape, with broadcast_to.")
    if shape is not None and (not shape or shape[-1] not in (3, None)):
        raise OpError(
            "the last axis must have 3 entries",
            arg="a",
            got=described(f"shape {shape_text(shape)}"),
            hint="Put 0 in place of missing coordinates.",
        )
    return shape


@cross.cells
def _(y: Spec, a: Spec, b: Spec) -> list[AccessMap]:
    """Each component is made of both factors' other two components."""
    *rows, _ = y.sizes
    loops, at = over(rows)
    maps = []
    for axis in range(3):
        for one, other in ((1, 2), (2, 1)):
            places = {"a": (axis + one) % 3, "b": (axis + other) % 3, "product": axis}
            cells = {pin: Cells((*at, Coordinate(place))) for pin, place in places.items()}
            maps.append(AccessMap("apply", ("a", "b"), loops, cells))
    return maps


@cross.grad
def _(dy: Value, y: Value, a: Value, b: Value) -> list[Value]:
    return [cross(b, dy), cross(dy, a)]


cross.case(
    "the third axis",
    a=np.array([[1.0, 0, 0]]),
    b=np.array([[0.0, 1, 0]]),
    out=np.array([[0.0, 0, 1]]),
)
cross.case("no vectors", a=np.zeros((0, 3)), b=np.zeros((0, 3)), out=np.zeros((0, 3)))
cross.fails("vectors of two numbers", a=np.zeros(2), b=np.zeros(2), error="3 entries")
cross.fails("another shape", a=np.zeros(3), b=np.zeros((1, 3)), error="the shape of a")
