"""Activations cell by cell, each with its gradient op.

A gradient op takes what came back and what went in (for Elu and Selu: what came out).
"""

import functools

import numpy as np

from backblocks import ops
from backblocks.dtypes import FLOATS, REALS
from backblocks.ops._elementwise import activation_gradient, rounded_once, unary
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Value
from backblocks.ops._spec import Spec
from backblocks.ops.attrs import Float

activation = functools.partial(unary, out="activations: T")

SELU_SCALE = 1.0507009873554805
SELU_SCALE_ALPHA = 1.7580993408473768
AROUND_SIX = (-3.0, 8.0)


def _where_negative(outputs: Value, d: Value) -> Value:
    return ops.select_v2(ops.less(outputs, 0), d, 0)


def _leaky_relu(features: Array, *, alpha: Float = 0.2) -> Array:
    return np.where(features > 0, features, alpha * features)


def _leaky_relu_grad(gradients: Array, features: Array, *, alpha: Float = 0.2) -> Array:
    return np.where(features > 0, gradients, alpha * gradients)


def _softsign_grad_grad(h: Value, dx: Value, gradients: Value, features: Value) -> list[Value]:
    # 1 / (1 + |x|) is 1 - |ops.softsign(x)|, and its sign is that of x.
    bend = ops.mul(ops.sub(ops.sign(features), ops.softsign(features)), -2)
    return [
        ops.softsign_grad(h, features),
        ops.mul(ops.softsign_grad(ops.mul(h, gradients), features), bend),
    ]


# fmt: off
relu = activation(
    "Relu", lambda features: np.maximum(features, 0), REALS,
    "`features`, with 0 in place of all that is below.",
    "activations = max(features, 0)",
    ([-1.0, 2.0], [0.0, 2.0]),
    lambda dy, y, features: [ops.relu_grad(dy, features)],
    aliases=("rectifier", "ramp", "nn.ReLU", "activation"))
relu_grad = activation_gradient(
    "ReluGrad", lambda gradients, features: np.where(features > 0, gradients, 0), REALS,
    "The gradient of Relu: what came back, where `features` is above 0.",
    "backprops = gradients if features > 0 else 0",
    ([5.0, 6.0], [-1.0, 2.0], [0.0, 6.0]),
    lambda h, dx, gradients, features: [ops.relu_grad(h, features), None])
relu6 = activation(
    "Relu6", lambda features: np.clip(features, 0, 6), REALS,
    "`features`, kept between 0 and 6.",
    "activations = min(max(features, 0), 6)",
    ([-1.0, 2.0, 6.0, 7.0], [0.0, 2.0, 6.0, 6.0]),
    lambda dy, y, features: [ops.relu6_grad(dy, features)], slope_range=AROUND_SIX,
    aliases=("nn.ReLU6", "clipped rectifier"))
relu6_grad = activation_gradient(
    "Relu6Grad", lambda gradients, features: np.where(
        (features > 0) & (features < 6), gradients, 0), REALS,
    "The gradient of Relu6: what came back, where `features` is above 0 and below 6.",
    "backprops = gradients if 0 < features < 6 else 0",
    ([5.0, 6.0, 7.0, 8.0], [0.0, 2.0, 6.0, 7.0], [0.0, 6.0, 0.0, 0.0]),
    lambda h, dx, gradients, features: [ops.relu6_grad(h, features), None], slope_range=AROUND_SIX)
elu = activation(
    "Elu", lambda features: np.where(features < 0, np.expm1(features), features), FLOATS,
    "`features`, and below 0 a curve that levels off at -1.",
    "activations = exp(features) - 1 if features < 0 else features",
    ([-np.log(2), 2.0], [-0.5, 2.0]),
    lambda dy, y, features: [ops.elu_grad(dy, y)],
    aliases=("nn.ELU",))
elu_grad = activation_gradient(
    "EluGrad", lambda gradients, outputs: np.where(
        outputs < 0, gradients * (outputs + 1), gradients), FLOATS,
    "The gradient of Elu: what came back, times the slope that belongs to `outputs`.",
    "backprops = gradients · (outputs + 1) if outputs < 0 else gradients",
    ([4.0, 6.0], [-0.5, 2.0], [2.0, 6.0]),
    lambda h, dx, gradients, outputs: [
        ops.elu_grad(h, outputs), _where_negative(outputs, ops.mul(h, gradients))])
