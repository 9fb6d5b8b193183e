"""Calls of the pooling ops: average and maximum, images and volumes, and fractional pooling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.lib.stride_tricks import sliding_window_view

from vectors.data import FLOATS, REALS, Array, Call, Source, is_float, is_half, numpy_dtype, ones
from vectors.windows import Slide, empty_slide, explicit_slides, plain_slide, shaped, slides

Inputs = tuple[Array, list[str]]


def _slides(source: Source, dims: int, dtype: str, explicit: bool = False) -> list[Slide]:
    """All slides for float32 and a sample of them for the other types."""
    every = list(slides(source, dims))
    if explicit:
        every += explicit_slides(source, 24)
    return every if dtype == "float32" else every[::8]


def _shape(slide: Slide, batch: int, channels: int) -> tuple[int, ...]:
    return (batch, *slide.n, channels)


def _images(
    source: Source, dims: int, dtype: str, explicit: bool
) -> Iterator[tuple[Slide, Array, list[str]]]:
    """Slides with an image or volume to pool, and what is special about its numbers."""
    every = _slides(source, dims, dtype, explicit)
    for i, slide in enumerate(every):
        shape = _shape(slide, *shaped(slide, i))
        if i % 2 and is_float(dtype):
            yield slide, source.distinct(shape, dtype), slide.tags
        elif i % 12 == 2 and is_float(dtype):
            yield slide, source.real(shape, dtype), slide.tags
        else:
            yield slide, source.whole(shape, dtype), [*slide.tags, "ties"]
    some = every[::7] if dtype == "float32" else every[::5]
    for i, slide in enumerate(some if is_float(dtype) else []):
        x = source.distinct(_shape(slide, *shaped(slide, i)), dtype)
        yield slide, source.sprinkled(x, 0.2, np.nan), [*slide.tags, "nan"]
        yield (
            slide,
            source.sprinkled(x, 0.5, np.inf, -np.inf, -np.inf),
            [*slide.tags, "inf"],
        )
        yield (
            slide,
            source.sprinkled(x, 0.4, np.inf, -np.inf, np.nan),
            [*slide.tags, "inf", "nan"],
        )
    if is_float(dtype):
        slide = plain_slide(dims, n=3, k=2, s=2, padding="SAME")
        yield (
            slide,
            np.full(_shape(slide, 1, 3), -np.inf).astype(numpy_dtype(dtype)),
            ["inf"],
        )
        yield (
            slide,
            np.full(_shape(slide, 1, 3), np.nan).astype(numpy_dtype(dtype)),
            ["nan"],
        )
        zeros = source.sprinkled(ones(_shape(slide, 1, 3), dtype), 1.0, 0.0, -0.0)
        yield slide, zeros, ["ties", "negative zero"]
    slide = plain_slide(dims)
    yield slide, source.whole(_shape(slide, 0, 2), dtype), ["empty"]
    yield slide, source.whole(_shape(slide, 2, 0), dtype), ["empty"]
    slide = empty_slide(dims)
    yield slide, source.whole(_shape(slide, 2, 3), dtype), ["empty"]


def _formats(dims: int) -> list[str]:
    return ["NCHW"] if dims == 2 else ["NCDHW"]


def _channels_first(call: Call, data_format: str) -> Call:
    """The same call in another layout."""

    def first(values: list[int]) -> list[int]:
        return [values[0], values[-1], *values[1:-1]]

    inputs = {
        name: np.moveaxis(x, -1, 1) if x.ndim > 1 else np.array(first(list(x)), x.dtype)
        for name, x in call.inputs.items()
    }
    attrs = {name: first(v) if isinstance(v, list) else v for name, v in call.attrs.items()}
    return Call(inputs, attrs | {"data_format": data_format}, call.tags)


def _max_pool(x: Array, slide: Slide) -> Array:
    """The largest of each window, as documented: TensorFlow's gradients are handed this."""
    lowest = -np.inf if x.dtype.kind not in "iu" else np.iinfo(x.dtype).min
    pads = [(0, 0), *slide.before_and_after, (0, 0)]
    padded = np.pad(x, pads, constant_values=lowest)
    if 0 in slide.out or 0 in x.shape:
        return np.zeros((x.shape[0], *slide.out, x.shape[-1]), x.dtype)
    axes = tuple(range(1, 1 + len(slide.n)))
    cells = sliding_window_view(padded, slide.k, axes)
    cells = cells[
        (
            slice(None),
            *(slice(0, (o - 1) * s + 1, s) for o, s in zip(slide.out, slide.s, strict=True)),
        )
    ]
    with np.errstate(invalid="ignore"):  # bfloat16 says that it has seen a NaN
        return cells.max(tuple(range(x.ndim, cells.ndim)))


