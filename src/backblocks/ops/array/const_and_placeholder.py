"""Constants and placeholders, and values passed through: with a check, or without a gradient."""

from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import ALL_BUT_RESOURCE, FLOATS, is_half
from backblocks.errors import OpError, described
from backblocks.ops._elementwise import cell_to_cell
from backblocks.ops._inputs import Array, from_weak
from backblocks.ops._op import Value, op, zero_gradient
from backblocks.ops._spec import Shape, Spec, agreed
from backblocks.ops.attrs import PartialShape, Tensor, Text, dtype_of

ValueType = Annotated[Any, dtype_of(*ALL_BUT_RESOURCE)]


@op("Const", "-> output: dtype", aliases=("constant", "number", "array", "literal"))
def const(*, value: Tensor, dtype: ValueType) -> Array:
    """A value that never changes, in type `dtype`."""
    return value if value.dtype == dtype else from_weak(value, dtype, (dtype,))


@const.shape
def _(*, value: Array, dtype: Any) -> Shape:
    try:
        const.reference(value=value, dtype=dtype)
    except OpError as error:
        error.arg = "value"
        raise
    return tuple(value.shape)


@const.static_value
def _(*, value: Array, dtype: Any) -> Array:
    known: Array = const.reference(value=value, dtype=dtype)
    return known


const.grad(zero_gradient)
const.case("two numbers", value=[1, 2], dtype="float32", out=np.array([1.0, 2], np.float32))
const.case("nothing", value=np.zeros((0, 3)), dtype="int64", out=np.zeros((0, 3), np.int64))
const.case("yes", value=True, dtype="bool", out=np.array(True))
const.fails("too large for the type", value=[300], dtype="uint8", error="must fit in uint8")
const.fails("a fraction for a whole number", value=0.5, dtype="int32", error="must fit in int32")
const.fails("words", value="five", dtype="int32", error="array of numbers")


@op(
    "Placeholder",
    "-> output: dtype",
    aliases=("input", "feed"),
    data_dependent_shape=True,
    fed=True,
)
def placeholder(*, dtype: ValueType, shape: PartialShape = None) -> Array:
    """A value that is fed at run time. Sizes that are not known before are None."""
    raise OpError(
        "must be fed",
        op="Placeholder",
        arg="output",
        got=described("nothing"),
        hint="Give it a value in `feeds`, or use PlaceholderWithDefault.",
    )


@placeholder.shape
def _(*, dtype: Any, shape: Shape) -> Shape:
    return shape


placeholder.grad(zero_gradient)
placeholder.in_use(
    "It has a value only in a session that is fed one.",
    """
    >>> x = bb.placeholder([None])
    >>> y = bb.ops.neg(x)
    >>> bb.Session().run(y, feeds={x: [1, 2]})
    array([-1., -2.], dtype=float32)
    """,
)
placeholder.fails("nothing was fed", dtype="float32", shape=[2, None], error="must be fed")


@op(
    "PlaceholderWithDefault",
    "dtype -> output: dtype",
    data_dependent_shape=True,
    dtype=ALL_BUT_RESOURCE,
)
def placeholder_with_default(input: Array, *, shape: PartialShape) -> Array:
    """A value that can be fed at run time, and is `input` when it is not.

    output = what is fed, or else input
    """
    return input.copy()


@placeholder_with_default.shape
def _(input: Spec, *, shape: Shape) -> Shape:
    agreed("input", input, shape, "the shape that can be fed", "Leave sizes that differ None.")
    return shape


placeholder_with_default.grad(lambda dy, y, input, *, shape: [dy])
placeholder_with_default.case(
    "not fed", input=np.array([1.0, 2]), shape=[None], out=np.array([1.0, 2])
)
placeholder_with_default.case(
    "of any shape", input=np.zeros((0, 2)), shape=None, out=np.zeros((0, 2))
)
placeholder_with_default.fails(
    "what could not be fed", input=[1.0, 2.0], shape=[3], error="shape that can be fed"
)
placeholder_with_default.differs(
    "shape",
    tensorflow="A default of another shape than `shape` is handed on.",
    ours="It is refused: nothing of its shape could be fed.",
)


