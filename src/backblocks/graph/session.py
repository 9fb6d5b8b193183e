"""Runs graphs: what is fetched, everything it needs, and nothing else."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backblocks.errors import OpError, described
from backblocks.graph.program import Step, program
from backblocks.graph.ready import Compute, Ready
from backblocks.graph.scope import Graph, Scope
from backblocks.graph.symbol import Block, Symbol
from backblocks.ops._inputs import Array, as_typed
from backblocks.ops._op import flat
from backblocks.ops._spec import Spec

MOST_PROGRAMS = 64
"""Programs that a session remembers."""


class Cancelled(Exception):
    """A run was told to stop. Variables are as they were before it."""


@dataclass(frozen=True)
class Event:
    """What happened to a block: "started", "finished", "failed" or "skipped"."""

    kind: str
    block: Block
    seconds: float = 0.0
    bytes: int = 0


@dataclass(frozen=True)
class Report:
    """What the last run did."""

    executed: int
    seconds: float


class _Dead:
    """The value of a branch that was not taken."""

    def __repr__(self) -> str:
        return "<dead>"


DEAD: Any = _Dead()


class Session:
    """Runs blocks and keeps variables from one run to the next.

        session = bb.Session(page)
        loss_now, _ = session.run([loss, train], feeds={x: images})

    Symbols, or names such as "loss:output", say what to fetch. `targets` are blocks that are to run
    although nobody wants their values. A run that fails or is cancelled leaves the variables as they were.
    """

    def __init__(self, graph: Graph | Scope | None = None) -> None:
        self.graph = graph.graph if isinstance(graph, Scope) else graph
        self.report = Report(0, 0.0)
        self._values: dict[Block, Array] = {}
        self._programs: OrderedDict[Any, Ready] = OrderedDict()
        self._watchers: list[Callable[[Event], None]] = []
        self._cancelled = threading.Event()
        self._running = threading.Lock()

    # -- running ------------------------------------------------------------------------

    def run(
        self,
        fetches: Any,
        feeds: Mapping[Any, Any] | None = None,
        targets: Iterable[Any] = (),
    ) -> Any:
        """The value of a fetch, or a list of them for a list."""
        several = isinstance(fetches, list | tuple)
        wanted = [self._symbol(f, "fetches") for f in (fetches if several else [fetches])]
        fed = {self._symbol(s, "feeds"): value for s, value in (feeds or {}).items()}
        blocks = [self._block(target) for target in targets]
        arrays = [_fed(symbol, value) for symbol, value in fed.items()]
        with self._running:
            self._cancelled.clear()
            values = self._run(wanted, list(fed), arrays, blocks)
        return values if several else values[0]

    def cancel(self) -> None:
        """Stops the run that another thread is in, between two blocks."""
        self._cancelled.set()

    def watch(self, watcher: Callable[[Event], None]) -> Callable[[], None]:
        """Has `watcher` called with what happens to blocks; gives a function that ends it."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def _run(
        self, fetches: list[Symbol], feeds: list[Symbol], arrays: list[Array], targets: list[Block]
    ) -> list[Array]:
        begun = time.perf_counter()
        key = (
            tuple(map(id, fetches)),
            tuple(map(id, feeds)),
            tuple(b.number for b in targets),
            tuple((a.shape, a.dtype) for a in arrays),
        )
        ready = self._programs.get(key)
        if ready is None:
            ready = Ready(program(fetches, feeds, targets), arrays, (fetches, feeds))
            self._programs[key] = ready
            if len(self._programs) > MOST_PROGRAMS:
                self._programs.popitem(last=False)
        plan = ready.program
        slots: list[Any] = [None] * plan.slots
        for slot, value in ready.constants.items():
            slots[slot] = value
        for slot, array in zip(plan.fed, arrays, strict=True):
            slots[slot] = array
        for slot, block in plan.variables.items():
            slots[slot] = self.value(block) if slot in plan.read else self._values.get(block)
        with np.errstate(all="ignore"):  # infinities and NaN are answers
            executed = self._execute(ready, slots)
        values = [slots[slot] for slot in plan.fetched]
        for symbol, value in zip(fetches, values, strict=True):
            if value is DEAD:
                raise _mistake(
                    "cannot be fetched: it lies in a branch that was not taken",
                    symbol.name,
                    "Fetch what Merge gives, or make it a target.",
                )
        self._values |= {variable: slots[slot] for variable, slot in plan.written.items()}
        self.report = Report(executed, time.perf_counter() - begun)
        kept = {id(v) for v in self._values.values()} | {id(a) for a in arrays}
        kept |= {id(value) for value in ready.constants.values()}
        return [v.copy() if id(v) in kept else v for v in values]

    def _execute(self, ready: Ready, slots: list[Any]) -> int:
        watched, executed = bool(self._watchers), 0
        dead: set[Block] = set()
        cancelled = self._cancelled.is_set
        for step, compute in ready.steps:
            if cancelled():
                raise Cancelled("the run was cancelled")
            if ready.branches and _dies(step, slots, dead):
                if watched:
                    self._tell(Event("skipped", step.block))
                continue
            try:
                if watched:
                    self._watched(step, compute, slots)
                else:
                    compute(slots)
            except OpError as error:
                error.op = error.op or step.block.op.name
                error.block = error.block or step.block.name
                raise
            executed += 1
            for slot in step.drops:
                slots[slot] = None
        return executed

    def _watched(self, step: Step, compute: Compute, slots: list[Any]) -> None:
        self._tell(Event("started", step.block))
        begun = time.perf_counter()
        try:
            compute(slots)
        except BaseException:
            self._tell(Event("failed", step.block, time.perf_counter() - begun))
            raise
        size = sum(slots[slot].nbytes for slot in flat(step.gives))
        self._tell(Event("finished", step.block, time.perf_counter() - begun, size))

    def _tell(self, event: Event) -> None:
        for watcher in tuple(self._watchers):
            watcher(event)

    # -- variables ----------------------------------------------------------------------

    def value(self, variable: Block | Symbol | str) -> Array:
        """What a variable holds now. It gets its initial value when it is first asked for."""
        block = self._block(variable)
        if block not in self._values:
            if block.initial is None:
                raise _mistake(
                    "has no value yet",
                    block.label,
                    "Give it an initial value, or assign one first.",
                )
            (self._values[block],) = Session(self.graph)._run([block.initial], [], [], [])
        return self._values[block]

    def reset(self) -> None:
        """Lets every variable start again from its initial value."""
        self._values.clear()

    # -- what callers hand in -----------------------------------------------------------

    def _symbol(self, given: Any, arg: str) -> Symbol:
        if isinstance(given, Symbol):
            return given
        if isinstance(given, str) and self.graph is not None:
            return self.graph.symbol(given)
        if given is None:
            hint = "A gradient is None when what was differentiated does not depend on the input."
            raise _mistake("None cannot be fetched", arg, hint)
        raise _mistake(
            "must be a symbol, or a name in the graph",
            arg,
            "Use what an op gave for a symbol.",
            given,
        )

    def _block(self, given: Any) -> Block:
        if isinstance(given, Block):
            return given
        if isinstance(given, str) and self.graph is not None:
            return self.graph[given]
        return self._symbol(given, "targets").block


