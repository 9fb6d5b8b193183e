"""Local response normalization: each cell divided by a power of the squares of its neighbours.

Along the last axis, with S(z) the sum of z over the channels at most `depth_radius` away:

    norm = bias + alpha * S(x * x)
    y    = x / norm ** beta
"""

from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import FLOATS, wide
from backblocks.errors import OpError
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec, agreed, ranked
from backblocks.ops.array.shapes import shape_of
from backblocks.ops.attrs import Float, Int
from backblocks.ops.nn._windows import Axis
from backblocks.ops.nn.conv import conv_2d


def _around(z: Array, radius: int) -> Array:
    """S(z)."""
    depth = z.shape[-1]
    total = np.zeros(z.shape, z.dtype)
    for _, cells, outputs in Axis(depth, 2 * radius + 1, 1, 1, radius, depth).taps():
        total[..., outputs] += z[..., cells]
    return total


def _checked(arg: str, input: Spec, depth_radius: int) -> Shape:
    if depth_radius < 0:
        raise OpError(
            "must not be negative",
            arg="depth_radius",
            got=depth_radius,
            hint="Use 0 for each channel by itself.",
        )
    return ranked(arg, input, 4, "batch, rows, columns, channels")


def _norm(x: Array, depth_radius: int, bias: float, alpha: float) -> Any:
    return bias + alpha * _around(x * x, depth_radius)


@op(
    "LRN",
    "T -> output: T",
    aliases=("local response normalization", "local_response_norm"),
    T=FLOATS,
)
def lrn(
    input: Array,
    *,
    depth_radius: Int = 5,
    bias: Float = 1.0,
    alpha: Float = 1.0,
    beta: Float = 0.5,
) -> Any:
    """Every cell of `input` divided by what the squares of near channels add up to.

    output[…, c] = input[…, c] / (bias + alpha · Σ over k of input[…, k]²)^beta
    where |k - c| ≤ depth_radius

    Near are the channels, along the last axis, that are at most `depth_radius` away.
    """
    x = input.astype(wide(input.dtype), copy=False)
    return x * _norm(x, depth_radius, bias, alpha) ** -beta


@lrn.shape
def _(input: Spec, *, depth_radius: int, **how: float) -> Shape:
    return _checked("input", input, depth_radius)


def _near_access(
    of: tuple[str, ...], y: Spec, depth_radius: int, near: tuple[str, ...], own: tuple[str, ...]
) -> AccessMap:
    """`near` are pins at channels near that of the output, `own` those at the very same one."""
    loops, at = over((*y.sizes, 2 * depth_radius + 1))
    *place, channel, step = at
    cells = dict.fromkeys(near, Cells((*place, channel + step - depth_radius), axes="NHWC"))
    cells |= dict.fromkeys((*own, "output"), Cells((*place, channel), axes="NHWC"))
    return AccessMap("apply", of, loops, cells)


@lrn.cells
def _(y: Spec, input: Spec, *, depth_radius: int, **how: float) -> list[AccessMap]:
    return [_near_access(("input",), y, depth_radius, near=("input",), own=())]


@lrn.grad
def _(dy: Value, y: Value, input: Value, **how: Any) -> list[Value]:
    return [lrn_grad(dy, input, y, **how)]


@op("LRNGrad", "T, T, T -> output: T", T=FLOATS)
def lrn_grad(
    input_grads: Array,
    input_image: Array,
    output_image: Array,
    *,
    depth_radius: Int = 5,
    bias: Float = 1.0,
    alpha: Float = 1.0,
    beta: Float = 0.5,
) -> Any:
    """The gradient of LRN: what came back, what went in and what came out.

    output[…, c] = input_grads[…, c] / norm[c]^beta - 2 · alpha · beta · input_image[…, c]
        · Σ over k of input_grads[…, k] · output_image[…, k] / norm[k]
    where norm[c] = bias + alpha · Σ over k of input_image[…, k]²
    where |k - c| ≤ depth_radius
    """
    dy, x, y = (
        a.astype(wide(a.dtype), copy=False) for a in (input_grads, input_image, output_image)
    )
    norm = _norm(x, depth_radius, bias, alpha)
    return dy * norm**-beta - 2 * alpha * beta * x * _around(dy * y / norm, depth_radius)


@lrn_grad.shape
def _(
    input_grads: Spec, input_image: Spec, output_image: Spec, *, depth_radius: int, **how: float
) -> Shape:
    shape = _checked("input_grads", input_grads, depth_radius)
    why, hint = "the shape of input_grads", "Take all three from one call of LRN."
    shape = agreed("input_image", input_image, shape, why, hint)
    return agreed("output_image", output_image, shape, why, hint)


@lrn_grad.cells
def _(y: Spec, *tensors: Spec, depth_radius: int, **how: float) -> list[AccessMap]:
    """What is near counts divided by its own norm, which reaches as far again."""
    given = ("input_grads", "output_image")
    return [
        _near_access(given, y, depth_radius, near=given, own=()),
        _near_access(("input_image",), y, 2 * depth_radius, near=("input_image",), own=()),
    ]


