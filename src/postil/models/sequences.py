"""Estimators of whole label sequences: from the network's scores to what the model believes, as its decoding asks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from postil.arrays import Array
from postil.features.batching import batches_of_similar_length
from postil.features.inputs import InputFeatures, Token
from postil.metrics.counts import check_same_shape
from postil.models.answers.calibration import Labelled, calibrated, known_labels
from postil.models.answers.constraints import Constraints, check_constraints, constrained
from postil.models.answers.decoding import Decoding, lowest_probabilities
from postil.models.answers.distribution import Distribution, FoundSpan
from postil.models.answers.labelling import Labelling
from postil.models.config import TaggerConfig
from postil.models.scoring.network import feature_sizes
from postil.models.scoring.tagger_network import TaggerNetwork
from postil.models.sentence_estimator import SentenceEstimator
from postil.objectives.lattice import Lattice


class SequenceEstimator(SentenceEstimator[Labelling, TaggerNetwork]):
    """What the answers of a tagger are read from."""

    # -------------------------------------------------------------------------------------------- network and labels

    def labels_of(self, y: Sequence[Sequence[str]]) -> Labelling:
        return Labelling.of(y)

    @staticmethod
    def labels_from_json(content: Mapping[str, Any]) -> Labelling:
        return Labelling.from_json(content)

    @staticmethod
    def network(
        config: TaggerConfig,
        features: InputFeatures,
        labels: Labelling,
        vectors: Array | None,
        rng: np.random.Generator | None,
    ) -> TaggerNetwork:
        return TaggerNetwork(config, **feature_sizes(config, features), vectors=vectors, mask=labels.mask, rng=rng)

    @staticmethod
    def batches(gold: Sequence[Array], size: int, rng: np.random.Generator) -> list[Array]:
        """Sentences of similar length stand together."""
        return batches_of_similar_length([len(labels) for labels in gold], size, rng)

    @property
    def labelling(self) -> Labelling:
        """The scheme and the classes of the fitted model."""
        return self.fitted_parts().labelling

    @property
    def classes_(self) -> list[str]:
        return self.fitted_parts().labelling.data_labels()

    @property
    def decoding(self) -> Decoding:
        """How answers are read from the scores: temperature, shift, bias, thresholds. May be replaced."""
        return self.fitted_parts().decoding

    @decoding.setter
    def decoding(self, decoding: Decoding) -> None:
        parts = self.fitted_parts()
        lowest_probabilities(decoding.thresholds, parts.labelling)
        parts.decoding = decoding

    # -------------------------------------------------------------------------------------------- calibration

    def settle(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]], *, held_out: bool) -> None:
        """Fit temperature and shift; on the training data any model would seem too unsure."""
        if held_out:
            self.calibrate(X, y)

    def calibrate(self, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> Decoding:
        """Calibrate the probabilities: fit a temperature and a shift to held-out data.

        ``fit`` does this automatically with ``dev``. Sentences with labels that the model does not know are skipped.
        """
        check_same_shape(X, y)
        parts = self.fitted_parts()
        numbers = known_labels(parts.labelling, y)
        known = [i for i, found in enumerate(numbers) if found is not None]
        lattices, gold = [], []
        for which, lattice in self._network_lattices([X[i] for i in known]):
            lattices.append(lattice)
            gold.append(np.concatenate([numbers[known[i]] for i in which]))
        if known:
            parts.decoding = calibrated(parts.decoding, Labelled(lattices, gold, parts.labelling))
        return parts.decoding

    # -------------------------------------------------------------------------------------------- beliefs

    def answered(
        self, believed: Distribution, threshold: float | Mapping[str, float] | None = None
    ) -> tuple[Array, list[FoundSpan]]:
        """Label numbers (N,) without improbable entities; and the entities that were kept.

        What constraints do not allow to be O is kept, however improbable.
        """
        labelling = self.labelling
        lowest = lowest_probabilities(self.decoding.thresholds if threshold is None else threshold, labelling)
        numbers = believed.best(self.decoding.bias)
        kept = []
        for found in believed.spans_of(numbers):
            if found.probability < lowest.get(found.span.label, 0.0) and believed.may_be_outside(found):
                first = believed.lattice.offsets[found.row]
                numbers[first + found.span.start : first + found.span.end] = labelling.outside
            else:
                kept.append(found)
        return numbers, kept

    def _numbers(self, believed: Distribution, threshold: float | Mapping[str, float] | None) -> Array:
        """``answered`` without probabilities of entities where nothing depends on them: they cost more than labels."""
        if threshold is None and not self.decoding.thresholds:
            return believed.best(self.decoding.bias)
        return self.answered(believed, threshold)[0]

    def distributions(
        self, X: Sequence[Sequence[Token]], constraints: Sequence[Constraints | None] | None = None
    ) -> Iterator[Distribution]:
        """What the model believes about the sentences, in blocks; given the constraints, one or None per sentence."""
        labelling, valid_only = self.labelling, self.config.constrained
        if constraints is not None:
            check_constraints(constraints, [len(tokens) for tokens in X])
        for which, lattice in self.lattices(X):
            believed = Distribution(which=which, lattice=lattice, labelling=labelling)
            if constraints is None or not any(constraints[i] for i in which):
                yield believed
            else:
                yield from constrained(believed, constraints, valid_only=valid_only)

    def distributions_of_cells(self, text: bytes, cells: Array, offsets: Array) -> Iterator[tuple[Array, Distribution]]:
        """The same for sentences (B + 1,) whose words stand in cells (N, 2) of a text: which tokens, and beliefs."""
        parts = self.fitted_parts()
        chain = parts.prepared().chain
        assert chain is not None
        for tokens, scores, own in self.scored_cells(text, cells, offsets):
            lattice = parts.decoding.distribution(Lattice.over(scores, own, chain), parts.labelling)
            yield tokens, Distribution(which=[], lattice=lattice, labelling=parts.labelling)

    def lattices(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Lattice]]:
        """Blocks of sentences of similar length: their places in X, and all their label sequences."""
        parts = self.fitted_parts()
        for which, lattice in self._network_lattices(X):
            yield which, parts.decoding.distribution(lattice, parts.labelling)

    def _network_lattices(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Lattice]]:
        """The same as the network scores them, not calibrated."""
        chain = self.fitted_parts().prepared().chain
        assert chain is not None
        for which, scores, offsets in self.scored(X):
            yield which, Lattice.over(scores, offsets, chain)

    def _believed(self, tokens: Sequence[Token], constraints: Constraints | None) -> Distribution:
        return next(iter(self.distributions([tokens], [constraints])))
