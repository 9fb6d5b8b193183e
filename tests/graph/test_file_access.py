"""Files in sessions: asked for before a run starts, found in the folder of the page, and not outside it."""

import numpy as np
import pytest

import backblocks as bb

ops = bb.ops


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "page").mkdir()
    (tmp_path / "page/inside").write_bytes(b"inside")
    (tmp_path / "outside").write_bytes(b"outside")
    (tmp_path / "page/link").symlink_to(tmp_path / "outside")
    (tmp_path / "page/near").symlink_to("inside")
    return tmp_path / "page"


@pytest.fixture
def page():
    with bb.Scope() as page:
        name = bb.placeholder([], "string", name="name")
        ops.read_file(name, name="read")
        ops.write_file(name, b"new", name="write")
        reader = ops.text_line_reader_v2(name="lines")
        names = ops.fifo_queue_v2(component_types=["string"], name="names")
        ops.queue_enqueue_v2(names, [name], name="put")
        ops.reader_read_v2(reader, names, name="line")
    return page


def read(session, name):
    return session.run("read", {"name": name})


def test_a_page_lists_what_touches_files(page):
    listed = [(block.name, block.op.files) for block in page.graph.touching_files()]
    assert listed == [("read", "reads"), ("write", "writes"), ("lines", "reads")]


def test_without_a_yes_nothing_starts(page, folder):
    session, seen = bb.Session(page, folder=folder), []
    session.subscribe(seen.append)
    with pytest.raises(bb.OpError, match=r"allowed to touch files; got read \(ReadFile reads\)"):
        read(session, "inside")
    with pytest.raises(bb.OpError, match=r"got lines \(TextLineReaderV2 reads\)"):
        session.run("line:value", {"name": "inside"}, ["put"])
    with pytest.raises(bb.OpError, match=r"got write \(WriteFile writes\)"):
        session.run([], {"name": "inside"}, ["write"])
    assert not seen
    assert (folder / "inside").read_bytes() == b"inside"


def test_names_begin_in_the_folder_of_the_page(page, folder, monkeypatch):
    monkeypatch.chdir("/")
    session = bb.Session(page, folder=folder, allow_files=True)
    assert read(session, "inside") == b"inside"
    assert read(session, "near") == b"inside"
    assert read(session, str(folder / "inside")) == b"inside"
    session.run([], {"name": "sub/file"}, ["write"])
    assert (folder / "sub/file").read_bytes() == b"new"
    assert session.run("line:value", {"name": "inside"}, ["put"]) == b"inside"


@pytest.mark.parametrize("name", ["../outside", "link", "/etc/hosts", "sub/../../outside", ".."])
def test_names_do_not_lead_out_of_it(page, folder, name):
    session = bb.Session(page, folder=folder, allow_files=True)
    for block in ("read", "write"):
        with pytest.raises(bb.OpError, match=f'block "{block}": .* must name a file in '):
            session.run([], {"name": name}, [block])
    with pytest.raises(bb.OpError, match=r'block "line": .* must name a file in '):
        session.run("line:key", {"name": name}, ["put"])
    assert (folder.parent / "outside").read_bytes() == b"outside"


def test_all_files_can_be_allowed(page, folder):
    session = bb.Session(page, folder=folder, allow_files="anywhere")
    assert read(session, "../outside") == b"outside"
    assert read(session, "link") == b"outside"


def test_a_graph_made_in_python_needs_no_yes(page, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert read(bb.Session(page), "inside") == b"inside"
    with pytest.raises(bb.OpError, match="allowed to touch files"):
        read(bb.Session(page, allow_files=False), "inside")


def test_initial_values_are_no_way_around(folder):
    with bb.Scope() as page:
        v = bb.variable(ops.read_file("../outside", name="read"))
    with pytest.raises(bb.OpError, match=r"allowed to touch files; got read"):
        bb.Session(page, folder=folder).run(v)
    with pytest.raises(bb.OpError, match="must name a file in"):
        bb.Session(page, folder=folder, allow_files=True).run(v)


def test_what_is_read_is_not_remembered(page, folder):
    session = bb.Session(page, folder=folder, allow_files=True)
    for content in (b"one", b"two"):
        (folder / "inside").write_bytes(content)
        assert read(session, "inside") == content


def test_a_reader_goes_on_in_the_next_run_and_stays_when_a_run_fails(folder):
    (folder / "data").write_bytes(bytes(range(6)))
    with bb.Scope() as page:
        names = ops.fifo_queue_v2(component_types=["string"])
        reader = ops.fixed_length_record_reader_v2(record_bytes=2)
        rows = ops.reader_read_up_to_v2(reader, names, 1).values
        numbers = ops.decode_raw(rows, out_type="uint8")
        empty = ops.equal(ops.queue_size_v2(names), 0)
        name = ops.switch("data", empty).output_true
        put = ops.queue_enqueue_v2(names, [name])
        sizes = bb.placeholder([1], "int32", name="sizes")
        shaped = ops.reshape(numbers, sizes)
    session = bb.Session(page, folder=folder, allow_files=True)
    for first in (0, 2):
        np.testing.assert_array_equal(session.run(numbers, targets=[put]), [[first, first + 1]])
    with pytest.raises(bb.OpError, match="Reshape"):
        session.run(shaped, {sizes: [5]}, [put])
    for first in (4, 0, 2):
        np.testing.assert_array_equal(session.run(numbers, targets=[put]), [[first, first + 1]])


def test_variables_are_saved_and_restored(folder):
    with bb.Scope() as page:
        w = bb.variable(np.array([1.0, 2]), name="w")
        step = ops.assign_add(w, np.ones(2), name="step")
        with page.running_after(step):
            ops.save("run/state", ["w"], [w], name="keep")
        kept = ops.restore("run/state", "w", dt="float64")
        ops.assign(w, kept, name="back")
    session = bb.Session(page, folder=folder, allow_files=True)
    session.run([], targets=["keep"])
    session.run([], targets=["step"])
    np.testing.assert_array_equal(session.value("w"), [3, 4])
    session.run([], targets=["back"])
    np.testing.assert_array_equal(session.value("w"), [2, 3])
    other = bb.Session(page, folder=folder, allow_files=True)
    np.testing.assert_array_equal(other.run("back"), [2, 3])
