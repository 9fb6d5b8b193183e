"""Which cells of an op's tensors belong together, declared as loops, and how an output comes from them.

A Way is a loop nest. At each point of it every tensor has one cell, given for each axis as an offset and
steps along the loops; a point where a cell lies outside of its tensor is none. So one declaration serves
all directions: a convolution and both its gradients are the same loops with other names.

    input[n, 2h - 1 + kh, ci]   filter[kh, ci, co]   output[n, h, co]      each output is the sum of products

The rule says what an output cell is, from the points that lead to it and the tensors in `of`:

sum       the products of `of` and of `factors` added up; nothing adds up to 0
added     all of `of` added up
mean      the same as sum, divided by how many points there are
shares    of[0] added up, each first divided by how many points its own cell has in all
product   of[0] multiplied
max, min  the largest or smallest, and of equals the first in the order of the loops; NaN is both. Of
          several tensors their sum counts.
argmax    where the largest is
winners   of[0] added up over those of its cells whose first maximum (of of[1], or the sum of all behind
          of[0]) has of[1] at the output's own cell
winner's  of[0] where of[1] is largest
close     of[0] added up where of[1] is within 1e-5 of of[2]; of whole numbers, where it is equal
copy      of[0]
apply     what the op makes of these cells

Where several Ways lead to a cell their values are added up. Tensors that a Way has beside `of`, the ranges
of `codes` and its output belong to the picture, but nothing depends on them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from backblocks.dtypes import DType

Cell = tuple[int, ...]
Sizes = tuple[int, ...]
Held = Mapping[str, np.ndarray[Any, Any]]
"""What tensors hold, by pin."""


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One coordinate of a cell: an offset, steps along loops, and what another tensor holds, if any.

    `held_by` is a pin or a table of the Way, which is looked at in its cell `held_at`.
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
    """The cell of a tensor at each point."""

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
class Way:
    """Loops, the cell of each tensor at each of their points, and the rule by which an output follows."""

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
    """Of each product of a sum."""
    codes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Pins that hold codes of numbers, with those of the low and the high end of their range. A sum is
    one of numbers; all other rules go by the codes."""
    cut: bool = False
    """Whether what it comes to is cut to a whole number, toward zero."""


def over(sizes: Sequence[int]) -> tuple[dict[str, int], tuple[Coordinate, ...]]:
    """Loops over axes of these sizes, and the coordinates that run with them."""
    names = ("ijklmnpq"[axis] if axis < 8 else f"i{axis}" for axis in range(len(sizes)))
    loops = dict(zip(names, sizes, strict=True))
    return loops, tuple(map(loop, loops))


def in_row_major_order(rule: str, x: str, y: str, count: int) -> list[Way]:
    """The cells of two tensors one after another, whatever their shapes."""
    cells = Cells((loop("i"),), (count,))
    return [Way(rule, (x,), {"i": count}, {x: cells, y: cells})]


def no_cells(y: Any, *inputs: Any, **attrs: Any) -> list[Way]:
    """The rule of ops whose outputs rest on nothing that a cell holds."""
    return []


def pin_names(pin: str, value: Any) -> list[str]:
    """The name of a pin; of a list, one for each of its tensors."""
    if isinstance(value, tuple):
        return [f"{pin}[{place}]" for place in range(len(value))]
    return [] if value is None else [pin]


# -- evaluating --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Point:
    """The cells that belong together at one point of the loops, each in its tensor's own sizes."""

    cells: Mapping[str, Cell]
    holders: tuple[tuple[str, Cell], ...] = ()
    """The cells whose numbers are coordinates of others."""
    weight: float = 1
    """The product of all factors."""

    def every_cell(self) -> Iterator[tuple[str, Cell]]:
        yield from self.cells.items()
        yield from self.holders


def linked(
    ways: Sequence[Way],
    shapes: Mapping[str, Sizes],
    pin: str,
    cell: Cell,
    held: Held | None = None,
) -> dict[str, list[Cell]]:
    """The cells of all other pins that belong to this one, in the order of the loops."""
    found: dict[str, dict[Cell, None]] = {}
    for way in ways:
        for point in points(way, shapes, pin, cell, held):
            for name, other in point.every_cell():
                if name != pin:
                    found.setdefault(name, {})[other] = None
    return {name: list(cells) for name, cells in found.items()}


def value(
    ways: Sequence[Way], shapes: Mapping[str, Sizes], pin: str, cell: Cell, held: Held
) -> Any:
    """What an output holds at a cell, by the rule; None if only the op itself can tell."""
    found = [(way, list(points(way, shapes, pin, cell, held))) for way in ways if pin in way.cells]
    some = [(way, each) for way, each in found if each] or found[:1]
    with np.errstate(all="ignore"):
        values = [_RULES[way.rule](_Asked(way, shapes, pin, each, held)) for way, each in some]
    values = [
        _cut(each) if way.cut and each is not None else each
        for (way, _), each in zip(some, values, strict=True)
    ]
    return None if not values or None in values else sum(values[1:], values[0])


