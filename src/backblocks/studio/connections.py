"""HTTP connections: a limit on their number, and timeouts for those that keep the server waiting.

uvicorn ends a connection that is idle after an answer, and sockets that do not answer pings. It waits for
ever for a request that never comes to its end, and for a client that does not take its answer.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 200
"""Sockets of tabs among them."""
HEADER_TIMEOUT = 5.0
"""Seconds for all headers of a request."""
STALL_TIMEOUT = 10.0
"""Seconds in which nothing of a body comes, or nothing of an answer is taken."""
_TICK = 1.0


class Connection(H11Protocol):
    """One connection, from its beginning until it ends or becomes the socket of a tab."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self._moved = self.loop.time()
        """When the wait for a request began, and when bytes last came or went."""
        self._unsent = 0
        self._timer = self.loop.call_later(_TICK, self._check_timeouts)
        self._evict_idle()

    def _evict_idle(self) -> None:
        """Ends, if there are too many, the connection that has waited longest for a request: so those that
        send none cannot keep others out.
        """
        there = [each for each in self.connections if not each.transport.is_closing()]
        if len(there) > MAX_CONNECTIONS:
            idle = [each for each in there if isinstance(each, Connection) and each.is_idle]
            min(idle, key=lambda each: each._since, default=self).transport.abort()

    @property
    def is_idle(self) -> bool:
        """Whether no request has come whole up to its body."""
        return self.conn.their_state is h11.IDLE

    def data_received(self, data: bytes) -> None:
        self._moved = self.loop.time()
        super().data_received(data)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._timer.cancel()
        super().handle_websocket_upgrade(event)

    def _check_timeouts(self) -> None:
        """Ends the connection if the server waits for it too long."""
        now, unsent = self.loop.time(), self.transport.get_write_buffer_size()
        if unsent != self._unsent:
            self._unsent, self._moved = unsent, now
        waits_for_body = self.conn.their_state is h11.SEND_BODY and not self.flow.read_paused
        if (self.is_idle and now - self._since > HEADER_TIMEOUT) or (
            (waits_for_body or unsent) and now - self._moved > STALL_TIMEOUT
        ):
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(_TICK, self._check_timeouts)
