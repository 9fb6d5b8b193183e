"""Calls of the string ops: join, substring, formatting and parsing of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from vectors.data import COMPLEX, NUMBERS_AND_BOOL, Array, Call, Source, is_float, numpy_dtype

TEXT = [
    *(
        "",
        "a",
        "hello",
        "two words",
        " blanks  all\taround ",
        "é",
        "日本語x",
        "a,b,,c",
        ",",
        "a<>b",
    ),
    *(b"a\0b", b"\xff\xfe", b"a\x80b", b"\xe6\x97", b"\x80a", b"e\x1cf\x0bg\x0ch\ri\n"),
]
NUMBERS = """
    1 -1 +5 1.5 1e3 abc 0x10 1_0 inf nan -Infinity NaN 1e400 1e-400 00012 --1 1. .5 1e 5f INF +inf
    1e+5 0x1p3 0x.8 0x 2147483648 -2147483649 9223372036854775808 18446744073709551616 -0 +-1 1,000
    1.0 340282356779733661637539395458142568447 0X1F 0b1 3.4028236e38 . - + 1..2 16777217.0000001
    16777217 16777216.9999999999 1.00000017881393432617187499 1.00000017881393432617187501
    7.038531e-26 1e-45 7e-46 4.9e-324 2e-324 0.1 123456789.123456789
