"""Labels that are probably wrong, found by models that have not seen them.

Every sentence is held out once per repetition, so that each of its labels is judged by models that learnt from other
sentences, and the exact posteriors of the repetitions are averaged. What stands in the data and what the models would
say are compared stretch by stretch. Three things make a stretch suspicious, each of them a log-odds:

- its most improbable label: -log of the smallest marginal,
- its entities: how improbable they are, and how probable is what overlaps them,
- other occurrences of the same words that are labelled differently.

Measured on planted errors (``benchmarks/doctor.py``), the first ranks better than the probability of the whole sentence
and than the average over its tokens, and the other two each add to it.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.curation import jobs as parallel
from postil.curation.corpus import Split, known_labels, occurrences
from postil.curation.folds import folds
from postil.models.answers.distribution import Distribution
from postil.models.answers.labelling import Labelling
from postil.models.answers.posteriors import Posteriors
from postil.models.tagger import Tagger
from postil.objectives.crf_spans import Windows, window_probabilities
from postil.objectives.long_chains import LONG
from postil.text import Span
from postil.text.partial_label import PartialLabel
from postil.text.schemes import labels_from_spans, spans_from_labels

LOWEST = 0.05
"""Probability of a span below which it is no alternative."""
_FLOOR = 1e-3
"""A model that has seen a few hundred sentences is never surer than that."""
SPAN_WEIGHT = MENTION_WEIGHT = 0.3
"""Of the second and third part; results change little between 0.1 and 0.5."""


class Suspicion(NamedTuple):
    """A stretch of a sentence whose labels are doubtful."""

    sentence: int
    start: int
    end: int
    gold: tuple[Span, ...]
    """What the data say; empty for "no entity here"."""
    suggestion: tuple[Span, ...]
    """What the models say."""
    gold_probability: float
    """The smallest probability of the gold entities, or that there is no entity."""
    suggestion_probability: float
    score: float
    """Log-odds of an error up to a constant: the larger, the more suspicious."""


class Judgement(NamedTuple):
    """What held-out models think of one sentence of T tokens."""

    gold: Array  # (T,) marginal of each label in the data; 1 where it is unknown
    spans: dict[Span, float]  # probable spans and gold spans; without a scheme, probable labels of single tokens
    nothing: dict[tuple[int, int], float]  # where these spans are: how probable it is that no entity is there


def suspicions(
    estimator: Tagger,
    split: Split,
    *,
    number: int = 5,
    repeats: int = 2,
    groups: Sequence[Hashable] = (),
    seed: int = 0,
    jobs: int = 1,
    progress: parallel.Progress | None = None,
) -> list[Suspicion]:
    """The doubtful stretches of all sentences, the most suspicious first."""
    groups = groups or split.documents
    sizes = [len(tokens) for tokens in split.X]
    parts, tasks = [], []
    for repeat in range(repeats):
        for part in folds(sizes, number, np.random.default_rng(seed + repeat), groups):
            parts.append(part)
            data = [[values[i] for i in places] for places in part for values in (split.X, split.labels)]
            tasks.append((estimator, *data, seed + repeat))
    collected: list[list[Judgement]] = [[] for _ in split.X]
    for part, answers in zip(parts, parallel.run(_judge, tasks, jobs, progress), strict=True):
        for i, judgement in zip(part.held_out, answers, strict=True):
            collected[i].append(judgement)
    found = [one for i, judgements in enumerate(collected) for one in _stretches(split, i, _averaged(judgements))]
    odds = _mention_odds(split, found)
    scored = [
        one._replace(score=one.score + MENTION_WEIGHT * mention) for one, mention in zip(found, odds, strict=True)
    ]
    return sorted(scored, key=lambda one: (-one.score, one.sentence, one.start))


# ------------------------------------------------------------------------------------------------ one held-out part


def _judge(
    estimator: Tagger, X: list[Any], y: list[Any], held_out: list[Any], labels: list[Any], seed: int
) -> list[Judgement]:
    tagger = parallel.unfitted(estimator, threads=1, seed=seed).fit(X, y)
    judgements: dict[int, Judgement] = {}
    for posterior in Posteriors(tagger.fitted_parts()).of(held_out):
        block = [labels[i] for i in posterior.which]
        judgements |= zip(posterior.which, _judgements(posterior, block), strict=True)
    return [judgements[i] for i in range(len(held_out))]


def _judgements(posterior: Distribution, labels: list[list[str]]) -> list[Judgement]:
    """Of the sentences of a block, whose labels these are."""
    labelling, marginals = posterior.labelling, posterior.by_sentence(posterior.marginals())
    if not labelling.has_spans:
        return [_token_judgement(rows, given, labelling) for rows, given in zip(marginals, labels, strict=True)]
    gold = [spans_from_labels(known_labels(given), labelling.scheme) for given in labels]
    spans: list[dict[Span, float]] = [{} for _ in labels]
    for row, span, probability in posterior.spans_above(LOWEST):
        spans[row][span] = probability
    known = [(row, span) for row, one in enumerate(gold) for span in one if span.label in labelling.classes]
    for (row, span), probability in zip(known, posterior.span_probabilities(known).tolist(), strict=True):
        spans[row][span] = probability
    nothing = _nothing(posterior, spans)
    return [
        Judgement(_gold_marginals(*of_one, labelling), spans[row], nothing[row])
        for row, of_one in enumerate(zip(marginals, labels, gold, strict=True))
    ]


def _gold_marginals(marginals: Array, labels: Sequence[str], spans: list[Span], labelling: Labelling) -> Array:
    """(T,) of the labels in the data, spelt as the network does; 0 for a class that the model does not know."""
    number = {label: i for i, label in enumerate(labelling.labels)}
    spelt = [number.get(label) for label in labels_from_spans(spans, len(labels), labelling.inner)]
    return np.array(
        [
            1.0 if isinstance(label, PartialLabel) else 0.0 if i is None else row[i]
            for row, label, i in zip(marginals, labels, spelt, strict=True)
        ]
    )


def _nothing(posterior: Distribution, spans: list[dict[Span, float]]) -> list[dict[tuple[int, int], float]]:
    """The probability that all tokens of a span are O, exactly: of all spans of all sentences at once."""
    places = sorted({(row, span.start, span.end) for row, one in enumerate(spans) for span in one})
    answers: list[dict[tuple[int, int], float]] = [{} for _ in spans]
    if not places or posterior.lattice.lengths.max() > LONG:  # too long to ask about windows
        return answers
    first = posterior.lattice.offsets
    tokens = np.concatenate([np.arange(first[row] + start, first[row] + end) for row, start, end in places])
    allowed = np.zeros((len(tokens), len(posterior.labelling.labels)), bool)
    allowed[:, posterior.labelling.outside] = True
    offsets = offsets_from_lengths([end - start for _, start, end in places])
    probabilities = window_probabilities(posterior.posterior, Windows(tokens, offsets, allowed))
    for (row, start, end), probability in zip(places, probabilities.tolist(), strict=True):
        answers[row][start, end] = probability
    return answers


def _token_judgement(marginals: Array, labels: Sequence[str], labelling: Labelling) -> Judgement:
    number = {label: i for i, label in enumerate(labelling.labels)}
    gold = [
        1.0 if isinstance(label, PartialLabel) else row[number[label]] if label in number else 0.0
        for row, label in zip(marginals, labels, strict=True)
    ]
    best = marginals.argmax(axis=1)
    spans = {Span(labelling.labels[i], t, t + 1): float(marginals[t, i]) for t, i in enumerate(best)}
    return Judgement(np.array(gold), spans, {})


def _averaged(judgements: list[Judgement]) -> Judgement:
    share = 1 / len(judgements)
    spans: dict[Span, float] = {}
    nothing: dict[tuple[int, int], float] = {}
    for judgement in judgements:
        for span, probability in judgement.spans.items():
            spans[span] = spans.get(span, 0.0) + share * probability
        for place, probability in judgement.nothing.items():
            nothing[place] = nothing.get(place, 0.0) + share * probability
    return Judgement(np.mean([judgement.gold for judgement in judgements], axis=0), spans, nothing)


# ------------------------------------------------------------------------------------------------ stretches


def _stretches(split: Split, sentence: int, judgement: Judgement) -> Iterator[Suspicion]:
    """Where the data and the models differ: entities of either that overlap one another are judged together."""
    gold = split.spans[sentence] if split.scheme != "none" else _token_spans(split.labels[sentence])
    others = [span for span, p in judgement.spans.items() if p >= LOWEST and span not in gold]
    for start, end, group in _overlapping([*gold, *others]):
        labels = split.labels[sentence][start:end]
        if any(isinstance(label, PartialLabel) for label in labels):
            continue
        here, alternatives = [span for span in group if span in gold], [span for span in group if span not in gold]
        if alternatives or judgement.gold[start:end].min() < 0.5:
            yield _suspicion(sentence, start, end, here, alternatives, judgement)


def _token_spans(labels: Sequence[str]) -> list[Span]:
    return [Span(label, t, t + 1) for t, label in enumerate(labels)]


def _overlapping(spans: list[Span]) -> Iterator[tuple[int, int, list[Span]]]:
    """Groups of spans of which each overlaps another one: where the group starts, where it ends, its spans."""
    group: list[Span] = []
    end = -1
    for span in sorted(spans, key=lambda span: (span.start, span.end, span.label)):
        if group and span.start >= end:
            yield group[0].start, end, group
            group = []
        group.append(span)
        end = max(end, span.end) if len(group) > 1 else span.end
    if group:
        yield group[0].start, end, group


def _suspicion(
    sentence: int, start: int, end: int, gold: list[Span], others: list[Span], judgement: Judgement
) -> Suspicion:
    probability = judgement.spans
    best = max(others, key=lambda span: (probability[span], span), default=None)
    of_best = 0.0 if best is None else probability[best]
    nothing = min((judgement.nothing.get((span.start, span.end), 0.0) for span in gold or others), default=0.0)
    of_gold = min((probability.get(span, 0.0) for span in gold), default=nothing)
    suggestion: tuple[Span, ...] = ()
    of_suggestion = nothing
    if best is not None and (of_best >= nothing or not gold):
        suggestion, of_suggestion = _compatible(best, others, probability), of_best
    marginal = float(judgement.gold[start:end].min())
    score = -np.log(max(marginal, 1e-6))
    score += SPAN_WEIGHT * (-np.log(max(of_gold, _FLOOR)) - np.log(max(1 - of_best, _FLOOR)))
    return Suspicion(sentence, start, end, tuple(gold), suggestion, of_gold, of_suggestion, float(score))


def _compatible(best: Span, others: list[Span], probability: dict[Span, float]) -> tuple[Span, ...]:
    """The most probable entity of a stretch, with what else is more probable than not beside it."""
    chosen = [best]
    for span in sorted(others, key=lambda span: -probability[span]):
        if probability[span] > 0.5 and all(span.end <= one.start or one.end <= span.start for one in chosen):
            chosen.append(span)
    return tuple(sorted(chosen, key=lambda span: span.start))


def _mention_odds(split: Split, found: list[Suspicion]) -> list[float]:
    """How much more often the same words are labelled otherwise, as log-odds from 0; this place is not counted."""
    if split.scheme == "none":
        return [0.0] * len(found)
    asked = [[*one.gold] or [*one.suggestion] for one in found]
    places = occurrences(
        [split], {split.form(one.sentence, span) for one, spans in zip(found, asked, strict=True) for span in spans}
    )
    odds = []
    for one, spans in zip(found, asked, strict=True):
        worst = 0.0
        for span in spans:
            labels = [place.label for place in places[split.form(one.sentence, span)]]
            label = span.label if one.gold else ""  # what the data say here
            same = labels.count(label) - 1
            other = len(labels) - 1 - same
            if len(labels) > 1:
                worst = max(worst, float(np.log((other + 0.3) / (max(same, 0) + 0.3))))
        odds.append(worst)
    return odds
