"""Which ops a general test does not hold for, each with the reason: the only such list of `tests/ops`.

A test asserts that what it could not try is what stands here, so an entry that is no longer needed fails too.
"""

from backblocks.ops import REGISTRY
from backblocks.ops._op import zero_gradient

_HANDLE = (
    "what a handle stands for has no value in another type; tests/graph/test_queues.py and its like"
)
_FED = "it has no value outside of a run; tests/graph"
_FILES = "its result is a file; tests/ops/test_checkpoints.py"
_CODES = (
    "its numbers are codes, which stand for other numbers in every type; tests/ops/test_vectors.py"
)
_BRANCH = "it has a gradient where it took an input only; tests/graph/test_branches.py"
_TENSOR_ARRAYS = [
    name
    for name, op in REGISTRY.items()
    if name.startswith("TensorArray") and op.gradient not in (None, zero_gradient)
]
_COMPLEX = "it has complex numbers at one end; tests/ops/test_complex.py has their slopes"
_UNRECORDED = "its other types were never put to TensorFlow's CPU kernel"

GRADIENT_ELSEWHERE = {
    "Switch": _BRANCH,
    **dict.fromkeys(_TENSOR_ARRAYS, "a handle has no slope; tests/graph/test_tensor_arrays.py"),
}
"""Ops whose gradient is not compared with a slope by the general tests."""

GRADIENT = {
    "Complex": _COMPLEX,
    "PreventGradient": "refusing a gradient is its purpose",
}
"""Ops with a gradient that is not compared with a slope in real numbers."""

SECOND_GRADIENT = {
    **GRADIENT,
    "Dilation2D": "TensorFlow has no op that picks the value at each window's winner",
    "FractionalAvgPool": "TensorFlow has no op that takes the mean of windows with given borders",
    "FractionalMaxPool": "TensorFlow has no op that picks the value at the winners of such windows",
    "Merge": _BRANCH,
}
"""Ops that can be differentiated once only."""

REFUSES_GRADIENT = {
    (
        "MaxPool3DGrad",
        "every near-tie, as TensorFlow's CPU kernel",
    ): "it counts ties more than once",
}
"""Worked cases of an op with a gradient that refuse to be differentiated."""

GRADIENT_OF_UNKNOWN = {
    **dict.fromkeys(("Merge: values", "Merge: sizes", "Merge: rank"), _BRANCH),
    **{
        f"PreventGradient: {unknown}": GRADIENT["PreventGradient"]
        for unknown in ("values", "sizes", "rank")
    },
    "GatherV2: values": "its gradient needs the axis",
    "GatherV2: sizes": "its gradient needs the axis",
    "GatherV2: rank": "its gradient needs the axis, and ranks",
    "Gather: rank": "its gradient is GatherV2's, which needs ranks",
    "SparseToDense: rank": "its gradient depends on the rank of the indices",
}
"""Gradients that must know more of the inputs than this: their values, sizes or rank."""

NOT_FLAT = {
    "StopGradient": "dropping the gradient is its purpose",
    "OneHot": "TensorFlow gives on_value and off_value no gradient",
    "Range": "TensorFlow gives start and delta no gradient",
    "RandomShuffle": "TensorFlow has no gradient for it",
    "DecodeCSV": "its numbers are defaults of empty fields; TensorFlow has no gradient for it",
}
"""Ops that let no gradient flow although their results change when inputs change a little."""

INPUT_WITHOUT_GRADIENT = {
    ("Zeta", "x"): "TensorFlow has no op for the derivative",
    ("Polygamma", "a"): "TensorFlow has no op for the derivative",
    ("Print", "data"): "it is printed, and changes nothing else",
}
"""Inputs of ops with a gradient that get none, and are not compared with a slope."""

HALF = {
    "Bitcast": _CODES,
    "UnsortedSegmentMax": "an empty segment has the lowest number of the type",
    "UnsortedSegmentMin": "an empty segment has the highest number of the type",
    "Switch": _FED,
    "Save": _FILES,
    "SaveV2": _FILES,
    **dict.fromkeys(("Assert", "QueueEnqueueV2", "QueueEnqueueManyV2"), "it gives nothing"),
}
"""Ops with half types whose answer there is not the one in float32, rounded."""

TYPES = {
    "AsString": _CODES,
    "Bitcast": _CODES,
    "DecodeCSV": "the types are those of defaults, one for each column; tests/ops/test_vectors.py",
    "Invert": "the complement of a number is another one in every type",
    "Multinomial": "it draws other numbers in every call",
    "ScatterNd": "strings in one place are joined, where numbers are added up",
    "NextAfter": "the next number is another one in every type",
    "PopulationCount": _CODES,
    "RandomUniformInt": "other types draw other numbers",
    "StatelessRandomUniformInt": "other types draw other numbers",
    "UnsortedSegmentMax": "an empty segment has the lowest number of the type",
    "UnsortedSegmentMin": "an empty segment has the highest number of the type",
    "Switch": _FED,
    "Save": _FILES,
    "SaveV2": _FILES,
    **dict.fromkeys(("QuantizedRelu", "QuantizedRelu6", "QuantizedReluX"), _CODES),
    **dict.fromkeys(("QuantizedConv2D", "QuantizedBiasAdd"), _CODES),
    "QuantizedBatchNormWithGlobalNormalization": _CODES,
}
"""Ops that give other numbers in other types, so that these are not compared with the widest."""

STRINGS = {"AsString": "it has no numbers to give, and strings come out as they are"}
"""Ops that do not hand strings and small types through as they are."""

DEFINITION_TYPES = {
    **dict.fromkeys(("RealDiv", "FloorDiv", "TruncateDiv", "Reciprocal", "Inv"), _UNRECORDED),
    **dict.fromkeys(("Round", "ClipByValue", "Range", "TensorScatterUpdate"), _UNRECORDED),
    **{name: _UNRECORDED for name, op in REGISTRY.items() if op.group == "training"},
    "MaxPool3DGrad": "TInput, of orig_input and orig_output, is T here",
}
del DEFINITION_TYPES["ApplyGradientDescent"]
"""Ops without some number type of TensorFlow's definition."""

CELLS = {
    **dict.fromkeys(("state", "training", "data_flow", "control_flow"), "changes what is kept"),
    **dict.fromkeys(("io", "logging", "parsing", "string"), "works on files and text"),
    "random": "draws numbers",
    **dict.fromkeys(
        ("Where", "ListDiff", "Unique", "UniqueWithCounts", "SparseToDense"),
        "the numbers decide the size, or where a cell goes",
    ),
    **dict.fromkeys(("Bincount", "DenseBincount", "HistogramFixedWidth"), "counts the numbers"),
    **dict.fromkeys(
        (
            "BroadcastArgs",
            "BroadcastGradientArgs",
            "ConcatOffset",
            "InvertPermutation",
            "UnravelIndex",
        ),
        "computes with sizes and places",
    ),
    **dict.fromkeys(("Const", "Placeholder", "Range", "LinSpace"), "has no cells to come from"),
    "QuantizedBatchNormWithGlobalNormalization": "its codes are normalized by ranges of codes",
}
"""Ops, and whole groups of ops, that do not declare which cells belong together."""
