"""Builds the blocks of a page that are ops: attributes parsed, inputs wired, output Specs inferred."""

from __future__ import annotations

from typing import Any

from backblocks.dtypes import NAMES
from backblocks.errors import OpError
from backblocks.graph.symbol import Block, Symbol, find_variables
from backblocks.ops import REGISTRY
from backblocks.ops._declaration import Attr
from backblocks.ops._op import Attrs, Op, Value
from backblocks.ops._spec import Spec
from backblocks.ops._values import each_value
from backblocks.pages import problems
from backblocks.pages.builder import (
    CONST,
    DependencyFailed,
    PageBuilder,
    as_typed_array,
    check_type,
)
from backblocks.pages.constants import parse_attribute, parse_constant
from backblocks.pages.dataclass_json import Json
from backblocks.pages.fixes import attribute_fixes, option_fixes, working_fixes
from backblocks.pages.folder import Folder
from backblocks.pages.model import PageBlock

_VARIABLE = REGISTRY["VariableV2"]
_SIMPLE = {Symbol, type(None), bool, int, float}


def add_op(builder: PageBuilder, name: str, block: PageBlock) -> None:
    """Adds a block to the graph, or reports all its problems."""
    op = REGISTRY.get(block.op)
    if op is None:
        raise problems.unknown_op(block.op)
    if block.version > op.version:
        raise OpError(
            f"is known here up to version {op.version}",
            got=block.version,
            hint="Install a later backblocks.",
        )
    if name in builder.ports:
        builder.add_wires(name, op, (builder.ports[name],))
        builder.expansions[name] = (builder.ports[name].block,)
        return
    node = Block(op, [], {}, builder.prefix + name)
    if block.after:
        node.after = builder.attempt(name, "after", builder.control_dependencies, block)
    if op is CONST:
        _fill_constant(builder, name, block, node)
    elif op is _VARIABLE:
        _fill_variable(builder, name, block, node)
    else:
        _fill(builder, name, block, node)
    if name not in builder.skipped:
        builder.add_block(node, name)
        builder.add_wires(name, op, node.outputs)
        builder.expansions[name] = (node,)


def _fill(builder: PageBuilder, name: str, block: PageBlock, node: Block) -> None:
    op = node.op
    before = len(builder.problems)
    attrs = _attrs(builder, name, op, block.attrs)
    node.inputs = _inputs(builder, name, op, block)
    if name in builder.skipped:
        for _, error in builder.problems[before:]:
            if error.arg in op.attrs and len(node.inputs) == len(op.inputs):
                error.fixes[:0] = attribute_fixes(builder, node, attrs, error)
        return
    node.attrs = dict(attrs)
    if op.writes:
        find_variables(node)
    node.outputs = tuple(
        tuple(Symbol(each, node, pin.name) for each in spec)
        if type(spec) is tuple
        else Symbol(spec, node, pin.name)
        for spec, pin in zip(
            _inferred_or_fixes(builder, name, node, attrs), op.outputs, strict=True
        )
    )


def _inferred_or_fixes(
    builder: PageBuilder, name: str, node: Block, attrs: Attrs
) -> tuple[Value, ...]:
    try:
        return _inferred(builder, node.op, node.inputs, attrs)
    except OpError as error:
        error.fixes = working_fixes(builder, name, node, attrs, error)
        raise


def _inferred(builder: PageBuilder, op: Op, inputs: list[Value], attrs: Attrs) -> tuple[Value, ...]:
    """Specs of the outputs, memoised by attributes and input Specs."""
    key = (
        id(attrs),
        *[
            id(x.spec) if type(x) is Symbol else x and tuple([id(s.spec) for s in x])
            for x in inputs
        ],
    )
    cache = builder.cache
    found = cache.inferred.get(key)
    if found is None:
        specs = op.infer(each_value(lambda symbol: symbol.spec, inputs), attrs)
        found = cache.inferred[key] = tuple(each_value(cache.intern, specs))
    return found


# -- attributes and inputs ------------------------------------------------------------------------


def _attrs(builder: PageBuilder, name: str, op: Op, given: dict[str, Json]) -> Attrs:
    """Parsed attributes; one object for blocks with the same op and attributes."""
    plain = dict not in [type(value) for value in given.values()]
    key = (op.name, repr(given) if plain else builder.prefix + name)
    known = builder.cache.attrs.get(key)
    if known is not None:
        return known
    builder.reject_unknown(name, "attribute", given, list(op.attrs))
    attrs: Attrs = {}
    for attr in op.attrs.values():
        if attr.name in given:
            value = given[attr.name]
            attrs[attr.name] = builder.attempt(name, attr.name, _attr, attr, value, builder.folder)
        elif attr.required:
            hint, fixes = attr.kind.about, option_fixes(attr)
            error = OpError("must be given", arg=attr.name, hint=hint, fixes=fixes)
            builder.add_problem(error, name)
        else:
            attrs[attr.name] = attr.kind.parse(attr.default)
    if name not in builder.skipped:
        builder.cache.attrs[key] = attrs
    return attrs


