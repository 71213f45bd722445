"""The ASGI application: routes, bodies, and the way from a request to a worker and back."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from postil.errors import PostilError
from postil.server import answers, flow, lattice, requests
from postil.server.assets import Asset, assets
from postil.server.batching import Job, Worker
from postil.server.failures import refused
from postil.server.guard import ClientLeft, Guard
from postil.server.monitoring import Monitor
from postil.server.openapi import description
from postil.server.registry import Registry
from postil.server.schema import Schema, SchemaError, check
from postil.server.settings import ServerSettings

RELOAD_SECONDS = 1.0
PATIENCE = 0.1
"""Seconds after which it is looked whether the client of a waiting request is still there."""
DISCARDED = 1 << 26
"""Bytes of a body that is too large which are received, and dropped, before the answer."""
_SURROGATE = re.compile(rb"\\u[dD][89abABcdefCDEF]")
_JSON = "application/json"


def create_app(registry: Registry, settings: ServerSettings | None = None, *, reload: bool = False) -> Guard:
    """The application that serves these models. ``reload``: watch their files and open those that are replaced."""
    return _Server(registry, settings or ServerSettings(), reload).app


@final
class _Server:
    def __init__(self, registry: Registry, settings: ServerSettings, reload: bool) -> None:
        self._registry, self._settings, self._reload = registry, settings, reload
        self._monitor, self._is_ready = Monitor(), False
        limits: dict[str, Any] = {"queue": settings.queue, "wait": settings.wait}
        self._tagging = Worker(self._tag_batch, **limits, watch=self._monitor.batched)
        self._others = Worker(_one_by_one, **limits)
        self._monitor.watch_waiting(lambda: self._tagging.waiting + self._others.waiting)
        self._description = json.dumps(description()).encode()
        page = assets()
        routes = [
            Route("/api/tag", self._tag, methods=["POST"]),
            Route("/api/explain", self._simple(requests.EXPLAIN, answers.explain), methods=["POST"]),
            Route("/api/tree", self._simple(requests.TREE, answers.tree), methods=["POST"]),
            Route("/api/lattice", self._simple(requests.LATTICE, self._lattice), methods=["POST"]),
            Route("/api/graph", self._simple(requests.GRAPH, flow.flow_graph), methods=["POST"]),
            Route("/api/models", self._models),
            Route("/api/openapi.json", self._openapi),
            Route("/health", self._health),
            Route("/ready", self._ready),
            Route("/metrics", self._metrics),
            *(Route(path, partial(_asset, asset=asset)) for path, asset in page.items()),
        ]
        router = Router(routes, redirect_slashes=False, lifespan=self._lifespan)
        self.app = Guard(router, settings, self._monitor)

    @asynccontextmanager
    async def _lifespan(self, app: Any) -> AsyncIterator[None]:
        self._tagging.start()
        self._others.start()
        watching = asyncio.create_task(self._watch_files()) if self._reload else None
        self._is_ready = True
        try:
            yield
        finally:
            self._is_ready = False
            if watching is not None:
                watching.cancel()
            await self._tagging.stop()
            await self._others.stop()

    async def _watch_files(self) -> None:
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            for name in await asyncio.to_thread(self._registry.refresh):
                self._monitor.reloaded(name)

    # -------------------------------------------------------------------------------------------- questions

    async def _tag(self, request: Request) -> Response:
        deadline = asyncio.get_running_loop().time() + self._settings.seconds
        asked = await self._asked(request, requests.TAG, deadline)
        served = self._registry.find(asked.get("model"), answers.SENTENCE_KINDS, "tag")
        documents, options = answers.documents_of(asked), asked.get("options", {})
        size = answers.check_tokens(documents, self._settings.max_tokens)
        group = (served, json.dumps(options, sort_keys=True) if options else "{}")
        job = self._tagging.submit(group, (options, documents), size)
        return Response(await _answer(self._tagging, job, request, deadline), media_type=_JSON)

    def _tag_batch(self, group: Any, contents: Sequence[Any]) -> Sequence[Any]:
        return answers.tag_alike(group[0], contents[0][0], [documents for _, documents in contents])

    def _simple(
        self, schema: Schema, function: Callable[[Registry, dict[str, Any]], bytes]
    ) -> Callable[[Request], Awaitable[Response]]:
        """An endpoint whose requests are answered one by one."""

        async def endpoint(request: Request) -> Response:
            deadline = asyncio.get_running_loop().time() + self._settings.seconds
            asked = await self._asked(request, schema, deadline)
            if "brackets" in asked:
                size = len(asked["brackets"])
            else:
                size = answers.check_tokens([asked], self._settings.max_tokens)
            job = self._others.submit(object(), partial(function, self._registry, asked), size)
            return Response(await _answer(self._others, job, request, deadline), media_type=_JSON)

        return endpoint

    def _lattice(self, registry: Registry, asked: dict[str, Any]) -> bytes:
        return lattice.lattices(registry, asked, self._settings.max_cells)

    async def _asked(self, request: Request, schema: Schema, deadline: float) -> dict[str, Any]:
        body = await _body(request, self._settings.max_body, deadline)
        asked: dict[str, Any] = _parsed(body)
        try:
            check(asked, schema)
        except SchemaError as error:
            raise refused("schema", str(error)) from None
        return asked

    # -------------------------------------------------------------------------------------------- about the server

    async def _models(self, request: Request) -> Response:
        content = {"models": [served.about() for served in self._registry]}
        return Response(json.dumps(content, ensure_ascii=False).encode(), media_type=_JSON)

    async def _openapi(self, request: Request) -> Response:
        return Response(self._description, media_type=_JSON)

    async def _health(self, request: Request) -> Response:
        return Response(b'{"status": "alive"}', media_type=_JSON)

    async def _ready(self, request: Request) -> Response:
        if not self._is_ready:
            raise refused("busy", "the server is starting or stopping", {"retry-after": "1"})
        return Response(b'{"status": "ready"}', media_type=_JSON)

    async def _metrics(self, request: Request) -> Response:
        return Response(self._monitor.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


# ------------------------------------------------------------------------------------------------ bodies


async def _body(request: Request, most: int, deadline: float) -> bytes:
    """The whole body, if it is not too large and comes in time."""
    kind = announced = b""
    for name, value in request.scope["headers"]:
        if name == b"content-type":
            kind = value
        elif name == b"content-length":
            announced = value
    if kind.partition(b";")[0].strip().lower() != b"application/json":  # forms of other sites are not
        raise refused("type", "the content type must be application/json")
    is_large = announced.isdigit() and int(announced) > most
    parts, size = [], 0
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                message = await request.receive()
        except TimeoutError:
            raise refused("slow", "the request did not arrive in time") from None
        if message["type"] == "http.disconnect":
            raise ClientLeft
        body, more = message.get("body", b""), message.get("more_body", False)
        size += len(body)
        is_large = is_large or size > most
        if not is_large:
            parts.append(body)
            if not more:
                return b"".join(parts)
        elif not more or size > DISCARDED:  # a client that is still sending would not see an answer
            raise refused("body", f"the body is too large: at most {most:,} bytes are read")


def _parsed(body: bytes) -> Any:
    """JSON in UTF-8, strictly: no NaN, no half of a surrogate pair."""
    try:
        value = _DECODER.decode(body.decode("utf-8"))
        if _SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError:
        raise refused("json", "the body must be JSON in UTF-8, without halves of surrogate pairs") from None
    except ValueError as error:
        raise refused("json", f"the body must be JSON: {error}") from None
    except RecursionError:
        raise refused("json", "the body is nested too deeply") from None
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


# ------------------------------------------------------------------------------------------------ answers


async def _answer(worker: Worker, job: Job, request: Request, deadline: float) -> bytes:
    """The job's answer. A client that leaves, or time that runs out, gives the job's place to others."""
    loop, watching = asyncio.get_running_loop(), list[asyncio.Task[Any]]()

    # Most answers come at once; only for the others is it worth a task to see whether the client is still there.
    def watch() -> None:
        watching.append(loop.create_task(_watch(job, request, deadline)))

    timer = loop.call_later(PATIENCE, watch)
    try:
        content: bytes = await job.future
    except PostilError as error:
        raise answers.unfit(error) from None
    finally:
        timer.cancel()
        worker.leave(job)
        for task in watching:
            task.cancel()
    return content


async def _watch(job: Job, request: Request, deadline: float) -> None:
    """End the wait for a job when its client leaves or its time is over."""
    failure: Exception = ClientLeft()
    try:
        async with asyncio.timeout_at(deadline):
            await request.receive()  # after the body comes only that the client has left
    except TimeoutError:
        failure = refused("slow", "the answer took too long; send fewer tokens at once")
    if not job.future.done():
        job.future.set_exception(failure)


def _one_by_one(group: Hashable, contents: Sequence[Any]) -> Sequence[Any]:
    return [function() for function in contents]


async def _asset(request: Request, asset: Asset) -> Response:
    headers = {"etag": asset.tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == asset.tag:
        return Response(status_code=304, headers=headers)
    return Response(asset.content, media_type=asset.type, headers=headers)
