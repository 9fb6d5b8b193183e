"""Calls of every op that could end the process, fill the memory or not end. Each is refused, or answered."""

import json
import signal
import subprocess
import sys

import hostile_child as child
import numpy as np
import pytest

import backblocks as bb
from backblocks.ops._spec import MAX_RANK


def reports(kind):
    """Each call with what became of it. After a process that died another makes the calls that are left."""
    found = []
    while True:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-W", "error", child.__file__, kind, str(len(found))],
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        found += list(zip(lines[::2], lines[1::2], strict=False))
        if done.returncode == 0:
            return found
        assert lines, done.stderr
        assert len(lines) % 2, done.stderr
        found.append((lines[-1], {"died": signal.Signals(-done.returncode).name}))


def bad(kind, *fine):
    return [
        f"{call['op']}({call['about']}): {report}"
        for call, report in reports(kind)
        if not report.keys() & {*fine}
    ]


@pytest.mark.parametrize("rank", [33, 64])
def test_more_axes_than_can_be_computed_with_are_refused(rank):
    found = reports(f"rank {rank}")
    assert len(found) > 500
    rule = f"must have at most {MAX_RANK} dimensions; got {rank} dimensions"
    assert [f for f in found if rule not in f[1].get("refusal", "")] == []


def test_as_many_axes_as_there_can_be_are_computed_with_or_refused():
    assert bad("rank 32", "answer", "refusal") == []


@pytest.mark.long
@pytest.mark.parametrize("kind", ["inputs", "attributes", "outs"])
def test_odd_values_are_taken_or_refused(kind):
    assert bad(kind, "answer", "refusal") == []


def test_views_of_more_cells_than_memory_are_refused_by_their_size():
    found = reports("virtual")
    assert len(found) > 1500
    assert [f for f in found if "refusal" not in f[1] or f[1]["seconds"] > 1] == []


@pytest.mark.long
@pytest.mark.timeout(900)
def test_ctrl_c_ends_every_call_within_a_second():
    found = reports("interrupts")
    assert sum("late" in report for _, report in found) > 50
    assert [f for f in found if f[1].get("late", 0) > 1] == []
    assert [f for f in found if f[1].keys() & {"died", "exception"}] == []


DEEP = np.ones((1,) * MAX_RANK, np.float32)


@pytest.mark.parametrize(
    "call",
    [
        lambda: bb.ops.expand_dims(DEEP, 0),
        lambda: bb.ops.pack([DEEP], axis=0),
        lambda: bb.ops.one_hot(DEEP.astype(np.int32), 2, 1.0, 0.0),
        lambda: bb.ops.reshape(DEEP, [1] * 33),
        lambda: bb.ops.broadcast_to(DEEP, [1] * 33),
        lambda: bb.ops.fill([1] * 33, 1.0),
        lambda: bb.raw_ops.RandomUniform(shape=[1] * 33, dtype="float32"),
        lambda: bb.ops.expand_dims(bb.placeholder([None] * MAX_RANK), 0),
        lambda: bb.placeholder([None] * 33),
        lambda: bb.constant(DEEP[None]),
        lambda: bb.constant(DEEP[None].tolist()),
        lambda: bb.evaluate([(x := bb.placeholder(None)) + 1.0], {x: DEEP[None]}),
        lambda: bb.raw_ops.FIFOQueueV2(component_types=["float32"], shapes=[[1] * 33]),
    ],
)
def test_no_result_has_more_axes_than_can_be_computed_with(call):
    with pytest.raises(
        bb.OpError, match=rf"must have at most {MAX_RANK} (dimensions|entries, .*); got 33"
    ):
        call()
