"""What reads bytes from others: page files, arrays, checkpoints and the studio's messages.

Each function takes the bytes of one file, or lines of messages, and gives what became of them. Whatever it
raises is a finding: a reader answers, or refuses with an error of the library that says what to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import backblocks as bb
from backblocks.cli import main
from backblocks.commands.terminal import INTERRUPTED_EXIT
from backblocks.dtypes import BY_NAME, NAMES
from backblocks.errors import OpError
from backblocks.ops import REGISTRY
from backblocks.ops.io.checkpoints import checkpoint
from backblocks.pages.folder import Folder
from backblocks.pages.serialization import parse, serialize
from backblocks.studio.array_import import constants
from fuzz.findings import FAULT, Finding, words_of_refusal
from fuzz.limits import ANSWERS, Slow, Stopwatch

CORPORA = Path(__file__).parents[2] / "tests" / "fuzz" / "corpus"


@cache
def _home() -> Path:
    """A folder for the files of this process, removed when it ends."""
    folder = tempfile.TemporaryDirectory(prefix="fuzz-")
    _kept.append(folder)
    return Path(folder.name)


_kept: list[Any] = []


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Lets a reader refuse, in words that can be shown."""
    try:
        yield
    except OpError as refusal:
        problems = getattr(refusal, "problems", None) or [refusal]
        for problem in problems:
            if wrong := words_of_refusal(problem):
                raise Finding(wrong) from refusal
        raise Refused from None


class Refused(Exception):
    """What a reader may do."""


def _written(name: str, data: bytes) -> Path:
    path = _home() / name
    path.write_bytes(data)
    return path


# -- pages ----------------------------------------------------------------------------------------


