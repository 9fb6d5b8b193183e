"""The evaluator of access maps: the loop points that access a cell, and what an output holds by the rules.

It is the reference that the browser's evaluator (`web/src/model/loop-nest.ts`) is compared with.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backblocks.dtypes import DType
from backblocks.ops._access_maps import AccessMap, Cell, Cells, Coordinate, Sizes, Values


@dataclass(frozen=True, slots=True)
class Point:
    """The cells that one loop point accesses, each in its tensor's own sizes."""

    cells: Mapping[str, Cell]
    holders: tuple[tuple[str, Cell], ...] = ()
    """The cells whose numbers are coordinates of others."""
    weight: float = 1
    """The product of all factors."""

    def every_cell(self) -> Iterator[tuple[str, Cell]]:
        yield from self.cells.items()
        yield from self.holders


def linked(
    maps: Sequence[AccessMap],
    shapes: Mapping[str, Sizes],
    pin: str,
    cell: Cell,
    values: Values | None = None,
) -> dict[str, list[Cell]]:
    """The cells of all other pins that belong to this one, in the order of the loops."""
    found: dict[str, dict[Cell, None]] = {}
    for access in maps:
        for point in points(access, shapes, pin, cell, values):
            for name, other in point.every_cell():
                if name != pin:
                    found.setdefault(name, {})[other] = None
    return {name: list(cells) for name, cells in found.items()}


def value(
    maps: Sequence[AccessMap], shapes: Mapping[str, Sizes], pin: str, cell: Cell, values: Values
) -> Any:
    """What an output holds at a cell, by the rule; None if only the op itself can tell."""
    found = [
        (access, list(points(access, shapes, pin, cell, values)))
        for access in maps
        if pin in access.cells
    ]
    some = [(access, each) for access, each in found if each] or found[:1]
    results = []
    with np.errstate(all="ignore"):
        for access, each in some:
            result = _RULES[access.rule](_OutputCell(access, shapes, pin, each, values))
            results.append(_cut(result) if access.cut and result is not None else result)
    return None if not results or None in results else sum(results[1:], results[0])


def points(
    access: AccessMap,
    shapes: Mapping[str, Sizes],
    pin: str,
    cell: Cell,
    values: Values | None = None,
) -> Iterator[Point]:
    """The points of an access map that a cell belongs to, in the order of the loops."""
    wanted = set()
    for coordinates, sizes in _places(access, shapes, pin):
        target = _seen_with(cell, shapes[pin], sizes)
        equations = [(at, to) for at, to in zip(coordinates, target, strict=True) if not at.held_by]
        wanted |= {
            tuple(each[name] for name in access.loops) for each in _solve(access.loops, equations)
        }
    for numbers in sorted(wanted):
        point = _point(access, shapes, dict(zip(access.loops, numbers, strict=True)), values or {})
        if point is not None and (pin, cell) in point.every_cell():
            yield point


def every_point(
    access: AccessMap, shapes: Mapping[str, Sizes], values: Values | None = None
) -> Iterator[Point]:
    """All points of an access map, in the order of the loops."""
    for numbers in itertools.product(*map(range, access.loops.values())):
        point = _point(access, shapes, dict(zip(access.loops, numbers, strict=True)), values or {})
        if point is not None:
            yield point


def _places(
    access: AccessMap, shapes: Mapping[str, Sizes], pin: str
) -> Iterator[tuple[tuple[Coordinate, ...], Sizes]]:
    """Where in an access map a pin's cell stands: its own cell, or that of a coordinate which it holds."""
    if pin in access.cells:
        yield access.cells[pin].at, _sizes(access.cells[pin], shapes[pin])
    for cells in access.cells.values():
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
    access: AccessMap, shapes: Mapping[str, Sizes], numbers: Mapping[str, int], values: Values
) -> Point | None:
    cells: dict[str, Cell] = {}
    holders: list[tuple[str, Cell]] = []
    for pin, each in (*access.cells.items(), *((None, each) for each in access.inside)):
        sizes = _sizes(each, shapes[pin] if pin else ())
        place = []
        for at in each.at:
            number = _stands_at(at, numbers)
            if at.held_by:
                holder = tuple(_stands_at(inner, numbers) for inner in at.held_at)
                table: Any = access.tables.get(at.held_by)
                table = values[at.held_by] if table is None else np.asarray(table)
                if not _inside(holder, table.shape):
                    return None
                number += int(table[holder])
                if at.held_by not in access.tables:
                    holders.append((at.held_by, holder))
            place.append(number)
        if not _inside(place, sizes):
            return None
        if pin is not None:
            cells[pin] = _seen_with(tuple(place), sizes, shapes[pin])
    weight = math.prod(each.numbers[_stands_at(each.at, numbers)] for each in access.factors)
    return Point(cells, tuple(holders), weight)


def _stands_at(at: Coordinate, numbers: Mapping[str, int]) -> int:
    return at.offset + sum(step * numbers[name] for name, step in at.steps.items())


