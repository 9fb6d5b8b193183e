"""`backblocks diff`: the semantic diff of two pages."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np

from backblocks.commands import formatting
from backblocks.commands.page_options import open_page_argument
from backblocks.commands.terminal import colorizer
from backblocks.errors import visible
from backblocks.pages.diff import diff

_COLOURS = {"added": "green", "removed": "red", "renamed": "dim", "changed": "yellow"}


def main(args: argparse.Namespace) -> int:
    changes = diff(open_page_argument(args.before), open_page_argument(args.after))
    if args.as_json:
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
    paint = colorizer(sys.stdout)
    for change in changes:
        print(paint(visible(str(change)), _COLOURS[change.kind]))
    if not changes:
        print("both do the same")
    return 0


def _value(value: Any) -> Any:
    return formatting.as_json(value) if isinstance(value, np.ndarray) else value
