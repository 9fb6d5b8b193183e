"""What the monitors of a page show while it runs."""

from __future__ import annotations

import threading
from typing import Any

from backblocks.ops._inputs import Array
from backblocks.pages.model import Monitor
from backblocks.studio.messages import Series
from backblocks.studio.summaries import curves, element, histogram, image, levels

_MOST_POINTS = 200_000
"""Of a trend are kept; then every second goes."""
_BETWEEN_PICTURES = 4
"""Tellings between two of an image or histogram, whose values change all at once."""


class _Trend:
    """The points of a number or a trend, and how many of them were told."""

    def __init__(self) -> None:
        self._begin(())

    def _begin(self, shapes: tuple[tuple[int, ...], ...]) -> None:
        self._shapes = shapes
        self.curves = [curve for i, shape in enumerate(shapes) for curve in curves(i, shape)]
        self.steps: list[int] = []
        self.values: list[list[float | None]] = [[] for _ in self.curves]
        self.told = 0

    def add(self, step: int, arrays: list[Array]) -> None:
        """Goes on, or begins anew if there are other elements than before."""
        shapes = tuple(array.shape for array in arrays)
        if shapes != self._shapes:
            self._begin(shapes)
        self.steps.append(step)
        values = (value for array in arrays for value in levels(array))
        for kept, value in zip(self.values, values, strict=True):
            kept.append(value)

    def new(self, only_last: bool) -> Series | None:
        first, self.told = self.told, len(self.steps)
        if first == self.told:
            return None
        first = self.told - 1 if only_last else first
        found = Series(self.steps[first:], self.curves, [kept[first:] for kept in self.values])
        if self.told > _MOST_POINTS:
            self.steps = self.steps[::2]
            self.values = [kept[::2] for kept in self.values]
            self.told = len(self.steps)
        return found

    def all(self, only_last: bool) -> Series:
        first = max(0, len(self.steps) - 1) if only_last else 0
        return Series(self.steps[first:], self.curves, [kept[first:] for kept in self.values])


class Shows:
    """The monitors of one page."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._monitors: dict[str, Monitor] = {}
        self._trends: dict[str, _Trend] = {}
        self._arrays: dict[str, list[Array]] = {}
        self._untold: set[str] = set()
        self._count = 0

    def use(self, monitors: dict[str, Monitor]) -> None:
        """Goes on with these; those that show what they showed before keep it."""
        with self._lock:
            self._trends = {
                name: self._trends[name]
                if name in self._trends and self._monitors[name].shows == monitor.shows
                else _Trend()
                for name, monitor in monitors.items()
            }
            self._arrays = {name: a for name, a in self._arrays.items() if name in monitors}
            self._untold &= monitors.keys()
            self._monitors = monitors

    def clear(self) -> None:
        with self._lock:
            self._trends = {name: _Trend() for name in self._monitors}
            self._arrays.clear()
            self._untold.clear()

    def see(self, step: int, got: dict[str, Any]) -> None:
        with self._lock:
            for name, monitor in self._monitors.items():
                arrays = [got.get(shown.pin) for shown in monitor.shows]
                cells = [
                    part
                    for array, shown in zip(arrays, monitor.shows, strict=True)
                    if array is not None and (part := element(array, shown)) is not None
                ]
                if len(cells) < len(arrays):
                    continue
                if monitor.kind in ("image", "histogram"):
                    self._arrays[name] = cells
                    self._untold.add(name)
                else:
                    self._trends[name].add(step, cells)

    def new(self) -> dict[str, Series]:
        """What was not told yet."""
        with self._lock:
            self._count += 1
            found = {}
            for name, trend in self._trends.items():
                if (series := trend.new(self._monitors[name].kind == "number")) is not None:
                    found[name] = series
            if self._count % _BETWEEN_PICTURES == 0:
                found |= {name: self._picture(name) for name in self._untold}
                self._untold.clear()
            return found

    def rest(self) -> dict[str, Series]:
        """What was not told yet, pictures too: the run is over."""
        with self._lock:
            self._count = _BETWEEN_PICTURES - 1
        return self.new()

    def all(self) -> dict[str, Series]:
        """Everything since the variables were reset."""
        with self._lock:
            found = {
                name: self._picture(name)
                if name in self._arrays
                else trend.all(self._monitors[name].kind == "number")
                for name, trend in self._trends.items()
            }
            return found

    def _picture(self, name: str) -> Series:
        monitor, arrays = self._monitors[name], self._arrays[name]
        return image(monitor, arrays[0]) if monitor.kind == "image" else histogram(monitor, arrays)
