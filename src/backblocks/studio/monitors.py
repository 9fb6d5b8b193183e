"""The data of a page's monitors while it runs: numbers, trends, images and histograms."""

from __future__ import annotations

import base64
import math
import threading
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from backblocks.ops._inputs import Array
from backblocks.pages.model import Monitor, MonitorSource
from backblocks.studio.chunks import LARGE, ChunkedTensor, as_real
from backblocks.studio.messages import Curve, Series
from backblocks.studio.summaries import if_finite, picture_of

_MAX_POINTS = 200_000
"""The most points of a trend; beyond that every second one is dropped."""
_MAX_KEPT = 4000
"""The most points of all curves of a run that is over; each of them has 500 where there are eight."""
_PICTURE_INTERVAL = 4
"""Updates between two of an image or histogram, which change as a whole."""
_SIDE = 256
"""Rows and columns of an image, at most."""
_BINS = 48
_MAX_INTEGERS = 128
"""The most integers that have a bar each."""
_MAX_CURVES = 16
"""Elements of one output that have curves of their own."""


class _Trend:
    """The points of a number or a trend, and how many of them were sent."""

    def __init__(self) -> None:
        self._reset(())

    def _reset(self, shapes: tuple[tuple[int, ...], ...]) -> None:
        self._shapes = shapes
        self.curves = [curve for i, shape in enumerate(shapes) for curve in curves(i, shape)]
        self.steps: list[int] = []
        self.values: list[list[float | None]] = [[] for _ in self.curves]
        self.sent = 0

    def add(self, step: int, arrays: list[Array]) -> None:
        """Adds a point to each curve; starts again if the shapes have changed."""
        shapes = tuple(array.shape for array in arrays)
        if shapes != self._shapes:
            self._reset(shapes)
        self.steps.append(step)
        values = (value for array in arrays for value in points(array))
        for series, value in zip(self.values, values, strict=True):
            series.append(value)

    def take_new(self, only_last: bool) -> Series | None:
        first, self.sent = self.sent, len(self.steps)
        if first == self.sent:
            return None
        first = self.sent - 1 if only_last else first
        found = Series(self.steps[first:], self.curves, [series[first:] for series in self.values])
        if self.sent > _MAX_POINTS:
            self.steps = self.steps[::2]
            self.values = [series[::2] for series in self.values]
            self.sent = len(self.steps)
        return found

    def since(self, step: int, most: int) -> Series:
        """The points after a step: all, or evenly spaced ones and the last."""
        first = bisect_right(self.steps, step)
        count = len(self.steps) - first
        stride = max(1, -(-count // most))
        # From the end, so that the last is one of them.
        taken = range(len(self.steps) - 1 - (count - 1) // stride * stride, len(self.steps), stride)
        return Series(
            [self.steps[i] for i in taken],
            self.curves,
            [[series[i] for i in taken] for series in self.values],
        )

    def all(self, only_last: bool) -> Series:
        first = max(0, len(self.steps) - 1) if only_last else 0
        return Series(self.steps[first:], self.curves, [series[first:] for series in self.values])


class Monitors:
    """The data of one page's monitors, and which of it was not sent yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._monitors: dict[str, Monitor] = {}
        self._trends: dict[str, _Trend] = {}
        self._arrays: dict[str, list[Array]] = {}
        self._unsent: set[str] = set()
        self._count = 0
        self._axes: dict[str, list[int]] = {}

    def name_axes(self, axes: dict[str, list[int]]) -> None:
        """Sets rows and columns of images, by pin, for monitors that do not say them."""
        with self._lock:
            changed = {
                pin for pin in axes.keys() | self._axes if axes.get(pin) != self._axes.get(pin)
            }
            self._axes = axes
            self._unsent.update(
                name
                for name in self._arrays
                if changed.intersection(shown.pin for shown in self._monitors[name].shows)
            )

    def configure(self, monitors: dict[str, Monitor]) -> None:
        """Replaces the monitors; those that show the same outputs as before keep their data."""
        with self._lock:
            self._trends = {
                name: self._trends[name]
                if name in self._trends and self._monitors[name].shows == monitor.shows
                else _Trend()
                for name, monitor in monitors.items()
            }
            self._arrays = {name: a for name, a in self._arrays.items() if name in monitors}
            self._unsent &= monitors.keys()
            self._monitors = monitors

    def clear(self) -> None:
        with self._lock:
            self._trends = {name: _Trend() for name in self._monitors}
            self._arrays.clear()
            self._unsent.clear()

    def record(self, step: int, values: dict[str, Any]) -> None:
        with self._lock:
            for name, monitor in self._monitors.items():
                arrays = [values.get(shown.pin) for shown in monitor.shows]
                cells = [
                    part
                    for array, shown in zip(arrays, monitor.shows, strict=True)
                    if array is not None and (part := selected(array, shown)) is not None
                ]
                if len(cells) < len(arrays):
                    continue
                if monitor.kind in ("image", "histogram"):
                    self._arrays[name] = cells
                    self._unsent.add(name)
                else:
                    self._trends[name].add(step, cells)

    def take_new(self) -> dict[str, Series]:
        """Data that was not sent yet."""
        with self._lock:
            self._count += 1
            found = {}
            for name, trend in self._trends.items():
                if (series := trend.take_new(self._monitors[name].kind == "number")) is not None:
                    found[name] = series
            if self._count % _PICTURE_INTERVAL == 0:
                found |= {name: self._picture(name) for name in self._unsent}
                self._unsent.clear()
            return found

    def take_rest(self) -> dict[str, Series]:
        """Data that was not sent yet, with that of pictures: the run has ended."""
        with self._lock:
            self._count = _PICTURE_INTERVAL - 1
        return self.take_new()

    def all(self) -> dict[str, Series]:
        """All data since the variables were reset."""
        with self._lock:
            found = {
                name: self._picture(name)
                if name in self._arrays
                else trend.all(self._monitors[name].kind == "number")
                for name, trend in self._trends.items()
            }
            return found

    def curves(self, after: int) -> dict[str, Series]:
        """The curves of each trend and number after a step, sampled so that all have few points."""
        with self._lock:
            drawn = {name: trend for name, trend in self._trends.items() if trend.steps}
            most = _MAX_KEPT // max(1, sum(len(trend.curves) for trend in drawn.values()))
            found = {name: trend.since(after, max(2, most)) for name, trend in drawn.items()}
            return {name: series for name, series in found.items() if series.steps}

    def _picture(self, name: str) -> Series:
        monitor, arrays = self._monitors[name], self._arrays[name]
        if monitor.kind == "histogram":
            return histogram(monitor, arrays)
        return image(arrays[0], monitor.axes or self._axes.get(monitor.shows[0].pin, ()))


# -- series -------------------------------------------------------------------------------------


def selected(array: Array, shown: MonitorSource) -> Array | None:
    """The element that a monitor shows, or all of the value; None if there is no such element."""
    if shown.element is None:
        return array
    try:
        return np.asarray(array[tuple(shown.element)])
    except IndexError:
        return None


def curves(shown: int, shape: tuple[int, ...]) -> list[Curve]:
    """The curves of a value: one for each element, or one of the mean if there are many."""
    size = math.prod(shape)
    if size == 1 or not size:
        return [Curve(shown)]
    if size > _MAX_CURVES:
        return [Curve(shown, mean_of=size)]
    return [Curve(shown, list(element)) for element in np.ndindex(shape)]


def points(array: Array) -> list[float | None]:
    """The next point of each curve."""
    if array.dtype.hasobject or not array.size:
        return [None] * len(curves(0, array.shape))
    if array.size > _MAX_CURVES:
        with np.errstate(all="ignore"):
            total = sum(
                float(cells.sum(dtype=np.float64)) for cells in ChunkedTensor(array).chunks()
            )
        return [if_finite(total / array.size)]
    return [if_finite(number) for number in as_real(array).reshape(-1).tolist()]


def image(array: Array, axes: Sequence[int]) -> Series:
    if array.dtype.hasobject or not array.size:
        return Series(problem="There are no numbers to show.")
    cells, plane = picture_of(array, axes, _SIDE)
    rows = np.ascontiguousarray(cells, np.float32)
    picture = base64.b64encode(rows.tobytes()).decode()
    return Series(picture=picture, picture_shape=list(rows.shape), plane=plane)


def histogram(monitor: Monitor, arrays: Sequence[Array]) -> Series:
    """Counts of each between the same edges; of a large value, those of a sample."""
    cells = []
    for array in arrays:
        if array.dtype.hasobject:
            return Series(problem="There are no numbers to show.")
        some = ChunkedTensor(array).sample()[0].first if array.size > LARGE else array
        flat = as_real(some).reshape(-1).astype(np.float64)
        cells.append(flat[np.isfinite(flat)])
    every = np.concatenate([*cells, np.zeros(0)])
    if not every.size:
        return Series(problem="There are no numbers to show.")
    low = float(every.min()) if monitor.low is None else monitor.low
    high = float(every.max()) if monitor.high is None else monitor.high
    whole = 0 <= high - low < _MAX_INTEGERS and bool((every == np.rint(every)).all())
    if whole:
        edges = np.arange(math.ceil(low), math.floor(high) + 2) - 0.5
    else:
        low, high = (low, high) if low < high else (low - 0.5, low + 0.5)
        edges = np.linspace(low, high, _BINS + 1)
    counts = [np.histogram(each, edges)[0].tolist() for each in cells]
    return Series(counts=counts, edges=edges.tolist(), whole=whole)
