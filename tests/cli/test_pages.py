"""The commands that work on pages, as they are typed."""

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from backblocks.cli import main

COMMAND = str(Path(sys.executable).with_name("backblocks"))


def page(folder, name="a.page.json", **parts):
    path = folder / name
    path.write_text(json.dumps({"format": 1, **parts}))
    return str(path)


def const(value):
    return {"op": "Const", "attrs": {"value": {"dtype": "float32", "value": value}}}


COUNTER = {
    "count": {"op": "VariableV2", "initial": {"dtype": "float32", "value": 0}},
    "step": {"op": "AssignAdd", "in": {"ref": "count", "value": 1}},
    "enough": {"op": "GreaterEqual", "in": {"x": "step:output_ref", "y": 5}},
}


@pytest.fixture
def counter(tmp_path):
    return page(tmp_path, blocks=COUNTER, run={"fetch": ["step"]})


def fetched(capsys):
    return {k: v["value"] for k, v in json.loads(capsys.readouterr().out)["fetched"].items()}


# -- run ------------------------------------------------------------------------------------------


def test_run_prints_name_type_shape_and_numbers(tmp_path, capsys):
    blocks = {"x": const([[1, 2.5]]), "y": {"op": "Neg", "in": {"x": "x"}}}
    assert main(["run", page(tmp_path, blocks=blocks, run={"fetch": ["y:y"]})]) == 0
    told = capsys.readouterr()
    assert told.out == "y:y  float32 [1, 2]  [[-1.  -2.5]]\n"
    assert told.err.startswith("1 step, ")


def test_run_tells_machines_what_was_computed_and_how_much_memory_it_took(counter, capsys):
    assert main(["run", counter, "--json", "--steps", "2"]) == 0
    # The variable, the one that is added, and the sum: four bytes each.
    last = {"executed": 1, "cached": 0, "peak_bytes": 12}
    assert json.loads(capsys.readouterr().out)["last_step"] == last


def test_long_arrays_are_abbreviated(tmp_path, capsys):
    blocks = {"x": {"op": "Range", "in": {"start": 0, "limit": 10000, "delta": 1}}}
    assert main(["run", page(tmp_path, blocks=blocks)]) == 0
    assert (
        capsys.readouterr().out == "x:output  int32 [10000]  [   0    1    2 ... 9997 9998 9999]\n"
    )


def test_a_page_that_says_nothing_gives_what_nobody_reads(tmp_path, capsys):
    blocks = {
        "x": const([1, 2, 3, 4]),
        "y": {"op": "Neg", "in": {"x": "x"}},
        "parts": {"op": "Split", "in": {"axis": 0, "value": "x"}, "attrs": {"num_split": 2}},
    }
    assert main(["run", page(tmp_path, blocks=blocks), "--json"]) == 0
    assert list(fetched(capsys)) == ["y:y", "parts:output[0]", "parts:output[1]"]


def test_steps_and_until(counter, capsys):
    assert main(["run", counter, "--steps", "3", "--json"]) == 0
    assert fetched(capsys) == {"step": 3}
    assert main(["run", counter, "--until", "enough:z", "--json"]) == 0
    assert fetched(capsys) == {"step": 5}
    with pytest.raises(SystemExit) as raised:
        main(["run", counter, "--until", "enough:z", "--steps", "3"])
    assert raised.value.code == 2


def test_feeds_are_files_or_numbers(tmp_path, capsys):
    blocks = {
        "x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [None]}},
        "y": {"op": "Neg", "in": {"x": "x"}},
    }
    path = page(tmp_path, blocks=blocks, run={"fetch": ["y"], "feeds": {"x": [9]}})
    assert main(["run", path, "--json"]) == 0
    assert fetched(capsys) == {"y": [-9]}
    np.save(tmp_path / "x.npy", np.float32([1, 2]))
    assert main(["run", path, "--json", "--feed", f"x={tmp_path / 'x.npy'}"]) == 0
    assert fetched(capsys) == {"y": [-1, -2]}
    assert main(["run", path, "--json", "--feed", "x:output=[3]"]) == 0
    assert fetched(capsys) == {"y": [-3]}
    np.save(tmp_path / "x.npy", np.float64([1, 2]))
    assert main(["run", path, "--feed", f"x={tmp_path / 'x.npy'}"]) == 2
    assert "--feed.x:output: must hold float32; got float64" in capsys.readouterr().err


def test_a_placeholder_that_nobody_feeds_is_told_how_to_be_fed_here(tmp_path, capsys):
    blocks = {
        "q": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [2]}},
        "y": {"op": "Neg", "in": {"x": "q"}},
    }
    path = page(tmp_path, blocks=blocks)
    words = "must be fed. Give it a value such as --feed q=x.npy or --feed q=[1, 2].\n"
    for command in (["run", path], ["export", path, "--to", "python"]):
        assert main(command) == 1
        assert capsys.readouterr().err.endswith(words)
        assert main([*command, "--feed", "q=[3, 4]"]) == 0
        assert "3" in capsys.readouterr().out


