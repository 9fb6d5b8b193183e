"""`backblocks studio`: serves pages to the browser."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from backblocks.commands.error_reporting import UsageError
from backblocks.errors import described

_NEEDED = ("msgspec", "starlette", "uvicorn", "websockets")


def main(args: argparse.Namespace) -> int:
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        hint = 'Install it: pip install "backblocks[studio]".'
        raise UsageError(f"needs {', '.join(missing)}, not installed here", op="studio", hint=hint)
    folder, start = _place(args.page)
    from backblocks.studio import server

    password = ""
    if not server.is_loopback(args.host):
        password = _password()
        print("Others on the network can reach this studio, unencrypted.", file=sys.stderr)
    try:
        listening = server.open_listening_socket(args.host, args.port)
    except OSError as error:
        hint = "Leave out --port for one that is free."
        where = f"{args.host}:{args.port}: {error.strerror}"
        raise UsageError("must be free", op="--port", got=described(where), hint=hint) from None
    memory = (args.memory or 0) << 20
    with contextlib.suppress(KeyboardInterrupt):  # how a studio is ended
        server.serve(folder, start, args.host, listening, not args.no_browser, password, memory)
    return 0


def _place(page: str | None) -> tuple[Path, str]:
    """The folder that the studio works in, and the page that it opens first."""
    path = Path(page or ".")
    if path.is_dir():
        return path.resolve(), ""
    if path.is_file():
        path = path.resolve()
        return path.parent, path.name
    hint = "See backblocks new --help for how to make a page."
    raise UsageError("must be a page or a folder", op="PAGE", got=page, hint=hint)


def _password() -> str:
    """The password of the studio, from the environment or the terminal, never from arguments."""
    password = os.environ.get("BACKBLOCKS_PASSWORD") or (
        getpass.getpass("Password for this studio: ") if sys.stdin.isatty() else ""
    )
    if len(password) < 8:
        hint = "Set BACKBLOCKS_PASSWORD, or type one when asked."
        raise UsageError(
            "must come with a password of at least 8 characters", op="--host", hint=hint
        )
    return password
