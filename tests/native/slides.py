"""What tests of sliding filters share: geometry, guarded results, comparison with the reference."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from hypothesis import strategies as st

import backblocks as bb

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
FORMATS = pytest.mark.parametrize("first", [False, True], ids=["channels last", "channels first"])
UNTOUCHED = 99


def guarded(shape, dtype, begins=None):
    """An array to be overwritten, and the bytes around it that must stay as they are.

    It may begin so many bytes after a cache line does.
    """
    size, guard = int(np.prod(shape)), 64
    around = np.full(size + 3 * guard, UNTOUCHED, dtype)
    if begins is not None:
        guard += (begins - around.ctypes.data) % 64 // around.itemsize
    return around[guard : guard + size].reshape(shape), (around[:guard], around[guard + size :])


def assert_untouched(guards, message=""):
    assert all((guard == UNTOUCHED).all() for guard in guards), message


@dataclass(frozen=True)
class Slide:
    """How a filter slides over images or volumes: groups of `ins` channels become `outs` each."""

    space: tuple
    k: tuple
    s: tuple = ()
    d: tuple = ()
    pads: tuple = ()
    batch: int = 1
    groups: int = 1
    ins: int = 1
    outs: int = 1
    first: bool = False

    def __post_init__(self):
        for name, default in (("s", 1), ("d", 1), ("pads", (0, 0))):
            object.__setattr__(self, name, getattr(self, name) or (default,) * len(self.space))

    @property
    def out_space(self):
        axes = zip(self.space, self.k, self.s, self.d, self.pads, strict=True)
        return tuple((n + sum(p) - (k - 1) * d - 1) // s + 1 for n, k, s, d, p in axes)

    def ordered(self, batch, space, channels):
        return (batch, channels, *space) if self.first else (batch, *space, channels)

    @property
    def input_shape(self):
        return self.ordered(self.batch, self.space, self.groups * self.ins)

    @property
    def output_shape(self):
        return self.ordered(self.batch, self.out_space, self.groups * self.outs)

    @property
    def filter(self):
        return (*self.k, self.ins, self.groups * self.outs)

    @property
    def attrs(self):
        """The attributes of the op that convolves so."""
        return {
            "strides": self.ordered(1, self.s, 1),
            "dilations": self.ordered(1, self.d, 1),
            "padding": "EXPLICIT",
            "explicit_paddings": sum(self.ordered((0, 0), self.pads, (0, 0)), ()),
            "data_format": {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[len(self.k)][self.first],
        }

    def geometry(self, dtype):
        """What a factory of kernels takes. An image is a volume of depth 1."""
        flat = (1,) * (3 - len(self.space))
        return {
            "dtype": np.dtype(dtype).name,
            "input_shape": (self.batch, *flat, *self.space, self.groups * self.ins),
            "output_shape": (self.batch, *flat, *self.out_space, self.groups * self.outs),
            "taps": (*flat, *self.k),
            "strides": (*flat, *self.s),
            "dilations": (*flat, *self.d),
            "pads": (*(0 for _ in flat), *(before for before, _ in self.pads)),
            "groups": self.groups,
            "channels_first": self.first,
        }


def compared(name, attrs, inputs, prepared, arrays, shape, rounding=30):
    """What a prepared kernel gives, between guards, for these arrays.

    The reference of the op of this name must give the same for its inputs. Sums may differ by the order
    in which they run, and after rounding by one step of the type; not so with `rounding` 0.
    """
    dtype = arrays[0].dtype
    fast, guards = guarded(shape, dtype)
    prepared(*arrays, fast)
    assert_untouched(guards, name)
    op = bb.ops.REGISTRY[name]
    _, bound, _ = op.bind(inputs, attrs)
    (naive,) = op.run(inputs, bound, "reference")
    naive = naive.astype(float)
    eps = float(ml_dtypes.finfo(dtype).eps)
    large = float(np.abs(naive[np.isfinite(naive)]).max(initial=1))
    atol = rounding * large * min(eps, 1e-5)
    np.testing.assert_allclose(
        fast.astype(float), naive, rtol=eps if rounding else 0, atol=atol, err_msg=name
    )
    return fast


def results_by_threads(results, counts=(1, 2, 3)):
    """The different bytes that a function's results have when it may use so many threads."""
    before, found = bb.get_num_threads(), set()
    try:
        for count in counts:
            bb.set_num_threads(count)
            found.add(tuple(result.tobytes() for result in results()))
    finally:
        bb.set_num_threads(before)
    return found


