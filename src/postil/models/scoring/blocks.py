"""Lists of tokens on their way to a scorer: checked, and in blocks of similar length."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.errors import DataError
from postil.features.inputs import Token
from postil.models.inputs import checked_sentences
from postil.models.scoring.pieces import warn_of_long_sentences
from postil.text.lines import shortened
from postil.threads import one_blas_thread

Scores = TypeVar("Scores", covariant=True)
AnyScores = TypeVar("AnyScores")


class Scorer(Protocol[Scores]):
    """A FastScorer, or a TaskScorer, which returns the scores (N, L) of each task."""

    network: Any

    def scores(self, sentences: Sequence[Sequence[Token]]) -> tuple[Scores, Array]: ...
    def look_up_cells(self, text: bytes, cells: Array) -> tuple[Array, Array]: ...
    def scores_of_words(self, rows: Array, ids: Array, offsets: Array) -> Scores: ...


TOKENS_PER_BLOCK = 4096  # scored at once: large enough for matrix products, small enough for the cache


def check_sentences(X: Sequence[Sequence[Token]]) -> None:
    """Refuse a text instead of its tokens: the commonest mistake, and its characters would be tagged."""
    for i, tokens in enumerate(X):
        if isinstance(tokens, str):
            raise DataError("a sentence", expected="a list of tokens", got=shortened(tokens), where=f"sentence {i}")


def scored(scorer: Scorer[AnyScores], X: Sequence[Sequence[Token]]) -> Iterator[tuple[list[int], AnyScores, Array]]:
    """Blocks of sentences of similar length: their places in X, the scores (N, L) of their tokens, their offsets."""
    check_sentences(X)
    lengths = [len(tokens) for tokens in X]
    warn_of_long_sentences(scorer.network.config, lengths)
    with one_blas_thread():
        for which in blocks(lengths):
            try:
                scores, offsets = scorer.scores([X[i] for i in which])
            except (TypeError, AttributeError, LookupError):
                checked_sentences(X)  # says which token is none; what else went wrong is a defect
                raise
            yield which, scores, offsets


def scored_cells(
    scorer: Scorer[AnyScores], text: bytes, cells: Array, offsets: Array
) -> Iterator[tuple[list[int], Array | slice, AnyScores, Array]]:
    """The same for words that stand in cells (N, 2) of a text in UTF-8, in sentences (B + 1,): their places, those of
    their tokens (n,), scores (n, L) and offsets. The blocks, and so the scores, are those of ``scored``."""
    rows, ids = scorer.look_up_cells(text, cells)
    if len(offsets) == 2:  # one sentence, as a server gets it: nothing to sort
        warn_of_long_sentences(scorer.network.config, (len(cells),))
        with one_blas_thread():
            yield [0], slice(0, len(cells)), scorer.scores_of_words(rows, ids, offsets), offsets
        return
    lengths = np.diff(offsets)
    warn_of_long_sentences(scorer.network.config, lengths.tolist())
    with one_blas_thread():
        for which in blocks(lengths.tolist()):
            block = offsets_from_lengths(lengths[which])
            tokens = np.repeat(offsets[which] - block[:-1], lengths[which]) + np.arange(block[-1])
            yield which, tokens, scorer.scores_of_words(rows, ids[tokens], block), block


def blocks(lengths: Sequence[int], size: int = TOKENS_PER_BLOCK) -> Iterator[list[int]]:
    """Places of sentences, by length, in blocks of at most ``size`` tokens; a longer sentence is a block of its own."""
    block: list[int] = []
    tokens = 0
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if block and tokens + lengths[i] > size:
            yield block
            block, tokens = [], 0
        block.append(i)
        tokens += lengths[i]
    if block:
        yield block
