"""Random edits of random documents, with what they give: tests/conformance/random_edits.json.

The server's `apply` gives the results; the browser's is tested with them. Cases are the same each time.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import msgspec

from backblocks.studio.document import EditError, apply, diff
from backblocks.studio.messages import Edit

CASES = 150
KEYS = ("blocks", "layout", "x", "y", "z", "initial", "", "constructor")


class Chance:
    """Choices by `random()` alone, which gives the same numbers in every version of Python."""

    def __init__(self, seed: int) -> None:
        self._next = random.Random(seed).random  # noqa: S311

    def below(self, most: int) -> int:
        return int(self._next() * most)

    def one(self, of: Sequence[Any]) -> Any:
        return of[self.below(len(of))]

    def value(self, depth: int = 3) -> Any:
        kind = self.below(10) if depth else self.below(5)
        if kind < 5:
            return self.one((None, True, False, -1, 0, 7, 0.5, "", "text"))
        if kind < 7:
            return [self.value(depth - 1) for _ in range(self.below(4))]
        return self.object(depth - 1)

    def object(self, depth: int = 3) -> dict[str, Any]:
        return {self.one(KEYS): self.value(depth) for _ in range(self.below(6))}

    def edit(self, document: Any) -> Edit:
        """An edit that fits the document more often than not."""
        path: list[str | int] = []
        parent = document
        while inside := [key for key in _keys(parent) if isinstance(parent[key], dict | list)]:
            if not self.below(3):
                break
            path.append(self.one(inside))
            parent = parent[path[-1]]
        if not self.below(20):
            path.append(self.one((*KEYS, "0", 0, -1, 9)))
        keys = _keys(parent)
        if keys and self.below(2):
            last = self.one(keys)
        else:
            last = self.below(len(keys) + 1) if isinstance(parent, list) else self.one(KEYS)
        if not self.below(3):
            return Edit([*path, self.one(keys) if keys and self.below(6) else last])
        edit = Edit([*path, last], self.value())
        if self.below(2):
            edit.before = str(self.one(keys or KEYS))
        return edit


def _keys(parent: Any) -> list[Any]:
    return list(parent) if isinstance(parent, dict) else list(range(len(parent)))


def _case(seed: int) -> dict[str, Any]:
    chance = Chance(seed)
    document = now = chance.object()
    edits: list[Edit] = []
    for _ in range(1 + chance.below(6)):
        edits.append(chance.edit(now))
        try:
            now, _ = apply(now, edits[-1:])
        except EditError:
            break
    case = {"name": f"seed {seed}", "document": document, "edits": edits}
    try:
        result, inverse = apply(document, edits)
    except EditError as error:
        return {**case, "refused": str(error)}
    return {**case, "result": result, "inverse": inverse}


def _diff(seed: int) -> dict[str, Any]:
    chance = Chance(-1 - seed)
    before, after = chance.object(2), chance.object(2)
    for key in list(before)[::2]:
        after[key] = before[key]
    return {"name": f"seed {seed}", "before": before, "after": after, "edits": diff(before, after)}


def text() -> str:
    """The whole file, a case on each line."""
    sections = {
        "edits": [_case(seed) for seed in range(CASES)],
        "diffs": [_diff(seed) for seed in range(CASES // 5)],
    }
    parts = [
        f'"{name}": [\n'
        + ",\n".join(json.dumps(msgspec.to_builtins(case)) for case in cases)
        + "\n]"
        for name, cases in sections.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"
