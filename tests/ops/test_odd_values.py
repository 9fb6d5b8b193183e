"""Odd things that callers hand in, and what they do with what they got."""

import inspect
import pickle

import numpy as np
import pytest

import backblocks as bb
from backblocks.dtypes import BY_NAME
from backblocks.ops import _memory


class Unshowable:
    def __repr__(self):
        raise RuntimeError("no")


def endless():
    a = []
    a.append(a)
    return a


@pytest.mark.parametrize(
    ("call", "arg"),
    [
        (lambda: bb.ops.relu(endless()), "features"),
        (lambda: bb.ops.relu([1.0], name=np.array([1, 2])), "name"),
        (lambda: bb.ops.relu([1.0], name=7), "name"),
        (lambda: bb.ops.leaky_relu([1.0], alpha=10**400), "alpha"),
        (lambda: bb.ops.leaky_relu([1.0], alpha=Unshowable()), "alpha"),
        (
            lambda: bb.ops.fractional_max_pool([[[[1.0]]]], pooling_ratio=np.array(1.0)),
            "pooling_ratio",
        ),
        (lambda: bb.ops.cast([1.0], DstT=None), "DstT"),
        (lambda: bb.ops.cast([1.0], DstT=type("T", (), {"as_numpy_dtype": 1})()), "DstT"),
        (lambda: bb.ops.mul(np.float16([1]), 1e6), "y"),
        (lambda: bb.ops.size(np.broadcast_to(np.int8(0), (2**33,))), "input"),
        (lambda: bb.ops.unpack(bb.placeholder(None), num=2**31 - 1), "num"),
    ],
)
def test_odd_values_are_refused_by_name(call, arg):
    with pytest.raises(bb.OpError) as caught:
        call()
    assert caught.value.arg == arg
    assert caught.value.hint
    assert str(caught.value)


def zeros(*shape):
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("op", "inputs", "axis", "words"),
    [
        ("MatMul", {"a": zeros(2, 3), "b": zeros(4, 5)}, 0, "3; got 4 (axis 0)"),
        ("BatchMatMulV2", {"x": zeros(1, 2, 3), "y": zeros(1, 4, 5)}, 1, "got 4 (axis 1)"),
        ("Add", {"x": zeros(2, 3), "y": zeros(2, 4)}, 1, "got [2, 4] (axis 1)"),
        ("AddN", {"inputs": [zeros(2), zeros(2), zeros(3)]}, 0, "[3] for inputs[2] (axis 0)"),
        ("Pack", {"values": [zeros(2), zeros(3)]}, 0, "got [3] for values[1] (axis 0)"),
        ("BiasAdd", {"value": zeros(2, 3), "bias": zeros(4)}, 0, "got [4] (axis 0)"),
        (
            "ConcatV2",
            {"values": [zeros(2, 3, 4), zeros(2, 9, 4)], "axis": 0},
            1,
            "[?, 3, 4]; got [2, 9, 4] for values[1] (axis 1)",
        ),
        (
            "ConcatOffset",
            {"concat_dim": 0, "shape": [np.int32([2, 3]), np.int32([2, 9])]},
            1,
            "got [2, 9] for shape[1] (axis 1)",
        ),
        (
            "Einsum",
            {"inputs": [zeros(2, 3), zeros(7, 4, 5)], "equation": "ij,...jk->...ik"},
            1,
            "got 4 for inputs[1] (axis 1)",
        ),
        ("Slice", {"input": zeros(2, 3), "begin": [0, 1], "size": [2, 3]}, 1, "inside axis 1"),
        ("Slice", {"input": zeros(2, 3), "begin": [0, 5], "size": [2, 1]}, 1, "size of axis 1"),
        ("Squeeze", {"input": zeros(2, 1, 3), "axis": [-1]}, 2, "axis 2 has 3"),
    ],
)
def test_the_axis_at_fault_is_named(op, inputs, axis, words):
    with pytest.raises(bb.OpError) as caught:
        getattr(bb.raw_ops, op)(**inputs)
    assert caught.value.axis == axis
    assert words in str(caught.value)


def test_the_axis_of_what_is_fed_is_named():
    x = bb.placeholder([None, 3], name="x")
    with pytest.raises(bb.OpError, match=r"got float32 \[2, 4\] \(axis 1\)") as caught:
        bb.Session().run(x, {x: zeros(2, 4)})
    assert caught.value.axis == 1


def test_infinity_fits_in_every_float_type():
    assert np.isinf(bb.ops.mul(np.float16([1]), float("inf")))[0]


def test_one_typed_number_gives_a_list_its_type():
    assert bb.ops.identity([1, np.float64(2)]).dtype == np.float64
    assert bb.ops.identity([[1.0], [2.0]]).dtype == np.float32


def test_results_errors_and_ops_travel():
    result = bb.ops.top_k_v2([3.0, 1, 2], 2)
    again = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert type(again) is type(result)
    np.testing.assert_array_equal(again.indices, result.indices)
    for op in (bb.ops.relu, bb.raw_ops.Relu):
        again = pickle.loads(pickle.dumps(op))  # noqa: S301
        assert again(features=[-1.0, 2]).tolist() == [0, 2]
    error = bb.OpError("must be shown", got=(n for n in ()))
    assert "generator" in str(pickle.loads(pickle.dumps(error)))  # noqa: S301


