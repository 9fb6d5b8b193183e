"""The dtype signature of an op, read as one reads a NumPy gufunc: `"T, T -> T"`.

T               a type variable, bound by the inputs or given by a dtype attribute of that name
int32           this very type
T*              a list of tensors of one type
T**             a list of tensors, each of its own type
T?              may be left out (None)
argmax: int64   an output and its name; a lone output is called `output` unless named
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Count = Literal["one", "optional", "list", "mixed list"]
_MARKS: dict[str, Count] = {"**": "mixed list", "*": "list", "?": "optional"}


@dataclass(frozen=True)
class Pin:
    """One input or output of an op."""

    name: str
    dtype: str
    count: Count = "one"

    @cached_property
    def is_list(self) -> bool:
        return self.count in ("list", "mixed list")


def read_signature(text: str, inputs: list[str]) -> tuple[tuple[Pin, ...], tuple[Pin, ...]]:
    """Input and output pins of a signature whose inputs have these names."""
    left, _, right = text.partition("->")
    dtypes = _split(left)
    if len(dtypes) != len(inputs):
        raise TypeError(f"signature {text!r} has {len(dtypes)} inputs, the function {len(inputs)}")
    return (
        tuple(_pin(name, dtype) for name, dtype in zip(inputs, dtypes, strict=True)),
        tuple(_output(part) for part in _split(right)),
    )


def _split(side: str) -> list[str]:
    return [part.strip() for part in side.split(",") if part.strip()]


def _output(part: str) -> Pin:
    name, colon, dtype = part.partition(":")
    pin = _pin(name.strip(), dtype.strip()) if colon else _pin("output", part)
    if pin.count == "optional":
        raise TypeError(f"output {part!r} cannot be optional")
    return pin


def _pin(name: str, dtype: str) -> Pin:
    for mark, count in _MARKS.items():
        if dtype.endswith(mark):
            return Pin(name, dtype.removesuffix(mark), count)
    return Pin(name, dtype)
