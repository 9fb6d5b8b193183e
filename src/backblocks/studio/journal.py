"""The journal of a page: a write-ahead log of every change, so that no work is lost.

A journal is a file of lines that is appended to. The first has the document it starts from and the digest
of the page's file then; every other one is a change, with the client that made it and its number. Once it is
much larger than the document it is replaced by one that has the document as it is in place of the changes.
It lies in the folder for state of the user, never beside the page, and is gone once the page is saved.

A line is a record separator, the CRC-32 of the JSON that follows, the JSON, and a line feed. CRC-32 finds
every damage of up to 32 bits in a row and all but one in four thousand million others, costs less than
writing the JSON, and Python brings it along. With a separator at both ends a damaged line costs no other.
Lines of journals from before there were checksums are JSON alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from backblocks._durable import (
    AppendOnly,
    atomic_write,
    open_locked,
    remove,
    sync_folder,
)
from backblocks.pages.model import FORMAT
from backblocks.pages.serialization import open_regular_file
from backblocks.studio.clients import Clients, with_change
from backblocks.studio.document import EditError, apply
from backblocks.studio.messages import Damage, Edit

NEW = "new-"
"""Begins the names of journals of pages without a file."""
_SMALL = 1 << 20
"""Bytes of a journal that are not worth compacting."""


class _Header(msgspec.Struct):
    """The first line: the document that the journal starts from, and the digest of its file."""

    page: str
    digest: str
    document: dict[str, Any]
    clients: Clients = msgspec.field(default_factory=dict)


class _Entry(msgspec.Struct, omit_defaults=True):
    """Every other line: a change; or, with `saving`, the digest of the file that is about to be written; or,
    with `document`, a snapshot after all changes so far.
    """

    time: float = 0.0
    edits: list[Edit] = msgspec.field(default_factory=list)
    label: str = ""
    saving: str = ""
    document: dict[str, Any] | UnsetType = UNSET
    changes: int = 1
    damage: Damage | None = None
    client: str = ""
    number: int = 0


@dataclass(frozen=True)
class JournalContents:
    """The contents of a journal: the document with all its changes applied."""

    page: str
    """The file of the page, if it had one."""
    digest: str
    """The digest of the file that it starts from."""
    start: dict[str, Any]
    document: dict[str, Any]
    saving: str = ""
    """The digest of the file that was being written when it ended, if one was."""
    changes: int = 0
    since: float = 0.0
    damage: Damage | None = None
    is_damaged: bool = False
    """Whether the file itself has lines that cannot be read or applied: it has to be set aside."""
    clients: Clients = field(default_factory=dict)
    """The changes of clients that are in the document."""

    @property
    def has_file(self) -> bool:
        return bool(self.page) and Path(self.page).exists()


class PageInUse(Exception):
    """Another studio has the page open."""


class PageLock:
    """A file lock on a page for this process; the system releases it however the process ends."""

    def __init__(self, folder: Path, name: str) -> None:
        try:
            self._handle = open_locked(folder / f"{name}.lock")
        except BlockingIOError as error:
            raise PageInUse from error

    def __enter__(self) -> PageLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        os.close(self._handle)


class Journal:
    """The journal of one page, locked for this process. Its file begins with the first change."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.path = folder / f"{name}.jsonl"
        self._clients_path = folder / f"{name}.clients"
        self._saved_clients: Clients = {}
        self._lock = PageLock(folder, name)
        self._file: AppendOnly | None = None
        self._contents = JournalContents("", "", {}, {})
        """The contents of the journal's file, if there is one."""
        self._compact_bytes = 0
        """The size of the file when it had no changes yet, or was compacted."""
        self._replacing = threading.Lock()
        """Held while the file is appended to or replaced: it is synced and compacted in other threads."""

    @property
    def last_change(self) -> float:
        """When its last change was made, in seconds since 1970; 0 if it has none."""
        return self._contents.since

    def contents(self, base: JournalContents | None = None) -> JournalContents | None:
        """What an earlier server left in the file. With a damaged first line it starts from `base`."""
        return read_journal(self.path, base)

    def saved_clients(self) -> Clients:
        """The changes of clients that were in the page when its last journal ended."""
        with (
            contextlib.suppress(OSError, msgspec.DecodeError),
            open_regular_file(self._clients_path) as file,
        ):
            self._saved_clients = _clients.decode(file.read())
        return self._saved_clients

    def resume(self, found: JournalContents) -> JournalContents:
        """Appends to the file from here on. One that is damaged is copied first, and continued without what
        cannot be read; the damage then names the copy.
        """
        if found.is_damaged:
            damage = found.damage or Damage(0, 0, "")
            damage = msgspec.structs.replace(damage, copy=self._set_aside())
            found = replace(found, damage=damage)
        with self._replacing:
            if found.is_damaged:
                self._replace(found)
            else:
                self._file = AppendOnly(self.path)
            self._contents = found
        return found

    def _set_aside(self) -> str:
        """Copies the file, and gives the name of the copy. The same content is copied once."""
        data = self.path.read_bytes()
        copy = self.path.with_suffix(f".{hashlib.sha256(data).hexdigest()[:12]}.damaged")
        if not copy.exists():
            with atomic_write(copy) as file:
                file.write(data)
        return str(copy)

    def begin(
        self,
        page: Path | None,
        digest: str,
        document: dict[str, Any],
        clients: Clients | None = None,
    ) -> None:
        """Starts from a document, if nothing was written yet."""
        if self._file is not None:
            return
        first = _Header("" if page is None else str(page), digest, document, clients or {})
        file = AppendOnly(self.path, new=True)
        try:
            file.append(_line(first))
        except BaseException:
            file.close()
            raise
        self._file, self._compact_bytes = file, file.size
        self._contents = JournalContents(
            first.page, digest, document, document, clients=first.clients
        )

    def add(
        self,
        edits: list[Edit],
        label: str,
        document: dict[str, Any],
        client: str = "",
        number: int = 0,
    ) -> None:
        """Appends a change, whose result is this document."""
        now, changes = time.time(), self._contents.changes + 1
        holds = replace(
            self._contents,
            document=document,
            changes=changes,
            since=now,
            saving="",
            clients=with_change(self._contents.clients, client, number),
        )
        self._append(_Entry(now, edits, label, client=client, number=number), holds)

    def mark_saving(self, digest: str) -> None:
        """Records that the page's file is about to be replaced: if it then has this digest, it was saved."""
        if self._file is not None:
            self._append(_Entry(saving=digest), replace(self._contents, saving=digest))
            self.sync()

    def _append(self, entry: _Entry, holds: JournalContents) -> None:
        with self._replacing:
            if self._file is None or not self._file.is_sound:
                self._replace(holds)
            else:
                self._file.append(_line(entry))
            self._contents = holds

    def sync(self) -> None:
        """Returns when what was written is on the disk. A journal that has become large is compacted."""
        with self._replacing:
            if self._file is None:
                return
            if not self._file.is_sound:
                self._replace(self._contents)
                return
            if self._file.size > 2 * self._compact_bytes + _SMALL:
                try:
                    self._replace(self._contents)
                    return
                except OSError:
                    if not self._file.is_sound:
                        raise
                    self._compact_bytes = self._file.size  # it goes on as it is for a while
            finish = self._file.sync()
        finish()

    def _replace(self, holds: JournalContents) -> None:
        """Replaces the file, in one step, by one that has the document in place of the changes."""
        first = _Header(holds.page, holds.digest, holds.start, holds.clients)
        lines = [_line(first)]
        if holds.changes or holds.damage:
            changes, damage = holds.changes, holds.damage
            entry = _Entry(holds.since, document=holds.document, changes=changes, damage=damage)
            lines.append(_line(entry))
        if holds.saving:
            lines.append(_line(_Entry(saving=holds.saving)))
        old = self._file
        try:
            with atomic_write(self.path) as new:
                new.writelines(lines)
            self._file = AppendOnly(self.path)
        except OSError:
            if old is not None and old.was_replaced():
                old.is_sound = False
            raise
        if old is not None:
            old.close()
        self._compact_bytes = self._file.size

    def delete(self, clients: Clients | None = None) -> None:
        """Deletes the file: the page is saved, or has no change. Which changes of clients the page's file has
        stays known.
        """
        self._close_file()
        with contextlib.suppress(OSError):  # a journal that stays says itself that it was saved
            if clients and clients != self._saved_clients and not self.name.startswith(NEW):
                with atomic_write(self._clients_path) as file:
                    file.write(msgspec.json.encode(clients))
                self._saved_clients = clients
            remove(self.path)
            sync_folder(self.path.parent)

    def close(self) -> None:
        """Closes the file and releases the page; the next server finds what the file holds."""
        self._close_file()
        self._lock.release()

    def _close_file(self) -> None:
        with self._replacing:
            if self._file is not None:
                self._file.close()
                self._file = None


