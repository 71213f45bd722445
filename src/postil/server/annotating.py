"""The application of ``postil annotate``: one person, one pool, a page, and a model that learns in the background."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from postil.curation.annotation import Annotation
from postil.errors import ConfigurationError, PostilError
from postil.server import requests
from postil.server.assets import assets, send_asset
from postil.server.background import BackgroundTraining
from postil.server.bodies import checked_body
from postil.server.deadlines import Deadlines
from postil.server.failures import Refusal, refused
from postil.server.guard import Guard
from postil.server.monitoring import Monitor
from postil.server.schema import Schema
from postil.server.settings import ServerSettings
from postil.text import Span

HOME = "annotate.html"
END_SECONDS = 10.0
"""A training that is under way is waited for this long at the end."""


def create_annotator(annotation: Annotation, settings: ServerSettings, *, is_review: bool = False) -> Guard:
    """The application around an annotation. Everything but the page itself needs the token of the settings."""
    if settings.token is None:
        raise ConfigurationError("the page to annotate", expected="needs a token")
    return _Annotator(annotation, settings, is_review).app


@final
class _Annotator:
    def __init__(self, annotation: Annotation, settings: ServerSettings, is_review: bool) -> None:
        self._annotation, self._settings, self._is_review = annotation, settings, is_review
        self._training, self._deadlines = BackgroundTraining(), Deadlines(settings.seconds)
        actions: dict[str, tuple[Schema, Callable[[dict[str, Any]], dict[str, Any]]]] = {
            "answer": (requests.ANSWER, self._answer),
            "undo": (requests.NOTHING, self._undo),
            "look": (requests.LOOK, self._look),
            "class": (requests.CLASS, self._add_class),
            "learn": (requests.NOTHING, self._learn),
            "stop": (requests.NOTHING, self._stop),
        }
        routes = [
            Route("/api/annotation", self._get(self._state)),
            Route("/api/annotation/progress", self._get(self._progress)),
            *(
                Route(f"/api/annotation/{name}", self._post(schema, action), methods=["POST"])
                for name, (schema, action) in actions.items()
            ),
            *(Route(path, partial(send_asset, asset=asset)) for path, asset in assets(HOME).items()),
        ]
        router = Router(routes, redirect_slashes=False, lifespan=self._lifespan)
        self.app = Guard(router, settings, Monitor())

    @asynccontextmanager
    async def _lifespan(self, app: Any) -> AsyncIterator[None]:
        self._learn_if_due()
        try:
            yield
        finally:
            self._training.stop()
            await asyncio.to_thread(self._training.join, END_SECONDS)

    # -------------------------------------------------------------------------------------------- from and to JSON

    def _get(self, function: Callable[[], dict[str, Any]]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return _answered(await asyncio.to_thread(function))

        return endpoint

    def _post(
        self, schema: Schema, action: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """An endpoint that changes something. Disks may be slow: other requests do not wait for them."""

        async def endpoint(request: Request) -> Response:
            with self._deadlines.visit(request.receive):
                asked = await checked_body(request.scope, request.receive, schema, self._settings.max_body)
            try:
                return _answered(await asyncio.to_thread(action, asked))
            except PostilError as error:
                raise refused("unfit", str(error)) from None
            except OSError as error:
                raise Refusal(500, "internal", f"not saved: {error.strerror or 'the file cannot be written'}") from None

        return endpoint

    # -------------------------------------------------------------------------------------------- actions

    def _state(self) -> dict[str, Any]:
        return {**self._progress(), "record": self._annotation.next()}

    def _progress(self) -> dict[str, Any]:
        return {
            "classes": self._annotation.classes,
            "progress": self._annotation.progress(),
            "curve": self._annotation.curve(),
            "learning": {name: value for name, value in self._training.status().items() if name != "history"},
            "review": self._is_review,
        }

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        spans = [Span(one["label"], int(one["start"]), int(one["end"])) for one in asked.get("spans", ())]
        self._annotation.answer(asked["key"], spans, is_skipped=asked.get("skipped", False))
        self._learn_if_due()
        return self._state()

    def _undo(self, asked: dict[str, Any]) -> dict[str, Any]:
        record = self._annotation.undo()
        return {**self._state(), "undone": record is not None, **({} if record is None else {"record": record})}

    def _look(self, asked: dict[str, Any]) -> dict[str, Any]:
        """An answered record, or the one to be asked for where ``back`` is 0 or there are not so many answers."""
        record = self._annotation.answered(int(asked["back"]))
        return self._state() if record is None else {**self._progress(), "record": record}

    def _add_class(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._annotation.add_class(asked["name"])
        return self._progress()

    def _learn(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Train now, without waiting for more answers."""
        if not (self._annotation.learns and self._annotation.has_spans()):
            raise refused("unfit", "there is nothing to learn from yet: no answer has a span")
        self._training.start(self._annotation.new_training, self._annotation.use)
        return self._progress()

    def _stop(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._training.stop()
        return self._progress()

    def _learn_if_due(self) -> None:
        if self._annotation.is_due() and not self._training.is_running:
            with suppress(ConfigurationError):  # another request has started it meanwhile
                self._training.start(self._annotation.new_training, self._annotation.use)


def _answered(content: dict[str, Any]) -> Response:
    body = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})
