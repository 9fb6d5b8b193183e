"""`backblocks ops`: lists the ops, searches them, and explains one."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np

from backblocks.commands import formatting
from backblocks.commands.error_reporting import UsageError, did_you_mean
from backblocks.commands.terminal import colorizer
from backblocks.documentation import attribute_text, call, evaluated, gradient, summary, value_text
from backblocks.ops import REGISTRY
from backblocks.ops._handles import RESOURCE
from backblocks.ops._op import Op
from backblocks.pages.constants import attribute_to_json


def main(args: argparse.Namespace) -> int:
    if args.name is not None:
        op = _find_op(args.name)
        print(json.dumps(_document(op), ensure_ascii=False) if args.as_json else _text(op))
        return 0
    found = _search(args.search)
    if args.as_json:
        entries = [{"name": op.name, "group": op.group, "summary": summary(op)} for op in found]
        print(json.dumps({"ops": entries}, ensure_ascii=False))
    else:
        _print(found)
    return 0


def _find_op(name: str) -> Op:
    wanted = name.replace("_", "").lower()
    for op in REGISTRY.values():
        if op.name.lower() == wanted:
            return op
    hint = did_you_mean(name, REGISTRY) or f"Try backblocks ops --search {name}."
    raise UsageError("must be an op", op="NAME", got=name, hint=hint)


def _search(search: str | None) -> list[Op]:
    """All ops by group and name, or those that have every word of the search."""
    words = (search or "").lower().split()
    found = [
        op
        for op in sorted(REGISTRY.values(), key=lambda op: (op.group, op.name))
        if all(
            word in " ".join([op.name, op.snake_name, summary(op), *op.aliases]).lower()
            for word in words
        )
    ]
    if not found:
        hint = "Try fewer or other words; backblocks ops lists all."
        raise UsageError("must be words of some op", op="--search", got=search, hint=hint)
    return found


def _print(ops: list[Op]) -> None:
    paint = colorizer(sys.stdout)
    wide = max(len(op.name) for op in ops)
    group = ""
    for op in ops:
        if op.group != group:
            print(*([""] if group else []), paint(op.group, "bold"), sep="\n")
            group = op.group
        print(f"  {op.name:<{wide}}  {paint(summary(op), 'dim')}")


# -- one op ---------------------------------------------------------------------------------------


def _text(op: Op) -> str:
    paint = colorizer(sys.stdout)
    sections = [
        paint(op.name, "bold") + f"  group {op.group}, version {op.version}",
        op.description,
        _wrapped(call(op)),
        _titled(paint("Inputs", "bold"), _pins(op, op.inputs)),
        _titled(paint("Attributes", "bold"), _attributes(op)),
        _titled(paint("Outputs", "bold"), _pins(op, op.outputs)),
        _titled(paint("Gradient", "bold"), [_wrapped(gradient(op))]),
    ]
    if op.cases:
        case = evaluated(op, op.cases[0])
        title = f"{paint('Worked case', 'bold')}: {case.about}"
        sections.append(_titled(title, map(_wrapped, case.lines())))
    if op.doctest is not None:
        lines = [_wrapped(op.doctest.because), *op.doctest.lines.split("\n")]
        sections.append(_titled(paint("In use", "bold"), lines))
    differences = [
        _wrapped(
            f"{d.topic}: TensorFlow: {d.tensorflow} Here: {d.ours}"
            + (f" To agree: {d.agree}" if d.agree else "")
        )
        for d in op.differences
    ]
    sections.append(_titled(paint("Differences from TensorFlow", "bold"), differences))
    return "\n\n".join(section for section in sections if section)


def _titled(title: str, lines: Any) -> str:
    body = textwrap.indent("\n".join(lines), "  ")
    return f"{title}\n{body}" if body else ""


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 96, subsequent_indent="    ", break_on_hyphens=False)


def _pins(op: Op, pins: Any) -> Iterator[str]:
    for pin in pins:
        allowed = op.dtypes.get(pin.dtype) if pin in op.inputs else None
        many = {"one": "", "optional": " (may be left out)"}.get(pin.count, " (a list)")
        types = f"{pin.dtype}, one of {', '.join(allowed)}" if allowed else pin.dtype
        yield _wrapped(f"{pin.name}{many}: {types}")


def _attributes(op: Op) -> Iterator[str]:
    for attr in op.attrs.values():
        default = "" if attr.required else f" = {attribute_text(attr.default)}"
        options = f" One of {', '.join(attr.kind.options)}." if attr.kind.options else ""
        ours = " Beyond TensorFlow." if attr.beyond_tensorflow else ""
        yield _wrapped(f"{attr.name}{default}: {attr.kind.about}{options}{ours}")


def _document(op: Op) -> dict[str, Any]:
    return {
        "name": op.name,
        "group": op.group,
        "version": op.version,
        "summary": summary(op),
        "about": op.description,
        "inputs": _pins_document(op, op.inputs),
        "attrs": [
            {
                "name": attr.name,
                "kind": attr.kind.name,
                "about": attr.kind.about,
                "options": list(attr.kind.options),
                "required": attr.required,
                "default": None if attr.required else attribute_to_json(attr.default),
                "beyond_tensorflow": attr.beyond_tensorflow,
            }
            for attr in op.attrs.values()
        ],
        "outputs": _pins_document(op, op.outputs),
        "gradient": gradient(op),
        "cases": [_case_document(op, case) for case in op.cases],
        "use": op.doctest and vars(op.doctest),
        "differences": [vars(difference) for difference in op.differences],
    }


def _pins_document(op: Op, pins: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": pin.name,
            "count": pin.count,
            "dtype": pin.dtype,
            "dtypes": list(op.dtypes.get(pin.dtype, ())),
        }
        for pin in pins
    ]


def _case_document(op: Op, case: Any) -> dict[str, Any]:
    done = evaluated(op, case)
    return {
        "about": done.about,
        "inputs": {name: _value(value) for name, value in done.inputs.items()},
        "attrs": {name: attribute_to_json(value) for name, value in done.attrs.items()},
        "outputs": {name: _value(value) for name, value in done.outputs.items()},
    }


def _value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_value(each) for each in value]
    if isinstance(value, np.ndarray):
        return value_text(value) if value.dtype == RESOURCE else formatting.as_json(value)
    return value
