"""The disk fails, or the power is cut, at every single operation of saving a page with arrays."""

import errno
import os

import numpy as np
import pytest
from simulated_disk import Disk, Faults, make_tree, on_disk, tree_of

import backblocks as bb
from backblocks.pages.model import PageBlock
from backblocks.pages.page import Page

PAGE, COPY = "p.page.json", "copy/p.page.json"


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder with a page, and one for a copy of it."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # the simulated disk knows what is synced
    (tmp_path / "root/copy").mkdir(parents=True)
    page = Page(title="page 0")
    page.blocks["changes"] = const(0)
    page.blocks["stays"] = const(7)
    bb.save_page(page, tmp_path / "root" / PAGE)
    return tmp_path / "root"


def array(number):
    return np.full(300, number, np.float32)


def const(number):
    return PageBlock("Const", attrs={"value": array(number)})


def save(root, number, disk=None, faults=None):
    """Changes the page, saves it and then a copy of it; what has failed is done again."""
    for path in (PAGE, COPY):
        page = bb.open_page(root / PAGE)
        if path == PAGE:
            page.title = f"page {number}"
            page.blocks["changes"] = const(number)
        try:
            bb.save_page(page, root / path)
        except OSError:
            assert faults is not None
            assert faults.was_reached
            whole(root / PAGE)
            faults.heal()
            bb.save_page(page, root / path)
        if disk is not None:
            disk.mark(path)


def whole(path):
    """The number of the page that a file holds, once everything in it has been read."""
    page = bb.open_page(path)
    number = int(page.title.removeprefix("page "))
    changes, stays = page.session().run(["changes:output", "stays:output"])
    np.testing.assert_array_equal(changes, array(number))
    np.testing.assert_array_equal(stays, array(7))
    return number


def cut_power(root, disk, operations):
    """Looks at everything that a power cut after so many operations may leave, and saves again."""
    saved, count = disk.marks(operations), 0
    for tree in disk.cut_off_after(operations):
        make_tree(root, tree)
        assert whole(root / PAGE) in ((1,) if PAGE in saved else (0, 1))
        if COPY in saved or (root / COPY).exists():
            assert whole(root / COPY) == 1
        with on_disk(os):
            save(root, 2)
        assert (whole(root / PAGE), whole(root / COPY)) == (2, 2)
        assert not [name for name in tree_of(root) if name.endswith(".backblocks")]
        count += 1
    return count


def test_a_power_cut_after_any_operation_leaves_the_old_page_or_the_new_one(root):
    with on_disk(Disk(root)) as disk:
        save(root, 1, disk)
    assert tree_of(root) in disk.cut_off_after(len(disk.log)), "a write went past the disk"
    assert sum(cut_power(root, disk, n) for n in range(len(disk.log) + 1)) > 100


@pytest.mark.long
@pytest.mark.parametrize(
    ("error", "last"),
    [(errno.EIO, False), (errno.EIO, True), (errno.ENOSPC, True)],
    ids=["broken once", "broken for a while", "full for a while"],
)
def test_an_error_at_any_operation_leaves_the_old_page_or_the_new_one(root, error, last):
    start, told = tree_of(root), 0
    for at in range(1000):
        make_tree(root, start)
        faults = Faults(at, error, last=last)
        with on_disk(Disk(root, faults)) as disk:
            save(root, 1, disk, faults)
        told += faults.is_healed
        cut_power(root, disk, len(disk.log))
        if disk.count <= at:
            break
    assert at > 30
    assert told > at / 2
