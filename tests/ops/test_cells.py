"""What ops declare of their cells is what they do: one input cell is changed, and the outputs that move
are exactly the declared ones; and the value that a rule gives is the op's own.

Read off the registry: an op that declares its cells is tested from its worked cases, and in random sizes.
"""

import math
import re
import zlib
from dataclasses import dataclass, replace

import exempt
import ml_dtypes
import numpy as np
import pytest
from fuzz import kernels as fuzz

from backblocks.dtypes import BY_NAME
from backblocks.errors import OpError
from backblocks.ops import REGISTRY
from backblocks.ops._access_maps import Factor, pin_names
from backblocks.ops._access_points import every_point, linked, meant, points, value
from backblocks.ops._spec import Spec
from backblocks.ops._values import each_value, flat

DECLARED = sorted(name for name, op in REGISTRY.items() if op.cell_rule is not None)
MOST_POINTS = 2_500
MOST_DRAWINGS = 120
DECIDING = {"winners": 1, "winner's": 1, "argmax": 0, "largest at": 0, "smallest at": 0}
"""Rules by which some tensors only decide between cells, and the first of these."""


# -- calls -------------------------------------------------------------------------------------


@dataclass
class Call:
    """A call of an op: arrays that can be changed, by the names of pins."""

    op: object
    inputs: list
    attrs: dict
    access_maps: list = None
    fixed: frozenset = frozenset()
    """Inputs whose values shapes and access maps rest on."""
    plan: object = None

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
        if self.access_maps is None:
            self.access_maps = self.op.access_maps(specs, self.attrs, tuple(named.values()))
        self.fixed = frozenset(looked - self.counted())
        kinds = {x.dtype.kind for name, x in self.tensors().items() if name not in self.fixed}
        # Numbers that are not whole are never refused, so that such calls need no checks.
        self.plan = self.op.plan(specs, self.attrs) if kinds <= {"f"} else None

    def tensors(self):
        named = {}
        for pin, x in zip(self.op.inputs, self.inputs, strict=True):
            named |= zip(pin_names(pin.name, x), flat((x,)), strict=True)
        return named

    def run(self, tensors):
        left = iter(tensors.values())
        inputs = each_value(lambda _: next(left), self.inputs)
        if self.plan is not None:
            with np.errstate(all="ignore"):
                return self.plan.outputs(inputs)
        return self.op.run(inputs, self.attrs)

    def results(self, tensors):
        return dict(zip(self.outputs, flat(tuple(self.run(tensors))), strict=True))

    def number(self, name, code, results):
        """What a result stands for, and how far apart two neighbours are where it is a rounded code."""
        for access in self.access_maps:
            if name in access.codes and name in access.cells and access.rule == "sum":
                low, high = (float(results[end]) for end in access.codes[name])
                step = meant(1, code.dtype, low, high) - meant(0, code.dtype, low, high)
                return meant(code, code.dtype, low, high), step
        return code.astype(code.dtype.type), 0

    def numbers(self, results):
        """What results stand for, and the steps between codes that were rounded to."""
        found, steps = {}, {}
        for name, result in results.items():
            coded = any(
                name in access.codes and access.rule == "sum" for access in self.access_maps
            )
            if coded and result.dtype != np.int32:  # 32 bits are exact
                each = [self.number(name, code, results) for code in result.ravel()]
                result = np.array([number for number, _ in each]).reshape(result.shape)
                steps[name] = max((step for _, step in each), default=0)
            found[name] = result
        return found, steps

    def holders(self):
        """The inputs that hold coordinates of others."""
        ats = [
            at for access in self.access_maps for cells in access.cells.values() for at in cells.at
        ]
        return {at.held_by for at in ats} & set(self.tensors())

    def counted(self):
        """The inputs that outputs are declared to depend on."""
        ends = {
            end
            for access in self.access_maps
            for ends in access.codes.values()
            for end in ends
            if end in access.cells
        }
        return {pin for access in self.access_maps for pin in access.of} | self.holders() | ends

    @property
    def fused(self):
        """Whether a kernel may run Winograd's algorithm: NaN would show in neighbours."""
        linear = {access.rule for access in self.access_maps} <= {"sum", "apply"}
        return linear and self.op.name in fuzz.OPS

    def points(self):
        return sum(math.prod(access.loops.values()) for access in self.access_maps)


