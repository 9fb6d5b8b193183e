"""The parts of complex numbers, and complex numbers from their parts."""

from typing import Annotated, Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import COMPLEX
from backblocks.ops._elementwise import cell_to_cell, unary
from backblocks.ops._inputs import Array
from backblocks.ops._interruptible import as_interruptible
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec, broadcast
from backblocks.ops.array.broadcasting import unbroadcast
from backblocks.ops.attrs import dtype_of

PARTS = ("float32", "float64")
PartType = Annotated[Any, dtype_of(*PARTS)]
WholeType = Annotated[Any, dtype_of(*COMPLEX)]

conj = unary(
    "Conj",
    lambda input: np.conjugate(input),
    COMPLEX,
    "`input` with the sign of its imaginary part changed.",
    "output = Re(input) - i · Im(input)",
    (1 + 2j, 1 - 2j),
    lambda dy, y, x: [ops.conj(dy)],
    out="output: T",
)


@op("Complex", "T, T -> out: Tout", T=PARTS)
def complex_(real: Array, imag: Array, *, Tout: WholeType = "complex64") -> Array:
    """Complex numbers from their real and imaginary parts, which broadcast.

    out = real + i · imag
    """
    whole = as_interruptible(np.empty(np.broadcast_shapes(real.shape, imag.shape), Tout))
    whole.real[...], whole.imag[...] = real, imag
    return whole


@complex_.shape
def _(real: Spec, imag: Spec, *, Tout: Any) -> Shape:
    return broadcast("imag", real.shape, imag.shape)


@complex_.grad
def _(dy: Value, y: Value, real: Value, imag: Value, *, Tout: Any) -> list[Value]:
    parts = ((ops.real, real), (ops.imag, imag))
    return [unbroadcast(part(dy, Tout=x.dtype), x) for part, x in parts]


complex_.case("two numbers", real=np.array([1.0, 3]), imag=2.0, out=np.array([1 + 2j, 3 + 2j]))
complex_.case("a part that is not there", real=0.0, imag=np.nan, out=np.array(complex(0, np.nan)))
complex_.fails("shapes that do not fit", real=np.zeros(2), imag=np.zeros(3), error="must broadcast")


@op("Real", "T -> output: Tout", T=COMPLEX)
def real(input: Array, *, Tout: PartType = "float32") -> Array:
    """The real part of `input`.

    output = Re(input)
    """
    return input.real.astype(Tout)


@op("Imag", "T -> output: Tout", T=COMPLEX)
def imag(input: Array, *, Tout: PartType = "float32") -> Array:
    """The imaginary part of `input`.

    output = Im(input)
    """
    return input.imag.astype(Tout)


@op("Angle", "T -> output: Tout", T=COMPLEX)
def angle(input: Array, *, Tout: PartType = "float32") -> Array:
    """The angle of `input` as seen from 0, from -pi to pi.

    output = the angle with input = r · (cos(output) + i · sin(output))
    where r = |input|
    """
    return np.angle(input).astype(Tout)


@op("ComplexAbs", "T -> y: Tout", T=COMPLEX)
def complex_abs(x: Array, *, Tout: PartType = "float32") -> Array:
    """How far `x` is from 0.

    y = √(Re(x)² + Im(x)²)
    """
    return np.abs(x).astype(Tout)


def _whole(re: Value, im: Value, like: Value) -> Value:
    """Complex numbers of the type of `like` from parts that may have the other width."""
    width = "float32" if like.dtype.itemsize == 8 else "float64"
    re, im = (x if isinstance(x, float) else ops.cast(x, DstT=width) for x in (re, im))
    return ops.complex(re, im, Tout=like.dtype)


@real.grad
def _(dy: Value, y: Value, input: Value, *, Tout: Any) -> list[Value]:
    return [_whole(dy, 0.0, input)]


@imag.grad
def _(dy: Value, y: Value, input: Value, *, Tout: Any) -> list[Value]:
    return [_whole(0.0, dy, input)]


@angle.grad
def _(dy: Value, y: Value, input: Value, *, Tout: Any) -> list[Value]:
    # A step across, i times input, turns by the length of the step over the distance from 0.
    turn = ops.mul(ops.reciprocal(ops.conj(input)), _whole(0.0, ops.ones_like(dy), input))
    return [ops.mul(_whole(dy, 0.0, input), turn)]


@complex_abs.grad
def _(dy: Value, y: Value, x: Value, *, Tout: Any) -> list[Value]:
    return [ops.mul(_whole(dy, 0.0, x), ops.sign(x))]


_numbers = np.array([3 + 4j, -2 + 0j, 0j])
for _each, _out in (
    (real, [3.0, -2, 0]),
    (imag, [4.0, 0, 0]),
    (angle, [np.arctan2(4, 3), np.pi, 0]),
    (complex_abs, [5.0, 2, 0]),
):
    _each.shape(lambda x, *, Tout: x.shape)
    _each.case("three numbers", **{_each.inputs[0].name: _numbers}, out=np.array(_out))
    _each.case(
        "in float64",
        **{_each.inputs[0].name: _numbers[:0]},
        Tout="float64",
        out=np.zeros(0),
    )
    _each.differs(
        "Tout of the other width",
        tensorflow="Refused: complex64 has float32 parts, complex128 float64 ones.",
        ours="The parts are converted.",
    )

for _each in (complex_, real, imag, angle, complex_abs):
    cell_to_cell(_each)
