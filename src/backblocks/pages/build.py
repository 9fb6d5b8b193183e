"""Makes the graph of a page, and finds everything that is wrong with it.

A block that is wrong does not stop the others: all problems are collected, and blocks that depend on a
wrong one are left out without a word. Nothing runs, and no file is opened but the constants and pages that
the page names, in its own folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from backblocks.dtypes import NAMES, as_dtype
from backblocks.errors import OpError, described
from backblocks.graph.gradients import gradients
from backblocks.graph.scope import Graph, Scope
from backblocks.graph.symbol import Block, Symbol, check_variables
from backblocks.ops import REGISTRY
from backblocks.ops._inputs import as_constant
from backblocks.ops._op import Attrs, Op, Value, each_value
from backblocks.ops._pins import Pin
from backblocks.ops._spec import Spec, agreed, shape_text
from backblocks.ops.attrs import Kind
from backblocks.pages.constants import attribute, constant
from backblocks.pages.fields import Json
from backblocks.pages.folder import Folder
from backblocks.pages.model import PageBlock, PageFile, Port
from backblocks.pages.order import in_order, rings
from backblocks.pages.text import parse, read_file

GRADIENTS, PAGE = "gradients", "page"
"""The blocks that are no ops."""

MOST_BLOCKS = 1_000_000
"""In a graph, with all pages that are used as blocks."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*(/[A-Za-z0-9][A-Za-z0-9_.\-]*)*")
_CONST, _VARIABLE = REGISTRY["Const"], REGISTRY["VariableV2"]
_SIMPLE = {Symbol, type(None), bool, int, float}
_FEW = 64
"""Constants of at most this many elements are compared by value to see whether blocks are alike."""


class PageGraph(Graph):
    """The graph of a page. It also knows outputs of blocks that are no ops, such as "grads:dx[0]"."""

    def __init__(self) -> None:
        super().__init__()
        self.wires: dict[str, Symbol] = {}
        self.made_for: dict[str, str] = {}
        """For each block the one on the page that it was made for."""

    def symbol(self, name: str) -> Symbol:
        return self.wires.get(name) or super().symbol(name)


@dataclass
class Built:
    """What became of a page."""

    graph: PageGraph
    """Of its sound blocks."""
    problems: list[tuple[str, OpError]]
    """All that is wrong, each with the block of the page that it belongs to, if to one."""


def build(page: PageFile) -> Built:
    """Builds all that can be built."""
    builder = _Builder(PageGraph(), page, Folder.of(page.path))
    builder.build()
    builder.graph.wires = builder.wires
    builder.check_the_rest()
    return Built(builder.graph, builder.problems)


class _Waiting(Exception):
    """Something that it needs was left out."""


@dataclass
class _Alike:
    """What is the same for blocks that are alike, so that it is worked out once."""

    attrs: dict[tuple[str, str], Attrs] = field(default_factory=dict)
    arrays: dict[Any, list[Any]] = field(default_factory=dict)
    known: dict[Any, Spec] = field(default_factory=dict)
    """One Spec for all that shape rules cannot tell apart."""
    inferred: dict[Any, tuple[Value, ...]] = field(default_factory=dict)
    """What comes out, by the identity of the attributes and of the Specs that come in."""

    def spec(self, spec: Spec) -> Spec:
        value = spec.known
        if value is None:
            return self.known.setdefault(spec, spec)
        if value.size > _FEW or spec.dtype.hasobject:
            return self.known.setdefault(id(value), spec)
        return self.known.setdefault((spec.shape, spec.dtype, value.tobytes()), spec)


