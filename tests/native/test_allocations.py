"""Each allocation of the kernels fails once: a call is right or raises OpMemoryError; the next is right."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
compiler = shutil.which("g++") or shutil.which("c++")


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux" or not compiler, reason="needs a C++ compiler on Linux")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer has the allocator")
def test_every_allocation_may_fail(tmp_path):
    shim = tmp_path / "failing_allocator.so"
    flags = ["-std=c++20", "-O1", "-shared", "-fPIC"]
    source = HERE / "failing_allocator.cpp"
    subprocess.run([compiler, *flags, source, "-o", shim, "-ldl"], check=True)  # noqa: S603
    done = subprocess.run(  # noqa: S603
        [sys.executable, HERE / "failing_calls.py", shim],
        env={**os.environ, "LD_PRELOAD": str(shim)},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100  # allocations did fail