_SEPARATOR = b"\x1e"


def _line(record: msgspec.Struct) -> bytes:
    text = msgspec.json.encode(record)
    return b"%b%08x %b\n" % (_SEPARATOR, zlib.crc32(text), text)


def _records(data: bytes) -> Iterator[bytes | None]:
    """The JSON of each line, or None where the checksum says that it is damaged or it was cut off."""
    *lines, cut_off = data.split(b"\n")
    has_checksums = False
    for line in lines:
        before, *records = line.split(_SEPARATOR)
        if before:
            yield None if records or has_checksums else before
        for number, record in enumerate(records, 1):
            text = record[9:]
            if number == len(records) and record[:9] == b"%08x " % zlib.crc32(text):
                has_checksums = True
                yield text
            else:
                yield None
    if cut_off:
        yield None


def empty_contents(name: str) -> JournalContents | None:
    """The start of a journal whose first line is damaged, if its page has no file."""
    document = {"format": FORMAT, "blocks": {}}
    return JournalContents("", "", document, document) if name.startswith(NEW) else None


_header = msgspec.json.Decoder(_Header)
_entry = msgspec.json.Decoder(_Entry)
_clients = msgspec.json.Decoder(Clients)


def read_journal(path: Path, base: JournalContents | None = None) -> JournalContents | None:
    """The contents of a journal: every change that can be read and applied after those before it.

    Its first line may be damaged too: then it starts from `base`, or is None if there is no base.
    """
    try:
        with open_regular_file(path) as file:
            data = file.read()
    except FileNotFoundError:
        return None
    if b"\n" not in data:  # nothing that was ever confirmed
        return None
    found = base
    lines = unapplied = 0
    is_header = True
    for record in _records(data):
        try:
            if record is None:
                raise msgspec.DecodeError
            if is_header and (first := _as_header(record)):
                found = first
            elif found is not None:
                found = _with_entry(found, _entry.decode(record))
        except msgspec.DecodeError:
            lines += 1
        except EditError:
            unapplied += 1
        else:
            is_header = False
    if found is not None and (lines or unapplied):
        told = found.damage or Damage(0, 0, "")
        damage = Damage(told.lines + lines, told.unapplied + unapplied, told.copy)
        found = replace(found, damage=damage, is_damaged=True)
    return found


def _as_header(record: bytes) -> JournalContents | None:
    try:
        first = _header.decode(record)
    except msgspec.DecodeError:
        return None
    return JournalContents(
        first.page, first.digest, first.document, first.document, clients=first.clients
    )


def _with_entry(found: JournalContents, entry: _Entry) -> JournalContents:
    """The contents with one entry more."""
    if entry.document is not UNSET:
        document = entry.document
    else:
        document, _ = apply(found.document, entry.edits)
    return replace(
        found,
        document=document,
        saving=entry.saving,
        changes=found.changes + (0 if entry.saving else entry.changes),
        since=entry.time or found.since,
        damage=entry.damage or found.damage,
        clients=with_change(found.clients, entry.client, entry.number),
    )
