"""Fuzzers: random calls of ops and kernels, and random bytes for whatever reads files and messages.

`python tools/fuzz --help` says how they are run.
"""

import sys
from pathlib import Path

# Calls whose outcome is known are shared with the tests.
sys.path.append(str(Path(__file__).parents[2] / "tests" / "ops"))
