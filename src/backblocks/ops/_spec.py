"""Spec: the statically known shape, dtype and value of a tensor, and checks of it for shape rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from backblocks.dtypes import NAMES, DType
from backblocks.errors import Fix, OpError, change_constant, described, insert

Size = int | None
Shape = tuple[Size, ...] | None
"""An unknown size is None, and so is a shape of unknown rank."""

MAX_RANK = 32
"""The most axes that a tensor may have. NumPy has arrays of 64, but its `ufunc.at`, iterators and
broadcasting of several arrays stop at 32, some of them by ending the process.
"""


@dataclass(frozen=True, slots=True)
class Spec:
    """Shape and dtype of a tensor, and its value where that is known already."""

    shape: Shape
    dtype: DType
    known: np.ndarray[Any, Any] | None = field(default=None, compare=False, repr=False)
    looked: Callable[[], None] | None = field(default=None, compare=False, repr=False)
    """Is told when somebody looks at the value: what was decided then holds for that value only.

    Arrays of a call have it, symbols do not.
    """

    @classmethod
    def of(cls, array: np.ndarray[Any, Any], looked: Callable[[], None] | None = None) -> Spec:
        return cls(array.shape, array.dtype, array, looked)

    @property
    def value(self) -> np.ndarray[Any, Any] | None:
        if self.looked is not None:
            self.looked()
        return self.known

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape of a tensor whose sizes must all be known here."""
        if self.shape is None or None in self.shape:
            open_ = shape_text(self.shape)
            raise TypeError(f"a shape rule left {open_} open although all inputs are known")
        return self.shape  # type: ignore[return-value]

    @property
    def contents(self) -> np.ndarray[Any, Any]:
        """The value of a tensor that must have one here."""
        if self.value is None:
            raise TypeError(f"this cannot be told of {self} without its value")
        return self.value

    def __str__(self) -> str:
        return f"{NAMES[self.dtype]} {shape_text(self.shape)}"


def is_known(shape: Shape) -> bool:
    """Whether every size is."""
    return shape is not None and None not in shape


def check_rank(rank: int, arg: str = "") -> None:
    """Refuses a tensor of more axes than can be computed with."""
    if rank > MAX_RANK:
        raise OpError(
            f"must have at most {MAX_RANK} dimensions",
            arg=arg,
            got=described(f"{rank} dimensions"),
            hint="Put axes together: x.reshape(...), or Reshape in a graph.",
        )


def check_shape(shape: Sequence[int], itemsize: int = 1) -> None:
    """Refuses a shape that no array can have, be it without a cell. Files may say anything."""
    check_rank(len(shape))
    if math.prod(n for n in shape if n) * itemsize >= 2**63:
        got, hint = described(shape_text(tuple(shape))), "Use smaller sizes."
        raise OpError("has more cells than can be counted", got=got, hint=hint)


def which(arg: str, nth: int | None) -> str:
    """Says of which tensor of a list something is."""
    return "" if nth is None else f" for {arg}[{nth}]"


def shape_text(shape: Shape) -> str:
    if shape is None:
        return "unknown shape"
    return "[" + ", ".join("?" if n is None else str(n) for n in shape) + "]"


def ranked(arg: str, spec: Spec, rank: int, axes: str = "", hint: str = "") -> tuple[Size, ...]:
    """The shape of a tensor that must have this rank; all sizes unknown if its rank is."""
    if spec.shape is None:
        return (None,) * rank
    if len(spec.shape) != rank:
        raise OpError(
            f"must have {rank} {'dimension' if rank == 1 else 'dimensions'}{axes and f' ({axes})'}",
            arg=arg,
            got=described(f"shape {shape_text(spec.shape)}"),
            hint=hint or _to_rank(rank, len(spec.shape)),
            fixes=_fixes_of_rank(arg, spec.shape, rank),
        )
    return spec.shape


def by_axis(arg: str, spec: Spec, hint: str = "") -> Size:
    """The length of a vector that has an entry for each axis of a tensor: sizes, or axes themselves."""
    (length,) = ranked(arg, spec, 1, hint=hint)
    if length is not None and length > MAX_RANK:
        raise OpError(
            f"must have at most {MAX_RANK} entries, one for each dimension",
            arg=arg,
            got=length,
            hint="Pass sizes or axes of one tensor.",
        )
    return length


def _to_rank(rank: int, have: int) -> str:
    if rank == 1:
        return "Flatten it: x.reshape(-1)."
    if have < rank:
        return "Add axes of size 1 where they are missing, such as x[None] for the first."
    return "Take axes away, such as x[0] for the first, or x.squeeze() for all of size 1."


def _fixes_of_rank(arg: str, shape: tuple[Size, ...], rank: int) -> list[Fix]:
    if len(shape) == rank - 1:
        return [insert(arg, "ExpandDims", axis=0), insert(arg, "ExpandDims", axis=-1)]
    if rank == 1:
        return [insert(arg, "Reshape", shape=[-1])]
    ones = [axis for axis, n in enumerate(shape) if n == 1]
    return [insert(arg, "Squeeze", squeeze_dims=ones)] if len(shape) - len(ones) == rank else []


def fixes_of_shape(arg: str, shape: Shape, wanted: Shape) -> list[Fix]:
    """Ways to give a tensor another shape: axes in another order, cells in other rows, another size."""
    if shape is None or wanted is None or not is_known(wanted):
        return []
    fixes = []
    if len(shape) == len(wanted) and sorted(map(str, shape)) == sorted(map(str, wanted)):
        left = list(range(len(shape)))
        perm = []
        for n in wanted:
            axis = next(axis for axis in left if shape[axis] == n)
            left.remove(axis)
            perm.append(axis)
        fixes.append(insert(arg, "Transpose", perm=perm))
    elif is_known(shape) and math.prod(shape) == math.prod(wanted):  # type: ignore[arg-type]
        fixes.append(insert(arg, "Reshape", shape=[*wanted]))
    return [*fixes, change_constant(arg, shape=[*wanted])]


