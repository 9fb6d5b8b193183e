"""The files that a page refers to: other pages, arrays, and what its blocks read by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from backblocks.errors import OpError
from backblocks.graph.symbol import Symbol
from backblocks.ops._values import flat
from backblocks.pages import problems
from backblocks.pages.build import build
from backblocks.pages.constants import is_in_file
from backblocks.pages.fields import Json, as_json
from backblocks.pages.folder import Folder
from backblocks.pages.making import PageGraph
from backblocks.pages.model import PAGE, PageFile
from backblocks.pages.text import parse, read_file

_MOST_WORDS = 1000
"""Texts in a constant: more are data and no names of files."""
MOST_FILES = 10_000
"""Names of files. Links in a folder give one file any number of them."""


def references(page: PageFile, own_arrays: bool = True) -> dict[str, Path]:
    """The files by their names from the folder of the page on. They need not be there.

    Which files blocks read is known as far as constants say it: where a page has blocks that read files, all
    texts in it count as names of some, but those that name what it writes. Nothing runs for it.
    """
    found: dict[str, Path] = {}
    if page.path is not None:
        folder = Folder.of(page.path)
        for name in arrays_in(as_json(page)) if own_arrays else ():
            _add(found, folder, "", name)
        _add_parts(found, page, folder, "", (page.path.resolve(),), {})
        for name in _names_in(build(page).graph):
            path = _add(found, folder, "", name)
            if path is not None:
                _add_checkpoint(found, name, path)
    return found


def arrays_in(value: Json) -> Iterator[str]:
    """The files of all constants in some JSON."""
    if type(value) is dict and is_in_file(value):
        yield value["file"]
    elif type(value) in (dict, list):
        for each in value.values() if type(value) is dict else value:
            yield from arrays_in(each)


def _add_parts(
    found: dict[str, Path],
    page: PageFile,
    folder: Folder,
    where: str,
    inside: tuple[Path, ...],
    parts: dict[Path, PageFile | None],
) -> None:
    """The pages that are blocks of a page, and what they refer to. `parts` are those read already."""
    for block in page.blocks.values():
        name: Json = block.attrs.get("page") if block.op == PAGE else None
        path = _add(found, folder, where, name)
        if path is None or path in inside or len(inside) > problems.DEEPEST_PAGES:
            continue
        if path not in parts:
            parts[path] = _page_in(path)
        part = parts[path]
        if part is None:
            continue
        below, nested = folder.of_part(path), os.path.join(where, os.path.dirname(name))
        for array in arrays_in(as_json(part)):
            _add(found, below, nested, array)
        _add_parts(found, part, below, nested, (*inside, path), parts)


def _page_in(path: Path) -> PageFile | None:
    try:
        return parse(read_file(path), PageFile)
    except OpError:
        return None


def _add(found: dict[str, Path], folder: Folder, where: str, name: Json) -> Path | None:
    """The path of a file that is new among them."""
    try:
        path = folder.path(name)
    except OpError:
        return None
    known = os.path.normpath(os.path.join(where, name))
    if len(found) >= MOST_FILES and known not in found:
        hint = "Do links lead from a folder to itself?"
        raise OpError(f"must name at most {MOST_FILES} files", op="Page", got=name, hint=hint)
    return None if found.setdefault(known, path) is not path else path


def _names_in(graph: PageGraph) -> Iterator[str]:
    touching = graph.touching_files()
    if not any(block.op.files == "reads" for block in touching):
        return
    written: set[Symbol] = {
        symbol for b in touching if b.op.files == "writes" for symbol in flat(b.inputs)
    }
    for block in graph:
        if block.op.name == "Const" and not written.intersection(flat(block.outputs)):
            texts = block.attrs["value"]
            if texts.dtype.hasobject and texts.size <= _MOST_WORDS:
                yield from (text.decode(errors="replace") for text in texts.flat)


def _add_checkpoint(found: dict[str, Path], name: str, path: Path) -> None:
    """TensorFlow names the files of a checkpoint by what their names begin with."""
    for suffix in (".index", ".data-00000-of-00001"):
        file = path.with_name(path.name + suffix)
        if file.exists():
            found.setdefault(os.path.normpath(name + suffix), file)
