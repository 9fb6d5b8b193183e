"""The L2 loss: half the sum of squares."""

from typing import Any

import numpy as np

from backblocks import ops
from backblocks.dtypes import FLOATS, wide
from backblocks.ops._access_maps import AccessMap, Cells, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Spec


@op("L2Loss", "T -> output: T", aliases=("weight decay", "half sum of squares"), T=FLOATS)
def l2_loss(t: Array) -> Any:
    """Half the sum of squares of all cells.

    output = (Σ over all cells of t²) / 2
    """
    return np.square(t, dtype=wide(t.dtype)).sum() / 2


@l2_loss.shape
def _(t: Spec) -> Shape:
    return ()


@l2_loss.cells
def _(y: Spec, t: Spec) -> list[AccessMap]:
    loops, at = over(t.sizes)
    return [AccessMap("apply", ("t",), loops, {"t": Cells(at), "output": Cells(())})]


@l2_loss.grad
def _(dy: Value, y: Value, t: Value) -> list[Value]:
    return [ops.mul(t, dy)]


l2_loss.case("3, 4 and 5", t=np.array([[3.0], [4.0]]), out=np.array(12.5))
l2_loss.case("nothing", t=np.zeros((0, 3)), out=np.array(0.0))
l2_loss.case("one number", t=np.array(-4.0), out=np.array(8.0))
l2_loss.fails("whole numbers", t=np.array([1, 2]), error="must be bfloat16 or float16")
l2_loss.differs(
    "squares of half types",
    tensorflow="Squares are rounded to the type of t: one of 300 is infinite in float16.",
    ours="They are kept in float32; only the result is rounded.",
    agree="Use float32.",
)
