"""Winograd convolution and its gradients: the answers of the reference implementation for any geometry."""

import numpy as np
import pytest
import test_conv
import test_conv_filter
from hypothesis import given, settings
from hypothesis import strategies as st
from slides import FLOATS, FORMATS, SMALL, images_for_three_taps, many_small_images

KERNELS = pytest.mark.parametrize(
    "compare",
    [test_conv.compare, test_conv_filter.compare],
    ids=["conv and its input gradient", "filter gradient"],
)


@KERNELS
@settings(max_examples=40)
@given(
    images_for_three_taps(),
    st.sampled_from([24, 33, 40, 70]),
    st.sampled_from([32, 35, 49, 64]),
    st.sampled_from(FLOATS),
    st.booleans(),
)
def test_any_image_agrees(compare, problem, ins, outs, dtype, first):
    compare(dtype, first, **problem, ins=ins, outs=outs)


@KERNELS
@settings(max_examples=60)
@given(
    many_small_images(),
    st.sampled_from([64, 96]),
    st.sampled_from([64, 70]),
    st.sampled_from(FLOATS),
    st.booleans(),
)
def test_many_small_images_agree(compare, problem, ins, outs, dtype, first):
    compare(dtype, first, **problem, ins=ins, outs=outs)


@KERNELS
@FORMATS
@pytest.mark.parametrize("problem", SMALL)
def test_the_smallest_images_that_it_takes_agree(compare, problem, first):
    compare(np.float32, first, **SMALL[problem], ins=96, outs=96)
