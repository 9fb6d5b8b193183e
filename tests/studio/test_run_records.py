"""Runs have numbers, settings, curves and costs of blocks; variables can be kept and restored."""

import os
import signal

import numpy as np
import pytest
from conftest import opened_frame, page_file
from test_runs import COUNTER, series

from backblocks.studio import ipc
from backblocks.studio.messages import KeptVariables, RunState
from backblocks.studio.monitors import Monitors
from backblocks.studio.run_records import MAX_RUNS, MAX_SNAPSHOTS, RunRecords

BROKEN = {
    "blocks": {
        "x": {"op": "Const", "attrs": {"value": {"dtype": "float32", "value": [1, 2]}}},
        "minus": {"op": "Neg", "in": {"x": "x:output"}},
        "wrong": {"op": "MatMul", "in": {"a": "x:output", "b": "minus:y"}},
        "behind": {"op": "Neg", "in": {"x": "wrong:product"}},
    }
}


def run(tab, page, **how):
    """Runs, and gives what is kept of it."""
    number = tab.run(page, **how)["run"]
    while True:
        changed = {each["run"]: each for each in tab.hear("runs")["changed"]}
        if number in changed and changed[number].get("end"):
            return changed[number]


def variable(tab, page, pin):
    tab.send("read slice", page=page, request=9, pin=pin)
    return float(opened_frame(tab.hear("bytes"))[1])


# -- how a run ended --------------------------------------------------------------------------------


def test_a_run_that_left_blocks_out_counts_them(opened):
    tab, page = opened(BROKEN)
    ended = tab.run(page)
    assert (ended["ran"], ended["of"], ended["problems"]) == (2, 4, 1)
    assert ended.get("problem") is None
    assert tab.hear("runs")["changed"][0]["end"] == "incomplete"
    tab.change(page, {"path": ["blocks", "wrong", "op"], "value": "AddV2"},
               {"path": ["blocks", "wrong", "in"], "value": {"x": "x:output", "y": "minus:y"}},
               {"path": ["blocks", "behind", "in", "x"], "value": "wrong:z"})  # fmt: skip
    assert run(tab, page)["end"] == "done"


def test_a_run_that_was_asked_for_what_cannot_run_has_run_nothing(opened):
    tab, page = opened(BROKEN)
    ended = tab.run(page, to=["behind:y"])
    assert (ended.get("ran", 0), ended["of"], ended["problems"]) == (0, 4, 1)
    assert ended["problem"]["block"] == "wrong"


def test_a_block_that_fails_leaves_out_those_behind_it(opened):
    tab, page = opened(
        {
            "blocks": {
                "zero": {"op": "Log", "in": {"x": [0.0]}},
                "check": {"op": "CheckNumerics", "in": {"tensor": "zero:y"}, "attrs": {"message": "m"}},
                "behind": {"op": "Neg", "in": {"x": "check:output"}},
            }
        }
    )  # fmt: skip
    found = run(tab, page)
    assert (found["end"], found["ran"], found["of"], found["problems"]) == ("failed", 1, 3, 1)


# -- what is kept of it -----------------------------------------------------------------------------


def test_a_run_has_a_number_settings_curves_and_the_cost_of_each_block(opened):
    tab, page = opened({**COUNTER, "run": {**COUNTER["run"], "seed": 3}})
    first = run(tab, page, mode="steps", steps=4)
    second = run(tab, page, mode="until")
    assert (first["run"], first["mode"], first["steps"], first["seed"]) == (1, "steps", 4, 3)
    assert (second["run"], second["until"], second["first_step"], second["step"]) == (
        2,
        "enough:z",
        4,
        5,
    )
    assert first["curves"]["count"]["steps"] == [1, 2, 3, 4]
    assert first["curves"]["count"]["values"] == [[1, 2, 3, 4]]
    assert second["curves"]["count"]["steps"] == [5]
    assert first["lineage"] == second["lineage"]
    costs = {each["block"]: each for each in first["blocks"]}
    assert set(costs) == {"n", "more"}
    assert costs["more"]["seconds"] > 0
    assert costs["more"]["bytes"] == 4
    tab.send("control", page=page, what="reset")
    tab.hear("monitored", fresh=True)
    tab.hear("run state", state="idle")  # of the reset, not of the next run
    third = run(tab, page)
    assert third["lineage"] == first["lineage"] + 1
    assert third["step"] == 1


