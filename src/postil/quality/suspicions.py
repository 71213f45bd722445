"""Labels that are probably wrong, found by models that have not seen them.

Every sentence is held out once per repetition, so that each of its labels is judged by models trained on other
sentences, and their exact posteriors are averaged. The labels in the data and the models' predictions are compared
stretch by stretch: entities of either that overlap one another are one stretch, described by a handful of numbers.

A model of what makes a stretch suspicious is trained on the data. Errors are made on paper: an entity of a held-out
sentence is removed, its boundary moved, or its class swapped, and the stretch is described anew, at no cost, because
the models have not seen the sentence either way. A logistic regression then tells stretches with such an error from
the original ones, most of which are right. Its log-odds rank the findings. On planted errors this finds far more than
any fixed rule (``benchmarks/doctor.py``): an improbable label means less if all labels are improbable.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self, final

import numpy as np

from postil.arrays import Array
from postil.evaluation import Progress, folds, groups_of, run_all, unfitted
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.posteriors import Posteriors
from postil.models.tagger import Tagger
from postil.quality.checks import Split, known_labels, occurrences
from postil.text import Span
from postil.text.labels.schemes import PartialLabel, labels_from_spans

LOWEST, PROBABLE = 0.02, 0.05
"""Probabilities of a span: below the first a model does not report it, below the second, on average, it is ignored."""
ENOUGH = 30  # stretches of either kind below which nothing is learned about them: their log-odds are used unchanged
MOST_LEARNT = 20_000  # sentences that a model learns from at most: keeps the time of a very large file within bounds
MOST_ALTERED = 20_000  # errors that are made on paper


KINDS = ("removed", "moved", "swapped")  # simulated errors


def alternatives(kind: str, span: Span, gold: Sequence[Span], tokens: int, classes: Sequence[str]) -> list[Span | None]:
    """The spans that an error of this kind may have replaced; None stands for no entity."""
    if kind == "removed":
        return [None]
    if kind == "swapped":
        return [span._replace(label=label) for label in classes if label != span.label]
    taken = {t for other in gold if other != span for t in range(other.start, other.end)}
    moves = (-1, 0), (1, 0), (0, -1), (0, 1)
    return [
        span._replace(start=start, end=end)
        for start, end in ((span.start + first, span.end + last) for first, last in moves)
        if 0 <= start < end <= tokens and not taken.intersection(range(start, end))
    ]


_STEPS = 30
_PENALTY = 1e-3


class Logistic(NamedTuple):
    """log-odds = weights · (x - mean) / scale + bias."""

    mean: Array  # (D,)
    scale: Array  # (D,)
    weights: Array  # (D,)
    bias: float

    @classmethod
    def between(cls, ordinary: Array, others: Array) -> Self:
        """Fitted to tell the rows of ``others`` (M, D) from ``ordinary`` ones (N, D); both count as much in sum."""
        X = np.concatenate([ordinary, others])
        mean, scale = X.mean(axis=0), X.std(axis=0) + 1e-9
        A = np.concatenate([(X - mean) / scale, np.ones((len(X), 1))], axis=1)
        target = np.repeat([0.0, 1.0], [len(ordinary), len(others)])
        share = np.repeat([0.5 / len(ordinary), 0.5 / len(others)], [len(ordinary), len(others)])
        penalty = np.append(np.full(A.shape[1] - 1, _PENALTY), 1e-9)
        weights = np.zeros(A.shape[1])
        for _ in range(_STEPS):
            p = 1 / (1 + np.exp(-np.clip(A @ weights, -30, 30)))
            gradient = A.T @ (share * (p - target)) + penalty * weights
            hessian = (A * (share * p * (1 - p))[:, None]).T @ A + np.diag(penalty)
            step = np.linalg.solve(hessian, gradient)
            weights = weights - step
            if np.abs(step).max() < 1e-8:
                break
        return cls(mean, scale, weights[:-1], float(weights[-1]))

    def log_odds(self, X: Array) -> Array:
        """(N,) of the rows of X (N, D)."""
        return np.asarray((X - self.mean) / self.scale @ self.weights + self.bias)


@final
class Mentions:
    """How often the words of every entity, and of anything else, are labelled as what."""

    def __init__(self, split: Split) -> None:
        forms = {split.form(i, span) for i, spans in enumerate(split.spans) for span in spans}
        found = occurrences([split], forms)
        self._split = split
        self._counts = {form: Counter(place.label for place in places) for form, places in found.items()}

    def odds(self, sentence: int, spans: Sequence[Span], labelled: bool, instead_of: Span | None = None) -> float:
        """How much more often the words of these spans are labelled otherwise elsewhere: log-odds, from 0.

        They are ``labelled`` so here, or are not labelled at all. What really stands here, if that is another entity,
        is not elsewhere.
        """
        worst = 0.0
        for span in spans:
            form = self._split.form(sentence, span)
            counts = self._counts.get(form)
            if counts is None:
                continue
            here = label = span.label if labelled else ""
            if instead_of is not None and self._split.form(sentence, instead_of) == form:
                here = instead_of.label
            elsewhere = sum(counts.values()) - (counts[here] > 0)
            same = counts[label] - (here == label and counts[label] > 0)
            if elsewhere:
                worst = max(worst, float(np.log((elsewhere - same + 0.3) / (same + 0.3))))
        return worst


class Suspicion(NamedTuple):
    """A stretch of a sentence whose labels are doubtful."""

    sentence: int
    start: int
    end: int
    gold: tuple[Span, ...]
    """The entities in the data; empty for "no entity here"."""
    suggestion: tuple[Span, ...] = ()
    """The entities that the models predict."""
    gold_probability: float = 0.0
    """The smallest probability of the gold entities; without any, the probability of no entity."""
    suggestion_probability: float = 0.0
    score: float = 0.0
    """Log-odds of an error, up to a constant: the larger, the more suspicious."""


def judged(
    estimator: Tagger,
    split: Split,
    *,
    number: int = 5,
    repeats: int = 2,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> "Judgements":
    """Judge every sentence with models that were not trained on it."""
    groups, sizes = groups_of(split.documents), [len(tokens) for tokens in split.X]
    parts, tasks = [], []
    for repeat in range(repeats):
        for part in folds(sizes, number, np.random.default_rng(seed + repeat), groups):
            parts.append(part)
            learnt = part.train
            if len(learnt) > MOST_LEARNT:
                learnt = np.sort(np.random.default_rng(seed + repeat).choice(learnt, MOST_LEARNT, replace=False))
            train = [[values[i] for i in learnt] for values in (split.X, split.labels)]
            tasks.append((estimator, *train, [split.X[i] for i in part.held_out], seed + repeat))
    judgements = Judgements(split, repeats)
    for part, answers in zip(parts, run_all(_judge, tasks, threads, progress), strict=True):
        for i, answer in zip(part.held_out, answers[1], strict=True):
            judgements.add(int(i), answers[0], *answer)
    return judgements


def _judge(
    estimator: Tagger, X: list[Any], y: list[Any], held_out: list[Any], seed: int
) -> tuple[list[str], list[tuple[Array, dict[Span, float]]]]:
    """The network's labels; and of every held-out sentence the marginals (T, L) and the probable spans.

    Without a scheme these are the probable labels of single tokens.
    """
    tagger = unfitted(estimator, threads=1, seed=seed).fit(X, y)
    codec = tagger.model.codec
    answers: dict[int, tuple[Array, dict[Span, float]]] = {}
    for posterior in Posteriors(tagger.model).of(held_out):
        marginals, spans = posterior.by_sentence(posterior.marginals()), list(map(dict, posterior.spans_above(LOWEST)))
        for of_sentence, rows in zip(spans, marginals, strict=True) if not codec.has_spans else ():
            for t, i in np.argwhere(rows >= LOWEST).tolist():
                of_sentence[Span(codec.labels[i], t, t + 1)] = float(rows[t, i])
        answers |= zip(posterior.which, zip(marginals, spans, strict=True), strict=True)
    return codec.labels, [answers[i] for i in range(len(held_out))]


class Judgements:
    """The judgements of the models of all folds and repetitions on a split, and the suspicions they lead to.

    Of every sentence the means over repetitions: the marginals (T, L) of all labels, and the probable spans.
    """

    def __init__(self, split: Split, repeats: int) -> None:
        self._split, self._share, self._mentions = split, 1 / repeats, Mentions(split)
        codec = LabelCodec.of(split.labels)
        self._inner, self._number = codec.inner, {label: i for i, label in enumerate(codec.labels)}
        self._outside = codec.outside
        self._marginals = [np.zeros((len(tokens), len(self._number)), np.float32) for tokens in split.X]
        self._spans: list[dict[Span, float]] = [{} for _ in split.X]

    def add(self, sentence: int, labels: list[str], marginals: Array, spans: dict[Span, float]) -> None:
        """Add one model's prediction for a sentence. A model may have seen fewer labels than there are."""
        self._marginals[sentence][:, [self._number[label] for label in labels]] += self._share * marginals
        probable = self._spans[sentence]
        for span, probability in spans.items():
            probable[span] = probable.get(span, 0.0) + self._share * probability

    def marginals(self, sentence: int) -> tuple[Array, list[int]]:
        """(T, L) of a sentence, and the number of each token's label in the data, -1 if the label is unknown."""
        spelt = self._spelt(sentence, self._gold(sentence))
        return self._marginals[sentence], [self._number.get(label, -1) for label in spelt]

    def ranked(self, seed: int = 0) -> list[Suspicion]:
        """All doubtful stretches, the most suspicious first."""
        found = [pair for i in range(len(self._spans)) for pair in self._stretches(i, self._gold(i))]
        if not found:
            return []
        # Log-odds of an error, from what tells the stretches of the data from those with an error on paper.
        ordinary = np.array([description for _, description in found])
        wrong = self._on_paper(np.random.default_rng(seed))
        scores = ordinary[:, 0]  # the most improbable label
        if min(len(wrong), len(ordinary)) >= ENOUGH:
            scores = Logistic.between(ordinary, np.array(wrong)).log_odds(ordinary)
        ranked = [one._replace(score=float(score)) for (one, _), score in zip(found, scores, strict=True)]
        return sorted(ranked, key=lambda one: (-one.score, one.sentence, one.start))

    def _gold(self, sentence: int) -> list[Span]:
        if self._split.scheme != "none":
            return self._split.spans[sentence]
        return [Span(label, t, t + 1) for t, label in enumerate(self._split.labels[sentence])]

    def _stretches(
        self, sentence: int, gold: list[Span], instead_of: Span | None = None
    ) -> Iterator[tuple[Suspicion, list[float]]]:
        """Where ``gold`` and the models differ, with a description.

        ``instead_of``: the entity that an invented error replaces in gold.
        """
        labels = self._split.labels[sentence]
        # (T,) the marginals of the labels that spell these entities; 0 of a class that no model has seen.
        numbers = [self._number.get(label, -1) for label in known_labels(self._spelt(sentence, gold))]
        given = np.array([row[i] if i >= 0 else 0.0 for row, i in zip(self._marginals[sentence], numbers, strict=True)])
        others = [span for span, p in self._spans[sentence].items() if p >= PROBABLE and span not in gold]
        for start, end, group in _overlapping([*gold, *others]):
            if any(isinstance(label, PartialLabel) for label in labels[start:end]):
                continue
            here, alternatives = [span for span in group if span in gold], [span for span in group if span not in gold]
            if alternatives or given[start:end].min() < 0.5:
                suspicion = Suspicion(sentence, start, end, tuple(here))
                yield self._described(suspicion, alternatives, given, instead_of)

    def _spelt(self, sentence: int, gold: list[Span]) -> list[str]:
        """The labels that spell these entities."""
        if self._split.scheme != "none":
            return labels_from_spans(gold, len(self._marginals[sentence]), self._inner)
        spelt = list(self._split.labels[sentence])
        for span in gold:
            spelt[span.start] = span.label
        return spelt

    def _described(
        self, suspicion: Suspicion, others: list[Span], given: Array, instead_of: Span | None
    ) -> tuple[Suspicion, list[float]]:
        """Fill in what the models predict; and the numbers that the regression sees: how improbable the data are here,
        how sure the models are, and whether the same words are labelled otherwise elsewhere."""
        sentence, start, end, gold = suspicion[:4]
        probability, rows = self._spans[sentence], self._marginals[sentence][start:end]
        best = max(others, key=lambda span: (probability[span], span), default=None)
        of_best = 0.0 if best is None else probability[best]
        # How probable it is, at most, that no entity is there.
        nothing = 0.0 if self._outside is None else float(rows[:, self._outside].min())
        suggestion: list[Span] = []
        if best is not None and (of_best >= nothing or not gold):
            # The most probable entity of the stretch, with what else is more probable than not.
            suggestion = [best]
            for span in sorted(others, key=lambda span: -probability[span]):
                apart = all(span.end <= one.start or one.end <= span.start for one in suggestion)
                suggestion += [span] * (apart and probability[span] > 0.5)
        suspicion = suspicion._replace(
            suggestion=tuple(sorted(suggestion, key=lambda span: span.start)),
            gold_probability=min((probability.get(span, 0.0) for span in gold), default=nothing),
            suggestion_probability=of_best if suggestion else nothing,
        )
        rows = rows.astype(float)
        surprise = -np.log(np.maximum(given[start:end], 1e-6))
        top = rows[surprise.argmax()].max()
        of_gold = min((probability.get(span, 0.01) for span in gold), default=nothing)
        entropy = -(rows * np.log(rows + 1e-9)).sum(axis=1)
        same_class = best is not None and any(span.label == best.label for span in gold)
        same_place = best is not None and any(span[1:] == best[1:] for span in gold)
        return suspicion, [
            *(float(surprise.max()), float(surprise.sum()), float(surprise.mean())),
            *(_surprise(of_gold, 0.01), _surprise(1 - of_best)),
            *(_surprise(1 - nothing), _surprise(nothing)),
            *(float(entropy.max()), float(entropy.mean()), float(np.log(top / (1 - top + 1e-3)))),
            self._mentions.odds(sentence, gold or ([best] if best is not None else []), bool(gold), instead_of),
            *(float(np.log(end - start)), *map(float, (bool(gold), len(gold) > 1, same_class, same_place))),
        ]

    def _on_paper(self, rng: np.random.Generator) -> list[list[float]]:
        """The descriptions of stretches with an error that was made on purpose."""
        classes, kinds = sorted(self._split.classes), KINDS if self._split.scheme != "none" else ("swapped",)
        made = [
            (i, gold, span)
            for i in range(len(self._spans))
            for gold in [self._gold(i)]
            for span in gold
            if not any(isinstance(label, PartialLabel) for label in self._split.labels[i])
        ]
        if len(made) > MOST_ALTERED:
            made = [made[i] for i in sorted(rng.choice(len(made), MOST_ALTERED, replace=False))]
        wrong = []
        for i, gold, span in made:
            for kind in kinds:
                possible = alternatives(kind, span, gold, len(self._split.X[i]), classes)
                if not possible:
                    continue
                other = possible[int(rng.integers(len(possible)))]
                others = [one for one in gold if one != span]
                changed = sorted([*others, other] if other else others, key=lambda one: one.start)
                low, high = min(span.start, (other or span).start), max(span.end, (other or span).end)
                stretches = self._stretches(i, changed, span)
                wrong += [description for one, description in stretches if one.start < high and low < one.end]
        return wrong


def _surprise(probability: float, lowest: float = 1e-3) -> float:
    return float(-np.log(max(probability, lowest)))


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