def _inside(cell: Sequence[int], sizes: Sizes) -> bool:
    return all(0 <= place < size for place, size in zip(cell, sizes, strict=True))


# -- the rules ---------------------------------------------------------------------------------

_CLOSE = 1e-5


@dataclass(frozen=True, slots=True)
class _OutputCell:
    """An output cell, and the points that lead to it."""

    access: AccessMap
    shapes: Mapping[str, Sizes]
    pin: str
    points: list[Point]
    values: Values

    def read(self, point: Point, pin: str) -> Any:
        return self.values[pin][point.cells[pin]]

    def numbers(self, pin: str) -> list[Any]:
        return [self.read(point, pin).item() for point in self.points]

    def meant(self, pin: str) -> list[Any]:
        """What the pin holds, or what its codes stand for."""
        if pin not in self.access.codes:
            return self.numbers(pin)
        low, high = (float(self.values[end]) for end in self.access.codes[pin])
        return [meant(code, self.values[pin].dtype, low, high) for code in self.numbers(pin)]


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


def _sum(output: _OutputCell) -> Any:
    factors = [output.meant(pin) for pin in output.access.of]
    weights = [point.weight for point in output.points]
    return sum(map(math.prod, zip(weights, *factors, strict=True)))


def _mean(output: _OutputCell) -> Any:
    factors = [output.numbers(pin) for pin in output.access.of]
    return sum(map(math.prod, zip(*factors, strict=True))) / max(1, len(output.points))


def _shares(output: _OutputCell) -> Any:
    given = output.access.of[0]
    counts = [
        sum(
            1 for _ in points(output.access, output.shapes, given, each.cells[given], output.values)
        )
        for each in output.points
    ]
    return sum(a / n for a, n in zip(output.numbers(given), counts, strict=True))


def _place(output: _OutputCell, sign: int, nan: float) -> Any:
    """Where the largest or smallest is, of nothing 0; NaN counts as the given number."""
    pin = output.access.of[0]
    if not output.points:
        return 0
    cell = _winner(output, output.points, [pin], sign, nan).cells[pin]
    number = 0
    for axis in output.access.counts:
        number = number * output.shapes[pin][axis] + cell[axis]
    return number


def _winner(
    output: _OutputCell,
    candidates: list[Point],
    pins: Sequence[str],
    sign: int = 1,
    nan: float = math.nan,
) -> Point:
    """The first of the points where the pins' sum is NaN, or else largest; NaN may count as a number."""
    best, top = candidates[0], None
    for point in candidates:
        new = sum((output.read(point, pin) for pin in pins[1:]), output.read(point, pins[0]))
        new = nan if new != new else new
        if top is None or (top == top and (new != new or (new > top if sign > 0 else new < top))):
            best, top = point, new
    return best


def _extreme(output: _OutputCell, sign: int) -> Any:
    if not output.points:
        return _beyond(output.values[output.access.of[0]].dtype, sign)
    best = _winner(output, output.points, output.access.of, sign)
    first, *others = (output.read(best, pin) for pin in output.access.of)
    return sum(others, first).item()


def _beyond(dtype: DType, sign: int) -> Any:
    """The largest or smallest of nothing."""
    if dtype == np.bool:
        return sign < 0
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if sign > 0 else np.iinfo(dtype).max
    return -sign * math.inf


def _winners(output: _OutputCell) -> Any:
    given, own, *others = output.access.of
    windows: dict[Cell, list[Point]] = {}
    for point in output.points:
        windows.setdefault(point.cells[given], []).append(point)
    best = (_winner(output, each, [own, *others]) for each in windows.values())
    return sum(output.read(each, given).item() for each in best if _is_own(each, own, output.pin))


def _is_own(point: Point, pin: str, output: str) -> bool:
    return point.cells[pin] == point.cells[output]


def _winner_s(output: _OutputCell) -> Any:
    if not output.points:
        return 0
    given, *others = output.access.of
    return output.read(_winner(output, output.points, others), given).item()


def _close(output: _OutputCell) -> Any:
    given, one, other = (output.numbers(pin) for pin in output.access.of)
    return sum(
        a
        for a, x, y in zip(given, one, other, strict=True)
        if (abs(x - y) < _CLOSE if isinstance(x, float) else x == y)
    )


_RULES: dict[str, Callable[[_OutputCell], Any]] = {
    "sum": _sum,
    "added": lambda output: sum(sum(output.numbers(pin)) for pin in output.access.of),
    "mean": _mean,
    "shares": _shares,
    "product": lambda output: math.prod(output.numbers(output.access.of[0])),
    "max": lambda output: _extreme(output, 1),
    "min": lambda output: _extreme(output, -1),
    "winners": _winners,
    "winner's": _winner_s,
    "close": _close,
    "copy": lambda output: (output.numbers(output.access.of[0]) or [0])[0],
    "argmax": lambda output: _place(output, 1, math.nan),
    "largest at": lambda output: _place(output, 1, -math.inf),
    "smallest at": lambda output: _place(output, -1, math.inf),
    "apply": lambda output: None,
}
