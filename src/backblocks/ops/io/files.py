"""Whole files: read, written, and found by a pattern."""

import os
import re
from collections.abc import Iterator

import numpy as np

from backblocks.errors import OpError
from backblocks.ops import _files
from backblocks.ops._inputs import Array
from backblocks.ops._op import op, zero_gradient
from backblocks.ops._spec import Shape, Spec, scalar_value


@op("ReadFile", "string -> contents: string", files="reads", stateful=True)
def read_file(filename: Array) -> Array:
    """All bytes of a file."""
    with _files.open_for_reading("filename", filename.item()) as file:
        return np.array(_files.read("filename", file, _files.size_of(file)), object)


@read_file.shape
def _(filename: Spec) -> Shape:
    scalar_value("filename", filename)
    return ()


read_file.grad(zero_gradient)
read_file.in_use(
    "It reads a file, which must be there.",
    """
    >>> bb.ops.write_file("a.txt", "hello")
    >>> bb.ops.read_file("a.txt")
    array(b'hello', dtype=object)
    """,
)
read_file.fails("two names", filename=["a", "b"], error="must be a scalar")
read_file.fails("a file that is not there", filename="no/such/file", error="No such file")
read_file.fails("a folder", filename=".", error="a plain file")
read_file.fails("no name", filename="", error="must name a file")


@op("WriteFile", "string, string ->", files="writes", stateful=True)
def write_file(filename: Array, contents: Array) -> None:
    """Makes a file of these bytes, in place of one that has its name."""
    with _files.open_for_writing("filename", filename.item()) as file:
        file.write(contents.item())


@write_file.shape
def _(filename: Spec, contents: Spec) -> None:
    scalar_value("filename", filename)
    scalar_value("contents", contents)


write_file.grad(zero_gradient)
write_file.in_use(
    "It gives nothing but a file.",
    """
    >>> bb.ops.write_file("a.txt", "hello")
    >>> bb.ops.read_file("a.txt")
    array(b'hello', dtype=object)
    """,
)
write_file.fails("two names", filename=["a", "b"], contents="", error="must be a scalar")
write_file.fails("two files", filename="a", contents=["", ""], error="must be a scalar")
write_file.fails("a folder", filename=".", contents="", error="must name a file")
write_file.differs(
    "half a file",
    tensorflow="A process that ends while it writes leaves half a file.",
    ours="The file is there when it is whole; until then there is the old one, or none.",
)


# -- patterns -------------------------------------------------------------------------------------

_SPECIAL = re.compile(r"[*?\[\\]")


@op(
    "MatchingFiles",
    "string -> filenames: string",
    files="reads",
    stateful=True,
    data_dependent_shape=True,
)
def matching_files(pattern: Array) -> Array:
    """The names of files and folders that fit a pattern or one of several, in order.

    `*` stands for any letters but a slash, `?` for one of them, `[ab]` for one of these, `[^ab]` for any
    other, and a backslash takes the next letter for itself.
    """
    names = [name for text in pattern.reshape(-1) for name in matches("pattern", text)]
    return np.array([*sorted(names), None], object)[:-1]


@matching_files.shape
def _(pattern: Spec) -> Shape:
    if pattern.shape is not None and len(pattern.shape) > 1:
        hint = "Give a list of patterns."
        raise OpError("must be a scalar or a list", arg="pattern", got=pattern.shape, hint=hint)
    return (None,)


def matches(arg: str, pattern: bytes) -> Iterator[bytes]:
    """The names of files and folders that fit a pattern, in no order."""
    text = os.fsdecode(pattern)
    special = _SPECIAL.search(text)
    if special is None:
        if text and os.path.lexists(_files.resolve(arg, pattern.rstrip(b"/") or pattern)):
            yield pattern
        return
    # As TensorFlow does: where the pattern has no folder of its own, the names begin with "./".
    start = text[: special.start()].rpartition("/")[0]
    rest = text[len(start) :].lstrip("/") if start else text.lstrip("/")
    if not start:
        start = "" if text.startswith("/") else "."
    parts = [_as_expression(part) for part in re.split(r"/+", rest) if part]
    yield from (os.fsencode(name) for name in _walk(arg, start, parts))


