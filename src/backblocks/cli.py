"""The command `backblocks`. What a subcommand needs is imported when it is asked for: help is instant."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from backblocks.commands.arguments import parser
from backblocks.commands.mistakes import FAULT, Mistake, fault, tell
from backblocks.commands.terminal import STOPPED, visible_output
from backblocks.errors import OpError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and gives the exit code.

    0 is fine, 1 a page with problems or a run that failed, 2 a command line that cannot be understood,
    3 a fault of backblocks itself, 130 Ctrl-C.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # some terminals have no signs for bars
    with visible_output():
        return _run(parser().parse_args(arguments))


def _run(given: argparse.Namespace) -> int:
    try:
        code: int = import_module(f"backblocks.commands.{given.command}").main(given)
        sys.stdout.flush()
        return code
    except OpError as error:
        if isinstance(error.__cause__, BrokenPipeError):  # of a block that prints
            return _read_enough()
        tell(error, given)
        return 2 if isinstance(error, Mistake) else 1
    except KeyboardInterrupt:
        if getattr(given, "as_json", False):
            print('{"stopped": true, "problems": []}')
        print("stopped", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        return _read_enough()
    except OSError as error:
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else "file"
        tell(OpError(f"cannot be used: {error.strerror or error}", op=name), given)
        return 1
    except MemoryError:
        hint = "Use smaller arrays, or close other programs."
        tell(OpError("needs more memory than there is", op=given.command, hint=hint), given)
        return 1
    except Exception as error:  # nobody else can have made this mistake: it is told as ours
        tell(fault(error), given)
        return FAULT


def _read_enough() -> int:
    """The exit code when whoever reads the output has closed it; the flush at exit finds no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
