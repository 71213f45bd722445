"""How good a tagger is on text without labels: expected scores, how far they can be trusted, and what drifted.

If the probabilities are calibrated, the entities that are answered are right as often as they say, and the lattice
expects as many entities as there are. With p_j the probability of an answer, M answers and G expected entities,

    precision = Σ p_j / M,    recall = Σ p_j / G,    F1 = 2 Σ p_j / (M + G).

The interval has two parts. Given the probabilities, the number of right answers still varies, as Σ p_j (1 - p_j), and
so does the number of missed ones, as a Poisson variable. And the probabilities may be off: temperature and shift were
fitted to other data. How far off they are elsewhere was measured on corpora (docs/how-to/expected.md): the scores are
computed again with both moved by that much, in each direction. If a text is unlike dev, the mean of these errors is
also corrected. No figure without labels can see an error that the model makes with confidence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, sqrt
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.errors import CalibrationWarning, DataError, warn_caller
from postil.features.inputs import Sentences
from postil.metrics.counts import RATIOS, Counts
from postil.metrics.tables import Table, text
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.distribution import Decoding, LabelPosterior, calibrated_lattice
from postil.models.decoding.posteriors import Decoded, Posteriors
from postil.models.decoding.promise import UNKNOWN, ClassShare, Drift, Profile, drifted, profile_from_json
from postil.models.decoding.redaction import unknown_words
from postil.models.inputs import listed_sentences
from postil.models.tagger import Tagger

BINS = 10
DOUBT = "mean doubt of answers"
LEVEL, Z = 0.9, 1.645
SIGNIFICANT = 4.0  # standard errors
LEAST_WORDS = 300  # of a base: nothing differs significantly from a smaller one


Miscalibration = tuple[tuple[float, float], tuple[float, float]]
"""How far a calibration on a text would have been from that on dev: means and standard deviations over corpora, of the
logarithm of the temperature and of the shift."""
ALIKE: Miscalibration = (0.0, 0.1), (0.0, 0.15)  # on text like dev
ELSEWHERE: Miscalibration = (0.35, 0.45), (-0.45, 0.65)  # on any other text: models are more often too sure than not


def _settings(decoding: Decoding, by: Miscalibration) -> list[Decoding]:
    """The decoding itself, then moved by the means, then with one standard deviation more and less of each."""
    (log_T, spread), (shift, other) = by
    steps = [(log_T + a * spread, shift + b * other) for a, b in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))]
    T, c = decoding.temperature, decoding.shift
    return [decoding, *(replace(decoding, temperature=T * exp(step), shift=c + more) for step, more in steps)]


@final
@dataclass(frozen=True, kw_only=True)
class Expected:
    """Expected scores of a tagger on some sentences. Without spans, ``correct`` of ``predicted`` labels are right."""

    has_spans: bool
    sentences: int
    tokens: int
    counts: Counts
    """Of correct answers, answers and entities: expected numbers, which need not be whole."""
    by_class: Mapping[str, Counts]
    low: float
    high: float
    profile: Profile
    drift: Sequence[Drift] | None = None
    """None if there was no base to compare with."""

    @property
    def value(self) -> float:
        """F1, or for labels without spans the accuracy; 0 to 1."""
        return self.counts.f1 if self.has_spans else self.counts.precision

    @property
    def is_alike(self) -> bool:
        """Whether the text looks like the base; False without one."""
        return self.drift is not None and not self.drift

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, scores in percent; without any text."""
        scores = dict(zip(RATIOS, self.counts.percents, strict=True)) if self.has_spans else {}
        labels = {
            label: dict(zip(RATIOS, one.percents, strict=True))
            | {"correct": one.correct, "predicted": one.predicted, "gold": one.gold}
            for label, one in self.by_class.items()
        }
        return {
            "expected": {**(scores or {"accuracy": 100 * self.value}), "low": 100 * self.low, "high": 100 * self.high},
            "level": LEVEL,
            "sentences": self.sentences,
            "tokens": self.tokens,
            "labels": labels if self.has_spans else {},
            "alike": self.is_alike if self.drift is not None else None,
            "drift": None if self.drift is None else [one._asdict() for one in self.drift],
            "profile": {name: list(share) for name, share in self.profile.items()},
        }

    def __str__(self) -> str:
        return "\n".join([self.summary(), *(text(table) for table in self.tables())])

    def summary(self) -> str:
        """The expected score in words."""
        name = "F1" if self.has_spans else "accuracy"
        interval = f"{100 * LEVEL:g} % interval {100 * self.low:.1f} to {100 * self.high:.1f}"
        more = f", precision {100 * self.counts.precision:.1f}, recall {100 * self.counts.recall:.1f}"
        return f"expected {name} {100 * self.value:.1f} ({interval}){more if self.has_spans else ''}"

    def tables(self) -> list[Table]:
        """The scores of each class, and what differs from the base."""
        tables = []
        if self.has_spans:
            rows = [
                (label, *one.percents, round(one.predicted), round(one.gold)) for label, one in self.by_class.items()
            ]
            names = ("class", "precision", "recall", "F1", "answers", "expected")
            tables.append(Table("Expected scores", names, rows))
        if self.drift:
            drifted = [(one.figure, 100 * one.here, 100 * one.base, one.distance) for one in self.drift]
            columns = ("figure", "here %", "base %", "standard errors")
            tables.append(Table("What differs from the base", columns, drifted))
        return tables


