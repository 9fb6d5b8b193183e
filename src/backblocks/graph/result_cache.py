"""Result cache: values of pure blocks from earlier runs, found by a cache key.

A block is pure if its op, attributes and inputs decide its outputs. Its cache key is a digest of those, where
an input that another pure block computes counts by the key of that block, and one that is fed, constant or a
variable by a digest of its content. So all keys are known before anything runs, and of a chain of blocks
whose last value is cached nothing has to run.
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
    """Values by cache key, at most `limit` bytes of them: the least recently used are evicted first."""

    def __init__(self, limit: int) -> None:
        self.limit = self._capacity = limit
        self.bytes = 0
        self._values: OrderedDict[CacheKey, tuple[Array, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: CacheKey) -> tuple[Array, ...] | None:
        with self._lock:
            values = self._values.get(key)
            if values is not None:
                self._values.move_to_end(key)
            return values

    def put(self, key: CacheKey, values: tuple[Array, ...]) -> None:
        size = _bytes(values)
        if size > self._capacity:
            return
        with self._lock:
            self._drop(key)
            self._values[key] = values
            self.bytes += size
            self._evict()

    def shrink_to(self, capacity: int) -> None:
        """Lowers the capacity to so many bytes, or raises it again, up to the limit."""
        self._capacity = min(self.limit, max(capacity, 0))
        if self.bytes > self._capacity:
            with self._lock:
                self._evict()

    def _evict(self) -> None:
        while self.bytes > self._capacity:
            self._drop(next(iter(self._values)))

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self.bytes = 0

    def _drop(self, key: CacheKey) -> None:
        self.bytes -= _bytes(self._values.pop(key, ()))


def _bytes(values: Sequence[Array]) -> int:
    return sum(map(retained_bytes, values))


def digest(array: Array) -> CacheKey:
    """A digest of an array: dtype, shape and elements."""
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


def _op_digest(block: Block) -> bytes:
    """A digest of a block's op and attributes."""
    parts = [block.op.name.encode(), str(block.op.version).encode()]
    for name, value in block.attrs.items():
        parts.append(name.encode())
        parts.append(digest(value) if isinstance(value, np.ndarray) else repr(value).encode())
    return hashlib.sha256(b"\0".join(parts)).digest()


def folded_key(block: Block, inputs: Sequence[Value]) -> CacheKey:
    """The cache key of a constant-folded block, from what is statically known of its inputs."""
    parts = [_op_digest(block)]
    for spec in flat(inputs):
        known = spec.known
        parts.append(f"{spec.dtype} {spec.shape}".encode() if known is None else digest(known))
    return hashlib.sha256(b"".join(parts)).digest()


BRANCHING = {"Switch", "Merge"}  # what they give may be dead, which no array can say


class CacheableSteps:
    """The steps of a program whose values can be cached, and their cache keys in one run."""

    def __init__(
        self, program: Program, steps: Sequence[Step], constants: dict[int, Array]
    ) -> None:
        written = set(program.written)
        changing = {slot for slot, variable in program.variables.items() if variable in written}
        self.steps: list[Step] = []
        """The cacheable ones, in order."""
        self.others: set[Step] = set()
        for step in steps:
            op = step.block.op
            pure = not (op.stateful or op.writes or step.after or op.name in BRANCHING)
            takes = set(flat(step.inputs))
            if pure and step.defs and not takes & changing:
                self.steps.append(step)
            else:
                self.others.add(step)
                changing |= set(step.defs)
        self.producer = {slot: step for step in self.steps for slot in step.defs}
        read = {slot for step in self.others for slot in flat(step.inputs)}
        read |= {*program.fetched, *program.written.values()}
        self.needed = [
            step
            for step in self.steps
            if step.block in program.targets or not read.isdisjoint(step.defs)
        ]
        """Cacheable steps whose outputs are fetched, or read by a step that is not cacheable."""
        self.sources = {slot for step in self.steps for slot in flat(step.inputs)}
        self.sources -= self.producer.keys() | constants.keys()
        """Slots of feeds and variables that they read, whose content may differ from run to run."""
        self._op_digests = [_op_digest(step.block) for step in self.steps]
        contents = {id(value): value for value in constants.values()}  # blocks may share one
        keys = {each: digest(value) for each, value in contents.items()}
        self._constants = {slot: keys[id(value)] for slot, value in constants.items()}
        self._last: tuple[dict[int, CacheKey], dict[Step, CacheKey]] | None = None

    def keys(self, sources: dict[int, CacheKey]) -> dict[Step, CacheKey]:
        """The cache key of each step, from digests of the sources."""
        if self._last is not None and self._last[0] == sources:
            return self._last[1]
        of_slot = {**self._constants, **sources}
        keys = {}
        for step, op_digest in zip(self.steps, self._op_digests, strict=True):
            inputs = [b"-" if each is None else _joined(each, of_slot) for each in step.inputs]
            key = keys[step] = hashlib.sha256(b"".join([op_digest, *inputs])).digest()
            for i, slot in enumerate(step.defs):
                of_slot[slot] = key + i.to_bytes(4, "little")
        self._last = sources, keys
        return keys

    def missing(
        self, keys: dict[Step, CacheKey], known: ResultCache, slots: list[Any]
    ) -> set[Step]:
        """The steps that must run. Cached values that are needed are put into the slots."""
        missing: set[Step] = set()
        todo, seen = list(self.needed), set(self.needed)
        while todo:
            step = todo.pop()
            values = known.get(keys[step])
            if values is not None:
                for slot, value in zip(step.defs, values, strict=True):
                    slots[slot] = value
                continue
            missing.add(step)
            for slot in flat(step.inputs):
                producer = self.producer.get(slot)
                if producer is not None and producer not in seen:
                    seen.add(producer)
                    todo.append(producer)
        return missing


def _joined(slots: Any, of_slot: dict[int, CacheKey]) -> bytes:
    if isinstance(slots, tuple):
        return b"(" + b"".join(of_slot[slot] for slot in slots) + b")"
    return of_slot[slots]
