"""Changes JSON as JSON, so that what is made up gets past the parser."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

ODD: list[Any] = [
    None, True, 0, 1, -1, 2**31, 2**63, 2**64, -(2**70), 1.5, 1e300, "", "a", "a:output", "x:y[3]", "\0",
    "\x1b[2J", "../x", "x.npy", "p.page.json", "\ud800", [], {}, [1, 2], [[1], [2, 3]], [None], {"a": 1},
    {"dtype": "float32", "value": [1, "nan", "inf"]}, {"dtype": "int64", "value": [2**40, 2**40]},
    {"dtype": "string", "value": ["a", {"base64": "/w=="}]}, {"dtype": "float32", "file": "x.npy"},
]  # fmt: skip


def mutated(data: bytes, seed: int, others: Callable[[bytes], bytes]) -> bytes:
    """The bytes with a few changes in one of their lines of JSON; `others` changes what is none."""
    dice = random.Random(seed)  # noqa: S311
    lines = data.split(b"\n") if data.count(b"\n{") else [data]
    place = dice.randrange(len(lines))
    if dice.random() < 0.1:
        return others(data)
    try:
        value = json.loads(lines[place])
        for _ in range(dice.choice([1, 1, 2, 4])):
            value = _changed(value, dice)
        lines[place] = json.dumps(value).encode()
    except (ValueError, RecursionError, OverflowError):  # no JSON, too deep, or too large a number
        return others(data)
    return b"\n".join(lines)


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Every object and list with every key or place in it."""
    if depth < 40 and isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key], depth + 1)


def _odd(dice: random.Random) -> Any:
    """One of the odd values, as a copy: what is changed further must not change the next ones."""
    return copy.deepcopy(dice.choice(ODD))


def _changed(value: Any, dice: random.Random) -> Any:
    places = list(_places(value))
    if not places:
        return _odd(dice)
    holder, key = dice.choice(places)
    other, its_key = dice.choice(places)
    match dice.randrange(7):
        case 0:
            del holder[key]
        case 1 | 2:
            holder[key] = _odd(dice)
        case 3:  # a copy of another part
            holder[key] = json.loads(json.dumps(other[its_key]))
        case 4 if isinstance(holder, dict):
            holder[dice.choice(["a", "", "x", "\x1b[2J", str(key) + "_", "in", "op"])] = holder[key]
        case 4:
            holder.insert(key, _odd(dice))
        case 5:
            for _ in range(dice.choice([1, 2, 33, 70, 200])):
                holder[key] = [holder[key]]
        case 6 if isinstance(holder[key], int | float):
            holder[key] = holder[key] * dice.choice([-1, 2, 2**32, 0.5]) + dice.choice([-1, 0, 1])
        case 6:
            holder[key] = _odd(dice)
    return value
