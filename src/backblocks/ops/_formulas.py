"""The formula of an op: a paragraph of its documentation that says in signs what comes out.

    @op("MatrixDiag", "T -> T", T=FLOATS)
    def matrix_diag(diagonal):
        \"\"\"Square matrices with the rows of `diagonal` on their diagonals and zeros elsewhere.

        output[…, i, j] = diagonal[…, i] if i = j else 0
        \"\"\"

It is known by what it begins with, an output or a variable that is written, and not by indentation, some
of which Python takes away from docstrings. Readers of the documentation find it indented.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from textwrap import dedent, indent

INDENT = "    "
_BEGINS = re.compile(r"\s*(\w+)(\[.*\])?(, \w+)* [=←~] ")


def set_apart(doc: str, results: Collection[str]) -> tuple[str, str]:
    """Documentation whose formula is indented, as readers of Markdown show code, and the formula alone.

    `results` are the names that a formula can begin with.
    """
    paragraphs = doc.split("\n\n")
    for place, text in enumerate(paragraphs[1:], 1):
        begins = _BEGINS.match(text)
        if begins and begins[1] in results:
            formula = dedent(text).rstrip()
            paragraphs[place] = indent(formula, INDENT)
            return "\n\n".join(paragraphs), formula
    return doc, ""


def with_formula(description: str, formula: str) -> str:
    """A description with a formula behind its first paragraph."""
    summary, *rest = description.split("\n\n")
    return "\n\n".join([summary, indent(formula, INDENT), *rest])
