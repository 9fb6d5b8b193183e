"""A guided tour in the terminal: what pooling, convolution and their gradients do to a small volume.

python -m backblocks.tour
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import backblocks as bb
from backblocks.ops._inputs import Array

CUBES: dict[str, Any] = {
    "ksize": [1, 2, 2, 2, 1],
    "strides": [1, 2, 2, 2, 1],
    "padding": "VALID",
}


def main() -> None:
    """Walks through the ops one after another, each with what went in and what came out."""
    volume = np.random.default_rng(7).permutation(64).reshape(1, 4, 4, 4, 1).astype(np.float32)
    gradient = np.arange(1, 9, dtype=np.float32).reshape(1, 2, 2, 2, 1)
    pool_forward_and_back(volume, gradient)
    average_at_a_border()
    break_a_tie()
    convolve_forward_and_back(volume)
    let_symbols_do_it(volume, gradient)
    ask_for_too_much(volume)


def pool_forward_and_back(volume: Array, gradient: Array) -> None:
    title("Max pooling, and its gradient twice")
    say("A volume of 4 x 4 x 4 cells, shown as its four slices:")
    show("input", volume)
    pooled = bb.raw_ops.MaxPool3D(input=volume, **CUBES)
    say("MaxPool3D keeps the largest number of each 2 x 2 x 2 window:")
    show("MaxPool3D", pooled)
    say("A gradient comes back, one number for each window:")
    show("gradient", gradient)
    back = bb.raw_ops.MaxPool3DGrad(orig_input=volume, orig_output=pooled, grad=gradient, **CUBES)
    say("MaxPool3DGrad sends each to the cell that won its window, and nothing to the others:")
    show("MaxPool3DGrad", back)
    again = bb.raw_ops.MaxPool3DGradGrad(orig_input=volume, orig_output=pooled, grad=back, **CUBES)
    say("MaxPool3DGradGrad picks at the same cells, so it finds the gradient where it was sent:")
    show("MaxPool3DGradGrad", again)


def average_at_a_border() -> None:
    title("Average pooling at a border")
    line = np.array([2, 4, 9], np.float32).reshape(1, 3, 1, 1, 1)
    windows: dict[str, Any] = {
        "ksize": [1, 2, 1, 1, 1],
        "strides": [1, 2, 1, 1, 1],
        "padding": "SAME",
    }
    mean = bb.raw_ops.AvgPool3D(input=line, **windows)
    say("Windows of two over three cells: the last has one real cell, and is divided by one.")
    show_line("input", line)
    show_line("AvgPool3D", mean)
    back = bb.raw_ops.AvgPool3DGrad(
        orig_input_shape=line.shape, grad=np.full_like(mean, 6), **windows
    )
    say("AvgPool3DGrad of 6 and 6: halves to the first two cells, all of it to the last.")
    show_line("AvgPool3DGrad", back)


def break_a_tie() -> None:
    title("A tie")
    flat = np.ones((1, 2, 2, 2, 1), np.float32)
    call: dict[str, Any] = {
        "orig_input": flat,
        "orig_output": flat[:, :1, :1, :1],
        "grad": np.full((1, 1, 1, 1, 1), 8, np.float32),
        **CUBES,
    }
    say(
        "All eight cells of a window are equal, and a gradient of 8 comes back. It goes to the first:"
    )
    show_line("MaxPool3DGrad", bb.raw_ops.MaxPool3DGrad(**call))
    say(
        "TensorFlow's CPU kernel gives the whole of it to every one, 64 in all. On request so do we:"
    )
    show_line('ties="tensorflow-cpu"', bb.raw_ops.MaxPool3DGrad(**call, ties="tensorflow-cpu"))


def convolve_forward_and_back(volume: Array) -> None:
    title("Convolution, and its two gradients")
    filter = np.zeros((2, 2, 2, 1, 1), np.float32)
    filter[0, 0, 0], filter[1, 1, 1] = -1, 1
    slide: dict[str, Any] = {"strides": [1, 2, 2, 2, 1], "padding": "VALID"}
    result = bb.raw_ops.Conv3D(input=volume, filter=filter, **slide)
    say("A filter that takes the far corner of a window less the near corner:")
    show("filter", filter[None, ..., 0])
    show("Conv3D", result)
    ones = np.ones_like(result)
    to_input = bb.raw_ops.Conv3DBackpropInputV2(
        input_sizes=volume.shape, filter=filter, out_backprop=ones, **slide
    )
    say("What each cell gave to the sum of these, it gets back (Conv3DBackpropInputV2):")
    show("to the input", to_input)
    to_filter = bb.raw_ops.Conv3DBackpropFilterV2(
        input=volume, filter_sizes=filter.shape, out_backprop=ones, **slide
    )
    say("And what each tap of the filter gave (Conv3DBackpropFilterV2):")
    show("to the filter", to_filter[None, ..., 0])
    forward, cells, taps = (
        float(np.vdot(a, b)) for a, b in ((result, ones), (volume, to_input), (filter, to_filter))
    )
    say(f"The three agree: {forward:g} = {cells:g} = {taps:g}. They are adjoint.")


def let_symbols_do_it(volume: Array, gradient: Array) -> None:
    title("The same by symbols")
    x = bb.placeholder((None, 4, 4, 4, 1), name="volume")
    y = bb.ops.max_pool_3d(x, **CUBES)
    dy = bb.placeholder(y.shape, name="gradient")
    (dx,) = bb.gradients(y, x, [dy])
    say("Called on values that are not there yet, ops make a graph; gradients are more of it:")
    print(f"    y  = {y}\n    dx = {dx}\n")
    (got,) = bb.evaluate([dx], {x: volume, dy: gradient})
    say(f"Fed the volume above, dx adds up to {got.sum():g}, as the gradient did.")


def ask_for_too_much(volume: Array) -> None:
    title("A mistake")
    say("A window larger than the volume is refused before anything runs:")
    try:
        bb.raw_ops.MaxPool3D(input=volume, **{**CUBES, "ksize": [1, 9, 2, 2, 1]})
    except bb.OpError as error:
        print(f"    {error}\n")


# -- printing ------------------------------------------------------------------------------------


def title(text: str) -> None:
    print(f"\n{text}\n{'=' * len(text)}\n")


def say(text: str) -> None:
    print(f"{text}\n")


def show(name: str, volume: Array) -> None:
    """A volume as its slices, side by side."""
    print(f"    {name}  {shape_text(volume.shape)}")
    slices = volume[0, ..., 0]
    for row in range(slices.shape[1]):
        cells = ["".join(f"{v:4g}" for v in each[row]) for each in slices]
        print("    " + "   |".join(cells))
    print()


def show_line(name: str, values: Array) -> None:
    numbers = "".join(f"{v:4g}" for v in values.reshape(-1))
    print(f"    {name}  {shape_text(values.shape)}\n    {numbers}\n")


def shape_text(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


if __name__ == "__main__":
    main()
