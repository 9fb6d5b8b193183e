"""Special functions of float64 arrays: error function, gamma function and their kin.

Each is a polynomial or a series where it behaves, and rules that lead every other argument there. The
polynomials are Chebyshev interpolants of functions without zeros or poles, in the variable that runs from
-1 to 1 over the stretch they are for; they and the series end where float64 does.
"""

from typing import Any

import numpy as np

from backblocks.ops._inputs import Array

# fmt: off
# erf(x) / x in x * x from 0 to 1, and (1 + 2 x) exp(x * x) erfc(x) in (x - 3.75) / (x + 3.75)
_ERF = (
    0.9654687386698673, -0.1405360890227171, 0.019852496688983708,
    -0.0022854855611440673, 0.00021751715604160108, -1.7537169441492004e-05,
    1.2233827383524026e-06, -7.511569160710623e-08, 4.115800597661665e-09,
    -2.03524938661036e-10, 9.167606748998164e-12, -3.7910973708931526e-13,
    1.4548169783352384e-14, -5.16472878942302e-16,
)
_ERFC = (
    1.2375775878742366, -0.1071803522357911, 0.002027266560559096,
    0.03681584375577886, -0.03718972455070421, 0.02410715250406945,
    -0.011712710151632428, 0.004324272751981637, -0.001135085302485542,
    0.00015601852618396476, 2.006404914927132e-05, -1.5086960824901855e-05,
    2.0450463267150623e-06, 6.813654213977647e-07, -2.6520114136863406e-07,
    -1.7469806248849927e-08, 2.3729701119100018e-08, -5.796804996944021e-10,
    -2.042659787053317e-09, 1.4360822106814604e-10, 1.7226272798254675e-10,
    -1.4605021087541655e-11, -1.0579415876630706e-11, 8.452565648340152e-13,
)
# Quotients of polynomials for normal_quantile.
_CENTRE = (
    (
        3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
        45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227,
    ),
    (
        1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751,
        21213.794301586597, 39307.89580009271, 28729.085735721943, 5226.495278852854,
    ),
)
_SIDE = (
    (
        1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
        1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 0.0007745450142783414,
    ),
    (
        1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851,
        0.14810397642748008, 0.015198666563616457, 0.0005475938084995345, 1.0507500716444169e-09,
    ),
)
_FAR = (
    (
        6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487,
        0.026532189526576124, 0.0012426609473880784, 2.7115555687434876e-05, 2.0103343992922881e-07,
    ),
    (
        1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615,
        0.0007868691311456133, 1.8463183175100548e-05, 1.421511758316446e-07, 2.0442631033899397e-15,
    ),
)
# lgamma(2 + z) / z from -3/4 to 1, and digamma(x) / (x - its root) from 1 to 2
_LGAMMA = (
    0.462078812242751, 0.26822189345198133, -0.04614766530776682,
    0.01158769655811387, -0.0034157726521579766, 0.0010984044997753148,
    -0.0003725675568415258, 0.00013091684397089284, -4.7155073105746945e-05,
    1.7294505568290924e-05, -6.430174493501886e-06, 2.416357958732379e-06,
    -9.158085747951472e-07, 3.4950685530655296e-07, -1.3409374457950183e-07,
    5.172407891337486e-08, -2.0165938803141328e-08, 7.84130449676148e-09,
    -2.880075227271689e-09, 1.1254485187775392e-09, -6.065067828612077e-10,
    2.3908679422919427e-10, 4.479229404680728e-12, -2.020902394889874e-12,
    -3.35096783586321e-11, 1.3308980137631717e-11,
)
_DIGAMMA = (
    0.9510558760318328, -0.2118137106407303, 0.060135621060196744,
    -0.018550615381735115, 0.005936795278305649, -0.0019350666648590097,
    0.0006368880303257201, -0.00021074841140458636, 6.995018873950506e-05,
    -2.325824239445257e-05, 7.741232223504057e-06, -2.57809436305308e-06,
    8.589127353033379e-07, -2.86315275846934e-07, 9.542050972688906e-08,
    -3.163020268955334e-08, 1.0542687624027994e-08, -3.7075072647122386e-09,
    1.2358072433984831e-09, -2.7619635330317715e-10, 9.206434499177992e-11,
    -8.498137230186096e-11, 2.832706668021759e-11,
)
_ROOT, _ROOT_REST = 1.4616321449683622, 9.549995429965697e-17
_HALF_LOG_2_PI = 0.9189385332046727
# Bernoulli numbers B(2k), over 2k (2k - 1), over -2k, and over (2k)!
_STIRLING = (
    0.08333333333333333, -0.002777777777777778, 0.0007936507936507937,
    -0.0005952380952380953, 0.0008417508417508417, -0.0019175269175269176,
    0.00641025641025641, -0.029550653594771242,
)
_DIGAMMA_SERIES = (
    -0.08333333333333333, 0.008333333333333333, -0.003968253968253968,
    0.004166666666666667, -0.007575757575757576, 0.021092796092796094,
    -0.08333333333333333, 0.4432598039215686,
)
_ZETA = (
    0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05,
    -8.267195767195768e-07, 2.08767569878681e-08, -5.284190138687493e-10,
    1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15,
    -2.174868698558062e-16, 5.5090028283602295e-18, -1.3954464685812522e-19,
)
# fmt: on


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total *= x
        total += c
    return total


