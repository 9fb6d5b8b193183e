"""Page files as bytes: strict JSON parsed to pages, and pages serialized with a line for each block."""

from __future__ import annotations

import errno
import gc
import json
import math
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from backblocks.errors import OpError, described
from backblocks.pages.dataclass_json import Json, from_json, to_json
from backblocks.pages.migrations import upgrade_to_current
from backblocks.pages.model import FORMAT, PageFile

MAX_PAGE_BYTES = 1 << 26
"""A page is for people to read: a larger one has arrays that belong in npy files."""

_EXPANDED_LEVELS = {
    "blocks": 1,
    "frames": 1,
    "notes": 1,
    "monitors": 1,
    "run": 2,
    "ports": 2,
    "layout": 2,
}
"""How many levels of a section have a line for each entry; deeper ones are on one line."""

_MAX_DEPTH = 80
"""Levels of nesting: the axes of a constant of the highest rank, and what is around it."""

P = TypeVar("P", bound=PageFile)


def read_file(path: Path) -> bytes:
    """The bytes of a page file: a regular file that is not too large."""
    try:
        with open_regular_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= MAX_PAGE_BYTES:
                return file.read(MAX_PAGE_BYTES + 1)
    except OSError as error:
        hint = "Give the path of a page that may be read."
        raise _file_error("cannot be opened", f"{path}: {error.strerror}", hint) from error
    raise _too_large(size)


def open_regular_file(path: Path) -> BinaryIO:
    """Opens a regular file for reading. Folders, devices and pipes are refused without blocking.

    The kind of file is checked on the open handle, so that it cannot be swapped in between.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = stat.S_IFMT(os.fstat(handle).st_mode)
    if kind != stat.S_IFREG:
        os.close(handle)
        text = f"It is {_FILE_KINDS.get(kind, 'a device')} and no plain file"
        raise OSError(errno.EINVAL, text, os.fspath(path))
    return os.fdopen(handle, "rb")


_FILE_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def _too_large(size: int) -> OpError:
    hint = "Keep arrays in files of their own."
    return _file_error(f"must have at most {MAX_PAGE_BYTES >> 20} MiB", f"{size} bytes", hint)


def parse(data: bytes, cls: type[P]) -> P:
    """The page in a file's bytes, of any version. No other file is opened, and nothing runs."""
    with _gc_disabled():
        return from_json(cls, upgrade_to_current(decode_json(data)))


@contextmanager
def _gc_disabled() -> Iterator[None]:
    """Disables garbage collection: JSON has no cycles, and looking for them doubles the time of parsing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def decode_json(data: bytes) -> Json:
    """The JSON in a page file of any version, with unique keys, finite numbers and bounded depth."""
    if len(data) > MAX_PAGE_BYTES:
        raise _too_large(len(data))
    try:
        text = data.decode()
        found = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_float=_finite_float,
            parse_constant=_reject_constant,
        )
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        where = f"{error.msg} in line {error.lineno}, column {error.colno}"
        hint = "Correct it there, or restore the file."
        raise _file_error("must be JSON", where, hint) from None
    except UnicodeEncodeError as error:
        half = described(f"half of a surrogate pair, \\u{ord(error.object[error.start]):04x}")
        hint = "Write both halves, or the character itself."
        raise _file_error("must have whole characters", half, hint) from None
    except UnicodeDecodeError:
        hint = "Save it in that encoding."
        raise _file_error("must be UTF-8 text", "other bytes", hint) from None
    except RecursionError:
        raise _too_deep() from None
    except OpError:
        raise
    except ValueError:  # Python reads no longer ones: the time grows with the square of the digits
        most = sys.get_int_max_str_digits()
        raise _not_json(f"a number of more than {most} digits") from None
    if exceeds_max_depth(found):
        raise _too_deep()
    return found


def exceeds_max_depth(value: Json) -> bool:
    """Whether JSON is nested so deeply that recursive readers could overflow the stack."""
    level: list[Json] = [[value]]
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for each in level
            for inner in (each.values() if type(each) is dict else each)
            if type(inner) in (dict, list)
        ]
        if not level:
            return False
    return True


def _too_deep() -> OpError:
    hint = "No page needs that many brackets."
    return _file_error("must not be nested so deeply", f"more than {_MAX_DEPTH} levels", hint)


def _file_error(problem: str, got: str, hint: str) -> OpError:
    return OpError(problem, op="Page", arg="file", got=described(got), hint=hint)


def _not_json(got: str) -> OpError:
    return _file_error("must be JSON", got, "Correct it.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _not_json(f"two entries with the name {twice!r}")
    return found


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _not_json(f"the number {text}, which is too large")
    return number


def _reject_constant(text: str) -> float:
    raise _not_json(f"{text}, which JSON has no number for")


def serialize(page: PageFile) -> bytes:
    """The canonical text of a page. Its constants must be JSON, and not arrays in memory."""
    return serialize_json(to_json(page))


def serialize_json(data: Json) -> bytes:
    """As `serialize`, from a page's JSON."""
    rest = {key: value for key, value in data.items() if key != "format"}
    lines = [
        f'  "format": {FORMAT}',
        *(
            f"  {_compact(key)}: {_expanded(each, _EXPANDED_LEVELS.get(key, 0), '  ')}"
            for key, each in rest.items()
        ),
    ]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _expanded(value: Json, levels: int, indent: str) -> str:
    if not levels or type(value) is not dict or not value:
        return _compact(value)
    inside = indent + "  "
    lines = [f"{inside}{_compact(k)}: {_expanded(v, levels - 1, inside)}" for k, v in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
