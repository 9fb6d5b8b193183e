"""What must hold of every op. A new op is covered by being declared.

A test that cannot hold for an op is expected to fail there, for the reason in `exempt.py`, and fails if it
passes. So no test skips a case or leaves it out: what it was to try is counted, and compared.
"""

import inspect
import re
from contextlib import contextmanager, nullcontext

import exempt
import numpy as np
import pytest
import test_complex
from recorded import RECORDED, recorded

import backblocks as bb
from backblocks.dtypes import BY_NAME, SMALL, is_float, is_half, is_integer, wider
from backblocks.graph.symbol import placeholder
from backblocks.ops import REGISTRY
from backblocks.ops._declaration import snake
from backblocks.ops._handles import RESOURCE, fresh, state_in
from backblocks.ops._op import zero_gradient
from backblocks.ops._spec import Spec, broadcast
from backblocks.ops._values import each_value, flat

OPS = [pytest.param(op, id=name) for name, op in REGISTRY.items()]


def has_handles(op):
    return any(pin.dtype == "resource" for pin in (*op.inputs, *op.outputs))


def expected_to_fail(values, reasons, name=str):
    """Parameters of a test, those of which an exemption says that it fails marked so."""
    names = [name(value) for value in values]
    assert not set(reasons) - set(names), "an exemption from a test that there is not"
    fails = {
        each: pytest.mark.xfail(reason=reason, raises=(AssertionError, bb.OpError))
        for each, reason in reasons.items()
    }
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            id=each,
            marks=fails.get(each, ()),
        )
        for each, value in zip(names, values, strict=True)
    ]


def name_of(op):
    return op.name


