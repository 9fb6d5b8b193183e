"""Random numbers as TensorFlow's kernels make them of Philox words.

A draw begins at a place in a stream: the key, the stream, and the number of its first block of four
words. Kernels give the same numbers on any number of threads, because every group of numbers has a place
of its own.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from backblocks.dtypes import BY_NAME, DType
from backblocks.ops import _philox
from backblocks.ops._chunks import check_cancelled
from backblocks.ops._inputs import Array
from backblocks.ops._rng_state import RngState, current_rng_state, seed_words, state_words

RESERVED = 256
"""Words that TensorFlow sets aside for each number, since some ways to make one draw again and again."""


class Place(NamedTuple):
    key: int
    stream: int
    first: int


def start(source: tuple[int, int], *, seed: int, seed2: int, **others: Any) -> Array:
    """Where a block draws first: at its seeds, or at the source if it has none."""
    return state_words(*((seed, seed2) if seed or seed2 else source), 0)


def reserve(seed: int, seed2: int, count: int) -> Place:
    """The place of the next `count` blocks of words, which this block does not draw again."""
    state = current_rng_state() or RngState(start(seed_words(), seed=seed, seed2=seed2))
    place = Place(*state.words.tolist())
    state.words = state_words(place.key, place.stream, place.first + count)
    return place


def place_of(seed: Array) -> Place:
    """Where a stateless op draws. Its two seeds are mixed, so that weak ones do no harm."""
    low, high = seed.tolist()
    mixed = _philox.blocks(0x02461E293EC8F720, high, low, 1)[0].tolist()
    return Place(mixed[0] | mixed[1] << 32, mixed[2] | mixed[3] << 32, 0)


Draw = Callable[[Place, int, DType], Array]
"""Draws `count` numbers of a type at a place: `draw(place, count, dtype)`."""


WORD = BY_NAME["uint32"]
_IN_CACHE = 1 << 16
"""Numbers that are drawn at a time: three times as fast as millions, and a draw can be ended in between."""


def _drawn(
    draw: Callable[[Place, int], Array], place: Place, count: int, dtype: DType, words: int
) -> Array:
    """Draws `count` numbers of `words` Philox words each."""
    out = np.empty(count, dtype)
    for start in range(0, count, _IN_CACHE):
        check_cancelled()
        part = out[start : start + _IN_CACHE]
        first = (place.first + start * words // 4) % 2**64
        part[:] = draw(place._replace(first=first), len(part))
    return out


def words_at(place: Place, count: int) -> Array:
    return _drawn(lambda place, count: _words(place, count)[:count], place, count, WORD, 1)


def _words(place: Place, count: int) -> Array:
    return _philox.blocks(*place, -(-count // 4)).reshape(-1)


# -- numbers between 0 and 1 ------------------------------------------------------------------------

_BITS = {"float16": 10, "bfloat16": 7, "float32": 23}
_MASKS = {BY_NAME[name]: np.uint32(2**bits - 1) for name, bits in _BITS.items()}


def uniform(place: Place, count: int, dtype: DType) -> Array:
    """Numbers in [0, 1), from as many low bits as the type has digits."""
    if dtype == np.float64:
        return fractions_at(place, count)
    mask = _MASKS[dtype]

    def draw(place: Place, count: int) -> Array:
        return (_words(place, count)[:count] & mask) / (float(mask) + 1)

    return _drawn(draw, place, count, dtype, 1)


def fractions_at(place: Place, count: int) -> Array:
    """Numbers in [0, 1) of float64."""

    def draw(place: Place, count: int) -> Array:
        return _fractions(_words(place, 2 * count))[:count]

    return _drawn(draw, place, count, BY_NAME["float64"], 2)


def _fractions(words: Array) -> Array:
    """A float64 number in [0, 1) of each two words."""
    high, low = words.reshape(-1, 2).T.astype(np.uint64)
    whole: Array = (high & np.uint64(2**20 - 1)) << np.uint64(32) | low
    return whole / 2.0**52


def whole(place: Place, count: int, low: Array, high: Array) -> Array:
    """Whole numbers in [low, high), int32 or int64."""
    unsigned = np.dtype(f"u{low.itemsize}")
    first, end = low.view(unsigned), high.view(unsigned)

    def draw(place: Place, count: int) -> Array:
        numbers: Array = first + _bits(place, count, low.itemsize) % (end - first)
        return numbers.view(low.dtype)

    return _drawn(draw, place, count, low.dtype, low.itemsize // 4)


def _bits(place: Place, count: int, size: int) -> Array:
    """Whole numbers of all bits, of 4 or 8 bytes."""
    if size == 4:
        return _words(place, count)[:count]
    pairs = _words(place, 2 * count).reshape(-1, 2)[:count].astype(np.uint64)
    return pairs[:, 0] | pairs[:, 1] << np.uint64(32)


# -- normal numbers -----------------------------------------------------------------------------------

_LEAST = 1.0e-7  # a logarithm of 0 would be infinite
_CUT = 2.0


def normal(place: Place, count: int, dtype: DType) -> Array:
    """Numbers of the normal distribution, two of a pair of numbers in [0, 1) (Box and Muller, 1958)."""
    wide = dtype == np.float64
    each = 2 if wide else 1

    def draw(place: Place, count: int) -> Array:
        words = _words(place, each * (count + count % 2))
        return _normals(words.reshape(1, -1), wide)[0, :count]

    return _drawn(draw, place, count, dtype, each)


def truncated_normal(place: Place, count: int, dtype: DType) -> Array:
    """As normal, but numbers from 2 on and from -2 down are drawn again.

    Each group of numbers has RESERVED words for each of them to draw from.
    """
    wide = dtype == np.float64

    def draw(place: Place, count: int) -> Array:
        return _truncated(place, count, wide)

    return _drawn(draw, place, count, dtype, RESERVED)


def _truncated(place: Place, count: int, wide: bool) -> Array:
    size = 2 if wide else 4
    out = np.empty((-(-count // size), size), np.float64 if wide else np.float32)
    todo, tried = np.arange(len(out)), 2
    while todo.size:
        first = np.uint64(place.first) + todo.astype(np.uint64) * np.uint64(size * RESERVED // 4)
        index = first[:, None] + np.arange(tried, dtype=np.uint64)
        words = _philox.blocks_at(place.key, place.stream, index)
        numbers = _normals(words.reshape(len(todo), -1), wide)
        good = np.abs(numbers) < _CUT
        enough = good.sum(1) >= size
        order = np.argsort(~good[enough], 1, kind="stable")[:, :size]
        out[todo[enough]] = np.take_along_axis(numbers[enough], order, 1)
        todo, tried = todo[~enough], 2 * tried
    return out.reshape(-1)[:count]


def _normals(words: Array, wide: bool) -> Array:
    """Normal numbers of rows of words: of each two words two float32, of each four two float64."""
    if wide:
        pairs = _fractions(words).reshape(len(words), -1, 2)
        angle = 2 * np.pi * pairs[..., 1]
        log = np.log(np.maximum(pairs[..., 0], _LEAST))
        sine, cosine = np.sin(angle), np.cos(angle)
    else:
        pairs = ((words & np.uint32(2**23 - 1)) / 2.0**23).reshape(len(words), -1, 2)
        sine, cosine = _sine_and_cosine((2 * np.pi * pairs[..., 1]).astype(np.float32))
        log = _logarithm(np.maximum(pairs[..., 0].astype(np.float32), np.float32(_LEAST)))
    radius = np.sqrt(-2 * log)
    return np.stack([sine * radius, cosine * radius], -1).reshape(len(words), -1)


# The C library computes these float32 functions in float64, a little less well than it could. NumPy's own
# differ from machine to machine; so that bits are TensorFlow's, the same polynomials are used here.

_SINE = -0.16666654943701084, 0.008332178146138854, -0.00019517298981385725
_COSINE = -0.49999999725108224, 0.041666623324344516, -0.001388676379437604, 2.4390450703564542e-05


def _sine_and_cosine(angle: Array) -> tuple[Array, Array]:
    x = angle.astype(np.float64)
    quarter = (x * (2 / np.pi * 2**24)).astype(np.int64) + 2**23 >> 24
    x -= quarter * (np.pi / 2)
    x2 = x * x
    x3, x4 = x * x2, x2 * x2
    sine = x + x3 * _SINE[0] + x3 * x2 * (_SINE[1] + x2 * _SINE[2])
    cosine = 1 + x2 * _COSINE[0] + x4 * _COSINE[1] + x4 * x2 * (_COSINE[2] + x2 * _COSINE[3])
    turns = [sine, cosine, -sine, -cosine]
    sine_now, cosine_now = (np.choose((quarter + i) % 4, turns) for i in (0, 1))
    return sine_now.astype(np.float32), cosine_now.astype(np.float32)


# Near 1 over the middle of each sixteenth from 0.7 to 1.4.
_INVERSES = np.array(
    [
        *(1.398907162146528, 1.3403141896637998, 1.286432210124115, 1.2367150214269895),
        *(1.1906977166711752, 1.1479821020556429, 1.1082251448272158, 1.0711297413057381),
        *(1.036437278977283, 1.0, 0.9492859795739057, 0.8951049428609004, 0.8476821620351103),
        *(0.8050314851692001, 0.7664671008843108, 0.731428603316328),
    ]
)
_LOGARITHMS = np.array([-math.log(x) for x in _INVERSES.tolist()])
_SERIES = -0.25089342214237154, 0.333456765744066, -0.4999997485802103


def _logarithm(x: Array) -> Array:
    bits = x.view(np.int32) - np.int32(0x3F330000)  # which is 0.7
    part, power = bits >> 19 & 15, bits >> 23
    r = np.ldexp(x, -power).astype(np.float64) * _INVERSES[part] - 1
    r2 = r * r
    series = _SERIES[0] * r2 + (_SERIES[1] * r + _SERIES[2])
    logarithm: Array = series * r2 + (_LOGARITHMS[part] + power * math.log(2) + r)
    return logarithm.astype(np.float32)
