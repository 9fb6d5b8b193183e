"""What changed between two pages in what they compute. Where things stand does not count.

    for change in diff(bb.open_page("old.page.json"), bb.open_page("new.page.json")):
        print(change)

Ways of writing the same thing are no change: a default that is spelled out, `"x"` for `"x:output"`, a
constant in a file instead of in words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from backblocks.dtypes import NAMES
from backblocks.errors import OpError
from backblocks.ops import REGISTRY
from backblocks.ops._declaration import REQUIRED
from backblocks.ops._inputs import Array
from backblocks.ops._spec import shape_text
from backblocks.pages.constants import attribute, attribute_in_words, in_words, is_typed
from backblocks.pages.fields import Json, as_json
from backblocks.pages.folder import Folder
from backblocks.pages.model import PageBlock, PageFile

_NOTHING: Any = object()


@dataclass(frozen=True)
class Change:
    """One thing that changed. `before` and `after` are None where there was or is nothing."""

    kind: Literal["added", "removed", "renamed", "changed"]
    block: str
    """The block as it is called now, or was if it is gone; empty if it belongs to the page."""
    part: str = ""
    """What of it changed: "op", the name of an input or attribute, "initial", "after"."""
    before: Json = None
    after: Json = None

    def __str__(self) -> str:
        where = ".".join(part for part in (self.block, self.part) if part)
        if self.kind == "added":
            return f"+ {where}: {_shown(self.after)}"
        if self.kind == "removed":
            return f"- {where}: {_shown(self.before)}"
        if self.kind == "renamed":
            return f"= {self.before} is now {self.after}"
        return f"~ {where}: {_shown(self.before)} -> {_shown(self.after)}{self._cells()}"

    def _cells(self) -> str:
        a, b = self.before, self.after
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)) or a.shape != b.shape:
            return ""
        bits = [x.reshape(-1).view(np.uint8).reshape(x.size, -1) for x in (a, b) if x.size]
        if a.dtype != b.dtype or not bits or a.dtype.hasobject:
            return ""
        return f" ({int((bits[0] != bits[1]).any(-1).sum())} of {a.size} cells)"


def diff(a: PageFile, b: PageFile) -> list[Change]:
    """The changes that make page `b` of page `a`: blocks first, then settings and ports."""
    old, new = _normal(a), _normal(b)
    renamed = _renamed(old, new)
    back = {after: before for before, after in renamed.items()}
    changes = [
        Change("removed", name, before=old[name].op)
        for name in old
        if name not in new and name not in renamed
    ]
    for name, block in new.items():
        before = old.get(back.get(name, name))
        if name in back:
            changes.append(Change("renamed", name, before=back[name], after=name))
        if before is None or (name in renamed.values() and name not in back):
            changes.append(Change("added", name, after=block.op))
        else:
            changes += _changed(name, _with_names(before, renamed), block)
    for section in ("run", "ports"):
        changes += _parts("", _settings(a, section, renamed), _settings(b, section, {}), section)
    changes += _order(old, new, renamed)
    return changes


def _changed(name: str, before: PageBlock, after: PageBlock) -> Iterator[Change]:
    if before.op != after.op:
        yield Change("changed", name, "op", before.op, after.op)
    yield from _parts(name, before.inputs, after.inputs)
    yield from _parts(name, before.attrs, after.attrs)
    was, now = (
        {"initial": x.initial, "after": x.after, "version": x.version} for x in (before, after)
    )
    yield from _parts(name, was, now)


def _parts(
    block: str, before: Mapping[str, Any], after: Mapping[str, Any], section: str = ""
) -> Iterator[Change]:
    for part in {**before, **after}:
        was, now = before.get(part, _NOTHING), after.get(part, _NOTHING)
        where = f"{section}.{part}" if section else part
        if was is _NOTHING:
            yield Change("added", block, where, after=now)
        elif now is _NOTHING:
            yield Change("removed", block, where, before=was)
        elif not _same(was, now):
            yield Change("changed", block, where, was, now)


def _order(
    old: Mapping[str, PageBlock], new: Mapping[str, PageBlock], renamed: Mapping[str, str]
) -> Iterator[Change]:
    """Blocks that change variables do so in the order of the page."""
    before = [renamed.get(name, name) for name, block in old.items() if _writes(block)]
    after = [name for name, block in new.items() if _writes(block)]
    was, now = [n for n in before if n in after], [n for n in after if n in before]
    if was != now:
        yield Change("changed", "", "order", was, now)


def _writes(block: PageBlock) -> bool:
    return block.op in REGISTRY and bool(REGISTRY[block.op].writes)


# -- one way of writing ---------------------------------------------------------------------------


def _normal(page: PageFile) -> dict[str, PageBlock]:
    """The blocks with constants as arrays, wires with their pins, and attributes spelled out."""
    folder = Folder.of(page.path)
    return {name: _normal_block(block, page, folder) for name, block in page.blocks.items()}


def _normal_block(block: PageBlock, page: PageFile, folder: Folder) -> PageBlock:
    return PageBlock(
        block.op,
        block.version,
        inputs={pin: _normal_input(given, page, folder) for pin, given in block.inputs.items()},
        initial=_normal_input(block.initial, page, folder),
        attrs=_normal_attrs(block, folder),
        after=sorted(block.after),
    )


def _normal_input(given: Json, page: PageFile, folder: Folder) -> Any:
    if type(given) is str:
        name, colon, _ = given.partition(":")
        op = REGISTRY.get(page.blocks[name].op) if name in page.blocks else None
        return f"{name}:{op.outputs[0].name}" if op and op.outputs and not colon else given
    if type(given) is list:
        return [_normal_input(each, page, folder) for each in given]
    return _read(given, folder) if is_typed(given) else given


def _read(given: Json, folder: Folder) -> Any:
    try:
        return attribute(given, folder)
    except OpError:
        return given  # whoever wants to run it will hear what is wrong


def _normal_attrs(block: PageBlock, folder: Folder) -> dict[str, Any]:
    given = {name: _read(value, folder) for name, value in block.attrs.items()}
    op = REGISTRY.get(block.op)
    if op is None or op.name in ("Const", "VariableV2"):
        return given
    for attr in op.attrs.values():
        value = given.get(attr.name, attr.default)
        if value is not REQUIRED:
            try:
                given[attr.name] = attr.kind.parse(value)
            except OpError:
                continue
    return given


def _settings(page: PageFile, section: str, renamed: Mapping[str, str]) -> dict[str, Any]:
    """Run settings or ports, each under one name."""
    found = {}
    for name, value in as_json(getattr(page, section)).items():
        inner = value.items() if type(value) is dict else [("", value)]
        for key, each in inner:
            words = _read(each, Folder.of(page.path)) if is_typed(each) else each
            found[f"{name}.{_named(key, renamed)}" if key else name] = _with_name(words, renamed)
    return found


# -- renamed blocks ---------------------------------------------------------------------------------


def _renamed(old: Mapping[str, PageBlock], new: Mapping[str, PageBlock]) -> dict[str, str]:
    """Blocks that are gone and came back under another name: the same op on the same wires.

    Those whose attributes are the same too are found first, then others that have wires.
    """
    renamed: dict[str, str] = {}
    gone, come = ([n for n in x if n not in y] for x, y in ((old, new), (new, old)))
    found = True
    while found:
        found = False
        for exactly in (True, False):
            for name in gone:
                match = _match(_with_names(old[name], renamed), come, new, exactly)
                if match:
                    renamed[name] = match
                    come.remove(match)
                    found = True
            gone = [name for name in gone if name not in renamed]
            if found:
                break
    return renamed


def _match(
    block: PageBlock, names: list[str], new: Mapping[str, PageBlock], exactly: bool
) -> str | None:
    for name in names:
        other = new[name]
        if (
            block.op == other.op
            and _same([block.inputs, block.initial, block.after], [other.inputs, other.initial, other.after])
            and (_same(block.attrs, other.attrs) if exactly else bool(block.inputs))
        ):  # fmt: skip
            return name
    return None


def _with_names(block: PageBlock, renamed: Mapping[str, str]) -> PageBlock:
    if not renamed:
        return block
    return PageBlock(
        block.op,
        block.version,
        inputs={pin: _with_name(given, renamed) for pin, given in block.inputs.items()},
        initial=_with_name(block.initial, renamed),
        attrs=block.attrs,
        after=sorted(renamed.get(name, name) for name in block.after),
    )


def _with_name(given: Any, renamed: Mapping[str, str]) -> Any:
    if type(given) is list:
        return [_with_name(each, renamed) for each in given]
    return _named(given, renamed) if type(given) is str else given


def _named(wire: str, renamed: Mapping[str, str]) -> str:
    name, colon, pin = wire.partition(":")
    return f"{renamed.get(name, name)}{colon}{pin}"


# -- values -----------------------------------------------------------------------------------------


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return (a.dtype, a.shape, _bits(a)) == (b.dtype, b.shape, _bits(b))
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    return bool(a == b) or (a != a and b != b)


def _bits(array: Array) -> Any:
    return array.tolist() if array.dtype.hasobject else array.tobytes()


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        words = in_words(value)
        if value.size > 16 or isinstance(words, np.ndarray):
            return f"{NAMES[value.dtype]} {shape_text(value.shape)}"
        return f"{NAMES[value.dtype]} {_text(words['value'])}"
    if isinstance(value, str):
        return value
    return _text(attribute_in_words(value))


def _text(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, default=lambda each: _shown(each))
    return text if len(text) <= 100 else text[:97] + "..."
