"""Saves pages so that whatever happens, the old file or the new one is there, whole.

Arrays come first, each in a file that is named by what it holds and never written again. Then the page
takes the place of the old one in one step.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np

from backblocks._durable import atomic_write, make_folder, remove, sweep, sync_folder
from backblocks.dtypes import NAMES
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.pages.constants import constant, in_words, is_in_file
from backblocks.pages.fields import Json, as_json
from backblocks.pages.folder import Folder, write_array
from backblocks.pages.model import PageFile
from backblocks.pages.references import arrays_in, references
from backblocks.pages.text import parse, text_of, text_of_json

SUFFIX = ".page.json"


def put_away(page: PageFile, path: Path) -> bytes:
    """Writes what belongs to a page beside a path, and gives the text that the page has there."""
    moved = _moved(page, path)
    if moved:
        _take_along(page, path.parent)
    arrays = _Arrays(path, Folder.of(page.path) if moved else None)
    return text_of_json(arrays.put_away(as_json(page)))


def _moved(page: PageFile, path: Path) -> bool:
    return page.path is not None and page.path.resolve().parent != path.parent


def save(page: PageFile, path: Path) -> None:
    """Writes a page and its arrays. One that was read and not changed is written byte by byte."""
    path = Path(os.path.realpath(path))  # a link stays, and what it points to is replaced
    moved = _moved(page, path)
    data = put_away(page, path)
    before = page.source
    if before is not None and not moved and data == text_of(parse(before, PageFile)):
        data = before
    _write(path, data)
    if before is not None and not moved and page.path is not None and page.path.resolve() == path:
        _remove_unused(path, before, data)
    page.path, page.source = path, data


def _take_along(page: PageFile, folder: Path) -> None:
    """Copies what a page refers to beside its new place, by the names that it has for them.

    Its own arrays are none of that: they are written anew. A file that is there already is left alone, and
    if it is another one nothing is saved.
    """
    copies = []
    for name, file in references(page, own_arrays=False).items():
        if not file.is_file():
            continue
        to = folder / name
        if name.startswith("..") or (to.exists() and not _same(file, to)):
            raise OpError(
                "must leave room for the files that the page refers to",
                op="Page",
                arg="path",
                got=str(to),
                hint="Another file is there. Save the page to an empty folder, or move that file.",
            )
        if not to.exists():
            copies.append((file, to))
    for file, to in copies:
        make_folder(to.parent)
        with open(file, "rb") as old, atomic_write(to) as new:
            shutil.copyfileobj(old, new)


def _same(a: Path, b: Path) -> bool:
    import filecmp  # only who saves to another folder pays for it

    return b.is_file() and filecmp.cmp(a, b, shallow=False)


def _write(path: Path, data: bytes) -> None:
    with atomic_write(path) as file:
        file.write(data)


class _Arrays:
    """Puts arrays into files beside a page, and says in the page where they are."""

    def __init__(self, path: Path, old: Folder | None) -> None:
        self.folder = path.parent / f"{path.name.removesuffix(SUFFIX)}.arrays"
        self.old = old
        """Where the page stood before, if its arrays have to come along."""
        self.is_synced = False
        sweep(self.folder)

    def put_away(self, page: Json) -> Json:
        """The JSON of a page without arrays in it. Their files are named after the blocks."""
        return {
            section: {name: self._without(each, name) for name, each in value.items()}
            if section == "blocks"
            else self._without(value, section)
            for section, value in page.items()
        }

    def _without(self, value: Json, name: str) -> Json:
        if isinstance(value, np.ndarray):
            words = in_words(value)
            return self._file(words, name) if isinstance(words, np.ndarray) else words
        if type(value) is dict:
            if self.old is not None and is_in_file(value):
                return self._without(constant(value, self.old), name)
            return {key: self._without(each, name) for key, each in value.items()}
        if type(value) is list:
            return [self._without(each, name) for each in value]
        return value

    def _file(self, array: Array, name: str) -> Json:
        memory = io.BytesIO()
        write_array(memory, array)
        data = memory.getvalue()
        stem = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:40]
        file = self.folder / f"{stem}-{hashlib.sha256(data).hexdigest()[:16]}.npy"
        if not file.exists():
            make_folder(self.folder, parents=False)
            _write(file, data)
        elif not self.is_synced:
            sync_folder(self.folder)  # whoever wrote it may have been killed before this
            self.is_synced = True
        return {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "file": f"{self.folder.name}/{file.name}",
        }


_OURS = re.compile(r"[^/]+\.arrays/[A-Za-z0-9_-]+-[0-9a-f]{16}\.npy")


def _remove_unused(path: Path, before: bytes, after: bytes) -> None:
    """Removes files of arrays that a page no longer names, unless another page beside it does."""
    unused = {*filter(_OURS.fullmatch, arrays_in(json.loads(before)))}
    unused -= {*arrays_in(json.loads(after))}
    if unused:
        others = [p.read_bytes() for p in path.parent.glob("*.json") if p != path]
        for name in unused:
            if not any(name.rpartition("/")[2].encode() in text for text in others):
                remove(path.parent / name)
