"""The SVG chart of a run: speed relative to each peer, and the share of the roofline."""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.sax.saxutils import escape

from backblocks.bench.results import BenchmarkRun, Result

ROW, TOP, NAMES, SCALE, LIMIT, MARGIN = 17, 62, 356, 430, 120, 16
LEAST, MOST = 0.5, 2000.0
MARKS = {"tensorflow": "#e8710a", "xla": "#c9a400", "torch": "#7b3fc4", "jax": "#1a9e77"}
STYLE = """
svg { background: #ffffff; font: 11px ui-monospace, monospace; }
text { fill: #1d2733; } .faint { fill: #5b6875; } .head { font-weight: bold; }
.grid { stroke: #dfe5ec; } .even { stroke: #1d2733; stroke-width: 1.5; }
.paper { fill: #ffffff; } .bar { fill: #2e6ba4; } .track { fill: #eef3f8; }
@media (prefers-color-scheme: dark) {
  svg { background: #14191f; } text { fill: #e6edf3; } .faint { fill: #9aa7b4; }
  .grid { stroke: #2b333c; } .even { stroke: #e6edf3; }
  .paper { fill: #14191f; } .bar { fill: #5b9bd5; } .track { fill: #222a33; }
}
"""


def svg(run: BenchmarkRun) -> str:
    """The text of the SVG, which follows light and dark mode."""
    groups = {op: [r for r in of_op if r.ours is not None] for op, of_op in run.by_op().items()}
    height = TOP + ROW * sum(len(of_op) + 1 for of_op in groups.values()) + MARGIN
    width = NAMES + SCALE + LIMIT + 3 * MARGIN
    body = [*_axis(run, height), *_rows(groups)]
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' "
            "role='img' aria-label='How many times faster than each peer, and the share of the limit'>",
            f"<style>{STYLE}</style>",
            f"<rect class='paper' width='{width}' height='{height}'/>",
            *body,
            "</svg>\n",
        ]
    )


def _axis(run: BenchmarkRun, height: int) -> Iterator[str]:
    left = float(NAMES)
    taking_part = {peer for result in run.results for peer in result.peers}
    for peer, color in MARKS.items():
        if peer in taking_part:
            text = f"{peer} {run.versions.get(peer, '')}".strip()
            yield f"<circle cx='{left + 5:.0f}' cy='16' r='4.5' fill='{color}'/>"
            yield _text(left + 14, 20, text)
            left += 7.2 * len(text) + 30
    yield _text(NAMES, 38, "backblocks is so many times faster", "faint")
    yield _text(NAMES + SCALE + MARGIN, 38, "share of the limit", "faint")
    for ratio in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        x = _x(ratio)
        kind = "even" if ratio == 1 else "grid"
        yield f"<line class='{kind}' x1='{x:.1f}' x2='{x:.1f}' y1='{TOP - 6}' y2='{height - MARGIN}'/>"
        yield _text(x, TOP - 10, f"{ratio:g}", "faint", "middle")


def _rows(groups: dict[str, list[Result]]) -> Iterator[str]:
    y = TOP + ROW / 2
    for op, results in groups.items():
        yield _text(MARGIN, y + 4, op, "head")
        y += ROW
        for result in results:
            yield _text(MARGIN + 8, y + 4, result.line.removeprefix(op).strip())
            for peer in result.peers:
                ratio = result.faster_than(peer)
                if ratio is not None and peer in MARKS:
                    about = escape(f"{peer}: {ratio:.2f} times")
                    yield (
                        f"<circle cx='{_x(ratio):.1f}' cy='{y:.1f}' r='4.5' fill='{MARKS[peer]}' "
                        f"fill-opacity='0.85'><title>{about}</title></circle>"
                    )
            yield from _share(result.of_limit, y)
            y += ROW


def _share(share: float | None, y: float) -> Iterator[str]:
    x, room = NAMES + SCALE + MARGIN, LIMIT - 34
    yield f"<rect class='track' x='{x}' y='{y - 4:.1f}' width='{room}' height='8'/>"
    if share is not None:
        length = room * min(share, 1.0)
        yield f"<rect class='bar' x='{x}' y='{y - 4:.1f}' width='{length:.1f}' height='8'/>"
        yield _text(x + room + 4, y + 4, f"{share:.2f}", "faint")


def _x(ratio: float) -> float:
    """The x coordinate of a ratio on the logarithmic scale, clamped to its ends."""
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return NAMES + 6 + share * (SCALE - 12)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    of_kind = f" class='{kind}'" if kind else ""
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'{of_kind}>{escape(text)}</text>"
