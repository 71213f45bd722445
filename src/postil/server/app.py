"""The ASGI application: routes, request bodies, and the path of a request to a worker and back."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any, TypeAlias, TypeVar, final

import msgspec
from prometheus_client import generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from postil.errors import PostilError
from postil.models.decoding.promise import Profile
from postil.server import answers, api, machinery
from postil.server.batching import Job, Steps, Worker
from postil.server.expected import Expectations
from postil.server.guard import Guard, Monitor, send_json
from postil.server.jobs import FolderTrainer
from postil.server.registry import PLAIN, Registry
from postil.server.requests import App, Receive, Refusal, Send, body_of, refused, unfit
from postil.server.settings import ServerSettings

RELOAD_SECONDS = 1.0
SHORT = 8_000
"""Characters, or tokens of lists, in a batch: about a millisecond of work."""
TAG_PATH = "/api/tag"
_Text = TypeVar("_Text", bound=api.Request)
_JSON = "application/json"
Action: TypeAlias = tuple[type[Any], Callable[[Any], dict[str, Any]]]
"""What changes something: the request it takes, and its function."""


def create_app(
    registry: Registry,
    settings: ServerSettings | None = None,
    *,
    reload: bool = False,
    bases: Mapping[str, Profile] | None = None,
) -> Guard:
    """The application that serves these models.

    ``reload``: watch their files and open those that are replaced. ``bases``: profiles of taggers, with which the
    metrics compare the texts that come.
    """
    return _Server(registry, settings or ServerSettings(), reload, bases or {}).app


@final
class _Server:
    def __init__(
        self, registry: Registry, settings: ServerSettings, reload: bool, bases: Mapping[str, Profile]
    ) -> None:
        self._registry, self._settings, self._reload = registry, settings, reload
        self._monitor, self._is_ready = Monitor(), False
        self._expectations = Expectations(self._monitor.registry, bases)
        limits: dict[str, Any] = {"queue": settings.queue, "wait": settings.wait}
        self._tagging = Worker(self._tag_batch, **limits, watch=self._monitor.batches.observe, is_short=_is_short)
        self._others = Worker(lambda group, calls: [call() for call in calls], **limits)
        self._monitor.waiting.set_function(lambda: self._tagging.waiting + self._others.waiting)
        self._trainer = None if settings.training is None else FolderTrainer(settings.training, registry)
        description = json.dumps(api.description(training=self._trainer is not None)).encode()
        routes = [
            Route(TAG_PATH, self, methods=["POST"]),  # as an ASGI application
            Route("/api/explain", self._simple(api.Explain, answers.explain), methods=["POST"]),
            Route("/api/tree", self._simple(api.TreeAsked, answers.tree), methods=["POST"]),
            Route("/api/roles", self._simple(api.TextAsked, answers.roles), methods=["POST"]),
            Route("/api/lattice", self._simple(api.TextAsked, machinery.lattices), methods=["POST"]),
            Route("/api/graph", self._simple(api.GraphAsked, machinery.flow_graph), methods=["POST"]),
            Route("/api/page/tree", self._simple(api.TreeAsked, machinery.tree), methods=["POST"]),
            Route("/api/page/errors", self._simple(api.ErrorsAsked, machinery.errors), methods=["POST"]),
            Route("/api/page/card", self._simple(api.CardAsked, machinery.card), methods=["POST"]),
            Route("/api/models", self._models),
            Route("/api/openapi.json", _sending(description, _JSON)),
            Route("/health", _sending(b'{"status": "alive"}', _JSON)),
            Route("/ready", self._ready),
            Route("/metrics", self._metrics),
            *assets("index.html"),
        ]
        if self._trainer is not None:
            actions: dict[str, Action] = {
                "start": (api.TrainingStart, self._trainer.start),
                "stop": (api.Nothing, self._trainer.stop),
                "keep": (api.TrainingKeep, self._trainer.keep),
            }
            routes += [
                Route("/api/training", reading(self._trainer.state)),
                Route("/api/training/files", reading(self._trainer.files)),
                *changes("/api/training", actions, settings),
            ]
        router = _Router(routes, redirect_slashes=False, lifespan=self._lifespan)
        router.tag = self
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
                self._monitor.reloads.labels(name).inc()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """/api/tag."""
        self._tagging.check_room()
        asked, ends = await asked_in(scope, receive, self._settings, api.Tag)
        served = self._registry.find(asked.model or None, answers.TAGGED_KINDS, "tag")
        documents, options = answers.documents_of(served, asked), asked.options
        size = answers.check_tokens(documents, self._settings.max_tokens)
        job = self._tagging.submit((served, msgspec.json.encode(options)), (options, documents), size)
        await send_json(send, 200, await self._tagging.answer(job, receive, ends))

    def _tag_batch(self, group: Any, contents: Sequence[Any]) -> Sequence[Any]:
        for _, documents in contents:
            self._expectations.saw(group[0], documents)
        return answers.tag_alike(group[0], contents[0][0], [documents for _, documents in contents])

    def _simple(
        self, kind: type[_Text], function: Callable[[Registry, _Text], bytes | Steps]
    ) -> Callable[[Request], Awaitable[Response]]:
        """An endpoint whose requests are answered one by one."""

        async def endpoint(request: Request) -> Response:
            asked, ends = await asked_in(request.scope, request.receive, self._settings, kind)
            size = answers.check_tokens([asked], self._settings.max_tokens)
            job = self._others.submit(object(), partial(function, self._registry, asked), size)
            return Response(await self._others.answer(job, request.receive, ends), media_type=_JSON)

        return endpoint

    async def _models(self, request: Request) -> Response:
        return _as_json(
            {"models": [served.about() for served in self._registry], "training": self._trainer is not None}
        )

    async def _ready(self, request: Request) -> Response:
        if not self._is_ready:
            raise refused("busy", "the server is starting or stopping", {"retry-after": "1"})
        return Response(b'{"status": "ready"}', media_type=_JSON)

    async def _metrics(self, request: Request) -> Response:
        await asyncio.to_thread(self._expectations.update)
        text = generate_latest(self._monitor.registry)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@final
class _Router(Router):
    """Answers what is asked thousands of times a second without a search among the routes."""

    tag: App

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        app = self.tag if scope.get("path") == TAG_PATH and scope["method"] == "POST" else super().__call__
        await app(scope, receive, send)


def _is_short(batch: Sequence[Job]) -> bool:
    """Whether a batch is short, and takes the fast path: about a millisecond of work."""
    return sum(job.size for job in batch) <= SHORT and all(
        job.group[1] == PLAIN and job.group[0].is_quick for job in batch
    )


# ------------------------------------------------------------------------------------------------ shared endpoints
# Disks may be slow: other requests do not wait for them.


def reading(function: Callable[[], dict[str, Any]]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that answers with a state."""

    async def endpoint(request: Request) -> Response:
        return _as_json(await asyncio.to_thread(function))

    return endpoint


