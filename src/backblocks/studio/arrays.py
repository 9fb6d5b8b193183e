"""Arrays that are dropped on a page: read from npy, npz and safetensors files, and made constants of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from backblocks.dtypes import BY_NAME, NAMES
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.ops.io.checkpoints import checkpoint
from backblocks.pages.folder import Folder, named
from backblocks.pages.model import PageBlock, PageFile
from backblocks.pages.saving import put_away

MOST_TENSORS = 1000
"""That one file may hold."""

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
    blocks = json.loads(put_away(held, page)).get("blocks", {})
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
        try:
            version = np.lib.format.read_magic(opened)
            read = np.lib.format.read_array_header_1_0
            read = np.lib.format.read_array_header_2_0 if version == (2, 0) else read
            _, _, stored = read(opened)
            stored = named(stored)
        except ValueError:
            hint = "Write it with np.save."
            raise OpError("must be a file of one array", hint=hint) from None
    if stored not in NAMES or stored == BY_NAME["string"] or stored.names:
        hint = f"Convert it first: x.astype with one of {', '.join(BY_NAME)}."
        raise OpError("must hold numbers", got=described(str(stored)), hint=hint)
    return Folder(file.parent, file.parent).array(file.name, stored, None)


def _tensors(file: Path) -> dict[str, Array]:
    with checkpoint("file", os.fsencode(file)) as tensors:
        names = tensors.names()
        if len(names) > MOST_TENSORS:
            hint = "Take out those that the page needs."
            raise OpError(f"must hold at most {MOST_TENSORS} tensors", got=len(names), hint=hint)
        return {name: tensors.read("file", name) for name in names}
