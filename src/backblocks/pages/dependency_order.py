"""Topological order of a page's blocks by their wires and `after`, and the cycles that prevent one."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from backblocks.pages.model import PageBlock


def dependencies(block: PageBlock) -> set[str]:
    """The blocks that a block is wired to or runs after."""
    found = set(block.after)
    for value in (*block.inputs.values(), block.initial):
        for each in value if type(value) is list else (value,):
            if type(each) is str:
                found.add(each.partition(":")[0])
    return found


def topological_order(needs: Mapping[str, set[str]]) -> list[str]:
    """Names so that each comes after those it needs, stably. Names on or after a cycle are omitted."""
    place = {name: i for i, name in enumerate(needs)}
    if all(place.get(n, -1) < place[name] for name, first in needs.items() for n in first):
        return list(needs)
    followers: dict[str, list[str]] = {}
    waiting = {}
    for name, first in needs.items():
        known = first & place.keys()
        waiting[name] = len(known)
        for each in known:
            followers.setdefault(each, []).append(name)
    ready = [place[name] for name, count in waiting.items() if not count]
    names, ordered = list(needs), []
    while ready:
        name = names[heapq.heappop(ready)]
        ordered.append(name)
        for follower in followers.get(name, ()):
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, place[follower])
    return ordered


def find_cycles(names: Sequence[str], needs: Mapping[str, set[str]]) -> list[list[str]]:
    """The cycles among blocks that topological_order omitted: each of `names` needs another of them."""
    among, seen = set(names), set[str]()
    found = []
    for start in names:
        name, trail = start, dict[str, None]()
        while name not in trail and name not in seen:
            trail[name] = None
            name = min(needs[name] & among)
        if name in trail:
            path = list(trail)
            found.append(path[path.index(name) :])
        seen.update(trail)
    return found
