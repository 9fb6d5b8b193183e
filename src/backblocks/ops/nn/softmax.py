"""Softmax along the last axis, and the cross entropy of its result with labels."""

from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import FLOATS, wide
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._elementwise import broadcast_cells, rounded_once
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec, agreed, broadcast, ranked, shape_text
from backblocks.ops.array.broadcasting import unbroadcast
from backblocks.ops.array.shapes import INDEX, shape_of

LAST = np.array([-1], np.int32)


def _centred(x: Array) -> Array:
    """`x` with the largest of each row made 0, so that its exponential cannot overflow."""
    x = x.astype(wide(x.dtype))
    x -= x.max(-1, keepdims=True, initial=-np.inf)
    return x


def _softmax(x: Array) -> Array:
    e = np.exp(_centred(x))
    e /= e.sum(-1, keepdims=True)
    return e


def _log_softmax(x: Array) -> Array:
    x = _centred(x)
    x -= np.log(np.exp(x).sum(-1, keepdims=True))
    return x


def _row_sum(x: Value) -> Value:
    return ops.sum(x, LAST, keep_dims=True)


def _softmax_grad(dy: Value, y: Value) -> Value:
    return ops.mul(ops.sub(dy, _row_sum(ops.mul(dy, y))), y)


def _rows(logits: Spec) -> Shape:
    if logits.shape == ():
        raise OpError(
            "must have at least 1 dimension",
            arg="logits",
            got=described("a scalar"),
            hint="Make it a row of one: [x].",
        )
    return logits.shape


@op("Softmax", "T -> softmax: T", aliases=("nn.Softmax", "probabilities"), T=FLOATS)
def softmax(logits: Array) -> Array:
    """Exponentials, divided so that each row (along the last axis) sums to 1.

    softmax[…, j] = exp(logits[…, j]) / Σ over k of exp(logits[…, k])
    """
    return _softmax(logits)


@softmax.grad
def _(dy: Value, y: Value, logits: Value) -> list[Value]:
    return [_softmax_grad(dy, y)]


@op("LogSoftmax", "T -> logsoftmax: T", aliases=("nn.LogSoftmax",), T=FLOATS)
def log_softmax(logits: Array) -> Array:
    """The logarithm of Softmax, without the loss of digits where that is near 0.

    logsoftmax[…, j] = logits[…, j] - ln(Σ over k of exp(logits[…, k]))
    """
    return _log_softmax(logits)


@log_softmax.grad
def _(dy: Value, y: Value, logits: Value) -> list[Value]:
    return [ops.sub(dy, ops.mul(_row_sum(dy), ops.exp(y)))]


def _whole_row(output: str) -> Any:
    def cells(y: Spec, logits: Spec) -> list[AccessMap]:
        loops, at = over((*y.sizes, y.sizes[-1]))
        *front, _, other = at
        places = {"logits": Cells((*front, other)), output: Cells(at[:-1])}
        return [AccessMap("apply", ("logits",), loops, places)]

    return cells


softmax.cells(_whole_row("softmax"))
log_softmax.cells(_whole_row("logsoftmax"))


# -- cross entropy ---------------------------------------------------------------------------------


@op(
    "SoftmaxCrossEntropyWithLogits",
    "T, T -> loss: T, backprop: T",
    aliases=("cross entropy", "nn.CrossEntropyLoss", "loss"),
    T=FLOATS,
)
def softmax_cross_entropy_with_logits(features: Array, labels: Array) -> tuple[Array, Array]:
    """For each row, how far softmax(features) is from labels, and the gradient of that.

    loss[i] = -Σ over j of labels[i, j] · ln(s[i, j])
    backprop[i, j] = s[i, j] - labels[i, j]
    where s[i, j] = exp(features[i, j]) / Σ over k of exp(features[i, k])

    A label of 0 adds nothing to the loss. `backprop` is its gradient for rows of labels that sum to 1.
    Features and labels broadcast to one matrix (batch, classes).
    """
    x, p = np.broadcast_arrays(features, labels)
    p = p.astype(wide(p.dtype), copy=False)
    loss = -np.where(p == 0, 0, p * _log_softmax(x)).sum(-1)
    return loss, _softmax(x) - p


@softmax_cross_entropy_with_logits.shape
def _(features: Spec, labels: Spec) -> tuple[Shape, Shape]:
    both = broadcast("labels", features.shape, labels.shape)
    if both is None:
        return (None,), (None, None)
    if len(both) != 2:
        raise OpError(
            "must make a matrix (batch, classes) together with labels",
            arg="features",
            got=described(f"{shape_text(features.shape)} and {shape_text(labels.shape)}"),
            hint="Put one example in each row: x.reshape(-1, classes).",
        )
    return (both[0],), both


