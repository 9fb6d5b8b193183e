"""Calls of the quantized ops: integers that stand for real numbers in a given range."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from vectors.convolution import CHANNELS, shift_tags
from vectors.data import QUANTIZED, Call, Codes, Source, scalar
from vectors.windows import Slide, empty_slide, plain_slide, shaped, slides

Calls = Callable[[str, str], Iterator[Call]]

RANGES = ((0.0, 1.0), (-1.0, 1.0), (0.0, 255.0), (-3.0, 6.5), (-0.3, 12.7))
ODD_RANGES = {
    "range below zero": (-5.0, -1.0),
    "range above zero": (1.0, 5.0),
    "range of no width": (2.0, 2.0),
    "ranges": (1.0, -1.0),
}


def codes(source: Source, shape: tuple[int, ...], dtype: str) -> Codes:
    """Any codes of the type; of the wide one, those around the middle."""
    plain = QUANTIZED[dtype]
    info = np.iinfo(plain)
    low, high = (-(2**20), 2**20) if dtype == "qint32" else (info.min, info.max)
    return Codes(source.rng.integers(low, high + 1, shape).astype(plain), dtype)


def _range(name: str, low: float, high: float, after: bool = False) -> dict[str, np.ndarray]:
    """The two scalars that say what real numbers the codes of input `name` stand for."""
    names = (f"{name}_min", f"{name}_max") if after else (f"min_{name}", f"max_{name}")
    return {names[0]: scalar(low), names[1]: scalar(high)}


def pool(over_channels: bool) -> Calls:
    def calls(op: str, dtype: str) -> Iterator[Call]:
        source = Source(op, dtype)
        every = list(slides(source, 2))
        for i, slide in enumerate(every if dtype == "quint8" else every[::3]):
            batch, channels = shaped(slide, i)
            x = codes(source, (batch, *slide.n, channels), dtype)
            yield Call({"input": x, **_range("input", *RANGES[i % 5])}, slide.pooling, slide.tags)
        empties = (
            (plain_slide(2), (0, 3, 3, 2)),
            (plain_slide(2), (2, 3, 3, 0)),
            (empty_slide(2), (1, 2, 2, 3)),
        )
        for slide, shape in empties:
            yield Call(
                {"input": codes(source, shape, dtype), **_range("input", 0, 1)},
                slide.pooling,
                ["empty"],
            )
        for tag, (low, high) in ODD_RANGES.items():
            x = codes(source, (1, 3, 3, 2), dtype)
            yield Call({"input": x, **_range("input", low, high)}, plain_slide(2).pooling, [tag])
        if over_channels:
            attrs = {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "VALID"}
            x = codes(source, (1, 2, 3, 4), dtype)
            yield Call({"input": x, **_range("input", 0, 1)}, attrs, ["channel windows"])

    return calls


def convolution(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)

    def call(
        i: int, slide: Slide, of: tuple[float, float], by: tuple[float, float], *tags: str
    ) -> Call:
        ins, outs, _ = CHANNELS[i % 5]
        inputs = {
            "input": codes(source, (1 + i % 2, *slide.n, ins), dtype),
            "filter": codes(source, (*slide.k, ins, outs), dtype),
            **_range("input", *of),
            **_range("filter", *by),
        }
        return Call(inputs, slide.attrs, [*shift_tags(slide), *tags])

    every = list(slides(source, 2, one_stride=True))
    for i, slide in enumerate(every):
        yield call(i, slide, RANGES[i % 5], RANGES[i // 5 % 5])
    for i, slide in enumerate(every[::9]):
        for tag, odd in ODD_RANGES.items():
            below = ["padding of an image below 0"] if max(odd) < 0 else []
            yield call(i, slide, odd, RANGES[i % 5], tag, *below)
            yield call(i, slide, RANGES[i % 5], odd, tag)


def bias_add(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i in range(40):
        shape = ((2, 3), (1, 1), (2, 3, 5), (1, 2, 2, 9), (0, 3))[i % 5]
        inputs = {"input": codes(source, shape, dtype), "bias": codes(source, shape[-1:], dtype)}
        ranges = _range("input", *RANGES[i % 5]) | _range("bias", *RANGES[i // 5 % 5])
        yield Call(inputs | ranges, {"out_type": "qint32"}, ["empty"] if 0 in shape else [])
    for tag, odd in ODD_RANGES.items():
        inputs = {"input": codes(source, (4, 5), dtype), "bias": codes(source, (5,), dtype)}
        yield Call(
            inputs | _range("input", *odd) | _range("bias", 0, 1), {"out_type": "qint32"}, [tag]
        )
        yield Call(
            inputs | _range("input", 0, 1) | _range("bias", *odd), {"out_type": "qint32"}, [tag]
        )


def relu(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    more = {"max_value": scalar(4)} if op == "QuantizedReluX" else {}
    for i in range(30):
        shape = ((), (9,), (3, 5), (2, 3, 1, 4), (0, 3))[i % 5]
        x = codes(source, shape, dtype)
        ranges = _range("features", *RANGES[i // 5 % 5])
        yield Call(
            {"features": x, **more, **ranges}, {"out_type": dtype}, ["empty"] if 0 in shape else []
        )
    for tag, odd in ODD_RANGES.items():
        x = codes(source, (20,), dtype)
        yield Call({"features": x, **more, **_range("features", *odd)}, {"out_type": dtype}, [tag])


def batch_norm(op: str, dtype: str) -> Iterator[Call]:
    source = Source(op, dtype)
    for i in range(48):
        shape = ((1, 1, 1, 2), (2, 3, 1, 3), (1, 2, 2, 5), (0, 2, 2, 3))[i % 4]
        inputs = {}
        for name, low, high in (
            ("t", *RANGES[i % 5]),
            ("m", -1.0, 1.0),
            ("v", 0.5, 4.0),
            ("beta", -2.0, 2.0),
            ("gamma", 0.0, 1.0),
        ):
            inputs[name] = codes(source, shape if name == "t" else shape[-1:], dtype)
            inputs |= _range(name, low, high, after=True)
        attrs = {
            "out_type": "qint32",
            "variance_epsilon": (1e-3, 0.1)[i % 2],
            "scale_after_normalization": i % 3 > 0,
        }
        yield Call(inputs, attrs, ["empty"] if 0 in shape else [])


TYPES = tuple(QUANTIZED)
TABLE = {
    "QuantizedAvgPool": (TYPES, pool(over_channels=False)),
    "QuantizedMaxPool": (TYPES, pool(over_channels=True)),
    # qint8 filters are left out: without oneDNN their kernel gives back nothing at all.
    "QuantizedConv2D": (TYPES, convolution),
    "QuantizedBiasAdd": (TYPES, bias_add),
    "QuantizedRelu": (TYPES, relu),
    "QuantizedRelu6": (TYPES, relu),
    "QuantizedReluX": (TYPES, relu),
    "QuantizedBatchNormWithGlobalNormalization": (TYPES, batch_norm),
}
