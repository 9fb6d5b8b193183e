"""A value that is not there yet: what ops give when they are called on symbols instead of arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backblocks.dtypes import DType, as_dtype
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array, as_array
from backblocks.ops._op import Attrs, Op, Value, each_value, flat
from backblocks.ops._spec import Shape, Spec

_numbers = itertools.count()


@dataclass(eq=False)
class Node:
    """An op applied to symbols. Numbers grow as nodes are made, so their order is one to run in."""

    op: Op
    inputs: list[Value]
    attrs: Attrs
    name: str
    number: int = field(default_factory=lambda: next(_numbers))
    outputs: tuple[Value, ...] = ()


@dataclass(eq=False)
class Symbol:
    """One output of a node, a constant, or a placeholder that is fed at run time."""

    spec: Spec
    node: Node | None = None
    name: str = ""

    # NumPy leaves arithmetic with a symbol to the symbol.
    __array_ufunc__ = None

    @property
    def shape(self) -> Shape:
        return self.spec.shape

    @property
    def dtype(self) -> DType:
        return self.spec.dtype

    @property
    def value(self) -> Array | None:
        """The value, of a constant."""
        return self.spec.value

    def __apply_op__(self, op: Op, inputs: list[Value], attrs: Attrs, name: str) -> Any:
        """Called by an op that was given a symbol: add a node instead of computing."""
        bound = op.arrays(inputs)
        symbols = each_value(lambda x: x if isinstance(x, Symbol) else constant(x), bound)
        node = Node(op, symbols, attrs, name)
        specs = op.infer(each_value(lambda s: s.spec, symbols), attrs)
        node.outputs = tuple(each_value(lambda spec: Symbol(spec, node, name), specs))
        return op.result(node.outputs)

    def __repr__(self) -> str:
        source = (
            self.node.op.name
            if self.node
            else "constant"
            if self.value is not None
            else "placeholder"
        )
        return f"<{source} {self.spec}>"


def placeholder(
    shape: Sequence[int | None] | None, dtype: Any = "float32", name: str = ""
) -> Symbol:
    """A symbol to be fed. A size, or the whole shape, may be None: not known yet."""
    return Symbol(Spec(None if shape is None else tuple(shape), as_dtype(dtype)), name=name)


def constant(value: Any) -> Symbol:
    """A symbol whose value is known."""
    return Symbol(Spec.of(as_array(value)))


def evaluate(fetches: Sequence[Symbol | None], feeds: Mapping[Symbol, Any]) -> list[Array]:
    """The values of `fetches`, each node run once, every shape rule asked again with the real values."""
    wanted = [_fetched(symbol) for symbol in fetches]
    values: dict[int, Array] = {}
    for symbol, fed in feeds.items():
        values[id(symbol)] = _fed(symbol, fed)

    def value_of(symbol: Symbol) -> Array:
        if id(symbol) in values:
            return values[id(symbol)]
        if symbol.value is None:
            raise OpError(
                "must be fed",
                op="Placeholder",
                arg=symbol.name or repr(symbol),
                hint="Give its value in feeds: evaluate(fetches, {x: array}).",
            )
        return symbol.value

    for node in sorted(nodes_behind(wanted, stop=set(values)), key=lambda n: n.number):
        outputs = node.op.run(each_value(value_of, node.inputs), node.attrs)
        for symbol, output in zip(flat(node.outputs), flat(outputs), strict=True):
            values.setdefault(id(symbol), output)
    return [value_of(symbol) for symbol in wanted]


def _fetched(symbol: Symbol | None) -> Symbol:
    if symbol is None:
        raise OpError(
            "None cannot be fetched",
            op="evaluate",
            arg="fetches",
            hint="Leave it out: a gradient is None when nothing depends on the input.",
        )
    return symbol


def _fed(symbol: Symbol, value: Any) -> Array:
    array = as_array(value)
    known = symbol.shape
    fits = known is None or (
        len(known) == array.ndim
        and all(n in (None, m) for n, m in zip(known, array.shape, strict=True))
    )
    if array.dtype != symbol.dtype or not fits:
        raise OpError(
            f"must be fed {symbol.spec}",
            op="Placeholder",
            arg=symbol.name or "value",
            got=described(str(Spec.of(array))),
            hint="Convert or reshape it, or make the placeholder with None for sizes that vary.",
        )
    return array


def nodes_behind(symbols: Sequence[Symbol], stop: set[int] = frozenset()) -> Iterator[Node]:  # type: ignore[assignment]
    """Every node that `symbols` are computed from, without looking behind the ids in `stop`."""
    seen: set[int] = set()
    todo = [s for s in symbols if id(s) not in stop]
    while todo:
        node = todo.pop().node
        if node is not None and node.number not in seen:
            seen.add(node.number)
            yield node
            todo += [s for s in flat(node.inputs) if id(s) not in stop]
