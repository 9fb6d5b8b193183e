"""Gradient check: a gradient block's value at one cell beside a finite difference of the forward op.

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

from backblocks.dtypes import is_float
from backblocks.errors import OpError
from backblocks.graph.gradient_ops import GradientOp, gradient_ops
from backblocks.ops import REGISTRY
from backblocks.ops._access_points import linked, value
from backblocks.ops._inputs import Array
from backblocks.ops._op import Op
from backblocks.ops._spec import Spec
from backblocks.ops._values import flat
from backblocks.studio.chunks import check_index
from backblocks.studio.explain import forward_of
from backblocks.studio.last_values import LastValues
from backblocks.studio.messages import CheckGradient, GradientChecked, NoSlope
from backblocks.studio.statistics import ChunkedWork

MAX_ELEMENTS = 1 << 24
"""The most elements of a tensor of the forward op, which is evaluated several times."""
_STEPS = [10.0**-n for n in range(3, 9)]
"""Step sizes of the finite difference, for numbers of about 1."""
_TOLERANCE = 1e-4
"""What two sides of a slope, and a slope and a gradient of float32, may differ by."""
_NOISE = 16 * np.finfo(np.float64).eps


def check_gradient(query: CheckGradient, values: LastValues) -> ChunkedWork[GradientChecked]:
    """Compares a gradient with a finite difference. Yields before each evaluation of the forward op."""
    block = values.lookup.block(query.block)
    gradient = _last(values, f"{query.block}:{block.op.outputs[0].name}")
    check_index(query.block, query.cell, gradient.shape)
    cell = tuple(query.cell)
    given = float(gradient[cell])
    try:
        call = _forward_call(query.block, values, gradient, cell)
        slope = yield from _slope(call, cell)
    except _CannotCheck as error:
        return GradientChecked(query.request, _text(given), why=error.why, about=list(error.about))
    agrees = slope.why == "" and _agree(given, slope, gradient)
    shown, mean, below, above = map(_text, (given, slope.mean, slope.below, slope.above))
    return GradientChecked(query.request, shown, mean, agrees, slope.why, below, above)


def _text(number: float) -> str:
    return f"{number:.7g}"


def _agree(given: float, slope: _Slope, gradient: Array) -> bool:
    precision = float(ml_dtypes.finfo(gradient.dtype).eps)  # type: ignore[no-untyped-call]
    return abs(given - slope.mean) <= max(_TOLERANCE, 4 * precision) * slope.size


class _CannotCheck(Exception):
    """A gradient that has no finite difference to compare with."""

    def __init__(self, why: NoSlope, *about: str) -> None:
        self.why, self.about = why, about


# -- the forward op ------------------------------------------------------------------


@dataclass(frozen=True)
class _Call:
    """The forward op as a function of one of its inputs, and the weights of its outputs."""

    at: Array
    compute: Callable[[Array], list[Array]]
    weights: list[Array]


def _forward_call(name: str, values: LastValues, gradient: Array, cell: tuple[int, ...]) -> _Call:
    """The forward op on the inputs of the gradient block; others come from the forward block on the page."""
    block = values.lookup.block(name)
    on_page, way = forward_of(name, values.lookup)
    forward = values.lookup.block(on_page) if on_page else None
    op = forward.op if forward else None
    if way is None or op is None:
        op, way = _op_with_gradient(name, block.op)
    if not is_float(gradient.dtype):
        raise _CannotCheck("integers", op.name)
    own = {pin: _last(values, f"{name}:{pin}") for pin in way.inputs}
    known, weights, outputs = (
        {
            source.removeprefix(kind): own[pin]
            for pin, source in way.inputs.items()
            if source.startswith(kind)
        }
        for kind in ("input ", "gradient ", "output ")
    )
    if on_page:
        known = {pin.name: _last(values, f"{on_page}:{pin.name}") for pin in op.inputs} | known
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
            raise _CannotCheck("unknown input", op.name, pin.name)
    largest = max(array.size for array in (*inputs, *weights.values()))
    if largest > MAX_ELEMENTS:
        raise _CannotCheck("too large", op.name, str(MAX_ELEMENTS))
    attrs = forward.attrs if forward else {attr: block.attrs[attr] for attr in way.attrs}
    wide = [_in_float64(array) for array in inputs]
    if op.stateful:
        return _call_by_access_maps(op, way, wide, attrs, weights | outputs, weights, cell)
    return _call(op, way, wide, attrs, weights)


def _op_with_gradient(name: str, gradient: Op) -> tuple[Op, GradientOp]:
    """The forward op with the shortest name whose gradient this op is, by its first output."""
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
    op: Op,
    way: GradientOp,
    inputs: Sequence[Array],
    attrs: dict[str, Any],
    weights: dict[str, Array],
) -> _Call:
    place = [pin.name for pin in op.inputs].index(way.input)

    def compute(x: Array) -> list[Array]:
        given = [x if i == place else array for i, array in enumerate(inputs)]
        result = op(*given, **attrs)
        outputs = dict(
            zip((pin.name for pin in op.outputs), flat(_as_tuple(result, op)), strict=True)
        )
        if any(outputs[pin].shape != weight.shape for pin, weight in weights.items()):
            raise _CannotCheck("unknown input", op.name, way.input)
        return [outputs[pin] for pin in weights]

    return _Call(inputs[place], compute, [_in_float64(array) for array in weights.values()])


def _call_by_access_maps(
    op: Op,
    way: GradientOp,
    inputs: Sequence[Array],
    attrs: dict[str, Any],
    outputs: dict[str, Array],
    weights: dict[str, Array],
    cell: tuple[int, ...],
) -> _Call:
    """The call of an op that draws random numbers, by its access maps: they go by what it drew before."""
    if op.cell_rule is None or any(pin.name not in outputs for pin in op.outputs):
        raise _CannotCheck("random op", op.name)
    given = dict(zip((pin.name for pin in op.inputs), inputs, strict=True))
    specs = [Spec.of(outputs[pin.name]) for pin in op.outputs]
    ways = op.access_maps([Spec.of(array) for array in inputs], attrs, specs)
    shapes = {name: array.shape for name, array in (given | outputs).items()}
    fed = linked(ways, shapes, way.input, cell, given)
    cells = {pin: fed.get(pin, []) for pin in weights}

    def compute(x: Array) -> list[Array]:
        now = given | {way.input: x}
        return [
            np.array([value(ways, shapes, pin, each, now) for each in some], np.float64)
            for pin, some in cells.items()
        ]

    chosen = [
        np.array([weights[pin][each] for each in some], np.float64) for pin, some in cells.items()
    ]
    return _Call(given[way.input], compute, chosen)


def _as_tuple(result: Any, op: Op) -> tuple[Any, ...]:
    return tuple(result) if len(op.outputs) > 1 else (result,)


def _in_float64(array: Array) -> Array:
    return array.astype(np.float64) if is_float(array.dtype) else array


def _last(values: LastValues, pin: str) -> Array:
    return values.value(pin)[0]


# -- the slope ------------------------------------------------------------------------------------


@dataclass
class _Slope:
    """A slope by finite differences, of the two sides of a point."""

    mean: float = math.nan
    size: float = 0.0
    """The sum of the magnitudes of its terms."""
    why: NoSlope = ""
    """Why there is none."""
    below: float = 0.0
    above: float = 0.0


def _slope(call: _Call, cell: tuple[int, ...]) -> ChunkedWork[_Slope]:
    x = float(call.at[cell])
    found = _Slope()
    if not math.isfinite(x):
        found.why = "not finite"
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
            found.why = "non-finite result"
            return found
        if abs(left - right) <= _TOLERANCE * max(left_size, right_size) + noise:
            return found
    found.why, found.below, found.above = "two slopes", left, right
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
