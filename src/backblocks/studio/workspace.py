"""The workspace: the folder of pages and arrays. Nothing outside of it is read or written, links resolved."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from backblocks.pages.serialization import open_regular_file
from backblocks.studio.messages import File

PAGE = ".page.json"
SHOWN = (PAGE, ".npy", ".npz", ".safetensors")
"""The files that the studio lists, by how their names end."""

MAX_LISTED = 5000


_MAX_LENGTH = 4096
"""Letters in a path: no system takes more, and to follow links in millions takes for ever."""


class OutsideWorkspace(ValueError):
    """A path that the studio does not touch: it leads out of the folder, is hidden, or is no regular file."""


class Workspace:
    """Resolves names of files below one folder, and refuses all others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def path(self, name: str) -> Path:
        """The path of a name below the folder, with links followed; it need not exist."""
        if 0 < len(name) <= _MAX_LENGTH and not {"\0", "\\"} & {*name} and not os.path.isabs(name):
            path = Path(os.path.realpath(self.folder / name))
            if path != self.folder and path.is_relative_to(self.folder):
                if _is_hidden(name) or _is_hidden(self.name(path)):
                    hint = "Rename it: the studio leaves names that begin with a dot alone."
                    raise OutsideWorkspace(f"{name!r} must not be hidden. {hint}")
                return path
        raise OutsideWorkspace(
            f"{name[:_MAX_LENGTH]!r} must be a path below the folder {self.folder}."
        )

    def page(self, name: str) -> Path:
        """The path for a page, whose name must end as those of pages do."""
        path = self.path(name)
        if not path.name.endswith(PAGE) or path.name == PAGE:
            raise OutsideWorkspace(f"{name!r} must be a name for a page, such as first{PAGE}.")
        return path

    def opened(self, name: str) -> BinaryIO:
        """A regular file below the folder, opened to read."""
        try:
            return open_regular_file(self.path(name))
        except OSError as error:
            text = f"{name!r} must be a file below the folder that can be read: {error.strerror}."
            raise OutsideWorkspace(text) from None

    def name(self, path: Path) -> str:
        """As pages and messages write it."""
        return path.relative_to(self.folder).as_posix()

    def files(self) -> list[File]:
        """Pages and arrays, by name."""
        found = []
        for entry in self._walk():
            with contextlib.suppress(OSError):  # it was taken away meanwhile
                about = entry.stat(follow_symlinks=False)
                found.append(File(self.name(Path(entry.path)), about.st_size, about.st_mtime))
            if len(found) == MAX_LISTED:
                break
        return sorted(found, key=lambda file: file.path)

    def _walk(self) -> Iterator[os.DirEntry[str]]:
        """Files that are shown; neither links nor hidden folders are entered."""
        folders = [str(self.folder)]
        while folders:
            try:
                entries = sorted(os.scandir(folders.pop()), key=lambda each: each.name)
            except OSError:
                continue
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in ("node_modules", "__pycache__"):
                        folders.append(entry.path)
                elif entry.name.endswith(SHOWN) and entry.is_file(follow_symlinks=False):
                    yield entry


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") and part not in (".", "..") for part in name.split("/"))
