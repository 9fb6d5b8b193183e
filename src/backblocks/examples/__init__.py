"""Pages to begin with, which come with the package. All of them run."""

from __future__ import annotations

import json
from pathlib import Path

FIRST = "matrix_product"
"""What a new page is when no example is named."""

_SUFFIX = ".page.json"
_FOLDER = Path(__file__).parent


def names() -> list[str]:
    return sorted(file.name.removesuffix(_SUFFIX) for file in _FOLDER.glob(f"*{_SUFFIX}"))


def path(name: str) -> Path:
    """The file of an example."""
    return _FOLDER / f"{name}{_SUFFIX}"


def titles() -> dict[str, str]:
    """Examples by name, with what they are called."""
    return {name: json.loads(path(name).read_text())["title"] for name in names()}
