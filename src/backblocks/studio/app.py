"""The studio's web application: static files, a WebSocket for each tab, and a few HTTP routes."""

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
from backblocks.studio import ipc
from backblocks.studio import messages as m
from backblocks.studio.auth import AuthMiddleware, Credentials
from backblocks.studio.drafts import list_drafts, list_files
from backblocks.studio.open_pages import OpenPage, OpenPages, Refusal, read_document
from backblocks.studio.page_runner import RunProcesses
from backblocks.studio.process_pool import ProcessPool, TaskError, internal_error
from backblocks.studio.state_folder import StateFolder
from backblocks.studio.tab_states import TabStates
from backblocks.studio.workspace import OutsideWorkspace, Workspace

STATIC = Path(__file__).parent / "static"
MAX_MESSAGE_BYTES = 1 << 26
"""The largest message from a tab."""
MAX_ARRAY_BYTES = 1 << 36
"""The largest file of arrays that can be dropped on a page: it is kept on disk, and read in parts."""
MAX_QUEUED = 20_000
"""Messages for a tab that does not read them: then it is disconnected, until it comes back."""
_CLOSE_DELAY = 10.0
"""Seconds that a page stays open after its last tab is gone, as when a browser loads it again."""
_RUN_ALONE = 600.0
"""Seconds that a page which runs may stay open without a tab."""

_log = logging.getLogger("uvicorn.error")
_commands = msgspec.json.Decoder(m.ClientMessages)
_encode = msgspec.json.Encoder().encode


class Tab:
    """One tab of a browser: executes its commands, and sends it messages in order."""

    _numbers = itertools.count(1)

    def __init__(self, socket: WebSocket, studio: Studio) -> None:
        self.number = next(self._numbers)
        self.name = socket.query_params.get("tab", "")
        """The name that the tab has given itself, which it has again when it is reloaded."""
        self._socket = socket
        self._studio = studio
        self._pages = studio.pages
        self._queue: asyncio.Queue[m.ServerMessage | bytes] = asyncio.Queue()
        self._sending: asyncio.Task[None]
        self._exporting: set[asyncio.Task[None]] = set()

    def send(self, message: m.ServerMessage | bytes) -> None:
        if self._queue.qsize() < MAX_QUEUED:
            self._queue.put_nowait(message)
        else:
            self._sending.cancel()

    async def run(self) -> None:
        """Receives commands until the tab is closed."""
        await self._socket.accept()
        self.send(await self._studio.welcome(self))
        self._sending = asyncio.create_task(self._send_forever())
        self._studio.tabs[self.number] = self
        try:
            self.send(await self._studio.drafts())
            while True:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                await self._receive(message.get("text"))
        except WebSocketDisconnect:
            pass
        finally:
            for task in (self._sending, *self._exporting):
                task.cancel()
            del self._studio.tabs[self.number]
            for page in list(self._pages.pages.values()):
                page.leave(self)
                self._studio.close_later(page)

    async def _send_forever(self) -> None:
        try:
            while True:
                message = await self._queue.get()
                if isinstance(message, bytes):
                    await self._socket.send_bytes(message)
                else:
                    await self._socket.send_text(self._text(message))
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):
                await self._socket.close()

    def _text(self, message: m.ServerMessage) -> str:
        try:
            return _encode(message).decode()
        except Exception as error:  # an internal error, which is reported rather than hidden
            _log.exception("A message cannot be sent")
            return _encode(
                _internal_error(f"could not send a {type(message).__name__}", error)
            ).decode()

    async def _receive(self, text: str | None) -> None:
        """Executes the command of a message. Whatever is wrong with it is reported to the tab."""
        try:
            command = _commands.decode(text or "")
        except (msgspec.DecodeError, RecursionError) as error:
            wrong = "bytes instead of text" if text is None else str(error)
            refused = m.Refused(f"The message cannot be understood: {wrong}.")
            self.send(_with_ids(_ids_of(text), refused))
            return
        if isinstance(
            command, m.Export
        ):  # it may take long, and nothing that follows depends on it
            task = asyncio.create_task(self._execute_or_refuse(command))
            self._exporting.add(task)
            task.add_done_callback(self._exporting.discard)
        else:
            await self._execute_or_refuse(command)

    async def _execute_or_refuse(self, command: m.ClientMessages) -> None:
        try:
            await self._execute(command)
        except (Refusal, TaskError, OpError, OSError) as error:
            self.send(_with_ids(command, m.Refused(str(error))))
        except Exception as error:  # an internal error, which is reported rather than hidden
            _log.exception("A command failed")
            self.send(
                _with_ids(command, _internal_error(f"failed at {type(command).__name__}", error))
            )

    async def _execute(self, command: m.ClientMessages) -> None:
        match command:
            case m.Open():
                (await self._pages.open(command)).join(self, command)
                return
            case m.ListFiles():
                self.send(m.Files(await asyncio.to_thread(list_files, self._pages)))
                self.send(await self._studio.drafts())
                return
            case m.DeleteDraft():
                await self._pages.delete_draft(command.name)
                await self._studio.broadcast_drafts()
                return
            case m.KeepTabState():
                await asyncio.to_thread(self._studio.tab_states.keep, self.name, command.state)
                return
        page = self._pages.page(command.page)
        match command:
            case m.Close():
                page.leave(self)
                await self._studio.close(page)
            case m.Change():
                async with page.changing:
                    await page.apply_change(command, self)
            case m.Save():
                was_unsaved = bool(page.unsaved)
                async with page.changing:
                    answer = await page.save(command.path, command.overwrite)
                if isinstance(answer, m.Saved):
                    page.broadcast(answer)
                    if was_unsaved:
                        await self._studio.broadcast_drafts()
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
            case m.Snapshot():
                page.change_snapshot(command, self)
            case m.CompareRuns():
                changes = await page.compare_runs(command.first, command.second)
                self.send(m.RunsCompared(command.request, changes))
            case m.Subscribe():
                page.subscribe(self, command)
            case m.Export():
                text, left = await page.export(command.to)
                self.send(m.Exported(command.request, text, left))
            case _:
                page.runner.send(ipc.TabQuery(self.number, command))


