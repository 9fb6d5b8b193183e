"""Writes the types of the studio's messages for TypeScript, read off the classes that the server has."""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from backblocks.studio import messages

HEAD = "// Made from src/backblocks/studio/messages.py by tools/generate.py. Do not edit.\n"
PLAIN = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Any: "unknown",
}
BASES = (messages.Command, messages.Message)


def types_text() -> str:
    """The whole file."""
    documented = _documented()
    parts = [HEAD, f"export type State = {_choice(messages.State)};\n"]
    for each in vars(messages).values():
        if inspect.isclass(each) and issubclass(each, msgspec.Struct) and each not in BASES:
            parts += [_interface(each, documented)] if each is not msgspec.Struct else []
    for name in ("Commands", "Messages"):
        names = (each.__name__ for each in typing.get_args(getattr(messages, name)))
        union = "".join(f"\n  | {each}" for each in names)
        parts.append(f"export type {name.removesuffix('s')} ={union};\n")
    return "\n".join(parts)


def _documented() -> dict[tuple[str, str], str]:
    """What stands below fields in the source, by class and field."""
    found = {}
    for cls in ast.parse(inspect.getsource(messages)).body:
        if isinstance(cls, ast.ClassDef):
            for field, text in zip(cls.body, cls.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    words = ast.literal_eval(text.value)
                    found[cls.name, typing.cast(ast.Name, field.target).id] = words
    return found


def _interface(cls: type[msgspec.Struct], documented: dict[tuple[str, str], str]) -> str:
    lines = [*_comment(cls.__doc__ and inspect.cleandoc(cls.__doc__), "")]
    lines.append(f"export interface {cls.__name__} {{")
    config = cls.__struct_config__
    if config.tag is not None:
        lines.append(f'  {config.tag_field}: "{config.tag}";')
    hints = typing.get_type_hints(cls)
    for field in msgspec.structs.fields(cls):
        lines += _comment(documented.get((cls.__name__, field.name)), "  ")
        # What the server leaves out, or a tab may leave out.
        optional = "?" if config.omit_defaults and not field.required else ""
        lines.append(f"  {field.encode_name}{optional}: {_type(hints[field.name])};")
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
    if hint == messages.State:
        return "State"
    if origin is Literal:
        return _choice(hint)
    if origin in (types.UnionType, typing.Union):
        return " | ".join(_type(each) for each in arguments if each is not msgspec.UnsetType)
    if origin is list:
        inner = _type(arguments[0])
        several = typing.get_origin(arguments[0]) in (types.UnionType, typing.Union, Literal)
        return f"({inner})[]" if several else f"{inner}[]"
    if origin is dict:
        return f"Record<string, {_type(arguments[1])}>"
    return str(hint.__name__)


def _choice(hint: Any) -> str:
    return " | ".join(f'"{each}"' for each in typing.get_args(hint))
