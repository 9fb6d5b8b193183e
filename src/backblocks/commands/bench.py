"""`backblocks bench`."""

from __future__ import annotations

import argparse

from backblocks.bench.command import bench
from backblocks.commands.error_reporting import UsageError
from backblocks.errors import OpError


def main(args: argparse.Namespace) -> int:
    try:
        return bench(args)
    except OpError as error:
        raise UsageError.like(error) from None
