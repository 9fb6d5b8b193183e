"""One step of the optimisers that keep slot variables: a velocity, moments, sums of squares."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from backblocks.dtypes import FLOATS, wide
from backblocks.ops._inputs import Array
from backblocks.ops._op import Op, op
from backblocks.ops._spec import Shape, Spec, agreed, scalar_value
from backblocks.ops.attrs import Flag

_two = np.array([1.0, 2])
_flat = np.array([2.0, -2])
_zeros = np.zeros(2)


def _locking(*, use_locking: Flag = False) -> None:
    """The attribute that all optimisers have."""


def optimiser(
    name: str, writes: tuple[str, ...] = (), aliases: tuple[str, ...] = ()
) -> Callable[[Any], Op]:
    """Declares one step of an optimiser, which writes `var` and the slot variables in `writes`.

    Slots and the gradient have the shape of var, everything else is a scalar. Half types are computed in
    float32 and rounded once, at the end of the step.
    """

    def declare(step: Any) -> Op:
        @functools.wraps(step)
        def in_float32(*inputs: Array, **attrs: Any) -> Any:
            return step(*(x.astype(wide(x.dtype), copy=False) for x in inputs), **attrs)

        inputs = step.__code__.co_varnames[: step.__code__.co_argcount]
        dtypes = {pin: "int64" if pin == "global_step" else "T" for pin in inputs}
        signature = f"{', '.join(dtypes.values())} -> out: T"
        written = ("var", *writes)
        made = op(name, signature, attrs=_locking, aliases=aliases, writes=written, T=FLOATS)(
            in_float32
        )
        made.shape(functools.partial(_step_shape, made))
        made.no_gradient("It changes variables. Differentiate the loss, not the step.")
        made.differs(
            "rounding of half types",
            tensorflow="Every operation of the step is rounded to the half type.",
            ours="The step is computed in float32 and rounded once.",
        )
        _refuse_other_shapes(made, {pin: dtypes[pin] for pin in inputs if pin not in written})
        return made

    return declare


def _step_shape(optimiser: Op, var: Spec, *others: Spec, **attrs: Any) -> Shape:
    shape = var.shape
    for pin, spec in zip(optimiser.inputs[1:], others, strict=True):
        if pin.name in optimiser.writes:
            hint = "Keep one of these variables for each variable."
            shape = agreed(pin.name, spec, shape, "the shape of var", hint)
        elif pin.name in _GRADIENT:
            hint = "Use the gradient of this variable."
            shape = agreed(pin.name, spec, shape, "the shape of var", hint)
        else:
            scalar_value(pin.name, Spec(spec.shape, spec.dtype))
    return shape


def _refuse_other_shapes(optimiser: Op, read: dict[str, str]) -> None:
    """Declares calls that must be refused; `read` are the inputs that are not written, with their dtypes."""
    gradient = next(name for name in _GRADIENT if name in read)
    rate = "alpha" if "alpha" in read else "lr"
    scalars = {n: 1 if t == "int64" else 0.5 for n, t in read.items() if n != gradient}
    slots = dict.fromkeys(optimiser.writes[1:], _zeros)
    optimiser.fails(
        "a gradient of another shape",
        var=_two,
        **slots,
        **scalars,
        **{gradient: [2.0]},
        error="the shape of var",
    )
    if slots:
        optimiser.fails(
            "a variable beside it of another shape",
            var=_two,
            **dict.fromkeys(slots, np.zeros(3)),
            **scalars,
            **{gradient: _flat},
            error="the shape of var",
        )
    optimiser.fails(
        "a rate for each cell",
        var=_two,
        **slots,
        **{**scalars, rate: _two, gradient: _flat},
        error="must be a scalar",
    )


_GRADIENT = ("grad", "delta")


@optimiser(
    "ApplyMomentum",
    writes=("accum",),
    aliases=("momentum", "sgd with momentum", "optim.SGD", "learn", "train"),
)
def apply_momentum(
    var: Array,
    accum: Array,
    lr: Array,
    grad: Array,
    momentum: Array,
    *,
    use_nesterov: Flag = False,
    **locking: Any,
) -> tuple[Array, Array]:
    """Moves a variable by its velocity, which the gradient changes and `momentum` keeps up.

    accum ← momentum · accum + grad
    var ← var - lr · (grad + momentum · accum if use_nesterov else accum)

    With `use_nesterov` the gradient counts once more where the velocity would lead to.
    """
    velocity = accum * momentum + grad
    if use_nesterov:
        return var - (grad * lr + velocity * momentum * lr), velocity
    return var - lr * velocity, velocity


@optimiser(
    "ApplyAdagrad", writes=("accum",), aliases=("adagrad", "optim.Adagrad", "learn", "train")
)
def apply_adagrad(
    var: Array, accum: Array, lr: Array, grad: Array, *, update_slots: Flag = True, **locking: Any
) -> tuple[Array, Array]:
    """Moves a variable against its gradient, by less the more it has moved.

    accum ← accum + grad² if update_slots else accum
    var ← var - lr · grad / √accum

    `accum` is the sum of squares of all gradients; `update_slots` adds this one.
    """
    total = accum + grad * grad if update_slots else accum
    return var - grad * lr / np.sqrt(total), total


@optimiser(
    "ApplyRMSProp", writes=("ms", "mom"), aliases=("rmsprop", "optim.RMSprop", "learn", "train")
)
def apply_rms_prop(
    var: Array,
    ms: Array,
    mom: Array,
    lr: Array,
    rho: Array,
    momentum: Array,
    epsilon: Array,
    grad: Array,
    **locking: Any,
) -> tuple[Array, Array, Array]:
    """Moves a variable by a velocity, in which gradients count in parts of their usual size.

    ms ← ms + (1 - rho) · (grad² - ms)
    mom ← momentum · mom + lr · grad / √(ms + epsilon)
    var ← var - mom

    `ms` is the running mean of their squares, `mom` the velocity.
    """
    mean = ms + (grad * grad - ms) * (1 - rho)
    velocity = mom * momentum + grad * lr / np.sqrt(mean + epsilon)
    return var - velocity, mean, velocity


@optimiser("ApplyAdam", writes=("m", "v"), aliases=("adam", "optim.Adam", "learn", "train"))
def apply_adam(
    var: Array,
    m: Array,
    v: Array,
    beta1_power: Array,
    beta2_power: Array,
    lr: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    grad: Array,
    *,
    use_nesterov: Flag = False,
    **locking: Any,
) -> tuple[Array, Array, Array]:
    """Moves a variable by the running mean of its gradients, in parts of their usual size.

    m ← m + (1 - beta1) · (grad - m)
    v ← v + (1 - beta2) · (grad² - v)
    var ← var - rate · (beta1 · m + (1 - beta1) · grad if use_nesterov else m) / (√v + epsilon)
    where rate = lr · √(1 - beta2_power) / (1 - beta1_power)

    `m` and `v` are the running means of the gradients and of their squares. Both start from 0, which
    `beta1_power` and `beta2_power` make good: they are `beta1` and `beta2` to the number of the step.
    """
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    mean = m + (grad - m) * (1 - beta1)
    square = v + (grad * grad - v) * (1 - beta2)
    ahead = grad * (1 - beta1) + beta1 * mean if use_nesterov else mean
    return var - ahead * rate / (np.sqrt(square) + epsilon), mean, square


@optimiser("ApplyFtrl", writes=("accum", "linear"), aliases=("ftrl", "learn", "train"))
def apply_ftrl(
    var: Array,
    accum: Array,
    linear: Array,
    grad: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    lr_power: Array,
    *,
    multiply_linear_by_lr: Flag = False,
    **locking: Any,
) -> tuple[Array, Array, Array]:
    """Puts a variable where all gradients so far lead; those too weak for `l1` leave it at 0.

    linear ← linear + k · (grad - (total^-lr_power - accum^-lr_power) / lr · var)
    accum ← total
    var ← 0 if |linear| ≤ k · l1
        else (k · l1 · sign(linear) - linear) / (k · (total^-lr_power / lr + 2 · l2))
    where total = accum + grad²
    where k = lr if multiply_linear_by_lr else 1

    `accum` is the sum of their squares, `linear` what they sum up to. (McMahan et al., 2013.)
    """
    total = accum + grad * grad
    grown, before = total**-lr_power, accum**-lr_power
    if multiply_linear_by_lr:
        sum_ = linear + grad * lr - (grown - before) * var
        least, weight = l1 * lr, grown + 2 * l2 * lr
    else:
        sum_ = linear + grad - (grown - before) / lr * var
        least, weight = l1, grown / lr + 2 * l2
    moved = np.where(np.abs(sum_) > least, (least * np.sign(sum_) - sum_) / weight, 0)
    return moved, total, sum_


@optimiser("ApplyAdagradV2", writes=("accum",))
def apply_adagrad_v2(
    var: Array,
    accum: Array,
    lr: Array,
    epsilon: Array,
    grad: Array,
    *,
    update_slots: Flag = True,
    **locking: Any,
) -> tuple[Array, Array]:
    """As ApplyAdagrad, with `epsilon` against a division by nearly 0.

    accum ← accum + grad² if update_slots else accum
    var ← var - lr · grad / (√accum + epsilon)

    `accum` is the sum of squares of all gradients; `update_slots` adds this one.
    """
    total = accum + grad * grad if update_slots else accum
    return var - grad * lr / (np.sqrt(total) + epsilon), total


@optimiser("ApplyAdadelta", writes=("accum", "accum_update"))
def apply_adadelta(
    var: Array,
    accum: Array,
    accum_update: Array,
    lr: Array,
    rho: Array,
    epsilon: Array,
    grad: Array,
    **locking: Any,
) -> tuple[Array, Array, Array]:
    """Moves a variable against its gradient, by as much as it usually moves.

    accum ← rho · accum + (1 - rho) · grad²
    var ← var - lr · grad · √(accum_update + epsilon) / √(accum + epsilon)
    accum_update ← rho · accum_update
        + (1 - rho) · grad² · (accum_update + epsilon) / (accum + epsilon)

    `accum` and `accum_update` are the running means of the squares of gradients and of moves.
    """
    mean = accum * rho + grad * grad * (1 - rho)
    move = np.sqrt(accum_update + epsilon) / np.sqrt(mean + epsilon) * grad
    return var - move * lr, mean, accum_update * rho + move * move * (1 - rho)


@optimiser("ApplyCenteredRMSProp", writes=("mg", "ms", "mom"))
def apply_centered_rms_prop(
    var: Array,
    mg: Array,
    ms: Array,
    mom: Array,
    lr: Array,
    rho: Array,
    momentum: Array,
    epsilon: Array,
    grad: Array,
    **locking: Any,
) -> tuple[Array, Array, Array, Array]:
    """As ApplyRMSProp, with gradients in parts of their deviation from `mg`, their running mean.

    ms ← ms + (1 - rho) · (grad² - ms)
    mg ← mg + (1 - rho) · (grad - mg)
    mom ← momentum · mom + lr · grad / √(ms - mg² + epsilon)
    var ← var - mom
    """
    square = ms + (grad * grad - ms) * (1 - rho)
    mean = mg + (grad - mg) * (1 - rho)
    velocity = mom * momentum + grad * lr / np.sqrt(square - mean * mean + epsilon)
    return var - velocity, mean, square, velocity


@optimiser("ApplyAdaMax", writes=("m", "v"))
def apply_ada_max(
    var: Array,
    m: Array,
    v: Array,
    beta1_power: Array,
    lr: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    grad: Array,
    **locking: Any,
) -> tuple[Array, Array, Array]:
    """As ApplyAdam, with gradients in parts of the largest, which fades by `beta2` a step.

    m ← m + (1 - beta1) · (grad - m)
    v ← max(beta2 · v, |grad|)
    var ← var - lr / (1 - beta1_power) · m / (v + epsilon)
    """
    mean = m + (grad - m) * (1 - beta1)
    largest = np.maximum(beta2 * v, np.abs(grad))
    return var - lr / (1 - beta1_power) * (mean / (largest + epsilon)), mean, largest


def _shrunk(x: Array, rate: Array, l1: Array, l2: Array) -> Array:
    """`x` drawn toward 0: by a fixed way, which does not lead past 0, and in proportion."""
    size = np.maximum(np.abs(x) - rate * l1, 0) if l1 > 0 else np.abs(x)
    return np.asarray(np.sign(x) * size / (1 + l2 * rate))


@optimiser("ApplyProximalGradientDescent")
def apply_proximal_gradient_descent(
    var: Array, alpha: Array, l1: Array, l2: Array, delta: Array, **locking: Any
) -> Array:
    """Moves a variable against its gradient and draws it toward 0, by `l1` and in proportion by `l2`.

    var ← sign(moved) · max(|moved| - alpha · max(l1, 0), 0) / (1 + alpha · l2)
    where moved = var - alpha · delta
    """
    return _shrunk(var - alpha * delta, alpha, l1, l2)


@optimiser("ApplyProximalAdagrad", writes=("accum",))
def apply_proximal_adagrad(
    var: Array, accum: Array, lr: Array, l1: Array, l2: Array, grad: Array, **locking: Any
) -> tuple[Array, Array]:
    """As ApplyAdagrad, and draws the variable toward 0, by `l1` and in proportion by `l2`.

    accum ← accum + grad²
    var ← sign(moved) · max(|moved| - rate · max(l1, 0), 0) / (1 + rate · l2)
    where rate = lr / √(accum + grad²)
    where moved = var - rate · grad
    """
    total = accum + grad * grad
    rate = lr / np.sqrt(total)
    return _shrunk(var - grad * rate, rate, l1, l2), total


@optimiser("ApplyAdagradDA", writes=("gradient_accumulator", "gradient_squared_accumulator"))
def apply_adagrad_da(
    var: Array,
    gradient_accumulator: Array,
    gradient_squared_accumulator: Array,
    grad: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    global_step: Array,
    **locking: Any,
) -> tuple[Array, Array, Array]:
    """Puts a variable where the sum of all gradients leads; one too weak for `l1` a step leaves it at 0.

    gradient_accumulator ← gradient_accumulator + grad
    gradient_squared_accumulator ← gradient_squared_accumulator + grad²
    var ← -lr · sign(gradient_accumulator)
        · max(|gradient_accumulator| - global_step · max(l1, 0), 0)
        / (global_step · lr · l2 + √gradient_squared_accumulator)

    (Duchi, Hazan, Singer, "Adaptive subgradient methods", 2011.)
    """
    total = gradient_accumulator + grad
    squares = gradient_squared_accumulator + grad * grad
    step = global_step.astype(lr.dtype)
    size = np.maximum(np.abs(total) - l1 * step, 0) if l1 > 0 else np.abs(total)
    return -lr * np.sign(total) * size / (l2 * step * lr + np.sqrt(squares)), total, squares


_momentum: dict[str, Any] = {"accum": np.array([4.0, 4]), "lr": 0.5, "momentum": 0.5}
# Velocities are 4 * 0.5 + 2 = 4 and 4 * 0.5 - 2 = 0.
apply_momentum.case("one step", var=_two, **_momentum, grad=_flat, out=np.array([-1.0, 2]))
# 2 * 0.5 + 4 * 0.5 * 0.5 = 2 and -2 * 0.5 + 0 = -1
apply_momentum.case(
    "by Nesterov", var=_two, **_momentum, grad=_flat, use_nesterov=True, out=np.array([-1.0, 3])
)
# The squares come to 5 + 4 = 9, so a third of the step is left.
apply_adagrad.case(
    "one step", var=_two, accum=[5.0, 5.0], lr=3.0, grad=_flat, out=np.array([-1.0, 4])
)
apply_adagrad.case(
    "with the squares as they are",
    var=_two,
    accum=[4.0, 4.0],
    lr=3.0,
    grad=_flat,
    update_slots=False,
    out=np.array([-2.0, 5]),
)
# The mean square is 4, and the velocity 2 * 0.5 + 2 * 3 / 2 = 4, or 2 * 0.5 - 3 = -2.
apply_rms_prop.case(
    "one step",
    var=_two,
    ms=[4.0, 4.0],
    mom=[2.0, 2.0],
    lr=3.0,
    rho=0.5,
    momentum=0.5,
    epsilon=0.0,
    grad=_flat,
    out=np.array([-3.0, 4]),
)
apply_rms_prop.case(
    "nothing to move",
    var=np.zeros(0),
    ms=np.zeros(0),
    mom=np.zeros(0),
    lr=3.0,
    rho=0.5,
    momentum=0.5,
    epsilon=0.0,
    grad=np.zeros(0),
    out=np.zeros(0),
)
_adam: dict[str, Any] = {
    **{"m": _zeros, "v": _zeros, "beta1_power": 0.5, "beta2_power": 0.75},
    **{"lr": 0.5, "beta1": 0.5, "beta2": 0.75, "epsilon": 1.0},
}
# The rate is 0.5 * 0.5 / 0.5 = 0.5, the mean 1, and the root of the mean square 1.
apply_adam.case("first step", var=_two, **_adam, grad=_flat, out=np.array([0.75, 2.25]))
# By Nesterov 2 * 0.5 + 0.5 * 1 = 1.5 counts for the mean.
apply_adam.case(
    "by Nesterov", var=_two, **_adam, grad=_flat, use_nesterov=True, out=np.array([0.625, 2.375])
)
_ftrl: dict[str, Any] = {
    **{"accum": [5.0, 5.0], "linear": _zeros, "lr": 1.0, "l1": 1.0, "l2": 0.5, "lr_power": -1.0}
}
# Squares grow by 4, so the sums are 2 - 4 = -2 and -2 - 8 = -10. What is beyond 1 is shared by 9 + 1.
apply_ftrl.case("one step", var=_two, **_ftrl, grad=_flat, out=np.array([0.1, 0.9]))
apply_ftrl.case(
    "too weak",
    var=_zeros,
    **{**_ftrl, "l1": 2.0},
    grad=_flat,
    multiply_linear_by_lr=True,
    out=np.zeros(2),
)
_step_of: dict[str, Any] = {"var": _two, "grad": _flat, "lr": 3.0}
apply_adagrad_v2.case(
    "one step", **_step_of, accum=[5.0, 5.0], epsilon=1.0, out=np.array([-0.5, 3.5])
)
apply_adagrad_v2.case(
    "with the squares as they are",
    **_step_of,
    accum=[4.0, 4.0],
    epsilon=1.0,
    update_slots=False,
    out=np.array([-1.0, 4]),
)
# The mean square is 4 * 0.5 + 4 * 0.5, and moves are 6 / 2 times the gradient.
_delta: dict[str, Any] = {"accum": [4.0, 4.0], "accum_update": [36.0, 36.0], "rho": 0.5}
apply_adadelta.case(
    "one step", **{**_step_of, "lr": 0.5}, **_delta, epsilon=0.0, out=np.array([-2.0, 5])
)
apply_adadelta.case(
    "nothing to move",
    **dict.fromkeys(("var", "accum", "accum_update", "grad"), np.zeros(0)),
    **dict.fromkeys(("lr", "rho", "epsilon"), 0.5),
    out=np.zeros(0),
)
# Mean squares are (12 + 4) / 2 = 8 and means (2 + 2) / 2 = 2 and (2 - 2) / 2 = 0.
_rms: dict[str, Any] = {"ms": [12.0, 12.0], "mg": [2.0, 2.0], "rho": 0.5, "momentum": 0.5}
apply_centered_rms_prop.case(
    "one step",
    **_step_of,
    **_rms,
    mom=[2.0, 2.0],
    epsilon=0.0,
    out=np.array([-3.0, 1 + 6 / 8**0.5]),
)
apply_centered_rms_prop.case(
    "with more than the deviation",
    **_step_of,
    **_rms,
    mom=_zeros,
    epsilon=1.0,
    out=np.array([1 - 6 / 5**0.5, 4]),
)
_max: dict[str, Any] = {"m": _zeros, "beta1_power": 0.5, "beta1": 0.5, "beta2": 0.5}
# Means are 1 and -1. The largest is 2, or 8 * 0.5.
apply_ada_max.case("one step", **_step_of, **_max, v=_zeros, epsilon=1.0, out=np.array([-1.0, 4]))
apply_ada_max.case(
    "an earlier one was larger",
    **_step_of,
    **_max,
    v=[8.0, 8.0],
    epsilon=0.0,
    out=np.array([-0.5, 3.5]),
)
_toward: dict[str, Any] = {"l1": 1.0, "l2": 0.5}
# From 0 and 3 by 0.5 toward 0, and a fifth of what is left.
apply_proximal_gradient_descent.case(
    "one step", var=_two, alpha=0.5, delta=_flat, **_toward, out=np.array([0.0, 2])
)
apply_proximal_gradient_descent.case(
    "in proportion only", var=_two, alpha=0.5, delta=_flat, l1=0.0, l2=2.0, out=np.array([0.0, 1.5])
)
# The rate is 3 / 3 = 1: from -1 and 4 by 1 toward 0, and a third of what is left.
apply_proximal_adagrad.case(
    "one step", **_step_of, accum=[5.0, 5.0], **_toward, out=np.array([0.0, 2])
)
apply_proximal_adagrad.case(
    "in proportion only", **_step_of, accum=[5.0, 5.0], l1=0.0, l2=1.0, out=np.array([-0.5, 2])
)
_sums: dict[str, Any] = {
    "gradient_accumulator": [2.0, 0.0],
    "gradient_squared_accumulator": [5.0, 5.0],
    "global_step": 2,
}
# Sums are 4 and -2, of which 2 are beyond l1 and 0. The weight is 0.5 * 2 * 3 + 3.
apply_adagrad_da.case("one step", **_step_of, **_sums, **_toward, out=np.array([-1.0, 0]))
apply_adagrad_da.case(
    "in proportion only", **_step_of, **_sums, l1=0.0, l2=0.5, out=np.array([-2.0, 1])
)
