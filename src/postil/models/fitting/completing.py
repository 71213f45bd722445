"""What marks leave open in a sentence, learnt as the posterior of a model that knows it.

A training on marks (``O|B-PER``) sums over what they leave open, so a student that leans to one side leans to it ever
more. Where a fitted tagger knows the open classes, its posterior over the labellings that agree with the marks is a
better target: the student then keeps the probabilities of the teacher. To the teacher, entities of classes that it does
not know are O.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.features.inputs import Token
from postil.models.answers.labelling import Labelling
from postil.models.fitting.teaching import Teacher
from postil.models.parts import Parts
from postil.objectives.lattice import ChainScores, Lattice


@final
class Completion:
    """Lattices of the sentences ``which``, in the labels of the student, as the teacher scores them.

    ``gold`` has what each of these sentences allows: (T, L) boolean, or (T,) label numbers.
    """

    def __init__(
        self,
        teacher: Teacher,
        X: Sequence[Sequence[Token]],
        gold: Sequence[Array],
        which: Sequence[int],
        student: Parts[Any, Any],
    ) -> None:
        L = len(student.labelling.labels)
        seen_as = _seen_as(teacher.labelling, student.labelling.labels)
        self._scores: dict[int, Array] = {}
        chain = None
        for places, lattice in teacher._posteriors.lattices([X[i] for i in which]):
            chain = lattice.chain
            for place, scores in zip(places, np.split(lattice.unary, lattice.offsets[1:-1]), strict=True):
                i = which[place]
                allowed = gold[i] if gold[i].ndim == 2 else np.eye(L, dtype=bool)[gold[i]]
                self._scores[i] = np.where(allowed, scores[:, seen_as], -np.inf).astype(np.float32)
        self._chain = None if chain is None else _under_mask(chain, seen_as, student.network.chain())

    def __contains__(self, sentence: int) -> bool:
        return sentence in self._scores

    def lattice(self, which: Array) -> Lattice:
        """All labellings of some of the sentences that agree with their marks."""
        assert self._chain is not None, "there are sentences"
        scores = [self._scores[i] for i in which.tolist()]
        offsets = offsets_from_lengths([len(of_sentence) for of_sentence in scores])
        return Lattice(unary=np.concatenate(scores).astype(np.float64), offsets=offsets, chain=self._chain)


def _seen_as(teacher: Labelling, labels: Sequence[str]) -> Array:
    """(L,) the teacher's label for each of the student's: O where it does not know the class."""
    number = {label: place for place, label in enumerate(teacher.labels)}
    return np.array([number.get(label, teacher.outside) for label in labels])


def _under_mask(chain: ChainScores, seen_as: Array, student: ChainScores) -> ChainScores:
    """The teacher's scores of transitions; what the student can never answer is impossible."""

    def masked(scores: Array, of_student: Array) -> Array:
        return np.where(np.isfinite(of_student), scores, -np.inf)

    return ChainScores(
        transitions=masked(chain.transitions[np.ix_(seen_as, seen_as)], student.transitions),
        start=masked(chain.start[seen_as], student.start),
        end=masked(chain.end[seen_as], student.end),
    )
