"""One process that listens: uvicorn with our application, its time limits on silent clients, and a clean end."""

import asyncio
import contextlib
import gc
import socket
from asyncio import TimerHandle
from collections.abc import Callable
from typing import Any, cast, final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from postil.errors import ConfigurationError
from postil.server.settings import ServerSettings

HEAD_SECONDS = 10.0
"""Within which a new connection must have sent a request's head; silent connections are closed."""
KEEP_ALIVE_SECONDS = 20
DRAIN_SECONDS = 30
BACKLOG = 2048
_MOST_JOINED = 1 << 16


@final
class JoiningTransport:
    """Sends head and body of an answer together: a write of its own for each would cost twice, here and at the client.

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
    """Closes connections that send nothing, or a head one byte at a time. uvicorn itself would wait forever."""

    _silence: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(cast(asyncio.Transport, JoiningTransport(transport, self.loop)))
        self._silence = self.loop.call_later(HEAD_SECONDS, transport.close)

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None


def bound(settings: ServerSettings) -> socket.socket:
    """A socket that listens at the address of the settings."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        where = f"{settings.host}:{settings.port}"
        raise ConfigurationError("the server cannot listen", got=error.strerror or str(error), where=where) from None
    return listening


def run(app: Any, listening: socket.socket, started: Callable[[], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM: requests under way are finished, then the signal is raised again."""
    raise_file_limit()
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
        timeout_graceful_shutdown=DRAIN_SECONDS,
        backlog=BACKLOG,
    )
    _Telling(config, started).run(sockets=[listening])


class _Telling(uvicorn.Server):
    """Says when it has started."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._tell is not None:
            self._tell()


def raise_file_limit() -> None:
    """Connections are open files: allow as many as the system lets this process have."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
