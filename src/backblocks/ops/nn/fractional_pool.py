"""Pooling of images by a ratio that need not be a whole number: windows of unequal, random sizes.

Along each axis an increasing sequence of borders, from 0 to the size of the axis, says where windows
begin and end.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from backblocks.dtypes import BY_NAME, REALS, DType, is_float, wide
from backblocks.errors import OpError
from backblocks.ops import _philox
from backblocks.ops._cells import Cells, Way, held, loop
from backblocks.ops._inputs import Array
from backblocks.ops._kept import chance, kept
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Size, Spec, agreed, ranked, sizes_from
from backblocks.ops.array.shapes import shape_of
from backblocks.ops.attrs import Flag, Floats, Seed
from backblocks.ops.random._draws import RESERVED, reserve
from backblocks.ops.random._draws import start as begin

# -- the borders of windows ------------------------------------------------------------------------


def _fractional(
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


def _sequences(
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
    first, state = 0, kept()
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
    return chance()


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


_FROM_FORWARD = "Pass it as the forward op gave it for this input."
_SAME_SEQUENCES = (
    "the shape that these sequences give",
    "Use the input and sequences of the forward op.",
)


def _window_count(arg: str, spec: Spec, n: Size) -> Size:
    """How many windows a sequence makes; it is refused unless they fill an axis of size `n`."""
    (length,) = ranked(arg, spec, 1)
    if length == 0:
        raise OpError("must have at least one entry", arg=arg, got=0, hint=_FROM_FORWARD)
    if spec.value is not None:
        borders = spec.value
        if borders[0] != 0 or (borders[1:] <= borders[:-1]).any():
            raise OpError(
                "must start at 0 and increase", arg=arg, got=borders.tolist(), hint=_FROM_FORWARD
            )
        if n is not None and borders[-1] != n:
            raise OpError(
                f"must end at the size of its axis, {n}",
                arg=arg,
                got=borders.tolist(),
                hint=_FROM_FORWARD,
            )
    return None if length is None else length - 1


# -- what the ops are made of: first along the columns, then along the rows -------------------------

_ROWS, _COLS = 1, 2


def _spans(borders: Array, overlapping: bool) -> list[slice]:
    """The cells of each window along one axis. Overlapping windows share a cell with the next."""
    n = int(borders[-1])
    return [slice(a, min(b + overlapping, n)) for a, b in itertools.pairwise(borders.tolist())]


def _along(axis: int, spans: list[slice], reduce: Callable[..., Array], x: Array) -> Array:
    """`x` with the cells of each window along one axis made into one."""
    if not x.size:
        return np.zeros((*x.shape[:axis], len(spans), *x.shape[axis + 1 :]), x.dtype)
    before = (slice(None),) * axis
    return np.stack([reduce(x[(*before, span)], axis) for span in spans], axis)


def _maximum(x: Array, rows: list[slice], cols: list[slice]) -> Array:
    """The largest value of each window; a NaN in the window wins."""
    return _along(_ROWS, rows, np.max, _along(_COLS, cols, np.max, x))


def _winners(x: Array, rows: list[slice], cols: list[slice]) -> tuple[Array, Array]:
    """Row and column of the cell that wins each window: its first NaN, else its first maximum."""
    # The first row that has the best value, and in it the first column: the first in row-major order.
    best = _along(_COLS, cols, np.max, x)
    row = _along(_ROWS, rows, np.argmax, best) + _starts(rows)[:, None, None]
    col = _along(_COLS, cols, np.argmax, x) + _starts(cols)[:, None]
    return row, np.take_along_axis(col, row, _ROWS)


def _starts(spans: list[slice]) -> Array:
    return np.array([span.start for span in spans])


def _mean(x: Array, rows: list[slice], cols: list[slice]) -> Array:
    """The mean of each window, rounded toward zero if it must be whole."""
    total = _along(_COLS, cols, np.sum, x.astype(_sum_type(x.dtype), copy=False))
    total = _along(_ROWS, rows, np.sum, total)
    if not total.size:  # there are windows all the same, and perhaps very many
        return total
    count = _counts(rows, cols).astype(total.dtype)
    whole = not is_float(x.dtype)
    mean: Array = (total - np.fmod(total, count)) // count if whole else total / count
    return mean


def _sum_type(dtype: DType) -> DType:
    if is_float(dtype):
        return wide(dtype)
    return BY_NAME["uint64" if dtype.kind == "u" else "int64"]


def _counts(rows: list[slice], cols: list[slice]) -> Array:
    """How many cells each window has, shaped to divide (batch, rows, columns, channels)."""
    down, across = ([s.stop - s.start for s in spans] for spans in (rows, cols))
    return np.multiply.outer(down, across)[..., None]


def _spread(axis: int, spans: list[slice], dy: Array, n: int) -> Array:
    """Adds the value of each window along one axis to all of its cells: the adjoint of a sum."""
    before = (slice(None),) * axis
    dx = np.zeros((*dy.shape[:axis], n, *dy.shape[axis + 1 :]), dy.dtype)
    for i, span in enumerate(spans):
        dx[(*before, span)] += dy[(*before, slice(i, i + 1))]
    return dx


# -- the largest -----------------------------------------------------------------------------------


@op(
    "FractionalMaxPool",
    "T -> output: T, row_pooling_sequence: int64, col_pooling_sequence: int64",
    also=("fractional_max_pool2d", "nn.FractionalMaxPool2d"),
    attrs=_fractional,
    stateful=True,
    T=REALS,
)
def fractional_max_pool(value: Array, **how: Any) -> tuple[Array, Array, Array]:
    """The largest value of each window of an image; windows have random, nearly equal sizes.

    output[n, i, j, c] = max over y, x of value[n, y, x, c]
    row_pooling_sequence = 0, …, height: borders of ⌊height / pooling_ratio[1]⌋ windows
    col_pooling_sequence = 0, …, width: borders of ⌊width / pooling_ratio[2]⌋ windows
    where y goes from row_pooling_sequence[i] to row_pooling_sequence[i + 1] - 1, x by columns alike
    with overlapping y goes on to row_pooling_sequence[i + 1], if there is that row, x alike

    `pooling_ratio` says how many times smaller the result is, for each dimension. The sequences are
    the borders of the windows. Lengths are shuffled or, with `pseudo_random`, spread evenly from a
    random start. With `overlapping` each window also has the first row and column of the next.

    Each call draws new windows. If it is `deterministic` they follow from `seed` and `seed2`; if both
    are 0, from the seed of the session, or from seeds that this process has chosen once. A NaN wins
    its window.
    """
    rows, cols = _sequences(value, **how)
    spans = _spans(rows, how["overlapping"]), _spans(cols, how["overlapping"])
    return _maximum(value, *spans), rows, cols


fractional_max_pool.shape(_pooled)
fractional_max_pool.keeps(begin)


@fractional_max_pool.grad
def _(dy: Value, y: Value, value: Value, *, overlapping: bool, **how: Any) -> list[Value]:
    if dy.output is None:
        return [None]
    borders = y.row_pooling_sequence, y.col_pooling_sequence
    return [fractional_max_pool_grad(value, y.output, dy.output, *borders, overlapping=overlapping)]


@op("FractionalMaxPoolGrad", "T, T, T, int64, int64 -> T", T=REALS)
def fractional_max_pool_grad(
    orig_input: Array,
    orig_output: Array,
    out_backprop: Array,
    row_pooling_sequence: Array,
    col_pooling_sequence: Array,
    *,
    overlapping: Flag = False,
) -> Array:
    """Sends each window's gradient back to the cell that won it; of equals, the first.

    output[n, y, x, c] = Σ over the windows i, j that cell y, x has won of out_backprop[n, i, j, c]
    where the winner of a window is the first NaN of orig_input, or else the first maximum
    where y goes from row_pooling_sequence[i] to row_pooling_sequence[i + 1] - 1, x by columns alike
    with overlapping y goes on to row_pooling_sequence[i + 1], if there is that row, x alike

    The winner is found in `orig_input`; of `orig_output` only the shape is used.
    """
    rows = _spans(row_pooling_sequence, overlapping)
    cols = _spans(col_pooling_sequence, overlapping)
    row, col = _winners(orig_input, rows, cols)
    image, _, _, channel = np.ogrid[tuple(slice(n) for n in row.shape)]
    dx = np.zeros(orig_input.shape, wide(orig_input.dtype))
    np.add.at(dx, (image, row, col, channel), out_backprop)
    return dx


@fractional_max_pool_grad.shape
def _(
    orig_input: Spec,
    orig_output: Spec,
    out_backprop: Spec,
    row_pooling_sequence: Spec,
    col_pooling_sequence: Spec,
    *,
    overlapping: bool,
) -> Shape:
    batch, height, width, channels = ranked("orig_input", orig_input, 4, "as in NHWC")
    rows = _window_count("row_pooling_sequence", row_pooling_sequence, height)
    cols = _window_count("col_pooling_sequence", col_pooling_sequence, width)
    expected = (batch, rows, cols, channels)
    out = agreed("orig_output", orig_output, expected, *_SAME_SEQUENCES)
    agreed("out_backprop", out_backprop, out, *_SAME_SEQUENCES)
    return (batch, height, width, channels)


fractional_max_pool_grad.differs(
    "orig_output",
    tensorflow="An orig_output that pooling orig_input does not give is refused.",
    ours="Only its shape is used, as in every max-pool gradient.",
)
fractional_max_pool_grad.no_gradient(
    "It would pick the value at each window's winner, and TensorFlow has no op that does so: "
    "FractionalMaxPool can be differentiated once."
)


# -- the mean --------------------------------------------------------------------------------------


@op(
    "FractionalAvgPool",
    "T -> output: T, row_pooling_sequence: int64, col_pooling_sequence: int64",
    attrs=_fractional,
    stateful=True,
    T=REALS,
)
def fractional_avg_pool(value: Array, **how: Any) -> tuple[Array, Array, Array]:
    """The mean of each window of an image; windows have random, nearly equal sizes.

    output[n, i, j, c] = mean over y, x of value[n, y, x, c]
    row_pooling_sequence = 0, …, height: borders of ⌊height / pooling_ratio[1]⌋ windows
    col_pooling_sequence = 0, …, width: borders of ⌊width / pooling_ratio[2]⌋ windows
    where y goes from row_pooling_sequence[i] to row_pooling_sequence[i + 1] - 1, x by columns alike
    with overlapping y goes on to row_pooling_sequence[i + 1], if there is that row, x alike
    with whole numbers the mean is cut toward 0

    `pooling_ratio` says how many times smaller the result is, for each dimension. The sequences are
    the borders of the windows. Lengths are shuffled or, with `pseudo_random`, spread evenly from a
    random start. With `overlapping` each window also has the first row and column of the next.

    Each call draws new windows. If it is `deterministic` they follow from `seed` and `seed2`; if both
    are 0, from the seed of the session, or from seeds that this process has chosen once. Means of
    integers are rounded toward zero.
    """
    rows, cols = _sequences(value, **how)
    spans = _spans(rows, how["overlapping"]), _spans(cols, how["overlapping"])
    return _mean(value, *spans), rows, cols


fractional_avg_pool.shape(_pooled)
fractional_avg_pool.keeps(begin)


@fractional_avg_pool.grad
def _(dy: Value, y: Value, value: Value, *, overlapping: bool, **how: Any) -> list[Value]:
    if dy.output is None:
        return [None]
    borders = y.row_pooling_sequence, y.col_pooling_sequence
    shape = shape_of(value, "int64")
    return [fractional_avg_pool_grad(shape, dy.output, *borders, overlapping=overlapping)]


@op("FractionalAvgPoolGrad", "int64, T, int64, int64 -> T", T=REALS)
def fractional_avg_pool_grad(
    orig_input_tensor_shape: Array,
    out_backprop: Array,
    row_pooling_sequence: Array,
    col_pooling_sequence: Array,
    *,
    overlapping: Flag = False,
) -> Array:
    """Spreads each window's gradient evenly over its cells, and adds up where windows overlap.

    output[n, y, x, c] = Σ over the windows i, j that cell y, x is in of out_backprop[n, i, j, c] / cells
    where cells is how many the window has
    where y goes from row_pooling_sequence[i] to row_pooling_sequence[i + 1] - 1, x by columns alike
    with overlapping y goes on to row_pooling_sequence[i + 1], if there is that row, x alike
    with whole numbers the sum is cut toward 0
    """
    _, height, width, _ = orig_input_tensor_shape.tolist()
    rows = _spans(row_pooling_sequence, overlapping)
    cols = _spans(col_pooling_sequence, overlapping)
    share = out_backprop.astype(np.float64) / _counts(rows, cols)
    dx = _spread(_ROWS, rows, _spread(_COLS, cols, share, width), height)
    return dx.astype(out_backprop.dtype)


@fractional_avg_pool_grad.shape
def _(
    orig_input_tensor_shape: Spec,
    out_backprop: Spec,
    row_pooling_sequence: Spec,
    col_pooling_sequence: Spec,
    *,
    overlapping: bool,
) -> Shape:
    sizes = sizes_from("orig_input_tensor_shape", orig_input_tensor_shape, [4])
    rows = _window_count("row_pooling_sequence", row_pooling_sequence, sizes[1])
    cols = _window_count("col_pooling_sequence", col_pooling_sequence, sizes[2])
    agreed("out_backprop", out_backprop, (sizes[0], rows, cols, sizes[3]), *_SAME_SEQUENCES)
    return sizes


fractional_avg_pool_grad.no_gradient(
    "It would take the mean of windows whose borders are given, and TensorFlow has no op that does "
    "so: FractionalAvgPool can be differentiated once."
)


# -- which cells belong together ------------------------------------------------------------------


def _way(
    rule: str,
    of: tuple[str, ...],
    image: tuple[int, ...],
    borders: tuple[Array, Array],
    overlapping: bool,
    *,
    cells: tuple[str, ...],
    windows: tuple[str, ...],
    candidates: str = "",
) -> list[Way]:
    """Which cells belong together, by pins as in `pool_way`. Windows have their own sizes: tables tell."""
    spans = [_spans(each, overlapping) for each in borders]
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
    return [Way(rule, of, loops, at, tables)]


def _forward_cells(y: Any, value: Spec, *, overlapping: bool, rule: str) -> list[Way]:
    borders = y.row_pooling_sequence.contents, y.col_pooling_sequence.contents
    image = value.sizes
    pins: Any = {"cells": ("value",), "windows": ("output",)}
    return _way(rule, ("value",), image, borders, overlapping, **pins)


@fractional_max_pool.cells
def _(y: Any, value: Spec, *, overlapping: bool, **how: Any) -> list[Way]:
    return _forward_cells(y, value, overlapping=overlapping, rule="max")


@fractional_avg_pool.cells
def _(y: Any, value: Spec, *, overlapping: bool, **how: Any) -> list[Way]:
    (way,) = _forward_cells(y, value, overlapping=overlapping, rule="mean")
    return [replace(way, cut=not is_float(value.dtype))]


@fractional_max_pool_grad.cells
def _(
    y: Spec,
    orig_input: Spec,
    orig_output: Spec,
    out_backprop: Spec,
    row_pooling_sequence: Spec,
    col_pooling_sequence: Spec,
    *,
    overlapping: bool,
) -> list[Way]:
    return _way(
        "winners",
        ("out_backprop", "orig_input"),
        y.sizes,
        (row_pooling_sequence.contents, col_pooling_sequence.contents),
        overlapping,
        cells=("output",),
        windows=("orig_output", "out_backprop"),
        candidates="orig_input",
    )


@fractional_avg_pool_grad.cells
def _(
    y: Spec,
    orig_input_tensor_shape: Spec,
    out_backprop: Spec,
    row_pooling_sequence: Spec,
    col_pooling_sequence: Spec,
    *,
    overlapping: bool,
) -> list[Way]:
    (way,) = _way(
        "shares",
        ("out_backprop",),
        y.sizes,
        (row_pooling_sequence.contents, col_pooling_sequence.contents),
        overlapping,
        cells=("output",),
        windows=("out_backprop",),
    )
    return [replace(way, cut=not is_float(y.dtype))]


# -- cases -----------------------------------------------------------------------------------------

_ramp = np.arange(16.0).reshape(1, 4, 4, 1)
_line, _empty = np.array([1.0, 5, 2, 3, 4]).reshape(1, 1, 5, 1), np.zeros((0, 4, 4, 1))
_gradient = np.array([2.0, 6, 8]).reshape(1, 1, 3, 1)
_halves: dict[str, Any] = {"pooling_ratio": (1, 2, 2, 1)}
_fixed: dict[str, Any] = {"pooling_ratio": (1, 1, 1.5, 1), "deterministic": True, "seed": 1}
_whole, _two, _three = np.array([0, 1]), np.array([0, 2, 4]), np.array([0, 1, 3, 5])
_two_windows = {"row_pooling_sequence": _two, "col_pooling_sequence": _two}
_three_windows = {"row_pooling_sequence": _whole, "col_pooling_sequence": _three}


def _row(*values: Any) -> Array:
    return np.array(values).reshape(1, 1, -1, 1)


fractional_max_pool.case(
    "a ratio of 2 leaves nothing to chance",
    value=_ramp,
    **_halves,
    out=(_ramp[:, 1::2, 1::2], _two, _two),
)
fractional_max_pool.case(
    "shuffled lengths", value=_line, **_fixed, out=(_row(1, 5, 4), _whole, _three)
)
fractional_max_pool.case(
    "evenly spread",
    value=_line,
    **_fixed,
    pseudo_random=True,
    out=(_row(5, 3, 4), _whole, np.array([0, 2, 4, 5])),
)
fractional_max_pool.case(
    "overlapping", value=_line, **_fixed, overlapping=True, out=(_row(5, 5, 4), _whole, _three)
)
fractional_max_pool.case(
    "a NaN wins its window",
    value=_row(1, 5, np.nan, -np.inf, -np.inf),
    **_fixed,
    out=(_row(1, np.nan, -np.inf), _whole, _three),
)
fractional_max_pool.case(
    "an empty batch", value=_empty, **_halves, out=(np.zeros((0, 2, 2, 1)), _two, _two)
)

fractional_max_pool_grad.case(
    "the last of a ramp wins",
    orig_input=_ramp,
    orig_output=_ramp[:, 1::2, 1::2],
    out_backprop=_ramp[:, 1::2, 1::2],
    **_two_windows,
    out=_ramp * (_ramp % 2) * (_ramp // 4 % 2),
)
fractional_max_pool_grad.case(
    "an overlap is won twice",
    orig_input=_line,
    orig_output=_row(5.0, 5, 4),
    out_backprop=_gradient,
    **_three_windows,
    overlapping=True,
    out=_row(0, 2 + 6, 0, 0, 8),
)
fractional_max_pool_grad.case(
    "of equals, and of NaN, the first",
    orig_input=_row(7.0, 7, 7, np.nan, np.nan),
    orig_output=_row(7, 7, np.nan),
    out_backprop=_gradient,
    **_three_windows,
    out=_row(2, 6, 0, 8, 0),
)
fractional_max_pool_grad.case(
    "an empty batch",
    orig_input=_empty,
    orig_output=_empty[:, :2, :2],
    out_backprop=_empty[:, :2, :2],
    **_two_windows,
    out=_empty,
)

fractional_avg_pool.case(
    "a ratio of 2 leaves nothing to chance",
    value=_ramp,
    **_halves,
    out=(_ramp[:, ::2, ::2] + (0 + 1 + 4 + 5) / 4, _two, _two),
)
fractional_avg_pool.case(
    "shuffled lengths", value=_line, **_fixed, out=(_row(1, 3.5, 3.5), _whole, _three)
)
fractional_avg_pool.case(
    "overlapping",
    value=_line,
    **_fixed,
    overlapping=True,
    out=(_row(3, 10 / 3, 3.5), _whole, _three),
)
fractional_avg_pool.case(
    "integers are rounded toward zero, and never wrap around",
    value=np.array([1, -3, 0, 2**31 - 1, 2**31 - 1], np.int32).reshape(1, 1, 5, 1),
    **_fixed,
    out=(np.array([1, -1, 2**31 - 1], np.int32).reshape(1, 1, 3, 1), _whole, _three),
)
fractional_avg_pool.case(
    "an empty batch", value=_empty, **_halves, out=(np.zeros((0, 2, 2, 1)), _two, _two)
)

fractional_avg_pool_grad.case(
    "spread evenly",
    orig_input_tensor_shape=[1, 1, 5, 1],
    out_backprop=_gradient,
    **_three_windows,
    out=_row(2, 3, 3, 4, 4),
)
fractional_avg_pool_grad.case(
    "added up where windows overlap",
    orig_input_tensor_shape=[1, 1, 5, 1],
    out_backprop=_gradient,
    **_three_windows,
    overlapping=True,
    out=_row(1, 1 + 2, 2, 2 + 4, 4),
)
fractional_avg_pool_grad.case(
    "whole numbers are rounded toward zero, after the sum",
    orig_input_tensor_shape=[1, 1, 5, 1],
    out_backprop=np.array([-1, 7, -7]).reshape(1, 1, 3, 1),
    **_three_windows,
    overlapping=True,
    out=_row(0, 1, 2, -1, -3),
)

for _pool in (fractional_max_pool, fractional_avg_pool):
    _pool.fails(
        "CVE-2021-29550: a ratio a little above the size",
        value=np.full((1, 1, 1, 1), 60, np.int32),
        pooling_ratio=(1.0, 1.0000014345305555, 1.0, 1.0),
        error="must not be larger than the size it divides, 1",
    )
    _pool.fails(
        "CVE-2022-21735: ratios above the sizes",
        value=np.array([1, 4, 2, 3]).reshape(1, 1, 1, 4),
        pooling_ratio=(1.0, 1.44, 1.73, 1.0),
        error="must not be larger than the size it divides, 1",
    )
    _pool.fails(
        "CVE-2022-41900: ratios below 1",
        value=_ramp,
        pooling_ratio=(1.0, 0.5, 0.5, 1.0),
        error="at least 1",
    )
    _pool.fails(
        "CVE-2023-25801: a ratio for the batch",
        value=_ramp,
        pooling_ratio=(2.0, 1.0, 1.0, 1.0),
        error="must be 1 for batch",
    )
    _pool.fails(
        "a ratio for two", value=_ramp, pooling_ratio=(2.0, 2.0), error="must have 4 entries"
    )
    _pool.fails(
        "a ratio that is no number",
        value=_ramp,
        pooling_ratio=(1.0, np.nan, 1.0, 1.0),
        error="must be finite",
    )
    _pool.fails("not an image", value=_ramp[0], **_halves, error="must have 4 dimensions")
    _pool.fails(
        "a seed that would not count", value=_ramp, **_halves, seed=1, error="must be 0 unless"
    )
    _pool.fails("a seed too large", value=_ramp, **_fixed, seed2=2**63, error="64 bits")

_max_pooled: dict[str, Any] = {
    "orig_input": _ramp,
    "orig_output": _ramp[:, 1::2, 1::2],
    "out_backprop": np.ones((1, 2, 2, 1)),
    **_two_windows,
}
_refused: list[tuple[str, dict[str, Any], str]] = [
    (
        "CVE-2021-29580: an output without dimensions",
        {"orig_output": np.zeros(0)},
        "the shape that these sequences give",
    ),
    ("CVE-2021-29580: an input of one dimension", {"orig_input": np.ones(1)}, "4 dimensions"),
    (
        "CVE-2022-35981: sequences of another length",
        {"row_pooling_sequence": np.zeros(5, np.int64)},
        "must start at 0 and increase",
    ),
    (
        "CVE-2022-41897: a sequence from far below 0",
        {"row_pooling_sequence": np.array([-67108864, 1, 4])},
        "must start at 0",
    ),
    (
        "a sequence of no entries",
        {"col_pooling_sequence": np.zeros(0, np.int64)},
        "at least one entry",
    ),
    ("a sequence that is too short", {"col_pooling_sequence": np.array([0, 4])}, "must have the"),
    ("a sequence beyond the image", {"col_pooling_sequence": np.array([0, 2, 5])}, "must end at"),
    ("a gradient for more images", {"out_backprop": np.ones((2, 2, 2, 1))}, "must have the shape"),
    ("a gradient of one dimension", {"out_backprop": np.ones(4)}, "must have the shape"),
]
for _about, _change, _error in _refused:
    fractional_max_pool_grad.fails(_about, **_max_pooled | _change, error=_error)

_avg_pooled: dict[str, Any] = {
    "orig_input_tensor_shape": [1, 4, 4, 1],
    "out_backprop": np.ones((1, 2, 2, 1)),
    **_two_windows,
}
_refused = [
    (
        "CVE-2021-29578: fewer borders than the gradient has windows",
        {"row_pooling_sequence": np.array([0, 4])},
        "must have the shape",
    ),
    (
        "CVE-2021-37651: an empty batch, and borders below 0",
        {
            "orig_input_tensor_shape": [0, 1, 2, 3],
            "row_pooling_sequence": np.zeros(5, np.int64),
            "col_pooling_sequence": np.array([-2, 0, 0, 2, 0]),
        },
        "must start at 0 and increase",
    ),
    (
        "CVE-2022-21730: borders below 0 and beyond the image",
        {
            "orig_input_tensor_shape": [2, 2, 2, 2],
            "out_backprop": np.ones((1, 2, 3, 2)),
            "row_pooling_sequence": np.array([-10, 1, 2, 3]),
            "col_pooling_sequence": np.array([1, 2, 3, 4]),
        },
        "must start at 0 and increase",
    ),
    (
        "CVE-2022-35963: sizes far below 0",
        {"orig_input_tensor_shape": [-1879048192] * 4},
        "must not be negative",
    ),
    ("a shape of two sizes", {"orig_input_tensor_shape": [4, 4]}, "must have 4 entries"),
    ("borders beyond the image", {"row_pooling_sequence": np.array([0, 2, 9])}, "must end at"),
    ("borders that go back", {"col_pooling_sequence": np.array([0, 3, 2, 4])}, "and increase"),
    ("a gradient for more images", {"out_backprop": np.ones((64, 2, 2, 1))}, "must have the shape"),
    ("a gradient of one dimension", {"out_backprop": np.ones(4)}, "must have the shape"),
]
for _about, _change, _error in _refused:
    fractional_avg_pool_grad.fails(_about, **_avg_pooled | _change, error=_error)

for _pool in (fractional_max_pool, fractional_avg_pool):
    _pool.differs(
        "deterministic, with both seeds 0",
        tensorflow="Each node draws seeds once and keeps them.",
        ours="Each process draws seeds once, for all such calls.",
        agree="Give a seed: equal seeds give TensorFlow's own sequences, to the bit.",
    )
    _pool.differs(
        "empty",
        tensorflow="An empty batch, and no channels, are refused.",
        ours="They give an empty result.",
    )
fractional_avg_pool.differs(
    "sums",
    tensorflow="Sums of integers wrap around: the mean of four times 2147483647 is -1.",
    ours="Integers are added up in 64 bits, half types in float32.",
)
for _each in (fractional_max_pool, fractional_max_pool_grad):
    _each.differs(
        "nan",
        at="nan",
        tensorflow="A NaN never wins; a window of nothing else gives the lowest finite value. The "
        "gradient is refused where a window starts with NaN.",
        ours="The first NaN wins and gets the gradient.",
    )
    _each.differs(
        "inf",
        at="-inf",
        tensorflow="A window of minus infinity alone gives the lowest finite value; its gradient "
        "is refused.",
        ours="It gives minus infinity, and its first cell gets the gradient.",
    )
fractional_max_pool_grad.differs(
    "shapes that do not agree",
    tensorflow="out_backprop may have any rank, and be smaller than the output.",
    ours="It must have the shape of the output.",
)
fractional_max_pool_grad.differs(
    "very small images",
    tensorflow="Refused if the lengths of the sequences, multiplied, exceed the cells of orig_input.",
    ours="Every image that can be pooled has a gradient.",
)
fractional_avg_pool_grad.differs(
    "whole numbers where windows overlap",
    tensorflow="Shares are added up in float64, window by window, and then rounded toward zero.",
    ours="They are added up along columns first, so that a sum which should be whole may come out "
    "just below it where TensorFlow's does not, or the other way about: one less, or one more.",
)
fractional_avg_pool_grad.differs(
    "sequences",
    tensorflow="They may be longer than needed, go back, go beyond the image, or not start at 0; "
    "batch and channels of out_backprop are not looked at.",
    ours="They must run from 0 to the size of the image in as many steps as out_backprop has "
    "windows, and batch and channels must agree.",
)
