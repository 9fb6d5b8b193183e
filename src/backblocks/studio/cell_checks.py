"""Compares what a gradient block gives at a cell with a finite difference of the op whose gradient it is.

The slope at x[cell] of the sum of F(x) * grad is taken from both sides, in float64, with steps that become
smaller until both sides agree. Where they never do there is no slope: the largest of a window is reached
twice, say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from backblocks.dtypes import NAMES, is_float
from backblocks.errors import OpError, described
from backblocks.graph.gradient_ops import GradientOp, gradient_ops
from backblocks.ops import REGISTRY
from backblocks.ops._inputs import Array
from backblocks.ops._op import Op, flat
from backblocks.studio.explaining import forward_of
from backblocks.studio.held import Held
from backblocks.studio.measuring import Finding
from backblocks.studio.messages import CellChecked, CheckCell

MOST_CELLS = 1 << 24
"""Of a tensor of an op that is checked: all of them are computed anew, several times."""
_STEPS = [10.0**-n for n in range(3, 9)]
"""Of the finite difference, for numbers of about 1."""
_ALIKE = 1e-4
"""What two sides of a slope, and a slope and a gradient of float32, may differ by."""
_NOISE = 16 * np.finfo(np.float64).eps


def check(asked: CheckCell, held: Held) -> Finding[CellChecked]:
    """Stops before each time that the op is computed."""
    block = held.block(asked.block)
    gradient = _last(held, f"{asked.block}:{block.op.outputs[0].name}")
    if len(asked.cell) != gradient.ndim or not all(
        0 <= i < n for i, n in zip(asked.cell, gradient.shape, strict=True)
    ):
        hint = f"Name one of {list(gradient.shape)}."
        raise OpError("must have such a cell", op=asked.block, got=asked.cell, hint=hint)
    if not is_float(gradient.dtype):
        hint = "Only these have slopes that a small step shows."
        got = described(NAMES[gradient.dtype])
        raise OpError("must give floating-point numbers", op=asked.block, got=got, hint=hint)
    call = _forward_call(asked.block, held, gradient)
    cell = tuple(asked.cell)
    given = float(gradient[cell])
    slope = yield from _slope(call, cell)
    if slope.text:
        return CellChecked(asked.request, given, slope.mean, False, False, slope.text)
    return _compared(asked.request, given, slope, gradient)


def _compared(request: int, given: float, slope: _Slope, gradient: Array) -> CellChecked:
    precision = float(ml_dtypes.finfo(gradient.dtype).eps)  # type: ignore[no-untyped-call]
    off = abs(given - slope.mean)
    agrees = off <= max(_ALIKE, 4 * precision) * slope.size
    words = "as it should be" if agrees else "which is not the same"
    text = f"It gives {given:.7g}; the slope there is {slope.mean:.7g}, {words}."
    return CellChecked(request, given, slope.mean, agrees, True, text)


# -- the op whose gradient it is ------------------------------------------------------------------


@dataclass(frozen=True)
class _Call:
    """The op as a function of one of its inputs, and what its outputs are weighed by."""

    at: Array
    compute: Callable[[Array], list[Array]]
    weights: list[Array]


def _forward_call(name: str, held: Held, gradient: Array) -> _Call:
    """The op, on what the gradient block takes; what that has not comes from the block on the page."""
    block = held.block(name)
    on_page, way = forward_of(name, held)
    forward = held.block(on_page) if on_page else None
    op = forward.op if forward else None
    if way is None or op is None:
        op, way = _op_with_gradient(name, block.op)
    if op.stateful or op.start_rule is not None:
        hint = f"What it gives was drawn by {op.name}, which draws anew each time."
        raise OpError("must be the gradient of an op without chance", op=name, hint=hint)
    own = {pin: _last(held, f"{name}:{pin}") for pin in way.inputs}
    known = {
        source.removeprefix("input "): own[pin]
        for pin, source in way.inputs.items()
        if source.startswith("input ")
    }
    weights = {
        source.removeprefix("gradient "): own[pin]
        for pin, source in way.inputs.items()
        if source.startswith("gradient ")
    }
    if on_page:
        known = {pin.name: _last(held, f"{on_page}:{pin.name}") for pin in op.inputs} | known
    linear = not any(source.startswith("output ") for source in way.inputs.values())
    inputs = []
    for pin in op.inputs:
        if pin.name in known:
            inputs.append(known[pin.name])
        elif pin.name == way.input and linear:
            inputs.append(np.zeros(gradient.shape))
        elif pin.name != way.input and len(weights) == 1:
            inputs.append(np.zeros(next(iter(weights.values())).shape))
        else:
            hint = f"Add the {op.name} whose gradient it is, and wire it to that."
            raise OpError(f"needs {pin.name} of {op.name} to be checked", op=name, hint=hint)
    attrs = forward.attrs if forward else {attr: block.attrs[attr] for attr in way.attrs}
    return _call(name, op, way, inputs, attrs, weights)


def _op_with_gradient(name: str, gradient: Op) -> tuple[Op, GradientOp]:
    """The simplest op that has this one as gradient, by its first output."""
    is_gradient = "Grad" in gradient.name or "Backprop" in gradient.name
    found = [
        (op, way)
        for op in sorted(REGISTRY.values(), key=lambda op: (len(op.name), op.name))
        for way in gradient_ops(op)
        if way.op == gradient.name and way.gives == gradient.outputs[0].name
    ]
    if not is_gradient or not found:  # a convolution, say, is the gradient of its own gradient
        hint = "Choose a gradient block, such as MaxPool3DGrad."
        raise OpError("must be the gradient of an op", op=name, got=gradient.name, hint=hint)
    return found[0]


def _call(
    name: str,
    op: Op,
    way: GradientOp,
    inputs: Sequence[Array],
    attrs: dict[str, Any],
    weights: dict[str, Array],
) -> _Call:
    largest = max(array.size for array in (*inputs, *weights.values()))
    if largest > MOST_CELLS:
        hint = "Make its inputs smaller."
        raise OpError(
            f"must have at most {MOST_CELLS} cells to be checked", op=name, got=largest, hint=hint
        )
    wide = [_in_float64(array) for array in inputs]
    place = [pin.name for pin in op.inputs].index(way.input)

    def compute(x: Array) -> list[Array]:
        given = [x if i == place else array for i, array in enumerate(wide)]
        result = op(*given, **attrs)
        outputs = dict(
            zip((pin.name for pin in op.outputs), flat(_as_tuple(result, op)), strict=True)
        )
        if any(outputs[pin].shape != weight.shape for pin, weight in weights.items()):
            hint = f"Add the {op.name} whose gradient it is, and wire it to that."
            raise OpError(f"needs all inputs of {op.name} to be checked", op=name, hint=hint)
        return [outputs[pin] for pin in weights]

    return _Call(wide[place], compute, [_in_float64(array) for array in weights.values()])


def _as_tuple(result: Any, op: Op) -> tuple[Any, ...]:
    return tuple(result) if len(op.outputs) > 1 else (result,)


def _in_float64(array: Array) -> Array:
    return array.astype(np.float64) if is_float(array.dtype) else array


def _last(held: Held, pin: str) -> Array:
    return held.value(pin)[0]


# -- the slope ------------------------------------------------------------------------------------


@dataclass
class _Slope:
    mean: float = math.nan
    size: float = 0.0
    """Of what adds up to it."""
    text: str = ""
    """Why there is none."""


def _slope(call: _Call, cell: tuple[int, ...]) -> Finding[_Slope]:
    x = float(call.at[cell])
    found = _Slope()
    if not math.isfinite(x):
        found.text = f"There is no slope at {x}."
        return found
    yield 0
    here = call.compute(call.at)
    for step in _STEPS:
        step *= max(1.0, abs(x))
        sides = []
        for sign in (-1, 1):
            yield 0
            moved = call.at.copy()
            moved[cell] = x + sign * step
            length = abs(float(moved[cell]) - x)
            sides.append(_side(call, here, call.compute(moved), sign * length))
        (left, left_size, noise), (right, right_size, _) = sides
        found.mean, found.size = (left + right) / 2, (left_size + right_size) / 2
        if not math.isfinite(found.mean):
            found.text = "There is no slope: a NaN or an infinity is in its way."
            return found
        if abs(left - right) <= _ALIKE * max(left_size, right_size) + noise:
            return found
    found.text = (
        f"There is no one slope here: it is {left:.7g} below this number and {right:.7g} above it, "
        "as at a tie, where a little more or less decides which cell counts."
    )
    return found


def _side(
    call: _Call, here: list[Array], there: list[Array], length: float
) -> tuple[float, float, float]:
    """The slope to one side, the size of what adds up to it, and how much of it may be rounding."""
    slope = size = noise = 0.0
    for before, after, weight in zip(here, there, call.weights, strict=True):
        with np.errstate(all="ignore"):
            change = after - before
            moved = change != 0  # NaN too
            terms = weight[moved] * change[moved] / length
            slope += float(terms.sum())
            size += float(np.abs(terms).sum())
            noise += float(np.abs(weight[moved] * before[moved]).sum()) * _NOISE / abs(length)
    return slope, size, noise
