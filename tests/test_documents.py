"""Every example in the documents runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from backblocks.commands.arguments import parser

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md", "CONTRIBUTING.md"]
# Whoever has followed the guide has its ops already.
FORGET = """
import backblocks.ops
for name in {"Cosh", "MatrixDiag"} & set(backblocks.ops.REGISTRY):
    vars(backblocks.ops).pop(backblocks.ops.REGISTRY.pop(name).snake_name, None)
"""


def examples(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)


def run(code):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", DOCUMENTS)
def test_examples_run(name):
    assert examples(name)
    run(FORGET + "\n".join(examples(name)))


def test_the_readme_says_what_comes_out():
    first, _, third = examples("README.md")[:3]
    for code, before in ((first, ""), (third, first)):
        said = re.search(r"^print.*# (.*)$", code, re.MULTILINE)
        assert run(before + code).splitlines()[-1] == said[1]


@pytest.mark.parametrize("name", ["README.md", "docs/command_line.md"])
def test_the_commands_of_the_documents_are_understood(name):
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
    lines = re.findall(r"^backblocks (.*)$", "".join(blocks), re.MULTILINE)
    assert lines
    for line in lines:
        parser().parse_args(shlex.split(line, comments=True))


def test_every_command_is_documented():
    (commands,) = (action.choices for action in parser()._actions if action.dest == "command")
    text = (ROOT / "docs/command_line.md").read_text()
    assert set(re.findall(r"^\| `backblocks (\w+)", text, re.MULTILINE)) == set(commands)


def test_the_page_and_the_code_of_the_documents_run(tmp_path):
    (page,) = re.findall(r"```json\n(.*?)```", (ROOT / "docs/pages.md").read_text(), re.DOTALL)
    (tmp_path / "line.page.json").write_text(page)
    code = "\n".join([f"import os; os.chdir({str(tmp_path)!r})", *examples("docs/pages.md")])
    problems, values, *scripts = run(code).splitlines()
    assert problems == "[]"
    assert re.search(r"\[\[(2\.0000|1\.9999)", values), "the slope of the line"
    text = "\n".join(scripts)
    assert "from backblocks import raw_ops" in text
    assert "import tensorflow as tf" in text


def test_the_readme_shows_a_real_error():
    call, said = re.search(
        r"^>>> (.*)\n(.*)$", (ROOT / "README.md").read_text(), re.MULTILINE
    ).groups()
    code = examples("README.md")[0]
    code += f"\ntry: {call}\nexcept bb.OpError as error: print(f'OpError: {{error}}')"
    assert run(code).splitlines()[-1] == said


def test_the_worked_ops_of_the_guide_are_whole_ones():
    tests = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "Cosh or MatrixDiag",
        "tests/ops/test_every_op.py",
    ]
    told = run(f"{guide()}\nimport sys, pytest; sys.exit(pytest.main({tests}))")
    assert re.search(r"\d\d passed", told)


@pytest.mark.long
def test_documentation_can_be_generated_before_tensorflow_was_asked():
    code = """
import runpy
from backblocks.ops import REGISTRY

REGISTRY["Novel"].group = "nn"
files = runpy.run_path("tools/generate.py")["files"]()
print(*(path.name for path, text in files.items() if "Novel" in text))
"""
    code = guide().replace("MatrixDiag", "Novel") + code
    assert run(code).split() == ["raw_ops.pyi", "README.md", "Novel.md"]


def guide():
    return FORGET + "\n".join(examples("CONTRIBUTING.md"))
