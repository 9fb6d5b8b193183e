"""Pages run in a process of their own: what tabs see of it, and what becomes of it when it goes wrong."""

import base64
import json
import os
import signal
import time

import numpy as np
import pytest
from conftest import opened_frame, page_file

COUNTER = {
    "blocks": {
        "n": {"op": "VariableV2", "initial": {"dtype": "float32", "value": 0}},
        "more": {"op": "AssignAdd", "in": {"ref": "n:ref", "value": 1.0}},
        "enough": {"op": "GreaterEqual", "in": {"x": "more:output_ref", "y": 5.0}},
    },
    "monitors": {"count": {"kind": "trend", "shows": [{"pin": "more:output_ref"}]}},
    "run": {"targets": ["more"], "until": "enough:z"},
}
CHAIN = {
    "blocks": {
        "x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [2, 2]}},
        "twice": {"op": "Mul", "in": {"x": "x:output", "y": 2.0}},
        "root": {"op": "Sqrt", "in": {"x": "twice:z"}},
        "other": {"op": "Neg", "in": {"x": "x:output"}},
    },
    "run": {"feeds": {"x": {"dtype": "float32", "value": [[1, 2], [3, 4]]}}},
}


def states(tab):
    """The last state that a tab heard of each block."""
    found = {}
    for message in tab.heard:
        if isinstance(message, dict) and message["kind"] == "block states":
            found |= {each["block"]: each["state"] for each in message["blocks"]}
    return found


def results(tab):
    """The last summary that a tab heard of each output."""
    found = {}
    for message in tab.heard:
        if isinstance(message, dict) and message["kind"] == "summaries":
            found |= message["pins"]
    return found


def series(tab, name):
    """All points that a monitor was told."""
    steps, values = [], []
    for message in tab.heard:
        if isinstance(message, dict) and message["kind"] == "monitored":
            if message.get("fresh"):
                steps, values = [], []
            found = message["monitors"].get(name, {})
            steps += found.get("steps", [])
            values += found.get("values", [[]])[0]
    return steps, values


# -- what is seen -----------------------------------------------------------------------------------


def test_a_run_tells_states_summaries_and_pictures(opened):
    tab, page = opened(CHAIN)
    tab.send("subscribe", page=page, pins=["root:y", "x:output"])
    ended = tab.run(page)
    assert (ended["step"], ended["executed"], ended.get("problem")) == (1, 3, None)
    assert states(tab) == dict.fromkeys(["x", "twice", "root", "other"], "done")
    found = results(tab)
    assert set(found) == {"root:y", "x:output"}
    root = found["root:y"]
    assert (root["dtype"], root["shape"]) == ("float32", [2, 2])
    assert root["low"] == pytest.approx(2**0.5)
    assert root["high"] == pytest.approx(8**0.5)
    picture = np.frombuffer(base64.b64decode(root["picture"]), np.uint8)
    assert (picture[0], picture[-1], root["picture_shape"]) == (1, 255, [2, 2])


def test_health_is_counted(opened):
    value = {"dtype": "float32", "value": [0, "nan", "inf", "-inf", -1]}
    tab, page = opened({"blocks": {"x": {"op": "Const", "attrs": {"value": value}}}})
    tab.send("subscribe", page=page, pins=["x:output"])
    tab.run(page)
    found = results(tab)["x:output"]
    counts = [found[name] for name in ("nans", "infinities", "zeros", "low", "high")]
    assert counts == [1, 2, 1, -1.0, 0.0]
    assert base64.b64decode(found["picture"])[1] == 0


@pytest.mark.parametrize(
    ("dtype", "value", "text"),
    [
        ("string", ["a", "b"], "[a b]"),
        ("bool", [True, False], "[true false]"),
        ("complex64", ["1-2j"], "[1-2j]"),
        ("bfloat16", 0.5, "0.5"),
        ("float8_e4m3fn", [0.5, "nan"], "[0.5 nan]"),
        ("float8_e5m2", [0.5, "inf"], "[0.5 inf]"),
        ("int4", [-8, 7], "[-8 7]"),
        ("int64", 9007199254740993, "9007199254740993"),
        ("float32", [], "[]"),
        ("float32", list(range(20)), "[0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 9.0 10.0 11.0 …]"),
    ],
)
def test_values_of_every_type_have_a_summary(opened, dtype, value, text):
    value = {"dtype": dtype, "value": str(value) if dtype == "int64" else value}
    tab, page = opened({"blocks": {"x": {"op": "Const", "attrs": {"value": value}}}})
    tab.send("subscribe", page=page, pins=["x:output"])
    tab.run(page)
    assert (results(tab)["x:output"]["dtype"], results(tab)["x:output"]["text"]) == (dtype, text)


