"""Elementwise trigonometric and hyperbolic functions."""

import numpy as np

from backblocks import ops
from backblocks.dtypes import DIFFERENTIABLE, FLOATS
from backblocks.ops._elementwise import binary, unary
from backblocks.ops._op import Value
from backblocks.ops.array.broadcasting import unbroadcast
from backblocks.ops.math.arithmetic import conjugate

INSIDE = (-0.9, 0.9)
ABOVE_ONE = (1.2, 4.0)


def _less_square(x: Value) -> Value:
    """1 - x * x."""
    return ops.sub(1, ops.square(conjugate(x)))


def _atan2_grad(dz: Value, z: Value, y: Value, x: Value) -> list[Value]:
    share = ops.real_div(dz, ops.add_v2(ops.square(x), ops.square(y)))
    return [unbroadcast(ops.mul(share, x), y), unbroadcast(ops.neg(ops.mul(share, y)), x)]


_nan, _inf, _pi = np.nan, np.inf, np.pi

# fmt: off
sin = unary(
    "Sin", np.sin, DIFFERENTIABLE, "The sine of x.",
    "y = sin(x)",
    ([0.0, _pi / 2, _inf], [0.0, 1.0, _nan]),
    lambda dy, y, x: [ops.mul(dy, ops.cos(conjugate(x)))])
cos = unary(
    "Cos", np.cos, DIFFERENTIABLE, "The cosine of x.",
    "y = cos(x)",
    ([0.0, _pi, _inf], [1.0, -1.0, _nan]),
    lambda dy, y, x: [ops.neg(ops.mul(dy, ops.sin(conjugate(x))))])
tan = unary(
    "Tan", np.tan, DIFFERENTIABLE, "The tangent of x.",
    "y = sin(x) / cos(x)",
    ([0.0, _pi / 4, _inf], [0.0, 1.0, _nan]),
    lambda dy, y, x: [ops.mul(dy, ops.add_v2(ops.square(conjugate(y)), 1))], slope_range=(-1.2, 1.2))
asin = unary(
    "Asin", np.arcsin, DIFFERENTIABLE, "The angle whose sine is x, from -pi/2 to pi/2.",
    "y = arcsin(x)",
    ([0.0, 1.0, 2.0], [0.0, _pi / 2, _nan]),
    lambda dy, y, x: [ops.mul(dy, ops.rsqrt(_less_square(x)))], slope_range=INSIDE)
acos = unary(
    "Acos", np.arccos, DIFFERENTIABLE, "The angle whose cosine is x, from 0 to pi.",
    "y = arccos(x)",
    ([1.0, 0.0, -1.0, 2.0], [0.0, _pi / 2, _pi, _nan]),
    lambda dy, y, x: [ops.neg(ops.mul(dy, ops.rsqrt(_less_square(x))))], slope_range=INSIDE)
atan = unary(
    "Atan", np.arctan, DIFFERENTIABLE, "The angle whose tangent is x, from -pi/2 to pi/2.",
    "y = arctan(x)",
    ([0.0, 1.0, -_inf], [0.0, _pi / 4, -_pi / 2]),
    lambda dy, y, x: [ops.real_div(dy, ops.add_v2(ops.square(conjugate(x)), 1))])
atan2 = binary(
    "Atan2", lambda y, x: np.arctan2(y, x), FLOATS,
    "The angle of the point (x, y), from -pi to pi.",
    "z = the angle with x = r · cos(z) and y = r · sin(z)\n"
    "where r = √(x² + y²)",
    ([0.0, 1.0, -1.0, 0.0], [1.0, 0.0, -1.0, -1.0], [0.0, _pi / 2, -3 * _pi / 4, _pi]), _atan2_grad,
    fast=np.arctan2, slope_range=(0.5, 2.0))
sinh = unary(
    "Sinh", np.sinh, DIFFERENTIABLE, "The hyperbolic sine of x.",
    "y = (exp(x) - exp(-x)) / 2",
    ([0.0, np.log(2), -_inf], [0.0, 0.75, -_inf]),
    lambda dy, y, x: [ops.mul(dy, ops.cosh(conjugate(x)))])
cosh = unary(
    "Cosh", np.cosh, DIFFERENTIABLE, "The hyperbolic cosine of x.",
    "y = (exp(x) + exp(-x)) / 2",
    ([0.0, np.log(2), -_inf], [1.0, 1.25, _inf]),
    lambda dy, y, x: [ops.mul(dy, ops.sinh(conjugate(x)))])
asinh = unary(
    "Asinh", np.arcsinh, DIFFERENTIABLE, "The number whose hyperbolic sine is x.",
    "y = ln(x + √(x² + 1))",
    ([0.0, 0.75, -_inf], [0.0, np.log(2), -_inf]),
    lambda dy, y, x: [ops.real_div(dy, ops.cosh(conjugate(y)))])
acosh = unary(
    "Acosh", np.arccosh, DIFFERENTIABLE, "The number from 0 up whose hyperbolic cosine is x.",
    "y = ln(x + √(x + 1) · √(x - 1))",
    ([1.0, 1.25, 0.5], [0.0, np.log(2), _nan]),
    lambda dy, y, x: [ops.real_div(dy, ops.sinh(conjugate(y)))], slope_range=ABOVE_ONE)
atanh = unary(
    "Atanh", np.arctanh, DIFFERENTIABLE, "The number whose hyperbolic tangent is x.",
    "y = (ln(1 + x) - ln(1 - x)) / 2",
    ([0.0, 0.6, 1.0, 2.0], [0.0, np.log(2), _inf, _nan]),
    lambda dy, y, x: [ops.real_div(dy, _less_square(x))], slope_range=INSIDE)
# fmt: on
