"""Symbolic shapes: names for sizes that are unknown before a run, such as that of a batch.

The build of a page knows such a size only as unknown. So the page is built once more with a distinct prime in
place of each unknown size of its placeholders: where the same number comes out, the sizes are the same. Sizes
that a block requires to be equal are made equal, and get one name.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, count
from typing import Any

from backblocks.errors import OpError, OpMemoryError
from backblocks.pages.build import BuildResult, build
from backblocks.pages.builder import PageGraph
from backblocks.pages.model import PageBlock
from backblocks.pages.page import Page

_FIRST = (10_007, 211, 61)
"""Where primes begin. Large ones are seldom met by accident; small ones fit where many sizes are open."""
_LETTERS = "NMKLPQRSTUVW"
_TIME_LIMIT = 0.1
"""Seconds after which no more sizes are tried to be equal."""

Shapes = dict[str, list[int | str] | None]


def symbolic_shapes(page: Page, built: BuildResult) -> Shapes:
    """The shape of each output, with names for unknown sizes; None if the rank is unknown."""
    numbers: dict[int, str] = {}
    others = count(1)
    probe: dict[str, Any] = {}
    if any(None in (symbol.shape or ()) for symbol in built.graph.wires.values()):
        given, graph = _probe(page, built)
        probe = {wire: symbol.shape for wire, symbol in graph.wires.items()}
        numbers = dict(zip(dict.fromkeys(given), _letters(), strict=False))
    shapes: Shapes = {}
    own: dict[tuple[int, int], str] = {}
    for wire, symbol in built.graph.wires.items():
        if symbol.shape is None:
            shapes[wire] = None
            continue
        found = probe.get(wire) or symbol.shape
        sizes: list[int | str] = []
        for axis, (size, number) in enumerate(zip(symbol.shape, found, strict=True)):
            if size is not None:
                sizes.append(size)
            elif number is not None:
                sizes.append(numbers.get(number) or numbers.setdefault(number, f"?{next(others)}"))
            else:
                sizes.append(
                    own.get((id(symbol), axis))
                    or own.setdefault((id(symbol), axis), f"?{next(others)}")
                )
        shapes[wire] = sizes
    return shapes


def _letters() -> Iterator[str]:
    for round_ in count():
        for letter in _LETTERS:
            yield f"{letter}{round_ or ''}"


def _probe(page: Page, built: BuildResult) -> tuple[list[int], PageGraph]:
    """The numbers that stand for unknown sizes of placeholders, and the graph that they give."""
    begun = time.perf_counter()
    firsts = iter(_FIRST)
    given = before = _probe_sizes(page, next(firsts))
    wrong = {block for block, _ in built.problems}
    at, pairs = "", []
    while True:
        found = build(_with_sizes(page, given))
        new = [each for each in found.problems if each[0] and each[0] not in wrong]
        if not new or time.perf_counter() - begun > _TIME_LIMIT:
            return list(given.values()), found.graph
        block, error = new[0]
        if isinstance(error, OpMemoryError) and (first := next(firsts, 0)):
            given = before = _probe_sizes(page, first)
            continue
        if block != at:
            at, before = block, given
            pairs = _candidate_pairs(page.blocks[block], error, found.graph, {*given.values()})
        given = before
        if pairs:
            one, other = pairs.pop(0)
            given = {place: one if n == other else n for place, n in before.items()}
        else:
            wrong.add(block)  # it is not that two sizes must be equal


def _with_sizes(page: Page, given: dict[tuple[str, int], int]) -> Page:
    sizes: dict[str, list[int]] = {}
    for (name, axis), number in given.items():
        sizes.setdefault(name, list(page.blocks[name].attrs["shape"]))[axis] = number
    return replace(
        page,
        blocks=page.blocks
        | {
            name: replace(page.blocks[name], attrs=page.blocks[name].attrs | {"shape": shape})
            for name, shape in sizes.items()
        },
    )


def _probe_sizes(page: Page, first: int) -> dict[tuple[str, int], int]:
    """A prime for each unknown size of placeholders, by block and axis."""
    primes = _primes(first)
    return {
        (name, axis): next(primes)
        for name, block in page.blocks.items()
        if _has_unknown(block)
        for axis, size in enumerate(block.attrs["shape"])
        if _is_unknown(size)
    }


def _has_unknown(block: PageBlock) -> bool:
    shape = block.attrs.get("shape")
    return (
        block.op in ("Placeholder", "PlaceholderWithDefault")
        and isinstance(shape, list)
        and any(map(_is_unknown, shape))
    )


def _is_unknown(size: Any) -> bool:
    return size is None or size == -1


def _candidate_pairs(
    block: PageBlock, error: OpError, graph: PageGraph, ours: set[int]
) -> list[tuple[int, int]]:
    """Pairs of probed sizes that meet at a block: on one axis from the last, or the error's axis."""
    shapes = {
        pin: graph.wires[each].shape or ()
        for pin, value in block.inputs.items()
        for each in (value if isinstance(value, list) else [value])
        if isinstance(each, str) and each in graph.wires
    }
    pairs = [
        (m, n)
        for one, other in combinations(shapes.values(), 2)
        for m, n in zip(reversed(one), reversed(other), strict=False)
    ]
    if error.axis is not None and error.axis < len(shapes.get(error.arg, ())):
        at = shapes[error.arg][error.axis]
        others = [shape for pin, shape in shapes.items() if pin != error.arg]
        pairs += [(at, n) for shape in others for n in reversed(shape)]
    found = [{m, n} for m, n in pairs if m != n and m in ours and n in ours]
    return list(dict.fromkeys((min(pair), max(pair)) for pair in found))


def _primes(first: int) -> Iterator[int]:
    """Primes, each a good deal larger than the last: sizes of one must not be mistaken for another's."""
    number = first
    while True:
        if all(number % divisor for divisor in range(3, int(number**0.5) + 1, 2)):
            yield number
            number += number // 11
        number += 1 + number % 2