def test_run_to_here_runs_what_that_needs_and_nothing_else(opened):
    tab, page = opened(CHAIN)
    tab.run(page, to=["twice:z"])
    assert set(states(tab)) == {"x", "twice"}
    tab.run(page, to=["root"])
    assert states(tab) == {"x": "done", "twice": "cached", "root": "done"}
    tab.run(page, to=["root"])
    assert states(tab)["root"] == "cached"


def test_values_survive_edits_of_other_blocks(opened):
    tab, page = opened(CHAIN)
    tab.run(page)
    tab.change(page, {"path": ["blocks", "other", "op"], "value": "Square"})
    ended = tab.run(page)
    assert (ended["executed"], ended["cached"]) == (1, 2)
    assert states(tab)["root"] == "cached"


def test_variables_live_on_while_their_blocks_stay(opened):
    tab, page = opened(COUNTER)
    tab.run(page, mode="steps", steps=3)
    tab.change(page, {"path": ["title"], "value": "x"})
    tab.send("subscribe", page=page, pins=["more:output_ref"])
    tab.run(page)
    assert results(tab)["more:output_ref"]["text"] == "4.0"


def test_a_failing_block_is_named_with_its_pin(opened):
    content = {
        "blocks": {
            "x": {"op": "Placeholder", "attrs": {"dtype": "float32"}},
            "w": {"op": "Const", "attrs": {"value": {"dtype": "float32", "value": [[1], [2]]}}},
            "product": {"op": "MatMul", "in": {"a": "w:output", "b": "x:output"}},
        },
        "run": {"feeds": {"x": {"dtype": "float32", "value": [[1, 2], [3, 4]]}}},
    }
    tab, page = opened(content)
    problem = tab.run(page, to=["product"])["problem"]
    assert (problem["block"], problem["arg"], problem["axis"]) == ("product", "b", 0)
    assert problem["text"].startswith("MatMul.b: must have as many rows")
    assert problem["hint"]
    assert states(tab)["product"] == "failed"


def test_what_a_failing_block_was_computed_from_is_done_and_the_rest_is_skipped(opened):
    blocks = {
        "start": {"op": "Const", "attrs": {"value": {"dtype": "float32", "value": [1, 0]}}},
        "log": {"op": "Log", "in": {"x": "start:output"}},
        "check": {"op": "CheckNumerics", "in": {"tensor": "log:y"}, "attrs": {"message": "m"}},
        "after": {"op": "Neg", "in": {"x": "check:output"}},
    }
    tab, page = opened({"blocks": blocks})
    assert tab.run(page)["problem"]["block"] == "check"
    wanted = {"start": "done", "log": "done", "check": "failed", "after": "skipped"}
    assert states(tab) == wanted


def test_what_is_wrong_before_the_run_is_said_at_its_block(opened):
    blocks = CHAIN["blocks"] | {"bad": {"op": "Neg", "in": {"x": "nowhere:y"}}}
    tab, page = opened(CHAIN | {"blocks": blocks})
    problem = tab.run(page, to=["bad"])["problem"]
    assert (problem["block"], problem["arg"]) == ("bad", "x")
    assert "problem" not in tab.run(page, to=["root"])


def test_a_block_that_cannot_run_is_not_said_to_be_done(opened):
    wrong = {"op": "Reshape", "in": {"tensor": "root:y", "shape": {"dtype": "int32", "value": [3]}}}
    tab, page = opened(CHAIN | {"blocks": CHAIN["blocks"] | {"wrong": wrong}})
    assert "problem" not in tab.run(page)
    assert states(tab)["root"] == "done"
    assert "wrong" not in states(tab)


def test_blocks_that_touch_files_wait_for_a_yes(opened, shared):
    (shared.folder / "text.txt").write_text("hello")
    name = {"dtype": "string", "value": "text.txt"}
    tab, page = opened({"blocks": {"read": {"op": "ReadFile", "in": {"filename": name}}}})
    assert tab.hear("checked")["files"] == {"read": "reads"}
    assert tab.run(page)["needs_files"] == {"read": "reads"}
    tab.send("subscribe", page=page, pins=["read:contents"])
    assert "problem" not in tab.run(page, allow_files=True)
    assert results(tab)["read:contents"]["text"] == "hello"


