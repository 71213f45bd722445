"""A recogniser for Presidio: names with their probabilities as scores.

    analyzer = AnalyzerEngine(nlp_engine=NoOpNlpEngine([{"lang_code": "en", "model_name": "no_op"}]))
    analyzer.registry.add_recognizer(Recognizer("english"))

Presidio's patterns win over names: words that belong to a bank account or an e-mail address are not names, and the
words around them are labelled again on that condition.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, final

from postil.errors import ConfigurationError
from postil.extras import needed
from postil.models import Constraints, Tagger, load
from postil.models.decoding.distribution import check_probability
from postil.text import Document

_base: Any = needed("presidio_analyzer", "presidio").EntityRecognizer if find_spec("presidio_analyzer") else object

__all__ = ["Recognizer"]

ENTITIES = {
    **dict.fromkeys(("PER", "PERSON"), "PERSON"),
    **dict.fromkeys(("LOC", "LOCATION", "GPE", "PLACE"), "LOCATION"),
    **dict.fromkeys(("ORG", "ORGANIZATION", "CORPORATION"), "ORGANIZATION"),
    "NORP": "NRP",
    "DATE": "DATE_TIME",
    "TIME": "DATE_TIME",
}
"""Class of a model in capitals -> Presidio's entity; other classes keep their name."""
_PATTERNS = "CreditCard Crypto Email Iban Ip Phone Url".split()
_MAY_MATCH = re.compile(r"[\d@]|\w[./:]\S")
"""Every match of these patterns has a digit, an @, or a dot inside a word: other texts need not be looked through."""
SURE = 0.4
"""Score from which a pattern wins; Presidio gives this to phone numbers."""


@final
class Recognizer(_base):  # type: ignore[misc]
    """Finds the entities of a tagger's classes; ``score`` is the probability of exactly that entity.

    Parameters
    ----------
    model : str, path or Tagger, optional
        A model file, the name of an installed model, or a fitted tagger. By default the ``name``, because Presidio's
        YAML files have no other field for it.
    entities : dict of str, or list of str, optional
        Class of the model -> Presidio's entity, or a list of either. By default all classes: PER is PERSON, LOC and GPE
        are LOCATION, ORG is ORGANIZATION.
    threshold : float, optional
        Entities less probable than this are dropped; by default those below the thresholds of the model.
    task : str, optional
        The task of a multi-task model; by default the first with spans.
    patterns : list of EntityRecognizer, optional
        Recognisers whose matches are not names. By default those of Presidio for cards, coins, e-mail and IP addresses,
        bank accounts, phone numbers and URLs.
    supported_language, name, context
        As in Presidio.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Tagger | None = None,
        entities: Mapping[str, str] | Sequence[str] | None = None,
        threshold: float | None = None,
        *,
        task: str | None = None,
        patterns: Sequence[Any] | None = None,
        supported_language: str = "en",
        name: str | None = None,
        context: list[str] | None = None,
    ) -> None:
        presidio = needed("presidio_analyzer", "presidio")
        self._result = presidio.RecognizerResult
        if threshold is not None:
            check_probability(threshold, "threshold")
        source = name if model is None else model
        if source is None:
            raise ConfigurationError(
                "model of a recogniser", expected="a model file, or the name of an installed model"
            )
        self._tagger, self._threshold = _tagger(source, task), threshold
        classes = self._tagger.model.codec.classes
        values = entities.values() if isinstance(entities, Mapping) else entities or ()
        is_listed = not isinstance(entities, str) and all(isinstance(value, str) for value in values)
        if not is_listed or (entities is not None and not entities):
            raise ConfigurationError("entities", expected="a list or dict of names", got=repr(entities)[:80])
        given = {label: ENTITIES.get(label.upper(), label.upper()) for label in classes}
        if isinstance(entities, Mapping):
            unknown = [label for label in entities if label not in classes]
            given = dict(entities)
        elif entities is not None:
            unknown = [name for name in entities if name not in classes and name not in given.values()]
            given = {label: name for label, name in given.items() if {label, name} & set(entities)}
        else:
            unknown = []
        if unknown:
            raise ConfigurationError("entities", expected=f"classes of the model: {', '.join(classes)}", got=unknown[0])
        self._entity_of = given
        self._may_match = _MAY_MATCH if patterns is None else None
        if patterns is None:
            patterns = [
                getattr(presidio.predefined_recognizers, f"{kind}Recognizer")(supported_language=supported_language)
                for kind in _PATTERNS
            ]
        self._patterns = list(patterns)
        if wrong := [one for one in self._patterns if not isinstance(one, presidio.EntityRecognizer)]:
            raise ConfigurationError("patterns", expected="recognisers of Presidio", got=repr(wrong[0])[:80])
        names = list(dict.fromkeys(given.values()))
        super().__init__(names, name=name or "PostilRecognizer", supported_language=supported_language, context=context)

    def load(self) -> None:
        """Presidio's hook; the model is open already."""

    def analyze(self, text: str, entities: list[str] | None = None, nlp_artifacts: Any = None) -> list[Any]:
        """The names in a text, as Presidio's results. Any number of threads may call this."""
        wanted = self.supported_entities if entities is None else entities
        return self._results(self._tagger.tag(text, threshold=self._threshold), wanted)

    def analyze_many(self, texts: Iterable[str], entities: list[str] | None = None) -> list[list[Any]]:
        """``analyze`` of many texts at once, several times as fast for short ones."""
        wanted = self.supported_entities if entities is None else entities
        return [self._results(one, wanted) for one in self._tagger.tag_many(texts, threshold=self._threshold)]

    def _results(self, document: Document, entities: Sequence[str]) -> list[Any]:
        names = document.entities
        may_match = self._may_match is None or self._may_match.search(document.text)
        taken = self._taken(document) if names and may_match else []
        if any(one.start < end and one.end > start for one in names for start, end in taken):
            constraints = Constraints(allow=[(start, end, ["O"]) for start, end in taken])
            names = self._tagger.tag(document.text, constraints=constraints, threshold=self._threshold).entities
        return [
            self._result(entity_type=self._entity_of[one.label], start=one.start, end=one.end, score=one.probability)
            for one in names
            if self._entity_of.get(one.label) in entities
        ]

    def _taken(self, document: Document) -> list[tuple[int, int]]:
        """The whole tokens of each sentence that patterns match, in characters."""
        matches = [
            (found.start, found.end)
            for pattern in self._patterns
            for found in pattern.analyze(document.text, pattern.supported_entities, None) or ()
            if found.score >= SURE
        ]
        taken = []
        for start, end in matches:
            for sentence in document.sentences:
                places = zip(sentence.starts or (), sentence.ends or (), strict=True)
                inside = [place for place in places if place[0] < end and place[1] > start]
                if inside:
                    taken.append((inside[0][0], inside[-1][1]))
        return taken


def _tagger(model: str | os.PathLike[str] | Tagger, task: str | None) -> Tagger:
    found: Any = model if isinstance(model, Tagger) else load(model)
    tasks = list(getattr(found, "tasks", ()))
    if task is not None and task not in tasks:
        raise ConfigurationError("task", expected=f"one of {', '.join(tasks) or 'none: the model has one'}", got=task)
    heads = [found[name] for name in ([task] if task is not None else tasks)] or [found]
    for head in heads:
        if head.KIND == "tagger" and head.model.codec.has_spans:
            return head  # type: ignore[no-any-return]
    raise ConfigurationError("model of a recogniser", expected="a tagger of spans", got=f"a {found.KIND}")
