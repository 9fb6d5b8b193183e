"""Graphs and scopes: blocks kept together, each under a name of its own."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Token
from typing import Any

from backblocks.errors import OpError, nearest
from backblocks.graph.symbol import Block, Symbol, wired
from backblocks.ops._op import Attrs, Op, Value, builders
from backblocks.ops._values import flat


class Graph:
    """Blocks by name, in the order in which they were made."""

    def __init__(self) -> None:
        self.blocks: dict[str, Block] = {}
        self._taken: dict[str, int] = {}

    def unique_name(self, name: str) -> str:
        """`name`, or `name_1` and so on if that was given out already."""
        unique = name
        while unique in self._taken:
            unique = f"{name}_{self._taken[name]}"
            self._taken[name] += 1
        self._taken[unique] = 1
        return unique

    def give_back(self, name: str) -> None:
        """Frees a name: the block that was to have it is refused."""
        del self._taken[name]
        first, _, number = name.rpartition("_")
        last = self._taken.get(first, 1) - 1
        if last and number == str(last):
            self._taken[first] = last

    def add(self, block: Block) -> None:
        for symbol in flat(block.inputs):
            if symbol.block.name and self.blocks.get(symbol.block.name) is not symbol.block:
                raise OpError(
                    "must come from the same graph",
                    op=block.op.name,
                    arg=symbol.name,
                    hint="Make both blocks inside one scope, or feed the value.",
                )
        self.blocks[block.name] = block

    def __getitem__(self, name: str) -> Block:
        if name not in self.blocks:
            raise self._unknown("must be a block of the graph", name, name)
        return self.blocks[name]

    def named(self, name: str) -> tuple[Block, ...]:
        """The blocks that a name stands for: one here, several where a page has a page as a block."""
        return (self[name],)

    def _unknown(self, problem: str, name: str, block: str) -> OpError:
        near = nearest(block, self.blocks)
        hint = f"There is no block {block!r}" + (f"; did you mean {near!r}?" if near else ".")
        return OpError(problem, op="Graph", got=name, hint=hint)

    def touching_files(self) -> list[Block]:
        """The blocks that read or write files; `block.op.files` says which. Nothing runs for it."""
        return [block for block in self if block.op.files]

    def __contains__(self, name: object) -> bool:
        return name in self.blocks

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks.values())

    def __len__(self) -> int:
        return len(self.blocks)

    def symbol(self, name: str) -> Symbol:
        """The symbol that a page writes as `block:pin`, or `block:pin[2]` where a pin gives a list.

        The first pin when only the block is named, and the first of a list when only that is.
        """
        block, _, pin = name.partition(":")
        outputs = self.outputs(block)
        for key in (pin, f"{pin}[0]"):
            if key in outputs:
                return outputs[key]
        if outputs and not pin:
            return next(iter(outputs.values()))
        problem = "must be an output of the graph"
        if block not in self.blocks and not outputs:
            raise self._unknown(problem, name, block)
        hint = f"Block {block!r} gives nothing: make it a target."
        if outputs:
            pins = [*itertools.islice(outputs, 8), *(["..."] if len(outputs) > 8 else [])]
            hint = f"Block {block!r} has no output {pin!r}; its outputs: {', '.join(pins)}."
        raise OpError(problem, op="Graph", got=name, hint=hint)

    def outputs(self, name: str) -> dict[str, Symbol]:
        """What a block gives, by pin; none for a block that is not there."""
        found: dict[str, Symbol] = {}
        block = self.blocks.get(name)
        for pin, given in zip(block.op.outputs, block.outputs, strict=True) if block else ():
            if isinstance(given, tuple):
                found |= {f"{pin.name}[{i}]": symbol for i, symbol in enumerate(given)}
            else:
                found[pin.name] = given
        return found


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")


class Scope:
    """Where new blocks get their names. Inside `with scope:` ops add blocks and compute nothing.

    with bb.Scope() as page:
        x = bb.placeholder([8, 3], name="x")
        with page.child("layer"):
            y = bb.ops.relu(x)        # block "layer/Relu"
    """

    def __init__(self, graph: Graph | None = None, prefix: str = "") -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise OpError(
                "must be a graph",
                op="Scope",
                arg="graph",
                got=graph,
                hint="Leave it out for a new one; scope.child(name) gives new blocks a name in front.",
            )
        self.graph = Graph() if graph is None else graph
        self.prefix = prefix
        self.after: tuple[Block, ...] = ()
        self._entered: list[Token[tuple[Any, ...]]] = []

    def child(self, name: str) -> Scope:
        """A scope inside this one; a second of the same name gets a number."""
        return Scope(self.graph, self.unique_name(name))

    def unique_name(self, name: str) -> str:
        """The full name of a new block: `name`, or `name_1` and so on if that is taken."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise OpError(
                "must begin with a letter or digit and have letters, digits, _ . - only",
                arg="name",
                got=name,
                hint="Use scopes for names with a slash.",
            )
        return self.graph.unique_name(f"{self.prefix}/{name}" if self.prefix else name)

    def __apply_op__(self, op: Op, inputs: list[Value], attrs: Attrs, name: str) -> Any:
        return wired(op, inputs, attrs, name)

    def __enter__(self) -> Scope:
        self._entered.append(builders.set((*builders.get(), self)))
        return self

    def __exit__(self, *error: object) -> None:
        builders.reset(self._entered.pop())

    @contextmanager
    def running_after(self, *first: Block | Symbol) -> Iterator[Scope]:
        """Blocks made inside run after these, although nothing flows from them."""
        before = self.after
        blocks = [x.block if isinstance(x, Symbol) else x for x in first]
        for block in blocks:
            if not isinstance(block, Block) or self.graph.blocks.get(block.name) is not block:
                raise OpError(
                    "must be blocks or symbols of this graph",
                    op="Scope",
                    arg="running_after",
                    got=block,
                    hint="Hand in what the ops gave.",
                )
        self.after = (*before, *blocks)
        try:
            with self:
                yield self
        finally:
            self.after = before
