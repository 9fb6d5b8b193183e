"""Inline arrays for export: the arrays of a page's files are in its text."""

import json

import ml_dtypes
import numpy as np
import pytest

import backblocks as bb
from backblocks.errors import OpError
from backblocks.pages import inline_arrays as module
from backblocks.pages.folder import Folder
from backblocks.pages.inline_arrays import MAX_EXPORTED_ELEMENTS, OmittedArray, inline_arrays
from backblocks.pages.model import PageBlock
from backblocks.pages.page import Page


def saved(tmp_path, **constants):
    """A page with a constant in a file for each array; its JSON and its path."""
    path = tmp_path / "old/p.page.json"
    path.parent.mkdir(exist_ok=True)
    page = Page(
        blocks={name: PageBlock("Const", attrs={"value": each}) for name, each in constants.items()}
    )
    bb.save_page(page, path)
    return json.loads(path.read_text()), path


def opened_elsewhere(tmp_path, text):
    path = tmp_path / "new/p.page.json"
    path.parent.mkdir()
    path.write_text(text)
    return bb.open_page(path)


ODD = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4e38, 0.1, 1 / 3, 2**24 + 2], np.float32)
MANY = np.resize(ODD, (30, 3, 10))


@pytest.mark.parametrize(
    "array",
    [
        MANY,
        MANY.astype(ml_dtypes.bfloat16),
        MANY.astype(ml_dtypes.float8_e5m2),
        np.resize(np.array([-8, 0, 7], ml_dtypes.int4), (3, 100)),
        np.resize(np.array([1 / 3, -0.0, 5e-324]), 300),
        np.resize(np.array([1 - 2j, complex("nan+infj"), -0.0 + 1e-45j], np.complex64), 300),
        np.resize(np.array([2**63 - 1, -(2**63), 2**53 + 1, 0]), (1, 300)),
        np.resize(np.array([2**64 - 1, 1], np.uint64), 300),
        np.arange(300) % 3 == 0,
    ],
    ids=lambda array: array.dtype.name,
)
def test_a_page_has_the_same_bits_elsewhere(tmp_path, array):
    page, path = saved(tmp_path, w=array)
    assert "file" in page["blocks"]["w"]["attrs"]["value"]
    text, omitted = inline_arrays(page, path)
    assert omitted == []
    found = opened_elsewhere(tmp_path, text).graph()["w"].attrs["value"]
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()


def test_arrays_of_inputs_variables_and_feeds_are_inlined(tmp_path):
    large = np.arange(600, dtype=np.float32).reshape(2, 300)
    path = tmp_path / "old/p.page.json"
    path.parent.mkdir()
    page = Page(
        blocks={
            "x": PageBlock("Placeholder", attrs={"dtype": "float32", "shape": [2, 300]}),
            "v": PageBlock("VariableV2", initial=large + 1),
            "xv": PageBlock("AddV2", inputs={"x": "x:output", "y": "v:ref"}),
            "sum": PageBlock("AddV2", inputs={"x": "xv:z", "y": large + 2}),
        }
    )
    page.run.feeds, page.run.fetch = {"x": large}, ["sum:z"]
    bb.save_page(page, path)
    assert path.read_text().count('"file"') == 3
    text, omitted = inline_arrays(json.loads(path.read_text()), path)
    assert omitted == []
    found = opened_elsewhere(tmp_path, text)
    (total,) = found.session().run(found.run.fetch, found.feeds())
    np.testing.assert_array_equal(total, 3 * large + 3)


def test_a_nan_of_any_bits_is_inlined_as_nan(tmp_path):
    array = np.full(300, -np.nan, np.float32)
    text, omitted = inline_arrays(*saved(tmp_path, w=array))
    assert omitted == []
    assert np.isnan(opened_elsewhere(tmp_path, text).graph()["w"].attrs["value"]).all()


def test_a_page_without_files_keeps_all_it_says(tmp_path):
    page, path = saved(tmp_path, w=np.ones(2, np.float32))
    page |= {"unknown": [{"dtype": "float32"}, {"file": "x"}, 1.0], "title": "한 장"}
    assert json.loads(inline_arrays(page, path)[0]) == page


def test_an_array_that_is_too_large_is_omitted_and_never_read(tmp_path, monkeypatch):
    small = np.arange(MAX_EXPORTED_ELEMENTS // 2, dtype=np.int32)
    arrays = {
        "a": small,
        "huge": np.zeros(MAX_EXPORTED_ELEMENTS + 1, bool),
        "b": small + 1,
        "c": small[:300],
    }
    page, path = saved(tmp_path, **arrays)
    read = []
    array = Folder.array
    monkeypatch.setattr(
        Folder, "array", lambda *given: read.append(given[1][9:11]) or array(*given)
    )
    text, omitted = inline_arrays(page, path)
    assert read == ["a-", "b-"]
    files = {name: block["attrs"]["value"]["file"] for name, block in page["blocks"].items()}
    assert omitted == [
        OmittedArray("huge", files["huge"], MAX_EXPORTED_ELEMENTS + 1),
        OmittedArray("c", files["c"], 300),
    ]
    blocks = json.loads(text)["blocks"]
    assert blocks["huge"] == page["blocks"]["huge"]
    assert blocks["b"]["attrs"]["value"] == {"dtype": "int32", "value": (small + 1).tolist()}


@pytest.mark.parametrize(
    "wrong",
    [
        {"dtype": "float32", "file": "p.arrays/none.npy"},
        {"dtype": "float32", "file": "../secret.npy"},
        {"dtype": "int8", "file": "w.npy"},
        {"dtype": "float32", "shape": [7], "file": "w.npy"},
        {"dtype": "float32", "shape": "many", "file": "w.npy"},
        {"dtype": ["float32"], "file": "w.npy"},
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, wrong):
    page, path = saved(tmp_path)
    np.save(tmp_path / "secret.npy", np.zeros(3, np.float32))
    np.save(path.parent / "w.npy", np.zeros(3, np.float32))
    page["blocks"] = {"w": {"op": "Neg", "in": {"x": wrong}}}
    text, omitted = inline_arrays(page, path)
    assert omitted == [OmittedArray("w", wrong["file"], 0)]
    assert json.loads(text) == page


def test_as_many_elements_as_the_limit_says_are_inlined_and_not_one_more(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_EXPORTED_ELEMENTS", 300)
    page, path = saved(tmp_path, w=np.zeros((20, 15)))
    assert inline_arrays(page, path)[1] == []
    monkeypatch.setattr(module, "MAX_EXPORTED_ELEMENTS", 299)
    text, (omitted,) = inline_arrays(page, path)
    assert omitted.elements == 300
    with pytest.raises(OpError, match="Put the file beside the page"):
        opened_elsewhere(tmp_path, text).graph()
