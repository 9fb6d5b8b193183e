"""Static check of a document: the types on its wires, and all that is wrong with it, without a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backblocks.dtypes import NAMES
from backblocks.errors import OpError
from backblocks.pages.build import BuildResult, build
from backblocks.pages.folder import Folder
from backblocks.pages.model import PAGE, PageFile
from backblocks.pages.page import Page
from backblocks.pages.serialization import parse, read_file
from backblocks.studio.messages import Checked, Problem, Spec
from backblocks.studio.problems import own_block, problem
from backblocks.studio.run_plan import page_from_document
from backblocks.studio.symbolic_shapes import symbolic_shapes


def check_page(number: int, revision: int, document: dict[str, Any], path: Path) -> Checked:
    """Checks a document. Problems are in the order of the blocks, those of the page itself last."""
    result = Checked(number, revision, {}, {}, [])
    try:
        page = page_from_document(document, path)
        built = build(page)
    except OpError as error:
        result.problems = [problem(error, own_block(error.block, document.get("blocks", {})))]
        return result
    graph = built.graph
    result.pins = _pins(built, page)
    result.problems = _problems(built, page)
    result.inputs = {
        name: list(ports)
        for name, block in page.blocks.items()
        if block.op == PAGE and (ports := _ports(page, block.attrs.get("page"))) is not None
    }
    result.files = {graph.page_block_of[b.name]: b.op.files for b in graph if b.op.files}
    return result


def _problems(built: BuildResult, page: Page) -> list[Problem]:
    order = {name: place for place, name in enumerate(page.blocks)}
    found = sorted(built.problems, key=lambda each: order.get(each[0], len(order)))
    return [problem(error, block) for block, error in found]


def _pins(built: BuildResult, page: Page) -> dict[str, Spec]:
    shapes = symbolic_shapes(page, built)
    lists = {wire.rpartition("[")[0] for wire in built.graph.wires if wire.endswith("]")}
    return {
        wire: Spec(NAMES[symbol.dtype], shapes[wire])
        for wire, symbol in built.graph.wires.items()
        if ":" in wire and wire not in lists
    }


def _ports(page: Page, name: Any) -> list[str] | None:
    """The inputs of a page that is used as a block."""
    try:
        file = Folder.of(page.path).file(name)
        return list(parse(read_file(file), PageFile).ports.inputs)
    except OpError:
        return None
