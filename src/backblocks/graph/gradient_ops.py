"""Which op makes the gradient of another one, read off the gradients that the ops declare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from backblocks.dtypes import is_differentiable
from backblocks.errors import OpError
from backblocks.graph.gradients import gradients
from backblocks.graph.symbol import Block, Symbol, constant, placeholder
from backblocks.ops._op import Op, Value
from backblocks.ops._values import each_value


@dataclass(frozen=True)
class GradientOp:
    """How the gradient with respect to one input is made with one op.

    Its inputs are "input NAME", "output NAME" or "shape NAME" (of an input) of the op whose gradient it is,
    or "gradient NAME": what flows into that output.
    """

    input: str
    op: str
    gives: str
    """The output that is the gradient."""
    inputs: dict[str, str]
    attrs: list[str]
    """Attributes that are copied by name."""


def worked_calls(op: Op) -> Iterator[tuple[list[Value], dict[str, Any]]]:
    """The inputs, as arrays, and attributes of the cases."""
    for case in op.cases:
        inputs, attrs, _ = op.bind((), case.args)
        yield op.arrays(inputs), attrs


@cache
def gradient_ops(op: Op) -> list[GradientOp]:
    """For each input whose gradient is one op, and the same in every case, what that is."""
    if op.gradient is None or any(pin.dtype == "resource" for pin in op.inputs):
        return []
    seen: dict[str, list[GradientOp | None]] = {}
    for inputs, attrs in worked_calls(op):
        for name, info in _traced(op, inputs, attrs):
            seen.setdefault(name, []).append(info)
    found = [seen[pin.name] for pin in op.inputs if pin.name in seen]
    return [ways[0] for ways in found if ways[0] is not None and ways.count(ways[0]) == len(ways)]


def _traced(
    op: Op, inputs: list[Value], attrs: dict[str, Any]
) -> Iterator[tuple[str, GradientOp | None]]:
    """Differentiates the op on symbols of open sizes, so that nothing holds for these sizes only."""
    for is_open in (True, False):
        symbols = each_value(lambda array, is_open=is_open: _symbol(array, is_open), inputs)  # type: ignore[misc]
        try:
            result = op(*symbols, **attrs)
            outputs = [*result] if isinstance(result, list | tuple) else [result]
            ys = [y for y in outputs if isinstance(y, Symbol) and is_differentiable(y.dtype)]
            dys = [placeholder(y.shape, y.dtype) for y in ys]
            xs = [x for x in symbols if isinstance(x, Symbol) and x.value is None]
            dxs = gradients(ys, xs, dys)
        except OpError:
            continue  # sizes must be known, or this mode has no gradient
        sources = {id(dy): f"gradient {y.pin}" for y, dy in zip(ys, dys, strict=True)}
        sources |= {id(y): f"output {y.pin}" for y in outputs if isinstance(y, Symbol)}
        names = {}
        for pin, symbol in zip(op.inputs, symbols, strict=True):
            if isinstance(symbol, Symbol):
                sources[id(symbol)] = f"input {pin.name}"
                names[id(symbol)] = pin.name
        for x, dx in zip(xs, dxs, strict=True):
            if dx is not None:
                yield names[id(x)], _one_op(attrs, names[id(x)], dx, sources)
        return


def _symbol(array: Any, is_open: bool) -> Symbol:
    if not is_differentiable(array.dtype):
        return constant(array)
    return placeholder((None,) * array.ndim if is_open else array.shape, array.dtype)


def _one_op(
    attrs: dict[str, Any], input: str, dx: Symbol, sources: dict[int, str]
) -> GradientOp | None:
    """How dx is made, if it is one block (and the shapes of inputs) with the attributes of this op."""
    made = dx.block
    if id(dx) in sources:
        return None
    wires = {}
    for pin, symbol in zip(made.op.inputs, made.inputs, strict=True):
        if isinstance(symbol, tuple) or (symbol is not None and not _source(symbol, sources)):
            return None
        if symbol is not None:
            wires[pin.name] = _source(symbol, sources)
    copied = []
    for attr in made.op.attrs.values():
        value = made.attrs[attr.name]
        if attr.name in attrs and value == attrs[attr.name]:
            copied.append(attr.name)
        elif attr.required or value != attr.kind.parse(attr.default):
            return None
    return GradientOp(input=input, op=made.op.name, gives=dx.pin, inputs=wires, attrs=copied)


def _source(symbol: Symbol, sources: dict[int, str]) -> str:
    if id(symbol) in sources:
        return sources[id(symbol)]
    if symbol.block.op.name == "Shape":
        of = sources.get(id(symbol.block.inputs[0]), "")
        if of.startswith("input "):
            return "shape " + of.removeprefix("input ")
    return ""


def is_wired_as_gradient(block: Block, forward: Block, way: GradientOp) -> bool:
    """Whether a block has the inputs that this gradient of another block has."""
    own = dict(zip((pin.name for pin in block.op.inputs), block.inputs, strict=True))
    inputs = dict(zip((pin.name for pin in forward.op.inputs), forward.inputs, strict=True))
    outputs = dict(zip((pin.name for pin in forward.op.outputs), forward.outputs, strict=True))
    for pin, source in way.inputs.items():
        kind, _, of = source.partition(" ")
        if kind == "shape" and not _is_shape(own[pin], inputs[of]):
            return False
        if kind in ("input", "output") and not _is_same(own[pin], {**inputs, **outputs}[of]):
            return False
    return True


def _is_same(one: Any, other: Any) -> bool:
    """Whether two symbols are the same, or equal constants."""
    if one is other:
        return True
    if not isinstance(one, Symbol) or not isinstance(other, Symbol):
        return False
    values = one.value, other.value
    return (
        values[0] is not None
        and values[1] is not None
        and values[0].tobytes() == values[1].tobytes()
    )


def _is_shape(symbol: Any, of: Any) -> bool:
    if not isinstance(symbol, Symbol) or not isinstance(of, Symbol):
        return False
    if symbol.block.op.name == "Shape":
        return symbol.block.inputs[0] is of
    value = symbol.value
    return value is not None and of.shape is not None and value.tolist() == list(of.shape)
