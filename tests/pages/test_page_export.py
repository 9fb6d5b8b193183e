"""Pages as scripts, which give the numbers that the pages give."""

import ast
import contextlib
import io
import json
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest

import backblocks as bb
from backblocks.dtypes import BY_NAME, FROM_ML_DTYPES
from backblocks.pages.export import to_python, to_tensorflow
from backblocks.pages.model import Monitor, MonitorSource, PageBlock
from backblocks.pages.page import Page
from backblocks.pages.serialization import parse

ROOT = Path(__file__).resolve().parents[2]
RECORDER = runpy.run_path(str(ROOT / "tools/record_exports.py"))
PAGES = dict(RECORDER["pages"]())
RECORDED = np.load(RECORDER["RECORDED"])


def page_of(blocks, **run):
    return parse(json.dumps({"format": 1, "blocks": blocks, "run": run}).encode(), Page)


def of_session(page):
    run = page.run
    session = page.session(only=[*run.fetch, *run.targets])
    runner = bb.Runner(session, run.fetch, page.feeds(), run.targets)
    values = runner.run(run.steps, run.until or None)
    return dict(zip(run.fetch, values, strict=True))


def of_script(text):
    script = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(text, "script", "exec"), script)  # noqa: S102
    assert all(name in printed.getvalue() for name in script["results"])
    return script["results"]


@pytest.mark.parametrize("name", PAGES)
def test_a_script_gives_the_bits_that_the_page_gives(name):
    expected = of_session(PAGES[name])
    results = of_script(to_python(PAGES[name]))
    assert expected
    assert results.keys() == expected.keys()
    for fetch, value in results.items():
        np.testing.assert_array_equal(np.asarray(value), expected[fetch], fetch)
        assert np.asarray(value).dtype == expected[fetch].dtype


TIES = "src/backblocks/examples/lesson_ties.page.json"
OTHERWISE = {f"{TIES} first:output", f"{TIES} sum_first:output"}
"""What TensorFlow gives otherwise, which is what that page is about."""


@pytest.mark.parametrize("name", sorted(PAGES.keys() - RECORDER["REFUSED"]))
def test_tensorflow_gave_the_same_numbers(name):
    compile(to_tensorflow(PAGES[name]), "script", "exec")
    values = of_session(PAGES[name])
    assert values
    for fetch, value in values.items():
        assert f"{name} {fetch}" in RECORDED, "a new page: make exports records it"
        wanted = RECORDED[f"{name} {fetch}"]
        if f"{name} {fetch}" in OTHERWISE:
            assert (value != wanted).any(), "the same: the page is wrong"
            continue
        if value.dtype.kind == "O":
            assert value.astype("S").tolist() == wanted.tolist()
        else:
            exact = value.dtype.kind in "biu"
            close = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-4, "atol": 1e-6}
            np.testing.assert_allclose(value.astype(wanted.dtype), wanted, **close, err_msg=fetch)


def test_a_script_reads_well():
    page = page_of(
        {
            "x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [2]}},
            "w": {"op": "VariableV2", "initial": {"dtype": "float32", "value": [0.5, 1]}},
            "y": {"op": "Mul", "in": {"x": "x", "y": "w"}, "about": "Weighs x."},
            "train": {"op": "AssignAdd", "in": {"ref": "w", "value": [0.1, 0.1]}},
        },
        fetch=["y:z"],
        targets=["train"],
        steps=3,
        feeds={"x": [1, 2]},
    )
    page.title = "Weights"
    assert (
        to_python(page)
        == '''"""Weights: what a page computes, as a script."""

import numpy as np

from backblocks import raw_ops

x = np.array([1, 2], "float32")
w = np.array([0.5, 1], "float32")

for _ in range(3):
    # y: Weighs x.
    y = raw_ops.Mul(x=x, y=w)
    train = raw_ops.AssignAdd(ref=w, value=np.array([0.1, 0.1], "float32"))
    results = {"y:z": y}
    w = train

for name, value in results.items():
    print(name, np.asarray(value))
'''
    )


