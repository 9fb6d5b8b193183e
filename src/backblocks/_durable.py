"""Durable file writes: what must survive a kill, a full disk and a power cut.

Every file that the library replaces or appends to goes through this module, and every operation that
changes the disk through its `os`: tests put a simulated disk there, which fails or loses power at each of
them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

StrPath = str | os.PathLike[str]

_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{16}\.backblocks", re.DOTALL)
"""The names of temporary files. They end in a way that no other program gives its files."""


class _File(io.FileIO):
    """A file whose writes go through this module's `os`."""

    def write(self, data: Any, /) -> int:
        return os.write(self.fileno(), data)


@contextmanager
def atomic_write(path: StrPath) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of another in one step, with the rights that it had.

    Whenever the process or the power ends, the old file or the new one is there, whole. Once the context
    has been left without an error, it is the new one.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "It is no plain file", os.fspath(path))
    folder, name = os.path.split(os.path.abspath(path))
    remove_stale_temporaries(folder)
    try:
        handle, new = _temporary(folder, name)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with io.BufferedWriter(_File(handle, "wb")) as file:
            yield file
            file.flush()
            os.chmod(new, _usual_mode(path))
            os.fsync(handle)
            os.replace(new, path)  # before the lock ends with the handle
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise
    sync_folder(folder)


def _temporary(folder: str, name: str) -> tuple[int, str]:
    """A new file that is locked for as long as it is open, so that no process removes it as stale."""
    while True:
        path = os.path.join(folder, f".{name[:50]}.{os.urandom(8).hex()}.backblocks")
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        taken = False
        try:
            lock(handle)
        except BlockingIOError:
            taken = True
        except OSError:  # a file system without locks, where removal gets no lock either
            pass
        if not taken and os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # it was removed as stale between its creation and its lock


_cleaned: set[str] = set()


def remove_stale_temporaries(folder: StrPath) -> None:
    """Removes temporary files of writers that were killed, once for each folder and process.

    A writer holds a lock on its file for as long as it lives.
    """
    folder = os.path.abspath(folder)
    if folder in _cleaned:
        return
    _cleaned.add(folder)
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if _TEMPORARY.fullmatch(name):
                with contextlib.suppress(OSError):
                    _remove_unlocked(os.path.join(folder, name))


def _remove_unlocked(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        lock(handle)
        if stat.S_ISREG(os.fstat(handle).st_mode):
            os.unlink(path)
    finally:
        os.close(handle)


def lock(handle: int) -> None:
    """Holds a file for this process until the handle is closed; BlockingIOError if another process does."""
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def open_locked(path: StrPath) -> int:
    """A handle of a file that is made for its lock; BlockingIOError if another process holds it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        lock(handle)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _usual_mode(path: StrPath) -> int:
    """The rights of the file that is replaced, or those that a new file gets."""
    if os.path.exists(path):
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


_unsynced: set[str] = set()
"""Folders that were made and could not be synced: they are there, but may be gone after a power cut."""


def make_folder(path: StrPath, mode: int = 0o777, *, parents: bool = True) -> None:
    """Makes a folder, and with `parents` those above it that are missing, and has the disk keep them."""
    path = os.path.abspath(path)
    above = os.path.dirname(path)
    if not os.path.isdir(path):
        if parents:
            make_folder(above, mode)
        with contextlib.suppress(FileExistsError):  # made by another process meanwhile
            os.mkdir(path, mode)
        _unsynced.add(path)
    if path in _unsynced:
        sync_folder(above)
        _unsynced.discard(path)


def sync_folder(folder: StrPath) -> None:
    """Returns when the names that a folder holds are on the disk."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written to but not read cannot be synced
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path: StrPath) -> None:
    """Removes a file, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


class AppendOnly:
    """A file that is only appended to, each time by all of the data or by none."""

    def __init__(self, path: StrPath, *, new: bool = False) -> None:
        self.path = os.path.abspath(path)
        flags = os.O_WRONLY | os.O_APPEND | (os.O_CREAT | os.O_TRUNC if new else 0)
        # A pipe is refused: to open one waits for whoever reads it.
        self._handle = os.open(self.path, flags | os.O_NONBLOCK, 0o600)
        # Not even that of a file that is there: its writer may have been killed.
        self._name_is_synced = False
        self.size = os.fstat(self._handle).st_size
        self.is_sound = True
        """Whether it holds what was appended and nothing else. After an error that cannot be known: what
        a failed sync was to write may be lost even if the next one succeeds. It must be replaced."""

    def append(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        except BaseException:
            self.is_sound = False
            os.ftruncate(self._handle, self.size)
            self.is_sound = True
            raise
        self.size += len(data)

    def sync(self) -> Callable[[], None]:
        """A function that returns when what has been appended so far is on the disk.

        It can be called in another thread, while the file is appended to or closed.
        """
        handle = os.dup(self._handle)

        def finish() -> None:
            try:
                os.fsync(handle)
                if not self._name_is_synced:
                    sync_folder(os.path.dirname(self.path))
                    self._name_is_synced = True
            except OSError:
                self.is_sound = False
                raise
            finally:
                os.close(handle)

        return finish

    def was_replaced(self) -> bool:
        """Whether its name stands for another file."""
        try:
            return not os.path.samestat(os.stat(self.path), os.fstat(self._handle))
        except OSError:
            return True

    def close(self) -> None:
        os.close(self._handle)
