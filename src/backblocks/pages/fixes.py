"""Fixes of a block that broke a rule: what the rule proposes, tried out; its forward block's attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from backblocks.dtypes import NAMES, as_dtype
from backblocks.errors import Fix, OpError, nearest, set_to
from backblocks.graph.gradient_ops import gradient_ops, is_wired_as_gradient
from backblocks.graph.symbol import Block, placeholder
from backblocks.ops import REGISTRY
from backblocks.ops._declaration import Attr
from backblocks.ops._op import Attrs, Op, Value
from backblocks.ops._spec import Spec
from backblocks.ops._values import each_value
from backblocks.pages.builder import PageBuilder
from backblocks.pages.dataclass_json import Json
from backblocks.pages.model import PageBlock

MAX_FIXES = 3
"""Fixes that are offered for one problem."""


def working_fixes(
    builder: PageBuilder, name: str, node: Block, attrs: Attrs, error: OpError
) -> list[Fix]:
    """The fixes with which the rule passes: the best first, and no more than somebody wants to read."""
    found = []
    for fix in (*forward_attributes(builder, node, attrs), *error.fixes):
        if fix not in found and _can_be_edited(fix, builder, name):
            found += [fix] if _passes(fix, node, attrs, error) else []
    return found[:MAX_FIXES]


# -- the forward block of a gradient --------------------------------------------------------------


def forward_attributes(builder: PageBuilder, node: Block, attrs: Attrs) -> Iterator[Fix]:
    """For a block that is wired as the gradient of another one: that one's attributes, where they differ."""
    for other, parts in builder.expansions.items():
        # A gradient has the longer name; a convolution is the gradient of its gradient too.
        if len(parts) != 1 or len(parts[0].op.name) >= len(node.op.name):
            continue
        for way in gradient_ops(parts[0].op):
            own = any(not source.startswith("gradient ") for source in way.inputs.values())
            if own and way.op == node.op.name and is_wired_as_gradient(node, parts[0], way):
                theirs = {name: _as_json(parts[0].attrs[name]) for name in way.attrs}
                differ = {k: v for k, v in theirs.items() if v != _as_json(attrs.get(k))}
                if differ:
                    yield Fix("set", tuple(differ), differ, like=other)


def _as_json(value: Any) -> Json:
    """An attribute as a page writes it."""
    if isinstance(value, tuple):
        return [_as_json(each) for each in value]
    return NAMES[value] if value.__hash__ and value in NAMES else value


# -- proposals of rules, tried out ----------------------------------------------------------------


def _can_be_edited(fix: Fix, builder: PageBuilder, name: str) -> bool:
    """Whether what the fix changes stands on the page."""
    block = builder.page.blocks[name]
    given = [_given(block, arg) for arg in fix.args]
    match fix.kind:
        case "set":
            attrs = REGISTRY[block.op].attrs
            return all(
                arg in attrs or _is_constant(value, builder)
                for arg, value in zip(fix.args, given, strict=True)
            )
        case "insert":
            return type(given[0]) is str
        case "swap":
            return None not in given
        case "constant":
            return _is_constant(given[0], builder)


def _given(block: PageBlock, arg: str) -> Json:
    """What the page has at an input, or at one of a list."""
    pin, index = _place(arg)
    value = block.inputs.get(pin)
    return value[index] if index is not None and type(value) is list else value


def _place(arg: str) -> tuple[str, int | None]:
    found = re.fullmatch(r"(.*)\[(\d+)\]", arg)
    return (found[1], int(found[2])) if found else (arg, None)


def _is_constant(value: Json, builder: PageBuilder) -> bool:
    """Whether it is a constant that stands on the page, in the block or in a Const that a wire comes from."""
    if type(value) is not str:
        return value is not None and not (type(value) is dict and "file" in value)
    block = builder.page.blocks.get(value.partition(":")[0])
    return (
        block is not None
        and block.op == "Const"
        and _is_constant(block.attrs.get("value"), builder)
        and type(block.attrs.get("value")) is not str
    )


def _passes(fix: Fix, node: Block, attrs: Attrs, error: OpError) -> bool:
    """Whether the rule passes after the fix or, where that gives a dtype, at least comes to another one."""
    specs = dict(
        zip(
            (pin.name for pin in node.op.inputs),
            each_value(lambda symbol: symbol.spec, node.inputs),
            strict=True,
        )
    )
    try:
        specs, attrs = _fixed(fix, node.op, specs, attrs)
        node.op.infer([*specs.values()], attrs)
    except OpError as other:
        gives_dtype = fix.op == "Cast" or "dtype" in fix.values
        return gives_dtype and (other.arg, other.problem) != (error.arg, error.problem)
    return True


def _fixed(
    fix: Fix, op: Op, specs: dict[str, Value], attrs: Attrs
) -> tuple[dict[str, Value], Attrs]:
    """Specs of the inputs, and attributes, after a fix."""
    specs, attrs = {**specs}, {**attrs}
    match fix.kind:
        case "set":
            for name, value in fix.values.items():
                if name in op.attrs:
                    attrs[name] = op.attrs[name].kind.parse(value)
                else:
                    specs[name] = Spec.of(np.asarray(value, specs[name].dtype))
        case "insert":
            _replace(specs, fix.args[0], lambda spec: _inserted(fix, spec))
        case "swap":
            first, second = fix.args
            specs[first], specs[second] = specs[second], specs[first]
        case "constant":
            dtype, shape = fix.values.get("dtype"), fix.values.get("shape")
            _replace(
                specs,
                fix.args[0],
                lambda spec: Spec(
                    spec.shape if shape is None else tuple(shape),
                    spec.dtype if dtype is None else as_dtype(dtype),
                ),
            )
    return specs, attrs


def _replace(specs: dict[str, Value], arg: str, change: Any) -> None:
    pin, index = _place(arg)
    if index is None:
        specs[pin] = change(specs[pin])
    else:
        specs[pin] = tuple(change(s) if i == index else s for i, s in enumerate(specs[pin]))


def _inserted(fix: Fix, spec: Spec) -> Spec:
    """What comes out of the op that is inserted."""
    op = REGISTRY[fix.op]
    others = [pin.name for pin in op.inputs[1:]]
    attrs = {
        attr.name: attr.kind.parse(fix.values.get(attr.name, attr.default))
        for attr in op.attrs.values()
    }
    given = [placeholder(spec.shape, spec.dtype), *(fix.values[name] for name in others)]
    result: Spec = op.infer([spec, *(Spec.of(array) for array in op.arrays(given)[1:])], attrs)[0]
    return result


# -- attributes -----------------------------------------------------------------------------------


def option_fixes(attr: Attr, given: Json = None) -> list[Fix]:
    """Options of an attribute: the one that may have been meant, or those to choose from."""
    options = {option.lower(): option for option in attr.kind.options if option != "EXPLICIT"}
    if given is not None:
        near = nearest(str(given).lower(), options)
        return [set_to(**{attr.name: options[near]})] if near else []
    few = attr.kind.name == "choice" and len(options) <= MAX_FIXES
    return [set_to(**{attr.name: option}) for option in options.values()] if few else []


def attribute_fixes(builder: PageBuilder, node: Block, attrs: Attrs, error: OpError) -> list[Fix]:
    """The forward block's attributes, for an attribute that is missing or wrong."""
    return [fix for fix in forward_attributes(builder, node, attrs) if error.arg in fix.args]
