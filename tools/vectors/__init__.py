"""The calls that are recorded: for each op its types, and a function that makes its calls for a type.

Every module beside this one that has a TABLE takes part.
"""

import importlib
from pathlib import Path

TABLE = {
    op: table
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))
    for op, table in getattr(importlib.import_module(f"vectors.{path.stem}"), "TABLE", {}).items()
}
