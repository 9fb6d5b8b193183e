"""Programs: the blocks of one kind of run in topological order, with the slots of their values.

A program is built once for a set of fetches, feeds and targets, and run as often as wanted. A slot is a
register: it holds one symbol's value, or one version of a variable.

Variables are read and written within a run by one rule. A variable has a row of versions: its value
before the run, then one more for each block that writes it. Writes whose value does not depend on the
variable (loading data) come first, then those that change it (optimisers, counters), each in the order
in which the blocks were made. A block reads the version that the loading writes leave, unless it must
run before or after a write because something flows between them, or because it was told to.

What a handle stands for, a queue say, is kept and versioned in the same way. To put something in is to load
data, so a queue is filled before others take from it; where TensorFlow would wait, ours has the right order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from backblocks.errors import OpError, described
from backblocks.graph.symbol import Block, Symbol, holds_state
from backblocks.ops._op import Value
from backblocks.ops._values import each_value, flat


class StateUpdate(NamedTuple):
    """The slots of a variable or RNG state before and after a step that writes it."""

    before: int
    after: int


@dataclass(eq=False)
class Step:
    """A block, and the slots of its inputs and outputs."""

    block: Block
    inputs: list[Value]
    """For each input a slot; a tuple of them for a list, None for one that is left out."""
    outputs: list[Value]
    """For each output a slot, or a tuple of them.

    An output that is the new value of a variable has the slot of that, unless the step can die.
    """
    updates: list[StateUpdate]
    """For each variable that it writes, and for its RNG state; a skipped step copies the old value."""
    after: list[Block]
    """Control dependencies: blocks that run before it although no value flows from them."""
    may_be_dead: bool = False
    """Whether it may lie in a branch that is not taken, or read a variable that got no value in one."""
    drops: list[int] = field(default_factory=list)
    """Slots that no later step reads."""

    @cached_property
    def defs(self) -> list[int]:
        """Every slot that the step defines."""
        return list(dict.fromkeys((*flat(self.outputs), *(each.after for each in self.updates))))

    @property
    def uses(self) -> list[int]:
        """Every slot that the step uses, if only to copy the old value of a variable."""
        return [*flat(self.inputs), *(each.before for each in self.updates)]


StepFunction = Callable[[list[Any]], None]
"""Computes a step on the slots of a run."""
CompiledSteps = Sequence[tuple[Step, StepFunction]]


@dataclass(eq=False)
class Program:
    """Steps in topological order, and the slots of feeds, fetches, constants and variables."""

    steps: list[Step]
    slots: int
    fed: list[int]
    fetched: list[int]
    constants: dict[int, Symbol]
    variables: dict[int, Block]
    """Slots of variables and RNG states before the run."""
    read: set[int]
    """Slots of `variables` that a step reads, which must have a value."""
    written: dict[Block, int]
    """Slots of variables after the run."""
    targets: set[Block]
    """Blocks that run although their values are not fetched."""

    @cached_property
    def writers(self) -> dict[Block, Block]:
        """For each variable that is written the block that does so last."""
        last = {change.after: step.block for step in self.steps for change in step.updates}
        return {variable: last[slot] for variable, slot in self.written.items()}


_ASKS = "IsVariableInitialized"


def is_constant(block: Block) -> bool:
    return block.op.name == "Const" and not block.after  # after a dead block it is dead


def build_program(
    fetches: Sequence[Symbol], feeds: Sequence[Symbol], targets: Sequence[Block]
) -> Program:
    """The program that computes these fetches and targets when these symbols are fed."""
    fed = {id(symbol) for symbol in feeds}
    blocks = _needed([*(s.block for s in fetches if id(s) not in fed), *targets], fed)
    versions = _variable_versions(blocks, fed)
    slots = _Slots(fed, versions)
    possibly_dead = _possibly_dead(blocks, fed)
    passive = {block for block in blocks if holds_state(block) or is_constant(block)}
    steps = [slots.step(block, block in possibly_dead) for block in blocks if block not in passive]
    fetched = [slots.seen(symbol, None) for symbol in fetches]
    keeping = {s.block: s.updates[-1] for s in steps if s.block.op.initial_rng_state is not None}
    written = {v: slots[v, len(row.writers)] for v, row in versions.items() if row.writers}
    written |= {block: kept.after for block, kept in keeping.items()}
    variables = {slots[variable, 0]: variable for variable in versions}
    variables |= {kept.before: block for block, kept in keeping.items()}
    constants = {
        slots[id(symbol)]: symbol
        for block in passive
        if is_constant(block)
        for symbol in flat(block.outputs)
        if id(symbol) not in fed
    }
    steps = _schedule(steps)
    _mark_last_uses(steps, {*fetched, *written.values()})
    fed_slots = [slots[id(symbol)] for symbol in feeds]
    read = _read(steps, fetched, variables) | {kept.before for kept in keeping.values()}
    return Program(
        steps, len(slots), fed_slots, fetched, constants, variables, read, written, set(targets)
    )


class _Slots:
    """Allocates slots: one for each symbol and for each version of a variable."""

    def __init__(self, fed: set[int], versions: dict[Block, _VariableVersions]) -> None:
        self._fed = fed
        self._versions = versions
        self._places: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, key: Hashable) -> int:
        return self._places.setdefault(key, len(self._places))

    def seen(self, symbol: Symbol, reader: Block | None) -> int:
        """The slot from which a block reads a symbol."""
        if holds_state(symbol.block) and id(symbol) not in self._fed:
            return self[symbol.block, self._versions[symbol.block].version_read_by(reader)]
        return self[id(symbol)]

    def step(self, block: Block, possibly_dead: bool) -> Step:
        if block.op.name == "Placeholder" and id(block.outputs[0]) not in self._fed:
            raise _not_fed(block)
        changes = [self._change(block, name) for name in block.op.writes]
        if block.op.initial_rng_state is not None:
            changes.append(StateUpdate(self[block, "kept"], self[block, "kept from now on"]))
        if not possibly_dead:  # what an op gives for a variable is its new value
            given_back = changes[: len(block.op.gives_back)]
            for symbol, change in zip(flat(block.outputs), given_back, strict=False):
                self._places[id(symbol)] = change.after
        takes = each_value(lambda symbol: self.seen(symbol, block), block.inputs)
        outputs = each_value(self._given, block.outputs)
        return Step(block, takes, outputs, changes, list(block.after), possibly_dead)

    def _change(self, block: Block, name: str) -> StateUpdate:
        variable = block.variables[name]
        at = self._versions[variable].writers[block]
        return StateUpdate(self[variable, at], self[variable, at + 1])

    def _given(self, symbol: Symbol) -> int:
        return self[(symbol, "not read") if id(symbol) in self._fed else id(symbol)]


def _read(steps: Sequence[Step], fetched: Sequence[int], variables: dict[int, Block]) -> set[int]:
    """The slots of variables that must have a value before the run."""
    read = {*fetched, *(slot for step in steps for slot in slots_read(step))} & variables.keys()
    # A variable that is only replaced keeps its value if that block dies, so it must have one.
    spared = {change.before for step in steps if step.may_be_dead for change in step.updates}
    spared |= {step.inputs[0] for step in steps if step.block.op.name == _ASKS}
    spared &= variables.keys()
    read |= {slot for slot in spared if variables[slot].initial is not None}
    _mark_readers_of_no_value(steps, spared - read)
    return read


def slots_read(step: Step) -> Iterator[int]:
    """The slots whose values a step reads: not those of variables that it replaces or only asks for."""
    op = step.block.op
    if op.name == _ASKS:
        return
    for pin, slots in zip(op.inputs, step.inputs, strict=True):
        if not (op.replaces and pin.name in op.writes):
            yield from flat((slots,))


def _needed(wanted: Sequence[Block], fed: set[int]) -> list[Block]:
    """Every block that the wanted ones are computed from or run after, in the order they were made."""
    found: dict[int, Block] = {}
    todo = list(wanted)
    while todo:
        block = todo.pop()
        if block.number not in found:
            found[block.number] = block
            todo += _predecessors(block, fed)
    return [found[number] for number in sorted(found)]


def missing_feeds(
    fetches: Sequence[Symbol], feeds: Iterable[Symbol], targets: Sequence[Block]
) -> list[Symbol]:
    """The placeholders that must be fed besides for these fetches and targets."""
    fed = {id(symbol) for symbol in feeds}
    blocks = _needed([*(s.block for s in fetches if id(s) not in fed), *targets], fed)
    placeholders = [block for block in blocks if block.op.name == "Placeholder"]
    return [b.outputs[0] for b in placeholders if id(b.outputs[0]) not in fed]


def initial_values(variable: Block) -> dict[Block, Symbol]:
    """The initial values of a variable and of those it depends on, in topological order; its own is last."""

    def further(block: Block) -> list[Block]:
        return _predecessors(block, set()) if block.initial is None else [block.initial.block]

    found = sorted({variable, *_ancestors(variable, further)}, key=lambda b: b.number)
    return {block: block.initial for block in found if block.initial is not None}


def _predecessors(block: Block, fed: set[int]) -> list[Block]:
    if holds_state(block):
        return []  # its initial value is no part of a run
    return [*(s.block for s in flat(block.inputs) if id(s) not in fed), *block.after]


def is_dead(block: Block, inputs: Sequence[bool], dead: set[Block]) -> bool:
    """Whether a block lies in a branch that is not taken, by the deadness of its inputs and of other blocks.

    Merge lives as long as one input does. Any other needs all that it takes and runs after.
    """
    if block.op.name == "Merge":
        return all(inputs)
    return any(inputs) or not dead.isdisjoint(block.after)


def _possibly_dead(blocks: Sequence[Block], fed: set[int]) -> set[Block]:
    """The blocks that may lie in a branch which is not taken."""
    possibly_dead: set[Block] = set()
    dead_symbols: set[int] = set()
    for block in blocks:
        dies = is_dead(block, [id(s) in dead_symbols for s in flat(block.inputs)], possibly_dead)
        if dies:
            possibly_dead.add(block)
        if dies or block.op.name == "Switch":
            dead_symbols.update(id(s) for s in flat(block.outputs) if id(s) not in fed)
    return possibly_dead


def _mark_readers_of_no_value(steps: Sequence[Step], empty: set[int]) -> None:
    """Marks steps that read a variable which has no value if the block that assigns it is dead."""
    for step in steps:
        if step.may_be_dead:
            empty |= {change.after for change in step.updates if change.before in empty}
        step.may_be_dead = step.may_be_dead or not empty.isdisjoint(slots_read(step))


def _not_fed(block: Block) -> OpError:
    error = OpError(
        "must be fed", op="Placeholder", arg="output", hint="Give it a value in `feeds`."
    )
    error.block = block.name
    return error


# -- variables ------------------------------------------------------------------------------------


MOST_PAIRS = 1 << 31
"""Blocks times blocks that write variables: which of them must run before which is a bit for each pair."""

Bits = dict[Block, int]
"""Bitsets: for each block a set of blocks as the bits of a number."""


@dataclass(eq=False)
class _VariableVersions:
    """The versions of a variable: one before the run, and one for each block that writes it."""

    variable: Block
    writers: dict[Block, int]
    """In the order in which they write, each with its place."""
    loaded: int
    """How many of them run before others read it."""
    first_bit: int
    """The bit of its first writer among all writers; the others follow."""
    before: Bits
    """For each block the writers that must run before it."""
    after: Bits
    """For each block the writers that must run after it."""

    def version_read_by(self, reader: Block | None) -> int:
        """The version that a block reads: how many writers have written by then."""
        if reader is None or not self.writers:
            return self.loaded
        if reader in self.writers:
            return self.writers[reader]
        earliest = self._own(self.before[reader]).bit_length()
        later = self._own(self.after[reader])
        latest = (later & -later).bit_length() - 1 if later else len(self.writers)
        return min(max(self.loaded, earliest), latest)

    def _own(self, bits: int) -> int:
        return (bits >> self.first_bit) & ((1 << len(self.writers)) - 1)


def _variable_versions(blocks: Sequence[Block], fed: set[int]) -> dict[Block, _VariableVersions]:
    writers: dict[Block, list[Block]] = {block: [] for block in blocks if holds_state(block)}
    for block in blocks:
        for name in block.op.writes:
            writers[block.variables[name]].append(block)
    count = sum(map(len, writers.values()))
    if not count:
        return {variable: _VariableVersions(variable, {}, 0, 0, {}, {}) for variable in writers}
    if count * len(blocks) > MOST_PAIRS:
        raise OpError(
            "has more writes to variables than can be put in order",
            op="Session",
            arg="run",
            got=described(f"{count} in {len(blocks)} blocks"),
            hint="Run parts of the graph one after another.",
        )
    first = {block: _predecessors(block, fed) for block in blocks}
    dependents: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block, needed in first.items():
        for each in needed:
            dependents[each].append(block)
    in_order = _topological_order(first, dependents)
    ordered, loaded = _writers_in_order(writers, in_order, first, fed)
    bits: Bits = dict.fromkeys(blocks, 0)
    first_bit = {}
    count = 0
    for variable, row in ordered.items():
        first_bit[variable] = count
        for block in row:
            bits[block] |= 1 << count
            count += 1
    before = _transitive_closure(in_order, first, bits)
    after = _transitive_closure(in_order[::-1], dependents, bits)
    return {
        v: _VariableVersions(
            v, {w: i for i, w in enumerate(row)}, loaded[v], first_bit[v], before, after
        )
        for v, row in ordered.items()
    }


def _topological_order(
    first: dict[Block, list[Block]], dependents: dict[Block, list[Block]]
) -> list[Block]:
    """The blocks in topological order."""
    waiting = {block: len(needed) for block, needed in first.items()}
    ordered = [block for block, count in waiting.items() if not count]
    for block in ordered:  # which grows meanwhile
        for dependent in dependents[block]:
            waiting[dependent] -= 1
            if not waiting[dependent]:
                ordered.append(dependent)
    if len(ordered) < len(waiting):
        raise _cycle_error([block for block, count in waiting.items() if count])
    return ordered


def _transitive_closure(
    in_order: Sequence[Block], following: Mapping[Block, list[Block]], bits: Bits
) -> Bits:
    """For each block the bits of all blocks that are reached from it: a transitive closure."""
    found: Bits = {}
    for block in in_order:
        reached = 0
        for other in following[block]:
            reached |= found[other] | bits[other]
        found[block] = reached
    return found


def _writers_in_order(
    writers: dict[Block, list[Block]],
    in_order: list[Block],
    first: dict[Block, list[Block]],
    fed: set[int],
) -> tuple[dict[Block, list[Block]], dict[Block, int]]:
    """The writers of each variable in the order in which they write, and how many of them load data."""
    everyone = dict.fromkeys(writer for row in writers.values() for writer in row)
    bits: Bits = dict.fromkeys(in_order, 0)
    bits |= {writer: 1 << i for i, writer in enumerate(everyone)}
    before = _transitive_closure(in_order, first, bits)
    own: Bits = dict.fromkeys(in_order, 0)
    own |= {variable: 1 << i for i, variable in enumerate(writers)}
    behind = _transitive_closure(in_order, first, own)

    def loads(writer: Block, variable: Block) -> bool:
        """Whether what it writes does not depend on the variable."""
        if not (writer.op.replaces or writer.op.fills):
            return False
        values = (s.block for s in _values_read(writer) if id(s) not in fed)
        return not any((behind[block] | own[block]) & own[variable] for block in values)

    ordered, loaded = {}, {}
    for variable, row in writers.items():
        loading = {writer for writer in row if loads(writer, variable)}
        key = {w: (w not in loading, not w.op.fills, w.number) for w in row}
        ordered[variable] = _by_key(key, before, bits)
        places = (i + 1 for i, w in enumerate(ordered[variable]) if w in loading)
        loaded[variable] = max(places, default=0)
    return ordered, loaded


def _by_key(key: Mapping[Block, tuple[Any, ...]], before: Bits, bits: Bits) -> list[Block]:
    """Blocks in topological order, by key where that leaves a choice."""
    left = sum(bits[block] for block in key)
    ready: list[tuple[tuple[Any, ...], Block]] = []
    waiting: dict[int, list[Block]] = {}

    def sort_in(block: Block) -> None:
        needed = before[block] & left
        if needed:  # it waits for one of them, and is looked at again when that is through
            waiting.setdefault(needed.bit_length(), []).append(block)
        else:
            heapq.heappush(ready, (key[block], block))

    for block in key:
        sort_in(block)
    ordered = []
    while ready:
        block = heapq.heappop(ready)[1]
        ordered.append(block)
        left &= ~bits[block]
        for other in waiting.pop(bits[block].bit_length(), ()):
            sort_in(other)
    return ordered


def _values_read(writer: Block) -> Iterator[Symbol]:
    """The inputs of a writer that are not the variables it writes."""
    for pin, value in zip(writer.op.inputs, writer.inputs, strict=True):
        if pin.name not in writer.op.writes:
            yield from flat((value,))


def _ancestors(start: Block, further: Callable[[Block], Iterable[Block]]) -> set[Block]:
    found: set[Block] = set()
    todo = list(further(start))
    while todo:
        block = todo.pop()
        if block not in found:
            found.add(block)
            todo += further(block)
    return found


# -- order ----------------------------------------------------------------------------------------


def _schedule(steps: list[Step]) -> list[Step]:
    """The steps in topological order, by age where that leaves a choice."""
    waiting, dependents = dependents_of(steps)
    ready = [(step.block.number, step) for step in steps if not waiting[step]]
    ordered = []
    while ready:
        _, step = heapq.heappop(ready)
        ordered.append(step)
        for dependent in dependents.get(step, []):
            waiting[dependent] -= 1
            if not waiting[dependent]:
                heapq.heappush(ready, (dependent.block.number, dependent))
    if len(ordered) < len(steps):
        raise _cycle_error([step.block for step in steps if waiting[step]])
    return ordered


def dependents_of(steps: Sequence[Step]) -> tuple[dict[Step, int], dict[Step, list[Step]]]:
    """For each step how many others it depends on, and which depend on it."""
    producer = {slot: step for step in steps for slot in step.defs}
    of_block = {step.block: step for step in steps}
    waiting: dict[Step, int] = {}
    dependents: dict[Step, list[Step]] = {}
    for step in steps:
        first = {producer[slot] for slot in step.uses if slot in producer}
        first |= {of_block[block] for block in step.after if block in of_block}
        waiting[step] = len(first)
        for each in first:
            dependents.setdefault(each, []).append(step)
    return waiting, dependents


def _cycle_error(blocks: Sequence[Block]) -> OpError:
    names = ", ".join(block.label for block in blocks[:5])
    return OpError(
        "blocks wait for each other",
        op="Session",
        arg="run",
        got=described(names),
        hint="Take one of the orders between them away.",
    )


def _mark_last_uses(steps: list[Step], kept: set[int]) -> None:
    """Has each slot dropped by the last step that uses it, but for those that are kept."""
    seen = set(kept)
    for step in reversed(steps):
        for slot in {*step.uses, *step.defs}:
            if slot not in seen:
                seen.add(slot)
                step.drops.append(slot)
