"""Max pooling of images whose window and stride are tensors, with its first and second gradients."""

from typing import Any

import numpy as np

from backblocks.dtypes import REALS
from backblocks.errors import OpError
from backblocks.ops._declaration import Difference
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Op, Value, op
from backblocks.ops._spec import Spec, ranked
from backblocks.ops.attrs import ImageLayout, Padding, Pads, check_window
from backblocks.ops.nn.max_pool import max_pool, max_pool_grad, max_pool_grad_grad


def _tensor_windows(
    *, padding: Padding, data_format: ImageLayout = "NHWC", explicit_paddings: Pads = ()
) -> None:
    """The attributes of the ops that take window and stride as tensors."""


def _windows_of(ksize: Array, strides: Array) -> dict[str, Any]:
    return {"ksize": check_window("ksize", ksize), "strides": check_window("strides", strides)}


def _delegate(v2: Op, v1: Op, **checks: Any) -> None:
    """Gives `v2`, whose last two inputs are window and stride, all that its first version has."""
    v2.same_formula(v1)
    rule: Any = v1.shape_rule
    cells: Any = v1.cell_rule
    (kernel,) = v1.kernels

    @v2.shape
    def _(*specs: Spec, **how: Any) -> Any:
        *tensors, ksize, strides = specs
        for arg, spec in (("ksize", ksize), ("strides", strides)):
            (length,) = ranked(arg, spec, 1)
            if length not in (None, 4):
                hint = "Give one for each dimension, as in [1, 2, 2, 1]."
                raise OpError("must have 4 entries", arg=arg, got=length, hint=hint)
        if ksize.value is None or strides.value is None:
            return (None,) * 4
        return rule(*tensors, **_windows_of(ksize.value, strides.value), **how)

    @v2.cells
    def _(y: Spec, *specs: Spec, **how: Any) -> Any:
        *tensors, ksize, strides = specs
        return cells(y, *tensors, **_windows_of(ksize.contents, strides.contents), **how)

    @v2.kernel("native")
    def _(*specs: Spec, **how: Any) -> KernelFunction | None:
        *tensors, ksize, strides = specs
        if ksize.value is None or strides.value is None:
            return None
        fill = kernel.plan(*tensors, **_windows_of(ksize.value, strides.value), **how)
        return fill and (lambda *arrays: fill(*arrays[: len(tensors)], arrays[-1]))

    same = [each for each in v1.differences if each.topic != "checks"]
    of_many_ops = ("half sums", "formats")  # these are told last
    v2.differences += sorted(
        [*same, Difference("checks", **checks)], key=lambda each: each.topic in of_many_ops
    )


# -- the largest value of each window -------------------------------------------------------------


@op(
    "MaxPoolV2",
    "T, int32, int32 -> T",
    aliases=("max_pool2d", "MaxPooling2D"),
    attrs=_tensor_windows,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_v2(input: Array, ksize: Array, strides: Array, **how: Any) -> Any:
    """MaxPool whose window and stride are tensors."""
    return max_pool.reference(input, **_windows_of(ksize, strides), **how)


_delegate(
    max_pool_v2,
    max_pool,
    tensorflow="A stride over channels is accepted and ignored; ksize and strides may have more "
    "than one dimension, and are read in a row.",
    ours="Both are refused.",
    agree="Use a stride of 1 for channels, and lists of 4.",
)


@max_pool_v2.grad
def _(dy: Value, y: Value, input: Value, ksize: Value, strides: Value, **how: Any) -> list[Value]:
    return [max_pool_grad_v2(input, y, dy, ksize, strides, **how), None, None]


_ramp = np.arange(16.0).reshape(1, 4, 4, 1)
_corners = _ramp[:, 1::2, 1::2]
_two: dict[str, Any] = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}

max_pool_v2.case("2 x 2 windows of a ramp", input=_ramp, **_two, out=_corners)
max_pool_v2.fails("stride 0", input=_ramp, **_two | {"strides": [1, 0, 2, 1]}, error="at least 1")
max_pool_v2.fails(
    "a stride over channels", input=_ramp, **_two | {"strides": [1, 2, 2, 2]},
    error="1 for batch and channels",
)  # fmt: skip
max_pool_v2.fails(
    "a window of three entries", input=_ramp, **_two | {"ksize": [1, 2, 2]}, error="4 entries"
)


# -- its gradient ---------------------------------------------------------------------------------


@op(
    "MaxPoolGradV2",
    "T, T, T, int32, int32 -> T",
    attrs=_tensor_windows,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_grad_v2(
    orig_input: Array, orig_output: Array, grad: Array, ksize: Array, strides: Array, **how: Any
) -> Any:
    """MaxPoolGrad whose window and stride are tensors."""
    return max_pool_grad.reference(
        orig_input, orig_output, grad, **_windows_of(ksize, strides), **how
    )


_LISTS = {
    "tensorflow": "ksize and strides may have more than one dimension, and are read in a row.",
    "ours": "They are refused.",
    "agree": "Use lists of 4.",
}

_delegate(max_pool_grad_v2, max_pool_grad, **_LISTS)


@max_pool_grad_v2.grad
def _(
    ddx: Value, dx: Value, x: Value, y: Value, dy: Value, k: Value, s: Value, **how: Any
) -> list[Value]:
    return [None, None, max_pool_grad_grad_v2(x, y, ddx, k, s, **how), None, None]


max_pool_grad_v2.case(
    "each window's winner", orig_input=_ramp, orig_output=_corners, **_two,
    grad=np.array([1.0, 2, 3, 4]).reshape(1, 2, 2, 1),
    out=np.array([0.0] * 5 + [1, 0, 2] + [0] * 5 + [3, 0, 4]).reshape(1, 4, 4, 1),
)  # fmt: skip


# -- its second gradient --------------------------------------------------------------------------


@op(
    "MaxPoolGradGradV2",
    "T, T, T, int32, int32 -> T",
    attrs=_tensor_windows,
    beyond=("explicit_paddings",),
    T=REALS,
)
def max_pool_grad_grad_v2(
    orig_input: Array, orig_output: Array, grad: Array, ksize: Array, strides: Array, **how: Any
) -> Any:
    """MaxPoolGradGrad whose window and stride are tensors."""
    windows = _windows_of(ksize, strides)
    return max_pool_grad_grad.reference(orig_input, orig_output, grad, **windows, **how)


_delegate(max_pool_grad_grad_v2, max_pool_grad_grad, **_LISTS)


@max_pool_grad_grad_v2.grad
def _(
    d: Value, out: Value, x: Value, y: Value, ddx: Value, k: Value, s: Value, **how: Any
) -> list[Value]:
    return [None, None, max_pool_grad_v2(x, y, d, k, s, **how), None, None]


max_pool_grad_grad_v2.case(
    "picks at the winners", orig_input=_ramp, orig_output=_corners, grad=_ramp * 10, **_two,
    out=_corners * 10,
)  # fmt: skip

for _each in (max_pool_grad_v2, max_pool_grad_grad_v2):
    _each.fails(
        "a window of two dimensions", orig_input=_ramp, orig_output=_corners, grad=_corners,
        **_two | {"ksize": [[1, 2, 2, 1]]}, error="must have 1 dimension",
    )  # fmt: skip
    _each.fails(
        "a gradient of the wrong shape", orig_input=_ramp, orig_output=_corners,
        grad=_ramp[:, :3], **_two, error="must have the shape",
    )  # fmt: skip
