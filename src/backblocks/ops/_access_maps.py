"""Access maps: which cells of an op's tensors belong together, and how an output is computed from them.

An access map is a loop nest with an access to each tensor: at every point of the loops a cell, whose index
along each axis is affine in the loops or read from another tensor. A point that accesses a cell outside of
its tensor does not count. One declaration serves all directions: a convolution and both of its gradients are
the same loops with other names.

    input[n, 2h - 1 + kh, ci]   filter[kh, ci, co]   output[n, h, co]      each output is the sum of products

The rule says what an output cell is, from the points that lead to it and the tensors in `of`:

sum       the products of `of` and of `factors` added up; nothing adds up to 0
added     all of `of` added up
mean      the same as sum, divided by how many points there are
shares    of[0] added up, each first divided by how many points its own cell has in all
product   of[0] multiplied
max, min  the largest or smallest, and of equals the first in the order of the loops; NaN is both. Of
          several tensors their sum counts.
argmax    where the largest is, which may be NaN, counted along the axes `counts` of of[0]
largest at, smallest at
          the same, but NaN is passed over
winners   of[0] added up over those of its cells whose first maximum (of of[1], or the sum of all behind
          of[0]) has of[1] at the output's own cell
winner's  of[0] where of[1] is largest
close     of[0] added up where of[1] is within 1e-5 of of[2]; of whole numbers, where it is equal
copy      of[0]
apply     what the op makes of these cells

Where several access maps lead to a cell their values are added up. Tensors beside `of`, the ranges of `codes`
and the output are accessed too, so that they are shown, but no result depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Cell = tuple[int, ...]
Sizes = tuple[int, ...]
Values = Mapping[str, np.ndarray[Any, Any]]
"""The values of tensors, by pin."""


@dataclass(frozen=True, slots=True)
class Coordinate:
    """The index of a cell along one axis: affine in the loops, plus what is read from another tensor, if any.

    `held_by` is a pin or a table of the access map, which is looked at in its cell `held_at`.
    """

    offset: int = 0
    steps: Mapping[str, int] = field(default_factory=dict)
    held_by: str = ""
    held_at: tuple[Coordinate, ...] = ()

    def __add__(self, other: Coordinate | int) -> Coordinate:
        if isinstance(other, int):
            return Coordinate(self.offset + other, self.steps, self.held_by, self.held_at)
        steps = {
            name: self.steps.get(name, 0) + other.steps.get(name, 0)
            for name in (*self.steps, *other.steps)
        }
        return Coordinate(
            self.offset + other.offset,
            steps,
            self.held_by or other.held_by,
            self.held_at or other.held_at,
        )

    def __sub__(self, other: int) -> Coordinate:
        return self + -other

    def __mul__(self, factor: int) -> Coordinate:
        return Coordinate(
            self.offset * factor, {name: step * factor for name, step in self.steps.items()}
        )


def loop(name: str) -> Coordinate:
    """The coordinate that runs with a loop."""
    return Coordinate(steps={name: 1})


def held(by: str, *at: Coordinate) -> Coordinate:
    """The coordinate that another tensor, or a table, holds."""
    return Coordinate(held_by=by, held_at=at)


@dataclass(frozen=True, slots=True)
class Cells:
    """The access to one tensor: its cell at each point of the loops."""

    at: tuple[Coordinate, ...]
    shape: Sizes | None = None
    """The sizes it is looked at with, in the same row-major order, if they are not its own."""
    axes: str = ""
    """The letters of its axes, such as NDHWC."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Numbers that no tensor holds and that products have as a factor: which one, a coordinate says."""

    numbers: tuple[float, ...]
    at: Coordinate = Coordinate()


@dataclass(frozen=True, slots=True)
class AccessMap:
    """A loop nest, its access to each tensor, and the rule by which an output is computed."""

    rule: str
    of: tuple[str, ...]
    loops: Mapping[str, int]
    cells: Mapping[str, Cells]
    """By pin; "values[1]" of a list."""
    tables: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Numbers that coordinates are held by, where no tensor has them."""
    inside: tuple[Cells, ...] = ()
    """Further cells, of no tensor, that must lie inside of their sizes for a point to be one."""
    factors: tuple[Factor, ...] = ()
    """Constant factors of each product of a sum."""
    codes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Pins that hold codes of numbers, with those of the low and the high end of their range. A sum is
    one of numbers; all other rules go by the codes."""
    counts: tuple[int, ...] = ()
    """The axes of of[0] along which its places are counted, in row-major order, where they are the result."""
    cut: bool = False
    """Whether the result is truncated toward zero."""


def over(sizes: Sequence[int]) -> tuple[dict[str, int], tuple[Coordinate, ...]]:
    """Loops over axes of these sizes, and the coordinates that run with them."""
    names = ("ijklmnpq"[axis] if axis < 8 else f"i{axis}" for axis in range(len(sizes)))
    loops = dict(zip(names, sizes, strict=True))
    return loops, tuple(map(loop, loops))


def in_row_major_order(rule: str, x: str, y: str, count: int) -> list[AccessMap]:
    """The cells of two tensors one after another, whatever their shapes."""
    cells = Cells((loop("i"),), (count,))
    return [AccessMap(rule, (x,), {"i": count}, {x: cells, y: cells})]


def slice_by_slice(
    x: str, y: str, rows: Sequence[int], among: int, rest: Sequence[int]
) -> list[AccessMap]:
    """Row i of `y` is row rows[i] of `x`, which has so many, or of no tensor where that is -1."""
    loops, at = over((len(rows), *rest))
    cells = {
        x: Cells((held("rows", at[0]), *at[1:]), (among, *rest)),
        y: Cells(at, (len(rows), *rest)),
    }
    return [AccessMap("copy", (x,), loops, cells, {"rows": tuple(map(int, rows))})]


MINUS = (Factor((-1.0,)),)
"""The factor of what is subtracted."""


def no_cells(y: Any, *inputs: Any, **attrs: Any) -> list[AccessMap]:
    """The rule of ops whose outputs rest on nothing that a cell holds."""
    return []


def pin_names(pin: str, value: Any) -> list[str]:
    """The name of a pin; of a list, one for each of its tensors."""
    if isinstance(value, tuple):
        return [f"{pin}[{place}]" for place in range(len(value))]
    return [] if value is None else [pin]
