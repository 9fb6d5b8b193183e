"""The list of a page's runs, which the server keeps while the page is open.

It outlives the process that runs the page. Variables and snapshots are in that process, and end with it.
"""

from __future__ import annotations

import time
from typing import Any

from backblocks.studio import ipc
from backblocks.studio.messages import RunRecord, Runs, RunState

MAX_RUNS = 20
MAX_SNAPSHOTS = 8
"""Snapshots of a page; a run that has one is not dropped from the list."""


class RunRecords:
    """The runs of a page by number, the oldest first, with the document that each began with."""

    def __init__(self, page: int) -> None:
        self._page = page
        self._records: dict[int, RunRecord] = {}
        self._documents: dict[int, dict[str, Any]] = {}
        """Documents are copy-on-write, so these share all that did not change."""
        self._last = 0
        self._lineage = 1
        self._dropped = 0

    def all(self) -> Runs:
        return self._message(list(self._records.values()))

    def document(self, run: int) -> dict[str, Any] | None:
        return self._documents.get(run)

    def start(self, command: ipc.StartRun, automatic: bool) -> tuple[int, Runs]:
        """Adds a run, and gives its number. It takes the place of a run before it if both are automatic."""
        last = self._records.get(self._last)
        if automatic and last is not None and last.automatic and last.snapshot is None:
            self._remove(last.run)
        self._last += 1
        settings = command.document.get("run", {})
        record = self._records[self._last] = RunRecord(
            self._last,
            command.mode,
            time.time(),
            command.steps if command.mode == "steps" else 1,
            command.to,
            settings.get("until") or "" if command.mode == "until" else "",
            settings.get("seed"),
            automatic,
            lineage=self._lineage,
        )
        self._documents[self._last] = command.document
        without = [n for n, each in self._records.items() if each.snapshot is None]
        for run in without[: max(0, len(self._records) - MAX_RUNS)]:
            self._remove(run)
            self._dropped += 1
        return self._last, self._message([record])

    def edited(self, run: int) -> None:
        if run in self._records:
            self._records[run].edited = True

    def measured(self, told: ipc.RunMeasured) -> None:
        """Takes what a run leaves; `ended` follows."""
        record = self._records.get(told.run)
        if record is not None:
            record.first_step, record.curves = told.first_step, told.curves
            record.timed_steps, record.blocks = told.timed_steps, told.blocks

    def ended(self, state: RunState) -> Runs | None:
        """The run is over; None if it is not in the list, or known to be over."""
        record = self._records.get(state.run)
        if record is None or record.end:
            return None
        if state.needs_files:  # it has not begun, and comes again with another number
            self._remove(state.run)
            return self._message([])
        left_out = bool(state.problems) and state.ran < state.of
        record.problem, record.problems = state.problem, state.problems
        record.end = (
            "failed"
            if state.problem
            else "stopped"
            if state.stopped
            else "incomplete"
            if left_out
            else "done"
        )
        record.step, record.seconds, record.peak_bytes = state.step, state.seconds, state.peak_bytes
        record.ran, record.of = state.ran, state.of
        return self._message([record])

    def snapshot_changed(self, told: ipc.SnapshotChanged) -> Runs:
        record = self._records.get(told.run)
        if told.restored:
            self.variables_began_anew()
        elif record is not None:
            record.snapshot = told.snapshot
        return self._message([record] if record else [])

    def variables_began_anew(self) -> None:
        """Variables were reset or restored: the next run continues none of those before."""
        self._lineage += 1

    def process_ended(self) -> Runs:
        """All snapshots are lost with the process."""
        self.variables_began_anew()
        lost = [record for record in self._records.values() if record.snapshot is not None]
        for record in lost:
            record.snapshot = None
        return self._message(lost)

    def _remove(self, run: int) -> None:
        del self._records[run], self._documents[run]

    def _message(self, changed: list[RunRecord]) -> Runs:
        return Runs(self._page, list(self._records), changed, self._dropped, MAX_SNAPSHOTS)