def _with_tensors(call: Call, slide: Slide) -> Call:
    """The call with window and stride as tensors."""
    windows = {name: np.array(slide.pooling[name], np.int32) for name in ("ksize", "strides")}
    return Call(call.inputs | windows, {"padding": slide.padding}, call.tags, call.unwritten)


def _each_layout(call: Call, dims: int, first: bool) -> Iterator[Call]:
    yield call
    if first:
        for data_format in _formats(dims):
            yield _channels_first(call, data_format)


def average(arg: str, dims: int) -> Callable[[str, str], Iterator[Call]]:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for i, (slide, x, tags) in enumerate(_images(source, dims, dtype, False)):
            yield from _each_layout(Call({arg: x}, slide.pooling, tags), dims, i == 0)
        if is_half(dtype):
            size = 64 if dims == 2 else 16
            slide = plain_slide(dims, n=size, k=size)
            x = np.full(_shape(slide, 1, 1), 1000 if dims == 2 else 1).astype(numpy_dtype(dtype))
            yield Call({arg: x}, slide.pooling, ["half sums"])

    return calls


def average_grad(dims: int) -> Callable[[str, str], Iterator[Call]]:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for i, (slide, x, tags) in enumerate(_images(source, dims, dtype, False)):
            shape = (x.shape[0], *slide.out, x.shape[-1])
            dy = source.real(shape, dtype) if i % 4 == 1 else source.whole(shape, dtype)
            if "nan" in tags:
                dy = source.sprinkled(dy, 0.2, np.nan)
            if "inf" in tags:
                dy = source.sprinkled(dy, 0.2, np.inf, -np.inf)
            call = Call(
                {"orig_input_shape": np.array(x.shape, np.int32), "grad": dy}, slide.pooling, tags
            )
            yield from _each_layout(call, dims, i == 0)
        if is_half(dtype):
            size = 32 if dims == 2 else 8
            slide = plain_slide(dims, n=2 * size - 1, k=size)
            call = {"orig_input_shape": np.array(_shape(slide, 1, 1), np.int32)}
            yield Call(
                call | {"grad": ones(_shape(slide, 1, 1)[:1] + slide.out + (1,), dtype)},
                slide.pooling,
                ["half sums"],
            )

    return calls


def maximum(
    dims: int, *, explicit: bool = False, tensors: bool = False
) -> Callable[[str, str], Iterator[Call]]:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for i, (slide, x, tags) in enumerate(_images(source, dims, dtype, explicit)):
            call = Call({"input": x}, slide.pooling, tags)
            call = _with_tensors(call, slide) if tensors else call
            yield from _each_layout(call, dims, i == 0)
        if dims == 2:
            yield from _over_channels(source, dtype, tensors)

    return calls


def _over_channels(source: Source, dtype: str, tensors: bool) -> Iterator[Call]:
    """Windows over channels instead of space."""
    for group, over in ((2, []), (3, ["channel windows"])):
        plain = source.whole((2, 3, 3, 6), dtype)
        images: list[tuple[Array, list[str]]] = [(plain, [])]
        if is_float(dtype):
            images.append((source.sprinkled(plain, 0.3, np.nan), ["nan"]))
        for x, tags in images:
            attrs: dict[str, Any] = {
                "ksize": [1, 1, 1, group],
                # A stride over space, to which TensorFlow pays no attention.
                "strides": [1, 1, 1, group] if group == 2 else [1, 2, 2, group],
                "padding": "VALID",
            }
            if tensors:
                windows = {
                    name: np.array(attrs.pop(name), np.int32) for name in ("ksize", "strides")
                }
                yield Call({"input": x} | windows, attrs, [*tags, *over])
            else:
                yield Call({"input": x}, attrs, [*tags, *over])


