"""Errors that a page check reports: one function for each problem, with its rule and hint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from backblocks.dtypes import NAMES
from backblocks.errors import Fix, OpError, described, nearest
from backblocks.ops import REGISTRY
from backblocks.pages.model import GRADIENTS, PAGE, PageFile

MAX_NAME_LENGTH = 1000
"""Characters in the name of a block."""
MAX_PAGE_DEPTH = 32
"""Levels of pages that are blocks of pages."""
_MAX_LISTED = 32


def wrong_dtype(got: Any, wanted: Any, whose: str, fixes: Iterable[Fix] = ()) -> OpError:
    return OpError(
        f"must be {NAMES[wanted]}, as {whose} is",
        got=described(NAMES[got]),
        hint="Put a Cast block between, or change one of the two.",
        fixes=fixes,
    )


def unknown_dtype(name: Any) -> OpError:
    hint = f"Use one of {', '.join(NAMES.values())}."
    return OpError("must be of a known dtype", got=name, hint=hint)


def bad_name(name: str) -> OpError:
    return OpError(
        "must begin with a letter or digit and have letters, digits, _ . - only, "
        f"at most {MAX_NAME_LENGTH}",
        op="Page",
        arg="name",
        got=name,
        hint="Write / between the names of scopes.",
    )


def taken_name(name: str) -> OpError:
    hint = "Rename it: another block of the graph has this name."
    return OpError("must have a name of its own", op="Page", arg="name", got=name, hint=hint)


def cycle(names: Sequence[str]) -> OpError:
    path = " needs ".join([*names[:8], "..." if len(names) > 8 else names[0]])
    hint = "Remove one of the wires of this cycle."
    return OpError("must not depend on itself", op="Page", arg="in", got=described(path), hint=hint)


def unknown_op(name: str) -> OpError:
    near = nearest(name, [*REGISTRY, GRADIENTS, PAGE])
    hint = (
        f"Did you mean {near}?" if near else "It is kept as it is; a later backblocks may have it."
    )
    return OpError("is no op that is known here, so it cannot run", op=name, hint=hint)


def unknown_block(name: str, page: PageFile) -> OpError:
    near = nearest(name, page.blocks)
    hint = f"Did you mean {near}?" if near else "Name a block of this page."
    return OpError("must come from a block of the page", got=name, hint=hint)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> OpError:
    near = nearest(name, known)
    names = listed([*known]) or f"no {kind}"
    hint = f"Did you mean {near}?" if near else f"It takes {names}."
    return OpError(f"is no {kind} that is known here", arg=name, hint=hint)


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the first of them if there are many."""
    return ", ".join([*names[:_MAX_LISTED], *(["..."] if len(names) > _MAX_LISTED else [])])


def nested_too_deeply() -> OpError:
    hint = "Put more of its blocks on one page."
    rule = f"must not use pages that use pages, more than {MAX_PAGE_DEPTH} levels deep"
    return OpError(rule, hint=hint)
