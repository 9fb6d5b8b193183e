"""A call like an earlier one is not checked again: the answers are the same, and so are the errors."""

import contextlib
import sys
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import backblocks as bb
from backblocks.ops import REGISTRY
from backblocks.ops._op import MOST_CACHED_CALLS, Op, op
from backblocks.ops._plan import Plan
from backblocks.raw_ops import RawOp

X = np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2)
HOW = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
CASES = [
    pytest.param(op, case, id=f"{op.name}: {case.about}")
    for op in REGISTRY.values()
    for case in op.cases
    if not op.stateful and op.outputs
]


def opened(op, results):
    """Every array of a result, with lists opened."""
    results = results if len(op.outputs) > 1 else [results]
    return [array for r in results for array in (r if isinstance(r, list) else [r])]


def cells(array):
    """What is in an array, to the bit; the cells of text lie elsewhere."""
    return array.tolist() if array.dtype.hasobject else array.tobytes()


def answers(op, args):
    return [cells(array) for array in opened(op, op(**args))]


@pytest.mark.parametrize(("op", "case"), CASES)
def test_the_second_call_gives_what_the_first_gave(op, case):
    assert answers(op, case.args) == answers(op, case.args)


@pytest.fixture
def counted():
    """MaxPool, and a list that grows by one whenever its shape rule is asked."""
    op, asked = REGISTRY["MaxPool"], []
    rule = op.shape_rule
    op.call_cache.clear()
    op.shape_rule = lambda *specs, **attrs: asked.append(specs) or rule(*specs, **attrs)
    yield op, asked
    op.shape_rule = rule


def test_a_like_call_is_not_checked_again(counted):
    op, asked = counted
    for value in (1, 2, 3):
        x = np.full_like(X, value)
        assert (op(input=x, **HOW) == value).all()
        assert (bb.raw_ops.MaxPool(input=x, **HOW) == value).all()
        assert (op(x, **HOW) == value).all()
    assert len(asked) == 1


@pytest.mark.parametrize("call", [bb.raw_ops.MaxPool, bb.ops.max_pool], ids=str)
def test_a_like_call_into_an_array_is_not_checked_again(counted, call):
    _, asked = counted
    first, out = call(input=X, **HOW), np.zeros((1, 2, 2, 2), np.float32)
    assert call(input=X, **HOW, out=out) is out
    assert call(input=X, **HOW, out=None) is not out
    assert out.tobytes() == first.tobytes()
    assert len(asked) == 1


@pytest.fixture
def keys(monkeypatch):
    """A list that grows by one whenever Python has a key computed."""
    asked, cache = [], REGISTRY["MaxPoolV2"].call_cache

    class Counting:
        by_value, put, clear = cache.by_value, cache.put, cache.clear

        def key(self, given):
            asked.append(given)
            return cache.key(given)

    monkeypatch.setattr(REGISTRY["MaxPoolV2"], "call_cache", Counting())
    return asked


def test_a_call_computes_its_key_once(keys):
    how = {"strides": [1, 1, 1, 1], "padding": "VALID"}
    cache = REGISTRY["MaxPoolV2"].call_cache
    bb.raw_ops.MaxPoolV2(input=X, ksize=np.array([1, 2, 1, 1], np.int32), **how)
    keys.clear()
    cache.clear()
    bb.raw_ops.MaxPoolV2(input=X, ksize=np.array([1, 2, 2, 1], np.int32), **how)
    bb.ops.max_pool_v2(X, np.array([1, 2, 2, 1], np.int32), **how)
    assert not keys, "native code has computed it before"
    cache.by_value.clear()
    cache.clear()
    bb.ops.max_pool_v2(X, np.array([1, 2, 2, 1], np.int32), **how)
    assert len(keys) == 1, "the key gets longer when a rule first looks at numbers"


@pytest.mark.parametrize(
    "change",
    [
        {"input": X[:, :3]},
        {"input": X.astype(np.float64)},
        {"ksize": [1, 2, 1, 1]},
        {"ksize": (1, 2, 2, 1, 1)},
        {"padding": "SAME"},
        {"padding": "same"},
        {"data_format": "NCHW"},
        {"ksize": [1, 2, 2, True]},
        {"ksize": [1, 2.0, 2, 1]},
        {"ksize": [1, 2, 2, [1]]},
        {"ksize": np.array([1, 2, 1, 1])},
        {"ksize": None},
        {"nonsense": 1},
    ],
    ids=str,
)
def test_another_call_is_checked(counted, change):
    op, asked = counted
    args = {"input": X, **HOW}
    op(**args)
    before, plans = len(asked), len(op.call_cache)
    try:
        op(**args | change)
    except bb.OpError:
        assert len(op.call_cache) == plans, "a refusal is no plan"
    else:
        assert len(asked) > before


