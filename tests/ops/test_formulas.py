"""Formulas are of ops that compute, name what these have, and where they can be computed give the answers."""

import re

import numpy as np
import pytest

from backblocks.documentation import details, summary
from backblocks.ops import REGISTRY
from backblocks.ops._op import op

NO_NUMBERS = {"string", "resource"}


def computes(op):
    """Whether it makes numbers of numbers: what handles, text and nothing else is made of, words must say."""
    types = {pin.dtype for pin in (*op.inputs, *op.outputs)}
    return bool(op.inputs and op.outputs) and not types & NO_NUMBERS


def parts(formula):
    """Lines that say what something is, and lines that say more about it; those further in go on."""
    lines = formula.replace("\n    ", " ").split("\n")
    more = [line for line in lines if line.startswith(("where ", "with "))]
    return [line for line in lines if line not in more], more


FORMULAS = [pytest.param(op, id=name) for name, op in REGISTRY.items() if op.formula]


@pytest.mark.parametrize(
    "op", [pytest.param(op, id=name) for name, op in REGISTRY.items() if computes(op)]
)
def test_an_op_that_computes_has_a_formula(op):
    assert op.formula, "write it as a paragraph of the docstring; CONTRIBUTING.md says how"


@pytest.mark.parametrize("op", FORMULAS)
def test_it_says_what_every_result_is(op):
    said = [re.sub(r"\[.*", "", line).split(" ")[0] for line in parts(op.formula)[0]]
    said += re.findall(r"^\w+, (\w+) = ", op.formula, re.M)
    results = op.writes or [pin.name for pin in op.outputs]
    assert sorted(name.strip(",") for name in said) == sorted(results)


@pytest.mark.parametrize("op", FORMULAS)
def test_it_names_what_the_op_has(op):
    known = {pin.name for pin in (*op.inputs, *op.outputs)} | set(op.attrs)
    for line in parts(op.formula)[1]:
        known |= set(re.findall(r"(\w+)(?:\[[^\]]*\])? (?:=|is|are|runs?|stands?) ", line))
    for line in op.formula.split("\n"):
        named = set(re.findall(r"(\w+)\[|(\w+_\w*)", line))
        assert {name for pair in named for name in pair if name} <= known, line


@pytest.mark.parametrize("op", FORMULAS)
def test_it_is_shown_once(op):
    assert op.formula.replace("\n", "\n    ") in op.description
    assert op.formula not in details(op)
    assert summary(op) not in details(op)


def test_it_is_known_by_what_it_begins_with():
    """However much indentation Python leaves of a docstring."""

    def doubled(x):
        """x twice."""
        return x * 2

    alone, among_others = "x twice.\n\ny = x + x", "x twice.\n\n    y = x + x\n\nIt has no end."
    try:
        for number, doc in enumerate(
            (alone, among_others, "x twice.\n\nA paragraph = no formula.")
        ):
            doubled.__doc__ = doc
            op(f"Doubled{number}", "T -> y: T", aliases=("twice",), T=("float32",))(doubled)
        first, second, third = (REGISTRY[f"Doubled{number}"] for number in range(3))
        assert first.formula == second.formula == "y = x + x"
        assert first.description == "x twice.\n\n    y = x + x"
        assert details(second) == "It has no end."
        assert third.formula == ""
        assert details(third) == "A paragraph = no formula."
        assert first.aliases == ("twice",)
    finally:
        for number in range(3):
            REGISTRY.pop(f"Doubled{number}", None)


# -- computing them ----------------------------------------------------------------------------------

SIGNS = {
    "·": "*",
    "^": "**",
    "²": "**2",
    "³": "**3",
    "⌊": "floor(",
    "⌋": ")",
    "⌈": "ceil(",
    "⌉": ")",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "∞": "inf",
    " = ": " == ",
    " xor ": " ^ ",
}
WORDS = {
    **vars(np),
    **{"ln": np.log, "max": np.maximum, "min": np.minimum, "Re": np.real, "Im": np.imag, "i": 1j},
}


def as_python(op):
    """The lines of a formula of single cells as Python runs them; None if it is more than that."""
    said, more = parts(op.formula)
    lines = []
    for line in [*(m for m in more if m.startswith("where ")), *said]:
        name, _, expression = re.sub("^where ", "", line).replace(" ← ", " = ").partition(" = ")
        for sign, python in SIGNS.items():
            expression = expression.replace(sign, python)
        expression = re.sub(r"\|([^|]+)\|", r"abs(\1)", re.sub(r"√(\w+)", r"√(\1)", expression))
        lines.append(f"{name} = {expression.replace('√', 'sqrt')}")
    try:
        return compile("\n".join(lines), op.name, "exec")
    except SyntaxError:
        return None


PLAIN = [
    pytest.param(op, as_python(op), id=op.name)
    for op in REGISTRY.values()
    if op.formula and "[" not in op.formula and as_python(op)
    if not op.fed and not any(pin.is_list for pin in op.inputs)
]


def calls(op):
    """Inputs and attributes of the worked cases, and of the first of these with other numbers in it."""
    drawn = np.random.default_rng(5)
    for number, case in enumerate(op.cases):
        inputs, attrs, _ = op.bind((), case.args)
        arrays = op.arrays(inputs)
        yield arrays, attrs
        for _ in range(5 if number == 0 else 0):
            yield (
                [
                    drawn.uniform(*op.slope_range, x.shape).astype(x.dtype)
                    if x.dtype.kind == "f"
                    else x
                    for x in arrays
                ],
                attrs,
            )


def other(op, arrays):
    """Whether the formula has a line of its own for such numbers."""
    return "with whole numbers" in op.formula and any(x.dtype.kind in "iu" for x in arrays)


@pytest.mark.parametrize(("op", "code"), PLAIN)
@np.errstate(all="ignore")
def test_it_gives_the_answers(op, code):
    compared = 0
    for arrays, attrs in calls(op):
        if other(op, arrays):
            continue
        results = op.values(op.reference(*arrays, **attrs))
        try:
            cells = np.broadcast(*arrays, *results)
        except ValueError:  # Equal of shapes that do not fit
            continue
        for values in cells:
            given, answer = values[: len(arrays)], values[len(arrays) :]
            large = any(not abs(complex(x)) <= 100 for x in given)
            if large and not (answer[0].dtype.kind == "b" and given[0].dtype.kind == "f"):
                continue  # what the op gives is a limit, or goes round
            if np.isnan(answer).any():  # there is none
                continue
            here = {**dict(zip((pin.name for pin in op.inputs), given, strict=True)), **attrs}
            exec(code, WORDS, here)  # noqa: S102
            found = [here[name] for name in op.writes or [pin.name for pin in op.outputs]]
            np.testing.assert_allclose(found, answer, rtol=1e-6, atol=1e-12, err_msg=str(given))
            compared += 1
    assert compared


def test_most_ops_of_single_cells_are_computed():
    assert len(PLAIN) > 110
