"""`backblocks diff`: what changed between two pages in what they do."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

from backblocks.commands import values
from backblocks.commands.given import opened
from backblocks.commands.terminal import painter
from backblocks.errors import visible
from backblocks.pages.diff import diff

_COLOURS = {"added": "green", "removed": "red", "renamed": "dim", "changed": "yellow"}


def main(given: argparse.Namespace) -> int:
    changes = diff(opened(given.before), opened(given.after))
    if given.as_json:
        entries = [
            {
                "kind": change.kind,
                "block": change.block,
                "part": change.part,
                "before": _value(change.before),
                "after": _value(change.after),
                "text": str(change),
            }
            for change in changes
        ]
        print(json.dumps({"changes": entries}, ensure_ascii=False))
        return 0
    paint = painter(sys.stdout)
    for change in changes:
        print(paint(visible(str(change)), _COLOURS[change.kind]))
    if not changes:
        print("both do the same")
    return 0


def _value(value: Any) -> Any:
    return values.as_json(value) if isinstance(value, np.ndarray) else value
