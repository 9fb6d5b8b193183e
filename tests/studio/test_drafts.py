"""Work is not lost: journals, saves, versions, and what is found again after a power cut."""

import hashlib
import json
import os
import random
import subprocess
import time
from pathlib import Path

import conftest
import pytest
from conftest import page_file

from backblocks.studio.document import apply
from backblocks.studio.journal import (
    Journal,
    JournalContents,
    PageInUse,
    _Entry,
    _line,
    read_journal,
)
from backblocks.studio.messages import Edit
from backblocks.studio.state_folder import MAX_VERSIONS, StateFolder

START = {"title": "start", "blocks": {"a": {"op": "Const", "attrs": {"value": 1.0}}}}


def title(words):
    return {"path": ["title"], "value": words}


def block(name, value=1.0):
    return {"path": ["blocks", name], "value": {"op": "Const", "attrs": {"value": value}}}


# -- journals -------------------------------------------------------------------------------------


def test_a_journal_gives_back_every_change_and_what_it_began_with(tmp_path):
    state = StateFolder(tmp_path)
    journal = Journal(state.drafts, "page")
    journal.begin(Path("/page"), "digest", {"title": "a"})
    journal.add([Edit(["title"], "b")], "rename", {"title": "b"})
    journal.add([Edit(["n"], 1.0)], "", {"title": "b", "n": 1.0})
    journal.close()
    found = read_journal(journal.path)
    assert (found.page, found.digest, found.changes) == ("/page", "digest", 2)
    assert (found.start, found.document) == ({"title": "a"}, {"title": "b", "n": 1.0})
    assert abs(found.since - time.time()) < 60


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_journal_that_was_cut_off_loses_the_last_line_at_most(tmp_path, cut):
    state = StateFolder(tmp_path)
    journal = Journal(state.drafts, "page")
    journal.begin(None, "", {"n": 0})
    for n in range(3):
        journal.add([Edit(["n"], n)], "", {"n": n})
    journal.close()
    data = journal.path.read_bytes()
    journal.path.write_bytes(data[: len(data) - cut])
    again = Journal(state.drafts, "page")
    found = again.contents()
    assert (found.document, found.changes) == ({"n": 1}, 2)
    again.resume(found)
    again.add([Edit(["n"], 7)], "", {"n": 7})
    again.close()
    assert read_journal(journal.path).document == {"n": 7}