def points(
    way: Way, shapes: Mapping[str, Sizes], pin: str, cell: Cell, held: Held | None = None
) -> Iterator[Point]:
    """The points of a Way that a cell belongs to, in the order of the loops."""
    wanted = set()
    for coordinates, sizes in _places(way, shapes, pin):
        target = _seen_with(cell, shapes[pin], sizes)
        equations = [(at, to) for at, to in zip(coordinates, target, strict=True) if not at.held_by]
        wanted |= {tuple(each[name] for name in way.loops) for each in _solve(way.loops, equations)}
    for numbers in sorted(wanted):
        point = _point(way, shapes, dict(zip(way.loops, numbers, strict=True)), held or {})
        if point is not None and (pin, cell) in point.every_cell():
            yield point


def every_point(way: Way, shapes: Mapping[str, Sizes], held: Held | None = None) -> Iterator[Point]:
    """All points of a Way, in the order of the loops."""
    for numbers in itertools.product(*map(range, way.loops.values())):
        point = _point(way, shapes, dict(zip(way.loops, numbers, strict=True)), held or {})
        if point is not None:
            yield point


def _places(
    way: Way, shapes: Mapping[str, Sizes], pin: str
) -> Iterator[tuple[tuple[Coordinate, ...], Sizes]]:
    """Where in a Way a pin's cell stands: its own cell, or that of a coordinate which it holds."""
    if pin in way.cells:
        yield way.cells[pin].at, _sizes(way.cells[pin], shapes[pin])
    for cells in way.cells.values():
        for at in cells.at:
            if at.held_by == pin:
                yield at.held_at, shapes[pin]


def _sizes(cells: Cells, own: Sizes) -> Sizes:
    return own if cells.shape is None else cells.shape


def _seen_with(cell: Cell, sizes: Sizes, others: Sizes) -> Cell:
    """The same cell of a tensor that is looked at with other sizes."""
    if sizes == others:
        return cell
    number = 0
    for place, size in zip(cell, sizes, strict=True):
        number = number * size + place
    seen = []
    for size in reversed(others):
        number, place = divmod(number, size)
        seen.append(place)
    return tuple(reversed(seen))


def _solve(
    loops: Mapping[str, int], equations: Sequence[tuple[Coordinate, int]]
) -> Iterator[dict[str, int]]:
    """All points of the loops where each coordinate is what it is to be."""
    if not equations:
        for numbers in itertools.product(*map(range, loops.values())):
            yield dict(zip(loops, numbers, strict=True))
        return
    (at, target), *rest = sorted(equations, key=lambda each: len(each[0].steps))
    if not at.steps:
        yield from _solve(loops, rest) if at.offset == target else ()
        return
    name = min(at.steps, key=lambda each: loops[each])
    others = {each: size for each, size in loops.items() if each != name}
    for number in _candidates(at, target, name, loops[name]):
        left = [(_with(each, name, number), to) for each, to in equations]
        for solution in _solve(others, left):
            yield {**solution, name: number}


def _candidates(at: Coordinate, target: int, name: str, size: int) -> Sequence[int]:
    if len(at.steps) > 1 or not at.steps[name]:
        return range(size)
    number, odd = divmod(target - at.offset, at.steps[name])
    return [] if odd or not 0 <= number < size else [number]


def _with(at: Coordinate, name: str, number: int) -> Coordinate:
    """The coordinate with one loop standing at a number."""
    if name not in at.steps:
        return at
    steps = {each: step for each, step in at.steps.items() if each != name}
    return Coordinate(at.offset + at.steps[name] * number, steps)


def _point(
    way: Way, shapes: Mapping[str, Sizes], numbers: Mapping[str, int], held: Held
) -> Point | None:
    cells: dict[str, Cell] = {}
    holders: list[tuple[str, Cell]] = []
    for pin, each in (*way.cells.items(), *((None, each) for each in way.inside)):
        sizes = _sizes(each, shapes[pin] if pin else ())
        place = []
        for at in each.at:
            number = _stands_at(at, numbers)
            if at.held_by:
                holder = tuple(_stands_at(inner, numbers) for inner in at.held_at)
                table: Any = way.tables.get(at.held_by)
                table = held[at.held_by] if table is None else np.asarray(table)
                if not _inside(holder, table.shape):
                    return None
                number += int(table[holder])
                if at.held_by not in way.tables:
                    holders.append((at.held_by, holder))
            place.append(number)
        if not _inside(place, sizes):
            return None
        if pin is not None:
            cells[pin] = _seen_with(tuple(place), sizes, shapes[pin])
    weight = math.prod(each.numbers[_stands_at(each.at, numbers)] for each in way.factors)
    return Point(cells, tuple(holders), weight)


def _stands_at(at: Coordinate, numbers: Mapping[str, int]) -> int:
    return at.offset + sum(step * numbers[name] for name, step in at.steps.items())


def _inside(cell: Sequence[int], sizes: Sizes) -> bool:
    return all(0 <= place < size for place, size in zip(cell, sizes, strict=True))


# -- the rules ---------------------------------------------------------------------------------

