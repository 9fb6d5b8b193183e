"""Blocks and symbols: what ops add and give when they are called on symbols instead of arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from backblocks import ops
from backblocks.dtypes import ALL_BUT_RESOURCE, NAMES, DType
from backblocks.errors import BackblocksError, OpError, described
from backblocks.ops._inputs import Array, as_constant
from backblocks.ops._op import REGISTRY, Attrs, Op, Value, builders
from backblocks.ops._spec import Shape, Spec
from backblocks.ops._values import each_value, flat
from backblocks.ops.attrs import dtype_of

if TYPE_CHECKING:
    from backblocks.graph.scope import Scope

_CONST, _PLACEHOLDER, _VARIABLE = (REGISTRY[n] for n in ("Const", "Placeholder", "VariableV2"))
_VALUE_TYPE = dtype_of(*ALL_BUT_RESOURCE)
_numbers = itertools.count()


@dataclass(eq=False)
class Block:
    """An op on a page: its attributes, and the symbols its inputs are wired to.

    `after` are blocks that have to run first although nothing flows from them, `initial` is what a
    variable starts from. Numbers grow as blocks are made, so their order is one to run in.
    """

    op: Op
    inputs: list[Value]
    attrs: Attrs
    name: str = ""
    after: tuple[Block, ...] = ()
    initial: Symbol | None = None
    outputs: tuple[Value, ...] = ()
    variables: dict[str, Block] = field(default_factory=dict)
    """By the pins that it writes to, the blocks whose state that is."""
    number: int = field(default_factory=lambda: next(_numbers))

    def __repr__(self) -> str:
        return f"<block {self.label}>"

    @property
    def label(self) -> str:
        """How errors speak of it."""
        return self.name or self.op.name

    def __copy__(self) -> Block:
        return self  # it stands in one place of a graph, and a copy would stand in none

    def __deepcopy__(self, memo: Any) -> Block:
        return self


@dataclass(eq=False)
class Symbol:
    """One output of a block: a value that is not there yet."""

    spec: Spec
    block: Block
    pin: str

    # An array on the left of an operator leaves the work to the symbol on its right.
    __array_ufunc__ = None

    @property
    def name(self) -> str:
        """Block and pin, as a page writes them."""
        return f"{self.block.label}:{self.pin}"

    @property
    def shape(self) -> Shape:
        return self.spec.shape

    @property
    def dtype(self) -> DType:
        return self.spec.dtype

    @property
    def value(self) -> Array | None:
        """The value, where it is known before anything runs."""
        return self.spec.value

    def __apply_op__(self, op: Op, inputs: list[Value], attrs: Attrs, name: str) -> Any:
        """Called by an op that was given a symbol: add a block instead of computing."""
        return wired(op, inputs, attrs, name)

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

    def __matmul__(self, other: Any) -> Any:
        return ops.batch_mat_mul_v2(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return ops.batch_mat_mul_v2(other, self)

    def __pow__(self, other: Any) -> Any:
        return ops.pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return ops.pow(other, self)

    def __lt__(self, other: Any) -> Any:
        return ops.less(self, other)

    def __le__(self, other: Any) -> Any:
        return ops.less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return ops.greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return ops.greater_equal(self, other)

    def __bool__(self) -> bool:
        raise OpError(
            "is neither true nor false before a run",
            arg=self.name,
            hint="Choose with SelectV2 or Switch, or fetch it first.",
        )

    def __abs__(self) -> Any:
        return ops.abs(self)

    def __neg__(self) -> Any:
        return ops.neg(self)

    def __copy__(self) -> Symbol:
        return self

    def __deepcopy__(self, memo: Any) -> Symbol:
        return self

    def __repr__(self) -> str:
        return f"<{self.block.op.name} {self.spec}>"


def holds_state(block: Block) -> bool:
    """Whether a session keeps what it gives: a variable, a queue, a reader."""
    return block.op.holds


def variable_of(symbol: Symbol) -> Block | None:
    """The block whose state a symbol is: its own, or the variable that a block gives the new value of."""
    block = symbol.block
    if holds_state(block):
        return block
    for name, output in zip(block.op.gives_back, block.outputs, strict=False):
        if output is symbol:
            return block.variables[name]
    return None


def find_variables(block: Block) -> None:
    """Notes whose state a block writes to, and refuses one that writes to what is no variable."""
    for pin, symbol in zip(block.op.inputs, block.inputs, strict=True):
        if pin.name not in block.op.writes:
            continue
        variable = variable_of(symbol)
        if variable is not None:
            block.variables[pin.name] = variable
        else:
            handle = pin.dtype == "resource"
            raise OpError(
                "must be what a block gives that holds a state" if handle else "must be a variable",
                op=block.op.name,
                arg=pin.name,
                got=described(repr(symbol)),
                hint="Wire it to a queue or a reader."
                if handle
                else "Make one with bb.variable(initial value).",
            )


def wired(op: Op, inputs: Sequence[Value], attrs: Attrs, name: str = "") -> Any:
    """What a new block of `op` gives: its symbols, or the block itself if it has no output."""
    block = add_block(op, inputs, attrs, name)
    return op.result(block.outputs) if block.outputs else block


def add_block(op: Op, inputs: Sequence[Value], attrs: Attrs, name: str = "") -> Block:
    """A block wired to symbols; what is no symbol yet becomes a constant. It joins the current scope."""
    scope: Scope | None = next(iter(builders.get()[-1:]), None)
    symbols = each_value(lambda x: x if isinstance(x, Symbol) else constant(x), op.arrays(inputs))
    block = Block(op, symbols, attrs, name)
    if scope is not None:
        block.name, block.after = scope.unique_name(name or op.name), scope.after
    try:
        find_variables(block)
        specs = op.infer(each_value(lambda s: s.spec, symbols), attrs)
        block.outputs = tuple(
            each_value(lambda spec, pin=pin: Symbol(spec, block, pin.name), (each,))[0]  # type: ignore[misc]
            for each, pin in zip(specs, op.outputs, strict=True)
        )
        if scope is not None:
            scope.graph.add(block)
    except BackblocksError as error:
        if scope is not None:
            error.block = block.name
            scope.graph.give_back(block.name)
        raise
    return block


def constant(value: Any, dtype: Any = None, name: str = "") -> Symbol:
    """A symbol whose value is known. Numbers without a dtype become float32 or int32."""
    with _naming("Const", "dtype"):
        wanted = None if dtype is None else _VALUE_TYPE.parse(dtype)
    with _naming("Const", "value"):
        array = as_constant(value, wanted)
    symbol: Symbol = wired(_CONST, [], {"value": array, "dtype": array.dtype}, name)
    return symbol


def placeholder(
    shape: Sequence[int | None] | None, dtype: Any = "float32", name: str = ""
) -> Symbol:
    """A symbol to be fed. A size, or the whole shape, may be None: not known yet."""
    with _naming("Placeholder"):
        _, attrs, _ = _PLACEHOLDER.bind((), {"shape": shape, "dtype": dtype})
    symbol: Symbol = wired(_PLACEHOLDER, [], attrs, name)
    return symbol


def variable(initial: Any, dtype: Any = None, name: str = "") -> Symbol:
    """A symbol whose value a session keeps, and which other blocks can change."""
    start = initial if isinstance(initial, Symbol) else constant(initial, dtype)
    with _naming("VariableV2", "dtype"):
        kind = _VARIABLE.attrs["dtype"].kind
        kind.parse(start.dtype)
        if dtype is not None and kind.parse(dtype) != start.dtype:
            hint = "Leave it out, or Cast what it starts from."
            raise OpError(f"must be {NAMES[start.dtype]}, as its start", got=dtype, hint=hint)
    attrs = {"shape": start.shape, "dtype": start.dtype, "container": "", "shared_name": ""}
    symbol: Symbol = wired(_VARIABLE, [], attrs, name)
    symbol.block.initial = start
    return symbol


@contextmanager
def _naming(op: str, arg: str = "") -> Iterator[None]:
    """Says whose argument it is in an error that kinds and readers leave without a name."""
    try:
        yield
    except OpError as error:
        error.op, error.arg = op, arg or error.arg
        raise


def blocks_behind(symbols: Sequence[Symbol], stop: set[int] = frozenset()) -> Iterator[Block]:  # type: ignore[assignment]
    """Every block that `symbols` are computed from, without looking behind the ids in `stop`."""
    seen: set[int] = set()
    todo = [s for s in symbols if id(s) not in stop]
    while todo:
        block = todo.pop().block
        if block.number not in seen:
            seen.add(block.number)
            yield block
            todo += [s for s in flat(block.inputs) if id(s) not in stop]
