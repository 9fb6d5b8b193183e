"""Writes the steps of a program as Python source: a call for each block, behind an `if` in a branch."""

from __future__ import annotations

import builtins
import keyword
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from backblocks.errors import OpError
from backblocks.graph.program import Program, Step
from backblocks.graph.symbol import Block
from backblocks.ops._op import Value
from backblocks.ops._rng_state import seed_words
from backblocks.ops._values import flat
from backblocks.pages.builder import PageGraph
from backblocks.pages.dependency_order import topological_order
from backblocks.pages.from_graph import non_default_attrs
from backblocks.pages.page import Page
from backblocks.pages.python_source import (
    WIDTH,
    array_literal,
    assignment_lines,
    attribute_literal,
    call_lines,
    comment_text,
    indent,
    keywords,
)


@dataclass
class Branch:
    """Lines of one `if`: blocks that run only if the same values are not dead."""

    conditions: frozenset[str] = frozenset()
    otherwise: dict[str, list[str]] = field(default_factory=dict)
    """By expression, the names that have its value if the branch is not taken."""
    lines: list[str] = field(default_factory=list)


@dataclass
class StepWriter:
    """Writes steps, and keeps the Python expression of every value."""

    page: Page
    graph: PageGraph
    fetch: list[str]
    names: dict[str, Block] = field(default_factory=dict)
    """The names in use."""
    expressions: dict[int, str] = field(default_factory=dict)
    """Expressions of constants and variables, by the identity of their symbols."""
    slot_expressions: dict[int, str] = field(default_factory=dict)
    """Expressions of the slots of the program being written."""
    lines: list[str] = field(default_factory=list)
    branch: Branch = field(default_factory=Branch)
    conditions: dict[Any, frozenset[str]] = field(default_factory=dict)
    """For slots and blocks that may be dead, the conditions under which they are alive."""
    read: set[int] = field(default_factory=set)
    """The slots that are read by a step, fetched, or written to a variable."""
    stateful_ops: dict[Block, str] = field(default_factory=dict)
    """Names of ops that keep state from step to step."""
    commented: str = ""
    """The block of the page that the last comment was about."""

    prefix: ClassVar[str] = "raw_ops"

    def _write_steps(self, plan: Program, feeds: Any) -> None:
        self.slot_expressions = {
            slot: self.expressions[id(symbol)]
            for slot, symbol in (*plan.constants.items(), *zip(plan.fed, feeds, strict=True))
        }
        for slot, variable in plan.variables.items():
            if variable.op.initial_rng_state is None:
                self.slot_expressions[slot] = self.expressions[id(variable.outputs[0])]
        self.conditions = {}
        self.read = {*plan.fetched, *plan.written.values()}
        self.read.update(slot for step in plan.steps for slot in step.uses)
        for step in _handle_order(plan.steps):
            self._reject(step.block)
            conditions = self._conditions(step)
            if conditions != self.branch.conditions:
                self._end_branch()
                self.branch.conditions = conditions
            if conditions:
                self._write_in_branch(step, conditions)
            else:
                self._write_comment(step.block)
                self._write(step)
        self._end_branch()

    def _write_comment(self, block: Block) -> None:
        """Writes a comment before blocks whose page block is no op, or has an `about`."""
        owner = self.graph.page_block_of[block.name]
        if owner != self.commented:
            self.commented = owner
            on_page = self.page.blocks[owner]
            if on_page.about or block.name != owner:
                text = comment_text(f"{owner}: {on_page.about or on_page.op}")
                self.lines += ["# " + line for line in textwrap.wrap(text, WIDTH - 8)]

    # -- branches -----------------------------------------------------------------------------

    def _conditions(self, step: Step) -> frozenset[str]:
        """The conditions under which a step runs. A Merge always runs, and may give a dead value."""
        if step.block.op.name == "Merge":
            return frozenset()
        needed = [*flat(step.inputs), *step.after]
        return frozenset().union(*(self.conditions.get(each, frozenset()) for each in needed))

    def _write_in_branch(self, step: Step, conditions: frozenset[str]) -> None:
        """Writes a block into the current `if`; names that are read later get a value before it too."""
        block, branch = step.block, self.branch
        outside, self.lines = self.lines, branch.lines
        self._write_comment(block)
        self._write(step)
        changed = {change.after: change.before for change in step.updates}
        for i, slot in enumerate(step.defs):
            expression = self.slot_expressions.get(slot)
            otherwise = self.slot_expressions.get(changed[slot]) if slot in changed else "None"
            if slot not in self.read or expression is None or expression == otherwise:
                continue  # it is not read, or it is a queue, which is changed in place
            if slot in changed or self.names.get(expression) is not block:
                self.slot_expressions[slot] = name = self._name(block, f"now_{i}")
                self.lines.append(f"{name} = {expression}")
                expression = name
            branch.otherwise.setdefault(str(otherwise), []).append(expression)
            if slot not in changed and block.op.name != "Switch":
                self.conditions[slot] = conditions
        self.conditions[block] = conditions
        self.lines = outside

    def _end_branch(self) -> None:
        branch, self.branch = self.branch, Branch()
        if branch.lines:
            head = f"if {' and '.join(sorted(branch.conditions))}:"
            self.lines += [
                " = ".join([*names, expression]) for expression, names in branch.otherwise.items()
            ]
            self.lines += [head, *indent(branch.lines)]

    def _write_switch(self, step: Step) -> None:
        data, chosen = (self.slot_expressions[slot] for slot in step.inputs)
        names = [self._name(step.block, branch_name) for branch_name in ("false", "true")]
        self.lines.append(f"{', '.join(names)} = (None, {data}) if {chosen} else ({data}, None)")
        self._set_maybe_dead(step, names)

    def _write_merge(self, step: Step) -> None:
        names = [self._name(step.block), self._name(step.block, "index")]
        inputs = [self.slot_expressions[slot] for slot in flat(step.inputs)]
        self.lines += call_lines(f"{', '.join(names)} = merged(", ")", inputs)
        if step.may_be_dead:
            self._set_maybe_dead(step, names)
        else:
            self.slot_expressions |= dict(zip(step.defs, names, strict=True))

    def _set_maybe_dead(self, step: Step, names: Sequence[str]) -> None:
        for slot, name in zip(step.defs, names, strict=True):
            self.slot_expressions[slot] = name
            self.conditions[slot] = frozenset([f"{name} is not None"])

    # -- a block ------------------------------------------------------------------------------

    def _reject(self, block: Block) -> None:
        if any(pin.dtype == "resource" for pin in block.op.outputs) and not block.op.holds:
            raise not_scriptable(block, "gives a handle of something new", "Feed the data instead.")

    def _write(self, step: Step) -> None:
        op = step.block.op
        if op.name in _WRITERS:
            _WRITERS[op.name](self, step)
            return
        arguments = {
            pin.name: self._input_expression(slots)
            for pin, slots in zip(op.inputs, step.inputs, strict=True)
            if slots is not None
        }
        attrs = {name: attribute_literal(value) for name, value in self._attrs(step.block).items()}
        if op.writes and not _takes_handles(step.block):
            self._write_update(step, arguments, attrs)
            return
        head = self.stateful_ops.get(step.block, f"{self.prefix}.{op.name}")
        if not op.outputs:
            self.lines += call_lines(f"{head}(", ")", keywords(arguments | attrs))
            self._forward_handles(step)
            return
        name = self._name(step.block)
        self.lines += call_lines(f"{name} = {head}(", ")", keywords(arguments | attrs))
        for pin, slots in zip(op.outputs, step.outputs, strict=True):
            expression = name if len(op.outputs) == 1 else f"{name}.{pin.name}"
            self._set_outputs(slots, expression)
        self._forward_handles(step)

    def _forward_handles(self, step: Step) -> None:
        """Handles that a block changes keep their expressions: queues and readers change in place."""
        if _takes_handles(step.block):
            for change in step.updates:
                self.slot_expressions[change.after] = self.slot_expressions[change.before]

    def _write_assign(self, step: Step) -> None:
        for slot in step.defs:
            self.slot_expressions[slot] = self.slot_expressions[step.inputs[1]]

    def _write_constant(self, step: Step) -> None:
        """A constant with control dependencies; all others are defined before the steps."""
        self.slot_expressions[step.defs[0]] = name = self._name(step.block)
        self.lines += assignment_lines(name, array_literal(step.block.attrs["value"]))

    def _write_update(self, step: Step, arguments: dict[str, str], attrs: dict[str, str]) -> None:
        """Writes a block that updates variables. Its first outputs are their new values."""
        op = step.block.op
        head = f"{self.prefix}.{op.name}"
        if len(op.writes) > len(op.outputs):
            self._write_update_call(step, f"{head}.new_values(", keywords(arguments | attrs))
        else:
            name = self._name(step.block)
            self.lines += call_lines(f"{name} = {head}(", ")", keywords(arguments | attrs))
            self._set_updated(step, [name])

    def _write_update_call(self, step: Step, head: str, arguments: list[str]) -> None:
        """Writes a call that gives a list of the new values of all variables that a block updates."""
        names = [self._name(step.block)]
        names += [self._name(step.block, pin) for pin in step.block.op.writes[1:]]
        self.lines += call_lines(f"[{', '.join(names)}] = {head}", ")", arguments)
        self._set_updated(step, names)

    def _set_updated(self, step: Step, names: Sequence[str]) -> None:
        """Sets the expressions of updated variables. The first is also the output of the block."""
        for change, name in zip(step.updates, names, strict=True):
            self.slot_expressions[change.after] = name
        self.slot_expressions[step.defs[0]] = names[0]

    def _attrs(self, block: Block) -> dict[str, Any]:
        """The attributes to write. A block without a seed gets the one derived from the seed of the page."""
        attrs = non_default_attrs(block)
        seed = self.page.run.seed
        seeds = {"seed", "seed2"} & block.attrs.keys()
        if seed is not None and seeds and not any(block.attrs[name] for name in seeds):
            derived = seed_words(seed, block.name)
            attrs |= {"seed": _as_int64(derived[0]), "seed2": _as_int64(derived[1])}
        return attrs

    def _set_outputs(self, slots: Value, expression: str) -> None:
        if isinstance(slots, tuple):
            for i, slot in enumerate(slots):
                self.slot_expressions[slot] = f"{expression}[{i}]"
        else:
            self.slot_expressions[slots] = expression

    def _input_expression(self, slots: Value) -> str:
        if isinstance(slots, tuple):
            return f"[{', '.join(self.slot_expressions[slot] for slot in slots)}]"
        return self.slot_expressions[slots]

    def _name(self, block: Block, pin: str = "") -> str:
        """A Python name for an output of a block, not used for another block."""
        wanted = re.sub(r"\W", "_", f"{block.name}_{pin}" if pin else block.name, flags=re.ASCII)
        if wanted[0].isdigit() or keyword.iskeyword(wanted) or wanted in _RESERVED_NAMES:
            wanted = f"block_{wanted}"
        name, number = wanted, 1
        while self.names.setdefault(name, block) is not block:
            name, number = f"{wanted}_{number}", number + 1
        return name


