"""The input of a report on a tagger: gold and predicted labels with probabilities."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Self, final

from postil.metrics.evaluation import Compared, Evaluation, evaluate_compared
from postil.models.decoding.posteriors import Posteriors
from postil.models.estimator import Estimator
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.text import Sentence, Span

LOWEST = 0.01
"""Spans that are less probable are looked at only if they are predicted: almost all spans are, and wrong."""


@final
@dataclass(frozen=True, kw_only=True)
class Heading:
    """Which model on which data, and when; ``about`` is what the model file says about its training."""

    model: str
    data: str
    date: str
    about: Mapping[str, Any]
    parameters: int

    @classmethod
    def of(cls, model: Estimator, *, model_name: str, data_name: str, date: str = "") -> Self:
        parts = model.model
        return cls(
            model=model_name,
            data=data_name,
            date=date or datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
            about=parts.about,
            parameters=sum(parameter.value.size for parameter in parts.network.parameters().values()),
        )


class SpanPlace(NamedTuple):
    """A span of a sentence, counted from 0."""

    sentence: int
    span: Span


def line_of(sentences: Sequence[Sentence]) -> Callable[[int, int], str]:
    """The place of a token, if sentences know it: the line of their first token."""

    def place(sentence: int, token: int) -> str:
        line = sentences[sentence].line
        return f"line {line}, token {token + 1}" if line else f"sentence {sentence + 1}, token {token + 1}"

    return place


@final
@dataclass(frozen=True, kw_only=True)
class Answers:
    """A tagger's answers on labelled sentences.

    ``sure`` holds the probability of every predicted span (labels with a scheme) or of every token's label (without).
    ``likely`` holds every span with at least the probability LOWEST, predicted or not, of each sentence.
    ``place`` names the place of a token (sentence, token) in the file; ``probabilities`` returns those of any spans.
    """

    tokens: Sequence[Sequence[str]]
    compared: Compared
    evaluation: Evaluation
    sure: Sequence[Sequence[float]]
    likely: Sequence[Sequence[tuple[Span, float]]]
    place: Callable[[int, int], str]
    probabilities: Callable[[Sequence[SpanPlace]], list[float | None]]

    @classmethod
    def of(
        cls,
        tagger: Tagger,
        sentences: Sequence[Sentence],
        compared: Compared,
        place: Callable[[int, int], str] | None = None,
    ) -> Self:
        """Ask the tagger for its probabilities; ``compared`` are its predictions and the labels of the sentences."""
        X = [tokens_of(sentence) for sentence in sentences]
        likely: list[list[tuple[Span, float]]] = []
        if compared.scheme == "none":
            sure = [row.tolist() for row in tagger.predict_with_probabilities(X)[1]]
        else:
            # Copies are annotated: the sentences keep their gold labels.
            copies = [Sentence(tokens=sentence.tokens, columns=sentence.columns) for sentence in sentences]
            sure = []
            for spans, entities in zip(compared.predicted_spans, tagger.annotate(copies), strict=True):
                known = {Span(one.label, one.start, one.end): one.probability or 0.0 for one in entities}
                sure.append([known[span] for span in spans])
            likely = [[] for _ in X]
            for posterior in Posteriors(tagger.model).of(X):
                for row, span, probability in posterior.spans_above(LOWEST):
                    likely[posterior.which[row]].append((span, probability))
        return cls(
            tokens=[sentence.tokens for sentence in sentences],
            compared=compared,
            evaluation=evaluate_compared(compared),
            sure=sure,
            likely=likely,
            place=place or line_of(sentences),
            probabilities=lambda places: probabilities_of(tagger, X, places),
        )

    def sureness(self) -> dict[SpanPlace, float]:
        """The probability of each predicted span, or of the label of each token."""
        return {
            SpanPlace(i, span): probability
            for i, figures in enumerate(self.sure)
            for span, probability in zip(self.compared.spans_of(i)[1], figures, strict=True)
        }


def probabilities_of(tagger: Tagger, X: Sequence[Any], places: Sequence[SpanPlace]) -> list[float | None]:
    """How probable the tagger holds any spans of sentences X, predicted or not; None for classes it does not know."""
    asked: dict[int, list[int]] = {}
    for i, place in enumerate(places):
        if place.span.label in tagger.model.codec.classes:
            asked.setdefault(place.sentence, []).append(i)
    answers: list[float | None] = [None] * len(places)
    wanted = list(asked)
    for posterior in Posteriors(tagger.model).of([X[sentence] for sentence in wanted]):
        rows = [(row, i) for row, local in enumerate(posterior.which) for i in asked[wanted[local]]]
        probabilities = posterior.span_probabilities([(row, places[i].span) for row, i in rows])
        for (_, i), probability in zip(rows, probabilities, strict=True):
            answers[i] = float(probability)
    return answers
