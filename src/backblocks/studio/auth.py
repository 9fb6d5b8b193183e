"""Authentication middleware: checks host, origin and cookie of each request, and sets security headers.

A port of this machine can be reached by every page that a browser has open, and by names that lead here on
purpose. So each request and each socket must name this server as its host, come from its own page, and have
the cookie that was given for the token on the command line.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
from collections.abc import Iterable, Sequence
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SAFE = ("GET", "HEAD")


class Credentials:
    """The secrets of a server: a launch token that works once, and the session cookie given for it."""

    def __init__(self, port: int, password: str = "") -> None:
        self.launch = secrets.token_urlsafe(32)
        self.cookie = secrets.token_urlsafe(32)
        self.cookie_name = f"backblocks_{port}"
        """With the port, since cookies of one host are shared by all its ports."""
        self.password = password
        self.guessing = asyncio.Lock()

    def accepts(self, given: str) -> bool:
        """Whether the cookie may be given for it. A launch token is used up by this."""
        if self.password and _equal(given, self.password):
            return True
        if not self.launch or not _equal(given, self.launch):
            return False
        self.launch = ""
        return True

    def authenticates(self, connection: HTTPConnection) -> bool:
        """Whether a request or socket has the session cookie, or it as a bearer token."""
        if bearer := connection.headers.get("authorization", ""):
            return _equal(bearer, f"Bearer {self.cookie}")
        cookies = _cookies(connection.headers)
        return self.cookie_name in cookies and _equal(cookies[self.cookie_name].value, self.cookie)


def _cookies(headers: Headers) -> SimpleCookie:
    try:
        return SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return SimpleCookie()


def _equal(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode(), secret.encode())


class AuthMiddleware:
    """Wraps an application. Reading needs no cookie but below the paths in `protected`."""

    def __init__(
        self,
        app: ASGIApp,
        credentials: Credentials,
        hosts: Iterable[str],
        port: int,
        protected: Sequence[str] = ("/api/", "/socket"),
    ) -> None:
        self.app = app
        self.credentials = credentials
        self.hosts = frozenset(hosts)
        self.port = port
        self.protected = tuple(protected)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        refused = self._refusal(connection, scope)
        if refused is None:
            await self.app(scope, receive, self._with_headers(connection, send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": refused[1]})
        else:
            status, text = refused
            response: Response = PlainTextResponse(text + "\n", status)
            if status == 401:
                # By which the page knows whether to ask for a password. Browsers ask for none themselves.
                response.headers["www-authenticate"] = (
                    "password" if self.credentials.password else "address"
                )
            await response(scope, receive, self._with_headers(connection, send))

    def _refusal(self, connection: HTTPConnection, scope: Scope) -> tuple[int, str] | None:
        headers = connection.headers
        host = headers.get("host", "")
        if not self._is_ours(host) or len(headers.getlist("host")) != 1:
            return 400, "This is not the host that was asked for."
        is_socket = scope["type"] == "websocket"
        reads = not is_socket and scope["method"] in _SAFE
        origin = headers.get("origin")
        may_lack_one = reads or "authorization" in headers
        if origin != f"http://{host}" and not (origin is None and may_lack_one):
            return 403, "This must be asked for by the studio's own page."
        # Somebody may type an address, or follow a link to the start page.
        site = headers.get("sec-fetch-site", "same-origin")
        is_visit = site == "none" or (
            scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
        )
        if site != "same-origin" and not (reads and is_visit):
            return 403, "This must be asked for by the studio's own page."
        if reads and not scope["path"].startswith(self.protected):
            return None
        if not is_socket and scope["path"] == "/enter" and not reads:
            return None
        if not self.credentials.authenticates(connection):
            anew = (
                "The studio was started anew. "
                if self.credentials.cookie_name in _cookies(headers)
                else ""
            )
            return 401, f"{anew}Open the studio by the address that it printed."
        return None

    def _is_ours(self, host: str) -> bool:
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        return name in self.hosts or ("*" in self.hosts and _is_address(name))

    def _with_headers(self, connection: HTTPConnection, send: Send) -> Send:
        host = connection.headers.get("host", "")
        socket = f"ws://{host}" if self._is_ours(host) else ""
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
            f"font-src 'self'; connect-src 'self' {socket}; worker-src 'self'; "
            "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )
        ours = [
            (b"content-security-policy", policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ]

        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *ours]
            await send(message)

        return send_with


def _is_address(name: str) -> bool:
    """Whether it is a number, which no foreign name server can lead here."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
