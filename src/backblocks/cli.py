"""The command `backblocks`. Each subcommand imports what it needs when it is asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from backblocks.bench.grammar import GRAMMAR


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and gives the exit code: 0, or 2 for what cannot be understood."""
    parser = argparse.ArgumentParser(
        prog="backblocks", description="Tensor computation in which every op is a block."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_bench(commands)
    given = parser.parse_args(arguments)
    code: int = given.run(given)
    return code


def _add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    bench = commands.add_parser(
        "bench",
        help="time the ops beside TensorFlow, PyTorch and JAX",
        description="Times problems, and whichever of TensorFlow, PyTorch and JAX can be imported beside "
        "backblocks. Without a problem, all those of --list.",
        epilog=GRAMMAR,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    bench.add_argument("problem", nargs="*", metavar="LINE", help="a problem in quotes; see below")
    bench.add_argument("--list", action="store_true", help="print the problems and stop")
    bench.add_argument(
        "--only", metavar="PATTERN", default="", help="those whose line has this text"
    )
    bench.add_argument("--quick", action="store_true", help="fewer problems and rounds: minutes")
    bench.add_argument("--pages", action="store_true", help="only whole pages that learn")
    bench.add_argument(
        "--rounds", type=_count, metavar="N", help="this many rounds of each problem"
    )
    bench.add_argument(
        "--threads", type=_count, metavar="N", help="for all; every core if left out"
    )
    bench.add_argument(
        "--patience", type=float, metavar="S", help="leave out calls of more seconds"
    )
    bench.add_argument(
        "--memory",
        choices=["ours", "all", "none"],
        default="ours",
        help="whose extra memory to measure; that of all takes minutes more",
    )
    bench.add_argument("--json", metavar="PATH", help="write the results to a file")
    bench.add_argument("--svg", metavar="PATH", help="draw the results to a file")
    bench.set_defaults(run=_bench)


def _bench(given: argparse.Namespace) -> int:
    from backblocks.bench.command import bench
    from backblocks.errors import OpError

    try:
        return bench(given)
    except OpError as error:
        print(error, file=sys.stderr)
        return 2


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 1 on; got {text!r}. Write such as 2."
        )
    return int(text)