@st.composite
def slides(draw, dims=(2, 3), most_taps=4, room=7):
    """Any geometry in which at least one window fits, and a seed."""
    rank = draw(st.sampled_from(dims))

    def each(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(rank))

    k, d, s = each(1, most_taps), each(1, 3), each(1, 4)
    pads = tuple((draw(st.integers(0, 4)), draw(st.integers(0, 4))) for _ in range(rank))
    reach = [(ki - 1) * di + 1 - sum(p) for ki, di, p in zip(k, d, pads, strict=True)]
    space = tuple(max(1, r + draw(st.integers(0, room))) for r in reach)
    return {"space": space, "k": k, "s": s, "d": d, "pads": pads, "batch": draw(st.integers(1, 3))}


# -- what would be unsafe -------------------------------------------------------------------------

SAFE = {
    "dtype": "float32", "input_shape": (1, 2, 2, 2, 2), "output_shape": (1, 1, 1, 1, 4), "taps": (2, 2, 2),
    "strides": (1, 1, 1), "dilations": (1, 1, 1), "pads": (0, 0, 0), "groups": 2,
    "channels_first": False,
}  # fmt: skip
UNSAFE = [  # entries of SAFE, and the rule that keeps them from being so
    ({"output_shape": {0: 2}}, "images"),
    ({"groups": 0}, "groups"),
    ({"groups": 3}, "groups"),
    ({"output_shape": {4: 3}}, "groups"),
    ({"taps": {2: 0}}, "tap on every axis"),
    ({"strides": {2: 0}}, "strides"),
    ({"dilations": {2: -1}}, "dilations"),
    ({"pads": {1: -1}}, "pads"),
    ({"pads": {1: 2**61}}, "too large"),
    ({"dilations": {1: 2**61}}, "too large"),
    ({"output_shape": {2: 2}, "strides": {1: 2**61}}, "too large"),
    ({"input_shape": {2: 2**61}}, "too large"),
    ({"input_shape": {2: -2}}, "negative"),
]


def changed(geometry, changes):
    """Geometry with other entries, of which those of a list are given by their places."""
    new = dict(geometry)
    for key, change in changes.items():
        if isinstance(change, dict):
            change = tuple(change.get(i, value) for i, value in enumerate(geometry[key]))
        new[key] = change
    return new


def a_byte_off(array):
    """The same numbers where the processor does not want them, as arrays in the middle of a file are."""
    bytes_ = np.frombuffer(b"\0" + array.tobytes(), np.uint8)[1:]
    return bytes_.view(array.dtype).reshape(array.shape)


SMALL = {  # at the edge of what Winograd takes
    "taps beyond the depth": {
        "space": (1, 20, 20),
        "k": (3, 3, 3),
        "pads": ((1, 1),) * 3,
        "batch": 4,
    },
    "taps beyond the height": {"space": (2, 40), "k": (5, 3), "pads": ((2, 2), (1, 1)), "batch": 8},
    "most of it padding": {"space": (3, 24), "k": (5, 3), "pads": ((0, 20), (1, 1))},
    "one cell": {"space": (1, 1), "k": (3, 3), "pads": ((2, 2),) * 2, "batch": 200},
    "one window": {"space": (3, 3), "k": (3, 3), "batch": 200},
}


@st.composite
def many_small_images(draw):
    """So many images that Winograd pays, with axes that taps may reach beyond."""
    rank = draw(st.sampled_from([2, 3]))
    space = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    k = (draw(st.sampled_from([1, 3])),) * (rank - 2) + tuple(
        draw(st.sampled_from([3, 3, 5])) for _ in "hw"
    )
    pads = tuple(
        (draw(st.integers(max(0, taps - n), taps)), draw(st.integers(0, taps)))
        for n, taps in zip(space, k, strict=True)
    )
    return {"space": space, "k": k, "pads": pads, "batch": draw(st.sampled_from([1, 60, 150]))}


@st.composite
def images_for_three_taps(draw):
    """Images and volumes that are large enough for Winograd."""
    low, rank = draw(st.sampled_from([(18, 2), (9, 3)]))
    space = tuple(draw(st.integers(low, low + 4)) for _ in range(rank))
    pads = tuple((draw(st.integers(0, 3)), draw(st.integers(0, 3))) for _ in range(rank))
    batch, flat = draw(st.integers(1, 2)), rank == 3 and draw(st.booleans())
    if flat:
        space, pads = (2, 2 * low, *space[2:]), ((0, 0), *pads[1:])
    return {"space": space, "k": (1 if flat else 3,) + (3,) * (rank - 1), "pads": pads,
            "batch": batch}  # fmt: skip
