"""Identities that hold of pooling and convolution whatever the sizes, and of all ops whatever the strides.

They need no oracle.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from recorded import RECORDED, recorded

import backblocks as bb
from backblocks.ops._spec import Spec

settings.register_profile("laws", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("laws")

raw = bb.raw_ops
POOLS = {2: ("MaxPool", "AvgPool"), 3: ("MaxPool3D", "AvgPool3D")}


@dataclass(frozen=True)
class Problem:
    """Windows over a batch of images or volumes, channels last."""

    batch: int
    space: tuple[int, ...]
    channels: int
    k: tuple[int, ...]
    s: tuple[int, ...]
    d: tuple[int, ...]
    padding: str
    pads: tuple[tuple[int, int], ...]
    seed: int

    @property
    def dims(self):
        return len(self.space)

    @property
    def shape(self):
        return (self.batch, *self.space, self.channels)

    @property
    def layout(self):
        return {2: "NHWC", 3: "NDHWC"}[self.dims]

    def pool(self):
        return {"ksize": (1, *self.k, 1), **self.slide()}

    def conv(self):
        return {"dilations": (1, *self.d, 1), **self.slide()}

    def slide(self):
        explicit = sum(((0, 0), *self.pads, (0, 0)), ()) if self.padding == "EXPLICIT" else ()
        return {
            "strides": (1, *self.s, 1),
            "padding": self.padding,
            "explicit_paddings": explicit,
            "data_format": self.layout,
        }

    def rng(self):
        return np.random.default_rng(self.seed)


@st.composite
def problems(
    draw,
    dims=(2, 3),
    dilated=False,
    paddings=("SAME", "VALID", "EXPLICIT"),
    batch=(0, 2),
    channels=(1, 2, 3),
):
    rank = draw(st.sampled_from(dims))

    def each(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(rank))

    k, s = each(1, 3), each(1, 3)
    d = each(1, 2) if dilated else (1,) * rank
    padding = draw(st.sampled_from(paddings))
    reach = [(a - 1) * b + 1 for a, b in zip(k, d, strict=True)]
    space = tuple(draw(st.integers(r if padding == "VALID" else 1, r + 4)) for r in reach)
    pads = tuple((draw(st.integers(0, a - 1)), draw(st.integers(0, a - 1))) for a in k)
    if padding == "EXPLICIT":
        assume(all(n + sum(p) >= r for n, p, r in zip(space, pads, reach, strict=True)))
    return Problem(
        draw(st.integers(*batch)), space, draw(st.sampled_from(channels)), k, s, d, padding, pads,
        draw(st.integers(0, 2**32 - 1)),
    )  # fmt: skip


def suffix(p):
    return "3D" if p.dims == 3 else ""


def conv_names(p):
    return (
        ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")
        if p.dims == 2
        else ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2")
    )


def call(name, *inputs, **attrs):
    op = bb.ops.REGISTRY[name]
    return op(*inputs, **attrs)


def close(a, b, **how):
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10, **how)


def distinct(rng, shape):
    """Numbers no two of which are equal, so that every window has one winner."""
    return rng.permutation(int(np.prod(shape))).reshape(shape).astype(float)


def tied(rng, shape):
    return rng.integers(0, 3, shape).astype(float)


# -- adjoints: <A x, y> = <x, A* y> ---------------------------------------------------------------


@given(problems())
def test_average_pooling_and_its_gradient_are_adjoint(p):
    rng = p.rng()
    name = f"AvgPool{suffix(p)}"
    x = rng.standard_normal(p.shape)
    y = call(name, x, **p.pool())
    dy = rng.standard_normal(y.shape)
    dx = call(name + "Grad", np.array(p.shape), dy, **p.pool())
    close(np.vdot(y, dy), np.vdot(x, dx))


@given(problems(), st.booleans())
def test_max_pool_gradient_and_second_gradient_are_adjoint(p, with_ties):
    rng = p.rng()
    name = f"MaxPool{suffix(p)}"
    x = (tied if with_ties else distinct)(rng, p.shape)
    y = call(name, x, **p.pool())
    dy, ddx = rng.standard_normal(y.shape), rng.standard_normal(p.shape)
    dx = call(name + "Grad", x, y, dy, **p.pool())
    ddy = call(name + "GradGrad", x, y, ddx, **p.pool())
    close(np.vdot(dx, ddx), np.vdot(dy, ddy))
    close(np.vdot(dx, x), np.vdot(dy, y))  # the winners' values are the outputs


@given(problems(dims=(2,)), st.booleans())
def test_argmax_gradients_are_adjoint_and_agree_with_the_others(p, batch_in_index):
    rng = p.rng()
    attrs = {**p.pool(), "include_batch_in_index": batch_in_index}
    del attrs["data_format"]
    x = tied(rng, p.shape)
    y, argmax = call("MaxPoolWithArgmax", x, **attrs)
    np.testing.assert_array_equal(y, call("MaxPool", x, **p.pool()))
    dy, ddx = rng.standard_normal(y.shape), rng.standard_normal(p.shape)
    dx = call("MaxPoolGradWithArgmax", x, dy, argmax, **attrs)
    ddy = call("MaxPoolGradGradWithArgmax", x, ddx, argmax, **attrs)
    close(np.vdot(dx, ddx), np.vdot(dy, ddy))
    close(dx, call("MaxPoolGrad", x, y, dy, **p.pool()))
    np.testing.assert_array_equal(ddy, call("MaxPoolGradGrad", x, y, ddx, **p.pool()))


@given(problems(dilated=True), st.integers(1, 2), st.integers(1, 3))
def test_convolution_and_its_two_gradients_are_adjoint(p, groups, out_per_group):
    rng = p.rng()
    forward, to_input, to_filter = conv_names(p)
    shape = (*p.shape[:-1], p.channels * groups)
    x = rng.standard_normal(shape)
    f = rng.standard_normal((*p.k, p.channels, out_per_group * groups))
    y = call(forward, x, f, **p.conv())
    dy = rng.standard_normal(y.shape)
    dx = call(to_input, np.array(shape), f, dy, **p.conv())
    df = call(to_filter, x, np.array(f.shape), dy, **p.conv())
    close(np.vdot(y, dy), np.vdot(x, dx))
    close(np.vdot(y, dy), np.vdot(f, df))
    if p.dims == 3:
        first_form = {k: v for k, v in p.conv().items() if k != "data_format"}
        np.testing.assert_array_equal(dx, call("Conv3DBackpropInput", x, f, dy, **first_form))
        np.testing.assert_array_equal(df, call("Conv3DBackpropFilter", x, f, dy, **first_form))


@given(problems(dims=(2,), dilated=True), st.integers(1, 3))
def test_depthwise_convolution_and_its_two_gradients_are_adjoint(p, multiplier):
    rng = p.rng()
    x, f = rng.standard_normal(p.shape), rng.standard_normal((*p.k, p.channels, multiplier))
    y = call("DepthwiseConv2dNative", x, f, **p.conv())
    dy = rng.standard_normal(y.shape)
    dx = call("DepthwiseConv2dNativeBackpropInput", np.array(p.shape), f, dy, **p.conv())
    df = call("DepthwiseConv2dNativeBackpropFilter", x, np.array(f.shape), dy, **p.conv())
    close(np.vdot(y, dy), np.vdot(x, dx))
    close(np.vdot(y, dy), np.vdot(f, df))


@given(problems(dims=(2,)))
def test_dilation_gives_back_what_its_winners_gave(p):
    rng = p.rng()
    attrs = {"strides": (1, *p.s, 1), "rates": (1, *p.d, 1), "padding": p.padding}
    assume(p.padding != "EXPLICIT")
    x, f = rng.standard_normal(p.shape), rng.standard_normal((*p.k, p.channels))
    y = call("Dilation2D", x, f, **attrs)
    dy = rng.standard_normal(y.shape)
    dx = call("Dilation2DBackpropInput", x, f, dy, **attrs)
    df = call("Dilation2DBackpropFilter", x, f, dy, **attrs)
    close(np.vdot(y, dy), np.vdot(x, dx) + np.vdot(f, df))


@given(st.integers(1, 2**31), st.integers(0, 2**31), st.booleans(), st.booleans())
def test_fractional_average_pooling_and_its_gradient_are_adjoint(seed, seed2, pseudo, overlapping):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2, 7, 9, 2))
    y, rows, columns = raw.FractionalAvgPool(
        value=x, pooling_ratio=[1.0, 1.4, 1.7, 1.0], pseudo_random=pseudo, overlapping=overlapping,
        deterministic=True, seed=seed, seed2=seed2,
    )  # fmt: skip
    dy = rng.standard_normal(y.shape)
    dx = raw.FractionalAvgPoolGrad(
        orig_input_tensor_shape=x.shape, out_backprop=dy, row_pooling_sequence=rows,
        col_pooling_sequence=columns, overlapping=overlapping,
    )  # fmt: skip
    close(np.vdot(y, dy), np.vdot(x, dx))


# -- the same numbers in another arrangement ------------------------------------------------------


def flat_volume(p):
    """The images of a 2-D problem as volumes one cell deep."""
    return Problem(
        p.batch, (1, *p.space), p.channels, (1, *p.k), (1, *p.s), (1, *p.d), p.padding,
        ((0, 0), *p.pads), p.seed,
    )  # fmt: skip


@given(problems(dims=(2,)), st.booleans())
def test_pooling_images_is_pooling_flat_volumes(p, with_ties):
    rng, v = p.rng(), flat_volume(p)
    x = (tied if with_ties else distinct)(rng, p.shape)
    for name in ("MaxPool", "AvgPool"):
        y = call(name, x, **p.pool())
        np.testing.assert_array_equal(y[:, None], call(name + "3D", x[:, None], **v.pool()))
        dy = rng.standard_normal(y.shape)
        args = (x, y, dy) if name == "MaxPool" else (np.array(p.shape), dy)
        deep = (
            (x[:, None], y[:, None], dy[:, None])
            if name == "MaxPool"
            else (np.array(v.shape), dy[:, None])
        )
        dx = call(name + "Grad", *args, **p.pool())
        close(dx[:, None], call(name + "3DGrad", *deep, **v.pool()))
    ddx = rng.standard_normal(p.shape)
    y = call("MaxPool", x, **p.pool())
    ddy = call("MaxPoolGradGrad", x, y, ddx, **p.pool())
    deep = call("MaxPool3DGradGrad", x[:, None], y[:, None], ddx[:, None], **v.pool())
    np.testing.assert_array_equal(ddy[:, None], deep)


@given(problems(dims=(2,), dilated=True))
def test_convolving_images_is_convolving_flat_volumes(p):
    rng, v = p.rng(), flat_volume(p)
    x, f = rng.standard_normal(p.shape), rng.standard_normal((*p.k, p.channels, 2))
    y = call("Conv2D", x, f, **p.conv())
    close(y[:, None], call("Conv3D", x[:, None], f[None], **v.conv()))
    dy = rng.standard_normal(y.shape)
    dx = call("Conv2DBackpropInput", np.array(p.shape), f, dy, **p.conv())
    deep = call("Conv3DBackpropInputV2", np.array(v.shape), f[None], dy[:, None], **v.conv())
    close(dx[:, None], deep)
    df = call("Conv2DBackpropFilter", x, np.array(f.shape), dy, **p.conv())
    sizes = np.array((1, *f.shape))
    close(df[None], call("Conv3DBackpropFilterV2", x[:, None], sizes, dy[:, None], **v.conv()))


def to_first(value):
    """Arrays and per-axis attributes with channels second."""
    if isinstance(value, np.ndarray):
        return np.moveaxis(value, -1, 1)
    return (value[0], value[-1], *value[1:-1])


def attrs_first(attrs):
    moved = {k: to_first(v) for k, v in attrs.items() if k in ("ksize", "strides", "dilations")}
    pads = attrs["explicit_paddings"]
    pairs = to_first([tuple(pads[i : i + 2]) for i in range(0, len(pads), 2)]) if pads else ()
    layout = {"NHWC": "NCHW", "NDHWC": "NCDHW"}[attrs["data_format"]]
    return {
        **attrs, **moved, "explicit_paddings": sum(pairs, ()), "data_format": layout
    }  # fmt: skip


@given(problems(), st.booleans())
def test_channels_first_is_channels_last_transposed_in_pooling(p, with_ties):
    rng = p.rng()
    x = (tied if with_ties else distinct)(rng, p.shape)
    last, first = p.pool(), attrs_first(p.pool())
    ddx = rng.standard_normal(p.shape)
    for name in POOLS[p.dims]:
        y = call(name, x, **last)
        np.testing.assert_array_equal(to_first(y), call(name, to_first(x), **first))
        dy = rng.standard_normal(y.shape)
        if name.startswith("Avg"):
            dx = call(name + "Grad", np.array(p.shape), dy, **last)
            got = call(name + "Grad", np.array(to_first(p.shape)), to_first(dy), **first)
        else:
            dx = call(name + "Grad", x, y, dy, **last)
            got = call(name + "Grad", *map(to_first, (x, y, dy)), **first)
            ddy = call(name + "GradGrad", x, y, ddx, **last)
            np.testing.assert_array_equal(
                to_first(ddy), call(name + "GradGrad", *map(to_first, (x, y, ddx)), **first)
            )
        close(to_first(dx), got)


@given(problems(dilated=True))
def test_channels_first_is_channels_last_transposed_in_convolution(p):
    rng = p.rng()
    names = [conv_names(p)]
    if p.dims == 2:
        native = "DepthwiseConv2dNative"
        names.append((native, f"{native}BackpropInput", f"{native}BackpropFilter"))
    x, f = rng.standard_normal(p.shape), rng.standard_normal((*p.k, p.channels, 2))
    last, first = p.conv(), attrs_first(p.conv())
    for forward, to_input, to_filter in names:
        y = call(forward, x, f, **last)
        close(to_first(y), call(forward, to_first(x), f, **first))
        dy = rng.standard_normal(y.shape)
        dx = call(to_input, np.array(p.shape), f, dy, **last)
        close(to_first(dx), call(to_input, np.array(to_first(p.shape)), f, to_first(dy), **first))
        df = call(to_filter, x, np.array(f.shape), dy, **last)
        close(df, call(to_filter, to_first(x), np.array(f.shape), to_first(dy), **first))


# -- special windows ------------------------------------------------------------------------------


@given(problems())
def test_a_window_of_one_is_the_identity(p):
    x = p.rng().standard_normal(p.shape)
    one = {"ksize": (1,) * len(p.shape), "strides": (1,) * len(p.shape)}
    for padding in ("SAME", "VALID"):
        for name in POOLS[p.dims]:
            y = call(name, x, padding=padding, data_format=p.layout, **one)
            np.testing.assert_array_equal(y, x)


@given(problems(paddings=("VALID",), dilated=True), st.sampled_from(["VALID", "SAME"]))
def test_paddings_agree_when_they_pad_the_same(p, padding):
    rng = p.rng()
    reach = [(k - 1) * d + 1 for k, d in zip(p.k, p.d, strict=True)]
    if padding == "SAME":
        outs = [-(-n // s) for n, s in zip(p.space, p.s, strict=True)]
        total = [
            max(0, (o - 1) * s + r - n)
            for o, s, r, n in zip(outs, p.s, reach, p.space, strict=True)
        ]
        pads = tuple((t // 2, t - t // 2) for t in total)
        # Explicit padding also makes windows of what SAME leaves over at the end.
        assume(
            all((o - 1) * s + r >= n for o, s, r, n in zip(outs, p.s, reach, p.space, strict=True))
        )
    else:
        pads = ((0, 0),) * p.dims
    explicit = Problem(p.batch, p.space, p.channels, p.k, p.s, p.d, "EXPLICIT", pads, p.seed)
    other = Problem(p.batch, p.space, p.channels, p.k, p.s, p.d, padding, pads, p.seed)
    x, f = rng.standard_normal(p.shape), rng.standard_normal((*p.k, p.channels, 2))
    forward = conv_names(p)[0]
    np.testing.assert_array_equal(
        call(forward, x, f, **explicit.conv()), call(forward, x, f, **other.conv())
    )
    if set(p.d) == {1}:
        for name in POOLS[p.dims]:
            np.testing.assert_array_equal(
                call(name, x, **explicit.pool()), call(name, x, **other.pool())
            )


@given(problems(paddings=("VALID",)), st.integers(1, 3))
def test_same_is_valid_when_nothing_is_padded(p, windows):
    # Windows that do not overlap and end where the data ends need no padding.
    s = tuple(map(max, p.s, p.k))
    space = tuple((windows - 1) * step + k for step, k in zip(s, p.k, strict=True))
    valid = Problem(p.batch, space, p.channels, p.k, s, p.d, "VALID", p.pads, p.seed)
    x, f = p.rng().standard_normal(valid.shape), p.rng().standard_normal((*p.k, p.channels, 2))
    for name in POOLS[p.dims]:
        same = call(name, x, **{**valid.pool(), "padding": "SAME"})
        np.testing.assert_array_equal(call(name, x, **valid.pool()), same)
    name = conv_names(p)[0]
    same = call(name, x, f, **{**valid.conv(), "padding": "SAME"})
    np.testing.assert_array_equal(call(name, x, f, **valid.conv()), same)


@given(problems(batch=(1, 2)))
def test_pool_gradients_lose_nothing(p):
    rng = p.rng()
    x = tied(rng, p.shape)
    for name in POOLS[p.dims]:
        y = call(name, x, **p.pool())
        dy = rng.standard_normal(y.shape)
        args = (x, y, dy) if name.startswith("Max") else (np.array(p.shape), dy)
        close(call(name + "Grad", *args, **p.pool()).sum(), dy.sum())


@given(problems(paddings=("VALID",), batch=(1, 2)))
def test_moving_the_input_moves_the_output(p):
    x, f = p.rng().standard_normal(p.shape), p.rng().standard_normal((*p.k, p.channels, 2))
    larger = np.pad(x, [(0, 0), *((s, 0) for s in p.s), (0, 0)])
    kept = (slice(None), *(slice(1, None) for _ in p.s), slice(None))
    for name in POOLS[p.dims]:
        y = call(name, x, **p.pool())
        np.testing.assert_array_equal(call(name, larger, **p.pool())[kept], y)
    forward = conv_names(p)[0]
    y = call(forward, x, f, **p.conv())
    close(call(forward, larger, f, **p.conv())[kept], y)


@given(problems(dilated=True))
def test_a_dilated_filter_is_a_filter_with_holes(p):
    rng = p.rng()
    x, f = rng.standard_normal(p.shape), rng.standard_normal((*p.k, p.channels, 2))
    reach = tuple((k - 1) * d + 1 for k, d in zip(p.k, p.d, strict=True))
    holes = np.zeros((*reach, p.channels, 2))
    holes[tuple(slice(None, None, d) for d in p.d)] = f
    name = conv_names(p)[0]
    dense = {**p.conv(), "dilations": (1,) * len(p.shape)}
    close(call(name, x, f, **p.conv()), call(name, x, holes, **dense))


@given(problems(batch=(1, 2)), st.integers(2, 3))
def test_groups_do_not_see_each_other(p, groups):
    rng = p.rng()
    x = rng.standard_normal((*p.shape[:-1], p.channels * groups))
    f = rng.standard_normal((*p.k, p.channels, 2 * groups))
    name = conv_names(p)[0]
    parts = [
        call(name, a, b, **p.conv())
        for a, b in zip(np.split(x, groups, -1), np.split(f, groups, -1), strict=True)
    ]
    close(call(name, x, f, **p.conv()), np.concatenate(parts, -1))


# -- types and kernels -------------------------------------------------------------------------------


@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
@given(problems(batch=(1, 2)))
def test_half_types_round_once(half, p):
    rng = p.rng()
    x = rng.standard_normal(p.shape).astype(half)
    f = rng.standard_normal((*p.k, p.channels, 2)).astype(half)
    single = x.astype(np.float32)
    for name in POOLS[p.dims]:
        expected = call(name, single, **p.pool()).astype(half)
        np.testing.assert_array_equal(call(name, x, **p.pool()), expected)
    name = conv_names(p)[0]
    expected = call(name, single, f.astype(np.float32), **p.conv()).astype(half)
    np.testing.assert_array_equal(call(name, x, f, **p.conv()), expected)


@pytest.mark.parametrize("first", [False, True], ids=["channels last", "channels first"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@given(
    p=problems(batch=(1, 2), channels=(1, 2, 3, 8, 17)),
    special=st.sampled_from(["ties", "nan", "inf"]),
)
def test_fast_kernels_agree_with_the_reference(dtype, first, p, special):
    rng = p.rng()
    values = {"ties": [0, 1, 2], "nan": [np.nan, 1, 2], "inf": [-np.inf, np.inf, 0]}[special]
    x = rng.choice(values, p.shape).astype(dtype)
    y = call(POOLS[p.dims][0], x, **p.pool())
    dy, ddx = (rng.standard_normal(shape).astype(dtype) for shape in (y.shape, p.shape))
    attrs = p.pool()
    if first:
        x, y, dy, ddx, attrs = *map(to_first, (x, y, dy, ddx)), attrs_first(attrs)
    maximum, average = POOLS[p.dims]
    calls = {
        maximum: [x], average: [x], maximum + "Grad": [x, y, dy],
        maximum + "GradGrad": [x, y, ddx], average + "Grad": [np.array(x.shape, np.int32), dy],
    }  # fmt: skip
    if p.dims == 2:
        windows = [np.array(attrs[name], np.int32) for name in ("ksize", "strides")]
        for name in ("", "Grad", "GradGrad"):
            calls[f"{maximum}{name}V2"] = calls[maximum + name] + windows
    for name, inputs in calls.items():
        op = bb.ops.REGISTRY[name]
        how = {
            k: v
            for k, v in attrs.items()
            if not name.endswith("V2") or k not in ("ksize", "strides")
        }
        _, how, _ = op.bind(inputs, how)
        specs = [Spec.of(x) for x in inputs]
        assert [k.name for k in op.kernels if k.plan(*specs, **how)] == ["native"]
        (fast,), (naive,) = (op.run(inputs, how, kernel) for kernel in ("native", "reference"))
        # Sums may differ by the order in which they run, and after rounding by one step of the type.
        sums = name.startswith("Avg") or name.endswith(("Grad", "GradV2"))
        rtol = 4 * float(ml_dtypes.finfo(dtype).eps) if sums else 0
        np.testing.assert_allclose(
            fast.astype(float), naive.astype(float), rtol=rtol, atol=rtol, err_msg=name
        )


# -- strides ------------------------------------------------------------------------------------------


def reversed_view(x):
    turned = (slice(None, None, -1),) * x.ndim
    return x[turned].copy()[turned]


def every_second(x):
    wide = np.zeros((*x.shape, 2), x.dtype)
    wide[..., 0] = x
    return wide[..., 0]


def unaligned(x):
    view = np.ndarray(x.shape, x.dtype, bytearray(x.nbytes + 1), 1)
    view[...] = x
    return view


def broadcast(x):
    """Its first entries along the first axis, again and again: other numbers, without memory for them."""
    return np.broadcast_to(x[:1], x.shape) if x.ndim and x.dtype.kind in "fcV" else x


VIEWS = [reversed_view, np.asfortranarray, every_second, unaligned, broadcast]


def is_view(x):
    """Whether it lies in memory otherwise than its copy."""
    return x.strides != x.copy().strides or not x.flags.aligned


def bits(results):
    if isinstance(results, list | tuple):
        return [bits(each) for each in results]
    return results.tolist() if results.dtype.hasobject else (results.dtype, results.tobytes())


@pytest.mark.parametrize("name", [n for n in RECORDED if not bb.ops.REGISTRY[n].stateful])
def test_a_view_gives_the_bits_of_a_contiguous_array(name):
    op = getattr(raw, name)
    for call in recorded(name):
        arrays = {
            k: v
            for k, v in call["inputs"].items()
            if isinstance(v, np.ndarray) and not v.dtype.hasobject
        }
        others = {k: v for k, v in call["inputs"].items() if k not in arrays} | call["attrs"]
        for view in VIEWS:
            views = {k: view(v) for k, v in arrays.items()}
            if not any(map(is_view, views.values())):
                continue
            try:
                expected = bits(op(**{k: v.copy() for k, v in views.items()}, **others))
            except bb.OpError:
                continue
            for _ in range(2):  # the first call, and one like an earlier call
                assert bits(op(**views, **others)) == expected, (view.__name__, call["attrs"])
