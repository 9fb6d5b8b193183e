"""`Page`: the public API to open, check, build and save a page."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backblocks.errors import OpError, PageError
from backblocks.graph.scope import Graph, Scope
from backblocks.graph.session import Session
from backblocks.pages.build import build
from backblocks.pages.builder import PageGraph
from backblocks.pages.constants import parse_constant
from backblocks.pages.dependency_order import dependencies
from backblocks.pages.folder import Folder
from backblocks.pages.from_graph import page_blocks
from backblocks.pages.model import PageFile
from backblocks.pages.saving import save
from backblocks.pages.serialization import parse, read_file


@dataclass
class Page(PageFile):
    """A page of blocks, as its file has it.

        page = bb.open_page("xor.page.json")
        for problem in page.check():
            print(problem)
        session = page.session()
        print(session.run(page.run.fetch, page.feeds(), page.run.targets))

    Its fields are the file's: `page.blocks["pool"].attrs["ksize"] = [1, 2, 2, 1]` edits it, and
    `bb.save_page(page, path)` writes it. Blocks may name each other in any order; where several
    change one variable they do so in theirs.
    """

    def check(self) -> list[OpError]:
        """All problems. Each has `block`, `op`, `arg` (pin or attribute) and `hint`."""
        return [error for _, error in build(self).problems]

    def graph(self, only: Iterable[str] | None = None) -> PageGraph:
        """The graph of the page, for a session. Raises PageError with all problems.

        With `only` (outputs or blocks), problems of blocks that these do not depend on are ignored.
        """
        built = build(self)
        problems = built.problems
        if only is not None:
            needed = self.needed_for(only)
            problems = [each for each in problems if not each[0] or each[0] in needed]
        if problems:
            name = self.path.name if self.path else self.title
            raise PageError([error for _, error in problems], name)
        return built.graph

    def touches(self) -> dict[str, str]:
        """Blocks that access files when they run, and whether each "reads" or "writes" them."""
        return build(self).touches()

    def session(
        self, only: Iterable[str] | None = None, allow_files: bool = False, **how: Any
    ) -> Session:
        """A session of its graph, with its seed, in its folder.

        A run that accesses files is refused without `allow_files`; `touches()` lists the blocks that do.
        """
        folder = self.path.parent if self.path else None
        graph = self.graph(only)
        return Session(graph, seed=self.run.seed, folder=folder, allow_files=allow_files, **how)

    def needed_for(self, wanted: Iterable[str]) -> set[str]:
        """The blocks that these outputs or blocks depend on, themselves included."""
        found: set[str] = set()
        todo = [name.partition(":")[0] for name in wanted]
        while todo:
            name = todo.pop()
            if name not in found and name in self.blocks:
                found.add(name)
                todo += dependencies(self.blocks[name])
        return found

    def feeds(self) -> dict[str, Any]:
        """The values that the run settings feed to placeholders, as arrays and numbers."""
        folder = Folder.of(self.path)
        return {name: parse_constant(value, folder) for name, value in self.run.feeds.items()}


def open_page(path: str | os.PathLike[str]) -> Page:
    """Opens a page file. Nothing runs, and no other file is opened until a graph is built."""
    file = Path(path)
    source = read_file(file)
    try:
        page = parse(source, Page)
    except OpError as error:
        error.add_note(f"in {file}")
        raise
    page.path, page.source = file.resolve(), source
    return page


def save_page(page: Page | Graph | Scope, path: str | os.PathLike[str]) -> Page:
    """Saves a page, or a graph as a page, and gives the page. The file is replaced atomically.

    Arrays of more than a few hundred elements are saved to npy files in `NAME.arrays` beside
    `NAME.page.json`. Saving to another folder copies the pages and files that the page refers to.
    """
    graph = page.graph if isinstance(page, Scope) else page
    saved = Page(blocks=page_blocks(graph)) if isinstance(graph, Graph) else graph
    save(saved, Path(path))
    return saved