async def asked_in(scope: Any, receive: Receive, settings: ServerSettings, kind: type[_Text]) -> tuple[_Text, float]:
    """The request in a body, and until when it has to be answered, by the clock of the event loop."""
    ends = asyncio.get_running_loop().time() + settings.seconds
    return api.decoded(await body_of(scope, receive, settings.max_body, ends), kind), ends


def changes(path: str, actions: Mapping[str, Action], settings: ServerSettings) -> list[Route]:
    """Routes below a path that change something."""

    def endpoint_of(kind: type[Any], action: Callable[[Any], dict[str, Any]]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            asked, _ = await asked_in(request.scope, request.receive, settings, kind)
            try:
                return _as_json(await asyncio.to_thread(action, asked))
            except PostilError as error:
                raise unfit(error) from None
            except OSError as error:
                reason = error.strerror or "the file cannot be written"
                raise Refusal(500, "internal", f"not saved: {reason}") from None

        return endpoint

    return [Route(f"{path}/{name}", endpoint_of(*row), methods=["POST"]) for name, row in actions.items()]


def _as_json(content: dict[str, Any]) -> Response:
    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, media_type=_JSON, headers={"cache-control": "no-store"})


# ------------------------------------------------------------------------------------------------ files of the page

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# Also used elsewhere: the colours by reports and notebooks, all of them by exported pages.
SHARED = ("palette.css", "page.css", "labelling.css", "dom.js", "labelling.js", "spans.js", "icon.svg")


def assets(home: str) -> list[Route]:
    """Routes of the files of the page; the page itself, ``home``, is at /."""
    page, shared, reports = files("postil.server").joinpath("page"), files("postil.html"), files("postil.reports")
    sheets = shared.joinpath("style.css"), reports.joinpath("page.css")
    style = ".report {\n" + "\n".join(sheet.read_text("utf8") for sheet in sheets) + "}\n"
    routes = [
        Route("/page/report.css", _sending(style.encode(), TYPES["css"])),
        Route("/page/report.js", _sending(reports.joinpath("page.js").read_bytes(), TYPES["js"])),
    ]
    for file in (*page.iterdir(), *map(shared.joinpath, SHARED)):
        ending = file.name.rpartition(".")[2]
        if ending in TYPES and (ending != "html" or file.name in (home, "equations.html")):
            path = "/" if file.name == home else f"/page/{file.name}"
            routes.append(Route(path, _sending(file.read_bytes(), TYPES[ending])))
    return routes


def _sending(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that sends what never changes, or that the browser's copy of it is still good."""
    headers = {"etag": f'"{hashlib.sha256(content).hexdigest()[:16]}"', "cache-control": "no-cache"}

    async def endpoint(request: Request) -> Response:
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    return endpoint
