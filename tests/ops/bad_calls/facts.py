"""Calls that an op must survive, kept in a compact form: one file for each op.

A file has one legal call, mutations of it and calls from advisories, one a line. Mutations stand
under what TensorFlow does ("ok" or the name of its error), each with the arguments that change and,
where it was recorded, TensorFlow's answer. A tensor is text:

    float32[2,4,4,2] mod 7      counts 0, 1, ... 6 and starts again
    float32[3] = 1,2,3          these values
    float32[2,2] all 1          as many values as it takes, all the same
    float32[2,2] fill 1         the same, said by the original facts in one number
    float32[0,4]                no values
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TENSOR = re.compile(
    r"(?P<dtype>\w+)\[(?P<shape>[\d,]*)\](?: (?P<how>mod|all|fill|=) (?P<what>.+))?"
)

Tensor = dict[str, Any]
"""As the original facts have it: dtype, shape, and values or fill."""


@dataclass(frozen=True)
class Call:
    """One call of an op. `args` are as in the original facts, tensors as {"tensor": ...}."""

    op: str
    name: str
    args: dict[str, Any]
    tensorflow: str = ""
    answer: tuple[Tensor, ...] | None = None
    advisory: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.op}, {self.name}"


# -- tensors ---------------------------------------------------------------------------------------


def to_text(tensor: Tensor) -> str:
    start = f"{tensor['dtype']}[{','.join(map(str, tensor['shape']))}]"
    if "fill" in tensor:
        return f"{start} fill {json.dumps(tensor['fill'])}"
    values = tensor["values"]
    if not values:
        return start
    if len(values) > 7 and values == _counting(len(values), 7):
        return f"{start} mod 7"
    if len(values) > 4 and len(set(values)) == 1:
        return f"{start} all {_number(values[0])}"
    return f"{start} = {','.join(map(_number, values))}"


def from_text(text: str) -> Tensor:
    match = TENSOR.fullmatch(text)
    if match is None:
        raise ValueError(f"not a tensor: {text!r}")
    shape = [int(n) for n in match["shape"].split(",") if n]
    tensor: Tensor = {"dtype": match["dtype"], "shape": shape}
    if match["how"] == "fill":
        return tensor | {"fill": json.loads(match["what"])}
    number = float if "float" in match["dtype"] else int
    count = math.prod(shape)
    if match["how"] is None:
        values = []
    elif match["how"] == "mod":
        values = _counting(count, int(match["what"]))
    elif match["how"] == "all":
        values = [match["what"]] * count
    else:
        values = match["what"].split(",")
    return tensor | {"values": [number(v) for v in values]}


def _counting(count: int, modulus: int) -> list[int]:
    return [i % modulus for i in range(count)]


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")


def _args_to_text(args: dict[str, Any]) -> dict[str, Any]:
    return {k: to_text(v["tensor"]) if isinstance(v, dict) else v for k, v in args.items()}


def _args_from_text(args: dict[str, Any]) -> dict[str, Any]:
    return {
        k: {"tensor": from_text(v)} if isinstance(v, str) and TENSOR.fullmatch(v) else v
        for k, v in args.items()
    }


# -- files -----------------------------------------------------------------------------------------


def ops() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.json"))


def read(op: str) -> list[Call]:
    """The legal call, its mutations, and the calls from advisories."""
    return list(_read(op))


def _read(op: str) -> Iterator[Call]:
    facts = json.loads((HERE / f"{op}.json").read_text())
    base = _args_from_text(facts["call"])
    for tensorflow, mutations in facts["mutations"].items():
        for name, (changes, *answer) in mutations.items():
            yield Call(op, name, base | _args_from_text(changes), tensorflow, _from_answer(answer))
    for about, args, *answer in facts["advisories"]:
        name = f"{about['id']} case {about['case']}"
        yield Call(op, name, _args_from_text(args), "", _from_answer(answer), about)


def write(op: str, calls: list[Call]) -> None:
    """Writes the file of an op. The first call is the legal one."""
    base = calls[0].args
    mutations: dict[str, list[str]] = {}
    advisories = []
    for call in calls:
        if call.advisory:
            line = [call.advisory, _args_to_text(call.args), *_answer(call)]
            advisories.append(_line(line))
        else:
            changes = {k: v for k, v in call.args.items() if k not in base or v != base[k]}
            line = [_args_to_text(changes), *_answer(call)]
            lines = mutations.setdefault(call.tensorflow, [])
            lines.append(f"{_line(call.name)}: {_line(line)}")
    kinds = [f"{_line(kind)}: {{{_rows(lines)}}}" for kind, lines in mutations.items()]
    (HERE / f"{op}.json").write_text(
        f'{{\n"call": {_line(_args_to_text(base))},\n'
        f'"mutations": {{{_rows(kinds)}}},\n'
        f'"advisories": [{_rows(advisories)}]\n}}\n'
    )


def _answer(call: Call) -> list[str]:
    return [] if call.answer is None else [to_text(tensor) for tensor in call.answer]


def _from_answer(texts: list[str]) -> tuple[Tensor, ...] | None:
    return tuple(map(from_text, texts)) if texts else None


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ": "))


def _rows(lines: list[str]) -> str:
    return "\n" + ",\n".join(lines) + "\n" if lines else ""
