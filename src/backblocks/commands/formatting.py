"""Arrays and numbers formatted as text and JSON, and written as npy files."""

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

_MAX_PRINTED = 60
"""Arrays of more elements are abbreviated."""


def array_heading(array: Array) -> str:
    """The dtype and shape of an array as text."""
    return f"{NAMES[array.dtype]} {list(array.shape)}"


def format_array(array: Array) -> str:
    """The elements of an array as text, in several lines if need be, long ones abbreviated."""
    text = np.array2string(
        printable_array(array),
        separator=" ",
        threshold=_MAX_PRINTED,
        edgeitems=3,
        precision=6,
        suppress_small=True,
    )
    return "\n".join(line for line in text.split("\n") if line.strip())


def printable_array(array: Array) -> Array:
    """The array in a dtype that NumPy can print."""
    if array.dtype.kind == "O":
        texts = [element.decode(errors="replace") for element in array.flat]
        return np.array(texts, str).reshape(array.shape)
    return array.astype(wider(array.dtype), copy=False)


def format_number(element: Any) -> str:
    """One number with at most six digits."""
    return (
        f"{float(element):.6g}"
        if np.ndim(element) == 0 and np.asarray(element).dtype.kind in "fV"
        else str(element)
    )


def pluralize(count: int, what: str) -> str:
    """A count with its noun: "1 step", "2 steps"."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def format_bytes(count: int) -> str:
    """A number of bytes with a unit."""
    if count < 1024:
        return f"{count} bytes"
    return f"{count / 2**10:.1f} KiB" if count < 2**20 else f"{count / 2**20:,.1f} MiB"


def as_json(array: Array) -> dict[str, Any]:
    """Dtype, shape, and the values of an array that is not too long to be read as text."""
    written = array_to_json(array)
    value = written["value"] if isinstance(written, dict) else None
    return {"dtype": NAMES[array.dtype], "shape": list(array.shape), "value": value}


def write_npy(array: Array, folder: Path, name: str) -> Path:
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
