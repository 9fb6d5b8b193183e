"""What keeps work from being lost: a journal of every change, and the versions that saves replaced.

A journal is a file of lines of JSON that is only ever added to. The first has the document it starts from
and the digest of the page's file then; every other one is a change. It lies in the folder for state of the
user, never beside the page, and is gone once the page is saved.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from backblocks.studio.document import BadEdit, applied
from backblocks.studio.messages import Edit

MOST_VERSIONS = 50
"""Of each page are kept."""

_NEW = "new-"


class _First(msgspec.Struct):
    page: str
    digest: str
    document: dict[str, Any]


class _Entry(msgspec.Struct, omit_defaults=True):
    """A change; or, with `saving`, that the file is about to become what has this digest."""

    time: float = 0.0
    edits: list[Edit] = msgspec.field(default_factory=list)
    label: str = ""
    saving: str = ""


@dataclass(frozen=True)
class Found:
    """What a journal holds."""

    page: str
    """The file of the page, if it had one."""
    digest: str
    """Of the file that it starts from."""
    saving: str
    """Of the file that was being written when it ended, if one was."""
    start: dict[str, Any]
    document: dict[str, Any]
    changes: int
    since: float
    sound_bytes: int
    """How far it can be read: the last line may have been cut off."""

    @property
    def has_file(self) -> bool:
        return bool(self.page) and Path(self.page).exists()


class State:
    """The folder for state of the user."""

    def __init__(self, folder: Path | None = None) -> None:
        home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
        self.folder = folder or Path(home) / "backblocks"
        self.drafts = self.folder / "drafts"
        self.versions = self.folder / "versions"
        for each in (self.drafts, self.versions):
            each.mkdir(parents=True, exist_ok=True, mode=0o700)

    def name_of(self, page: Path | None) -> str:
        """By which the journal and the versions of a page are found; a new one if it has no file."""
        if page is None:
            return _NEW + secrets.token_hex(8)
        return hashlib.sha256(os.fsencode(page)).hexdigest()[:24]

    def unsaved(self) -> Iterator[tuple[str, Found]]:
        """The journals of pages that have no file, or none any longer, and that no studio has open."""
        for file in sorted(self.drafts.glob("*.jsonl")):
            name = file.stem
            with contextlib.suppress(Taken), Lock(self.drafts, name):
                found = read(file)
                if found is not None and found.changes and not found.has_file:
                    yield name, found

    def is_unsaved(self, name: str) -> bool:
        """Whether it names the journal of a page without a file."""
        if not name.removeprefix(_NEW).isalnum():
            return False
        found = read(self.drafts / f"{name}.jsonl")
        return found is not None and not found.has_file

    # -- versions -------------------------------------------------------------------------

    def keep(self, name: str, content: bytes, saved: float) -> None:
        """Keeps what a page's file held before it is replaced, and forgets the oldest."""
        folder = self.versions / name
        folder.mkdir(exist_ok=True, mode=0o700)
        kept = folder / f"{round(saved * 1000):015d}-{_blocks(content)}.json"
        with open(kept, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        for old in sorted(folder.iterdir())[:-MOST_VERSIONS]:
            old.unlink()

    def kept(self, name: str) -> list[tuple[str, float, int]]:
        """Versions, the newest first: name, when it was saved, and how many blocks it has."""
        folder = self.versions / name
        files = sorted(folder.iterdir(), reverse=True) if folder.is_dir() else []
        found = []
        for file in files:
            when, _, blocks = file.stem.partition("-")
            found.append((file.stem, int(when) / 1000, int(blocks)))
        return found

    def version(self, name: str, version: str) -> bytes | None:
        known = {each for each, _, _ in self.kept(name)}
        return (self.versions / name / f"{version}.json").read_bytes() if version in known else None


def _blocks(content: bytes) -> int:
    try:
        return len(json.loads(content)["blocks"])
    except (ValueError, KeyError, TypeError):
        return 0


class Taken(Exception):
    """Another studio has the page open."""


class Lock:
    """Holds a page for this process; the system lets go of it however the process ends."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file = open(folder / f"{name}.lock", "wb")  # noqa: SIM115
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise Taken from error
        self._path = folder / f"{name}.lock"

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        self._file.close()


class Journal:
    """The journal of one page. It begins with the first change."""

    def __init__(self, state: State, name: str) -> None:
        self.name = name
        self.path = state.drafts / f"{name}.jsonl"
        self._lock = Lock(state.drafts, name)
        self._handle: int | None = None

    def found(self) -> Found | None:
        """What an earlier studio left."""
        return read(self.path)

    def go_on(self, found: Found) -> None:
        """Adds to what was found."""
        self._handle = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.ftruncate(self._handle, found.sound_bytes)

    def begin(self, page: Path | None, digest: str, document: dict[str, Any]) -> None:
        """Starts from a document, if nothing was written yet."""
        if self._handle is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC
            self._handle = os.open(self.path, flags, 0o600)
            self._write(_First("" if page is None else str(page), digest, document))

    def add(self, edits: list[Edit], label: str) -> None:
        """Adds a change to what has begun."""
        self._write(_Entry(time.time(), edits, label))

    def saving(self, digest: str) -> None:
        """Says that the file is about to be replaced: if it then has this digest, the journal is over."""
        self._write(_Entry(saving=digest))
        self.sync()

    def _write(self, line: msgspec.Struct) -> None:
        if self._handle is None:
            return
        data = msgspec.json.encode(line) + b"\n"
        before = os.fstat(self._handle).st_size
        try:
            while data:
                data = data[os.write(self._handle, data) :]
        except OSError:
            os.ftruncate(self._handle, before)  # half a line would hide those that follow
            raise

    def sync(self) -> None:
        """Returns when what was written is on the disk."""
        if self._handle is not None:
            os.fsync(self._handle)

    def end(self) -> None:
        """The page is saved, or has no change: there is nothing to be found again."""
        self._close()
        self.path.unlink(missing_ok=True)

    def leave(self) -> None:
        """Closes it, and leaves what it holds to be found."""
        self._close()
        self._lock.release()

    def _close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def read(path: Path) -> Found | None:
    """What a journal holds, up to the first line that cannot be read."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
        first = msgspec.json.decode(lines[0], type=_First)
    except (FileNotFoundError, IndexError, msgspec.DecodeError):
        return None
    document, changes, since, saving, sound = first.document, 0, 0.0, "", len(lines[0])
    decoder = msgspec.json.Decoder(_Entry)
    for line in lines[1:]:
        try:
            entry = decoder.decode(line)
            if not line.endswith(b"\n"):
                break
            document, _ = applied(document, entry.edits)
        except (msgspec.DecodeError, BadEdit):
            break
        saving = entry.saving
        changes, since = changes + (not saving), entry.time or since
        sound += len(line)
    return Found(first.page, first.digest, saving, first.document, document, changes, since, sound)
