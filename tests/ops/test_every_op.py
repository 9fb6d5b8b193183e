"""What must hold of every op. A new op is covered by being declared."""

import inspect
import re
from contextlib import nullcontext

import numpy as np
import pytest
from recorded import RECORDED, recorded

import backblocks as bb
from backblocks.dtypes import BY_NAME, SMALL, is_float, is_half, wider
from backblocks.graph.symbol import placeholder
from backblocks.ops import REGISTRY
from backblocks.ops._declaration import snake
from backblocks.ops._handles import RESOURCE, fresh, state_in
from backblocks.ops._op import nothing
from backblocks.ops._spec import Spec
from backblocks.ops._values import each_value, flat

OPS = [pytest.param(op, id=name) for name, op in REGISTRY.items()]
CASES = [
    pytest.param(op, c, id=f"{op.name}: {c.about}") for op in REGISTRY.values() for c in op.cases
]
REFUSALS = [
    pytest.param(op, r, id=f"{op.name}: {r.about}") for op in REGISTRY.values() for r in op.refusals
]


def has_handles(op):
    return any(pin.dtype == "resource" for pin in (*op.inputs, *op.outputs))


# Ops on values alone. What a handle stands for changes from call to call, is of a few types, and is no
# constant and no variable.
PURE = [p for p in CASES if not has_handles(p.values[0])]


# What they make of a number depends on its type.
BITS = {
    "AsString",
    "DecodeCSV",
    "Bitcast",
    "NextAfter",
    "PopulationCount",
    "RandomUniformInt",
    "StatelessRandomUniformInt",
    "UnsortedSegmentMax",
    "UnsortedSegmentMin",
    *(name for name in REGISTRY if name.startswith("Quantized")),
}


# They make something else of text than of numbers: put several in one place, text is joined; TensorFlow
# reads and writes it in its own way.
TEXT_APART = {"ScatterNd", "AsString", "DecodeCSV", "Save", "SaveV2"}


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


@pytest.mark.parametrize(("op", "case"), CASES)
def test_gives_the_known_answer(op, case):
    inputs, attrs = prepared(op, case)
    for got, expected in zip(run(op, inputs, attrs), answers(op, case), strict=True):
        assert got.shape == np.shape(expected)
        assert_close(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("op", "case"), [p for p in CASES if has_handles(p.values[0])])
def test_leaves_the_known_state(op, case):
    args = case.args
    before = {name: repr(state_in(x)) for name, x in args.items() if is_handle(x)}
    op(**args)
    after = {name: repr(state_in(args[name])) for name in before}
    assert after == before | case.leaves


def is_handle(value):
    return isinstance(value, np.ndarray) and value.dtype == RESOURCE


@pytest.mark.parametrize(("op", "case"), CASES)
def test_raw_op_gives_what_the_op_gives(op, case):
    raw = getattr(bb.raw_ops, op.name)(**case.args, name="a name")
    mine = op(**case.args)
    pairs = zip(raw, mine, strict=True) if isinstance(raw, list | tuple) else [(raw, mine)]
    for a, b in pairs:
        if not is_handle(a):
            np.testing.assert_array_equal(a, b)
    if len(op.outputs) > 1:
        assert raw._fields == tuple(pin.name for pin in op.outputs)


@pytest.mark.parametrize(("op", "case"), CASES)
def test_shape_rule_foretells_the_result(op, case):
    inputs, attrs = prepared(op, case)
    specs = list(flat(op.infer(each_value(Spec.of, inputs), attrs)))
    results = run(op, inputs, attrs)
    assert [s.dtype for s in specs] == [r.dtype for r in results]
    for spec, result in zip(specs, results, strict=True):
        assert spec.shape == result.shape or (op.open_sizes and may_be(spec, result))


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


@pytest.mark.parametrize("unknown", ["sizes", "rank", "values"])
@pytest.mark.parametrize(("op", "case"), CASES)
def test_shape_rule_says_nothing_false_when_it_knows_less(op, case, unknown):
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


