"""What ops declare of their cells is what they do: one input cell is changed, and the outputs that move
are exactly the declared ones; and the value that a rule gives is the op's own.

Read off the registry: an op that declares its cells is tested from its worked cases, and in random sizes.
"""

import importlib.util
import math
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from backblocks.dtypes import BY_NAME
from backblocks.errors import OpError
from backblocks.ops import REGISTRY
from backblocks.ops._cells import every_point, linked, pin_names, value
from backblocks.ops._op import each_value, flat
from backblocks.ops._spec import Spec

PATH = Path(__file__).parents[2] / "tools" / "fuzz.py"
if "fuzz" not in sys.modules:
    spec = importlib.util.spec_from_file_location("fuzz", PATH)
    sys.modules["fuzz"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["fuzz"])
fuzz = sys.modules["fuzz"]

DECLARED = sorted(name for name, op in REGISTRY.items() if op.cell_rule is not None)
MOST_POINTS = 2_500
MOST_DRAWINGS = 40
DECIDING = {"winners": 1, "winner's": 1, "argmax": 0, "argmin": 0}
"""Rules by which some tensors only decide between cells, and the first of these."""


# -- calls -------------------------------------------------------------------------------------


@dataclass
class Call:
    """A call of an op: arrays that can be changed, by the names of pins."""

    op: object
    inputs: list
    attrs: dict
    ways: list = None
    fixed: frozenset = frozenset()
    """Inputs whose values shapes and Ways rest on."""

    def __post_init__(self):
        looked = set()
        specs = [
            each_value(lambda x, pin=pin: Spec.of(x, lambda: looked.add(pin.name)), (value,))[0]
            for pin, value in zip(self.op.inputs, self.inputs, strict=True)
        ]
        outputs = self.run(self.tensors())
        named = {
            pin.name: each_value(Spec.of, (out,))[0]
            for pin, out in zip(self.op.outputs, outputs, strict=True)
        }
        self.outputs = [n for pin, y in named.items() for n in pin_names(pin, y)]
        self.shapes = {name: x.shape for name, x in self.tensors().items()} | {
            name: spec.shape
            for name, spec in zip(self.outputs, flat(tuple(named.values())), strict=True)
        }
        self.op.infer(specs, self.attrs)
        if self.ways is None:
            self.ways = self.op.ways(specs, self.attrs, tuple(named.values()))
        self.fixed = frozenset(looked - self.counted())

    def tensors(self):
        named = {}
        for pin, x in zip(self.op.inputs, self.inputs, strict=True):
            named |= zip(pin_names(pin.name, x), flat((x,)), strict=True)
        return named

    def run(self, tensors):
        left = iter(tensors.values())
        inputs = each_value(lambda _: next(left), self.inputs)
        return self.op.run(inputs, self.attrs)

    def results(self, tensors):
        return dict(zip(self.outputs, flat(tuple(self.run(tensors))), strict=True))

    def holders(self):
        """The inputs that hold coordinates of others."""
        ats = [at for way in self.ways for cells in way.cells.values() for at in cells.at]
        return {at.held_by for at in ats} & set(self.tensors())

    def counted(self):
        """The inputs that outputs are declared to depend on."""
        return {pin for way in self.ways for pin in way.of} | self.holders()

    @property
    def fused(self):
        """Whether a kernel may make sums by fewer products: NaN would show in neighbours."""
        linear = {way.rule for way in self.ways} <= {"sum", "apply"}
        return linear and self.op.name in fuzz.OPS

    def points(self):
        return sum(math.prod(way.loops.values()) for way in self.ways)


def by_cell(call, tensors):
    """The points of each cell with their Ways: by walking through all points."""
    found = {}
    for way in call.ways:
        for point in every_point(way, call.shapes, tensors):
            for key in point.every_cell():
                found.setdefault(key, []).append((way, point))
    return found


def others(key, points):
    """The cells of other pins that belong to a cell."""
    return {other for _, point in points for other in point.every_cell() if other[0] != key[0]}


# -- drawing values ----------------------------------------------------------------------------

STYLES = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "wide": lambda rng, shape: rng.standard_normal(shape) * 4,
    "below one": lambda rng, shape: rng.uniform(0.05, 0.95, shape),
    "above one": lambda rng, shape: rng.uniform(1.05, 4, shape),
    "whole": lambda rng, shape: rng.integers(-2, 3, shape),
    "odd": lambda rng, shape: rng.choice([np.nan, np.inf, -np.inf, 0.0, 1.0, 2.0, 2.0], shape),
}
WHOLE = {
    "normal": (-4, 8),
    "wide": (-20, 20),
    "below one": (0, 2),
    "above one": (1, 5),
    "whole": (-2, 3),
}
LOCAL = ["normal", "wide"]


