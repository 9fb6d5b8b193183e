"""Pooling of quantized images, on their codes: the range stays as it is."""

from dataclasses import replace
from typing import Any

import numpy as np

from backblocks.ops._access_maps import AccessMap, Cells
from backblocks.ops._inputs import Array
from backblocks.ops._op import op
from backblocks.ops._spec import Shape, Spec
from backblocks.ops.attrs import SamePadding, Strides, Window
from backblocks.ops.nn._pooling import pool_access, pool_axes, pooled
from backblocks.ops.nn._quantization import CODES, INTEGERS_ONLY, check_range
from backblocks.ops.nn._windows import PLAIN, counts, taps
from backblocks.ops.nn.max_pool import max_pool


def _windows(*, ksize: Window, strides: Strides, padding: SamePadding) -> dict[str, Any]:
    """The attributes of both ops, as those of pooling on real numbers."""
    return {"ksize": ksize, "strides": strides, "padding": padding, **PLAIN}


@op(
    "QuantizedAvgPool",
    "T, float32, float32 -> output: T, min_output: float32, max_output: float32",
    attrs=_windows,
    T=CODES,
)
def quantized_avg_pool(
    input: Array, min_input: Array, max_input: Array, **windows: Any
) -> tuple[Array, Array, Array]:
    """The mean of each window of a quantized image, cut to a whole code toward zero.

    output[n, o, c] = trunc((Σ over j of input[n, o·strides - p + j, c]) / cells)
    min_output = min_input
    max_output = max_input
    where o and j stand for height and width, 0 ≤ j < ksize
    where cells is how many of these cells are inside; padding does not count
    where p is the padding before:
        with SAME ⌊max((⌈size / strides⌉ - 1) · strides + ksize - size, 0) / 2⌋ for an axis of this size

    Padding does not count. `ksize` and `strides` have one entry for each dimension of NHWC.
    """
    axes = pool_axes(input, **_windows(**windows))
    total = np.zeros((len(input), *(a.out for a in axes), input.shape[-1]), np.int64)
    for _, cells, outputs in taps(axes, input):
        total[outputs] += input[cells]
    # NumPy's // cuts toward minus infinity.
    mean = np.sign(total) * (np.abs(total) // counts(axes, np.int64))
    return mean.astype(input.dtype), min_input.copy(), max_input.copy()


@quantized_avg_pool.shape
def _(input: Spec, min_input: Spec, max_input: Spec, **windows: Any) -> tuple[Shape, ...]:
    check_range("min_input", min_input, "max_input", max_input)
    return pooled("input", input, **_windows(**windows)), (), ()


@op(
    "QuantizedMaxPool",
    "T, float32, float32 -> output: T, min_output: float32, max_output: float32",
    attrs=_windows,
    T=CODES,
)
def quantized_max_pool(
    input: Array, min_input: Array, max_input: Array, **windows: Any
) -> tuple[Array, Array, Array]:
    """The largest code of each window of a quantized image.

    output[n, o, c] = max over j of input[n, o·strides - p + j, c]
    min_output = min_input
    max_output = max_input
    where o and j stand for height and width, 0 ≤ j < ksize; padding takes no part
    where p is the padding before:
        with SAME ⌊max((⌈size / strides⌉ - 1) · strides + ksize - size, 0) / 2⌋ for an axis of this size

    Padding never wins. `ksize` and `strides` have one entry for each dimension of NHWC. As in MaxPool,
    a window may lie over channels instead of space.
    """
    return max_pool.reference(input, **_windows(**windows)), min_input.copy(), max_input.copy()


@quantized_max_pool.shape
def _(input: Spec, min_input: Spec, max_input: Spec, **windows: Any) -> tuple[Shape, ...]:
    check_range("min_input", min_input, "max_input", max_input)
    return max_pool.shape_rule(input, **_windows(**windows)), (), ()  # type: ignore[misc]


# -- which cells belong together ------------------------------------------------------------------


def _ways(rule: str, input: Spec, cut: bool = False, **windows: Any) -> list[AccessMap]:
    pins: Any = {"cells": ("input",), "windows": ("output",)}
    (access,) = pool_access(rule, ("input",), input, **pins, **_windows(**windows))
    ends = (
        AccessMap("copy", (given,), {}, {given: Cells(()), end: Cells(())})
        for given, end in (("min_input", "min_output"), ("max_input", "max_output"))
    )
    codes = {"input": ("min_input", "max_input"), "output": ("min_output", "max_output")}
    return [replace(access, codes=codes, cut=cut), *ends]


@quantized_max_pool.cells
def _(y: Any, input: Spec, min_input: Spec, max_input: Spec, **windows: Any) -> list[AccessMap]:
    return _ways("max", input, **windows)


@quantized_avg_pool.cells
def _(y: Any, input: Spec, min_input: Spec, max_input: Spec, **windows: Any) -> list[AccessMap]:
    return _ways("mean", input, cut=True, **windows)


# -- cases ---------------------------------------------------------------------------------------

_image = np.array([[10, 20, 30], [40, 50, 60], [70, 80, 95]], np.uint8).reshape(1, 3, 3, 1)
_signed = np.array([[-3, -4]], np.int8).reshape(1, 1, 2, 1)
_unit: dict[str, Any] = {"min_input": np.float32(-1), "max_input": np.float32(1)}
_twos: dict[str, Any] = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "SAME"}
_pairs: dict[str, Any] = {"ksize": (1, 1, 2, 1), "strides": (1, 1, 2, 1), "padding": "VALID"}


