"""The file of a page: nothing is lost, nothing is moved, and nothing is believed."""

import contextlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import page_strategies
import pytest
from hypothesis import given
from hypothesis import strategies as st

import backblocks as bb
from backblocks.dtypes import BY_NAME, FROM_ML_DTYPES
from backblocks.pages.constants import TYPES, array_to_json, parse_constant
from backblocks.pages.folder import Folder
from backblocks.pages.model import FORMAT, PageBlock
from backblocks.pages.page import Page
from backblocks.pages.references import references
from backblocks.pages.serialization import MAX_PAGE_BYTES, parse, serialize

VERSIONS = Path(__file__).parent / "versions"


def page_of(text):
    return parse(text.encode() if isinstance(text, str) else text, Page)


# -- what is written is read --------------------------------------------------------------------


@page_strategies.unhurried
@given(page_strategies.pages())
def test_a_page_that_is_read_and_written_again_is_the_same_bytes(page):
    text = serialize(page)
    assert serialize(page_of(text)) == text
    assert page_of(text) == page


@page_strategies.unhurried
@given(page_strategies.pages(), st.data())
def test_one_edit_of_an_attribute_changes_at_most_three_lines(page, data):
    page.blocks["last"] = PageBlock("AddV2", attrs={"a": 1})
    before = serialize(page).decode().split("\n")
    block = page.blocks[data.draw(st.sampled_from(sorted(page.blocks)))]
    attribute = data.draw(st.sampled_from([*block.attrs, "new"]))
    block.attrs[attribute] = data.draw(page_strategies.json_values)
    after = serialize(page).decode().split("\n")
    assert len(after) == len(before)
    assert sum(a != b for a, b in zip(before, after, strict=True)) <= 3


def test_a_file_that_is_laid_out_otherwise_is_laid_out_by_lines_when_an_edit_is_saved(tmp_path):
    path = tmp_path / "a.page.json"
    blocks = {name: {"op": "Cast", "attrs": {"DstT": "int32"}} for name in "ab"}
    path.write_text(json.dumps({"format": 1, "blocks": blocks}, indent=7))
    texts = [path.read_text()]
    for dtype in (None, "int8", "int16"):
        page = bb.open_page(path)
        if dtype is not None:
            page.blocks["b"].attrs["DstT"] = dtype
        bb.save_page(page, path)
        texts.append(path.read_text())
    assert texts[1] == texts[0]
    assert texts[2] == serialize(page_of(texts[2])).decode() != texts[0]
    lines = zip(texts[2].split("\n"), texts[3].split("\n"), strict=True)
    assert sum(a != b for a, b in lines) == 1


@page_strategies.unhurried
@given(page_strategies.pages(), st.integers(-99, 99))
def test_moving_a_block_changes_no_line_of_logic(page, x):
    page.blocks["last"] = PageBlock("AddV2")
    page.layout.blocks["last"] = [1000, 0]
    before = serialize(page).decode()
    page.layout.blocks["last"] = [x, 0]
    after = serialize(page).decode()
    at = before.index('\n  "layout": {\n')
    assert after[:at] == before[:at]
    assert after != before


