"""What callers may hand in: arrays of every make, lists, scalars, and what is refused."""

import ctypes
import inspect
import pickle
import pydoc
import re

import ml_dtypes
import numpy as np
import pytest

import backblocks as bb
from backblocks.dtypes import BY_NAME
from backblocks.ops import _kernels, _memory

TWO = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"}
RAMP = np.arange(16.0, dtype=np.float32).reshape(1, 4, 4, 1)
POOLED = [[[[5.0], [7.0]], [[13.0], [15.0]]]]


class ByArray:
    def __array__(self, dtype=None, copy=None):
        return RAMP


class ByDLPack:
    def __dlpack__(self, **how):
        return RAMP.__dlpack__(**how)

    def __dlpack_device__(self):
        return RAMP.__dlpack_device__()


class BFloat16ByDLPack:
    """What other libraries hand over for bfloat16: NumPy can neither make nor read it."""

    class Managed(ctypes.Structure):
        _fields_ = [
            ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
            ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
            ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
            ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ]  # fmt: skip

    def __init__(self, array):
        self.array = array
        self.sizes = (ctypes.c_int64 * array.ndim)(*array.shape)
        steps = [n // array.itemsize for n in array.strides]
        self.steps = (ctypes.c_int64 * array.ndim)(*steps)
        self.managed = self.Managed(
            array.ctypes.data, (1, 0), array.ndim, 4, 16, 1, self.sizes, self.steps
        )

    def __dlpack__(self, **how):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
        )
        return new(ctypes.addressof(self.managed), b"dltensor", None)

    def __dlpack_device__(self):
        return (1, 0)


def big_endian(x):
    return x.astype(">f4")


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize(
    "value",
    [
        RAMP,
        RAMP.tolist(),
        ByArray(),
        ByDLPack(),
        big_endian(RAMP),
        read_only(RAMP),
        np.asfortranarray(RAMP),
        np.repeat(RAMP, 2, 1)[:, ::2],
        RAMP[:, ::-1][:, ::-1],
        memoryview(RAMP),
    ],
    ids=[
        "array", "nested list", "__array__", "__dlpack__", "big endian", "read-only",
        "column order", "every other row", "backwards twice", "memoryview",
    ],
)  # fmt: skip
def test_takes_arrays_of_every_make(value):
    for result in (bb.raw_ops.MaxPool(input=value, **TWO), bb.ops.max_pool(value, **TWO)):
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, POOLED)


def test_takes_bfloat16_of_other_libraries():
    array = np.arange(-3, 9).reshape(3, 4).astype(ml_dtypes.bfloat16)
    for given in (array, array[::2, ::-1]):
        result = bb.ops.relu(BFloat16ByDLPack(given))
        assert result.dtype == ml_dtypes.bfloat16
        np.testing.assert_array_equal(result, np.maximum(given, 0))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "uint8", "int64"])
def test_keeps_the_dtype(dtype):
    assert bb.ops.max_pool(RAMP.astype(dtype), **TWO).dtype == dtype


def test_bfloat16_comes_back_as_ml_dtypes_knows_it():
    assert bb.ops.relu(np.array([-1, 2], ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1.5, "float32"), ([1, 2], "int32"), (True, "bool"), (1 + 2j, "complex64"), ([], "float32")],
)
def test_numbers_without_a_dtype_become_what_tensorflow_makes_them(value, dtype):
    assert bb.ops.identity(value).dtype == dtype


def test_numbers_without_a_dtype_take_that_of_their_neighbours():
    assert bb.ops.mul(2, np.float64([1.5])).dtype == np.float64
    assert bb.ops.mul(np.int8([3]), 2).dtype == np.int8
    with pytest.raises(bb.OpError, match="must fit in int8"):
        bb.ops.mul(np.int8([3]), 300)


