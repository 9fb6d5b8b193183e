"""Sliding windows in any number of dimensions: the geometry that pooling and convolution share.

For one axis: `n` input size, `k` window, `s` stride, `d` dilation, `before` and `after` the padding,
`out` output size. Tap `i` of output `o` reads cell `o*s - before + i*d`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backblocks.dtypes import BY_NAME, FLOATS, lowest
from backblocks.errors import OpError, set_to
from backblocks.ops._access_maps import Coordinate, loop
from backblocks.ops._inputs import Array
from backblocks.ops._spec import Size, Spec, ranked

Slices = tuple[slice, ...]

NATIVE = tuple(BY_NAME[name] for name in FLOATS)
"""The types that the compiled kernels are built for."""

OF_VOLUMES = {"height": "depth, height", "NCHW": "NCDHW"}
"""The words of a formula of images that are others for volumes."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A window sliding along one axis of known size."""

    n: int
    k: int
    s: int
    d: int
    before: int
    out: int

    def taps(self) -> Iterator[tuple[int, slice, slice]]:
        """Each tap that reads a real cell: its number, the cells read, and the outputs reading them."""
        for i in self._useful_taps():
            shift = i * self.d - self.before
            first = max(0, -(shift // self.s))
            last = min(self.out - 1, (self.n - 1 - shift) // self.s)
            if first <= last:
                cells = slice(first * self.s + shift, last * self.s + shift + 1, self.s)
                yield i, cells, slice(first, last + 1)

    def _useful_taps(self) -> Sequence[int]:
        reach = self.before - (self.out - 1) * self.s
        first = max(0, -(-reach // self.d))
        last = min(self.k - 1, (self.n - 1 + self.before) // self.d)
        taps = range(first, last + 1)
        if len(taps) <= self.out * self.n:
            return taps
        # A window far wider than the data is mostly padding: count from the cells, not from the taps.
        shifts = (c + self.before - o * self.s for o in range(self.out) for c in range(self.n))
        return sorted({t // self.d for t in shifts if t % self.d == 0 and t // self.d in taps})

    def counts(self) -> Array:
        """What to divide each output's window by: how many real cells it has (dilation 1).

        An axis without cells gives 1, as the sum of nothing stays 0.
        """
        start = np.arange(self.out) * self.s - self.before
        cells = np.minimum(start + self.k, self.n) - np.maximum(start, 0)
        return cells.clip(1)


def taps(axes: Sequence[Axis], *arrays: Array) -> Iterator[tuple[tuple[int, ...], Slices, Slices]]:
    """Each tap of a window over several axes, in row-major order.

    Gives the tap's number on each axis, where in `(batch, *space, channels)` its cells are, and which
    outputs read them: `y[outputs]` and `x[cells]` have the same shape. When one of the arrays that
    are read is empty no tap adds anything, and none is given: there may be very many.
    """
    if not all(array.size for array in arrays):
        return
    whole = slice(None)
    for each in itertools.product(*(list(axis.taps()) for axis in axes)):
        tap, cells, outputs = zip(*each, strict=True)
        yield tap, (whole, *cells, whole), (whole, *outputs, whole)


def window_shape(x: Array, axes: Sequence[Axis]) -> tuple[int, ...]:
    """The shape of one value for each window and channel of `x`."""
    return (x.shape[0], *(axis.out for axis in axes), x.shape[-1])


def winners(
    x: Array, axes: Sequence[Axis], read: Callable[[int, tuple[int, ...], Slices], Any]
) -> tuple[Array, Array]:
    """The value that wins each window, its first NaN or else its first maximum, and its mark.

    `read(number, tap, cells)` gives the values at a tap, which is the one of this number that `taps`
    gives, and their marks, which are not negative. A window without a real cell has the mark -1.
    """
    best = np.full(window_shape(x, axes), lowest(x.dtype), x.dtype)
    winner = np.full(best.shape, -1)
    for number, (tap, cells, outputs) in enumerate(taps(axes, x)):
        (new, mark), old = read(number, tap, cells), best[outputs]
        better = (new > old) | ((new != new) & (old == old)) | (winner[outputs] < 0)
        best[outputs] = np.where(better, new, old)
        winner[outputs] = np.where(better, mark, winner[outputs])
    return best, winner


def counts(axes: Sequence[Axis], dtype: Any) -> Array:
    """What to divide each window by (see `Axis`), shaped to divide `(batch, *space, channels)`."""
    total = np.ones((), dtype)
    for axis in axes:
        total = np.multiply.outer(total, axis.counts().astype(dtype))
    return total[..., None]


@dataclass(frozen=True, slots=True)
class WindowLoops:
    """Loops over all windows of images or volumes and, in each, over its taps (see ops/_access_maps.py)."""

    loops: dict[str, int]
    space: tuple[Coordinate, ...]
    """The place of a window."""
    read: tuple[Coordinate, ...]
    """The cell that a tap of it reads."""
    taps: tuple[Coordinate, ...]


def window_loops(axes: Sequence[Axis], letters: str, tap: str = "k") -> WindowLoops:
    """Loops `h` and `w` over windows and `kh` and `kw` over their taps, say; a lone tap needs no loop."""
    named = list(zip(letters, axes, strict=True))
    taps = {letter: loop(tap + letter) if axis.k > 1 else Coordinate() for letter, axis in named}
    return WindowLoops(
        {letter: axis.out for letter, axis in named}
        | {tap + letter: axis.k for letter, axis in named if axis.k > 1},
        tuple(loop(letter) for letter in letters),
        tuple(loop(c) * axis.s - axis.before + taps[c] * axis.d for c, axis in named),
        tuple(taps.values()),
    )


def space_letters(data_format: str) -> str:
    """The letters of the axes along which windows slide, as loops are named."""
    return data_format.replace("N", "").replace("C", "").lower()


PLAIN: dict[str, Any] = {"data_format": "NHWC", "explicit_paddings": ()}
"""What ops say of windows that have no attributes for it."""


# -- where the channels stand -----------------------------------------------------------------


def channels_first(data_format: str) -> bool:
    return data_format[1] == "C"


def channels_last(values: Sequence[Any], data_format: str) -> tuple[Any, ...]:
    """Sizes in the order of `data_format`, permuted to channels last: (batch, *space, channels)."""
    if channels_first(data_format):
        return (values[0], *values[2:], values[1])
    return tuple(values)


def in_layout(values: Sequence[Any], data_format: str) -> tuple[Any, ...]:
    """Sizes with channels last, (batch, *space, channels), permuted to the order of `data_format`."""
    if channels_first(data_format):
        return (values[0], values[-1], *values[1:-1])
    return tuple(values)


def sizes_channels_last(arg: str, spec: Spec, data_format: str) -> tuple[Size, ...]:
    """The sizes of images or volumes, put in the order (batch, *space, channels)."""
    given = 0 if spec.shape is None else len(spec.shape)
    hint = _OPS_OF_RANK.get(given, "")
    return channels_last(
        ranked(arg, spec, len(data_format), f"as in {data_format}", hint), data_format
    )


_OPS_OF_RANK = {
    4: "Add an axis for the channels, x[..., None], or use an op for images.",
    5: "Use an op for volumes, such as MaxPool3D or Conv3D.",
}


def to_channels_last(x: Array, data_format: str) -> Array:
    """A view of `x` with its channels last."""
    return np.moveaxis(x, 1, -1) if channels_first(data_format) else x


def from_channels_last(x: Array, data_format: str) -> Array:
    """A view of `x`, whose channels are last, in the order of `data_format`."""
    return np.moveaxis(x, -1, 1) if channels_first(data_format) else x


# -- sizes and padding ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sliding:
    """Window geometry over all axes of space: size, stride, dilation and padding, as the attributes say."""

    k: tuple[Size, ...]
    s: tuple[int, ...]
    d: tuple[int, ...]
    padding: str
    pads: tuple[tuple[int, int], ...]
    window_arg: str

    def out_sizes(self, space: Sequence[Size]) -> tuple[Size, ...]:
        return tuple(
            None if n is None or k is None else self._out(n, k, axis)
            for axis, (n, k) in enumerate(zip(space, self.k, strict=True))
        )

    def axes(self, space: Sequence[int]) -> list[Axis]:
        """The axes, for sizes that have passed the shape rule."""
        k = [size for size in self.k if size is not None]
        out = [self._out(n, k[i], i) for i, n in enumerate(space)]
        return list(map(Axis, space, k, self.s, self.d, self.before(space), out))

    def before(self, space: Sequence[int]) -> tuple[int, ...]:
        """The padding before each axis."""
        return tuple(
            self._before(n, k, i)
            for i, (n, k) in enumerate(zip(space, self.k, strict=True))
            if k is not None
        )

    def _out(self, n: int, k: int, axis: int) -> int:
        s, reach = self.s[axis], (k - 1) * self.d[axis] + 1
        if self.padding == "SAME":
            return -(-n // s)
        before, after = self.pads[axis]
        room = n + before + after - reach
        if room <= -2 * s:
            raise OpError(
                f"a window of {reach} does not fit in {n + before + after}",
                arg=self.window_arg,
                got=k,
                hint='Use padding="SAME" or a smaller window.',
                fixes=[set_to(padding="SAME")],
            )
        # A window that is a little too large leaves an empty axis, as TensorFlow's kernels do:
        # they divide toward zero.
        return max(0, room // s + 1)

    def _before(self, n: int, k: int, axis: int) -> int:
        if self.padding != "SAME":
            return self.pads[axis][0]
        # Pad as little as will do; the odd cell goes after.
        s, reach = self.s[axis], (k - 1) * self.d[axis] + 1
        return max(0, (-(-n // s) - 1) * s + reach - n) // 2


def explicit_pads(
    padding: str, explicit_paddings: Sequence[int], rank: int, data_format: str
) -> tuple[tuple[int, int], ...]:
    """Padding before and after each axis of space, from the attribute that lists it for every axis."""
    if padding != "EXPLICIT":
        if explicit_paddings:
            raise OpError(
                'is only for padding="EXPLICIT"',
                arg="explicit_paddings",
                got=explicit_paddings,
                hint='Say padding="EXPLICIT", or leave it out.',
            )
        return ((0, 0),) * (rank - 2)
    if len(explicit_paddings) != 2 * rank:
        raise OpError(
            f"must have {2 * rank} entries, before and after each of the {rank} dimensions",
            arg="explicit_paddings",
            got=explicit_paddings,
            hint=_only_space((0, 0), (1, 1), data_format),
        )
    pairs = [(explicit_paddings[i], explicit_paddings[i + 1]) for i in range(0, 2 * rank, 2)]
    batch, *space, channels = channels_last(pairs, data_format)
    if any(batch) or any(channels):
        raise OpError(
            "must be 0 for batch and channels",
            arg="explicit_paddings",
            got=explicit_paddings,
            hint=_only_space((0, 0), (1, 1), data_format),
        )
    return tuple(space)


def space_of(arg: str, values: Sequence[int], rank: int, data_format: str) -> tuple[int, ...]:
    """The entries for space of an attribute that has one for every dimension."""
    if len(values) != rank:
        raise OpError(
            f"must have {rank} entries, one for each dimension of {data_format}",
            arg=arg,
            got=values,
            hint=_only_space((1,), (2,), data_format),
        )
    batch, *space, depth = channels_last(values, data_format)
    if batch != 1 or depth != 1:
        raise OpError(
            "must be 1 for batch and channels",
            arg=arg,
            got=values,
            hint=_only_space((1,), (2,), data_format),
        )
    return tuple(space)


def _only_space(rest: tuple[int, ...], each: tuple[int, ...], data_format: str) -> str:
    entries = in_layout((rest, *(each,) * (len(data_format) - 2), rest), data_format)
    return f"Set only the entries of space, as in {tuple(itertools.chain(*entries))}."
