"""Imports the arrays of files that are dropped or pasted on a page, as its constants."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from backblocks.dtypes import NAMES
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.ops._spec import shape_text
from backblocks.pages.constants import exact_json
from backblocks.pages.inline_arrays import MAX_EXPORTED_ELEMENTS
from backblocks.pages.model import PageBlock, PageFile
from backblocks.pages.saving import store_arrays
from backblocks.studio.array_readers import Index, StoredArray, stored_arrays

MAX_INLINE_ELEMENTS = MAX_EXPORTED_ELEMENTS
"""Elements of an array that stands on the page, where it can be edited; larger ones are files beside it."""
MAX_FILES = 100_000
"""The most files of a folder."""


def constants(
    file: Path,
    name: str,
    page: Path,
    parts: dict[str, str] | None = None,
    is_folder: bool = False,
) -> list[dict[str, Any]]:
    """Each array of a file by name, with the constant that a page at this path writes for it.

    `parts` says which part of each array to take, as an index of NumPy such as "0:10, :, 3"; all of an array
    that it does not name. Without `parts`, a file with a large array is only described: the constants are
    None, and whoever dropped it says whether they want a part. A folder comes packed in one file.
    """
    try:
        with _unpacked(file, is_folder) as source, stored_arrays(source, name) as found:
            large = any(math.prod(each.shape) > MAX_INLINE_ELEMENTS for each in found)
            if parts is None and large:
                return [_described(each) for each in found]
            arrays = {
                each.name: each.read(_index(each, (parts or {}).get(each.name, "")))
                for each in found
            }
    except OpError as error:
        error.op, error.arg = name, ""
        raise
    return _constants(arrays, page)


def _constants(arrays: dict[str, Array], page: Path) -> list[dict[str, Any]]:
    inline = {
        key: exact_json(array) for key, array in arrays.items() if array.size <= MAX_INLINE_ELEMENTS
    }
    held = {
        key: PageBlock("Const", attrs={"value": array})
        for key, array in arrays.items()
        if inline.get(key) is None
    }
    stored = (
        json.loads(store_arrays(PageFile(blocks=held, path=page), page)).get("blocks", {})
        if held
        else {}
    )
    return [
        {
            "name": key,
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "constant": inline.get(key) or stored[key]["attrs"]["value"],
        }
        for key, array in arrays.items()
    ]


def _described(array: StoredArray) -> dict[str, Any]:
    return {
        "name": array.name,
        "dtype": NAMES[array.dtype],
        "shape": list(array.shape),
        "constant": None,
    }


def _index(array: StoredArray, text: str) -> Index:
    """An index of NumPy that somebody has typed: numbers and slices, one for each axis or fewer."""
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    found: list[slice | int] = []
    for part in parts:
        if not re.fullmatch(r"-?\d{1,18}|(-?\d{1,18})?:(-?\d{1,18})?(:\d{1,18})?", part):
            hint = "Write such as 0:10, :, 3, with a number or start:stop:step for each axis."
            raise OpError("the part must be an index", got=text, hint=hint)
        numbers = [int(n) if n else None for n in part.split(":")]
        found.append(slice(*numbers) if len(numbers) > 1 else int(part))
    if len(found) > len(array.shape):
        hint = "Leave out those that are too many."
        rule = (
            f"the part must have at most {len(array.shape)} axes, as {shape_text(array.shape)} has"
        )
        raise OpError(rule, got=text, hint=hint)
    for axis, (each, size) in enumerate(zip(found, array.shape, strict=False)):
        if isinstance(each, slice) and each.step == 0:
            raise OpError(
                "the part must have steps from 1", axis=axis, got=text, hint="Use 1 or more."
            )
        if isinstance(each, int) and not -size <= each < size:
            hint = f"Axis {axis} has {size} entries."
            raise OpError("the part must lie inside of the array", axis=axis, got=text, hint=hint)
    return tuple(found)


# -- folders ------------------------------------------------------------------------------------------


@contextmanager
def _unpacked(file: Path, is_folder: bool) -> Iterator[Path]:
    """The file; or the folder that it has inside, as the browser packs it.

    That is the length of a header (u32, least first), the header (a list of paths and sizes as JSON), and the
    bytes of all files.
    """
    if not is_folder:
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="backblocks-") as folder, open(file, "rb") as packed:
        root = Path(folder) / "folder"
        root.mkdir()
        for path, size in _listed_files(packed, file.stat().st_size):
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "xb") as new:
                while size and (chunk := packed.read(min(size, 1 << 20))):
                    size -= new.write(chunk)
        yield root


def _listed_files(packed: BinaryIO, size: int) -> list[tuple[str, int]]:
    length = int.from_bytes(packed.read(4), "little")
    hint = "Drop the folder again."
    try:
        listed = [(str(path), int(count)) for path, count in json.loads(packed.read(length))]
    except (ValueError, TypeError):
        raise OpError("must be a folder, packed by the studio", hint=hint) from None
    if len(listed) > MAX_FILES:
        hint = "Write it with larger chunks."
        raise OpError(f"must have at most {MAX_FILES} files", got=len(listed), hint=hint)
    names = [path.split("/") for path, _ in listed]
    bad = any(
        part in ("", ".", "..") or "\0" in part or "\\" in part for name in names for part in name
    )
    if bad or sum(max(count, 0) for _, count in listed) + 4 + length != size:
        raise OpError("must be a folder, packed by the studio", hint=hint)
    return listed
