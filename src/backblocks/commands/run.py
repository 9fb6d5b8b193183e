"""`backblocks run`: runs a page, prints what it gives, and writes it to files."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backblocks.commands import values
from backblocks.commands.given import change, condition, fed, files_fed, opened, output
from backblocks.commands.mistakes import Mistake, as_json, say, tell
from backblocks.commands.monitors import Watched
from backblocks.commands.terminal import STOPPED, Progress, painter
from backblocks.errors import OpError, described
from backblocks.graph.runner import Runner
from backblocks.graph.session import Session
from backblocks.ops._inputs import Array
from backblocks.pages.builder import PageGraph
from backblocks.pages.page import Page, open_page
from backblocks.pages.references import references

_POLL = 0.2
"""Seconds between looks at a file that is watched."""


def main(given: argparse.Namespace) -> int:
    if given.watch and given.as_json:
        hint = "Run it from a loop of your own instead."
        raise Mistake("cannot be one document when --watch runs again", op="--json", hint=hint)
    if given.out is not None and os.path.exists(given.out) and not os.path.isdir(given.out):
        hint = "Name one that is there or is to be made."
        raise Mistake("must be a folder", op="--out", got=given.out, hint=hint)
    session = Session(
        folder=Path(given.page).resolve().parent,
        allow_files=given.allow_files,
        memory_limit=given.memory_limit and given.memory_limit << 20,
    )
    if given.watch:
        return _watch(given, session)
    return _run(given, session)


@dataclass
class _Job:
    """What a command line and the run settings of a page ask for together."""

    graph: PageGraph
    fetches: list[str]
    targets: list[str]
    steps: int | None
    until: str | None
    seed: int | None
    feeds: dict[Any, Any]
    monitors: list[Watched]


def _run(given: argparse.Namespace, session: Session) -> int:
    job = _job(opened(given.page), given)
    session.use(job.graph)
    session.reset()
    session.seed = job.seed
    pins = [pin for watched in job.monitors for pin in watched.pins]
    runner = Runner(session, [*job.fetches, *pins], job.feeds, job.targets)
    progress = Progress(job.steps)
    begun = time.perf_counter()
    done: tuple[int, list[Array]] = 0, []

    def see(step: int, values: list[Array]) -> None:
        nonlocal done
        done = step, values
        shown = iter(values[len(job.fetches) :])
        for watched in job.monitors:
            watched.see([next(shown) for _ in watched.pins])
        progress.at(step)

    runner.watch(see)
    stopped = False
    try:
        runner.run(job.steps, job.until)
    except KeyboardInterrupt:
        stopped = True
    finally:
        progress.end()
    steps, got = done
    fetched = dict(zip(job.fetches, got, strict=False))
    files, trouble = _written(fetched, None if stopped else given.out)
    seconds = time.perf_counter() - begun
    if given.as_json:
        print(_document(given, job, steps, seconds, session, fetched, files, trouble, stopped))
    if stopped:
        of = f" of {job.steps}" if job.steps else ""
        print(f"stopped in step {steps + 1}{of}", file=sys.stderr)
        return STOPPED
    if not given.as_json:
        _print(job, fetched)
        print(_summary(steps, seconds, session, files), file=sys.stderr)
    for error in trouble:
        say(error)
    return 1 if trouble else 0


def _job(page: Page, given: argparse.Namespace) -> _Job:
    change(page, given.set)
    run = page.run
    fetches = given.fetch or run.fetch
    until = given.until or (None if given.steps else run.until or None)
    steps = given.steps or (None if given.until else run.steps)
    monitors = [] if given.fetch else [Watched(*each) for each in page.monitors.items()]
    pins = [pin for watched in monitors for pin in watched.pins]
    wanted = [*fetches, *pins, *run.targets, *([until] if until else [])]
    graph = page.graph(only=wanted or None)
    if not given.allow_files:
        _refuse_files(graph, page.needed_for(wanted or page.blocks))
    for name in given.fetch:
        output(graph, name, "--fetch")
    if given.until:
        condition(graph, given.until)
    feeds = {graph.symbol(name): value for name, value in page.feeds().items()}
    return _Job(
        graph,
        fetches if wanted else graph.unread_outputs(),
        run.targets,
        steps,
        until,
        run.seed if given.seed is None else given.seed,
        feeds | fed(graph, given.feed),
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
            "must be given, as blocks touch files",
            op="--allow-files",
            got=described(", ".join(touching)),
            hint="Look at these blocks first. They reach files in the folder of the page only.",
        )


def _written(fetched: dict[str, Array], folder: str | None) -> tuple[list[Path], list[OpError]]:
    """The files of what is fetched, and why others could not be written: the run was not in vain."""
    files: list[Path] = []
    trouble: list[OpError] = []
    for name, array in fetched.items() if folder is not None else ():
        try:
            files.append(values.write(array, Path(folder or ""), name))
        except OpError as error:
            trouble.append(error)
        except OSError as error:
            trouble.append(OpError(f"cannot be written: {error.strerror}", op=name))
    return files, trouble


# -- what is said of it ---------------------------------------------------------------------------


def _print(job: _Job, fetched: dict[str, Array]) -> None:
    paint = painter(sys.stdout)
    for name, array in fetched.items():
        text = values.numbers(array)
        start = f"{paint(name, 'bold')}  {paint(values.heading(array), 'dim')}"
        if "\n" in text:
            print(start, *(f"  {line}" for line in text.split("\n")), sep="\n")
        else:
            print(f"{start}  {text}")
    for watched in job.monitors:
        for line in watched.lines():
            print(line)


def _summary(steps: int, seconds: float, session: Session, files: list[Path]) -> str:
    report = session.report
    blocks = f"{values.counted(report.executed, 'block')} computed"
    if report.cached:
        blocks += f", {report.cached} known"
    count, peak = values.counted(steps, "step"), values.size(report.peak_bytes)
    text = f"{count}, {seconds:.2f} s; in the last {blocks}, {peak} at one time"
    if files:
        text += "\nwrote " + ", ".join(map(str, files))
    return painter(sys.stderr)(text, "dim")


def _document(
    given: argparse.Namespace,
    job: _Job,
    steps: int,
    seconds: float,
    session: Session,
    fetched: dict[str, Array],
    files: list[Path],
    trouble: list[OpError],
    stopped: bool,
) -> str:
    last = session.report
    document = {
        "page": given.page,
        "stopped": stopped,
        "steps": steps,
        "seconds": round(seconds, 6),
        "last_step": {
            "executed": last.executed,
            "cached": last.cached,
            "peak_bytes": last.peak_bytes,
        },
        "fetched": {name: values.as_json(array) for name, array in fetched.items()},
        "monitors": {watched.name: watched.as_json() for watched in job.monitors},
        "files": [str(path) for path in files],
        "problems": [each for error in trouble for each in as_json(error)],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


# -- again whenever a file changes ----------------------------------------------------------------


def _watch(given: argparse.Namespace, session: Session) -> int:
    """Runs now and after each change; values that did not change are not computed again."""
    opened(given.page)
    files, before = [Path(given.page)], None
    while True:
        now = list(map(_state, files))
        if now[0] is not None and now != before:  # there is none between the old page and the new
            files = _watched(given) or files
            before = list(map(_state, files))
            try:
                if _run(given, session) == STOPPED:
                    return STOPPED
            except OpError as error:
                tell(error, given)
            sys.stdout.flush()  # a reader behind a pipe wants it now too
            others = f" and {values.counted(len(files) - 1, 'other file')}" if files[1:] else ""
            print(f"watching {given.page}{others}; Ctrl-C ends it", file=sys.stderr, flush=True)
        time.sleep(_POLL)


def _watched(given: argparse.Namespace) -> list[Path]:
    """The page, the files that it refers to and those that are fed; none if it cannot be read now."""
    try:
        page = open_page(given.page)
        change(page, given.set)
    except OpError:
        return []
    return [Path(given.page), *references(page).values(), *files_fed(given.feed)]


def _state(file: Path) -> Any:
    """What is another after a change."""
    try:
        about = file.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino
