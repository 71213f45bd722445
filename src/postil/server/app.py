"""The ASGI application: routes, request bodies, and the path of a request to a worker and back."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from postil.errors import PostilError
from postil.server import answers, flow, lattice, requests
from postil.server.assets import assets, send_asset
from postil.server.batching import Job, Steps, Worker
from postil.server.bodies import checked_body
from postil.server.deadlines import Deadlines
from postil.server.failures import refused
from postil.server.guard import App, Guard, Receive, Send, send_json
from postil.server.monitoring import Monitor
from postil.server.openapi import description
from postil.server.registry import PLAIN, Registry
from postil.server.schema import Schema
from postil.server.settings import ServerSettings
from postil.server.training import Trainer, as_body

RELOAD_SECONDS = 1.0
SHORT = 8_000
"""Characters, or tokens of lists, in a batch: about a millisecond of work."""
TAG_PATH = "/api/tag"
_JSON = "application/json"


def create_app(registry: Registry, settings: ServerSettings | None = None, *, reload: bool = False) -> Guard:
    """The application that serves these models. ``reload``: watch their files and open those that are replaced."""
    return _Server(registry, settings or ServerSettings(), reload).app


@final
class _Server:
    def __init__(self, registry: Registry, settings: ServerSettings, reload: bool) -> None:
        self._registry, self._settings, self._reload = registry, settings, reload
        self._monitor, self._is_ready = Monitor(), False
        self._deadlines = Deadlines(settings.seconds)
        limits: dict[str, Any] = {"queue": settings.queue, "wait": settings.wait}
        self._tagging = Worker(self._tag_batch, **limits, watch=self._monitor.batched, is_short=_is_short)
        self._others = Worker(_one_by_one, **limits)
        self._monitor.watch_waiting(lambda: self._tagging.waiting + self._others.waiting)
        self._trainer = None if settings.training is None else Trainer(settings.training, registry)
        self._description = json.dumps(description(training=self._trainer is not None)).encode()
        page = assets()
        routes = [
            Route(TAG_PATH, _Endpoint(self._tag), methods=["POST"]),
            Route("/api/explain", self._simple(requests.EXPLAIN, answers.explain), methods=["POST"]),
            Route("/api/tree", self._simple(requests.TREE, answers.tree), methods=["POST"]),
            Route("/api/lattice", self._simple(requests.LATTICE, self._lattice), methods=["POST"]),
            Route("/api/graph", self._simple(requests.GRAPH, flow.flow_graph), methods=["POST"]),
            Route("/api/models", self._models),
            Route("/api/openapi.json", self._openapi),
            Route("/health", self._health),
            Route("/ready", self._ready),
            Route("/metrics", self._metrics),
            *([] if self._trainer is None else self._training_routes(self._trainer)),
            *(Route(path, partial(send_asset, asset=asset)) for path, asset in page.items()),
        ]
        router = _Router(routes, redirect_slashes=False, lifespan=self._lifespan)
        router.tag = self._tag
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
            if self._trainer is not None:
                await asyncio.to_thread(self._trainer.end)
            await self._tagging.stop()
            await self._others.stop()

    async def _watch_files(self) -> None:
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            for name in await asyncio.to_thread(self._registry.refresh):
                self._monitor.reloaded(name)

    # -------------------------------------------------------------------------------------------- questions

    async def _tag(self, scope: Any, receive: Receive, send: Send) -> None:
        self._tagging.check_room()
        with self._deadlines.visit(receive) as visit:
            asked = await checked_body(scope, receive, requests.TAG, self._settings.max_body)
            served = self._registry.find(asked.get("model"), answers.TAGGED_KINDS, "tag")
            documents, options = answers.documents_of(asked), asked.get("options", {})
            answers.check_constraints(served, documents)
            size = answers.check_tokens(documents, self._settings.max_tokens)
            group = (served, answers.key_of(options))
            job = self._tagging.submit(group, (options, documents), size)
            content = await visit.answer(self._tagging, job)
        await send_json(send, 200, content)

    def _tag_batch(self, group: Any, contents: Sequence[Any]) -> Sequence[Any]:
        return answers.tag_alike(group[0], contents[0][0], [documents for _, documents in contents])

    def _simple(
        self, schema: Schema, function: Callable[[Registry, dict[str, Any]], bytes | Steps]
    ) -> Callable[[Request], Awaitable[Response]]:
        """An endpoint whose requests are answered one by one."""

        async def endpoint(request: Request) -> Response:
            with self._deadlines.visit(request.receive) as visit:
                asked = await checked_body(request.scope, request.receive, schema, self._settings.max_body)
                size = answers.check_tokens([asked], self._settings.max_tokens)
                job = self._others.submit(object(), partial(function, self._registry, asked), size)
                return Response(await visit.answer(self._others, job), media_type=_JSON)

        return endpoint

    def _lattice(self, registry: Registry, asked: dict[str, Any]) -> Steps:
        return lattice.lattices(registry, asked, self._settings.max_cells)

    # -------------------------------------------------------------------------------------------- training

    def _training_routes(self, trainer: Trainer) -> list[Route]:
        """Disks may be slow: other requests do not wait for them."""

        def get(function: Callable[[], dict[str, Any]]) -> Callable[[Request], Awaitable[Response]]:
            async def endpoint(request: Request) -> Response:
                return Response(as_body(await asyncio.to_thread(function)), media_type=_JSON)

            return endpoint

        def post(
            schema: Schema, action: Callable[[dict[str, Any]], dict[str, Any]]
        ) -> Callable[[Request], Awaitable[Response]]:
            async def endpoint(request: Request) -> Response:
                with self._deadlines.visit(request.receive):
                    asked = await checked_body(request.scope, request.receive, schema, self._settings.max_body)
                try:
                    return Response(as_body(await asyncio.to_thread(action, asked)), media_type=_JSON)
                except PostilError as error:
                    raise answers.unfit(error) from None

            return endpoint

        return [
            Route("/api/training", get(trainer.state)),
            Route("/api/training/files", get(trainer.files)),
            Route("/api/training/start", post(requests.TRAINING_START, trainer.start), methods=["POST"]),
            Route("/api/training/stop", post(requests.NOTHING, trainer.stop), methods=["POST"]),
            Route("/api/training/keep", post(requests.TRAINING_KEEP, trainer.keep), methods=["POST"]),
        ]

    # -------------------------------------------------------------------------------------------- about the server

    async def _models(self, request: Request) -> Response:
        content = {"models": [served.about() for served in self._registry], "training": self._trainer is not None}
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


@final
class _Router(Router):
    """Answers what is asked thousands of times a second without a search among the routes."""

    tag: App

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        app = self.tag if scope.get("path") == TAG_PATH and scope["method"] == "POST" else super().__call__
        await app(scope, receive, send)


@final
class _Endpoint:
    """Tells Starlette that a function takes what ASGI passes, not a request."""

    def __init__(self, function: App) -> None:
        self._function = function

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        await self._function(scope, receive, send)


def _is_short(batch: Sequence[Job]) -> bool:
    """Whether a batch is short, and takes the fast path: about a millisecond of work."""
    return sum(job.size for job in batch) <= SHORT and all(
        job.group[1] == PLAIN and job.group[0].is_quick for job in batch
    )


def _one_by_one(group: Hashable, contents: Sequence[Any]) -> Sequence[Any]:
    return [function() for function in contents]
