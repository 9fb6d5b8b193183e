"""Max pooling of images by a ratio that need not be a whole number, and its gradient."""

from typing import Any

import numpy as np

from backblocks.dtypes import REALS, wide
from backblocks.ops._access_maps import AccessMap
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec, agreed, ranked
from backblocks.ops.attrs import Flag
from backblocks.ops.nn._fractional_pool import (
    COLS,
    EMPTY,
    FIXED,
    GRADIENT,
    HALVES,
    LINE,
    RAMP,
    ROWS,
    SAME_SEQUENCES,
    THREE,
    THREE_WINDOWS,
    TWO,
    TWO_WINDOWS,
    WHOLE,
    along,
    complete,
    forward_cells,
    fractional,
    row,
    sequences,
    window_access,
    window_count,
    window_spans,
)

# -- what the ops are made of ---------------------------------------------------------------------


def _maximum(x: Array, rows: list[slice], cols: list[slice]) -> Array:
    """The largest value of each window; a NaN in the window wins."""
    return along(ROWS, rows, np.max, along(COLS, cols, np.max, x))


def _winners(x: Array, rows: list[slice], cols: list[slice]) -> tuple[Array, Array]:
    """Row and column of the cell that wins each window: its first NaN, else its first maximum."""
    # The first row that has the best value, and in it the first column: the first in row-major order.
    best = along(COLS, cols, np.max, x)
    row = along(ROWS, rows, np.argmax, best) + _starts(rows)[:, None, None]
    col = along(COLS, cols, np.argmax, x) + _starts(cols)[:, None]
    return row, np.take_along_axis(col, row, ROWS)


def _starts(spans: list[slice]) -> Array:
    return np.array([span.start for span in spans])


# -- the largest value of each window -------------------------------------------------------------


@op(
    "FractionalMaxPool",
    "T -> output: T, row_pooling_sequence: int64, col_pooling_sequence: int64",
    aliases=("fractional_max_pool2d", "nn.FractionalMaxPool2d"),
    attrs=fractional,
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
    rows, cols = sequences(value, **how)
    spans = window_spans(rows, how["overlapping"]), window_spans(cols, how["overlapping"])
    return _maximum(value, *spans), rows, cols


complete(fractional_max_pool)


@fractional_max_pool.grad
def _(dy: Value, y: Value, value: Value, *, overlapping: bool, **how: Any) -> list[Value]:
    if dy.output is None:
        return [None]
    borders = y.row_pooling_sequence, y.col_pooling_sequence
    return [fractional_max_pool_grad(value, y.output, dy.output, *borders, overlapping=overlapping)]


@fractional_max_pool.cells
def _(y: Any, value: Spec, *, overlapping: bool, **how: Any) -> list[AccessMap]:
    return forward_cells(y, value, overlapping=overlapping, rule="max")


_NAN: dict[str, Any] = {
    "topic": "nan",
    "at": "nan",
    "tensorflow": "A NaN never wins; a window of nothing else gives the lowest finite value. The "
    "gradient is refused where a window starts with NaN.",
    "ours": "The first NaN wins and gets the gradient.",
}
_INF: dict[str, Any] = {
    "topic": "inf",
    "at": "-inf",
    "tensorflow": "A window of minus infinity alone gives the lowest finite value; its gradient "
    "is refused.",
    "ours": "It gives minus infinity, and its first cell gets the gradient.",
}

fractional_max_pool.differs(**_NAN)
fractional_max_pool.differs(**_INF)

fractional_max_pool.case(
    "a ratio of 2 leaves nothing to chance", value=RAMP, **HALVES,
    out=(RAMP[:, 1::2, 1::2], TWO, TWO),
)  # fmt: skip
fractional_max_pool.case("shuffled lengths", value=LINE, **FIXED, out=(row(1, 5, 4), WHOLE, THREE))
fractional_max_pool.case(
    "evenly spread", value=LINE, **FIXED, pseudo_random=True,
    out=(row(5, 3, 4), WHOLE, np.array([0, 2, 4, 5])),
)  # fmt: skip
fractional_max_pool.case(
    "overlapping", value=LINE, **FIXED, overlapping=True, out=(row(5, 5, 4), WHOLE, THREE)
)
fractional_max_pool.case(
    "a NaN wins its window", value=row(1, 5, np.nan, -np.inf, -np.inf), **FIXED,
    out=(row(1, np.nan, -np.inf), WHOLE, THREE),
)  # fmt: skip
fractional_max_pool.case(
    "an empty batch", value=EMPTY, **HALVES, out=(np.zeros((0, 2, 2, 1)), TWO, TWO)
)


# -- its gradient ---------------------------------------------------------------------------------


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
    rows = window_spans(row_pooling_sequence, overlapping)
    cols = window_spans(col_pooling_sequence, overlapping)
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
    rows = window_count("row_pooling_sequence", row_pooling_sequence, height)
    cols = window_count("col_pooling_sequence", col_pooling_sequence, width)
    expected = (batch, rows, cols, channels)
    out = agreed("orig_output", orig_output, expected, *SAME_SEQUENCES)
    agreed("out_backprop", out_backprop, out, *SAME_SEQUENCES)
    return (batch, height, width, channels)


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
) -> list[AccessMap]:
    return window_access(
        "winners",
        ("out_backprop", "orig_input"),
        y.sizes,
        (row_pooling_sequence.contents, col_pooling_sequence.contents),
        overlapping,
        cells=("output",),
        windows=("orig_output", "out_backprop"),
        candidates="orig_input",
    )


fractional_max_pool_grad.no_gradient(
    "It would pick the value at each window's winner, and TensorFlow has no op that does so: "
    "FractionalMaxPool can be differentiated once."
)
fractional_max_pool_grad.differs(
    "orig_output",
    tensorflow="An orig_output that pooling orig_input does not give is refused.",
    ours="Only its shape is used, as in every max-pool gradient.",
)
fractional_max_pool_grad.differs(**_NAN)
fractional_max_pool_grad.differs(**_INF)
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

fractional_max_pool_grad.case(
    "the last of a ramp wins", orig_input=RAMP, orig_output=RAMP[:, 1::2, 1::2],
    out_backprop=RAMP[:, 1::2, 1::2], **TWO_WINDOWS, out=RAMP * (RAMP % 2) * (RAMP // 4 % 2),
)  # fmt: skip
fractional_max_pool_grad.case(
    "an overlap is won twice", orig_input=LINE, orig_output=row(5.0, 5, 4),
    out_backprop=GRADIENT, **THREE_WINDOWS, overlapping=True, out=row(0, 2 + 6, 0, 0, 8),
)  # fmt: skip
fractional_max_pool_grad.case(
    "of equals, and of NaN, the first", orig_input=row(7.0, 7, 7, np.nan, np.nan),
    orig_output=row(7, 7, np.nan), out_backprop=GRADIENT, **THREE_WINDOWS,
    out=row(2, 6, 0, 8, 0),
)  # fmt: skip
fractional_max_pool_grad.case(
    "an empty batch", orig_input=EMPTY, orig_output=EMPTY[:, :2, :2],
    out_backprop=EMPTY[:, :2, :2], **TWO_WINDOWS, out=EMPTY,
)  # fmt: skip

_max_pooled: dict[str, Any] = {
    "orig_input": RAMP,
    "orig_output": RAMP[:, 1::2, 1::2],
    "out_backprop": np.ones((1, 2, 2, 1)),
    **TWO_WINDOWS,
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
