"""A convolution over the characters of words (A4) and the maximum over each word (A5): one vector per word.

A word is to its characters what a sentence is to its words in the sentence approach, so the same functions compute it.
The filters are multiplied with each character of the alphabet once, whatever the batch: the bits of a word's vector do
not depend on the words beside it.
"""

from typing import Any, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.errors import IndexRangeError, ShapeError
from postil.network.initialisers import Initialiser, fan_in_variance, new_parameter, xavier
from postil.network.layer import Layer, LayerPullback, Run
from postil.network.linear import Linear
from postil.network.pooling import max_over_time
from postil.network.shared_windows import linear_of_windows
from postil.network.window import Window


@final
class CharacterConvolution(Layer):
    """The characters of U words, (U, M), to (U, H): tanh of the largest value of each filter over a word.

    An entry is 1 + the id of a character; after the last character of a word there are zeros. A word without
    characters is a row of zeros.
    """

    def __init__(
        self,
        V: int,
        H: int,
        *,
        D: int = 16,
        size: int = 3,
        rng: "np.random.Generator",
        initialise: Initialiser = xavier,
        initialise_table: Initialiser = fan_in_variance,
        dtype: Any = np.float32,
    ) -> None:
        """V characters, each with a vector of D numbers, and H filters of ``size`` characters."""
        self.table = new_parameter("table", (V, D), initialise_table, rng, dtype, fan_in=1, decays=False)
        self.window = Window(D, size, rng=rng, dtype=dtype)
        self.linear = Linear(size * D, H, rng=rng, initialise=initialise, dtype=dtype)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        places, lengths = self._checked(X)
        spelled = np.flatnonzero(lengths)  # words with characters
        offsets = offsets_from_lengths(lengths[spelled])
        table, padding, (W, b) = self.table, self.window.padding, (self.linear.W, self.linear.b)
        assert b is not None
        weights = table.value, padding.value, W.value, b.value
        Z, back_filters = linear_of_windows(*weights, places, offsets, self.window.size)  # 1
        largest, back_max = max_over_time(Z, offsets)  # 2
        Y = np.zeros((len(X), len(W.value)), W.dtype)
        Y[spelled] = np.tanh(largest)  # 3

        def pullback(dY: Array) -> tuple[None, dict[Any, Any]]:
            dlargest = dY[spelled] * (1 - Y[spelled] ** 2)  # undoes 3
            dtable, dpadding, dW, db = back_filters(back_max(dlargest))  # undoes 2 and 1
            return None, {table: dtable, padding: dpadding, W: dW, b: db}

        return Y, pullback

    def _checked(self, X: Array) -> tuple[Array, Array]:
        """The characters of all words one after the other, and the length of each word (U,)."""
        if X.ndim != 2 or X.dtype.kind not in "iu":
            raise ShapeError("characters of words", expected="integers (U, M)", got=X.shape, where=self.name)
        is_there = X > 0
        places = X[is_there].astype(np.int64) - 1
        if len(places) and places.max() >= len(self.table.value):
            raise IndexRangeError(
                "characters of words", expected=f"0 to {len(self.table.value)}", got=int(X.max()), where=self.name
            )
        return places, is_there.sum(axis=1)
