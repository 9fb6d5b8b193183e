"""How much memory an op's meaning needs in passing, besides its inputs and results.

NumPy makes an array for every step of a computation. The numbers here say how many arrays of the size of the
largest input or output there are at a time at most. They were measured, and a test holds every op to its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from backblocks.dtypes import is_smooth
from backblocks.ops._spec import Spec

_TEMPORARIES = {
    0.5: ("MaxPool MaxPool3D MaxPoolV2"),
    1.0: (
        "ApplyGradientDescent AvgPool AvgPool3D Conv2DBackpropInput DynamicPartition Mean "
        "QueueEnqueueV2 TensorArrayScatterV3 TensorArrayWriteV3"
    ),
    1.5: (
        "AccumulateNV2 AddN Angle ArgMax ArgMin BatchToSpace BatchToSpaceND BiasAdd BiasAddV1 "
        "ClipByValue ComplexAbs Conv Conv2D Conv3D Cross Cumprod Cumsum CumulativeLogsumexp "
        "DepthToSpace DepthwiseConv2dNative Div DivNoNan Elu EluGrad Equal EuclideanNorm FloorDiv "
        "FractionalAvgPool FractionalMaxPool Gather GatherV2 InTopK InTopKV2 InvGrad L2Loss "
        "LeakyRelu LeakyReluGrad LeftShift MatrixBandPart MulNoNan NotEqual ReciprocalGrad "
        "RightShift Rsqrt SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum SeluGrad Sigmoid "
        "SigmoidGrad Softmax SoftmaxCrossEntropyWithLogits SoftplusGrad Softsign SoftsignGrad "
        "SpaceToBatch SpaceToBatchND SpaceToDepth SparseSoftmaxCrossEntropyWithLogits SqrtGrad "
        "StringLength TanhGrad Tile TruncateDiv UnravelIndex Where Xdivy Xlog1py Xlogy"
    ),
    2.0: ("ApproximateEqual Bincount Bucketize LRN LogSoftmax OneHot ReverseSequence"),
    2.5: (
        "ApplyAdagrad ApplyAdagradV2 ApplyMomentum ApplyProximalGradientDescent Dilation2D "
        "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 GatherNd HistogramFixedWidth MirrorPad "
        "QuantizedAvgPool RsqrtGrad Selu SparseSegmentMean SparseSegmentSqrtN SparseSegmentSum "
        "SquaredDifference TopK TopKV2 UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd "
        "UnsortedSegmentSum"
    ),
    3.0: (
        "AvgPool3DGrad AvgPoolGrad Conv2DBackpropFilter Conv3DBackpropFilterV2 DenseBincount "
        "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput "
        "Dilation2DBackpropFilter Dilation2DBackpropInput Einsum FractionalAvgPoolGrad "
        "FractionalMaxPoolGrad FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 "
        "FusedPadConv2D MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad "
        "MaxPoolGradGradV2 MaxPoolGradGradWithArgmax MaxPoolGradV2 MaxPoolGradWithArgmax "
        "MaxPoolWithArgmax SparseToDense"
    ),
    3.5: (
        "ApplyAdaMax DecodeBase64 MirrorPadGrad QuantizedConv2D ScatterUpdate TensorScatterAdd "
        "TensorScatterSub"
    ),
    4.0: ("FusedResizeAndPadConv2D"),
    4.5: ("ApplyAdadelta ApplyAdam ApplyRMSProp StringToNumber"),
    5.0: ("LRNGrad"),
    5.5: ("ApplyAdagradDA ApplyCenteredRMSProp ApplyProximalAdagrad"),
    6.0: ("DecodeRaw EncodeBase64 StringJoin Substr"),
    6.5: ("ApplyFtrl QuantizedBiasAdd Unique UniqueWithCounts"),
    7.0: ("DynamicStitch"),
    8.5: ("QuantizedBatchNormWithGlobalNormalization"),
    9.0: ("Erf TensorScatterUpdate"),
    10.0: ("DecodeCSV Digamma Erfc Erfinv Ndtri"),
    10.5: ("Lgamma"),
    11.0: ("AsString RandomShuffle"),
    11.5: ("Multinomial"),
    13.5: ("ListDiff"),
    15.5: ("Zeta"),
    16.0: ("StringSplitV2"),
    19.5: ("Polygamma"),
    51.5: ("QueueEnqueueManyV2"),
}
_OF_OP = {name: count for count, names in _TEMPORARIES.items() for name in names.split()}

_WIDEST = 8
"""Bytes of a whole number in passing: places and counts are int64, whatever the type of the cells is."""


def temporary_bytes(op: str, tensors: Sequence[Spec]) -> int:
    """What the meaning of an op needs for a call on these inputs and outputs, all of known shape."""
    cells = max((math.prod(spec.sizes) for spec in tensors), default=0)
    smooth = all(is_smooth(spec.dtype) for spec in tensors)
    width = max((spec.dtype.itemsize for spec in tensors), default=1)
    return math.ceil(
        _OF_OP.get(op, 0.0) * cells * (max(width, 4) if smooth else max(width, _WIDEST))
    )