def expected(tagger: Tagger, X: Sentences, base: Profile | None = None) -> Expected:
    """Estimate the scores of a tagger on sentences without labels, from its probabilities.

    Parameters
    ----------
    tagger : Tagger
        With calibrated probabilities; otherwise there is a `CalibrationWarning`.
    X : sequence of token lists
    base : mapping, optional
        The ``profile`` of the data on which the tagger was calibrated, from this function. If the sentences look like
        these data, the probabilities are trusted more.

    Returns
    -------
    Expected
        The expected scores with an interval, and the figures that differ from the base.
    """
    X = listed_sentences(X, word_key=tagger._word_key)
    if not any(map(len, X)):
        raise DataError("nothing to expect", expected="at least one sentence", got="none")
    base = None if base is None else profile_from_json(base, "base")
    if base is not None and (words := int(base[UNKNOWN].n) if UNKNOWN in base else 0) < LEAST_WORDS:
        raise DataError("too little to compare with", expected=f"a base of at least {LEAST_WORDS} words", got=words)
    model, posteriors = tagger.model, Posteriors(tagger.model)
    if (model.decoding.temperature, model.decoding.shift) == (1.0, 0.0):
        what = "the model is not calibrated, so its probabilities, and with them this estimate, may be far too high"
        warn_caller(f"{what}: train with dev data of your own labels, or calibrate it", CalibrationWarning)
    alike, rows = _sums(posteriors, X, _settings(model.decoding, ALIKE)[1:])
    profile = _profile(model.codec, rows, unknown_words(model, X))
    drift = None if base is None else drifted(profile, base, SIGNIFICANT)
    drift = drift and sorted(drift, key=lambda one: -abs(one.distance))  # the surest first
    elsewhere = alike if drift == [] else _sums(posteriors, X, _settings(model.decoding, ELSEWHERE))[0][1:]
    central = elsewhere[0] if drift else alike[0]
    names = list(model.codec.classes) if model.codec.has_spans else [""]
    varied = float(sum((row.answers * (1 - row.answers)).sum() for row in rows))
    has_spans = model.codec.has_spans
    intervals = [_interval(has_spans, tables, varied) for tables in (elsewhere, elsewhere if drift else alike)]
    return Expected(
        has_spans=has_spans,
        sentences=len(X),
        tokens=sum(map(len, X)),
        counts=Counts(*central.sum(axis=0).tolist()),
        by_class={name: Counts(*row) for name, row in zip(names, central.tolist(), strict=True)},
        low=min(low for low, _ in intervals),
        high=max(high for _, high in intervals),
        profile=profile,
        drift=drift,
    )


