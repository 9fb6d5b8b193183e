"""The argparse parser of `backblocks`: every command, option and help text."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from backblocks.bench.grammar import GRAMMAR

if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_ABOUT = """\
Tensor computation in which every op is a block. A page is a file of blocks and wires; these commands
create, check, run, compare and export pages, and explain ops."""

_START = """\
to start:
  backblocks new first.page.json                      a page to begin with
  backblocks run first.page.json                      its numbers
  backblocks new learn.page.json --from spheres_and_cubes
  backblocks run learn.page.json                      a 3-D network learns
  backblocks ops MaxPool3DGrad                        all about one op
  backblocks studio                                   pages in the browser

backblocks COMMAND --help explains a command. Exit codes: 0 fine, 1 a page has problems or a run
failed, 2 the command line cannot be understood, 3 an internal error of backblocks, 130 stopped by Ctrl-C."""

_RUN = """\
examples:
  backblocks run xor.page.json                        as its run settings say
  backblocks run xor.page.json --steps 100 --fetch loss:output
  backblocks run page.json --feed x=images.npy --feed rate=0.01 --out results
  backblocks run page.json --set pool.padding=VALID --set rate.value=0.5
  backblocks run page.json --until small:z            until an output is true
  backblocks run page.json --watch                    again whenever a file of it changes

Fetched values are printed, then the page's monitors. With --fetch, only the values it names. A page
without run settings prints every output that no block reads."""

_CHECK = """\
examples:
  backblocks check xor.page.json
  backblocks check page.json --json

Prints every problem: unknown ops, unconnected inputs, shapes and dtypes that do not fit, settings that name
blocks or outputs that do not exist. Then the dtype and shape of every output, and how much memory a run of
the blocks without problems takes. Nothing is run."""

_DIFF = """\
examples:
  backblocks diff before.page.json after.page.json
  backblocks diff a.page.json b.page.json --json

+ is added, - removed, ~ changed, = renamed. Layout and formatting are ignored. The exit code is 0 whether
or not something changed."""

_EXPORT = """\
examples:
  backblocks export xor.page.json --to python --out xor.py
  backblocks export xor.page.json --to tensorflow     to stdout
  backblocks export page.json --to python --feed x=images.npy

The script does what the run settings of the page say, on backblocks.raw_ops or on tf.raw_ops, with a
line for each block. It is complete, and prints the same values as the page: those that are fetched, else
those that monitors show, else every output that no block reads."""

_OPS = """\
examples:
  backblocks ops                                      all, by group
  backblocks ops --search pool                        those with the word in a name or the summary
  backblocks ops MaxPool3DGrad                        inputs, attributes, a worked case, differences
  backblocks ops Conv3D --json                        the same for machines"""

_NEW = """\
examples:
  backblocks new first.page.json                      a small page that runs
  backblocks new mine.page.json --from xor            a copy of an example
  backblocks new --list                               the examples"""

_STUDIO = """\
examples:
  backblocks studio                                   lessons, and the pages of this folder
  backblocks studio xor.page.json                     one page
  backblocks studio pages --no-browser                prints the address, and opens nothing

The address that is printed works once; the browser that used it stays let in. Only this machine can reach
the studio, unless --host names another address: then it asks for a password, or takes it from
BACKBLOCKS_PASSWORD. Files outside the folder of the page are never touched. Changes are kept in a journal
until they are saved. Ctrl-C ends it."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    whole = argparse.ArgumentParser(
        prog="backblocks",
        description=_ABOUT,
        epilog=_START,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = whole.add_subparsers(metavar="COMMAND", dest="command", required=True)
    _add_run(commands)
    _add_check(commands)
    _add_diff(commands)
    _add_export(commands)
    _add_ops(commands)
    _add_new(commands)
    _add_studio(commands)
    _add_bench(commands)
    return whole


def _command(commands: _Commands, name: str, about: str, more: str) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=about[0].upper() + about[1:] + ".",
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return added


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--json",
        dest="as_json",
        action="store_true",
        help="print one JSON document and nothing else",
    )


def _add_feed(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--feed",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="give a placeholder the array of an npy file, or a number, list or typed constant as JSON",
    )


