"""`backblocks export`: writes a page as a Python script."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from backblocks.commands.page_options import open_page_argument, set_page_feeds
from backblocks.pages.export import to_python, to_tensorflow


def main(args: argparse.Namespace) -> int:
    page = open_page_argument(args.page)
    set_page_feeds(page, args.feed)
    script = {"python": to_python, "tensorflow": to_tensorflow}[args.to](page)
    if args.out is not None:
        Path(args.out).write_text(script, encoding="utf-8")
    if args.as_json:
        document = {"page": args.page, "to": args.to, "file": args.out, "script": script}
        print(json.dumps(document, ensure_ascii=False))
    elif args.out is not None:
        print(f"wrote {args.out}", file=sys.stderr)
    else:
        print(script, end="")
    return 0
