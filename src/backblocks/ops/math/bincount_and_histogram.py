"""Bin counts and histograms, and the bucket that each number falls in."""

from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap
from backblocks.ops._elementwise import cell_to_cell
from backblocks.ops._inputs import Array
from backblocks.ops._interruptible import as_interruptible
from backblocks.ops._op import op, zero_gradient
from backblocks.ops._spec import Shape, Spec, agreed, ranked, scalar_value, shape_text
from backblocks.ops.array.shapes import INDEX
from backblocks.ops.attrs import Flag, Floats, dtype_of

COUNTED = ("int32", "int64", "float32", "float64")


def _check_count(arg: str, size: Spec) -> int | None:
    count: int | None = scalar_value(arg, size)
    if count is not None and count < 0:
        hint = "Use one more than the largest number that is to be counted."
        raise OpError("must not be negative", arg=arg, got=count, hint=hint)
    return count


def _check_counted(arg: str, cells: Spec, weights: Spec) -> None:
    if cells.value is not None and (cells.value < 0).any():
        raise OpError(
            "must not be negative",
            arg=arg,
            got=cells.value.min(),
            hint="Count whole numbers from 0, such as x - x.min().",
        )
    known = weights.shape is not None and cells.shape is not None
    if known and 0 not in (weights.shape or ()) and None not in (weights.shape or ()):
        agreed("weights", weights, cells.shape, f"the shape of {arg}", "Use [] to count each as 1.")


def _counts(cells: Array, weights: Array, rows: Array, shape: tuple[int, ...]) -> Array:
    """Sums of weights at (row, number); numbers that have no place are passed over."""
    out = np.zeros(shape, weights.dtype)
    inside = cells < shape[-1]
    weighed = (
        weights
        if weights.size
        else as_interruptible(np.broadcast_to(np.ones((), weights.dtype), cells.shape))
    )
    rows = as_interruptible(rows)
    np.add.at(out, (*(rows[inside] for _ in shape[1:]), cells[inside]), weighed[inside])
    return out


@op("Bincount", "int32, int32, T -> bins: T", T=COUNTED)
def bincount(arr: Array, size: Array, weights: Array) -> Array:
    """How often each number from 0 to `size` - 1 is in `arr`, or the sum of its weights.

    bins[b] = Σ over the i with arr[i] = b of weights[i]
    where 0 ≤ b < size, and weights[i] is 1 if weights is empty

    Empty `weights` count each as 1. Numbers from `size` on are passed over.
    """
    return _counts(arr, weights, arr, (size.item(),))


@bincount.shape
def _(arr: Spec, size: Spec, weights: Spec) -> Shape:
    count = _check_count("size", size)
    _check_counted("arr", arr, weights)
    return (count,)


@op("DenseBincount", "Tidx, Tidx, T -> T", Tidx=INDEX, T=COUNTED)
def dense_bincount(
    input: Array, size: Array, weights: Array, *, binary_output: Flag = False
) -> Array:
    """How often each number from 0 to `size` - 1 is in `input`, or in each row of it, or its weights.

    output[…, b] = Σ over the i with input[…, i] = b of weights[…, i]
    where 0 ≤ b < size, and weights[…, i] is 1 if weights is empty
    with binary_output it is 1 if there is such an i, else 0

    With `binary_output` 1 where a number is there at all. Empty `weights` count each as 1. Numbers from
    `size` on are passed over.
    """
    rows = (
        np.broadcast_to(np.arange(len(input))[:, None], input.shape) if input.ndim == 2 else input
    )
    shape = (*input.shape[: input.ndim - 1], size.item())
    if binary_output:
        return np.asarray(_counts(input, weights.reshape(-1)[:0], rows, shape) != 0)
    return _counts(input, weights, rows, shape)


@dense_bincount.shape
def _(input: Spec, size: Spec, weights: Spec, *, binary_output: bool) -> Shape:
    count = _check_count("size", size)
    _check_counted("input", input, weights)
    if input.shape is None:
        return None
    if len(input.shape) not in (1, 2):
        raise OpError(
            "must be a list or a table",
            arg="input",
            got=described(f"shape {shape_text(input.shape)}"),
            hint="Flatten it: x.reshape(-1).",
        )
    return (*input.shape[:-1], count)


for _each in (bincount, dense_bincount):
    _each.no_gradient("TensorFlow has none. UnsortedSegmentSum adds up weights and has one.")

_nothing = np.zeros(0)
bincount.case(
    "one number is too large",
    arr=np.array([1, 1, 5, 2]),
    size=4,
    weights=_nothing,
    out=np.array([0.0, 2, 1, 0]),
)
bincount.case(
    "by weight",
    arr=np.array([[1, 1], [2, 0]]),
    size=3,
    weights=np.array([[1.0, 2], [3, 4]]),
    out=np.array([4.0, 3, 3]),
)
dense_bincount.case(
    "each row",
    input=np.array([[1, 1], [5, 2]]),
    size=4,
    weights=np.zeros(0, np.int64),
    out=np.array([[0, 2, 0, 0], [0, 0, 1, 0]]),
)
dense_bincount.case(
    "there at all",
    input=np.array([1, 1, 2]),
    size=4,
    weights=np.zeros(0, np.int64),
    binary_output=True,
    out=np.array([0, 1, 1, 0]),
)
dense_bincount.fails(
    "a cube", input=np.zeros((1, 1, 1), np.int32), size=1, weights=_nothing, error="list or a table"
)
for _each, _arg in ((bincount, "arr"), (dense_bincount, "input")):
    _each.fails("below 0", **{_arg: [-1, 1]}, size=2, weights=_nothing, error="not be negative")
    _each.fails(
        "fewer than none", **{_arg: [1]}, size=-1, weights=_nothing, error="not be negative"
    )
    _each.fails(
        "weights for others",
        **{_arg: [1, 2]},
        size=3,
        weights=np.zeros(1),
        error="the shape of",
    )


