"""Philox4x32-10 against the known answers that its authors publish (Random123, kat_vectors)."""

import itertools

from backblocks.ops import _philox


def test_known_answers():
    zeros = _philox.blocks(seed=0, seed2=0, first=0, count=1)
    assert zeros.tolist() == [[0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]]
    digits_of_pi = _philox.blocks(
        seed=0x299F31D0A4093822, seed2=0x0370734413198A2E, first=0x85A308D3243F6A88, count=1
    )
    assert digits_of_pi.tolist() == [[0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]]


def test_words_go_on_from_block_to_block():
    blocks = _philox.blocks(seed=-1, seed2=5, first=3, count=2000)
    words = itertools.islice(_philox.words(seed=-1, seed2=5, first=3), 8000)
    assert list(words) == blocks.reshape(-1).tolist()


def test_draws_stay_in_range():
    stream = _philox.words(seed=1, seed2=0, first=0)
    assert {_philox.below(3, stream) for _ in range(100)} == {0, 1, 2}
    assert all(0 <= _philox.fraction(stream) < 1 for _ in range(100))
    # 2**32 leaves a remainder of 1 by 3, so the word 0 is passed over.
    assert _philox.below(3, iter([0, 5])) == 2
    assert _philox.below(4, iter([0, 5])) == 0
