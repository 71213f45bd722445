"""Which settings a search may choose, and how it draws them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from postil.errors import ConfigurationError
from postil.models.config import TaggerConfig, configured
from postil.models.tagger import Tagger

Space = Mapping[str, Sequence[Any]]
"""Name of a setting -> values to try."""
_DRAWS = 1000


def default_space(config: TaggerConfig) -> dict[str, list[Any]]:
    """Values worth trying around a config."""
    space: dict[str, list[Any]] = {
        "word_dim": [16, 32, 64],
        "word_rate": [1.0, 2.0, 4.0, 8.0],
        "rate": [0.002, 0.0035, 0.005, 0.008],
        "input_dropout": [0.15, 0.3, 0.4, 0.5],
        "word_dropout": [0.1, 0.3, 0.6, 1.0],
        "min_affix_count": [1, 2, 3, 5],
        "shape_dim": [0, 12],
        "character_dim": [0, 24],
        "batch_sentences": [4, 8, 16, 32],
    }
    if config.encoder != "none":
        space["hidden"] = [max(1, config.hidden // 2), config.hidden, config.hidden * 2]
        space["hidden_dropout"] = [0.15, 0.3, 0.5, 0.6]
        space["window"] = [3, 5, 7]
    if config.encoder == "convolutions":
        space["layers"] = [2, 3, 4]
    if config.optimiser != "adam":
        del space["rate"]
    return space


def checked_space(estimator: Tagger, space: Space) -> dict[str, list[Any]]:
    """Each setting with its values, all of them possible."""
    checked: dict[str, list[Any]] = {}
    for name, values in space.items():
        if name in ("epochs", "ensemble", "word_key", "objective"):
            raise ConfigurationError(f"space: {name}", expected="must not be searched")
        if not values:
            raise ConfigurationError(f"space: {name}", expected="needs at least one value")
        for value in values:
            config = configured(estimator.preset, {**estimator.settings, name: value})
            checked.setdefault(name, []).append(getattr(config, name))
    if not checked:
        raise ConfigurationError("space", expected="needs at least one setting")
    return checked


def drawn(space: Space, number: int, base: TaggerConfig, seed: int) -> dict[str, Any]:
    """The settings of a trial: each differs from the base with a chance of one half, at least one does."""
    rng = np.random.default_rng((seed, number))
    others = {name: [value for value in values if value != getattr(base, name)] for name, values in space.items()}
    others = {name: values for name, values in others.items() if values}
    if not others:
        return {}
    for _ in range(_DRAWS):
        settings = {name: values[rng.integers(len(values))] for name, values in others.items() if rng.random() < 0.5}
        if settings:
            return settings
    return {}
