"""Convolution of images that are first resized, or continued by their mirror image, in one op."""

from dataclasses import replace
from typing import Any

import numpy as np

from backblocks.dtypes import FLOATS, wide
from backblocks.errors import OpError, described
from backblocks.ops import _kernels
from backblocks.ops._access_maps import AccessMap, Cells, Factor, held, loop
from backblocks.ops._inputs import Array
from backblocks.ops._op import KernelFunction, Value, op
from backblocks.ops._spec import Shape, Size, Spec, ranked, shape_text, sizes_from
from backblocks.ops._values import refuse_what_cannot_fit
from backblocks.ops.array.mirror_pad import (
    Mirror,
    mirror_cells,
    mirror_pad,
    mirror_pad_grad,
    mirror_places,
    mirrored,
    mirrored_shape,
)
from backblocks.ops.array.shapes import shape_of
from backblocks.ops.attrs import Flag, SamePadding, Strides
from backblocks.ops.nn._convolution import conv_access, convolved, native_conv
from backblocks.ops.nn._windows import PLAIN
from backblocks.ops.nn.conv import conv_2d_backprop_filter, conv_2d_backprop_input, convolve

_PLAIN = {**PLAIN, "dilations": (1, 1, 1, 1)}


def _padded_conv(x: Array, paddings: Array, filter: Array, mode: str, **windows: Any) -> Array:
    return convolve(mirrored(x, paddings, mode), filter, **windows, **_PLAIN)


def _padded_conv_shape(
    shape: tuple[Size, ...], paddings: Spec, filter: Spec, *, mode: str, **windows: Any
) -> Shape:
    padded = mirrored_shape(shape, paddings, mode)
    if paddings.value is not None and paddings.value[[0, 3]].any():
        raise OpError(
            "must be 0 for batch and channels",
            arg="paddings",
            got=paddings.value,
            hint="Pad only height and width, as in [[0, 0], [1, 1], [1, 1], [0, 0]].",
        )
    # The result may be small even though what is in between is not.
    refuse_what_cannot_fit("paddings", [Spec(padded, wide(filter.dtype))])
    return convolved("input", Spec(padded, filter.dtype), "filter", filter, **windows, **_PLAIN)


@op("FusedPadConv2D", "T, int32, T -> T", T=FLOATS)
def fused_pad_conv_2d(
    input: Array,
    paddings: Array,
    filter: Array,
    *,
    mode: Mirror,
    strides: Strides,
    padding: SamePadding,
) -> Array:
    """Continues an image by its mirror image, then slides a filter over it and sums the products.

    output[n, o, k] = Σ over j, c of x[n, o·strides - p + j, c] · filter[j, c, k]
    where x = MirrorPad(input, paddings, mode)
    where o and j stand for height and width, with p as in Conv2D; cells outside add nothing

    It is MirrorPad and then Conv2D. `paddings` has a row (before, after) for each dimension of NHWC.
    `padding` is that of the convolution: SAME adds zeros around the mirror image.
    """
    return _padded_conv(input, paddings, filter, mode, strides=strides, padding=padding)


@fused_pad_conv_2d.shape
def _(input: Spec, paddings: Spec, filter: Spec, **how: Any) -> Shape:
    return _padded_conv_shape(ranked("input", input, 4, "as in NHWC"), paddings, filter, **how)


@fused_pad_conv_2d.grad
def _(
    dy: Value,
    y: Value,
    input: Value,
    paddings: Value,
    filter: Value,
    *,
    mode: str,
    **windows: Any,
) -> list[Value]:
    padded = mirror_pad(input, paddings, mode=mode)
    d_padded = conv_2d_backprop_input(shape_of(padded), filter, dy, **windows)
    return [
        mirror_pad_grad(d_padded, paddings, mode=mode),
        None,
        conv_2d_backprop_filter(padded, shape_of(filter), dy, **windows),
    ]


@op("FusedResizeAndPadConv2D", "T, int32, int32, T -> T", T=FLOATS)
def fused_resize_and_pad_conv_2d(
    input: Array,
    size: Array,
    paddings: Array,
    filter: Array,
    *,
    mode: Mirror,
    strides: Strides,
    padding: SamePadding,
    resize_align_corners: Flag = False,
) -> Array:
    """Resizes an image to `size`, continues it by its mirror image, then slides a filter over it.

    output[n, o, k] = Σ over j, c of x[n, o·strides - p + j, c] · filter[j, c, k]
    where x = MirrorPad(r, paddings, mode)
    where r[n, i, c] is input[n, i·old / size, c], from the two nearest cells along height and width
    where o and j stand for height and width, with p as in Conv2D; cells outside add nothing
    with resize_align_corners it is input[n, i·(old - 1) / (size - 1), c]

    Values in between are interpolated along both axes. With `resize_align_corners` the corner cells
    keep their values; otherwise only the first does. For the rest see FusedPadConv2D.
    """
    x = _resized(input, size, resize_align_corners)
    return _padded_conv(x, paddings, filter, mode, strides=strides, padding=padding)


