"""Adds the blocks of a page that are ops: their attributes, their inputs, what comes out."""

from __future__ import annotations

from typing import Any

from backblocks.dtypes import NAMES
from backblocks.errors import OpError
from backblocks.graph.symbol import Block, Symbol, find_variables
from backblocks.ops import REGISTRY
from backblocks.ops._op import Attrs, Op, Value
from backblocks.ops._spec import Spec
from backblocks.ops._values import each_value
from backblocks.ops.attrs import Kind
from backblocks.pages import problems
from backblocks.pages.constants import attribute, constant
from backblocks.pages.fields import Json
from backblocks.pages.folder import Folder
from backblocks.pages.making import CONST, Making, Waiting, agrees, typed
from backblocks.pages.model import PageBlock

_VARIABLE = REGISTRY["VariableV2"]
_SIMPLE = {Symbol, type(None), bool, int, float}


def add_op(making: Making, name: str, block: PageBlock) -> None:
    """Adds a block to the graph, or tells all that is wrong with it."""
    op = REGISTRY.get(block.op)
    if op is None:
        raise problems.unknown_op(block.op)
    if block.version > op.version:
        raise OpError(
            f"has a meaning here up to version {op.version}",
            got=block.version,
            hint="Install a later backblocks.",
        )
    if name in making.ports:
        making.wire(name, op, (making.ports[name],))
        making.made[name] = (making.ports[name].block,)
        return
    made = Block(op, [], {}, making.prefix + name)
    if block.after:
        made.after = making.collect(name, "after", making.after, block)
    if op is CONST:
        _fill_constant(making, name, block, made)
    elif op is _VARIABLE:
        _fill_variable(making, name, block, made)
    else:
        _fill(making, name, block, made)
    if name not in making.left_out:
        making.join(made, name)
        making.wire(name, op, made.outputs)
        making.made[name] = (made,)


def _fill(making: Making, name: str, block: PageBlock, made: Block) -> None:
    op = made.op
    attrs = _attrs(making, name, op, block.attrs)
    made.inputs = _inputs(making, name, op, block)
    if name in making.left_out:
        return
    made.attrs = dict(attrs)
    if op.writes:
        find_variables(made)
    made.outputs = tuple(
        tuple(Symbol(each, made, pin.name) for each in spec)
        if type(spec) is tuple
        else Symbol(spec, made, pin.name)
        for spec, pin in zip(_inferred(making, op, made.inputs, attrs), op.outputs, strict=True)
    )


def _inferred(making: Making, op: Op, inputs: list[Value], attrs: Attrs) -> tuple[Value, ...]:
    """What comes out; worked out once for blocks that are alike."""
    key = (
        id(attrs),
        *[
            id(x.spec) if type(x) is Symbol else x and tuple([id(s.spec) for s in x])
            for x in inputs
        ],
    )
    alike = making.alike
    found = alike.inferred.get(key)
    if found is None:
        given = op.infer(each_value(lambda symbol: symbol.spec, inputs), attrs)
        found = alike.inferred[key] = tuple(each_value(alike.spec, given))
    return found


# -- attributes and inputs ------------------------------------------------------------------------


def _attrs(making: Making, name: str, op: Op, given: dict[str, Json]) -> Attrs:
    """Attributes read by their kinds; one object for blocks that are alike."""
    plain = dict not in [type(value) for value in given.values()]
    key = (op.name, repr(given) if plain else making.prefix + name)
    known = making.alike.attrs.get(key)
    if known is not None:
        return known
    making.refuse_unknown(name, "attribute", given, list(op.attrs))
    attrs: Attrs = {}
    for attr in op.attrs.values():
        if attr.name in given:
            value = given[attr.name]
            attrs[attr.name] = making.collect(
                name, attr.name, _attr, attr.kind, value, making.folder
            )
        elif attr.required:
            hint = attr.kind.about
            making.problem(OpError("must be given", arg=attr.name, hint=hint), name)
        else:
            attrs[attr.name] = attr.kind.parse(attr.default)
    if name not in making.left_out:
        making.alike.attrs[key] = attrs
    return attrs


