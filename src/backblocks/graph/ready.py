"""Programs made ready for the shapes that are fed: each step becomes a function on the slots."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backblocks.dtypes import DType
from backblocks.errors import BackblocksError
from backblocks.graph.events import DEAD, Began
from backblocks.graph.program import Program, Step, followers_of
from backblocks.graph.remembering import BRANCHING, Key, Memory, foreseen_key
from backblocks.graph.straight import ByKernel, Compute, Straight, Todo
from backblocks.graph.symbol import Block
from backblocks.ops._handles import fresh
from backblocks.ops._inputs import Array
from backblocks.ops._kept import KEPT, keeping
from backblocks.ops._op import Fill, Plan, Value
from backblocks.ops._patient import is_whole
from backblocks.ops._spec import Spec, is_known
from backblocks.ops._stopping import copied
from backblocks.ops._values import each_value, flat

WRITTEN_OUT = 2
"""Runs after which it pays to write steps out."""


class Ready:
    """A program, and for each step a function that computes it in the slots.

    Shapes are inferred anew from what is fed, so that a step whose shapes are all known is checked once
    and not in every run.
    """

    def __init__(
        self,
        plan: Program,
        arrays: Sequence[Array | Spec],
        began: Began | None = None,
    ) -> None:
        self.program = plan
        self._began = began
        specs: dict[int, Spec] = {
            slot: Spec(a.shape, a.dtype) for slot, a in zip(plan.fed, arrays, strict=True)
        }
        specs |= {slot: symbol.spec for slot, symbol in plan.constants.items()}
        for slot, block in plan.variables.items():
            specs[slot] = KEPT if block.op.start_rule else block.outputs[0].spec
        self.constants: dict[int, Any] = {
            slot: symbol.value for slot, symbol in plan.constants.items()
        }
        self.steps: list[tuple[Step, Compute]] = []
        """Steps and what computes them, without those whose values are foreseen."""
        self.foreseen: dict[Step, Key] = {}
        """Steps whose values were found here and now, until a run has counted them as computed."""
        for step in plan.steps:
            if began is not None:
                began[0] = step.block.number
            compute = self._compute(step, specs)
            foreseen = {slot: specs[slot].known for slot in step.gives}
            lives = not (step.block.op.writes or step.may_die)
            always = lives and all(v is not None for v in foreseen.values())
            if foreseen and always:
                self.constants |= foreseen
                inputs = each_value(specs.__getitem__, step.takes)
                self.foreseen[step] = foreseen_key(step.block, inputs)
            else:
                self.steps.append((step, compute))
        self.start: list[Any] = [self.constants.get(slot) for slot in range(plan.slots)]
        """The slots as they are before a run that is fed nothing and has no variables."""
        self.variables = [
            (slot, block, slot in plan.read) for slot, block in plan.variables.items()
        ]
        """Slots of variables, and whether they must have a value."""
        steps = [step for step, _ in self.steps]
        blocks = (*plan.variables.values(), *(step.block for step in steps))
        self.files = [block for block in blocks if block.op.files]
        """Blocks that touch files: a run with them needs a yes."""
        self.memory = Memory(plan, steps, self.constants)
        self.sizes = {slot: _size(spec) for slot, spec in specs.items()}
        """Bytes of values, as far as they are known."""
        whole = all(is_known(spec.shape) for spec in specs.values())
        self.heavy = _side_by_side(steps, self.sizes)
        self.estimate = Estimate.of(steps, self.sizes, whole, bool(self.heavy))
        self.brief = whole and not self.files and self.estimate.peak <= HEAVY
        """Whether values are so small, and no file is touched, that only kernels ask whether to stop."""
        self.computed = {slot for step in steps if not step.block.op.writes for slot in step.gives}
        """Slots of values that the run makes and no variable keeps."""
        self.never_kept = self.computed - self.memory.giver.keys()
        """Those of them that are not remembered either."""
        self.never_known = [each for each in self.steps if each[0] in self.memory.others]
        """Steps that run every time, and what computes them."""
        self._branches = any(step.may_die for step in steps)
        self._runs: Counter[int] = Counter()
        self._straight: dict[int, Straight] = {}

    def straight(self, todo: Todo) -> Straight | None:
        """These steps written out, if they are run often and nothing is to be decided on the way."""
        if (known := self._straight.get(id(todo))) is not None:
            return known
        if self.heavy or self._branches or not self.estimate.whole:
            return None
        if todo is not self.never_known and (todo is not self.steps or self.memory.steps):
            return None
        self._runs[id(todo)] += 1
        if self._runs[id(todo)] <= WRITTEN_OUT:
            return None
        return self._straight.setdefault(id(todo), Straight(todo, self._began))

    def _compute(self, step: Step, specs: dict[int, Spec]) -> Compute:
        block, op = step.block, step.block.op
        inputs = each_value(specs.__getitem__, step.takes)
        try:
            given = op.infer(inputs, block.attrs)
            if _is_small_and_known(block, inputs, given):
                arrays = each_value(lambda spec: spec.known, inputs)
                given = tuple(each_value(Spec.of, op.run(arrays, block.attrs)))
        except BackblocksError as error:
            error.block = block.name
            raise
        specs.update(zip(flat(step.outputs), flat(given), strict=True))
        for change in step.changes:
            specs.setdefault(change.after, specs[change.before])
        if op.replaces and step.may_die:  # it is the old value or the new one
            for change, new in zip(step.changes, flat(given), strict=True):
                old = specs[change.before]
                specs[change.after] = new if new == old else Spec(None, new.dtype)
        if op.name in BRANCHING:
            return _switching(step) if op.name == "Switch" else _merging(step)
        plan = _plan_for_ever(block, inputs)
        if op.start_rule is not None:
            return _keeping(step, plan)
        if op.gives_back:
            return _writing(step, plan)
        if op.writes:
            return _changing(step)
        return _checked(step) if plan is None else _by_plan(step, plan)


def _is_small_and_known(block: Block, inputs: Sequence[Value], outputs: Sequence[Value]) -> bool:
    """Whether a block gives the same few numbers in every run, such as sizes and axes."""
    if block.op.stateful or block.op.writes or block.op.name in BRANCHING:
        return False
    return all(spec.known is not None for spec in flat(inputs)) and all(
        spec.shape is not None and _size(spec) <= FEW_BYTES for spec in flat((*inputs, *outputs))
    )


FEW_BYTES = 1 << 16


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


def _by_plan(step: Step, plan: Plan) -> Compute:
    op, takes, gives = step.block.op, step.takes, step.outputs
    fill, makers = plan.fill, plan.makers
    simple = len(gives) == 1 and all(isinstance(slot, int) for slot in (*takes, *gives))
    if fill is not None and simple and len(makers) == 1:
        return ByKernel(makers[0], fill, takes, gives[0])
    if fill is None and simple and not plan.empty and not op.writes:
        return _by_meaning(step, plan)

    def in_general(slots: list[Any]) -> None:
        arrays = each_value(slots.__getitem__, takes)
        _put(slots, gives, op.compute(plan, arrays))

    return in_general


def _by_meaning(step: Step, plan: Plan) -> Compute:
    """For a step of one output without a kernel. What the meaning gives is taken as it is if it may be."""
    meaning, attrs, takes, (give,) = plan.meaning, plan.attrs, step.takes, step.outputs
    dtype = plan.specs[0].dtype

    def compute(slots: list[Any]) -> None:
        value = meaning(*[slots[slot] for slot in takes], **attrs)
        value = _own(value, dtype)
        slots[give] = value.copy() if any(value is slots[slot] for slot in takes) else value

    return compute


def _own(value: Any, dtype: DType) -> Array:
    """What a meaning gave as an array in row-major order that is no part of another."""
    if type(value) is not np.ndarray:
        return np.array(value, dtype, order="C")
    whole = value.dtype is dtype and value.flags.c_contiguous and is_whole(value)
    return value if whole else copied(value, dtype)


def _checked(step: Step) -> Compute:
    """For a step whose shapes or values differ from run to run, or which has a state."""
    block, op = step.block, step.block.op

    def compute(slots: list[Any]) -> None:
        _put(slots, step.outputs, op.run(each_value(slots.__getitem__, step.takes), block.attrs))

    return compute


def _writing(step: Step, plan: Plan | None) -> Compute:
    """For a step that changes variables."""
    op, attrs, takes = step.block.op, step.block.attrs, step.takes
    written = [change.after for change in step.changes]
    outputs = [slot for slot in step.outputs if slot not in written]
    if plan is not None and plan.fill is not None and len(written) == 1:
        if not outputs:
            return ByKernel(plan.makers[0], plan.fill, takes, written[0])
        return _writing_by_kernel(plan.makers[0], plan.fill, takes, outputs[0], written[0])
    specs = [symbol.spec for symbol in step.block.inputs]
    dtypes = [s.dtype for s, pin in zip(specs, op.inputs, strict=True) if pin.name in op.writes]

    def compute(slots: list[Any]) -> None:
        arrays = [slots[slot] for slot in takes]
        if plan is None:
            known = zip(arrays, specs, strict=True)
            op.infer([spec if a is None else Spec.of(a) for a, spec in known], attrs)
        meaning = op.meaning_on(arrays) if plan is None else plan.meaning
        values = op.values(meaning(*arrays, **attrs))
        for slot, value, dtype in zip(written, values, dtypes, strict=True):
            new = _own(value, dtype)
            slots[slot] = new.copy() if any(new is array for array in arrays) else new
        for slot, place in zip(outputs, written, strict=False):
            slots[slot] = slots[place]

    return compute


def _writing_by_kernel(
    make: Callable[[], Array], fill: Fill, takes: list[Any], output: int, written: int
) -> Compute:
    def compute(slots: list[Any]) -> None:
        slots[output] = slots[written] = new = make()
        fill(*[slots[slot] for slot in takes], new)

    return compute


def _changing(step: Step) -> Compute:
    """For a step that changes what handles stand for: a copy, so that a run which fails leaves the old."""
    block, op = step.block, step.block.op
    written = [i for i, pin in enumerate(op.inputs) if pin.name in op.writes]

    def compute(slots: list[Any]) -> None:
        values = each_value(slots.__getitem__, step.takes)
        for i, change in zip(written, step.changes, strict=True):
            values[i] = slots[change.after] = fresh(values[i])
        _put(slots, step.outputs, op.run(values, block.attrs))

    return compute


def _keeping(step: Step, plan: Plan | None) -> Compute:
    """For a step that keeps something from run to run, such as where its random numbers go on."""
    (change,) = step.changes
    inner = _checked(step) if plan is None else _by_plan(step, plan)

    def compute(slots: list[Any]) -> None:
        with keeping(slots[change.before]) as kept:
            inner(slots)
        slots[change.after] = kept.words

    return compute


def _switching(step: Step) -> Compute:
    data, pred = step.takes
    ways = step.outputs

    def compute(slots: list[Any]) -> None:
        taken = bool(slots[pred])
        slots[ways[taken]], slots[ways[not taken]] = slots[data].copy(), DEAD

    return compute


def _merging(step: Step) -> Compute:
    (inputs,), (output, value_index) = step.takes, step.outputs

    def compute(slots: list[Any]) -> None:
        alive = next(i for i, slot in enumerate(inputs) if slots[slot] is not DEAD)
        slots[output] = slots[inputs[alive]].copy()
        slots[value_index] = np.array(alive, np.int32)

    return compute


def _put(slots: list[Any], places: Sequence[Value], values: Sequence[Value]) -> None:
    for slot, value in zip(flat(places), flat(values), strict=True):
        slots[slot] = value


# -- what is known of a run before it begins ------------------------------------------------------

HEAVY = 1 << 20
"""Steps that read and write more bytes are worth a thread of their own: handing over takes 50 us."""


def _size(spec: Spec) -> int:
    """Its bytes, as far as they are known."""
    return 0 if spec.shape is None else math.prod(n or 0 for n in spec.shape) * spec.dtype.itemsize


@dataclass(frozen=True)
class Estimate:
    """How much memory a run takes for values, by their shapes. What ops need in passing is not in it."""

    held: int
    """Bytes of what is fed, of constants and of variables."""
    peak: int
    """The most bytes at one time, those included."""
    one_by_one: int
    """The most when blocks run one after another: if there is no room for more, they do."""
    whole: bool
    """Whether every shape is known; if not, it may be more."""
    largest: Block | None
    largest_bytes: int

    @staticmethod
    def of(
        steps: Sequence[Step], sizes: Mapping[int, int], whole: bool, side_by_side: bool
    ) -> Estimate:
        own = {slot for step in steps for slot in step.gives}
        live = peak = held = sum(size for slot, size in sizes.items() if slot not in own)
        largest, most = None, 0
        for step in steps:
            given = sum(sizes[slot] for slot in step.gives)
            live += given
            peak = max(peak, live)
            live -= sum(sizes[slot] for slot in step.drops if slot in own)
            if given > most:
                largest, most = step.block, given
        # Side by side, as much may be computed ahead as is needed one by one, or all there is.
        beside = min(2 * peak - held, held + sum(sizes[slot] for slot in own))
        return Estimate(held, beside if side_by_side else peak, peak, whole, largest, most)


def _side_by_side(steps: Sequence[Step], sizes: Mapping[int, int]) -> set[Step]:
    """The heavy steps, if some of them do not wait for each other."""
    heavy = {
        step
        for step in steps
        if sum(sizes[slot] for slot in (*flat(step.takes), *step.gives)) > HEAVY
    }
    if len(heavy) < 2:
        return set()
    _, followers = followers_of(steps)
    before: dict[Step, int] = dict.fromkeys(steps, 0)
    """How many heavy steps must run before it: as long as those wait for each other, they are the first."""
    seen = 0
    for step in steps:
        if step in heavy:
            if before[step] < seen:
                return heavy
            seen += 1
        done = seen if step in heavy else before[step]
        for follower in followers.get(step, ()):
            before[follower] = max(before[follower], done)
    return set()