def _resized(x: Array, size: Array, align_corners: bool) -> Array:
    """Images of another height and width, in the type of sums."""
    x = x.astype(wide(x.dtype), copy=False)
    for axis, new in enumerate(size.tolist(), 1):
        x = _resized_along(x, axis, new, align_corners)
    return x


def _resized_along(x: Array, axis: int, new: int, align_corners: bool) -> Array:
    """`x` with `new` cells along an axis, interpolated between the two that are nearest.

    Places are in float32 for every type, as in TensorFlow.
    """
    first, second, shares = _between(x.shape[axis], new, align_corners)
    before, after = x.take(first, axis), x.take(second, axis)
    share = shares.astype(x.dtype).reshape(-1, *(1,) * (x.ndim - axis - 1))
    return np.asarray(before + (after - before) * share)


def _between(n: int, new: int, align_corners: bool) -> tuple[Array, Array, Array]:
    """For each new cell the two of `n` it stands between, and how far it is on the way to the second."""
    gaps = (n - 1, new - 1) if align_corners and new > 1 else (n, new)
    place = np.arange(new, dtype=np.float32) * (np.float32(gaps[0]) / np.float32(gaps[1]))
    whole = np.floor(place)
    first, second = (np.minimum(whole.astype(int) + step, n - 1) for step in (0, 1))
    return first, second, place - whole


@fused_resize_and_pad_conv_2d.shape
def _(
    input: Spec,
    size: Spec,
    paddings: Spec,
    filter: Spec,
    *,
    resize_align_corners: bool,
    **how: Any,
) -> Shape:
    batch, *space, channels = ranked("input", input, 4, "as in NHWC")
    if 0 in space:
        raise OpError(
            "must have at least one cell to resize",
            arg="input",
            got=described(shape_text(input.shape)),
            hint="Leave out images without rows or columns.",
        )
    hint = "Give the height and the width to resize to."
    new = sizes_from("size", size, [2], hint)
    if 0 in new:
        raise OpError("sizes must be at least 1", arg="size", got=new, hint=hint)
    resized = (batch, *new, channels)
    refuse_what_cannot_fit("size", [Spec(resized, wide(input.dtype))])
    return _padded_conv_shape(resized, paddings, filter, **how)


fused_resize_and_pad_conv_2d.no_gradient(
    "Resize the image before and use FusedPadConv2D, which has a gradient."
)


# -- which cells belong together ------------------------------------------------------------------


@fused_pad_conv_2d.cells
def _(
    y: Spec, input: Spec, paddings: Spec, filter: Spec, *, mode: str, **windows: Any
) -> list[AccessMap]:
    padded = Spec(mirrored_shape(input.shape, paddings, mode), input.dtype)
    x, f = ("input", padded), ("filter", filter)
    (access,) = conv_access(x, f, "output", ("input", "filter"), **windows, **_PLAIN)
    shown, tables = mirror_cells(access.cells["input"].at, input.sizes, paddings, mode)
    cells = {**access.cells, "input": Cells(shown, axes="NHWC")}
    return [replace(access, cells=cells, tables=tables)]


@fused_resize_and_pad_conv_2d.cells
def _(
    y: Spec,
    input: Spec,
    size: Spec,
    paddings: Spec,
    filter: Spec,
    *,
    mode: str,
    resize_align_corners: bool,
    **windows: Any,
) -> list[AccessMap]:
    """A cell of the resized image stands between two along each axis, the loops `bh` and `bw`."""
    batch, *space, channels = input.sizes
    new = size.contents.tolist()
    padded = Spec(mirrored_shape((batch, *new, channels), paddings, mode), input.dtype)
    x, f = ("input", padded), ("filter", filter)
    (access,) = conv_access(x, f, "output", ("input", "filter"), **windows, **_PLAIN)
    read, pads = access.cells["input"].at, paddings.contents.tolist()
    place, tables, loops, factors = list(read), {}, dict(access.loops), []
    for axis, (letter, n) in enumerate(zip("hw", space, strict=True), 1):
        mirror = mirror_places(new[axis - 1], pads[axis], mode)
        before, after, share = _between(n, new[axis - 1], resize_align_corners)
        both = np.stack([before, np.where(share > 0, after, -1)])[:, mirror]
        tables[f"cells along {letter}"] = tuple(both.ravel().tolist())
        loops[f"b{letter}"] = 2
        along = loop(f"b{letter}") * len(mirror) + read[axis]
        place[axis] = held(f"cells along {letter}", along)
        shares = np.stack([1 - share.astype(float), share])[:, mirror]
        factors.append(Factor(tuple(shares.ravel().tolist()), along))
    cells = {**access.cells, "input": Cells(tuple(place), axes="NHWC")}
    inside = (Cells(read, padded.sizes),)
    return [AccessMap("sum", access.of, loops, cells, tables, inside, tuple(factors))]