@softmax_cross_entropy_with_logits.grad
def _(dy: Value, y: Value, features: Value, labels: Value) -> list[Value]:
    x = ops.broadcast_to(features, shape_of(y.backprop))
    p = ops.broadcast_to(labels, shape_of(y.backprop))
    to_x, to_p = [], []
    if dy.loss is not None:
        weight = ops.expand_dims(dy.loss, -1)
        # Not y.backprop: that is the slope of the loss only if the labels of a row sum to 1.
        slope = ops.sub(ops.mul(_row_sum(p), softmax(x)), p)
        to_x.append(ops.mul(weight, slope))
        to_p.append(ops.neg(ops.mul(weight, log_softmax(x))))
    if dy.backprop is not None:
        to_x.append(_softmax_grad(dy.backprop, softmax(x)))
        to_p.append(ops.neg(dy.backprop))
    return [unbroadcast(ops.add_n(to_x), features), unbroadcast(ops.add_n(to_p), labels)]


@op(
    "SparseSoftmaxCrossEntropyWithLogits",
    "T, Tlabels -> loss: T, backprop: T",
    aliases=("sparse cross entropy", "nn.CrossEntropyLoss", "loss"),
    T=FLOATS,
    Tlabels=INDEX,
)
def sparse_softmax_cross_entropy_with_logits(features: Array, labels: Array) -> tuple[Array, Array]:
    """For each row, minus the logarithm of the softmax of its label, and the gradient of that.

    loss[i] = -ln(s[i, labels[i]])
    backprop[i, j] = s[i, j] - (1 if j = labels[i] else 0)
    where s[i, j] = exp(features[i, j]) / Σ over k of exp(features[i, k])

    `features` is a matrix (batch, classes), `labels` the number of the right class of each row.
    """
    row = np.arange(len(labels))
    loss = -_log_softmax(features)[row, labels]
    backprop = _softmax(features)
    backprop[row, labels] -= 1
    return loss, backprop


@sparse_softmax_cross_entropy_with_logits.shape
def _(features: Spec, labels: Spec) -> tuple[Shape, Shape]:
    batch, classes = ranked("features", features, 2, "batch, classes")
    hint = "Use SoftmaxCrossEntropyWithLogits for labels that are rows of probabilities."
    (batch,) = agreed("labels", labels, (batch,), "one label for each row", hint) or (None,)
    if labels.value is not None and classes is not None:
        bad = labels.value[(labels.value < 0) | (labels.value >= classes)]
        if bad.size:
            raise OpError(
                f"every label must be at least 0 and below {classes}",
                arg="labels",
                got=int(bad[0]),
                hint="Number the classes from 0, and leave out rows without a label.",
            )
    return (batch,), (batch, classes)


@sparse_softmax_cross_entropy_with_logits.grad
def _(dy: Value, y: Value, features: Value, labels: Value) -> list[Value]:
    to_features = []
    if dy.loss is not None:
        to_features.append(ops.mul(ops.expand_dims(dy.loss, -1), y.backprop))
    if dy.backprop is not None:
        to_features.append(_softmax_grad(dy.backprop, softmax(features)))
    return [ops.add_n(to_features), None]


def _entropy_ways(
    y: Any, rows: dict[str, tuple[int, ...]], labels: Cells | None
) -> list[AccessMap]:
    """The loss comes from whole rows; and so does its gradient, of which labels have their own part."""
    loops, at = over((*y.backprop.sizes, y.backprop.sizes[-1]))
    i, j, k = at
    whole = {pin: broadcast_cells(sizes, (i, k)) for pin, sizes in rows.items()}
    own = {"labels": labels or broadcast_cells(rows["labels"], (i, j))}
    rest = {name: size for name, size in loops.items() if name not in j.steps}
    both = ("features", "labels")
    ends = {"loss": Cells((i,))}, {"backprop": Cells((i, j))}
    first = {"features": whole["features"]}
    return [
        AccessMap("apply", both, rest, {**own, **whole, **ends[0]}),
        AccessMap("apply", ("features",), loops, {**first, **ends[1]}),
        AccessMap("apply", ("labels",), loops, {**own, **ends[1]}),
    ]


@softmax_cross_entropy_with_logits.cells
def _(y: Any, features: Spec, labels: Spec) -> list[AccessMap]:
    return _entropy_ways(y, {"features": features.sizes, "labels": labels.sizes}, None)


@sparse_softmax_cross_entropy_with_logits.cells
def _(y: Any, features: Spec, labels: Spec) -> list[AccessMap]:
    row, _ = over(y.backprop.sizes)[1]
    return _entropy_ways(y, {"features": features.sizes}, Cells((row,)))


# -- cases, refusals, differences ------------------------------------------------------------------

