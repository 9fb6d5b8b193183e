"""`backblocks bench`."""

from __future__ import annotations

import argparse

from backblocks.bench.command import bench
from backblocks.commands.mistakes import Mistake
from backblocks.errors import OpError


def main(given: argparse.Namespace) -> int:
    try:
        return bench(given)
    except OpError as error:
        raise Mistake.like(error) from None
