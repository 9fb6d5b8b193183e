"""The compiled product of matrices: right for every way it is computed in, and the same bits every time."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import backblocks as bb
from backblocks import _native

# One more and one less than what fills vectors and tiles, and where another way is taken.
SIZES = (1, 2, 3, 4, 7, 8, 9, 17, 33, 65)
TURNS = list(itertools.product((False, True), repeat=2))
# Deep enough that it is cut, wide enough that it is shared; and where few rows or columns are many numbers.
LARGE = [
    (97, 1500, 33),
    (200, 513, 200),
    (3, 5000, 300),
    (300, 5000, 3),
    (1, 3000, 700),
    (700, 300, 1),
    (1, 70000, 1),
    (2, 70000, 3),
    (1, 5000, 100),
    (2, 600, 900),
    (12, 300, 70),
    (3000, 5, 5),
    (5, 5, 3000),
]


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = bb.get_num_threads()
    yield
    bb.set_num_threads(before)


def matrices(rng, dtype, rows, inner, columns, turn_a, turn_b, front=()):
    a = rng.standard_normal((*front, *((inner, rows) if turn_a else (rows, inner)))).astype(dtype)
    b = rng.standard_normal((*front, *((columns, inner) if turn_b else (inner, columns)))).astype(
        dtype
    )
    return a, b


def product(a, b, turn_a, turn_b):
    return bb.raw_ops.BatchMatMulV2(x=a, y=b, adj_x=turn_a, adj_y=turn_b)


def assert_right(got, a, b, turn_a, turn_b):
    """Within what rounding after each step can do."""
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    a, b = (
        (x.swapaxes(-1, -2).conj() if turn else x).astype(wide)
        for x, turn in ((a, turn_a), (b, turn_b))
    )
    eps = 2.0**-8 if got.dtype.name == "bfloat16" else np.finfo(got.dtype).eps
    bound = (np.abs(a) @ np.abs(b)) * (a.shape[-1] * np.finfo(np.float32).eps + 4 * eps)
    if got.dtype.itemsize >= 8 and got.dtype != np.complex64:
        bound = (np.abs(a) @ np.abs(b)) * (a.shape[-1] + 4) * eps
    assert (np.abs(got.astype(wide) - a @ b) <= bound).all()


@pytest.mark.parametrize(("turn_a", "turn_b"), TURNS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_products_are_right(dtype, turn_a, turn_b):
    rng = np.random.default_rng(0)
    for rows, inner, columns in itertools.product(SIZES, (1, 3, 8, 40, 150), SIZES):
        a, b = matrices(rng, dtype, rows, inner, columns, turn_a, turn_b)
        assert_right(product(a, b, turn_a, turn_b), a, b, turn_a, turn_b)


@pytest.mark.long
@pytest.mark.parametrize(("turn_a", "turn_b"), TURNS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_large_products_are_right_and_the_same_for_any_number_of_threads(dtype, turn_a, turn_b):
    rng = np.random.default_rng(0)
    for sizes in LARGE:
        a, b = matrices(rng, bb.dtypes.as_dtype(dtype), *sizes, turn_a, turn_b)
        found = set()
        for count in (1, 2, 5):
            bb.set_num_threads(count)
            found.add(product(a, b, turn_a, turn_b).tobytes())
        assert len(found) == 1
        assert_right(product(a, b, turn_a, turn_b), a, b, turn_a, turn_b)


@pytest.mark.parametrize(("turn_a", "turn_b"), TURNS)
@pytest.mark.parametrize(
    ("of_a", "of_b"),
    [
        ((5,), (5,)),
        ((), (5,)),
        ((5,), ()),
        ((2, 1, 3), (4, 1)),
        ((1,), (300,)),
        ((40, 30), (40, 30)),
    ],
)
def test_matrices_in_front_broadcast(of_a, of_b, turn_a, turn_b):
    rng = np.random.default_rng(0)
    for rows, inner, columns in [(3, 4, 5), (20, 30, 40)]:
        a = rng.standard_normal((*of_a, *((inner, rows) if turn_a else (rows, inner))))
        b = rng.standard_normal((*of_b, *((columns, inner) if turn_b else (inner, columns))))
        assert_right(product(a, b, turn_a, turn_b), a, b, turn_a, turn_b)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_spoils_its_row_and_column_only(bad):
    for rows, inner, columns in [(1, 40, 9), (9, 40, 1), (6, 40, 30), (50, 40, 30)]:
        a, b = np.ones((rows, inner), np.float32), np.ones((inner, columns), np.float32)
        a[rows - 1, inner - 1] = bad
        y = bb.raw_ops.MatMul(a=a, b=b)
        np.testing.assert_array_equal(y[:-1], inner)
        np.testing.assert_array_equal(y[-1], np.full(columns, bad, np.float32))


EQUATIONS = (
    *("ij,jk->ik", "ij,kj->ki", "bij,bjk->bik", "aib,bjc->jcai", "iij,jk->ki", "ijk,jl->il"),
    "...ij,...j->i...",
)


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_einsum_is_one_product(equation, dtype):
    rng = np.random.default_rng(0)
    sizes = dict(zip("abcijkl", (3, 30, 7, 40, 30, 50, 9), strict=True))
    first, second = equation.split("->")[0].split(",")
    x, y = (
        rng.standard_normal(
            [n for label in part.replace("...", "c") for n in [sizes[label]]]
        ).astype(dtype)
        for part in (first, second)
    )
    got = bb.raw_ops.Einsum(inputs=[x, y], equation=equation)
    expected = np.einsum(equation, x.astype(np.complex128), y.astype(np.complex128))
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, atol=1e-3 if dtype == np.float32 else 1e-10)


def test_products_that_cannot_be_are_refused():
    for wrong in (("float16", 1, 1, 1), ("float32", -1, 1, 1), ("float32", 2**62, 4, 4)):
        with pytest.raises((TypeError, ValueError)):
            _native.matmul(*wrong, False, False, [])
    with pytest.raises(ValueError, match="too large"):
        _native.matmul(
            "float32", 4, 4, 4, False, False, [(2**31, True, False), (2**31, True, True)]
        )
    with pytest.raises(ValueError, match="negative"):
        _native.matmul("float32", 4, 4, 4, False, False, [(-1, True, False)])


BLAS = """
import hashlib
import numpy as np
import backblocks as bb

rng = np.random.default_rng(0)
for dtype in (np.float16, np.float32, np.float64, np.complex64):
    x = rng.standard_normal((3, 300, 500)).astype(dtype)
    y = rng.standard_normal((500, 400)).astype(dtype)
    for result in (
        bb.raw_ops.MatMul(a=x[0], b=y),
        bb.raw_ops.MatMul(a=x[0], b=x[1], transpose_b=True),
        bb.raw_ops.BatchMatMulV2(x=x, y=y),
        bb.raw_ops.BatchMatMulV3(x=x, y=y, Tout=x.dtype),
        bb.raw_ops.Einsum(inputs=[x, y], equation="bij,jk->kbi"),
    ):
        print(hashlib.sha256(result.tobytes()).hexdigest())
"""


def test_the_threads_of_a_blas_change_no_bit():
    found = set()
    for count in ("1", "2"):
        env = {**os.environ, "OPENBLAS_NUM_THREADS": count}
        command = [sys.executable, "-c", BLAS]
        done = subprocess.run(command, env=env, capture_output=True, check=True)  # noqa: S603
        found.add(done.stdout)
    assert len(found) == 1
