"""What the server and its processes say to each other, over a socket between the two.

To the process that runs a page go orders; from it come messages for tabs, which the server hands on. A frame
is its length (u32), the number of the tab that it is for (u32; 0 for all), whether it is text or binary (u8),
and the bytes.

To a process of the pool go tasks, one at a time; each is answered by a frame: its length (u32), whether it is
a result, a refusal or a failure (u8), and the bytes.

Orders and tasks are JSON: it has numbers of any size, as documents may.
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct, field

from backblocks.studio.messages import (
    CheckCell,
    Checked,
    Elements,
    Explain,
    FindBad,
    Leave,
    Look,
    Measure,
    OmittedArray,
)

HEAD = struct.Struct("<IIB")
TEXT, BINARY = 0, 1

MARK_BYTES = 8
"""Of shared memory, in which the process writes the number of the block that it begins with."""
NO_BLOCK = -1


class Order(Struct, tag=True):
    pass


class Start(Order):
    """Runs a page. Names of files begin beside `path`, be there a file of the page or not."""

    page: int
    revision: int
    document: dict[str, Any]
    path: str
    mode: Literal["once", "steps", "until", "free"]
    steps: int = 1
    to: list[str] = field(default_factory=list)
    allow_files: bool = False


class Edited(Order):
    """The page has changed: what runs goes on with it, if it can."""

    revision: int
    document: dict[str, Any]


class Steer(Order):
    what: Literal["pause", "go on", "step", "stop", "reset"]


class WatchPins(Order):
    pins: list[str]


class Asked(Order):
    """A tab wants to know something of values."""

    tab: int
    command: Look | Elements | Measure | FindBad | Explain | CheckCell | Leave


class Write(Order):
    """Wants a value written to a file. The answer is a `Written`."""

    request: int
    pin: str
    file: str


class Again(Order):
    """Wants what monitors and outputs showed so far, for a tab that has just opened the page."""

    tab: int


Orders = Start | Edited | Steer | WatchPins | Asked | Write | Again


class Written(Struct, tag=True):
    """Answers `Write`. This and what follows goes to the server itself, as a binary frame for tab 0."""

    request: int
    problem: str = ""


class Named(Struct, tag=True):
    """The blocks of the page that the numbers in the shared memory stand for."""

    names: dict[int, str]


ForServer = Written | Named


# -- tasks ----------------------------------------------------------------------------------------


class Task(Struct, tag=True):
    """What a process of the pool is to do. It keeps nothing from one task to the next."""

    name: ClassVar[str]
    """What it does, after "could not"."""
    seconds: ClassVar[float]
    """Its limit of time."""
    result: ClassVar[Any]
    """The type of what it gives."""


class CheckPage(Task):
    """What is known of a document before it runs. Other files are looked for beside `path`."""

    name = "check this page"
    seconds = 20.0
    result = Checked

    page: int
    revision: int
    document: dict[str, Any]
    path: str


class EstimateMemory(Task):
    """Bytes that a run of the page takes at one time; None if that is not known."""

    name = "estimate the memory of a run"
    seconds = 20.0
    result = int | None

    document: dict[str, Any]
    path: str


class ExportPage(Task):
    """The page as a text that needs no folder, and the constants that are not in it."""

    name = "export this page"
    seconds = 60.0
    result = tuple[str, list[OmittedArray]]

    document: dict[str, Any]
    path: str
    to: Literal["python", "tensorflow", "page"]


class ReadArrays(Task):
    """Reads a file of arrays, and gives the constants that a page at `path` writes for them."""

    name = "read the arrays of this file"
    seconds = 60.0
    result = list[dict[str, Any]]

    file: str
    title: str
    path: str


class WriteArrays(Task):
    """Writes the arrays of a page beside `target`, and gives the text that the page has there."""

    name = "write the arrays of this page"
    seconds = 60.0
    result = bytes

    document: dict[str, Any]
    path: str
    target: str


Tasks = CheckPage | EstimateMemory | ExportPage | ReadArrays | WriteArrays

ANSWER = struct.Struct("<IB")
RESULT, REFUSED, FAILED = 0, 1, 2
"""A task's result; the library's words why there is none; a fault of ours."""


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Orders).decode
decode_task = msgspec.json.Decoder(Tasks).decode
encode_for_server = encode
decode_for_server = msgspec.json.Decoder(ForServer).decode
