"""What a fuzzer has found, told once for each cause, with the command that makes it happen again."""

from __future__ import annotations

import hashlib
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from backblocks.errors import InternalError

FAULT = "Please report it"
"""What an error says of itself that is a fault of the library and no refusal."""
SOURCES = str(Path(__file__).parents[2] / "src")
FOUND = Path(__file__).parents[2] / ".fuzz" / "found"
"""Where bytes that are findings are kept."""


class Finding(AssertionError):
    """Neither a right answer nor a refusal. `cause` is the same for all findings of one defect."""

    def __init__(self, what: str, cause: str = "") -> None:
        super().__init__(what)
        self.what, self.cause = what, cause or what


def of_error(error: BaseException) -> Finding:
    """The finding of an error that is not the library's own: its type, words and place."""
    if isinstance(error, InternalError) and error.__cause__:  # a fault of ours, told as such
        error = error.__cause__
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(SOURCES)]
    where = f"{Path(ours[-1].filename).relative_to(SOURCES)}:{ours[-1].lineno}" if ours else "?"
    try:
        words = " ".join(str(error).split())[:160]
    except Exception as why:  # its words are part of what is wrong
        words = f"cannot be shown: {type(why).__name__}"
    kind = type(error).__name__
    return Finding(f"{kind}: {words} ({where})", f"{kind} at {where}")


def words_of_refusal(error: Any, op: str = "") -> str:
    """What is wrong with a refusal: it must name the op, the rule and what to do, in one printable line."""
    if isinstance(error, InternalError):
        return of_error(error).what
    try:
        text = str(error)
        text.encode()
    except Exception as why:
        return f"a refusal that cannot be shown: {type(why).__name__}"
    if op and error.op != op:
        return f"a refusal by {error.op!r}"
    if not error.problem or not error.hint:
        return f"a refusal that does not say what to do: {text[:200]}"
    if "\n" in text or not text.endswith((".", "?", "!", ")")):
        return f"a refusal that is no sentence: {text[:200]!a}"
    return "a refusal that is too long" if len(text) > 100_000 else ""


class Told:
    """Counts what became of the tries of one target, and tells findings as they come, once for each cause."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.outcomes: Counter[str] = Counter()
        self.causes: Counter[str] = Counter()

    def again(self, tried: bytes) -> tuple[str, str]:
        """What was tried in a word, and what stands behind `python tools/fuzz TARGET` to try it again."""
        words = tried.decode()
        return words.split()[0], words

    def finding(self, tried: bytes, what: str, cause: str = "", call: str = "") -> None:
        name, again = self.again(tried)
        key = f"{name}: {cause or what[:60]}"
        self.causes[key] += 1
        if self.causes[key] == 1:
            lines = [
                f"{name}: {what}",
                *([call] if call else []),
                f"python tools/fuzz {self.target} {again}",
            ]
            text = "\n    ".join(lines)
            print(text.encode("ascii", "backslashreplace").decode(), flush=True)

    def end(self, seconds: float) -> int:
        """Prints the summary and gives how many causes there are."""
        tries = sum(self.outcomes.values()) + sum(self.causes.values())
        counts = ", ".join(f"{count} {what}" for what, count in self.outcomes.most_common())
        times = f" ({sum(self.causes.values())} times)" if self.causes else ""
        rate = f"{tries / max(seconds, 1e-9):.0f} a second"
        print(
            f"{self.target}: {tries} tries, {rate}, {len(self.causes)} findings{times}; {counts}",
            flush=True,
        )
        return len(self.causes)


class ToldOfBytes(Told):
    """The same for bytes, which are kept in files."""

    def again(self, tried: bytes) -> tuple[str, str]:
        folder = FOUND / self.target
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / hashlib.sha256(tried).hexdigest()[:12]
        path.write_bytes(tried)
        return self.target, str(
            path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        )
