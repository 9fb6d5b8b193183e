"""Products of matrices, in batches too, and Einstein summation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import Annotated, Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import NAMES, NUMBERS, DType, is_float, is_half, wide
from backblocks.errors import Fix, OpError, described, set_to, swap
from backblocks.ops import _kernels
from backblocks.ops._access_maps import AccessMap, Cells, Coordinate, loop, over
from backblocks.ops._chunks import MAX_CHUNK_COST, chunks, contiguous_copy, multiply_cost
from backblocks.ops._elementwise import broadcast_cells
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Value, op
from backblocks.ops._spec import Shape, Size, Spec, agreed, broadcast, ranked, shape_text, which
from backblocks.ops.array.broadcasting import unbroadcast
from backblocks.ops.array.shapes import shape_of
from backblocks.ops.attrs import Flag, Text, dtype_of
from backblocks.ops.math.arithmetic import conjugate

Sizes = tuple[int, ...]

MATRIX_TYPES = tuple(name for name in NUMBERS if name not in ("int8", "int16"))


# -- two matrices ------------------------------------------------------------------------------------


def _multiply(x: Array, y: Array, out: Array) -> None:
    """np.matmul, in pieces if it is long: of many matrices, then of the rows of one."""
    cost = math.prod(out.shape) * x.shape[-1] * multiply_cost(x.dtype)
    if cost <= MAX_CHUNK_COST:
        np.matmul(x, y, out)
    elif out.ndim == 2:
        for rows in chunks(len(out), cost):
            np.matmul(x[rows], y, out[rows])
    else:
        x, y = (np.broadcast_to(each, out.shape[:-2] + each.shape[-2:]) for each in (x, y))
        for some in chunks(len(out), cost):
            one = some.start if some.stop == some.start + 1 else some
            _multiply(x[one], y[one], out[one])


def _product(x: Array, y: Array) -> Array:
    front = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    out = np.empty((*front, x.shape[-2], y.shape[-1]), x.dtype)
    _multiply(x, y, out)
    return out


def native_product(
    dtype: DType, x: Sizes, y: Sizes, turn_x: bool, turn_y: bool, conjugate: bool = False
) -> KernelFunction | None:
    """The compiled kernel for arrays of these shapes, which may be transposed; None for whole numbers.

    NumPy would hand float types to a BLAS, whose results depend on how many threads it has, and whose threads
    keep a process from forking and ending. `conjugate` says that what is transposed is conjugated as well.
    """
    parts = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else wide(dtype)
    if parts.kind != "f":
        return None
    prepared = _kernels.matmul(NAMES[parts], *_geometry(x, y, turn_x, turn_y))

    def half(x: Array, y: Array, out: Array) -> None:
        single = np.empty(out.shape, parts)
        prepared(x.astype(parts), y.astype(parts), single)
        out[...] = single

    def complex_(x: Array, y: Array, out: Array) -> None:
        (a, b), (c, d) = ([np.ascontiguousarray(part) for part in (z.real, z.imag)] for z in (x, y))
        b, d = -b if conjugate and turn_x else b, -d if conjugate and turn_y else d
        one, other = np.empty(out.shape, parts), np.empty(out.shape, parts)
        for to, pairs, join in (
            (out.real, ((a, c), (b, d)), np.subtract),
            (out.imag, ((a, d), (b, c)), np.add),
        ):
            for pair, into in zip(pairs, (one, other), strict=True):
                prepared(*pair, into)
            join(one, other, out=to)

    return complex_ if dtype.kind == "c" else half if is_half(dtype) else prepared


def _geometry(x: Sizes, y: Sizes, turn_x: bool, turn_y: bool) -> tuple[Any, ...]:
    """Rows, inner size and columns; how matrices lie; and axes in front of them, with who has them."""
    rows, inner = x[-2:][:: -1 if turn_x else 1]
    columns = y[-2 if turn_y else -1]
    front: list[tuple[int, bool, bool]] = []
    of_x, of_y = (math.prod(each[:-2]) for each in (x, y))
    if of_y == 1 and not turn_x:  # one matrix for all: its product with all rows
        return of_x * rows, inner, columns, turn_x, turn_y, front
    axes = np.broadcast_shapes(x[:-2], y[:-2])
    for place, n in enumerate(axes, -2 - len(axes)):
        has = [-place <= len(each) and each[place] == n for each in (x, y)]
        if n != 1:
            front.append((n, *has))
    return rows, inner, columns, turn_x, turn_y, front


@op(
    "MatMul",
    "T, T -> product: T",
    aliases=("matrix product", "dot", "mm", "linear", "dense", "gemm", "np.matmul", "@"),
    T=MATRIX_TYPES,
)
def mat_mul(
    a: Array,
    b: Array,
    *,
    transpose_a: Flag = False,
    transpose_b: Flag = False,
    grad_a: Flag = False,
    grad_b: Flag = False,
) -> Any:
    """The product of two matrices, each of which may be transposed first.

    product[i, j] = Σ over k of a[i, k] · b[k, j]
    with transpose_a it is a[k, i], with transpose_b b[j, k]

    `grad_a` and `grad_b` tell TensorFlow's compiler which operand is a gradient; they change nothing.
    """
    a, b = (x.astype(wide(x.dtype), copy=False) for x in (a, b))
    return _product(a.T if transpose_a else a, b.T if transpose_b else b)


@mat_mul.shape
def _(
    a: Spec, b: Spec, *, transpose_a: bool, transpose_b: bool, grad_a: bool, grad_b: bool
) -> Shape:
    rows, inner = ranked("a", a, 2)[:: -1 if transpose_a else 1]
    other, columns = ranked("b", b, 2)[:: -1 if transpose_b else 1]
    hint = "Set transpose_a or transpose_b, or swap a and b."
    fixes = [
        set_to(transpose_b=not transpose_b),
        set_to(transpose_a=not transpose_a),
        swap("a", "b"),
    ]
    _check_inner("b", int(transpose_b), inner, other, hint, fixes)
    return rows, columns


def _check_inner(
    arg: str, axis: int, columns: Size, rows: Size, hint: str, fixes: Sequence[Fix] = ()
) -> None:
    if columns is not None and rows is not None and columns != rows:
        raise OpError(
            f"must have as many rows as the first matrix has columns, {columns}",
            arg=arg,
            axis=axis,
            got=rows,
            hint=hint,
            fixes=fixes,
        )


@mat_mul.cells
def _(
    y: Spec, a: Spec, b: Spec, *, transpose_a: bool, transpose_b: bool, **hints: bool
) -> list[AccessMap]:
    rows, columns = y.sizes
    inner = a.sizes[0 if transpose_a else 1]
    i, j, k = loop("i"), loop("j"), loop("k")
    cells = {
        "a": Cells((k, i) if transpose_a else (i, k)),
        "b": Cells((j, k) if transpose_b else (k, j)),
        "product": Cells((i, j)),
    }
    return [AccessMap("sum", ("a", "b"), {"i": rows, "j": columns, "k": inner}, cells)]


@mat_mul.grad
def _(
    dy: Value, y: Value, a: Value, b: Value, *, transpose_a: bool, transpose_b: bool, **hints: bool
) -> list[Value]:
    a, b = conjugate(a), conjugate(b)
    if transpose_a:
        da = mat_mul(b, dy, transpose_a=transpose_b, transpose_b=True)
    else:
        da = mat_mul(dy, b, transpose_b=not transpose_b)
    if transpose_b:
        db = mat_mul(dy, a, transpose_a=True, transpose_b=transpose_a)
    else:
        db = mat_mul(a, dy, transpose_a=not transpose_a)
    return [da, db]


@mat_mul.kernel("native")
def _(
    a: Spec, b: Spec, *, transpose_a: bool, transpose_b: bool, **hints: bool
) -> KernelFunction | None:
    return native_product(a.dtype, a.sizes, b.sizes, transpose_a, transpose_b)


@mat_mul.kernel("in place", warns=True)
def _(
    a: Spec, b: Spec, *, transpose_a: bool, transpose_b: bool, **hints: bool
) -> KernelFunction | None:
    def fill(a: Array, b: Array, product: Array) -> None:
        multiply(a.T if transpose_a else a, b.T if transpose_b else b, product)

    first: Any = a.shape
    second: Any = b.shape
    cost = math.prod(first) * second[0 if transpose_b else 1] * multiply_cost(a.dtype)
    # The same as np.matmul here, which takes longer to begin.
    multiply: KernelFunction = np.dot if cost <= MAX_CHUNK_COST else _multiply
    return fill if transpose_a or transpose_b else multiply


table, column = np.array([[3.0, 2], [-1, 0]]), np.array([[3.0], [5]])
mat_mul.case("a matrix and a column", a=table, b=column, out=np.array([[19.0], [-3]]))
mat_mul.case(
    "both turned over",
    a=np.array([[1.0, 2, 3], [4, 5, 6]]),
    b=np.array([[1.0, 0], [0, 2]]),
    transpose_a=True,
    transpose_b=True,
    out=np.array([[1.0, 8], [2, 10], [3, 12]]),
)
mat_mul.case("one turned over", a=table, b=column.T, transpose_b=True, out=np.array([[19.0], [-3]]))
mat_mul.case("a sum of nothing is 0", a=np.zeros((2, 0)), b=np.zeros((0, 1)), out=np.zeros((2, 1)))
mat_mul.case("no rows", a=np.zeros((0, 2)), b=table, out=np.zeros((0, 2)))
mat_mul.fails("sizes that do not meet", a=table, b=column.T, error="as many rows as")
mat_mul.fails("a vector", a=table, b=np.zeros(2), error="must have 2 dimensions")


# -- many matrices -------------------------------------------------------------------------------------


def _adjoint(x: Array, turn: bool) -> Array:
    """The matrices on the last two axes, or their conjugate transposes."""
    return x.swapaxes(-1, -2).conj() if turn else x


def _batch_attrs(
    *, adj_x: Flag = False, adj_y: Flag = False, grad_x: Flag = False, grad_y: Flag = False
) -> None:
    """The attributes of products of many matrices."""


def _batches(x: Spec, y: Spec) -> None:
    for arg, spec in (("x", x), ("y", y)):
        if spec.shape is not None and len(spec.shape) < 2:
            raise OpError(
                "must have at least 2 dimensions",
                arg=arg,
                got=described(f"shape {shape_text(spec.shape)}"),
                hint="Add axes of size 1, such as x[None] for a row.",
            )


def _batch_product(x: Spec, y: Spec, *, adj_x: bool, adj_y: bool, **others: Any) -> Shape:
    _batches(x, y)
    if x.shape is None or y.shape is None:
        return None
    rows, inner = x.shape[-2:][:: -1 if adj_x else 1]
    other, columns = y.shape[-2:][:: -1 if adj_y else 1]
    hint = "Set adj_x or adj_y, or swap x and y."
    fixes = [set_to(adj_y=not adj_y), set_to(adj_x=not adj_x), swap("x", "y")]
    _check_inner("y", len(y.shape) - 2 + adj_y, inner, other, hint, fixes)
    batch = broadcast("y", x.shape[:-2], y.shape[:-2])
    return None if batch is None else (*batch, rows, columns)


def _batch_grad(
    dy: Value, z: Value, x: Value, y: Value, *, adj_x: bool, adj_y: bool, **others: Any
) -> list[Value]:
    """The gradients of both factors, in the type of the product."""
    if adj_x:
        dx = batch_mat_mul_v2(y, dy, adj_x=adj_y, adj_y=True)
    else:
        dx = batch_mat_mul_v2(dy, y, adj_y=not adj_y)
    if adj_y:
        dy_ = batch_mat_mul_v2(dy, x, adj_x=True, adj_y=adj_x)
    else:
        dy_ = batch_mat_mul_v2(x, dy, adj_x=not adj_x)
    return [unbroadcast(dx, x), unbroadcast(dy_, y)]


def _batch_reference(x: Array, y: Array, *, adj_x: bool, adj_y: bool, **hints: bool) -> Any:
    x, y = (each.astype(wide(each.dtype), copy=False) for each in (x, y))
    return _product(_adjoint(x, adj_x), _adjoint(y, adj_y))


@op("BatchMatMul", "T, T -> T", attrs=_batch_attrs, T=NUMBERS)
def batch_mat_mul(x: Array, y: Array, **how: bool) -> Any:
    """The products of matrices in pairs: those of `x` and of `y`, which have the same axes in front.

    output[…, i, j] = Σ over k of x[…, i, k] · y[…, k, j]
    with adj_x it is conj(x[…, k, i]), with adj_y conj(y[…, j, k])

    `adj_x` and `adj_y` take the conjugate transposes of the matrices. `grad_x` and `grad_y` change
    nothing.
    """
    return _batch_reference(x, y, **how)


@batch_mat_mul.shape
def _(x: Spec, y: Spec, **how: bool) -> Shape:
    _batches(x, y)
    if x.shape is not None and y.shape is not None:
        front = Spec(y.shape[:-2], y.dtype)
        hint = "Use BatchMatMulV2, which broadcasts."
        agreed("y", front, x.shape[:-2], "the axes of x in front of the matrices", hint)
    return _batch_product(x, y, **how)


@op(
    "BatchMatMulV2",
    "T, T -> T",
    aliases=("bmm", "batched matrix product", "np.matmul", "@"),
    attrs=_batch_attrs,
    T=NUMBERS,
)
def batch_mat_mul_v2(x: Array, y: Array, **how: bool) -> Any:
    """The products of matrices in pairs, whose axes in front of the matrices broadcast.

    output[…, i, j] = Σ over k of x[…, i, k] · y[…, k, j]
    with adj_x it is conj(x[…, k, i]), with adj_y conj(y[…, j, k])

    `adj_x` and `adj_y` take the conjugate transposes of the matrices. `grad_x` and `grad_y` change
    nothing.
    """
    return _batch_reference(x, y, **how)


batch_mat_mul_v2.shape(_batch_product)


@batch_mat_mul.cells
@batch_mat_mul_v2.cells
def _batch_cells(
    z: Spec, x: Spec, y: Spec, *, adj_x: bool, adj_y: bool, **others: Any
) -> list[AccessMap]:
    loops, at = over((*z.sizes, x.sizes[-2 if adj_x else -1]))
    *front, i, j, k = at
    x_at, y_at = (k, i) if adj_x else (i, k), (j, k) if adj_y else (k, j)
    cells = {
        "x": Cells(broadcast_cells(x.sizes[:-2], tuple(front)).at + x_at),
        "y": Cells(broadcast_cells(y.sizes[:-2], tuple(front)).at + y_at),
        "output": Cells((*front, i, j)),
    }
    plain = x.dtype == y.dtype == z.dtype and z.dtype.kind != "c"  # no conjugates, and no casts
    return [AccessMap("sum" if plain else "apply", ("x", "y"), loops, cells)]


@batch_mat_mul.kernel("native")
@batch_mat_mul_v2.kernel("native")
def _(x: Spec, y: Spec, *, adj_x: bool, adj_y: bool, **hints: bool) -> KernelFunction | None:
    return native_product(x.dtype, x.sizes, y.sizes, adj_x, adj_y, conjugate=True)


@batch_mat_mul.kernel("in place")
@batch_mat_mul_v2.kernel("in place")
def _(x: Spec, y: Spec, *, adj_x: bool, adj_y: bool, **hints: bool) -> KernelFunction:
    def fill(x: Array, y: Array, output: Array) -> None:
        with np.errstate(all="ignore"):
            _multiply(_adjoint(x, adj_x), _adjoint(y, adj_y), output)

    return fill


ProductType = Annotated[Any, dtype_of(*(n for n in NUMBERS if not n.startswith("u")))]


@op("BatchMatMulV3", "Ta, Tb -> output: Tout", Ta=NUMBERS, Tb=NUMBERS)
def batch_mat_mul_v3(
    x: Array,
    y: Array,
    *,
    Tout: ProductType,
    adj_x: Flag = False,
    adj_y: Flag = False,
    grad_x: Flag = False,
    grad_y: Flag = False,
) -> Any:
    """BatchMatMulV2 of tensors that may have types of their own: both are read as `Tout` first.

    output[…, i, j] = Σ over k of x[…, i, k] · y[…, k, j]
    with adj_x it is conj(x[…, k, i]), with adj_y conj(y[…, j, k])
    """
    x, y = (_read_as(each, wide(Tout)) for each in (x, y))
    return _batch_reference(x, y, adj_x=adj_x, adj_y=adj_y)


def _read_as(x: Array, dtype: Any) -> Array:
    return (x if dtype.kind == "c" else x.real).astype(dtype, copy=False)


@batch_mat_mul_v3.kernel("native")
def _(
    x: Spec, y: Spec, *, Tout: Any, adj_x: bool, adj_y: bool, **hints: bool
) -> KernelFunction | None:
    multiply = native_product(wide(Tout), x.sizes, y.sizes, adj_x, adj_y, conjugate=True)
    if multiply is None:
        return None

    def fill(x: Array, y: Array, output: Array) -> None:
        wide_output = output if output.dtype == wide(Tout) else np.empty(output.shape, wide(Tout))
        read = (np.ascontiguousarray(_read_as(each, wide(Tout))) for each in (x, y))
        multiply(*read, wide_output)
        if wide_output is not output:
            output[...] = wide_output

    return fill


batch_mat_mul_v3.shape(_batch_product)
batch_mat_mul_v3.cells(_batch_cells)


@batch_mat_mul_v3.grad
def _(dy: Value, z: Value, x: Value, y: Value, *, Tout: Any, **how: bool) -> list[Value]:
    wide_x, wide_y = (ops.cast(each, DstT=Tout) for each in (x, y))
    found = zip(_batch_grad(dy, z, wide_x, wide_y, **how), (x, y), strict=True)
    return [
        ops.cast(d, DstT=each.dtype) if is_float(each.dtype) or each.dtype.kind == "c" else None
        for d, each in found
    ]


_stack, _turned = np.array([[[1.0, 2]], [[3, 4]]]), np.array([[[1.0, 1]], [[1, -1]]])
_batch_products: tuple[tuple[Any, dict[str, Any]], ...] = (
    (batch_mat_mul, {}),
    (batch_mat_mul_v2, {}),
    (batch_mat_mul_v3, {"Tout": "float64"}),
)
for _each, _typed in _batch_products:
    if _each is not batch_mat_mul_v3:
        _each.grad(_batch_grad)
    _each.case(
        "a row by a column, twice",
        x=_stack,
        y=_turned,
        adj_y=True,
        **_typed,
        out=np.array([[[3.0]], [[-1]]]),
    )
    _each.case(
        "no matrices",
        x=np.zeros((0, 2, 3)),
        y=np.zeros((0, 3, 1)),
        **_typed,
        out=np.zeros((0, 2, 1)),
    )
    _each.fails("a vector", x=table, y=np.zeros(2), **_typed, error="at least 2 dimensions")
    _each.fails("sizes that do not meet", x=_stack, y=_turned, **_typed, error="as many rows as")
batch_mat_mul.case(
    "the conjugate transpose",
    x=np.array([[1j], [2]]),
    y=np.array([[1j], [1]]),
    adj_x=True,
    out=np.array([[3 + 0j]]),
)
batch_mat_mul_v2.case(
    "one matrix for all",
    x=_stack,
    y=table,
    out=np.array([[[1.0, 2]], [[5, 6]]]),
)
batch_mat_mul_v3.case(
    "bytes, without overflow",
    x=np.array([[100, 100]], np.int8),
    y=np.array([[200], [100]], np.uint8),
    Tout="int32",
    out=np.array([[30000]], np.int32),
)
batch_mat_mul.fails("one matrix for all", x=_stack, y=table, error="the axes of x in front")
batch_mat_mul_v2.fails(
    "axes that do not broadcast",
    x=np.zeros((2, 1, 1)),
    y=np.zeros((3, 1, 1)),
    error="must broadcast",
)


# -- axes that have names --------------------------------------------------------------------------------

DOTS = "..."


@dataclass(frozen=True)
class Equation:
    """The labels of each input and of the output; dots stand for axes without a label."""

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


def _read_equation(text: str) -> Equation:
    sides = text.split("->")
    if len(sides) != 2:
        raise OpError(
            "must have one ->, before the labels of the result",
            arg="equation",
            got=text,
            hint='Write it as in "ij,jk->ik".',
        )
    inputs = tuple(_labels(part, text) for part in sides[0].split(","))
    output = _labels(sides[1], text)
    known = {label for labels in inputs for label in labels} | {DOTS}
    for label in output:
        if label not in known:
            raise OpError(
                f"the result has a label that no input has, {label}",
                arg="equation",
                got=text,
                hint="Use the labels of the inputs after ->.",
            )
    return Equation(inputs, output)


def _labels(part: str, text: str) -> tuple[str, ...]:
    before, dots, after = part.partition(DOTS)
    letters = before + after
    if not all("a" <= letter.lower() <= "z" for letter in letters):
        raise OpError(
            "labels must be letters, with ... at most once for the axes without one",
            arg="equation",
            got=text,
            hint='Write it without spaces, as in "...ij,jk->...ik".',
        )
    return (*before, *([dots] if dots else []), *after)


def _written(inputs: Sequence[Sequence[str]], output: Sequence[str]) -> str:
    return ",".join(map("".join, inputs)) + "->" + "".join(output)


@op("Einsum", "T* -> T", aliases=("np.einsum",), T=NUMBERS)
def einsum(inputs: tuple[Array, ...], *, equation: Text) -> Any:
    """Products of one or two tensors, summed over the labels that the result does not have.

    output[labels] = Σ over the labels that it lacks of inputs[0][labels] · inputs[1][labels]
    with equation="ij,jk->ik" output[i, k] = Σ over j of inputs[0][i, j] · inputs[1][j, k]

    `"ij,jk->ik"` is the product of matrices. A label twice in an input takes the diagonal, twice in the
    result puts one there. `...` stands for axes without a label, which broadcast.
    """
    read = _read_equation(equation)
    once = tuple(dict.fromkeys(read.output))
    wide_inputs = [x.astype(wide(x.dtype), copy=False) for x in inputs]
    full = once if DOTS in once else (DOTS, *once)  # NumPy wants dots even for no axes at all
    product = _contract(Equation(read.inputs, full), wide_inputs)
    if once == read.output:
        return product
    return _on_diagonals(product, once, read.output)


_FEW = 1 << 14
"""Numbers for which looking for the fastest way takes longer than any way."""


def _contract(what: Equation, inputs: list[Array]) -> Array:
    """np.einsum; if it is long, by products of matrices and in pieces along an axis of the result."""
    text = _written(what.inputs, what.output)
    if sum(x.size for x in inputs) <= _FEW:
        return np.asarray(np.einsum(text, *inputs))
    sizes: dict[str, Any] = {}
    pairs = list(zip(inputs, what.inputs, strict=True))
    dotted: list[Any] = [_note_sizes(Spec.of(x), labels, text, sizes) for x, labels in pairs]
    sizes[DOTS] = np.broadcast_shapes(*dotted)
    axes = [n for label in what.output for n in (sizes[DOTS] if label == DOTS else [sizes[label]])]
    if inputs[0].dtype.kind in "fc" and len(inputs) == 2:
        return _by_matrices(what, inputs, sizes)
    out = np.empty(axes, inputs[0].dtype)
    cost = math.prod(sizes.pop(DOTS)) * math.prod(sizes.values()) * 16
    named = [label for label in what.output if label != DOTS]
    label = max(named, key=sizes.__getitem__, default="")
    for part in chunks(sizes.get(label, 1), cost):
        cut = [_cut(x, labels, label, part) for x, labels in pairs]
        np.einsum(text, *cut, out=_cut(out, what.output, label, part))
    return out


def _by_matrices(what: Equation, inputs: list[Array], sizes: dict[str, Any]) -> Array:
    """The same as one product of matrices, for which axes are brought in order."""
    dots = [f"{DOTS}{i}" for i in range(len(sizes[DOTS]))]
    output = [axis for label in what.output for axis in (dots if label == DOTS else [label])]
    (x, of_x), (y, of_y) = (
        _axes_once(x, labels, dots) for x, labels in zip(inputs, what.inputs, strict=True)
    )
    x, of_x = _without(x, of_x, {*of_y, *output})
    y, of_y = _without(y, of_y, {*of_x, *output})
    front = [axis for axis in output if axis in of_x and axis in of_y]
    inner = [axis for axis in of_x if axis in of_y and axis not in output]
    rows, columns = ([a for a in axes if a not in (*front, *inner)] for axes in (of_x, of_y))
    x, turn_x = _as_matrices(x, of_x, front, rows, inner)
    y, turn_y = _as_matrices(y, of_y, front, inner, columns)
    known = dict(zip(dots, sizes[DOTS], strict=True)) | sizes
    shape = [known[axis] for axis in (*front, *rows, *columns)]
    out = np.empty(shape, x.dtype)
    multiply = native_product(x.dtype, x.shape, y.shape, turn_x, turn_y)
    if multiply is not None:
        multiply(x, y, out)
    order = (*front, *rows, *columns)
    return out.transpose([order.index(axis) for axis in output])


def _axes_once(x: Array, labels: tuple[str, ...], dots: list[str]) -> tuple[Array, list[str]]:
    """A view in which each label has one axis, of its diagonal, with the names of its axes."""
    extra = x.ndim - sum(label != DOTS for label in labels)
    axes = [
        a for label in labels for a in (dots[len(dots) - extra :] if label == DOTS else [label])
    ]
    once = list(dict.fromkeys(axes))
    if len(once) < len(axes):
        letters = dict(zip(once, ascii_letters, strict=False))
        x = np.einsum(_written([[letters[axis] for axis in axes]], list(letters.values())), x)
    return x, once


def _without(x: Array, axes: list[str], kept: set[str]) -> tuple[Array, list[str]]:
    """Its sums over the axes that nobody else has."""
    lone = tuple(i for i, axis in enumerate(axes) if axis not in kept)
    return (x.sum(lone) if lone else x), [axis for axis in axes if axis in kept]


def _as_matrices(
    x: Array, axes: list[str], front: list[str], rows: list[str], columns: list[str]
) -> tuple[Array, bool]:
    """Matrices on the last two axes, behind those in front, and whether they are transposed."""
    turned = bool(rows and columns) and axes == [*front, *columns, *rows]
    order = axes if turned else [*front, *rows, *columns]
    x = x.transpose([axes.index(axis) for axis in order])
    one, other = (columns, rows) if turned else (rows, columns)
    sizes = dict(zip(order, x.shape, strict=True))
    matrix = [math.prod(sizes[axis] for axis in part) for part in (one, other)]
    x = x if x.flags.c_contiguous else contiguous_copy(x, x.dtype)
    return x.reshape([*(sizes[axis] for axis in front), *matrix]), turned


def _cut(x: Array, labels: tuple[str, ...], label: str, part: slice) -> Array:
    """A part of `x` along the axes of a label."""
    dots = labels.index(DOTS) if DOTS in labels else len(labels)
    for place, each in enumerate(labels):
        if each == label:
            axis = place if place < dots else place - len(labels)
            x = x.swapaxes(0, axis)[part].swapaxes(0, axis)
    return x


def _on_diagonals(x: Array, labels: tuple[str, ...], output: tuple[str, ...]) -> Array:
    """Zeros, with the cells of `x` where all axes of one label have one index."""
    dots = [f"{DOTS}{i}" for i in range(x.ndim - sum(label != DOTS for label in labels))]

    def axes(labels: tuple[str, ...]) -> list[str]:
        return [axis for label in labels for axis in (dots if label == DOTS else [label])]

    letters = dict(zip(axes(labels), ascii_letters, strict=False))
    sizes = dict(zip(letters, x.shape, strict=True))
    out = np.zeros([sizes[axis] for axis in axes(output)], x.dtype)
    diagonal = _written([[letters[axis] for axis in axes(output)]], list(letters.values()))
    np.einsum(diagonal, out)[...] = x
    return out


@einsum.shape
def _(inputs: tuple[Spec, ...], *, equation: str) -> Shape:
    read = _read_equation(equation)
    if len(inputs) != len(read.inputs) or len(inputs) not in (1, 2):
        raise OpError(
            "must be one or two tensors, as many as the equation has before ->",
            arg="inputs",
            got=described(f"{len(inputs)} tensors for {equation!r}"),
            hint="Multiply more than two in steps.",
        )
    sizes: dict[str, Size] = {}
    dotted: Shape = ()
    for i, (spec, labels) in enumerate(zip(inputs, read.inputs, strict=True)):
        dots = _note_sizes(spec, labels, equation, sizes, i)
        dotted = broadcast("inputs", dotted, dots)
    if DOTS not in read.output:
        if dotted:
            raise OpError(
                "the result must have ... as well when it stands for axes of an input",
                arg="equation",
                got=equation,
                hint="Write ... after ->, or give those axes labels.",
            )
        return tuple(sizes[label] for label in read.output)
    if dotted is None:
        return None
    at = read.output.index(DOTS)
    before, after = (
        tuple(sizes[label] for label in part) for part in (read.output[:at], read.output[at + 1 :])
    )
    return (*before, *dotted, *after)


def _note_sizes(
    spec: Spec, labels: tuple[str, ...], equation: str, sizes: dict[str, Size], nth: int = 0
) -> Shape:
    """Adds the sizes of the nth input's labels to `sizes`, and gives the shape of its dotted axes."""
    named = [label for label in labels if label != DOTS]
    if spec.shape is None:
        for label in named:
            sizes.setdefault(label, None)
        return None if DOTS in labels else ()
    extra = len(spec.shape) - len(named)
    if extra < 0 or (extra and DOTS not in labels):
        at_least = "at least " if DOTS in labels else ""
        raise OpError(
            f"must have {at_least}{len(named)} dimensions for {''.join(labels)!r}",
            arg="inputs",
            got=described(f"shape {shape_text(spec.shape)}{which('inputs', nth)}"),
            hint="Give every axis a label, or write ... for those without.",
        )
    at = labels.index(DOTS) if DOTS in labels else len(labels)
    axes = [axis for axis in range(len(spec.shape)) if not at <= axis < at + extra]
    for label, axis in zip(named, axes, strict=True):
        n = spec.shape[axis]
        known = sizes.setdefault(label, n)
        if known is None:
            sizes[label] = n
        elif n is not None and n != known:
            raise OpError(
                f"axes with the label {label} must have one size, {known}",
                arg="inputs",
                axis=axis,
                got=described(f"{n}{which('inputs', nth)}"),
                hint=f"Look at {equation!r}: axes of two labels may have two sizes.",
            )
    return spec.shape[at : at + extra]


