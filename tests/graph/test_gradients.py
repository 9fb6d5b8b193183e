"""Symbols, and gradients over them."""

import copy

import numpy as np
import pytest

import backblocks as bb

TWO = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"}


def test_second_gradient_of_a_chain_is_the_slope_of_the_first():
    x, dy = bb.placeholder((None, 4, 4, 1), "float64"), bb.placeholder(None, "float64")
    y = bb.ops.max_pool(bb.ops.tanh(x), **TWO)
    (dx,) = bb.gradients(y, x, [dy])
    weight = bb.placeholder((None, 4, 4, 1), "float64")
    (ddx,) = bb.gradients(dx, x, [weight])
    rng = np.random.default_rng(1)
    at, v, w = (rng.standard_normal((2, 4, 4, 1)) for _ in range(3))
    fixed = {dy: rng.standard_normal((2, 2, 2, 1)), weight: w}

    def first(step):
        return bb.evaluate([dx], {x: at + step * v, **fixed})[0]

    slope = np.vdot(w, (first(1e-5) - first(-1e-5)) / 2e-5)
    (g,) = bb.evaluate([ddx], {x: at, **fixed})
    np.testing.assert_allclose(np.vdot(g, v), slope, rtol=1e-6)


def test_a_small_net_learns_by_its_own_gradients():
    rng = np.random.default_rng(0)
    slide = {"strides": (1, 1, 1, 1), "padding": "SAME"}
    images, wanted = rng.standard_normal((8, 6, 6, 1)), rng.standard_normal((3, 3, 1, 2))
    goal = bb.ops.relu(bb.ops.conv_2d(images, wanted, **slide))
    filters = bb.placeholder((3, 3, 1, 2), "float64")
    loss = bb.ops.l2_loss(bb.ops.sub(bb.ops.relu(bb.ops.conv_2d(images, filters, **slide)), goal))
    (d,) = bb.gradients(loss, filters)
    found = wanted + rng.standard_normal(wanted.shape) * 0.5
    losses = []
    for _ in range(60):
        value, slope = bb.evaluate([loss, d], {filters: found})
        losses.append(float(value))
        found = found - 0.003 * slope
    assert losses[-1] < losses[0] / 1000
    np.testing.assert_allclose(found, wanted, atol=0.05)


def test_contributions_of_several_paths_add_up():
    x = bb.placeholder((3,), "float64")
    y = bb.ops.add(bb.ops.square(x), bb.ops.mul(x, 3))
    (dx,) = bb.gradients(y, x)
    np.testing.assert_allclose(bb.evaluate([dx], {x: np.array([1.0, 2, 3])})[0], [5, 7, 9])


def test_several_ys_and_weights():
    x = bb.placeholder((2,), "float64")
    ys = [bb.ops.square(x), bb.ops.neg(x)]
    (dx,) = bb.gradients(ys, [x], [np.array([1.0, 1]), np.array([10.0, 10])])
    np.testing.assert_allclose(bb.evaluate([dx], {x: np.array([1.0, 2])})[0], [-8, -6])


def test_no_path_gives_none_and_not_zeros():
    x, z = bb.placeholder((2,)), bb.placeholder((2,))
    assert bb.gradients(bb.ops.exp(x), [z]) == [None]
    with pytest.raises(bb.OpError, match="None cannot be fetched"):
        bb.evaluate([None], {})


def test_an_op_without_gradient_says_so_only_when_it_is_on_the_way():
    x, z = bb.placeholder((1, 2, 2, 1)), bb.placeholder((1, 2, 2, 1))
    slide = {"strides": (1, 1, 1, 1), "rates": (1, 1, 1, 1), "padding": "SAME"}
    blocked = bb.ops.dilation_2d_backprop_input(z, np.zeros((1, 1, 1), np.float32), z, **slide)
    (dx,) = bb.gradients(bb.ops.add(x, blocked), x)
    assert dx is not None
    with pytest.raises(bb.OpError, match="Dilation2DBackpropInput: has no gradient") as caught:
        bb.gradients(blocked, z)
    assert caught.value.hint


def test_lists_of_tensors_flow_both_ways():
    a, b = bb.placeholder((2,), "float64"), bb.placeholder((2,), "float64")
    rows = bb.ops.unpack(bb.ops.pack([a, b, a]), num=3)
    (da, db) = bb.gradients(bb.ops.mul(rows[0], rows[1]), [a, b])
    got = bb.evaluate([da, db], {a: np.array([1.0, 2]), b: np.array([3.0, 4])})
    np.testing.assert_array_equal(got, [[3, 4], [1, 2]])


