"""Every file that a fuzzer was given, or found something by, is read or refused."""

import pytest
from fuzz import readers
from fuzz.findings import Finding
from fuzz.json_mutations import mutated

from backblocks.pages import serialization

KEPT = [
    pytest.param(target, path, id=f"{target}-{path.name}")
    for target in readers.TARGETS
    for path in sorted((readers.CORPORA / target).iterdir())
]
MOST_BYTES = 20_000


@pytest.fixture(scope="module", autouse=True)
def _server_ended():
    yield
    readers.close()


@pytest.mark.parametrize(("target", "path"), KEPT)
def test_is_read_or_refused(target, path):
    data = path.read_bytes()
    assert len(data) <= MOST_BYTES, "a corpus is of small files"
    assert readers.check(target, data) in ("read", "refused", "answered")


@pytest.mark.parametrize("target", readers.TARGETS)
def test_both_ends_are_in_the_corpus(target):
    """A corpus of refusals alone, or of none, says little of a reader."""
    files = [path.read_bytes() for path in (readers.CORPORA / target).iterdir()]
    outcomes = {readers.check(target, data) for data in files}
    assert outcomes == ({"answered"} if target == "message" else {"read", "refused"})


def spoiled(*args, **kwargs):
    raise ZeroDivisionError("a defect")


def test_an_error_of_pythons_own_is_found(monkeypatch):
    data = (readers.CORPORA / "page" / "xor").read_bytes()
    monkeypatch.setattr(serialization, "from_json", spoiled)
    with pytest.raises(Finding, match=r"exit code 3 of check: .*ZeroDivisionError"):
        readers.check("page", data)


def test_an_error_in_the_server_is_found(monkeypatch):
    from backblocks.studio import app

    monkeypatch.setattr(app.Tab, "_execute", spoiled)
    with pytest.raises(Finding, match="ZeroDivisionError"):
        readers.check("message", b'{"kind":"list files"}')


def test_a_server_that_leaves_the_tab_is_found(monkeypatch):
    from backblocks.studio import app

    async def leave(self, text):
        raise app.WebSocketDisconnect(1000)

    monkeypatch.setattr(app.Tab, "_receive", leave)
    with pytest.raises(Finding, match=r"left the tab|closed the socket"):
        readers.check("message", b"{}")


def test_a_mutation_depends_on_its_seed_alone():
    data = b'{"a": [1, {"b": [2, 3]}], "c": {}}'
    once, again = ([mutated(data, seed, bytes) for seed in range(3000)] for _ in range(2))
    assert once == again
