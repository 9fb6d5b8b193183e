"""Problems of the benchmark, parsed from lines such as `MaxPool3DGrad f32 ndhwc 1x64x64x64x32 k2 s2 SAME`."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from backblocks.dtypes import BY_NAME, DType
from backblocks.errors import OpError, nearest
from backblocks.ops.nn._windows import Axis, Sliding, channels_last, in_layout

TYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}


class OpKind(NamedTuple):
    """The role of an op: its input tensors by argument name, and its result.

    x is the forward input, f the filter, y the forward result; dx, df, dy are gradients of a loss with
    respect to them, ddx and ddy go the other way in the second gradient. `#x` is the shape of x.
    """

    family: str
    space: int
    arguments: dict[str, str]
    result: str

    @property
    def formats(self) -> tuple[str, ...]:
        return FORMATS[self.space][:1] if self.family == "dilation" else FORMATS[self.space]

    @property
    def is_convolution(self) -> bool:
        return self.family in ("conv", "depthwise")


def _kinds() -> dict[str, OpKind]:
    kinds: dict[str, OpKind] = {}
    of_max = {"orig_input": "x", "orig_output": "y"}
    for space, d in ((2, ""), (3, "3D")):
        kinds[f"MaxPool{d}"] = OpKind("max", space, {"input": "x"}, "y")
        kinds[f"MaxPool{d}Grad"] = OpKind("max", space, {**of_max, "grad": "dy"}, "dx")
        kinds[f"MaxPool{d}GradGrad"] = OpKind("max", space, {**of_max, "grad": "ddx"}, "ddy")
        kinds[f"AvgPool{d}"] = OpKind("avg", space, {"input" if d else "value": "x"}, "y")
        kinds[f"AvgPool{d}Grad"] = OpKind(
            "avg", space, {"orig_input_shape": "#x", "grad": "dy"}, "dx"
        )
    for family, name, v2 in (
        ("conv", "Conv2D", ""),
        ("conv", "Conv3D", "V2"),
        ("depthwise", "DepthwiseConv2dNative", ""),
    ):
        space = 3 if "3D" in name else 2
        kinds[name] = OpKind(family, space, {"input": "x", "filter": "f"}, "y")
        to_input = {"input_sizes": "#x", "filter": "f", "out_backprop": "dy"}
        kinds[f"{name}BackpropInput{v2}"] = OpKind(family, space, to_input, "dx")
        to_filter = {"input": "x", "filter_sizes": "#f", "out_backprop": "dy"}
        kinds[f"{name}BackpropFilter{v2}"] = OpKind(family, space, to_filter, "df")
    both = {"input": "x", "filter": "f"}
    kinds["Dilation2D"] = OpKind("dilation", 2, both, "y")
    for result, name in (("dx", "Input"), ("df", "Filter")):
        kinds[f"Dilation2DBackprop{name}"] = OpKind(
            "dilation", 2, {**both, "out_backprop": "dy"}, result
        )
    return kinds


OP_KINDS = _kinds()
FORMATS = {2: ("nhwc", "nchw"), 3: ("ndhwc", "ncdhw")}


@dataclass(frozen=True)
class Problem:
    """The geometry of one call of an op. `str` gives the line that `parse` reads."""

    op: str
    type: str
    format: str
    shape: tuple[int, ...]
    k: tuple[int, ...]
    s: tuple[int, ...]
    padding: str
    out_channels: int | None = None
    d: tuple[int, ...] = ()
    groups: int = 1

    def __str__(self) -> str:
        ones = (1,) * self.kind.space
        words = [self.op, self.type, self.format, "x".join(map(str, self.shape))]
        words += [f"-> {self.out_channels}"] if self.out_channels else []
        words += [f"k{_sizes_text(self.k)}", f"s{_sizes_text(self.s)}"]
        words += [f"d{_sizes_text(self.d)}"] if self.d not in ((), ones) else []
        words += [f"g{self.groups}"] if self.groups > 1 else []
        return " ".join([*words, self.padding])

    @property
    def kind(self) -> OpKind:
        return OP_KINDS[self.op]

    @property
    def dtype(self) -> DType:
        return BY_NAME[TYPES[self.type]]

    @property
    def is_pool(self) -> bool:
        return self.kind.family in ("max", "avg")

    @property
    def channels_first(self) -> bool:
        return self.format[1] == "c"

    @property
    def data_format(self) -> str:
        return self.format.upper()

    @property
    def dilations(self) -> tuple[int, ...]:
        return self.d or (1,) * self.kind.space

    @property
    def last(self) -> tuple[int, ...]:
        """The sizes of the forward input as (batch, *space, channels)."""
        return channels_last(self.shape, self.data_format)

    @property
    def axes(self) -> list[Axis]:
        """The window geometry of each spatial axis."""
        none = ((0, 0),) * self.kind.space
        sliding = Sliding(self.k, self.s, self.dilations, self.padding, none, "k")
        return sliding.axes(self.last[1:-1])

    def sizes(self, tensor: str) -> tuple[int, ...]:
        """The shape of one of the tensors of OpKind."""
        batch, *_, channels = self.last
        out = self.out_channels or channels
        match tensor[-1]:
            case "x":
                return self.shape
            case "y":
                return in_layout((batch, *(a.out for a in self.axes), out), self.data_format)
            case _ if self.kind.family == "depthwise":
                return (*self.k, channels, out // channels)
            case _ if self.kind.family == "dilation":
                return (*self.k, channels)
            case _:
                return (*self.k, channels // self.groups, out)

    def nbytes(self, tensor: str) -> int:
        return math.prod(self.sizes(tensor)) * self.dtype.itemsize

    @property
    def read(self) -> list[str]:
        """The tensors that must be read. Gradients of max pools take y, but can be computed without it."""
        given = self.kind.arguments.values()
        return [tensor for tensor in given if tensor != "y" and not tensor.startswith("#")]

    @property
    def bytes_moved(self) -> int:
        """Compulsory memory traffic: each input read once, the result written once."""
        return sum(map(self.nbytes, [*self.read, self.kind.result]))

    @property
    def flops(self) -> int:
        """Multiplications and additions of a convolution, without those on padding; 0 for all else."""
        return self._flops(math.prod(map(_real, self.axes)))

    @property
    def nominal_flops(self) -> int:
        """Operations as usually counted, those on padding included, which a kernel may leave out."""
        return self._flops(math.prod(a.out * a.k for a in self.axes))

    def _flops(self, window_cells: int) -> int:
        if not self.kind.is_convolution:
            return 0
        *_, each_in, out = self.sizes("f")
        channels = self.last[-1] * out if self.kind.family == "depthwise" else each_in * out
        return 2 * self.last[0] * window_cells * channels

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the raw op, in backblocks as in TensorFlow."""
        of_all = {"strides": self._with_ones(self.s), "padding": self.padding}
        if self.kind.family == "dilation":
            return of_all | {"rates": self._with_ones(self.dilations)}
        of_all["data_format"] = self.data_format
        if self.is_pool:
            return {"ksize": self._with_ones(self.k), **of_all}
        return of_all | {"dilations": self._with_ones(self.dilations)}

    def _with_ones(self, space: tuple[int, ...]) -> list[int]:
        return list(in_layout((1, *space, 1), self.data_format))

    def arguments(self, tensors: dict[str, Any]) -> dict[str, Any]:
        """The arguments of the raw op, in backblocks as in TensorFlow."""
        given: dict[str, Any] = {}
        for name, tensor in self.kind.arguments.items():
            given[name] = list(self.sizes(tensor)) if tensor[0] == "#" else tensors[tensor]
        return given | self.attributes

    def with_type(self, type: str) -> Problem:
        return dataclasses.replace(self, type=type)

    def with_channels_last(self) -> Problem:
        format = FORMATS[self.kind.space][0]
        return dataclasses.replace(self, format=format, shape=self.last)

    def shrunk(self, most: int = 6) -> Problem:
        """The same problem on a small tensor, for tests."""
        batch, *space, channels = self.last
        fitting = [
            min(n, max(most, (k - 1) * d + 1))
            for n, k, d in zip(space, self.k, self.dilations, strict=True)
        ]
        few = max(channels // max(channels // 4, 1), 1)
        out = None
        if self.out_channels:
            out = few * (self.out_channels // channels) if self.kind.family == "depthwise" else 6
        groups = min(self.groups, 2)
        few += few % groups
        shape = in_layout((min(batch, 2), *fitting, few), self.data_format)
        return dataclasses.replace(self, shape=shape, out_channels=out, groups=groups)


def _real(axis: Axis) -> int:
    """How many taps of all windows along an axis read the input and no padding."""
    return sum(outputs.stop - outputs.start for _, _, outputs in axis.taps())


# -- reading a line ---------------------------------------------------------------------------


def parse(line: str) -> Problem:
    """The problem that a line describes. An OpError names the word at fault."""
    words = line.replace("->", " -> ").split()
    if len(words) < 4:
        raise OpError(
            "must begin with op, type, format and shape",
            arg="problem",
            got=line,
            hint="Write one such as MaxPool3DGrad f32 ndhwc 1x64x64x64x32 k2 s2 SAME.",
        )
    op, type, format, shape_word, *rest = words
    _choose("op", op, list(OP_KINDS))
    kind = OP_KINDS[op]
    _choose("type", type, list(TYPES))
    _choose("format", format, list(kind.formats), f"for {op}")
    rank = kind.space + 2
    shape = _sizes("shape", shape_word, shape_word)
    if len(shape) != rank:
        raise OpError(
            f"must have {rank} sizes for {format}",
            arg="shape",
            got=shape_word,
            hint=f"Write them in the order {format}, such as {'x'.join(['8'] * rank)}.",
        )
    given = _options(kind, rest)
    problem = Problem(
        op,
        type,
        format,
        shape,
        given["k"],
        given.get("s", (1,) * kind.space),
        given["padding"],
        given.get("->"),
        given.get("d", ()),
        given.get("g", 1),
    )
    _check(problem)
    return problem


def _options(kind: OpKind, words: list[str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    key: str
    value: Any
    rest = iter(words)
    for word in rest:
        if word == "->":
            key, value = "->", _count("->", next(rest, "nothing"))
        elif word in ("SAME", "VALID"):
            key, value = "padding", word
        elif re.match(r"[ksd]\d", word):
            key, value = word[0], _each_axis(word, kind.space)
        elif re.match(r"g\d", word):
            key, value = "g", _count("g", word[1:])
        else:
            raise OpError(
                "is not a word of a problem",
                arg=word,
                hint="After the shape come -> 64, k3, s2, d2, g4, and SAME or VALID.",
            )
        if key in given:
            raise OpError("was given twice", arg=key, got=word, hint="Leave out one of the two.")
        given[key] = value
    for key in ("->", "d", "g"):
        dilated = key == "d" and kind.family == "dilation"
        if key in given and not (kind.is_convolution or dilated):
            raise OpError("is only for convolutions", arg=key, hint="Leave it out.")
    if kind.family == "depthwise" and "g" in given:
        raise OpError("is not for depthwise convolutions", arg="g", hint="Leave it out.")
    needed = {"k": "k3", "padding": "SAME or VALID"}
    if kind.is_convolution:
        needed["->"] = "-> 64"
    for key, example in needed.items():
        if key not in given:
            raise OpError("must be given", arg=key, hint=f"Write {example}.")
    return given


def _check(problem: Problem) -> None:
    channels, out = problem.last[-1], problem.out_channels
    if problem.kind.family == "depthwise" and out and out % channels:
        raise OpError(
            f"must be a multiple of the {channels} channels that go in",
            arg="->",
            got=out,
            hint=f"Write -> {channels}.",
        )
    if channels % problem.groups or (out and out % problem.groups):
        raise OpError(
            f"must divide the channels, {channels} and {out}",
            arg="g",
            got=problem.groups,
            hint="Write fewer groups or other channels.",
        )
    for axis, k in zip(problem.axes, problem.k, strict=True):
        if axis.out < 1:
            raise OpError(
                f"a window of {(k - 1) * axis.d + 1} does not fit in {axis.n}",
                arg="k",
                got=k,
                hint="Write SAME or a smaller window.",
            )


def _choose(arg: str, word: str, known: list[str], where: str = "") -> None:
    if word not in known:
        near = nearest(word, known) or known[0]
        rule = " or ".join(known) if len(known) <= 4 else "an op of the benchmark"
        raise OpError(
            f"must be {rule}{where and ' '}{where}", arg=arg, got=word, hint=f"Write {near}."
        )


def _each_axis(word: str, space: int) -> tuple[int, ...]:
    sizes = _sizes(word[0], word[1:], word)
    if len(sizes) not in (1, space):
        raise OpError(
            f"must have 1 number or {space}, one for each axis of space",
            arg=word[0],
            got=word,
            hint=f"Write {word[0]}{sizes[0]} or {word[0]}{'x'.join(['2'] * space)}.",
        )
    return sizes * (space // len(sizes))


def _sizes(arg: str, text: str, word: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[1-9]\d{0,8}(x[1-9]\d{0,8})*", text):
        raise OpError(
            "must be whole numbers from 1 on with x between them",
            arg=arg,
            got=word,
            hint="Write such as 1x64x64x32.",
        )
    return tuple(map(int, text.split("x")))


def _count(arg: str, text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise OpError(
            "must be a whole number from 1 on", arg=arg, got=text, hint="Write such as 64."
        )
    return int(text)


def _sizes_text(sizes: tuple[int, ...]) -> str:
    return str(sizes[0]) if len(set(sizes)) == 1 else "x".join(map(str, sizes))
