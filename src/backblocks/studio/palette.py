"""What the browser knows of every op before anything runs: the classes of `ops.json`.

The file is made when the front end is built (`tools/palette.py`), so that a page can be drawn while the
compute library is still being imported. The browser's types are made from these classes.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

Count = Literal["one", "optional", "list", "mixed list"]
"""How many tensors a pin takes or gives; those of a mixed list may have different types."""


class PinInfo(Struct, kw_only=True, omit_defaults=True):
    """An input or output of an op."""

    name: str
    count: Count
    type: str
    """A type variable, which is the same type at every pin that has it, or the one type that it takes."""
    dtypes: list[str]
    """Every type that it may have."""
    ranks: list[int] | None
    """Every number of axes that it may have; null if any."""
    axes: str = ""
    """The letters of its axes, such as DHWIO; "data_format" if that attribute has them."""


class AttrInfo(Struct, kw_only=True, omit_defaults=True):
    """An attribute of an op."""

    name: str
    kind: str
    """Picks the widget."""
    about: str
    required: bool
    options: list[str]
    default: Any | UnsetType = UNSET


class DifferenceInfo(Struct, kw_only=True, omit_defaults=True):
    """Where an op departs from TensorFlow's, and how to make it agree."""

    topic: str
    tensorflow: str
    ours: str
    agree: str
    at: str = ""
    """The rule that says which cells it touches; none if it is about which calls are taken."""


class CaseInfo(Struct, kw_only=True):
    """A worked case, as a page that can be opened."""

    about: str
    page: dict[str, Any]


class GradientInfo(Struct, kw_only=True):
    """How the gradient with respect to one input is made with one op.

    Its inputs are "input NAME", "output NAME" or "shape NAME" (of an input) of this op, or "gradient NAME":
    what flows into that output.
    """

    input: str
    op: str
    gives: str
    """The output that is the gradient."""
    inputs: dict[str, str]
    attrs: list[str]
    """Attributes that are copied by name."""


class OpInfo(Struct, kw_only=True, omit_defaults=True):
    """All that is said of an op."""

    name: str
    group: str
    group_title: str
    """In English, as the group is declared with."""
    summary: str
    documentation: str
    """What follows the summary, in Markdown."""
    formula: str = ""
    inputs: list[PinInfo]
    outputs: list[PinInfo]
    attrs: list[AttrInfo]
    stateful: bool
    files: str
    writes: list[str]
    """Inputs that are variables and get a new value."""
    holds: bool
    """Whether a session keeps what it gives: a variable, a queue, a reader."""
    fed: bool
    gradient: str
    """Whether it has a gradient, in words."""
    differences: list[DifferenceInfo]
    cases: list[CaseInfo]
    aliases: list[str]
    gradients: list[GradientInfo]


class Palette(Struct):
    """The whole file: ops by group and name."""

    version: str
    ops: list[OpInfo]
