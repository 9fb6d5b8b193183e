"""Tensor arrays: rows of tensors that are written and read one by one.

A tensor array lives for one run. It is written and read in the order in which its `flow` goes from block
to block: the number in it says nothing, the wire does. An element is written once. Elements that nobody
has written are zeros where their shape is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import NAMES, VALUES, DType, zeros
from backblocks.errors import OpError, described
from backblocks.ops._handles import State, declared, gradient_call, handle, state_in
from backblocks.ops._inputs import Array
from backblocks.ops._memory import retained_bytes
from backblocks.ops._op import Value, op, zero_gradient
from backblocks.ops._spec import (
    Shape,
    Spec,
    agreed,
    is_known,
    ranked,
    scalar_value,
    shape_text,
)
from backblocks.ops.array.const_and_placeholder import ValueType
from backblocks.ops.attrs import Flag, PartialShape, Text


@dataclass(frozen=True)
class Cell:
    """An element: its value until that is given up, its shape, and whether somebody has read it."""

    shape: tuple[int, ...]
    value: Array | None
    written: bool = True
    read: bool = False


class TensorArray(State):
    """Elements by index. `adds_up` says that what is written to an index twice is added up."""

    kind = "tensor array"

    def __init__(
        self,
        dtype: DType,
        size: int,
        element_shape: Shape = None,
        *,
        grows: bool = False,
        clears: bool = True,
        alike: bool = False,
        adds_up: bool = False,
    ) -> None:
        self.dtype, self.size, self.element_shape = dtype, size, element_shape
        self.grows, self.clears, self.alike, self.adds_up = grows, clears, alike, adds_up
        self.closed = False
        self.cells: dict[int, Cell] = {}
        self.gradients: dict[str, TensorArray] = {}

    def copy(self) -> "TensorArray":
        other = TensorArray(
            self.dtype,
            self.size,
            self.element_shape,
            grows=self.grows,
            clears=self.clears,
            alike=self.alike,
            adds_up=self.adds_up,
        )
        other.closed, other.cells = self.closed, dict(self.cells)
        other.nbytes = self.nbytes
        other.gradients = {source: each.copy() for source, each in self.gradients.items()}
        return other

    def __repr__(self) -> str:
        shown = [f"{i}: {_cell_text(cell)}" for i, cell in sorted(self.cells.items())[:6]]
        closed = ", closed" if self.closed else ""
        what = f"<tensor array of {self.size} {NAMES[self.dtype]}{closed}"
        return f"{what}; {', '.join(shown)}>" if shown else f"{what}>"

    # -- what rules ask -----------------------------------------------------------------

    def check_write(self, index: int, value: Spec, shape: Shape, arg: str = "index") -> None:
        """Refuses to write a tensor of this shape, the whole or a part of `value`, to an index."""
        if index < 0 or (index >= self.size and not self.grows):
            raise OpError(
                f"must lie in [0, {self.size})",
                arg=arg,
                got=index,
                hint="Make the array larger, or let it grow with dynamic_size.",
            )
        if value.dtype != self.dtype:
            raise OpError(
                f"must have the type of the tensor array, {NAMES[self.dtype]}",
                arg="value",
                got=described(NAMES[value.dtype]),
                hint=f"Convert it: x.astype({NAMES[self.dtype]!r}).",
            )
        cell = self.cells.get(index)
        if cell is not None and cell.read:
            hint = "Write every element before it is read."
            raise OpError("must not have been read yet", arg=arg, got=index, hint=hint)
        if cell is not None and cell.written and not self.adds_up:
            hint = "Write every element once."
            raise OpError("must not have been written yet", arg=arg, got=index, hint=hint)
        expected = self.element_shape if cell is None else cell.shape
        spec = Spec(shape, value.dtype)
        agreed("value", spec, expected, "the shape of the array's elements", "Reshape it first.")

    def can_have(self, size: int) -> bool:
        return size == self.size or (self.grows and size > self.size)

    def check_read(self, index: int, arg: str = "index") -> tuple[int, ...]:
        """The shape of an element that can be read."""
        if not 0 <= index < self.size:
            hint = "Read what was written."
            raise OpError(f"must lie in [0, {self.size})", arg=arg, got=index, hint=hint)
        cell = self.cells.get(index)
        if cell is None:
            if not is_known(self.element_shape):
                hint = "Write it first, or give the array an element_shape: then it is zeros."
                raise OpError("must have been written", arg=arg, got=index, hint=hint)
            return self.element_shape  # type: ignore[return-value]
        if cell.read and self.clears:
            hint = "Make the array with clear_after_read=False to read twice."
            raise OpError("must not have been read already", arg=arg, got=index, hint=hint)
        return cell.shape

    # -- what ops do --------------------------------------------------------------------

    def write(self, index: int, value: Array) -> None:
        before = self.cells.get(index)
        if before is not None and before.value is not None:
            value = np.add(before.value, value, dtype=self.dtype)
        else:
            self.grow(retained_bytes(np.asarray(value)))
            value = np.array(value)
        self.size = max(self.size, index + 1)
        self.cells[index] = Cell(value.shape, value)
        if self.alike:
            self.element_shape = value.shape

    def read(self, index: int) -> Array:
        cell = self.cells.get(index)
        shape = tuple(n or 0 for n in self.element_shape or ()) if cell is None else cell.shape
        written = cell is not None and cell.written
        value = None if cell is None else cell.value
        kept = None if self.clears else value
        if kept is None and value is not None:
            self.grow(-retained_bytes(value))
        self.cells[index] = Cell(shape, kept, written, read=True)
        return zeros(shape, self.dtype) if value is None else value.copy()

    def gradient(self, source: str) -> "TensorArray":
        """The array that gradients of its elements are added up in; one for each source."""
        if source not in self.gradients:
            # Gradients of gradients are read once for each of the writes that were added up.
            keeps = self.adds_up or not self.clears
            array = TensorArray(
                self.dtype, self.size, self.element_shape, clears=not keeps, adds_up=True
            )
            array.cells = {i: Cell(c.shape, None, written=False) for i, c in self.cells.items()}
            self.gradients[source] = array
            self.grows = False
        return self.gradients[source]


def _cell_text(cell: Cell) -> str:
    if cell.value is None:
        return "read" if cell.read else f"zeros {shape_text(cell.shape)}"
    text = str(cell.value.tolist()) if cell.value.size <= 8 else shape_text(cell.shape)
    return f"{text} (read)" if cell.read else text


def _array(spec: Spec) -> TensorArray | None:
    """The array a handle stands for, if it is known already; refused if it was closed."""
    array = declared("handle", spec, TensorArray)
    if array is not None and array.closed:
        got, hint = described(repr(array)), "Close it after its last use."
        raise OpError("must be a tensor array that is open", arg="handle", got=got, hint=hint)
    return array


def _check_type(array: TensorArray, dtype: DType) -> None:
    if dtype != array.dtype:
        raise OpError(
            f"must be the type of the tensor array, {NAMES[array.dtype]}",
            arg="dtype",
            got=described(NAMES[dtype]),
            hint=f"Use dtype={NAMES[array.dtype]!r}.",
        )


# -- one element ----------------------------------------------------------------------------------


@op("TensorArrayV3", "int32 -> handle: resource, flow: float32", stateful=True)
def tensor_array_v3(
    size: Array,
    *,
    dtype: ValueType,
    element_shape: PartialShape = None,
    dynamic_size: Flag = False,
    clear_after_read: Flag = True,
    identical_element_shapes: Flag = False,
    tensor_array_name: Text = "",
) -> tuple[Array, Array]:
    """A row of `size` tensors that are not written yet, new in every run.

    With `dynamic_size` it grows when something is written behind its end. With `clear_after_read` an
    element is given up when it is read. `element_shape` is the shape of every element as far as it is
    known; `identical_element_shapes` says that the first that is written decides it.
    """
    array = TensorArray(
        dtype,
        size.item(),
        element_shape,
        grows=dynamic_size,
        clears=clear_after_read,
        alike=identical_element_shapes,
    )
    return handle(array), np.zeros((), np.float32)


@tensor_array_v3.shape
def _(size: Spec, **attrs: Any) -> tuple[Shape, Shape]:
    count = scalar_value("size", size)
    if count is not None and count < 0:
        raise OpError("must not be negative", arg="size", got=count, hint="Use 0 or more.")
    return (), ()


_EMPTY = handle(TensorArray(np.dtype(np.float32), 3))
tensor_array_v3.case(
    "three elements", size=3, dtype="float32", out=("<tensor array of 3 float32>", 0.0)
)
tensor_array_v3.case(
    "none", size=0, dtype="string", dynamic_size=True, out=("<tensor array of 0 string>", 0.0)
)
tensor_array_v3.fails("less than none", size=-1, dtype="float32", error="not be negative")
tensor_array_v3.fails("two sizes", size=[1, 2], dtype="float32", error="a scalar")


def _of(*elements: Any, dtype: Any = np.float32, size: int = 0, **how: Any) -> Array:
    """A tensor array for worked cases; None stands for an element that is not written."""
    array = TensorArray(np.dtype(dtype), max(size, len(elements)), **how)
    for i, element in enumerate(elements):
        if element is not None:
            array.write(i, np.asarray(element, dtype))
    return handle(array)


@op(
    "TensorArrayWriteV3",
    "resource, int32, T, float32 -> flow_out: float32",
    stateful=True,
    T=VALUES,
)
def tensor_array_write_v3(handle: Array, index: Array, value: Array, flow_in: Array) -> Array:
    """Writes an element. What comes after it takes `flow_out` for its flow."""
    state_in(handle).write(index.item(), value)
    return flow_in


@tensor_array_write_v3.shape
def _(handle: Spec, index: Spec, value: Spec, flow_in: Spec) -> Shape:
    array, at = _array(handle), scalar_value("index", index)
    if array is not None and at is not None:
        array.check_write(at, value, value.shape)
    return flow_in.shape


@tensor_array_write_v3.grad
def _(
    dy: Value, y: Value, handle: Value, index: Value, value: Value, flow_in: Value
) -> list[Value]:
    array = ops.tensor_array_grad_v3(handle, dy, source=gradient_call.get())
    dx = ops.tensor_array_read_v3(array.grad_handle, index, array.flow_out, dtype=value.dtype)
    return [None, None, dx, dy]


tensor_array_write_v3.case(
    "an element",
    handle=_of([1.0, 2], size=3),
    index=1,
    value=[3.0],
    flow_in=0.0,
    out=np.array(0.0),
    leaves={"handle": "<tensor array of 3 float32; 0: [1.0, 2.0], 1: [3.0]>"},
)
tensor_array_write_v3.case(
    "behind the end",
    handle=_of(b"a", dtype=object, grows=True),
    index=4,
    value=b"b",
    flow_in=0.0,
    out=np.array(0.0),
    leaves={"handle": "<tensor array of 5 string; 0: b'a', 4: b'b'>"},
)
_WRITE = {"value": np.float32(1), "flow_in": 0.0}
tensor_array_write_v3.fails(
    "twice", handle=_of(1.0), index=0, error="not have been written yet", **_WRITE
)
tensor_array_write_v3.fails("outside", handle=_EMPTY, index=3, error=r"lie in \[0, 3\)", **_WRITE)
tensor_array_write_v3.fails("before", handle=_EMPTY, index=-1, error=r"lie in \[0, 3\)", **_WRITE)
tensor_array_write_v3.fails(
    "another type",
    handle=_EMPTY,
    index=0,
    value=np.int32(1),
    flow_in=0.0,
    error="float32; got int32",
)
tensor_array_write_v3.fails(
    "another shape",
    handle=_of(size=2, element_shape=(2,)),
    index=0,
    error="the shape of the array's elements",
    **_WRITE,
)


@op(
    "TensorArrayReadV3",
    "resource, int32, float32 -> value: dtype",
    stateful=True,
    data_dependent_shape=True,
)
def tensor_array_read_v3(handle: Array, index: Array, flow_in: Array, *, dtype: ValueType) -> Array:
    """Reads an element."""
    return state_in(handle).read(index.item())  # type: ignore[no-any-return]


@tensor_array_read_v3.shape
def _(handle: Spec, index: Spec, flow_in: Spec, *, dtype: DType) -> Shape:
    array, at = _array(handle), scalar_value("index", index)
    if array is None:
        return None
    _check_type(array, dtype)
    return array.element_shape if at is None else array.check_read(at)


@tensor_array_read_v3.grad
def _(
    dy: Value, y: Value, handle: Value, index: Value, flow_in: Value, *, dtype: Any
) -> list[Value]:
    array = ops.tensor_array_grad_v3(handle, flow_in, source=gradient_call.get())
    return [None, None, ops.tensor_array_write_v3(array.grad_handle, index, dy, array.flow_out)]


tensor_array_read_v3.case(
    "once",
    handle=_of([1.0, 2], 5.0),
    index=0,
    flow_in=0.0,
    dtype="float32",
    out=np.array([1.0, 2]),
    leaves={"handle": "<tensor array of 2 float32; 0: read, 1: 5.0>"},
)
tensor_array_read_v3.case(
    "one that nobody wrote",
    handle=_of(size=1, element_shape=(2,), clears=False),
    index=0,
    flow_in=0.0,
    dtype="float32",
    out=np.zeros(2),
    leaves={"handle": "<tensor array of 1 float32; 0: read>"},
)
_READ = {"flow_in": 0.0, "dtype": "float32"}
tensor_array_read_v3.fails(
    "not written", handle=_EMPTY, index=1, error="must have been written", **_READ
)
tensor_array_read_v3.fails("outside", handle=_EMPTY, index=3, error=r"lie in \[0, 3\)", **_READ)
tensor_array_read_v3.fails(
    "another type", handle=_EMPTY, index=0, flow_in=0.0, dtype="int32", error="float32; got int32"
)


def _read_already() -> Array:
    array = TensorArray(np.dtype(np.float32), 1)
    array.write(0, np.zeros((), np.float32))
    array.read(0)
    return handle(array)


tensor_array_read_v3.fails(
    "twice", handle=_read_already(), index=0, error="not have been read already", **_READ
)
tensor_array_write_v3.fails(
    "after a read", handle=_read_already(), index=0, error="not have been read yet", **_WRITE
)


# -- several elements -----------------------------------------------------------------------------


def _indices(spec: Spec) -> list[int] | None:
    ranked("indices", spec, 1)
    return None if spec.value is None else spec.value.tolist()


def _check_once(array: TensorArray, indices: Sequence[int], why: str) -> None:
    if len(set(indices)) < len(indices):
        twice = next(i for i in indices if indices.count(i) > 1)
        raise OpError(f"must differ: {why}", arg="indices", got=twice, hint="Name each once.")


@op(
    "TensorArrayGatherV3",
    "resource, int32, float32 -> value: dtype",
    stateful=True,
    data_dependent_shape=True,
)
def tensor_array_gather_v3(
    handle: Array,
    indices: Array,
    flow_in: Array,
    *,
    dtype: ValueType,
    element_shape: PartialShape = None,
) -> Array:
    """Reads the elements at `indices`, stacked along a new first axis. They must have one shape."""
    array = state_in(handle)
    if not indices.size:
        return np.zeros((0, *(n or 0 for n in element_shape or ())), dtype)
    return np.stack([array.read(i) for i in indices.tolist()])


@tensor_array_gather_v3.shape
def _(handle: Spec, indices: Spec, flow_in: Spec, *, dtype: DType, element_shape: Shape) -> Shape:
    array, where = _array(handle), _indices(indices)
    if array is not None:
        _check_type(array, dtype)
    if where is not None and not where:
        if not is_known(element_shape):
            hint = "Give element_shape: no element tells it."
            got = described(shape_text(element_shape))
            raise OpError("must have all its sizes", arg="element_shape", got=got, hint=hint)
        return (0, *(element_shape or ()))
    count = indices.shape[0] if indices.shape else None
    if array is None or where is None:
        return None if element_shape is None else (count, *element_shape)
    if array.clears:
        _check_once(array, where, "an element is given up when it is read")
    shape = element_shape
    for i in where:
        element = Spec(array.check_read(i, "indices"), dtype)
        why = "the shape of the elements before and of element_shape"
        shape = agreed("indices", element, shape, why, "Gather elements of one shape.")
    return None if shape is None else (count, *shape)


@tensor_array_gather_v3.grad
def _(
    dy: Value, y: Value, handle: Value, indices: Value, flow_in: Value, **attrs: Any
) -> list[Value]:
    array = ops.tensor_array_grad_v3(handle, flow_in, source=gradient_call.get())
    flow = ops.tensor_array_scatter_v3(array.grad_handle, indices, dy, array.flow_out)
    return [None, None, flow]


_ROWS = _of([1.0, 2], [3.0, 4], [5.0, 6])
tensor_array_gather_v3.case(
    "two of three",
    handle=_ROWS,
    indices=[2, 0],
    flow_in=0.0,
    dtype="float32",
    out=np.array([[5.0, 6], [1, 2]]),
    leaves={"handle": "<tensor array of 3 float32; 0: read, 1: [3.0, 4.0], 2: read>"},
)
tensor_array_gather_v3.case(
    "none",
    handle=_ROWS,
    indices=np.zeros(0, np.int32),
    flow_in=0.0,
    dtype="float32",
    element_shape=[2],
    out=np.zeros((0, 2)),
)
tensor_array_gather_v3.case(
    "one twice, as it is kept",
    handle=_of(7, dtype=np.int32, clears=False),
    indices=[0, 0],
    flow_in=0.0,
    dtype="int32",
    out=np.array([7, 7]),
    leaves={"handle": "<tensor array of 1 int32; 0: 7 (read)>"},
)
tensor_array_gather_v3.fails(
    "one twice", handle=_ROWS, indices=[1, 1], error="must differ", **_READ
)
tensor_array_gather_v3.fails(
    "two shapes", handle=_of([1.0], [1.0, 2]), indices=[0, 1], error="elements before", **_READ
)
tensor_array_gather_v3.fails(
    "none of an unknown shape",
    handle=_ROWS,
    indices=np.zeros(0, np.int32),
    error="must have all its sizes",
    **_READ,
)
tensor_array_gather_v3.fails(
    "outside", handle=_ROWS, indices=[0, 3], error=r"lie in \[0, 3\)", **_READ
)
tensor_array_gather_v3.fails("no list", handle=_ROWS, indices=0, error="1 dimension", **_READ)


@op(
    "TensorArrayScatterV3",
    "resource, int32, T, float32 -> flow_out: float32",
    stateful=True,
    T=VALUES,
)
def tensor_array_scatter_v3(handle: Array, indices: Array, value: Array, flow_in: Array) -> Array:
    """Writes the slices of `value` along its first axis to the elements at `indices`."""
    array = state_in(handle)
    for i, element in zip(indices.tolist(), value, strict=True):
        array.write(i, np.asarray(element, value.dtype))
    return flow_in


@tensor_array_scatter_v3.shape
def _(handle: Spec, indices: Spec, value: Spec, flow_in: Spec) -> Shape:
    array, where = _array(handle), _indices(indices)
    if value.shape == ():
        got, hint = described("a scalar"), "Use TensorArrayWriteV3 for one element."
        raise OpError("must have at least 1 dimension", arg="value", got=got, hint=hint)
    sizes = value.shape[0] if value.shape else None, indices.shape[0] if indices.shape else None
    if None not in sizes and sizes[0] != sizes[1]:
        raise OpError(
            f"must have a slice for each of the {sizes[1]} indices",
            arg="value",
            got=described(f"{sizes[0]} slices"),
            hint="Give one index for each slice along the first axis.",
        )
    if array is not None and where is not None:
        if not array.adds_up:
            _check_once(array, where, "an element is written once")
        for i in where:
            rest = None if value.shape is None else value.shape[1:]
            array.check_write(i, value, rest, "indices")
    return flow_in.shape


@tensor_array_scatter_v3.grad
def _(
    dy: Value, y: Value, handle: Value, indices: Value, value: Value, flow_in: Value
) -> list[Value]:
    array = ops.tensor_array_grad_v3(handle, dy, source=gradient_call.get())
    how = {"dtype": value.dtype, "element_shape": value.shape and value.shape[1:]}
    dx = ops.tensor_array_gather_v3(array.grad_handle, indices, array.flow_out, **how)
    return [None, None, dx, dy]


_SLICES = {"value": np.array([[1.0, 2], [3, 4]], np.float32), "flow_in": 0.0}
tensor_array_scatter_v3.case(
    "two rows",
    handle=_EMPTY,
    indices=[2, 0],
    out=np.array(0.0),
    leaves={"handle": "<tensor array of 3 float32; 0: [3.0, 4.0], 2: [1.0, 2.0]>"},
    **_SLICES,
)
tensor_array_scatter_v3.case(
    "none",
    handle=_EMPTY,
    indices=np.zeros(0, np.int32),
    value=np.zeros((0, 2), np.float32),
    flow_in=0.0,
    out=np.array(0.0),
)
tensor_array_scatter_v3.fails(
    "one twice", handle=_EMPTY, indices=[1, 1], error="must differ", **_SLICES
)
tensor_array_scatter_v3.fails(
    "three places", handle=_EMPTY, indices=[0, 1, 2], error="each of the 3 indices", **_SLICES
)
tensor_array_scatter_v3.fails(
    "outside", handle=_EMPTY, indices=[0, 5], error=r"lie in \[0, 3\)", **_SLICES
)
tensor_array_scatter_v3.fails(
    "no rows", handle=_EMPTY, indices=[0], value=1.0, flow_in=0.0, error="at least 1 dimension"
)


# -- all elements, end to end ---------------------------------------------------------------------


@op(
    "TensorArrayConcatV3",
    "resource, float32 -> value: dtype, lengths: int64",
    stateful=True,
    data_dependent_shape=True,
)
def tensor_array_concat_v3(
    handle: Array, flow_in: Array, *, dtype: ValueType, element_shape_except0: PartialShape = None
) -> tuple[Array, Array]:
    """Reads all elements, joined along their first axis, and tells the size of each along it."""
    array = state_in(handle)
    elements = [array.read(i) for i in range(array.size)]
    lengths = np.array([len(element) for element in elements], np.int64)
    if not elements:
        return np.zeros((0, *(n or 0 for n in element_shape_except0 or ())), dtype), lengths
    return np.concatenate(elements), lengths


@tensor_array_concat_v3.shape
def _(
    handle: Spec, flow_in: Spec, *, dtype: DType, element_shape_except0: Shape
) -> tuple[Shape, Shape]:
    array, rest = _array(handle), element_shape_except0
    if array is None:
        return None if rest is None else (None, *rest), (None,)
    _check_type(array, dtype)
    # Elements that nobody wrote are alike, and there may be very many.
    counts = dict.fromkeys(array.cells, 1)
    if len(counts) < array.size:
        first = next(i for i in range(array.size) if i not in counts)
        counts[first] = array.size - len(counts)
    total = 0
    for i, count in sorted(counts.items()):
        shape = array.check_read(i, "handle")
        if not shape:
            raise OpError(
                "must have elements of at least 1 dimension",
                arg="handle",
                got=described(f"a scalar at index {i}"),
                hint="Use TensorArrayGatherV3 for scalars.",
            )
        why = "the shape behind the first axis that the elements before and element_shape_except0 have"
        rest = agreed("handle", Spec(shape[1:], dtype), rest, why, "Join elements of one shape.")
        total += shape[0] * count
    if rest is None or not is_known(rest):
        hint = "Give element_shape_except0: no element tells it."
        got = described(shape_text(rest))
        raise OpError("must have all its sizes", arg="element_shape_except0", got=got, hint=hint)
    return (total, *rest), (array.size,)


@tensor_array_concat_v3.grad
def _(dy: Value, y: Value, handle: Value, flow_in: Value, **attrs: Any) -> list[Value]:
    array = ops.tensor_array_grad_v3(handle, flow_in, source=gradient_call.get())
    flow = ops.tensor_array_split_v3(array.grad_handle, dy.value, y.lengths, array.flow_out)
    return [None, flow]


tensor_array_concat_v3.case(
    "rows of several lengths",
    handle=_of([1.0, 2], [], [3.0]),
    flow_in=0.0,
    dtype="float32",
    out=(np.array([1.0, 2, 3]), np.array([2, 0, 1])),
    leaves={"handle": "<tensor array of 3 float32; 0: read, 1: read, 2: read>"},
)
tensor_array_concat_v3.case(
    "nothing",
    handle=_of(),
    flow_in=0.0,
    dtype="float32",
    element_shape_except0=[2],
    out=(np.zeros((0, 2)), np.zeros(0)),
)
tensor_array_concat_v3.fails("scalars", handle=_of(1.0), error="at least 1 dimension", **_READ)
tensor_array_concat_v3.fails(
    "rows of two widths", handle=_of([[1.0]], [[1.0, 2]]), error="behind the first axis", **_READ
)
tensor_array_concat_v3.fails("nothing", handle=_of(), error="must have all its sizes", **_READ)


@op(
    "TensorArraySplitV3",
    "resource, T, int64, float32 -> flow_out: float32",
    stateful=True,
    T=VALUES,
)
def tensor_array_split_v3(handle: Array, value: Array, lengths: Array, flow_in: Array) -> Array:
    """Writes all elements: pieces of `value` of these lengths along its first axis."""
    array = state_in(handle)
    for i, piece in enumerate(np.split(value, np.cumsum(lengths)[:-1])[: len(lengths)]):
        array.write(i, piece)
    return flow_in


@tensor_array_split_v3.shape
def _(handle: Spec, value: Spec, lengths: Spec, flow_in: Spec) -> Shape:
    array = _array(handle)
    (count,) = ranked("lengths", lengths, 1)
    if value.shape == ():
        got, hint = described("a scalar"), "Use TensorArrayWriteV3 for one element."
        raise OpError("must have at least 1 dimension", arg="value", got=got, hint=hint)
    if array is not None and count is not None and not array.can_have(count):
        raise OpError(
            f"must have one entry for each of the {array.size} elements",
            arg="lengths",
            got=count,
            hint="Make the array of that size.",
        )
    if lengths.value is None or not is_known(value.shape):
        return flow_in.shape
    size, *rest = value.shape or ()
    parts = lengths.value.tolist()
    if any(n < 0 for n in parts) or sum(parts) != size:
        raise OpError(
            f"must be lengths that add up to {size}, the first size of value",
            arg="lengths",
            got=parts,
            hint="Cut all of it into pieces.",
        )
    if array is not None:
        for i, n in enumerate(parts):
            array.check_write(i, value, (n, *rest), "handle")
    return flow_in.shape


@tensor_array_split_v3.grad
def _(
    dy: Value, y: Value, handle: Value, value: Value, lengths: Value, flow_in: Value
) -> list[Value]:
    array = ops.tensor_array_grad_v3(handle, dy, source=gradient_call.get())
    how = {"dtype": value.dtype, "element_shape_except0": value.shape and value.shape[1:]}
    dx = ops.tensor_array_concat_v3(array.grad_handle, array.flow_out, **how).value
    return [None, dx, None, dy]


_FOUR = np.array([1.0, 2, 3, 4], np.float32)
tensor_array_split_v3.case(
    "three pieces",
    handle=_EMPTY,
    value=_FOUR,
    lengths=[1, 0, 3],
    flow_in=0.0,
    out=np.array(0.0),
    leaves={"handle": "<tensor array of 3 float32; 0: [1.0], 1: [], 2: [2.0, 3.0, 4.0]>"},
)
tensor_array_split_v3.case(
    "nothing",
    handle=_of(),
    value=np.zeros((0, 2), np.float32),
    lengths=np.zeros(0, np.int64),
    flow_in=0.0,
    out=np.array(0.0),
)
tensor_array_split_v3.fails(
    "too short", handle=_EMPTY, value=_FOUR, lengths=[1, 0, 2], flow_in=0.0, error="add up to 4"
)
tensor_array_split_v3.fails(
    "a negative length: ends the process in TensorFlow",
    handle=_EMPTY,
    value=_FOUR,
    lengths=[5, -1, 0],
    flow_in=0.0,
    error="add up to 4",
)
tensor_array_split_v3.fails(
    "two pieces for three", handle=_EMPTY, value=_FOUR, lengths=[1, 3], flow_in=0.0,
    error="each of the 3 elements",
)  # fmt: skip


# -- the array itself -----------------------------------------------------------------------------


@op("TensorArraySizeV3", "resource, float32 -> size: int32", stateful=True)
def tensor_array_size_v3(handle: Array, flow_in: Array) -> int:
    """How many elements a tensor array has."""
    return int(state_in(handle).size)


@tensor_array_size_v3.shape
def _(handle: Spec, flow_in: Spec) -> Shape:
    _array(handle)
    return ()


tensor_array_size_v3.case("three", handle=_EMPTY, flow_in=0.0, out=np.array(3))
tensor_array_size_v3.case("none", handle=_of(), flow_in=0.0, out=np.array(0))


@op("TensorArrayCloseV3", "resource ->", stateful=True)
def tensor_array_close_v3(handle: Array) -> None:
    """Gives the elements of a tensor array up before the run is over."""
    array = state_in(handle)
    array.closed = True
    array.cells.clear()


@tensor_array_close_v3.shape
def _(handle: Spec) -> None:
    declared("handle", handle, TensorArray)


_CLOSED = "<tensor array of 1 float32, closed>"
tensor_array_close_v3.case("an element", handle=_of(1.0), out=(), leaves={"handle": _CLOSED})


def _closed() -> Array:
    array = TensorArray(np.dtype(np.float32), 1)
    array.closed = True
    return handle(array)


tensor_array_close_v3.case("twice", handle=_closed(), out=())
tensor_array_size_v3.fails("closed", handle=_closed(), flow_in=0.0, error="that is open")
tensor_array_close_v3.fails("a number", handle=1, error="must fit in resource")


@op(
    "TensorArrayGradV3",
    "resource, float32 -> grad_handle: resource, flow_out: float32",
    stateful=True,
)
def tensor_array_grad_v3(handle_: Array, flow_in: Array, *, source: Text) -> tuple[Array, Array]:
    """The tensor array that gradients of another's elements are added up in.

    It is the same one for every call with the same `source`. An element that nobody writes is zeros. The
    other array grows no more from here on.
    """
    return handle(state_in(handle_).gradient(source)), flow_in


@tensor_array_grad_v3.shape
def _(handle: Spec, flow_in: Spec, *, source: str) -> tuple[Shape, Shape]:
    _array(handle)
    return (), flow_in.shape


tensor_array_grad_v3.case(
    "zeros at first",
    handle=_of([1.0, 2], None),
    flow_in=0.0,
    source="gradients",
    out=("<tensor array of 2 float32; 0: zeros [2]>", 0.0),
)
tensor_array_grad_v3.case(
    "nothing", handle=_of(), flow_in=1.0, source="", out=("<tensor array of 0 float32>", 1.0)
)
tensor_array_grad_v3.fails("closed", handle=_closed(), flow_in=0.0, source="", error="that is open")
tensor_array_grad_v3.differs(
    "second gradient",
    tensorflow="Has no gradient: through a tensor array there is no second one.",
    ours="Hands the gradient of the flow on, so gradients of every order are right.",
)


@tensor_array_grad_v3.grad
def _(dy: Value, y: Value, handle: Value, flow_in: Value, *, source: str) -> list[Value]:
    return [None, dy.flow_out]


for _each in (tensor_array_v3, tensor_array_size_v3, tensor_array_close_v3):
    _each.grad(zero_gradient)
