"""Every example in the documents runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md", "CONTRIBUTING.md"]


def examples(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)


def run(code):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", DOCUMENTS)
def test_examples_run(name):
    assert examples(name)
    run("\n".join(examples(name)))


def test_the_readme_says_what_comes_out():
    code = examples("README.md")[0]
    said = re.search(r"# (\(.*)$", code, re.MULTILINE)
    assert run(code).strip() == said[1]


def test_the_readme_shows_a_real_error():
    code = examples("README.md")[0]
    code += "\ntry: bb.raw_ops.MaxPool3D(input=volume, **{**windows, 'ksize': [1, 9, 2, 2, 1]})"
    code += "\nexcept bb.OpError as error: print(error)"
    assert run(code).splitlines()[-1] in (ROOT / "README.md").read_text()


def test_the_worked_op_of_the_guide_is_a_whole_one():
    code = "\n".join(examples("CONTRIBUTING.md"))
    code += """
import sys
from pathlib import Path

import pytest

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-k", "Cosh or Diag", "tests/ops/test_every_op.py"]))
"""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"\d\d passed", done.stdout)


def test_the_tour_shows_every_step():
    told = run("import backblocks.tour as tour; tour.main()")
    for name in ("MaxPool3DGradGrad", "AvgPool3DGrad", "Conv3DBackpropInputV2", "A mistake"):
        assert name in told
