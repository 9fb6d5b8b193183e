"""What is wrong with a command line or a page, told to people and to machines."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import Any

from backblocks.commands.terminal import painter
from backblocks.errors import (
    BackblocksError,
    InternalError,
    OpError,
    PageError,
    described,
    nearest,
    visible,
)

_FROM_PYTHON = {
    "in `feeds`.": "such as --feed {block}=x.npy or --feed {block}=[1, 2].",
    "raise memory_limit": "raise --memory-limit",
    ', or allow all files: bb.Session(page, allow_files="anywhere")': "",
}
"""What hints say to those who call from Python, and what they are to say here."""


class Mistake(OpError):
    """A command line that cannot be understood."""

    @classmethod
    def like(cls, error: OpError) -> Mistake:
        """What is wrong with a part of it, as others say it."""
        same = cls(error.problem)
        vars(same).update(vars(error))
        return same


def tell(error: BackblocksError, given: argparse.Namespace) -> None:
    """Says what went wrong on stderr; with --json also as the document on stdout."""
    for python, ours in _FROM_PYTHON.items():
        error.hint = error.hint.replace(python, ours.replace("{block}", error.block))
    if getattr(given, "as_json", False):
        print(json.dumps({"problems": as_json(error)}, ensure_ascii=False))
    say(error)


def say(error: BackblocksError) -> None:
    """Says what went wrong on stderr."""
    paint = painter(sys.stderr)
    first, *more = str(error).split("\n")
    print("\n".join([paint(first, "red"), *more]), file=sys.stderr)
    for note in getattr(error, "__notes__", ()):
        print(visible(note), file=sys.stderr)


def as_json(error: BackblocksError) -> list[dict[str, Any]]:
    """Each problem with its parts, so that nobody has to take sentences apart."""
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
            "text": str(problem),
        }
        for problem in problems
    ]


FAULT = 3
"""The exit code after a fault of ours."""


def fault(error: Exception) -> InternalError:
    """An exception that nobody foresaw, as one that says what to send us. Its traceback is in a file."""
    if not isinstance(error, InternalError):
        said = " ".join(f"{type(error).__name__}: {error}".split())
        told = InternalError(
            "failed by a fault of its own, not of yours", op="backblocks", got=described(said)
        )
        told.hint, told.__cause__ = "Please report it, with the page if others may see it.", error
        error = told
    error.add_note(f"The traceback, which belongs to the report, is in {_traceback_file(error)}.")
    return error


def _traceback_file(error: Exception) -> str:
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
    """A hint with what may have been meant."""
    near = nearest(name, known)
    return f"Did you mean {near}?" if near else ""
