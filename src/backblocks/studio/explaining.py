"""Which cells of a block's tensors belong together, at the sizes of the last run."""

from __future__ import annotations

from typing import Any

import msgspec

from backblocks.dtypes import NAMES
from backblocks.graph.gradient_ops import GradientOp, gradient_ops
from backblocks.graph.symbol import Block, Symbol
from backblocks.ops._spec import Spec
from backblocks.ops._values import each_value
from backblocks.studio.held import Held
from backblocks.studio.messages import Explain, Explained, Tensor, Way


def explain(asked: Explain, held: Held) -> Explained:
    block = held.block(asked.block)
    symbols = held.tensors(asked.block)
    values = {name: held.value(f"{asked.block}:{name}") for name in symbols}
    specs = {id(symbols[name]): Spec.of(array) for name, (array, _) in values.items()}

    def specs_of(symbols: Any) -> list[Any]:
        return each_value(lambda symbol: specs[id(symbol)], symbols)

    ways = block.op.access_maps(specs_of(block.inputs), block.attrs, specs_of(block.outputs))
    return Explained(
        asked.request,
        asked.block,
        block.op.name,
        max((step for _, step in values.values()), default=0),
        {
            name: Tensor(
                held.pin(symbols[name]) or f"{asked.block}:{name}",
                NAMES[array.dtype],
                list(array.shape),
                _is_typed(symbols[name], asked.block, held),
            )
            for name, (array, _) in values.items()
        },
        [name for name, symbol in symbols.items() if symbol.block is block],
        msgspec.convert(ways, list[Way], from_attributes=True),
        forward_of(asked.block, held)[0],
        block.op.cell_rule is not None or not block.op.inputs,
    )


def _is_typed(symbol: Symbol, block: str, held: Held) -> bool:
    """Whether the page itself has the numbers: in a constant, or typed into this block."""
    made = symbol.block
    on_page = made.name in held.graph.expansions or made.name.startswith(f"{block}/")
    return made.op.name == "Const" and on_page


# -- gradients ------------------------------------------------------------------------------------


def forward_of(name: str, held: Held) -> tuple[str, GradientOp | None]:
    """The block of the page whose gradient a block is, and how it is that."""
    block = held.block(name)
    found = [
        (other, way)
        for other, parts in held.graph.expansions.items()
        if [part.name for part in parts] == [other]
        and len(parts[0].op.name)
        < len(block.op.name)  # a convolution is a gradient of its gradient
        for way in gradient_ops(parts[0].op)
        if way.op == block.op.name and _is_gradient(block, parts[0], way)
    ]
    nearest = sorted(found, key=lambda each: len(held.block(each[0]).op.name))
    return nearest[0] if nearest else ("", None)


def _is_gradient(block: Block, forward: Block, way: GradientOp) -> bool:
    """Whether a block takes what the gradient of another block would."""
    own = dict(zip((pin.name for pin in block.op.inputs), block.inputs, strict=True))
    inputs = dict(zip((pin.name for pin in forward.op.inputs), forward.inputs, strict=True))
    outputs = dict(zip((pin.name for pin in forward.op.outputs), forward.outputs, strict=True))
    for pin, source in way.inputs.items():
        kind, _, of = source.partition(" ")
        if kind == "shape" and not _is_shape(own[pin], inputs[of]):
            return False
        if kind in ("input", "output") and not _is_same(own[pin], {**inputs, **outputs}[of]):
            return False
    return all(block.attrs[attr] == forward.attrs[attr] for attr in way.attrs)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two symbols are one, or constants that are alike."""
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


def _is_shape(symbol: Symbol, of: Symbol) -> bool:
    if symbol.block.op.name == "Shape":
        return symbol.block.inputs[0] is of
    value = symbol.value
    return value is not None and of.shape is not None and value.tolist() == list(of.shape)
