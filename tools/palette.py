"""Writes `ops.json`, from which the studio draws pages and its palette, read off the registry.

python tools/palette.py           writes it beside the built front end
python tools/palette.py FILE      writes it there
"""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import backblocks
from backblocks.documentation import details, gradient, summary
from backblocks.dtypes import NUMBERS_AND_BOOL, QUANTIZED, is_differentiable
from backblocks.errors import OpError
from backblocks.graph.gradient_ops import gradient_ops, worked_calls
from backblocks.ops import REGISTRY
from backblocks.ops._declaration import Attr, Case
from backblocks.ops._handles import RESOURCE
from backblocks.ops._op import Op, Value
from backblocks.ops._pins import Pin
from backblocks.ops._spec import Spec
from backblocks.ops._values import each_value, flat
from backblocks.pages.build import build
from backblocks.pages.constants import array_to_json, attribute_to_json
from backblocks.pages.dataclass_json import from_json
from backblocks.pages.model import PageFile
from backblocks.studio.palette import (
    AttrInfo,
    CaseInfo,
    DifferenceInfo,
    GradientInfo,
    OpInfo,
    Palette,
    PinInfo,
)

FILE = Path(__file__).resolve().parent.parent / "src/backblocks/studio/static/ops.json"
RANKS = range(7)
MOST_CASES = 2
LONGEST_CASE = 6000
"""Bytes of the page of a case: longer ones are for tests."""


def palette() -> Palette:
    """All ops, by group and name."""
    ops = sorted(REGISTRY.values(), key=lambda op: (op.group, op.name))
    return Palette(backblocks.__version__, [op_info(op) for op in ops])


def op_info(op: Op) -> OpInfo:
    ranks, axes = _ranks(op), _axes(op)
    return OpInfo(
        name=op.name,
        group=op.group,
        group_title=op.group_title,
        summary=summary(op),
        documentation=details(op),
        formula=op.formula,
        inputs=[_pin(op, pin, ranks.get(pin.name), axes) for pin in op.inputs],
        outputs=[_pin(op, pin, ranks.get(f"-> {pin.name}"), axes) for pin in op.outputs],
        attrs=[_attr(attr) for attr in op.attrs.values()],
        stateful=op.stateful,
        files=op.files,
        writes=list(op.writes),
        holds=op.holds,
        fed=op.fed,
        gradient=gradient(op),
        differences=[DifferenceInfo(**asdict(each)) for each in op.differences],
        cases=_cases(op),
        aliases=_aliases(op),
        gradients=[GradientInfo(**asdict(each)) for each in gradient_ops(op)],
    )


# -- pins and attributes --------------------------------------------------------------------------


def _pin(op: Op, pin: Pin, ranks: list[int] | None, axes: dict[str, str]) -> PinInfo:
    if pin.dtype in op.dtypes:
        dtypes = list(op.dtypes[pin.dtype])
    elif pin.dtype in (*NUMBERS_AND_BOOL, "string", "resource"):
        dtypes = [pin.dtype]
    else:  # given by an attribute
        attr = op.attrs.get(pin.dtype)
        dtypes = list(attr.kind.options) if attr is not None else [*NUMBERS_AND_BOOL, "string"]
    plain = list(dict.fromkeys(QUANTIZED.get(name, name) for name in dtypes))
    return PinInfo(
        name=pin.name,
        count=pin.count,
        type=pin.dtype,
        dtypes=plain,
        ranks=ranks,
        axes=axes.get(pin.name, ""),
    )


def _attr(attr: Attr) -> AttrInfo:
    info = AttrInfo(
        name=attr.name,
        kind=attr.kind.name,
        about=attr.kind.about,
        required=attr.required,
        options=list(attr.kind.options),
    )
    if not attr.required:
        info.default = attribute_to_json(attr.default)
    return info


def _ranks(op: Op) -> dict[str, list[int]]:
    """By pin the numbers of axes that the shape rule lets through, unless any. "-> " marks outputs.

    An output's are known where it has one with all that inputs may have, and neither attributes nor
    values decide them.
    """
    found: dict[str, set[int]] = {}
    open_outputs = set()
    for inputs, attrs in worked_calls(op):
        specs = each_value(_spec, inputs)
        results = [_given(op, specs, attrs)]
        for place, pin in enumerate(op.inputs):
            if isinstance(specs[place], Spec) and specs[place].dtype != RESOURCE:
                found.setdefault(pin.name, set())
                for rank in RANKS:
                    given = _given_with(op, specs, attrs, place, rank)
                    found[pin.name] |= {rank} if given else set()
                    results += given
        for pin, *given in zip(op.outputs, *results, strict=True):
            for each in flat(given):
                if each.shape is None:
                    open_outputs.add(f"-> {pin.name}")
                else:
                    found.setdefault(f"-> {pin.name}", set()).add(len(each.shape))
    fixed = bool(op.inputs) and all(
        0 < len(found.get(pin.name, ())) < len(RANKS) for pin in op.inputs
    )
    for name in [*found]:
        ranks = found[name]
        is_known = ranks < set(RANKS)
        if name.startswith("-> "):
            is_known = fixed and len(ranks) == 1 and name not in open_outputs
        if not is_known:
            del found[name]
    return {name: sorted(ranks) for name, ranks in found.items() if ranks}


def _given(op: Op, specs: list[Value], attrs: dict[str, Any]) -> tuple[Value, ...]:
    """What the op gives as far as the ranks of its inputs tell."""
    ranked = each_value(lambda spec: _open(spec, len(spec.shape)), specs)
    return tuple(op.infer(ranked if _accepted(op, ranked, attrs) else specs, attrs))


