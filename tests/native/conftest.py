"""What the tests of the kernels share."""

import pytest

from backblocks import _native


@pytest.fixture
def no_cache():
    """Takes the processor to have no cache: every result goes around it that may."""
    before = _native.cache_bytes()
    _native.set_cache_bytes(0)
    yield
    _native.set_cache_bytes(before)