def _attr(attr: Attr, given: Json, folder: Folder) -> Any:
    try:
        return attr.kind.parse(parse_attribute(given, folder))
    except OpError as error:
        error.fixes = option_fixes(attr, given)
        raise


def _inputs(builder: PageBuilder, name: str, op: Op, block: PageBlock) -> list[Value]:
    """The symbol of each input; constants become Const blocks."""
    given, wires = block.inputs, builder.wires
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
            value = builder.read_input(value, pin)
            plain = plain and value is None
        except DependencyFailed:
            waiting = True
        except OpError as error:
            error.arg = pin.name
            builder.add_problem(error, name)
        found.append(value)
    if used < len(given):
        builder.reject_unknown(name, "input", given, [pin.name for pin in op.inputs])
    if waiting:
        raise DependencyFailed
    return found if plain or name in builder.skipped else _with_constants(builder, name, op, found)


def _with_constants(builder: PageBuilder, name: str, op: Op, inputs: list[Any]) -> list[Value]:
    """The inputs, with a Const block for each constant among them."""
    symbols: list[Any] = []
    for pin, value in zip(op.inputs, _arrays(builder, op, inputs), strict=True):
        own = f"{name}/{pin.name}"
        if type(value) is tuple:
            elements = [builder.as_symbol(f"{own}_{j}", each, name) for j, each in enumerate(value)]
            symbols.append(tuple(elements))
        else:
            symbols.append(None if value is None else builder.as_symbol(own, value, name))
    return symbols


def _arrays(builder: PageBuilder, op: Op, inputs: list[Any]) -> list[Any]:
    """Untyped numbers as arrays of the dtype that the other inputs imply; memoised."""
    if not {*map(type, inputs)} <= _SIMPLE:
        return op.arrays(inputs)
    key = (op.name, *[x.dtype if type(x) is Symbol else repr(x) for x in inputs])
    known = builder.cache.arrays.get(key)
    if known is None:
        known = builder.cache.arrays[key] = op.arrays(inputs)
    return [x if type(x) is Symbol else k for x, k in zip(inputs, known, strict=True)]


# -- constants and variables ------------------------------------------------------------------------


def _fill_constant(builder: PageBuilder, name: str, block: PageBlock, node: Block) -> None:
    builder.reject_unknown(name, "attribute", block.attrs, ("value", "dtype"))
    builder.reject_unknown(name, "input", block.inputs, ())
    if "value" not in block.attrs:
        raise OpError("must be given", arg="value", hint="Write such as 1.5 or [1, 2].")
    dtype = block.attrs.get("dtype")
    value = builder.attempt(name, "value", _literal, block.attrs["value"], dtype, builder.folder)
    if name not in builder.skipped:
        builder.set_constant(node, value)


def _literal(given: Json, dtype: Json, folder: Folder) -> Any:
    return as_typed_array(parse_constant(given, folder), dtype)


def _fill_variable(builder: PageBuilder, name: str, block: PageBlock, node: Block) -> None:
    given = block.attrs
    if block.initial is not None:
        start = builder.attempt(name, "initial", _initial_value, builder, name, block)
        # The initial value implies dtype and shape; if it has a problem, they are not reported missing too.
        shape = [] if start is None else start.shape
        dtype = "float32" if start is None else NAMES[start.dtype]
        given = {"shape": shape if shape is None else list(shape), "dtype": dtype, **given}
        node.initial = start
    attrs = _attrs(builder, name, _VARIABLE, given)
    _inputs(builder, name, _VARIABLE, block)
    if name in builder.skipped:
        return
    if node.initial is not None:
        check_type("initial", node.initial, attrs["dtype"], attrs["shape"], "the variable")
    node.attrs = dict(attrs)
    node.outputs = (Symbol(Spec(attrs["shape"], attrs["dtype"]), node, "ref"),)


def _initial_value(builder: PageBuilder, name: str, block: PageBlock) -> Symbol:
    value = builder.read_value(block.initial)
    if type(value) is not Symbol:
        value = as_typed_array(value, block.attrs.get("dtype"))
    return builder.as_symbol(f"{name}/initial", value, name)
