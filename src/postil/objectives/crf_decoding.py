"""Decoding on the lattice of a CRF: the best labelling (A9) and the k best.

Both recursions run over all sentences of a batch at once, in the order of time, in float64 log-scores.
"""

from typing import NamedTuple

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.objectives.crf import Posterior, check_possible
from postil.objectives.lattice import Lattice

# ------------------------------------------------------------------------------------------------ Viterbi


def viterbi(lattice: Lattice) -> Array:
    """The best labelling of every sentence, (N,) (A9). Ties go to the lower label, starting from the last token.

    δ_1(j) = start_j + u_1(j),   δ_t(j) = u_t(j) + max_i (δ_t-1(i) + A_ij):   the best beginning that ends in j.
    No pointers are stored: on the way back, y_t = argmax_i (δ_t(i) + A_i,y_t+1) is computed for the best path only.
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
    source i offers its own beginnings, best first. So the best offer is taken k times, and its source offers the next.
    """
    if not isinstance(k, int | np.integer) or k < 1:
        raise ConfigurationError("number of labellings", expected="a whole number, 1 or more", got=k)
    log_z = Posterior.of(lattice).log_partition
    ranked: list[list[RankedPath]] = []
    chain = lattice.chain
    paths, scores = kernels.ranked_paths(lattice.unary, lattice.offsets, chain.transitions, chain.start, chain.end, k)
    for b, log_total in enumerate(log_z):
        possible = scores[b][scores[b] > -np.inf]
        probabilities = np.exp(np.minimum(possible - log_total, 0))
        columns = paths[lattice.offsets[b] : lattice.offsets[b + 1]].T  # (k, T)
        rows = zip(columns, possible.tolist(), probabilities.tolist(), strict=False)
        ranked.append([RankedPath(*row) for row in rows])
    return ranked
