"""What the package promises: the cost of importing it, what it may import, and a map that is true."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import backblocks

ROOT = Path(__file__).parents[1]
HEAVY = ("tensorflow", "torch", "jax", "scipy", "hypothesis", "pytest", "importlib.metadata")
HEAVY += ("backblocks.pages",)  # what opens pages is imported with the first page


def in_fresh_python(code):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_importing_brings_in_nothing_heavy():
    code = "import sys, backblocks; {}; print('\\n'.join(sys.modules))"
    assert "numpy" not in in_fresh_python(code.format("0")).split()
    loaded = in_fresh_python(code.format("backblocks.ops, backblocks.Session")).split()
    assert not [name for name in HEAVY if name in loaded]
    assert "backblocks._native" in loaded


def test_every_public_name_is_there():
    code = "import backblocks; print([n for n in backblocks.__all__ if n not in dir(backblocks) "
    assert in_fresh_python(code + "or getattr(backblocks, n) is None])") == "[]\n"


def test_public_names():
    names = in_fresh_python("import backblocks; print(*backblocks.__all__)").split()
    assert names == [
        "BackblocksError", "Cancelled", "Event", "Graph", "InternalError", "OpError", "Page", "PageError",
        "Placeholder", "Runner", "Scope", "Session", "Symbol", "constant", "evaluate", "get_num_threads",
        "gradients", "memory",
        "open_page", "ops", "placeholder", "raw_ops", "save_page", "set_num_threads", "variable",
    ]  # fmt: skip


def test_the_version_is_the_installed_one():
    assert importlib.metadata.version("backblocks") == backblocks.__version__


def modules(folder, *endings):
    """Paths of the modules below a folder of the repository."""
    found = (path for ending in endings for path in (ROOT / folder).rglob(f"*{ending}"))
    return {str(path.relative_to(ROOT)) for path in found if path.name != "__init__.py"}


def listed():
    """The paths in the tables of the map: those of a section are below the folder in its heading."""
    folder, paths = "", []
    for line in (ROOT / "docs/architecture.md").read_text().splitlines():
        if line.startswith("#"):
            folder = (re.findall(r"`(.+/)`", line) or [""])[0]
        elif folder and line.startswith("| `"):
            paths += [folder + name for name in re.findall(r"`(.+?)`", line.split("|")[1])]
    return paths


def test_the_map_lists_every_module_and_nothing_else():
    # A file of ops is named in the documentation of its ops; a header and its source are one module.
    ops = {
        str(path.relative_to(ROOT)) for path in (ROOT / "src/backblocks/ops").glob("*/[a-z]*.py")
    }
    there = modules("src/backblocks", ".py") - ops
    native = modules("native", ".cpp", ".hpp")
    headers = {path for path in native if path.endswith(".hpp")}
    there |= native - {path for path in headers if path.replace(".hpp", ".cpp") in native}
    packages = (path.parent for path in (ROOT / "src/backblocks").rglob("__init__.py"))
    there |= {f"{path.relative_to(ROOT)}/" for path in packages} - {"src/backblocks/"}
    there |= {
        f"{path.relative_to(ROOT)}/" for path in (ROOT / "web/src").iterdir() if path.is_dir()
    }
    paths = listed()
    assert sorted(paths) == sorted({*paths}), "listed twice"
    assert {*paths} == there


def test_the_map_is_short():
    assert len((ROOT / "docs/architecture.md").read_text().splitlines()) <= 250
