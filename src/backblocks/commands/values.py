"""Values as text for people, as JSON for machines, and as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from backblocks._durable import atomic_write
from backblocks.dtypes import NAMES, wider
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.pages.constants import array_to_json
from backblocks.pages.npy import write_array

_LONGEST = 60
"""Arrays of more elements are abbreviated."""


def heading(array: Array) -> str:
    """Dtype and shape."""
    return f"{NAMES[array.dtype]} {list(array.shape)}"


def numbers(array: Array) -> str:
    """The numbers, in several lines if need be; the middle of long ones is left out."""
    text = np.array2string(
        readable(array),
        separator=" ",
        threshold=_LONGEST,
        edgeitems=3,
        precision=6,
        suppress_small=True,
    )
    return "\n".join(line for line in text.split("\n") if line.strip())


def readable(array: Array) -> Array:
    """The same cells as NumPy has words for."""
    if array.dtype.kind == "O":
        words = [cell.decode(errors="replace") for cell in array.flat]
        return np.array(words, str).reshape(array.shape)
    return array.astype(wider(array.dtype), copy=False)


def number(cell: Any) -> str:
    """One number, short."""
    return (
        f"{float(cell):.6g}"
        if np.ndim(cell) == 0 and np.asarray(cell).dtype.kind in "fV"
        else str(cell)
    )


def counted(count: int, what: str) -> str:
    """Such as "1 step" or "2 steps"."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def size(count: int) -> str:
    """Bytes, readably."""
    if count < 1024:
        return f"{count} bytes"
    return f"{count / 2**10:.1f} KiB" if count < 2**20 else f"{count / 2**20:,.1f} MiB"


def as_json(array: Array) -> dict[str, Any]:
    """Dtype, shape, and the values of an array that is not too long to be read as text."""
    words = array_to_json(array)
    value = words["value"] if isinstance(words, dict) else None
    return {"dtype": NAMES[array.dtype], "shape": list(array.shape), "value": value}


def write(array: Array, folder: Path, name: str) -> Path:
    """Writes the value of an output such as "pool:output" to "pool.output.npy"."""
    block, _, pin = name.partition(":")
    pin = pin.replace("[", ".").rstrip("]")
    path = folder / f"{block}{'.' if pin else ''}{pin}.npy"
    if array.dtype.kind == "O":
        texts = np.array(list(array.flat), "S").reshape(array.shape)
        if any(a != b for a, b in zip(array.flat, texts.flat, strict=True)):
            hint = "Such texts end in zero bytes, which npy files cannot hold. Decode them first."
            raise OpError("cannot be written", op=name, hint=hint)
        array = texts
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        write_array(file, array)
    return path
