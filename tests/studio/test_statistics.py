"""Tensors chunk by chunk: shades, comparisons and statistics against plain NumPy."""

import tracemalloc

import numpy as np
import pytest

from backblocks.dtypes import BY_NAME, CONVERTED, FLOAT8, FLOATS, is_integer, limits, wider
from backblocks.errors import OpError
from backblocks.studio import chunks
from backblocks.studio.chunks import ChunkedTensor, quantized
from backblocks.studio.messages import Statistics
from backblocks.studio.monitors import points
from backblocks.studio.statistics import compute_statistics, next_non_finite, run_to_end
from backblocks.studio.summaries import summary

RNG = np.random.default_rng(5)


def measured(first, second=None, comparison="difference"):
    into = Statistics(1, "x:y", "float32", list(first.shape), 1)
    return run_to_end(compute_statistics(ChunkedTensor(first, second, comparison), into))


def drawn(dtype, shape):
    """Numbers of every size that a type has."""
    dtype = BY_NAME[dtype]
    if is_integer(dtype):
        low, high = limits(dtype).min, limits(dtype).max
        return RNG.integers(low, high, shape, wider(dtype), endpoint=True).astype(dtype)
    if dtype.kind == "b":
        return RNG.integers(0, 2, shape).astype(bool)
    wide = RNG.standard_normal(shape) * 10.0 ** RNG.integers(-3, 3, shape)
    if dtype.kind == "c":
        return (wide * (1 + 2j)).astype(dtype)
    return np.clip(wide, float(limits(dtype).min), float(limits(dtype).max)).astype(dtype)


def in_float64(array):
    return (np.abs(array) if array.dtype.kind == "c" else array).astype(np.float64)


# -- shades -----------------------------------------------------------------------------------------


def test_shades_tell_what_is_no_number_zero_and_outside_from_the_rest():
    cells = np.array([np.nan, -np.inf, np.inf, 0, -2, 3, -1, 0.5, 2], np.float32)
    assert quantized(ChunkedTensor(cells), -1, 2).tolist() == [0, 1, 2, 3, 4, 5, 6, 131, 255]


def test_a_minus_zero_is_zero_and_one_number_alone_is_in_the_middle():
    assert quantized(ChunkedTensor(np.float64([-0.0, 7.0])), 7, 7).tolist() == [3, 131]


def test_the_whole_range_of_a_type_has_shades():
    most = np.finfo(np.float64).max
    assert quantized(ChunkedTensor(np.float64([-most, most])), -most, most).tolist() == [6, 255]
    whole = np.iinfo(np.int64)
    cells = np.array([whole.min, 0, whole.max])
    assert quantized(ChunkedTensor(cells), float(whole.min), float(whole.max)).tolist() == [
        6,
        3,
        255,
    ]


@pytest.mark.parametrize("dtype", CONVERTED)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (7,), (300, 5, 80), (2,) * 8])
def test_every_type_and_rank_has_shades(dtype, shape):
    array = drawn(dtype, shape)
    wide = in_float64(array)
    low, high = (float(wide.min()), float(wide.max())) if wide.size else (0.0, 1.0)
    found = quantized(ChunkedTensor(array), low, high)
    assert found.shape == shape
    zero = wide == 0
    assert (found[zero] == 3).all()
    assert (found[~zero] >= 6).all()
    if high > low:
        wanted = np.floor((wide / 2 - low / 2) / (high / 2 - low / 2) * 249 + 6.5)
        assert (np.abs(found - wanted)[~zero] <= 1).all()


def test_parts_in_any_order_have_shades_in_their_own():
    array = drawn("float32", (40, 50, 60))
    part = ChunkedTensor(array).at((slice(None, None, 2), 3, slice(None, None, 7)))
    turned = ChunkedTensor(array.transpose(2, 0, 1))
    for each in (part, turned):
        np.testing.assert_array_equal(
            quantized(each, -1, 1), quantized(ChunkedTensor(each.first.copy("C")), -1, 1)
        )


# -- comparing --------------------------------------------------------------------------------------


def test_differences_are_exact_for_whole_numbers_that_float64_cannot_tell_apart():
    first, second = np.array([2**60 + 1, -(2**63)]), np.array([2**60, 2**63 - 1])
    found = chunks.compare(first, second, "difference")
    assert found.tolist() == [1.0, -(2.0**64)]


def test_a_relative_difference_is_one_of_the_larger_size():
    first, second = np.float32([1, -4, 0, 5]), np.float32([2, 4, 0, np.inf])
    assert chunks.compare(first, second, "relative").tolist() == [-0.5, -2.0, 0.0, -np.inf]


@pytest.mark.parametrize("dtype", [*FLOATS, *FLOAT8])
def test_ulp_counts_steps_to_the_next_number(dtype):
    dtype = BY_NAME[dtype]
    tiny = np.zeros(1, dtype).view(f"u{dtype.itemsize}") + np.array(1, f"u{dtype.itemsize}")
    one = np.ones(1, dtype)
    after = (one.view(f"u{dtype.itemsize}") + np.array(1, f"u{dtype.itemsize}")).view(dtype)
    assert chunks.compare(one, after, "ulp").tolist() == [1.0]
    assert chunks.compare(-tiny.view(dtype), tiny.view(dtype), "ulp").tolist() == [2.0]
    zeros = np.array([0.0, -0.0], dtype)
    assert chunks.compare(zeros, -zeros, "ulp").tolist() == [0.0, 0.0]