def _mistake(problem: str, arg: str, hint: str, *got: Any) -> OpError:
    if got:
        return OpError(
            problem, op="Session", arg=arg, got=described(type(got[0]).__name__), hint=hint
        )
    return OpError(problem, op="Session", arg=arg, hint=hint)


def _fed(symbol: Symbol, value: Any) -> Array:
    try:
        array = np.asarray(as_typed(value, symbol.dtype), order="C")
        known = symbol.shape
        fits = known is None or (
            len(known) == array.ndim
            and all(n in (None, m) for n, m in zip(known, array.shape, strict=True))
        )
        if array.dtype != symbol.dtype or not fits:
            raise OpError(
                f"must be fed {symbol.spec}",
                got=described(str(Spec.of(array))),
                hint="Convert it with x.astype, or reshape it.",
            )
    except OpError as error:
        error.op, error.arg, error.block = symbol.block.op.name, symbol.pin, symbol.block.name
        raise
    return array


def _dies(step: Step, slots: list[Any], dead: set[Block]) -> bool:
    """Whether a step lies in a branch that was not taken; then so does all it gives."""
    inputs = [slots[slot] for slot in flat(step.takes)]
    if step.block.op.name == "Merge":
        dies = all(value is DEAD for value in inputs)
    else:
        dies = any(value is DEAD for value in inputs) or any(b in dead for b in step.after)
    if dies:
        dead.add(step.block)
        for slot in flat(step.gives):
            slots[slot] = DEAD
        for slot, before in zip(reversed(step.gives), reversed(step.before), strict=False):
            slots[slot] = slots[before]
    return dies


def evaluate(fetches: Sequence[Symbol | None], feeds: Mapping[Symbol, Any]) -> list[Array]:
    """The values of `fetches` in a session that lasts for this call."""
    if not isinstance(fetches, list | tuple):
        raise _mistake("must be a list", "fetches", "Write [symbol], even for one.", fetches)
    values: list[Array] = Session().run(list(fetches), feeds)
    return values
