"""Blocks of space moved into the batch (space-to-batch) or into the channels (space-to-depth), and back."""

import math
from typing import Any

import numpy as np

from backblocks.dtypes import NUMBERS_AND_BOOL, VALUES
from backblocks.errors import OpError, described
from backblocks.ops._access_maps import AccessMap, Cells, loop, over
from backblocks.ops._inputs import Array
from backblocks.ops._op import Value, op
from backblocks.ops._spec import Shape, Size, Spec, agreed, ranked, shape_text
from backblocks.ops.array.shapes import INDEX
from backblocks.ops.attrs import ImageLayout, Int
from backblocks.ops.nn._windows import channels_last, in_layout


def _geometry(
    input: Spec, block_shape: Spec, pairs: Spec, arg: str
) -> tuple[int | None, list[int] | None, list[list[int]] | None]:
    """How many axes are cut into blocks, the blocks' sizes, and the padding or crops of each axis.

    None for what is not known yet.
    """
    (count,) = ranked("block_shape", block_shape, 1)
    rows, _ = agreed(
        arg,
        Spec(ranked(arg, pairs, 2, "one row an axis: before, after"), pairs.dtype),
        (count, 2),
        "a row of 2 entries for each block size",
        "Use [0, 0] for an axis that is to stay as it is.",
    ) or (None, None)
    count = rows if count is None else count
    if count is not None and input.shape is not None and len(input.shape) <= count:
        raise OpError(
            f"must have a batch axis and {count} to be cut into blocks",
            arg="input",
            got=described(f"shape {shape_text(input.shape)}"),
            hint="Give block_shape an entry for each axis after the first, or fewer.",
        )
    blocks = None if block_shape.value is None else block_shape.value.tolist()
    if blocks is not None and min(blocks, default=1) < 1:
        hint = "Use 1 for an axis that is to stay as it is."
        raise OpError("every entry must be at least 1", arg="block_shape", got=blocks, hint=hint)
    values = None if pairs.value is None else pairs.value.tolist()
    for pair in values or ():
        if min(pair) < 0:
            raise OpError("must not be negative", arg=arg, got=pair, hint="Use 0 for none.")
    return count, blocks, values


