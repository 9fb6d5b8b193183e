"""Writes for TypeScript what Python declares: the studio's messages, page files, and what is known of ops.

Types of messages and ops are read off the server's classes, those of pages off the schema of page files.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import types
import typing
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Literal

import msgspec

from backblocks import dtypes
from backblocks.pages import model
from backblocks.pages.schema import schema
from backblocks.studio import messages, palette

HEAD = "// Generated from src/backblocks/{} by tools/generate.py. Do not edit.\n"
PLAIN = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Any: "Json",
    dict[str, Any]: "PageDocument",
}
BASES = (msgspec.Struct, messages.ClientMessage, messages.ServerMessage)
WIDTH = 110
"""Columns of a line of the front end's sources."""


def message_types() -> str:
    """The file with the types of messages."""
    parts = [
        HEAD.format("studio/messages.py"),
        'import type { PageDocument } from "../model/generated.ts";',
        'import type { Json } from "../model/json.ts";\n',
        *_interfaces(messages),
    ]
    for name in ("ClientMessages", "ServerMessages"):
        names = (each.__name__ for each in typing.get_args(getattr(messages, name)))
        union = "".join(f"\n  | {each}" for each in names)
        parts.append(f"export type {name.removesuffix('s')} ={union};\n")
    return "\n".join(parts)


def model_types() -> str:
    """The file with the types of pages and of ops, and the names of element types."""
    return "\n".join(
        [
            HEAD.format("pages/model.py, studio/palette.py and dtypes.py"),
            'import type { Json, JsonObject } from "./json.ts";\n',
            *_page_interfaces(),
            *_interfaces(palette),
            "/** The version of the page format, which is the newest that can be read. */",
            f"export const FORMAT = {model.FORMAT};",
            f'export const GRADIENTS = "{model.GRADIENTS}";',
            f'export const PAGE = "{model.PAGE}";\n',
            *_names("ALL_DTYPES", (*dtypes.ALL_BUT_RESOURCE, "resource"), "Every element type."),
            *_names("ML_DTYPES", dtypes.FROM_ML_DTYPES, "Element types that are not NumPy's own."),
            *_names(
                "DIFFERENTIABLE_DTYPES", dtypes.DIFFERENTIABLE, "Element types that have gradients."
            ),
        ]
    )


def _names(constant: str, names: tuple[str, ...], about: str) -> Iterator[str]:
    lines = "".join(f'\n  "{each}",' for each in names)
    yield f"/** {about} */\nexport const {constant}: readonly string[] = [{lines}\n];\n"


# -- classes -------------------------------------------------------------------------------------


def _interfaces(module: ModuleType) -> Iterator[str]:
    """The choices of a module, and an interface for each of its classes that have fields."""
    documented = _documented(module)
    for choice, name in _choices(module).items():
        text = f"export type {name} = {_choice(choice)};\n"
        if len(text) > WIDTH:
            text = text.replace("= ", "=\n  | ").replace('" | ', '"\n  | ')
        yield "\n".join([*_comment(documented.get(name), ""), text])
    for each in vars(module).values():
        if inspect.isclass(each) and issubclass(each, msgspec.Struct) and each not in BASES:
            yield _interface(each, documented)


def _choices(module: ModuleType) -> dict[Any, str]:
    """Literal types that have a name, which they keep."""
    return {v: name for name, v in vars(module).items() if typing.get_origin(v) is Literal}


CHOICES = {**_choices(messages), **_choices(palette)}


def _documented(module: ModuleType) -> dict[str, str]:
    """The docstrings of choices and of fields in the source, by "name" and "class.field"."""
    body = ast.parse(inspect.getsource(module)).body
    classes = [each for each in body if isinstance(each, ast.ClassDef)]
    found = {}
    for prefix, lines in [("", body), *((f"{each.name}.", each.body) for each in classes)]:
        for field, text in itertools.pairwise(lines):
            if isinstance(field, ast.AnnAssign | ast.Assign) and isinstance(text, ast.Expr):
                target = field.target if isinstance(field, ast.AnnAssign) else field.targets[0]
                name = typing.cast(ast.Name, target).id
                found[prefix + name] = str(ast.literal_eval(text.value))
    return found