def test_a_branch_that_is_not_taken_is_skipped(opened):
    blocks = {
        "data": {"op": "Const", "attrs": {"value": 3.0}},
        "pred": {"op": "Const", "attrs": {"value": {"dtype": "bool", "value": True}}},
        "switch": {"op": "Switch", "in": {"data": "data:output", "pred": "pred:output"}},
        "no": {"op": "Neg", "in": {"x": "switch:output_false"}},
        "yes": {"op": "Square", "in": {"x": "switch:output_true"}},
    }
    tab, page = opened({"blocks": blocks})
    tab.send("subscribe", page=page, pins=["no:y", "yes:y"])
    assert "problem" not in tab.run(page)
    assert (states(tab)["no"], states(tab)["yes"]) == ("skipped", "done")
    assert set(results(tab)) == {"yes:y"}


# -- steps ------------------------------------------------------------------------------------------


def test_steps_until_and_reset(opened):
    tab, page = opened(COUNTER)
    assert tab.run(page, mode="steps", steps=1)["step"] == 1
    ended = tab.run(page, mode="steps", steps=2)
    assert (ended["step"], ended["steps"]) == (3, 3)
    assert tab.run(page, mode="until")["step"] == 5
    assert series(tab, "count") == ([1, 2, 3, 4, 5], [1.0, 2.0, 3.0, 4.0, 5.0])
    tab.send("control", page=page, what="reset")
    assert tab.hear("monitored")["fresh"]
    assert not {"step", "executed", "stopped"} & {*tab.hear("run state", state="idle")}
    assert tab.run(page, mode="until")["step"] == 5
    assert series(tab, "count")[1] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_free_run_is_paused_stepped_and_stopped(opened):
    tab, page = opened(COUNTER)
    tab.send("subscribe", page=page, pins=["more:output_ref"])
    tab.send("run", page=page, mode="free")
    tab.hear("run state", state="running")
    tab.send("control", page=page, what="pause")
    paused = tab.hear("run state", state="paused")
    tab.send("control", page=page, what="step")
    stepped = tab.hear("run state", state="paused")
    assert stepped["step"] == paused.get("step", 0) + 1
    assert results(tab)["more:output_ref"]["text"] == f"{stepped['step']}.0"
    tab.send("control", page=page, what="go on")
    tab.hear("run state", state="running")
    tab.send("control", page=page, what="stop")
    ended = tab.hear("run state", state="idle")
    assert ended["step"] > stepped["step"]
    assert ended["stopped"]
    steps, values = series(tab, "count")
    assert steps == [*range(1, len(steps) + 1)]
    assert values == steps


def test_a_step_while_nothing_runs_is_one_run(opened):
    tab, page = opened(COUNTER)
    tab.send("control", page=page, what="step")
    assert tab.hear("run state", state="idle", step=1)


def test_an_edit_during_a_free_run_takes_part_in_it(opened):
    tab, page = opened(COUNTER)
    tab.send("subscribe", page=page, pins=["more:output_ref"])
    tab.send("run", page=page, mode="free")
    tab.hear("run state", state="running")
    tab.change(page, {"path": ["blocks", "more", "in", "value"], "value": -1000000.0})
    end = time.monotonic() + 20
    while results(tab).get("more:output_ref", {}).get("low", 0) >= 0:
        assert time.monotonic() < end
        tab.next()
    tab.send("control", page=page, what="stop")
    tab.hear("run state", state="idle")


def test_states_are_told_at_most_twenty_times_a_second(opened):
    tab, page = opened(COUNTER)
    tab.run(page)
    before = len(tab.heard)
    begun = time.monotonic()
    tab.run(page, mode="steps", steps=3000)
    seconds = time.monotonic() - begun
    for kind in ("block states", "monitored", "run state"):
        told = [each for each in tab.heard[before:] if each["kind"] == kind]
        assert len(told) <= 20 * seconds + 4


# -- what goes wrong --------------------------------------------------------------------------------


def heavy(size):
    """A product that takes long, and much memory."""
    return {
        "blocks": {
            "a": {"op": "Fill", "in": {"dims": [size, size], "value": 1.0}},
            "product": {"op": "MatMul", "in": {"a": "a:output", "b": "a:output"}},
            "again": {"op": "MatMul", "in": {"a": "product:product", "b": "product:product"}},
        }
    }


