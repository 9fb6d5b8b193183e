"""A simulated disk: fails at any operation, and gives what a power cut after any operation may leave.

It stands in for `os` in `backblocks._durable`. Every operation is carried out in a real folder, which is
what programs see while the power is on, and written to a log. The log is replayed into what is certain to
be on the disk and what is not: data since the last sync of a file, and names since the last sync of their
folder, may each be there or not, in any order, the last write torn or zeros in its place.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Tree = dict[str, bytes | None]
"""Files by their path below the folder, with None for folders."""


class Disk:
    """What `os` does to files below a folder. `fails` says for the number and name of an operation which
    error it ends in, if any.
    """

    def __init__(self, root: Path, fails: Callable[[int, str], int] = lambda *_: 0) -> None:
        self.root = root
        self.fails = fails
        self.count = 0
        self.start = tree_of(root)
        self.log: list[tuple[Any, ...]] = []
        self._inodes = itertools.count()
        self._names = {path: next(self._inodes) for path in self.start}
        self._inode_of: dict[int, int | str] = {}
        """By handle: a number of a file, or the path of a folder."""
        self._alone = threading.RLock()
        self._names_at_start = dict(self._names)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def mark(self, what: Any) -> None:
        """Notes what has been promised up to this point."""
        with self._alone:
            self.log.append(("mark", what))

    def _below(self, path: Any) -> str | None:
        path = os.path.abspath(path)
        inside = path == str(self.root) or path.startswith(f"{self.root}/")
        return os.path.relpath(path, self.root) if inside else None

    def _step(self, name: str) -> None:
        self.count += 1
        if error := self.fails(self.count - 1, name):
            raise OSError(error, os.strerror(error))

    # -- operations ---------------------------------------------------------------------------

    def open(self, path: Any, flags: int, mode: int = 0o777) -> int:
        with self._alone:
            inner = self._below(path)
            if inner is None:
                return os.open(path, flags, mode)
            self._step("open")
            is_new = not os.path.lexists(path)
            handle = os.open(path, flags, mode)
            if os.path.isdir(path):
                self._inode_of[handle] = inner
            else:
                if is_new:
                    self._names[inner] = next(self._inodes)
                    self.log.append(("name", _folder(inner), [(inner, self._names[inner])]))
                elif flags & os.O_TRUNC:
                    self.log.append(("truncate", self._names[inner], 0))
                self._inode_of[handle] = self._names[inner]
            return handle

    def dup(self, handle: int) -> int:
        with self._alone:
            self._step("dup")
            other = os.dup(handle)
            self._inode_of[other] = self._inode_of[handle]
            return other

    def write(self, handle: int, data: Any) -> int:
        with self._alone:
            data, inode = bytes(data), self._inode_of[handle]
            try:
                self._step("write")
            except OSError:
                self._write(
                    handle, inode, data[: len(data) // 2]
                )  # some of it may have been written
                raise
            return self._write(handle, inode, data)

    def _write(self, handle: int, inode: Any, data: bytes) -> int:
        if data:
            os.write(handle, data)
            end = os.lseek(handle, 0, os.SEEK_CUR)
            self.log.append(("write", inode, end - len(data), data))
        return len(data)

    def fsync(self, handle: int) -> None:
        with self._alone:
            inode = self._inode_of[handle]
            try:
                self._step("fsync")
            except OSError:
                self.log.append(("lost", inode))  # systems drop what they could not write
                raise
            self.log.append(("sync", inode))

    def ftruncate(self, handle: int, size: int) -> None:
        with self._alone:
            self._step("ftruncate")
            os.ftruncate(handle, size)
            self.log.append(("truncate", self._inode_of[handle], size))

    def replace(self, old: Any, new: Any) -> None:
        with self._alone:
            self._step("replace")
            os.replace(old, new)
            one, other = self._inner(old), self._inner(new)
            self._names[other] = self._names.pop(one)
            self.log.append(("name", _folder(one), [(one, None), (other, self._names[other])]))

    def unlink(self, path: Any) -> None:
        with self._alone:
            self._step("unlink")
            os.unlink(path)
            inner = self._inner(path)
            del self._names[inner]
            self.log.append(("name", _folder(inner), [(inner, None)]))

    def mkdir(self, path: Any, mode: int = 0o777) -> None:
        with self._alone:
            inner = self._below(path)
            if inner is None:
                return os.mkdir(path, mode)
            self._step("mkdir")
            os.mkdir(path, mode)
            self._names[inner] = next(self._inodes)
            self.log.append(("folder", self._names[inner]))
            self.log.append(("name", _folder(inner), [(inner, self._names[inner])]))

    def chmod(self, path: Any, mode: int) -> None:
        with self._alone:
            self._step("chmod")
            os.chmod(path, mode)

    def listdir(self, path: Any) -> list[str]:
        self._step("listdir")
        return os.listdir(path)

    def _inner(self, path: Any) -> str:
        inner = self._below(path)
        assert inner is not None, f"{path} is not on the simulated disk"
        return inner

    # -- a power cut --------------------------------------------------------------------------

    def cut_off_after(self, operations: int) -> Iterator[Tree]:
        """What may be found after a power cut: different outcomes, those that are likeliest to hurt."""
        on_disk = _OnDisk(self.start, self._names_at_start)
        for entry in self.log[:operations]:
            on_disk.take(entry)
        seen = set()
        for outcome in on_disk.outcomes(random.Random(operations)):  # noqa: S311
            key = tuple(sorted(outcome.items()))
            if key not in seen:
                seen.add(key)
                yield outcome

    def marks(self, operations: int) -> list[Any]:
        return [entry[1] for entry in self.log[:operations] if entry[0] == "mark"]


def _folder(inner: str) -> str:
    return os.path.dirname(inner) or "."


class _OnDisk:
    """What is certain to be on the disk, and what is on its way."""

    def __init__(self, start: Tree, names: dict[str, int]) -> None:
        self.names = dict(names)
        self.data = {names[path]: content for path, content in start.items()}
        self.writes: dict[int, list[tuple[int, bytes | None]]] = {}
        self.changes: dict[str, list[list[tuple[str, int | None]]]] = {}

    def take(self, entry: tuple[Any, ...]) -> None:
        match entry:
            case ("folder", inode):
                self.data[inode] = None
            case ("name", folder, change):
                self.changes.setdefault(folder, []).append(change)
                for _, inode in change:
                    if inode is not None:
                        self.data.setdefault(inode, b"")
            case ("write", inode, offset, data):
                self.writes.setdefault(inode, []).append((offset, data))
            case ("truncate", inode, size):
                self.writes.setdefault(inode, []).append((size, None))
            case ("lost", inode):
                self.writes.pop(inode, None)
            case ("sync", str(folder)):
                for change in self.changes.pop(folder, []):
                    _rename(self.names, change)
            case ("sync", inode):
                content = self.data[inode]
                assert content is not None
                for write in self.writes.pop(inode, []):
                    content = _written(content, write)
                self.data[inode] = content

    def outcomes(self, chance: random.Random) -> Iterator[Tree]:
        writes = [(inode, write) for inode, each in self.writes.items() for write in each]
        changes = [change for each in self.changes.values() for change in each]
        for some_writes in _subsets(writes, chance):
            for some_changes in _subsets(changes, chance):
                yield self._outcome(some_writes, some_changes)
        for at, (inode, (offset, data)) in enumerate(writes):
            if data is not None:
                half = data[: len(data) // 2]
                for torn in (half, bytes(len(data)), half + bytes(len(data) - len(half))):
                    yield self._outcome([*writes[:at], (inode, (offset, torn))], changes)

    def _outcome(self, writes: Any, changes: Any) -> Tree:
        data, names = dict(self.data), dict(self.names)
        for inode, write in writes:
            content = data[inode]
            assert content is not None
            data[inode] = _written(content, write)
        for change in changes:
            _rename(names, change)
        tree: Tree = {}
        for path in sorted(names):
            if _folder(path) in (".", *tree):
                tree[path] = data[names[path]]
        return tree


def _subsets(items: list[Any], chance: random.Random) -> Iterator[list[Any]]:
    """All of the items, none, those before and those after a place, and some at random."""
    if not items:
        yield []
        return
    yield items
    yield []
    if len(items) > 1:
        yield items[:-1]
        yield items[1:]
        for _ in range(3):
            yield [item for item in items if chance.random() < 0.5]


def _written(content: bytes, write: tuple[int, bytes | None]) -> bytes:
    at, data = write
    content = content.ljust(at, b"\0")
    return content[:at] if data is None else content[:at] + data + content[at + len(data) :]


def _rename(names: dict[str, int], change: list[tuple[str, int | None]]) -> None:
    for path, inode in change:
        if inode is None:
            names.pop(path, None)
        else:
            names[path] = inode


# -- trees in real folders ------------------------------------------------------------------------


def tree_of(root: Path) -> Tree:
    return {
        str(path.relative_to(root)): None if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
    }


def make_tree(root: Path, tree: Tree) -> None:
    """Makes a folder hold this and nothing else."""
    for path in root.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, content in tree.items():
        if content is None:
            (root / name).mkdir()
        else:
            (root / name).write_bytes(content)


# -- failures -------------------------------------------------------------------------------------


class Faults:
    """Lets one operation fail; or, if they last, that one and all that follow until the disk is healed."""

    def __init__(self, at: int, error: int, *, last: bool) -> None:
        self.at, self.error, self.last = at, error, last
        self.was_reached = False
        self.is_healed = False

    def __call__(self, number: int, name: str) -> int:
        failing = number >= self.at if self.last else number == self.at
        if self.is_healed or not failing or (self.error == errno.ENOSPC and name in _NEED_NO_ROOM):
            return 0
        self.was_reached = True
        return self.error

    def heal(self) -> None:
        self.is_healed = self.was_reached


_NEED_NO_ROOM = ("dup", "listdir", "unlink", "ftruncate", "chmod")


@contextlib.contextmanager
def on_disk(disk: Disk) -> Iterator[Disk]:
    """Has the library write to this disk, as a process that has just been started."""
    from backblocks import _durable

    real, _durable.os = _durable.os, disk  # type: ignore[assignment]
    _durable._cleaned.clear()
    _durable._unsynced.clear()
    try:
        yield disk
    finally:
        _durable.os = real
