"""The steps of a program as lines of Python: a call for each block, and an `if` before those in a branch."""

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
from backblocks.ops._kept import chance
from backblocks.ops._op import Value
from backblocks.ops._values import flat
from backblocks.pages.from_graph import differing_attrs
from backblocks.pages.making import PageGraph
from backblocks.pages.order import in_order
from backblocks.pages.page import Page
from backblocks.pages.python_text import (
    WIDTH,
    assignment,
    call,
    indented,
    literal,
    named,
    one_line,
    source,
)


@dataclass
class Branch:
    """Lines that run only if some values are there."""

    tests: frozenset[str] = frozenset()
    otherwise: dict[str, list[str]] = field(default_factory=dict)
    """What names stand for if they do not run."""
    lines: list[str] = field(default_factory=list)


@dataclass
class Steps:
    """Steps while they are written."""

    page: Page
    graph: PageGraph
    fetch: list[str]
    names: dict[str, Block] = field(default_factory=dict)
    """The names in use."""
    known: dict[int, str] = field(default_factory=dict)
    """The words for constants and variables, by the identity of their symbols."""
    values: dict[int, str] = field(default_factory=dict)
    """The words for the slots of the program that is written."""
    lines: list[str] = field(default_factory=list)
    branch: Branch = field(default_factory=Branch)
    tests: dict[Any, frozenset[str]] = field(default_factory=dict)
    """For slots and blocks that may be dead, what holds if they are not."""
    read: set[int] = field(default_factory=set)
    """The slots that somebody reads."""
    going_on: dict[Block, str] = field(default_factory=dict)
    """Names of ops that go on from step to step."""
    about: str = ""
    """The block of the page that the last lines were for."""

    prefix: ClassVar[str] = "raw_ops"

    def _steps(self, plan: Program, feeds: Any) -> None:
        self.values = {
            slot: self.known[id(symbol)]
            for slot, symbol in (*plan.constants.items(), *zip(plan.fed, feeds, strict=True))
        }
        for slot, variable in plan.variables.items():
            if variable.op.start_rule is None:
                self.values[slot] = self.known[id(variable.outputs[0])]
        self.tests = {}
        self.read = {*plan.fetched, *plan.written.values()}
        self.read.update(slot for step in plan.steps for slot in step.uses)
        for step in _ordered(plan.steps):
            self._refuse(step.block)
            tests = self._tests(step)
            if tests != self.branch.tests:
                self._end_branch()
                self.branch.tests = tests
            if tests:
                self._write_in_branch(step, tests)
            else:
                self._comment(step.block)
                self._write(step)
        self._end_branch()

    def _comment(self, block: Block) -> None:
        """A line before blocks that stand for one of the page which is no op, or has something to say."""
        owner = self.graph.made_for[block.name]
        if owner != self.about:
            self.about = owner
            on_page = self.page.blocks[owner]
            if on_page.about or block.name != owner:
                words = one_line(f"{owner}: {on_page.about or on_page.op}")
                self.lines += ["# " + line for line in textwrap.wrap(words, WIDTH - 8)]

    # -- branches -----------------------------------------------------------------------------

    def _tests(self, step: Step) -> frozenset[str]:
        """What holds if a step runs. A Merge runs anyway, and says itself whether it gives something."""
        if step.block.op.name == "Merge":
            return frozenset()
        needed = [*flat(step.takes), *step.after]
        return frozenset().union(*(self.tests.get(each, frozenset()) for each in needed))

    def _write_in_branch(self, step: Step, tests: frozenset[str]) -> None:
        """Writes a block behind an `if`, and what it gives under names that are there without it too."""
        block, branch = step.block, self.branch
        outside, self.lines = self.lines, branch.lines
        self._comment(block)
        self._write(step)
        changed = {change.after: change.before for change in step.changes}
        for i, slot in enumerate(step.gives):
            words = self.values.get(slot)
            otherwise = self.values.get(changed[slot]) if slot in changed else "None"
            if slot not in self.read or words is None or words == otherwise:
                continue  # nobody needs it, or it is a queue, which is changed in place
            if slot in changed or self.names.get(words) is not block:
                self.values[slot] = name = self._name(block, f"now_{i}")
                self.lines.append(f"{name} = {words}")
                words = name
            branch.otherwise.setdefault(str(otherwise), []).append(words)
            if slot not in changed and block.op.name != "Switch":
                self.tests[slot] = tests
        self.tests[block] = tests
        self.lines = outside

    def _end_branch(self) -> None:
        branch, self.branch = self.branch, Branch()
        if branch.lines:
            head = f"if {' and '.join(sorted(branch.tests))}:"
            self.lines += [" = ".join([*names, words]) for words, names in branch.otherwise.items()]
            self.lines += [head, *indented(branch.lines)]

    def _write_switch(self, step: Step) -> None:
        data, chosen = (self.values[slot] for slot in step.takes)
        names = [self._name(step.block, way) for way in ("false", "true")]
        self.lines.append(f"{', '.join(names)} = (None, {data}) if {chosen} else ({data}, None)")
        self._give_or_not(step, names)

    def _write_merge(self, step: Step) -> None:
        names = [self._name(step.block), self._name(step.block, "index")]
        inputs = [self.values[slot] for slot in flat(step.takes)]
        self.lines += call(f"{', '.join(names)} = merged(", ")", inputs)
        if step.may_die:
            self._give_or_not(step, names)
        else:
            self.values |= dict(zip(step.gives, names, strict=True))

    def _give_or_not(self, step: Step, names: Sequence[str]) -> None:
        for slot, name in zip(step.gives, names, strict=True):
            self.values[slot] = name
            self.tests[slot] = frozenset([f"{name} is not None"])

    # -- a block ------------------------------------------------------------------------------

    def _refuse(self, block: Block) -> None:
        if any(pin.dtype == "resource" for pin in block.op.outputs) and not block.op.holds:
            raise cannot(block, "gives a handle of something new", "Feed the data instead.")

    def _write(self, step: Step) -> None:
        op = step.block.op
        if op.name in _WRITERS:
            _WRITERS[op.name](self, step)
            return
        arguments = {
            pin.name: self._words(slots)
            for pin, slots in zip(op.inputs, step.takes, strict=True)
            if slots is not None
        }
        attrs = {name: source(value) for name, value in self._attrs(step.block).items()}
        if op.writes and not _works_on_handles(step.block):
            self._write_change(step, arguments, attrs)
            return
        head = self.going_on.get(step.block, f"{self.prefix}.{op.name}")
        if not op.outputs:
            self.lines += call(f"{head}(", ")", named(arguments | attrs))
            self._keep_handles(step)
            return
        name = self._name(step.block)
        self.lines += call(f"{name} = {head}(", ")", named(arguments | attrs))
        for pin, slots in zip(op.outputs, step.outputs, strict=True):
            words = name if len(op.outputs) == 1 else f"{name}.{pin.name}"
            self._give(slots, words)
        self._keep_handles(step)

    def _keep_handles(self, step: Step) -> None:
        """Those that a block changes stand for the same queue or reader as before."""
        if _works_on_handles(step.block):
            for change in step.changes:
                self.values[change.after] = self.values[change.before]

    def _write_assign(self, step: Step) -> None:
        for slot in step.gives:
            self.values[slot] = self.values[step.takes[1]]

    def _write_constant(self, step: Step) -> None:
        """One that runs after others; all the rest stand before the steps."""
        self.values[step.gives[0]] = name = self._name(step.block)
        self.lines += assignment(name, literal(step.block.attrs["value"]))

    def _write_change(self, step: Step, arguments: dict[str, str], attrs: dict[str, str]) -> None:
        """A block that changes variables. Its first outputs are their new values."""
        op = step.block.op
        head = f"{self.prefix}.{op.name}"
        if len(op.writes) > len(op.outputs):
            self._write_changes(step, f"{head}.new_values(", named(arguments | attrs))
        else:
            name = self._name(step.block)
            self.lines += call(f"{name} = {head}(", ")", named(arguments | attrs))
            self._change(step, [name])

    def _write_changes(self, step: Step, head: str, arguments: list[str]) -> None:
        """A call that gives a list of the new values of all variables that a block changes."""
        names = [self._name(step.block)]
        names += [self._name(step.block, pin) for pin in step.block.op.writes[1:]]
        self.lines += call(f"[{', '.join(names)}] = {head}", ")", arguments)
        self._change(step, names)

    def _change(self, step: Step, names: Sequence[str]) -> None:
        """Names the new values of variables. The first is also what the block gives."""
        for change, name in zip(step.changes, names, strict=True):
            self.values[change.after] = name
        self.values[step.gives[0]] = names[0]

    def _attrs(self, block: Block) -> dict[str, Any]:
        """The attributes to be written. A block without a seed has the one that the page gives it."""
        attrs = differing_attrs(block)
        seed = self.page.run.seed
        seeds = {"seed", "seed2"} & block.attrs.keys()
        if seed is not None and seeds and not any(block.attrs[name] for name in seeds):
            words = chance(seed, block.name)
            attrs |= {"seed": _signed(words[0]), "seed2": _signed(words[1])}
        return attrs

    def _give(self, slots: Value, words: str) -> None:
        if isinstance(slots, tuple):
            for i, slot in enumerate(slots):
                self.values[slot] = f"{words}[{i}]"
        else:
            self.values[slots] = words

    def _words(self, slots: Value) -> str:
        if isinstance(slots, tuple):
            return f"[{', '.join(self.values[slot] for slot in slots)}]"
        return self.values[slots]

    def _name(self, block: Block, pin: str = "") -> str:
        """A name for what a block gives."""
        wanted = re.sub(r"\W", "_", f"{block.name}_{pin}" if pin else block.name, flags=re.ASCII)
        if wanted[0].isdigit() or keyword.iskeyword(wanted) or wanted in _TAKEN:
            wanted = f"block_{wanted}"
        name, number = wanted, 1
        while self.names.setdefault(name, block) is not block:
            name, number = f"{wanted}_{number}", number + 1
        return name