def by_cell(call, tensors):
    """The points of each cell with their access maps: by walking through all points."""
    found = {}
    for access in call.access_maps:
        for point in every_point(access, call.shapes, tensors):
            for key in point.every_cell():
                found.setdefault(key, []).append((access, point))
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
    """The tensors of a call with new numbers, but for those that its access maps rest on, and places."""
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


def moved(call, before, after, tolerance):
    """The cells of outputs that are not what they were, but for rounding to codes."""
    cells = set()
    (before, old_steps), (after, new_steps) = call.numbers(before), call.numbers(after)
    for name, a in before.items():
        b = after[name]
        if a.shape != b.shape:
            raise OpError("gives another shape")
        same = (a == b) | ((a != a) & (b != b))
        if name in old_steps:
            same |= np.abs(a - b) <= 0.51 * (old_steps[name] + new_steps[name])
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
                now = moved(self.call, before, self.call.results(after), self.tolerance)
            except OpError:
                continue  # a place that there is not, say
            allowed = self.declared.get(key, set())
            if name in self.holders:
                allowed = allowed | self.outputs_by_cell(by_cell(self.call, after)).get(key, set())
            assert now <= allowed, f"{name}{list(cell)} also moves {sorted(now - allowed)[:5]}"
            seen |= now
            if now and self.left[key] <= seen:
                break
        return seen

    def undecided(self, name, cell):
        """The outputs that cannot move although the cell decides in them: it has no rival there."""
        many = {}
        for access, point in self.points.get((name, cell), ()):
            (output,) = set(access.cells) & set(self.call.outputs)
            alone = False
            if access.rule in DECIDING and name in access.of[DECIDING[access.rule] :]:
                window = access.of[0] if access.rule == "winners" else output
                rivals = self.points[window, point.cells[window]]
                alone = len({each.cells[name] for _, each in rivals}) == 1
            many.setdefault((output, point.cells[output]), []).append(not alone)
        return {output for output, each in many.items() if not any(each)}

    def aimed(self, tensors, key, output):
        """The tensors with numbers that let this output take notice of this cell."""
        for access, point in self.points[output]:
            if access.rule in ("winners", "winner's", "close") and key in point.every_cell():
                deciding = access.of[1]
                x = tensors[deciding].copy()
                if access.rule == "close":
                    x[point.cells[deciding]] = tensors[access.of[2]][point.cells[access.of[2]]]
                else:
                    own = output[0] if access.rule == "winners" else deciding
                    x[point.cells[own]] = 50
                return tensors | {deciding: x}
        return tensors


def check_both_directions(call):
    """Asking from any cell finds what walking through all points finds."""
    together = by_cell(call, call.tensors())
    for name, shape in call.shapes.items():
        for cell in np.ndindex(shape):
            found = linked(call.access_maps, call.shapes, name, cell, call.tensors())
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
                    said = value(call.access_maps, call.shapes, name, cell, tensors)
                if said is not None:
                    found, step = call.number(name, result[cell], results)
                    within = rounding(call, name, cell, tensors, result.dtype) + step / 2
                    where = f"{name}{list(cell)}, {style}"
                    np.testing.assert_allclose(found, said, 0, within, err_msg=where)


ADDING = {"sum", "mean", "shares", "product", "winners", "close", "added"}


