"""Dynamic partition and stitch: rows sorted into several tensors by index, and put together again."""

from collections.abc import Sequence

import numpy as np

from backblocks import ops
from backblocks.dtypes import VALUES, zeros
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, slice_by_slice
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec, agreed
from backblocks.ops.attrs import Int

MOST_PARTS = 1 << 16
"""More parts than anybody wires; a list of billions of empty ones would fill the memory."""


def _behind(arg: str, data: Spec, numbers: Spec, what: str) -> Shape:
    """The shape of one slice: what is left of `data` behind the axes of its numbers."""
    if data.shape is None or numbers.shape is None:
        return None
    rank = len(numbers.shape)
    front = Spec(data.shape[:rank], data.dtype)
    why = f"a shape that begins with that of {what}"
    agreed(arg, front, numbers.shape, why, "Give one number for each slice.")
    return data.shape[rank:]


@op("DynamicPartition", "T, int32 -> outputs: T*", data_dependent_shape=True, T=VALUES)
def dynamic_partition(data: Array, partitions: Array, *, num_partitions: Int) -> tuple[Array, ...]:
    """The slices of `data` sorted into `num_partitions` tensors, by the number of the part of each.

    outputs[p] = all slices data[i, …] with partitions[i] = p, in the order of i
    where i stands for all axes of partitions, and 0 ≤ p < num_partitions

    `partitions` has a number for each slice along the first axes of `data`. Slices keep their order.
    """
    rows = data.reshape(partitions.size, *data.shape[partitions.ndim :])
    numbers = partitions.reshape(-1)
    return tuple(rows[numbers == part] for part in range(num_partitions))


@dynamic_partition.shape
def _(data: Spec, partitions: Spec, *, num_partitions: int) -> list[Shape]:
    if not 1 <= num_partitions <= MOST_PARTS:
        raise OpError(
            f"must lie in [1, {MOST_PARTS}]",
            arg="num_partitions",
            got=num_partitions,
            hint="Use one for each number in partitions.",
        )
    rest = _behind("data", data, partitions, "partitions")
    counts: Sequence[int | None] = (None,) * num_partitions
    if partitions.value is not None:
        numbers = partitions.value.reshape(-1)
        if numbers.size and (numbers.min() < 0 or numbers.max() >= num_partitions):
            outside = numbers[(numbers < 0) | (numbers >= num_partitions)][0].item()
            hint = "Number the parts from 0."
            raise OpError(
                f"must lie in [0, {num_partitions})", arg="partitions", got=outside, hint=hint
            )
        counts = np.bincount(numbers, minlength=num_partitions).tolist()
    return [None if rest is None else (count, *rest) for count in counts]


@dynamic_partition.cells
def _(y: Sequence[Spec], data: Spec, partitions: Spec, *, num_partitions: int) -> list[AccessMap]:
    rest = data.sizes[len(partitions.sizes) :]
    parts = partitions.contents.ravel()
    return [
        access
        for part in range(num_partitions)
        for access in slice_by_slice(
            "data", f"outputs[{part}]", np.flatnonzero(parts == part).tolist(), parts.size, rest
        )
    ]


@dynamic_partition.grad
def _(
    dy: Sequence[Value],
    y: Sequence[Value],
    data: Value,
    partitions: Value,
    *,
    num_partitions: int,
) -> list[Value]:
    shape = ops.shape(partitions)
    places = ops.reshape(ops.range(0, ops.prod(shape, [0]), 1), shape)
    where = ops.dynamic_partition(places, partitions, num_partitions=num_partitions)
    parts = [ops.zeros_like(part) if d is None else d for d, part in zip(dy, y, strict=True)]
    return [ops.reshape(ops.dynamic_stitch(where, parts), ops.shape(data)), None]


dynamic_partition.case(
    "odd and even",
    data=[10.0, 20, 30],
    partitions=[0, 1, 0],
    num_partitions=2,
    out=(np.array([10.0, 30]), np.array([20.0])),
)
dynamic_partition.case(
    "rows, and a part of none",
    data=[[1.0, 2], [3, 4]],
    partitions=[2, 2],
    num_partitions=3,
    out=(np.zeros((0, 2)), np.zeros((0, 2)), np.array([[1.0, 2], [3, 4]])),
)
dynamic_partition.case(
    "the whole at once",
    data=[1.0, 2],
    partitions=0,
    num_partitions=1,
    out=(np.array([[1.0, 2]]),),
)
dynamic_partition.fails(
    "a part that is not there", data=[1.0], partitions=[2], num_partitions=2, error=r"in \[0, 2\)"
)
dynamic_partition.fails(
    "a negative part", data=[1.0], partitions=[-1], num_partitions=2, error=r"in \[0, 2\)"
)
dynamic_partition.fails(
    "too few numbers", data=[1.0, 2], partitions=[0], num_partitions=1, error="begins with that of"
)
dynamic_partition.fails("no parts", data=[1.0], partitions=[0], num_partitions=0, error=r"in \[1,")
dynamic_partition.differs(
    "many parts",
    tensorflow="Takes any number of parts.",
    ours=f"Refuses more than {MOST_PARTS}.",
)