def _axes(op: Op) -> dict[str, str]:
    """By pin the letters of its axes, where the op's cells have some in all of its cases."""
    found: dict[str, set[str]] = {}
    for inputs, attrs in worked_calls(op) if op.cell_rule else ():
        if any(array.dtype.hasobject for array in flat(inputs)):
            continue
        outputs = op.run(inputs, attrs)
        specs = each_value(Spec.of, inputs), each_value(Spec.of, outputs)
        for way in op.access_maps(specs[0], attrs, specs[1]):
            for pin, cells in way.cells.items():
                named = cells.axes and cells.axes == attrs.get("data_format")
                found.setdefault(pin, set()).add("data_format" if named else cells.axes)
    all_letters = {pin: each - {""} for pin, each in found.items()}
    return {pin: letters.pop() for pin, letters in all_letters.items() if len(letters) == 1}


def _given_with(
    op: Op, specs: list[Value], attrs: dict[str, Any], place: int, rank: int
) -> list[tuple[Value, ...]]:
    """What the rule gives with an input of this rank, alone or with those that had the rank it had.

    Nothing if it takes neither.
    """
    had = len(specs[place].shape)
    alone = [_open(spec, rank) if i == place else spec for i, spec in enumerate(specs)]
    together = [
        _open(spec, rank) if isinstance(spec, Spec) and len(spec.shape or ()) == had else spec
        for spec in specs
    ]
    accepted = (each for each in (alone, together) if _accepted(op, each, attrs))
    return [tuple(op.infer(each, attrs)) for each in accepted]


def _open(spec: Spec, rank: int) -> Spec:
    return Spec((None,) * rank, spec.dtype)


def _accepted(op: Op, specs: list[Value], attrs: dict[str, Any]) -> bool:
    try:
        op.infer(specs, attrs)
    except OpError:
        return False
    return True


def _spec(array: Any) -> Spec:
    return Spec(array.shape, array.dtype) if is_differentiable(array.dtype) else Spec.of(array)


# -- worked cases ---------------------------------------------------------------------------------


def _cases(op: Op) -> list[CaseInfo]:
    pages = ((case.about, _page(op, case)) for case in op.cases)
    small = [
        CaseInfo(about=about, page=page)
        for about, page in pages
        if page is not None and len(msgspec.json.encode(page)) <= LONGEST_CASE
    ]
    return small[:MOST_CASES]


def _page(op: Op, case: Case) -> dict[str, Any] | None:
    """A page with a constant for each input; None if a page cannot say it."""
    inputs, _, _ = op.bind((), case.args)
    arrays = op.arrays(inputs)
    if any(array.dtype == RESOURCE for array in flat(arrays)):
        return None
    blocks: dict[str, Any] = {}
    wires: dict[str, Any] = {}
    for pin, value in zip(op.inputs, arrays, strict=True):
        if isinstance(value, tuple):
            names = [f"{pin.name}_{i}" for i in range(len(value))]
            blocks |= {name: _holding(each, False) for name, each in zip(names, value, strict=True)}
            wires[pin.name] = [f"{name}:output" for name in names]
        elif value is not None:
            variable = pin.name in op.writes
            blocks[pin.name] = _holding(value, variable)
            wires[pin.name] = f"{pin.name}:{'ref' if variable else 'output'}"
    name = op.snake_name if op.snake_name not in blocks else f"{op.snake_name}_of_it"
    given = {
        attr.name: attribute_to_json(case.args[attr.name])
        for attr in op.attrs.values()
        if attr.name in case.args and (attr.required or case.args[attr.name] != attr.default)
    }
    if op.name == "Const":
        given = {"value": array_to_json(np.asarray(case.args["value"]))}
    block = {"op": op.name, "in": wires, "attrs": given}
    places = {each: [0, 120 * row] for row, each in enumerate(blocks)}
    page = {
        "format": 1,
        "title": f"{op.name}: {case.about}",
        "about": summary(op),
        "blocks": blocks | {name: {key: value for key, value in block.items() if value}},
        "layout": {"blocks": places | {name: [320, 0]}},
    }
    try:
        data = msgspec.json.encode(page)
    except TypeError:  # an array that is too large for words
        return None
    return page if not build(from_json(PageFile, msgspec.json.decode(data))).problems else None


def _holding(array: Any, variable: bool) -> dict[str, Any]:
    words = array_to_json(array)
    return (
        {"op": "VariableV2", "initial": words}
        if variable
        else {"op": "Const", "attrs": {"value": words}}
    )


# -- search ---------------------------------------------------------------------------------------


def _aliases(op: Op) -> list[str]:
    """Other words for an op: as Python writes it, as it is called elsewhere, and as a gradient."""
    found = [op.snake_name, op.snake_name.replace("_", " "), *op.aliases]
    forward, grad, rest = re.sub(r"V\d$", "", op.name).partition("Grad")
    if grad and forward in REGISTRY:
        second = rest.startswith("Grad")
        names = [REGISTRY[forward].snake_name, *REGISTRY[forward].aliases]
        found += [f"{name} {'double backward' if second else 'backward'}" for name in names]
        found += ["second gradient" if second else "gradient", "derivative"]
    if "BackpropInput" in op.name:
        found += ["backward data", "transposed convolution", "deconvolution", "conv_transpose"]
    if "BackpropFilter" in op.name:
        found += ["backward weights", "gradient of the filter"]
    return list(dict.fromkeys(found))


def main() -> None:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.encode(palette()))


if __name__ == "__main__":
    main()
