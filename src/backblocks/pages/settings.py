"""Looks at all of a page but its blocks: settings, monitors, frames and ports that name things in vain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from backblocks.dtypes import as_dtype
from backblocks.errors import OpError
from backblocks.graph.symbol import Symbol
from backblocks.ops._spec import shape_text
from backblocks.pages import problems
from backblocks.pages.constants import constant
from backblocks.pages.fields import Json
from backblocks.pages.making import Making, Waiting, agrees
from backblocks.pages.model import Port


def check_settings(making: Making) -> None:
    """Adds what is wrong to the problems of the page."""
    page, run = making.page, making.page.run
    for wire in run.fetch:
        _look(making, "run.fetch", making.symbol, wire)
    if run.until:
        _look(making, "run.until", making.symbol, run.until)
    for name in run.targets:
        _look(making, "run.targets", _block, making, name)
    for wire, value in run.feeds.items():
        _look(making, f"run.feeds.{wire}", _feed, making, wire, value)
    for name, monitor in page.monitors.items():
        for shown in monitor.shows:
            _look(making, f"monitors.{name}", _shown, making, shown.pin, shown.element)
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
        making.problems.append(("", error))


def _block(making: Making, name: str) -> None:
    if name not in making.page.blocks:
        raise problems.no_block(name, making.page)


def _feed(making: Making, wire: str, value: Json) -> None:
    symbol = making.symbol(wire)
    fed = constant(value, making.folder)
    if isinstance(fed, np.ndarray) and fed.dtype != symbol.dtype:
        raise problems.other_dtype(fed.dtype, symbol.dtype, "what is fed")


def _shown(making: Making, wire: str, element: list[int] | None) -> None:
    symbol = making.symbol(wire)
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
