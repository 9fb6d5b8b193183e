"""Top k: the largest entries of each row, and whether a target is among them."""

from typing import Annotated, Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import FLOATS, REALS, DType, wide
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._chunks import MAX_CHUNK_COST, SORT_COST, chunks
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op, zero_gradient
from backblocks.ops._spec import Shape, Spec, agreed, ranked, scalar_value
from backblocks.ops.array.shapes import INDEX, shape_of
from backblocks.ops.attrs import Flag, Int, dtype_of

COUNT = ("int16", "int32", "int64")
CountType = Annotated[Any, dtype_of(*COUNT)]


def _top(x: Array, k: int) -> tuple[Array, Array]:
    """Values and places of the k largest along the last axis: a NaN first, of equals the first."""
    cost = x.size * SORT_COST
    if cost <= MAX_CHUNK_COST:
        return _top_at_once(x, k)
    rows = x.reshape(-1, x.shape[-1])
    values, places = np.empty((len(rows), k), x.dtype), np.empty((len(rows), k), np.int64)
    for some in chunks(len(rows), cost):
        top = _top_at_once if some.stop > some.start + 1 else _top_of_parts
        values[some], places[some] = top(rows[some], k)
    shape = (*x.shape[:-1], k)
    return values.reshape(shape), places.reshape(shape)


def _top_of_parts(row: Array, k: int) -> tuple[Array, Array]:
    """The top k of one row, chunk by chunk: the largest of all are among the largest of each chunk."""
    n = row.shape[-1]
    found = []
    for part in chunks(n, n * SORT_COST):
        values, places = _top_at_once(row[:, part], min(k, part.stop - part.start))
        found.append((values, places + part.start))
    values, places = (np.concatenate(each, -1) for each in zip(*found, strict=True))
    top, order = _top_at_once(values, k)
    return top, np.take_along_axis(places, order, -1)


def _top_at_once(x: Array, k: int) -> tuple[Array, Array]:
    # A stable sort of the mirrored rows, read backwards, puts the first of equals first.
    mirrored = x[..., ::-1].astype(wide(x.dtype), copy=False)
    order = x.shape[-1] - 1 - np.argsort(mirrored, -1, kind="stable")[..., ::-1]
    places = order[..., :k]
    return np.take_along_axis(x, places, -1), places


def _top_shape(input: Spec, k: int | None, index_type: DType) -> tuple[Shape, Shape]:
    if k is not None and k < 0:
        raise OpError("must not be negative", arg="k", got=k, hint="Use 0 for none.")
    if input.shape is None:
        return None, None
    if not input.shape:
        raise OpError(
            "must have at least 1 dimension",
            arg="input",
            got=described("a scalar"),
            hint="Make it a row of one: [x].",
        )
    n = input.shape[-1]
    if n is not None:
        if k is not None and k > n:
            raise OpError(
                f"must be at most {n}, the size of the last axis",
                arg="k",
                got=k,
                hint=f"Use {n} to sort them all.",
            )
        if n > np.iinfo(index_type).max:
            raise OpError(
                f"cannot count the {n} entries of the last axis",
                arg="index_type",
                got=described(index_type.name),
                hint="Use int64.",
            )
    shape = (*input.shape[:-1], k)
    return shape, shape


def _send_back(d_values: Value, indices: Value, x: Value) -> Value:
    """Puts the gradient of each value where the value came from."""
    if d_values is None:
        return None
    sizes = shape_of(x)
    n = ops.gather_nd(sizes, ops.expand_dims(ops.sub(ops.size(sizes), 1), 0))
    step = ops.cast(ops.select_v2(ops.greater(n, 0), n, 1), DstT="int64")  # rows of 0 have no start
    size = ops.size(x, out_type="int64")
    starts = ops.range(np.int64(0), size, step)
    rows = ops.pack([ops.size(starts), np.int32(-1)])
    places = ops.add_v2(
        ops.reshape(ops.cast(indices, DstT="int64"), rows), ops.expand_dims(starts, 1)
    )
    flat = ops.scatter_nd(
        ops.expand_dims(places, -1), ops.reshape(d_values, rows), ops.expand_dims(size, 0)
    )
    return ops.reshape(flat, sizes)


@op("TopK", "T -> values: T, indices: int32", T=REALS)
def top_k(input: Array, *, k: Int, sorted: Flag = True) -> tuple[Array, Array]:
    """The `k` largest entries of each row (along the last axis), largest first, and where they were.

    values[…, r] = input[…, indices[…, r]]
    indices[…, r] = the place i of the (r + 1)-th largest input[…, i]; of equals the first comes first
    where 0 ≤ r < k

    Of equals the first comes first; a NaN counts as larger than any number.
    """
    return _top(input, k)


