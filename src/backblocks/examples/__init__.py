"""Example pages and lessons that come with the package."""

from __future__ import annotations

import json
from pathlib import Path

FIRST = "matrix_product"
"""The example that a new page is a copy of, if none is named."""

_LESSONS = (
    "lesson_max_pool", "lesson_ties", "lesson_avg_pool_edge", "lesson_convolution", "lesson_strides",
    "lesson_second_gradient", "lesson_layouts", "spheres_and_cubes",
)  # fmt: skip
"""Lessons in the order in which they are best read."""

_SUFFIX = ".page.json"
_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The lessons, then the others by name."""
    found = {file.name.removesuffix(_SUFFIX) for file in _FOLDER.glob(f"*{_SUFFIX}")}
    return [*_LESSONS, *sorted(found.difference(_LESSONS))]


def path(name: str) -> Path:
    """The file of an example."""
    return _FOLDER / f"{name}{_SUFFIX}"


def titles() -> dict[str, str]:
    """Titles of the examples, by name."""
    return {name: json.loads(path(name).read_text())["title"] for name in names()}
