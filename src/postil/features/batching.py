"""Batches: which sentences share a step of training."""

from collections.abc import Sequence

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError

# Lengths are blurred by up to this share before sorting, so that a sentence meets others from epoch to epoch.
_BLUR = 0.1


def batches_of_similar_length(
    lengths: Sequence[int] | Array, size: int, rng: "np.random.Generator", *, unit: str = "sentences"
) -> list[Array]:
    """Divide sentences (B,) into batches of similar length: a list of index arrays, in random order, each index once.

    A batch holds at most ``size`` sentences, or with ``unit="tokens"`` at most ``size`` tokens; a longer sentence forms
    a batch of its own. The result depends only on the state of ``rng``.
    """
    if unit not in ("sentences", "tokens"):
        raise ConfigurationError("unit of the size of batches", expected="'sentences' or 'tokens'", got=repr(unit))
    if size < 1:
        raise ConfigurationError("size of batches", expected="1 or more", got=size)
    lengths = np.asarray(lengths, np.int64)
    order = np.argsort(lengths * (1 + _BLUR * rng.random(len(lengths))), kind="stable")
    weights = lengths[order] if unit == "tokens" else np.ones(len(order), np.int64)
    batches = np.split(order, _cuts(weights, size))
    return [batches[i] for i in rng.permutation(len(batches))] if len(order) else []


def _cuts(weights: Array, size: int) -> list[int]:
    """Where to cut so that each part weighs at most ``size`` or is one item: as few cuts as possible, in order."""
    ends = np.cumsum(weights)
    cuts, start, before = [], 0, 0
    while start < len(weights):
        start = max(start + 1, int(np.searchsorted(ends, before + size, side="right")))
        before = int(ends[start - 1])
        cuts.append(start)
    return cuts[:-1]
