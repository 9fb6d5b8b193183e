"""Reads dataclasses from JSON by their annotations, and writes the JSON Schema that says the same.

What a class does not know is kept in its `unknown`, so that a file from a later version loses nothing.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

from backblocks.errors import OpError, described

MAX_SAFE_INTEGER = 2**53
"""Whole numbers beyond it are rounded by whoever reads numbers as float64, as browsers do."""

Json = Any
"""What JSON can hold. A constant may also be an array, which is put into words when it is saved."""


@dataclass
class Fields:
    """What has fields that are written in a file, and keeps those that it does not know."""

    unknown: dict[str, Json] = field(default_factory=dict, kw_only=True)


def written(
    about: str,
    *,
    name: str = "",
    default: Any = MISSING,
    schema: Json = None,
    least: int | None = None,
) -> Any:
    """A field, with what the schema says of it. `name` is the one in the file, if Python has another.

    Numbers may be from `least` to 2^53, beyond which browsers would round them.
    """
    about_it = {"about": about, "name": name, "schema": schema, "least": least}
    if default is MISSING:
        return field(metadata=about_it)
    if callable(default):
        return field(default_factory=default, metadata=about_it)
    return field(default=default, metadata=about_it)


F = TypeVar("F", bound=Fields)


@dataclass(frozen=True)
class _Field:
    name: str
    json_name: str
    about: str
    type: Any
    required: bool
    default: Any
    schema: Json
    least: int | None
    read: Callable[[Any], Any]


_KNOWN: dict[type[Fields], dict[str, _Field]] = {}


def _fields_of(cls: type[Fields]) -> dict[str, _Field]:
    """The fields of a class by their names in the file."""
    if cls not in _KNOWN:
        _KNOWN[cls] = _looked_up(cls)
    return _KNOWN[cls]


def _looked_up(cls: type[Fields]) -> dict[str, _Field]:
    hints = typing.get_type_hints(cls)
    found = {}
    for each in fields(cls):
        if "about" not in each.metadata:
            continue
        made = each.default if each.default_factory is MISSING else each.default_factory()
        found[each.metadata["name"] or each.name] = _Field(
            each.name,
            each.metadata["name"] or each.name,
            each.metadata["about"],
            hints[each.name],
            made is MISSING,
            made,
            each.metadata["schema"],
            each.metadata["least"],
            _bounded(_reader(hints[each.name]), each.metadata["least"]),
        )
    return found


def wrong(problem: str, got: Any, hint: str) -> OpError:
    """What a reader raises; the place is put before it on the way out."""
    return OpError(problem, op="Page", got=got, hint=hint)


def read(cls: type[F], data: Json) -> F:
    """One of `cls` from an object of JSON. An error says where in the object the fault is."""
    known = _fields_of(cls)
    if type(data) is not dict:
        raise wrong("must be an object", _kind(data), "Write it in braces: {...}.")
    given: dict[str, Any] = {}
    unknown: dict[str, Json] = {}
    for key, value in data.items():
        if key not in known:
            unknown[key] = value
            continue
        each = known[key]
        try:
            given[each.name] = each.read(value)
        except OpError as error:
            raise _at(key, error) from None
    try:
        return cls(**given, unknown=unknown)
    except TypeError:
        missing = next(f.json_name for f in known.values() if f.required and f.name not in given)
        raise OpError("must be given", op="Page", arg=missing, hint=known[missing].about) from None


def _at(key: str, error: OpError) -> OpError:
    error.arg = f"{key}.{error.arg}" if error.arg else key
    return error


def as_json(value: Fields) -> Json:
    """The JSON of one of the classes: what differs from its default, then what is unknown."""
    return {key: _plain(part) for key, part in said(value)}


def said(value: Fields) -> list[tuple[str, Any]]:
    """The fields that a file has to say, by the names they have there."""
    known = []
    for key, each in _fields_of(type(value)).items():
        part = getattr(value, each.name)
        if each.required or type(part) is not type(each.default) or part != each.default:
            known.append((key, part))
    return [*known, *value.unknown.items()]


def _plain(part: Any) -> Json:
    if isinstance(part, Fields):
        return as_json(part)
    if type(part) is dict:
        return {key: _plain(each) for key, each in part.items()}
    if type(part) is list:
        return [_plain(each) for each in part]
    return part


# -- readers --------------------------------------------------------------------------------------


def _reader(wanted: Any) -> Callable[[Any], Any]:
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any:
        return lambda value: value
    if _is_ours(wanted):
        return lambda value: read(wanted, value)
    if origin is types.UnionType:
        (inner,) = (each for each in arguments if each is not type(None))
        one = _reader(inner)
        return lambda value: None if value is None else one(value)
    if origin is list:
        return _list_reader(_reader(arguments[0]))
    if origin is dict:
        return _dict_reader(_reader(arguments[1]), arguments[1] is Any)
    return _plain_reader(wanted)


def _bounded(read: Callable[[Any], Any], least: int | None) -> Callable[[Any], Any]:
    if least is None:
        return read

    def read_bounded(value: Any) -> Any:
        number = read(value)
        if number is not None and not least <= number <= MAX_SAFE_INTEGER:
            raise wrong(f"must be from {least} to 2^53", number, "Write a number in between.")
        return number

    return read_bounded


def _is_ours(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, Fields)


def _list_reader(one: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read_list(value: Any) -> Any:
        if type(value) is not list:
            raise wrong("must be a list", _kind(value), "Put it in brackets: [...].")
        return [one(each) for each in value]

    return read_list


def _dict_reader(one: Callable[[Any], Any], anything: bool) -> Callable[[Any], Any]:
    def read_dict(value: Any) -> Any:
        if type(value) is not dict:
            raise wrong("must be an object", _kind(value), "Write it in braces: {...}.")
        if anything:
            return value
        found = {}
        for key, each in value.items():
            try:
                found[key] = one(each)
            except OpError as error:
                raise _at(key, error) from None
        return found

    return read_dict


_PLAIN: dict[type, tuple[tuple[type, ...], str, str]] = {
    str: ((str,), "text", 'Put it in quotes: "text".'),
    int: ((int,), "a whole number", "Write digits only."),
    float: ((int, float), "a number", "Write such as 0.5."),
    bool: ((bool,), "true or false", "Write it without quotes."),
}


def _plain_reader(wanted: type) -> Callable[[Any], Any]:
    allowed, words, hint = _PLAIN[wanted]

    def read_plain(value: Any) -> Any:
        if type(value) not in allowed or (wanted is float and abs(value) > sys.float_info.max):
            raise wrong(f"must be {words}", value, hint)
        return value

    return read_plain


def _kind(value: Any) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "text",
        type(None): "null",
        bool: "a yes or no",
    }
    return described(names.get(type(value), "a number"))


# -- schema ---------------------------------------------------------------------------------------


def schema_of(cls: type[Fields], definitions: dict[str, Json]) -> Json:
    """The JSON Schema of a class. Those it is made of are put into `definitions`."""
    return {
        "type": "object",
        "description": " ".join((cls.__doc__ or "").split()),
        "properties": {
            key: {**_schema(each, definitions), "description": each.about}
            for key, each in _fields_of(cls).items()
        },
        "required": [key for key, each in _fields_of(cls).items() if each.required],
    }


def _schema(each: _Field, definitions: dict[str, Json]) -> Json:
    if each.schema is not None:
        return dict(each.schema)
    bounds = {} if each.least is None else {"minimum": each.least, "maximum": MAX_SAFE_INTEGER}
    return {**_type_schema(each.type, definitions), **bounds}


_TYPE_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _type_schema(wanted: Any, definitions: dict[str, Json]) -> Json:
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any:
        return {}
    if _is_ours(wanted):
        name = wanted.__name__
        if name not in definitions:
            definitions[name] = schema_of(wanted, definitions)
        return {"$ref": f"#/$defs/{name}"}
    if origin is types.UnionType:
        (inner,) = (each for each in arguments if each is not type(None))
        return {"anyOf": [_type_schema(inner, definitions), {"type": "null"}]}
    if origin is list:
        return {"type": "array", "items": _type_schema(arguments[0], definitions)}
    if origin is dict:
        return {
            "type": "object",
            "additionalProperties": _type_schema(arguments[1], definitions),
        }
    return {"type": _TYPE_NAMES[wanted]}
