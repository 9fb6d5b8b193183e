"""Asks of the values of a page that has run."""

from __future__ import annotations

from typing import Any

import numpy as np
from conftest import Tab, opened_frame


class Asker:
    """A tab that has run a page."""

    def __init__(self, tab: Tab, page: int) -> None:
        self.tab, self.page = tab, page
        self.requests = 0
        ended = tab.run(page)
        assert "problem" not in ended, ended["problem"]

    def ask(self, kind: str, **fields: Any) -> None:
        self.requests += 1
        self.tab.send(kind, page=self.page, request=self.requests, **fields)

    def hear(self) -> Any:
        """The next answer to the last question: a message, or the frame of a part."""
        while True:
            message = self.tab.next()
            if isinstance(message, bytes):
                return message
            if message.get("request") == self.requests and message["kind"] != "progress":
                return message

    def answer(self, kind: str, **fields: Any) -> Any:
        """The answer that is no refusal."""
        self.ask(kind, **fields)
        answer = self.hear()
        assert isinstance(answer, bytes) or answer["kind"] != "refused", answer
        return answer

    def refused(self, kind: str, **fields: Any) -> str:
        """The words of a refusal."""
        self.ask(kind, **fields)
        answer = self.hear()
        assert not isinstance(answer, bytes)
        assert answer["kind"] == "refused", answer
        text: str = answer["text"]
        return text

    def look(self, pin: str, **how: Any) -> tuple[Any, np.ndarray[Any, Any]]:
        return opened_frame(self.answer("read slice", pin=pin, **how))

    def measure(self, pin: str, **how: Any) -> Any:
        """The exact answer."""
        self.ask("compute statistics", pin=pin, **how)
        while (answer := self.hear()).get("sampled"):
            pass
        return answer