def differing(shape: Shape, expected: Shape) -> int | None:
    """The first axis on which two shapes of one rank cannot be the same."""
    if shape is None or expected is None or len(shape) != len(expected):
        return None
    pairs = enumerate(zip(shape, expected, strict=True))
    return next((axis for axis, (a, b) in pairs if a != b and None not in (a, b)), None)


def agreed(
    arg: str, spec: Spec, expected: Shape, why: str, hint: str, nth: int | None = None
) -> Shape:
    """The shape both sides allow; refused when `spec`, the nth of a list, cannot have the expected shape."""
    if spec.shape == expected:
        return expected
    if spec.shape is None or expected is None:
        return expected if spec.shape is None else spec.shape
    axis = differing(spec.shape, expected)
    if len(spec.shape) != len(expected) or axis is not None:
        raise OpError(
            f"must have {why}, {shape_text(expected)}",
            arg=arg,
            axis=axis,
            got=described(shape_text(spec.shape) + which(arg, nth)),
            hint=hint,
            fixes=fixes_of_shape(arg if nth is None else f"{arg}[{nth}]", spec.shape, expected),
        )
    return tuple(b if a is None else a for a, b in zip(spec.shape, expected, strict=True))


def sizes_from(
    arg: str,
    spec: Spec,
    lengths: Sequence[int],
    hint: str = "Pass the whole shape, as x.shape gives it.",
) -> tuple[Size, ...]:
    """The shape that a vector of sizes spells out, or unknown sizes if it has no value yet."""
    length = by_axis(arg, spec)
    if length is not None and length not in lengths:
        wanted = " or ".join(map(str, lengths))
        raise OpError(f"must have {wanted} entries", arg=arg, got=length, hint=hint)
    if spec.value is None:
        return (None,) * (lengths[0] if length is None else length)
    sizes = tuple(spec.value.tolist())
    if min(sizes, default=0) < 0:
        hint = "Write every size out, or take it from x.shape."
        raise OpError("sizes must not be negative", arg=arg, got=sizes, hint=hint)
    return sizes


def as_vector(spec: Spec) -> Spec:
    """A scalar as a vector of one entry, which it stands for in some arguments; others as they are."""
    if spec.shape != ():
        return spec
    known = None if spec.known is None else spec.known.reshape(1)
    return Spec((1,), spec.dtype, known, spec.looked)


def scalar_value(arg: str, spec: Spec, rank: int = 0) -> Any:
    """The one number in a tensor that must be a scalar, or None if it is not known yet.

    Some arguments may also be a tensor with one entry, of at most this rank.
    """
    sizes = spec.shape or ()
    if len(sizes) > rank or any(n not in (1, None) for n in sizes):
        raise OpError(
            "must have one entry" if rank else "must be a scalar",
            arg=arg,
            got=described(f"shape {shape_text(spec.shape)}"),
            hint="Pass a plain number, or one entry of the array: x[0].",
        )
    return None if spec.value is None else spec.value.item()


COUNT_AXES = "Count axes from 0 at the front, or from -1 at the end."


def check_rows(arg: str, indices: Spec, rows: Size, hint: str) -> None:
    """Refuses indices that are known and name no row."""
    at = indices.value
    if rows is not None and at is not None and at.size and not (0 <= at.min() <= at.max() < rows):
        raise OpError(f"every entry must lie in [0, {rows})", arg=arg, got=at, hint=hint)


def check_axis(arg: str, axis: int, rank: int) -> None:
    """Refuses an axis that a tensor of this rank does not have."""
    if not -rank <= axis < rank:
        raise OpError(f"must lie in [{-rank}, {rank})", arg=arg, got=axis, hint=COUNT_AXES)


def broadcast(arg: str, a: Shape, b: Shape) -> Shape:
    """The shape two tensors have together under NumPy's broadcasting."""
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    out: list[Size] = []
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    for axis, (m, n) in enumerate(pairs, len(b) - rank):
        if m is not None and n is not None and m != n and 1 not in (m, n):
            raise OpError(
                f"must broadcast with {shape_text(a)}",
                arg=arg,
                axis=axis,
                got=described(shape_text(b)),
                hint="Make each pair of sizes equal or one of them 1, counted from the last.",
                fixes=_fixes_of_broadcast(arg, a, b),
            )
        if m == 1:
            out.append(n)
        elif n == 1 or n is None:
            out.append(m)
        else:
            out.append(n)
    return tuple(out)


def _fixes_of_broadcast(arg: str, a: tuple[Size, ...], b: tuple[Size, ...]) -> list[Fix]:
    rank = len(b)
    turned = [*range(rank - 2), rank - 1, rank - 2] if rank > 1 else []
    transpose = [insert(arg, "Transpose", perm=turned)] if turned else []
    # A vector that has one entry for each row.
    column = [insert(arg, "ExpandDims", axis=-1)] if rank == 1 else []
    return [*transpose, *column, *fixes_of_shape(arg, b, a)]


def known_value(x: Any) -> np.ndarray[Any, Any] | None:
    """The value of an array, or of a symbol that is a constant; None of any other symbol."""
    return x if isinstance(x, np.ndarray) else np.asarray(x) if not hasattr(x, "value") else x.value
