"""Random words by their frequency: negatives and corrupt centres, and which frequent words are skipped."""

from typing import final

import numpy as np

from postil.arrays import Array

POWER = 0.75
"""Counts are raised to this power: rare words are drawn more often than they occur."""


@final
class WordSampler:
    """Draws words with probability count^¾ / Σ count^¾, each in constant time (Walker's alias method).

    Slot ``i`` holds word ``i`` with probability ``own[i]``, else word ``other[i]``; all slots are equally likely.
    """

    def __init__(self, counts: Array, power: float = POWER) -> None:
        weights = counts.astype(np.float64) ** power
        self.own, self.other = _alias_table(weights * len(weights) / weights.sum())

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Numbers of words, int32."""
        slots = rng.integers(0, len(self.own), shape, np.int32)
        return np.where(rng.random(shape, np.float32) < self.own[slots], slots, self.other[slots])


def _alias_table(shares: Array) -> tuple[Array, Array]:
    """``shares`` (V,) sum to V. Slots with too little take the rest from one with too much."""
    own, other = np.minimum(shares, 1).astype(np.float32), np.arange(len(shares), dtype=np.int32)
    left = shares.tolist()
    poor = [i for i, share in enumerate(left) if share < 1]
    rich = [i for i, share in enumerate(left) if share >= 1]
    while poor and rich:
        receiver, giver = poor.pop(), rich[-1]
        own[receiver], other[receiver] = left[receiver], giver
        left[giver] -= 1 - left[receiver]
        if left[giver] < 1:
            poor.append(rich.pop())
    own[np.array(poor + rich, np.int64)] = 1  # what is left differs from 1 by rounding
    return own, other


def keeping_probabilities(counts: Array, tokens: int, sample: float) -> Array:
    """(V,) float32: with which probability an occurrence is used, √(t/f) + t/f for a word of frequency f."""
    ratio = sample * tokens / counts
    return np.minimum(np.sqrt(ratio) + ratio, 1).astype(np.float32)
