"""Networks that learn: what they start from, that they learn, and what is told of them."""

import json

import numpy as np
import pytest

from backblocks.bench import report
from backblocks.bench.results import BenchmarkRun, PageCosts, Timing, TrainingResult
from backblocks.bench.timing import QUICK
from backblocks.bench.training import ours
from backblocks.bench.training.measure import STEPS, measure_training
from backblocks.bench.training.network import networks


@pytest.mark.parametrize("network", networks(), ids=lambda network: network.name)
def test_every_network_learns(network):
    step = ours.steps(network)["backblocks"]
    losses = [float(step()) for _ in range(30)]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]


def test_all_that_are_timed_have_had_the_same_losses():
    (record, *_) = measure_training(["backblocks"], QUICK)
    assert record.name == "regression"
    assert record.times["backblocks"].median > 0
    assert STEPS > 1, "one step does not show the gradients"


def test_a_run_with_pages_is_written_and_read():
    times = {
        "backblocks": Timing("backblocks", "whole", 2e-5, 1e-5, 9),
        "torch": Timing("torch", "whole", 6e-5, 5e-5, 9),
        "tensorflow, session": Timing("tensorflow", "whole", 5e-5, 5e-5, 9),
    }
    record = TrainingResult("xor", "two layers", times, {"jax": "gone"})
    costs = PageCosts(3e-6, 0.15, 4096)
    run = BenchmarkRun({}, {}, {}, 2, 1.0, {}, training=[record], page_costs=costs)
    again = BenchmarkRun.from_json(json.loads(json.dumps(run.as_json())))
    assert again == run
    assert record.faster_than_any == pytest.approx(2.5), "the fastest counts"
    rows = list(report.training_rows(run))
    assert rows[0] == ["xor", "backblocks", "50,000", "20 us", "2.50x"]
    assert [row[1] for row in rows] == ["backblocks", "tensorflow, session", "torch", "jax"]
    assert [row[2] for row in report.page_cost_rows(run)] == ["3 us", "150 ms", "0.0 MB"]
