"""The text of a page: JSON with a line for each block, note, monitor, setting and position."""

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
from backblocks.pages.fields import Json, as_json, read
from backblocks.pages.model import FORMAT, PageFile
from backblocks.pages.versions import of_today

MOST_BYTES = 1 << 26
"""A page is for people to read: one that is larger has arrays that belong in files."""

_LEVELS = {
    "blocks": 1,
    "frames": 1,
    "notes": 1,
    "monitors": 1,
    "run": 2,
    "ports": 2,
    "layout": 2,
}
"""How many levels of a section are spread over lines."""

_DEEPEST = 80
"""Levels of brackets: those of the largest constant, and what is around it."""

P = TypeVar("P", bound=PageFile)


def read_file(path: Path) -> bytes:
    """What a file holds, if it is one that may be a page."""
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= MOST_BYTES:
                return file.read(MOST_BYTES + 1)
    except OSError as error:
        hint = "Give the path of a page that may be read."
        raise _unreadable("cannot be opened", f"{path}: {error.strerror}", hint) from error
    raise _too_large(size)


def open_plain(path: Path) -> BinaryIO:
    """A plain file, to read from. Directories, devices and pipes are refused without waiting for them.

    The file is looked at once it is open: a pipe that takes its place meanwhile is refused too.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = stat.S_IFMT(os.fstat(handle).st_mode)
    if kind != stat.S_IFREG:
        os.close(handle)
        text = f"It is {_KINDS.get(kind, 'a device')} and no plain file"
        raise OSError(errno.EINVAL, text, os.fspath(path))
    return os.fdopen(handle, "rb")


_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def _too_large(size: int) -> OpError:
    hint = "Keep arrays in files of their own."
    return _unreadable(f"must have at most {MOST_BYTES >> 20} MiB", f"{size} bytes", hint)


def parse(data: bytes, cls: type[P]) -> P:
    """The page that a file holds. Nothing is looked up, opened or run."""
    with _no_search_for_cycles():
        return read(cls, of_today(json_of(data)))


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """JSON has none, and to look for them among thousands of new objects takes as long as reading it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def json_of(data: bytes) -> Json:
    """The JSON in a file of a page, in whatever version it is."""
    if len(data) > MOST_BYTES:
        raise _too_large(len(data))
    try:
        text = data.decode()
        found = json.loads(
            text, object_pairs_hook=_object, parse_float=_finite, parse_constant=_no_number
        )
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        where = f"{error.msg} in line {error.lineno}, column {error.colno}"
        hint = "Correct it there, or restore the file."
        raise _unreadable("must be JSON", where, hint) from None
    except UnicodeEncodeError as error:
        half = described(f"half of a surrogate pair, \\u{ord(error.object[error.start]):04x}")
        hint = "Write both halves, or the character itself."
        raise _unreadable("must have whole characters", half, hint) from None
    except UnicodeDecodeError:
        hint = "Save it in that encoding."
        raise _unreadable("must be UTF-8 text", "other bytes", hint) from None
    except RecursionError:
        raise _too_deep() from None
    except OpError:
        raise
    except ValueError:  # Python reads no longer ones: the time grows with the square of the digits
        most = sys.get_int_max_str_digits()
        raise _no_json(f"a number of more than {most} digits") from None
    if is_too_deep(found):
        raise _too_deep()
    return found


def is_too_deep(value: Json) -> bool:
    """Whether it has more levels of brackets than those who read it by calling themselves can bear."""
    level: list[Json] = [[value]]
    for _ in range(_DEEPEST):
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
    return _unreadable("must not be nested so deeply", f"more than {_DEEPEST} levels", hint)


def _unreadable(problem: str, got: str, hint: str) -> OpError:
    return OpError(problem, op="Page", arg="file", got=described(got), hint=hint)


def _no_json(got: str) -> OpError:
    return _unreadable("must be JSON", got, "Correct it.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _no_json(f"two entries with the name {twice!r}")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _no_json(f"the number {text}, which is too large")
    return number


def _no_number(text: str) -> float:
    raise _no_json(f"{text}, which JSON has no number for")


def text_of(page: PageFile) -> bytes:
    """The one text of a page. Its constants must be in words or in files."""
    return text_of_json(as_json(page))


def text_of_json(data: Json) -> bytes:
    """As `text_of`, from the JSON of a page."""
    rest = {key: value for key, value in data.items() if key != "format"}
    lines = [
        f'  "format": {FORMAT}',
        *(
            f"  {_text(key)}: {_spread(each, _LEVELS.get(key, 0), '  ')}"
            for key, each in rest.items()
        ),
    ]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _spread(value: Json, levels: int, indent: str) -> str:
    if not levels or type(value) is not dict or not value:
        return _text(value)
    inside = indent + "  "
    lines = [f"{inside}{_text(k)}: {_spread(v, levels - 1, inside)}" for k, v in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
