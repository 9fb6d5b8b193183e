"""The stubs tell a type checker what a call takes and gives."""

import subprocess
import sys

import pytest

BEFORE = """
import numpy as np
import backblocks as bb
volume = np.zeros((1, 4, 4, 4, 1), np.float32)
x = bb.placeholder((1, 4, 4, 4, 1))
"""
ARRAY = "numpy.ndarray[Any, numpy.dtype[Any]]"
SYMBOL = "backblocks.graph.symbol.Symbol"
WINDOWS = "ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1]"
GIVES = {
    f'bb.raw_ops.MaxPool3D(input=volume, {WINDOWS}, padding="SAME")': ARRAY,
    f'bb.ops.max_pool_3d(x, {WINDOWS}, padding="SAME")': SYMBOL,
    "bb.ops.add_v2(x, 1.0)": SYMBOL,
    "bb.ops.add_v2([1, 2], 1.0)": ARRAY,
    "bb.ops.top_k_v2(volume, 2).indices": ARRAY,
    "bb.ops.split(0, x, num_split=2)": f"list[{SYMBOL}]",
}
REFUSED = {
    f'bb.raw_ops.MaxPool3D(input=volume, {WINDOWS}, padding="SOME")': "call-overload",
    f'bb.raw_ops.MaxPool3D(input=volume, {WINDOWS}, padding="SAME", typo=1)': "call-overload",
    'bb.raw_ops.MaxPool3D(input=volume, ksize=2, strides=[1], padding="SAME")': "call-overload",
    "bb.ops.add_v2(x, object())": "call-overload",
    "bb.ops.max_pol_3d(x)": "attr-defined",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What mypy says of each line."""
    lines = [f"reveal_type({line})" for line in GIVES] + list(REFUSED)
    file = tmp_path_factory.mktemp("typed") / "typed.py"
    file.write_text(BEFORE + "\n".join(lines))
    command = [sys.executable, "-m", "mypy", "--strict", "--show-absolute-path", file]
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False, cwd=file.parent
    )
    begin = BEFORE.count("\n")
    by_line = dict.fromkeys([*GIVES, *REFUSED], "")
    for said in done.stdout.splitlines():
        if said.startswith(f"{file}:"):
            number = int(said.removeprefix(f"{file}:").partition(":")[0])
            by_line[[*GIVES, *REFUSED][number - begin - 1]] += said
    return by_line


@pytest.mark.parametrize("line", GIVES)
def test_arrays_give_arrays_and_symbols_symbols(found, line):
    assert f'Revealed type is "{GIVES[line]}"' in found[line]
    assert "error" not in found[line]


@pytest.mark.parametrize("line", REFUSED)
def test_a_type_checker_refuses_what_the_op_would(found, line):
    assert f"[{REFUSED[line]}]" in found[line]
