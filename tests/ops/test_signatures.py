"""Raw ops are called as TensorFlow's are: the same names, in the same order, with the same defaults."""

import inspect
import json
from pathlib import Path

import exempt
import pytest

import backblocks as bb
from backblocks.dtypes import QUANTIZED, as_dtype
from backblocks.ops import REGISTRY

RECORDED = json.loads((Path(__file__).parent / "tf_signatures.json").read_text())
# The nn blocks that the library is measured by.
BLOCKS = """
    AvgPool AvgPool3D AvgPool3DGrad BiasAdd BiasAddGrad Conv2D Conv2DBackpropFilter Conv2DBackpropInput
    Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2 DepthwiseConv2dNative
    DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Dilation2D
    Dilation2DBackpropFilter Dilation2DBackpropInput Elu FractionalAvgPool FractionalMaxPool
    FusedBatchNorm FusedBatchNormGrad FusedPadConv2D FusedResizeAndPadConv2D InTopK L2Loss LRN
    LogSoftmax MaxPool MaxPool3D MaxPool3DGrad MaxPool3DGradGrad MaxPoolGradGrad
    MaxPoolGradGradWithArgmax MaxPoolWithArgmax QuantizedAvgPool
    QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd QuantizedConv2D QuantizedMaxPool
    QuantizedRelu QuantizedRelu6 QuantizedReluX Relu Relu6 Softmax SoftmaxCrossEntropyWithLogits
    Softplus Softsign SparseSoftmaxCrossEntropyWithLogits TopKV2
""".split()  # noqa: SIM905


def recorded(name):
    assert name in RECORDED, "add it to a table in tools/vectors and run: make vectors"
    return RECORDED[name]


def ours(name):
    def plain(attr):
        if attr.required:
            return "required"
        if attr.kind.name == "dtype":
            return as_dtype(attr.default)
        return list(attr.default) if isinstance(attr.default, tuple) else attr.default

    op = REGISTRY[name]
    tensors = {pin.name: "required" for pin in op.inputs}
    attrs = {a.name: plain(a) for a in op.attrs.values() if not a.beyond_tensorflow}
    return tensors | attrs | {"name": None}


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_arguments_and_defaults_are_tensorflows(name):
    expected = recorded(name)["arguments"]
    got = ours(name)
    for argument, default in expected.items():
        assert argument in got
        if argument in REGISTRY[name].attrs and REGISTRY[name].attrs[argument].kind.name == "dtype":
            default = default if default == "required" else as_dtype(default)
        assert got[argument] == default, argument
    assert set(got) == set(expected)
    tensors = [pin.name for pin in REGISTRY[name].inputs]
    assert tensors == [argument for argument in expected if argument in tensors]


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_outputs_have_tensorflows_names(name):
    assert [pin.name for pin in REGISTRY[name].outputs] == recorded(name)["outputs"]


@pytest.mark.parametrize("name", REGISTRY)
def test_every_number_type_of_the_definition_is_there(name):
    op = REGISTRY[name]
    missing = {}
    for variable, names in recorded(name)["types"].items():
        attr = op.attrs.get(variable)
        have = op.dtypes.get(variable, attr.kind.options if attr else ())
        numbers = {QUANTIZED.get(n, n) for n in names} & NUMBER_TYPES
        if lacks := numbers - {QUANTIZED.get(each, each) for each in have}:
            missing[variable] = sorted(lacks)
    assert bool(missing) == (name in exempt.DEFINITION_TYPES), missing


NUMBER_TYPES = {
    "bfloat16", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
    "uint16", "uint32", "uint64", "bool", "complex64", "complex128",
}  # fmt: skip


def test_every_nn_block_is_an_op():
    assert len(set(BLOCKS)) == 51
    assert not set(BLOCKS) - {name for name, op in REGISTRY.items() if op.group == "nn"}


def test_signatures_can_be_read():
    for name in REGISTRY:
        assert "name" in inspect.signature(getattr(bb.raw_ops, name)).parameters