def _codes(*rows: list[int]) -> Array:
    return np.array(rows).reshape(1, len(rows), -1, 1)


quantized_avg_pool.case(
    "borders count their real cells",
    input=_image,
    **_unit,
    **_twos,
    out=(_codes([30, 45], [75, 95]), -1, 1),
)
quantized_avg_pool.case(
    "cut toward zero", input=_signed, **_unit, **_pairs, out=(_codes([-3]), -1, 1)
)
quantized_max_pool.case(
    "2 x 2 windows", input=_image, **_unit, **_twos, out=(_codes([50, 60], [80, 95]), -1, 1)
)
quantized_max_pool.case(
    "padding never wins", input=_signed, **_unit, **_twos, out=(_codes([-3]), -1, 1)
)
quantized_max_pool.case(
    "the larger of two channels",
    input=np.array([1, 7, 5, 2], np.int16).reshape(1, 1, 1, 4),
    **_unit,
    ksize=(1, 1, 1, 2),
    strides=(1, 1, 1, 2),
    padding="VALID",
    out=(np.array([7, 5]).reshape(1, 1, 1, 2), -1, 1),
)

_advisories = {quantized_avg_pool: "CVE-2022-35966", quantized_max_pool: "CVE-2022-21739"}
for _each, _advisory in _advisories.items():
    _each.no_gradient(INTEGERS_ONLY)
    _each.case(
        "an empty batch keeps its range",
        input=_image[:0],
        **_unit,
        **_twos,
        out=(np.zeros((0, 2, 2, 1)), -1, 1),
    )
    _bad: dict[str, Any] = {"input": _image, **_unit, **_twos}
    _each.fails(
        f"{_advisory}: an empty range", **_bad | {"min_input": np.zeros(0, "f4")}, error="a scalar"
    )
    _each.fails("a range of vectors", **_bad | {"max_input": np.ones(1, "f4")}, error="a scalar")
    _each.fails(
        "a range upside down", **_bad | {"min_input": np.float32(2)}, error="not be below min_input"
    )
    _each.fails(
        "a range without an end", **_bad | {"max_input": np.float32(np.inf)}, error="finite"
    )
    _each.fails("a range of no number", **_bad | {"min_input": np.float32(np.nan)}, error="finite")
    _each.fails("a window of no size", **_bad | {"ksize": (1, 0, 2, 1)}, error="at least 1")
    _each.fails("no rank 4", **_bad | {"input": _image[0]}, error="4 dimensions")
    _each.fails("a window over the batch", **_bad | {"ksize": (2, 1, 1, 1)}, error="1 for batch")
    _each.differs(
        "types",
        tensorflow="Has kernels for quint8 and qint8 only.",
        ours="Takes every quantized type.",
    )
    _each.differs(
        "ranges",
        tensorflow="Accepts any range: upside down, infinite, NaN, or too narrow for float32.",
        ours="Refuses those.",
    )
quantized_avg_pool.differs(
    "rounding",
    at="cut",
    tensorflow="Cuts toward zero, but rounds to the nearest code where oneDNN is on.",
    ours="Cuts toward zero.",
    agree="Set TF_ENABLE_ONEDNN_OPTS=0.",
)
quantized_avg_pool.differs(
    "a window of no size",
    tensorflow="The process ends with a division by zero.",
    ours="Refuses it.",
)
