"""The log-odds of a set of paths on the lattice of a CRF, exact, with its gradient.

A statement about a sentence ("tokens 3 to 5 are a PER") is a table of allowed labels, and holds on the set S of paths
that take an allowed label at every token. With Z(S) the sum of exp(score) over these paths, and Z(¬S) over all others,

    log-odds = log p(S) / (1 - p(S)) = log Z(S) - log Z(¬S).

1 - p is never formed, which would leave nothing of a p near 1. Instead ¬S gets a lattice of its own, with three copies
of every label: a path walks on the first copy while it agrees with S, takes the second where it disagrees for the first
time, and the third from then on. Every path outside S is exactly one path there, and no path of S is one.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.graph import Node, Result
from postil.objectives.crf import Posterior
from postil.objectives.lattice import ChainScores, Lattice, checked_mask


def log_odds(lattice: Lattice, allowed: Any) -> Array:
    """(B,) of every sentence, for one statement per sentence.  allowed (N, L) boolean."""
    inside, outside = _solved(lattice, allowed)
    return inside.log_partition - outside.log_partition


def log_odds_and_gradient(lattice: Lattice, allowed: Any) -> tuple[Array, Array]:
    """``log_odds`` (B,), and the derivatives of their sum by the unary scores, (N, L).

    A derivative of log Z is an expected count (C5): here what the paths of S expect minus what the others do,

        ∂ log-odds / ∂ unary[t, j] = p(y_t = j | S) - p(y_t = j | ¬S).
    """
    inside, outside = _solved(lattice, allowed)
    N, L = lattice.unary.shape
    expected_outside = outside.marginals().reshape(N, 3, L).sum(axis=1)
    return inside.log_partition - outside.log_partition, inside.marginals() - expected_outside


def summed_log_odds(scores: Node, chain: ChainScores, allowed: Any) -> Result:
    """A node with the sum of the sentences' log-odds.  scores (N, L), a node that carries offsets."""
    values, dscores = log_odds_and_gradient(Lattice.over(scores.value, scores.offsets, chain), allowed)

    def pullback(dY: Array) -> list[Array]:
        return [(dscores * float(dY)).astype(scores.dtype)]

    return Result(np.asarray(values.sum(), scores.dtype), (scores,), pullback, "log-odds")


def without_transition_scores(lattice: Lattice) -> Lattice:
    """The same scores of words on a chain that only knows what is possible: every possible step scores 0."""
    tables = (lattice.chain.transitions, lattice.chain.start, lattice.chain.end)
    transitions, start, end = (np.where(np.isfinite(table), 0.0, -np.inf) for table in tables)
    return replace(lattice, chain=ChainScores(transitions=transitions, start=start, end=end))


def _solved(lattice: Lattice, allowed: Any) -> tuple[Posterior, Posterior]:
    """The paths of S, and all others."""
    mask = checked_mask(allowed, lattice.unary.shape, where="allowed labels")
    return (
        _posterior(lattice.restricted(mask), "a statement that cannot be true has no odds"),
        _posterior(_others(lattice, mask), "a statement that must be true has no odds"),
    )


def _posterior(part: Lattice, problem: str) -> Posterior:
    try:
        return Posterior.of(part)
    except ConfigurationError as error:  # no path is possible
        expected = "one that some possible labellings agree with and some do not"
        raise ConfigurationError(problem, expected=expected, where=error.where) from None


def _others(lattice: Lattice, allowed: Array) -> Lattice:
    """The paths outside S: labels 0 to L - 1 agree so far, L to 2L - 1 leave S here, 2L to 3L - 1 have left it."""
    chain = lattice.chain
    free = np.concatenate((allowed, ~allowed, np.ones_like(allowed)), axis=1)
    return Lattice(
        unary=np.where(free, np.tile(lattice.unary, 3), -np.inf),
        offsets=lattice.offsets,
        chain=ChainScores(
            transitions=_where([[1, 1, 0], [0, 0, 1], [0, 0, 1]], chain.transitions),
            start=_where([1, 1, 0], chain.start),
            end=_where([0, 1, 1], chain.end),
        ),
    )


def _where(possible: Any, scores: Array) -> Array:
    """The table of scores again for each entry of ``possible``; -inf in place of it where that is 0."""
    copies = np.asarray(possible)
    return np.where(np.kron(copies, np.ones(scores.shape)), np.tile(scores, copies.shape), -np.inf)
