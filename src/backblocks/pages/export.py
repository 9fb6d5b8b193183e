"""Export of pages as readable Python scripts: on `backblocks.raw_ops`, or on `tf.raw_ops`.

A script does what the run settings of the page say, with a line for each block. Variables are plain names,
reassigned at the end of a step, so that reads and writes have the order that a session gives them. Values
fetched in the last step are in `results`, and are printed. A value in a branch that is not taken is None, and
blocks that need it are behind an `if`. Queues and readers are changed in place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from backblocks.graph.program import Program, Step, build_program
from backblocks.graph.symbol import Block, Symbol
from backblocks.ops._handles import RESOURCE
from backblocks.ops._inputs import as_typed
from backblocks.pages.builder import PageGraph
from backblocks.pages.page import Page
from backblocks.pages.python_source import (
    array_literal,
    assignment_lines,
    attribute_literal,
    call_lines,
    comment_text,
    imports_for,
    indent,
    keywords,
)
from backblocks.pages.script_writer import StepWriter, not_scriptable

_MAX_INLINE_LENGTH = 40
"""Constants of so many characters are written where they are used, without a name."""


def to_python(page: Page) -> str:
    """A script on `backblocks.raw_ops` that computes and prints the values of a run."""
    graph, fetch = _graph_and_fetches(page)
    return _ScriptWriter(page, graph, fetch=fetch).text()


def to_tensorflow(page: Page) -> str:
    """A script on `tf.raw_ops` that computes and prints the values of a run."""
    graph, fetch = _graph_and_fetches(page)
    return _TensorFlowScriptWriter(page, graph, fetch=fetch).text()


def _graph_and_fetches(page: Page) -> tuple[PageGraph, list[str]]:
    """The graph, and the outputs to print: fetches, else outputs that monitors show, else unread outputs."""
    run = page.run
    shown = dict.fromkeys(each.pin for monitor in page.monitors.values() for each in monitor.shows)
    fetch = run.fetch or list(shown)
    wanted = [*fetch, *run.targets, *([run.until] if run.until else [])]
    graph = page.graph(wanted or None)
    return graph, fetch if wanted else graph.unread_outputs()


@dataclass
class _ScriptWriter(StepWriter):
    """Writes a whole script: imports, helpers, constants, variables, and the loop over steps."""

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
        plan = build_program([*fetches, *until], list(feeds), targets)
        for symbol, value in feeds.items():
            self._define(symbol, array_literal(np.asarray(as_typed(value, symbol.dtype))))
        self._define_constants(plan)
        for slot, variable in plan.variables.items():
            if variable.op.initial_rng_state is None:
                self._define_variable(variable, is_read=slot in plan.read)
        if run.steps is not None or until:
            self._define_stateful_ops(plan)
        before, self.lines = self.lines, []
        self._write_steps(plan, feeds)
        self.lines += self._end_of_step_lines(plan)
        return self._assemble(before, self.lines)

    def _assemble(self, before: list[str], step: list[str]) -> str:
        run = self.page.run
        if run.steps is not None or run.until:
            head = "while True:" if run.steps is None else f"for _ in range({run.steps}):"
            step = [head, *indent(step)]
            if run.steps == 0:
                step = ["results = {}", *step]
        file = self.page.path.name if self.page.path else "a page"
        title = self.page.title or file
        body = "\n".join([*before, "", *step])
        helpers = [text for name, text in self.helpers().items() if f"{name}(" in body]
        others = ["import ml_dtypes"] if "ml_dtypes." in body else []
        about = comment_text(f"{title}: what {file} computes, as a script.")
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

    def _define_constants(self, plan: Program) -> None:
        for symbol in plan.constants.values():
            if id(symbol) not in self.expressions:
                expression = array_literal(symbol.block.attrs["value"])
                if (
                    len(expression) <= _MAX_INLINE_LENGTH
                    and symbol.block.name not in self.page.blocks
                ):
                    self.expressions[id(symbol)] = expression
                else:
                    self._define(symbol, expression)

    def _define(self, symbol: Symbol, expression: str) -> None:
        self.expressions[id(symbol)] = name = self._name(symbol.block)
        self.lines += assignment_lines(name, expression)

    def _define_variable(self, variable: Block, is_read: bool) -> None:
        """Writes the lines that compute the initial value of a variable."""
        symbol: Symbol = variable.outputs[0]
        if id(symbol) in self.expressions:
            return
        if symbol.dtype == RESOURCE:
            self._reject(variable)
            self.expressions[id(symbol)] = name = self._name(variable)
            attrs = {key: attribute_literal(value) for key, value in self._attrs(variable).items()}
            self.lines += call_lines(
                f"{name} = {self.prefix}.{variable.op.name}(", ")", keywords(attrs)
            )
            return
        if variable.initial is None:
            if is_read:
                hint = "Give it an initial value."
                raise not_scriptable(variable, "has no value at the start", hint)
            self._define(symbol, "None")
            return
        if (
            variable.initial.value is not None
            and variable.initial.block.name not in self.page.blocks
        ):
            self._define(symbol, array_literal(variable.initial.value))
            return
        plan = build_program([variable.initial], [], [])
        self._define_constants(plan)
        for other in plan.variables.values():
            if other.op.initial_rng_state is None:
                self._define_variable(other, is_read=True)
        self._write_steps(plan, {})
        self._define(symbol, self.slot_expressions[plan.fetched[0]])

    def _define_stateful_ops(self, plan: Program) -> None:
        """Writes a name for each op that keeps state from step to step, such as random numbers."""
        for block in (
            step.block for step in plan.steps if step.block.op.initial_rng_state is not None
        ):
            self.stateful_ops[block] = name = self._name(block, "op")
            self.lines.append(f"{name} = {self.prefix}.{block.op.name}.from_step_to_step()")

    def _end_of_step_lines(self, plan: Program) -> list[str]:
        values = [self.slot_expressions[slot] for slot in plan.fetched]
        fetched = zip(self.fetch, values, strict=False)
        lines = []
        for name, slot in zip([*self.fetch, self.page.run.until], plan.fetched, strict=False):
            if slot in self.conditions:
                message = attribute_literal(f"{name} lies in a branch that was not taken")
                lines += [
                    f"if {self.slot_expressions[slot]} is None:",
                    f"    raise ValueError({message})",
                ]
        lines += call_lines(
            "results = {", "}", [f"{attribute_literal(name)}: {value}" for name, value in fetched]
        )
        if self.page.run.until:
            lines.append(f"done = {values[-1]}")
        changed = [
            (self.expressions[id(variable.outputs[0])], self.slot_expressions[slot])
            for variable, slot in plan.written.items()
            if variable.op.initial_rng_state is None and variable.outputs[0].dtype != RESOURCE
        ]
        if changed:
            lines.append(f"{', '.join(n for n, _ in changed)} = {', '.join(v for _, v in changed)}")
        if self.page.run.until:
            lines += ["if done:", "    break"]
        return lines


_TENSORFLOW_VALUE = "tensorflow-cpu"
"""The value that makes an attribute of ours do as TensorFlow does; it is not written."""

_AS_SUM = {"AssignAdd": "AddV2", "AssignSub": "Sub"}


class _TensorFlowScriptWriter(_ScriptWriter):
    """Writes a script for TensorFlow, whose training ops take variables and no tensors."""

    prefix = "tf.raw_ops"
    imports = ("import numpy as np", "import tensorflow as tf")

    def helpers(self) -> dict[str, str]:
        return {**super().helpers(), "changed": _CHANGED}

    def _define_stateful_ops(self, plan: Program) -> None:
        """TensorFlow's ops keep their state themselves."""

    def _reject(self, block: Block) -> None:
        if any(pin.dtype == "resource" for pin in (*block.op.inputs, *block.op.outputs)):
            hint = "TensorFlow has queues and readers in graphs only. Feed the data instead."
            raise not_scriptable(block, "works on a handle", hint)

    def _attrs(self, block: Block) -> dict[str, Any]:
        attrs = super()._attrs(block)
        for name, value in attrs.items():
            if block.op.attrs[name].beyond_tensorflow and value != _TENSORFLOW_VALUE:
                raise not_scriptable(
                    block, f"has {name}, which TensorFlow has not", "Leave it out."
                )
        return {name: value for name, value in attrs.items() if value != _TENSORFLOW_VALUE}

    def _write_update(self, step: Step, arguments: dict[str, str], attrs: dict[str, str]) -> None:
        op = step.block.op
        if op.name in _AS_SUM:
            name = self._name(step.block)
            head = f"{name} = {self.prefix}.{_AS_SUM[op.name]}("
            self.lines += call_lines(
                head, ")", keywords(dict(zip("xy", arguments.values(), strict=True)))
            )
            self._set_updated(step, [name])
            return
        arguments = {
            {"ref": "resource"}.get(n, n): expression for n, expression in arguments.items()
        }
        variables = [{"ref": "resource"}.get(n, n) for n in op.writes]
        call = [f"{self.prefix}.Resource{op.name}", attribute_literal(variables)]
        self._write_update_call(step, "changed(", [*call, *keywords(arguments | attrs)])


_PACKED = '''\
def packed(dtype, shape, text):
    """The array whose elements are compressed in base64 text."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype).reshape(shape)
'''

_MERGED = '''\
def merged(*inputs):
    """The first input that is not None, and its index."""
    return next(((x, np.int32(i)) for i, x in enumerate(inputs) if x is not None), (None, None))
'''

_CHANGED = '''\
def changed(op, variables, **arguments):
    """The new values of the variables that an op updates."""
    made = {name: tf.Variable(arguments[name]) for name in variables}
    op(**{**arguments, **{name: variable.handle for name, variable in made.items()}})
    return [variable.read_value() for variable in made.values()]
'''
