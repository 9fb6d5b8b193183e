"""The compiled filter gradient: the reference's answers for any geometry, written where they should be."""

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
    assert_untouched,
    changed,
    compared,
    guarded,
    results_by_threads,
    slides,
)

import backblocks as bb
from backblocks import _native


def compare(dtype, first, seed=0, spoil=None, **windows):
    """The gradient, computed natively and as the reference does; gives the former.

    Where `spoil` says so, numbers of x and dy are infinite or NaN.
    """
    slide = Slide(**windows, first=first)
    rng = np.random.default_rng(seed)
    x, dy = (rng.standard_normal(n).astype(dtype) for n in (slide.input_shape, slide.output_shape))
    if spoil:
        for array in (x, dy):
            array[rng.random(array.shape) < spoil] = rng.choice([np.inf, -np.inf, np.nan])
    return compare_arrays(slide, x, dy)


def compare_arrays(slide, x, dy):
    name = {2: "Conv2DBackpropFilter", 3: "Conv3DBackpropFilterV2"}[len(slide.k)]
    inputs = [x, np.array(slide.filter, np.int32), dy]
    prepared = _native.conv_filter_grad(**slide.geometry(x.dtype))
    return compared(name, slide.attrs, inputs, prepared, (x, dy), slide.filter)


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
CHANNELS = [(1, 1), (3, 5), (2, 16), (16, 3), (9, 24), (17, 40), (70, 8), (12, 32)]


@pytest.mark.parametrize("dtype", FLOATS)
@FORMATS
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_type_and_format_agrees_with_the_reference(problem, first, dtype):
    for ins, outs in CHANNELS:
        compare(dtype, first, **PROBLEMS[problem], ins=ins, outs=outs)


CHANNEL_COUNTS = st.sampled_from([1, 2, 3, 5, 8, 11, 16, 19])
CHANNELS_OF_ANY = st.fixed_dictionaries(
    {"groups": st.sampled_from([1, 1, 2, 3]), "ins": CHANNEL_COUNTS, "outs": CHANNEL_COUNTS}
)


@settings(max_examples=60)
@given(slides(), CHANNELS_OF_ANY, st.sampled_from(FLOATS), st.booleans(), st.integers(0, 99))
def test_any_geometry_agrees_with_the_reference(problem, channels, dtype, first, seed):
    compare(dtype, first, **problem, **channels, seed=seed)


@settings(max_examples=30)
@given(
    slides(),
    CHANNELS_OF_ANY,
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
    st.integers(0, 99),
)
def test_padding_does_not_meet_infinities(problem, channels, dtype, first, seed):
    compare(dtype, first, **problem, **channels, seed=seed, spoil=0.01)


