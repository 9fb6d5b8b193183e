"""The points of declared Ways that a cell belongs to, and what an output holds by their rules.

The truth that the browser's own evaluator (`web/src/model/loop-nest.ts`) is compared with.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backblocks.dtypes import DType
from backblocks.ops._cells import Cell, Cells, Coordinate, Held, Sizes, Way


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


def _place(asked: _Asked, sign: int, nan: float) -> Any:
    """Where the largest or smallest is, of nothing 0; NaN counts as the given number."""
    pin = asked.way.of[0]
    if not asked.points:
        return 0
    cell = _winner(asked, asked.points, [pin], sign, nan).cells[pin]
    number = 0
    for axis in asked.way.counts:
        number = number * asked.shapes[pin][axis] + cell[axis]
    return number


def _winner(
    asked: _Asked,
    candidates: list[Point],
    pins: Sequence[str],
    sign: int = 1,
    nan: float = math.nan,
) -> Point:
    """The first of the points where the pins' sum is NaN, or else largest; NaN may count as a number."""
    best, top = candidates[0], None
    for point in candidates:
        new = sum((asked.read(point, pin) for pin in pins[1:]), asked.read(point, pins[0]))
        new = nan if new != new else new
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
    "argmax": lambda asked: _place(asked, 1, math.nan),
    "largest at": lambda asked: _place(asked, 1, -math.inf),
    "smallest at": lambda asked: _place(asked, -1, math.inf),
    "apply": lambda asked: None,
}
