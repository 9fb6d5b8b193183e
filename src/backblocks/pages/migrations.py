"""Migrations of page files: the JSON of every older format version upgraded to the current one.

A new version of the format adds here the function that upgrades the JSON of the version before, and a file of
that version to `tests/pages/versions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backblocks.errors import OpError, described
from backblocks.pages.dataclass_json import Json
from backblocks.pages.model import FORMAT

MIGRATIONS: dict[int, Callable[[Json], Json]] = {}
"""By format version, the function that upgrades its JSON to the next version."""


def upgrade_to_current(data: Any) -> Json:
    """The JSON of a page in the current format version."""
    version = data.get("format") if type(data) is dict else None
    if type(version) is not int or version < 1:
        raise OpError(
            "must say the version of the format",
            op="Page",
            arg="format",
            got=described("none") if version is None else version,
            hint=f'A page begins with {{"format": {FORMAT}, ...}}. Is this file a page?',
        )
    if version > FORMAT:
        raise OpError(
            f"must be at most {FORMAT}, which is what this version of backblocks knows",
            op="Page",
            arg="format",
            got=version,
            hint="Install a later backblocks.",
        )
    while data["format"] < FORMAT:
        data = MIGRATIONS[data["format"]](data)
    return data