def test_several_outputs_are_named():
    x = bb.placeholder((1, 4, 4, 1), "float64")
    out = bb.ops.max_pool_with_argmax(x, **TWO)
    assert out._fields == ("output", "argmax")
    assert out.argmax.dtype == np.int64
    (dx,) = bb.gradients(out.output, x)
    ramp = np.arange(16.0).reshape(1, 4, 4, 1)
    assert bb.evaluate([dx], {x: ramp})[0].sum() == 4


def test_shapes_are_known_as_far_as_they_can_be():
    x = bb.placeholder((None, None, 8, 3))
    y = bb.ops.conv_2d(x, np.zeros((3, 3, 3, 5), np.float32), strides=(1, 2, 2, 1), padding="VALID")
    assert y.shape == (None, None, 3, 5)
    assert repr(y) == "<Conv2D float32 [?, ?, 3, 5]>"


def test_a_symbol_is_refused_where_an_array_would_be():
    x = bb.placeholder((1, 4, 4, 1))
    with pytest.raises(bb.OpError, match=r"MaxPool.ksize: a window of 9 does not fit in 4"):
        bb.ops.max_pool(x, **{**TWO, "ksize": (1, 9, 9, 1)})


def test_what_only_shows_at_run_time_is_refused_then():
    x = bb.placeholder(None)
    y = bb.ops.max_pool(x, **TWO)
    with pytest.raises(bb.OpError, match=r"MaxPool.input: must have 4 dimensions"):
        bb.evaluate([y], {x: np.zeros((4, 4), np.float32)})


@pytest.mark.parametrize(
    "fed", [np.zeros((2, 2), np.float32), np.zeros((1, 4, 4, 1))], ids=["shape", "dtype"]
)
def test_feeds_are_checked(fed):
    x = bb.placeholder((None, 4, 4, 1), name="image")
    with pytest.raises(bb.OpError, match=r'block "image": Placeholder.output: must be fed float32'):
        bb.evaluate([bb.ops.exp(x)], {x: fed})


def test_what_was_not_fed_is_named():
    x = bb.placeholder((2,), name="image")
    with pytest.raises(bb.OpError, match=r'block "image": Placeholder.output: must be fed'):
        bb.evaluate([bb.ops.exp(x)], {})


def test_an_intermediate_value_can_be_fed():
    x = bb.placeholder((2,), "float64")
    y = bb.ops.exp(x)
    z = bb.ops.neg(y)
    np.testing.assert_array_equal(bb.evaluate([z], {y: np.array([1.0, 2])})[0], [-1, -2])


def test_grad_ys_are_arrays_lists_or_symbols_of_the_shape_of_y():
    x = bb.placeholder((2,), "float64")
    y = bb.ops.square(x)
    for weight in (np.array([1.0, 10]), [[1, 10]], [bb.constant([1, 10], "float64")]):
        (dx,) = bb.gradients(y, x, weight)
        assert isinstance(dx, bb.Symbol)
        assert dx.dtype == np.float64
        np.testing.assert_array_equal(bb.evaluate([dx], {x: [1, 2]})[0], [2, 40])


@pytest.mark.parametrize(
    ("grad_ys", "words"),
    [
        ([np.ones((2, 3))], "the shape of its y"),
        ([np.ones(3, np.float32)], "must be float64"),
        ([1.0, 2.0], "one entry for each of the 1 ys"),
        ([], "one entry for each"),
        (["text"], "cannot be read|must be an array"),
    ],
)
def test_grad_ys_that_do_not_fit_are_refused(grad_ys, words):
    x = bb.placeholder((3,), "float64")
    with pytest.raises(bb.OpError, match=words) as caught:
        bb.gradients(bb.ops.square(x), x, grad_ys)
    assert (caught.value.op, caught.value.arg) == ("gradients", "grad_ys")


def test_gradients_are_symbols_even_when_nothing_happens_on_the_way():
    x = bb.placeholder((2,), "float64")
    for y in (x, bb.ops.neg(bb.ops.neg(x))):
        (dx,) = bb.gradients(y, x, [[3, 4]])
        np.testing.assert_array_equal(bb.evaluate([dx], {x: [1, 2]})[0], [3, 4])


