"""PyTorch: its functions and their backward kernels, in both of its memory formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from backblocks.bench.contender import SAVED_INDICES, SYMMETRIC_PADDING, Contender
from backblocks.bench.problem import TYPES, Problem
from backblocks.ops._inputs import Array
from backblocks.ops.nn._windows import Axis, from_channels_last, to_channels_last

NAME = "torch"
ATEN = torch.ops.aten
Tensor = Any


def version() -> str:
    return str(torch.__version__)


def set_threads(count: int) -> None:
    torch.set_num_threads(count)


def make(problem: Problem, inputs: dict[str, Array]) -> list[Contender] | str:
    if problem.kind.family == "dilation":
        return "it has no dilation"
    volumes = problem.kind.space == 3
    formats = {
        "torch, contiguous": torch.contiguous_format,
        "torch, channels last": torch.channels_last_3d if volumes else torch.channels_last,
    }
    contenders: list[Contender] = []
    for name, memory_format in formats.items():

        def tensor(key: str, memory_format: Any = memory_format) -> Tensor:
            # Backward kernels take some tensors only for their shape and format.
            value = inputs.get(key)
            value = np.zeros(problem.sizes(key), problem.dtype) if value is None else value
            return _tensor(problem, key, value).contiguous(memory_format=memory_format)

        made = (_pools if problem.is_pool else _convolutions)(problem, tensor, name)
        if isinstance(made, str):
            return made
        contenders += made
    return contenders


# -- pools ---------------------------------------------------------------------------------------


def _pools(problem: Problem, tensor: Callable[[str], Tensor], name: str) -> list[Contender] | str:
    pads = [axis.before for axis in problem.axes]
    if any(2 * pad > k for pad, k in zip(pads, problem.k, strict=True)):
        return "it pads by half a window at most"
    # Counting a window that stands over the end gives TensorFlow's padding after the last cell.
    ceil_mode = any(_out(axis, axis.before) != axis.out for axis in problem.axes)
    how: tuple[Any, ...] = (list(problem.k), list(problem.s), pads)
    if problem.kind.family == "avg":
        how = (*how, ceil_mode, False, None)
    else:
        how = (*how, [1] * problem.kind.space, ceil_mode)
    calls = _pool_calls(problem, tensor, how)
    return [
        Contender(
            name + about,
            NAME,
            call,
            lambda result: _numpy(problem, result),
            SAVED_INDICES if "only" in about else None,
        )
        for about, call in calls.items()
    ]


def _pool_calls(
    problem: Problem, tensor: Callable[[str], Tensor], how: tuple[Any, ...]
) -> dict[str, Callable[[], Tensor]]:
    of = f"{problem.kind.family}_pool{problem.kind.space}d"
    x = tensor("x")
    if problem.kind.result == "y":
        pool = getattr(torch.nn.functional, of)
        return {"": lambda: pool(x, *how)}
    if problem.kind.family == "avg":
        backward, dy = getattr(ATEN, f"{of}_backward"), tensor("dy")
        return {"": lambda: backward(dy, x, *how)}
    forward = getattr(ATEN, f"{of}_with_indices")
    if problem.kind.result == "dx":
        backward, dy = getattr(ATEN, f"{of}_with_indices_backward"), tensor("dy")

        def send(indices: Tensor) -> Tensor:
            return backward(dy, x, *how, indices)
    else:
        ddx = tensor("ddx")

        def send(indices: Tensor) -> Tensor:  # what differentiating its backward kernel does
            places = indices.contiguous().flatten(2)
            return ddx.contiguous().flatten(2).gather(2, places).view(indices.shape)

    saved = forward(x, *how)[1]
    return {
        ", forward and gradient": lambda: send(forward(x, *how)[1]),
        ", gradient only": lambda: send(saved),
    }


# -- convolutions --------------------------------------------------------------------------------


def _convolutions(
    problem: Problem, tensor: Callable[[str], Tensor], name: str
) -> list[Contender] | str:
    pads, caveat = [], None
    for axis in problem.axes:
        fitting = [pad for pad in (axis.before, axis.before + 1) if _out(axis, pad) == axis.out]
        if not fitting:
            return "no padding that is alike on both sides gives this many windows"
        pads.append(fitting[0])
        if fitting[0] != axis.before:
            caveat = SYMMETRIC_PADDING
    how = (list(problem.s), pads, list(problem.dilations))
    groups = problem.last[-1] if problem.kind.family == "depthwise" else problem.groups
    x, f = tensor("x"), tensor("f")
    if problem.kind.result == "y":
        forward = getattr(torch.nn.functional, f"conv{problem.kind.space}d")
        call = lambda: forward(x, f, None, *how, groups)  # noqa: E731
    else:
        dy, none = tensor("dy"), [0] * problem.kind.space
        place = ("dx", "df").index(problem.kind.result)
        wanted = [place == 0, place == 1, False]
        call = lambda: ATEN.convolution_backward(  # noqa: E731
            dy, x, f, None, *how, False, none, groups, wanted
        )[place]
    return [Contender(name, NAME, call, lambda got: _numpy(problem, got), caveat)]


def _out(axis: Axis, pad: int) -> int:
    """How many windows torch finds on an axis that it pads by this much on both sides."""
    return (axis.n + 2 * pad - (axis.k - 1) * axis.d - 1) // axis.s + 1


# -- tensors there and back ------------------------------------------------------------------------


def _tensor(problem: Problem, name: str, value: Array) -> Tensor:
    """(batch, channels, *space), or (out, in, *window) of a filter."""
    bits = value.view(np.int16) if problem.type == "bf16" else value
    tensor = torch.from_numpy(bits).view(getattr(torch, TYPES[problem.type]))
    space = problem.kind.space
    if name == "f":
        if problem.kind.family == "depthwise":  # torch has the multiplier with the output channels
            tensor = tensor.reshape(*value.shape[:-2], 1, -1)
        return tensor.permute(space + 1, space, *range(space))
    return tensor if problem.channels_first else tensor.permute(0, space + 1, *range(1, space + 1))


def _numpy(problem: Problem, tensor: Tensor) -> Array:
    array: Array = tensor.float().numpy() if problem.type == "bf16" else tensor.numpy()
    if problem.kind.result == "df":
        moved: Array = np.moveaxis(array, (0, 1), (-1, -2)).reshape(problem.sizes("f"))
        return moved
    return from_channels_last(to_channels_last(array, "NCHW"), problem.data_format)
