"""Calls that once crashed or fooled an implementation, and every small mistake in a legal call.

Each call is made in a process with little memory and little time. It ends in a right answer or in a
refusal that names op, argument, rule and value and says what to do. The facts say in which,
`differences` where ours does otherwise.
"""

import functools
import inspect
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bad_calls import child, facts
from bad_calls.differences import STRICTER, WIDER, find

from backblocks import OpError, raw_ops
from backblocks.ops import REGISTRY

SHARED = Path(__file__).parents[3] / "shared" / "semantics"
MIB_OF_A_REFUSAL = 64


def reports(op, calls):
    """What became of each call. After a process that died another makes the calls that are left."""
    found = []
    while len(found) < len(calls):
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-W", "error", child.__file__, op, str(len(found))],
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines, f"the process of {op} did not start: {done.stderr}"
        found += [line for line in lines if "start" not in line]
        if "start" in lines[-1]:
            found.append({"died": f"{_ending(done.returncode)} {done.stderr[-500:]}"})
    return found


def _ending(code):
    if code == -signal.SIGALRM:
        return f"took more than {child.SECONDS} s"
    return f"ended the process: {signal.Signals(-code).name if code < 0 else code}"


@pytest.mark.parametrize("op", facts.ops())
def test_ends_in_a_right_answer_or_a_clear_refusal(op, subtests):
    assert op in REGISTRY, "an op of the facts is missing"
    calls = child.calls(op)
    for call, report in zip(calls, reports(op, calls), strict=True):
        with subtests.test(call.name):
            check(call, report)


def check(call, report):
    assert "died" not in report, report["died"]
    assert "exception" not in report, report["exception"]
    assert report["inputs unchanged"]
    if "refusal" in report:
        check_refusal(call, report)
        assert must_answer(call) is not True, f"refused: {report['refusal']}"
    else:
        assert must_answer(call) is not False, f"gave {[shape_of(r) for r in report['result']]}"
        check_answer(call, report["result"], report.get("as TensorFlow", report["result"]))


def check_refusal(call, report):
    text = report["refusal"]
    known = [*inspect.signature(getattr(raw_ops, call.op)).parameters]
    known += [pin.name for pin in REGISTRY[call.op].outputs]  # one that would not fit in memory
    assert report["op"] == call.op
    assert report["arg"] in known
    assert text.startswith(f"{call.op}.{report['arg']}: ")
    assert report["hint"], f"does not say what to do: {text}"
    assert re.search(r"^\w+\.\w+: .+; got .+\. .+\.$", text), f"names no rule and value: {text}"
    assert report["mib"] < MIB_OF_A_REFUSAL, "something large was allocated before the refusal"


def must_answer(call):
    """True if the call must be answered, False if it must be refused, None if either will do."""
    if find(WIDER, call.op, call.name):
        return True
    if call.advisory:
        return expected_of_advisory(call)[0]
    return call.tensorflow == "ok" and not find(STRICTER, call.op, call.name)


def check_answer(call, results, as_tensorflow):
    if call.answer is not None:
        for result, theirs, answer in zip(results, as_tensorflow, call.answer, strict=True):
            assert shape_of(result) == shape_of(theirs) == shape_of(answer)
            # TensorFlow adds up in another order.
            np.testing.assert_allclose(theirs["values"], answer["values"], rtol=1e-5, atol=1e-6)
    elif call.advisory:
        expected = expected_of_advisory(call)[1]
        assert expected is None or expected(results[0])
    else:
        assert call.tensorflow != "ok", "TensorFlow's answer was not recorded"


def shape_of(tensor):
    return f"{tensor['dtype']}{tensor['shape']}"


def expected_of_advisory(call):
    """Whether an answer is expected (None: either will do), and what must hold of it."""
    text = call.advisory["expect_from_us"]
    shape = re.search(r"\[[\d,]+\]", text)
    sizes = json.loads(shape[0]) if shape else None
    if text.startswith("zeros of shape"):
        return True, lambda r: r["shape"] == sizes and not any(r["values"])
    if text.startswith("empty result"):
        return True, lambda r: r["values"] == []
    if text == "InvalidArgumentError-like exception, no crash":
        return False, None
    if text == "no crash; error or zeros":
        return None, lambda r: not any(r["values"])
    if text.endswith("no crash or the [1,2,2,4] result"):
        return None, lambda r: r["shape"] == sizes
    if text.endswith(("or NotImplementedError-like", "or true depth pooling")):
        return None, None
    raise AssertionError(f"an expectation that nobody reads: {text}")


def test_memory_of_a_refusal_is_seen(monkeypatch):
    def wasteful(**args):
        np.zeros(100 << 20, np.uint8)
        raise OpError("no", op="Wasteful", arg="x")

    monkeypatch.setattr(raw_ops, "Wasteful", wasteful, raising=False)
    for _ in range(2):  # the second time the process has been that large already
        assert child.report(facts.Call("Wasteful", "", {}))["mib"] > MIB_OF_A_REFUSAL


@functools.cache
def every_call():
    return [call for op in facts.ops() for call in facts.read(op)]


@pytest.mark.parametrize("table", [STRICTER, WIDER], ids=["stricter", "wider"])
def test_differences_are_needed(table):
    for entry in table:
        covered = [c for c in every_call() if find(table, c.op, c.name) is entry]
        if table is WIDER:
            assert any(c.tensorflow != "ok" for c in covered), f"covers no refusal: {entry}"
        else:
            assert any(c.tensorflow == "ok" for c in covered), f"covers no answer: {entry}"


@pytest.mark.parametrize(
    "text",
    [
        "float32[2,4,4,2] mod 7",
        "float32[3] = 1,2.5,3",
        "int64[6] all -1",
        "float16[2,2] fill 1.0",
        "float32[0,4]",
        "float32[] = 0",
    ],
)
def test_tensors_read_back(text):
    assert facts.to_text(facts.from_text(text)) == text


@pytest.mark.skipif(not SHARED.exists(), reason="the original facts are not here")
def test_facts_are_the_original_ones():
    def canonical(cases):
        return sorted(json.dumps(case, sort_keys=True) for case in cases)

    mutations, advisories = [], []
    for call in every_call():
        if call.advisory:
            advisories.append({**call.advisory, "op": call.op, "args": call.args})
        else:
            mutations.append(
                {
                    "op": call.op,
                    "mutation": call.name,
                    "args": call.args,
                    "tensorflow": call.tensorflow,
                }
            )
    original = json.loads((SHARED / "mutations.json").read_text())["cases"]
    assert canonical(mutations) == canonical(original)
    original = json.loads((SHARED / "advisories.json").read_text())["cases"]
    assert canonical(advisories) == canonical(original)
