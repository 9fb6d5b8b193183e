"""Elementwise exponentials, logarithms and roots, with the gradient ops that TensorFlow has."""

import numpy as np

from backblocks import ops
from backblocks.dtypes import DIFFERENTIABLE, is_half
from backblocks.ops._elementwise import activation_gradient, rounded_once, unary
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Value
from backblocks.ops._spec import Spec
from backblocks.ops.math.arithmetic import POSITIVE, conjugate


def _sqrt_grad_grad(h: Value, z: Value, y: Value, dy: Value) -> list[Value]:
    share = ops.real_div(h, y)
    return [ops.neg(ops.mul(conjugate(share), z)), ops.mul(share, 0.5)]


def _rsqrt_grad_grad(h: Value, z: Value, y: Value, dy: Value) -> list[Value]:
    y_ = conjugate(y)
    back = ops.mul(ops.mul(conjugate(h), -1.5), ops.mul(dy, ops.square(y_)))
    return [back, ops.rsqrt_grad(y_, h)]


def _sigmoid_grad_grad(h: Value, z: Value, y: Value, dy: Value) -> list[Value]:
    y_ = conjugate(y)
    back = ops.mul(h, conjugate(dy))
    return [ops.sub(back, ops.mul(ops.mul(back, 2), y_)), ops.sigmoid_grad(y_, h)]


def _tanh_grad_grad(h: Value, z: Value, y: Value, dy: Value) -> list[Value]:
    y_ = conjugate(y)
    return [ops.mul(ops.mul(h, -2), ops.mul(conjugate(dy), y_)), ops.tanh_grad(y_, h)]


_nan, _inf = np.nan, np.inf

# fmt: off
exp = unary(
    "Exp", np.exp, DIFFERENTIABLE, "e to the power of x.",
    "y = exp(x)",
    ([0.0, 1.0, -_inf], [1.0, np.e, 0.0]),
    lambda dy, y, x: [ops.mul(dy, conjugate(y))], corners={"half a turn": (np.pi * 1j, -1 + 0j)},
    aliases=("exponential",))
expm1 = unary(
    "Expm1", np.expm1, DIFFERENTIABLE, "e to the power of x, less 1, with all digits near 0.",
    "y = exp(x) - 1",
    ([0.0, 1.0, 1e-20], [0.0, np.e - 1, 1e-20]),
    lambda dy, y, x: [ops.mul(dy, ops.exp(conjugate(x)))])
log = unary(
    "Log", np.log, DIFFERENTIABLE, "The natural logarithm of x.",
    "y = ln(x)",
    ([1.0, np.e, 0.0, -1.0], [0.0, 1.0, -_inf, _nan]),
    lambda dy, y, x: [ops.real_div(dy, conjugate(x))],
    corners={"of minus 1": (-1 + 0j, np.pi * 1j)}, slope_range=POSITIVE,
    aliases=("logarithm", "ln"))
log1p = unary(
    "Log1p", np.log1p, DIFFERENTIABLE, "The natural logarithm of 1 + x, with all digits near 0.",
    "y = ln(1 + x)",
    ([0.0, np.e - 1, 1e-20, -1.0], [0.0, 1.0, 1e-20, -_inf]),
    lambda dy, y, x: [ops.real_div(dy, ops.add_v2(conjugate(x), 1))], slope_range=POSITIVE)
sqrt = unary(
    "Sqrt", np.sqrt, DIFFERENTIABLE, "The square root of x.",
    "y = √x",
    ([4.0, 0.0, -1.0], [2.0, 0.0, _nan]),
    lambda dy, y, x: [ops.sqrt_grad(y, dy)],
    corners={"of minus 4": (-4 + 0j, 2j)}, slope_range=POSITIVE,
    aliases=("square root",))
sqrt_grad = activation_gradient(
    "SqrtGrad", lambda y, dy: np.where(dy == 0, 0, 0.5 * dy / np.conjugate(y)), DIFFERENTIABLE,
    "The gradient of Sqrt: half of what came back, divided by what came out.",
    "z = 0 if dy = 0 else dy / (2 · conj(y))",
    ([2.0, 0.0, 0.0], [8.0, 1.0, 0.0], [2.0, _inf, 0.0]), _sqrt_grad_grad, out="z: T", slope_range=POSITIVE)
