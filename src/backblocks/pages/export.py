"""Pages as scripts that a person can read and run: on `backblocks.raw_ops`, or on `tf.raw_ops`.

A script does what the run settings of the page say, with a line for each block. Variables are plain names:
what a block writes takes the place of the old value when the step is over, so that values are read and
written in the order in which a session does it. What the last step gave is in `results`, and is printed.
"""

from __future__ import annotations

import base64
import builtins
import json
import keyword
import re
import textwrap
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from backblocks.dtypes import NAMES
from backblocks.errors import OpError
from backblocks.graph.program import Program, Step, program
from backblocks.graph.symbol import Block, Symbol
from backblocks.ops._inputs import Array, as_typed
from backblocks.ops._kept import chance
from backblocks.ops._op import Value
from backblocks.pages.constants import in_words
from backblocks.pages.fields import Json
from backblocks.pages.from_graph import differing_attrs
from backblocks.pages.making import PageGraph
from backblocks.pages.page import Page

_WIDTH = 100
_SHORT = 40
"""Constants of so many letters are written where they are used."""


def to_python(page: Page) -> str:
    """A script on `backblocks.raw_ops`, of what the run settings fetch."""
    return _Script(page, page.graph(_wanted(page))).text()


def to_tensorflow(page: Page) -> str:
    """A script on `tf.raw_ops`, of what the run settings fetch."""
    return _TensorFlow(page, page.graph(_wanted(page))).text()


def _wanted(page: Page) -> list[str]:
    run = page.run
    if not run.fetch:
        hint = 'Write such as "run": {"fetch": ["loss:output"]}.'
        raise OpError("must say what to fetch", op="Page", arg="run.fetch", hint=hint)
    return [*run.fetch, *run.targets, *([run.until] if run.until else [])]


