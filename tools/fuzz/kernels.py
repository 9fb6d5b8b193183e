"""Compares the compiled kernels with the reference implementations on random calls.

Ops are read off the registry. What an op takes is found by trying: the shape rule says which of the
tensors that windows have to do with go where. So a new op joins by itself, and if none of its calls
reaches its kernel that is an error too.

Results lie between guards that must stay as they are, and inputs between NaN that must not be seen.
"""

from __future__ import annotations

import itertools
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import backblocks as bb
from backblocks.dtypes import BY_NAME, FLOATS
from backblocks.errors import OpError
from backblocks.ops import _kernels
from backblocks.ops._op import Op
from backblocks.ops._pins import Pin
from backblocks.ops._spec import Spec
from backblocks.ops.nn._windows import Sliding, in_layout
from fuzz.arrays import GUARD, VALUES, Rng, between, info
from fuzz.findings import Finding

OPS = {n: op for n, op in bb.ops.REGISTRY.items() if any(k.name == "native" for k in op.kernels)}
WINDOWED = {name: op for name, op in OPS.items() if op.group == "nn"}
"""Ops with windows; the others multiply matrices."""
DTYPES = [BY_NAME[name] for name in FLOATS]
CACHE = _kernels.cache_bytes()
UNTOUCHED = 99


