"""Pages as scripts that a person can read and run: on `backblocks.raw_ops`, or on `tf.raw_ops`.

A script does what the run settings of the page say, with a line for each block. Variables are plain names:
what a block writes takes the place of the old value when the step is over, so that values are read and
written in the order in which a session does it. What the last step gave is in `results`, and is printed.
A value in a branch that is not taken is None, and blocks that need it stand behind an `if`. Queues and
readers are changed where they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from backblocks.graph.program import Program, Step, program
from backblocks.graph.symbol import Block, Symbol
from backblocks.ops._handles import RESOURCE
from backblocks.ops._inputs import as_typed
from backblocks.pages.making import PageGraph
from backblocks.pages.page import Page
from backblocks.pages.python_text import (
    assignment,
    call,
    imports_for,
    indented,
    literal,
    named,
    one_line,
    source,
)
from backblocks.pages.script_steps import Steps, cannot

_SHORT = 40
"""Constants of so many letters are written where they are used."""


def to_python(page: Page) -> str:
    """A script on `backblocks.raw_ops`, of what a run gives."""
    graph, fetch = _wanted(page)
    return _Script(page, graph, fetch=fetch).text()


def to_tensorflow(page: Page) -> str:
    """A script on `tf.raw_ops`, of what a run gives."""
    graph, fetch = _wanted(page)
    return _TensorFlow(page, graph, fetch=fetch).text()


def _wanted(page: Page) -> tuple[PageGraph, list[str]]:
    """The graph, and the outputs that the settings fetch; else what monitors show, or what nobody reads."""
    run = page.run
    shown = dict.fromkeys(each.pin for monitor in page.monitors.values() for each in monitor.shows)
    fetch = run.fetch or list(shown)
    wanted = [*fetch, *run.targets, *([run.until] if run.until else [])]
    graph = page.graph(wanted or None)
    return graph, fetch if wanted else graph.ends()


@dataclass
class _Script(Steps):
    """A script while it is written."""

    fetch: list[str] = field(default_factory=list)

    imports: ClassVar[tuple[str, ...]] = (
        "import numpy as np",
        "",
        "from backblocks import raw_ops",
    )

    def text(self) -> str:
        run = self.page.run
        feeds = {self.graph.symbol(name): value for name, value in self.page.feeds().items()}
        fetches = [self.graph.symbol(name) for name in self.fetch]
        until = [self.graph.symbol(run.until)] if run.until else []
        targets = [block for name in run.targets for block in self.graph.named(name)]
        plan = program([*fetches, *until], list(feeds), targets)
        for symbol, value in feeds.items():
            self._define(symbol, literal(np.asarray(as_typed(value, symbol.dtype))))
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
            step = [head, *indented(step)]
            if run.steps == 0:
                step = ["results = {}", *step]
        file = self.page.path.name if self.page.path else "a page"
        title = self.page.title or file
        body = "\n".join([*before, "", *step])
        helpers = [text for name, text in self.helpers().items() if f"{name}(" in body]
        others = ["import ml_dtypes"] if "ml_dtypes." in body else []
        about = one_line(f"{title}: what {file} computes, as a script.")
        return "\n".join(
            [
                f'"""{about}"""',
                "",
                *imports_for(body + "".join(helpers)),
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
        return {"packed": _PACKED, "merged": _MERGED}

    def _constants(self, plan: Program) -> None:
        for symbol in plan.constants.values():
            if id(symbol) not in self.known:
                words = literal(symbol.block.attrs["value"])
                if len(words) <= _SHORT and symbol.block.name not in self.page.blocks:
                    self.known[id(symbol)] = words
                else:
                    self._define(symbol, words)

    def _define(self, symbol: Symbol, words: str) -> None:
        self.known[id(symbol)] = name = self._name(symbol.block)
        self.lines += assignment(name, words)

    def _variable(self, variable: Block, is_read: bool) -> None:
        """Lines that give a variable its first value."""
        symbol: Symbol = variable.outputs[0]
        if id(symbol) in self.known:
            return
        if symbol.dtype == RESOURCE:
            self._refuse(variable)
            self.known[id(symbol)] = name = self._name(variable)
            attrs = {key: source(value) for key, value in self._attrs(variable).items()}
            self.lines += call(f"{name} = {self.prefix}.{variable.op.name}(", ")", named(attrs))
            return
        if variable.initial is None:
            if is_read:
                hint = "Give it an initial value."
                raise cannot(variable, "has no value at the start", hint)
            self._define(symbol, "None")
            return
        if (
            variable.initial.value is not None
            and variable.initial.block.name not in self.page.blocks
        ):
            self._define(symbol, literal(variable.initial.value))
            return
        plan = program([variable.initial], [], [])
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

    def _end_of_step(self, plan: Program) -> list[str]:
        values = [self.values[slot] for slot in plan.fetched]
        fetched = zip(self.fetch, values, strict=False)
        lines = []
        for name, slot in zip([*self.fetch, self.page.run.until], plan.fetched, strict=False):
            if slot in self.tests:
                words = source(f"{name} lies in a branch that was not taken")
                lines += [f"if {self.values[slot]} is None:", f"    raise ValueError({words})"]
        lines += call("results = {", "}", [f"{source(name)}: {value}" for name, value in fetched])
        if self.page.run.until:
            lines.append(f"done = {values[-1]}")
        changed = [
            (self.known[id(variable.outputs[0])], self.values[slot])
            for variable, slot in plan.written.items()
            if variable.op.start_rule is None and variable.outputs[0].dtype != RESOURCE
        ]
        if changed:
            lines.append(f"{', '.join(n for n, _ in changed)} = {', '.join(v for _, v in changed)}")
        if self.page.run.until:
            lines += ["if done:", "    break"]
        return lines


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

    def _refuse(self, block: Block) -> None:
        if any(pin.dtype == "resource" for pin in (*block.op.inputs, *block.op.outputs)):
            hint = "TensorFlow has queues and readers in graphs only. Feed the data instead."
            raise cannot(block, "works on a handle", hint)

    def _attrs(self, block: Block) -> dict[str, Any]:
        attrs = super()._attrs(block)
        for name, value in attrs.items():
            if block.op.attrs[name].beyond_tensorflow and value != _AS_TENSORFLOW:
                raise cannot(block, f"has {name}, which TensorFlow has not", "Leave it out.")
        return {name: value for name, value in attrs.items() if value != _AS_TENSORFLOW}

    def _write_change(self, step: Step, arguments: dict[str, str], attrs: dict[str, str]) -> None:
        op = step.block.op
        if op.name in _SUMS:
            name = self._name(step.block)
            head = f"{name} = {self.prefix}.{_SUMS[op.name]}("
            self.lines += call(head, ")", named(dict(zip("xy", arguments.values(), strict=True))))
            self._change(step, [name])
            return
        arguments = {{"ref": "resource"}.get(n, n): words for n, words in arguments.items()}
        variables = [{"ref": "resource"}.get(n, n) for n in op.writes]
        what = [f"{self.prefix}.Resource{op.name}", source(variables)]
        self._write_changes(step, "changed(", [*what, *named(arguments | attrs)])


_PACKED = '''\
def packed(dtype, shape, text):
    """The array whose cells are compressed in a text."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype).reshape(shape)
'''

_MERGED = '''\
def merged(*inputs):
    """The first input that is there, and its number."""
    return next(((x, np.int32(i)) for i, x in enumerate(inputs) if x is not None), (None, None))
'''

_CHANGED = '''\
def changed(op, variables, **arguments):
    """What an op that works on variables leaves in them."""
    held = {name: tf.Variable(arguments[name]) for name in variables}
    op(**{**arguments, **{name: variable.handle for name, variable in held.items()}})
    return [variable.read_value() for variable in held.values()]
'''
