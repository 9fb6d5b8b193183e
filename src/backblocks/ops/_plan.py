"""A call that was checked once is remembered for those with the same shapes, types and attributes."""

from __future__ import annotations

from backblocks.dtypes import NAMES
from backblocks.ops import _kernels

MOST_PLANS = 256
"""Plans that an op remembers; with more, the oldest is forgotten."""

# The cells of strings are not in their arrays, so they have no key.
call_key = _kernels.CallKey([dtype for dtype in NAMES if not dtype.hasobject])
"""What calls must have in common to share a plan; None if there is no telling.

That is shape and dtype of the arrays and whether they lie in row-major order, for those named in `by_value`
their numbers too, and type and value of everything else.
"""
