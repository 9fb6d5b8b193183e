"""A page while it is made into a graph: its names, wires, constants and problems.

What the kinds of block have in common is here; how a block of each kind is added is told by `op_blocks.py`,
`gradient_blocks.py` and, for pages that are blocks of others, `build.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from backblocks.dtypes import as_dtype
from backblocks.errors import OpError
from backblocks.graph.scope import Graph
from backblocks.graph.symbol import Block, Symbol, blocks_behind, holds_state
from backblocks.ops import REGISTRY
from backblocks.ops._handles import RESOURCE
from backblocks.ops._inputs import as_constant
from backblocks.ops._op import Attrs, Op, Value
from backblocks.ops._pins import Pin
from backblocks.ops._spec import Spec, agreed
from backblocks.ops._values import flat
from backblocks.pages import problems
from backblocks.pages.constants import constant
from backblocks.pages.fields import Json
from backblocks.pages.folder import Folder
from backblocks.pages.model import PageBlock, PageFile

MOST_BLOCKS = 1_000_000
"""In a graph, with all pages that are used as blocks."""

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


@dataclass
class Alike:
    """What is the same for blocks that are alike, so that it is worked out once."""

    attrs: dict[tuple[str, str], Attrs] = field(default_factory=dict)
    arrays: dict[Any, list[Any]] = field(default_factory=dict)
    known: dict[Any, Spec] = field(default_factory=dict)
    """One Spec for all that shape rules cannot tell apart."""
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
    left_out: set[str] = field(default_factory=set)

    def problem(self, error: OpError, name: str) -> None:
        error.op = error.op or self.page.blocks[name].op
        error.block = self.prefix + name
        self.problems.append((self.owner or name, error))
        self.left_out.add(name)

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
        blocks = self.graph.blocks
        blocks[made.name] = made
        self.graph.made_for[made.name] = self.owner or name
        if len(blocks) > MOST_BLOCKS:
            hint = "Do pages use each other many times over?"
            raise OpError(f"must come to at most {MOST_BLOCKS} blocks", op="Page", hint=hint)

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
        return tuple(found)

    def make_of(self, name: str, blocks: tuple[Block, ...], after: tuple[Block, ...]) -> None:
        """Says what a block that is no op is made of, and has all of that run `after` others.

        Constants, variables and what those start from are no part of a run, so they wait for nothing.
        """
        self.made[name] = blocks or after
        if not after:
            return
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
        pins = [each.partition(":")[2] for each in self.wires if each.startswith(f"{name}:")]
        raise OpError(
            "must come from an output of its block",
            got=wire,
            hint=f"{name} has {', '.join(pins)}." if pins else f"{name} has no output.",
        )

    # -- constants ------------------------------------------------------------------------

    def held(self, own: str, value: Any, name: str) -> Symbol:
        """A symbol as it is; anything else as a constant, which is named after the input it is at."""
        if type(value) is Symbol:
            return value
        made = Block(CONST, [], {}, self.graph.unique_name(self.prefix + own))
        self.hold(made, value)
        self.join(made, name)
        symbol: Symbol = made.outputs[0]
        return symbol

    def hold(self, made: Block, value: Any) -> None:
        array = as_constant(value)
        made.attrs = {"value": array, "dtype": array.dtype}
        spec = self.alike.spec(Spec(array.shape, array.dtype, array))
        made.outputs = (Symbol(spec, made, "output"),)


def typed(value: Any, dtype: Json) -> Any:
    """An array of a dtype that may be given beside it."""
    if dtype is None:
        return as_constant(value)
    try:
        wanted = as_dtype(dtype)
    except (KeyError, TypeError, AttributeError):
        raise problems.unknown_dtype(dtype) from None
    if isinstance(value, np.ndarray) and value.dtype != wanted:
        raise problems.other_dtype(value.dtype, wanted, "dtype")
    return as_constant(value, wanted)


def agrees(arg: str, symbol: Symbol, dtype: Any, shape: Any, whose: str) -> None:
    """Refuses what has another dtype or shape than the place that it goes to."""
    if symbol.dtype != dtype:
        raise problems.other_dtype(symbol.dtype, dtype, whose)
    agreed(arg, symbol.spec, shape, f"the shape of {whose}", "Change one of the two.")
