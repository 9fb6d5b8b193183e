"""Pages that are open in tabs: one document for all tabs, with its journal, its checks and its runs."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import UNSET

from backblocks import examples
from backblocks._durable import atomic_write
from backblocks.errors import OpError
from backblocks.pages.migrations import upgrade_to_current
from backblocks.pages.model import FORMAT, PageFile
from backblocks.pages.serialization import (
    decode_json,
    exceeds_max_depth,
    open_regular_file,
    parse,
    read_file,
)
from backblocks.studio import ipc
from backblocks.studio import messages as m
from backblocks.studio.clients import Clients, has_change, is_late, with_change
from backblocks.studio.document import EditError, apply, diff
from backblocks.studio.journal import Journal, JournalContents, PageInUse
from backblocks.studio.page_runner import PageRunner, RunProcesses
from backblocks.studio.process_pool import ProcessPool, TaskError
from backblocks.studio.state_folder import StateFolder
from backblocks.studio.workspace import OutsideWorkspace, Workspace

_SYNC_DELAY = 0.5
"""Seconds until a change is on the disk, at most."""
_SYNC_RETRY_DELAY = 5.0
"""Seconds after which a sync that failed is tried again."""

_MAX_PREPARED = 4
"""Pages that have a process ready before they are run."""
_STALE_CHECK_TIMEOUT = 1.0
"""Seconds that a check may go on after a newer change."""
_DEBOUNCE = 0.5
"""Seconds without a change after which the memory of a run is estimated."""


class Refusal(Exception):
    """A command that is refused, with the reason in words for the user."""


class Tab(Protocol):
    """A connected tab."""

    number: int

    def send(self, message: m.ServerMessage | bytes) -> None: ...


class OpenPage:
    """A page that is open in tabs."""

    def __init__(
        self,
        number: int,
        pages: OpenPages,
        path: Path | None,
        unsaved: str = "",
        lesson: str = "",
    ) -> None:
        self.number = number
        self.path = path
        self.lesson = lesson
        self.tabs: dict[int, Tab] = {}
        self.subscriptions: dict[int, m.Subscribe] = {}
        self.document: dict[str, Any] = {"format": FORMAT, "blocks": {}}
        self.revision = 0
        self.clients: Clients = {}
        self.draft: m.Draft | None = None
        self._pages = pages
        self._saved = self.document
        """The document of its file, or the first one of a page without a file."""
        self._lost_file = False
        """Whether it had a file, which is gone: then even its start is worth keeping."""
        self._source = b""
        """The bytes of its file when it was read or written last."""
        self._known = ""
        """The digest of the file that the document goes back to."""
        self._writing: str | None = None
        """The digest of what the last save wrote, if it failed: the file may hold it all the same."""
        try:
            self._journal = Journal(pages.state.drafts, unsaved or pages.state.key_of(path))
        except PageInUse:
            raise Refusal("Another studio has this page open. Close it there first.") from None
        self.runner = PageRunner(number, pages.processes, self._send)
        self.closing: asyncio.Task[None] | None = None
        """Closes it, if no tab comes back in time."""
        self.changing = asyncio.Lock()
        """Held while the document changes and while it is saved: a save may delete the journal, and a change
        in between would be lost with it."""
        self._checking: asyncio.Task[None] | None = None
        self._check_requested = asyncio.Event()
        self._estimating: asyncio.Task[None] | None = None
        self._syncing: asyncio.Task[None] | None = None

    @property
    def unsaved(self) -> str:
        return self._journal.name if self.path is None else ""

    @property
    def base_path(self) -> Path:
        """Its file, or a path in place of one: names of other files are relative to its folder."""
        return self.path or self._pages.workspace.folder / "unsaved.page.json"

    @property
    def is_changed(self) -> bool:
        """Whether it differs from its file, or from the start of a page without one."""
        return self._lost_file or bool(diff(self._saved, self.document))

    @property
    def last_change(self) -> float:
        """When it was last changed, in seconds since 1970."""
        return self._journal.last_change

    # -- opening --------------------------------------------------------------------------

    def load(self) -> None:
        """Reads the file, or starts from the lesson; then applies the changes of the journal."""
        if self.path is not None:
            self._source, self.document = _read_page(self.path)
            self._known = _digest(self._source)
        elif self.lesson:
            self.document = read_document(examples.path(self.lesson).read_bytes())
        self._saved = self.document
        name = "" if self.path is None else str(self.path)
        self.clients = self._journal.saved_clients()
        base = JournalContents(
            name, self._known, self.document, self.document, clients=self.clients
        )
        found = self._journal.contents(base)
        if found is None:
            return
        self.clients = found.clients
        if self.path is not None and found.saving == self._known:
            self._journal.delete(self.clients)  # it was saved
            return
        found = self._journal.resume(found)
        if self.path is not None:
            if not diff(found.document, self.document):
                self._journal.delete(self.clients)  # nothing of it is left, or can be read
                self.draft = m.Draft(0, found.since, found.damage) if found.damage else None
                return
            self._known = found.digest
        else:
            self._saved, self._lost_file = found.start, bool(found.page)
        self.document, self.revision = found.document, found.changes
        self.draft = m.Draft(found.changes, found.since, found.damage)

    def opened(self, command: m.Open) -> m.Opened:
        name = "" if self.path is None else self._pages.workspace.name(self.path)
        client = command.client
        return m.Opened(
            command.request,
            self.number,
            self.document,
            self.revision,
            name,
            None if self._lost_file else self._saved if self.is_changed else UNSET,
            self.draft,
            self.unsaved,
            self.lesson,
            [each for each in command.pending if has_change(self.clients, client, each)],
        )

    def join(self, tab: Tab, command: m.Open) -> None:
        self.tabs[tab.number] = tab
        if self.closing is not None:
            self.closing.cancel()
            self.closing = None
        tab.send(self.opened(command))
        self.runner.resend(tab.number)
        if len(self._pages.pages) <= _MAX_PREPARED:
            self.runner.prepare()
        if self._checking is None:  # else every tab is told what it finds
            self.check()

    def leave(self, tab: Tab) -> None:
        self.tabs.pop(tab.number, None)
        if self.subscriptions.pop(tab.number, None) is not None:
            self._update_subscriptions()

    def release(self) -> None:
        """Lets other processes open it. What was not saved stays in the journal."""
        self._journal.close()

    async def close(self) -> None:
        """Ends its checks and runs: no tab has the page open any longer."""
        for task in (self._checking, self._estimating, self._syncing):
            if task is not None:
                task.cancel()
        async with self.changing:
            await asyncio.to_thread(self._end_journal)
        await self.runner.close()

    def _end_journal(self) -> None:
        with contextlib.suppress(OSError):  # no tab is left that could be told
            self._journal.sync()
        if not self.is_changed:
            self._journal.delete(self.clients)
        self.release()

    def broadcast(self, message: m.ServerMessage) -> None:
        """Sends a message to every tab that has the page open."""
        self._send(0, message)

    def _send(self, tab: int, message: m.ServerMessage | bytes) -> None:
        if tab:
            if tab in self.tabs:
                self.tabs[tab].send(message)
            return
        for each in self.tabs.values():
            each.send(message)

    # -- changing -------------------------------------------------------------------------

    async def apply_change(self, command: m.Change, tab: Tab) -> None:
        """Applies a change of a client, unless the page has it already. `changing` must be held."""
        client, number = command.client, command.number
        if has_change(self.clients, client, number):
            tab.send(m.Changed(self.number, self.revision, [], client, number))
        elif is_late(self.clients, client, number):
            raise Refusal("A later change of this tab came before it.")
        else:
            await self.change(command.edits, command.label, client, number)

    async def change(
        self, edits: list[m.Edit], label: str, client: str = "", number: int = 0
    ) -> None:
        """Changes the document, and sends the change to every tab.

        `changing` must be held: the journal is written in another thread, where it may have to wait.
        """
        if any(exceeds_max_depth(_nested(edit.path, edit.value)) for edit in edits):
            raise Refusal("A page cannot be nested so deeply.")
        try:
            document, _ = apply(self.document, edits)
        except EditError as error:
            raise Refusal(f"The page has changed meanwhile: {error}.") from None
        try:
            await asyncio.to_thread(self._add_to_journal, edits, label, document, client, number)
        except OSError as error:
            folder = self._journal.path.parent
            text = f"The change is undone, because the journal in {folder} cannot be written"
            hint = "Make room on the disk, or see to its rights, and make it again."
            raise Refusal(f"{text}: {error.strerror}. {hint}") from None
        self.document = document
        self.revision += 1
        self.clients = with_change(self.clients, client, number)
        self.broadcast(m.Changed(self.number, self.revision, edits, client, number, label))
        if self._syncing is None:
            self._syncing = asyncio.create_task(self._sync())
        self.check()
        self.runner.update_document(self.revision, self.document)

    def _add_to_journal(
        self,
        edits: list[m.Edit],
        label: str,
        document: dict[str, Any],
        client: str,
        number: int,
    ) -> None:
        self._journal.begin(self.path, self._known, self.document, self.clients)
        self._journal.add(edits, label, document, client, number)

    async def _sync(self) -> None:
        """Syncs the journal to the disk, debounced, and tries again until that succeeds."""
        wait, reported = _SYNC_DELAY, False
        while True:
            await asyncio.sleep(wait)
            revision = self.revision
            try:
                await asyncio.to_thread(self._journal.sync)
            except OSError as error:
                wait = _SYNC_RETRY_DELAY
                if not reported:
                    text = f"The journal cannot be written: {error.strerror}. It is tried again."
                    self._send(0, m.Refused(text, page=self.number))
                reported = True
                continue
            wait, reported = _SYNC_DELAY, False
            self._send(0, m.Journaled(self.number, revision))
            if revision == self.revision:
                self._syncing = None
                return

    # -- checking -------------------------------------------------------------------------

    def check(self) -> None:
        """Requests a check of the newest document; changes during a check are checked together after it."""
        self._check_requested.set()
        if self._estimating is not None:
            self._estimating.cancel()
        if self._checking is None:
            self._checking = asyncio.create_task(self._check())

    async def _check(self) -> None:
        try:
            while self._check_requested.is_set():
                self._check_requested.clear()
                found = await self._checked()
                if found is not None and found.revision == self.revision:
                    self._send(0, found)
                    self._estimating = asyncio.create_task(self._estimate_memory(found))
        finally:
            self._checking = None

    async def _checked(self) -> m.Checked | None:
        """The result of a check; None if it is stale and did not end soon after the newer change."""
        revision = self.revision
        task = ipc.CheckPage(self.number, revision, self.document, str(self.base_path))
        check = asyncio.create_task(self._pages.pool.run(task))
        newer = asyncio.create_task(self._check_requested.wait())
        try:
            await asyncio.wait([check, newer], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([check], timeout=_STALE_CHECK_TIMEOUT)
            return check.result() if check.done() else None
        except TaskError as error:
            return m.Checked(self.number, revision, {}, {}, [error.problem])
        finally:
            check.cancel()
            newer.cancel()

    async def _estimate_memory(self, found: m.Checked) -> None:
        """Estimates the memory of a run, debounced: it takes longer than a check."""
        if found.problems:
            return
        await asyncio.sleep(_DEBOUNCE)
        with contextlib.suppress(TaskError):  # then it is not known
            task = ipc.EstimateMemory(self.document, str(self.base_path))
            found.peak_bytes = await self._pages.pool.run(task)
        if found.peak_bytes is not None:
            self._send(0, found)

    # -- saving ---------------------------------------------------------------------------

    async def save(self, path: str, overwrite: bool) -> m.ServerMessage:
        """Writes the file, and gives the message that answers the command."""
        try:
            target = self._pages.workspace.page(path) if path else self.path
        except OutsideWorkspace as error:
            return m.SaveRefused(self.number, "failed", str(error))
        if target is None:
            return m.SaveRefused(self.number, "failed", "The page must be given a name.")
        same = target == self.path
        try:
            now = await asyncio.to_thread(_read_bytes, target)
        except OSError as error:
            text = f"{target.name} cannot be replaced: {error.strerror}."
            return m.SaveRefused(self.number, "failed", text)
        ours = (self._known, self._writing) if same else (self._writing,)
        if not overwrite and now is not None and _digest(now) not in ours:
            reason = "changed outside" if same else "exists"
            text = "was changed by something else" if same else "is there already"
            text = f"{target.name} {text}."
            return m.SaveRefused(self.number, reason, text)  # type: ignore[arg-type]
        if not same and self._pages.is_open(target):
            return m.SaveRefused(self.number, "failed", f"{target.name} is open in the studio.")
        try:
            await self._write(target, now)
        except PageInUse:
            text = f"Another studio has {target.name} open. Close it there first."
            return m.SaveRefused(self.number, "failed", text)
        except (OSError, OpError, TaskError) as error:
            return m.SaveRefused(self.number, "failed", str(error))
        return m.Saved(self.number, self.revision, self._pages.workspace.name(target))

    async def _write(self, target: Path, now: bytes | None) -> None:
        document = self.document
        if target == self.path and await asyncio.to_thread(self._is_unchanged):
            data = self._source
        else:
            task = ipc.SaveArrays(document, str(self.base_path), str(target))
            data = await self._pages.pool.run(task)
        self._journal = await asyncio.to_thread(self._replace_file, target, now, data)
        self.path = target
        self._source, self._known, self._writing = data, _digest(data), None
        self._saved, self.draft, self._lost_file = document, None, False

    def _is_unchanged(self) -> bool:
        """Whether the document equals its file: then the file is written byte by byte as it was."""
        return bool(self._source) and not diff(self.document, read_document(self._source))

    def _replace_file(self, target: Path, now: bytes | None, data: bytes) -> Journal:
        """Writes the file, whose content is `now`, and gives the journal that goes on from it."""
        state = self._pages.state
        if now is not None and now != data:
            state.add_version(state.key_of(target), now, target.stat().st_mtime)
        if target == self.path:
            self._journal.mark_saving(_digest(data))
        self._writing = _digest(data)
        old, name = self._journal, state.key_of(target)
        new = old if old.name == name else Journal(state.drafts, name)
        try:
            if new is not old and (draft := new.contents()) is not None:
                # Unsaved changes of the page that is replaced can be had back as a version of it.
                state.add_version(name, json.dumps(draft.document).encode(), draft.since)
            with atomic_write(target) as file:
                file.write(data)
        except BaseException:
            if new is not old:
                new.close()
            raise
        new.delete(self.clients)
        if new is not old:
            old.delete()
            old.close()
        return new

    async def revert(self, version: str) -> None:
        """Reverts the document to the file or a version of it, by edits that can be undone."""
        if version:
            data = await asyncio.to_thread(
                self._pages.state.read_version, self._journal.name, version
            )
            if data is None:
                raise Refusal("There is no such version.")
            wanted = await asyncio.to_thread(read_document, data)
        elif self.path is None:
            wanted = self._saved
        else:
            source, wanted = await asyncio.to_thread(_read_page, self.path)
            self._source, self._known, self._saved = source, _digest(source), wanted
        if edits := diff(self.document, wanted):
            await self.change(edits, "revert")
        self.draft = None
        if not version and self.path is not None:
            self._send(
                0, m.Saved(self.number, self.revision, self._pages.workspace.name(self.path))
            )

    def versions(self) -> m.Versions:
        kept = self._pages.state.list_versions(self._journal.name)
        return m.Versions(self.number, [m.Version(*each) for each in kept])

    # -- running --------------------------------------------------------------------------

    def run(self, command: m.Run) -> None:
        self.runner.start(
            ipc.StartRun(
                self.number,
                self.revision,
                self.document,
                str(self.base_path),
                command.mode,
                command.steps,
                command.to,
                command.allow_files,
            ),
            command.automatic,
        )

    def control(self, what: str) -> None:
        if what == "step" and self.runner.state.state == "idle":
            self.run(m.Run(self.number))
        else:
            self.runner.control(what)

    def change_snapshot(self, command: m.Snapshot, tab: Tab) -> None:
        if command.what == "restore" and self.runner.state.state != "idle":
            raise Refusal("Snapshots are restored between runs. Cancel this run first.")
        self.runner.send(ipc.ChangeSnapshot(self.number, tab.number, command.what, command.run))

    async def compare_runs(self, first: int, second: int) -> list[str]:
        """What changed on the page between two runs that are kept."""
        before, after = (self.runner.records.document(run) for run in (first, second))
        if before is None or after is None:
            raise Refusal("One of these runs is not in the list any longer. Choose another.")
        found: list[str] = await self._pages.pool.run(
            ipc.ComparePages(before, after, str(self.base_path))
        )
        return found

    async def export(self, to: Literal["python", "tensorflow", "page"]) -> Any:
        """The page as a text that needs no folder, and the arrays that it omits."""
        return await self._pages.pool.run(ipc.ExportPage(self.document, str(self.base_path), to))

    def subscribe(self, tab: Tab, wanted: m.Subscribe) -> None:
        self.subscriptions[tab.number] = wanted
        self._update_subscriptions()

    def _update_subscriptions(self) -> None:
        every = self.subscriptions.values()
        pins = list(dict.fromkeys(pin for each in every for pin in each.pins))
        self.runner.subscribe(
            pins, {pin: axes for each in every for pin, axes in each.axes.items()}
        )


class OpenPages:
    """All pages that are open in tabs, by number."""

    def __init__(
        self, workspace: Workspace, state: StateFolder, processes: RunProcesses, pool: ProcessPool
    ) -> None:
        self.workspace = workspace
        self.state = state
        self.processes = processes
        self.pool = pool
        self.pages: dict[int, OpenPage] = {}
        self._count = 0
        self._opening: dict[tuple[str, str], asyncio.Task[OpenPage]] = {}
        """Pages that are being read: a tab that opens the same one waits for it."""

    def is_open(self, path: Path) -> bool:
        return any(page.path == path for page in self.pages.values())

    async def open(self, command: m.Open) -> OpenPage:
        """The page that is asked for; the same one if a tab has it open already."""
        try:
            return await self._open(command)
        except OutsideWorkspace as error:
            raise Refusal(str(error)) from None
        except OpError as error:
            raise Refusal(f"{command.path} cannot be opened. {error}") from None

    async def _open(self, command: m.Open) -> OpenPage:
        if command.path:
            path = await asyncio.to_thread(self.workspace.path, command.path)
            for page in self.pages.values():
                if page.path == path:
                    return page
            return await self._open_once(("path", str(path)), path)
        if command.unsaved:
            for page in self.pages.values():
                if page.unsaved == command.unsaved:
                    return page
            key = ("unsaved", command.unsaved)
            if not command.untouched or await asyncio.to_thread(
                self.state.is_unsaved, command.unsaved
            ):
                return await self._open_once(key, None, unsaved=command.unsaved)
        if command.lesson and command.lesson not in examples.names():
            raise Refusal(f"There is no lesson {command.lesson[:100]!r}.")
        return await self._open_new(None, lesson=command.lesson)

    async def _open_once(
        self, key: tuple[str, str], path: Path | None, unsaved: str = ""
    ) -> OpenPage:
        if key not in self._opening:
            task = asyncio.create_task(self._open_new(path, unsaved=unsaved))
            self._opening[key] = task
            task.add_done_callback(lambda _: self._opening.pop(key))
        return await asyncio.shield(self._opening[key])

    async def _open_new(self, path: Path | None, lesson: str = "", unsaved: str = "") -> OpenPage:
        self._count += 1
        page = await asyncio.to_thread(self._read, self._count, path, lesson, unsaved)
        self.pages[page.number] = page
        return page

    def _read(self, number: int, path: Path | None, lesson: str, unsaved: str) -> OpenPage:
        if unsaved and not self.state.is_unsaved(unsaved):
            raise Refusal("There is no such draft.")
        page = OpenPage(number, self, path, unsaved, lesson)
        try:
            page.load()
        except BaseException:
            page.release()
            raise
        return page

    def page(self, number: int) -> OpenPage:
        if number not in self.pages:
            raise Refusal("This page is not open.")
        return self.pages[number]

    async def close(self, page: OpenPage) -> None:
        if not page.tabs and self.pages.pop(page.number, None) is not None:
            await page.close()

    async def delete_draft(self, name: str) -> None:
        """Deletes the journal of a page without a file."""
        for page in list(self.pages.values()):
            if page.unsaved == name:
                if page.tabs:
                    raise Refusal("A tab has this draft open. Close it there first.")
                await self.close(page)
        if not await asyncio.to_thread(self.state.delete_unsaved, name):
            raise Refusal("There is no such draft.")

    async def close_all(self) -> None:
        for page in list(self.pages.values()):
            page.tabs.clear()
            await self.close(page)
        self.processes.end()
        await self.pool.end()


def read_document(data: bytes) -> dict[str, Any]:
    """The document of a page file, validated and upgraded to the current format."""
    parse(data, PageFile)
    document: dict[str, Any] = upgrade_to_current(decode_json(data))
    return document


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest() if data else ""


def _read_bytes(path: Path) -> bytes | None:
    """The content of a regular file; None if there is none."""
    try:
        with open_regular_file(path) as file:
            return file.read()
    except FileNotFoundError:
        return None


def _read_page(path: Path) -> tuple[bytes, dict[str, Any]]:
    source = read_file(path)
    return source, read_document(source)


def _nested(path: list[str | int], value: Any) -> Any:
    """A value with as many levels of brackets around it as it has in the document."""
    for _ in path[:_DEEPEST_PATH]:
        value = [value]
    return value


_DEEPEST_PATH = 1000
"""Levels that are more than any page has."""
