"""The table of encoders: the layers between the features of tokens (N, D) and the output maps.

A row says everything that the rest of the package has to know about an encoder: settings are checked against this
table, long documents are cut by it, explanations ask it which words a network can see. So a new encoder is a function
that builds it, a row in ``ENCODERS``, and a test of what is special about it;
``tests/models/networks/test_encoders.py``
checks every row for its width, its reach and its gradient.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

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
from postil.network.layer import UNUSED, fan_in_variance, new_parameter, placeholder, zeros
from postil.network.pooling import LONGEST_VIEW

NAMED_PACE = 0.3
"""Weights of hand-made features learn at this multiple of the rate: quicker ones leave the network nothing to learn."""


class EncoderSettings(Protocol):
    """The fields of a config that decide what layers are built."""

    @property
    def window(self) -> int: ...
    @property
    def hidden(self) -> int: ...
    @property
    def layers(self) -> int: ...
    @property
    def activation(self) -> str: ...
    @property
    def hidden_dropout(self) -> float | None: ...
    @property
    def position_dim(self) -> int: ...
    @property
    def initialiser(self) -> str: ...
    @property
    def word_rate(self) -> float: ...


@final
class LayerMaker:
    """Builds the layers of a config, all with the same initialiser, generator and float type.

    Without ``rng`` all parameters are zeros, to be replaced by those of a model file.
    """

    def __init__(self, config: EncoderSettings, rng: "np.random.Generator | None", dtype: Any) -> None:
        self.config, self.dtype = config, dtype
        self.rng = rng or UNUSED
        self.initialise = INITIALISERS[config.initialiser] if rng is not None else placeholder
        self.initialise_table = fan_in_variance if rng is not None else placeholder

    def tables(self, sizes: list[tuple[int, int]]) -> LookupTables | None:
        if not sizes:
            return None
        tables = LookupTables(sizes, rng=self.rng, initialise=self.initialise_table, dtype=self.dtype)
        for parameter in tables.parameters().values():
            parameter.pace = self.config.word_rate
        return tables

    def characters(self, V: int, H: int) -> CharacterConvolution | None:
        """A convolution over the characters of words, V different ones; None if H is 0."""
        if not H:
            return None
        return CharacterConvolution(
            V,
            H,
            rng=self.rng,
            initialise=self.initialise,
            initialise_table=self.initialise_table,
            dtype=self.dtype,
        )

    def linear(self, D: int, H: int, *, bias: bool = True) -> Linear:
        return Linear(D, H, rng=self.rng, initialise=self.initialise, bias=bias, dtype=self.dtype)

    def weights(self, A: int, L: int) -> Parameter:
        """Weights (A, L) of hand-made features, all 0: without evidence a feature says nothing."""
        weights = new_parameter("named", (A, L), zeros, self.rng, self.dtype, decays=False)
        weights.pace = NAMED_PACE
        return weights

    def window(self, D: int) -> Window:
        return Window(D, self.config.window, rng=self.rng, dtype=self.dtype)

    def norm(self) -> LayerNorm:
        return LayerNorm(self.config.hidden, rng=self.rng, dtype=self.dtype)

    def hidden(self, D: int) -> list[Layer]:
        """A linear layer (N, D) to (N, H), its activation and its noise."""
        activation = Activation(self.config.activation)
        return [self.linear(D, self.config.hidden), activation, Dropout(self.config.hidden_dropout or 0.0)]


def _nothing(make: LayerMaker, D: int) -> Layer:
    return Chain()


def _average(make: LayerMaker, D: int) -> Layer:
    """The mean of the vectors in a window (E2)."""
    return WindowAverage(make.config.window)


def _window(make: LayerMaker, D: int) -> Layer:
    """A window of word features, then hidden layers (A12)."""
    config = make.config
    widths = [config.window * D] + [config.hidden] * (config.layers - 1)
    return Chain(make.window(D), *(layer for width in widths for layer in make.hidden(width)))


def _sentence(make: LayerMaker, D: int) -> Layer:
    """Distances, convolution, max over time, hidden layer (A12)."""
    config = make.config
    view = SentenceConvolution(
        D,
        config.hidden,
        config.window,
        distance_dim=config.position_dim,
        rng=make.rng,
        initialise=make.initialise,
        dtype=make.dtype,
    )
    return Chain(view, *make.hidden(config.hidden))


def _convolutions(make: LayerMaker, D: int) -> Layer:
    """A first convolution to the hidden width, then residual ones, each after a layer normalisation."""
    H, size = make.config.hidden, make.config.window
    first = [make.window(D), *make.hidden(size * D)]
    others = [
        Residual(Chain(make.norm(), make.window(H), *make.hidden(size * H))) for _ in range(make.config.layers - 1)
    ]
    return Chain(*first, *others, make.norm())


def _half_window(config: EncoderSettings) -> int:
    return config.window // 2


@final
@dataclass(frozen=True, kw_only=True)
class Encoder:
    """One row of the table."""

    build: Callable[[LayerMaker, int], Layer]
    """The layers for token features of width D."""
    reach: Callable[[EncoderSettings], int] | None
    """How many tokens to either side the output of a token depends on; None: the whole sentence."""
    keeps_width: bool = False
    """Whether the output has the width D of the input; otherwise it has the width ``hidden``."""
    longest_view: int | None = None
    """Longer sentences are looked at in pieces of at most this many words, each on its own."""
    second_shard_pays: bool = False
    """Whether large batches are faster on two cores in spite of what it costs to cut them."""


ENCODERS: dict[str, Encoder] = {
    "none": Encoder(build=_nothing, reach=lambda config: 0, keeps_width=True),
    "average": Encoder(build=_average, reach=_half_window, keeps_width=True),
    "window": Encoder(build=_window, reach=_half_window),
    "sentence": Encoder(build=_sentence, reach=None, longest_view=LONGEST_VIEW, second_shard_pays=True),
    "convolutions": Encoder(build=_convolutions, reach=lambda config: config.layers * _half_window(config)),
}
