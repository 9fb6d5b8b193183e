"""Deduplication of changes: which changes of each client a page has, so that repeats are dropped.

A client is one tab that has a page open. It numbers its changes of the page 1, 2, 3, ... and after a lost
connection sends again those that were not acknowledged, although the page may have them. So a page knows of
each client the number of its last change, and the numbers that were skipped before it, because such a change
was refused. Journals hold the same, so that a server that was killed knows it when it is started again; once
a page is saved, a small file beside its journal does, for a week.
"""

from __future__ import annotations

import msgspec

MAX_CLIENTS = 256
"""Clients of a page that are known, more than can be connected: those that changed it last."""
_MAX_SKIPPED = 100
"""Numbers of refused changes that are known of a client, the newest."""


class Client(msgspec.Struct, frozen=True, omit_defaults=True):
    """The number of a client's last change, and the numbers before it that the page does not have."""

    last: int = 0
    skipped: tuple[int, ...] = ()


Clients = dict[str, Client]
"""By name. The one that changed the page last comes last."""


def has_change(clients: Clients, client: str, number: int) -> bool:
    """Whether the page has this change of the client already."""
    known = clients.get(client, Client())
    return number <= known.last and number not in known.skipped


def is_late(clients: Clients, client: str, number: int) -> bool:
    """Whether the page does not have this change, but a later one of the client."""
    return number in clients.get(client, Client()).skipped


def with_change(clients: Clients, client: str, number: int) -> Clients:
    """The clients after a change. One that the server made itself is of no client."""
    known = clients.get(client, Client())
    if not client or number <= known.last:
        return clients
    between = range(max(known.last + 1, number - _MAX_SKIPPED), number)
    others = [each for each in clients.items() if each[0] != client]
    skipped = (*known.skipped, *between)[-_MAX_SKIPPED:]
    return {**dict(others[1 - MAX_CLIENTS :]), client: Client(number, skipped)}