# -- the error function --------------------------------------------------------------------------------


def erf(x: Array) -> Array:
    """The share of a normal distribution of variance 1/2 that lies within |x|, with the sign of x."""
    a = np.abs(x)
    near = x * _polynomial(_ERF, 2 * np.minimum(a, 1) ** 2 - 1)
    return np.where(a < 1, near, np.copysign(1 - _erfc_above_half(np.maximum(a, 1)), x))


def erfc(x: Array) -> Array:
    """1 - erf(x), with all its digits where it is small."""
    return np.where(x < 0.5, 1 - erf(np.minimum(x, 0.5)), _erfc_above_half(np.maximum(x, 0.5)))


def _erfc_above_half(x: Array) -> Any:
    x = np.minimum(x, 28)  # from where on it is 0
    # x * x has too few digits for exp, whose relative error is its argument's absolute one. The square of
    # a number of 24 bits is exact.
    short = x.astype(np.float32).astype(np.float64)
    bell = np.exp(-short * short) * np.exp((short - x) * (short + x))
    low, high = -3.25 / 4.25, 24.25 / 31.75
    at = (2 * (x - 3.75) / (x + 3.75) - (low + high)) / (high - low)
    return bell * _polynomial(_ERFC, at) / (1 + 2 * x)


def erfinv(x: Array) -> Any:
    """The number whose erf is x."""
    return normal_quantile(x / 2, (1 - np.abs(x)) / 2) * np.sqrt(0.5)


def ndtri(p: Array) -> Array:
    """The number below which a share p of the standard normal distribution lies."""
    return normal_quantile(p - 0.5, np.minimum(p, 1 - p))


def normal_quantile(from_half: Array, tail: Array) -> Array:
    """The quantile of a share p, given as p - 1/2 and as the smaller of p and 1 - p.

    After Wichura, "The percentage points of the normal distribution", algorithm AS 241 (1988).
    """
    r = 0.180625 - from_half**2
    centre = from_half * _polynomial(_CENTRE[0], r) / _polynomial(_CENTRE[1], r)
    r = np.sqrt(-np.log(np.where(tail < 0, np.nan, tail)))
    sides = [
        _polynomial(p, r - c) / _polynomial(q, r - c) for (p, q), c in ((_SIDE, 1.6), (_FAR, 5))
    ]
    side = np.where(np.isinf(r), r, np.where(r <= 5, *sides))
    return np.where(np.abs(from_half) <= 0.425, centre, np.copysign(side, from_half))


# -- the gamma function ----------------------------------------------------------------------------------


def lgamma(x: Array) -> Array:
    """The logarithm of |gamma(x)|."""
    regions = [x < 0, x >= 0, x >= 0.5, x >= 1.25, x >= 3, x >= 10]
    parts = [
        _lgamma_below_zero,
        lambda x: _lgamma_from_one(x) - np.log(x),
        lambda x: _lgamma_from_one(x - 1),
        lambda x: _lgamma_from_two(x - 2),
        _lgamma_up_to_ten,
        _lgamma_by_stirling,
    ]
    return np.piecewise(x, regions, [*parts, np.nan])


def _lgamma_from_two(z: Array) -> Array:
    """lgamma(2 + z) for z from -3/4 to 1."""
    return z * _polynomial(_LGAMMA, (8 * z - 1) / 7)


def _lgamma_from_one(z: Array) -> Array:
    """lgamma(1 + z) for z from -1/2 to 1/2."""
    return _lgamma_from_two(z) - np.log1p(z)


def _lgamma_up_to_ten(x: Array) -> Array:
    factors = np.ones_like(x)
    for _ in range(7):
        above = x >= 3
        x = np.where(above, x - 1, x)
        factors *= np.where(above, x, 1)
    return np.log(factors) + _lgamma_from_two(x - 2)


def _lgamma_by_stirling(x: Array) -> Array:
    series = _polynomial(_STIRLING, 1 / (x * x)) / x
    with_infinity = np.where(np.isinf(x), 0, np.log(x) - 1)  # infinity less infinity would be NaN
    return np.where(np.isinf(x), x, (x - 0.5) * with_infinity + (_HALF_LOG_2_PI - 0.5 + series))


