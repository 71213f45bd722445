"""The lattice of a linear chain: every labelling of every sentence in a batch, and what each of them scores.

A path y through a sentence of T tokens scores

    s(y) = start[y_1] + Σ_t unary[t, y_t] + Σ_t transitions[y_t, y_t+1] + end[y_T]

What is impossible scores -inf, which is probability 0 exactly. Masks, allowed sets and constraints all become -inf in
this file, so no recursion ever asks what is allowed. Callers hand over finite scores and boolean masks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, final

import numpy as np

from postil.arrays import Array, checked_finite, checked_floats, checked_offsets, describe, offsets_from_lengths
from postil.errors import DtypeError, NumericalError, ShapeError
from postil.kernels.packing import Sentences, sentence_groups

# Sums over 100,000 tokens of such scores stay far from the end of float64; a larger one is a mistake upstream.
LARGEST_SCORE = 1e30


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ChainScores:
    """The scores of a path apart from its tokens: float64, -inf where a step is impossible."""

    transitions: Array  # (L, L) from label i (row) to label j (column)
    start: Array  # (L,)
    end: Array  # (L,)

    @classmethod
    def under_mask(
        cls,
        labels: int,
        *,
        transitions: Any = None,
        start: Any = None,
        end: Any = None,
        allowed_transitions: Any = None,
        allowed_start: Any = None,
        allowed_end: Any = None,
    ) -> Self:
        """Scores, -inf outside the boolean masks. Missing scores are 0; a missing mask allows everything.

        A mask without scores is the chain of a softmax model: tokens are independent apart from the mask.
        """
        return cls(
            transitions=_masked("transitions", transitions, allowed_transitions, (labels, labels)),
            start=_masked("start", start, allowed_start, (labels,)),
            end=_masked("end", end, allowed_end, (labels,)),
        )

    @property
    def labels(self) -> int:
        return len(self.start)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Lattice:
    """A ragged batch of sentences on one chain: sentence b owns the tokens ``offsets[b]:offsets[b + 1]``."""

    unary: Array  # (N, L) float64, -inf where a token may not have a label
    offsets: Array  # (B + 1,)
    chain: ChainScores

    @classmethod
    def over(cls, unary: Any, offsets: Any, chain: ChainScores, *, allowed: Any = None, bias: Any = None) -> Self:
        """Validate a batch and build its lattice.

        unary (N, L) finite scores, float32 or float64; offsets (B + 1,); allowed (N, L) boolean: the labels that each
        token may have; bias (L,) is added to the scores of every token, to trade precision for recall.
        """
        scores = checked_scores(unary, (None, chain.labels), where="unary scores")
        if bias is not None:
            scores = scores + checked_scores(bias, (chain.labels,), where="label bias")
        lattice = cls(unary=scores, offsets=checked_offsets(offsets, rows=len(scores)), chain=chain)
        return lattice if allowed is None else lattice.restricted(allowed)

    def restricted(self, allowed: Any) -> Self:
        """Only the paths on which every token has an allowed label.  allowed (N, L) boolean."""
        mask = checked_mask(allowed, self.unary.shape, where="allowed labels")
        return replace(self, unary=np.where(mask, self.unary, -np.inf))

    def selected(self, sentences: Array) -> tuple[Self, Array]:
        """The lattice of some sentences, in the order given, and the rows (n,) of this lattice that it took."""
        offsets, tokens = selected_rows(self.offsets, sentences)
        return replace(self, unary=self.unary[tokens], offsets=offsets), tokens

    @cached_property
    def sentences(self) -> Sentences:
        return Sentences(self.offsets)

    @property
    def lengths(self) -> Array:
        """(B,) tokens in each sentence."""
        return self.sentences.lengths

    @property
    def first_tokens(self) -> Array:
        """The first token of every sentence that has one."""
        return self.sentences.first

    @property
    def last_tokens(self) -> Array:
        """The last token of every sentence that has one."""
        return self.sentences.last

    @cached_property
    def pairs(self) -> Array:
        """(P,) every token that is followed by another one of its sentence."""
        followed = np.ones(len(self.unary), bool)
        followed[self.last_tokens] = False
        return np.flatnonzero(followed)

    def groups(self) -> Iterator[tuple[Self, slice, slice]]:
        """The batch in groups small enough for an (L, L) table per sentence, each with its sentences and its tokens."""
        for sentences, tokens in sentence_groups(self.offsets, self.chain.labels):
            offsets = self.offsets[sentences.start : sentences.stop + 1] - tokens.start
            yield replace(self, unary=self.unary[tokens], offsets=offsets), sentences, tokens

    def sentence_sums(self, values: Array) -> Array:
        """(N,) -> (B,): the sum over each sentence; 0 for one without tokens."""
        return self.sentences.sums(values)


def selected_rows(offsets: Array, which: Array) -> tuple[Array, Array]:
    """Some pieces of a ragged batch: their offsets as a batch of their own, and the rows that they take."""
    lengths = np.diff(offsets)[which]
    selected = offsets_from_lengths(lengths)
    return selected, np.arange(selected[-1]) + np.repeat(offsets[which] - selected[:-1], lengths)


def checked_scores(scores: Any, shape: tuple[int | None, ...], where: str) -> Array:
    """Finite scores of the given shape (None: any size) as float64."""
    array = checked_floats(scores, where=where)
    _check_shape(array, shape, where)
    wide = array.astype(np.float64)
    if not np.vdot(wide, wide) <= LARGEST_SCORE**2:  # one pass; false for NaN as well
        checked_finite(wide, where=where)
        largest = np.abs(wide).max()
        if largest > LARGEST_SCORE:
            limit = f"at most {LARGEST_SCORE:g}"
            raise NumericalError("a score is too large", expected=limit, got=f"{largest:.3g}", where=where)
    return wide


def checked_mask(mask: Any, shape: tuple[int | None, ...], where: str) -> Array:
    """A boolean array of the given shape."""
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise DtypeError("wrong element type", expected="bool", got=describe(array), where=where)
    _check_shape(array, shape, where)
    return array


def _masked(what: str, scores: Any, allowed: Any, shape: tuple[int, ...]) -> Array:
    table = np.zeros(shape) if scores is None else checked_scores(scores, shape, where=f"{what} scores")
    return table if allowed is None else np.where(checked_mask(allowed, shape, where=f"allowed {what}"), table, -np.inf)


def _check_shape(array: Array, shape: tuple[int | None, ...], where: str) -> None:
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        expected = str(shape).replace("None", "N")
        raise ShapeError("wrong shape", expected=expected, got=array.shape, where=where)