_WRITERS = {
    "Assign": Steps._write_assign,
    "Const": Steps._write_constant,
    "Merge": Steps._write_merge,
    "Switch": Steps._write_switch,
}
"""Blocks that are no calls in a script."""

_TAKEN = {*dir(builtins), "inf", "math", "name", "nan", "np", "raw_ops", "tf", "value"} | {
    "base64", "changed", "done", "merged", "ml_dtypes", "packed", "results", "zlib"
}  # fmt: skip
"""Names that a script has already."""


def cannot(block: Block, problem: str, hint: str) -> OpError:
    error = OpError(f"cannot be a line of a script: it {problem}", op=block.op.name, hint=hint)
    error.block = block.name
    return error


def _works_on_handles(block: Block) -> bool:
    return any(pin.dtype == "resource" for pin in block.op.inputs)


def _ordered(steps: list[Step]) -> list[Step]:
    """Steps so that a queue, which is changed where it is, is looked at before others change it."""
    if not any(_works_on_handles(step.block) for step in steps):
        return steps
    by_name = {step.block.name: step for step in steps}
    giver = {slot: name for name, step in by_name.items() for slot in step.gives}
    changer = {c.before: name for name, step in by_name.items() for c in step.changes}
    needs: dict[str, set[str]] = {name: set() for name in by_name}
    for name, step in by_name.items():
        needs[name] |= {giver[slot] for slot in step.uses if slot in giver}
        needs[name] |= {first.name for first in step.after}
        for slot in step.uses:
            if slot in changer and changer[slot] != name and _works_on_handles(step.block):
                needs[changer[slot]].add(name)
    ordered = in_order(needs)
    for name in by_name.keys() - {*ordered}:
        hint = "Give the blocks an order with after."
        raise cannot(by_name[name].block, "needs a queue as it was before a change", hint)
    return [by_name[name] for name in ordered]


def _signed(word: int) -> int:
    """The same 64 bits, as attributes have them."""
    return word - 2**64 if word >= 2**63 else word
