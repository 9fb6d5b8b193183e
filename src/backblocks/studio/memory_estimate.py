"""Estimate of the peak memory of a run of a document, without running it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backblocks.errors import OpError
from backblocks.graph.session import Session
from backblocks.studio.run_plan import page_from_document


def peak_bytes(document: dict[str, Any], path: Path) -> int | None:
    """The peak memory of a run with the page's settings, in bytes; None if it is not known."""
    page = page_from_document(document, path)
    run = page.run
    shown = [shown.pin for monitor in page.monitors.values() for shown in monitor.shows]
    wanted = [*run.fetch, *shown]
    try:
        graph = page.graph()
        targets: list[Any] = run.targets
        if not run.fetch and not targets:
            targets = [block for block in graph if not block.op.fed]
        return Session(graph).estimate(wanted, page.feeds(), targets).peak
    except OpError:
        return None