@dataclass
class _Builder:
    """Builds one page into a graph. A page that is used as a block gets a builder of its own."""

    graph: PageGraph
    page: PageFile
    folder: Folder
    prefix: str = ""
    owner: str = ""
    """The block of the page itself that stands for this page, if it is used as a block."""
    ports: dict[str, Symbol] = field(default_factory=dict)
    """For the placeholder of a port, what is wired to the port."""
    inside: tuple[Any, ...] = ()
    """The files of the pages that it is used in."""
    alike: _Alike = field(default_factory=_Alike)
    wires: dict[str, Symbol] = field(default_factory=dict)
    without: dict[str, str] = field(default_factory=dict)
    """Outputs that have no value, and why."""
    problems: list[tuple[str, OpError]] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)

    def build(self) -> None:
        blocks = self.page.blocks
        for name in blocks:
            if not _NAME.fullmatch(name):
                self._problem(_bad_name(name), name)
            elif name in self.ports:
                continue
            elif self.graph.unique_name(self.prefix + name) != self.prefix + name:
                self._problem(_taken_name(name), name)
        needs = {name: needed_by(block) for name, block in blocks.items()}
        ordered = in_order(needs)
        if len(ordered) < len(blocks):
            left = [name for name in blocks if name not in set(ordered)]
            for ring in rings(left, needs):
                self._problem(_circle(ring), ring[0])
            self.left_out.update(left)
        for name in ordered:
            if name not in self.left_out:
                self._add(name, blocks[name])

    def _add(self, name: str, block: PageBlock) -> None:
        try:
            if block.op == GRADIENTS:
                self._add_gradients(name, block)
            elif block.op == PAGE:
                self._add_page(name, block)
            else:
                self._add_op(name, block)
        except _Waiting:
            self.left_out.add(name)
        except OpError as error:
            self._problem(error, name)

    def _problem(self, error: OpError, name: str) -> None:
        error.op = error.op or self.page.blocks[name].op
        error.block = self.prefix + name
        self.problems.append((self.owner or name, error))
        self.left_out.add(name)

    def _collect(self, name: str, arg: str, read: Callable[..., Any], *given: Any) -> Any:
        """What `read` gives; if it fails, that is one more problem, and others are still looked for."""
        try:
            return read(*given)
        except OpError as error:
            error.arg = arg
            self._problem(error, name)

    # -- blocks of ops ------------------------------------------------------------------

    def _add_op(self, name: str, block: PageBlock) -> None:
        op = REGISTRY.get(block.op)
        if op is None:
            raise _unknown_op(block.op)
        if block.version > op.version:
            raise OpError(
                f"has a meaning here up to version {op.version}",
                got=block.version,
                hint="Install a later backblocks.",
            )
        if name in self.ports:
            self._wire(name, op, (self.ports[name],))
            return
        made = Block(op, [], {}, self.prefix + name)
        if op is _CONST:
            self._fill_constant(name, block, made)
        elif op is _VARIABLE:
            self._fill_variable(name, block, made)
        else:
            self._fill(name, block, made)
        if name in self.left_out:
            return
        if block.after:
            made.after = self._after(block)
        self._join(made, name)
        self._wire(name, op, made.outputs)

    def _fill(self, name: str, block: PageBlock, made: Block) -> None:
        op = made.op
        attrs = self._attrs(name, op, block.attrs)
        made.inputs = self._inputs(name, op, block)
        if name in self.left_out:
            return
        made.attrs = dict(attrs)
        if op.writes:
            check_variables(made)
        made.outputs = tuple(
            tuple(Symbol(each, made, pin.name) for each in spec)
            if type(spec) is tuple
            else Symbol(spec, made, pin.name)
            for spec, pin in zip(self._inferred(op, made.inputs, attrs), op.outputs, strict=True)
        )

    def _inferred(self, op: Op, inputs: list[Value], attrs: Attrs) -> tuple[Value, ...]:
        """What comes out; worked out once for blocks that are alike."""
        key = (
            id(attrs),
            *[
                id(x.spec) if type(x) is Symbol else x and tuple([id(s.spec) for s in x])
                for x in inputs
            ],
        )
        found = self.alike.inferred.get(key)
        if found is None:
            given = op.infer(each_value(lambda symbol: symbol.spec, inputs), attrs)
            found = self.alike.inferred[key] = tuple(each_value(self.alike.spec, given))
        return found

    def _join(self, made: Block, name: str) -> None:
        blocks = self.graph.blocks
        blocks[made.name] = made
        self.graph.made_for[made.name] = self.owner or name
        if len(blocks) > MOST_BLOCKS:
            hint = "Do pages use each other many times over?"
            raise OpError(f"must come to at most {MOST_BLOCKS} blocks", op="Page", hint=hint)

    def _wire(self, name: str, op: Op, outputs: Sequence[Value]) -> None:
        for pin, output in zip(op.outputs, outputs, strict=True):
            if type(output) is tuple:
                self._wire_list(name, pin.name, output)
            else:
                self.wires[f"{name}:{pin.name}"] = output
                self.wires.setdefault(name, output)

    def _wire_list(self, name: str, pin: str, symbols: Sequence[Symbol | None]) -> None:
        for i, symbol in enumerate(symbols):
            if symbol is not None:
                self.wires[f"{name}:{pin}[{i}]"] = symbol
                self.wires.setdefault(f"{name}:{pin}", symbol)
                self.wires.setdefault(name, symbol)

    def _after(self, block: PageBlock) -> tuple[Block, ...]:
        found = []
        for name in block.after:
            if name in self.left_out:
                raise _Waiting
            if self.prefix + name not in self.graph:
                error = _no_block(name, self.page)
                error.arg = "after"
                raise error
            found.append(self.graph[self.prefix + name])
        return tuple(found)

    # -- attributes and inputs ----------------------------------------------------------

    def _attrs(self, name: str, op: Op, given: dict[str, Json]) -> Attrs:
        """Attributes read by their kinds; one object for blocks that are alike."""
        plain = dict not in [type(value) for value in given.values()]
        key = (op.name, repr(given) if plain else self.prefix + name)
        known = self.alike.attrs.get(key)
        if known is not None:
            return known
        for unknown in given.keys() - op.attrs.keys():
            self._problem(_no_such("attribute", unknown, op.attrs), name)
        attrs: Attrs = {}
        for attr in op.attrs.values():
            if attr.name in given:
                value = given[attr.name]
                attrs[attr.name] = self._collect(name, attr.name, self._attr, attr.kind, value)
            elif attr.required:
                hint = attr.kind.about
                self._problem(OpError("must be given", arg=attr.name, hint=hint), name)
            else:
                attrs[attr.name] = attr.kind.parse(attr.default)
        if name not in self.left_out:
            self.alike.attrs[key] = attrs
        return attrs

    def _attr(self, kind: Kind, given: Json) -> Any:
        return kind.parse(attribute(given, self.folder))

    def _inputs(self, name: str, op: Op, block: PageBlock) -> list[Value]:
        """For each input its symbol; constants become blocks of their own."""
        given, wires = block.inputs, self.wires
        found: list[Any] = []
        plain, waiting, used = True, False, 0
        for pin in op.inputs:
            value = given.get(pin.name)
            used += value is not None
            symbol = wires.get(value) if type(value) is str and pin.count == "one" else None
            if symbol is not None:
                found.append(symbol)
                continue
            try:
                value = self._input(value, pin)
                plain = plain and value is None
            except _Waiting:
                waiting = True
            except OpError as error:
                error.arg = pin.name
                self._problem(error, name)
            found.append(value)
        if used < len(given):
            names = [pin.name for pin in op.inputs]
            for unknown in given.keys() - names:
                self._problem(_no_such("input", unknown, names), name)
        if waiting:
            raise _Waiting
        return found if plain or name in self.left_out else self._with_constants(name, op, found)

    def _input(self, given: Json, pin: Pin) -> Any:
        if given is None:
            if pin.count != "optional":
                raise OpError("must be wired", hint="Wire an output to it, or write a value.")
            return None
        if not pin.is_list:
            return self._value(given)
        if type(given) is not list:
            hint = 'Put it in brackets: ["block:pin"].'
            raise OpError("must be a list of wires", got=given, hint=hint)
        return tuple(self._value(each) for each in given)

    def _value(self, given: Json) -> Any:
        return self._symbol(given) if type(given) is str else constant(given, self.folder)

    def _symbol(self, wire: str) -> Symbol:
        symbol = self.wires.get(wire)
        if symbol is not None:
            return symbol
        name = wire.partition(":")[0]
        if name in self.left_out:
            raise _Waiting
        if name not in self.page.blocks:
            raise _no_block(name, self.page)
        if wire in self.without:
            raise OpError(self.without[wire], got=wire, hint="Wire something else to it.")
        pins = [each.partition(":")[2] for each in self.wires if each.startswith(f"{name}:")]
        raise OpError(
            "must come from an output of its block",
            got=wire,
            hint=f"{name} has {', '.join(pins)}." if pins else f"{name} has no output.",
        )

    def _with_constants(self, name: str, op: Op, inputs: list[Any]) -> list[Value]:
        """The inputs with a block for each constant among them."""
        symbols: list[Any] = []
        for pin, value in zip(op.inputs, self._arrays(op, inputs), strict=True):
            if type(value) is tuple:
                held = [
                    self._held(f"{name}/{pin.name}_{j}", each, name) for j, each in enumerate(value)
                ]
                symbols.append(tuple(held))
            else:
                symbols.append(
                    None if value is None else self._held(f"{name}/{pin.name}", value, name)
                )
        return symbols

    def _arrays(self, op: Op, inputs: list[Any]) -> list[Any]:
        """Numbers without a dtype as arrays of the one that their neighbours have."""
        if not {*map(type, inputs)} <= _SIMPLE:
            return op.arrays(inputs)
        key = (op.name, *[x.dtype if type(x) is Symbol else repr(x) for x in inputs])
        known = self.alike.arrays.get(key)
        if known is None:
            known = self.alike.arrays[key] = op.arrays(inputs)
        return [x if type(x) is Symbol else k for x, k in zip(inputs, known, strict=True)]

    # -- blocks that hold a value -------------------------------------------------------

    def _held(self, own: str, value: Any, name: str) -> Symbol:
        """A symbol as it is; anything else as a constant, which is named after the input it is at."""
        if type(value) is Symbol:
            return value
        made = Block(_CONST, [], {}, self.graph.unique_name(self.prefix + own))
        self._hold(made, value)
        self._join(made, name)
        symbol: Symbol = made.outputs[0]
        return symbol

    def _hold(self, made: Block, value: Any) -> None:
        array = as_constant(value)
        made.attrs = {"value": array, "dtype": array.dtype}
        spec = self.alike.spec(Spec(array.shape, array.dtype, array))
        made.outputs = (Symbol(spec, made, "output"),)

    def _fill_constant(self, name: str, block: PageBlock, made: Block) -> None:
        for kind, given, known in (
            ("attribute", block.attrs, ("value", "dtype")),
            ("input", block.inputs, ()),
        ):
            for unknown in given.keys() - {*known}:
                self._problem(_no_such(kind, unknown, known), name)
        if "value" not in block.attrs:
            hint = "Write such as 1.5 or [1, 2]."
            raise OpError("must be given", arg="value", hint=hint)
        dtype = block.attrs.get("dtype")
        value = self._collect(name, "value", self._literal, block.attrs["value"], dtype)
        if name not in self.left_out:
            self._hold(made, value)

    def _literal(self, given: Json, dtype: Json) -> Any:
        return _typed(constant(given, self.folder), dtype)

    def _fill_variable(self, name: str, block: PageBlock, made: Block) -> None:
        given = block.attrs
        if block.initial is not None:
            value = self._collect(name, "initial", self._value, block.initial)
            if name in self.left_out:
                return
            if type(value) is not Symbol:
                value = _typed(value, given.get("dtype"))
            start = made.initial = self._held(f"{name}/initial", value, name)
            shape = None if start.shape is None else list(start.shape)
            given = {"shape": shape, "dtype": NAMES[start.dtype], **given}
        attrs = self._attrs(name, _VARIABLE, given)
        self._inputs(name, _VARIABLE, block)
        if name in self.left_out:
            return
        if made.initial is not None:
            _agrees("initial", made.initial, attrs["dtype"], attrs["shape"], "the variable")
        made.attrs = dict(attrs)
        made.outputs = (Symbol(Spec(attrs["shape"], attrs["dtype"]), made, "ref"),)

    # -- blocks that are no ops ---------------------------------------------------------

    def _add_gradients(self, name: str, block: PageBlock) -> None:
        """Adds the blocks that compute them, in a scope of the block's name."""
        for unknown in block.inputs.keys() - {"ys", "xs", "grad_ys"}:
            self._problem(_no_such("input", unknown, ("ys", "xs", "grad_ys")), name)
        for unknown in block.attrs:
            self._problem(_no_such("attribute", unknown, ()), name)
        ys, xs = (
            self._collect(name, pin, self._symbols, block.inputs.get(pin)) for pin in ("ys", "xs")
        )
        weights = block.inputs.get("grad_ys")
        if weights is not None:
            weights = self._collect(name, "grad_ys", self._weights, weights)
        if name in self.left_out:
            return
        before = len(self.graph)
        with Scope(self.graph, self.prefix + name):
            found = gradients(ys, xs, weights)
        for added in list(self.graph.blocks)[before:]:
            self.graph.made_for[added] = self.owner or name
        self._wire_list(name, "dx", found)
        for i, (x, dx) in enumerate(zip(block.inputs["xs"], found, strict=True)):
            if dx is None:
                self.without[f"{name}:dx[{i}]"] = f"has no value, as ys do not depend on {x}"

    def _symbols(self, wires: Json) -> list[Symbol]:
        if type(wires) is not list or not wires or any(type(wire) is not str for wire in wires):
            hint = 'Write such as ["loss:output"].'
            raise OpError(
                "must be a list of wires",
                got=described("none") if wires is None else wires,
                hint=hint,
            )
        return [self._symbol(wire) for wire in wires]

    def _weights(self, given: Json) -> list[Any]:
        if type(given) is not list:
            hint = "Write null for ones."
            raise OpError("must be a list, one for each of ys", got=given, hint=hint)
        return [None if each is None else self._value(each) for each in given]

    def _add_page(self, name: str, block: PageBlock) -> None:
        """Adds the blocks of the other page, in a scope of the block's name."""
        for unknown in block.attrs.keys() - {"page"}:
            self._problem(_no_such("attribute", unknown, ("page",)), name)
        part = self._collect(name, "page", self._part, block.attrs.get("page"))
        if part is None:
            return
        page, folder = part
        known = page.ports.inputs
        for unknown in block.inputs.keys() - known.keys():
            self._problem(_no_such("input", unknown, known), name)
        ports = {
            port.pin.partition(":")[0]: symbol
            for pin, port in known.items()
            if (symbol := self._port(name, pin, port, block, page)) is not None
        }
        if name in self.left_out:
            return
        inner = _Builder(
            self.graph,
            page,
            folder,
            f"{self.prefix}{name}/",
            self.owner or name,
            ports,
            (*self.inside, self._own_file()),
            self.alike,
        )
        inner.build()
        self.problems += inner.problems
        if inner.problems:
            raise _Waiting
        for pin, port in page.ports.outputs.items():
            symbol = self._collect(name, pin, inner._given, port)
            if symbol is not None:
                self.wires[f"{name}:{pin}"] = symbol
                self.wires.setdefault(name, symbol)

    def _own_file(self) -> Any:
        return self.page.path.resolve() if self.page.path else None

    def _part(self, name: Json) -> tuple[PageFile, Folder]:
        file = self.folder.file(name)
        if file in (*self.inside, self._own_file()):
            hint = "A page cannot stand on itself, nor on one that uses it."
            raise OpError("must be another page", got=name, hint=hint)
        page = parse(read_file(file), PageFile)
        page.path = file
        return page, self.folder.of_part(file)

    def _port(
        self, name: str, pin: str, port: Port, block: PageBlock, page: PageFile
    ) -> Symbol | None:
        inner = page.blocks.get(port.pin.partition(":")[0])
        if inner is None or inner.op not in ("Placeholder", "PlaceholderWithDefault"):
            hint = f"Correct the ports of {block.attrs['page']}."
            error = OpError("must stand for a placeholder", arg=pin, got=port.pin, hint=hint)
            self._problem(error, name)
            return None
        given = block.inputs.get(pin)
        if given is None and inner.op == "PlaceholderWithDefault":
            return None
        symbol: Symbol | None = self._collect(name, pin, self._into_port, name, pin, port, given)
        return symbol

    def _into_port(self, name: str, pin: str, port: Port, given: Json) -> Symbol:
        value = self._input(given, Pin(pin, port.dtype))
        if type(value) is not Symbol:
            value = _typed(value, port.dtype)
        symbol = self._held(f"{name}/{port.pin.partition(':')[0]}", value, name)
        _agrees(pin, symbol, *_port_type(port), "the port")
        return symbol

    def _given(self, port: Port) -> Symbol:
        symbol = self._symbol(port.pin)
        _agrees("", symbol, *_port_type(port), "the port")
        return symbol

    # -- everything but blocks ------------------------------------------------------------

    def check_the_rest(self) -> None:
        """Looks for blocks and outputs that settings, monitors, frames and ports name in vain."""
        page, run = self.page, self.page.run
        for wire in run.fetch:
            self._look("run.fetch", self._symbol, wire)
        if run.until:
            self._look("run.until", self._symbol, run.until)
        for name in run.targets:
            self._look("run.targets", self._block, name)
        for wire, value in run.feeds.items():
            self._look(f"run.feeds.{wire}", self._feed, wire, value)
        for name, monitor in page.monitors.items():
            for shown in monitor.shows:
                self._look(f"monitors.{name}", self._shown, shown.pin, shown.element)
        for name, frame in page.frames.items():
            for block in frame.blocks:
                self._look(f"frames.{name}", self._block, block)
        for kind, ports in (("inputs", page.ports.inputs), ("outputs", page.ports.outputs)):
            for name, port in ports.items():
                self._look(f"ports.{kind}.{name}", self._given, port)

    def _look(self, arg: str, look: Callable[..., Any], *given: Any) -> None:
        try:
            look(*given)
        except _Waiting:
            pass
        except OpError as error:
            error.op, error.arg = "Page", arg
            self.problems.append(("", error))

    def _block(self, name: str) -> None:
        if name not in self.page.blocks:
            raise _no_block(name, self.page)

    def _feed(self, wire: str, value: Json) -> None:
        symbol = self._symbol(wire)
        fed = constant(value, self.folder)
        if isinstance(fed, np.ndarray) and fed.dtype != symbol.dtype:
            raise _other_dtype(fed.dtype, symbol.dtype, "what is fed")

    def _shown(self, wire: str, element: list[int] | None) -> None:
        symbol = self._symbol(wire)
        if element is None or symbol.shape is None:
            return
        inside = len(element) == len(symbol.shape) and all(
            n is None or -n <= i < n for i, n in zip(element, symbol.shape, strict=True)
        )
        if not inside:
            raise OpError(
                f"must be an element of {wire}, which has shape {shape_text(symbol.shape)}",
                got=element,
                hint="Give one index for each axis.",
            )


