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
from backblocks.graph.program import Program, Step, program
from backblocks.graph.scope import Graph, Scope
from backblocks.graph.symbol import Block, Symbol
from backblocks.ops._inputs import Array, as_typed
from backblocks.ops._op import Plan, Value, each_value, flat
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
        self._programs: OrderedDict[Any, _Ready] = OrderedDict()
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
            ready = _Ready(program(fetches, feeds, targets), arrays, (fetches, feeds))
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

    def _execute(self, ready: _Ready, slots: list[Any]) -> int:
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

    def _watched(self, step: Step, compute: _Compute, slots: list[Any]) -> None:
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


# -- programs made ready for the shapes that are fed ----------------------------------------------

_Compute = Callable[[list[Any]], None]


class _Ready:
    """A program, and for each step a function that computes it in the slots.

    Shapes are inferred anew from what is fed, so that a step whose shapes are all known is checked once
    and not in every run.
    """

    def __init__(self, plan: Program, arrays: Sequence[Array], alive: Any) -> None:
        self.program = plan
        self.alive = alive  # the key of a program has ids, which others could get
        self.branches = any(step.block.op.name == "Switch" for step in plan.steps)
        specs: dict[int, Spec] = {
            slot: Spec(a.shape, a.dtype) for slot, a in zip(plan.fed, arrays, strict=True)
        }
        specs |= {slot: symbol.spec for slot, symbol in plan.constants.items()}
        for slot, block in plan.variables.items():
            specs[slot] = block.outputs[0].spec
        self.constants = {slot: symbol.value for slot, symbol in plan.constants.items()}
        self.steps: list[tuple[Step, _Compute]] = []
        for step in plan.steps:
            compute = self._compute(step, specs)
            foreseen = {slot: specs[slot].known for slot in flat(step.gives)}
            if foreseen and all(value is not None for value in foreseen.values()):
                self.constants |= foreseen
            else:
                self.steps.append((step, compute))

    def _compute(self, step: Step, specs: dict[int, Spec]) -> _Compute:
        block, op = step.block, step.block.op
        inputs = each_value(specs.__getitem__, step.takes)
        try:
            given = op.infer(inputs, block.attrs)
            if _is_small_and_known(block, inputs, given):
                arrays = each_value(lambda spec: spec.known, inputs)
                given = tuple(each_value(Spec.of, op.run(arrays, block.attrs)))
        except OpError as error:
            error.block = block.name
            raise
        specs.update(zip(flat(step.gives), flat(given), strict=False))
        for slot, before in zip(step.gives[len(given) :], step.before[len(given) :], strict=True):
            specs[slot] = specs[before]
        plan = _plan_for_ever(block, inputs)
        if op.writes:
            return _writing(step, plan is not None)
        return _checked(step) if plan is None else _by_plan(step, plan)


def _is_small_and_known(block: Block, inputs: Sequence[Value], outputs: Sequence[Value]) -> bool:
    """Whether a block gives the same few numbers in every run, such as sizes and axes."""
    if block.op.stateful or block.op.writes:
        return False
    return all(spec.known is not None for spec in flat(inputs)) and all(
        spec.shape is not None and len(spec.shape) <= 1 and (spec.shape or (1,))[0] in _FEW
        for spec in flat(outputs)
    )


_FEW = {None, *range(65)}


def _plan_for_ever(block: Block, inputs: Sequence[Value]) -> Plan | None:
    """A plan that holds in every run, if shapes alone decide it; None if values do."""
    unknown: list[Spec] = []

    def watched(spec: Spec) -> Spec:
        if spec.shape is None or None in spec.shape:
            unknown.append(spec)
        looked = None if spec.known is not None else lambda: unknown.append(spec)
        return Spec(spec.shape, spec.dtype, spec.known, looked)

    specs = each_value(watched, inputs)
    if unknown:
        return None
    outputs = block.op.infer(specs, block.attrs)
    if unknown or any(s.shape is None or None in s.shape for s in flat(outputs)):
        return None
    plan = block.op.plan(specs, block.attrs)
    return None if unknown else plan


def _by_plan(step: Step, plan: Plan) -> _Compute:
    op, takes, gives = step.block.op, step.takes, step.gives
    fill, makers = plan.fill, plan.makers
    simple = len(gives) == 1 and all(isinstance(slot, int) for slot in (*takes, *gives))
    if fill is not None and simple and len(makers) == 1:
        ((make,), (give,)) = makers, gives

        def in_short(slots: list[Any]) -> None:
            out = slots[give] = make()
            fill(*[slots[slot] for slot in takes], out)

        return in_short
    if fill is None and simple and not plan.empty and not op.writes:
        return _by_meaning(step, plan)

    def in_general(slots: list[Any]) -> None:
        arrays = each_value(slots.__getitem__, takes)
        _put(slots, gives, op.compute(plan, arrays))

    return in_general


def _by_meaning(step: Step, plan: Plan) -> _Compute:
    """For a step of one output without a kernel. What the meaning gives is taken as it is if it may be."""
    meaning, attrs, takes, (give,) = step.block.op.meaning, plan.attrs, step.takes, step.gives
    dtype = plan.specs[0].dtype

    def compute(slots: list[Any]) -> None:
        value = meaning(*[slots[slot] for slot in takes], **attrs)
        if type(value) is not np.ndarray or value.dtype is not dtype or value.base is not None:
            value = np.array(value, dtype, order="C")
        elif not value.flags.c_contiguous or any(value is slots[slot] for slot in takes):
            value = value.copy()
        slots[give] = value

    return compute


def _checked(step: Step) -> _Compute:
    """For a step whose shapes or values differ from run to run, or which has a state."""
    block, op = step.block, step.block.op

    def compute(slots: list[Any]) -> None:
        _put(slots, step.gives, op.run(each_value(slots.__getitem__, step.takes), block.attrs))

    return compute


def _writing(step: Step, checked: bool) -> _Compute:
    """For a step that changes variables."""
    op, attrs, takes, gives = step.block.op, step.block.attrs, step.takes, step.gives
    specs = [symbol.spec for symbol in step.block.inputs]
    dtypes = [s.dtype for s, pin in zip(specs, op.inputs, strict=True) if pin.name in op.writes]

    def compute(slots: list[Any]) -> None:
        arrays = [slots[slot] for slot in takes]
        if not checked:
            known = zip(arrays, specs, strict=True)
            op.infer([spec if a is None else Spec.of(a) for a, spec in known], attrs)
        values = op.values(op.meaning(*arrays, **attrs))
        for slot, value, dtype in zip(gives, values, dtypes, strict=True):
            slots[slot] = np.array(value, dtype, order="C")

    return compute


def _put(slots: list[Any], places: Sequence[Value], values: Sequence[Value]) -> None:
    for slot, value in zip(flat(places), flat(values), strict=True):
        slots[slot] = value


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
