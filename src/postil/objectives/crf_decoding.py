"""Decoding on the lattice of a CRF: the best labelling (A9) and the k best.

Both recursions run over all sentences of a batch at once, in the order of time, in float64 log-scores.
"""

from typing import NamedTuple

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.kernels.packing import Packing
from postil.objectives.crf import Posterior, check_possible
from postil.objectives.lattice import Lattice

# ------------------------------------------------------------------------------------------------ Viterbi


def viterbi(lattice: Lattice) -> Array:
    """The best labelling of every sentence, (N,) (A9). Of equal paths: the lower label, decided from the last token.

    δ_1(j) = start_j + u_1(j),   δ_t(j) = u_t(j) + max_i (δ_t-1(i) + A_ij):   the best beginning that ends in j.
    No pointers are kept: on the way back, y_t = argmax_i (δ_t(i) + A_i,y_t+1) is asked for the one best path only.
    """
    labels, scores = best_paths(lattice)
    check_possible(scores)
    return labels


def best_paths(lattice: Lattice) -> tuple[Array, Array]:
    """Viterbi's labels (N,) and scores (B,); the labels mean nothing where the score is -inf."""
    chain = lattice.chain
    return kernels.viterbi(lattice.unary, lattice.offsets, chain.transitions, chain.start, chain.end)


# ------------------------------------------------------------------------------------------------ k best


class RankedPath(NamedTuple):
    """One labelling of a sentence."""

    labels: Array  # (T,)
    score: float
    probability: float


def k_best(lattice: Lattice, k: int) -> list[list[RankedPath]]:
    """The k best labellings of every sentence, best first, with their exact probabilities; fewer if there are fewer.

    δ_t(j, r) is the r-th best beginning that ends in j. It is one of δ_t-1(i, ·) extended by A_ij + u_t(j), and each
    source i offers its own beginnings best first: so k times the best offer is taken, and its source offers its next.
    """
    if not isinstance(k, int | np.integer) or k < 1:
        raise ConfigurationError("number of labellings", expected="a whole number, 1 or more", got=k)
    log_z = Posterior.of(lattice).log_partition
    ranked: list[list[RankedPath]] = []
    for part, sentences, _ in lattice.groups():
        paths, scores = _ranked_paths(part, k)
        for b, log_total in enumerate(log_z[sentences]):
            found = scores[b][scores[b] > -np.inf]
            probabilities = np.exp(np.minimum(found - log_total, 0))
            columns = paths[part.offsets[b] : part.offsets[b + 1]].T  # (k, T)
            rows = zip(columns, found.tolist(), probabilities.tolist(), strict=False)
            ranked.append([RankedPath(*row) for row in rows])
    return ranked


def _ranked_paths(lattice: Lattice, k: int) -> tuple[Array, Array]:
    """Labels (N, k) and scores (B, k) of the k best paths; a path that does not exist scores -inf."""
    packing = Packing(lattice.offsets)
    ordered_scores, sources, pointers = _ranked_beginnings(lattice, packing, k)
    paths = np.empty((len(lattice.unary), k), np.int64)
    for (first, end), pointer in zip(reversed(packing.steps), reversed(pointers), strict=True):
        n = end - first
        label, rank = np.divmod(sources[:n], k)  # (n, k)
        paths[packing.forward[first:end]] = label
        sources[:n] = pointer[np.arange(n)[:, None], label, rank]
    scores = np.empty_like(ordered_scores)
    scores[packing.order] = ordered_scores
    return paths, scores


def _ranked_beginnings(lattice: Lattice, packing: Packing, k: int) -> tuple[Array, Array, list[Array]]:
    """Scores (B, k) of the best whole paths, where they come from (B, k), and each step's pointers (n, L, k).

    A pointer is source label × k + rank. The end is reached like a label: by a step into a table with one column.
    """
    chain, alive = lattice.chain, [*(end - first for first, end in packing.steps), 0]
    unary = lattice.unary[packing.forward]  # (N, L)
    scores = np.full((len(packing.order), k), -np.inf)
    scores[alive[0] :, 0] = 0  # a sentence without tokens has one path, the empty one
    sources = np.zeros((len(packing.order), k), np.int64)
    delta, pointers = np.full((0, 0, 0), -np.inf), []
    for (first, end), survivors in zip(packing.steps, alive[1:], strict=True):
        if first == 0:
            delta, pointer = np.full((end, chain.labels, k), -np.inf), np.zeros((end, chain.labels, k), np.int64)
            delta[:, :, 0] = chain.start
        else:
            delta, pointer = _ranked_step(delta[: end - first], chain.transitions)
        delta += unary[first:end, :, None]
        pointers.append(pointer)
        final, source = _ranked_step(delta[survivors:], chain.end[:, None])
        scores[survivors : end - first], sources[survivors : end - first] = final[:, 0], source[:, 0]
    return scores, sources, pointers


def _ranked_step(delta: Array, table: Array) -> tuple[Array, Array]:
    """The k best of δ(i, r) + table (L, J) into each j, with pointers.  delta (n, L, k) -> two (n, J, k)."""
    (n, _, k), J = delta.shape, table.shape[1]
    best, pointers = np.empty((n, J, k)), np.empty((n, J, k), np.int64)
    following = np.pad(delta, ((0, 0), (0, 0), (0, 1)), constant_values=-np.inf)  # after the last rank comes nothing
    offers = delta[:, None, :, 0] + table.T  # (n, J, L) what each source i offers now
    taken = np.zeros(offers.shape, np.int64)  # how many of its beginnings have been taken
    b, j = np.ogrid[:n, :J]
    for r in range(k):
        i = offers.argmax(axis=2)  # (n, J)
        rank = taken[b, j, i]
        best[:, :, r], pointers[:, :, r] = offers[b, j, i], i * k + rank
        taken[b, j, i] += 1
        offers[b, j, i] = following[b, i, rank + 1] + table[i, j]
    return best, pointers
