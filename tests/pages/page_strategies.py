"""Hypothesis strategies for pages: blocks of known and unknown ops, constants of every dtype, odd texts."""

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from backblocks.dtypes import FROM_ML_DTYPES
from backblocks.pages.constants import TYPES, array_to_json
from backblocks.pages.model import Frame, Monitor, MonitorSource, Note, PageBlock
from backblocks.pages.page import Page

# How fast pages are made up says how busy the machine is, and nothing of the code. Each has many parts,
# so a few dozen of them see much.
unhurried = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,8}", fullmatch=True)
numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, words),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
new_fields = st.dictionaries(names.map("x-".__add__), json_values, max_size=2)


@st.composite
def arrays(draw):
    """An array of any dtype, with every bit pattern that it can have."""
    name = draw(st.sampled_from(sorted(TYPES)))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    if name == "string":
        size = int(np.prod(shape))
        array = np.empty(size, object)
        array[:] = draw(st.lists(st.binary(max_size=6), min_size=size, max_size=size))
        return array.reshape(shape)
    if name in FROM_ML_DTYPES:
        return draw(hnp.arrays(f"u{TYPES[name].itemsize}", shape)).view(TYPES[name])
    return draw(hnp.arrays(TYPES[name], shape))


in_words_only = arrays().map(array_to_json).filter(lambda words: isinstance(words, dict))


@st.composite
def blocks(draw, known):
    """A block that is wired to some of the known ones, rightly or not."""
    wires = st.sampled_from([*known, "nobody"]).map(lambda name: f"{name}:output")
    sources = st.one_of(wires, numbers, in_words_only)
    op = draw(st.sampled_from(["Const", "AddV2", "Relu", "NewOp", "VariableV2", "MaxPool"]))
    return PageBlock(
        op,
        draw(st.integers(1, 3)),
        draw(words),
        draw(st.dictionaries(names, sources | st.lists(sources, max_size=2), max_size=3)),
        draw(st.none() | sources),
        draw(st.dictionaries(names, json_values | in_words_only, max_size=3)),
        draw(st.lists(st.sampled_from([*known, "nobody"]), max_size=2)),
        unknown=draw(new_fields),
    )


@st.composite
def pages(draw):
    """Any page that the format allows, sound or not."""
    page = Page(title=draw(words), about=draw(words))
    for name in draw(st.lists(names, max_size=8, unique=True)):
        page.blocks[name] = draw(blocks([*page.blocks] or ["x"]))
        page.layout.blocks[name] = draw(st.lists(st.integers(-9, 9) | st.floats(-9, 9), max_size=2))
    for name in draw(st.lists(words, max_size=2, unique=True)):
        page.notes[name] = Note(draw(words))
        titles = draw(st.dictionaries(words, words, max_size=1))
        page.frames[name] = Frame(draw(words), titles, draw(st.lists(words, max_size=2)))
        shown = MonitorSource("x:output", draw(st.none() | st.lists(st.integers(0, 9), max_size=2)))
        page.monitors[name] = Monitor(draw(words), [shown], unknown=draw(new_fields))
    page.run.seed = draw(st.none() | st.integers(0, 2**40))
    page.run.feeds = draw(st.dictionaries(words, in_words_only, max_size=2))
    page.unknown = draw(new_fields)
    return page