def test_the_gradient_of_a_kept_sum_with_unknown_sizes():
    x, d = bb.placeholder((1, 3), "float64"), bb.placeholder((None, 1), "float64")
    (dx,) = bb.gradients(bb.ops.sum(x, [1], keep_dims=True), x, [d])
    got = bb.evaluate([dx], {x: [[1, 2, 3]], d: [[5]]})[0]
    np.testing.assert_array_equal(got, [[5, 5, 5]])


def test_symbols_do_arithmetic():
    x = bb.placeholder((2,), "float64")
    y = 1 - (x * 2 + np.array([1.0, 3])) / x - -x
    np.testing.assert_allclose(bb.evaluate([y], {x: [1, 2]})[0], [-1, -0.5])


@pytest.mark.parametrize(
    ("make", "arg"),
    [
        (lambda: bb.placeholder((2,), "flaot32"), "dtype"),
        (lambda: bb.placeholder(3), "shape"),
        (lambda: bb.placeholder((-2,)), "shape"),
        (lambda: bb.placeholder((2.5,)), "shape"),
        (lambda: bb.placeholder("ab"), "shape"),
        (lambda: bb.constant([1], "flaot32"), "dtype"),
        (lambda: bb.constant(object()), "value"),
        (lambda: bb.constant(["text", 1]), "value"),
        (lambda: bb.evaluate(bb.constant(1), {}), "fetches"),
        (lambda: bb.evaluate([np.ones(2)], {}), "fetches"),
        (lambda: bb.evaluate([bb.constant(1)], {"x": 1}), "feeds"),
    ],
)
def test_mistakes_with_symbols_are_named(make, arg):
    with pytest.raises(bb.OpError) as caught:
        make()
    assert caught.value.arg == arg
    assert caught.value.op
    assert caught.value.hint


def test_lists_may_be_fed_and_become_what_the_placeholder_is():
    x = bb.placeholder((None,), "float16")
    assert bb.evaluate([bb.ops.exp(x)], {x: [0, 1.5]})[0].dtype == np.float16
    assert [bb.constant(v).dtype.name for v in (1.0, [1])] == ["float32", "int32"]


def test_a_graph_keeps_its_own_values():
    mine = np.array([1.0, 2])
    kept = bb.constant(mine)
    mine[:] = 5
    x = bb.placeholder((2,), "float64")
    fed = np.array([3.0, 4])
    got_kept, got_fed = bb.evaluate([kept, x], {x: fed})
    got_fed[:] = 0
    np.testing.assert_array_equal(got_kept, [1, 2])
    np.testing.assert_array_equal(fed, [3, 4])
    got_kept[:] = 0
    np.testing.assert_array_equal(bb.evaluate([kept], {})[0], [1, 2])


def test_a_copy_of_a_symbol_is_the_symbol():
    x = bb.placeholder((2,), "float64")
    y = bb.ops.exp(x)
    assert copy.deepcopy(y) is y
    assert copy.copy(y) is y
    assert copy.deepcopy(bb.ops.relu) is bb.ops.relu


def test_symbols_are_compared_multiplied_and_raised_as_arrays_are():
    a, b = np.array([[1.0, -2], [3, 4]]), np.array([[2.0, 2], [3, 1]])
    x, y = bb.placeholder([2, 2], "float64"), bb.placeholder([2, 2], "float64")
    made = [x @ y, x @ b, a @ y, x**2.0, 2.0**x, abs(x), x < y, x <= 2.0, x > y, x >= 2.0]
    expected = [a @ b, a @ b, a @ b, a**2, 2**a, abs(a), a < b, a <= 2, a > b, a >= 2]
    for got, wanted in zip(bb.evaluate(made, {x: a, y: b}), expected, strict=True):
        np.testing.assert_allclose(got, wanted)


def test_a_symbol_is_neither_true_nor_false():
    loss = bb.placeholder([], name="loss")
    with pytest.raises(bb.OpError, match="neither true nor false before a run"):
        bool(loss > 0.1)


@pytest.mark.parametrize(
    ("ys", "xs", "arg"), [(3, 4, "ys"), (None, "x", "xs"), (None, [[1.0]], "xs")]
)
def test_gradients_are_of_symbols(ys, xs, arg):
    y = bb.ops.neg(bb.placeholder([2])) if ys is None else ys
    with pytest.raises(bb.OpError, match=rf"gradients\.{arg}: must be a symbol, or a list of them"):
        bb.gradients(y, xs)


