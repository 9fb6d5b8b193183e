"""The command `backblocks ops`."""

import doctest
import json

import numpy as np
import pytest

import backblocks as bb
from backblocks.cli import main
from backblocks.documentation import evaluated
from backblocks.ops import REGISTRY


def test_all_ops_are_listed_by_group(capsys):
    assert main(["ops"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines if line.startswith("  ")} == set(REGISTRY)
    assert "training" in lines


def test_ops_are_searched_by_name_and_summary(capsys):
    assert main(["ops", "--search", "pool 3d", "--json"]) == 0
    found = [op["name"] for op in json.loads(capsys.readouterr().out)["ops"]]
    assert found == [
        "AvgPool3D",
        "AvgPool3DGrad",
        "MaxPool3D",
        "MaxPool3DGrad",
        "MaxPool3DGradGrad",
    ]
    assert main(["ops", "--search", "Evenly"]) == 0
    assert "AvgPool3DGrad" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["MaxPool3DGrad", "maxpool3dgrad", "max_pool_3d_grad"])
def test_one_op_is_explained(name, capsys):
    assert main(["ops", name]) == 0
    told = capsys.readouterr().out
    for words in (
        "MaxPool3DGrad  group nn, version 1",
        "orig_input: T, one of bfloat16",
        "data_format = 'NDHWC': Channels stand last",
        "-> output = float64 1x2x2x2x2 [0. 0.",
        'To agree:\n      ties="tensorflow-cpu"',
        "can be differentiated again",
    ):
        assert words in told


OF_EACH_KIND = {op.group: name for name, op in REGISTRY.items()}.values()


@pytest.mark.parametrize(
    "name", [*OF_EACH_KIND, "Const", "QueueDequeueManyV2", "Split", "DecodeRaw"]
)
def test_ops_of_every_kind_can_be_explained(name, capsys):
    assert main(["ops", name]) == 0
    assert name in capsys.readouterr().out
    assert main(["ops", name, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["name"] == name
    assert len(told["cases"]) == len(REGISTRY[name].cases)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_op_is_shown_by_a_case_with_numbers_or_in_use(name):
    op = REGISTRY[name]
    assert op.doctest or any(evaluated(op, case).lines() for case in op.cases[:1])


@pytest.mark.parametrize("name", [name for name, op in REGISTRY.items() if op.doctest])
def test_ops_in_use_give_what_is_shown(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = REGISTRY[name].doctest.lines
    typed = doctest.DocTestParser().get_doctest(lines, {"bb": bb, "np": np}, name, name, 0)
    assert f"bb.ops.{REGISTRY[name].snake_name}(" in lines or name in ("Placeholder", "VariableV2")
    assert doctest.DocTestRunner().run(typed).failed == 0, capsys.readouterr().out
    assert main(["ops", name]) == 0
    told = capsys.readouterr().out
    for line in (REGISTRY[name].doctest.because, *lines.split("\n")):
        assert f"  {line}\n" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["MaxPol3D"], "NAME: must be an op; got 'MaxPol3D'. Did you mean MaxPool3D?"),
        (["--search", "nothing has this"], "--search: must be words of some op"),
    ],
)
def test_what_is_not_found_is_exit_code_2(arguments, words, capsys):
    assert main(["ops", *arguments]) == 2
    assert words in capsys.readouterr().err