@pytest.mark.parametrize(("op", "refusal"), REFUSALS)
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


@pytest.mark.parametrize(("op", "case"), PURE)
def test_does_not_care_about_memory_layout(op, case):
    inputs, attrs = prepared(op, case)
    every_other = each_value(lambda x: np.repeat(x[..., None], 2, -1)[..., 0], inputs)
    backwards = each_value(lambda x: np.ascontiguousarray(x[::-1])[::-1] if x.ndim else x, inputs)
    swapped = each_value(lambda x: x.copy(order="F"), inputs)
    expected = run(op, inputs, attrs)
    for other in (every_other, backwards, swapped):
        for got, want in zip(run(op, other, attrs), expected, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("op", "case"), PURE)
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


def in_type(x, dtype):
    """`x` in another type; on the way from complex to real numbers without the imaginary parts.

    In text 0 is the empty string, and some numbers end in a zero byte.
    """
    if dtype.kind == "O" and x.dtype.kind != "O":
        out = np.empty(x.shape, object)
        for at, number in np.ndenumerate(x):
            out[at] = repr(number).encode() + b"\0" * int(number == 2) if number else b""
        return out
    return (x.real if x.dtype.kind == "c" and dtype.kind != "c" else x).astype(dtype)


def moved(op, inputs, variable, dtype):
    """The inputs of a type variable in another type, and whether every value has stayed the same."""
    exact = True

    def cast(x):
        nonlocal exact
        with np.errstate(all="ignore"):
            y = in_type(x, dtype)
            # NaN is another text than its neighbours and no number, so text tells it from itself.
            back = y.astype(wider(y.dtype)) if y.dtype.kind != "O" else np.where(x != x, 0, x)
            exact = exact and bool(np.all((back == x) | ((back != back) & (x != x))))
        return y

    pairs = zip(op.inputs, inputs, strict=True)
    return [each_value(cast, [x])[0] if p.dtype == variable else x for p, x in pairs], exact


def fits(values, dtype):
    """Whether a type has all these values, but for rounding."""
    if is_float(dtype) or dtype.kind == "c":
        return True
    with np.errstate(all="ignore"):
        return np.array_equal(values.astype(dtype).astype(values.dtype), values)


@pytest.mark.parametrize(("op", "case"), PURE)
def test_works_in_every_type_it_declares(op, case):
    """Values that a type has give the answer that the widest type gives, as far as the type has it."""
    inputs, attrs = prepared(op, case)
    codes = op.name in BITS
    kinds = {x.dtype.kind for x in flat(inputs)}
    for variable, allowed in op._dtypes.items():
        order = ["c" in kinds and "c", "f", "i"]
        widest = max(allowed, key=lambda d: (*(d.kind == kind for kind in order), d.itemsize))
        reference = inputs if codes else moved(op, inputs, variable, widest)[0]
        expected = run(op, reference, attrs)
        for dtype in allowed:
            if dtype.hasobject and (
                dtype.kind != "O" or op.name in TEXT_APART or text_only(allowed)
            ):
                continue
            these, same = moved(op, reference, variable, dtype)
            op._bind_dtypes(each_value(Spec.of, these))
            try:
                results = run(op, these, attrs)
            except bb.OpError as error:
                assert codes or not same, error  # noqa: PT017
                continue
            for pin, result, want in zip(op.outputs, results, expected, strict=False):
                assert result.dtype == (dtype if pin.dtype == variable else want.dtype)
                if same and not codes:
                    assert result.shape == want.shape
                if same and not codes and fits(want, result.dtype):
                    with np.errstate(all="ignore"):
                        rounded = in_type(want, result.dtype)
                    rtol = 1e-2 if is_half(result.dtype) else 1e-5
                    if "c" in {result.dtype.kind, want.dtype.kind} and want.dtype != result.dtype:
                        # The root of -1 and the like: an answer in complex numbers only.
                        plain = np.isfinite(want) & (want.imag == 0)
                        result, rounded = result[plain], rounded[plain]
                    assert_close(result, rounded, rtol=rtol, atol=rtol, err_msg=str(dtype))


