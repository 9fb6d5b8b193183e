"""The studio's web application: static files, one socket for each tab, and what goes by plain requests."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from backblocks import __version__, examples
from backblocks.errors import OpError
from backblocks.studio import messages as m
from backblocks.studio import pipe
from backblocks.studio.drafts import State
from backblocks.studio.guard import Guard, Keys
from backblocks.studio.open_pages import Desk, OpenPage, Refusal, read_document
from backblocks.studio.process_pool import ProcessPool, TaskError, fault
from backblocks.studio.running import Children
from backblocks.studio.workspace import Outside, Workspace

STATIC = Path(__file__).parent / "static"
MOST_BYTES = 1 << 26
"""Of a message from a tab."""
MOST_ARRAY_BYTES = 1 << 30
"""Of a file of arrays that is dropped on a page."""
MOST_WAITING = 20_000
"""Messages for a tab that does not take them: then it is left, and gets all anew when it comes back."""
_KEPT_OPEN = 600.0
"""Seconds that a page stays open after its last tab is gone, as when a browser loads it again."""

_log = logging.getLogger("uvicorn.error")
_commands = msgspec.json.Decoder(m.Commands)
_encode = msgspec.json.Encoder().encode


class Tab:
    """One tab of a browser: takes its commands, and sends it messages in order."""

    _numbers = itertools.count(1)

    def __init__(self, socket: WebSocket, studio: Studio) -> None:
        self.number = next(self._numbers)
        self._socket = socket
        self._studio = studio
        self._desk = studio.desk
        self._waiting: asyncio.Queue[m.Message | bytes] = asyncio.Queue()
        self._sending: asyncio.Task[None]
        self._exporting: set[asyncio.Task[None]] = set()

    def send(self, message: m.Message | bytes) -> None:
        if self._waiting.qsize() < MOST_WAITING:
            self._waiting.put_nowait(message)
        else:
            self._sending.cancel()

    async def talk(self) -> None:
        """Until the tab is closed."""
        await self._socket.accept()
        self.send(await self._studio.welcome())
        self._sending = asyncio.create_task(self._keep_sending())
        try:
            while True:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                await self._take(message.get("text"))
        except WebSocketDisconnect:
            pass
        finally:
            for task in (self._sending, *self._exporting):
                task.cancel()
            for page in list(self._desk.pages.values()):
                page.leave(self)
                self._studio.close_later(page)

    async def _keep_sending(self) -> None:
        try:
            while True:
                message = await self._waiting.get()
                if isinstance(message, bytes):
                    await self._socket.send_bytes(message)
                else:
                    await self._socket.send_text(self._text(message))
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):
                await self._socket.close()

    def _text(self, message: m.Message) -> str:
        try:
            return _encode(message).decode()
        except Exception as error:  # a fault of ours, which is said rather than hidden
            _log.exception("A message cannot be sent")
            return _encode(_fault(f"could not send a {type(message).__name__}", error)).decode()

    async def _take(self, text: str | None) -> None:
        """Does what a message asks for. Whatever is wrong with it, the tab is told and stays connected."""
        try:
            command = _commands.decode(text or "")
        except (msgspec.DecodeError, RecursionError) as error:
            wrong = "bytes instead of text" if text is None else str(error)
            refused = m.Refused(f"The message cannot be understood: {wrong}.")
            self.send(_answering(_numbers(text), refused))
            return
        if isinstance(
            command, m.Export
        ):  # it may take long, and nothing that follows depends on it
            task = asyncio.create_task(self._do(command))
            self._exporting.add(task)
            task.add_done_callback(self._exporting.discard)
        else:
            await self._do(command)

    async def _do(self, command: m.Commands) -> None:
        try:
            await self._carry_out(command)
        except (Refusal, TaskError, OpError, OSError) as error:
            self.send(_answering(command, m.Refused(str(error))))
        except Exception as error:  # a fault of ours, which is said rather than hidden
            _log.exception("A command failed")
            self.send(_answering(command, _fault(f"failed at {type(command).__name__}", error)))

    async def _carry_out(self, command: m.Commands) -> None:
        match command:
            case m.Open():
                (await self._desk.open(command)).join(self, command)
                return
            case m.ListFiles():
                self.send(m.Files(await asyncio.to_thread(self._desk.workspace.files)))
                return
        page = self._desk.page(command.page)
        match command:
            case m.Close():
                page.leave(self)
                await self._desk.close(page)
            case m.Change():
                async with page.changing:
                    await page.take(command, self)
            case m.Save():
                async with page.changing:
                    answer = await page.save(command.path, command.overwrite)
                if isinstance(answer, m.Saved):
                    page.tell(answer)
                else:
                    self.send(answer)
            case m.Revert():
                async with page.changing:
                    await page.revert(command.version)
            case m.ListVersions():
                self.send(await asyncio.to_thread(page.versions))
            case m.Run():
                page.run(command)
            case m.Control():
                page.control(command.what)
            case m.Watch():
                page.watch(self, command.pins)
            case m.Export():
                text, left = await page.export(command.to)
                self.send(m.Exported(command.request, text, left))
            case _:
                page.running.send(pipe.Asked(self.number, command))


class Studio:
    """What the routes share."""

    def __init__(self, desk: Desk, start: str) -> None:
        self.desk = desk
        self._start = start
        self._session = secrets.token_hex(8)
        self._lessons = [_lesson(name) for name in examples.names()]

    async def welcome(self) -> m.Welcome:
        open_now = {page.unsaved for page in self.desk.pages.values()}
        found = await asyncio.to_thread(lambda: [*self.desk.state.unsaved()])
        unsaved = [
            m.Unsaved(
                name,
                str(found.document.get("title", "")),
                found.changes,
                found.since,
                found.page,
            )
            for name, found in found
            if name not in open_now
        ]
        folder = str(self.desk.workspace.folder)
        return m.Welcome(self._session, __version__, folder, self._lessons, self._start, unsaved)

    def close_later(self, page: OpenPage) -> None:
        """Closes a page that no tab comes back to."""
        if not page.tabs and page.closing is None:
            loop = asyncio.get_running_loop()
            close = self.desk.close
            page.closing = loop.call_later(_KEPT_OPEN, lambda: loop.create_task(close(page)))


class _Numbers(msgspec.Struct):
    """The numbers by which a tab knows what is refused."""

    request: m.Int = 0
    page: m.Int = 0
    number: m.Int = 0


def _numbers(text: str | None) -> _Numbers:
    """Those of a message that cannot be understood, as far as it has any."""
    try:
        return msgspec.json.decode(text or "", type=_Numbers)
    except (msgspec.DecodeError, RecursionError):
        return _Numbers()


def _answering(command: m.Commands | _Numbers, refused: m.Refused) -> m.Refused:
    for name in _Numbers.__struct_fields__:
        setattr(refused, name, getattr(command, name, 0))
    return refused


def _fault(what: str, error: Exception) -> m.Refused:
    problem = fault(what, repr(error))
    return m.Refused(f"{problem.text} {problem.hint}")


def _lesson(name: str) -> m.Lesson:
    document = read_document(examples.path(name).read_bytes())
    return m.Lesson(name, document.get("title", ""), document.get("about", ""), document)


def create_app(
    folder: Path,
    keys: Keys,
    hosts: list[str],
    port: int,
    start: str = "",
    memory: int = 0,
    state: State | None = None,
) -> ASGIApp:
    """The application behind its guard. Nothing of the compute library is imported for it."""
    children = Children(memory)
    pool = ProcessPool(memory)
    desk = Desk(Workspace(folder), state or State(), children, pool)
    studio = Studio(desk, start)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        pool.prepare()
        children.prepare()
        yield
        await desk.end()

    async def socket(websocket: WebSocket) -> None:
        await Tab(websocket, studio).talk()

    async def start_page(_: Request) -> Response:
        page = STATIC / "index.html"
        if page.exists():
            return FileResponse(page, headers={"cache-control": "no-cache"})
        return PlainTextResponse("The front end is not built. Run: make web\n", 503)

    async def enter(request: Request) -> Response:
        return await _enter(request, keys)

    async def file(request: Request) -> Response:
        try:
            name = request.query_params.get("path", "")
            opened = await asyncio.to_thread(desk.workspace.opened, name)
        except Outside as error:
            raise HTTPException(404, str(error)) from None
        return _download(opened, Path(name).name)

    async def value(request: Request) -> Response:
        return await _value(request, desk)

    async def array(request: Request) -> Response:
        return await _array(request, desk)

    async def failed(request: Request, error: Exception) -> Response:
        """Starlette logs the error."""
        return PlainTextResponse(_fault(f"failed at {request.url.path}", error).text + "\n", 500)

    app = Starlette(
        routes=[
            Route("/", start_page),
            Route("/enter", enter, methods=["POST"]),
            Route("/api/file", file),
            Route("/api/value", value),
            Route("/api/array", array, methods=["POST"]),
            WebSocketRoute("/socket", socket),
            Mount("/", StaticFiles(directory=STATIC, check_dir=False)),
        ],
        lifespan=lifespan,
        exception_handlers={Exception: failed},
    )
    return Guard(app, keys, hosts, port)


async def _enter(request: Request, keys: Keys) -> Response:
    """Exchanges the token of the printed address, or the password, for the cookie."""
    try:
        given = msgspec.json.decode(await _body(request, 4096), type=dict[str, str])
    except msgspec.DecodeError:
        raise HTTPException(400, "There must be a token.") from None
    if not keys.exchanged(given.get("token") or given.get("password") or ""):
        async with keys.guessing:  # nobody guesses many times a second
            await asyncio.sleep(0.5)
        text = "This address was used already, or is of another studio. Start the studio again for a new one."
        return PlainTextResponse(text + "\n", 403)
    response = JSONResponse({})
    response.set_cookie(keys.cookie_name, keys.cookie, httponly=True, samesite="strict", path="/")
    return response


async def _body(request: Request, most: int) -> bytes:
    """The body of a request, which is refused once it is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise HTTPException(413, f"At most {most} bytes can be sent.")
    return bytes(body)


