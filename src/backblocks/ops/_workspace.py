"""How much memory a reference implementation needs for temporaries, besides its inputs and results.

NumPy makes an array for every step of a computation. The numbers here say how many arrays of the size of the
largest input or output there are at a time at most. They were measured, and a test holds every op to its own
in the types of each width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from backblocks.dtypes import is_half, wide
from backblocks.ops._declaration import Declaration
from backblocks.ops._spec import is_known
from backblocks.ops._values import Value, flat

_TEMPORARIES = {
    0: (
        "Abs Acos Acosh Add AddV2 Asin Asinh Atan Atan2 Atanh BiasAddGrad Ceil "
        "Conv3DBackpropFilter Conv3DBackpropInput Conv3DBackpropInputV2 Cos Cosh Exp Expm1 Floor "
        "FloorMod Greater GreaterEqual Inv IsFinite IsInf IsNan Less LessEqual Log Log1p MatMul "
        "Max Maximum Min Minimum Mod Mul Neg Pow Prod RealDiv Reciprocal Relu Relu6 Rint Round "
        "ScatterAdd ScatterMax ScatterMin ScatterMul ScatterNdAdd ScatterNdSub ScatterSub Sign "
        "Sin Sinh Softplus Sqrt Square Sub Sum Tan Tanh TruncateMod"
    ),
    0.5: "BiasAdd BiasAddV1 Equal MaxPool MaxPool3D MaxPoolV2 NotEqual Relu6Grad ReluGrad",
    1.0: (
        "ApplyGradientDescent AvgPool AvgPool3D BatchMatMul BatchMatMulV2 BatchMatMulV3 "
        "Conv2DBackpropInput Mean QueueEnqueueV2 TensorArrayScatterV3 TensorArrayWriteV3"
    ),
    1.5: (
        "AccumulateNV2 Angle ArgMax ArgMin BatchToSpace BatchToSpaceND ClipByValue ComplexAbs "
        "Conv Conv2D Conv3D Cross Cumprod Cumsum CumulativeLogsumexp DepthToSpace "
        "DepthwiseConv2dNative Div DivNoNan Elu EluGrad EuclideanNorm FloorDiv FractionalAvgPool "
        "FractionalMaxPool GatherV2 InTopK InTopKV2 L2Loss LeakyRelu LeakyReluGrad LeftShift "
        "MulNoNan RightShift Rsqrt SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum "
        "SeluGrad Sigmoid Softmax SoftmaxCrossEntropyWithLogits SoftplusGrad Softsign "
        "SoftsignGrad SpaceToBatch SpaceToBatchND SpaceToDepth "
        "SparseSoftmaxCrossEntropyWithLogits StringLength TanhGrad Tile TruncateDiv UnravelIndex "
        "Xdivy Xlog1py Xlogy"
    ),
    2.0: "AddN Bucketize DynamicPartition LRN LogSoftmax OneHot SigmoidGrad",
    2.5: (
        "ApplyMomentum ApproximateEqual Bincount Dilation2D GatherNd HistogramFixedWidth InvGrad "
        "MatrixBandPart MirrorPad QuantizedAvgPool ReciprocalGrad ReverseSequence RsqrtGrad Selu "
        "SparseSegmentMean SparseSegmentSqrtN SparseSegmentSum SqrtGrad SquaredDifference TopK "
        "TopKV2 UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum"
    ),
    3.0: (
        "ApplyAdagrad ApplyAdagradV2 ApplyProximalGradientDescent AvgPool3DGrad AvgPoolGrad "
        "Conv2DBackpropFilter Conv3DBackpropFilterV2 DenseBincount "
        "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput "
        "Dilation2DBackpropFilter Dilation2DBackpropInput Einsum FractionalAvgPoolGrad "
        "FractionalMaxPoolGrad FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 "
        "FusedBatchNormV2 FusedBatchNormV3 FusedPadConv2D MaxPool3DGrad MaxPool3DGradGrad "
        "MaxPoolGrad MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradGradWithArgmax MaxPoolGradV2 "
        "MaxPoolGradWithArgmax MaxPoolWithArgmax SparseToDense"
    ),
    3.5: "ApplyAdaMax DecodeBase64 TensorScatterAdd TensorScatterSub",
    4.0: "FusedResizeAndPadConv2D",
    4.5: "ApplyAdam ApplyRMSProp StringToNumber",
    5.0: "ApplyAdadelta LRNGrad MirrorPadGrad QuantizedConv2D",
    5.5: "ApplyAdagradDA ApplyCenteredRMSProp FusedBatchNorm",
    6.0: "ApplyProximalAdagrad DecodeRaw EncodeBase64 StringJoin Substr",
    6.5: "ApplyFtrl QuantizedBiasAdd Unique UniqueWithCounts",
    9.0: "Erf TensorScatterUpdate",
    10.0: "DecodeCSV Digamma Erfc Erfinv Ndtri QuantizedBatchNormWithGlobalNormalization",
    10.5: "Lgamma",
    11.0: "QuantizedRelu QuantizedRelu6 QuantizedReluX RandomShuffle",
    11.5: "Multinomial",
    13.0: "AsString DynamicStitch",
    15.5: "Zeta",
    16.5: "ListDiff",
    19.5: "Polygamma",
    36.0: "StringSplitV2",
    51.5: "QueueEnqueueManyV2",
}
_OF_OP = {name: count for count, names in _TEMPORARIES.items() for name in names.split()}

_IN_64_BITS = frozenset(
    [
        "Digamma",
        "Div",
        "Erf",
        "Erfc",
        "Erfinv",
        "HistogramFixedWidth",
        "Lgamma",
        "MirrorPad",
        "Ndtri",
        "Polygamma",
        "RandomShuffle",
        "TopK",
        "Zeta",
    ]
)
"""Ops that compute in int64 or float64, whatever the type of their tensors."""

_IN_PLACE_OF = {
    "params": "Gather GatherNd GatherV2",
    "data": "SparseSegmentMean SparseSegmentSqrtN SparseSegmentSum",
    "tensor output": ("TensorScatterAdd TensorScatterSub TensorScatterUpdate"),
    "ref output_ref": (
        "ScatterAdd ScatterMax ScatterMin ScatterMul ScatterNdAdd ScatterNdSub "
        "ScatterNdUpdate ScatterSub ScatterUpdate"
    ),
}
"""Tensors that an op reads or writes some rows of, where they lie: their size does not matter."""
_IN_PLACE = {op: pins.split() for pins, ops in _IN_PLACE_OF.items() for op in ops.split()}


def temporary_bytes(op: Declaration, inputs: Sequence[Value], outputs: Sequence[Value]) -> int:
    """What a reference implementation needs for a call on these Specs, without outputs of unknown size."""
    count = _OF_OP.get(op.name)
    if count is None:
        return 0
    in_place = _IN_PLACE.get(op.name, ())
    pins = zip((*op.inputs, *op.outputs), (*inputs, *outputs), strict=True)
    tensors = [(pin, s) for pin, each in pins for s in flat((each,)) if is_known(s.shape)]
    counted = [spec for pin, spec in tensors if pin.name not in in_place]
    cells: int = max((math.prod(spec.sizes) for spec in counted), default=0)
    width: int = max((wide(spec.dtype).itemsize for spec in counted), default=0)
    # Halves are computed in float32: what is read of them, and results before they are rounded.
    used = [spec for pin, spec in tensors if pin.name not in in_place or pin in op.outputs]
    converted: int = sum(
        math.prod(s.sizes) * wide(s.dtype).itemsize for s in used if is_half(s.dtype)
    )
    return math.ceil(count * cells * (8 if op.name in _IN_64_BITS else width)) + converted