@top_k.shape
def _(input: Spec, *, k: int, sorted: bool) -> tuple[Shape, Shape]:
    return _top_shape(input, k, np.dtype("int32"))


def _top_cells(y: Any, input: Spec, *k: Spec, **how: Any) -> list[AccessMap]:
    loops, at = over((*y.values.sizes, input.sizes[-1]))
    *front, _, other = at
    return [
        AccessMap(
            "apply", ("input",), loops, {"input": Cells((*front, other)), pin: Cells(at[:-1])}
        )
        for pin in ("values", "indices")
    ]


top_k.cells(_top_cells)


@top_k.grad
def _(dy: Value, y: Value, input: Value, **how: Any) -> list[Value]:
    return [_send_back(dy.values, y.indices, input)]


@op(
    "TopKV2",
    "T, Tk -> values: T, indices: index_type",
    aliases=("topk", "top_k", "largest"),
    T=REALS,
    Tk=COUNT,
)
def top_k_v2(
    input: Array, k: Array, *, sorted: Flag = True, index_type: CountType = "int32"
) -> tuple[Array, Array]:
    """TopK whose `k` is a tensor, and whose indices have a type of choice.

    values[…, r] = input[…, indices[…, r]]
    indices[…, r] = the place i of the (r + 1)-th largest input[…, i]; of equals the first comes first
    where 0 ≤ r < k
    """
    return _top(input, int(k))


@top_k_v2.shape
def _(input: Spec, k: Spec, *, sorted: bool, index_type: DType) -> tuple[Shape, Shape]:
    return _top_shape(input, scalar_value("k", k), index_type)


top_k_v2.cells(_top_cells)


@top_k_v2.grad
def _(dy: Value, y: Value, input: Value, k: Value, **how: Any) -> list[Value]:
    return [_send_back(dy.values, y.indices, input), None]


# -- is a target among the largest? ----------------------------------------------------------------


def _among(predictions: Array, targets: Array, k: int) -> Any:
    x = predictions.astype(wide(predictions.dtype), copy=False)
    is_target = targets[:, None] == np.arange(x.shape[1])
    own = np.where(is_target, x, -np.inf).max(1, keepdims=True, initial=-np.inf)
    better = (x > own).sum(1)
    return is_target.any(1) & np.isfinite(x).all(1) & (better < k)


def _among_shape(predictions: Spec, targets: Spec) -> Shape:
    batch, _ = ranked("predictions", predictions, 2, "batch, classes")
    hint = "Pass the number of each row's class, not a row of zeros and a one."
    return agreed("targets", targets, (batch,), "one target for each row", hint)


@op(
    "InTopK",
    "Tpredictions, T -> precision: bool",
    aliases=("accuracy",),
    Tpredictions=FLOATS,
    T=INDEX,
)
def in_top_k(predictions: Array, targets: Array, *, k: Int) -> Any:
    """For each row, whether fewer than `k` classes have a larger prediction than the target.

    precision[i] = (how many j have predictions[i, j] > predictions[i, targets[i]]) < k

    So all of a tie are in. False where the target is no class, or where not all predictions are finite.
    """
    return _among(predictions, targets, k)


@in_top_k.shape
def _(predictions: Spec, targets: Spec, *, k: int) -> Shape:
    return _among_shape(predictions, targets)


@op("InTopKV2", "Tpredictions, T, T -> precision: bool", Tpredictions=FLOATS, T=INDEX)
def in_top_k_v2(predictions: Array, targets: Array, k: Array) -> Any:
    """InTopK whose `k` is a tensor.

    precision[i] = (how many j have predictions[i, j] > predictions[i, targets[i]]) < k
    """
    return _among(predictions, targets, int(k))


@in_top_k_v2.shape
def _(predictions: Spec, targets: Spec, k: Spec) -> Shape:
    scalar_value("k", k)
    return _among_shape(predictions, targets)


@in_top_k.cells
def _(y: Any, predictions: Spec, targets: Spec, *, k: int) -> list[AccessMap]:
    return _among_cells(predictions)


@in_top_k_v2.cells
def _(y: Any, predictions: Spec, targets: Spec, k: Spec) -> list[AccessMap]:
    return _among_cells(predictions, "k")


