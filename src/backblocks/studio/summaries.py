"""What is shown of values: a summary with a small picture, elements as texts, and the series of monitors."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from backblocks.dtypes import NAMES, is_float
from backblocks.ops._inputs import Array
from backblocks.pages.model import Monitor, MonitorSource
from backblocks.studio.measuring import at_once, measure
from backblocks.studio.messages import Curve, Measured, Series, Summary
from backblocks.studio.numbers import MANY, Numbers, real, texts

_SIDE = 32
"""Of the picture of an output."""
_LARGE_SIDE = 256
"""Of an image in a monitor."""
_BINS = 48
_MOST_CURVES = 16
"""Elements of one output that a number or a trend tells apart."""
_FEW = 12
"""Elements that a summary writes out."""


def summary(array: Array, measured: Measured | None = None) -> Summary:
    """What an output holds: of a large one, what some of its cells say until all were `measured`."""
    shown = Summary(NAMES[array.dtype], list(array.shape), short_text(array))
    if array.dtype.hasobject or not array.size:
        return shown
    if array.size > MANY:
        _copy(measured or _by_sample(array), shown)
    else:
        _look_at_all(array, shown)
    picture = _plane(array, (), _SIDE)
    shown.picture = base64.b64encode(_levels(picture, shown.low, shown.high).tobytes()).decode()
    shown.picture_shape = list(picture.shape)
    return shown


def _by_sample(array: Array) -> Measured:
    some, _ = Numbers(array).sample()
    return at_once(measure(some, Measured(0, "", NAMES[array.dtype], list(array.shape), 0)))


def _copy(measured: Measured, shown: Summary) -> None:
    for name in ("low", "high", "mean", "deviation", "zeros", "nans", "infinities"):
        setattr(shown, name, getattr(measured, name))


def _look_at_all(array: Array, shown: Summary) -> None:
    numbers = real(array)
    # NaN and infinities are found by what they do to a sum, which is quicker than looking for them.
    with np.errstate(all="ignore"):
        bad = is_float(numbers.dtype) and not math.isfinite(float(numbers.sum(dtype=np.float64)))
    if bad:
        shown.nans = int(np.isnan(numbers).sum())
        shown.infinities = int(np.isinf(numbers).sum())
        finite = numbers[np.isfinite(numbers)]
    else:
        finite = numbers
    shown.zeros = int(numbers.size - np.count_nonzero(numbers))
    if finite.size:
        shown.low, shown.high = float(finite.min()), float(finite.max())
        with np.errstate(all="ignore"):  # numbers whose sum or squares are too large have neither
            shown.mean = _finite(finite.mean(dtype=np.float64))
            shown.deviation = _finite(finite.std(dtype=np.float64))


def _finite(number: Any) -> float | None:
    return float(number) if math.isfinite(number) else None


def _plane(array: Array, axes: Sequence[int], side: int) -> Array:
    """Rows and columns of an array: along `axes`, or its two longest; elsewhere the first."""
    if array.ndim < 2:
        plane = array.reshape(1, -1)
    else:
        usual = sorted(sorted(range(array.ndim), key=lambda axis: -array.shape[axis])[:2])
        chosen = [axis % array.ndim for axis in axes] if len(axes) == 2 else usual
        plane = np.moveaxis(array, chosen if len(set(chosen)) == 2 else usual, (-2, -1))
        plane = plane[(0,) * (plane.ndim - 2)]
    rows, columns = (max(1, -(-size // side)) for size in plane.shape)
    thinned: Array = plane[::rows, ::columns]
    return thinned


def _levels(plane: Array, low: float | None, high: float | None) -> Array:
    """For each cell 1 to 255 from low to high, and 0 for NaN."""
    cells = real(plane).astype(np.float64)
    missing = np.isnan(cells)
    if low is None or high is None or not high > low:
        levels: Array = np.full(cells.shape, 128.0)
    else:
        with np.errstate(all="ignore"):
            levels = 1 + 254 * ((cells / 2 - low / 2) / (high / 2 - low / 2))
    levels = np.nan_to_num(np.clip(levels, 1, 255), nan=1.0).round()
    levels[missing] = 0
    return levels.astype(np.uint8)


def short_text(array: Array) -> str:
    """The value if it is short, else its first elements."""
    if array.dtype.names:
        return "a handle"
    words = texts(array, 0, _FEW)
    more = " …" if array.size > _FEW else ""
    return words[0] if array.ndim == 0 else f"[{' '.join(words)}{more}]"


# -- monitors -------------------------------------------------------------------------------------


def element(array: Array, shown: MonitorSource) -> Array | None:
    """What is shown of a value; None if it has no such element."""
    if shown.element is None:
        return array
    try:
        return np.asarray(array[tuple(shown.element)])
    except IndexError:
        return None


def curves(shown: int, shape: tuple[int, ...]) -> list[Curve]:
    """What is told apart of a value: each element, or the mean if there are many."""
    size = math.prod(shape)
    if size == 1 or not size:
        return [Curve(shown)]
    if size > _MOST_CURVES:
        return [Curve(shown, mean_of=size)]
    return [Curve(shown, list(element)) for element in np.ndindex(shape)]


def levels(array: Array) -> list[float | None]:
    """The numbers of the curves."""
    if array.dtype.hasobject or not array.size:
        return [None] * len(curves(0, array.shape))
    if array.size > _MOST_CURVES:
        with np.errstate(all="ignore"):
            total = sum(float(cells.sum(dtype=np.float64)) for cells in Numbers(array).pieces())
        return [_finite(total / array.size)]
    return [_finite(number) for number in real(array).reshape(-1).tolist()]


def image(monitor: Monitor, array: Array) -> Series:
    if array.dtype.hasobject or not array.size:
        return Series(problem="There are no numbers to show.")
    plane = np.ascontiguousarray(real(_plane(array, monitor.axes, _LARGE_SIDE)), np.float32)
    return Series(
        picture=base64.b64encode(plane.tobytes()).decode(), picture_shape=list(plane.shape)
    )


def histogram(monitor: Monitor, arrays: Sequence[Array]) -> Series:
    """Counts of each between the same edges; of a large value, those of some of its cells."""
    cells = []
    for array in arrays:
        if array.dtype.hasobject:
            return Series(problem="There are no numbers to show.")
        some = Numbers(array).sample()[0].first if array.size > MANY else array
        flat = real(some).reshape(-1).astype(np.float64)
        cells.append(flat[np.isfinite(flat)])
    every = np.concatenate([*cells, np.zeros(0)])
    if not every.size:
        return Series(problem="There are no numbers to show.")
    low = float(every.min()) if monitor.low is None else monitor.low
    high = float(every.max()) if monitor.high is None else monitor.high
    if not low < high:
        low, high = low - 0.5, low + 0.5
    counts = [np.histogram(each, _BINS, (low, high)) for each in cells]
    return Series(
        counts=[count.tolist() for count, _ in counts],
        edges=np.linspace(low, high, _BINS + 1).tolist(),
    )
