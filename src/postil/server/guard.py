"""Around every request: who asks, from where, with what; headers of every answer; no error without its form.

Host      must be an address or a known name: another site's name that points here (DNS rebinding) is rejected
Origin    must be this server's own, or one that was opened: other sites' pages cannot call
token     compared in constant time, where one is set
run       the token of this run, likewise: what changes something needs it
"""

import asyncio
import contextlib
import hmac
import ipaddress
import json
import logging
import re
import socket
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.exceptions import HTTPException

from postil.server.api import OPERATIONS, TRAINING_OPERATIONS
from postil.server.requests import App, ClientLeft, Message, Receive, Refusal, Send, refused
from postil.server.settings import ServerSettings, is_loopback

log = logging.getLogger("postil.server")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_PREFLIGHT = [
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type"),
    (b"access-control-max-age", b"600"),
]
_NEEDS_TOKEN = ("/api/", "/metrics")
_CHANGES = "/api/training"
_HOST = re.compile(r"(?:(?P<name>[a-z0-9._-]+)|\[(?P<address>[0-9a-f:.]+)\])(?::[0-9]{1,5})?")
_CLIENT_LEFT = 499
_MOST_HOSTS = 100


@final
class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: App, settings: ServerSettings, monitor: "Monitor") -> None:
        self._app, self._settings, self._monitor = app, settings, monitor
        names = {"localhost", *map(str.lower, settings.hosts)}
        self._names = names if settings.is_local else {*names, settings.host.lower(), socket.gethostname().lower()}
        self._knows = lru_cache(_MOST_HOSTS)(self._is_known)  # to parse a host costs more than all other checks
        self._token = None if settings.token is None else b"Bearer " + settings.token.encode()
        self._run = None if settings.run_token is None else settings.run_token.encode()
        self._origins = {
            origin.rstrip("/").lower().encode(): origin.rstrip("/").encode() for origin in settings.origins
        }

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        scope["app"] = self  # Starlette's routes then raise errors instead of answering plain text
        extra = list(_HEADERS)

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        try:
            allowed = self._check(scope)
            if allowed is not None:
                extra += [(b"access-control-allow-origin", allowed), (b"vary", b"origin")]
                if scope["method"] == "OPTIONS":
                    await answer({"type": "http.response.start", "status": 204, "headers": _PREFLIGHT})
                    await answer({"type": "http.response.body", "body": b""})
                    return
            await self._app(scope, receive, answer)
        except ClientLeft:
            status = _CLIENT_LEFT
        except (Exception, asyncio.CancelledError) as error:
            if status:  # half an answer is out: nothing can be added
                log.exception("an answer was not completed")
            else:
                await _refuse(answer, error)
        finally:
            self._monitor.answered(scope["path"], status, time.perf_counter() - began)

    def _check(self, scope: Any) -> bytes | None:
        """Refuse what must not pass; return another origin that may read the answer."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        headers = dict(scope["headers"])
        if len(hosts) != 1 or not self._knows(hosts[0]):
            raise refused("host", "the Host header does not name this server (--allow-host NAME adds a name)")
        other, path, origin, host = None, scope["path"], headers.get(b"origin"), hosts[0].lower()
        if origin is not None and origin.lower() not in (b"http://" + host, b"https://" + host):
            other = self._origins.get(origin.lower())
            if other is None:
                raise refused("origin", "pages of this origin must not call this server (--allow-origin opens it)")
        if other is None and headers.get(b"sec-fetch-site") == b"cross-site" and path.startswith(_NEEDS_TOKEN):
            raise refused("origin", "another site's page must not call this server")
        if scope["method"] == "OPTIONS" and other is not None:
            return other  # browsers ask without the token
        if (
            self._token is not None
            and path.startswith(_NEEDS_TOKEN)
            and not hmac.compare_digest(headers.get(b"authorization", b""), self._token)
        ):
            raise refused("token", "the API needs a bearer token", {"www-authenticate": "Bearer"})
        run = headers.get(b"x-postil-run", b"")
        if self._run is not None and path.startswith(_CHANGES) and not hmac.compare_digest(run, self._run):
            raise refused("run", "this needs the token of the run, which the server printed when it started")
        return other

    def _is_known(self, host: bytes) -> bool:
        """Whether this server has a name. Addresses are safe: rebinding needs a name. On loopback they are its own."""
        found = _HOST.fullmatch(host.decode("latin-1").lower())
        if found is None:
            return False
        name = found["name"] or found["address"]
        if name in self._names or is_loopback(name):
            return True
        if not self._settings.is_local:
            with contextlib.suppress(ValueError):
                return bool(ipaddress.ip_address(name))
        return False


# ------------------------------------------------------------------------------------------------ answers


def _refusal_of(error: BaseException) -> Refusal:
    """Convert an error to the client's answer. A defect is described only in the log."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, asyncio.CancelledError):
        return refused("busy", "the server is stopping", {"retry-after": "1"})
    if isinstance(error, HTTPException):
        code = {404: "path", 405: "method"}.get(error.status_code, "internal")
        message = {"path": "there is nothing at this path", "method": "this path does not answer this method"}
        return refused(code, message.get(code, "not answered"), dict(error.headers or {}))
    log.error("a request failed", exc_info=error)
    return refused("internal", "the server failed; its log has the details")


async def _refuse(send: Send, error: BaseException) -> None:
    refusal = _refusal_of(error)
    headers = [(name.lower().encode(), value.encode()) for name, value in refusal.headers.items()]
    if refusal.code in ("body", "slow"):  # the rest of the body is not read
        headers.append((b"connection", b"close"))
    await send_json(send, refusal.status, json.dumps(refusal.to_dict()).encode(), headers)


async def send_json(send: Send, status: int, body: bytes, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """A whole answer."""
    every = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": every})
    await send({"type": "http.response.body", "body": body})


# ------------------------------------------------------------------------------------------------ metrics

PATHS = (*OPERATIONS, *TRAINING_OPERATIONS, "/")
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64)


@final
class Monitor:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        of: dict[str, Any] = {"registry": self.registry}
        self._requests = Counter("postil_requests", "Requests answered.", ["path", "status"], **of)
        self._seconds = Histogram("postil_request_seconds", "Seconds per answer.", ["path"], buckets=_SECONDS, **of)
        self.batches = Histogram("postil_batch_requests", "Requests per batch.", buckets=_SIZES, **of)
        self.reloads = Counter("postil_reloads", "Models opened again.", ["model"], **of)
        self.waiting = Gauge("postil_waiting_requests", "Requests that wait for an answer.", **of)
        # Looking a labelled counter up costs more than counting.
        self._counters: dict[tuple[str, int], Counter] = {}
        self._histograms = {path: self._seconds.labels(path) for path in (*PATHS, "other")}

    def answered(self, path: str, status: int, seconds: float) -> None:
        known = path if path in self._histograms else "other"
        counter = self._counters.get((known, status))
        if counter is None:
            counter = self._counters[known, status] = self._requests.labels(known, str(status))
        counter.inc()
        self._histograms[known].observe(seconds)
