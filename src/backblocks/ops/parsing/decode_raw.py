"""Bytes decoded as numbers of a type."""

from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import COMPLEX, FLOATS, NAMES, SIGNED, DType
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.ops._op import op, zero_gradient
from backblocks.ops._spec import Shape, Spec
from backblocks.ops.attrs import Flag, dtype_of

RawType = Annotated[Any, dtype_of("uint8", "uint16", *SIGNED, *FLOATS, *COMPLEX, "bool")]


@op("DecodeRaw", "string -> output: out_type", data_dependent_shape=True)
def decode_raw(bytes: Array, *, out_type: RawType, little_endian: Flag = True) -> Array:
    """The bytes of each string, read as numbers along a new last axis.

    All strings have one length. `little_endian` says that the first byte of a number counts least.
    """
    joined = b"".join(bytes.ravel())
    cells = np.frombuffer(joined, np.uint8).reshape(-1, out_type.itemsize)
    if out_type.itemsize > 1 and not little_endian:
        # The parts of a complex number are turned around one by one.
        parts = 2 if out_type.kind == "c" else 1
        cells = cells.reshape(len(cells), parts, -1)[..., ::-1].copy().reshape(cells.shape)
    values = cells != 0 if out_type.kind == "b" else cells.view(out_type)
    return values.reshape(*bytes.shape, -1)


@decode_raw.shape
def _(bytes: Spec, *, out_type: DType, little_endian: bool) -> Shape:
    if bytes.value is None or bytes.shape is None:
        return None if bytes.shape is None else (*bytes.shape, None)
    lengths = sorted({len(each) for each in bytes.value.flat}) or [0]
    if len(lengths) > 1:
        hint = "Cut or fill them to one length."
        raise OpError("must all have one length", arg="bytes", got=lengths, hint=hint)
    count, rest = divmod(lengths[0], out_type.itemsize)
    if rest:
        raise OpError(
            f"must have a length that is a multiple of {out_type.itemsize}, the size of {NAMES[out_type]}",
            arg="bytes",
            got=lengths[0],
            hint="Use uint8 to look at every byte.",
        )
    return (*bytes.shape, count)


decode_raw.grad(zero_gradient)
decode_raw.case(
    "two strings of two numbers",
    bytes=[b"\x01\x00\x02\x00", b"\xff\xff\x00\x80"],
    out_type="int16",
    out=np.array([[1, 2], [-1, -32768]], np.int16),
)
decode_raw.case(
    "the most important byte first",
    bytes=b"\x3f\x80\x00\x00\x00\x00\x00\x00",
    out_type="float32",
    little_endian=False,
    out=np.array([1.0, 0], np.float32),
)
decode_raw.case(
    "zero bytes at the end", bytes=[b"a\x00"], out_type="uint8", out=np.array([[97, 0]])
)
decode_raw.case("no bytes", bytes=[b"", b""], out_type="int64", out=np.zeros((2, 0), np.int64))
decode_raw.fails("half a number", bytes=[b"abc"], out_type="int16", error="a multiple of 2")
decode_raw.fails("two lengths", bytes=[b"ab", b"a"], out_type="uint8", error="one length")
decode_raw.fails("numbers", bytes=[1, 2], out_type="uint8", error="must fit in string")
decode_raw.fails("an array of numbers", bytes=np.zeros(2), out_type="uint8", error="must be string")