def test_a_script_needs_no_files_of_the_page(tmp_path, monkeypatch):
    large = np.linspace(-1, 1, 90_000).reshape(300, 300)
    page = page_of(
        {
            "x": {"op": "Placeholder", "attrs": {"dtype": "float64", "shape": [300, 300]}},
            "sum": {"op": "AddV2", "in": {"x": "x", "y": "w"}},
            "all": {"op": "AddV2", "in": {"x": "sum"}},
        },
        fetch=["all:z"],
    )
    page.blocks["w"] = PageBlock("Const", attrs={"value": large})
    page.blocks["all"].inputs["y"] = large.T
    page.run.feeds["x"] = large * 2
    bb.save_page(page, tmp_path / "p.page.json")
    assert len([*(tmp_path / "p.arrays").iterdir()]) == 3
    opened = bb.open_page(tmp_path / "p.page.json")
    expected, text = of_session(opened), to_python(opened)
    shutil.rmtree(tmp_path / "p.arrays")
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(of_script(text)["all:z"], expected["all:z"])


def test_large_arrays_come_along():
    value = np.linspace(0, 1, 1000).astype(np.float32)
    page = page_of({"y": {"op": "Neg", "in": {"x": "x"}}}, fetch=["y:y"])
    page.blocks["x"] = PageBlock("Const", attrs={"value": value})
    text = to_python(page)
    assert max(map(len, text.splitlines())) <= 100
    np.testing.assert_array_equal(of_script(text)["y:y"], -value)


@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize("name", [*FROM_ML_DTYPES, "string"])
def test_constants_of_types_that_numpy_lacks_come_along(name, size):
    words = np.array([b"", b"a\0", "é".encode()], object)
    value = words if name == "string" else np.arange(3).astype(BY_NAME[name])
    value = np.asarray(value[1] if size == 1 else np.resize(value, size), BY_NAME[name])
    page = page_of({"y": {"op": "Identity", "in": {"input": "x"}}}, fetch=["y:output"])
    page.blocks["x"] = PageBlock("Const", attrs={"value": value})
    result = np.asarray(of_script(to_python(page))["y:output"])
    assert (result.dtype, result.tolist()) == (value.dtype, value.tolist())


@pytest.mark.parametrize(
    ("blocks", "run", "words"),
    [
        ({"x": {"op": "NewOp"}}, {"fetch": ["x"]}, "NewOp"),
        (
            {"x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": []}}},
            {"fetch": ["x"]},
            "must be fed",
        ),
        (
            {
                "list": {"op": "TensorArrayV3", "in": {"size": 1}, "attrs": {"dtype": "float32"}},
                "size": {
                    "op": "TensorArraySizeV3",
                    "in": {"handle": "list", "flow_in": "list:flow"},
                },
            },
            {"fetch": ["size"]},
            'block "list": TensorArrayV3: cannot be a line of a script: it gives a handle',
        ),
        (
            {"v": {"op": "VariableV2", "attrs": {"dtype": "float32", "shape": []}}},
            {"fetch": ["v"]},
            "has no value at the start",
        ),
    ],
)
def test_what_no_script_can_do_is_refused(blocks, run, words):
    with pytest.raises(bb.OpError) as error:
        to_python(page_of(blocks, **run))
    assert words in str(error.value)


@pytest.mark.parametrize("write", [to_python, to_tensorflow])
def test_a_branch_is_an_if(write):
    blocks = {
        "s": {"op": "Switch", "in": {"data": 1.0, "pred": True}},
        "no": {"op": "Neg", "in": {"x": "s:output_false"}},
        "yes": {"op": "Exp", "in": {"x": "s:output_true"}},
        "y": {"op": "Merge", "in": {"inputs": ["no", "yes"]}},
    }
    text = write(page_of(blocks, fetch=["y"]))
    assert (
        """
no = None
if s_false is not None:
    no = """
        in text
    )


def test_a_script_refuses_what_lies_in_a_branch_that_is_not_taken():
    blocks = {
        "s": {"op": "Switch", "in": {"data": 1.0, "pred": False}},
        "n": {"op": "Neg", "in": {"x": "s:output_true"}},
    }
    with pytest.raises(ValueError, match="n:y lies in a branch that was not taken"):
        of_script(to_python(page_of(blocks, fetch=["n:y"])))


