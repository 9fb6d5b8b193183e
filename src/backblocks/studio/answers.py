"""Answers what tabs ask of values: parts of them, elements, statistics, which cells belong together.

What takes long is done in a thread of its own, a little of each question in turn, while orders are taken and
pages run.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from backblocks.dtypes import NAMES, SMALL, wider
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.studio import numbers
from backblocks.studio.cell_checks import check
from backblocks.studio.explaining import explain
from backblocks.studio.held import Held
from backblocks.studio.measuring import Finding, at_once, measure, next_bad, work
from backblocks.studio.messages import (
    CheckCell,
    Elements,
    Explain,
    FindBad,
    FoundBad,
    Leave,
    Listed,
    Look,
    Measure,
    Measured,
    Message,
    Progress,
    Refused,
    Slice,
)
from backblocks.studio.numbers import MANY, Numbers, refuse_other_cells, texts

MOST_LOOKED_AT = 1 << 26
"""Bytes of a part of a value that go to a tab at once."""
MOST_SHADES = 1 << 24
"""Cells of a part that go as shades."""
MOST_TEXTS = 10_000
_TURN = 0.01
"""Seconds that one of several questions is worked on before it is the next one's turn."""

_BETWEEN = 0.5
"""Seconds between two words of how far a question is."""

Asked = Look | Elements | Measure | FindBad | Explain | CheckCell | Leave

Asker = Callable[[Message | str], None]
"""Takes an answer, or words why there is none."""


_Who = tuple[int, int]
"""The tab that asks, and its number for the question; zeros for the studio itself."""
_STUDIO: _Who = (0, 0)


@dataclass
class _Question:
    """What is being found out."""

    askers: dict[_Who, Asker]
    """Who wants to know it."""
    finding: Finding[Message]
    values: dict[str, weakref.ref[Array]]
    """It is left once one of these is replaced."""
    work: int
    """How many cells have to be looked at, at most; 0 if that is not known."""
    done: int = 0
    told: float = field(default_factory=time.perf_counter)
    """When it was last said how far this is."""


