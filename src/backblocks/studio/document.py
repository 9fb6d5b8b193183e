"""Changes documents by edits, and says how to take the edits back.

A document is never changed in place: who holds one (a check, a run, a journal) keeps what it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from backblocks.studio.messages import Edit

Json = Any


class BadEdit(ValueError):
    """An edit that leads nowhere in this document."""


def applied(document: Json, edits: Iterable[Edit]) -> tuple[Json, list[Edit]]:
    """The document after the edits, and the edits that make it what it was."""
    copies = _Copies()
    document = copies.own(document)
    inverse = [_apply(document, edit, copies) for edit in edits]
    return document, inverse[::-1]


class _Copies:
    """Copies each list and object on the way to an edit once."""

    def __init__(self) -> None:
        self._made: dict[int, Json] = {}

    def own(self, value: Json) -> Json:
        if id(value) in self._made:
            return value
        if not isinstance(value, dict | list):
            raise BadEdit("a path leads into what is no object and no list")
        copy = value.copy()
        self._made[id(copy)] = copy  # held, so that no other object gets its id
        return copy


def _apply(document: Json, edit: Edit, copies: _Copies) -> Edit:
    """Makes one edit in containers that are copies already, and gives its inverse."""
    if not edit.path:
        raise BadEdit("an edit must have a path")
    holder, last = document, edit.path[-1]
    for key in edit.path[:-1]:
        inner = copies.own(_at(holder, key))
        holder[key] = inner
        holder = inner
    if isinstance(holder, dict):
        if not isinstance(last, str):
            raise BadEdit(f"an object has no place {last}")
        return _in_object(holder, last, edit)
    if not isinstance(last, int) or not 0 <= last <= len(holder) - (edit.value is UNSET):
        raise BadEdit(f"a list of {len(holder)} items has no place {last}")
    if edit.value is UNSET:
        return Edit(edit.path, holder.pop(last))
    holder.insert(last, edit.value)
    return Edit(edit.path)


def _at(holder: Json, key: str | int) -> Json:
    if isinstance(holder, dict) and key in holder:
        return holder[key]
    if isinstance(holder, list) and isinstance(key, int) and 0 <= key < len(holder):
        return holder[key]
    raise BadEdit(f"there is no {key!r} on the way")


def _in_object(holder: dict[str, Json], key: str, edit: Edit) -> Edit:
    if key in holder:
        old = holder[key]
        if edit.value is not UNSET:
            holder[key] = edit.value
            return Edit(edit.path, old)
        keys = list(holder)
        behind = keys[keys.index(key) + 1 :]
        del holder[key]
        return Edit(edit.path, old, behind[0] if behind else UNSET)
    if edit.value is UNSET:
        raise BadEdit(f"there is no {key!r} to take away")
    if edit.before is UNSET or edit.before not in holder:
        holder[key] = edit.value
    else:
        entries = list(holder.items())
        place = list(holder).index(edit.before)
        entries.insert(place, (key, edit.value))
        holder.clear()
        holder.update(entries)
    return Edit(edit.path)


def between(before: dict[str, Json], after: dict[str, Json]) -> list[Edit]:
    """Edits that make one document of another, section by section."""
    edits = [Edit([key]) for key in before if key not in after]
    keys = [*after]
    for place, key in reversed([*enumerate(keys)]):
        if key not in before:
            behind = keys[place + 1 : place + 2]
            edits.append(Edit([key], after[key], behind[0] if behind else UNSET))
        elif not _same(before[key], after[key]):
            edits.append(Edit([key], after[key]))
    return edits


def _same(one: Json, other: Json) -> bool:
    """Whether they are equal, with the same order of keys: that of blocks counts."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)
