"""Edits of documents, with their inverses: the server's half of `web/src/model/document.ts`.

Documents are copy-on-write: an edited document shares with the old one what did not change, and whoever has
the old one (a check, a run, a journal) keeps it. The browser applies the same edits; `tests/conformance` has
edits with their results and refusals that both sides are tested with.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from backblocks.studio.messages import Edit

Json = Any


class EditError(ValueError):
    """An edit that does not fit the document."""


def apply(document: Json, edits: Iterable[Edit]) -> tuple[Json, list[Edit]]:
    """The document after the edits, and the inverse edits, which undo them."""
    copies = _Copies()
    document = copies.own(document)
    inverse = [_apply(document, edit, copies) for edit in edits]
    return document, inverse[::-1]


class _Copies:
    """Copies each list and object on the path of an edit once."""

    def __init__(self) -> None:
        self._made: dict[int, Json] = {}

    def own(self, value: Json) -> Json:
        if id(value) in self._made:
            return value
        copy = value.copy()
        self._made[id(copy)] = copy  # referenced, so that no other object gets its id
        return copy


def _apply(document: Json, edit: Edit, copies: _Copies) -> Edit:
    """Applies one edit to containers that are copies already, and gives its inverse."""
    if not edit.path:
        raise EditError("an edit must have a path")
    parent, last = document, edit.path[-1]
    for key in edit.path[:-1]:
        parent[key] = copies.own(_child(parent, key))
        parent = parent[key]
    if isinstance(parent, dict):
        return _apply_to_object(parent, last, edit)
    if not isinstance(last, int) or not 0 <= last <= len(parent) - (edit.value is UNSET):
        raise EditError(f"a list of {len(parent)} items has no index {_quoted(last)}")
    if edit.value is UNSET:
        return Edit(edit.path, parent.pop(last))
    parent.insert(last, edit.value)
    return Edit(edit.path)


def _child(parent: Json, key: str | int) -> Json:
    """The object or list at a key of an object, or at an index of a list."""
    keys = parent if isinstance(parent, dict) else range(len(parent))
    if key not in keys:
        raise EditError(f"there is no {_quoted(key)} on its path")
    child = parent[key]
    if not isinstance(child, dict | list):
        raise EditError(f"{_quoted(key)} on its path is no object and no list")
    return child


def _quoted(key: str | int) -> str:
    return json.dumps(key, ensure_ascii=False)


def _apply_to_object(parent: dict[str, Json], key: str | int, edit: Edit) -> Edit:
    if not isinstance(key, str):
        raise EditError(f"an object has keys, not indices; got {key}")
    if key == "__proto__":  # which a browser's objects do not take as a key
        raise EditError('"__proto__" cannot be a key')
    if key in parent:
        old = parent[key]
        if edit.value is not UNSET:
            parent[key] = edit.value
            return Edit(edit.path, old)
        keys = list(parent)
        behind = keys[keys.index(key) + 1 :]
        del parent[key]
        return Edit(edit.path, old, behind[0] if behind else UNSET)
    if edit.value is UNSET:
        raise EditError(f"there is no {_quoted(key)} to remove")
    if edit.before is UNSET or edit.before not in parent:
        parent[key] = edit.value
    else:
        entries = list(parent.items())
        entries.insert(list(parent).index(edit.before), (key, edit.value))
        parent.clear()
        parent.update(entries)
    return Edit(edit.path)


def diff(before: dict[str, Json], after: dict[str, Json]) -> list[Edit]:
    """Edits that turn one document into another, section by section."""
    edits = [Edit([key]) for key in before if key not in after]
    keys = [*after]
    # From the end, so that the key before which one is inserted is there already.
    for index, key in reversed([*enumerate(keys)]):
        if key not in before:
            behind = keys[index + 1 : index + 2]
            edits.append(Edit([key], after[key], behind[0] if behind else UNSET))
        elif not _same(before[key], after[key]):
            edits.append(Edit([key], after[key]))
    return edits


def _same(one: Json, other: Json) -> bool:
    """Whether they are equal, with the same order of keys: that of blocks counts."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)