# -- geometry -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Geometry:
    """Windows over images or volumes, and how many channels there are on each side."""

    batch: int
    space: tuple[int, ...]
    k: tuple[int, ...]
    s: tuple[int, ...]
    d: tuple[int, ...]
    padding: str
    pads: tuple[tuple[int, int], ...]
    groups: int
    ins: int
    outs: int
    first: bool

    @property
    def layout(self) -> str:
        return {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[len(self.space)][self.first]

    @property
    def can_be_afforded(self) -> bool:
        """Whether the reference takes less than a second: it walks the taps, and adds up products."""
        products = (self.batch, *self.space, *self.k, self.groups, self.ins, self.outs)
        products = [max(n, 1) for n in products]  # what is empty may still have huge axes
        return np.prod(self.k) < 3000 and np.prod(products, dtype=float) < 2**25

    def ordered(self, batch: Any, space: Any, channels: Any) -> tuple[Any, ...]:
        return in_layout((batch, *space, channels), self.layout)

    def tensors(self, rng: Rng) -> dict[str, Any]:
        """Everything that an op might take: a shape of numbers to be drawn, or whole numbers."""
        sliding = Sliding(self.k, self.s, self.d, self.padding, self.pads, "k")
        channels = self.groups * self.ins
        cells = self.ordered(self.batch, self.space, channels)
        filters = {
            "filter": (*self.k, self.ins, self.groups * self.outs),
            "filter of each channel": (*self.k, channels, self.outs),
            "flat filter": (*self.k, channels),
        }
        out = sliding.out_sizes(self.space)
        outputs = {
            "windows": self.ordered(self.batch, out, channels),
            "outputs": self.ordered(self.batch, out, self.groups * self.outs),
            "outputs of each channel": self.ordered(self.batch, out, channels * self.outs),
        }
        shapes = {"cells": cells, **outputs, **filters}
        whole = {f"shape of {name}": np.array(shape) for name, shape in shapes.items()}
        whole["ksize"] = np.array(self.ordered(1, self.k, 1))
        whole["strides"] = np.array(self.ordered(1, self.s, 1))
        whole["size"] = rng.integers(1, 12, 2)
        paddings = np.zeros((len(cells), 2), int)
        paddings[1:-1] = rng.integers(0, 2, paddings[1:-1].shape)
        whole["paddings"] = paddings
        places = max(np.prod(cells[1:], dtype=int), 1)
        whole["places"] = rng.integers(0, places, outputs["windows"])
        return shapes | whole

    def attributes(self, op: Op, rng: Rng | None) -> dict[str, Any]:
        """Attributes that say so, and any value of the others; without rng they are left out."""
        drawn: dict[str, Any] = {}
        for attr in op.attrs.values():
            match attr.kind.name, attr.kind.options:
                case "window", _:
                    drawn[attr.name] = self.ordered(1, self.k, 1)
                case "strides", _:
                    drawn[attr.name] = self.ordered(1, self.s, 1)
                case "dilations", _:
                    drawn[attr.name] = self.ordered(1, self.d, 1)
                case "pads", _:
                    pads = self.ordered((0, 0), self.pads, (0, 0))
                    drawn[attr.name] = sum(pads, ()) if self.padding == "EXPLICIT" else ()
                case "choice", options if "SAME" in options:
                    drawn[attr.name] = self.padding
                case "choice", options if self.layout in options:
                    drawn[attr.name] = self.layout
                case "choice", options if "CHANNELS_LAST" in options:
                    drawn[attr.name] = "CHANNELS_FIRST" if self.first else "CHANNELS_LAST"
                case _ if attr.name == "groups":
                    drawn[attr.name] = self.groups
                case "choice" | "dtype", options if rng or attr.required:
                    drawn[attr.name] = str(rng.choice(options)) if rng else options[0]
                case "flag", _ if rng:
                    drawn[attr.name] = bool(rng.integers(2))
        return drawn


@dataclass(frozen=True)
class Matrices:
    """Two matrices that are multiplied, with axes in front that broadcast, and which are transposed."""

    front_x: tuple[int, ...]
    front_y: tuple[int, ...]
    rows: int
    inner: int
    columns: int
    turn_x: bool
    turn_y: bool

    @property
    def can_be_afforded(self) -> bool:
        sizes = (*self.front_x, *self.front_y, self.rows, self.inner, self.columns)
        return np.prod([max(n, 1) for n in sizes], dtype=float) < 2**25

    def tensors(self, rng: Rng) -> dict[str, Any]:
        x, y = (self.rows, self.inner), (self.inner, self.columns)
        return {
            "x": (*self.front_x, *(x[::-1] if self.turn_x else x)),
            "y": (*self.front_y, *(y[::-1] if self.turn_y else y)),
        }

    def attributes(self, op: Op, rng: Rng | None) -> dict[str, Any]:
        turned = dict.fromkeys(("transpose_a", "adj_x"), self.turn_x)
        turned |= dict.fromkeys(("transpose_b", "adj_y"), self.turn_y)
        drawn: dict[str, Any] = {name: turned[name] for name in op.attrs if name in turned}
        for attr in op.attrs.values():
            if attr.kind.name == "dtype" and attr.required:
                drawn[attr.name] = "float32"
        return drawn


def draw_geometry(op: Op, rng: Rng) -> Geometry | Matrices:
    """Mostly small and plain; now and then something is large, empty or far away."""
    draw = _draw_any if op in WINDOWED.values() else _draw_matrices
    while not (drawn := draw(op, rng)).can_be_afforded:
        pass
    return drawn


def _draw_matrices(op: Op, rng: Rng) -> Matrices:
    def size() -> int:
        most = (5, 17, 70, 300)[rng.choice(4, p=[0.4, 0.35, 0.2, 0.05])]
        return 0 if rng.random() < 0.01 else int(rng.integers(1, most + 1))

    front = tuple(int(n) for n in rng.choice([1, 1, 2, 3], rng.integers(4)))
    if roles(op)[0] == 0:
        front = ()
    if op.name == "BatchMatMul":  # whose axes in front are the same
        front_x = front_y = front
    else:
        front_x, front_y = (
            tuple(1 if rng.random() < 0.2 else n for n in front)[
                int(rng.integers(len(front) + 1)) :
            ]
            if rng.random() < 0.3
            else front
            for _ in range(2)
        )
    turns = [bool(rng.integers(2)) for _ in range(2)]
    return Matrices(front_x, front_y, size(), size(), size(), *turns)


def _draw_any(op: Op, rng: Rng) -> Geometry:
    rank, _ = roles(op)
    dilated = _has(op, "dilations")

    def draw(usual: tuple[int, int], rare: tuple[int, int], chance: float = 0.03) -> int:
        low, high = rare if rng.random() < chance else usual
        return int(rng.integers(low, high + 1))

    def each(*how: Any) -> tuple[int, ...]:
        return tuple(draw(*how) for _ in range(rank))

    k = each((1, 4), (1, 40))
    d = each((1, 3), (1, 300), 0.02) if dilated else (1,) * rank
    padding = str(rng.choice(_options(op, "SAME")))
    pads = ((0, 0),) * rank
    if padding == "EXPLICIT":
        most = each((0, 5), (0, 30)) if dilated else [n - 1 for n in k]
        pads = tuple((int(rng.integers(n + 1)), int(rng.integers(n + 1))) for n in most)
    space = list(each((1, 12), (0, 60)))
    if rng.random() < 0.02:
        space[rng.integers(rank)] = int(rng.integers(500, 5000))
    if padding != "SAME" and rng.random() < 0.95:  # or most would not fit
        space = [n + (a - 1) * b for n, a, b in zip(space, k, d, strict=True)]
    channels = [1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33, 40, 64, 65, 100]
    layouts = _options(op, {2: "NHWC", 3: "NDHWC"}[rank])
    return Geometry(
        draw((1, 3), (0, 5)),
        tuple(space),
        k,
        each((1, 3), (1, 1000), 0.02),
        d,
        padding,
        pads,
        draw((1, 1), (2, 5), 0.2),
        0 if rng.random() < 0.01 else int(rng.choice(channels)),
        int(rng.choice(channels)),
        bool(rng.integers(2)) and len(layouts) > 1,
    )


def _has(op: Op, kind: str) -> bool:
    return any(attr.kind.name == kind for attr in op.attrs.values())


def _options(op: Op, word: str) -> tuple[str, ...]:
    """The options of the attribute that may be this word."""
    return next((a.kind.options for a in op.attrs.values() if word in a.kind.options), (word,))


# -- calls ----------------------------------------------------------------------------------------


@cache
def roles(op: Op) -> tuple[int, tuple[str, ...]]:
    """Axes of space, or in front of matrices, and which tensor of a geometry each input is.

    They are those for which the shape rule passes and the kernel is willing to run.
    """
    for rank in (2, 3):
        # No two of its tensors have the same shape.
        space, k, s, d = ((7, 9, 11)[:rank], (2, 3, 2)[:rank], (3, 2, 2)[:rank], (1,) * rank)
        distinct = Geometry(2, space, k, s, d, "VALID", ((0, 0),) * rank, 2, 3, 5, False)
        rng = np.random.default_rng(0)
        tensors, attrs = distinct.tensors(rng), distinct.attributes(op, None)
        fitting = []
        for pin in op.inputs:
            names = [
                n for n, tensor in tensors.items() if isinstance(tensor, tuple) == _real(op, pin)
            ]
            fitting.append(sorted(names, key=lambda name, pin=pin: name != pin.name))
        for chosen in itertools.product(*fitting):
            inputs = _inputs(op, [tensors[name] for name in chosen], np.zeros, DTYPES[2])
            if _planned(op, inputs, attrs):
                return rank, chosen
    for front in (), (2,):
        matrices = Matrices(front, front, 3, 4, 5, False, False)
        tensors = matrices.tensors(np.random.default_rng(0))
        if len(op.inputs) == 2 and _planned(
            op,
            _inputs(op, list(tensors.values()), np.zeros, DTYPES[2]),
            matrices.attributes(op, None),
        ):
            return len(front), tuple(tensors)
    raise Finding(f"{op.name}: no call that tools/fuzz can think of reaches its kernel")


def _real(op: Op, pin: Pin) -> bool:
    """Whether an input has real numbers, and not sizes or places."""
    return "float32" in op.dtypes.get(pin.dtype, (pin.dtype,))


def _inputs(op: Op, tensors: list[Any], draw: Any, dtype: Any) -> list[Any]:
    inputs = []
    for pin, tensor in zip(op.inputs, tensors, strict=True):
        if isinstance(tensor, tuple):
            inputs.append(draw(tensor).astype(dtype))
        else:
            allowed = op.dtypes.get(pin.dtype, (pin.dtype,))
            inputs.append(tensor.astype("int32" if "int32" in allowed else "int64"))
    return inputs


def _planned(op: Op, inputs: list[Any], attrs: dict[str, Any]) -> tuple[Any, Any] | None:
    """Attributes and Specs of the results, if the call is allowed and for the kernel."""
    specs = [Spec.of(x) for x in inputs]
    try:
        _, bound, _ = op.bind(inputs, attrs)
        results = op.infer(specs, bound)
    except OpError:
        return None
    kernel = next(kernel for kernel in op.kernels if kernel.name == "native")
    return (bound, results) if kernel.plan(*specs, **bound) else None


def check(op: Op, seed: int) -> str:
    """Makes the call of a seed both ways. Gives what became of it; raises Finding."""
    rng = np.random.default_rng([zlib.crc32(op.name.encode()), seed])
    geometry = draw_geometry(op, rng)
    values, dtype = str(rng.choice(list(VALUES))), DTYPES[rng.integers(len(DTYPES))]
    try:
        tensors = geometry.tensors(rng)
    except OpError:
        return "refused"
    inputs = _inputs(
        op,
        [tensors[role] for role in roles(op)[1]],
        lambda shape: VALUES[values](rng, shape, dtype),
        dtype,
    )
    planned = _planned(op, inputs, geometry.attributes(op, rng))
    if planned is None:
        return "refused, or left to the reference"
    attrs, specs = planned
    results, guards = zip(*map(_guarded, specs), strict=True)
    threads, around_cache = int(rng.choice([1, 2, 3, 8])), bool(rng.integers(2))
    bb.set_num_threads(threads)
    _kernels.set_cache_bytes(0 if around_cache else CACHE)
    out = list(results) if len(results) > 1 else results[0]
    op.run([_between_nan(x, rng) for x in inputs], attrs, "native", out)
    naive = op.run(inputs, attrs, "reference")
    scale = _scale(op, inputs, attrs, naive)
    pairs, whole = zip(results, naive, strict=True), values == "whole"
    whys = [_difference(fast, right, whole, scale) for fast, right in pairs]
    if not all((guard == UNTOUCHED).all() for pair in guards for guard in pair):
        whys.append("wrote beside its result")
    if any(whys):
        way = "around" if around_cache else "through"
        told = f"{np.dtype(dtype).name}, {values} numbers, {threads} threads, {way} the cache, {geometry}"
        raise Finding(f"{'; '.join(filter(None, whys))}. {told}", "differs")
    return "the same"


def _guarded(spec: Spec) -> tuple[Any, tuple[Any, Any]]:
    size = int(np.prod(spec.shape, dtype=int))
    around = np.full(size + 2 * GUARD, UNTOUCHED, spec.dtype)
    return around[GUARD:-GUARD].reshape(spec.shape), (around[:GUARD], around[-GUARD:])


def _between_nan(array: Any, rng: Rng) -> Any:
    """The same at any distance from a cache line, with numbers around that would spoil a result."""
    spoiling = np.nan if array.dtype in DTYPES else np.iinfo(array.dtype).max
    return between(array, int(rng.integers(1, GUARD)), spoiling)


def _scale(op: Op, inputs: list[Any], attrs: Any, naive: Any) -> float:
    """The largest sum that could come out if no two numbers cancelled."""
    positive = [np.abs(x) if x.dtype in DTYPES else x for x in inputs]
    sums = [s.astype(float) for s in (*naive, *op.run(positive, attrs, "reference"))]
    return float(max(np.abs(s[np.isfinite(s)]).max(initial=0) for s in sums))


def _difference(fast: Any, right: Any, whole: bool, scale: float) -> str:
    """How a result differs; empty if it does only by the order in which sums ran."""
    if right.dtype not in DTYPES:
        return "" if np.array_equal(fast, right) else "another place"
    limits = info(right.dtype)
    fast, right = fast.astype(float).ravel(), right.astype(float).ravel()
    finite = np.isfinite(right)
    if not np.array_equal(fast[~finite], right[~finite], equal_nan=True):
        return "other infinities or NaN"
    exact = whole and np.array_equal(right, np.rint(right))
    summed = min(float(limits.eps), float(info(np.float32).eps))  # half types are summed in float32
    allowed = 2 * float(limits.eps) * np.abs(right) + 100 * summed * scale + float(limits.tiny)
    with np.errstate(invalid="ignore"):  # infinity less infinity
        wrong = finite & ~(np.abs(fast - right) <= (0 if exact else allowed))
    if not wrong.any():
        return ""
    at = np.argmax(wrong)
    return f"{fast[at]} instead of {right[at]} at {at}"
