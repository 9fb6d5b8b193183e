"""`backblocks run`: runs a page, prints fetched values and monitors, and writes values to npy files."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backblocks.commands import formatting
from backblocks.commands.error_reporting import UsageError, as_json, print_error, report_error
from backblocks.commands.monitors import TextMonitor
from backblocks.commands.page_options import (
    apply_set_options,
    check_until,
    feed_files,
    find_output,
    open_page_argument,
    parse_feeds,
)
from backblocks.commands.terminal import INTERRUPTED_EXIT, ProgressBar, colorizer
from backblocks.errors import OpError, described
from backblocks.graph.runner import Runner
from backblocks.graph.session import Session
from backblocks.ops._inputs import Array
from backblocks.pages.builder import PageGraph
from backblocks.pages.page import Page, open_page
from backblocks.pages.references import references

_POLL = 0.2
"""Seconds between polls of watched files."""


def main(args: argparse.Namespace) -> int:
    if args.watch and args.as_json:
        hint = "Run it from a loop of your own instead."
        raise UsageError("cannot be one document when --watch runs again", op="--json", hint=hint)
    if args.out is not None and os.path.exists(args.out) and not os.path.isdir(args.out):
        hint = "Name one that is there or is to be made."
        raise UsageError("must be a folder", op="--out", got=args.out, hint=hint)
    session = Session(
        folder=Path(args.page).resolve().parent,
        allow_files=args.allow_files,
        memory_limit=args.memory_limit and args.memory_limit << 20,
    )
    if args.watch:
        return _watch(args, session)
    return _run(args, session)


@dataclass
class _RunRequest:
    """What to run: the run settings of a page, overridden by the command line."""

    graph: PageGraph
    fetches: list[str]
    targets: list[str]
    steps: int | None
    until: str | None
    seed: int | None
    feeds: dict[Any, Any]
    monitors: list[TextMonitor]


def _run(args: argparse.Namespace, session: Session) -> int:
    request = _run_request(open_page_argument(args.page), args)
    session.use(request.graph)
    session.reset()
    session.seed = request.seed
    pins = [pin for monitor in request.monitors for pin in monitor.pins]
    runner = Runner(session, [*request.fetches, *pins], request.feeds, request.targets)
    progress = ProgressBar(request.steps)
    begun = time.perf_counter()
    last: tuple[int, list[Array]] = 0, []

    def on_step(step: int, values: list[Array]) -> None:
        nonlocal last
        last = step, values
        shown = iter(values[len(request.fetches) :])
        for monitor in request.monitors:
            monitor.update([next(shown) for _ in monitor.pins])
        progress.update(step)

    runner.subscribe(on_step)
    stopped = False
    try:
        runner.run(request.steps, request.until)
    except KeyboardInterrupt:
        stopped = True
    finally:
        progress.end()
    steps, got = last
    fetched = dict(zip(request.fetches, got, strict=False))
    files, write_errors = _write_files(fetched, None if stopped else args.out)
    seconds = time.perf_counter() - begun
    if args.as_json:
        print(
            _document(args, request, steps, seconds, session, fetched, files, write_errors, stopped)
        )
    if stopped:
        of = f" of {request.steps}" if request.steps else ""
        print(f"stopped in step {steps + 1}{of}", file=sys.stderr)
        return INTERRUPTED_EXIT
    if not args.as_json:
        _print(request, fetched)
        print(_summary(steps, seconds, session, files), file=sys.stderr)
    for error in write_errors:
        print_error(error)
    return 1 if write_errors else 0


def _run_request(page: Page, args: argparse.Namespace) -> _RunRequest:
    apply_set_options(page, args.set)
    run = page.run
    fetches = args.fetch or run.fetch
    until = args.until or (None if args.steps else run.until or None)
    steps = args.steps or (None if args.until else run.steps)
    monitors = [] if args.fetch else [TextMonitor(*each) for each in page.monitors.items()]
    pins = [pin for monitor in monitors for pin in monitor.pins]
    wanted = [*fetches, *pins, *run.targets, *([until] if until else [])]
    graph = page.graph(only=wanted or None)
    if not args.allow_files:
        _refuse_files(graph, page.needed_for(wanted or page.blocks))
    for name in args.fetch:
        find_output(graph, name, "--fetch")
    if args.until:
        check_until(graph, args.until)
    feeds = {graph.symbol(name): value for name, value in page.feeds().items()}
    return _RunRequest(
        graph,
        fetches if wanted else graph.unread_outputs(),
        run.targets,
        steps,
        until,
        run.seed if args.seed is None else args.seed,
        feeds | parse_feeds(graph, args.feed),
        monitors,
    )


def _refuse_files(graph: PageGraph, needed: set[str]) -> None:
    touching = [
        f"{block.name} ({block.op.name} {block.op.files})"
        for block in graph
        if block.op.files and graph.page_block_of[block.name] in needed
    ]
    if touching:
        raise OpError(
            "must be given, as blocks access files",
            op="--allow-files",
            got=described(", ".join(touching)),
            hint="Look at these blocks first. They reach files in the folder of the page only.",
        )


def _write_files(fetched: dict[str, Array], folder: str | None) -> tuple[list[Path], list[OpError]]:
    """Writes fetched values to npy files; gives the files, and the errors of those that failed."""
    files: list[Path] = []
    write_errors: list[OpError] = []
    for name, array in fetched.items() if folder is not None else ():
        try:
            files.append(formatting.write_npy(array, Path(folder or ""), name))
        except OpError as error:
            write_errors.append(error)
        except OSError as error:
            write_errors.append(OpError(f"cannot be written: {error.strerror}", op=name))
    return files, write_errors


# -- output -----------------------------------------------------------------------------------------


def _print(request: _RunRequest, fetched: dict[str, Array]) -> None:
    paint = colorizer(sys.stdout)
    for name, array in fetched.items():
        text = formatting.format_array(array)
        start = f"{paint(name, 'bold')}  {paint(formatting.array_heading(array), 'dim')}"
        if "\n" in text:
            print(start, *(f"  {line}" for line in text.split("\n")), sep="\n")
        else:
            print(f"{start}  {text}")
    for monitor in request.monitors:
        for line in monitor.lines():
            print(line)


def _summary(steps: int, seconds: float, session: Session, files: list[Path]) -> str:
    report = session.report
    blocks = f"{formatting.pluralize(report.executed, 'block')} computed"
    if report.cached:
        blocks += f", {report.cached} known"
    count, peak = formatting.pluralize(steps, "step"), formatting.format_bytes(report.peak_bytes)
    text = f"{count}, {seconds:.2f} s; in the last {blocks}, {peak} at one time"
    if files:
        text += "\nwrote " + ", ".join(map(str, files))
    return colorizer(sys.stderr)(text, "dim")


def _document(
    args: argparse.Namespace,
    request: _RunRequest,
    steps: int,
    seconds: float,
    session: Session,
    fetched: dict[str, Array],
    files: list[Path],
    write_errors: list[OpError],
    stopped: bool,
) -> str:
    last = session.report
    document = {
        "page": args.page,
        "stopped": stopped,
        "steps": steps,
        "seconds": round(seconds, 6),
        "last_step": {
            "executed": last.executed,
            "cached": last.cached,
            "peak_bytes": last.peak_bytes,
        },
        "fetched": {name: formatting.as_json(array) for name, array in fetched.items()},
        "monitors": {monitor.name: monitor.as_json() for monitor in request.monitors},
        "files": [str(path) for path in files],
        "problems": [each for error in write_errors for each in as_json(error)],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


# -- again whenever a file changes ----------------------------------------------------------------


def _watch(args: argparse.Namespace, session: Session) -> int:
    """Runs now and after each change of a watched file; unchanged values come from the result cache."""
    open_page_argument(args.page)
    files, before = [Path(args.page)], None
    while True:
        now = list(map(_file_stamp, files))
        if now[0] is not None and now != before:  # None while the page is being replaced
            files = _watched_files(args) or files
            before = list(map(_file_stamp, files))
            try:
                if _run(args, session) == INTERRUPTED_EXIT:
                    return INTERRUPTED_EXIT
            except OpError as error:
                report_error(error, args)
            sys.stdout.flush()  # also for a reader behind a pipe
            others = (
                f" and {formatting.pluralize(len(files) - 1, 'other file')}" if files[1:] else ""
            )
            print(f"watching {args.page}{others}; Ctrl-C ends it", file=sys.stderr, flush=True)
        time.sleep(_POLL)


def _watched_files(args: argparse.Namespace) -> list[Path]:
    """The page, the files that it refers to and those that are fed; none if the page cannot be read."""
    try:
        page = open_page(args.page)
        apply_set_options(page, args.set)
    except OpError:
        return []
    return [Path(args.page), *references(page).values(), *feed_files(args.feed)]


def _file_stamp(file: Path) -> Any:
    """A value that differs after a change of the file; None if it does not exist."""
    try:
        about = file.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino
