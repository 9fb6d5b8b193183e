"""What fractional pooling shares: windows of unequal, random sizes.

Along each axis an increasing sequence of borders, from 0 to the size of the axis, says where windows
begin and end.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from backblocks.errors import OpError
from backblocks.ops import _philox
from backblocks.ops._access_maps import AccessMap, Cells, held, loop
from backblocks.ops._inputs import Array
from backblocks.ops._op import Op
from backblocks.ops._rng_state import current_rng_state, seed_words
from backblocks.ops._spec import Shape, Size, Spec, ranked
from backblocks.ops.attrs import Flag, Floats, Seed
from backblocks.ops.random._sampling import RESERVED, reserve
from backblocks.ops.random._sampling import start as begin

# -- the borders of windows ------------------------------------------------------------------------


def fractional(
    *,
    pooling_ratio: Floats,
    pseudo_random: Flag = False,
    overlapping: Flag = False,
    deterministic: Flag = False,
    seed: Seed = 0,
    seed2: Seed = 0,
) -> None:
    """The attributes of the ops that choose the windows."""


def _pooled(
    value: Spec,
    *,
    pooling_ratio: tuple[float, ...],
    deterministic: bool,
    seed: int,
    seed2: int,
    **how: bool,
) -> tuple[Shape, Shape, Shape]:
    """The shapes of the result and of both sequences."""
    batch, height, width, channels = ranked("value", value, 4, "as in NHWC")
    problem, hint = "", "Set only the entries of height and width, as in [1.0, 1.5, 1.5, 1.0]."
    if len(pooling_ratio) != 4:
        problem = "must have 4 entries, one for each dimension"
    elif pooling_ratio[0] != 1 or pooling_ratio[3] != 1:
        problem = "must be 1 for batch and channels"
    elif min(pooling_ratio) < 1:
        problem, hint = "every entry must be at least 1", "Use 1.0 to keep an axis as it is."
    if problem:
        raise OpError(problem, arg="pooling_ratio", got=pooling_ratio, hint=hint)
    for arg, number in (("seed", seed), ("seed2", seed2)):
        if number and not deterministic:
            raise OpError(
                "must be 0 unless deterministic is True",
                arg=arg,
                got=number,
                hint="Use deterministic=True to choose the sequences by seed.",
            )
    rows = None if height is None else _out_size(height, pooling_ratio[1])
    cols = None if width is None else _out_size(width, pooling_ratio[2])
    borders = [(None if n is None else n + 1,) for n in (rows, cols)]
    return (batch, rows, cols, channels), borders[0], borders[1]


def _out_size(n: int, ratio: float) -> int:
    if ratio > n:
        raise OpError(
            f"must not be larger than the size it divides, {n}",
            arg="pooling_ratio",
            got=ratio,
            hint="Use a larger image, or a ratio nearer to 1.",
        )
    # TensorFlow divides in float32, which may round up to more than there is.
    return min(n, int(np.float32(n) / np.float32(ratio)))


def sequences(
    x: Array,
    *,
    pooling_ratio: tuple[float, ...],
    pseudo_random: bool,
    deterministic: bool,
    seed: int,
    seed2: int,
    **how: bool,
) -> tuple[Array, Array]:
    """The borders along rows and along columns."""
    borders = _evenly_spread if pseudo_random else _shuffled
    height, width = x.shape[1:3]
    rows, cols = _out_size(height, pooling_ratio[1]), _out_size(width, pooling_ratio[2])
    first, state = 0, current_rng_state()
    if not deterministic:
        seed, seed2, first = reserve(0, 0, RESERVED * (rows + cols))
    elif seed == seed2 == 0:
        seed, seed2 = state.words.tolist()[:2] if state else _seeds_of_this_process()
    # Columns start at the first block of random words that is not set aside for rows.
    start = first + (1 if pseudo_random else -(-rows // 4))
    return (
        borders(height, rows, _philox.words(seed, seed2, first)),
        borders(width, cols, _philox.words(seed, seed2, start)),
    )


@functools.cache
def _seeds_of_this_process() -> tuple[int, int]:
    return seed_words()


def _shuffled(n: int, out: int, stream: Iterator[int]) -> Array:
    """Borders of `out` windows whose lengths, as equal as can be, come in random order."""
    lengths = [n // out + (i < n % out) for i in range(out)]
    for i in range(out - 1):
        j = i + _philox.below(out - i, stream)
        lengths[i], lengths[j] = lengths[j], lengths[i]
    return np.cumsum([0, *lengths])


def _evenly_spread(n: int, out: int, stream: Iterator[int]) -> Array:
    """Borders of `out` windows at equal distances from a random start, rounded up.

    (Graham, "Fractional max-pooling", 2014, section 2.)
    """
    ratio, shortest = n / out, n // out
    # The first and the last window must not be longer than the others can be.
    limit = min((shortest + 2) / ratio - 1, (n + 1 - shortest) / ratio - (out - 1))
    start = _philox.fraction(stream) * limit
    between = [math.ceil(ratio * (i + start)) - 1 for i in range(1, out)]
    return np.array([0, *between, n])


SAME_SEQUENCES = (
    "the shape that these sequences give",
    "Use the input and sequences of the forward op.",
)
_FROM_FORWARD = "Pass it as the forward op gave it for this input."


def window_count(arg: str, spec: Spec, n: Size) -> Size:
    """How many windows a sequence makes; it is refused unless they fill an axis of size `n`."""
    (length,) = ranked(arg, spec, 1)
    if length == 0:
        raise OpError("must have at least one entry", arg=arg, got=0, hint=_FROM_FORWARD)
    if spec.value is not None:
        borders = spec.value
        if borders[0] != 0 or (borders[1:] <= borders[:-1]).any():
            raise OpError("must start at 0 and increase", arg=arg, got=borders, hint=_FROM_FORWARD)
        if n is not None and borders[-1] != n:
            raise OpError(
                f"must end at the size of its axis, {n}",
                arg=arg,
                got=borders,
                hint=_FROM_FORWARD,
            )
    return None if length is None else length - 1


# -- windows, first along the columns, then along the rows ------------------------------------------

ROWS, COLS = 1, 2


def window_spans(borders: Array, overlapping: bool) -> list[slice]:
    """The cells of each window along one axis. Overlapping windows share a cell with the next."""
    n = int(borders[-1])
    return [slice(a, min(b + overlapping, n)) for a, b in itertools.pairwise(borders.tolist())]


def along(axis: int, spans: list[slice], reduce: Callable[..., Array], x: Array) -> Array:
    """`x` with the cells of each window along one axis made into one."""
    if not x.size:
        return np.zeros((*x.shape[:axis], len(spans), *x.shape[axis + 1 :]), x.dtype)
    before = (slice(None),) * axis
    return np.stack([reduce(x[(*before, span)], axis) for span in spans], axis)


def window_access(
    rule: str,
    of: tuple[str, ...],
    image: tuple[int, ...],
    borders: tuple[Array, Array],
    overlapping: bool,
    *,
    cells: tuple[str, ...],
    windows: tuple[str, ...],
    candidates: str = "",
) -> list[AccessMap]:
    """Which cells belong together, by pins as in `pool_access`. Windows have their own sizes: tables tell."""
    spans = [window_spans(each, overlapping) for each in borders]
    longest = [max(span.stop - span.start for span in each) for each in spans]
    loops = {"n": image[0], "h": len(spans[0]), "w": len(spans[1]), "c": image[-1]}
    tables = {
        f"cells along {axis}": tuple(
            span.start + i if span.start + i < span.stop else -1
            for span in each
            for i in range(most)
        )
        for axis, each, most in zip("hw", spans, longest, strict=True)
    }

    def taps(letter: str) -> Cells:
        for axis, most in zip("hw", longest, strict=True):
            loops[letter + axis] = most
        space = (
            held(f"cells along {axis}", loop(axis) * most + loop(letter + axis))
            for axis, most in zip("hw", longest, strict=True)
        )
        return Cells((loop("n"), *space, loop("c")), axes="NHWC")

    at = dict.fromkeys(cells, taps("k"))
    at |= dict.fromkeys(windows, Cells(tuple(map(loop, "nhwc")), axes="NHWC"))
    at |= {candidates: taps("j")} if candidates else {}
    return [AccessMap(rule, of, loops, at, tables)]


def forward_cells(y: Any, value: Spec, *, overlapping: bool, rule: str) -> list[AccessMap]:
    borders = y.row_pooling_sequence.contents, y.col_pooling_sequence.contents
    pins: Any = {"cells": ("value",), "windows": ("output",)}
    return window_access(rule, ("value",), value.sizes, borders, overlapping, **pins)


# -- what both ways of pooling have ----------------------------------------------------------------

# Tensors and sequences of worked cases.
RAMP = np.arange(16.0).reshape(1, 4, 4, 1)
LINE, EMPTY = np.array([1.0, 5, 2, 3, 4]).reshape(1, 1, 5, 1), np.zeros((0, 4, 4, 1))
GRADIENT = np.array([2.0, 6, 8]).reshape(1, 1, 3, 1)
HALVES: dict[str, Any] = {"pooling_ratio": (1, 2, 2, 1)}
FIXED: dict[str, Any] = {"pooling_ratio": (1, 1, 1.5, 1), "deterministic": True, "seed": 1}
WHOLE, TWO, THREE = np.array([0, 1]), np.array([0, 2, 4]), np.array([0, 1, 3, 5])
TWO_WINDOWS = {"row_pooling_sequence": TWO, "col_pooling_sequence": TWO}
THREE_WINDOWS = {"row_pooling_sequence": WHOLE, "col_pooling_sequence": THREE}


def row(*values: Any) -> Array:
    return np.array(values).reshape(1, 1, -1, 1)


def complete(pool: Op) -> None:
    """Gives an op that chooses the windows all that does not hang on what becomes of their cells."""
    pool.shape(_pooled)
    pool.rng_state(begin)
    pool.differs(
        "deterministic, with both seeds 0",
        tensorflow="Each node draws seeds once and keeps them.",
        ours="Each process draws seeds once, for all such calls.",
        agree="Give a seed: equal seeds give TensorFlow's own sequences, to the bit.",
    )
    pool.differs(
        "empty",
        tensorflow="An empty batch, and no channels, are refused.",
        ours="They give an empty result.",
    )
    pool.fails(
        "CVE-2021-29550: a ratio a little above the size",
        value=np.full((1, 1, 1, 1), 60, np.int32),
        pooling_ratio=(1.0, 1.0000014345305555, 1.0, 1.0),
        error="must not be larger than the size it divides, 1",
    )
    pool.fails(
        "CVE-2022-21735: ratios above the sizes", value=np.array([1, 4, 2, 3]).reshape(1, 1, 1, 4),
        pooling_ratio=(1.0, 1.44, 1.73, 1.0),
        error="must not be larger than the size it divides, 1",
    )  # fmt: skip
    pool.fails(
        "CVE-2022-41900: ratios below 1", value=RAMP, pooling_ratio=(1.0, 0.5, 0.5, 1.0),
        error="at least 1",
    )  # fmt: skip
    pool.fails(
        "CVE-2023-25801: a ratio for the batch", value=RAMP, pooling_ratio=(2.0, 1.0, 1.0, 1.0),
        error="must be 1 for batch",
    )  # fmt: skip
    pool.fails("a ratio for two", value=RAMP, pooling_ratio=(2.0, 2.0), error="must have 4 entries")
    pool.fails(
        "a ratio that is no number", value=RAMP, pooling_ratio=(1.0, np.nan, 1.0, 1.0),
        error="must be finite",
    )  # fmt: skip
    pool.fails("not an image", value=RAMP[0], **HALVES, error="must have 4 dimensions")
    pool.fails(
        "a seed that would not count", value=RAMP, **HALVES, seed=1, error="must be 0 unless"
    )
    pool.fails("a seed too large", value=RAMP, **FIXED, seed2=2**63, error="64 bits")
