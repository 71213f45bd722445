"""The application of ``postil annotate``: one person, one pool, a page, and a model that learns in the background."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, final

import msgspec
from starlette.routing import Route, Router

from postil.annotation import Annotation
from postil.errors import ConfigurationError
from postil.server import api
from postil.server.app import Action, assets, changes, reading
from postil.server.guard import Guard, Monitor
from postil.server.jobs import BackgroundTraining
from postil.server.requests import refused
from postil.server.settings import ServerSettings
from postil.text import Span

END_SECONDS = 10.0
"""A training run that is under way is waited for this long at the end."""


def create_annotator(annotation: Annotation, settings: ServerSettings, *, is_review: bool = False) -> Guard:
    """The application around an annotation. Everything but the page itself needs the token of the settings."""
    if settings.token is None:
        raise ConfigurationError("the page to annotate", expected="needs a token")
    return _Annotator(annotation, settings, is_review).app


@final
class _Annotator:
    def __init__(self, annotation: Annotation, settings: ServerSettings, is_review: bool) -> None:
        self._annotation, self._is_review = annotation, is_review
        self._training = BackgroundTraining()
        actions: dict[str, Action] = {
            "answer": (api.AnswerGiven, self._answer),
            "undo": (api.Nothing, self._undo),
            "look": (api.Look, self._look),
            "class": (api.NewClass, self._add_class),
            "learn": (api.Nothing, self._learn),
            "stop": (api.Nothing, self._stop),
        }
        routes = []
        if annotation.rules is not None:
            actions["rules/save"] = (api.RulesSaved, self._save_rules)
            routes.append(Route("/api/annotation/rules", reading(self._rules)))
        routes += [
            Route("/api/annotation", reading(self._state)),
            Route("/api/annotation/progress", reading(self._progress)),
            Route("/api/annotation/answers", reading(annotation.answers)),
            *changes("/api/annotation", actions, settings),
            *assets("annotate.html"),
        ]
        router = Router(routes, redirect_slashes=False, lifespan=self._lifespan)
        self.app = Guard(router, settings, Monitor())

    @asynccontextmanager
    async def _lifespan(self, app: Any) -> AsyncIterator[None]:
        if self._annotation.rules is not None:
            self._learn(api.Nothing())
        self._learn_if_due()
        try:
            yield
        finally:
            self._training.stop()
            await asyncio.to_thread(self._training.join, END_SECONDS)

    def _state(self) -> dict[str, Any]:
        return {**self._progress(), "record": self._annotation.next()}

    def _progress(self) -> dict[str, Any]:
        learning: dict[str, Any] = msgspec.to_builtins(self._training.status())
        return {
            "classes": self._annotation.classes,
            "progress": self._annotation.progress(),
            "curve": self._annotation.curve(),
            "learning": {name: value for name, value in learning.items() if name != "history"},
            "review": self._is_review,
            "rules": self._annotation.rules is not None,
        }

    def _rules(self) -> dict[str, Any]:
        assert self._annotation.rules is not None
        return {**self._annotation.rules.state(), "judged": self._annotation.judged()}

    def _save_rules(self, asked: api.RulesSaved) -> dict[str, Any]:
        assert self._annotation.rules is not None
        self._annotation.rules.save(asked.name, asked.text, asked.stamp, replace=asked.replace)
        return self._rules()

    def _answer(self, asked: api.AnswerGiven) -> dict[str, Any]:
        spans = [Span(one.label, one.start, one.end) for one in asked.spans]
        self._annotation.answer(asked.key, spans, is_skipped=asked.skipped)
        self._learn_if_due()
        return self._state()

    def _undo(self, asked: api.Nothing) -> dict[str, Any]:
        record = self._annotation.undo()
        return {**self._state(), "undone": record is not None, **({} if record is None else {"record": record})}

    def _look(self, asked: api.Look) -> dict[str, Any]:
        """An answered record, or the one to be asked for if ``back`` is 0 or there are fewer answers."""
        record = self._annotation.answered(asked.back)
        return self._state() if record is None else {**self._progress(), "record": record}

    def _add_class(self, asked: api.NewClass) -> dict[str, Any]:
        self._annotation.add_class(asked.name)
        return self._progress()

    def _learn(self, asked: api.Nothing) -> dict[str, Any]:
        """Train now, without waiting for more answers."""
        if not (self._annotation.learns and self._annotation.has_spans()):
            raise refused("unfit", "there is nothing to learn from yet: no answer has a span")
        self._training.start(self._annotation.new_training, self._annotation.use)
        return self._progress()

    def _stop(self, asked: api.Nothing) -> dict[str, Any]:
        self._training.stop()
        return self._progress()

    def _learn_if_due(self) -> None:
        if self._annotation.is_due() and not self._training.is_running:
            with suppress(ConfigurationError):  # another request has started it meanwhile
                self._training.start(self._annotation.new_training, self._annotation.use)
