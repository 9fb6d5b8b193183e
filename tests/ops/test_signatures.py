"""Raw ops are called as TensorFlow's are: the same names, in the same order, with the same defaults."""

import inspect
import json
from pathlib import Path

import pytest

import backblocks as bb
from backblocks.dtypes import QUANTIZED, as_dtype
from backblocks.ops import REGISTRY

RECORDED = json.loads((Path(__file__).parent / "tf_signatures.json").read_text())
CATALOGUE = Path(__file__).parents[3] / "shared" / "enuspace" / "CATALOGUE.json"


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
    expected = RECORDED[name]["arguments"]
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
    assert [pin.name for pin in REGISTRY[name].outputs] == RECORDED[name]["outputs"]


@pytest.mark.parametrize("name", sorted(n for n, op in REGISTRY.items() if op.group == "nn"))
def test_every_number_type_of_the_definition_is_there(name):
    op = REGISTRY[name]
    for variable, names in RECORDED[name]["types"].items():
        attr = op.attrs.get(variable)
        have = op.dtypes.get(variable, attr.kind.options if attr else ())
        have = {QUANTIZED.get(each, each) for each in have}
        if not have:
            continue  # bound by another variable, or any type at all
        numbers = {QUANTIZED.get(n, n) for n in names} & NUMBER_TYPES
        assert numbers <= have, f"{variable}: {sorted(numbers - have)}"


NUMBER_TYPES = {
    "bfloat16", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
    "uint16", "uint32", "uint64", "bool", "complex64", "complex128",
}  # fmt: skip


@pytest.mark.skipif(not CATALOGUE.exists(), reason="the catalogue is not here")
def test_every_nn_block_of_the_catalogue_is_an_op():
    blocks = json.loads(CATALOGUE.read_text())["blocks"]
    wanted = {block["tf_op"] for block in blocks if block["category"] == "nn_ops"}
    assert len(wanted) == 51
    assert not wanted - set(REGISTRY)


def test_signatures_can_be_read():
    for name in REGISTRY:
        assert "name" in inspect.signature(getattr(bb.raw_ops, name)).parameters
