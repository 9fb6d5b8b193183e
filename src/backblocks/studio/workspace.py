"""The folder that a studio works in. Nothing outside of it is read or written, links followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from backblocks.studio.messages import File

PAGE = ".page.json"
SHOWN = (PAGE, ".npy", ".npz", ".safetensors")
"""The files that the studio lists, by how their names end."""

MOST_LISTED = 5000


class Outside(ValueError):
    """A path that does not lie below the folder."""


class Workspace:
    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def path(self, name: str) -> Path:
        """The path of a name below the folder, with links followed; it need not exist."""
        if name and "\0" not in name and "\\" not in name and not os.path.isabs(name):
            path = Path(os.path.realpath(self.folder / name))
            if path != self.folder and path.is_relative_to(self.folder):
                return path
        raise Outside(f"{name!r} must be a path below the folder {self.folder}.")

    def page(self, name: str) -> Path:
        """The path for a page, whose name must end as those of pages do."""
        path = self.path(name)
        if not path.name.endswith(PAGE) or path.name == PAGE:
            raise Outside(f"{name!r} must be a name for a page, such as first{PAGE}.")
        return path

    def file(self, name: str) -> Path:
        """A plain file below the folder that can be read."""
        path = self.path(name)
        if not path.exists() or not stat.S_ISREG(path.stat().st_mode):
            raise Outside(f"{name!r} must be a file below the folder.")
        return path

    def name(self, path: Path) -> str:
        """As pages and messages write it."""
        return path.relative_to(self.folder).as_posix()

    def files(self) -> list[File]:
        """Pages and arrays, by name."""
        found = []
        for entry in self._walk(self.folder):
            about = entry.stat(follow_symlinks=False)
            found.append(File(self.name(Path(entry.path)), about.st_size, about.st_mtime))
            if len(found) == MOST_LISTED:
                break
        return sorted(found, key=lambda file: file.path)

    def _walk(self, folder: Path) -> Iterator[os.DirEntry[str]]:
        """Files that are shown; neither links nor hidden folders are entered."""
        try:
            entries = sorted(os.scandir(folder), key=lambda each: each.name)
        except OSError:
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in ("node_modules", "__pycache__"):
                    yield from self._walk(Path(entry.path))
            elif entry.name.endswith(SHOWN) and entry.is_file(follow_symlinks=False):
                yield entry
