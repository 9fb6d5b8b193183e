"""Handlers of queries about values: slices, elements, statistics, NaN, access maps, gradient checks.

Queries that take long are worked on in a thread of their own, in time slices one after the other, while
commands are taken and pages run.
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
from backblocks.studio import chunks
from backblocks.studio.chunks import LARGE, ChunkedTensor, check_index, element_texts
from backblocks.studio.explain import explain
from backblocks.studio.gradient_check import check_gradient
from backblocks.studio.last_values import LastValues
from backblocks.studio.messages import (
    Cancel,
    CheckGradient,
    ComputeStatistics,
    ElementTexts,
    Explain,
    FindNonFinite,
    FoundNonFinite,
    Progress,
    Query,
    ReadElements,
    ReadSlice,
    Refused,
    ServerMessage,
    Slice,
    Statistics,
)
from backblocks.studio.statistics import (
    ChunkedWork,
    compute_statistics,
    elements_read,
    next_non_finite,
    run_to_end,
)

MAX_SLICE_BYTES = 1 << 26
"""Bytes of a slice."""
MAX_QUANTIZED = 1 << 24
"""Elements of a slice that is quantised to bytes."""
MAX_TEXTS = 10_000
_TIME_SLICE = 0.01
"""Seconds for which one of several queries is worked on at a time."""

_PROGRESS_INTERVAL = 0.5
"""Seconds between two progress messages of a query."""

Reply = Callable[[ServerMessage | str], None]
"""Takes the answer of a query, or the reason for which there is none."""


_RequestId = tuple[int, int]
"""The tab, and its number of the request; zeros for the worker itself."""
_INTERNAL: _RequestId = (0, 0)


@dataclass
class _LongQuery:
    """A query that is being worked on, for all requests that ask the same."""

    replies: dict[_RequestId, Reply]
    steps: ChunkedWork[ServerMessage]
    values: dict[str, weakref.ref[Array]]
    """The query ends once one of these is replaced."""
    total: int
    """How many elements have to be read, at most; 0 if that is not known."""
    done: int = 0
    progress_sent: float = field(default_factory=time.perf_counter)


class QueryHandlers:
    """Answers the queries of all tabs of a page. `send` sends a message or a binary frame to a tab."""

    def __init__(
        self, values: LastValues, send: Callable[[int, ServerMessage | bytes], None]
    ) -> None:
        self._values = values
        self._send = send
        self._changed = threading.Condition()
        self._queries: dict[Any, _LongQuery] = {}
        self._cache: dict[Any, tuple[tuple[weakref.ref[Array], ...], Statistics]] = {}
        self._first_indices: dict[str, tuple[weakref.ref[Array], int | None]] = {}

    def handle(self, tab: int, query: Query) -> None:
        """Answers at once, or starts to work on it."""
        request, reply = (tab, query.request), self._reply_to(tab, query)
        try:
            match query:
                case ReadSlice():
                    self._send(tab, self._slice(query))
                case ReadElements():
                    self._send(tab, self._elements(query))
                case ComputeStatistics():
                    self._statistics(query, request, reply)
                case FindNonFinite():
                    self._find_non_finite(query, request, reply)
                case Explain():
                    self._send(tab, explain(query, self._values))
                case CheckGradient():
                    steps = check_gradient(query, self._values)
                    self._start((CheckGradient, tab, query.block), request, reply, steps)
                case Cancel():
                    self._cancel(request)
        except OpError as error:
            reply(str(error))
        except Exception as error:  # an internal error, which is reported rather than hidden
            traceback.print_exc()
            reply(f"The studio failed: {error!r}.")

    def _reply_to(self, tab: int, query: Query) -> Reply:
        def reply(answer: ServerMessage | str) -> None:
            if isinstance(answer, str):
                self._send(tab, Refused(answer, query.request, query.page))
            else:
                self._send(tab, msgspec.structs.replace(answer, request=query.request))

        return reply

    # -- long queries ---------------------------------------------------------------------

    def _start(
        self,
        key: Any,
        request: _RequestId,
        reply: Reply,
        steps: ChunkedWork[ServerMessage],
        *pins: str,
        total: int = 0,
    ) -> None:
        """Queues a long query, in place of the last one that had this key."""
        values = {pin: weakref.ref(self._values.value(pin)[0]) for pin in pins}
        with self._changed:
            old = self._queries.get(key)
            self._queries[key] = _LongQuery({request: reply}, steps, values, total)
            self._changed.notify()
        for each in old.replies.values() if old else ():
            each("A newer request has replaced it.")

    def _cancel(self, request: _RequestId) -> None:
        """Ends a request, and its query unless another tab has sent the same."""
        cancelled = []
        with self._changed:
            for key, query in list(self._queries.items()):
                if request in query.replies:
                    cancelled.append(query.replies.pop(request))
                    if not query.replies.keys() - {_INTERNAL}:
                        del self._queries[key]
        for reply in cancelled:
            reply("The request was cancelled.")

    def _joins(self, key: Any, request: _RequestId, reply: Reply) -> bool:
        """Whether the same query is being worked on already: then it answers this request too."""
        with self._changed:
            query = self._queries.get(key)
            if query is None or not self._is_current(query):
                return False
            query.replies[request] = reply
            return True

    def work_forever(self) -> None:
        """Works on all long queries, round-robin."""
        while True:
            with self._changed:
                while not self._queries:
                    self._changed.wait()
                keys = list(self._queries)
            for key in keys:
                self._advance(key)

    def _advance(self, key: Any) -> None:
        query = self._queries.get(key)
        if query is None:
            return
        answer: ServerMessage | str
        try:
            answer = self._work_on(query)
        except StopIteration as over:
            answer = over.value
        except OpError as error:
            answer = str(error)
        except MemoryError:
            answer = "There is not enough memory for it."
        except Exception as error:  # an internal error, which is reported rather than hidden
            traceback.print_exc()
            answer = f"The studio failed: {error!r}."
        if answer:
            self._finish(key, query, answer)

    def _work_on(self, query: _LongQuery) -> str:
        """Works on a query for a time slice; gives a reason if it cannot be answered any longer."""
        end = time.perf_counter() + _TIME_SLICE
        while time.perf_counter() < end:
            if not self._is_current(query):
                return "There is a newer value. Ask again."
            query.done += next(query.steps)
        if query.total and end - query.progress_sent > _PROGRESS_INTERVAL:
            query.progress_sent = end
            self._reply(query, Progress(0, min(1.0, query.done / query.total)))
        return ""

    def _is_current(self, query: _LongQuery) -> bool:
        return all(self._values.value(pin)[0] is ref() for pin, ref in query.values.items())

    def _finish(self, key: Any, query: _LongQuery, answer: ServerMessage | str) -> None:
        with self._changed:
            if self._queries.get(key) is not query:
                return  # another has replaced it, and its requests were answered
            del self._queries[key]
        self._reply(query, answer)

    def _reply(self, query: _LongQuery, answer: ServerMessage | str) -> None:
        with self._changed:
            replies = list(query.replies.values())
        for reply in replies:
            reply(answer)

    # -- slices and elements --------------------------------------------------------------

    def _slice(self, query: ReadSlice) -> bytes:
        found, step = self._tensor(query)
        part = found.at(_index(query, found.first))
        if query.shades is not None:
            low, high = _range(query)
            _refuse_more_than(MAX_QUANTIZED, part.size, "cells", query)
            cells = chunks.quantized(part, low, high)
        elif part.second is not None:
            _refuse_more_than(MAX_SLICE_BYTES, 8 * part.size, "bytes", query)
            cells = np.concatenate([np.zeros(0), *part.chunks()])
        else:
            # A browser has no numbers of the small types: theirs go as float32 or int8.
            small = NAMES[part.first.dtype] in SMALL
            dtype = wider(part.first.dtype) if small else part.first.dtype
            _refuse_more_than(MAX_SLICE_BYTES, part.size * dtype.itemsize, "bytes", query)
            cells = part.first.astype(dtype, copy=False)
        shape = list(part.first.shape)
        head = msgspec.json.encode(Slice(query.request, query.pin, NAMES[cells.dtype], shape, step))
        pad = b"\0" * (-(4 + len(head)) % 8)
        return len(head).to_bytes(4, "little") + head + pad + cells.tobytes()

    def _tensor(self, query: ReadSlice | ComputeStatistics) -> tuple[ChunkedTensor, int]:
        array, step = self._values.value(query.pin)
        against = [(query.against, self._values.value(query.against)[0])] if query.against else []
        return chunks.chunked(query.pin, array, *against, comparison=query.comparison), step

    def _elements(self, query: ReadElements) -> ElementTexts:
        array, _ = self._values.value(query.pin)
        first, count = max(0, query.first), max(0, min(query.count, MAX_TEXTS))
        listed = element_texts(array, first, count, python=query.python)
        dtype, shape = NAMES[array.dtype], list(array.shape)
        return ElementTexts(query.request, query.pin, dtype, shape, first, listed)

    # -- statistics -----------------------------------------------------------------------

    def statistics_of(self, pin: str, then: Callable[[Statistics], None]) -> Statistics | None:
        """The exact statistics of an output, if they are cached; else `then` gets them, unless a newer value
        comes first.
        """

        def reply(answer: ServerMessage | str) -> None:
            if isinstance(answer, Statistics):
                then(answer)

        query = ComputeStatistics(0, 0, pin)
        with contextlib.suppress(OpError):  # it has none any longer
            found, step = self._tensor(query)
            if (known := self._cached(query, found)) is not None:
                return known
            self._compute(query, found, step, _INTERNAL, reply)
        return None

    def _statistics(self, query: ComputeStatistics, request: _RequestId, reply: Reply) -> None:
        found, step = self._tensor(query)
        if (known := self._cached(query, found)) is not None:
            reply(msgspec.structs.replace(known, step=step))
            return
        if found.size > LARGE:
            some, places = found.sample()
            sampled = run_to_end(compute_statistics(some, _blank(query, found, step), places))
            sampled.sampled = True
            reply(sampled)
        self._compute(query, found, step, request, reply)

    def _cached(self, query: ComputeStatistics, found: ChunkedTensor) -> Statistics | None:
        refs, known = self._cache.get(_key(query), ((), None))
        same = all(ref() is each for ref, each in zip(refs, found.values, strict=False))
        return known if same else None

    def _compute(
        self,
        query: ComputeStatistics,
        found: ChunkedTensor,
        step: int,
        request: _RequestId,
        reply: Reply,
    ) -> None:
        key = _key(query)

        def exactly() -> ChunkedWork[ServerMessage]:
            exact = yield from compute_statistics(found, _blank(query, found, step))
            self._cache[key] = tuple(map(weakref.ref, found.values)), exact
            return exact

        if not self._joins(key, request, reply):
            pins = [query.pin, query.against] if query.against else [query.pin]
            self._start(key, request, reply, exactly(), *pins, total=elements_read(found))

    # -- NaN and infinities ---------------------------------------------------------------

    def _find_non_finite(self, query: FindNonFinite, request: _RequestId, reply: Reply) -> None:
        array, _ = self._values.value(query.pin)
        if array.dtype.hasobject:
            raise OpError("has no numbers", op=query.pin, hint="Ask for its elements.")
        start = 0
        if query.after is not None:
            check_index(query.pin, query.after, array.shape)
            start = (_flat_index(query.after, array.shape) + 1) % array.size
        steps = self._search(query, array, start)
        size = array.size + sum(each.size for _, each in self._values.upstream(query.pin))
        self._start(
            (FindNonFinite, request[0], query.pin), request, reply, steps, query.pin, total=size
        )

    def _search(self, query: FindNonFinite, array: Array, start: int) -> ChunkedWork[ServerMessage]:
        place = yield from next_non_finite(array, start)
        if place is None:
            return FoundNonFinite(query.request, None)
        found = FoundNonFinite(query.request, _cell(place, array.shape))
        for pin, each in self._values.upstream(query.pin):
            first = yield from self._first_non_finite(pin, each)
            if first is not None:
                found.first_pin, found.first_cell = pin, _cell(first, each.shape)
                break
        return found

    def _first_non_finite(self, pin: str, array: Array) -> ChunkedWork[int | None]:
        """The flat index of the first NaN or infinity of a value, which is cached."""
        ref, known = self._first_indices.get(pin, (None, None))
        if ref is None or ref() is not array:
            known = yield from next_non_finite(array, 0)
            self._first_indices[pin] = weakref.ref(array), known
        return known


def _key(query: ComputeStatistics) -> Any:
    return ComputeStatistics, query.pin, query.against, query.comparison


def _blank(query: ComputeStatistics, found: ChunkedTensor, step: int) -> Statistics:
    dtype, shape = NAMES[found.first.dtype], list(found.first.shape)
    return Statistics(query.request, query.pin, dtype, shape, step)


def _index(query: ReadSlice, array: Array) -> tuple[Any, ...]:
    if len(query.index) > array.ndim:
        raise OpError(f"must have at most {array.ndim} places", op=query.pin, got=query.index)
    found: list[Any] = []
    for axis, (place, size) in enumerate(zip(query.index, array.shape, strict=False)):
        if isinstance(place, int):
            if not -size <= place < size:
                text = f"must lie in an axis of {size}"
                raise OpError(text, op=query.pin, arg=f"axis {axis}", got=place)
            found.append(place)
        elif len(place) == 3 and place[2] > 0:
            found.append(slice(*place))
        else:
            raise OpError("must be a place, or first, end and step", op=query.pin, got=place)
    return (*found, ...)


def _range(query: ReadSlice) -> tuple[float, float]:
    given = query.shades or []
    if len(given) != 2 or not all(map(math.isfinite, given)) or given[0] > given[1]:
        raise OpError(
            "must be two numbers, the lower one first",
            op=query.pin,
            arg="shades",
            got=given,
            hint="Ask how low and high its numbers go.",
        )
    return given[0], given[1]


def _refuse_more_than(most: int, size: int, what: str, query: ReadSlice) -> None:
    if size > most:
        hint = "Ask for fewer places, or for every second."
        raise OpError(f"must be at most {most} {what}", op=query.pin, got=size, hint=hint)


def _flat_index(cell: list[int], shape: tuple[int, ...]) -> int:
    return int(np.ravel_multi_index(cell, shape)) if shape else 0


def _cell(place: int, shape: tuple[int, ...]) -> list[int]:
    return [int(i) for i in np.unravel_index(place, shape)] if shape else []