def needed_by(block: PageBlock) -> set[str]:
    """The blocks that it is wired to or runs after."""
    found = set(block.after)
    for value in (*block.inputs.values(), block.initial):
        for each in value if type(value) is list else (value,):
            if type(each) is str:
                found.add(each.partition(":")[0])
    return found


def _typed(value: Any, dtype: Json) -> Any:
    """An array of a dtype that may be given beside it."""
    if dtype is None:
        return as_constant(value)
    try:
        wanted = as_dtype(dtype)
    except (KeyError, TypeError, AttributeError):
        hint = f"Use one of {', '.join(NAMES.values())}."
        raise OpError("must be of a known dtype", got=dtype, hint=hint) from None
    if isinstance(value, np.ndarray) and value.dtype != wanted:
        raise _other_dtype(value.dtype, wanted, "dtype")
    return as_constant(value, wanted)


def _agrees(arg: str, symbol: Symbol, dtype: Any, shape: Any, whose: str) -> None:
    if symbol.dtype != dtype:
        raise _other_dtype(symbol.dtype, dtype, whose)
    agreed(arg, symbol.spec, shape, f"the shape of {whose}", "Change one of the two.")


def _port_type(port: Port) -> tuple[Any, Any]:
    try:
        return as_dtype(port.dtype), None if port.shape is None else tuple(port.shape)
    except KeyError:
        hint = f"Use one of {', '.join(NAMES.values())}."
        raise OpError("must be of a known dtype", got=port.dtype, hint=hint) from None


