"""Switch and Merge: one of two branches is taken, and the blocks of the other do not run."""

from collections.abc import Sequence

import numpy as np

from backblocks import ops
from backblocks.dtypes import ALL_BUT_RESOURCE, VALUES
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec, scalar_value


@op(
    "Switch",
    "T, bool -> output_false: T, output_true: T",
    aliases=("branch", "if"),
    fed=True,
    T=VALUES,
)
def switch(data: Array, pred: Array) -> tuple[Array, Array]:
    """Hands `data` to `output_true` if `pred` holds, else to `output_false`; the other one is dead.

    output_false = data if not pred else dead
    output_true = data if pred else dead

    In a session blocks that need a dead value are dead too and do not run, up to a Merge. What a branch
    needs from outside should come through a Switch, so that its gradient can flow back.
    """
    raise OpError(
        "has two outputs only in a session, where one of them can be dead",
        arg="pred",
        got=bool(pred),
        hint="Run it with bb.Session; use SelectV2 to choose between arrays.",
    )


@switch.shape
def _(data: Spec, pred: Spec) -> tuple[Shape, Shape]:
    scalar_value("pred", pred)
    return data.shape, data.shape


@switch.grad
def _(dy: Value, y: Value, data: Value, pred: Value) -> list[Value]:
    # What comes back may be alive on both ways, so it goes through a Switch of its own.
    back = (
        switch(ops.zeros_like(out) if d is None else d, pred)[way]
        for way, (d, out) in enumerate(zip(dy, y, strict=True))
    )
    return [merge(list(back)).output, None]


switch.in_use(
    "Only in a session can one of its outputs be dead.",
    """
    >>> x = bb.placeholder([])
    >>> small, large = bb.ops.switch(x, x > 10)
    >>> y = bb.ops.merge([bb.ops.neg(small), large]).output
    >>> session = bb.Session()
    >>> session.run(y, {x: 3})
    array(-3., dtype=float32)
    >>> session.run(y, {x: 30})
    array(30., dtype=float32)
    """,
)
switch.fails("outside a session", data=[1.0, 2], pred=True, error="only in a session")
switch.fails("two conditions", data=[1.0, 2], pred=[True, False], error="must be a scalar")
switch.differs(
    "eager calls",
    tensorflow="Called on arrays it gives an empty list for the output that is dead.",
    ours="It is refused: outside a session nothing can be dead.",
)


@op(
    "Merge",
    "T* -> output: T, value_index: int32",
    aliases=("join branches",),
    data_dependent_shape=True,
    T=ALL_BUT_RESOURCE,
)
def merge(inputs: Sequence[Array]) -> tuple[Array, Array]:
    """The input that is alive, and its number. Of several it is the first; of none both are dead.

    output = inputs[value_index]
    value_index = the first m whose inputs[m] is alive
    """
    return inputs[0], np.array(0, np.int32)


@merge.shape
def _(inputs: Sequence[Spec]) -> tuple[Shape, Shape]:
    if not inputs:
        got, hint = described("an empty list"), "Wire the ends of the branches to it."
        raise OpError("must have at least 1 tensor", arg="inputs", got=got, hint=hint)
    shapes = [spec.shape for spec in inputs]
    first = shapes[0]
    if first is None or any(shape is None or len(shape) != len(first) for shape in shapes):
        return None, ()
    sizes = zip(*(shape for shape in shapes if shape is not None), strict=True)
    return tuple(each[0] if len(set(each)) == 1 else None for each in sizes), ()


@merge.grad
def _(dy: Value, y: Value, inputs: Sequence[Value]) -> list[Value]:
    taken = (ops.equal(y.value_index, i) for i in range(len(inputs)))
    return [[switch(dy.output, each).output_true for each in taken]]


merge.case("one alone", inputs=[np.array([1.0, 2])], out=(np.array([1.0, 2]), np.array(0)))
merge.case(
    "all are alive", inputs=[np.zeros((0, 2)), np.ones(3)], out=(np.zeros((0, 2)), np.array(0))
)
merge.fails("nothing", inputs=[], error="at least 1")


@op("NoOp", "->")
def no_op() -> None:
    """Does nothing. As a target it stands for the blocks that it runs after."""


@op("ControlTrigger", "->")
def control_trigger() -> None:
    """Does nothing, as NoOp. It stands for the blocks that it runs after."""


for _each in (no_op, control_trigger):
    _each.shape(lambda: None)
    _each.no_gradient("It has no inputs.")
    _each.case("nothing", out=())
    _each.in_use(
        "It gives nothing, and shows only in a session by what runs before it.",
        f"""
        >>> with bb.Scope() as page:
        ...     w, b = bb.variable(1.0, name="w"), bb.variable(2.0, name="b")
        ...     with page.running_after(bb.ops.assign_add(w, 10.0), bb.ops.assign_add(b, 10.0)):
        ...         both = bb.ops.{_each.snake_name}()
        >>> session = bb.Session(page)
        >>> session.run([], targets=[both])
        []
        >>> session.value("w"), session.value("b")
        (array(11., dtype=float32), array(12., dtype=float32))
        """,
    )
