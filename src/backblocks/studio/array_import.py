"""Imports arrays that are dropped on a page, from npy, npz and safetensors files, as its constants."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

from backblocks.dtypes import BY_NAME, NAMES
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.ops.io.checkpoints import checkpoint
from backblocks.pages.folder import Folder
from backblocks.pages.model import PageBlock, PageFile
from backblocks.pages.npy import logical_dtype, read_header
from backblocks.pages.saving import store_arrays

MAX_BYTES = 1 << 30
"""The most bytes of a file's arrays once decompressed: zip files can be a thousand times smaller."""
MAX_TENSORS = 1000
"""The most tensors of one file."""

_NPY = b"\x93NUMPY"


def constants(file: Path, name: str, page: Path) -> list[dict[str, Any]]:
    """Each tensor of a file by name, with the constant that a page at this path writes for it.

    Small ones are words; others are written to files beside the page.
    """
    try:
        with open(file, "rb") as opened:
            is_npy = opened.read(len(_NPY)) == _NPY
        found = {Path(name).stem: _npy(file)} if is_npy else _tensors(file)
    except OpError as error:
        error.op, error.arg = name, ""
        raise
    held = PageFile(
        blocks={key: PageBlock("Const", attrs={"value": array}) for key, array in found.items()},
        path=page,
    )
    blocks = json.loads(store_arrays(held, page)).get("blocks", {})
    return [
        {
            "name": key,
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "constant": blocks[key]["attrs"]["value"],
        }
        for key, array in found.items()
    ]


def _npy(file: Path) -> Array:
    """The array of an npy file, whose type is found in it."""
    with open(file, "rb") as opened:
        stored = logical_dtype(read_header(opened, file.name)[2])
    if stored not in NAMES or stored == BY_NAME["string"] or stored.names:
        hint = f"Convert it first: x.astype with one of {', '.join(BY_NAME)}."
        raise OpError("must hold numbers", got=described(str(stored)), hint=hint)
    return Folder(file.parent, file.parent).array(file.name, stored, None)


def _tensors(file: Path) -> dict[str, Array]:
    _refuse_inflated(file)
    with checkpoint("file", os.fsencode(file)) as tensors:
        names = tensors.names()
        if len(names) > MAX_TENSORS:
            hint = "Take out those that the page needs."
            raise OpError(f"must hold at most {MAX_TENSORS} tensors", got=len(names), hint=hint)
        found: dict[str, Array] = {}
        size = 0
        for name in names:
            found[name] = tensors.read("file", name)
            size += found[name].nbytes
            _refuse_more(size, file)
        return found


def _refuse_inflated(file: Path) -> None:
    """Refuses a zip file by the sizes that it says its files have once they are decompressed.

    zipfile reads no more of a file than that, so a size that is too small to be true makes the file broken.
    """
    with open(file, "rb") as opened:
        if opened.read(2) != b"PK":
            return
        try:
            with zipfile.ZipFile(opened) as archive:
                size = sum(each.file_size for each in archive.infolist())
        except Exception as error:  # a broken one fails in more ways than zipfile tells
            hint = "Write it with np.savez."
            raise OpError("must be a zip file", got=described(str(error)), hint=hint) from None
    _refuse_more(size, file)


def _refuse_more(size: int, file: Path) -> None:
    if size > MAX_BYTES:
        packed = file.stat().st_size
        got = described(f"{size / 2**20:.1f} MiB, in a file of {packed / 2**20:.1f} MiB")
        hint = "Keep in the file only those that the page needs."
        raise OpError(f"must hold at most {MAX_BYTES >> 20} MiB of arrays", got=got, hint=hint)
