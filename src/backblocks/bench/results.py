"""Results of a benchmark run, as JSON and back, with the ratios derived from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from backblocks.bench.peers import OURS
from backblocks.bench.problem import Problem, parse

VERSION = 2
"""The version of the JSON format."""


@dataclass(frozen=True)
class Timing:
    """Seconds per call of one contender."""

    peer: str
    job: str
    median: float
    least: float
    samples: int
    why: str = ""


@dataclass
class Result:
    """Timings of one problem. `limit` is the least seconds that the machine's roofline allows."""

    line: str
    times: dict[str, Timing] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    stream: float = 0.0
    peak: float = 0.0  # operations a second
    extra_bytes: dict[str, int] = field(default_factory=dict)
    first_call: float | None = None  # our seconds on a shape never seen before, of tiny problems

    @property
    def problem(self) -> Problem:
        return parse(self.line)

    @property
    def ours(self) -> float | None:
        """Seconds of backblocks, called as users do."""
        time = self.times.get(OURS)
        return time.median if time else None

    def best(self, peer: str, jobs: tuple[str, ...] = ("whole", "same work")) -> float | None:
        """The best median of a peer's contenders that do one of these jobs."""
        medians = [t.median for t in self.times.values() if t.peer == peer and t.job in jobs]
        return min(medians, default=None)

    @property
    def peers(self) -> list[str]:
        found = {t.peer: None for t in self.times.values() if t.peer != OURS}
        return [peer for peer in found if self.best(peer) is not None]

    def faster_than(self, peer: str) -> float | None:
        """How many times faster we are than a peer."""
        theirs = self.best(peer)
        return theirs / self.ours if theirs and self.ours else None

    @property
    def faster_than_any(self) -> float | None:
        """How many times faster we are than the fastest peer that does the same job."""
        ratios = [ratio for peer in self.peers if (ratio := self.faster_than(peer))]
        return min(ratios, default=None)

    @property
    def limit(self) -> float:
        """The longer of moving the bytes and of the operations, without those on padding."""
        return max(self.stream, self.problem.flops / self.peak if self.peak else 0.0)

    @property
    def of_limit(self) -> float | None:
        return self.limit / self.ours if self.ours and self.limit else None

    @property
    def of_nominal_limit(self) -> float | None:
        """The same with operations counted as usual, padding included."""
        flops = self.problem.nominal_flops
        limit = max(self.stream, flops / self.peak if self.peak else 0.0)
        return limit / self.ours if self.ours and limit else None

    @property
    def compute_bound(self) -> bool:
        return bool(self.peak) and self.problem.flops / self.peak > self.stream

    def ratio_to_variant(self, caveat: str) -> float | None:
        """Our time relative to the variant of the problem in f32, or with the channels last."""
        variants = [t.median for t in self.times.values() if t.why == caveat]
        return self.ours / variants[0] if variants and self.ours else None

    def as_json(self) -> dict[str, Any]:
        return {
            "problem": self.line,
            "times": {name: asdict(time) for name, time in self.times.items()},
            "refused": self.refused,
            "stream": self.stream,
            "peak": self.peak,
            "extra_bytes": self.extra_bytes,
            "first_call": self.first_call,
            # Read off the above, for those who read the file without this code.
            "faster_than": {peer: self.faster_than(peer) for peer in self.peers},
            "limit": self.limit,
            "of_limit": self.of_limit,
        }

    @staticmethod
    def from_json(record: dict[str, Any]) -> Result:
        return Result(
            record["problem"],
            {name: Timing(**time) for name, time in record["times"].items()},
            record["refused"],
            record["stream"],
            record["peak"],
            record["extra_bytes"],
            record.get("first_call"),
        )


@dataclass
class TrainingResult:
    """Seconds per training step of one network, by contender."""

    name: str
    about: str
    times: dict[str, Timing] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def ours(self) -> float | None:
        time = self.times.get(OURS)
        return time.median if time else None

    @property
    def faster_than_any(self) -> float | None:
        """How many times faster we are than the fastest of the others."""
        theirs = [time.median for time in self.times.values() if time.peer != OURS]
        return min(theirs) / self.ours if theirs and self.ours else None

    @staticmethod
    def from_json(record: dict[str, Any]) -> TrainingResult:
        times = {name: Timing(**time) for name, time in record["times"].items()}
        return TrainingResult(record["name"], record["about"], times, record["refused"])


@dataclass(frozen=True)
class PageCosts:
    """Overhead of pages: per block in a run, of opening and checking, and growth of memory."""

    block_seconds: float
    opening_seconds: float
    growth_bytes: int


@dataclass
class BenchmarkRun:
    """A run of the benchmark: the machine, its roofline by number of threads, and all results."""

    machine: dict[str, Any]
    versions: dict[str, str]
    absent: dict[str, str]
    threads: int
    seconds: float
    limits: dict[str, dict[str, float]]
    results: list[Result] = field(default_factory=list)
    training: list[TrainingResult] = field(default_factory=list)
    page_costs: PageCosts | None = None

    def by_op(self) -> dict[str, list[Result]]:
        groups: dict[str, list[Result]] = {}
        for result in self.results:
            groups.setdefault(result.problem.op, []).append(result)
        return groups

    def as_json(self) -> dict[str, Any]:
        head = {key: value for key, value in vars(self).items() if key not in _PARTS}
        return {
            "version": VERSION,
            **head,
            "results": [result.as_json() for result in self.results],
            "learning": [asdict(each) for each in self.training],
            "page_costs": self.page_costs and asdict(self.page_costs),
        }

    @staticmethod
    def from_json(record: dict[str, Any]) -> BenchmarkRun:
        if record.get("version") != VERSION:
            raise ValueError(
                f"results: must be of version {VERSION}; got {record.get('version')}. Run the benchmark anew."
            )
        results = [Result.from_json(each) for each in record["results"]]
        training = [TrainingResult.from_json(each) for each in record["learning"]]
        costs = record["page_costs"] and PageCosts(**record["page_costs"])
        head = {key: record[key] for key in BenchmarkRun.__dataclass_fields__ if key not in _PARTS}
        return BenchmarkRun(**head, results=results, training=training, page_costs=costs)


_PARTS = ("results", "training", "page_costs")
