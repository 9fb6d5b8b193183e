"""Elementwise comparisons, logic and bitwise ops, with broadcasting."""

from typing import Any

import numpy as np

from backblocks.dtypes import FLOATS, INTS, NUMBERS, REALS, VALUES, wide
from backblocks.ops._access_maps import AccessMap
from backblocks.ops._elementwise import binary, cell_to_cell, in_place, unary
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, op, zero_gradient
from backblocks.ops._spec import Shape, Spec, agreed, broadcast
from backblocks.ops.attrs import Flag, Float

BOOL = ("bool",)


def _by_bits(x: Array, y: Array) -> Array:
    """How far to shift: not below 0, and not so far that nothing of the number would be left."""
    return np.clip(y, 0, 8 * x.dtype.itemsize - 1)


def _unsigned(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


_nan, _inf = np.nan, np.inf
_bits, _others = [0b1100, -1], [0b1010, 5]

# fmt: off
less = binary(
    "Less", np.less, REALS, "Whether x is below y.",
    "z = x < y",
    ([1, 2], [2], [True, False]),
    zero_gradient, out="z: bool",
    aliases=("<", "smaller"))
less_equal = binary(
    "LessEqual", np.less_equal, REALS, "Whether x is at most y.",
    "z = x ≤ y",
    ([1, 3], [2], [True, False]),
    zero_gradient, out="z: bool",
    aliases=("<=",))
greater = binary(
    "Greater", np.greater, REALS, "Whether x is above y.",
    "z = x > y",
    ([1, 3], [2], [False, True]),
    zero_gradient, out="z: bool",
    aliases=(">", "larger"))
greater_equal = binary(
    "GreaterEqual", np.greater_equal, REALS, "Whether x is at least y.",
    "z = x ≥ y",
    ([1, 2], [2], [False, True]),
    zero_gradient, out="z: bool",
    aliases=(">=",))
logical_and = binary(
    "LogicalAnd", np.logical_and, BOOL, "Whether both x and y hold.",
    "z = x and y",
    ([True, True, False], [True, False, False], [True, False, False]), zero_gradient,
    aliases=("and", "&"))
logical_or = binary(
    "LogicalOr", np.logical_or, BOOL, "Whether x or y or both hold.",
    "z = x or y",
    ([True, True, False], [True, False, False], [True, True, False]), zero_gradient,
    aliases=("or", "|"))
logical_not = unary(
    "LogicalNot", np.logical_not, BOOL, "Whether x does not hold.",
    "y = not x",
    ([True, False], [False, True]),
    zero_gradient,
    aliases=("not", "!"))
bitwise_and = binary(
    "BitwiseAnd", np.bitwise_and, INTS, "The bits that both x and y have.",
    "z = x & y",
    (_bits, _others, [0b1000, 5]), zero_gradient)
bitwise_or = binary(
    "BitwiseOr", np.bitwise_or, INTS, "The bits that x or y or both have.",
    "z = x | y",
    (_bits, _others, [0b1110, -1]), zero_gradient)
bitwise_xor = binary(
    "BitwiseXor", np.bitwise_xor, INTS, "The bits that either x or y has.",
    "z = x xor y",
    (_bits, _others, [0b0110, -6]), zero_gradient)
invert = unary(
    "Invert", np.invert, INTS, "The bits that x does not have.",
    "y = ~x",
    ([0, 5, -1], [-1, -6, 0]), zero_gradient,
    corners={"without a sign": (np.array([0, 255], np.uint8), np.array([255, 0], np.uint8))})
left_shift = binary(
    "LeftShift", lambda x, y: np.left_shift(x, _by_bits(x, y)), INTS,
    "The bits of x moved up by y places, of which there are at most all but one.",
    "z = x · 2^s, of which the bits that the type has are kept\n"
    "where s = min(max(y, 0), bits - 1)",
    ([5, -1, 3], [1, 4, -2], [10, -16, 3]), zero_gradient,
    corners={"out of sight": (np.array([3], np.int8), np.array([9], np.int8), np.array([-128], np.int8))})
right_shift = binary(
    "RightShift", lambda x, y: np.right_shift(x, _by_bits(x, y)), INTS,
    "The bits of x moved down by y places, of which there are at most all but one. The sign stays.",
    "z = ⌊x / 2^s⌋\n"
    "where s = min(max(y, 0), bits - 1), with as many bits as the type has",
    ([5, -16, 3], [1, 4, -2], [2, -1, 3]), zero_gradient,
    corners={"far": (np.array([-3, 3], np.int8), np.array([99], np.int8), np.array([-1, 0], np.int8))})
population_count = unary(
    "PopulationCount", lambda x: np.bitwise_count(_unsigned(x)), INTS, "How many bits of x are set.",
    "y = how many bits of x are 1",
    ([0, 5], [0, 2]), zero_gradient, out="y: uint8",
    corners={"of a negative number": (np.array([-1, -128], np.int8), [8, 1])})
is_nan = unary(
    "IsNan", np.isnan, FLOATS, "Whether x is NaN.",
    "y = x ≠ x",
    ([1.0, _nan, _inf], [False, True, False]),
    zero_gradient, out="y: bool")
is_inf = unary(
    "IsInf", np.isinf, FLOATS, "Whether x is infinite.",
    "y = (|x| = ∞)",
    ([1.0, _nan, -_inf], [False, False, True]), zero_gradient, out="y: bool")
is_finite = unary(
    "IsFinite", np.isfinite, FLOATS, "Whether x is neither infinite nor NaN.",
    "y = |x| < ∞",
    ([1.0, _nan, _inf], [True, False, False]), zero_gradient, out="y: bool")
# fmt: on


def _fit(a: Shape, b: Shape) -> bool:
    """Whether two known shapes broadcast."""
    pairs = zip((a or ())[::-1], (b or ())[::-1], strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


def _compared(x: Spec, y: Spec, *, incompatible_shape_error: bool) -> Shape:
    if incompatible_shape_error:
        return broadcast("y", x.shape, y.shape)
    # Sizes that are not known may yet turn out not to fit, and then there is one answer only.
    if x.shape is None or y.shape is None or None in (*x.shape, *y.shape):
        return None
    return broadcast("y", x.shape, y.shape) if _fit(x.shape, y.shape) else ()


@op("Equal", "T, T -> z: bool", aliases=("==",), T=VALUES)
def equal(x: Array, y: Array, *, incompatible_shape_error: Flag = True) -> Array:
    """Whether x is y, for each cell. NaN is not even itself.

    z = (x = y)

    Tensors that do not broadcast are refused; without `incompatible_shape_error` they are not equal.
    """
    return np.asarray(x == y if _fit(x.shape, y.shape) else False)


@op("NotEqual", "T, T -> z: bool", aliases=("!=",), T=VALUES)
def not_equal(x: Array, y: Array, *, incompatible_shape_error: Flag = True) -> Array:
    """Whether x is not y, for each cell. NaN is not even itself.

    z = x ≠ y

    Tensors that do not broadcast are refused; without `incompatible_shape_error` they are not equal.
    """
    return np.asarray(x != y if _fit(x.shape, y.shape) else True)


@equal.kernel("in place")
def _(x: Spec, y: Spec, **attrs: bool) -> KernelFunction | None:
    return in_place(np.equal, x, y) if _fit(x.shape, y.shape) else None


@not_equal.kernel("in place")
def _(x: Spec, y: Spec, **attrs: bool) -> KernelFunction | None:
    return in_place(np.not_equal, x, y) if _fit(x.shape, y.shape) else None


_left, _right = np.array([1.0, 2, np.nan]), np.array([[1.0], [2]])
_same = np.array([[True, False, False], [False, True, False]])
equal.case("each with each", x=_left, y=_right, out=_same)
not_equal.case("each with each", x=_left, y=_right, out=~_same)
for _each, _answer in ((equal, False), (not_equal, True)):
    _each.shape(_compared)
    _each.grad(zero_gradient)
    _each.case(
        "shapes that do not fit",
        x=np.zeros(2),
        y=np.zeros(3),
        incompatible_shape_error=False,
        out=np.array(_answer),
    )
    _each.fails("shapes that do not fit", x=np.zeros(2), y=np.zeros(3), error="must broadcast")


@op("ApproximateEqual", "T, T -> z: bool", T=NUMBERS)
def approximate_equal(x: Array, y: Array, *, tolerance: Float = 1e-5) -> Array:
    """Whether x and y, which have one shape, are less than `tolerance` apart, for each cell.

    z = |x - y| < tolerance
    """
    if x.dtype.kind in "iu":
        # Their difference may need the bit of the sign.
        return np.asarray(_unsigned(np.maximum(x, y) - np.minimum(x, y)) < tolerance)
    x, y = (each.astype(wide(each.dtype), copy=False) for each in (x, y))
    return np.asarray(np.abs(x - y) < tolerance)


@approximate_equal.shape
def _(x: Spec, y: Spec, *, tolerance: float) -> Shape:
    return agreed("y", y, x.shape, "the shape of x", "Bring both to one shape, with broadcast_to.")


approximate_equal.grad(zero_gradient)
approximate_equal.case(
    "a hundredth apart, and infinities",
    x=np.array([1.0, 1, 1, np.inf]),
    y=np.array([1.005, 1.02, np.nan, np.inf]),
    tolerance=0.01,
    out=np.array([True, False, False, False]),
)
approximate_equal.case(
    "as far apart as can be",
    x=np.array([-128, 5], np.int8),
    y=np.array([127, 5], np.int8),
    tolerance=255,
    out=np.array([False, True]),
)
approximate_equal.fails("another shape", x=np.zeros(1), y=np.zeros(2), error="the shape of x")

cell_to_cell(approximate_equal)
for _each in (equal, not_equal):
    _same_place = cell_to_cell(_each)

    @_each.cells
    def _(z: Spec, x: Spec, y: Spec, _rule: Any = _same_place, **how: bool) -> list[AccessMap]:
        return _rule(z, x, y) if _fit(x.shape, y.shape) else []