_thirds = np.log(np.array([[1.0, 2], [3, 3]]))
softmax.shape(_rows)
softmax.case("two rows", logits=_thirds, out=np.array([[1 / 3, 2 / 3], [0.5, 0.5]]))
softmax.case("large numbers do not overflow", logits=np.array([1e4, 1e4]), out=np.array([0.5, 0.5]))
softmax.case(
    "a NaN spoils its row only",
    logits=np.array([[np.nan, 0], [0, -np.inf]]),
    out=np.array([[np.nan, np.nan], [1, 0]]),
)
log_softmax.shape(_rows)
log_softmax.case("two rows", logits=_thirds, out=np.log([[1 / 3, 2 / 3], [0.5, 0.5]]))
log_softmax.case("far apart", logits=np.array([0.0, 1e4]), out=np.array([-1e4, 0]))
for _each in (softmax, log_softmax):
    _each.case("no rows", logits=np.zeros((0, 3)), out=np.zeros((0, 3)))
    _each.case("rows of nothing", logits=np.zeros((2, 0)), out=np.zeros((2, 0)))
    _each.fails("a scalar", logits=1.0, error="at least 1 dimension")
    _each.differs(
        "many classes in float16",
        tensorflow="The sum of a row is kept in float16: 70000 equal classes all get 0.",
        ours="It is kept in float32.",
        agree="Use float32.",
    )

_dense, _sparse = softmax_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits
_dense.case(
    "two rows",
    features=_thirds,
    labels=np.array([[0.0, 1], [0.5, 0.5]]),
    out=(np.log([3 / 2, 2]), np.array([[1 / 3, -1 / 3], [0, 0]])),
)
_dense.case(
    "one row of labels for all",
    features=_thirds,
    labels=np.array([0.0, 1]),
    out=(np.log([3 / 2, 2]), np.array([[1 / 3, -1 / 3], [0.5, -0.5]])),
)
_dense.case(
    "labels that sum to 2",
    features=_thirds,
    labels=np.array([[2.0], [0.0]]),
    out=(np.array([2 * np.log(9 / 2), 0]), np.array([[-5 / 3, -4 / 3], [0.5, 0.5]])),
)
_dense.case(
    "a class that cannot be",
    features=np.array([[0, -np.inf]]),
    labels=np.array([[1.0, 0]]),
    out=(np.zeros(1), np.zeros((1, 2))),
)
_dense.case(
    "no classes",
    features=np.zeros((2, 0)),
    labels=np.zeros((2, 0)),
    out=(np.zeros(2), np.zeros((2, 0))),
)
_dense.fails("two vectors", features=[1.0], labels=[1.0], error="must make a matrix")
_dense.fails(
    "other classes", features=np.zeros((2, 3)), labels=np.zeros((2, 4)), error="must broadcast"
)
rounded_once(softmax, log_softmax, _dense, _sparse)
_dense.differs(
    "a label of 0 for a logit of -inf",
    tensorflow="The loss is NaN: 0 times infinity.",
    ours="A label of 0 adds nothing to the loss.",
    agree="Keep logits finite.",
)
_dense.differs(
    "gradient for labels that do not sum to 1",
    tensorflow="The gradient of the loss is backprop, whatever the labels sum to.",
    ours="It is sum(labels) * softmax - labels, the slope of the loss.",
    agree="Give labels whose rows sum to 1.",
)
_dense.differs(
    "gradient of backprop to labels",
    tensorflow="None flows back.",
    ours="Minus what arrives, as backprop is softmax - labels.",
)
_dense.differs(
    "gradient of broadcast inputs",
    tensorflow="It keeps the shape both were broadcast to.",
    ours="It is summed to the shape of the input.",
    agree="Give features and labels of one shape.",
)

_sparse.case(
    "two rows",
    features=_thirds,
    labels=np.array([1, 0]),
    out=(np.log([3 / 2, 2]), np.array([[1 / 3, -1 / 3], [-0.5, 0.5]])),
)
_sparse.case(
    "no rows",
    features=np.zeros((0, 2)),
    labels=np.zeros(0, np.int32),
    out=(np.zeros(0), np.zeros((0, 2))),
)
_sparse.fails("a label too large", features=np.zeros((2, 3)), labels=[0, 3], error="below 3; got 3")
_sparse.fails("a label below 0", features=np.zeros((2, 3)), labels=[-1, 0], error="got -1")
_sparse.fails("no classes", features=np.zeros((1, 0)), labels=[0], error="below 0; got 0")
_sparse.fails(
    "too few labels", features=np.zeros((2, 3)), labels=[0], error="one label for each row"
)
_sparse.fails("one row alone", features=np.zeros(3), labels=[0], error="batch, classes")
_sparse.differs(
    "empty",
    tensorflow="An empty batch of no classes is refused.",
    ours="It gives empty results, as any empty batch does.",
)