def _add_run(commands: _Commands) -> None:
    run = _command(commands, "run", "run a page and print its values", _RUN)
    run.add_argument("page", metavar="PAGE", help="the file of the page")
    _add_feed(run)
    run.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="BLOCK.ATTR=VALUE",
        help="change an attribute, or the value at an input, for this run",
    )
    run.add_argument(
        "--fetch",
        action="extend",
        nargs="+",
        default=[],
        metavar="BLOCK:PIN",
        help="outputs to print, instead of the fetches and monitors of the page",
    )
    bound = run.add_mutually_exclusive_group()
    bound.add_argument("--steps", type=_count, metavar="N", help="run N steps")
    bound.add_argument("--until", metavar="BLOCK:PIN", help="run steps until this output is true")
    run.add_argument(
        "--memory-limit",
        type=_count,
        metavar="MIB",
        help="refuse a run whose values need more memory; by default, more than the machine has",
    )
    run.add_argument("--seed", type=int, metavar="N", help="the seed of random numbers")
    run.add_argument(
        "--out", metavar="DIR", help="write fetched values to npy files in this folder"
    )
    run.add_argument(
        "--allow-files",
        action="store_true",
        help="let blocks read and write files in the page's folder; check lists these blocks. "
        "No op reaches the network",
    )
    run.add_argument(
        "--watch",
        action="store_true",
        help="run again whenever the page or a file that it refers to changes; Ctrl-C ends it",
    )
    _add_json(run)


def _add_check(commands: _Commands) -> None:
    check = _command(
        commands, "check", "print the problems of a page, its types, and its memory", _CHECK
    )
    check.add_argument("page", metavar="PAGE", help="the file of the page")
    _add_json(check)


def _add_diff(commands: _Commands) -> None:
    diff = _command(commands, "diff", "print the differences in what two pages compute", _DIFF)
    diff.add_argument("before", metavar="A", help="the file of a page")
    diff.add_argument("after", metavar="B", help="the file of another")
    _add_json(diff)


def _add_export(commands: _Commands) -> None:
    export = _command(commands, "export", "write a page as a Python script", _EXPORT)
    export.add_argument("page", metavar="PAGE", help="the file of the page")
    export.add_argument(
        "--to",
        choices=["python", "tensorflow"],
        required=True,
        help="the library that the script calls",
    )
    _add_feed(export)
    export.add_argument(
        "--out", metavar="FILE", help="write the script to this file, not to stdout"
    )
    _add_json(export)


def _add_ops(commands: _Commands) -> None:
    ops = _command(commands, "ops", "list and explain the ops", _OPS)
    ops.add_argument("name", nargs="?", metavar="NAME", help="an op: MaxPool3D or max_pool_3d")
    ops.add_argument(
        "--search", metavar="WORDS", help="ops with these words in a name or the summary"
    )
    _add_json(ops)


def _add_new(commands: _Commands) -> None:
    new = _command(commands, "new", "create a page, a small one or a copy of an example", _NEW)
    new.add_argument(
        "page", nargs="?", metavar="PAGE", help="the file to create; it must not exist yet"
    )
    new.add_argument("--from", dest="example", metavar="EXAMPLE", help="copy this example")
    new.add_argument("--list", action="store_true", help="print the examples and stop")
    _add_json(new)


def _add_studio(commands: _Commands) -> None:
    studio = _command(commands, "studio", "edit and run pages in the browser", _STUDIO)
    studio.add_argument(
        "page",
        nargs="?",
        metavar="PAGE",
        help="a page, or a folder of them; this folder if left out",
    )
    studio.add_argument(
        "--port",
        type=_port,
        metavar="N",
        help="the port to serve on; 8765 or a free one if left out",
    )
    studio.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address to listen on; other machines can reach it there",
    )
    studio.add_argument("--no-browser", action="store_true", help="do not open the browser")
    studio.add_argument(
        "--memory", type=_count, metavar="MIB", help="the memory that a run may use at most"
    )


def _add_bench(commands: _Commands) -> None:
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
        "--explain",
        action="store_true",
        help="print which algorithm the kernel of each problem chooses and why, tile sizes and threads",
    )
    bench.add_argument(
        "--only", metavar="PATTERN", default="", help="only problems whose line contains this text"
    )
    bench.add_argument("--quick", action="store_true", help="fewer problems and rounds: minutes")
    bench.add_argument("--pages", action="store_true", help="only the training of whole pages")
    bench.add_argument(
        "--rounds", type=_count, metavar="N", help="this many rounds of each problem"
    )
    bench.add_argument(
        "--threads",
        type=_count,
        metavar="N",
        help="the number of threads, of all libraries; every core if left out",
    )
    bench.add_argument(
        "--patience", type=float, metavar="S", help="skip calls that take more seconds"
    )
    bench.add_argument(
        "--memory",
        choices=["ours", "all", "none"],
        default="ours",
        help="whose extra memory to measure; all takes minutes more",
    )
    bench.add_argument("--json", metavar="PATH", help="write the results to a file")
    bench.add_argument("--svg", metavar="PATH", help="draw the results to a file")


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 1 to 65535; got {text!r}. Write such as 8765."
        )
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 1 on; got {text!r}. Write such as 2."
        )
    return int(text)