@page_strategies.unhurried
@given(page_strategies.arrays())
def test_constants_are_the_same_bits_after_writing_and_reading(array):
    words = array_to_json(array)
    read = parse_constant(
        json.loads(json.dumps(words)) if isinstance(words, dict) else words, Folder()
    )
    assert read.dtype == array.dtype
    assert read.shape == array.shape
    if array.dtype.kind == "O":
        assert read.tolist() == array.tolist()
    else:
        assert read.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (
            np.float32([0.1, np.inf, -np.inf, np.nan, -0.0, 2]),
            '[0.1, "inf", "-inf", "nan", -0.0, 2]',
        ),
        (np.float32([3.4028235e38, 1e-45, 16777217]), "[3.4028235e+38, 1e-45, 16777216]"),
        (np.array([0.1, 1 / 3], ml_dtypes.bfloat16), "[0.1, 0.334]"),
        (np.array([0.1, 448], ml_dtypes.float8_e4m3fn), "[0.1, 448]"),
        (np.array([0.1, -np.inf, -0.0], ml_dtypes.float8_e5m2), '[0.09, "-inf", -0.0]'),
        (np.array([-8, 7], ml_dtypes.int4), "[-8, 7]"),
        (np.array(3, ml_dtypes.uint2), "3"),
        (np.float16(1 / 3), "0.3333"),
        (np.float64([0.1 + 0.2, 1e300]), "[0.30000000000000004, 1e+300]"),
        (np.int64([2**63 - 1, -(2**63), 5]), '["9223372036854775807", "-9223372036854775808", 5]'),
        (np.uint64(2**64 - 1), '"18446744073709551615"'),
        (np.complex64([1 - 2j, complex("nan-infj")]), '["1-2j", "nan-infj"]'),
        (np.array([True, False]), "[true, false]"),
        (np.array([b"abc", "한".encode(), b"\xff"], object), '["abc", "한", {"base64": "/w=="}]'),
        (np.array(b"", object), '""'),
    ],
)
def test_constants_read_well(array, text):
    words = array_to_json(np.asarray(array))
    assert json.dumps(words["value"], ensure_ascii=False) == text
    np.testing.assert_array_equal(parse_constant(words, Folder()), array)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int4", 8),
        ("int4", -9),
        ("uint4", -1),
        ("int2", 2),
        ("uint2", 4),
        ("int4", 300),
        ("int4", 0.5),
    ]
    + [("float8_e5m2", 1e6), ("float8_e4m3fn", 1e6), ("float8_e4m3fn", "inf")],
)
def test_small_types_refuse_what_they_do_not_have(dtype, value):
    with pytest.raises(bb.OpError, match=f"must have elements of {dtype}"):
        parse_constant({"dtype": dtype, "value": [0, value]}, Folder())
    if value != "inf":
        with pytest.raises(bb.OpError, match=f"must fit in {dtype}"):
            bb.constant([0, value], dtype)


def test_texts_in_other_languages_are_kept_beside_the_plain_ones():
    text = (
        '{"format": 1, "title": "Ties", "titles": {"ko": "동점"}, "about": "Two.", "abouts": {"ko": "둘."},'
        ' "notes": {"what": {"text": "One wins.", "texts": {"ko": "하나가 이깁니다."}}}}'
    )
    page = page_of(text)
    assert (page.titles, page.abouts) == ({"ko": "동점"}, {"ko": "둘."})
    assert page.notes["what"].texts == {"ko": "하나가 이깁니다."}
    assert page_of(serialize(page)) == page
    with pytest.raises(bb.OpError, match="texts"):
        page_of('{"format": 1, "notes": {"what": {"text": "One", "texts": {"ko": 1}}}}')


def test_every_type_has_words():
    for name, dtype in TYPES.items():
        words = array_to_json(np.zeros((0, 3), dtype))
        assert words == {"dtype": name, "shape": [0, 3], "value": []}
        assert parse_constant(words, Folder()).shape == (0, 3)


def test_a_file_that_a_person_wrote_stays_as_it_was(tmp_path):
    text = b'{"blocks": {"a":   {"op": "NewOp", "colour": "red"}},\n\n "format": 1}'
    file = tmp_path / "a.page.json"
    file.write_bytes(text)
    page = bb.open_page(file)
    bb.save_page(page, file)
    assert file.read_bytes() == text
    page.blocks["a"].attrs["k"] = 1
    bb.save_page(page, file)
    assert file.read_text() == (
        '{\n  "format": 1,\n  "blocks": {\n'
        '    "a": {"op": "NewOp", "attrs": {"k": 1}, "colour": "red"}\n  }\n}\n'
    )


# -- arrays in files ------------------------------------------------------------------------------


def large(*numbers):
    return np.concatenate([np.float32(numbers), np.zeros(300, np.float32)])


def holding(value):
    return Page(blocks={"w": PageBlock("Const", attrs={"value": value})})