_WRITERS = {
    "Assign": StepWriter._write_assign,
    "Const": StepWriter._write_constant,
    "Merge": StepWriter._write_merge,
    "Switch": StepWriter._write_switch,
}
"""Ops that a script does not call: plain Python does what they do."""

_RESERVED_NAMES = {*dir(builtins), "inf", "math", "name", "nan", "np", "raw_ops", "tf", "value"} | {
    "base64", "changed", "done", "merged", "ml_dtypes", "packed", "results", "zlib"
}  # fmt: skip
"""Names that a script uses for itself."""


def not_scriptable(block: Block, problem: str, hint: str) -> OpError:
    error = OpError(f"cannot be a line of a script: it {problem}", op=block.op.name, hint=hint)
    error.block = block.name
    return error


def _takes_handles(block: Block) -> bool:
    return any(pin.dtype == "resource" for pin in block.op.inputs)


def _handle_order(steps: list[Step]) -> list[Step]:
    """Steps in an order in which every read of a queue comes before a change in place of it."""
    if not any(_takes_handles(step.block) for step in steps):
        return steps
    by_name = {step.block.name: step for step in steps}
    producer = {slot: name for name, step in by_name.items() for slot in step.defs}
    updater = {c.before: name for name, step in by_name.items() for c in step.updates}
    needs: dict[str, set[str]] = {name: set() for name in by_name}
    for name, step in by_name.items():
        needs[name] |= {producer[slot] for slot in step.uses if slot in producer}
        needs[name] |= {first.name for first in step.after}
        for slot in step.uses:
            if slot in updater and updater[slot] != name and _takes_handles(step.block):
                needs[updater[slot]].add(name)
    ordered = topological_order(needs)
    for name in by_name.keys() - {*ordered}:
        hint = "Give the blocks an order with after."
        raise not_scriptable(by_name[name].block, "needs a queue as it was before a change", hint)
    return [by_name[name] for name in ordered]


def _as_int64(word: int) -> int:
    """The same 64 bits as a signed number, which attributes take."""
    return word - 2**64 if word >= 2**63 else word
