"""The folder of a page: the only place that a page reads files from."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from backblocks.dtypes import BY_NAME, FROM_ML_DTYPES, NAMES, DType
from backblocks.errors import OpError, OpMemoryError, described
from backblocks.ops import _memory
from backblocks.ops._inputs import Array
from backblocks.ops._spec import check_shape

_UNNAMED: dict[DType, DType] = {
    BY_NAME[name]: np.dtype(f"V{BY_NAME[name].itemsize}") for name in FROM_ML_DTYPES
}
"""What npy files have no name for is kept as bytes, as np.save does; np.load(f).view(dtype) reads it."""
_BITS: dict[DType, DType] = {dtype: np.dtype(f"u{dtype.itemsize}") for dtype in _UNNAMED}
"""What is read as well: its bits as whole numbers."""

_LONGEST = 4096
"""Letters in a path: no system takes more, and to follow links in millions takes for ever."""


@dataclass(frozen=True)
class Folder:
    """`here` is where names start from, and nothing outside `root` is touched. Without them, no file is."""

    here: Path | None = None
    root: Path | None = None
    known: dict[Any, Array] = field(default_factory=dict, compare=False, repr=False)
    """Arrays that were read: each file once for all constants that name it."""

    @classmethod
    def of(cls, page: Path | None) -> Folder:
        """That of a page which was opened from this file."""
        if page is None:
            return cls()
        folder = page.resolve().parent
        return cls(folder, folder)

    def of_part(self, file: Path) -> Folder:
        """That of a page which is used by another."""
        return Folder(file.parent, self.root, self.known)

    def file(self, name: Any) -> Path:
        """The file of this name, which must exist inside the folder once links are followed."""
        path = self.path(name)
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            hint = "Put the file beside the page."
            raise OpError("must be there", got=name, hint=hint) from None
        except OSError as error:
            raise _unusable(name, error) from None
        if not stat.S_ISREG(mode):
            raise OpError("must be a plain file", got=name, hint="Name a file beside the page.")
        return path

    def path(self, name: Any) -> Path:
        """The path of this name, which must lie inside the folder once links are followed."""
        if self.here is None or self.root is None:
            raise OpError(
                "cannot be looked for: the page has no folder yet",
                got=name,
                hint="Save the page first; files stand beside it.",
            )
        if type(name) is str and 0 < len(name) <= _LONGEST and not {"\0", "\\"} & {*name}:
            path = Path(os.path.realpath(self.here / name))
            if not os.path.isabs(name) and path.is_relative_to(self.root):
                return path
        raise OpError(
            "must be a path below the folder of the page",
            got=name,
            hint="Put the file there, and write its name with / between folders.",
        )

    def array(self, name: Any, dtype: DType, shape: tuple[int, ...] | None) -> Array:
        """The array in a file; what the file says of itself is checked before memory is taken for it."""
        with self._opened(name) as file:
            about = os.fstat(file.fileno())
            key = about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, dtype
            if key not in self.known:
                self.known[key] = _array_in(file, name, dtype, shape)
            elif shape not in (None, self.known[key].shape):
                _head(file, name, dtype, shape)  # says what is there instead
            return self.known[key]

    def cells(self, name: Any, dtype: DType, shape: tuple[int, ...] | None) -> int:
        """How many cells the array in a file has. The file is checked in the same way, and not read."""
        with self._opened(name) as file:
            return math.prod(_head(file, name, dtype, shape)[0])

    @contextmanager
    def _opened(self, name: Any) -> Iterator[BinaryIO]:
        path = self.file(name)
        try:
            with open(path, "rb") as file:
                yield file
        except OSError as error:
            raise _unusable(name, error) from None


def header(file: BinaryIO, name: str) -> tuple[tuple[int, ...], bool, DType]:
    """What an npy file says of its array: shape, whether columns come first, and type."""
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        found: tuple[tuple[int, ...], bool, DType] = read(file)
    except Exception:  # NumPy tells of a bad header in many ways
        hint = "Write it with np.save."
        raise OpError("must be a file of one array", got=name, hint=hint) from None
    return found


def _head(
    file: BinaryIO, name: str, dtype: DType, shape: tuple[int, ...] | None
) -> tuple[tuple[int, ...], bool, DType]:
    """Shape, whether columns come first, and type of the array that follows, once all is as it must be."""
    found, by_columns, stored = header(file, name)
    known = (_UNNAMED.get(dtype, dtype), _BITS.get(dtype, dtype))
    if stored not in known or shape not in (None, found):
        raise OpError(
            f"must hold {NAMES[dtype]}{'' if shape is None else f' {list(shape)}'}",
            got=described(f"{stored} {list(found)} in {name}"),
            hint="Correct the page, or write the array again.",
        )
    check_shape(found, stored.itemsize)
    size = math.prod(found) * stored.itemsize
    if size != os.fstat(file.fileno()).st_size - file.tell():
        hint = "It was cut off, or something else was written to it."
        raise OpError("must be a whole file of one array", got=name, hint=hint)
    return found, by_columns, stored


def _array_in(file: BinaryIO, name: str, dtype: DType, shape: tuple[int, ...] | None) -> Array:
    found, by_columns, stored = _head(file, name, dtype, shape)
    if not _memory.has(math.prod(found) * stored.itemsize):
        hint = "Use smaller arrays."
        raise OpMemoryError("needs more memory than there is", got=name, hint=hint)
    array = np.fromfile(file, stored, math.prod(found))
    array.dtype = dtype  # type: ignore[misc]
    if by_columns:
        array = np.array(array.reshape(found, order="F"), order="C")
    array.shape = found
    array.flags.writeable = False  # all constants that name the file share it
    return array


def _unusable(name: str, error: OSError) -> OpError:
    hint = f"{error.strerror}. Look at the name, and at whether it may be read."
    return OpError("must be a file that can be read", got=name, hint=hint)


def write_array(file: Any, array: Array) -> None:
    """Writes an array as npy, which holds numbers and nothing that could run."""
    plain = np.ascontiguousarray(array).reshape(array.shape)
    dtype: DType = array.dtype
    stored = _UNNAMED.get(dtype, dtype)
    np.lib.format.write_array(file, plain.view(stored), (1, 0), False)


def named(stored: DType) -> DType:
    """The type whose arrays npy files keep as this one; as it is if that may be several."""
    found = [dtype for dtype, kept in _UNNAMED.items() if kept == stored]
    return found[0] if len(found) == 1 else stored
