"""The files that a page refers to: nested pages, npy arrays, and files that its blocks read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from backblocks.errors import OpError
from backblocks.graph.symbol import Symbol
from backblocks.ops._values import flat
from backblocks.pages import problems
from backblocks.pages.build import build
from backblocks.pages.builder import PageGraph
from backblocks.pages.constants import is_file_constant
from backblocks.pages.dataclass_json import Json, to_json
from backblocks.pages.folder import Folder
from backblocks.pages.model import PAGE, PageFile
from backblocks.pages.serialization import parse, read_file

_MAX_STRINGS = 1000
"""Strings in a constant: an array of more is data and no list of file names."""
MAX_FILES = 10_000
"""File names that are followed. Symlinks in a folder can give one file any number of names."""


def references(page: PageFile, own_arrays: bool = True) -> dict[str, Path]:
    """The files, existing or not, by their names relative to the folder of the page.

    Nothing runs, so files that blocks read are found among constants: if a page has a block that reads files,
    every string constant counts as a file name, except those that name files to write.
    """
    found: dict[str, Path] = {}
    if page.path is not None:
        folder = Folder.of(page.path)
        for name in array_files(to_json(page)) if own_arrays else ():
            _add(found, folder, "", name)
        _add_nested(found, page, folder, "", (page.path.resolve(),), {})
        for name in _constant_strings(build(page).graph):
            path = _add(found, folder, "", name)
            if path is not None:
                _add_checkpoint(found, name, path)
    return found


def array_files(value: Json) -> Iterator[str]:
    """The npy files of all constants in some JSON."""
    if type(value) is dict and is_file_constant(value):
        yield value["file"]
    elif type(value) in (dict, list):
        for each in value.values() if type(value) is dict else value:
            yield from array_files(each)


def _add_nested(
    found: dict[str, Path],
    page: PageFile,
    folder: Folder,
    where: str,
    inside: tuple[Path, ...],
    parsed: dict[Path, PageFile | None],
) -> None:
    """Adds the nested pages of a page, and the files that they refer to. `parsed` caches pages by path."""
    for block in page.blocks.values():
        name: Json = block.attrs.get("page") if block.op == PAGE else None
        path = _add(found, folder, where, name)
        if path is None or path in inside or len(inside) > problems.MAX_PAGE_DEPTH:
            continue
        if path not in parsed:
            parsed[path] = _parse_or_none(path)
        child = parsed[path]
        if child is None:
            continue
        below, nested_too_deeply = (
            folder.of_nested(path),
            os.path.join(where, os.path.dirname(name)),
        )
        for array in array_files(to_json(child)):
            _add(found, below, nested_too_deeply, array)
        _add_nested(found, child, below, nested_too_deeply, (*inside, path), parsed)


def _parse_or_none(path: Path) -> PageFile | None:
    try:
        return parse(read_file(path), PageFile)
    except OpError:
        return None


def _add(found: dict[str, Path], folder: Folder, where: str, name: Json) -> Path | None:
    """Adds a file; gives its path, or None if it was known already or is outside the folder."""
    try:
        path = folder.path(name)
    except OpError:
        return None
    known = os.path.normpath(os.path.join(where, name))
    if len(found) >= MAX_FILES and known not in found:
        hint = "Do links lead from a folder to itself?"
        raise OpError(f"must name at most {MAX_FILES} files", op="Page", got=name, hint=hint)
    return None if found.setdefault(known, path) is not path else path


def _constant_strings(graph: PageGraph) -> Iterator[str]:
    touching = graph.touching_files()
    if not any(block.op.files == "reads" for block in touching):
        return
    written: set[Symbol] = {
        symbol for b in touching if b.op.files == "writes" for symbol in flat(b.inputs)
    }
    for block in graph:
        if block.op.name == "Const" and not written.intersection(flat(block.outputs)):
            texts = block.attrs["value"]
            if texts.dtype.hasobject and texts.size <= _MAX_STRINGS:
                yield from (text.decode(errors="replace") for text in texts.flat)


def _add_checkpoint(found: dict[str, Path], name: str, path: Path) -> None:
    """Adds the files of a TensorFlow checkpoint, which is named by the prefix of its files."""
    for suffix in (".index", ".data-00000-of-00001"):
        file = path.with_name(path.name + suffix)
        if file.exists():
            found.setdefault(os.path.normpath(name + suffix), file)
