"""Studios in processes of their own, and tabs that speak to them over real sockets."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import secrets
import signal
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.sync.client import ClientConnection, connect

from backblocks.dtypes import BY_NAME

PATIENCE = 60.0
_PAGES = itertools.count()
_BACKBLOCKS = Path(sys.executable).parent / "backblocks"


class Tab:
    """A tab of a browser, as the studio sees one."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.heard: list[Any] = []
        self._numbers = itertools.count(1)
        self.client = secrets.token_hex(8)
        self._changes = itertools.count(1)

    def send(self, kind: str, **fields: Any) -> None:
        self.socket.send(json.dumps({"kind": kind, **fields}))

    def next(self, seconds: float = PATIENCE) -> Any:
        """The next message: a dict, or the bytes of a binary frame."""
        data = self.socket.recv(timeout=seconds)
        message = json.loads(data) if isinstance(data, str) else data
        self.heard.append(message)
        return message

    def hear(self, kind: str, seconds: float = PATIENCE, **fields: Any) -> Any:
        """The next message of a kind that has these fields; others are passed over."""
        end = time.monotonic() + seconds
        while True:
            message = self.next(max(0.0, end - time.monotonic()))
            if isinstance(message, bytes):
                if kind == "bytes":
                    return message
            elif message["kind"] == kind and all(message.get(k) == v for k, v in fields.items()):
                return message

    def hears_nothing_of(self, kind: str, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            self.hear(kind, seconds)
            return False
        return True

    def open(self, **which: Any) -> Any:
        """Opens a page; with `pending` also asks which of these changes of its client the page has."""
        request = next(self._numbers)
        client = {"client": self.client} if "pending" in which else {}
        self.send("open", request=request, **client, **which)
        return self.hear("opened", request=request)

    def send_change(self, page: int, *edits: dict[str, Any]) -> int:
        """Sends a change, and gives its number."""
        number = next(self._changes)
        self.send("change", page=page, client=self.client, number=number, edits=list(edits))
        return number

    def change(self, page: int, *edits: dict[str, Any]) -> Any:
        """Makes a change, and gives the answer."""
        number = self.send_change(page, *edits)
        return self.hear("changed", client=self.client, number=number)

    def run(self, page: int, seconds: float = PATIENCE, **how: Any) -> Any:
        """Runs, and gives the state in which it ended."""
        self.send("run", page=page, **how)
        self.hear("run state", state="starting")
        return self.hear("run state", seconds, state="idle")


class Studio:
    """A studio that was started by its command."""

    def __init__(self, folder: Path, state: Path, *arguments: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(  # noqa: S603
            [_BACKBLOCKS, "studio", str(folder), "--no-browser", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "XDG_STATE_HOME": str(state)},
        )
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        found = re.search(r"http://([^/]+)/#token=(\S+)", self.line)
        assert found is not None, self.line
        self.host, self.token = found.groups()
        self.cookie = ""
        self._tabs = contextlib.ExitStack()

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes, Any]:
        """Asks over HTTP: status, body and headers."""
        request = urllib.request.Request(f"http://{self.host}{path}", body, method=method)
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
                return answer.status, answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read(), error.headers

    def enter(self) -> None:
        """Exchanges the printed token for the cookie, as the page does."""
        body = json.dumps({"token": self.token}).encode()
        status, text, headers = self.ask("POST", "/enter", body, Origin=f"http://{self.host}")
        assert status == 200, text
        self.cookie = headers["set-cookie"].partition(";")[0]

    def get(self, path: str) -> tuple[int, bytes, Any]:
        return self.ask("GET", path, Cookie=self.cookie)

    def post(self, path: str, body: bytes) -> tuple[int, bytes, Any]:
        return self.ask("POST", path, body, Cookie=self.cookie, Origin=f"http://{self.host}")

    def tab(self, again: Tab | None = None, name: str = "") -> Tab:
        """A new tab, by the name it gives itself; or one that comes `again` after its connection was lost."""
        if not self.cookie:
            self.enter()
        opening = connect(
            f"ws://{self.host}/socket?tab={name}",
            origin=f"http://{self.host}",
            additional_headers={"Cookie": self.cookie},
            max_size=None,
        )
        tab = Tab(self._tabs.enter_context(opening))
        if again is not None:
            tab.client = again.client
        tab.hear("welcome")
        return tab

    def processes(self, module: str = "") -> list[int]:
        """The processes that it has started: all, or those of studio.run_worker or studio.pool_worker."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = []
        for each in children.read_text().split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if module.encode() in Path(f"/proc/{each}/cmdline").read_bytes():
                    found.append(int(each))
        return found

    def kill(self) -> None:
        """As a power cut does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        self._tabs.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Studio]]:
    """Starts studios in a folder, `work` unless another is named."""
    started: list[Studio] = []

    def make(*arguments: str, folder: str = "work") -> Studio:
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        studio = Studio(place, tmp_path / "state", "--port", _free_port(), *arguments)
        started.append(studio)
        return studio

    yield make
    for studio in started:
        studio.end()


@pytest.fixture
def studio(start: Callable[..., Studio]) -> Studio:
    """One for this test alone."""
    return start()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One for all tests of a file, for those that leave no trace in it."""
    place = tmp_path_factory.mktemp("shared")
    (place / "work").mkdir()
    studio = Studio(place / "work", place / "state", "--port", _free_port())
    studio.enter()
    yield studio
    studio.end()


@pytest.fixture
def opened(shared: Studio) -> Iterator[Callable[[Any], tuple[Tab, int]]]:
    """Opens a page with this content in a tab, and closes it after the test."""
    found: list[tuple[Tab, int]] = []

    def make(content: Any) -> tuple[Tab, int]:
        name = f"page{next(_PAGES)}"
        page_file(shared.folder, name, content)
        tab = shared.tab()
        found.append((tab, tab.open(path=f"{name}.page.json")["page"]))
        return found[-1]

    yield make
    for tab, page in found:
        tab.send("close", page=page)


def _free_port() -> str:
    import socket

    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return str(made.getsockname()[1])


def page_file(folder: Path, name: str, document: dict[str, Any]) -> Path:
    """Writes a page."""
    path = folder / f"{name}.page.json"
    path.write_text(json.dumps({"format": 1, **document}))
    return path


def opened_frame(frame: bytes) -> tuple[Any, np.ndarray[Any, Any]]:
    """The header of a binary frame, and the array that it brings."""
    (length,) = struct.unpack("<I", frame[:4])
    head = json.loads(frame[4 : 4 + length])
    begin = 4 + length + (-(4 + length) % 8)
    assert begin % 8 == 0
    array = np.frombuffer(frame[begin:], BY_NAME[head["dtype"]])
    return head, array.reshape(head["shape"])
