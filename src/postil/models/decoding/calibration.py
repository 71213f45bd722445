"""Calibrating the probabilities on held-out data: a temperature and a shift of O, by the likelihood of the labellings.

With a = 1 / temperature and c = shift the model is an exponential family,

    p(y) ∝ exp(a s(y) + c n(y)),    n(y) tokens that are not O,

so the negative log-likelihood is convex in (a, c), and its slope is what the model expects less what the data have:
Σ E[s] - s(gold) and Σ E[n] - n(gold). At the minimum the model expects as many tokens of entities as there are. Where
labels are known in part, the data have what the model expects among the labellings that they leave open.

Measured on held-out corpora, why both: a temperature alone makes a model that misses many names unsure of those that it
finds, because the misses need a higher temperature. And why the likelihood of whole labellings, not of the entities
found: it learns from all tokens, so it depends less on which few sentences were held out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import final

import numpy as np

from postil.arrays import Array
from postil.errors import DataError
from postil.features.inputs import Sentences
from postil.metrics import Calibration, calibrate
from postil.metrics.calibration import Reliability
from postil.metrics.counts import check_same_shape
from postil.metrics.evaluation import prepare
from postil.models.decoding.codec import LabelCodec, joined_numbers
from postil.models.decoding.distribution import Decoding, calibrated_lattice
from postil.models.decoding.posteriors import Posteriors
from postil.models.model import FittedModel
from postil.objectives.crf import Lattice, Posterior, path_scores
from postil.text import recognise, with_marks
from postil.text.labels.partial import Labels
from postil.text.labels.schemes import PartialLabel, Span

PRIOR = 4.0  # how strongly a and c are held at 1 and 0: some labels' worth, so that little data change little
STEPS = 30
COLDEST, HOTTEST = 0.1, 10.0  # temperatures
_H = 1e-4  # of differences of slopes


@final
@dataclass(frozen=True, eq=False)
class LabelledLattices:
    """Lattices of the network's own scores, and the gold label numbers (N,) of each, or what is allowed (N, L)."""

    lattices: Sequence[Lattice]
    gold: Sequence[Array]
    codec: LabelCodec

    @classmethod
    def of(cls, posteriors: Posteriors, X: Sentences, y: Labels) -> "LabelledLattices":
        """Labelled sentences; those with labels that the model does not know are left out."""
        check_same_shape(X, y)
        codec = posteriors.codec
        numbers = known_labels(codec, with_marks(y, X, known=codec.answers))
        known = [(tokens, labels) for tokens, labels in zip(X, numbers, strict=True) if labels is not None]
        lattices, gold = [], []
        for which, lattice in posteriors.lattices([tokens for tokens, _ in known], calibrated=False):
            lattices.append(lattice)
            gold.append(joined_numbers([known[i][1] for i in which], len(codec.labels)))
        return cls(lattices, gold, codec)

    def value(self, at: Array) -> float:
        """The negative log-likelihood at (a, c), held to (1, 0) by the prior."""
        total = PRIOR * float(((at - _ORIGIN) ** 2).sum()) / 2
        for lattice, gold in zip(self.lattices, self.gold, strict=True):
            scaled = calibrated_lattice(lattice, self.codec, _decoding(at))
            of_gold = path_scores(scaled, gold) if gold.ndim == 1 else _within(scaled, gold).log_partition
            total += float(Posterior.of(scaled).log_partition.sum() - of_gold.sum())
        return total

    def slope(self, at: Array) -> Array:
        """(2,) its derivatives by a and c."""
        total: Array = PRIOR * (at - _ORIGIN)
        for lattice, gold in zip(self.lattices, self.gold, strict=True):
            scaled = calibrated_lattice(lattice, self.codec, _decoding(at))
            total += self._expected(lattice, Posterior.of(scaled))
            if gold.ndim == 2:
                total -= self._expected(lattice, _within(scaled, gold))
            else:
                outside = self.codec.outside
                named = 0 if outside is None else (gold != outside).sum()
                total -= np.array([path_scores(lattice, gold).sum(), named])
        return total

    def _expected(self, lattice: Lattice, posterior: Posterior) -> Array:
        """(2,) Σ E[s] of the network's own scores, and Σ E[n], 0 where the labels have no O."""
        marginals, outside, steps = posterior.marginals(), self.codec.outside, lattice.chain
        named = 0.0 if outside is None else float(len(marginals) - marginals[:, outside].sum())
        expected = sum(
            float((np.where(weights > 0, scores, 0.0) * weights).sum())
            for scores, weights in (
                (lattice.unary, marginals),
                (steps.transitions, posterior.transition_counts()),
                (steps.start, marginals[lattice.sentences.first].sum(axis=0)),
                (steps.end, marginals[lattice.sentences.last].sum(axis=0)),
            )
        )
        return np.array([expected, named])

    def curvature(self, at: Array) -> Array:
        """(2, 2) by central differences of the slope, made symmetric."""
        columns = [(self.slope(at + step) - self.slope(at - step)) / (2 * _H) for step in _H * np.eye(2)]
        table = np.stack(columns)
        return np.asarray((table + table.T) / 2)


