"""What holds for all tests."""

import gc
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# The fuzzers, which some tests share.
sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

# Shells have what they start in the background ignore Ctrl-C, and that is handed on to children. Tests of
# Ctrl-C are to find it as it is in the foreground.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes depends on what else the machine does.
settings.register_profile("unhurried", parent=settings.default, deadline=None)
settings.load_profile("unhurried")

MAY_SKIP = {
    "tests/bench/test_timing.py::test_extra_memory_is_seen": "Linux alone tells the peak",
    "tests/native/test_allocations.py::test_every_allocation_may_fail": "no compiler, or a sanitizer",
    "tests/native/test_isa.py::test_the_best_is_chosen": "BACKBLOCKS_ISA chooses",
    "tests/ops/test_bad_calls.py::test_facts_are_the_original_ones": "their source is not in the tree",
    "tests/studio/test_drafts.py::test_a_full_disk_is_told_and_leaves_the_old_file_and_every_change": "no mounts",  # noqa: E501
    "tests/test_documents.py::test_the_worked_kernel_of_the_guide_is_a_whole_one": "no CMake or compiler",
    "tests/test_memory.py::test_a_child_forked_while_others_allocate_finds_the_memory_whole": "no fork",
    "tests/test_packaging.py::test_a_wheel_is_built_with_the_front_end_or_not_at_all": "no CMake",
    "tests/test_packaging.py::test_the_bill_of_materials_is_valid_and_lists_what_is_inside": "no cyclonedx",
}
"""The tests that may be skipped, and what a machine or environment lacks then. Any other skip fails."""


def test_id(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> pytest.TestReport:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and test_id(item) not in MAY_SKIP:
        report.outcome = "failed"
        report.longrepr = (
            f"{report.longrepr[2]}. A test that skips must be in {__file__}: MAY_SKIP."
        )
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> pytest.CollectReport:
    """Fails a module that skips as a whole, as importorskip does: its tests would be missed by nobody."""
    report = yield
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} skips all its tests: {report.longrepr[2]}"
    return report


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuses names in MAY_SKIP that no test has, where all tests were collected."""
    given = session.config.option
    whole = not (given.file_or_dir or given.keyword or given.markexpr)
    unknown = set(MAY_SKIP) - {test_id(item) for item in session.items}
    if whole and session.items and unknown:
        raise pytest.UsageError(f"MAY_SKIP of {__file__} has no such tests: {sorted(unknown)}")
    # Thousands of tests stay until the end; a garbage collection need not look through them each time.
    gc.freeze()


def pytest_addoption(parser):
    parser.addoption(
        "--native-ops",
        action="store_true",
        help="only tests that name an op with a compiled kernel",
    )


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--native-ops"):
        return
    from backblocks.ops import REGISTRY

    names = [op.name for op in REGISTRY.values() if any(k.name == "native" for k in op.kernels)]
    named = [any(name in item.name for name in names) for item in items]
    config.hook.pytest_deselected(items=[i for i, n in zip(items, named, strict=True) if not n])
    items[:] = [item for item, n in zip(items, named, strict=True) if n]
