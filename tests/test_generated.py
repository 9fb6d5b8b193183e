"""Generated files are what the declarations say."""

import runpy
from pathlib import Path

TOOL = Path(__file__).resolve().parent.parent / "tools" / "generate.py"


def test_stubs_and_documentation_are_not_stale():
    stale = runpy.run_path(str(TOOL))["stale"]()
    assert not stale, f"run make generate: {[path.name for path in stale]}"