def _among_cells(predictions: Spec, *more: str) -> list[AccessMap]:
    """Each answer from a row of predictions and its target."""
    loops, (i, j) = over(predictions.sizes)
    cells = {"predictions": Cells((i, j)), "targets": Cells((i,))} | {p: Cells(()) for p in more}
    return [AccessMap("apply", tuple(cells), loops, cells | {"precision": Cells((i,))})]


in_top_k.grad(zero_gradient)
in_top_k_v2.grad(zero_gradient)


# -- cases, refusals, differences ------------------------------------------------------------------

_row = np.array([[1.0, 4, 2, 4]])
for _each in (top_k, top_k_v2):
    _each.case(
        "of equals the first comes first",
        input=_row,
        k=np.array(3),
        out=(np.array([[4.0, 4, 2]]), np.array([[1, 3, 2]])),
    )
    _each.case(
        "a NaN is the largest",
        input=np.array([np.inf, np.nan, 0, np.nan]),
        k=np.array(3),
        out=(np.array([np.nan, np.nan, np.inf]), np.array([1, 3, 0])),
    )
    _each.case(
        "whole numbers",
        input=np.array([[3, 250], [7, 0]], np.uint8),
        k=np.array(1),
        out=(np.array([[250], [7]]), np.array([[1], [0]])),
    )
    _each.case("none of them", input=_row, k=np.array(0), out=(np.zeros((1, 0)), np.zeros((1, 0))))
    _each.case(
        "rows of nothing",
        input=np.zeros((2, 0)),
        k=np.array(0),
        out=(np.zeros((2, 0)), np.zeros((2, 0))),
    )
    _each.fails("more than there are", input=_row, k=np.array(5), error="at most 4")
    _each.fails("fewer than none", input=_row, k=np.array(-1), error="not be negative")
    _each.fails("a scalar", input=1.0, k=np.array(1), error="at least 1 dimension")
    _each.differs(
        "nan",
        tensorflow="NaN has no place in the order, and numbers can get lost: the largest 4 of "
        "[1, nan, 3, nan, 2, -inf, inf] are [nan, 3, 1, nan].",
        ours="It is larger than any number.",
        agree="Keep the input free of NaN.",
    )
    _each.differs(
        "sorted=False",
        tensorflow="The k largest in an order of its own.",
        ours="Largest first, as with sorted=True.",
        agree="Use sorted=True.",
    )
top_k_v2.case(
    "indices of 16 bits",
    input=_row,
    k=np.array(2),
    index_type="int16",
    out=(np.array([[4.0, 4]]), np.array([[1, 3]])),
)
top_k_v2.fails("more than one k", input=_row, k=[1, 2], error="must be a scalar")
top_k_v2.fails(
    "too many for 16 bits",
    input=np.broadcast_to(np.int8(0), 2**15),
    k=1,
    index_type="int16",
    error="cannot count",
)
top_k.differs(
    "on the CPU",
    tensorflow="Refused: its kernels wait for an attribute that the op does not have.",
    ours="Works as TopKV2 does.",
    agree="Use TopKV2.",
)
top_k_v2.differs(
    "gradient with other indices than int32",
    tensorflow="Refused: int64 and int32 are added.",
    ours="Computed.",
    agree='Use index_type="int32".',
)

_scores = np.array([[0.1, 0.6, 0.3], [0.4, 0.4, 0.2], [0.1, np.inf, 0.2]])
for _each in (in_top_k, in_top_k_v2):
    _each.case(
        "second best, a tie, and a row that is not finite",
        predictions=_scores,
        targets=np.array([2, 1, 0]),
        k=np.array(1),
        out=np.array([False, True, False]),
    )
    _each.case(
        "the best two",
        predictions=_scores,
        targets=np.array([2, 2, 1]),
        k=np.array(2),
        out=np.array([True, False, False]),
    )
    _each.case(
        "targets that are no class",
        predictions=_scores[:2],
        targets=np.array([-1, 3]),
        k=np.array(9),
        out=np.array([False, False]),
    )
    _each.case(
        "no classes",
        predictions=np.zeros((1, 0)),
        targets=np.array([0]),
        k=np.array(1),
        out=np.array([False]),
    )
    _each.fails("a vector", predictions=_scores[0], targets=[0], k=1, error="batch, classes")
    _each.fails("too few targets", predictions=_scores, targets=[0], k=1, error="for each row")
in_top_k_v2.fails("two ks", predictions=_scores, targets=[0, 1, 2], k=[1, 2], error="a scalar")
