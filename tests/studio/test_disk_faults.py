"""The disk fails, or the power is cut, at every single operation of editing and saving a page.

What was confirmed as journaled or saved is there when the page is opened again, and the file is the old or
the new one, whole.
"""

import asyncio
import errno
import json
import os
import threading
import time

import numpy as np
import pytest
from simulated_disk import Disk, Faults, make_tree, on_disk, tree_of

import backblocks as bb
from backblocks.studio import messages as m
from backblocks.studio import open_pages, pool_worker
from backblocks.studio.clients import has_change
from backblocks.studio.journal import read_journal
from backblocks.studio.open_pages import OpenPage, OpenPages, Refusal
from backblocks.studio.page_runner import RunProcesses
from backblocks.studio.state_folder import StateFolder
from backblocks.studio.workspace import Workspace

PAGE, MOVED = "p.page.json", "new/q.page.json"
ARRAY = "p.arrays/old-0123456789abcdef.npy"


def const(value):
    return {"op": "Const", "attrs": {"value": value}}


OLD = {
    "format": 1,
    "blocks": {"old": const({"dtype": "float32", "shape": [300], "file": ARRAY})},
}


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with a page in it; journals are synced at once and compacted often."""
    monkeypatch.setattr(open_pages, "_SYNC_DELAY", 0)
    monkeypatch.setattr(open_pages, "_SYNC_RETRY_DELAY", 0)
    monkeypatch.setattr("backblocks.studio.journal._SMALL", 0)
    monkeypatch.setattr(OpenPage, "check", lambda self: None)
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # the simulated disk knows what is synced
    (tmp_path / "root/work/p.arrays").mkdir(parents=True)
    np.save(tmp_path / "root/work" / ARRAY, np.ones(300, np.float32))
    (tmp_path / "root/work" / PAGE).write_text(json.dumps(OLD))
    return tmp_path / "root"


def named(document):
    """The blocks of a document, by name and op: constants move to files of their own."""
    return {(name, block["op"]) for name, block in document["blocks"].items()}


def number_of(name):
    """The number of the change that adds a block."""
    return ord(name) - ord("a") + 1


class InThisProcess:
    """Does what the pool's processes do, where the simulated disk is."""

    async def run(self, task):
        return await asyncio.to_thread(pool_worker._execute, task)


class Session:
    """Someone who edits and saves a page in one tab, and tries again what the disk has refused."""

    number = 1

    def __init__(self, root, disk=None, faults=None, client="first"):
        self.root, self.disk, self.faults, self.client = root, disk, faults, client
        self.documents = {}
        self.refusals = 0

    def send(self, message):
        if isinstance(message, m.Journaled):
            self.mark("journaled", named(self.documents[message.revision]))
        elif isinstance(message, m.Refused):
            self.refused()

    def mark(self, *what):
        if self.disk is not None:
            self.disk.mark(what)

    def refused(self):
        self.refusals += 1
        assert self.faults is not None
        assert self.faults.was_reached, "refused without a reason"
        self.faults.heal()

    async def retry(self, action):
        try:
            return await action()
        except OSError:
            self.refused()
            return await action()

    async def open(self, name=PAGE):
        state = await self.retry(lambda: asyncio.to_thread(StateFolder, self.root / "state"))
        pages = OpenPages(Workspace(self.root / "work"), state, RunProcesses(), InThisProcess())
        page = await self.retry(lambda: pages.open(m.Open(1, path=name)))
        page.tabs[self.number] = self
        self.documents[page.revision] = page.document
        return page

    async def edit(self, page, name, value=1.0, *, wait=True):
        change = m.Change(
            page.number, self.client, number_of(name), [m.Edit(["blocks", name], const(value))]
        )
        before = page.document
        try:
            await page.apply_change(change, self)
        except Refusal:
            assert page.document is before
            self.refused()
            await page.apply_change(change, self)
        self.documents[page.revision] = page.document
        if wait:
            while page._syncing is not None:
                await asyncio.sleep(0)
            found = read_journal(page._journal.path)
            assert (found.document, found.is_damaged) == (page.document, False)

    async def save(self, page, path=""):
        self.mark("saving", path)
        answer = await page.save(path, False)
        if isinstance(answer, m.SaveRefused):
            assert answer.reason == "failed", answer
            self.refused()
            answer = await page.save(path, False)
        assert isinstance(answer, m.Saved), answer
        self.mark("saved", path, page.path.read_bytes())

    async def work(self):
        page = await self.open()
        for name in "abcd":
            await self.edit(page, name)
        await self.save(page)
        await self.edit(page, "e")
        await self.save(page)
        for name in "fghi":
            await self.edit(page, name, wait=name == "i")
        await self.save(page, MOVED)
        await self.edit(page, "j")
        page.release()


