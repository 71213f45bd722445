"""The fast path of several tasks: words are looked up and encoded once, and each head maps the same hidden values."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.features.inputs import InputFeatures, Token
from postil.models.scoring.fast import FastScorer, Rows
from postil.models.scoring.pieces import TOKENS_AT_ONCE, Piece, in_pieces
from postil.models.scoring.task_network import TaskNetwork


@final
class TaskScorer:
    """{task: scores (N, L)} of sentences, with the same bits as the FastScorer of each head returns them."""

    def __init__(self, heads: Mapping[str, FastScorer]) -> None:
        self.heads = dict(heads)
        self._first = next(iter(self.heads.values()))
        self.network: Any = self._first.network

    @classmethod
    def of(cls, features: InputFeatures, network: TaskNetwork) -> "TaskScorer":
        tasks = list(network.heads)
        first = FastScorer(features, network.heads[tasks[0]])
        return cls({tasks[0]: first} | {task: first.for_head(network.heads[task]) for task in tasks[1:]})

    def part(self, tasks: Iterable[str]) -> "TaskScorer":
        """The scorer of some of the tasks."""
        return TaskScorer({task: self.heads[task] for task in tasks})

    def is_current(self, features: InputFeatures, network: TaskNetwork) -> bool:
        """Whether every head still is what it was."""
        return self.heads.keys() == network.heads.keys() and all(
            scorer.is_current(features, network.heads[task]) for task, scorer in self.heads.items()
        )

    def scores(self, sentences: Sequence[Sequence[Token]]) -> tuple[dict[str, Array], Array]:
        """The scores of each task, and the offsets (B + 1,)."""
        if self._first.has_hidden:
            rows, offsets = self._first.look_up(sentences)
            return self._scores_of_rows(rows, offsets), offsets
        scores = {task: scorer.scores(sentences) for task, scorer in self.heads.items()}
        offsets = next(iter(scores.values()))[1]
        return {task: of_task for task, (of_task, _) in scores.items()}, offsets

    @property
    def takes_cells(self) -> bool:
        """Whether words need not be strings, and one table of rows serves all heads."""
        return self._first.has_hidden and self._first.takes_cells

    def look_up_cells(self, text: bytes, cells: Array) -> tuple[Array, Array]:
        """See ``FastScorer.look_up_cells``. Only if ``takes_cells``."""
        return self._first.look_up_cells(text, cells)

    def scores_of_words(self, rows: Array, ids: Array, offsets: Array) -> dict[str, Array]:
        """The scores of each task, of sentences whose words have been looked up."""
        return self._scores_of_rows([(rows, ids)], offsets)

    def _scores_of_rows(self, rows: Rows, offsets: Array) -> dict[str, Array]:
        N = int(offsets[-1])
        if N <= TOKENS_AT_ONCE:
            return dict(zip(self.heads, self._maps(rows, Piece(0, N, 0, N, offsets)), strict=True))
        widths: list[int] = []

        def scores(piece: Piece) -> Array:
            maps = self._maps(rows, piece)
            widths[:] = [part.shape[1] for part in maps]
            return np.concatenate(maps, axis=1)

        together = in_pieces(offsets, self.network.config, scores)
        parts = np.split(together, np.cumsum(widths)[:-1], axis=1)
        return {task: np.ascontiguousarray(part) for task, part in zip(self.heads, parts, strict=True)}

    def _maps(self, rows: Rows, piece: Piece) -> list[Array]:
        hidden = self._first.hidden(rows, piece)
        return [scorer.outputs(hidden, piece.offsets) for scorer in self.heads.values()]
