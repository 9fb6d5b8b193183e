"""Writes docs/speed.md and its chart from the results of a run: tools/speed_page.py bench/results.json"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from backblocks.bench import chart, contender, report
from backblocks.bench.goals import judge
from backblocks.bench.results import BenchmarkRun, Result
from backblocks.bench.timing import TOLERANCES, TimingBudget

DOCS = Path(__file__).resolve().parent.parent / "docs"
PEERS = ("tensorflow", "xla", "torch", "jax")
REASONS = "[Why, and what was tried](speed_reasons.md)."
CAVEATS = (contender.SYMMETRIC_PADDING, contender.SAVED_INDICES)


def page(run: BenchmarkRun) -> str:
    """The page, all of it read off the run."""
    parts = (_head, _losses, _goals, _pages, _results, _how)
    return "\n".join(line for part in parts for line in part(run)) + "\n"


HEAD = """\
# Speed

One run of `make bench`: {processor}, {cores} cores, {threads} threads for everybody, backblocks {ours}
({instructions} kernels), {peers}, Python {python}, NumPy {numpy}, {system}; {problems} problems in
{minutes:.0f} minutes. This page is written by `tools/speed_page.py`; `backblocks bench 'LINE'` repeats any
line of it on your machine.

![How many times faster than each peer, and the share of the limit](speed.svg)
"""

PAGES = """\
## Training

Whole steps of gradient descent: forward, backward, and every parameter moved. All start from the same
numbers and have the same losses for the first steps, and each gives the loss of every step to Python. The
goals are twice the fastest other on the two small networks, and to be no slower on the third. What a block
costs is beyond what NumPy takes for the same numbers.
"""

EVERY = """\
## Every problem

Medians. Beside a peer's time is how many times longer it takes than backblocks. `limit` is what the machine
needs at least, with backblocks' share of that speed; `extra` is memory beyond inputs and result. In italics:
the same amount of work, but another answer. In brackets: the gradient alone, with the argmax indices
given. A share above 1 is no mistake: convolutions with three taps along each axis use Winograd, which takes
fewer products than the limit counts.
"""

HOW = """\
## How it was measured

* All contenders of a problem run in one process, in rounds, in another order each round, with a pause of
  {pause} before each sample, in which threads go to sleep, and {warmup_seconds} of untimed calls after it,
  in which the processor wakes. There are at least {min_rounds} rounds, then as many as {seconds:g} seconds
  allow, {max_rounds} at most. A contender that has had {max_contender_seconds:g} seconds sits the others out;
  one whose call takes more than {patience:g} s is not timed. Short calls are timed many at once.
* Everyone gets as many threads. Inputs are in the library's own tensors and memory format before the clock
  starts. Every call gives a new result.
* Of each peer the best of its ways counts: TensorFlow eagerly and in `tf.function`, with oneDNN turned on;
  PyTorch contiguous and with the channels last, forward and backward together where its backward kernel
  takes argmax indices; JAX under `jit`. `xla` is TensorFlow with `jit_compile=True`, for pools.
* Before they are timed, all must give the same answer, up to these shares of its largest number:
  {tolerances}. Inputs have no ties. The exceptions:
{differences}
* The limit is the longer of two times. One is that of a loop which reads the inputs that matter once and
  writes the result once, timed among the contenders on the same bytes; it stores through the cache and
  around it, and the better counts. The other, for convolutions, is that of the operations at the peak of
  multiply-add. Operations on padding are left out there, and counted, as is usual, in the goals.
* Extra memory is measured in a process of its own: the peak of the second call, less what was there before
  the first, less the result.

