"""Random calls of every op that has a compiled kernel; `make fuzz TARGETS=kernels` makes more of them."""

import numpy as np
import pytest
from fuzz import kernels as fuzz
from fuzz.findings import Finding

import backblocks as bb
from backblocks.ops._declaration import Kernel


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = bb.get_num_threads()
    yield
    bb.set_num_threads(before)


@pytest.mark.parametrize("name", sorted(fuzz.OPS))
def test_kernels_agree_with_the_meaning(name):
    became = [fuzz.check(fuzz.OPS[name], seed) for seed in range(16)]
    assert became.count("the same") >= 6


def test_every_call_can_be_made_again():
    op = fuzz.OPS["Conv2D"]
    drawn = [repr(fuzz.draw_geometry(op, np.random.default_rng(7))) for _ in range(2)]
    assert drawn[0] == drawn[1]


def spoiled(change):
    """The kernel of MaxPool, and then something else."""
    plan = fuzz.OPS["MaxPool"].kernels[0].plan

    def planned(*specs, **attrs):
        fill = plan(*specs, **attrs)
        return fill and (lambda x, y: (fill(x, y), change(x, y)))

    return Kernel("native", planned)


def set_first(x, y):
    y.flat[0] += 1


def write_beside(x, y):
    around = y.base
    around[fuzz.GUARD - 1] = 0


def lose_nan(x, y):
    y[np.isnan(y)] = 0


@pytest.mark.parametrize(
    ("change", "word"),
    [(set_first, "instead of"), (write_beside, "beside"), (lose_nan, "NaN")],
)
def test_what_a_kernel_does_wrong_is_found(change, word, monkeypatch):
    op = fuzz.OPS["MaxPool"]
    monkeypatch.setattr(op, "kernels", [spoiled(change)])

    def found():
        for seed in range(40):
            try:
                fuzz.check(op, seed)
            except Finding as different:
                yield str(different)

    assert any(word in each for each in found())


def test_an_op_that_no_call_reaches_is_told(monkeypatch):
    op = fuzz.OPS["AvgPool"]
    monkeypatch.setattr(op, "kernels", [Kernel("native", lambda *specs, **attrs: None)])
    with pytest.raises(Finding, match="no call"):
        fuzz.roles.__wrapped__(op)
