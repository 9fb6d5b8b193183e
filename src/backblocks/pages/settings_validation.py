"""Validation of run settings, monitors, frames and ports: what they name must exist and fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from backblocks.dtypes import NAMES, as_dtype
from backblocks.errors import OpError, described
from backblocks.graph.runner import check_condition
from backblocks.graph.symbol import Symbol
from backblocks.ops._handles import RESOURCE
from backblocks.ops._inputs import as_typed
from backblocks.ops._spec import Shape, Spec, agreed, shape_text
from backblocks.pages import problems
from backblocks.pages.builder import DependencyFailed, PageBuilder, check_type
from backblocks.pages.constants import parse_constant
from backblocks.pages.dataclass_json import Json
from backblocks.pages.model import Monitor, MonitorSource, Port

PLOTTED = ("trend", "image", "histogram")
"""The kinds of monitor that draw numbers."""


def check_settings(builder: PageBuilder) -> None:
    """Reports the problems of all of a page but its blocks."""
    page, run = builder.page, builder.page.run
    for wire in run.fetch:
        _check(builder, "run.fetch", _with_value, builder, wire)
    if run.until:
        _check(builder, "run.until", lambda: check_condition(builder.symbol(run.until)))
    for name in run.targets:
        _check(builder, "run.targets", _known_block, builder, name)
    for wire, value in run.feeds.items():
        _check(builder, f"run.feeds.{wire}", _feed, builder, wire, value)
    for name, monitor in page.monitors.items():
        for source in monitor.shows:
            _check(builder, f"monitors.{name}", _source, builder, monitor, source)
    for name, frame in page.frames.items():
        for block in frame.blocks:
            _check(builder, f"frames.{name}", _known_block, builder, block)
    for kind, ports in (("inputs", page.ports.inputs), ("outputs", page.ports.outputs)):
        for name, port in ports.items():
            _check(builder, f"ports.{kind}.{name}", port_symbol, builder, port)


def _check(builder: PageBuilder, arg: str, check: Callable[..., Any], *arguments: Any) -> None:
    """Reports the error of a check as a problem of the page, at `arg`."""
    try:
        check(*arguments)
    except DependencyFailed:
        pass
    except OpError as error:
        error.op, error.arg = "Page", arg
        builder.report("", error)


def _known_block(builder: PageBuilder, name: str) -> None:
    if name not in builder.page.blocks:
        raise problems.unknown_block(name, builder.page)


def _with_value(builder: PageBuilder, wire: str) -> Symbol:
    symbol = builder.symbol(wire)
    if symbol.dtype == RESOURCE:
        hint = "Name what a block reads from it, such as QueueSizeV2."
        raise OpError("must have a value, which a handle has not", got=wire, hint=hint)
    return symbol


def _feed(builder: PageBuilder, wire: str, value: Json) -> None:
    symbol = _with_value(builder, wire)
    fed = parse_constant(value, builder.folder)
    if isinstance(fed, np.ndarray) and fed.dtype != symbol.dtype:
        raise problems.wrong_dtype(fed.dtype, symbol.dtype, "the fed value")
    spec = Spec.of(as_typed(fed, symbol.dtype))
    agreed("", spec, symbol.shape, f"the shape of {wire}", "Feed another value.")


def _source(builder: PageBuilder, monitor: Monitor, source: MonitorSource) -> None:
    symbol = _with_value(builder, source.pin)
    if monitor.kind in PLOTTED and symbol.dtype.kind not in "biufV":
        raise OpError(
            f"must show real numbers in a monitor of the kind {monitor.kind}",
            got=described(f"{source.pin}, {NAMES[symbol.dtype]}"),
            hint="A monitor of the kind number shows any value.",
        )
    if source.element is not None:
        _check_element(source.pin, source.element, symbol.shape)
    elif monitor.kind == "image" and monitor.axes:
        _check_axes(source.pin, monitor.axes, symbol.shape)


def _check_element(wire: str, element: list[int], shape: Shape) -> None:
    if shape is None:
        return
    enclosing_files = len(element) == len(shape) and all(
        n is None or -n <= i < n for i, n in zip(element, shape, strict=True)
    )
    if not enclosing_files:
        raise OpError(
            f"must be an element of {wire}, which has shape {shape_text(shape)}",
            got=element,
            hint="Give one index for each axis.",
        )


def _check_axes(wire: str, axes: list[int], shape: Shape) -> None:
    rank = None if shape is None else len(shape)
    if not are_axes(axes, rank):
        raise OpError(
            f"must have two axes of {wire}, which has shape {shape_text(shape)}",
            got=axes,
            hint="Give those of rows and columns, such as [1, 2].",
        )


def are_axes(axes: Sequence[int], rank: int | None) -> bool:
    """Whether these are two different axes, of rows and columns, in a tensor of this rank."""
    if len(axes) != 2 or axes[0] == axes[1]:
        return False
    return rank is None or (
        all(-rank <= axis < rank for axis in axes) and axes[0] % rank != axes[1] % rank
    )


def port_symbol(builder: PageBuilder, port: Port) -> Symbol:
    """The output behind a port, which must have the dtype and shape that the port declares."""
    symbol = builder.symbol(port.pin)
    check_type("", symbol, *port_type(port), "the port")
    return symbol


def port_type(port: Port) -> tuple[Any, Any]:
    try:
        return as_dtype(port.dtype), None if port.shape is None else tuple(port.shape)
    except KeyError:
        raise problems.unknown_dtype(port.dtype) from None
