"""Pages to begin with, which come with the package. All of them run."""

from __future__ import annotations

import json
from pathlib import Path

FIRST = "matrix_product"
"""What a new page is when no example is named."""

_TAUGHT = (
    "lesson_max_pool", "lesson_ties", "lesson_avg_pool_edge", "lesson_convolution", "lesson_strides",
    "lesson_second_gradient", "lesson_layouts", "spheres_and_cubes",
)  # fmt: skip
"""Lessons in the order in which they are best read."""

_SUFFIX = ".page.json"
_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The lessons, then the others by name."""
    found = {file.name.removesuffix(_SUFFIX) for file in _FOLDER.glob(f"*{_SUFFIX}")}
    return [*_TAUGHT, *sorted(found.difference(_TAUGHT))]


def path(name: str) -> Path:
    """The file of an example."""
    return _FOLDER / f"{name}{_SUFFIX}"


def titles() -> dict[str, str]:
    """Examples by name, with what they are called."""
    return {name: json.loads(path(name).read_text())["title"] for name in names()}
