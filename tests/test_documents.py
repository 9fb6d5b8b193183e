"""Every example in the documents runs."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backblocks import _native
from backblocks.commands.arguments import parser

ROOT = Path(__file__).resolve().parent.parent
OPS, KERNEL = "## Adding an op", "## Adding a native kernel"
TESTS_OF_THE_GUIDE = """
import sys, pytest
tests = ["-q", "-p", "no:cacheprovider", "-k", "Dawsn or TridiagonalMatMul"]
sys.exit(pytest.main([*tests, "tests/ops/test_every_op.py"]))
"""


def blocks(language, name, chapter=""):
    """The blocks of code in a document, or in a chapter of one."""
    text = (ROOT / name).read_text()
    text = text[text.index(chapter) :].split("\n## ")[0] if chapter else text
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def examples(name, chapter=""):
    return blocks("python", name, chapter)


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


def test_the_examples_of_the_readme_run():
    assert examples("README.md")
    run("\n".join(examples("README.md")))


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
    told = run(f"{guide()}\n{TESTS_OF_THE_GUIDE}")
    assert re.search(r"\d\d passed", told)


@pytest.mark.long
def test_the_worked_kernel_of_the_guide_is_a_whole_one(tmp_path):
    """Follows the chapter in a copy of the sources, whose table is cut down to be compiled in seconds."""
    shutil.copytree(ROOT / "native", tmp_path / "native")
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    (source,) = blocks("cpp", "CONTRIBUTING.md", KERNEL)
    (declaration,) = blocks("c", "CONTRIBUTING.md", KERNEL)
    file = re.search(r"SOURCE\((\w+\.cpp)", declaration)[1]
    (tmp_path / "native" / file).write_text(source)
    table = (tmp_path / "native/kernels.def").read_text()
    all_others = re.search(r"^SOURCE.*^(?=SOURCE\(roofline)", table, re.DOTALL | re.MULTILINE)[0]
    (tmp_path / "native/kernels.def").write_text(table.replace(all_others, declaration))

    package = tmp_path / "src/backblocks"
    shutil.copytree(
        ROOT / "src/backblocks", package, ignore=shutil.ignore_patterns("*.so", "static", "__*__")
    )
    op = "\n".join(examples("CONTRIBUTING.md", OPS) + examples("CONTRIBUTING.md", KERNEL))
    (package / "ops/math/tridiagonal.py").write_text(op)
    build(tmp_path, package)

    others = sorted(_native.KERNELS)
    code = f"""
import sys
sys.meta_path[:] = [each for each in sys.meta_path if "editable" not in type(each).__module__]
sys.path.insert(0, {str(package.parent)!r})
from backblocks import _native
assert list(_native.KERNELS) == ["tridiagonal_mat_mul"], _native.KERNELS
for name in {others}:  # which were not compiled
    setattr(_native, name, None)
import backblocks.ops
(kernel,) = backblocks.ops.REGISTRY["TridiagonalMatMul"].kernels
import runpy
print(runpy.run_path("tools/generate.py")["native_stub"]()[-200:])
{TESTS_OF_THE_GUIDE}
"""
    told = run(code)
    assert (
        "rhs: Sequence[int],\n) -> Prepared: ...  # superdiag, maindiag, subdiag, rhs -> output"
        in told
    )
    assert re.search(r"\d\d passed", told)
    sanitized = code.replace('"-q",', '"-q", "--native-ops", "--collect-only",')
    assert re.search(r"test_fast_kernels_agree_with_\w+\[TridiagonalMatMul", run(sanitized))


def build(root, package):
    """Compiles native/ and puts the module into a package."""
    found = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    nanobind = subprocess.run(
        [sys.executable, "-m", "nanobind", "--cmake_dir"],
        capture_output=True,
        text=True,
        check=False,
    )
    if not found or nanobind.returncode or not shutil.which("c++"):
        pytest.skip("CMake, nanobind or a compiler is missing")
    options = {
        "CMAKE_BUILD_TYPE": "None",
        "CMAKE_CXX_FLAGS": "-O1",
        "SKBUILD_SABI_VERSION": "3.11",
        "ALL_ISAS": "OFF",
        "Python_EXECUTABLE": sys.executable,
        "nanobind_DIR": nanobind.stdout.strip(),
        "CMAKE_LIBRARY_OUTPUT_DIRECTORY": package,
    }
    given = [f"-D{name}={value}" for name, value in options.items()]
    for command in (
        [found, "-S", root, "-B", root / "build", *given],
        [found, "--build", root / "build", "--parallel", "2"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_documentation_can_be_generated_before_tensorflow_was_asked():
    code = """
import runpy
from backblocks.ops import REGISTRY

REGISTRY["Novel"].group = "nn"
files = runpy.run_path("tools/generate.py")["files"]()
print(*(path.name for path, text in files.items() if "Novel" in text))
"""
    code = guide().replace("TridiagonalMatMul", "Novel") + code
    assert run(code).split() == ["raw_ops.pyi", "README.md", "Novel.md"]


def guide():
    return "\n".join(examples("CONTRIBUTING.md", OPS))
