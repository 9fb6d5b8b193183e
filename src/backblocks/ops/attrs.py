"""The kinds of attribute that an op can have: each parses and validates a value, once, when the op is called.

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
from backblocks.ops._inputs import Array, as_array, as_utf8
from backblocks.ops._spec import check_rank


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
    except Exception:  # what is no number may fail in a way of its own
        raise OpError(
            "must be a whole number", got=value, hint="Use an integer, such as 2 or int(x)."
        ) from None
    end = 2 ** (bits - 1)
    if not -end <= number < end:
        hint = f"Use a number from {-end} to {end - 1}."
        raise OpError(f"must fit in {bits} bits", got=number, hint=hint)
    return number


def _seed(value: Any) -> int:
    return _integer(value, bits=64)


def _integers(value: Any) -> tuple[int, ...]:
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, list | tuple):
        hint = "Write it out, as in [1, 2, 2, 1]."
        raise OpError("must be a list of whole numbers", got=value, hint=hint)
    try:
        numbers = tuple(map(operator.index, value))
        if min(numbers, default=0) >= -(2**31) and max(numbers, default=0) < 2**31:
            return numbers
    except Exception:  # noqa: S110
        pass
    return tuple(map(_integer, value))  # says what is wrong with which


def _positive_integers(value: Any) -> tuple[int, ...]:
    numbers = _integers(value)
    if min(numbers, default=1) < 1:
        hint = "Use 1 for a dimension that is to stay as it is."
        raise OpError("every entry must be at least 1", got=numbers, hint=hint)
    return numbers


def _pads(value: Any) -> tuple[int, ...]:
    numbers = _integers(value)
    if min(numbers, default=0) < 0:
        hint = "Use 0 for no padding; to cut cells off, slice the input."
        raise OpError("padding must not be negative", got=numbers, hint=hint)
    return numbers


def _flag(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise OpError("must be True or False", got=value, hint="Convert it: bool(x).")


def _number(value: Any) -> float:
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            hint = "Use a number below 1e308."
            raise OpError("must fit in float64", got=value, hint=hint) from None
    raise OpError("must be a number", got=value, hint="Pass one number, such as 0.5 or float(x).")


def _text(value: Any) -> str:
    if isinstance(value, str):
        as_utf8(value)
        return value
    raise OpError("must be text", got=value, hint='Put it in quotes: "text".')


def _finite_numbers(value: Any) -> tuple[float, ...]:
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, list | tuple):
        hint = "Write it out, as in [1.0, 1.5, 1.5, 1.0]."
        raise OpError("must be a list of numbers", got=value, hint=hint)
    numbers = tuple(_number(n) for n in value)
    if not all(map(math.isfinite, numbers)):
        hint = "Put a number in place of each inf and nan."
        raise OpError("every entry must be finite", got=numbers, hint=hint)
    return numbers


def _partial_shape(value: Any) -> tuple[int | None, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise OpError("must be a list of sizes", got=value, hint="Leave unknown sizes None.")
    check_rank(len(value))
    sizes = tuple(None if n is None else _integer(n, bits=64) for n in value)
    if any(n is not None and n < -1 for n in sizes):
        raise OpError(
            "sizes must be whole numbers from 0", got=value, hint="Leave unknown sizes None."
        )
    return tuple(None if n == -1 else n for n in sizes)


def _shapes(value: Any) -> tuple[tuple[int | None, ...] | None, ...]:
    if not isinstance(value, list | tuple):
        hint = "Write each out, as in [[2, 3], []]."
        raise OpError("must be a list of shapes", got=value, hint=hint)
    return tuple(_partial_shape(shape) for shape in value)


def _tensor(value: Any) -> Array:
    array = as_array(value, strings=True).copy()  # the caller may go on writing to theirs
    array.flags.writeable = False
    return array


def choice(about: str, *options: str) -> Kind:
    """One of a few words; `about` says what they mean."""

    def parse(value: Any) -> str:
        word = value.decode(errors="replace") if isinstance(value, bytes) else value
        if not isinstance(word, str) or word not in options:
            words = " or ".join(option or '""' for option in options)
            raise OpError(f"must be {words}", got=value, hint=about)
        return word

    words = ", ".join(f'"{option}"' for option in options)
    return Kind("choice", f"Literal[{words}]", about, parse, options)


def dtype_of(*names: str) -> Kind:
    """One of a few element types."""
    allowed = {as_dtype(name): name for name in reversed(names)}

    def parse(value: Any) -> DType:
        try:
            dtype = as_dtype(value)
        except (KeyError, TypeError, AttributeError):
            dtype = None
        if dtype not in allowed:
            hint = f"Pass its name, as in {names[0]!r}, or a NumPy dtype."
            raise OpError(f"must be {' or '.join(names)}", got=value, hint=hint)
        return dtype

    return Kind("dtype", "DTypeLike", "An element type.", parse, names)


def dtypes_of(*names: str) -> Kind:
    """One or more of a few element types."""
    one = dtype_of(*names)

    def parse(value: Any) -> tuple[DType, ...]:
        if not isinstance(value, list | tuple) or not value:
            hint = f"Write them out, as in [{names[0]!r}]."
            raise OpError("must be a list of at least one element type", got=value, hint=hint)
        return tuple(one.parse(each) for each in value)

    return Kind("dtypes", "Sequence[DTypeLike]", "Element types.", parse, names)


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
_PADDING = "SAME pads to cover every cell, VALID does not pad"
Padding = Annotated[
    str,
    choice(f"{_PADDING}, EXPLICIT pads by explicit_paddings.", "SAME", "VALID", "EXPLICIT"),
]
SamePadding = Annotated[str, choice(f"{_PADDING}.", "SAME", "VALID")]
ImageLayout = Annotated[str, choice("Channels stand last in NHWC, second in NCHW.", "NHWC", "NCHW")]
VolumeLayout = Annotated[
    str, choice("Channels stand last in NDHWC, second in NCDHW.", "NDHWC", "NCDHW")
]
PartialShape = Annotated[
    tuple[int | None, ...] | None,
    Kind(
        "shape",
        "Sequence[int | None] | None",
        "A shape; sizes that are not known are None (or -1, as TensorFlow writes them).",
        _partial_shape,
    ),
]
Axes = Annotated[
    tuple[int, ...],
    Kind("axes", "Sequence[int]", "Axes, counted from 0 or from -1 at the end.", _integers),
]
Shapes = Annotated[
    tuple[tuple[int | None, ...] | None, ...],
    Kind(
        "shapes",
        "Sequence[Sequence[int | None] | None]",
        "A shape for each component, or none at all.",
        _shapes,
    ),
]
Ints = Annotated[tuple[int, ...], Kind("ints", "Sequence[int]", "Whole numbers.", _integers)]
Flag = Annotated[bool, Kind("flag", "bool", "Yes or no.", _flag)]
Int = Annotated[int, Kind("int", "int", "A whole number.", _integer)]
Seed = Annotated[int, Kind("seed", "int", "Where random numbers start from.", _seed)]
Tensor = Annotated[
    Any,
    Kind("tensor", "ArrayLike", "A number or text, nested lists of them, or an array.", _tensor),
]
Float = Annotated[float, Kind("float", "float", "A number.", _number)]
Text = Annotated[str, Kind("text", "str", "Words or letters.", _text)]
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
