"""Dataclasses read from JSON by their annotations, written as JSON, and described by a JSON Schema.

Unknown keys are kept in `unknown`, so that a file of a later version loses nothing. An error names the path.

msgspec, which reads the studio's messages, is not used here. It drops unknown keys, and its errors name no
key of an object (`$.blocks[...].op`), so that a type walk such as this one would have to stay beside it.
Tried on the model of pages, with the same errors: 190 lines of ours instead of 280; 2.6 ms instead of 5.0 to
read 5,000 blocks, which take 6 ms to decode and 30 ms to check (msgspec's decoder accepts duplicate keys and
1e999, so it cannot decode them). Not worth a compiled dependency of the core, which needs NumPy and ml_dtypes
alone, and Structs, whose attributes beside the file, such as `path`, a file could set.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Any, NamedTuple, TypeVar

from backblocks.errors import OpError, described

MAX_SAFE_INTEGER = 2**53
"""Integers beyond it are rounded by programs that read numbers as float64, as browsers do."""

Json = Any
"""A JSON value. A constant may also be an array, which becomes JSON or a file when the page is saved."""


@dataclass
class Record:
    """A JSON object with fields of its own, declared by `json_field`, and unknown ones, which are kept."""

    unknown: dict[str, Json] = field(default_factory=dict, kw_only=True)


def json_field(
    description: str,
    *,
    name: str = "",
    default: Any = MISSING,
    schema: Json = None,
    minimum: int | None = None,
) -> Any:
    """A field of a Record, with its description in the schema. `name` is its JSON key, if Python has another.

    With a `minimum`, numbers may be from there to 2^53. `schema` replaces what the annotation implies.
    """
    metadata = {"description": description, "name": name, "schema": schema, "minimum": minimum}
    if default is MISSING:
        return field(metadata=metadata)
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


R = TypeVar("R", bound=Record)
Definitions = dict[str, Json]
"""The `$defs` of a schema, by class name."""


class _Type(NamedTuple):
    """How values of an annotation are read from JSON, and their JSON Schema."""

    read: Callable[[Json], Any]
    schema: Callable[[Definitions], Json]


class _Field(NamedTuple):
    name: str
    description: str
    default: Any
    read: Callable[[Json], Any]
    schema: Callable[[Definitions], Json]


_FIELDS: dict[type[Record], dict[str, _Field]] = {}


def _fields_of(cls: type[Record]) -> dict[str, _Field]:
    """The fields of a class by their JSON keys; inspected once for each class."""
    if cls not in _FIELDS:
        _FIELDS[cls] = _inspect(cls)
    return _FIELDS[cls]


def _inspect(cls: type[Record]) -> dict[str, _Field]:
    hints = typing.get_type_hints(cls)
    found = {}
    for each in fields(cls):
        about = each.metadata
        if "description" in about:
            default = each.default if each.default_factory is MISSING else each.default_factory()
            read, schema = _bounded(_type_of(hints[each.name]), about["minimum"])
            if about["schema"] is not None:
                schema = partial(_fixed_schema, about["schema"])
            key = about["name"] or each.name
            found[key] = _Field(each.name, about["description"], default, read, schema)
    return found


def _fixed_schema(schema: Json, definitions: Definitions) -> Json:
    return dict(schema)


# -- reading ----------------------------------------------------------------------------------------


def from_json(cls: type[R], data: Json) -> R:
    """A Record from a JSON object. An error says at which path of keys the fault is."""
    known = _fields_of(cls)
    if type(data) is not dict:
        raise _invalid("must be an object", _kind(data), "Write it in braces: {...}.")
    arguments: dict[str, Any] = {}
    unknown: dict[str, Json] = {}
    for key, value in data.items():
        if key not in known:
            unknown[key] = value
            continue
        each = known[key]
        try:
            arguments[each.name] = each.read(value)
        except OpError as error:
            raise _at(key, error) from None
    try:
        return cls(**arguments, unknown=unknown)
    except TypeError:
        missing, each = next(
            (key, each)
            for key, each in known.items()
            if each.default is MISSING and each.name not in arguments
        )
        raise OpError("must be given", op="Page", arg=missing, hint=each.description) from None


def _at(key: str, error: OpError) -> OpError:
    error.arg = f"{key}.{error.arg}" if error.arg else key
    return error


def _invalid(rule: str, got: Any, hint: str) -> OpError:
    return OpError(rule, op="Page", got=got, hint=hint)


def _kind(value: Json) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "text",
        type(None): "null",
        bool: "a yes or no",
    }
    return described(names.get(type(value), "a number"))


# -- writing ----------------------------------------------------------------------------------------


def to_json(value: Record) -> Json:
    """The JSON object of a Record: fields that differ from their defaults, then the unknown ones."""
    found = {}
    for key, each in _fields_of(type(value)).items():
        part = getattr(value, each.name)
        if type(part) is not type(each.default) or part != each.default:
            found[key] = _to_json(part)
    return found | {key: _to_json(part) for key, part in value.unknown.items()}


def _to_json(part: Any) -> Json:
    if isinstance(part, Record):
        return to_json(part)
    if type(part) is dict:
        return {key: _to_json(each) for key, each in part.items()}
    if type(part) is list:
        return [_to_json(each) for each in part]
    return part


# -- types ------------------------------------------------------------------------------------------


def _type_of(annotation: Any) -> _Type:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return _Type(lambda value: value, lambda definitions: {})
    if origin is types.UnionType:
        (inner,) = (_type_of(each) for each in arguments if each is not type(None))
        return _Type(
            lambda value: None if value is None else inner.read(value),
            lambda definitions: {"anyOf": [inner.schema(definitions), {"type": "null"}]},
        )
    if origin is list:
        inner = _type_of(arguments[0])
        return _Type(
            partial(_read_list, inner.read),
            lambda definitions: {"type": "array", "items": inner.schema(definitions)},
        )
    if origin is dict:
        inner = _type_of(arguments[1])
        return _Type(
            partial(_read_dict, None if arguments[1] is Any else inner.read),
            lambda definitions: {
                "type": "object",
                "additionalProperties": inner.schema(definitions),
            },
        )
    if annotation in _SCALARS:
        scalar = _SCALARS[annotation]
        return _Type(partial(_read_scalar, scalar), lambda definitions: {"type": scalar.schema})
    return _Type(partial(from_json, annotation), partial(_schema_reference, annotation))


def _read_list(read: Callable[[Json], Any], value: Json) -> list[Any]:
    if type(value) is not list:
        raise _invalid("must be a list", _kind(value), "Put it in brackets: [...].")
    return [read(each) for each in value]


def _read_dict(read: Callable[[Json], Any] | None, value: Json) -> dict[str, Any]:
    if type(value) is not dict:
        raise _invalid("must be an object", _kind(value), "Write it in braces: {...}.")
    if read is None:
        return value
    found = {}
    for key, each in value.items():
        try:
            found[key] = read(each)
        except OpError as error:
            raise _at(key, error) from None
    return found


class _Scalar(NamedTuple):
    types: tuple[type, ...]
    rule: str
    hint: str
    schema: str


_SCALARS = {
    str: _Scalar((str,), "must be text", 'Put it in quotes: "text".', "string"),
    int: _Scalar((int,), "must be a whole number", "Write digits only.", "integer"),
    float: _Scalar((int, float), "must be a number", "Write such as 0.5.", "number"),
    bool: _Scalar((bool,), "must be true or false", "Write it without quotes.", "boolean"),
}


def _read_scalar(scalar: _Scalar, value: Json) -> Any:
    if type(value) not in scalar.types or (
        scalar.schema == "number" and abs(value) > sys.float_info.max
    ):
        raise _invalid(scalar.rule, value, scalar.hint)
    return value


def _bounded(number: _Type, minimum: int | None) -> _Type:
    if minimum is None:
        return number

    def read(value: Json) -> Any:
        found = number.read(value)
        if found is not None and not minimum <= found <= MAX_SAFE_INTEGER:
            raise _invalid(f"must be from {minimum} to 2^53", found, "Write a number in between.")
        return found

    bounds = {"minimum": minimum, "maximum": MAX_SAFE_INTEGER}
    return _Type(read, lambda definitions: {**number.schema(definitions), **bounds})


# -- schema -----------------------------------------------------------------------------------------


def json_schema(cls: type[Record], definitions: Definitions) -> Json:
    """The JSON Schema of a class. Schemas of the classes inside it are added to `definitions`."""
    known = _fields_of(cls)
    return {
        "type": "object",
        "description": " ".join((cls.__doc__ or "").split()),
        "properties": {
            key: {**each.schema(definitions), "description": each.description}
            for key, each in known.items()
        },
        "required": [key for key, each in known.items() if each.default is MISSING],
    }


def _schema_reference(cls: type[Record], definitions: Definitions) -> Json:
    if cls.__name__ not in definitions:
        definitions[cls.__name__] = json_schema(cls, definitions)
    return {"$ref": f"#/$defs/{cls.__name__}"}