def _walk(arg: str, folder: str, parts: list[re.Pattern[str]]) -> Iterator[str]:
    """Names below `folder`, of which each part fits the expression in its place."""
    first, *more = parts
    try:
        below = os.listdir(_files.resolve(arg, os.fsencode(folder or "/")))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    for name in below:
        if first.fullmatch(name):
            path = f"{folder}/{name}"
            yield from _walk(arg, path, more) if more else [path]


def _as_expression(part: str) -> re.Pattern[str]:
    """A part of a pattern between slashes, as a regular expression."""
    chunks, i = [""], 0  # what stands between stars
    while i < len(part):
        letter, i = part[i], i + 1
        if letter == "*":
            chunks.append("")
        elif letter == "?":
            chunks[-1] += "."
        elif letter == "\\" and i < len(part):
            chunks[-1], i = chunks[-1] + re.escape(part[i]), i + 1
        elif letter == "[":
            turned = part[i : i + 1] in ("!", "^")
            end = part.find("]", i + turned + 1)
            if end < 0:
                return re.compile(r"(?!)")  # a set without an end fits nothing
            letters = _set(part[i + turned : end])
            chunks[-1] += f"[{'^' * turned}{letters}]" if letters else r"(?!)"
            i = end + 1
        else:
            chunks[-1] += re.escape(letter)
    first, *rest = chunks
    # The first place that fits is as good as any: looking for others would take for ever.
    stars = "".join(f"(?>.*?{chunk})" for chunk in rest[:-1])
    last = f".*{rest[-1]}" if rest else ""
    return re.compile(first + stars + last, re.DOTALL)


def _set(letters: str) -> str:
    """Letters and ranges between brackets, as an expression has them; one that runs down is empty."""
    out, i = "", 0
    while i < len(letters):
        if letters[i + 1 : i + 2] == "-" and i + 2 < len(letters):
            low, high = letters[i], letters[i + 2]
            out += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
            i += 3
        else:
            out, i = out + re.escape(letters[i]), i + 1
    return out


matching_files.grad(zero_gradient)
matching_files.in_use(
    "It looks for files, which must be there.",
    """
    >>> bb.ops.write_file("a.txt", "hello")
    >>> bb.ops.write_file("b.bin", "hello")
    >>> bb.ops.matching_files("*.txt")
    array([b'./a.txt'], dtype=object)
    """,
)
matching_files.fails("a table of patterns", pattern=[["*"]], error="a scalar or a list")


@op("ShardedFilename", "string, int32, int32 -> filename: string")
def sharded_filename(basename: Array, shard: Array, num_shards: Array) -> Array:
    """The name of one of several files that belong together: `base-00003-of-00012`."""
    numbers = f"-{shard.item():05d}-of-{num_shards.item():05d}"
    return np.array(basename.item() + numbers.encode(), object)


@sharded_filename.shape
def _(basename: Spec, shard: Spec, num_shards: Spec) -> Shape:
    scalar_value("basename", basename)
    scalar_value("shard", shard)
    scalar_value("num_shards", num_shards)
    return ()


sharded_filename.grad(zero_gradient)
sharded_filename.case(
    "the fourth of twelve",
    basename="run/state",
    shard=3,
    num_shards=12,
    out=np.array(b"run/state-00003-of-00012", object),
)
sharded_filename.case(
    "more than five digits",
    basename="",
    shard=123456,
    num_shards=1,
    out=np.array(b"-123456-of-00001", object),
)
sharded_filename.fails("two", basename=["a", "b"], shard=0, num_shards=1, error="must be a scalar")
