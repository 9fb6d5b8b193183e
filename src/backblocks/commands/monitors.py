"""The monitors of a page, as text: a number, a trend over steps, an image, a histogram."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from backblocks.commands.values import as_json, heading, number
from backblocks.ops._inputs import Array
from backblocks.pages.model import Monitor, Shown

_BARS = "▁▂▃▄▅▆▇█"
_SHADES = " ░▒▓█"
_WIDE = 48
_CURVES = 16
"""A trend has a curve for each element of so many, else one of their mean."""


class Watched:
    """A monitor, and what it has seen so far."""

    def __init__(self, name: str, monitor: Monitor) -> None:
        self.name = name
        self.monitor = monitor
        self.pins = [shown.pin for shown in monitor.shows]
        self.last: list[Array] = []
        self.seen: deque[list[Array]] = deque(maxlen=monitor.steps)

    def see(self, values: Sequence[Array]) -> None:
        self.last = [
            value if shown.element is None else np.asarray(value[tuple(shown.element)])
            for value, shown in zip(values, self.monitor.shows, strict=True)
        ]
        if self.monitor.kind == "trend":
            self.seen.append([_few(value) for value in self.last])

    # -- for people -----------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        if self.monitor.title:
            yield self.monitor.title
        for i, (shown, value) in enumerate(zip(self.monitor.shows, self.last, strict=True)):
            label = f"  {_label(shown)}"
            match self.monitor.kind:
                case "trend":
                    yield from self._trend(i, label)
                case "image":
                    yield f"{label}  {heading(value)}"
                    yield from self._image(value)
                case "histogram":
                    yield f"{label}  {self._histogram(value)}"
                case _:
                    yield f"{label}  {_short(value)}"

    def _trend(self, i: int, label: str) -> Iterator[str]:
        series = np.array([row[i] for row in self.seen])
        for k, curve in enumerate(series.T):
            which = f"[{k}]" if series.shape[1] > 1 else ""
            first, last = number(curve[0]), number(curve[-1])
            if len(curve) == 1:
                yield f"{label}{which}  {last}"
            else:
                yield f"{label}{which}  {first} … {last}  {self._bars(_thin(curve, _WIDE))}"

    def _bars(self, curve: Array) -> str:
        return "".join(_BARS[level] for level in self._levels(curve, len(_BARS)))

    def _levels(self, cells: Array, count: int) -> Any:
        """For each cell which of `count` levels it is at; what is no number is at the lowest."""
        cells = cells.astype(np.float64)
        finite = cells[np.isfinite(cells)]
        low, high = self.monitor.low, self.monitor.high
        low = low if low is not None else finite.min(initial=np.inf)
        high = high if high is not None else finite.max(initial=-np.inf)
        if not high > low:
            return np.zeros(cells.shape, int)
        with np.errstate(invalid="ignore"):
            scaled = np.clip((cells - low) / (high - low), 0, 1)
        return np.nan_to_num(scaled * (count - 1)).round().astype(int)

    def _image(self, value: Array) -> Iterator[str]:
        axes = self.monitor.axes or _largest(value)
        if len(axes) != 2 or value.size == 0:
            yield f"    {_short(value)}"
            return
        picture = np.moveaxis(value, axes, (-2, -1))
        picture = picture.reshape(-1, *picture.shape[-2:])[0]
        step = -(-max(picture.shape) // _WIDE)
        for row in self._levels(picture[::step, ::step], len(_SHADES)):
            yield "    " + "".join(_SHADES[level] * 2 for level in row)

    def _histogram(self, value: Array) -> str:
        cells = value.astype(np.float64).reshape(-1)
        cells = cells[np.isfinite(cells)]
        if not cells.size:
            return "nothing"
        low, high = self.monitor.low, self.monitor.high
        ends = (cells.min() if low is None else low, cells.max() if high is None else high)
        counts, _ = np.histogram(cells, _WIDE // 2, ends if ends[0] < ends[1] else None)
        most = max(counts.max(), 1)
        bars = "".join(_BARS[round(count / most * (len(_BARS) - 1))] for count in counts)
        return f"{number(ends[0])} {bars} {number(ends[1])}"

    # -- for machines ---------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        shows = []
        for i, (shown, value) in enumerate(zip(self.monitor.shows, self.last, strict=True)):
            entry: dict[str, Any] = {"pin": shown.pin, "label": _label(shown), **as_json(value)}
            if self.monitor.kind == "trend":
                series = np.array([row[i] for row in self.seen])
                entry["trend"] = as_json(_thin(series, 250 // max(1, series.shape[1])))["value"]
            shows.append(entry)
        return {"kind": self.monitor.kind, "title": self.monitor.title, "shows": shows}


def _few(value: Array) -> Array:
    cells = value.astype(np.float64).reshape(-1)
    return cells if cells.size <= _CURVES else np.array([cells.mean()])


def _thin(series: Array, most: int) -> Array:
    """At most so many points of it, the first and the last among them."""
    if len(series) <= most:
        return series
    thinned: Array = series[np.linspace(0, len(series) - 1, most).round().astype(int)]
    return thinned


def _largest(value: Array) -> list[int]:
    """The two longest axes, in their order."""
    return sorted(sorted(range(value.ndim), key=lambda axis: -value.shape[axis])[:2])


def _label(shown: Shown) -> str:
    element = "" if shown.element is None else str(shown.element)
    return shown.label or shown.pin + element


def _short(value: Array) -> str:
    if value.size == 1:
        return number(value.reshape(())[()])
    return " ".join(np.array2string(value, threshold=8, edgeitems=2, precision=6).split())
