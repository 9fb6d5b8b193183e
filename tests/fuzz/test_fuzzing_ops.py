"""The fuzzer of ops: calls can be made again, and what an op does wrong is found and told."""

import os
import re
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest
from fuzz import arrays, children, ops
from fuzz.calls import MUTATIONS, draw, known
from fuzz.findings import Finding, Told

from backblocks.errors import OpError
from backblocks.ops import REGISTRY

OP = REGISTRY["MatrixDiag"]


@pytest.fixture(autouse=True)
def _apart():
    with ops.in_a_folder():
        yield
    OP.call_cache.clear()


def test_every_call_can_be_made_again():
    for op in REGISTRY.values():
        assert known(op) or not op.inputs or op.holds, f"no call of {op.name} to begin with"
        for seed in range(3):
            assert str(draw(op, seed)[0]) == str(draw(op, seed)[0])


def test_every_mutation_is_drawn():
    calls = [draw(OP, seed)[0] for seed in range(1500)]
    assert len({change for call in calls for change in call.changes}) > len(MUTATIONS)
    drawn = [x for call in calls for x in call.args.values()]
    held = [x for x in drawn if isinstance(x, np.ndarray)]
    assert any(map(arrays.is_virtual, held))
    assert any(x.ndim > 32 for x in held)
    assert any(not x.flags.aligned for x in held)
    assert any(stride < 0 for x in held for stride in x.strides)
    assert any(not x.dtype.isnative for x in held)


@pytest.mark.parametrize("name", arrays.LAYOUTS)
def test_layouts_are_what_they_are_called(name):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    y = arrays.LAYOUTS[name](np.random.default_rng(1), x)
    assert y.shape == x.shape
    if name not in ("overlapping", "repeated by strides of 0"):
        np.testing.assert_array_equal(y, x)
    plain = y.flags.carray and y.base is None
    assert not plain


def reference(change):
    """What MatrixDiag computes, changed."""
    right = OP.reference
    return lambda x, **attrs: change(x, right(x, **attrs))


def raise_key_error(x, y):
    return {}["no"]


def change_input(x, y):
    if x.flags.writeable and x.size:
        x.reshape(-1)[0] = 9
    return y


def by_layout(x, y):
    return y if x.flags.c_contiguous else y + 1


def refuse_without_a_hint(x, y):
    raise OpError("no", op=OP.name, arg="diagonal")


def warn(x, y):
    warnings.warn("odd", stacklevel=1)
    return y


def another_shape(x, y):
    return y[..., :1] if y.ndim and y.shape[-1] > 1 else y


kept = []


def keep(x, y):
    kept.append(bytes(1 << 17))
    return y


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (raise_key_error, "KeyError: 'no'"),
        (change_input, "changed its inputs"),
        (by_layout, "another answer than for contiguous copies|a graph"),
        (refuse_without_a_hint, "does not say what to do"),
        (warn, "UserWarning: odd"),
        (another_shape, "where the rule says"),
        (keep, "left behind"),
    ],
)
def test_what_an_op_does_wrong_is_found(change, words, monkeypatch):
    monkeypatch.setattr(OP, "reference", reference(change))
    if change is keep:
        monkeypatch.setattr(ops, "FOR_LEAKS", 1)

    def found():
        for seed in range(150):
            try:
                ops.check(OP, seed)
            except Finding as finding:
                yield finding

    with pytest.raises(Finding, match=words):
        raise next(f for f in found() if re.search(words, f.what))


def test_calls_that_are_right_are_no_findings():
    became = [ops.check(OP, seed) for seed in range(40)]
    assert {"answered", "refused"} <= {*became}


def test_slow_calls_are_interrupted_and_deaf_ones_found(monkeypatch):
    from fuzz import limits

    monkeypatch.setattr(limits, "SECONDS", 0.1)
    monkeypatch.setattr(limits, "WAITS", 2.0)
    with pytest.raises(limits.Slow), limits.in_time():
        time.sleep(10)
    with pytest.raises(limits.Slow), limits.in_time():
        compute(10)
    monkeypatch.setattr(limits, "DEAF", 0.2)
    with pytest.raises(Finding, match="heard Ctrl-C only after"), limits.in_time():
        sum(range(60_000_000))  # one call of C code, which looks at no signal


PLANTED = """
    import os, signal, sys, time
    sys.path.insert(0, {tools!r})
    from fuzz import children, limits
    reporter = children.Reporter(int(sys.argv[-1]))
    for seed in range(int(sys.argv[1]), 100):
        reporter.tries(f"Op {{seed}}".encode())
        if seed == 3:
            {harm}
        reporter.became("answered")
    reporter.end()
"""


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ("os.abort()", "ended the process (SIGABRT)"),
        ("os._exit(3)", "ended the process (exit code 3)"),
        ("time.sleep(60)", "hangs"),
        ("while True: pass", "takes more than"),
        ("limits.limit_memory(); bytes(1 << 40)", "MemoryError"),
    ],
)
def test_what_ends_the_process_is_told_with_the_call(harm, words, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(children, "HANGS", 1.0)
    monkeypatch.setattr(children, "WAITS", 3.0)
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    tools = os.path.join(root, "tools")
    script = tmp_path / "child.py"
    script.write_text(textwrap.dedent(PLANTED).format(tools=tools, harm=harm))
    told = Told("ops")
    command = [sys.executable, str(script), "0"]
    for tried in children.run(command, 30, told):
        if tried == b"Op 99":
            break
        assert tried == b"Op 3"
        command[-1] = "4"
    assert list(told.causes.values()) == [1]
    printed = capsys.readouterr().out
    assert words in printed
    assert "python tools/fuzz ops Op 3" in printed
    assert told.outcomes["answered"] == 96
