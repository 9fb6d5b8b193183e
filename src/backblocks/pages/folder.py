"""The folder of a page: a sandbox for the files that the page names, with npy files read once."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from backblocks.dtypes import DType
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.pages.npy import checked_header, read_array

_MAX_PATH_LENGTH = 4096
"""Characters in a path: no system takes more, and to follow links in millions takes for ever."""


@dataclass(frozen=True)
class Folder:
    """Resolves names relative to `here`, and refuses paths outside `root`. Without them no file is found."""

    here: Path | None = None
    root: Path | None = None
    arrays: dict[Any, Array] = field(default_factory=dict, compare=False, repr=False)
    """Arrays read so far, by file identity: each file once for all constants that name it."""

    @classmethod
    def of(cls, page: Path | None) -> Folder:
        """The folder of a page that was opened from this file."""
        if page is None:
            return cls()
        folder = page.resolve().parent
        return cls(folder, folder)

    def of_nested(self, file: Path) -> Folder:
        """The folder of a nested page: names start beside it, inside the same root."""
        return Folder(file.parent, self.root, self.arrays)

    def file(self, name: Any) -> Path:
        """The regular file of this name, which must exist inside the root, symlinks resolved."""
        path = self.path(name)
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            hint = "Put the file beside the page."
            raise OpError("must exist", got=name, hint=hint) from None
        except OSError as error:
            raise _unusable(name, error) from None
        if not stat.S_ISREG(mode):
            raise OpError("must be a plain file", got=name, hint="Name a file beside the page.")
        return path

    def path(self, name: Any) -> Path:
        """The path of this name, which must lie inside the root, symlinks resolved."""
        if self.here is None or self.root is None:
            raise OpError(
                "cannot be found: the page has no folder yet",
                got=name,
                hint="Save the page first: its files stand beside it.",
            )
        if type(name) is str and 0 < len(name) <= _MAX_PATH_LENGTH and not {"\0", "\\"} & {*name}:
            path = Path(os.path.realpath(self.here / name))
            if not os.path.isabs(name) and path.is_relative_to(self.root):
                return path
        raise OpError(
            "must be a path below the folder of the page",
            got=name,
            hint="Put the file there, and write its name with / between folders.",
        )

    def array(self, name: Any, dtype: DType, shape: tuple[int, ...] | None) -> Array:
        """The array in an npy file. Its header is checked before memory is allocated."""
        with self._opened(name) as file:
            about = os.fstat(file.fileno())
            key = about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, dtype
            if key not in self.arrays:
                self.arrays[key] = read_array(file, name, dtype, shape)
            elif shape not in (None, self.arrays[key].shape):
                checked_header(file, name, dtype, shape)  # raises, with the shape in the file
            return self.arrays[key]

    def element_count(self, name: Any, dtype: DType, shape: tuple[int, ...] | None) -> int:
        """How many elements the array in an npy file has, from its checked header."""
        with self._opened(name) as file:
            return math.prod(checked_header(file, name, dtype, shape)[0])

    @contextmanager
    def _opened(self, name: Any) -> Iterator[BinaryIO]:
        path = self.file(name)
        try:
            with open(path, "rb") as file:
                yield file
        except OSError as error:
            raise _unusable(name, error) from None


def _unusable(name: str, error: OSError) -> OpError:
    hint = f"{error.strerror}. Look at the name, and at whether it may be read."
    return OpError("must be a file that can be read", got=name, hint=hint)
