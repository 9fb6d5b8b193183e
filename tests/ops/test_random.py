"""Random numbers: TensorFlow's to the bit, and what they look like in bulk."""

import numpy as np
import pytest
from recorded import recorded

import backblocks as bb
from backblocks.ops.random._sampling import Place, normal, truncated_normal, uniform


@pytest.mark.parametrize(
    "name",
    [
        "RandomStandardNormal",
        "TruncatedNormal",
        "StatelessRandomNormal",
        "StatelessTruncatedNormal",
    ],
)
def test_normal_numbers_are_tensorflows_to_the_bit(name):
    for call in recorded(name):
        got = getattr(bb.raw_ops, name)(**call["inputs"], **call["attrs"])
        if got.dtype != np.float64:  # which NumPy rounds as the machine likes
            assert got.tobytes() == call["outputs"][0].tobytes()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("draw", "mean", "deviation"),
    [(uniform, 0.5, 12**-0.5), (normal, 0, 1), (truncated_normal, 0, 0.8796)],
)
def test_they_have_the_mean_and_deviation(draw, mean, deviation, dtype):
    many = draw(Place(12, 34, 56), 100_001, bb.dtypes.BY_NAME[dtype]).astype(np.float64)
    assert abs(many.mean() - mean) < 0.01
    assert abs(many.std() - deviation) < 0.01
    if draw is truncated_normal:
        assert np.abs(many).max() <= 2


@pytest.mark.parametrize("draw", [uniform, normal, truncated_normal])
def test_a_longer_draw_begins_like_a_shorter_one(draw):
    long = draw(Place(1, 2, 2**64 - 1), 50, np.dtype(np.float32))
    for count in range(50):
        short = draw(Place(1, 2, 2**64 - 1), count, np.dtype(np.float32))
        assert short.tobytes() == long[:count].tobytes()


def test_a_shuffle_keeps_every_row():
    rows = np.arange(1000)
    assert sorted(bb.ops.random_shuffle(rows).tolist()) == rows.tolist()


def test_words_are_shuffled_too():
    words = bb.ops.random_shuffle(["a", "b", "c"], seed=1)
    assert sorted(words.tolist()) == [b"a", b"b", b"c"]


def test_classes_are_drawn_in_proportion():
    draws = bb.ops.multinomial(np.log([[1.0, 2, 5], [3, 1, 4]]), 100_000, seed=1)
    shares = [np.bincount(row, minlength=3) / 100_000 for row in draws]
    np.testing.assert_allclose(shares, np.array([[1, 2, 5], [3, 1, 4]]) / 8, atol=0.01)


def test_the_widest_range_of_whole_numbers():
    for dtype in (np.int32, np.int64):
        low, high = (np.array(x, dtype) for x in (np.iinfo(dtype).min, np.iinfo(dtype).max))
        many = bb.ops.random_uniform_int([10_000], low, high, seed=1)
        assert many.dtype == dtype
        assert abs(many.astype(np.float64).mean() / float(high)) < 0.05