@pytest.mark.parametrize(("op", "case"), [p for p in PURE if p.values[0].inputs])
def test_symbols_and_out_hold_strings_and_small_types(op, case):
    """What nobody computes with is handed through graphs, and put into the arrays that a caller gives."""
    inputs, attrs = prepared(op, case)
    for variable, allowed in op._dtypes.items():
        for name in (*SMALL, "string"):
            apart = name == "string" and op.name in TEXT_APART - {"ScatterNd"}
            if BY_NAME[name] not in allowed or text_only(allowed) or op.writes or apart:
                continue
            these, _ = moved(op, inputs, variable, BY_NAME[name])
            results = run(op, these, attrs)
            symbols = each_value(lambda x: placeholder((None,) * x.ndim, x.dtype), these)
            outputs = op(*symbols, **attrs)
            if not op.outputs:
                continue
            outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
            feeds = dict(zip(flat(symbols), flat(these), strict=True))
            for got, want in zip(bb.evaluate(outputs, feeds), results, strict=True):
                assert got.dtype == want.dtype
                assert repr(got.tolist()) == repr(want.tolist())
            if op.open_sizes or op.stateful:
                continue
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


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("op", OPS)
def test_half_types_round_once(op, half):
    """The answer in a half type is the one in float32, rounded."""
    wider = np.float64 if op.name in SUMS_IN_FLOAT64 else np.float32
    if (
        op.name in BITS
        or op.fed
        or has_handles(op)
        or op.files
        or not any(half in allowed for allowed in op._dtypes.values())
    ):
        return
    tried = 0
    for inputs, attrs in calls_in_halves(op, half):
        wide_inputs = each_value(lambda x: x.astype(wider) if is_half(x.dtype) else x, inputs)
        try:
            results = run(op, inputs, attrs, "meaning")
        except bb.OpError:
            continue  # a value that does not exist in the half type
        expected = run(op, wide_inputs, attrs, "meaning")
        tried += 1
        for got, want in zip(results, expected, strict=True):
            with np.errstate(all="ignore"):
                want = want.astype(got.dtype)
            if got.tobytes() != want.tobytes():  # NaN come in several kinds
                assert_close(got, want, rtol=0, atol=0)
    assert tried


