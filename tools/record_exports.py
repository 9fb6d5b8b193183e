"""Records what TensorFlow gives for pages that are exported to it.

python tools/record_exports.py .venv-tf/bin/python
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import backblocks as bb
from backblocks.pages.export import to_tensorflow

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "tests/pages/exported/tensorflow.npz"
REFUSED = {"src/backblocks/examples/lesson_layouts.page.json"}
"""Pages that TensorFlow cannot run on a CPU: its kernels there take channels last only."""
STEPS = 5
"""Enough to see that a step goes on where the last one ended."""

SAVE = """
results = {name: np.asarray(value) for name, value in results.items()}
np.savez(sys.argv[1], **{
    name: value.astype("float32") if value.dtype.kind == "V"
    else value.astype("S") if value.dtype.kind == "O"
    else value
    for name, value in results.items()
})
"""


def pages() -> Iterator[tuple[str, bb.Page]]:
    """Every page that can be exported, with its name here. Long runs are cut short."""
    for folder in ("tests/pages/exported", "tests/pages/versions", "src/backblocks/examples"):
        for file in sorted((ROOT / folder).glob("**/*.page.json")):
            page = bb.open_page(file)
            if page.run.fetch:
                page.run.steps = page.run.steps and min(page.run.steps, STEPS)
                yield f"{folder}/{file.name}", page


def main() -> None:
    recorded = {}
    for name, page in pages():
        if name in REFUSED:
            continue
        with tempfile.TemporaryDirectory() as folder:
            script, values = Path(folder) / "script.py", Path(folder) / "values.npz"
            script.write_text("import sys\n" + to_tensorflow(page) + SAVE)
            subprocess.run([sys.argv[1], script, values], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
            with np.load(values) as loaded:
                recorded |= {f"{name} {fetch}": loaded[fetch] for fetch in loaded.files}
        print(name)
    np.savez_compressed(RECORDED, **recorded)


if __name__ == "__main__":
    main()
