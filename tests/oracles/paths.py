"""The obvious reference of the CRF: write down every path of every sentence, its score, and add up.

Nothing here knows forward-backward, Viterbi or scaling. Also draws the random small lattices that the tests use.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from postil.objectives import ChainScores, Lattice


@dataclass
class Enumerated:
    """All possible paths of one sentence. Probabilities are exact up to rounding: scores are compared with the best."""

    paths: list[tuple[int, ...]]
    scores: np.ndarray

    @property
    def log_z(self) -> float:
        return float(self.scores.max() + np.log(np.exp(self.scores - self.scores.max()).sum()))

    @property
    def probabilities(self) -> np.ndarray:
        return np.exp(self.scores - self.log_z)

    def share(self, wanted) -> float:
        """The probability of all paths for which ``wanted(path)`` holds."""
        return float(sum(p for path, p in zip(self.paths, self.probabilities, strict=True) if wanted(path)))

    def best(self) -> list[tuple[int, ...]]:
        """All paths, best first; of equal ones the lower label first, the last token deciding first."""
        order = sorted(range(len(self.paths)), key=lambda i: (-self.scores[i], self.paths[i][::-1]))
        return [self.paths[i] for i in order]


def score(lattice: Lattice, sentence: int, path: tuple[int, ...]) -> float:
    chain, first = lattice.chain, lattice.offsets[sentence]
    total = 0.0
    for t, label in enumerate(path):
        total += lattice.unary[first + t, label]
        total += chain.start[label] if t == 0 else chain.transitions[path[t - 1], label]
    return total + (chain.end[path[-1]] if path else 0.0)


def enumerate_paths(lattice: Lattice, sentence: int) -> Enumerated:
    length = int(lattice.offsets[sentence + 1] - lattice.offsets[sentence])
    paths = list(product(range(lattice.chain.labels), repeat=length))
    scores = np.array([score(lattice, sentence, path) for path in paths])
    possible = np.flatnonzero(scores > -np.inf)
    return Enumerated([paths[i] for i in possible], scores[possible])


def enumerate_all(lattice: Lattice) -> list[Enumerated]:
    return [enumerate_paths(lattice, b) for b in range(len(lattice.offsets) - 1)]


def in_sentence(lattice: Lattice, sentence: int) -> slice:
    return slice(int(lattice.offsets[sentence]), int(lattice.offsets[sentence + 1]))


def spread(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(scale=2, size=shape)


def ties(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-1, 2, size=shape).astype(float)


def enormous(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.choice([-1e4, 1e4, -9999.0, 0.0, 1.0], size=shape)


def steep(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """As far apart as scaled probabilities are trusted with."""
    return rng.uniform(-49.9, 49.9, size=shape)


def wide(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(scale=300, size=shape)


SCORES = {"spread": spread, "ties": ties, "steep": steep, "enormous": enormous, "wide": wide}


def random_lattice(seed: int, scores: str = "spread", masked: bool = False, longest: int = 4) -> Lattice:
    """Up to four sentences of 0 to ``longest`` tokens with 1 to 4 labels; every sentence has a possible path."""
    rng = np.random.default_rng([seed, list(SCORES).index(scores), masked])
    draw = SCORES[scores]
    L, lengths = int(rng.integers(1, 5)), rng.integers(0, longest + 1, size=rng.integers(1, 5))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    unary = draw(rng, int(offsets[-1]), L)
    tables = {"transitions": draw(rng, L, L), "start": draw(rng, L), "end": draw(rng, L)}
    while True:
        masks, allowed = (_masks(rng, L), rng.random(unary.shape) < 0.8) if masked else ({}, None)
        lattice = Lattice.over(unary, offsets, ChainScores.under_mask(L, **tables, **masks), allowed=allowed)
        if not masked or all(sentence.paths for sentence in enumerate_all(lattice)):
            return lattice


def _masks(rng: np.random.Generator, L: int) -> dict[str, np.ndarray]:
    return {
        "allowed_transitions": rng.random((L, L)) < 0.7,
        "allowed_start": rng.random(L) < 0.7,
        "allowed_end": rng.random(L) < 0.7,
    }
