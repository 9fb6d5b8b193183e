"""Where ours is meant to answer a call in another way than TensorFlow's CPU kernel, and why.

An entry has patterns for the op and for the name of the call. One that no call needs is an error.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Difference(NamedTuple):
    op: str
    call: str
    because: str

    def covers(self, op: str, call: str) -> bool:
        return bool(re.fullmatch(self.op, op) and re.fullmatch(self.call, call))


POOL_2D = "AvgPool(Grad)?|MaxPool(V2|WithArgmax|GradWithArgmax)?"
DEPTHWISE_GRAD = "DepthwiseConv2dNativeBackprop(Input|Filter)"
FRACTIONAL_GRAD = "Fractional(Avg|Max)PoolGrad"
GRAD_SHAPE = "a gradient has the shape of the forward result"

STRICTER = [
    Difference(POOL_2D, r"strides\[3\].*", "a stride over channels would be ignored"),
    Difference("AvgPoolGrad", r"ksize\[[12]\]=(0|-1)", "a window has at least one cell"),
    Difference("AvgPool(3D)?Grad", r"(grad\.dim|orig_input_shape\[).*", GRAD_SHAPE),
    Difference("AvgPool3DGrad", r"strides\[2\]=2|padding=SAME", GRAD_SHAPE),
    Difference("MaxPool", "VALID with explicit_paddings given", "paddings would be ignored"),
    Difference("MaxPoolGrad(Grad)?V2", "(ksize|strides): rank 2.*", "a window is one list"),
    Difference("Conv2D", r"input\.dim3=0", "a filter with channels meets at least as many"),
    Difference("DepthwiseConv2dNative", r"filter\.dim1=0", "a filter has at least one cell"),
    Difference("DepthwiseConv2dNative.*", "dilations: .*", "one entry for each dimension"),
    Difference(DEPTHWISE_GRAD, r"dilations\[[03]\]=.*", "no dilation of batch or channels"),
    Difference(DEPTHWISE_GRAD, r"dilations\[.\]=(0|-1|2\^31)", "a dilation is an int32 from 1"),
    Difference(DEPTHWISE_GRAD, r"dilations\[[12]\]=.*", GRAD_SHAPE + ", dilation included"),
    Difference("Dilation2D", r"rates\[[12]\]=(0|-1)", "a rate is at least 1"),
    Difference("Dilation2D", r"filter\.dim[01]=0", "a filter has at least one cell"),
    Difference(FRACTIONAL_GRAD, r"out_backprop(\.dim|: rank).*", GRAD_SHAPE),
    Difference(FRACTIONAL_GRAD, r"orig_input_tensor_shape\[.*", "sequences end with the input"),
    Difference(FRACTIONAL_GRAD, "..._pooling_sequence: .*", "cuts from first cell to last"),
]
"""TensorFlow gives an answer, ours refuses."""

WIDER = [
    Difference("MaxPoolWithArgmax", r"input\.dim[03]=0", "an empty batch gives an empty result"),
    Difference("FractionalMaxPool", r"value\.dim3=0", "no channels give an empty result"),
    Difference("MaxPool3D", "input: float64.*", "all real types in every max pool"),
    Difference("MaxPool", "CVE-2022-35989 case 1", "empty, as TensorFlow answers it in NHWC"),
    Difference("Conv3D", r"filter\.dim4=0", "empty, as Conv2D answers it"),
    Difference("Conv3D", r"dilations\[[123]\]=2", "dilations in every convolution"),
    Difference("DepthwiseConv2dNative", r"dilations\[[12]\]=2", "dilations in every convolution"),
    Difference("DepthwiseConv2dNative", r"strides\[[12]\]=(2|1000|2\^31-1)", "strides may differ"),
]
"""TensorFlow refuses, ours gives an answer."""


def find(table: list[Difference], op: str, call: str) -> Difference | None:
    return next((entry for entry in table if entry.covers(op, call)), None)