def test_sizes_may_be_integers_of_any_width():
    dy = np.ones((1, 2, 2, 1))
    for dtype in (np.int8, np.uint16, np.int64):
        shape = np.array([1, 4, 4, 1], dtype)
        assert bb.ops.avg_pool_grad(shape, dy, **TWO).shape == (1, 4, 4, 1)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        [["ragged"], [1, 2]],
        np.array([object()]),
        np.array(["a"]),
        np.zeros(3, "datetime64[s]"),
        np.ma.masked_array(RAMP, RAMP > 3),
        {1: 2},
        object(),
    ],
    ids=lambda v: type(v).__name__,
)
def test_refuses_what_is_not_an_array_of_numbers(value):
    with pytest.raises(bb.OpError) as caught:
        bb.raw_ops.MaxPool(input=value, **TWO)
    assert (caught.value.op, caught.value.arg) == ("MaxPool", "input")
    assert caught.value.hint


def test_raw_ops_take_arguments_by_name_only():
    with pytest.raises(bb.OpError, match="by name only"):
        bb.raw_ops.MaxPool(RAMP, **TWO)


@pytest.mark.parametrize(
    ("arguments", "arg", "words"),
    [
        ({"input": RAMP, **TWO, "stride": 1}, "stride", "Did you mean strides?"),
        ({"input": RAMP, **TWO, "zzz": 1}, "zzz", "It takes input, ksize"),
        ({"input": RAMP, "ksize": TWO["ksize"], "padding": "SAME"}, "strides", "must be given"),
        (TWO, "input", "must be given"),
        ({"input": RAMP, **TWO, "ksize": 2}, "ksize", "list of whole numbers"),
        ({"input": RAMP, **TWO, "ksize": (1, 2.5, 2, 1)}, "ksize", "whole number"),
        ({"input": RAMP, **TWO, "ksize": (1, 2**31, 2, 1)}, "ksize", "32 bits"),
        ({"input": RAMP, **TWO, "padding": None}, "padding", "SAME or VALID"),
    ],
)
def test_names_the_argument_at_fault(arguments, arg, words):
    with pytest.raises(bb.OpError) as caught:
        bb.raw_ops.MaxPool(**arguments)
    assert caught.value.arg == arg
    assert caught.value.hint
    assert words in str(caught.value)


def test_an_error_keeps_its_parts_and_travels():
    with pytest.raises(bb.OpError) as caught:
        bb.ops.max_pool(RAMP, **{**TWO, "ksize": (1, 9, 9, 1)})
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.op, error.arg, error.got) == ("MaxPool", "ksize", 9)
    assert error.hint == 'Use padding="SAME" or a smaller window.'
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(again) == str(error)


def test_a_result_that_cannot_fit_is_refused_before_it_is_allocated(monkeypatch):
    monkeypatch.setattr(_memory, "available_bytes", lambda: 1 << 30)
    with pytest.raises(bb.OpError, match=r"needs 2.0 GiB and only 1.0 GiB are free") as caught:
        bb.ops.broadcast_to(np.float32(1), [1 << 29])
    assert isinstance(caught.value, MemoryError)


def test_more_cells_than_can_be_counted_are_refused():
    with pytest.raises(bb.OpError, match="more elements than can be counted"):
        bb.ops.broadcast_to(np.float32(1), [2**31 - 1, 2**31 - 1, 2**31 - 1])


def test_memory_that_runs_out_on_the_way_is_an_op_error(monkeypatch):
    def out_of_memory(*args):
        raise MemoryError

    x = np.ones((100, 100), np.float32)
    bb.ops.exp(x)
    monkeypatch.setattr(bb.ops.REGISTRY["Sigmoid"], "reference", out_of_memory)
    monkeypatch.setattr(_kernels, "Buffer", out_of_memory)
    for call, name in ((bb.ops.sigmoid, "Sigmoid"), (bb.ops.exp, "Exp"), (bb.ops.log, "Log")):
        with pytest.raises(bb.OpError, match=rf"{name}\.y: needs more memory than there is"):
            call(x)


def test_results_are_contiguous_and_writable():
    y = bb.ops.max_pool(
        RAMP.reshape(1, 1, 4, 4), ksize=(1, 1, 2, 2), strides=(1, 1, 2, 2), padding="VALID",
        data_format="NCHW",
    )  # fmt: skip
    assert y.flags.c_contiguous
    assert y.flags.writeable