class Answers:
    """`send` hands a message or the bytes of a binary frame to a tab."""

    def __init__(self, held: Held, send: Callable[[int, Message | bytes], None]) -> None:
        self._held = held
        self._send = send
        self._asked = threading.Condition()
        self._questions: dict[Any, _Question] = {}
        self._measured: dict[Any, tuple[tuple[weakref.ref[Array], ...], Measured]] = {}
        self._first_bad: dict[str, tuple[weakref.ref[Array], int | None]] = {}

    def take(self, tab: int, asked: Asked) -> None:
        """Answers at once, or begins to find out."""
        who, asker = (tab, asked.request), self._asker(tab, asked)
        try:
            match asked:
                case Look():
                    self._send(tab, self._look(asked))
                case Elements():
                    self._send(tab, self._elements(asked))
                case Measure():
                    self._measure(asked, who, asker)
                case FindBad():
                    self._find_bad(asked, who, asker)
                case Explain():
                    self._send(tab, explain(asked, self._held))
                case CheckCell():
                    finding = check(asked, self._held)
                    self._begin((CheckCell, tab, asked.block), who, asker, finding)
                case Leave():
                    self._leave(who)
        except OpError as error:
            asker(str(error))
        except Exception as error:  # a fault of ours, which is said rather than hidden
            traceback.print_exc()
            asker(f"The studio failed: {error!r}.")

    def _asker(self, tab: int, asked: Asked) -> Asker:
        def tell(answer: Message | str) -> None:
            if isinstance(answer, str):
                self._send(tab, Refused(answer, asked.request, asked.page))
            else:
                self._send(tab, msgspec.structs.replace(answer, request=asked.request))

        return tell

    # -- what takes long ------------------------------------------------------------------

    def _begin(
        self,
        key: Any,
        who: _Who,
        asker: Asker,
        finding: Finding[Message],
        *pins: str,
        work: int = 0,
    ) -> None:
        """Finds out in turns; takes the place of the last question that had this key."""
        values = {pin: weakref.ref(self._held.value(pin)[0]) for pin in pins}
        with self._asked:
            old = self._questions.get(key)
            self._questions[key] = _Question({who: asker}, finding, values, work)
            self._asked.notify()
        for each in old.askers.values() if old else ():
            each("A newer question has taken its place.")

    def _leave(self, who: _Who) -> None:
        """Finds out no longer what no tab wants to know."""
        left = []
        with self._asked:
            for key, question in list(self._questions.items()):
                if who in question.askers:
                    left.append(question.askers.pop(who))
                    if not question.askers.keys() - {_STUDIO}:
                        del self._questions[key]
        for asker in left:
            asker("It was left.")

    def _joins(self, key: Any, who: _Who, asker: Asker) -> bool:
        """Whether the same is being found out already: then this one is told too."""
        with self._asked:
            question = self._questions.get(key)
            if question is None or not self._is_current(question):
                return False
            question.askers[who] = asker
            return True

    def keep_finding(self) -> None:
        """Works on all questions in turn, for ever."""
        while True:
            with self._asked:
                while not self._questions:
                    self._asked.wait()
                keys = list(self._questions)
            for key in keys:
                self._go_on(key)

    def _go_on(self, key: Any) -> None:
        question = self._questions.get(key)
        if question is None:
            return
        answer: Message | str
        try:
            answer = self._turn(question)
        except StopIteration as over:
            answer = over.value
        except OpError as error:
            answer = str(error)
        except MemoryError:
            answer = "There is not enough memory for it."
        except Exception as error:  # a fault of ours, which is said rather than hidden
            traceback.print_exc()
            answer = f"The studio failed: {error!r}."
        if answer:
            self._end(key, question, answer)

    def _turn(self, question: _Question) -> str:
        """Goes on for a moment; gives words if there is no use in it."""
        end = time.perf_counter() + _TURN
        while time.perf_counter() < end:
            if not self._is_current(question):
                return "There is a newer value. Ask again."
            question.done += next(question.finding)
        if question.work and end - question.told > _BETWEEN:
            question.told = end
            self._tell(question, Progress(0, min(1.0, question.done / question.work)))
        return ""

    def _is_current(self, question: _Question) -> bool:
        return all(self._held.value(pin)[0] is ref() for pin, ref in question.values.items())

    def _end(self, key: Any, question: _Question, answer: Message | str) -> None:
        with self._asked:
            if self._questions.get(key) is not question:
                return  # another has taken its place, and its askers were told
            del self._questions[key]
        self._tell(question, answer)

    def _tell(self, question: _Question, answer: Message | str) -> None:
        with self._asked:
            askers = list(question.askers.values())
        for asker in askers:
            asker(answer)

    # -- parts ----------------------------------------------------------------------------

    def _look(self, asked: Look) -> bytes:
        found, step = self._numbers(asked)
        part = found.part(_index(asked, found.first))
        if asked.shades is not None:
            low, high = _range(asked)
            _refuse_more_than(MOST_SHADES, part.size, "cells", asked)
            cells = numbers.shades(part, low, high)
        elif part.second is not None:
            _refuse_more_than(MOST_LOOKED_AT, 8 * part.size, "bytes", asked)
            cells = np.concatenate([np.zeros(0), *part.pieces()])
        else:
            # A browser has no numbers of the small types: theirs go as float32 or int8.
            small = NAMES[part.first.dtype] in SMALL
            dtype = wider(part.first.dtype) if small else part.first.dtype
            _refuse_more_than(MOST_LOOKED_AT, part.size * dtype.itemsize, "bytes", asked)
            cells = part.first.astype(dtype, copy=False)
        shape = list(part.first.shape)
        head = msgspec.json.encode(Slice(asked.request, asked.pin, NAMES[cells.dtype], shape, step))
        pad = b"\0" * (-(4 + len(head)) % 8)
        return len(head).to_bytes(4, "little") + head + pad + cells.tobytes()

    def _numbers(self, asked: Look | Measure) -> tuple[Numbers, int]:
        array, step = self._held.value(asked.pin)
        against = [(asked.against, self._held.value(asked.against)[0])] if asked.against else []
        return numbers.of(asked.pin, array, *against, comparison=asked.comparison), step

    def _elements(self, asked: Elements) -> Listed:
        array, _ = self._held.value(asked.pin)
        first, count = max(0, asked.first), max(0, min(asked.count, MOST_TEXTS))
        listed = texts(array, first, count, python=asked.python)
        dtype, shape = NAMES[array.dtype], list(array.shape)
        return Listed(asked.request, asked.pin, dtype, shape, first, listed)

    # -- statistics -----------------------------------------------------------------------

    def follow(self, pin: str, then: Callable[[Measured], None]) -> Measured | None:
        """What an output holds, if that is known; else `then` is told, unless a newer value comes first."""

        def tell(answer: Message | str) -> None:
            if isinstance(answer, Measured):
                then(answer)

        asked = Measure(0, 0, pin)
        with contextlib.suppress(OpError):  # it has none any longer
            found, step = self._numbers(asked)
            if (known := self._known(asked, found)) is not None:
                return known
            self._find_out(asked, found, step, _STUDIO, tell)
        return None

    def _measure(self, asked: Measure, who: _Who, asker: Asker) -> None:
        found, step = self._numbers(asked)
        if (known := self._known(asked, found)) is not None:
            asker(msgspec.structs.replace(known, step=step))
            return
        if found.size > MANY:
            some, places = found.sample()
            sampled = at_once(measure(some, _blank(asked, found, step), places))
            sampled.sampled = True
            asker(sampled)
        self._find_out(asked, found, step, who, asker)

    def _known(self, asked: Measure, found: Numbers) -> Measured | None:
        refs, known = self._measured.get(_key(asked), ((), None))
        same = all(ref() is each for ref, each in zip(refs, found.values, strict=False))
        return known if same else None

    def _find_out(self, asked: Measure, found: Numbers, step: int, who: _Who, asker: Asker) -> None:
        key = _key(asked)

        def exactly() -> Finding[Message]:
            exact = yield from measure(found, _blank(asked, found, step))
            self._measured[key] = tuple(map(weakref.ref, found.values)), exact
            return exact

        if not self._joins(key, who, asker):
            pins = [asked.pin, asked.against] if asked.against else [asked.pin]
            self._begin(key, who, asker, exactly(), *pins, work=work(found))

    # -- NaN and infinities ---------------------------------------------------------------

    def _find_bad(self, asked: FindBad, who: _Who, asker: Asker) -> None:
        array, _ = self._held.value(asked.pin)
        if array.dtype.hasobject:
            raise OpError("has no numbers", op=asked.pin, hint="Ask for its elements.")
        start = 0
        if asked.after is not None:
            refuse_other_cells(asked.pin, asked.after, array.shape)
            start = (_place(asked.after, array.shape) + 1) % array.size
        finding = self._bad(asked, array, start)
        size = array.size + sum(each.size for _, each in self._held.behind(asked.pin))
        self._begin((FindBad, who[0], asked.pin), who, asker, finding, asked.pin, work=size)

    def _bad(self, asked: FindBad, array: Array, start: int) -> Finding[Message]:
        place = yield from next_bad(array, start)
        if place is None:
            return FoundBad(asked.request, None)
        found = FoundBad(asked.request, _cell(place, array.shape))
        for pin, each in self._held.behind(asked.pin):
            first = yield from self._first(pin, each)
            if first is not None:
                found.first_pin, found.first_cell = pin, _cell(first, each.shape)
                break
        return found

    def _first(self, pin: str, array: Array) -> Finding[int | None]:
        """The first bad cell of a value, which is looked for once."""
        ref, known = self._first_bad.get(pin, (None, None))
        if ref is None or ref() is not array:
            known = yield from next_bad(array, 0)
            self._first_bad[pin] = weakref.ref(array), known
        return known


