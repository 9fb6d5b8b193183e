"""Typed constants as a page writes them, exactly.

    {"dtype": "float32", "value": [[1, 0.5], ["inf", "nan"]]}
    {"dtype": "float32", "shape": [784, 10], "file": "mnist.arrays/W-5f3c....npy"}

Cells that JSON has no numbers for are text: infinities, nan, complex numbers ("1-2j"), and whole numbers
that a browser would round. Cells of strings are text, or {"base64": ...} where the bytes are no UTF-8.
A number or list without a dtype takes the dtype of what it meets, as in Python.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any

import numpy as np

from backblocks.dtypes import BY_NAME, NAMES, DType, is_float, is_integer, limits, wider
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.ops._spec import check_rank, check_shape
from backblocks.pages.fields import MOST, Json
from backblocks.pages.folder import Folder

MOST_IN_WORDS = 256
"""Arrays of more elements are put into a file when they are saved."""

TYPES = {name: dtype for name, dtype in BY_NAME.items() if name != "resource"}
"""Handles of queues and readers have no words."""

_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_WHOLE = re.compile(r"-?[0-9]{1,20}")
_COMPLEX = re.compile(r"[-+.0-9a-z]{1,64}")


def is_typed(value: Json) -> bool:
    """Whether it is a constant that says its dtype."""
    return isinstance(value, np.ndarray) or (type(value) is dict and "dtype" in value)


def is_in_file(value: Json) -> bool:
    """Whether it is a constant whose cells are in a file."""
    return "dtype" in value and type(value.get("file")) is str


def constant(value: Json, folder: Folder) -> Any:
    """The array of a typed constant; numbers and lists without a dtype as they are."""
    if isinstance(value, np.ndarray):
        return value
    if type(value) is dict:
        return _typed(value, folder)
    _, cells = _flattened(value)
    if not set(map(type, cells)) <= {bool, int, float}:
        raise OpError(
            "must be numbers, or an object with a dtype",
            got=value,
            hint='Write such as {"dtype": "string", "value": "text"}.',
        )
    return value


def attribute(value: Json, folder: Folder) -> Any:
    """The value of an attribute: as it stands, with typed constants and odd numbers read."""
    if type(value) is list:
        return [attribute(each, folder) for each in value]
    if type(value) is dict:
        if value.keys() == {"number"}:
            return _number(value["number"])
        return _typed(value, folder)
    return value


def attribute_in_words(value: Any) -> Json:
    """What a page writes for the value of an attribute; an array that is too large stays one."""
    if isinstance(value, np.ndarray):
        return in_words(value)
    if isinstance(value, list | tuple):
        return [attribute_in_words(each) for each in value]
    if isinstance(value, np.dtype):
        return NAMES[value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MOST:
        return {"number": str(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    return value


def in_words(array: Array) -> Json:
    """The constant as JSON if words can say it exactly and in reasonable length; else the array."""
    if array.dtype.kind != "O" and array.size > MOST_IN_WORDS:
        return array
    words = every_word(array)
    if array.dtype.kind != "O" and _typed(words, Folder()).tobytes() != array.tobytes():
        return array  # a NaN that is not the usual one
    return words


def every_word(array: Array) -> Json:
    """The constant as JSON, however long that is. All NaN become the usual one."""
    words: Json = {"dtype": NAMES[array.dtype]}
    if array.size == 0:
        words["shape"] = list(array.shape)
    words["value"] = _nested([_word(cell, array.dtype) for cell in array.reshape(-1)], array.shape)
    return words


def cells_in_file(value: Json, folder: Folder) -> int:
    """How many cells a constant has that is in a file. Its array is not read."""
    return folder.cells(value["file"], *_type_and_shape(value))


def _type_and_shape(value: Json) -> tuple[DType, tuple[int, ...] | None]:
    if type(value.get("dtype")) is not str or value["dtype"] not in TYPES:
        raise OpError(
            "must have a dtype",
            got=value.get("dtype", described("none")),
            hint=f"Use one of {', '.join(TYPES)}.",
        )
    return TYPES[value["dtype"]], None if "shape" not in value else _shape(value["shape"])


def _typed(value: Json, folder: Folder) -> Array:
    dtype, shape = _type_and_shape(value)
    if "file" in value:
        return folder.array(value["file"], dtype, shape)
    if "value" not in value:
        raise OpError(
            "must have a value or a file", got=value, hint='Write such as {..., "value": [1, 2]}.'
        )
    found, cells = _flattened(value["value"])
    array = _array(cells, dtype)
    if shape is not None and shape != found:
        if math.prod(shape) != 0 or cells:
            raise OpError(
                f"must have as many values as its shape {list(shape)} says",
                got=described(f"shape {list(found)}"),
                hint="Leave the shape out: the values tell it.",
            )
        found = shape
    return array.reshape(found)


def _shape(value: Json) -> tuple[int, ...]:
    if type(value) is not list or any(type(n) is not int or n < 0 for n in value):
        raise OpError("must have a shape of sizes from 0", got=value, hint="Write such as [2, 3].")
    check_shape(value, 16)
    return tuple(value)


def _flattened(value: Json) -> tuple[tuple[int, ...], list[Any]]:
    """Shape and cells of nested lists."""
    shape: list[int] = []
    cells = [value]
    while cells and type(cells[0]) is list:
        length = len(cells[0])
        if any(type(row) is not list or len(row) != length for row in cells):
            raise _ragged(value)
        shape.append(length)
        check_rank(len(shape))
        cells = [cell for row in cells for cell in row]
    if list in set(map(type, cells)):
        raise _ragged(value)
    return tuple(shape), cells


def _ragged(value: Json) -> OpError:
    return OpError(
        "must have rows of one length",
        got=value,
        hint="Fill the short rows up.",
    )


# -- cells ----------------------------------------------------------------------------------------


def _array(cells: list[Any], dtype: DType) -> Array:
    try:
        if dtype.kind == "O":
            array = np.empty(len(cells), object)
            array[:] = [_bytes(cell) for cell in cells]
            return array
        kind = "i" if is_integer(dtype) else "f" if is_float(dtype) else dtype.kind
        kinds = set(map(type, cells))
        plain = cells if kinds <= _PLAIN[kind] else [_READERS[kind](cell) for cell in cells]
        with np.errstate(over="ignore"):
            # Only NumPy's own types refuse integers that are too large.
            array = np.array(plain, wider(dtype) if kind == "i" else dtype)
        if kind == "b" or (_within(array, dtype) if kind == "i" else _as_finite_as(array, plain)):
            return array.astype(dtype, copy=False)
    except (KeyError, OverflowError, TypeError, ValueError):
        pass
    raise OpError(
        f"must have cells of {NAMES[dtype]}",
        got=cells[:8],
        hint='Write numbers, or "inf", "-inf", "nan"; true and false for bool; text for string.',
    )


def _as_finite_as(array: Array, cells: list[Any]) -> bool:
    """Whether no number was too large for the type, and none an infinity that the type has not."""
    if np.isfinite(array).all():
        return True
    wanted = np.array(cells, complex)
    return all(bool((which(array) == which(wanted)).all()) for which in (np.isfinite, np.isnan))


def _within(array: Array, dtype: DType) -> bool:
    """Whether every integer is one of the type."""
    if array.dtype == dtype or not array.size:
        return True
    return bool(limits(dtype).min <= array.min() and array.max() <= limits(dtype).max)


def _flag(cell: Any) -> bool:
    raise ValueError(cell)


def _whole(cell: Any) -> int:
    if type(cell) is int:
        return cell
    if type(cell) is str and _WHOLE.fullmatch(cell):
        return int(cell)
    raise ValueError(cell)


def _real(cell: Any) -> float:
    if type(cell) in (int, float):
        return float(cell)
    return _SPECIAL[cell]


def _complex(cell: Any) -> complex:
    if type(cell) is str and _COMPLEX.fullmatch(cell):
        return complex(cell)
    if type(cell) in (int, float):
        return complex(cell)
    raise ValueError(cell)


_READERS = {"b": _flag, "i": _whole, "f": _real, "c": _complex}
_PLAIN: dict[str, set[type]] = {
    "b": {bool},
    "i": {int},
    "f": {int, float},
    "c": set(),
}
"""Types of cells that NumPy reads by itself."""


def _bytes(cell: Any) -> bytes:
    if type(cell) is str:
        return cell.encode()
    if type(cell) is dict and cell.keys() == {"base64"} and type(cell["base64"]) is str:
        try:
            return base64.b64decode(cell["base64"], validate=True)
        except binascii.Error:
            pass
    raise ValueError(cell)


def _number(text: Any) -> int | float:
    try:
        return _whole(text)
    except ValueError:
        if isinstance(text, str) and text in _SPECIAL:
            return _SPECIAL[text]
    raise OpError(
        "must be a number in words",
        got=text,
        hint='Write plain numbers without it, and such as {"number": "inf"} for the others.',
    )


def _word(cell: Any, dtype: DType) -> Json:
    if dtype.kind == "O":
        try:
            return cell.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(cell).decode()}
    if dtype.kind == "c":
        real, imaginary = (_real_text(part) for part in (cell.real, cell.imag))
        return f"{real}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    if dtype.kind == "b" or is_integer(dtype):
        plain = bool(cell) if dtype.kind == "b" else int(cell)
        return plain if abs(plain) <= MOST else str(plain)
    short = _shortest(cell)
    return str(short) if not math.isfinite(short) else short


def _real_text(part: Any) -> str:
    return str(_shortest(part))


def _shortest(cell: Any) -> int | float:
    """The number with the fewest digits that is this very cell once it has its type again."""
    exact = float(cell)
    if exact.is_integer() and abs(exact) <= MOST and (exact or math.copysign(1, exact) > 0):
        return int(exact)
    if not math.isfinite(exact) or type(cell) is np.float64:
        return exact
    with np.errstate(over="ignore"):
        for digits in range(1, 10):
            short = float(f"{exact:.{digits}g}")
            if type(cell)(short) == cell:
                return short
    return exact


def _nested(cells: list[Any], shape: tuple[int, ...]) -> Json:
    """Cells in lists, a level for each axis."""
    if not shape:
        return cells[0]
    for size in shape[:0:-1]:
        cells = [cells[i : i + size] for i in range(0, len(cells), size)] if size else []
    return cells