def test_stop_ends_a_long_block_within_a_second(opened):
    tab, page = opened(heavy(9000))
    tab.send("run", page=page)
    tab.hear("block states")
    while states(tab).get("product") != "running":
        tab.next()
    begun = time.monotonic()
    tab.send("control", page=page, what="stop")
    ended = tab.hear("run state", state="idle")
    assert time.monotonic() - begun < 1.5
    assert "problem" not in ended or "did not stop" in ended["problem"]["text"]
    assert "problem" in ended or ended["stopped"]
    assert (states(tab)["product"], states(tab)["again"]) == ("skipped", "skipped")
    tab.run(page, to=["a"])


def alone(studio, content):
    """Opens the only page of a studio."""
    page_file(studio.folder, "p", content)
    tab = studio.tab()
    return tab, tab.open(path="p.page.json")["page"]


def test_a_process_that_does_not_answer_is_killed_and_replaced(studio):
    tab, page = alone(studio, COUNTER)
    tab.run(page)
    (worker,) = studio.processes("studio.run_worker")
    tab.send("run", page=page, mode="free")
    tab.hear("run state", state="running")
    os.kill(worker, signal.SIGSTOP)
    begun = time.monotonic()
    tab.send("control", page=page, what="stop")
    ended = tab.hear("run state", state="idle")
    assert time.monotonic() - begun < 1.5
    assert "did not stop" in ended["problem"]["text"]
    assert "begin again" in ended["problem"]["hint"]
    assert tab.run(page)["step"] == 1
    assert studio.processes("studio.run_worker") != [worker]


@pytest.mark.parametrize(
    ("how", "words"), [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGKILL, "memory ran out")]
)
def test_a_crash_is_told_at_the_block_that_ran_and_the_studio_lives(studio, how, words):
    tab, page = alone(studio, heavy(9000))
    tab.send("run", page=page)
    while states(tab).get("product") != "running":
        tab.next()
    (worker,) = studio.processes("studio.run_worker")
    os.kill(worker, how)
    ended = tab.hear("run state", state="idle")
    assert ended["problem"]["block"] == "product"
    assert words in ended["problem"]["text"]
    assert (states(tab)["product"], states(tab)["again"]) == ("failed", "skipped")
    assert "problem" not in tab.run(page, to=["a"])


CRASHES = """
import os, signal, sys

if "backblocks.studio.run_worker" in sys.orig_argv:
    from backblocks.ops import REGISTRY

    calls, reference = iter(range({calls})), REGISTRY["Cumsum"].reference

    def crash(*inputs, **attrs):
        if next(calls, None) is None:
            os.kill(os.getpid(), signal.{how})
        return reference(*inputs, **attrs)

    REGISTRY["Cumsum"].reference = crash
"""


@pytest.mark.parametrize(("calls", "how"), [(0, "SIGSEGV"), (100, "SIGSEGV"), (100, "SIGKILL")])
def test_a_block_that_ends_its_process_is_named_in_the_first_step_and_in_quick_ones(
    start, tmp_path, monkeypatch, calls, how
):
    (tmp_path / "sitecustomize.py").write_text(CRASHES.format(calls=calls, how=how))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    blocks = {
        "n": {"op": "VariableV2", "initial": {"dtype": "float32", "value": [0, 0]}},
        "more": {"op": "AssignAdd", "in": {"ref": "n:ref", "value": [1.0, 1.0]}},
        "fatal": {"op": "Cumsum", "in": {"x": "more:output_ref", "axis": 0}},
        "after": {"op": "Neg", "in": {"x": "fatal:out"}},
    }
    tab, page = alone(start(), {"blocks": blocks})
    ended = tab.run(page, mode="free")
    assert ended["problem"]["block"] == "fatal"
    assert states(tab)["fatal"] == "failed"
    assert "problem" not in tab.run(page, to=["more"])


def test_too_much_memory_is_refused_at_the_block_before_anything_runs(start):
    tab, page = alone(start("--memory", "200"), heavy(6000))
    problem = tab.run(page)["problem"]
    assert problem["block"] in ("a", "product", "again")
    assert "200 MiB may be used" in problem["text"]
    tab.change(page, {"path": ["blocks", "a", "in", "dims"], "value": [600, 600]})
    assert "problem" not in tab.run(page)


