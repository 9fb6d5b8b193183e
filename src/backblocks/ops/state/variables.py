"""Variables, which a session keeps from one run to the next, and the ops that change them.

On arrays these ops give the new value and change nothing: there is no session to keep it.
"""

from typing import Annotated, Any

import numpy as np

from backblocks.dtypes import NUMBERS, VALUES
from backblocks.errors import OpError
from backblocks.ops._inputs import Array
from backblocks.ops._op import op
from backblocks.ops._spec import Shape, Spec, agreed
from backblocks.ops.attrs import Flag, PartialShape, Text, dtype_of

VariableType = Annotated[Any, dtype_of(*VALUES)]


@op(
    "VariableV2",
    "-> ref: dtype",
    aliases=("variable", "parameter", "weight", "state"),
    holds=True,
    fed=True,
)
def variable_v2(
    *, shape: PartialShape, dtype: VariableType, container: Text = "", shared_name: Text = ""
) -> Array:
    """A value that a session keeps from one run to the next, and that other blocks can change."""
    raise OpError("has no value outside a session", arg="ref", hint="Run it with bb.Session.")


@variable_v2.shape
def _(*, shape: Shape, **rest: Any) -> Shape:
    return shape


variable_v2.in_use(
    "It has a value only in a session, which keeps it.",
    """
    >>> w = bb.variable([1.0, 2.0])
    >>> grow = bb.ops.assign_add(w, [1.0, 1.0])
    >>> session = bb.Session()
    >>> session.run(grow)
    array([2., 3.], dtype=float32)
    >>> session.run(grow)
    array([3., 4.], dtype=float32)
    >>> session.value(w)
    array([3., 4.], dtype=float32)
    """,
)
variable_v2.no_gradient("It is where a gradient ends: ask for the gradient with respect to it.")

_NO_GRADIENT = "It changes a variable. Differentiate what is assigned, not the assignment."


@op(
    "Assign",
    "T, T -> output_ref: T",
    aliases=("set variable", "store"),
    writes=("ref",),
    replaces=True,
    T=VALUES,
)
def assign(
    ref: Array, value: Array, *, validate_shape: Flag = True, use_locking: Flag = True
) -> Array:
    """Gives a variable a new value.

    ref ← value
    """
    return value


@assign.shape
def _(ref: Spec, value: Spec, *, validate_shape: bool, use_locking: bool) -> Shape:
    if not validate_shape:
        return value.shape
    return agreed("value", value, ref.shape, "the shape of the variable", "Reshape it first.")


assign.no_gradient(_NO_GRADIENT)
assign.case("a new value", ref=[1.0, 2], value=[3.0, 4], out=np.array([3.0, 4]))
assign.case(
    "another shape", ref=[1.0], value=[3.0, 4], validate_shape=False, out=np.array([3.0, 4])
)
assign.fails("another shape", ref=[1.0], value=[3.0, 4], error="shape of the variable")


def _same_shape(ref: Spec, value: Spec, *, use_locking: bool) -> Shape:
    return agreed("value", value, ref.shape, "the shape of the variable", "Broadcast it first.")


@op("AssignAdd", "T, T -> output_ref: T", aliases=("increment", "+="), writes=("ref",), T=NUMBERS)
def assign_add(ref: Array, value: Array, *, use_locking: Flag = False) -> Array:
    """Adds to a variable.

    ref ← ref + value
    """
    return ref + value


@op("AssignSub", "T, T -> output_ref: T", writes=("ref",), T=NUMBERS)
def assign_sub(ref: Array, value: Array, *, use_locking: Flag = False) -> Array:
    """Subtracts from a variable.

    ref ← ref - value
    """
    return ref - value


for _each, _sum in ((assign_add, [4.0, 8]), (assign_sub, [-2.0, 2])):
    _each.shape(_same_shape)
    _each.no_gradient(_NO_GRADIENT)
    _each.case("one step", ref=[1.0, 5], value=[3.0, 3], out=np.array(_sum))
    _each.fails("another shape", ref=[1.0, 2], value=[3.0], error="shape of the variable")
