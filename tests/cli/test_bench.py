"""The command `backblocks bench`, as it is typed."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from backblocks.bench.run import workloads
from backblocks.bench.training.network import networks
from backblocks.cli import main

TINY = "MaxPool3DGrad f32 ndhwc 1x4x4x4x2 k2 s2 SAME"


def backblocks(*arguments):
    command = [str(Path(sys.executable).with_name("backblocks")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603


def test_a_problem_is_timed_and_written(tmp_path):
    paths = {kind: tmp_path / "new" / f"results.{kind}" for kind in ("json", "svg")}
    written = [f"--{kind}={path}" for kind, path in paths.items()]
    done = backblocks("bench", TINY, "--rounds=2", "--threads=1", *written)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(TINY)
    assert "of that speed" in done.stdout
    (result,) = json.loads(paths["json"].read_text())["results"]
    assert result["problem"] == TINY
    assert result["times"]["backblocks"]["samples"] == 2
    assert result["extra_bytes"]["backblocks"] >= 0
    ElementTree.parse(paths["svg"])  # noqa: S314


def test_several_problems_end_with_the_goals():
    other = "Conv2D f32 nhwc 1x4x4x2 -> 2 k3 s1 SAME"
    done = backblocks("bench", TINY, other, "--rounds=1", "--memory=none")
    assert done.returncode == 0, done.stderr
    assert "Goals" in done.stdout
    assert done.stdout.index(TINY) < done.stdout.index(other)


def test_the_list_is_printed(capsys):
    assert main(["bench", "--list"]) == 0
    assert capsys.readouterr().out.split("\n")[:-1] == [str(p) for p in workloads()]
    assert main(["bench", "--list", "--only", "Conv3D", "--quick"]) == 0
    lines = capsys.readouterr().out.split("\n")[:-1]
    assert lines
    assert all("Conv3D" in line for line in lines)


def test_the_pages_that_learn_are_listed(capsys):
    assert main(["bench", "--pages", "--list"]) == 0
    named = [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines()]
    assert named == [network.name for network in networks()]


def test_a_choice_of_algorithm_is_explained(capsys):
    line = "Conv2D f32 nhwc 8x56x56x64 -> 64 k3 s1 SAME"
    assert main(["bench", "--explain", line, TINY, "--threads", "1"]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert first.split("\n")[0] == line
    assert "Winograd F(2x2, 3x3)" in first
    assert "register tile" in first
    assert second.split("\n")[0] == TINY
    assert "non-overlapping windows" in second


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--explain", "Conv2D f32 nhwc 8x56x56x64 k3 SAME"], "->: must be given"),
        (["--explain", "Conv2D f32 nhwc 8x56 -> 64 k3 SAME"], "shape: must have 4 sizes for nhwc"),
        (["--explain", "nonsense"], "problem: must begin with op, type, format and shape; got"),
        (["--explain", "--pages"], "--explain: is for problems, and pages have many kernels"),
        (["MaxPol f32 nhwc 1x4x4x2 k2 SAME"], "op: must be an op of the benchmark; got 'MaxPol'."),
        (["--only", "nothing has this"], "--only: must be part of some problem's line; got"),
        ([TINY, "--threads", "4096"], "--threads: must be at most the"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(arguments, error, capsys):
    assert main(["bench", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith(error)
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [[], ["bnch"], ["bench", "--rounds", "0"], ["bench", "--what"]]
)
def test_what_argparse_refuses_is_exit_code_2(arguments):
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2


def test_help_tells_the_grammar(capsys):
    with pytest.raises(SystemExit) as raised:
        main(["bench", "--help"])
    assert raised.value.code == 0
    assert "kWINDOW" in capsys.readouterr().out


def test_the_command_starts_without_the_benchmark():
    code = "import sys, backblocks.cli; print(*(n for n in sys.modules if '.bench.' in n))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.split() == ["backblocks.bench.grammar"]
