"""What tabs have open: kept for a reload, listed as drafts, ended when nobody has it open."""

import time

import pytest
from conftest import page_file

from backblocks.studio.drafts import without_arrays
from backblocks.studio.messages import PageView, TabState
from backblocks.studio.tab_states import MAX_STATES, TabStates

START = {"title": "start", "blocks": {"a": {"op": "Const", "attrs": {"value": 1.0}}}}


def title(words):
    return {"path": ["title"], "value": words}


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


# -- states of tabs -------------------------------------------------------------------------------


def state(*paths):
    return TabState([PageView(path) for path in paths], 0)


def test_a_tab_that_is_reloaded_gets_its_own_state(tmp_path):
    states = TabStates(tmp_path)
    states.keep("one", state("a"))
    states.keep("two", state("b"))
    assert states.take("one", {"one", "two"}) == state("a")
    assert states.take("two", set()) == state("b")


def test_a_new_tab_takes_over_the_last_state_of_a_tab_that_is_gone_and_no_other(tmp_path):
    states = TabStates(tmp_path)
    states.keep("old", state("a"))
    states.keep("last", state("b"))
    states.keep("here", state("c"))
    assert states.take("new", {"here"}) == state("b")
    assert states.take("newer", {"here", "new"}) == state("a")
    assert states.take("newest", {"here", "new", "newer"}) is None


def test_a_tab_without_pages_has_no_state_to_take_over(tmp_path):
    states = TabStates(tmp_path)
    states.keep("one", state("a"))
    states.keep("one", TabState([]))
    assert states.take("two", set()) is None


@pytest.mark.parametrize("name", ["", "../x", "A/b", "x" * 65, "a.b"])
def test_no_name_of_a_tab_leads_to_another_file(tmp_path, name):
    states = TabStates(tmp_path / "tabs")
    states.keep(name, state("a"))
    assert states.take(name, set()) is None
    assert [*tmp_path.rglob("*.json")] == []


def test_what_is_no_state_is_none(tmp_path):
    (tmp_path / "one.json").write_text("{")
    assert TabStates(tmp_path).take("one", set()) is None


def test_states_do_not_pile_up(tmp_path):
    states = TabStates(tmp_path)
    for number in range(MAX_STATES + 5):
        states.keep(f"tab-{number}", state("a"))
    assert len([*tmp_path.glob("*.json")]) == MAX_STATES


def test_a_studio_gives_back_what_a_tab_had_open_even_when_it_was_killed(start):
    studio = start()
    tab = studio.tab(name="one")
    view = {"path": "p.page.json", "viewport": [1.5, -2.0, 0.5]}
    kept = {"pages": [view], "active": 0}
    tab.send("keep tab state", state=kept)
    tab.send("list files")
    tab.hear("files")
    assert "tab" not in studio.tab(name="two").heard[0]  # the other one is connected
    studio.kill()
    studio = start()
    assert studio.tab(name="three").heard[0]["tab"] == kept
    assert "tab" not in start(folder="other").tab(name="one").heard[0]


def test_a_page_that_was_not_touched_starts_again(start):
    tab = start().tab()
    opened = tab.open(lesson="max_pool_3d_grad")
    assert opened["lesson"] == "max_pool_3d_grad"
    again = start().tab().open(unsaved=opened["unsaved"], lesson=opened["lesson"], untouched=True)
    assert again["document"] == opened["document"]
    assert "draft" not in again
    empty = start().tab().open(unsaved="new-0123456789abcdef", untouched=True)
    assert empty["document"]["blocks"] == {}


# -- drafts ---------------------------------------------------------------------------------------


def test_a_page_that_is_closed_without_a_file_is_listed_at_once(studio):
    tab, other = studio.tab(), studio.tab()
    assert other.hear("drafts")["drafts"] == []
    opened = tab.open()
    tab.change(opened["page"], title("mine"))
    tab.send("close", page=opened["page"])
    (draft,) = other.hear("drafts")["drafts"]
    assert (draft["name"], draft["document"]["title"]) == (opened["unsaved"], "mine")
    assert abs(draft["since"] - time.time()) < 60


def test_a_draft_that_a_tab_has_open_is_listed_too(studio):
    tab = studio.tab()
    opened = tab.open()
    tab.change(opened["page"], title("mine"))
    (draft,) = studio.tab().hear("drafts")["drafts"]
    assert draft["document"]["title"] == "mine"


