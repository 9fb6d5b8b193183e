"""Gradients of complex numbers: the slope of the real part, in the direction of the conjugate.

TensorFlow's convention: a gradient g of x says that a step v changes the sum by the real part of conj(g) v.
"""

import numpy as np
import pytest

import backblocks as bb
from backblocks.dtypes import BY_NAME
from backblocks.ops import REGISTRY
from backblocks.ops._op import zero_gradient
from backblocks.ops._values import each_value, flat

WIDE = BY_NAME["complex128"]
REAL = BY_NAME["float64"]
OPS = [
    op
    for op in REGISTRY.values()
    if op.gradient not in (None, zero_gradient)
    and op.name != "PreventGradient"  # whose gradient is an error
    and op.name != "Print"  # what it only writes has none
    and not op.fed
    and not any(pin.dtype == "resource" for pin in op.inputs)
    and any(WIDE in op._dtypes.get(pin.dtype, ()) for pin in op.inputs)
] + [REGISTRY["Complex"]]


def point(rng, x, dtype):
    """Numbers away from poles, cuts and each other."""
    real, imaginary = rng.uniform(0.3, 0.8, x.shape), rng.uniform(0.2, 0.6, x.shape)
    return real + 1j * imaginary if dtype == WIDE else real


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_gradient_is_the_slope(op):
    rng = np.random.default_rng(3)
    case = next(c for c in op.cases if any(np.size(x) for x in each_array(op, c)))
    given, attrs, _ = op.bind((), case.args)
    for attr in op.attrs.values():
        if attr.kind.name == "dtype":
            wide = next(n for n in ("complex128", "float64") if n in attr.kind.options)
            attrs[attr.name] = BY_NAME[wide]
    dtype = REAL if op.name == "Complex" else WIDE
    inputs = [
        each_value(lambda x: point(rng, x, dtype), [x])[0]
        if dtype in op._dtypes.get(pin.dtype, ())
        else x
        for pin, x in zip(op.inputs, op.arrays(given), strict=True)
    ]
    symbols = each_value(
        lambda x: bb.placeholder(x.shape, x.dtype) if x.dtype == dtype else bb.constant(x), inputs
    )
    results = op(*symbols, **attrs)
    ys = list(flat([tuple(results) if isinstance(results, list | tuple) else results]))
    xs = [s for s in flat(symbols) if s.value is None]
    at = {s: x for s, x in zip(flat(symbols), flat(inputs), strict=True) if s.value is None}
    weights = [weight(rng, y) for y in bb.evaluate(ys, at)]
    for x, dx in zip(xs, bb.gradients(ys, xs, [bb.constant(w) for w in weights]), strict=True):
        v = point(rng, at[x], dtype)

        def total(step, x=x, v=v):
            moved = bb.evaluate(ys, at | {x: at[x] + step * v})
            return sum(np.vdot(w, y).real for w, y in zip(weights, moved, strict=True))

        slope = (total(1e-6) - total(-1e-6)) / 2e-6
        (g,) = bb.evaluate([dx], at)
        np.testing.assert_allclose(np.vdot(g, v).real, slope, rtol=1e-6, atol=1e-6)


def each_array(op, case):
    return flat(op.arrays(op.bind((), case.args)[0]))


def weight(rng, y):
    w = rng.standard_normal(y.shape) + (1j * rng.standard_normal(y.shape) if y.dtype == WIDE else 0)
    return w.astype(y.dtype)