_ORIGIN = np.array([1.0, 0.0])


def calibrated(decoding: Decoding, data: LabelledLattices) -> Decoding:
    """The decoding with the temperature and the shift that fit the data; unchanged if there are none."""
    if not data.gold:
        return decoding
    at, value = _ORIGIN, data.value(_ORIGIN)
    for _ in range(STEPS):  # Newton's method; half the step until it is downhill
        step = np.linalg.solve(data.curvature(at), data.slope(at))
        new, new_value = at, value
        for shorter in 0.5 ** np.arange(20):
            new = at - shorter * step
            new[0] = np.clip(new[0], 1 / HOTTEST, 1 / COLDEST)
            new_value = data.value(new)
            if new_value < value:
                break
        if not value - new_value > 1e-6:
            break
        at, value = new, new_value
    fitted = _decoding(at)
    return replace(decoding, temperature=fitted.temperature, shift=fitted.shift)


def known_labels(codec: LabelCodec, y: Labels) -> list[Array | None]:
    """Label numbers (T,) of each sentence, or what is allowed (T, L); None if the model does not know a label."""
    known: list[Array | None] = []
    for labels in y:
        try:
            known.append(codec.numbers([labels])[0] if len(labels) else None)
        except DataError:
            known.append(None)
    return known


def _within(lattice: Lattice, allowed: Array) -> Posterior:
    """The posterior of the labellings that (N, L) allows."""
    return Posterior.of(replace(lattice, unary=np.where(allowed, lattice.unary, -np.inf)))


def _decoding(at: Array) -> Decoding:
    return Decoding(temperature=float(1 / at[0]), shift=float(at[1]))


# ----------------------------------------------- How well the probabilities of a tagger are calibrated on labelled data


def reliability(model: FittedModel, X: Sentences, y: Labels) -> Reliability:
    """Tables of entity probabilities before and after the calibration of a fitted tagger."""
    decoding = model.decoding
    after = entity_calibration(Posteriors(model), X, y)
    is_same = decoding.uncalibrated == decoding
    return Reliability(
        before=after if is_same else entity_calibration(Posteriors(model, decoding.uncalibrated), X, y),
        after=after,
        temperature=decoding.temperature,
        shift=decoding.shift,
    )


def entity_calibration(posteriors: Posteriors, X: Sentences, y: Labels) -> Calibration:
    """Of the entities that are answered: the probabilities that were stated, and the share that is right.

    If labels spell no spans, of the tokens' labels. What unknown labels leave open is not counted.
    """
    check_same_shape(X, y)
    codec = posteriors.codec
    gold = with_marks(y, X, known=codec.answers)
    decoded = posteriors.decode(X, label_probabilities=not codec.has_spans)
    judged: list[tuple[float, bool]]  # probabilities, and whether the answers are right
    if not codec.has_spans:
        pairs = zip(chain.from_iterable(gold), chain.from_iterable(decoded.texts()), strict=True)
        assert decoded.label_probabilities is not None, "asked for"
        figures = zip(decoded.label_probabilities.tolist(), pairs, strict=True)
        judged = [(p, label == answer) for p, (label, answer) in figures if not isinstance(label, PartialLabel)]
    else:
        assert decoded.spans is not None and decoded.span_probabilities is not None, "asked for"
        rows = zip(decoded.spans.tolist(), decoded.span_probabilities.tolist(), strict=True)
        entities = [(i, Span(codec.classes[kind], start, end), p) for (i, start, end, kind), p in rows]
        if recognise(gold) == "none":  # labels of another kind: nothing is right
            judged = [(p, False) for _, _, p in entities]
        else:
            compared = prepare(gold, decoded.texts(), recognise(gold), codec.scheme)
            decided, right = [list(map(set, side)) for side in (compared.predicted_spans, compared.gold_spans)]
            judged = [(p, span in right[i]) for i, span, p in entities if span in decided[i]]
    return calibrate([p for p, _ in judged], [is_right for _, is_right in judged])
