"""Pages that leave their folder inside a picture: the arrays that they keep in files come along as words."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from backblocks.errors import OpError
from backblocks.pages.constants import cells_in_file, constant, every_word, is_in_file
from backblocks.pages.fields import Json
from backblocks.pages.folder import Folder
from backblocks.pages.text import text_of_json

MOST_CELLS = 1 << 18
"""Of all arrays that come along: as many as a constant may have that is dropped on a page."""


class Left(NamedTuple):
    """A constant that stays in its file."""

    name: str
    """Of its block, or of the placeholder that it is fed to."""
    file: str
    cells: int
    """How many are too many; 0 if the file cannot be read."""


def with_arrays(page: Json, path: Path) -> tuple[str, list[Left]]:
    """The text of a page, given as JSON, with the arrays of its files inside, and what has to stay."""
    packing = _Packing(Folder.of(path))
    packed = {key: packing.packed(each, [key]) for key, each in page.items()}
    return text_of_json(packed).decode(), packing.left


class _Packing:
    def __init__(self, folder: Folder) -> None:
        self.left: list[Left] = []
        self._folder = folder
        self._room = MOST_CELLS

    def packed(self, value: Json, keys: list[str]) -> Json:
        """The value that is at these keys of a page, without files as far as there is room."""
        if type(value) is dict:
            if is_in_file(value):
                return self._words(value, _name_at(keys))
            return {key: self.packed(each, [*keys, key]) for key, each in value.items()}
        if type(value) is list:
            return [self.packed(each, keys) for each in value]
        return value

    def _words(self, value: Json, name: str) -> Json:
        cells = 0
        try:
            cells = cells_in_file(value, self._folder)
            if cells <= self._room:
                words = every_word(constant(value, self._folder))
                self._room -= cells
                return {**{k: v for k, v in value.items() if k not in ("shape", "file")}, **words}
        except OpError:
            cells = 0
        self.left.append(Left(name, value["file"], cells))
        return value


def _name_at(keys: list[str]) -> str:
    """`blocks`, its name, and so on; or `run`, `feeds`, a name."""
    return keys[1] if keys[0] == "blocks" and len(keys) > 1 else keys[-1]