def maximum_grad(
    dims: int, *, explicit: bool = False, tensors: bool = False
) -> Callable[[str, str], Iterator[Call]]:
    """Gradients, which have `grad` in the shape of the output."""

    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        images = list(_images(source, dims, dtype, explicit))
        if dims == 3 and is_float(dtype):
            images += _near_ties(source, dtype)
        for i, (slide, x, tags) in enumerate(images):
            y = _max_pool(x, slide)
            dy = source.whole(y.shape, dtype) if i % 3 else source.whole(y.shape, dtype, 1, 100)
            unwritten = (0,) if dims == 2 and 0 in slide.out else ()
            inputs = {"orig_input": x, "orig_output": y, "grad": dy}
            call = Call(inputs, slide.pooling, tags, unwritten)
            call = _with_tensors(call, slide) if tensors else call
            yield from _each_layout(call, dims, i == 0)
        if is_half(dtype):
            size = 32 if dims == 2 else 8
            slide = plain_slide(dims, n=2 * size - 1, k=size)
            x = np.zeros(_shape(slide, 1, 1), numpy_dtype(dtype))
            x[(0, *(size - 1,) * dims, 0)] = 1
            y = ones((1, *slide.out, 1), dtype)
            call = Call(
                {"orig_input": x, "orig_output": y, "grad": y}, slide.pooling, ["half sums"]
            )
            yield _with_tensors(call, slide) if tensors else call

    return calls


def _near_ties(source: Source, dtype: str) -> Iterator[tuple[Slide, Array, list[str]]]:
    """Numbers that are not equal but nearer than the 1e-5 that TensorFlow's volumes look at."""
    for slide in (plain_slide(3), plain_slide(3, padding="SAME"), plain_slide(3, n=5, k=3, s=2)):
        x = source.whole(_shape(slide, 1, 2), dtype, 1, 9).astype(np.float64) * 1e-6
        yield slide, x.astype(numpy_dtype(dtype)), ["ties"]
        yield slide, (1 + 5 * x).astype(numpy_dtype(dtype)), ["ties"]


def maximum_grad_grad(dims: int, *, tensors: bool = False) -> Callable[[str, str], Iterator[Call]]:
    """Second gradients, which have `grad` in the shape of the input."""

    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        for i, (slide, x, tags) in enumerate(_images(source, dims, dtype, False)):
            inputs = {
                "orig_input": x,
                "orig_output": _max_pool(x, slide),
                "grad": source.whole(x.shape, dtype),
            }
            call = Call(inputs, slide.pooling, tags)
            call = _with_tensors(call, slide) if tensors else call
            yield from _each_layout(call, dims, i == 0)

    return calls