# -- the compiled kernels -------------------------------------------------------------------------


def _native_padded(
    shape: Shape, paddings: Spec, filter: Spec, *, mode: str, **windows: Any
) -> _kernels.Prepared | None:
    padded = mirrored_shape(shape, paddings, mode)
    return native_conv(_kernels.conv, padded, filter.shape, filter.dtype, **windows, **_PLAIN)


@fused_pad_conv_2d.kernel("native")
def _(
    input: Spec, paddings: Spec, filter: Spec, *, mode: str, **windows: Any
) -> KernelFunction | None:
    conv = _native_padded(input.shape, paddings, filter, mode=mode, **windows)
    return conv and (lambda x, pads, f, y: conv(mirrored(x, pads, mode), f, y))


@fused_resize_and_pad_conv_2d.kernel("native")
def _(
    input: Spec,
    size: Spec,
    paddings: Spec,
    filter: Spec,
    *,
    mode: str,
    resize_align_corners: bool,
    **windows: Any,
) -> KernelFunction | None:
    # Half types stay in the type of sums after resizing, and the kernel has no filters for that.
    if input.shape is None or wide(input.dtype) != input.dtype:
        return None
    batch, *_, channels = input.shape
    resized = (batch, *sizes_from("size", size, [2]), channels)
    conv = _native_padded(resized, paddings, filter, mode=mode, **windows)
    return conv and (
        lambda x, new, pads, f, y: conv(
            mirrored(_resized(x, new, resize_align_corners), pads, mode), f, y
        )
    )


# -- cases ---------------------------------------------------------------------------------------


def _row(*values: float) -> Array:
    return np.array(values, float).reshape(1, 1, -1, 1)


_ones = np.ones((1, 3, 1, 1))
_sides = [[0, 0], [0, 0], [1, 1], [0, 0]]
_slide: dict[str, Any] = {"strides": (1, 1, 1, 1), "padding": "VALID"}
_batch = np.arange(8.0).reshape(2, 2, 2, 1)

fused_pad_conv_2d.case(
    "sums of three, mirrored about the border cell",
    input=_row(1, 2, 4),
    paddings=_sides,
    filter=_ones,
    mode="REFLECT",
    **_slide,
    out=_row(5, 7, 8),
)
fused_pad_conv_2d.case(
    "sums of three, the border cell twice",
    input=_row(1, 2, 4),
    paddings=_sides,
    filter=_ones,
    mode="SYMMETRIC",
    **_slide,
    out=_row(4, 7, 10),
)
fused_pad_conv_2d.case(
    "zeros around the mirror image",
    input=_row(1, 2),
    paddings=_sides,
    filter=_ones,
    mode="REFLECT",
    strides=(1, 1, 1, 1),
    padding="SAME",
    out=_row(3, 5, 4, 3),
)
fused_pad_conv_2d.case(
    "each image of a batch for itself",
    input=_batch,
    paddings=[[0, 0], [1, 0], [0, 1], [0, 0]],
    filter=np.full((1, 1, 1, 1), 2.0),
    mode="REFLECT",
    strides=(1, 2, 1, 1),
    padding="VALID",
    out=np.array([4.0, 6, 4, 4, 6, 4, 12, 14, 12, 12, 14, 12]).reshape(2, 2, 3, 1),
)
fused_pad_conv_2d.case(
    "stride larger than window",
    input=_row(0, 1, 2, 3, 4, 5),
    paddings=np.zeros((4, 2), np.int32),
    filter=np.ones((1, 1, 1, 1)),
    mode="REFLECT",
    strides=(1, 3, 3, 1),
    padding="SAME",
    out=_row(0, 3),
)
fused_pad_conv_2d.case(
    "an empty batch",
    input=_batch[:0],
    paddings=np.zeros((4, 2), np.int32),
    filter=np.ones((1, 1, 1, 1)),
    mode="REFLECT",
    **_slide,
    out=_batch[:0],
)