""".split()  # noqa: SIM905
ODD = ["", " 1 ", "\t2\n", "1 2", "\x001", "1\x00", "\u0661", " ", "nan(1)"]


def strings(*values: str | bytes) -> Array:
    cells = [v.encode() if isinstance(v, str) else v for v in values]
    out = np.empty(len(cells), object)
    out[:] = cells
    return out


def scalar(value: str | bytes) -> Array:
    return strings(value).reshape(())


Calls = Callable[[str, str], Iterator[Call]]


def all_texts(arg: str, *attrs: dict[str, Any]) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        for each in attrs or ({},):
            yield Call({arg: strings(*TEXT)}, each)
            yield Call({arg: strings(*TEXT[:6]).reshape(2, 3)}, each)
            yield Call({arg: scalar("text")}, each)
            yield Call({arg: strings()}, each, ["empty"])

    return calls


def join(op: str, dtype: str) -> Iterator[Call]:
    pairs = strings("a", "b"), strings("", "é")
    for inputs in (
        [*pairs],
        [pairs[0]],
        [pairs[0], scalar("x"), pairs[1]],
        [scalar("p"), scalar("q")],
    ):
        for separator in ("", "-", ", "):
            yield Call({"inputs": inputs}, {"separator": separator})
    yield Call({"inputs": [strings(), scalar("x")]}, {}, ["empty"])
    yield Call({"inputs": [pairs[0].reshape(2, 1), scalar("x")]})


def part(op: str, dtype: str) -> Iterator[Call]:
    for unit in ("BYTE", "UTF8_CHAR"):
        for text in TEXT:
            for pos in range(-6, 7):
                for length in (-1, 0, 1, 2, 9):
                    inputs = {"pos": np.array(pos, dtype), "len": np.array(length, dtype)}
                    odd = ["negative lengths of letters"] if length < 0 and unit != "BYTE" else []
                    yield Call({"input": scalar(text), **inputs}, {"unit": unit}, ["nan", *odd])
        two, places = strings("hello", "world"), np.array([[1], [2]], dtype)
        yield Call({"input": two, "pos": places, "len": places}, {"unit": unit})
        yield Call({"input": two, "pos": places[:, 0], "len": places[:, 0]}, {"unit": unit})


def split(op: str, dtype: str) -> Iterator[Call]:
    for sep in ("", ",", "<>", " ", "l"):
        for most in (-1, 0, 1, 2, -3):
            yield Call({"input": strings(*TEXT), "sep": scalar(sep)}, {"maxsplit": most})
            for text in TEXT:
                yield Call({"input": strings(text), "sep": scalar(sep)}, {"maxsplit": most})
        yield Call({"input": strings(), "sep": scalar(sep)}, {}, ["empty"])


def decode_base64(op: str, dtype: str) -> Iterator[Call]:
    letters = (
        "YQ YQ== YWI YWI= YWJj -__- +//+ YQ= Y YR YQ=== YQ==YQ== YWJjZA ==== Y=== YWI== Y+Jj Yé"
    )
    for text in ("", " YQ", "YW Jj", "YQ\n", *letters.split()):
        yield Call({"input": scalar(text)}, {}, ["nan"])
    yield Call({"input": strings("YQ", "YWI=", "").reshape(1, 3)})


def to_number(op: str, dtype: str) -> Iterator[Call]:
    for text in (*NUMBERS, *ODD):
        yield Call({"string_tensor": scalar(text)}, {"out_type": dtype}, ["nan"])
    yield Call({"string_tensor": strings("1", "2").reshape(2, 1)}, {"out_type": dtype})
    yield Call({"string_tensor": strings()}, {"out_type": dtype}, ["empty"])


def as_string(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    if dtype == "string":
        numbers: list[Array] = [strings(*TEXT), scalar("abc")]
    else:
        numbers = [source.whole((2, 3), dtype), source.whole((), dtype), source.whole((0,), dtype)]
    fractions = is_float(dtype) or dtype in COMPLEX
    if is_float(dtype):
        odd = [0.0, -0.0, 1e10, 1e-10, 1e38, np.inf, -np.inf, np.nan, 123456.789, 0.1, -2.5, 0.5]
        with np.errstate(all="ignore"):
            numbers.append(np.array(odd).astype(numpy_dtype(dtype)))
    if fractions:
        numbers.append(source.real((8,), dtype))
    forms: list[dict[str, Any]] = [{}, {"width": 12}, {"width": 1}]
    forms += [{"width": 12, "fill": fill} for fill in (" ", "0", "+", "-", "#")]
    forms += [{"fill": "+"}, {"width": 0}, {"width": -2}]
    if fractions:
        for how in ({}, {"scientific": True}, {"shortest": True}):
            forms += [{"precision": p, **how} for p in (0, 1, 3, 20)]
            forms += [{"width": 12, "fill": "0", "precision": 3, **how}, how]
    if dtype == "string":
        forms += [{"precision": 2}, {"precision": 2, "width": 5}]
    for each in numbers:
        for form in forms:
            yield Call({"input": each}, form, [] if each.size else ["empty"])


def csv(op: str, dtype: str) -> Iterator[Call]:
    no, one = np.zeros(0, np.int32), np.array([7], np.int32)
    none, word = strings(), strings("z")
    table: list[tuple[str, list[Array], dict[str, Any]]] = [
        ("1,2", [no, no], {}),
        (",2", [no, no], {}),
        (",2", [one, no], {}),
        ("1,", [no, one], {}),
        ("1,", [no, word], {}),
        (",", [word, word], {}),
        ("1", [no, no], {}),
        ("1,2,3", [no, no], {}),
        ('"a,b","c""d"', [none, none], {}),
        ('"ab"c,d', [none, none], {}),
        ('a"b,d', [none, none], {}),
        ('"ab', [none], {}),
        ('"', [none], {}),
        ('""', [word], {}),
        ('"""', [none], {}),
        ('""""', [none], {}),
        ('"a"', [none], {}),
        ('"a",', [none, word], {}),
        ('"a,b', [none, none], {"use_quote_delim": False}),
        ('a"b,c', [none, none], {"use_quote_delim": False}),
        (" 1 , x ", [no, none], {}),
        ("1,2\n", [no, no], {}),
        ("\n1,2", [no, no], {}),
        ("1,\r\n2", [no, no], {}),
        ('"a\nb",2', [none, no], {}),
        ("1;2", [no, no], {"field_delim": ";"}),
        ("1\t2", [no, no], {"field_delim": "\t"}),
        ("NA,2", [one, no], {"na_value": "NA"}),
        ("NA,2", [no, no], {"na_value": "NA"}),
        ("1,2,3", [no, no], {"select_cols": [0, 2]}),
        ("1,2,", [no, word], {"select_cols": [0, 2]}),
        ("1,2", [no, no], {"select_cols": [0, 2]}),
        ("1,2,3,4", [no], {"select_cols": [0]}),
        ('1,x"y,3', [no, no], {"select_cols": [0, 2]}),
        ('1,2,x"y', [no, no], {"select_cols": [0, 1]}),
        ("x", [no], {}),
        ("1.5", [no], {}),
        ("", [none], {}),
        ("2147483648", [no], {}),
        (' "a",b', [none, none], {}),
        ('"a" ,b', [none, none], {}),
        ('"1",2', [no, no], {}),
        ("a\rb,2", [none, no], {}),
    ]
    for record, defaults, how in table:
        yield Call({"records": strings(record), "record_defaults": defaults}, how, ["nan"])
    types = [np.zeros(0, np.float32), np.zeros(0, np.float64), np.zeros(0, np.int64), no, none]
    rows = strings("1.5,1e400,5,-6,x", "2,.5,7,8, y ")
    yield Call({"records": rows, "record_defaults": types})
    yield Call({"records": rows.reshape(2, 1), "record_defaults": types})
    yield Call({"records": strings(), "record_defaults": types}, {}, ["empty"])
    yield Call({"records": scalar("3"), "record_defaults": [np.array(4, np.int32)]})


TABLE = {
    "StringJoin": (("string",), join),
    "StringLength": (("string",), all_texts("input", {}, {"unit": "UTF8_CHAR"})),
    "Substr": (("int32", "int64"), part),
    "StringSplitV2": (("string",), split),
    "EncodeBase64": (("string",), all_texts("input", {}, {"pad": True})),
    "DecodeBase64": (("string",), decode_base64),
    "AsString": ((*NUMBERS_AND_BOOL, "string"), as_string),
    "StringToNumber": (
        ("float32", "float64", "int32", "int64", "uint32", "uint64"),
        to_number,
    ),
    "DecodeCSV": (("string",), csv),
}