def test_signatures_and_documentation_can_be_read():
    parameters = inspect.signature(bb.ops.max_pool).parameters
    assert list(parameters)[:2] == ["input", "ksize"]
    assert parameters["data_format"].default == "NHWC"
    assert parameters["input"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD


def test_outputs_do_not_share_memory():
    x = np.random.default_rng(0).standard_normal((2, 3, 3, 2))
    one, zero = np.ones(2), np.zeros(2)
    for how in ({"is_training": True}, {"is_training": False}):
        results = bb.ops.fused_batch_norm(x, one, zero, zero.copy(), one.copy(), **how)
        for i, a in enumerate(results):
            assert not any(np.shares_memory(a, b) for b in results[i + 1 :])


NOTHING = np.zeros((0, 1, 1, 1), np.float32)
SLIDE = {"strides": (1, 1, 1, 1), "padding": "SAME"}


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "call",
    [
        lambda: bb.ops.conv_2d_backprop_filter(NOTHING, [3000, 3000, 1, 1], NOTHING, **SLIDE),
        lambda: bb.ops.conv_2d_backprop_input(
            [1, 9, 9, 1], np.zeros((300, 300, 1, 0)), np.zeros((1, 9, 9, 0)), **SLIDE
        ),
        lambda: bb.ops.depthwise_conv_2d_native_backprop_filter(
            NOTHING, [3000, 3000, 1, 1], NOTHING, **SLIDE
        ),
        lambda: bb.ops.dilation_2d_backprop_filter(
            NOTHING, np.zeros((3000, 3000, 1), np.float32), NOTHING, rates=(1, 1, 1, 1), **SLIDE
        ),
    ],
    ids=["conv filter", "conv input", "depthwise filter", "dilation filter"],
)
def test_sums_of_nothing_take_no_time(call):
    assert not call().any()


def test_what_is_made_on_the_way_must_fit_too(monkeypatch):
    monkeypatch.setattr(_memory, "available_bytes", lambda: 40 << 20)
    monkeypatch.setattr(_memory, "SMALL", 0)
    with pytest.raises(bb.OpError, match="GiB are free") as caught:
        bb.ops.fused_resize_and_pad_conv_2d(
            np.ones((1, 2, 2, 1), np.float32),
            [2000, 2000],
            [[0, 0], [2000, 2000], [2000, 2000], [0, 0]],
            np.ones((1, 1, 1, 1), np.float32),
            mode="SYMMETRIC",
            strides=(1, 4000, 4000, 1),
            padding="VALID",
        )
    assert caught.value.arg == "paddings"


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_denormals_are_numbers_like_others(dtype):
    """TensorFlow takes them for 0. Compiled kernels run on threads of their own, which must not either."""
    kind = BY_NAME[dtype]
    bits = np.dtype(f"u{kind.itemsize}")
    # As bits: a processor that takes them for 0 would say of any two that they are equal.
    row = np.array([1, 1 | 1 << 8 * kind.itemsize - 1, 2, 0], bits)
    cells = np.tile(row, (64, 64, 4, 1))
    x = cells.view(kind)
    slide = {"strides": (1, 1, 1, 1), "padding": "VALID"}
    same = {
        "Conv2D": bb.ops.conv_2d(x, np.eye(4).astype(kind)[None, None], **slide),
        "Conv": bb.ops.conv(x, np.eye(4).astype(kind)[None, None], **slide),
        "DepthwiseConv2dNative": bb.ops.depthwise_conv_2d_native(
            x, np.ones((1, 1, 4, 1), kind), **slide
        ),
        "MaxPool": bb.ops.max_pool(x, ksize=(1, 1, 1, 1), **slide),
        "AvgPool": bb.ops.avg_pool(x, ksize=(1, 1, 1, 1), **slide),
        "MatMul": bb.ops.mat_mul(x[0, 0], np.eye(4).astype(kind)),
        "AddV2": bb.ops.add_v2(x, np.zeros_like(x)),
        "Mul": bb.ops.mul(x, np.ones_like(x)),
        "Sum": bb.ops.sum(x[None], [0]),
        "Tanh": bb.ops.tanh(x),
        "Neg": bb.ops.neg(bb.ops.neg(x)),
    }
    for op, y in same.items():
        expected = cells[0, 0] if op == "MatMul" else cells
        np.testing.assert_array_equal(y.view(bits), expected, op)
    np.testing.assert_array_equal(
        bb.ops.relu(x[0, 0]).view(bits), np.tile(row * [1, 0, 1, 1], (4, 1))
    )
    np.testing.assert_array_equal(bb.ops.ceil(x[0, 0, 0]), np.array([1, 0, 1, 0], kind))
    assert bb.ops.equal(x[0, 0, 0], np.zeros(4, kind)).tolist() == [False, False, False, True]
