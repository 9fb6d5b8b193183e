"""The graph builder of pages: state and helpers that the builders of all kinds of block share.

`op_blocks.py` adds blocks that are ops, `gradient_blocks.py` those that stand for gradients, and `build.py`
pages that are blocks of other pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from backblocks.dtypes import NAMES, DType, as_dtype
from backblocks.errors import OpError, set_to
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
from backblocks.pages.constants import parse_constant
from backblocks.pages.dataclass_json import Json
from backblocks.pages.folder import Folder
from backblocks.pages.model import PageBlock, PageFile

MAX_BLOCKS = 200_000
"""The work budget of a build: blocks that it visits or creates, those of nested pages included. So many take
half a minute; other work is charged as the number of blocks that would take as long."""
MAX_PROBLEMS = 1000
"""Problems reported for one page; with so many the build is aborted."""

CONST = REGISTRY["Const"]
_MAX_COMPARED_ELEMENTS = 64
"""Constants of at most this many elements are compared by value for the build cache, others by identity."""


class PageGraph(Graph):
    """The graph of a page. Its names include blocks that are no ops, and their outputs: "grads:dx[0]"."""

    def __init__(self) -> None:
        super().__init__()
        self.wires: dict[str, Symbol] = {}
        self.expansions: dict[str, tuple[Block, ...]] = {}
        """For each block of the page the graph's blocks that it became."""
        self.page_block_of: dict[str, str] = {}
        """For each block of the graph the block of the page that it came from."""
        self._work = 0

    def charge(self, blocks: int = 1) -> None:
        """Charges the work budget, in blocks that would take as long. Exhausting it aborts the build."""
        self._work += blocks
        if self._work > MAX_BLOCKS:
            raise BuildAborted(
                OpError(
                    f"must have at most {MAX_BLOCKS} blocks after its pages and gradients are expanded",
                    op="Page",
                    hint="Do pages use each other, or gradients each other, many times over?",
                )
            )

    def add(self, block: Block) -> None:
        super().add(block)
        self.charge(1 + sum(1 for _ in flat((*block.inputs, *block.outputs))) // 8)

    def symbol(self, name: str) -> Symbol:
        return self.wires[name] if name in self.wires else super().symbol(name)

    def outputs(self, name: str) -> dict[str, Symbol]:
        pins = {key: key.removeprefix(f"{name}:") for key in self.wires}
        on_page = {pin: self.wires[key] for key, pin in pins.items() if pin != key}
        return on_page or super().outputs(name)

    def unread_outputs(self) -> list[str]:
        """The outputs that no block reads."""
        read = {id(symbol) for block in self for symbol in flat(block.inputs)}
        names: dict[int, str] = {}
        for name, symbol in self.wires.items():
            if ":" in name and id(symbol) not in read and symbol.dtype != RESOURCE:
                names.setdefault(id(symbol), name)
        return list(names.values())

    def named(self, name: str) -> tuple[Block, ...]:
        return self.expansions[name] if name in self.expansions else super().named(name)


class DependencyFailed(Exception):
    """A block depends on one that was skipped, so it is skipped without a problem of its own."""


class BuildAborted(Exception):
    """The work budget or the number of problems is exceeded: the build stops at this block."""

    def __init__(self, problem: OpError) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass
class BuildCache:
    """Memoised work of a build: blocks with equal ops, attributes and input Specs share their results."""

    attrs: dict[tuple[str, str], Attrs] = field(default_factory=dict)
    """Parsed attributes, by op and source text."""
    arrays: dict[Any, list[Any]] = field(default_factory=dict)
    """Untyped numbers as arrays, by op and inputs."""
    specs: dict[Any, Spec] = field(default_factory=dict)
    """Interned Specs: one object for all that shape rules cannot tell apart."""
    pages: dict[tuple[Path | None, Json], tuple[PageFile, Folder, int]] = field(
        default_factory=dict
    )
    """Parsed pages that are used as blocks, by folder and name, with their folders and file sizes."""
    inferred: dict[Any, tuple[Value, ...]] = field(default_factory=dict)
    """Specs of outputs, by the identity of the attributes and of the Specs of inputs."""

    def intern(self, spec: Spec) -> Spec:
        """The interned Spec that equals this one."""
        value = spec.known
        if value is None:
            return self.specs.setdefault(spec, spec)
        if value.size > _MAX_COMPARED_ELEMENTS or spec.dtype.hasobject:
            return self.specs.setdefault(id(value), spec)
        return self.specs.setdefault((spec.shape, spec.dtype, value.tobytes()), spec)


@dataclass
class PageBuilder:
    """Builds the blocks of one page into a graph. A nested page has its own builder, of the same graph."""

    graph: PageGraph
    page: PageFile
    folder: Folder
    prefix: str = ""
    """The scope of a nested page, put before the names of its blocks."""
    owner: str = ""
    """The block of the outermost page that a nested page belongs to."""
    ports: dict[str, Symbol] = field(default_factory=dict)
    """For the placeholder of an input port, the symbol wired to the port."""
    enclosing_files: tuple[Any, ...] = ()
    """The files of the pages around a nested page."""
    cache: BuildCache = field(default_factory=BuildCache)
    wires: dict[str, Symbol] = field(default_factory=dict)
    missing_outputs: dict[str, str] = field(default_factory=dict)
    """Outputs that have no value, and why."""
    expansions: dict[str, tuple[Block, ...]] = field(default_factory=dict)
    """For each block of the page the graph's blocks that it became."""
    problems: list[tuple[str, OpError]] = field(default_factory=list)
    """Problems of the page and of its nested pages: one list for the whole build."""
    skipped: set[str] = field(default_factory=set)
    """Blocks with a problem, or that depend on one: they are not in the graph."""
    _pins: dict[str, list[str]] = field(default_factory=dict)
    """Outputs by block, filled when an error has to list them."""
    _indexed: int = 0
    """How many of the wires are in `_pins`."""

    def add_problem(self, error: OpError, name: str) -> None:
        """Reports a problem of a block, which is skipped."""
        error.op = error.op or self.page.blocks[name].op
        error.block = self.prefix + name
        if self.owner or self.page.blocks[name].op not in REGISTRY:
            error.fixes = []  # for a block of another file, or of those that this one stands for
        self.skipped.add(name)
        self.report(self.owner or name, error)

    def report(self, name: str, error: OpError) -> None:
        """Adds a problem of the page or of a block of it. Too many abort the build."""
        if not name:
            error.fixes = []  # those of settings are proposals that nobody has tried
        self.problems.append((name, error))
        if len(self.problems) >= MAX_PROBLEMS:
            hint = "Correct these first."
            rule = f"has more problems than the first {MAX_PROBLEMS}, which are listed"
            raise BuildAborted(OpError(rule, op="Page", hint=hint))

    def attempt(self, name: str, arg: str, read: Callable[..., Any], *arguments: Any) -> Any:
        """The result of `read`, or None if it fails: then its error is a problem of `name` at `arg`."""
        try:
            return read(*arguments)
        except DependencyFailed:
            self.skipped.add(name)
        except OpError as error:
            error.arg = arg
            self.add_problem(error, name)

    def reject_unknown(
        self, name: str, kind: str, names: Iterable[str], known: Sequence[str]
    ) -> None:
        """Reports attributes or inputs that the op of a block does not have."""
        for each in names:
            if each not in known:
                self.add_problem(problems.unknown_name(kind, each, known), name)

    # -- blocks of the graph --------------------------------------------------------------

    def add_block(self, added: Block, name: str) -> None:
        """Adds a block to the graph, which comes from the block `name` of the page."""
        self.graph.blocks[added.name] = added
        self.graph.page_block_of[added.name] = self.owner or name

    def blocks_added_since(self, before: int) -> tuple[Block, ...]:
        """The blocks added to the graph since it had `before` of them."""
        blocks = self.graph.blocks
        return tuple(islice(reversed(blocks.values()), len(blocks) - before))[::-1]

    def add_wires(self, name: str, op: Op, outputs: Sequence[Value]) -> None:
        for pin, output in zip(op.outputs, outputs, strict=True):
            if type(output) is tuple:
                self.add_wire_list(name, pin.name, output)
            else:
                self.wires[f"{name}:{pin.name}"] = output
                self.wires.setdefault(name, output)

    def add_wire_list(self, name: str, pin: str, symbols: Sequence[Symbol | None]) -> None:
        self.graph.charge(len(symbols) // 8)
        for i, symbol in enumerate(symbols):
            if symbol is not None:
                self.wires[f"{name}:{pin}[{i}]"] = symbol
                self.wires.setdefault(f"{name}:{pin}", symbol)
                self.wires.setdefault(name, symbol)

    def control_dependencies(self, block: PageBlock) -> tuple[Block, ...]:
        """The graph's blocks that a block runs `after`: the whole expansion of each that it names."""
        found: list[Block] = []
        for name in block.after:
            if name in self.skipped:
                raise DependencyFailed
            if name not in self.expansions:
                raise problems.unknown_block(name, self.page)
            found += self.expansions[name]
            self.graph.charge(len(self.expansions[name]) // 16)
        return tuple(found)

    def set_expansion(self, name: str, blocks: tuple[Block, ...], after: tuple[Block, ...]) -> None:
        """Records the expansion of a block that is no op, and has all of it run `after` other blocks.

        Constants, variables and their initial values are no part of a run, so they wait for nothing.
        """
        self.expansions[name] = blocks or after
        if not after:
            return
        self.graph.charge(len(blocks) * len(after) // 64)  # a run looks at each pair of them
        starts = {*blocks_behind([block.initial for block in blocks if block.initial is not None])}
        for block in blocks:
            if not (block.op is CONST or holds_state(block) or block in starts):
                block.after += after

    # -- inputs ---------------------------------------------------------------------------

    def read_input(self, value: Json, pin: Pin) -> Any:
        """What the page has at an input: a symbol, a constant, a tuple of them, or None."""
        if value is None:
            if pin.count != "optional":
                raise OpError("must be wired", hint="Wire an output to it, or write a value.")
            return None
        if not pin.is_list:
            return self.read_value(value)
        if type(value) is not list:
            hint = 'Put it in brackets: ["block:pin"].'
            raise OpError("must be a list of wires", got=value, hint=hint)
        self.graph.charge(len(value) // 8)
        return tuple(self.read_value(each) for each in value)

    def read_value(self, value: Json) -> Any:
        """The symbol that a wire leads to, or a constant."""
        return self.symbol(value) if type(value) is str else parse_constant(value, self.folder)

    def symbol(self, wire: str) -> Symbol:
        """The output that a wire comes from."""
        symbol = self.wires.get(wire)
        if symbol is not None:
            return symbol
        name = wire.partition(":")[0]
        if name in self.skipped:
            raise DependencyFailed
        if name not in self.page.blocks:
            raise problems.unknown_block(name, self.page)
        if wire in self.missing_outputs:
            raise OpError(self.missing_outputs[wire], got=wire, hint="Wire something else to it.")
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

    def as_symbol(self, constant_name: str, value: Any, name: str) -> Symbol:
        """A symbol as it is; any other value as a Const block, which is named after its input."""
        if type(value) is Symbol:
            return value
        self.graph.charge()
        added = Block(CONST, [], {}, self.graph.unique_name(self.prefix + constant_name))
        self.set_constant(added, value)
        self.add_block(added, name)
        symbol: Symbol = added.outputs[0]
        return symbol

    def set_constant(self, block: Block, value: Any) -> None:
        """Gives a Const block its value."""
        array = _as_constant_array(value)
        block.attrs = {"value": array, "dtype": array.dtype}
        spec = self.cache.intern(Spec(array.shape, array.dtype, array))
        block.outputs = (Symbol(spec, block, "output"),)


def as_typed_array(value: Any, dtype: Json) -> Any:
    """A constant as an array, of the dtype that a block names in an attribute, if it names one."""
    if dtype is None:
        return _as_constant_array(value)
    try:
        wanted = as_dtype(dtype)
    except (KeyError, TypeError, AttributeError):
        raise problems.unknown_dtype(dtype) from None
    if isinstance(value, np.ndarray) and value.dtype != wanted:
        fixes = [set_to(dtype=NAMES[value.dtype])]
        raise problems.wrong_dtype(value.dtype, wanted, "dtype", fixes)
    return _as_constant_array(value, wanted)


def _as_constant_array(value: Any, dtype: DType | None = None) -> Array:
    """A read-only array. One that is read-only already is not copied: blocks that name one file share it."""
    if isinstance(value, np.ndarray) and value.flags.owndata and not value.flags.writeable:
        return value
    return as_constant(value, dtype)


def check_type(arg: str, symbol: Symbol, dtype: Any, shape: Any, whose: str) -> None:
    """Refuses a symbol whose dtype or shape does not fit what is declared for it."""
    if symbol.dtype != dtype:
        raise problems.wrong_dtype(symbol.dtype, dtype, whose)
    try:
        agreed(arg, symbol.spec, shape, f"the shape of {whose}", "Change one of the two.")
    except OpError as error:
        error.fixes = []  # either of the two may be meant
        raise
