"""What holds of the tests themselves. `conftest.py` has which of them may be skipped."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def own_statements(function):
    """The nodes of a function without those of functions inside of it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from own_statements(node)


def early_returns(source):
    return [
        f"{function.name}, line {node.lineno}"
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_")
        for node in own_statements(function)
        if isinstance(node, ast.Return)
    ]


@pytest.mark.parametrize("file", sorted(TESTS.rglob("test_*.py")), ids=lambda file: file.name)
def test_no_test_passes_by_returning_early(file):
    assert not early_returns(file.read_text()), "leave the case out of its parameters, or assert"


def test_an_early_return_is_seen():
    assert early_returns("def test_it():\n    if 1:\n        return\n") == ["test_it, line 3"]
