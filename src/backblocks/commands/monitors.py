"""Monitors of a page as text on the terminal: numbers, trends over steps, images, histograms."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from backblocks.commands.formatting import array_heading, as_json, format_number, printable_array
from backblocks.errors import visible
from backblocks.ops._inputs import Array
from backblocks.pages.model import Monitor, MonitorSource
from backblocks.pages.settings_validation import are_axes

_BARS = "▁▂▃▄▅▆▇█"
_SHADES = " ░▒▓█"
_WIDE = 48
_CURVES = 16
"""A trend has a curve for each element of a value of so many; of a larger one, a curve of the mean."""


class TextMonitor:
    """A monitor with the values it was updated with, shown as text or JSON."""

    def __init__(self, name: str, monitor: Monitor) -> None:
        self.name = name
        self.monitor = monitor
        self.pins = [shown.pin for shown in monitor.shows]
        self.last: list[Array | None] = [None] * len(monitor.shows)
        """The last value of each source; None before the first step, or if there is no such element."""
        self.history: list[deque[Array]] = [deque(maxlen=monitor.steps) for _ in monitor.shows]
        """For each source of a trend, its elements at each step, or their mean."""

    def update(self, values: Sequence[Array]) -> None:
        for i, (value, shown) in enumerate(zip(values, self.monitor.shows, strict=True)):
            self.last[i] = found = _select(value, shown.element)
            if self.monitor.kind == "trend" and found is not None:
                self.history[i].append(_trend_values(found))

    # -- for people -----------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        if self.monitor.title:
            yield visible(self.monitor.title)
        for i, (shown, value) in enumerate(zip(self.monitor.shows, self.last, strict=True)):
            label = f"  {visible(_label(shown))}"
            if value is None:
                yield f"{label}  cannot be shown: there is no such value"
                continue
            match self.monitor.kind:
                case "trend":
                    yield from self._trend(i, label)
                case "image":
                    yield f"{label}  {array_heading(value)}"
                    yield from self._image(value)
                case "histogram":
                    yield f"{label}  {self._histogram(value)}"
                case _:
                    yield f"{label}  {_summary(value)}"

    def _trend(self, i: int, label: str) -> Iterator[str]:
        series = self._series(i)
        if not series.size:
            yield f"{label}  nothing"
        for k, curve in enumerate(series.T):
            which = f"[{k}]" if series.shape[1] > 1 else ""
            first, last = format_number(curve[0]), format_number(curve[-1])
            if len(curve) == 1:
                yield f"{label}{which}  {last}"
            else:
                yield f"{label}{which}  {first} … {last}  {self._bars(_subsample(curve, _WIDE))}"

    def _series(self, i: int) -> Array:
        """A row for each step; of means if sizes vary."""
        rows = list(self.history[i])
        if len({row.size for row in rows}) > 1:
            rows = [_mean(row) for row in rows]
        return np.array(rows)

    def _bars(self, curve: Array) -> str:
        return "".join(_BARS[level] for level in self._levels(curve, len(_BARS)))

    def _levels(self, elements: Array, count: int) -> Any:
        """The level of each element, from 0 to `count` - 1; NaN is at 0."""
        elements = elements.astype(np.float64)
        finite = elements[np.isfinite(elements)]
        low, high = self.monitor.low, self.monitor.high
        low = low if low is not None else finite.min(initial=np.inf)
        high = high if high is not None else finite.max(initial=-np.inf)
        if not high > low:
            return np.zeros(elements.shape, int)
        scaled = np.clip(_scaled(elements, low, high), 0, 1)
        return np.nan_to_num(scaled * (count - 1)).round().astype(int)

    def _image(self, value: Array) -> Iterator[str]:
        axes = (value.ndim > 1 and self.monitor.axes) or _largest(value)
        if len(axes) != 2 or value.size == 0:
            yield f"    {_summary(value)}"
            return
        if not are_axes(axes, value.ndim):
            yield f"    cannot be shown: it has no axes {axes}"
            return
        picture = np.moveaxis(value, axes, (-2, -1))
        picture = picture.reshape(-1, *picture.shape[-2:])[0]
        step = -(-max(picture.shape) // _WIDE)
        for row in self._levels(picture[::step, ::step], len(_SHADES)):
            yield "    " + "".join(_SHADES[level] * 2 for level in row)

    def _histogram(self, value: Array) -> str:
        elements = value.astype(np.float64).reshape(-1)
        elements = elements[np.isfinite(elements)]
        if not elements.size:
            return "nothing"
        low = elements.min() if self.monitor.low is None else self.monitor.low
        high = elements.max() if self.monitor.high is None else self.monitor.high
        elements = elements[(elements >= low) & (elements <= high)]
        bins = _WIDE // 2
        scaled = _scaled(elements, low, high) if low < high else np.full(elements.shape, 0.5)
        places = np.clip(np.nan_to_num(scaled * bins), 0, bins - 1).astype(int)
        counts = np.bincount(places, minlength=bins)
        most = max(counts.max(), 1)
        bars = "".join(_BARS[round(count / most * (len(_BARS) - 1))] for count in counts)
        return f"{format_number(low)} {bars} {format_number(high)}"

    # -- for machines ---------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        shows = []
        for i, (shown, value) in enumerate(zip(self.monitor.shows, self.last, strict=True)):
            entry: dict[str, Any] = {"pin": shown.pin, "label": _label(shown)}
            if value is not None:
                entry |= as_json(value)
                if self.monitor.kind == "trend":
                    series = self._series(i)
                    entry["trend"] = as_json(_subsample(series, 250 // max(1, series.shape[1])))[
                        "value"
                    ]
            shows.append(entry)
        return {"kind": self.monitor.kind, "title": self.monitor.title, "shows": shows}


def _select(value: Array, element: list[int] | None) -> Array | None:
    if element is None:
        return value
    inside = len(element) == value.ndim and all(
        -n <= i < n for i, n in zip(element, value.shape, strict=True)
    )
    picked: Any = (*element, ...)  # the dots keep it an array
    return np.asarray(value[picked]) if inside else None


def _trend_values(value: Array) -> Array:
    elements = value.astype(np.float64).reshape(-1)
    return elements if elements.size <= _CURVES else _mean(elements)


def _mean(elements: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.array([elements.mean() if elements.size else np.nan])


def _scaled(elements: Array, low: float, high: float) -> Array:
    """The elements scaled so that `low` is 0 and `high` 1, by halves: high - low may overflow float64."""
    with np.errstate(all="ignore"):
        scaled: Array = (elements / 2 - low / 2) / (high / 2 - low / 2)
    return scaled


def _subsample(series: Array, most: int) -> Array:
    """The series subsampled to at most `most` points, the first and the last among them."""
    if len(series) <= most:
        return series
    thinned: Array = series[np.linspace(0, len(series) - 1, most).round().astype(int)]
    return thinned


def _largest(value: Array) -> list[int]:
    """The two longest axes, in their order."""
    return sorted(sorted(range(value.ndim), key=lambda axis: -value.shape[axis])[:2])


def _label(shown: MonitorSource) -> str:
    element = "" if shown.element is None else str(shown.element)
    return shown.label or shown.pin + element


def _summary(value: Array) -> str:
    if value.size == 1:
        return format_number(printable_array(value).reshape(())[()])
    text = np.array2string(printable_array(value), threshold=8, edgeitems=2, precision=6)
    return " ".join(text.split())
