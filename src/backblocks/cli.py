"""The command `backblocks`. What a subcommand needs is imported when it is asked for: help is instant."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from backblocks.commands.arguments import parser
from backblocks.commands.mistakes import Mistake, tell
from backblocks.commands.terminal import STOPPED
from backblocks.errors import InternalError, OpError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and gives the exit code.

    0 is fine, 1 a page with problems or a run that failed, 2 a command line that cannot be understood,
    130 Ctrl-C.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # some terminals have no signs for bars
    given = parser().parse_args(arguments)
    try:
        code: int = import_module(f"backblocks.commands.{given.command}").main(given)
        sys.stdout.flush()
        return code
    except InternalError as error:
        traceback.print_exception(error.__cause__)  # to be sent along with the line that follows
        tell(error, given)
        return 1
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
        tell(OpError(f"cannot be used: {error.strerror}", op=str(error.filename or "file")), given)
        return 1


def _read_enough() -> int:
    """The exit code when whoever reads the output has closed it; the flush at exit finds no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