def rounding(call, name, cell, tensors, dtype):
    """How far the result may be from the exact sum: by rounding alone, as the browser counts it too."""
    size = count = 0
    with np.errstate(all="ignore"):
        for access in call.access_maps:
            each = (
                list(points(access, call.shapes, name, cell, tensors))
                if name in access.cells
                else ()
            )
            used = access.of[:1] if access.rule in ("winners", "close", "shares") else access.of
            join = math.fsum if access.rule == "added" else math.prod
            terms = [
                abs(point.weight)
                * join(abs(number_at(access, pin, point, tensors)) for pin in used)
                for point in each
                if access.rule in ADDING
            ]
            size += math.prod(terms) if access.rule == "product" else sum(terms)
            count += len(terms)
            size /= len(terms) if access.rule == "mean" and terms else 1
    codes = any(name in access.codes and access.rule == "sum" for access in call.access_maps)
    exact = not codes and dtype.kind in "biu"
    eps = 0 if exact else float(ml_dtypes.finfo(np.float32 if codes else dtype).eps)
    within = eps * size * (4 + math.sqrt(count))
    if any(access.cut and access.rule == "shares" for access in call.access_maps):
        within = 1  # a sum that should be whole may come out just below it
    return within if math.isfinite(within) else 0


def number_at(access, pin, point, tensors):
    code = tensors[pin][point.cells[pin]]
    if pin not in access.codes or access.rule != "sum":
        return code.item()
    low, high = (float(tensors[end]) for end in access.codes[pin])
    return meant(code, tensors[pin].dtype, low, high)


def check(call, rng):
    if call.points() <= MOST_POINTS:
        check_both_directions(call)
        check_values(call, rng)
        if call.points() or not call.access_maps:
            Moves(call, rng).check()


# -- the calls ---------------------------------------------------------------------------------


