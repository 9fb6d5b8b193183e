"""Files of arrays that are dropped on a page become its constants."""

import io
import json
import resource
import time
import zipfile

import ml_dtypes
import numpy as np
import pytest
from conftest import page_file

from backblocks.errors import OpError
from backblocks.pages.folder import Folder
from backblocks.pages.npy import write_array
from backblocks.studio import array_import, array_readers
from backblocks.studio.array_import import constants

SMALL = np.array([[1, 2.5]], np.float32)
MIDDLE = np.arange(1000, dtype=np.int64).reshape(10, 100)
LARGE = np.arange(array_import.MAX_INLINE_ELEMENTS + 2, dtype=np.int64).reshape(2, -1)


def npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def safetensors(header, data=b""):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_an_array_stands_on_the_page_and_a_large_one_in_a_file(tmp_path):
    (tmp_path / "x").write_bytes(npz(small=SMALL, middle=MIDDLE, large=LARGE))
    small, middle, large = constants(tmp_path / "x", "both.npz", tmp_path / "p.page.json", {})
    assert small == {
        "name": "small",
        "dtype": "float32",
        "shape": [1, 2],
        "constant": {"dtype": "float32", "value": [[1.0, 2.5]]},
    }
    assert middle["constant"]["value"] == MIDDLE.tolist()
    assert large["constant"]["shape"] == [*LARGE.shape]
    np.testing.assert_array_equal(np.load(tmp_path / large["constant"]["file"]), LARGE)


def test_safetensors_are_read(tmp_path):
    header = {"w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
    data = np.array([1.5, -2], ml_dtypes.bfloat16).tobytes()
    (tmp_path / "x").write_bytes(safetensors(header, data))
    (found,) = constants(tmp_path / "x", "w.safetensors", tmp_path / "p.page.json")
    assert found["constant"] == {"dtype": "bfloat16", "value": [1.5, -2.0]}


def test_bfloat16_goes_to_npy_as_np_save_has_it_and_back(tmp_path):
    array = np.array([[1.5, -2], [np.nan, -0.0]], ml_dtypes.bfloat16)
    with open(tmp_path / "ours.npy", "wb") as file:
        write_array(file, array)
    np.save(tmp_path / "theirs.npy", array)
    (tmp_path / "bits.npy").write_bytes(npy(array.view(np.uint16)))
    for name in ("ours", "theirs"):
        loaded = np.load(tmp_path / f"{name}.npy").view(ml_dtypes.bfloat16)
        assert loaded.tobytes() == array.tobytes()
        (found,) = constants(tmp_path / f"{name}.npy", "x.npy", tmp_path / "p.page.json")
        assert (found["dtype"], found["constant"]["value"][0]) == ("bfloat16", [1.5, -2.0])
    bits = Folder(tmp_path, tmp_path).array("bits.npy", array.dtype, (2, 2))
    assert bits.tobytes() == array.tobytes()


def _pickled():
    file = io.BytesIO()
    np.save(file, np.array([{}], object), allow_pickle=True)
    return file.getvalue()


def bad_files():
    head = b"\x93NUMPY\x01\x00"
    huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 1000000000), }\n"
    yield "objects", _pickled()
    yield "structs", npy(np.zeros(2, [("a", "f4")]))
    yield "texts", npy(np.array(["a"]))
    yield "huge", head + len(huge).to_bytes(2, "little") + huge.encode()
    yield "cut off", npy(LARGE)[:-8]
    yield "no array", head + b"\xff\xff"
    yield "nothing", b""
    yield "text", b"hello"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "x.npy", head + len(huge).to_bytes(2, "little") + huge.encode() + b"\0" * 10**6
        )
    yield "bomb", file.getvalue()
    huge_tensor = {"x": {"dtype": "F32", "shape": [10**9, 10**9], "data_offsets": [0, 4 * 10**18]}}
    yield "huge tensor", safetensors(huge_tensor)
    yield "long header", (10**15).to_bytes(8, "little") + b"{"