The machine's own limits, in the same run:
"""


def _head(run: BenchmarkRun) -> Iterator[str]:
    peers = [f"{name} {run.versions[name]}" for name in PEERS if name in run.versions]
    yield HEAD.format(
        **run.machine,
        threads=run.threads,
        ours=run.versions["backblocks"],
        peers=", ".join(peers) or "no peers",
        problems=len(run.results),
        minutes=run.seconds / 60,
    )
    for name, why in run.absent.items():
        yield f"{name} took no part: {why}\n"


def _losses(run: BenchmarkRun) -> Iterator[str]:
    yield "## Where we lose\n"
    lost = report.losses(run.results)
    if not lost:
        yield "On none of these problems is a peer faster that does the same job.\n"
        return
    yield f"A peer that does the same job is faster here. {REASONS}\n"
    yield from _table(
        ["problem", "peer", "times faster"],
        [[f"`{result.line}`", peer, f"{ratio:.2f}"] for result, peer, ratio in lost],
    )


def _goals(run: BenchmarkRun) -> Iterator[str]:
    yield "## Goals\n"
    yield "Each number is asked of every problem of its family. Two runs differ by about 15 percent."
    yield f"{REASONS}\n"
    rows = [report.verdict_row(verdict) for verdict in judge(run.results)]
    for row in rows:
        row[4] = f"`{row[4]}`"
    yield from _table(["family", "goal", "met by", "worst", "on", ""], rows)


def _pages(run: BenchmarkRun) -> Iterator[str]:
    if not run.training:
        return
    yield PAGES
    yield "\n".join(f"* {record.name}: {record.about}." for record in run.training) + "\n"
    head = ["network", "contender", "steps a second", "a step", "times the fastest other"]
    yield from _table(head, list(report.training_rows(run)))
    yield from _table(["what pages cost", "goal", "measured"], report.page_cost_rows(run))


def _results(run: BenchmarkRun) -> Iterator[str]:
    yield EVERY
    for op, results in run.by_op().items():
        yield f"### {op}\n"
        yield from _table(
            ["problem", "backblocks", *PEERS, "limit", "extra"],
            [_row(op, result) for result in results],
        )


def _row(op: str, result: Result) -> list[str]:
    ours = report.duration(result.ours) if result.ours else "not timed"
    limit = f"{report.duration(result.limit)}, {report.factor(result.of_limit)}"
    extra = report.megabytes(result.extra_bytes.get("backblocks"))
    line = result.line.removeprefix(op).strip()
    return [f"`{line}`", ours, *(_peer(result, peer) for peer in PEERS), limit, extra]


def _peer(result: Result, peer: str) -> str:
    best = result.best(peer)
    if best is None:
        reasons = [why for name, why in result.refused.items() if name.partition(",")[0] == peer]
        slow = next((why for why in reasons if why.startswith("too slow")), "")
        return slow.rpartition(": ")[2].removesuffix(" a call") or "-"
    text = f"{report.duration(best)}, {report.factor(result.faster_than(peer))}x"
    exact = result.best(peer, ("whole",))
    text = text if exact is not None and exact == best else f"*{text}*"
    part = result.best(peer, ("part",))
    return text if part is None else f"{text} ({report.duration(part)})"


def _how(run: BenchmarkRun) -> Iterator[str]:
    budget = vars(TimingBudget())
    yield HOW.format(
        **budget | {name: report.duration(budget[name]) for name in ("pause", "warmup_seconds")},
        tolerances=", ".join(f"{share:g} ({type})" for type, share in TOLERANCES.items()),
        differences="\n".join(f"  * {d.job}: {d.why}." for d in CAVEATS),
    )
    names = list(next(iter(run.limits.values())))
    rows = [
        [count, *(f"{found[name] / 1e9:.1f}" for name in names)]
        for count, found in run.limits.items()
    ]
    yield from _table(["threads", *(f"{name.replace(' ', ', G')}" for name in names)], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def main() -> None:
    run = BenchmarkRun.from_json(json.loads(Path(sys.argv[1]).read_text()))
    (DOCS / "speed.md").write_text(page(run))
    (DOCS / "speed.svg").write_text(chart.svg(run))


if __name__ == "__main__":
    main()