@contextmanager
def told(case):
    """Says of which case an error is."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the case {case.about!r}")
        raise


def for_each_case(ops, of="cases"):
    """Has a test of an op and a case be one test of the op, which runs for each of its cases."""

    def declare(test):
        @pytest.mark.parametrize(
            "op", [pytest.param(op, id=op.name) for op in ops if getattr(op, of)]
        )
        def for_all(op):
            for case in getattr(op, of):
                with told(case):
                    test(op, case)

        for_all.__name__, for_all.__doc__ = test.__name__, test.__doc__
        return for_all

    return declare


def dtypes_of(op, pin):
    return op._dtypes.get(pin.dtype, ())


# Ops on values alone. What a handle stands for changes from call to call, is of a few types, and is no
# constant and no variable.
PURE_OPS = [op for op in REGISTRY.values() if not has_handles(op)]
STRING = BY_NAME["string"]
FLOATS = tuple(map(BY_NAME.get, ("bfloat16", "float16", "float32", "float64")))


def text_only(allowed):
    return all(dtype.hasobject for dtype in allowed)


def prepared(op, case):
    """Inputs as arrays and parsed attributes of a case."""
    inputs, attrs, _ = op.bind((), case.args)
    return op.arrays(inputs), attrs


def answers(op, case):
    return case.out if isinstance(case.out, tuple) else (case.out,)


def run(op, inputs, attrs, kernel=""):
    """All results, with lists of tensors opened. What handles stand for stays as it is."""
    return tuple(flat(op.run(each_value(fresh, inputs), attrs, kernel)))


def assert_close(got, expected, **how):
    if got.dtype == RESOURCE:
        assert repr(state_in(got)) == expected
        return
    if got.dtype.kind == "O":
        assert got.tolist() == np.asarray(expected, object).tolist()
        return
    if got.dtype.kind == "V" or is_half(got.dtype):
        got = got.astype(np.float32)
    np.testing.assert_allclose(got, np.asarray(expected).astype(got.dtype), **how)


@pytest.mark.parametrize("op", OPS)
def test_is_complete(op):
    assert op.description, "say in one sentence what it computes"
    assert op.shape_rule, "say what shape comes out"
    assert op.cases or op.fed or op.holds or op.files, "give a worked case"
    assert op.stateful or not op.files, "its answer depends on files"
    handles = [pin for pin in (*op.inputs, *op.outputs) if pin.dtype == "resource"]
    assert op.stateful or not handles, "its answer depends on more than its inputs"
    assert op.gradient or op.no_gradient_because, "give a gradient, or say why there is none"
    assert op.version >= 1


@pytest.mark.parametrize("op", OPS)
def test_is_called_by_its_own_names(op):
    raw = getattr(bb.raw_ops, op.name)
    assert getattr(bb.ops, snake(op.name)) is op
    names = list(inspect.signature(raw).parameters)
    assert names == [
        *(pin.name for pin in op.inputs),
        *(a.name for a in op.attrs.values() if not a.beyond_tensorflow),
        "name",
        *(a.name for a in op.attrs.values() if a.beyond_tensorflow),
        "out",
    ]


@for_each_case(REGISTRY.values())
def test_gives_the_known_answer(op, case):
    inputs, attrs = prepared(op, case)
    for got, expected in zip(run(op, inputs, attrs), answers(op, case), strict=True):
        assert got.shape == np.shape(expected)
        assert_close(got, expected, rtol=1e-6, atol=1e-6)


@for_each_case(filter(has_handles, REGISTRY.values()))
def test_leaves_the_known_state(op, case):
    args = case.args
    before = {name: repr(state_in(x)) for name, x in args.items() if is_handle(x)}
    op(**args)
    after = {name: repr(state_in(args[name])) for name in before}
    assert after == before | case.leaves


def is_handle(value):
    return isinstance(value, np.ndarray) and value.dtype == RESOURCE


@for_each_case(REGISTRY.values())
def test_raw_op_gives_what_the_op_gives(op, case):
    raw = getattr(bb.raw_ops, op.name)(**case.args, name="a name")
    mine = op(**case.args)
    pairs = zip(raw, mine, strict=True) if isinstance(raw, list | tuple) else [(raw, mine)]
    for a, b in pairs:
        if not is_handle(a):
            np.testing.assert_array_equal(a, b)
    if len(op.outputs) > 1:
        assert raw._fields == tuple(pin.name for pin in op.outputs)


@for_each_case(REGISTRY.values())
def test_shape_rule_foretells_the_result(op, case):
    inputs, attrs = prepared(op, case)
    specs = list(flat(op.infer(each_value(Spec.of, inputs), attrs)))
    results = run(op, inputs, attrs)
    assert [s.dtype for s in specs] == [r.dtype for r in results]
    for spec, result in zip(specs, results, strict=True):
        assert spec.shape == result.shape or (op.data_dependent_shape and may_be(spec, result))


def may_be(spec, result):
    """Whether a shape rule says nothing false of a result."""
    return spec.shape is None or (
        len(spec.shape) == result.ndim
        and all(n in (None, m) for n, m in zip(spec.shape, result.shape, strict=True))
    )


def parts(inputs):
    """Which inputs a test may know less of: all, each one, and all but each one."""
    numbers = set(range(len(inputs)))
    each = [{i} for i in numbers] if len(numbers) > 1 else []
    return [numbers, *each, *(numbers - one for one in each if len(numbers) > 2)]


@for_each_case(REGISTRY.values())
def test_shape_rule_says_nothing_false_when_it_knows_less(op, case):
    for unknown in ("sizes", "rank", "values"):
        check_knowing_less(op, case, unknown)


def check_knowing_less(op, case, unknown):
    def less(array):
        shape = {"sizes": (None,) * array.ndim, "values": array.shape}.get(unknown)
        return Spec(shape, array.dtype)

    inputs, attrs = prepared(op, case)
    results = run(op, inputs, attrs)
    for part in parts(inputs):
        known = [each_value(less if i in part else Spec.of, [x])[0] for i, x in enumerate(inputs)]
        specs = tuple(flat(op.infer(known, attrs)))
        assert len(specs) == len(results)
        for spec, result in zip(specs, results, strict=True):
            assert spec.dtype == result.dtype
            assert may_be(spec, result)


@pytest.mark.parametrize("name", ["Sum", "Mean"])
def test_any_axis_may_be_the_one_that_is_kept(name):
    axis = Spec((1,), BY_NAME["int32"])  # which one is not known yet
    (spec,) = REGISTRY[name].infer([Spec((2, 3), BY_NAME["float32"]), axis], {"keep_dims": True})
    assert spec.shape == (None, None)


@pytest.mark.parametrize(
    ("x", "y", "both"),
    [(3, None, 3), (None, 3, 3), (1, None, None), (None, 1, None), (None, None, None)],
)
def test_what_broadcasting_leaves_of_an_unknown_size(x, y, both):
    assert broadcast("y", (x, 2), (y, 1)) == (both, 2)


@for_each_case(REGISTRY.values(), "refusals")
def test_refuses_with_a_clear_message(op, refusal):
    with pytest.raises(bb.OpError, match=refusal.error) as caught:
        op(**refusal.args)
    error = caught.value
    assert error.op == op.name
    assert error.arg, "the argument at fault is named"
    assert str(error).startswith(f"{op.name}.{error.arg}: ")
    assert error.hint, "it says what to do"
    assert re.search(r"^\w+\.\w+: .+; got .+\. .+\.$", str(error)), (
        "op, argument, rule, value, hint"
    )


@for_each_case(PURE_OPS)
def test_does_not_care_about_memory_layout(op, case):
    inputs, attrs = prepared(op, case)
    every_other = each_value(lambda x: np.repeat(x[..., None], 2, -1)[..., 0], inputs)
    backwards = each_value(lambda x: np.ascontiguousarray(x[::-1])[::-1] if x.ndim else x, inputs)
    swapped = each_value(lambda x: x.copy(order="F"), inputs)
    expected = run(op, inputs, attrs)
    for other in (every_other, backwards, swapped):
        for got, want in zip(run(op, other, attrs), expected, strict=True):
            np.testing.assert_array_equal(got, want)


@for_each_case(PURE_OPS)
def test_leaves_its_inputs_alone(op, case):
    inputs, attrs = prepared(op, case)
    inputs = each_value(np.copy, inputs)
    before = each_value(np.copy, inputs)
    for x in flat(inputs):
        x.flags.writeable = False
    results = run(op, inputs, attrs)
    for x, b in zip(flat(inputs), flat(before), strict=True):
        np.testing.assert_array_equal(x, b)
        assert not any(np.shares_memory(x, r) for r in results), "a result must not be a view"


@np.errstate(all="ignore")
def in_type(x, dtype):
    """`x` in another type, without what that type does not have: imaginary parts, signs, NaN and infinities.

    In text 0 is the empty string, and some numbers end in a zero byte.
    """
    if dtype.kind == "O" and x.dtype.kind != "O":
        out = np.empty(x.shape, object)
        for at, number in np.ndenumerate(x):
            out[at] = repr(number).encode() + b"\0" * int(number == 2) if number else b""
        return out
    x = x.real if x.dtype.kind == "c" and dtype.kind != "c" else x
    if is_integer(dtype) and is_float(x.dtype):
        x = np.where(np.isfinite(x), x, 0)
    return (np.abs(x) if dtype.name.startswith("uint") and x.dtype.kind != "O" else x).astype(dtype)


def moved(op, inputs, variable, dtype):
    """The inputs of a type variable in another type."""
    pairs = zip(op.inputs, inputs, strict=True)
    return [
        each_value(lambda x: in_type(x, dtype), [x])[0] if p.dtype == variable else x
        for p, x in pairs
    ]


def same(x, y):
    """Where two arrays have the same number."""
    return (x == y) | ((x != x) & (y != y))


def fitting(values, dtype):
    """Which of these values a type has, but for rounding."""
    if dtype == STRING or is_float(dtype) or dtype.kind == "c":
        return np.ones(values.shape, bool)
    moved_there = in_type(values, dtype)
    return moved_there.astype(wider(dtype)) == values


def in_each_type(op, case):
    """The results of a case in each type of each type variable, and those of the same numbers in the widest.

    They are compared where the widest type has the numbers too. Numbers that it refuses, such as negative
    sizes, must be refused in any type; a type may refuse more, as whole numbers do a division by 0.
    """
    inputs, attrs = prepared(op, case)
    kinds = {x.dtype.kind for x in flat(inputs)}
    for variable, allowed in op._dtypes.items():
        order = ["c" in kinds and "c", "f", "i"]
        widest = max(allowed, key=lambda d: (*(d.kind == kind for kind in order), d.itemsize))
        wide = moved(op, inputs, variable, widest)
        for dtype in allowed:
            these = moved(op, wide, variable, dtype)
            back = wide
            if dtype != STRING:
                back = moved(op, moved(op, these, variable, wider(dtype)), variable, widest)
            results, expected = (
                result_or_refusal(op, these, attrs),
                result_or_refusal(op, back, attrs),
            )
            has_nan = dtype == STRING and any((x != x).any() for x in flat(wide))  # text is itself
            if has_nan or not is_there_again(op, these, back, variable, dtype):
                continue
            assert results is None or expected is not None, "the widest type refuses it"
            if results is not None:
                yield variable, dtype, results, expected


def is_there_again(op, these, back, variable, dtype):
    """Whether numbers that went to the widest type are the same when they come back."""
    if dtype == STRING:
        return True
    again = moved(op, back, variable, dtype)
    return all(
        same(a, b).all() for a, b in zip(flat(these), flat(again), strict=True) if a.dtype == dtype
    )


def result_or_refusal(op, inputs, attrs):
    try:
        return run(op, inputs, attrs)
    except bb.OpError:
        return None


def compare_types(dtype, result, want):
    """Compares a result with that of the widest type, where its type has it; whether it has any number."""
    assert result.shape == want.shape
    there = fitting(want, result.dtype)
    if (result.dtype.kind == "c") != (want.dtype.kind == "c"):
        # The root of -1 and the like: an answer in complex numbers only.
        there &= np.isfinite(want) & (want.imag == 0)
    rtol = 1e-2 if is_half(result.dtype) else 1e-5
    rounded = in_type(want, result.dtype)[there]
    assert_close(result[there], rounded, rtol=rtol, atol=rtol, err_msg=str(dtype))
    return there.any()


TYPED = [op for op in PURE_OPS if op.cases or op.name in exempt.TYPES]


@pytest.mark.parametrize("op", expected_to_fail(TYPED, exempt.TYPES, name_of))
def test_works_in_every_type_it_declares(op):
    """The numbers of a type give the answer that the widest type gives."""
    compared = set()
    for case in op.cases:
        with told(case):
            for variable, dtype, results, expected in in_each_type(op, case):
                done = not op.outputs
                for pin, result, want in zip(op.outputs, results, expected, strict=False):
                    assert result.dtype == (dtype if pin.dtype == variable else want.dtype)
                    done |= compare_types(dtype, result, want)
                compared |= {(variable, dtype)} if done else set()
    declared = {(v, dtype) for v, allowed in op._dtypes.items() for dtype in allowed}
    assert compared == declared, (
        f"give a case with numbers that have an answer in {declared - compared}"
    )


def moved_types(op):
    """The types that nobody computes with, by the type variables that allow them beside others."""
    return [
        (variable, BY_NAME[name])
        for variable, allowed in op._dtypes.items()
        for name in (*SMALL, "string")
        if BY_NAME[name] in allowed and not text_only(allowed)
    ]


MOVING = [op for op in PURE_OPS if op.inputs and op.cases and not op.writes and moved_types(op)]


@pytest.mark.parametrize("op", expected_to_fail(MOVING, exempt.STRINGS, name_of))
def test_symbols_and_out_hold_strings_and_small_types(op):
    """What nobody computes with is handed through graphs, and put into the arrays that a caller gives."""
    for case in op.cases:
        for variable, dtype in moved_types(op):
            with told(case):
                check_moving(op, case, variable, dtype)


def check_moving(op, case, variable, dtype):
    inputs, attrs = prepared(op, case)
    these = moved(op, inputs, variable, dtype)
    results = run(op, these, attrs)
    symbols = each_value(lambda x: placeholder((None,) * x.ndim, x.dtype), these)
    outputs = op(*symbols, **attrs)
    if op.outputs:
        outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
        feeds = dict(zip(flat(symbols), flat(these), strict=True))
        for got, want in zip(bb.evaluate(outputs, feeds), results, strict=True):
            assert got.dtype == want.dtype
            assert repr(got.tolist()) == repr(want.tolist())
    if op.outputs and not (op.data_dependent_shape or op.stateful):
        out = [np.empty_like(x) for x in results]
        op(*these, **attrs, out=out if len(out) > 1 or op.outputs[0].is_list else out[0])
        assert repr([x.tolist() for x in out]) == repr([x.tolist() for x in results])


HALVES = [BY_NAME["bfloat16"], BY_NAME["float16"]]
# Rounded to float32 on the way, their answers would be rounded twice.
SUMS_IN_FLOAT64 = {"FractionalAvgPoolGrad"}
# Sums of these decide where gradients go, and are made in the type itself. Whole numbers have the same
# sums in every type.
DECIDING = {
    "Dilation2DBackpropInput": ("input", "filter"),
    "Dilation2DBackpropFilter": ("input", "filter"),
}


def calls_in_halves(op, half):
    """The op's cases and its recorded calls, with a half type for every float type that may be one.

    Each has a third of its numbers: thirds have no end, so that every sum must be rounded.
    """
    known = [case.args for case in op.cases]
    if op.name in RECORDED:
        known += [c["inputs"] | c["attrs"] for c in recorded(op.name) if in_float32(c)]
    for args in known:
        given, attrs, _ = op.bind((), args)
        inputs = op.arrays(given)
        for i, pin in enumerate(op.inputs):
            if half in op._dtypes.get(pin.dtype, ()):
                whole = pin.name in DECIDING.get(op.name, ())
                inputs[i] = each_value(lambda x: rounded(x, half, whole), [inputs[i]])[0]  # noqa: B023
        yield inputs, attrs


def in_float32(call):
    """Whether a recorded call was answered and has float32 for its data; other types repeat its calls."""
    inputs = flat([tuple(x) if isinstance(x, list) else x for x in call["inputs"].values()])
    floats = {x.dtype for x in inputs if is_float(x.dtype)}
    return "outputs" in call and floats == {BY_NAME["float32"]}


def rounded(x, half, whole):
    if not is_float(x.dtype):
        return x
    with np.errstate(all="ignore"):
        return (np.rint(x) if whole else x.astype(np.float64) / 3).astype(half)


HALF_OPS = [
    op for op in REGISTRY.values() if any(half in d for d in op._dtypes.values() for half in HALVES)
]


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("op", expected_to_fail(HALF_OPS, exempt.HALF, name_of))
def test_half_types_round_once(op, half):
    """The answer in a half type is the one in float32, rounded."""
    wider = np.float64 if op.name in SUMS_IN_FLOAT64 else np.float32
    tried = 0
    for inputs, attrs in calls_in_halves(op, half):
        wide_inputs = each_value(lambda x: x.astype(wider) if is_half(x.dtype) else x, inputs)
        try:
            results = run(op, inputs, attrs, "reference")
        except bb.OpError:
            continue  # a value that does not exist in the half type
        expected = run(op, wide_inputs, attrs, "reference")
        for got, want in zip(results, expected, strict=True):
            tried += got.size
            with np.errstate(all="ignore"):
                want = want.astype(got.dtype)
            if got.tobytes() != want.tobytes():  # NaN come in several kinds
                assert_close(got, want, rtol=0, atol=0)
    assert tried


KERNELS = [
    pytest.param(op, kernel, id=f"{op.name}: {kernel.name}")
    for op in REGISTRY.values()
    for kernel in op.kernels
]


@pytest.mark.parametrize(("op", "kernel"), KERNELS)
def test_fast_kernels_agree_with_the_reference(op, kernel):
    tried = 0
    for case in op.cases:
        inputs, attrs = prepared(op, case)
        for dtype in (np.float32, np.float64):
            cast = each_value(lambda x: x.astype(dtype) if is_float(x.dtype) else x, inputs)  # noqa: B023
            with told(case):
                if kernel.plan(*each_value(Spec.of, cast), **attrs):
                    fast, naive = (
                        run(op, cast, attrs, kernel.name),
                        run(op, cast, attrs, "reference"),
                    )
                    for a, b in zip(fast, naive, strict=True):
                        np.testing.assert_allclose(a, b, rtol=1e-6)
                        tried += a.size
    assert tried


@for_each_case([op for op in PURE_OPS if op.inputs])
def test_symbols_give_what_arrays_give(op, case):
    for unknown in ("values", "sizes", "rank"):
        check_symbols(op, case, unknown)


def check_symbols(op, case, unknown):
    def symbol(array):
        shape = {"values": array.shape, "sizes": (None,) * array.ndim}.get(unknown)
        return bb.placeholder(shape, array.dtype)

    inputs, attrs = prepared(op, case)
    results = run(op, inputs, attrs)
    written = {i for i, pin in enumerate(op.inputs) if pin.name in op.writes}
    for part in parts(inputs):
        make = [bb.variable if i in written else symbol if i in part else bb.constant
                for i in range(len(inputs))]  # fmt: skip
        symbols = [each_value(of, [x])[0] for of, x in zip(make, inputs, strict=True)]
        with bb.Scope() if not symbols else nullcontext():
            outputs = op(*symbols, **attrs)
        outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
        pairs = zip(flat(symbols), flat(inputs), strict=True)
        feeds = {s: x for s, x in pairs if s.block.op.name == "Placeholder"}
        if op.outputs:
            for got, want in zip(bb.evaluate(outputs, feeds), results, strict=True):
                np.testing.assert_array_equal(got, want)
        else:
            bb.Session().run([], feeds, targets=outputs)


# -- gradients ------------------------------------------------------------------------------------


class Slope:
    """An op at a point without ties, as a function of the float inputs that its gradient names."""

    def __init__(self, op, case, rng):
        inputs, self.attrs = prepared(op, case)
        self.about = case.about
        self.float64 = all(BY_NAME["float64"] in d for d in op._dtypes.values() if d[0] in FLOATS)
        dtype = np.float64 if self.float64 else np.float32
        self.inputs = each_value(lambda x: x.astype(dtype) if is_float(x.dtype) else x, inputs)
        self.eps, self.rtol = (1e-5, 1e-4) if self.float64 else (1e-2, 2e-2)
        self.symbols = [
            each_value(self.symbol if has_gradient(op, pin) else bb.constant, [x])[0]
            for pin, x in zip(op.inputs, self.inputs, strict=True)
        ]
        outputs = op(*self.symbols, **self.attrs)
        outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
        self.ys = [y for y in outputs if is_float(y.dtype)]
        results = [r for r in run(op, self.inputs, self.attrs) if is_float(r.dtype)]
        self.dys = [placeholder(r.shape, r.dtype) for r in results]
        self.xs = [s for s in flat(self.symbols) if s.value is None]
        self.dxs = bb.gradients(self.ys, self.xs, self.dys)
        low, high = op.slope_range
        self.point = {}
        for i, (x, value) in enumerate(zip(self.xs, self.floats(), strict=True)):
            # In each input at another place between two steps, and never in the middle of the range.
            part = (i + 1) * 0.618 % 1
            steps = (rng.permutation(value.size) + part) / max(value.size, 1)
            self.point[x] = (low + (high - low) * steps).reshape(value.shape).astype(value.dtype)
        for dy in self.dys:
            self.point[dy] = rng.standard_normal(dy.shape).astype(dy.dtype)

    def symbol(self, x):
        return placeholder(x.shape, x.dtype) if is_float(x.dtype) else bb.constant(x)

    def floats(self):
        pairs = zip(flat(self.symbols), flat(self.inputs), strict=True)
        return [x for symbol, x in pairs if symbol.value is None]

    def check(self, fetches, weights, wrt, gradient, rng):
        """The gradient of sum(fetches * weights) along a random direction is the slope that way.

        No gradient at all says that the slope is 0. Without a number to move there is none.
        """
        if self.point[wrt].size == 0:
            return
        v = rng.standard_normal(wrt.shape).astype(wrt.dtype)
        far = [np.isinf(f) for f in bb.evaluate(fetches, self.point)]

        def total(step):
            moved = {**self.point, wrt: self.point[wrt] + (step * v).astype(wrt.dtype)}
            values = bb.evaluate(fetches, moved)
            for f, at_infinity in zip(values, far, strict=True):
                np.testing.assert_array_equal(np.isinf(f), at_infinity, "what is there stays there")
            return sum(
                np.vdot(w, np.where(at_infinity, 0, f))
                for w, f, at_infinity in zip(weights, values, far, strict=True)
            )

        slope = (total(self.eps) - total(-self.eps)) / (2 * self.eps)
        g = np.zeros_like(v) if gradient is None else bb.evaluate([gradient], self.point)[0]
        assert g.shape == wrt.shape
        assert g.dtype == wrt.dtype
        np.testing.assert_allclose(np.vdot(g, v), slope, self.rtol, self.rtol, err_msg=self.about)


def has_gradient(op, pin):
    return (op.name, pin.name) not in exempt.INPUT_WITHOUT_GRADIENT


def slopes(op, seed):
    """The slope of each case that can be differentiated, and a source of directions."""
    for case in op.cases:
        rng = np.random.default_rng(seed)
        if (op.name, case.about) in exempt.REFUSES_GRADIENT:
            with pytest.raises(bb.OpError):
                Slope(op, case, rng)
        else:
            yield Slope(op, case, rng), rng


def has_floats(op, pins):
    return any(set(FLOATS) & {*dtypes_of(op, pin), BY_NAME.get(pin.dtype)} for pin in pins)


DIFFERENTIABLE = [op for op in REGISTRY.values() if op.gradient not in (None, zero_gradient)]
SMOOTH = [
    op for op in DIFFERENTIABLE if op.cases and not has_handles(op) and has_floats(op, op.inputs)
]


def test_every_gradient_has_its_slope_checked():
    elsewhere = {op.name for op in DIFFERENTIABLE} - {
        op.name for op in (*SMOOTH, *test_complex.OPS)
    }
    assert elsewhere == set(exempt.GRADIENT_ELSEWHERE)


def test_cases_that_refuse_a_gradient_are_there():
    assert set(exempt.REFUSES_GRADIENT) <= {(op.name, c.about) for op in SMOOTH for c in op.cases}


@pytest.mark.parametrize("op", expected_to_fail(SMOOTH, exempt.GRADIENT, name_of))
def test_gradient_is_the_slope(op):
    tried = set()
    for at, rng in slopes(op, 1):
        weights = [at.point[dy] for dy in at.dys]
        if any(w.size for w in weights):
            for x, dx in zip(at.xs, at.dxs, strict=True):
                at.check(at.ys, weights, x, dx, rng)
            tried |= {
                pin.name
                for pin, x in zip(op.inputs, at.symbols, strict=True)
                if any(s.value is None and at.point[s].size for s in flat((x,)))
            }
    floats = {
        pin.name
        for pin in op.inputs
        if has_gradient(op, pin) and set(FLOATS) & {*dtypes_of(op, pin), BY_NAME.get(pin.dtype)}
    }
    assert tried == floats, f"give a case that has a slope in {floats - tried}"


@pytest.mark.parametrize("op", expected_to_fail(SMOOTH, exempt.SECOND_GRADIENT, name_of))
def test_second_gradient_is_the_slope_of_the_first(op):
    tried = 0
    for at, rng in slopes(op, 2):
        for dx in at.dxs:
            if dx is not None:
                weight = rng.standard_normal(dx.shape).astype(dx.dtype)
                wrt = [*at.xs, *at.dys]
                second = bb.gradients([dx], wrt, [bb.constant(weight)])
                for x, d in zip(wrt, second, strict=True):
                    at.check([dx], [weight], x, d, rng)
                tried += weight.size
    assert tried


UNKNOWN = [(op, unknown) for op in SMOOTH for unknown in ("values", "sizes", "rank")]


@pytest.mark.parametrize(
    ("op", "unknown"),
    expected_to_fail(
        UNKNOWN, exempt.GRADIENT_OF_UNKNOWN, lambda each: f"{each[0].name}: {each[1]}"
    ),
)
def test_gradient_is_the_same_when_less_is_known(op, unknown):
    for at, _ in slopes(op, 3):
        check_unknown(op, at, unknown)


def check_unknown(op, at, unknown):
    def symbol(array):
        shape = {"values": array.shape, "sizes": (None,) * array.ndim}.get(unknown)
        return placeholder(shape, array.dtype)

    symbols = each_value(symbol, at.inputs)
    outputs = op(*symbols, **at.attrs)
    outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
    ys = [y for y in outputs if is_float(y.dtype)]
    dys = [symbol(at.point[dy]) for dy in at.dys]
    xs = [
        x
        for pin, value in zip(op.inputs, symbols, strict=True)
        if has_gradient(op, pin)
        for x in flat((value,))
        if is_float(x.dtype)
    ]
    dxs = bb.gradients(ys, xs, dys)
    assert [dx is None for dx in dxs] == [dx is None for dx in at.dxs]
    feeds = dict(zip(flat(symbols), flat(at.inputs), strict=True))
    feeds |= {x: at.point[known] for x, known in zip(xs, at.xs, strict=True)}
    feeds |= {dy: at.point[known] for dy, known in zip(dys, at.dys, strict=True)}
    for got, want in zip(dxs, at.dxs, strict=True):
        if got is not None:
            np.testing.assert_array_equal(
                *(bb.evaluate([dx], feed)[0] for dx, feed in ((got, feeds), (want, at.point)))
            )


FLAT = [
    op
    for op in PURE_OPS
    if op.gradient is zero_gradient and has_floats(op, op.inputs) and has_floats(op, op.outputs)
]


@pytest.mark.parametrize("op", expected_to_fail(FLAT, exempt.NOT_FLAT, name_of))
def test_where_no_gradient_flows_nothing_changes(op):
    tried = 0
    for case in op.cases:
        inputs, attrs = prepared(op, case)
        rng = np.random.default_rng(4)

        def drawn(x, rng=rng):
            return rng.uniform(0.1, 3, x.shape).astype(x.dtype) if is_float(x.dtype) else x

        here = each_value(drawn, inputs)
        near = each_value(lambda x: x * x.dtype.type(1 + 1e-6) if is_float(x.dtype) else x, here)
        some = sum(x.size for x in flat(inputs) if is_float(x.dtype))
        with told(case):
            for a, b in zip(run(op, here, attrs), run(op, near, attrs), strict=True):
                np.testing.assert_array_equal(a, b)
                tried += a.size * some
    assert tried