QUEUE = {
    "queue": {"op": "FIFOQueueV2", "attrs": {"component_types": ["float32"]}},
    "x": {"op": "VariableV2", "initial": {"dtype": "float32", "value": 1}},
    "take": {
        "op": "QueueDequeueV2",
        "in": {"handle": "queue"},
        "attrs": {"component_types": ["float32"]},
    },
    "size": {"op": "QueueSizeV2", "in": {"handle": "queue"}},
    "tick": {"op": "AssignAdd", "in": {"ref": "x", "value": 1}},
    "put": {"op": "QueueEnqueueV2", "in": {"handle": "queue", "components": ["x"]}},
    "again": {"op": "QueueEnqueueV2", "in": {"handle": "queue", "components": ["x"]}},
    "way": {"op": "Switch", "in": {"data": "x", "pred": "late:z"}},
    "late": {"op": "Greater", "in": {"x": "x", "y": 2.0}},
    "more": {"op": "QueueEnqueueV2", "in": {"handle": "queue", "components": ["way:output_true"]}},
}


def test_queues_are_filled_and_emptied_in_the_order_of_a_session():
    targets = ["put", "again", "tick", "more"]
    page = page_of(QUEUE, fetch=["size", "take"], targets=targets, steps=4)
    expected = of_session(page)
    assert expected["size"] == 7
    assert of_script(to_python(page)) == expected
    with pytest.raises(bb.OpError, match=r'block "queue": FIFOQueueV2: .* it works on a handle'):
        to_tensorflow(page)


def test_readers_read_on(tmp_path, monkeypatch):
    (tmp_path / "words.txt").write_text("one\ntwo\nthree\n")
    monkeypatch.chdir(tmp_path)
    names = {"dtype": "string", "value": "words.txt"}
    blocks = {
        "queue": {"op": "FIFOQueueV2", "attrs": {"component_types": ["string"]}},
        "put": {"op": "QueueEnqueueV2", "in": {"handle": "queue", "components": [names]}},
        "reader": {"op": "TextLineReaderV2"},
        "line": {
            "op": "ReaderReadV2",
            "in": {"reader_handle": "reader", "queue_handle": "queue"},
        },
    }
    page = page_of(blocks, fetch=["line:value"], targets=["put"], steps=3)
    assert of_script(to_python(page)) == {"line:value": b"three"}


def test_no_steps_give_no_results():
    page = page_of({"x": {"op": "Neg", "in": {"x": 1.0}}}, fetch=["x"], steps=0)
    assert of_script(to_python(page)) == {}


def test_a_page_that_says_nothing_gives_what_it_shows_or_what_nobody_reads():
    page = page_of({"x": {"op": "Neg", "in": {"x": 1.0}}, "y": {"op": "Neg", "in": {"x": "x"}}})
    assert of_script(to_python(page)) == {"y:y": 1}
    page.monitors["m"] = Monitor("number", [MonitorSource("x")])
    assert of_script(to_python(page)) == {"x": -1}


def test_a_page_cannot_put_code_of_its_own_into_a_script(tmp_path):
    code = '"""\nraise SystemExit\r\nraise SystemExit\0\x0c"""\\'
    blocks = {"x": {"op": "Neg", "in": {"x": 1.0}, "about": code}}
    page = page_of(blocks, fetch=["x"])
    page.title = code
    page.path = tmp_path / 'a"""; raise SystemExit; """.page.json'
    for write in (to_python, to_tensorflow):
        tree = ast.parse(write(page))
        assert not any(isinstance(node, ast.Raise) for node in ast.walk(tree))
    assert of_script(to_python(page)) == {"x": -1}


def pooling_back(**attrs):
    ones = {"ksize": [1, 1, 1, 1, 1], "strides": [1, 1, 1, 1, 1], "padding": "SAME"}
    pins = {"orig_input": "x", "orig_output": "x", "grad": "x"}
    return page_of(
        {
            "x": {"op": "Const", "attrs": {"value": {"dtype": "float32", "value": [[[[[1]]]]]}}},
            "p": {"op": "MaxPool3DGrad", "in": pins, "attrs": ones | attrs},
        },
        fetch=["p:output"],
    )


def test_what_tensorflow_has_not_is_refused():
    page = pooling_back(padding="EXPLICIT", explicit_paddings=[0] * 10)
    assert "EXPLICIT" in to_python(page)
    with pytest.raises(bb.OpError, match="has explicit_paddings, which TensorFlow has not"):
        to_tensorflow(page)
    page = pooling_back(ties="tensorflow-cpu")
    assert "ties" in to_python(page)
    assert "ties" not in to_tensorflow(page), "it is what TensorFlow does anyway"
