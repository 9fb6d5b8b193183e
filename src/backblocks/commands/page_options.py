"""Options of commands that take a page: PAGE, --set, --feed, --fetch and --until, parsed and checked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from backblocks.commands.error_reporting import UsageError, did_you_mean
from backblocks.dtypes import FROM_ML_DTYPES, NAMES, DType
from backblocks.errors import OpError, described
from backblocks.graph.runner import check_condition
from backblocks.graph.scope import Graph
from backblocks.graph.symbol import Symbol
from backblocks.ops import REGISTRY
from backblocks.ops._handles import RESOURCE
from backblocks.ops._inputs import Array, as_typed
from backblocks.ops._spec import Spec, agreed
from backblocks.pages.build import build
from backblocks.pages.constants import is_typed, parse_constant
from backblocks.pages.folder import Folder
from backblocks.pages.page import Page, open_page
from backblocks.pages.serialization import exceeds_max_depth


def open_page_argument(path: str) -> Page:
    """Opens the page that PAGE names. A file that does not exist is a usage error."""
    if not os.path.exists(path):
        hint = "See backblocks new --help for how to make one."
        raise UsageError("must be the file of a page", op="PAGE", got=path, hint=hint)
    return open_page(path)


def apply_set_options(page: Page, settings: Iterable[str]) -> None:
    """Applies --set to the page in memory; its file stays as it is."""
    for setting in settings:
        _set(page, setting)


def _set(page: Page, setting: str) -> None:
    where, equals, text = setting.partition("=")
    name, dot, field = where.rpartition(".")
    if not (equals and dot):
        hint = "Write such as --set pool.padding=VALID."
        raise UsageError("must be BLOCK.ATTR=VALUE", op="--set", got=setting, hint=hint)
    if name not in page.blocks:
        hint = did_you_mean(name, page.blocks)
        raise UsageError("must name a block of the page", op="--set", got=name, hint=hint)
    block, value = page.blocks[name], _value(text)
    op = REGISTRY.get(block.op)
    attrs = {*block.attrs, *(op.attrs if op else ())}
    pins = {*block.inputs, *(pin.name for pin in (op.inputs if op else ()))}
    if field == "initial" and block.op == "VariableV2":
        block.initial = _with_old_dtype(block.initial, value)
    elif field in attrs:
        block.attrs[field] = _with_old_dtype(block.attrs.get(field), value)
    elif field in pins:
        block.inputs[field] = _with_old_dtype(block.inputs.get(field), value)
    else:
        hint = did_you_mean(field, attrs | pins) or f"{name} has {', '.join(sorted(attrs | pins))}."
        raise UsageError(
            f"must name an attribute or input of {name}", op="--set", got=field, hint=hint
        )


def _with_old_dtype(before: Any, value: Any) -> Any:
    """The new value, with the dtype of the old one unless it has its own."""
    if is_typed(before) and not isinstance(value, dict):
        return {"dtype": before["dtype"], "value": value}
    return value


def _value(text: str) -> Any:
    """The value of a text that is JSON; else the text itself, so that strings need no quotes."""
    try:
        value = json.loads(text)
    except (
        ValueError,
        RecursionError,
    ):  # also numbers that are too long, and nesting that is too deep
        return text
    return text if exceeds_max_depth(value) else value


def parse_feeds(graph: Graph, feeds: Iterable[str]) -> dict[Symbol, Any]:
    """The values that --feed gives, by the outputs they are fed to."""
    found = {}
    for feed in feeds:
        name, equals, text = feed.partition("=")
        if not equals or not text:
            hint = "Write such as --feed x=x.npy or --feed rate=0.1."
            raise UsageError("must be NAME=FILE or NAME=NUMBER", op="--feed", got=feed, hint=hint)
        symbol = find_output(graph, name, "--feed")
        found[symbol] = _parse_feed(symbol, text)
    return found


def set_page_feeds(page: Page, feeds: Iterable[str]) -> None:
    """Adds the values of --feed to the run settings of the page in memory."""
    graph = build(page).graph
    for each in feeds:
        (value,) = parse_feeds(graph, [each]).values()
        page.run.feeds[each.partition("=")[0]] = value


def feed_files(feeds: Iterable[str]) -> list[Path]:
    """The files that --feed names."""
    values = [_value(feed.partition("=")[2]) for feed in feeds]
    return [Path(value) for value in values if isinstance(value, str) and value]


def _parse_feed(symbol: Symbol, text: str) -> Any:
    value = _value(text)
    try:
        if symbol.dtype == RESOURCE:
            hint = "Feed what goes into it, or what is read from it."
            raise OpError("is a handle and cannot be fed", hint=hint)
        is_text = symbol.dtype.hasobject and not isinstance(value, dict)
        if is_text and text.startswith(('"', "[")):
            value = {"dtype": "string", "value": value}
        if isinstance(value, str):
            array = _read_npy(value, symbol.dtype)
        else:
            array = as_typed(parse_constant(value, Folder.of(Path("page"))), symbol.dtype)
        if array.dtype != symbol.dtype:
            raise OpError(
                f"must be {NAMES[symbol.dtype]}",
                got=described(NAMES[array.dtype]),
                hint="Write that dtype, or numbers without one.",
            )
        agreed("", Spec.of(array), symbol.shape, f"the shape of {symbol.name}", "Reshape it.")
    except OpError as error:
        error.op, error.arg = "--feed", symbol.name
        raise UsageError.like(error) from None
    return array


def _read_npy(name: str, dtype: DType) -> Array:
    path = Path(name.replace("\0", "")).resolve()
    try:
        if "\0" in name or path.is_dir():
            raise OpError("must be a plain file", got=name)
        return Folder(path.parent, path.parent).array(path.name, dtype, None)
    except OpError as error:
        error.hint = "Name a file that np.save wrote, or write numbers as JSON: [1, 2]."
        if error.problem.startswith("must hold"):
            has_name = NAMES[dtype] not in FROM_ML_DTYPES
            as_bits = (
                f'astype("{NAMES[dtype]}")' if has_name else f'view("uint{8 * dtype.itemsize}")'
            )
            error.hint = f'Write it as that: np.save("{name}", x.{as_bits}).'
        if dtype.hasobject:
            error.hint = 'Write texts as JSON: "one" or ["one", "two"].'
        raise


def check_until(graph: Graph, name: str) -> None:
    """Refuses an --until that is no output, or cannot be a condition."""
    try:
        check_condition(find_output(graph, name, "--until"))
    except OpError as error:
        error.op, error.arg = "--until", ""
        raise UsageError.like(error) from None


def find_output(graph: Graph, name: str, option: str) -> Symbol:
    """The output that an option names; a usage error if there is none."""
    try:
        return graph.symbol(name)
    except OpError as error:
        problem = "must be an output of the page"
        raise UsageError(problem, op=option, got=name, hint=error.hint) from None
