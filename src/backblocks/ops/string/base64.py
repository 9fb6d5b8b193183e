"""Base64 encoding and decoding, with the alphabet that is safe in URLs."""

import binascii
import re

import numpy as np

from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.ops._op import op, zero_gradient
from backblocks.ops._spec import Shape, Spec
from backblocks.ops.attrs import Flag
from backblocks.ops.string.strings import texts

_SAFE, _USUAL = bytes.maketrans(b"+/", b"-_"), bytes.maketrans(b"-_", b"+/")
_LEGAL = re.compile(rb"(?:[\w-]{4})*(?:[\w-]{2}(?:==)?|[\w-]{3}=?)?", re.ASCII)


@op("EncodeBase64", "string -> output: string")
def encode_base64(input: Array, *, pad: Flag = False) -> Array:
    """Each text written with letters, digits, - and _: four for three bytes.

    With `pad`, the last four are filled up with =.
    """

    def encoded(text: bytes) -> bytes:
        letters = binascii.b2a_base64(text, newline=False).translate(_SAFE)
        return letters if pad else letters.rstrip(b"=")

    return texts(encoded, input)


@op("DecodeBase64", "string -> output: string")
def decode_base64(input: Array) -> Array:
    """The text that EncodeBase64 was given, from what it gave."""
    return texts(_decoded, input)


def _decoded(text: bytes) -> bytes:
    if not _LEGAL.fullmatch(text):
        raise OpError(
            "must be letters, digits, - and _, four for three bytes",
            arg="input",
            got=text,
            hint="Write - and _ for + and /, and leave out blanks.",
        )
    letters = text.rstrip(b"=").translate(_USUAL)
    return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))


@encode_base64.shape
def _(input: Spec, *, pad: bool) -> Shape:
    return input.shape


@decode_base64.shape
def _(input: Spec) -> Shape:
    return input.shape


encode_base64.grad(zero_gradient)
decode_base64.grad(zero_gradient)
encode_base64.case(
    "one, two and three bytes",
    input=["a", "ab", b"\xfb\xff\xfe"],
    out=np.array([b"YQ", b"YWI", b"-__-"], object),
)
encode_base64.case("filled up", input="a", pad=True, out=np.array(b"YQ==", object))
decode_base64.case(
    "filled up or not",
    input=["YQ", "YWI=", "-__-", ""],
    out=np.array([b"a", b"ab", b"\xfb\xff\xfe", b""], object),
)
decode_base64.fails("a letter too many", input="YWJjZ", error="four for three bytes")
decode_base64.fails("other letters", input="+//+", error="four for three bytes")
