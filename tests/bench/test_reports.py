"""Ratios, goals, the JSON file and the chart, from times made up."""

import json
import runpy
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from backblocks.bench import chart, report
from backblocks.bench.contender import OTHER_FORMAT, OTHER_TYPE
from backblocks.bench.goals import Verdict, judge, load_goals
from backblocks.bench.problem import OP_KINDS, parse
from backblocks.bench.results import BenchmarkRun, Result, Timing
from backblocks.bench.run import workloads

POOL = "MaxPool3DGrad f32 ndhwc 1x64x64x64x32 k2 s2 VALID"
CONV = "Conv3D f32 ndhwc 1x8x28x28x128 -> 128 k3 s1 SAME"


def times(**medians):
    """Contenders by peer and, after two underscores, job."""
    made = {}
    for key, median in medians.items():
        peer, _, job = key.partition("__")
        name = key.replace("__", ", ")
        made[name] = Timing(peer, job.replace("_", " ") or "whole", median, median * 0.9, 7)
    return made


def a_result(line=POOL, stream=0.9e-3, peak=0.0, extra=1 << 20, **medians):
    return Result(
        line,
        times(**medians),
        {"jax": "too slow to wait for: 9 s a call"},
        stream,
        peak,
        {"backblocks": extra},
    )


def a_run(*results):
    limits = {"1": {"copy bytes/s": 2e10, "f32 flop/s": 1e11}}
    machine = dict.fromkeys(("instructions", "system", "python", "numpy"), "x")
    machine |= {"processor": "<a & b>", "cores": 2}
    return BenchmarkRun(
        machine,
        {"backblocks": "0.1.0", "torch": "2"},
        {"jax": "gone"},
        2,
        60.0,
        limits,
        list(results),
    )


def test_ratios_are_to_each_peers_best_way_to_do_the_whole_job():
    result = a_result(
        backblocks=1e-3,
        torch=6e-3,
        torch__same_work=4e-3,
        torch__part=0.5e-3,
        tensorflow=50e-3,
        jax__part=1e-6,
    )
    assert result.faster_than("torch") == pytest.approx(4)
    assert result.faster_than("tensorflow") == pytest.approx(50)
    assert result.faster_than("jax") is None
    assert result.peers == ["torch", "tensorflow"]
    assert result.faster_than_any == pytest.approx(4)
    assert result.of_limit == pytest.approx(0.9)
    assert not result.compute_bound


def test_the_limit_is_the_longer_of_memory_and_arithmetic():
    flops, nominal = parse(CONV).flops, parse(CONV).nominal_flops
    result = a_result(CONV, stream=1e-3, peak=flops / 2e-3, backblocks=4e-3)
    assert result.compute_bound
    assert result.limit == pytest.approx(2e-3)
    assert result.of_limit == pytest.approx(0.5)
    assert result.of_nominal_limit == pytest.approx(0.5 * nominal / flops)
    assert a_result(CONV, stream=3e-3, peak=flops / 2e-3, backblocks=4e-3).limit == 3e-3


def test_without_ours_there_is_nothing_to_compare():
    result = a_result(torch=1.0)
    assert result.ours is result.of_limit is result.faster_than_any is None
    assert "backblocks:" in report.result_line(result)
    assert judge([result]) == []


def test_twins():
    result = a_result(backblocks=1e-3)
    result.times["twin"] = Timing("backblocks", "yardstick", 2e-3, 2e-3, 1, OTHER_TYPE.why)
    assert result.ratio_to_variant(OTHER_TYPE.why) == pytest.approx(0.5)
    assert result.ratio_to_variant(OTHER_FORMAT.why) is None


def verdicts(family, *results):
    return judge(results, [{"name": "family", **family}])


def test_a_goal_is_for_each_problem_and_the_worst_is_named():
    good, bad = a_result(backblocks=1.0, torch=9.0), a_result(CONV, backblocks=1.0, torch=2.0)
    family = {"faster_than": {"torch": 4}}
    assert verdicts(family, good, bad) == [Verdict("family", "4 x torch", 2, 1, 0, 2.0, CONV)]
    assert [v.word for v in verdicts(family, good, bad)] == ["not met"]
    assert [v.word for v in verdicts(family, good)] == ["met"]
    near = a_result(CONV, backblocks=1.0, torch=3.6)
    assert [v.word for v in verdicts(family, good, near)] == ["met within the noise"]


def test_goals_choose_their_problems():
    pool, conv = a_result(backblocks=1.0, torch=2.0), a_result(CONV, backblocks=1.0, torch=3.0)
    for family, line in (
        ({"ops": ["Conv3D"]}, CONV),
        ({"words": ["k2", "s2"]}, POOL),
        ({"channels": 32}, POOL),
    ):
        (verdict,) = verdicts(family | {"faster_than": {"fastest": 1}}, pool, conv)
        assert (verdict.problems, verdict.worst_line) == (1, line)
    for family in ({"types": ["f16"]}, {"formats": ["nchw"]}, {"tiny": True}):
        assert verdicts(family | {"faster_than": {"fastest": 1}}, pool, conv) == []


def test_shares_of_the_limit_are_asked_by_kind_of_window():
    apart = a_result(stream=0.9, backblocks=1.0)
    close = a_result(POOL.replace("k2 s2", "k3 s1"), stream=0.4, backblocks=1.0)
    shares = {"k3 s1": 0.5, "all": 0.9}
    found = {v.goal: (v.worst, v.word) for v in verdicts({"of_limit": shares}, apart, close)}
    assert found == {
        "0.5 of the limit, k3 s1": (pytest.approx(0.4), "not met"),
        "0.9 of the limit, all": (pytest.approx(0.9), "met"),
    }
    (verdict,) = verdicts({"of_limit": {"non-overlapping windows": 0.9}}, apart, close)
    assert verdict.worst_line == POOL


