"""A value that is not there yet: what ops give when they are called on symbols instead of arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

from backblocks import ops
from backblocks.dtypes import ALL, NAMES, DType
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array, as_array, as_typed, from_weak, is_weak
from backblocks.ops._op import Attrs, Op, Value, each_value, flat
from backblocks.ops._spec import Shape, Spec
from backblocks.ops.attrs import Kind, PartialShape, dtype_of

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

    # An array on the left of an operator leaves the work to the symbol on its right.
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

    def __add__(self, other: Any) -> Any:
        return ops.add_v2(self, other)

    def __radd__(self, other: Any) -> Any:
        return ops.add_v2(other, self)

    def __sub__(self, other: Any) -> Any:
        return ops.sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return ops.sub(other, self)

    def __mul__(self, other: Any) -> Any:
        return ops.mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return ops.mul(other, self)

    def __truediv__(self, other: Any) -> Any:
        return ops.real_div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return ops.real_div(other, self)

    def __neg__(self) -> Any:
        return ops.neg(self)

    def __copy__(self) -> Symbol:
        return self  # a symbol stands for one place in a graph, and a copy would stand for none

    def __deepcopy__(self, memo: Any) -> Symbol:
        return self

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
    with _naming("Placeholder", "shape"):
        sizes = _kind(PartialShape).parse(shape)
    with _naming("Placeholder", "dtype"):
        return Symbol(Spec(sizes, _kind(AnyType).parse(dtype)), name=name)


def constant(value: Any, dtype: Any = None) -> Symbol:
    """A symbol whose value is known. Numbers without a dtype become float32 or int32."""
    with _naming("Const", "dtype"):
        wanted = None if dtype is None else _kind(AnyType).parse(dtype)
    with _naming("Const", "value"):
        array = from_weak(value, wanted, NAMES) if is_weak(value) else as_array(value, True)
    kept = array.astype(wanted or array.dtype)  # a copy: the caller may go on writing to theirs
    kept.flags.writeable = False
    return Symbol(Spec.of(kept))


AnyType = Annotated[Any, dtype_of(*ALL, "string")]


def _kind(annotated: Any) -> Kind:
    kind: Kind = annotated.__metadata__[0]
    return kind


@contextmanager
def _naming(op: str, arg: str) -> Iterator[None]:
    """Says whose argument it is in an error that kinds and readers leave without a name."""
    try:
        yield
    except OpError as error:
        error.op, error.arg = op, arg
        raise


def evaluate(fetches: Sequence[Symbol | None], feeds: Mapping[Symbol, Any]) -> list[Array]:
    """The values of `fetches`, each node run once, every shape rule asked again with the real values."""
    if isinstance(fetches, Symbol):
        raise _mistake("must be a list", "fetches", fetches, "Write [symbol], even for one.")
    wanted = [_fetched(symbol) for symbol in fetches]
    values = {id(symbol): _fed(symbol, value) for symbol, value in feeds.items()}

    def value_of(symbol: Symbol) -> Array:
        if id(symbol) in values:
            return values[id(symbol)]
        if symbol.value is None:
            raise OpError(
                "must be fed",
                op="Placeholder",
                arg=symbol.name or repr(symbol),
                hint="Give it a value in `feeds`.",
            )
        return symbol.value

    given = set(values)
    for node in sorted(nodes_behind(wanted, stop=given), key=lambda n: n.number):
        outputs = node.op.run(each_value(value_of, node.inputs), node.attrs)
        for symbol, output in zip(flat(node.outputs), flat(outputs), strict=True):
            values.setdefault(id(symbol), output)
    computed = set(values) - given
    return [
        value_of(symbol) if id(symbol) in computed else value_of(symbol).copy() for symbol in wanted
    ]


def _mistake(problem: str, arg: str, got: Any, hint: str) -> OpError:
    return OpError(problem, op="evaluate", arg=arg, got=got, hint=hint)


def _fetched(symbol: Any) -> Symbol:
    if symbol is None:
        hint = "A gradient is None when what was differentiated does not depend on the input."
        raise _mistake("None cannot be fetched", "fetches", symbol, hint)
    if not isinstance(symbol, Symbol):
        kind = described(type(symbol).__name__)
        raise _mistake("must be symbols", "fetches", kind, "Fetch what an op gave for a symbol.")
    return symbol


def _fed(symbol: Any, value: Any) -> Array:
    if not isinstance(symbol, Symbol):
        hint = "Use the placeholder itself as the key, not its name."
        raise _mistake("must be fed by symbol", "feeds", symbol, hint)
    arg = symbol.name or "value"
    with _naming("Placeholder", arg):
        array = as_typed(value, symbol.dtype)
    known = symbol.shape
    fits = known is None or (
        len(known) == array.ndim
        and all(n in (None, m) for n, m in zip(known, array.shape, strict=True))
    )
    if array.dtype != symbol.dtype or not fits:
        raise OpError(
            f"must be fed {symbol.spec}",
            op="Placeholder",
            arg=arg,
            got=described(str(Spec.of(array))),
            hint="Convert it with x.astype, or reshape it.",
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
