"""Philox4x32-10, the counter-based generator behind TensorFlow's random numbers.

Block `i` of a stream is four 32-bit words, computed from the seeds and `i` alone.
(Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from backblocks.ops._inputs import Array

_WORD = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_AT_ONCE = 1024
_IN_CACHE = 1 << 13


def blocks(seed: int, seed2: int, first: int, count: int) -> Array:
    """`count` blocks from block `first` on, as (count, 4) words. `seed` is the key, `seed2` the stream."""
    out = np.empty((count, 4), np.uint32)
    for start in range(0, count, _IN_CACHE):
        part = out[start : start + _IN_CACHE]
        numbers = np.arange(start, start + len(part), dtype=np.uint64)
        part[:] = blocks_at(seed, seed2, np.uint64(first % 2**64) + numbers)
    return out


def blocks_at(seed: int, seed2: int, index: Array) -> Array:
    """The blocks with these numbers, as (..., 4) words."""
    key, stream = seed % 2**64, seed2 % 2**64
    c0, c1 = index & _WORD, index >> _HALF
    c2, c3 = (np.full(index.shape, n, np.uint64) for n in (stream % 2**32, stream >> 32))
    k0, k1 = key % 2**32, key >> 32
    for _ in range(_ROUNDS):
        p0, p1 = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1 = (p1 >> _HALF) ^ c1 ^ np.uint64(k0), p1 & _WORD
        c2, c3 = (p0 >> _HALF) ^ c3 ^ np.uint64(k1), p0 & _WORD
        k0, k1 = (k0 + _KEY_STEPS[0]) % 2**32, (k1 + _KEY_STEPS[1]) % 2**32
    return np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)


def words(seed: int, seed2: int, first: int) -> Iterator[int]:
    """The 32-bit words of a stream, from block `first` on, without end."""
    while True:
        yield from blocks(seed, seed2, first, _AT_ONCE).reshape(-1).tolist()
        first += _AT_ONCE


def below(limit: int, stream: Iterator[int]) -> int:
    """A whole number from 0 to `limit` - 1, each equally likely."""
    # Words below `spare` would make the small numbers a little more likely, so they are drawn again.
    spare = 2**32 % limit
    return next(word for word in stream if word >= spare) % limit


def fraction(stream: Iterator[int]) -> float:
    """A number in [0, 1), from the 52 low bits of two words."""
    high, low = next(stream), next(stream)
    return ((high % 2**20) * 2**32 + low) / 2**52
