"""The compiled convolutions: the meaning's answers for any geometry, written where they should be."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backblocks as bb
from backblocks import _native

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
UNTOUCHED = 99


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
    dtype, first, *, space, k, s=None, d=None, pads=None, batch=1, groups=1, ins=1, outs=1, seed=0
):
    """Convolves and sends back natively, between guards, and as the meaning does; gives the results."""
    dims = len(space)
    s, d, pads = s or (1,) * dims, d or (1,) * dims, pads or ((0, 0),) * dims
    out_space = tuple(map(outputs_of, space, k, s, d, pads))
    rng = np.random.default_rng(seed)
    shapes = {
        "x": ordered(batch, space, groups * ins, first),
        "f": (*k, ins, groups * outs),
        "y": ordered(batch, out_space, groups * outs, first),
    }
    x, f, dy = (rng.standard_normal(shape).astype(dtype) for shape in shapes.values())
    layout = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[dims][first]
    attrs = {
        "strides": ordered(1, s, 1, first),
        "dilations": ordered(1, d, 1, first),
        "padding": "EXPLICIT",
        "explicit_paddings": sum(ordered((0, 0), pads, (0, 0), first), ()),
        "data_format": layout,
    }
    flat = (1,) * (3 - dims)
    how = (
        np.dtype(dtype).name,
        (batch, *flat, *space, groups * ins),
        (batch, *flat, *out_space, groups * outs),
        (*flat, *k),
        (*flat, *s),
        (*flat, *d),
        (*(0 for _ in flat), *(before for before, _ in pads)),
        groups,
        first,
    )
    sizes = np.array(shapes["x"], np.int32)
    backprop = {2: "Conv2DBackpropInput", 3: "Conv3DBackpropInputV2"}[dims]
    results = []
    for name, kernel, arrays, inputs, shape in [
        (f"Conv{dims}D", _native.conv, (x, f), [x, f], shapes["y"]),
        (backprop, _native.conv_input_grad, (f, dy), [sizes, f, dy], shapes["x"]),
    ]:
        fast, guards = guarded(shape, dtype)
        kernel(*how)(*arrays, fast)
        assert all((guard == UNTOUCHED).all() for guard in guards), name
        op = bb.ops.REGISTRY[name]
        _, bound, _ = op.bind(inputs, attrs)
        (naive,) = op.run(inputs, bound, "meaning")
        # Sums differ by the order in which they run, and after rounding by one step of the type.
        eps = float(ml_dtypes.finfo(dtype).eps)
        large = float(np.abs(naive.astype(float)).max(initial=1))
        np.testing.assert_allclose(
            fast.astype(float), naive.astype(float), rtol=eps, atol=30 * large * min(eps, 1e-5)
        )
        results.append(fast)
    return results


PROBLEMS = {
    "an image": {"space": (9, 11), "k": (3, 3), "pads": ((1, 1), (1, 1)), "batch": 2},
    "steps": {"space": (9, 11), "k": (3, 2), "s": (2, 3), "pads": ((0, 1), (1, 0))},
    "windows side by side": {"space": (4, 6, 8), "k": (2, 3, 2), "s": (2, 3, 2), "batch": 2},
    "cells after the last window": {"space": (4, 5), "k": (2, 2), "s": (2, 2)},
    "steps wider than the filter": {"space": (7, 8, 9), "k": (1, 2, 1), "s": (2, 3, 2)},
    "taps apart": {"space": (9, 12), "k": (3, 2), "d": (2, 3), "s": (1, 2)},
    "a volume": {"space": (4, 5, 6), "k": (3, 2, 3), "pads": ((1, 1), (0, 1), (1, 1))},
    "only padding": {"space": (2, 2), "k": (2, 2), "pads": ((5, 4), (3, 6)), "s": (2, 1)},
    "a filter wider than the image": {"space": (2, 3), "k": (5, 7), "pads": ((2, 2), (4, 2))},
    "far apart": {"space": (200, 3), "k": (2, 1), "s": (90, 1), "d": (100, 1)},
    "rows longer than a box": {"space": (2, 1500), "k": (2, 3), "pads": ((0, 1), (1, 1))},
    "groups": {"space": (5, 6), "k": (3, 3), "groups": 3, "pads": ((1, 1), (1, 1))},
}
CHANNELS = [(1, 1), (3, 5), (2, 16), (16, 3), (9, 24), (17, 40)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("first", [False, True], ids=["channels last", "channels first"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_type_and_format_agrees_with_the_meaning(problem, first, dtype):
    for ins, outs in CHANNELS:
        compare(dtype, first, **PROBLEMS[problem], ins=ins, outs=outs)


@pytest.mark.parametrize("first", [False, True], ids=["channels last", "channels first"])
def test_more_channels_than_the_cache_holds(first):
    for ins, outs in [(1100, 40), (40, 1100)]:
        compare(
            np.float32, first, space=(3, 4), k=(3, 2), ins=ins, outs=outs, pads=((1, 1), (1, 0))
        )


def test_results_that_go_past_the_cache():
    rng = np.random.default_rng(0)
    shapes = [(1, 300, 250, 32), (2, 2, 32, 128), (1, 150, 125, 128)]
    x, f, y = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    sizes = np.array(x.shape, np.int32)
    for name, inputs in {"Conv2D": [x, f], "Conv2DBackpropInput": [sizes, f, y]}.items():
        op = bb.ops.REGISTRY[name]
        _, how, _ = op.bind(inputs, {"strides": [1, 2, 2, 1], "padding": "VALID"})
        (fast,), (naive,) = (op.run(inputs, how, kernel) for kernel in ("native", "meaning"))
        np.testing.assert_allclose(fast, naive, rtol=1e-4, atol=1e-4, err_msg=name)


def test_images_that_are_first_resized_or_mirrored():
    rng = np.random.default_rng(0)
    x, f = (rng.standard_normal(shape).astype(np.float32) for shape in [(2, 9, 8, 3), (3, 3, 3, 5)])
    size, paddings = (np.array(v, np.int32) for v in [(7, 12), [(0, 0), (1, 2), (2, 1), (0, 0)]])
    for name, inputs in {
        "FusedPadConv2D": [x, paddings, f],
        "FusedResizeAndPadConv2D": [x, size, paddings, f],
    }.items():
        op = bb.ops.REGISTRY[name]
        _, how, _ = op.bind(inputs, {"mode": "REFLECT", "strides": [1, 2, 1, 1], "padding": "SAME"})
        (fast,), (naive,) = (op.run(inputs, how, kernel) for kernel in ("native", "meaning"))
        np.testing.assert_allclose(fast, naive, rtol=1e-5, atol=1e-5, err_msg=name)


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


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("first", [False, True], ids=["channels last", "channels first"])
def test_any_number_of_threads_gives_the_same_bits(first, dtype):
    before, found = bb.get_num_threads(), set()
    same = {"pads": ((1, 1),) * 3, "batch": 2}
    try:
        for count in (1, 2, 3):
            bb.set_num_threads(count)
            few = compare(dtype, first, space=(4, 18, 17), k=(3, 3, 3), ins=3, outs=20, **same)
            many = compare(dtype, first, space=(2, 8, 9), k=(3, 3, 3), ins=200, outs=80, **same)
            found.add(tuple(result.tobytes() for result in [*few, *many]))
    finally:
        bb.set_num_threads(before)
    assert len(found) == 1


def test_neither_padding_nor_neighbours_meet_infinity():
    how = {"strides": [1] * 4, "padding": "SAME"}
    for channels in (1, 16):
        f = np.full((3, 3, 1, channels), np.inf, np.float32)
        x = np.ones((1, 4, 4, 1), np.float32)
        assert (bb.raw_ops.Conv2D(input=x, filter=f, **how) == np.inf).all()
        dy = np.zeros((1, 9, 9, channels), np.float32)
        dy[0, 4, 4] = np.inf
        dx = bb.raw_ops.Conv2DBackpropInput(
            input_sizes=[1, 9, 9, 1], filter=np.ones_like(f), out_backprop=dy, **how
        )
        assert (dx[0, 3:6, 3:6] == np.inf).all()
        assert np.count_nonzero(dx) == 9


# -- what would be unsafe -------------------------------------------------------------------------

SAFE = {
    "dtype": "float32", "cells": (1, 2, 2, 2, 2), "outputs": (1, 1, 1, 1, 4), "taps": (2, 2, 2),
    "strides": (1, 1, 1), "dilations": (1, 1, 1), "pads": (0, 0, 0), "groups": 2,
    "channels_first": False,
}  # fmt: skip


@pytest.mark.parametrize("kernel", ["conv", "conv_input_grad"])
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"outputs": (2, 1, 1, 1, 4)}, "images"),
        ({"groups": 0}, "groups"),
        ({"groups": 3}, "groups"),
        ({"outputs": (1, 1, 1, 1, 3)}, "groups"),
        ({"taps": (2, 0, 2)}, "tap on every axis"),
        ({"strides": (1, 0, 1)}, "strides"),
        ({"dilations": (1, 1, -1)}, "dilations"),
        ({"pads": (0, -1, 0)}, "pads"),
        ({"pads": (0, 2**61, 0)}, "too large"),
        ({"dilations": (2**61, 1, 1)}, "too large"),
        ({"outputs": (1, 2, 1, 1, 4), "strides": (2**61, 1, 1)}, "too large"),
        ({"cells": (1, 2**61, 1, 1, 2)}, "too large"),
        ({"cells": (1, -2, 2, 2, 2)}, "negative"),
        ({"taps": (2**40, 2**40, 1)}, "too large"),
    ],
)
def test_geometry_that_would_be_unsafe_is_refused(kernel, change, rule):
    with pytest.raises(ValueError, match=rule):
        getattr(_native, kernel)(**{**SAFE, **change})


def test_strides_and_dilations_without_effect_may_be_huge():
    how = {**SAFE, "taps": (1, 1, 1), "strides": (2**62,) * 3, "dilations": (2**62,) * 3}
    x, f = np.ones((1, 2, 2, 2, 2), np.float32), np.ones((1, 1, 1, 1, 4), np.float32)
    y, dx = np.zeros((1, 1, 1, 1, 4), np.float32), np.ones_like(x)
    _native.conv(**how)(x, f, y)
    assert (y == 1).all()
    _native.conv_input_grad(**how)(f, y, dx)
    assert dx.sum() == 4


@pytest.mark.parametrize("kernel", ["conv", "conv_input_grad"])
def test_sizes_of_arrays_that_nobody_has_take_no_time(kernel):
    for huge in (
        {"taps": (2**40, 2, 2)},
        {"outputs": (1, 2**40, 1, 1, 4)},
        {"cells": (1, 2**40, 2, 2, 2)},
    ):
        prepared = getattr(_native, kernel)(**{**SAFE, **huge})
        with pytest.raises(TypeError, match="prepared for"):
            prepared(*[np.ones(8, np.float32)] * 3)


def test_wrong_arrays_do_not_reach_a_kernel():
    x, f, y = (np.ones(shape, np.float32) for shape in [(1, 2, 2, 2, 2), (2, 2, 2, 1, 4), (4,)])
    conv = _native.conv(**SAFE)
    conv(x, f, y)
    for wrong in [x.astype(float), x[..., :1], np.moveaxis(x, 0, -1)[..., ::-1][:1], None]:
        with pytest.raises(TypeError):
            conv(wrong, f, y)
    with pytest.raises(ValueError, match="share no memory"):
        conv(x, f, x.reshape(-1)[:4])