def test_a_page_without_changes_is_no_draft(studio):
    tab = studio.tab()
    tab.hear("drafts")
    tab.send("close", page=tab.open(lesson="max_pool_3d_grad")["page"])
    assert tab.hear("drafts")["drafts"] == []
    opened = tab.open()
    tab.change(opened["page"], title("mine"))
    tab.change(opened["page"], {"path": ["title"]})
    tab.send("close", page=opened["page"])
    assert tab.hear("drafts")["drafts"] == []


def test_changes_of_a_file_that_were_undone_leave_no_draft(start):
    studio = start()
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.change(page, title("mine"))
    tab.change(page, title("start"))
    assert "saved" not in studio.tab().open(path="p.page.json")  # it is clean again
    tab.hear("journaled", revision=2)
    studio.kill()
    opened = start().tab().open(path="p.page.json")
    assert "draft" not in opened
    assert "saved" not in opened


def test_files_with_changes_that_are_not_saved_are_marked(start):
    studio = start()
    for name in ("changed", "plain", "undone"):
        page_file(studio.folder, name, START)

    def marked(tab):
        tab.send("list files")
        return [file["path"] for file in tab.hear("files")["files"] if file.get("draft")]

    tab = studio.tab()
    for name in ("changed", "undone"):
        page = tab.open(path=f"{name}.page.json")["page"]
        tab.change(page, title("mine"))
    tab.change(page, title("start"))
    assert marked(tab) == ["changed.page.json"]
    tab.hear("journaled")
    studio.end()
    assert marked(start().tab()) == ["changed.page.json"]


def test_a_draft_can_be_deleted_unless_a_tab_has_it_open(studio):
    tab = studio.tab()
    opened = tab.open()
    tab.change(opened["page"], title("mine"))
    tab.send("delete draft", name=opened["unsaved"])
    assert "A tab has this draft open" in tab.hear("refused")["text"]
    tab.send("close", page=opened["page"])
    tab.hear("drafts")
    tab.send("delete draft", name=opened["unsaved"])
    assert tab.hear("drafts")["drafts"] == []
    tab.send("open", request=7, unsaved=opened["unsaved"])
    assert tab.hear("refused", request=7)


@pytest.mark.parametrize("name", ["", "../x", "new-../../x", "new-00"])
def test_nothing_else_is_deleted(studio, name):
    page_file(studio.folder, "x", START)
    tab = studio.tab()
    tab.send("delete draft", name=name)
    assert tab.hear("refused")["text"] == "There is no such draft."


def test_a_listed_draft_has_its_wires_but_no_long_constants():
    blocks = {
        "sum": {"op": "AddN", "in": {"inputs": [f"a{n}:y" for n in range(40)]}},
        "c": {"op": "Const", "attrs": {"value": {"dtype": "int8", "value": [0] * 4000}}},
    }
    outline = without_arrays({"blocks": blocks, "layout": {"blocks": {"c": [1, 2]}}})
    assert outline["blocks"]["sum"] == blocks["sum"]
    assert outline["blocks"]["c"]["attrs"]["value"] == {"dtype": "int8", "value": []}
    assert outline["layout"]["blocks"]["c"] == [1, 2]


# -- processes ------------------------------------------------------------------------------------


def runs(studio):
    return len(studio.processes("studio.run_worker"))


def test_the_process_of_a_page_ends_when_its_last_tab_is_gone(studio):
    tab, stays = studio.tab(), studio.tab()
    kept = stays.open()["page"]
    stays.run(kept)
    before = runs(studio)
    for _ in range(3):
        tab.run(tab.open()["page"])
    assert runs(studio) > before
    tab.socket.close()
    wait_for(lambda: runs(studio) <= before)
    stays.run(kept)


def test_a_page_that_runs_goes_on_without_a_tab_for_a_while(studio):
    page_file(studio.folder, "p", START)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    tab.send("run", page=page, mode="free")
    tab.hear("run state", state="running")
    tab.socket.close()
    time.sleep(12.0)
    again = studio.tab()
    assert again.open(path="p.page.json")["page"] == page
    assert again.hear("run state")["state"] == "running"
    again.send("control", page=page, what="stop")
    again.hear("run state", state="idle")


# -- getting in -----------------------------------------------------------------------------------


def test_a_studio_says_whether_it_has_a_password(start, monkeypatch):
    _, _, headers = start().ask("GET", "/api/file")
    assert headers["www-authenticate"] == "address"
    monkeypatch.setenv("BACKBLOCKS_PASSWORD", "a long secret")
    studio = start("--host", "0.0.0.0")  # noqa: S104
    _, _, headers = studio.ask("GET", "/api/file")
    assert headers["www-authenticate"] == "password"
