"""Every way a window can lie on a small image or volume."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vectors.data import Source

SIZES = (1, 2, 3, 5, 7)
WINDOWS = (1, 2, 3)
STRIDES = (1, 2, 3, 5)
BATCHES = (1, 2)
CHANNELS = (1, 3, 5, 9)

SHIFTED = "SAME with stride > window"


@dataclass(frozen=True)
class Slide:
    """Windows of size `k` that slide by `s` over cells `n`, with cells of a window `d` apart."""

    n: tuple[int, ...]
    k: tuple[int, ...]
    s: tuple[int, ...]
    d: tuple[int, ...]
    padding: str
    pads: tuple[tuple[int, int], ...] = ()

    @property
    def out(self) -> tuple[int, ...]:
        pads = self.pads or ((0, 0),) * len(self.n)
        return tuple(
            -(-n // s) if self.padding == "SAME" else (n + sum(p) - (k - 1) * d - 1 + s) // s
            for n, k, s, d, p in zip(self.n, self.k, self.s, self.d, pads, strict=True)
        )

    @property
    def before_and_after(self) -> list[tuple[int, int]]:
        """The padding on either side of each axis; an odd one goes after."""
        if self.padding != "SAME":
            return list(self.pads or ((0, 0),) * len(self.n))
        rest = [
            max(0, (o - 1) * s + (k - 1) * d + 1 - n)
            for o, n, k, s, d in zip(self.out, self.n, self.k, self.s, self.d, strict=True)
        ]
        return [(r // 2, r - r // 2) for r in rest]

    @property
    def tags(self) -> list[str]:
        tags = []
        axes = zip(self.n, self.out, self.k, self.s, self.d, strict=True)
        beyond = max(n - (out - 1) * s - (k - 1) * d - 1 for n, out, k, s, d in axes)
        if self.padding == "SAME" and beyond > 1:  # with a single cell there is none to shift by
            tags.append(SHIFTED)
        if max(self.d) > 1:
            tags.append("dilations")
        if 0 in self.out or 0 in self.n:
            tags.append("empty")
        return tags

    @property
    def has_blind_windows(self) -> bool:
        """Whether some window sees nothing but padding."""
        axes = zip(self.n, self.out, self.k, self.s, self.d, self.before_and_after, strict=True)
        return any(
            not any(0 <= i * s - before + j * d < n for j in range(k))
            for n, out, k, s, d, (before, _) in axes
            for i in range(out)
        )

    @property
    def attrs(self) -> dict[str, Any]:
        """What pooling and convolution have in common."""
        attrs: dict[str, Any] = {"strides": [1, *self.s, 1], "padding": self.padding}
        if self.padding == "EXPLICIT":
            attrs["explicit_paddings"] = [0, 0, *itertools.chain(*self.pads), 0, 0]
        return attrs

    @property
    def pooling(self) -> dict[str, Any]:
        return {"ksize": [1, *self.k, 1], **self.attrs}

    @property
    def convolution(self) -> dict[str, Any]:
        return self.attrs | ({"dilations": [1, *self.d, 1]} if max(self.d) > 1 else {})


def slides(
    source: Source, dims: int, *, dilations: Sequence[int] = (1,), one_stride: bool = False
) -> Iterator[Slide]:
    """Slides in which every axis meets every size, window, stride and padding once."""
    for padding in ("SAME", "VALID"):
        line = [
            (n, k, s, d)
            for n, k, s, d in itertools.product(SIZES, WINDOWS, STRIDES, dilations)
            if padding == "SAME" or (k - 1) * d < n
        ]
        for axes in zip(*(source.shuffled(line) for _ in range(dims)), strict=True):
            n, k, s, d = zip(*axes, strict=True)
            yield Slide(n, k, (s[0],) * dims if one_stride else s, d, padding)


def explicit_slides(
    source: Source, count: int, *, dilations: Sequence[int] = (1,), one_stride: bool = False
) -> Iterator[Slide]:
    """Images whose padding is given, each side less than the window."""
    while count:
        n, k, s, d = (
            tuple(map(int, source.rng.choice(values, 2)))
            for values in (SIZES, WINDOWS, STRIDES[:3], dilations)
        )
        pads = tuple((int(source.rng.integers(w)), int(source.rng.integers(w))) for w in k)
        slide = Slide(n, k, (s[0],) * 2 if one_stride else s, d, "EXPLICIT", pads)
        if min(slide.out) > 0:
            yield slide
            count -= 1


def empty_slide(dims: int) -> Slide:
    """Windows one larger than what they slide over: no window fits, and that is no error."""
    return plain_slide(dims, n=2, k=3)


def plain_slide(dims: int, n: int = 3, k: int = 2, s: int = 1, padding: str = "VALID") -> Slide:
    return Slide((n,) * dims, (k,) * dims, (s,) * dims, (1,) * dims, padding)


def shaped(slide: Slide, index: int, most: int = 700) -> tuple[int, int]:
    """Batch and channels for the call with this index; fewer where the volume is large."""
    batch, channels = BATCHES[index % 2], CHANNELS[index // 2 % 4]
    while math.prod(slide.n) * batch * channels > most and batch * channels > 1:
        batch, channels = max(batch - 1, 1), max(channels - 2, 1)
    return batch, channels
