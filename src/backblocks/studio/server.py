"""Starts the studio's HTTP server, prints its address, and opens the browser."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import signal
import socket
import threading
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import uvicorn

from backblocks.studio.app import MAX_MESSAGE_BYTES, create_app
from backblocks.studio.auth import Credentials
from backblocks.studio.connections import Connection

PORT = 8765


def serve(
    folder: Path,
    start: str,
    host: str,
    listening: socket.socket,
    browser: bool,
    password: str = "",
    memory: int = 0,
) -> None:
    """Serves until Ctrl-C."""
    port = listening.getsockname()[1]
    credentials = Credentials(port, password)
    hosts = ["127.0.0.1", "localhost", "[::1]"]
    if not is_loopback(host):
        hosts += [host, socket.gethostname(), *(["*"] if _is_any(host) else [])]
    app = create_app(folder, credentials, hosts, port, start, memory)
    config = uvicorn.Config(
        app,
        http=Connection,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        ws_per_message_deflate=False,  # within a machine it takes longer than sending
        timeout_graceful_shutdown=1,
    )
    name = "127.0.0.1" if _is_any(host) else f"[{host}]" if ":" in host else host
    address = f"http://{name}:{port}/#token={credentials.launch}"
    print(f"backblocks studio: {address}", flush=True)
    if browser:
        # Starting a browser can take a second, which the server need not wait for.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    _Server(config).run(sockets=[listening])


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The first Ctrl-C shuts the server down gracefully. Then the default handler is back: the second one
        ends it at once, even if a thread waits for a disk that does not answer. Nothing is lost by it:
        journals hold every change that was acknowledged.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.handle_exit)
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        super().handle_exit(sig, frame)


def open_listening_socket(host: str, port: int | None) -> socket.socket:
    """A socket at the port; at any free one if none was asked for and the usual one is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for each in [PORT, 0] if port is None else [port]:
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, each))
            made.listen()  # so that who reads the address can connect at once
        except OSError:
            made.close()
            if port is not None:
                raise
        else:
            return made
    raise OSError(errno.EADDRINUSE, "no port is free")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_any(host: str) -> bool:
    return host in ("0.0.0.0", "::")  # noqa: S104
