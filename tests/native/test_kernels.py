"""The compiled kernels by themselves: they write where they should, and refuse what would be unsafe."""

import ml_dtypes
import numpy as np
import pytest
from slides import FLOATS, UNTOUCHED, a_byte_off, assert_untouched, guarded

import backblocks as bb
from backblocks import _native

ONES = (1, 1, 1)
TWOS = (2, 2, 2)
NONE = (0, 0, 0)
HALVES = [np.float16, ml_dtypes.bfloat16]


def volume(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


PLACES = {  # of an array with a number for each cell, and of one with a number for each window
    "max_pool": (0, 1),
    "max_pool_grad": (0, 1),
    "max_pool_grad_grad": (0, 2),
    "avg_pool": (0, 1),
    "avg_pool_grad": (1, 0),
}


def run(name, *arrays, window, strides, pads=NONE):
    """Makes a kernel ready for these arrays, the result last, and calls it."""
    cells, windows = (arrays[place] for place in PLACES[name])
    prepare = getattr(_native, name)
    prepare(cells.dtype.name, cells.shape, windows.shape, window, strides, pads)(*arrays)


SHAPES = {  # cells, windows, window, strides, pads
    "overlapping": ((2, 5, 4, 3), (5, 4, 3), (3, 2, 3), ONES, (1, 0, 1)),
    "apart": ((1, 3, 4, 7), (2, 2, 3), (1, 2, 2), (2, 2, 3), NONE),
    "more than a tile": ((1, 1, 2, 2500), (1, 1, 1250), (1, 2, 3), (1, 2, 2), NONE),
}


def calls(cells, windows, channels, dtype):
    """Each kernel, the inputs it takes and the shape of what it gives."""
    x = np.random.default_rng(0).integers(0, 3, (*cells, channels)).astype(dtype)
    y = volume(cells[0], *windows, channels, dtype=dtype)
    return [
        ("max_pool", (x,), y.shape),
        ("max_pool_grad", (x, y), x.shape),
        ("max_pool_grad_grad", (x, x), y.shape),
        ("avg_pool", (x,), y.shape),
        ("avg_pool_grad", (y,), x.shape),
    ]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [1, 3, 8, 65])
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_is_written_beyond_the_result_and_all_of_it_is(shape, channels, dtype):
    cells, windows, window, strides, pads = SHAPES[shape]
    geometry = {"window": window, "strides": strides, "pads": pads}
    for name, inputs, result in calls(cells, windows, channels, dtype):
        out, guards = guarded(result, dtype)
        run(name, *inputs, out, **geometry)
        assert_untouched(guards, name)
        assert not (out == UNTOUCHED).any(), name