def test_goals_that_are_upper_bounds():
    tiny = a_result("MaxPool f32 nhwc 1x4x4x2 k2 s2 SAME", backblocks=6e-6)
    (verdict,) = verdicts({"tiny": True, "most_microseconds": 5}, tiny)
    assert (verdict.word, verdict.worst) == ("not met", pytest.approx(6))
    tiny.first_call = 150e-6
    (verdict,) = verdicts({"tiny": True, "most_first_microseconds": 200}, tiny)
    assert (verdict.word, verdict.worst) == ("met", pytest.approx(150))
    (verdict,) = verdicts({"most_extra_mb": 64}, a_result(backblocks=1.0, extra=65 << 20))
    assert (verdict.word, verdict.worst) == ("met within the noise", 65)


def test_every_goal_is_about_some_listed_problem():
    listed = workloads()
    peers = dict.fromkeys(("backblocks", "tensorflow", "torch", "jax"), 1.0)
    results = [a_result(str(p), stream=1e-9, peak=1.0, **peers) for p in listed]
    for result in results:
        for why in (OTHER_TYPE.why, OTHER_FORMAT.why):
            result.times[why] = Timing("backblocks", "yardstick", 1.0, 1.0, 1, why)
    found = judge(results)
    assert {v.family for v in found} == {family["name"] for family in load_goals()}
    assert {op for family in load_goals() for op in family.get("ops", ())} <= set(OP_KINDS)


def test_losses_are_listed_with_their_factor_the_worst_first():
    a = a_result(backblocks=3.0, torch=1.0, tensorflow=2.0)
    b = a_result(CONV, backblocks=2.0, torch__same_work=1.0, jax=3.0)
    found = [(r.line, peer, ratio) for r, peer, ratio in report.losses([a, b])]
    assert found == [(POOL, "torch", 3.0), (CONV, "torch", 2.0), (POOL, "tensorflow", 1.5)]
    text = "\n".join(report.summary_lines(a_run(a, b)))
    assert "3.00x" in text
    won = "\n".join(report.summary_lines(a_run(a_result(backblocks=1.0, torch=2.0))))
    assert "No peer is faster" in won


def test_a_run_in_words_names_everything():
    result = a_result(backblocks=1.2345e-3, torch=6e-3)
    text = "\n".join(
        [*report.head(a_run(result)), *report.result_details(result), report.result_line(result)]
    )
    for part in (
        "torch 2",
        "jax does not take part: gone",
        "1.23 ms",
        "too slow",
        "1.0 MB",
        "4.86x",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.0, "2 s"), (0.01234, "12.3 ms"), (4.2e-6, "4.2 us"), (1e-8, "0.01 us")]
)
def test_durations_have_fitting_units(seconds, text):
    assert report.duration(seconds) == text


def test_json_there_and_back():
    run = a_run(a_result(backblocks=1e-3, torch=2e-3), a_result(CONV, peak=1e11, backblocks=1e-3))
    record = json.loads(json.dumps(run.as_json()))
    assert BenchmarkRun.from_json(record) == run
    assert set(record) == {
        "version", "machine", "versions", "absent", "threads", "seconds", "limits", "results",
            "learning", "page_costs",
    }  # fmt: skip
    first = record["results"][0]
    assert set(first) == {
        "problem", "times", "refused", "stream", "peak", "extra_bytes", "first_call",
            "faster_than", "limit", "of_limit",
    }  # fmt: skip
    assert set(first["times"]["torch"]) == {"peer", "job", "median", "least", "samples", "why"}
    assert first["faster_than"] == {"torch": 2.0}


def test_results_of_another_form_are_refused():
    with pytest.raises(ValueError, match="must be of version 2; got 99"):
        BenchmarkRun.from_json({"version": 99})


def test_the_chart_is_well_formed_and_has_a_mark_for_each_ratio():
    run = a_run(
        a_result(backblocks=1e-3, torch=2e-3, tensorflow=1e9),
        a_result(CONV, backblocks=1e-3, torch=1e-9),
        a_result(torch=1.0),
    )
    root = ElementTree.fromstring(chart.svg(run))  # noqa: S314
    of = "{http://www.w3.org/2000/svg}"
    circles = root.findall(f"{of}circle")
    assert len(circles) == 3 + 2  # and those of the legend
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for circle in circles:
        assert 0 < float(circle.attrib["cx"]) < width
        assert 0 < float(circle.attrib["cy"]) < height
    assert "prefers-color-scheme: dark" in root.find(f"{of}style").text


def test_the_page_is_written_from_any_run():
    tool = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "speed_page.py"))
    won = a_result(backblocks=1e-3, torch__same_work=4e-3, torch__part=2e-3)
    lost = a_result(CONV, peak=1e11, backblocks=1e-3, torch=0.5e-3)
    text = tool["page"](a_run(won, lost))
    assert f"| `{CONV}` | torch | 2.00 |" in text
    assert "| 1 ms | - | - | *4 ms, 4.00x* (2 ms) | 9 s |" in text
    assert "jax took no part: gone" in text
    assert "{" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in rows)
    assert "On none of these problems" in tool["page"](a_run(won))
