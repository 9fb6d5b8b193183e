"""Strings joined, cut, measured and split. They are bytes; where letters count, those of UTF-8."""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np

from backblocks.errors import OpError
from backblocks.ops._chunks import checked_items
from backblocks.ops._inputs import Array
from backblocks.ops._op import op, zero_gradient
from backblocks.ops._spec import Shape, Spec, agreed, broadcast, ranked, scalar_value
from backblocks.ops.attrs import Int, Text, choice

Unit = Annotated[str, choice("What is counted: bytes, or letters in UTF-8.", "BYTE", "UTF8_CHAR")]


def texts(function: Callable[..., bytes], *arrays: Array) -> Array:
    """What a function gives for the cells of arrays of text, cell by cell; they broadcast."""
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    # np.broadcast would do this for 64 arrays at most.
    cells = zip(*(np.broadcast_to(array, shape).flat for array in arrays), strict=True)
    out = np.empty(shape, object)
    out.reshape(-1)[:] = [function(*each) for each in checked_items(cells)]
    return out


def _letters(text: bytes) -> list[int]:
    """Where letters begin: at the front, and at every byte that does not go on with one."""
    return [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80 or i == 0]


# -- StringJoin -----------------------------------------------------------------------------------


@op("StringJoin", "string* -> output: string")
def string_join(inputs: Sequence[Array], *, separator: Text = "") -> Array:
    """The texts of all inputs, cell by cell, one behind the other with `separator` between them.

    Inputs have one shape; one that is a scalar is put into every cell.
    """
    between = separator.encode()
    if not inputs:
        return np.array(b"", object)
    return texts(lambda *parts: between.join(parts), *inputs)


@string_join.shape
def _(inputs: Sequence[Spec], *, separator: str) -> Shape:
    shape: Shape = ()
    for each in inputs:
        if each.shape is None:
            shape = None if shape in (None, ()) else shape
        elif each.shape:
            known = None if shape in (None, ()) else shape
            hint = "Give all of them one shape, or a scalar."
            shape = agreed("inputs", each, known, "the shape of the others", hint)
    return shape


string_join.grad(zero_gradient)
string_join.case(
    "a list and one for all",
    inputs=[["a", "b"], "x"],
    separator="-",
    out=np.array([b"a-x", b"b-x"], object),
)
string_join.case("zero bytes", inputs=[b"a\0", b"\0"], out=np.array(b"a\0\0", object))
string_join.fails("two shapes", inputs=[["a", "b"], ["c"]], error="the shape of the others")


# -- StringLength ---------------------------------------------------------------------------------


@op("StringLength", "string -> output: int32")
def string_length(input: Array, *, unit: Unit = "BYTE") -> Array:
    """How long each text is, in bytes or in letters."""
    lengths = [
        len(text) if unit == "BYTE" else sum(byte & 0xC0 != 0x80 for byte in text)
        for text in checked_items(input.reshape(-1))
    ]
    return np.array(lengths, np.int32).reshape(input.shape)


@string_length.shape
def _(input: Spec, *, unit: str) -> Shape:
    return input.shape


string_length.grad(zero_gradient)
string_length.case("bytes", input=["é", "", b"a\0b"], out=np.array([2, 0, 3]))
string_length.case("letters", input=["é", "日本"], unit="UTF8_CHAR", out=np.array([1, 2]))
string_length.fails("another unit", input="a", unit="WORD", error="BYTE or UTF8_CHAR")


# -- Substr ---------------------------------------------------------------------------------------


@op("Substr", "string, T, T -> output: string", T=("int32", "int64"))
def substr(input: Array, pos: Array, len_: Array, *, unit: Unit = "BYTE") -> Array:
    """A part of each text: from `pos`, counted from the end if it is negative, `len` bytes or letters.

    It ends where the text does, if that comes first. A negative `len` has no end.
    """

    def part(text: bytes, start: int, count: int) -> bytes:
        begin, count = _start(text, start, unit), int(count)  # int32 would overflow
        if unit == "BYTE":
            return text[begin : None if count < 0 else begin + count]
        ends = [*_letters(text), len(text)]
        return text[ends[begin] : ends[-1 if count < 0 else min(begin + count, len(ends) - 1)]]

    return texts(part, input, pos, len_)


