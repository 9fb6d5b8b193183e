"""The data model of a page file: dataclasses of blocks, wires, monitors, run settings, ports and layout.

Their fields are the JSON of the file, and the published schema is derived from them. Constants and attributes
stay JSON until a graph is built, so that a page with an unknown op or attribute loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backblocks.pages.fields import Fields, written

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
class PageBlock(Fields):
    """A block: an op with its attributes, and what its inputs are wired to."""

    op: str = written(
        "TensorFlow's name of the op; or `gradients`, or `page`: see the format's text."
    )
    version: int = written("The version of the op's definition.", default=1, least=1)
    about: str = written("A sentence for whoever reads the page.", default="")
    inputs: dict[str, Any] = written(
        "For each input a wire or a constant; a list of them for an input that is a list.",
        name="in",
        default=dict,
        schema={
            "type": "object",
            "additionalProperties": {"anyOf": [_WIRE, _CONSTANT, {"type": "array"}]},
        },
    )
    initial: Any = written("The initial value of a variable.", default=None, schema=_INPUT)
    attrs: dict[str, Any] = written("Attributes by name.", default=dict)
    after: list[str] = written(
        "Control dependencies: blocks that run before it although no wire comes from them.",
        default=list,
    )


@dataclass
class Frame(Fields):
    """A frame around blocks that belong together."""

    title: str = written("The title on the frame.", default="")
    titles: dict[str, str] = written("The same in other languages, by their codes.", default=dict)
    blocks: list[str] = written("The blocks inside.", default=list)


@dataclass
class Note(Fields):
    """A note on the page."""

    text: str = written("The note, in Markdown.", default="")
    texts: dict[str, str] = written(
        "The same in other languages, by their codes such as ko.", default=dict
    )


@dataclass
class MonitorSource(Fields):
    """An output, or one element of it, that a monitor shows."""

    pin: str = written("The output.", schema=_WIRE)
    element: list[int] | None = written("Which element; all of it if left out.", default=None)
    label: str = written("Its label in the monitor.", default="")


@dataclass
class Monitor(Fields):
    """Shows values while a page runs."""

    kind: str = written(
        "A number, a trend over steps, an image map, or a histogram. An unknown kind is kept.",
        schema={"type": "string", "examples": ["number", "trend", "image", "histogram"]},
    )
    shows: list[MonitorSource] = written("The outputs that it shows.", default=list)
    title: str = written("The title above it.", default="")
    titles: dict[str, str] = written("The same in other languages, by their codes.", default=dict)
    low: float | None = written(
        "The lower end of its scale; found from values if left out.", default=None
    )
    high: float | None = written("The upper end of its scale.", default=None)
    steps: int | None = written(
        "How many steps back a trend goes; all if left out.", default=None, least=1
    )
    axes: list[int] = written("For an image: the axes of its rows and columns.", default=list)


@dataclass
class RunSettings(Fields):
    """The default settings of a run of the page."""

    fetch: list[str] = written("Outputs whose values a run fetches.", default=list)
    targets: list[str] = written(
        "Blocks that run although their values are not fetched.", default=list
    )
    steps: int | None = written("How many steps; one if left out.", default=None, least=0)
    until: str = written("An output that ends the run when it is true.", default="")
    seed: int | None = written("The seed of random numbers.", default=None)
    feeds: dict[str, Any] = written(
        "Values for placeholders.",
        default=dict,
        schema={"type": "object", "additionalProperties": _CONSTANT},
    )


@dataclass
class Port(Fields):
    """An input or output of a page that is used as a block."""

    pin: str = written(
        "The output on this page: of a placeholder, if the port is an input.", schema=_WIRE
    )
    dtype: str = written("Its element type.")
    shape: list[Any] | None = written(
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
class Ports(Fields):
    """The inputs and outputs of a page that is used as a block."""

    inputs: dict[str, Port] = written("Inputs by name.", default=dict)
    outputs: dict[str, Port] = written("Outputs by name.", default=dict)


@dataclass
class Layout(Fields):
    """Positions and sizes on the canvas. Nothing here changes what a page computes."""

    blocks: dict[str, list[float]] = written("Left and top of blocks.", default=dict)
    wires: dict[str, list[list[float]]] = written(
        "Points that wires go through, by the input that they lead to.", default=dict
    )
    frames: dict[str, list[float]] = written("Left, top, width and height of frames.", default=dict)
    notes: dict[str, list[float]] = written("Left, top, width and height of notes.", default=dict)
    monitors: dict[str, list[float]] = written(
        "Left, top, width and height of monitors.", default=dict
    )


@dataclass
class PageFile(Fields):
    """The contents of a page file."""

    format: int = written("The version of the format.", default=FORMAT)
    title: str = written("The title of the page.", default="")
    titles: dict[str, str] = written("The same in other languages, by their codes.", default=dict)
    about: str = written("What it is for, in Markdown.", default="")
    abouts: dict[str, str] = written("The same in other languages, by their codes.", default=dict)
    blocks: dict[str, PageBlock] = written(
        "Blocks by name. Their order counts where several change one variable: they do so in this order.",
        default=dict,
    )
    frames: dict[str, Frame] = written("Frames by name.", default=dict)
    notes: dict[str, Note] = written("Notes by name.", default=dict)
    monitors: dict[str, Monitor] = written("Monitors by name.", default=dict)
    run: RunSettings = written("How a run goes if it is not told otherwise.", default=RunSettings)
    ports: Ports = written("Its inputs and outputs as a block.", default=Ports)
    layout: Layout = written("Positions on the canvas.", default=Layout)
    path: Path | None = field(default=None, compare=False)
    """The file that the page was read from or last saved to."""
    source: bytes | None = field(default=None, compare=False, repr=False)
    """The bytes of that file."""
