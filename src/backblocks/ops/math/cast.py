"""Cast: the same numbers in another type."""

from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import CONVERTED, is_differentiable, wider
from backblocks.ops._elementwise import cell_to_cell
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec
from backblocks.ops.attrs import Flag, dtype_of

NumberType = Annotated[Any, dtype_of(*CONVERTED)]


@op("Cast", "SrcT -> y: DstT", aliases=("convert", "astype", "to dtype"), SrcT=CONVERTED)
def cast(x: Array, *, DstT: NumberType, Truncate: Flag = False) -> Array:
    """`x` in type `DstT`. Fractions are cut off on the way to whole numbers, imaginary parts to real ones.

    y = the number of type DstT nearest to x
    with DstT of whole numbers trunc(x), of real numbers Re(x), bool x ≠ 0
    """
    x = x.astype(wider(x.dtype), copy=False)  # no small type converts to all others
    return (x if DstT.kind == "c" else x.real).astype(DstT)


@cast.shape
def _(x: Spec, *, DstT: Any, Truncate: bool) -> Shape:
    return x.shape


@cast.grad
def _(dy: Value, y: Value, x: Value, *, DstT: Any, Truncate: bool) -> list[Value]:
    smooth = is_differentiable(x.dtype) and is_differentiable(DstT)
    return [cast(dy, DstT=x.dtype) if smooth else None]


cast.case(
    "to whole numbers", x=np.array([1.9, -1.9]), DstT="int32", out=np.array([1, -1], np.int32)
)
cast.case(
    "to a wider type", x=np.array([1.5, -2], np.float32), DstT="float64", out=np.array([1.5, -2])
)

cell_to_cell(cast)
cast.differs(
    "small types",
    tensorflow="Converts int4 and uint4 from and to integers, float8_e5m2 and float8_e4m3fn from floats "
    "and to every type, and other small types to none.",
    ours="Converts every type to every other.",
)
