"""A page while it is made into a graph: its names, wires, constants and problems.

What the kinds of block have in common is here; how a block of each kind is added is told by `op_blocks.py`,
`gradient_blocks.py` and, for pages that are blocks of others, `build.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from backblocks.dtypes import DType, as_dtype
from backblocks.errors import OpError
from backblocks.graph.scope import Graph
from backblocks.graph.symbol import Block, Symbol, blocks_behind, holds_state
from backblocks.ops import REGISTRY
from backblocks.ops._handles import RESOURCE
from backblocks.ops._inputs import Array, as_constant
from backblocks.ops._op import Attrs, Op, Value
from backblocks.ops._pins import Pin
from backblocks.ops._spec import Spec, agreed
from backblocks.ops._values import flat
from backblocks.pages import problems
from backblocks.pages.constants import constant
from backblocks.pages.fields import Json
from backblocks.pages.folder import Folder
from backblocks.pages.model import PageBlock, PageFile

MOST_BLOCKS = 200_000
"""Blocks that a build looks at or makes, with those of all pages that are used as blocks. To check so many
takes half a minute; other work counts as the blocks that would take as long."""
MOST_PROBLEMS = 1000
"""Problems that are told of one page."""

CONST = REGISTRY["Const"]
_FEW = 64
"""Constants of at most this many elements are compared by value to see whether blocks are alike."""


class PageGraph(Graph):
    """The graph of a page. It also knows blocks that are no ops, and their outputs: "grads:dx[0]"."""

    def __init__(self) -> None:
        super().__init__()
        self.wires: dict[str, Symbol] = {}
        self.parts: dict[str, tuple[Block, ...]] = {}
        """For each block of the page the blocks that it is made of."""
        self.made_for: dict[str, str] = {}
        """For each block the one on the page that it was made for."""
        self._work = 0

    def count(self, blocks: int = 1) -> None:
        """Counts work as the number of blocks that it takes as long as. Too much of it ends the build."""
        self._work += blocks
        if self._work > MOST_BLOCKS:
            raise TooMuch(
                OpError(
                    f"must come to at most {MOST_BLOCKS} blocks, with those of its pages and gradients",
                    op="Page",
                    hint="Do pages use each other, or gradients each other, many times over?",
                )
            )

    def add(self, block: Block) -> None:
        super().add(block)
        self.count(1 + sum(1 for _ in flat((*block.inputs, *block.outputs))) // 8)

    def symbol(self, name: str) -> Symbol:
        return self.wires[name] if name in self.wires else super().symbol(name)

    def outputs(self, name: str) -> dict[str, Symbol]:
        pins = {key: key.removeprefix(f"{name}:") for key in self.wires}
        on_page = {pin: self.wires[key] for key, pin in pins.items() if pin != key}
        return on_page or super().outputs(name)

    def ends(self) -> list[str]:
        """The outputs that no block reads."""
        read = {id(symbol) for block in self for symbol in flat(block.inputs)}
        names: dict[int, str] = {}
        for name, symbol in self.wires.items():
            if ":" in name and id(symbol) not in read and symbol.dtype != RESOURCE:
                names.setdefault(id(symbol), name)
        return list(names.values())

    def named(self, name: str) -> tuple[Block, ...]:
        return self.parts[name] if name in self.parts else super().named(name)


class Waiting(Exception):
    """Something that a block needs was left out."""


class TooMuch(Exception):
    """A page is more than a build can take on, which ends it: no other block is looked at."""

    def __init__(self, problem: OpError) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass
class Alike:
    """What is the same for blocks that are alike, so that it is worked out once."""

    attrs: dict[tuple[str, str], Attrs] = field(default_factory=dict)
    arrays: dict[Any, list[Any]] = field(default_factory=dict)
    known: dict[Any, Spec] = field(default_factory=dict)
    """One Spec for all that shape rules cannot tell apart."""
    pages: dict[tuple[Path | None, Json], tuple[PageFile, Folder, int]] = field(
        default_factory=dict
    )
    """The pages that are used as blocks, by folder and name, and how many bytes each file has."""
    inferred: dict[Any, tuple[Value, ...]] = field(default_factory=dict)
    """What comes out, by the identity of the attributes and of the Specs that come in."""

    def spec(self, spec: Spec) -> Spec:
        value = spec.known
        if value is None:
            return self.known.setdefault(spec, spec)
        if value.size > _FEW or spec.dtype.hasobject:
            return self.known.setdefault(id(value), spec)
        return self.known.setdefault((spec.shape, spec.dtype, value.tobytes()), spec)


@dataclass
class Making:
    """One page that is made into a graph. A page that is used as a block is another, of the same graph."""

    graph: PageGraph
    page: PageFile
    folder: Folder
    prefix: str = ""
    owner: str = ""
    """The block of the page itself that stands for this page, if it is used as a block."""
    ports: dict[str, Symbol] = field(default_factory=dict)
    """For the placeholder of a port, what is wired to the port."""
    inside: tuple[Any, ...] = ()
    """The files of the pages that it is used in."""
    alike: Alike = field(default_factory=Alike)
    wires: dict[str, Symbol] = field(default_factory=dict)
    without: dict[str, str] = field(default_factory=dict)
    """Outputs that have no value, and why."""
    made: dict[str, tuple[Block, ...]] = field(default_factory=dict)
    """For each block of the page the blocks that it is made of."""
    problems: list[tuple[str, OpError]] = field(default_factory=list)
    """Of the page itself and of all that are used as blocks: one list for the whole build."""
    left_out: set[str] = field(default_factory=set)
    _pins: dict[str, list[str]] = field(default_factory=dict)
    _indexed: int = 0
    """How many of the wires are in `_pins`, which only those need who wire something to no pin."""

    def problem(self, error: OpError, name: str) -> None:
        error.op = error.op or self.page.blocks[name].op
        error.block = self.prefix + name
        self.left_out.add(name)
        self.tell(self.owner or name, error)

    def tell(self, name: str, error: OpError) -> None:
        """Adds to the problems of the page, up to as many as somebody may want to read."""
        self.problems.append((name, error))
        if len(self.problems) >= MOST_PROBLEMS:
            hint = "Correct these first."
            rule = f"has more problems than the first {MOST_PROBLEMS}, which are told"
            raise TooMuch(OpError(rule, op="Page", hint=hint))

    def collect(self, name: str, arg: str, read: Callable[..., Any], *given: Any) -> Any:
        """What `read` gives; if it fails, that is one more problem, and others are still looked for."""
        try:
            return read(*given)
        except Waiting:
            self.left_out.add(name)
        except OpError as error:
            error.arg = arg
            self.problem(error, name)

    def refuse_unknown(
        self, name: str, kind: str, given: Iterable[str], known: Sequence[str]
    ) -> None:
        """Attributes or inputs that the block has not."""
        for each in given:
            if each not in known:
                self.problem(problems.no_such(kind, each, known), name)

    # -- blocks of the graph --------------------------------------------------------------

    def join(self, made: Block, name: str) -> None:
        self.graph.blocks[made.name] = made
        self.graph.made_for[made.name] = self.owner or name

    def joined_since(self, before: int) -> tuple[Block, ...]:
        """The blocks that came to the graph when it had so many."""
        blocks = self.graph.blocks
        return tuple(islice(reversed(blocks.values()), len(blocks) - before))[::-1]

    def wire(self, name: str, op: Op, outputs: Sequence[Value]) -> None:
        for pin, output in zip(op.outputs, outputs, strict=True):
            if type(output) is tuple:
                self.wire_list(name, pin.name, output)
            else:
                self.wires[f"{name}:{pin.name}"] = output
                self.wires.setdefault(name, output)

    def wire_list(self, name: str, pin: str, symbols: Sequence[Symbol | None]) -> None:
        self.graph.count(len(symbols) // 8)
        for i, symbol in enumerate(symbols):
            if symbol is not None:
                self.wires[f"{name}:{pin}[{i}]"] = symbol
                self.wires.setdefault(f"{name}:{pin}", symbol)
                self.wires.setdefault(name, symbol)

    def after(self, block: PageBlock) -> tuple[Block, ...]:
        """The blocks that it runs after. For one that is no op they are all that it is made of."""
        found: list[Block] = []
        for name in block.after:
            if name in self.left_out:
                raise Waiting
            if name not in self.made:
                raise problems.no_block(name, self.page)
            found += self.made[name]
            self.graph.count(len(self.made[name]) // 16)
        return tuple(found)

    def make_of(self, name: str, blocks: tuple[Block, ...], after: tuple[Block, ...]) -> None:
        """Says what a block that is no op is made of, and has all of that run `after` others.

        Constants, variables and what those start from are no part of a run, so they wait for nothing.
        """
        self.made[name] = blocks or after
        if not after:
            return
        self.graph.count(len(blocks) * len(after) // 64)  # a run looks at each pair of them
        starts = {*blocks_behind([block.initial for block in blocks if block.initial is not None])}
        for block in blocks:
            if not (block.op is CONST or holds_state(block) or block in starts):
                block.after += after

    # -- inputs ---------------------------------------------------------------------------

    def input(self, given: Json, pin: Pin) -> Any:
        if given is None:
            if pin.count != "optional":
                raise OpError("must be wired", hint="Wire an output to it, or write a value.")
            return None
        if not pin.is_list:
            return self.value(given)
        if type(given) is not list:
            hint = 'Put it in brackets: ["block:pin"].'
            raise OpError("must be a list of wires", got=given, hint=hint)
        self.graph.count(len(given) // 8)
        return tuple(self.value(each) for each in given)

    def value(self, given: Json) -> Any:
        return self.symbol(given) if type(given) is str else constant(given, self.folder)

    def symbol(self, wire: str) -> Symbol:
        symbol = self.wires.get(wire)
        if symbol is not None:
            return symbol
        name = wire.partition(":")[0]
        if name in self.left_out:
            raise Waiting
        if name not in self.page.blocks:
            raise problems.no_block(name, self.page)
        if wire in self.without:
            raise OpError(self.without[wire], got=wire, hint="Wire something else to it.")
        pins = self._pins_of(name)
        raise OpError(
            "must come from an output of its block",
            got=wire,
            hint=f"{name} has {problems.listed(pins)}." if pins else f"{name} has no output.",
        )

    def _pins_of(self, name: str) -> list[str]:
        for wire in islice(self.wires, self._indexed, None):
            block, colon, pin = wire.partition(":")
            if colon:
                self._pins.setdefault(block, []).append(pin)
        self._indexed = len(self.wires)
        return self._pins.get(name, [])

    # -- constants ------------------------------------------------------------------------

    def held(self, own: str, value: Any, name: str) -> Symbol:
        """A symbol as it is; anything else as a constant, which is named after the input it is at."""
        if type(value) is Symbol:
            return value
        self.graph.count()
        made = Block(CONST, [], {}, self.graph.unique_name(self.prefix + own))
        self.hold(made, value)
        self.join(made, name)
        symbol: Symbol = made.outputs[0]
        return symbol

    def hold(self, made: Block, value: Any) -> None:
        array = _kept(value)
        made.attrs = {"value": array, "dtype": array.dtype}
        spec = self.alike.spec(Spec(array.shape, array.dtype, array))
        made.outputs = (Symbol(spec, made, "output"),)


def typed(value: Any, dtype: Json) -> Any:
    """An array of a dtype that may be given beside it."""
    if dtype is None:
        return _kept(value)
    try:
        wanted = as_dtype(dtype)
    except (KeyError, TypeError, AttributeError):
        raise problems.unknown_dtype(dtype) from None
    if isinstance(value, np.ndarray) and value.dtype != wanted:
        raise problems.other_dtype(value.dtype, wanted, "dtype")
    return _kept(value, wanted)


def _kept(value: Any, dtype: DType | None = None) -> Array:
    """A constant. An array that nobody can write to is one already: blocks that name one file share it."""
    if isinstance(value, np.ndarray) and value.flags.owndata and not value.flags.writeable:
        return value
    return as_constant(value, dtype)


def agrees(arg: str, symbol: Symbol, dtype: Any, shape: Any, whose: str) -> None:
    """Refuses what has another dtype or shape than the place that it goes to."""
    if symbol.dtype != dtype:
        raise problems.other_dtype(symbol.dtype, dtype, whose)
    agreed(arg, symbol.spec, shape, f"the shape of {whose}", "Change one of the two.")