@pytest.mark.parametrize(("op", "case"), [p for p in CASES if p.values[0].kernels])
def test_fast_kernels_agree_with_the_meaning(op, case):
    inputs, attrs = prepared(op, case)
    for kernel in op.kernels:
        for dtype in (np.float32, np.float64):
            cast = each_value(lambda x: x.astype(dtype) if is_float(x.dtype) else x, inputs)  # noqa: B023
            if kernel.plan(*each_value(Spec.of, cast), **attrs):
                fast, naive = run(op, cast, attrs, kernel.name), run(op, cast, attrs, "meaning")
                for a, b in zip(fast, naive, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("unknown", ["values", "sizes", "rank"])
@pytest.mark.parametrize(("op", "case"), [p for p in PURE if p.values[0].inputs])
def test_symbols_give_what_arrays_give(op, case, unknown):
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
        if not op.outputs:
            bb.Session().run([], feeds, targets=outputs)
            continue
        for got, want in zip(bb.evaluate(outputs, feeds), results, strict=True):
            np.testing.assert_array_equal(got, want)


# Inputs that have a slope and, as in TensorFlow, no gradient.
WITHOUT_GRADIENT = {"Zeta": "x", "Polygamma": "a"}


class Slope:
    """An op at a point without ties, as a function of the float inputs that its gradient names."""

    def __init__(self, op, case, rng):
        inputs, self.attrs = prepared(op, case)
        self.float64 = all(BY_NAME["float64"] in d for d in op._dtypes.values() if d[0] in FLOATS)
        dtype = np.float64 if self.float64 else np.float32
        self.inputs = each_value(lambda x: x.astype(dtype) if is_float(x.dtype) else x, inputs)
        self.eps, self.rtol = (1e-5, 1e-4) if self.float64 else (1e-2, 2e-2)
        self.symbols = [
            each_value(
                self.symbol if WITHOUT_GRADIENT.get(op.name) != pin.name else bb.constant, [x]
            )[0]
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

        No gradient at all says that the slope is 0.
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
        np.testing.assert_allclose(np.vdot(g, v), slope, rtol=self.rtol, atol=self.rtol)


def slope_at(op, case, rng):
    try:
        return Slope(op, case, rng)
    except bb.OpError as error:
        assert error.hint, "a mode without a gradient says what to do"  # noqa: PT017
        pytest.skip(str(error))


FLOATS = tuple(map(BY_NAME.get, ("bfloat16", "float16", "float32", "float64")))
# A Merge has no gradient where it did not take an input; tests/graph/test_branches.py has its own.
SMOOTH = [
    p for p in PURE if p.values[0].gradient not in (None, nothing) and p.values[0].name != "Merge"
]


@pytest.mark.parametrize(("op", "case"), SMOOTH)
def test_gradient_is_the_slope(op, case):
    rng = np.random.default_rng(1)
    at = slope_at(op, case, rng)
    weights = [at.point[dy] for dy in at.dys]
    for x, dx in zip(at.xs, at.dxs, strict=True):
        at.check(at.ys, weights, x, dx, rng)


@pytest.mark.parametrize(("op", "case"), SMOOTH)
def test_second_gradient_is_the_slope_of_the_first(op, case):
    rng = np.random.default_rng(2)
    at = slope_at(op, case, rng)
    for dx in at.dxs:
        if dx is None:
            continue
        weight = rng.standard_normal(dx.shape).astype(dx.dtype)
        wrt = [*at.xs, *at.dys]
        try:
            second = bb.gradients([dx], wrt, [bb.constant(weight)])
        except bb.OpError as error:
            assert error.hint, "an op without a gradient says why"  # noqa: PT017
            continue
        for x, d in zip(wrt, second, strict=True):
            at.check([dx], [weight], x, d, rng)


@pytest.mark.parametrize("unknown", ["values", "sizes", "rank"])
@pytest.mark.parametrize(("op", "case"), SMOOTH)
def test_gradient_is_the_same_when_less_is_known(op, case, unknown):
    def symbol(array):
        shape = {"values": array.shape, "sizes": (None,) * array.ndim}.get(unknown)
        return placeholder(shape, array.dtype)

    at = slope_at(op, case, np.random.default_rng(3))
    symbols = each_value(symbol, at.inputs)
    outputs = op(*symbols, **at.attrs)
    outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
    ys = [y for y in outputs if is_float(y.dtype)]
    dys = [symbol(at.point[dy]) for dy in at.dys]
    xs = [
        x
        for pin, value in zip(op.inputs, symbols, strict=True)
        if pin.name != WITHOUT_GRADIENT.get(op.name)
        for x in flat((value,))
        if is_float(x.dtype)
    ]
    try:
        dxs = bb.gradients(ys, xs, dys)
    except bb.OpError as error:
        assert error.hint, "it says what must be known"  # noqa: PT017
        return
    assert [dx is None for dx in dxs] == [dx is None for dx in at.dxs]
    feeds = dict(zip(flat(symbols), flat(at.inputs), strict=True))
    feeds |= {x: at.point[known] for x, known in zip(xs, at.xs, strict=True)}
    feeds |= {dy: at.point[known] for dy, known in zip(dys, at.dys, strict=True)}
    for got, want in zip(dxs, at.dxs, strict=True):
        if got is not None:
            np.testing.assert_array_equal(
                *(bb.evaluate([dx], feed)[0] for dx, feed in ((got, feeds), (want, at.point)))
            )