def _attr(kind: Kind, given: Json, folder: Folder) -> Any:
    return kind.parse(attribute(given, folder))


def _inputs(making: Making, name: str, op: Op, block: PageBlock) -> list[Value]:
    """For each input its symbol; constants become blocks of their own."""
    given, wires = block.inputs, making.wires
    found: list[Any] = []
    plain, waiting, used = True, False, 0
    for pin in op.inputs:
        value = given.get(pin.name)
        used += pin.name in given
        symbol = wires.get(value) if type(value) is str and pin.count == "one" else None
        if symbol is not None:
            found.append(symbol)
            continue
        try:
            value = making.input(value, pin)
            plain = plain and value is None
        except Waiting:
            waiting = True
        except OpError as error:
            error.arg = pin.name
            making.problem(error, name)
        found.append(value)
    if used < len(given):
        making.refuse_unknown(name, "input", given, [pin.name for pin in op.inputs])
    if waiting:
        raise Waiting
    return found if plain or name in making.left_out else _with_constants(making, name, op, found)


def _with_constants(making: Making, name: str, op: Op, inputs: list[Any]) -> list[Value]:
    """The inputs with a block for each constant among them."""
    symbols: list[Any] = []
    for pin, value in zip(op.inputs, _arrays(making, op, inputs), strict=True):
        own = f"{name}/{pin.name}"
        if type(value) is tuple:
            held = [making.held(f"{own}_{j}", each, name) for j, each in enumerate(value)]
            symbols.append(tuple(held))
        else:
            symbols.append(None if value is None else making.held(own, value, name))
    return symbols


def _arrays(making: Making, op: Op, inputs: list[Any]) -> list[Any]:
    """Numbers without a dtype as arrays of the one that their neighbours have."""
    if not {*map(type, inputs)} <= _SIMPLE:
        return op.arrays(inputs)
    key = (op.name, *[x.dtype if type(x) is Symbol else repr(x) for x in inputs])
    known = making.alike.arrays.get(key)
    if known is None:
        known = making.alike.arrays[key] = op.arrays(inputs)
    return [x if type(x) is Symbol else k for x, k in zip(inputs, known, strict=True)]


# -- blocks that hold a value ---------------------------------------------------------------------


def _fill_constant(making: Making, name: str, block: PageBlock, made: Block) -> None:
    making.refuse_unknown(name, "attribute", block.attrs, ("value", "dtype"))
    making.refuse_unknown(name, "input", block.inputs, ())
    if "value" not in block.attrs:
        raise OpError("must be given", arg="value", hint="Write such as 1.5 or [1, 2].")
    dtype = block.attrs.get("dtype")
    value = making.collect(name, "value", _literal, block.attrs["value"], dtype, making.folder)
    if name not in making.left_out:
        making.hold(made, value)


def _literal(given: Json, dtype: Json, folder: Folder) -> Any:
    return typed(constant(given, folder), dtype)


def _fill_variable(making: Making, name: str, block: PageBlock, made: Block) -> None:
    given = block.attrs
    if block.initial is not None:
        start = making.collect(name, "initial", _start, making, name, block)
        # What it starts from tells dtype and shape; where that is wrong they are not missed.
        shape = [] if start is None else start.shape
        dtype = "float32" if start is None else NAMES[start.dtype]
        given = {"shape": shape if shape is None else list(shape), "dtype": dtype, **given}
        made.initial = start
    attrs = _attrs(making, name, _VARIABLE, given)
    _inputs(making, name, _VARIABLE, block)
    if name in making.left_out:
        return
    if made.initial is not None:
        agrees("initial", made.initial, attrs["dtype"], attrs["shape"], "the variable")
    made.attrs = dict(attrs)
    made.outputs = (Symbol(Spec(attrs["shape"], attrs["dtype"]), made, "ref"),)


def _start(making: Making, name: str, block: PageBlock) -> Symbol:
    value = making.value(block.initial)
    if type(value) is not Symbol:
        value = typed(value, block.attrs.get("dtype"))
    return making.held(f"{name}/initial", value, name)
