"""The compiled dilation: the reference's answers and winners, written where they should be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slides import FLOATS, SAFE, UNSAFE, Slide, changed, compared, results_by_threads, slides

import backblocks as bb
from backblocks import _native
from backblocks.ops._spec import Spec

NAME = "Dilation2D"
VALUES = {
    "no ties": None,
    "ties": [0, 1, 2],
    "nan": [np.nan, 1, 2],
    "inf": [-np.inf, np.inf, 0],
    "bottomless": [-np.inf],
    "what rounding makes equal": [1, 1 + 2**-7, 2**-8, 2**-11, 2**12],
}


def compare(dtype, *, channels=1, special="no ties", seed=0, **windows):
    """Dilates and sends back natively and as the reference does; gives the results."""
    slide = Slide(**windows, groups=channels)
    rng = np.random.default_rng(seed)
    shapes = slide.input_shape, (*slide.k, channels), slide.output_shape
    x, f = (rng.standard_normal(shape).astype(dtype) for shape in shapes[:2])
    dy = rng.integers(-9, 9, shapes[2]).astype(dtype)  # whose sums are exact in any order
    if VALUES[special]:
        x, f = (rng.choice(VALUES[special], v.shape).astype(dtype) for v in (x, f))
    attrs = slide.attrs
    attrs["rates"] = attrs.pop("dilations")
    attrs.pop("data_format")
    how = slide.geometry(dtype)
    (forward, to_input, to_filter), all_three = kernels(), (x, f, dy)
    return [
        compared(name, attrs, [*arrays], kernel(**how), arrays, shape, rounding=0)
        for name, kernel, arrays, shape in (
            (NAME, forward, (x, f), dy.shape),
            (f"{NAME}BackpropInput", to_input, all_three, x.shape),
            (f"{NAME}BackpropFilter", to_filter, all_three, f.shape),
        )
    ]


def kernels():
    return _native.dilation, _native.dilation_input_grad, _native.dilation_filter_grad


PROBLEMS = {
    "three by three": {"space": (9, 11), "k": (3, 3), "pads": ((1, 1), (1, 1)), "batch": 2},
    "one tap": {"space": (5, 6), "k": (1, 1), "batch": 2},
    "every other": {"space": (9, 12), "k": (3, 3), "s": (2, 2), "pads": ((0, 1), (1, 1))},
    "steps wider than the filter": {"space": (7, 8), "k": (1, 2), "s": (2, 3)},
    "taps apart": {"space": (9, 12), "k": (3, 2), "d": (2, 3), "s": (1, 2)},
    "only padding": {"space": (2, 2), "k": (2, 2), "pads": ((5, 4), (3, 6)), "s": (2, 1)},
    "nothing real": {"space": (1, 1), "k": (2, 2), "d": (2, 2), "pads": ((1, 1), (1, 1))},
    "a filter wider than the image": {"space": (2, 3), "k": (5, 7), "pads": ((2, 2), (4, 2))},
    "far apart": {"space": (200, 3), "k": (2, 1), "s": (90, 1), "d": (100, 1)},
    "more than a tile": {"space": (90, 70), "k": (3, 4), "pads": ((1, 1), (2, 1))},
    "a wide window": {"space": (70, 90), "k": (9, 3), "d": (4, 20), "pads": ((16, 16), (20, 20))},
    "rows longer than a tile": {"space": (2, 9000), "k": (2, 3), "pads": ((0, 1), (1, 1))},
    "columns longer than a tile": {"space": (9000, 2), "k": (3, 2), "pads": ((1, 1), (0, 1))},
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_type_agrees_with_the_reference(problem, dtype):
    large = max(PROBLEMS[problem]["space"]) > 50
    for channels in [3, 17] if large else [1, 3, 8, 37, 600]:
        for special in ["no ties", "nan"] if large else VALUES:
            compare(dtype, **PROBLEMS[problem], channels=channels, special=special)


@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("dtype", FLOATS)
def test_results_that_go_past_the_cache(dtype):
    compare(dtype, **PROBLEMS["more than a tile"], channels=64)


@settings(max_examples=150)
@given(
    slides(dims=(2,), most_taps=5, room=9),
    st.sampled_from([1, 2, 3, 5, 8, 11, 35]),
    st.sampled_from(FLOATS),
    st.sampled_from(list(VALUES)),
    st.integers(0, 99),
)
def test_any_geometry_agrees_with_the_reference(problem, channels, dtype, special, seed):
    compare(dtype, **problem, channels=channels, special=special, seed=seed)


@pytest.mark.parametrize("dtype", FLOATS)
def test_any_number_of_threads_gives_the_same_bits(dtype):
    rng = np.random.default_rng(0)
    x, f = (rng.standard_normal(shape).astype(dtype) for shape in [(3, 70, 41, 65), (3, 3, 65)])
    how = {"strides": [1] * 4, "rates": [1, 2, 1, 1], "padding": "SAME"}
    calls = [(f"{NAME}{back}", [x, f, x]) for back in ("BackpropInput", "BackpropFilter")]
    calls.append((NAME, [x, f]))
    ops = bb.ops.REGISTRY
    assert len(results_by_threads(lambda: [ops[n](*inputs, **how) for n, inputs in calls])) == 1


def test_long_sums_keep_their_digits():
    x = np.ones((1, 1000, 1000, 1), np.float32)
    how = {"strides": [1] * 4, "rates": [1] * 4, "padding": "VALID"}
    df = bb.raw_ops.Dilation2DBackpropFilter(
        input=x, filter=np.zeros((1, 1, 1), np.float32), out_backprop=x / 10, **how
    )
    np.testing.assert_allclose(df, 1e5, rtol=1e-6)


def test_a_filter_of_many_taps():
    compare(np.float32, space=(160, 130), k=(90, 120), channels=2)


def test_more_channels_than_are_taken_together():
    compare(np.float32, space=(3, 4), k=(2, 2), pads=((1, 0), (0, 1)), channels=1500)


def test_the_ops_use_the_kernels_but_for_taps_too_far_apart():
    for dtype in FLOATS:
        x, f = np.ones((1, 400, 301, 1), dtype), np.ones((2, 2, 1), dtype)
        for rate, taken in [(1, True), (300, False)]:
            how = {"strides": [1] * 4, "padding": "SAME", "rates": [1, rate, rate, 1]}
            for name, inputs in (
                (NAME, [x, f]),
                (f"{NAME}BackpropInput", [x, f, x]),
                (f"{NAME}BackpropFilter", [x, f, x]),
            ):
                op = bb.ops.REGISTRY[name]
                _, attrs, _ = op.bind(inputs, how)
                (kernel,) = op.kernels
                assert bool(kernel.plan(*map(Spec.of, inputs), **attrs)) == taken, name
    y = bb.raw_ops.Dilation2D(input=x, filter=f, **how)
    assert y.max() == 2


# -- what would be unsafe -------------------------------------------------------------------------

IMAGES = {
    **SAFE,
    "input_shape": (1, 1, 2, 2, 2),
    "output_shape": (1, 1, 1, 1, 2),
    "taps": (1, 2, 2),
}


@pytest.mark.parametrize("kernel", kernels(), ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        *UNSAFE,
        ({"groups": 1}, "each input channel"),
        ({"output_shape": {4: 4}}, "one output"),
        ({"channels_first": True}, "last axis"),
        ({"input_shape": {1: 2}}, "no depth"),
        ({"taps": {0: 2}}, "no depth"),
        ({"pads": {0: 1}}, "no depth"),
        ({"dilations": {1: 2**16}}, "too far apart"),
        ({"dilations": {1: 300, 2: 300}}, "too far apart"),
    ],
)
def test_geometry_that_would_be_unsafe_is_refused(kernel, change, rule):
    kernel(**IMAGES)
    with pytest.raises(ValueError, match=rule):
        kernel(**changed(IMAGES, change))
