"""Every error a user can cause. One sentence of what is wrong, what was got, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

_NOTHING: Any = object()


class OpError(ValueError):
    """An op was called with something it cannot accept.

    The parts are kept apart so that a page can mark the very pin or field at fault.
    Rules and attribute kinds leave out the op's name; the op that was called fills it in.
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
    ) -> None:
        super().__init__(problem)
        self.problem, self.op, self.arg, self.hint = problem, op, arg, hint
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
        text = f"{start}{self.problem}{got}." + (f" {self.hint}" if self.hint else "")
        return text.encode(errors="backslashreplace").decode()  # half a character cannot be printed


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
        text = value if isinstance(value, _Plain) else " ".join(repr(value).split())
    except Exception:  # the value is what is wrong; that it cannot be shown must not hide why
        text = f"a {type(value).__name__}"
    return text if len(text) <= 120 else text[:117] + "..."


class _Plain(str):
    """A description of a value, shown without quotes."""

    __slots__ = ()


def nearest(name: str, known: Iterable[str]) -> str:
    """The one of the known names that may have been meant, or nothing."""
    import difflib  # only mistakes pay for it

    return next(iter(difflib.get_close_matches(name, list(known), 1)), "")


def described(text: str) -> str:
    """Marks `text` as words about a value rather than the value itself."""
    return _Plain(text)