def _start(text: bytes, pos: int, unit: str) -> int:
    size = len(text) if unit == "BYTE" else len(_letters(text))
    if not -size <= pos <= size:
        raise OpError(
            f"must lie in [{-size}, {size}] for a text that long",
            arg="pos",
            got=int(pos),
            hint="Count from 0 at the front, or from -1 at the end.",
        )
    return int(pos) % size if pos < 0 else int(pos)


@substr.shape
def _(input: Spec, pos: Spec, len: Spec, *, unit: str) -> Shape:
    hint = "Give a length for every position."
    places = Spec(agreed("len", len, pos.shape, "the shape of pos", hint), pos.dtype)
    return broadcast("pos", input.shape, places.shape)


substr.grad(zero_gradient)
substr.case(
    "one part of each",
    input=["hello", "world"],
    pos=1,
    len=3,
    out=np.array([b"ell", b"orl"], object),
)
substr.case(
    "from the end", input="hello", pos=[-3, 5], len=[2, 9], out=np.array([b"ll", b""], object)
)
substr.case(
    "to the end by the largest length",
    input="hello",
    pos=np.array([1, -2], np.int32),
    len=np.array([2**31 - 1] * 2, np.int32),
    out=np.array([b"ello", b"lo"], object),
)
substr.case(
    "letters", input="日本語", pos=-2, len=1, unit="UTF8_CHAR", out=np.array("本".encode(), object)
)
substr.differs(
    "negative lengths of letters",
    tensorflow="Takes all bytes to the end, but no letters, and refuses letters counted from the end.",
    ours="Takes all to the end, of bytes and of letters.",
)
substr.differs(
    "broadcasting of three axes and more",
    tensorflow="Refused: texts and positions are broadcast up to tables.",
    ours="They are broadcast whatever their rank.",
)
substr.case(
    "a cube of texts, a position for each column",
    input=[[["hello", "world"]]],
    pos=[1, 2],
    len=[1, 2],
    out=np.array([[[b"e", b"rl"]]], object),
)
substr.fails("behind the end", input="hello", pos=6, len=1, error=r"lie in \[-5, 5\]")
substr.fails("two positions, one length", input="a", pos=[0, 0], len=[1], error="the shape of pos")


# -- StringSplitV2 --------------------------------------------------------------------------------


@op(
    "StringSplitV2",
    "string, string -> indices: int64, values: string, shape: int64",
    data_dependent_shape=True,
)
def string_split_v2(input: Array, sep: Array, *, maxsplit: Int = -1) -> tuple[Array, Array, Array]:
    """The words of each text, as a sparse table with a row for each text.

    Words stand between one `sep` and the next; if that is empty, between blanks, however many. After
    `maxsplit` of them the rest is one word; a negative one has no limit.
    """
    mark, most = sep.item(), max(maxsplit, -1)
    rows = [_words(text, mark, most) for text in checked_items(input.tolist())]
    indices = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = [word for row in rows for word in row]
    column = np.empty(len(values), object)
    column[:] = values
    table = (len(rows), max(map(len, rows), default=0))
    return np.array(indices, np.int64).reshape(-1, 2), column, np.array(table, np.int64)


def _words(text: bytes, mark: bytes, most: int) -> list[bytes]:
    if most == 0:
        return [text]
    words = text.split(mark or None, most)
    # What is left after so many words is one more, even if it is nothing, as in TensorFlow.
    return [*words, b""] if not mark and len(words) == most else words


@string_split_v2.shape
def _(input: Spec, sep: Spec, *, maxsplit: int) -> tuple[Shape, Shape, Shape]:
    ranked("input", input, 1)
    scalar_value("sep", sep)
    return (None, 2), (None,), (2,)


string_split_v2.grad(zero_gradient)
string_split_v2.case(
    "words between blanks",
    input=["a b  c", "", " d "],
    sep="",
    out=(
        np.array([[0, 0], [0, 1], [0, 2], [2, 0]]),
        np.array([b"a", b"b", b"c", b"d"], object),
        np.array([3, 3]),
    ),
)
string_split_v2.case(
    "between commas, one cut",
    input=["a,,b", ""],
    sep=",",
    maxsplit=1,
    out=(
        np.array([[0, 0], [0, 1], [1, 0]]),
        np.array([b"a", b",b", b""], object),
        np.array([2, 2]),
    ),
)
string_split_v2.fails("one text", input="a b", sep="", error="1 dimension")
string_split_v2.fails("two marks", input=["a b"], sep=["a", "b"], error="must be a scalar")
