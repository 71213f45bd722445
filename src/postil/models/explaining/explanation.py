"""Why an entity was found, or was not: contributions to its log-odds, and the share of words and of transitions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, IndexRangeError, printable
from postil.features.inputs import Token, forms_of
from postil.markup import Markup, element, joined
from postil.markup.effects import Effect, effects_table, effects_text, signed
from postil.markup.fragments import columns, fragment
from postil.models.answers.distribution import calibrated_lattice
from postil.models.answers.labelling import Labelling
from postil.models.explaining.contributions import Contribution, Contributions, Measure, WordContribution, contributions
from postil.models.parts import Parts
from postil.objectives.crf import Posterior
from postil.objectives.crf_decoding import viterbi
from postil.objectives.crf_odds import log_odds, log_odds_and_gradient, without_transition_scores
from postil.objectives.crf_spans import forced_spans, outside_spans, span_probabilities
from postil.objectives.lattice import Lattice

OUTSIDE = "O"
SHOWN = 12  # labels named in an error
MOST_LISTED = 40  # words in the table of an explanation that is drawn
DIGITS = 6  # of the figures in ``to_dict``

LatticeOver: TypeAlias = Callable[[Array, Array], Lattice]
"""Scores (N, L) and offsets (B + 1,) -> all label sequences, as answers are read from them."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """Contributions to ``value``: the log-odds of "exactly the tokens ``start:end`` are a ``label``".

    ``measure`` names the value: "log-odds", log p / (1 - p) of the entity's probability p; or "margin", how far the
    score of a detector lies above its threshold. ``of_words`` is the value with all possible transitions scored alike,
    ``of_transitions`` the rest; they add up to ``value``. ``unknown`` is the value with every word of the sentence
    left out.
    """

    tokens: tuple[str, ...]
    start: int
    end: int
    label: str
    measure: str
    value: float
    probability: float | None
    of_words: float
    of_transitions: float
    unknown: float
    words: tuple[WordContribution, ...]
    features: dict[str, Contribution]

    @property
    def text(self) -> str:
        """The explained tokens."""
        return " ".join(self.tokens[self.start : self.end])

    def __str__(self) -> str:
        """The value, and below it the contributions of words and features: left out, gradient."""
        words = [(printable(word.word), word.left_out, word.gradient) for word in self.words]
        features = [(printable(name), part.left_out, part.gradient) for name, part in self.features.items()]
        width = max(len(name) for name, _, _ in [*words, *features])
        rows = [f"  {name:<{width}} {_signed(fell)} {_signed(slope)}" for name, fell, slope in [*words, *features]]
        title = f"{printable(self.text)} as {printable(self.label)}: {self.measure} {self.value:+.2f}"
        return "\n".join([title, *rows[: len(words)], "features", *rows[len(words) :]])

    def drawn(self) -> Markup:
        """The explanation as HTML: the sentence, the value, contributions of words and features."""
        words = [
            Effect(word.word, (word.left_out, word.gradient), self.start <= i < self.end)
            for i, word in enumerate(self.words)
        ]
        features = [Effect(name, (part.left_out, part.gradient)) for name, part in self.features.items()]
        chip = element("small", element("bdi", self.label), class_="chip", style="--label:var(--strong)")
        names = ("left out", "gradient")
        rest = f"With all words unknown, {self.measure} {signed(self.unknown)}."
        if self.measure == "log-odds":
            rest += f" Words contribute {signed(self.of_words)}, transitions {signed(self.of_transitions)}."
        listed = words if len(words) <= MOST_LISTED else _strongest(words)
        others = f" {len(words) - len(listed):,} words with smaller contributions are not listed."
        return joined(
            [
                self._verdict(),
                effects_text(words, chip=chip),
                columns(effects_table("word", names, listed), effects_table("feature", names, features)),
                element("p", "+ supports ", element("bdi", self.label), ", \u2212 opposes it. ", rest, class_="note"),
                element("p", others, class_="note") if len(listed) < len(words) else None,
            ]
        )

    def _verdict(self) -> Markup:
        name = element("strong", element("bdi", self.text), " as ", element("bdi", self.label))
        value = f"{self.measure} {signed(self.value)}"
        shown = value if self.probability is None else f"probability {self.probability:.4f}, {value}"
        return element("p", name, f": {shown}", class_="answer")

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return fragment(self.drawn())

    def to_dict(self) -> dict[str, Any]:
        """The explanation as a dict, ready for JSON.

        ``left_out`` is None for words that are too far away to be tried.
        """
        return {
            "tokens": list(self.tokens),
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "label": self.label,
            "measure": self.measure,
            "value": _rounded(self.value),
            "probability": _rounded(self.probability),
            "parts": {"words": _rounded(self.of_words), "transitions": _rounded(self.of_transitions)},
            "unknown": _rounded(self.unknown),
            "words": [
                {
                    "word": word.word,
                    "gradient": _rounded(word.gradient),
                    "left_out": _rounded(word.left_out),
                    "features": {name: _rounded(part) for name, part in word.features.items()},
                }
                for word in self.words
            ],
            "features": {
                name: {"gradient": _rounded(part.gradient), "left_out": _rounded(part.left_out)}
                for name, part in self.features.items()
            },
        }


def _strongest(words: list[Effect]) -> list[Effect]:
    """The explained words and those that contribute most, in their order."""

    def strength(place: int) -> tuple[bool, float]:
        word = words[place]
        return word.is_explained, max(abs(value) for value in word.values if value is not None)

    return [words[place] for place in sorted(sorted(range(len(words)), key=strength)[-MOST_LISTED:])]


def _signed(value: float | None) -> str:
    return f"{'':>8}" if value is None else f"{value:>+8.2f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


# ------------------------------------------------------------------------------------------------ taggers


@final
@dataclass(frozen=True, eq=False)
class LogOdds(Measure):
    """Of the statement that every token has one of its ``allowed`` labels, (T, L) boolean.

    ``lattice_over`` divides the scores by ``temperature``.
    """

    lattice_over: LatticeOver
    allowed: Array
    temperature: float = 1.0

    def of(self, scores: Array, offsets: Array) -> Array:
        return log_odds(self.lattice_over(scores, offsets), self._copies(offsets))

    def slope(self, scores: Array, offsets: Array) -> Array:
        _, gradient = log_odds_and_gradient(self.lattice_over(scores, offsets), self._copies(offsets))
        return gradient / self.temperature

    def _copies(self, offsets: Array) -> Array:
        return np.tile(self.allowed, (len(offsets) - 1, 1))


def explain_entity(
    parts: Parts[Labelling, Any], tokens: Sequence[Token], lattice: Lattice, span: tuple[int, int], label: str | None
) -> Explanation:
    """``lattice`` is the sentence's own. Without ``label``: the one that the best path gives the span, else the most
    probable one.
    """
    labelling = parts.labelling
    start, end = checked_span(tokens, *span)
    if not labelling.has_spans and end != start + 1:
        raise ConfigurationError(
            "labels of single tokens", expected=f"the span {start}:{start + 1}", got=f"{start}:{end}"
        )
    asked = answered_label(labelling, lattice, start, end) if label is None else label
    allowed = allowed_labels(labelling, lattice, start, end, asked)
    contributed = contributions(parts, tokens, log_odds_of(parts, allowed), start, end)
    of_transitions = log_odds(lattice, allowed)[0] - log_odds(without_transition_scores(lattice), allowed)[0]
    probability = float(np.exp(-np.logaddexp(0, -contributed.value)))
    return _explanation(tokens, start, end, asked, "log-odds", contributed, float(of_transitions), probability)


def log_odds_of(parts: Parts[Labelling, Any], allowed: Array) -> LogOdds:
    """Read from scores as every answer of the tagger is."""

    def lattice_over(scores: Array, offsets: Array) -> Lattice:
        return calibrated_lattice(parts.network.lattice_over(scores, offsets), parts.labelling, parts.decoding)

    return LogOdds(lattice_over, allowed, parts.decoding.temperature)


def checked_span(tokens: Sequence[Token], start: int, end: int) -> tuple[int, int]:
    """Whole numbers inside the sentence."""
    is_whole = all(isinstance(place, int | np.integer) for place in (start, end))
    if not is_whole or not 0 <= start < end <= len(tokens):
        room = f"0 <= start < end <= {len(tokens)}" if len(tokens) else "a sentence with tokens"
        raise IndexRangeError("a span lies outside its sentence", expected=room, got=f"{start}:{end}")
    return int(start), int(end)


def answered_label(labelling: Labelling, lattice: Lattice, start: int, end: int) -> str:
    """The label of the span on the best path; of a span that is not there, the most probable one."""
    best = viterbi(lattice)
    if not labelling.has_spans:
        return str(labelling.labels[best[start]])
    on_path = {(span.start, span.end): span.label for span in labelling.spans(best)}
    if (start, end) in on_path or not labelling.classes:
        return str(on_path.get((start, end), OUTSIDE))
    every = np.arange(len(labelling.classes))
    spans = np.tile([0, start, end], (len(every), 1))
    probabilities = span_probabilities(Posterior.of(lattice), spans, every, labelling.entity_labels())
    return labelling.classes[int(probabilities.argmax())]


def allowed_labels(labelling: Labelling, lattice: Lattice, start: int, end: int, label: str) -> Array:
    """(T, L) boolean: the paths on which exactly this span is a ``label``; for O, on which no token is of an entity."""
    known = (*labelling.classes, OUTSIDE) if labelling.has_spans else labelling.classes
    if label not in known:
        shown = ", ".join(known[:SHOWN]) + (", …" if len(known) > SHOWN else "")
        raise ConfigurationError("unknown label", expected=f"one of {shown}", got=repr(label))
    if not labelling.has_spans:
        allowed = np.ones(lattice.unary.shape, bool)
        allowed[start] = np.arange(len(labelling.labels)) == labelling.labels.index(label)
        return allowed
    spans, entities = [(0, start, end)], labelling.entity_labels()
    if label in labelling.classes:
        return forced_spans(lattice, spans, labelling.classes.index(label), entities)
    return outside_spans(lattice, spans, entities)


# ------------------------------------------------------------------------------------------------ detectors


@final
@dataclass(frozen=True)
class Margin(Measure):
    """How far the score of one token lies above the threshold."""

    token: int
    threshold: float

    def of(self, scores: Array, offsets: Array) -> Array:
        return np.asarray(scores[offsets[:-1] + self.token, 0].astype(np.float64) - self.threshold)

    def slope(self, scores: Array, offsets: Array) -> Array:
        slope = np.zeros_like(scores)
        slope[offsets[:-1] + self.token] = 1
        return slope


def explain_detection(
    parts: Parts[Any, Any], tokens: Sequence[Token], scores: Array, span: tuple[int, int], label: str | None
) -> Explanation:
    """A span is detected if all its tokens score above the threshold: the lowest of ``scores`` (T,) is explained."""
    target = parts.labelling
    start, end = checked_span(tokens, *span)
    if label not in (None, target.label):
        raise ConfigurationError("label of a detector", expected=repr(target.label), got=repr(label))
    measure = Margin(start + int(np.argmin(scores[start:end])), target.threshold)
    contributed = contributions(parts, tokens, measure, start, end)
    return _explanation(tokens, start, end, target.label, "margin", contributed, 0.0, None)


def _explanation(
    tokens: Sequence[Token],
    start: int,
    end: int,
    label: str,
    measure: str,
    contributed: Contributions,
    of_transitions: float,
    probability: float | None,
) -> Explanation:
    return Explanation(
        tokens=tuple(forms_of(tokens)),
        start=start,
        end=end,
        label=label,
        measure=measure,
        value=contributed.value,
        probability=probability,
        of_words=contributed.value - of_transitions,
        of_transitions=of_transitions,
        unknown=contributed.unknown,
        words=contributed.words,
        features=contributed.features,
    )
