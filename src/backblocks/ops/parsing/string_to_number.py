"""Strings parsed as numbers, alone and in rows of CSV."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import NAMES, DType
from backblocks.errors import OpError, described
from backblocks.ops._chunks import checked_items
from backblocks.ops._inputs import Array
from backblocks.ops._op import op, zero_gradient
from backblocks.ops._spec import Shape, Spec, shape_text
from backblocks.ops.attrs import Flag, Ints, Text, dtype_of
from backblocks.ops.parsing._numbers import number

NumberType = Annotated[Any, dtype_of("float32", "float64", "int32", "int64", "uint32", "uint64")]


@op("StringToNumber", "string -> output: out_type")
def string_to_number(string_tensor: Array, *, out_type: NumberType = "float32") -> Array:
    """Each text as a number of type `out_type`."""
    texts = checked_items(string_tensor.reshape(-1))
    numbers = [_number("string_tensor", text, out_type) for text in texts]
    return np.array(numbers, out_type).reshape(string_tensor.shape)


def _number(arg: str, text: bytes, dtype: DType) -> Any:
    value = number(text, dtype)
    if value is None:
        raise OpError(
            f"must be numbers of type {NAMES[dtype]}",
            arg=arg,
            got=text,
            hint="Write digits, with a point and an exponent if the type has fractions.",
        )
    return value


@string_to_number.shape
def _(string_tensor: Spec, *, out_type: DType) -> Shape:
    return string_tensor.shape


string_to_number.grad(zero_gradient)
string_to_number.case(
    "fractions",
    string_tensor=["1.5", " -2e3 ", "inf"],
    out=np.array([1.5, -2000, np.inf], np.float32),
)
string_to_number.case(
    "whole numbers", string_tensor=["007", "-8"], out_type="int64", out=np.array([7, -8])
)
string_to_number.fails("a word", string_tensor=["one"], error="numbers of type float32")
string_to_number.fails("nothing", string_tensor=[""], error="numbers of type float32")
string_to_number.fails(
    "too large", string_tensor="2147483648", out_type="int32", error="numbers of type int32"
)
string_to_number.fails(
    "below zero", string_tensor="-1", out_type="uint32", error="numbers of type uint32"
)


# -- DecodeCSV ------------------------------------------------------------------------------------


@op(
    "DecodeCSV",
    "string, OUT_TYPE** -> output: OUT_TYPE**",
    OUT_TYPE=("float32", "float64", "int32", "int64", "string"),
)
def decode_csv(
    records: Array,
    record_defaults: Sequence[Array],
    *,
    field_delim: Text = ",",
    use_quote_delim: Flag = True,
    na_value: Text = "",
    select_cols: Ints = (),
) -> tuple[Array, ...]:
    """The columns of a table: each record is a row, its fields stand between commas.

    `record_defaults` has a tensor for each column. It says what type the column has, and what stands for
    a field that is empty or is `na_value`; one without a value says that no field may be. A field in
    quotes may have commas and, doubled, quotes in it. `select_cols` are the columns wanted, all if empty.
    """
    columns: list[list[Any]] = [[] for _ in record_defaults]
    missing = na_value.encode()
    for i, record in enumerate(records.reshape(-1)):
        fields = _fields(record, field_delim.encode(), use_quote_delim, select_cols)
        if len(fields) != len(columns):
            raise OpError(
                f"must have {len(columns)} fields each",
                arg="records",
                got=described(f"{len(fields)} in record {i}"),
                hint="Give one default for each field, or choose fields with select_cols.",
            )
        for column, field, default in zip(columns, fields, record_defaults, strict=True):
            if field and field != missing:
                text = default.dtype.hasobject
                column.append(field if text else _number("records", field, default.dtype))
            elif default.size:
                column.append(default.reshape(-1)[0])
            else:
                raise OpError(
                    "must have a value in every field that has no default",
                    arg="records",
                    got=described(f"an empty field {len(column)} in record {i}"),
                    hint="Give the column a default, as in [0.0].",
                )
    return tuple(
        _column(column, default.dtype).reshape(records.shape)
        for column, default in zip(columns, record_defaults, strict=True)
    )


def _column(cells: list[Any], dtype: DType) -> Array:
    column = np.empty(len(cells), dtype)
    column[:] = cells
    return column


def _fields(record: bytes, comma: bytes, quotes: bool, wanted: Sequence[int]) -> list[bytes]:
    found: list[bytes] = []
    at, number = 0, 0
    while at < len(record):
        if record[at : at + 1] in (b"\n", b"\r"):
            at += 1
            continue
        if quotes and record[at : at + 1] == b'"':
            field, at = _quoted(record, at + 1, comma)
        else:
            end = record.find(comma, at)
            end = len(record) if end < 0 else end
            field, at = record[at:end], end + 1
            if any(mark in field for mark in (b"\n", b"\r", *([b'"'] if quotes else []))):
                raise _badly_written(record, "Put a field with quotes or ends of lines in quotes.")
        if not wanted or number in wanted:
            found.append(field)
            if len(found) == len(wanted):
                return found
        number += 1
    if record[-1:] == comma and (not wanted or number in wanted):
        found.append(b"")
    return found


def _quoted(record: bytes, at: int, comma: bytes) -> tuple[bytes, int]:
    """A field in quotes, and where the next one begins."""
    parts = []
    while True:
        end = record.find(b'"', at)
        if end < 0:
            raise _badly_written(record, "End a field in quotes with a quote.")
        parts.append(record[at:end])
        after = record[end + 1 : end + 2]
        if after in (b"", comma):
            return b'"'.join(parts), end + 2
        if after != b'"':
            raise _badly_written(record, "Double a quote inside quotes.")
        at = end + 2


def _badly_written(record: bytes, hint: str) -> OpError:
    return OpError("must be rows of a table", arg="records", got=record, hint=hint)


@decode_csv.shape
def _(
    records: Spec,
    record_defaults: Sequence[Spec],
    *,
    field_delim: str,
    select_cols: Sequence[int],
    **rest: Any,
) -> list[Shape]:
    if not record_defaults:
        hint = "Give an empty tensor for a column without a default."
        raise OpError("must have a tensor for each column", arg="record_defaults", got=0, hint=hint)
    for default in record_defaults:
        if default.shape is not None and default.shape not in ((), (0,), (1,), (None,)):
            raise OpError(
                "must have one value for each column, or none",
                arg="record_defaults",
                got=described(f"shape {shape_text(default.shape)}"),
                hint="Write [0.0], or [] if there is no default.",
            )
    if len(field_delim.encode()) != 1 or field_delim in '"\n\r':
        hint = "Use a single letter, such as , or ;."
        raise OpError(
            "must be one byte, and no quote", arg="field_delim", got=field_delim, hint=hint
        )
    if select_cols:
        rising = all(a < b for a, b in pairwise(select_cols))
        if select_cols[0] < 0 or not rising:
            hint = "Count columns from 0, and name them in their order."
            raise OpError("must rise from 0 on", arg="select_cols", got=select_cols, hint=hint)
        if len(select_cols) != len(record_defaults):
            raise OpError(
                f"must name a column for each of the {len(record_defaults)} defaults",
                arg="select_cols",
                got=select_cols,
                hint="Give one default for each.",
            )
    return [records.shape] * len(record_defaults)


decode_csv.grad(zero_gradient)
_NO_TEXT = np.zeros(0, object)
decode_csv.case(
    "two rows of three columns",
    records=["1.5,2,x", "3,,y"],
    record_defaults=[[], np.array([7], np.int32), _NO_TEXT],
    out=(np.array([1.5, 3]), np.array([2, 7]), np.array([b"x", b"y"], object)),
)
decode_csv.case(
    "quotes, and one column of three",
    records='a,"b, ""c""",d',
    record_defaults=[_NO_TEXT],
    select_cols=[1],
    out=(np.array(b'b, "c"', object),),
)
_ONE = {"record_defaults": [np.zeros(0, np.int32)]}
decode_csv.fails("a field too many", records=["1,2"], error="must have 1 fields each", **_ONE)
decode_csv.fails("no number", records=["x"], error="numbers of type int32", **_ONE)
decode_csv.fails(
    "an empty field", records=[",2"], record_defaults=[[], []], error="that has no default"
)
decode_csv.fails("a quote inside", records=['1"'], error="rows of a table", **_ONE)
decode_csv.fails("a quote without end", records=['"1'], error="rows of a table", **_ONE)
decode_csv.fails("no comma", records=["1"], field_delim="", error="must be one byte", **_ONE)
decode_csv.fails(
    "columns out of order",
    records=["1,2"],
    record_defaults=[[], []],
    select_cols=[1, 0],
    error="rise",
)
decode_csv.fails(
    "two defaults", records=["1"], record_defaults=[[1.0, 2.0]], error="one value for each column"
)