def test_one_nan_is_as_good_as_another_and_unlike_any_number():
    first, second = np.float32([np.nan, np.nan, np.inf]), np.float32([np.nan, 1, np.inf])
    for comparison in ("difference", "relative", "ulp"):
        np.testing.assert_array_equal(chunks.compare(first, second, comparison), [0, np.nan, 0])
    assert measured(first, second).mismatches == 1


def test_types_that_differ_are_compared_in_float64():
    first, second = np.float32([1.5, 2]), np.array([1, 2], BY_NAME["bfloat16"])
    assert chunks.compare(first, second, "difference").tolist() == [0.5, 0.0]
    with pytest.raises(OpError, match="must hold real numbers of the type of a:y, float32"):
        chunks.chunked("a:y", first, ("b:y", second), comparison="ulp")


# -- statistics -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", CONVERTED)
@pytest.mark.parametrize("size", [1, 2, 150, 200_000])
def test_statistics_equal_those_of_numpy(dtype, size):
    array = drawn(dtype, (size,))
    wide = np.sort(in_float64(array))
    found = measured(array)
    assert (found.low, found.high) == (wide[0], wide[-1])
    np.testing.assert_allclose([found.mean, found.deviation], [wide.mean(), wide.std()], rtol=1e-7)
    out = (size - 1) // 100
    assert (found.first_percent, found.last_percent) == (wide[out], wide[size - 1 - out])
    whole = wide[-1] - wide[0] < 64 and (wide == np.rint(wide)).all()
    bins = int(wide[-1] - wide[0]) + 1 if whole else 64
    assert (sum(found.counts), len(found.counts), found.whole) == (size, bins, whole)
    if size == 200_000:
        half = 0.5 if whole else 0.0
        ends = (found.low - half, found.high + half)
        counts = np.histogram(wide, bins, ends)[0]
        np.testing.assert_allclose(found.counts, counts, atol=0 if whole else size / 1000)


def test_what_is_no_number_is_counted_apart():
    found = measured(np.float32([np.nan, 1, np.inf, 0, -np.inf, 3, np.nan]))
    assert (found.nans, found.infinities, found.zeros, found.low, found.high) == (2, 2, 1, 0, 3)
    assert (found.mean, sum(found.counts)) == (pytest.approx(4 / 3), 3)


def test_a_summary_of_infinities_of_both_signs_warns_of_nothing():
    both = np.float32([np.inf, -np.inf, *range(30)])
    found = summary(both)
    assert (found.infinities, found.low, found.high) == (2, 0, 29)
    assert points(both) == [None]


def test_a_summary_of_numbers_with_too_large_squares_warns_of_nothing():
    found = summary(np.array([-1e200, 1e200]))
    assert (found.low, found.high, found.mean, found.deviation) == (-1e200, 1e200, 0, None)


@pytest.mark.parametrize("array", [np.zeros((0, 3)), np.full(4, np.nan)])
def test_nothing_is_said_of_no_numbers(array):
    found = measured(array)
    assert (found.low, found.high, found.mean, found.first_percent) == (None,) * 4
    assert found.counts == []


def test_the_largest_numbers_have_a_histogram_and_no_mean():
    most = np.finfo(np.float64).max
    found = measured(np.float64([-most, most, most, most]))
    assert (found.counts[0], found.counts[-1], found.mean) == (1, 3, None)


def test_the_ten_cells_that_differ_most_are_found():
    first = drawn("float32", (500, 400))
    second = first.copy()
    places = RNG.choice(first.size, 30, replace=False)
    second.reshape(-1)[places] += np.arange(1, 31, dtype=np.float32) * 1000
    second.reshape(-1)[places[3]] = np.nan
    found = measured(first, second)
    assert found.mismatches == 30
    cells = [np.ravel_multi_index(each.cell, first.shape) for each in found.worst]
    assert cells == [places[3], *places[:-10:-1]]
    assert found.worst[0].second == "nan"
    assert float(found.worst[1].difference) == pytest.approx(-30_000, rel=1e-3)


def test_no_value_is_copied_whole():
    array = np.zeros((1 << 24,), np.float32)
    array[-1] = np.inf
    tracemalloc.start()
    measured(array)
    measured(array, array[::-1], "ulp")
    run_to_end(next_non_finite(array, 0))
    quantized(ChunkedTensor(array).at((slice(0, 1 << 22),)), 0, 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < array.nbytes / 4


def test_a_sample_is_spread_evenly_and_meets_every_channel():
    array = np.tile(np.arange(64, dtype=np.float32), 1 << 16)
    some, places = ChunkedTensor(array).sample()
    np.testing.assert_array_equal(some.first, array[places])
    assert (np.diff(places) > 0).all()
    counts = np.bincount(some.first.astype(int), minlength=64)
    assert counts.min() > 0.8 * counts.mean()


# -- NaN and infinities -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_bad_cells_are_found_one_after_the_other_and_then_again(dtype):
    array = np.zeros(200_000, BY_NAME[dtype])
    array[[5, 150_000, 199_999]] = np.array([np.nan, np.inf, -np.inf], BY_NAME[dtype])
    found, place = [], 0
    for _ in range(4):
        place = run_to_end(next_non_finite(array, place))
        found.append(place)
        place = (place + 1) % array.size
    assert found == [5, 150_000, 199_999, 5]


def test_numbers_alone_have_no_bad_cell():
    for array in (np.zeros(5), np.zeros(0), np.zeros(5, int), np.float64([1e308, 1e308])):
        assert run_to_end(next_non_finite(array, 0)) is None
