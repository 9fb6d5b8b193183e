"""Pages that somebody, or something, has spoiled: every command answers in words."""

import json
import random
from pathlib import Path

import pytest

from backblocks import examples
from backblocks.cli import main

EXPORTED = Path(__file__).resolve().parents[1] / "pages/exported"
SOURCES = [*map(examples.path, examples.names()), *sorted(EXPORTED.glob("*.page.json"))]
PAGES_PER_SEED = 12

ODD = [
    None, True, 0, -1, 3, 2**31, 2**63, 10**30, 10**400, 1e308, 0.5, 1e-320,
    "", "x", "\u202e\u0301é", "a b", "../x", "/etc/passwd", "nan", "nowhere:y", "::", "x:output[99]",
    "float32", "string", "resource", "gradients", "page", "Const", "VariableV2", "Switch", "Merge",
    "FIFOQueueV2", "Placeholder", "Assign", "trend", "histogram", "image", "SAME",
    [], [[]], {}, [None], [1, "a"], [[1, 2], [3]], [0] * 300, [10**9], [2**31, 2**31], [-1],
    {"dtype": "float32"}, {"dtype": "float32", "value": "nan"}, {"dtype": "float32", "file": "x.npy"},
    {"dtype": "string", "value": ["é", {"base64": "/w=="}]}, {"dtype": "bfloat16", "value": [1, 2]},
    {"dtype": "float32", "shape": [2**40], "value": []}, {"number": "inf"},
]  # fmt: skip
KEYS = [
    "x",
    "é",
    "",
    "a b",
    "x" * 5000,
    "op",
    "in",
    "attrs",
    "after",
    "initial",
    "steps",
    "element",
]


def places(value, at=()):
    """The way to everything in some JSON that can be spoiled."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:20])
    for key, each in inside:
        yield (*at, key)
        if isinstance(each, dict | list):
            yield from places(each, (*at, key))


def at(value, way):
    for key in way:
        value = value[key]
    return value


def spoil(page, chance):
    """Drops, replaces, renames, swaps or adds something."""
    ways = [way for way in places(page) if way[0] not in ("layout", "notes")]
    blocks = [way for way in ways if way[0] == "blocks"]
    settings = [way for way in ways if way[0] != "blocks"]
    *way, key = chance.choice(chance.choice([blocks, settings]) or ways)
    holder = at(page, way)
    match chance.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = copied(at(page, chance.choice(ways)))
        case 2 if isinstance(holder, dict):
            holder[chance.choice(KEYS)] = holder.pop(key)
        case 3 if isinstance(holder, dict):
            holder[chance.choice(KEYS)] = copied(chance.choice(ODD))
        case 4 if isinstance(holder[key], str):
            holder[key] = chance.choice([*page.get("blocks", {}), *ODD[12:22], holder[key] + ":z"])
        case _:
            holder[key] = copied(chance.choice(ODD))


def copied(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("seed", range(6))
def test_spoiled_pages_are_told_of_in_words(seed, tmp_path, capsys):
    chance = random.Random(seed)  # noqa: S311
    path = tmp_path / "a.page.json"
    for _ in range(PAGES_PER_SEED):
        page = json.loads(chance.choice(SOURCES).read_text())
        for _ in range(chance.choice([1, 1, 2, 4])):
            spoil(page, chance)
        path.write_text(json.dumps(page, ensure_ascii=False))
        for command, *options in (
            ["check"],
            ["check", "--json"],
            ["run", "--steps", "2"],
            ["run", "--steps", "1", "--json"],
            ["export", "--to", "python", "--json"],
            ["export", "--to", "tensorflow"],
        ):
            code = main([command, str(path), *options])
            told = capsys.readouterr()
            assert code in (0, 1), path.read_text()
            assert told.out or told.err or code == 0
            if "--json" in options:
                assert bool(json.loads(told.out).get("problems")) == (code == 1)
