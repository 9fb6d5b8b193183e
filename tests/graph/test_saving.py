"""Variables in files: what is written is what is read, or nothing changes."""

import copy
import pickle

import numpy as np
import pytest

import backblocks as bb

ops = bb.ops


def page(width=2, dtype="float32"):
    with bb.Scope() as scope:
        w = bb.variable(np.arange(width).astype(dtype), name="w")
        with scope.child("layer"):
            b = bb.variable(np.float64(5), name="b")
        ops.assign_add(w, np.ones(width, dtype), name="grow")
        ops.assign_add(b, np.float64(1), name="count")
        ops.random_uniform([3], dtype="float32", name="chance")
    return scope


def test_a_file_is_not_saved_under_the_name_of_another_format(tmp_path):
    with pytest.raises(bb.OpError, match=r"Session\.path: .* Let its name end in \.safetensors"):
        bb.Session(page()).save(tmp_path / "v.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("carry", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_session_says_why_it_cannot_be_pickled(carry):
    with pytest.raises(bb.OpError, match=r"Session: cannot be pickled .* session\.save\("):
        carry(bb.Session(page()))
    assert bb.Session(pickle.loads(pickle.dumps(page()))).value("w").shape == (2,)  # noqa: S301


def test_variables_and_chance_go_on_where_they_were_saved(tmp_path):
    first = bb.Session(page(), seed=7)
    first.run("chance", targets=["grow", "count"])
    first.save(tmp_path / "now.safetensors")
    ahead = first.run("chance")
    second = bb.Session(page())
    second.restore(tmp_path / "now.safetensors")
    np.testing.assert_array_equal(second.value("w"), [1, 2])
    assert second.value("layer/b") == 6
    np.testing.assert_array_equal(second.run("chance"), ahead)


def test_variables_that_nobody_has_asked_for_are_saved_too(tmp_path):
    bb.Session(page()).save(tmp_path / "new.safetensors")
    session = bb.Session(page())
    session.run([], targets=["grow"])
    session.restore(tmp_path / "new.safetensors")
    np.testing.assert_array_equal(session.value("w"), [0, 1])


def test_a_variable_without_a_value_is_left_out(tmp_path):
    def scope():
        with bb.Scope() as scope:
            bb.variable(np.float32(8), name="a")
            ops.variable_v2(shape=[2], dtype="float32", name="empty")
        return scope

    bb.Session(scope()).save(tmp_path / "one.safetensors")
    session = bb.Session(scope())
    session.restore(tmp_path / "one.safetensors")
    assert session.value("a") == 8
    with pytest.raises(bb.OpError, match="has no value"):
        session.value("empty")


def test_half_types_keep_their_bits(tmp_path):
    session = bb.Session(page(dtype="bfloat16"))
    session.run([], targets=["grow"])
    session.save(tmp_path / "half.safetensors")
    again = bb.Session(page(dtype="bfloat16"))
    again.restore(tmp_path / "half.safetensors")
    np.testing.assert_array_equal(again.value("w"), session.value("w"))


def test_files_of_numpy_are_read(tmp_path):
    with bb.Scope() as scope:
        bb.variable(np.float32([0, 0]), name="w")
    np.savez(tmp_path / "w.npz", w=np.float32([3, 4]))
    session = bb.Session(scope)
    session.restore(tmp_path / "w.npz")
    np.testing.assert_array_equal(session.value("w"), [3, 4])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({}, "must have a tensor for the variable"),
        ({"w": np.zeros(3, np.float32)}, r"must have float32 \[2\] for the variable w"),
        ({"w": np.zeros(2)}, r"must have float32 \[2\] for the variable w; got float64"),
    ],
)
def test_what_does_not_fit_changes_nothing(tmp_path, arrays, words):
    with bb.Scope() as scope:
        bb.variable(np.float32(8), name="a")
        bb.variable(np.float32([0, 0]), name="w")
    np.savez(tmp_path / "other.npz", a=np.float32(1), **arrays)
    session = bb.Session(scope)
    with pytest.raises(bb.OpError, match=words):
        session.restore(tmp_path / "other.npz")
    assert session.value("a") == 8


def test_a_file_that_is_not_there_or_broken_is_named(tmp_path):
    session = bb.Session(page())
    with pytest.raises(bb.OpError, match=r"Session\.path: must name a file"):
        session.restore(tmp_path / "nothing")
    (tmp_path / "broken").write_bytes(b"\x80\x04pickle")
    with pytest.raises(bb.OpError, match=r"Session\.path: must name a checkpoint"):
        session.restore(tmp_path / "broken")


def test_a_snapshot_brings_variables_chance_and_queues_back():
    with bb.Scope() as scope:
        w = bb.variable(np.zeros(2, "float32"), name="w")
        empty = ops.variable_v2(shape=[], dtype="float32", name="late")
        ops.assign(empty, np.float32(3), name="set")
        ops.assign_add(w, np.ones(2, "float32"), name="grow")
        ops.random_uniform([3], dtype="float32", name="chance")
        queue = ops.fifo_queue_v2(component_types=["float32"], shapes=[[]], name="queue")
        ops.queue_enqueue_v2(queue, [np.float32(1)], name="put")
        ops.queue_size_v2(queue, name="size")
    session = bb.Session(scope, seed=1)
    session.run([], targets=["grow", "put"])
    kept = session.snapshot()
    assert kept.bytes > 8
    ahead = session.run("chance", targets=["grow", "put", "set"])
    for _ in range(2):
        session.restore(kept)
        np.testing.assert_array_equal(session.value("w"), [1, 1])
        assert session.run("size") == 1
        with pytest.raises(bb.OpError, match="late"):
            session.value("late")
        np.testing.assert_array_equal(session.run("chance", targets=["grow", "put", "set"]), ahead)
    np.testing.assert_array_equal(kept.values["w"], [1, 1])


def test_a_snapshot_of_another_page_changes_nothing():
    session = bb.Session(page())
    session.run([], targets=["grow"])
    kept = bb.Session(page(width=3)).snapshot()
    with pytest.raises(bb.OpError, match=r"Session\.snapshot: must have .* for the variable w"):
        session.restore(kept)
    np.testing.assert_array_equal(session.value("w"), [1, 2])