@einsum.cells
def _(y: Spec, inputs: tuple[Spec, ...], *, equation: str) -> list[AccessMap]:
    read = _read_equation(equation)
    named: dict[str, Size] = {}
    pairs = list(zip(inputs, read.inputs, strict=True))
    dotted: list[Any] = [_note_sizes(spec, labels, equation, named) for spec, labels in pairs]
    loops, front = over(np.broadcast_shapes(*dotted))
    # Labels may be called as those loops are.
    loops |= {f"label {label}": size for label, size in named.items() if size is not None}

    def place(labels: tuple[str, ...], dots: tuple[int, ...]) -> Cells:
        at: list[Coordinate] = []
        for label in labels:
            one = (loop(f"label {label}"),)
            at += broadcast_cells(dots, front).at if label == DOTS else one
        return Cells(tuple(at))

    pins = [f"inputs[{i}]" for i in range(len(inputs))]
    cells = {
        pin: place(labels, dots) for pin, (_, labels), dots in zip(pins, pairs, dotted, strict=True)
    }
    cells["output"] = place(read.output, np.broadcast_shapes(*dotted))
    return [AccessMap("sum", tuple(pins), loops, cells)]


@einsum.grad
def _(dy: Value, y: Value, inputs: Any, *, equation: str) -> list[Value]:
    read = _read_equation(equation)
    if len(inputs) == 1:
        return [[_einsum_grad(dy, read.output, (), read.inputs[0], inputs[0])]]
    pairs = ((0, 1), (1, 0))
    return [
        [
            _einsum_grad(
                dy,
                read.output,
                ((conjugate(inputs[j]), read.inputs[j]),),
                read.inputs[i],
                inputs[i],
            )
            for i, j in pairs
        ]
    ]


