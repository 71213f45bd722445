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
from typing import final

import numpy as np

from postil.arrays import Array
from postil.errors import DataError
from postil.features.inputs import Token
from postil.metrics.counts import check_same_shape
from postil.models.answers.decoding import Decoding
from postil.models.answers.distribution import calibrated_lattice
from postil.models.answers.labelling import Labelling
from postil.models.answers.posteriors import Posteriors
from postil.objectives.crf import Posterior, path_scores
from postil.objectives.lattice import Lattice
from postil.text.labels.partial import with_marks

PRIOR = 4.0  # how strongly a and c are held at 1 and 0: some labels' worth, so that little data change little
STEPS = 30
COLDEST, HOTTEST = 0.1, 10.0  # temperatures
_H = 1e-4  # of differences of slopes


@final
@dataclass(frozen=True, eq=False)
class Labelled:
    """Lattices of the network's own scores, and the gold label numbers (N,) of each, or what is allowed (N, L)."""

    lattices: Sequence[Lattice]
    gold: Sequence[Array]
    labelling: Labelling

    @classmethod
    def of(cls, posteriors: Posteriors, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> "Labelled":
        """Labelled sentences; those with labels that the model does not know are left out."""
        check_same_shape(X, y)
        labelling = posteriors.labelling
        numbers = known_labels(labelling, with_marks(y, X, known=labelling.data_labels()))
        known = [(tokens, labels) for tokens, labels in zip(X, numbers, strict=True) if labels is not None]
        lattices, gold = [], []
        for which, lattice in posteriors.network_lattices([tokens for tokens, _ in known]):
            lattices.append(lattice)
            gold.append(_joined([known[i][1] for i in which], len(labelling.labels)))
        return cls(lattices, gold, labelling)

    def value(self, at: Array) -> float:
        """The negative log-likelihood at (a, c), held to (1, 0) by the prior."""
        total = PRIOR * float(((at - _ORIGIN) ** 2).sum()) / 2
        for lattice, gold in zip(self.lattices, self.gold, strict=True):
            scaled = calibrated_lattice(lattice, self.labelling, _decoding(at))
            of_gold = path_scores(scaled, gold) if gold.ndim == 1 else _within(scaled, gold).log_partition
            total += float(Posterior.of(scaled).log_partition.sum() - of_gold.sum())
        return total

    def slope(self, at: Array) -> Array:
        """(2,) its derivatives by a and c."""
        total: Array = PRIOR * (at - _ORIGIN)
        for lattice, gold in zip(self.lattices, self.gold, strict=True):
            scaled = calibrated_lattice(lattice, self.labelling, _decoding(at))
            total += self._expected(lattice, Posterior.of(scaled))
            if gold.ndim == 2:
                total -= self._expected(lattice, _within(scaled, gold))
            else:
                outside = self.labelling.outside
                named = 0 if outside is None else (gold != outside).sum()
                total -= np.array([path_scores(lattice, gold).sum(), named])
        return total

    def _expected(self, lattice: Lattice, posterior: Posterior) -> Array:
        """(2,) Σ E[s] of the network's own scores, and Σ E[n], 0 where the labels have no O."""
        marginals, outside = posterior.marginals(), self.labelling.outside
        named = 0.0 if outside is None else float(len(marginals) - marginals[:, outside].sum())
        return np.array([_expected_score(lattice, posterior, marginals), named])

    def curvature(self, at: Array) -> Array:
        """(2, 2) by central differences of the slope, made symmetric."""
        columns = [(self.slope(at + step) - self.slope(at - step)) / (2 * _H) for step in _H * np.eye(2)]
        table = np.stack(columns)
        return np.asarray((table + table.T) / 2)


_ORIGIN = np.array([1.0, 0.0])


def calibrated(decoding: Decoding, data: Labelled) -> Decoding:
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


def known_labels(labelling: Labelling, y: Sequence[Sequence[str]]) -> list[Array | None]:
    """Label numbers (T,) of each sentence, or what is allowed (T, L); None where the model does not know a label."""
    known: list[Array | None] = []
    for labels in y:
        try:
            known.append(labelling.numbers([labels])[0] if len(labels) else None)
        except DataError:
            known.append(None)
    return known


def _joined(gold: Sequence[Array], L: int) -> Array:
    """The labels of a block: (N,), or (N, L) where some sentences leave several open."""
    if all(numbers.ndim == 1 for numbers in gold):
        return np.concatenate(gold)
    single = np.eye(L, dtype=bool)
    return np.concatenate([numbers if numbers.ndim == 2 else single[numbers] for numbers in gold])


def _within(lattice: Lattice, allowed: Array) -> Posterior:
    """The posterior of the labellings that (N, L) allows."""
    return Posterior.of(replace(lattice, unary=np.where(allowed, lattice.unary, -np.inf)))


def _decoding(at: Array) -> Decoding:
    return Decoding(temperature=float(1 / at[0]), shift=float(at[1]))


def _expected_score(lattice: Lattice, posterior: Posterior, marginals: Array) -> float:
    """Σ_b E[s(y)] of the network's own scores."""
    chain = lattice.chain
    return sum(
        float((np.where(weights > 0, scores, 0.0) * weights).sum())
        for scores, weights in (
            (lattice.unary, marginals),
            (chain.transitions, posterior.transition_counts()),
            (chain.start, marginals[lattice.first_tokens].sum(axis=0)),
            (chain.end, marginals[lattice.last_tokens].sum(axis=0)),
        )
    )
