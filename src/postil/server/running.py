"""One process that listens: uvicorn with our application, limits on what clients may keep open, and a clean end."""

import asyncio
import contextlib
import gc
import json
import logging
import os
import socket
import threading
from asyncio import TimerHandle
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast, final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from postil.errors import ConfigurationError
from postil.server.requests import refused
from postil.server.settings import ServerSettings

log = logging.getLogger("postil.server")

HEAD_SECONDS = 10.0
"""From the first byte of a request, or from the connection, to the end of the request's head."""
HEAD_BYTES = 1 << 16
"""Limit of a request's head, of what follows a body, and of what separates two pieces of a body sent in chunks."""
KEEP_ALIVE_SECONDS = 20
DRAIN_SECONDS = 30
"""From the signal to the end of the process, whatever is under way."""
_END_SECONDS = 5
"""The part of it that is left for the end of the application, after the connections."""
BACKLOG = 2048
_MOST_JOINED = 1 << 16


@final
class JoiningTransport:
    """Sends head and body of an answer together: a separate write for each would cost twice, here and at the client.

    The first of two writes waits for the second one, but not beyond the turn of the event loop.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: bytes | None = None

    def write(self, data: bytes) -> None:
        if self._held is None:
            self._held = data
            self._loop.call_soon(self._flush)
        elif len(data) > _MOST_JOINED:
            self._flush()
            self._transport.write(data)
        else:
            held, self._held = self._held, None
            self._transport.write(held + data)

    def _flush(self) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            self._transport.write(held)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


@final
class PatientProtocol(HttpToolsProtocol):
    """Closes connections that are of no use: uvicorn itself would wait, and collect bytes, forever.

    While no request is under way, a timer runs: from the connection, or from the first byte after an answer, to the end
    of the next head. Bytes are counted from one thing that the parser delivers, a message or a piece of a body, to the
    next: lines of a head, trailers and extensions of chunks have a limit together. A client that does not take its
    answer is left after the time of an idle connection.
    """

    _silence: TimerHandle | None = None
    _undelivered = 0
    _in_head = True
    _unsent = -1

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(cast(asyncio.Transport, JoiningTransport(transport, self.loop)))
        self._start_waiting()

    def data_received(self, data: bytes) -> None:
        self._undelivered += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._undelivered > HEAD_BYTES:
            self._refuse_head()
        elif self._silence is None and (self.cycle is None or self.cycle.response_complete):
            self._start_waiting()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are not among the headers that were checked
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        self._in_head = False
        # One read may contain the head with more; then the head itself is measured.
        if self._undelivered > HEAD_BYTES:
            sizes = [len(self.url), *(len(name) + len(value) + 4 for name, value in self.headers)]
            if sum(sizes) > HEAD_BYTES:
                self._refuse_head()
                raise ValueError("the head is too large")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._undelivered = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._undelivered = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            self._close_with("http", "this is not a request of HTTP/1.1")

    def timeout_keep_alive_handler(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent and unsent != self._unsent:  # slow, but still reading
            self._unsent = unsent
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        else:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _start_waiting(self) -> None:
        self._silence = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _refuse_head(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self._close_with("head", f"the head of the request is too large: at most {HEAD_BYTES:,} bytes are read")
        else:  # into the answer of another request
            self.transport.abort()

    def _close_with(self, code: str, message: str) -> None:
        refusal = refused(code, message)
        body = json.dumps(refusal.to_dict()).encode()
        status = HTTPStatus(refusal.status)
        head = f"HTTP/1.1 {status} {status.phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()


def bound(settings: ServerSettings) -> socket.socket:
    """A socket that listens at the address of the settings."""
    is_6 = ":" in settings.host
    family, both = socket.AF_INET6 if is_6 else socket.AF_INET, is_6 and socket.has_dualstack_ipv6()
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        got, where = str(error.strerror or error).partition(" (while attempting")[0], f"{settings.host}:{settings.port}"
        raise ConfigurationError("the server cannot listen", got=got, where=where) from None


def run(app: Any, listening: socket.socket, started: Callable[[], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM: requests under way are finished, then the signal is raised again.

    After ``DRAIN_SECONDS`` the process ends, whatever is still under way.
    """
    with contextlib.suppress(ImportError, OSError, ValueError):  # connections are open files: raise their limit
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    gc.collect()
    gc.freeze()  # models stay: to look through them again and again would hold up requests
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, DRAIN_SECONDS - _END_SECONDS),
        backlog=BACKLOG,
    )
    server = _EndingServer(config, started)
    try:
        server.run(sockets=[listening])
    finally:
        server.last_resort.cancel()


class _EndingServer(uvicorn.Server):
    """Says when it has started, and ends in time."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._tell = started
        self.last_resort = threading.Timer(DRAIN_SECONDS, _give_up)
        self.last_resort.daemon = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._tell is not None:
            self._tell()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.last_resort.start()  # threads that hang on a disk cannot be ended otherwise
        await super().shutdown(sockets)


def _give_up() -> None:
    log.error("stopped; work that was still under way after %d seconds was given up", DRAIN_SECONDS)
    logging.shutdown()
    os._exit(0)
