"""A run as text for the terminal: lines for a result, a header, and the summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backblocks.bench.goals import Verdict, judge
from backblocks.bench.peers import OURS
from backblocks.bench.results import BenchmarkRun, Result


def duration(seconds: float) -> str:
    """Three figures with a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            return f"{seconds / size:.3g} {unit}"
    raise AssertionError


def factor(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def megabytes(count: int | None) -> str:
    return "-" if count is None else f"{count / 2**20:.1f} MB"


def result_line(result: Result) -> str:
    """A result in two lines: time, share of the limit, extra memory, ratios to peers."""
    if result.ours is None:
        why = result.refused.get("backblocks", "")
        return f"{result.line}\n    backblocks: {why}"
    ratios = "  ".join(f"{peer} {factor(result.faster_than(peer))}x" for peer in result.peers)
    return (
        f"{result.line}\n    {duration(result.ours):>8}  {factor(result.of_limit)} of the limit"
        f"  extra {megabytes(result.extra_bytes.get('backblocks'))}  {ratios or 'no peers'}"
    )


def result_details(result: Result) -> Iterator[str]:
    """Every contender of one problem, the fastest first."""
    yield result.line
    ours = result.ours
    for name, time in sorted(result.times.items(), key=lambda item: item[1].median):
        ratio = f"{time.median / ours:7.2f} x ours" if ours else ""
        extra = result.extra_bytes.get(name)
        memory = "" if extra is None else f"  extra {megabytes(extra)}"
        about = f"  ({time.job}: {time.why})" if time.why else ""
        median, least = duration(time.median), duration(time.least)
        yield f"  {name:<46} {median:>8} (least {least:>8}, {time.samples:2} samples) {ratio}{memory}{about}"
    for name, why in result.refused.items():
        yield f"  {name:<46} not timed: {why}"
    if result.first_call:
        yield f"  the first call on a shape never seen before takes {duration(result.first_call)}"
    bound = "arithmetic" if result.compute_bound else "memory"
    yield (
        f"  the machine needs {duration(result.limit)} ({bound}); backblocks is at "
        f"{factor(result.of_limit)} of that speed"
    )
    if result.compute_bound and ours:
        rate = result.problem.nominal_flops / ours / 1e9
        yield f"  {rate:.0f} Gflop/s with padding counted, {factor(result.of_nominal_limit)} of the peak"


def limits(run: BenchmarkRun) -> Iterator[str]:
    for count, found in run.limits.items():
        rates = [
            f"{name.removesuffix(' bytes/s')} {rate / 1e9:.1f} GB/s"
            if name.endswith("bytes/s")
            else f"{name.removesuffix(' flop/s')} {rate / 1e9:.0f} Gflop/s"
            for name, rate in found.items()
        ]
        threads = "1 thread" if count == "1" else f"{count} threads"
        yield f"  {threads}: {', '.join(rates)}"


def head(run: BenchmarkRun) -> Iterator[str]:
    yield f"{run.machine['processor']}, {run.machine['cores']} cores, {run.threads} threads used"
    yield ", ".join(f"{name} {version}" for name, version in run.versions.items())
    for name, why in run.absent.items():
        yield f"{name} does not take part: {why}"
    yield from limits(run)


def losses(results: Sequence[Result]) -> list[tuple[Result, str, float]]:
    """Where a peer that does the same job is faster: the result, the peer, and how many times."""
    found = []
    for result in results:
        for peer in result.peers:
            ratio = result.faster_than(peer)
            if ratio is not None and ratio < 1:
                found.append((result, peer, 1 / ratio))
    return sorted(found, key=lambda loss: -loss[2])


def verdict_row(verdict: Verdict) -> list[str]:
    unit = {"us": "microseconds", "MB": "MB"}
    suffix = next((f" {u}" for u, word in unit.items() if f" {word}" in verdict.goal), "")
    return [
        verdict.family,
        verdict.goal,
        f"{verdict.met} of {verdict.problems}",
        f"{factor(verdict.worst)}{suffix}",
        verdict.worst_line,
        verdict.word,
    ]


def training_rows(run: BenchmarkRun) -> Iterator[list[str]]:
    """Training speed by network and contender, and how many times faster we are than the fastest peer."""
    for record in run.training:
        for name, time in sorted(record.times.items(), key=lambda item: item[1].median):
            ratio = factor(record.faster_than_any) + "x" if name == OURS else ""
            yield [record.name, name, f"{1 / time.median:,.0f}", duration(time.median), ratio]
        for name, why in record.refused.items():
            yield [record.name, name, f"not timed: {why}", "", ""]


def page_cost_rows(run: BenchmarkRun) -> list[list[str]]:
    costs = run.page_costs
    if costs is None:
        return []
    return [
        ["a small block in a run", "5 microseconds", duration(costs.block_seconds)],
        ["opening and checking a page of 5,000 blocks", "200 ms", duration(costs.opening_seconds)],
        ["growth of the process in 1,000 steps", "0", megabytes(costs.growth_bytes)],
    ]


def summary_lines(run: BenchmarkRun) -> Iterator[str]:
    """The verdicts on goals, the problems where a peer is faster, and training."""
    verdicts = judge(run.results)
    if verdicts:
        yield "\nGoals (each problem by itself; the worst is shown)"
        rows = [["family", "goal", "met by", "worst", "on", ""], *map(verdict_row, verdicts)]
        yield from table(rows)
    lost = losses(run.results)
    if lost:
        yield "\nFaster than backblocks at the same job"
        yield from table([[r.line, peer, f"{ratio:.2f}x"] for r, peer, ratio in lost])
    elif any(r.peers for r in run.results):
        yield "\nNo peer is faster on any problem."
    if run.training:
        yield "\nTraining of whole pages"
        head = ["network", "contender", "steps a second", "a step", "faster than the fastest"]
        yield from table([head, *training_rows(run)])
        yield ""
        yield from table([["what pages cost", "goal", "measured"], *page_cost_rows(run)])


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  " + "  ".join(cells).rstrip()
