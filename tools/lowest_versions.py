"""Prints the lowest versions of the runtime dependencies that pyproject.toml allows, for pip to install.

python tools/lowest_versions.py > constraints.txt
"""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def lowest(requirements: list[str]) -> list[str]:
    """Each `name>=version, ...` as `name==version`."""
    found = [re.match(r"([\w.-]+)>=([\w.]+)", requirement) for requirement in requirements]
    missing = [r for r, match in zip(requirements, found, strict=True) if match is None]
    if missing:
        raise SystemExit(f"{missing} have no lower bound")
    return [f"{match[1]}=={match[2]}" for match in found if match is not None]


if __name__ == "__main__":
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    print(*lowest([*project["dependencies"], *chain(*extras)]), sep="\n")
