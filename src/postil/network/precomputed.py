"""A linear map of windows taken apart by position, so that most of it is computed once per word.

The first layer of a window network is W [x_t-2; …; x_t+2] + b = Σ_k (W_k x_t+k + b_k): one term per position k, and
each term depends on one word alone. So a word has K rows of H numbers, and a token costs K additions of such rows
(``kernels.sum_windows``) instead of a matrix product with K·D columns. For the other ways see ``window.py``.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.network.linear import Linear
from postil.network.window import Window


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class WindowMap:
    """Z_t = Σ_k (W_k x_t+k + b_k) over K positions around t, with ``padding`` for positions beyond the sentence."""

    W: Array  # (K, H, D)
    b: Array  # (K, H)
    padding: Array  # (K, H) the whole term of a position beyond the sentence

    @classmethod
    def of_window(cls, window: Window, linear: Linear) -> "WindowMap":
        """A linear layer after a window. Its bias is added once, at the middle position."""
        H, K = len(linear.W.value), window.size
        W = linear.W.value.reshape(H, K, -1).transpose(1, 0, 2)
        b = np.zeros((K, H), W.dtype)
        if linear.b is not None:
            b[K // 2] = linear.b.value
        return cls(W=np.ascontiguousarray(W), b=b, padding=W @ window.padding.value + b)

    @classmethod
    def of_maps(cls, maps: list[Linear]) -> "WindowMap":
        """One linear layer per position, nothing beyond the sentence (C2)."""
        W = np.stack([linear.W.value for linear in maps])
        b = np.stack([np.zeros(W.shape[1], W.dtype) if linear.b is None else linear.b.value for linear in maps])
        return cls(W=W, b=b, padding=np.zeros_like(b))

    @property
    def width(self) -> int:
        """K·H, the numbers of one row."""
        return int(self.b.size)

    def part(self, first: int, end: int, *, bias: bool) -> "WindowMap":
        """The terms of the features ``first:end`` alone; the bias and the padding belong to one of the parts."""
        zeros = np.zeros_like(self.b)
        return WindowMap(
            W=np.ascontiguousarray(self.W[:, :, first:end]),
            b=self.b if bias else zeros,
            padding=self.padding if bias else zeros,
        )

    def rows(self, X: Array) -> Array:
        """The terms of U words at all positions: X (U, D) float32 -> (U, K·H).

        The bits of a word's row do not depend on the other words, and so not on which thread meets it first.
        """
        rows = np.empty((len(X), self.width), np.float32)
        return kernels.multiply_rows(X, self._transposed, self.b.reshape(-1), rows)

    @cached_property
    def _transposed(self) -> Array:
        """(D, K·H)."""
        return np.ascontiguousarray(self.W.reshape(self.width, -1).T)