def drawn(rng, x, style):
    if x.dtype == bool:
        return rng.integers(0, 2, x.shape).astype(bool)
    if x.dtype.kind in "iu":
        if style == "odd":
            return rng.choice([np.iinfo(x.dtype).min, np.iinfo(x.dtype).max, 0, 1], x.shape).astype(
                x.dtype
            )
        low, high = WHOLE[style]
        return rng.integers(low if x.dtype.kind == "i" else 0, high, x.shape).astype(x.dtype)
    with np.errstate(all="ignore"):
        numbers = STYLES[style](rng, x.shape)
        if x.dtype.kind == "c":
            numbers = numbers + 1j * STYLES[style](rng, x.shape)
        return np.asarray(numbers).astype(x.dtype)


def draw_all(call, rng, style):
    """The tensors of a call with new numbers, but for those that its Ways rest on, and places."""
    kept = call.fixed | call.holders()
    return {
        name: x if name in kept or name.split("[")[0] in kept else drawn(rng, x, style)
        for name, x in call.tensors().items()
    }


def bounds(dtype):
    return range(np.iinfo(dtype).min, np.iinfo(dtype).max + 1)


def changed(rng, x, cell, style, linear):
    """The tensor with another number in one cell: any, and far above, far below and NaN, or beside it."""
    numbers = [drawn(rng, x[cell][None], style)[0]]
    if x.dtype.kind in "iu":
        numbers += [n for n in (int(x[cell]) + 1, int(x[cell]) - 1) if n in bounds(x.dtype)]
    if x.dtype.kind == "f":
        here = x[cell] if np.isfinite(x[cell]) else 0
        numbers += [here + 100, here - 100] + [np.nan] * (not linear)
    for number in numbers:
        other = x.copy()
        other[cell] = number
        if other[cell] != x[cell]:
            yield other


def moved(before, after, tolerance):
    """The cells of outputs that are not what they were."""
    cells = set()
    for name, a in before.items():
        b = after[name]
        if a.shape != b.shape:
            raise OpError("gives another shape")
        same = (a == b) | ((a != a) & (b != b))
        if tolerance and a.dtype.kind == "f":
            scale = max(1.0, *(np.abs(x[np.isfinite(x)]).max(initial=0) for x in (a, b)))
            with np.errstate(all="ignore"):
                same |= np.abs(a - b) <= tolerance * scale
        cells |= {(name, tuple(map(int, cell))) for cell in np.argwhere(~same)}
    return cells


# -- the checks --------------------------------------------------------------------------------


class Moves:
    """Changes cell after cell until every declared output was seen to move; no other may move."""

    def __init__(self, call, rng):
        self.call, self.rng = call, rng
        self.counted, self.holders = call.counted(), call.holders()
        self.tolerance = 1e-5 if call.op.name in fuzz.OPS else 0
        self.styles = LOCAL if call.fused else list(STYLES)
        self.points = by_cell(call, call.tensors())
        self.declared = self.outputs_by_cell(self.points)
        # What holds places is only held to move no others: a change may lead to an equal number.
        self.left = {
            (name, cell): set()
            if name in self.holders
            else self.declared.get((name, cell), set()) - self.undecided(name, cell)
            for name in call.tensors()
            if name.split("[")[0] not in call.fixed
            for cell in np.ndindex(call.shapes[name])
        }

    def outputs_by_cell(self, points):
        outputs = set(self.call.outputs)
        return {
            key: {other for other in others(key, each) if other[0] in outputs}
            for key, each in points.items()
            if key[0] in self.counted
        }

    def check(self):
        for drawing in range(MOST_DRAWINGS):
            style = self.styles[drawing % len(self.styles)]
            tensors = draw_all(self.call, self.rng, style)
            for key, unseen in self.left.items():
                if unseen or not drawing:
                    unseen -= self.see(key, tensors, style)
            for key, unseen in self.left.items():
                for output in list(unseen):
                    if output in unseen:
                        unseen -= self.see(key, self.aimed(tensors, key, output), style)
            if not any(self.left.values()):
                return
        never = {key: sorted(unseen)[:5] for key, unseen in self.left.items() if unseen}
        raise AssertionError(f"never moved: {dict(list(never.items())[:3])}")

    def see(self, key, tensors, style):
        """The outputs that move when this cell changes."""
        name, cell = key
        seen = set()
        try:
            before = self.call.results(tensors)
        except OpError:
            return seen  # a division by zero, say
        for other in changed(self.rng, tensors[name], cell, style, self.call.fused):
            after = tensors | {name: other}
            try:
                now = moved(before, self.call.results(after), self.tolerance)
            except OpError:
                continue  # a place that there is not, say
            allowed = self.declared.get(key, set())
            if name in self.holders:
                allowed = allowed | self.outputs_by_cell(by_cell(self.call, after)).get(key, set())
            assert now <= allowed, f"{name}{list(cell)} also moves {sorted(now - allowed)[:5]}"
            seen |= now
        return seen

    def undecided(self, name, cell):
        """The outputs that cannot move although the cell decides in them: it has no rival there."""
        many = {}
        for way, point in self.points.get((name, cell), ()):
            (output,) = set(way.cells) & set(self.call.outputs)
            alone = False
            if way.rule in DECIDING and name in way.of[DECIDING[way.rule] :]:
                window = way.of[0] if way.rule == "winners" else output
                rivals = self.points[window, point.cells[window]]
                alone = len({each.cells[name] for _, each in rivals}) == 1
            many.setdefault((output, point.cells[output]), []).append(not alone)
        return {output for output, each in many.items() if not any(each)}

    def aimed(self, tensors, key, output):
        """The tensors with numbers that let this output take notice of this cell."""
        for way, point in self.points[output]:
            if way.rule in ("winners", "winner's", "close") and key in point.every_cell():
                deciding = way.of[1]
                x = tensors[deciding].copy()
                if way.rule == "close":
                    x[point.cells[deciding]] = tensors[way.of[2]][point.cells[way.of[2]]]
                else:
                    own = output[0] if way.rule == "winners" else deciding
                    x[point.cells[own]] = 50
                return tensors | {deciding: x}
        return tensors


