"""Queues: elements that some blocks put in and others take out, first in, first out.

An element is one or more tensors, the components. A queue never waits. Where TensorFlow would, for an
element that is not there yet or for room, the op is refused: in a run every block is done in its turn,
so nobody would ever come.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import BY_NAME, NAMES, VALUES, DType
from backblocks.errors import OpError, described
from backblocks.ops._handles import State, declared, handle, state_in
from backblocks.ops._inputs import Array
from backblocks.ops._memory import BYTES_OF_ARRAY, retained_bytes
from backblocks.ops._op import op, zero_gradient
from backblocks.ops._spec import Shape, Spec, agreed, is_known, scalar_value, shape_text
from backblocks.ops.attrs import Flag, Int, Shapes, Text, dtypes_of

ComponentTypes = Annotated[tuple[Any, ...], dtypes_of(*VALUES)]

Element = tuple[Array, ...]


class Queue(State):
    """Elements in the order in which they came."""

    kind = "queue"

    def __init__(self, types: Sequence[DType], shapes: Sequence[Shape], capacity: int) -> None:
        self.types, self.capacity, self.closed = tuple(types), capacity, False
        self.shapes = tuple(shapes) or (None,) * len(self.types)
        self.elements: deque[Element] = deque()
        self.sizes: deque[int] = deque()
        """The bytes of each element."""

    def copy(self) -> "Queue":
        other = Queue(self.types, self.shapes, self.capacity)
        other.elements, other.closed = self.elements.copy(), self.closed
        other.sizes, other.nbytes = self.sizes.copy(), self.nbytes
        return other

    def __repr__(self) -> str:
        types = ", ".join(NAMES[dtype] for dtype in self.types)
        shown = [_element_text(element) for element in list(self.elements)[:4]]
        more = [f"{len(self.elements)} elements in all"] if len(self.elements) > 4 else []
        closed = ", closed" if self.closed else ""
        return f"<queue of {types}{closed}: {', '.join(shown + more) or 'empty'}>"

    def put(self, elements: Iterable[Element], count: int, size: int) -> None:
        """Takes `count` elements of `size` bytes in all."""
        if self.closed:
            raise OpError(
                "must be a queue that is open",
                arg="handle",
                got=described(repr(self)),
                hint="Put elements in before QueueCloseV2 runs.",
            )
        room = self.capacity - len(self.elements)
        if self.capacity >= 0 and room < count:
            raise OpError(
                f"must be a queue with room for {count} more",
                arg="handle",
                got=described(f"{len(self.elements)} elements of at most {self.capacity}"),
                hint="Take elements out first, or raise the queue's capacity.",
            )
        self.grow(size)
        self.sizes.extend([size // max(count, 1)] * count)
        self.elements.extend(tuple(map(np.array, element)) for element in elements)

    def take(self, count: int) -> list[Element]:
        if len(self.elements) < count:
            raise OpError(
                f"must be a queue of at least {count} {'elements' if count > 1 else 'element'}",
                arg="handle",
                got=described(repr(self)),
                hint="It is closed: nothing comes any more."
                if self.closed
                else "Put elements in first: no block waits for them.",
            )
        taken = [self.elements.popleft() for _ in range(count)]
        self.grow(-sum(self.sizes.popleft() for _ in range(count)))
        return taken

    def stacked(self, elements: Sequence[Element]) -> Element:
        """Each component of all elements, along a new first axis."""
        columns = []
        for i, (dtype, shape) in enumerate(zip(self.types, self.shapes, strict=True)):
            column = np.empty((len(elements), *(n or 0 for n in shape or ())), dtype)
            for j, element in enumerate(elements):
                column[j, ...] = element[i]  # a text is put in, not its array
            columns.append(column)
        return tuple(columns)


def _element_text(element: Element) -> str:
    cells = [str(x.tolist()) if x.size <= 8 else shape_text(x.shape) for x in element]
    return cells[0] if len(cells) == 1 else f"({', '.join(cells)})"


# -- making one -----------------------------------------------------------------------------------


@op("FIFOQueueV2", "-> handle: resource", aliases=("queue",), holds=True, stateful=True)
def fifo_queue_v2(
    *,
    component_types: ComponentTypes,
    shapes: Shapes = (),
    capacity: Int = -1,
    container: Text = "",
    shared_name: Text = "",
) -> Array:
    """A queue whose elements come out in the order in which they went in.

    An element has a tensor of each of `component_types`, of the shape in `shapes` where that is given.
    It holds up to `capacity` elements, and any number if that is negative. A session keeps it from one
    run to the next.
    """
    return handle(Queue(component_types, shapes, capacity))


@fifo_queue_v2.shape
def _(*, component_types: Sequence[DType], shapes: Sequence[Shape], **rest: Any) -> Shape:
    if len(shapes) not in (0, len(component_types)):
        raise OpError(
            f"must have a shape for each of the {len(component_types)} component_types, or none",
            arg="shapes",
            got=described(f"{len(shapes)} shapes"),
            hint="Write one shape for each type.",
        )
    for shape in shapes:
        if not is_known(shape):
            raise OpError(
                "must have all their sizes",
                arg="shapes",
                got=described(shape_text(shape)),
                hint="Leave shapes out if elements differ in size.",
            )
    return ()


fifo_queue_v2.static_value(fifo_queue_v2.reference)
fifo_queue_v2.in_use(
    "It gives a handle, which shows in what others put in and take out.",
    """
    >>> queue = bb.ops.fifo_queue_v2(component_types=["float32"])
    >>> bb.ops.queue_enqueue_many_v2(queue, [[1.0, 2.0, 3.0]])
    >>> bb.ops.queue_dequeue_v2(queue, component_types=["float32"])
    [array(1., dtype=float32)]
    >>> bb.ops.queue_size_v2(queue)
    array(2, dtype=int32)
    """,
)
fifo_queue_v2.fails(
    "two shapes for one type",
    component_types=["float32"],
    shapes=[[2], [3]],
    error="a shape for each of the 1 component_types",
)
fifo_queue_v2.fails(
    "a size left open", component_types=["float32"], shapes=[[None]], error="all their sizes"
)
fifo_queue_v2.fails("no components", component_types=[], error="at least one element type")
fifo_queue_v2.fails("no list", component_types="float32", error="at least one element type")
fifo_queue_v2.differs(
    "shared names",
    tensorflow="Queues of one `shared_name` are one queue, in all sessions of a process.",
    ours="Every block, and every call on arrays, has a queue of its own; the two names say nothing.",
    agree="Wire the blocks to one queue.",
)


def _queue(
    types: Sequence[str],
    *elements: Sequence[Any],
    shapes: Sequence[Shape] = (),
    capacity: int = -1,
    closed: bool = False,
) -> Array:
    """A queue for worked cases."""
    dtypes = [BY_NAME[name] for name in types]
    queue = Queue(dtypes, shapes, capacity)
    for element in elements:
        queue.put([tuple(map(np.asarray, element, dtypes))], 1, 0)
    queue.closed = closed
    return handle(queue)


# -- putting in -----------------------------------------------------------------------------------


def _check_components(components: Sequence[Spec], queue: Queue | None, lead: Shape) -> None:
    """Refuses what is no element of the queue; `lead` are sizes before those of an element."""
    if queue is None:
        return
    if len(components) != len(queue.types):
        raise OpError(
            f"must be the {len(queue.types)} of the queue's elements",
            arg="components",
            got=described(f"{len(components)} tensors"),
            hint="Give one tensor for each of the queue's component_types.",
        )
    for spec, dtype, shape in zip(components, queue.types, queue.shapes, strict=True):
        if spec.dtype != dtype:
            raise OpError(
                f"must have the types of the queue, here {NAMES[dtype]}",
                arg="components",
                got=described(NAMES[spec.dtype]),
                hint=f"Convert it: x.astype({NAMES[dtype]!r}).",
            )
        if shape is not None:
            wanted = (*(lead or ()), *shape)
            agreed("components", spec, wanted, "the shape of the queue", "Reshape it first.")


def _check_timeout(timeout_ms: int) -> None:
    if timeout_ms != -1:
        hint = "Leave it out: no block waits."
        raise OpError("must be -1", arg="timeout_ms", got=timeout_ms, hint=hint)


@op(
    "QueueEnqueueV2",
    "resource, Tcomponents** ->",
    writes=("handle",),
    fills=True,
    stateful=True,
    Tcomponents=VALUES,
)
def queue_enqueue_v2(handle: Array, components: Element, *, timeout_ms: Int = -1) -> None:
    """Puts one element into a queue: a tensor for each component."""
    state_in(handle).put([components], 1, sum(map(retained_bytes, components)))


@queue_enqueue_v2.shape
def _(handle: Spec, components: Sequence[Spec], *, timeout_ms: int) -> None:
    _check_timeout(timeout_ms)
    _check_components(components, declared("handle", handle, Queue), ())


queue_enqueue_v2.case(
    "behind those that are there",
    handle=_queue(["float32", "string"], ([1.0, 2], b"a")),
    components=[np.array([3.0], np.float32), b"b"],
    out=(),
    leaves={"handle": "<queue of float32, string: ([1.0, 2.0], b'a'), ([3.0], b'b')>"},
)
queue_enqueue_v2.case(
    "the last that there is room for",
    handle=_queue(["int32"], [1], shapes=[()], capacity=2),
    components=[np.int32(7)],
    out=(),
    leaves={"handle": "<queue of int32: 1, 7>"},
)
queue_enqueue_v2.fails(
    "a full queue",
    handle=_queue(["int32"], [1], capacity=1),
    components=[np.int32(7)],
    error="room for 1 more; got 1 elements of at most 1",
)
queue_enqueue_v2.fails(
    "a closed queue", handle=_queue(["int32"], closed=True), components=[1], error="is open"
)
queue_enqueue_v2.fails(
    "another type", handle=_queue(["int32"]), components=[1.5], error="here int32; got float32"
)
queue_enqueue_v2.fails(
    "another shape",
    handle=_queue(["float32"], shapes=[(2,)]),
    components=[[1.0, 2, 3]],
    error="the shape of the queue",
)
queue_enqueue_v2.fails(
    "too many", handle=_queue(["float32"]), components=[1.0, 2.0], error="the 1 of the queue"
)
queue_enqueue_v2.fails("no queue", handle=3.0, components=[1.0], error="must fit in resource")
queue_enqueue_v2.fails(
    "numbers for a queue", handle=np.zeros(2), components=[1.0], error="must be resource"
)
queue_enqueue_v2.fails(
    "a time limit", handle=_queue(["float32"]), components=[1.0], timeout_ms=5, error="must be -1"
)


@op(
    "QueueEnqueueManyV2",
    "resource, Tcomponents** ->",
    writes=("handle",),
    fills=True,
    stateful=True,
    Tcomponents=VALUES,
)
def queue_enqueue_many_v2(handle: Array, components: Element, *, timeout_ms: Int = -1) -> None:
    """Puts elements into a queue: the slices of the components along their first axis.

    All of them go in, or none does.
    """
    count = len(components[0])
    size = sum(retained_bytes(each) + count * BYTES_OF_ARRAY for each in components)
    state_in(handle).put(zip(*components, strict=True), count, size)


@queue_enqueue_many_v2.shape
def _(handle: Spec, components: Sequence[Spec], *, timeout_ms: int) -> None:
    _check_timeout(timeout_ms)
    counts = set()
    for spec in components:
        if spec.shape == ():
            raise OpError(
                "must have at least 1 dimension, along which the elements lie",
                arg="components",
                got=described("a scalar"),
                hint="Use QueueEnqueueV2 for a single element.",
            )
        counts.add(spec.shape[0] if spec.shape else None)
    if len(counts - {None}) > 1:
        raise OpError(
            "must all have the same first size, the number of elements",
            arg="components",
            got=sorted(counts - {None}),
            hint="Cut them to one length.",
        )
    count = next(iter(counts - {None}), None)
    _check_components(components, declared("handle", handle, Queue), (count,))


queue_enqueue_many_v2.case(
    "two at once",
    handle=_queue(["float32", "string"], (1.0, b"a")),
    components=[np.array([2.0, 3], np.float32), [b"b", b"c"]],
    out=(),
    leaves={"handle": "<queue of float32, string: (1.0, b'a'), (2.0, b'b'), (3.0, b'c')>"},
)
queue_enqueue_many_v2.case(
    "none",
    handle=_queue(["float32"], shapes=[(2,)]),
    components=[np.zeros((0, 2), np.float32)],
    out=(),
    leaves={"handle": "<queue of float32: empty>"},
)
queue_enqueue_many_v2.fails(
    "room for one of two",
    handle=_queue(["float32"], [1.0], capacity=2),
    components=[[1.0, 2]],
    error="room for 2 more",
)
queue_enqueue_many_v2.fails(
    "two lengths",
    handle=_queue(["float32", "float32"]),
    components=[[1.0, 2], [1.0]],
    error="the same first size",
)
queue_enqueue_many_v2.fails(
    "one number", handle=_queue(["float32"]), components=[1.0], error="at least 1 dimension"
)
queue_enqueue_many_v2.fails(
    "another shape",
    handle=_queue(["float32"], shapes=[()]),
    components=[np.zeros((2, 2), np.float32)],
    error="the shape of the queue",
)


# -- taking out -----------------------------------------------------------------------------------


def _component_shapes(
    spec: Spec, types: Sequence[DType], timeout_ms: int, many: bool
) -> Sequence[Shape]:
    """The shape of each component of an element; None where the queue does not say."""
    _check_timeout(timeout_ms)
    queue = declared("handle", spec, Queue)
    if queue is None:
        return (None,) * len(types)
    if tuple(types) != queue.types:
        raise OpError(
            f"must be those of the queue, {', '.join(NAMES[d] for d in queue.types)}",
            arg="component_types",
            got=described(", ".join(NAMES[d] for d in types)),
            hint="Write the queue's component_types.",
        )
    if many and None in queue.shapes:
        raise OpError(
            "must be a queue whose elements all have one shape",
            arg="handle",
            got=described(repr(queue)),
            hint="Give the queue `shapes`, or take elements one by one with QueueDequeueV2.",
        )
    return queue.shapes


def _count(n: Spec) -> int | None:
    count: int | None = scalar_value("n", n)
    if count is not None and count < 0:
        raise OpError("must not be negative", arg="n", got=count, hint="Ask for 0 or more.")
    return count


@op(
    "QueueDequeueV2",
    "resource -> components: component_types**",
    writes=("handle",),
    stateful=True,
    data_dependent_shape=True,
)
def queue_dequeue_v2(
    handle: Array, *, component_types: ComponentTypes, timeout_ms: Int = -1
) -> Element:
    """Takes the next element out of a queue."""
    (element,) = state_in(handle).take(1)
    return tuple(x.copy() for x in element)


@queue_dequeue_v2.shape
def _(handle: Spec, *, component_types: Sequence[DType], timeout_ms: int) -> Sequence[Shape]:
    return _component_shapes(handle, component_types, timeout_ms, many=False)


queue_dequeue_v2.case(
    "the first of two",
    handle=_queue(["float32", "string"], ([1.0, 2], b"a"), ([3.0], b"b")),
    component_types=["float32", "string"],
    out=(np.array([1.0, 2]), np.array(b"a", object)),
    leaves={"handle": "<queue of float32, string: ([3.0], b'b')>"},
)
queue_dequeue_v2.case(
    "the last of a closed queue",
    handle=_queue(["int64"], [5], shapes=[()], closed=True),
    component_types=["int64"],
    out=(np.array(5),),
    leaves={"handle": "<queue of int64, closed: empty>"},
)
queue_dequeue_v2.fails(
    "an empty queue",
    handle=_queue(["float32"]),
    component_types=["float32"],
    error="at least 1 element; got <queue of float32: empty>",
)
queue_dequeue_v2.fails(
    "a closed and empty queue",
    handle=_queue(["float32"], closed=True),
    component_types=["float32"],
    error="nothing comes any more",
)
queue_dequeue_v2.fails(
    "other types",
    handle=_queue(["float32"], [1.0]),
    component_types=["int32"],
    error="those of the queue, float32; got int32",
)


@op(
    "QueueDequeueManyV2",
    "resource, int32 -> components: component_types**",
    writes=("handle",),
    stateful=True,
)
def queue_dequeue_many_v2(
    handle: Array, n: Array, *, component_types: ComponentTypes, timeout_ms: Int = -1
) -> Element:
    """Takes the next `n` elements out of a queue, stacked along a new first axis."""
    queue = state_in(handle)
    return queue.stacked(queue.take(n.item()))  # type: ignore[no-any-return]


@queue_dequeue_many_v2.shape
def _(
    handle: Spec, n: Spec, *, component_types: Sequence[DType], timeout_ms: int
) -> Sequence[Shape]:
    count = _count(n)
    shapes = _component_shapes(handle, component_types, timeout_ms, many=True)
    return [None if shape is None else (count, *shape) for shape in shapes]


_PAIRS = _queue(
    ["float32", "string"], ([1.0, 2], b"a"), ([3.0, 4], b"b"), ([5.0, 6], b"c"), shapes=[(2,), ()]
)
_TYPES = ["float32", "string"]
queue_dequeue_many_v2.case(
    "two of three",
    handle=_PAIRS,
    n=2,
    component_types=_TYPES,
    out=(np.array([[1.0, 2], [3, 4]]), np.array([b"a", b"b"], object)),
    leaves={"handle": "<queue of float32, string: ([5.0, 6.0], b'c')>"},
)
queue_dequeue_many_v2.case(
    "none",
    handle=_PAIRS,
    n=0,
    component_types=_TYPES,
    out=(np.zeros((0, 2)), np.zeros(0, object)),
)
queue_dequeue_many_v2.fails(
    "more than there are",
    handle=_PAIRS,
    n=4,
    component_types=_TYPES,
    error="at least 4 elements",
)
queue_dequeue_many_v2.fails(
    "less than none", handle=_PAIRS, n=-1, component_types=_TYPES, error="not be negative"
)
queue_dequeue_many_v2.fails(
    "elements of any shape",
    handle=_queue(["float32"], [1.0]),
    n=1,
    component_types=["float32"],
    error="all have one shape",
)


@op(
    "QueueDequeueUpToV2",
    "resource, int32 -> components: component_types**",
    writes=("handle",),
    stateful=True,
    data_dependent_shape=True,
)
def queue_dequeue_up_to_v2(
    handle: Array, n: Array, *, component_types: ComponentTypes, timeout_ms: Int = -1
) -> Element:
    """Takes the next `n` elements out of a queue, or those that are left when it is closed."""
    queue = state_in(handle)
    count, left = n.item(), len(queue.elements)
    return queue.stacked(  # type: ignore[no-any-return]
        queue.take(min(count, left) if queue.closed and left else count)
    )


@queue_dequeue_up_to_v2.shape
def _(
    handle: Spec, n: Spec, *, component_types: Sequence[DType], timeout_ms: int
) -> Sequence[Shape]:
    _count(n)
    shapes = _component_shapes(handle, component_types, timeout_ms, many=True)
    return [None if shape is None else (None, *shape) for shape in shapes]


queue_dequeue_up_to_v2.case(
    "as many as are left",
    handle=_queue(["float32"], [1.0], [2.0], shapes=[()], closed=True),
    n=5,
    component_types=["float32"],
    out=(np.array([1.0, 2]),),
    leaves={"handle": "<queue of float32, closed: empty>"},
)
queue_dequeue_up_to_v2.case(
    "one of two",
    handle=_queue(["float32"], [1.0], [2.0], shapes=[()]),
    n=1,
    component_types=["float32"],
    out=(np.array([1.0]),),
    leaves={"handle": "<queue of float32: 2.0>"},
)
queue_dequeue_up_to_v2.fails(
    "more than an open queue has",
    handle=_PAIRS,
    n=4,
    component_types=_TYPES,
    error="at least 4 elements",
)
queue_dequeue_up_to_v2.fails(
    "nothing left",
    handle=_queue(["float32"], shapes=[()], closed=True),
    n=1,
    component_types=["float32"],
    error="nothing comes any more",
)


# -- asking and closing ---------------------------------------------------------------------------


def _one_queue(handle: Spec) -> Shape:
    declared("handle", handle, Queue)
    return ()


@op("QueueSizeV2", "resource -> size: int32", stateful=True)
def queue_size_v2(handle: Array) -> int:
    """How many elements a queue holds."""
    return len(state_in(handle).elements)


@op("QueueIsClosedV2", "resource -> is_closed: bool", stateful=True)
def queue_is_closed_v2(handle: Array) -> bool:
    """Whether a queue was closed."""
    return bool(state_in(handle).closed)


queue_size_v2.shape(_one_queue)
queue_is_closed_v2.shape(_one_queue)
queue_size_v2.case("two", handle=_queue(["float32"], [1.0], [2.0]), out=np.array(2))
queue_size_v2.case("none", handle=_queue(["float32"]), out=np.array(0))
queue_is_closed_v2.case("open", handle=_queue(["float32"]), out=np.array(False))
queue_is_closed_v2.case("closed", handle=_queue(["float32"], closed=True), out=np.array(True))


@op("QueueCloseV2", "resource ->", writes=("handle",), stateful=True)
def queue_close_v2(handle: Array, *, cancel_pending_enqueues: Flag = False) -> None:
    """Closes a queue: nothing more goes in, and what is in can be taken out.

    `cancel_pending_enqueues` says nothing here: none is ever pending.
    """
    queue = state_in(handle)
    if queue.closed and not cancel_pending_enqueues:
        raise OpError(
            "must be a queue that is open",
            arg="handle",
            got=described(repr(queue)),
            hint="Close it once.",
        )
    queue.closed = True


@queue_close_v2.shape
def _(handle: Spec, *, cancel_pending_enqueues: bool) -> None:
    declared("handle", handle, Queue)


queue_close_v2.case(
    "with an element in it",
    handle=_queue(["float32"], [1.0]),
    out=(),
    leaves={"handle": "<queue of float32, closed: 1.0>"},
)
queue_close_v2.fails("twice", handle=_queue(["float32"], closed=True), error="is open")
queue_close_v2.fails("a number", handle=1, error="must fit in resource")
queue_size_v2.fails("a number", handle=1, error="must fit in resource")
queue_is_closed_v2.fails(
    "two handles", handle=np.stack([_queue(["int32"]), _queue(["int32"])]), error="be one handle"
)

for _each in (
    *(fifo_queue_v2, queue_enqueue_v2, queue_enqueue_many_v2, queue_dequeue_v2),
    *(queue_dequeue_many_v2, queue_dequeue_up_to_v2, queue_size_v2, queue_is_closed_v2),
    queue_close_v2,
):
    _each.grad(zero_gradient)

for _each, _what in (
    (queue_enqueue_v2, "room for the element"),
    (queue_enqueue_many_v2, "room for all elements"),
    (queue_dequeue_v2, "an element"),
    (queue_dequeue_many_v2, "n elements"),
    (queue_dequeue_up_to_v2, "n elements, or for the queue to be closed"),
):
    _each.differs(
        "waiting",
        tensorflow=f"Waits for {_what}, for ever if nobody brings it about.",
        ours="Refuses the call and says why. In a run, blocks that put in come before those that take out.",
    )
