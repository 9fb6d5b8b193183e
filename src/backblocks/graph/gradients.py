"""Reverse-mode gradients over symbols, from the gradients that the ops themselves declare."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from backblocks import ops
from backblocks.dtypes import NAMES, SMALL
from backblocks.errors import OpError, described
from backblocks.graph.symbol import Block, Symbol, blocks_behind, constant
from backblocks.ops._handles import gradient_call
from backblocks.ops._inputs import as_typed
from backblocks.ops._spec import agreed
from backblocks.ops._values import each_value, flat


def gradients(
    ys: Symbol | Sequence[Symbol],
    xs: Symbol | Sequence[Symbol],
    grad_ys: Any = None,
) -> list[Symbol | None]:
    """Symbols for the gradient of the sum of `ys` with respect to each of `xs`.

    They are ordinary symbols, so they can be differentiated again. `grad_ys` weighs the outputs; ones
    if left out. None stands for an `x` that the `ys` do not depend on.
    """
    ys, xs = _symbols("ys", ys), _symbols("xs", xs)
    flowing: dict[int, list[Any]] = {}
    for y, dy in zip(ys, _weights(ys, grad_ys), strict=True):
        flowing.setdefault(id(y), []).append(dy)
    call = gradient_call.set(f"gradients_{next(_calls)}")
    try:
        for block in _between(xs, ys):
            arriving = each_value(lambda out: _collected(flowing, out), block.outputs)
            if all(d is None for d in flat(arriving)):
                continue
            leaving = _backward(block, arriving)
            for x, d in zip(flat(block.inputs), flat(_tupled(leaving, block)), strict=True):
                if d is not _NONE:
                    flowing.setdefault(id(x), []).append(d)
    finally:
        gradient_call.reset(call)
    return [_collected(flowing, x) for x in xs]


_NONE = object()
_calls = itertools.count()


def _symbols(arg: str, given: Any) -> list[Symbol]:
    symbols = list(given) if isinstance(given, list | tuple) else [given]
    for each in symbols:
        if not isinstance(each, Symbol):
            raise OpError(
                "must be a symbol, or a list of them",
                op="gradients",
                arg=arg,
                got=described(type(each).__name__),
                hint="Use what an op gave, or graph.symbol(name).",
            )
    return symbols


def _weights(ys: list[Symbol], grad_ys: Any) -> list[Symbol]:
    """The gradient that arrives at each y, as a symbol of its dtype and shape."""
    if grad_ys is None:
        grad_ys = [None] * len(ys)
    if not isinstance(grad_ys, list | tuple):
        grad_ys = [grad_ys]
    if len(grad_ys) != len(ys):
        raise OpError(
            f"must have one entry for each of the {len(ys)} ys",
            op="gradients",
            arg="grad_ys",
            got=len(grad_ys),
            hint="Use None for ones.",
        )
    return [_weight(y, dy) for y, dy in zip(ys, grad_ys, strict=True)]


def _weight(y: Symbol, dy: Any) -> Symbol:
    if NAMES[y.dtype] in (*SMALL, "string"):
        raise OpError(
            "must hold numbers that ops compute with",
            op="gradients",
            arg="ys",
            got=described(NAMES[y.dtype]),
            hint="No gradient flows through text and small types: differentiate what it was made of.",
        )
    if dy is None:
        weight: Symbol = ops.ones_like(y)
        return weight
    try:
        symbol = dy if isinstance(dy, Symbol) else constant(as_typed(dy, y.dtype))
        agreed("grad_ys", symbol.spec, y.shape, "the shape of its y", "Weigh every cell of y.")
        if symbol.dtype != y.dtype:
            raise OpError(
                f"must be {NAMES[y.dtype]}, as its y",
                got=described(NAMES[symbol.dtype]),
                hint=f"Convert it: bb.ops.cast(x, DstT={NAMES[y.dtype]!r}).",
            )
    except OpError as error:
        error.op, error.arg = "gradients", "grad_ys"
        raise
    return symbol


def _between(xs: Sequence[Symbol], ys: Sequence[Symbol]) -> list[Block]:
    """The blocks on the way from `xs` to `ys`, last first."""
    reached = {id(x) for x in xs}
    path = []
    for block in sorted(blocks_behind(ys), key=lambda n: n.number):
        if any(id(s) in reached for s in flat(block.inputs)):
            reached.update(id(out) for out in flat(block.outputs))
            path.append(block)
    return path[::-1]


def _collected(flowing: dict[int, list[Any]], symbol: Symbol) -> Any:
    """Everything that flows back to one symbol, added up."""
    parts = flowing.get(id(symbol), [])
    if len(parts) > 1:
        flowing[id(symbol)] = parts = [ops.add_n(parts)]
    return parts[0] if parts else None


def _backward(block: Block, arriving: list[Any]) -> list[Any]:
    op = block.op
    if op.gradient is None:
        raise OpError("has no gradient", op=op.name, hint=op.no_gradient_because)
    dy, y = (op.result(side) for side in (arriving, block.outputs))
    return list(op.gradient(dy, y, *block.inputs, **block.attrs))


def _tupled(leaving: list[Any], block: Block) -> list[Any]:
    """The gradients in the form of the block's inputs, with a mark where there is none."""
    form: list[Any] = []
    for d, pin, value in zip(leaving, block.op.inputs, block.inputs, strict=True):
        if value is None:
            form.append(None)
        elif pin.is_list:
            given = [None] * len(value) if d is None else d
            form.append(tuple(_NONE if part is None else part for part in given))
        else:
            form.append(_NONE if d is None else d)
    return form