async def look_at(root, marks, contents, is_broken):
    """Opens the pages as the power cut has left them, and goes on with them."""
    done = [mark for mark in marks if mark[0] == "saved"]
    begun = [mark for mark in marks if mark[0] == "saving"]
    saves = contents[: sum(not mark[1] for mark in begun) + 1]
    saves = saves[sum(not mark[1] for mark in done) :]
    assert (root / "work" / PAGE).read_bytes() in saves, "the file is the old or the new one"
    confirmed = next((mark[1] for mark in reversed(marks) if mark[0] == "journaled"), set())
    is_moved = any(mark[1] for mark in done)
    missing = {}
    for name in [PAGE, *[MOVED] * (root / "work" / MOVED).exists()]:
        assert bb.open_page(root / "work" / name).check() == []
        session = Session(root, client="second")
        page = await session.open(name)
        blocks = {each for each in "abcdefghij" if each in page.document["blocks"]}
        made = {each for each in "abcdefghij" if has_change(page.clients, "first", number_of(each))}
        if not is_broken and (name == PAGE or is_moved):  # else the tab comes back to the old page
            assert made == blocks, "changes that would be made again, or never"
        missing[name] = confirmed - named(page.document)
        known = page.document["blocks"]
        await session.edit(page, "y", 2.0)
        assert await page.save("", True) == m.Saved(page.number, page.revision, name)
        await session.edit(page, "z")
        page.release()
        again = await session.open(name)
        assert set(again.document["blocks"]) == {*known, "z", "y"}
        again.release()
    whole = [name for name in missing if not missing[name]]
    assert MOVED in whole if is_moved else whole, "what was confirmed as journaled is there"
    left = [path for path in tree_of(root) if path.endswith(".backblocks")]
    if name == PAGE:  # those of a save to another folder are removed with the next save to it
        left = [path for path in left if not path.startswith("work/new/")]
    assert not left


def contents_of(disk):
    saved = [
        entry[1][2] for entry in disk.log if entry[0] == "mark" and entry[1][:2] == ("saved", "")
    ]
    return [disk.start[f"work/{PAGE}"], *saved]


async def cut_power(root, disk, operations, is_broken=False):
    """Looks at everything that a power cut after so many operations may leave."""
    count = 0
    marks, contents = disk.marks(operations), contents_of(disk)
    for tree in disk.cut_off_after(operations):
        make_tree(root, tree)
        with on_disk(os):
            await look_at(root, marks, contents, is_broken)
        count += 1
    return count


@pytest.mark.long
def test_a_power_cut_after_any_operation_loses_nothing_that_was_confirmed(root):
    async def run():
        with on_disk(Disk(root)) as disk:
            await Session(root, disk).work()
        everything = tree_of(root)
        assert everything in disk.cut_off_after(len(disk.log)), "a write went past the disk"
        kinds = {entry[0] for entry in disk.log}
        assert kinds >= {"write", "sync", "name", "folder"}
        return sum([await cut_power(root, disk, n) for n in range(len(disk.log) + 1)])

    assert asyncio.run(run()) > 300


@pytest.mark.long
@pytest.mark.parametrize(
    ("error", "last"),
    [(errno.EIO, False), (errno.EIO, True), (errno.ENOSPC, True)],
    ids=["broken once", "broken for a while", "full for a while"],
)
def test_an_error_at_any_operation_is_told_and_loses_nothing(root, error, last):
    async def run():
        start, told = tree_of(root), 0
        for at in range(1000):
            make_tree(root, start)
            faults = Faults(at, error, last=last)
            session = Session(root, Disk(root, faults), faults)
            with on_disk(session.disk) as disk:
                await session.work()
            told += session.refusals
            await cut_power(root, disk, len(disk.log), is_broken=True)
            if disk.count <= at:
                return at, told
        raise AssertionError("it never ends")

    operations, told = asyncio.run(run())
    assert operations > 100
    assert told > operations / 3


def test_a_journal_that_is_being_compacted_does_not_stop_the_event_loop(root):
    async def main():
        session = Session(root)
        page = await session.open()
        await session.edit(page, "a")
        page._journal._replacing.acquire()
        threading.Timer(1.0, page._journal._replacing.release).start()
        begun = time.monotonic()
        edit = asyncio.create_task(session.edit(page, "b"))
        await asyncio.sleep(0.01)
        waited = time.monotonic() - begun
        await edit
        page.release()
        return waited

    assert asyncio.run(main()) < 0.5