class Studio:
    """State that all tabs share: the open pages, the lessons, the name of this session."""

    def __init__(self, pages: OpenPages, start: str) -> None:
        self.pages = pages
        self.tabs: dict[int, Tab] = {}
        workspace = pages.state.key_of(pages.workspace.folder)
        self.tab_states = TabStates(pages.state.tabs / workspace)
        self._start = start
        self._session = secrets.token_hex(8)
        self._lessons = [_lesson(name) for name in examples.names()]

    async def welcome(self, tab: Tab) -> m.Welcome:
        connected = {each.name for each in self.tabs.values()}
        state = await asyncio.to_thread(self.tab_states.take, tab.name, connected)
        folder = str(self.pages.workspace.folder)
        return m.Welcome(self._session, __version__, folder, self._lessons, self._start, state)

    async def drafts(self) -> m.Drafts:
        return m.Drafts(await asyncio.to_thread(list_drafts, self.pages))

    async def broadcast_drafts(self) -> None:
        """Sends every tab the drafts that there are now."""
        drafts = await self.drafts()
        for tab in self.tabs.values():
            tab.send(drafts)

    async def close(self, page: OpenPage) -> None:
        """Closes a page that no tab has open."""
        was_unsaved = bool(page.unsaved)
        await self.pages.close(page)
        if was_unsaved:
            await self.broadcast_drafts()

    def close_later(self, page: OpenPage) -> None:
        """Closes a page that no tab comes back to."""
        if not page.tabs and page.closing is None:
            page.closing = asyncio.create_task(self._close_when_idle(page))

    async def _close_when_idle(self, page: OpenPage) -> None:
        await asyncio.sleep(_CLOSE_DELAY)
        end = asyncio.get_running_loop().time() + _RUN_ALONE
        while page.runner.state.state != "idle" and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(1.0)
        page.closing = None
        await self.close(page)


class _Ids(msgspec.Struct):
    """The numbers by which a tab knows which command was refused."""

    request: m.Int = 0
    page: m.Int = 0
    number: m.Int = 0


def _ids_of(text: str | None) -> _Ids:
    """The numbers of a message that cannot be decoded, as far as it has any."""
    try:
        return msgspec.json.decode(text or "", type=_Ids)
    except (msgspec.DecodeError, RecursionError):
        return _Ids()


def _with_ids(command: m.ClientMessages | _Ids, refused: m.Refused) -> m.Refused:
    for name in _Ids.__struct_fields__:
        setattr(refused, name, getattr(command, name, 0))
    return refused


def _internal_error(what: str, error: Exception) -> m.Refused:
    problem = internal_error(what, repr(error))
    return m.Refused(f"{problem.text} {problem.hint}")


def _lesson(name: str) -> m.Lesson:
    document = read_document(examples.path(name).read_bytes())
    return m.Lesson(name, document.get("title", ""), document.get("about", ""), document)