def test_feeds_are_constants_and_texts(tmp_path, capsys):
    blocks = {
        "x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [2]}},
        "y": {"op": "Neg", "in": {"x": "x"}},
        "half": {"op": "Placeholder", "attrs": {"dtype": "bfloat16", "shape": []}},
        "text": {"op": "Placeholder", "attrs": {"dtype": "string", "shape": None}},
    }
    path = page(tmp_path, blocks=blocks)
    typed = '{"dtype": "float32", "value": [1, "inf"]}'
    assert main(["run", path, "--json", "--feed", f"x={typed}", "--fetch", "y"]) == 0
    assert fetched(capsys) == {"y": [-1, "-inf"]}
    for text, value in (('"one"', "one"), ('["a", "b"]', ["a", "b"])):
        assert main(["run", path, "--json", "--feed", f"text={text}", "--fetch", "text"]) == 0
        assert fetched(capsys) == {"text": value}
    np.save(tmp_path / "wide.npy", np.float64([1, 2]))
    for feed, words in (
        (f"x={tmp_path / 'wide.npy'}", '.npy", x.astype("float32")).'),
        (f"half={tmp_path / 'wide.npy'}", '.npy", x.view("uint16")).'),
        ("x=none.npy", "Name a file that np.save wrote, or write numbers as JSON: [1, 2]."),
        ("text=none.npy", 'Write texts as JSON: "one" or ["one", "two"].'),
        ('x={"dtype": "int32", "value": [1, 2]}', "must be float32; got int32. Write that dtype"),
        ("x=[1, 2, 3]", "must have the shape of x:output, [2]; got [3] (axis 0). Reshape it."),
        ("x=null", "--feed.x:output: must be numbers"),
        ('x=["a", "b"]', "--feed.x:output: must be numbers"),
        ("x=[[1], 2]", "--feed.x:output: must have rows of one length"),
    ):
        assert main(["run", path, "--feed", feed, "--fetch", "y"]) == 2
        assert words in capsys.readouterr().err


def test_what_is_set_holds_for_the_run(tmp_path, capsys):
    blocks = {
        "x": const([[1, 2], [3, 4]]),
        "w": {"op": "VariableV2", "initial": {"dtype": "float32", "value": 1}},
        "s": {"op": "Sum", "in": {"input": "x", "axis": 0}},
        "y": {"op": "Mul", "in": {"x": "s", "y": "w"}},
    }
    path = page(tmp_path, blocks=blocks, run={"fetch": ["y"]})
    before = Path(path).read_bytes()
    settings = ["x.value=[[1, 1], [1, 5]]", "s.axis=[1]", "s.keep_dims=true", "w.initial=10"]
    assert main(["run", path, "--json", *(f"--set={each}" for each in settings)]) == 0
    assert fetched(capsys) == {"y": [[20], [60]]}
    assert Path(path).read_bytes() == before


def test_what_is_fetched_is_written(tmp_path, capsys):
    blocks = {
        "x": const([1, 2]),
        "parts": {"op": "Split", "in": {"axis": 0, "value": "x"}, "attrs": {"num_split": 2}},
        "text": {"op": "Const", "attrs": {"value": {"dtype": "string", "value": ["a", "bc"]}}},
    }
    path, out = page(tmp_path, blocks=blocks), tmp_path / "new" / "out"
    assert main(["run", path, "--out", str(out), "--fetch", "x", "parts:output[1]", "text"]) == 0
    assert sorted(file.name for file in out.iterdir()) == [
        "parts.output.1.npy",
        "text.npy",
        "x.npy",
    ]
    assert np.load(out / "parts.output.1.npy").tolist() == [2]
    assert np.load(out / "text.npy").tolist() == [b"a", b"bc"]
    assert str(out / "x.npy") in capsys.readouterr().err


def test_a_run_that_needs_more_memory_than_it_may_have_is_refused(tmp_path, capsys):
    blocks = {
        "large": {"op": "Fill", "in": {"dims": [1 << 20], "value": 1.0}},
        "y": {"op": "Neg", "in": {"x": "large"}},
    }
    path = page(tmp_path, blocks=blocks, run={"fetch": ["y"]})
    assert main(["run", path, "--memory-limit", "5"]) == 1
    told = capsys.readouterr().err
    assert "needs about 8 MiB at one time, and 5 MiB may be used" in told
    assert "or raise --memory-limit." in told
    assert main(["run", path, "--memory-limit", "9"]) == 0


def test_the_same_seed_gives_the_same_numbers(tmp_path, capsys):
    blocks = {"x": {"op": "RandomUniform", "in": {"shape": [3]}, "attrs": {"dtype": "float32"}}}
    path = page(tmp_path, blocks=blocks, run={"seed": 1})
    runs = []
    for seed in ("7", "7", "8"):
        assert main(["run", path, "--json", "--seed", seed]) == 0
        runs.append(fetched(capsys)["x:output"])
    assert runs[0] == runs[1] != runs[2]