def _interface(cls: type[msgspec.Struct], documented: dict[str, str]) -> str:
    lines = [*_comment(cls.__doc__ and inspect.cleandoc(cls.__doc__), "")]
    lines.append(f"export interface {cls.__name__} {{")
    config = cls.__struct_config__
    if config.tag is not None:
        lines.append(f'  readonly {config.tag_field}: "{config.tag}";')
    hints = typing.get_type_hints(cls)
    for field in msgspec.structs.fields(cls):
        lines += _comment(documented.get(f"{cls.__name__}.{field.name}"), "  ")
        # What the server leaves out, or a tab may leave out.
        optional = "?" if config.omit_defaults and not field.required else ""
        lines.append(f"  readonly {field.encode_name}{optional}: {_type(hints[field.name])};")
    return "\n".join([*lines, "}\n"])


def _comment(text: str | None, indent: str) -> Iterator[str]:
    if not text:
        return
    lines = text.split("\n")
    if len(lines) == 1:
        yield f"{indent}/** {lines[0]} */"
        return
    yield f"{indent}/**"
    yield from (f"{indent} * {line}".rstrip() for line in lines)
    yield f"{indent} */"


def _type(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if hint in CHOICES:
        return CHOICES[hint]
    if origin is Literal:
        return _choice(hint)
    if origin in (types.UnionType, typing.Union):
        return " | ".join(_type(each) for each in arguments if each is not msgspec.UnsetType)
    if origin is list:
        return _list_of(_type(arguments[0]))
    if origin is dict:
        return f"Readonly<Record<string, {_type(arguments[1])}>>"
    return str(hint.__name__)


def _list_of(inner: str) -> str:
    return f"readonly ({inner})[]" if " " in inner else f"readonly {inner}[]"


def _choice(hint: Any) -> str:
    return " | ".join(f'"{each}"' for each in typing.get_args(hint))


# -- pages ---------------------------------------------------------------------------------------

JSON_TYPES = {"string": "string", "integer": "number", "number": "number", "null": "null"}


def _page_interfaces() -> Iterator[str]:
    """An interface for each definition of the schema. A document need not have a format: the clipboard
    holds parts of pages.
    """
    page = {**schema(), "required": []}
    definitions = page["$defs"]
    (typed,) = (each for each in definitions.pop("Constant")["anyOf"] if "properties" in each)
    for each in {**definitions, "TypedConstant": typed, "PageDocument": page}.items():
        yield _page_interface(*each)


def _page_interface(name: str, definition: dict[str, Any]) -> str:
    lines = [*_comment(definition.get("description"), "")]
    lines.append(f"export interface {name} extends JsonObject {{")
    for key, each in definition["properties"].items():
        lines += _comment(each.get("description"), "  ")
        optional = "" if key in definition["required"] else "?"
        lines.append(f"  readonly {key}{optional}: {_page_type(each)};")
    return "\n".join([*lines, "}\n"])


def _page_type(definition: dict[str, Any]) -> str:
    """The type of what a schema allows; `Json` where it allows several kinds of values."""
    if "$ref" in definition:
        name = definition["$ref"].removeprefix("#/$defs/")
        return "Json" if name == "Constant" else name
    if "enum" in definition:
        return "string"
    if "anyOf" in definition:
        several = [_page_type(each) for each in definition["anyOf"]]
        return several[0] + " | null" if several[1:] == ["null"] else "Json"
    kind = definition.get("type")
    if kind == "array":
        return _list_of(_page_type(definition.get("items", {})))
    if kind == "object":
        return f"Readonly<Record<string, {_page_type(definition['additionalProperties'])}>>"
    if isinstance(kind, list):
        names = [JSON_TYPES.get(each) for each in kind]
        return "Json" if None in names else " | ".join(map(str, names))
    return JSON_TYPES.get(kind, "Json")
