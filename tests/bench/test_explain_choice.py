"""`backblocks bench --explain`: the kernels' own choosers answer, for every problem and every algorithm."""

import itertools

import pytest

import backblocks as bb
from backblocks.bench.explain import explain
from backblocks.bench.problem import parse
from backblocks.bench.run import workloads
from backblocks.ops import _kernels

ALGORITHMS = {
    # one result for each window
    "MaxPool3D f32 ndhwc 1x64x64x64x32 k2 s2 VALID": "direct (each window in registers)",
    "MaxPool3D f32 ndhwc 2x8x28x28x192 k3 s1 SAME": "separable (columns, then windows)",
    "MaxPool f32 nhwc 7x223x227x3 k3 s2 SAME": (
        "separable (columns, then windows at every element of the width)"
    ),
    "AvgPool f32 nhwc 16x112x112x64 k3 s2 SAME": "direct (each window in registers)",
    "AvgPool f32 nhwc 8x56x56x128 k5 s1 SAME": "separable (columns, then windows)",
    "MaxPoolGradGrad f32 nhwc 16x112x112x64 k2 s2 VALID": "direct (each window in registers)",
    "MaxPoolGradGrad f32 nhwc 8x56x56x128 k5 s1 SAME": "separable (columns, then windows)",
    # one result for each element
    "MaxPoolGrad f32 nhwc 16x112x112x64 k2 s2 VALID": "non-overlapping windows, by channels",
    "MaxPoolGrad f32 nhwc 7x224x224x3 k2 s2 VALID": "non-overlapping windows, by columns",
    "MaxPool3DGrad f32 ndhwc 1x128x128x128x1 k2 s2 VALID": "non-overlapping windows, by pairs",
    "AvgPoolGrad f32 nhwc 16x112x112x64 k2 s2 VALID": "non-overlapping windows, by rows",
    "AvgPoolGrad f32 nhwc 1x16x16x64 k2 s2 VALID": "non-overlapping windows, by elements",
    "MaxPoolGrad f32 nhwc 16x112x112x64 k3 s2 SAME": "argmax rows",
    "MaxPoolGrad f32 nhwc 8x56x56x128 k3 s1 SAME": "separable",
    "MaxPoolGrad f32 nhwc 7x223x227x3 k3 s2 SAME": "separable, windows at every element of the width",
    # convolution
    "Conv2D f32 nhwc 8x56x56x64 -> 64 k3 s1 SAME": "Winograd F(2x2, 3x3)",
    "Conv3D f32 ndhwc 1x8x28x28x128 -> 128 k3 s1 SAME": "Winograd F(2x2x2, 3x3x3)",
    "Conv2D f32 nhwc 8x56x56x128 -> 128 k3 s2 SAME": "direct (implicit GEMM)",
    "Conv2D f32 nhwc 8x56x56x64 -> 256 k1 s1 SAME": "direct (implicit GEMM)",
    "Conv2D f32 nhwc 4x28x28x64 -> 64 k3 s1 g64 SAME": "depthwise, direct",
    "Conv2DBackpropInput f32 nhwc 8x56x56x64 -> 64 k3 s1 SAME": "Winograd F(2x2, 3x3)",
    "Conv2DBackpropFilter f32 nhwc 8x56x56x64 -> 64 k3 s1 SAME": "Winograd F(2x2, 3x3)",
    "Conv2DBackpropFilter f32 nhwc 8x224x224x3 -> 64 k7 s2 SAME": "small channel count, all taps as rows",
    "Conv2DBackpropFilter f32 nhwc 8x56x56x64 -> 256 k1 s1 SAME": "direct (implicit GEMM)",
    "DepthwiseConv2dNative f32 nhwc 8x112x112x32 -> 32 k3 s1 SAME": "depthwise, direct",
    "DepthwiseConv2dNative f32 nchw 8x32x112x112 -> 32 k3 s1 SAME": "depthwise, packed",
    "Dilation2D f32 nhwc 8x56x56x64 k3 s1 SAME": "blocks of windows, tap by tap",
}


def told(line: str) -> dict[str, str]:
    """What is printed of a problem, by its name."""
    first, *lines = explain(parse(line))
    assert first == str(parse(line))
    return {each[:42].strip(): each[42:] for each in lines}


@pytest.mark.parametrize("line", ALGORITHMS)
def test_the_algorithm_is_named(line):
    assert told(line)["algorithm"] == ALGORITHMS[line]


def test_every_listed_problem_is_explained():
    for problem in workloads():
        lines = told(str(problem))
        assert set(lines) > {"algorithm", "because", "threads", "instruction set"}, problem
        assert all(lines.values()), problem


def test_the_threshold_is_where_the_reason_says():
    lines = {c: told(f"MaxPoolGrad f64 nhwc 4x32x32x{c} k2 s2 VALID") for c in range(2, 20)}
    chosen = [lines[c]["algorithm"].rpartition(" ")[2] for c in lines]
    assert [name for name, _ in itertools.groupby(chosen)] == ["columns", "channels"]
    assert "fewer channels than a vector has lanes" in lines[2]["because"]


def test_the_number_of_threads_follows_the_setting():
    line = "AvgPool3D f32 ndhwc 1x64x64x64x32 k2 s2 VALID"
    before = _kernels.num_threads()
    try:
        bb.set_num_threads(1)
        assert told(line)["threads"] == "1"
        bb.set_num_threads(3)
        assert told(line)["threads"].startswith("3 (")
    finally:
        bb.set_num_threads(before)
    assert told("AvgPool3D f32 ndhwc 1x4x4x4x2 k2 s2 VALID")["threads"] == "1"


def test_an_op_without_a_kernel_for_it_says_so():
    wide = "MaxPool f32 nhwc 1x40000x4x1 k40000x1 s1 VALID"
    assert told(wide)["algorithm"]
    assert told("Dilation2D f32 nhwc 1x9x9x1 k2 s1 d99999x1 SAME") == {
        "algorithm": "reference implementation in NumPy"
    }


@pytest.mark.parametrize(
    ("rows", "inner", "columns", "transposed", "algorithm"),
    [
        (1, 100, 1, (False, False), "one dot product"),
        (64, 1000, 3, (False, False), "dot products"),
        (3, 1000, 64, (False, True), "dot products"),
        (1, 64, 512, (False, False), "sum of rows"),
        (512, 64, 1, (True, False), "sum of rows"),
        (8, 64, 512, (False, False), "register tiles"),
        (512, 64, 4, (True, False), "register tiles"),
        (256, 256, 256, (False, False), "packed register tiles (GEMM)"),
    ],
)
def test_products_of_matrices_are_explained(rows, inner, columns, transposed, algorithm):
    kernel = _kernels.matmul("float32", rows, inner, columns, *transposed, [])
    assert kernel.explain().algorithm == algorithm