def test_monitors_are_shown_at_the_end(tmp_path, capsys):
    picture = {"op": "Const", "attrs": {"value": {"dtype": "float32", "value": [[0, 1], [1, 0]]}}}
    monitors = {
        "n": {"kind": "number", "shows": [{"pin": "step", "label": "steps"}], "title": "So far"},
        "t": {"kind": "trend", "shows": [{"pin": "step"}], "steps": 3},
        "i": {"kind": "image", "shows": [{"pin": "picture"}]},
        "h": {
            "kind": "histogram",
            "shows": [{"pin": "picture"}, {"pin": "picture", "element": [0, 1]}],
        },
        "new": {"kind": "globe", "shows": [{"pin": "picture"}]},
    }
    path = page(
        tmp_path, blocks=COUNTER | {"picture": picture}, monitors=monitors, run={"steps": 4}
    )
    assert main(["run", path]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "So far",
        "  steps  4",
        "  step  2 … 4  ▁▅█",
        "  picture  float32 [2, 2]",
        "      ██",
        "    ██  ",
        "  picture  0 █▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█ 1",
        "  picture[0, 1]  1 ▁▁▁▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁▁▁ 1",
        "  picture  [[0. 1.] [1. 0.]]",
    ]
    assert main(["run", path, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["monitors"]
    assert shown["t"]["shows"][0]["trend"] == [[2], [3], [4]]
    assert shown["n"]["shows"][0]["value"] == 4


def test_a_trend_that_stays_the_same_is_a_row_of_the_lowest_bars(tmp_path, capsys):
    monitors = {"t": {"kind": "trend", "shows": [{"pin": "x"}]}}
    path = page(tmp_path, blocks={"x": const(2)}, monitors=monitors, run={"steps": 3})
    assert main(["run", path]) == 0
    assert capsys.readouterr().out == "  x  2 … 2  ▁▁▁\n"


WORDS = {"op": "Const", "attrs": {"value": {"dtype": "string", "value": ["a", "b"]}}}


@pytest.mark.parametrize(
    ("monitor", "words"),
    [
        ({"kind": "histogram", "pin": "text"}, "of the kind histogram; got text, string"),
        ({"kind": "trend", "pin": "text"}, "must show real numbers in a monitor of the kind trend"),
        ({"kind": "image", "pin": "text"}, "must show real numbers"),
        ({"kind": "image", "pin": "x", "axes": [0, 5]}, "axes of x, which has shape [2, 2]; got [0, 5]"),
        ({"kind": "image", "pin": "x", "axes": [1, -1]}, "must have two axes of x"),
        ({"kind": "image", "pin": "x", "axes": [0]}, "must have two axes of x"),
        ({"kind": "trend", "pin": "x", "steps": -1}, "Page.monitors.m.steps: must be from 1 to 2^53; got -1"),
        ({"kind": "trend", "pin": "x", "low": 10**400}, "Page.monitors.m.low: must be a number; got 1000"),
        ({"kind": "number", "pin": "queue"}, "must have a value, which a handle has not; got 'queue'"),
    ],
)  # fmt: skip
def test_a_monitor_that_cannot_show_is_refused_before_the_run(tmp_path, capsys, monitor, words):
    blocks = {
        "x": const([[1, 2], [3, 4]]),
        "text": WORDS,
        "queue": {"op": "FIFOQueueV2", "attrs": {"component_types": ["float32"]}},
    }
    pin = monitor.pop("pin")
    path = page(tmp_path, blocks=blocks, monitors={"m": {"shows": [{"pin": pin}], **monitor}})
    for command in ("check", "run"):
        assert main([command, path]) == 1
        told = capsys.readouterr()
        assert words in told.out + told.err


def test_monitors_show_what_they_can_of_values_that_change(tmp_path, capsys):
    blocks = COUNTER | {
        "size": {"op": "Cast", "in": {"x": "step"}, "attrs": {"DstT": "int32"}},
        "grows": {"op": "Range", "in": {"start": 0, "limit": "size", "delta": 1}},
        "none": {"op": "Range", "in": {"start": "size", "limit": "size", "delta": 1}},
        "text": WORDS,
        "wide": const([-3e38, 3e38]),
    }
    monitors = {
        "trend": {"kind": "trend", "shows": [{"pin": "grows"}, {"pin": "none"}]},
        "element": {"kind": "number", "shows": [{"pin": "grows", "element": [9]}]},
        "image": {"kind": "image", "shows": [{"pin": "grows"}, {"pin": "none"}]},
        "histogram": {"kind": "histogram", "shows": [{"pin": "none"}, {"pin": "wide"}]},
        "narrow": {"kind": "histogram", "shows": [{"pin": "wide"}], "low": 9, "high": 10},
        "text": {"kind": "number", "shows": [{"pin": "text"}, {"pin": "text", "element": [0]}]},
    }
    path = page(tmp_path, blocks=blocks, monitors=monitors, run={"steps": 3})
    assert main(["run", path]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "  grows  0 … 1  ▁▅█",
        "  none  nothing",
        "  grows[9]  cannot be shown: there is no such value",
        "  grows  int32 [3]",
        "    [0 1 2]",
        "  none  int32 [0]",
        "    []",
        "  none  nothing",
        "  wide  -3e+38 █▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█ 3e+38",
        "  wide  9 ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁ 10",
        "  text  ['a' 'b']",
        "  text[0]  a",
    ]
    assert main(["run", path, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["monitors"]
    assert shown["trend"]["shows"][0]["trend"] == [[0], [0.5], [1]]
    assert "value" not in shown["element"]["shows"][0]


def test_monitors_of_no_steps_show_nothing(tmp_path, capsys):
    monitors = {"m": {"kind": "trend", "shows": [{"pin": "step"}]}}
    path = page(tmp_path, blocks=COUNTER, monitors=monitors, run={"steps": 0, "fetch": ["step"]})
    assert main(["run", path]) == 0
    assert capsys.readouterr().out == "  step  cannot be shown: there is no such value\n"
    assert main(["run", path, "--json"]) == 0
    assert fetched(capsys) == {}


def test_what_cannot_be_written_is_still_printed(tmp_path, capsys):
    odd = {"op": "Const", "attrs": {"value": {"dtype": "string", "value": "zero\0"}}}
    path = page(tmp_path, blocks={"odd": odd, "x": const(3)}, run={"fetch": ["odd", "x"]})
    assert main(["run", path, "--out", str(tmp_path / "out")]) == 1
    told = capsys.readouterr()
    assert "x  float32 []  3." in told.out
    assert "odd: cannot be written" in told.err
    assert np.load(tmp_path / "out/x.npy") == 3
    (tmp_path / "full/x.npy").mkdir(parents=True)
    assert main(["run", path, "--json", "--fetch", "x", "--out", str(tmp_path / "full")]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["fetched"]["x"]["value"] == 3
    assert document["problems"][0]["op"] == "x"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--feed", "x"], "--feed: must be NAME=FILE or NAME=NUMBER; got 'x'."),
        (["--feed", "q=1"], "--feed: must be an output of the page; got 'q'. There is no block 'q'."),
        (["--feed", "count=no.npy"], "--feed.count:ref: must exist; got 'no.npy'."),
        (["--fetch", "stp"], "got 'stp'. There is no block 'stp'; did you mean 'step'?"),
        (["--fetch", "step:no"], "Block 'step' has no output 'no'; its outputs: output_ref."),
        (["--until", "q:z"], "--until: must be an output of the page; got 'q:z'."),
        (["--until", "count"], "--until: must be one truth value; got count:ref, float32 []."),
        (["--feed", "count=/"], "--feed.count:ref: must be a plain file; got '/'. Name a file that"),
        (["--out", __file__], "--out: must be a folder; got"),
        (["--set", "step"], "--set: must be BLOCK.ATTR=VALUE; got 'step'."),
        (["--set", "stp.value=1"], "must name a block of the page; got 'stp'. Did you mean step?"),
        (["--set", "step.vlue=1"], "an attribute or input of step; got 'vlue'. Did you mean value?"),
        (["--watch", "--json"], "--json: cannot be one document"),
    ],
)  # fmt: skip
def test_a_command_line_that_cannot_be_understood_is_exit_code_2(counter, arguments, words, capsys):
    assert main(["run", counter, *arguments]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told


def test_a_page_that_is_not_there(capsys):
    assert main(["run", "no.page.json"]) == 2
    assert "PAGE: must be the file of a page; got 'no.page.json'" in capsys.readouterr().err
    assert main(["check", "a" * 5000]) == 2
    assert "PAGE: must be the file of a page; got 'aaa" in capsys.readouterr().err


def test_problems_of_the_page_are_exit_code_1(tmp_path, capsys):
    path = page(tmp_path, blocks={"b": {"op": "Relu"}, "c": {"op": "Relux"}})
    assert main(["run", path, "--json"]) == 1
    told = capsys.readouterr()
    problems = json.loads(told.out)["problems"]
    assert [(each["block"], each["op"], each["arg"]) for each in problems] == [
        ("b", "Relu", "features"), ("c", "Relux", ""),
    ]  # fmt: skip
    assert 'block "b": Relu.features: must be wired' in told.err
    blocks = {"x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": []}}}
    assert main(["run", page(tmp_path, blocks=blocks), "--fetch", "x"]) == 1
    assert 'block "x": Placeholder.output: must be fed' in capsys.readouterr().err
    Path(path).write_text("{")
    assert main(["run", path]) == 1
    assert "Page.file: must be JSON" in capsys.readouterr().err


def started(*arguments):
    return subprocess.Popen(  # noqa: S603
        [COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )


@pytest.fixture
def _ctrl_c_after_the_first_step(monkeypatch):
    from backblocks.commands.terminal import ProgressBar

    def interrupt_soon(self, done):
        monkeypatch.undo()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    monkeypatch.setattr(ProgressBar, "update", interrupt_soon)


@pytest.mark.usefixtures("_ctrl_c_after_the_first_step")
def test_ctrl_c_says_where_it_stopped(counter, capsys):
    assert main(["run", counter, "--steps", "1000000000"]) == 130
    told = capsys.readouterr()
    assert re.fullmatch(r"stopped in step \d+ of 1000000000\n", told.err)
    assert told.out == ""


@pytest.mark.usefixtures("_ctrl_c_after_the_first_step")
def test_ctrl_c_gives_machines_what_the_last_whole_step_gave(counter, capsys):
    assert main(["run", counter, "--steps", "1000000000", "--json"]) == 130
    document = json.loads(capsys.readouterr().out)
    assert document["stopped"]
    assert document["fetched"]["step"]["value"] == document["steps"] > 0


def test_ctrl_c_before_the_run_gives_machines_a_document_too(counter, capsys, monkeypatch):
    from backblocks.commands import run

    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "open_page_argument", interrupted)
    assert main(["run", counter, "--json"]) == 130
    assert json.loads(capsys.readouterr().out) == {"stopped": True, "problems": []}


def test_watching_runs_again_when_the_file_changes(tmp_path):
    path = page(tmp_path, blocks={"x": const(1)})
    running = started("run", path, "--watch")
    try:
        assert running.stdout.readline().endswith("[]  1.\n")
        page(tmp_path, blocks={"x": {"op": "Wrong"}})
        while "Wrong" not in running.stderr.readline():
            pass
        new = page(tmp_path, "new.json", blocks={"x": const(2)})
        os.replace(new, path)
        assert running.stdout.readline().endswith("[]  2.\n")
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=20)
        assert running.returncode == 130
        assert "Traceback" not in err
    finally:
        running.kill()


def test_watching_sees_parts_arrays_and_files_that_blocks_read(tmp_path):
    output = {"outputs": {"y": {"pin": "y", "dtype": "float32"}}}
    array = {"dtype": "float32", "file": "data/x.npy"}
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data/x.npy", np.float32(1))
    (tmp_path / "words.txt").write_text("one")
    page(tmp_path, "part.json", blocks={"y": const(10)}, ports=output)
    blocks = {
        "x": {"op": "Const", "attrs": {"value": array}},
        "part": {"op": "page", "attrs": {"page": "part.json"}},
        "read": {"op": "ReadFile", "in": {"filename": {"dtype": "string", "value": "words.txt"}}},
        "write": {
            "op": "WriteFile",
            "in": {"filename": {"dtype": "string", "value": "out.txt"}, "contents": "read"},
        },
    }
    run = {"fetch": ["x", "part", "read"], "targets": ["write"]}
    running = started("run", page(tmp_path, blocks=blocks, run=run), "--watch", "--allow-files")

    def shown():
        lines = [running.stdout.readline() for _ in range(3)]
        while "watching" not in (line := running.stderr.readline()):
            pass
        assert "and 3 other files" in line
        return [line.split()[-1].strip("'") for line in lines]

    try:
        assert shown() == ["1.", "10.", "one"]
        np.save(tmp_path / "data/x.npy", np.float32(22))
        assert shown() == ["22.", "10.", "one"]
        page(tmp_path, "part.json", blocks={"y": const(300)}, ports=output)
        assert shown() == ["22.", "300.", "one"]
        (tmp_path / "words.txt").write_text("other")
        assert shown() == ["22.", "300.", "other"]
    finally:
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=20)
    assert out == "", "what it writes itself is no change"


