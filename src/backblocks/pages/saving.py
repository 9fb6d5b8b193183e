"""Saves pages atomically: after a crash or a full disk the old file or the new one is there, whole.

Arrays are written first, to content-addressed npy files that are never overwritten. Then the page file is
replaced in one step.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from backblocks._durable import (
    atomic_write,
    make_folder,
    remove,
    remove_stale_temporaries,
    sync_folder,
)
from backblocks.dtypes import NAMES
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.pages.constants import array_to_json, is_file_constant, parse_constant
from backblocks.pages.dataclass_json import Json, to_json
from backblocks.pages.folder import Folder
from backblocks.pages.model import PageFile
from backblocks.pages.npy import write_array
from backblocks.pages.references import array_files, references
from backblocks.pages.serialization import parse, serialize, serialize_json

SUFFIX = ".page.json"


def store_arrays(page: PageFile, path: Path) -> bytes:
    """Writes the arrays and referenced files of a page beside a path; gives the page's text there."""
    changes_folder = _changes_folder(page, path)
    if changes_folder:
        _copy_referenced_files(page, path.parent)
    arrays = _ArrayStore(path, Folder.of(page.path) if changes_folder else None)
    return serialize_json(arrays.store_arrays(to_json(page)))


def _changes_folder(page: PageFile, path: Path) -> bool:
    return page.path is not None and page.path.resolve().parent != path.parent


def save(page: PageFile, path: Path) -> None:
    """Writes a page and its arrays. A page that was opened and not changed keeps its bytes."""
    path = Path(os.path.realpath(path))  # a symlink stays, and its target is replaced
    changes_folder = _changes_folder(page, path)
    data = store_arrays(page, path)
    before = page.source
    if before is not None and not changes_folder and data == serialize(parse(before, PageFile)):
        data = before
    _write(path, data)
    if (
        before is not None
        and not changes_folder
        and page.path is not None
        and page.path.resolve() == path
    ):
        _remove_unused_arrays(path, before, data)
    page.path, page.source = path, data


def _copy_referenced_files(page: PageFile, folder: Path) -> None:
    """Copies the files that a page refers to into its new folder, under the same relative names.

    The page's own arrays are not copied but stored anew. A file that exists there is kept; if its content
    differs, nothing is saved.
    """
    copies = []
    for name, file in references(page, own_arrays=False).items():
        if not file.is_file():
            continue
        to = folder / name
        if name.startswith("..") or (to.exists() and not _same_content(file, to)):
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


def _same_content(a: Path, b: Path) -> bool:
    import filecmp  # imported only to save to another folder

    return b.is_file() and filecmp.cmp(a, b, shallow=False)


def _write(path: Path, data: bytes) -> None:
    with atomic_write(path) as file:
        file.write(data)


class _ArrayStore:
    """Stores arrays in content-addressed npy files beside a page, and gives the JSON that refers to them."""

    def __init__(self, path: Path, old: Folder | None) -> None:
        self.folder = path.parent / f"{path.name.removesuffix(SUFFIX)}.arrays"
        self.old = old
        """The folder that the page moves from, whose arrays are stored anew; None if it does not move."""
        self.is_synced = False
        remove_stale_temporaries(self.folder)

    def store_arrays(self, page: Json) -> Json:
        """The JSON of a page, with arrays replaced by references to their files."""
        return {
            section: {name: self._store(each, name) for name, each in value.items()}
            if section == "blocks"
            else self._store(value, section)
            for section, value in page.items()
        }

    def _store(self, value: Json, name: str) -> Json:
        if isinstance(value, np.ndarray):
            found = array_to_json(value)
            return self._store_array(found, name) if isinstance(found, np.ndarray) else found
        if type(value) is dict:
            if self.old is not None and is_file_constant(value):
                return self._store(parse_constant(value, self.old), name)
            return {key: self._store(each, name) for key, each in value.items()}
        if type(value) is list:
            return [self._store(each, name) for each in value]
        return value

    def _store_array(self, array: Array, name: str) -> Json:
        digest = hashlib.sha256()
        write_array(_Sink(digest.update), array)
        stem = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:40]
        file = self.folder / f"{stem}-{digest.hexdigest()[:16]}.npy"
        if not file.exists():
            make_folder(self.folder, parents=False)
            with atomic_write(file) as new:
                write_array(_Sink(new.write), array)
        elif not self.is_synced:
            sync_folder(self.folder)  # its writer may have been killed before syncing
            self.is_synced = True
        return {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "file": f"{self.folder.name}/{file.name}",
        }


class _Sink:
    """What write_array writes to, in chunks: a large array has no second copy in memory."""

    def __init__(self, write: Callable[[Any], object]) -> None:
        self.write = write


_ARRAY_FILE = re.compile(r"[^/]+\.arrays/[A-Za-z0-9_-]+-[0-9a-f]{16}\.npy")


def _remove_unused_arrays(path: Path, before: bytes, after: bytes) -> None:
    """Removes array files that a page no longer refers to, unless another page beside it does."""
    unused = {*filter(_ARRAY_FILE.fullmatch, array_files(json.loads(before)))}
    unused -= {*array_files(json.loads(after))}
    if unused:
        others = [p.read_bytes() for p in path.parent.glob("*.json") if p != path]
        for name in unused:
            if not any(name.rpartition("/")[2].encode() in text for text in others):
                remove(path.parent / name)
