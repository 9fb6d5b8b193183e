"""Looks at all of a page but its blocks: settings, monitors, frames and ports that name things in vain."""

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
from backblocks.pages.constants import constant
from backblocks.pages.fields import Json
from backblocks.pages.making import Making, Waiting, agrees
from backblocks.pages.model import Monitor, Port, Shown

DRAWN = ("trend", "image", "histogram")
"""The kinds of monitor that draw numbers."""


def check_settings(making: Making) -> None:
    """Adds what is wrong to the problems of the page."""
    page, run = making.page, making.page.run
    for wire in run.fetch:
        _look(making, "run.fetch", _with_value, making, wire)
    if run.until:
        _look(making, "run.until", lambda: check_condition(making.symbol(run.until)))
    for name in run.targets:
        _look(making, "run.targets", _block, making, name)
    for wire, value in run.feeds.items():
        _look(making, f"run.feeds.{wire}", _feed, making, wire, value)
    for name, monitor in page.monitors.items():
        for shown in monitor.shows:
            _look(making, f"monitors.{name}", _shown, making, monitor, shown)
    for name, frame in page.frames.items():
        for block in frame.blocks:
            _look(making, f"frames.{name}", _block, making, block)
    for kind, ports in (("inputs", page.ports.inputs), ("outputs", page.ports.outputs)):
        for name, port in ports.items():
            _look(making, f"ports.{kind}.{name}", given_by, making, port)


def _look(making: Making, arg: str, look: Callable[..., Any], *given: Any) -> None:
    try:
        look(*given)
    except Waiting:
        pass
    except OpError as error:
        error.op, error.arg = "Page", arg
        making.tell("", error)


def _block(making: Making, name: str) -> None:
    if name not in making.page.blocks:
        raise problems.no_block(name, making.page)


def _with_value(making: Making, wire: str) -> Symbol:
    symbol = making.symbol(wire)
    if symbol.dtype == RESOURCE:
        hint = "Name what a block reads from it, such as QueueSizeV2."
        raise OpError("must have a value, which a handle has not", got=wire, hint=hint)
    return symbol


def _feed(making: Making, wire: str, value: Json) -> None:
    symbol = _with_value(making, wire)
    fed = constant(value, making.folder)
    if isinstance(fed, np.ndarray) and fed.dtype != symbol.dtype:
        raise problems.other_dtype(fed.dtype, symbol.dtype, "what is fed")
    spec = Spec.of(as_typed(fed, symbol.dtype))
    agreed("", spec, symbol.shape, f"the shape of {wire}", "Feed another value.")


def _shown(making: Making, monitor: Monitor, shown: Shown) -> None:
    symbol = _with_value(making, shown.pin)
    if monitor.kind in DRAWN and symbol.dtype.kind not in "biufV":
        raise OpError(
            f"must show real numbers in a monitor of the kind {monitor.kind}",
            got=described(f"{shown.pin}, {NAMES[symbol.dtype]}"),
            hint="A monitor of the kind number shows any value.",
        )
    if shown.element is not None:
        _check_element(shown.pin, shown.element, symbol.shape)
    elif monitor.kind == "image" and monitor.axes:
        _check_axes(shown.pin, monitor.axes, symbol.shape)


def _check_element(wire: str, element: list[int], shape: Shape) -> None:
    if shape is None:
        return
    inside = len(element) == len(shape) and all(
        n is None or -n <= i < n for i, n in zip(element, shape, strict=True)
    )
    if not inside:
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
    """Whether they are the axes of a picture in a tensor of this rank."""
    if len(axes) != 2 or axes[0] == axes[1]:
        return False
    return rank is None or (
        all(-rank <= axis < rank for axis in axes) and axes[0] % rank != axes[1] % rank
    )


def given_by(making: Making, port: Port) -> Symbol:
    """What stands behind a port, which must be as the port says."""
    symbol = making.symbol(port.pin)
    agrees("", symbol, *port_type(port), "the port")
    return symbol


def port_type(port: Port) -> tuple[Any, Any]:
    try:
        return as_dtype(port.dtype), None if port.shape is None else tuple(port.shape)
    except KeyError:
        raise problems.unknown_dtype(port.dtype) from None