def _lgamma_below_zero(x: Array) -> Array:
    with np.errstate(invalid="ignore"):
        across = np.abs(x * np.sin(np.pi * (x - np.rint(x))))
    # Without a fraction, and beyond 2**52 there is none, x is a pole.
    return np.where(x == np.rint(x), np.inf, np.log(np.pi / across) - lgamma(-x))


def digamma(x: Array) -> Array:
    """The slope of lgamma at x."""
    regions = [x < 0, x > 0, x >= 1, x >= 2, x >= 10]
    parts = [
        _digamma_below_zero,
        lambda x: _digamma_from_one_to_two(x + 1) - 1 / x,
        _digamma_from_one_to_two,
        _digamma_up_to_ten,
        _digamma_by_series,
    ]
    return np.piecewise(x, regions, [*parts, np.nan])


def _digamma_from_one_to_two(x: Array) -> Array:
    return ((x - _ROOT) - _ROOT_REST) * _polynomial(_DIGAMMA, 2 * x - 3)


def _digamma_up_to_ten(x: Array) -> Array:
    total = np.zeros_like(x)
    for _ in range(8):
        above = x >= 2
        x = np.where(above, x - 1, x)
        total += np.where(above, 1 / x, 0)
    return total + _digamma_from_one_to_two(x)


def _digamma_by_series(x: Array) -> Array:
    squared = 1 / (x * x)
    return np.log(x) - 0.5 / x + squared * _polynomial(_DIGAMMA_SERIES, squared)


def _digamma_below_zero(x: Array) -> Array:
    fraction = x - np.rint(x)
    poles = (fraction == 0) | np.isinf(x)
    # 1 / tan from the nearer end, where tan has all its digits.
    far = np.copysign(np.tan(np.pi * (0.5 - np.abs(fraction))), fraction)
    cotangent = np.where(np.abs(fraction) > 0.25, far, 1 / np.tan(np.pi * fraction))
    return np.where(poles, np.nan, digamma(1 - x) - np.pi * cotangent)


# -- the zeta function -------------------------------------------------------------------------------------


def zeta(x: Array, q: Array) -> Array:
    """The sum of (q + k) to the power of -x over k = 0, 1, 2 ...

    Of negative numbers only whole powers are real. It has poles where q + k is 0: infinities on both
    sides of an even one, and of opposite sign, so NaN, at any other.
    """
    x, q = np.broadcast_arrays(x, q)
    even, whole = x % 2 == 0, x == np.rint(x)
    even |= np.isinf(x)
    total = np.where(
        q > 0, _zeta_above_zero(x, np.where(q > 0, q, 1)), _zeta_below_zero(x, q, even)
    )
    total = np.where((q < 0) & ~whole, np.nan, total)
    total = np.where((q <= 0) & (q == np.rint(q)), np.where(even, np.inf, np.nan), total)
    return np.where(x == 1, np.inf, np.where((x < 1) | (x != x) | (q != q), np.nan, total))


def _zeta_above_zero(x: Array, q: Array, terms: int = 12) -> Array:
    """The first terms, and the rest by the formula of Euler and Maclaurin."""
    total = np.zeros_like(q)
    for k in range(terms):
        total += (q + k) ** -x
    end = q + terms
    last = end**-x
    rest = last * (end / (x - 1) + 0.5)
    step = last * x / end
    for i, c in enumerate(_ZETA):
        rest += c * step
        step *= (x + 2 * i + 1) * (x + 2 * i + 2) / (end * end)
    # Where the last term is 0 so is the rest, whatever infinities it was made of.
    return total + np.where(last == 0, 0, rest)


def _zeta_below_zero(x: Array, q: Array, even: Array) -> Any:
    """The terms above 0, and those below 0 as the difference of two sums that go on for ever."""
    q = np.where(q < 0, q, -0.5)
    fraction = q - np.floor(q)
    fraction = np.where(fraction == 0, 0.5, fraction)
    sign = np.where(even, 1, -1)
    total = _zeta_above_zero(x, fraction) + sign * _zeta_above_zero(x, 1 - fraction)
    return total - sign * _zeta_above_zero(x, 1 - q)


def polygamma(n: Array, x: Array) -> Array:
    """The n-th slope of digamma at x, for whole n from 0."""
    n, x = np.broadcast_arrays(n, x)
    sign = np.where(n % 2 == 1, 1.0, -1.0)
    size = np.exp(lgamma(np.where(n >= 0, n, 0) + 1.0))
    slope = sign * np.where(n <= 20, np.rint(size), size) * zeta(np.where(n > 0, n, 1) + 1.0, x)
    whole = (n >= 0) & (n == np.rint(n))
    return np.where(whole, np.where(n == 0, digamma(x), slope), np.nan)
