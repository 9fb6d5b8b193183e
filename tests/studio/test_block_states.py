"""The states of blocks while a page runs."""

from types import SimpleNamespace

from backblocks.graph.events import Event
from backblocks.studio.block_states import BlockStateTracker


def test_what_has_nothing_to_do_in_a_step_waits_no_longer_in_the_next():
    log = BlockStateTracker()
    log.start(["variable", "more"])
    told = {}

    def step():
        for kind, done in (("started", 0), ("finished", 1)):
            log.handle("more", Event(kind, SimpleNamespace(), done=done, total=1))
        told.update({state.block: state.state for state in log.take_changed()})

    step()
    assert told == {"variable": "waiting", "more": "done"}
    step()
    assert told == {"variable": "done", "more": "done"}