def test_memory_that_runs_out_during_a_run_ends_the_run_only(start):
    """A size that only the run finds out, so that nothing could be foreseen."""
    size = {"op": "Placeholder", "attrs": {"dtype": "int32", "shape": [1]}}
    content = {
        "blocks": {"n": size, "big": {"op": "Fill", "in": {"dims": "n:output", "value": 1.0}}},
        "run": {"feeds": {"n": {"dtype": "int32", "value": [2000000000]}}},
    }
    tab, page = alone(start("--memory", "200"), content)
    ended = tab.run(page, to=["big"])
    assert ended["problem"]["block"] == "big"
    tab.change(page, {"path": ["run", "feeds", "n", "value"], "value": [4]})
    assert "problem" not in tab.run(page, to=["big"])


# -- values -----------------------------------------------------------------------------------------


def test_parts_of_values_come_as_bytes(opened):
    tab, page = opened(CHAIN)
    tab.run(page)
    for request, (index, wanted) in enumerate(
        [([], [[2, 4], [6, 8]]), ([1], [6, 8]), ([[0, 2, 1], 1], [4, 8]), ([-1, [0, 2, 2]], [6])]
    ):
        tab.send("read slice", page=page, request=request, pin="twice:z", index=index)
        frame = tab.hear("bytes")
        head, array = opened_frame(frame)
        assert (head["request"], head["pin"], head["dtype"], head["step"]) == (
            request, "twice:z", "float32", 1,
        )  # fmt: skip
        np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize("index", [[2], [0, 0, 0], [[0, 1]], [[0, 1, 0]]])
def test_places_that_are_not_there_are_refused(opened, index):
    tab, page = opened(CHAIN)
    tab.run(page)
    tab.send("read slice", page=page, request=5, pin="twice:z", index=index)
    assert tab.hear("refused", request=5)
    tab.send("read slice", page=page, request=6, pin="nothing:z")
    assert "no value yet" in tab.hear("refused", request=6)["text"]


def test_elements_are_listed_as_texts(opened):
    tab, page = opened(CHAIN)
    tab.run(page)
    tab.send("read elements", page=page, request=1, pin="twice:z", first=1, count=2)
    listed = tab.hear("element texts", request=1)
    assert (listed["shape"], listed["first"], listed["texts"]) == ([2, 2], 1, ["4.0", "6.0"])


def test_a_value_is_downloaded_as_npy(opened, shared, tmp_path):
    tab, page = opened(CHAIN)
    tab.run(page)
    status, body, headers = shared.get(f"/api/value?page={page}&pin=twice:z")
    assert status == 200
    assert 'filename="twice.z.npy"' in headers["content-disposition"]
    (tmp_path / "x.npy").write_bytes(body)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), [[2, 4], [6, 8]])
    assert shared.get(f"/api/value?page={page}&pin=no:y")[0] == 404


def test_images_and_histograms_are_told(opened):
    monitors = {
        "map": {"kind": "image", "shows": [{"pin": "twice:z"}]},
        "bars": {"kind": "histogram", "shows": [{"pin": "twice:z"}, {"pin": "x:output"}]},
        "one": {"kind": "number", "shows": [{"pin": "twice:z", "element": [1, 0]}]},
    }
    tab, page = opened(CHAIN | {"monitors": monitors})
    tab.run(page)
    told = {}
    for message in tab.heard:
        if message["kind"] == "monitored":
            told |= message["monitors"]
    image = np.frombuffer(base64.b64decode(told["map"]["picture"]), np.float32)
    assert (image.tolist(), told["map"]["picture_shape"]) == ([2, 4, 6, 8], [2, 2])
    assert [sum(each) for each in told["bars"]["counts"]] == [4, 4]
    assert (told["bars"]["edges"][0], told["bars"]["edges"][-1]) == (0.5, 8.5)
    assert told["one"]["values"] == [[6.0]]


