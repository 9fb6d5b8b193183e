"""Families of ops that work cell by cell: each member is one call, with a case to check it by.

    sin = unary("Sin", np.sin, FLOATS, "The sine of x.", "y = sin(x)", ([0.0], [0.0]), grad)

The parameters of a lambda name the inputs; those of a NumPy ufunc are `x` and `y`. Half types are
computed in float32 and rounded once, at the end.
"""

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from backblocks.dtypes import is_half, wide
from backblocks.ops._access_maps import AccessMap, Cells, Coordinate, over, pin_names
from backblocks.ops._chunks import ELEMENT_COST, MAX_CHUNK_COST, elementwise
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Op
from backblocks.ops._spec import Shape, Spec, agreed, broadcast
from backblocks.ops._values import flat

Gradient = Callable[..., list[Any]]
Check = Callable[..., None]
Cases = dict[str, tuple[Any, ...]]
"""What each case is about, and its values: those of the inputs, and the answer."""


def rounded_once(*each: Op) -> None:
    """Declares that these compute half types in float32, where TensorFlow rounds after every step."""
    for one in each:
        one.differs(
            "rounding of half types",
            tensorflow="float16 and bfloat16 are rounded after every step of the formula.",
            ours="They are computed in float32 and rounded once.",
            agree="Allow a few units in the last place.",
        )


def unary(
    name: str,
    reference: Callable[[Array], Array],
    dtypes: tuple[str, ...],
    doc: str,
    formula: str,
    case: tuple[Any, Any],
    grad: Gradient,
    *,
    out: str = "y: T",
    slope_range: tuple[float, float] = (-2.0, 2.0),
    corners: Cases | None = None,
    aliases: tuple[str, ...] = (),
) -> Op:
    """An op of one input. `case` is a value and the answer; `grad(dy, y, x)` is written with ops.

    `aliases` are other words that it is found by.
    """

    def named(x: Array) -> Array:
        return reference(x)

    function = named if isinstance(reference, np.ufunc) else reference
    cases = {"by hand": case, **(corners or {})}
    signature, text = f"T -> {out}", f"{doc}\n\n{formula}"
    rules = (cases, grad, slope_range, _same_shape, aliases, reference)
    return _complete(name, signature, dtypes, function, text, *rules)


def binary(
    name: str,
    reference: Callable[[Array, Array], Array],
    dtypes: tuple[str, ...],
    doc: str,
    formula: str,
    case: tuple[Any, Any, Any],
    grad: Gradient,
    *,
    out: str = "z: T",
    slope_range: tuple[float, float] = (-2.0, 2.0),
    corners: Cases | None = None,
    check: Check | None = None,
    fast: np.ufunc | None = None,
    aliases: tuple[str, ...] = (),
) -> Op:
    """An op of two inputs that broadcast. `case` is both values and the answer.

    `check` gets both Specs and refuses values that the reference cannot take. `fast` is NumPy's own
    function, where that computes the same only in the types whose results it leaves in the type.
    """

    def named(x: Array, y: Array) -> Array:
        return reference(x, y)

    def rule(x: Spec, y: Spec, **attrs: Any) -> Shape:
        if check is not None:
            check(x, y)
        return broadcast(op.inputs[1].name, x.shape, y.shape)

    function = named if isinstance(reference, np.ufunc) else reference
    cases, ufunc = {"by hand": case, **(corners or {})}, fast or reference
    signature, text = f"T, T -> {out}", f"{doc}\n\n{formula}"
    rules = (cases, grad, slope_range, rule, aliases, ufunc)
    op = _complete(name, signature, dtypes, function, text, *rules)
    return op


def activation_gradient(
    name: str,
    reference: Callable[..., Array],
    dtypes: tuple[str, ...],
    doc: str,
    formula: str,
    case: tuple[Any, Any, Any],
    grad: Gradient,
    *,
    out: str = "backprops: T",
    slope_range: tuple[float, float] = (-2.0, 2.0),
    corners: Cases | None = None,
) -> Op:
    """The gradient op of another, of two tensors of one shape: what came back, and what went in."""

    def same_shape(first: Spec, second: Spec, **attrs: Any) -> Shape:
        one, other = (pin.name for pin in op.inputs)
        hint = "Take both from one call of the forward op."
        return agreed(other, second, first.shape, f"the shape of {one}", hint)

    signature, cases = f"T, T -> {out}", {"by hand": case, **(corners or {})}
    text, rules = f"{doc}\n\n{formula}", (cases, grad, slope_range, same_shape, ())
    op = _complete(name, signature, dtypes, reference, text, *rules)
    return op