@op("HistogramFixedWidth", "T, T, int32 -> out: dtype", T=COUNTED)
def histogram_fixed_width(
    values: Array,
    value_range: Array,
    nbins: Array,
    *,
    dtype: Annotated[Any, dtype_of(*INDEX)] = "int32",
) -> Array:
    """How many values lie in each of `nbins` equal parts of a range.

    out[b] = how many v of values have min(max(⌊(v - low) / width⌋, 0), nbins - 1) = b
    where low is value_range[0], and width = (value_range[1] - value_range[0]) / nbins

    Values below the range count in the first part, values above it in the last.
    """
    low, high = value_range.astype(np.float64)
    count = nbins.item()
    # The ends are divided first: what lies between them may have no room in the type.
    step = high / count - low / count
    # The end of the range is in the last part, where all is that lies beyond. A single part may be
    # infinitely wide: infinity divided by it is NaN, and fmin then gives that part.
    part = np.fmin((np.maximum(values.astype(np.float64), low) - low) / step, count - 1)
    return np.bincount(part.reshape(-1).astype(np.int64), minlength=count)


@histogram_fixed_width.shape
def _(values: Spec, value_range: Spec, nbins: Spec, *, dtype: Any) -> Shape:
    (ends,) = ranked("value_range", value_range, 1)
    if ends not in (None, 2):
        raise OpError("must have 2 entries", arg="value_range", got=ends, hint="Use [low, high].")
    known = value_range.value
    if known is not None and not (known[0] < known[1] and np.isfinite(known).all()):
        raise OpError(
            "must go from a finite number to a larger one",
            arg="value_range",
            got=known,
            hint="Use [low, high], with low below high.",
        )
    count = scalar_value("nbins", nbins)
    if count is not None and count < 1:
        raise OpError("must be at least 1", arg="nbins", got=count, hint="Use 1 part or more.")
    if values.value is not None and (values.value != values.value).any():
        raise OpError(
            "must not be NaN",
            arg="values",
            got=np.nan,
            hint="Leave such values out: x[~np.isnan(x)].",
        )
    return (count,)


histogram_fixed_width.grad(zero_gradient)
histogram_fixed_width.case(
    "parts of 1, and values outside",
    values=np.array([-1.0, 0, 1.5, 2, 5, 15]),
    value_range=np.array([0.0, 5]),
    nbins=5,
    out=np.array([2, 1, 1, 0, 2]),
)
for _widest in (np.array([-3e38, 3e38], np.float32), np.array([-(2**31), 2**31 - 1], np.int32)):
    histogram_fixed_width.case(
        f"a range wider than {_widest.dtype} can say",
        values=np.append(_widest, _widest.dtype.type(1)),
        value_range=_widest,
        nbins=3,
        out=np.array([1, 1, 1]),
    )
histogram_fixed_width.case(
    "no values", values=_nothing, value_range=np.array([0.0, 5]), nbins=2, out=np.zeros(2)
)
_one_value: dict[str, Any] = {"values": np.array([1.0]), "value_range": [0.0, 5.0], "nbins": 5}
for _about, _change, _error in (
    ("NaN", {"values": np.array([np.nan])}, "must not be NaN"),
    ("no range", {"value_range": [5.0, 5.0]}, "to a larger one"),
    ("three ends", {"value_range": [0.0, 1.0, 2.0]}, "2 entries"),
    ("no parts", {"nbins": 0}, "at least 1"),
):
    histogram_fixed_width.fails(_about, **{**_one_value, **_change}, error=_error)


@op("Bucketize", "T -> output: int32", T=COUNTED)
def bucketize(input: Array, *, boundaries: Floats) -> Array:
    """How many of the boundaries, which rise, are at most as large as each number. NaN is beyond all.

    output[…] = how many b of boundaries have b ≤ input[…]

    Boundaries are float32 numbers.
    """
    return np.searchsorted(np.array(boundaries, np.float32), input, "right")


@bucketize.shape
def _(input: Spec, *, boundaries: tuple[float, ...]) -> Shape:
    if any(b > c for b, c in pairwise(boundaries)):
        raise OpError(
            "must not go down",
            arg="boundaries",
            got=boundaries,
            hint="Sort them: sorted(boundaries).",
        )
    return input.shape


bucketize.grad(zero_gradient)
_cell_by_cell = cell_to_cell(bucketize)


@bucketize.cells
def _(y: Spec, input: Spec, *, boundaries: tuple[float, ...]) -> list[AccessMap]:
    return _cell_by_cell(y, input) if boundaries else []


bucketize.case(
    "three boundaries",
    input=np.array([[-5, 10000], [150, 10], [5, 100]]),
    boundaries=[0, 10, 100],
    out=np.array([[0, 3], [3, 2], [1, 3]]),
)
bucketize.case(
    "NaN and infinities",
    input=np.array([np.nan, np.inf, -np.inf]),
    boundaries=[0.5, 1.5],
    out=np.array([2, 2, 0]),
)
bucketize.case("no boundaries", input=np.array([1.0]), boundaries=[], out=np.array([0]))
bucketize.fails("going down", input=np.array([1.0]), boundaries=[3, 1], error="must not go down")
