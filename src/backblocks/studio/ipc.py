"""Messages between the server and its processes, over a socket pair: those that run pages, and the pool.

To a process that runs a page (`run_worker.py`) go commands; from it come messages for tabs, which the server
forwards. A frame is its length (u32), the number of the tab that it is for (u32; 0 for all), whether it is
text or binary (u8), and the bytes.

To a process of the pool (`pool_worker.py`) go tasks, one at a time; each is answered by a frame: its length
(u32), whether it is a result, a refusal or a failure (u8), and the bytes.

Commands and tasks are JSON: it has integers of any size, as documents may.
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct, field

from backblocks.studio.messages import (
    BlockCost,
    Checked,
    ImportedArray,
    KeptVariables,
    OmittedArray,
    Query,
    Series,
)

HEAD = struct.Struct("<IIB")
TEXT, BINARY = 0, 1

MARKER_BYTES = 8
"""The size of the crash marker in shared memory: the process writes to it the number of each block that
it starts, for the server to read after a crash."""
NO_BLOCK = -1


class WorkerCommand(Struct, tag=True):
    """Base of what the server sends to a process that runs a page."""


class StartRun(WorkerCommand):
    """Runs a page. Names of files are relative to the folder of `path`, which need not exist."""

    page: int
    revision: int
    document: dict[str, Any]
    path: str
    mode: Literal["once", "steps", "until", "free"]
    steps: int = 1
    to: list[str] = field(default_factory=list)
    allow_files: bool = False
    run: int = 0
    """Its number."""


class UpdateDocument(WorkerCommand):
    """The page was edited: the run goes on with it, if it can."""

    revision: int
    document: dict[str, Any]


class Control(WorkerCommand):
    what: Literal["pause", "go on", "step", "stop", "reset"]


class ChangeSnapshot(WorkerCommand):
    """Keeps, restores or deletes a snapshot. `SnapshotChanged` answers, or the `tab` is told why not."""

    page: int
    tab: int
    what: Literal["keep", "restore", "delete"]
    run: int = 0


class Subscribe(WorkerCommand):
    """The outputs whose summaries tabs show, in place of those before, and rows and columns of pictures."""

    pins: list[str]
    axes: dict[str, list[int]]


class TabQuery(WorkerCommand):
    """A query of a tab about values."""

    tab: int
    query: Query


class WriteValue(WorkerCommand):
    """Writes a value to a file. `ValueWritten` answers."""

    request: int
    pin: str
    file: str


class ResendMonitors(WorkerCommand):
    """Sends all that monitors have shown so far to a tab that has just opened the page."""

    tab: int


WorkerCommands = (
    StartRun | UpdateDocument | Control | ChangeSnapshot | Subscribe | TabQuery | WriteValue
    | ResendMonitors
)  # fmt: skip


class ValueWritten(Struct, tag=True):
    """Answers `WriteValue`. Messages for the server itself are binary frames for tab 0."""

    request: int
    problem: str = ""


class BlockNames(Struct, tag=True):
    """The blocks of the page that the numbers of the crash marker stand for."""

    names: dict[int, str]


class RunMeasured(Struct, tag=True):
    """What a run that is over leaves: its curves, and the mean cost of each block in the steps that were
    timed. The `RunState` of its end follows.
    """

    run: int
    first_step: int
    curves: dict[str, Series]
    timed_steps: int
    blocks: list[BlockCost]


class SnapshotChanged(Struct, tag=True):
    """The snapshot of a run, after it was kept, deleted or restored."""

    run: int
    snapshot: KeptVariables | None
    restored: bool = False


WorkerMessage = ValueWritten | BlockNames | RunMeasured | SnapshotChanged


# -- tasks ----------------------------------------------------------------------------------------


class Task(Struct, tag=True):
    """Base of what a process of the pool does. It keeps no state from one task to the next."""

    name: ClassVar[str]
    """What it does, as errors say it after "could not"."""
    seconds: ClassVar[float]
    """The timeout."""
    result: ClassVar[Any]
    """The type of the result."""


class CheckPage(Task):
    """Checks a document without running it. Other files are looked for beside `path`."""

    name = "check this page"
    seconds = 20.0
    result = Checked

    page: int
    revision: int
    document: dict[str, Any]
    path: str


class EstimateMemory(Task):
    """Estimates the peak memory of a run in bytes; None if that is not known."""

    name = "estimate the memory of a run"
    seconds = 20.0
    result = int | None

    document: dict[str, Any]
    path: str


class ExportPage(Task):
    """Exports the page as a text that needs no folder, with the arrays that it omits."""

    name = "export this page"
    seconds = 60.0
    result = tuple[str, list[OmittedArray]]

    document: dict[str, Any]
    path: str
    to: Literal["python", "tensorflow", "page"]


class ImportArrays(Task):
    """Reads a file of arrays, and gives the constants that a page at `path` writes for them."""

    name = "read the arrays of this file"
    seconds = 600.0
    result = list[ImportedArray]

    file: str
    title: str
    path: str
    parts: dict[str, str] | None = None
    """Which part of each array to take; None if that is to be asked where one is large."""
    is_folder: bool = False


class SaveArrays(Task):
    """Writes the arrays of a page beside `target`, and gives the text that the page has there."""

    name = "write the arrays of this page"
    seconds = 60.0
    result = bytes

    document: dict[str, Any]
    path: str
    target: str


class ComparePages(Task):
    """Compares two documents of a page, and gives a line for each change in what they compute."""

    name = "compare these runs"
    seconds = 20.0
    result = list[str]

    first: dict[str, Any]
    second: dict[str, Any]
    path: str


Tasks = CheckPage | EstimateMemory | ExportPage | ImportArrays | SaveArrays | ComparePages

ANSWER = struct.Struct("<IB")
RESULT, REFUSED, FAILED = 0, 1, 2
"""A task's result; the library's error; an internal error."""


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(WorkerCommands).decode
decode_task = msgspec.json.Decoder(Tasks).decode
encode_worker_message = encode
decode_worker_message = msgspec.json.Decoder(WorkerMessage).decode