def held(file):
    return bb.open_page(file).graph()["w"].attrs["value"]


@pytest.mark.parametrize("name", FROM_ML_DTYPES)
def test_large_arrays_stand_beside_the_page(tmp_path, name):
    file = tmp_path / "net.page.json"
    unnamed = large(1).astype(np.uint8).astype(BY_NAME[name])  # npy files have no name for the type
    with bb.Scope() as scope:
        bb.constant(large(1), name="w")
        bb.constant(unnamed, name="v")
    bb.save_page(scope, file)
    blocks = json.loads(file.read_text())["blocks"]
    assert blocks["w"]["attrs"]["value"].keys() == {"dtype", "shape", "file"}
    named = {blocks[name]["attrs"]["value"]["file"] for name in "wv"}
    assert named == {f"net.arrays/{name}" for name in os.listdir(tmp_path / "net.arrays")}
    graph = bb.open_page(file).graph()
    np.testing.assert_array_equal(graph["w"].attrs["value"], large(1))
    np.testing.assert_array_equal(graph["v"].attrs["value"], unnamed)
    before = file.read_bytes()
    bb.save_page(bb.open_page(file), file)
    assert file.read_bytes() == before


def test_arrays_come_along_when_a_page_moves(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    bb.save_page(holding(large(1)), tmp_path / "old" / "a.page.json")
    bb.save_page(bb.open_page(tmp_path / "old" / "a.page.json"), tmp_path / "new" / "b.page.json")
    np.testing.assert_array_equal(held(tmp_path / "new" / "b.page.json"), large(1))
    assert os.listdir(tmp_path / "new" / "b.arrays") == os.listdir(tmp_path / "old" / "a.arrays")


def test_arrays_that_no_page_names_any_more_are_removed(tmp_path):
    first, copy = tmp_path / "first.page.json", tmp_path / "copy.page.json"
    bb.save_page(holding(large(1)), first)
    page = bb.open_page(first)
    bb.save_page(page, copy)
    for number in (2, 3):
        page.blocks["w"].attrs["value"] = large(number)
        bb.save_page(page, copy)
    np.testing.assert_array_equal(held(first), large(1))
    np.testing.assert_array_equal(held(copy), large(3))
    assert len(os.listdir(tmp_path / "first.arrays")) == 1
    assert len(os.listdir(tmp_path / "copy.arrays")) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda file: file.write_bytes(file.read_bytes()[:-4]), "whole file"),
        (lambda file: file.write_bytes(b"PK\x03\x04"), "file of one array"),
        (lambda file: file.unlink(), "must exist"),
        (lambda file: np.save(file, np.zeros(300)), "must hold float32"),
        (
            lambda file: np.save(file, np.array([{}], object), allow_pickle=True),
            "must hold float32",
        ),
        (lambda file: (file.unlink(), file.mkdir()), "plain file"),
        (lambda file: (file.unlink(), os.mkfifo(file)), "plain file"),
        (lambda file: (file.unlink(), file.symlink_to("/etc/hostname")), "below the folder"),
    ],
)
def test_files_of_arrays_are_not_believed(tmp_path, change, words):
    bb.save_page(holding(large(1)), tmp_path / "a.page.json")
    change(next((tmp_path / "a.arrays").iterdir()))
    (problem,) = bb.open_page(tmp_path / "a.page.json").check()
    assert (problem.block, problem.arg) == ("w", "value")
    assert words in str(problem)


