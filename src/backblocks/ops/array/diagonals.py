"""Diagonals of matrices: made, taken, replaced, and the bands around them."""

import numpy as np

from backblocks import ops
from backblocks.dtypes import COMPLEX, FLOATS, NUMBERS_AND_BOOL
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._inputs import Array
from backblocks.ops._interruptible import as_interruptible
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Size, Spec, agreed, scalar_value, shape_text
from backblocks.ops.array.shapes import INDEX

DIAGONAL = (*FLOATS, *INDEX, *COMPLEX)


def _at_least(arg: str, spec: Spec, rank: int) -> None:
    if spec.shape is not None and len(spec.shape) < rank:
        raise OpError(
            f"must have at least {rank} {'dimension' if rank == 1 else 'dimensions'}",
            arg=arg,
            got=described(f"shape {shape_text(spec.shape)}"),
            hint="Put it in brackets: [x].",
        )


@op("Diag", "T -> T", T=DIAGONAL)
def diag(diagonal: Array) -> Array:
    """A tensor with `diagonal` on its diagonal and zeros elsewhere; it has every axis twice.

    output[i, j] = diagonal[i] if i = j else 0
    where i and j stand for all axes of diagonal
    """
    return np.diagflat(diagonal).reshape(diagonal.shape * 2)


@diag.shape
def _(diagonal: Spec) -> Shape:
    _at_least("diagonal", diagonal, 1)
    return None if diagonal.shape is None else diagonal.shape * 2


@diag.cells
def _(y: Spec, diagonal: Spec) -> list[AccessMap]:
    loops, at = over(diagonal.sizes)
    cells = {"diagonal": Cells(at), "output": Cells(at * 2)}
    return [AccessMap("copy", ("diagonal",), loops, cells)]


@diag.grad
def _(dy: Value, y: Value, diagonal: Value) -> list[Value]:
    return [diag_part(dy)]


