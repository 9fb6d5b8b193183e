"""The compiled depthwise convolutions: the meaning's answers, written where they should be."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backblocks as bb
from backblocks import _native

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
UNTOUCHED = 99
NAME = "DepthwiseConv2dNative"


def guarded(shape, dtype):
    """An array to be overwritten, and the bytes around it that must stay as they are."""
    size, guard = int(np.prod(shape)), 64
    around = np.full(size + 2 * guard, UNTOUCHED, dtype)
    return around[guard : guard + size].reshape(shape), (around[:guard], around[guard + size :])


def ordered(batch, space, channels, first):
    return (batch, channels, *space) if first else (batch, *space, channels)


def outputs_of(n, k, s, d, pads):
    return (n + sum(pads) - (k - 1) * d - 1) // s + 1


def compare(
    dtype, first, *, space, k, s=(1, 1), d=(1, 1), pads=((0, 0), (0, 0)), batch=1, channels=1,
    multiplier=1, special=None, seed=0
):  # fmt: skip
    """Convolves and sends back natively, between guards, and as the meaning does; gives the results."""
    rng = np.random.default_rng(seed)
    out_space, lanes = tuple(map(outputs_of, space, k, s, d, pads)), channels * multiplier
    shapes = {
        "x": ordered(batch, space, channels, first),
        "f": (*k, channels, multiplier),
        "y": ordered(batch, out_space, lanes, first),
    }
    x, f, dy = (rng.standard_normal(shape).astype(dtype) for shape in shapes.values())
    if special is not None:
        for array in (x, f, dy):
            array.flat[rng.integers(array.size)] = special
    attrs = {
        "strides": ordered(1, s, 1, first),
        "dilations": ordered(1, d, 1, first),
        "padding": "EXPLICIT",
        "explicit_paddings": sum(ordered((0, 0), pads, (0, 0), first), ()),
        "data_format": "NCHW" if first else "NHWC",
    }
    how = (
        np.dtype(dtype).name, (batch, 1, *space, channels), (batch, 1, *out_space, lanes), (1, *k),
        (1, *s), (1, *d), (0, *(before for before, _ in pads)), channels, first,
    )  # fmt: skip
    cells, filters = np.array(shapes["x"], np.int32), np.array(shapes["f"], np.int32)
    results = []
    for name, kernel, arrays, inputs, shape in [
        (NAME, _native.depthwise_conv, (x, f), [x, f], "y"),
        (NAME + "BackpropInput", _native.depthwise_conv_input_grad, (f, dy), [cells, f, dy], "x"),
        (NAME + "BackpropFilter", _native.depthwise_conv_filter_grad, (x, dy), [x, filters, dy], "f"),
    ]:  # fmt: skip
        fast, guards = guarded(shapes[shape], dtype)
        kernel(*how)(*arrays, fast)
        assert all((guard == UNTOUCHED).all() for guard in guards), name
        op = bb.ops.REGISTRY[name]
        _, bound, _ = op.bind(inputs, attrs)
        (naive,) = op.run(inputs, bound, "meaning")
        # Sums differ by the order in which they run, and after rounding by one step of the type.
        eps = float(ml_dtypes.finfo(dtype).eps)
        naive = naive.astype(float)
        large = np.abs(naive[np.isfinite(naive)]).max(initial=1)
        np.testing.assert_allclose(
            fast.astype(float), naive, rtol=eps, atol=100 * large * min(eps, 1e-5), err_msg=name
        )
        results.append(fast)
    return results


PROBLEMS = {
    "three by three": {"space": (9, 11), "k": (3, 3), "pads": ((1, 1), (1, 1)), "batch": 2},
    "every other": {"space": (9, 12), "k": (3, 3), "s": (2, 2), "pads": ((0, 1), (1, 1))},
    "unequal steps": {"space": (9, 11), "k": (5, 2), "s": (2, 3), "pads": ((0, 1), (1, 0))},
    "steps wider than the filter": {"space": (7, 8), "k": (1, 2), "s": (2, 3)},
    "taps apart": {"space": (9, 12), "k": (3, 2), "d": (2, 3), "s": (1, 2)},
    "only padding": {"space": (2, 2), "k": (2, 2), "pads": ((5, 4), (3, 6)), "s": (2, 1)},
    "a filter wider than the image": {"space": (2, 3), "k": (5, 7), "pads": ((2, 2), (4, 2))},
    "far apart": {"space": (200, 3), "k": (2, 1), "s": (90, 1), "d": (100, 1)},
    "more than a tile": {"space": (150, 80), "k": (3, 5), "pads": ((1, 1), (2, 2))},
    "rows longer than a tile": {"space": (2, 9000), "k": (2, 3), "pads": ((0, 1), (1, 1))},
}
CHANNELS = [(1, 1), (3, 1), (8, 1), (16, 1), (37, 1), (1, 5), (3, 8), (20, 2)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("first", [False, True], ids=["channels last", "channels first"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_type_and_format_agrees_with_the_meaning(problem, first, dtype):
    large = PROBLEMS[problem]["space"][1] > 50
    for channels, multiplier in CHANNELS[3:6:2] if large else CHANNELS:
        compare(dtype, first, **PROBLEMS[problem], channels=channels, multiplier=multiplier)


@pytest.mark.parametrize("first", [False, True], ids=["channels last", "channels first"])
def test_results_that_go_past_the_cache(first):
    rng = np.random.default_rng(0)
    shapes = [ordered(1, (300, 250), 32, first), (3, 3, 32, 1)]
    x, f = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    sizes = np.array(x.shape, np.int32)
    layout = "NCHW" if first else "NHWC"
    for name, inputs in {
        "DepthwiseConv2dNative": [x, f],
        "DepthwiseConv2dNativeBackpropInput": [sizes, f, x],
    }.items():
        op = bb.ops.REGISTRY[name]
        windows = {"strides": [1] * 4, "padding": "SAME", "data_format": layout}
        _, how, _ = op.bind(inputs, windows)
        (fast,), (naive,) = (op.run(inputs, how, kernel) for kernel in ("native", "meaning"))
        np.testing.assert_allclose(fast, naive, rtol=1e-4, atol=1e-4, err_msg=name)


@st.composite
def problems(draw):
    def each(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(2))

    k, d, s = each(1, 5), each(1, 3), each(1, 4)
    pads = tuple((draw(st.integers(0, 4)), draw(st.integers(0, 4))) for _ in range(2))
    reach = [(ki - 1) * di + 1 - sum(p) for ki, di, p in zip(k, d, pads, strict=True)]
    space = tuple(max(1, r + draw(st.integers(0, 9))) for r in reach)
    return {
        "space": space, "k": k, "s": s, "d": d, "pads": pads, "batch": draw(st.integers(1, 3)),
        "channels": draw(st.sampled_from([1, 2, 3, 5, 8, 11, 16, 35])),
        "multiplier": draw(st.sampled_from([1, 1, 2, 3, 8])), "seed": draw(st.integers(0, 99)),
        "special": draw(st.sampled_from([None, None, np.inf, -np.inf, np.nan, 0.0])),
    }  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(problems(), st.sampled_from(FLOATS), st.booleans())
def test_any_geometry_agrees_with_the_meaning(problem, dtype, first):
    compare(dtype, first, **problem)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("first", [False, True], ids=["channels last", "channels first"])
def test_any_number_of_threads_gives_the_same_bits(first, dtype):
    before, found = bb.get_num_threads(), set()
    same = {"space": (40, 41), "k": (3, 3), "pads": ((1, 1),) * 2, "batch": 3}
    try:
        for count in (1, 2, 3):
            bb.set_num_threads(count)
            one = compare(dtype, first, channels=65, **same)
            more = compare(dtype, first, channels=20, multiplier=3, special=np.inf, **same)
            found.add(tuple(result.tobytes() for result in [*one, *more]))
    finally:
        bb.set_num_threads(before)
    assert len(found) == 1


@pytest.mark.parametrize("first", [False, True], ids=["channels last", "channels first"])
def test_padding_never_meets_infinity(first):
    how = {
        "strides": [1] * 4,
        "padding": "SAME",
        "data_format": "NCHW" if first else "NHWC",
    }
    f = np.full((3, 3, 16, 1), np.inf, np.float32)
    x = np.ones(ordered(1, (4, 4), 16, first), np.float32)
    assert (bb.raw_ops.DepthwiseConv2dNative(input=x, filter=f, **how) == np.inf).all()
    dx = bb.raw_ops.DepthwiseConv2dNativeBackpropInput(
        input_sizes=x.shape, filter=f, out_backprop=x, **how
    )
    assert (dx == np.inf).all()
    df = bb.raw_ops.DepthwiseConv2dNativeBackpropFilter(
        input=x, filter_sizes=f.shape, out_backprop=x * np.inf, **how
    )
    assert (df == np.inf).all()


def test_taps_too_far_apart_are_left_to_the_meaning():
    x = np.random.default_rng(0).standard_normal((1, 400, 301, 1))
    f = np.ones((2, 2, 1, 1))
    how = {"strides": [1] * 4, "padding": "SAME", "dilations": [1, 300, 300, 1]}
    y = bb.raw_ops.DepthwiseConv2dNative(input=x, filter=f, **how)
    np.testing.assert_allclose(y[0, 150, 150], x[0, ::300, ::300].sum((0, 1)))


# -- what would be unsafe -------------------------------------------------------------------------

SAFE = {
    "dtype": "float32", "cells": (1, 2, 2, 2, 2), "outputs": (1, 1, 1, 1, 4), "taps": (2, 2, 2),
    "strides": (1, 1, 1), "dilations": (1, 1, 1), "pads": (0, 0, 0), "groups": 2,
    "channels_first": False,
}  # fmt: skip
KERNELS = ["depthwise_conv", "depthwise_conv_input_grad", "depthwise_conv_filter_grad"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"outputs": (2, 1, 1, 1, 4)}, "images"),
        ({"groups": 1}, "each input channel"),
        ({"outputs": (1, 1, 1, 1, 3)}, "groups"),
        ({"taps": (2, 0, 2)}, "tap on every axis"),
        ({"strides": (1, 0, 1)}, "strides"),
        ({"dilations": (1, 1, -1)}, "dilations"),
        ({"pads": (0, -1, 0)}, "pads"),
        ({"pads": (0, 2**61, 0)}, "too large"),
        ({"dilations": (2**61, 1, 1)}, "too large"),
        ({"dilations": (2**16, 1, 1)}, "too far apart"),
        ({"dilations": (300, 300, 1)}, "too far apart"),
        ({"outputs": (1, 2, 1, 1, 4), "strides": (2**61, 1, 1)}, "too large"),
        ({"cells": (1, 2**61, 1, 1, 2)}, "too large"),
        ({"cells": (1, -2, 2, 2, 2)}, "negative"),
    ],
)
def test_geometry_that_would_be_unsafe_is_refused(kernel, change, rule):
    with pytest.raises(ValueError, match=rule):
        getattr(_native, kernel)(**{**SAFE, **change})


def test_volumes_are_convolved_as_images_are():
    x, f = np.ones((1, 3, 4, 5, 9), np.float32), np.ones((3, 3, 3, 1, 9), np.float32)
    y, df = np.zeros_like(x), np.zeros_like(f)
    how = {
        **SAFE, "cells": x.shape, "outputs": x.shape, "taps": (3, 3, 3), "pads": (1, 1, 1), "groups": 9
    }  # fmt: skip
    for kernel, arrays in [
        (_native.depthwise_conv, (x, f)),
        (_native.depthwise_conv_input_grad, (f, x)),
    ]:
        kernel(**how)(*arrays, y)
        assert y[0, 1, 1, 1, 0] == 27
        assert y[0, 0, 0, 0, 8] == 8
    _native.depthwise_conv_filter_grad(**how)(x, x, df)
    assert df[1, 1, 1, 0, 0] == 60
    assert df[0, 0, 0, 0, 8] == 24
