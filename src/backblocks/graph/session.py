"""Sessions run graphs: the blocks that fetches and targets need, and no others. They keep variables."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NoReturn

import numpy as np

from backblocks.errors import OpError, OpMemoryError, described
from backblocks.graph.compile import CompiledProgram, MemoryEstimate
from backblocks.graph.events import DEAD, Cancelled, Event, Report, before_block
from backblocks.graph.executor import StepRunner, raise_named
from backblocks.graph.parallel_executor import ParallelExecutor
from backblocks.graph.program import (
    CompiledSteps,
    Program,
    Step,
    StepFunction,
    build_program,
    initial_values,
    missing_feeds,
)
from backblocks.graph.result_cache import CacheKey, ResultCache, digest
from backblocks.graph.scope import Graph, Scope
from backblocks.graph.symbol import Block, Symbol, holds_state
from backblocks.ops import _chunks, _files, _handles
from backblocks.ops._inputs import Array, as_typed
from backblocks.ops._kernels import Stop
from backblocks.ops._memory import (
    SMALL,
    MemoryBudget,
    available_bytes,
    is_available,
    memory_budget,
    retained_bytes,
)
from backblocks.ops._rng_state import RNG_STATE, seed_words
from backblocks.ops._spec import Spec, differing
from backblocks.ops.io import _safetensors as safetensors
from backblocks.ops.io.checkpoints import Tensors, checkpoint
from backblocks.threads import get_num_threads

MOST_PROGRAMS = 64
"""Compiled programs that a session keeps."""
MOST_FOLDED_KEYS = 1 << 16
"""Cache keys of constant-folded blocks that it keeps."""
# What every run asks for; a union takes longer to make than to use.
_SEVERAL = (list, tuple)
_ONE_TARGET = (str, Block, Symbol)


class Snapshot:
    """The values that a session kept at one moment, by name of block. They are shared with it, not copied: a
    session replaces a value that changes.
    """

    def __init__(self, values: dict[str, Array]) -> None:
        self.values = values

    @property
    def bytes(self) -> int:
        return sum(map(_size, self.values.values()))

    def names(self) -> list[str]:
        return list(self.values)

    def read(self, arg: str, name: str) -> Array:
        value: Array = _handles.fresh(self.values[name])
        return value


class Session:
    """Runs blocks and keeps variables from one run to the next.

        session = bb.Session(page)
        loss_now, _ = session.run([loss, train], feeds={x: images})

    Fetches are symbols, or names such as "loss:output". `targets` are blocks that run although their values
    are not fetched. A run that fails or is cancelled leaves the variables as they were.
    """

    def __init__(
        self,
        graph: Graph | Scope | None = None,
        *,
        cache_bytes: int = 1 << 28,
        memory_limit: int | None = None,
        seed: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        allow_files: bool | Literal["anywhere"] | None = None,
    ) -> None:
        """`cache_bytes` is the capacity of the result cache, for values of pure blocks; 0 turns it off.

        A run whose values need more than `memory_limit` bytes, or than the machine has, is refused. What
        the session keeps from run to run counts too: variables, queues, readers and cached values, which
        are evicted first.
        With a `seed`, random blocks that have none of their own draw numbers that follow from it and
        from their names: the same graph gives the same bits. RNG states continue from run to run.

        Names of files are relative to `folder`, which is that of the page for a session of a page. No name
        may lead out of it, and a run with blocks that touch files (`graph.touching_files()`) is refused
        unless `allow_files` is True, or "anywhere" for files outside the folder too. Without a folder names
        are relative to the working directory, and all files are allowed.
        """
        self.graph = None if graph is None else _graph_of(graph)
        self.report = Report()
        self.memory_limit = memory_limit
        self.seed = seed
        self._cache = ResultCache(cache_bytes)
        self.folder = None if folder is None else os.fspath(folder)
        self.allow_files = folder is None if allow_files is None else allow_files
        self._first_seed = _seed_for_initial_values(seed)
        self._values: dict[Block, Array] = {}
        self._sizes: dict[Block, int] = {}
        """Bytes of those values. They are counted only if there is a memory limit."""
        self._kept_bytes = 0
        """Their sum."""
        self._last_growers: dict[Block, Block] = {}
        """For each of those blocks the writer that last made its value larger."""
        self._digests: dict[Block, tuple[Array, CacheKey]] = {}
        self._programs: OrderedDict[Any, CompiledProgram] = OrderedDict()
        self._folded_keys: set[CacheKey] = set()
        """Cache keys of blocks that were constant-folded in an earlier program."""
        self._listeners: list[Callable[[Event], None]] = []
        self._notifying = threading.Lock()
        self._notified_thread: int | None = None
        """The thread in which a listener is being called."""
        self._stops: list[Stop] = []
        """The cancellation flags of all runs that were called and are not over; they take turns."""
        self._stop = Stop()
        """The flag of the run whose turn it is."""
        self._running = threading.Lock()

    def __reduce__(self) -> NoReturn:
        # Locks, compiled plans and open files of a process mean nothing in another.
        hint = 'Pickle its graph, and keep its variables in a file: session.save("values.safetensors").'
        raise OpError("cannot be pickled or copied", op="Session", hint=hint)

    # -- running ------------------------------------------------------------------------

    def run(
        self,
        fetches: Any,
        feeds: Mapping[Any, Any] | None = None,
        targets: Iterable[Any] = (),
        *,
        stop: Stop | None = None,
        missing: bool = False,
        borrow: bool = False,
    ) -> Any:
        """The value of a fetch, or a list of them for a list.

        Runs that several threads call take turns. Setting `stop` cancels the run, also before it was called,
        while `cancel` knows only of runs that were called. With `missing`, a fetch without a value is None:
        one in a branch that was not taken, or a variable that has none. Values that the session keeps are
        copied, unless the caller wants to `borrow` them: those must not be written to.
        """
        self._refuse_listeners("run")
        stop = Stop() if stop is None else stop
        self._stops.append(stop)
        try:
            return self._run_in_turn(stop, fetches, feeds, targets, missing, borrow)
        finally:
            self._stops.remove(stop)

    def _run_in_turn(
        self,
        stop: Stop,
        fetches: Any,
        feeds: Mapping[Any, Any] | None,
        targets: Iterable[Any],
        missing: bool,
        borrow: bool,
    ) -> Any:
        several = isinstance(fetches, _SEVERAL)
        wanted = [self.symbol(f, "fetches") for f in (fetches if several else [fetches])]
        fed = {} if feeds is None else self._symbols_fed(feeds)
        blocks = self._targets(targets)
        arrays = [_fed(symbol, value) for symbol, value in fed.items()]
        with self._running:
            self._stop = stop
            values = self._run(wanted, list(fed), arrays, blocks, missing, borrow)
        return values if several else values[0]

    def estimate(
        self,
        fetches: Iterable[Any] = (),
        feeds: Mapping[Any, Any] | None = None,
        targets: Iterable[Any] = (),
    ) -> MemoryEstimate:
        """How much memory such a run takes for values; nothing runs.

        Placeholders that are not fed count with the sizes they are declared with.
        """
        wanted = [self.symbol(fetch, "fetches") for fetch in fetches]
        blocks = self._targets(targets)
        specs: dict[Symbol, Array | Spec] = {}
        for symbol, value in ({} if feeds is None else self._symbols_fed(feeds)).items():
            specs[symbol] = _fed(symbol, value)
        specs |= {symbol: symbol.spec for symbol in missing_feeds(wanted, specs, blocks)}
        program = build_program(wanted, list(specs), blocks)
        return CompiledProgram(program, list(specs.values())).estimate

    def cancel(self) -> bool:
        """Ends every run that other threads have called: between two blocks, or inside a long kernel.

        Those that wait for their turn end too. Says whether there was one; a later run is not ended.
        """
        under_way = tuple(self._stops)
        for stop in under_way:
            stop.set()
        return bool(under_way)

    def subscribe(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Calls `listener` with the events of every run; gives a function that unsubscribes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def _run(
        self,
        fetches: list[Symbol],
        feeds: list[Symbol],
        arrays: list[Array],
        targets: list[Block],
        missing: bool = False,
        borrow: bool = False,
    ) -> list[Array]:
        begun = time.perf_counter()
        compiled = self._compiled(fetches, feeds, arrays, targets)
        program = compiled.program
        needed = self._needed(compiled)
        self._refuse_what_cannot_fit(compiled.estimate, needed)
        if compiled.files:
            self._refuse_files(compiled.files)
        slots = compiled.slots.copy()
        for slot, array in zip(program.fed, arrays, strict=True):
            slots[slot] = array
        for slot, block, read in compiled.variables:
            value = self._values.get(block)
            slots[slot] = self._value(block, self._stop) if value is None and read else value
        # Infinities and NaN are answers.
        with np.errstate(all="ignore"), self._memory_budget(needed):
            if compiled.brief:
                executed, cached, peak = self._stop.during(self._execute, compiled, slots)
            else:
                with self._files_from_folder():
                    executed, cached, peak = _chunks.run_cancellable(
                        self._stop, self._execute, compiled, slots
                    )
        values = [slots[slot] for slot in program.fetched]
        if missing:
            values = [None if value is DEAD else value for value in values]
        for symbol, value in () if missing else zip(fetches, values, strict=True):
            if value is DEAD:
                hint = "Fetch what Merge gives, or make it a target."
                rule = "cannot be fetched: it lies in a branch that was not taken"
                raise _of(symbol, rule, hint)
            if value is None:
                raise _no_value(symbol.block)
        if self._stop.is_set():
            raise Cancelled("the run was cancelled")
        # One call, so that not even Ctrl-C can leave some variables old and some new.
        new = {v: slots[slot] for v, slot in program.written.items() if slots[slot] is not None}
        if self.memory_limit is not None:
            self._count(new, program, self.memory_limit)
        self._values.update(new)
        for variable in new if self._digests else ():
            self._digests.pop(variable, None)  # it has the old value
        seconds = time.perf_counter() - begun
        self.report = Report(executed, cached, seconds, peak, self._cache.bytes)
        if borrow:
            return values
        fresh = compiled.never_kept if self._cache.limit else compiled.computed
        places = zip(values, program.fetched, strict=True)
        return [value if slot in fresh or value is None else value.copy() for value, slot in places]

    def _compiled(
        self, fetches: list[Symbol], feeds: list[Symbol], arrays: list[Array], targets: list[Block]
    ) -> CompiledProgram:
        shapes = tuple([(a.shape, a.dtype) for a in arrays]) if arrays else ()
        key = (tuple(fetches), tuple(feeds), tuple(targets), shapes)
        compiled = self._programs.get(key)
        if compiled is None:
            for symbol in fetches:
                if symbol.dtype == _handles.RESOURCE:
                    hint = "Fetch what a block reads from it, such as QueueSizeV2."
                    raise _of(symbol, "is a handle, which has no value to fetch", hint)
            compiled = CompiledProgram(build_program(fetches, feeds, targets), arrays)
            self._programs[key] = compiled
            if len(self._programs) > MOST_PROGRAMS:
                self._programs.popitem(last=False)
        return compiled

    def _execute(self, compiled: CompiledProgram, slots: list[Any]) -> tuple[int, int, int]:
        """Runs the steps that are not cached; gives the numbers of computed and cached ones, and the peak."""
        steps: CompiledSteps = compiled.steps
        total = len(compiled.program.steps)
        if self._cache.limit and compiled.cacheable.steps:
            steps = self._uncached_steps(compiled, slots)
        through = known = total - len(steps)
        new: set[Step] | None = None
        if compiled.folded:
            new = self._newly_folded(compiled)
            known -= len(new)
        notify = self._notify if self._listeners else None
        if notify is not None and through:
            running = {step for step, _ in steps}
            there = [step for step in compiled.program.steps if step not in running]
            self._notify_of_cached(there, new or set(), compiled.sizes, total)
        estimate = compiled.estimate
        if notify is None and (serial := compiled.serial(steps)) is not None:
            try:
                serial.run(slots, self._stop, before_block.get())
            except Exception as error:
                raise_named(error, steps[serial.position][0], slots)
            return total - known, known, estimate.peak
        run = StepRunner(slots, notify, self._stop, through, total)
        heavy = compiled.heavy.intersection(step for step, _ in steps)
        if len(heavy) > 1 and get_num_threads() > 1:
            ahead = self._most_bytes_ahead(estimate)
            parallel = ParallelExecutor(run, steps, compiled.program, heavy, compiled.sizes, ahead)
            peak = parallel.run(estimate.resident)
        else:
            peak = run.run_serially(steps, estimate.resident)
        return through - known + len(run.executed), known, peak

    def _newly_folded(self, compiled: CompiledProgram) -> set[Step]:
        """The constant-folded steps of a program that no earlier one had folded."""
        if len(self._folded_keys) > MOST_FOLDED_KEYS:
            self._folded_keys.clear()
        new = {step for step, key in compiled.folded.items() if key not in self._folded_keys}
        self._folded_keys.update(compiled.folded.values())
        compiled.folded.clear()
        return new

    def _notify_of_cached(
        self, steps: Sequence[Step], new: set[Step], sizes: Mapping[int, int], total: int
    ) -> None:
        for done, step in enumerate(steps, 1):
            if step in new:
                size = sum(sizes[slot] for slot in step.defs)
                self._notify(Event("started", step.block, done=done - 1, total=total))
                self._notify(Event("finished", step.block, bytes=size, done=done, total=total))
            else:
                self._notify(Event("cached", step.block, done=done, total=total))

    def _uncached_steps(self, compiled: CompiledProgram, slots: list[Any]) -> CompiledSteps:
        """The steps that must run; cached values of the others are put into the slots."""
        cacheable, variables = compiled.cacheable, compiled.program.variables
        sources = {
            slot: self._digest(variables[slot]) if slot in variables else digest(slots[slot])
            for slot in cacheable.sources
        }
        keys = cacheable.keys(sources)
        missing = cacheable.missing(keys, self._cache, slots)
        if not missing:
            return compiled.uncacheable
        steps = []
        for step, compute in compiled.steps:
            if step in missing:
                steps.append((step, _caching(step, compute, keys[step], self._cache)))
            elif step in cacheable.others:
                steps.append((step, compute))
        return steps

    def _digest(self, variable: Block) -> CacheKey:
        """The digest of a variable's value, computed again only when it was written."""
        value = self._values[variable]
        known = self._digests.get(variable)
        if known is None or known[0] is not value:
            known = self._digests[variable] = value, digest(value)
        return known[1]

    def _needed(self, compiled: CompiledProgram) -> int:
        """Bytes that a run takes; with a memory limit also what the session keeps."""
        estimate = compiled.estimate
        if self.memory_limit is None:
            return estimate.serial_peak - estimate.resident
        self._count_all()
        known = ((self._sizes.get(block), slot) for slot, block, _ in compiled.variables)
        counted = sum(min(size, compiled.sizes[slot]) for size, slot in known if size is not None)
        return estimate.serial_peak + self._kept_bytes - counted

    def _count_anew(self) -> None:
        """Invalidates the counted bytes: values were changed by something else than a run."""
        self._sizes.clear()
        self._last_growers.clear()
        self._kept_bytes = 0

    def _count_all(self) -> None:
        """Counts what the session keeps, where it was not counted yet."""
        if len(self._sizes) == len(self._values) or self.memory_limit is None:
            return
        self._sizes = {block: _size(value) for block, value in self._values.items()}
        self._kept_bytes = sum(self._sizes.values())

    def _count(self, new: Mapping[Block, Array], program: Program, limit: int) -> None:
        """Counts what a run is about to keep, and refuses it if that is too much."""
        self._count_all()
        sizes = {block: _size(value) for block, value in new.items()}
        grown = {block: size - self._sizes.get(block, 0) for block, size in sizes.items()}
        total = self._kept_bytes + sum(grown.values())
        if total > limit and total > self._kept_bytes:
            variable = max(grown, key=lambda block: grown[block])
            error = _too_much_kept(total, limit)
            error.op, error.block = variable.op.name, program.writers[variable].label
            raise error
        self._sizes |= sizes
        self._last_growers |= {
            block: program.writers[block] for block, size in grown.items() if size > 0
        }
        self._kept_bytes = total

    @contextmanager
    def _memory_budget(self, needed: int) -> Iterator[None]:
        """Sets the memory budget that states and outputs of unknown size are reserved from."""
        if self.memory_limit is None:
            yield
            return
        self._cache.shrink_to(self.memory_limit - needed)
        before = memory_budget.set(MemoryBudget(self.memory_limit, self.memory_limit - needed))
        try:
            yield
        finally:
            memory_budget.reset(before)

    def _refuse_what_cannot_fit(self, estimate: MemoryEstimate, needed: int) -> None:
        if needed <= (self.memory_limit if self.memory_limit is not None else SMALL):
            return
        if self.memory_limit is None and is_available(needed):
            return
        limit = available_bytes() if self.memory_limit is None else self.memory_limit
        error = OpMemoryError(
            f"needs about {needed / 2**20:,.0f} MiB at one time, and {limit / 2**20:,.0f} MiB may be used",
            op="Session",
            arg="run",
            hint="Feed smaller tensors, or raise memory_limit.",
        )
        keeper = max(self._sizes, key=lambda block: self._sizes[block], default=None)
        if keeper is not None and self._sizes[keeper] > estimate.largest_bytes:
            error.block = self._last_growers.get(keeper, keeper).label
            error.hint = (
                f"{keeper.label} keeps {self._sizes[keeper] / 2**20:,.0f} MiB since this block ran: "
                "keep less, or raise memory_limit."
            )
        elif estimate.largest is not None:
            error.block = estimate.largest.label
            largest = f"{estimate.largest_bytes / 2**20:,.0f} MiB"
            error.hint = (
                f"The largest value, of {largest}, is that of the block named here: make it smaller, or "
                "raise memory_limit."
            )
        raise error

    def _most_bytes_ahead(self, estimate: MemoryEstimate) -> int:
        """Bytes that parallel steps may compute ahead of the serial order."""
        if self.memory_limit is not None:
            return min(estimate.peak, self.memory_limit) - estimate.serial_peak
        memory_budget = is_available(estimate.peak - estimate.resident)
        return estimate.peak - estimate.serial_peak if memory_budget else 0

    def _refuse_files(self, blocks: Sequence[Block]) -> None:
        if not self.allow_files:
            names = ", ".join(
                f"{block.label} ({block.op.name} {block.op.files})" for block in blocks
            )
            raise OpError(
                "must be allowed to touch files",
                op="Session",
                arg="run",
                got=described(names),
                hint="Look at these blocks, then say yes with allow_files=True.",
            )

    @contextmanager
    def _files_from_folder(self) -> Iterator[None]:
        """Resolves names of files in the session's folder, also on threads that the run starts."""
        here = _files.FileRoot()
        if self.folder is not None:
            here = _files.FileRoot(self.folder, closed=self.allow_files != "anywhere")
        before = _files.file_root.set(here)
        try:
            yield
        finally:
            _files.file_root.reset(before)

    def _notify(self, event: Event) -> None:
        with self._notifying:  # blocks that run in parallel have threads of their own
            self._notified_thread = threading.get_ident()
            try:
                for listener in tuple(self._listeners):
                    listener(event)
            finally:
                self._notified_thread = None

    @property
    def is_notifying(self) -> bool:
        """Whether the calling thread is inside a listener, for which the run waits."""
        return self._notified_thread is not None and self._notified_thread == threading.get_ident()

    def _refuse_listeners(self, what: str) -> None:
        """Refuses calls out of a listener that would wait for the run which waits for the listener."""
        if self.is_notifying:
            hint = "Note what is to be done, and do it after the run."
            raise _mistake("cannot be called by a listener while its run goes on", what, hint)

    # -- variables ----------------------------------------------------------------------

    def value(self, variable: Block | Symbol | str) -> Array:
        """The current value of a variable, which is its initial value at first.

        For a queue or a reader it is a handle of a copy: what is done to it changes nothing here.
        """
        block = self._block(variable)
        if not (holds_state(block) or block.op.initial_rng_state):
            hint = "Fetch what it gives with run."
            raise _mistake(f"{block.label} is no variable, and keeps nothing", "value", hint)
        held: Array = _handles.fresh(self._value(block, Stop()))
        return held

    def _value(self, block: Block, stop: Stop) -> Array:
        value = self._values.get(block)
        if value is None:  # a run in another thread may have given it one meanwhile
            value = self._values.setdefault(block, self._start(block, stop))
        return value

    def _start(self, block: Block, stop: Stop) -> Array:
        """The initial value of a variable, handle or RNG state."""
        if block.op.initial_rng_state is not None:
            source = seed_words(self.seed, block.name or str(block.number))
            start: Array = block.op.initial_rng_state(source, **block.attrs)
            return start
        if not block.op.fed:
            (start,) = block.op.run([], block.attrs)
            return start
        if block.initial is None:
            raise _no_value(block)
        return self._initial_value(block, stop)

    def _initial_value(self, variable: Block, stop: Stop) -> Array:
        """The initial value of a variable, the same whenever it is first computed.

        Random blocks give each variable that starts from them the same numbers, and a variable that
        starts from another one gets what that started from.
        """
        how: Any = {"folder": self.folder, "allow_files": self.allow_files}
        how |= {"memory_limit": self.memory_limit}
        values: dict[Block, Array] = {}
        for each, initial in initial_values(variable).items():
            first = Session(self.graph, cache_bytes=0, seed=self._first_seed, **how)
            first._values.update(values)
            first._stop = stop
            (values[each],) = first._run([initial], [], [], [])
        return values[variable]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes variables and RNG states into a safetensors file, by name of block.

        The file changes whole or not at all. Queues and readers are not in it.
        """
        self._refuse_listeners("save")
        if os.fsdecode(path).endswith((".npz", ".npy")):
            hint = "Let its name end in .safetensors; restore also reads what np.savez wrote."
            raise _mistake("must not have a name of NumPy's, as it is no such file", "path", hint)
        with (
            self._running,
            _naming_path(),
            _files.open_for_writing("path", os.fsencode(path)) as file,
        ):
            held = [b for b in self._savable() if b in self._values or _has_start(b)]
            safetensors.write(file, {block.name: self._value(block, Stop()) for block in held})

    def snapshot(self) -> Snapshot:
        """All that the session keeps from run to run: variables, RNG states, queues and readers."""
        self._refuse_listeners("snapshot")
        with self._running:
            held = [b for b in self._savable() if b in self._values or _has_start(b)]
            values = {block.name: self._value(block, Stop()) for block in held}
            states = {b.name: _handles.fresh(v) for b, v in self._values.items() if _is_handle(b)}
            return Snapshot(values | states)

    def restore(self, path: str | os.PathLike[str] | Snapshot) -> None:
        """Reads variables from a file of `save`, of np.savez or from TensorFlow's checkpoint; or goes back to
        a snapshot.

        Every variable that has an initial value must be there, with its dtype and shape, or all stay as
        they are. A snapshot brings queues and readers back too, and takes what it does not have away.
        """
        self._refuse_listeners("restore")
        with self._running:
            if isinstance(path, Snapshot):
                kept = [b for b in self.graph or () if _is_kept_handle(b) and b.name in path.values]
                self._values = self._saved_values(path, kept)
            else:
                with _naming_path(), checkpoint("path", os.fsencode(path)) as saved:
                    self._values.update(self._saved_values(saved))
            self._count_anew()

    def _saved_values(self, saved: Tensors, more: Sequence[Block] = ()) -> dict[Block, Array]:
        """What was saved of each variable, and of these blocks."""
        arg = "snapshot" if isinstance(saved, Snapshot) else "path"
        there = set(saved.names())
        wanted = [b for b in self._savable() if b.name in there or _has_start(b)]
        with self._memory_budget(self._kept_bytes):
            new = {block: _saved_value(saved, block, arg) for block in [*wanted, *more]}
        if self.memory_limit is not None:
            total = sum(map(_size, (self._values | new).values()))
            if total > self.memory_limit:
                error = _too_much_kept(total, self.memory_limit)
                error.op, error.arg = "Session", arg
                raise error
        return new

    def _savable(self) -> list[Block]:
        """The blocks whose values a file can hold."""
        if self.graph is None:
            raise _mistake("needs a graph", "save", "Make it of one: bb.Session(page).")
        return [
            b
            for b in self.graph
            if b.op.initial_rng_state or (holds_state(b) and not _is_handle(b))
        ]

    def reset(self) -> None:
        """Resets every variable to its initial value, empties every queue, and reseeds every RNG.

        A run in another thread comes to its end first.
        """
        self._refuse_listeners("reset")
        with self._running:
            self._values.clear()
            self._count_anew()
            self._digests.clear()
            self._first_seed = _seed_for_initial_values(self.seed)

    def use(self, graph: Graph | Scope) -> None:
        """Replaces the graph, such as by that of an edited page.

        Variables with the name, dtype and shape of an earlier one keep its value. Cached values
        stay valid, since their keys are digests of content.
        """
        new = _graph_of(graph)
        kept: dict[Block, Array] = {}
        self._refuse_listeners("use")
        with self._running:
            for block, value in self._values.items():
                other = new.blocks.get(block.name)
                if other is not None and other.op is block.op and other.attrs == block.attrs:
                    kept[other] = value
            self.graph, self._values = new, kept
            self._count_anew()
            self._programs.clear()
            self._digests.clear()

    def clear_cache(self) -> None:
        """Clears the result cache."""
        self._cache.clear()

    # -- what callers hand in -----------------------------------------------------------

    def symbol(self, given: Any, arg: str = "fetches") -> Symbol:
        """The symbol itself, or the one that a name such as "loss:output" stands for."""
        if isinstance(given, Symbol):
            return given
        if isinstance(given, str) and self.graph is not None:
            symbol: Symbol = _named(self.graph.symbol, given, arg)
            return symbol
        if given is None:
            hint = "A gradient is None when what was differentiated does not depend on the input."
            raise _mistake("None cannot be fetched", arg, hint)
        raise _mistake(
            "must be a symbol, or a name in the graph",
            arg,
            "Use what an op gave for a symbol.",
            given,
        )

    def _symbols_fed(self, feeds: Any) -> dict[Symbol, Any]:
        if not isinstance(feeds, Mapping):
            hint = "Write {symbol or name: value}."
            raise _mistake("must say which symbol gets which value", "feeds", hint, feeds)
        found: dict[Symbol, Any] = {}
        for given, value in feeds.items():
            symbol = self.symbol(given, "feeds")
            if symbol in found:
                raise _mistake(f"must feed {symbol.name} once", "feeds", "Leave one of them out.")
            found[symbol] = value
        return found

    def _targets(self, targets: Any) -> list[Block]:
        if isinstance(targets, _ONE_TARGET) or not isinstance(targets, Iterable):
            hint = "Write [target], even for one."
            raise _mistake("must be a list of blocks", "targets", hint, targets)
        blocks: list[Block] = []
        for target in targets:
            if isinstance(target, str) and self.graph is not None:
                blocks += _named(self.graph.named, target, "targets")
            else:
                blocks.append(self._block(target))
        return blocks

    def _block(self, given: Any) -> Block:
        if isinstance(given, Block):
            return given
        if isinstance(given, str) and self.graph is not None:
            block: Block = _named(self.graph.__getitem__, given, "variable")
            return block
        return self.symbol(given, "targets").block


def _graph_of(given: Any) -> Graph:
    found = given.graph if isinstance(given, Scope) else given
    if isinstance(found, Graph):
        return found
    hint = "Use the scope that it was made in, or the graph of a page."
    raise _mistake("must be a graph or a scope", "graph", hint, given)


def _named(find: Callable[[str], Any], name: str, arg: str) -> Any:
    try:
        return find(name)
    except OpError as error:
        error.op, error.arg = "Session", arg
        raise


def _seed_for_initial_values(seed: int | None) -> int:
    return seed_words()[0] if seed is None else seed


def _is_handle(block: Block) -> bool:
    return bool(block.outputs[0].dtype == _handles.RESOURCE)


def _is_kept_handle(block: Block) -> bool:
    return holds_state(block) and _is_handle(block)


def _has_start(block: Block) -> bool:
    return block.op.initial_rng_state is not None or block.initial is not None


@contextmanager
def _naming_path() -> Iterator[None]:
    try:
        yield
    except OpError as error:
        error.op = error.op or "Session"
        raise


def _size(value: Array) -> int:
    """The bytes of a variable or of the state behind a handle."""
    handle = value.dtype == _handles.RESOURCE
    return _handles.state_in(value).nbytes if handle else retained_bytes(value)


def _too_much_kept(total: int, limit: int) -> OpMemoryError:
    return OpMemoryError(
        f"would have the session keep {total / 2**20:,.1f} MiB, and {limit / 2**20:,.1f} MiB may be used",
        hint="Keep less from run to run, or raise memory_limit.",
    )


def _saved_value(saved: Tensors, block: Block, arg: str) -> Array:
    spec = RNG_STATE if block.op.initial_rng_state else block.outputs[0].spec
    if block.name not in saved.names():
        raise _mistake(
            f"must have a tensor for the variable {block.name}",
            arg,
            "Save it from the same page, or set the variable by Assign.",
        )
    value = saved.read(arg, block.name)
    fits = spec.shape is None or len(spec.shape) == value.ndim
    fits = fits and all(n in (None, m) for n, m in zip(spec.shape or (), value.shape, strict=False))
    if value.dtype != spec.dtype or not fits:
        raise OpError(
            f"must have {spec} for the variable {block.name}",
            op="Session",
            arg=arg,
            got=described(str(Spec.of(value))),
            hint="Save it from the same page, or set the variable by Assign.",
        )
    return value


def _caching(step: Step, compute: StepFunction, key: CacheKey, known: ResultCache) -> StepFunction:
    gives = step.defs

    def compute_and_cache(slots: list[Any]) -> None:
        compute(slots)
        known.put(key, tuple(slots[slot] for slot in gives))

    return compute_and_cache


def _mistake(problem: str, arg: str, hint: str, *got: Any) -> OpError:
    if got:
        return OpError(
            problem, op="Session", arg=arg, got=described(type(got[0]).__name__), hint=hint
        )
    return OpError(problem, op="Session", arg=arg, hint=hint)


def _no_value(variable: Block) -> OpError:
    hint = "Give it an initial value, or assign one first."
    return _of(variable.outputs[0], "has no value yet", hint)


def _of(symbol: Symbol, problem: str, hint: str) -> OpError:
    error = OpError(problem, op=symbol.block.op.name, arg=symbol.pin, hint=hint)
    error.block = symbol.block.name
    return error


def _fed(symbol: Symbol, value: Any) -> Array:
    try:
        if symbol.dtype == _handles.RESOURCE:
            hint = "Feed what goes into it, or what is read from it."
            raise OpError("is a handle and cannot be fed", hint=hint)
        array = np.asarray(as_typed(value, symbol.dtype), order="C")
        known = symbol.shape
        fits = known is None or (
            len(known) == array.ndim
            and all(n in (None, m) for n, m in zip(known, array.shape, strict=True))
        )
        if array.dtype != symbol.dtype or not fits:
            raise OpError(
                f"must be fed {symbol.spec}",
                axis=differing(array.shape, known),
                got=described(str(Spec.of(array))),
                hint="Convert it with x.astype, or reshape it.",
            )
    except OpError as error:
        error.op, error.arg, error.block = symbol.block.op.name, symbol.pin, symbol.block.name
        raise
    return array


def evaluate(
    fetches: Sequence[Symbol | None], feeds: Mapping[Symbol, Any] | None = None
) -> list[Array]:
    """The values of `fetches` in a session that lasts for this call."""
    if not isinstance(fetches, list | tuple):
        raise _mistake("must be a list", "fetches", "Write [symbol], even for one.", fetches)
    values: list[Array] = Session(cache_bytes=0).run(list(fetches), feeds)
    return values