@op("DynamicStitch", "int32*, T* -> merged: T", data_dependent_shape=True, T=VALUES)
def dynamic_stitch(indices: Sequence[Array], data: Sequence[Array]) -> Array:
    """One tensor of slices, each of which says where it goes.

    merged[indices[m][i], …] = data[m][i, …]
    where the last of several counts, and a place that none names is 0

    `indices` has for each tensor of `data` the places of its slices. Where two go to one place, the
    later one is there; a place to which none goes holds zeros.
    """
    places = np.concatenate([each.reshape(-1) for each in indices])
    rest = data[0].shape[indices[0].ndim :]
    rows = np.concatenate([d.reshape(i.size, *rest) for i, d in zip(indices, data, strict=True)])
    merged = zeros((places.max(initial=-1) + 1, *rest), data[0].dtype)
    # Which of several writes to one place NumPy does last is not said, so only one is left.
    last = len(places) - 1 - np.unique(places[::-1], return_index=True)[1]
    merged[places[last]] = rows[last]
    return merged


@dynamic_stitch.shape
def _(indices: Sequence[Spec], data: Sequence[Spec]) -> Shape:
    if not data or len(indices) != len(data):
        raise OpError(
            f"must have a tensor for each of the {len(indices)} in indices, and at least one",
            arg="data",
            got=described(f"{len(data)} tensors"),
            hint="Give each tensor of data its indices.",
        )
    rest: Shape = None
    for where, each in zip(indices, data, strict=True):
        slice_shape = Spec(_behind("data", each, where, "its indices"), each.dtype)
        why = "the slices of the tensors before"
        rest = agreed("data", slice_shape, rest, why, "Use slices of one shape.")
    values = [where.value for where in indices]
    size = 0
    for value in values:
        if value is not None and value.size:
            if value.min() < 0:
                low, hint = value.min().item(), "Count places from 0."
                raise OpError("must not be negative", arg="indices", got=low, hint=hint)
            size = max(size, value.max().item() + 1)
    if rest is None:
        return None
    return (None if any(value is None for value in values) else size, *rest)


@dynamic_stitch.cells
def _(y: Spec, indices: Sequence[Spec], data: Sequence[Spec]) -> list[AccessMap]:
    size, *rest = y.sizes
    maps, latest = [], np.full(size, -1)
    for number, where in enumerate(indices):
        latest[where.contents.ravel()] = number
    for number, where in enumerate(indices):
        rows = np.full(size, -1)
        for row, place in enumerate(where.contents.ravel().tolist()):
            rows[place] = row if latest[place] == number else -1
        among = where.contents.size
        maps += slice_by_slice(f"data[{number}]", "merged", rows.tolist(), among, rest)
    return maps


@dynamic_stitch.grad
def _(dy: Value, y: Value, indices: Sequence[Value], data: Sequence[Value]) -> list[Value]:
    # Slices are numbered throughout. The numbers, stitched, tell which of several is the one kept.
    flat = [ops.reshape(where, [-1]) for where in indices]
    numbers: list[Value] = []
    start: Value = 0
    for where in flat:
        end = ops.add_v2(start, ops.size(where))
        numbers.append(ops.range(start, end, 1))
        start = end
    kept = ops.dynamic_stitch(flat, numbers)
    slopes = []
    for where, number, each in zip(flat, numbers, data, strict=True):
        arriving = ops.gather(dy, where)
        is_kept = ops.equal(ops.gather(kept, where), number)
        own = ops.select(is_kept, arriving, ops.zeros_like(arriving))
        slopes.append(ops.reshape(own, ops.shape(each)))
    return [None, slopes]


dynamic_stitch.case(
    "two in turn",
    indices=[[0, 2], [1, 3]],
    data=[[1.0, 3], [2.0, 4]],
    out=np.array([1.0, 2, 3, 4]),
)
dynamic_stitch.case(
    "a row and two, the later one wins, and a gap",
    indices=[1, [1, 3]],
    data=[[1.0, 2], [[3.0, 4], [5, 6]]],
    out=np.array([[0.0, 0], [3, 4], [0, 0], [5, 6]]),
)
dynamic_stitch.case(
    "nothing",
    indices=[np.zeros(0, np.int32)],
    data=[np.zeros((0, 2), np.float32)],
    out=np.zeros((0, 2)),
)
dynamic_stitch.fails("a negative place", indices=[[-1]], data=[[1.0]], error="not be negative")
dynamic_stitch.fails("too few places", indices=[[0]], data=[[1.0, 2]], error="that of its indices")
dynamic_stitch.fails(
    "slices of two shapes", indices=[0, 1], data=[[1.0], [1.0, 2]], error="the tensors before"
)
dynamic_stitch.fails("one without places", indices=[0], data=[1.0, 2.0], error="each of the 1")
dynamic_stitch.differs(
    "gradient of what is not kept",
    tensorflow="Where two slices go to one place, both get the gradient of it.",
    ours="Only the one that is kept does: the other has no part in the result.",
)
