"""Errors of commands: on stderr for people, as JSON with --json, with a traceback file for internal ones."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import Any

from backblocks.commands.terminal import colorizer
from backblocks.errors import (
    BackblocksError,
    InternalError,
    OpError,
    PageError,
    described,
    nearest,
    visible,
)

_CLI_HINTS = {
    "in `feeds`.": "such as --feed {block}=x.npy or --feed {block}=[1, 2].",
    "raise memory_limit": "raise --memory-limit",
    ', or allow all files: bb.Session(page, allow_files="anywhere")': "",
}
"""Parts of hints that speak of Python, and their replacements on the command line."""


class UsageError(OpError):
    """The command line is wrong: exit code 2."""

    @classmethod
    def like(cls, error: OpError) -> UsageError:
        """The same error as a usage error."""
        same = cls(error.problem)
        vars(same).update(vars(error))
        return same


def report_error(error: BackblocksError, args: argparse.Namespace) -> None:
    """Prints an error on stderr; with --json also as the document on stdout."""
    for python, ours in _CLI_HINTS.items():
        error.hint = error.hint.replace(python, ours.replace("{block}", error.block))
    if getattr(args, "as_json", False):
        print(json.dumps({"problems": as_json(error)}, ensure_ascii=False))
    print_error(error)


def print_error(error: BackblocksError) -> None:
    """Prints an error on stderr."""
    paint = colorizer(sys.stderr)
    first, *more = str(error).split("\n")
    print("\n".join([paint(first, "red"), *more]), file=sys.stderr)
    for note in getattr(error, "__notes__", ()):
        print(visible(note), file=sys.stderr)


def as_json(error: BackblocksError) -> list[dict[str, Any]]:
    """The problems of an error, each with its parts as fields."""
    problems = error.problems if isinstance(error, PageError) else [error]
    return [
        {
            "block": problem.block,
            "op": problem.op,
            "arg": problem.arg,
            "axis": problem.axis,
            "problem": problem.problem,
            "got": problem.got_in_words or None,
            "hint": problem.hint,
            "fixes": [str(fix) for fix in problem.fixes],
            "text": str(problem),
        }
        for problem in problems
    ]


INTERNAL_ERROR_EXIT = 3
"""The exit code after a bug of backblocks itself."""


def internal_error(error: Exception) -> InternalError:
    """An unexpected exception as an InternalError, whose traceback is written to a file to report."""
    if not isinstance(error, InternalError):
        text = " ".join(f"{type(error).__name__}: {error}".split())
        internal = InternalError(
            "failed by a fault of its own, not of yours", op="backblocks", got=described(text)
        )
        internal.hint, internal.__cause__ = (
            "Please report it, with the page if others may see it.",
            error,
        )
        error = internal
    error.add_note(f"The traceback, which belongs to the report, is in {_write_traceback(error)}.")
    return error


def _write_traceback(error: Exception) -> str:
    import platform
    import tempfile
    import traceback

    system = f"Python {platform.python_version()}, {platform.platform()}"
    lines = [system, " ".join(map(repr, sys.argv)), *traceback.format_exception(error)]
    with tempfile.NamedTemporaryFile(
        "w", prefix="backblocks-", suffix=".txt", encoding="utf-8", errors="replace", delete=False
    ) as file:
        file.write(visible("\n".join(lines), lines=True))
    return file.name


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest known name, if one is near."""
    near = nearest(name, known)
    return f"Did you mean {near}?" if near else ""