def _same_shape(x: Spec, **attrs: Any) -> Shape:
    return x.shape


def cell_to_cell(op: Op, rule: str = "apply") -> Callable[..., list[AccessMap]]:
    """Declares that each output cell comes from the cells at the same place of all inputs, broadcast."""

    @op.cells
    def cells_of(y: Spec, *inputs: Any, **attrs: Any) -> list[AccessMap]:
        loops, places = over(y.sizes)
        named = {
            name: spec
            for pin, value in zip(op.inputs, inputs, strict=True)
            for name, spec in zip(pin_names(pin.name, value), flat((value,)), strict=True)
        }
        cells = {name: broadcast_cells(spec.sizes, places) for name, spec in named.items()}
        cells[op.outputs[0].name] = Cells(places)
        return [AccessMap(rule, tuple(named), loops, cells)]

    return cells_of


def broadcast_cells(sizes: tuple[int, ...], places: tuple[Coordinate, ...]) -> Cells:
    """The cell of a tensor of these sizes that is broadcast: its axes are the last of these places."""
    last = places[len(places) - len(sizes) :]
    pairs = zip(last, sizes, strict=True)
    return Cells(tuple(place if size != 1 else Coordinate() for place, size in pairs))


def in_place(ufunc: Any, *inputs: Spec) -> KernelFunction | None:
    """NumPy's own function, which writes straight into the result."""
    dtypes = [spec.dtype for spec in inputs]
    if is_half(dtypes[0]) or ufunc.resolve_dtypes((*dtypes, None))[-1] not in (dtypes[0], np.bool):
        return None
    fill: KernelFunction = by_name(ufunc) if ufunc in (np.maximum, np.minimum) else ufunc
    shapes: list[Any] = [spec.shape for spec in inputs]
    cells = math.prod(np.broadcast_shapes(*shapes))
    return fill if cells * ELEMENT_COST <= MAX_CHUNK_COST else functools.partial(elementwise, fill)


def by_name(ufunc: Any) -> KernelFunction:
    """For those that do not take the result by its place."""

    def fill(*arrays: Array) -> None:
        ufunc(*arrays[:-1], out=arrays[-1])

    return fill


def _complete(
    name: str,
    signature: str,
    dtypes: tuple[str, ...],
    reference: Callable[..., Any],
    doc: str,
    cases: Cases,
    grad: Gradient,
    slope_range: tuple[float, float],
    shape: Callable[..., Any],
    aliases: tuple[str, ...],
    ufunc: Any = None,
) -> Op:
    reference.__doc__ = doc
    # An op belongs to the file that declares it, which is the one that called the family.
    reference.__module__ = sys._getframe(2).f_globals["__name__"]

    @functools.wraps(reference)
    def rounded_once(*inputs: Array, **attrs: Any) -> Any:
        if (
            math.prod([x.size for x in inputs]) * ELEMENT_COST <= MAX_CHUNK_COST
        ):  # which takes no time to see
            return at_once(*inputs, **attrs)
        shape = np.broadcast_shapes(*(x.shape for x in inputs))
        if math.prod(shape) * ELEMENT_COST <= MAX_CHUNK_COST:
            return at_once(*inputs, **attrs)
        few = (x[(slice(1),) * x.ndim] for x in inputs)
        out = np.empty(shape, np.asarray(at_once(*few, **attrs)).dtype)

        def fill(*arrays: Array) -> None:
            arrays[-1][...] = at_once(*arrays[:-1], **attrs)

        elementwise(fill, *inputs, out)
        return out

    def at_once(*inputs: Array, **attrs: Any) -> Any:
        return reference(*(x.astype(wide(x.dtype), copy=False) for x in inputs), **attrs)

    if dtypes == ("bool",):  # the only type is no variable
        signature, dtypes = signature.replace("T", "bool"), ()
    variables = {"T": dtypes} if dtypes else {}
    op = Op(name, signature, variables, rounded_once, slope_range=slope_range, aliases=aliases)
    op.shape(shape)
    op.grad(grad)
    cell_to_cell(op)
    if isinstance(ufunc, np.ufunc):
        op.kernel("in place", warns=True)(functools.partial(in_place, ufunc))
    for about, case in cases.items():
        values = [np.asarray(value) for value in case]
        args = {pin.name: value for pin, value in zip(op.inputs, values, strict=False)}
        op.case(about, **args, out=values[-1])
    return op