_still: dict[str, Any] = {
    "paddings": np.zeros((4, 2), np.int32),
    "filter": np.ones((1, 1, 1, 1)),
    "mode": "REFLECT",
    **_slide,
}
fused_resize_and_pad_conv_2d.case(
    "twice as wide",
    input=_row(1, 3),
    size=[1, 4],
    **_still,
    out=_row(1, 2, 3, 3),
)
fused_resize_and_pad_conv_2d.case(
    "corners stay",
    input=_row(1, 4),
    size=[1, 4],
    **_still,
    resize_align_corners=True,
    out=_row(1, 2, 3, 4),
)
fused_resize_and_pad_conv_2d.case(
    "both ways, then mirrored, each image for itself",
    input=_batch,
    size=[1, 1],
    **_still | {"paddings": [[0, 0], [1, 0], [0, 1], [0, 0]], "mode": "SYMMETRIC"},
    out=np.repeat([0.0, 4], 4).reshape(2, 2, 2, 1),
)
fused_resize_and_pad_conv_2d.case(
    "sums of three after resizing",
    input=_row(1, 3),
    size=[1, 4],
    **_still | {"paddings": _sides, "filter": _ones},
    out=_row(5, 6, 8, 9),
)
fused_resize_and_pad_conv_2d.fails(
    "CVE-2022-41885: too large to be counted",
    input=_row(1, 3),
    size=[2**31 - 1, 2**31 - 1],
    **_still,
    error="counted|GiB",
)
fused_resize_and_pad_conv_2d.fails(
    "a size of nothing",
    input=_row(1, 3),
    size=[0, 4],
    **_still,
    error="at least 1",
)
fused_resize_and_pad_conv_2d.fails(
    "a size below nothing",
    input=_row(1, 3),
    size=[1, -4],
    **_still,
    error="not be negative",
)
fused_resize_and_pad_conv_2d.fails(
    "one size",
    input=_row(1, 3),
    size=[4],
    **_still,
    error="2 entries",
)
fused_resize_and_pad_conv_2d.fails(
    "an image of nothing",
    input=_row(),
    size=[1, 4],
    **_still,
    error="at least one cell",
)

for _each in (fused_pad_conv_2d, fused_resize_and_pad_conv_2d):
    _bad: dict[str, Any] = {"input": _row(1, 3), **_still}
    if _each is fused_resize_and_pad_conv_2d:
        _bad["size"] = [1, 2]
    _each.fails("no batch", **_bad | {"input": _row(1, 3)[0]}, error="4 dimensions")
    _each.fails(
        "further than the mirror reaches",
        **_bad | {"paddings": [[0, 0], [0, 0], [2, 0], [0, 0]]},
        error="between 0 and 1",
    )
    _each.fails(
        "cutting instead",
        **_bad | {"paddings": [[0, 0], [0, 0], [-1, 0], [0, 0]]},
        error="between 0 and 1",
    )
    _each.fails(
        "a mirrored batch",
        **_bad | {"mode": "SYMMETRIC", "paddings": [[1, 0], *_sides[1:]]},
        error="0 for batch",
    )
    _each.fails("paddings of another shape", **_bad | {"paddings": [[0, 0]]}, error="a row of 2")
    _each.fails(
        "a filter of no size", **_bad | {"filter": np.ones((0, 1, 1, 1))}, error="no empty axis"
    )
    _each.fails(
        "channels that do not meet",
        **_bad | {"filter": np.ones((1, 1, 2, 1))},
        error="divide the 1",
    )
    _each.differs(
        "batches",
        at="later image",
        tensorflow="Every image of the result is computed from the first.",
        ours="Each image from its own.",
        agree="Compare one image at a time.",
    )
    _each.differs(
        "unused cells and stride > window",
        at="apart",
        tensorflow="Padding becomes negative and shifts every window.",
        ours="As in Conv2D, padding is never negative.",
        agree="Use strides no larger than the filter, with at most 2 cells unused.",
    )
    _each.differs(
        "empty",
        tensorflow="Refuses empty batches and empty results; a filter without rows "
        "leaves whatever was in memory.",
        ours="Empty gives empty; such a filter is refused.",
    )
    _each.differs(
        "half sums",
        at="half",
        tensorflow="float16 results are off by up to a few units in the last place.",
        ours="Sums are kept in float32 and rounded once.",
    )
    _each.differs(
        "groups",
        at="dilated",
        tensorflow="Refuses a filter with fewer channels than the image.",
        ours="Takes it as groups, as in Conv2D.",
    )
fused_pad_conv_2d.differs(
    "rank",
    tensorflow="The process ends when the image has no batch dimension.",
    ours="Refuses it.",
)
fused_pad_conv_2d.differs("gradient", tensorflow="Has none.", ours="Has one, and a second one.")
fused_resize_and_pad_conv_2d.differs(
    "types",
    tensorflow="Has no bfloat16, and interpolates float16 in float16.",
    ours="Takes bfloat16, and interpolates both in float32.",
)
