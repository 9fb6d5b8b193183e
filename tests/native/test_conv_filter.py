"""The compiled filter gradient: the meaning's answers for any geometry, written where they should be."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backblocks as bb
from backblocks import _native

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
FORMATS = pytest.mark.parametrize("first", [False, True], ids=["channels last", "channels first"])
UNTOUCHED = 99


def guarded(shape, dtype):
    """An array to be overwritten, and the bytes around it that must stay as they are."""
    size, guard = int(np.prod(shape)), 64
    around = np.full(size + 2 * guard, UNTOUCHED, dtype)
    return around[guard : guard + size].reshape(shape), (around[:guard], around[guard + size :])


def ordered(batch, space, channels, first):
    return (batch, channels, *space) if first else (batch, *space, channels)


def compare(
    dtype, first, *, space, k, s=None, d=None, pads=None, batch=1, groups=1, ins=1, outs=1, seed=0,
    spoil=None,
):  # fmt: skip
    """The gradient, computed natively between guards and as the meaning does; gives the former.

    Where `spoil` says so, numbers of x and dy are infinite or NaN.
    """
    dims = len(space)
    s, d, pads = s or (1,) * dims, d or (1,) * dims, pads or ((0, 0),) * dims
    out = tuple(
        (n + sum(p) - (ki - 1) * di - 1) // si + 1
        for n, ki, si, di, p in zip(space, k, s, d, pads, strict=True)
    )
    rng = np.random.default_rng(seed)
    x, dy = (
        rng.standard_normal(ordered(batch, n, groups * channels, first)).astype(dtype)
        for n, channels in [(space, ins), (out, outs)]
    )
    if spoil:
        for array in (x, dy):
            array[rng.random(array.shape) < spoil] = rng.choice([np.inf, -np.inf, np.nan])
    shape = (*k, ins, groups * outs)
    flat = (1,) * (3 - dims)
    prepared = _native.conv_filter_grad(
        np.dtype(dtype).name,
        (batch, *flat, *space, groups * ins),
        (batch, *flat, *out, groups * outs),
        (*flat, *k),
        (*flat, *s),
        (*flat, *d),
        (*(0 for _ in flat), *(before for before, _ in pads)),
        groups,
        first,
    )
    fast, guards = guarded(shape, dtype)
    prepared(x, dy, fast)
    assert all((guard == UNTOUCHED).all() for guard in guards)
    op = bb.ops.REGISTRY[{2: "Conv2DBackpropFilter", 3: "Conv3DBackpropFilterV2"}[dims]]
    inputs = [x, np.array(shape, np.int32), dy]
    attrs = {
        "strides": ordered(1, s, 1, first),
        "dilations": ordered(1, d, 1, first),
        "padding": "EXPLICIT",
        "explicit_paddings": sum(ordered((0, 0), pads, (0, 0), first), ()),
        "data_format": {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[dims][first],
    }
    _, bound, _ = op.bind(inputs, attrs)
    (naive,) = op.run(inputs, bound, "meaning")
    # Sums differ by the order in which they run, and after rounding by one step of the type.
    fast_, naive_ = fast.astype(float), naive.astype(float)
    eps = float(ml_dtypes.finfo(dtype).eps)
    large = float(np.abs(naive_[np.isfinite(naive_)]).max(initial=1))
    np.testing.assert_allclose(fast_, naive_, rtol=eps, atol=30 * large * min(eps, 1e-5))
    return fast


SAME = ((1, 1), (1, 1))
PROBLEMS = {
    "an image": {"space": (9, 11), "k": (3, 3), "pads": SAME, "batch": 2},
    "one tap": {"space": (9, 31), "k": (1, 1), "batch": 3},
    "one tap, steps": {"space": (9, 11), "k": (1, 1), "s": (2, 3)},
    "one tap, steps to the padding": {
        "space": (3, 3),
        "k": (1, 1),
        "s": (2, 2),
        "pads": ((0, 2),) * 2,
    },
    "windows apart": {"space": (8, 12), "k": (2, 2), "s": (2, 2)},
    "windows that overlap": {"space": (11, 13), "k": (3, 5), "s": (2, 2), "pads": ((0, 1), (2, 1))},
    "taps apart": {"space": (9, 12), "k": (3, 2), "d": (2, 3), "s": (1, 2)},
    "taps far apart": {"space": (5, 300), "k": (2, 2), "d": (1, 250)},
    "a volume": {"space": (4, 5, 6), "k": (3, 2, 3), "pads": ((1, 1), (0, 1), (1, 1))},
    "only padding": {"space": (2, 2), "k": (2, 2), "pads": ((5, 4), (3, 6)), "s": (2, 1)},
    "a filter wider than the image": {"space": (2, 3), "k": (5, 7), "pads": ((2, 2), (4, 2))},
    "rows in pieces": {"space": (2, 900), "k": (2, 3), "pads": ((0, 1), (1, 1))},
    "groups": {"space": (5, 6), "k": (3, 3), "groups": 3, "pads": SAME},
}
CHANNELS = [(1, 1), (3, 5), (2, 16), (16, 3), (9, 24), (17, 40), (70, 8)]


@pytest.mark.parametrize("dtype", FLOATS)
@FORMATS
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_type_and_format_agrees_with_the_meaning(problem, first, dtype):
    for ins, outs in CHANNELS:
        compare(dtype, first, **PROBLEMS[problem], ins=ins, outs=outs)


@st.composite
def problems(draw):
    dims = draw(st.sampled_from([2, 3]))

    def each(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(dims))

    k, d, s = each(1, 4), each(1, 3), each(1, 4)
    pads = tuple((draw(st.integers(0, 4)), draw(st.integers(0, 4))) for _ in range(dims))
    reach = [(ki - 1) * di + 1 - sum(p) for ki, di, p in zip(k, d, pads, strict=True)]
    space = tuple(max(1, r + draw(st.integers(0, 7))) for r in reach)
    channels = st.sampled_from([1, 2, 3, 5, 8, 11, 16, 19])
    return {
        "space": space, "k": k, "s": s, "d": d, "pads": pads,
        "batch": draw(st.integers(1, 3)), "groups": draw(st.sampled_from([1, 1, 2, 3])),
        "ins": draw(channels), "outs": draw(channels), "seed": draw(st.integers(0, 99)),
    }  # fmt: skip


@settings(max_examples=60)
@given(problems(), st.sampled_from(FLOATS), st.booleans())
def test_any_geometry_agrees_with_the_meaning(problem, dtype, first):
    compare(dtype, first, **problem)


@settings(max_examples=30)
@given(problems(), st.sampled_from([np.float32, np.float64]), st.booleans())
def test_padding_does_not_meet_infinities(problem, dtype, first):
    compare(dtype, first, **problem, spoil=0.01)


LARGE = [  # enough work for several tasks, cut in different ways
    {"space": (4, 18, 37), "k": (3, 3, 3), "pads": ((1, 1),) * 3, "ins": 3, "outs": 20, "batch": 2},
    {"space": (12, 40), "k": (3, 3), "pads": SAME, "ins": 100, "outs": 70},
    {"space": (7, 7), "k": (3, 3), "pads": SAME, "ins": 300, "outs": 70},
    {"space": (30, 70), "k": (1, 1), "ins": 80, "outs": 100},
]


@pytest.mark.parametrize("dtype", FLOATS)
@FORMATS
def test_any_number_of_threads_gives_the_same_bits(first, dtype):
    before, found = bb.get_num_threads(), set()
    try:
        for count in (1, 2, 3):
            bb.set_num_threads(count)
            found.add(tuple(compare(dtype, first, **problem).tobytes() for problem in LARGE))
    finally:
        bb.set_num_threads(before)
    assert len(found) == 1


def test_long_sums_keep_their_digits():
    dw = bb.raw_ops.Conv2DBackpropFilter(
        input=np.full((1, 1000, 1000, 1), 0.1, np.float32),
        filter_sizes=[1, 1, 1, 1],
        out_backprop=np.ones((1, 1000, 1000, 1), np.float32),
        strides=[1] * 4,
        padding="VALID",
    )
    np.testing.assert_allclose(dw, 1e5, rtol=1e-5)


# -- what would be unsafe -------------------------------------------------------------------------

SAFE = {
    "dtype": "float32", "cells": (1, 2, 2, 2, 2), "outputs": (1, 1, 1, 1, 4), "taps": (2, 2, 2),
    "strides": (1, 1, 1), "dilations": (1, 1, 1), "pads": (0, 0, 0), "groups": 2,
    "channels_first": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"outputs": (2, 1, 1, 1, 4)}, "images"),
        ({"groups": 3}, "groups"),
        ({"taps": (2, 0, 2)}, "tap on every axis"),
        ({"strides": (1, 0, 1)}, "strides"),
        ({"dilations": (1, 1, -1)}, "dilations"),
        ({"pads": (0, -1, 0)}, "pads"),
        ({"pads": (0, 2**61, 0)}, "too large"),
        ({"dilations": (2**61, 1, 1)}, "too large"),
        ({"outputs": (1, 2, 1, 1, 4), "strides": (2**61, 1, 1)}, "too large"),
        ({"taps": (2**40, 2**40, 1)}, "too large"),
    ],
)
def test_geometry_that_would_be_unsafe_is_refused(change, rule):
    with pytest.raises(ValueError, match=rule):
        _native.conv_filter_grad(**{**SAFE, **change})


FAR = 2**59
HUGE = {  # every number that may be huge, and the sum that comes out for each co
    "padding": ({"pads": (FAR, FAR, FAR)}, 0),
    "strides": ({"outputs": (1, 1, 1, 2, 4), "taps": (1, 1, 1), "strides": (1, 1, FAR)}, 1),
    "dilations": ({"dilations": (FAR, FAR, FAR)}, 1),
    "strides without effect": ({"strides": (2**62,) * 3, "taps": (1, 1, 1)}, 1),
}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@FORMATS
@pytest.mark.parametrize("what", HUGE)
def test_what_may_be_huge_does_no_harm(what, first, dtype):
    change, total = HUGE[what]
    how = {**SAFE, "dtype": dtype, "channels_first": first, **change}
    x, dy = np.ones((1, 2, 2, 2, 2), dtype), np.ones(how["outputs"], dtype)
    dw, guards = guarded((*how["taps"], 1, 4), dtype)
    _native.conv_filter_grad(**how)(x, dy, dw)
    assert (dw.sum(axis=(0, 1, 2, 3)) == total).all()
    assert all((guard == UNTOUCHED).all() for guard in guards)


def test_wrong_arrays_do_not_reach_a_kernel():
    x, dy, dw = (np.ones(shape, np.float32) for shape in [(1, 2, 2, 2, 2), (4,), (2, 2, 2, 1, 4)])
    grad = _native.conv_filter_grad(**SAFE)
    grad(x, dy, dw)
    for wrong in [x.astype(float), x[..., :1], None]:
        with pytest.raises(TypeError):
            grad(wrong, dy, dw)
    with pytest.raises(ValueError, match="share no memory"):
        grad(dw.reshape(-1)[:16], dy, dw)