def test_raw_ops_have_signatures_and_documentation():
    signature = inspect.signature(bb.raw_ops.MaxPool3DGrad)
    assert list(signature.parameters) == [
        "orig_input", "orig_output", "grad", "ksize", "strides", "padding", "data_format", "name",
        "explicit_paddings", "ties", "out",
    ]  # fmt: skip


@pytest.mark.parametrize("op", [bb.raw_ops.MaxPool3DGrad, bb.ops.max_pool_3d_grad], ids=repr)
def test_help_shows_signature_parameters_and_types(op):
    text = pydoc.plain(pydoc.render_doc(op))
    names = list(inspect.signature(op).parameters)
    assert f"{inspect.signature(op)}" in text
    assert [line for line in text.splitlines() if re.match(r" *(\w+) : ", line)]
    parameters = text.partition("Parameters")[2].partition("Returns")[0]
    assert set(re.findall(r"^ *(\w+) : ", parameters, re.MULTILINE)) == set(names)
    assert 'padding : Literal["SAME", "VALID", "EXPLICIT"]' in text
    assert "orig_input : tensor of T" in text
    assert "T : bfloat16, float16, float32" in text


@pytest.mark.parametrize(
    ("name", "python_name"),
    [
        ("MaxPool3DGradGrad", "max_pool_3d_grad_grad"),
        ("Conv3D", "conv_3d"),
        ("Conv3DBackpropInputV2", "conv_3d_backprop_input_v2"),
        ("DepthwiseConv2dNative", "depthwise_conv_2d_native"),
        ("LRNGrad", "lrn_grad"),
        ("L2Loss", "l2_loss"),
        ("TopKV2", "top_k_v2"),
        ("Relu6Grad", "relu6_grad"),
        ("QuantizedReluX", "quantized_relu_x"),
        ("AddN", "add_n"),
    ],
)
def test_python_names(name, python_name):
    assert getattr(bb.ops, python_name) is bb.ops.REGISTRY[name]


def test_strings_keep_all_their_bytes():
    wanted = [97, 0, 0]
    for given in (b"a\0\0", [b"a\0\0"], np.array([b"a\0\0"], object), "a\0\0"):
        assert bb.ops.decode_raw(given, out_type="uint8").ravel().tolist() == wanted
    assert bb.ops.decode_raw("\u00e9", out_type="uint8").tolist() == [0xC3, 0xA9]
    assert bb.ops.decode_raw(np.array(["ab", "cd"]), out_type="uint8").shape == (2, 2)


def test_strings_with_the_same_shape_are_told_apart():
    for given in (b"ab", b"cd", b"abc"):
        array = np.array([given], object)
        assert bb.ops.decode_raw(array, out_type="uint8").tolist() == [list(given)]


def test_strings_are_constants_and_can_be_fed():
    x = bb.placeholder([None], "string")
    y = bb.ops.decode_raw(x, out_type="uint8")
    assert bb.evaluate([y], {x: [b"ab", b"cd"]})[0].tolist() == [[97, 98], [99, 100]]
    assert bb.constant("text").value.item() == b"text"


@pytest.mark.parametrize("call", [bb.raw_ops.Neg, bb.ops.neg], ids=["raw_ops", "ops"])
@pytest.mark.parametrize("name", ["self", "args", "kwargs", "arguments"])
def test_stray_arguments_may_have_any_name(call, name):
    with pytest.raises(bb.OpError, match=rf"Neg\.{name}: is not an argument"):
        call(x=RAMP, **{name: 1})


def test_errors_can_be_printed_whatever_they_name():
    with pytest.raises(bb.OpError) as caught:
        bb.raw_ops.Neg(x=RAMP, **{"\ud800": 1})
    assert "Neg.\\ud800: is not an argument" in str(caught.value)
    str(caught.value).encode()


