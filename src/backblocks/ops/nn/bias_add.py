"""A bias added to each channel, and its gradient, the sum over the other axes."""

from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import NUMBERS, wide
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Size, Spec, agreed, ranked, shape_text
from backblocks.ops.attrs import ImageLayout
from backblocks.ops.nn._windows import channels_first, from_channels_last, to_channels_last


def _channel_axis(arg: str, spec: Spec, data_format: str) -> int | None:
    """Where the channels stand, whatever the rank; None if that is unknown."""
    if spec.shape is None:
        return None
    if len(spec.shape) < 2:
        raise OpError(
            "must have at least 2 dimensions (batch, channels)",
            arg=arg,
            got=described(f"shape {shape_text(spec.shape)}"),
            hint="Make it a batch of one: x[None].",
        )
    return 1 if channels_first(data_format) else len(spec.shape) - 1


def _biased(value: Spec, bias: Spec, data_format: str) -> Shape:
    ranked("bias", bias, 1)
    axis = _channel_axis("value", value, data_format)
    if axis is None or value.shape is None:
        return None
    hint = 'If the channels come second, use BiasAdd with data_format="NCHW".'
    expected = value.shape[axis : axis + 1]
    (channels,) = agreed("bias", bias, expected, "one entry a channel", hint) or ()
    return (*value.shape[:axis], channels, *value.shape[axis + 1 :])


@op("BiasAdd", "T, T -> output: T", aliases=("add bias",), T=NUMBERS)
def bias_add(value: Array, bias: Array, *, data_format: ImageLayout = "NHWC") -> Array:
    """`value` with `bias[c]` added to all of channel c.

    output[…, c] = value[…, c] + bias[c]
    with NCHW output[n, c, …] = value[n, c, …] + bias[c]

    The channels are the last dimension for NHWC and the second for NCHW, whatever the rank.
    """
    return from_channels_last(to_channels_last(value, data_format) + bias, data_format)


@bias_add.shape
def _(value: Spec, bias: Spec, *, data_format: str) -> Shape:
    return _biased(value, bias, data_format)


@bias_add.grad
def _(dy: Value, y: Value, value: Value, bias: Value, *, data_format: str) -> list[Value]:
    return [dy, bias_add_grad(dy, data_format=data_format)]


@op("BiasAddV1", "T, T -> output: T", T=NUMBERS)
def bias_add_v1(value: Array, bias: Array) -> Any:
    """`value` with `bias[c]` added to all of channel c, the last dimension.

    output[…, c] = value[…, c] + bias[c]
    """
    return value + bias


@bias_add_v1.shape
def _(value: Spec, bias: Spec) -> Shape:
    return _biased(value, bias, "NHWC")


@bias_add_v1.grad
def _(dy: Value, y: Value, value: Value, bias: Value) -> list[Value]:
    return [dy, bias_add_grad(dy)]


@op("BiasAddGrad", "T -> output: T", T=NUMBERS)
def bias_add_grad(out_backprop: Array, *, data_format: ImageLayout = "NHWC") -> Any:
    """The sum of each channel: the gradient that BiasAdd sends to its bias.

    output[c] = Σ over … of out_backprop[…, c]
    with NCHW output[c] = Σ over n, … of out_backprop[n, c, …]
    """
    x = to_channels_last(out_backprop, data_format)
    return x.sum(tuple(range(x.ndim - 1)), dtype=wide(x.dtype))


@bias_add_grad.shape
def _(out_backprop: Spec, *, data_format: str) -> Shape:
    axis = _channel_axis("out_backprop", out_backprop, data_format)
    channels: Size = None
    if axis is not None and out_backprop.shape is not None:
        channels = out_backprop.shape[axis]
    return (channels,)


@bias_add_grad.grad
def _(ddb: Value, db: Value, out_backprop: Value, *, data_format: str) -> list[Value]:
    return [bias_add(ops.zeros_like(out_backprop), ddb, data_format=data_format)]


# -- which cells belong together ------------------------------------------------------------------


def _bias_access(
    rule: str,
    of: tuple[str, ...],
    sizes: tuple[int, ...],
    cells: list[str],
    channel: str,
    layout: str,
) -> list[AccessMap]:
    """`cells` are the pins with a value for each cell, `channel` the one with a value for each channel."""
    loops, at = over(sizes)
    letters = layout if len(sizes) == len(layout) else ""
    axis = 1 if channels_first(layout) else len(at) - 1
    places = dict.fromkeys(cells, Cells(at, axes=letters))
    return [
        AccessMap(rule, of, loops, {**places, channel: Cells((at[axis],), axes=letters and "C")})
    ]


@bias_add.cells
@bias_add_v1.cells
def _(y: Spec, value: Spec, bias: Spec, *, data_format: str = "NHWC") -> list[AccessMap]:
    pins = ["value", "output"]
    return _bias_access("added", ("value", "bias"), y.sizes, pins, "bias", data_format)


@bias_add_grad.cells
def _(y: Spec, out_backprop: Spec, *, data_format: str) -> list[AccessMap]:
    pin = "out_backprop"
    return _bias_access("sum", (pin,), out_backprop.sizes, [pin], "output", data_format)


# -- cases, refusals, differences ------------------------------------------------------------------

_image = np.arange(8.0).reshape(1, 2, 2, 2)
_rows = np.array([[1.0, 2], [3, 4]])
_tens = np.array([10.0, 20])

bias_add.case("two channels", value=_rows, bias=_tens, out=np.array([[11.0, 22], [13, 24]]))
bias_add.case(
    "channels first",
    value=_image,
    bias=_tens,
    data_format="NCHW",
    out=np.array([[[[10.0, 11], [12, 13]], [[24, 25], [26, 27]]]]),
)
bias_add.case(
    "channels first, a volume of rank 5",
    value=np.zeros((1, 2, 1, 1, 2)),
    bias=_tens,
    data_format="NCHW",
    out=np.array([10.0, 10, 20, 20]).reshape(1, 2, 1, 1, 2),
)
bias_add.case(
    "whole numbers wrap around",
    value=np.array([[127]], np.int8),
    bias=np.array([1], np.int8),
    out=np.array([[-128]]),
)
bias_add_v1.case("two channels", value=_rows, bias=_tens, out=np.array([[11.0, 22], [13, 24]]))
for _each in (bias_add, bias_add_v1):
    _each.case("no rows", value=np.zeros((0, 2)), bias=_tens, out=np.zeros((0, 2)))
    _each.fails("one row alone", value=np.zeros(2), bias=_tens, error="at least 2 dimensions")
    _each.fails("too few entries", value=_rows, bias=[1.0], error="one entry a channel")
    _each.fails("a matrix for a bias", value=_rows, bias=_rows, error="1 dimension")

bias_add_grad.case("two rows", out_backprop=_rows, out=np.array([4.0, 6]))
bias_add_grad.case(
    "channels first", out_backprop=_image, data_format="NCHW", out=np.array([6.0, 22])
)
bias_add_grad.case("no rows", out_backprop=np.zeros((0, 2)), out=np.zeros(2))
bias_add_grad.fails("a vector", out_backprop=np.zeros(2), error="at least 2 dimensions")
bias_add_grad.fails("a scalar", out_backprop=1.0, error="at least 2 dimensions")
bias_add_grad.differs(
    "half sums",
    at="half",
    tensorflow="Sums are rounded on the way: in bfloat16, with NHWC, one stops growing at 256 ones.",
    ours="They are kept in float32; only the result is rounded.",
    agree="Use float32.",
)
