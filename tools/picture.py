"""Draws the picture of the README: a volume, its max pool, and the gradient sent back twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import backblocks as bb

CELL, GAP, MARGIN = 34, 14, 24
INK, PAPER, RULE = "#1d2733", "#ffffff", "#c9d2dc"
LOW, HIGH, SENT = (238, 243, 248), (46, 107, 164), (214, 96, 47)
FONT = "font-family='ui-monospace, monospace'"


def svg() -> str:
    """The picture, with numbers that the ops really gave."""
    windows: dict[str, Any] = {
        "ksize": [1, 1, 2, 2, 1],
        "strides": [1, 1, 2, 2, 1],
        "padding": "VALID",
    }
    x = np.random.default_rng(3).permutation(32).reshape(1, 2, 4, 4, 1).astype(np.float32)
    y = bb.raw_ops.MaxPool3D(input=x, **windows)
    dy = np.arange(1, 9, dtype=np.float32).reshape(y.shape)
    dx = bb.raw_ops.MaxPool3DGrad(orig_input=x, orig_output=y, grad=dy, **windows)
    ddy = bb.raw_ops.MaxPool3DGradGrad(orig_input=x, orig_output=y, grad=dx, **windows)
    columns = [
        ("input", x, HIGH),
        ("MaxPool3D", y, HIGH),
        ("gradient", dy, SENT),
        ("MaxPool3DGrad", dx, SENT),
        ("MaxPool3DGradGrad", ddy, SENT),
    ]
    left, parts = MARGIN, []
    for name, values, color in columns:
        parts += list(_column(left, name, values[0, ..., 0], color))
        left += max(values.shape[3] * CELL, len(name) * 8) + GAP * 2
    width, height = left, 2 * (4 * CELL + GAP) + 2 * MARGIN + 14
    frame = f"<rect width='{width}' height='{height}' fill='{PAPER}'/>"
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' role='img' "
        f"aria-label='A volume, its max pool, and the gradient sent back twice'>"
    )
    return "\n".join([head, frame, *parts, "</svg>"]) + "\n"


def _column(left: int, name: str, slices: Any, color: tuple[int, int, int]) -> Iterator[str]:
    yield f"<text x='{left}' y='{MARGIN + 2}' font-size='13' {FONT} fill='{INK}'>{name}</text>"
    top = MARGIN + 14
    for values in slices:
        for (row, column), value in np.ndenumerate(values):
            yield from _cell(
                left + column * CELL, top + row * CELL, value, value / slices.max(), color
            )
        top += 4 * CELL + GAP


def _cell(x: int, y: int, value: float, share: float, color: tuple[int, int, int]) -> Iterator[str]:
    fill = tuple(round(a + (b - a) * share) for a, b in zip(LOW, color, strict=True))
    ink = PAPER if share > 0.55 else INK
    yield (
        f"<rect x='{x}' y='{y}' width='{CELL}' height='{CELL}' fill='rgb{fill}' stroke='{RULE}'/>"
    )
    yield (
        f"<text x='{x + CELL // 2}' y='{y + CELL // 2 + 4}' text-anchor='middle' font-size='12' "
        f"{FONT} fill='{ink}'>{value:g}</text>"
    )
