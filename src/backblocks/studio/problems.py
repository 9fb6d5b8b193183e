"""Errors of the library as problems that tabs show at the block, the pin and the axis."""

from __future__ import annotations

from collections.abc import Container

import msgspec

from backblocks.errors import BackblocksError
from backblocks.studio.messages import Fix, Problem


def problem(error: BackblocksError, block: str) -> Problem:
    """An error as a problem, without the name of the block, at which it is shown."""
    text = str(error).removeprefix(f'block "{error.block}": ').removesuffix(f" {error.hint}")
    fixes = msgspec.convert(error.fixes, list[Fix], from_attributes=True)
    return Problem(text, block, error.arg, error.axis, error.hint, fixes=fixes)


def own_block(name: str, blocks: Container[str]) -> str:
    """The block of the page that a block inside it belongs to: "layer" for "layer/conv"."""
    while name and name not in blocks:
        name = name.rpartition("/")[0]
    return name