@dataclass
class _Script:
    """A script while it is written."""

    page: Page
    graph: PageGraph
    names: dict[str, Block] = field(default_factory=dict)
    """The names in use."""
    known: dict[int, str] = field(default_factory=dict)
    """The words for constants and variables, by the identity of their symbols."""
    values: dict[int, str] = field(default_factory=dict)
    """The words for the slots of the program that is written."""
    lines: list[str] = field(default_factory=list)
    going_on: dict[Block, str] = field(default_factory=dict)
    """Names of ops that go on from step to step."""
    about: str = ""
    """The block of the page that the last lines were for."""

    prefix: ClassVar[str] = "raw_ops"
    imports: ClassVar[tuple[str, ...]] = (
        "import numpy as np",
        "",
        "from backblocks import raw_ops",
    )

    # -- the parts of a script ------------------------------------------------------------

    def text(self) -> str:
        run = self.page.run
        feeds = {self.graph.symbol(name): value for name, value in self.page.feeds().items()}
        fetches = [self.graph.symbol(name) for name in run.fetch]
        until = [self.graph.symbol(run.until)] if run.until else []
        targets = [block for name in run.targets for block in self.graph.named(name)]
        plan = program([*fetches, *until], list(feeds), targets)
        for step in plan.steps:
            self._refuse(step)
        for symbol, value in feeds.items():
            self._define(symbol, _literal(np.asarray(as_typed(value, symbol.dtype))))
        self._constants(plan)
        for slot, variable in plan.variables.items():
            if variable.op.start_rule is None:
                self._variable(variable, is_read=slot in plan.read)
        if run.steps is not None or until:
            self._begin_what_goes_on(plan)
        before, self.lines = self.lines, []
        self._steps(plan, feeds)
        self.lines += self._end_of_step(plan)
        return self._whole(before, self.lines)

    def _whole(self, before: list[str], step: list[str]) -> str:
        run = self.page.run
        if run.steps is not None or run.until:
            head = "while True:" if run.steps is None else f"for _ in range({run.steps}):"
            step = [head, *(f"    {line}" if line else "" for line in step)]
        file = self.page.path.name if self.page.path else "a page"
        title = self.page.title or file
        body = "\n".join([*before, "", *step])
        helpers = [text for name, text in self.helpers().items() if f"{name}(" in body]
        others = ["import ml_dtypes"] if "ml_dtypes." in body else []
        about = _one_line(f"{title}: what {file} computes, as a script.")
        return "\n".join(
            [
                f'"""{about}"""',
                "",
                *_imports(body + "".join(helpers)),
                *others,
                *self.imports,
                "",
                *(f"\n{helper}\n" for helper in helpers),
                body,
                "",
                "for name, value in results.items():",
                "    print(name, np.asarray(value))",
                "",
            ]
        )

    def helpers(self) -> dict[str, str]:
        return {"packed": _PACKED}

    def _constants(self, plan: Program) -> None:
        for symbol in plan.constants.values():
            if id(symbol) not in self.known:
                words = _literal(symbol.block.attrs["value"])
                if len(words) <= _SHORT and symbol.block.name not in self.page.blocks:
                    self.known[id(symbol)] = words
                else:
                    self._define(symbol, words)

    def _define(self, symbol: Symbol, words: str) -> None:
        self.known[id(symbol)] = name = self._name(symbol.block)
        self.lines += _assignment(name, words)

    def _variable(self, variable: Block, is_read: bool) -> None:
        """Lines that give a variable its first value."""
        symbol: Symbol = variable.outputs[0]
        if id(symbol) in self.known:
            return
        if variable.initial is None:
            if is_read:
                hint = "Give it an initial value."
                raise _cannot(variable, "has no value at the start", hint)
            self._define(symbol, "None")
            return
        if (
            variable.initial.value is not None
            and variable.initial.block.name not in self.page.blocks
        ):
            self._define(symbol, _literal(variable.initial.value))
            return
        plan = program([variable.initial], [], [])
        for step in plan.steps:
            self._refuse(step)
        self._constants(plan)
        for other in plan.variables.values():
            if other.op.start_rule is None:
                self._variable(other, is_read=True)
        self._steps(plan, {})
        self._define(symbol, self.values[plan.fetched[0]])

    def _begin_what_goes_on(self, plan: Program) -> None:
        """Lines for ops that go on from step to step where they ended, such as random numbers."""
        for block in (step.block for step in plan.steps if step.block.op.start_rule is not None):
            self.going_on[block] = name = self._name(block, "op")
            self.lines.append(f"{name} = {self.prefix}.{block.op.name}.from_step_to_step()")

    def _steps(self, plan: Program, feeds: Any) -> None:
        self.values = {
            slot: self.known[id(symbol)]
            for slot, symbol in (*plan.constants.items(), *zip(plan.fed, feeds, strict=True))
        }
        for slot, variable in plan.variables.items():
            if variable.op.start_rule is None:
                self.values[slot] = self.known[id(variable.outputs[0])]
        for step in plan.steps:
            self._comment(step.block)
            self._write(step)

    def _comment(self, block: Block) -> None:
        """A line before blocks that stand for one of the page which is no op, or has something to say."""
        owner = self.graph.made_for[block.name]
        if owner != self.about:
            self.about = owner
            on_page = self.page.blocks[owner]
            if on_page.about or block.name != owner:
                words = _one_line(f"{owner}: {on_page.about or on_page.op}")
                self.lines += ["# " + line for line in textwrap.wrap(words, _WIDTH - 8)]

    def _end_of_step(self, plan: Program) -> list[str]:
        values = [self.values[slot] for slot in plan.fetched]
        fetched = zip(self.page.run.fetch, values, strict=False)
        lines = _call("results = {", "}", [f"{_source(name)}: {value}" for name, value in fetched])
        if self.page.run.until:
            lines.append(f"done = {values[-1]}")
        changed = [
            (self.known[id(variable.outputs[0])], self.values[slot])
            for variable, slot in plan.written.items()
            if variable.op.start_rule is None
        ]
        if changed:
            lines.append(f"{', '.join(n for n, _ in changed)} = {', '.join(v for _, v in changed)}")
        if self.page.run.until:
            lines += ["if done:", "    break"]
        return lines

    # -- a block ------------------------------------------------------------------------------

    def _refuse(self, step: Step) -> None:
        block, op = step.block, step.block.op
        if step.may_die or op.name in ("Switch", "Merge"):
            hint = "Choose between values with Select or SelectV2."
            raise _cannot(block, "may lie in a branch that is not taken", hint)
        if any(pin.dtype == "resource" for pin in (*op.inputs, *op.outputs)):
            raise _cannot(block, "works on a handle", "Feed the data instead.")

    def _write(self, step: Step) -> None:
        op = step.block.op
        if op.name == "Assign":
            self.values[step.changes[0].after] = self.values[step.takes[1]]
            return
        arguments = {
            pin.name: self._words(slots)
            for pin, slots in zip(op.inputs, step.takes, strict=True)
            if slots is not None
        }
        attrs = {name: _source(value) for name, value in self._attrs(step.block).items()}
        if op.writes:
            self._write_change(step, arguments, attrs)
            return
        head = self.going_on.get(step.block, f"{self.prefix}.{op.name}")
        if not op.outputs:
            self.lines += _call(f"{head}(", ")", _named(arguments | attrs))
            return
        name = self._name(step.block)
        self.lines += _call(f"{name} = {head}(", ")", _named(arguments | attrs))
        for pin, slots in zip(op.outputs, step.outputs, strict=True):
            words = name if len(op.outputs) == 1 else f"{name}.{pin.name}"
            self._give(slots, words)

    def _write_change(self, step: Step, arguments: dict[str, str], attrs: dict[str, str]) -> None:
        """A block that changes variables. Its first outputs are their new values."""
        op = step.block.op
        call = f"{self.prefix}.{op.name}"
        if len(op.writes) > len(op.outputs):
            self._write_changes(step, f"{call}.new_values(", _named(arguments | attrs))
        else:
            name = self._name(step.block)
            self.lines += _call(f"{name} = {call}(", ")", _named(arguments | attrs))
            self.values[step.changes[0].after] = name

    def _write_changes(self, step: Step, head: str, arguments: list[str]) -> None:
        """A call that gives a list of the new values of all variables that a block changes."""
        names = [self._name(step.block)]
        names += [self._name(step.block, pin) for pin in step.block.op.writes[1:]]
        self.lines += _call(f"[{', '.join(names)}] = {head}", ")", arguments)
        for change, name in zip(step.changes, names, strict=True):
            self.values[change.after] = name

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


