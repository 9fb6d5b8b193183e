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
_MULTIPLIERS = np.array([[0xD2511F53], [0xCD9E8D57]], np.uint64)
_ROUNDS = 10
_KEY_STEPS = np.arange(_ROUNDS, dtype=np.uint64)[:, None, None] * np.array(
    [[0x9E3779B9], [0xBB67AE85]], np.uint64
)
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
    flat = index.reshape(-1)
    # Words 0 and 2 of all blocks, and words 1 and 3.
    even = np.stack([flat & _WORD, np.full(flat.shape, stream % 2**32, np.uint64)])
    odd = np.stack([flat >> _HALF, np.full(flat.shape, stream >> 32, np.uint64)])
    start = np.array([[key % 2**32], [key >> 32]], np.uint64)
    for keys in (start + _KEY_STEPS) & _WORD:
        products = (even * _MULTIPLIERS)[::-1]
        even, odd = (products >> _HALF) ^ odd ^ keys, products & _WORD
    words = np.stack([even[0], odd[0], even[1], odd[1]], axis=-1)
    return words.astype(np.uint32).reshape(*index.shape, 4)


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