def test_a_fault_of_ours_is_told_as_one(monkeypatch):
    def faulty(x):
        raise IndexError("list index out of range")

    erf = bb.ops.REGISTRY["Erf"]
    x = np.ones((3, 5), np.float32)
    for part in ("reference", "shape_rule"):
        with monkeypatch.context() as patch:
            patch.setattr(erf, part, faulty)
            erf.call_cache.clear()
            for call in (lambda: bb.raw_ops.Erf(x=x), lambda: bb.ops.erf(x)):
                with pytest.raises(bb.InternalError) as caught:
                    call()
                error = caught.value
                assert not isinstance(error, bb.OpError), "a test of refusals would take it for one"
                assert isinstance(error, bb.BackblocksError)
                assert isinstance(error.__cause__, IndexError)
                for words in (
                    "Erf: failed by a fault of backblocks, not of the call",
                    "IndexError: list index out of range",
                    "Please report it, with this line and the traceback",
                    "x=float32 [3, 5]",
                    f"NumPy {np.__version__}",
                ):
                    assert words in str(error)
                assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301
    erf.call_cache.clear()


class Own(np.ndarray):
    """A subclass of NumPy's array, which may have ways of its own."""


def test_a_fault_of_ours_names_its_block(monkeypatch):
    def faulty(x):
        raise IndexError("list index out of range")

    monkeypatch.setattr(bb.ops.REGISTRY["Erf"], "reference", faulty)
    with bb.Scope() as scope:
        x = bb.placeholder([None], name="x")
        y = bb.ops.erf(x, name="gate")
    with pytest.raises(bb.InternalError, match='block "gate": Erf: failed by a fault'):
        bb.Session(scope).run([y], {x: [1.0, 2.0]})


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, _kernels.Stopped])
def test_what_ends_a_call_is_no_fault(monkeypatch, ending):
    def ended(x):
        raise ending

    monkeypatch.setattr(bb.ops.REGISTRY["Erf"], "reference", ended)
    bb.ops.REGISTRY["Erf"].call_cache.clear()
    with pytest.raises(ending):
        bb.ops.erf(np.ones(3))
    bb.ops.REGISTRY["Erf"].call_cache.clear()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bb.raw_ops.StringLength(input=True), "StringLength.input: must fit in string"),
        (lambda: bb.raw_ops.StringLength(input="\ud800"), "StringLength.input: .*that UTF-8 can write"),
        (lambda: bb.ops.string_join(["a"], separator="\ud800"), "StringJoin.separator: .*UTF-8"),
        (lambda: bb.ops.relu([1.0], out=np.dtype("f4")), "Relu.out: must be a NumPy array"),
        (lambda: bb.ops.relu([1.0], out=memoryview(b"ab")), "Relu.out: must be a NumPy array"),
        (lambda: bb.ops.squeeze([[1.0]], out=np.ones(1).view(Own)), "Squeeze.out: must be a NumPy array"),
        (lambda: bb.raw_ops.VariableV2(shape=[None], dtype="float32"), "VariableV2.ref: has no value"),
        (lambda: bb.raw_ops.Placeholder(shape=[None], dtype="float32"), "Placeholder.output: "),
    ],
)  # fmt: skip
def test_odd_calls_are_refused_in_our_own_words(call, words):
    with pytest.raises(bb.OpError, match=words):
        call()


def test_a_long_list_is_read_in_pieces():
    values = list(range(3 * 2**20 + 1))
    np.testing.assert_array_equal(bb.ops.identity(values), np.arange(len(values)))
    rows = [values, values]
    np.testing.assert_array_equal(bb.ops.identity(rows), np.tile(np.arange(len(values)), (2, 1)))


def test_an_error_shows_the_beginning_of_a_value():
    for value in ([1, (2,), ()], [[1, 2], [3]], "text", {"a": 1}, [], (1, "b"), list(range(20))):
        assert bb.OpError("no", got=value).got_in_words == repr(value)
    assert bb.OpError("no", got=np.array([[1, 2], [3, 4]])).got_in_words == "[[1, 2], [3, 4]]"
    long = list(range(1000))
    assert bb.OpError("no", got=long).got_in_words == repr(long)[:117] + "..."


class NoIndex:
    def __index__(self):
        raise OverflowError("no number after all")


@pytest.mark.parametrize(
    "given", [{"ksize": [NoIndex()]}, {"ksize": NoIndex()}, {"ksize": [1, NoIndex()]}]
)
def test_what_fails_to_be_a_number_is_none(given):
    with pytest.raises(bb.OpError, match=r"MaxPool\.ksize: must be a (list of )?whole number"):
        bb.ops.max_pool(RAMP, **TWO | given)


