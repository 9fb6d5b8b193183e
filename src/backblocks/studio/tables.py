"""Tables in text, from spreadsheets and CSV files, as arrays."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np

from backblocks.errors import OpError
from backblocks.ops._inputs import Array

_SAMPLE = 1000
"""Rows that decide which sign separates cells, and which one a fraction."""
_GROUPED_BY_COMMA = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_GROUPED_BY_POINT = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)?,\d+(e[+-]?\d+)?", re.I)
_DECIMAL_POINT = re.compile(r"[+-]?\d{1,3}(,\d{3})+\.\d*")
_SPACES = re.compile("(?<=\\d)[ \u00a0\u202f'](?=\\d{3}(?!\\d))")


def read_table(file: Path, name: str) -> dict[str, Array]:
    """The numbers of a table as one matrix; if some columns are text, each column as a vector.

    A first row without numbers has the names of the columns. An empty cell is NaN.
    """
    with open(file, encoding=_encoding(file), newline="", errors="strict") as text:
        try:
            return _read(text, name)
        except UnicodeDecodeError:
            hint = "Save it as CSV in UTF-8."
            raise OpError("must be text in UTF-8 or UTF-16", hint=hint) from None
        except csv.Error as error:
            raise OpError(f"must be a table: {error}", hint="Save it as CSV.") from None


def _encoding(file: Path) -> str:
    with open(file, "rb") as opened:
        start = opened.read(2)
    return "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _read(text: Iterator[str], name: str) -> dict[str, Array]:
    first = list(islice(text, _SAMPLE))
    separator = _separator(first)
    sample = [row for row in _rows(first, separator) if any(row)]
    comma = _is_decimal_comma(sample, separator)
    header: list[str] = []
    width = len(sample[0]) if sample else 0
    if len(sample) > 1 and all(_number(cell, comma) is None or not cell for cell in sample[0]):
        header = sample[0]
    columns: list[list[float | str]] = [[] for _ in range(width)]
    lines = (row for row in _rows(chain(first, text), separator) if any(row))
    for count, row in enumerate(lines, 1):
        if len(row) != width:
            hint = "Give every row as many cells, empty ones included."
            rule = f"must have {width} cells in every row, as in the first"
            raise OpError(rule, got=f"{len(row)} in row {count}", hint=hint)
        if count == 1 and header:
            continue
        for column, cell in zip(columns, row, strict=True):
            number = _number(cell, comma)
            column.append(cell if number is None else number)
    arrays = [_column(column) for column in columns]
    if not any(
        array.dtype.kind != "O" and not np.isnan(array).all() for array in arrays if array.size
    ):
        hint = "Arrays are npy, npz, safetensors, CSV, PNG, JPEG, TIFF and NIfTI files, and Zarr folders."
        raise OpError("must hold numbers", hint=hint)
    if all(array.dtype.kind != "O" for array in arrays):
        return {name: _narrow(np.stack(arrays, 1))}
    names = [cell or f"{name}_{i + 1}" for i, cell in enumerate(header or [""] * width)]
    return {
        names[i] if names.count(names[i]) == 1 else f"{names[i]}_{i + 1}": _narrow(array)
        for i, array in enumerate(arrays)
    }


def _separator(lines: list[str]) -> str:
    text = "".join(lines)
    return next((sign for sign in "\t;," if sign in text), " ")


def _rows(lines: Iterator[str] | list[str], separator: str) -> Iterator[list[str]]:
    if separator == " ":
        return (line.split() for line in lines)
    found = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    return ([cell.strip() for cell in row] for row in found)


def _is_decimal_comma(rows: list[list[str]], separator: str) -> bool:
    cells = [_SPACES.sub("", cell) for row in rows for cell in row] if separator != "," else []
    return any(
        _DECIMAL_COMMA.fullmatch(cell) and not _GROUPED_BY_COMMA.fullmatch(cell) for cell in cells
    )


def _number(cell: str, comma: bool) -> float | None:
    """The number in a cell, as any locale writes it; NaN for an empty cell, None for text."""
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        pass
    if not cell:
        return float("nan")
    plain = _SPACES.sub("", cell.replace("\u2212", "-"))
    if comma and (_DECIMAL_COMMA.fullmatch(plain) or _GROUPED_BY_POINT.fullmatch(plain)):
        plain = plain.replace(".", "").replace(",", ".")
    elif _DECIMAL_POINT.fullmatch(plain) or _GROUPED_BY_COMMA.fullmatch(plain):
        plain = plain.replace(",", "")
    try:
        return float(plain) if "_" not in plain else None
    except ValueError:
        return None


def _column(cells: list[float | str]) -> Array:
    if any(isinstance(cell, str) for cell in cells):
        texts = ["" if cell != cell else str(cell) for cell in cells]
        array = np.empty(len(cells), object)
        array[:] = [text.encode() for text in texts]
        return array
    return np.array(cells, np.float64)


def _narrow(array: Array) -> Array:
    """As TensorFlow takes plain numbers: whole ones as int32, others as float32; wider where they must be."""
    if array.dtype.kind == "O":
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.isfinite(array).all() and (abs(array) < 2**53).all()
        for dtype in (np.int32, np.int64):
            if whole and (array == array.astype(dtype)).all():
                return array.astype(dtype)
        single = array.astype(np.float32)
    overflows = np.isinf(single) & np.isfinite(array)
    coarse = (abs(array) >= 2**24) & (single != array)
    return array if (overflows | coarse).any() else single
