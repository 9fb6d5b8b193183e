"""The user's state folder: journals of pages (drafts), versions that saves replaced, states of tabs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from backblocks._durable import (
    atomic_write,
    make_folder,
    remove,
    remove_stale_temporaries,
    sync_folder,
)
from backblocks.studio.journal import (
    NEW,
    JournalContents,
    PageInUse,
    PageLock,
    empty_contents,
    read_journal,
)

MAX_VERSIONS = 50
"""Versions kept for each page."""
_CLIENTS_KEPT = 7 * 86_400.0
"""Seconds after a save in which a tab may come back and send changes again that the saved file has."""


class StateFolder:
    """Below XDG_STATE_HOME, unless another folder is given. Each page has a name in it."""

    def __init__(self, folder: Path | None = None) -> None:
        home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
        self.folder = folder or Path(home) / "backblocks"
        self.drafts = self.folder / "drafts"
        self.versions = self.folder / "versions"
        self.tabs = self.folder / "tabs"
        for each in (self.drafts, self.versions, self.tabs):
            make_folder(each, 0o700)
        for each in (self.folder, self.folder.parent):
            sync_folder(each)  # whoever made them may have been killed before this
        remove_stale_temporaries(self.drafts)
        self._forget_clients()

    def _forget_clients(self) -> None:
        """Removes files of clients that no tab will come back to."""
        for file in self.drafts.glob("*.clients"):
            with contextlib.suppress(OSError):
                if time.time() - file.stat().st_mtime > _CLIENTS_KEPT:
                    remove(file)

    def key_of(self, page: Path | None) -> str:
        """The name by which the journal and the versions of a page are found; a new one if it has no file."""
        if page is None:
            return NEW + secrets.token_hex(8)
        return hashlib.sha256(os.fsencode(page)).hexdigest()[:24]

    def unsaved(self) -> Iterator[tuple[str, JournalContents]]:
        """The journals of pages that have no file, or none any longer, and that no studio has open."""
        for file in sorted(self.drafts.glob("*.jsonl")):
            name = file.stem
            with contextlib.suppress(PageInUse, OSError), PageLock(self.drafts, name):
                found = read_journal(file, empty_contents(name))
                if found is None or found.has_file:
                    continue
                if found.changes or found.damage:
                    yield name, found

    def is_unsaved(self, name: str) -> bool:
        """Whether it names the journal of a page without a file."""
        if not name.removeprefix(NEW).isalnum():
            return False
        found = read_journal(self.drafts / f"{name}.jsonl", empty_contents(name))
        return found is not None and not found.has_file

    def has_journal(self, page: Path) -> bool:
        """Whether a page has a journal, of this studio or another one."""
        return (self.drafts / f"{self.key_of(page)}.jsonl").exists()

    def delete_unsaved(self, name: str) -> bool:
        """Deletes the journal of a page without a file; False if there is none, or a studio has it open."""
        if not self.is_unsaved(name):
            return False
        try:
            with PageLock(self.drafts, name):
                remove(self.drafts / f"{name}.jsonl")
        except (PageInUse, FileNotFoundError):
            return False
        sync_folder(self.drafts)
        return True

    # -- versions -------------------------------------------------------------------------

    def add_version(self, name: str, content: bytes, saved: float) -> None:
        """Adds the content of a page's file that is about to be replaced, and removes the oldest version.

        Versions are in the order of a counter: by a clock that was put back, the newest would be oldest.
        """
        folder = self.versions / name
        make_folder(folder, 0o700)
        kept = self._versions(name)
        number = kept[-1].number + 1 if kept else 1
        file = folder / f"{number:08d}_{round(saved * 1000)}_{_blocks(content)}.json"
        with atomic_write(file) as new:
            new.write(content)
        for old in kept[: 1 - MAX_VERSIONS]:
            with contextlib.suppress(OSError):  # the next save tries again
                remove(folder / f"{old.name}.json")

    def list_versions(self, name: str) -> list[tuple[str, float, int]]:
        """Versions, the newest first: name, when it was saved, and how many blocks it has."""
        versions = reversed(self._versions(name))
        return [(each.name, each.milliseconds / 1000, each.blocks) for each in versions]

    def _versions(self, name: str) -> list[_Version]:
        """Versions, the oldest first. Other files are ignored."""
        folder = self.versions / name
        files = folder.iterdir() if folder.is_dir() else ()
        found = [_VERSION.fullmatch(file.name) for file in files]
        return sorted(
            _Version(
                int(match["number"] or 0), int(match["time"]), int(match["blocks"]), match["name"]
            )
            for match in found
            if match
        )

    def read_version(self, name: str, version: str) -> bytes | None:
        known = {each for each, _, _ in self.list_versions(name)}
        return (self.versions / name / f"{version}.json").read_bytes() if version in known else None


_VERSION = re.compile(
    r"(?P<name>((?P<number>[0-9]+)_)?(?P<time>-?[0-9]+)[-_](?P<blocks>[0-9]+))\.json"
)
"""The file of a version; before there was a counter, names began with the time."""


class _Version(NamedTuple):
    number: int
    milliseconds: int
    blocks: int
    name: str


def _blocks(content: bytes) -> int:
    try:
        return len(json.loads(content)["blocks"])
    except (ValueError, KeyError, TypeError):
        return 0
