"""The compiled convolutions: the reference's answers for any geometry, written where they should be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slides import (
    FLOATS,
    FORMATS,
    SAFE,
    UNSAFE,
    Slide,
    changed,
    compared,
    results_by_threads,
    slides,
)

import backblocks as bb
from backblocks import _native


def compare(dtype, first, seed=0, **windows):
    """Convolves and sends back natively and as the reference does; gives the results."""
    slide = Slide(**windows, first=first)
    rng = np.random.default_rng(seed)
    shapes = slide.input_shape, slide.filter, slide.output_shape
    return compare_arrays(slide, *(rng.standard_normal(shape).astype(dtype) for shape in shapes))


def compare_arrays(slide, x, f, dy):
    sizes, how = np.array(x.shape, np.int32), slide.geometry(x.dtype)
    name = {2: "Conv2D", 3: "Conv3D"}[len(slide.k)]
    back = {2: "Conv2DBackpropInput", 3: "Conv3DBackpropInputV2"}[len(slide.k)]
    grad = _native.conv_input_grad(**how)
    return [
        compared(name, slide.attrs, [x, f], _native.conv(**how), (x, f), dy.shape),
        compared(back, slide.attrs, [sizes, f, dy], grad, (f, dy), x.shape),
    ]


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
    "groups of a single cell": {"space": (1, 1), "k": (1, 1), "groups": 3},
}
CHANNELS = [(1, 1), (1, 4), (1, 7), (3, 5), (2, 16), (16, 3), (9, 24), (17, 40), (30, 57)]


@pytest.mark.parametrize("dtype", FLOATS)
@FORMATS
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_type_and_format_agrees_with_the_reference(problem, first, dtype):
    for ins, outs in CHANNELS:
        compare(dtype, first, **PROBLEMS[problem], ins=ins, outs=outs)


@FORMATS
def test_more_channels_than_the_cache_holds(first):
    for ins, outs in [(1100, 40), (40, 1100)]:
        compare(
            np.float32, first, space=(3, 4), k=(3, 2), ins=ins, outs=outs, pads=((1, 1), (1, 0))
        )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("space", [(12, 15), (19, 20), (27, 16)])
def test_small_groups_are_copied_some_at_a_time(space, dtype):
    """More than fit in the cache at once, in boxes of two images, of whole images and of less."""
    slide = {"space": space, "k": (3, 3), "pads": ((1, 1), (1, 1)), "batch": 2}
    groups = {"ins": 7, "outs": 9, "groups": 43}
    assert len(results_by_threads(lambda: compare(dtype, False, **slide, **groups))) == 1


@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("images", [1, 3])
def test_results_that_go_past_the_cache(images):
    rng = np.random.default_rng(0)
    shapes = [(images, 60, 50, 32), (2, 2, 32, 144), (images, 30, 25, 144)]
    x, f, y = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    sizes = np.array(x.shape, np.int32)
    for name, inputs in {"Conv2D": [x, f], "Conv2DBackpropInput": [sizes, f, y]}.items():
        op = bb.ops.REGISTRY[name]
        _, how, _ = op.bind(inputs, {"strides": [1, 2, 2, 1], "padding": "VALID"})
        (fast,), (naive,) = (op.run(inputs, how, kernel) for kernel in ("native", "reference"))
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
        (fast,), (naive,) = (op.run(inputs, how, kernel) for kernel in ("native", "reference"))
        np.testing.assert_allclose(fast, naive, rtol=1e-5, atol=1e-5, err_msg=name)


CHANNEL_COUNTS = st.sampled_from([1, 2, 3, 5, 8, 11, 16, 19])


@settings(max_examples=60)
@given(
    slides(),
    st.sampled_from([1, 1, 2, 3]),
    CHANNEL_COUNTS,
    CHANNEL_COUNTS,
    st.sampled_from(FLOATS),
    st.booleans(),
    st.integers(0, 99),
)
def test_any_geometry_agrees_with_the_reference(problem, groups, ins, outs, dtype, first, seed):
    compare(dtype, first, **problem, groups=groups, ins=ins, outs=outs, seed=seed)


@pytest.mark.parametrize("space", [(32, 32), (8, 16, 16)])
def test_winograd_sums_are_closer_than_plain_ones(space):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, *space, 64)).astype(np.float32)
    f = rng.standard_normal((*(3 for _ in space), 64, 64)).astype(np.float32)

    def convolved(x, f):
        conv = {2: bb.raw_ops.Conv2D, 3: bb.raw_ops.Conv3D}[len(space)]
        return conv(input=x, filter=f, strides=[1] * x.ndim, padding="SAME")[0]

    true = convolved(x.astype(float), f.astype(float))
    fewer = np.abs(convolved(x, f) - true).max()
    x[1] = np.nan  # beside which all sums are plain
    plain = np.abs(convolved(x, f) - true).max()
    assert 0 < fewer < plain < 1e-3


@FORMATS
@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize("where", ["cells", "filter"])
def test_winograd_sums_keep_what_is_not_finite_where_it_is(where, odd, first):
    slide = Slide(space=(17, 18), k=(3, 3), pads=((1, 1), (1, 1)), ins=32, outs=64, first=first)
    x, f = (np.ones(shape, np.float32) for shape in (slide.input_shape, slide.filter))
    spoiled = x if where == "cells" else f
    spoiled[spoiled.shape[0] // 2, 2, 2, 3] = odd
    compare_arrays(slide, x, f, x.repeat(2, 1 if first else 3))


@pytest.mark.parametrize("dtype", FLOATS)
@FORMATS
def test_any_number_of_threads_gives_the_same_bits(first, dtype):
    same = {"k": (3, 3, 3), "pads": ((1, 1),) * 3, "batch": 2}

    def results():
        few = compare(dtype, first, space=(4, 18, 17), ins=3, outs=20, **same)
        many = compare(dtype, first, space=(2, 8, 9), ins=200, outs=80, **same)
        return few + many + compare(dtype, first, space=(5, 18, 17), ins=40, outs=48, **same)

    assert len(results_by_threads(results)) == 1


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


@pytest.mark.parametrize("kernel", ["conv", "conv_input_grad"])
@pytest.mark.parametrize(
    ("change", "rule"), [*UNSAFE, ({"taps": {0: 2**40, 1: 2**40}}, "too large")]
)
def test_geometry_that_would_be_unsafe_is_refused(kernel, change, rule):
    with pytest.raises(ValueError, match=rule):
        getattr(_native, kernel)(**changed(SAFE, change))


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
        {"taps": {0: 2**40}},
        {"output_shape": {1: 2**40}},
        {"input_shape": {1: 2**40}},
    ):
        prepared = getattr(_native, kernel)(**changed(SAFE, huge))
        with pytest.raises(TypeError, match="prepared for"):
            prepared(*[np.ones(8, np.float32)] * 3)