_AS_TENSORFLOW = "tensorflow-cpu"
"""What attributes of ours are set to so that an op does as TensorFlow does."""

_SUMS = {"AssignAdd": "AddV2", "AssignSub": "Sub"}


class _TensorFlow(_Script):
    """As above, for TensorFlow, whose training ops work on variables only."""

    prefix = "tf.raw_ops"
    imports = ("import numpy as np", "import tensorflow as tf")

    def helpers(self) -> dict[str, str]:
        return {**super().helpers(), "changed": _CHANGED}

    def _begin_what_goes_on(self, plan: Program) -> None:
        """TensorFlow's ops go on by themselves."""

    def _attrs(self, block: Block) -> dict[str, Any]:
        attrs = super()._attrs(block)
        for name, value in attrs.items():
            if block.op.attrs[name].beyond_tensorflow and value != _AS_TENSORFLOW:
                raise _cannot(block, f"has {name}, which TensorFlow has not", "Leave it out.")
        return {name: value for name, value in attrs.items() if value != _AS_TENSORFLOW}

    def _write_change(self, step: Step, arguments: dict[str, str], attrs: dict[str, str]) -> None:
        op = step.block.op
        if op.name in _SUMS:
            name = self._name(step.block)
            head = f"{name} = {self.prefix}.{_SUMS[op.name]}("
            self.lines += _call(head, ")", _named(dict(zip("xy", arguments.values(), strict=True))))
            self.values[step.changes[0].after] = name
            return
        arguments = {{"ref": "resource"}.get(n, n): words for n, words in arguments.items()}
        variables = [{"ref": "resource"}.get(n, n) for n in op.writes]
        what = [f"{self.prefix}.Resource{op.name}", _source(variables)]
        self._write_changes(step, "changed(", [*what, *_named(arguments | attrs)])


