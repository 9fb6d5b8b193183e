"""Checkpoints: tensors kept in a file by name.

They are written as safetensors. Read are safetensors, NumPy's npz, and TensorFlow's own files of both
versions. Nothing that is read is ever run: there is no pickle in any of them.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, BinaryIO, Protocol

import numpy as np

from backblocks.dtypes import BY_NAME, NAMES, VALUES, DType
from backblocks.errors import OpError, described, nearest
from backblocks.ops import _files
from backblocks.ops._inputs import Array
from backblocks.ops._op import op, zero_gradient
from backblocks.ops._spec import Shape, Spec, ranked, shape_text
from backblocks.ops.array.const_and_placeholder import ValueType
from backblocks.ops.attrs import Int, dtypes_of
from backblocks.ops.io import _safetensors
from backblocks.ops.io._safetensors import Broken, Safetensors, possible
from backblocks.ops.io._tensorflow_checkpoints import MAGIC, Bundle, Slices
from backblocks.ops.io.files import matches

ValueTypes = Annotated[tuple[Any, ...], dtypes_of(*VALUES)]


# -- files of every kind --------------------------------------------------------------------------


class Tensors(Protocol):
    """An open checkpoint."""

    def names(self) -> list[str]: ...

    def read(self, arg: str, name: str) -> Array: ...


class Npz:
    """A file of np.savez."""

    def __init__(self, file: BinaryIO) -> None:
        import zipfile  # only who reads such a file pays for it

        try:
            self._zip = zipfile.ZipFile(file)
        except Exception as error:  # a broken one fails in more ways than zipfile tells
            raise Broken(str(error)) from None

    def names(self) -> list[str]:
        return [name.removesuffix(".npy") for name in self._zip.namelist()]

    def read(self, arg: str, name: str) -> Array:
        known = name if name in self._zip.namelist() else f"{name}.npy"
        try:
            with self._zip.open(known) as file:
                read_header = {
                    (1, 0): np.lib.format.read_array_header_1_0,
                    (2, 0): np.lib.format.read_array_header_2_0,
                }[np.lib.format.read_magic(file)]
                shape, by_columns, dtype = read_header(file)
                if dtype == np.dtype("V2"):  # what NumPy makes of it
                    dtype = BY_NAME["bfloat16"]
                plain = dtype.newbyteorder("=")
                if plain not in NAMES or plain.hasobject:
                    raise Broken(f"{name!r} has type {dtype}")
                possible(name, shape, dtype.itemsize)
                size = math.prod(shape) * dtype.itemsize
                if size > self._zip.getinfo(known).file_size:
                    raise Broken(f"{name!r} has not as many bytes as its shape says")
                data = _files.read(arg, file, size)  # type: ignore[arg-type]
            array = np.frombuffer(data, dtype).astype(plain)
            return array.reshape(shape[::-1]).T if by_columns else array.reshape(shape)
        except (Broken, OpError):
            raise
        except Exception as error:  # as above
            raise Broken(f"{name!r} cannot be read: {error}") from None


@contextmanager
def checkpoint(arg: str, name: bytes) -> Iterator[Tensors]:
    """The checkpoint of this name, in whatever format it is; `name.index` if that is there."""
    index = name + b".index"
    bundle = _files.exists(arg, index) and not _files.exists(arg, name)
    with _files.open_for_reading(arg, index if bundle else name) as file:
        size = _files.size_of(file)
        start = file.read(9)
        file.seek(max(0, size - 8))
        end = file.read(8)
        file.seek(0)
        tensors: Tensors
        try:
            if bundle:
                tensors = Bundle(name, file, size)
            elif end == MAGIC:
                tensors = Slices(file, size)
            elif start[:2] == b"PK":
                tensors = Npz(file)
            elif start[8:] == b"{":
                tensors = Safetensors(file, size)
            else:
                raise Broken("it is no safetensors, npz or checkpoint of TensorFlow")
            yield tensors
        except Broken as error:
            raise OpError(
                "must name a checkpoint that can be read",
                arg=arg,
                got=name.decode(errors="replace"),
                hint=f"The file is broken or another: {error}.",
            ) from None


def _restored(
    arg: str, name_arg: str, files: Sequence[bytes], name: bytes, dtype: DType, part: bytes
) -> Array:
    """A tensor of the first of the files that has it."""
    text, known = name.decode(errors="replace"), []
    for file in files:
        with checkpoint(arg, file) as tensors:
            known += tensors.names()
            if text not in tensors.names():
                continue
            array = tensors.read(arg, text)
            if array.dtype != dtype:
                raise OpError(
                    f"must be {NAMES[array.dtype]}, the type of {text!r} in the checkpoint",
                    arg="dtypes" if name_arg == "tensor_names" else "dt",
                    got=described(NAMES[dtype]),
                    hint="Restore it as that, then convert it with Cast.",
                )
            return array[_slices(part, array.shape)] if part else array
    near = nearest(text, known) or ", ".join(known[:3])
    hint = f"It has {near}." if near else "It has no tensors at all."
    raise OpError(
        "must be the name of a tensor in the checkpoint", arg=name_arg, got=text, hint=hint
    )


def _slices(text: bytes, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """The part of a tensor that words such as "4 5 0,2:-" say: the whole shape, then a slice of each axis."""
    arg, hint = (
        "shape_and_slices",
        'Write the shape and, for each axis, start,length or -: "4 5 0,2:-".',
    )

    def wrong(rule: str) -> OpError:
        return OpError(rule, arg=arg, got=text.decode(errors="replace"), hint=hint)

    *sizes, last = text.split()[:40] or [b""]
    if [*map(bytes.decode, sizes)] != [*map(str, shape)]:
        raise wrong(f"must begin with the shape in the checkpoint, {shape_text(shape)}")
    parts = last.split(b":")
    if len(parts) != len(shape):
        raise wrong(f"must have a slice for each of the {len(shape)} axes")
    found = []
    for part, size in zip(parts, shape, strict=True):
        if part == b"-":
            found.append(slice(None))
            continue
        start, comma, length = part.partition(b",")
        if not (comma and start.isdigit() and length.isdigit() and len(part) < 40):
            raise wrong("must have slices of the form start,length")
        first, count = int(start), int(length)
        if count < 1 or first + count > size:
            raise wrong(f"must have slices that lie within {shape_text(shape)}")
        found.append(slice(first, first + count))
    return tuple(found)


# -- names ----------------------------------------------------------------------------------------


def _one(arg: str, spec: Spec) -> None:
    """Refuses anything but one text, alone or in a list."""
    if spec.shape not in (None, (), (1,), (None,)):
        got, hint = described(f"shape {shape_text(spec.shape)}"), "Give one name."
        raise OpError("must be one name", arg=arg, got=got, hint=hint)


def _check_count(arg: str, spec: Spec, count: int, lone: bool = False) -> None:
    """Refuses a list of names that has not one for each tensor; with `lone`, one name needs no list."""
    if lone and spec.shape == () and count == 1:
        return
    (size,) = ranked(arg, spec, 1)
    if size not in (None, count):
        hint = "Give one entry for each tensor, in the same order."
        raise OpError(f"must have {count} entries", arg=arg, got=size, hint=hint)


def _check_names(spec: Spec) -> None:
    """Refuses names that a checkpoint cannot have."""
    if spec.value is None:
        return
    seen = set()
    for name in spec.value.flat:
        if name in seen:
            hint = "Give each tensor a name of its own."
            raise OpError("must all differ", arg="tensor_names", got=name, hint=hint)
        seen.add(name)
        try:
            bad = name.decode() == "__metadata__"
        except UnicodeDecodeError:
            bad = True
        if bad:
            hint = "Use another name, of letters in UTF-8."
            raise OpError("must be text", arg="tensor_names", got=name, hint=hint)


def _saved(arg: str, filename: Array, names: Array, tensors: Sequence[Array]) -> None:
    texts = [name.decode() for name in names.flat]
    with _files.open_for_writing(arg, filename.item()) as file:
        _safetensors.write(file, dict(zip(texts, tensors, strict=True)))


# -- saving ---------------------------------------------------------------------------------------


@op("Save", "string, string, T** ->", files="writes", stateful=True, T=VALUES)
def save(filename: Array, tensor_names: Array, data: Sequence[Array]) -> None:
    """Keeps tensors in a file, each under its name."""
    _saved("filename", filename, tensor_names, data)


@save.shape
def _(filename: Spec, tensor_names: Spec, data: Sequence[Spec]) -> None:
    _one("filename", filename)
    _check_count("tensor_names", tensor_names, len(data), lone=True)
    _check_names(tensor_names)


@op("SaveV2", "string, string, string, dtypes** ->", files="writes", stateful=True, dtypes=VALUES)
def save_v2(
    prefix: Array, tensor_names: Array, shape_and_slices: Array, tensors: Sequence[Array]
) -> None:
    """Keeps tensors in the file `prefix`, each under its name."""
    _saved("prefix", prefix, tensor_names, tensors)


@save_v2.shape
def _(prefix: Spec, tensor_names: Spec, shape_and_slices: Spec, tensors: Sequence[Spec]) -> None:
    _one("prefix", prefix)
    _check_count("tensor_names", tensor_names, len(tensors))
    _check_count("shape_and_slices", shape_and_slices, len(tensors))
    _check_names(tensor_names)
    parts = [] if shape_and_slices.value is None else shape_and_slices.value.tolist()
    if any(parts):
        hint = "Join the slices of a tensor, then save it whole."
        got = next(filter(None, parts))
        raise OpError(
            "must be empty: tensors are saved whole", arg="shape_and_slices", got=got, hint=hint
        )


_X = np.zeros(2, np.float32)
save.fails(
    "two names", filename="f", tensor_names=["a", "b"], data=[_X], error="must have 1 entries"
)
save.fails(
    "one name twice", filename="f", tensor_names=["a", "a"], data=[_X, _X], error="all differ"
)
save.fails(
    "two files", filename=["f", "g"], tensor_names=["a"], data=[_X], error="must be one name"
)
save.fails("a folder", filename=".", tensor_names=["a"], data=[_X], error="must name a file")
save.fails("no text", filename="f", tensor_names=[b"\xff"], data=[_X], error="must be text")
save_v2.fails(
    "a slice",
    prefix="f",
    tensor_names=["a"],
    shape_and_slices=["4 0,2"],
    tensors=[_X],
    error="saved whole",
)
save_v2.fails(
    "too few names",
    prefix="f",
    tensor_names=["a"],
    shape_and_slices=["", ""],
    tensors=[_X, _X],
    error="must have 2 entries",
)
save_v2.differs(
    "slices",
    tensorflow="Saves slices of larger tensors, as `shape_and_slices` says.",
    ours="Saves whole tensors only.",
)
for _each, _file in ((save, "a table"), (save_v2, "`prefix.index` and `prefix.data-...`")):
    _each.differs(
        "format",
        tensorflow=f"Writes {_file} in a format of its own.",
        ours="Writes one file of this very name as safetensors, whole or not at all.",
    )


# -- restoring ------------------------------------------------------------------------------------


@op(
    "Restore",
    "string, string -> tensor: dt",
    files="reads",
    stateful=True,
    data_dependent_shape=True,
)
def restore(
    file_pattern: Array, tensor_name: Array, *, dt: ValueType, preferred_shard: Int = -1
) -> Array:
    """Reads a tensor from a checkpoint by its name.

    `file_pattern` is the name of a file, or a pattern for several, of which the first that has the
    tensor is read; `preferred_shard` says nothing here.
    """
    return _by_pattern(file_pattern, tensor_name, dt, b"")


def _by_pattern(pattern: Array, name: Array, dt: DType, part: bytes) -> Array:
    files = sorted(matches("file_pattern", pattern.item())) or [pattern.item()]
    return _restored("file_pattern", "tensor_name", files, name.item(), dt, part)


@restore.shape
def _(file_pattern: Spec, tensor_name: Spec, *, dt: DType, preferred_shard: int) -> Shape:
    _one("file_pattern", file_pattern)
    _one("tensor_name", tensor_name)
    return None


@op(
    "RestoreSlice",
    "string, string, string -> tensor: dt",
    files="reads",
    stateful=True,
    data_dependent_shape=True,
)
def restore_slice(
    file_pattern: Array,
    tensor_name: Array,
    shape_and_slice: Array,
    *,
    dt: ValueType,
    preferred_shard: Int = -1,
) -> Array:
    """Reads a part of a tensor from a checkpoint.

    "4 5 0,2:-" is the part: the whole shape, then for each axis start and length, or - for all of it.
    """
    try:
        return _by_pattern(file_pattern, tensor_name, dt, shape_and_slice.item())
    except OpError as error:
        error.arg = "shape_and_slice" if error.arg == "shape_and_slices" else error.arg
        raise


@restore_slice.shape
def _(
    file_pattern: Spec, tensor_name: Spec, shape_and_slice: Spec, *, dt: DType, preferred_shard: int
) -> Shape:
    _one("file_pattern", file_pattern)
    _one("tensor_name", tensor_name)
    _one("shape_and_slice", shape_and_slice)
    return None


@op(
    "RestoreV2",
    "string, string, string -> tensors: dtypes**",
    files="reads",
    stateful=True,
    data_dependent_shape=True,
)
def restore_v2(
    prefix: Array, tensor_names: Array, shape_and_slices: Array, *, dtypes: ValueTypes
) -> tuple[Array, ...]:
    """Reads tensors from a checkpoint by their names.

    An entry of `shape_and_slices` is empty for the whole tensor. "4 5 0,2:-" is a part: the whole
    shape, then for each axis start and length, or - for all of it.
    """
    wanted = zip(tensor_names.tolist(), dtypes, shape_and_slices.tolist(), strict=True)
    files = [prefix.item()]
    return tuple(_restored("prefix", "tensor_names", files, *each) for each in wanted)


@restore_v2.shape
def _(
    prefix: Spec, tensor_names: Spec, shape_and_slices: Spec, *, dtypes: Sequence[DType]
) -> Sequence[Shape]:
    _one("prefix", prefix)
    _check_count("tensor_names", tensor_names, len(dtypes))
    _check_count("shape_and_slices", shape_and_slices, len(dtypes))
    return (None,) * len(dtypes)


for _each in (save, restore):
    _each.in_use(
        "It needs a file, which the other of the two reads or writes.",
        """
        >>> bb.ops.save("now", ["w", "b"], [np.float32([1, 2]), np.int32(3)])
        >>> bb.ops.restore("now", "w", dt="float32")
        array([1., 2.], dtype=float32)
        """,
    )
for _each in (save_v2, restore_v2):
    _each.in_use(
        "It needs a file, which the other of the two reads or writes.",
        """
        >>> bb.ops.save_v2("now", ["w", "b"], ["", ""], [np.float32([1, 2]), np.int32(3)])
        >>> bb.ops.restore_v2("now", ["b", "w"], ["", ""], dtypes=["int32", "float32"])
        [array(3, dtype=int32), array([1., 2.], dtype=float32)]
        """,
    )
restore_slice.in_use(
    "It reads a file, which must be there.",
    """
    >>> bb.ops.save("now", ["w"], [np.float32([[1, 2], [3, 4]])])
    >>> bb.ops.restore_slice("now", "w", "2 2 0,1:-", dt="float32")
    array([[1., 2.]], dtype=float32)
    """,
)
_NONE = {"dt": "float32", "error": "No such file"}
restore.fails("no file", file_pattern="no/such/file", tensor_name="a", **_NONE)
restore.fails("two names", file_pattern="f", tensor_name=["a", "b"], dt="int32", error="one name")
restore_slice.fails(
    "no file", file_pattern="no/such/file", tensor_name="a", shape_and_slice="", **_NONE
)
restore_v2.fails(
    "no file",
    prefix="no/such/file",
    tensor_names=["a"],
    shape_and_slices=[""],
    dtypes=["float32"],
    error="No such file",
)
restore_v2.fails(
    "one type for two",
    prefix="f",
    tensor_names=["a", "b"],
    shape_and_slices=["", ""],
    dtypes=["float32"],
    error="must have 1 entries",
)
for _each in (restore, restore_slice, restore_v2):
    _each.differs(
        "format",
        tensorflow="Reads its own checkpoints.",
        ours="Reads safetensors, npz and both of TensorFlow's own, but for tensors kept in several slices.",
    )
for _each in (save, save_v2, restore, restore_slice, restore_v2):
    _each.grad(zero_gradient)