class NoList(list):
    def __iter__(self):
        raise ZeroDivisionError


@pytest.mark.parametrize("given", [{"x": NoList([1])}, {"x": [NoList([1])]}])
def test_a_list_that_cannot_be_read_raises_no_error_of_its_own(given):
    with pytest.raises(bb.BackblocksError) as caught:
        bb.raw_ops.Exp(**given)
    assert caught.value.op == "Exp"


def test_an_op_without_outputs_takes_no_out():
    with pytest.raises(bb.OpError, match=r"ControlTrigger\.out: has no output to hold"):
        bb.raw_ops.ControlTrigger(out=[])
    with pytest.raises(bb.OpError, match=r"Assert\.out: has no output to hold"):
        bb.raw_ops.Assert(condition=True, data=[1], out=RAMP.copy())


VOLUME = np.zeros((1, 4, 4, 4, 1), np.float32)
EIGHTHS = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "VALID"}


def test_a_misspelt_argument_is_named_before_the_one_that_is_missing():
    arguments = {"input": VOLUME, **EIGHTHS}
    arguments["ksizes"] = arguments.pop("ksize")
    for call in (bb.raw_ops.MaxPool3D, bb.ops.max_pool_3d):
        with pytest.raises(bb.OpError, match=r"MaxPool3D\.ksizes: .*Did you mean ksize\?"):
            call(**arguments)


def test_one_number_for_a_window_is_answered_with_as_many_entries_as_there_are_axes():
    with pytest.raises(bb.OpError, match=r"each of NDHWC: ksize=\[1, 2, 2, 2, 1\]\."):
        bb.raw_ops.MaxPool3D(input=VOLUME, **{**EIGHTHS, "ksize": 2})
    with pytest.raises(bb.OpError, match=r"each of NHWC: strides=\[1, 3, 3, 1\]\."):
        bb.raw_ops.MaxPool(input=RAMP, **{**TWO, "strides": 3})
    for one in (np.int64(2), 0, -1):
        with pytest.raises(bb.OpError, match=r"each of NDHWC: ksize=\[1, 2, 2, 2, 1\]\."):
            bb.raw_ops.MaxPool3D(input=VOLUME, **{**EIGHTHS, "ksize": one})
    with pytest.raises(bb.OpError, match=r"each of NCHW: ksize=\[1, 1, 2, 2\]\."):
        bb.raw_ops.MaxPool(input=RAMP, **{**TWO, "ksize": 2, "data_format": "NCHW"})


def test_text_in_place_of_numbers_is_answered_with_ops_that_convert_it():
    with pytest.raises(bb.OpError, match=r"first: bb\.ops\.string_to_number\(x\)"):
        bb.ops.exp(bb.constant("1"))
    for number in (np.float32([1]), bb.constant(1.0)):
        with pytest.raises(bb.OpError, match=r"first: bb\.ops\.as_string\(x\)"):
            bb.ops.string_length(number)


def test_symbols_of_another_dtype_are_advised_to_cast():
    x, n = bb.placeholder([2], "float32"), bb.placeholder([2], "int32")
    for call in (lambda: x + n, lambda: bb.ops.erf(n), lambda: x + bb.constant([1, 2])):
        with pytest.raises(bb.OpError) as caught:
            call()
        assert "bb.ops.cast(x, DstT='float32')" in caught.value.hint
    with pytest.raises(bb.OpError) as caught:
        bb.gradients([x * 2.0], [x], grad_ys=[n])
    assert "bb.ops.cast(x, DstT='float32')" in caught.value.hint
    with pytest.raises(bb.OpError, match=r"x\.astype\('float32'\)"):
        bb.ops.add(np.float32([1]), np.int32([1]))


def test_a_misspelt_op_is_answered_with_the_nearest():
    with pytest.raises(AttributeError, match=r"did you mean max_pool_3d\?"):
        bb.ops.max_pol_3d  # noqa: B018


