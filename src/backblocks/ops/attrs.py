"""The kinds of attribute an op can have. Each reads and checks itself, once, at the edge.

A parameter is given a kind by its annotation:

    def max_pool(input, *, ksize: Window, strides: Strides, padding: Padding): ...

so that kernels get exact types, and whoever shows the attribute knows what it is.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import DType, as_dtype
from backblocks.errors import OpError


@dataclass(frozen=True)
class Kind:
    """A kind of attribute: `name` picks the widget, `type_text` stands in stubs, `parse` reads a value."""

    name: str
    type_text: str
    about: str
    parse: Callable[[Any], Any]
    options: tuple[str, ...] = ()


def _integer(value: Any, bits: int = 32) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise OpError("must be a whole number", got=value) from None
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise OpError(f"must fit in {bits} bits", got=number)
    return number


def _seed(value: Any) -> int:
    return _integer(value, bits=64)


def _integers(value: Any) -> tuple[int, ...]:
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise OpError("must be a list of whole numbers", got=value)
    return tuple(_integer(n) for n in value)


def _positive_integers(value: Any) -> tuple[int, ...]:
    numbers = _integers(value)
    if any(n < 1 for n in numbers):
        raise OpError("every entry must be at least 1", got=numbers)
    return numbers


def _pads(value: Any) -> tuple[int, ...]:
    numbers = _integers(value)
    if any(n < 0 for n in numbers):
        raise OpError("padding must not be negative", got=numbers)
    return numbers


def _flag(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise OpError("must be True or False", got=value)


def _number(value: Any) -> float:
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        return float(value)
    raise OpError("must be a number", got=value)


def _finite_numbers(value: Any) -> tuple[float, ...]:
    if not isinstance(value, list | tuple | np.ndarray):
        raise OpError("must be a list of numbers", got=value)
    numbers = tuple(_number(n) for n in value)
    if not all(map(math.isfinite, numbers)):
        raise OpError("every entry must be finite", got=numbers)
    return numbers


def _partial_shape(value: Any) -> tuple[int | None, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise OpError("must be a list of sizes", got=value, hint="Leave unknown sizes None.")
    sizes = tuple(None if n is None else _integer(n, bits=64) for n in value)
    if any(n is not None and n < -1 for n in sizes):
        raise OpError(
            "sizes must be whole numbers from 0", got=value, hint="Leave unknown sizes None."
        )
    return tuple(None if n == -1 else n for n in sizes)


def choice(about: str, *options: str) -> Kind:
    """One of a few words."""

    def parse(value: Any) -> str:
        word = value.decode(errors="replace") if isinstance(value, bytes) else value
        if not isinstance(word, str) or word not in options:
            raise OpError(f"must be {' or '.join(options)}", got=value)
        return word

    return Kind("choice", "str", about, parse, options)


def dtype_of(*names: str) -> Kind:
    """One of a few element types."""
    allowed = {as_dtype(name): name for name in reversed(names)}

    def parse(value: Any) -> DType:
        try:
            dtype = as_dtype(value)
        except (KeyError, TypeError):
            dtype = None
        if dtype not in allowed:
            raise OpError(f"must be {' or '.join(names)}", got=value)
        return dtype

    return Kind("dtype", "DTypeLike", "An element type.", parse, names)


Window = Annotated[
    tuple[int, ...],
    Kind("window", "Sequence[int]", "Window size, one entry a dimension.", _positive_integers),
]
Strides = Annotated[
    tuple[int, ...],
    Kind(
        "strides",
        "Sequence[int]",
        "Step between windows, one entry a dimension.",
        _positive_integers,
    ),
]
Dilations = Annotated[
    tuple[int, ...],
    Kind("dilations", "Sequence[int]", "Step between the cells of a window.", _positive_integers),
]
Pads = Annotated[
    tuple[int, ...],
    Kind(
        "pads",
        "Sequence[int]",
        'For padding="EXPLICIT": cells before and after, for each dimension in turn.',
        _pads,
    ),
]
Padding = Annotated[str, choice("How borders are treated.", "SAME", "VALID", "EXPLICIT")]
SamePadding = Annotated[str, choice("How borders are treated.", "SAME", "VALID")]
ImageLayout = Annotated[str, choice("Where the channels stand.", "NHWC", "NCHW")]
VolumeLayout = Annotated[str, choice("Where the channels stand.", "NDHWC", "NCDHW")]
PartialShape = Annotated[
    tuple[int | None, ...] | None,
    Kind(
        "shape",
        "Sequence[int | None] | None",
        "A shape; sizes that are not known are None (or -1, as TensorFlow writes them).",
        _partial_shape,
    ),
]
Flag = Annotated[bool, Kind("flag", "bool", "Yes or no.", _flag)]
Int = Annotated[int, Kind("int", "int", "A whole number.", _integer)]
Seed = Annotated[int, Kind("seed", "int", "Where random numbers start from.", _seed)]
Ints = Annotated[tuple[int, ...], Kind("ints", "Sequence[int]", "Whole numbers.", _integers)]
Float = Annotated[float, Kind("float", "float", "A number.", _number)]
Floats = Annotated[
    tuple[float, ...], Kind("floats", "Sequence[float]", "Finite numbers.", _finite_numbers)
]


def check_window(arg: str, value: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """Reads a window or stride that came as a tensor, by the same rule as one that is an attribute."""
    try:
        return _positive_integers(value)
    except OpError as error:
        error.arg = arg
        raise
