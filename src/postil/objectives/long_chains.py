"""Very long sentences: exact marginals in blocks, in memory that holds the messages of a few blocks only.

Two parts of a chain know of each other by the messages that pass between them. Cut before token c, and let the left
part's forward message arrive as scores of its own at token c, and the right part's backward message at token c - 1:

    u'_c(j) = u_c(j) + log Σ_i α_c-1(i) E_ij          u'_c-1(i) = u_c-1(i) + log Σ_j E_ij ψ_c(j) β_c(j)

Then the parts are sentences for themselves, with the same marginals as in the whole, and are solved side by side.
Only these border messages are computed one token after the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from postil.arrays import Array
from postil.kernels.forward_backward import SMALLEST
from postil.objectives.crf import Posterior
from postil.objectives.crf_spans import EntityLabels, span_probabilities
from postil.objectives.lattice import Lattice

LONG = 8192  # tokens; shorter sentences are solved whole
BLOCK = 1024  # tokens between two cuts
GROUP = 2**15  # tokens of blocks that are solved at once
# Between two looks at a message it takes two steps. With scores no further apart than this, each of them shrinks it by
# exp(-160) / L at most: what was above SMALLEST does not vanish unseen.
_WIDEST = 80.0
_LOOKED_AT_EVERY = 2
_ROWS = 4096


def marginals(lattice: Lattice) -> Array:
    """(N, L) the probability of every label at every token (C4), of sentences of any length."""
    blocks = cut(lattice)
    if blocks is lattice:
        return Posterior.of(lattice).marginals()
    found = np.empty(lattice.unary.shape)
    for part, tokens, _ in _groups(blocks):
        found[tokens] = Posterior.of(part).marginals()
    return found


def entity_probabilities(lattice: Lattice, spans: Array, kinds: Array, entities: Sequence[EntityLabels]) -> Array:
    """(M,) as `span_probabilities` of rows (sentence, start, end) (M, 3), in sentences of any length."""
    first = lattice.offsets[spans[:, 0]]
    start, end = first + spans[:, 1], first + spans[:, 2]
    blocks = cut(lattice, _inside_windows(start, end, len(lattice.unary)))
    if blocks is lattice:
        return span_probabilities(Posterior.of(lattice), spans, kinds, entities)
    which = np.searchsorted(blocks.offsets, start, side="right") - 1
    moved = np.column_stack([which, start - blocks.offsets[which], end - blocks.offsets[which]])
    found = np.empty(len(spans))
    for part, _, sentences in _groups(blocks):
        own = np.flatnonzero((which >= sentences.start) & (which < sentences.stop))
        if len(own):
            rows = moved[own] - np.array([sentences.start, 0, 0])
            found[own] = span_probabilities(Posterior.of(part), rows, kinds[own], entities)
    return found


def cut(lattice: Lattice, uncuttable: Array | None = None) -> Lattice:
    """The same tokens with long sentences in blocks: the marginals are those of the whole.

    ``uncuttable`` (N,) forbids a cut before some tokens. Gives the lattice itself where there is nothing long, or
    where scores are so far apart that messages could underflow: then the whole is solved, with all care.
    """
    if not (lattice.lengths > LONG).any() or _is_wide(lattice):
        return lattice
    unary = lattice.unary.copy()
    unary[lattice.first_tokens] += lattice.chain.start
    unary[lattice.last_tokens] += lattice.chain.end
    borders = [lattice.offsets]
    for sentence in np.flatnonzero(lattice.lengths > LONG):
        first, end = lattice.offsets[sentence : sentence + 2].tolist()
        cuts = _cuts(first, end, uncuttable)
        arriving = _messages(unary[first:end], lattice.chain.transitions, cuts - first)
        returning = _messages(unary[first:end][::-1], lattice.chain.transitions.T, (end - cuts)[::-1])
        if arriving is None or returning is None:
            return lattice
        unary[cuts] += arriving
        unary[cuts - 1] += returning[::-1]
        borders.append(cuts)
    nothing = np.zeros(lattice.chain.labels)
    chain = replace(lattice.chain, start=nothing, end=nothing)
    return replace(lattice, unary=unary, offsets=np.sort(np.concatenate(borders)), chain=chain)


def _inside_windows(start: Array, end: Array, N: int) -> Array:
    """(N,) tokens that must stay with the token before: those of spans, and of the two beside each."""
    change = np.zeros(N + 2, np.int64)
    np.add.at(change, start, 1)
    np.add.at(change, np.minimum(end + 1, N + 1), -1)
    return np.asarray(np.cumsum(change)[:N] > 0)


def _cuts(first: int, end: int, uncuttable: Array | None) -> Array:
    """Tokens before which to cut: every BLOCK tokens, or as soon as it is allowed."""
    wanted = np.arange(first + BLOCK, end, BLOCK)
    if uncuttable is None:
        return wanted
    free = first + 1 + np.flatnonzero(~uncuttable[first + 1 : end])
    places = np.searchsorted(free, wanted)
    return np.unique(free[places[places < len(free)]])


def _messages(unary: Array, transitions: Array, cuts: Array) -> Array | None:
    """(C, L) log Σ_i α_c-1(i) E_ij at every cut, up to a constant each; None if something may have underflowed."""
    E, found, k = np.exp(transitions - transitions.max()), np.empty((len(cuts), len(transitions))), 0
    at, alpha, t = [*cuts.tolist(), -1], np.zeros(len(transitions)), 0
    for rows in (unary[i : i + _ROWS] for i in range(0, len(unary), _ROWS)):
        for factors in np.exp(rows - rows.max(axis=1, keepdims=True)):
            message = alpha @ E if t else np.ones(len(E))
            if t == at[k]:
                found[k], k = message, k + 1
            alpha = message * factors
            if t % _LOOKED_AT_EVERY == 0:
                total = alpha.sum()
                if not total > 0 or (alpha[alpha > 0] < SMALLEST * total).any():
                    return None
                alpha /= total
            t += 1
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant: impossible
        return np.asarray(np.log(found))


def _is_wide(lattice: Lattice) -> bool:
    """Whether possible scores of one token, of all transitions, of starts or of ends are too far apart."""
    chain, unary = lattice.chain, lattice.unary
    tables = [table.reshape(1, -1) for table in (chain.transitions, chain.start, chain.end)]
    rows = (unary[i : i + _ROWS] for i in range(0, len(unary), _ROWS))
    return any(_width(table) > _WIDEST for table in (*tables, *rows))


def _width(table: Array) -> float:
    """The largest difference between possible scores of one row; infinite where a row has none."""
    lowest = table.min(axis=1, where=table > -np.inf, initial=np.inf)
    return float(np.abs(table.max(axis=1) - lowest).max(initial=0))


def _groups(blocks: Lattice) -> Iterator[tuple[Lattice, slice, slice]]:
    """Blocks in order, so many that they make a good batch: their lattice, their tokens, their numbers."""
    offsets, first = blocks.offsets, 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + GROUP, side="right")) - 1)
        tokens = slice(int(offsets[first]), int(offsets[last]))
        own: Any = offsets[first : last + 1] - offsets[first]
        yield replace(blocks, unary=blocks.unary[tokens], offsets=own), tokens, slice(first, last)
        first = last