def _key(asked: Measure) -> Any:
    return Measure, asked.pin, asked.against, asked.comparison


def _blank(asked: Measure, found: Numbers, step: int) -> Measured:
    dtype, shape = NAMES[found.first.dtype], list(found.first.shape)
    return Measured(asked.request, asked.pin, dtype, shape, step)


def _index(asked: Look, array: Array) -> tuple[Any, ...]:
    if len(asked.index) > array.ndim:
        raise OpError(f"must have at most {array.ndim} places", op=asked.pin, got=asked.index)
    found: list[Any] = []
    for axis, (place, size) in enumerate(zip(asked.index, array.shape, strict=False)):
        if isinstance(place, int):
            if not -size <= place < size:
                text = f"must lie in an axis of {size}"
                raise OpError(text, op=asked.pin, arg=f"axis {axis}", got=place)
            found.append(place)
        elif len(place) == 3 and place[2] > 0:
            found.append(slice(*place))
        else:
            raise OpError("must be a place, or first, end and step", op=asked.pin, got=place)
    return (*found, ...)


def _range(asked: Look) -> tuple[float, float]:
    given = asked.shades or []
    if len(given) != 2 or not all(map(math.isfinite, given)) or given[0] > given[1]:
        raise OpError(
            "must be two numbers, the lower one first",
            op=asked.pin,
            arg="shades",
            got=given,
            hint="Ask how low and high its numbers go.",
        )
    return given[0], given[1]


def _refuse_more_than(most: int, size: int, what: str, asked: Look) -> None:
    if size > most:
        hint = "Ask for fewer places, or for every second."
        raise OpError(f"must be at most {most} {what}", op=asked.pin, got=size, hint=hint)


def _place(cell: list[int], shape: tuple[int, ...]) -> int:
    return int(np.ravel_multi_index(cell, shape)) if shape else 0


def _cell(place: int, shape: tuple[int, ...]) -> list[int]:
    return [int(i) for i in np.unravel_index(place, shape)] if shape else []
