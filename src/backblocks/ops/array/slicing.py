"""Slices and strided slices, and the gradient of the latter."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import NAMES, REARRANGED, zeros
from backblocks.errors import OpError
from backblocks.ops._access_maps import AccessMap, Cells, Coordinate, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Size, Spec, agreed, known_value, ranked, sizes_from
from backblocks.ops.array.shapes import INDEX, shape_of
from backblocks.ops.attrs import Int


@op("Slice", "T, Index, Index -> T", aliases=("crop", "narrow"), T=REARRANGED, Index=INDEX)
def slice_(input: Array, begin: Array, size: Array) -> Array:
    """The box of cells that starts at `begin` and has this `size`; -1 is all that follows.

    output[i] = input[begin + i]
    where i stands for all axes, and 0 ≤ i < size
    """
    box: list[Any] = [
        slice(b, None if n == -1 else b + n)
        for b, n in zip(begin.tolist(), size.tolist(), strict=True)
    ]
    return input[(..., *box)]


@slice_.shape
def _(input: Spec, begin: Spec, size: Spec) -> Shape:
    (starts,), (lengths,) = ranked("begin", begin, 1), ranked("size", size, 1)
    known = (None if input.shape is None else len(input.shape), starts, lengths)
    rank = next((n for n in known if n is not None), None)
    if rank is None:
        return None
    why, hint = "an entry for each dimension of input", "Use 0 and -1 for all of an axis."
    agreed("begin", begin, (rank,), why, hint)
    agreed("size", size, (rank,), why, hint)
    sizes = input.shape or (None,) * rank
    first = [None] * rank if begin.value is None else begin.value.tolist()
    count = [None] * rank if size.value is None else size.value.tolist()
    return tuple(_length(*axis) for axis in zip(sizes, first, count, range(rank), strict=True))


def _length(n: Size, begin: Size, size: Size, axis: int) -> Size:
    """How many cells a slice has along an axis of `n`; refused if it is not all inside."""
    if begin is not None and (begin < 0 or (n is not None and begin > n)):
        most = "" if n is None else f" and {n}, the size of axis {axis}"
        rule = f"must lie between 0{most}" if most else "must not be negative"
        hint = "Count cells from 0 at the front."
        raise OpError(rule, arg="begin", axis=axis, got=begin, hint=hint)
    if size is not None and size < -1:
        hint = "Use -1 for all that follows."
        rule = "must not be negative, but for -1"
        raise OpError(rule, arg="size", axis=axis, got=size, hint=hint)
    if size is None or size == -1:
        return None if n is None or begin is None or size is None else n - begin
    if n is not None and begin is not None and begin + size > n:
        raise OpError(
            f"must end inside axis {axis}, which has {n - begin} cells from {begin} on",
            arg="size",
            axis=axis,
            got=size,
            hint="Use -1 for all that follows.",
        )
    return size


@slice_.cells
def _(y: Spec, input: Spec, begin: Spec, size: Spec) -> list[AccessMap]:
    loops, at = over(y.sizes)
    cut = tuple(i + b for i, b in zip(at, begin.contents.tolist(), strict=True))
    return [AccessMap("copy", ("input",), loops, {"input": Cells(cut), "output": Cells(at)})]


@slice_.grad
def _(dy: Value, y: Value, input: Value, begin: Value, size: Value) -> list[Value]:
    known = known_value(begin)
    before = begin if known is None else known
    index = NAMES[before.dtype]
    after = ops.sub(ops.sub(shape_of(input, index), shape_of(y, index)), before)
    return [ops.pad(dy, ops.pack([before, after], axis=1)), None, None]


_table = np.array([[1.0, 2, 3], [4, 5, 6]])
slice_.case(
    "the right of the second row",
    input=_table,
    begin=np.array([1, 1]),
    size=np.array([1, -1]),
    out=np.array([[5.0, 6]]),
)
slice_.case(
    "nothing, from behind the last",
    input=_table,
    begin=np.array([2, 0]),
    size=np.array([-1, 2]),
    out=np.zeros((0, 2)),
)
slice_.case(
    "a scalar has no axes",
    input=np.array(7.0),
    begin=np.zeros(0, np.int32),
    size=np.zeros(0, np.int32),
    out=np.array(7.0),
)
slice_.fails("before the first", input=_table, begin=[-1, 0], size=[1, 1], error="between 0 and 2")
slice_.fails("too far", input=_table, begin=[0, 2], size=[1, 2], error="end inside axis 1")
slice_.fails("a negative size", input=_table, begin=[0, 0], size=[1, -2], error="not be negative")
slice_.fails("an entry missing", input=_table, begin=[0], size=[1, 1], error="for each dimension")


# -- as Python slices ----------------------------------------------------------------------------


def _masks(
    *,
    begin_mask: Int = 0,
    end_mask: Int = 0,
    ellipsis_mask: Int = 0,
    new_axis_mask: Int = 0,
    shrink_axis_mask: Int = 0,
) -> None:
    """What entries of begin, end and strides mean: bit i speaks of entry i."""


def _bit(mask: int, i: int) -> bool:
    return bool(mask >> i & 1)


def _taken(x: Array, parts: Iterable[tuple[Any, Any]]) -> Array:
    """A view of the cells that `_index` names; of one cell too, which without ... NumPy would hand out."""
    return x[(..., *(index for index, _ in parts))]


def _index(
    sizes: tuple[Size, ...],
    count: int,
    begin: Array | None,
    end: Array | None,
    strides: Array | None,
    masks: dict[str, int],
) -> Iterator[tuple[Any, tuple[Size, ...]]]:
    """For each entry, and each axis that ... stands for: what NumPy is given, and the sizes it leaves.

    Where begin, end or strides have no value yet, only the sizes mean something.
    """
    dots = [i for i in range(count) if _bit(masks["ellipsis_mask"], i)]
    if len(dots) > 1:
        hint = "Set one bit at most: one ... stands for all axes without an entry."
        raise OpError(
            "has two bits for one ...", arg="ellipsis_mask", got=masks["ellipsis_mask"], hint=hint
        )
    place = dots[0] if dots else count
    new = [i for i in range(count) if _bit(masks["new_axis_mask"], i) and i != place]
    left = len(sizes) - (count - len(new) - len(dots))
    if left < 0:
        hint = "Give one entry for each axis; new axes are extra."
        rule = f"must have at most an entry for each of {len(sizes)} dimensions"
        raise OpError(rule, arg="begin", got=len(sizes) - left, hint=hint)
    known = [None if values is None else values.tolist() for values in (begin, end, strides)]
    axes = iter(range(len(sizes)))
    for i in range(max(count, place + 1)):
        if i == place:
            for _ in range(left):
                yield slice(None), (sizes[next(axes)],)
        elif i in new:
            yield None, (1,)
        else:
            first, last, step = (None if values is None else values[i] for values in known)
            axis = next(axes)
            n = sizes[axis]
            if step == 0:
                hint = "Use 1 for every cell, -1 for all backwards."
                raise OpError("must not be 0", arg="strides", got=step, hint=hint)
            if _bit(masks["shrink_axis_mask"], i):
                yield _one_cell(n, first, step, axis), ()
            elif first is None or last is None or step is None or n is None:
                yield slice(None), (None,)
            else:
                first = None if _bit(masks["begin_mask"], i) else first
                last = None if _bit(masks["end_mask"], i) else last
                cells = slice(first, last, step)
                yield cells, (len(range(*cells.indices(n))),)


def _entries(begin: Spec, end: Spec, strides: Spec) -> Size:
    """How many entries there are, if that is known; refused if they do not come in threes."""
    length: Shape = ranked("begin", begin, 1)
    for arg, spec in (("end", end), ("strides", strides)):
        ranked(arg, spec, 1)
        length = agreed(arg, spec, length, "the length of begin", "Give all three for each axis.")
    count = length[0] if length else None
    if count is not None and count >= 32:  # the masks have as many bits
        hint = "Slice in two steps."
        raise OpError("must have fewer than 32 entries", arg="begin", got=count, hint=hint)
    return count


def _one_cell(n: Size, at: Size, step: Size, axis: int) -> int:
    if step is not None and step < 0:
        hint = "Use 1: a single cell has no direction."
        raise OpError(
            "must be positive where one cell is taken", arg="strides", got=step, hint=hint
        )
    if at is None or n is None:
        return 0
    if not -n <= at < n:
        hint = "Count cells from 0 at the front, or from -1 at the end."
        raise OpError(f"must lie in [{-n}, {n}) along axis {axis}", arg="begin", got=at, hint=hint)
    return at


def _sliced(shape: Shape, begin: Spec, end: Spec, strides: Spec, masks: dict[str, int]) -> Shape:
    count = _entries(begin, end, strides)
    if shape is None or count is None:
        return None
    parts = _index(shape, count, begin.value, end.value, strides.value, masks)
    return tuple(size for _, left in parts for size in left)


@op(
    "StridedSlice",
    "T, Index, Index, Index -> T",
    aliases=("x[a:b:c]", "slicing"),
    attrs=_masks,
    T=REARRANGED,
    Index=("int16", *INDEX),
)
def strided_slice(input: Array, begin: Array, end: Array, strides: Array, **masks: int) -> Array:
    """`input[begin:end:strides, ...]`, as Python reads it, with an entry of each for each axis.

    output[i] = input[begin + i·strides]
    where i stands for all axes, and runs from 0 as long as begin + i·strides is before end
    where begin and end below 0 count from the end of their axis, and those beyond it are cut to it

    Bits of the masks change what an entry means: `begin_mask` and `end_mask` leave an end open (`:`),
    `ellipsis_mask` is `...`, `new_axis_mask` an axis of size 1, and `shrink_axis_mask` takes the one
    cell at `begin` and drops the axis.
    """
    parts = _index(input.shape, len(begin), begin, end, strides, masks)
    return _taken(input, parts)


@strided_slice.shape
def _(input: Spec, begin: Spec, end: Spec, strides: Spec, **masks: int) -> Shape:
    return _sliced(input.shape, begin, end, strides, masks)


def _slice_cells(
    whole: str, part: str, of: str, sizes: tuple[int, ...], box: list[Spec], masks: dict[str, int]
) -> list[AccessMap]:
    """The cells of the pin `part`, which is a slice of the pin `whole`."""
    begin, end, strides = (spec.contents for spec in box)
    parts = list(_index(sizes, len(begin), begin, end, strides, masks))
    loops, at = over([size for _, left in parts for size in left if size is not None])
    places, taken, left_sizes = iter(at), [], iter(sizes)
    for index, _ in parts:
        if index is None:
            next(places)
            continue
        n = next(left_sizes)
        if isinstance(index, slice):
            first, _, step = index.indices(n)
            taken.append(next(places) * step + first)
        else:
            taken.append(Coordinate(index % n))
    return [AccessMap("copy", (of,), loops, {whole: Cells(tuple(taken)), part: Cells(at)})]


@strided_slice.cells
def _(y: Spec, input: Spec, *box: Spec, **masks: int) -> list[AccessMap]:
    return _slice_cells("input", "output", "input", input.sizes, list(box), masks)


@strided_slice.grad
def _(
    dy: Value, y: Value, input: Value, begin: Value, end: Value, strides: Value, **masks: int
) -> list[Value]:
    box = [x if (known := known_value(x)) is None else known for x in (begin, end, strides)]
    if NAMES[box[0].dtype] == "int16":  # which the gradient does not take
        box = [ops.cast(x, DstT="int32") for x in box]
    sizes = shape_of(input, NAMES[box[0].dtype])
    return [strided_slice_grad(sizes, *box, dy, **masks), None, None, None]


@op(
    "StridedSliceGrad",
    "Index, Index, Index, Index, T -> T",
    attrs=_masks,
    T=REARRANGED,
    Index=INDEX,
)
def strided_slice_grad(
    shape: Array, begin: Array, end: Array, strides: Array, dy: Array, **masks: int
) -> Array:
    """The gradient of StridedSlice: zeros of this shape, with `dy` in the cells that were taken.

    output[begin + i·strides] = dy[i], and 0 in all other cells
    where i stands for all axes, and runs from 0 as long as begin + i·strides is before end
    where begin and end below 0 count from the end of their axis, and those beyond it are cut to it
    """
    sizes = tuple(shape.tolist())
    parts = _index(sizes, len(begin), begin, end, strides, masks)
    out = zeros(sizes, dy.dtype)
    _taken(out, parts)[...] = dy
    return out


@strided_slice_grad.shape
def _(shape: Spec, begin: Spec, end: Spec, strides: Spec, dy: Spec, **masks: int) -> Shape:
    (rank,) = ranked("shape", shape, 1)
    sizes = None if rank is None else sizes_from("shape", shape, [rank])
    taken = _sliced(sizes, begin, end, strides, masks)
    agreed("dy", dy, taken, "the shape of the slice", "Take it from the slice's gradient.")
    return sizes


@strided_slice_grad.cells
def _(y: Spec, shape: Spec, *others: Spec, **masks: int) -> list[AccessMap]:
    *box, _ = others
    return _slice_cells("output", "dy", "dy", y.sizes, box, masks)


@strided_slice_grad.grad
def _(
    ddx: Value,
    dx: Value,
    shape: Value,
    begin: Value,
    end: Value,
    strides: Value,
    dy: Value,
    **masks: int,
) -> list[Value]:
    return [None, None, None, None, strided_slice(ddx, begin, end, strides, **masks)]


def _box(*entries: tuple[int, int, int]) -> dict[str, Array]:
    """begin, end and strides, from the three of each axis."""
    columns = zip(*entries, strict=True) if entries else ((), (), ())
    return dict(
        zip(("begin", "end", "strides"), (np.array(c, np.int32) for c in columns), strict=True)
    )


_shape = np.array([2, 3], np.int32)
for _about, _how, _out, _back in (
    (
        "every other column, backwards",
        _box((0, 2, 1), (-1, -4, -2)),
        [[3.0, 1], [6, 4]],
        [[1.0, 0, 3], [4, 0, 6]],
    ),
    (
        "open ends, the last two columns",
        {**_box((1, 0, 1), (-2, 0, 1)), "begin_mask": 1, "end_mask": 3},
        [[2.0, 3], [5, 6]],
        [[0.0, 2, 3], [0, 5, 6]],
    ),
    (
        "x[..., None, 1]",
        {
            **_box((0, 0, 1), (0, 0, 1), (1, 0, 1)),
            "ellipsis_mask": 1,
            "new_axis_mask": 2,
            "shrink_axis_mask": 4,
        },
        [[2.0], [5]],
        [[0.0, 2, 0], [0, 5, 0]],
    ),
    ("nothing", _box((1, 1, 1)), np.zeros((0, 3)), np.zeros((2, 3))),
):
    strided_slice.case(_about, input=_table, **_how, out=np.array(_out))
    strided_slice_grad.case(_about, shape=_shape, **_how, dy=np.array(_out), out=np.array(_back))
for _op, _given in (
    (strided_slice, {"input": _table}),
    (strided_slice_grad, {"shape": _shape, "dy": _table}),
):
    _op.fails("a step of nothing", **_given, **_box((0, 1, 0)), error="not be 0")
    _op.fails("too many axes", **_given, **_box(*[(0, 1, 1)] * 3), error="each of 2 dimensions")
    _op.fails(
        "a cell that is not there", **_given, **_box((2, 3, 1)), shrink_axis_mask=1, error="lie in"
    )
    _op.fails(
        "one cell, backwards", **_given, **_box((0, 1, -1)), shrink_axis_mask=1, error="positive"
    )
    _op.fails(
        "two ellipses", **_given, **_box((0, 1, 1), (0, 1, 1)), ellipsis_mask=3, error="two bits"
    )
    _op.fails("more than a mask can name", **_given, **_box(*[(0, 1, 1)] * 32), error="than 32")
    _op.fails(
        "an end missing", **_given, begin=[0, 0], end=[1], strides=[1, 1], error="length of begin"
    )
strided_slice_grad.fails(
    "another slice's gradient",
    shape=_shape,
    **_box((0, 1, 1)),
    dy=_table,
    error="shape of the slice",
)