@settings(max_examples=60)
@given(
    slides(),
    st.integers(1, 3),
    st.sampled_from([8, 16, 24, 40, 64]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([None, 0.01]),
    st.integers(0, 99),
)
def test_few_channels_agree_with_the_reference(problem, ins, outs, dtype, spoil, seed):
    compare(dtype, False, **problem, ins=ins, outs=outs, spoil=spoil, seed=seed)


@pytest.mark.parametrize("space", [(48, 48), (12, 20, 20)])
def test_winograd_sums_are_about_as_close_as_plain_ones(space):
    rng = np.random.default_rng(0)
    x, dy = (rng.standard_normal((2, *space, 64)).astype(np.float32) for _ in range(2))
    name = {2: "Conv2DBackpropFilter", 3: "Conv3DBackpropFilterV2"}[len(space)]

    def gradient(x, dy):
        call = getattr(bb.raw_ops, name)
        sizes = [*(3 for _ in space), x.shape[-1], 64]
        return call(input=x, filter_sizes=sizes, out_backprop=dy, strides=[1] * x.ndim,
                    padding="SAME")  # fmt: skip

    def error(dw):
        return np.sqrt(np.mean(np.square(dw - true)))

    true = gradient(x.astype(float), dy.astype(float))
    fewer = error(gradient(x, dy))
    spoiled = np.append(x, np.full_like(x[..., :1], np.nan), -1)  # beside which all sums are plain
    plain = error(gradient(spoiled, dy)[..., :64, :])
    assert 0 < plain != fewer < 2 * plain < 1e-3


@FORMATS
@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize("where", ["cells", "outputs"])
def test_winograd_sums_keep_what_is_not_finite_where_it_is(where, odd, first):
    slide = Slide(space=(21, 22), k=(3, 3), pads=((1, 1), (1, 1)), ins=48, outs=64, first=first)
    x, dy = (np.ones(shape, np.float32) for shape in (slide.input_shape, slide.output_shape))
    (x if where == "cells" else dy)[0, 2, 2, 3] = odd
    compare_arrays(slide, x, dy)


LARGE = [  # enough work for several tasks, cut in different ways
    {"space": (70, 41), "k": (3, 5), "pads": ((1, 1), (2, 2)), "ins": 2, "outs": 16},
    {"space": (4, 18, 37), "k": (3, 3, 3), "pads": ((1, 1),) * 3, "ins": 3, "outs": 20, "batch": 2},
    {"space": (12, 40), "k": (3, 3), "pads": SAME, "ins": 100, "outs": 70},
    {"space": (7, 7), "k": (3, 3), "pads": SAME, "ins": 300, "outs": 70},
    {"space": (60, 70), "k": (3, 3), "pads": SAME, "ins": 64, "outs": 70},
    {"space": (10, 20, 21), "k": (3, 3, 3), "pads": ((1, 1),) * 3, "ins": 40, "outs": 70},
    {"space": (30, 70), "k": (1, 1), "ins": 80, "outs": 100},
    {"space": (18, 22), "k": (3, 3), "pads": SAME, "batch": 2, "ins": 140, "outs": 150},
    {"space": (7, 9, 10), "k": (3, 3, 3), "pads": ((1, 1),) * 3, "ins": 70, "outs": 161},
]


@pytest.mark.long
@pytest.mark.parametrize("dtype", FLOATS)
@FORMATS
def test_any_number_of_threads_gives_the_same_bits(first, dtype):
    assert len(results_by_threads(lambda: [compare(dtype, first, **p) for p in LARGE])) == 1


def test_long_sums_keep_their_digits():
    dw = bb.raw_ops.Conv2DBackpropFilter(
        input=np.full((1, 1000, 1000, 1), 0.1, np.float32),
        filter_sizes=[1, 1, 1, 1],
        out_backprop=np.ones((1, 1000, 1000, 1), np.float32),
        strides=[1] * 4,
        padding="VALID",
    )
    np.testing.assert_allclose(dw, 1e5, rtol=1e-5)


@pytest.mark.parametrize(("space", "k", "ins"), [((3, 40000), (3, 1), 1), ((3, 14000), (3, 3), 2)])
def test_long_rows_of_few_channels_keep_their_digits(space, k, ins):
    compare(np.float32, False, space=space, k=k, ins=ins, outs=16)


# -- what would be unsafe -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "rule"), [*UNSAFE, ({"taps": {0: 2**40, 1: 2**40}}, "too large")]
)
def test_geometry_that_would_be_unsafe_is_refused(change, rule):
    with pytest.raises(ValueError, match=rule):
        _native.conv_filter_grad(**changed(SAFE, change))


FAR = 2**59
HUGE = {  # every number that may be huge, and the sum that comes out for each co
    "padding": ({"pads": (FAR, FAR, FAR)}, 0),
    "strides": ({"output_shape": (1, 1, 1, 2, 4), "taps": (1, 1, 1), "strides": (1, 1, FAR)}, 1),
    "dilations": ({"dilations": (FAR, FAR, FAR)}, 1),
    "strides without effect": ({"strides": (2**62,) * 3, "taps": (1, 1, 1)}, 1),
}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@FORMATS
@pytest.mark.parametrize("what", HUGE)
def test_what_may_be_huge_does_no_harm(what, first, dtype):
    change, total = HUGE[what]
    how = {**SAFE, "dtype": dtype, "channels_first": first, **change}
    x, dy = np.ones((1, 2, 2, 2, 2), dtype), np.ones(how["output_shape"], dtype)
    dw, guards = guarded((*how["taps"], 1, 4), dtype)
    _native.conv_filter_grad(**how)(x, dy, dw)
    assert (dw.sum(axis=(0, 1, 2, 3)) == total).all()
    assert_untouched(guards)
