"""Texts that document an op: for docs/ops, the command line and the studio."""

from __future__ import annotations

import contextlib
import functools
import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from backblocks.dtypes import NAMES, is_differentiable, wider
from backblocks.errors import OpError
from backblocks.graph.gradients import gradients
from backblocks.graph.symbol import Symbol, constant, placeholder
from backblocks.ops._declaration import Case
from backblocks.ops._formulas import INDENT
from backblocks.ops._handles import RESOURCE, state_in
from backblocks.ops._op import Op, Value, zero_gradient
from backblocks.ops._values import each_value, flat


def summary(op: Op) -> str:
    """The first line of its documentation."""
    return op.description.splitlines()[0]


def details(op: Op) -> str:
    """What its documentation says besides summary and formula."""
    paragraphs = op.description.split("\n\n")[1:]
    return "\n\n".join(text for text in paragraphs if not text.startswith(INDENT))


def call(op: Op) -> str:
    """How it is called, and what it gives."""
    parts = [pin.name for pin in op.inputs]
    parts += [a.name if a.required else f"{a.name}={a.default!r}" for a in op.attrs.values()]
    outputs = ", ".join(pin.name for pin in op.outputs) or "nothing"
    return f"{op.name}({', '.join(parts)}) -> {outputs}"


# -- gradients ------------------------------------------------------------------------------------


def gradient(op: Op) -> str:
    """Whether it has a gradient, and how often one can be taken."""
    if op.gradient is None:
        return f"None: {op.no_gradient_because}"
    if op.gradient is zero_gradient:
        return "None flows: the result does not change when the inputs change a little."
    stops = next(filter(None, map(functools.partial(_where_it_stops, op), op.cases)), None)
    if stops is not None:
        return f"Yes, once: {stops.op} has none. {stops.hint}"
    return "Yes; it is made of ops, and can be differentiated again."


def _where_it_stops(op: Op, case: Case) -> OpError | None:
    """Why the gradient of a case cannot be differentiated again; nothing if it can."""
    if any(pin.dtype == "resource" for pin in op.inputs):
        return None
    inputs, attrs, _ = op.bind((), case.args)
    symbols = each_value(_symbol, op.arrays(inputs))
    xs = [symbol for symbol in flat(symbols) if symbol.value is None]
    result = op(*symbols, **attrs)
    ys = [
        y
        for y in (result if isinstance(result, list | tuple) else [result])
        if is_differentiable(y.dtype)
    ]
    try:
        dys = [placeholder(y.shape, y.dtype) for y in ys]
        dxs = [dx for dx in gradients(ys, xs, dys) if dx is not None]
    except OpError:  # a mode without a gradient
        return None
    try:
        gradients(dxs, [*xs, *dys])
    except OpError as error:
        return error
    return None


def _symbol(array: Any) -> Symbol:
    return (
        placeholder(array.shape, array.dtype) if is_differentiable(array.dtype) else constant(array)
    )


# -- worked cases ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class EvaluatedCase:
    """A case and the outputs that the op computes for it."""

    about: str
    inputs: dict[str, Value]
    attrs: dict[str, Any]
    """Attributes that the case gives."""
    outputs: dict[str, Value]
    leaves: dict[str, Value]
    """What handles stand for afterwards."""

    def lines(self) -> list[str]:
        """A line for each input, attribute and output."""
        return [
            *(f"{name} = {value_text(value)}" for name, value in self.inputs.items()),
            *(f"{name} = {attribute_text(value)}" for name, value in self.attrs.items()),
            *(f"-> {name} = {value_text(value)}" for name, value in self.outputs.items()),
            *(f"then {name} = {value_text(value)}" for name, value in self.leaves.items()),
        ]


def evaluated(op: Op, case: Case) -> EvaluatedCase:
    """Evaluates a case of an op."""
    inputs, attrs, _ = op.bind((), case.args)
    arrays = op.arrays(inputs)
    before = {pin.name: _shown_before(value) for pin, value in zip(op.inputs, arrays, strict=True)}
    with contextlib.redirect_stderr(io.StringIO()):  # some say something
        results = op.run(arrays, attrs)
    return EvaluatedCase(
        case.about,
        before,
        {name: case.args[name] for name in op.attrs if name in case.args},
        dict(zip((pin.name for pin in op.outputs), results, strict=True)),
        {
            pin.name: value
            for pin, value in zip(op.inputs, arrays, strict=True)
            if pin.dtype == "resource" and pin.name in case.leaves
        },
    )


def _shown_before(value: Value) -> Value:
    """What an input is before the op runs: behind a handle, that changes."""
    is_handle = isinstance(value, np.ndarray) and value.dtype == RESOURCE
    return repr(state_in(value)) if is_handle else value


def value_text(value: Value) -> str:
    """Dtype, shape and numbers, in one line."""
    if value is None or isinstance(value, str):
        return str(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(value_text(v) for v in value) + "]"
    if value.dtype == RESOURCE:
        return repr(state_in(value))
    sizes = "x".join(map(str, value.shape)) or "scalar"
    with np.printoptions(threshold=40, linewidth=10_000, precision=6, suppress=True):
        text = np.array2string(value.reshape(-1).astype(wider(value.dtype)), separator=" ")
    return f"{NAMES[value.dtype]} {sizes} {text}"


def attribute_text(value: Any) -> str:
    return json.dumps(list(value)) if isinstance(value, tuple) else repr(value)
