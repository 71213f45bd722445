"""The sentence approach (A12): every word is tagged by a view of its whole sentence.

For each target word, every word of the sentence gets its distance to the target as a feature; a convolution runs over
that, and the maximum over time gives one vector for the target. A sentence of T words is laid out T times.
"""

from typing import Any, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.graph import RowGradient
from postil.network.initialisers import Initialiser, fan_in_variance, xavier
from postil.network.layer import (
    Layer,
    LayerPullback,
    ParameterGradients,
    Run,
    add_gradients,
    checked_rows,
    needed_offsets,
)
from postil.network.lookup import LookupTable
from postil.network.pooling import max_over_time
from postil.network.window import convolution


@final
class SentenceConvolution(Layer):
    """(N, D) to (N, H): lookup of distances, convolution, max over time, for every word as the target."""

    def __init__(
        self,
        D: int,
        H: int,
        size: int,
        *,
        distance_dim: int = 5,
        longest_distance: int = 30,
        rng: np.random.Generator,
        initialise: Initialiser = xavier,
        dtype: Any = np.float32,
    ) -> None:
        self.longest = longest_distance
        self.distances = LookupTable(
            2 * longest_distance + 1, distance_dim, rng=rng, initialise=fan_in_variance, dtype=dtype
        )
        self.convolution = convolution(D + distance_dim, H, size, rng=rng, initialise=initialise, dtype=dtype)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        offsets = needed_offsets(run, self.name)
        checked_rows(X, self.name)
        words, distances, copies = targets(offsets, self.longest)
        D = X.shape[1]
        P, back_distances = self.distances.forward(distances, run)  # 1
        Z = np.concatenate((X[words], P), axis=1)  # 2
        C, back_convolution = self.convolution.forward(Z, Run(offsets=copies, rng=run.rng))  # 3
        Y, back_max = max_over_time(C, copies)  # 4

        def pullback(dY: Array) -> tuple[Array, ParameterGradients]:
            dZ, found = back_convolution(back_max(dY))  # undoes 4 and 3
            assert dZ is not None
            dX = RowGradient.from_occurrences(words, dZ[:, :D], X.shape).dense()  # undoes 2
            add_gradients(back_distances(dZ[:, D:])[1], out=found)  # undoes 1
            return dX, found

        return Y, pullback


def targets(offsets: Array, longest: int) -> tuple[Array, Array, Array]:
    """Each sentence of T words, once per target: the word at each row (M,), its distance to the target as a row of the
    table of distances (M,), and the offsets (N + 1,) of the N copies, M = Σ T²."""
    lengths = np.diff(offsets)
    sizes = np.repeat(lengths, lengths)  # (N,) the length of each target's sentence
    copies = offsets_from_lengths(sizes)
    within = np.arange(copies[-1]) - np.repeat(copies[:-1], sizes)
    words = within + np.repeat(np.repeat(offsets[:-1], lengths), sizes)
    target = np.repeat(np.arange(offsets[-1]), sizes)
    return words, np.clip(words - target, -longest, longest) + longest, copies
