"""What the package promises of itself: what importing it costs, and what it may import."""

import importlib.metadata
import subprocess
import sys

import backblocks

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
