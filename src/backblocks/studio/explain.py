"""Explain: the access maps of a block, which cells of its tensors belong together, for its last values."""

from __future__ import annotations

from typing import Any

import msgspec

from backblocks.dtypes import NAMES
from backblocks.graph.gradient_ops import GradientOp, gradient_ops, is_wired_as_gradient
from backblocks.graph.symbol import Symbol
from backblocks.ops._spec import Spec
from backblocks.ops._values import each_value
from backblocks.studio.last_values import LastValues
from backblocks.studio.messages import AccessMap, Explain, Explained, Tensor
from backblocks.studio.pin_lookup import PinLookup


def explain(query: Explain, last_values: LastValues) -> Explained:
    lookup = last_values.lookup
    block = lookup.block(query.block)
    symbols = lookup.tensors(query.block)
    values = {name: last_values.value(f"{query.block}:{name}") for name in symbols}
    specs = {id(symbols[name]): Spec.of(array) for name, (array, _) in values.items()}

    def specs_of(symbols: Any) -> list[Any]:
        return each_value(lambda symbol: specs[id(symbol)], symbols)

    ways = block.op.access_maps(specs_of(block.inputs), block.attrs, specs_of(block.outputs))
    return Explained(
        query.request,
        query.block,
        block.op.name,
        max((step for _, step in values.values()), default=0),
        {
            name: Tensor(
                lookup.pin(symbols[name]) or f"{query.block}:{name}",
                NAMES[array.dtype],
                list(array.shape),
                _is_typed(symbols[name], query.block, lookup),
            )
            for name, (array, _) in values.items()
        },
        [name for name, symbol in symbols.items() if symbol.block is block],
        msgspec.convert(ways, list[AccessMap], from_attributes=True),
        forward_of(query.block, lookup)[0],
        block.op.cell_rule is not None or not block.op.inputs,
    )


def _is_typed(symbol: Symbol, block: str, lookup: PinLookup) -> bool:
    """Whether the page has the value itself: in a Const block, or typed into this block."""
    made = symbol.block
    on_page = made.name in lookup.graph.expansions or made.name.startswith(f"{block}/")
    return made.op.name == "Const" and on_page


# -- gradients ------------------------------------------------------------------------------------


def forward_of(name: str, lookup: PinLookup) -> tuple[str, GradientOp | None]:
    """The forward block on the page of a gradient block, and how the gradient is made of it."""
    block = lookup.block(name)
    found = [
        (other, way)
        for other, parts in lookup.graph.expansions.items()
        if [part.name for part in parts] == [other]
        and len(parts[0].op.name)
        < len(block.op.name)  # a convolution is a gradient of its gradient
        for way in gradient_ops(parts[0].op)
        if way.op == block.op.name
        and is_wired_as_gradient(block, parts[0], way)
        and all(block.attrs[attr] == parts[0].attrs[attr] for attr in way.attrs)
    ]
    nearest = sorted(found, key=lambda each: len(lookup.block(each[0]).op.name))
    return nearest[0] if nearest else ("", None)
