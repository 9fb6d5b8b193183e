"""Python source text for exported scripts: calls, assignments, and literals of every dtype."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from backblocks.dtypes import FROM_ML_DTYPES, NAMES
from backblocks.errors import visible
from backblocks.ops._inputs import Array
from backblocks.pages.constants import array_to_json
from backblocks.pages.dataclass_json import Json

WIDTH = 100


def comment_text(text: str) -> str:
    """Text of a page as one line for a comment or docstring, which it cannot break out of."""
    plain = visible(" ".join(text.split()))
    return plain.translate({ord("\\"): "/", ord('"'): "'"})


def indent(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def keywords(arguments: dict[str, str]) -> list[str]:
    return [f"{name}={expression}" for name, expression in arguments.items()]


def assignment_lines(name: str, expression: str) -> list[str]:
    if len(name) + len(expression) < WIDTH or not expression.startswith("packed("):
        return [f"{name} = {expression}"]
    head, _, text = expression.removesuffix('")').partition(', "')
    parts = (text[i : i + WIDTH - 8] for i in range(0, len(text), WIDTH - 8))
    lines = [f'    "{part}"' for part in parts]
    return [f"{name} = {head},", *lines, ")"]


def call_lines(head: str, tail: str, parts: Sequence[str]) -> list[str]:
    """A call on one line, or with a line for each argument."""
    line = f"{head}{', '.join(parts)}{tail}"
    if len(line) <= WIDTH - 4:
        return [line]
    return [head.rstrip(), *(f"    {part}," for part in parts), tail]


def attribute_literal(value: Any) -> str:
    """The value of an attribute as a Python expression."""
    if isinstance(value, np.ndarray):
        return array_literal(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(attribute_literal, value))}]"
    if isinstance(value, np.dtype):
        return f'"{NAMES[value]}"'
    return string_literal(value) if isinstance(value, str) else repr(value)


def string_literal(text: str) -> str:
    """A string literal, escaped so that its text cannot end it, nor hide what follows."""
    return visible(json.dumps(text, ensure_ascii=False))


def array_literal(array: Array) -> str:
    """An array as a Python expression: its elements if they are few, else compressed."""
    name = NAMES[array.dtype]
    dtype = "object" if name == "string" else f'"{name}"'
    if name in FROM_ML_DTYPES:
        dtype = f"ml_dtypes.{name}"
    if array.size == 0:
        return f"np.zeros({list(array.shape)}, {dtype})"
    written = array_to_json(array)
    if not isinstance(written, dict):
        text = base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
        return f'packed({dtype}, {list(array.shape)}, "{text}")'
    elements = _elements(written["value"], array.dtype.kind)
    if array.ndim or name in (*FROM_ML_DTYPES, "string"):
        return f"np.array({elements}, {dtype})"
    return f"np.{'bool_' if name == 'bool' else name}({elements})"


def _elements(value: Json, kind: str) -> str:
    if type(value) is list:
        return f"[{', '.join(_elements(each, kind) for each in value)}]"
    if kind == "O":
        element = base64.b64decode(value["base64"]) if type(value) is dict else value.encode()
        return repr(element)
    if kind == "c":
        return f'complex("{value}")'
    return value if type(value) is str else repr(value)


def imports_for(script: str) -> list[str]:
    """The lines that import what a script uses of the standard library."""
    lines = [f"import {name}" for name in ("base64", "zlib") if f"{name}." in script]
    if re.search(r"\b(inf|nan)\b", script):
        lines.append("from math import inf, nan")
    return [*lines, *([""] if lines else [])]