@pytest.mark.parametrize("channels", [1, 3, 8, 700])
@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize(("k", "s"), [(2, 2), (3, 2), (3, 1), (2, 3), (7, 3), (7, 1)])
def test_rows_of_many_tiles_agree_with_the_reference(channels, rows, k, s):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (1, 3, 5000 // channels + 11, channels)).astype(np.float32)
    attrs = {"ksize": (1, rows, k, 1), "strides": (1, 1, s, 1), "padding": "SAME"}
    y = bb.raw_ops.MaxPool(input=x, **attrs)
    dy = rng.integers(-9, 9, y.shape).astype(np.float32)
    for name, inputs in {
        "MaxPool": [x],
        "MaxPoolGrad": [x, y, dy],
        "MaxPoolGradGrad": [x, y, rng.standard_normal(x.shape).astype(np.float32)],
        "AvgPool": [x],
        "AvgPoolGrad": [np.array(x.shape, np.int32), dy],
    }.items():
        op = bb.ops.REGISTRY[name]
        _, how, _ = op.bind(inputs, attrs)
        (fast,), (naive,) = (op.run(inputs, how, kernel) for kernel in ("native", "reference"))
        np.testing.assert_allclose(fast, naive, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [1, 8, 700])
@pytest.mark.parametrize(("k", "s"), [(3, 1), (7, 1), (2, 3), (7, 3)])
def test_long_rows_agree_with_the_reference(channels, k, s, dtype):
    rng = np.random.default_rng(0)
    # Of so many numbers, only some columns are kept at a time. Most have equals, some are none.
    shape = (1, 3, 70_000 // channels, channels)
    x, v = rng.integers(0, 9, (2, *shape)).astype(dtype)
    x[rng.random(shape) < 1e-4] = np.nan
    attrs = {"ksize": (1, 3, k, 1), "strides": (1, 1, s, 1), "padding": "SAME"}
    y = bb.raw_ops.MaxPool(input=x, **attrs)
    for name, inputs in {"MaxPool": [x], "MaxPoolGradGrad": [x, y, v], "AvgPool": [v]}.items():
        op = bb.ops.REGISTRY[name]
        _, how, _ = op.bind(inputs, attrs)
        (fast,), (naive,) = (op.run(inputs, how, kernel) for kernel in ("native", "reference"))
        fast, naive = fast.astype(np.float64), naive.astype(np.float64)  # where NaN equals NaN
        np.testing.assert_array_equal(fast, naive, err_msg=name)


def random_cells(rng, shape, dtype):
    """Cells of which most have equals, some are infinite and some are not numbers."""
    x = rng.integers(0, 9, shape).astype(dtype)
    x[rng.random(shape) < 0.2] = -np.inf
    x[rng.random(shape) < 0.02] = np.nan
    return x


def assert_meanings(x, rounded=(), **attrs):
    """Compares all pools over volumes with their references, bit for bit but for NaN and zeros.

    Sums of the `rounded` ones may be made in another order.
    """
    half = x.dtype.itemsize == 2
    wide = np.finfo(np.float32 if half else x.dtype)
    rng = np.random.default_rng(0)
    y = bb.raw_ops.MaxPool3D(input=x, **attrs)
    v = rng.integers(0, 9, x.shape).astype(x.dtype)
    dy = rng.choice(np.array([-0.0, 1, 2, -3], x.dtype), y.shape)
    for name, inputs in {
        "MaxPool3D": [x],
        "MaxPool3DGrad": [x, y, dy],
        "MaxPool3DGradGrad": [x, y, v],
        "AvgPool3D": [v],
        "AvgPool3DGrad": [np.array(x.shape, np.int32), dy],
    }.items():
        op = bb.ops.REGISTRY[name]
        _, how, _ = op.bind(inputs, attrs)
        (fast,), (naive,) = (op.run(inputs, how, kernel) for kernel in ("native", "reference"))
        fast, naive = fast.astype(np.float64), naive.astype(np.float64)  # where NaN equals NaN
        if name in rounded:
            last_bit = float(ml_dtypes.finfo(x.dtype).eps) if half else 0
            near = {"rtol": last_bit, "atol": 4 * wide.eps * abs(naive).max()}
            np.testing.assert_allclose(fast, naive, **near, err_msg=f"{name} {x.shape}")
        else:
            np.testing.assert_array_equal(fast, naive, err_msg=f"{name} {x.shape}")
        if name == "MaxPool3DGrad":
            assert not np.signbit(fast[fast == 0]).any(), "a sum that begins with zero is never -0"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_windows_of_one_channel_two_apart_agree_with_the_reference(padding, rows, k, dtype):
    rng = np.random.default_rng(0)
    # Whether windows make whole vectors, and what is left of them, depends on the width.
    for width in range(8, 128):
        assert_meanings(
            random_cells(rng, (1, 1, 2, 3, width), dtype),
            ksize=(1, 1, 1, rows, k),
            strides=(1, 1, 1, 2, 2),
            padding=padding,
            data_format="NCDHW",
        )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("cached", [True, False])
def test_few_channels_of_windows_apart_agree_with_the_reference(
    cached, k, channels, dtype, request
):
    if not cached:
        request.getfixturevalue("no_cache")
    rng = np.random.default_rng(0)
    for width in (1, 5, 16, 31, 32, 64):
        assert_meanings(
            random_cells(rng, (2, 4, 5, width, channels), dtype),
            ksize=(1, 2, 3, k, 1),
            strides=(1, 2, 3, k, 1),
            padding="SAME",
        )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [2, 3, 5, 7, 9, 13])
@pytest.mark.parametrize(
    ("rows", "k", "s"), [(3, 3, 2), (1, 3, 2), (2, 7, 3), (2, 2, 3), (3, 9, 5)]
)
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_few_channels_of_windows_with_strides_agree_with_the_reference(
    padding, rows, k, s, channels, dtype
):
    rng = np.random.default_rng(0)
    # The last is longer than what is done at a time.
    for width in (9, 10, 23, 40, 600):
        assert_meanings(
            random_cells(rng, (1, 3, 4, width, channels), dtype),
            rounded={"AvgPool3DGrad"},
            ksize=(1, 2, rows, k, 1),
            strides=(1, 1, 2, s, 1),
            padding=padding,
        )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [32, 33, 64])