@op("DiagPart", "T -> diagonal: T", T=DIAGONAL)
def diag_part(input: Array) -> Array:
    """The diagonal of a tensor that has every axis twice, as Diag makes it.

    diagonal[i] = input[i, i]
    where i stands for half of the axes of input
    """
    shape = input.shape[: input.ndim // 2]
    n = int(np.prod(shape))
    return input.reshape(n, n).diagonal().reshape(shape)


@diag_part.shape
def _(input: Spec) -> Shape:
    if input.shape is None:
        return None
    half = len(input.shape) // 2
    first, second = input.shape[:half], input.shape[half:]
    same = len(first) == len(second) and all(
        None in pair or pair[0] == pair[1] for pair in zip(first, second, strict=True)
    )
    if not half or not same:
        raise OpError(
            "must have every axis twice, as in [2, 3, 2, 3]",
            arg="input",
            got=described(f"shape {shape_text(input.shape)}"),
            hint="Use MatrixDiagPart for the last two axes.",
        )
    return tuple(n if m is None else m for m, n in zip(first, second, strict=True))


@diag_part.cells
def _(y: Spec, input: Spec) -> list[AccessMap]:
    loops, at = over(y.sizes)
    return [AccessMap("copy", ("input",), loops, {"input": Cells(at * 2), "diagonal": Cells(at)})]


@diag_part.grad
def _(dy: Value, y: Value, input: Value) -> list[Value]:
    return [diag(dy)]


@op("MatrixDiag", "T -> T", T=NUMBERS_AND_BOOL)
def matrix_diag(diagonal: Array) -> Array:
    """Square matrices with the rows of `diagonal` on their diagonals and zeros elsewhere.

    output[…, i, j] = diagonal[…, i] if i = j else 0
    """
    return np.where(np.eye(diagonal.shape[-1], dtype=bool), diagonal[..., None], 0)


@matrix_diag.shape
def _(diagonal: Spec) -> Shape:
    _at_least("diagonal", diagonal, 1)
    return None if diagonal.shape is None else (*diagonal.shape, diagonal.shape[-1])


@matrix_diag.cells
def _(y: Spec, diagonal: Spec) -> list[AccessMap]:
    loops, at = over(diagonal.sizes)
    cells = {"diagonal": Cells(at), "output": Cells((*at, at[-1]))}
    return [AccessMap("copy", ("diagonal",), loops, cells)]


@matrix_diag.grad
def _(dy: Value, y: Value, diagonal: Value) -> list[Value]:
    return [matrix_diag_part(dy)]


@op("MatrixDiagPart", "T -> diagonal: T", T=NUMBERS_AND_BOOL)
def matrix_diag_part(input: Array) -> Array:
    """The diagonals of matrices, which stand along the last two axes.

    diagonal[…, i] = input[…, i, i]
    """
    return input.diagonal(axis1=-2, axis2=-1)


def _diagonal_shape(input: Spec) -> Shape:
    _at_least("input", input, 2)
    if input.shape is None:
        return None
    *batch, rows, columns = input.shape
    return (*batch, _smaller(rows, columns))


def _smaller(m: Size, n: Size) -> Size:
    return 0 if 0 in (m, n) else None if m is None or n is None else min(m, n)


@matrix_diag_part.shape
def _(input: Spec) -> Shape:
    return _diagonal_shape(input)


@matrix_diag_part.cells
def _(y: Spec, input: Spec) -> list[AccessMap]:
    loops, at = over(y.sizes)
    cells = {"input": Cells((*at, at[-1])), "diagonal": Cells(at)}
    return [AccessMap("copy", ("input",), loops, cells)]


@matrix_diag_part.grad
def _(dy: Value, y: Value, input: Value) -> list[Value]:
    rows, columns = (None, None) if input.shape is None else input.shape[-2:]
    if rows is not None and rows == columns:
        return [matrix_diag(dy)]
    return [matrix_set_diag(ops.zeros_like(input), dy)]


@op("MatrixSetDiag", "T, T -> T", T=NUMBERS_AND_BOOL)
def matrix_set_diag(input: Array, diagonal: Array) -> Array:
    """Matrices with other diagonals.

    output[…, i, j] = diagonal[…, i] if i = j else input[…, i, j]
    """
    out = input.copy()
    n = np.arange(diagonal.shape[-1])
    out[..., n, n] = diagonal
    return out


@matrix_set_diag.shape
def _(input: Spec, diagonal: Spec) -> Shape:
    _at_least("diagonal", diagonal, 1)
    expected = _diagonal_shape(input)
    found = agreed(
        "diagonal", diagonal, expected, "the shape of the diagonals", "Pass one a matrix."
    )
    if input.shape is None or found is None:
        return input.shape
    return (*found[:-1], *input.shape[-2:])


@matrix_set_diag.cells
def _(y: Spec, input: Spec, diagonal: Spec) -> list[AccessMap]:
    *batch, rows, columns = y.sizes
    own, at = over(diagonal.sizes)
    on = {"diagonal": Cells(at), "output": Cells((*at, at[-1]))}
    maps = [AccessMap("copy", ("diagonal",), own, on)]
    for size, above in ((columns - 1, 1), (rows - 1, 0)):
        loops, at = over((*batch, min(rows, columns), size))
        *front, i, k = at
        beside = i + k + 1
        cells = Cells((*front, i, beside) if above else (*front, beside, i))
        maps.append(AccessMap("copy", ("input",), loops, {"input": cells, "output": cells}))
    return maps


@matrix_set_diag.grad
def _(dy: Value, y: Value, input: Value, diagonal: Value) -> list[Value]:
    return [matrix_set_diag(dy, ops.zeros_like(diagonal)), matrix_diag_part(dy)]


@op("MatrixBandPart", "T, Tindex, Tindex -> band: T", T=NUMBERS_AND_BOOL, Tindex=INDEX)
def matrix_band_part(input: Array, num_lower: Array, num_upper: Array) -> Array:
    """Matrices with zeros outside a band of `num_lower` diagonals below the main one, `num_upper` above.

    band[…, i, j] = input[…, i, j] if i - j ≤ num_lower and j - i ≤ num_upper else 0
    where a negative number is no limit

    A negative number keeps the whole triangle.
    """
    lower, upper = int(num_lower.item()), int(num_upper.item())
    rows, columns = input.shape[-2:]
    row, column = as_interruptible(np.arange(rows))[:, None], as_interruptible(np.arange(columns))
    first = row - (rows if lower < 0 else lower)
    last = row + (columns if upper < 0 else upper)
    return np.where((first <= column) & (column <= last), input, 0)


@matrix_band_part.shape
def _(input: Spec, num_lower: Spec, num_upper: Spec) -> Shape:
    _at_least("input", input, 2)
    sizes = (None, None) if input.shape is None else input.shape[-2:]
    for arg, spec, n in (("num_lower", num_lower, sizes[0]), ("num_upper", num_upper, sizes[1])):
        count = scalar_value(arg, spec)
        if count is not None and n is not None and count > n:
            hint = "Use -1 for the whole triangle."
            raise OpError(f"must be at most {n}", arg=arg, got=count, hint=hint)
    return input.shape


@matrix_band_part.cells
def _(y: Spec, input: Spec, num_lower: Spec, num_upper: Spec) -> list[AccessMap]:
    *batch, rows, columns = y.sizes
    lower, upper = int(num_lower.contents.item()), int(num_upper.contents.item())
    lower, upper = rows if lower < 0 else lower, columns if upper < 0 else upper
    loops, at = over((*batch, rows, lower + upper + 1))
    *front, i, k = at
    cells = Cells((*front, i, i + k - lower))
    return [AccessMap("copy", ("input",), loops, {"input": cells, "band": cells})]


@matrix_band_part.grad
def _(dy: Value, y: Value, input: Value, num_lower: Value, num_upper: Value) -> list[Value]:
    return [matrix_band_part(dy, num_lower, num_upper), None, None]


# -- cases ----------------------------------------------------------------------------------------

_pair, _square = np.array([1.0, 2]), np.array([[1.0, 0], [0, 2]])
_table = np.array([[1.0, 2, 3], [4, 5, 6]])

for _make, _take in ((diag, diag_part), (matrix_diag, matrix_diag_part)):
    _make.case("two numbers", diagonal=_pair, out=_square)
    _make.case("none", diagonal=np.zeros(0), out=np.zeros((0, 0)))
    _make.fails("a lone number", diagonal=3.0, error="at least 1 dimension")
    _take.case("of a matrix", input=np.array([[1.0, 5], [6, 2]]), out=_pair)
diag.case(
    "every axis twice",
    diagonal=np.array([[3.0, 4]]),
    out=np.array([[[[3.0, 0]], [[0, 4]]]]),
)
diag_part.case(
    "every axis twice", input=np.array([[[[3.0, 7]], [[8, 4]]]]), out=np.array([[3.0, 4]])
)
diag_part.fails("not square", input=_table, error="every axis twice")
diag_part.fails("an axis alone", input=np.zeros((2, 2, 2)), error="every axis twice")
diag_part.fails("a lone number", input=3.0, error="every axis twice")
matrix_diag.case(
    "one matrix a row",
    diagonal=np.array([[1.0, 2], [3, 4]]),
    out=np.array([[[1.0, 0], [0, 2]], [[3, 0], [0, 4]]]),
)
matrix_diag_part.case("wider than high", input=_table, out=np.array([1.0, 5]))
matrix_diag_part.fails("a row", input=_pair, error="at least 2 dimensions")
matrix_set_diag.case(
    "wider than high",
    input=_table,
    diagonal=np.array([8.0, 9]),
    out=np.array([[8.0, 2, 3], [4, 9, 6]]),
)
matrix_set_diag.case("none", input=np.zeros((0, 2)), diagonal=np.zeros(0), out=np.zeros((0, 2)))
matrix_set_diag.fails(
    "too long", input=_table, diagonal=np.zeros(3), error="shape of the diagonals"
)
matrix_set_diag.fails("a row", input=_pair, diagonal=_pair, error="at least 2 dimensions")
matrix_band_part.case(
    "the diagonal and one above",
    input=_table,
    num_lower=np.array(0),
    num_upper=np.array(1),
    out=np.array([[1.0, 2, 0], [0, 5, 6]]),
)
matrix_band_part.case(
    "the lower triangle of each",
    input=np.array([_table, -_table]),
    num_lower=np.array(-1, np.int32),
    num_upper=np.array(0, np.int32),
    out=np.array([[[1.0, 0, 0], [4, 5, 0]], [[-1, 0, 0], [-4, -5, 0]]]),
)
matrix_band_part.fails("a row", input=_pair, num_lower=0, num_upper=0, error="at least 2")
matrix_band_part.fails("too many", input=_table, num_lower=3, num_upper=0, error="at most 2")