def test_a_file_cannot_claim_more_than_it_holds(tmp_path):
    with open(tmp_path / "huge.npy", "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (2**33,)}
        np.lib.format.write_array_header_1_0(file, header)
    page = holding({"dtype": "float32", "file": "huge.npy"})
    page.path = tmp_path / "a.page.json"
    assert "whole file" in str(page.check()[0])


@pytest.mark.parametrize(
    "name",
    ["../secret.npy", "/etc/passwd", "a/../../x.npy", "", "a\0b", "C:\\x.npy", "..", 5, None],
)
def test_files_outside_the_folder_are_out_of_reach(tmp_path, name):
    page = holding({"dtype": "float32", "file": name})
    page.path = tmp_path / "a.page.json"
    assert "must be a path below the folder" in str(page.check()[0])


# -- what cannot be a page ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be JSON"),
        ("[]", "must say the version"),
        ("{}", "must say the version"),
        ('{"format": 99}', "Install a later backblocks"),
        (f'{{"format": {FORMAT + 1}}}', "Install a later backblocks"),
        ('{"format": true}', "must say the version"),
        ('{"format": 1, "blocks": []}', "Page.blocks: must be an object; got a list"),
        ('{"format": 1, "blocks": {"a": {"op": 5}}}', "Page.blocks.a.op: must be text; got 5"),
        ('{"format": 1, "blocks": {"a": {}}}', "Page.blocks.a.op: must be given"),
        (
            '{"format": 1, "blocks": {"a": {"op": "Relu", "version": 0}}}',
            "Page.blocks.a.version: must be from 1 to 2^53; got 0",
        ),
        ('{"format": 1, "run": {"steps": -1}}', "Page.run.steps: must be from 0 to 2^53; got -1"),
        (
            '{"format": 1, "run": {"steps": 9007199254740993}}',
            "Page.run.steps: must be from 0 to 2^53; got 9007199254740993",
        ),
        ('{"format": 1, "run": {"steps": true}}', "Page.run.steps: must be a whole number"),
        ('{"format": 1, "run": {"steps": 1.5}}', "Page.run.steps: must be a whole number; got 1.5"),
        (
            '{"format": 1, "layout": {"blocks": {"a": ["x"]}}}',
            "Page.layout.blocks.a: must be a number",
        ),
        ('{"format": 1, "title": "a", "title": "b"}', "two entries with the name 'title'"),
        ('{"format": 1, "x": NaN}', "NaN, which JSON has no number for"),
        ('{"format": 1, "x": 1e999}', "too large"),
        ('{"format": 1, "x": ' + "9" * 5000 + "}", "got a number of more than 4300 digits"),
        ('{"format": 1, "x": ' + "[" * 100_000, "nested so deeply"),
        ('{"format": 1, "x": "\\ud800"}', r"got half of a surrogate pair, \ud800"),
        (b'{"format": 1, "title": "\xff"}', "UTF-8"),
        ('{"format": 1,\n "blocks": }', "in line 2, column 12"),
    ],
)
def test_what_is_no_page_is_refused_with_the_place(text, words):
    with pytest.raises(bb.OpError) as error:
        page_of(text)
    assert words in str(error.value)


def test_numbers_at_the_ends_of_their_ranges_are_read():
    page = page_of(
        '{"format": 1, "blocks": {"a": {"op": "Relu", "version": 1}}, "run": {"steps": 0}}'
    )
    assert (page.blocks["a"].version, page.run.steps) == (1, 0)
    assert page_of('{"format": 1, "run": {"steps": 9007199254740992}}').run.steps == 2**53


@page_strategies.unhurried
@given(st.binary(max_size=200) | page_strategies.json_values)
def test_any_bytes_are_a_page_or_an_error_of_ours(data):
    if not isinstance(data, bytes):
        data = json.dumps({"format": 1, "blocks": data}).encode()
    with contextlib.suppress(bb.OpError):
        assert all(isinstance(problem, bb.OpError) for problem in page_of(data).check())


@page_strategies.unhurried
@given(page_strategies.pages())
def test_any_page_can_be_checked(page):
    for problem in page.check():
        assert str(problem).startswith(("block ", "Page."))


def test_what_is_no_file_of_a_page_is_not_read(tmp_path):
    with open(tmp_path / "a.page.json", "wb") as file:
        file.truncate(MAX_PAGE_BYTES + 1)
    with pytest.raises(bb.OpError, match="at most 64 MiB"):
        bb.open_page(tmp_path / "a.page.json")
    with pytest.raises(bb.OpError, match="cannot be opened"):
        bb.open_page(tmp_path / "none.page.json")
    with pytest.raises(bb.OpError, match="plain file"):
        bb.open_page(tmp_path)