# -- check ----------------------------------------------------------------------------------------


def test_check_finds_nothing_wrong_and_says_what_it_takes(tmp_path, capsys):
    blocks = {
        "x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [1000]}},
        "y": {"op": "Neg", "in": {"x": "x"}},
    }
    path = page(tmp_path, blocks=blocks, run={"fetch": ["y"]})
    assert main(["check", path]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{path}: 2 blocks, 1 wire, no problems\n")
    assert "memory of a run: 7.8 KiB at one time, most for y: 3.9 KiB" in told
    assert main(["check", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory"]["peak_bytes"] == 8000


def test_check_gives_the_type_and_shape_of_every_output(tmp_path, capsys):
    blocks = {
        "x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [None, 4]}},
        "parts": {"op": "Split", "in": {"axis": 1, "value": "x"}, "attrs": {"num_split": 2}},
        "any": {"op": "Placeholder", "attrs": {"dtype": "int32", "shape": None}},
        "bad": {"op": "Relux"},
    }
    path = page(tmp_path, blocks=blocks)
    assert main(["check", path]) == 1
    assert capsys.readouterr().out.splitlines()[2:6] == [
        "  x:output         float32 [?, 4]",
        "  parts:output[0]  float32 [?, 2]",
        "  parts:output[1]  float32 [?, 2]",
        "  any:output       int32 unknown shape",
    ]
    assert main(["check", path, "--json"]) == 1
    outputs = json.loads(capsys.readouterr().out)["outputs"]
    assert outputs["parts:output[1]"] == {"dtype": "float32", "shape": [None, 2]}
    assert outputs["any:output"]["shape"] is None


def test_check_estimates_what_can_run_although_something_is_wrong(tmp_path, capsys):
    blocks = {
        "x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [1000]}},
        "y": {"op": "Neg", "in": {"x": "x"}},
        "bad": {"op": "Relux", "in": {"x": "x"}},
        "after": {"op": "Neg", "in": {"x": "bad"}},
    }
    run = {"fetch": ["y", "after", "gone"], "targets": ["bad"], "feeds": {"gone": 1, "x": [1]}}
    path = page(tmp_path, blocks=blocks, run=run)
    assert main(["check", path]) == 1
    told = capsys.readouterr().out
    assert "memory of what can run: at least 7.8 KiB at one time, most for y: 3.9 KiB" in told
    assert main(["check", path, "--json"]) == 1
    memory = json.loads(capsys.readouterr().out)["memory"]
    assert (memory["peak_bytes"], memory["whole"]) == (8000, False)


def test_check_says_everything_that_is_wrong(tmp_path, capsys):
    blocks = {"b": {"op": "Relu"}, "c": {"op": "Relux"}, "x": const(1)}
    path = page(tmp_path, blocks=blocks, run={"fetch": ["q"]})
    assert main(["check", path]) == 1
    told = capsys.readouterr().out
    assert told.startswith(f"{path}: 3 blocks, 0 wires, 3 problems\n")
    for words in ("Relu.features: must be wired", "Relux: is no op", "Page.run.fetch: must come"):
        assert words in told
    assert main(["check", path, "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["problems"]) == 3


def test_check_mentions_fixes(tmp_path, capsys):
    product = {"op": "MatMul", "in": {"a": "x", "b": "x"}}
    path = page(tmp_path, blocks={"x": const([[1, 2, 3]]), "product": product})
    assert main(["check", path]) == 1
    assert "    Fix: set transpose_b=True; or set transpose_a=True." in capsys.readouterr().out
    assert main(["check", path, "--json"]) == 1
    (told,) = json.loads(capsys.readouterr().out)["problems"]
    assert told["fixes"] == ["set transpose_b=True", "set transpose_a=True"]


def test_settings_have_no_fixes_that_were_not_tried(tmp_path, capsys):
    path = page(tmp_path, blocks={"x": const(1)}, run={"feeds": {"x": [1, 2, 3]}})
    assert main(["check", path]) == 1
    assert "Fix:" not in capsys.readouterr().out


def test_check_tells_machines_which_axis_is_at_fault_and_what_was_got(tmp_path, capsys):
    blocks = {
        "x": const([[1, 2, 3]]),
        "product": {"op": "MatMul", "in": {"a": "x", "b": "x"}},
        "c": {"op": "Relux"},
    }
    assert main(["check", page(tmp_path, blocks=blocks), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["problems"]
    assert [each["axis"] for each in told] == [0, None]
    assert [each["got"] is None for each in told] == [False, True]


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"steps": -3}, "Page.run.steps: must be from 0 to 2^53; got -3"),
        ({"until": "x"}, "Page.run.until: must be one truth value; got x:output, float32"),
        ({"feeds": {"x": [1, 2, 3]}}, "Page.run.feeds.x: must have the shape of x, []; got [3]"),
        ({"fetch": ["queue"]}, "Page.run.fetch: must have a value, which a handle has not"),
        ({"feeds": {"queue": 1}}, "Page.run.feeds.queue: must have a value"),
    ],
)
def test_settings_that_no_run_can_follow_are_told(tmp_path, capsys, run, words):
    queue = {"op": "FIFOQueueV2", "attrs": {"component_types": ["float32"]}}
    path = page(tmp_path, blocks={"x": const(1), "queue": queue}, run=run)
    assert main(["check", path]) == 1
    told = capsys.readouterr()
    assert words in told.out + told.err


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("a" * 3000, "must be a file that can be read"),
        ("a/" * 2000 + "a", "must exist"),
        ("a/" * 1_000_000, "must be a path below the folder of the page"),
    ],
    ids=["a long name", "many folders", "a long path"],
)
def test_paths_that_no_system_takes_are_refused_in_words(tmp_path, capsys, name, rule):
    blocks = {
        "x": {"op": "Const", "attrs": {"value": {"dtype": "float32", "file": name}}},
        "p": {"op": "page", "attrs": {"page": name}},
    }
    assert main(["check", page(tmp_path, blocks=blocks)]) == 1
    told = capsys.readouterr().out
    assert f'block "x": Const.value: {rule}' in told
    assert f'block "p": page.page: {rule}' in told


def test_files_that_may_not_be_read_are_refused_in_words(tmp_path, capsys, monkeypatch):
    from backblocks.pages import folder

    def denied(path, mode):  # chmod would keep nothing from root
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    np.save(tmp_path / "x.npy", np.float32(1))
    monkeypatch.setattr(folder, "open", denied, raising=False)
    blocks = {"x": {"op": "Const", "attrs": {"value": {"dtype": "float32", "file": "x.npy"}}}}
    assert main(["check", page(tmp_path, blocks=blocks)]) == 1
    assert (
        "must be a file that can be read; got 'x.npy'. Permission denied" in capsys.readouterr().out
    )


@pytest.mark.parametrize("depth", [100, 400, 900, 100_000])
def test_brackets_without_end_are_refused_in_words(tmp_path, capsys, depth):
    path = tmp_path / "a.page.json"
    nest = "[" * depth + "]" * depth
    start = '{"format": 1, "blocks": {"x": {"op": "Relu", "attrs": {"k": '
    path.write_text(start + nest + "}}}}")
    assert main(["check", str(path)]) == 1
    assert (
        "Page.file: must not be nested so deeply; got more than 80 levels"
        in capsys.readouterr().err
    )


def test_check_lists_what_touches_files_also_when_something_is_wrong(tmp_path, capsys):
    read = {"op": "ReadFile", "in": {"filename": {"dtype": "string", "value": "a.txt"}}}
    assert main(["check", page(tmp_path, blocks={"read": read, "bad": {"op": "Relux"}})]) == 1
    assert "needs --allow-files: read reads\n" in capsys.readouterr().out


def test_check_builds_the_page_once(tmp_path, monkeypatch):
    from backblocks.pages import build

    built = []
    monkeypatch.setattr(build, "add_op", lambda builder, name, block: built.append(name))
    main(["check", page(tmp_path, blocks={"x": const(1)})])
    assert built == ["x"]


# -- new ------------------------------------------------------------------------------------------


def test_a_new_page_runs_and_is_not_overwritten(tmp_path, capsys):
    path = tmp_path / "first.page.json"
    assert main(["new", str(path)]) == 0
    assert main(["run", str(path)]) == 0
    before = path.read_bytes()
    assert main(["new", str(path)]) == 2
    assert "PAGE: must not exist yet" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "PAGE: must be given"),
        (["no/folder/a.page.json"], "must be in a folder that exists"),
        (["a.page.json", "--from", "matrix_prodct"], "Did you mean matrix_product?"),
    ],
)
def test_what_new_refuses(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["new", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_new_and_export_can_be_read_by_machines(tmp_path, capsys):
    path = str(tmp_path / "a.page.json")
    assert main(["new", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"page": path, "example": "matrix_product"}
    assert main(["new", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["examples"]["xor"]
    assert main(["new", path, "--json"]) == 2
    assert "must not exist yet" in json.loads(capsys.readouterr().out)["problems"][0]["text"]
    assert main(["export", path, "--to", "python", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["script"].startswith('"""')
    assert (document["to"], document["file"]) == ("python", None)


def test_the_examples_are_listed(capsys):
    assert main(["new", "--list"]) == 0
    assert "matrix_product            Matrix product\n" in capsys.readouterr().out


# -- all of them ----------------------------------------------------------------------------------


def test_help_is_instant_and_teaches():
    code = "import sys; sys.argv = ['backblocks', '--help']\nfrom backblocks.cli import main\n"
    code += (
        "try: main()\nfinally: print('numpy' in sys.modules, 'backblocks.errors' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert "to start:" in done.stdout
    assert done.stdout.splitlines()[-1] == "False True"


@pytest.mark.parametrize("command", ["run", "check", "diff", "export", "ops", "new"])
def test_each_help_has_examples(command, capsys):
    with pytest.raises(SystemExit) as raised:
        main([command, "--help"])
    assert raised.value.code == 0
    assert f"examples:\n  backblocks {command} " in capsys.readouterr().out


def test_terminals_without_the_signs_get_others(tmp_path):
    monitors = {"t": {"kind": "trend", "shows": [{"pin": "step"}]}}
    path = page(tmp_path, blocks=COUNTER, monitors=monitors, run={"steps": 3})
    done = subprocess.run(  # noqa: S603
        [COMMAND, "run", path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0
    assert done.stdout == "  step  1 ? 3  ???\n"


def test_what_is_read_no_more_is_no_error():
    done = subprocess.run(  # noqa: S602
        f"{COMMAND} ops | head -1", capture_output=True, text=True, check=False, shell=True
    )
    assert done.stdout == "array\n"
    assert done.stderr == ""


def test_colour_is_for_terminals_only(monkeypatch):
    from backblocks.commands.terminal import colorizer

    class Terminal:
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert colorizer(Terminal())("x", "red") == "\x1b[31mx\x1b[0m"
    assert colorizer(io.StringIO())("x", "red") == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert colorizer(Terminal())("x", "red") == "x"


def test_a_bar_is_for_terminals_only(monkeypatch, capsys):
    from backblocks.commands import terminal

    monkeypatch.setattr(terminal, "_AFTER", 0)
    progress = terminal.ProgressBar(10)
    progress.update(5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = terminal.ProgressBar(10)
    progress.update(5)
    progress.end()
    assert f"step 5 of 10 ┃{'━' * 15}{' ' * 15}┃ 0 s left" in capsys.readouterr().err


# -- diff and export ------------------------------------------------------------------------------


def test_diff_tells_logic_and_not_layout(tmp_path, capsys):
    a = page(tmp_path, blocks={"x": const([1, 2]), "y": {"op": "Neg", "in": {"x": "x"}}})
    moved = page(
        tmp_path,
        "moved.json",
        blocks={"x": const([1, 2]), "y": {"op": "Neg", "in": {"x": "x:output"}}},
        layout={"blocks": {"x": [9, 9]}},
    )
    other = page(tmp_path, "other.json", blocks={"x": const([1, 3]), "z": const([[0]])})
    assert main(["diff", a, moved]) == 0
    assert capsys.readouterr().out == "both do the same\n"
    assert main(["diff", a, other]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line[0] for line in lines) == ["+", "-", "~"]
    assert main(["diff", a, other, "--json"]) == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert {(each["kind"], each["block"]) for each in changes} == {
        ("changed", "x"), ("removed", "y"), ("added", "z"),
    }  # fmt: skip


def test_export_writes_a_script(tmp_path, capsys):
    path = page(tmp_path, blocks={"x": const([1, 2])}, run={"fetch": ["x"]})
    assert main(["export", path, "--to", "tensorflow"]) == 0
    assert "import tensorflow as tf" in capsys.readouterr().out
    assert main(["export", path, "--to", "python", "--out", str(tmp_path / "a.py")]) == 0
    assert "results" in (tmp_path / "a.py").read_text()
    with pytest.raises(SystemExit) as raised:
        main(["export", path, "--to", "fortran"])
    assert raised.value.code == 2


# -- files ----------------------------------------------------------------------------------------


def test_files_need_a_yes(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("hello")
    blocks = {
        "read": {"op": "ReadFile", "in": {"filename": {"dtype": "string", "value": "a.txt"}}},
        "x": const(1),
    }
    path = page(tmp_path, blocks=blocks, run={"fetch": ["read"]})
    assert main(["run", path]) == 1
    told = capsys.readouterr().err
    assert (
        "--allow-files: must be given, as blocks access files; got read (ReadFile reads)." in told
    )
    assert main(["run", path, "--fetch", "x"]) == 0
    capsys.readouterr()
    assert main(["run", path, "--allow-files", "--json"]) == 0
    assert fetched(capsys) == {"read": "hello"}
    assert main(["check", path]) == 0
    assert "touches files, which needs --allow-files: read reads\n" in capsys.readouterr().out


def test_a_file_outside_the_folder_is_refused_with_what_can_be_done_here(tmp_path, capsys):
    name = {"dtype": "string", "value": "../a.txt"}
    path = page(tmp_path, blocks={"read": {"op": "ReadFile", "in": {"filename": name}}})
    assert main(["run", path, "--allow-files"]) == 1
    assert capsys.readouterr().err.endswith("got '../a.txt'. Move it there.\n")


@pytest.mark.parametrize(
    "settings",
    [
        {"run": {"fetch": ["nope"]}},
        {"run": {"targets": ["nope"]}},
        {"run": {"feeds": {"nope": 1}}},
        {"monitors": {"m": {"kind": "number", "shows": [{"pin": "nope"}]}}},
    ],
)
def test_settings_that_name_what_is_not_there_are_refused_in_words(tmp_path, capsys, settings):
    path = page(tmp_path, blocks={"x": const(1)}, **settings)
    assert main(["run", path]) == 1
    assert "nope" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 100_000])
def test_what_no_json_can_hold_is_refused_at_its_block(tmp_path, capsys, value):
    path = page(tmp_path, blocks={"x": const(1)})
    assert main(["run", path, "--set", f"x.value={value}"]) == 1
    assert 'block "x": Const.value: must have elements of float32' in capsys.readouterr().err


def test_a_number_in_words_that_is_none_is_refused_at_its_block(tmp_path, capsys):
    attrs = {"T": "float32", "alpha": {"number": [1]}}
    blocks = {"x": const(1), "y": {"op": "LeakyRelu", "in": {"features": "x"}, "attrs": attrs}}
    assert main(["check", page(tmp_path, blocks=blocks)]) == 1
    told = capsys.readouterr()
    assert "must be a number as text" in told.out + told.err