@pytest.mark.parametrize("cached", [True, False])
def test_pairs_with_padding_before_them_agree_with_the_reference(cached, width, dtype, request):
    if not cached:
        request.getfixturevalue("no_cache")
    rng = np.random.default_rng(0)
    windows = width // 2 + 1
    x = random_cells(rng, (1, 2, 3, width, 1), dtype)
    dy = rng.integers(-9, 9, (1, 2, 3, windows, 1)).astype(dtype)
    # Only results that begin a cache line go around the cache.
    memory = np.empty(x.nbytes + 64, np.uint8)
    dx = memory[-memory.ctypes.data % 64 :][: x.nbytes].view(dtype).reshape(x.shape)
    run("max_pool_grad", x, dy, dx, window=(1, 1, 2), strides=(1, 1, 2), pads=(0, 0, 1))
    expected = np.zeros_like(x)
    for o in range(windows):
        cells = x[:, :, :, max(2 * o - 1, 0) : 2 * o + 1]
        winner = max(2 * o - 1, 0) + cells.astype(np.float64).argmax(3)
        np.put_along_axis(expected, winner[..., None, :], dy[:, :, :, o : o + 1], 3)
    np.testing.assert_array_equal(dx.astype(float), expected.astype(float))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [1, 64, 600])
@pytest.mark.parametrize(("k", "s"), [(2, 1), (3, 1), (5, 1), (4, 2), (5, 3), (5, 5), (3, 4)])
@pytest.mark.parametrize("format", ["NDHWC", "NCDHW"])
def test_an_average_is_the_same_in_volumes_of_all_sizes(format, k, s, channels, dtype):
    x = np.random.default_rng(0).standard_normal((1, k + s, k + s, 40, channels)).astype(dtype)
    axes = (0, 1, 2, 3, 4) if format == "NDHWC" else (0, 4, 1, 2, 3)
    k_s = {"ksize": (1, k, k, k, 1), "strides": (1, s, s, s, 1)}
    how = {name: [each[axis] for axis in axes] for name, each in k_s.items()}

    def averages(cells, padding="VALID"):
        cells = cells.transpose(axes)
        y = bb.raw_ops.AvgPool3D(input=cells, **how, padding=padding, data_format=format)
        return y.transpose(np.argsort(axes)).astype(np.float64)

    whole = averages(x)
    for size in (k, k + s, 20):
        part = averages(x[:, s:, s:, 2 * s : 2 * s + size])
        np.testing.assert_array_equal(part, whole[:, 1:2, 1:2, 2 : 2 + (size - k) // s + 1])
    if s == 1:  # the last window has as many cells in a volume that is smaller than it
        few = (slice(None), *[slice(-((k + 1) // 2), None)] * 3)
        last = (slice(None), *[slice(-1, None)] * 3)
        small = averages(x[few], "SAME")[last]
        np.testing.assert_array_equal(small, averages(x, "SAME")[last])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("n", "k", "s"), [(7, 7, 7), (5, 3, 3), (5, 2, 4), (7, 2, 2), (7, 2, 3)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_cells_of_many_channels_get_their_windows_share(padding, n, k, s, dtype):
    op, attrs = bb.ops.REGISTRY["AvgPoolGrad"], {"ksize": (1, k, k, 1), "strides": (1, s, s, 1)}
    x = np.zeros((2, n, n, 131), dtype)
    y = bb.raw_ops.AvgPool(value=x, **attrs, padding=padding)
    dy = np.random.default_rng(0).integers(-9, 9, y.shape).astype(dtype)
    inputs, how, _ = op.bind((x.shape, dy), attrs | {"padding": padding})
    inputs = op.arrays(inputs)
    (fast,), (naive,) = (op.run(inputs, how, kernel) for kernel in ("native", "reference"))
    np.testing.assert_array_equal(fast, naive)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_near_the_largest_number_are_divided_before_they_are_added(dtype):
    dy = np.full((1, 3, 6, 7, 5), np.finfo(dtype).max / 4, dtype)
    dx = np.empty_like(dy)
    run("avg_pool_grad", dy, dx, window=(3, 3, 3), strides=ONES, pads=ONES)
    np.testing.assert_allclose(dx[:, 1, 2:-2, 2:-2] / dy.max(), 1 / 2 + 1 / 3 + 1 / 2, rtol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [15, 64])
@pytest.mark.usefixtures("no_cache")
def test_results_too_large_for_the_cache_are_whole(dtype, channels):
    # Windows of one cell change nothing. The odd sizes put rows at every distance from a cache line.
    x = np.random.default_rng(0).integers(0, 250, (1, 3, 11, 97, channels)).astype(dtype)
    for name, inputs, _ in calls((1, 1, 1, 1), ONES, 1, dtype):
        out, guards = guarded(x.shape, dtype)
        run(name, *[x] * len(inputs), out, window=ONES, strides=ONES)
        np.testing.assert_array_equal(out, x, err_msg=name)
        assert_untouched(guards, name)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [1, 5, 64])
@pytest.mark.parametrize(("k", "s"), [(1, 2), (2, 2), (3, 2), (3, 1), (5, 1)])
@pytest.mark.parametrize("format", ["NDHWC", "NCDHW"])
def test_the_cache_changes_no_result(format, k, s, channels, dtype, request):
    rng = np.random.default_rng(0)
    shape = (2, 5, 6, 32, channels) if format == "NDHWC" else (2, channels, 5, 6, 32)
    x, v = (rng.integers(-9, 9, shape).astype(dtype) for _ in range(2))
    space = (1, k, k, k, 1), (1, s, s, s, 1)
    how = dict(zip(("ksize", "strides"), space, strict=True))
    if format == "NCDHW":
        how = {name: (1, 1, *each[1:4]) for name, each in how.items()}
    how |= {"padding": "SAME", "data_format": format}

    def all_results():
        raw = bb.raw_ops
        y = raw.MaxPool3D(input=x, **how)
        return [
            y,
            raw.MaxPool3DGrad(orig_input=x, orig_output=y, grad=-y, **how),
            raw.MaxPool3DGradGrad(orig_input=x, orig_output=y, grad=v, **how),
            raw.AvgPool3D(input=x, **how),
            raw.AvgPool3DGrad(orig_input_shape=x.shape, grad=y, **how),
        ]

    within = all_results()
    request.getfixturevalue("no_cache")
    for around, through in zip(all_results(), within, strict=True):
        np.testing.assert_array_equal(around, through)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [1, 3, 64])
@pytest.mark.parametrize("shape", ["apart", "overlapping", "one above the other"])
def test_past_the_cache_results_begin_anywhere(shape, channels, dtype, request):
    cells, windows, window, strides, pads = {
        "apart": ((2, 4, 6, 32), (2, 3, 16), TWOS, TWOS, NONE),
        "overlapping": ((2, 3, 5, 32), (3, 5, 32), (3, 3, 3), ONES, ONES),
        "one above the other": ((2, 1, 7, 32), (1, 3, 32), (1, 3, 1), (1, 2, 1), NONE),
    }[shape]
    geometry = {"window": window, "strides": strides, "pads": pads}
    expected = {}
    for name, inputs, result in calls(cells, windows, channels, dtype):
        expected[name] = np.empty(result, dtype)
        run(name, *inputs, expected[name], **geometry)
    request.getfixturevalue("no_cache")
    for name, inputs, result in calls(cells, windows, channels, dtype):
        for begins in range(0, 64, np.dtype(dtype).itemsize):
            out, guards = guarded(result, dtype, begins)
            assert out.ctypes.data % 64 == begins
            run(name, *inputs, out, **geometry)
            np.testing.assert_array_equal(out, expected[name], err_msg=f"{name} at {begins}")
            assert_untouched(guards, f"{name} at {begins}")


@pytest.mark.parametrize("window", [300, 70000])
def test_windows_of_many_cells(window):
    x = np.arange(window, dtype=np.float64).reshape(1, 1, 1, window, 1)
    x[..., window - 3, 0] = x[..., 290, 0] = window
    dx = np.ones_like(x)
    dy = volume(1, 1, 1, 1, 1, dtype=float) * 5
    run("max_pool_grad", x, dy, dx, window=(1, 1, window), strides=ONES)
    assert dx[..., 290, 0] == 5
    assert np.count_nonzero(dx) == 1


# -- argmax ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("of_batch", [False, True])
@pytest.mark.parametrize("channels", [1, 3, 8])
def test_argmax_agrees_with_the_reference(dtype, index, of_batch, channels):
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 2, (3, 9, 21, channels)).astype(dtype)
    x[rng.random(x.shape) < 0.2] = -np.inf
    x[0, :3, :3], x[1, 4, 5:8] = -np.inf, np.nan
    for k, s in ((3, 1), (3, 2), (2, 2), (2, 3)):
        attrs = {"ksize": (1, k, k, 1), "strides": (1, s, s, 1), "padding": "SAME"}
        attrs["include_batch_in_index"] = of_batch
        op = bb.ops.REGISTRY["MaxPoolWithArgmax"]
        _, how, _ = op.bind([x], {**attrs, "Targmax": index})
        (y, at), (naive, naive_at) = (
            op.run([x], how, kernel) for kernel in ("native", "reference")
        )
        np.testing.assert_array_equal(y.astype(float), naive.astype(float))
        np.testing.assert_array_equal(at, naive_at)
        assert at.dtype == index
        dy, ddx = (rng.integers(-9, 9, shape).astype(dtype) for shape in (y.shape, x.shape))
        anywhere = rng.permutation(at.ravel()).reshape(at.shape)  # also in other images
        for name, values in (
            ("MaxPoolGradWithArgmax", dy),
            ("MaxPoolGradGradWithArgmax", ddx),
        ):
            op = bb.ops.REGISTRY[name]
            for where in (at, anywhere):
                _, how, _ = op.bind([x, values, where], attrs)
                found, wanted = (
                    op.run([x, values, where], how, kernel)[0] for kernel in ("native", "reference")
                )
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("of_batch", [False, True])
def test_indices_outside_do_no_harm(index, of_batch):
    geometry = ((2, 1, 4, 4, 1), (2, 1, 2, 2, 1), (1, 2, 2), (1, 2, 2), NONE, of_batch)
    limit = np.iinfo(index)
    at = np.array([limit.min, -1, 16, 32, 3, 33, limit.max, limit.min + 1], index)
    dx, guards = guarded((2, 1, 4, 4, 1), np.float32)
    ddy = volume(2, 1, 2, 2, 1)
    _native.max_pool_grad_with_argmax("float32", index, *geometry)(volume(8), at, dx)
    _native.max_pool_grad_grad_with_argmax("float32", index, *geometry)(volume(32), at, ddy)
    assert_untouched(guards)
    assert dx.sum() == ddy.sum() == (2 if of_batch else 1)


def test_an_index_of_another_type_is_refused():
    geometry = ((2, 1, 4, 4, 1), (2, 1, 2, 2, 1), (1, 2, 2), (1, 2, 2), NONE, False)
    with pytest.raises(TypeError, match="int32 or int64"):
        _native.max_pool_with_argmax("float32", "int8", *geometry)
    prepared = _native.max_pool_grad_with_argmax("float32", "int32", *geometry)
    with pytest.raises(TypeError, match="array 2 is not of the type"):
        prepared(volume(8), volume(8, dtype=np.int64), volume(32))


# -- half types -----------------------------------------------------------------------------------


def is_nan(x):
    with np.errstate(invalid="ignore"):  # signalling NaNs are among all the halves
        return np.isnan(x)


@pytest.mark.parametrize("half", HALVES)
def test_every_half_survives_the_way_to_float_and_back(half):
    x = np.arange(2**16, dtype=np.uint16).reshape(1, 1, 1, -1, 1).view(half)
    y = np.empty_like(x)
    run("avg_pool", x, y, window=ONES, strides=ONES)
    number = ~is_nan(x)
    assert (y.view(np.uint16) == x.view(np.uint16))[number].all()
    assert is_nan(y)[~number].all()


@pytest.mark.parametrize("half", HALVES)
def test_halves_are_rounded_to_the_nearest_and_to_even(half):
    rng = np.random.default_rng(0)
    pairs = np.stack([np.arange(2**16), rng.permutation(2**16)], -1).astype(np.uint16)
    # Neighbours too: their mean lies half way between two halves.
    near = np.stack([np.arange(2**16 - 1), np.arange(1, 2**16)], -1).astype(np.uint16)
    x = np.concatenate([pairs, near]).reshape(1, 1, 1, -1, 1).view(half)
    y = np.empty((1, 1, 1, x.size // 2, 1), half)
    run("avg_pool", x, y, window=(1, 1, 2), strides=(1, 1, 2))
    with np.errstate(all="ignore"):
        a, b = x.astype(np.float32).reshape(-1, 2).T
        expected = ((a + b) / np.float32(2)).astype(half)
    number = ~is_nan(expected)
    np.testing.assert_array_equal(
        y.ravel().view(np.uint16)[number], expected.view(np.uint16)[number]
    )
    assert is_nan(y.ravel())[~number].all()


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("channels", [1, 16, 40])
@pytest.mark.parametrize(("k", "s"), [(2, 2), (3, 2), (3, 1)])
def test_halves_are_compared_as_the_numbers_they_are(half, channels, k, s):
    rng = np.random.default_rng(0)
    shape = (2, 5, 7, 40, channels)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1, -1], half)
    rare = rng.integers(0, 2**16, shape, np.uint16).view(half)
    x = np.where(rng.random(shape) < 0.7, rng.choice(special[[0, 1, 3, 3, 3, 7]], shape), rare)
    x = np.where(rng.random(shape) < 0.02, rng.choice(special, shape), x)
    v = rng.integers(0, 2**16, shape, np.uint16).view(half)
    attrs = {"ksize": (1, k, k, k, 1), "strides": (1, s, s, s, 1), "padding": "SAME"}
    y = bb.raw_ops.MaxPool3D(input=x, **attrs)
    dy = rng.integers(-9, 9, y.shape).astype(half)
    with np.errstate(invalid="ignore"):
        for name, inputs in {
            "MaxPool3D": [x],
            "MaxPool3DGrad": [x, y, dy],
            "MaxPool3DGradGrad": [x, y, v],
        }.items():
            op = bb.ops.REGISTRY[name]
            _, how, _ = op.bind(inputs, attrs)
            (fast,), (naive,) = (op.run(inputs, how, kernel) for kernel in ("native", "reference"))
            np.testing.assert_array_equal(fast.astype(float), naive.astype(float), name)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("channels", [1, 16])
def test_the_largest_of_two_halves_keeps_its_bits(half, channels):
    rng = np.random.default_rng(0)
    x = rng.permutation(2**17).astype(np.uint16).view(half).reshape(1, 1, 1, -1, channels)
    y = np.empty((1, 1, 1, x.shape[3] // 2, channels), half)
    run("max_pool", x, y, window=(1, 1, 2), strides=(1, 1, 2))
    a, b = x[..., 0::2, :], x[..., 1::2, :]
    number = ~is_nan(a) & ~is_nan(b)
    with np.errstate(invalid="ignore"):
        larger = np.where(a > b, a, b)
        zeros = (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
        assert (y == larger)[number].all()
    same = y.view(np.uint16) == larger.view(np.uint16)
    assert same[number & ~zeros].all()
    assert is_nan(y)[~number].all()


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("channels", [1, 16])
def test_windows_of_more_cells_than_16_bits_can_number(half, channels):
    x = volume(1, 1, 201, 201, channels, dtype=half)
    x[0, 0, 200, 200] = 2  # the last cell of the last window
    v = np.zeros_like(x)
    v[0, 0, 200, 200], v[0, 0, :2, :2] = 3, 4
    ddy, dx = volume(1, 1, 2, 2, channels, dtype=half), np.empty_like(x)
    geometry = {"window": (1, 200, 200), "strides": ONES}
    run("max_pool_grad_grad", x, v, ddy, **geometry)
    assert (ddy.reshape(4, -1) == [[4], [4], [4], [3]]).all()
    run("max_pool_grad", x, ddy, dx, **geometry)
    v[0, 0, 1, 1] = 0  # wins no window
    np.testing.assert_array_equal(dx, v)


# -- what would be unsafe -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dy", "window", "strides", "pads", "rule"),
    [
        (volume(2, 1, 1, 1, 1), TWOS, TWOS, NONE, "images"),
        (volume(1, 1, 1, 1, 2), TWOS, TWOS, NONE, "channels"),
        (volume(1, 1, 1, 1, 1), (0, 2, 2), TWOS, NONE, "window"),
        (volume(1, 1, 1, 1, 1), TWOS, (2, 0, 2), NONE, "strides"),
        (volume(1, 1, 1, 1, 1), TWOS, TWOS, (0, 0, -1), "pads"),
        (volume(1, 1, 1, 1, 1), TWOS, TWOS, (0, 0, 2), "real element"),
        (volume(1, 1, 1, 3, 1), TWOS, TWOS, NONE, "real element"),
        (volume(1, 1, 1, 2, 1), TWOS, (2, 2, 2**61), NONE, "too large"),
    ],
)
def test_geometry_that_would_be_unsafe_is_refused(dy, window, strides, pads, rule):
    dx = volume(1, 2, 2, 2, 1)
    with pytest.raises(ValueError, match=rule):
        run("avg_pool_grad", dy, dx, window=window, strides=strides, pads=pads)


@pytest.mark.parametrize("sizes", [(1, -1, 2, 2, 1), (2**40, 2**40, 1, 1, 1)])
def test_sizes_that_no_array_has_are_refused(sizes):
    with pytest.raises(ValueError, match=r"negative|too large"):
        _native.max_pool("float32", sizes, sizes, ONES, ONES, NONE)


def test_a_type_without_kernels_is_refused():
    with pytest.raises(TypeError, match="must be float16"):
        _native.max_pool("int32", (1, 2, 2, 2, 1), (1, 1, 1, 1, 1), TWOS, TWOS, NONE)


def test_windows_far_wider_than_the_volume_take_no_time():
    dx = np.zeros((1, 2, 2, 2, 1), np.float32)
    wide = (2**59,) * 3
    dy = volume(1, 1, 1, 1, 1) * 8
    run("avg_pool_grad", dy, dx, window=wide, strides=ONES, pads=(2**58,) * 3)
    assert (dx == 1).all()


@pytest.mark.parametrize("channels", [1, 4, 8])
def test_strides_far_wider_than_the_volume(channels):
    cells = (1, 2, 2, 3)
    for name, inputs, result in calls(cells, ONES, channels, np.float32):
        out, guards = guarded(result, np.float32)
        run(name, *inputs, out, window=TWOS, strides=(2**62,) * 3)
        assert_untouched(guards, name)
        assert not (out == UNTOUCHED).any(), name


def test_without_windows_the_gradient_is_zero():
    dx = volume(1, 2, 2, 2, 1)
    run("avg_pool_grad", volume(1, 0, 1, 1, 1), dx, window=TWOS, strides=TWOS)
    assert (dx == 0).all()


@pytest.mark.parametrize(
    ("windows", "window", "pads"),
    [
        ((1, 0, 2**40, 1, 1), (1, 2**50, 1), (0, 2**50 - 1, 0)),  # of 2**40 cells each
        ((1, 2, 2, 1001, 1), (1, 1, 1000), (0, 0, 999)),
    ],
)
def test_padding_far_beyond_the_volume_is_refused(windows, window, pads):
    with pytest.raises(ValueError, match="padding is too large"):
        _native.avg_pool_grad("float32", (1, 2, 2, 2, 1), windows, window, ONES, pads)


def test_ops_take_padding_far_beyond_the_image_all_the_same():
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    attrs = {"ksize": [1, 1, 1000, 1], "strides": [1, 300, 300, 1], "padding": "EXPLICIT"}
    y = bb.raw_ops.MaxPool(input=x, explicit_paddings=[0, 0, 0, 0, 900, 900, 0, 0], **attrs)
    assert (y == x.max(axis=2, keepdims=True)).all()


@pytest.mark.parametrize("k", [3, 40, 700])
@pytest.mark.parametrize("rows", [2, 9])
def test_rows_under_far_padding_get_the_gradients_of_their_windows(rows, k):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, (2, rows, 5, 3)).astype(np.float32)
    attrs = {"ksize": (1, k, 1, 1), "strides": (1, 1, 1, 1), "padding": "EXPLICIT"}
    attrs["explicit_paddings"] = (0, 0, k - 1, k - 1, 0, 0, 0, 0)
    y = bb.raw_ops.MaxPool(input=x, **attrs)
    dy = rng.integers(-5, 5, y.shape).astype(np.float32)
    op = bb.ops.REGISTRY["MaxPoolGrad"]
    _, how, _ = op.bind((x, y, dy), attrs)
    (fast,), (naive,) = (op.run((x, y, dy), how, kernel) for kernel in ("native", "reference"))
    np.testing.assert_array_equal(fast, naive)


def test_numbers_that_are_not_aligned_are_copied_to_where_they_are():
    x = np.arange(1 * 2 * 4 * 4 * 3, dtype=np.float64).reshape(1, 2, 4, 4, 3)
    window = {"ksize": (1, 2, 2, 2, 1), "strides": (1, 2, 2, 2, 1), "padding": "VALID"}
    wanted = bb.raw_ops.MaxPool3D(input=x, **window)
    assert not a_byte_off(x).flags.aligned
    for _ in range(2):  # anew, and as a call that is remembered
        np.testing.assert_array_equal(bb.raw_ops.MaxPool3D(input=a_byte_off(x), **window), wanted)
    fed = bb.placeholder(x.shape, "float64")
    pooled = bb.raw_ops.MaxPool3D(input=fed, **window)
    np.testing.assert_array_equal(bb.evaluate([pooled], {fed: a_byte_off(x)})[0], wanted)
    held = bb.raw_ops.MaxPool3D(input=bb.constant(a_byte_off(x)), **window)
    np.testing.assert_array_equal(bb.evaluate([held], {})[0], wanted)
    out = a_byte_off(wanted)
    with pytest.raises(bb.OpError, match="aligned"):
        bb.raw_ops.MaxPool3D(input=x, out=out, **window)