rsqrt = unary(
    "Rsqrt", lambda x: 1 / np.sqrt(x), DIFFERENTIABLE, "One divided by the square root of x.",
    "y = 1 / √x",
    ([4.0, 0.0], [0.5, _inf]),
    lambda dy, y, x: [ops.rsqrt_grad(y, dy)], slope_range=POSITIVE,
    aliases=("inverse square root",))
rsqrt_grad = activation_gradient(
    "RsqrtGrad", lambda y, dy: np.where(dy == 0, 0, -0.5 * dy * np.conjugate(y) ** 3), DIFFERENTIABLE,
    "The gradient of Rsqrt: minus half of what came back, times the third power of what came out.",
    "z = 0 if dy = 0 else -dy · conj(y)³ / 2",
    ([2.0, 0.5], [1.0, 16.0], [-4.0, -1.0]), _rsqrt_grad_grad, out="z: T", slope_range=POSITIVE)
sigmoid = unary(
    "Sigmoid", lambda x: 1 / (1 + np.exp(-x)), DIFFERENTIABLE,
    "The logistic curve: from 0 far below 0, through 1/2 at 0, to 1 far above.",
    "y = 1 / (1 + exp(-x))",
    ([0.0, 1000.0, -1000.0], [0.5, 1.0, 0.0]),
    lambda dy, y, x: [ops.sigmoid_grad(conjugate(y), dy)],
    aliases=("logistic", "expit", "nn.Sigmoid"))
sigmoid_grad = activation_gradient(
    "SigmoidGrad", lambda y, dy: dy * y * (1 - y), DIFFERENTIABLE,
    "The gradient of Sigmoid: what came back, times y and 1 - y of what came out.",
    "z = dy · y · (1 - y)",
    ([0.5, 1.0], [8.0, 3.0], [2.0, 0.0]), _sigmoid_grad_grad, out="z: T")
tanh = unary(
    "Tanh", np.tanh, DIFFERENTIABLE, "The hyperbolic tangent of x.",
    "y = (exp(x) - exp(-x)) / (exp(x) + exp(-x))",
    ([0.0, 1000.0, -_inf], [0.0, 1.0, -1.0]),
    lambda dy, y, x: [ops.tanh_grad(conjugate(y), dy)],
    aliases=("hyperbolic tangent", "nn.Tanh"))
tanh_grad = activation_gradient(
    "TanhGrad", lambda y, dy: dy * (1 - y * y), DIFFERENTIABLE,
    "The gradient of Tanh: what came back, times 1 - y * y of what came out.",
    "z = dy · (1 - y²)",
    ([0.5, 1.0], [8.0, 3.0], [6.0, 0.0]), _tanh_grad_grad, out="z: T")
# fmt: on


@sigmoid.kernel("in place", warns=True)
def _(x: Spec) -> KernelFunction | None:
    if is_half(x.dtype):
        return None

    one = np.ones((), x.dtype)  # NumPy takes as long to read a number as to add it to a few

    def fill(x: Array, y: Array) -> None:
        np.negative(x, y)
        np.exp(y, y)
        np.add(y, one, y)
        np.divide(one, y, y)

    return fill


@sigmoid_grad.kernel("in place", warns=True)
def _(y: Spec, dy: Spec) -> KernelFunction | None:
    if is_half(y.dtype):
        return None

    one = np.ones((), y.dtype)

    def fill(y: Array, dy: Array, z: Array) -> None:
        np.multiply(dy, y, z)
        np.multiply(z, np.subtract(one, y), z)

    return fill


log1p.differs(
    "complex -1",
    tensorflow="The imaginary part of Log1p(-1 + 0i) is NaN.",
    ours="It is 0.",
)
sqrt_grad.differs(
    "complex numbers divided by 0",
    tensorflow="Both parts are NaN.",
    ours="The parts are infinite.",
)
rounded_once(rsqrt, sigmoid, sqrt_grad, rsqrt_grad, sigmoid_grad, tanh_grad)
for each in (sqrt_grad, rsqrt_grad, sigmoid_grad, tanh_grad):
    each.fails("another shape", y=np.zeros(2), dy=np.zeros(3), error="the shape of y")
