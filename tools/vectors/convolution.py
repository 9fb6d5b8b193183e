"""Calls of the convolutions: of images and volumes, depthwise, fused with padding, and dilation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from vectors.data import FLOATS, REALS, Array, Call, Source, is_float, is_half, ones, sizes
from vectors.windows import (
    STRIDES,
    Slide,
    empty_slide,
    explicit_slides,
    plain_slide,
    slides,
)

Calls = Callable[[str, str], Iterator[Call]]

# Channels in, channels out, groups.
CHANNELS = ((1, 1, 1), (3, 2, 1), (5, 3, 1), (9, 1, 1), (2, 5, 1))
GROUPED = ((4, 2, 2), (6, 3, 3), (3, 3, 3))


def _three(role: str, x: Array, f: Array, dy: Array, slide: Slide, tags: list[str]) -> Call:
    """The call of the forward op, or of the gradient for its input or its filter."""
    inputs = {
        "forward": {"input": x, "filter": f},
        "input": {"input_sizes": sizes(*x.shape), "filter": f, "out_backprop": dy},
        "filter": {"input": x, "filter_sizes": sizes(*f.shape), "out_backprop": dy},
    }[role]
    unwritten = (0,) if role == "filter" and 0 in slide.out else ()
    return Call(inputs, slide.convolution, [*slide.tags, *tags], unwritten)


def _values(source: Source, i: int, dtype: str, *shapes: tuple[int, ...]) -> list[Array]:
    """Tensors of these shapes; every fourth time with all their digits."""
    make = source.real if i % 4 == 1 and is_float(dtype) else source.whole
    return [make(shape, dtype) for shape in shapes]


def _channels_first(call: Call, data_format: str) -> Call:
    """The same call in another layout; filters stay as they are."""

    def first(values: Any) -> list[int]:
        return [values[0], values[-1], *values[1:-1]]

    inputs = {
        name: np.moveaxis(x, -1, 1)
        if name in ("input", "out_backprop")
        else sizes(*first(x))
        if name == "input_sizes"
        else x
        for name, x in call.inputs.items()
    }
    attrs = {name: first(v) if isinstance(v, list) else v for name, v in call.attrs.items()}
    return Call(inputs, attrs | {"data_format": data_format}, call.tags)


def convolution(role: str, dims: int) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        every = list(slides(source, dims))
        if dims == 2:
            every += explicit_slides(source, 24)
        every = every if dtype == "float32" else every[::8]
        dilated = list(slides(source, dims, dilations=(2, 3)))[:: 4 if dtype == "float32" else 40]

        def call(
            i: int, slide: Slide, channels: tuple[int, int, int], batch: int, *tags: str
        ) -> Call:
            ins, outs, groups = channels
            shapes = (
                (batch, *slide.n, ins),
                (*slide.k, ins // groups, outs),
                (batch, *slide.out, outs),
            )
            return _three(role, *_values(source, i, dtype, *shapes), slide, list(tags))

        for i, slide in enumerate([*every, *dilated]):
            yield call(i, slide, CHANNELS[i % 5], 1 + i % 2)
            if i == 0:
                yield _channels_first(
                    call(i, slide, CHANNELS[1], 1), "NCHW" if dims == 2 else "NCDHW"
                )
        for i, slide in enumerate(every[::10]):
            yield call(i, slide, GROUPED[i % 3], 1 + i % 2, "groups")
        if is_float(dtype):
            for i, slide in enumerate(every[:: len(every) // 6]):
                for tag, values in (("nan", [np.nan]), ("inf", [np.inf, -np.inf])):
                    special = call(0, slide, CHANNELS[i % 5], 1, tag)
                    arg = [name for name, x in special.inputs.items() if "sizes" not in name][i % 2]
                    special.inputs[arg] = source.sprinkled(special.inputs[arg], 0.2, *values)
                    yield special
        yield call(0, plain_slide(dims), (2, 3, 1), 0, "empty")
        if (role, dims, dtype) != ("filter", 3, "float16"):  # TensorFlow divides by zero, and dies
            yield call(0, empty_slide(dims), (2, 3, 1), 2)
        if dims == 2 and role == "input":
            short = call(0, plain_slide(2), (2, 3, 1), 1)
            short.inputs["input_sizes"] = sizes(3, 3)
            yield short
        if is_half(dtype):
            yield _long_sum(role, dims, dtype)

    return calls


def generic(op: str, dtype: str) -> Iterator[Call]:
    """Images and volumes, with batches of no axis, of one and of two. Explicit padding of volumes would
    end the process."""
    source = Source(op, dtype)
    images = [*slides(source, 2), *explicit_slides(source, 24)]
    images += list(slides(source, 2, dilations=(2, 3)))[::3]
    every = images[::2] + list(slides(source, 3))[::3]
    every = every if dtype == "float32" else every[::6]

    def call(i: int, slide: Slide, channels: tuple[int, int, int], *tags: str) -> Call:
        ins, outs, groups = channels
        batch = ((2,), (), (2, 1), (1,))[i % 4]
        shapes = (*batch, *slide.n, ins), (*slide.k, ins // groups, outs)
        x, f = _values(source, i // 4, dtype, *shapes)
        attrs = slide.convolution | ({"groups": groups} if groups > 1 else {})
        attrs |= {} if len(batch) == 1 else {"batch_dims": len(batch)}
        return Call({"input": x, "filter": f}, attrs, [*slide.tags, *tags])

    for i, slide in enumerate(every):
        yield call(i, slide, CHANNELS[i % 5])
    yield call(0, plain_slide(2), GROUPED[0], "groups")
    yield call(0, plain_slide(3), GROUPED[0], "groups")
    yield call(0, next(slides(source, 3, dilations=(2,))), CHANNELS[1])
    plain = call(0, plain_slide(2), CHANNELS[1])
    yield _channels_first(plain, "CHANNELS_FIRST")
    if is_float(dtype):
        for i, slide in enumerate(every[:: len(every) // 6]):
            for tag, values in (("nan", [np.nan]), ("inf", [np.inf, -np.inf])):
                special = call(4 * i, slide, CHANNELS[i % 5], tag)
                arg = ("input", "filter")[i % 2]
                special.inputs[arg] = source.sprinkled(special.inputs[arg], 0.2, *values)
                yield special
    for batch, tags in (((0,), ["empty"]), ((2, 0), ["empty batches of several axes"])):
        none = np.zeros((*batch, *plain.inputs["input"].shape[1:]), plain.inputs["input"].dtype)
        yield Call({**plain.inputs, "input": none}, plain.attrs | {"batch_dims": len(batch)}, tags)
    yield call(0, empty_slide(2), (2, 3, 1))
    if is_half(dtype):
        yield _long_sum("forward", 2, dtype)
        yield _long_sum("forward", 3, dtype)


def first_version(op: str, dtype: str) -> Iterator[Call]:
    """The gradients that take a tensor for its shape; TensorFlow has given them up."""
    shapes = {"input": (1, 3, 3, 3, 2), "filter": (2, 2, 2, 2, 3), "out_backprop": (1, 2, 2, 2, 3)}
    yield Call({name: ones(shape, dtype) for name, shape in shapes.items()}, plain_slide(3).attrs)


def _long_sum(role: str, dims: int, dtype: str) -> Call:
    """Ones whose sum is beyond what half types can count to."""
    side = 32 if dims == 2 else 16
    slide, batch, ins, outs = {
        "forward": (plain_slide(dims, n=side, k=side), 1, 2 if dims == 3 else 8, 1),
        "input": (plain_slide(dims, n=63 if dims == 2 else 15, k=32 if dims == 2 else 8), 1, 1, 16),
        "filter": (plain_slide(dims, n=side, k=1), 8 if dims == 2 else 2, 1, 1),
    }[role]
    shapes = (batch, *slide.n, ins), (*slide.k, ins, outs), (batch, *slide.out, outs)
    return _three(role, *(ones(shape, dtype) for shape in shapes), slide, ["half sums"])


def depthwise(role: str) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        every = [*slides(source, 2, one_stride=True), *explicit_slides(source, 24, one_stride=True)]
        every = every if dtype == "float32" else every[::8]
        dilated = list(slides(source, 2, dilations=(2, 3), one_stride=True))[::10]

        def call(
            i: int, slide: Slide, channels: int, multiplier: int, batch: int, *tags: str
        ) -> Call:
            outs = channels * multiplier
            shapes = (
                (batch, *slide.n, channels),
                (*slide.k, channels, multiplier),
                (batch, *slide.out, outs),
            )
            return _three(role, *_values(source, i, dtype, *shapes), slide, list(tags))

        for i, slide in enumerate([*every, *dilated]):
            yield call(i, slide, (1, 3, 5, 9)[i % 4], (1, 2, 3)[i % 3], 1 + i % 2)
            if i == 0:
                yield _channels_first(call(i, slide, 3, 2, 1), "NCHW")
        for i, slide in enumerate(every[:: len(every) // 6]):
            for tag, values in (("nan", [np.nan]), ("inf", [np.inf, -np.inf])):
                special = call(0, slide, 3, 1 + i % 2, 1, tag)
                arg = [name for name in special.inputs if "sizes" not in name][i % 2]
                special.inputs[arg] = source.sprinkled(special.inputs[arg], 0.2, *values)
                yield special
        no_batch = call(0, plain_slide(2), 2, 2, 0, "empty")
        no_batch.unwritten = (0,) if role == "filter" else ()
        yield no_batch
        yield call(0, empty_slide(2), 2, 2, 2)
        if is_half(dtype):
            slide = {
                "forward": plain_slide(2, n=64, k=64),
                "input": plain_slide(2, n=127, k=64),
                "filter": plain_slide(2, n=64, k=1),
            }[role]
            shapes = (1, *slide.n, 1), (*slide.k, 1, 1), (1, *slide.out, 1)
            yield _three(role, *(ones(shape, dtype) for shape in shapes), slide, ["half sums"])

    return calls


BLIND = {
    "forward": "a window without a real cell",
    "input": "a window with no sum above the lowest value",
    "filter": "a window with no sum above the lowest value",
}


def dilation(role: str) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        every = [*slides(source, 2)][::2] + [*slides(source, 2, dilations=(2, 3))][::3]
        every = every if dtype == "float32" else every[::8]

        def call(x: Array, f: Array, slide: Slide, *tags: str) -> Call:
            inputs = {"input": x, "filter": f}
            if role != "forward":
                inputs["out_backprop"] = source.whole((x.shape[0], *slide.out, x.shape[-1]), dtype)
            attrs = slide.attrs | {"rates": [1, *slide.d, 1]}
            blind = [BLIND[role]] if slide.has_blind_windows else []
            # Cells that lie apart are what the op is for.
            return Call(
                inputs, attrs, [t for t in (*slide.tags, *blind, *tags) if t != "dilations"]
            )

        for i, slide in enumerate(every):
            channels = (1, 3, 5)[i % 3]
            shape, taps = (1 + i % 2, *slide.n, channels), (*slide.k, channels)
            if i % 2 and is_float(dtype):
                yield call(source.distinct(shape, dtype), source.real(taps, dtype), slide)
            else:
                # From 1 on, so that a sum of unsigned numbers is not the lowest one.
                yield call(source.whole(shape, dtype), source.whole(taps, dtype) + 1, slide, "ties")
        for i, slide in enumerate(every[:: len(every) // 6] if is_float(dtype) else []):
            shape, taps = (1, *slide.n, 3), (*slide.k, 3)
            for tag, values in (("nan", [np.nan]), ("inf", [np.inf, -np.inf, -np.inf])):
                x, f = source.whole(shape, dtype), source.whole(taps, dtype)
                x = source.sprinkled(x, 0.4, *values) if i % 2 == 0 else x
                f = source.sprinkled(f, 0.4, *values) if i % 2 else f
                yield call(x, f, slide, tag)
        if not is_float(dtype) and role == "forward":
            top = min(int(np.iinfo(dtype).max), 2**62)
            x = source.rng.integers(top // 2, top, (1, 3, 3, 2)).astype(dtype)
            f = source.rng.integers(top // 2, top, (2, 2, 2)).astype(dtype)
            yield call(x, f, plain_slide(2), "overflow")
        yield call(
            source.whole((0, 3, 3, 2), dtype),
            source.whole((2, 2, 2), dtype),
            plain_slide(2),
            "empty",
        )
        yield call(
            source.whole((2, 2, 2, 2), dtype), source.whole((3, 3, 2), dtype), empty_slide(2)
        )
        if is_half(dtype) and role != "forward":
            slide = plain_slide(2, n=64, k=1) if role == "filter" else plain_slide(2, n=63, k=32)
            x = np.zeros((1, *slide.n, 1), ones((), dtype).dtype)
            x[:, 31, 31] = 1
            long = call(x, ones((*slide.k, 1), dtype), slide, "half sums")
            long.inputs["out_backprop"] = ones((1, *slide.out, 1), dtype)
            yield long

    return calls


# -- convolution fused with resizing and mirror padding ---------------------------------------------------


def fused(resize: bool) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for i in range(120 if dtype == "float32" else 30):
            mode = ("REFLECT", "SYMMETRIC")[i % 2]
            n = tuple(int(v) for v in source.rng.integers(1, 6, 2))
            new = tuple(int(v) for v in source.rng.integers(1, 8, 2)) if resize else n
            pads = [
                [int(source.rng.integers(0, min(size, 3) + i % 2)) for _ in "ab"] for size in new
            ]
            padded = tuple(size + sum(p) for size, p in zip(new, pads, strict=True))
            k = tuple(int(source.rng.integers(1, min(size, 3) + 1)) for size in padded)
            s = tuple(int(v) for v in source.rng.choice(STRIDES, 2))
            slide = Slide(padded, k, s, (1, 1), ("SAME", "VALID")[i // 2 % 2])
            batch = 2 if i % 10 == 9 else 1
            ins, outs, _ = CHANNELS[i % 5]
            x, f = _values(source, i, dtype, (batch, *n, ins), (*k, ins, outs))
            inputs: dict[str, Array] = {
                "input": x,
                "paddings": sizes(0, 0, *pads[0], *pads[1], 0, 0).reshape(4, 2),
                "filter": f,
            }
            attrs = {"mode": mode, **slide.attrs}
            tags = [*shift_tags(slide), *(["batches"] if batch > 1 else [])]
            if resize:
                inputs["size"] = sizes(*new)
                attrs["resize_align_corners"] = i % 3 == 0
            yield Call(inputs, attrs, tags)

    return calls


def shift_tags(slide: Slide) -> list[str]:
    """When the quantized and the fused convolutions of TensorFlow may move their windows."""
    axes = zip(slide.n, slide.out, slide.s, slide.k, strict=True)
    unused = max(n - (o - 1) * s - k for n, o, s, k in axes)
    return ["unused cells and stride > window"] if unused > 1 else []


WITH_INT32 = (*FLOATS, "int32")
TABLE = {
    "Conv": (WITH_INT32, generic),
    "Conv2D": (WITH_INT32, convolution("forward", 2)),
    "Conv2DBackpropInput": (WITH_INT32, convolution("input", 2)),
    "Conv2DBackpropFilter": (FLOATS, convolution("filter", 2)),
    "Conv3D": (FLOATS, convolution("forward", 3)),
    "Conv3DBackpropInputV2": (FLOATS, convolution("input", 3)),
    "Conv3DBackpropFilterV2": (FLOATS, convolution("filter", 3)),
    "Conv3DBackpropInput": (FLOATS, first_version),
    "Conv3DBackpropFilter": (FLOATS, first_version),
    "DepthwiseConv2dNative": (FLOATS, depthwise("forward")),
    "DepthwiseConv2dNativeBackpropInput": (FLOATS, depthwise("input")),
    "DepthwiseConv2dNativeBackpropFilter": (FLOATS, depthwise("filter")),
    "Dilation2D": (REALS, dilation("forward")),
    "Dilation2DBackpropInput": (REALS, dilation("input")),
    "Dilation2DBackpropFilter": (REALS, dilation("filter")),
    "FusedPadConv2D": (FLOATS, fused(resize=False)),
    "FusedResizeAndPadConv2D": (FLOATS, fused(resize=True)),
}
