"""Mean pooling of images by a ratio that need not be a whole number, and its gradient."""

from dataclasses import replace
from typing import Any

import numpy as np

from backblocks.dtypes import BY_NAME, REALS, DType, is_float, wide
from backblocks.ops._access_maps import AccessMap
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec, agreed, sizes_from
from backblocks.ops.array.shapes import shape_of
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


def _mean(x: Array, rows: list[slice], cols: list[slice]) -> Array:
    """The mean of each window, rounded toward zero if it must be whole."""
    total = along(COLS, cols, np.sum, x.astype(_sum_type(x.dtype), copy=False))
    total = along(ROWS, rows, np.sum, total)
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


# -- the mean of each window ----------------------------------------------------------------------


@op(
    "FractionalAvgPool",
    "T -> output: T, row_pooling_sequence: int64, col_pooling_sequence: int64",
    attrs=fractional,
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
    rows, cols = sequences(value, **how)
    spans = window_spans(rows, how["overlapping"]), window_spans(cols, how["overlapping"])
    return _mean(value, *spans), rows, cols


complete(fractional_avg_pool)


@fractional_avg_pool.grad
def _(dy: Value, y: Value, value: Value, *, overlapping: bool, **how: Any) -> list[Value]:
    if dy.output is None:
        return [None]
    borders = y.row_pooling_sequence, y.col_pooling_sequence
    shape = shape_of(value, "int64")
    return [fractional_avg_pool_grad(shape, dy.output, *borders, overlapping=overlapping)]


@fractional_avg_pool.cells
def _(y: Any, value: Spec, *, overlapping: bool, **how: Any) -> list[AccessMap]:
    (access,) = forward_cells(y, value, overlapping=overlapping, rule="mean")
    return [replace(access, cut=not is_float(value.dtype))]


fractional_avg_pool.differs(
    "sums",
    tensorflow="Sums of integers wrap around: the mean of four times 2147483647 is -1.",
    ours="Integers are added up in 64 bits, half types in float32.",
)

fractional_avg_pool.case(
    "a ratio of 2 leaves nothing to chance", value=RAMP, **HALVES,
    out=(RAMP[:, ::2, ::2] + (0 + 1 + 4 + 5) / 4, TWO, TWO),
)  # fmt: skip
fractional_avg_pool.case(
    "shuffled lengths", value=LINE, **FIXED, out=(row(1, 3.5, 3.5), WHOLE, THREE)
)
fractional_avg_pool.case(
    "overlapping", value=LINE, **FIXED, overlapping=True,
    out=(row(3, 10 / 3, 3.5), WHOLE, THREE),
)  # fmt: skip
fractional_avg_pool.case(
    "integers are rounded toward zero, and never wrap around",
    value=np.array([1, -3, 0, 2**31 - 1, 2**31 - 1], np.int32).reshape(1, 1, 5, 1), **FIXED,
    out=(np.array([1, -1, 2**31 - 1], np.int32).reshape(1, 1, 3, 1), WHOLE, THREE),
)  # fmt: skip
fractional_avg_pool.case(
    "an empty batch", value=EMPTY, **HALVES, out=(np.zeros((0, 2, 2, 1)), TWO, TWO)
)


# -- its gradient ---------------------------------------------------------------------------------


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
    rows = window_spans(row_pooling_sequence, overlapping)
    cols = window_spans(col_pooling_sequence, overlapping)
    share = out_backprop.astype(np.float64) / _counts(rows, cols)
    dx = _spread(ROWS, rows, _spread(COLS, cols, share, width), height)
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
    rows = window_count("row_pooling_sequence", row_pooling_sequence, sizes[1])
    cols = window_count("col_pooling_sequence", col_pooling_sequence, sizes[2])
    agreed("out_backprop", out_backprop, (sizes[0], rows, cols, sizes[3]), *SAME_SEQUENCES)
    return sizes


@fractional_avg_pool_grad.cells
def _(
    y: Spec,
    orig_input_tensor_shape: Spec,
    out_backprop: Spec,
    row_pooling_sequence: Spec,
    col_pooling_sequence: Spec,
    *,
    overlapping: bool,
) -> list[AccessMap]:
    (access,) = window_access(
        "shares",
        ("out_backprop",),
        y.sizes,
        (row_pooling_sequence.contents, col_pooling_sequence.contents),
        overlapping,
        cells=("output",),
        windows=("out_backprop",),
    )
    return [replace(access, cut=not is_float(y.dtype))]


fractional_avg_pool_grad.no_gradient(
    "It would take the mean of windows whose borders are given, and TensorFlow has no op that does "
    "so: FractionalAvgPool can be differentiated once."
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

fractional_avg_pool_grad.case(
    "spread evenly", orig_input_tensor_shape=[1, 1, 5, 1], out_backprop=GRADIENT, **THREE_WINDOWS,
    out=row(2, 3, 3, 4, 4),
)  # fmt: skip
fractional_avg_pool_grad.case(
    "added up where windows overlap", orig_input_tensor_shape=[1, 1, 5, 1], out_backprop=GRADIENT,
    **THREE_WINDOWS, overlapping=True, out=row(1, 1 + 2, 2, 2 + 4, 4),
)  # fmt: skip
fractional_avg_pool_grad.case(
    "whole numbers are rounded toward zero, after the sum", orig_input_tensor_shape=[1, 1, 5, 1],
    out_backprop=np.array([-1, 7, -7]).reshape(1, 1, 3, 1), **THREE_WINDOWS, overlapping=True,
    out=row(0, 1, 2, -1, -3),
)  # fmt: skip

_avg_pooled: dict[str, Any] = {
    "orig_input_tensor_shape": [1, 4, 4, 1],
    "out_backprop": np.ones((1, 2, 2, 1)),
    **TWO_WINDOWS,
}
_refused: list[tuple[str, dict[str, Any], str]] = [
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