def _einsum_grad(
    dy: Value,
    output: tuple[str, ...],
    other: tuple[tuple[Value, tuple[str, ...]], ...],
    labels: tuple[str, ...],
    x: Value,
) -> Value:
    """The gradient of the input `x` with these labels, from that of the output and the other input."""
    factors = ((dy, output), *other)
    found = {label for _, each in factors for label in each}
    missing = [label for label in dict.fromkeys(labels) if label not in (*found, DOTS)]
    kept = [label for label in dict.fromkeys(labels) if label in found and label != DOTS]
    dots = [DOTS] if any(DOTS in each for _, each in factors) else []
    d = ops.einsum(
        [value for value, _ in factors], equation=_written([e for _, e in factors], dots + kept)
    )
    if missing:  # labels that x alone has were summed over: its gradient is the same all along them
        d = ops.einsum(
            [d, _ones_along(x, labels, missing)],
            equation=_written([dots + kept, missing], dots + kept + missing),
        )
    if dots:  # x may have been broadcast, or have no such axes at all
        front = dots + kept + missing
        if DOTS in labels:
            like = ops.einsum([x], equation=_written([labels], front))
        else:
            like = ops.einsum([x], equation=_written([labels], kept + missing))
        d = unbroadcast(d, like)
        dots = [DOTS] if DOTS in labels else []
    if tuple(dots + kept + missing) == labels:
        return d
    return ops.einsum([d], equation=_written([dots + kept + missing], labels))


