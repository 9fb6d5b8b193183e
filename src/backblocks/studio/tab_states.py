"""States of browser tabs: the pages each has open, kept for a reload and for the next start of the studio."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection
from pathlib import Path

import msgspec

from backblocks._durable import atomic_write, make_folder, remove
from backblocks.pages.serialization import open_regular_file
from backblocks.studio.messages import TabState

MAX_STATES = 20
"""States of tabs that are kept for a workspace."""

_TAB = re.compile("[0-9a-z-]{1,64}")
_decode = msgspec.json.Decoder(TabState).decode


class TabStates:
    """A folder with a file for each tab, by the name that the tab has given itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make_folder(folder, 0o700)

    def take(self, tab: str, connected: Collection[str]) -> TabState | None:
        """The state of a tab. A tab that has none takes over the last one of those that are not connected."""
        if not _TAB.fullmatch(tab):
            return None
        if (state := self._read(tab)) is not None:
            return state
        for other in reversed(self._tabs()):
            if other not in connected and (state := self._read(other)) is not None:
                self.keep(tab, state)
                self._forget(other)
                return state
        return None

    def keep(self, tab: str, state: TabState) -> None:
        if not _TAB.fullmatch(tab):
            return
        if not state.pages:
            self._forget(tab)
            return
        with atomic_write(self.folder / f"{tab}.json") as file:
            file.write(msgspec.json.encode(state))
        for old in self._tabs()[:-MAX_STATES]:
            self._forget(old)

    def _tabs(self) -> list[str]:
        """Tabs that have a state, the last changed last."""
        found = []
        for file in self.folder.glob("*.json"):
            with contextlib.suppress(OSError):  # another studio has deleted it
                found.append((file.stat().st_mtime_ns, file.stem))
        return [tab for _, tab in sorted(found)]

    def _read(self, tab: str) -> TabState | None:
        try:
            with open_regular_file(self.folder / f"{tab}.json") as file:
                return _decode(file.read())
        except (OSError, msgspec.DecodeError):
            return None

    def _forget(self, tab: str) -> None:
        with contextlib.suppress(OSError):
            remove(self.folder / f"{tab}.json")
