"""Special functions, elementwise. They are computed in float64 whatever the type, and rounded."""

from collections.abc import Callable

import numpy as np

from backblocks import ops
from backblocks.dtypes import FLOATS
from backblocks.ops._elementwise import binary, unary
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value
from backblocks.ops.array.broadcasting import unbroadcast
from backblocks.ops.math import _special
from backblocks.ops.math.arithmetic import POSITIVE


def _of_one(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def reference(x: Array) -> Array:
        return function(x.astype(np.float64)).astype(x.dtype)

    return reference


def _bell(x: Value, factor: float, square: float) -> Value:
    """factor times e to the power of square times x * x."""
    return ops.mul(ops.exp(ops.mul(ops.square(x), square)), factor)


def _polygamma_grad(dz: Value, z: Value, a: Value, x: Value) -> list[Value]:
    return [None, unbroadcast(ops.mul(dz, ops.polygamma(ops.add_v2(a, 1), x)), x)]


def _zeta_grad(dz: Value, z: Value, x: Value, q: Value) -> list[Value]:
    return [None, unbroadcast(ops.neg(ops.mul(dz, ops.mul(x, ops.zeta(ops.add_v2(x, 1), q)))), q)]


def _polygamma(a: Array, x: Array) -> Array:
    return _special.polygamma(a.astype(np.float64), x.astype(np.float64)).astype(x.dtype)


def _zeta(x: Array, q: Array) -> Array:
    return _special.zeta(x.astype(np.float64), q.astype(np.float64)).astype(x.dtype)


_nan, _inf, _pi = np.nan, np.inf, np.pi
EULER = 0.5772156649015329
ZETA_3 = 1.2020569031595942

# fmt: off
erf = unary(
    "Erf", _of_one(_special.erf), FLOATS,
    "The error function: the share of a normal distribution of variance 1/2 within |x|, signed as x.",
    "y = 2 / √π · ∫ from 0 to x of exp(-t²) dt",
    ([0.0, 0.5, -1.0, _inf, -_inf, _nan], [0.0, 0.5204998778130465, -0.8427007929497149, 1.0, -1.0, _nan]),
    lambda dy, y, x: [ops.mul(dy, _bell(x, 2 / np.sqrt(_pi), -1))])
erfc = unary(
    "Erfc", _of_one(_special.erfc), FLOATS, "1 - Erf(x), with all its digits where that is small.",
    "y = 2 / √π · ∫ from x to ∞ of exp(-t²) dt",
    ([0.0, -1.0, _inf], [1.0, 1.8427007929497149, 0.0]),
    lambda dy, y, x: [ops.mul(dy, _bell(x, -2 / np.sqrt(_pi), -1))],
    corners={"small": ([2.0], [0.004677734981047266])})
erfinv = unary(
    "Erfinv", _of_one(_special.erfinv), FLOATS, "The number whose error function is x.",
    "y = the number with 2 / √π · ∫ from 0 to y of exp(-t²) dt = x",
    ([0.0, 0.5, -1.0, 1.0, 2.0], [0.0, 0.4769362762044699, -_inf, _inf, _nan]),
    lambda dy, y, x: [ops.mul(dy, _bell(y, np.sqrt(_pi) / 2, 1))], slope_range=(-0.9, 0.9))
ndtri = unary(
    "Ndtri", _of_one(_special.ndtri), FLOATS,
    "The number below which a share x of the standard normal distribution lies.",
    "y = the number with 1 / √(2 · π) · ∫ from -∞ to y of exp(-t² / 2) dt = x",
    ([0.5, 0.975, 0.0, 1.0, -1.0], [0.0, 1.959963984540054, -_inf, _inf, _nan]),
    lambda dy, y, x: [ops.mul(dy, _bell(y, np.sqrt(2 * _pi), 0.5))], slope_range=(0.1, 0.9))
lgamma = unary(
    "Lgamma", _of_one(_special.lgamma), FLOATS, "The logarithm of |gamma(x)|; gamma(n + 1) is n!.",
    "y = ln |Γ(x)|\n"
    "where Γ(x) = ∫ from 0 to ∞ of t^(x - 1) · exp(-t) dt for x > 0, and Γ(x) = Γ(x + 1) / x below",
    ([1.0, 2.0, 5.0, 0.5], [0.0, 0.0, np.log(24), np.log(_pi) / 2]),
    lambda dy, y, x: [ops.mul(dy, ops.digamma(x))], slope_range=POSITIVE,
    corners={"poles and infinities": ([0.0, -3.0, _inf, -_inf], [_inf, _inf, _inf, _inf])})
digamma = unary(
    "Digamma", _of_one(_special.digamma), FLOATS, "The slope of Lgamma at x.",
    "y = Γ'(x) / Γ(x)\n"
    "where Γ(x) is as in Lgamma, and Γ'(x) its slope",
    ([1.0, 2.0, 0.5], [-EULER, 1 - EULER, -EULER - 2 * np.log(2)]),
    lambda dy, y, x: [ops.mul(dy, ops.polygamma(1, x))], slope_range=POSITIVE,
    corners={"poles and infinities": ([0.0, -3.0, _inf, -_inf], [_nan, _nan, _inf, _nan])})
polygamma = binary(
    "Polygamma", _polygamma, FLOATS, "The a-th slope of Digamma at x, for whole a from 0; else NaN.",
    "z = (-1)^(a + 1) · a! · Σ over k ≥ 0 of 1 / (x + k)^(a + 1)\n"
    "with a = 0 Digamma(x)",
    ([0.0, 1.0, 2.0, 1.5], [1.0], [-EULER, _pi**2 / 6, -2 * ZETA_3, _nan]),
    _polygamma_grad, slope_range=POSITIVE,
    corners={"poles": ([1.0, 2.0], [0.0, -1.0], [_inf, _nan])})
zeta = binary(
    "Zeta", _zeta, FLOATS, "The sum of (q + k) to the power of -x over k = 0, 1, 2 ...",
    "z = Σ over k ≥ 0 of 1 / (q + k)^x",
    ([2.0, 3.0, 2.0], [1.0, 1.0, 2.0], [_pi**2 / 6, ZETA_3, _pi**2 / 6 - 1]),
    _zeta_grad, slope_range=(1.2, 4.0),
    corners={"below 0": ([2.0, 2.0, 2.5], [-0.5, 0.0, -0.5], [_pi**2 / 2 + 4, _inf, _nan])})
# fmt: on

erf.differs(
    "inf",
    tensorflow="In float64 the error function of an infinity is NaN.",
    ours="It is 1 or -1.",
)
