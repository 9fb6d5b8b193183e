"""Constants of pages as JSON, exact to the bit: parsed to arrays, and arrays written.

    {"dtype": "float32", "value": [[1, 0.5], ["inf", "nan"]]}
    {"dtype": "float32", "shape": [784, 10], "file": "mnist.arrays/W-5f3c....npy"}

Elements that JSON has no numbers for are strings: infinities, nan, complex numbers ("1-2j"), and integers
that a browser would round. Elements of string arrays are strings, or {"base64": ...} where the bytes are no
UTF-8. A number or list without a dtype takes the dtype of the inputs beside it, as in Python.
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
from backblocks.pages.dataclass_json import MAX_SAFE_INTEGER, Json
from backblocks.pages.folder import Folder

MAX_INLINE_ELEMENTS = 256
"""Arrays of more elements are saved to npy files."""

TYPES = {name: dtype for name, dtype in BY_NAME.items() if name != "resource"}
"""Dtypes that a constant can have. Handles of queues and readers cannot be written."""

_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_COMPLEX = re.compile(r"[-+.0-9a-z]{1,64}")


def is_typed(value: Json) -> bool:
    """Whether a value is a constant with a dtype of its own."""
    return isinstance(value, np.ndarray) or (type(value) is dict and "dtype" in value)


def is_file_constant(value: Json) -> bool:
    """Whether a JSON object is a constant whose array is in an npy file."""
    return "dtype" in value and type(value.get("file")) is str


def parse_constant(value: Json, folder: Folder) -> Any:
    """The array of a typed constant; numbers and lists without a dtype unchanged."""
    if isinstance(value, np.ndarray):
        return value
    if type(value) is dict:
        return _parse_typed(value, folder)
    _, elements = _flatten(value)
    if not set(map(type, elements)) <= {bool, int, float}:
        raise OpError(
            "must be numbers, or an object with a dtype",
            got=value,
            hint='Write such as {"dtype": "string", "value": "text"}.',
        )
    return value


def parse_attribute(value: Json, folder: Folder) -> Any:
    """The value of an attribute, with typed constants and {"number": ...} parsed."""
    if type(value) is list:
        return [parse_attribute(each, folder) for each in value]
    if type(value) is dict:
        if value.keys() == {"number"}:
            return _parse_number(value["number"])
        return _parse_typed(value, folder)
    return value


def attribute_to_json(value: Any) -> Json:
    """The JSON of an attribute's value. An array that belongs in a file stays an array."""
    if isinstance(value, np.ndarray):
        return array_to_json(value)
    if isinstance(value, list | tuple):
        return [attribute_to_json(each) for each in value]
    if isinstance(value, np.dtype):
        return NAMES[value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_SAFE_INTEGER:
        return {"number": str(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    return value


def array_to_json(array: Array) -> Json:
    """The JSON of a small array, if it is exact; else the array itself, which belongs in a file."""
    if array.dtype.kind != "O" and array.size > MAX_INLINE_ELEMENTS:
        return array
    return exact_json(array) or array


def exact_json(array: Array) -> Json | None:
    """The JSON of an array, if it is exact: a NaN with a payload is not."""
    json_value = array_to_json_in_full(array)
    if array.dtype.kind != "O" and _parse_typed(json_value, Folder()).tobytes() != array.tobytes():
        return None
    return json_value


def array_to_json_in_full(array: Array) -> Json:
    """The JSON of an array of any size. All NaN become the quiet one without payload."""
    json_value: Json = {"dtype": NAMES[array.dtype]}
    if array.size == 0:
        json_value["shape"] = list(array.shape)
    json_value["value"] = _nest(
        [_element_to_json(element, array.dtype) for element in array.reshape(-1)], array.shape
    )
    return json_value


def element_count_in_file(value: Json, folder: Folder) -> int:
    """How many elements a constant in an npy file has, from the file's header."""
    return folder.element_count(value["file"], *_type_and_shape(value))


def _type_and_shape(value: Json) -> tuple[DType, tuple[int, ...] | None]:
    if type(value.get("dtype")) is not str or value["dtype"] not in TYPES:
        raise OpError(
            "must have a dtype",
            got=value.get("dtype", described("none")),
            hint=f"Use one of {', '.join(TYPES)}.",
        )
    return TYPES[value["dtype"]], None if "shape" not in value else _parse_shape(value["shape"])


def _parse_typed(value: Json, folder: Folder) -> Array:
    dtype, shape = _type_and_shape(value)
    if "file" in value:
        return folder.array(value["file"], dtype, shape)
    if "value" not in value:
        raise OpError(
            "must have a value or a file", got=value, hint='Write such as {..., "value": [1, 2]}.'
        )
    found, elements = _flatten(value["value"])
    array = _parse_elements(elements, dtype)
    if shape is not None and shape != found:
        if math.prod(shape) != 0 or elements:
            raise OpError(
                f"must have as many values as its shape {list(shape)} says",
                got=described(f"shape {list(found)}"),
                hint="Leave the shape out: the values tell it.",
            )
        found = shape
    return array.reshape(found)


def _parse_shape(value: Json) -> tuple[int, ...]:
    if type(value) is not list or any(type(n) is not int or n < 0 for n in value):
        raise OpError("must have a shape of sizes from 0", got=value, hint="Write such as [2, 3].")
    check_shape(value, 16)
    return tuple(value)


def _flatten(value: Json) -> tuple[tuple[int, ...], list[Any]]:
    """Shape and elements of nested lists."""
    shape: list[int] = []
    elements = [value]
    while elements and type(elements[0]) is list:
        length = len(elements[0])
        if any(type(row) is not list or len(row) != length for row in elements):
            raise _ragged(value)
        shape.append(length)
        check_rank(len(shape))
        elements = [element for row in elements for element in row]
    if list in set(map(type, elements)):
        raise _ragged(value)
    return tuple(shape), elements


def _ragged(value: Json) -> OpError:
    return OpError(
        "must have rows of one length",
        got=value,
        hint="Fill the short rows up.",
    )


# -- elements ---------------------------------------------------------------------------------------


def _parse_elements(elements: list[Any], dtype: DType) -> Array:
    try:
        if dtype.kind == "O":
            array = np.empty(len(elements), object)
            array[:] = [_parse_bytes(element) for element in elements]
            return array
        kind = "i" if is_integer(dtype) else "f" if is_float(dtype) else dtype.kind
        kinds = set(map(type, elements))
        plain = (
            elements
            if kinds <= _NATIVE[kind]
            else [_PARSERS[kind](element) for element in elements]
        )
        with np.errstate(over="ignore"):
            # Only NumPy's own types refuse integers that are too large.
            array = np.array(plain, wider(dtype) if kind == "i" else dtype)
        if kind == "b" or (
            _fits(array, dtype) if kind == "i" else _is_exactly_finite(array, plain)
        ):
            return array.astype(dtype, copy=False)
    except (KeyError, OverflowError, TypeError, ValueError):
        pass
    raise OpError(
        f"must have elements of {NAMES[dtype]}",
        got=elements[:8],
        hint='Write numbers, or "inf", "-inf", "nan"; true and false for bool; text for string.',
    )


def _is_exactly_finite(array: Array, elements: list[Any]) -> bool:
    """Whether no number overflowed to infinity, and none is an infinity that the dtype cannot hold."""
    if np.isfinite(array).all():
        return True
    wanted = np.array(elements, complex)
    return all(bool((which(array) == which(wanted)).all()) for which in (np.isfinite, np.isnan))


def _fits(array: Array, dtype: DType) -> bool:
    """Whether every integer is in the range of the dtype."""
    if array.dtype == dtype or not array.size:
        return True
    return bool(limits(dtype).min <= array.min() and array.max() <= limits(dtype).max)


def _parse_bool(element: Any) -> bool:
    raise ValueError(element)


def _parse_int(element: Any) -> int:
    if type(element) is int:
        return element
    if type(element) is str and _INTEGER.fullmatch(element):
        return int(element)
    raise ValueError(element)


def _parse_float(element: Any) -> float:
    if type(element) in (int, float):
        return float(element)
    return _SPECIAL[element]


def _parse_complex(element: Any) -> complex:
    if type(element) is str and _COMPLEX.fullmatch(element):
        return complex(element)
    if type(element) in (int, float):
        return complex(element)
    raise ValueError(element)


_PARSERS = {"b": _parse_bool, "i": _parse_int, "f": _parse_float, "c": _parse_complex}
_NATIVE: dict[str, set[type]] = {
    "b": {bool},
    "i": {int},
    "f": {int, float},
    "c": set(),
}
"""Types of elements that NumPy converts without a parser."""


def _parse_bytes(element: Any) -> bytes:
    if type(element) is str:
        return element.encode()
    if type(element) is dict and element.keys() == {"base64"} and type(element["base64"]) is str:
        try:
            return base64.b64decode(element["base64"], validate=True)
        except binascii.Error:
            pass
    raise ValueError(element)


def _parse_number(text: Any) -> int | float:
    try:
        return _parse_int(text)
    except ValueError:
        if isinstance(text, str) and text in _SPECIAL:
            return _SPECIAL[text]
    raise OpError(
        "must be a number as text",
        got=text,
        hint='Write plain numbers without it, and such as {"number": "inf"} for the others.',
    )


def _element_to_json(element: Any, dtype: DType) -> Json:
    if dtype.kind == "O":
        try:
            return element.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(element).decode()}
    if dtype.kind == "c":
        real, imaginary = (_real_text(part) for part in (element.real, element.imag))
        return f"{real}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
    if dtype.kind == "b" or is_integer(dtype):
        plain = bool(element) if dtype.kind == "b" else int(element)
        return plain if abs(plain) <= MAX_SAFE_INTEGER else str(plain)
    short = _shortest(element)
    return str(short) if not math.isfinite(short) else short


def _real_text(part: Any) -> str:
    return str(_shortest(part))


def _shortest(element: Any) -> int | float:
    """The number with the fewest digits that rounds to this element in its dtype."""
    exact = float(element)
    if (
        exact.is_integer()
        and abs(exact) <= MAX_SAFE_INTEGER
        and (exact or math.copysign(1, exact) > 0)
    ):
        return int(exact)
    if not math.isfinite(exact) or type(element) is np.float64:
        return exact
    with np.errstate(over="ignore"):
        for digits in range(1, 10):
            short = float(f"{exact:.{digits}g}")
            if type(element)(short) == element:
                return short
    return exact


def _nest(elements: list[Any], shape: tuple[int, ...]) -> Json:
    """Elements in nested lists, a level for each axis."""
    if not shape:
        return elements[0]
    for size in shape[:0:-1]:
        elements = [elements[i : i + size] for i in range(0, len(elements), size)] if size else []
    return elements
