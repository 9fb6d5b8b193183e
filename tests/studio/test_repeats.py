"""A change that is sent again is made once: after lost acknowledgements, restarts, kills and saves."""

import json
import os
import signal
import time

import pytest
from conftest import page_file

from backblocks.studio import clients
from backblocks.studio.clients import Client, has_change, is_late, with_change
from backblocks.studio.document import apply
from backblocks.studio.journal import Journal, read_journal
from backblocks.studio.messages import Edit
from backblocks.studio.state_folder import StateFolder

START = {"blocks": {}, "notes": {"n": {"list": []}}}


def item(number):
    """An edit that shows how often it was made."""
    return {"path": ["notes", "n", "list", 0], "value": number}


def items(document):
    return document["notes"]["n"]["list"]


def send(tab, page, *numbers):
    for number in numbers:
        edits = [item(number)]
        tab.send("change", page=page, client=tab.client, number=number, edits=edits)


def made(tab, number):
    return tab.hear("changed", client=tab.client, number=number)


@pytest.fixture
def page(studio):
    """A tab that has made change 1 of a page, and the number of the page."""
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    number = tab.open(path="p.page.json")["page"]
    send(tab, number, 1)
    made(tab, 1)
    return tab, number


def come_back(studio, tab, *pending):
    """A tab whose connection was lost opens its page again, and sends again what the page does not have."""
    tab.socket.close()
    again = studio.tab(tab)
    opened = again.open(path="p.page.json", pending=list(pending))
    send(
        again, opened["page"], *(each for each in pending if each not in opened.get("applied", []))
    )
    return again, opened


# -- on one server --------------------------------------------------------------------------------


def test_a_change_whose_acknowledgement_was_lost_is_in_the_page_that_is_opened_again(studio, page):
    tab, number = page
    send(tab, number, 2)
    made(tab, 2)
    again, opened = come_back(studio, tab, 1, 2, 3)
    assert (opened["applied"], items(opened["document"])) == ([1, 2], [2, 1])
    assert made(again, 3)["edits"] == [item(3)]
    assert items(again.open(path="p.page.json")["document"]) == [3, 2, 1]


def test_a_change_that_comes_again_is_acknowledged_and_dropped(studio, page):
    tab, number = page
    other = studio.tab()
    other.open(path="p.page.json")
    send(tab, number, 1, 2, 1, 2)
    first, second, *repeats = [made(tab, each) for each in (1, 2, 1, 2)]
    assert (first["edits"], second["edits"]) == ([], [item(2)])
    assert [(each["edits"], each["revision"]) for each in repeats] == [([], 2), ([], 2)]
    assert other.hear("changed")["number"] == 2
    send(tab, number, 3)
    assert other.hear("changed")["number"] == 3, "nobody else is told of repeats"
    assert items(tab.open(path="p.page.json")["document"]) == [3, 2, 1]


def test_tabs_number_their_changes_apart(studio, page):
    tab, number = page
    other = studio.tab()
    other.open(path="p.page.json")
    send(other, number, 1)
    assert made(other, 1)["edits"] == [item(1)]
    assert tab.hear("changed", client=other.client)["edits"] == [item(1)]
    assert items(tab.open(path="p.page.json")["document"]) == [1, 1]


def test_a_change_that_comes_after_a_later_one_is_refused(studio, page):
    tab, number = page
    tab.send("change", page=number, client=tab.client, number=2, edits=[{"path": ["gone"]}])
    assert "has changed meanwhile" in tab.hear("refused", number=2)["text"]
    send(tab, number, 3, 2)
    made(tab, 3)
    refused = tab.hear("refused", number=2)
    assert refused["text"] == "A later change of this tab came before it."
    assert tab.open(path="p.page.json", pending=[1, 2, 3])["applied"] == [1, 3]
    assert items(tab.open(path="p.page.json")["document"]) == [3, 1]


def test_a_change_that_was_refused_can_come_again_as_long_as_no_later_one_was_made(studio, page):
    tab, number = page
    tab.send("change", page=number, client=tab.client, number=2, edits=[{"path": ["gone"]}])
    tab.hear("refused", number=2)
    send(tab, number, 2)
    assert made(tab, 2)["edits"] == [item(2)]