def test_a_trend_has_a_curve_for_each_element_and_says_what_it_takes_the_mean_of(opened):
    shows = [{"pin": "x:output"}, {"pin": "many:output"}, {"pin": "twice:z", "element": [0, 1]}]
    blocks = CHAIN["blocks"] | {"many": {"op": "Fill", "in": {"dims": [17], "value": 3.0}}}
    monitors = {"all": {"kind": "trend", "shows": shows}, "now": {"kind": "number", "shows": shows}}
    tab, page = opened(CHAIN | {"blocks": blocks, "monitors": monitors})
    tab.run(page, mode="steps", steps=2)
    told = [m["monitors"]["all"] for m in tab.heard if "all" in m.get("monitors", {})]
    assert all(each["curves"] == told[0]["curves"] for each in told)
    assert told[0]["curves"] == [
        {"shown": 0, "element": [0, 0]},
        {"shown": 0, "element": [0, 1]},
        {"shown": 0, "element": [1, 0]},
        {"shown": 0, "element": [1, 1]},
        {"shown": 1, "mean_of": 17},
        {"shown": 2},
    ]
    joined = [[n for each in told for n in each["values"][i]] for i in range(6)]
    assert joined == [[n, n] for n in (1, 2, 3, 4, 3, 4)]
    now = [m["monitors"]["now"] for m in tab.heard if "now" in m.get("monitors", {})]
    assert (now[-1]["steps"], now[-1]["values"]) == ([2], [[1], [2], [3], [4], [3], [4]])


def test_the_lesson_of_max_pooling_shows_the_largest_of_each_window(shared):
    tab = shared.tab()
    page = tab.open(lesson="max_pool_3d_grad")["page"]
    tab.run(page)
    told = [m["monitors"]["pooled"] for m in tab.heard if "pooled" in m.get("monitors", {})]
    assert told[-1]["values"] == [[15], [16], [31], [32]]
    tab.send("close", page=page)


@pytest.mark.parametrize("run", [{}, {"until": "yes:output"}])
def test_a_page_that_only_has_monitors_runs_all_its_blocks(opened, run):
    yes = {"op": "Const", "attrs": {"value": {"dtype": "bool", "value": True}}}
    monitors = {
        "one": {"kind": "number", "shows": [{"pin": "twice:z"}]},
        "lost": {"kind": "number", "shows": [{"pin": "gone:z"}]},
    }
    content = CHAIN | {"blocks": CHAIN["blocks"] | {"yes": yes}, "monitors": monitors}
    tab, page = opened(content | {"run": CHAIN["run"] | run})
    tab.send("subscribe", page=page, pins=["root:y", "other:y"])
    assert "problem" not in tab.run(page, mode="until" if run else "once")
    assert set(results(tab)) == {"root:y", "other:y"}
    assert any("one" in m.get("monitors", {}) for m in tab.heard)


def test_what_blocks_print_is_told_at_the_block(opened):
    blocks = COUNTER["blocks"] | {
        "say": {
            "op": "Print",
            "in": {"input": "more:output_ref", "data": ["more:output_ref"]},
            "attrs": {"message": "n is "},
        },
        "cry": {
            "op": "PrintV2",
            "in": {"input": {"dtype": "string", "value": "done"}},
            "attrs": {"output_stream": "stdout"},
            "after": ["say"],
        },
    }
    tab, page = opened({"blocks": blocks})
    tab.run(page, mode="steps", steps=3)
    said = [
        (each["block"], each["text"])
        for message in tab.heard
        if message["kind"] == "console output"
        for each in message["lines"]
    ]
    assert said == [
        each for n in (1, 2, 3) for each in (("say", f"n is [{n}]\n"), ("cry", "done\n"))
    ]


def test_a_page_is_exported_as_a_script(opened):
    tab, page = opened(CHAIN | {"run": CHAIN["run"] | {"fetch": ["root:y"]}})
    for to, words in (("python", "backblocks"), ("tensorflow", "tensorflow")):
        tab.send("export", page=page, request=4, to=to)
        assert words in tab.hear("exported", request=4)["text"]


def test_a_page_is_exported_with_inline_arrays_and_omitted_ones_are_named(studio):
    np.save(studio.folder / "w.npy", np.arange(300, dtype=np.float32))
    held = {"dtype": "float32", "shape": [300], "file": "w.npy"}
    blocks = {"w": {"op": "Const", "attrs": {"value": held}}}
    page_file(studio.folder, "p", {"blocks": blocks})
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    lost = {"op": "Const", "attrs": {"value": held | {"file": "lost.npy"}}}
    tab.change(page, {"path": ["blocks", "lost"], "value": lost})
    tab.send("export", page=page, request=4, to="page")
    answer = tab.hear("exported", request=4)
    words = {"dtype": "float32", "value": list(range(300))}
    exported = {"w": {"op": "Const", "attrs": {"value": words}}, "lost": lost}
    assert json.loads(answer["text"])["blocks"] == exported
    assert answer["omitted"] == [{"name": "lost", "file": "lost.npy"}]
