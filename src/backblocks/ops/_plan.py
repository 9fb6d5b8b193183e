"""A call that was checked once is remembered for those with the same shapes, types and attributes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from backblocks.dtypes import NAMES
from backblocks.ops import _kernels

MOST_PLANS = 256
"""Plans that an op remembers; with more, the oldest is forgotten."""

_FEW = 64
"""An array of more numbers than this is no window, shape or axis, and its key would be long."""

# The cells of strings are not in their arrays, so they have no key.
_key_by_shapes = _kernels.CallKey(np.ndarray, [dtype for dtype in NAMES if not dtype.hasobject])


def call_key(given: dict[str, Any], by_value: Collection[str]) -> bytes | None:
    """What calls must have in common to share a plan; None if there is no telling.

    That is shape and dtype of the arrays, for those named in `by_value` their numbers too, and type and
    value of everything else.
    """
    key = _key_by_shapes(given)
    if by_value and key is not None:
        for name in sorted(by_value):
            value = given.get(name)
            if isinstance(value, np.ndarray):
                if value.size > _FEW:
                    return None
                key += value.tobytes()
    return key