def test_arrays_given_for_attributes_are_told_apart_by_their_numbers():
    for k in (1, 2, 1):
        y = bb.raw_ops.MaxPool(input=X, **HOW | {"ksize": np.array([1, k, k, 1])})
        assert y[0, 0, 0, 0] == (0 if k == 1 else 10)


def test_inputs_that_a_shape_rule_looks_at_are_told_apart_by_their_numbers():
    x = np.arange(12)
    for shape in ((3, 4), (4, 3), (3, 4)):
        assert bb.raw_ops.Reshape(tensor=x, shape=np.array(shape)).shape == shape
        assert bb.raw_ops.Reshape(tensor=x, shape=list(shape)).shape == shape
    labels = np.array([0, 1], np.int32)
    features = np.zeros((2, 3), np.float32)
    call = bb.raw_ops.SparseSoftmaxCrossEntropyWithLogits
    call(features=features, labels=labels)
    with pytest.raises(bb.OpError, match="labels"):
        call(features=features, labels=labels + 5)


def test_an_array_that_had_to_be_converted_is_looked_at_again():
    how = {"input": X, "strides": [1, 1, 1, 1], "padding": "VALID"}
    for k in (1, 2, 1):
        y = bb.raw_ops.MaxPoolV2(ksize=np.array([1, k, 1, 1], np.int64), **how)
        assert y.shape == (1, 5 - k, 4, 2)
    with pytest.raises(bb.OpError, match="int32"):
        bb.raw_ops.MaxPoolV2(ksize=np.array([1, 2**40, 1, 1]), **how)


def test_the_order_of_an_array_does_not_matter():
    other = np.asfortranarray(X)
    y = bb.raw_ops.MaxPool(input=X, **HOW)
    for _ in range(2):
        assert bb.raw_ops.MaxPool(input=other, **HOW).tobytes() == y.tobytes()
        assert bb.raw_ops.MaxPool(input=X[:, ::-1], **HOW)[0, 0, 0, 1] == y[0, 1, 0, 1]


def test_zeros_of_both_signs_are_told_apart():
    x = np.array([-1.0, 1], np.float32)
    for alpha in (0.0, -0.0, 0.0):
        y = bb.raw_ops.LeakyRelu(features=x, alpha=alpha)
        assert np.signbit(y[0]) == (not np.signbit(alpha))


def test_only_so_many_are_remembered(counted):
    op, _ = counted
    for n in range(1, MOST_CACHED_CALLS + 20):
        op(input=np.zeros((1, 2, n + 1, 1), np.float32), **HOW)
    assert len(op.call_cache) == MOST_CACHED_CALLS
    assert (op(input=X, **HOW) == [[10, 11], [14, 15]]).any()


@given(st.lists(st.recursive(st.integers() | st.floats() | st.text() | st.none(), st.lists)))
def test_odd_lists_have_a_key_of_their_own_or_none(values):
    x = np.arange(6.0, dtype=np.float32)
    for _ in range(2):
        try:
            bb.raw_ops.Reshape(tensor=x, shape=values)
        except bb.OpError:
            continue
        assert np.prod(values) in (6, -6)


# -- calls that are repeated without Python ---------------------------------------------------------

SUM = {"orig_input_shape": [1, 4, 4, 2], **HOW}
DY = np.ones((1, 2, 2, 2), np.float32)


@pytest.fixture
def in_python(monkeypatch):
    """The methods that calls were left to: to plan them, or to compute them."""
    left = []

    def noting(kind, name):
        method = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda *args: left.append(name) or method(*args))

    noting(Op, "call_uncached")
    noting(Op, "execute")
    noting(Plan, "compute")
    return left


REPEATED = [
    ("MaxPool", {"input": X, **HOW}),
    ("MaxPoolGrad", {"orig_input": X, "orig_output": DY, "grad": DY, **HOW}),
    ("AvgPoolGrad", {"grad": DY, **SUM}),
    ("AvgPoolGrad", {"grad": DY, **SUM, "orig_input_shape": np.array([1, 4, 4, 2], np.int32)}),
]