async def _array(request: Request, desk: Desk) -> Response:
    """Takes a file of arrays, and gives the constants that the page is to write for them."""
    page = _page(request, desk)
    name = request.query_params.get("name", "array")
    try:
        with tempfile.NamedTemporaryFile(prefix="backblocks-") as file:
            size = 0
            async for chunk in request.stream():
                size += len(chunk)
                if size > MOST_ARRAY_BYTES:
                    text = f"A file of arrays may have at most {MOST_ARRAY_BYTES >> 20} MiB."
                    raise HTTPException(413, text)
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(file.flush)
            found = await desk.pool.run(pipe.ReadArrays(file.name, name, str(page.place)))
    except TaskError as error:
        raise HTTPException(422, str(error)) from None
    except OSError as error:
        text = f"The file cannot be kept in {tempfile.gettempdir()}: {error.strerror}."
        raise HTTPException(507, text) from None
    return JSONResponse({"arrays": found})


def _download(file: BinaryIO, name: str) -> Response:
    """What an open file holds, which is closed once it is sent."""

    size = os.fstat(file.fileno()).st_size

    def chunks() -> Iterator[bytes]:
        left = size  # a file that grows meanwhile is sent as it was
        with file:
            while left and (chunk := file.read(min(left, 1 << 20))):
                left -= len(chunk)
                yield chunk

    headers = {
        "content-length": str(size),
        "content-disposition": f"attachment; filename*=utf-8''{quote(name)}",
    }
    return StreamingResponse(chunks(), headers=headers, media_type="application/octet-stream")


def _page(request: Request, desk: Desk) -> OpenPage:
    number = request.query_params.get("page", "")
    page = desk.pages.get(int(number)) if number.isdecimal() and len(number) < 20 else None
    if page is None:
        raise HTTPException(404, "This page is not open.")
    return page


async def _value(request: Request, desk: Desk) -> Response:
    """The last value of an output as npy."""
    page, pin = _page(request, desk), request.query_params.get("pin", "")
    folder = tempfile.TemporaryDirectory(prefix="backblocks-")
    try:
        wrong = await page.running.write(pin, Path(folder.name) / "value.npy")
        if wrong:
            raise HTTPException(404, wrong)
    except BaseException:
        folder.cleanup()
        raise
    name = "".join(c if c.isalnum() or c in "-_." else "." for c in pin).strip(".")
    return FileResponse(
        Path(folder.name) / "value.npy",
        filename=f"{name}.npy",
        media_type="application/octet-stream",
        background=BackgroundTask(folder.cleanup),
    )
