"""Compilation of programs for the shapes that are fed: each step becomes a function on the slots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backblocks.errors import BackblocksError
from backblocks.graph.events import DEAD, before_block
from backblocks.graph.program import CompiledSteps, Program, Step, StepFunction, dependents_of
from backblocks.graph.result_cache import BRANCHING, CacheableSteps, CacheKey, folded_key
from backblocks.graph.symbol import Block
from backblocks.ops._handles import fresh
from backblocks.ops._inputs import Array
from backblocks.ops._kernels import Instruction, SerialExecutor
from backblocks.ops._op import Value
from backblocks.ops._plan import CopyKernel, Plan
from backblocks.ops._rng_state import RNG_STATE, using_rng_state
from backblocks.ops._spec import Spec, is_known
from backblocks.ops._values import each_value, flat


class CompiledProgram:
    """A program, and for each step a function that computes it in the slots.

    Shapes are inferred anew from what is fed, so that a step whose shapes are all known is checked once
    and not in every run. Steps whose inputs are statically known are computed here: constant folding.
    """

    def __init__(self, program: Program, arrays: Sequence[Array | Spec]) -> None:
        self.program = program
        specs: dict[int, Spec] = {
            slot: Spec(a.shape, a.dtype) for slot, a in zip(program.fed, arrays, strict=True)
        }
        specs |= {slot: symbol.spec for slot, symbol in program.constants.items()}
        for slot, block in program.variables.items():
            specs[slot] = RNG_STATE if block.op.initial_rng_state else block.outputs[0].spec
        self.constants: dict[int, Any] = {
            slot: symbol.value for slot, symbol in program.constants.items()
        }
        self.steps: list[tuple[Step, StepFunction]] = []
        """Steps and what computes them, without those that were folded."""
        self.folded: dict[Step, CacheKey] = {}
        """Constant-folded steps, until a run has counted them as computed."""
        listener = before_block.get()
        for step in program.steps:
            if listener is not None:
                listener(step.block.number)
            compute = self._compile(step, specs)
            known = {slot: specs[slot].known for slot in step.defs}
            lives = not (step.block.op.writes or step.may_be_dead)
            if known and lives and all(value is not None for value in known.values()):
                self.constants |= known
                inputs = each_value(specs.__getitem__, step.inputs)
                self.folded[step] = folded_key(step.block, inputs)
            else:
                self.steps.append((step, compute))
        self.slots: list[Any] = [self.constants.get(slot) for slot in range(program.slots)]
        """The slots as they are before a run that is fed nothing and has no variables."""
        self.variables = [
            (slot, block, slot in program.read) for slot, block in program.variables.items()
        ]
        """Slots of variables, and whether they must have a value."""
        steps = [step for step, _ in self.steps]
        blocks = (*program.variables.values(), *(step.block for step in steps))
        self.files = [block for block in blocks if block.op.files]
        """Blocks that touch files, which a run must be allowed."""
        self.cacheable = CacheableSteps(program, steps, self.constants)
        self.sizes = {slot: _size(spec) for slot, spec in specs.items()}
        """Bytes of values, as far as they are known."""
        all_known = all(is_known(spec.shape) for spec in specs.values())
        self.heavy = _parallel_steps(steps, self.sizes)
        self.estimate = MemoryEstimate.of(steps, self.sizes, all_known, bool(self.heavy))
        self.brief = all_known and not self.files and self.estimate.peak <= HEAVY
        """Whether values are so small, and no file is touched, that only kernels ask whether to stop."""
        self.computed = {slot for step in steps if not step.block.op.writes for slot in step.defs}
        """Slots of values that the run makes and no variable keeps."""
        self.never_kept = self.computed - self.cacheable.producer.keys()
        """Slots of `computed` that the result cache does not keep either."""
        self.uncacheable = [each for each in self.steps if each[0] in self.cacheable.others]
        """Steps that run every time, and what computes them."""
        self._serial: dict[int, SerialExecutor] = {}
        if not (self.heavy or any(step.may_be_dead for step in steps)) and all_known:
            buffers = _preallocate(self.steps, self.cacheable.others)
            for slot, array in buffers.items():
                self.slots[slot] = array
            for each in (self.steps, self.uncacheable):
                self._serial[id(each)] = _serial_executor(each, buffers)

    def serial(self, steps: CompiledSteps) -> SerialExecutor | None:
        """The native executor of all steps or of the uncacheable ones, if none has a branch or is heavy."""
        return self._serial.get(id(steps))

    def _compile(self, step: Step, specs: dict[int, Spec]) -> StepFunction:
        block, op = step.block, step.block.op
        inputs = each_value(specs.__getitem__, step.inputs)
        try:
            given = op.infer(inputs, block.attrs)
            if _is_foldable(block, inputs, given):
                arrays = each_value(lambda spec: spec.known, inputs)
                given = tuple(each_value(Spec.of, op.run(arrays, block.attrs)))
        except BackblocksError as error:
            error.block = block.name
            raise
        specs.update(zip(flat(step.outputs), flat(given), strict=True))
        for change in step.updates:
            specs.setdefault(change.after, specs[change.before])
        if op.replaces and step.may_be_dead:  # it is the old value or the new one
            for change, new in zip(step.updates, flat(given), strict=True):
                old = specs[change.before]
                specs[change.after] = new if new == old else Spec(None, new.dtype)
        if op.name in BRANCHING:
            return _switching(step) if op.name == "Switch" else _merging(step)
        plan = _static_plan(block, inputs)
        if op.initial_rng_state is not None:
            return _with_rng_state(step, plan)
        if op.gives_back:
            return _writing(step, plan)
        if op.writes:
            return _changing_state(step)
        return _planning(step) if plan is None else _planned(step, plan)


def _is_foldable(block: Block, inputs: Sequence[Value], outputs: Sequence[Value]) -> bool:
    """Whether a block can be constant-folded: its inputs are statically known and small, such as sizes."""
    if block.op.stateful or block.op.writes or block.op.name in BRANCHING:
        return False
    return all(spec.known is not None for spec in flat(inputs)) and all(
        spec.shape is not None and _size(spec) <= FEW_BYTES for spec in flat((*inputs, *outputs))
    )


FEW_BYTES = 1 << 16


def _static_plan(block: Block, inputs: Sequence[Value]) -> Plan | None:
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


def _planned(step: Step, plan: Plan) -> StepFunction:
    takes, gives = step.inputs, step.outputs
    if len(gives) == 1 and all(isinstance(slot, int) for slot in (*takes, *gives)):
        return Instruction(plan if plan.kernel else plan.compute, tuple(takes), tuple(gives))

    def compute(slots: list[Any]) -> None:
        _put(slots, gives, plan.outputs(each_value(slots.__getitem__, takes)))

    return compute


def _planning(step: Step) -> StepFunction:
    """For a step whose shapes or values differ from run to run, or which has a state."""
    block, op = step.block, step.block.op

    def compute(slots: list[Any]) -> None:
        _put(slots, step.outputs, op.run(each_value(slots.__getitem__, step.inputs), block.attrs))

    return compute


def _writing(step: Step, plan: Plan | None) -> StepFunction:
    """For a step that changes variables."""
    op, attrs, takes = step.block.op, step.block.attrs, step.inputs
    written = [change.after for change in step.updates]
    outputs = [slot for slot in step.outputs if slot not in written]
    if plan is not None and len(written) == 1 and len(step.outputs) == 1:
        function = plan if plan.kernel else plan.compute
        return Instruction(function, tuple(takes), (*written, *outputs))
    specs = [symbol.spec for symbol in step.block.inputs]

    def compute(slots: list[Any]) -> None:
        arrays = [slots[slot] for slot in takes]
        used = plan
        if used is None:
            known = zip(arrays, specs, strict=True)
            used = op.plan([spec if a is None else Spec.of(a) for a, spec in known], attrs)
        for slot, value in zip(written, used.new_values(arrays), strict=True):
            slots[slot] = value
        for slot, source in zip(outputs, written, strict=False):
            slots[slot] = slots[source]

    return compute


def _changing_state(step: Step) -> StepFunction:
    """For a step that changes the state behind a handle: a copy of it, in case that the run fails."""
    block, op = step.block, step.block.op
    written = [i for i, pin in enumerate(op.inputs) if pin.name in op.writes]

    def compute(slots: list[Any]) -> None:
        values = each_value(slots.__getitem__, step.inputs)
        for i, change in zip(written, step.updates, strict=True):
            values[i] = slots[change.after] = fresh(values[i])
        _put(slots, step.outputs, op.run(values, block.attrs))

    return compute


def _with_rng_state(step: Step, plan: Plan | None) -> StepFunction:
    """For a step with an RNG state."""
    (change,) = step.updates
    inner = _planning(step) if plan is None else _planned(step, plan)

    def compute(slots: list[Any]) -> None:
        with using_rng_state(slots[change.before]) as kept:
            inner(slots)
        slots[change.after] = kept.words

    return compute


def _switching(step: Step) -> StepFunction:
    data, pred = step.inputs
    ways = step.outputs

    def compute(slots: list[Any]) -> None:
        taken = bool(slots[pred])
        slots[ways[taken]], slots[ways[not taken]] = slots[data].copy(), DEAD

    return compute


def _merging(step: Step) -> StepFunction:
    (inputs,), (output, value_index) = step.inputs, step.outputs

    def compute(slots: list[Any]) -> None:
        alive = next(i for i, slot in enumerate(inputs) if slots[slot] is not DEAD)
        slots[output] = slots[inputs[alive]].copy()
        slots[value_index] = np.array(alive, np.int32)

    return compute


def _put(slots: list[Any], places: Sequence[Value], values: Sequence[Value]) -> None:
    for slot, value in zip(flat(places), flat(values), strict=True):
        slots[slot] = value


# -- steps run by native code ---------------------------------------------------------------------

_SMALL = 1 << 14
"""Bytes of a value that is worth a buffer: larger ones take longer to compute than to allocate."""


def _preallocate(steps: CompiledSteps, uncacheable: set[Step]) -> dict[int, Array]:
    """Buffers of small values that only kernels see: every run overwrites them.

    One that has the elements of another in row-major order is a view of its buffer. Without buffers a step
    of a small network takes 3 to 14 % longer, and a long chain of small blocks 80 %.
    """
    kernels = {step: each for step, each in steps if isinstance(each, Instruction) and each.plan}
    others = (step for step, _ in steps if step not in kernels)
    seen = {slot for step in others for slot in (*step.uses, *step.defs)}
    private = {slot for step, _ in steps for slot in step.drops} - seen
    buffers: dict[int, Array] = {}
    for step, instruction in kernels.items():
        if step not in uncacheable or not private.issuperset(step.defs):
            continue
        kernel, (spec,), give = instruction.plan.kernel, instruction.plan.specs, step.outputs[0]
        source = buffers.get(step.inputs[0]) if isinstance(kernel, CopyKernel) else None
        if source is not None:
            buffers[give] = source.reshape(spec.sizes)
        elif _size(spec) <= _SMALL:
            instruction.buffer = buffers[give] = np.empty(spec.sizes, spec.dtype)
    return buffers


def _serial_executor(steps: CompiledSteps, buffers: Mapping[int, Array]) -> SerialExecutor:
    """The native executor of these steps.

    A step of a page that learns XOR takes 21 us by it, as by generated Python code, and 47 us by a loop in
    Python; a thousand small blocks take 0.16 ms, 0.20 ms and 1.2 ms.
    """
    executor = SerialExecutor()
    for step, compute in steps:
        is_view = step.outputs[:1] and step.outputs[0] in buffers and compute.buffer is None  # type: ignore[attr-defined]
        drops = tuple(slot for slot in step.drops if slot not in buffers)
        executor.add(None if is_view else compute, drops, step.block.number)
    return executor


# -- what is known of a run before it begins ------------------------------------------------------

HEAVY = 1 << 20
"""Steps that read and write more bytes are worth a thread of their own: handing over takes 50 us."""


def _size(spec: Spec) -> int:
    """The bytes of a value, as far as its sizes are known."""
    return 0 if spec.shape is None else math.prod(n or 0 for n in spec.shape) * spec.dtype.itemsize


@dataclass(frozen=True)
class MemoryEstimate:
    """The memory that a run takes for values, by their shapes, without the temporaries of ops."""

    resident: int
    """Bytes of feeds, constants and variables."""
    peak: int
    """The peak of live bytes, those included."""
    serial_peak: int
    """The peak of a serial run, which is made if there is no memory for a parallel one."""
    complete: bool
    """Whether every shape is known; if not, it may be more."""
    largest: Block | None
    largest_bytes: int

    @staticmethod
    def of(
        steps: Sequence[Step], sizes: Mapping[int, int], whole: bool, parallel: bool
    ) -> MemoryEstimate:
        own = {slot for step in steps for slot in step.defs}
        live = peak = held = sum(size for slot, size in sizes.items() if slot not in own)
        largest, most = None, 0
        for step in steps:
            given = sum(sizes[slot] for slot in step.defs)
            live += given
            peak = max(peak, live)
            live -= sum(sizes[slot] for slot in step.drops if slot in own)
            if given > most:
                largest, most = step.block, given
        # In parallel, as much may be computed ahead as is needed one by one, or all there is.
        beside = min(2 * peak - held, held + sum(sizes[slot] for slot in own))
        return MemoryEstimate(held, beside if parallel else peak, peak, whole, largest, most)


def _parallel_steps(steps: Sequence[Step], sizes: Mapping[int, int]) -> set[Step]:
    """The heavy steps, if some of them do not depend on each other."""
    heavy = {
        step
        for step in steps
        if sum(sizes[slot] for slot in (*flat(step.inputs), *step.defs)) > HEAVY
    }
    if len(heavy) < 2:
        return set()
    _, dependents = dependents_of(steps)
    before: dict[Step, int] = dict.fromkeys(steps, 0)
    """How many heavy steps must run before it: as long as those wait for each other, they are the first."""
    seen = 0
    for step in steps:
        if step in heavy:
            if before[step] < seen:
                return heavy
            seen += 1
        done = seen if step in heavy else before[step]
        for dependent in dependents.get(step, ()):
            before[dependent] = max(before[dependent], done)
    return set()
