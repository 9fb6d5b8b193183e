"""What the gallery lists: drafts, which are changed pages without a file, and files with their drafts."""

from __future__ import annotations

from typing import Any

from backblocks.studio.messages import File, Unsaved
from backblocks.studio.open_pages import OpenPages

_MAX_LIST = 16
"""Elements of a list that is kept: a small picture needs wires, but no numbers of constants."""


def list_drafts(pages: OpenPages) -> list[Unsaved]:
    """Drafts, the last changed first: those that are open, and those that are found in journals."""
    found = [
        Unsaved(page.unsaved, page.last_change, without_arrays(page.document))
        for page in list(pages.pages.values())
        if page.unsaved and page.is_changed
    ]
    found += [
        Unsaved(name, contents.since, without_arrays(contents.document), contents.page)
        for name, contents in pages.state.unsaved()
    ]
    return sorted(found, key=lambda draft: -draft.since)


def list_files(pages: OpenPages) -> list[File]:
    """The pages and arrays of the workspace. Those that have changes which are not saved are marked."""
    files = pages.workspace.files()
    is_changed = {page.path: page.is_changed for page in list(pages.pages.values())}
    for file in files:
        path = pages.workspace.folder / file.path
        file.draft = is_changed.get(path, pages.state.has_journal(path))
    return files


def without_arrays(value: Any) -> Any:
    """A copy of a document in which the long lists of its constants are empty."""
    if isinstance(value, dict):
        return {key: without_arrays(each) for key, each in value.items()}
    if isinstance(value, list):
        is_long = len(value) > _MAX_LIST and not any(isinstance(each, str) for each in value)
        return [] if is_long else [without_arrays(each) for each in value]
    return value