selu = activation(
    "Selu", lambda features: np.where(
        features < 0, SELU_SCALE_ALPHA * np.expm1(features), SELU_SCALE * features), FLOATS,
    "Elu with the two factors that keep mean 0 and variance 1 from layer to layer.",
    "activations = scale · alpha · (exp(features) - 1) if features < 0 else scale · features\n"
    "where scale = 1.0507009873554805\n"
    "where alpha = 1.6732632423543772",
    ([-np.log(2), 2.0], [-SELU_SCALE_ALPHA / 2, 2 * SELU_SCALE]),
    lambda dy, y, features: [ops.selu_grad(dy, y)],
    aliases=("nn.SELU",))
selu_grad = activation_gradient(
    "SeluGrad", lambda gradients, outputs: gradients * np.where(
        outputs < 0, outputs + SELU_SCALE_ALPHA, SELU_SCALE), FLOATS,
    "The gradient of Selu: what came back, times the slope that belongs to `outputs`.",
    "backprops = gradients · (outputs + scale · alpha) if outputs < 0 else gradients · scale\n"
    "where scale = 1.0507009873554805\n"
    "where alpha = 1.6732632423543772",
    ([4.0, 6.0], [-SELU_SCALE_ALPHA / 2, 2.0], [2 * SELU_SCALE_ALPHA, 6 * SELU_SCALE]),
    lambda h, dx, gradients, outputs: [
        ops.selu_grad(h, outputs), _where_negative(outputs, ops.mul(h, gradients))])
leaky_relu = activation(
    "LeakyRelu", _leaky_relu, FLOATS,
    "`features`, times `alpha` where it is not above 0.",
    "activations = features if features > 0 else alpha · features",
    ([-1.0, 2.0], [-0.2, 2.0]),
    lambda dy, y, features, **attrs: [ops.leaky_relu_grad(dy, features, **attrs)],
    aliases=("nn.LeakyReLU",))
leaky_relu_grad = activation_gradient(
    "LeakyReluGrad", _leaky_relu_grad, FLOATS,
    "The gradient of LeakyRelu: what came back, times `alpha` where `features` is not above 0.",
    "backprops = gradients if features > 0 else alpha · gradients",
    ([5.0, 6.0], [-1.0, 2.0], [1.0, 6.0]),
    lambda h, dx, gradients, features, **attrs: [ops.leaky_relu_grad(h, features, **attrs), None])
softplus = activation(
    "Softplus", lambda features: np.logaddexp(features, 0), FLOATS,
    "A smooth Relu, without overflow: 0 far below 0, and `features` far above.",
    "activations = ln(1 + exp(features))",
    ([0.0, 1000.0, -1000.0], [np.log(2), 1000.0, 0.0]),
    lambda dy, y, features: [ops.softplus_grad(dy, features)],
    aliases=("nn.Softplus",))
softplus_grad = activation_gradient(
    "SoftplusGrad", lambda gradients, features: gradients / (1 + np.exp(-features)), FLOATS,
    "The gradient of Softplus: what came back, times the sigmoid of `features`.",
    "backprops = gradients / (1 + exp(-features))",
    ([4.0, 5.0, 6.0], [0.0, 1000.0, -1000.0], [2.0, 5.0, 0.0]),
    lambda h, dx, gradients, features: [
        ops.softplus_grad(h, features),
        ops.softplus_grad(
            ops.mul(ops.mul(h, gradients), ops.sigmoid(ops.neg(features))), features)])
softsign = activation(
    "Softsign", lambda features: features / (1 + np.abs(features)), FLOATS,
    "A smooth sign of `features`: from -1 far below 0 to 1 far above.",
    "activations = features / (1 + |features|)",
    ([-1.0, 3.0], [-0.5, 0.75]),
    lambda dy, y, features: [ops.softsign_grad(dy, features)],
    aliases=("nn.Softsign",))
softsign_grad = activation_gradient(
    "SoftsignGrad", lambda gradients, features: gradients / (1 + np.abs(features)) ** 2, FLOATS,
    "The gradient of Softsign: what came back, times the slope at `features`.",
    "backprops = gradients / (1 + |features|)²",
    ([4.0, 32.0], [-1.0, 3.0], [1.0, 2.0]),
    _softsign_grad_grad)
# fmt: on