@pytest.mark.parametrize("file", sorted(VERSIONS.glob("*.page.json")), ids=lambda file: file.name)
def test_files_of_every_version_open(file):
    page = bb.open_page(file)
    assert page.format == FORMAT
    assert page.check() == []


def test_strings_are_file_names_only_where_a_block_reads_files(tmp_path):
    name = {"op": "Const", "attrs": {"value": {"dtype": "string", "value": "notes.txt"}}}
    page = page_of(json.dumps({"format": 1, "blocks": {"name": name}}))
    page.path = tmp_path.resolve() / "a.page.json"
    assert references(page) == {}
    page.blocks["read"] = PageBlock("ReadFile", inputs={"filename": "name"})
    assert references(page) == {"notes.txt": tmp_path.resolve() / "notes.txt"}


def test_there_is_a_file_of_every_version():
    assert sorted(VERSIONS.glob("*.page.json")) == [
        VERSIONS / f"{version}.page.json" for version in range(1, FORMAT + 1)
    ]


# -- saving ---------------------------------------------------------------------------------------


SAVES_AND_WAITS = """
import os, sys
import numpy as np
import backblocks as bb
from backblocks.pages.model import PageBlock
from backblocks.pages.page import Page
replace = os.replace

def wait_and_replace(new, path):
    if str(path).endswith(sys.argv[2]):
        print("waits", flush=True)
        sys.stdin.readline()
    replace(new, path)

os.replace = wait_and_replace
page = Page(title="theirs")
page.blocks["a"] = PageBlock("Const", attrs={"value": np.zeros(999)})
bb.save_page(page, sys.argv[1])
print("saved", flush=True)
"""


@pytest.mark.parametrize("where", [".page.json", ".npy"])
def test_temporary_files_of_killed_saves_are_swept_and_those_of_running_ones_are_not(
    tmp_path, where
):
    path = tmp_path / "p.page.json"
    command = [sys.executable, "-c", SAVES_AND_WAITS, str(path), where]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with contextlib.ExitStack() as stack:
        saves = [stack.enter_context(subprocess.Popen(command, **pipes)) for _ in range(3)]  # noqa: S603
        stack.callback(lambda: [each.kill() for each in saves])
        for each in saves:
            assert each.stdout.readline() == "waits\n"
        assert len(temporary(tmp_path)) == 3
        for each in saves[:2]:
            each.kill()
            each.wait()
        other = subprocess.run(  # noqa: S603
            [*command[:-1], "nowhere"], capture_output=True, text=True, check=True
        )
        assert other.stdout == "saved\n"
        assert len(temporary(tmp_path)) == 1, "that of the save that still runs"
        assert saves[2].communicate("\n")[0] == "saved\n"
    assert temporary(tmp_path) == []
    assert bb.open_page(path).title == "theirs"


def temporary(folder):
    return [each for each in folder.rglob(".*") if each.is_file()]


