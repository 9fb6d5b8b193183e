"""Readers and files on arrays. All answers are those that TensorFlow 2.21 gave for the same files."""

import gzip
import os
import stat
import zlib

import numpy as np
import pytest

import backblocks as bb
from backblocks import ops

FILES = {
    "ten": b"0123456789",
    "empty": b"",
    "lines": b"a\nbb\r\n\nlast",
    "more lines": b"x\ny\n",
    "returns": b"a\rb\r\nc\r\r\nd",
    "zeros": b"a\0b\nc",
    "zlib": zlib.compress(b"0123456789"),
    "gzip": gzip.compress(b"0123456789"),
    "cut": gzip.compress(b"0123456789")[:-9],
}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def queue(*names):
    handle = ops.fifo_queue_v2(component_types=["string"])
    for name in names:
        ops.queue_enqueue_v2(handle, [name])
    return handle


def fixed(record, **how):
    return ops.fixed_length_record_reader_v2(record_bytes=record, **how)


def values(reader, names):
    """All records of a reader."""
    found = []
    while True:
        try:
            found.append(ops.reader_read_v2(reader, names))
        except bb.OpError as error:
            assert "at least 1 element" in str(error)  # noqa: PT017
            return [value.item().decode() for _, value in found], [key.item() for key, _ in found]


@pytest.mark.parametrize(
    ("how", "records"),
    [
        ({"record": 4}, "0123 4567"),
        ({"record": 5}, "01234 56789"),
        ({"record": 3, "header_bytes": 1}, "123 456 789"),
        ({"record": 3, "header_bytes": 1, "footer_bytes": 3}, "123 456"),
        ({"record": 3, "footer_bytes": 1}, "012 345 678"),
        ({"record": 2, "hop_bytes": 1}, "01 12 23 34 45 56 67 78 89"),
        ({"record": 2, "hop_bytes": 3}, "01 34 67"),
        ({"record": 2, "hop_bytes": 4, "footer_bytes": 2}, "01 45"),
        ({"record": 4, "hop_bytes": 3, "footer_bytes": 3}, "0123 3456"),
        ({"record": 20}, ""),
        ({"record": 1, "header_bytes": 10}, ""),
        ({"record": 1, "header_bytes": 5, "footer_bytes": 6}, ""),
        ({"record": 3, "footer_bytes": 12}, ""),
    ],
)
@pytest.mark.parametrize("packed", ["ten", "zlib", "gzip"])
def test_records_of_one_length(how, records, packed):
    encoding = "" if packed == "ten" else packed.upper()
    found, keys = values(fixed(**how, encoding=encoding), queue(packed))
    assert found == records.split()
    assert keys == [f"{packed}:{i}".encode() for i in range(len(found))]


@pytest.mark.parametrize(
    ("count", "steps"),
    [
        (2, [(2, 2, 0), (2, 4, 0), (1, 5, 1), (2, 7, 1), (2, 9, 1), (1, 10, 2)]),
        (3, [(3, 3, 0), (2, 5, 1), (3, 8, 1), (2, 10, 2)]),
        (5, [(5, 5, 0), (5, 10, 1)]),
    ],
)
def test_several_records_end_where_a_file_does(count, steps):
    reader, names = fixed(2), queue("ten", "ten")
    for records, produced, finished in steps:
        keys, found = ops.reader_read_up_to_v2(reader, names, count)
        assert len(keys) == len(found) == records
        assert ops.reader_num_records_produced_v2(reader) == produced
        assert ops.reader_num_work_units_completed_v2(reader) == finished
    with pytest.raises(bb.OpError, match="at least 1 element"):
        ops.reader_read_up_to_v2(reader, names, count)


def test_empty_files_are_passed_over():
    reader = fixed(5)
    keys, _ = ops.reader_read_up_to_v2(reader, queue("empty", "ten", "empty"), 3)
    assert keys.tolist() == [b"ten:0", b"ten:1"]
    assert ops.reader_num_work_units_completed_v2(reader) == 2


def test_a_reset_forgets_the_file():
    reader, names = fixed(2), queue("ten", "ten")
    ops.reader_read_v2(reader, names)
    ops.reader_reset_v2(reader)
    assert ops.reader_read_v2(reader, names).key == b"ten:0"
    assert ops.reader_num_records_produced_v2(reader) == 1


@pytest.mark.parametrize(
    ("skipped", "names", "found", "keys"),
    [
        (0, ["lines"], ["a", "bb", "", "last"], [1, 2, 3, 4]),
        (0, ["returns"], ["a\rb", "c\r", "d"], [1, 2, 3]),
        (0, ["zeros"], ["a\0b", "c"], [1, 2]),
        (1, ["lines", "more lines"], ["bb", "", "last", "y"], [2, 3, 4, 2]),
        (9, ["lines", "more lines", "empty"], [], []),
    ],
)
def test_lines(skipped, names, found, keys):
    got = values(ops.text_line_reader_v2(skip_header_lines=skipped), queue(*names))
    assert got[0] == found
    assert [int(key.split(b":")[1]) for key in got[1]] == keys


