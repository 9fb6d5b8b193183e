"""The data model of a page file: dataclasses of blocks, wires, monitors, run settings, ports and layout.

Their fields are the JSON of the file, and the published schema is derived from them. Constants and attributes
stay JSON until a graph is built, so that a page with an unknown op or attribute loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backblocks.pages.dataclass_json import Record, json_field

FORMAT = 1
"""The format version that is written."""

GRADIENTS, PAGE = "gradients", "page"
"""Values of `op` for blocks that are no ops."""

_CONSTANT = {"$ref": "#/$defs/Constant"}
_WIRE = {
    "type": "string",
    "pattern": r"^[^:]+(:[^:\[\]]+(\[[0-9]+\])?)?$",
    "description": 'A wire from an output: "block:pin", or "block:pin[2]" of a list; "block" for its first.',
}
_INPUT = {"anyOf": [_WIRE, _CONSTANT]}


@dataclass
class PageBlock(Record):
    """A block: an op with its attributes, and what its inputs are wired to."""

    op: str = json_field(
        "TensorFlow's name of the op; or `gradients`, or `page`: see the format's text."
    )
    version: int = json_field("The version of the op's definition.", default=1, minimum=1)
    about: str = json_field("A sentence for readers of the page.", default="")
    inputs: dict[str, Any] = json_field(
        "For each input a wire or a constant; a list of them for an input that is a list.",
        name="in",
        default=dict,
        schema={
            "type": "object",
            "additionalProperties": {"anyOf": [_WIRE, _CONSTANT, {"type": "array"}]},
        },
    )
    initial: Any = json_field("The initial value of a variable.", default=None, schema=_INPUT)
    attrs: dict[str, Any] = json_field("Attributes by name.", default=dict)
    after: list[str] = json_field(
        "Control dependencies: blocks that run before it although no wire comes from them.",
        default=list,
    )


@dataclass
class Frame(Record):
    """A frame around blocks that belong together."""

    title: str = json_field("The title on the frame.", default="")
    titles: dict[str, str] = json_field(
        "The same in other languages, by their codes.", default=dict
    )
    blocks: list[str] = json_field("The blocks inside.", default=list)


@dataclass
class Note(Record):
    """A note on the page."""

    text: str = json_field("The note, in Markdown.", default="")
    texts: dict[str, str] = json_field(
        "The same in other languages, by their codes such as ko.", default=dict
    )


@dataclass
class MonitorSource(Record):
    """An output, or one element of it, that a monitor shows."""

    pin: str = json_field("The output.", schema=_WIRE)
    element: list[int] | None = json_field("Which element; all of it if left out.", default=None)
    label: str = json_field("Its label in the monitor.", default="")


@dataclass
class Monitor(Record):
    """Shows values while a page runs."""

    kind: str = json_field(
        "A number, a trend over steps, an image map, or a histogram. An unknown kind is kept.",
        schema={"type": "string", "examples": ["number", "trend", "image", "histogram"]},
    )
    shows: list[MonitorSource] = json_field("The outputs that it shows.", default=list)
    title: str = json_field("The title above it.", default="")
    titles: dict[str, str] = json_field(
        "The same in other languages, by their codes.", default=dict
    )
    low: float | None = json_field(
        "The lower end of its scale; found from values if left out.", default=None
    )
    high: float | None = json_field("The upper end of its scale.", default=None)
    steps: int | None = json_field(
        "How many steps back a trend goes; all if left out.", default=None, minimum=1
    )
    axes: list[int] = json_field("For an image: the axes of its rows and columns.", default=list)


@dataclass
class RunSettings(Record):
    """The default settings of a run of the page."""

    fetch: list[str] = json_field("Outputs whose values a run fetches.", default=list)
    targets: list[str] = json_field(
        "Blocks that run although their values are not fetched.", default=list
    )
    steps: int | None = json_field("How many steps; one if left out.", default=None, minimum=0)
    until: str = json_field("An output that ends the run when it is true.", default="")
    seed: int | None = json_field("The seed of random numbers.", default=None)
    feeds: dict[str, Any] = json_field(
        "Values for placeholders.",
        default=dict,
        schema={"type": "object", "additionalProperties": _CONSTANT},
    )


@dataclass
class Port(Record):
    """An input or output of a page that is used as a block."""

    pin: str = json_field(
        "The output on this page: of a placeholder, if the port is an input.", schema=_WIRE
    )
    dtype: str = json_field("Its element type.")
    shape: list[Any] | None = json_field(
        "Its sizes, null where they are open; null if even their number is.",
        default=None,
        schema={
            "anyOf": [
                {"type": "array", "items": {"type": ["integer", "null"]}},
                {"type": "null"},
            ]
        },
    )


@dataclass
class Ports(Record):
    """The inputs and outputs of a page that is used as a block."""

    inputs: dict[str, Port] = json_field("Inputs by name.", default=dict)
    outputs: dict[str, Port] = json_field("Outputs by name.", default=dict)


@dataclass
class Layout(Record):
    """Positions and sizes on the canvas. Nothing here changes what a page computes."""

    blocks: dict[str, list[float]] = json_field("Left and top of blocks.", default=dict)
    wires: dict[str, list[list[float]]] = json_field(
        "Points that wires go through, by the input that they lead to.", default=dict
    )
    frames: dict[str, list[float]] = json_field(
        "Left, top, width and height of frames.", default=dict
    )
    notes: dict[str, list[float]] = json_field(
        "Left, top, width and height of notes.", default=dict
    )
    monitors: dict[str, list[float]] = json_field(
        "Left, top, width and height of monitors.", default=dict
    )


@dataclass
class PageFile(Record):
    """The contents of a page file."""

    format: int = json_field("The version of the format.", default=FORMAT)
    title: str = json_field("The title of the page.", default="")
    titles: dict[str, str] = json_field(
        "The same in other languages, by their codes.", default=dict
    )
    about: str = json_field("What it is for, in Markdown.", default="")
    abouts: dict[str, str] = json_field(
        "The same in other languages, by their codes.", default=dict
    )
    blocks: dict[str, PageBlock] = json_field(
        "Blocks by name. Their order counts where several change one variable: they do so in this order.",
        default=dict,
    )
    frames: dict[str, Frame] = json_field("Frames by name.", default=dict)
    notes: dict[str, Note] = json_field("Notes by name.", default=dict)
    monitors: dict[str, Monitor] = json_field("Monitors by name.", default=dict)
    run: RunSettings = json_field("The default settings of a run.", default=RunSettings)
    ports: Ports = json_field("Its inputs and outputs as a block.", default=Ports)
    layout: Layout = json_field("Positions on the canvas.", default=Layout)
    path: Path | None = field(default=None, compare=False)
    """The file that the page was read from or last saved to."""
    source: bytes | None = field(default=None, compare=False, repr=False)
    """The bytes of that file."""