class _Sentence(NamedTuple):
    """Figures of one sentence: tokens, probabilities of its answers, expected entities by class."""

    tokens: int
    answers: Array
    gold: Array


def _sums(posteriors: Posteriors, X: Sentences, decodings: Sequence[Decoding]) -> tuple[Array, list[_Sentence]]:
    """(S, classes, 3) the counts of each class at each decoding, for the answers at the first one."""
    codec, rows = posteriors.codec, [_Sentence(0, np.zeros(0), np.zeros(0))] * len(X)
    begins, classes = codec.begins_and_classes if codec.has_spans else (np.zeros(0), np.zeros(0))
    L = len(codec.classes) if codec.has_spans else 1
    sums = np.zeros((len(decodings), L, 3))
    for which, lattice in posteriors.lattices(X, calibrated=False):
        answered: Decoded | None = None
        for s, decoding in enumerate(decodings):
            scaled = calibrated_lattice(lattice, codec, decoding)
            posterior = LabelPosterior(which=which, lattice=scaled, codec=codec)
            answered = answered or posteriors.answered(posterior)
            if codec.has_spans:
                spans = answered.all_spans()
                right, marginals = posterior.span_probabilities(spans), posterior.marginals()
                gold = np.stack([marginals[:, begins & (classes == k)].sum(axis=1) for k in range(L)], axis=1)
                sums[s, :, 0] += np.bincount(spans[:, 3], weights=right, minlength=L)
                sums[s, :, 1] += np.bincount(spans[:, 3], minlength=L)
                sums[s, :, 2] += gold.sum(axis=0)
                row_of = spans[:, 0]
            else:
                right = posterior.label_probabilities(answered.numbers)
                gold = np.ones((len(right), 1))
                sums[s, 0] += right.sum(), len(right), len(right)
                row_of = np.repeat(np.arange(len(which)), lattice.lengths)
            if s == 0:
                for row, i in enumerate(which):
                    first, end = lattice.offsets[row : row + 2].tolist()
                    rows[i] = _Sentence(end - first, right[row_of == row], gold[first:end].sum(axis=0))
    return sums, rows


def _interval(has_spans: bool, tables: Array, varied: float) -> tuple[float, float]:
    """From (5, classes, 3) counts at the settings of a `Miscalibration`; ``varied``: Σ p (1 - p) of the answers."""
    counts = [Counts(*table.sum(axis=0).tolist()) for table in tables]
    value, *moved = [one.f1 if has_spans else one.precision for one in counts]
    C, M, G = tables[0].sum(axis=0).tolist()
    missed, whole = max(G - C, 0.0), max(M + G, 1e-9)
    chance = (2 * (M + missed) / whole**2) ** 2 * varied + (2 * C / whole**2) ** 2 * missed
    if not has_spans:
        chance = varied / max(M, 1) ** 2
    half = Z * sqrt(((moved[0] - moved[1]) ** 2 + (moved[2] - moved[3]) ** 2) / 4 + chance)
    return max(value - half, 0.0), min(value + half, 1.0)


def _profile(codec: LabelCodec, rows: Sequence[_Sentence], unknown: Array) -> dict[str, ClassShare]:
    tokens, answers = np.array([row.tokens for row in rows]), np.array([len(row.answers) for row in rows])
    profile = {UNKNOWN: ClassShare.of(unknown, tokens)}
    profile[DOUBT] = ClassShare.of(np.array([(1 - row.answers).sum() for row in rows]), answers)
    for k, name in enumerate(codec.classes if codec.has_spans else ()):
        profile[f"expected {name} per word"] = ClassShare.of(np.array([row.gold[k] for row in rows]), tokens)
    bins = [np.minimum((BINS * row.answers).astype(int), BINS - 1) for row in rows]
    for b in range(BINS):
        inside = np.array([(of_row == b).sum() for of_row in bins])
        profile[f"answers with probability {b / BINS:.1f} to {(b + 1) / BINS:.1f}"] = ClassShare.of(inside, answers)
    return profile
