"""The answers of several tasks: blocks of sentences are scored once, and each head reads its own labels from them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.features.inputs import Token
from postil.models.answers.posteriors import BlockAnswers, CollectedAnswers, Posteriors
from postil.models.parts import Parts
from postil.models.scoring.blocks import scored, scored_cells
from postil.models.scoring.task_scorer import TaskScorer


@final
class TaskPosteriors:
    """What the answers of some tasks of a model are read from. Each task has the answers that its head alone has."""

    def __init__(self, parts: Parts[Any, Any], tasks: Iterable[str]) -> None:
        self.heads = {task: Posteriors(parts.heads[task]) for task in tasks}
        self._parts = parts

    def _scorer(self) -> TaskScorer:
        return self._parts.task_scorer().part(self.heads)

    @property
    def takes_cells(self) -> bool:
        """See ``Posteriors.takes_cells``."""
        return bool(self.heads) and self._scorer().takes_cells and bool(self._parts.config.constrained)

    def labels(self, X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], dict[str, list[list[str]]]]]:
        """Places of sentences and their labels by task, in blocks."""
        numbering = {task: posteriors.numbering() for task, posteriors in self.heads.items()}
        for which, scores, offsets in scored(self._scorer(), X):
            texts = {
                task: self.heads[task].labelling.texts_of_sentences(numbers(scores[task], offsets), offsets)
                for task, numbers in numbering.items()
            }
            yield which, texts

    def answers(
        self, X: Sequence[Sequence[Token]], *, label_probabilities: bool = False
    ) -> Iterator[dict[str, BlockAnswers]]:
        """Labels, entities and all their probabilities by task, in blocks."""
        answering = {task: one.answering(None, label_probabilities) for task, one in self.heads.items()}
        for which, scores, offsets in scored(self._scorer(), X):
            yield {task: answer(which, scores[task], offsets) for task, answer in answering.items()}

    def labels_of_cells(self, text: bytes, cells: Array, offsets: Array) -> dict[str, Array]:
        """Label numbers (N,) by task: see ``Posteriors.labels_of_cells``. Only if ``takes_cells``."""
        numbers = {task: np.empty(len(cells), np.int64) for task in self.heads}
        numbering = {task: posteriors.numbering() for task, posteriors in self.heads.items()}
        for _, tokens, scores, block in scored_cells(self._scorer(), text, cells, offsets):
            for task, of_scores in numbering.items():
                numbers[task][tokens] = of_scores(scores[task], block)
        return numbers

    def answers_of_cells(
        self, text: bytes, cells: Array, offsets: Array, *, label_probabilities: bool = False, only_spans: bool = False
    ) -> dict[str, BlockAnswers]:
        """``answers`` for words that stand in cells (N, 2) of a text in UTF-8. Only if ``takes_cells``.

        With ``only_spans``, tasks without spans have labels alone: their probabilities are 0.
        """
        answering = {
            task: _labels_alone(one.numbering())
            if only_spans and not one.labelling.has_spans
            else one.answering(None, label_probabilities)
            for task, one in self.heads.items()
        }
        collected = {task: CollectedAnswers(offsets, label_probabilities) for task in self.heads}
        for which, tokens, scores, block in scored_cells(self._scorer(), text, cells, offsets):
            for task, answer in answering.items():
                collected[task].add(tokens, answer(which, scores[task], block))
        return {task: of_task.in_order() for task, of_task in collected.items()}


def _labels_alone(
    numbering: Callable[[Array, Array], Array],
) -> Callable[[list[int], Array, Array], BlockAnswers]:
    def answer(which: list[int], scores: Array, offsets: Array) -> BlockAnswers:
        nothing = np.zeros((0, 4), np.int64), np.zeros(0)
        return BlockAnswers(which, offsets, numbering(scores, offsets), np.zeros(len(which)), None, *nothing)

    return answer
