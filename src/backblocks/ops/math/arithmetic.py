"""Arithmetic cell by cell, with broadcasting."""

from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import COMPLEX, FLOATS, NUMBERS, REALS, SIGNED, wide
from backblocks.errors import OpError
from backblocks.ops._elementwise import binary, unary
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, nothing, op
from backblocks.ops._spec import Shape, Spec, agreed
from backblocks.ops.array.broadcasting import fit

WITH_SIGN = tuple(name for name in NUMBERS if not name.startswith("u"))
POSITIVE = (0.5, 3.0)


def _add_grad(dz: Value, z: Value, x: Value, y: Value) -> list[Value]:
    return [fit(dz, x), fit(dz, y)]


def conjugate(x: Value) -> Value:
    """The conjugate of a complex `x`, which gradients are multiplied by; any other as it is."""
    return ops.conj(x) if x.dtype.kind == "c" else x


# fmt: off
add = binary(
    "Add", np.add, NUMBERS, "x plus y.", ([1.0, 2.0], [3.0], [4.0, 5.0]), _add_grad)
add_v2 = binary(
    "AddV2", np.add, NUMBERS, "x plus y.", ([1.0, 2.0], [3.0], [4.0, 5.0]), _add_grad)
sub = binary(
    "Sub", np.subtract, NUMBERS, "x minus y.", ([1.0, 2.0], [3.0], [-2.0, -1.0]),
    lambda dz, z, x, y: [fit(dz, x), fit(ops.neg(dz), y)])
mul = binary(
    "Mul", np.multiply, NUMBERS, "x times y.", ([1.0, 2.0], [3.0], [3.0, 6.0]),
    lambda dz, z, x, y: [fit(ops.mul(dz, conjugate(y)), x), fit(ops.mul(dz, conjugate(x)), y)])
real_div = binary(
    "RealDiv", np.true_divide, FLOATS, "x divided by y.", ([1.0, 3.0], [2.0], [0.5, 1.5]),
    lambda dz, z, x, y: [fit(ops.real_div(dz, y), x), fit(ops.neg(ops.mul(dz, ops.real_div(z, y))), y)],
    slope_range=POSITIVE)
neg = unary(
    "Neg", np.negative, WITH_SIGN, "Minus x.", ([1.0, -2.0], [-1.0, 2.0]),
    lambda dy, y, x: [ops.neg(dy)])
sign = unary(
    "Sign", np.sign, (*FLOATS, *SIGNED), "-1, 0 or 1, as x is below, at or above 0.",
    ([-3.0, 0.0, 2.0], [-1.0, 0.0, 1.0]),
    nothing)
square = unary(
    "Square", np.square, NUMBERS, "x times x.", ([3.0], [9.0]),
    lambda dy, y, x: [ops.mul(dy, ops.mul(conjugate(x), 2))])
conj = unary(
    "Conj", lambda input: np.conjugate(input), COMPLEX, "x with the sign of its imaginary part changed.",
    (1 + 2j, 1 - 2j), lambda dy, y, x: [ops.conj(dy)], out="output: T")
sqrt = unary(
    "Sqrt", np.sqrt, FLOATS, "The square root of x.", ([4.0], [2.0]),
    lambda dy, y, x: [ops.real_div(ops.mul(dy, 0.5), y)], slope_range=POSITIVE)
rsqrt = unary(
    "Rsqrt", lambda x: 1 / np.sqrt(x), FLOATS, "One divided by the square root of x.", ([4.0], [0.5]),
    lambda dy, y, x: [ops.mul(ops.mul(dy, -0.5), ops.mul(y, ops.mul(y, y)))], slope_range=POSITIVE)
exp = unary(
    "Exp", np.exp, FLOATS, "e to the power of x.", ([0.0, 1.0], [1.0, np.e]),
    lambda dy, y, x: [ops.mul(dy, y)])
log = unary(
    "Log", np.log, FLOATS, "The natural logarithm of x.", ([1.0, np.e], [0.0, 1.0]),
    lambda dy, y, x: [ops.real_div(dy, x)], slope_range=POSITIVE)
tanh = unary(
    "Tanh", np.tanh, FLOATS, "The hyperbolic tangent of x.", ([0.0], [0.0]),
    lambda dy, y, x: [ops.mul(dy, ops.sub(1, ops.square(y)))])
sigmoid = unary(
    "Sigmoid", lambda x: 1 / (1 + np.exp(-x)), FLOATS, "1 / (1 + exp(-x)).", ([0.0], [0.5]),
    lambda dy, y, x: [ops.mul(dy, ops.mul(y, ops.sub(1, y)))])
less = binary(
    "Less", np.less, REALS, "Whether x is below y.", ([1, 2], [2], [True, False]),
    nothing, out="z: bool")
less_equal = binary(
    "LessEqual", np.less_equal, REALS, "Whether x is at most y.", ([1, 3], [2], [True, False]),
    nothing, out="z: bool")
greater = binary(
    "Greater", np.greater, REALS, "Whether x is above y.", ([1, 3], [2], [False, True]),
    nothing, out="z: bool")
greater_equal = binary(
    "GreaterEqual", np.greater_equal, REALS, "Whether x is at least y.", ([1, 2], [2], [False, True]),
    nothing, out="z: bool")
# fmt: on


@op("AddN", "T* -> sum: T", T=NUMBERS)
def add_n(inputs: tuple[Array, ...]) -> Any:
    """The sum of all inputs, which have one shape."""
    return sum(inputs[1:], start=inputs[0].astype(wide(inputs[0].dtype)))


@add_n.shape
def _(inputs: tuple[Spec, ...]) -> Shape:
    if not inputs:
        raise OpError(
            "must have at least one tensor",
            arg="inputs",
            got=inputs,
            hint="Use zeros for a sum of nothing.",
        )
    shape = inputs[0].shape
    hint = "Use Add, which broadcasts, for two of different shapes."
    for spec in inputs[1:]:
        shape = agreed("inputs", spec, shape, "the shape of the first", hint)
    return shape


@add_n.grad
def _(dsum: Value, total: Value, inputs: Any) -> list[Value]:
    return [[dsum] * len(inputs)]


add_n.case(
    "three at once",
    inputs=[np.array([1.0, 2]), np.array([3.0, 4]), np.array([5.0, 6])],
    out=np.array([9.0, 12]),
)
add_n.fails("no inputs", inputs=[], error="at least one")
add_n.fails("another shape", inputs=[np.zeros(2), np.zeros(3)], error="shape of the first")