def test_several_lines():
    reader, names = ops.text_line_reader_v2(), queue("lines", "more lines")
    got = [ops.reader_read_up_to_v2(reader, names, 3).values.tolist() for _ in range(3)]
    assert got == [[b"a", b"bb", b""], [b"last"], [b"x", b"y"]]


def test_whole_files():
    reader, names = ops.whole_file_reader_v2(), queue("ten", "empty")
    assert [x.tolist() for x in ops.reader_read_up_to_v2(reader, names, 5)] == [
        [b"ten"],
        [FILES["ten"]],
    ]
    assert ops.reader_read_v2(reader, names) == (b"empty", b"")
    assert ops.reader_num_work_units_completed_v2(reader) == 2


@pytest.mark.parametrize(
    ("reader", "name", "error"),
    [
        (fixed(1), "nothing", "No such file"),
        (fixed(1), ".", "a plain file"),
        (fixed(1), "/dev/zero", "a plain file"),
        (fixed(1, header_bytes=11), "ten", "longer than its header; got 10"),
        (fixed(1, encoding="GZIP"), "ten", "packed with zlib or gzip"),
        (fixed(1, encoding="GZIP"), "cut", "ends too early"),
        (fixed(1), ["ten", "ten"], "one name in each element"),
    ],
)
def test_what_cannot_be_read_is_said(reader, name, error):
    with pytest.raises(bb.OpError, match=error) as caught:
        ops.reader_read_v2(reader, queue(name))
    assert caught.value.arg == "queue_handle"


def test_a_pipe_does_not_keep_us_waiting():
    os.mkfifo("pipe")
    with pytest.raises(bb.OpError, match="a plain file"):
        ops.read_file("pipe")


# -- whole files --------------------------------------------------------------------------------


def test_a_file_is_written_and_read(files):
    assert ops.write_file("new/sub/file", b"a\0b") is None
    assert ops.read_file("new/sub/file") == b"a\0b"
    ops.write_file("new/sub/file", b"again")
    assert (files / "new/sub/file").read_bytes() == b"again"
    assert os.listdir("new/sub") == ["file"], "nothing is left behind"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(os.stat("new/sub/file").st_mode) == 0o666 & ~umask


def test_the_old_file_stays_until_the_new_one_is_whole(monkeypatch):
    ops.write_file("kept", b"old")

    def broken(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(bb.OpError, match=r"WriteFile\.filename: .* No space left"):
        ops.write_file("kept", b"new")
    assert ops.read_file("kept") == b"old"
    assert not [name for name in os.listdir() if name.startswith(".kept")]


@pytest.mark.parametrize("name", ["ten/x", "", "a\0b", "a" * 5000])
def test_names_of_no_file_are_refused(name):
    with pytest.raises(bb.OpError, match=r"WriteFile\.filename"):
        ops.write_file(name, b"")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("m/*", "m/.hid m/A3 m/[x] m/a1 m/a2 m/b1 m/sub"),
        ("m/a?", "m/a1 m/a2"),
        ("m/[ab]1", "m/a1 m/b1"),
        ("m/[a-b]1", "m/a1 m/b1"),
        ("m/[b-a]1", ""),
        ("m/a[!1]", "m/a2"),
        ("m/a[^1]", "m/a2"),
        ("m/a[]1]", "m/a1"),
        ("m/{a1,b1}", ""),
        ("m/*/a1", "m/sub/a1"),
        ("m/**", "m/.hid m/A3 m/[x] m/a1 m/a2 m/b1 m/sub"),
        ("m/.*", "m/.hid"),
        ("m/\\[x\\]", "m/[x]"),
        ("m/[x]", ""),
        ("m/[a", ""),
        ("m/none", ""),
        ("m", "m"),
        ("./m/a1", "./m/a1"),
        ("m//a1", "m//a1"),
        ("*/a1", "./m/a1"),
        ("t*", "./ten"),
        (["m/a*", "m/a1"], "m/a1 m/a1 m/a2"),
        ("", ""),
    ],
)
def test_files_are_found_by_pattern(pattern, found):
    os.makedirs("m/sub")
    for name in ("a1", "a2", "b1", ".hid", "sub/a1", "[x]", "A3"):
        ops.write_file(f"m/{name}", b"")
    assert [name.decode() for name in ops.matching_files(pattern)] == found.split()


def test_no_pattern_takes_for_ever():
    ops.write_file("a" * 200, b"")
    assert ops.matching_files("*a" * 40 + "*b").size == 0
    assert ops.matching_files(np.zeros(0, object)).shape == (0,)
