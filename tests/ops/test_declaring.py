"""Declaring ops: lists of tensors, optional ones, several outputs, and mistakes in a declaration."""

from typing import Annotated

import numpy as np
import pytest

import backblocks as bb
from backblocks import ops
from backblocks.dtypes import FLOATS, NUMBERS_AND_BOOL
from backblocks.ops import REGISTRY
from backblocks.ops._op import op
from backblocks.ops.attrs import Flag, Int, PartialShape, dtype_of

AnyType = Annotated[object, dtype_of(*NUMBERS_AND_BOOL)]


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Ops declared here are forgotten after the test."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def declare(name, signature, function, shape, **how):
    made = op(name, signature, **how)(function)
    made.shape(shape)
    return made


def test_an_input_may_be_left_out():
    def scaled(x, scale=None):
        """x, times scale if there is one."""
        return x if scale is None else x * scale

    made = declare("Scaled", "T, T? -> T", scaled, lambda x, scale: x.shape, T=FLOATS)
    x = np.array([1.0, 2])
    np.testing.assert_array_equal(made(x), x)
    np.testing.assert_array_equal(bb.raw_ops.Scaled(x=x, scale=x), [1, 4])
    symbol = bb.placeholder((2,), "float64")
    for feed, out in (({symbol: x}, made(symbol)), ({symbol: x}, made(symbol, None))):
        np.testing.assert_array_equal(bb.evaluate([out], feed)[0], x)
    made.grad(lambda dy, y, x, scale: [dy, None])
    (dx,) = bb.gradients(made(symbol), symbol)
    np.testing.assert_array_equal(bb.evaluate([dx], {symbol: x})[0], [1, 1])


def test_a_list_may_hold_tensors_of_several_types():
    def identity_n(input):
        """Every tensor as it is."""
        return tuple(x.copy() for x in input)

    made = declare(
        "IdentityN",
        "T** -> output: T**",
        identity_n,
        lambda input: [x.shape for x in input],
        T=NUMBERS_AND_BOOL,
    )
    given = [np.ones(2), np.array([True]), np.int8(3)]
    for got in (made(given), bb.evaluate(made([bb.constant(x) for x in given]), {})):
        assert [x.dtype for x in got] == ["float64", "bool", "int8"]
        assert [x.shape for x in got] == [(2,), (1,), ()]


def test_a_list_may_stand_beside_another_output():
    def halves(x, *, num: Int):
        """Equal parts of x, and how many."""
        return tuple(np.split(x, num)), np.int32(num)

    def shape(x, *, num):
        return [(None if x.shape is None else x.shape[0] // num,)] * num, ()

    made = declare("Halves", "T -> parts: T*, count: int32", halves, shape, T=FLOATS)
    parts, count = made(np.arange(4.0), num=2)
    assert (len(parts), count.item()) == (2, 2)
    x = bb.placeholder((4,), "float64")
    out = made(x, num=2)
    assert out._fields == ("parts", "count")
    assert [part.shape for part in out.parts] == [(2,), (2,)]
    made.grad(lambda d, y, x, *, num: [bb.ops.reshape(bb.ops.pack(d.parts), [4])])
    (dx,) = bb.gradients(out.parts, x)
    np.testing.assert_array_equal(bb.evaluate([dx], {x: np.arange(4.0)})[0], np.ones(4))


def test_an_output_may_take_its_type_from_an_attribute():
    def zeros(*, shape: PartialShape, dtype: AnyType = "float32"):
        """Zeros."""
        return np.zeros(shape, dtype)

    made = declare("Zeros", "-> output: dtype", zeros, lambda shape, dtype: shape)
    assert made(shape=[2, 3]).dtype == np.float32
    assert made(shape=[], dtype="DT_HALF").dtype == np.float16
    with pytest.raises(bb.OpError, match=r"Zeros\.shape: sizes must be whole numbers from 0"):
        made(shape=[-2])


def test_mistakes_in_a_declaration_are_ours_and_named():
    with pytest.raises(TypeError, match="declared twice"):
        op("MaxPool", "T -> T", T=FLOATS)(lambda x: x)
    with pytest.raises(TypeError, match="has 1 inputs, the function 2"):
        op("Mistake", "T -> T", T=FLOATS)(lambda x, y: x)
    with pytest.raises(TypeError, match=r"attribute 'n' of Mistake needs a kind"):
        op("Mistake", "T -> T", T=FLOATS)(lambda x, *, n: x)
    with pytest.raises(TypeError, match="cannot be optional"):
        op("Mistake", "T -> T?", T=FLOATS)(lambda x: x)
    unfinished = op("Mistake", "T -> T", T=FLOATS)(lambda x: x)
    with pytest.raises(bb.InternalError, match="has no shape rule"):
        unfinished(1.0)
    with pytest.raises(bb.InternalError, match="report it to whoever declared the op"):
        unfinished(1.0)


def test_flags_are_not_numbers():
    def kept(x, *, keep: Flag = True):
        """x."""
        return x.copy()

    made = declare("Kept", "T -> T", kept, lambda x, keep: x.shape, T=FLOATS)
    assert made(1.0, keep=np.True_) == 1
    with pytest.raises(bb.OpError, match=r"Kept\.keep: must be True or False; got 1"):
        made(1.0, keep=1)


def test_a_group_is_found_by_being_there(tmp_path):
    for file in ("signal/__init__.py", "signal/stft.py", "signal/_frames.py", "notes/draft.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    assert list(ops._declarations(str(tmp_path))) == ["signal.stft"]


def test_a_group_has_the_title_of_its_package():
    titles = {op.group: op.group_title for op in REGISTRY.values()}
    assert titles["nn"] == "Neural networks"
    assert not {group for group, title in titles.items() if not title[0].isupper()}

    def own(x):
        """x."""

    assert declare("Own", "T -> T", own, lambda x: x.shape, T=FLOATS).group_title == "Own ops"
