"""Long documents in pieces: the scores of a token depend on a few neighbours only, so that a piece with that many more
tokens on both sides is scored exactly as the whole is.

    tokens   |------------ a piece -------------|
             reach | tokens of the piece | reach       the scores of the reach are thrown away

The exception is the sentence approach (A12), where a word sees its whole sentence, up to a longest view. It is cut
between two views.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from postil.arrays import Array
from postil.errors import LongSentenceWarning
from postil.models.config import TaggerConfig
from postil.models.networks.encoders import ENCODERS
from postil.network.pooling import views

TOKENS_AT_ONCE = 4096  # the layers' outputs for these stay in the processor's cache, and memory stays flat


class Piece(NamedTuple):
    """Tokens ``first:end`` of a batch; scores are wanted for ``left:right``, counted in the piece; (b + 1,) offsets."""

    first: int
    end: int
    left: int
    right: int
    offsets: Array


def reach(config: TaggerConfig) -> int | None:
    """How many tokens to either side the scores of a token depend on; None: on all of the sentence."""
    of_encoder, neighbours = ENCODERS[config.encoder].reach, config.offsets // 2
    return None if of_encoder is None else of_encoder(config) + neighbours


def pieces(offsets: Array, config: TaggerConfig, size: int) -> Iterator[Piece]:
    """Cut a batch of sentences (B + 1,) into pieces of about ``size`` tokens, in order; one piece scores each token."""
    around = reach(config)
    N = int(offsets[-1])
    if around is None:
        yield from _between_views(offsets, config, size)
        return
    for first in range(0, N, size):
        end = min(first + size, N)
        left, right = max(first - around, 0), min(end + around, N)
        yield Piece(left, right, first - left, end - left, _within(offsets, left, right))


def in_pieces(offsets: Array, config: TaggerConfig, scores: Callable[[Piece], Array]) -> Array:
    """(N, L) assembled from the ``scores`` (n, L) of pieces; a small batch is one piece."""
    if offsets[-1] <= TOKENS_AT_ONCE:
        N = int(offsets[-1])
        return scores(Piece(0, N, 0, N, offsets))
    whole: Array | None = None
    for piece in pieces(offsets, config, TOKENS_AT_ONCE):
        part = scores(piece)
        whole = np.empty((int(offsets[-1]), part.shape[1]), part.dtype) if whole is None else whole
        whole[piece.first + piece.left : piece.first + piece.right] = part[piece.left : piece.right]
    assert whole is not None
    return whole


def _between_views(offsets: Array, config: TaggerConfig, size: int) -> Iterator[Piece]:
    """The neighbours' output maps reach over the borders of views: then there is only the whole."""
    longest = ENCODERS[config.encoder].longest_view
    cut = views(offsets, longest) if config.offsets == 1 and longest is not None else offsets
    first = 0
    while first < len(cut) - 1:
        last = max(first + 1, int(np.searchsorted(cut, cut[first] + size, side="right")) - 1)
        if config.offsets != 1:
            last = len(cut) - 1
        start, end = int(cut[first]), int(cut[last])
        yield Piece(start, end, 0, end - start, cut[first : last + 1] - start)
        first = last


def _within(offsets: Array, first: int, end: int) -> Array:
    """The offsets of the sentences, or parts of them, among the tokens ``first:end``."""
    inside = offsets[(offsets > first) & (offsets < end)]
    return np.concatenate([[first], inside, [end]]) - first


def warn_of_long_sentences(config: TaggerConfig, lengths: Iterable[int]) -> None:
    """Python shows the warning once; the commands say it in their own words."""
    longest = ENCODERS[config.encoder].longest_view
    if longest is not None and any(length > longest for length in lengths):
        what = f"sentences of more than {longest:,} words are split: each word sees only its own piece"
        warnings.warn(what, LongSentenceWarning, stacklevel=3)
