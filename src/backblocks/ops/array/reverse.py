"""Cells in reverse order along an axis."""

import numpy as np

from backblocks.dtypes import VALUES
from backblocks.errors import OpError
from backblocks.ops._access_maps import AccessMap, Cells, held, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec, agreed, by_axis, check_axis, ranked
from backblocks.ops.array.shapes import INDEX
from backblocks.ops.attrs import Int


@op("ReverseV2", "T, Tidx -> T", T=VALUES, Tidx=INDEX)
def reverse_v2(tensor: Array, axis: Array) -> Array:
    """`tensor` backwards along each of these axes.

    output[…, i, …] = tensor[…, n - 1 - i, …]
    where i runs along each axis that axis names, and n is its size
    """
    return np.flip(tensor, tuple(axis.tolist()))


@reverse_v2.shape
def _(tensor: Spec, axis: Spec) -> Shape:
    by_axis("axis", axis, "Put it in brackets: [axis].")
    if tensor.shape is None or axis.value is None:
        return tensor.shape
    rank, axes = len(tensor.shape), axis.value.tolist()
    for a in axes:
        check_axis("axis", a, rank)
    if len({a % rank for a in axes}) < len(axes):
        hint = "Name it once, from either end."
        raise OpError("an axis is named twice", arg="axis", got=axes, hint=hint)
    return tensor.shape


@reverse_v2.cells
def _(y: Spec, tensor: Spec, axis: Spec) -> list[AccessMap]:
    loops, at = over(y.sizes)
    backward = list(at)
    for a in axis.contents.tolist():
        backward[a] = at[a] * -1 + (y.sizes[a] - 1)
    return [
        AccessMap(
            "copy", ("tensor",), loops, {"tensor": Cells(tuple(backward)), "output": Cells(at)}
        )
    ]


@reverse_v2.grad
def _(dy: Value, y: Value, tensor: Value, axis: Value) -> list[Value]:
    return [reverse_v2(dy, axis), None]


_table = np.array([[1.0, 2, 3], [4, 5, 6]])
reverse_v2.case(
    "the columns",
    tensor=_table,
    axis=np.array([-1]),
    out=np.array([[3.0, 2, 1], [6, 5, 4]]),
)
reverse_v2.case(
    "rows and columns",
    tensor=_table,
    axis=np.array([1, 0], np.int32),
    out=np.array([[6.0, 5, 4], [3, 2, 1]]),
)
reverse_v2.case("nothing", tensor=_table, axis=np.zeros(0, np.int32), out=_table)
reverse_v2.fails("an axis twice", tensor=_table, axis=[0, -2], error="twice")
reverse_v2.fails("an axis too far", tensor=_table, axis=[2], error="must lie in")
reverse_v2.fails("no list", tensor=_table, axis=1, error="1 dimension")


@op("ReverseSequence", "T, Tlen -> T", T=VALUES, Tlen=INDEX)
def reverse_sequence(
    input: Array, seq_lengths: Array, *, seq_dim: Int, batch_dim: Int = 0
) -> Array:
    """The first `seq_lengths[i]` cells along `seq_dim` backwards, for each i along `batch_dim`.

    output[b, i, …] = input[b, seq_lengths[b] - 1 - i if i < seq_lengths[b] else i, …]
    where b runs along batch_dim, i along seq_dim, wherever they stand
    """
    places = _places(input.shape[seq_dim], seq_lengths)
    shape = [1] * input.ndim
    shape[batch_dim], shape[seq_dim] = places.shape
    rows = places if batch_dim < seq_dim else places.T
    return np.take_along_axis(input, rows.reshape(shape), seq_dim)


def _places(n: int, seq_lengths: Array) -> Array:
    """Which of `n` cells comes to stand at each place, for each sequence: (batch, sequence)."""
    cells, lengths = np.arange(n), seq_lengths[:, None]
    return np.where(cells < lengths, lengths - 1 - cells, cells)


@reverse_sequence.shape
def _(input: Spec, seq_lengths: Spec, *, seq_dim: int, batch_dim: int) -> Shape:
    ranked("seq_lengths", seq_lengths, 1)
    for arg, axis in (("seq_dim", seq_dim), ("batch_dim", batch_dim)):
        rank = None if input.shape is None else len(input.shape)
        if axis < 0 or (rank is not None and axis >= rank):
            rule = "must not be negative" if rank is None else f"must lie in [0, {rank})"
            raise OpError(rule, arg=arg, got=axis, hint="Count axes from 0 at the front.")
    if seq_dim == batch_dim:
        hint = "Sequences lie along one axis and are counted along another."
        raise OpError("must differ from batch_dim", arg="seq_dim", got=seq_dim, hint=hint)
    if input.shape is None:
        return None
    batch = (input.shape[batch_dim],)
    hint = "Give a length for each sequence."
    agreed("seq_lengths", seq_lengths, batch, f"an entry for each of axis {batch_dim}", hint)
    n = input.shape[seq_dim]
    if seq_lengths.value is not None:
        wrong = [k for k in seq_lengths.value.tolist() if k < 0 or (n is not None and k > n)]
        if wrong:
            rule = "must not be negative" if n is None else f"must lie between 0 and {n}"
            hint = "Use 0 for a sequence that is to stay as it is."
            raise OpError(rule, arg="seq_lengths", got=wrong[0], hint=hint)
    return input.shape


@reverse_sequence.cells
def _(y: Spec, input: Spec, seq_lengths: Spec, *, seq_dim: int, batch_dim: int) -> list[AccessMap]:
    loops, at = over(y.sizes)
    n = y.sizes[seq_dim]
    tables = {"places": tuple(_places(n, seq_lengths.contents).ravel().tolist())}
    taken = list(at)
    taken[seq_dim] = held("places", at[batch_dim] * n + at[seq_dim])
    cells = {"input": Cells(tuple(taken)), "output": Cells(at)}
    return [AccessMap("copy", ("input",), loops, cells, tables)]


@reverse_sequence.grad
def _(
    dy: Value, y: Value, input: Value, seq_lengths: Value, *, seq_dim: int, batch_dim: int
) -> list[Value]:
    return [reverse_sequence(dy, seq_lengths, seq_dim=seq_dim, batch_dim=batch_dim), None]


reverse_sequence.case(
    "two of the first row, all of the second",
    input=_table,
    seq_lengths=np.array([2, 3]),
    seq_dim=1,
    out=np.array([[2.0, 1, 3], [6, 5, 4]]),
)
reverse_sequence.case(
    "down the columns, with pairs in the cells",
    input=np.array([[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]]),
    seq_lengths=np.array([2, 0], np.int32),
    seq_dim=0,
    batch_dim=1,
    out=np.array([[[5.0, 6], [3, 4]], [[1, 2], [7, 8]]]),
)
reverse_sequence.fails("too long", input=_table, seq_lengths=[4, 1], seq_dim=1, error="0 and 3")
reverse_sequence.fails("negative", input=_table, seq_lengths=[-1, 1], seq_dim=1, error="0 and 3")
reverse_sequence.fails("one missing", input=_table, seq_lengths=[1], seq_dim=1, error="axis 0")
reverse_sequence.fails("one axis", input=_table, seq_lengths=[1, 1], seq_dim=0, error="differ")
reverse_sequence.fails("too far", input=_table, seq_lengths=[1, 1], seq_dim=2, error="must lie in")
