"""Every error of the library. One sentence of what is wrong, what was got, and what to do."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

_NOTHING: Any = object()
_COMPARED = 1000
"""Names among which the one that was meant is looked for."""
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Fix:
    """A change of a call that makes the broken rule hold, which a page can carry out as an edit.

    A rule proposes it in the words of the call: it knows arguments, not wires. Whoever has the page offers it
    only if the rule then passes.
    """

    kind: Literal["set", "insert", "swap", "constant"]
    """set: gives attributes, or inputs that are constants, these `values`; insert: computes an input by `op`
    from what it is now, with `values` as the op's other arguments; swap: exchanges two inputs; constant:
    gives an input that is a constant the "shape" or "dtype" of `values`."""
    args: tuple[str, ...]
    """The arguments that change; "values[1]" of a list."""
    values: dict[str, Any] = field(default_factory=dict)
    """Plain values, as a page has them."""
    op: str = ""
    like: str = ""
    """The block that has the same values already."""

    def __str__(self) -> str:
        given = ", ".join(f"{name}={_short(_plain(value))}" for name, value in self.values.items())
        match self.kind:
            case "set":
                return f"set {given}" + (f", as {self.like} has" if self.like else "")
            case "insert":
                return f"insert {self.op}({given}) before {self.args[0]}"
            case "swap":
                return f"swap {' and '.join(self.args)}"
            case "constant":
                return f"give the constant at {self.args[0]} {given}"


def set_to(**values: Any) -> Fix:
    return Fix("set", tuple(values), values)


def insert(arg: str, op: str, **values: Any) -> Fix:
    return Fix("insert", (arg,), values, op)


def swap(first: str, second: str) -> Fix:
    return Fix("swap", (first, second))


def change_constant(arg: str, **values: Any) -> Fix:
    return Fix("constant", (arg,), values)


class BackblocksError(Exception):
    """Whatever leaves the library: a refusal of what was given (OpError), or a fault of ours (InternalError).

    The parts are kept apart so that a page can mark the very pin or field at fault.
    """

    def __init__(
        self,
        problem: str,
        *,
        op: str = "",
        arg: str = "",
        axis: int | None = None,
        got: Any = _NOTHING,
        hint: str = "",
        fixes: Iterable[Fix] = (),
    ) -> None:
        super().__init__(problem)
        self.problem, self.op, self.arg, self.hint = problem, op, arg, hint
        self.fixes = [*fixes]
        """What may make the rule hold."""
        self.axis = axis
        """The axis that is at fault, where it is one of them: of the argument, or of what it cuts."""
        self.block = ""
        """The name of the block, where it stands in a graph."""
        self.got = None if got is _NOTHING else got
        self._got_text = "" if got is _NOTHING else f"; got {_short(got)}"

    @property
    def got_in_words(self) -> str:
        """What was got, as the sentence says it; nothing where it does not."""
        return self._got_text.removeprefix("; got ")

    def __reduce__(self) -> tuple[Any, ...]:
        state = {**self.__dict__, "got": described(self.got_in_words)}
        return type(self), self.args, state

    def __str__(self) -> str:
        where = ".".join(part for part in (self.op, self.arg) if part)
        start = f"{where}: " if where else ""
        if self.block:
            start = f'block "{self.block}": {start}'
        got = self._got_text
        if self.axis is not None and f"axis {self.axis}" not in self.problem:
            got += f" (axis {self.axis})"
        return visible(f"{start}{self.problem}{got}." + (f" {self.hint}" if self.hint else ""))


class OpError(BackblocksError, ValueError):
    """An op was called with something it cannot accept.

    Rules and attribute kinds leave out the op's name; the op that was called fills it in.
    """


class InternalError(BackblocksError, RuntimeError):
    """An op failed in a way that nobody foresaw: a fault of the library, with what to send to its authors.

    It is no OpError: whoever expects a refusal, as tests do, must not take a fault for one. The exception
    that it comes from is its `__cause__`.
    """


class OpMemoryError(OpError, MemoryError):
    """The result would not fit in memory. Raised before anything is allocated where that can be known."""


class PageError(OpError):
    """A page cannot be made into a graph: everything that is wrong with it."""

    def __init__(self, problems: Sequence[OpError], page: str = "") -> None:
        what = f"has {len(problems)} {'problem' if len(problems) == 1 else 'problems'}"
        super().__init__(what, op="Page", arg=page)
        self.problems = tuple(problems)
        self.args = (self.problems, page)

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"  {problem}" for problem in self.problems)])


def _short(value: Any) -> str:
    """The value as text, cut so that an error stays one readable line."""
    try:
        text = value if isinstance(value, _Plain) else " ".join(_repr(value, _LONGEST + 1).split())
    except Exception:  # the value is what is wrong; that it cannot be shown must not hide why
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


_LONGEST = 120
"""Letters of a value that stand in an error."""


def _repr(value: Any, room: int) -> str:
    """The first `room` letters of repr(value), or some more.

    Lists may have more cells than can be written, where they hold one list many times.
    """
    if isinstance(value, str | bytes):
        return repr(value[:room])
    if hasattr(value, "tolist"):  # an array, which is not imported for this
        if not getattr(value, "ndim", 0):
            return repr(value.tolist())
        value = value[:room]
        value = value.tolist() if value.ndim == 1 else list(value)
    if type(value) not in (list, tuple):
        return reprlib.repr(value) if isinstance(value, dict | set | frozenset) else repr(value)
    parts, left = [], room
    for each in value:
        parts.append(_repr(each, left) if left > 0 else "...")
        left -= len(parts[-1]) + 2
        if left <= 0:
            break
    text = ", ".join(parts)
    if type(value) is list:
        return f"[{text}]"
    return f"({text},)" if len(value) == 1 else f"({text})"


class _Plain(str):
    """A description of a value, shown without quotes."""

    __slots__ = ()


_UNSEEN = (
    "\x00-\x1f\x7f-\x9f"  # control characters, C0 and C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # change the direction of what follows
    "\u2028\u2029\ufeff\ud800-\udfff"  # line separators, byte order mark, halves of characters
)
_CONTROLS = re.compile(f"[{_UNSEEN}]")
_CONTROLS_IN_LINES = re.compile(f"(?!\n)[{_UNSEEN}]")


def visible(text: str, lines: bool = False) -> str:
    """Text with characters that a terminal would act upon written as JSON and Python write them: \\u001b.

    With `lines`, ends of lines stay what they are.
    """
    return (_CONTROLS_IN_LINES if lines else _CONTROLS).sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def nearest(name: str, known: Iterable[str]) -> str:
    """The one of the known names that may have been meant, or nothing."""
    import difflib  # only mistakes pay for it

    names = list(known)
    if len(names) > _COMPARED:  # to compare two names takes some 30 us
        near = (each for each in names if each[:1] == name[:1] and each[-1:] == name[-1:])
        names = list(islice(near, _COMPARED // 10))
    names = [each for each in names if len(each) <= _LONGEST_NAME]
    return next(iter(difflib.get_close_matches(name[:_LONGEST_NAME], names, 1)), "")


def _plain(value: Any) -> Any:
    return _Plain(value) if isinstance(value, str) else value


def described(text: str) -> str:
    """Marks `text` as words about a value rather than the value itself."""
    return _Plain(text)