def test_saving_keeps_rights_and_links(tmp_path):
    real, link = tmp_path / "real.page.json", tmp_path / "link.page.json"
    bb.save_page(Page(title="a"), real)
    real.chmod(0o640)
    link.symlink_to(real)
    bb.save_page(Page(title="b"), link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert bb.open_page(link).title == "b"


def referring(folder):
    """A page with a part in a folder of its own, arrays of both, and a file that a block reads."""
    (folder / "parts").mkdir(parents=True)
    for name, number in (("x.npy", 1), ("parts/y.npy", 2)):
        np.save(folder / name, np.full(300, number, np.float32))
    (folder / "words.txt").write_text("hello")
    array = {"dtype": "float32", "shape": [300]}
    part = {
        "format": 1,
        "blocks": {
            "x": {"op": "Const", "attrs": {"value": {**array, "file": "../x.npy"}}},
            "y": {"op": "Const", "attrs": {"value": {**array, "file": "y.npy"}}},
            "z": {"op": "Mul", "in": {"x": "x", "y": "y"}},
        },
        "ports": {"outputs": {"z": {"pin": "z", "dtype": "float32"}}},
    }
    (folder / "parts/part.page.json").write_text(json.dumps(part))
    blocks = {
        "part": {"op": "page", "attrs": {"page": "parts/part.page.json"}},
        "read": {"op": "ReadFile", "in": {"filename": {"dtype": "string", "value": "words.txt"}}},
        "own": {"op": "Const", "attrs": {"value": {**array, "file": "x.npy"}}},
    }
    (folder / "a.page.json").write_text(json.dumps({"format": 1, "blocks": blocks}))
    return bb.open_page(folder / "a.page.json")


def test_a_page_that_is_saved_elsewhere_takes_along_what_it_refers_to(tmp_path):
    page = referring(tmp_path / "old")
    new = tmp_path / "new"
    new.mkdir()
    bb.save_page(page, new / "b.page.json")
    (tmp_path / "old").rename(tmp_path / "gone")
    again = bb.open_page(new / "b.page.json")
    assert again.check() == []
    values = again.session(allow_files=True).run(["part", "read", "own"])
    assert [value.reshape(-1)[0] for value in values] == [2, b"hello", 1]


def test_a_page_that_is_saved_elsewhere_overwrites_no_other_file(tmp_path):
    page = referring(tmp_path / "old")
    (tmp_path / "new").mkdir()
    (tmp_path / "new/words.txt").write_text("mine")
    with pytest.raises(bb.OpError, match=r"must leave room for the files .* got '.*words.txt'"):
        bb.save_page(page, tmp_path / "new/a.page.json")
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["words.txt"]
    (tmp_path / "new/words.txt").write_text("hello")
    bb.save_page(page, tmp_path / "new/a.page.json")
    assert bb.open_page(tmp_path / "new/a.page.json").check() == []


def test_what_is_no_plain_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no plain file"):
        bb.save_page(Page(), tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


KILL_SAVERS = """
import itertools, os, random, signal, sys, time
import numpy as np
import backblocks as bb

def save_for_ever(file):
    for number in itertools.count():
        page = bb.open_page(file)
        page.title = str(number)
        page.blocks["w"].attrs["value"] = np.full(20_000, number, np.float32)
        bb.save_page(page, file)

chance, seen = random.Random(1), set()
for _ in range(20):
    saver = os.fork()
    if not saver:
        save_for_ever(sys.argv[1])
    time.sleep(chance.uniform(0.01, 0.1))
    os.kill(saver, signal.SIGKILL)
    os.waitpid(saver, 0)
    page = bb.open_page(sys.argv[1])
    (value,) = set(page.graph()["w"].attrs["value"].tolist())
    assert value == float(page.title), (value, page.title)
    seen.add(value)
print(len(seen))
"""


def test_a_process_killed_while_it_saves_leaves_the_old_file_or_the_new(tmp_path):
    page = holding(large(0))
    page.title = "0"
    bb.save_page(page, tmp_path / "a.page.json")
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", KILL_SAVERS, tmp_path / "a.page.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1, "it was killed before it could save anything"


@pytest.mark.parametrize(
    ("shape", "rule"),
    [
        ((0, 2**40, 2**40), "can be counted"),
        ((1,) * 33, "at most 32 dimensions"),
        ((1,) * 65, "at most 32 dimensions"),
    ],
    ids=["too many elements", "33 axes", "65 axes"],
)
def test_files_of_shapes_that_no_array_has_are_refused_at_the_block(shape, rule, tmp_path):
    with open(tmp_path / "x.npy", "wb") as file:
        described = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, described)
        file.write(bytes(4 * all(shape)))
    page = holding({"dtype": "float32", "file": "x.npy"})
    page.path = tmp_path / "a.page.json"
    (problem,) = page.check()
    assert (problem.block, problem.arg) == ("w", "value")
    assert rule in str(problem)