@relu_grad.kernel("bits", warns=True)
def _(gradients: Spec, features: Spec) -> KernelFunction:
    """Bits times 1 are themselves and times 0 none, which takes a tenth of the time of np.where."""
    bits = np.dtype(f"i{gradients.dtype.itemsize}")

    def fill(gradients: Array, features: Array, backprops: Array) -> None:
        kept = np.greater(features, 0).view(np.int8)
        np.multiply(gradients.view(bits), kept, backprops.view(bits))

    return fill


FORWARD = (relu, relu6, elu, selu, leaky_relu, softplus, softsign)
BACKWARD = (
    relu_grad,
    relu6_grad,
    elu_grad,
    selu_grad,
    leaky_relu_grad,
    softplus_grad,
    softsign_grad,
)


# -- cases, refusals, differences ------------------------------------------------------------------

relu.case("whole numbers", features=np.array([-3, 0, 3], np.int8), out=np.array([0, 0, 3]))
relu_grad.case(
    "a gradient that is not finite stops where x is not above 0",
    gradients=np.array([np.inf, np.nan, 1.0, 2.0]),
    features=np.array([-1.0, 0.0, np.nan, 2.0]),
    out=np.array([0.0, 0.0, 0.0, 2.0]),
)
leaky_relu.case("alpha above 1", features=np.array([-1.0, 1.0]), alpha=3, out=np.array([-3.0, 1.0]))
leaky_relu_grad.case(
    "alpha also at 0 and for NaN",
    gradients=np.array([4.0, 4.0]),
    features=np.array([0.0, np.nan]),
    alpha=0.5,
    out=np.array([2.0, 2.0]),
)
_infinite = np.array([-np.inf, np.inf])
elu.case("infinities", features=_infinite, out=np.array([-1.0, np.inf]))
softplus.case("infinities", features=_infinite, out=np.array([0.0, np.inf]))
softsign_grad.case("infinities", gradients=np.ones(2), features=_infinite, out=np.zeros(2))
_nan, _nothing_in = np.array([np.nan, np.nan]), np.zeros((0, 2))
for _each in FORWARD:
    _each.case("NaN stays NaN", features=_nan, out=_nan)
    _each.case("nothing in, nothing out", features=_nothing_in, out=_nothing_in)
    _each.fails("text", features="a", error="must be an array of numbers")
for _each in BACKWARD:
    _came_from = _each.inputs[1].name
    _each.case(
        "nothing in, nothing out",
        gradients=_nothing_in,
        **{_came_from: _nothing_in},
        out=_nothing_in,
    )
    _each.fails(
        "another shape",
        gradients=np.zeros(2),
        **{_came_from: np.zeros(3)},
        error="the shape of gradients",
    )
for _each in (elu, selu, leaky_relu, softplus, softsign):
    _each.fails(
        "whole numbers", features=np.zeros(2, np.int32), error="must be bfloat16 or float16"
    )

rounded_once(*FORWARD[2:], *BACKWARD[2:])
for _each in (relu_grad, relu6_grad):
    _each.differs(
        "gradients that are not finite",
        tensorflow="Where the slope is 0, a NaN or infinite gradient times 0 is NaN.",
        ours="Where the slope is 0, the result is 0.",
        agree="Keep gradients finite.",
    )
for _each in (elu, selu):
    _each.differs(
        "small negative x",
        tensorflow="exp(x) - 1 is computed as written: Elu(-1e-8) is 0 in float32.",
        ours="Every digit is kept: Elu(-1e-8) is -1e-8.",
        agree="Allow an absolute error of one unit in the last place of 1.",
    )
for _each in (leaky_relu, leaky_relu_grad):
    _each.differs(
        "alpha in float64",
        tensorflow="alpha is a float32 number: 0.2 is 0.20000000298.",
        ours="alpha is a float64 number.",
        agree="Give an alpha that float32 can hold, or float(np.float32(alpha)).",
    )
softplus.differs(
    "large |x|",
    tensorflow="Beyond a threshold (2.8 in bfloat16, 7 in float16, 14 in float32, 34 in float64) "
    "it is x, or exp(x) on the negative side: Softplus(2.859) is 2.859 in bfloat16.",
    ours="log(1 + exp(x)) everywhere: Softplus(2.859) is 2.922 in bfloat16.",
    agree="Use float32 or float64, where the jump is below the last place.",
)
