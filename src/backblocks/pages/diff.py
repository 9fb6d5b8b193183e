"""Semantic diff of two pages: changes in what they compute. Layout and formatting are ignored.

    for change in diff(bb.open_page("old.page.json"), bb.open_page("new.page.json")):
        print(change)

Equivalent spellings are no change: an explicit default, `"x"` for `"x:output"`, a constant in an npy file
instead of inline.
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
from backblocks.pages.constants import array_to_json, attribute_to_json, is_typed, parse_attribute
from backblocks.pages.dataclass_json import Json, to_json
from backblocks.pages.folder import Folder
from backblocks.pages.model import PageBlock, PageFile

_ABSENT: Any = object()


@dataclass(frozen=True)
class DiffEntry:
    """One change. `before` is None for what was added, `after` for what was removed."""

    kind: Literal["added", "removed", "renamed", "changed"]
    block: str
    """The new name of the block, or the old one if it was removed; empty for a change of the page."""
    part: str = ""
    """The part that changed: "op", the name of an input or attribute, "initial", "after"."""
    before: Json = None
    after: Json = None

    def __str__(self) -> str:
        where = ".".join(part for part in (self.block, self.part) if part)
        if self.kind == "added":
            return f"+ {where}: {_value_text(self.after)}"
        if self.kind == "removed":
            return f"- {where}: {_value_text(self.before)}"
        if self.kind == "renamed":
            return f"= {self.before} is now {self.after}"
        return f"~ {where}: {_value_text(self.before)} -> {_value_text(self.after)}{self._element_count()}"

    def _element_count(self) -> str:
        a, b = self.before, self.after
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)) or a.shape != b.shape:
            return ""
        bits = [x.reshape(-1).view(np.uint8).reshape(x.size, -1) for x in (a, b) if x.size]
        if a.dtype != b.dtype or not bits or a.dtype.hasobject:
            return ""
        return f" ({int((bits[0] != bits[1]).any(-1).sum())} of {a.size} elements)"


def diff(a: PageFile, b: PageFile) -> list[DiffEntry]:
    """The changes from page `a` to page `b`: blocks first, then settings and ports."""
    old, new = _normalized_blocks(a), _normalized_blocks(b)
    renamed = _find_renames(old, new)
    back = {after: before for before, after in renamed.items()}
    changes = [
        DiffEntry("removed", name, before=old[name].op)
        for name in old
        if name not in new and name not in renamed
    ]
    for name, block in new.items():
        before = old.get(back.get(name, name))
        if name in back:
            changes.append(DiffEntry("renamed", name, before=back[name], after=name))
        if before is None or (name in renamed.values() and name not in back):
            changes.append(DiffEntry("added", name, after=block.op))
        else:
            changes += _block_changes(name, _rename_block(before, renamed), block)
    for section in ("run", "ports"):
        changes += _part_changes(
            "", _settings(a, section, renamed), _settings(b, section, {}), section
        )
    changes += _order_changes(old, new, renamed)
    return changes


def _block_changes(name: str, before: PageBlock, after: PageBlock) -> Iterator[DiffEntry]:
    if before.op != after.op:
        yield DiffEntry("changed", name, "op", before.op, after.op)
    yield from _part_changes(name, before.inputs, after.inputs)
    yield from _part_changes(name, before.attrs, after.attrs)
    was, now = (
        {"initial": x.initial, "after": x.after, "version": x.version} for x in (before, after)
    )
    yield from _part_changes(name, was, now)


def _part_changes(
    block: str, before: Mapping[str, Any], after: Mapping[str, Any], section: str = ""
) -> Iterator[DiffEntry]:
    for part in {**before, **after}:
        was, now = before.get(part, _ABSENT), after.get(part, _ABSENT)
        where = f"{section}.{part}" if section else part
        if was is _ABSENT:
            yield DiffEntry("added", block, where, after=now)
        elif now is _ABSENT:
            yield DiffEntry("removed", block, where, before=was)
        elif not _equal(was, now):
            yield DiffEntry("changed", block, where, was, now)


def _order_changes(
    old: Mapping[str, PageBlock], new: Mapping[str, PageBlock], renamed: Mapping[str, str]
) -> Iterator[DiffEntry]:
    """A change of order among blocks that write variables, which they do in the order of the page."""
    before = [renamed.get(name, name) for name, block in old.items() if _writes(block)]
    after = [name for name, block in new.items() if _writes(block)]
    was, now = [n for n in before if n in after], [n for n in after if n in before]
    if was != now:
        yield DiffEntry("changed", "", "order", was, now)


def _writes(block: PageBlock) -> bool:
    return block.op in REGISTRY and bool(REGISTRY[block.op].writes)


# -- normal form ------------------------------------------------------------------------------------


def _normalized_blocks(page: PageFile) -> dict[str, PageBlock]:
    """The blocks with constants as arrays, wires with their pins, and all attributes explicit."""
    folder = Folder.of(page.path)
    return {name: _normalize_block(block, page, folder) for name, block in page.blocks.items()}


def _normalize_block(block: PageBlock, page: PageFile, folder: Folder) -> PageBlock:
    return PageBlock(
        block.op,
        block.version,
        inputs={pin: _normalize_input(given, page, folder) for pin, given in block.inputs.items()},
        initial=_normalize_input(block.initial, page, folder),
        attrs=_normalize_attrs(block, folder),
        after=sorted(block.after),
    )


def _normalize_input(given: Json, page: PageFile, folder: Folder) -> Any:
    if type(given) is str:
        name, colon, _ = given.partition(":")
        op = REGISTRY.get(page.blocks[name].op) if name in page.blocks else None
        return f"{name}:{op.outputs[0].name}" if op and op.outputs and not colon else given
    if type(given) is list:
        return [_normalize_input(each, page, folder) for each in given]
    return _parse_or_keep(given, folder) if is_typed(given) else given


def _parse_or_keep(given: Json, folder: Folder) -> Any:
    try:
        return parse_attribute(given, folder)
    except OpError:
        return given  # a check reports the problem


def _normalize_attrs(block: PageBlock, folder: Folder) -> dict[str, Any]:
    given = {name: _parse_or_keep(value, folder) for name, value in block.attrs.items()}
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
    """Run settings or ports, flattened to dotted names."""
    found = {}
    for name, value in to_json(getattr(page, section)).items():
        inner = value.items() if type(value) is dict else [("", value)]
        for key, each in inner:
            parsed = _parse_or_keep(each, Folder.of(page.path)) if is_typed(each) else each
            found[f"{name}.{_rename_wire(key, renamed)}" if key else name] = _rename_wires(
                parsed, renamed
            )
    return found


# -- renamed blocks ---------------------------------------------------------------------------------


def _find_renames(old: Mapping[str, PageBlock], new: Mapping[str, PageBlock]) -> dict[str, str]:
    """Old names to new ones, of removed blocks that have an equal among the added ones: same op, same wires.

    Blocks with equal attributes are matched first, then others that have wires.
    """
    renamed: dict[str, str] = {}
    gone, come = ([n for n in x if n not in y] for x, y in ((old, new), (new, old)))
    found = True
    while found:
        found = False
        for exactly in (True, False):
            for name in gone:
                match = _find_match(_rename_block(old[name], renamed), come, new, exactly)
                if match:
                    renamed[name] = match
                    come.remove(match)
                    found = True
            gone = [name for name in gone if name not in renamed]
            if found:
                break
    return renamed


def _find_match(
    block: PageBlock, names: list[str], new: Mapping[str, PageBlock], exactly: bool
) -> str | None:
    for name in names:
        other = new[name]
        if (
            block.op == other.op
            and _equal([block.inputs, block.initial, block.after], [other.inputs, other.initial, other.after])
            and (_equal(block.attrs, other.attrs) if exactly else bool(block.inputs))
        ):  # fmt: skip
            return name
    return None


def _rename_block(block: PageBlock, renamed: Mapping[str, str]) -> PageBlock:
    if not renamed:
        return block
    return PageBlock(
        block.op,
        block.version,
        inputs={pin: _rename_wires(given, renamed) for pin, given in block.inputs.items()},
        initial=_rename_wires(block.initial, renamed),
        attrs=block.attrs,
        after=sorted(renamed.get(name, name) for name in block.after),
    )


def _rename_wires(given: Any, renamed: Mapping[str, str]) -> Any:
    if type(given) is list:
        return [_rename_wires(each, renamed) for each in given]
    return _rename_wire(given, renamed) if type(given) is str else given


def _rename_wire(wire: str, renamed: Mapping[str, str]) -> str:
    name, colon, pin = wire.partition(":")
    return f"{renamed.get(name, name)}{colon}{pin}"


# -- values -----------------------------------------------------------------------------------------


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return (a.dtype, a.shape, _bits(a)) == (b.dtype, b.shape, _bits(b))
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    return bool(a == b) or (a != a and b != b)


def _bits(array: Array) -> Any:
    return array.tolist() if array.dtype.hasobject else array.tobytes()


def _value_text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        written = array_to_json(value)
        if value.size > 16 or isinstance(written, np.ndarray):
            return f"{NAMES[value.dtype]} {shape_text(value.shape)}"
        return f"{NAMES[value.dtype]} {_json_text(written['value'])}"
    if isinstance(value, str):
        return value
    return _json_text(attribute_to_json(value))


def _json_text(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, default=lambda each: _value_text(each))
    return text if len(text) <= 100 else text[:97] + "..."