@lrn_grad.grad
def _(
    ddx: Value,
    dx: Value,
    dy: Value,
    x: Value,
    y: Value,
    *,
    depth_radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> list[Value]:
    """The slopes of ddx * dx, summed over all cells, which is the sum of

        ddx * dy / norm ** beta - 2 * alpha * beta * S(ddx * x) * dy * y / norm

    as S, in a sum over all cells, can be moved from one factor to the other.
    """
    mul, div, sub = ops.mul, ops.real_div, ops.sub
    near = _near(x, depth_radius)

    def around(z: Value) -> Value:
        return conv_2d(z, near, strides=(1, 1, 1, 1), padding="VALID")

    norm = ops.add_v2(mul(around(mul(x, x)), alpha), bias)
    power = ops.exp(mul(ops.log(norm), -beta))
    pull = mul(div(around(mul(ddx, x)), norm), 2 * alpha * beta)
    to_dy = sub(mul(ddx, power), mul(pull, y))
    to_y = ops.neg(mul(pull, dy))
    to_norm = div(mul(dy, sub(mul(pull, y), mul(mul(ddx, power), beta))), norm)
    to_x = sub(
        mul(mul(x, around(to_norm)), 2 * alpha),
        mul(mul(ddx, around(div(mul(dy, y), norm))), 2 * alpha * beta),
    )
    return [to_dy, to_x, to_y]


def _near(x: Value, radius: int) -> Value:
    """A filter of one cell that sums near channels: 1 where two of them are near each other."""
    channel = ops.range(0, ops.gather_nd(shape_of(x), np.array([3], np.int32)), 1)
    apart = ops.sub(ops.expand_dims(channel, 0), ops.expand_dims(channel, 1))
    after, before = (
        ops.cast(ops.less_equal(d, radius), DstT=x.dtype) for d in (apart, ops.neg(apart))
    )
    return ops.expand_dims(ops.expand_dims(ops.mul(after, before), 0), 0)


# -- cases, refusals, differences ------------------------------------------------------------------

_pixel = np.array([1.0, 2, 3]).reshape(1, 1, 1, 3)
_near_one = {"depth_radius": 1, "beta": 1}

lrn.case(
    "channels at most one away",
    input=_pixel,
    **_near_one,
    out=np.array([1 / 6, 2 / 15, 3 / 14]).reshape(1, 1, 1, 3),
)
lrn.case(
    "each channel alone",
    input=np.array([1.0, -1]).reshape(1, 1, 1, 2),
    depth_radius=0,
    bias=3,
    out=np.array([0.5, -0.5]).reshape(1, 1, 1, 2),
)
lrn.case(
    "a NaN spoils its neighbours only",
    input=np.array([np.nan, 1, 2]).reshape(1, 1, 1, 3),
    **_near_one,
    out=np.array([np.nan, np.nan, 2 / 6]).reshape(1, 1, 1, 3),
)
lrn.case("an empty batch", input=_pixel[:0], out=_pixel[:0])
lrn_grad.case(
    "from the first channel",
    input_grads=np.array([1.0, 0, 0]).reshape(1, 1, 1, 3),
    input_image=_pixel,
    output_image=np.array([1 / 6, 2 / 15, 3 / 14]).reshape(1, 1, 1, 3),
    **_near_one,
    out=np.array([1 / 9, -1 / 9, 0]).reshape(1, 1, 1, 3),
)
lrn_grad.case(
    "a radius beyond all channels",
    input_grads=np.array([0.0, 4]).reshape(1, 1, 1, 2),
    input_image=np.array([1.0, 1]).reshape(1, 1, 1, 2),
    output_image=np.array([0.5, 0.5]).reshape(1, 1, 1, 2),
    depth_radius=2**31 - 1,
    bias=2,
    out=np.array([-0.5, 1.5]).reshape(1, 1, 1, 2),
)
lrn.fails("a vector", input=np.ones(3), error="4 dimensions")
lrn.fails("a radius below 0", input=_pixel, depth_radius=-1, error="not be negative")
lrn_grad.fails(
    "another shape",
    input_grads=_pixel,
    input_image=_pixel,
    output_image=_pixel[..., :2],
    error="the shape of input_grads",
)
lrn_grad.fails(
    "a radius below 0",
    input_grads=_pixel,
    input_image=_pixel,
    output_image=_pixel,
    depth_radius=-1,
    error="not be negative",
)
for _each in (lrn, lrn_grad):
    for _topic in ("nan", "inf"):
        _each.differs(
            _topic,
            tensorflow="It spoils all channels of its pixel: far ones are multiplied by 0, not left out.",
            ours="It spoils the channels that are near it.",
            agree="Keep the input finite.",
        )
    _each.differs(
        "half sums",
        at="half",
        tensorflow="Squares and sums are float16: the square of 300 is infinite.",
        ours="They are float32.",
        agree="Use float32.",
    )