@op("EnsureShape", "T -> T", T=ALL_BUT_RESOURCE)
def ensure_shape(input: Array, *, shape: PartialShape) -> Array:
    """`input` as it is, if it has this shape. Sizes that may be any are None.

    output = input
    """
    return input.copy()


@ensure_shape.shape
def _(input: Spec, *, shape: Shape) -> Shape:
    return agreed("input", input, shape, "the shape that is asked for", "Leave it None for any.")


ensure_shape.grad(lambda dy, y, input, *, shape: [dy])
ensure_shape.case("two rows", input=np.zeros((2, 3)), shape=[2, None], out=np.zeros((2, 3)))
ensure_shape.case("any", input=np.array(5.0), shape=None, out=np.array(5.0))
ensure_shape.fails("three rows", input=np.zeros((3, 3)), shape=[2, None], error="is asked for")
ensure_shape.fails("no rows", input=5.0, shape=[None], error="is asked for")


@op("StopGradient", "T -> T", aliases=("detach",), T=ALL_BUT_RESOURCE)
def stop_gradient(input: Array) -> Array:
    """`input` as it is; gradients do not pass.

    output = input
    """
    return input.copy()


stop_gradient.shape(lambda input: input.shape)
stop_gradient.grad(zero_gradient)


@op("PreventGradient", "T -> T", T=ALL_BUT_RESOURCE)
def prevent_gradient(input: Array, *, message: Text = "") -> Array:
    """`input` as it is; to ask for a gradient through it is an error, and `message` says why.

    output = input
    """
    return input.copy()


@prevent_gradient.shape
def _(input: Spec, *, message: str) -> Shape:
    return input.shape


@prevent_gradient.grad
def _(dy: Value, y: Value, input: Value, *, message: str) -> list[Value]:
    raise OpError(
        "has no gradient",
        op="PreventGradient",
        arg="input",
        hint=message or "Use StopGradient to let none pass without an error.",
    )


for _each in (stop_gradient, prevent_gradient):
    _each.case("two numbers", input=np.array([1.0, 2]), out=np.array([1.0, 2]))
    _each.case("none", input=np.zeros((0, 2)), out=np.zeros((0, 2)))


@op("CheckNumerics", "T -> T", T=FLOATS)
def check_numerics(tensor: Array, *, message: Text) -> Array:
    """`tensor` as it is, if all its numbers are finite; else an error that begins with `message`.

    output = tensor
    """
    return tensor.copy()


@check_numerics.shape
def _(tensor: Spec, *, message: str) -> Shape:
    if tensor.value is not None:
        values = tensor.value
        bad = ~np.isfinite(values.astype(np.float32) if is_half(values.dtype) else values)
        if bad.any():
            place = [int(i) for i in np.argwhere(bad)[0]]
            raise OpError(
                f"{message}: every number must be finite" if message else "must be finite",
                arg="tensor",
                got=described(f"{values[tuple(place)]} at {place}"),
                hint="Look for what made it: a division by 0, or a logarithm of it.",
            )
    return tensor.shape


@check_numerics.grad
def _(dy: Value, y: Value, tensor: Value, *, message: str) -> list[Value]:
    return [check_numerics(dy, message=f"in the gradient. {message}")]


check_numerics.case("all finite", tensor=[1.0, -2e30], message="", out=np.array([1.0, -2e30]))
check_numerics.case("zero", tensor=0.0, message="", out=np.array(0.0))
check_numerics.case("none", tensor=np.zeros((0, 2)), message="loss", out=np.zeros((0, 2)))
check_numerics.fails("a NaN", tensor=[1.0, np.nan], message="the loss", error="the loss: every")
check_numerics.fails("an infinity", tensor=[[-np.inf]], message="", error="must be finite")

for _each in (
    placeholder_with_default,
    ensure_shape,
    stop_gradient,
    prevent_gradient,
    check_numerics,
):
    cell_to_cell(_each, "copy")
