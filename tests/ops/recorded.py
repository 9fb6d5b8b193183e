"""Reads the calls and answers that tools/record_tf_vectors.py recorded; it says how the files are built."""

import json
from functools import cache
from math import prod
from pathlib import Path

import numpy as np

from backblocks.dtypes import as_dtype

VECTORS = Path(__file__).parent / "vectors"
RECORDED = sorted(path.stem for path in VECTORS.glob("*.npz"))
SUPPORT = json.loads((VECTORS / "support.json").read_text())


@cache
def recorded(name):
    """The calls of an op, with arrays for their tensors."""
    with np.load(VECTORS / f"{name}.npz") as file:
        cells = file["cells"].tobytes()
        calls = json.loads(file["calls"].tobytes())

    def read(place):
        if place is None or not place:
            return place
        if isinstance(place[0], list):
            return [read(each) for each in place]
        dtype, shape, start = place
        if dtype == "string":
            cells_of_it = [text.encode("latin-1") for text in start]
            return np.array(cells_of_it, object).reshape(shape)
        array = np.frombuffer(cells, as_dtype(dtype), prod(shape), start)
        return array.reshape(shape)

    for call in calls:
        call["inputs"] = {name: read(place) for name, place in call["inputs"].items()}
        if "outputs" in call:
            call["outputs"] = [read(place) for place in call["outputs"]]
    return calls
