"""The command `backblocks`. The module of a subcommand is imported when it runs, so that help is instant."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from backblocks.commands.arguments import parser
from backblocks.commands.error_reporting import (
    INTERNAL_ERROR_EXIT,
    UsageError,
    internal_error,
    report_error,
)
from backblocks.commands.terminal import INTERRUPTED_EXIT, escaped_output
from backblocks.errors import OpError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and gives the exit code.

    0 is fine, 1 a page with problems or a run that failed, 2 a command line that cannot be understood,
    3 a bug of backblocks itself, 130 Ctrl-C.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every encoding has the characters of bars
    with escaped_output():
        return _run(parser().parse_args(arguments))


def _run(args: argparse.Namespace) -> int:
    try:
        code: int = import_module(f"backblocks.commands.{args.command}").main(args)
        sys.stdout.flush()
        return code
    except OpError as error:
        if isinstance(error.__cause__, BrokenPipeError):  # of a block that prints
            return _broken_pipe_exit()
        report_error(error, args)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        if getattr(args, "as_json", False):
            print('{"stopped": true, "problems": []}')
        print("stopped", file=sys.stderr)
        return INTERRUPTED_EXIT
    except BrokenPipeError:
        return _broken_pipe_exit()
    except OSError as error:
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else "file"
        report_error(OpError(f"cannot be used: {error.strerror or error}", op=name), args)
        return 1
    except MemoryError:
        hint = "Use smaller arrays, or close other programs."
        report_error(OpError("needs more memory than there is", op=args.command, hint=hint), args)
        return 1
    except Exception as error:  # a bug of ours
        report_error(internal_error(error), args)
        return INTERNAL_ERROR_EXIT


def _broken_pipe_exit() -> int:
    """The exit code after the reader closed the pipe. stdout is replaced, so that the flush at exit works."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