@pytest.mark.parametrize("home", [bb.raw_ops, bb.ops], ids=["raw_ops", "ops"])
@pytest.mark.parametrize(("name", "args"), REPEATED, ids=lambda part: str(part)[:30])
def test_a_like_call_is_not_left_to_python(in_python, home, name, args):
    call = getattr(home, name if home is bb.raw_ops else REGISTRY[name].snake_name)
    REGISTRY[name].call_cache.clear()
    first = call(**args)
    in_python.clear()
    again, other = call(**args), call(**{n: args[n] for n in reversed(args)})
    assert again.tobytes() == other.tobytes() == first.tobytes()
    assert again is not first
    assert in_python == ["call_uncached", "execute"], "another order of arguments is another call"


@pytest.mark.parametrize(
    "change",
    [
        {"input": np.asfortranarray(X)},
        {"input": X.view(type("Own", (np.ndarray,), {}))},
        {"input": X.astype(object)},
        {"input": X.tolist()},
        {"ksize": [1, 2, 2, True]},
        {"ksize": [1, 2, 2, 1.0]},
        {"ksize": np.array(HOW["ksize"])},
        {"nonsense": 1},
    ],
    ids=str,
)
def test_any_other_call_is_left_to_python(in_python, change):
    args = {"input": X, **HOW}
    REGISTRY["MaxPool"].call_cache.clear()
    first = bb.raw_ops.MaxPool(**args)
    in_python.clear()
    with contextlib.suppress(bb.OpError):
        assert (bb.raw_ops.MaxPool(**args | change) == first).all()
    assert in_python


def test_like_calls_by_position_are_not_left_to_python(in_python):
    REGISTRY["MaxPoolGrad"].call_cache.clear()
    first = bb.ops.max_pool_grad(X, DY, DY, **HOW)
    in_python.clear()
    assert bb.ops.max_pool_grad(X, DY, DY, **HOW).tobytes() == first.tobytes()
    assert bb.ops.max_pool_grad(X, DY, grad=DY, **HOW).tobytes() == first.tobytes()
    assert not in_python


def test_a_call_without_arguments_is_like_no_other():
    call = RawOp(REGISTRY["MaxPool"])
    with pytest.raises(bb.OpError, match=r"MaxPool\.input: must be given"):
        call(*[], **{})


def test_a_list_that_was_changed_makes_another_call():
    ksize = [1, 2, 2, 1]
    how = HOW | {"ksize": ksize, "strides": [1, 1, 1, 1]}
    for k in (2, 3, 2, 4):
        ksize[1] = k
        assert bb.raw_ops.MaxPool(input=X, **how).shape == (1, 5 - k, 3, 2)


def test_a_scope_takes_like_calls_too(in_python):
    bb.raw_ops.MaxPool(input=X, **HOW)
    in_python.clear()
    with bb.Scope():
        symbol = bb.raw_ops.MaxPool(input=X, **HOW)
    assert isinstance(symbol, bb.Symbol)
    assert in_python == ["call_uncached"]


def test_repeated_calls_keep_nothing():
    args = {"grad": DY.copy(), **SUM}
    bb.raw_ops.AvgPoolGrad(**args)
    results = [bb.raw_ops.AvgPoolGrad(**args) for _ in range(2)]
    held = [*args.values(), *results, "grad"]
    before = [sys.getrefcount(each) for each in held]
    for _ in range(1000):
        bb.raw_ops.AvgPoolGrad(**args)
    assert [sys.getrefcount(each) for each in held] == before
    gone = [weakref.ref(result) for result in results]
    del results, held
    assert not any(each() is not None for each in gone)