def test_a_disk_that_is_full_leaves_no_half_line(tmp_path, monkeypatch):
    journal = Journal(StateFolder(tmp_path).drafts, "page")
    journal.begin(None, "", {"n": 0})
    write = os.write

    def half(handle, data):
        write(handle, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("backblocks.studio.journal.os.write", half)
    with pytest.raises(OSError, match="No space"):
        journal.add([Edit(["n"], 1)], "", {"n": 1})
    monkeypatch.undo()
    journal.add([Edit(["n"], 2)], "", {"n": 2})
    journal.close()
    found = read_journal(journal.path)
    assert (found.document, found.damage) == ({"n": 2}, None)


@pytest.mark.parametrize("data", [b"", b"{", b"[]\n", b'{"page": 1}\n', b"\xff\xfe"])
def test_what_is_no_journal_is_none(tmp_path, data):
    (tmp_path / "x.jsonl").write_bytes(data)
    assert read_journal(tmp_path / "x.jsonl") is None


def journal_of(state, *changes):
    """A journal of `{"n": 0}` with these changes, and the document that they make."""
    journal = Journal(state.drafts, "page")
    document = {"n": 0}
    journal.begin(None, "", document)
    for edit in changes:
        document, _ = apply(document, [edit])
        journal.add([edit], "", document)
    journal.sync()
    journal.close()
    return journal.path, document


def test_a_flipped_bit_costs_the_line_it_is_in_and_no_other(tmp_path):
    state, chance = StateFolder(tmp_path), random.Random(3)  # noqa: S311
    path, whole = journal_of(state, *(Edit([f"key {n}"], n) for n in range(5)))
    data = path.read_bytes()
    base = JournalContents("", "", {"n": 0}, {"n": 0})
    lines = [n for n, line in enumerate(data.splitlines(keepends=True)) for _ in line]
    for place, line in enumerate(lines):
        damaged = bytearray(data)
        damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        found = read_journal(path, base)
        left = {key: value for key, value in whole.items() if key != f"key {line - 1}"}
        assert found.document == left, (place, bytes(damaged))
        assert found.damage.lines in (1, 2), "two where the bit made an end of a line"
        assert (found.damage.unapplied, found.changes) == (0, 5 - (line > 0))


def test_a_damaged_journal_is_set_aside_and_goes_on_without_what_needs_the_lost_line(tmp_path):
    state = StateFolder(tmp_path)
    edits = [Edit(["a"], {}), Edit(["a", "x"], 1), Edit(["b"], 2), Edit(["a", "x"])]
    path, _ = journal_of(state, *edits)
    data = path.read_bytes()
    at = data.index(b'["a"]')
    path.write_bytes(damaged := data[:at] + b"?" + data[at + 1 :])
    journal = Journal(state.drafts, "page")
    found = journal.resume(journal.contents())
    assert (found.document, found.changes) == ({"n": 0, "b": 2}, 1)
    assert (found.damage.lines, found.damage.unapplied) == (1, 2)
    assert Path(found.damage.copy).read_bytes() == damaged
    journal.add([Edit(["c"], 3)], "", {"n": 0, "b": 2, "c": 3})
    journal.close()
    again = read_journal(path)
    assert (again.document, again.changes) == ({"n": 0, "b": 2, "c": 3}, 2)
    assert not again.is_damaged
    assert again.damage == found.damage, "it is told until the page is saved"


def test_a_journal_without_checksums_opens_and_goes_on(tmp_path):
    state = StateFolder(tmp_path)
    lines = [
        {"page": "", "digest": "", "document": {"n": 0}},
        {"time": 1.5, "edits": [{"path": ["n"], "value": 1}], "label": "set"},
    ]
    file = state.drafts / "page.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    journal = Journal(state.drafts, "page")
    found = journal.contents()
    assert (found.document, found.changes, found.since, found.damage) == ({"n": 1}, 1, 1.5, None)
    journal.resume(found)
    journal.add([Edit(["m"], 2)], "", {"n": 1, "m": 2})
    journal.close()
    again = read_journal(file)
    assert (again.document, again.changes, again.damage) == ({"n": 1, "m": 2}, 2, None)
    file.write_bytes(file.read_bytes().replace(b'"label"', b'"lab?l'))
    assert read_journal(file).document == {"n": 0, "m": 2}


def test_a_journal_is_compacted_when_it_is_large_beside_its_document(tmp_path):
    state = StateFolder(tmp_path)
    journal = Journal(state.drafts, "page")
    journal.begin(Path("/page"), "digest", {"n": 0})
    size = 3 << 20
    for n in range(8):
        document = {"n": 0, "text": str(n) * size}
        journal.add([Edit(["text"], document["text"])], "", document)
        journal.sync()
        assert journal.path.stat().st_size < 3 * size
    journal.mark_saving("new digest")
    journal.close()
    found = read_journal(journal.path)
    assert (found.page, found.digest, found.saving) == ("/page", "digest", "new digest")
    assert (found.start, found.document, found.changes) == ({"n": 0}, document, 8)
    assert sorted(os.listdir(state.drafts)) == ["page.jsonl", "page.lock"]
    assert journal.path.stat().st_mode & 0o777 == 0o600


def test_a_page_is_held_by_one_studio_at_a_time(tmp_path):
    state = StateFolder(tmp_path)
    journal = Journal(state.drafts, "page")
    with pytest.raises(PageInUse):
        Journal(state.drafts, "page")
    journal.close()
    Journal(state.drafts, "page").close()


def test_the_last_versions_are_kept(tmp_path):
    state = StateFolder(tmp_path)
    for n in range(MAX_VERSIONS + 5):
        state.add_version("page", b'{"blocks": {"a": 1}}' + b" " * n, 1000.0 + n)
    kept = state.list_versions("page")
    assert len(kept) == MAX_VERSIONS
    assert kept[0][1:] == (1000.0 + MAX_VERSIONS + 4, 1)
    assert state.read_version("page", kept[0][0]).endswith(b" " * (MAX_VERSIONS + 4))
    assert state.read_version("page", "../page/" + kept[0][0]) is None


def test_a_clock_that_goes_back_deletes_no_new_version(tmp_path):
    state = StateFolder(tmp_path)
    for n in range(MAX_VERSIONS):
        state.add_version("page", b"{}" + b" " * n, 2e9 + n)
    for n in range(3):
        state.add_version("page", b"[]" + b" " * n, 1e9 - n)
    kept = state.list_versions("page")
    assert len(kept) == MAX_VERSIONS
    assert [when for _, when, _ in kept[:4]] == [1e9 - 2, 1e9 - 1, 1e9, 2e9 + 49]
    assert [state.read_version("page", name) for name, _, _ in kept[:3]] == [b"[]  ", b"[] ", b"[]"]
    assert state.read_version("page", kept[-1][0]) == b"{}   "


def test_versions_from_before_there_was_a_counter_are_older_than_those_with_one(tmp_path):
    state = StateFolder(tmp_path)
    (state.versions / "page").mkdir()
    for name in ("002000000000000-1.json", "001000000000000-7.json", ".DS_Store"):
        (state.versions / "page" / name).write_text(name)
    state.add_version("page", b"{}", -1.5)
    kept = state.list_versions("page")
    assert [each[1:] for each in kept] == [(-1.5, 0), (2e9, 1), (1e9, 7)]
    assert state.read_version("page", "001000000000000-7") == b"001000000000000-7.json"


# -- after a power cut ----------------------------------------------------------------------------


def test_after_a_kill_the_draft_is_there_and_the_file_is_as_it_was(start):
    studio = start()
    file = page_file(studio.folder, "p", START)
    before = file.read_bytes()
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.change(page, title("mine"))
    tab.change(page, block("b"))
    tab.hear("journaled", revision=2)
    studio.kill()
    assert file.read_bytes() == before
    opened = start().tab().open(path="p.page.json")
    assert opened["document"]["title"] == "mine"
    assert list(opened["document"]["blocks"]) == ["a", "b"]
    assert opened["draft"]["changes"] == 2
    assert (opened["revision"], opened["saved"]["title"]) == (2, START["title"])


@pytest.mark.long
def test_random_kills_lose_no_change_that_was_confirmed(start):
    """A change whose answer came is in the journal, whenever the process dies after it."""
    chance = random.Random(5)  # noqa: S311
    folder = start().folder
    page_file(folder, "p", START)
    done = 0
    for _ in range(20):
        studio = start()
        tab = studio.tab()
        opened = tab.open(path="p.page.json")
        assert len(opened["document"]["blocks"]) >= done + 1
        done = len(opened["document"]["blocks"]) - 1
        for _ in range(chance.randrange(1, 6)):
            tab.change(opened["page"], block(f"n{done}"))
            done += 1
        for more in range(chance.randrange(3)):  # perhaps on their way when it dies
            edits = [block(f"n{done + more}")]
            tab.send_change(opened["page"], *edits)
        time.sleep(chance.random() * 0.02)
        studio.kill()


def damaged(studio, words):
    """Damages the line of the one journal that has these words, and gives the journal as it is then."""
    (journal,) = (studio.folder.parent / "state/backblocks/drafts").glob("*.jsonl")
    data = journal.read_bytes()
    at = data.rindex(words)
    journal.write_bytes(data[:at] + b"?" + data[at + 1 :])
    return journal.read_bytes()


def test_damage_to_a_journal_is_told_in_the_tab(start):
    studio = start()
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    for name in ("b", "c"):
        tab.change(page, block(name))
    tab.change(page, {"path": ["blocks", "b", "attrs", "value"], "value": 2.0})
    tab.hear("journaled", revision=3)
    studio.kill()
    journal = damaged(studio, b'["blocks","b"]')
    for _ in range(2):  # told until the page is saved
        studio = start()
        opened = studio.tab().open(path="p.page.json")
        assert list(opened["document"]["blocks"]) == ["a", "c"]
        damage = opened["draft"]["damage"]
        assert (opened["draft"]["changes"], damage["lines"], damage["unapplied"]) == (1, 1, 1)
        assert Path(damage["copy"]).read_bytes() == journal
        studio.kill()


@pytest.mark.parametrize("path", ["p.page.json", ""], ids=["file", "no file"])
def test_damage_to_the_only_change_is_told_too(start, path):
    studio = start()
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    opened = tab.open(**({"path": path} if path else {}))
    tab.change(opened["page"], title("mine"))
    tab.hear("journaled")
    studio.kill()
    journal = damaged(studio, b'["title"]')
    studio = start()
    tab = studio.tab()
    which = {"path": path} if path else {"unsaved": tab.hear("drafts")["drafts"][0]["name"]}
    again = tab.open(**which)
    assert again["document"] == opened["document"]
    assert again["draft"]["changes"] == 0
    assert Path(again["draft"]["damage"]["copy"]).read_bytes() == journal


def test_a_journal_that_lost_its_first_line_is_applied_to_the_file(start):
    studio = start()
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.change(page, title("mine"))
    tab.hear("journaled")
    studio.kill()
    damaged(studio, b'"digest"')
    tab = start().tab()
    opened = tab.open(path="p.page.json")
    assert opened["document"]["title"] == "mine"
    assert opened["draft"]["damage"]["lines"] == 1
    tab.send("save", page=opened["page"])
    tab.hear("saved")


def test_a_page_without_a_file_is_found_again(start):
    studio = start()
    tab = studio.tab()
    opened = tab.open()
    tab.change(opened["page"], title("new"))
    studio.kill()
    tab = start().tab()
    (found,) = tab.hear("drafts")["drafts"]
    assert (found["name"], found["document"]["title"]) == (opened["unsaved"], "new")
    again = tab.open(unsaved=found["name"])
    assert again["document"]["title"] == "new"
    tab.send("revert", page=again["page"])
    assert tab.hear("changed")["edits"] == [{"path": ["title"]}]
    tab.send("close", page=again["page"])
    tab.send("open", request=77, unsaved=found["name"])
    assert tab.hear("refused", request=77)


def test_a_draft_whose_file_was_deleted_is_listed_and_opens_as_a_page_without_one(start):
    studio = start()
    file = page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.change(page, title("mine"))
    tab.hear("journaled")
    studio.kill()
    assert start().tab().hear("drafts")["drafts"] == []
    file.unlink()
    tab = start().tab()
    (found,) = tab.hear("drafts")["drafts"]
    assert (found["document"]["title"], found["lost"]) == ("mine", str(file))
    again = tab.open(unsaved=found["name"])
    assert again["saved"] is None  # no file holds it
    assert (again["document"]["title"], again.get("path", "")) == ("mine", "")
    tab.send("revert", page=again["page"])
    tab.hear("changed")
    tab.send("close", page=again["page"])
    again = tab.open(unsaved=found["name"])  # what the file held is not lost either
    assert again["document"]["title"] == START.get("title", "")
    tab.send("save", page=again["page"], path="p.page.json")
    tab.hear("saved")
    assert file.exists()
    tab.send("close", page=again["page"])
    tab.send("open", request=77, unsaved=found["name"])
    assert tab.hear("refused", request=77)


def test_a_draft_that_was_saved_is_not_offered_again(start):
    studio = start()
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.change(page, title("mine"))
    tab.send("save", page=page)
    tab.hear("saved")
    studio.kill()
    opened = start().tab().open(path="p.page.json")
    assert "draft" not in opened
    assert opened["document"]["title"] == "mine"


def test_a_kill_between_writing_the_file_and_ending_the_journal_offers_nothing(start):
    studio = start()
    file = page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.change(page, title("mine"))
    (journal,) = (studio.folder.parent / "state/backblocks/drafts").glob("*.jsonl")
    held = journal.read_bytes()
    tab.send("save", page=page)
    tab.hear("saved")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    studio.kill()
    journal.write_bytes(held + _line(_Entry(saving=digest)))
    assert "draft" not in start().tab().open(path="p.page.json")


def test_a_draft_of_a_file_that_was_changed_meanwhile_does_not_overwrite_it(start):
    studio = start()
    file = page_file(studio.folder, "p", START)
    tab = studio.tab()
    tab.change(tab.open(path="p.page.json")["page"], title("mine"))
    studio.kill()
    page_file(studio.folder, "p", START | {"title": "theirs"})
    tab = start().tab()
    opened = tab.open(path="p.page.json")
    assert opened["document"]["title"] == "mine"
    assert opened["saved"]["title"] == "theirs"
    tab.send("save", page=opened["page"])
    assert tab.hear("save refused")["reason"] == "changed outside"
    assert json.loads(file.read_text())["title"] == "theirs"


def test_opening_looking_and_running_are_no_changes(start):
    studio = start()
    file = page_file(studio.folder, "p", START)
    before = file.stat().st_mtime_ns
    tab = studio.tab()
    opened = tab.open(path="p.page.json")
    tab.send("subscribe", page=opened["page"], pins=["a:output"])
    tab.run(opened["page"])
    tab.send("close", page=opened["page"])
    tab.open()
    assert not list((studio.folder.parent / "state/backblocks/drafts").glob("*.jsonl"))
    assert file.stat().st_mtime_ns == before


def test_a_second_studio_does_not_open_a_page_that_the_first_has(start):
    first, second = start(), start()
    page_file(first.folder, "p", START)
    tab, other = first.tab(), second.tab()
    page = tab.open(path="p.page.json")["page"]
    other.send("open", request=1, path="p.page.json")
    assert "Another studio" in other.hear("refused", request=1)["text"]
    tab.send("close", page=page)
    tab.open()
    assert other.open(path="p.page.json")


# -- saving ---------------------------------------------------------------------------------------


def test_a_page_that_is_saved_without_a_change_has_the_same_bytes(studio):
    file = studio.folder / "odd.page.json"
    file.write_text('{"format":1,  "blocks":\n{"a":{"op":"Const","attrs":{"value":1.0}}},"x":[]}')
    before = file.read_bytes()
    tab = studio.tab()
    page = tab.open(path="odd.page.json")["page"]
    tab.send("save", page=page)
    assert tab.hear("saved") == {
        "kind": "saved",
        "page": page,
        "revision": 0,
        "path": "odd.page.json",
    }
    assert file.read_bytes() == before


def test_numbers_keep_their_kind(studio):
    file = page_file(studio.folder, "p", {"blocks": {"a": {"op": "Neg", "in": {"x": 1.0}}}})
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.change(page, {"path": ["blocks", "b"], "value": {"op": "Neg", "in": {"x": 2.0}}})
    tab.send("save", page=page)
    tab.hear("saved")
    assert '"x": 1.0' in file.read_text()
    assert '"x": 2.0' in file.read_text()


def test_a_file_that_was_changed_outside_is_only_overwritten_on_request(studio):
    file = page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.change(page, title("mine"))
    page_file(studio.folder, "p", START | {"title": "theirs"})
    tab.send("save", page=page)
    assert tab.hear("save refused")["reason"] == "changed outside"
    assert json.loads(file.read_text())["title"] == "theirs"
    tab.send("save", page=page, overwrite=True)
    tab.hear("saved")
    assert json.loads(file.read_text())["title"] == "mine"
    tab.send("list versions", page=page)
    (version,) = tab.hear("versions")["versions"]
    tab.send("revert", page=page, version=version["name"])
    assert title("theirs") in tab.hear("changed")["edits"]


def test_save_under_another_name_needs_a_yes_where_there_is_a_file(studio):
    page_file(studio.folder, "p", START)
    page_file(studio.folder, "q", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.send("save", page=page, path="q.page.json")
    assert tab.hear("save refused")["reason"] == "exists"
    tab.send("save", page=page, path="new/r.page.json")
    assert tab.hear("saved")["path"] == "new/r.page.json"
    tab.change(page, title("moved"))
    tab.send("save", page=page)
    tab.hear("saved")
    assert json.loads((studio.folder / "new/r.page.json").read_text())["title"] == "moved"
    assert json.loads((studio.folder / "p.page.json").read_text())["title"] == "start"


def test_a_save_that_fails_says_so_and_loses_nothing(studio):
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.change(page, title("mine"))
    (studio.folder / "taken").write_text("")
    tab.send("save", page=page, path="taken/p.page.json")
    assert tab.hear("save refused")["reason"] == "failed"
    tab.send("save", page=page)
    assert tab.hear("saved")["revision"] == 1


ON_A_SMALL_DISK = """#!/bin/sh
exec unshare -rm sh -c '
    mount -t tmpfs -o size=1m none "$0" && mkdir "$0/work" &&
    cp {page} "$0/work/p.page.json" && head -c 700k /dev/zero > "$0/filler" && exec {command} "$@"
' {folder} "$@"
"""


@pytest.fixture
def small_disk(tmp_path, tmp_path_factory, start, monkeypatch):
    """A studio on a disk of 1 MiB with a filler of 700 KiB, and where others find its files."""
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", tmp_path]).returncode:  # noqa: S603, S607
        pytest.skip("file systems cannot be mounted here")
    aside = tmp_path_factory.mktemp("aside")
    page, script = page_file(aside, "p", START), aside / "studio"
    command = conftest._BACKBLOCKS
    script.write_text(ON_A_SMALL_DISK.format(page=page, folder=tmp_path, command=command))
    script.chmod(0o700)
    monkeypatch.setattr(conftest, "_BACKBLOCKS", script)
    studio = start()
    return studio, Path(f"/proc/{studio.process.pid}/root{tmp_path}")


def test_a_full_disk_is_told_and_leaves_the_old_file_and_every_change(small_disk):
    studio, disk = small_disk
    file = disk / "work/p.page.json"
    before = file.read_bytes()
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    done = 0
    while True:  # until there is no room for another change
        edit = block(f"b{done}", "x" * 40_000)
        tab.send_change(page, edit)
        message = tab.next()
        while message["kind"] not in ("changed", "refused"):
            message = tab.next()
        if message["kind"] == "refused":
            break
        done += 1
    assert "cannot be written: No space left on device. Make room" in message["text"]
    assert 1 < done < 12
    tab.send("save", page=page)
    refused = tab.hear("save refused")
    assert (refused["reason"], "No space left" in refused["text"]) == ("failed", True)
    assert file.read_bytes() == before
    (disk / "filler").unlink()
    tab.change(page, title("there is room"))
    tab.hear("journaled", revision=done + 1)
    (journal,) = (disk / "state/backblocks/drafts").glob("*.jsonl")
    assert len(read_journal(journal).document["blocks"]) == done + 1
    tab.send("save", page=page)
    tab.hear("saved", revision=done + 1)
    assert len(json.loads(file.read_bytes())["blocks"]) == done + 1
    assert not list(disk.rglob(".*"))


def test_revert_is_a_change_that_can_be_undone(studio):
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.change(page, title("mine"))
    tab.change(page, block("b"))
    tab.send("revert", page=page)
    reverted = tab.hear("changed")
    assert reverted["revision"] == 3
    assert tab.hear("saved")["revision"] == 3
    assert {edit["path"][0] for edit in reverted["edits"]} == {"title", "blocks"}
    assert tab.open(path="p.page.json")["document"] == {"format": 1, **START}


def test_versions_are_what_each_save_replaced(studio):
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    for n in range(3):
        tab.change(page, block(f"b{n}"))
        tab.send("save", page=page)
        tab.hear("saved")
        os.utime(studio.folder / "p.page.json", (1e9 + n, 1e9 + n))
    tab.send("list versions", page=page)
    versions = tab.hear("versions")["versions"]
    assert sorted(each["blocks"] for each in versions) == [1, 2, 3]


def test_the_draft_of_a_page_that_is_saved_over_becomes_a_version_of_it(studio):
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.change(page, title("never saved"))
    tab.hear("journaled")
    tab.send("close", page=page)
    other = tab.open()["page"]
    tab.send("save", page=other, path="p.page.json", overwrite=True)
    tab.hear("saved")
    tab.send("list versions", page=other)
    titles = []
    for version in tab.hear("versions")["versions"]:
        tab.send("revert", page=other, version=version["name"])
        titles += [
            edit["value"] for edit in tab.hear("changed")["edits"] if edit["path"] == ["title"]
        ]
    assert titles == ["never saved", "start"]


def test_a_page_that_cannot_be_read_can_be_opened_once_it_is_put_right(studio):
    file = studio.folder / "p.page.json"
    file.write_text("{")
    tab = studio.tab()
    tab.send("open", request=1, path="p.page.json")
    assert "must be JSON" in tab.hear("refused", request=1)["text"]
    page_file(studio.folder, "p", START)
    assert tab.open(path="p.page.json")["document"]["title"] == "start"


# -- several tabs ---------------------------------------------------------------------------------


def test_two_tabs_on_one_page_see_each_other(studio):
    page_file(studio.folder, "p", START)
    one, two = studio.tab(), studio.tab()
    page = one.open(path="p.page.json")["page"]
    assert two.open(path="p.page.json")["page"] == page
    changed = one.change(page, title("from one"))
    seen = two.hear("changed")
    assert seen == changed
    assert (seen["client"], seen["client"] == two.client) == (one.client, False)
    assert (seen["revision"], seen["edits"]) == (1, [title("from one")])
    two.change(page, title("from two"))
    assert one.hear("changed")["edits"] == [title("from two")]
    two.send("save", page=page)
    assert one.hear("saved")["revision"] == 2
    assert json.loads((studio.folder / "p.page.json").read_text())["title"] == "from two"


def test_a_change_that_no_longer_fits_is_refused_whole(studio):
    page_file(studio.folder, "p", START)
    one, two = studio.tab(), studio.tab()
    page = one.open(path="p.page.json")["page"]
    two.open(path="p.page.json")
    one.change(page, {"path": ["blocks", "a"]})
    late = [title("x"), {"path": ["blocks", "a", "attrs", "value"], "value": 2.0}]
    number = two.send_change(page, *late)
    assert two.hear("refused", number=number)["page"] == page
    again = one.open(path="p.page.json")
    assert (again["document"]["title"], again["revision"]) == ("start", 1)


def test_a_tab_that_comes_back_finds_the_page_as_it_was(studio):
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.send("subscribe", page=page, pins=["a:output"])
    tab.change(page, title("mine"))
    tab.run(page)
    tab.socket.close()
    tab = studio.tab()
    opened = tab.open(path="p.page.json")
    assert (opened["page"], opened["document"]["title"]) == (page, "mine")
    assert tab.hear("run state")["step"] == 1
    assert tab.hear("block states")["blocks"] == [{"block": "a", "state": "done"}]


def test_a_pipe_in_place_of_a_journal_holds_up_nobody(studio):
    page_file(studio.folder, "p", START)
    tab, other = studio.tab(), studio.tab()
    page = tab.open(path="p.page.json")["page"]
    drafts_folder = studio.folder.parent / "state" / "backblocks" / "drafts"
    (lock,) = drafts_folder.glob("*.lock")
    os.mkfifo(lock.with_suffix(".jsonl"))
    number = tab.send_change(page, title("new"))
    text = tab.hear("refused", 10, number=number)["text"]
    assert text.startswith(f"The change is undone, because the journal in {drafts_folder} cannot")
    assert other.open()["page"]
    assert studio.tab().open()["page"]