BAD = dict(bad_files())


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_what_is_no_array_is_refused_before_memory_is_taken(tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(OpError, match="dropped"):
        constants(tmp_path / "x", "dropped", tmp_path / "p.page.json")
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def test_a_dropped_file_gives_constants_that_run(studio):
    page_file(studio.folder, "p", {"blocks": {}})
    tab = studio.tab()
    page = tab.open(path="p.page.json")["page"]
    address = f"/api/array?page={page}&name=weights.npy"
    status, body, _ = studio.post(address, npy(LARGE))
    assert json.loads(body)["arrays"][0]["constant"] is None  # whoever dropped it is asked
    assert not list(studio.folder.glob("*.arrays"))
    status, body, _ = studio.post(f"{address}&parts=%7B%7D", npy(LARGE))
    (found,) = json.loads(body)["arrays"]
    assert (status, found["name"]) == (200, "weights")
    block = {"op": "Const", "attrs": {"value": found["constant"]}}
    tab.change(page, {"path": ["blocks", "w"], "value": block})
    tab.send("subscribe", page=page, pins=["w:output"])
    assert "problem" not in tab.run(page)
    tab.send("save", page=page)
    tab.hear("saved")
    assert json.loads((studio.folder / "p.page.json").read_text())["blocks"]["w"] == block
    status, body, _ = studio.post(f"/api/array?page={page}&name=x.npy", b"hello")
    assert (status, b"x.npy" in body) == (422, True)
    assert studio.post("/api/array?page=99&name=x.npy", b"hello")[0] == 404


def test_arrays_dropped_on_a_page_without_a_file_come_along_when_it_is_saved(studio):
    tab = studio.tab()
    page = tab.open()["page"]
    _, body, _ = studio.post(f"/api/array?page={page}&name=w.npy&parts=%7B%7D", npy(LARGE))
    block = {"op": "Const", "attrs": {"value": json.loads(body)["arrays"][0]["constant"]}}
    tab.change(page, {"path": ["blocks", "w"], "value": block})
    assert "problem" not in tab.run(page)
    tab.send("save", page=page, path="deep/er/p.page.json")
    assert tab.hear("saved")
    tab.send("close", page=page)
    page = tab.open(path="deep/er/p.page.json")["page"]
    assert "problem" not in tab.run(page)


def test_a_zip_file_that_becomes_too_large_is_refused_by_its_sizes(studio):
    data = npz(**{name: np.zeros(12345) for name in "abcde"})
    said = zipfile.ZipFile(io.BytesIO(data)).infolist()[0].file_size.to_bytes(4, "little")
    data = data.replace(said, (1 << 30).to_bytes(4, "little"))
    tab = studio.tab()
    page = tab.open()["page"]
    tab.hear("checked")
    begun = time.monotonic()
    status, text, _ = studio.post(f"/api/array?page={page}&name=x.npz", data)
    assert time.monotonic() - begun < 5  # nothing was decompressed
    assert status == 422
    assert b"must hold at most 4096 MiB of arrays; got 5120.0 MiB, in a file of 0.5 MiB" in text
    assert not list(studio.folder.iterdir())


def test_a_zip_file_that_lies_about_its_sizes_gives_no_more_than_it_says(tmp_path, monkeypatch):
    monkeypatch.setattr(array_readers, "MAX_BYTES", 10_000)
    (tmp_path / "x").write_bytes(npz(a=np.zeros(500), b=np.zeros(500)))
    assert len(constants(tmp_path / "x", "x.npz", tmp_path / "p.page.json")) == 2
    honest = npz(x=np.zeros(5000))
    (tmp_path / "x").write_bytes(honest)
    with pytest.raises(OpError, match="must hold at most"):
        constants(tmp_path / "x", "x.npz", tmp_path / "p.page.json")
    said = zipfile.ZipFile(io.BytesIO(honest)).infolist()[0].file_size.to_bytes(4, "little")
    assert said in honest
    (tmp_path / "x").write_bytes(honest.replace(said, (200).to_bytes(4, "little")))
    with pytest.raises(OpError, match="The file is broken"):
        constants(tmp_path / "x", "x.npz", tmp_path / "p.page.json")


def test_the_arrays_of_a_file_are_counted_while_they_are_read(tmp_path, monkeypatch):
    """Where no size is said beforehand."""
    monkeypatch.setattr(array_readers, "MAX_BYTES", 10_000)
    monkeypatch.setattr(array_readers, "_refuse_inflated", lambda _: None)
    (tmp_path / "x").write_bytes(npz(a=np.zeros(1000), b=np.zeros(1000)))
    with pytest.raises(OpError, match=r"x.npz: must hold at most 0 MiB of arrays"):
        constants(tmp_path / "x", "x.npz", tmp_path / "p.page.json")


def test_npy_files_do_not_tell_small_types_apart(tmp_path):
    array = np.array([[1, -2], [3, -8]], ml_dtypes.int4)
    with open(tmp_path / "x.npy", "wb") as file:
        write_array(file, array)
    loaded = np.load(tmp_path / "x.npy").view(ml_dtypes.int4)
    assert loaded.tolist() == array.tolist()
    with pytest.raises(OpError, match="must hold numbers"):
        constants(tmp_path / "x.npy", "x.npy", tmp_path / "p.page.json")


def test_a_file_that_the_disk_has_no_room_for_is_refused_with_the_reason(studio):
    tab = studio.tab()
    page = tab.open()["page"]
    resource.prlimit(studio.process.pid, resource.RLIMIT_FSIZE, (4096, 4096))
    status, text, _ = studio.post(f"/api/array?page={page}&name=x.npy", bytes(100_000))
    assert status == 507
    assert b"cannot be kept" in text
    assert b"File too large" in text
    assert b"fault" not in text