def create_app(
    folder: Path,
    credentials: Credentials,
    hosts: list[str],
    port: int,
    start: str = "",
    memory: int = 0,
    state: StateFolder | None = None,
) -> ASGIApp:
    """The application behind its authentication. It imports nothing of the compute library."""
    processes = RunProcesses(memory)
    pool = ProcessPool(memory)
    pages = OpenPages(Workspace(folder), state or StateFolder(), processes, pool)
    studio = Studio(pages, start)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        pool.prepare()
        processes.prepare()
        yield
        await pages.close_all()

    async def socket(websocket: WebSocket) -> None:
        await Tab(websocket, studio).run()

    async def start_page(_: Request) -> Response:
        page = STATIC / "index.html"
        if page.exists():
            return FileResponse(page, headers={"cache-control": "no-cache"})
        return PlainTextResponse("The front end is not built. Run: make web\n", 503)

    async def enter(request: Request) -> Response:
        return await _enter(request, credentials)

    async def file(request: Request) -> Response:
        try:
            name = request.query_params.get("path", "")
            opened = await asyncio.to_thread(pages.workspace.opened, name)
        except OutsideWorkspace as error:
            raise HTTPException(404, str(error)) from None
        return _download(opened, Path(name).name)

    async def value(request: Request) -> Response:
        return await _value_as_npy(request, pages)

    async def array(request: Request) -> Response:
        return await _import_arrays(request, pages)

    async def failed(request: Request, error: Exception) -> Response:
        """Starlette logs the error."""
        return PlainTextResponse(
            _internal_error(f"failed at {request.url.path}", error).text + "\n", 500
        )

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
    return AuthMiddleware(app, credentials, hosts, port)


async def _enter(request: Request, credentials: Credentials) -> Response:
    """Exchanges the token of the printed address, or the password, for the cookie."""
    try:
        given = msgspec.json.decode(await _read_body(request, 4096), type=dict[str, str])
    except msgspec.DecodeError:
        raise HTTPException(400, "There must be a token.") from None
    if not credentials.accepts(given.get("token") or given.get("password") or ""):
        async with credentials.guessing:  # nobody guesses many times a second
            await asyncio.sleep(0.5)
        text = "This address was used already, or is of another studio. Start the studio again for a new one."
        return PlainTextResponse(text + "\n", 403)
    response = JSONResponse({})
    response.set_cookie(
        credentials.cookie_name, credentials.cookie, httponly=True, samesite="strict", path="/"
    )
    return response


async def _read_body(request: Request, most: int) -> bytes:
    """The body of a request, which is refused once it is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise HTTPException(413, f"At most {most} bytes can be sent.")
    return bytes(body)


async def _import_arrays(request: Request, pages: OpenPages) -> Response:
    """Imports a file of arrays, and gives the constants that the page is to write for them."""
    page = _page(request, pages)
    name = request.query_params.get("name", "array")
    is_folder = request.query_params.get("folder") == "1"
    try:
        given = request.query_params.get("parts")
        parts = None if given is None else msgspec.json.decode(given, type=dict[str, str])
    except msgspec.DecodeError:
        raise HTTPException(400, "Parts must be texts by the names of arrays.") from None
    try:
        with tempfile.NamedTemporaryFile(prefix="backblocks-") as file:
            size = 0
            async for chunk in request.stream():
                size += len(chunk)
                if size > MAX_ARRAY_BYTES:
                    text = f"A file of arrays may have at most {MAX_ARRAY_BYTES >> 20} MiB."
                    raise HTTPException(413, text)
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(file.flush)
            found = await pages.pool.run(
                ipc.ImportArrays(file.name, name, str(page.base_path), parts, is_folder)
            )
    except TaskError as error:
        raise HTTPException(422, str(error)) from None
    except OSError as error:
        text = f"The file cannot be kept in {tempfile.gettempdir()}: {error.strerror}."
        raise HTTPException(507, text) from None
    return Response(_encode({"arrays": found}), media_type="application/json")


def _download(file: BinaryIO, name: str) -> Response:
    """A response with the content of an open file, which it closes."""

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


def _page(request: Request, pages: OpenPages) -> OpenPage:
    number = request.query_params.get("page", "")
    page = pages.pages.get(int(number)) if number.isdecimal() and len(number) < 20 else None
    if page is None:
        raise HTTPException(404, "This page is not open.")
    return page


async def _value_as_npy(request: Request, pages: OpenPages) -> Response:
    """The last value of an output as npy."""
    page, pin = _page(request, pages), request.query_params.get("pin", "")
    folder = tempfile.TemporaryDirectory(prefix="backblocks-")
    try:
        wrong = await page.runner.write_value(pin, Path(folder.name) / "value.npy")
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
