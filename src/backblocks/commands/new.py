"""`backblocks new`: creates a page, as a copy of an example."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from backblocks import examples
from backblocks.commands.error_reporting import UsageError, did_you_mean
from backblocks.pages.page import open_page, save_page


def main(args: argparse.Namespace) -> int:
    if args.list:
        if args.as_json:
            print(json.dumps({"examples": examples.titles()}, ensure_ascii=False))
        else:
            for name, title in examples.titles().items():
                print(f"{name:<24}  {title}")
        return 0
    if args.page is None:
        hint = "Write such as backblocks new first.page.json."
        raise UsageError("must be given", op="PAGE", hint=hint)
    path = Path(args.page)
    if path.exists():
        hint = "Choose another name; nothing is overwritten."
        raise UsageError("must not exist yet", op="PAGE", got=args.page, hint=hint)
    if not path.parent.is_dir():
        hint = "Make the folder first."
        raise UsageError("must be in a folder that exists", op="PAGE", got=args.page, hint=hint)
    name = args.example or examples.FIRST
    if name not in examples.names():
        hint = did_you_mean(name, examples.names()) or "See backblocks new --list."
        raise UsageError("must be an example", op="--from", got=name, hint=hint)
    save_page(open_page(examples.path(name)), path)
    if args.as_json:
        print(json.dumps({"page": args.page, "example": name}))
    else:
        print(f"made {path}; backblocks run {path} runs it")
    return 0