@pytest.mark.parametrize("dtype", [">f4", "<f4"])
def test_out_in_the_memory_of_an_input_is_refused_even_if_that_is_converted(dtype):
    held = np.arange(6, dtype=np.float32)
    given = held.view(dtype)
    before = held.tobytes()
    for _ in range(2):
        with pytest.raises(bb.OpError, match=r"Neg\.out: must share no memory with an input"):
            bb.raw_ops.Neg(x=given, out=held)
    assert held.tobytes() == before


def test_out_in_the_memory_of_an_axis_is_refused_every_time():
    axis = np.zeros(1, np.int64)
    for _ in range(2):  # the second call finds the plan of the first
        with pytest.raises(bb.OpError, match=r"Sum\.out: must share no memory with an input"):
            bb.raw_ops.Sum(input=np.ones((3, 1), np.int64), axis=axis.view(">i8"), out=axis)
    assert bb.raw_ops.Sum(input=np.ones((3, 1), np.int64), axis=axis) == [3]


def test_a_list_may_have_more_tensors_than_numpy_broadcasts_at_once():
    joined = bb.raw_ops.StringJoin(inputs=["a"] * 100 + [["b", "c"]])
    assert joined.tolist() == [b"a" * 100 + b"b", b"a" * 100 + b"c"]


def test_complex_numbers_are_no_real_ones_even_if_there_are_none():
    with pytest.raises(bb.OpError, match=r"Const\.value: must fit in float16"):
        bb.raw_ops.Const(value=np.zeros((2, 0), complex), dtype="float16")


def test_sizes_beside_a_0_must_be_ones_that_can_be_multiplied():
    empty = np.zeros((0, 2**30, 2**30), np.int8)
    with pytest.raises(bb.OpError, match=r"Range\.start: must have sizes that can be multiplied"):
        bb.raw_ops.Range(start=empty, limit=3, delta=1)
    assert bb.raw_ops.Neg(x=np.zeros((0, 2**20, 2**20), np.int8)).shape == (0, 2**20, 2**20)


def test_a_huge_number_for_a_window_is_refused_without_being_spelled_out():
    with pytest.raises(bb.OpError, match=r"MaxPool\.ksize: must be a list of whole numbers"):
        bb.ops.max_pool(RAMP, **TWO | {"ksize": 10**5000})


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "uint4", "int8"])
@pytest.mark.parametrize("other", ["int2", "uint2", "int4", "uint4", "float8_e5m2"])
def test_constants_of_small_types_become_one_another(name, other):
    ones = np.ones(2).astype(BY_NAME[name])
    got = bb.raw_ops.Const(value=ones, dtype=other)
    assert (got.dtype, got.astype(int).tolist()) == (BY_NAME[other], [1, 1])


@pytest.mark.parametrize(
    "name", ["ScatterAdd", "ScatterSub", "ScatterMul", "ScatterMin", "ScatterMax"]
)
def test_indices_of_the_most_axes_beside_rows(name):
    """NumPy's ufunc.at ends the process where both together have more than 32."""
    ref, indices = np.full((3, 2), 4, np.float32), np.full((1,) * 32, 1)
    got = getattr(bb.raw_ops, name)(ref=ref, indices=indices, updates=np.float32(2))
    row = {"ScatterAdd": 6, "ScatterSub": 2, "ScatterMul": 8, "ScatterMin": 2, "ScatterMax": 4}[
        name
    ]
    assert got.tolist() == [[4, 4], [row, row], [4, 4]]


@pytest.mark.parametrize(
    "call",
    [
        lambda **out: bb.raw_ops.ReverseV2(tensor=np.array(b"a\0", object), axis=[], **out),
        lambda **out: bb.raw_ops.Squeeze(input=np.array([b"a\0"], object), **out),
        lambda **out: bb.raw_ops.Gather(params=[b"b", b"a\0"], indices=1, **out),
    ],
)
def test_out_keeps_the_zero_bytes_of_a_lone_text(call):
    out = np.empty((), object)
    call(out=out)
    assert out.item() == b"a\0" == call().item()


def test_out_keeps_the_zero_bytes_of_texts_in_a_list():
    out = [np.empty((), object), np.empty((), object)]
    bb.raw_ops.Unpack(value=np.array([b"a\0", b"b\0"], object), num=2, out=out)
    assert [each.item() for each in out] == [b"a\0", b"b\0"]
