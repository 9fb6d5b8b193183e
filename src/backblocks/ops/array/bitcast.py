"""The bits of numbers, read as another type."""

from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import NAMES, NUMBERS, QUANTIZED, DType
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import op
from backblocks.ops._spec import Shape, Spec, shape_text
from backblocks.ops.attrs import dtype_of

NumberType = Annotated[Any, dtype_of(*NUMBERS, *QUANTIZED)]


@op("Bitcast", "T -> type", T=NUMBERS)
def bitcast(input: Array, *, type: NumberType) -> Array:
    """The bits of `input`, read as numbers of another type.

    output[…] = the bits of input[…], read as type
    with a smaller type output[…, k] is part k of input[…]
    with a larger type input[…, k] is part k of output[…]

    Numbers of a smaller type stand along a new last axis; those of a larger one are each made of the
    whole last axis, which goes away.
    """
    x = np.asarray(input, order="C")
    if x.itemsize > type.itemsize:
        return x[..., None].view(type)
    return x.view(type) if x.itemsize == type.itemsize else x.view(type)[..., 0]


@bitcast.shape
def _(input: Spec, *, type: DType) -> Shape:
    if input.shape is None:
        return None
    have, want = input.dtype.itemsize, type.itemsize
    if have >= want:
        return input.shape if have == want else (*input.shape, have // want)
    if input.shape[-1:] not in ((None,), (want // have,)):
        raise OpError(
            f"must have a last axis of size {want // have} to make {NAMES[type]} of it",
            arg="input",
            got=described(f"shape {shape_text(input.shape)}"),
            hint=f"Reshape it: x.reshape(..., {want // have}).",
        )
    return input.shape[:-1]


@bitcast.cells
def _(y: Spec, input: Spec, *, type: DType) -> list[AccessMap]:
    """The larger numbers are each made of several, or the other way about."""
    fewer = min(y.sizes, input.sizes, key=len)
    loops, at = over(max(y.sizes, input.sizes, key=len))
    cells = {
        pin: Cells(at[: len(fewer)] if spec.sizes == fewer else at)
        for pin, spec in (("input", input), ("output", y))
    }
    return [AccessMap("apply", ("input",), loops, cells)]


bitcast.no_gradient("A number is not a smooth function of another one's bits.")
bitcast.case(
    "float32 as its bytes",
    input=np.array([1.0, -2], np.float32),
    type="uint8",
    out=np.array([[0, 0, 128, 63], [0, 0, 0, 192]], np.uint8),
)
bitcast.case(
    "two bytes as one number",
    input=np.array([[1, 2], [0, 128]], np.uint8),
    type="int16",
    out=np.array([513, -32768], np.int16),
)
bitcast.case(
    "all bits set", input=np.array(-1, np.int32), type="uint32", out=np.array(2**32 - 1, np.uint32)
)
bitcast.fails(
    "three bytes for two", input=np.zeros(3, np.uint8), type="int16", error="last axis of size 2"
)
bitcast.fails("truth", input=np.zeros(3, np.uint8), type="bool", error="must be")