# -- what can be wrong ------------------------------------------------------------------------------


def _other_dtype(got: Any, wanted: Any, whose: str) -> OpError:
    return OpError(
        f"must be {NAMES[wanted]}, as {whose} is",
        got=described(NAMES[got]),
        hint="Put a Cast block between, or change one of the two.",
    )


def _bad_name(name: str) -> OpError:
    return OpError(
        "must begin with a letter or digit and have letters, digits, _ . - only",
        op="Page",
        arg="name",
        got=name,
        hint="Write / between the names of scopes.",
    )


def _taken_name(name: str) -> OpError:
    hint = "Rename it: another block of the graph has this name."
    return OpError("must have a name of its own", op="Page", arg="name", got=name, hint=hint)


def _circle(ring: Sequence[str]) -> OpError:
    words = " needs ".join([*ring[:8], "..." if len(ring) > 8 else ring[0]])
    hint = "Take one of the wires away."
    return OpError("must not need itself", op="Page", arg="in", got=described(words), hint=hint)


def _unknown_op(name: str) -> OpError:
    near = _near(name, [*REGISTRY, GRADIENTS, PAGE])
    hint = (
        f"Did you mean {near}?" if near else "It is kept as it is; a later backblocks may have it."
    )
    return OpError("is no op that is known here, so it cannot run", op=name, hint=hint)


def _no_block(name: str, page: PageFile) -> OpError:
    near = _near(name, page.blocks)
    hint = f"Did you mean {near}?" if near else "Name a block of this page."
    return OpError("must come from a block of the page", got=name, hint=hint)


def _no_such(kind: str, name: str, known: Iterable[str]) -> OpError:
    near = _near(name, known)
    words = ", ".join(known) or f"no {kind}"
    hint = f"Did you mean {near}?" if near else f"It takes {words}."
    return OpError(f"is no {kind} that is known here", arg=name, hint=hint)


def _near(name: str, known: Iterable[str]) -> str:
    import difflib  # only mistakes pay for it

    return next(iter(difflib.get_close_matches(name, list(known), 1)), "")
