"""One step of gradient descent for one variable."""

import numpy as np

from backblocks.dtypes import NUMBERS, is_half, wide
from backblocks.ops._elementwise import rounded_once
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, op
from backblocks.ops._spec import Shape, Spec, agreed, scalar_value
from backblocks.ops.attrs import Flag


@op(
    "ApplyGradientDescent",
    "T, T, T -> out: T",
    aliases=("sgd", "GradientDescentOptimizer", "optim.SGD", "learn", "train"),
    writes=("var",),
    T=NUMBERS,
)
def apply_gradient_descent(
    var: Array, alpha: Array, delta: Array, *, use_locking: Flag = False
) -> Array:
    """Moves a variable against its gradient, by `alpha` times as much.

    var ← var - alpha · delta
    """
    kept = wide(var.dtype)
    moved: Array = np.subtract(var, alpha.astype(kept) * delta.astype(kept), dtype=kept)
    return moved


@apply_gradient_descent.shape
def _(var: Spec, alpha: Spec, delta: Spec, *, use_locking: bool) -> Shape:
    scalar_value("alpha", alpha)
    return agreed(
        "delta", delta, var.shape, "the shape of var", "Use the gradient of this variable."
    )


@apply_gradient_descent.kernel("in place", warns=True)
def _(var: Spec, alpha: Spec, delta: Spec, *, use_locking: bool) -> KernelFunction | None:
    if is_half(var.dtype):
        return None

    def fill(var: Array, alpha: Array, delta: Array, out: Array) -> None:
        np.multiply(alpha, delta, out)
        np.subtract(var, out, out)

    return fill


rounded_once(apply_gradient_descent)
apply_gradient_descent.no_gradient("It changes a variable. Differentiate the loss, not the step.")
apply_gradient_descent.case(
    "one step", var=[1.0, 2], alpha=0.5, delta=[2.0, -2], out=np.array([0.0, 3])
)
apply_gradient_descent.fails(
    "a gradient of another shape", var=[1.0, 2], alpha=0.5, delta=[2.0], error="the shape of var"
)
