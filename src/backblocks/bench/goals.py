"""The speed goals of goals.toml, checked against the results of a run."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from backblocks.bench.contender import OTHER_FORMAT, OTHER_TYPE
from backblocks.bench.problem import Problem
from backblocks.bench.results import Result

NOISE = 0.15
"""Relative difference between two runs on one machine."""

TINY = 1 << 16
"""A problem that moves fewer bytes measures the overhead of a call, and not a kernel."""


@dataclass(frozen=True)
class Verdict:
    """One goal: how many problems it applies to, how many meet it, and the worst."""

    family: str
    goal: str
    problems: int
    met: int
    nearly: int
    worst: float
    worst_line: str

    @property
    def word(self) -> str:
        if self.met == self.problems:
            return "met"
        return "met within the noise" if self.met + self.nearly == self.problems else "not met"


def load_goals() -> list[dict[str, Any]]:
    text = resources.files("backblocks.bench").joinpath("goals.toml").read_text()
    families: list[dict[str, Any]] = tomllib.loads(text)["family"]
    return families


def judge(
    results: Sequence[Result], families: Sequence[dict[str, Any]] | None = None
) -> list[Verdict]:
    """A verdict on every goal that applies to some result."""
    verdicts = []
    for family in load_goals() if families is None else families:
        of_family = [r for r in results if r.ours is not None and _belongs(r.problem, family)]
        for goal, bound, at_least, measured in _goals(family):
            values = [(v, r.line) for r in of_family if (v := measured(r)) is not None]
            if values:
                sign = 1 if at_least else -1
                met = sum(sign * (v - bound) >= 0 for v, _ in values)
                slack = bound * (1 - NOISE if at_least else 1 + NOISE)
                nearly = sum(sign * (v - slack) >= 0 for v, _ in values) - met
                worst, line = min(values, key=lambda value: sign * value[0])
                verdicts.append(
                    Verdict(family["name"], goal, len(values), met, nearly, worst, line)
                )
    return verdicts


def is_tiny(problem: Problem) -> bool:
    return problem.bytes_moved < TINY


def _belongs(problem: Problem, family: dict[str, Any]) -> bool:
    return (
        is_tiny(problem) == family.get("tiny", False)
        and problem.op in family.get("ops", [problem.op])
        and problem.type in family.get("types", [problem.type])
        and problem.format in family.get("formats", [problem.format])
        and problem.last[-1] <= family.get("channels", problem.last[-1])
        and set(family.get("words", ())) <= set(str(problem).split())
    )


Goal = tuple[str, float, bool, Callable[[Result], float | None]]


def _goals(family: dict[str, Any]) -> Iterator[Goal]:
    """For each goal its text, bound, whether the bound is a minimum, and the measure."""
    for peer, bound in family.get("faster_than", {}).items():
        if peer == "fastest":
            yield f"{bound:g} x the fastest peer", bound, True, lambda r: r.faster_than_any
        else:
            yield f"{bound:g} x {peer}", bound, True, lambda r, p=peer: r.faster_than(p)  # type: ignore[misc]
    shares = family.get("of_limit", {})
    for kind, bound in shares.items():
        yield f"{bound:g} of the limit, {kind}", bound, True, _share(kind, list(shares))
    if bound := family.get("most_of_f32"):
        yield (
            f"at most {bound:g} of the f32 time",
            bound,
            False,
            lambda r: r.ratio_to_variant(OTHER_TYPE.why),
        )
    if bound := family.get("most_of_last"):
        goal = f"at most {bound:g} of the channels-last time"
        yield goal, bound, False, lambda r: r.ratio_to_variant(OTHER_FORMAT.why)
    if bound := family.get("most_microseconds"):
        yield f"at most {bound:g} microseconds", bound, False, lambda r: (r.ours or 0) * 1e6
    if bound := family.get("most_first_microseconds"):
        goal = f"at most {bound:g} microseconds for the first call"
        yield goal, bound, False, lambda r: r.first_call and r.first_call * 1e6
    if bound := family.get("most_extra_mb"):
        yield f"at most {bound:g} MB of extra memory", bound, False, _extra_mb


def _share(kind: str, kinds: list[str]) -> Callable[[Result], float | None]:
    """The share of the roofline, with operations on padding counted, as they were when the goals were set."""

    def measured(result: Result) -> float | None:
        fitting = next((each for each in kinds if _is(result, each)), None)
        return result.of_nominal_limit if fitting == kind else None

    return measured


def _is(result: Result, kind: str) -> bool:
    if kind == "all":
        return True
    if kind == "compute-bound":
        return result.compute_bound
    if kind == "non-overlapping windows":
        return all(axis.s >= axis.k or axis.out == 1 for axis in result.problem.axes)
    return set(kind.split()) <= set(result.line.split())


def _extra_mb(result: Result) -> float | None:
    extra = result.extra_bytes.get("backblocks")
    return None if extra is None else extra / 2**20
