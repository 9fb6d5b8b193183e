"""Assertions, and values printed to stderr."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import ALL_BUT_RESOURCE, BY_NAME, is_float, wide
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._rng_state import current_rng_state, state_words
from backblocks.ops._spec import Shape, Spec, scalar_value
from backblocks.ops.attrs import Int, Text, choice

# -- a tensor in a few words ------------------------------------------------------------------------


def summary(tensor: Array, most: int) -> str:
    """The first `most` numbers of a tensor, all if that is negative, as TensorFlow writes them."""
    most = tensor.size if most < 0 else most
    words = [_cell(cell, tensor.dtype) for cell in tensor.reshape(-1)[:most].tolist()]
    return _rows(words, tensor.shape) + ("..." if tensor.size > most else "")


def _rows(words: list[str], shape: tuple[int, ...]) -> str:
    """The words, in brackets for each row that has begun."""
    if len(shape) <= 1:
        return " ".join(words)
    text, size = "", int(np.prod(shape[1:]))
    for start in range(0, min(size * shape[0], len(words)), max(size, 1)):
        row = words[start : start + size]
        cut = "..." if len(shape) == 2 and len(row) < size else ""
        text += f"[{_rows(row, shape[1:])}{cut}]"
    return text


def _cell(cell: Any, dtype: Any) -> str:
    if isinstance(cell, bytes):
        text = cell.decode("utf-8", "replace")
        return "".join(_ESCAPED.get(letter, letter) for letter in text)
    if isinstance(cell, complex):
        parts = (_cell(part, BY_NAME["float64"]) for part in (cell.real, cell.imag))
        return "({},{})".format(*parts)
    if not is_float(dtype):
        return str(int(cell))
    # As few digits as tell the number from its neighbours, or all.
    few, all_ = (15, 17) if dtype.itemsize == 8 else (6, 9)
    short = f"{cell:.{few}g}"
    exact = cell != cell or np.float64(short).astype(wide(dtype)) == cell
    return short if exact else f"{cell:.{all_}g}"


_ESCAPED = {chr(code): f"\\{code:03o}" for code in (*range(32), 127)} | {
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    '"': '\\"',
    "'": "\\'",
    "\\": "\\\\",
}


# -- ops --------------------------------------------------------------------------------------------


@op("Assert", "bool, T** ->", stateful=True, T=ALL_BUT_RESOURCE)
def assert_(condition: Array, data: Sequence[Array], *, summarize: Int = 3) -> None:
    """Stops the run if `condition` does not hold, with the first `summarize` numbers of each tensor."""
    if not condition:
        words = " ".join(f"[{summary(tensor, summarize)}]" for tensor in data)
        raise OpError("must hold", arg="condition", got=False, hint=f"It says: {words}.")


@assert_.shape
def _(condition: Spec, data: Sequence[Spec], *, summarize: int) -> None:
    scalar_value("condition", condition)
    if not data:
        got, hint = described("an empty list"), "Say in words what is wrong."
        raise OpError("must have at least 1 tensor", arg="data", got=got, hint=hint)


assert_.no_gradient("It gives nothing.")
assert_.case("it holds", condition=True, data=[np.array([1.0])], out=())
assert_.fails(
    "it does not hold",
    condition=False,
    data=[np.array("too many:", object), np.arange(5)],
    error=r"must hold; got False. It says: \[too many:\] \[0 1 2...\].",
)
assert_.fails("two conditions", condition=[True, True], data=[1.0], error="must be a scalar")
assert_.fails("nothing to say", condition=True, data=[], error="at least 1")


@op(
    "Print",
    "T, U** -> output: T",
    aliases=("log", "debug"),
    stateful=True,
    T=ALL_BUT_RESOURCE,
    U=ALL_BUT_RESOURCE,
)
def print_(
    input: Array,
    data: Sequence[Array],
    *,
    message: Text = "",
    first_n: Int = -1,
    summarize: Int = 3,
) -> Array:
    """`input` as it is. On the way, writes `message` and the first numbers of each tensor to stderr.

    output = input

    With `first_n` it does so in the first runs of a session only.
    """
    state = current_rng_state()
    spoken = int(state.words[0]) if state else 0
    if first_n < 0 or spoken < first_n:
        words = "".join(f"[{summary(tensor, summarize)}]" for tensor in data)
        sys.stderr.write(f"{message}{words}\n")
        sys.stderr.flush()
    if state:
        state.words = state_words(spoken + 1, 0, 0)
    return input.copy()


@print_.shape
def _(input: Spec, data: Sequence[Spec], **attrs: Any) -> Shape:
    return input.shape


@print_.rng_state
def _(source: Any, **attrs: Any) -> Array:
    return state_words(0, 0, 0)


@print_.grad
def _(dy: Value, y: Value, input: Value, data: Sequence[Value], **attrs: Any) -> list[Value]:
    return [dy, None]


print_.case("a number", input=np.array([1.0]), data=[np.arange(5)], out=np.array([1.0]))
print_.case("nothing to say", input=np.zeros((0, 2)), data=[], message="so", out=np.zeros((0, 2)))
print_.differs(
    "eager calls",
    tensorflow="Outside a graph, `first_n` counts all calls that are alike.",
    ours="Each call is the first.",
)
for _each in (assert_, print_):
    _each.differs(
        "complex numbers",
        tensorflow="They are written as a question mark.",
        ours="They are written as (real,imaginary).",
    )


Stream = Annotated[
    str,
    choice("Where the text goes.", "stderr", "stdout", "log(info)", "log(warning)", "log(error)"),
]


@op("PrintV2", "string ->", stateful=True)
def print_v2(input: Array, *, output_stream: Stream = "stderr", end: Text = "\n") -> None:
    """Writes text to the terminal. What is written to a log goes to standard error."""
    text = input.item().decode("utf-8", "replace")
    stream = sys.stdout if output_stream == "stdout" else sys.stderr
    stream.write(text + end)
    stream.flush()


@print_v2.shape
def _(input: Spec, *, output_stream: str, end: str) -> None:
    scalar_value("input", input)


print_v2.no_gradient("It gives nothing.")
print_v2.case("a line", input="the loss is small", out=())
print_v2.fails("two texts", input=["a", "b"], error="must be a scalar")
print_v2.fails("a file", input="a", output_stream="file:///tmp/a", error="must be stderr or stdout")
print_v2.differs(
    "files",
    tensorflow='`output_stream="file:///tmp/a"` adds the text to a file.',
    ours="It is refused: only blocks that say so touch files.",
    agree="Write it with WriteFile.",
)
