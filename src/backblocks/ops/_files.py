"""File access of ops: the folder that names are relative to, and which files are allowed.

A file is named by text, as in TensorFlow. Called on arrays, an op looks for it from the working directory.
A session can say otherwise: it sets `file_root` while it runs, and names that lead out of its folder are
refused. All ops find their files through this module.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import BinaryIO

from backblocks._durable import atomic_write
from backblocks.errors import OpError, OpMemoryError, described
from backblocks.ops import _memory


@dataclass(frozen=True)
class FileRoot:
    """The folder that file names are relative to. With `closed`, no name may lead out of it."""

    folder: str = ""
    closed: bool = False


_WORKING_DIRECTORY = FileRoot()
file_root: ContextVar[FileRoot] = ContextVar("file_root", default=_WORKING_DIRECTORY)


def resolve(arg: str, name: bytes) -> str:
    """The real path of a name, with symbolic links followed; refused if it leads out of a closed root."""
    here = file_root.get()
    text = os.fsdecode(name)
    if not text or "\0" in text:
        hint = "Write its name, such as data/images.bin."
        raise OpError("must name a file", arg=arg, got=text, hint=hint)
    folder = os.path.realpath(here.folder)
    path = os.path.realpath(os.path.join(folder, text))
    if here.closed and os.path.commonpath([folder, path]) != folder:
        raise OpError(
            f"must name a file in {folder}",
            arg=arg,
            got=text,
            hint='Move it there, or allow all files: bb.Session(page, allow_files="anywhere").',
        )
    return path


def exists(arg: str, name: bytes) -> bool:
    return os.path.isfile(resolve(arg, name))


def _file_error(arg: str, name: str, error: Exception) -> OpError:
    why = getattr(error, "strerror", None) or str(error)
    hint = f"{why}. Names begin in {file_root.get().folder or 'the working directory'}."
    return OpError("must name a file that can be used", arg=arg, got=name, hint=hint)


@contextmanager
def open_for_reading(arg: str, name: bytes) -> Iterator[BinaryIO]:
    """A plain file to read from. Devices and pipes, which may have no end, are refused."""

    def opener(path: str, flags: int) -> int:
        # Opening a pipe would wait for somebody to write into it.
        handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            got, hint = os.fsdecode(name), "Folders and devices cannot be read."
            raise OpError("must name a plain file", arg=arg, got=got, hint=hint)
        return handle

    try:
        with open(resolve(arg, name), "rb", opener=opener) as file:
            yield file
    except OSError as error:
        raise _file_error(arg, os.fsdecode(name), error) from None


def size_of(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def read(arg: str, file: BinaryIO, size: int) -> bytes:
    """The next `size` bytes or what is left of them, if there is room for so many."""
    if size > _memory.SMALL and not _memory.is_available(size):
        raise OpMemoryError(
            "must be a file that fits in memory",
            arg=arg,
            got=described(f"{size / 2**30:.1f} GiB"),
            hint="Read it in records, or in slices.",
        )
    return file.read(size)


@contextmanager
def open_for_writing(arg: str, name: bytes) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name when it is whole.

    Whoever reads finds the old file or the new one, and no half, even if the process is killed. Folders
    on the way are made, as TensorFlow does.
    """
    path = resolve(arg, name)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.isdir(path):
            hint = "It is a folder: write the name of a file in it."
            raise OpError("must name a file", arg=arg, got=os.fsdecode(name), hint=hint)
        with atomic_write(path) as file:
            yield file
    except OSError as error:
        raise _file_error(arg, os.fsdecode(name), error) from None
