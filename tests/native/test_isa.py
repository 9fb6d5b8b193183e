"""The kernels are built for several instruction sets: each one this machine has passes the same tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from backblocks import _native

TESTS = Path(__file__).parents[1]


def run(isa, *command):
    return subprocess.run(  # noqa: S603
        [sys.executable, *command],
        env={**os.environ, "BACKBLOCKS_ISA": isa},
        capture_output=True,
        text=True,
    )


@pytest.mark.skipif("BACKBLOCKS_ISA" in os.environ, reason="one is chosen")
def test_the_best_is_chosen():
    assert _native.isa() == _native.isas()[-1]


def test_one_that_the_machine_has_not_is_refused():
    done = run("v9", "-c", "import backblocks.ops")
    names = " ".join(_native.isas())
    assert f"BACKBLOCKS_ISA=v9 is none of what this machine can run: {names}" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("isa", _native.isas()[:-1])
def test_lesser_ones_pass_the_tests_of_the_kernels(isa):
    files = [
        TESTS / "native" / f"test_{each}.py"
        for each in ("kernels", "conv", "depthwise", "dilation", "matmul")
    ]
    files.append(TESTS / "ops" / "test_laws.py")
    wanted = (
        "test_kernels or test_conv or test_matmul or any_geometry or fast_kernels or half_types"
    )
    done = run(isa, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", wanted)
    assert done.returncode == 0, done.stdout


DIGESTS = """
import hashlib
import numpy as np
import backblocks as bb

rng = np.random.default_rng(0)
for channels in (1, 24):
    x = rng.standard_normal((2, 9, 14, 15, channels)).astype(np.float32)
    how = dict(ksize=[1, 3, 3, 3, 1], strides=[1, 2, 1, 2, 1], padding="SAME")
    y = bb.raw_ops.AvgPool3D(input=x, **how)
    dx = bb.raw_ops.AvgPool3DGrad(orig_input_shape=x.shape, grad=y, **how)
    dm = bb.raw_ops.MaxPool3DGrad(orig_input=x, orig_output=y, grad=y, **how)
    print(*(hashlib.sha256(a.tobytes()).hexdigest() for a in (y, dx, dm)))
    how = dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="SAME")
    x = rng.standard_normal((2, 3, 4, 41, channels)).astype(np.float32)
    y = bb.raw_ops.MaxPool3D(input=x, **how)
    dx = bb.raw_ops.MaxPool3DGrad(orig_input=x, orig_output=y, grad=y, **how)
    dd = bb.raw_ops.MaxPool3DGradGrad(orig_input=x, orig_output=y, grad=x, **how)
    a = bb.raw_ops.AvgPool3D(input=x, **how)
    print(*(hashlib.sha256(a.tobytes()).hexdigest() for a in (y, dx, dd, a)))
"""


def test_all_give_the_same_bits():
    results = {run(isa, "-c", DIGESTS).stdout for isa in _native.isas()}
    assert len(results) == 1
    assert len(results.pop().split()) == 14
