"""One-line problems: what they mean, what is refused, and that every listed one can be solved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import backblocks as bb
from backblocks.bench.grammar import GRAMMAR
from backblocks.bench.inputs import make_inputs
from backblocks.bench.problem import FORMATS, OP_KINDS, TYPES, Problem, parse
from backblocks.bench.run import workloads
from backblocks.ops.nn._windows import in_layout

LISTED = workloads()


@pytest.mark.parametrize("problem", LISTED, ids=str)
def test_every_listed_problem_reads_back(problem):
    assert parse(str(problem)) == problem


def test_no_problem_is_listed_twice():
    assert len(set(LISTED)) == len(LISTED)
    assert set(workloads(quick=True)) < set(LISTED)


def test_the_list_has_every_op_type_and_format():
    assert {p.op for p in LISTED} == set(OP_KINDS)
    assert {p.type for p in LISTED} == set(TYPES)
    assert {p.format for p in LISTED} == {name for pair in FORMATS.values() for name in pair}
    assert {1, 3, 5} <= {p.last[-1] for p in LISTED}


def test_the_examples_of_the_grammar_are_problems():
    examples = [
        line.strip() for line in GRAMMAR.splitlines() if " f32 " in line or " bf16 " in line
    ]
    examples = [line for line in examples if line.split()[0] in OP_KINDS]
    assert len(examples) == 3
    assert [str(parse(line)) for line in examples] == examples


@st.composite
def problems(draw):
    op = draw(st.sampled_from(sorted(OP_KINDS)))
    kind = OP_KINDS[op]
    small = st.integers(1, 3)
    each = st.tuples(*[small] * kind.space)
    space = draw(st.tuples(*[st.integers(7, 12)] * kind.space))
    groups = draw(small) if kind.family == "conv" else 1
    channels = draw(small) * groups
    multiple = draw(small) * (channels if kind.family == "depthwise" else groups)
    convolution = kind.is_convolution
    format = draw(st.sampled_from(kind.formats))
    dilations = () if kind.family in ("max", "avg") else draw(each)
    return Problem(
        op,
        draw(st.sampled_from(sorted(TYPES))),
        format,
        in_layout((draw(small), *space, channels), format.upper()),
        draw(each),
        draw(each),
        draw(st.sampled_from(["SAME", "VALID"])),
        multiple if convolution else None,
        () if set(dilations) == {1} else dilations,
        groups,
    )


@given(problems())
def test_random_problems_read_back(problem):
    assert parse(str(problem)) == problem
    assert problem.flops <= problem.nominal_flops


@pytest.mark.parametrize("problem", sorted({p.shrunk() for p in LISTED}, key=str), ids=str)
def test_every_listed_problem_can_be_solved_when_small(problem):
    result = getattr(bb.raw_ops, problem.op)(**problem.arguments(make_inputs(problem)))
    assert result.shape == problem.sizes(problem.kind.result)
    assert result.dtype == problem.dtype
    assert result.nbytes == problem.nbytes(problem.kind.result)
    assert np.isfinite(result.astype(np.float64)).all()
    assert np.count_nonzero(result) > 0


@pytest.mark.parametrize("type", sorted(TYPES))
@pytest.mark.parametrize("windows", ["k2 s2 VALID", "k3 s1 SAME", "k3 s2 SAME", "k1x3x2 s1 SAME"])
def test_inputs_of_max_pools_have_no_ties(type, windows):
    problem = parse(f"MaxPool3DGrad {type} ndhwc 2x7x8x9x3 {windows}")
    x = make_inputs(problem)["x"].astype(np.float64)
    views = np.lib.stride_tricks.sliding_window_view(x, problem.k, axis=(1, 2, 3))
    cells = np.sort(views.reshape(-1, np.prod(problem.k)), axis=1)
    assert np.diff(cells, axis=1).min() > 1e-5


def test_what_is_counted():
    pool = parse("MaxPool3DGrad f32 ndhwc 1x4x4x4x2 k2 s2 VALID")
    assert pool.bytes_moved == 4 * (128 + 16 + 128)
    assert pool.flops == 0
    conv = parse("Conv2D f16 nhwc 1x3x3x2 -> 5 k3 s1 SAME")
    assert conv.bytes_moved == 2 * (18 + 90 + 45)
    assert conv.nominal_flops == 2 * 9 * 9 * 10
    assert conv.flops == 2 * (2 + 3 + 2) ** 2 * 10
    depthwise = parse("DepthwiseConv2dNative f32 nhwc 1x3x3x2 -> 4 k1 s1 SAME")
    assert depthwise.flops == 2 * 9 * 4
    grouped = parse("Conv2D f32 nhwc 1x3x3x4 -> 6 k1 s1 g2 SAME")
    assert grouped.sizes("f") == (1, 1, 2, 6)
    assert grouped.flops == 2 * 9 * 2 * 6


GOOD = "MaxPool f32 nhwc 1x8x8x2 k2 s2 SAME"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("MaxPool f32", "problem: must begin with op, type, format and shape; got 'MaxPool f32'. Write one"),
        (GOOD.replace("MaxPool", "MaxPol"), "op: must be an op of the benchmark; got 'MaxPol'. Write"),
        (GOOD.replace("f32", "float32"), "type: must be f16 or bf16 or f32 or f64; got 'float32'. Write"),
        (GOOD.replace("nhwc", "ndhwc"), "format: must be nhwc or nchw for MaxPool; got 'ndhwc'. Write nhwc."),
        (GOOD.replace("1x8x8x2", "8x8x2"), "shape: must have 4 sizes for nhwc; got '8x8x2'. Write them"),
        (GOOD.replace("1x8x8x2", "1x0x8x2"), "shape: must be whole numbers from 1 on with x between"),
        (GOOD.replace("k2", "k2x2x2"), "k: must have 1 number or 2, one for each axis of space; got"),
        (GOOD.replace("k2", "q2"), "q2: is not a word of a problem. After the shape come"),
        (GOOD.replace("k2 ", ""), "k: must be given. Write k3."),
        (GOOD.replace(" SAME", ""), "padding: must be given. Write SAME or VALID."),
        (GOOD + " VALID", "padding: was given twice; got 'VALID'. Leave out one of the two."),
        (GOOD + " -> 4", "->: is only for convolutions. Leave it out."),
        (GOOD + " d2", "d: is only for convolutions. Leave it out."),
        ("Conv2D f32 nhwc 1x8x8x2 k3 SAME", "->: must be given. Write -> 64."),
        ("Conv2D f32 nhwc 1x8x8x2 -> x k3 SAME", "->: must be a whole number from 1 on; got 'x'. Write"),
        ("Conv2D f32 nhwc 1x8x8x2 k3 SAME ->", "->: must be a whole number from 1 on; got 'nothing'. Write"),
        ("Conv2D f32 nhwc 1x8x8x2 -> 4 k3 g3 SAME", "g: must divide the channels, 2 and 4; got 3. Write"),
        ("Conv2D f32 nhwc 1x8x8x2 -> 4 k9 VALID", "k: a window of 9 does not fit in 8; got 9."),
        ("Dilation2D f32 nchw 1x2x8x8 k3 SAME", "format: must be nhwc for Dilation2D; got"),
        ("Dilation2D f32 nhwc 1x8x8x2 -> 2 k3 SAME", "->: is only for convolutions. Leave it out."),
        ("DepthwiseConv2dNative f32 nhwc 1x8x8x2 -> 3 k3 SAME", "->: must be a multiple of the 2 channels"),
        ("DepthwiseConv2dNative f32 nhwc 1x8x8x2 -> 2 k3 g2 SAME", "g: is not for depthwise convolutions."),
    ],
)  # fmt: skip
def test_a_bad_line_is_refused_by_the_word_at_fault(line, error):
    with pytest.raises(bb.OpError) as raised:
        parse(line)
    assert str(raised.value).startswith(error)
    assert str(raised.value).endswith(".")
