"""The compiled depthwise convolutions: the reference's answers, written where they should be."""

import ml_dtypes
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

NAME = "DepthwiseConv2dNative"


def compare(dtype, first, *, channels=1, multiplier=1, special=None, seed=0, **windows):
    """Convolves and sends back natively and as the reference does; gives the results."""
    slide = Slide(**windows, first=first, groups=channels, outs=multiplier)
    rng = np.random.default_rng(seed)
    shapes = slide.input_shape, (*slide.k, channels, multiplier), slide.output_shape
    x, f, dy = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    if special is not None:
        for array in (x, f, dy):
            array.flat[rng.integers(array.size)] = special
    cells, filters = (np.array(array.shape, np.int32) for array in (x, f))
    how = slide.geometry(dtype)
    return [
        compared(NAME + back, slide.attrs, inputs, kernel(**how), arrays, shape, rounding=100)
        for back, kernel, arrays, inputs, shape in [
            ("", _native.depthwise_conv, (x, f), [x, f], dy.shape),
            ("BackpropInput", _native.depthwise_conv_input_grad, (f, dy), [cells, f, dy], x.shape),
            ("BackpropFilter", _native.depthwise_conv_filter_grad, (x, dy), [x, filters, dy], f.shape),
        ]
    ]  # fmt: skip


PROBLEMS = {
    "three by three": {"space": (9, 11), "k": (3, 3), "pads": ((1, 1), (1, 1)), "batch": 2},
    "every other": {"space": (9, 12), "k": (3, 3), "s": (2, 2), "pads": ((0, 1), (1, 1))},
    "unequal steps": {"space": (9, 11), "k": (5, 2), "s": (2, 3), "pads": ((0, 1), (1, 0))},
    "steps wider than the filter": {"space": (7, 8), "k": (1, 2), "s": (2, 3)},
    "long rows by twos": {"space": (5, 31), "k": (2, 5), "s": (1, 2), "pads": ((0, 1), (2, 2))},
    "long rows of wide filters": {"space": (6, 30), "k": (2, 7), "pads": ((1, 0), (3, 3))},
    "taps apart": {"space": (9, 12), "k": (3, 2), "d": (2, 3), "s": (1, 2)},
    "only padding": {"space": (2, 2), "k": (2, 2), "pads": ((5, 4), (3, 6)), "s": (2, 1)},
    "a filter wider than the image": {"space": (2, 3), "k": (5, 7), "pads": ((2, 2), (4, 2))},
    "far apart": {"space": (200, 3), "k": (2, 1), "s": (90, 1), "d": (100, 1)},
    "more than a tile": {"space": (150, 80), "k": (3, 5), "pads": ((1, 1), (2, 2))},
    "rows longer than a tile": {"space": (2, 9000), "k": (2, 3), "pads": ((0, 1), (1, 1))},
}
CHANNELS = [(1, 1), (3, 1), (8, 1), (16, 1), (37, 1), (1, 5), (3, 8), (20, 2)]


@pytest.mark.parametrize("dtype", FLOATS)
@FORMATS
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_type_and_format_agrees_with_the_reference(problem, first, dtype):
    large = PROBLEMS[problem]["space"][1] > 50
    for channels, multiplier in CHANNELS[3:6:2] if large else CHANNELS:
        compare(dtype, first, **PROBLEMS[problem], channels=channels, multiplier=multiplier)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [70, 150, 520])
@pytest.mark.parametrize("width", [1, 2, 3, 9])
def test_few_places_of_many_channels(width, channels, dtype):
    compare(dtype, False, space=(3, width), k=(3, 3), pads=((1, 1), (1, 1)), channels=channels)


@pytest.mark.parametrize("weight", [1, 1.0078125, 0.0123, 300])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_every_half_is_widened_and_rounded_as_numpy_does(dtype, weight):
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype).reshape(1, 16, 32, 128)
    f = np.full((1, 1, 128, 1), weight, dtype)
    y = bb.raw_ops.DepthwiseConv2dNative(input=x, filter=f, strides=[1] * 4, padding="SAME")
    with np.errstate(all="ignore"):
        products = (x.astype(np.float32) * f[0, 0, 0].astype(np.float32)).astype(dtype)
    np.testing.assert_array_equal(y.astype(np.float32), products.astype(np.float32))


@FORMATS
@pytest.mark.usefixtures("no_cache")
def test_results_that_go_past_the_cache(first):
    rng = np.random.default_rng(0)
    shapes = [(1, 32, 60, 50) if first else (1, 60, 50, 32), (3, 3, 32, 1)]
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
        (fast,), (naive,) = (op.run(inputs, how, kernel) for kernel in ("native", "reference"))
        np.testing.assert_allclose(fast, naive, rtol=1e-4, atol=1e-4, err_msg=name)


@settings(max_examples=100)
@given(
    slides(dims=(2,), most_taps=5, room=9),
    st.fixed_dictionaries(
        {
            "channels": st.sampled_from([1, 2, 3, 5, 8, 11, 16, 35]),
            "multiplier": st.sampled_from([1, 1, 2, 3, 8]),
            "special": st.sampled_from([None, None, np.inf, -np.inf, np.nan, 0.0]),
            "seed": st.integers(0, 99),
        }
    ),
    st.sampled_from(FLOATS),
    st.booleans(),
)
def test_any_geometry_agrees_with_the_reference(problem, numbers, dtype, first):
    compare(dtype, first, **problem, **numbers)


@pytest.mark.parametrize("dtype", FLOATS)
@FORMATS
def test_any_number_of_threads_gives_the_same_bits(first, dtype):
    same = {"space": (40, 41), "k": (3, 3), "pads": ((1, 1),) * 2, "batch": 3}

    def results():
        more = compare(dtype, first, channels=20, multiplier=3, special=np.inf, **same)
        return more + compare(dtype, first, channels=65, **same)

    assert len(results_by_threads(results)) == 1


@FORMATS
def test_padding_never_meets_infinity(first):
    how = {
        "strides": [1] * 4,
        "padding": "SAME",
        "data_format": "NCHW" if first else "NHWC",
    }
    f = np.full((3, 3, 16, 1), np.inf, np.float32)
    x = np.ones((1, 16, 4, 4) if first else (1, 4, 4, 16), np.float32)
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

KERNELS = ["depthwise_conv", "depthwise_conv_input_grad", "depthwise_conv_filter_grad"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        *UNSAFE,
        ({"groups": 1}, "each input channel"),
        ({"dilations": {0: 2**16}}, "too far apart"),
        ({"dilations": {0: 300, 1: 300}}, "too far apart"),
    ],
)
def test_geometry_that_would_be_unsafe_is_refused(kernel, change, rule):
    with pytest.raises(ValueError, match=rule):
        getattr(_native, kernel)(**changed(SAFE, change))


def test_volumes_are_convolved_as_images_are():
    x, f = np.ones((1, 3, 4, 5, 9), np.float32), np.ones((3, 3, 3, 1, 9), np.float32)
    y, df = np.zeros_like(x), np.zeros_like(f)
    how = {
        **SAFE, "input_shape": x.shape, "output_shape": x.shape, "taps": (3, 3, 3), "pads": (1, 1, 1),
        "groups": 9,
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
