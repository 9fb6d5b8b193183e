"""What the server and the process that runs a page say to each other, over a socket between the two.

To the process go orders; from it come messages for tabs, which the server hands on. A frame is its length
(u32), the number of the tab that it is for (u32; 0 for all), whether it is text or binary (u8), and the
bytes.
"""

from __future__ import annotations

import struct
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from backblocks.studio.messages import (
    CheckCell,
    Elements,
    Explain,
    FindBad,
    Leave,
    Look,
    Measure,
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


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Orders).decode
encode_for_server = msgspec.json.Encoder().encode
decode_for_server = msgspec.json.Decoder(ForServer).decode