def windowed_calls(op, rng, count=6):
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
def test_declared_cells_are_those_that_move_in_the_worked_cases(name):
    op = REGISTRY[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for call in case_calls(op):
        check(call, rng)


@pytest.mark.parametrize("name", [name for name in DECLARED if name in fuzz.WINDOWED])
def test_declared_cells_are_those_that_move_for_any_windows(name):
    op = REGISTRY[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for call in windowed_calls(op, rng):
        check(call, rng)


def test_every_op_that_computes_with_cells_declares_them():
    undeclared = {
        op.group if op.group in exempt.CELLS else name
        for name, op in REGISTRY.items()
        if name not in DECLARED
    }
    assert undeclared == set(exempt.CELLS)


WINDOWED = [name for name in REGISTRY if re.search("Pool|Conv|Dilation", name)]


@pytest.mark.parametrize("name", WINDOWED)
def test_every_pool_and_convolution_says_how_its_numbers_come_about(name):
    """All but the ends of ranges, and borders that are drawn."""
    told = 0
    for call in case_calls(REGISTRY[name]):
        ends = {"min_output", "max_output", "row_pooling_sequence", "col_pooling_sequence"}
        for output in set(call.outputs) - ends:
            for cell in np.ndindex(call.shapes[output]):
                said = value(call.access_maps, call.shapes, output, cell, call.tensors())
                assert said is not None, f"{output}{list(cell)}"
                told += 1
    assert told


# -- sizes of the others -----------------------------------------------------------------------


def sizes(rng, rank=None, most=4):
    return tuple(
        int(n) for n in rng.integers(1, most, rng.integers(1, 4) if rank is None else rank)
    )


def partner(rng, shape):
    """A shape that broadcasts with another one."""
    kept = shape[int(rng.integers(0, len(shape))) :]
    return tuple(1 if rng.random() < 0.3 else n for n in kept)


def axes_of(rng, shape):
    count = int(rng.integers(0, len(shape) + 1))
    return rng.permutation(len(shape))[:count]


def draw_reduction(rng):
    shape = sizes(rng)
    return [rng.standard_normal(shape), axes_of(rng, shape)], {"keep_dims": bool(rng.integers(2))}


def draw_index(rng):
    shape = sizes(rng)
    return [rng.standard_normal(shape), np.array(rng.integers(-len(shape), len(shape)))], {}


def draw_scan(rng):
    how = {"exclusive": bool(rng.integers(2)), "reverse": bool(rng.integers(2))}
    return draw_index(rng)[0], how


def draw_transpose(rng):
    shape = sizes(rng)
    return [rng.standard_normal(shape), rng.permutation(len(shape))], {}


def draw_slice(rng):
    shape = sizes(rng, most=6)
    begin = [int(rng.integers(0, n)) for n in shape]
    size = [int(rng.integers(-1, n - b + 1)) for n, b in zip(shape, begin, strict=True)]
    return [rng.standard_normal(shape), np.array(begin), np.array(size)], {}


def draw_strided_slice(rng):
    shape = sizes(rng, 3, 6)
    ends = [rng.integers(-5, 6, 3) for _ in range(2)]
    masks = ("begin_mask", "end_mask", "shrink_axis_mask", "new_axis_mask")
    how = {mask: int(rng.integers(0, 8)) if rng.random() < 0.5 else 0 for mask in masks}
    how["ellipsis_mask"] = int(rng.choice([0, 0, 1, 2, 4]))
    return [rng.standard_normal(shape), *ends, rng.choice([-2, -1, 1, 2, 3], 3)], how


def draw_pad(rng, value=False):
    shape = sizes(rng)
    pads = rng.integers(0, 3, (len(shape), 2))
    return [rng.standard_normal(shape), pads] + [np.array(1.5)] * value, {}


def draw_mirror(rng):
    inputs, _ = draw_pad(rng)
    return inputs, {"mode": str(rng.choice(["REFLECT", "SYMMETRIC"]))}


def draw_concat(rng):
    shape, axis = sizes(rng), int(rng.integers(0, 3))
    parts = [
        [int(rng.integers(0, 3)) if a == axis else n for a, n in enumerate(shape)] for _ in "abc"
    ]
    return [tuple(rng.standard_normal(part) for part in parts), np.array(axis)], {}


def draw_pack(rng):
    shape = sizes(rng)
    values = tuple(rng.standard_normal(shape) for _ in range(3))
    return [values], {"axis": int(rng.integers(-len(shape), len(shape) + 1))}


def draw_gather(rng):
    shape, axis = sizes(rng), int(rng.integers(0, 3))
    indices = rng.integers(0, 3, sizes(rng, int(rng.integers(0, 3))))
    return [rng.standard_normal(shape), indices, np.array(axis)], {}


def draw_gather_nd(rng):
    shape = sizes(rng)
    indices = rng.integers(0, 3, (*sizes(rng, 1), int(rng.integers(0, len(shape) + 1))))
    return [rng.standard_normal(shape), indices], {"bad_indices_policy": "IGNORE"}


def draw_scatter(rng):
    (tensor, indices), policy = draw_gather_nd(rng)
    depth = indices.shape[-1]
    updates = rng.standard_normal((*indices.shape[:-1], *tensor.shape[depth:]))
    return [tensor, indices, updates], policy


def draw_stitch(rng):
    rest = sizes(rng)
    shapes = [sizes(rng, 1) for _ in range(3)]
    places = tuple(rng.integers(0, 4, shape) for shape in shapes)
    return [places, tuple(rng.standard_normal((*shape, *rest)) for shape in shapes)], {}


def draw_partition(rng):
    shape = sizes(rng)
    numbers = rng.integers(0, 3, shape[: int(rng.integers(1, len(shape) + 1))])
    return [rng.standard_normal(shape), numbers], {"num_partitions": 3}


def draw_tile(rng):
    shape = sizes(rng)
    return [rng.standard_normal(shape), rng.integers(0, 3, len(shape))], {}


def draw_product(rng):
    m, k, n = sizes(rng, 3)
    how = {"transpose_a": bool(rng.integers(2)), "transpose_b": bool(rng.integers(2))}
    shapes = ((m, k), (k, n))
    a, b = (s[::-1] if turn else s for s, turn in zip(shapes, how.values(), strict=True))
    return [rng.standard_normal(a), rng.standard_normal(b)], how


def draw_batch_product(rng):
    (a, b), how = draw_product(rng)
    front = sizes(rng)
    x, y = (rng.standard_normal((*s, *m.shape)) for s, m in ((front, a), (partner(rng, front), b)))
    return [x, y], dict(zip(("adj_x", "adj_y"), how.values(), strict=True))


def draw_einsum(rng):
    equation = str(
        rng.choice(["ij,jk->ik", "ii->i", "i,j->ji", "ijk->k", "...i,...ij->...j", "i->ii"])
    )
    size = dict(zip("ijk", sizes(rng, 3), strict=True))
    shapes = [
        tuple(size[label] for label in part.replace("...", ""))
        for part in equation.split("->")[0].split(",")
    ]
    front = sizes(rng, 2) if "..." in equation else ()
    fronts = [front, partner(rng, front) if front else ()]
    return [tuple(rng.standard_normal(f + s) for f, s in zip(fronts, shapes, strict=False))], {
        "equation": equation
    }


def draw_blocks(rng):
    shape = (*sizes(rng, 1), *rng.integers(1, 4, 2) * 2, *sizes(rng, 1))
    return [rng.standard_normal(shape), np.array([2, 2]), rng.choice([0, 2], (2, 2))], {}


def draw_depth(rng):
    n, h, w, c = sizes(rng, 4)
    layout = str(rng.choice(["NHWC", "NCHW"]))
    shape = (n, 2 * h, 2 * w, c) if layout == "NHWC" else (n, c, 2 * h, 2 * w)
    return [rng.standard_normal(shape)], {"block_size": 2, "data_format": layout}


def draw_reverse(rng):
    shape = sizes(rng)
    return [rng.standard_normal(shape), axes_of(rng, shape)], {}


DRAWN = {
    **dict.fromkeys(("Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"), draw_reduction),
    **dict.fromkeys(("ArgMax", "ArgMin"), draw_index),
    **dict.fromkeys(("Cumsum", "Cumprod", "CumulativeLogsumexp"), draw_scan),
    "Transpose": draw_transpose,
    "Slice": draw_slice,
    "StridedSlice": draw_strided_slice,
    "Pad": draw_pad,
    "PadV2": lambda rng: draw_pad(rng, value=True),
    "MirrorPad": draw_mirror,
    "MirrorPadGrad": draw_mirror,
    "ConcatV2": draw_concat,
    "Pack": draw_pack,
    "GatherV2": draw_gather,
    "GatherNd": draw_gather_nd,
    "Tile": draw_tile,
    **dict.fromkeys(("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub"), draw_scatter),
    "DynamicStitch": draw_stitch,
    "DynamicPartition": draw_partition,
    "Neg": lambda rng: draw_alike(rng, REGISTRY["Neg"]),
    "Sub": lambda rng: draw_alike(rng, REGISTRY["Sub"]),
    "MatMul": draw_product,
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2"), draw_batch_product),
    "Einsum": draw_einsum,
    "SpaceToBatchND": draw_blocks,
    "SpaceToDepth": draw_depth,
    "ReverseV2": draw_reverse,
}


def draw_alike(rng, op):
    """Inputs that broadcast, for ops that work cell by cell."""
    shape = sizes(rng)
    shapes = [shape, *(partner(rng, shape) for _ in op.inputs[1:])]
    allowed = [op._dtypes.get(pin.dtype) or (BY_NAME[pin.dtype],) for pin in op.inputs]
    wanted = [next((d for d in types if d.name == "float64"), types[-1]) for types in allowed]
    return [np.ones(s, d) for s, d in zip(shapes, wanted, strict=True)], {}


def is_cell_by_cell(op):
    plain = not any(pin.is_list for pin in op.inputs)
    plain = plain and not any(attr.required for attr in op.attrs.values())
    return plain and op.cell_rule.__qualname__.startswith("cell_to_cell")


@pytest.mark.parametrize(
    "name", [name for name in DECLARED if name in DRAWN or is_cell_by_cell(REGISTRY[name])]
)
def test_declared_cells_are_those_that_move_in_any_sizes(name):
    op = REGISTRY[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    made = 0
    for _ in range(200):
        if made == 3:
            break
        inputs, given = DRAWN[name](rng) if name in DRAWN else draw_alike(rng, op)
        try:
            bound, attrs, _ = op.bind(inputs, given)
            arrays = op.arrays(bound)
            op.infer(each_value(Spec.of, arrays), attrs)
        except OpError:
            continue
        check(Call(op, arrays, attrs), rng)
        made += 1
    assert made == 3, "too few of the calls are allowed"


# -- the test itself ---------------------------------------------------------------------------


def spoiled(access_maps):
    """Access maps with one mistake: an offset or a step that is one off, or two axes in the wrong order."""
    for number, access in enumerate(access_maps):
        for pin, cells in access.cells.items():
            for axis, at in enumerate(cells.at):
                wrong = [replace(at, offset=at.offset + 1)]
                wrong += [
                    replace(at, steps={**at.steps, name: step + 1})
                    for name, step in at.steps.items()
                ]
                others = [cells.at[:axis] + (each,) + cells.at[axis + 1 :] for each in wrong]
                if axis and cells.at[axis - 1] != at:
                    others.append(
                        (*cells.at[: axis - 1], at, cells.at[axis - 1], *cells.at[axis + 1 :])
                    )
                for other in others:
                    mistaken = replace(
                        access, cells={**access.cells, pin: replace(cells, at=other)}
                    )
                    yield [*access_maps[:number], mistaken, *access_maps[number + 1 :]]


POOL = {"ksize": (1, 3, 2, 1), "strides": (1, 2, 1, 1), "padding": "SAME"}
CONV = {"strides": (1, 2, 1, 1), "padding": "SAME", "dilations": (1, 1, 2, 1)}
IMAGE, WINDOWS, FILTER = (2, 5, 4, 2), (2, 3, 4, 2), (3, 2, 2, 2)


@pytest.mark.parametrize(
    ("name", "shapes", "given"),
    [
        ("MaxPoolGradGrad", [IMAGE, WINDOWS, IMAGE], POOL),
        ("AvgPool", [IMAGE], POOL),
        ("Conv2D", [IMAGE, FILTER], CONV),
        ("MatMul", [(2, 3), (3, 4)], {}),
    ],
)
def test_a_mistake_in_a_declaration_is_found(name, shapes, given):
    op = REGISTRY[name]
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal(shape) for shape in shapes]
    _, attrs, _ = op.bind(inputs, given)
    right = Call(op, inputs, attrs)
    Moves(right, rng).check()
    mistakes = list(spoiled(right.access_maps))
    assert len(mistakes) > 8
    for access_maps in mistakes:
        with pytest.raises(AssertionError):
            Moves(Call(op, inputs, attrs, access_maps), rng).check()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "shapes", "given"),
    [
        ("Conv2D", [IMAGE, FILTER], CONV),
        ("AvgPool", [IMAGE], POOL),
        ("MatMul", [(2, 3), (3, 4)], {}),
    ],
)
def test_a_weight_that_is_a_little_off_is_found(name, shapes, given, dtype):
    op = REGISTRY[name]
    inputs = [np.random.default_rng(1).standard_normal(shape).astype(dtype) for shape in shapes]
    _, attrs, _ = op.bind(inputs, given)
    right = Call(op, inputs, attrs)
    check_values(right, np.random.default_rng(2))
    off = Factor((1 + 64 * float(np.finfo(dtype).eps),))
    access_maps = [
        replace(access, factors=(off,)) if access.rule == "sum" else replace(access, rule="shares")
        for access in right.access_maps
    ]
    with pytest.raises(AssertionError):
        check_values(Call(op, inputs, attrs, access_maps), np.random.default_rng(2))