@pytest.mark.parametrize("change", [{"number": 0}, {"number": 2**60}, {"client": "x" * 65}])
def test_a_change_without_a_proper_number_or_client_is_refused(studio, page, change):
    tab, number = page
    fields = {"client": tab.client, "number": 2, **change}
    tab.send("change", page=number, edits=[item(2)], **fields)
    assert "cannot be understood" in tab.hear("refused")["text"]


# -- after a restart ------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("saved", [False, True])
def test_a_server_that_is_started_again_knows_the_changes_it_has(start, how, saved):
    studio = start()
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    number = tab.open(path="p.page.json")["page"]
    send(tab, number, 1, 2)
    made(tab, 2)
    if saved:
        tab.send("save", page=number)
        tab.hear("saved")
    studio.process.send_signal(how)
    studio.process.wait()
    if saved:
        assert items(json.loads((studio.folder / "p.page.json").read_text())) == [2, 1]
    for _ in range(2):  # also by a server that was killed before anything came
        studio = start()
        _, opened = come_back(studio, tab, 1, 2)
        assert (opened["applied"], items(opened["document"])) == ([1, 2], [2, 1])
        studio.kill()
    studio = start()
    again, _ = come_back(studio, tab, 2, 3)
    assert items(again.open(path="p.page.json")["document"]) == [3, 2, 1]


# -- what is kept ---------------------------------------------------------------------------------


def test_numbers_that_were_skipped_are_known():
    known = with_change(with_change({}, "a", 1), "a", 4)
    assert known == {"a": Client(4, (2, 3))}
    assert [has_change(known, "a", n) for n in range(1, 6)] == [True, False, False, True, False]
    assert [is_late(known, "a", n) for n in range(1, 6)] == [False, True, True, False, False]
    assert not has_change(known, "b", 1)
    assert with_change(known, "a", 3) is known
    assert with_change(known, "", 9) is known


def test_what_is_known_has_bounds():
    known = {}
    for n in range(clients.MAX_CLIENTS + 10):
        known = with_change(known, f"client {n}", 1)
        known = with_change(known, "busy", n + 1)
    assert len(known) == clients.MAX_CLIENTS
    assert [*known][-2:] == [f"client {n}", "busy"]
    assert "client 0" not in known
    known = with_change(known, "busy", 2**53)
    assert len(known["busy"].skipped) == 100
    assert is_late(known, "busy", 2**53 - 1)


def test_a_journal_that_is_compacted_still_knows_the_changes(tmp_path, monkeypatch):
    monkeypatch.setattr("backblocks.studio.journal._SMALL", 0)
    journal = Journal(StateFolder(tmp_path).drafts, "page")
    document = {"l": []}
    journal.begin(None, "", document, {"before": Client(7)})
    for number in range(1, 30):
        edit = Edit(["l", 0], number)
        document, _ = apply(document, [edit])
        journal.add([edit], "", document, "tab", number)
        journal.sync()
    journal.close()
    assert len(journal.path.read_bytes().splitlines()) < 20, "it was compacted"
    found = read_journal(journal.path)
    assert found.clients == {"before": Client(7), "tab": Client(29)}


def test_journals_from_before_changes_had_numbers_are_read(tmp_path):
    (tmp_path / "x.jsonl").write_bytes(
        b'{"page":"","digest":"","document":{"n":0}}\n{"time":1.0,"edits":[{"path":["n"],"value":1}]}\n'
    )
    found = read_journal(tmp_path / "x.jsonl")
    assert (found.document, found.clients) == ({"n": 1}, {})


def test_clients_of_a_saved_page_are_forgotten_after_a_week(tmp_path):
    journal = Journal(StateFolder(tmp_path).drafts, "page")
    journal.delete({"tab": Client(3)})
    assert journal.saved_clients() == {"tab": Client(3)}
    journal.close()
    (file,) = (tmp_path / "drafts").glob("*.clients")
    six_days, eight_days = (time.time() - n * 86_400 for n in (6, 8))
    os.utime(file, (six_days, six_days))
    StateFolder(tmp_path)
    assert file.exists()
    os.utime(file, (eight_days, eight_days))
    StateFolder(tmp_path)
    assert not file.exists()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"a": 1}', b"\xff"])
def test_a_damaged_file_of_clients_is_none(tmp_path, data):
    journal = Journal(StateFolder(tmp_path).drafts, "page")
    (tmp_path / "drafts/page.clients").write_bytes(data)
    assert journal.saved_clients() == {}
    journal.close()