_CLOSE = 1e-5


@dataclass(frozen=True, slots=True)
class _Asked:
    """An output cell, and the points that lead to it."""

    way: Way
    shapes: Mapping[str, Sizes]
    pin: str
    points: list[Point]
    held: Held

    def read(self, point: Point, pin: str) -> Any:
        return self.held[pin][point.cells[pin]]

    def numbers(self, pin: str) -> list[Any]:
        return [self.read(point, pin).item() for point in self.points]

    def meant(self, pin: str) -> list[Any]:
        """What the pin holds, or what its codes stand for."""
        if pin not in self.way.codes:
            return self.numbers(pin)
        low, high = (float(self.held[end]) for end in self.way.codes[pin])
        return [meant(code, self.held[pin].dtype, low, high) for code in self.numbers(pin)]


def _cut(number: float) -> int:
    """Toward zero; a sum that is whole but for rounding stays whole."""
    return round(number) if abs(number - round(number)) < 1e-9 else math.trunc(number)


def meant(code: int, dtype: DType, low: float, high: float) -> float:
    """The number that a code stands for, counted from the code of 0 as the quantized ops do."""
    lowest, highest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    width, count = float(np.float32(high) - np.float32(low)), highest - lowest + 1
    if not width:
        return 0.0
    if count == 2**32 and low == -high:  # as sums have it: 0 is 0
        return int(code) * width / (count - 1)
    start = low * (count / (width * (count / (count - 1.0))))
    whole = math.trunc(start)
    return (whole + math.trunc(2 * (start - whole)) + int(code) - lowest) * width / (count - 1)


def _sum(asked: _Asked) -> Any:
    factors = [asked.meant(pin) for pin in asked.way.of]
    weights = [point.weight for point in asked.points]
    return sum(map(math.prod, zip(weights, *factors, strict=True)))


def _mean(asked: _Asked) -> Any:
    factors = [asked.numbers(pin) for pin in asked.way.of]
    return sum(map(math.prod, zip(*factors, strict=True))) / max(1, len(asked.points))


def _shares(asked: _Asked) -> Any:
    given = asked.way.of[0]
    counts = [
        sum(1 for _ in points(asked.way, asked.shapes, given, each.cells[given], asked.held))
        for each in asked.points
    ]
    return sum(a / n for a, n in zip(asked.numbers(given), counts, strict=True))


def _winner(asked: _Asked, candidates: list[Point], pins: Sequence[str], sign: int = 1) -> Point:
    """The first of the points where the pins' sum is NaN, or else largest."""
    best, top = candidates[0], None
    for point in candidates:
        new = sum((asked.read(point, pin) for pin in pins[1:]), asked.read(point, pins[0]))
        if top is None or (top == top and (new != new or (new > top if sign > 0 else new < top))):
            best, top = point, new
    return best


def _extreme(asked: _Asked, sign: int) -> Any:
    if not asked.points:
        return _beyond(asked.held[asked.way.of[0]].dtype, sign)
    best = _winner(asked, asked.points, asked.way.of, sign)
    first, *others = (asked.read(best, pin) for pin in asked.way.of)
    return sum(others, first).item()


def _beyond(dtype: DType, sign: int) -> Any:
    """The largest or smallest of nothing."""
    if dtype == np.bool:
        return sign < 0
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if sign > 0 else np.iinfo(dtype).max
    return -sign * math.inf


def _winners(asked: _Asked) -> Any:
    given, own, *others = asked.way.of
    windows: dict[Cell, list[Point]] = {}
    for point in asked.points:
        windows.setdefault(point.cells[given], []).append(point)
    best = (_winner(asked, each, [own, *others]) for each in windows.values())
    return sum(asked.read(each, given).item() for each in best if _is_own(each, own, asked.pin))


def _is_own(point: Point, pin: str, output: str) -> bool:
    return point.cells[pin] == point.cells[output]


def _winner_s(asked: _Asked) -> Any:
    if not asked.points:
        return 0
    given, *others = asked.way.of
    return asked.read(_winner(asked, asked.points, others), given).item()


def _close(asked: _Asked) -> Any:
    given, one, other = (asked.numbers(pin) for pin in asked.way.of)
    return sum(
        a
        for a, x, y in zip(given, one, other, strict=True)
        if (abs(x - y) < _CLOSE if isinstance(x, float) else x == y)
    )


_RULES: dict[str, Callable[[_Asked], Any]] = {
    "sum": _sum,
    "added": lambda asked: sum(sum(asked.numbers(pin)) for pin in asked.way.of),
    "mean": _mean,
    "shares": _shares,
    "product": lambda asked: math.prod(asked.numbers(asked.way.of[0])),
    "max": lambda asked: _extreme(asked, 1),
    "min": lambda asked: _extreme(asked, -1),
    "winners": _winners,
    "winner's": _winner_s,
    "close": _close,
    "copy": lambda asked: (asked.numbers(asked.way.of[0]) or [0])[0],
    "argmax": lambda asked: None,
    "apply": lambda asked: None,
}
