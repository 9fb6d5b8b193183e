"""Pictures of tensors and histograms: which cells they show, and that none is dropped silently."""

import base64

import ml_dtypes
import numpy as np
import pytest
from test_runs import results

from backblocks.pages.model import Monitor, MonitorSource
from backblocks.studio import summaries
from backblocks.studio.chunks import ChunkedTensor
from backblocks.studio.messages import Statistics
from backblocks.studio.monitors import histogram
from backblocks.studio.statistics import compute_statistics, run_to_end
from backblocks.studio.summaries import picture_of, summary


def picture(array, axes=(), side=32, **how):
    cells, plane = picture_of(np.asarray(array), axes, side, **how)
    return cells.tolist(), plane.at, plane.area


@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [
        ((2, 1), 2, 1),
        ((1, 2), 1, 2),
        ((3,), 1, 3),
        ((), 1, 1),
        ((1, 2, 1), 2, 1),
        ((5, 1, 1), 5, 1),
        ((1, 1, 5), 1, 5),
        ((2, 3, 4), 3, 4),
        ((4, 1, 3), 4, 3),
        ((1, 4, 5, 6, 1), 5, 6),
    ],
)
def test_a_picture_has_the_last_two_axes_and_a_column_stays_one(shape, rows, columns):
    assert picture_of(np.ones(shape), (), 32)[0].shape == (rows, columns)


def test_named_axes_are_rows_and_columns_and_the_slice_is_told():
    array = np.arange(1, 2 * 3 * 4 * 5 + 1).reshape(2, 3, 4, 5)  # NHWC
    cells, at, area = picture(array, (1, 2))
    assert cells == array[0, :, :, 0].tolist()
    assert (at, area) == ([0, None, None, 0], [])
    assert picture(array, (-1, -3))[0] == array[0, :, 0, :].T.tolist()


def test_the_slice_is_the_first_that_is_not_all_zeros():
    array = np.zeros((2, 3, 4, 4, 2))
    array[1, 2, 3, 0, 1] = 7
    cells, at, _ = picture(array, (2, 3))
    assert (np.max(cells), at) == (7, [1, 2, None, None, 1])
    assert picture(np.zeros((2, 3, 4)))[1] == [0, None, None]
    array[0, 0, 0, 0, 0] = np.nan
    assert picture(array, (2, 3))[1] == [0, 0, None, None, 0]


def test_what_is_looked_at_for_such_a_slice_is_bounded(monkeypatch):
    monkeypatch.setattr(summaries, "_MAX_PLANES", 3)
    array = np.zeros((9, 2, 2))
    array[8] = 1
    assert picture(array)[1] == [0, None, None]


def test_a_cell_for_an_area_is_the_number_farthest_from_zero():
    array = np.zeros((100, 70), np.float32)
    array[99, 69], array[5, 33], array[5, 32] = -3, 2, 1
    cells, _, area = picture(array)
    found = np.array(cells)
    assert (found.shape, area) == ((25, 24), [4, 3])
    assert (found[24, 23], found[1, 11], found[1, 10]) == (-3, 2, 1)
    assert np.count_nonzero(found) == 3


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int64, np.float16, ml_dtypes.bfloat16, np.complex64, bool]
)
def test_areas_are_taken_of_every_type(dtype):
    array = np.zeros((3, 200), dtype)
    array[1, 131] = 1
    found = np.array(picture(array)[0])
    assert (found.shape, np.argmax(found[1]), found.max()) == ((3, 29), 131 // 7, 1)


def test_the_least_integer_is_farther_from_zero_than_the_largest():
    whole = np.iinfo(np.int8)
    assert picture(np.full((1, 64), [whole.min, whole.max] * 32, np.int8))[0][0] == [-128] * 32


def test_a_nan_is_never_averaged_away():
    array = np.ones((64, 64), np.float32)
    array[63, 0] = np.nan
    shown = summary(array)
    assert base64.b64decode(shown.picture)[31 * 32] == 0
    assert shown.plane.area == [2, 2]


def test_a_large_value_that_was_not_measured_has_a_quick_picture_that_says_so():
    array = np.zeros((1500, 1500), np.float32)
    array[1, 1] = 5
    quick = summary(array)
    assert quick.plane.sampled
    exact = run_to_end(
        compute_statistics(ChunkedTensor(array), Statistics(0, "", "float32", [1500, 1500], 0))
    )
    whole = summary(array, (), exact)
    assert not whole.plane.sampled
    assert base64.b64decode(whole.picture)[0] == 255


def test_tabs_name_the_axes_of_pictures_and_may_change_them(opened):
    ramp = {"dtype": "float32", "value": np.arange(24).reshape(2, 3, 4).tolist()}
    tab, page = opened({"blocks": {"x": {"op": "Const", "attrs": {"value": ramp}}}})
    tab.send("subscribe", page=page, pins=["x:output"], axes={"x:output": [0, 1]})
    tab.run(page)
    assert results(tab)["x:output"]["picture_shape"] == [2, 3]
    assert results(tab)["x:output"]["plane"]["at"] == [None, None, 0]
    tab.send("subscribe", page=page, pins=["x:output"], axes={"x:output": [0, 2]})
    tab.hear("summaries")
    assert results(tab)["x:output"]["plane"]["at"] == [None, 0, None]


# -- histograms -------------------------------------------------------------------------------------


def bars(*arrays, **limits):
    shows = [MonitorSource(f"x{i}:y") for i, _ in enumerate(arrays)]
    return histogram(Monitor("histogram", shows, **limits), [np.array(a) for a in arrays])


def test_few_integers_have_a_bar_each():
    found = bars(np.arange(1, 65, dtype=np.float32), [8, 8, 64])
    assert (found.edges[0], found.edges[-1], len(found.edges)) == (0.5, 64.5, 65)
    assert found.counts[0] == [1] * 64
    assert (found.counts[1][7], found.counts[1][63], sum(found.counts[1])) == (2, 1, 3)


def test_numbers_between_integers_and_many_integers_share_bars():
    assert len(bars([0.5, 1, 2]).counts[0]) == 48
    assert len(bars([0, 1000]).counts[0]) == 48
    assert bars([3, 3]).edges == [2.5, 3.5]
    assert bars([1, 2, 3, 9], low=2, high=3).counts == [[1, 1]]


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float32, np.float64])
def test_statistics_of_few_integers_have_a_bin_each(dtype):
    array = np.array([3, 3, 5, 10], dtype)
    into = run_to_end(compute_statistics(ChunkedTensor(array), Statistics(0, "", "", [4], 0)))
    assert into.whole
    assert into.counts == [2, 0, 1, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("values", [[0.5, 3], [0, 64]])
def test_statistics_of_other_numbers_have_64_bins(values):
    into = run_to_end(
        compute_statistics(ChunkedTensor(np.array(values)), Statistics(0, "", "", [2], 0))
    )
    assert (into.whole, len(into.counts)) == (False, 64)
