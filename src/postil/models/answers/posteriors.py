"""From sentences to the posterior over their label sequences, and from that to the labels that are answered.

sentences -> scores of the network -> lattice -> calibrated lattice -> Distribution -> label numbers
                                                 temperature, shift                    bias, thresholds
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.features.inputs import Token
from postil.models.answers.constraints import Constraints, check_constraints, constrained
from postil.models.answers.decoding import Decoding, lowest_probabilities
from postil.models.answers.distribution import Distribution, FoundSpan, calibrated_lattice
from postil.models.answers.labelling import Labelling
from postil.models.parts import Parts
from postil.models.scoring.blocks import blocks, scored
from postil.objectives.lattice import Lattice
from postil.threads import one_blas_thread


@final
class Posteriors:
    """What a fitted tagger's answers are read from. ``decoding`` takes the place of the model's own."""

    def __init__(self, parts: Parts[Labelling, Any], decoding: Decoding | None = None) -> None:
        self.labelling, self.decoding = parts.labelling, decoding or parts.decoding
        self._parts = parts

    # -------------------------------------------------------------------------------------------- distributions

    def of(
        self, X: Sequence[Sequence[Token]], constraints: Sequence[Constraints | None] | None = None
    ) -> Iterator[Distribution]:
        """The posterior of the sentences, in blocks; given the constraints, one or None per sentence."""
        if constraints is not None:
            check_constraints(constraints, [len(tokens) for tokens in X])
            constraints = list(constraints)  # of a pandas Series, the positions count
        for which, lattice in self.lattices(X):
            posterior = Distribution(which=which, lattice=lattice, labelling=self.labelling)
            if constraints is None or not any(constraints[i] for i in which):
                yield posterior
            else:
                yield from constrained(posterior, constraints, valid_only=self._parts.config.constrained)

    def of_one(self, tokens: Sequence[Token], constraints: Constraints | None = None) -> Distribution:
        """The posterior of one sentence."""
        return next(self.of([tokens], [constraints]))

    def lattices(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Lattice]]:
        """Blocks of sentences of similar length: their places in X, and all their label sequences, calibrated."""
        for which, lattice in self.network_lattices(X):
            yield which, calibrated_lattice(lattice, self.labelling, self.decoding)

    def network_lattices(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], Lattice]]:
        """The same as the network scores them, not calibrated."""
        scorer = self._parts.scorer()
        assert scorer.chain is not None, "the network of a tagger"
        for which, scores, offsets in scored(scorer, X):
            yield which, Lattice.over(scores, offsets, scorer.chain)

    # -------------------------------------------------------------------------------------------- labels

    def labels(self, posterior: Distribution, threshold: float | Mapping[str, float] | None = None) -> Array:
        """The label numbers (N,) that are answered.

        The probabilities of entities cost more than the labels, so they are computed only where a threshold asks.
        """
        if threshold is None and not self.decoding.thresholds:
            return posterior.best(self.decoding.bias)
        return self.labels_and_spans(posterior, threshold)[0]

    def labels_and_spans(
        self, posterior: Distribution, threshold: float | Mapping[str, float] | None = None
    ) -> tuple[Array, list[FoundSpan]]:
        """Label numbers (N,) without improbable entities; and the entities that were kept.

        What constraints do not allow to be O is kept, however improbable.
        """
        lowest = lowest_probabilities(self.decoding.thresholds if threshold is None else threshold, self.labelling)
        numbers = posterior.best(self.decoding.bias)
        kept = []
        for entity in posterior.spans_of(numbers):
            if entity.probability < lowest.get(entity.span.label, 0.0) and posterior.may_be_outside(entity):
                first = posterior.lattice.offsets[entity.row]
                numbers[first + entity.span.start : first + entity.span.end] = self.labelling.outside
            else:
                kept.append(entity)
        return numbers, kept

    # -------------------------------------------------------------------------------------------- words as bytes

    @property
    def takes_cells(self) -> bool:
        """Whether words need not be strings: labels depend on nothing else and are always valid sequences."""
        return self._parts.scorer().takes_cells and bool(self._parts.config.constrained)

    def labels_of_cells(self, text: bytes, cells: Array, offsets: Array) -> Array:
        """Labels of sentences (B + 1,) whose words stand in cells (N, 2) of a text in UTF-8: (N,) places in the
        labelling's ``spellings``. Only if ``takes_cells``."""
        scorer = self._parts.scorer()
        assert scorer.chain is not None, "the network of a tagger"
        rows, ids = scorer.look_up_cells(text, cells)
        lengths, answers = np.diff(offsets), np.empty(len(cells), np.int64)
        with one_blas_thread():
            for which in blocks(lengths.tolist()):
                block = offsets_from_lengths(lengths[which])
                tokens = np.repeat(offsets[which] - block[:-1], lengths[which]) + np.arange(block[-1])
                lattice = Lattice.over(scorer.scores_of_words(rows, ids[tokens], block), block, scorer.chain)
                calibrated = calibrated_lattice(lattice, self.labelling, self.decoding)
                numbers = self.labels(Distribution(which=which, lattice=calibrated, labelling=self.labelling))
                answers[tokens] = self.labelling.places_of(numbers, block)
        return answers