def check_both_directions(call):
    """Asking from any cell finds what walking through all points finds."""
    together = by_cell(call, call.tensors())
    for name, shape in call.shapes.items():
        for cell in np.ndindex(shape):
            found = linked(call.ways, call.shapes, name, cell, call.tensors())
            pairs = {(pin, other) for pin, cells in found.items() for other in cells}
            key = name, cell
            assert pairs == others(key, together.get(key, ())), f"{name}{list(cell)}"


def check_values(call, rng):
    """The rule gives what the op gives: with ties, and with NaN where the op minds it."""
    wraps = any(x.dtype.kind in "iu" for x in draw_all(call, rng, "normal").values())
    for style in ("normal", "whole") if call.fused or wraps else ("normal", "whole", "odd"):
        tensors = draw_all(call, rng, style)
        try:
            results = call.results(tensors)
        except OpError:
            continue
        for name, result in results.items():
            for cell in np.ndindex(result.shape):
                with np.errstate(all="ignore"):
                    said = value(call.ways, call.shapes, name, cell, tensors)
                if said is not None:
                    rtol = 1e-3 if result.dtype.itemsize < 8 else 1e-7
                    np.testing.assert_allclose(
                        result[cell].astype(result.dtype.type),
                        said,
                        rtol,
                        rtol,
                        err_msg=f"{name}{list(cell)}, {style}",
                    )


def check(call, rng):
    if call.points() <= MOST_POINTS:
        check_both_directions(call)
        check_values(call, rng)
        if call.points() or not call.ways:
            Moves(call, rng).check()


# -- the calls ---------------------------------------------------------------------------------


def windowed_calls(op, rng, count=8):
    """Random windows over small images and volumes, for the ops that have them."""
    rank, roles = fuzz.roles(op)
    dilated = fuzz._has(op, "dilations")
    made = 0
    while made < count:
        k = tuple(int(n) for n in rng.integers(1, 4, rank))
        d = tuple(int(n) for n in rng.integers(1, 4, rank)) if dilated else (1,) * rank
        padding = str(rng.choice(fuzz._options(op, "SAME")))
        pads = ((0, 0),) * rank
        if padding == "EXPLICIT":
            pads = tuple(tuple(int(p) for p in rng.integers(0, 3 if dilated else n, 2)) for n in k)
        layouts = fuzz._options(op, {2: "NHWC", 3: "NDHWC"}[rank])
        geometry = fuzz.Geometry(
            int(rng.integers(1, 3)),
            tuple(int(n) for n in rng.integers(1, 7 - rank, rank)),
            k,
            tuple(int(n) for n in rng.integers(1, 4, rank)),
            d,
            padding,
            pads,
            int(rng.integers(1, 3)),
            int(rng.integers(1, 3)),
            int(rng.integers(1, 3)),
            bool(rng.integers(2)) and len(layouts) > 1,
        )
        try:
            tensors = geometry.tensors(rng)
        except OpError:
            continue
        dtype = BY_NAME[str(rng.choice(["float32", "float64"]))]
        inputs = fuzz._inputs(op, [tensors[role] for role in roles], rng.standard_normal, dtype)
        try:
            _, attrs, _ = op.bind(inputs, geometry.attributes(op, rng))
            op.infer([Spec.of(x) for x in inputs], attrs)
        except OpError:
            continue
        call = Call(op, inputs, attrs)
        if 0 < call.points() <= MOST_POINTS:
            made += 1
            yield call


def case_calls(op):
    for case in op.cases:
        inputs, attrs, _ = op.bind((), case.args)
        arrays = op.arrays(inputs)
        if not any(x.dtype.hasobject for x in flat(arrays)):
            yield Call(op, arrays, attrs)


@pytest.mark.parametrize("name", DECLARED)
def test_declared_cells_are_those_that_move(name):
    op = REGISTRY[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for call in case_calls(op):
        check(call, rng)


@pytest.mark.parametrize("name", [name for name in DECLARED if name in fuzz.OPS])
def test_windows_read_what_they_declare(name):
    op = REGISTRY[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for call in windowed_calls(op, rng):
        check(call, rng)
