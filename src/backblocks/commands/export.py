"""`backblocks export`: a page as a script."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from backblocks.commands.given import feed, opened
from backblocks.pages.export import to_python, to_tensorflow


def main(given: argparse.Namespace) -> int:
    page = opened(given.page)
    feed(page, given.feed)
    script = {"python": to_python, "tensorflow": to_tensorflow}[given.to](page)
    if given.out is not None:
        Path(given.out).write_text(script, encoding="utf-8")
    if given.as_json:
        document = {"page": given.page, "to": given.to, "file": given.out, "script": script}
        print(json.dumps(document, ensure_ascii=False))
    elif given.out is not None:
        print(f"wrote {given.out}", file=sys.stderr)
    else:
        print(script, end="")
    return 0
