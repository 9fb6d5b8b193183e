"""Python as people write it: calls, assignments, and values of every dtype."""

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
from backblocks.pages.constants import in_words
from backblocks.pages.fields import Json

WIDTH = 100


def one_line(words: str) -> str:
    """Words of a page for a comment, out of which they cannot get."""
    plain = visible(" ".join(words.split()))
    return plain.translate({ord("\\"): "/", ord('"'): "'"})


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def named(arguments: dict[str, str]) -> list[str]:
    return [f"{name}={words}" for name, words in arguments.items()]


def assignment(name: str, words: str) -> list[str]:
    if len(name) + len(words) < WIDTH or not words.startswith("packed("):
        return [f"{name} = {words}"]
    head, _, text = words.removesuffix('")').partition(', "')
    parts = (text[i : i + WIDTH - 8] for i in range(0, len(text), WIDTH - 8))
    lines = [f'    "{part}"' for part in parts]
    return [f"{name} = {head},", *lines, ")"]


def call(head: str, tail: str, parts: Sequence[str]) -> list[str]:
    """A call in one line, or with a line for each argument."""
    line = f"{head}{', '.join(parts)}{tail}"
    if len(line) <= WIDTH - 4:
        return [line]
    return [head.rstrip(), *(f"    {part}," for part in parts), tail]


def source(value: Any) -> str:
    """The value of an attribute."""
    if isinstance(value, np.ndarray):
        return literal(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(source, value))}]"
    if isinstance(value, np.dtype):
        return f'"{NAMES[value]}"'
    return text(value) if isinstance(value, str) else repr(value)


def text(words: str) -> str:
    """A string, which nothing in it can end or hide."""
    return visible(json.dumps(words, ensure_ascii=False))


def literal(array: Array) -> str:
    """A constant: its cells if they are few, else packed."""
    name = NAMES[array.dtype]
    dtype = "object" if name == "string" else f'"{name}"'
    if name in FROM_ML_DTYPES:
        dtype = f"ml_dtypes.{name}"
    if array.size == 0:
        return f"np.zeros({list(array.shape)}, {dtype})"
    words = in_words(array)
    if not isinstance(words, dict):
        text = base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
        return f'packed({dtype}, {list(array.shape)}, "{text}")'
    cells = _cells(words["value"], array.dtype.kind)
    if array.ndim or name in (*FROM_ML_DTYPES, "string"):
        return f"np.array({cells}, {dtype})"
    return f"np.{'bool_' if name == 'bool' else name}({cells})"


def _cells(value: Json, kind: str) -> str:
    if type(value) is list:
        return f"[{', '.join(_cells(each, kind) for each in value)}]"
    if kind == "O":
        cell = base64.b64decode(value["base64"]) if type(value) is dict else value.encode()
        return repr(cell)
    if kind == "c":
        return f'complex("{value}")'
    return value if type(value) is str else repr(value)


def imports_for(text: str) -> list[str]:
    """What a script needs from the standard library, and then what else."""
    lines = [f"import {name}" for name in ("base64", "zlib") if f"{name}." in text]
    if re.search(r"\b(inf|nan)\b", text):
        lines.append("from math import inf, nan")
    return [*lines, *([""] if lines else [])]
