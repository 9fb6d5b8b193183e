"""Values of blocks found again by what they were computed from.

A block is pure if its op, attributes and inputs decide what it gives. Its key is a digest of those,
where an input that another pure block gives counts by that block's key, and one that is fed, constant
or a variable by its content. So all keys are known before anything runs, and of a chain of blocks whose
last value is known nothing has to run.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from backblocks.graph.program import Program, Step
from backblocks.graph.symbol import Block
from backblocks.ops._inputs import Array
from backblocks.ops._memory import retained_bytes
from backblocks.ops._op import Value
from backblocks.ops._values import flat

CacheKey = bytes


class ResultCache:
    """Values by key. When they need more than `limit` bytes, those not asked for longest are given up."""

    def __init__(self, limit: int) -> None:
        self.limit = self._most = limit
        self.bytes = 0
        self._values: OrderedDict[CacheKey, tuple[Array, ...]] = OrderedDict()
        self._changing = threading.Lock()

    def get(self, key: CacheKey) -> tuple[Array, ...] | None:
        with self._changing:
            values = self._values.get(key)
            if values is not None:
                self._values.move_to_end(key)
            return values

    def put(self, key: CacheKey, values: tuple[Array, ...]) -> None:
        size = _bytes(values)
        if size > self._most:
            return
        with self._changing:
            self._drop(key)
            self._values[key] = values
            self.bytes += size
            self._give_up()

    def fit(self, room: int) -> None:
        """Has it keep no more than `room` bytes from here on, if that is less than its limit."""
        self._most = min(self.limit, max(room, 0))
        if self.bytes > self._most:
            with self._changing:
                self._give_up()

    def _give_up(self) -> None:
        while self.bytes > self._most:
            self._drop(next(iter(self._values)))

    def clear(self) -> None:
        with self._changing:
            self._values.clear()
            self.bytes = 0

    def _drop(self, key: CacheKey) -> None:
        self.bytes -= _bytes(self._values.pop(key, ()))


def _bytes(values: Sequence[Array]) -> int:
    return sum(map(retained_bytes, values))


def content(array: Array) -> CacheKey:
    """A digest of type, shape and numbers."""
    kind = hashlib.sha256(f"{array.dtype} {array.shape} ".encode())
    if array.dtype.hasobject:
        for text in array.flat:
            kind.update(f"{type(text).__name__} {len(text)} ".encode())
            kind.update(text if isinstance(text, bytes) else text.encode())
    elif array.nbytes <= 4096:
        kind.update(array.tobytes())
    else:
        kind.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return kind.digest()


def _nature(block: Block) -> bytes:
    """What decides a block's value besides its inputs."""
    parts = [block.op.name.encode(), str(block.op.version).encode()]
    for name, value in block.attrs.items():
        parts.append(name.encode())
        parts.append(content(value) if isinstance(value, np.ndarray) else repr(value).encode())
    return hashlib.sha256(b"\0".join(parts)).digest()


def folded_key(block: Block, inputs: Sequence[Value]) -> CacheKey:
    """Of a block whose value follows from what is known of its inputs before the run."""
    parts = [_nature(block)]
    for spec in flat(inputs):
        known = spec.known
        parts.append(f"{spec.dtype} {spec.shape}".encode() if known is None else content(known))
    return hashlib.sha256(b"".join(parts)).digest()


BRANCHING = {"Switch", "Merge"}  # what they give may be dead, which no array can say


class CacheableSteps:
    """The steps of a program whose values can be remembered, and their keys in one run."""

    def __init__(self, plan: Program, steps: Sequence[Step], constants: dict[int, Array]) -> None:
        written = set(plan.written)
        changing = {slot for slot, variable in plan.variables.items() if variable in written}
        self.steps: list[Step] = []
        """Those that can be, in order."""
        self.others: set[Step] = set()
        for step in steps:
            op = step.block.op
            pure = not (op.stateful or op.writes or step.after or op.name in BRANCHING)
            takes = set(flat(step.takes))
            if pure and step.gives and not takes & changing:
                self.steps.append(step)
            else:
                self.others.add(step)
                changing |= set(step.gives)
        self.giver = {slot: step for step in self.steps for slot in step.gives}
        read = {slot for step in self.others for slot in flat(step.takes)}
        read |= {*plan.fetched, *plan.written.values()}
        self.wanted = [
            step
            for step in self.steps
            if step.block in plan.targets or not read.isdisjoint(step.gives)
        ]
        """Those of the steps that somebody else wants."""
        self.sources = {slot for step in self.steps for slot in flat(step.takes)}
        self.sources -= self.giver.keys() | constants.keys()
        """Slots of what is fed and of variables: their content may differ from run to run."""
        self._natures = [_nature(step.block) for step in self.steps]
        contents = {id(value): value for value in constants.values()}  # blocks may share one
        keys = {each: content(value) for each, value in contents.items()}
        self._constants = {slot: keys[id(value)] for slot, value in constants.items()}
        self._last: tuple[dict[int, CacheKey], dict[Step, CacheKey]] | None = None

    def keys(self, sources: dict[int, CacheKey]) -> dict[Step, CacheKey]:
        """The key of each step when the sources have these contents."""
        if self._last is not None and self._last[0] == sources:
            return self._last[1]
        of_slot = {**self._constants, **sources}
        keys = {}
        for step, nature in zip(self.steps, self._natures, strict=True):
            inputs = [b"-" if each is None else _joined(each, of_slot) for each in step.takes]
            key = keys[step] = hashlib.sha256(b"".join([nature, *inputs])).digest()
            for i, slot in enumerate(step.gives):
                of_slot[slot] = key + i.to_bytes(4, "little")
        self._last = sources, keys
        return keys

    def missing(
        self, keys: dict[Step, CacheKey], known: ResultCache, slots: list[Any]
    ) -> set[Step]:
        """The steps that must run. What the others give, if it is wanted, is put into the slots."""
        missing: set[Step] = set()
        todo, seen = list(self.wanted), set(self.wanted)
        while todo:
            step = todo.pop()
            values = known.get(keys[step])
            if values is not None:
                for slot, value in zip(step.gives, values, strict=True):
                    slots[slot] = value
                continue
            missing.add(step)
            for slot in flat(step.takes):
                giver = self.giver.get(slot)
                if giver is not None and giver not in seen:
                    seen.add(giver)
                    todo.append(giver)
        return missing


def _joined(slots: Any, of_slot: dict[int, CacheKey]) -> bytes:
    if isinstance(slots, tuple):
        return b"(" + b"".join(of_slot[slot] for slot in slots) + b")"
    return of_slot[slots]