_TAKEN = {*dir(builtins), "inf", "math", "name", "nan", "np", "raw_ops", "tf", "value"} | {
    "base64", "changed", "done", "ml_dtypes", "packed", "results", "zlib"
}  # fmt: skip
"""Names that a script has already."""

_PACKED = '''\
def packed(dtype, shape, text):
    """The array whose cells are compressed in a text."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype).reshape(shape)
'''

_CHANGED = '''\
def changed(op, variables, **arguments):
    """What an op that works on variables leaves in them."""
    held = {name: tf.Variable(arguments[name]) for name in variables}
    op(**{**arguments, **{name: variable.handle for name, variable in held.items()}})
    return [variable.read_value() for variable in held.values()]
'''


def _cannot(block: Block, problem: str, hint: str) -> OpError:
    error = OpError(f"cannot be a line of a script: it {problem}", op=block.op.name, hint=hint)
    error.block = block.name
    return error


def _signed(word: int) -> int:
    """The same 64 bits, as attributes have them."""
    return word - 2**64 if word >= 2**63 else word


def _one_line(words: str) -> str:
    """Words of a page for a comment, out of which they cannot get."""
    return " ".join(words.translate({ord("\\"): "/", ord('"'): "'", 0: " "}).split())


# -- Python's words ---------------------------------------------------------------------------------


def _named(arguments: dict[str, str]) -> list[str]:
    return [f"{name}={words}" for name, words in arguments.items()]


def _assignment(name: str, words: str) -> list[str]:
    if len(name) + len(words) < _WIDTH or not words.startswith("packed("):
        return [f"{name} = {words}"]
    head, _, text = words.removesuffix('")').partition(', "')
    lines = [f'    "{part}"' for part in textwrap.wrap(text, _WIDTH - 8)]
    return [f"{name} = {head},", *lines, ")"]


def _call(head: str, tail: str, parts: Sequence[str]) -> list[str]:
    """A call in one line, or with a line for each argument."""
    line = f"{head}{', '.join(parts)}{tail}"
    if len(line) <= _WIDTH - 4:
        return [line]
    return [head.rstrip(), *(f"    {part}," for part in parts), tail]


def _source(value: Any) -> str:
    """The value of an attribute."""
    if isinstance(value, np.ndarray):
        return _literal(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_source, value))}]"
    if isinstance(value, np.dtype):
        return f'"{NAMES[value]}"'
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _literal(array: Array) -> str:
    """A constant: its cells if they are few, else packed."""
    name = NAMES[array.dtype]
    dtype = {"bfloat16": "ml_dtypes.bfloat16", "string": "object"}.get(name, f'"{name}"')
    if array.size == 0:
        return f"np.zeros({list(array.shape)}, {dtype})"
    words = in_words(array)
    if not isinstance(words, dict):
        text = base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
        return f'packed({dtype}, {list(array.shape)}, "{text}")'
    cells = _cells(words["value"], array.dtype.kind)
    if array.ndim or name in ("bfloat16", "string"):
        return f"np.array({cells}, {dtype})"
    return f"np.{'bool_' if name == 'bool' else name}({cells})"


def _cells(value: Json, kind: str) -> str:
    if type(value) is list:
        return f"[{', '.join(_cells(each, kind) for each in value)}]"
    if kind == "O":
        cell = base64.b64decode(value["base64"]) if type(value) is dict else value.encode()
        return repr(cell)
    if kind == "c":
        return f'complex("{value}")'
    return value if type(value) is str else repr(value)


def _imports(text: str) -> list[str]:
    """What a script needs from the standard library, and then what else."""
    lines = [f"import {name}" for name in ("base64", "zlib") if f"{name}." in text]
    if re.search(r"\b(inf|nan)\b", text):
        lines.append("from math import inf, nan")
    return [*lines, *([""] if lines else [])]
