"""Numbers formatted as strings."""

from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import NAMES, VALUES, DType, is_float
from backblocks.errors import OpError, described
from backblocks.ops._chunks import checked_items
from backblocks.ops._inputs import Array
from backblocks.ops._op import op, zero_gradient
from backblocks.ops._spec import Shape, Spec
from backblocks.ops.attrs import Flag, Int, choice

Fill = Annotated[
    str, choice("What is put before a number to fill `width`.", "", " ", "0", "+", "-", "#")
]
WIDEST = 4096
"""Digits that nobody would read; a width of billions would fill the memory."""


@op("AsString", "T -> output: string", T=VALUES)
def as_string(
    input: Array,
    *,
    precision: Int = -1,
    scientific: Flag = False,
    shortest: Flag = False,
    width: Int = -1,
    fill: Fill = "",
) -> Array:
    """Each number as text, as C's printf writes it.

    Fractions have `precision` digits behind the point, 6 if that is not given, `scientific` ones an
    exponent, and the `shortest` of both forms can be asked for. Text is as long as `width` at least; `fill`
    says how: with zeros, with a sign, to the left (-).
    """
    kind = input.dtype.kind
    if kind == "b":
        cells = [b"true" if cell else b"false" for cell in input.flat]
    else:
        form = _form(input.dtype, precision, scientific, shortest, width, fill)
        flat = input.reshape(-1)
        numbers = flat.tolist() if kind in "fciuO" else flat.astype(np.float32).tolist()
        cells = [_printed(form, number) for number in checked_items(numbers)]
    out = np.empty(input.size, object)
    out[:] = cells
    return out.reshape(input.shape)


def _form(
    dtype: DType, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> str:
    """The format of one number."""
    sizes = (str(width) if width > 0 else "") + (f".{precision}" if precision >= 0 else "")
    if dtype.kind == "u":
        fill = fill.strip("+ ")  # what has no sign gets none
    if dtype.kind in "iu":
        return f"%{fill}{sizes}d"
    if dtype.kind == "O":
        return (
            f"%{fill}{sizes}s" if width > 0 else "%s"
        )  # as TensorFlow does: only a width changes text
    return f"%{fill}{sizes}{'e' if scientific else 'g' if shortest else 'f'}"


def _printed(form: str, number: Any) -> bytes:
    if isinstance(number, bytes):
        text: bytes = form.encode() % number
        return text
    if isinstance(number, complex):
        return b"(%b,%b)" % (_printed(form, number.real), _printed(form, number.imag))
    if isinstance(number, float) and not np.isfinite(number):
        form = form.replace("%0", "%")  # C puts no zeros before these
    return str(form % number).encode()


@as_string.shape
def _(
    input: Spec, *, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> Shape:
    fractions = is_float(input.dtype) or input.dtype.kind == "c"
    for arg, size in (("precision", precision), ("width", width)):
        if size > WIDEST:
            hint = "Use less: nobody reads so many digits."
            raise OpError(f"must be at most {WIDEST}", arg=arg, got=size, hint=hint)
    if precision > -1 and not fractions and not input.dtype.hasobject:
        got, hint = described(f"{precision} for {NAMES[input.dtype]}"), "Leave it out."
        raise OpError("must be left out for whole numbers", arg="precision", got=got, hint=hint)
    for arg, wanted in (("scientific", scientific), ("shortest", shortest)):
        if wanted and not fractions:
            got = described(f"True for {NAMES[input.dtype]}")
            raise OpError("must be False for whole numbers", arg=arg, got=got, hint="Leave it out.")
    if scientific and shortest:
        got, hint = described("True beside scientific=True"), "Choose one of the two."
        raise OpError("must be False", arg="shortest", got=got, hint=hint)
    return input.shape


as_string.grad(zero_gradient)
as_string.case("fractions", input=[1.5, -0.1], out=np.array([b"1.500000", b"-0.100000"], object))
as_string.case(
    "shortest",
    input=np.array([1e10, np.nan, 0.25]),
    shortest=True,
    out=np.array([b"1e+10", b"nan", b"0.25"], object),
)
as_string.case(
    "zeros in front", input=[7, -7], width=4, fill="0", out=np.array([b"0007", b"-007"], object)
)
as_string.case("yes and no", input=[True, False], out=np.array([b"true", b"false"], object))
as_string.case("complex", input=np.array(1 - 2j), precision=1, out=np.array(b"(1.0,-2.0)", object))
as_string.fails(
    "digits of a whole number", input=[1], precision=2, error="left out for whole numbers"
)
as_string.fails("an exponent of one", input=[1], scientific=True, error="False for whole numbers")
as_string.fails("both forms", input=[1.0], scientific=True, shortest=True, error="must be False")
as_string.fails("filled with letters", input=[1], width=5, fill="x", error="must be")
as_string.fails("very wide", input=[1], width=2**31 - 1, error="at most 4096")
as_string.differs(
    "very wide",
    tensorflow="Takes any `width` and `precision`.",
    ours=f"Refuses more than {WIDEST}: such texts would fill the memory.",
)
