"""The table of encoders: the layers between the features of tokens (N, D) and the output maps.

A row says everything that the rest of the package has to know about an encoder: settings are checked against this
table, long documents are cut by it, explanations ask it which words a network can see. So a new encoder is a function
that builds it, a row in ``ENCODERS``, and a test of what is special about it; the tests of this module check every row
for its width, its reach and its gradient.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.errors import LongSentenceWarning
from postil.graph import Parameter
from postil.network import (
    INITIALISERS,
    Activation,
    Chain,
    CharacterConvolution,
    Dropout,
    Layer,
    LayerNorm,
    Linear,
    LookupTables,
    Residual,
    SentenceConvolution,
    Window,
    WindowAverage,
)
from postil.network.layer import UNUSED, new_parameter, zeros
from postil.network.window import LONGEST_VIEW, views

NAMED_PACE = 0.3
"""Weights of hand-made features learn at this multiple of the rate: quicker ones leave the network nothing to learn."""


@final
class LayerMaker:
    """Builds the layers of a config, all with the same initialiser, generator and float type.

    ``config`` is a TaggerConfig. Without ``rng`` all parameters are zeros, to be replaced by those of a model file.
    """

    def __init__(self, config: Any, rng: "np.random.Generator | None", dtype: Any) -> None:
        self.config, self.rng = config, rng or UNUSED
        self.initialise = INITIALISERS[config.initialiser]
        self.made: dict[str, Any] = {"rng": self.rng, "dtype": dtype}

    def tables(self, sizes: list[tuple[int, int]]) -> LookupTables | None:
        if not sizes:
            return None
        tables = LookupTables(sizes, **self.made)
        for parameter in tables.parameters().values():
            parameter.pace = self.config.word_rate
        return tables

    def characters(self, V: int, H: int) -> CharacterConvolution | None:
        """A convolution over the characters of words, V different ones; None if H is 0."""
        return CharacterConvolution(V, H, initialise=self.initialise, **self.made) if H else None

    def linear(self, D: int, H: int, *, bias: bool = True) -> Linear:
        return Linear(D, H, initialise=self.initialise, bias=bias, **self.made)

    def weights(self, A: int, L: int) -> Parameter:
        """Weights (A, L) of hand-made features, all 0: without evidence a feature says nothing."""
        weights = new_parameter("named", (A, L), zeros, **self.made, decays=False)
        weights.pace = NAMED_PACE
        return weights

    def window(self, D: int, dilation: int = 1) -> Window:
        return Window(D, self.config.window, dilation=dilation, **self.made)

    def norm(self) -> LayerNorm:
        return LayerNorm(self.config.hidden, **self.made)

    def hidden(self, D: int) -> list[Layer]:
        """A linear layer (N, D) to (N, H), its activation and its noise."""
        activation = Activation(self.config.activation)
        return [self.linear(D, self.config.hidden), activation, Dropout(self.config.hidden_dropout or 0.0)]


def _window(make: LayerMaker, D: int) -> Layer:
    """A window of word features, then hidden layers (A12)."""
    config = make.config
    widths = [config.window * D] + [config.hidden] * (config.layers - 1)
    return Chain(make.window(D), *(layer for width in widths for layer in make.hidden(width)))


def _sentence(make: LayerMaker, D: int) -> Layer:
    """Distances, convolution, max over time, hidden layer (A12)."""
    config, given = make.config, {"initialise": make.initialise, **make.made}
    view = SentenceConvolution(D, config.hidden, config.window, distance_dim=config.position_dim, **given)
    return Chain(view, *make.hidden(config.hidden))


def _convolutions(make: LayerMaker, D: int) -> Layer:
    """A first convolution to the hidden width, then residual ones, each after a layer normalisation."""
    H, size = make.config.hidden, make.config.window
    first = [make.window(D), *make.hidden(size * D)]
    others = [
        Residual(Chain(make.norm(), make.window(H, dilation), *make.hidden(size * H)))
        for dilation in dilations(make.config)
    ]
    return Chain(*first, *others, make.norm())


LARGEST_DILATION = 256


def dilations(config: Any) -> list[int]:
    """The dilation of each residual convolution: 1, or in the encoder ``dilated`` 1, 2, 4, …"""
    is_dilated = config.encoder == "dilated"
    return [min(2**i, LARGEST_DILATION) if is_dilated else 1 for i in range(config.layers - 1)]


def _reach_of_convolutions(config: Any) -> int:
    return int(config.window // 2 * (1 + sum(dilations(config))))


@final
@dataclass(frozen=True, kw_only=True)
class Encoder:
    """One row of the table."""

    build: Callable[[LayerMaker, int], Layer]
    """The layers for token features of width D."""
    reach: Callable[[Any], int] | None
    """How many tokens to either side the output of a token depends on; None: the whole sentence."""
    keeps_width: bool = False
    """Whether the output has the width D of the input; otherwise it has the width ``hidden``."""
    longest_view: int | None = None
    """Longer sentences are looked at in pieces of at most this many words, each on its own."""
    is_fused: bool = False
    """Whether the kernel of `fused.py` computes it; a window only with one hidden layer."""
    is_normed: bool = False
    """Whether its last layer is a layer normalisation."""
    second_shard_pays: bool = False
    """Whether large batches are faster on two cores in spite of what it costs to cut them."""


ENCODERS: dict[str, Encoder] = {
    "none": Encoder(build=lambda make, D: Chain(), reach=lambda config: 0, keeps_width=True),
    # the mean of the vectors in a window (E2)
    "average": Encoder(
        build=lambda make, D: WindowAverage(make.config.window),
        reach=lambda config: config.window // 2,
        keeps_width=True,
    ),
    "window": Encoder(build=_window, reach=lambda config: config.window // 2, is_fused=True),
    "sentence": Encoder(build=_sentence, reach=None, longest_view=LONGEST_VIEW, second_shard_pays=True),
    "convolutions": Encoder(build=_convolutions, reach=_reach_of_convolutions, is_fused=True, is_normed=True),
    # the same, and each layer sees twice as far as the one before
    "dilated": Encoder(build=_convolutions, reach=_reach_of_convolutions, is_fused=True, is_normed=True),
}


# ------------------------------------------------------------------------------------------- Long documents in pieces
#
# The scores of a token depend on a few neighbours only, so that a piece with that many more tokens on both sides is
# scored exactly as the whole is.
#
#     tokens   |------------ a piece -------------|
#              reach | tokens of the piece | reach       the scores of the reach are thrown away
#
# The exception is the sentence approach (A12), where a word sees its whole sentence, up to a longest view. It is cut
# between two views.

TOKENS_AT_ONCE = 4096  # the layers' outputs for these stay in the processor's cache, and memory stays flat


class Piece(NamedTuple):
    """Tokens ``first:end`` of a batch; scores are wanted for ``left:right``, counted in the piece; (b + 1,) offsets."""

    first: int
    end: int
    left: int
    right: int
    offsets: Array


def reach(config: Any) -> int | None:
    """How many tokens to either side the scores of a token depend on; None: on all of the sentence."""
    of_encoder = ENCODERS[config.encoder].reach
    return None if of_encoder is None else of_encoder(config) + config.offsets // 2


def pieces(offsets: Array, config: Any, size: int) -> Iterator[Piece]:
    """Cut a batch of sentences (B + 1,) into pieces of about ``size`` tokens, in order; one piece scores each token."""
    around, N = reach(config), int(offsets[-1])
    if around is not None:
        for first in range(0, N, size):
            end = min(first + size, N)
            left, right = max(first - around, 0), min(end + around, N)
            inside = offsets[(offsets > left) & (offsets < right)]
            within = np.concatenate([[left], inside, [right]]) - left
            yield Piece(left, right, first - left, end - left, within)
        return
    longest = ENCODERS[config.encoder].longest_view
    cut = views(offsets, longest) if config.offsets == 1 and longest is not None else offsets
    first = 0
    while first < len(cut) - 1:
        last = max(first + 1, int(np.searchsorted(cut, cut[first] + size, side="right")) - 1)
        if config.offsets != 1:  # the neighbours' output maps reach over the borders of views: there is only the whole
            last = len(cut) - 1
        start, end = int(cut[first]), int(cut[last])
        yield Piece(start, end, 0, end - start, cut[first : last + 1] - start)
        first = last


def in_pieces(offsets: Array, config: Any, scores: Callable[[Piece], Array]) -> Array:
    """(N, L) assembled from the ``scores`` (n, L) of pieces; a small batch is one piece."""
    N = int(offsets[-1])
    if N <= TOKENS_AT_ONCE:
        return scores(Piece(0, N, 0, N, offsets))
    whole: Array | None = None
    for piece in pieces(offsets, config, TOKENS_AT_ONCE):
        part = scores(piece)
        whole = np.empty((N, part.shape[1]), part.dtype) if whole is None else whole
        whole[piece.first + piece.left : piece.first + piece.right] = part[piece.left : piece.right]
    assert whole is not None
    return whole


def warn_of_long_sentences(config: Any, lengths: Iterable[int]) -> None:
    """Python shows the warning once; the commands say it in their own words."""
    longest = ENCODERS[config.encoder].longest_view
    if longest is not None and any(length > longest for length in lengths):
        what = f"sentences of more than {longest:,} words are split: each word sees only its own piece"
        warnings.warn(what, LongSentenceWarning, stacklevel=3)
