"""Tensors concatenated along an axis, and split again."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import REARRANGED, SPLIT
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op, zero_gradient
from backblocks.ops._spec import (
    MAX_RANK,
    Shape,
    Size,
    Spec,
    agreed,
    by_axis,
    check_axis,
    known_value,
    ranked,
    scalar_value,
)
from backblocks.ops.array.shapes import INDEX, shape_of
from backblocks.ops.array.stack import MOST_PARTS
from backblocks.ops.attrs import Int


def _check_several(arg: str, tensors: Sequence[Any]) -> None:
    if len(tensors) < 2:
        hint = "Use Identity for a lone tensor."
        raise OpError("must have at least two tensors", arg=arg, got=len(tensors), hint=hint)


def _joined(arg: str, values: tuple[Spec, ...], axis: Spec, tensors: str = "values") -> Shape:
    """The shape of tensors joined along an axis, which `arg` gives; `tensors` gives their shapes."""
    _check_several(tensors, values)
    at = scalar_value(arg, axis, rank=1)
    rank = next((len(spec.shape) for spec in values if spec.shape is not None), None)
    if rank is None:
        return None
    if rank == 0:
        hint = "Use Pack, which makes the axis to join them along."
        raise OpError(
            "must have at least 1 dimension", arg=tensors, got=described("a scalar"), hint=hint
        )
    shapes = [ranked(tensors, spec, rank, hint="Join tensors of one rank.") for spec in values]
    if at is None:
        return (None,) * rank
    check_axis(arg, at, rank)
    at %= rank
    joined: tuple[Size, ...] = (None,) * rank
    why = f"the sizes of the first beside axis {at}"
    hint = "Join along the axis whose sizes differ, or make the others equal."
    for i, (spec, shape) in enumerate(zip(values, shapes, strict=True)):
        sizes = agreed(tensors, Spec(shape, spec.dtype), joined, why, hint, i) or ()
        joined = (*sizes[:at], None, *sizes[at + 1 :])
    lengths = [shape[at] for shape in shapes]
    return (*joined[:at], _sum(lengths), *joined[at + 1 :])


def _sum(sizes: Sequence[Size]) -> Size:
    return None if None in sizes else sum(n for n in sizes if n is not None)


def _parts(dy: Value, values: Sequence[Value], axis: Value) -> list[Value]:
    """The part of `dy` that belongs to each of the tensors that were joined."""
    sizes = [shape_of(x) for x in values]
    begins = concat_offset(ops.cast(_scalar(axis), DstT="int32"), sizes)
    return [ops.slice(dy, begin, size) for begin, size in zip(begins, sizes, strict=True)]


def _scalar(axis: Value) -> Value:
    """The axis that a tensor of one entry names, as a scalar."""
    at = known_value(axis)
    if at is not None:
        return at.reshape(())
    return axis if axis.shape == () else ops.reshape(axis, np.zeros(0, np.int32))


@op(
    "ConcatV2",
    "T*, Tidx -> T",
    aliases=("concat", "concatenate", "cat", "np.concatenate"),
    T=REARRANGED,
    Tidx=INDEX,
)
def concat_v2(values: tuple[Array, ...], axis: Array) -> Array:
    """Tensors joined end to end along one of their axes.

    output[…, start[m] + i, …] = values[m][…, i, …]
    where i runs along axis, and start[m] is the size of all values before m along it
    """
    return np.concatenate(values, int(axis.item()))


@concat_v2.shape
def _(values: tuple[Spec, ...], axis: Spec) -> Shape:
    return _joined("axis", values, axis)


@concat_v2.grad
def _(dy: Value, y: Value, values: Any, axis: Value) -> list[Value]:
    return [_parts(dy, values, axis), None]


@op("Concat", "int32, T* -> T", T=REARRANGED)
def concat(concat_dim: Array, values: tuple[Array, ...]) -> Array:
    """ConcatV2 with the axis in front.

    output[…, start[m] + i, …] = values[m][…, i, …]
    where i runs along concat_dim, and start[m] is the size of all values before m along it
    """
    return np.concatenate(values, int(concat_dim.item()))


@concat.shape
def _(concat_dim: Spec, values: tuple[Spec, ...]) -> Shape:
    return _joined("concat_dim", values, concat_dim)


@concat.grad
def _(dy: Value, y: Value, concat_dim: Value, values: Any) -> list[Value]:
    return [None, _parts(dy, values, concat_dim)]


def _parts_ways(
    parts: Sequence[Spec], part: str, whole: str, axis: Spec, to_whole: bool
) -> list[AccessMap]:
    """Cells of parts, which are a list of pins, and of the whole that they are along an axis."""
    maps, start = [], 0
    for i, spec in enumerate(parts):
        loops, at = over(spec.sizes)
        axis_from_front = int(axis.contents.item()) % len(at)
        place = tuple(c + start if a == axis_from_front else c for a, c in enumerate(at))
        name = f"{part}[{i}]"
        of = name if to_whole else whole
        maps.append(AccessMap("copy", (of,), loops, {name: Cells(at), whole: Cells(place)}))
        start += spec.sizes[axis_from_front]
    return maps


@concat_v2.cells
def _(y: Spec, values: tuple[Spec, ...], axis: Spec) -> list[AccessMap]:
    return _parts_ways(values, "values", "output", axis, to_whole=True)


@concat.cells
def _(y: Spec, concat_dim: Spec, values: tuple[Spec, ...]) -> list[AccessMap]:
    return _parts_ways(values, "values", "output", concat_dim, to_whole=True)


@op("ConcatOffset", "int32, shape_type* -> offset: shape_type*", shape_type=INDEX)
def concat_offset(concat_dim: Array, shape: tuple[Array, ...]) -> tuple[Array, ...]:
    """Where each of several tensors begins in the tensor that joins them, from their shapes.

    offset[m][a] = Σ over l < m of shape[l][a] if a = concat_dim else 0
    """
    axis = int(concat_dim.item())
    begins = np.zeros((len(shape), len(shape[0])), shape[0].dtype)
    begins[1:, axis] = np.cumsum([sizes[axis] for sizes in shape[:-1]])
    return tuple(begins)


@concat_offset.shape
def _(concat_dim: Spec, shape: tuple[Spec, ...]) -> tuple[Shape, ...]:
    _check_several("shape", shape)
    at = scalar_value("concat_dim", concat_dim)
    length: Shape = (None,)
    for spec in shape:
        by_axis("shape", spec)
        length = agreed(
            "shape", spec, length, "the length of the first", "Use tensors of one rank."
        )
    (rank,) = length or (None,)
    if at is not None and rank is not None:
        check_axis("concat_dim", at, rank)
        values = [Spec(tuple(s.value.tolist()), s.dtype) for s in shape if s.value is not None]
        if len(values) == len(shape):
            _joined("concat_dim", tuple(values), concat_dim, "shape")
    return (length,) * len(shape)


concat_offset.grad(zero_gradient)

_AXIS_0, _AXIS_1 = np.array(0, np.int32), np.array(1, np.int32)
_row, _rows = np.array([[1.0, 2]]), np.array([[3.0, 4], [5, 6]])

for _op, _axis, _last in ((concat_v2, "axis", -1), (concat, "concat_dim", -1)):
    _op.case(
        "one above the other",
        values=[_row, _rows],
        **{_axis: _AXIS_0},
        out=np.array([[1.0, 2], [3, 4], [5, 6]]),
    )
    _op.case(
        "side by side, and one of no width",
        values=[_rows, np.zeros((2, 0)), np.array([[7.0], [8]])],
        **{_axis: np.array(-1, np.int32)},
        out=np.array([[3.0, 4, 7], [5, 6, 8]]),
    )
    _op.case(
        "an axis in brackets",
        values=[_row, _row],
        **{_axis: np.array([0], np.int32)},
        out=np.array([[1.0, 2], [1, 2]]),
    )
    _op.fails("a lone tensor", values=[_row], **{_axis: 0}, error="at least two")
    _op.fails("scalars", values=[1.0, 2.0], **{_axis: 0}, error="at least 1 dimension")
    _op.fails("an axis too far", values=[_row, _row], **{_axis: 2}, error="must lie in")
    _op.fails("other sizes", values=[_row, np.zeros((1, 3))], **{_axis: 0}, error="beside axis 0")
    _op.fails("another rank", values=[_row, np.zeros(2)], **{_axis: 0}, error="2 dimensions")
concat_offset.case(
    "three, along the columns",
    concat_dim=_AXIS_1,
    shape=[np.array([2, 3], np.int32), np.array([2, 4], np.int32), np.array([2, 0], np.int32)],
    out=(np.array([0, 0]), np.array([0, 3]), np.array([0, 7])),
)
concat_offset.case(
    "an axis counted from the end",
    concat_dim=np.array(-2, np.int32),
    shape=[np.array([1, 5]), np.array([2, 5])],
    out=(np.array([0, 0]), np.array([1, 0])),
)
concat_offset.fails(
    "shapes that cannot be joined", concat_dim=0, shape=[[2, 3], [2, 4]], error="beside axis 0"
)
concat_offset.fails("an axis too far", concat_dim=2, shape=[[2, 3], [2, 3]], error="must lie in")
concat_offset.fails("ranks differ", concat_dim=0, shape=[[2, 3], [2]], error="length of the first")


# -- cutting apart -------------------------------------------------------------------------------


def _cut(value: Spec, axis: Spec, num_split: int, rank: int = 0) -> tuple[int | None, Size]:
    """The axis to cut along, counted from the front, and its size; None for what is not known yet.

    `axis` has one entry, and at most this rank.
    """
    if not 1 <= num_split <= MOST_PARTS:
        hint = "Use Slice for the parts you need."
        rule = f"must lie between 1 and {MOST_PARTS}"
        raise OpError(rule, arg="num_split", got=num_split, hint=hint)
    at = scalar_value("axis", axis, rank)
    if value.shape is None:
        return None, None
    rank = len(value.shape)
    if rank == 0:
        raise OpError(
            "must have at least 1 dimension",
            arg="value",
            got=described("a scalar"),
            hint="Make it a row of one: [x].",
        )
    if at is None:
        return None, None
    check_axis("axis", at, rank)
    return at % rank, value.shape[at]


def _cut_shapes(value: Spec, at: int | None, lengths: Sequence[Size]) -> tuple[Shape, ...]:
    shape = value.shape
    if shape is None:
        return (None,) * len(lengths)
    if at is None:
        return ((None,) * len(shape),) * len(lengths)
    return tuple((*shape[:at], n, *shape[at + 1 :]) for n in lengths)


def _whole(dy: Sequence[Value], y: Sequence[Value], axis: Value) -> Value:
    """The gradients of the parts, joined again."""
    parts = [ops.zeros_like(part) if d is None else d for d, part in zip(dy, y, strict=True)]
    return concat_v2(parts, _scalar(axis)) if len(parts) > 1 else parts[0]


@op("Split", "int32, T -> output: T*", aliases=("np.split", "chunk"), T=SPLIT)
def split(axis: Array, value: Array, *, num_split: Int) -> tuple[Array, ...]:
    """`value` cut along an axis into parts of one size.

    output[m][…, i, …] = value[…, m·n + i, …]
    where i runs along axis, and n is its size divided by num_split
    """
    return tuple(np.split(value, num_split, int(axis.item())))


@split.shape
def _(axis: Spec, value: Spec, *, num_split: int) -> tuple[Shape, ...]:
    at, n = _cut(value, axis, num_split)
    if n is not None and n % num_split:
        raise OpError(
            f"must divide the size of axis {at}, {n}",
            arg="num_split",
            got=num_split,
            hint="Use SplitV for parts of different sizes.",
        )
    return _cut_shapes(value, at, [None if n is None else n // num_split] * num_split)


@split.cells
def _(y: tuple[Spec, ...], axis: Spec, value: Spec, *, num_split: int) -> list[AccessMap]:
    return _parts_ways(y, "output", "value", axis, to_whole=False)


@split.grad
def _(dy: Any, y: Any, axis: Value, value: Value, *, num_split: int) -> list[Value]:
    return [None, _whole(dy, y, axis)]


@op("SplitV", "T, Tlen, int32 -> output: T*", T=SPLIT, Tlen=("int8", *INDEX))
def split_v(value: Array, size_splits: Array, axis: Array, *, num_split: Int) -> tuple[Array, ...]:
    """`value` cut along an axis into parts of these sizes. One may be -1: what is left over.

    output[m][…, i, …] = value[…, start[m] + i, …]
    where i runs along axis, and start[m] = Σ over l < m of size_splits[l]
    """
    at = int(axis.item())
    lengths = _filled(value.shape[at], size_splits.tolist())
    return tuple(np.split(value, np.cumsum(lengths[:-1]), at))


def _filled(total: int, lengths: list[int]) -> list[int]:
    rest = total - sum(n for n in lengths if n != -1)
    return [rest if n == -1 else n for n in lengths]


@split_v.shape
def _(value: Spec, size_splits: Spec, axis: Spec, *, num_split: int) -> tuple[Shape, ...]:
    at, total = _cut(value, axis, num_split, MAX_RANK)
    hint = "Give a size for each part; one may be -1."
    agreed("size_splits", size_splits, (num_split,), "an entry for each of num_split parts", hint)
    if size_splits.value is None:
        return _cut_shapes(value, at, [None] * num_split)
    lengths = size_splits.value.tolist()
    if any(n < -1 for n in lengths) or lengths.count(-1) > 1:
        rule = "sizes must not be negative, but for one -1"
        raise OpError(rule, arg="size_splits", got=lengths, hint=hint)
    if total is None:
        return _cut_shapes(value, at, [None if n == -1 else n for n in lengths])
    filled = _filled(total, lengths)
    if min(filled) < 0 or sum(filled) != total:
        raise OpError(
            f"must add up to the size of axis {at}, {total}",
            arg="size_splits",
            got=lengths,
            hint="Use -1 for one size to have it worked out.",
        )
    return _cut_shapes(value, at, filled)


@split_v.cells
def _(
    y: tuple[Spec, ...], value: Spec, size_splits: Spec, axis: Spec, *, num_split: int
) -> list[AccessMap]:
    return _parts_ways(y, "output", "value", axis, to_whole=False)


@split_v.grad
def _(
    dy: Any, y: Any, value: Value, size_splits: Value, axis: Value, *, num_split: int
) -> list[Value]:
    return [_whole(dy, y, axis), None, None]


_wide = np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]])
split.case(
    "two halves",
    axis=_AXIS_1,
    value=_wide,
    num_split=2,
    out=(np.array([[1.0, 2], [5, 6]]), np.array([[3.0, 4], [7, 8]])),
)
split.case("one part", axis=np.array(-2, np.int32), value=_wide, num_split=1, out=(_wide,))
split.case("nothing, in two", axis=_AXIS_0, value=np.zeros(0), num_split=2, out=(np.zeros(0),) * 2)
split_v.case(
    "what is left over in the middle",
    value=_wide,
    size_splits=np.array([1, -1, 1]),
    axis=np.array(-1, np.int32),
    num_split=3,
    out=(np.array([[1.0], [5]]), np.array([[2.0, 3], [6, 7]]), np.array([[4.0], [8]])),
)
split_v.case(
    "an axis in brackets",
    value=_wide,
    size_splits=np.array([1, 1]),
    axis=np.array([[0]], np.int32),
    num_split=2,
    out=(_wide[:1], _wide[1:]),
)
split_v.case(
    "a part of nothing",
    value=_wide,
    size_splits=np.array([0, 2], np.int32),
    axis=_AXIS_0,
    num_split=2,
    out=(np.zeros((0, 4)), _wide),
)
split.fails("an axis in brackets", axis=[0], value=_wide, num_split=2, error="must be a scalar")
split.fails("parts of one and a half", axis=0, value=np.zeros(3), num_split=2, error="must divide")
split_v.fails("too much", value=_wide, size_splits=[1, 2], axis=0, num_split=2, error="must add up")
split_v.fails(
    "nothing left over", value=_wide, size_splits=[3, -1], axis=0, num_split=2, error="must add up"
)
split_v.fails(
    "two left over", value=_wide, size_splits=[-1, -1], axis=0, num_split=2, error="one -1"
)
split_v.fails(
    "a size missing",
    value=_wide,
    size_splits=[2],
    axis=0,
    num_split=2,
    error="for each of num_split",
)
for _op, _more in ((split, {}), (split_v, {"size_splits": [1]})):
    _op.fails("a scalar", value=1.0, axis=0, num_split=1, **_more, error="at least 1 dimension")
    _op.fails("no parts", value=_wide, axis=0, num_split=0, **_more, error="between 1 and")
    _op.fails("an axis too far", value=_wide, axis=2, num_split=1, **_more, error="must lie in")