def test_a_tab_that_comes_later_gets_all_runs(studio):
    page_file(studio.folder, "p", COUNTER)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    run(tab, page, mode="steps", steps=3)
    run(tab, page)
    tab.socket.close()
    again = studio.tab()
    again.open(path="p.page.json")
    found = again.hear("runs")
    assert found["kept"] == [1, 2]
    assert found["changed"][0]["curves"]["count"]["values"] == [[1, 2, 3]]


def test_of_automatic_runs_in_a_row_the_last_is_kept(opened):
    tab, page = opened(COUNTER)
    run(tab, page)
    run(tab, page, automatic=True)
    run(tab, page, automatic=True)
    tab.send("snapshot", page=page, what="keep")
    assert tab.hear("runs")["kept"] == [1, 3]


def test_two_runs_differ_by_what_was_edited_between(opened):
    tab, page = opened(COUNTER)
    run(tab, page)
    tab.change(page, {"path": ["blocks", "more", "in", "value"], "value": 2.0})
    run(tab, page)
    tab.send("compare runs", page=page, request=5, first=1, second=2)
    assert tab.hear("runs compared", request=5)["changes"] == ["~ more.value: 1.0 -> 2.0"]
    tab.send("compare runs", page=page, request=6, first=1, second=9)
    assert "not in the list" in tab.hear("refused", request=6)["text"]


def command(document=None):
    return ipc.StartRun(1, 0, document or {}, "", "once")


def test_old_runs_are_dropped_and_counted_but_for_those_with_a_snapshot():
    records = RunRecords(1)
    for number in range(1, MAX_RUNS + 4):
        assert records.start(command(), automatic=False)[0] == number
        records.ended(RunState(1, "idle", run=number))
        if number == 2:
            records.snapshot_changed(ipc.SnapshotChanged(2, KeptVariables(1, 4)))
    told = records.all()
    assert told.kept == [2, *range(5, MAX_RUNS + 4)]
    assert told.dropped == 3
    assert records.document(1) is None


def test_a_run_that_waits_for_a_yes_is_no_run():
    records = RunRecords(1)
    number, _ = records.start(command(), automatic=False)
    told = records.ended(RunState(1, "idle", run=number, needs_files={"read": "reads"}))
    assert told is not None
    assert told.kept == []


def test_curves_are_sampled_with_their_last_point():
    monitors = Monitors()
    from backblocks.pages.model import Monitor, MonitorSource

    monitors.configure({"loss": Monitor(kind="trend", shows=[MonitorSource(pin="x:y")])})
    for step in range(1, 20_001):
        monitors.record(step, {"x:y": np.float32(step)})
    found = monitors.curves(5000)["loss"]
    assert len(found.steps) <= 4000
    assert 5001 <= found.steps[0] <= 5004
    assert found.steps[-1] == 20_000
    assert found.values[0] == found.steps


# -- snapshots --------------------------------------------------------------------------------------


