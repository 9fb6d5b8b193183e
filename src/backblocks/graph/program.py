"""What one run has to do, and in which order.

A program is made once for what is fetched, fed and targeted, and run as often as wanted. It says for
each block which values it takes. Values live in numbered slots.

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


class Version(NamedTuple):
    """Where a variable, or what a block keeps, is before a step changes it and after."""

    before: int
    after: int


@dataclass(eq=False)
class Step:
    """A block, and the slots of its values."""

    block: Block
    takes: list[Value]
    """For each input a slot; a tuple of them for a list, None for one that is left out."""
    outputs: list[Value]
    """For each output a slot, or a tuple of them.

    An output that is the new value of a variable has the slot of that, unless the step can die.
    """
    changes: list[Version]
    """For each variable that it writes, and for what it keeps: it stays the same if it does not run."""
    after: list[Block]
    """Blocks that run before it although nothing flows from them."""
    may_die: bool = False
    """Whether it may lie in a branch that is not taken, or read a variable that got no value in one."""
    drops: list[int] = field(default_factory=list)
    """Slots that nobody reads after it."""

    @cached_property
    def gives(self) -> list[int]:
        """Every slot that gets a value by it."""
        return list(dict.fromkeys((*flat(self.outputs), *(each.after for each in self.changes))))

    @property
    def uses(self) -> list[int]:
        """Every slot whose value it needs, be it to leave it as it is."""
        return [*flat(self.takes), *(each.before for each in self.changes)]


StepFunction = Callable[[list[Any]], None]
"""Computes a step in the slots."""
CompiledSteps = Sequence[tuple[Step, StepFunction]]


@dataclass(eq=False)
class Program:
    """Steps in an order in which they can run, and where to find and leave values."""

    steps: list[Step]
    slots: int
    fed: list[int]
    fetched: list[int]
    constants: dict[int, Symbol]
    variables: dict[int, Block]
    """Slots of variables, and of what other blocks keep, as they are before the run."""
    read: set[int]
    """Those of them that must have a value: somebody looks at it."""
    written: dict[Block, int]
    """Slots of variables as they are after it."""
    targets: set[Block]
    """Blocks that are to run although nobody wants their values."""

    @cached_property
    def writers(self) -> dict[Block, Block]:
        """For each variable that is written the block that does so last."""
        last = {change.after: step.block for step in self.steps for change in step.changes}
        return {variable: last[slot] for variable, slot in self.written.items()}


_ASKS = "IsVariableInitialized"


def is_constant(block: Block) -> bool:
    return block.op.name == "Const" and not block.after  # after a dead block it is dead


def build_program(
    fetches: Sequence[Symbol], feeds: Sequence[Symbol], targets: Sequence[Block]
) -> Program:
    """What has to run for these fetches and targets when these symbols are fed."""
    fed = {id(symbol) for symbol in feeds}
    blocks = _needed([*(s.block for s in fetches if id(s) not in fed), *targets], fed)
    rows = _rows_of_versions(blocks, fed)
    slots = _Slots(fed, rows)
    mortal = _mortal(blocks, fed)
    passive = {block for block in blocks if holds_state(block) or is_constant(block)}
    steps = [slots.step(block, block in mortal) for block in blocks if block not in passive]
    fetched = [slots.seen(symbol, None) for symbol in fetches]
    keeping = {s.block: s.changes[-1] for s in steps if s.block.op.initial_rng_state is not None}
    written = {v: slots[v, len(row.writers)] for v, row in rows.items() if row.writers}
    written |= {block: kept.after for block, kept in keeping.items()}
    variables = {slots[variable, 0]: variable for variable in rows}
    variables |= {kept.before: block for block, kept in keeping.items()}
    constants = {
        slots[id(symbol)]: symbol
        for block in passive
        if is_constant(block)
        for symbol in flat(block.outputs)
        if id(symbol) not in fed
    }
    steps = _sorted(steps)
    _drop(steps, {*fetched, *written.values()})
    fed_slots = [slots[id(symbol)] for symbol in feeds]
    read = _read(steps, fetched, variables) | {kept.before for kept in keeping.values()}
    return Program(
        steps, len(slots), fed_slots, fetched, constants, variables, read, written, set(targets)
    )


class _Slots:
    """Gives out slots: one for each symbol and for each version of a variable."""

    def __init__(self, fed: set[int], rows: dict[Block, _Row]) -> None:
        self._fed = fed
        self._rows = rows
        self._places: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, key: Hashable) -> int:
        return self._places.setdefault(key, len(self._places))

    def seen(self, symbol: Symbol, reader: Block | None) -> int:
        """Where a block finds the value of a symbol."""
        if holds_state(symbol.block) and id(symbol) not in self._fed:
            return self[symbol.block, self._rows[symbol.block].seen_by(reader)]
        return self[id(symbol)]

    def step(self, block: Block, mortal: bool) -> Step:
        if block.op.name == "Placeholder" and id(block.outputs[0]) not in self._fed:
            raise _unfed(block)
        changes = [self._change(block, name) for name in block.op.writes]
        if block.op.initial_rng_state is not None:
            changes.append(Version(self[block, "kept"], self[block, "kept from now on"]))
        if not mortal:  # what an op gives for a variable is its new value
            given_back = changes[: len(block.op.gives_back)]
            for symbol, change in zip(flat(block.outputs), given_back, strict=False):
                self._places[id(symbol)] = change.after
        takes = each_value(lambda symbol: self.seen(symbol, block), block.inputs)
        outputs = each_value(self._given, block.outputs)
        return Step(block, takes, outputs, changes, list(block.after), mortal)

    def _change(self, block: Block, name: str) -> Version:
        variable = block.variables[name]
        at = self._rows[variable].writers[block]
        return Version(self[variable, at], self[variable, at + 1])

    def _given(self, symbol: Symbol) -> int:
        return self[(symbol, "not read") if id(symbol) in self._fed else id(symbol)]


def _read(steps: Sequence[Step], fetched: Sequence[int], variables: dict[int, Block]) -> set[int]:
    """The slots of variables that must have a value before the run."""
    read = {*fetched, *(slot for step in steps for slot in looked_at(step))} & variables.keys()
    # A variable that is only replaced keeps its value if that block dies, so it must have one.
    spared = {change.before for step in steps if step.may_die for change in step.changes}
    spared |= {step.takes[0] for step in steps if step.block.op.name == _ASKS}
    spared &= variables.keys()
    read |= {slot for slot in spared if variables[slot].initial is not None}
    _watch_for_no_value(steps, spared - read)
    return read


def looked_at(step: Step) -> Iterator[int]:
    """The slots whose values matter to a step: not those of variables that it only replaces or asks for."""
    op = step.block.op
    if op.name == _ASKS:
        return
    for pin, slots in zip(op.inputs, step.takes, strict=True):
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
            todo += _behind(block, fed)
    return [found[number] for number in sorted(found)]


def unfed(
    fetches: Sequence[Symbol], feeds: Iterable[Symbol], targets: Sequence[Block]
) -> list[Symbol]:
    """What else has to be fed for these fetches and targets."""
    fed = {id(symbol) for symbol in feeds}
    blocks = _needed([*(s.block for s in fetches if id(s) not in fed), *targets], fed)
    placeholders = [block for block in blocks if block.op.name == "Placeholder"]
    return [b.outputs[0] for b in placeholders if id(b.outputs[0]) not in fed]


def starts(variable: Block) -> dict[Block, Symbol]:
    """What a variable and those behind it start from, in the order to compute it in; itself is last."""

    def further(block: Block) -> list[Block]:
        return _behind(block, set()) if block.initial is None else [block.initial.block]

    found = sorted({variable, *_reached(variable, further)}, key=lambda b: b.number)
    return {block: block.initial for block in found if block.initial is not None}


def _behind(block: Block, fed: set[int]) -> list[Block]:
    if holds_state(block):
        return []  # its initial value is no part of a run
    return [*(s.block for s in flat(block.inputs) if id(s) not in fed), *block.after]


def is_dead(block: Block, inputs: Sequence[bool], dead: set[Block]) -> bool:
    """Whether a block is dead, by which of its inputs are and which blocks.

    Merge lives as long as one input does. Any other needs all that it takes and runs after.
    """
    if block.op.name == "Merge":
        return all(inputs)
    return any(inputs) or not dead.isdisjoint(block.after)


def _mortal(blocks: Sequence[Block], fed: set[int]) -> set[Block]:
    """The blocks that may lie in a branch which is not taken."""
    mortal: set[Block] = set()
    perishable: set[int] = set()
    for block in blocks:
        dies = is_dead(block, [id(s) in perishable for s in flat(block.inputs)], mortal)
        if dies:
            mortal.add(block)
        if dies or block.op.name == "Switch":
            perishable.update(id(s) for s in flat(block.outputs) if id(s) not in fed)
    return mortal


def _watch_for_no_value(steps: Sequence[Step], empty: set[int]) -> None:
    """Marks what reads a variable that has no value, unless a block which may die gives it one."""
    for step in steps:
        if step.may_die:
            empty |= {change.after for change in step.changes if change.before in empty}
        step.may_die = step.may_die or not empty.isdisjoint(looked_at(step))


def _unfed(block: Block) -> OpError:
    error = OpError(
        "must be fed", op="Placeholder", arg="output", hint="Give it a value in `feeds`."
    )
    error.block = block.name
    return error


# -- variables ------------------------------------------------------------------------------------


MOST_PAIRS = 1 << 31
"""Blocks times blocks that write variables: which of them must run before which is a bit for each pair."""

Bits = dict[Block, int]
"""Sets of blocks as the bits of a number: one for each block."""


@dataclass(eq=False)
class _Row:
    """A variable, and the blocks that write it in the order in which they do."""

    variable: Block
    writers: dict[Block, int]
    """In order, each with its place."""
    loaded: int
    """How many of them run before others read it."""
    first_bit: int
    """That of its first writer among all writers; the others follow."""
    before: Bits
    """For each block the writers that must run before it."""
    after: Bits
    """For each block the writers that must run after it."""

    def seen_by(self, reader: Block | None) -> int:
        """How many of the writers have written when `reader` reads."""
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


def _rows_of_versions(blocks: Sequence[Block], fed: set[int]) -> dict[Block, _Row]:
    writers: dict[Block, list[Block]] = {block: [] for block in blocks if holds_state(block)}
    for block in blocks:
        for name in block.op.writes:
            writers[block.variables[name]].append(block)
    count = sum(map(len, writers.values()))
    if not count:
        return {variable: _Row(variable, {}, 0, 0, {}, {}) for variable in writers}
    if count * len(blocks) > MOST_PAIRS:
        raise OpError(
            "has more writes to variables than can be put in order",
            op="Session",
            arg="run",
            got=described(f"{count} in {len(blocks)} blocks"),
            hint="Run parts of the graph one after another.",
        )
    first = {block: _behind(block, fed) for block in blocks}
    followers: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block, needed in first.items():
        for each in needed:
            followers[each].append(block)
    in_turn = _in_turn(first, followers)
    ordered, loaded = _writers_in_order(writers, in_turn, first, fed)
    bits: Bits = dict.fromkeys(blocks, 0)
    first_bit = {}
    count = 0
    for variable, row in ordered.items():
        first_bit[variable] = count
        for block in row:
            bits[block] |= 1 << count
            count += 1
    before = _gathered(in_turn, first, bits)
    after = _gathered(in_turn[::-1], followers, bits)
    return {
        v: _Row(v, {w: i for i, w in enumerate(row)}, loaded[v], first_bit[v], before, after)
        for v, row in ordered.items()
    }


def _in_turn(first: dict[Block, list[Block]], followers: dict[Block, list[Block]]) -> list[Block]:
    """The blocks so that each comes after those it needs."""
    waiting = {block: len(needed) for block, needed in first.items()}
    ordered = [block for block, count in waiting.items() if not count]
    for block in ordered:  # which grows meanwhile
        for follower in followers[block]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ordered.append(follower)
    if len(ordered) < len(waiting):
        raise _circle([block for block, count in waiting.items() if count])
    return ordered


def _gathered(in_turn: Sequence[Block], following: Mapping[Block, list[Block]], bits: Bits) -> Bits:
    """For each block the bits of all blocks that are reached from it: a transitive closure."""
    found: Bits = {}
    for block in in_turn:
        reached = 0
        for other in following[block]:
            reached |= found[other] | bits[other]
        found[block] = reached
    return found


def _writers_in_order(
    writers: dict[Block, list[Block]],
    in_turn: list[Block],
    first: dict[Block, list[Block]],
    fed: set[int],
) -> tuple[dict[Block, list[Block]], dict[Block, int]]:
    """The writers of each variable in the order in which they write, and how many of them load data."""
    everyone = dict.fromkeys(writer for row in writers.values() for writer in row)
    bits: Bits = dict.fromkeys(in_turn, 0)
    bits |= {writer: 1 << i for i, writer in enumerate(everyone)}
    before = _gathered(in_turn, first, bits)
    own: Bits = dict.fromkeys(in_turn, 0)
    own |= {variable: 1 << i for i, variable in enumerate(writers)}
    behind = _gathered(in_turn, first, own)

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
    """Blocks so that each comes after those which must run before it, else by key."""
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
    """What it takes besides the variables that it writes."""
    for pin, value in zip(writer.op.inputs, writer.inputs, strict=True):
        if pin.name not in writer.op.writes:
            yield from flat((value,))


def _reached(start: Block, further: Callable[[Block], Iterable[Block]]) -> set[Block]:
    found: set[Block] = set()
    todo = list(further(start))
    while todo:
        block = todo.pop()
        if block not in found:
            found.add(block)
            todo += further(block)
    return found


# -- order ----------------------------------------------------------------------------------------


def _sorted(steps: list[Step]) -> list[Step]:
    """The steps so that each comes after those it takes values from or runs after; else as made."""
    waiting, followers = followers_of(steps)
    ready = [(step.block.number, step) for step in steps if not waiting[step]]
    ordered = []
    while ready:
        _, step = heapq.heappop(ready)
        ordered.append(step)
        for follower in followers.get(step, []):
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, (follower.block.number, follower))
    if len(ordered) < len(steps):
        raise _circle([step.block for step in steps if waiting[step]])
    return ordered


def followers_of(steps: Sequence[Step]) -> tuple[dict[Step, int], dict[Step, list[Step]]]:
    """For how many of these steps each of them waits, and which wait for it."""
    giver = {slot: step for step in steps for slot in step.gives}
    of_block = {step.block: step for step in steps}
    waiting: dict[Step, int] = {}
    followers: dict[Step, list[Step]] = {}
    for step in steps:
        first = {giver[slot] for slot in step.uses if slot in giver}
        first |= {of_block[block] for block in step.after if block in of_block}
        waiting[step] = len(first)
        for each in first:
            followers.setdefault(each, []).append(step)
    return waiting, followers


def _circle(blocks: Sequence[Block]) -> OpError:
    names = ", ".join(block.label for block in blocks[:5])
    return OpError(
        "blocks wait for each other",
        op="Session",
        arg="run",
        got=described(names),
        hint="Take one of the orders between them away.",
    )


def _drop(steps: list[Step], kept: set[int]) -> None:
    seen = set(kept)
    for step in reversed(steps):
        for slot in {*step.uses, *step.gives}:
            if slot not in seen:
                seen.add(slot)
                step.drops.append(slot)