def test_plans_may_be_forgotten_while_other_threads_repeat_them(counted):
    op, _ = counted
    call, wrong = bb.raw_ops.MaxPool, []

    def repeat(k):
        x = np.full((1, 2, 2, k), k, np.float32)
        for _ in range(300):
            wrong.extend([k] if not (call(input=x, **HOW) == k).all() else ())
            op.call_cache.clear()

    threads = [threading.Thread(target=repeat, args=(1 + k % 3,)) for k in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


# -- results in arrays that the caller gives ------------------------------------------------------


@pytest.mark.parametrize(("op", "case"), CASES)
def test_results_can_be_computed_into_arrays(op, case):
    first = op(**case.args)
    arrays = opened(op, first)
    for _ in range(2):
        out = [np.full_like(array, 7) for array in arrays]
        op(**case.args, out=out[0] if first is arrays[0] else out)
        for mine, want in zip(out, arrays, strict=True):
            assert cells(mine) == cells(want)


def test_what_is_given_as_out_comes_back():
    for call, args in (
        (bb.raw_ops.MaxPool, {"input": X, **HOW}),
        (bb.raw_ops.Tanh, {"x": X}),
    ):
        for _ in range(2):
            out = np.empty_like(call(**args))
            assert call(**args, out=out) is out


READ_ONLY = np.empty((1, 2, 2, 2), np.float32)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("out", "rule"),
    [
        ([[1.0]], "NumPy array"),
        (np.empty((1, 2, 2, 3), np.float32), r"float32 \[1, 2, 2, 2\]"),
        (np.empty((1, 2, 2, 2)), "float32"),
        (np.empty((1, 2, 2, 4), np.float32)[..., ::2], "row-major"),
        (READ_ONLY, "writeable"),
        (X.reshape(-1)[:8].reshape(1, 2, 2, 2), "share no memory"),
    ],
)
def test_arrays_that_cannot_take_the_result_are_refused(out, rule):
    before = X.copy()
    for _ in range(2):
        with pytest.raises(bb.OpError, match=rf"MaxPool\.out: .*{rule}"):
            bb.raw_ops.MaxPool(input=X, **HOW, out=out)
        bb.raw_ops.MaxPool(input=X, **HOW)
    assert (before == X).all()


def test_several_outputs_want_several_arrays():
    args = {"input": X, "ksize": HOW["ksize"], "strides": HOW["strides"], "padding": "VALID"}
    first = bb.raw_ops.MaxPoolWithArgmax(**args)
    with pytest.raises(bb.OpError, match="list of 2 arrays"):
        bb.raw_ops.MaxPoolWithArgmax(**args, out=np.empty_like(first.output))
    out = [np.empty_like(first.output)] * 2
    with pytest.raises(bb.OpError, match="out"):
        bb.raw_ops.MaxPoolWithArgmax(**args, out=out)


def test_a_symbol_takes_no_out():
    x = bb.placeholder([1, 4, 4, 2], "float32")
    with pytest.raises(bb.OpError, match=r"MaxPool\.out: .*symbols"):
        bb.raw_ops.MaxPool(input=x, **HOW, out=np.empty(1))


def test_no_op_may_have_an_argument_of_that_name():
    with pytest.raises(TypeError, match="every op has"):

        @op("HasOut", "float32 -> float32")
        def has_out(out):
            return out

    assert "HasOut" not in REGISTRY


# -- sizes that are known only afterwards ----------------------------------------------------------


def test_sizes_may_be_known_only_afterwards():
    for x in ([1, 0, 1], [0, 0, 0], [1, 1, 1]):
        places = bb.raw_ops.Where(condition=np.array(x))
        assert places[:, 0].tolist() == [i for i in range(3) if x[i]]
    for x in ([5, 5, 5], [5, 6, 5]):
        assert bb.raw_ops.Unique(x=np.array(x)).y.tolist() == sorted(set(x))


def test_an_array_for_such_a_result_must_have_its_size():
    for n, x in ((2, [1, 0, 1]), (1, [0, 0, 1])):
        out = np.empty((n, 1), np.int64)
        assert bb.raw_ops.Where(condition=np.array(x), out=out) is out
        with pytest.raises(bb.OpError, match=r"Where\.out: must have the shape of the result"):
            bb.raw_ops.Where(condition=np.array([1, 1, 1]), out=out)
    with pytest.raises(bb.OpError, match=r"Where\.out: must be int64 \[\?, 1\]"):
        bb.raw_ops.Where(condition=np.array([1, 1, 1]), out=np.empty(3, np.int64))


def test_only_ops_that_say_so_may_leave_sizes_open():
    @op("Forgetful", "float32 -> float32")
    def forgetful(x):
        return x

    forgetful.shape(lambda x: (None,))
    try:
        with pytest.raises(bb.InternalError, match=r"left \[\?\] open"):
            forgetful(np.zeros(2, np.float32))
    finally:
        del REGISTRY["Forgetful"]
