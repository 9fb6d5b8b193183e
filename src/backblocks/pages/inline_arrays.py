"""Inline arrays for export: the text of a page with the arrays of its npy files written into it.

A picture or HTML file that carries a page has only that text, and opens in a folder without the npy files.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from backblocks.errors import OpError
from backblocks.pages.constants import (
    array_to_json_in_full,
    element_count_in_file,
    is_file_constant,
    parse_constant,
)
from backblocks.pages.dataclass_json import Json
from backblocks.pages.folder import Folder
from backblocks.pages.serialization import serialize_json

MAX_EXPORTED_ELEMENTS = 1 << 18
"""Elements of all inlined arrays of a page: as many as an array may have that is dropped on the studio."""


class OmittedArray(NamedTuple):
    """A constant that stays in its npy file, because it is too large or the file cannot be read."""

    name: str
    """The block, or the placeholder it is fed to."""
    file: str
    elements: int
    """Its size if that is too large; 0 if the file cannot be read."""


def inline_arrays(page: Json, path: Path) -> tuple[str, list[OmittedArray]]:
    """The text of a page, given as JSON, with the arrays of its files inline, and the arrays omitted."""
    inliner = _Inliner(Folder.of(path))
    inlined = {key: inliner.inline(each, [key]) for key, each in page.items()}
    return serialize_json(inlined).decode(), inliner.omitted


class _Inliner:
    def __init__(self, folder: Folder) -> None:
        self.omitted: list[OmittedArray] = []
        self._folder = folder
        self._budget = MAX_EXPORTED_ELEMENTS

    def inline(self, value: Json, keys: list[str]) -> Json:
        """The value at a path of keys in a page, its file constants inlined while the budget lasts."""
        if type(value) is dict:
            if is_file_constant(value):
                return self._inline_constant(value, _owner(keys))
            return {key: self.inline(each, [*keys, key]) for key, each in value.items()}
        if type(value) is list:
            return [self.inline(each, keys) for each in value]
        return value

    def _inline_constant(self, value: Json, name: str) -> Json:
        elements = 0
        try:
            elements = element_count_in_file(value, self._folder)
            if elements <= self._budget:
                inlined = array_to_json_in_full(parse_constant(value, self._folder))
                self._budget -= elements
                return {**{k: v for k, v in value.items() if k not in ("shape", "file")}, **inlined}
        except OpError:
            elements = 0
        self.omitted.append(OmittedArray(name, value["file"], elements))
        return value


def _owner(keys: list[str]) -> str:
    """The block or placeholder at a path: ["blocks", NAME, ...] or ["run", "feeds", NAME]."""
    return keys[1] if keys[0] == "blocks" and len(keys) > 1 else keys[-1]