@op(
    "SpaceToBatchND",
    "T, Tblock_shape, Tpaddings -> T",
    T=NUMBERS_AND_BOOL,
    Tblock_shape=INDEX,
    Tpaddings=INDEX,
)
def space_to_batch_nd(input: Array, block_shape: Array, paddings: Array) -> Array:
    """`input` (batch, *space, *rest) padded with zeros, cut into blocks, and the blocks taken apart.

    output[b·batch + n, o, …] = input[n, o·block_shape + k - p, …], or 0 outside
    where o and k stand for all axes in blocks, 0 ≤ k < block_shape, and p is paddings[:, 0]
    where b is the number of k in row-major order, and batch is the first size of input

    Every cell of a block goes into an image of its own: those of all first cells come first.
    """
    blocks, count = block_shape.tolist(), len(block_shape)
    kept = [(0, 0)] * (input.ndim - 1 - count)
    x = np.pad(input, [(0, 0), *paddings.tolist(), *kept])
    batch, sizes, rest = x.shape[0], x.shape[1 : count + 1], x.shape[count + 1 :]
    outer = [n // k for n, k in zip(sizes, blocks, strict=True)]
    # (batch, *(blocks, cells of a block), *rest), and the cells go in front.
    apart = x.reshape(batch, *(n for pair in zip(outer, blocks, strict=True) for n in pair), *rest)
    cells, space = range(2, 2 * count + 1, 2), range(1, 2 * count, 2)
    moved = apart.transpose(*cells, 0, *space, *range(2 * count + 1, apart.ndim))
    return moved.reshape(batch * math.prod(blocks), *outer, *rest)


@space_to_batch_nd.shape
def _(input: Spec, block_shape: Spec, paddings: Spec) -> Shape:
    count, blocks, pads = _geometry(input, block_shape, paddings, "paddings")
    if input.shape is None or count is None or blocks is None or pads is None:
        return _unknown(input.shape, count)
    sizes: list[Size] = []
    for n, k, pair in zip(input.shape[1:], blocks, pads, strict=False):
        if n is not None and (n + sum(pair)) % k:
            raise OpError(
                f"must make the size {n} with padding {pair} a multiple of the block size {k}",
                arg="paddings",
                got=pads,
                hint=f"Add {-(n + sum(pair)) % k} more.",
            )
        sizes.append(None if n is None else (n + sum(pair)) // k)
    batch = input.shape[0]
    times = math.prod(blocks)
    return (None if batch is None else batch * times, *sizes, *input.shape[count + 1 :])


def _unknown(shape: Shape, count: int | None) -> Shape:
    """What is known of a result while the blocks are not."""
    if shape is None:
        return None
    changed = len(shape) if count is None else count + 1
    return (*[None] * changed, *shape[changed:])


@space_to_batch_nd.grad
def _(dy: Value, y: Value, input: Value, block_shape: Value, paddings: Value) -> list[Value]:
    return [batch_to_space_nd(dy, block_shape, paddings), None, None]


@op(
    "BatchToSpaceND",
    "T, Tblock_shape, Tcrops -> T",
    T=NUMBERS_AND_BOOL,
    Tblock_shape=INDEX,
    Tcrops=INDEX,
)
def batch_to_space_nd(input: Array, block_shape: Array, crops: Array) -> Array:
    """Undoes SpaceToBatchND: blocks put together from images of the batch, and their borders cut off.

    output[n, o·block_shape + k - p, …] = input[b·batch + n, o, …]
    where o and k stand for all axes in blocks, 0 ≤ k < block_shape, and p is crops[:, 0]
    where b is the number of k in row-major order, and batch is the first size of output
    """
    blocks, count = block_shape.tolist(), len(block_shape)
    batch = input.shape[0] // math.prod(blocks)
    apart = input.reshape(*blocks, batch, *input.shape[1:])
    pairs = (axis for i in range(count) for axis in (count + 1 + i, i))
    joined = apart.transpose(count, *pairs, *range(2 * count + 1, apart.ndim))
    sizes = [n * k for n, k in zip(input.shape[1 : count + 1], blocks, strict=True)]
    x = joined.reshape(batch, *sizes, *input.shape[count + 1 :])
    inside = (slice(a, n - b) for n, (a, b) in zip(sizes, crops.tolist(), strict=True))
    return x[(slice(None), *inside)]


@batch_to_space_nd.shape
def _(input: Spec, block_shape: Spec, crops: Spec) -> Shape:
    count, blocks, cut = _geometry(input, block_shape, crops, "crops")
    if input.shape is None or count is None or blocks is None or cut is None:
        return _unknown(input.shape, count)
    batch, times = input.shape[0], math.prod(blocks)
    if batch is not None and batch % times:
        raise OpError(
            f"must have a batch of a multiple of {times}, the cells of a block",
            arg="input",
            got=batch,
            hint="Use the block_shape of SpaceToBatchND.",
        )
    sizes: list[Size] = []
    for n, k, pair in zip(input.shape[1:], blocks, cut, strict=False):
        if n is not None and n * k < sum(pair):
            hint = "Use the paddings of SpaceToBatchND."
            raise OpError(f"must leave something of {n * k}", arg="crops", got=pair, hint=hint)
        sizes.append(None if n is None else n * k - sum(pair))
    return (None if batch is None else batch // times, *sizes, *input.shape[count + 1 :])


@batch_to_space_nd.grad
def _(dy: Value, y: Value, input: Value, block_shape: Value, crops: Value) -> list[Value]:
    return [space_to_batch_nd(dy, block_shape, crops), None, None]


def _block_cells(
    small: str, large: str, of: str, large_sizes: tuple[int, ...], blocks: Array, pairs: Array
) -> list[AccessMap]:
    """The cells of the pin `small`, many images without blocks, and of `large`, which has borders more."""
    count = len(blocks)
    padded = large_sizes[1 : count + 1] + pairs.sum(1)
    outer = (padded // blocks).tolist()
    batch, rest = large_sizes[0], large_sizes[count + 1 :]
    loops, at = over((batch, *blocks.tolist(), *outer, *rest))
    n, cell, space = at[0], at[1 : count + 1], at[count + 1 : 2 * count + 1]
    image, times = n, batch
    for k, size in zip(reversed(cell), reversed(blocks.tolist()), strict=True):
        image, times = k * times + image, times * size
    inner = (
        s * int(k) + c - int(before)
        for s, c, k, before in zip(space, cell, blocks, pairs[:, 0], strict=True)
    )
    cells = {
        small: Cells((image, *space, *at[2 * count + 1 :])),
        large: Cells((n, *inner, *at[2 * count + 1 :])),
    }
    return [AccessMap("copy", (of,), loops, cells)]


@space_to_batch_nd.cells
def _(y: Spec, input: Spec, block_shape: Spec, paddings: Spec) -> list[AccessMap]:
    blocks, pads = block_shape.contents, paddings.contents
    return _block_cells("output", "input", "input", input.sizes, blocks, pads)


@batch_to_space_nd.cells
def _(y: Spec, input: Spec, block_shape: Spec, crops: Spec) -> list[AccessMap]:
    blocks, cut = block_shape.contents, crops.contents
    return _block_cells("input", "output", "input", y.sizes, blocks, cut)


_image = np.array([[[1.0], [2], [3], [4]], [[5], [6], [7], [8]]])[None]  # 2 rows of 4
_parts = np.array([[[[1.0], [3]]], [[[2], [4]]], [[[5], [7]]], [[[6], [8]]]])
_none = np.zeros((2, 2), np.int32)
space_to_batch_nd.case(
    "blocks of two by two", input=_image, block_shape=np.array([2, 2]), paddings=_none, out=_parts
)
space_to_batch_nd.case(
    "one axis, padded in front",
    input=np.array([[1.0, 2, 3]]),
    block_shape=np.array([2], np.int32),
    paddings=np.array([[1, 0]]),
    out=np.array([[0.0, 2], [1, 3]]),
)
batch_to_space_nd.case(
    "blocks of two by two", input=_parts, block_shape=np.array([2, 2]), crops=_none, out=_image
)
batch_to_space_nd.case(
    "one axis, cut in front",
    input=np.array([[0.0, 2], [1, 3]]),
    block_shape=np.array([2], np.int32),
    crops=np.array([[1, 0]]),
    out=np.array([[1.0, 2, 3]]),
)
for _op, _arg in ((space_to_batch_nd, "paddings"), (batch_to_space_nd, "crops")):
    _op.case(
        "no blocks",
        input=np.array([1.0, 2]),
        block_shape=np.zeros(0, np.int32),
        **{_arg: np.zeros((0, 2), np.int32)},
        out=np.array([1.0, 2]),
    )
    _op.fails(
        "a block of no size", input=_parts, block_shape=[0, 2], **{_arg: _none}, error="at least 1"
    )
    _op.fails(
        "a row missing", input=_parts, block_shape=[1, 1], **{_arg: [[0, 0]]}, error="row of 2"
    )
    _op.fails(
        "negative", input=_parts, block_shape=[1], **{_arg: [[-1, 1]]}, error="not be negative"
    )
    _op.fails(
        "too few axes", input=[1.0], block_shape=[1], **{_arg: [[0, 0]]}, error="a batch axis and 1"
    )
space_to_batch_nd.fails(
    "no multiple", input=_image, block_shape=[3], paddings=[[0, 0]], error="a multiple of"
)
batch_to_space_nd.fails(
    "no multiple", input=_parts, block_shape=[3], crops=[[0, 0]], error="a multiple of 3"
)
batch_to_space_nd.fails(
    "more than there is", input=_parts, block_shape=[2], crops=[[2, 1]], error="leave something"
)


@op("SpaceToBatch", "T, Tpaddings -> T", T=NUMBERS_AND_BOOL, Tpaddings=INDEX)
def space_to_batch(input: Array, paddings: Array, *, block_size: Int) -> Array:
    """SpaceToBatchND of images (batch, height, width, channels), with square blocks.

    output[(k·block_size + l)·batch + n, i, j, c] = input[n, y, x, c], or 0 outside
    where y = i · block_size + k - paddings[0, 0] and x = j · block_size + l - paddings[1, 0]
    where 0 ≤ k, l < block_size, and batch is the first size of input
    """
    return np.asarray(space_to_batch_nd.reference(input, np.full(2, block_size), paddings))


@op("BatchToSpace", "T, Tidx -> T", T=NUMBERS_AND_BOOL, Tidx=INDEX)
def batch_to_space(input: Array, crops: Array, *, block_size: Int) -> Array:
    """Undoes SpaceToBatch: blocks put together from images of the batch, and their borders cut off.

    output[n, y, x, c] = input[(k·block_size + l)·batch + n, i, j, c]
    where y = i · block_size + k - crops[0, 0] and x = j · block_size + l - crops[1, 0]
    where 0 ≤ k, l < block_size, and batch is the first size of output
    """
    return np.asarray(batch_to_space_nd.reference(input, np.full(2, block_size), crops))


def _square(input: Spec, block_size: int) -> Spec:
    ranked("input", input, 4, "batch, height, width, channels")
    if block_size < 2:
        hint = "Leave the op out where nothing is to be cut."
        raise OpError("must be at least 2", arg="block_size", got=block_size, hint=hint)
    return Spec.of(np.full(2, block_size))


@space_to_batch.shape
def _(input: Spec, paddings: Spec, *, block_size: int) -> Shape:
    shape: Shape = space_to_batch_nd.shape_rule(input, _square(input, block_size), paddings)  # type: ignore[misc]
    return shape


@batch_to_space.shape
def _(input: Spec, crops: Spec, *, block_size: int) -> Shape:
    shape: Shape = batch_to_space_nd.shape_rule(input, _square(input, block_size), crops)  # type: ignore[misc]
    return shape


@space_to_batch.cells
def _(y: Spec, input: Spec, paddings: Spec, *, block_size: int) -> list[AccessMap]:
    blocks = np.full(2, block_size)
    return _block_cells("output", "input", "input", input.sizes, blocks, paddings.contents)


@batch_to_space.cells
def _(y: Spec, input: Spec, crops: Spec, *, block_size: int) -> list[AccessMap]:
    blocks = np.full(2, block_size)
    return _block_cells("input", "output", "input", y.sizes, blocks, crops.contents)


@space_to_batch.grad
def _(dy: Value, y: Value, input: Value, paddings: Value, *, block_size: int) -> list[Value]:
    return [batch_to_space(dy, paddings, block_size=block_size), None]


@batch_to_space.grad
def _(dy: Value, y: Value, input: Value, crops: Value, *, block_size: int) -> list[Value]:
    return [space_to_batch(dy, crops, block_size=block_size), None]


space_to_batch.case("blocks of two by two", input=_image, paddings=_none, block_size=2, out=_parts)
batch_to_space.case("blocks of two by two", input=_parts, crops=_none, block_size=2, out=_image)
for _each, _arg in ((space_to_batch, "paddings"), (batch_to_space, "crops")):
    _each.case(
        "no images",
        input=np.zeros((0, 2, 2, 1)),
        **{_arg: _none},
        block_size=2,
        out=np.zeros((0, 1, 1, 1) if _each is space_to_batch else (0, 4, 4, 1)),
    )
    _each.fails("no blocks", input=_image, **{_arg: _none}, block_size=1, error="at least 2")
    _each.fails("a row", input=np.zeros(4), **{_arg: _none}, block_size=2, error="4 dimensions")
space_to_batch.fails(
    "cells left over", input=_image[:, :1], paddings=_none, block_size=2, error="multiple"
)
batch_to_space.fails("too few images", input=_image, crops=_none, block_size=2, error="multiple")


# -- into the channels -----------------------------------------------------------------------------


def _layout(input: Spec, block_size: int, data_format: str) -> tuple[list[Size], list[int]]:
    """The sizes, and which axes are height, width and channels."""
    if block_size < 2:
        raise OpError("must be at least 2", arg="block_size", got=block_size, hint="Use 2 or more.")
    order = "batch, height, width, channels"
    if data_format == "NCHW":
        order = "batch, channels, height, width"
    axes = [1, 2, 3] if data_format == "NHWC" else [2, 3, 1]
    return list(ranked("input", input, 4, order)), axes


def _divided(size: Size, by: int, what: str) -> Size:
    if size is not None and size % by:
        rule = f"must have a {what} that is a multiple of {by}"
        raise OpError(rule, arg="input", got=size, hint="Pad it, or use another block_size.")
    return None if size is None else size // by


def _times(size: Size, by: int) -> Size:
    return None if size is None else size * by


@op("SpaceToDepth", "T -> T", T=VALUES)
def space_to_depth(input: Array, *, block_size: Int, data_format: ImageLayout = "NHWC") -> Array:
    """Images whose channels are all cells of a block: a smaller image with more channels.

    output[n, i, j, (k·block_size + l)·d + c] = input[n, i·block_size + k, j·block_size + l, c]
    where 0 ≤ k, l < block_size, and d is how many channels input has
    with NCHW the channels stand second: input[n, c, y, x]
    """
    x = input if data_format == "NHWC" else input.transpose(0, 2, 3, 1)
    k, (n, h, w, c) = block_size, x.shape
    apart = x.reshape(n, h // k, k, w // k, k, c).transpose(0, 1, 3, 2, 4, 5)
    out = apart.reshape(n, h // k, w // k, k * k * c)
    return out if data_format == "NHWC" else out.transpose(0, 3, 1, 2)


@space_to_depth.shape
def _(input: Spec, *, block_size: int, data_format: str) -> Shape:
    sizes, (h, w, c) = _layout(input, block_size, data_format)
    sizes[h] = _divided(sizes[h], block_size, "height")
    sizes[w] = _divided(sizes[w], block_size, "width")
    sizes[c] = _times(sizes[c], block_size**2)
    return tuple(sizes)


@space_to_depth.grad
def _(dy: Value, y: Value, input: Value, **how: Any) -> list[Value]:
    return [depth_to_space(dy, **how)]


@op("DepthToSpace", "T -> T", T=VALUES)
def depth_to_space(input: Array, *, block_size: Int, data_format: ImageLayout = "NHWC") -> Array:
    """Undoes SpaceToDepth: channels laid out as blocks, a larger image with fewer channels.

    output[n, i·block_size + k, j·block_size + l, c] = input[n, i, j, (k·block_size + l)·d + c]
    where 0 ≤ k, l < block_size, and d is how many channels output has
    with NCHW the channels stand second: input[n, c, y, x]
    """
    x = input if data_format == "NHWC" else input.transpose(0, 2, 3, 1)
    k, (n, h, w, c) = block_size, x.shape
    apart = x.reshape(n, h, w, k, k, c // k**2).transpose(0, 1, 3, 2, 4, 5)
    out = apart.reshape(n, h * k, w * k, c // k**2)
    return out if data_format == "NHWC" else out.transpose(0, 3, 1, 2)


@depth_to_space.shape
def _(input: Spec, *, block_size: int, data_format: str) -> Shape:
    sizes, (h, w, c) = _layout(input, block_size, data_format)
    sizes[h] = _times(sizes[h], block_size)
    sizes[w] = _times(sizes[w], block_size)
    sizes[c] = _divided(sizes[c], block_size**2, "number of channels")
    return tuple(sizes)


@depth_to_space.grad
def _(dy: Value, y: Value, input: Value, **how: Any) -> list[Value]:
    return [space_to_depth(dy, **how)]


def _depth_cells(
    deep: str, wide: str, deep_sizes: tuple[int, ...], block_size: int, data_format: str
) -> list[AccessMap]:
    """The cells of the pin `deep`, whose channels are blocks, and of the pin `wide`, which has them."""
    n, h, w, c = channels_last(deep_sizes, data_format)
    k = block_size
    loops = {"n": n, "h": h, "w": w, "kh": k, "kw": k, "c": c // k**2}
    at = {name: loop(name) for name in loops}
    image, channel = at["n"], at["c"]
    channels = at["kh"] * (k * loops["c"]) + at["kw"] * loops["c"] + channel
    places = {
        deep: (image, at["h"], at["w"], channels),
        wide: (image, at["h"] * k + at["kh"], at["w"] * k + at["kw"], channel),
    }
    cells = {
        pin: Cells(in_layout(place, data_format), axes=data_format) for pin, place in places.items()
    }
    return [AccessMap("copy", ("input",), loops, cells)]


@space_to_depth.cells
def _(y: Spec, input: Spec, *, block_size: int, data_format: str) -> list[AccessMap]:
    return _depth_cells("output", "input", y.sizes, block_size, data_format)


@depth_to_space.cells
def _(y: Spec, input: Spec, *, block_size: int, data_format: str) -> list[AccessMap]:
    return _depth_cells("input", "output", input.sizes, block_size, data_format)


_deep = np.array([[[[1.0, 2, 5, 6], [3, 4, 7, 8]]]])
space_to_depth.case("blocks of two by two", input=_image, block_size=2, out=_deep)
depth_to_space.case("blocks of two by two", input=_deep, block_size=2, out=_image)
for _op, _in, _out in (
    (space_to_depth, _image, _deep),
    (depth_to_space, _deep, _image),
):
    _op.case(
        "channels first",
        input=np.moveaxis(_in, 3, 1),
        block_size=2,
        data_format="NCHW",
        out=np.moveaxis(_out, 3, 1),
    )
    _op.differs(
        "formats",
        at="layout",
        tensorflow="NHWC only on the CPU.",
        ours="NHWC and NCHW, every dtype.",
    )
    _op.fails("no multiple", input=_in, block_size=3, error="a multiple of")
    _op.fails("blocks of one", input=_in, block_size=1, error="at least 2")
    _op.fails("a lone image", input=_in[0], block_size=2, error="4 dimensions")