def test_a_snapshot_keeps_the_variables_and_is_restored(opened):
    tab, page = opened(COUNTER)
    tab.send("subscribe", page=page, pins=["n:ref"])
    run(tab, page, mode="steps", steps=3)
    tab.send("snapshot", page=page, what="keep")
    kept = tab.hear("runs")["changed"][0]
    snapshot = kept["snapshot"]
    assert (kept["run"], snapshot["step"], snapshot["pins"]) == (1, 3, ["n:ref"])
    assert 4 <= snapshot["bytes"] < 1000
    run(tab, page, mode="steps", steps=2)
    assert variable(tab, page, "more:output_ref") == 5
    assert variable(tab, page, "n:ref@1") == 3
    tab.send("snapshot", page=page, what="restore", run=1)
    assert tab.hear("monitored", fresh=True)
    assert tab.hear("run state")["step"] == 3
    assert tab.hear("summaries")["pins"]["n:ref"]["text"] == "3.0"
    tab.hear("runs")
    third = run(tab, page)
    assert (third["first_step"], third["step"]) == (3, 4)
    assert third["lineage"] > kept["lineage"]
    assert variable(tab, page, "more:output_ref") == 4
    assert series(tab, "count") == ([4], [4])
    tab.send("compute statistics", page=page, request=4, pin="n:ref@1", against="more:output_ref")
    assert tab.hear("statistics", request=4)["mismatches"] == 1


def test_snapshots_are_bounded_and_can_be_deleted(opened):
    tab, page = opened(COUNTER)
    tab.send("snapshot", page=page, what="keep")
    assert "Run the page first" in tab.hear("refused")["text"]
    for _ in range(MAX_SNAPSHOTS):
        run(tab, page)
        tab.send("snapshot", page=page, what="keep")
        assert "snapshot" in tab.hear("runs")["changed"][0]
    run(tab, page)
    tab.send("snapshot", page=page, what="keep")
    assert f"at most {MAX_SNAPSHOTS}; got {MAX_SNAPSHOTS + 1}" in tab.hear("refused")["text"]
    tab.send("snapshot", page=page, what="delete", run=1)
    assert "snapshot" not in tab.hear("runs")["changed"][0]
    tab.send("snapshot", page=page, what="keep")
    assert tab.hear("runs")["changed"][0]["run"] == MAX_SNAPSHOTS + 1
    tab.send("snapshot", page=page, what="restore", run=1)
    assert "Run 1: has no snapshot" in tab.hear("refused")["text"]


def test_after_a_reset_there_is_nothing_to_keep(opened):
    tab, page = opened(COUNTER)
    run(tab, page)
    tab.send("control", page=page, what="reset")
    tab.hear("monitored", fresh=True)
    tab.send("snapshot", page=page, what="keep")
    assert "Run the page first" in tab.hear("refused")["text"]


@pytest.mark.parametrize("how", ["paused", "running"])
def test_a_snapshot_is_taken_between_two_steps_of_a_run_and_restored_after_it(opened, how):
    tab, page = opened(COUNTER)
    tab.send("run", page=page, mode="free")
    while not tab.hear("run state", state="running").get("step"):
        pass  # before its first step there are no variables to keep
    if how == "paused":
        tab.send("control", page=page, what="pause")
        tab.hear("run state", state="paused")
    tab.send("snapshot", page=page, what="keep")
    while not (changed := tab.hear("runs")["changed"]) or "snapshot" not in changed[0]:
        pass
    step = changed[0]["snapshot"]["step"]
    assert variable(tab, page, "n:ref@1") == step
    tab.send("snapshot", page=page, what="restore", run=1)
    assert "between runs" in tab.hear("refused")["text"]
    tab.send("control", page=page, what="stop")
    assert tab.hear("run state", state="idle")["stopped"]


def test_runs_outlive_their_process_and_snapshots_do_not(studio):
    page_file(studio.folder, "p", COUNTER)
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    before = set(studio.processes("studio.run_worker"))
    first = run(tab, page)
    tab.send("snapshot", page=page, what="keep")
    tab.hear("runs")
    tab.send("run", page=page, mode="free")
    tab.hear("run state", state="running")
    for each in before:
        os.kill(each, signal.SIGKILL)
    found = {}
    while "snapshot" in found.get(1, {"snapshot": 1}) or not found.get(2, {}).get("end"):
        told = tab.hear("runs")
        found |= {each["run"]: each for each in told["changed"]}
    assert told["kept"] == [1, 2]
    assert (found[1]["curves"], found[2]["end"]) == (first["curves"], "failed")
    assert run(tab, page)["lineage"] > first["lineage"]
