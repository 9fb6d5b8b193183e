"""`backblocks new`: a page to begin with."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from backblocks import examples
from backblocks.commands.mistakes import Mistake, did_you_mean
from backblocks.pages.page import open_page, save_page


def main(given: argparse.Namespace) -> int:
    if given.list:
        if given.as_json:
            print(json.dumps({"examples": examples.titles()}, ensure_ascii=False))
        else:
            for name, title in examples.titles().items():
                print(f"{name:<24}  {title}")
        return 0
    if given.page is None:
        hint = "Write such as backblocks new first.page.json."
        raise Mistake("must be given", op="PAGE", hint=hint)
    path = Path(given.page)
    if path.exists():
        hint = "Choose another name; nothing is overwritten."
        raise Mistake("must not exist yet", op="PAGE", got=given.page, hint=hint)
    if not path.parent.is_dir():
        hint = "Make the folder first."
        raise Mistake("must be in a folder that exists", op="PAGE", got=given.page, hint=hint)
    name = given.example or examples.FIRST
    if name not in examples.names():
        hint = did_you_mean(name, examples.names()) or "See backblocks new --list."
        raise Mistake("must be an example", op="--from", got=name, hint=hint)
    save_page(open_page(examples.path(name)), path)
    if given.as_json:
        print(json.dumps({"page": given.page, "example": name}))
    else:
        print(f"made {path}; backblocks run {path} runs it")
    return 0