def _ones_along(x: Value, labels: tuple[str, ...], wanted: list[str]) -> Value:
    """Ones in the sizes that these labels have in `x`."""
    sizes = shape_of(x)
    dotted = labels.index(DOTS) if DOTS in labels else len(labels)
    # Axes after the dots are counted from the end, which needs no rank but that of the shape itself.
    axes = [labels.index(label) for label in wanted]
    picked = [a if a < dotted else a - len(labels) for a in axes]
    if isinstance(sizes, np.ndarray):
        return np.ones(sizes[picked], x.dtype)
    rank = ops.size(sizes)
    where = [a if a >= 0 else ops.add_v2(rank, a) for a in picked]
    index = ops.expand_dims(ops.pack(where), -1)
    return ops.broadcast_to(ops.cast(1, DstT=x.dtype), ops.gather_nd(sizes, index))


einsum.case(
    "the product of matrices",
    inputs=[table, column],
    equation="ij,jk->ik",
    out=np.array([[19.0], [-3]]),
)
einsum.case("the trace", inputs=[table], equation="ii->", out=np.array(3.0))
einsum.case("the diagonal", inputs=[table], equation="ii->i", out=np.array([3.0, 0]))
einsum.case(
    "a diagonal matrix",
    inputs=[np.array([1.0, 2])],
    equation="i->ii",
    out=np.array([[1.0, 0], [0, 2]]),
)
einsum.case(
    "axes without labels broadcast",
    inputs=[np.array([[[1.0], [2]]]), np.array([[1.0], [10], [100]])],
    equation="i...j,...->j...i",
    out=np.array([[[[1.0], [2]], [[10], [20]], [[100], [200]]]]),
)
einsum.case(
    "labels of one input only are summed",
    inputs=[np.array([[1.0, 2], [3, 4]]), np.array([1.0, 10])],
    equation="ij,k->k",
    out=np.array([10.0, 100]),
)
einsum.case(
    "no labels at all", inputs=[np.array(2.0), np.array(3.0)], equation=",->", out=np.array(6.0)
)
einsum.case("a sum of nothing is 0", inputs=[np.zeros((2, 0))], equation="ij->i", out=np.zeros(2))
einsum.fails("no arrow", inputs=[table, column], equation="ij,jk", error="must have one ->")
einsum.fails("no letter", inputs=[table], equation="i1->i", error="labels must be letters")
einsum.fails("dots twice", inputs=[table], equation="......->...", error="at most once")
einsum.fails("a new label", inputs=[table], equation="ij->ijk", error="that no input has, k")
einsum.fails("dots that end", inputs=[table], equation="i...->i", error="must have ... as well")
einsum.fails("three at once", inputs=[table] * 3, equation="ij,jk,kl->il", error="one or two")
einsum.fails("another rank", inputs=[table], equation="i->i", error="must have 1 dimensions")
einsum.fails(
    "two sizes", inputs=[np.zeros((2, 1)), np.zeros((3, 4))], equation="ij,jk->ik", error="one size"
)
einsum.differs(
    "labels",
    tensorflow="Every byte is a label, and a label that only the result has is dropped: i->ij gives a "
    "vector.",
    ours="Labels are letters, and the result has none of its own.",
)
einsum.differs(
    "half sums",
    at="half",
    tensorflow="Sums of half types are kept in the half type, and products are rounded to it.",
    ours="They are computed in float32 and rounded once.",
)
for _each in (mat_mul, batch_mat_mul, batch_mat_mul_v2, batch_mat_mul_v3):
    _each.differs(
        "rounding of half types",
        at="half",
        tensorflow="Sums of bfloat16 are cut off to bfloat16: 10300 becomes 10240.",
        ours="They are rounded to the nearest: 10300 becomes 10304.",
        agree="Allow a unit in the last place.",
    )
for _each, _missing in (
    (mat_mul, "No product of unsigned types"),
    (batch_mat_mul, "No product of int8, int16 and unsigned types"),
    (batch_mat_mul_v2, "No product of int8 and unsigned types"),
    (einsum, "No product of int8, int16 and unsigned types"),
):
    _each.differs(
        "types",
        tensorflow=f"{_missing} on the CPU.",
        ours="Every type of numbers; whole ones that have no room in the type go round.",
    )
batch_mat_mul_v3.differs(
    "types",
    tensorflow="On the CPU both inputs and the result have one type, or are int8 and uint8 with a "
    "result of int32. There are no unsigned types but uint8.",
    ours="Every type of numbers, of either input and of the result.",
)