def with_argmax(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, (slide, x, tags) in enumerate(_images(source, 2, dtype, False)):
        attrs = {"Targmax": ("int64", "int32")[i % 2], "include_batch_in_index": i % 4 > 1}
        yield Call({"input": x}, slide.pooling | attrs, tags)


def grad_with_argmax(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i, (slide, x, tags) in enumerate(_images(source, 2, dtype, False)):
        if not {"nan", "inf"} & set(tags):
            yield _grad_with_argmax(source, dtype, slide, x, tags, i % 4 > 1, op)


def _grad_with_argmax(
    source: Source, dtype: str, slide: Slide, x: Array, tags: list[str], whole: bool, op: str
) -> Call:
    shape = (x.shape[0], *slide.out, x.shape[-1])
    attrs = slide.pooling | {"include_batch_in_index": whole}
    if 0 in shape:
        argmax = np.zeros(shape, np.int64)
    else:
        wide = tf.constant(x.astype(np.float64))
        argmax = tf.raw_ops.MaxPoolWithArgmax(input=wide, **attrs).argmax.numpy()
    dy = source.whole(x.shape if op == "MaxPoolGradGradWithArgmax" else shape, dtype)
    return Call({"input": x, "grad": dy, "argmax": argmax}, attrs, tags)


# -- fractional pooling ------------------------------------------------------------------------------

FRACTIONAL = ("float32", "float64", "int32", "int64")


def _fractional(op: str, dtype: str) -> Iterator[tuple[Array, dict[str, Any], list[str]]]:
    source = Source(op, dtype)
    for i in range(96 if dtype == "float32" else 24):
        h, w = (int(n) for n in source.rng.integers(1, 12, 2))
        shape = (1 + i % 2, h, w, (1, 3, 5)[i % 3])
        ratio = [
            1.0,
            *(
                float(min(r, n))
                for r, n in zip(source.rng.uniform(1, 3, 2).round(3), (h, w), strict=True)
            ),
            1.0,
        ]
        attrs = {
            "pooling_ratio": ratio,
            "pseudo_random": i % 2 == 1,
            "overlapping": i % 4 > 1,
            "deterministic": True,
            "seed": 1 + i,
            "seed2": 7 * i,
        }
        if is_float(dtype) and i % 8 == 7:
            x = source.distinct(shape, dtype)
            yield source.sprinkled(x, 0.2, np.nan), attrs, ["nan"]
            yield source.sprinkled(x, 0.4, np.inf, -np.inf), attrs, ["inf"]
            yield np.full_like(x, -np.inf), attrs, ["inf"]
        elif i % 3 == 0 and is_float(dtype):
            yield source.real(shape, dtype), attrs, []
        else:
            yield source.whole(shape, dtype), attrs, ["ties"]
    yield (
        source.whole((0, 4, 4, 1), dtype),
        {"pooling_ratio": [1.0, 2.0, 2.0, 1.0], "deterministic": True, "seed": 1, "seed2": 2},
        ["empty"],
    )


def fractional(op: str, dtype: str) -> Iterator[Call]:
    for x, attrs, tags in _fractional(op, dtype):
        yield Call({"value": x}, attrs, tags)


def fractional_avg_grad(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype, "gradient")
    for x, attrs, tags in _fractional(op, dtype):
        if not {"empty", "nan", "inf"} & set(tags):
            y, rows, columns = (
                t.numpy() for t in tf.raw_ops.FractionalAvgPool(value=tf.constant(x), **attrs)
            )
            inputs = {
                "orig_input_tensor_shape": np.array(x.shape, np.int64),
                "out_backprop": source.whole(y.shape, dtype, -20, 20),
                "row_pooling_sequence": rows,
                "col_pooling_sequence": columns,
            }
            whole = attrs["overlapping"] and not is_float(dtype)
            tags = ["whole numbers where windows overlap"] if whole else []
            yield Call(inputs, {"overlapping": attrs["overlapping"]}, tags)


def fractional_max_grad(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype, "gradient")
    for x, attrs, tags in _fractional(op, dtype):
        if "empty" not in tags:
            y, rows, columns = (
                t.numpy() for t in tf.raw_ops.FractionalMaxPool(value=tf.constant(x), **attrs)
            )
            inputs = {
                "orig_input": x,
                "orig_output": y,
                "out_backprop": source.whole(y.shape, dtype, -20, 20),
                "row_pooling_sequence": rows,
                "col_pooling_sequence": columns,
            }
            small = ["very small images"] if 1 in x.shape[1:3] else []
            yield Call(inputs, {"overlapping": attrs["overlapping"]}, [*tags, *small])


TABLE = {
    "AvgPool": (FLOATS, average("value", 2)),
    "AvgPoolGrad": (FLOATS, average_grad(2)),
    "AvgPool3D": (FLOATS, average("input", 3)),
    "AvgPool3DGrad": (FLOATS, average_grad(3)),
    "MaxPool": (REALS, maximum(2, explicit=True)),
    "MaxPoolV2": (REALS, maximum(2, tensors=True)),
    "MaxPoolGrad": (REALS, maximum_grad(2, explicit=True)),
    "MaxPoolGradV2": (REALS, maximum_grad(2, tensors=True)),
    "MaxPoolGradGrad": (REALS, maximum_grad_grad(2)),
    "MaxPoolGradGradV2": (REALS, maximum_grad_grad(2, tensors=True)),
    "MaxPoolWithArgmax": (REALS, with_argmax),
    "MaxPoolGradWithArgmax": (REALS, grad_with_argmax),
    "MaxPoolGradGradWithArgmax": (REALS, grad_with_argmax),
    "MaxPool3D": (REALS, maximum(3)),
    "MaxPool3DGrad": (REALS, maximum_grad(3)),
    "MaxPool3DGradGrad": (REALS, maximum_grad_grad(3)),
    "FractionalAvgPool": (FRACTIONAL, fractional),
    "FractionalAvgPoolGrad": (FRACTIONAL, fractional_avg_grad),
    "FractionalMaxPool": (FRACTIONAL, fractional),
    "FractionalMaxPoolGrad": (FRACTIONAL, fractional_max_grad),
}
