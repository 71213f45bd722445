"""Very long sentences: exact marginals in blocks, in memory that holds the messages of a few blocks only.

Two parts of a chain influence each other only through the messages between them. Cut before token c, add the left
part's forward message to the scores of token c, and the right part's backward message to those of token c - 1:

    u'_c(j) = u_c(j) + log Σ_i α_c-1(i) E_ij          u'_c-1(i) = u_c-1(i) + log Σ_j E_ij ψ_c(j) β_c(j)

Then the parts are sentences for themselves, with the same marginals as in the whole, and are solved side by side.
The border messages come from one sweep in each direction, piece after piece: a piece begins with what the one before it
hands over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from postil.arrays import Array
from postil.kernels.plain_chain import LOGARITHMIC, SCALED
from postil.objectives.crf import ChainScores, Lattice, Messages, Posterior, forward_backward, no_possible_path
from postil.objectives.spans import EntityLabels, span_probabilities

LONG = 8192  # tokens; shorter sentences are solved whole
BLOCK = 1024  # tokens between two cuts
GROUP = 2**15  # tokens of blocks that are solved at once
PIECE = 4096  # tokens that a sweep for border messages takes at once


def marginals(lattice: Lattice) -> Array:
    """(N, L) the probability of every label at every token (C4), of sentences of any length."""
    blocks = cut(lattice)
    if blocks is lattice:
        return Posterior.of(lattice).marginals()
    probabilities = np.empty(lattice.unary.shape)
    for part, tokens, _ in _groups(blocks):
        probabilities[tokens] = Posterior.of(part).marginals()
    return probabilities


def log_partition(lattice: Lattice) -> Array:
    """(B,) log Z of sentences of any length; -inf where nothing is possible."""
    totals = np.zeros(len(lattice.lengths))
    for b, (first, end) in enumerate(pairwise(lattice.offsets.tolist())):
        pieces = _sweep(lattice.unary[first:end], lattice.chain)
        totals[b] = sum(float(piece.chain.log_partition[0]) for _, piece in pieces)
    return totals


def entity_probabilities(lattice: Lattice, spans: Array, kinds: Array, entities: Sequence[EntityLabels]) -> Array:
    """(M,) as `span_probabilities` of rows (sentence, start, end) (M, 3), in sentences of any length."""
    first = lattice.offsets[spans[:, 0]]
    start, end = first + spans[:, 1], first + spans[:, 2]
    N = len(lattice.unary)
    change = np.zeros(N + 2, np.int64)
    np.add.at(change, start, 1)
    np.add.at(change, np.minimum(end + 1, N + 1), -1)
    blocks = cut(lattice, np.cumsum(change)[:N] > 0)  # spans stay together with their two neighbours
    if blocks is lattice:
        return span_probabilities(Posterior.of(lattice), spans, kinds, entities)
    which = np.searchsorted(blocks.offsets, start, side="right") - 1
    moved = np.column_stack([which, start - blocks.offsets[which], end - blocks.offsets[which]])
    probabilities = np.empty(len(spans))
    for part, _, sentences in _groups(blocks):
        inside = np.flatnonzero((which >= sentences.start) & (which < sentences.stop))
        if len(inside):
            rows = moved[inside] - np.array([sentences.start, 0, 0])
            probabilities[inside] = span_probabilities(Posterior.of(part), rows, kinds[inside], entities)
    return probabilities


def cut(lattice: Lattice, uncuttable: Array | None = None) -> Lattice:
    """The same tokens with long sentences in blocks: the marginals are those of the whole.

    ``uncuttable`` (N,) forbids a cut before some tokens. Returns the lattice itself if no sentence is long.
    """
    if not (lattice.lengths > LONG).any():
        return lattice
    unary = lattice.unary.copy()
    unary[lattice.sentences.first] += lattice.chain.start
    unary[lattice.sentences.last] += lattice.chain.end
    nothing, transitions = np.zeros(lattice.chain.labels), lattice.chain.transitions
    onwards = ChainScores(transitions=transitions, start=nothing, end=nothing)
    backwards = replace(onwards, transitions=np.ascontiguousarray(transitions.T))
    borders = [lattice.offsets]
    for sentence in np.flatnonzero(lattice.lengths > LONG):
        first, end = lattice.offsets[sentence : sentence + 2].tolist()
        cuts, rows = np.arange(first + BLOCK, end, BLOCK), unary[first:end]
        if uncuttable is not None:  # as soon as it is allowed
            free = first + 1 + np.flatnonzero(~uncuttable[first + 1 : end])
            places = np.searchsorted(free, cuts)
            cuts = np.unique(free[places[places < len(free)]])
        arriving = _messages(rows, onwards, cuts - first)
        returning = _messages(rows[::-1], backwards, (end - cuts)[::-1])
        if arriving is None or returning is None:
            raise no_possible_path(int(sentence))
        unary[cuts] += arriving
        unary[cuts - 1] += returning[::-1]
        borders.append(cuts)
    return replace(lattice, unary=unary, offsets=np.sort(np.concatenate(borders)), chain=onwards)


def _messages(unary: Array, chain: ChainScores, cuts: Array) -> Array | None:
    """(C, L) log Σ_i α_c-1(i) E_ij at every cut (rising), up to a constant each; None if nothing is possible."""
    messages = np.empty((len(cuts), chain.labels))
    for first, piece in _sweep(unary, chain):
        if not np.isfinite(piece.chain.log_partition[0]):
            return None
        inside = slice(*np.searchsorted(cuts, [first, first + len(piece.chain.prefix)], side="right"))
        messages[inside] = _handed_over(piece, cuts[inside] - 1 - first)
    return messages


def _sweep(unary: Array, chain: ChainScores) -> Iterator[tuple[int, Messages]]:
    """A sentence (T, L) in pieces, each with its first token; ends after one in which nothing is possible.

    A piece starts from the probabilities of the labels before it, given all tokens before it: so log Z of the sentence
    is the sum of that of its pieces.
    """
    for first in range(0, len(unary), PIECE):
        rows = np.ascontiguousarray(unary[first : first + PIECE])
        of_piece = chain if first + PIECE >= len(unary) else replace(chain, end=np.zeros(chain.labels))
        lattice = Lattice(unary=rows, offsets=np.array([0, len(rows)]), chain=of_piece)
        piece = forward_backward(lattice, SCALED)
        if not piece.chain.is_exact.all():
            piece = forward_backward(lattice, LOGARITHMIC)
        yield first, piece
        if not np.isfinite(piece.chain.log_partition[0]):
            return
        chain = replace(chain, start=_handed_over(piece, np.array([len(rows) - 1]))[0])


def _handed_over(piece: Messages, tokens: Array) -> Array:
    """(n, L) log Σ_i p_t(i) E_ij of some tokens t (n,), p_t being α_t with sum 1."""
    algebra, alpha = piece.algebra, piece.chain.prefix[tokens]  # (n, L)
    # (1, n, L): an algebra steps in several directions at once
    shares = algebra.over(alpha, algebra.total(alpha))[None]
    message = np.empty_like(shares)
    algebra.step(shares, piece.chain.transitions[None], message)
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant: impossible
        logs = algebra.log(message[0])
    return np.asarray(logs + piece.lattice.chain.transitions.max())  # which forward-backward takes off


def _groups(blocks: Lattice) -> Iterator[tuple[Lattice, slice, slice]]:
    """Consecutive blocks that fill a batch: their lattice, their tokens, their numbers."""
    offsets, first = blocks.offsets, 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + GROUP, side="right")) - 1)
        tokens = slice(int(offsets[first]), int(offsets[last]))
        moved: Any = offsets[first : last + 1] - offsets[first]
        yield replace(blocks, unary=blocks.unary[tokens], offsets=moved), tokens, slice(first, last)
        first = last