UNKNOWN_UNTIL_RUN = {
    "Reshape beside a size of 0": ("Reshape", "tensor", (0, 6), "shape", [0, -1, 3], {}, (0, 2, 3)),
    "Reshape to a size alone": ("Reshape", "tensor", (2, 3), "shape", 6, {}, (6,)),
    "Transpose from the end": ("Transpose", "x", (2, 3, 4), "perm", [-1, 0, -2], {}, (4, 2, 3)),
    "Fill of one size": ("Fill", "value", (1,), "dims", 3, {}, (3,)),
    "Fill of no sizes": ("Fill", "value", (1,), "dims", [], {}, ()),
    "ExpandDims in brackets": ("ExpandDims", "input", (2,), "axis", [[0]], {}, (1, 2)),
    "Sum over a table": ("Sum", "input", (2, 3), "axis", [[-1]], {}, (2,)),
    "SplitV in brackets": (
        *("SplitV", "value", (2, 3), "axis", [[0]]),
        {"size_splits": [1, 1], "num_split": 2},
        (1, 3),
    ),
}


@pytest.mark.parametrize("case", UNKNOWN_UNTIL_RUN.values(), ids=UNKNOWN_UNTIL_RUN)
def test_shapes_and_axes_that_are_fed(case):
    op, arg, size, by, value, more, expected = case
    x, sizes = bb.placeholder(None, "float64"), bb.placeholder(None, "int32")
    y = getattr(bb.raw_ops, op)(**{arg: x, by: sizes}, **more)
    y = y[0] if isinstance(y, list) else y
    (dx,) = bb.gradients([y], [x])
    result, slope = bb.evaluate([y, dx], {x: np.ones(size), sizes: np.array(value, np.int32)})
    assert result.shape == expected
    assert slope.shape == size
    assert slope.sum() == result.sum()


@pytest.mark.parametrize("axis", [0, [0]])
def test_the_axis_of_a_join_that_is_fed(axis):
    at = bb.placeholder(None, "int32")
    a, b = bb.placeholder(None, "float64"), bb.placeholder(None, "float64")
    y = bb.raw_ops.ConcatV2(values=[a, b], axis=at)
    feeds = {a: np.ones((2, 3)), b: np.ones((1, 3)), at: np.array(axis, np.int32)}
    slopes = bb.evaluate(bb.gradients([y], [a, b]), feeds)
    assert [slope.shape for slope in slopes] == [(2, 3), (1, 3)]


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
@pytest.mark.parametrize(
    ("space", "channels"), [((3, 4), "CHANNELS_LAST"), ((2, 3, 2), "CHANNELS_FIRST")]
)
def test_the_gradient_of_conv_with_sizes_that_are_fed(batch, space, channels):
    last = channels == "CHANNELS_LAST"
    x, f = bb.placeholder(None, "float64"), bb.placeholder(None, "float64")
    y = bb.ops.conv(
        *(x, f),
        strides=(1,) * (len(space) + 2),
        padding="SAME",
        data_format=channels,
        batch_dims=len(batch),
        groups=2,
    )
    slopes = bb.gradients(bb.ops.square(y), [x, f])
    rng = np.random.default_rng(0)
    images = rng.standard_normal((*batch, *space, 4) if last else (*batch, 4, *space))
    filters = rng.standard_normal((*(2,) * len(space), 2, 6))
    (dx, df), (ddf,) = slopes, bb.gradients(slopes[0], [f])
    at = {x: images, f: filters}
    for pin, slope, of in ((x, dx, bb.ops.square(y)), (f, df, bb.ops.square(y)), (f, ddf, dx)):
        step = rng.standard_normal(at[pin].shape)
        ends = (bb.evaluate([of], {**at, pin: at[pin] + e * step})[0].sum() for e in (1e-4, -1e-4))
        high, low = ends
        (found,) = bb.evaluate([slope], at)
        np.testing.assert_allclose(np.vdot(found, step), (high - low) / 2e-4, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["string", "float8_e5m2", "int4"])
def test_no_gradient_flows_through_text_and_small_types(dtype):
    x = bb.placeholder([2], dtype)
    with pytest.raises(bb.OpError, match=r"gradients\.ys: must hold numbers that ops compute with"):
        bb.gradients(bb.ops.identity(x), x)
    if dtype != "string":
        w = bb.placeholder([2])
        rounded = bb.ops.cast(bb.ops.cast(w, DstT=dtype), DstT="float32")
        assert bb.gradients(rounded, w) == [None]
