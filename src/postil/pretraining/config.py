"""The settings of pretraining."""

import math
from dataclasses import dataclass, field
from typing import Any, final

from postil.errors import ConfigurationError
from postil.kernels.plain_pretraining import MOST_NEGATIVES, MOST_REACH, UNIT_LANES

METHODS = ("skipgram", "ranking")


@final
@dataclass(frozen=True, kw_only=True)
class CorpusConfig:
    """Which words are learned."""

    min_count: int = 5
    """Words that occur less often are unknown."""
    words: int | None = None
    """Keep at most this many words, the most frequent ones."""
    cased: bool = False
    """Tell ``Apple`` from ``apple``."""
    fold_digits: bool = True
    """Treat all digits as 0: ``1984`` is ``0000``."""

    def __post_init__(self) -> None:
        _at_least(1, min_count=self.min_count)
        if self.words is not None:
            _at_least(2, words=self.words)


@final
@dataclass(frozen=True, kw_only=True)
class PretrainingConfig:
    """How vectors are learned. A checkpoint stores it."""

    method: str = "skipgram"
    """``skipgram``: words predict their neighbours; ``ranking``: true windows score higher than corrupt ones (E4)."""
    dimensions: int = 50
    window: int | None = None
    """Words on each side; by default 5 for skip-gram and 2 for ranking."""
    epochs: int = 5
    negatives: int = 5
    """Skip-gram: random words for each true one."""
    sample: float = 1e-3
    """Skip-gram: words that are more frequent than this share of the text are skipped at random."""
    hidden: int = 64
    """Ranking: units of the hidden layer, a multiple of 16."""
    rate: float | None = None
    """Learning rate at the beginning, which falls linearly; by default 0.025 for skip-gram and 0.1 for ranking."""
    seed: int = 0
    corpus: CorpusConfig = field(default_factory=CorpusConfig)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigurationError("method", expected=" or ".join(METHODS), got=repr(self.method))
        _at_least(2, dimensions=self.dimensions)
        _at_least(1, epochs=self.epochs, negatives=self.negatives, hidden=self.hidden)
        _at_least(0, seed=self.seed)
        if self.hidden % UNIT_LANES:
            raise ConfigurationError("hidden", expected=f"must be a multiple of {UNIT_LANES}", got=self.hidden)
        for name, value, most in (("window", self.window, MOST_REACH), ("negatives", self.negatives, MOST_NEGATIVES)):
            if value is not None and not 1 <= value <= most:
                raise ConfigurationError(name, expected=f"1 to {most}", got=value)
        for name, number in (("sample", self.sample), ("rate", self.rate)):
            if number is not None and not (0 < number < math.inf):
                raise ConfigurationError(name, expected="more than 0", got=number)

    @property
    def reach(self) -> int:
        """The window, with the method's default."""
        return self.window if self.window is not None else {"skipgram": 5, "ranking": 2}[self.method]

    @property
    def first_rate(self) -> float:
        return self.rate if self.rate is not None else {"skipgram": 0.025, "ranking": 0.1}[self.method]


def _at_least(least: int, **values: Any) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ConfigurationError(name, expected=f"at least {least}", got=value)