def page(data: bytes) -> str:
    """A page file is read, checked, exported, compared and written, by the commands and by the library."""
    np.save(_home() / "x.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    path = _written("p.page.json", data)
    for words in (["check"], ["check", "--json"], ["diff", str(path)]):
        _command(*words, str(path))
    for library in ("python", "tensorflow"):
        code, script = _command("export", str(path), "--to", library)
        if code == 0:
            compile(script, "export", "exec")
    with _refusals():
        opened = bb.open_page(path)
    for problem in opened.check():
        if wrong := words_of_refusal(problem):
            raise Finding(wrong)
    if serialize(parse(serialize(opened), bb.Page)) != serialize(opened):
        raise Finding("the page that is written is read as another one")
    with _refusals():
        opened.feeds()
    return "read"


def _command(*words: str) -> tuple[int, str]:
    """A command ends with its exit code, and prints nothing that a terminal takes for a command."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            code = main(words)
        except SystemExit as end:
            raise Finding(f"{words} ends with {end.code}: {printed.getvalue()}") from None
    if code == INTERRUPTED_EXIT:
        raise Slow
    if code not in (0, 1):
        last = " ".join(printed.getvalue()[-1000:].split())
        raise Finding(f"exit code {code} of {words[0]}: {last}", f"exit code {code} of {words[0]}")
    if not printed.getvalue().replace("\n", "").isprintable():
        raise Finding(f"{words[0]} prints characters that are no text")
    return code, printed.getvalue()


# -- arrays ---------------------------------------------------------------------------------------


def npy(data: bytes) -> str:
    """An npy file is the constant of a page, and is dropped on one."""
    path = _written("x.npy", data)
    read = False
    for name in ("float32", "int64", "bfloat16", "bool"):
        try:
            with _refusals():
                array = Folder(_home(), _home()).array("x.npy", BY_NAME[name], None)
            _check(array)
            read = True
        except Refused:
            pass
    _drop(path, "x.npy")
    return "read" if read else "refused"


def tensors(data: bytes) -> str:
    """A file of several tensors is restored, and is dropped on a page."""
    path = _written("file", data)
    return _restore(path)


def bundle(data: bytes) -> str:
    """TensorFlow's bundle: two files, of which the length of the first comes first (4 bytes)."""
    length = int.from_bytes(data[:4], "little")
    _written("bundle.index", data[4 : 4 + length])
    _written("bundle.data-00000-of-00001", data[4 + length :])
    return _restore(_home() / "bundle")


def _restore(path: Path) -> str:
    outcome = "refused"
    try:
        with _refusals(), checkpoint("file", str(path).encode()) as found:
            names = found.names()
    except Refused:
        names = ["x"]
    for name in names[:20]:
        for dtype in ("float32", "string"):
            try:
                with _refusals():
                    _check(bb.ops.restore(str(path), name, dt=dtype))
                outcome = "read"
            except Refused:
                pass
            except UnicodeEncodeError as error:
                if error.object != name:  # a name that is no text can be no argument
                    raise
    if path.exists():
        _drop(path, "file")
    return outcome


def _drop(path: Path, name: str) -> None:
    """As it is dropped on a page of the studio."""
    try:
        with _refusals():
            json.dumps(constants(path, name, _home() / "drop.page.json")).encode()
    except Refused:
        pass


def _check(array: Any) -> None:
    if array.dtype not in NAMES or array.ndim > 32:
        raise Finding(f"an array of {array.dtype} with {array.ndim} axes")


# -- messages -------------------------------------------------------------------------------------


MOST_TRIES = 1000
"""After which another server is started: pages that were opened stay open for ten minutes."""


class Server:
    """The studio's application, spoken to as its server does, without a port."""

    def __init__(self) -> None:
        from backblocks.studio.app import create_app
        from backblocks.studio.auth import Credentials
        from backblocks.studio.state_folder import StateFolder

        work = _home() / "work"
        work.mkdir(exist_ok=True)
        blocks = {"a": {"op": "Const", "attrs": {"value": [1, 2, 3]}}}
        (work / "p.page.json").write_text(json.dumps({"format": 1, "blocks": blocks}))
        self._credentials = Credentials(1)
        self._app = create_app(
            work, self._credentials, ["localhost"], 1, state=StateFolder(_home() / "state")
        )
        self.tries = 0
        self._wrong: list[str] = []
        self._runner = asyncio.Runner()
        self._runner.get_loop().set_exception_handler(
            lambda loop, about: self._wrong.append(repr(about.get("exception") or about["message"]))
        )
        self._runner.run(self._start())

    def end(self) -> None:
        self._runner.run(self._stop())
        self._runner.close()

    async def _stop(self) -> None:
        await self._first.end()
        await self._events.put({"type": "lifespan.shutdown"})
        await self._lifespan

    async def _start(self) -> None:
        self._events: asyncio.Queue[Any] = asyncio.Queue()
        started = asyncio.Event()

        async def send(event: Any) -> None:
            started.set()

        self._lifespan = asyncio.create_task(
            self._app({"type": "lifespan"}, self._events.get, send)
        )
        await self._events.put({"type": "lifespan.startup"})
        await started.wait()
        self._first = Socket(self._app, self._credentials)
        await self._first.say('{"kind":"open","request":1,"path":"p.page.json"}')
        await self._first.hear("opened")

    def take(self, texts: list[str]) -> None:
        self.tries += 1
        self._runner.run(self._take(texts))
        if self._wrong:
            wrong, self._wrong = self._wrong, []
            raise Finding(f"a task of the server failed: {wrong[0]}")

    async def _take(self, texts: list[str]) -> None:
        socket = Socket(self._app, self._credentials)
        try:
            for text in texts:
                await socket.say(text)
            await socket.say('{"kind":"list files"}')
            await socket.hear("files")
        finally:
            await socket.end()
        for undo in ('{"kind":"control","page":1,"what":"stop"}', '{"kind":"revert","page":1}'):
            await self._first.say(undo)
        self._first.heard()


class Socket:
    """One tab."""

    def __init__(self, app: Any, keys: Any) -> None:
        self._to: asyncio.Queue[Any] = asyncio.Queue()
        self._from: asyncio.Queue[Any] = asyncio.Queue()
        headers = {
            "host": "localhost:1",
            "origin": "http://localhost:1",
            "cookie": f"{keys.cookie_name}={keys.cookie}",
        }
        scope = {
            "type": "websocket", "path": "/socket", "raw_path": b"/socket", "root_path": "",
            "query_string": b"", "scheme": "ws", "subprotocols": [], "http_version": "1.1",
            "client": ("127.0.0.1", 2), "server": ("127.0.0.1", 1),
            "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
        }  # fmt: skip
        self._to.put_nowait({"type": "websocket.connect"})
        self._task = asyncio.create_task(app(scope, self._to.get, self._from.put))

    async def say(self, text: str) -> None:
        await self._to.put({"type": "websocket.receive", "text": text})

    async def hear(self, kind: str) -> None:
        """Waits for a message of this kind."""
        watch = Stopwatch()
        while watch.spent() < ANSWERS:
            if self._task.done():
                error = self._task.exception()
                if error is not None:
                    raise error
                raise Finding("the server has left the tab")
            try:
                event = await asyncio.wait_for(self._from.get(), 0.1)
            except TimeoutError:
                continue
            if event["type"] == "websocket.close":
                raise Finding("the server has closed the socket")
            if FAULT in (event.get("text") or ""):
                raise Finding(f"the server fails: {event['text'][:1000]}", "the server fails")
            if json.loads(event.get("text") or "{}").get("kind") == kind:
                return
        raise Finding(f"the server does not answer: no {kind!r} in {ANSWERS} s of CPU time")

    def heard(self) -> None:
        """Drops what has come."""
        while not self._from.empty():
            self._from.get_nowait()

    async def end(self) -> None:
        await self._to.put({"type": "websocket.disconnect", "code": 1000})
        await asyncio.wait([self._task], timeout=5)
        if self._task.done() and (error := self._task.exception()) is not None:
            raise error


@cache
def _server() -> Server:
    return Server()


def close() -> None:
    """Ends the server, if there is one."""
    if _server.cache_info().currsize:
        _server().end()
        _server.cache_clear()


def message(data: bytes) -> str:
    """Lines of text, each of which is a message of a tab. Afterwards the server must still answer."""
    texts = data.decode(errors="replace").split("\n")
    server = _server()
    server.take(texts)
    if server.tries == MOST_TRIES:
        close()
    return "answered"


TARGETS: dict[str, Callable[[bytes], str]] = {
    "page": page,
    "npy": npy,
    "npz": tensors,
    "safetensors": tensors,
    "checkpoint": tensors,
    "bundle": bundle,
    "message": message,
}


def words(target: str) -> list[str]:
    """What such bytes are made of, as libFuzzer's dictionaries write it."""
    found = {
        word for path in (CORPORA / target).iterdir() for word in _WORD.findall(path.read_bytes())
    }
    if target == "page":
        found |= {name.encode() for name in REGISTRY}
    return sorted(word.decode() for word in found)


_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{2,30}")


def check(target: str, data: bytes) -> str:
    """Gives what became of the bytes; raises what no reader may raise."""
    try:
        return TARGETS[target](data)
    except Refused:
        return "refused"
